package supplement

import (
	"anatomy/geom/stats/linear"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"
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
	for _, row := range t.Rows[:min(len(t.Rows), previewed)] {
		rows = append(rows, row[:columns])
	}
	return t.Header[:columns], rows
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

// PValue is a cell with a p-value.
func PValue(p float64) Cell { return Number(p, "%.3g") }

const percentForm = "%.1f %%"

// Add adds a row of texts, whole numbers, numbers with five digits (float64), and cells.
func (t *Table) Add(row ...any) {
	cells := make([]Cell, len(row))
	for i, x := range row {
		switch x := x.(type) {
		case Cell:
			cells[i] = x
		case string:
			cells[i] = Cell{text: x}
		case int:
			cells[i] = Number(float64(x), "%.0f")
		case float64:
			cells[i] = Number(x, "%.5g")
		default:
			panic(fmt.Sprintf("supplement: a cell of type %T", x))
		}
	}
	t.Rows = append(t.Rows, cells)
}

// cells are the header and the rows as pages show them.
func (t *Table) cells() [][]string {
	header, rows := t.shown()
	out := [][]string{header}
	for _, row := range rows {
		var words []string
		for _, c := range row {
			words = append(words, c.String())
		}
		out = append(out, words)
	}
	return out
}

// String is the table with its caption, in columns for a terminal.
func (t *Table) String() string {
	var lines []string
	for _, row := range t.cells() {
		lines = append(lines, strings.Join(row, "\t"))
	}
	return t.Caption + "\n" + linear.Table(lines)
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
