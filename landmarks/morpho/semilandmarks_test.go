package morpho

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/lists"
)

func affine(a [][]float64, shift []float64, points [][]float64) [][]float64 {
	out := make([][]float64, len(points))
	for l, p := range points {
		out[l] = append([]float64{}, shift...)
		for c := range out[l] {
			out[l][c] += floats.Dot(a[c], p)
		}
	}
	return out
}

func scattered(seed uint64, n, dim int) [][]float64 {
	r := rand.New(rand.NewPCG(seed, 1))
	x := lists.Zeros(n, dim)
	for l := range x {
		for c := range x[l] {
			x[l][c] = 100 * r.Float64()
		}
	}
	return x
}

var shears = map[int][][]float64{2: {{1.2, 0.3}, {-0.1, 0.7}}, 3: {{1.2, 0.3, 0.1}, {-0.1, 0.7, 0.2}, {0.4, 0, 0.9}}}

// A thin-plate spline goes through its knots, takes affine maps as they are, without energy, and its energy does not
// depend on place or rotation.
func TestSpline(t *testing.T) {
	for dim, a := range shears {
		x := scattered(1, 9, dim)
		s, err := newSpline(x)
		if err != nil {
			t.Fatal(err)
		}
		y, shift := scattered(2, 9, dim), []float64{5, -3, 2}[:dim]
		expect.Abs(t, "knots", s.warp(y, x), y, 1e-9)
		others := scattered(3, 5, dim)
		expect.Abs(t, "affine", s.warp(affine(a, shift, x), others), affine(a, shift, others), 1e-9)
		b := s.bending()
		expect.Abs(t, "energy of an affine map", bendingEnergy(b, affine(a, shift, x)), 0, 1e-9)
		energy := bendingEnergy(b, y)
		if !(energy > 0) {
			t.Errorf("energy %g", energy)
		}
		turned := Similarity{1, [][]float64{{0, -1}, {1, 0}}, []float64{3, 4}}
		if dim == 3 {
			turned = Similarity{1, [][]float64{{0, -1, 0}, {1, 0, 0}, {0, 0, 1}}, []float64{3, 4, 5}}
		}
		expect.Abs(t, "energy of the turned knots", bendingEnergy(expect.Must(newSpline(turned.Apply(x))).bending(), y)/energy, 1, 1e-9)

		// The energy of knots f times as large is 1/f² in the plane, 1/f in space.
		want := []float64{0, 0, 0.01, 0.1}[dim]
		expect.Abs(t, "energy and size", bendingEnergy(expect.Must(newSpline(Similarity{10, turned.Rotation, turned.Translation}.Apply(x))).bending(), y)/energy, want, 1e-9)
	}
	line := [][]float64{{0, 0}, {1, 1}, {2, 2}, {3, 3}}
	if _, err := newSpline(line); err == nil {
		t.Error("a spline through points on a line")
	}
}

func between(before, point, after int) Semilandmark {
	return Semilandmark{Point: point, Neighbours: []int{before, after}}
}

// comb is fixed landmarks 0, 2, 4, … with a semi-landmark half-way between neighbours.
func comb(dim int) (shape [][]float64, semi []Semilandmark) {
	fixed := scattered(4, 7, dim)
	for i, p := range fixed {
		shape = append(shape, p)
		if i+1 < len(fixed) {
			middle := make([]float64, dim)
			floats.AddScaled(middle, 0.5, p)
			floats.AddScaled(middle, 0.5, fixed[i+1])
			semi = append(semi, between(2*i, 2*i+1, 2*i+2))
			shape = append(shape, middle)
		}
	}
	return shape, semi
}

func displaced(shape [][]float64, semi []Semilandmark, by float64) [][]float64 {
	out := make([][]float64, len(shape))
	copy(out, shape)
	for k, s := range semi {
		f := by * math.Sin(float64(3*k+1))
		out[s.Point] = floats.AddScaledTo(make([]float64, len(shape[0])), shape[s.Point], f, shape[s.Neighbours[1]])
		floats.AddScaled(out[s.Point], -f, shape[s.Neighbours[0]])
	}
	return out
}

// slideOnce slides a shape towards a reference, with which it is aligned for Procrustes distance, in one step.
func slideOnce(x, reference shape.Shape, semilandmarks []Semilandmark, criterion Criterion) (out [][]float64, err error) {
	defer try.Catch(&err)
	unnamed.check([]shape.Shape{x, reference}, false)
	s := newSlider([]shape.Shape{x}, semilandmarks, criterion, nil)
	if s.reference = reference; criterion == BendingEnergy {
		s.bending = bendingOf(reference)
	}
	out, _, _ = s.slide(s.onTheirSupports([]shape.Shape{x})[0])
	return out, nil
}

// Semi-landmarks that were displaced along their tangents go back: by bending energy under any affine map of the
// reference, which has none; by Procrustes distance to the foot of the perpendicular.
func TestSlide(t *testing.T) {
	for dim, a := range shears {
		reference, semi := comb(dim)
		true_ := affine(a, make([]float64, dim), reference)
		got, err := slideOnce(displaced(true_, semi, 0.3), reference, semi, BendingEnergy)
		if err != nil {
			t.Fatal(err)
		}
		expect.Abs(t, "bending energy", got, true_, 1e-8)

		shape := displaced(scattered(5, len(reference), dim), semi, 0)
		got, err = slideOnce(shape, reference, semi, ProcrustesDistance)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range semi {
			u := floats.SubTo(make([]float64, dim), shape[s.Neighbours[1]], shape[s.Neighbours[0]])
			off := floats.SubTo(make([]float64, dim), got[s.Point], reference[s.Point])
			expect.Abs(t, "what is left along the tangent", floats.Dot(u, off)/floats.Norm(u, 2), 0, 1e-9)
			moved := floats.SubTo(make([]float64, dim), got[s.Point], shape[s.Point])
			expect.Abs(t, "the way is along the tangent", math.Abs(floats.Dot(u, moved)), floats.Norm(u, 2)*floats.Norm(moved, 2), 1e-7)
		}
		for l := 0; l < len(shape); l += 2 {
			expect.Abs(t, "fixed landmark", got[l:l+1], shape[l:l+1], 0)
		}
	}
	// A circle slides round itself: the energy leaves that way open.
	var circle [][]float64
	for l := range 12 {
		circle = append(circle, []float64{math.Cos(float64(l) * math.Pi / 6), math.Sin(float64(l) * math.Pi / 6)})
	}
	got, err := slideOnce(circle, circle, Semilandmarks(12, true), BendingEnergy)
	if err != nil {
		t.Fatal(err)
	}
	expect.Abs(t, "circle", got, circle, 1e-9)
}

// Where no place along the tangent bends the spline, semi-landmarks stay: any d + 1 landmarks, or one off a line of the others, are an affine
// image of the reference's.
func TestSlideWithoutBending(t *testing.T) {
	for dim := range shears {
		for seed := range uint64(10) {
			shape := scattered(30+seed, dim+1, dim)
			got := expect.Must(slideOnce(shape, scattered(50+seed, dim+1, dim), []Semilandmark{between(0, 1, 2)}, BendingEnergy))
			expect.Abs(t, "d + 1 landmarks", got, shape, 0)
		}
	}
	for seed := range uint64(10) {
		shape, reference := scattered(30+seed, 6, 2), scattered(50+seed, 6, 2)
		for l, p := range reference[1:] {
			p[0], p[1] = 100+30*float64(l), 70-10*float64(l)
		}
		got := expect.Must(slideOnce(shape, reference, []Semilandmark{between(5, 0, 1)}, BendingEnergy))
		expect.Abs(t, "off the line", got, shape, 0)
	}
}

func TestProcrustesSliding(t *testing.T) {
	// Affine images of one shape, each with semi-landmarks displaced: what slides back has only affine differences, but for what the mean
	// has of the displacements.
	reference, semi := comb(2)
	var shapes []shape.Shape
	for i := range 5 {
		f := float64(i)
		a := [][]float64{{1 + 0.05*f, 0.1 - 0.04*f}, {0.03 * f, 1 - 0.02*f}}
		shapes = append(shapes, displaced(affine(a, []float64{f, -f}, reference), semi, 0.02*f))
	}
	before, err := Procrustes(shapes)
	if err != nil {
		t.Fatal(err)
	}
	bending := expect.Must(newSpline(before.Mean)).bending()
	was := 0.0
	for _, x := range before.Shapes {
		was += bendingEnergy(bending, x)
	}
	for _, share := range []float64{1e-3, 1e-7} { // the second time towards the mean of the slid
		out, err := ProcrustesSliding(shapes, semi, BendingEnergy)
		if err != nil {
			t.Fatal(err)
		}
		if out.Status != solve.Converged {
			t.Errorf("not converged in %d turns", out.Iterations)
		}
		if e := floats.Sum(out.Energies); e > share*was {
			t.Errorf("energy %g, before sliding %g", e, was)
		}
		for i := range shapes {
			expect.Abs(t, "Transforms of Slid", out.Transforms[i].Apply(out.Slid[i]), out.Shapes[i], 1e-12)
		}
		expect.Abs(t, "on straight lines", out.Off, make([]float64, 5), 1e-12)
		shapes = out.Slid
	}

	// Real outlines: fewer tangential differences, landmarks 0 and 30 of each stay in their places.
	mice := MouseVertebrae().Group("small").Shapes()
	raw, err := Procrustes(mice)
	if err != nil {
		t.Fatal(err)
	}
	size := expect.Must(Procrustes(mice[:8], KeepSize()))
	kept := expect.Must(ProcrustesSliding(mice[:8], Semilandmarks(60, true, 0, 30), ProcrustesDistance, KeepSize()))
	if kept.Status != solve.Converged || kept.RMS > 0.9*size.RMS || kept.Transforms[3].Scale != 1 {
		t.Errorf("with sizes kept %v, before sliding %v", kept, size)
	}
	for criterion, want := range map[Criterion]struct{ rms, off float64 }{BendingEnergy: {0.995, 0.01}, ProcrustesDistance: {0.65, 0.05}} {
		slid, err := ProcrustesSliding(mice, Semilandmarks(60, true, 0, 30), criterion)
		if err != nil {
			t.Fatal(err)
		}
		if slid.Status != solve.Converged || slid.RMS > want.rms*raw.RMS || floats.Max(slid.Off) > want.off {
			t.Errorf("%v, root mean square distance before sliding %g", slid, raw.RMS)
		}
		for i := range mice {
			for _, l := range []int{0, 30} {
				expect.Abs(t, "fixed landmark", slid.Slid[i][l:l+1], mice[i][l:l+1], 0)
			}
		}
		if criterion == BendingEnergy {
			continue
		}
		said := fmt.Sprintf("%v of sliding, with a bending energy of %.4g on average, at most %.2g of a centroid size off their curves and surfaces; landmarks of shapes [",
			slid.Alignment, floats.Sum(slid.Energies)/23, floats.Max(slid.Off))
		if !strings.HasPrefix(slid.String(), said) || !strings.HasSuffix(slid.String(), "] slid past a neighbour") {
			t.Errorf("%v, want %s", slid, said)
		}
	}
}

// Semi-landmarks lie between their neighbours, round a closed curve, too; those that are fixed and the ends of an open one are none.
func TestSemilandmarks(t *testing.T) {
	if diff := cmp.Diff([]Semilandmark{between(4, 0, 1), between(1, 2, 3), between(3, 4, 0)}, Semilandmarks(5, true, 1, 3)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Semilandmark{between(0, 1, 2), between(2, 3, 4)}, Semilandmarks(5, false, 2)); diff != "" {
		t.Error(diff)
	}
	panics(t, func() { Semilandmarks(10, true, 3, 12) }, "landmark 12 is to be fixed; landmarks are 0 to 9")
	panics(t, func() { Semilandmarks(10, false, -1) }, "landmark -1 is to be fixed")
}

func TestSlideErrors(t *testing.T) {
	square := [][]float64{{0, 0}, {1, 0}, {1, 1}, {0, 1}}
	slide := func(x [][]float64, s ...Semilandmark) error {
		_, err := slideOnce(x, square, s, BendingEnergy)
		return err
	}
	for want, err := range map[string]error{
		"no semi-landmarks":          slide(square),
		"with the neighbours [3 4]":  slide(square, between(3, 0, 4)),
		"landmark 3 on both sides":   slide(square, between(3, 0, 3)),
		"landmark 0 slides twice":    slide(square, between(3, 0, 1), between(3, 0, 1)),
		"landmarks 1 and 3 coincide": slide([][]float64{{0, 0}, {1, 0}, {1, 1}, {1, 0}}, between(1, 2, 3)),
		"shape 1: 4 landmarks":       slide(square[:3], between(0, 1, 2)),
		"determine no thin-plate spline": func() error {
			_, err := slideOnce(square, [][]float64{{0, 0}, {1, 1}, {2, 2}, {3, 3}}, []Semilandmark{between(0, 1, 2)}, BendingEnergy)
			return err
		}(),
		"no criterion 5": func() error {
			_, err := ProcrustesSliding([]shape.Shape{square, square}, Semilandmarks(4, true), Criterion(5))
			return err
		}(),
	} {
		expect.Refused(t, err, want)
	}
}

// Errors call shapes and landmarks as the data set does: by labels, else from 1.
func TestSlidingCallsLandmarks(t *testing.T) {
	d := GorillaSkulls()
	sliding := []Semilandmark{{Point: 3, Neighbours: []int{2, 4}}, {Point: 3, Neighbours: []int{2, 4}}}
	both := func(want string) {
		t.Helper()
		expect.Refused(t, expect.Error(ProcrustesSliding(d.Shapes(), sliding, BendingEnergy, Of(d))), want)
		expect.Refused(t, expect.Error(ProcrustesSlidingGeomorph(d.Shapes(), sliding, BendingEnergy, 9, Of(d))), want)
	}
	d.FromZero = false
	both("landmark 4 slides twice")
	d.Labels = []string{"a", "b", "c", "tip"}
	both("landmark tip slides twice")
	expect.Refused(t, expect.Error(ProcrustesSliding(d.Shapes(), sliding, BendingEnergy)), "landmark 3 slides twice")
	sliding = []Semilandmark{{Point: 3, Neighbours: []int{2, 4}}}
	copy(d.Specimens[5].Points[4], d.Specimens[5].Points[2])
	both("specimen \"" + d.Specimens[5].Name + "\": landmarks c and 5 coincide, so landmark tip between them has no tangent")
}
