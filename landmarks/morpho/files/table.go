package files

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/text"
)

// readTable reads a table in text, for which see morpho.ReadCSV.
func readTable(in *source) { readSheet(newSheet(in)) }

func readSheet(s *sheet) {
	in := s.in
	rows, k := s.header()
	if k < 0 {
		readPlain(s)
		return
	}
	in.open, in.plain = true, s.comma == ','
	header, titles, named := rows[k], rows[k].Cells, append([]Row{{}}, rows...)[k]
	if k+1 < len(rows) && len(rows[k+1].Cells) == len(titles)+1 && rows[k+1].Field(len(titles)) != "" && header.Field(0) != "" { // R's row names
		titles, named.Cells = slices.Concat([]string{""}, titles), slices.Concat([]string{""}, named.Cells)
	}
	s.skipTo(header.Line)
	t := &table{source: in, rows: s.all(false)[1:]}
	in.line = header.Line
	t.columns = findColumns(titles, named, t.rows)
	t.decide(titles, t.rows, in.Reading)
	t.titled(rows[:k], header.Line)
	t.choose(len(titles))
	t.group()
	t.specimens()
}

// table gathers rows into specimens.
type table struct {
	*source
	*columns
	rows   []Row
	groups []*rowGroup
	names  map[string]int // long: the landmarks that have names, in the order of their first rows
}

// rowGroup are the rows of a specimen.
type rowGroup struct {
	rows    []Row
	numbers []int     // long: of the landmarks, −1 where they come in order
	before  *rowGroup // the first specimen of the same name
}

// titled notes what is above the header and which columns have no title.
func (t *table) titled(above []Row, header int) {
	t.Unit, t.Labels, t.FromZero = t.unit, t.labels, t.fromZero
	for k, row := range above {
		numbers, filled := row.numbers()
		if numbers > 1 && 2*numbers > filled {
			t.refuseAt(row.Line, "move the header above all rows, or remove this one", "a row of numbers stands above the header, which is in line %d", header)
		}
		named := t.labels != nil && k+1 == len(above) && slices.Contains(row.Cells, t.labels[0])
		if filled > 0 && !named {
			t.note("line %d above the header was passed over: %s", row.Line, text.Clip(row.words()))
		}
	}
	if t.labels != nil {
		t.note("the columns name %d landmarks: %s", len(t.labels), text.Names(t.labels))
	}
	if t.specimen < 0 && len(t.covariates) > 0 {
		t.columns.notes = append(t.columns.notes, "no column has names of specimens: "+map[bool]string{true: "they are numbered",
			false: "rows are taken for landmarks of one"}[t.wide])
	}
	for _, note := range t.columns.notes {
		t.note("%s", note)
	}
}

// choose keeps the rows that are landmarks, and notes what others are.
func (t *table) choose(width int) {
	data, known, passed, empty, last, begun, below := t.rows[:0], map[string]bool{}, map[int]bool{}, 0, -1, false, false
	for i, row := range t.rows {
		if t.hasPoint(row) {
			last = i
		}
		for _, column := range t.untitled {
			passed[column] = passed[column] || row.Field(column) != ""
		}
	}
	for i, row := range t.rows {
		t.line = row.Line
		filled := len(row.Cells) // up to the last cell with text
		for filled > 0 && row.Field(filled-1) == "" {
			filled--
		}
		if filled == 0 && (t.wide || t.specimen >= 0 || t.landmark >= 0 || i > last) { // elsewhere it may stand for a landmark
			empty++
			continue
		}
		first := !begun
		begun = true
		switch name := row.Field(t.specimen); {
		case first && t.takeUnits(row):
			t.note("line %d was taken for units: %s", row.Line, t.Unit)
		case filled > width || len(row.Cells) < width && t.hasPoint(row):
			refuse("see whether a cell is missing, or holds a separator, as a number with a decimal comma does",
				"%d columns, but the header has %d", max(filled, len(row.Cells)), width)
		case i > last && (t.wide || below || !known[name]): // of a specimen that is known it is a landmark that is missing
			below = true
			t.note("line %d below the table was passed over: %s", row.Line, text.Clip(row.words()))
		default:
			known[name] = true
			data = append(data, row)
		}
	}
	for _, column := range t.untitled {
		if passed[column] {
			t.note("column %d has no title and was passed over", column+1)
		}
	}
	if empty > 0 {
		t.note("empty rows were passed over: %d", empty)
	}
	if t.rows = data; len(data) == 0 {
		t.refuseAt(0, "write a row for each specimen, or for each of its landmarks", "a header, but no rows with coordinates")
	}
}

// takeUnits takes the row below the header for the units of its columns, if it is one.
func (t *table) takeUnits(row Row) bool {
	unit := t.Unit
	for _, i := range slices.Concat(t.points...) {
		u := unitIn(row.Field(i))
		if u == "" || unit != "" && u != unit {
			return false
		}
		unit = u
	}
	t.Unit = unit
	return true
}

// statistic matches what people call the rows of statistics below a table.
var statistic = regexp.MustCompile(`^(?i:mean|average|median|sd|std|st\.? ?dev\.?|standard deviation|variance|sum|total)$`)

// group parts the rows into those of each specimen.
func (t *table) group() {
	last := map[string]*rowGroup{} // of a name
	for _, row := range t.rows {
		t.line = row.Line
		name, landmark := row.Field(t.specimen), -1
		switch {
		case name == "" && t.specimen >= 0 && !(t.wide && t.rowNames):
			refuse("write the name in each row: of cells that were merged, only the first has it", "the specimen has no name")
		case t.wide && statistic.MatchString(name):
			refuse("remove the rows of statistics, or rename it if it is one", "%s is likely to be a statistic of the specimens, and none of them",
				text.Clip(name))
		case t.landmark >= 0:
			landmark = t.number(row.Field(t.landmark), name)
		}
		g := last[name]
		if g == nil || t.wide || len(g.rows) >= fewest && (landmark == g.numbers[0] && landmark >= 0 || t.byRun && g != t.groups[len(t.groups)-1]) {
			g = &rowGroup{}
			if earlier := last[name]; earlier != nil {
				g.before = cmp.Or(earlier.before, earlier)
			}
			last[name], t.groups = g, append(t.groups, g)
		}
		g.rows, g.numbers = append(g.rows, row), append(g.numbers, landmark)
	}
	for _, g := range t.groups { // columns that differ between landmarks are none of specimens
		for _, row := range g.rows[1:] {
			for column := range t.covariates {
				if row.Field(column) != g.rows[0].Field(column) {
					delete(t.covariates, column)
				}
			}
		}
	}
}

// number reads the number of a landmark of a specimen, or counts those that have names.
func (t *table) number(word, specimen string) int {
	number, err := strconv.Atoi(word)
	switch {
	case err == nil && number >= 0 && t.names == nil:
		return number
	case word == "" || err == nil || len(t.groups) > 0 && t.names == nil:
		refuse("count the landmarks of each specimen from 0 or from 1, or give each a name, the same in all specimens",
			"specimen %s: landmark %s is not a whole number from 0", text.Clip(specimen), text.Clip(word))
	case t.names == nil:
		t.names = map[string]int{}
	}
	number, known := t.names[word]
	if !known {
		number = len(t.names)
		t.names[word], t.Labels = number, append(t.Labels, word)
	}
	return number
}

// specimens reads the landmarks.
func (t *table) specimens() {
	for _, g := range t.groups {
		first := g.rows[0]
		s := Specimen{Name: first.Field(t.specimen), Group: first.Field(t.columns.group)}
		for column, title := range t.covariates {
			s.set(title, first.Field(column))
		}
		for j, row := range g.rows {
			if t.line = row.Line; row.Field(t.columns.group) != s.Group {
				refuse("write the same group in all rows of a specimen",
					"specimen %s is in group %s here and in %s in line %d", text.Clip(s.Name), text.Clip(row.Field(t.columns.group)), text.Clip(s.Group), first.Line)
			}
			for l, columns := range t.points {
				words := lists.Each(columns, row.Field)
				if !t.wide {
					if l = g.numbers[j]; l < 0 {
						l = j
					}
				}
				point, err := t.point(l, words...)
				if err != nil {
					try.Fail("specimen %s, %w", text.Clip(s.Name), err)
				}
				s.Points = append(s.Points, point)
			}
		}
		t.add(s)
	}
	t.decimals()
	for _, s := range t.Specimens {
		for name, value := range s.Covariates {
			if t.commas.line > 0 && decimalComma.MatchString(value) {
				s.Covariates[name] = strings.Replace(value, ",", ".", 1)
			}
		}
	}
	if t.specimen < 0 && !t.wide && len(t.Specimens) > 1 {
		t.note("a specimen begins where landmark %s comes again", t.called(t.groups[0].numbers[0]))
	}
	if !t.wide && t.landmark >= 0 {
		t.order()
	}
}

// order puts the landmarks of a long file into the order of their numbers and sees that each is there once.
func (t *table) order() {
	base := 1
	for _, g := range t.groups {
		base = min(base, slices.Min(g.numbers))
	}
	t.FromZero = base == 0 && t.names == nil
	for i, g := range t.groups {
		s := &t.Specimens[i]
		twice := func(row Row, number, line int) {
			t.refuseAt(row.Line, "write each landmark of a specimen once, and each specimen under a name of its own",
				"specimen %s: landmark %s stands in line %d already", text.Clip(s.Name), t.called(number), line)
		}
		if g.before != nil && len(g.rows) != len(g.before.rows) {
			twice(g.rows[0], g.numbers[0], g.before.rows[0].Line)
		}
		sorted := lists.Range(len(g.rows))
		slices.SortStableFunc(sorted, func(a, b int) int { return g.numbers[a] - g.numbers[b] })
		points := make([][]float64, len(sorted))
		for l, j := range sorted {
			if l > 0 && g.numbers[j] == g.numbers[sorted[l-1]] {
				twice(g.rows[j], g.numbers[j], g.rows[sorted[l-1]].Line)
			}
			if g.numbers[j] != base+l {
				t.refuseAt(g.rows[j].Line, "write NA for the coordinates of a missing one",
					"specimen %s: landmark %s, but there is no landmark %s", text.Clip(s.Name), t.called(g.numbers[j]), t.called(base+l))
			}
			points[l] = s.Points[j]
		}
		s.Points = points
	}
}

// called is the number of a landmark, or its name where it has one.
func (t *table) called(landmark int) string {
	if t.names != nil {
		return text.Clip(t.Labels[landmark])
	}
	return strconv.Itoa(landmark)
}

// writeTable writes the long layout: specimen, group, covariates, landmark (as Data.Landmark calls it), x, y[, z]; NA where a landmark is missing.
func (d *Data) writeTable(w *bufio.Writer, comma rune) {
	d.check()
	covariates := d.writableCovariates("specimen", "group", "landmark", "x", "y")
	seen := map[string]bool{}
	for _, s := range d.Specimens {
		switch {
		case seen[s.Name]:
			refuse("give each a name of its own", "two specimens %q, which rows could not tell apart", s.Name)
		case len(s.Points) == 0:
			refuse("leave it out, or write .tps", "specimen %q has no landmarks, so no rows", s.Name)
		case len(s.Points[0]) != len(d.Specimens[0].Points[0]):
			refuse("write them into two files, or .tps", "specimen %q is in %d dimensions, %q in %d",
				s.Name, len(s.Points[0]), d.Specimens[0].Name, len(d.Specimens[0].Points[0]))
		}
		seen[s.Name] = true
	}
	out := csv.NewWriter(w)
	out.Comma = comma
	called := d.Landmark
	if labels := slices.Sorted(slices.Values(d.Labels)); len(slices.Compact(labels)) < len(d.Labels) || slices.ContainsFunc(labels, IsNumber) ||
		slices.Contains(labels, "") {
		called = (&Data{FromZero: d.FromZero}).Landmark // labels that would be read as other landmarks
	}
	out.Write(slices.Concat([]string{"specimen", "group"}, covariates, []string{"landmark"}, []string{"x", "y", "z"}[:len(d.Specimens[0].Points[0])]))
	for _, s := range d.Specimens {
		begin := []string{s.Name, s.Group}
		for _, name := range covariates {
			begin = append(begin, s.Covariates[name])
		}
		for l, p := range s.Points {
			record := append(slices.Clip(begin), called(l))
			out.Write(append(record, lists.Each(p, format)...))
		}
	}
	out.Flush()
}

// writableCovariates returns the names of the covariates and sees that a file with these other columns gives them back.
func (d *Data) writableCovariates(others ...string) []string {
	names, kept := d.Covariates(), 0
	err := try.Run(func() { kept = len(findColumns(slices.Concat(others, names), Row{}, nil).covariates) })
	refuseIf(err != nil || kept < len(names) || slices.ContainsFunc(names, func(n string) bool { return !fitsInLine(n) }), "rename it",
		"the covariates %s: a column of the title of another, or of a blank one, would not be read back", text.Names(names))
	for _, s := range d.Specimens {
		for name, value := range s.Covariates {
			refuseIf(!fitsInLine(value), "remove them",
				"specimen %q: %s = %s has a line break, a NUL or spaces around it, which a file would lose", s.Name, name, text.Clip(value))
		}
	}
	return names
}

// writeMorphoJ writes the text that MorphoJ reads: a line for each specimen, its name and the coordinates x1, y1 and so on between tabs, under a
// line with the names of the columns. It is an error if a landmark is missing, which MorphoJ does not know.
func writeMorphoJ(out *bufio.Writer, d *Data) {
	n, dim := d.rectangular()
	out.WriteString("ID")
	for k := range n * dim {
		fmt.Fprintf(out, "\t%s%d", text.Axis(k%dim), k/dim+1)
	}
	for _, s := range d.Specimens {
		refuseIf(strings.Contains(s.Name, "\t"), "rename it", "the name %s of a specimen has a tab", text.Clip(s.Name))
		out.WriteString("\n" + s.Name)
		for k, v := range slices.Concat(s.Points...) {
			if math.IsNaN(v) {
				refuse("estimate it by EstimateMissing, or leave the specimen out", "landmark %d of %s is missing, which MorphoJ does not know", k/dim,
					text.Clip(s.Name))
			}
			out.WriteString("\t" + text.Format(v))
		}
	}
	out.WriteString("\n")
}
