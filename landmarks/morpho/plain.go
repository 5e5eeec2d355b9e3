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

// readPlain reads a table without a header, for which see ReadCSV.
func readPlain(s *sheet) *Dataset {
	d := newDataset(s.file)
	t := numerals{plain: s.comma == ','}
	var rows []pointRow
	var lines []int      // of the rows
	var below []sheetRow // without numbers, behind a row
	announced, from := 0, 0
	editor := false // a file of Landmark Editor, whose missing landmarks are at 9999
	for {
		line, err := s.next()
		if err == io.EOF {
			break
		}
		number := s.first - 1
		if err != nil {
			try.Do(&placed{at(s.file, number+1, err)})
		}
		words := strings.TrimSpace(line)
		switch {
		case words == "" || strings.HasPrefix(words, "#") || words == "{" || words == "}":
			continue
		case len(rows) == 0 && plainVersion.MatchString(words):
			editor = !strings.Contains(words, ":")
			continue
		case len(rows) == 0 && plainCount.MatchString(words):
			if announced, err = text.Count("points", plainCount.FindStringSubmatch(words)[1]); err != nil {
				try.Do(&placed{at(s.file, number, err)})
			}
			from = number
			continue
		}
		ahead := sheet{ahead: []string{line}, first: number}
		row := sheetRow{line: number}
		if r := ahead.parse(s.comma); len(r) > 0 {
			row.cells = r[0].cells
		}
		point, ok := pointOf(row.cells)
		numbers, filled := row.numbers()
		if !ok && (numbers == 0 || len(rows) == 0 && 2*numbers <= filled) {
			if len(rows) == 0 {
				d.note("line %d above the coordinates was passed over: %s", number, row.quoted())
			} else {
				below = append(below, row)
			}
			continue
		}
		switch {
		case !ok:
			refuseAt(s.file, number, "write two or three coordinates in each line, behind a name or number or not", "%s is no landmark", text.Clip(words))
		case len(below) > 0:
			refuseAt(s.file, below[0].line, "remove the line, or write its landmarks into a file of their own",
				"%s stands between landmarks", below[0].quoted())
		case len(rows) > 0 && (len(point.values) != len(rows[0].values) || (point.label == "") != (rows[0].label == "")):
			refuseAt(s.file, number, "write the same number of cells in each line", "%s has other columns than line %d", text.Clip(words), lines[0])
		}
		s.in.Spend(input.Cells, 8) // a row of it takes a hundred bytes
		s.in.Spend(input.Coordinates, len(point.values))
		rows, lines = append(rows, point), append(lines, number)
	}
	if announced > 0 && announced != len(rows) {
		refuseAt(s.file, from, "write the file again: it may have ended early", "%d points are announced, and there are %d", announced, len(rows))
	}
	blocks, alike := parts(lines)
	if alike {
		refuseAt(s.file, lines[0], "write each into a file of its own, or all into a table with a header such as specimen,landmark,x,y",
			"blank lines part the landmarks in %d of one length: a table without a header is one specimen", blocks)
	}
	if blocks > 1 {
		d.note("blank lines between the landmarks were passed over")
	}
	numbered := "" // of the landmarks, if labels are numbers
	if rows[0].label == "" && len(rows[0].values) == 3 {
		numbered = counted(rows, func(r pointRow) string { return r.values[0] })
	}
	if numbered != "" {
		for i := range rows {
			rows[i].label, rows[i].values = rows[i].values[0], rows[i].values[1:]
		}
	} else if rows[0].label != "" {
		numbered = counted(rows, func(r pointRow) string { return r.label })
	}
	var points [][]float64
	seen := map[string]int{}
	if editor {
		points := 0
		for i := range rows { // a curve, whose points have one name
			if points++; i > 0 && rows[i].label != strings.TrimSuffix(rows[i-1].label, fmt.Sprintf(" %d", points-1)) {
				points = 1
			}
			if label := rows[i].label; points > 1 || i+1 < len(rows) && rows[i+1].label == label {
				rows[i].label = fmt.Sprintf("%s %d", label, points)
			}
		}
	}
	for i, row := range rows {
		if before, twice := seen[row.label]; row.label != "" && twice {
			refuseAt(s.file, lines[i], "if these are names of specimens, write a header such as specimen,x,y; else give each landmark a name of its own",
				"the name %s stands in line %d already: a table without a header is one specimen", text.Clip(row.label), before)
		}
		if isNumber(row.label) && numbered == "" {
			refuseAt(s.file, lines[i], "write a header that says which column is which, such as landmark,x,y,z or x1,y1,x2,y2",
				"rows have four numbers, and the first of them do not count the rows")
		}
		seen[row.label] = lines[i]
		point, err := t.point(i, row.values, lines[i])
		if err != nil {
			try.Do(&placed{at(s.file, lines[i], err)})
		}
		if editor && isCode(point, 9999) {
			point = missingPoint()[:len(point)]
		}
		points = append(points, point)
		if row.label != "" && numbered == "" {
			d.Labels = append(d.Labels, row.label)
		}
	}
	t.decimals(s.file)
	for _, row := range below {
		d.note("line %d below the coordinates was passed over: %s", row.line, row.quoted())
	}
	d.noteEncoding(s.in)
	if announced == 0 {
		d.noteEnd(s.in)
	}
	d.note("no header: taken for one specimen of %d landmarks with %d coordinates each", len(points), len(points[0]))
	if numbered != "" {
		d.note("the first column was taken for the numbers of the landmarks, from %s", numbered)
	}
	d.Specimens = []Specimen{{Name: stem(s.file), Points: points}}
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
