package morpho

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/landmarks/internal/text"
)

// sheet is a table in a text file, as spreadsheets and people save it: its header is found below titles, by whatever separates its
// columns. As an io.Reader it hands the lines from the header on to encoding/csv, one per call, each ended by LF, and bounds what a row
// may take: one whose quotation mark is never closed goes on to the end of the file, and every column takes memory of its own.
type sheet struct {
	in    *text.Reader
	file  string
	comma rune     // between columns; ' ' for white space of any length
	given bool     // the first line of the file names comma
	ahead []string // lines that were read to find the header, and are still to be handed out
	first int      // number of the first of them

	parsed map[rune][]sheetRow // the lines ahead by their separators, before any is handed out

	before int    // lines before the first that encoding/csv sees
	line   string // the rest of the line at hand
	begun  int    // bytes of the row at hand
}

const (
	lookAhead = 100     // lines among which the header is
	lookBytes = 1 << 20 // beyond which no further line is looked at
)

// separators of columns, in the order in which they are tried.
const separators = ",;\t "

// excelSeparator matches the first line by which Excel is told the separator.
var excelSeparator = regexp.MustCompile(`^(?i:"?sep=)(.)"?$`)

// newSheet looks at the beginning of a file.
func newSheet(r io.Reader, name string) *sheet {
	s := &sheet{in: text.NewReader(r, name), file: name, first: 1}
	for bytes := 0; len(s.ahead) < lookAhead && bytes < lookBytes; {
		line, err := s.in.Line()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = tooWide(line, ",;\t")
		}
		if err != nil {
			try.Do(&placed{s.in.Errorf("%w", err)})
		}
		bytes += len(line)
		if m := excelSeparator.FindStringSubmatch(line); m != nil && !s.given && strings.TrimSpace(strings.Join(s.ahead, "")) == "" {
			s.given, s.ahead, s.first = true, nil, s.in.Number+1
			s.comma, _ = utf8.DecodeRuneInString(m[1])
			if !strings.ContainsRune(separators+"|:", s.comma) {
				refuseAt(name, s.in.Number, "write sep=, or sep=; or leave the line out", "%s does not separate columns", text.Clip(m[1]))
			}
			continue
		}
		s.ahead = append(s.ahead, line)
	}
	if strings.TrimSpace(strings.Join(s.ahead, "")) == "" {
		refuseAt(name, 0, "write a header such as specimen,group,landmark,x,y and a row for each landmark", "the file is empty")
	}
	return s
}

// sheetRow is a row of the beginning of a file.
type sheetRow struct {
	cells []string
	line  int
}

// rows parts the lines ahead into cells.
func (s *sheet) rows(comma rune) []sheetRow {
	if s.parsed == nil {
		s.parsed = map[rune][]sheetRow{}
	}
	if _, done := s.parsed[comma]; !done {
		s.parsed[comma] = s.parse(comma)
	}
	return s.parsed[comma]
}

func (s *sheet) parse(comma rune) (rows []sheetRow) {
	lines := slices.Clone(s.ahead)
	for k := range lines {
		lines[k] = parted(lines[k], comma)
	}
	reader := csv.NewReader(strings.NewReader(strings.Join(lines, "\n")))
	reader.Comma, reader.TrimLeadingSpace, reader.LazyQuotes, reader.FieldsPerRecord = comma, comma != '\t', true, -1
	for {
		cells, err := reader.Read()
		if err != nil {
			return rows
		}
		line, _ := reader.FieldPos(0)
		rows = append(rows, sheetRow{cells, s.first + line - 1})
	}
}

// parted returns a line whose columns are parted by one separator each.
func parted(line string, comma rune) string {
	if comma == ' ' {
		return strings.Join(strings.Fields(line), " ")
	}
	return line
}

// commas are the separators that the columns may have.
func (s *sheet) commas() []rune {
	if s.given {
		return []rune{s.comma}
	}
	return []rune(separators)
}

// header finds the row that names the columns of coordinates, with the separator by which it does: the uppermost row, and of several
// separators that by which most columns are named. above are the rows before it, and below that after it; without a header all are nil.
func (s *sheet) header() (above []sheetRow, header, below *sheetRow) {
	most := 0
	for _, comma := range s.commas() {
		rows := s.rows(comma)
		for k, row := range rows {
			if header != nil && row.line > header.line {
				break
			}
			if comma == ' ' && strings.ContainsAny(strings.Join(row.cells, ""), separators) {
				continue // of another separator, with spaces in the titles
			}
			named := isHeader(row.cells)
			if named == 0 || header != nil && row.line == header.line && named <= most {
				continue
			}
			most, s.comma, above, header, below = named, comma, rows[:k], &rows[k], nil
			if k+1 < len(rows) {
				below = &rows[k+1]
			}
			break
		}
	}
	if header != nil {
		return above, header, below
	}
	for _, comma := range s.commas() { // columns that are numbered throughout
		rows := s.rows(comma)
		for k := range rows[:max(len(rows)-1, 0)] {
			if numbered := len(numberedIn(rows[k].cells, rows[k+1:k+2])); numbered > most {
				most, s.comma, above, header, below = numbered, comma, rows[:k], &rows[k], &rows[k+1]
			}
		}
	}
	return above, header, below
}

// isTable recognises files by their beginning: they name columns of coordinates, or hold rows of numbers.
func isTable(head []byte) bool {
	if bytes.IndexByte(head, 0) >= 0 {
		return false
	}
	if end := bytes.LastIndexAny(head, "\r\n"); end >= 0 {
		head = head[:end] // the last line may be cut off
	}
	var s *sheet
	if try.Run(func() { s = newSheet(bytes.NewReader(head), "") }) != nil {
		return false
	}
	if _, header, _ := s.header(); header != nil {
		return true
	}
	for _, comma := range s.commas() {
		for _, row := range s.rows(comma) {
			numbers, _ := row.numbers()
			if _, point := pointOf(row.cells); point || numbers > 1 {
				return true
			}
		}
	}
	return false
}

// skipTo passes over the lines before a line ahead.
func (s *sheet) skipTo(line int) {
	s.ahead, s.first = s.ahead[line-s.first:], line
	s.before = line - 1
}

// next returns the next line, without its end.
func (s *sheet) next() (string, error) {
	if len(s.ahead) > 0 {
		line := s.ahead[0]
		s.ahead, s.first = s.ahead[1:], s.first+1
		return line, nil
	}
	line, err := s.in.Line()
	s.first = s.in.Number + 1
	return line, err
}

// Read is io.Reader's.
func (s *sheet) Read(p []byte) (int, error) {
	if s.line == "" {
		line, err := s.next()
		if err != nil {
			return 0, err
		}
		s.line = parted(line, s.comma) + "\n"
		if s.begun += len(s.line); s.begun > text.MaxLine {
			return 0, text.Advise("close the quotation mark with which a cell begins",
				"the row is longer than %d MiB; is a quotation mark not closed?", text.MaxLine>>20)
		}
	}
	if err := tooWide(s.line, string(s.comma)); err != nil {
		return 0, err
	}
	n := copy(p, s.line)
	s.line = s.line[n:]
	return n, nil
}

// tooWide returns an error if a line has more columns than there may be, by one of the separators.
func tooWide(line, commas string) error {
	if len(line) < input.Columns {
		return nil
	}
	most := 0
	for _, comma := range commas {
		most = max(most, 1+strings.Count(line, string(comma)))
	}
	return new(input.Budget).Row(most)
}

// records calls each with the cells of every row from the line ahead on, and with its line. The next row takes their place.
func (s *sheet) records(each func(cells []string, line int)) {
	reader := csv.NewReader(s)
	reader.Comma, reader.TrimLeadingSpace = s.comma, s.comma != '\t'
	reader.ReuseRecord, reader.FieldsPerRecord = true, -1 // who takes them counts them, with a better message
	for {
		s.begun = 0
		cells, err := reader.Read()
		if err == io.EOF {
			return
		}
		if parse := (*csv.ParseError)(nil); errors.As(err, &parse) {
			refuseAt(s.file, s.before+parse.Line, `write a quotation mark within a cell twice, and one around the cell: "5"" skull"`, "%w", parse.Err)
		}
		if err != nil {
			try.Do(&placed{at(s.file, max(s.first-1, 1), err)})
		}
		line, _ := reader.FieldPos(0)
		s.in.Spend(input.Cells, len(cells)+4)
		each(cells, s.before+line)
	}
}

// all returns the rows from the line ahead on.
func (s *sheet) all() (rows []sheetRow) {
	s.records(func(cells []string, line int) { rows = append(rows, sheetRow{slices.Clone(cells), line}) })
	return rows
}

// isNumber says whether a cell holds a number, with a decimal point or comma.
func isNumber(cell string) bool {
	cell = strings.TrimSpace(cell)
	_, err := text.Number(cell)
	return err == nil || decimalComma.MatchString(cell)
}

// numbers counts the numbers in a row, and filled the cells that are not blank.
func (r sheetRow) numbers() (numbers, filled int) {
	for _, cell := range r.cells {
		if strings.TrimSpace(cell) != "" {
			filled++
		}
		if isNumber(cell) {
			numbers++
		}
	}
	return numbers, filled
}

// quoted is the text of a row for a note, without blank cells.
func (r sheetRow) quoted() string {
	cells := slices.Clone(r.cells)
	cells = slices.DeleteFunc(cells, func(cell string) bool { return strings.TrimSpace(cell) == "" })
	return text.Clip(strings.Join(cells, " "))
}

// withoutHeader ends the read of a table whose columns nothing names: the error says where the table seems to begin.
func (s *sheet) withoutHeader() {
	const coordinates = "x, y[, z] or x1, y1[, z1], x2, …"
	fail := func(line int, comma rune, what string, args ...any) {
		do := fmt.Sprintf("write a header above the table, such as specimen%[1]cx1%[1]cy1%[1]cx2%[1]cy2 for a row per specimen, "+
			"or specimen%[1]clandmark%[1]cx%[1]cy for a row per landmark", comma)
		refuseAt(s.file, line, do, what, args...)
	}
	most, comma := 1, s.commas()[0]
	var table, above *sheetRow
	for _, c := range s.commas() {
		rows := s.rows(c)
		for k := range rows {
			numbers, _ := rows[k].numbers()
			if numbers < 2 {
				continue
			}
			if numbers > most {
				most, comma, table, above = numbers, c, &rows[k], nil
				if k > 0 {
					above = &rows[k-1]
				}
			}
			break
		}
	}
	if table == nil {
		by := "by commas, semicolons, tabs or spaces"
		if s.given {
			by = fmt.Sprintf("by the %q that sep= names", s.comma)
		}
		fail(s.first, comma, "%w", notLandmarks(fmt.Sprintf(
			"%s, no line names columns %s, and none has two numbers: this is no table of landmarks", by, coordinates)))
	}
	if above != nil {
		if numbers, filled := above.numbers(); numbers == 0 && filled > 1 && len(above.cells) == len(table.cells) {
			fail(above.line, comma, "%w", notLandmarks(fmt.Sprintf("the header %s names no columns %s",
				text.Clip(strings.TrimSpace(s.ahead[above.line-s.first])), coordinates)))
		}
	}
	fail(table.line, comma, "a table seems to begin here, with %d numbers in a row, but no line above it names columns %s", most, coordinates)
}
