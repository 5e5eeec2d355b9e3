package lie

import (
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/autodiff"
	"anatomy/geom/linalg"
	"anatomy/geom/shape"
	"anatomy/internal/lists"
	"anatomy/internal/refuse"
)

// Homogeneous is a homogeneous space G/H with the metric to which a left-invariant metric of G descends: see Quotient.
type Homogeneous interface {
	geom.Charted
	// Total is G with its metric. The projection g ↦ gH is a Riemannian submersion of it.
	Total() geom.Charted
	// Split returns orthonormal bases of the horizontal vectors 𝔪, [d][dim G], and of the vertical ones 𝔥, [dim H][dim G]: coordinates
	// in the Lie algebra of G.
	Split() (horizontal, vertical [][]float64)
}

// Quotient returns the homogeneous space G/H of a group G with a left-invariant metric A and a closed connected subgroup H, which is given
// by its Lie algebra 𝔥: vectors of coordinates that span it, the rows of isotropy. For example the sphere is SO(3) by the rotations about
// z, {{0, 0, 1}}.
//
// A point is an element g of G, N² numbers, and all g h with h in H are the same point, the fibre over it. Fibres are projected to a
// familiar form by what H leaves as it is: g e_3 on the sphere. A velocity g ξ^ is vertical, along the fibre, for ξ in 𝔥, and horizontal
// for ξ in the complement 𝔪 that is A-orthogonal to 𝔥; tangent vectors of G/H are the horizontal ones, and Space.Project removes the
// vertical part of others. Their inner product is A. This depends on the point only, not on its g, where the inner product of 𝔪 is
// invariant under Ad of H; otherwise the metric does not descend, which is an error, and so are vectors that do not span a subalgebra.
//
// Charts are x ↦ c exp x with x in 𝔪, so that paths of G/H come with horizontal lifts to G: of geodesics, of Brownian motion, of bridges
// between two fibres, of most probable paths. The points that functions of other packages return are those of the lifts, exactly where
// there are closed forms, and elsewhere in the limit of short steps.
//
// If G/H is naturally reductive, A([x, y], z) = A(x, [y, z]) for x, y, z in 𝔪, it has closed forms: geodesics are g exp tξ, ξ in 𝔪, and
// parallel transport along them is ω ↦ exp(−½ [ξ, ·]_𝔪) ω. Bi-invariant A and all symmetric spaces are so (S. Kobayashi and K. Nomizu,
// Foundations of differential geometry II, 1969, chapter X). Log searches the fibre of the end from 2 dim H + 1 places until the vector is
// horizontal, and takes the shortest. Where the end is conjugate to the start, to about 1e-8, as antipodes of a sphere are, there is no one
// shortest vector, and Log is an error.
func Quotient(m geom.Charted, isotropy [][]float64) (_ Homogeneous, err error) {
	defer refuse.About(&err, "Quotient")
	total, err := on(m)
	if err != nil {
		return nil, err
	}
	if total.side != Left {
		return nil, fmt.Errorf("the metric of %s is right-invariant: take one from LeftInvariant", total.name)
	}
	for i, v := range isotropy {
		if err := total.checkCoordinates(fmt.Sprintf("vector %d of the subalgebra", i), v); err != nil {
			return nil, err
		}
	}
	q := &quotient{total: m, m: total}
	if err := q.split(isotropy); err != nil {
		return nil, err
	}
	return q.classified()
}

// quotient is a homogeneous space.
type quotient struct {
	total                geom.Charted
	m                    *metric
	horizontal, vertical [][]float64 // orthonormal bases of 𝔪 and 𝔥
	dual                 [][]float64 // takes vectors of the Lie algebra to coordinates in both bases, horizontal first, [dim G][dim G]
	polar                bool        // horizontal matrices are symmetric and vertical ones skew
}

// inA is A(ξ, η).
func (m *metric) inA(xi, eta []float64) (sum float64) {
	for i, row := range m.inner {
		sum += xi[i] * floats.Dot(row, eta)
	}
	return sum
}

// bracket is [ξ, η].
func (g *Group) bracket(xi, eta []float64) []float64 {
	d := g.Dim()
	out := make([]float64, d)
	for k := range out {
		for j := range d {
			out[k] += floats.Dot(g.structure[k*d+j], xi) * eta[j]
		}
	}
	return out
}

// split makes the bases by Gram and Schmidt, with the longest remainder first.
func (q *quotient) split(isotropy [][]float64) error {
	const independent = 1e-9
	d := q.m.Dim()
	var basis [][]float64
	length := func(v []float64) float64 { return math.Sqrt(q.m.inA(v, v)) }
	remainder := func(v []float64) []float64 {
		v = slices.Clone(v)
		for range 2 { // twice is enough
			for _, e := range basis {
				floats.AddScaled(v, -q.m.inA(e, v), e)
			}
		}
		return v
	}
	add := func(v []float64) { basis = append(basis, floats.ScaleTo(make([]float64, d), 1/length(v), v)) }
	for i, v := range isotropy {
		r := remainder(v)
		if !(length(r) > independent*length(v)) {
			return fmt.Errorf("vector %d of the subalgebra depends on those before it", i)
		}
		add(r)
	}
	q.vertical = slices.Clone(basis)
	if len(basis) == d {
		return fmt.Errorf("the subalgebra has the dimension of the group: the quotient is a point")
	}
	for len(basis) < d {
		var best []float64
		most := 0.0
		for k := range d {
			unit := make([]float64, d)
			unit[k] = 1 / math.Sqrt(q.m.inner[k][k])
			if r := remainder(unit); length(r) > most*(1+1e-9) {
				best, most = r, length(r)
			}
		}
		add(best)
	}
	q.horizontal = basis[len(isotropy):]
	for _, e := range slices.Concat(q.horizontal, q.vertical) {
		row := lists.Make(d, func(i int) float64 { return floats.Dot(q.m.inner[i], e) })
		q.dual = append(q.dual, row)
	}
	return nil
}

// classified checks that the metric descends, and adds closed forms where they exist.
func (q *quotient) classified() (Homogeneous, error) {
	const tolerance = 1e-10
	m, h := q.horizontal, q.vertical
	size := 0.0
	for _, a := range slices.Concat(m, h) {
		for _, b := range slices.Concat(m, h) {
			c := q.m.bracket(a, b)
			size = max(size, math.Sqrt(q.m.inA(c, c)))
		}
	}
	// largest |Σ over the orders of A(w, [u, v])| for u, v, w in three bases.
	worst := func(a, b, c [][]float64, both bool) (most float64) {
		for _, u := range a {
			for _, v := range b {
				for _, w := range c {
					value := q.m.inA(w, q.m.bracket(u, v))
					if both {
						value += q.m.inA(v, q.m.bracket(u, w))
					}
					most = max(most, math.Abs(value))
				}
			}
		}
		return most
	}
	if off := worst(h, h, m, false); off > tolerance*size {
		return nil, fmt.Errorf("the vectors span no subalgebra: their brackets leave it by %.3g, where brackets are up to %.3g long", off, size)
	}
	if off := worst(h, m, m, true); off > tolerance*size {
		return nil, fmt.Errorf("the metric does not descend: along the fibres inner products of horizontal vectors change at the rate %.3g; "+
			"take one that is invariant under Ad of the subgroup", off)
	}
	q.polar = true
	for k, v := range slices.Concat(m, h) {
		sign := 1.0
		if k >= len(m) {
			sign = -1
		}
		xi, _ := q.m.Tangent(v...) // of dim G coordinates
		a := mat.NewDense(q.m.size(), q.m.size(), xi)
		for i := range q.m.size() {
			for j := range i + 1 {
				q.polar = q.polar && math.Abs(a.At(i, j)-sign*a.At(j, i)) <= tolerance*mat.Norm(a, 2)
			}
		}
	}
	if worst(h, m, h, false) <= tolerance*size && worst(m, m, m, true) <= tolerance*size {
		return naturallyReductive{q}, nil
	}
	return q, nil
}

func (q *quotient) Dim() int            { return len(q.horizontal) }
func (q *quotient) AmbientDim() int     { return q.m.AmbientDim() }
func (q *quotient) Total() geom.Charted { return q.total }
func (q *quotient) Split() (horizontal, vertical [][]float64) {
	return q.horizontal, q.vertical
}

// Rows are those of a matrix.
func (q *quotient) Rows() (n, columns int, name string) { return q.m.Rows() }

// lift is the vector of the Lie algebra with coordinates x in 𝔪, [..., dim G]; drop takes one to those of its horizontal part, [..., d].
func (q *quotient) lift(x *Node) *Node { return linalg.MatVec(linalg.T(constant(x, q.horizontal)), x) }
func (q *quotient) drop(xi *Node) *Node {
	return linalg.MatVec(constant(xi, q.dual[:q.Dim()]), xi)
}

// velocity is ξ of the tangent vector v = z ξ^ of the group.
func (q *quotient) velocity(z, v *Node) *Node {
	return q.m.Vee(linalg.Vectors(linalg.MatMul(q.m.form.inverse(q.m.Group, q.m.matrix(z)), q.m.matrix(v))))
}

func (q *quotient) Chart(c *Node) geom.Chart {
	return quotientChart{chart{q.m, q.m.form.nearest(q.m.Group, q.m.matrix(c))}, q}
}

// quotientChart is x ↦ c exp x, x in 𝔪.
type quotientChart struct {
	on chart
	q  *quotient
}

func (c quotientChart) Dim() int { return c.q.Dim() }

func (c quotientChart) Point(x *Node) *Node { return c.on.Point(c.q.lift(x)) }

func (c quotientChart) Coordinates(z *Node) *Node {
	inverse := c.q.m.form.inverse(c.q.m.Group, c.on.c)
	return c.q.local(c.q.m.translate(linalg.Lead(inverse, z, 2), z))
}

func (c quotientChart) Push(z, x, v *Node) *Node {
	if x != nil {
		x = c.q.lift(x)
	}
	return c.on.Push(z, x, c.q.lift(v))
}

// Pull is x' with v = (w h)' for w = c exp x: the horizontal part of dexp_(−x) x' is that of w⁻¹ v h⁻¹, h = w⁻¹ z.
func (c quotientChart) Pull(z, x, v *Node) *Node {
	if x == nil {
		return c.q.drop(c.on.velocity(c.on.c, v))
	}
	g := c.q.m.Group
	w := c.Point(x)
	turned := linalg.MatMul(g.matrix(v), linalg.Lead(g.matrix(g.Mul(g.Inverse(z), w)), v, 2))
	xi := c.q.drop(c.on.velocity(g.matrix(w), linalg.Vectors(turned)))
	return linalg.SolveGeneral(linalg.Lead(c.q.slope(x), xi, 2), xi)
}

// G is JᵀJ, J x' the horizontal part of dexp_(−x) x'.
func (c quotientChart) G(x *Node) *Node {
	j := c.q.slope(x)
	return linalg.MatMul(linalg.T(j), j)
}

func (c quotientChart) Scale(z, v *Node) *Node { return c.on.Scale(z, v) }

func (c quotientChart) Horizontal(z, v *Node) *Node {
	return c.q.m.Mul(z, c.q.m.Hat(c.q.lift(c.q.drop(c.q.velocity(z, v)))))
}

// local returns x in 𝔪, [..., d], with k = exp x · h for an h in H, of elements k of the group, [..., N²]; NaN where it finds none.
func (q *quotient) local(k *Node) *Node {
	if q.polar { // h cancels in k kᵀ = exp 2x
		a := q.m.matrix(k)
		return q.drop(q.m.Vee(linalg.Vectors(MulScalar(linalg.SymLog(linalg.MatMul(a, linalg.T(a))), 0.5))))
	}
	const (
		close = 1e-10
		turns = 15
		steps = turns + 6
	)
	g, d := q.m.Group, q.Dim()
	vertical := func(zeta *Node) *Node { return linalg.MatVec(constant(zeta, q.dual[d:]), zeta) }
	off := func(zeta *Node) *Node { return ReduceAndKeep(Abs(vertical(zeta)), ReduceSum, -1) } // a maximum may pass over NaN
	// k is turned in its fibre until ζ = log k is horizontal, which is shortest there. For a bi-invariant metric −ζ's vertical part is the
	// slope of ½ |ζ|²: the first steps go down by it. The last are Newton's, as ζ of k exp(−δ) is ζ − dexp⁻¹_(−ζ) δ for small δ.
	zeta := g.Log(k)
	far := GreaterThan(off(zeta), MulScalar(OnesLike(off(zeta)), close))
	count := MulScalar(ReduceAllMax(ConvertDType(far, dtypes.Int32)), steps)
	zeta = autodiff.Repeat(count, func(i *Node, c []*Node) []*Node {
		k, zeta := c[0], c[1]
		down := vertical(zeta)
		first := BroadcastToShape(LessThan(i, Const(i.Graph(), int32(turns))), down.Shape())
		delta := Where(first, down, linalg.SolveGeneral(q.alongFibre(zeta), down))
		k = g.Mul(k, g.Exp(Neg(linalg.MatVec(linalg.T(constant(zeta, q.vertical)), delta))))
		return []*Node{k, g.Log(k)}
	}, []*Node{k, zeta})[1]
	missed := off(zeta)
	x := linalg.NaNWhere(Not(LessThan(missed, MulScalar(OnesLike(missed), 100*close))), q.drop(zeta))
	var found *Node
	// As h = exp(−x) k, the horizontal part of dexp_(−x) x' is that of exp(−x) k' k⁻¹ exp x.
	found = autodiff.CustomVJP([]*Node{k}, []*Node{x}, func(ct []*Node) []*Node {
		x := q.lift(found)
		force := linalg.SolveGeneral(linalg.T(q.slope(found)), ct[0])
		a := g.veeDual(linalg.MatVec(linalg.T(constant(force, q.dual[:d])), force))
		left, right := g.matrix(g.Exp(Neg(x))), g.matrix(g.Mul(g.Inverse(k), g.Exp(x)))
		return []*Node{linalg.Vectors(linalg.MatMul(linalg.MatMul(linalg.T(left), a), linalg.T(right)))}
	})[0]
	return found
}

// slope is the matrix that takes x' to the horizontal part of dexp_(−x) x', [..., d, d].
func (q *quotient) slope(x *Node) *Node {
	j := linalg.MatMul(q.m.DExp(Neg(q.lift(x))), linalg.T(constant(x, q.horizontal)))
	return linalg.MatMul(constant(x, q.dual[:q.Dim()]), j)
}

// naturallyReductive has geodesics g exp tξ.
type naturallyReductive struct{ *quotient }

// Exp is z exp(z⁻¹v).
func (q naturallyReductive) Exp(z, v *Node) *Node {
	return q.m.Mul(z, q.m.Group.Exp(q.lift(q.drop(q.velocity(z, v)))))
}

// Log is z x^ with exp x · h = z⁻¹y.
func (q naturallyReductive) Log(z, y *Node) *Node {
	return q.m.Mul(z, q.m.Hat(q.lift(q.shortest(q.m.Mul(q.m.Inverse(z), y)))))
}

// shortest is local from those elements of the fibre of k from which it leads to the shortest x; NaN where the end is conjugate to the start.
func (q naturallyReductive) shortest(k *Node) *Node {
	if q.polar {
		return q.local(k)
	}
	const angle, conjugate = 2 * math.Pi / 3, 1e-8
	g := q.m.Group
	turns := [][]float64{make([]float64, g.Dim())}
	for _, v := range q.vertical {
		xi, _ := q.m.Tangent(v...) // of dim G coordinates
		by := angle / mat.Norm(mat.NewDense(q.m.size(), q.m.size(), xi), 2)
		turns = append(turns, floats.ScaleTo(make([]float64, len(v)), by, v), floats.ScaleTo(make([]float64, len(v)), -by, v))
	}
	n := len(turns)
	h := g.Exp(constant(k, turns)) // [n, N²]
	for h.Rank() <= k.Rank() {
		h = ExpandAxes(h, 1)
	}
	all := BroadcastPrefix(StopGradient(k), n)
	h = BroadcastToShape(h, all.Shape())
	squares := ReduceAndKeep(Square(StopGradient(q.local(g.Mul(all, h)))), ReduceSum, -1)
	of := func(x *Node, i int) *Node { return Squeeze(SliceAxis(x, 0, AxisElem(i)), 0) }
	best, least := of(h, 0), of(squares, 0)
	for i := 1; i < n; i++ {
		shorter := LogicalOr(LessThan(of(squares, i), MulScalar(least, 1-1e-9)), LogicalAnd(Not(IsFinite(least)), IsFinite(of(squares, i))))
		best, least = Where(BroadcastToShape(shorter, best.Shape()), of(h, i), best), Where(shorter, of(squares, i), least)
	}
	x := q.local(g.Mul(k, best))
	bent := Abs(linalg.Det(StopGradient(q.alongFibre(q.lift(x)))))
	return linalg.NaNWhere(ExpandAxes(LessOrEqual(bent, MulScalar(OnesLike(bent), conjugate)), -1), x)
}

// alongFibre is the derivative of the vertical part of log k when k moves along its fibre, where log k is ζ, [..., dim H, dim H]. Where it is
// singular and ζ is horizontal, the ends of the fibre's horizontal vectors are conjugate to the start.
func (q *quotient) alongFibre(zeta *Node) *Node {
	basis := linalg.T(constant(zeta, q.vertical))
	return linalg.MatMul(constant(zeta, q.dual[q.Dim():]), linalg.SolveGeneral(q.m.DExp(Neg(zeta)), linalg.Lead(basis, zeta, 2)))
}

// Transport is z exp ξ (exp(−½ [ξ, ·]_𝔪) ω)^, ξ = z⁻¹v, ω = z⁻¹w.
func (q naturallyReductive) Transport(z, v, w *Node) *Node {
	xi := q.lift(q.drop(q.velocity(z, v)))
	ad := linalg.MatMul(q.m.adjoint(xi), linalg.T(constant(xi, q.horizontal)))
	ad = linalg.MatMul(constant(xi, q.dual[:q.Dim()]), ad)
	omega := linalg.MatVec(linalg.Expm(MulScalar(ad, -0.5)), q.drop(q.velocity(z, w)))
	return q.m.Mul(q.m.Mul(z, q.m.Group.Exp(xi)), q.m.Hat(q.lift(omega)))
}

// ONeill returns the two parts of the sectional curvature of a space from Quotient in the plane of horizontal vectors u and v at z: that
// of the plane in the group, and ¾ |[ξ, η]_𝔥|² for an orthonormal basis ξ, η of it, which is never negative (B. O'Neill, The
// fundamental equations of a submersion, 1966). Their sum is Space.SectionalCurvature. Vectors that are not horizontal, or span no plane,
// are an error.
func ONeill[P geom.Point](over geom.Of[P], z, u, v P) (group, fibre float64, err error) {
	defer refuse.About(&err, "ONeill")
	s := over.Geometry()
	m, ok := s.M.(interface{ of() *quotient })
	if !ok {
		return 0, 0, fmt.Errorf("the space is that of %T, want one from Quotient", s.M)
	}
	if err := s.Check("point", z, u, v); err != nil {
		return 0, 0, err
	}
	out, err := s.Call(operation{name: "ONeill"}, func(in []*Node) []*Node {
		q := m.of()
		xi, eta := q.lift(q.drop(q.velocity(in[0], in[1]))), q.lift(q.drop(q.velocity(in[0], in[2])))
		inner := func(a, b *Node) *Node { return ReduceSum(Mul(a, q.m.momentum(b)), -1) }
		squares := Mul(inner(xi, xi), inner(eta, eta))
		area := Sub(squares, Square(inner(xi, eta)))
		along := linalg.MatVec(constant(xi, q.dual[q.Dim():]), q.m.Bracket(xi, eta))
		return []*Node{geom.SectionalCurvature(q.total, in[0], in[1], in[2]),
			Div(MulScalar(ReduceSum(Square(along), -1), 0.75), area), Div(area, squares)}
	}, shape.Flat(z), shape.Flat(u), shape.Flat(v))
	if err != nil {
		return 0, 0, err
	}
	if sine2 := out.Scalar(2); !(sine2 > 1e-12) {
		return 0, 0, fmt.Errorf("the vectors span no plane: the square of the sine of their angle is %.3g", sine2)
	}
	return out.Scalar(0), out.Scalar(1), nil
}

func (q *quotient) of() *quotient { return q }
