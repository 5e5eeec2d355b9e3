package morpho

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/internal/lists"
)

// moved is an ellipsoid with half axes under a similarity.
type moved struct {
	axes [3]float64
	by   Similarity
}

// Nearest is p with p_a = e_a² x_a/(e_a² + s), where s is the root of Σ_a (p_a/e_a)² = 1 that is largest.
func (m moved) Nearest(x []float64) (point []float64, tangents [][]float64) {
	x = m.by.inverse().Apply([][]float64{x})[0]
	at := func(s float64) (p []float64, off float64) {
		p, off = make([]float64, 3), -1
		for a, e := range m.axes {
			p[a] = e * e * x[a] / (e*e + s)
			off += math.Pow(p[a]/e, 2)
		}
		return p, off
	}
	low, high := -math.Pow(floats.Min(m.axes[:]), 2), 10.0
	for range 60 {
		if _, off := at((low + high) / 2); off > 0 {
			low = (low + high) / 2
		} else {
			high = (low + high) / 2
		}
	}
	p, _ := at(high)
	n := []float64{p[0] / math.Pow(m.axes[0], 2), p[1] / math.Pow(m.axes[1], 2), p[2] / math.Pow(m.axes[2], 2)}
	// No basis that the program would have taken itself.
	tangents = [][]float64{{n[1], -n[0], 0}, {n[2], 0, -n[0]}, {0, n[2], -n[1]}}
	largest := floats.MaxIdx([]float64{math.Abs(n[2]), math.Abs(n[1]), math.Abs(n[0])})
	tangents = slices.Delete(tangents, largest, largest+1)
	turn := m.by
	turn.Translation = make([]float64, 3)
	return m.by.Apply([][]float64{p})[0], turn.Apply(tangents)
}

// ball is n points of the unit sphere, the first eight of which are far from each other.
func ball(n int) [][]float64 {
	var x [][]float64
	for _, s := range [][]float64{{1, 1, 1}, {1, 1, -1}, {1, -1, 1}, {1, -1, -1}, {-1, 1, 1}, {-1, 1, -1}, {-1, -1, 1}, {-1, -1, -1}} {
		floats.Scale(1/math.Sqrt(3), s)
		x = append(x, s)
	}
	for k := range n - 8 {
		z := 0.9 * (2*float64(k) + 1 - float64(n-8)) / float64(n-8)
		s, c := math.Sincos(2.4 * float64(k))
		r := math.Sqrt(1 - z*z)
		x = append(x, []float64{r * c, r * s, z})
	}
	return x
}

// specimens returns affine images of the unit sphere with points, each under a similarity, on its ellipsoid; and how they were before
// semi-landmarks went astray by about so much.
func specimens(n, count int, astray float64, seed uint64) (shapes, straight []shape.Shape, on []Support) {
	r := rand.New(rand.NewPCG(seed, 3))
	template := ball(n)
	for range count {
		m := moved{axes: [3]float64{1, 0.75 + 0.1*r.Float64(), 0.6 + 0.1*r.Float64()}, by: turned(r)}
		a := [][]float64{{m.axes[0], 0, 0}, {0, m.axes[1], 0}, {0, 0, m.axes[2]}}
		x := m.by.Apply(affine(a, make([]float64, 3), template))
		y := slices.Clone(x)
		for l := 8; l < n; l++ {
			off := slices.Clone(x[l])
			for a := range off {
				off[a] += astray * m.by.Scale * r.NormFloat64()
			}
			y[l], _ = m.Nearest(off)
		}
		shapes, straight, on = append(shapes, y), append(straight, x), append(on, m)
	}
	return shapes, straight, on
}

// turned is a random similarity of space.
func turned(r *rand.Rand) Similarity {
	angle, tilt := 6*r.Float64(), 3*r.Float64()
	s, c := math.Sincos(angle)
	p, q := math.Sincos(tilt)
	return Similarity{0.5 + 50*r.Float64(), [][]float64{{c, -s, 0}, {s * q, c * q, -p}, {s * p, c * p, q}}, []float64{100 * r.NormFloat64(), 7, -30}}
}

// sliding returns landmarks 8 to n − 1 as semi-landmarks of surfaces.
func sliding(n int, on []Support) []Semilandmark {
	var points []int
	for l := 8; l < n; l++ {
		points = append(points, l)
	}
	semi := SurfaceSemilandmarks(ball(n), 6, points...)
	for i := range semi {
		semi[i].On = on
	}
	return semi
}

func slideToTheEnd(t *testing.T, x, reference [][]float64, semi []Semilandmark, criterion Criterion) [][]float64 {
	t.Helper()
	for range 1000 {
		next := expect.Must(slideOnce(x, reference, semi, criterion))
		way := 0.0
		for l := range x {
			way = max(way, floats.Distance(next[l], x[l], 2))
		}
		if x = next; way < 1e-9*CentroidSize(x) {
			return x
		}
	}
	t.Error("sliding has no end")
	return x
}

// In a plane of space semi-landmarks go back in one step to the affine image of the reference, whether the plane comes from their neighbours
// or is given; and a line in it leads only along itself.
func TestSlideInAPlane(t *testing.T) {
	reference := append(scattered(7, 6, 3), scattered(8, 9, 3)...)
	semi := []Semilandmark{}
	for l := range reference {
		if l >= 6 {
			reference[l][2] = 50
		}
	}
	for l := 10; l < 15; l++ {
		semi = append(semi, Semilandmark{Point: l, Neighbours: []int{6, 7, 8, 9}})
	}
	image := affine(shears[3], []float64{3, 2, 1}, reference)
	across := [][]float64{{1, 0, 0}, {0.5, 2, 0}}
	along := affine(shears[3], make([]float64, 3), across)
	shape := slices.Clone(image)
	for l := 10; l < 15; l++ {
		shape[l] = floats.AddScaledTo(make([]float64, 3), shape[l], 10*math.Sin(float64(l)), along[0])
		floats.AddScaled(shape[l], 10*math.Cos(float64(l)), along[1])
	}
	flat := plane{image[6], along, math.Inf(1)}
	for what, on := range map[string][]Support{"neighbours": nil, "support": {flat}} {
		for i := range semi {
			semi[i].On = on
		}
		expect.Abs(t, what, expect.Must(slideOnce(shape, reference, semi, BendingEnergy)), image, 1e-9)
		got := expect.Must(slideOnce(shape, image, semi, ProcrustesDistance))
		expect.Abs(t, what+": Procrustes distance", got, image, 1e-9)
	}
	one := []Semilandmark{{Point: 10, Neighbours: []int{6, 7}, On: []Support{flat}}}
	got := expect.Must(slideOnce(shape, image, one, ProcrustesDistance))
	u, moved := difference(image[7], image[6]), difference(got[10], shape[10])
	expect.Abs(t, "along a line", math.Abs(floats.Dot(u, moved)), floats.Norm(u, 2)*floats.Norm(moved, 2), 1e-9)
	expect.Abs(t, "what is left along it", floats.Dot(u, difference(image[10], got[10])), 0, 1e-9)
}

// plane is a piece of a plane: coefficients of the sides are at most size.
type plane struct {
	at    []float64
	sides [][]float64
	size  float64
}

func (p plane) Nearest(x []float64) ([]float64, [][]float64) {
	u := slices.Clone(p.sides[0])
	floats.Scale(1/floats.Norm(u, 2), u)
	v := slices.Clone(p.sides[1])
	floats.AddScaled(v, -floats.Dot(u, v), u)
	floats.Scale(1/floats.Norm(v, 2), v)
	off, y := floats.SubTo(make([]float64, 3), x, p.at), slices.Clone(p.at)
	for _, w := range [][]float64{u, v} {
		floats.AddScaled(y, max(-p.size, min(p.size, floats.Dot(off, w))), w)
	}
	return y, p.sides
}

// Semi-landmarks that went astray on an ellipsoid go back to the affine image of a sphere, where the energy is 0, and the energy falls
// with every step.
func TestSlideOnAnEllipsoid(t *testing.T) {
	const n = 30
	shapes, straight, on := specimens(n, 2, 0.15, 1)
	reference := ball(n)
	bending := expect.Must(newSpline(reference)).bending()
	for i, x := range shapes {
		semi := sliding(n, on[i:i+1])
		expect.Abs(t, "to the end", slideToTheEnd(t, x, reference, semi, BendingEnergy), straight[i], 1e-6*CentroidSize(x))
		first := bendingEnergy(bending, x)
		was := first
		for range 100 {
			if was < 1e-9*first {
				break
			}
			x = expect.Must(slideOnce(x, reference, semi, BendingEnergy))
			energy := bendingEnergy(bending, x)
			if energy > was {
				t.Errorf("shape %d: energy %g after %g", i, energy, was)
			}
			was = energy
		}
		expect.Abs(t, "what is left of the energy", was/first, 0, 1e-9)
	}
}

// By Procrustes distance they go to the points of the surface nearest to the reference's, each by itself; also where one is so far
// out that whole steps would go to and fro.
func TestSlideToTheNearestPoint(t *testing.T) {
	const n = 20
	shapes, straight, on := specimens(n, 1, 0.1, 2)
	reference := slices.Clone(straight[0])
	want := slices.Clone(shapes[0])
	for l := 8; l < n; l++ {
		out := 0.1 * math.Sin(float64(l))
		if l == 8 {
			out = 4
		}
		reference[l] = floats.AddScaledTo(make([]float64, 3), reference[l], out, floats.SubTo(make([]float64, 3), reference[l], shape.Shape(reference).Centroid()))
		want[l], _ = on[0].Nearest(reference[l])
	}
	expect.Abs(t, "to the end", slideToTheEnd(t, shapes[0], reference, sliding(n, on), ProcrustesDistance), want, 1e-7*CentroidSize(want))
}

// Where the energy cannot be 0, it has no derivative along the surfaces any more: by differences. With the order of the shapes, their
// places, directions and units, nothing changes.
func TestProcrustesSlidingOnSurfaces(t *testing.T) {
	const n = 26
	shapes, _, on := specimens(n, 3, 0.1, 3)
	for i, x := range shapes { // landmarks that no affine map brings back
		for l := range 8 {
			x[l] = floats.AddScaledTo(make([]float64, 3), x[l], 0.1*math.Sin(float64(5*l+i)), difference(x[l], x[l+1]))
		}
	}
	for _, criterion := range []Criterion{BendingEnergy, ProcrustesDistance} {
		semi := sliding(n, on)
		out := expect.Must(ProcrustesSliding(shapes, semi, criterion))
		if out.Status != solve.Converged || floats.Max(out.Left) > 1e-6 || floats.Max(out.Off) != 0 {
			t.Errorf("%v", out)
		}
		s := slider{semilandmarks: semi, reference: out.Reference}
		if criterion == BendingEnergy {
			s.bending = expect.Must(newSpline(out.Reference)).bending()
		}
		for i, x := range out.Slid {
			to := expect.Must(FitSimilarity(x, out.Reference))
			size := CentroidSize(x)
			slope := func(x [][]float64) (largest float64) {
				for l := 8; l < n; l++ {
					_, tangents := on[i].Nearest(x[l])
					for _, u := range tangents {
						at := func(h float64) float64 {
							y := slices.Clone(x)
							y[l], _ = on[i].Nearest(floats.AddScaledTo(make([]float64, 3), x[l], h*size/floats.Norm(u, 2), u))
							return s.energy(to.Apply(y))
						}
						largest = max(largest, math.Abs(at(1e-4)-at(-1e-4)))
					}
				}
				return largest
			}
			if is, was := slope(x), slope(shapes[i]); is > 1e-4*was {
				t.Errorf("criterion %d, shape %d: slope %g, before sliding %g", criterion, i, is, was)
			}
			for l := 8; l < n; l++ {
				on, _ := on[i].Nearest(x[l])
				expect.Abs(t, "on the surface", x[l], on, 1e-9*size)
			}
		}

		r := rand.New(rand.NewPCG(4, 4))
		var others []shape.Shape
		var there []Support
		var by []Similarity
		for i := range shapes {
			j := (i + 1) % 3
			g, m := turned(r), on[j].(moved)
			by, others = append(by, g), append(others, g.Apply(shapes[j]))
			there = append(there, moved{m.axes, Similarity{g.Scale * m.by.Scale, product(g.Rotation, m.by.Rotation), g.Apply([][]float64{m.by.Translation})[0]}})
		}
		again := expect.Must(ProcrustesSliding(others, sliding(n, there), criterion))
		for i, g := range by {
			j := (i + 1) % 3
			expect.Abs(t, "elsewhere, in another order", again.Slid[i], g.Apply(out.Slid[j]), 1e-5*CentroidSize(again.Slid[i]))
		}
		expect.Abs(t, "distances", append(again.Distances[2:], again.Distances[:2]...), out.Distances, 1e-6)
	}
}

func product(a, b [][]float64) [][]float64 {
	out := lists.Zeros(3, 3)
	for i := range 3 {
		for j := range 3 {
			for k := range 3 {
				out[i][j] += a[i][k] * b[k][j]
			}
		}
	}
	return out
}

// A semi-landmark that would leave its surface at the border stays there, and the result does not say converged; nor is one on the surface
// of another shape, or one in another unit, taken.
func TestSlidingAtABorder(t *testing.T) {
	const n = 20
	shapes, _, _ := specimens(n, 2, 0, 5)
	var on []Support
	for _, x := range shapes {
		centre := shape.Shape(x[10:14]).Centroid()
		on = append(on, plane{centre, [][]float64{difference(x[11], x[10]), difference(x[12], x[10])}, 0.05 * CentroidSize(x)})
	}
	semi := sliding(n, nil)[2:3]
	semi[0].On = on
	out := expect.Must(ProcrustesSliding(shapes, semi, BendingEnergy))
	if out.Status == solve.Converged || floats.Max(out.Left) < 1e-3 {
		t.Errorf("at the border: %v, left %v", out, out.Left)
	}
	expect.Refused(t, errors.New(out.String()), "iteration limit", "of its centroid size left to slide")
	shapes, _, on = specimens(n, 2, 0, 5)
	slices.Reverse(on)
	expect.Refused(t, expect.Error(ProcrustesSliding(shapes, sliding(n, on), BendingEnergy)), "procrustes with sliding: shape 0: landmark 8 is", "from its curve or surface", "in its unit and axes?")
}

func TestSurfaceSemilandmarks(t *testing.T) {
	grid := [][]float64{{0, 0, 0}, {1, 0, 0}, {2.1, 0, 0}, {0, 1.3, 0}, {1, 1.3, 0}, {2.1, 1.3, 0}}
	if diff := cmp.Diff([]Semilandmark{{Point: 1, Neighbours: []int{0, 2, 4}}, {Point: 5, Neighbours: []int{4, 2, 1}}}, SurfaceSemilandmarks(grid, 3, 1, 5)); diff != "" {
		t.Error(diff)
	}
	panics(t, func() { SurfaceSemilandmarks(grid, 2, 1) }, "2 neighbours, want at least 3 of the other 5 landmarks")
	panics(t, func() { SurfaceSemilandmarks(grid, 6, 1) }, "6 neighbours")
	panics(t, func() { SurfaceSemilandmarks(grid, 3, 6) }, "landmark 6 is to slide")
}

// wrong is a support with an error.
type wrong struct {
	point    []float64
	tangents [][]float64
}

func (w wrong) Nearest([]float64) ([]float64, [][]float64) { return w.point, w.tangents }

func TestBadSurfaces(t *testing.T) {
	x := ball(12)
	slide := func(s Semilandmark) error {
		_, err := slideOnce(x, ball(12), []Semilandmark{s}, BendingEnergy)
		return err
	}
	on := func(point []float64, tangents ...[]float64) error {
		return slide(Semilandmark{Point: 9, On: []Support{wrong{point, tangents}}})
	}
	for want, err := range map[string]error{
		"landmark 9 is 100 from its curve or surface":               on([]float64{x[9][0], x[9][1], x[9][2] + 100}, []float64{1, 0, 0}),
		"has neither neighbours nor a curve or surface":             slide(Semilandmark{Point: 9}),
		"has one neighbour":                                         slide(Semilandmark{Point: 9, Neighbours: []int{3}}),
		"its curve or surface of shape 0 is nil":                    slide(Semilandmark{Point: 9, On: make([]Support, 1)}),
		"lies on 2 curves or surfaces":                              slide(Semilandmark{Point: 9, On: make([]Support, 2)}),
		"its neighbours [0 3 5 6] lie near no plane":                slide(Semilandmark{Point: 9, Neighbours: []int{0, 3, 5, 6}}), // a tetrahedron
		"its neighbours [0 0 7] lie near no plane, or on a line":    slide(Semilandmark{Point: 9, Neighbours: []int{0, 0, 7}}),
		"the nearest point of its curve or surface is [NaN 0 0]":    on([]float64{math.NaN(), 0, 0}, []float64{1, 0, 0}),
		"the nearest point of its curve or surface is [0 0]":        on([]float64{0, 0}, []float64{1, 0, 0}),
		"its curve or surface has 0 tangents in 3 dimensions":       on(x[9]),
		"its curve or surface has 3 tangents":                       on(x[9], []float64{1, 0, 0}, []float64{0, 1, 0}, []float64{0, 0, 1}),
		"a tangent [1 0] of its curve or surface in 3 dimensions":   on(x[9], []float64{1, 0}),
		"tangents [[1 0 0] [2 0 0]] of its curve or surface span n": on(x[9], []float64{1, 0, 0}, []float64{2, 0, 0}),
		"has 3 neighbours, as on a surface, but is in the plane": func() error {
			_, err := slideOnce(scattered(1, 6, 2), scattered(2, 6, 2), []Semilandmark{{Point: 0, Neighbours: []int{1, 2, 3}}}, BendingEnergy)
			return err
		}(),
	} {
		expect.Refused(t, err, want)
	}
}

func difference(a, b []float64) []float64 { return floats.SubTo(make([]float64, len(a)), a, b) }
