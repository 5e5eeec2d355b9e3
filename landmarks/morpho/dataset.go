package morpho

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"anatomy/internal/input"
	"anatomy/landmarks/internal/text"
)

// Specimen is one shape of a Dataset: n landmarks in 2 or 3 coordinates.
type Specimen struct {
	Name   string
	Group  string      // sex, treatment, species, …; empty where there is none
	Points [][]float64 // [n][2 or 3]; the coordinates of a missing landmark are NaN

	Covariates map[string]string // what else is known, by name: species, site, age, …; see Dataset.Column and Dataset.Numbers
}

// Dataset holds shapes whose landmarks correspond: landmark i of one specimen is landmark i of every other.
// Landmarks are counted from 0 everywhere, as in Points, in messages and in files that the package writes.
type Dataset struct {
	Name      string   // short title, or the base name of the file or folder read
	Unit      string   // unit of the coordinates, such as "mm"; empty if not known
	Source    string   // citation, or the path of the file or folder read
	Unscaled  bool     // lengths of one specimen are not those of another: there are no sizes
	Closed    bool     // the landmarks follow a closed outline, the last joined to the first
	Labels    []string // of the landmarks, in their order; nil if not known
	Curves    [][2]int // landmarks that are points of curves, in their order: from, and to before; nil if not known
	Links     [][2]int // pairs of landmarks that lines join in figures; nil if not known
	Sliders   [][3]int // semi-landmarks between the two landmarks along whose line they slide: before, sliding, after; nil if not known
	Specimens []Specimen
	Notes     []string // what a reader passed over or took for granted, and what was done to the data since, in words
}

// noteEnd notes that a file whose format does not say how long it is may have been cut off.
func (d *Dataset) noteEnd(in *text.Reader) {
	if in.Unended {
		d.note("the last line has no line break: if the file was cut off, its end is missing")
	}
}

// noteEncoding notes that a file was no UTF-8.
func (d *Dataset) noteEncoding(in *text.Reader) {
	if in.Windows {
		d.note("the text is no UTF-8: it was taken for Windows-1252")
	}
}

func (d *Dataset) note(format string, args ...any) {
	d.Notes = append(slices.Clip(d.Notes), fmt.Sprintf(format, args...)) // copies of a data set share them
}

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
		var words []string
		count := map[string]int{}
		for _, s := range d.Specimens {
			count[s.Group]++
		}
		for _, g := range groups {
			words = append(words, fmt.Sprintf("%s (%d)", clipped(g), count[g]))
		}
		about += "; groups " + listed(words)
	}
	if names := d.Covariates(); len(names) > 0 {
		for i := range names {
			names[i] = clipped(names[i])
		}
		about += "; covariates " + listed(names)
	}
	return about
}

// Names returns the names of the specimens in order.
func (d *Dataset) Names() []string {
	names := make([]string, len(d.Specimens))
	for i, s := range d.Specimens {
		names[i] = s.Name
	}
	return names
}

// Find returns the points of the specimen called name (not a copy).
// It is an error if there is none or more than one.
func (d *Dataset) Find(name string) ([][]float64, error) {
	var found [][]float64
	count := 0
	for _, s := range d.Specimens {
		if s.Name == name {
			found = s.Points
			count++
		}
	}
	switch count {
	case 0:
		return nil, d.none("specimen", name, d.Names())
	case 1:
		return found, nil
	}
	return nil, fmt.Errorf("%s: %w", d.Name, text.Advise("take them from Specimens by number", "%d specimens are called %q", count, name))
}

// none is the error of a name that is not there.
func (d *Dataset) none(what, name string, names []string) error {
	return fmt.Errorf("%s: %w", d.Name, text.Advise("there are: "+listNames(names), "no %s %s", what, text.Clip(name)))
}

// Shape is Find for a notebook: it panics with Find's error, which lists the names that there are.
func (d *Dataset) Shape(name string) [][]float64 {
	points, err := d.Find(name)
	if err != nil {
		panic(err)
	}
	return points
}

// Shapes returns the points of every specimen in order (not copies).
func (d *Dataset) Shapes() [][][]float64 {
	shapes := make([][][]float64, len(d.Specimens))
	for i, s := range d.Specimens {
		shapes[i] = s.Points
	}
	return shapes
}

// Groups returns the distinct groups in order of appearance.
func (d *Dataset) Groups() []string {
	var groups []string
	seen := map[string]bool{}
	for _, s := range d.Specimens {
		if !seen[s.Group] {
			groups = append(groups, s.Group)
		}
		seen[s.Group] = true
	}
	return groups
}

// Group returns the specimens of group g as a data set of its own; the points are shared.
// It panics, listing the groups that there are, if no specimen belongs to g.
func (d *Dataset) Group(g string) *Dataset {
	out := *d
	out.Specimens = nil
	for _, s := range d.Specimens {
		if s.Group == g {
			out.Specimens = append(out.Specimens, s)
		}
	}
	if len(out.Specimens) == 0 {
		panic(d.none("group", g, d.Groups()))
	}
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

// Numbers is Column for a covariate that is a number, such as an age; NaN where it is not known.
func (d *Dataset) Numbers(name string) ([]float64, error) {
	column, err := d.Column(name)
	if err != nil {
		return nil, err
	}
	numbers := make([]float64, len(column))
	for i, value := range column {
		if numbers[i], err = parseCoordinate(value); err != nil {
			return nil, fmt.Errorf("%s: specimen %q: %s is no number: %w", d.Name, d.Specimens[i].Name, name, err)
		}
	}
	return numbers, nil
}

// Covariates returns the names of the covariates in alphabetical order.
func (d *Dataset) Covariates() []string {
	names := map[string]bool{}
	for _, s := range d.Specimens {
		for name := range s.Covariates {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// sizes matches the titles of columns that are likely to hold sizes.
var sizes = regexp.MustCompile(`(?i)size|length|mass|weight|^(cs|svl|sl|tl)$`)

// LogSizes returns the logarithms of the centroid sizes. It is an error if the shapes were scaled to one size before, so that only rounding or
// the method of scaling is left of them.
func (d *Dataset) LogSizes() ([]float64, error) {
	if len(d.Specimens) == 0 {
		return nil, fmt.Errorf("%s: %w", d.Name, text.Advise("see what was left out", "no specimens"))
	}
	if d.Unscaled {
		return nil, fmt.Errorf("%s: %w", d.Name, text.Advise("give each a scale, or leave size out of the model", "some specimens have no scale, so there are no sizes"))
	}
	sizes := make([]float64, len(d.Specimens))
	for i, s := range d.Specimens {
		if len(s.Points) == 0 {
			return nil, fmt.Errorf("%s: %s: %w", d.Name, d.specimen(i), text.Advise("digitise it, or leave it out", "no landmarks"))
		}
		sizes[i] = math.Log(CentroidSize(s.Points))
	}
	least, most := slices.Min(sizes), slices.Max(sizes)
	if math.Max(-least, most) < 0.01 || most-least < 1e-6 {
		return nil, text.Advise(d.unscaled(), "centroid sizes are from %.6g to %.6g: the shapes were scaled to one size", math.Exp(least), math.Exp(most))
	}
	return sizes, nil
}

// unscaled advises where the sizes are that shapes had before they were scaled.
func (d *Dataset) unscaled() string {
	for _, name := range d.Covariates() {
		if values, err := d.Numbers(name); err == nil && sizes.MatchString(name) && !slices.ContainsFunc(values, math.IsNaN) {
			return fmt.Sprintf("the covariate %[1]q may hold their sizes before: use linear.Covariate(%[1]q)", name)
		}
	}
	return "read their sizes before as a covariate, and use linear.Covariate with its name"
}

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

// Missing returns a copy in which the landmarks that a program marked as missing by a code are: those all of whose coordinates are the
// code, such as −999, become NaN. It panics if no landmark is at the code, as after a scale (SCALE= of a TPS file, Scale) that has
// multiplied an unusual one: what is missing would be taken for coordinates.
func (d *Dataset) Missing(code float64) *Dataset {
	out, err := d.MissingAt(code)
	if err != nil {
		panic(err)
	}
	return out
}

// MissingAt is Missing with an error in place of its panic.
func (d *Dataset) MissingAt(code float64) (*Dataset, error) {
	out := d.Scale(1)
	out.Unit = d.Unit
	found := false
	for _, s := range out.Specimens {
		for _, p := range s.Points {
			if isCode(p, code) {
				found = true
				for c := range p {
					p[c] = math.NaN()
				}
			}
		}
	}
	if !found {
		return nil, fmt.Errorf("%s: %w", d.Name, text.Advise("leave the call out if none is missing; else give the code that the landmarks have now, after scaling",
			"no landmark is at %g", code))
	}
	return out, nil
}

func isCode(point []float64, code float64) bool {
	return len(point) > 0 && !slices.ContainsFunc(point, func(v float64) bool { return v != code })
}

// codes of missing landmarks in the files of many programs.
var codes = []float64{-999, -9999, -99999, 9999}

func atCode(point []float64) bool {
	return slices.ContainsFunc(codes, func(code float64) bool { return isCode(point, code) })
}

// checkCode returns an error where landmark l is at a usual code of a missing one.
func checkCode(l int, point []float64) error {
	if !atCode(point) {
		return nil
	}
	return text.Advise(fmt.Sprintf("write NA in the file, or call Missing(%g)", point[0]),
		"landmark %d is at %v, by which many programs mark a missing one", l, point)
}

// CheckCodes returns an error where all coordinates of a landmark are a usual code of a missing one (−999, −9999, −99999, 9999), which
// would be taken for its place.
func (d *Dataset) CheckCodes() error {
	for _, s := range d.Specimens {
		for l, p := range s.Points {
			if err := checkCode(l, p); err != nil {
				return fmt.Errorf("%s: specimen %q: %w", d.Name, s.Name, err)
			}
		}
	}
	return nil
}

// Without returns the data set without the specimens of these names; the points are shared. It panics, listing the names that
// there are, if one is not there.
func (d *Dataset) Without(names ...string) *Dataset {
	out := *d
	out.Specimens = nil
	for _, name := range names {
		if !slices.Contains(d.Names(), name) {
			panic(d.none("specimen", name, d.Names()))
		}
	}
	for _, s := range d.Specimens {
		if !slices.Contains(names, s.Name) {
			out.Specimens = append(out.Specimens, s)
		}
	}
	return &out
}

// WithoutLandmarks returns the data set without the landmarks of these numbers; those behind them are counted anew, and Notes say so. The
// coordinates are shared. It panics if a specimen has no such landmark.
func (d *Dataset) WithoutLandmarks(landmarks ...int) *Dataset {
	if len(landmarks) == 0 {
		return d
	}
	out := *d
	out.Specimens = slices.Clone(d.Specimens)
	for i, s := range d.Specimens {
		for _, l := range landmarks {
			if l < 0 || l >= len(s.Points) {
				panic(fmt.Errorf("%s: %w", d.Name, text.Advise(fmt.Sprintf("it has %d, counted from 0", len(s.Points)),
					"%s has no landmark %d", d.specimen(i), l)))
			}
		}
		out.Specimens[i].Points = dropped(s.Points, landmarks)
	}
	out.Labels, out.Curves = dropped(d.Labels, landmarks), nil
	out.dropChains(landmarks)
	sorted := slices.Compact(slices.Sorted(slices.Values(landmarks)))
	out.note("left out, so that the landmarks behind them are counted anew: landmarks %v", sorted)
	return &out
}

// dropped returns x without the elements of these numbers.
func dropped[E any](x []E, numbers []int) (out []E) {
	for i, e := range x {
		if !slices.Contains(numbers, i) {
			out = append(out, e)
		}
	}
	return out
}

// Distinct returns the data set without landmarks that coincide with an earlier one in every specimen of these names, of all where none are
// given; Notes say which. No deformation parts such landmarks or brings them together, so that the manifold of landmarks has no exact
// geodesics to and from these shapes. It panics, listing the names that there are, if one is not there.
func (d *Dataset) Distinct(names ...string) *Dataset {
	shapes := d.Shapes()
	where := "every specimen"
	if len(names) > 0 {
		where = listed(names)
		shapes = nil
		for _, name := range names {
			shapes = append(shapes, d.Shape(name))
		}
	}
	out := *d
	var second []int
	for _, pair := range coincident(shapes...) {
		out.note("landmark %d coincides with %d in %s: it is left out", pair[1], pair[0], where)
		second = append(second, pair[1])
	}
	return out.WithoutLandmarks(second...)
}

// coincident returns the pairs of landmarks that are in one place in each of the shapes: every landmark that stands where an earlier one
// does, with the first of these. Missing landmarks are nowhere.
func coincident(shapes ...[][]float64) (pairs [][2]int) {
	if len(shapes) == 0 {
		return nil
	}
	first := map[string]int{} // landmark in its places in all shapes
	for l := range shapes[0] {
		var place []byte
		missing := false
		for _, x := range shapes {
			missing = missing || l >= len(x) || slices.ContainsFunc(x[l], math.IsNaN)
			for c := 0; !missing && c < len(x[l]); c++ {
				place = binary.LittleEndian.AppendUint64(place, math.Float64bits(x[l][c]+0)) // −0 is 0
			}
		}
		if missing {
			continue
		}
		if earlier, taken := first[string(place)]; taken {
			pairs = append(pairs, [2]int{earlier, l})
		} else {
			first[string(place)] = l
		}
	}
	return pairs
}

// Scale returns a copy with every coordinate multiplied by f, but for landmarks at a usual code of a missing one, which stay as they are
// (see CheckCodes). Its Unit is empty: the numbers no longer count the old one.
func (d *Dataset) Scale(f float64) *Dataset {
	out := *d
	out.Unit = ""
	out.Specimens = slices.Clone(d.Specimens)
	for i, s := range d.Specimens {
		points := make([][]float64, len(s.Points))
		for j, p := range s.Points {
			points[j] = slices.Clone(p)
			scalePoint(points[j], f)
		}
		out.Specimens[i].Points = points
	}
	return &out
}

// scalePoint multiplies the coordinates of a landmark. A usual code of a missing one stays: multiplied, nothing could tell it from
// coordinates.
func scalePoint(p []float64, f float64) {
	if !atCode(p) {
		floats.Scale(f, p)
	}
}

// Spacing returns the mean over the specimens of MeanSpacing: the natural length for the width of a kernel.
// It is NaN if a landmark is missing.
func (d *Dataset) Spacing() float64 {
	sum := 0.0
	for _, s := range d.Specimens {
		sum += MeanSpacing(s.Points, d.Closed)
	}
	return sum / float64(len(d.Specimens))
}

// Validate reports the first thing that keeps the shapes of the data set from being compared landmark by landmark:
// no specimens, two of one name, counts or dimensions that differ, missing or infinite coordinates, landmarks all of whose
// coordinates are −999 or another usual code of a missing one. Landmarks that coincide are no hindrance to most analyses: see Inspect,
// and Distinct for the manifold of landmarks, whose exact geodesics need them apart.
func (d *Dataset) Validate() error {
	if len(d.Specimens) == 0 {
		return fmt.Errorf("%s: %w", d.Name, text.Advise("see what was left out", "no specimens"))
	}
	if err := d.CheckCodes(); err != nil {
		return err
	}
	first := d.Specimens[0]
	numbers := make(map[string]int, len(d.Specimens))
	for i, s := range d.Specimens {
		fail := func(do, format string, args ...any) error {
			return fmt.Errorf("%s: specimen %q: %w", d.Name, s.Name, text.Advise(do, format, args...))
		}
		if j, taken := numbers[s.Name]; taken {
			return fail("give each a name of its own", "specimens %d and %d both have this name", j, i)
		}
		numbers[s.Name] = i
		if len(s.Points) == 0 {
			return fail("digitise it, or leave it out", "no landmarks")
		}
		if len(s.Points) != len(first.Points) {
			return fail("write NA for those that are missing, or leave the specimen out",
				"%d landmarks, but %q has %d", len(s.Points), first.Name, len(first.Points))
		}
		if !slices.ContainsFunc(slices.Concat(s.Points...), func(v float64) bool { return !math.IsNaN(v) }) {
			return fail("see whether the columns are those of the coordinates, or leave it out", "all landmarks are missing")
		}
		for l, p := range s.Points {
			if len(p) != 2 && len(p) != 3 {
				return fail("give it 2 or 3", "landmark %d has %d coordinates", l, len(p))
			}
			if len(p) != len(first.Points[0]) {
				return fail("give all landmarks as many",
					"landmark %d has %d coordinates, but landmark 0 of %q has %d", l, len(p), first.Name, len(first.Points[0]))
			}
			for c, v := range p {
				switch {
				case math.IsNaN(v):
					return fail("drop it from every specimen, drop the specimen, or estimate it by morpho.EstimateMissing",
						"landmark %d is missing (%s is NaN)", l, axis(c))
				case math.IsInf(v, 0):
					return fail("correct it, or write NA if it is missing", "landmark %d: %s is infinite", l, axis(c))
				}
			}
		}
	}
	return nil
}

// specimen calls specimen i in an error.
func (d *Dataset) specimen(i int) string { return fmt.Sprintf("specimen %q", d.Specimens[i].Name) }

// axis names coordinate c.
func axis(c int) string { return "xyz"[c : c+1] }

// listNames joins names in quotes for a message.
func listNames(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = text.Clip(n)
	}
	return listed(quoted)
}

// clipped is a name for a message, without quotation marks as long as it is short.
func clipped(name string) string {
	if len(name) > 40 {
		return text.Clip(name)
	}
	return name
}

// listed joins words, at most twenty of them.
func listed(words []string) string {
	const most = 20
	if len(words) > most {
		return strings.Join(words[:most], ", ") + fmt.Sprintf(", … (%d in all)", len(words))
	}
	return strings.Join(words, ", ")
}

// newDataset starts the data set of the file called source.
func newDataset(source string) *Dataset {
	return &Dataset{Name: filepath.Base(source), Source: source}
}

// numbered gives every specimen without a name its number, counted from 1, as a name.
func (d *Dataset) numbered() *Dataset {
	for i := range d.Specimens {
		if d.Specimens[i].Name == "" {
			d.Specimens[i].Name = fmt.Sprintf("specimen%02d", i+1)
		}
	}
	var odd []string
	look := func(words ...string) {
		for _, word := range words {
			if input.Printable(word) != word {
				odd = append(odd, text.Clip(word))
			}
		}
	}
	for _, s := range d.Specimens {
		look(s.Name, s.Group)
		for _, value := range s.Covariates {
			look(value)
		}
	}
	look(d.Labels...)
	look(d.Covariates()...)
	slices.Sort(odd)
	if odd = slices.Compact(odd); len(odd) > 0 {
		d.note("control characters, or bytes that are no UTF-8, are in names, which pages and pictures show with � in their place: %s", listed(odd))
	}
	return d
}

// checkWritable reports what no text format could hold: names that a line cannot carry, infinite coordinates,
// ragged points. Missing landmarks are fine.
func (d *Dataset) checkWritable() error {
	if len(d.Specimens) == 0 {
		return fmt.Errorf("%s: %w", d.Name, text.Advise("see what was left out", "no specimens to write"))
	}
	for i, s := range d.Specimens {
		if s.Name == "" {
			return fmt.Errorf("%s: %w", d.Name, text.Advise("give it one", "specimen number %d has no name", i))
		}
		for what, word := range map[string]string{"name": s.Name, "group": s.Group} {
			if !fitsInLine(word) {
				return fmt.Errorf("%s: specimen number %d: %w", d.Name, i, text.Advise("remove them",
					"the %s %s has a line break, a NUL or spaces around it, which a file would lose", what, text.Clip(word)))
			}
		}
		for l, p := range s.Points {
			if len(p) != 2 && len(p) != 3 {
				return fmt.Errorf("%s: specimen %q: %w", d.Name, s.Name, text.Advise("give it 2 or 3", "landmark %d has %d coordinates", l, len(p)))
			}
			if len(p) != len(s.Points[0]) {
				return fmt.Errorf("%s: specimen %q: %w", d.Name, s.Name, text.Advise("give all landmarks as many",
					"landmark %d has %d coordinates, landmark 0 has %d", l, len(p), len(s.Points[0])))
			}
			for c, v := range p {
				if math.IsInf(v, 0) {
					return fmt.Errorf("%s: specimen %q: %w", d.Name, s.Name, text.Advise("correct it, or let it be NaN if it is missing",
						"landmark %d: %s is infinite", l, axis(c)))
				}
			}
		}
	}
	return nil
}

// fitsInLine says whether a line of a file gives a word back as it is.
func fitsInLine(word string) bool {
	return !strings.ContainsAny(word, "\r\n\x00") && strings.TrimSpace(word) == word
}

// checkRectangular is checkWritable for the formats that are one array: it also asks for the same count and
// dimension everywhere, and returns them.
func (d *Dataset) checkRectangular() (n, dim int, err error) {
	if err := d.checkWritable(); err != nil {
		return 0, 0, err
	}
	n = len(d.Specimens[0].Points)
	if n == 0 {
		return 0, 0, fmt.Errorf("%s: %w", d.Name, text.Advise("leave it out", "specimen %q has no landmarks", d.Specimens[0].Name))
	}
	dim = len(d.Specimens[0].Points[0])
	for _, s := range d.Specimens {
		if len(s.Points) != n || len(s.Points[0]) != dim {
			return 0, 0, fmt.Errorf("%s: %w", d.Name, text.Advise("write .tps, or let missing landmarks be NaN",
				"specimen %q does not have the %d landmarks in %d dimensions of %q, which this file format asks for", s.Name, n, dim, d.Specimens[0].Name))
		}
	}
	return n, dim, nil
}
