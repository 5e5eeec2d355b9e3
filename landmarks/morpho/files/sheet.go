package files

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/text"
)

// Row is a row of a table, with the line in which it begins.
type Row struct {
	Cells []string
	Line  int
}

// Field returns a cell without outer spaces, empty where the row has no such column.
func (r Row) Field(column int) string {
	if column < 0 || column >= len(r.Cells) {
		return ""
	}
	return strings.TrimSpace(r.Cells[column])
}

// numbers counts the numbers in a row, and filled the cells that are not blank.
func (r Row) numbers() (numbers, filled int) {
	for i, cell := range r.Cells {
		if r.Field(i) != "" {
			filled++
		}
		if IsNumber(cell) {
			numbers++
		}
	}
	return numbers, filled
}

// heads says whether a row is words above the columns of another one.
func (r Row) heads(other Row) bool {
	numbers, filled := r.numbers()
	return numbers == 0 && filled > 1 && len(r.Cells) == len(other.Cells)
}

// words are the text of a row, without blank cells.
func (r Row) words() string {
	return strings.Join(slices.DeleteFunc(slices.Clone(r.Cells), func(cell string) bool { return strings.TrimSpace(cell) == "" }), " ")
}

// sheet is a table in a text file, as spreadsheets and people save it: its header is found below titles, by whatever separates its
// columns. As an io.Reader it hands the lines from the header on to encoding/csv, one per call, each ended by LF, and bounds what a row
// may take: one whose quotation mark is never closed goes on to the end of the file, and every column takes memory of its own.
type sheet struct {
	in     *source
	comma  rune           // between columns; ' ' for white space of any length
	commas []rune         // that it may be
	whole  []Row          // the table, if it is no text
	ahead  []string       // lines that were read to find the header, and are still to be handed out
	first  int            // number of the first of them
	parsed map[rune][]Row // the lines ahead by their separators, before any is handed out

	rest  string // of the line at hand
	begun int    // bytes of the row at hand
}

const (
	lookAhead  = 100     // lines among which the header is
	lookBytes  = 1 << 20 // beyond which no further line is looked at
	separators = ",;\t " // of columns, in the order in which they are tried
)

// excelSeparator matches the first line by which Excel is told the separator.
var excelSeparator = regexp.MustCompile(`^(?i:"?sep=)(.)"?$`)

// newSheet looks at the beginning of a file.
func newSheet(in *source) *sheet {
	s := &sheet{in: in, first: 1, commas: []rune(separators), parsed: map[rune][]Row{}}
	empty := true
	for bytes := 0; len(s.ahead) < lookAhead && bytes < lookBytes; {
		line, err := in.Line()
		if err == io.EOF {
			break
		}
		in.line = in.Number
		try.Do(err)
		try.Do(tooWide(line, ",;\t"))
		bytes += len(line)
		if m := excelSeparator.FindStringSubmatch(line); m != nil && empty {
			comma, _ := utf8.DecodeRuneInString(m[1])
			refuseIf(!strings.ContainsRune(separators+"|:", comma), "write sep=, or sep=; or leave the line out",
				"%s does not separate columns", text.Clip(m[1]))
			s.commas, s.ahead, s.first, empty = []rune{comma}, nil, in.Number+1, false
			continue
		}
		s.ahead, empty = append(s.ahead, line), empty && strings.TrimSpace(line) == ""
	}
	if strings.TrimSpace(strings.Join(s.ahead, "")) == "" {
		in.refuseAt(0, "write a header such as specimen,group,landmark,x,y and a row for each landmark", "the file is empty")
	}
	return s
}

// sheetOf is a sheet of rows that a file holds as such.
func sheetOf(in *source, rows []Row) *sheet {
	return &sheet{in: in, comma: ',', commas: []rune(","), whole: rows, parsed: map[rune][]Row{',': rows[:min(len(rows), lookAhead)]}}
}

// rows parts the lines ahead into cells.
func (s *sheet) rows(comma rune) []Row {
	if s.parsed[comma] == nil {
		s.parsed[comma] = parse(s.ahead, s.first, comma)
	}
	return s.parsed[comma]
}

// parse parts lines, of which the first has a number, up to a row that cannot be read.
func parse(lines []string, first int, comma rune) (rows []Row) {
	var all strings.Builder
	for _, line := range lines {
		all.WriteString(parted(line, comma) + "\n")
	}
	reader := csv.NewReader(strings.NewReader(all.String()))
	reader.Comma, reader.TrimLeadingSpace, reader.LazyQuotes, reader.FieldsPerRecord = comma, comma != '\t', true, -1
	for {
		cells, err := reader.Read()
		if err != nil {
			return rows
		}
		line, _ := reader.FieldPos(0)
		rows = append(rows, Row{cells, first + line - 1})
	}
}

// parted returns a line whose columns are parted by one separator each.
func parted(line string, comma rune) string {
	if comma == ' ' {
		return strings.Join(strings.Fields(line), " ")
	}
	return line
}

// header finds the row that names the columns of coordinates, with the separator by which it does: the uppermost row, and of several
// separators that by which most columns are named. It is k of the rows, −1 where there is none. Where no row names columns, it is one above columns
// that are numbered throughout.
func (s *sheet) header() (rows []Row, k int) {
	most, k := 0, -1
	for _, numbered := range []bool{false, true} {
		for _, comma := range s.commas {
			for i, row := range s.rows(comma) {
				if k >= 0 && !numbered && row.Line > rows[k].Line {
					break
				}
				named := 0
				switch below := s.rows(comma)[i+1:]; {
				case numbered && len(below) > 0:
					named = len(numberedIn(row.Cells, below[:1]))
				case numbered, comma == ' ' && strings.ContainsAny(strings.Join(row.Cells, ""), separators): // of another separator, with spaces in the titles
				default:
					named = isHeader(row.Cells)
				}
				if named > 0 && (k < 0 || named > most || !numbered && row.Line < rows[k].Line) {
					most, s.comma, rows, k = named, comma, s.rows(comma), i
				}
			}
		}
		if k >= 0 {
			break
		}
	}
	return rows, k
}

// isTable recognises files by their beginning: they name columns of coordinates, or hold rows of numbers.
func isTable(head []byte) bool {
	if bytes.IndexByte(head, 0) >= 0 {
		return false
	}
	if end := bytes.LastIndexAny(head, "\r\n"); end >= 0 {
		head = head[:end] // the last line may be cut off
	}
	is := false
	_ = try.Run(func() {
		s := newSheet(&source{Reader: text.NewReader(bytes.NewReader(head), "")})
		if _, k := s.header(); k >= 0 {
			is = true
		}
		for _, comma := range s.commas {
			for _, row := range s.rows(comma) {
				numbers, _ := row.numbers()
				_, point := pointOf(row)
				is = is || point || numbers > 1
			}
		}
	})
	return is
}

// skipTo passes over the lines before a line ahead.
func (s *sheet) skipTo(line int) {
	if s.whole != nil {
		s.whole = s.whole[slices.IndexFunc(s.whole, func(r Row) bool { return r.Line == line }):]
		return
	}
	s.ahead, s.first = s.ahead[line-s.first:], line
}

// Read is io.Reader's.
func (s *sheet) Read(p []byte) (int, error) {
	if s.rest == "" {
		line, err := "", error(nil)
		if len(s.ahead) > 0 {
			s.in.line = s.first
			line, s.ahead, s.first = s.ahead[0], s.ahead[1:], s.first+1
		} else {
			line, err = s.in.Line()
			s.in.line = s.in.Number
		}
		if err != nil {
			return 0, err
		}
		s.rest = parted(line, s.comma) + "\n"
		if s.begun += len(s.rest); s.begun > text.MaxLine {
			return 0, text.Advise("close the quotation mark with which a cell begins",
				"the row is longer than %d MiB; is a quotation mark not closed?", text.MaxLine>>20)
		}
	}
	if err := tooWide(s.rest, string(s.comma)); err != nil {
		return 0, err
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
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

// all returns the rows from the line ahead on. lazy lets quotation marks stand within cells.
func (s *sheet) all(lazy bool) (rows []Row) {
	if s.whole != nil {
		return s.whole
	}
	reader, before := csv.NewReader(s), s.first-1
	reader.LazyQuotes = lazy
	reader.Comma, reader.TrimLeadingSpace, reader.FieldsPerRecord = s.comma, s.comma != '\t', -1 // who takes them counts them, with a better message
	for {
		s.begun = 0
		cells, err := reader.Read()
		if err == io.EOF {
			return rows
		}
		if parse := (*csv.ParseError)(nil); errors.As(err, &parse) {
			s.in.refuseAt(before+parse.Line, `write a quotation mark within a cell twice, and one around the cell: "5"" skull"`, "%w", parse.Err)
		}
		try.Do(err)
		line, _ := reader.FieldPos(0)
		s.in.Spend(input.Cells, len(cells)+4)
		rows = append(rows, Row{cells, before + line})
	}
}

// withoutHeader ends the read of a table whose columns nothing names: the error says where the table seems to begin.
func (s *sheet) withoutHeader() {
	const coordinates = "x, y[, z] or x1, y1[, z1], x2, …"
	most, comma := 1, s.commas[0]
	var table, above Row
	for _, c := range s.commas {
		rows := s.rows(c)
		k := slices.IndexFunc(rows, func(r Row) bool { numbers, _ := r.numbers(); return numbers > 1 })
		if k < 0 {
			continue
		}
		if numbers, _ := rows[k].numbers(); numbers > most {
			most, comma, table, above = numbers, c, rows[k], append([]Row{{}}, rows...)[k]
		}
	}
	fail := func(line int, what string, args ...any) {
		s.in.refuseAt(line, fmt.Sprintf("write a header above the table, such as specimen%[1]cx1%[1]cy1%[1]cx2%[1]cy2 for a row per specimen, "+
			"or specimen%[1]clandmark%[1]cx%[1]cy for a row per landmark", comma), what, args...)
	}
	switch {
	case table.Cells == nil:
		by := "by commas, semicolons, tabs or spaces"
		if len(s.commas) == 1 {
			by = fmt.Sprintf("by the %q that sep= names", comma)
		}
		fail(s.first, "%w", notLandmarks(fmt.Sprintf("%s, no line names columns %s, and none has two numbers: this is no table of landmarks", by,
			coordinates)))
	case above.heads(table):
		fail(above.Line, "%w",
			notLandmarks(fmt.Sprintf("the header %s names no columns %s", text.Clip(strings.TrimSpace(strings.Join(above.Cells, string(comma)))),
				coordinates)))
	}
	fail(table.Line, "a table seems to begin here, with %d numbers in a row, but no line above it names columns %s", most, coordinates)
}

// Table is a table of anything about specimens, below its header.
type Table struct {
	Header []string
	Rows   []Row    // of which none is blank
	Notes  []string // of its encoding
}

// ReadTable reads a table in text, or the first sheet of a workbook, below the first row with several cells. Where columns are not separated by
// commas, decimal commas of columns of numbers, where some may be missing, become points.
func ReadTable(path string) (t *Table, err error) {
	defer try.Catch(&err)
	if spreadsheet(path) {
		return nil, fmt.Errorf("%s: %w", path, text.Advise(saveAsCSV, "it is no table in text"))
	}
	in := try.Get(Reading{}.readFile(onDisk(path), new(input.Budget), true, func(in *source) {
		if strings.EqualFold(filepath.Ext(path), ".xlsx") {
			t = sheetOf(in, in.sheets()[0].rows).table()
		} else {
			t = newSheet(in).table()
		}
	}))
	t.Notes = in.Notes
	return t, nil
}

func (s *sheet) table() *Table {
	in := s.in
	above, alike := Row{}, 0
	for _, comma := range s.commas {
		if above.Cells != nil && comma == ' ' {
			break // spaces are within names
		}
		if first, rows := firstOfMost(s.rows(comma)); first.Cells != nil && rows > alike {
			alike, s.comma, above = rows, comma, first
		}
	}
	if above.Cells == nil {
		in.refuseAt(0, "write a header such as specimen,sex,age and a row for each specimen", "no line has two columns")
	}
	s.skipTo(above.Line)
	t := &Table{}
	for _, row := range s.all(false) {
		if row.Cells = lists.Make(len(row.Cells), row.Field); strings.Join(row.Cells, "") != "" {
			t.Rows = append(t.Rows, row)
		}
	}
	if t.Header, t.Rows = t.Rows[0].Cells, t.Rows[1:]; len(t.Rows) == 0 {
		in.refuseAt(0, "write a row for each specimen below the header", "the table has no rows")
	}
	if s.comma != ',' {
		t.decimalPoints()
	}
	if len(t.Rows[0].Cells) == len(t.Header)+1 { // R's row names
		t.Header = slices.Concat([]string{"specimen"}, t.Header)
	}
	for i, title := range t.Header {
		if title != "" && slices.Contains(t.Header[:i], title) {
			in.refuseAt(above.Line, "rename one of them", "two columns are called %s", text.Clip(title))
		}
	}
	return t
}

// firstOfMost is the first row of the number of cells, two or more, that most rows have, and how many have it; of such numbers the largest.
func firstOfMost(rows []Row) (first Row, most int) {
	count := map[int]int{}
	for _, row := range rows {
		count[len(row.Cells)]++
	}
	cells := 0
	for n, rows := range count {
		if n > 1 && (rows > most || rows == most && n > cells) {
			cells, most = n, rows
		}
	}
	for _, row := range rows {
		_, filled := row.numbers()
		rowNames := len(row.Cells) == cells && filled == cells-1 && row.Field(0) == ""          // which have no title
		if (filled > 1 || rowNames) && (len(row.Cells) == cells || len(row.Cells) == cells-1) { // R's header lacks the title of the row names
			return row, most
		}
	}
	return Row{}, 0
}

// decimalPoints replaces decimal commas in columns whose values are all numbers with them, or missing.
func (t *Table) decimalPoints() {
	for c := range t.Header {
		other := func(row Row) bool {
			_, err := Number(row.Field(c)) // a number, or missing
			return err != nil && !IsNumber(row.Field(c))
		}
		if slices.ContainsFunc(t.Rows, other) {
			continue
		}
		for _, row := range t.Rows {
			if c < len(row.Cells) {
				row.Cells[c] = strings.Replace(row.Cells[c], ",", ".", 1)
			}
		}
	}
}
