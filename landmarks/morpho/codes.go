package morpho

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/shape"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/text"
	"anatomy/landmarks/morpho/files"
)

// Missing returns a copy in which the landmarks that a program marked as missing by a code are: those all of whose coordinates are the
// code, such as −999, become NaN. It is an error if no landmark is at the code, as after a scale (SCALE= of a TPS file, Scale) that has
// multiplied an unusual one: what is missing would be taken for coordinates.
func (d *Dataset) Missing(code float64) (*Dataset, error) {
	out := d.Scale(1)
	out.Unit = d.Unit
	found := false
	for _, s := range out.Specimens {
		for _, p := range s.Points {
			if files.IsCode(p, code) {
				found = true
				for c := range p {
					p[c] = math.NaN()
				}
			}
		}
	}
	if !found {
		return nil, fmt.Errorf("%s: %w", d.Name,
			text.Advise("leave the call out if none is missing; else give the code that the landmarks have now, after scaling",
				"no landmark is at %g", code))
	}
	return out, nil
}

// checkCode returns an error where a landmark is at a usual code of a missing one.
func (d *Dataset) checkCode(l int, point []float64) error {
	if !files.AtCode(point) || d != nil && d.Flat { // whose numbers mean nothing else
		return nil
	}
	return text.Advise(fmt.Sprintf("write NA in the file, or name the code (--missing %g; in Go Missing or Complete)", point[0]),
		"landmark %s is at %v, by which many programs mark a missing one", d.called(l), point)
}

// CheckCodes returns an error where all coordinates of a landmark are a usual code of a missing one (−999, −9999, −99999, 9999), which
// would be taken for its place.
func (d *Dataset) CheckCodes() error {
	for i, s := range d.Specimens {
		for l, p := range s.Points {
			if err := d.checkCode(l, p); err != nil {
				return fmt.Errorf("%s: %s: %w", d.Name, d.specimen(i), err)
			}
		}
	}
	return nil
}

const (
	outlying  = 10   // median distances of landmarks from their middle: no landmark of an anatomy is farther out where those of others are not
	misplaced = 25   // times the usual squared deviation of a landmark is too far off for a place that several specimens share
	offPlace  = 0.25 // of the mean square distance of landmarks from the centroid: nearer to its place a landmark is no code
	judges    = 200  // specimens, at most, that say where landmarks usually are
	unlikely  = 0.2  // of the specimens: a landmark that more of them lack is estimated from too few
)

// place is landmark l of specimen i.
type place struct{ i, l int }

// Coded lists the landmarks that stand where a program writes those that are missing: all coordinates are a usual code (see CheckCodes), or the
// landmark is ten times farther out than the others, or at the very coordinates of other specimens and out of its place in them. Landmarks that are
// so in more than half of the specimens are not meant. Where the data are Measured there are none.
func (d *Dataset) Coded() (found []Finding) {
	if d.Measured || len(d.Specimens) == 0 {
		return nil
	}
	at := map[string][]place{} // by coordinates
	take := func(p place) { key := fmt.Sprint(d.Specimens[p.i].Points[p.l]); at[key] = append(at[key], p) }
	outer := map[int][]place{} // by landmark
	for i, s := range d.Specimens {
		if len(s.Points) == 0 {
			continue
		}
		radii := radiiOf(s.Points)
		median := quantile(radii, 0.5)
		for l, p := range s.Points {
			if files.AtCode(p) {
				take(place{i, l})
			} else if radii[l] > outlying*median && median > 0 {
				outer[l] = append(outer[l], place{i, l})
			}
		}
	}
	for _, places := range outer {
		if 2*len(places) <= len(d.Specimens) {
			for _, p := range places {
				take(p)
			}
		}
	}
	for _, p := range d.misplacedTogether(at) {
		take(p)
	}
	for _, key := range slices.Sorted(maps.Keys(at)) {
		names := lists.Distinct(lists.Each(at[key], func(p place) string { return d.Specimens[p.i].Name }))
		landmarks := lists.Distinct(lists.Each(at[key], func(p place) int { return p.l }))
		slices.Sort(landmarks)
		verb := []string{"is", "are"}[min(len(landmarks)-1, 1)]
		point := strings.NewReplacer("[", "(", "]", ")", " ", ", ", "-", "−").Replace(key)
		found = append(found,
			Finding{Specimen: text.Listed(names), All: names, Index: -1, Fault: Coded, Landmarks: landmarks, Severity: float64(len(names)),
				About:  fmt.Sprintf("%s %s at %s", d.Called(landmarks...), verb, point),
				advice: "taken for a code of missing landmarks, and not used (--measured takes such landmarks as they are)", places: at[key]})
	}
	return found
}

// radiiOf are the distances of the landmarks that are there from the medians of their coordinates, 0 for others.
func radiiOf(x [][]float64) []float64 {
	radii := make([]float64, len(x))
	var centre []float64
	for c := 0; len(x) > 0 && c < len(x[0]); c++ {
		var column []float64
		for _, p := range x {
			if c < len(p) && !math.IsNaN(p[c]) {
				column = append(column, p[c])
			}
		}
		if len(column) == 0 {
			return radii
		}
		centre = append(centre, quantile(column, 0.5))
	}
	for l, p := range x {
		if len(p) == len(centre) && !floats.HasNaN(p) {
			radii[l] = floats.Distance(p, centre, 2)
		}
	}
	return radii
}

// misplacedTogether are the places whose coordinates two specimens or more share, not more than half of them, and which are out of place in two of
// these, other than those known already. The nearest half of the specimens says where landmarks usually are.
func (d *Dataset) misplacedTogether(known map[string][]place) (out []place) {
	shared := d.sharedPlaces(known)
	if len(shared) == 0 {
		return nil
	}
	var whole []shape.Shape
	for _, s := range d.Specimens {
		if len(whole) < judges && !slices.ContainsFunc(s.Points, func(p []float64) bool { return floats.HasNaN(p) || files.AtCode(p) }) {
			whole = append(whole, s.Points)
		}
	}
	var mean shape.Shape
	if try.Run(func() { mean = unnamed.coreMean(whole) }) != nil || len(whole) < 3 {
		return nil // Inspect says why
	}
	squares := make([][]float64, len(mean))
	for _, x := range whole {
		t, err := FitSimilarity(x, mean)
		if err != nil {
			return nil
		}
		for l, p := range t.Apply(x) {
			squares[l] = append(squares[l], squaredDistance(p, mean[l]))
		}
	}
	for _, places := range shared {
		var wrong []place
		for _, p := range places {
			x := d.Specimens[p.i].Points
			if d.copied(p, places) {
				continue
			}
			var without []int
			for l := range x {
				if floats.HasNaN(x[l]) || files.AtCode(x[l]) || slices.Contains(places, place{p.i, l}) {
					without = append(without, l)
				}
			}
			t, err := FitSimilarity(dropped(x, without), dropped(mean, without))
			if err != nil {
				continue
			}
			off := squaredDistance(t.Apply(x[p.l : p.l+1])[0], mean[p.l])
			if off > misplaced*quantile(squares[p.l], 0.5) && off > offPlace/float64(len(mean)) {
				wrong = append(wrong, p)
			}
		}
		if slices.ContainsFunc(wrong, func(p place) bool { return p.i != wrong[0].i }) {
			out = append(out, wrong...)
		}
	}
	return out
}

// copied says whether the specimen of a place has most of its landmarks where another one of these places has them: it is a copy.
func (d *Dataset) copied(p place, places []place) bool {
	x := d.Specimens[p.i].Points
	return slices.ContainsFunc(places, func(q place) bool {
		same := 0
		for l, point := range d.Specimens[q.i].Points {
			if q.i != p.i && l < len(x) && slices.Equal(point, x[l]) {
				same++
			}
		}
		return 2*same > len(x)
	})
}

// sharedPlaces are the places whose coordinates two specimens or more share, and not more than half of them.
func (d *Dataset) sharedPlaces(known map[string][]place) (shared [][]place) {
	type key [3]float64
	keyOf := func(p []float64) (k key, ok bool) {
		copy(k[:], p)
		return k, !floats.HasNaN(p) && !files.AtCode(p)
	}
	first, again := map[key]place{}, map[key][]place{}
	for i, s := range d.Specimens {
		for l, p := range s.Points {
			k, ok := keyOf(p)
			if earlier, taken := first[k]; ok && !taken {
				first[k] = place{i, l}
			} else if ok && (earlier.i != i || again[k] != nil) {
				if again[k] == nil {
					again[k] = []place{earlier}
				}
				again[k] = append(again[k], place{i, l})
			}
		}
	}
	for _, places := range again {
		if p := places[0]; known[fmt.Sprint(d.Specimens[p.i].Points[p.l])] == nil && 2*len(places) <= len(d.Specimens) {
			shared = append(shared, places)
		}
	}
	slices.SortFunc(shared, func(a, b []place) int { return cmp.Or(a[0].i-b[0].i, a[0].l-b[0].l) })
	return shared
}

// Complete returns the data set as analyses take it: landmarks at a code of a missing one (Coded) are missing, and missing ones are estimated
// (EstimateMissing). Notes say so, and which landmarks are estimated in more than a fifth of the specimens. Data without any are returned as they
// are. It has the errors of EstimateMissing.
func (d *Dataset) Complete() (_ *Dataset, err error) {
	defer try.Catch(&err)
	if d.Flat {
		return d, nil
	}
	out := *d
	out.Specimens = slices.Clone(d.Specimens)
	for _, f := range d.Coded() {
		for _, p := range f.places {
			s := &out.Specimens[p.i]
			s.Points = slices.Clone(s.Points)
			s.Points[p.l] = slices.Repeat([]float64{math.NaN()}, len(s.Points[p.l]))
		}
		out.note("%s", f)
	}
	lacking := map[int]int{}
	for _, s := range out.Specimens {
		for l, p := range s.Points {
			if floats.HasNaN(p) {
				lacking[l]++
			}
		}
	}
	if len(lacking) == 0 {
		return d, nil
	}
	shapes, err := d.estimateMissing(out.Shapes())
	try.Do(try.Name(err, "%s", d.Name))
	for i := range shapes {
		out.Specimens[i].Points = shapes[i]
	}
	for _, l := range slices.Sorted(maps.Keys(lacking)) {
		if n := lacking[l]; float64(n) > unlikely*float64(len(shapes)) {
			out.note("%s is estimated in %d of %d specimens, which can make groups alike; --without-landmarks %s leaves it out",
				d.Called(l), n, len(shapes), quoted(d.Landmark(l)))
		}
	}
	return &out, nil
}
