// Package morpho is landmark data: files, Procrustes alignment, semi-landmarks that slide on curves and surfaces, missing landmarks,
// resampled outlines, and embedded sets of real anatomy. Package shapestats analyses them. It computes on the host and links no XLA.
//
//	cc := morpho.CorpusCallosum()                              // outlines of 39 landmarks, mm
//	mice, err := morpho.Read("mice.tps")                       // tables, TPS, 3D Slicer, R and others; or a folder of files
//	aligned, err := morpho.Procrustes(mice.Shapes())           // generalised Procrustes analysis
//	M := landmarks.New(39, 2, kernels.Gaussian(cc.Spacing()))  // the manifold of such shapes
//
// Shapes are [][]float64, a row of 2 or 3 coordinates a landmark; landmarks are counted from 0.
package morpho

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/shape"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/text"
	"anatomy/landmarks/morpho/files"
)

// Specimen is one shape of a Dataset, whose fields package files has: its Name and Group, its Points, n landmarks in 2 or 3 coordinates, and its
// Covariates.
type Specimen = files.Specimen

// Dataset holds shapes whose landmarks correspond: landmark i of one specimen is landmark i of every other.
// Landmarks are counted from 0 in Go, as in Points. Messages and files call them as Landmark does.
type Dataset struct {
	Name      string   // short title, or the base name of the file or folder read
	Unit      string   // unit of the coordinates, such as "mm"; empty if not known
	Source    string   // citation, or the path of the file or folder read
	Unscaled  bool     // lengths of one specimen are not those of another: there are no sizes
	Forms     bool     // shapes are compared with their sizes: see TangentShapes
	Closed    bool     // the landmarks follow a closed outline, the last joined to the first
	Labels    []string // of the landmarks, in their order; nil if not known
	FromZero  bool     // the file counts its landmarks from 0, and so do messages; else from 1
	Flat      bool     // the only point of each specimen is its coordinates in a flat space, as scores of deformations are: nothing is aligned or scaled
	Measured  bool     // landmarks in unlikely places are there: none is taken for a code of a missing one (see Complete)
	Curves    [][2]int // landmarks that are points of curves, in their order: from, and to before; nil if not known
	Links     [][2]int // pairs of landmarks that lines join in figures; nil if not known
	Sliders   [][3]int // semi-landmarks between the two landmarks along whose line they slide: before, sliding, after; nil if not known
	Specimens []Specimen
	Notes     []string // what a reader passed over or took for granted, and what was done to the data since, in words
}

func (d *Dataset) note(format string, args ...any) {
	d.Notes = append(slices.Clip(d.Notes), fmt.Sprintf(format, args...)) // copies of a data set share them
}

// Remarks are the Notes: what a notebook says of its data.
func (d *Dataset) Remarks() []string { return d.Notes }

// String says in one line what the data are: how many specimens of how many landmarks, in which groups, with which covariates.
func (d *Dataset) String() string {
	least, most, dim := math.MaxInt, 0, 0
	for _, s := range d.Specimens {
		least, most = min(least, len(s.Points)), max(most, len(s.Points))
		if len(s.Points) > 0 {
			dim = len(s.Points[0])
		}
	}
	count := fmt.Sprint(most)
	if least < most {
		count = fmt.Sprintf("%d to %d", least, most)
	}
	about := fmt.Sprintf("%s: %s of %s landmarks in %d dimensions", clipped(d.Name), text.Counted(len(d.Specimens), "specimens"), count, dim)
	if d.Unit != "" {
		about += ", " + d.Unit
	}
	if d.Closed {
		about += ", closed outlines"
	}
	if groups := d.Groups(); len(groups) > 1 {
		count := map[string]int{}
		for _, s := range d.Specimens {
			count[s.Group]++
		}
		about += "; groups " + text.Listed(lists.Each(groups, func(g string) string { return fmt.Sprintf("%s (%d)", clipped(g), count[g]) }))
	}
	if names := d.Covariates(); len(names) > 0 {
		about += "; covariates " + text.Listed(lists.Each(names, clipped))
	}
	return about
}

// Names returns the names of the specimens in order.
func (d *Dataset) Names() []string {
	return lists.Make(len(d.Specimens), func(i int) string { return d.Specimens[i].Name })
}

// Find returns the points of the specimen called name (not a copy).
// It is an error if there is none or more than one.
func (d *Dataset) Find(name string) (shape.Shape, error) {
	found := lists.Filter(d.Specimens, func(s Specimen) bool { return s.Name == name })
	switch len(found) {
	case 0:
		return nil, d.none("specimen", name, d.Names())
	case 1:
		return found[0].Points, nil
	}
	return nil, fmt.Errorf("%s: %w", d.Name, text.Advise("take them from Specimens by number", "%d specimens are called %q", len(found), name))
}

// none is the error of a name that is not there.
func (d *Dataset) none(what, name string, names []string) error {
	advice := "there are: " + text.Names(names)
	if like := nearest(name, names[:min(len(names), 1000)]); like != "" {
		advice = "perhaps " + text.Clip(like) + "; " + advice
	}
	return fmt.Errorf("%s: %w", d.Name, text.Advise(advice, "no %s %s", what, text.Clip(name)))
}

// Shape is Find for a notebook: it panics with Find's error, which lists the names that there are.
func (d *Dataset) Shape(name string) shape.Shape {
	points, err := d.Find(name)
	if err != nil {
		panic(err)
	}
	return points
}

// Shapes returns the points of every specimen in order (not copies).
func (d *Dataset) Shapes() []shape.Shape {
	return lists.Make(len(d.Specimens), func(i int) shape.Shape { return d.Specimens[i].Points })
}

// Groups returns the distinct groups in order of appearance.
func (d *Dataset) Groups() []string {
	return lists.Distinct(lists.Each(d.Specimens, func(s Specimen) string { return s.Group }))
}

// Group returns the specimens of group g as a data set of its own; the points are shared.
// It panics, listing the groups that there are, if no specimen belongs to g.
func (d *Dataset) Group(g string) *Dataset {
	out := d.where(func(s Specimen) bool { return s.Group == g })
	if len(out.Specimens) == 0 {
		if slices.Equal(d.Groups(), []string{""}) {
			panic(fmt.Errorf("%s: %w", d.Name, text.Advise("GroupBy makes groups by columns of the table of covariates", "no specimen has a group")))
		}
		panic(d.none("group", g, d.Groups()))
	}
	return out
}

// where has the specimens of which something holds.
func (d *Dataset) where(holds func(s Specimen) bool) *Dataset {
	out := *d
	out.Specimens = lists.Filter(d.Specimens, holds)
	return &out
}

// Column returns a covariate of every specimen in order, or the groups for "group"; empty where it is not known. It is an error if no
// specimen has it.
func (d *Dataset) Column(name string) ([]string, error) {
	column := make([]string, len(d.Specimens))
	known := name == "group"
	for i, s := range d.Specimens {
		value, ok := s.Covariates[name]
		if name == "group" {
			value = s.Group
		}
		column[i], known = value, known || ok
	}
	if !known {
		return nil, d.none("covariate", name, d.Covariates())
	}
	return column, nil
}

// Row is what errors call specimen i.
func (d *Dataset) Row(i int) string { return d.specimen(i) }

// Numbers is Column for a covariate that is a number, such as an age; NaN where it is not known. Where there is no such column, "log size" and
// "centroid size" are those of LogSizes.
func (d *Dataset) Numbers(name string) ([]float64, error) {
	if _, err := d.Column(name); err == nil || name != LogSize && name != Size {
		return d.numbers(name)
	}
	sizes, err := d.LogSizes()
	if name == Size {
		sizes = lists.Each(sizes, math.Exp)
	}
	return sizes, err
}

// numbers are those of a column.
func (d *Dataset) numbers(name string) (_ []float64, err error) {
	defer try.Catch(&err)
	column := try.Get(d.Column(name))
	numbers := make([]float64, len(column))
	for i, value := range column {
		if numbers[i], err = files.Number(value); err != nil {
			try.Fail("%s: specimen %q: %s is no number: %w", d.Name, d.Specimens[i].Name, name, err)
		}
	}
	return numbers, nil
}

// Covariates returns the names of the covariates in alphabetical order.
func (d *Dataset) Covariates() []string { return (*files.Data)(d).Covariates() }

// GroupBy returns a copy in which the group of a specimen is its covariates of these names, with spaces between them. It panics,
// listing the covariates that there are, if one is not there; the points are shared.
func (d *Dataset) GroupBy(names ...string) *Dataset {
	out := *d
	out.Specimens = slices.Clone(d.Specimens)
	for i := range out.Specimens {
		out.Specimens[i].Group = ""
	}
	for _, name := range names {
		column, err := d.Column(name)
		if err != nil {
			panic(err)
		}
		for i, value := range column {
			s := &out.Specimens[i]
			s.Group = strings.TrimSpace(s.Group + " " + value)
		}
	}
	return &out
}

// Spacing returns the mean over the specimens of MeanSpacing: the natural length for the width of a kernel.
// It is NaN if a landmark is missing.
func (d *Dataset) Spacing() float64 {
	n := len(d.Specimens)
	return lists.Sum(n, func(i int) float64 { return MeanSpacing(d.Specimens[i].Points, d.Closed) }) / float64(n)
}

// Validate reports the first thing that keeps the shapes of the data set from being compared landmark by landmark:
// no specimens, two of one name, counts or dimensions that differ, missing or infinite coordinates, landmarks all of whose
// coordinates are −999 or another usual code of a missing one. Landmarks that coincide are no hindrance to most analyses: see Inspect,
// and Distinct for the manifold of landmarks, whose exact geodesics need them apart.
func (d *Dataset) Validate() (err error) {
	defer try.Catch(&err)
	if len(d.Specimens) == 0 {
		return d.empty()
	}
	numbers := make(map[string]int, len(d.Specimens))
	for i, s := range d.Specimens {
		if j, taken := numbers[s.Name]; taken {
			return fmt.Errorf("%s: %s: %w", d.Name, d.specimen(i),
				text.Advise("give each a name of its own", "specimens %d and %d both have this name", j, i))
		}
		numbers[s.Name] = i
	}
	return try.Name(try.Run(func() { d.check(d.Shapes(), false) }), "%s", d.Name)
}

// unnamed is the data set of shapes that errors call by their numbers, as their landmarks.
var unnamed *Dataset

// check ends the run if shapes are not those of a data set, landmark by landmark: see Validate. It returns how many landmarks they have in how many
// dimensions and, where they may lack some, those that each lacks.
func (d *Dataset) check(shapes []shape.Shape, mayLack bool) (n, dim int, lacking [][]int) {
	text.RefuseIf(len(shapes) == 0, "give some", "no shapes")
	lacking = make([][]int, len(shapes))
	first := shapes[0]
	for i, x := range shapes {
		fail := func(do, format string, args ...any) {
			try.Fail("%s: %w", d.specimen(i), text.Advise(do, format, args...))
		}
		switch {
		case len(x) == 0:
			fail("digitise it, or leave it out", "no landmarks")
		case len(x) != len(first):
			fail("write NA for those that are missing, or leave the specimen out",
				"%d landmarks, but %s has %d", len(x), strings.TrimPrefix(d.specimen(0), "specimen "), len(first))
		case !slices.ContainsFunc(x, func(p []float64) bool { return floats.Count(math.IsNaN, p) < len(p) }):
			fail("see whether the columns are those of the coordinates, or leave it out", "all landmarks are missing")
		}
		for l, p := range x {
			switch c, bad := lists.NotFinite(p); {
			case len(p) != 2 && len(p) != 3 && (d == nil || !d.Flat):
				fail("give it 2 or 3", "landmark %s has %d coordinates", d.called(l), len(p))
			case len(p) != len(first[0]):
				fail("give all landmarks as many", "landmark %s has %d coordinates, but landmark %s of %s has %d", d.called(l), len(p), d.called(0),
					strings.TrimPrefix(d.specimen(0), "specimen "), len(first[0]))
			case mayLack && floats.Count(math.IsNaN, p) == len(p):
				lacking[i] = append(lacking[i], l)
			case mayLack && bad && math.IsNaN(p[c]):
				fail("let all its coordinates be NaN, or none", "landmark %s is %v: a landmark is missing as a whole or not at all", d.called(l), p)
			case bad && math.IsNaN(p[c]):
				fail("leave the landmark or the specimen out, or estimate it (in Go by Complete)",
					"landmark %s is missing (%s is NaN)", d.called(l), d.axis(c))
			case bad:
				fail("correct it, or write NA if it is missing", "landmark %s: %s is infinite", d.called(l), d.axis(c))
			}
			try.Do(try.Name(d.checkCode(l, p), "%s", d.specimen(i)))
		}
	}
	return len(first), len(first[0]), lacking
}

// specimen calls specimen i in an error.
func (d *Dataset) specimen(i int) string {
	if d == nil {
		return fmt.Sprint("shape ", i)
	}
	return fmt.Sprintf("specimen %q", d.Specimens[i].Name)
}

// called calls landmark l in an error.
func (d *Dataset) called(l int) string {
	if d == nil {
		return strconv.Itoa(l)
	}
	return d.Landmark(l)
}

// axis names coordinate c.
func (d *Dataset) axis(c int) string {
	if d != nil && d.Flat {
		return fmt.Sprintf("coordinate %d", c)
	}
	return text.Axis(c)
}

// clipped is a name for a message, without quotation marks as long as it is short.
func clipped(name string) string {
	if len(name) > 40 {
		return text.Clip(name)
	}
	return name
}

// fewValues are the distinct whole numbers, at most, by which people number categories.
const fewValues = 10

// Variable is what a column of the data set is taken for.
type Variable struct {
	Name       string
	Categories bool     // and not numbers
	Doubt      bool     // the values are few whole numbers, which may be either
	Values     []string // the distinct ones in the order of the specimens
}

// String says what the column is taken for, and how to ask for the other kind.
func (r *Variable) String() string {
	what, other, ask := "numbers", "categories", "factor"
	if r.Categories {
		what, other, ask = "categories", "numbers", "number"
	}
	return fmt.Sprintf("%s has the values %s and is taken for %s; %s(%s) takes it for %s", r.Name, text.Listed(r.Values), what, ask, r.Name, other)
}

// Variable says what a column is taken for: "group" for categories, one of numbers for these, and any other one for categories. It is an error if
// most values are numbers and others are not, with these cells, if all specimens have one value, or if there is no such column.
func (d *Dataset) Variable(name string) (_ *Variable, err error) {
	defer try.Catch(&err)
	column := try.Get(d.Column(name))
	r := &Variable{Name: name, Doubt: true}
	var cells, names []string
	numbers := 0
	for i, value := range column {
		v, err := files.Number(value)
		if err != nil || math.IsNaN(v) {
			cells, names = append(cells, fmt.Sprintf("%s has %s", text.Clip(d.Specimens[i].Name), text.Clip(value))), append(names, d.Specimens[i].Name)
		} else {
			numbers++
		}
		r.Doubt = r.Doubt && v == math.Trunc(v)
		if !slices.Contains(r.Values, value) && len(r.Values) <= fewValues {
			r.Values = append(r.Values, value)
		}
	}
	r.Doubt = r.Doubt && cells == nil && len(r.Values) <= fewValues && 2*len(r.Values) <= len(column)
	switch {
	case len(r.Values) == 1 && len(column) > 1 && r.Values[0] != "":
		return nil, text.Advise("leave it out of the model", "%s is %s in all specimens, so that it explains nothing", name, text.Clip(r.Values[0]))
	case name == "group":
		r.Categories = true
	case 2*numbers > len(column) && cells != nil:
		return nil, text.Advise(fmt.Sprintf("correct the cells, or leave the specimens out (--without %s); factor(%s) takes all values for categories",
			quoted(strings.Join(names, "; ")), name),
			"most values of %s are numbers, but %s", name, text.Listed(cells))
	case cells != nil:
		r.Categories = true
	}
	return r, nil
}

// Landmark is what the user calls landmark l: its label, or else its number, which counts from 0 if the file does (FromZero) and else from 1. All
// messages, tables, figures and options call landmarks so; ParseLandmarks reads it.
func (d *Dataset) Landmark(l int) string { return (*files.Data)(d).Landmark(l) }

// Called is "landmark 3" or "landmarks F-3 and F-8".
func (d *Dataset) Called(landmarks ...int) string {
	names := lists.Each(landmarks, d.Landmark)
	switch last := len(names) - 1; {
	case last == 0:
		return "landmark " + names[0]
	case last < 20:
		return "landmarks " + strings.Join(names[:last], ", ") + " and " + names[last]
	}
	return "landmarks " + text.Listed(names)
}

// Counting says how Landmark calls the landmarks.
func (d *Dataset) Counting() string {
	switch {
	case d.Labels != nil && slices.ContainsFunc(d.Labels, func(s string) bool { return !files.WholeNumber.MatchString(s) }):
		return "landmarks have their labels"
	case d.Labels != nil:
		return "landmarks have the numbers that they had before some were left out"
	case d.FromZero:
		return "landmarks are counted from 0, as in the file"
	}
	return "landmarks are counted from 1"
}

// ParseLandmarks reads names and ranges of landmarks, such as "1-5, 8" or "nasion, F-3", as Landmark calls them. Where landmarks have labels, numbers
// from 1 stand for them too. The last one may be the first again. It is an error, which says how they are called, if there is no such landmark.
func (d *Dataset) ParseLandmarks(line string) (out []int, err error) {
	if len(d.Specimens) == 0 {
		return nil, d.empty()
	}
	n := len(d.Specimens[0].Points)
	for rest := strings.TrimLeft(line, ", \t"); rest != ""; rest = strings.TrimLeft(rest, ", \t") {
		word := rest
		from, after := d.takeLandmark(rest, n)
		to := from
		rest = strings.TrimLeft(after, " \t")
		if second := strings.TrimLeft(rest, "-–"); from >= 0 && second != rest {
			to, rest = d.takeLandmark(strings.TrimLeft(second, " \t"), n)
		}
		switch {
		case from < 0 || to < 0:
			return nil, text.Advise(fmt.Sprintf("write them with commas between, and ranges as %s-%s", d.Landmark(0), d.Landmark(min(4, n-1))),
				"no landmark is called as %s begins: landmarks are %s to %s; %s", text.Clip(word), d.Landmark(0), d.Landmark(n-1), d.Counting())
		case to < from:
			return nil, text.Advise("write the one that comes first in the file first", "%s is no range of landmarks", text.Clip(word))
		case len(out)+to-from > n:
			return nil, text.Advise("name each once", "%s is one landmark too many: some are named twice", text.Clip(word))
		}
		for l := from; l <= to; l++ {
			out = append(out, l)
		}
	}
	return out, nil
}

// ParseLink reads two landmarks with a dash between, such as "1-2" or "F-3-F-8".
func (d *Dataset) ParseLink(link string) (from, to int, err error) {
	if len(d.Specimens) == 0 || len(d.Specimens[0].Points) == 0 {
		return 0, 0, d.empty()
	}
	n := len(d.Specimens[0].Points)
	from, rest := d.takeLandmark(strings.TrimSpace(link), n)
	second := strings.TrimLeft(rest, "-– \t")
	to, after := d.takeLandmark(second, n)
	if from < 0 || to < 0 || second == rest || after != "" {
		return 0, 0, text.Advise(fmt.Sprintf("write two landmarks of %s to %s, as %[1]s-%[3]s", d.Landmark(0), d.Landmark(n-1), d.Landmark(1)),
			"it does not join two landmarks; %s", d.Counting())
	}
	return from, to, nil
}

// takeLandmark is the landmark whose name a line begins with, −1 if none of n, and what follows. Of two labels that fit it takes the longer one.
func (d *Dataset) takeLandmark(line string, n int) (landmark int, after string) {
	ends := func(s string) bool {
		return s == "" || strings.ContainsAny(s[:1], ", \t-") || strings.HasPrefix(s, "–")
	}
	landmark = -1
	length, numbered := 0, false
	for l, label := range d.Labels {
		if after, is := strings.CutPrefix(line, label); is && len(label) > length && ends(after) {
			landmark, length = l, len(label)
		}
		numbered = numbered || files.WholeNumber.MatchString(label)
	}
	if length == 0 && !numbered {
		for length < len(line) && '0' <= line[length] && line[length] <= '9' {
			length++
		}
		number, err := strconv.Atoi(line[:length])
		if !d.FromZero {
			number--
		}
		if err == nil && number >= 0 && number < n && ends(line[length:]) {
			landmark = number
		}
	}
	return landmark, line[length:]
}

// empty is the error of a data set without specimens.
func (d *Dataset) empty() error {
	return fmt.Errorf("%s: %w", d.Name, text.Advise("see what was left out", "no specimens"))
}
