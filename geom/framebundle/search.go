package framebundle

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/dense"
	"anatomy/internal/lists"
)

// The splines and steps of a search. Steps are those of the integrator on [0, 1].
const (
	firstPieces   = 2    // pieces of the splines with which a search begins: enough for a path that bends once
	certainPieces = 4    // pieces of a path that is certified, at least: what they add to half as many tells what more would add
	stepsInPiece  = 5    // steps in a piece, at least: with fewer Simpson's rule does not tell the splines of degree 5 apart
	mostSteps     = 1280 // steps in a search, at most: a check takes twice as many, a second for 39 landmarks
	longest       = 0.5  // length of a step of the controls, which have about the length 1: a longer one may lead to another minimum
)

// The noise that falls, and when a search is near enough. Excesses are in units of log likelihood.
const (
	fall    = 1.5  // factor of σ at a time: what is known of the Hessian then holds for the next σ, too
	nearly  = 1.2  // factor of σ at which the last fall goes all the way
	roughly = 1e-2 // excess at which σ falls
)

// What splines on more pieces would add to the energy, from what the last doubling of the pieces added.
const (
	decay    = 512  // factor by which a doubling of the pieces lowers it, at least: 4096 for smooth controls
	clearly  = 10   // the missing energy leads to more pieces where it is so many times the excess
	endError = 1e-2 // share of the energy that the integrator's error may feign at the ends of pieces of one step; it falls with the 8th power of their steps
)

// driftLimit is by how much νᵀgν may change along a path, as a share: beyond it the integrator's error makes the path cheaper than it is, and
// a trial is out of bounds.
const driftLimit = 3e-3

// search is the search for the most probable path to one observation.
//
// By the maximum principle a most probable path is decided by its controls w', m smooth functions of time, and its momentum is
// minus the derivative of the cost by its start. The search is for controls, as splines: it is one for
// a minimum, with few unknowns, which no curvature makes unstable, whereas momenta of d(m + 1) components that a flow of
// Hamilton's equations magnifies are known best when the path is. The standard deviation of the noise falls to the one wanted
// from where the problem is nearly that of flat space. Where the integrator's error changes νᵀgν, a path may come off cheaper than it
// is; a trial with too much of that is out of bounds, and where the search runs into them, its steps are doubled. The pieces of the
// splines are doubled until the last doubling added so little energy that the next would add nothing.
type search struct {
	*solve.BFGS           // of the coefficients of the controls, [count][m]
	of          *paths    // all paths of one start
	aim         []float64 // the observation; for an exact path a point beyond it
	basis       *splines
	coarser     *mat.Dense // takes coefficients of splines on half as many pieces to those of the same function
	sigma       float64
	found       *trial // at Best; nil before there is a path
	outside     int    // trials out of bounds
	evaluations int
	work        int    // steps of the integrator in all evaluations
	reason      string // why the search gave up; "" if it did not
}

// trial is a path.
type trial struct {
	steered
	cost, energy float64
	rest         float64 // by how much the cost exceeds the minimum, because of the pieces that are not there
}

// newSearch begins with the controls 0, as splines on so many pieces.
func (p *paths) newSearch(u Point[geom.Vec], y []float64, pieces int) *search {
	s := &search{of: p, aim: y, sigma: 2 * floats.Distance(y, u.X, 2) / math.Sqrt(float64(len(y)))}
	s.basis, s.coarser = nested(pieces, p.steps(pieces, 0))
	s.BFGS = solve.NewBFGS(make([]float64, s.basis.count()*len(u.Frame)), nil)
	return s
}

// nested are splines on pieces for so many steps, with what takes those on half as many pieces to them.
func nested(pieces, steps int) (basis *splines, coarser *mat.Dense) {
	basis = try.Get(newSplines(pieces, steps))
	return basis, try.Get(basis.from(try.Get(newSplines(pieces/2, steps))))
}

// steps are those of the space, doubled until they suffice for splines on pieces and are not fewer than so many.
func (p *paths) steps(pieces, least int) int {
	n := p.space.Base.Steps()
	for n < max(stepsInPiece*pieces, least) {
		n *= 2
	}
	return n
}

// mayDouble says whether a search may take twice the steps.
func (s *search) mayDouble() bool { return 2*s.basis.steps <= max(mostSteps, s.of.space.Base.Steps()) }

// to brings σ to the one wanted, and the excess of the cost below the tolerance, unless the work is then more than most.
func (s *search) to(u Point[geom.Vec], sigma, tolerance float64, most int) {
	level := max(s.sigma, sigma)
	if s.found != nil && s.sigma <= fall*sigma {
		level = sigma
	}
	for {
		last, limit := level <= sigma, tolerance
		if !last {
			limit = max(tolerance, roughly)
		}
		s.descend(u, level, limit, most, func() bool { return false })
		if last || s.reason != "" {
			return
		}
		if level /= fall; level < nearly*sigma {
			level = sigma
		}
	}
}

// descend lowers the cost at one σ until its excess is at most the tolerance. It gives up, with a reason, where the work is more than most, and
// ends after an evaluation for which enough returns true.
func (s *search) descend(u Point[geom.Vec], sigma, tolerance float64, most int, enough func() bool) {
	if s.Hessian == nil {
		s.Hessian = flat(u, s.basis, sigma)
	} else if s.sigma != sigma {
		rescale(s.Hessian, s.sigma*s.sigma/(sigma*sigma))
	}
	s.sigma, s.Longest = sigma, longest
	s.refine(s.basis.pieces, s.of.steps(s.basis.pieces, s.basis.steps))
	for {
		better := s.step(u, tolerance)
		switch {
		case s.of.told():
			s.Stop()
			return
		case enough():
			return
		case s.found == nil || s.outside > 1 || s.Done && s.Excess > tolerance:
			if !s.finer(u, most) {
				return
			}
		case better && s.found.rest > max(tolerance, clearly*s.Excess):
			if !s.richer() {
				return
			}
		case s.Done:
			return
		case s.work >= most:
			s.giveUp("after %d evaluations, the last ones with %d steps, the cost is by %.2g above the minimum",
				s.evaluations, s.basis.steps, s.Excess+s.found.rest)
			return
		}
	}
}

// giveUp ends the search with a reason.
func (s *search) giveUp(format string, args ...any) {
	s.reason = fmt.Sprintf(format, args...)
	s.Stop()
}

// finer goes on with twice the steps. Where these or the work are too many it gives up and returns false.
func (s *search) finer(u Point[geom.Vec], most int) bool {
	if s.mayDouble() && s.work < most {
		if s.Done && s.outside == 0 {
			s.Hessian = flat(u, s.basis, s.sigma)
		}
		s.refine(s.basis.pieces, 2*s.basis.steps)
		return true
	}
	switch turn := s.turn(); {
	case s.outside == 0:
		s.giveUp("no step of the search leads down at an excess of %.2g", s.Excess)
	case turn == 0:
		s.giveUp("the path diverges: the observation is too far away, or the frame too small for it")
	default:
		s.giveUp("the path turns by %.2g rad in a step of %d", turn, s.basis.steps)
	}
	return false
}

// richer goes on with splines on twice the pieces, or with twice the steps where short pieces see the integrator's error, of fourth order in
// the length of a step. Where the steps are then too many it gives up and returns false.
func (s *search) richer() bool {
	pieces, steps := 2*s.basis.pieces, s.basis.steps
	if share := float64(s.basis.pieces) / float64(steps); s.found.rest*decay < endError*s.found.energy*math.Pow(share, 8) {
		pieces, steps = s.basis.pieces, 2*steps
	} else if stepsInPiece*pieces > steps {
		steps *= 2
	}
	if steps > s.basis.steps && !s.mayDouble() {
		s.giveUp("the controls take more than %d steps", s.basis.steps)
		return false
	}
	s.refine(pieces, steps)
	return true
}

// step takes one step of the search, and returns whether it led to a better path.
func (s *search) step(u Point[geom.Vec], tolerance float64) (better bool) {
	now, gradient := s.evaluate(u)
	better = s.Learn(now.cost, gradient, tolerance)
	if math.IsInf(now.cost, 1) {
		s.outside++
	} else if better {
		s.found = now
	}
	return better
}

// refine starts again from the best controls, with splines on more pieces or for other steps.
func (s *search) refine(pieces, steps int) {
	if pieces != s.basis.pieces || steps != s.basis.steps {
		next, coarser := nested(pieces, steps)
		from := try.Get(next.from(s.basis))
		rank := len(s.Best) / s.basis.count()
		ones := make([]float64, rank)
		floats.AddConst(1, ones)
		var change, best, h mat.Dense
		change.Kronecker(from, mat.NewDiagDense(rank, ones))
		best.Mul(&change, mat.NewVecDense(len(s.Best), s.Best))
		// What was not there has the Hessian of the energy: 1 + C (H − 1) Cᵀ.
		h.Product(&change, dense.Shift(dense.Symmetric(s.Hessian), -1), change.T())
		s.Hessian = dense.Shift(dense.Symmetric(&h), 1)
		s.basis, s.coarser, s.Best = next, coarser, best.RawMatrix().Data
	}
	s.found, s.outside, s.reason = nil, 0, ""
	s.Restart()
}

// evaluate computes the path at X, with the derivative of its cost.
func (s *search) evaluate(u Point[geom.Vec]) (*trial, []float64) {
	precision, controls := 1/(s.sigma*s.sigma), s.controls(s.X)
	t := &trial{steered: *s.space().steer(u, controls, s.aim), energy: floats.Dot(s.X, s.X) / 2}
	s.evaluations++
	s.work += s.basis.steps
	t.cost = t.energy + precision/2*t.mismatch
	if !lists.Finite(t.cost) || !(t.drift <= driftLimit) {
		t.cost = math.Inf(1)
		return t, s.X
	}
	rank := len(u.Frame)
	slope := mat.NewDense(len(controls), rank, nil)
	for j, row := range t.slope {
		slope.SetRow(j, floats.ScaleTo(make([]float64, rank), precision, row))
	}
	x := mat.NewDense(s.basis.count(), rank, s.X)
	var gradient, coarse mat.Dense
	gradient.Mul(s.basis.values.T(), slope)
	gradient.Add(&gradient, x)
	coarse.Product(s.coarser, s.coarser.T(), x)
	coarse.Sub(x, &coarse)
	t.rest = math.Pow(mat.Norm(&coarse, 2), 2) / 2 / decay
	return t, gradient.RawMatrix().Data
}

// space is the frame bundle with the steps of the search.
func (s *search) space() *Space[geom.Vec] { return s.of.at(s.basis.steps) }

// turn is the largest angle between the controls at the ends of a step.
func (s *search) turn() (most float64) {
	controls := s.controls(s.Best)
	for k := 2; k < len(controls); k += 2 {
		a, b := controls[k-2], controls[k]
		if size := floats.Norm(a, 2) * floats.Norm(b, 2); size > 0 {
			most = max(most, math.Acos(max(-1, min(1, floats.Dot(a, b)/size))))
		}
	}
	return most
}

// controls are the splines with coefficients x at the times of steer, [2n + 1][m].
func (s *search) controls(x []float64) [][]float64 {
	var e mat.Dense
	count := s.basis.count()
	e.Mul(s.basis.values, mat.NewDense(count, len(x)/count, x))
	return lists.Make(2*s.basis.steps+1, func(j int) []float64 { return e.RawRowView(j) })
}

// constant is the mean over time of the best controls.
func (s *search) constant() []float64 {
	out := make([]float64, len(s.Best)/s.basis.count())
	for l, one := range s.basis.one {
		floats.AddScaled(out, one, s.Best[l*len(out):(l+1)*len(out)])
	}
	return out
}

// momentum is minus a derivative of the cost, from that of half the squared mismatch.
func (s *search) momentum(p Momentum[geom.Vec]) Momentum[geom.Vec] {
	return scaled(p, 1/(s.sigma*s.sigma))
}

// flat returns the Hessian of flat space, where the mean of the controls alone moves the end.
func flat(u Point[geom.Vec], basis *splines, sigma float64) *mat.SymDense {
	rank := len(u.Frame)
	h := mat.NewSymDense(basis.count()*rank, nil)
	for a, v := range u.Frame {
		for b, w := range u.Frame {
			inner := floats.Dot(v, w) / (sigma * sigma)
			for k, one := range basis.one {
				for l, other := range basis.one {
					if i, j := k*rank+a, l*rank+b; i <= j {
						h.SetSym(i, j, inner*one*other)
					}
				}
			}
		}
	}
	return dense.Shift(h, 1)
}

// rescale makes what a Hessian has beyond 1, the part of the observations, so many times what it was.
func rescale(h *mat.SymDense, factor float64) {
	values, vectors, ok := dense.Eigen(h)
	if !ok {
		return
	}
	h.Zero()
	for k, v := range values {
		if v > 1 {
			v = 1 + (v-1)*factor
		}
		h.SymRankOne(h, v, vectors.ColView(k))
	}
}
