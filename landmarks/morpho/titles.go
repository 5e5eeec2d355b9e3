package morpho

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"anatomy/landmarks/internal/text"
)

// csvColumns says which column holds what; -1 where a column is not there.
type csvColumns struct {
	specimen, group, landmark int
	points                    [][]int  // columns of x, y[, z]: of the one landmark of a row (long) or of all of them (wide)
	labels                    []string // of the landmarks of a wide table, where titles have more than numbers
	wide                      bool
	fromZero                  bool           // the columns count landmarks from 0
	rowNames                  bool           // the specimen column has no title, as of R's row names, and may be blank
	covariates                map[int]string // the others, by their titles
	untitled                  []int          // columns without a title
	unit                      string         // that the titles of coordinates have in brackets
}

// coordinateTitle is the title of a column of coordinates.
type coordinateTitle struct {
	stem string // without axis, unit and separators: the landmark; "" of x alone
	axis int
	unit string
}

var (
	inBrackets = regexp.MustCompile(`^(.*?)[ _.]*[(\[]\s*([^()\[\]]*?)\s*[)\]]$`)
	axisBehind = regexp.MustCompile(`(?i)^(.+?)([ ._(\[-]*)([xyz])[)\]]?$`)
	axisBefore = regexp.MustCompile(`(?i)^([xyz])([ ._(\[-]*)(.+?)[)\]]?$`)
	stemNumber = regexp.MustCompile(`^(.*?)[ ._-]*(\d{1,9})$`)

	specimenTitle = regexp.MustCompile(`^specimens?([ ._-]*(id|name|no|nr|number|code)\.?)?$`)
	subjectTitle  = regexp.MustCompile(`^(individual|subject|sample|ind)([ ._-]*(id|name|no|nr|number)\.?)?$`)
	landmarkTitle = regexp.MustCompile(`^(landmarks?|lm|point)([ ._-]*(id|name|no|nr|number)\.?)?$`)
)

// units of length that stand in brackets behind a title, or in a row of their own.
var units = []string{"mm", "cm", "m", "µm", "μm", "um", "nm", "in", "inch", "inches", "ft", "px", "pixel", "pixels", "mm.", "cm."}

// unitIn returns a unit of length that a cell consists of, with or without brackets; "" if it does not.
func unitIn(cell string) string {
	word := strings.ToLower(strings.Trim(strings.TrimSpace(cell), "()[]"))
	switch word = strings.TrimSuffix(word, "."); {
	case !slices.Contains(units, word):
		return ""
	case word == "um" || word == "μm":
		return "µm"
	}
	return word
}

// coordinateOf reads a title such as x, x1, 1.x, "LM1 x (mm)", x_1, LM1_X or nasion-z.
func coordinateOf(title string) (c coordinateTitle, ok bool) {
	title = strings.Join(strings.Fields(title), " ")
	if m := inBrackets.FindStringSubmatch(title); m != nil {
		if c.unit = unitIn(m[2]); c.unit != "" {
			title = m[1]
		}
	}
	digit := func(s string, at int) bool { return s[at] >= '0' && s[at] <= '9' }
	if len(title) == 1 && strings.ContainsAny(title, "xyzXYZ") {
		c.axis = int(title[0]|0x20) - 'x'
		return c, true
	}
	if m := axisBefore.FindStringSubmatch(title); m != nil && (m[2] != "" || digit(m[3], 0)) {
		c.stem, c.axis = m[3], int(m[1][0]|0x20)-'x'
		return c, true
	}
	if m := axisBehind.FindStringSubmatch(title); m != nil && (m[2] != "" || digit(m[1], len(m[1])-1)) {
		c.stem, c.axis = m[1], int(m[3][0]|0x20)-'x'
		return c, true
	}
	return c, false
}

// isHeader returns how many columns of coordinates a row names, 0 if it is no header: one has x and y of something, or, so that an error
// can say what it lacks, one of them beside a column of specimens or landmarks.
func isHeader(cells []string) int {
	axes, count, known := map[string]int{}, 0, false
	whole := false
	for _, cell := range cells {
		if c, ok := coordinateOf(cell); ok {
			axes[strings.ToLower(c.stem)] |= 1 << c.axis
			whole = whole || axes[strings.ToLower(c.stem)]&3 == 3
			count++
			continue
		}
		title := strings.ToLower(strings.TrimSpace(cell))
		known = known || title == "name" || title == "id" || title == "group" || specimenTitle.MatchString(title) || landmarkTitle.MatchString(title)
	}
	if !whole && !(known && axes[""] != 0) {
		return 0
	}
	return count
}

// findColumns says which column holds what. above is the row above the header, nil if there is none: it may name the landmarks of columns
// x, y, x, y, ….
func findColumns(header, above []string) (*csvColumns, error) {
	c := &csvColumns{specimen: -1, group: -1, landmark: -1, covariates: map[int]string{}}
	again := func(before, column int) error {
		return text.Advise("give each a title of its own",
			"columns %d and %d of the header both are %s", before+1, column+1, text.Clip(header[column]))
	}
	take := func(at *int, column int) error {
		if *at >= 0 {
			return again(*at, column)
		}
		*at = column
		return nil
	}
	coordinates := map[int]coordinateTitle{}
	titles := map[string]int{} // covariate → column
	others := map[int]string{} // what may be the specimens or landmarks
	for i, title := range header {
		var err error
		covariate := strings.TrimSpace(title)
		lower := strings.ToLower(covariate)
		switch {
		case lower == "":
			c.untitled = append(c.untitled, i)
		case lower == "specimen" || lower == "name" || lower == "id":
			err = take(&c.specimen, i)
		case lower == "group":
			err = take(&c.group, i)
		case lower == "landmark":
			err = take(&c.landmark, i)
		default:
			if t, ok := coordinateOf(title); ok {
				coordinates[i] = t
				break
			}
			others[i] = lower
			if before, twice := titles[covariate]; twice {
				err = again(before, i)
			}
			titles[covariate], c.covariates[i] = i, covariate
		}
		if err != nil {
			return nil, err
		}
	}
	if err := c.place(header, above, coordinates); err != nil {
		return nil, err
	}
	placed := map[int]bool{}
	for _, at := range c.points {
		for _, i := range at {
			placed[i] = true
		}
	}
	for i, t := range coordinates { // what they are not of any landmark is known of specimens
		if placed[i] {
			if c.unit == "" {
				c.unit = t.unit
			}
			if t.unit != "" && t.unit != c.unit {
				return nil, text.Advise("bring all coordinates to one unit",
					"coordinates are in %s and in %s", min(t.unit, c.unit), max(t.unit, c.unit))
			}
			continue
		}
		covariate := strings.TrimSpace(header[i])
		if before, twice := titles[covariate]; twice {
			return nil, again(min(before, i), max(before, i))
		}
		titles[covariate], c.covariates[i] = i, covariate
	}
	// Other titles of specimens and landmarks are taken where the usual ones are missing.
	other := func(at *int, title *regexp.Regexp) {
		for i := range header {
			if *at < 0 && title.MatchString(others[i]) {
				*at = i
				delete(c.covariates, i)
			}
		}
	}
	other(&c.specimen, specimenTitle)
	if !c.wide {
		other(&c.specimen, subjectTitle)
		other(&c.landmark, landmarkTitle)
	}
	if c.wide && c.landmark >= 0 {
		return nil, text.Advise("keep one layout", "the header has a landmark column (long) and x1, y1, … columns (wide)")
	}
	if c.wide && c.specimen < 0 && strings.TrimSpace(header[0]) == "" {
		c.specimen, c.rowNames = 0, true
		c.untitled = slices.DeleteFunc(c.untitled, func(i int) bool { return i == 0 })
	}
	return c, nil
}

// place says which columns of coordinates belong to which landmark.
func (c *csvColumns) place(header, above []string, coordinates map[int]coordinateTitle) error {
	var order []int // the columns from left to right
	for i := range header {
		if _, ok := coordinates[i]; ok {
			order = append(order, i)
		}
	}
	// By stems, in the order of their first columns; "" is that of x, y, z alone.
	columns, stems := map[string][]int{}, []string{}
	var twice error
	for _, i := range order {
		t := coordinates[i]
		stem := strings.ToLower(t.stem)
		if columns[stem] == nil {
			columns[stem] = []int{-1, -1, -1}
			stems = append(stems, t.stem)
		}
		if at := &columns[stem][t.axis]; *at < 0 {
			*at = i
		} else if twice == nil {
			twice = text.Advise("give each a title of its own, such as x1, y1, x2, y2",
				"columns %d and %d of the header both are %s", *at+1, i+1, text.Clip(header[i]))
		}
	}
	bare := columns[""]
	if bare != nil && twice != nil && c.cycles(order, above, coordinates) {
		return nil
	}
	if twice != nil {
		return twice
	}
	numbers, names, prefixes := map[int]string{}, []string{}, map[string]bool{}
	for _, stem := range stems {
		if m := stemNumber.FindStringSubmatch(stem); m != nil {
			number, _ := strconv.Atoi(m[2]) // nine digits at most
			numbers[number] = strings.ToLower(stem)
			prefixes[strings.ToLower(m[1])] = true
			names = append(names, stem)
		}
	}
	whole := func(stem string) bool { at := columns[strings.ToLower(stem)]; return at[0] >= 0 && at[1] >= 0 }
	switch {
	case bare != nil && slices.ContainsFunc(names, whole):
		return text.Advise("keep one layout", "the header has both x, y columns (long) and x1, y1, … columns (wide)")
	case bare != nil:
		if bare[0] < 0 || bare[1] < 0 {
			return text.Advise("give all coordinates a column", "the header lacks the column x or y")
		}
		c.points = [][]int{trimZ(bare)}
		return nil
	case len(prefixes) == 1 && len(numbers) == len(names):
		return c.number(columns, numbers)
	case len(names) == 0: // names without numbers; of one landmark alone they are x, y, z
		names = slices.DeleteFunc(stems, func(stem string) bool { return !whole(stem) })
	}
	if len(names) == 0 {
		return text.Advise("give all coordinates a column", "the header has no landmark with x and y")
	}
	for _, name := range names {
		at := columns[strings.ToLower(name)]
		if !whole(name) || (at[2] < 0) != (columns[strings.ToLower(names[0])][2] < 0) {
			return text.Advise("give each landmark a column for each of its coordinates",
				"the header lacks a coordinate of landmark %s", text.Clip(name))
		}
		c.points = append(c.points, trimZ(at))
	}
	if len(names) > 1 {
		c.wide, c.labels = true, names
	}
	return nil
}

// number places landmarks by their numbers, from 0 or from 1.
func (c *csvColumns) number(columns map[string][]int, numbers map[int]string) error {
	c.wide = true
	base := 1
	if _, zero := numbers[0]; zero {
		base, c.fromZero = 0, true
	}
	for l := range len(numbers) {
		stem, ok := numbers[base+l]
		if !ok {
			return text.Advise("write NA in its columns if all specimens lack it, or count without gaps",
				"the header lacks the columns of landmark %d (x%d, y%d, …)", l, base+l, base+l)
		}
		at, first := columns[stem], columns[numbers[base]]
		if at[0] < 0 || at[1] < 0 || (at[2] < 0) != (first[2] < 0) {
			return text.Advise("give each landmark a column for each of its coordinates",
				"the header lacks a coordinate of landmark %d (x%d, y%d or z%d)", l, base+l, base+l, base+l)
		}
		c.points = append(c.points, trimZ(at))
	}
	return nil
}

// cycles places the landmarks of columns x, y, x, y, … or x, y, z, x, y, z, …, which the row above may name; false if the columns are others.
func (c *csvColumns) cycles(order []int, above []string, coordinates map[int]coordinateTitle) bool {
	dim := 2
	if len(order) > 2 && coordinates[order[2]].axis == 2 {
		dim = 3
	}
	if len(order)%dim != 0 {
		return false
	}
	for k, i := range order {
		if t := coordinates[i]; t.stem != "" || t.axis != k%dim {
			return false
		}
	}
	named := true
	for k := 0; k < len(order); k += dim {
		c.points = append(c.points, order[k:k+dim:k+dim])
		name := ""
		if order[k] < len(above) {
			name = strings.TrimSpace(above[order[k]])
		}
		c.labels, named = append(c.labels, name), named && name != ""
	}
	if c.wide = true; !named {
		c.labels = nil
	}
	return true
}

// trimZ drops the third column where there is none.
func trimZ(columns []int) []int {
	if columns[2] < 0 {
		return columns[:2]
	}
	return columns
}
