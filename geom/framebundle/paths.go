package framebundle

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/dense"
	"anatomy/internal/lists"
	"anatomy/internal/pool"
)

// What the searches for paths may cost while their start moves.
const (
	effort    = 1e4 // steps of the integrator in a search from a new start
	patience  = 15  // evaluations after a step of the start
	attention = 3   // the same, of a path that was given up
	tooFar    = 100 // units of log likelihood: a path that is off by more after one evaluation shows that the step was too long
)

// paths are the searches for the most probable paths from one point of the frame bundle, each by itself. What is found at one
// point is where the search at the next one starts.
type paths struct {
	space    *Space[geom.Vec]
	task     *geom.Task // nil for none
	all      []*path
	searches int // evaluations of a path
	report   sync.Mutex
}

// path is one of them.
type path struct {
	y    []float64 // the observation, aligned to the start
	now  *search   // nil before the first
	kept *search   // what follow sets out with
	lost bool      // given up: from leaves it as it is, and follow spends little on it
}

// reached is a path as statistics of many see it.
type reached struct {
	cost   float64            // the energy plus |x(1) − y|²/2σ²; +Inf where no path was found
	excess float64            // by how much the cost exceeds the minimum, as the search knows it; +Inf where no path was found
	pull   Momentum[geom.Vec] // minus the derivative of the cost by steps of move
}

// newPaths prepares searches for paths to observations.
func newPaths(space *Space[geom.Vec], ys [][]float64) *paths {
	return &paths{space: space, all: lists.Each(ys, func(y []float64) *path { return &path{y: y} })}
}

// at is the frame bundle with other steps.
func (p *paths) at(steps int) *Space[geom.Vec] {
	if steps == p.space.Base.Steps() {
		return p.space
	}
	return Over(p.space.Base.With(geom.Integrator(p.space.Base.Method(), steps)))
}

// told reports progress, and returns whether the computation shall stop.
func (p *paths) told() bool {
	p.report.Lock()
	defer p.report.Unlock()
	p.searches++
	return p.task != nil && p.task.Report(geom.Progress{Iteration: p.searches})
}

// each works on all paths, on all cores.
func (p *paths) each(work func(x *path)) { pool.Each(len(p.all), func(i int) { work(p.all[i]) }) }

// face aligns the observations to a start, and begins the searches that have not begun with splines on so many pieces.
func (p *paths) face(u Point[geom.Vec], pieces int) {
	ys := lists.Each(p.all, func(x *path) []float64 { return x.y })
	aligned := try.Get(Aligned(p.space.Base, slices.Repeat([][]float64{u.X}, len(ys)), ys))
	for i, x := range p.all {
		if x.y = aligned[i]; x.now == nil {
			x.now = p.newSearch(u, x.y, pieces)
		}
		x.now.aim = x.y
	}
}

// from returns the most probable paths from u to observations with noise of standard deviation σ > 0. Their costs exceed the
// minimum by no more than the tolerance, in units of log likelihood, or by more than that where the excess says so: after 10,000 steps of
// the integrator the search for a path ends. It does not Check u.
func (p *paths) from(u Point[geom.Vec], sigma, tolerance float64) []reached {
	if p.all[0].now == nil {
		p.face(u, firstPieces)
	}
	p.each(func(x *path) {
		if s := x.now; !x.lost || s.found == nil {
			s.to(u, sigma, tolerance, s.work+effort)
		}
	})
	return p.reached()
}

// reached puts together what was found.
func (p *paths) reached() []reached {
	out := make([]reached, len(p.all))
	for i, x := range p.all {
		out[i] = reached{cost: math.Inf(1), excess: math.Inf(1)}
		if s := x.now; s.found != nil {
			out[i] = reached{s.found.cost, s.Excess + s.found.rest, s.momentum(s.found.pull)}
		}
	}
	return out
}

// keep remembers the paths that were found, for follow.
func (p *paths) keep() {
	for _, x := range p.all {
		x.kept = x.now.copied()
	}
}

func (s *search) copied() *search {
	out := *s
	out.BFGS = solve.NewBFGS(slices.Clone(s.Best), dense.Symmetric(s.Hessian))
	return &out
}

// follow is from for the point u to which a step of move leads from where paths were kept: it sets out with controls that would in
// flat space leave the ends where they were. It ends early where one of them is far from the best ones, with an excess above the
// tolerance for it and perhaps for others: the step is too long. The step is that of x, and then those of the frame vectors.
func (p *paths) follow(u Point[geom.Vec], step []float64, sigma, tolerance float64) []reached {
	n, frame := len(u.X), dense.Rows(u.Frame)
	var factor mat.Cholesky
	try.FailIf(!factor.Factorize(dense.Shift(dense.Gram(frame), sigma*sigma)),
		"the vectors of the frame become linearly dependent along the path: take a larger noise, or a frame of fewer vectors")
	var tooLong atomic.Bool
	p.each(func(x *path) {
		s := x.kept.copied()
		end := slices.Clone(step[:n])
		for a, e := range s.constant() {
			floats.AddScaled(end, e, step[(a+1)*n:(a+2)*n])
		}
		var along, change mat.VecDense
		along.MulVec(frame, mat.NewVecDense(n, end))
		try.Do(factor.SolveVecTo(&change, &along))
		for l, one := range s.basis.one {
			floats.AddScaled(s.Best[l*len(u.Frame):(l+1)*len(u.Frame)], -one, change.RawVector().Data)
		}
		if x.now = s; x.lost {
			s.descend(u, sigma, tolerance, s.work+attention*s.basis.steps, func() bool { return false })
			return
		}
		s.descend(u, sigma, tolerance, s.work+patience*s.basis.steps, func() bool {
			if s.found == nil || s.Excess > tooFar {
				tooLong.Store(true)
			}
			return tooLong.Load()
		})
	})
	return p.reached()
}

// tangent is the derivative of the end of a path, [n, …], by a step of move, x first and then the frame vectors, and by the
// coefficients of its controls.
type tangent struct{ byStart, byControls *mat.Dense }

// tangents returns the derivatives of the ends of paths from u with constant controls, [P][m]. Each takes n + 1 developments with
// their derivatives, one after the other, as in a search: XLA compiles nothing for them.
func (p *paths) tangents(u Point[geom.Vec], constant [][]float64) []tangent {
	n, rank := len(u.X), len(u.Frame)
	basis := try.Get(newSplines(firstPieces, p.steps(firstPieces, 0)))
	space := p.at(basis.steps)
	out := make([]tangent, len(constant))
	pool.Each(len(constant), func(i int) {
		t := tangent{mat.NewDense(n, (rank+1)*n, nil), mat.NewDense(n, basis.count()*rank, nil)}
		controls := slices.Repeat(constant[i:i+1], 2*basis.steps+1)
		end := space.steer(u, controls, u.X).end
		for k := range n {
			// With x(1) less the unit vector k for an aim, the derivative of |x(1) − aim|²/2 is that of component k.
			aim := slices.Clone(end)
			aim[k]--
			s := space.steer(u, controls, aim)
			t.byStart.SetRow(k, floats.ScaleTo(make([]float64, (rank+1)*n), -1, s.pull.list()))
			var sums mat.Dense
			sums.Mul(basis.values.T(), dense.Rows(s.slope))
			t.byControls.SetRow(k, sums.RawMatrix().Data)
		}
		out[i] = t
	})
	return out
}

// constant returns the means over time of the controls that were found, [N][m].
func (p *paths) constant() [][]float64 {
	return lists.Each(p.all, func(x *path) []float64 { return x.now.constant() })
}
