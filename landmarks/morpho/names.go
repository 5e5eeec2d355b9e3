package morpho

import (
	"cmp"
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
// In a long table these are constant over each run of landmarks, in a wide one they are words that differ.
func (c *csvColumns) nameColumn(header []string, rows []sheetRow) {
	var titled []int
	for i := range header {
		if title, is := c.covariates[i]; is && nameTitle(strings.ToLower(title)) < len(nameTitles)-1+map[bool]int{false: 1}[c.wide] {
			titled = append(titled, i)
		}
	}
	place := func(i int) int { return nameTitle(strings.ToLower(c.covariates[i])) }
	slices.SortStableFunc(titled, func(a, b int) int { return cmp.Compare(place(a), place(b)) })
	if len(titled) > 0 {
		c.specimen = titled[0]
	}
	better, why := -1, ""
	if c.wide {
		better, why = c.wideNames(titled, rows)
	} else {
		better, why = c.longNames(titled, rows)
	}
	if better >= 0 && better != c.specimen {
		c.specimen = better
		title := strconv.Quote(strings.TrimSpace(header[better]))
		if title == `""` {
			c.rowNames = true
			if better == 0 && c.wide {
				return
			}
			title = strconv.Itoa(better + 1)
		}
		c.notes = append(c.notes, "the column "+title+" was taken for the names of the specimens: "+why)
	}
}

// wideNames is nameColumn of a wide table: the values of a titled column differ, or those of the first one, which is no coordinate.
func (c *csvColumns) wideNames(titled []int, rows []sheetRow) (better int, why string) {
	differ := func(i int) bool {
		cells := c.values(rows, i)
		seen := map[string]bool{}
		for _, cell := range cells {
			seen[cell] = true
		}
		return len(seen) == len(cells) && !seen[""]
	}
	for _, i := range titled {
		if i == titled[0] && differ(i) {
			return i, ""
		}
		if differ(i) {
			return i, "those of " + strconv.Quote(c.covariates[titled[0]]) + " repeat"
		}
	}
	_, taken := c.covariates[0]
	words := len(rows) > 0 && !isNumber(firstOf(rows, 0))
	switch {
	case len(titled) > 0:
		return titled[0], ""
	case slices.Contains(c.untitled, 0):
		return 0, "it is the first, and has no title"
	case taken && words && differ(0) && (len(rows) >= fewest || c.covariates[0] == "X"):
		return 0, "it is the first, and its words differ"
	}
	return -1, ""
}

// longNames is nameColumn of a long table: each name is that of one run of landmarks, or comes several times.
func (c *csvColumns) longNames(titled []int, rows []sheetRow) (better int, why string) {
	better = -1
	surest := false // by a title that no column of landmarks has
	for k, i := range titled {
		cells := c.values(rows, i)
		distinct := map[string]bool{}
		for _, cell := range cells {
			distinct[cell] = true
		}
		count, length, unique := runs(cells)
		if unique && length >= fewest {
			return i, constantRuns(length)
		}
		if len(distinct) < len(cells) && better < 0 {
			better, c.byRun, why = i, length >= fewest && count > len(distinct), "those of "+strconv.Quote(c.covariates[titled[0]])+" differ in each row"
			if k == 0 && strings.HasPrefix(strings.ToLower(c.covariates[i]), "specimen") {
				surest = true
			}
		}
	}
	if surest {
		return better, why
	}
	most, found := 1, -1
	for i := range c.covariates {
		count, length, unique := runs(c.values(rows, i))
		if unique && length >= fewest && (count > most || count == most && i < found) {
			found, most, why = i, count, constantRuns(length)
		}
	}
	switch {
	case found >= 0:
		c.byRun = false
		return found, why
	case better < 0 && len(titled) > 0:
		better = titled[0]
	}
	return better, why
}

func constantRuns(length int) string {
	return fmt.Sprintf("it is constant over each run of %d landmarks", length)
}
