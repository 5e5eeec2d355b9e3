package stochastic

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/autodiff"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
)

// guide leads paths to their ends v, [B, a]. Its states x describe points in coordinates that each guide chooses.
type guide interface {
	enter(z *Node) *Node                  // the state of a point
	leave(x *Node) *Node                  // the point of a state
	logDensity(x, T *Node) *Node          // the log weight, [B], before all steps
	step(s step) (next, logWeights *Node) // the state after a step and what the step adds to the log weights
}

func newGuide(m geom.Manifold, proposal Proposal, v *Node) guide {
	_, closed := m.(geom.ClosedForms)
	switch {
	case proposal == DelyonHu:
		return delyonHu{newQuadratic(m, v)}
	case closed:
		return newRadial(m, v)
	}
	return vanDerMeulenSchauer{newQuadratic(m, v)}
}

// radial is Guided with ρ = ½ d(x, v)², for manifolds with closed forms.
type radial struct {
	m geom.Manifold
	v *Node
	g *Node // ‖w‖² = wᵀ g w of tangent vectors at v, [B, a, a]
}

func newRadial(m geom.Manifold, v *Node) radial {
	at := geom.At(m, v)
	g := geom.MetricMatrix(at.Manifold, at.X)
	if geom.IsAtlas(m) {
		j := autodiff.Jacobian(at.Coordinates, Identity(v)) // [B, d, a]
		g = linalg.MatMul(linalg.T(j), linalg.MatMul(g, j))
	}
	return radial{m, v, g}
}

func (r radial) enter(z *Node) *Node { return z }
func (r radial) leave(x *Node) *Node { return x }

// rho is ½ d(z, v)², [...], for z of [..., B, a].
func (r radial) rho(z *Node) *Node {
	lead := z.Shape().Dimensions[:z.Rank()-2]
	w := r.m.(geom.ClosedForms).Log(BroadcastPrefix(r.v, lead...), z)
	return MulScalar(ReduceSum(Mul(linalg.MatVec(BroadcastPrefix(r.g, lead...), w), w), -1), 0.5)
}

func (r radial) logDensity(x, T *Node) *Node { return logGauss(r.m.Dim(), r.rho(x), T) }

// logGauss is log (2πt)^{−d/2} e^{−ρ/t}.
func logGauss(d int, rho, t *Node) *Node {
	return Neg(Add(Div(rho, t), MulScalar(Log(MulScalar(t, 2*math.Pi)), float64(d)/2)))
}

func (r radial) step(s step) (next, logWeights *Node) {
	pull := Neg(geom.GradientOf(r.m, r.rho, s.z))
	excess := AddScalar(Neg(geom.LaplaceBeltrami(r.m, r.rho, s.z)), float64(r.m.Dim())) // d − Δρ
	limit := MulScalar(Reciprocal(Sqrt(s.h)), nearCutLocus(r.m.Dim()))
	logWeights = MulScalar(Mul(Div(s.dt, s.tau), Min(excess, limit)), 0.5)
	next = geom.InChart(r.m, []geom.Kind{geom.Vector}, func(at geom.Local, y ode.State) ode.State {
		drift := MulScalar(geom.ChristoffelTrace(at.Manifold, y[0]), -0.5)
		return ode.State{s.euler(y[0], Add(drift, Div(y[1], s.tau)), geom.Orthonormal(at.Manifold, y[0])), y[1]}
	}, ode.State{s.z, pull})[0]
	return next, logWeights
}

// nearCutLocus bounds √h (d − Δρ) in a step of length h. On S^d, d − Δρ grows like (d−1)π/δ at a distance δ from the antipode of v,
// so that the exponential of its value at one point has no finite mean. The mean over a step is bounded: for motion from the
// antipode itself it is (d−1)π (1/h)∫ E|W_t|⁻¹ dt, and √h times that is this bound.
func nearCutLocus(d int) float64 {
	if d == 1 {
		return 0
	}
	k := float64(d)
	return (k - 1) * math.Pi * math.Sqrt2 * math.Gamma((k-1)/2) / math.Gamma(k/2)
}

// euler is the step x + h drift + √(h τ'/τ) E ξ.
func (s step) euler(x, drift, frame *Node) *Node {
	noise := linalg.MatVec(frame, s.xi)
	return Add(Add(x, Mul(s.h, drift)), Mul(Mul(Sqrt(s.h), s.root), noise))
}

// quadratic is the part that two guides share: coordinates, on an Atlas those of the chart centred at v.
type quadratic struct {
	geom.Local // at v
	m          geom.Manifold
	v          *Node // [B, d]
	g          *Node // g(v), [B, d, d]
}

func newQuadratic(m geom.Manifold, v *Node) quadratic {
	at := geom.At(m, v)
	return quadratic{at, at.Manifold, at.X, geom.MetricMatrix(at.Manifold, at.X)}
}

func (q quadratic) enter(z *Node) *Node { return q.Coordinates(z) }
func (q quadratic) leave(x *Node) *Node { return q.Point(x) }

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
	logWeights = MulScalar(Mul(Div(s.dt, s.tau), Add(first, second)), 0.5)
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
	last := BroadcastToShape(IsZero(s.root), s.xi.Shape())
	toEnd := linalg.SolveTriangular(frame, Sub(pull, Where(last, drift, ZerosLike(drift))), true, false)
	move := Add(Mul(Mul(Sqrt(s.h), s.root), s.xi), Mul(s.h, toEnd))
	logWeights = MulScalar(Div(dot(move, move), s.h), -0.5)
	root := Where(IsZero(s.root), OnesLike(s.root), s.root)
	regular := MulScalar(dot(s.xi, s.xi), 0.5)
	regular = Add(regular, MulScalar(Log(root), d))
	eye := ExpandLeftToRank(linalg.Eye(x.Graph(), x.DType(), q.m.Dim()), 3)
	logDet := ReduceSum(Log(ReduceSum(Mul(frame, eye), -1)), -1)
	end := Neg(Add(logDet, MulScalar(Log(MulScalar(s.h, 2*math.Pi)), d/2)))
	return next, Add(logWeights, Where(BroadcastToShape(IsZero(s.root), end.Shape()), end, regular))
}
