package framebundle

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/shape"
	"anatomy/geom/try"
	"anatomy/internal/dense"
	"anatomy/internal/pool"
)

// The certificate of a path. Distances are shares of |y − x|.
const (
	endTolerance  = 5e-6    // by how much a path may be off, as its Residual has it
	momentumError = 1e-3    // StepError at most
	contraction   = 4       // factor by which a step of a check lowers the excess, at least: otherwise it does not tell where the minimum is
	persistence   = 100_000 // steps of the integrator in the search for a path, at most
	rounding      = 1e-13   // of an end point, as a share of its norm
)

// A path that ends at the observation.
const (
	exactShare   = 0.1   // σ of the penalty as a share of the least singular value of the frame: ten times less than the frame, which it then follows
	exactExcess  = 1e-14 // excess of each search, in units of log likelihood
	exactMiss    = 1e-11 // distance from the observation, as a share of the norm of the start
	mostAims     = 12    // aims, at most: each leaves a hundredth of what is missed
	certainShare = 0.25  // the search for a certified path takes this share of what the end may be off
	leastExcess  = 1e-18 // excess below which costs are rounding
)

// MostProbablePath returns the path from u that minimises
//
//	½ ∫ |w'|² dt + |x(1) − y|²/2σ²,
//
// the most probable path of Brownian motion with covariance ννᵀ to an observation y with noise of standard deviation σ in
// every coordinate (of a Charted manifold, in every ambient one, with y Aligned to x(1)). With σ = 0 it ends at y, which takes a frame of d
// vectors.
//
// The path is a projected geodesic of the frame bundle with P(1) = 0 and ρ + σ² h(1) = 0 for the derivative ρ of
// |x(1) − y|²/2. Where σ is small beside what the frame does not reach, it turns many times, because curvature then takes it in
// directions that the frame does not have; there are many local minima, and it is the one to which the search leads as σ falls.
// Exp_FM of its momentum may magnify the last digits by a factor of a million: StepError says how far that leads from the end with twice the
// steps. Residual puts the path itself into the problem with twice the steps. Status is Converged where the end may be off by at most
// 5e-6 of |y − x| and StepError is at most 1e-3; otherwise Err says why. Where that is the StepError, the Path holds.
// Steps says how many steps that takes. A search ends after 100,000 steps of the integrator in all, at 39 landmarks a few minutes of a
// processor. On a Charted manifold the path stays in the chart centred at u.
func (s *Space[P]) MostProbablePath(u Point[P], y P, sigma float64) (_ *Geodesic[P], err error) {
	const what = "most probable path"
	defer try.Named(&err, what)
	try.Do(s.check(u))
	try.Do(s.Base.CheckAll("observation", []P{y}))
	rank, d := len(u.Frame), s.Base.M.Dim()
	switch {
	case !(sigma >= 0) || math.IsInf(sigma, 1):
		return nil, fmt.Errorf("noise of standard deviation %g", sigma)
	case sigma == 0 && rank < d:
		return nil, fmt.Errorf("%d frame vectors in dimension %d reach no given point: use a full frame or noise σ > 0", rank, d)
	}
	p := newPaths(Over(s.Base.OnNumbers()), [][]float64{shape.Flat(y)})
	p.task = s.Base.Begin(what)
	defer p.task.End()
	g := p.certified(s.flat(u), sigma, persistence)[0]
	p.putBack(g, p.all[0].y)
	return shaped(s.Base, g), nil
}

// putBack computes the StepError of a path to y that was found. A geodesic of the frame bundle with a kth of a momentum is the first kth of
// the whole one: its parts, with the steps of the space, are one program.
func (p *paths) putBack(g *Geodesic[geom.Vec], y []float64) {
	if g.Status != geom.Converged {
		return
	}
	parts := 2 * g.Steps / p.space.Base.Steps()
	u, momentum := g.Start, scaled(g.Momentum, 1/float64(parts))
	for range parts {
		out, last := p.space.shoot(u, momentum), p.space.Base.Steps()
		u = Point[geom.Vec]{out.Matrix(0)[last], out.Array3(1)[last]}
		momentum = Momentum[geom.Vec]{out.Matrix(2)[last], out.Array3(3)[last]}
	}
	if g.StepError = p.missed(u.X, g.End); g.StepError > rounding*floats.Norm(g.End, 2) {
		g.StepError /= floats.Distance(y, g.Start.X, 2)
	}
	if !(g.StepError <= momentumError) {
		g.Status = geom.Stalled
		g.Reason = fmt.Sprintf("the path holds, but with twice the steps Exp_FM of its momentum ends %.2g %% of the distance off", 100*g.StepError)
	}
}

// certified returns the most probable paths from u with what certifies them, for σ > 0 or for σ = 0 and a full frame. The search for a path
// gives up after the given number of steps of the integrator. It does not Check u.
func (p *paths) certified(u Point[geom.Vec], sigma float64, steps int) []*Geodesic[geom.Vec] {
	p.face(u, certainPieces)
	gs := make([]*Geodesic[geom.Vec], len(p.all))
	pool.Each(len(gs), func(i int) {
		x := p.all[i]
		x.lost = true
		gs[i] = x.now.certified(u, x.y, sigma, steps)
		x.lost = gs[i].Status == geom.Stalled
	})
	return gs
}

// certified finds a path, with more steps until twice as many change it by less than endTolerance, and says so.
func (s *search) certified(u Point[geom.Vec], y []float64, sigma float64, steps int) *Geodesic[geom.Vec] {
	far := floats.Distance(y, u.X, 2)
	enough, scale, unit := endTolerance*far+rounding*floats.Norm(u.X, 2), sigma, sigma*math.Sqrt(float64(len(y)))
	if sigma == 0 {
		unit = far
		for _, v := range u.Frame {
			scale = max(scale, floats.Norm(v, 2))
		}
	}
	accuracy, most := max(leastExcess, math.Pow(certainShare*enough/scale, 2)/2), s.work+steps
	if s.basis.pieces < certainPieces {
		s.refine(certainPieces, s.of.steps(certainPieces, s.basis.steps))
	}
	defer func() { s.aim = y }()
	for {
		if sigma > 0 {
			s.to(u, sigma, accuracy, most)
		} else {
			s.exact(u, y, most)
		}
		stopped, off := s.of.task != nil && s.of.task.Stopped(), math.Inf(1)
		switch {
		case s.found != nil && s.reason == "" && !stopped:
			off = s.checked(u, accuracy)
		case s.found == nil && !stopped: // not even a path: the one that stays at u
			reason := s.reason
			clear(s.Best)
			s.refine(s.basis.pieces, s.of.steps(s.basis.pieces, 0))
			s.reason = reason
		}
		if sigma == 0 && s.found != nil {
			off += s.of.missed(s.found.end, y)
		}
		status := geom.Stalled
		switch {
		case stopped:
			status = geom.Cancelled
		case off <= enough:
			status = geom.Converged
		case s.reason != "":
		case s.basis.steps <= max(mostSteps, s.of.space.Base.Steps()):
			continue
		default:
			s.reason = fmt.Sprintf("the path turns by %.2g rad in a step of %d", s.turn(), s.basis.steps)
		}
		return s.result(u, y, status, off, unit)
	}
}

// result is the path that was found, which may be off by so much, with its Residual in a unit.
func (s *search) result(u Point[geom.Vec], y []float64, status geom.Status, off, unit float64) *Geodesic[geom.Vec] {
	g := try.Get(s.space().SteeredPath(u, s.controls(s.Best)))
	missed := s.of.missed(g.End, y)
	g.Mismatch, g.Residual, g.StepError = missed*missed, off, math.NaN()
	g.Iterations, g.Status, g.Reason = s.evaluations, status, s.reason
	if s.found != nil {
		g.Momentum = s.momentum(s.found.momentum)
	}
	if unit > 0 {
		g.Residual /= unit
	}
	// Of the points those at the times of the space's steps are left.
	n := s.of.space.Base.Steps()
	every := g.Steps / n
	for k := range n + 1 {
		g.Path[k], g.Frames[k], g.Velocities[k] = g.Path[k*every], g.Frames[k*every], g.Velocities[k*every]
	}
	g.Path, g.Frames, g.Velocities = g.Path[:n+1], g.Frames[:n+1], g.Velocities[:n+1]
	return g
}

// missed is the distance from the end of a path to an observation, Aligned to it.
func (p *paths) missed(end, y []float64) float64 {
	turned := try.Get(Aligned(p.space.Base, [][]float64{end}, [][]float64{y}))
	return floats.Distance(end, turned[0], 2)
}

// checked takes a step of the search with twice the steps, and returns by how much that moves the path at any time, with what the steps
// and the pieces that are not there do to its end. It is +Inf where the step does not bring the search much nearer to the minimum, and the
// excess of the cost is above the tolerance.
func (s *search) checked(u Point[geom.Vec], tolerance float64) float64 {
	before := s.found.end
	s.refine(s.basis.pieces, 2*s.basis.steps)
	if s.step(u, 0); s.found == nil {
		return math.Inf(1)
	}
	first, excess, x := s.found.end, s.Excess, s.Best
	if !s.Done {
		s.step(u, 0)
	}
	if !(s.Excess <= max(excess/contraction, tolerance)) {
		return math.Inf(1)
	}
	order := float64(s.of.space.Base.Method().Order)
	off := s.sigma*math.Sqrt(2*(s.Excess+s.found.rest)) + floats.Distance(before, first, 2)/(math.Exp2(order)-1)
	old := try.Get(s.space().SteeredPath(u, s.controls(x)))
	new := try.Get(s.space().SteeredPath(u, s.controls(s.Best)))
	moved := 0.0
	for k, x := range old.Path {
		moved = max(moved, floats.Distance(x, new.Path[k], 2))
	}
	if off += moved; math.IsNaN(off) {
		off = math.Inf(1)
	}
	return off
}

// exact finds the path that ends at the observation, by the method of multipliers: σ is small beside the frame, and what the
// path misses its observation by is added to what it aims at, until nothing is missed (J. Nocedal and S. J. Wright, chapter 17).
func (s *search) exact(u Point[geom.Vec], y []float64, most int) {
	var svd mat.SVD
	if !svd.Factorize(dense.Rows(u.Frame), mat.SVDNone) {
		try.Do(errors.New("the singular values of the frame do not converge"))
	}
	sigma := exactShare * svd.Values(nil)[len(u.Frame)-1]
	for range mostAims {
		if s.to(u, sigma, exactExcess, most); s.found == nil {
			return
		}
		off := floats.SubTo(make([]float64, len(y)), y, s.found.end)
		if floats.Norm(off, 2) <= exactMiss*floats.Norm(u.X, 2) {
			return
		}
		s.aim = floats.AddTo(off, off, s.aim)
	}
	s.to(u, sigma, exactExcess, most)
}
