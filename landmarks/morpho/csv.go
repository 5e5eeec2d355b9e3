package morpho

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"anatomy/landmarks/internal/text"
)

// csvColumns says which column holds what; -1 where a column is not there.
type csvColumns struct {
	specimen, group, landmark int
	points                    [][]int // columns of x, y[, z]: of the one landmark of a row (long) or of all of them (wide)
	wide                      bool
	rowNames                  bool           // the specimen column has no title, as of R's row names, and may be blank
	covariates                map[int]string // the others, by their titles
}

// wideColumn matches x1, x_1, x.1, 1.x, 1x and the same for y and z.
var wideColumn = regexp.MustCompile(`^(?:([xyz])[._]?(\d{1,9})|(\d{1,9})[._]?([xyz]))$`)

// ReadCSV reads comma-, semicolon- or tab-separated text with a header, in either of two layouts:
//
//	long: a row for each landmark: specimen, group, landmark, x, y[, z]
//	wide: a row for each specimen: specimen, group, x1, y1[, z1], x2, y2[, z2], …
//
// The columns stand in any order. "name" and "id" mean specimen. Group may be left out; so may
// specimen (long: all rows are one specimen; wide: specimens are numbered) and landmark (landmarks come in order).
// The first column of a wide table without a specimen column is one if it has no title, as R writes row names.
// Other columns with a title are Covariates, unless they differ between the landmarks of a specimen.
// Landmarks are numbered from 0 or from 1. A blank, NA or NaN is a missing coordinate. A first line sep=; names the separator.
// Where columns are separated by semicolons or tabs, a number may have a decimal comma (2,5), as spreadsheets write it in many
// countries. It is an error if others of the file have a decimal point, or if all those with a comma may be thousands (2,500).
// name is that of the file, for Name, Source and errors.
func ReadCSV(r io.Reader, name string) (*Dataset, error) {
	source := &csvSource{in: text.NewReader(r, name), file: name}
	comma, err := source.separator()
	if err != nil {
		return nil, err
	}
	reader := csv.NewReader(source)
	reader.Comma = comma
	reader.TrimLeadingSpace = comma != '\t'
	reader.ReuseRecord = true
	reader.FieldsPerRecord = -1 // counted below, with a better message
	header, err := reader.Read()
	if err == io.EOF {
		return nil, fmt.Errorf("%s: the file is empty; a header such as specimen,group,landmark,x,y belongs in line 1", name)
	}
	if err != nil {
		return nil, source.error(err)
	}
	width := len(header)
	columns, err := findColumns(header)
	if err != nil {
		line, _ := reader.FieldPos(0)
		return nil, fmt.Errorf("%s:%d: %w", name, source.before+line, err)
	}
	table := csvTable{file: name, columns: columns, dataset: newDataset(name), index: map[string]int{}, comma: comma}
	for {
		source.begun = 0
		record, err := reader.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, source.error(err)
		}
		line, _ := reader.FieldPos(0)
		line += source.before
		if len(record) != width {
			return nil, fmt.Errorf("%s:%d: %d columns, but the header has %d", name, line, len(record), width)
		}
		if columns.wide {
			err = table.addSpecimen(record, line)
		} else {
			err = table.addLandmark(record, line)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, line, err)
		}
	}
	if len(table.dataset.Specimens) == 0 {
		return nil, fmt.Errorf("%s: a header, but no rows", name)
	}
	if err := table.decimals(); err != nil {
		return nil, err
	}
	if err := table.order(); err != nil {
		return nil, err
	}
	return table.dataset.numbered(), nil
}

// csvSource hands the lines of a file to encoding/csv, one a call, each ended by LF, and bounds what a row may take: one whose
// quotation mark is never closed goes on to the end of the file, and every column takes memory of its own.
type csvSource struct {
	in     *text.Reader
	file   string
	comma  rune
	before int    // lines before the first that encoding/csv sees
	line   string // the rest of the line at hand
	begun  int    // bytes of the row at hand
}

const maxColumns = 1 << 22

// excelSeparator matches the first line by which Excel is told the separator.
var excelSeparator = regexp.MustCompile(`^(?i:"?sep=)(.)"?$`)

// separator returns the separator of the columns: that of a first line sep=;, which is passed over, or else the most frequent of
// comma, semicolon and tab in the header.
func (s *csvSource) separator() (rune, error) {
	for strings.TrimSpace(s.line) == "" {
		line, err := s.in.Line()
		if err == io.EOF {
			return ',', nil
		}
		if err != nil {
			return 0, s.error(err)
		}
		if m := excelSeparator.FindStringSubmatch(line); m != nil {
			s.before, s.comma = s.in.Number, []rune(m[1])[0]
			if !strings.ContainsRune(",;\t|: ", s.comma) {
				return 0, s.in.Errorf("%s does not separate columns", text.Clip(m[1]))
			}
			return s.comma, nil
		}
		s.before, s.line = s.in.Number-1, line+"\n"
	}
	s.comma = ','
	for _, other := range ";\t" {
		if strings.Count(s.line, string(other)) > strings.Count(s.line, string(s.comma)) {
			s.comma = other
		}
	}
	return s.comma, nil
}

// Read is io.Reader's.
func (s *csvSource) Read(p []byte) (int, error) {
	if s.line == "" {
		line, err := s.in.Line()
		if err != nil {
			return 0, err
		}
		s.line = line + "\n"
		if s.begun += len(s.line); s.begun > s.in.MaxLine {
			return 0, fmt.Errorf("the row is longer than %d MiB; is a quotation mark not closed?", s.in.MaxLine>>20)
		}
	}
	if len(s.line) > maxColumns {
		if n := strings.Count(s.line, string(s.comma)); n > maxColumns {
			return 0, fmt.Errorf("the row has %d columns, and %d is the most", n+1, maxColumns)
		}
	}
	n := copy(p, s.line)
	s.line = s.line[n:]
	return n, nil
}

// error puts an error of encoding/csv or of the file into the form file:line: what.
func (s *csvSource) error(err error) error {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return fmt.Errorf("%s:%d: %w", s.file, s.before+parse.Line, parse.Err)
	}
	return s.in.Errorf("%w", err)
}

func findColumns(header []string) (*csvColumns, error) {
	c := &csvColumns{specimen: -1, group: -1, landmark: -1, covariates: map[int]string{}}
	bare := []int{-1, -1, -1}   // x, y, z
	numbered := map[int][]int{} // landmark → columns of x, y, z
	titles := map[string]int{}  // covariate → column
	take := func(at *int, column int) error {
		if *at >= 0 {
			return fmt.Errorf("columns %d and %d of the header both are %s", *at+1, column+1, text.Clip(header[column]))
		}
		*at = column
		return nil
	}
	for i, title := range header {
		var err error
		covariate := strings.TrimSpace(title)
		switch title = strings.ToLower(covariate); title {
		case "":
		case "specimen", "name", "id":
			err = take(&c.specimen, i)
		case "group":
			err = take(&c.group, i)
		case "landmark":
			err = take(&c.landmark, i)
		case "x", "y", "z":
			err = take(&bare[title[0]-'x'], i)
		default:
			if m := wideColumn.FindStringSubmatch(title); m != nil {
				number, _ := strconv.Atoi(m[2] + m[3]) // nine digits at most
				if numbered[number] == nil {
					numbered[number] = []int{-1, -1, -1}
				}
				err = take(&numbered[number][(m[1] + m[4])[0]-'x'], i)
				break
			}
			if before, twice := titles[covariate]; twice {
				err = take(&before, i)
			}
			titles[covariate], c.covariates[i] = i, covariate
		}
		if err != nil {
			return nil, err
		}
	}
	hasBare := slices.Max(bare) >= 0
	switch {
	case hasBare && len(numbered) > 0:
		return nil, errors.New("the header has both x, y columns (long) and x1, y1, … columns (wide): keep one layout")
	case hasBare:
		if bare[0] < 0 || bare[1] < 0 {
			return nil, errors.New("the header lacks the column x or y")
		}
		c.points = [][]int{trimZ(bare)}
		return c, nil
	case len(numbered) == 0:
		return nil, fmt.Errorf("the header has neither columns x, y[, z] nor x1, y1[, z1], x2, …: it is %s", text.Clip(strings.Join(header, ",")))
	case c.landmark >= 0:
		return nil, errors.New("the header has a landmark column (long) and x1, y1, … columns (wide): keep one layout")
	}
	c.wide = true
	if c.specimen < 0 && strings.TrimSpace(header[0]) == "" {
		c.specimen, c.rowNames = 0, true
	}
	base := 1
	if numbered[0] != nil {
		base = 0
	}
	for l := range len(numbered) {
		at := numbered[base+l]
		if at == nil {
			return nil, fmt.Errorf("the header lacks the columns of landmark %d (x%d, y%d, …)", l, base+l, base+l)
		}
		if at[0] < 0 || at[1] < 0 || (at[2] < 0) != (numbered[base][2] < 0) {
			return nil, fmt.Errorf("the header lacks a coordinate of landmark %d (x%d, y%d or z%d)", l, base+l, base+l, base+l)
		}
		c.points = append(c.points, trimZ(at))
	}
	return c, nil
}

// trimZ drops the third column where there is none.
func trimZ(columns []int) []int {
	if columns[2] < 0 {
		return columns[:2]
	}
	return columns
}

// csvTable gathers rows into specimens.
type csvTable struct {
	file    string
	columns *csvColumns
	dataset *Dataset
	index   map[string]int // name → specimen
	rows    [][]csvRow     // long: one list a specimen, parallel to Points
	comma   rune           // between columns

	commas, points numeral // the first number with a comma, and with a point, in it
	decimal        bool    // some number shows that commas are not those of thousands
}

// numeral is a number as it stands in a line.
type numeral struct {
	text string
	line int
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
	if column < 0 {
		return ""
	}
	return strings.TrimSpace(record[column])
}

// decimalComma matches a number with one comma, and parts it there.
var decimalComma = regexp.MustCompile(`^[-+]?(\d+),(\d+)(?:[eE][-+]?\d+)?$`)

// coordinate is parseCoordinate where columns are separated by commas; elsewhere a comma is that of a decimal number: see decimals.
func (t *csvTable) coordinate(word string, line int) (float64, error) {
	if t.comma == ',' {
		return parseCoordinate(word)
	}
	word = strings.TrimSpace(word)
	if m := decimalComma.FindStringSubmatch(word); m != nil {
		if t.commas.line == 0 {
			t.commas = numeral{word, line}
		}
		t.decimal = t.decimal || len(m[2]) != 3 || len(m[1]) > 3 || m[1][0] == '0'
		return parseCoordinate(strings.Replace(word, ",", ".", 1))
	}
	v, err := parseCoordinate(word)
	if err == nil && strings.Contains(word, ".") && t.points.line == 0 {
		t.points = numeral{word, line}
	}
	t.decimal = t.decimal || err == nil && math.Abs(v) >= 1000 && !strings.Contains(word, ".") // of thousands it would have a comma
	return v, err
}

// decimals returns an error if commas may not be those of decimal numbers. In covariates, too, they become points.
func (t *csvTable) decimals() error {
	switch {
	case t.commas.line == 0:
		return nil
	case t.points.line > 0:
		return fmt.Errorf("%s:%d: %s, but %s in line %d: use decimal points throughout", t.file, t.commas.line, t.commas.text, t.points.text, t.points.line)
	case !t.decimal:
		return fmt.Errorf("%s:%d: %s may be %s or %s, and no number of the file tells: use decimal points", t.file, t.commas.line, t.commas.text,
			strings.Replace(t.commas.text, ",", ".", 1), strings.Replace(t.commas.text, ",", "", 1))
	}
	for _, s := range t.dataset.Specimens {
		for name, value := range s.Covariates {
			if decimalComma.MatchString(value) {
				s.Covariates[name] = strings.Replace(value, ",", ".", 1)
			}
		}
	}
	return nil
}

func (t *csvTable) point(record []string, landmark, line int, columns []int) ([]float64, error) {
	point := make([]float64, len(columns))
	for c, column := range columns {
		v, err := t.coordinate(record[column], line)
		if err != nil {
			return nil, fmt.Errorf("specimen %s, landmark %d: %s = %w", text.Clip(csvField(record, t.columns.specimen)), landmark, axis(c), err)
		}
		point[c] = v
	}
	return point, nil
}

// addSpecimen takes a row of a wide file.
func (t *csvTable) addSpecimen(record []string, line int) error {
	s := Specimen{Name: csvField(record, t.columns.specimen), Group: csvField(record, t.columns.group), Covariates: t.columns.covariatesOf(record)}
	if s.Name == "" && t.columns.specimen >= 0 && !t.columns.rowNames {
		return errors.New("the specimen has no name")
	}
	if s.Name != "" {
		if _, taken := t.index[s.Name]; taken {
			return fmt.Errorf("a second specimen %s", text.Clip(s.Name))
		}
		t.index[s.Name] = line
	}
	for l, columns := range t.columns.points {
		p, err := t.point(record, l, line, columns)
		if err != nil {
			return err
		}
		s.Points = append(s.Points, p)
	}
	t.dataset.Specimens = append(t.dataset.Specimens, s)
	return nil
}

// addLandmark takes a row of a long file.
func (t *csvTable) addLandmark(record []string, line int) error {
	name, group := csvField(record, t.columns.specimen), csvField(record, t.columns.group)
	if name == "" && t.columns.specimen >= 0 {
		return errors.New("the specimen has no name")
	}
	i, known := t.index[name]
	if !known {
		i = len(t.dataset.Specimens)
		t.index[name] = i
		t.dataset.Specimens = append(t.dataset.Specimens, Specimen{Name: name, Group: group, Covariates: t.columns.covariatesOf(record)})
		t.rows = append(t.rows, nil)
	}
	s := &t.dataset.Specimens[i]
	if s.Group != group {
		return fmt.Errorf("specimen %s is in group %s here and in %s in line %d", text.Clip(name), text.Clip(group), text.Clip(s.Group), t.rows[i][0].line)
	}
	for column, title := range t.columns.covariates {
		if csvField(record, column) != s.Covariates[title] { // of landmarks, not of specimens
			delete(t.columns.covariates, column)
			for i := range t.dataset.Specimens {
				delete(t.dataset.Specimens[i].Covariates, title)
			}
		}
	}
	landmark := len(s.Points)
	if t.columns.landmark >= 0 {
		word := csvField(record, t.columns.landmark)
		number, err := strconv.Atoi(word)
		if err != nil || number < 0 {
			return fmt.Errorf("specimen %s: landmark %s is not a whole number from 0", text.Clip(name), text.Clip(word))
		}
		landmark = number
	}
	p, err := t.point(record, landmark, line, t.columns.points[0])
	if err != nil {
		return err
	}
	s.Points = append(s.Points, p)
	t.rows[i] = append(t.rows[i], csvRow{landmark, line})
	return nil
}

// order puts the landmarks of a long file into the order of their numbers and sees that each is there once.
func (t *csvTable) order() error {
	if t.columns.wide || t.columns.landmark < 0 {
		return nil
	}
	base := 1
	for _, rows := range t.rows {
		if slices.ContainsFunc(rows, func(r csvRow) bool { return r.landmark == 0 }) {
			base = 0
		}
	}
	for i, rows := range t.rows {
		s := &t.dataset.Specimens[i]
		sorted := make([]int, len(rows))
		for j := range sorted {
			sorted[j] = j
		}
		slices.SortStableFunc(sorted, func(a, b int) int { return rows[a].landmark - rows[b].landmark })
		points := make([][]float64, len(rows))
		for l, j := range sorted {
			row := rows[j]
			if l > 0 && row.landmark == rows[sorted[l-1]].landmark {
				return fmt.Errorf("%s:%d: specimen %s: landmark %d stands in line %d already", t.file, row.line, text.Clip(s.Name), row.landmark, rows[sorted[l-1]].line)
			}
			if row.landmark != base+l {
				return fmt.Errorf("%s:%d: specimen %s: landmark %d, but there is no landmark %d (write NA for the coordinates of a missing one)",
					t.file, row.line, text.Clip(s.Name), row.landmark, base+l)
			}
			points[l] = s.Points[j]
		}
		s.Points = points
	}
	return nil
}

// WriteCSV writes the long layout of ReadCSV: specimen, group, covariates, landmark (from 0), x, y[, z]; NA where a landmark is missing.
// Counts may differ between specimens, dimensions may not.
func WriteCSV(w io.Writer, d *Dataset) error { return writeCSV(w, d, ',') }

func writeCSV(w io.Writer, d *Dataset, comma rune) error {
	if err := d.checkWritable(); err != nil {
		return err
	}
	covariates, err := d.writableCovariates()
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, s := range d.Specimens {
		switch {
		case seen[s.Name]:
			return fmt.Errorf("%s: two specimens %q, which rows could not tell apart", d.Name, s.Name)
		case len(s.Points) == 0:
			return fmt.Errorf("%s: specimen %q has no landmarks, so no rows", d.Name, s.Name)
		case len(s.Points[0]) != len(d.Specimens[0].Points[0]):
			return fmt.Errorf("%s: specimen %q is in %d dimensions, %q in %d", d.Name, s.Name, len(s.Points[0]), d.Specimens[0].Name, len(d.Specimens[0].Points[0]))
		}
		seen[s.Name] = true
	}
	out := csv.NewWriter(w)
	out.Comma = comma
	out.Write(slices.Concat([]string{"specimen", "group"}, covariates, []string{"landmark"}, []string{"x", "y", "z"}[:len(d.Specimens[0].Points[0])]))
	for _, s := range d.Specimens {
		for l, p := range s.Points {
			record := append(s.start(covariates), strconv.Itoa(l))
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

// writableCovariates returns the names of the covariates and sees that a file gives them back.
func (d *Dataset) writableCovariates() ([]string, error) {
	names := d.covariates()
	columns, err := findColumns(append(slices.Clone(names), "x", "y"))
	if err != nil || len(columns.covariates) < len(names) || slices.ContainsFunc(names, func(n string) bool { return !fitsInLine(n) }) {
		return nil, fmt.Errorf("%s: the covariates %s: a column of the title of another, or of a blank one, would not be read back; rename it", d.Name, listNames(names))
	}
	for _, s := range d.Specimens {
		for name, value := range s.Covariates {
			if !fitsInLine(value) {
				return nil, fmt.Errorf("%s: specimen %q: %s = %s has a line break, a NUL or spaces around it, which a file would lose", d.Name, s.Name, name, text.Clip(value))
			}
		}
	}
	return names, nil
}

// WriteWideCSV writes the wide layout of ReadCSV: specimen, group, covariates, x1, y1[, z1], …; NA where a landmark is missing.
func WriteWideCSV(w io.Writer, d *Dataset) error {
	n, dim, err := d.checkRectangular()
	if err != nil {
		return err
	}
	covariates, err := d.writableCovariates()
	if err != nil {
		return err
	}
	out := csv.NewWriter(w)
	header := append([]string{"specimen", "group"}, covariates...)
	for l := range n {
		for c := range dim {
			header = append(header, axis(c)+strconv.Itoa(l+1))
		}
	}
	out.Write(header)
	seen := map[string]bool{}
	for _, s := range d.Specimens {
		if seen[s.Name] {
			return fmt.Errorf("%s: two specimens %q", d.Name, s.Name)
		}
		seen[s.Name] = true
		record := s.start(covariates)
		for _, p := range s.Points {
			for _, v := range p {
				record = append(record, formatCoordinate(v))
			}
		}
		out.Write(record)
	}
	out.Flush()
	return out.Error()
}
