package geom

import (
	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
)

// conjugateStep is a step of Relax. The state c holds, with vectors that are ambient on a Charted manifold, the curves x, [B, n + 1, a],
// the direction d of the search and the step r of georce there, the next multiple α of d, [B], and at x the energy, the slopes −⟨dE, r⟩ and
// ⟨dE, d⟩, the length and the velocity at the first point.
func conjugateStep(m Manifold, c []*Node) []*Node {
	x, d, r, alpha, energy, square, slope := c[0], c[1], c[2], c[3], c[4], c[5], c[6]
	each := func(a *Node) *Node { return ExpandAxes(ExpandAxes(a, -1), -1) }
	here := At(m, x)
	inside := here.Enter(Vector, Stack([]*Node{d, r}, 0)) // one derivative of the charts for both, since these are most of what there is to compile
	there := here.Moved(Add(here.X, Mul(entry(inside, 0), each(alpha))))
	carried := there.Leave(Vector, inside)
	e := georce(m, there.Z)
	d = entry(carried, 0)
	slopes := e.slope(Concatenate([]*Node{carried, ExpandAxes(e.step, 0)}, 0))

	// The multiple at which the slope along d vanishes, from the slopes at both ends of the step, is the first to be tried next time.
	after := entry(slopes, 0)
	zero := MulScalar(alpha, 2)
	secant := Div(Mul(alpha, slope), Sub(slope, after))
	next := Where(LogicalAnd(LessThan(slope, after), LessThan(secant, zero)), Max(secant, MulScalar(alpha, 0.2)), zero)

	// d' = r' + β d, and r' alone where that leads hardly down.
	now := Neg(entry(slopes, 2))
	beta := Max(Div(Add(now, entry(slopes, 1)), square), ZerosLike(now))
	turned := Add(e.step, Mul(d, each(beta)))
	down := Sub(Mul(beta, after), now)
	restart := Not(LessThan(down, MulScalar(now, -0.1)))
	turned, down = Where(restart, e.step, turned), Where(restart, Neg(now), down)

	better := LessThan(e.energy, energy)
	out := []*Node{there.Z, turned, e.step, next, e.energy, now, down, e.length, e.velocity}
	for i := range out {
		out[i] = Where(better, out[i], c[i])
	}
	out[3] = Where(better, out[3], MulScalar(alpha, 0.3))
	return out
}

// entry is x[k].
func entry(x *Node, k int) *Node { return Squeeze(SliceAxis(x, 0, AxisElem(k)), 0) }

// discrete is a curve with n chords: its energy and length, [B], the velocity at its first point, [B, a], a step to a curve of less
// energy, [B, n + 1, a], and the slopes of the energy, [P, B], along vectors at the points, [P, B, n + 1, a].
type discrete struct {
	energy, length, velocity, step *Node
	slope                          func(v *Node) *Node
}

// georce is the iteration of F. M. Rygaard and S. Hauberg (GEORCE, 2025) for curves z, [B, n + 1, a], with fixed ends. With the chords
// u_t = x_{t+1} − x_t and the metric in their middle, the energy is
//
//	E = n/2 Σ_t ⟨p_t, u_t⟩,  p_t = g(x_t + u_t/2) u_t,  t = 0, …, n − 1.
//
// It is least where p_t − p_{t−1} = ½ (f_{t−1} + f_t), with the forces f_t = −∂H/∂q(x_t + u_t/2, p_t) of Hamilton's equations; there
// n (p_0 − ½ f_0) is the momentum of a geodesic at x_0, up to terms of second order in 1/n. While the forces and the cometrics stay,
// it is least for the chords g* (c + F_t), F_t = ½ Σ_{0<s≤t} (f_{s−1} + f_s), with c such that they end where the curve ends; the
// step leads to these. It is the gradient of E, preconditioned by the part of the Hessian that has no derivatives of the metric.
//
// On a Charted manifold chord t is in the chart at x_t. Derivatives of the changes of charts along the curve take vectors and covectors to
// the first of these charts, where they are added.
func georce(m Manifold, z *Node) discrete {
	n := z.Shape().Dim(1) - 1
	part := func(x *Node, from, to int) *Node { return SliceAxis(x, -2, AxisRange(from, to)) }
	start := At(m, part(z, 0, n))
	end := start.Moved(start.Coordinates(part(z, 1, n+1)))
	u := Sub(end.X, start.X)
	middle := Add(start.X, MulScalar(u, 0.5))
	p := flatAt(start.Manifold, middle, u)
	f := Geodesics(start.Manifold)(nil, ode.State{fresh(middle), p})[1]
	square := ReduceSum(Mul(u, p), -1)
	first := At(m, Squeeze(part(z, 0, 1), 1))
	momentum := MulScalar(Squeeze(part(Sub(p, MulScalar(f, 0.5)), 0, 1), 1), float64(n))

	slope := func(v *Node) *Node {
		p, f := linalg.Lead(p, v, 1), MulScalar(linalg.Lead(f, v, 1), 0.5)
		ahead := Mul(Add(p, f), end.Enter(Vector, part(v, 1, n+1)))
		behind := Mul(Sub(p, f), start.Enter(Vector, part(v, 0, n)))
		return MulScalar(ReduceSum(Sub(ahead, behind), -2, -1), float64(n))
	}

	// In the first chart, vectors are ψ v and covectors ψ⁻ᵀ p.
	same := func(x *Node) *Node { return x }
	enter, leave, covector, chord := same, same, same, func(p *Node) *Node { return Sharp(start.Manifold, middle, p) }
	cometric := func() *Node { return CometricMatrix(start.Manifold, middle) }
	if IsCharted(m) {
		psi := alongCharts(start, end)
		inverse := linalg.InverseGeneral(psi)
		enter = func(v *Node) *Node { return linalg.MatVec(psi, v) }
		leave = func(v *Node) *Node { return linalg.MatVec(inverse, v) }
		covector = func(p *Node) *Node { return linalg.MatVec(linalg.T(inverse), p) }
		raised, matrix := chord, cometric
		chord = func(p *Node) *Node { return enter(raised(linalg.MatVec(linalg.T(psi), p))) }
		cometric = func() *Node { return linalg.MatMul(linalg.MatMul(psi, matrix()), linalg.T(psi)) }
	}
	force := covector(f)
	force = Sub(CumSum(force, 1), MulScalar(Add(force, BroadcastToShape(part(force, 0, 1), force.Shape())), 0.5))
	u = enter(u)
	missing := ReduceSum(Sub(u, chord(force)), 1)
	var c *Node
	if k, ok := m.(PointCometric); ok {
		sum := ReduceSum(k.Gram(middle), 1)
		rows := Reshape(missing, missing.Shape().Dim(0), sum.Shape().Dim(-1), -1)
		c = Reshape(linalg.Solve(sum, rows), missing.Shape().Dimensions...)
	} else {
		c = linalg.Solve(ReduceSum(cometric(), 1), missing)
	}
	longer := Sub(chord(Add(force, BroadcastToShape(ExpandAxes(c, 1), force.Shape()))), u)
	before := Concatenate([]*Node{ZerosLike(part(u, 0, 1)), part(CumSum(longer, 1), 0, n-1)}, 1)
	step := start.Leave(Vector, leave(before))
	return discrete{
		energy:   MulScalar(ReduceSum(square, 1), 0.5*float64(n)),
		length:   ReduceSum(Sqrt(square), 1),
		velocity: first.Leave(Vector, Sharp(first.Manifold, first.X, momentum)),
		step:     Concatenate([]*Node{step, ZerosLike(part(z, n, n+1))}, 1),
		slope:    slope,
	}
}

// alongCharts returns the matrices, [B, n, d, d], that take vectors at the starts of n chords, each in the chart at its start, to the
// first of these charts: products of the derivatives of the changes from one to the next.
func alongCharts(start, end Local) *Node {
	n, d := start.Z.Shape().Dim(1), start.Dim()
	basis := start.Leave(Vector, basisAt(start.X)) // [d, B, n, a]
	part := func(from, to int) *Node { return SliceAxis(basis, 2, AxisRange(from, to)) }
	changes := end.Enter(Vector, Concatenate([]*Node{part(1, n), part(n-1, n)}, 2)) // the last one is not used
	unit := BroadcastPrefix(linalg.Eye(basis.Graph(), basis.DType(), d), start.Z.Shape().Dim(0))
	_, products := autodiff.Scan(n, func(_ *Node, product, change []*Node) (next, y []*Node) {
		return []*Node{linalg.MatMul(product[0], change[0])}, product
	}, []*Node{unit}, []*Node{TransposeAllDims(changes, 2, 1, 3, 0)})
	return TransposeAllDims(products[0], 1, 0, 2, 3)
}
