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

// Proposal says how simulated paths are led to the end v of a bridge, a time τ = T − t before the end. The weights of the paths
// correct for it.
type Proposal int

const (
	// Guided adds the drift g*∇ log q to Brownian motion, with the approximation q = (2πτ)^{−d/2} e^{−ρ/τ} of the transition
	// density, and gives paths the weight q at their start times exp ∫ (∂_t + ½Δ)q/q dt, where
	//
	//	(∂_t + ½Δ)q/q = (d/2 − ½Δρ)/τ + (½‖∇ρ‖² − ρ)/τ².
	//
	// If the manifold has geom.ClosedForms, ρ is half the squared distance from v. Then the second term is zero, and on S²,
	// at the distance r from v, the first is (1 − r cot r)/2τ (J. Thompson, Brownian bridges to submanifolds, 2018).
	// On other manifolds ρ = ½ (x − v)ᵀ g(v) (x − v) in coordinates (F. van der Meulen and M. Schauer, Guided proposals for
	// simulating multi-dimensional diffusion bridges, 2017).
	Guided Proposal = iota
	// DelyonHu adds the drift (v − x)/τ in coordinates (B. Delyon and Y. Hu, Simulation of conditioned diffusion and application to
	// parameter estimation, 2006). The weight of a path is the density of its Euler-Maruyama steps without this drift divided by
	// that with it.
	DelyonHu
)

// Bridges are weighted paths of Brownian motion that start at one point and are at another at time T. A weighted mean over the
// paths estimates the mean over Brownian motion that is conditioned to end there.
type Bridges[P geom.Point] struct {
	Times      []float64 // T s(2 − s) at s = 0, 1/n, …, 1: steps are shorter near the end, where the drift to the end is strong
	Points     [][]P     // Points[k][i] is path k at Times[i]
	LogWeights []float64 // the mean of exp(LogWeights) estimates p_T(start, end)

	Likelihood
}

// String says what the bridges are in one line.
func (b *Bridges[P]) String() string {
	return fmt.Sprintf("%d bridges, effective size %.3g, log p = %.4g ± %.2g", len(b.Points), b.EffectiveSize, b.Log, b.StandardError)
}

// Likelihood is an estimate of the transition density p_T(x, v) of Brownian motion, with respect to the Riemannian volume, in the
// unit of 1/length^d.
//
// If the cut locus of v is a hypersurface, as on a circle, a cylinder or a torus, paths that wind around are left out. Their share
// of the density is about exp(−(c² − r²)/2T), where r is the distance from x to v and c the length of the shortest path from
// x to v that crosses the cut locus.
type Likelihood struct {
	Log           float64 // log p_T(x, v)
	StandardError float64 // of Log, from the spread of the weights; NaN of one path, which has none
	EffectiveSize float64 // (Σ w)²/Σ w², the number of paths of equal weight of the same value; below about 30 Log and StandardError are unreliable
}

// Bridge simulates r.Paths paths of Brownian motion from x that is conditioned to be at v at time r.Time. On an Atlas without closed
// forms, and with DelyonHu on every Atlas, paths stay in the chart centred at v. A path that diverges is an error.
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

// LogLikelihood estimates log p_T(x, v_j) for every v_j by importance sampling, with r.Paths bridges to each v_j, T = r.Time.
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

// estimate is the estimate of the mean of exp(logWeights).
func estimate(logWeights []float64) Likelihood {
	n := float64(len(logWeights))
	total := floats.LogSumExp(logWeights)
	var squares float64
	for _, l := range logWeights {
		squares += math.Exp(2 * (l - total))
	}
	variance := math.Max(squares-1/n, 0) // of the normalised weights around 1/n; 0/0 below is NaN
	return Likelihood{Log: total - math.Log(n), StandardError: math.Sqrt(variance * n / (n - 1)), EffectiveSize: 1 / squares}
}

// runBridges returns the log weights of N bridges to each of J ends, [J·N], those of one end together, and, if keep, the paths,
// [J·N, n + 1, a].
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

// operation is the key of this package's compiled functions.
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

// bridges returns the log weights, [B], of paths from x to v, both [B, a], in the time T, made with the standard normal numbers xi,
// [n, B, d]. If keep, it also returns the states before the n steps and at the end, [n + 1, B, a].
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
