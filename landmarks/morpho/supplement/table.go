package supplement

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"

	"anatomy/geom/stats/linear"
	"anatomy/internal/lists"
)

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

var notPlain = regexp.MustCompile("[^A-Za-z0-9]+")

// greek are letters that Unicode does not take apart into plain ones.
var greek = strings.NewReplacer("λ", "lambda", "σ", "sigma", "√", "sqrt ", "ß", "ss")

// columns returns the Header for files and programs: letters of ASCII, digits and _, such as R2 and p_corrected, and no name twice.
func (t *Table) columns() []string {
	out, taken := make([]string, len(t.Header)), map[string]bool{}
	for i, name := range t.Header {
		var ascii strings.Builder
		for _, r := range norm.NFKD.String(greek.Replace(name)) {
			if r < 0x300 || r > 0x36f { // accents
				ascii.WriteRune(r)
			}
		}
		plain := strings.Trim(notPlain.ReplaceAllString(ascii.String(), "_"), "_")
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
