// Package files reads and writes files of landmarks. What is read passes through five steps, each in its file, and none goes back:
//
//	bytes     files.go and package text: which format; gzip, .zip, encodings, and how much a file may take
//	rows      sheet.go: cells with their lines, and what parts columns
//	readings  titles.go, plain.go and a file for each format with a grammar: which numbers may be the landmarks of which specimen
//	evidence  evidence.go: which reading is complete, whose names are unique, and of which shapes agree
//	data      data.go, table.go, curves.go, folder.go: specimens of one data set, with notes of all that was assumed
//
// Package morpho has its doors: morpho.Read, morpho.ReadCSV, morpho.Write and others.
package files

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"anatomy/geom/shape"
	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/text"
)

// Specimen is one shape of Data: n landmarks in 2 or 3 coordinates.
type Specimen struct {
	Name   string
	Group  string      // sex, treatment, species, …; empty where there is none
	Points shape.Shape // [n][2 or 3]; the coordinates of a missing landmark are NaN

	Covariates map[string]string // what else is known, by name: species, site, age, …; see morpho.Dataset.Column and morpho.Dataset.Numbers
}

// set sets a covariate, or the group.
func (s *Specimen) set(title, value string) {
	switch {
	case strings.EqualFold(title, "group"):
		s.Group = value
	case value == "":
	case s.Covariates == nil:
		s.Covariates = map[string]string{title: value}
	default:
		s.Covariates[title] = value
	}
}

// Data are what a file or folder holds. The fields are those of morpho.Dataset, which says what they are.
type Data struct {
	Name, Unit, Source      string
	Unscaled, Forms, Closed bool
	Labels                  []string
	FromZero, Flat          bool
	Measured                bool
	Curves, Links           [][2]int
	Sliders                 [][3]int
	Specimens               []Specimen
	Notes                   []string
}

// newData starts the data of the file called source.
func newData(source string) *Data { return &Data{Name: filepath.Base(source), Source: source} }

func (d *Data) note(format string, args ...any) {
	d.Notes = append(slices.Clip(d.Notes), fmt.Sprintf(format, args...)) // copies of a data set share them
}

// Landmark is what the user calls landmark l: its label, or else its number, which counts from 0 if the file does, and else from 1.
func (d *Data) Landmark(l int) string {
	switch {
	case l >= 0 && l < len(d.Labels) && d.Labels[l] != "":
		return d.Labels[l]
	case d.FromZero:
		return strconv.Itoa(l)
	}
	return strconv.Itoa(l + 1)
}

// Covariates returns the names of the covariates in alphabetical order.
func (d *Data) Covariates() []string {
	names := map[string]bool{}
	for _, s := range d.Specimens {
		for name := range s.Covariates {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// codes of missing landmarks in the files of many programs.
var codes = []float64{-999, -9999, -99999, 9999}

// AtCode says whether all coordinates of a landmark are a usual code of a missing one.
func AtCode(point []float64) bool {
	return slices.ContainsFunc(codes, func(code float64) bool { return IsCode(point, code) })
}

// IsCode says whether all coordinates of a landmark are a code.
func IsCode(point []float64, code float64) bool {
	return len(point) > 0 && !slices.ContainsFunc(point, func(v float64) bool { return v != code })
}

// flat leaves out a third coordinate that no landmark has.
func (d *Data) flat() {
	all := slices.Concat(lists.Each(d.Specimens, func(s Specimen) shape.Shape { return s.Points })...)
	if slices.ContainsFunc(all, func(p []float64) bool { return len(p) != 3 || !math.IsNaN(p[2]) }) ||
		!slices.ContainsFunc(all, func(p []float64) bool { return !math.IsNaN(p[0]) }) {
		return
	}
	for _, s := range d.Specimens {
		for l, p := range s.Points {
			s.Points[l] = p[:2]
		}
	}
	d.note("no landmark has z: they were taken for landmarks in the plane")
}

// Repeated is the name of the k-th specimen of one name.
func Repeated(name string, k int) string { return fmt.Sprintf("%s (%d)", name, k) }

// numbered gives every specimen without a name its number, counted from 1, as a name, and puts numbers behind names that repeat.
func (d *Data) numbered() {
	count, seen := map[string]int{}, map[string]int{}
	var odd []string
	look := func(words ...string) {
		odd = append(odd, lists.Each(lists.Filter(words, func(word string) bool { return input.Printable(word) != word }), text.Clip)...)
	}
	for i := range d.Specimens {
		s := &d.Specimens[i]
		s.Name = cmp.Or(s.Name, fmt.Sprintf("specimen%02d", i+1))
		count[s.Name]++
		look(s.Name, s.Group)
		look(slices.Collect(maps.Values(s.Covariates))...)
	}
	for i := range d.Specimens {
		name := d.Specimens[i].Name
		if count[name] == 1 {
			continue
		}
		if seen[name]++; seen[name] == 1 {
			d.note("%d specimens are called %s: they have the names %s to %s", count[name], text.Clip(name), text.Clip(Repeated(name, 1)),
				text.Clip(Repeated(name, count[name])))
		}
		d.Specimens[i].Name = Repeated(name, seen[name])
	}
	look(d.Labels...)
	look(d.Covariates()...)
	slices.Sort(odd)
	if odd = slices.Compact(odd); len(odd) > 0 {
		d.note("control characters, or bytes that are no UTF-8, are in names, which pages and pictures show with � in their place: %s", text.Listed(odd))
	}
}

// check refuses to write what no text format could hold: names that a line cannot carry, infinite coordinates, ragged points. Missing landmarks are
// fine.
func (d *Data) check() {
	refuseIf(len(d.Specimens) == 0, "see what was left out", "no specimens to write")
	for i, s := range d.Specimens {
		refuseIf(s.Name == "", "give it one", "specimen number %d has no name", i)
		for _, word := range []struct{ what, is string }{{"name", s.Name}, {"group", s.Group}} {
			refuseIf(!fitsInLine(word.is), "remove them",
				"specimen number %d: the %s %s has a line break, a NUL or spaces around it, which a file would lose", i, word.what,
				text.Clip(word.is))
		}
		for l, p := range s.Points {
			switch c := slices.IndexFunc(p, func(v float64) bool { return math.IsInf(v, 0) }); {
			case len(p) != 2 && len(p) != 3:
				refuse("give it 2 or 3", "specimen %q: landmark %d has %d coordinates", s.Name, l, len(p))
			case len(p) != len(s.Points[0]):
				refuse("give all landmarks as many", "specimen %q: landmark %d has %d coordinates, landmark 0 has %d", s.Name, l, len(p), len(s.Points[0]))
			case c >= 0:
				refuse("correct it, or let it be NaN if it is missing", "specimen %q: landmark %d: %s is infinite", s.Name, l, text.Axis(c))
			}
		}
	}
}

// fitsInLine says whether a line of a file gives a word back as it is.
func fitsInLine(word string) bool {
	return !strings.ContainsAny(word, "\r\n\x00") && strings.TrimSpace(word) == word
}

// rectangular is check for the formats that are one array: it also asks for the same count and dimension everywhere, and returns them.
func (d *Data) rectangular() (n, dim int) {
	d.check()
	first := d.Specimens[0]
	if n = len(first.Points); n == 0 {
		refuse("leave it out", "specimen %q has no landmarks", first.Name)
	}
	dim = len(first.Points[0])
	for _, s := range d.Specimens {
		refuseIf(len(s.Points) != n || len(s.Points[0]) != dim, "write .tps, or let missing landmarks be NaN",
			"specimen %q does not have the %d landmarks in %d dimensions of %q, which this file format asks for", s.Name, n, dim,
			first.Name)
	}
	return n, dim
}

// isMissing says whether a landmark is not there.
func isMissing(p []float64) bool { return slices.ContainsFunc(p, math.IsNaN) }

// source is a file that is read, and what was read of it. A format fills in the Data; all that formats have in common is done by decode.
type source struct {
	*text.Reader
	*Data
	Reading
	line int    // of errors; 0 stands for the whole file
	text string // the line at hand, without outer spaces
	open bool   // the format does not say where the file ends

	alone            bool // the file is one of a folder, which sees to curves
	scaled, unscaled bool // the file tells the lengths of its specimens; it could, and does not

	curves     [][][2]int // of each specimen the points that are those of curves: from, and to before
	curveNames []string   // empty where curves have none

	plain        bool    // no number has a decimal comma
	commas, dots numeral // the first number with a comma, and with a point, in it
	decimal      bool    // some number shows that commas are not those of thousands
}

// numeral is a number as it stands in a line.
type numeral struct {
	text string
	line int
}

// decode reads a file by a format. Errors name the file, and the line where there is one.
func decode(read func(*source), r io.Reader, name string, as Reading, alone bool) (*source, error) {
	in := &source{Reader: text.NewReader(r, name), Data: newData(name), Reading: as, alone: alone}
	err := try.Run(func() {
		read(in)
		in.line = 0 // of the whole file, from here on
		in.decimals()
		in.resample()
		if in.open && in.Unended {
			in.note("the last line has no line break: if the file was cut off, its end is missing")
		}
		if in.Windows {
			in.note("the text is no UTF-8: it was taken for Windows-1252")
		}
		in.flat()
		in.numbered()
	})
	if err != nil && !strings.HasPrefix(err.Error(), name+":") {
		err = at(name, in.line, err)
	}
	return in, err
}

// at is an error at a line of a file, or in the whole of it, which is line 0.
func at(file string, line int, err error) error {
	if line > 0 {
		return fmt.Errorf("%s:%d: %w", file, line, err)
	}
	return fmt.Errorf("%s: %w", file, err)
}

// refuse ends a read at the line at hand, or a writing: what to do, and what is wrong.
func refuse(do, format string, args ...any) { try.Do(text.Advise(do, format, args...)) }

func refuseIf(bad bool, do, format string, args ...any) { text.RefuseIf(bad, do, format, args...) }

// refuseAt ends a read at a line, or in the whole file, which is line 0.
func (in *source) refuseAt(line int, do, format string, args ...any) {
	in.line = line
	refuse(do, format, args...)
}

// next moves to the next line that is not blank; false at the end.
func (in *source) next() bool {
	for {
		line, err := in.Line()
		if in.line = max(in.Number, 1); err == io.EOF {
			in.text = ""
			return false
		}
		if in.text = strings.TrimSpace(try.Get(line, err)); in.text != "" {
			return true
		}
	}
}

// add takes one more specimen.
func (in *source) add(s Specimen) {
	try.Do(in.Budget.Specimens(1))
	in.Data.Specimens = append(in.Data.Specimens, s)
}

// one begins the one specimen of a file, which is called as the file is, in space.
func (in *source) one(unit string) {
	in.plain, in.Unit = true, unit
	in.add(Specimen{Name: stem(in.Source)})
}

// put takes the next landmark of the one specimen.
func (in *source) put(point []float64, label string) {
	s := &in.Data.Specimens[0]
	s.Points, in.Labels = append(s.Points, point), append(in.Labels, strings.TrimSpace(label))
}

// complete ends the one specimen.
func (in *source) complete() {
	if len(in.Labels) == 0 {
		in.refuseAt(0, "save the file with its points, or leave it out", "no points")
	}
	if slices.Max(in.Labels) == "" {
		in.Labels = nil
	}
}

// missing is a landmark in space that is not there.
func missing() []float64 { return []float64{math.NaN(), math.NaN(), math.NaN()} }

// stem returns the name of a file without folder and extension.
func stem(file string) string {
	base := filepath.Base(file)
	base = strings.TrimSuffix(base, filepath.Ext(base))
	if mrk := filepath.Ext(base); strings.EqualFold(mrk, ".mrk") {
		base = strings.TrimSuffix(base, mrk)
	}
	return strings.TrimSpace(base)
}

// Number reads a number; a blank, NA and NaN are a missing one.
func Number(word string) (float64, error) {
	word = strings.TrimSpace(word)
	switch strings.ToLower(word) {
	case "", "na", "nan":
		return math.NaN(), nil
	}
	v, err := text.Number(word)
	do := "write a number, or NA if it is missing"
	switch {
	case math.IsInf(v, 0):
		err = fmt.Errorf("%s is infinite", text.Clip(word))
	case err == nil:
		return v, nil
	case strings.Contains(word, ","):
		do = "use a decimal point"
	}
	return 0, text.Advise(do, "%w", err)
}

// format is the shortest text that Number reads back to the same float64.
func format(v float64) string {
	if math.IsNaN(v) {
		return "NA"
	}
	return text.Format(v)
}

// IsNumber says whether a cell holds a number, with a decimal point or comma.
func IsNumber(cell string) bool {
	cell = strings.TrimSpace(cell)
	_, err := text.Number(cell)
	return err == nil || decimalComma.MatchString(cell)
}

// decimalComma matches a number with one comma, and parts it there.
var decimalComma = regexp.MustCompile(`^[-+]?(\d+),(\d+)(?:[eE][-+]?\d+)?$`)

// coordinate is Number, where commas may be those of decimal numbers: see decimals.
func (in *source) coordinate(word string) (float64, error) {
	word = strings.TrimSpace(word)
	if m := decimalComma.FindStringSubmatch(word); !in.plain && strings.Contains(word, ",") && m != nil {
		if in.commas.line == 0 {
			in.commas = numeral{word, in.line}
		}
		in.decimal = in.decimal || len(m[2]) != 3 || len(m[1]) > 3 || m[1][0] == '0'
		return Number(strings.Replace(word, ",", ".", 1))
	}
	v, err := Number(word)
	if err == nil && !in.plain {
		if dot := strings.Contains(word, "."); dot && in.dots.line == 0 {
			in.dots = numeral{word, in.line}
		} else if !dot && math.Abs(v) >= 1000 { // of thousands it would have a comma
			in.decimal = true
		}
	}
	return v, err
}

// decimals ends a read if commas of a file may not be those of decimal numbers.
func (in *source) decimals() {
	switch comma := in.commas.text; {
	case in.commas.line == 0:
	case in.dots.line > 0:
		in.refuseAt(in.commas.line, "use decimal points throughout", "%s, but %s in line %d", comma, in.dots.text, in.dots.line)
	case !in.decimal:
		in.refuseAt(in.commas.line, "use decimal points", "%s may be %s or %s, and no number of the file tells which",
			comma, strings.Replace(comma, ",", ".", 1), strings.Replace(comma, ",", "", 1))
	}
}

// point reads the coordinates of a landmark.
func (in *source) point(landmark int, words ...string) (point []float64, err error) {
	in.Spend(input.Coordinates, len(words))
	point = make([]float64, len(words))
	for c, word := range words {
		if point[c], err = in.coordinate(word); err != nil {
			return nil, fmt.Errorf("landmark %d: %s = %w", landmark, text.Axis(c), err)
		}
	}
	return point, nil
}

// coordinates reads the dim coordinates of a landmark, separated by spaces or tabs, from the line at hand.
func (in *source) coordinates(landmark, dim int) ([]float64, error) {
	var words []string
	count := 0
	for word := range strings.FieldsSeq(in.text) {
		if count++; count <= dim {
			words = append(words, word)
		}
	}
	point, err := in.point(landmark, words...)
	if err == nil && count != dim {
		err = text.Advise("write the coordinates of one landmark in each line, and no more",
			"landmark %d: %d values where %d coordinates belong: %s", landmark, count, dim, text.Clip(in.text))
	}
	return point, err
}
