package files

import (
	"bufio"
	"fmt"
	"math"
	"regexp"
	"slices"
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
func readNTS(in *source) {
	var groups, names []string
	for in.next() && (in.text[0] == '"' || in.text[0] == '\'') {
		if group, ok := strings.CutPrefix(in.text, `"group=`); ok {
			groups = append(groups, strings.TrimSpace(group))
		}
	}
	h := in.ntsHeader()
	words := &ntsWords{in, ""}
	label := func() string {
		names = append(names, words.next(func() string { return fmt.Sprintf("label %d", len(names)+1) }))
		return names[len(names)-1]
	}
	if h.labels == "L" {
		for range h.rows {
			label()
		}
	}
	for range h.columnLabels {
		label()
	}
	alone := h.columns == h.dim // the rows are landmarks
	var points [][]float64
	for row := range h.rows {
		name := ""
		switch h.labels {
		case "L":
			name = names[row]
		case "B":
			name = label()
		}
		for column := 0; column < h.columns; column += h.dim {
			points = append(points, words.point(h, row, column))
		}
		if h.labels == "E" {
			name = label()
		}
		if !alone {
			in.add(Specimen{Name: name, Points: points})
			points = nil
		}
	}
	if alone {
		in.add(Specimen{Points: points})
	}
	if words.more() {
		refuse("correct the numbers of rows and columns in the parameter line, or remove the rest",
			"%s after the last of %d × %d numbers", text.Clip(words.next(nil)), h.rows, h.columns)
	}
	in.decimals()
	if len(groups) > 0 && len(groups) != len(in.Specimens) {
		in.refuseAt(0, "write one for each specimen, or none", "%d comments \"group=, but %d specimens", len(groups), len(in.Specimens))
	}
	for i := range groups {
		in.Specimens[i].Group = groups[i]
	}
}

// ntsHeader is what the parameter line of a file says.
type ntsHeader struct {
	rows, columns, dim int
	labels             string  // where those of rows stand: L, B, E or nowhere
	columnLabels       int     // behind them those of columns
	code               float64 // of missing values; NaN, which equals no coordinate, if there is none
}

// ntsHeader reads the line at hand.
func (in *source) ntsHeader() (h ntsHeader) {
	p := ntsParameters.FindStringSubmatch(in.text)
	if in.text == "" {
		in.refuseAt(0, "begin the file with one, such as 1 30L 26 0 DIM=2", "no parameter line")
	} else if p == nil {
		refuse("write one like 1 30L 26 0 DIM=2 or 1 30 26 1 -999 DIM=2", "%s is no parameter line", text.Clip(in.text))
	}
	h = ntsHeader{try.Get(text.Count("rows", p[1])), try.Get(text.Count("columns", p[3])), strings.Index("23", p[7]) + 2, strings.ToUpper(p[2]), 0,
		math.NaN()}
	switch {
	case p[7] != "2" && p[7] != "3":
		refuse("write DIM=2 or DIM=3", "DIM=%s: shapes are in 2 or 3 dimensions", text.Clip(p[7]))
	case h.rows == 0 || h.columns == 0:
		refuse("correct the numbers of rows and columns", "a matrix of %d rows and %d columns has no landmarks", h.rows, h.columns)
	case h.columns > input.Coordinates.Most()/h.rows:
		refuse("correct the numbers of rows and columns", "%d rows of %d columns are more than the %d coordinates that a file may hold", h.rows, h.columns,
			input.Coordinates.Most())
	case h.columns%h.dim != 0:
		refuse("write the number of coordinates, landmarks times DIM", "%d columns are not a multiple of DIM=%d", h.columns, h.dim)
	case p[5] == "1" && p[6] == "":
		refuse("write it before DIM: 1 n m 1 -999 DIM=k", "missing values are announced, but not their code")
	case p[5] == "1":
		code, err := Number(p[6])
		try.Do(try.Name(err, "the code of missing values"))
		h.code = code
	}
	if p[4] != "" {
		h.columnLabels = h.columns
	}
	return h
}

// ntsWords reads words across lines.
type ntsWords struct {
	*source
	rest string // of the line, from a word on
}

func (t *ntsWords) more() bool {
	if t.rest == "" && t.source.next() {
		t.rest = t.text
	}
	return t.rest != ""
}

// next reads a word: what is for the error if there is none.
func (t *ntsWords) next(what func() string) string {
	if !t.more() {
		refuse("the file may have been cut off: save it again", "the file ends before all that its parameter line announces: %s", what())
	}
	t.Spend(input.Cells, 1)
	word := t.rest
	if end := strings.IndexFunc(word, unicode.IsSpace); end >= 0 {
		word = word[:end]
	}
	t.rest = strings.TrimSpace(t.rest[len(word):])
	return word
}

// point reads a landmark.
func (t *ntsWords) point(h ntsHeader, row, column int) []float64 {
	point := make([]float64, h.dim)
	for c := range point {
		where := func() string {
			if h.columns == h.dim {
				return fmt.Sprintf("landmark %d: %s", row, text.Axis(c))
			}
			return fmt.Sprintf("specimen %d of %d, landmark %d: %s", row+1, h.rows, column/h.dim, text.Axis(c))
		}
		v, err := t.coordinate(t.next(where))
		if err != nil {
			try.Fail("%s = %w", where(), err)
		}
		if point[c] = v; v == h.code {
			point[c] = math.NaN()
		}
	}
	return point
}

// writeNTS writes 1 nL m 0 DIM=k (1 nL m 1 code DIM=k with a code that no coordinate has, if a landmark is missing), the names and a
// line for each specimen; a comment "group=… for each, if there are groups. Names may hold no spaces, and shapes of a single landmark cannot
// be written: m = k means something else.
func writeNTS(out *bufio.Writer, d *Data) {
	n, dim := d.rectangular()
	refuseIf(n == 1, "use .csv or .npy", "NTS cannot hold shapes of one landmark")
	used := map[string]bool{}
	var names []string
	numbers, grouped := make([][]string, len(d.Specimens)), false
	for i, s := range d.Specimens {
		refuseIf(strings.ContainsFunc(s.Name, unicode.IsSpace), "rename it, or use another format",
			"specimen %q: an NTS label may hold no spaces", s.Name)
		names, grouped = append(names, s.Name), grouped || s.Group != ""
		for _, v := range slices.Concat(s.Points...) {
			used[format(v)], numbers[i] = true, append(numbers[i], format(v))
		}
	}
	for _, s := range d.Specimens {
		if grouped {
			fmt.Fprintf(out, "\"group=%s\n", s.Group)
		}
	}
	code, missing := -999.0, "0"
	for used[format(code)] {
		code = 10*code - 9
	}
	if used["NA"] {
		missing = "1 " + format(code)
	}
	fmt.Fprintf(out, "1 %dL %d %s DIM=%d\n%s\n", len(names), n*dim, missing, dim, strings.Join(names, "\n"))
	for _, row := range numbers {
		fmt.Fprintln(out, strings.ReplaceAll(strings.Join(row, " "), "NA", format(code)))
	}
}
