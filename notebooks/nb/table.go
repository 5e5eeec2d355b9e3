package nb

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"anatomy/landmarks/morpho/files"
)

// Frame is a table: rows of texts, in columns that have names.
type Frame struct {
	names []string
	rows  [][]string
}

// Row is a row of a Frame.
type Row struct {
	of    *Frame
	cells []string
}

// Table reads a table from a file of text or of Excel, as files.ReadTable does. What it is not given ends the cell with a message, as Must does:
//
//	t := nb.Table("fish.csv")
//	viz.Scatter(t.Numbers("length"), t.Numbers("weight"))
func Table(path string) *Frame {
	t := Must(files.ReadTable(path))
	f := &Frame{names: t.Header}
	for _, row := range t.Rows {
		if len(row.Cells) > len(f.names) {
			fail("error: %s:%d: %d cells under %d names of columns: write the same number of cells in each line", path, row.Line, len(row.Cells), len(f.names))
		}
		f.rows = append(f.rows, row.Cells)
	}
	return f
}

// Names are the names of the columns.
func (f *Frame) Names() []string { return slices.Clone(f.names) }

// Len is the number of rows.
func (f *Frame) Len() int { return len(f.rows) }

// Rows are the rows from the first to the last.
func (f *Frame) Rows() iter.Seq[Row] {
	return func(yield func(Row) bool) {
		for _, cells := range f.rows {
			if !yield(Row{f, cells}) {
				return
			}
		}
	}
}

// Text is the cell in the column of that name; "" where nothing stands.
func (r Row) Text(name string) string {
	c := slices.Index(r.of.names, name)
	if c < 0 {
		fail("error: no column %q; there are: %s", name, strings.Join(r.of.names, ", "))
	}
	return append(r.cells, make([]string, len(r.of.names))...)[c]
}

// missing are the words for what was not measured.
var missing = []string{"", "na", "n/a", "nan", "null", "none", "-", "?"}

// Missing says whether the cell in the column of that name is empty, NA, NaN, null, none, - or ?.
func (r Row) Missing(name string) bool {
	return slices.Contains(missing, strings.ToLower(r.Text(name)))
}

// Number is the number in the column of that name; NaN where it is missing.
func (r Row) Number(name string) float64 {
	if r.Missing(name) {
		return math.NaN()
	}
	v, err := strconv.ParseFloat(r.Text(name), 64)
	if err != nil {
		at := 1 + slices.IndexFunc(r.of.rows, func(cells []string) bool { return &cells[0] == &r.cells[0] })
		fail("error: row %d of %s is %q, which is no number: correct it in the file, or take Texts(%q)", at, name, r.Text(name), name)
	}
	return v
}

// column lists what every row has.
func column[T any](f *Frame, of func(Row) T) []T {
	out := make([]T, 0, len(f.rows))
	for r := range f.Rows() {
		out = append(out, of(r))
	}
	return out
}

// Texts are the cells of a column.
func (f *Frame) Texts(name string) []string {
	return column(f, func(r Row) string { return r.Text(name) })
}

// Numbers are the numbers of a column; NaN where one is missing.
func (f *Frame) Numbers(name string) []float64 {
	return column(f, func(r Row) float64 { return r.Number(name) })
}

// Filter keeps the rows for which keep is true:
//
//	t.Filter(func(r nb.Row) bool { return r.Text("sex") == "F" && r.Number("age") > 3 })
func (f *Frame) Filter(keep func(Row) bool) *Frame {
	out := &Frame{names: f.names}
	for r := range f.Rows() {
		if keep(r) {
			out.rows = append(out.rows, r.cells)
		}
	}
	return out
}

// Complete keeps the rows that lack none of some columns, of all if none is named.
func (f *Frame) Complete(names ...string) *Frame {
	if len(names) == 0 {
		names = f.names
	}
	return f.Filter(func(r Row) bool { return !slices.ContainsFunc(names, r.Missing) })
}

// Group parts the rows by the texts of a column, in the order in which these come first:
//
//	for sex, rows := range t.Group("sex") {
//		fmt.Println(sex, stat.Mean(rows.Numbers("weight"), nil))
//	}
func (f *Frame) Group(name string) iter.Seq2[string, *Frame] {
	groups := map[string]*Frame{}
	var order []string
	for r := range f.Rows() {
		text := r.Text(name)
		if groups[text] == nil {
			groups[text] = &Frame{names: f.names}
			order = append(order, text)
		}
		groups[text].rows = append(groups[text].rows, r.cells)
	}
	return func(yield func(string, *Frame) bool) {
		for _, text := range order {
			if !yield(text, groups[text]) {
				return
			}
		}
	}
}

// Head is the first n rows, or all if there are fewer.
func (f *Frame) Head(n int) *Frame { return &Frame{f.names, f.rows[:min(max(n, 0), len(f.rows))]} }

// headed is how many rows String shows.
const headed = 10

// String shows the first rows, and how many rows and columns there are.
func (f *Frame) String() string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, cells := range append([][]string{f.names}, f.Head(headed).rows...) {
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	w.Flush()
	fmt.Fprintf(&out, "%d rows, %d columns", len(f.rows), len(f.names))
	return out.String()
}
