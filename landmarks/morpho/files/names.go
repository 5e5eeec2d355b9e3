package files

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// runs counts the runs of equal cells, and says how long each is, 0 if they differ in length, and whether each has a name of its own.
func runs(cells []string) (count, length int, unique bool) {
	seen, begin := map[string]bool{}, 0
	unique = true
	for i := range cells {
		if i+1 < len(cells) && cells[i+1] == cells[i] {
			continue
		}
		if count++; count == 1 {
			length = i + 1
		} else if i+1-begin != length {
			length = 0
		}
		unique = unique && !seen[cells[i]] && cells[i] != ""
		seen[cells[i]], begin = true, i+1
	}
	return count, length, unique
}

// nameColumn finds the column with the names of the specimens: by its title, unless its values cannot be names and those of another can.
// In a long table these are constant over each run of landmarks, in a wide one they are words that differ. A note says if values decided.
func (c *columns) nameColumn(rows []Row) {
	var titled []int // the surest first
	place := func(i int) int { return nameTitle(c.covariates[i]) }
	for i := range c.covariates {
		if place(i) < len(nameTitles)-1 || !c.wide && place(i) < len(nameTitles) {
			titled = append(titled, i)
		}
	}
	slices.SortFunc(titled, func(a, b int) int { return (place(a)-place(b))<<20 + a - b })
	why := ""
	if c.wide {
		c.specimen, why = c.wideNames(titled, rows)
	} else {
		c.specimen, why = c.longNames(titled, rows)
	}
	title, has := c.covariates[c.specimen]
	switch {
	case c.specimen < 0 || len(titled) > 0 && c.specimen == titled[0]:
		return
	case !has:
		if c.rowNames = true; c.specimen == 0 && c.wide {
			return
		}
		title = strconv.Itoa(c.specimen + 1)
	default:
		title = strconv.Quote(title)
	}
	c.notes = append(c.notes, "the column "+title+" was taken for the names of the specimens: "+why)
}

// wideNames is nameColumn of a wide table: the values of a titled column differ, or those of the first one, which is no coordinate.
func (c *columns) wideNames(titled []int, rows []Row) (column int, why string) {
	differ := func(i int) bool {
		cells := c.values(rows, i)
		seen := map[string]bool{}
		for _, cell := range cells {
			seen[cell] = true
		}
		return len(seen) == len(cells) && !seen[""]
	}
	title, taken := c.covariates[0]
	switch k := slices.IndexFunc(titled, differ); {
	case k >= 0:
		return titled[k], "those of " + strconv.Quote(c.covariates[titled[0]]) + " repeat"
	case len(titled) > 0:
		return titled[0], ""
	case slices.Contains(c.untitled, 0):
		return 0, "it is the first, and has no title"
	case taken && len(rows) > 0 && !IsNumber(firstOf(rows, 0)) && differ(0) && (len(rows) >= fewest || title == "X"):
		return 0, "it is the first, and its words differ"
	}
	return -1, ""
}

// longNames is nameColumn of a long table: each name is that of one run of landmarks, or comes several times.
func (c *columns) longNames(titled []int, rows []Row) (column int, why string) {
	constant := func(i int) (count int, why string) { // "" if it is not
		count, length, unique := runs(c.values(rows, i))
		if unique && length >= fewest {
			why = fmt.Sprintf("it is constant over each run of %d landmarks", length)
		}
		return count, why
	}
	column = -1
	for _, i := range titled {
		if _, why := constant(i); why != "" {
			return i, why
		}
	}
	for k, i := range titled {
		cells := c.values(rows, i)
		count, length, _ := runs(cells)
		distinct := len(slices.Compact(slices.Sorted(slices.Values(cells))))
		if distinct == len(cells) {
			continue
		}
		column, c.byRun, why = i, length >= fewest && count > distinct, "those of "+strconv.Quote(c.covariates[titled[0]])+" differ in each row"
		if k == 0 && strings.HasPrefix(strings.ToLower(c.covariates[i]), "specimen") { // which no column of landmarks is called
			return column, why
		}
		break
	}
	most, found := 1, -1
	for i := range c.covariates {
		if count, is := constant(i); is != "" && (count > most || count == most && i < found) {
			most, found, why = count, i, is
		}
	}
	switch {
	case found >= 0:
		column, c.byRun = found, false
	case column < 0 && len(titled) > 0:
		column = titled[0]
	}
	return column, why
}
