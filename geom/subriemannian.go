package geom

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/linalg"
	"anatomy/internal/lists"
)

// SubRiemannian is a manifold with a distribution D: a subspace of each tangent space, in which the velocities of curves of finite length lie, with
// an inner product. Its cometric g* = Σ_a X_a ⊗ X_a has the rank k of D. A momentum determines a geodesic (Space.Shoot), and Log finds one between
// two points; a vector has no covector, so that Exp and transport return errors. A type of your own must be a Cometric, or Charted with charts that
// are, as well; Distribution makes both.
//
// Where brackets of the X_a span all directions, curves in D lead from any point to any other (W.-L. Chow, 1939). The volume is Popp's: see
// LogVolume. Laplacian, divergence and Brownian motion are those of this volume.
type SubRiemannian interface {
	Manifold
	Rank() int           // k
	Frame(x *Node) *Node // an orthonormal basis X_1, …, X_k of D at points x, [k, ..., d]; ambient on a Charted manifold, [k, ..., a]
}

// Rank is the dimension of the space of velocities: that of the manifold, or the rank of a SubRiemannian one.
func Rank(m Manifold) int {
	if m, ok := m.(SubRiemannian); ok {
		return m.Rank()
	}
	return m.Dim()
}

// Distribution returns the sub-Riemannian manifold of vector fields X_1, …, X_k, 1 ≤ k < d, on a manifold m. They are orthonormal by
// definition: of m it takes the points and the charts, and not the metric. A field takes points, [..., d], to vectors, [..., d]; on a
// Charted manifold both are ambient, [..., a].
func Distribution(m Manifold, fields ...func(x *Node) *Node) SubRiemannian {
	if k := len(fields); k < 1 || k >= m.Dim() {
		panic(fmt.Sprintf("geom.Distribution: %d fields in dimension %d, want 1 to %d", k, m.Dim(), m.Dim()-1))
	}
	d := distribution{m, fields}
	if c, ok := m.(Charted); ok {
		return chartedDistribution{d, c}
	}
	return coordinateDistribution{d}
}

type distribution struct {
	Manifold
	fields []func(x *Node) *Node
}

func (d distribution) Rank() int { return len(d.fields) }

func (d distribution) Frame(x *Node) *Node {
	frame := make([]*Node, len(d.fields))
	for k, field := range d.fields {
		if frame[k] = field(x); !frame[k].Shape().Equal(x.Shape()) {
			panic(fmt.Sprintf("geom.Distribution: field %d is %v at points %v, want the same", k, frame[k].Shape().Dimensions, x.Shape().Dimensions))
		}
	}
	return Stack(frame, 0)
}

// coordinateDistribution is one whose points are coordinates.
type coordinateDistribution struct{ distribution }

func (d coordinateDistribution) Sharp(q, p *Node) *Node { return along(d.Frame(q), p) }

// along is Σ_a ⟨p, X_a⟩ X_a.
func along(frame, p *Node) *Node {
	return ReduceSum(Mul(frame, ReduceAndKeep(Mul(frame, ExpandAxes(p, 0)), ReduceSum, -1)), 0)
}

type chartedDistribution struct {
	distribution
	charted Charted
}

func (d chartedDistribution) AmbientDim() int { return d.charted.AmbientDim() }

func (d chartedDistribution) Chart(c *Node) Chart {
	chart := d.charted.Chart(c)
	return distributionChart{chart, d, differential(chart)}
}

// distributionChart has the fields in coordinates of a chart.
type distributionChart struct {
	Chart
	d     chartedDistribution
	known Differential // the chart, where it is one, or else nil
}

func (c distributionChart) Rank() int { return c.d.Rank() }

func (c distributionChart) Frame(x *Node) *Node {
	z := c.Point(x)
	if c.known != nil {
		return c.known.Pull(z, x, c.d.Frame(z))
	}
	return push(c.Coordinates, fresh(z), c.d.Frame(z))
}

func (c distributionChart) Sharp(x, p *Node) *Node { return along(c.Frame(x), p) }

// logPopp is the logarithm of the density of Popp's volume in coordinates x (R. Montgomery, A tour of subriemannian geometries, 2002,
// section 10.6; D. Barilari and L. Rizzi, A formula for Popp's volume in sub-Riemannian geometry, 2013). Brackets of j fields span what
// those of fewer leave over, with the inner product in which the map from k^j orthonormal tuples to their brackets is a submersion: with
// the matrix T_j of the brackets, and Q the projection along those of fewer, the density is det(Σ_j Q T_j T_jᵀ Q)^(−½). Here brackets of
// fewer than the most fields needed must be as independent as Jacobi's identity allows; NaN where they are not, or do not span all.
func logPopp(m SubRiemannian, x *Node) *Node {
	type field = func(x *Node) *Node
	k, d := m.Rank(), m.Dim()
	basis := lists.Make(k, func(a int) field {
		return func(x *Node) *Node { return Squeeze(SliceAxis(m.Frame(x), 0, AxisElem(a)), 0) }
	})
	bracket := func(u, v field) field {
		return func(x *Node) *Node { return Sub(push(v, fresh(x), u(x)), push(u, fresh(x), v(x))) }
	}
	layer, count := basis, 0
	q := linalg.Eyes(x, d)
	sum := ZerosLike(q)
	for j := 1; ; j++ {
		columns := lists.Each(layer, func(v field) *Node { return v(x) })
		t := linalg.MatMul(q, Stack(columns, -1))
		gram := linalg.MatMul(t, linalg.T(t))
		if j > 1 { // of tuples: the last two in both orders
			gram = MulScalar(gram, 2)
		}
		sum = Add(sum, gram)
		if count += len(layer); count >= d {
			return MulScalar(linalg.LogDet(sum), -0.5)
		}
		q = Sub(q, linalg.MatMul(t, linalg.Solve(linalg.MatMul(linalg.T(t), t), linalg.T(t))))
		var next []field
		for a, u := range basis {
			for b, v := range layer {
				if j > 1 || a < b {
					next = append(next, bracket(u, v))
				}
			}
		}
		if layer = next; len(layer) == 0 { // one field has no brackets
			return linalg.NaNWhere(OnesLike(ReduceSum(x, -1)), ReduceSum(x, -1))
		}
	}
}
