package files

import (
	"path/filepath"
	"slices"
	"strings"

	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/text"
)

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
	text.RefuseIf(spreadsheet(path), saveAsCSV, "%s: it is no table in text", path)
	in := try.Get(Reading{}.readFile(path, new(input.Budget), true, func(in *source) {
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
