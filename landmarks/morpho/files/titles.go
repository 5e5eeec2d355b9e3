package files

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"anatomy/internal/lists"
	"anatomy/landmarks/internal/text"
)

// columns says which column holds what; -1 where a column is not there.
type columns struct {
	specimen, group, landmark int
	layout
	rowNames   bool           // the specimen column has no title, as of R's row names, and may be blank
	byRun      bool           // long: a name that comes again is that of another specimen
	covariates map[int]string // the others, by their titles
	untitled   []int          // columns without a title
	unit       string         // that the titles of coordinates have in brackets
	notes      []string       // what the values, and not the titles, have told
}

// layout is a way in which columns of coordinates may be those of landmarks.
type layout struct {
	about    string
	points   [][]int  // columns of x, y[, z]: of the one landmark of a row (long) or of all of them (wide)
	labels   []string // of the landmarks of a wide table, where titles have more than numbers
	wide     bool
	fromZero bool    // the columns count landmarks from 0
	numbered bool    // the columns of a wide table are numbered throughout: no title tells landmarks or axes
	fit      float64 // root mean square distance of the shapes to their mean; NaN where it is not known
}

// coordinateTitle is the title of a column of coordinates.
type coordinateTitle struct {
	stem string // without axis, unit and separators: the landmark; "" of x alone
	axis int    // −1 if the title is that of something else
	unit string
}

func (c coordinateTitle) key() string { return strings.ToLower(c.stem) }

var (
	inBrackets = regexp.MustCompile(`^(.*?)[ _.]*[(\[]\s*([^()\[\]]*?)\s*[)\]]$`)
	stemNumber = regexp.MustCompile(`^(.*?)[ ._-]*(\d{1,9})$`)

	landmarkTitle = regexp.MustCompile(`^(landmarks?|lm|point)([ ._-]*(id|name|no|nr|number)\.?)?$`)
	// titles of names of specimens, the surest first; the last of a long table alone, as those of a wide one may repeat.
	nameTitles = []*regexp.Regexp{regexp.MustCompile(`^specimens?$`), regexp.MustCompile(`^specimens?[ ._-]*(id|name|no|nr|number|code)\.?$`),
		regexp.MustCompile(`^name$`), regexp.MustCompile(`^id$`),
		regexp.MustCompile(`^(individual|subject|sample|ind)([ ._-]*(id|name|no|nr|number)\.?)?$`)}
)

// units of length that stand in brackets behind a title, or in a row of their own.
var units = map[string]string{"mm": "mm", "cm": "cm", "m": "m", "µm": "µm", "μm": "µm", "um": "µm", "nm": "nm", "in": "in", "inch": "inch",
	"inches": "inches",
	"ft":     "ft", "px": "px", "pixel": "pixel", "pixels": "pixels"}

// unitIn returns a unit of length that a cell consists of, with or without brackets; "" if it does not.
func unitIn(cell string) string {
	return units[strings.TrimSuffix(strings.ToLower(strings.Trim(strings.TrimSpace(cell), "()[]")), ".")]
}

// splitTitle parts a title into the letter of its axis, before or behind the landmark, and the landmark. They are parted if a separator or a
// digit tells where the letter ends, as in x1, LM1_X or "LM1 x (mm)"; in Sx nothing does.
func splitTitle(title string, behind bool) (c coordinateTitle, parted bool) {
	c.axis = -1
	title = strings.Join(strings.Fields(title), " ")
	if m := inBrackets.FindStringSubmatch(title); m != nil {
		if c.unit = unitIn(m[2]); c.unit != "" {
			title = m[1]
		}
	}
	title = strings.TrimRight(title, ")]")
	if title == "" {
		return c, false
	}
	letter, rest, trim := title[:1], title[1:], strings.TrimLeft
	if behind {
		letter, rest, trim = title[len(title)-1:], title[:len(title)-1], strings.TrimRight
	}
	if c.stem = trim(rest, " ._([-"); c.stem != "" || rest == "" {
		c.axis = strings.Index("xyz", strings.ToLower(letter))
	}
	return c, rest == "" || c.stem != rest || trim(rest, "0123456789") != rest
}

// coordinatesIn finds the titles of coordinates among those of a table, and counts the landmarks that have x and y. The letter of the axis is on
// one side in all of them: where more landmarks have x and y. Where nothing parts it from the landmark, both x and y tell that it is one.
func coordinatesIn(titles []string) (found []coordinateTitle, most int) {
	count := 0
	most = -1
	for _, behind := range []bool{false, true} {
		all, loose, axes := make([]coordinateTitle, len(titles)), make([]bool, len(titles)), map[string]int{}
		for i, title := range titles {
			c, parted := splitTitle(title, behind)
			if all[i], loose[i] = c, !parted; c.axis >= 0 {
				axes[c.key()] |= 1 << c.axis
			}
		}
		whole, n := 0, 0
		for _, of := range axes {
			if of&3 == 3 {
				whole++
			}
		}
		for i, c := range all {
			if axes[c.key()]&3 != 3 && (loose[i] || whole > 0 && c.stem == "") { // as x of R's row names, which are called X
				all[i].axis = -1
			}
			if all[i].axis >= 0 {
				n++
			}
		}
		if whole > most || whole == most && n > count {
			most, count, found = whole, n, all
		}
	}
	// Beside x and y, X is something else, and the other way round.
	for _, pair := range []string{"xy", "XY"} {
		if slices.Contains(titles, pair[:1]) && slices.Contains(titles, pair[1:]) {
			for i, title := range titles {
				if title = strings.TrimSpace(title); len(title) == 1 && found[i].axis < 2 && !strings.Contains(pair, title) {
					found[i].axis = -1
				}
			}
			break
		}
	}
	return found, most
}

// isHeader returns how many columns of coordinates a row names, 0 if it is no header: one has x and y of something, or, so that an error
// can say what it lacks, one of them beside a column of specimens or landmarks.
func isHeader(cells []string) (count int) {
	bare, known := false, false
	coordinates, whole := coordinatesIn(cells)
	for i, c := range coordinates {
		if c.axis >= 0 {
			count, bare = count+1, bare || c.stem == ""
			continue
		}
		title := strings.ToLower(strings.TrimSpace(cells[i]))
		known = known || title == "group" || landmarkTitle.MatchString(title) || nameTitle(title) < len(nameTitles)-1
	}
	if whole == 0 && !(known && bare) {
		return 0
	}
	return count
}

// nameTitle is the place of a title among those of names of specimens, and their number if it is none.
func nameTitle(title string) int {
	k := slices.IndexFunc(nameTitles, func(of *regexp.Regexp) bool { return of.MatchString(strings.ToLower(title)) })
	if k < 0 {
		return len(nameTitles)
	}
	return k
}

// findColumns says which column holds what. above is the row above the header: it may name the landmarks of columns
// x, y, x, y, …. rows are those below it; without them titles alone decide.
func findColumns(header []string, above Row, rows []Row) (c *columns) {
	c = &columns{specimen: -1, group: -1, landmark: -1, covariates: map[int]string{}}
	coordinates, _ := coordinatesIn(header)
	if slices.ContainsFunc(coordinates, func(t coordinateTitle) bool { return t.axis >= 0 }) {
		c.place(header, above, coordinates)
	} else if family := numberedIn(header, rows); family != nil {
		c.layout = layout{wide: true, numbered: true, points: [][]int{family}}
	}
	placed := map[int]bool{}
	for _, i := range slices.Concat(c.points...) {
		placed[i] = true
	}
	titles := map[string]int{} // all but those of coordinates
	for i, title := range header {
		title = strings.TrimSpace(title)
		if unit := coordinates[i].unit; placed[i] {
			refuseIf(unit != "" && c.unit != "" && unit != c.unit, "bring all coordinates to one unit", "coordinates are in %s and in %s",
				min(unit, c.unit), max(unit, c.unit))
			c.unit = max(c.unit, unit)
			continue
		}
		key := title
		if lower := strings.ToLower(title); slices.Contains([]string{"specimen", "name", "id", "group", "landmark"}, lower) {
			key = lower
		}
		before, twice := titles[key]
		titles[key] = i
		switch {
		case key == "":
			c.untitled = append(c.untitled, i)
		case twice:
			refuse("give each a title of its own", "columns %d and %d of the header both are %s", before+1, i+1, text.Clip(header[i]))
		case key == "group":
			c.group = i
		case key == "landmark":
			c.landmark = i
		default:
			c.covariates[i] = title
		}
	}
	refuseIf(c.wide && c.landmark >= 0, "keep one layout", "the header has a landmark column (long) and x1, y1, … columns (wide)")
	for _, i := range slices.Sorted(maps.Keys(c.covariates)) {
		if !c.wide && c.landmark < 0 && landmarkTitle.MatchString(strings.ToLower(c.covariates[i])) {
			c.landmark = i
			delete(c.covariates, i)
		}
	}
	c.nameColumn(rows)
	delete(c.covariates, c.specimen)
	c.untitled = slices.DeleteFunc(c.untitled, func(i int) bool { return i == c.specimen })
	return c
}

// numberedIn finds columns of numbers whose titles are numbers behind one word, as V2 … V25: eight at least, one behind the other, and more
// than the other columns of numbers.
func numberedIn(header []string, rows []Row) (found []int) {
	var family []int
	word, last, numbers := "", 0, 0
	for i, title := range header {
		m, holds := stemNumber.FindStringSubmatch(strings.TrimSpace(title)), IsNumber(firstOf(rows, i))
		if holds {
			numbers++
		}
		if !holds || m == nil || !strings.ContainsFunc(m[1], unicode.IsLetter) {
			family = nil
			continue
		}
		number, _ := strconv.Atoi(m[2]) // nine digits at most
		if m[1] != word || number != last+1 {
			family = nil
		}
		family, word, last = append(family, i), m[1], number
		if len(family) > len(found) {
			found = family
		}
	}
	if len(found) < 8 || 2*len(found) <= numbers {
		return nil
	}
	return found
}

// firstOf is the first cell of a column that is not blank.
func firstOf(rows []Row, column int) string {
	for _, row := range rows {
		if cell := row.Field(column); cell != "" {
			return cell
		}
	}
	return ""
}

// values are the cells of a column, in rows that have coordinates.
func (c *columns) values(rows []Row, column int) []string {
	return lists.Each(lists.Filter(rows, c.hasPoint), func(row Row) string { return row.Field(column) })
}

// hasPoint says whether a row has a coordinate.
func (c *columns) hasPoint(row Row) bool {
	return slices.ContainsFunc(c.points, func(at []int) bool {
		return slices.ContainsFunc(at, func(i int) bool { return row.Field(i) != "" })
	})
}

// cycled gives the landmarks of columns x, y, x, y, … or x, y, z, x, y, z, … the names in the row above, or else numbers.
func cycled(above Row, coordinates []coordinateTitle) []coordinateTitle {
	var count [3]int
	var names []string
	seen, out := map[string]bool{"": true}, slices.Clone(coordinates)
	for i, t := range coordinates {
		switch {
		case t.axis < 0:
			continue
		case t.stem != "":
			return coordinates
		case t.axis == 0:
			names = append(names, above.Field(i))
			seen[strings.ToLower(above.Field(i))] = true
		}
		count[t.axis]++
		out[i].stem = strconv.Itoa(count[t.axis])
	}
	if count[0] < 2 || count[1] != count[0] || count[2] != 0 && count[2] != count[0] {
		return coordinates
	}
	for i := range out {
		if k, err := strconv.Atoi(out[i].stem); err == nil && len(seen) == len(names)+1 {
			out[i].stem = names[k-1]
		}
	}
	return out
}

// titledLandmark is a landmark as titles name it, with its columns of x, y and z; −1 where there is none.
type titledLandmark struct {
	name string
	at   [3]int
}

func (l *titledLandmark) whole() bool { return l.at[0] >= 0 && l.at[1] >= 0 }

// columns are those that are there.
func (l *titledLandmark) columns() []int {
	if l.at[2] < 0 {
		return l.at[:2]
	}
	return l.at[:]
}

// place says which columns of coordinates belong to which landmark.
func (c *columns) place(header []string, above Row, coordinates []coordinateTitle) {
	var all, counted []*titledLandmark // in the order of their first columns; with numbers
	by := map[string]*titledLandmark{}
	for i, t := range cycled(above, coordinates) {
		if t.axis < 0 {
			continue
		}
		l := by[t.key()]
		if l == nil {
			l = &titledLandmark{t.stem, [3]int{-1, -1, -1}}
			by[t.key()], all = l, append(all, l)
		}
		refuseIf(l.at[t.axis] >= 0, "give each a title of its own, such as x1, y1, x2, y2", "columns %d and %d of the header both are %s",
			l.at[t.axis]+1, i+1, text.Clip(header[i]))
		l.at[t.axis] = i
	}
	bare := by[""]
	numbers, prefixes, both := map[int]*titledLandmark{}, map[string]bool{}, false
	for _, l := range all {
		m := stemNumber.FindStringSubmatch(l.name)
		if m == nil {
			continue
		}
		number, _ := strconv.Atoi(m[2]) // nine digits at most
		if number > 2*len(all)+fewest && !l.whole() {
			c.notes = append(c.notes, "the column "+text.Clip(header[slices.Max(l.at[:])])+" was taken for a covariate: no other coordinate has such a number")
			continue
		}
		numbers[number], prefixes[strings.ToLower(m[1])], both = l, true, both || l.whole()
		counted = append(counted, l)
	}
	numbered, base := len(prefixes) == 1 && len(numbers) == len(counted), 1
	switch {
	case bare != nil && both:
		refuse("keep one layout", "the header has both x, y columns (long) and x1, y1, … columns (wide)")
	case bare != nil && !bare.whole():
		refuse("give all coordinates a column", "the header lacks the column x or y")
	case bare != nil:
		c.points = [][]int{bare.columns()}
		return
	case numbered:
		if counted = nil; numbers[0] != nil {
			base, c.fromZero = 0, true
		}
		for l := range len(numbers) {
			refuseIf(numbers[base+l] == nil, "write NA in its columns if all specimens lack it, or count without gaps",
				"the header lacks the columns of landmark %d (x%d, y%d, …)", l, base+l, base+l)
			counted = append(counted, numbers[base+l])
		}
	case len(counted) == 0: // names without numbers; of one landmark alone they are x, y, z
		counted = slices.DeleteFunc(all, func(l *titledLandmark) bool { return !l.whole() })
	}
	refuseIf(len(counted) == 0, "give all coordinates a column", "the header has no landmark with x and y")
	c.wide = numbered || len(counted) > 1
	for k, l := range counted {
		called := text.Clip(l.name)
		if numbered {
			called = fmt.Sprintf("%[1]d (x%[2]d, y%[2]d or z%[2]d)", k, base+k)
		} else if c.wide {
			c.labels = append(c.labels, l.name)
		}
		refuseIf(!l.whole() || (l.at[2] < 0) != (counted[0].at[2] < 0), "give each landmark a column for each of its coordinates",
			"the header lacks a coordinate of landmark %s", called)
		c.points = append(c.points, l.columns())
	}
}
