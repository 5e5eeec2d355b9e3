package attachment_test

import (
	"math"
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/engine"
	"anatomy/geom/geomtest/expect"
	"anatomy/kernels"
	"anatomy/landmarks/surfaces/attachment"
	"anatomy/landmarks/surfaces/mesh"
)

type term func(k kernels.Kernel, source, target *mesh.Mesh) *attachment.Term

var terms = map[string]term{"current": attachment.Current, "varifold": attachment.Varifold}

func value(t *testing.T, d *attachment.Term, m *mesh.Mesh) float64 {
	return expect.Must(d.Value(m.Vertices))
}

func shift(m *mesh.Mesh, by ...float64) *mesh.Mesh {
	return m.Map(func(x []float64) []float64 {
		for a := range x {
			x[a] += by[a]
		}
		return x
	})
}

// One edge or triangle against a moved and turned one: the sums by hand.
func TestSingleCells(t *testing.T) {
	t.Parallel()
	const sigma = 0.8
	k := kernels.Gaussian(sigma)
	edge := mesh.Curve([][]float64{{0, 0}, {2, 0}}, false)
	turned := mesh.Curve([][]float64{{1, 0.5}, {1 + 3*math.Cos(0.7), 0.5 + 3*math.Sin(0.7)}}, false)
	dx, dy := 1+1.5*math.Cos(0.7)-1, 0.5+1.5*math.Sin(0.7)
	g := math.Exp(-(dx*dx + dy*dy) / (2 * sigma * sigma))
	expect.Abs(t, "current of edges", value(t, attachment.Current(k, edge, turned), edge), 4+9-2*g*6*math.Cos(0.7), 1e-14)
	expect.Abs(t, "varifold of edges", value(t, attachment.Varifold(k, edge, turned), edge), 4+9-2*g*6*math.Cos(0.7)*math.Cos(0.7), 1e-14)

	a := &mesh.Mesh{Vertices: [][]float64{{0, 0, 0}, {3, 0, 0}, {0, 3, 0}}, Cells: [][]int{{0, 1, 2}}} // area 4.5, normal z
	b := &mesh.Mesh{Vertices: [][]float64{{1, 1, 1}, {2, 1, 1}, {1, 2, 2}}, Cells: [][]int{{0, 1, 2}}} // normal (0, −1, 1)/2
	r2 := (1./3)*(1./3) + (1./3)*(1./3) + (4./3)*(4./3)
	g = math.Exp(-r2 / (2 * sigma * sigma))
	expect.Abs(t, "current of triangles", value(t, attachment.Current(k, a, b), a), 4.5*4.5+0.5-2*g*4.5*0.5, 1e-13)
	expect.Abs(t, "varifold of triangles", value(t, attachment.Varifold(k, a, b), a), 4.5*4.5+0.5-2*g*(4.5*0.5)*(4.5*0.5)/(4.5*math.Sqrt(0.5)), 1e-13)
}

// Two parallel straight lines of length L at distance h: ‖S − T‖² = 2 (1 − e^(−h²/2σ²)) ∫∫ e^(−(s−t)²/2σ²) ds dt, and two parallel
// squares likewise, with the square of the integral. The meshes converge to it as the square of their spacing.
func TestParallelSegmentsAndSquares(t *testing.T) {
	t.Parallel()
	const sigma, l, h = 0.6, 2.0, 0.5
	// ∫∫ over [0, L]² = σ√(2π) L erf(L/σ√2) − 2σ² (1 − e^(−L²/2σ²))
	integral := sigma*math.Sqrt(2*math.Pi)*l*math.Erf(l/(sigma*math.Sqrt2)) - 2*sigma*sigma*(1-math.Exp(-l*l/(2*sigma*sigma)))
	apart := 2 * (1 - math.Exp(-h*h/(2*sigma*sigma)))
	k := kernels.Gaussian(sigma)
	line := mesh.Curve([][]float64{{0, 0}, {l, 0}}, false)
	square := &mesh.Mesh{Vertices: [][]float64{{0, 0, 0}, {l, 0, 0}, {l, l, 0}, {0, l, 0}}, Cells: [][]int{{0, 1, 2}, {0, 2, 3}}}
	for range 3 {
		square = square.Subdivide()
	}
	for range 5 {
		line = line.Subdivide()
	}
	for name, make := range terms {
		for what, c := range map[string]struct {
			coarse *mesh.Mesh
			by     []float64
			want   float64
		}{
			"lines":   {line, []float64{0, h}, apart * integral},
			"squares": {square, []float64{0, 0, h}, apart * integral * integral},
		} {
			fine := c.coarse.Subdivide()
			e1 := value(t, make(k, c.coarse, shift(c.coarse, c.by...)), c.coarse) - c.want
			e2 := value(t, make(k, fine, shift(fine, c.by...)), fine) - c.want
			expect.Abs(t, name+" of parallel "+what+": order of convergence", math.Log2(e1/e2), 2, 0.05)
			expect.Abs(t, name+" of parallel "+what, c.want+e2-(e1-e2)/3, c.want, 2e-5*c.want)
		}
	}
}

// A surface is at distance 0 from itself. Turned inside out, its current is the opposite one, at twice its norm, and its
// varifold the same. Varifolds see no orientation of single cells either, which Current refuses.
func TestOrientation(t *testing.T) {
	t.Parallel()
	k := kernels.Sum([]float64{1, 0.5}, kernels.Gaussian(0.5), kernels.Gaussian(0.2))
	for what, m := range map[string]*mesh.Mesh{
		"ellipsoid": mesh.Ellipsoid(1, 0.7, 0.5, 7, 12),
		"curve":     mesh.Curve([][]float64{{0, 0}, {1, 0.2}, {1.3, 1}, {0.2, 0.8}}, true).Subdivide(),
	} {
		empty := make([]float64, len(m.Vertices[0]))
		for a := range empty {
			empty[a] = 64 // so far away that the kernel is 0
		}
		far := value(t, attachment.Current(k, m, shift(m, empty...)), m) // twice the squared norm
		for name, make := range terms {
			expect.Abs(t, what+": "+name+" of itself", value(t, make(k, m, m.Copy()), m), 0, 1e-13)
		}
		expect.Abs(t, what+": current inside out", value(t, attachment.Current(k, m, m.Flip()), m), 2*far, 1e-12*far)
		expect.Abs(t, what+": varifold inside out", value(t, attachment.Varifold(k, m, m.Flip()), m), 0, 1e-13)
		mixed := m.Copy()
		mixed.Cells[2][0], mixed.Cells[2][1] = mixed.Cells[2][1], mixed.Cells[2][0]
		expect.Abs(t, what+": varifold, one cell turned", value(t, attachment.Varifold(k, m, mixed), m), 0, 1e-13)
		expect.Refused(t, expect.Error(attachment.Current(k, m, mixed).Value(m.Vertices)), "the current of the target mesh: 1 ", "oriented against the rest")
	}
}

// Other triangulations of one surface are close: the distance falls with the square of the spacing.
func TestSubdivisionInvariance(t *testing.T) {
	t.Parallel()
	k := kernels.Gaussian(0.6)
	for name, make := range terms {
		d := func(level, n int) float64 {
			a, b := mesh.Icosphere(level), mesh.Ellipsoid(1, 1, 1, n, 2*n)
			return math.Sqrt(value(t, make(k, a, b), a))
		}
		coarse, fine := d(2, 11), d(3, 23)
		expect.Abs(t, name+": order", math.Log2(coarse/fine), 2, 0.2)
		flat := mesh.Ellipsoid(1, 0.8, 0.6, 8, 12) // cut on its flat triangles: the same point set
		once, twice := flat.Subdivide(), flat.Subdivide().Subdivide()
		e1 := math.Sqrt(value(t, make(k, flat, once), flat))
		e2 := math.Sqrt(value(t, make(k, once, twice), once))
		expect.Abs(t, name+": order, subdivided", math.Log2(e1/e2), 2, 0.1)
	}
}

// The gradients equal differences, at scales other than 1 too, and scale multiplies the width.
func TestGradient(t *testing.T) {
	t.Parallel()
	surface, other := mesh.Ellipsoid(1, 0.8, 0.6, 3, 5), mesh.Icosphere(0)
	curve, target := mesh.Curve([][]float64{{0, 0}, {1, 0.1}, {1.2, 0.9}, {0.3, 1.1}}, true), mesh.Curve([][]float64{{0, 0}, {1, 0}, {0.5, 1}}, true)
	rng := rand.New(rand.NewPCG(3, 4))
	for name, make := range terms {
		for what, d := range map[string]struct {
			term *attachment.Term
			m    *mesh.Mesh
		}{
			"surface": {make(kernels.Gaussian(0.7), surface, other), surface},
			"curve":   {make(kernels.Laplace(2, 0.7), curve, target), curve},
		} {
			x := d.m.Copy().Vertices
			inputs, err := d.term.Inputs(len(x), len(x[0]))
			if err != nil {
				t.Fatal(err)
			}
			f := engine.Compile(func(in []*Node) []*Node {
				v := d.term.Distance(in[0], in[1], in[2:])
				return []*Node{v, Gradient(v, in[0])[0]}
			})
			at := func(scale float64) engine.Values {
				out, err := f.Call(append([]any{x, scale}, inputs...)...)
				if err != nil {
					t.Fatal(err)
				}
				return out
			}
			const h = 3e-4
			g := at(1.3).Matrix(1)
			rest := d.m.Copy().Vertices
			for range 3 {
				along := 0.0
				way := d.m.Map(func(x []float64) []float64 {
					for a := range x {
						x[a] = rng.NormFloat64()
					}
					return x
				}).Vertices
				by := func(s float64) float64 {
					for i := range x {
						for a := range x[i] {
							x[i][a] = rest[i][a] + s*way[i][a]
						}
					}
					return at(1.3).Scalar(0)
				}
				for i := range x {
					for a := range x[i] {
						along += g[i][a] * way[i][a]
					}
				}
				expect.Abs(t, name+" of "+what+": gradient", along, (8*(by(h)-by(-h))-(by(2*h)-by(-2*h)))/(12*h), 1e-8)
			}
		}
		wide := make(kernels.Gaussian(1.4), surface, other)
		narrow := make(kernels.Gaussian(0.7), surface, other)
		inputs, _ := narrow.Inputs(len(surface.Vertices), 3)
		out, err := engine.Run(func(in []*Node) []*Node { return []*Node{narrow.Distance(in[0], in[1], in[2:])} }, append([]any{surface.Vertices, 2.0}, inputs...)...)
		if err != nil {
			t.Fatal(err)
		}
		expect.Abs(t, name+" at twice the width", out.Scalar(0), value(t, wide, surface), 1e-12)
	}
}

// What scanners leave and a sum over cells does not mind: degenerate cells weigh nothing, also in the derivative, unused vertices stay
// where they are, and in a current the two sides of a flap cancel.
func TestHarmlessCells(t *testing.T) {
	t.Parallel()
	k := kernels.Gaussian(0.5)
	clean, target := mesh.Icosphere(1), mesh.Ellipsoid(1, 0.7, 0.5, 7, 12)
	dirty := clean.Copy()
	n := len(dirty.Vertices)
	dirty.Vertices = append(dirty.Vertices, []float64{1.5, 0, 0}, []float64{0, 1.5, 0})
	dirty.Cells = append(dirty.Cells, []int{0, 0, 1}, []int{2, 2, 2})
	for name, make := range terms {
		d, c := make(k, dirty, target), make(k, clean, target)
		expect.Rel(t, name+" with degenerate cells", value(t, d, dirty), value(t, c, clean), 1e-13)
		got, want := gradient(t, d, dirty), gradient(t, c, clean)
		expect.Abs(t, name+": its gradient", got[:n], want, 1e-13)
		expect.Abs(t, name+": gradient of unused vertices", got[n:], [][]float64{{0, 0, 0}, {0, 0, 0}}, 0)
	}
	e := clean.Cells[3]
	dirty.Cells = append(dirty.Cells, []int{e[0], e[1], n}, []int{e[1], e[0], n})
	expect.Rel(t, "current with a flap", value(t, attachment.Current(k, dirty, target), dirty), value(t, attachment.Current(k, clean, target), clean), 1e-13)
}

func gradient(t *testing.T, d *attachment.Term, m *mesh.Mesh) [][]float64 {
	t.Helper()
	inputs := expect.Must(d.Inputs(len(m.Vertices), 3))
	out := expect.Must(engine.Run(func(in []*Node) []*Node { return []*Node{Gradient(d.Distance(in[0], in[1], in[2:]), in[0])[0]} }, append([]any{m.Vertices, 1.0}, inputs...)...))
	return out.Matrix(0)
}

func TestBadTerms(t *testing.T) {
	t.Parallel()
	k := kernels.Gaussian(1)
	waves, err := kernels.Expand(k, []float64{1, 1, 1}, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	ball, curve := mesh.Icosphere(0), mesh.Curve([][]float64{{0, 0}, {1, 0}}, false)
	nan := ball.Copy()
	nan.Vertices[3][1] = math.NaN()
	knot := mesh.Curve([][]float64{{0, 0, 0}, {1, 0, 0}}, false)
	for want, d := range map[string]*attachment.Term{
		"the target mesh: coordinate 1 of vertex 3 is NaN":           attachment.Varifold(k, ball, nan),
		"the source mesh: the mesh is empty":                         attachment.Varifold(k, &mesh.Mesh{}, ball),
		"the source mesh is in R^3, the target in R^2":               attachment.Varifold(k, ball, curve),
		"the source mesh has triangles, the target edges":            attachment.Varifold(k, ball, knot),
		"12 points in R^3, the source mesh has 2 vertices in R^3":    attachment.Current(k, knot, knot),
		"Coarse: factor 1 is 1":                                      attachment.Current(k, ball, ball).Coarse(2, 1),
		"the points spread over 1.701 along axis 0, the plane waves": attachment.Current(waves, ball, ball),
		"much narrower than the cells of the source mesh, whose s":   attachment.Varifold(kernels.Gaussian(0.1, 0.2, 0.1), ball, ball),
		"much wider than the source mesh, whose box has a diagonal":  attachment.Varifold(kernels.Gaussian(1000), ball, ball),
	} {
		expect.Refused(t, expect.Error(d.Value(ball.Vertices)), want)
	}
}
