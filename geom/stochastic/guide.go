package stochastic

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/autodiff"
	"anatomy/geom/linalg"
)

// guide leads paths to their ends v, [B, a]. Its states x describe points in coordinates that each guide chooses.
type guide interface {
	enter(z *Node) *Node                  // the state of a point
	leave(x *Node) *Node                  // the point of a state
	logDensity(x, T *Node) *Node          // the log weight, [B], before all steps
	step(s step) (next, logWeights *Node) // the state after a step and what the step adds to the log weights
	wound(x *Node) *Node                  // whether states are beyond the cut locus of their ends, 0 or 1, [B]
}

func newGuide(m geom.Manifold, proposal Proposal, v *Node) guide {
	switch {
	case proposal == DelyonHu:
		return delyonHu{newQuadratic(m, v)}
	case inCharts(m, proposal):
		return vanDerMeulenSchauer{newQuadratic(m, v)}
	}
	return newSummed(m, v)
}

// inCharts reports whether paths are those in the chart at their end. The distance alone will not do for a geom.Winding: where its cut
// loci are hypersurfaces, paths that cross them would weigh too little or too much, and nothing would tell.
func inCharts(m geom.Manifold, proposal Proposal) bool {
	if w, ok := m.(geom.Winding); ok {
		return proposal == DelyonHu || w.Windings() == nil
	}
	_, closed := m.(geom.ClosedForms)
	return proposal == DelyonHu || !closed
}

// summed is Guided with q = (2πτ)^{−d/2} Σ_c a_c e^{−ρ_c/τ}, a function on the manifold: the sum over the geodesics of a geom.Winding,
// and the one with ρ = ½ d(x, v)² elsewhere.
type summed struct {
	m   geom.Manifold
	v   *Node
	log func(z, tau *Node) *Node // log Σ_c a_c e^{−ρ_c/τ}, [...], for z of [..., B, a] and τ of [..., B]
}

func newSummed(m geom.Manifold, v *Node) summed {
	lead := func(x, z *Node) *Node { return BroadcastPrefix(x, z.Shape().Dimensions[:z.Rank()-2]...) }
	if w, ok := m.(geom.Winding); ok {
		sum := w.Windings()
		return summed{m, v, func(z, tau *Node) *Node { return sum(lead(v, z), z, tau) }}
	}
	at := geom.At(m, v)
	g := geom.MetricMatrix(at.Manifold, at.X) // ‖w‖² = wᵀ g w of tangent vectors at v, [B, a, a]
	if geom.IsCharted(m) {
		j := autodiff.Jacobian(at.Coordinates, Identity(v)) // [B, d, a]
		g = linalg.MatMul(linalg.T(j), linalg.MatMul(g, j))
	}
	return summed{m, v, func(z, tau *Node) *Node {
		w := m.(geom.ClosedForms).Log(lead(v, z), z)
		return MulScalar(Div(dot(linalg.MatVec(lead(g, z), w), w), tau), -0.5)
	}}
}

func (g summed) enter(z *Node) *Node { return z }
func (g summed) leave(x *Node) *Node { return x }
func (g summed) wound(x *Node) *Node { return ReduceSum(ZerosLike(x), -1) }

func (g summed) logDensity(x, T *Node) *Node {
	return Add(g.log(x, BroadcastToDims(T, x.Shape().Dim(0))), logGauss(g.m.Dim(), ScalarZero(T.Graph(), T.DType()), T))
}

// logGauss is log (2πt)^{−d/2} e^{−ρ/t}.
func logGauss(d int, rho, t *Node) *Node {
	return Neg(Add(Div(rho, t), MulScalar(Log(MulScalar(t, 2*math.Pi)), float64(d)/2)))
}

// step follows ∇f, f = log Σ_c a_c e^{−ρ_c/τ}, and adds (∂_t + ½Δ)q/q = d/2τ − ∂_τ f + ½ Δf + ½ ‖∇f‖² over time.
func (g summed) step(s step) (next, logWeights *Node) {
	at := geom.At(g.m, s.z)
	tau := BroadcastToDims(s.tau, s.z.Shape().Dim(0))
	trace := geom.ChristoffelTrace(at.Manifold, at.X)
	var rise *Node
	if c, ok := g.m.(geom.ClosedWinding); ok {
		var growth *Node
		rise, growth = c.Guide(g.v, s.z, tau)
		rise, logWeights = at.Enter(geom.Vector, rise), Mul(Squeeze(s.dt, -1), growth)
	} else {
		slopes, hessian := autodiff.Hessian(func(x []*Node) *Node { return g.log(at.Point(x[0]), x[1]) }, at.X, tau)
		rise = geom.Sharp(at.Manifold, at.X, slopes[0])
		growth := Add(geom.Laplacian(at.Manifold, at.X, trace, slopes[0], hessian), Sub(dot(slopes[0], rise), MulScalar(slopes[1], 2)))
		logWeights = s.over(AddScalar(Mul(s.tau, growth), float64(g.m.Dim()))) // of 2τ (∂_t + ½Δ)q/q
	}
	drift := Add(MulScalar(trace, -0.5), rise)
	return at.Point(s.euler(at.X, drift, geom.Orthonormal(at.Manifold, at.X))), logWeights
}

// over is ½ growth dt/τ.
func (s step) over(growth *Node) *Node {
	return MulScalar(Mul(Squeeze(Div(s.dt, s.tau), -1), growth), 0.5)
}

// euler is the step x + h drift + √(h τ'/τ) E ξ.
func (s step) euler(x, drift, frame *Node) *Node {
	noise := linalg.MatVec(frame, s.xi)
	return Add(Add(x, Mul(s.h, drift)), Mul(Mul(s.rootH(), s.root), noise))
}

// rootH is √h, with the derivative 0 where a path rests.
func (s step) rootH() *Node {
	rests := IsZero(s.h)
	return Where(rests, s.h, Sqrt(Where(rests, OnesLike(s.h), s.h)))
}

// quadratic is the part that two guides share: coordinates, on a Charted manifold those of the chart centred at v.
type quadratic struct {
	geom.Local // at v
	m          geom.Manifold
	v          *Node // [B, d]
	g          *Node // g(v), [B, d, d]
	moves      bool  // the chart is that of a Charted manifold
}

func newQuadratic(m geom.Manifold, v *Node) quadratic {
	at := geom.At(m, v)
	return quadratic{at, at.Manifold, at.X, geom.MetricMatrix(at.Manifold, at.X), geom.IsCharted(m)}
}

func (q quadratic) enter(z *Node) *Node { return q.Coordinates(z) }
func (q quadratic) leave(x *Node) *Node { return q.Point(x) }

// wound compares coordinates with those that their point has within the cut locus of the end.
func (q quadratic) wound(x *Node) *Node {
	if !q.moves {
		return ReduceSum(ZerosLike(x), -1)
	}
	x = StopGradient(x)
	off := ReduceSum(Abs(Sub(q.Coordinates(q.Point(x)), x)), -1) // a maximum may pass over NaN
	same := LessOrEqual(off, AddScalar(MulScalar(ReduceMax(Abs(x), -1), 1e-3), 1e-9))
	return ConvertDType(LogicalNot(same), x.DType())
}

func dot(a, b *Node) *Node { return ReduceSum(Mul(a, b), -1) }

// vanDerMeulenSchauer is Guided with ρ = ½ (x − v)ᵀ g(v) (x − v).
type vanDerMeulenSchauer struct{ quadratic }

func (q vanDerMeulenSchauer) logDensity(x, T *Node) *Node {
	w := Sub(x, q.v)
	return logGauss(q.m.Dim(), MulScalar(dot(w, linalg.MatVec(q.g, w)), 0.5), T)
}

func (q vanDerMeulenSchauer) step(s step) (next, logWeights *Node) {
	x := s.z
	w := Sub(x, q.v)
	slope := linalg.MatVec(q.g, w) // ∇ρ
	trace, frame := geom.ChristoffelTrace(q.m, x), geom.Orthonormal(q.m, x)
	inFrame := linalg.MatVec(linalg.T(frame), slope)
	laplacian := Sub(ReduceSum(Mul(frame, linalg.MatMul(q.g, frame)), -1, -2), dot(trace, slope))
	first := Neg(AddScalar(laplacian, -float64(q.m.Dim())))
	second := Div(Sub(dot(inFrame, inFrame), dot(w, slope)), s.tau)
	logWeights = s.over(Add(first, second))
	drift := Neg(Add(MulScalar(trace, 0.5), Div(linalg.MatVec(frame, inFrame), s.tau)))
	return s.euler(x, drift, frame), logWeights
}

// delyonHu is DelyonHu. The weight of a step is the ratio of the densities N(x + h b, h g*) and
// N(x + h b + (h/τ)(v − x), (τ'/τ) h g*), where b is the drift of Brownian motion; that of the last step is the first density at v.
type delyonHu struct{ quadratic }

// logDensity is −log √det g(v), which makes the density one with respect to the Riemannian volume.
func (q delyonHu) logDensity(_, _ *Node) *Node { return Neg(geom.LogVolume(q.m, q.v)) }

func (q delyonHu) step(s step) (next, logWeights *Node) {
	x := s.z
	d := float64(q.m.Dim())
	drift, frame := MulScalar(geom.ChristoffelTrace(q.m, x), -0.5), geom.Orthonormal(q.m, x)
	pull := Div(Sub(q.v, x), s.tau)
	next = s.euler(x, Add(drift, pull), frame)

	// The step without h b, in the frame; the last one goes to v whatever b is.
	last := IsZero(s.root)
	toEnd := linalg.SolveTriangular(frame, Sub(pull, Where(BroadcastToShape(last, drift.Shape()), drift, ZerosLike(drift))), true, false)
	move := Add(Mul(s.root, s.xi), Mul(s.rootH(), toEnd)) // over √h
	logWeights = MulScalar(dot(move, move), -0.5)
	root := Where(last, OnesLike(s.root), s.root)
	regular := MulScalar(dot(s.xi, s.xi), 0.5)
	regular = Add(regular, Squeeze(MulScalar(Log(root), d), -1))
	eye := ExpandLeftToRank(linalg.Eye(x.Graph(), x.DType(), q.m.Dim()), 3)
	logDet := ReduceSum(Log(ReduceSum(Mul(frame, eye), -1)), -1)
	h := Where(last, s.h, OnesLike(s.h))
	end := Neg(Add(logDet, Squeeze(MulScalar(Log(MulScalar(h, 2*math.Pi)), d/2), -1)))
	return next, Add(logWeights, Where(Squeeze(last, -1), end, regular))
}
