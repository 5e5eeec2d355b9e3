package stochastic

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/autodiff"
	"anatomy/geom/engine"
	"anatomy/geom/ode"
)

// Proposal is how paths are led to the end of a bridge, τ = T − t from time t.
type Proposal int

const (
	// Guided adds to the motion g*∇ log q for an approximation q of the transition density, q = (2πτ)^{−d/2} e^{−ρ/τ}, and
	// weighs paths by exp ∫ (∂_t + ½Δ)q/q dt, where
	//
	//	(∂_t + ½Δ)q/q = (d/2 − ½Δρ)/τ + (½‖∇ρ‖² − ρ)/τ².
	//
	// ρ is half the squared distance from the end v where the manifold has geom.ClosedForms, which leaves the first term,
	// on S² (1 − r cot r)/2τ (J. Thompson, Brownian bridges to submanifolds, 2018); else ½ (x − v)ᵀ g(v) (x − v) in
	// coordinates (F. van der Meulen and M. Schauer, Guided proposals for multi-dimensional diffusion bridges, 2017).
	Guided Proposal = iota
	// DelyonHu adds (v − x)/τ in coordinates (B. Delyon and Y. Hu, Simulation of conditioned diffusion, 2006). The weight is
	// the ratio of the densities of the Euler-Maruyama steps with and without it.
	DelyonHu
)

// Bridges are weighted paths of Brownian motion from a point to a point at time T. Weighted means over them are means over
// the motion conditioned to end there.
type Bridges[P geom.Point] struct {
	Times      []float64 // T s(2 − s) at s = 0, 1/n, …, 1: the steps shorten towards the end, where the pull grows
	Points     [][]P     // Points[k][i] is path k at Times[i]
	LogWeights []float64 // the mean of exp(LogWeights) estimates p_T(start, end)

	Likelihood
}

// String says what the bridges are in one line.
func (b *Bridges[P]) String() string {
	return fmt.Sprintf("%d bridges, effective size %.3g, log p = %.4g ± %.2g", len(b.Points), b.EffectiveSize, b.Log, b.StandardError)
}

// Likelihood is an estimate of a transition density p_T(x, v) of Brownian motion, with respect to the Riemannian volume.
//
// Where the cut locus of v is a hypersurface, as on a circle, a cylinder or a torus, it is the density of paths that do not
// wind around: it leaves out a share of about exp(−(c² − r²)/2T), r being the distance of x from v and c that of
// the way through the cut locus.
type Likelihood struct {
	Log           float64 // log p_T(x, v)
	StandardError float64 // of Log, from the spread of the weights
	EffectiveSize float64 // (Σ w)²/Σ w²: how many paths of equal weight these are worth; below 30 or so trust neither number
}

// Bridge simulates Brownian motion from x that is conditioned to be at v at the time of the run. On an Atlas without
// closed forms, and with DelyonHu on any, paths are those in the chart centred at v.
func Bridge[P geom.Point](on geom.Of[P], proposal Proposal, x, v P, r Run) (*Bridges[P], error) {
	s := on.Geometry()
	out, err := runBridges(s, proposal, "Bridge", x, []P{v}, &r, true)
	if err != nil {
		return nil, err
	}
	b := &Bridges[P]{LogWeights: out.Vector(0), Times: make([]float64, r.Steps+1)}
	for i := range b.Times {
		left := float64(r.Steps-i) / float64(r.Steps)
		b.Times[i] = r.Time * (1 - left*left)
	}
	for _, path := range out.Array3(1) {
		points := s.Points(path)
		points[0], points[r.Steps] = x, v
		b.Points = append(b.Points, points)
	}
	b.Likelihood = estimate(b.LogWeights)
	return b, nil
}

// LogLikelihood estimates log p_T(x, v) for every v by importance sampling over the bridges of a run, in one call.
func LogLikelihood[P geom.Point](on geom.Of[P], proposal Proposal, x P, v []P, r Run) ([]Likelihood, error) {
	if len(v) == 0 {
		return nil, fmt.Errorf("LogLikelihood: no observations")
	}
	out, err := runBridges(on.Geometry(), proposal, "LogLikelihood", x, v, &r, false)
	if err != nil {
		return nil, err
	}
	weights := out.Vector(0)
	estimates := make([]Likelihood, len(v))
	for j := range v {
		estimates[j] = estimate(weights[j*r.Paths : (j+1)*r.Paths])
	}
	return estimates, nil
}

// estimate is that of the mean of exp(logWeights).
func estimate(logWeights []float64) Likelihood {
	n := float64(len(logWeights))
	total := floats.LogSumExp(logWeights)
	var squares float64
	for _, l := range logWeights {
		squares += math.Exp(2 * (l - total))
	}
	variance := math.Max(squares-1/n, 0) // of the normalised weights around 1/n
	return Likelihood{Log: total - math.Log(n), StandardError: math.Sqrt(variance * n / math.Max(n-1, 1)), EffectiveSize: 1 / squares}
}

// runBridges returns log weights, [J·N] with the paths of one end together, and with keep the paths, [J·N, n + 1, a].
func runBridges[P geom.Point](s *geom.Space[P], proposal Proposal, what string, x P, v []P, r *Run, keep bool) (engine.Values, error) {
	if err := checkBridges(s, proposal, what, x, v, r); err != nil {
		return nil, err
	}
	if err := r.fits(what, len(v), s.M.Dim(), geom.PointDim(s.M), keep); err != nil {
		return nil, err
	}
	xi := ode.Increments(r.Seed, r.Steps, len(v)*r.Paths, s.M.Dim(), float64(r.Steps)) // of variance 1
	m := s.M
	out, err := s.Call(operation{what, proposal, keep}, func(in []*Node) []*Node {
		x, v, T, xi := in[0], in[1], in[2], in[3]
		paths := xi.Shape().Dim(1) / v.Shape().Dim(0)
		logWeights, path := bridges(m, proposal, forPaths(xi.Shape().Dim(1), x), repeatRows(v, paths), T, xi, keep)
		if !keep {
			return []*Node{logWeights}
		}
		return []*Node{logWeights, Transpose(path, 0, 1)}
	}, s.Vector(x), s.Vectors(v), r.Time, xi)
	if err != nil {
		return nil, err
	}
	for k, l := range out.Vector(0) {
		if math.IsNaN(l) || math.IsInf(l, 1) {
			return nil, fmt.Errorf("%s: path %d to end %d diverges (log weight %g): the steps are too long, or it leaves the chart; use more steps or a shorter time",
				what, k%r.Paths, k/r.Paths, l)
		}
	}
	return out, nil
}

// operation is the key of this package's functions.
type operation struct {
	name     string
	proposal Proposal
	keep     bool
}

func (o operation) String() string { return o.name }

func checkBridges[P geom.Point](s *geom.Space[P], proposal Proposal, what string, x P, v []P, r *Run) error {
	if err := r.check(what); err != nil {
		return err
	}
	if proposal != Guided && proposal != DelyonHu {
		return fmt.Errorf("%s: proposal %d, want Guided or DelyonHu", what, proposal)
	}
	if err := s.Check("start", x); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if err := s.CheckAll("end", v); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if err := s.CheckRegular("end", append([]P{x}, v...)...); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// repeatRows repeats every row of v, [J, a], n times, [J·n, a].
func repeatRows(v *Node, n int) *Node {
	j, a := v.Shape().Dim(0), v.Shape().Dim(1)
	return Reshape(BroadcastToDims(ExpandAxes(v, 1), j, n, a), j*n, a)
}

// bridges returns the log weights, [B], of paths from x to v, both [B, a], in time T with normal numbers xi, [n, B, d], and
// with keep the states before the n steps and the end, [n + 1, B, a].
func bridges(m geom.Manifold, proposal Proposal, x, v, T, xi *Node, keep bool) (logWeights, path *Node) {
	n := xi.Shape().Dim(0)
	g := newGuide(m, proposal, v)
	start := g.enter(x)
	final, before := autodiff.Scan(n, func(i *Node, y, in []*Node) ([]*Node, []*Node) {
		// τ = T (1 − s)², s = i/n, so that dt = 2τ/(1 − s) ds: the trapezoidal rule in s, whose last value is 0 in the mean.
		left := AddScalar(Neg(ConvertDType(i, T.DType())), float64(n))
		tau := Mul(T, Square(MulScalar(left, 1/float64(n))))
		root := Div(MinusOne(left), left)
		h := Mul(tau, OneMinus(Square(root)))
		dt := Div(MulScalar(tau, 2), left)
		dt = Where(IsZero(i), MulScalar(dt, 0.5), dt)
		next, term := g.step(step{y[0], in[0], tau, h, root, dt})
		var out []*Node
		if keep {
			out = []*Node{g.leave(y[0])}
		}
		return []*Node{next, Add(y[1], term)}, out
	}, []*Node{start, g.logDensity(start, T)}, []*Node{xi})
	if keep {
		path = Concatenate([]*Node{before[0], ExpandAxes(v, 0)}, 0)
	}
	return final[1], path
}

// step is a step of length h at a time τ before the end, after which τ' = τ·root² is left, with the normal numbers ξ; dt is
// its weight in integrals over time.
type step struct{ z, xi, tau, h, root, dt *Node }
