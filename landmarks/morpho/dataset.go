package morpho

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

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
	Measured  bool     // landmarks in unlikely places are there: none is taken for a code of a missing one (see Complete)
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
	advice := "there are: " + listNames(names)
	if like := nearest(name, names[:min(len(names), 1000)]); like != "" {
		advice = "perhaps " + text.Clip(like) + "; " + advice
	}
	return fmt.Errorf("%s: %w", d.Name, text.Advise(advice, "no %s %s", what, text.Clip(name)))
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
		return d.empty()
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
		if err := d.allMissing(i, s.Points); err != nil {
			return err
		}
		for l, p := range s.Points {
			if len(p) != 2 && len(p) != 3 {
				return fail("give it 2 or 3", "landmark %s has %d coordinates", d.Landmark(l), len(p))
			}
			if len(p) != len(first.Points[0]) {
				return fail("give all landmarks as many",
					"landmark %s has %d coordinates, but landmark %s of %q has %d", d.Landmark(l), len(p), d.Landmark(0), first.Name, len(first.Points[0]))
			}
			for c, v := range p {
				switch {
				case math.IsNaN(v):
					return fail("leave the landmark or the specimen out, or estimate it (in Go by Complete)",
						"landmark %s is missing (%s is NaN)", d.Landmark(l), axis(c))
				case math.IsInf(v, 0):
					return fail("correct it, or write NA if it is missing", "landmark %s: %s is infinite", d.Landmark(l), axis(c))
				}
			}
		}
	}
	return nil
}

// allMissing is the error of specimen i if it has no landmark.
func (d *Dataset) allMissing(i int, points [][]float64) error {
	if slices.ContainsFunc(points, func(p []float64) bool { return slices.ContainsFunc(p, func(v float64) bool { return !math.IsNaN(v) }) }) {
		return nil
	}
	return fmt.Errorf("%s: %s: %w", d.Name, d.specimen(i), text.Advise("see whether the columns are those of the coordinates, or leave it out", "all landmarks are missing"))
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
	d.numberRepeats()
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

// numberRepeats puts numbers behind names that several specimens have.
func (d *Dataset) numberRepeats() {
	count, seen := map[string]int{}, map[string]int{}
	for _, s := range d.Specimens {
		count[s.Name]++
	}
	for i := range d.Specimens {
		s := &d.Specimens[i]
		name := s.Name
		if count[name] == 1 {
			continue
		}
		if seen[name]++; seen[name] == 1 {
			d.note("%d specimens are called %s: they have the names %s to %s", count[name], text.Clip(name), text.Clip(repeated(name, 1)), text.Clip(repeated(name, count[name])))
		}
		s.Name = repeated(name, seen[name])
	}
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
