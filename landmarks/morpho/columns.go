package morpho

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"anatomy/landmarks/internal/text"
)

// csvColumns says which column holds what; -1 where a column is not there.
type csvColumns struct {
	specimen, group, landmark int
	points                    [][]int  // columns of x, y[, z]: of the one landmark of a row (long) or of all of them (wide)
	labels                    []string // of the landmarks of a wide table, where titles have more than numbers
	wide                      bool
	fromZero                  bool           // the columns count landmarks from 0
	numbered                  bool           // the columns of a wide table are numbered throughout: no title tells landmarks or axes
	rowNames                  bool           // the specimen column has no title, as of R's row names, and may be blank
	byRun                     bool           // long: a name that comes again is that of another specimen
	covariates                map[int]string // the others, by their titles
	untitled                  []int          // columns without a title
	unit                      string         // that the titles of coordinates have in brackets
	notes                     []string       // what the values, and not the titles, have told
}

// coordinateTitle is the title of a column of coordinates.
type coordinateTitle struct {
	stem string // without axis, unit and separators: the landmark; "" of x alone
	axis int
	unit string
}

var (
	inBrackets = regexp.MustCompile(`^(.*?)[ _.]*[(\[]\s*([^()\[\]]*?)\s*[)\]]$`)
	stemNumber = regexp.MustCompile(`^(.*?)[ ._-]*(\d{1,9})$`)

	landmarkTitle = regexp.MustCompile(`^(landmarks?|lm|point)([ ._-]*(id|name|no|nr|number)\.?)?$`)
	// titles of names of specimens, the surest first; the last of a long table alone, as those of a wide one may repeat.
	nameTitles = []*regexp.Regexp{regexp.MustCompile(`^specimens?$`), regexp.MustCompile(`^specimens?[ ._-]*(id|name|no|nr|number|code)\.?$`),
		regexp.MustCompile(`^name$`), regexp.MustCompile(`^id$`), regexp.MustCompile(`^(individual|subject|sample|ind)([ ._-]*(id|name|no|nr|number)\.?)?$`)}
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

// splitTitle parts a title into the letter of its axis, before or behind the landmark, and the landmark. They are parted if a separator or a
// digit tells where the letter ends, as in x1, LM1_X or "LM1 x (mm)"; in Sx nothing does.
func splitTitle(title string, behind bool) (c coordinateTitle, parted, ok bool) {
	title = strings.Join(strings.Fields(title), " ")
	if m := inBrackets.FindStringSubmatch(title); m != nil {
		if c.unit = unitIn(m[2]); c.unit != "" {
			title = m[1]
		}
	}
	title = strings.TrimRight(title, ")]")
	if title == "" {
		return c, false, false
	}
	letter, rest, digits := title[:1], title[1:], strings.TrimLeft
	if behind {
		letter, rest, digits = title[len(title)-1:], title[:len(title)-1], strings.TrimRight
	}
	c.axis = strings.Index("xyz", strings.ToLower(letter))
	c.stem = digits(rest, " ._([-")
	return c, rest == "" || c.stem != rest || digits(rest, "0123456789") != rest, c.axis >= 0 && (c.stem != "" || rest == "")
}

// coordinatesIn finds the titles of coordinates among those of a table. The letter of the axis is on one side in all of them: where more
// landmarks have x and y. Where nothing parts it from the landmark, both x and y tell that it is one.
func coordinatesIn(titles []string) (found map[int]coordinateTitle) {
	most := -1
	for _, behind := range []bool{false, true} {
		at, axes, loose := map[int]coordinateTitle{}, map[string]int{}, map[int]bool{}
		for i, title := range titles {
			if c, parted, ok := splitTitle(title, behind); ok {
				at[i], loose[i] = c, !parted
				axes[strings.ToLower(c.stem)] |= 1 << c.axis
			}
		}
		whole := 0
		for _, of := range axes {
			if of&3 == 3 {
				whole++
			}
		}
		for i, c := range at {
			others := whole > 0 && c.stem == "" // x of R's row names, which are called X
			if axes[strings.ToLower(c.stem)]&3 != 3 && (loose[i] || others) {
				delete(at, i)
			}
		}
		if whole > most || whole == most && len(at) > len(found) {
			most, found = whole, at
		}
	}
	// Beside x and y, X is something else, and the other way round.
	for _, pair := range []string{"xy", "XY"} {
		if slices.Contains(titles, pair[:1]) && slices.Contains(titles, pair[1:]) {
			for i, c := range found {
				if c.stem == "" && c.axis < 2 && !strings.Contains(pair, strings.TrimSpace(titles[i])) && len(strings.TrimSpace(titles[i])) == 1 {
					delete(found, i)
				}
			}
			break
		}
	}
	return found
}

// isHeader returns how many columns of coordinates a row names, 0 if it is no header: one has x and y of something, or, so that an error
// can say what it lacks, one of them beside a column of specimens or landmarks.
func isHeader(cells []string) int {
	axes, known, whole := map[string]int{}, false, false
	coordinates := coordinatesIn(cells)
	for i, cell := range cells {
		if c, ok := coordinates[i]; ok {
			axes[strings.ToLower(c.stem)] |= 1 << c.axis
			whole = whole || axes[strings.ToLower(c.stem)]&3 == 3
			continue
		}
		title := strings.ToLower(strings.TrimSpace(cell))
		known = known || title == "group" || landmarkTitle.MatchString(title) || nameTitle(title) < len(nameTitles)-1
	}
	if !whole && !(known && axes[""] != 0) {
		return 0
	}
	return len(coordinates)
}

// nameTitle is the place of a title among those of names of specimens, and their number if it is none.
func nameTitle(title string) int {
	for k, of := range nameTitles {
		if of.MatchString(title) {
			return k
		}
	}
	return len(nameTitles)
}

// findColumns says which column holds what. above is the row above the header, nil if there is none: it may name the landmarks of columns
// x, y, x, y, …. rows are those below it; without them titles alone decide.
func findColumns(header, above []string, rows []sheetRow) (*csvColumns, error) {
	c := &csvColumns{specimen: -1, group: -1, landmark: -1, covariates: map[int]string{}}
	coordinates := coordinatesIn(header)
	if len(coordinates) == 0 {
		if family := numberedIn(header, rows); family != nil {
			c.wide, c.numbered, c.points = true, true, [][]int{family}
		}
	} else if err := c.place(header, above, coordinates); err != nil {
		return nil, err
	}
	placed := map[int]bool{}
	for _, at := range c.points {
		for _, i := range at {
			placed[i] = true
		}
	}
	titles := map[string]int{} // all but those of coordinates
	for i, title := range header {
		if placed[i] {
			if unit := coordinates[i].unit; c.unit == "" {
				c.unit = unit
			} else if unit != "" && unit != c.unit {
				return nil, text.Advise("bring all coordinates to one unit",
					"coordinates are in %s and in %s", min(unit, c.unit), max(unit, c.unit))
			}
			continue
		}
		switch title = strings.TrimSpace(title); strings.ToLower(title) {
		case "":
			c.untitled = append(c.untitled, i)
			continue
		case "specimen", "name", "id", "group", "landmark":
			title = strings.ToLower(title)
		}
		if before, twice := titles[title]; twice {
			return nil, text.Advise("give each a title of its own",
				"columns %d and %d of the header both are %s", before+1, i+1, text.Clip(header[i]))
		}
		titles[title] = i
		switch title {
		case "group":
			c.group = i
		case "landmark":
			c.landmark = i
		default:
			c.covariates[i] = strings.TrimSpace(header[i])
		}
	}
	if c.wide && c.landmark >= 0 {
		return nil, text.Advise("keep one layout", "the header has a landmark column (long) and x1, y1, … columns (wide)")
	}
	for i := range header {
		if title, is := c.covariates[i]; is && !c.wide && c.landmark < 0 && landmarkTitle.MatchString(strings.ToLower(title)) {
			c.landmark = i
			delete(c.covariates, i)
		}
	}
	c.nameColumn(header, rows)
	delete(c.covariates, c.specimen)
	c.untitled = slices.DeleteFunc(c.untitled, func(i int) bool { return i == c.specimen })
	return c, nil
}

// numberedIn finds columns of numbers whose titles are numbers behind one word, as V2 … V25: eight at least, one behind the other, and more
// than the other columns of numbers.
func numberedIn(header []string, rows []sheetRow) (found []int) {
	var family []int
	word, last := "", 0
	for i, title := range append(slices.Clone(header), "") {
		m := stemNumber.FindStringSubmatch(strings.TrimSpace(title))
		number := 0
		if m != nil && strings.ContainsFunc(m[1], unicode.IsLetter) && isNumber(firstOf(rows, i)) {
			number, _ = strconv.Atoi(m[2]) // nine digits at most
		} else {
			m = nil
		}
		if m == nil || len(family) > 0 && (m[1] != word || number != last+1) {
			if len(family) > len(found) {
				found = family
			}
			family = nil
		}
		if m != nil {
			family, word, last = append(family, i), m[1], number
		}
	}
	numbers := 0
	for i := range header {
		if isNumber(firstOf(rows, i)) {
			numbers++
		}
	}
	if len(found) < 8 || 2*len(found) <= numbers {
		return nil
	}
	return found
}

// firstOf is the first cell of a column that is not blank.
func firstOf(rows []sheetRow, column int) string {
	for _, row := range rows {
		if cell := csvField(row.cells, column); cell != "" {
			return cell
		}
	}
	return ""
}

// values are the cells of a column, in rows that have coordinates.
func (c *csvColumns) values(rows []sheetRow, column int) (cells []string) {
	for _, row := range rows {
		if c.hasPoint(row.cells) {
			cells = append(cells, csvField(row.cells, column))
		}
	}
	return cells
}

// hasPoint says whether a row has a coordinate.
func (c *csvColumns) hasPoint(cells []string) bool {
	return slices.ContainsFunc(c.points, func(at []int) bool {
		return slices.ContainsFunc(at, func(i int) bool { return csvField(cells, i) != "" })
	})
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
	whole := func(stem string) bool { at := columns[strings.ToLower(stem)]; return at[0] >= 0 && at[1] >= 0 }
	numbers, names, prefixes := map[int]string{}, []string{}, map[string]bool{}
	for _, stem := range stems {
		if m := stemNumber.FindStringSubmatch(stem); m != nil {
			number, _ := strconv.Atoi(m[2]) // nine digits at most
			if number > 2*len(stems)+fewest && !whole(stem) {
				c.notes = append(c.notes, "the column "+text.Clip(header[slices.Max(columns[strings.ToLower(stem)])])+" was taken for a covariate: no other coordinate has such a number")
				continue
			}
			numbers[number] = strings.ToLower(stem)
			prefixes[strings.ToLower(m[1])] = true
			names = append(names, stem)
		}
	}
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
