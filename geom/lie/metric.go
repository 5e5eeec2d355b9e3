package lie

import (
	"errors"
	"fmt"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/linalg"
	"anatomy/internal/dense"
	"anatomy/internal/lists"
	"anatomy/internal/refuse"
)

// Side says by which translations of the group a metric or a motion is invariant.
type Side int

const (
	Left  Side = iota // by g ↦ h g: velocities are written g' = g ξ^
	Right             // by g ↦ g h: velocities are written g' = ξ^ g
)

func (s Side) String() string { return [...]string{"left", "right"}[s] }

// LeftInvariant returns the metric ⟨g ξ^, g η^⟩ = ξᵀ A η for a symmetric positive definite matrix A, [d][d]; nil stands for the
// identity. It has geom.ClosedForms if it is bi-invariant, and on SE(n) if A is diag(B, a, …, a) with the inner product B of a bi-invariant
// metric of the rotations: as for the identity, and on SE(2) for all B. Then it is the product of the metric of the rotations and of
// a |dt|²; a geodesic turns about one axis while it moves along a straight line. Another size of A, entries that are not finite, and an A that is
// not symmetric or not positive definite are errors.
func (g *Group) LeftInvariant(a [][]float64) (geom.Charted, error) { return g.invariant(Left, a) }

// RightInvariant returns the metric ⟨ξ^ g, η^ g⟩ = ξᵀ A η; the rest is as for LeftInvariant.
func (g *Group) RightInvariant(a [][]float64) (geom.Charted, error) { return g.invariant(Right, a) }

func (g *Group) invariant(side Side, a [][]float64) (_ geom.Charted, err error) {
	defer refuse.About(&err, "%s-invariant metric on %s", side, g.name)
	d := g.Dim()
	if a == nil {
		a = dense.List(mat.NewDiagDense(d, slices.Repeat([]float64{1}, d)))
	}
	inner, err := symmetric(d, a)
	if err != nil {
		return nil, err
	}
	// Of the basis, whose vectors have units of their own: angles, lengths.
	length := lists.Make(d, func(i int) float64 { return math.Sqrt(inner.At(i, i)) })
	unit := scaled(inner, length)
	var cholesky mat.Cholesky
	if !cholesky.Factorize(unit) || cholesky.Cond() > 1e14 {
		return nil, errors.New("the inner product is not positive definite")
	}
	var inverse mat.SymDense
	if err := cholesky.InverseTo(&inverse); err != nil {
		return nil, err
	}
	m := &metric{Group: g, side: side, inner: dense.List(inner), inverse: dense.List(scaled(&inverse, length))}
	if g.skew(unit, length) {
		return biInvariant{m}, nil
	}
	if turns, ok := m.product(); ok {
		return rigidMotions{m, turns}, nil
	}
	return m, nil
}

// symmetric is a symmetric matrix with these rows.
func symmetric(d int, a [][]float64) (*mat.SymDense, error) {
	if len(a) != d {
		return nil, fmt.Errorf("an inner product of %d rows, want %d, the dimension", len(a), d)
	}
	for i, row := range a {
		if len(row) != d {
			return nil, fmt.Errorf("row %d of the inner product has %d numbers, want %d", i, len(row), d)
		}
		if j, bad := lists.NotFinite(row); bad {
			return nil, fmt.Errorf("entry (%d, %d) of the inner product is %g", i, j, row[j])
		}
	}
	to := mat.NewSymDense(d, nil)
	for i := range d {
		for j := range i + 1 {
			if math.Abs(a[i][j]-a[j][i]) > 1e-12*math.Sqrt(math.Abs(a[i][i]*a[j][j])) {
				return nil, fmt.Errorf("the inner product is not symmetric: %g at (%d, %d), %g at (%d, %d)", a[i][j], i, j, a[j][i], j, i)
			}
			to.SetSym(i, j, (a[i][j]+a[j][i])/2)
		}
	}
	return to, nil
}

// scaled is a with the entries a_ij/(s_i s_j).
func scaled(a *mat.SymDense, s []float64) *mat.SymDense {
	out := mat.NewSymDense(len(s), nil)
	for i := range s {
		for j := range i + 1 {
			out.SetSym(i, j, a.At(i, j)/(s[i]*s[j]))
		}
	}
	return out
}

// metric is an invariant metric.
type metric struct {
	*Group
	side           Side
	inner, inverse [][]float64 // A and A⁻¹
}

// skew reports that all ad_ξ are skew with respect to A, so that its metrics are bi-invariant. They are compared in the basis of the
// group divided by its lengths, whose vectors have length 1 whatever their units: unit is A in that basis.
func (g *Group) skew(unit *mat.SymDense, length []float64) bool {
	d := g.Dim()
	worst, size := 0.0, 0.0
	for i := range d {
		ad, product := mat.NewDense(d, d, nil), mat.NewDense(d, d, nil)
		for k := range d * d {
			ad.Set(k/d, k%d, g.structure[k][i]*length[k/d]/(length[i]*length[k%d]))
			size = max(size, math.Abs(ad.At(k/d, k%d)))
		}
		product.Mul(unit, ad)
		for j := range d {
			for k := range j + 1 {
				worst = max(worst, math.Abs(product.At(j, k)+product.At(k, j)))
			}
		}
	}
	return worst <= 1e-12*size
}

// invariantMetric is implemented by the metrics of this package, with closed forms or without.
type invariantMetric interface {
	geom.Charted
	of() *metric
}

func (m *metric) of() *metric { return m }

// on returns the invariant metric m, and an error if m is another manifold.
func on(m geom.Manifold) (*metric, error) {
	if m, ok := m.(invariantMetric); ok {
		return m.of(), nil
	}
	return nil, fmt.Errorf("the space is that of %T, want an invariant metric of a group, from LeftInvariant or RightInvariant", m)
}

// Rows are those of a matrix.
func (m *metric) Rows() (n, columns int, name string) { return m.size(), m.size(), "row" }

// momentum is A ξ and velocity its inverse.
func (m *metric) momentum(xi *Node) *Node { return linalg.MatVec(constant(xi, m.inner), xi) }
func (m *metric) velocity(mu *Node) *Node { return linalg.MatVec(constant(mu, m.inverse), mu) }

// translate is c z, or z c for right-invariant metrics.
func (m *metric) translate(c, z *Node) *Node {
	a := m.matrix(z)
	if m.side == Left {
		return linalg.Vectors(linalg.MatMul(c, a))
	}
	return linalg.Vectors(linalg.MatMul(a, c))
}

func (m *metric) Chart(c *Node) geom.Chart {
	centred := chart{m, m.form.nearest(m.Group, m.matrix(c))}
	if f, ok := m.form.(closed); ok {
		return closedChart{centred, f}
	}
	return centred
}

// chart is the chart in which the point with coordinates x is c exp x, or exp x · c for right-invariant metrics.
type chart struct {
	m *metric
	c *Node // [B..., N, N]
}

func (c chart) Dim() int { return c.m.Dim() }

func (c chart) Point(x *Node) *Node { return c.m.translate(linalg.Lead(c.c, x, 2), c.m.Exp(x)) }

func (c chart) Coordinates(z *Node) *Node {
	return c.m.uniqueLog(c.m.translate(linalg.Lead(c.m.form.inverse(c.m.Group, c.c), z, 2), z))
}

// Push is z (dexp v)^, or (dexp v)^ z for right-invariant metrics.
func (c chart) Push(z, x, v *Node) *Node {
	if x == nil {
		return c.m.translate(linalg.Lead(c.c, v, 2), c.m.Hat(v))
	}
	j := c.m.DExp(c.m.signed(x))
	return c.m.translate(linalg.Lead(c.m.matrix(z), v, 2), c.m.Hat(linalg.MatVec(linalg.Lead(j, v, 2), v)))
}

// Pull is dexp⁻¹ of z⁻¹ v, or v z⁻¹ for right-invariant metrics.
func (c chart) Pull(z, x, v *Node) *Node {
	if x == nil {
		return c.velocity(c.c, v)
	}
	xi := c.velocity(c.m.matrix(z), v)
	return linalg.SolveGeneral(linalg.Lead(c.m.DExp(c.m.signed(x)), xi, 2), xi)
}

// Scale compares the linear map and the translation of an affine map each with its own size, and the last row with 1.
func (c chart) Scale(_, v *Node) *Node {
	g := c.m.Group
	all := func(x *Node, axes ...int) *Node {
		return BroadcastToShape(Sqrt(ReduceAndKeep(Square(x), ReduceSum, axes...)), x.Shape())
	}
	linear, shift := g.parts(g.matrix(v))
	if shift == nil {
		return all(v, -1)
	}
	size := linalg.Vectors(join(all(linear, -2, -1), all(shift, -1), 0))
	last := make([]float64, g.AmbientDim())
	for k := g.space * g.size(); k < len(last); k++ {
		last[k] = 1
	}
	return Add(size, BroadcastToShape(ExpandLeftToRank(ConstAsDType(v.Graph(), v.DType(), last), size.Rank()), size.Shape()))
}

// velocity is the element of the Lie algebra of a tangent vector v at z.
func (c chart) velocity(z, v *Node) *Node {
	return c.m.Vee(c.m.translate(linalg.Lead(c.m.form.inverse(c.m.Group, z), v, 2), v))
}

// signed is ∓x: dexp_(∓x) takes x' to the velocity ξ.
func (m *metric) signed(x *Node) *Node {
	if m.side == Left {
		return Neg(x)
	}
	return x
}

// G is dexpᵀ A dexp.
func (c chart) G(x *Node) *Node {
	j := c.m.DExp(c.m.signed(x))
	return linalg.MatMul(linalg.T(j), linalg.MatMul(constant(x, c.m.inner), j))
}

// closedChart is a chart with the inverse of dexp.
type closedChart struct {
	chart
	form closed
}

func (c closedChart) Pull(z, x, v *Node) *Node {
	if x == nil {
		return c.chart.Pull(z, x, v)
	}
	xi := c.velocity(c.m.matrix(z), v)
	return linalg.MatVec(linalg.Lead(c.form.inverseDExp(c.m.Group, c.m.signed(x)), xi, 2), xi)
}

// Sharp is dexp⁻¹ A⁻¹ dexp⁻ᵀ p.
func (c closedChart) Sharp(x, p *Node) *Node {
	j := c.form.inverseDExp(c.m.Group, c.m.signed(x))
	return linalg.MatVec(j, c.m.velocity(linalg.MatVec(linalg.T(j), p)))
}

// biInvariant is a metric whose geodesics are z exp tξ, ξ = z⁻¹v.
type biInvariant struct{ *metric }

// relative is z⁻¹ v, or v z⁻¹ for right-invariant metrics: for a tangent vector v at z its matrix ξ^, and for a point v the element
// of the group that takes z to v.
func (m biInvariant) relative(z, v *Node) *Node {
	return m.translate(m.form.inverse(m.Group, m.matrix(z)), v)
}

// Exp is z exp(z⁻¹v).
func (m biInvariant) Exp(z, v *Node) *Node {
	return m.translate(m.matrix(z), m.Group.Exp(m.Vee(m.relative(z, v))))
}

// Log is z log(z⁻¹y).
func (m biInvariant) Log(z, y *Node) *Node {
	return m.translate(m.matrix(z), m.Hat(m.uniqueLog(m.relative(z, y))))
}

// Transport is z h (z⁻¹w) h, h = exp(½ z⁻¹v).
func (m biInvariant) Transport(z, v, w *Node) *Node {
	half := m.Group.Exp(MulScalar(m.Vee(m.relative(z, v)), 0.5))
	return m.translate(m.matrix(z), m.Mul(m.Mul(half, m.relative(z, w)), half))
}

// product is the bi-invariant metric of the rotations of which a left-invariant one of SE(n) is the product with a multiple of the metric
// of R^n, if it is one.
func (m *metric) product() (biInvariant, bool) {
	if _, invertible := m.form.(general); !m.affine || invertible || m.side == Right {
		return biInvariant{}, false
	}
	turns := m.Dim() - m.space
	unit := m.inner[turns][turns]
	b := make([][]float64, turns)
	for i, row := range m.inner {
		for j, v := range row[turns:] {
			if i == turns+j {
				v -= unit
			}
			if math.Abs(v) > 1e-12*math.Sqrt(m.inner[i][i]*unit) {
				return biInvariant{}, false
			}
		}
		if i < turns {
			b[i] = row[:turns]
		}
	}
	found, err := SO(m.space).LeftInvariant(b)
	rotations, ok := found.(biInvariant)
	return rotations, ok && err == nil
}

// rigidMotions is a metric of SE(n) that is a product: its geodesics are a geodesic of the rotations and a straight line.
type rigidMotions struct {
	*metric
	rotations biInvariant
}

// apart are the rotation, row by row, and the translation of an element, or these parts of a tangent vector.
func (m rigidMotions) apart(z *Node) (rotation, shift *Node) {
	r, t := m.parts(m.matrix(z))
	return linalg.Vectors(r), t
}

// together is the inverse of apart, for elements with the last number 1 and for vectors with 0.
func (m rigidMotions) together(rotation, shift *Node, last float64) *Node {
	return linalg.Vectors(join(m.rotations.matrix(rotation), shift, last))
}

func (m rigidMotions) Exp(z, v *Node) *Node {
	r, t := m.apart(z)
	dr, dt := m.apart(v)
	return m.together(m.rotations.Exp(r, dr), Add(t, dt), 1)
}

func (m rigidMotions) Log(z, y *Node) *Node {
	r, t := m.apart(z)
	end, there := m.apart(y)
	return m.together(m.rotations.Log(r, end), Sub(there, t), 0)
}

func (m rigidMotions) Transport(z, v, w *Node) *Node {
	r, _ := m.apart(z)
	dr, _ := m.apart(v)
	moved, shift := m.apart(w)
	return m.together(m.rotations.Transport(r, dr, moved), shift, 0)
}
