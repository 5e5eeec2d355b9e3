// Package supplement answers the usual questions about a sample of shapes in one document: how the specimens were compared, which are odd, how
// they vary, what a model explains, which groups differ, how shape changes with size, and which methods were used. It is the supplement
// of a paper: a page, its tables as CSV, its figures as SVG, PDF and PNG, and a record by which it can be made again.
//
//	heads, err := morpho.Read("heads.tps")
//	heads, err = heads.ReadCovariates("specimens.csv")
//	document, err := supplement.New(heads, supplement.Question{Model: "size + species*site"})
//	err = document.Write("supplement")
//
// The program `anatomy` does this from the command line. The package links no XLA.
package supplement

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"

	"anatomy/geom/stats/linear"
	"anatomy/internal/lists"
	"anatomy/landmarks/morpho"
	"anatomy/viz"
)

// Document is a text with tables and figures.
type Document struct {
	Title    string
	Authors  []string
	Model    string            // what explains the shapes, as in a Question; empty for none
	ANOVA    *linear.ANOVA     // of the model; nil without
	Data     *morpho.Dataset   // as it was compared: see Ready; nil for a mesh
	Aligned  *morpho.Alignment // of its shapes, which all weigh the same; nil without
	LeftOut  string            // what the document lacks because it needs XLA, as a paragraph
	Sections []Section
	Flagged  []string // specimens with findings that may change results; without any there are none

	record record
	again  bool // the record makes the document again
}

// Section is a part of a document with a title.
type Section struct {
	Title string
	Parts []Part
}

func (s *Section) add(parts ...Part) { s.Parts = append(s.Parts, parts...) }

// Part is a Paragraph, a Warning, a List, a *Table, a *Figure or a Claim.
type Part interface{ part() }

// Paragraph is text.
type Paragraph string

// Warning is text that no reader should miss.
type Warning string

// Claim is a statement, and whether it holds of the data.
type Claim struct {
	What   string // Markdown in a notebook
	Object string // of the data, about which it is, or ""
	Holds  bool
}

// String is the statement with its object.
func (c Claim) String() string {
	if c.Object == "" {
		return c.What
	}
	return c.What + ", " + c.Object
}

// List is lines of text.
type List []string

// Figure is a drawing.
type Figure struct {
	Name    string // of its files, without extension
	Caption string
	Drawing viz.Drawing
	Cover   bool // it stands for the document in a gallery; without such a figure the first one does
	turns   bool // has a page in which it turns
}

func (Paragraph) part() {}
func (Warning) part()   {}
func (Claim) part()     {}
func (List) part()      {}
func (*Table) part()    {}
func (*Figure) part()   {}

// Show shows the document in a notebook: say prints a paragraph as nb.Printf does, table a table with its caption, its cells below their header,
// and its file, and claim a check. See nb.Report.
func (d *Document) Show(say func(format string, args ...any), table func(caption string, cells [][]string, csv []byte),
	claim func(what, object string, holds bool)) {
	const cover = "ANATOMY_COVER" // asks viz.Show for a cover of the next figure
	panel, asked := os.LookupEnv(cover)
	figures := d.Figures()
	of := slices.IndexFunc(figures, func(f *Figure) bool { return f.Cover })
	for i, s := range d.Sections {
		say("## %s", s.Title)
		for _, part := range s.Parts {
			switch p := part.(type) {
			case Paragraph:
				say("%s", string(p))
			case Warning:
				say("**%s**", string(p))
			case List:
				say(strings.Repeat("- %s\n", len(p)), lists.Each(p, func(line string) any { return line })...)
			case *Table:
				table(p.Caption, p.cells(), p.CSV())
			case *Figure:
				if os.Unsetenv(cover); asked && p == figures[max(0, of)] {
					os.Setenv(cover, panel)
				}
				viz.Show(p.Drawing)
				say("**Figure.** %s", p.Caption)
			case Claim:
				claim(p.What, p.Object, p.Holds)
			}
		}
		if i == 0 && d.LeftOut != "" {
			say("%s", d.LeftOut)
		}
	}
}

// Add adds parts to the section of a title, which it makes as the last one where there is none.
func (d *Document) Add(title string, parts ...Part) {
	at := slices.IndexFunc(d.Sections, func(s Section) bool { return s.Title == title })
	if at < 0 {
		d.Sections, at = append(d.Sections, Section{Title: title}), len(d.Sections)
	}
	d.Sections[at].add(parts...)
}

// Insert puts sections before that of a title, or at the end where there is none. The program anatomy, which makes a document again, has not these.
func (d *Document) Insert(before string, sections ...Section) {
	d.again = false
	at := slices.IndexFunc(d.Sections, func(s Section) bool { return s.Title == before })
	if at < 0 {
		at = len(d.Sections)
	}
	d.Sections = slices.Insert(d.Sections, at, sections...)
}

// Tables returns the tables of the document in their order.
func (d *Document) Tables() []*Table { return partsOf[*Table](d) }

// Figures returns the figures of the document in their order.
func (d *Document) Figures() []*Figure { return partsOf[*Figure](d) }

func partsOf[P Part](d *Document) (out []P) {
	for _, s := range d.Sections {
		for _, part := range s.Parts {
			if p, is := part.(P); is {
				out = append(out, p)
			}
		}
	}
	return out
}

// Table returns the table of a name. It is an error, which lists those that there are, if there is none.
func (d *Document) Table(name string) (*Table, error) {
	return called("table", name, d.Tables(), func(t *Table) string { return t.Name })
}

// Figure returns the figure of a name. It is an error, which lists those that there are, if there is none.
func (d *Document) Figure(name string) (*Figure, error) {
	return called("figure", name, d.Figures(), func(f *Figure) string { return f.Name })
}

func called[P any](kind, name string, all []P, nameOf func(P) string) (none P, err error) {
	var names []string
	for _, p := range all {
		if nameOf(p) == name {
			return p, nil
		}
		names = append(names, nameOf(p))
	}
	return none, fmt.Errorf("the report has no %s %q; it has %s", kind, name, strings.Join(names, ", "))
}

// Table is rows of cells under the names of their columns.
type Table struct {
	Name    string // of its file, without extension
	Caption string
	Header  []string // as pages show it; files and programs have plain names
	Rows    [][]Cell
	Preview bool // pages show the beginning, and the file has all
}

// previewed is how many rows and columns of a Preview pages show.
const previewed = 8

// shown are the header and the rows that pages show.
func (t *Table) shown() (header []string, rows [][]Cell) {
	if !t.Preview {
		return t.Header, t.Rows
	}
	columns := min(len(t.Header), previewed)
	return t.Header[:columns], lists.Each(t.Rows[:min(len(t.Rows), previewed)], func(row []Cell) []Cell { return row[:columns] })
}

// Cell is a number with the form in which pages show it, or a text.
type Cell struct {
	text   string
	number float64
	form   string // of fmt; "" of a text
}

// Number is a cell with a number in a form of fmt, such as %.3g. NaN says that it is missing.
func Number(x float64, form string) Cell { return Cell{number: x, form: form} }

// Percent is a cell with a share, which pages show in per cent.
func Percent(share float64) Cell { return Number(share, percentForm) }

// PValue is a cell with a p-value, of three decimals or, where it is smaller, one digit.
func PValue(p float64) Cell {
	if p < 0.0005 {
		return Number(p, "%.1g")
	}
	return Number(p, "%.3f")
}

const percentForm = "%.1f %%"

// span is from the smallest to the largest size of the numbers of a column.
type span struct{ low, high float64 }

// form is that of a number in a column: with as many decimals for all that the largest has the digits of its form, and the smallest one. Numbers that
// differ too much keep their form.
func (s span) form(own string) string {
	const widest = 10 // digits
	digits, first := 0, func(x float64) int { return int(math.Floor(math.Log10(x) + 1e-9)) }
	if _, err := fmt.Sscanf(own, "%%.%dg", &digits); err != nil || digits < 2 || s.high == 0 {
		return own
	}
	decimals := max(0, digits-1-first(s.high), -first(s.low))
	if decimals+max(0, first(s.high)) >= widest {
		return own
	}
	return fmt.Sprintf("%%.%df", decimals)
}

// numbered are names such as "component 1", "component 2".
func numbered(name string, n int) []string {
	return lists.Make(n, func(k int) string { return fmt.Sprint(name, " ", k+1) })
}

// Add adds a row of texts, whole numbers, numbers with five digits (float64), lists of either, and cells.
func (t *Table) Add(row ...any) {
	whole := func(x int) Cell { return Number(float64(x), "%.0f") }
	digits := func(x float64) Cell { return Number(x, "%.5g") }
	var cells []Cell
	for _, x := range row {
		switch x := x.(type) {
		case Cell:
			cells = append(cells, x)
		case string:
			cells = append(cells, Cell{text: x})
		case int:
			cells = append(cells, whole(x))
		case float64:
			cells = append(cells, digits(x))
		case []int:
			cells = append(cells, lists.Each(x, whole)...)
		case []float64:
			cells = append(cells, lists.Each(x, digits)...)
		default:
			panic(fmt.Sprintf("supplement: a cell of type %T", x))
		}
	}
	t.Rows = append(t.Rows, cells)
}

// cells are the header and the rows as pages show them: the numbers of a column have one form.
func (t *Table) cells() [][]string {
	header, rows := t.shown()
	columns := slices.Repeat([]span{{math.Inf(1), 0}}, len(header))
	for _, row := range rows {
		for k, c := range row {
			if x := math.Abs(c.number); c.form != "" && x > 0 && !math.IsInf(x, 0) {
				columns[k] = span{math.Min(columns[k].low, x), math.Max(columns[k].high, x)}
			}
		}
	}
	out := [][]string{header}
	for _, row := range rows {
		var words []string
		for k, c := range row {
			c.form = columns[k].form(c.form)
			words = append(words, c.String())
		}
		out = append(out, words)
	}
	return out
}

// String is the table with its caption, in columns for a terminal.
func (t *Table) String() string {
	return t.Caption + "\n" + linear.Table(lists.Each(t.cells(), func(row []string) string { return strings.Join(row, "\t") }))
}

// JSON returns a list of the rows, each with its cells under the names of the Columns: numbers with all their digits, null for a missing one, and
// Inf as a text, as JSON has no such number.
func (t *Table) JSON() []byte {
	rows, columns := []map[string]any{}, t.columns()
	for _, cells := range t.Rows {
		row := map[string]any{}
		for i, c := range cells {
			switch plain := c.plain(); {
			case c.form == "" || math.IsInf(c.number, 0):
				row[columns[i]] = plain
			case plain == "":
				row[columns[i]] = nil
			default:
				row[columns[i]] = c.number
			}
		}
		rows = append(rows, row)
	}
	text, err := json.Marshal(rows)
	if err != nil {
		panic(err) // there are no other values
	}
	return append(text, '\n')
}

// Value returns the number of a cell as it was computed, NaN where it is missing or a text.
func (c Cell) Value() float64 {
	if c.form == "" {
		return math.NaN()
	}
	return c.number
}

// String is what pages show: – stands for a missing number.
func (c Cell) String() string {
	switch x := c.number; {
	case c.form == "":
		return c.text
	case math.IsNaN(x):
		return "–"
	case math.IsInf(x, 1):
		return "∞"
	case math.IsInf(x, -1):
		return "−∞"
	case c.form == percentForm:
		return fmt.Sprintf(c.form, 100*x)
	default:
		return fmt.Sprintf(c.form, x)
	}
}

// plain is what files have: a text as it is, a number with all its digits, as R and Python read it, and nothing for a missing one.
func (c Cell) plain() string {
	switch x := c.number; {
	case c.form == "":
		return c.text
	case math.IsNaN(x):
		return ""
	case math.IsInf(x, 0):
		return strings.TrimPrefix(strconv.FormatFloat(x, 'g', -1, 64), "+")
	default:
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
}

// formula is the beginning of a text that a spreadsheet would compute.
var formula = regexp.MustCompile("^[-=+@\t\r]")

// CSV returns the table as comma-separated values under its Columns. Numbers have all their digits, and missing ones are empty. A text that a
// spreadsheet would compute, as =1+1 or @SUM(A1), begins with an apostrophe; numbers of the data set are texts, too, and have none.
func (t *Table) CSV() []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write(t.columns()) // to memory
	for _, row := range t.Rows {
		cells := make([]string, len(row))
		for i, c := range row {
			cells[i] = c.plain()
			if _, err := strconv.ParseFloat(c.text, 64); c.form == "" && formula.MatchString(c.text) && (err != nil || c.text[0] != '-') {
				cells[i] = "'" + c.text
			}
		}
		_ = w.Write(cells)
	}
	w.Flush()
	return b.Bytes()
}

var notPlain, accents = regexp.MustCompile("[^A-Za-z0-9]+"), regexp.MustCompile("[\u0300-\u036f]")

// greek are letters that Unicode does not take apart into plain ones.
var greek = strings.NewReplacer("λ", "lambda", "σ", "sigma", "√", "sqrt ", "ß", "ss")

// columns returns the Header for files and programs: letters of ASCII, digits and _, such as R2 and p_corrected, and no name twice.
func (t *Table) columns() []string {
	out, taken := make([]string, len(t.Header)), map[string]bool{}
	for i, name := range t.Header {
		ascii := accents.ReplaceAllString(norm.NFKD.String(greek.Replace(name)), "")
		plain := strings.Trim(notPlain.ReplaceAllString(ascii, "_"), "_")
		if plain == "" {
			plain = fmt.Sprintf("column_%d", i+1)
		}
		out[i] = plain
		for n := 2; taken[out[i]]; n++ {
			out[i] = fmt.Sprintf("%s_%d", plain, n)
		}
		taken[out[i]] = true
	}
	return out
}
