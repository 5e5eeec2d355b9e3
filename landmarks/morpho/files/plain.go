package files

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/text"
)

// fewest landmarks that make a specimen of a table without a header: fewer numbers may be anything.
const fewest = 3

// pointRow is a row of a table without a header: the coordinates of a landmark, behind its label or number.
type pointRow struct {
	label  string
	values []string // numbers, NA or NaN
	line   int
}

// pointOf reads the cells of a row; false if they are not those of a landmark.
func pointOf(row Row) (p pointRow, ok bool) {
	cells := lists.Make(len(row.Cells), row.Field)
	for len(cells) > 0 && cells[len(cells)-1] == "" {
		cells = cells[:len(cells)-1]
	}
	value := func(cell string) bool {
		return IsNumber(cell) || strings.EqualFold(cell, "NA") || strings.EqualFold(cell, "NaN")
	}
	if p.line = row.Line; len(cells) > 1 && (len(cells) > 3 || !value(cells[0])) {
		p.label, cells = cells[0], cells[1:]
	}
	p.values = cells
	return p, (len(cells) == 2 || len(cells) == 3) && !slices.ContainsFunc(cells, func(cell string) bool { return !value(cell) })
}

// isPlain says whether rows ahead are landmarks of one specimen that nothing names, and finds their separator. Below a row of as many words
// they are columns of something else.
func (s *sheet) isPlain() bool {
	most := fewest - 1
	for _, comma := range s.commas {
		count, named, above := 0, false, Row{}
		for _, row := range s.rows(comma) {
			if _, ok := pointOf(row); ok && !strings.HasPrefix(row.Field(0), "#") {
				if count++; count == 1 {
					named = above.heads(row)
				}
			}
			above = row
		}
		if count > most && !named {
			most, s.comma = count, comma
		}
	}
	return most >= fewest
}

var (
	plainCount   = regexp.MustCompile(`(?i)^(?:n_points:\s*)?(\d+)$`)
	plainVersion = regexp.MustCompile(`(?i)^version:?\s*[\d.]+$`)

	// WholeNumber matches the number of a landmark.
	WholeNumber = regexp.MustCompile(`^\d+$`)
)

// plainTable is a table without a header, as it is read.
type plainTable struct {
	*source
	comma           rune
	rows            []pointRow
	below           []Row // without numbers, behind a row
	announced, from int   // how many rows, and where that stands
	editor          bool  // a file of Landmark Editor, whose missing landmarks are at 9999
}

// readPlain reads a table without a header, for which see morpho.ReadCSV.
func readPlain(s *sheet) {
	if !s.isPlain() {
		s.withoutHeader()
	}
	t := &plainTable{source: s.in, comma: s.comma}
	for _, row := range s.all(true) {
		if words := row.words(); words != "" && words[0] != '#' && words != "{" && words != "}" {
			t.line = row.Line
			t.take(row, words)
		}
	}
	if t.announced > 0 && t.announced != len(t.rows) {
		t.refuseAt(t.from, "write the file again: it may have ended early", "%d points are announced, and there are %d", t.announced, len(t.rows))
	}
	t.open = t.announced == 0
	if blocks, alike := parts(t.rows); alike {
		t.refuseAt(t.rows[0].line, "write each into a file of its own, or all into a table with a header such as specimen,landmark,x,y",
			"blank lines part the landmarks in %d of one length: a table without a header is one specimen", blocks)
	} else if blocks > 1 {
		t.note("blank lines between the landmarks were passed over")
	}
	t.landmarks()
}

// take takes a row with text.
func (t *plainTable) take(row Row, words string) {
	if len(t.rows) == 0 && plainVersion.MatchString(words) {
		t.editor = !strings.Contains(words, ":")
		return
	}
	if m := plainCount.FindStringSubmatch(words); len(t.rows) == 0 && m != nil {
		t.announced, t.from = try.Get(text.Count("points", m[1])), t.line
		return
	}
	point, ok := pointOf(row)
	numbers, filled := row.numbers()
	switch {
	case !ok && len(t.rows) == 0 && 2*numbers <= filled:
		t.note("line %d above the coordinates was passed over: %s", t.line, text.Clip(row.words()))
		return
	case !ok && numbers == 0:
		t.below = append(t.below, row)
		return
	case !ok:
		refuse("write two or three coordinates in each line, behind a name or number or not", "%s is no landmark", text.Clip(words))
	case len(t.below) > 0:
		t.refuseAt(t.below[0].Line, "remove the line, or write its landmarks into a file of their own", "%s stands between landmarks",
			text.Clip(t.below[0].words()))
	case len(t.rows) > 0 && (len(point.values) != len(t.rows[0].values) || (point.label == "") != (t.rows[0].label == "")):
		refuse("write the same number of cells in each line", "%s has other columns than line %d", text.Clip(words), t.rows[0].line)
	}
	t.Spend(input.Cells, 8) // a row of it takes a hundred bytes
	t.rows = append(t.rows, point)
}

// number returns the first of the numbers of the landmarks, if the labels are such, or the first of three columns is; else "".
func (t *plainTable) number() (first string) {
	if t.rows[0].label != "" {
		return counted(len(t.rows), func(i int) string { return t.rows[i].label })
	}
	if len(t.rows[0].values) == 3 {
		first = counted(len(t.rows), func(i int) string { return t.rows[i].values[0] })
	}
	for i := range t.rows {
		if row := &t.rows[i]; first != "" {
			row.label, row.values = row.values[0], row.values[1:]
		}
	}
	return first
}

// curvePoints numbers the points of curves of Landmark Editor, which may have one name.
func (t *plainTable) curvePoints() {
	name, points := "", 0
	for i := range t.rows {
		label := t.rows[i].label
		if points++; label != name {
			name, points = label, 1
		}
		if points > 1 || i+1 < len(t.rows) && t.rows[i+1].label == label {
			t.rows[i].label = fmt.Sprintf("%s %d", label, points)
		}
	}
}

// landmarks makes the rows the landmarks of one specimen.
func (t *plainTable) landmarks() {
	number := t.number()
	if t.editor && number == "" {
		t.curvePoints()
	}
	t.one("")
	t.plain = t.comma == ','
	seen := map[string]int{}
	for i, row := range t.rows {
		t.line = row.line
		if before, twice := seen[row.label]; row.label != "" && twice {
			refuse("if these are names of specimens, write a header such as specimen,x,y; else give each landmark a name of its own",
				"the name %s stands in line %d already: a table without a header is one specimen", text.Clip(row.label), before)
		}
		refuseIf(IsNumber(row.label) && number == "",
			"write a header that says which column is which, such as landmark,x,y,z or x1,y1,x2,y2",
			"rows have four numbers, and the first of them do not count the rows")
		seen[row.label] = row.line
		point := try.Get(t.point(i, row.values...))
		if t.editor && IsCode(point, 9999) {
			point = missing()[:len(point)]
		}
		if number != "" {
			row.label = ""
		}
		t.put(point, row.label)
	}
	t.decimals()
	t.complete()
	for _, row := range t.below {
		t.note("line %d below the coordinates was passed over: %s", row.Line, text.Clip(row.words()))
	}
	t.note("no header: taken for one specimen of %d landmarks with %d coordinates each", len(t.rows), len(t.rows[0].values))
	if t.FromZero = number == "0"; number != "" {
		t.note("the first column was taken for the numbers of the landmarks, from %s", number)
	}
}

// counted returns the first of n labels that count from 0 or from 1; "" if they do not.
func counted(n int, label func(i int) string) string {
	base, _ := strconv.Atoi(label(0))
	for i := range n {
		if base < 0 || base > 1 || label(i) != strconv.Itoa(base+i) {
			return ""
		}
	}
	return label(0)
}

// parts counts the blocks of lines that follow each other, and says whether they are several of one length, each enough for a specimen. Where
// every other line is blank there is one block.
func parts(rows []pointRow) (blocks int, alike bool) {
	var lengths []int
	for i, row := range rows {
		if i == 0 || row.line != rows[i-1].line+1 {
			lengths = append(lengths, 0)
		}
		lengths[len(lengths)-1]++
	}
	least, most := slices.Min(lengths), slices.Max(lengths)
	if most == 1 {
		return 1, false
	}
	return len(lengths), len(lengths) > 1 && least == most && least >= fewest
}
