package mesh_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/geomtest/expect"
	"anatomy/landmarks/surfaces/mesh"
)

// Nearest points are those that a comparison with every cell finds: each cell is then a mesh of its own.
func TestNearestIsNearest(t *testing.T) {
	flat := mesh.Ellipsoid(3, 1, 0.1, 9, 14) // slivers
	for what, m := range map[string]*mesh.Mesh{
		"ellipsoid": flat.Map(func(x []float64) []float64 { return []float64{x[0] + 100, x[1], x[2] - 50} }),
		"open":      {Vertices: flat.Vertices, Cells: flat.Cells[40:90]},
		"outline":   mesh.Curve([][]float64{{0, 0}, {1, 0.2}, {1.3, 1}, {0.2, 0.8}, {0.4, 0.4}}, true).Subdivide(),
		"arc":       mesh.Curve([][]float64{{0, 0, 1}, {1, 0.2, 0}, {1.3, 1, 1}, {0.2, 0.8, 2}}, false).Subdivide().Subdivide(),
	} {
		l, rng := expect.Must(m.Locator()), rand.New(rand.NewPCG(1, 7))
		for k := range 60 {
			x := append([]float64{}, m.Vertices[rng.IntN(len(m.Vertices))]...)
			for a := range x {
				x[a] += math.Pow(10, float64(k%5-3)) * rng.NormFloat64()
			}
			least := math.Inf(1)
			for _, c := range m.Cells {
				one := mesh.Mesh{Vertices: m.Vertices, Cells: [][]int{c}}
				least = min(least, expect.Must((&mesh.Mesh{Vertices: [][]float64{x}, Cells: [][]int{make([]int, len(c))}}).Distances(&one))[0])
			}
			y, tangents := l.Nearest(x)
			expect.Abs(t, what+": distance", floats.Distance(x, y, 2), least, 1e-12)
			expect.Abs(t, what+": the point is on the mesh", expect.Must((&mesh.Mesh{Vertices: [][]float64{y}, Cells: [][]int{make([]int, len(m.Cells[0]))}}).Distances(m)), []float64{0}, 1e-12)
			if len(tangents) != len(m.Cells[0])-1 {
				t.Fatalf("%s: %d tangents", what, len(tangents))
			}
			for i, u := range tangents {
				for j, v := range tangents {
					want := 0.0
					if i == j {
						want = 1
					}
					expect.Abs(t, what+": orthonormal", floats.Dot(u, v), want, 1e-14)
				}
			}
		}
	}
}

// A triangle that is a line, but for rounding, is as near as its sides.
func TestNearestOfSlivers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 7))
	random := func() []float64 { return []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()} }
	for range 3000 {
		a, b, f := random(), random(), rng.Float64()
		c := []float64{a[0] + f*(b[0]-a[0]), a[1] + f*(b[1]-a[1]), a[2] + f*(b[2]-a[2])}
		x := [][]float64{random()}
		far := func(cells ...[]int) float64 {
			at := &mesh.Mesh{Vertices: x, Cells: [][]int{make([]int, len(cells[0]))}}
			return expect.Must(at.Distances(&mesh.Mesh{Vertices: [][]float64{a, b, c}, Cells: cells}))[0]
		}
		expect.Abs(t, "distance", far([]int{0, 1, 2}), far([]int{0, 1}, []int{1, 2}, []int{2, 0}), 1e-14)
	}
}

// On circles and spheres tangents are exact, whatever the sizes of the cells; on an ellipsoid they are of second order.
func TestTangentsOfSpheres(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 7))
	at := make([][]float64, 300)
	for i := range at {
		at[i] = []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
	}
	worst := func(m *mesh.Mesh, axes ...float64) (off float64) {
		l := expect.Must(m.Locator())
		for _, x := range at {
			y, tangents := l.Nearest(x[:len(axes)])
			n := make([]float64, len(y))
			for a := range n {
				n[a] = y[a] / (axes[a] * axes[a])
			}
			for _, u := range tangents {
				off = max(off, math.Abs(floats.Dot(u, n))/floats.Norm(n, 2))
			}
		}
		return off
	}
	var circle [][]float64
	for k := range 20 {
		s, c := math.Sincos(2 * math.Pi * math.Pow(float64(k)/20, 1.5))
		circle = append(circle, []float64{c, s})
	}
	expect.Abs(t, "circle", worst(mesh.Curve(circle, true), 1, 1), 0, 1e-14)
	expect.Abs(t, "sphere", worst(mesh.Ellipsoid(1, 1, 1, 7, 25), 1, 1, 1), 0, 1e-14)
	ellipsoid := func(level int) float64 {
		return worst(mesh.Icosphere(level).Map(func(x []float64) []float64 { return []float64{x[0], 0.7 * x[1], 0.6 * x[2]} }), 1, 0.7, 0.6)
	}
	coarse, fine := ellipsoid(2), ellipsoid(3)
	if order := math.Log2(coarse / fine); coarse > 0.05 || order < 1.7 {
		t.Errorf("normals of an ellipsoid are off by %g, with triangles of half the size by %g: order %.2f", coarse, fine, order)
	}
}

func TestBadLocators(t *testing.T) {
	ball := mesh.Icosphere(1)
	ball.Cells[3][0], ball.Cells[3][1] = ball.Cells[3][1], ball.Cells[3][0]
	flat := &mesh.Mesh{Vertices: [][]float64{{0, 0, 0}, {1, 0, 0}, {2, 0, 0}}, Cells: [][]int{{0, 1, 2}}}
	for want, m := range map[string]*mesh.Mesh{
		"nearest points: 1 triangle are oriented against the rest": ball,
		"nearest points: all 1 triangle are degenerate":            flat,
		"nearest points: the mesh is empty":                        {},
	} {
		expect.Refused(t, expect.Error(m.Locator()), want)
	}
	l := expect.Must(mesh.Icosphere(0).Locator())
	for _, x := range [][]float64{{1, 2}, {0, math.NaN(), 0}, {0, 0, math.Inf(1)}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("the point nearest to %v", x)
				}
			}()
			l.Nearest(x)
		}()
	}
	// A fold back on itself has no mean tangent at its tip.
	_, tangents := expect.Must(mesh.Curve([][]float64{{0, 0}, {1, 0}, {0, 0}}, false).Locator()).Nearest([]float64{2, 0})
	expect.Abs(t, "tangent at a tip", math.Abs(tangents[0][0]), 1, 1e-15)
}
