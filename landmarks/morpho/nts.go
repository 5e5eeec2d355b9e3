package morpho

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/landmarks/internal/text"
)

// ntsParameters matches "1 n[L|B|E] m[L] 0|1 [missing code] DIM=k".
var ntsParameters = regexp.MustCompile(`(?i)^1\s+(\d+)\s*([LBE]?)\s+(\d+)\s*(L?)\s+([01])(?:\s+([^\s=]+))?\s+DIM\s*=\s*(\d+)$`)

// readNTS reads the NTS format of NTSYSpc, tpsUtil and Landmark Editor (.nts, .dta): comment lines that begin with " or ', then
//
//	1 n m 0 DIM=k         n specimens, m = p·k numbers each
//	1 nL mL 1 -999 DIM=k  the same with n row labels and m column labels before the numbers and -999 for a missing one
//
// B or E in the place of the L of n puts each label at the beginning or end of its row. Labels have no spaces. If m = k the file is one
// specimen whose n rows are the landmarks (its labels are those of landmarks and are passed over). A comment "group=g for each
// specimen gives the groups.
func readNTS(r io.Reader, name string) (*Dataset, error) {
	return readLines(r, name, func(in *lineReader) *Dataset { return parseNTS(in, name) })
}

// ntsHeader is what the parameter line of a file says.
type ntsHeader struct {
	rows, columns, dim int
	labels             string  // where those of rows stand: L, B, E or nowhere
	columnLabels       bool    // behind them those of columns
	code               float64 // of missing values; NaN, which equals no coordinate, if there is none
}

// readNTSHeader reads the line at hand.
func readNTSHeader(in *lineReader, name string) (h ntsHeader) {
	if in.text == "" {
		refuseAt(name, 0, "begin the file with one, such as 1 30L 26 0 DIM=2", "no parameter line")
	}
	p := ntsParameters.FindStringSubmatch(in.text)
	if p == nil {
		refuse("write one like 1 30L 26 0 DIM=2 or 1 30 26 1 -999 DIM=2", "%s is no parameter line", text.Clip(in.text))
	}
	h = ntsHeader{try.Get(text.Count("rows", p[1])), try.Get(text.Count("columns", p[3])), strings.Index("23", p[7]) + 2, strings.ToUpper(p[2]), p[4] != "", math.NaN()}
	switch {
	case p[7] != "2" && p[7] != "3":
		refuse("write DIM=2 or DIM=3", "DIM=%s: shapes are in 2 or 3 dimensions", text.Clip(p[7]))
	case h.rows == 0 || h.columns == 0:
		refuse("correct the numbers of rows and columns", "a matrix of %d rows and %d columns has no landmarks", h.rows, h.columns)
	case h.columns > input.Coordinates.Most()/h.rows:
		refuse("correct the numbers of rows and columns", "%d rows of %d columns are more than the %d coordinates that a file may hold", h.rows, h.columns, input.Coordinates.Most())
	case h.columns%h.dim != 0:
		refuse("write the number of coordinates, landmarks times DIM", "%d columns are not a multiple of DIM=%d", h.columns, h.dim)
	case p[5] == "1" && p[6] == "":
		refuse("write it before DIM: 1 n m 1 -999 DIM=k", "missing values are announced, but not their code")
	case p[5] == "1":
		var err error
		if h.code, err = parseCoordinate(p[6]); err != nil {
			try.Do(fmt.Errorf("the code of missing values: %w", err))
		}
	}
	return h
}

func parseNTS(in *lineReader, name string) *Dataset {
	var groups []string
	for in.next() && (in.text[0] == '"' || in.text[0] == '\'') {
		if group, ok := strings.CutPrefix(in.text, `"group=`); ok {
			groups = append(groups, strings.TrimSpace(group))
		}
	}
	h := readNTSHeader(in, name)
	words, d := &ntsWords{in: in}, newDataset(name)
	var names []string
	labels := func(n int) (all []string) {
		for len(all) < n {
			all = append(all, words.next(func() string { return fmt.Sprintf("label %d", len(names)+len(all)+1) }))
		}
		return all
	}
	if h.labels == "L" {
		names = labels(h.rows)
	}
	if h.columnLabels {
		labels(h.columns)
	}
	var points [][]float64
	for row := range h.rows {
		if h.labels == "B" {
			names = append(names, labels(1)...)
		}
		points = append(points, words.row(h, row)...)
		if h.labels == "E" {
			names = append(names, labels(1)...)
		}
		if h.columns == h.dim { // a landmark
			continue
		}
		in.specimen()
		s := Specimen{Points: points}
		if h.labels != "" {
			s.Name = names[row]
		}
		d.Specimens, points = append(d.Specimens, s), nil
	}
	if h.columns == h.dim {
		d.Specimens = []Specimen{{Points: points}}
	}
	if words.more() {
		refuse("correct the numbers of rows and columns in the parameter line, or remove the rest",
			"%s after the last of %d × %d numbers", text.Clip(words.next(nil)), h.rows, h.columns)
	}
	in.decimals(name)
	if len(groups) > 0 && len(groups) != len(d.Specimens) {
		refuseAt(name, 0, "write one for each specimen, or none", "%d comments \"group=, but %d specimens", len(groups), len(d.Specimens))
	}
	for i := range groups {
		d.Specimens[i].Group = groups[i]
	}
	return d
}

// row reads the landmarks of a row.
func (t *ntsWords) row(h ntsHeader, row int) (points [][]float64) {
	for column := 0; column < h.columns; column += h.dim {
		point := make([]float64, h.dim)
		for c := range point {
			where := func() string {
				if h.columns == h.dim {
					return fmt.Sprintf("landmark %d: %s", row, axis(c))
				}
				return fmt.Sprintf("specimen %d of %d, landmark %d: %s", row+1, h.rows, column/h.dim, axis(c))
			}
			v, err := t.in.coordinate(t.next(where), t.in.Number)
			if err != nil {
				try.Do(fmt.Errorf("%s = %w", where(), err))
			}
			if v == h.code {
				v = math.NaN()
			}
			point[c] = v
		}
		points = append(points, point)
	}
	return points
}

// ntsWords reads words across lines.
type ntsWords struct {
	in   *lineReader
	rest string // of the line, from a word on
}

func (t *ntsWords) more() bool {
	if t.rest == "" && t.in.next() {
		t.rest = t.in.text
	}
	return t.rest != ""
}

// next reads a word: what is for the error if there is none.
func (t *ntsWords) next(what func() string) string {
	if !t.more() {
		refuse("the file may have been cut off: save it again", "the file ends before all that its parameter line announces: %s", what())
	}
	t.in.Spend(input.Cells, 1)
	word := t.rest
	if end := strings.IndexFunc(word, unicode.IsSpace); end >= 0 {
		word = word[:end]
	}
	t.rest = strings.TrimSpace(t.rest[len(word):])
	return word
}

// writeNTS writes 1 nL m 0 DIM=k (1 nL m 1 code DIM=k with a code that no coordinate has, if a landmark is missing), the names and a
// line for each specimen; a comment "group=… for each, if there are groups. Names may hold no spaces, and shapes of a single landmark cannot
// be written: m = k means something else.
func writeNTS(w io.Writer, d *Dataset) error {
	n, dim, err := d.checkRectangular()
	if err != nil {
		return err
	}
	if n == 1 {
		return fmt.Errorf("%s: %w", d.Name, text.Advise("use .csv or .npy", "NTS cannot hold shapes of one landmark"))
	}
	used := map[float64]bool{}
	gaps, grouped := false, false
	for _, s := range d.Specimens {
		if strings.ContainsFunc(s.Name, unicode.IsSpace) {
			return fmt.Errorf("%s: specimen %q: %w", d.Name, s.Name, text.Advise("rename it, or use another format",
				"an NTS label may hold no spaces"))
		}
		grouped = grouped || s.Group != ""
		for _, p := range s.Points {
			for _, v := range p {
				if math.IsNaN(v) {
					gaps = true
				} else {
					used[v] = true
				}
			}
		}
	}
	out := bufio.NewWriter(w)
	if grouped {
		for _, s := range d.Specimens {
			fmt.Fprintf(out, "\"group=%s\n", s.Group)
		}
	}
	fmt.Fprintf(out, "1 %dL %d ", len(d.Specimens), n*dim)
	code := -999.0
	for used[code] {
		code = 10*code - 9
	}
	missing := formatCoordinate(code)
	if gaps {
		fmt.Fprintf(out, "1 %s DIM=%d\n", missing, dim)
	} else {
		fmt.Fprintf(out, "0 DIM=%d\n", dim)
	}
	for _, s := range d.Specimens {
		fmt.Fprintln(out, s.Name)
	}
	for _, s := range d.Specimens {
		for i, v := range slices.Concat(s.Points...) {
			if i > 0 {
				out.WriteByte(' ')
			}
			if math.IsNaN(v) {
				out.WriteString(missing)
			} else {
				out.WriteString(strconv.FormatFloat(v, 'g', -1, 64))
			}
		}
		out.WriteByte('\n')
	}
	return out.Flush()
}
