package morpho

import (
	"encoding/csv"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/landmarks/internal/text"
)

// ReadCSV reads a table in text, whose columns are separated by commas, semicolons, tabs or spaces, in either of two layouts:
//
//	long: a row for each landmark: specimen, group, landmark, x, y[, z]
//	wide: a row for each specimen: specimen, group, x1, y1[, z1], x2, y2[, z2], …
//
// The columns stand in any order. The letter of an axis stands before or behind the name or number of the landmark, on one side in the whole
// table: x1, 1.x, x_1, "LM1 x (mm)", LM1_X, nasion_x, Sx; or x, y, x, y, … stand below a row with the names of the landmarks. Names are the
// data set's Labels. Columns that are numbered throughout (V1, V2, …) are coordinates if the shapes agree in pairs or triples of them.
//
// Specimens are named by the column "specimen", "name" or "id" and the like, in a long table also "individual", "subject" and "sample",
// unless its values cannot be names and those of another can: in a long table the column that is constant over each run of landmarks, in a
// wide one the first, whose words differ. Names that repeat are numbered. Without names, a specimen of a long table begins where the first
// landmark comes again, else all rows are one; those of a wide table are numbered. R's header may be one title shorter than the rows. Group
// and landmark may be left out (landmarks come in order). Other columns with a title are Covariates, unless they differ between the
// landmarks of a specimen. Landmarks are numbered from 0 or from 1; those of a long table may have names, the same in each specimen. A
// blank, NA or NaN is a missing coordinate; z that are all missing are left out. A first line sep=; names the separator. Notes say what
// values decided, and where the shapes would agree much better in another order than in that of the titles.
//
// Passed over, with a note in Notes, are lines above the header, rows without text, lines below the table, and columns without a title. A
// row below the header, or brackets in it, may have the unit of length.
//
// A table without a header is one specimen where each row holds two or three coordinates, at least three rows of them, behind a name or a
// number of the landmark or not; Notes say so. Lines that begin with #, the heads of Landmark Editor (Version 1.0 and a count; 9999 is
// missing) and of files with n_points:, and lines without numbers above and below are passed over.
//
// Where columns are not separated by commas, a number may have a decimal comma (2,5), as spreadsheets write it in many
// countries. It is an error if others of the file have a decimal point, or if all those with a comma may be thousands (2,500).
// name is that of the file, for Name, Source and errors.
func ReadCSV(r io.Reader, name string) (*Dataset, error) { return Reading{}.csv(r, name) }

func (as Reading) csv(r io.Reader, name string) (*Dataset, error) {
	t := &csvTable{file: name, dataset: newDataset(name), index: map[string]int{}, passed: map[int]bool{}}
	return reading(name, func() int { return t.line }, func() *Dataset { return t.read(r, as) })
}

func (t *csvTable) read(r io.Reader, as Reading) *Dataset {
	s := newSheet(r, t.file)
	t.in = s.in
	above, header, below := s.header()
	if header == nil && s.isPlain() {
		return readPlain(s)
	}
	if header == nil {
		s.withoutHeader()
	}
	t.plain = s.comma == ','
	var names []string // of the landmarks, maybe
	if len(above) > 0 {
		names = above[len(above)-1].cells
	}
	titles := header.cells
	if below != nil && len(below.cells) == len(titles)+1 && csvField(below.cells, len(titles)) != "" && csvField(titles, 0) != "" {
		titles = slices.Concat([]string{""}, titles) // R's row names
		names = slices.Concat([]string{""}, names)
	}
	t.line = header.line
	s.skipTo(header.line)
	rows := s.all()[1:]
	t.columns = try.Get(findColumns(titles, names, rows))
	try.Do(t.columns.decide(titles, rows, as))
	t.titled(above)
	for _, row := range rows {
		t.add(row.cells, row.line, len(titles))
	}
	t.finish()
	t.dataset.noteEnd(s.in)
	t.dataset.noteEncoding(s.in)
	return t.dataset
}

// csvTable gathers rows into specimens.
type csvTable struct {
	file    string
	in      *text.Reader
	line    int // at hand
	columns *csvColumns
	dataset *Dataset
	index   map[string]int // name → the last specimen of it
	first   []int          // long: the first specimen of the name of each
	rows    [][]csvRow     // long: one list a specimen, parallel to Points
	numbers map[string]int // long: the landmarks that have names, in the order of their first rows
	begun   bool           // the first row below the header is done
	passed  map[int]bool   // columns without a title that hold something
	empty   int            // rows without text
	pending []sheetRow     // rows without coordinates, which may be notes below the table

	numerals
}

// titled notes what is above the header and which columns have no title.
func (t *csvTable) titled(above []sheetRow) {
	d, c := t.dataset, t.columns
	d.Unit, d.Labels, d.FromZero = c.unit, c.labels, c.fromZero
	for k, row := range above {
		numbers, filled := row.numbers()
		if numbers > 1 && 2*numbers > filled {
			refuseAt(t.file, row.line, "move the header above all rows, or remove this one",
				"a row of numbers stands above the header, which is in line %d", t.line)
		}
		named := c.labels != nil && k+1 == len(above) && slices.Contains(row.cells, c.labels[0])
		if filled > 0 && !named {
			d.note("line %d above the header was passed over: %s", row.line, row.quoted())
		}
	}
	if c.labels != nil {
		d.note("the columns name %d landmarks: %s", len(c.labels), listNames(c.labels))
	}
	if c.specimen < 0 && len(c.covariates) > 0 {
		c.notes = append(c.notes, "no column has names of specimens: "+map[bool]string{true: "they are numbered", false: "rows are taken for landmarks of one"}[c.wide])
	}
	for _, note := range c.notes {
		d.note("%s", note)
	}
}

// add takes a row below the header.
func (t *csvTable) add(record []string, line, width int) {
	c := t.columns
	t.line = line
	filled := 0 // up to the last cell with text
	for i, cell := range record {
		if strings.TrimSpace(cell) != "" {
			filled = i + 1
		}
	}
	for _, i := range c.untitled {
		t.passed[i] = t.passed[i] || csvField(record, i) != ""
	}
	placed := c.hasPoint(record)
	if filled == 0 && (c.wide || c.specimen >= 0 || c.landmark >= 0) {
		t.empty++ // elsewhere it may stand for a landmark
		return
	}
	first := !t.begun
	t.begun = true
	switch {
	case first && t.takeUnits(record):
		t.dataset.note("line %d was taken for units: %s", line, t.dataset.Unit)
		return
	case filled > width || placed && len(record) < width:
		refuse("see whether a cell is missing, or holds a separator, as a number with a decimal comma does",
			"%d columns, but the header has %d", max(filled, len(record)), width)
	case !placed:
		row := sheetRow{slices.Clip(record), line}
		for len(row.cells) < width {
			row.cells = append(row.cells, "")
		}
		t.pending = append(t.pending, row)
		return
	}
	for _, row := range t.pending { // nothing below a table
		t.data(row.cells, row.line)
	}
	t.pending = t.pending[:0]
	t.data(record, line)
}

// data takes a row of data.
func (t *csvTable) data(record []string, line int) {
	t.line = line
	if t.columns.wide {
		t.addSpecimen(record)
	} else {
		t.addLandmark(record)
	}
}

// takeUnits takes the row below the header for the units of its columns, if it is one.
func (t *csvTable) takeUnits(record []string) bool {
	unit := ""
	for _, columns := range t.columns.points {
		for _, i := range columns {
			u := unitIn(csvField(record, i))
			if u == "" || unit != "" && u != unit || t.dataset.Unit != "" && u != t.dataset.Unit {
				return false
			}
			unit = u
		}
	}
	t.dataset.Unit = unit
	return true
}

// finish says what the rows below the table are, and puts landmarks into order.
func (t *csvTable) finish() {
	d, c := t.dataset, t.columns
	below := false
	for _, row := range t.pending {
		_, filled := row.numbers()
		_, known := t.index[csvField(row.cells, c.specimen)]
		switch {
		case filled == 0:
			t.empty++
		case known && !c.wide && !below: // a landmark is missing
			t.data(row.cells, row.line)
		default:
			below = true
			d.note("line %d below the table was passed over: %s", row.line, row.quoted())
		}
	}
	for _, i := range c.untitled {
		if t.passed[i] {
			d.note("column %d has no title and was passed over", i+1)
		}
	}
	if t.empty > 0 {
		d.note("empty rows were passed over: %d", t.empty)
	}
	if len(d.Specimens) == 0 {
		refuseAt(t.file, 0, "write a row for each specimen, or for each of its landmarks", "a header, but no rows with coordinates")
	}
	t.decimals(t.file)
	for _, s := range d.Specimens {
		for name, value := range s.Covariates {
			if t.commas.line > 0 && decimalComma.MatchString(value) {
				s.Covariates[name] = strings.Replace(value, ",", ".", 1)
			}
		}
	}
	if c.specimen < 0 && !c.wide && len(d.Specimens) > 1 {
		d.note("a specimen begins where landmark %s comes again", t.called(t.rows[0][0].landmark))
	}
	t.order()
}

// csvRow is where one landmark of a long file stands.
type csvRow struct{ landmark, line int }

// covariates returns those of a record; nil if there are none.
func (c *csvColumns) covariatesOf(record []string) map[string]string {
	var out map[string]string
	for column, title := range c.covariates {
		if value := csvField(record, column); value != "" {
			if out == nil {
				out = make(map[string]string, len(c.covariates))
			}
			out[title] = value
		}
	}
	return out
}

// csvField returns a column's text, empty where the column is not there.
func csvField(record []string, column int) string {
	if column < 0 || column >= len(record) {
		return ""
	}
	return strings.TrimSpace(record[column])
}

func (t *csvTable) point(record []string, landmark int, columns []int) []float64 {
	t.in.Spend(input.Coordinates, len(columns))
	words := make([]string, len(columns))
	for c, column := range columns {
		words[c] = csvField(record, column)
	}
	point, err := t.numerals.point(landmark, words, t.line)
	if err != nil {
		try.Do(fmt.Errorf("specimen %s, %w", text.Clip(csvField(record, t.columns.specimen)), err))
	}
	return point
}

var errNameless = text.Advise("write the name in each row: of cells that were merged, only the first has it", "the specimen has no name")

// statistic matches what people call the rows of statistics below a table.
var statistic = regexp.MustCompile(`^(?i:mean|average|median|sd|std|st\.? ?dev\.?|standard deviation|variance|sum|total)$`)

// addSpecimen takes a row of a wide file.
func (t *csvTable) addSpecimen(record []string) {
	c := t.columns
	try.Do(t.in.Specimens(1))
	s := Specimen{Name: csvField(record, c.specimen), Group: csvField(record, c.group), Covariates: c.covariatesOf(record)}
	if s.Name == "" && t.columns.specimen >= 0 && !t.columns.rowNames {
		try.Do(errNameless)
	}
	if statistic.MatchString(s.Name) {
		refuse("remove the rows of statistics, or rename it if it is one",
			"%s is likely to be a statistic of the specimens, and none of them", text.Clip(s.Name))
	}
	for l, columns := range t.columns.points {
		s.Points = append(s.Points, t.point(record, l, columns))
	}
	t.dataset.Specimens = append(t.dataset.Specimens, s)
}

// addLandmark takes a row of a long file.
func (t *csvTable) addLandmark(record []string) {
	name, group := csvField(record, t.columns.specimen), csvField(record, t.columns.group)
	if name == "" && t.columns.specimen >= 0 {
		try.Do(errNameless)
	}
	landmark := -1
	if t.columns.landmark >= 0 {
		landmark = t.landmark(csvField(record, t.columns.landmark), name)
	}
	i, known := t.index[name]
	if known && len(t.rows[i]) >= fewest && (landmark == t.rows[i][0].landmark && landmark >= 0 || t.columns.byRun && i != len(t.rows)-1) {
		known = false // another of the same name
	}
	if !known {
		try.Do(t.in.Specimens(1))
		before, again := t.index[name]
		i = len(t.dataset.Specimens)
		if t.index[name], t.first = i, append(t.first, i); again {
			t.first[i] = t.first[before]
		}
		t.dataset.Specimens = append(t.dataset.Specimens, Specimen{Name: name, Group: group, Covariates: t.columns.covariatesOf(record)})
		t.rows = append(t.rows, nil)
	}
	s := &t.dataset.Specimens[i]
	if s.Group != group {
		refuse("write the same group in all rows of a specimen",
			"specimen %s is in group %s here and in %s in line %d", text.Clip(name), text.Clip(group), text.Clip(s.Group), t.rows[i][0].line)
	}
	for column, title := range t.columns.covariates {
		if csvField(record, column) != s.Covariates[title] { // of landmarks, not of specimens
			delete(t.columns.covariates, column)
			for i := range t.dataset.Specimens {
				delete(t.dataset.Specimens[i].Covariates, title)
			}
		}
	}
	if landmark < 0 {
		landmark = len(s.Points)
	}
	s.Points = append(s.Points, t.point(record, landmark, t.columns.points[0]))
	t.rows[i] = append(t.rows[i], csvRow{landmark, t.line})
}

// landmark reads the number of a landmark of a specimen, or counts those that have names.
func (t *csvTable) landmark(word, specimen string) int {
	number, err := strconv.Atoi(word)
	begun := len(t.rows) > 0 // a row was read before
	switch {
	case err == nil && number >= 0 && t.numbers == nil:
		return number
	case word == "" || err == nil || begun && t.numbers == nil:
		refuse("count the landmarks of each specimen from 0 or from 1, or give each a name, the same in all specimens",
			"specimen %s: landmark %s is not a whole number from 0", text.Clip(specimen), text.Clip(word))
	case t.numbers == nil:
		t.numbers = map[string]int{}
	}
	number, known := t.numbers[word]
	if !known {
		number = len(t.numbers)
		t.numbers[word] = number
		t.dataset.Labels = append(t.dataset.Labels, word)
	}
	return number
}

// order puts the landmarks of a long file into the order of their numbers and sees that each is there once.
func (t *csvTable) order() {
	if t.columns.wide || t.columns.landmark < 0 {
		return
	}
	base := 1
	for _, rows := range t.rows {
		if slices.ContainsFunc(rows, func(r csvRow) bool { return r.landmark == 0 }) {
			base = 0
		}
	}
	t.dataset.FromZero = base == 0 && t.numbers == nil
	for i, rows := range t.rows {
		s := &t.dataset.Specimens[i]
		if first := t.rows[t.first[i]]; len(rows) != len(first) && t.first[i] != i {
			refuseAt(t.file, rows[0].line, "write each landmark of a specimen once, and each specimen under a name of its own",
				"specimen %s: landmark %s stands in line %d already", text.Clip(s.Name), t.called(rows[0].landmark), first[0].line)
		}
		sorted := make([]int, len(rows))
		for j := range sorted {
			sorted[j] = j
		}
		slices.SortStableFunc(sorted, func(a, b int) int { return rows[a].landmark - rows[b].landmark })
		points := make([][]float64, len(rows))
		for l, j := range sorted {
			row := rows[j]
			if l > 0 && row.landmark == rows[sorted[l-1]].landmark {
				refuseAt(t.file, row.line, "write each landmark of a specimen once, and each specimen under a name of its own",
					"specimen %s: landmark %s stands in line %d already", text.Clip(s.Name), t.called(row.landmark), rows[sorted[l-1]].line)
			}
			if row.landmark != base+l {
				refuseAt(t.file, row.line, "write NA for the coordinates of a missing one",
					"specimen %s: landmark %s, but there is no landmark %s", text.Clip(s.Name), t.called(row.landmark), t.called(base+l))
			}
			points[l] = s.Points[j]
		}
		s.Points = points
	}
}

// called is the number of a landmark, or its name where it has one.
func (t *csvTable) called(landmark int) string {
	if t.numbers != nil {
		return text.Clip(t.dataset.Labels[landmark])
	}
	return strconv.Itoa(landmark)
}

// WriteCSV writes the long layout of ReadCSV: specimen, group, covariates, landmark (as Dataset.Landmark calls it), x, y[, z]; NA where a landmark is missing.
// Counts may differ between specimens, dimensions may not.
func WriteCSV(w io.Writer, d *Dataset) error { return writeCSV(w, d, ',') }

func writeCSV(w io.Writer, d *Dataset, comma rune) error {
	if err := d.checkWritable(); err != nil {
		return err
	}
	covariates, err := d.writableCovariates("specimen", "group", "landmark", "x", "y")
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, s := range d.Specimens {
		switch {
		case seen[s.Name]:
			return fmt.Errorf("%s: %w", d.Name, text.Advise("give each a name of its own",
				"two specimens %q, which rows could not tell apart", s.Name))
		case len(s.Points) == 0:
			return fmt.Errorf("%s: %w", d.Name, text.Advise("leave it out, or write .tps", "specimen %q has no landmarks, so no rows", s.Name))
		case len(s.Points[0]) != len(d.Specimens[0].Points[0]):
			return fmt.Errorf("%s: %w", d.Name, text.Advise("write them into two files, or .tps", "specimen %q is in %d dimensions, %q in %d",
				s.Name, len(s.Points[0]), d.Specimens[0].Name, len(d.Specimens[0].Points[0])))
		}
		seen[s.Name] = true
	}
	out := csv.NewWriter(w)
	out.Comma = comma
	called := d.Landmark
	if labels := slices.Sorted(slices.Values(d.Labels)); len(slices.Compact(labels)) < len(d.Labels) || slices.ContainsFunc(labels, isNumber) || slices.Contains(labels, "") {
		called = (&Dataset{FromZero: d.FromZero}).Landmark // labels that would be read as other landmarks
	}
	out.Write(slices.Concat([]string{"specimen", "group"}, covariates, []string{"landmark"}, []string{"x", "y", "z"}[:len(d.Specimens[0].Points[0])]))
	for _, s := range d.Specimens {
		for l, p := range s.Points {
			record := append(s.start(covariates), called(l))
			for _, v := range p {
				record = append(record, formatCoordinate(v))
			}
			out.Write(record)
		}
	}
	out.Flush()
	return out.Error()
}

// start returns the first columns of a row.
func (s *Specimen) start(covariates []string) []string {
	record := []string{s.Name, s.Group}
	for _, name := range covariates {
		record = append(record, s.Covariates[name])
	}
	return record
}

// writableCovariates returns the names of the covariates and sees that a file with these other columns gives them back.
func (d *Dataset) writableCovariates(others ...string) ([]string, error) {
	names := d.Covariates()
	columns, err := findColumns(slices.Concat(others, names), nil, nil)
	if err != nil || len(columns.covariates) < len(names) || slices.ContainsFunc(names, func(n string) bool { return !fitsInLine(n) }) {
		return nil, fmt.Errorf("%s: %w", d.Name, text.Advise("rename it",
			"the covariates %s: a column of the title of another, or of a blank one, would not be read back", listNames(names)))
	}
	for _, s := range d.Specimens {
		for name, value := range s.Covariates {
			if !fitsInLine(value) {
				return nil, fmt.Errorf("%s: specimen %q: %w", d.Name, s.Name, text.Advise("remove them",
					"%s = %s has a line break, a NUL or spaces around it, which a file would lose",
					name, text.Clip(value)))
			}
		}
	}
	return names, nil
}
