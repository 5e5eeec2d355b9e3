package morpho

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/landmarks/internal/text"
)

// pointRow is a row of a table without a header: the coordinates of a landmark, behind its label or number.
type pointRow struct {
	label  string
	values []string // numbers, NA or NaN
}

// pointOf reads the cells of a row; false if they are not those of a landmark.
func pointOf(cells []string) (p pointRow, ok bool) {
	for len(cells) > 0 && strings.TrimSpace(cells[len(cells)-1]) == "" {
		cells = cells[:len(cells)-1]
	}
	value := func(cell string) bool {
		cell = strings.TrimSpace(cell)
		return isNumber(cell) || strings.EqualFold(cell, "NA") || strings.EqualFold(cell, "NaN")
	}
	if len(cells) > 1 && (len(cells) > 3 || !value(cells[0])) {
		p.label, cells = strings.TrimSpace(cells[0]), cells[1:]
	}
	p.values = cells
	ok = (len(cells) == 2 || len(cells) == 3) && !slices.ContainsFunc(cells, func(cell string) bool { return !value(cell) })
	return p, ok
}

// fewest landmarks that make a specimen of a table without a header: fewer numbers may be anything.
const fewest = 3

// isPlain says whether rows ahead are landmarks of one specimen that nothing names, and finds their separator. Below a row of as many words
// they are columns of something else.
func (s *sheet) isPlain() bool {
	most := fewest - 1
	for _, comma := range s.commas() {
		count, named := 0, false
		rows := s.rows(comma)
		for k, row := range rows {
			if _, ok := pointOf(row.cells); ok {
				if count++; count == 1 && k > 0 {
					numbers, filled := rows[k-1].numbers()
					named = numbers == 0 && filled > 1 && len(rows[k-1].cells) == len(row.cells)
				}
			}
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
	wholeNumber  = regexp.MustCompile(`^\d+$`)
)

// plainTable is a table without a header, as it is read.
type plainTable struct {
	s               *sheet
	d               *Dataset
	rows            []pointRow
	lines           []int      // of the rows
	below           []sheetRow // without numbers, behind a row
	announced, from int        // how many rows, and where that stands
	editor          bool       // a file of Landmark Editor, whose missing landmarks are at 9999
}

// readPlain reads a table without a header, for which see ReadCSV.
func readPlain(s *sheet) *Dataset {
	t := &plainTable{s: s, d: newDataset(s.file)}
	for {
		line, err := s.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			try.Do(&placed{at(s.file, s.first, err)})
		}
		if words := strings.TrimSpace(line); words != "" && !strings.HasPrefix(words, "#") && words != "{" && words != "}" {
			t.add(line, words, s.first-1)
		}
	}
	if t.announced > 0 && t.announced != len(t.rows) {
		refuseAt(s.file, t.from, "write the file again: it may have ended early", "%d points are announced, and there are %d", t.announced, len(t.rows))
	}
	blocks, alike := parts(t.lines)
	if alike {
		refuseAt(s.file, t.lines[0], "write each into a file of its own, or all into a table with a header such as specimen,landmark,x,y",
			"blank lines part the landmarks in %d of one length: a table without a header is one specimen", blocks)
	}
	if blocks > 1 {
		t.d.note("blank lines between the landmarks were passed over")
	}
	return t.dataset()
}

// add takes a line with text.
func (t *plainTable) add(line, words string, number int) {
	if len(t.rows) == 0 && plainVersion.MatchString(words) {
		t.editor = !strings.Contains(words, ":")
		return
	}
	if m := plainCount.FindStringSubmatch(words); len(t.rows) == 0 && m != nil {
		count, err := text.Count("points", m[1])
		if t.announced, t.from = count, number; err != nil {
			try.Do(&placed{at(t.s.file, number, err)})
		}
		return
	}
	ahead := sheet{ahead: []string{line}, first: number}
	row := sheetRow{line: number}
	if r := ahead.parse(t.s.comma); len(r) > 0 {
		row.cells = r[0].cells
	}
	point, ok := pointOf(row.cells)
	numbers, filled := row.numbers()
	switch {
	case !ok && len(t.rows) == 0 && 2*numbers <= filled:
		t.d.note("line %d above the coordinates was passed over: %s", number, row.quoted())
		return
	case !ok && numbers == 0:
		t.below = append(t.below, row)
		return
	case !ok:
		refuseAt(t.s.file, number, "write two or three coordinates in each line, behind a name or number or not", "%s is no landmark", text.Clip(words))
	case len(t.below) > 0:
		refuseAt(t.s.file, t.below[0].line, "remove the line, or write its landmarks into a file of their own",
			"%s stands between landmarks", t.below[0].quoted())
	case len(t.rows) > 0 && (len(point.values) != len(t.rows[0].values) || (point.label == "") != (t.rows[0].label == "")):
		refuseAt(t.s.file, number, "write the same number of cells in each line", "%s has other columns than line %d", text.Clip(words), t.lines[0])
	}
	t.s.in.Spend(input.Cells, 8) // a row of it takes a hundred bytes
	t.s.in.Spend(input.Coordinates, len(point.values))
	t.rows, t.lines = append(t.rows, point), append(t.lines, number)
}

// numbers returns the first of the numbers of the landmarks, if the labels are such, or the first of three columns is; else "".
func (t *plainTable) numbers() (first string) {
	if t.rows[0].label != "" {
		return counted(t.rows, func(r pointRow) string { return r.label })
	}
	if len(t.rows[0].values) == 3 {
		first = counted(t.rows, func(r pointRow) string { return r.values[0] })
	}
	for i, row := range t.rows {
		if first != "" {
			t.rows[i] = pointRow{row.values[0], row.values[1:]}
		}
	}
	return first
}

// curves numbers the points of curves of Landmark Editor, which may have one name.
func (t *plainTable) curves() {
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

// dataset makes the rows the landmarks of one specimen.
func (t *plainTable) dataset() *Dataset {
	d, reader := t.d, numerals{plain: t.s.comma == ','}
	numbered := t.numbers()
	if t.editor && numbered == "" {
		t.curves()
	}
	var points [][]float64
	seen := map[string]int{}
	for i, row := range t.rows {
		if before, twice := seen[row.label]; row.label != "" && twice {
			refuseAt(t.s.file, t.lines[i], "if these are names of specimens, write a header such as specimen,x,y; else give each landmark a name of its own",
				"the name %s stands in line %d already: a table without a header is one specimen", text.Clip(row.label), before)
		}
		if isNumber(row.label) && numbered == "" {
			refuseAt(t.s.file, t.lines[i], "write a header that says which column is which, such as landmark,x,y,z or x1,y1,x2,y2",
				"rows have four numbers, and the first of them do not count the rows")
		}
		seen[row.label] = t.lines[i]
		point, err := reader.point(i, row.values, t.lines[i])
		if err != nil {
			try.Do(&placed{at(t.s.file, t.lines[i], err)})
		}
		if t.editor && isCode(point, 9999) {
			point = missingPoint()[:len(point)]
		}
		points = append(points, point)
		if row.label != "" && numbered == "" {
			d.Labels = append(d.Labels, row.label)
		}
	}
	reader.decimals(t.s.file)
	for _, row := range t.below {
		d.note("line %d below the coordinates was passed over: %s", row.line, row.quoted())
	}
	d.noteEncoding(t.s.in)
	if t.announced == 0 {
		d.noteEnd(t.s.in)
	}
	d.note("no header: taken for one specimen of %d landmarks with %d coordinates each", len(points), len(points[0]))
	if d.FromZero = numbered == "0"; numbered != "" {
		d.note("the first column was taken for the numbers of the landmarks, from %s", numbered)
	}
	d.Specimens = []Specimen{{Name: stem(t.s.file), Points: points}}
	return d
}

// counted returns the first of labels that count the rows from 0 or from 1; "" if they do not.
func counted(rows []pointRow, label func(pointRow) string) string {
	first := label(rows[0])
	if first != "0" && first != "1" {
		return ""
	}
	base, _ := strconv.Atoi(first)
	for i, row := range rows {
		if l := label(row); !wholeNumber.MatchString(l) || l != strconv.Itoa(base+i) {
			return ""
		}
	}
	return first
}

// parts counts the blocks of lines that follow each other, and says whether they are several of one length, each enough for a specimen. Where
// every other line is blank there is one block.
func parts(lines []int) (blocks int, alike bool) {
	var lengths []int
	for i := range lines {
		if i == 0 || lines[i] != lines[i-1]+1 {
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
