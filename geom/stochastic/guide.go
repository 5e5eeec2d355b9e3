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
	enter(z *Node) *Node         // the state of a point
	leave(x *Node) *Node         // the point of a state
	logDensity(x, T *Node) *Node // the log weight, [B], before all steps
	// step returns the state after a step, what the step adds to the log weights, and step.ratio if it is wanted.
	step(s step) (next, logWeights, law *Node)
	wound(x, h *Node) *Node // whether paths pass the cut loci of their ends in a step of length h from x, 0 or 1, [B]
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

func (g summed) enter(z *Node) *Node    { return z }
func (g summed) leave(x *Node) *Node    { return x }
func (g summed) wound(x, _ *Node) *Node { return ReduceSum(ZerosLike(x), -1) }

func (g summed) logDensity(x, T *Node) *Node {
	return Add(g.log(x, BroadcastToDims(T, x.Shape().Dim(0))), logGauss(g.m.Dim(), ScalarZero(T.Graph(), T.DType()), T))
}

// logGauss is log (2πt)^{−d/2} e^{−ρ/t}.
func logGauss(d int, rho, t *Node) *Node {
	return Neg(Add(Div(rho, t), MulScalar(Log(MulScalar(t, 2*math.Pi)), float64(d)/2)))
}

// step follows ∇f, f = log Σ_c a_c e^{−ρ_c/τ}, and adds (∂_t + ½Δ)q/q = d/2τ − ∂_τ f + ½ Δf + ½ ‖∇f‖² over time. With closed forms the
// coordinates of a step are normal ones, in which Brownian motion has no drift at the start.
func (g summed) step(s step) (next, logWeights, law *Node) {
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
	frame, drift := geom.Orthonormal(at.Manifold, at.X), MulScalar(trace, -0.5)
	c, closed := g.m.(geom.ClosedForms)
	if closed {
		drift = ZerosLike(drift)
	}
	x := s.euler(at.X, Add(drift, rise), frame)
	if closed {
		next = c.Exp(s.z, at.Leave(geom.Vector, Sub(x, at.X)))
	} else {
		next = at.Point(x)
	}
	if s.law {
		end, way, rest := at.X, (*Node)(nil), ReduceSum(ZerosLike(at.X), -1)
		if closed {
			way = at.Enter(geom.Vector, c.Log(s.z, g.v))
		} else {
			end = at.Coordinates(g.v)
			way = Sub(end, at.X)
		}
		if w, ok := g.m.(geom.Winding); ok && closed {
			// In normal coordinates the volume is J dx, J = (sin r/r)^(n−1) on a sphere, and the density of a short step nearly N/√J. So N √J is
			// wanted in place of the normal density N of ratio.
			r := geom.Norm(at.Manifold, at.X, Sub(x, at.X))
			h := Squeeze(s.h, -1)
			rest = Neg(Add(w.Windings()(next, s.z, h), Div(MulScalar(Square(r), 0.5), h)))
		}
		law = Add(s.ratio(frame, rise, Sub(Div(way, s.tau), drift)), Where(s.last(rest), Neg(geom.LogVolume(at.Manifold, end)), rest))
	}
	return next, logWeights, law
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

// last tells for each path whether this is its last step, in the shape of x, [B, ...].
func (s step) last(x *Node) *Node {
	last := IsZero(s.root)
	if x.Rank() == 1 {
		last = Squeeze(last, -1)
	}
	return BroadcastToShape(last, x.Shape())
}

// ratio is the log density, [B], of the Euler–Maruyama step of Brownian motion to where it led, less that of the step that was taken: with
// the drift pull besides, and noise of h τ'/τ. Of the last step it is the log density of v, to which the drift end leads without noise.
func (s step) ratio(frame, pull, end *Node) *Node {
	d := float64(frame.Shape().Dim(-1))
	last := s.last(s.h)
	toEnd := linalg.SolveTriangular(frame, Where(s.last(pull), end, pull), true, false)
	move := Add(Mul(s.root, s.xi), Mul(s.rootH(), toEnd)) // over √h
	root := Where(last, OnesLike(s.root), s.root)
	regular := Add(MulScalar(dot(s.xi, s.xi), 0.5), Squeeze(MulScalar(Log(root), d), -1))
	eye := ExpandLeftToRank(linalg.Eye(frame.Graph(), frame.DType(), int(d)), 3)
	logDet := ReduceSum(Log(ReduceSum(Mul(frame, eye), -1)), -1)
	h := Where(last, s.h, OnesLike(s.h))
	arrival := Neg(Add(logDet, Squeeze(MulScalar(Log(MulScalar(h, 2*math.Pi)), d/2), -1)))
	return Add(MulScalar(dot(move, move), -0.5), Where(Squeeze(last, -1), arrival, regular))
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

// wound compares coordinates with those that their point has within the cut locus of the end. Between the steps paths go further: by about
// 0.5826 √h, which is −ζ(½)/√2π √h (M. Broadie, P. Glasserman and S. Kou, Mathematical Finance 7, 1997).
func (q quadratic) wound(x, h *Node) *Node {
	const between = 0.5826
	if !q.moves {
		return ReduceSum(ZerosLike(x), -1)
	}
	w := Sub(x, q.v)
	size := ExpandAxes(geom.Norm(q.m, x, w), -1)
	x = StopGradient(Add(x, Mul(w, Div(MulScalar(Sqrt(h), between), Where(IsZero(size), OnesLike(size), size)))))
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

func (q vanDerMeulenSchauer) step(s step) (next, logWeights, law *Node) {
	x := s.z
	w := Sub(x, q.v)
	slope := linalg.MatVec(q.g, w) // ∇ρ
	trace, frame := geom.ChristoffelTrace(q.m, x), geom.Orthonormal(q.m, x)
	inFrame := linalg.MatVec(linalg.T(frame), slope)
	laplacian := Sub(ReduceSum(Mul(frame, linalg.MatMul(q.g, frame)), -1, -2), dot(trace, slope))
	first := Neg(AddScalar(laplacian, -float64(q.m.Dim())))
	second := Div(Sub(dot(inFrame, inFrame), dot(w, slope)), s.tau)
	logWeights = s.over(Add(first, second))
	drift, pull := MulScalar(trace, -0.5), Neg(Div(linalg.MatVec(frame, inFrame), s.tau))
	if s.law {
		law = s.ratio(frame, pull, Sub(Neg(Div(w, s.tau)), drift))
	}
	return s.euler(x, Add(drift, pull), frame), logWeights, law
}

// delyonHu is DelyonHu. The weight of a step is the ratio of the densities N(x + h b, h g*) and
// N(x + h b + (h/τ)(v − x), (τ'/τ) h g*), where b is the drift of Brownian motion; that of the last step is the first density at v.
type delyonHu struct{ quadratic }

// logDensity is −log √det g(v), which makes the density one with respect to the Riemannian volume.
func (q delyonHu) logDensity(_, _ *Node) *Node { return Neg(geom.LogVolume(q.m, q.v)) }

func (q delyonHu) step(s step) (next, logWeights, law *Node) {
	x := s.z
	drift, frame := MulScalar(geom.ChristoffelTrace(q.m, x), -0.5), geom.Orthonormal(q.m, x)
	pull := Div(Sub(q.v, x), s.tau)
	ratio := s.ratio(frame, pull, Sub(pull, drift))
	return s.euler(x, Add(drift, pull), frame), ratio, ratio
}
