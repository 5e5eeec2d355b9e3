package framebundle

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/solve"
	"anatomy/geom/try"
)

// EndTolerance is what a most probable path may be off, relative to |y − x|, to be Converged: see Geodesic.Residual.
const EndTolerance = 5e-6

// momentumError is the StepError of a most probable path that is Converged, at most.
const momentumError = 1e-3

// MostProbablePath returns the path from u that minimises
//
//	½ ∫ |w'|² dt + |x(1) − y|²/2σ²,
//
// the most probable path of Brownian motion with covariance ννᵀ to an observation y with noise of standard deviation σ in
// every coordinate (of a Charted manifold, in every ambient one, with y Aligned to x(1)). With σ = 0 it ends at y, which takes a frame of d
// vectors. See Probable for the search.
//
// The path is a projected geodesic of the frame bundle with P(1) = 0 and ρ + σ² h(1) = 0 for the derivative ρ of
// |x(1) − y|²/2. Where σ is small beside what the frame does not reach, it turns many times, because curvature then takes it in
// directions that the frame does not have; there are many local minima, and it is the one to which the search leads as σ falls.
// Exp_FM of its momentum may magnify the last digits by a factor of a million: StepError says how far that leads from the end with twice the
// steps. Residual puts the path itself into the problem with twice the steps. Status is Converged where the end may be off by at most
// EndTolerance of |y − x| and StepError is at most 1e-3; otherwise Err says why. Where that is the StepError, the Path holds.
// Steps says how many steps that takes. A search ends after 100,000 steps of the integrator in all, at 39 landmarks a few minutes of a
// processor. On a Charted manifold the path stays in the chart centred at u.
func (s *Space[P]) MostProbablePath(u Point[P], y P, sigma float64) (*Geodesic[P], error) {
	found, err := s.MostProbablePaths(u, []P{y}, sigma)
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// MostProbablePaths is MostProbablePath for many observations at once.
func (s *Space[P]) MostProbablePaths(u Point[P], observations []P, sigma float64) (_ []*Geodesic[P], err error) {
	const what = "most probable path"
	defer try.Named(&err, what)
	try.Do(s.Check(u))
	try.Do(s.Base.CheckAll("observation", observations))
	rank, d := len(u.Frame), s.Base.M.Dim()
	switch {
	case !(sigma >= 0) || math.IsInf(sigma, 1):
		return nil, fmt.Errorf("noise of standard deviation %g", sigma)
	case sigma == 0 && rank < d:
		return nil, fmt.Errorf("%d frame vectors in dimension %d reach no given point: use a full frame or noise σ > 0", rank, d)
	}
	p := NewProbable(s.Base, s.Base.Vectors(observations))
	p.task = s.Base.Begin(what)
	defer p.task.End()
	found := try.Get(p.Paths(s.flat(u), sigma, Persistence))
	gs := make([]*Geodesic[P], len(found))
	parallel(len(found), func(i int) { p.putBack(found[i], p.ys[i]) })
	for i, g := range found {
		gs[i] = Shaped(s.Base, g)
	}
	return gs, nil
}

// putBack computes the StepError of a path to y that was found. A geodesic of the frame bundle with a kth of a momentum is the first kth of
// the whole one: its parts, with the steps of the space, are one program.
func (p *Probable) putBack(g *Geodesic[geom.Vec], y []float64) {
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
	if g.StepError = p.missed(u.X, g.End); g.StepError > 1e-13*floats.Norm(g.End, 2) {
		g.StepError /= floats.Distance(y, g.Start.X, 2)
	}
	if !(g.StepError <= momentumError) {
		g.Status = geom.Stalled
		g.Reason = fmt.Sprintf("the path holds, but with twice the steps Exp_FM of its momentum ends %.2g %% of the distance off", 100*g.StepError)
	}
}

// Probable searches for the most probable paths from a point of the frame bundle to observations, each by itself.
//
// By the maximum principle a most probable path is decided by its controls w', m smooth functions of time, and its momentum is
// minus the derivative of the cost by its start. The search is for controls, as splines: it is one for
// a minimum, with few unknowns, which no curvature makes unstable, whereas momenta of d(m + 1) components that a flow of
// Hamilton's equations magnifies are known best when the path is. The standard deviation of the noise falls to the one wanted
// from where the problem is nearly that of flat space. Where the integrator's error changes νᵀgν, a path may come off cheaper than it
// is; a trial with too much of that is out of bounds, and where the search runs into them, its steps are doubled. The pieces of the
// splines are doubled until the last doubling added so little energy that the next would add nothing. What is found at one point of
// the bundle is where the search at the next one starts.
type Probable struct {
	Searches int // evaluations of a path

	space       *Space[geom.Vec]
	task        *geom.Task // nil for none
	ys          [][]float64
	paths, kept []*search // kept is what Follow sets out with
	lost        []bool    // see GiveUp
	report      sync.Mutex
}

// Found tells of most probable paths how they start.
type Found struct {
	Cost    []float64 // the energy plus |x(1) − y|²/2σ²; +Inf where no path was found
	Momenta []Momentum[geom.Vec]
	Pull    []Momentum[geom.Vec] // the same as steps of Move see them
	Excess  []float64            // by how much each Cost exceeds the minimum, as the search knows it; +Inf where a path is not finite
}

const (
	firstPieces = 2    // of the splines
	manyPieces  = 4    // of the splines of a path that is certified, at least
	mostSteps   = 1280 // of the integrator in a search: a check takes twice as many
	effort      = 1e4  // the same, of From
	patience    = 15   // evaluations after a step of Move
	attention   = 3    // the same, of a path that was given up
	tooFar      = 100  // units of log likelihood by which a path may be off after one
	multipliers = 12   // aims at most
	driftLimit  = 3e-3 // beyond it a trial is out of bounds
	fall        = 1.5  // of σ at a time
	decay       = 512  // of what is missing to the energy of splines, by twice as many pieces, at least: 4096 for smooth functions
	endError    = 1e-2 // of the energy of splines on short pieces, at most, in units of their share of a step to the eighth power
	shortest    = 5    // steps in a piece
	longest     = 0.5  // step of the controls
	contraction = 4    // of the excess by a step of a check, at least
	roughly     = 1e-2 // the excess at which σ falls
)

// search is the search for one path: for the coefficients of its controls, [count][m].
type search struct {
	*solve.BFGS
	aim         []float64
	basis       *splines
	coarser     *mat.Dense // takes coefficients of splines on half as many pieces to those of the same function
	sigma       float64
	found       *trial // at Best; nil before there is a path
	outside     int    // trials out of bounds
	evaluations int
	work        int    // steps of the integrator in all evaluations
	reason      string // why the search gave up
}

// trial is a path.
type trial struct {
	Steered
	cost, energy float64
	controls     [][]float64 // [2n + 1][m]
	rest         float64     // by how much the cost exceeds the minimum, because of the pieces that are not there
}

// NewProbable starts a search for paths to points as lists of numbers.
func NewProbable[P geom.Point](on geom.Of[P], ys [][]float64) *Probable {
	return &Probable{space: Over(on.Geometry().OnNumbers()), ys: ys, lost: make([]bool, len(ys))}
}

// From returns the most probable paths from u to observations with noise of standard deviation σ > 0. Their costs exceed the
// minimum by no more than the tolerance, in units of log likelihood, or by more than that where the Excess says so: after 10,000 steps of
// the integrator the search for a path ends. Paths that were given up stay as they are. It does not Check u.
func (p *Probable) From(u Point[geom.Vec], sigma, tolerance float64) (_ *Found, err error) {
	defer try.Catch(&err)
	if p.paths == nil || len(p.paths[0].X) != p.paths[0].basis.count()*len(u.Frame) {
		p.face(u.X)
		p.start(u, firstPieces)
	}
	parallel(len(p.paths), func(i int) {
		if s := p.paths[i]; !p.lost[i] || s.found == nil {
			p.to(s, u, sigma, tolerance, s.work+effort)
		}
	})
	return p.found(), nil
}

// face aligns the observations to a point.
func (p *Probable) face(x []float64) {
	p.ys = try.Get(Aligned(p.space.Base, slices.Repeat([][]float64{x}, len(p.ys)), p.ys))
}

// On goes on over a space that integrates otherwise.
func (p *Probable) On(base *geom.Space[geom.Vec]) { p.space = Over(base) }

// start sets all controls to 0, as splines on so many pieces.
func (p *Probable) start(u Point[geom.Vec], pieces int) {
	steps := p.steps(pieces, 0)
	first := try.Get(newSplines(pieces, steps))
	half := try.Get(newSplines(pieces/2, steps))
	coarser := try.Get(first.from(half))
	p.paths = make([]*search, len(p.ys))
	for i, y := range p.ys {
		s := &search{aim: y, basis: first, coarser: coarser, sigma: 2 * floats.Distance(y, u.X, 2) / math.Sqrt(float64(len(y)))}
		s.BFGS = solve.NewBFGS(make([]float64, first.count()*len(u.Frame)), nil)
		p.paths[i] = s
	}
}

// steps are those of the space, doubled until they suffice for splines on pieces and are not fewer than so many.
func (p *Probable) steps(pieces, least int) int {
	n := p.space.Base.Steps()
	for n < max(shortest*pieces, least) {
		n *= 2
	}
	return n
}

// GiveUp says that the path to an observation is not to be found: From leaves it as it is, and Follow spends little on it. TryAgain takes
// that back for all, and Paths decides anew.
func (p *Probable) GiveUp(observation int) { p.lost[observation] = true }

// TryAgain gives up no path.
func (p *Probable) TryAgain() { clear(p.lost) }

// GivenUp returns whether a path was given up.
func (p *Probable) GivenUp(observation int) bool { return p.lost[observation] }

// to brings σ to the one wanted, and the excess of the cost below the tolerance, unless the work is then more than most.
func (p *Probable) to(s *search, u Point[geom.Vec], sigma, tolerance float64, most int) {
	level := max(s.sigma, sigma)
	if s.found != nil && s.sigma <= fall*sigma {
		level = sigma
	}
	for {
		last := level <= sigma
		limit := tolerance
		if !last {
			limit = max(tolerance, roughly)
		}
		p.descend(s, u, level, limit, most, func() bool { return false })
		if last || s.reason != "" {
			return
		}
		if level /= fall; level < 1.2*sigma {
			level = sigma
		}
	}
}

// descend lowers the cost at one σ until its excess is at most the tolerance. It gives up with a reason where the work is more than most, and
// without one after an evaluation for which enough returns true.
func (p *Probable) descend(s *search, u Point[geom.Vec], sigma, tolerance float64, most int, enough func() bool) {
	rank := len(u.Frame)
	if s.Hessian == nil {
		s.Hessian = flat(u, s.basis, sigma)
	} else if s.sigma != sigma {
		rescale(s.Hessian, s.sigma*s.sigma/(sigma*sigma))
	}
	s.sigma, s.Longest = sigma, longest
	s.refine(rank, s.basis.pieces, p.steps(s.basis.pieces, s.basis.steps))
	for {
		x := slices.Clone(s.X)
		p.step(s, u, tolerance)
		finer := 2*s.basis.steps <= max(mostSteps, p.space.Base.Steps())
		switch {
		case p.told():
			s.Stop()
			return
		case enough():
			return
		case s.found == nil || s.outside > 1 || s.Done && s.Excess > tolerance:
			if !finer || s.work >= most {
				switch turn := s.turn(); {
				case s.outside == 0:
					s.reason = fmt.Sprintf("no step of the search leads down at an excess of %.2g", s.Excess)
				case turn == 0:
					s.reason = "the path diverges: the observation is too far away, or the frame too small for it"
				default:
					s.reason = fmt.Sprintf("the path turns by %.2g rad in a step of %d", turn, s.basis.steps)
				}
				s.Stop()
				return
			}
			if s.Done && s.outside == 0 {
				s.Hessian = flat(u, s.basis, sigma)
			}
			s.refine(rank, s.basis.pieces, 2*s.basis.steps)
		case slices.Equal(x, s.Best) && s.found.rest > max(tolerance, 10*s.Excess):
			pieces, steps := 2*s.basis.pieces, s.basis.steps
			// What splines on short pieces say at the ends is the integrator's error, of fourth order in the length of a step.
			if share := float64(s.basis.pieces) / float64(s.basis.steps); s.found.rest*decay < endError*s.found.energy*math.Pow(share, 8) {
				pieces, steps = s.basis.pieces, 2*s.basis.steps
			} else if shortest*pieces > steps {
				steps *= 2
			}
			if steps > s.basis.steps && !finer {
				s.reason = fmt.Sprintf("the controls take more than %d steps", s.basis.steps)
				s.Stop()
				return
			}
			s.refine(rank, pieces, steps)
		case s.Done:
			return
		case s.work >= most:
			s.reason = fmt.Sprintf("after %d evaluations, the last ones with %d steps, the cost is by %.2g above the minimum",
				s.evaluations, s.basis.steps, s.Excess+s.found.rest)
			s.Stop()
			return
		}
	}
}

// step takes one step of the search.
func (p *Probable) step(s *search, u Point[geom.Vec], tolerance float64) {
	x := slices.Clone(s.X)
	now, gradient := p.try(s, u)
	s.Learn(now.cost, gradient, tolerance)
	if math.IsInf(now.cost, 1) {
		s.outside++
	} else if slices.Equal(x, s.Best) {
		s.found = now
	}
}

// told reports progress, and returns whether the computation shall stop.
func (p *Probable) told() bool {
	p.report.Lock()
	defer p.report.Unlock()
	p.Searches++
	return p.task != nil && p.task.Report(geom.Progress{Iteration: p.Searches})
}

// refine starts again from the best controls, with splines on more pieces or for other steps.
func (s *search) refine(rank, pieces, steps int) {
	if pieces != s.basis.pieces || steps != s.basis.steps {
		next := try.Get(newSplines(pieces, steps))
		from := try.Get(next.from(s.basis))
		each := make([]float64, rank)
		for a := range each {
			each[a] = 1
		}
		var change, best, h mat.Dense
		change.Kronecker(from, mat.NewDiagDense(rank, each))
		best.Mul(&change, mat.NewVecDense(len(s.Best), s.Best))
		// What was not there has the Hessian of the energy: 1 + C (H − 1) Cᵀ.
		beyond := mat.NewSymDense(len(s.Best), nil)
		beyond.CopySym(s.Hessian)
		for k := range s.Best {
			beyond.SetSym(k, k, beyond.At(k, k)-1)
		}
		h.Product(&change, beyond, change.T())
		s.Hessian = symmetric(&h)
		for k := range rank * next.count() {
			s.Hessian.SetSym(k, k, s.Hessian.At(k, k)+1)
		}
		half := try.Get(newSplines(pieces/2, steps))
		s.coarser = try.Get(next.from(half))
		s.basis, s.Best = next, best.RawMatrix().Data
	}
	s.found, s.outside, s.reason = nil, 0, ""
	s.Restart()
}

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

// controls are the splines with coefficients x at the times of Steer, [2n + 1][m].
func (s *search) controls(x []float64) [][]float64 {
	var e mat.Dense
	count := s.basis.count()
	e.Mul(s.basis.values, mat.NewDense(count, len(x)/count, x))
	out := make([][]float64, 2*s.basis.steps+1)
	for j := range out {
		out[j] = e.RawRowView(j)
	}
	return out
}

// try evaluates the path at X.
func (p *Probable) try(s *search, u Point[geom.Vec]) (*trial, []float64) {
	rank, precision := len(u.Frame), 1/(s.sigma*s.sigma)
	t := &trial{controls: s.controls(s.X)}
	in := make([][][]float64, len(t.controls))
	for j, e := range t.controls {
		for _, e := range e {
			in[j] = append(in[j], []float64{e})
		}
	}
	out := try.Get(p.at(s.basis.steps).Steer(u, in, [][]float64{s.aim}))
	s.evaluations++
	s.work += s.basis.steps
	t.Steered, t.energy = *out, floats.Dot(s.X, s.X)/2
	t.cost = t.energy + precision/2*out.Mismatch[0]
	if _, bad := notFinite([]float64{t.cost}); bad || !(out.Drift[0] <= driftLimit) {
		t.cost = math.Inf(1)
		return t, s.X
	}
	slope := mat.NewDense(len(t.controls), rank, nil)
	for j := range t.controls {
		for a := range rank {
			slope.Set(j, a, precision*out.Slope[j][a][0])
		}
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

// at is the frame bundle with other steps.
func (p *Probable) at(steps int) *Space[geom.Vec] {
	if steps == p.space.Base.Steps() {
		return p.space
	}
	return Over(p.space.Base.With(geom.Integrator(p.space.Base.Method(), steps)))
}

// found puts together what was found.
func (p *Probable) found() *Found {
	f := &Found{}
	for _, s := range p.paths {
		if s.found == nil {
			f.Excess = append(f.Excess, math.Inf(1))
			f.Cost = append(f.Cost, math.Inf(1))
			f.Momenta, f.Pull = append(f.Momenta, Momentum[geom.Vec]{}), append(f.Pull, Momentum[geom.Vec]{})
			continue
		}
		f.Cost = append(f.Cost, s.found.cost)
		f.Momenta, f.Pull = append(f.Momenta, s.momentum(s.found.Momenta[0])), append(f.Pull, s.momentum(s.found.Pull[0]))
		f.Excess = append(f.Excess, s.Excess+s.found.rest)
	}
	return f
}

// momentum is minus a derivative of the cost, from that of half the squared mismatch.
func (s *search) momentum(p Momentum[geom.Vec]) Momentum[geom.Vec] {
	return scaled(p, 1/(s.sigma*s.sigma))
}

func scaled(p Momentum[geom.Vec], by float64) Momentum[geom.Vec] {
	times := func(v []float64) []float64 { return floats.ScaleTo(make([]float64, len(v)), by, v) }
	out := Momentum[geom.Vec]{Horizontal: times(p.Horizontal)}
	for _, v := range p.Vertical {
		out.Vertical = append(out.Vertical, times(v))
	}
	return out
}

// Keep remembers the paths that were found, for Follow.
func (p *Probable) Keep() {
	p.kept = make([]*search, len(p.paths))
	for i, s := range p.paths {
		p.kept[i] = s.copied()
	}
}

func (s *search) copied() *search {
	out := *s
	h := mat.NewSymDense(len(s.Best), nil)
	h.CopySym(s.Hessian)
	out.BFGS = solve.NewBFGS(slices.Clone(s.Best), h)
	return &out
}

// Follow is From for the point u to which a step of Move leads from where paths were kept: it sets out with controls that would in
// flat space leave the ends where they were. It ends early where one of them is far from the best ones, with an Excess above the
// tolerance for it and perhaps for others: the step is too long. The step is that of x, and then those of the frame vectors.
func (p *Probable) Follow(u Point[geom.Vec], step []float64, sigma, tolerance float64) (_ *Found, err error) {
	defer try.Catch(&err)
	n, rank := len(u.X), len(u.Frame)
	frame := mat.NewDense(rank, n, nil)
	for a, nu := range u.Frame {
		frame.SetRow(a, nu)
	}
	gram := mat.NewSymDense(rank, nil)
	gram.SymOuterK(1, frame)
	for a := range rank {
		gram.SetSym(a, a, gram.At(a, a)+sigma*sigma)
	}
	var factor mat.Cholesky
	if !factor.Factorize(gram) {
		return nil, errors.New("most probable path: the vectors of the frame become linearly dependent along the path: take a larger noise, or a frame of fewer vectors")
	}
	var tooLong atomic.Bool
	parallel(len(p.kept), func(i int) {
		s := p.kept[i].copied()
		c := s.Best
		end := append([]float64{}, step[:n]...)
		for a, e := range s.constant(rank) {
			floats.AddScaled(end, e, step[(a+1)*n:(a+2)*n])
		}
		var along, change mat.VecDense
		along.MulVec(frame, mat.NewVecDense(n, end))
		try.Do(try.Name(factor.SolveVecTo(&change, &along), "most probable path"))
		for l, one := range s.basis.one {
			floats.AddScaled(c[l*rank:(l+1)*rank], -one, change.RawVector().Data)
		}
		p.paths[i] = s
		if p.lost[i] {
			p.descend(s, u, sigma, tolerance, s.work+attention*s.basis.steps, func() bool { return false })
			return
		}
		p.descend(s, u, sigma, tolerance, s.work+patience*s.basis.steps, func() bool {
			if s.found == nil || s.Excess > tooFar {
				tooLong.Store(true)
			}
			return tooLong.Load()
		})
	})
	return p.found(), nil
}

// Tangent is the derivative of the end of a path, [n, …], by a step of Move, x first and then the frame vectors, and by the
// coefficients of its controls.
type Tangent struct{ ByStart, ByControls *mat.Dense }

// Tangents returns the derivatives of the ends of paths from u with constant controls, [P][m]. Each takes n + 1 developments with
// their derivatives, one after the other, as in a search: XLA compiles nothing for them.
func (p *Probable) Tangents(u Point[geom.Vec], constant [][]float64) (_ []Tangent, err error) {
	defer try.Catch(&err)
	n, rank := len(u.X), len(u.Frame)
	basis := try.Get(newSplines(firstPieces, p.steps(firstPieces, 0)))
	space, modes := p.at(basis.steps), basis.count()
	tangents := make([]Tangent, len(constant))
	parallel(len(constant), func(i int) {
		t := Tangent{mat.NewDense(n, (rank+1)*n, nil), mat.NewDense(n, modes*rank, nil)}
		own := make([][]float64, rank)
		for a, e := range constant[i] {
			own[a] = []float64{e}
		}
		controls := slices.Repeat([][][]float64{own}, 2*basis.steps+1)
		end := try.Get(space.Steer(u, controls, [][]float64{u.X})).Ends[0]
		for k := range n {
			// With x(1) less the unit vector k for an aim, the derivative of |x(1) − aim|²/2 is that of component k.
			aim := slices.Clone(end)
			aim[k]--
			s := try.Get(space.Steer(u, controls, [][]float64{aim}))
			for a, v := range append([][]float64{s.Pull[0].Horizontal}, s.Pull[0].Vertical...) {
				for j, v := range v {
					t.ByStart.Set(k, a*n+j, -v)
				}
			}
			for l := range modes {
				for a := range rank {
					sum := 0.0
					for j, slope := range s.Slope {
						sum += basis.values.At(j, l) * slope[a][0]
					}
					t.ByControls.Set(k, l*rank+a, sum)
				}
			}
		}
		tangents[i] = t
	})
	return tangents, nil
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
	for k := range basis.count() * rank {
		h.SetSym(k, k, h.At(k, k)+1)
	}
	return h
}

// rescale makes what a Hessian has beyond 1, the part of the observations, so many times what it was.
func rescale(h *mat.SymDense, factor float64) {
	var eigen mat.EigenSym
	if !eigen.Factorize(h, true) {
		return
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	h.Zero()
	for k, v := range eigen.Values(nil) {
		if v > 1 {
			v = 1 + (v-1)*factor
		}
		h.SymRankOne(h, v, vectors.ColView(k))
	}
}

// Constant returns the means over time of the controls that were found, [N][m].
func (p *Probable) Constant() [][]float64 {
	var out [][]float64
	for _, s := range p.paths {
		out = append(out, s.constant(len(s.Best)/s.basis.count()))
	}
	return out
}

// constant is the mean over time of the best controls.
func (s *search) constant(rank int) []float64 {
	out := make([]float64, rank)
	for l, one := range s.basis.one {
		floats.AddScaled(out, one, s.Best[l*rank:(l+1)*rank])
	}
	return out
}

// Persistence is the limit of steps of the integrator in the search for a path.
const Persistence = 100_000

// Paths returns the most probable paths from u with what certifies them, for σ > 0 or for σ = 0 and a full frame. The search for a path
// gives up after the given number of steps of the integrator, such as Persistence. It does not Check u.
func (p *Probable) Paths(u Point[geom.Vec], sigma float64, steps int) (_ []*Geodesic[geom.Vec], err error) {
	defer try.Catch(&err)
	if p.paths == nil {
		p.start(u, manyPieces)
	}
	p.face(u.X)
	gs := make([]*Geodesic[geom.Vec], len(p.ys))
	parallel(len(gs), func(i int) {
		p.paths[i].aim, p.lost[i] = p.ys[i], true
		gs[i] = p.certified(p.paths[i], u, p.ys[i], sigma, steps)
		p.lost[i] = gs[i].Status == geom.Stalled
	})
	return gs, nil
}

// certified finds a path, with more steps until twice as many change it by less than EndTolerance, and says so.
func (p *Probable) certified(s *search, u Point[geom.Vec], y []float64, sigma float64, steps int) *Geodesic[geom.Vec] {
	rank, far := len(u.Frame), floats.Distance(y, u.X, 2)
	enough := EndTolerance*far + 1e-13*floats.Norm(u.X, 2)
	scale := sigma
	if sigma == 0 {
		for _, v := range u.Frame {
			scale = max(scale, floats.Norm(v, 2))
		}
	}
	accuracy := max(1e-18, math.Pow(enough/(4*scale), 2)/2)
	most := s.work + steps
	if s.basis.pieces < manyPieces {
		s.refine(rank, manyPieces, p.steps(manyPieces, s.basis.steps))
	}
	defer func() { s.aim = y }()
	for {
		if sigma > 0 {
			p.to(s, u, sigma, accuracy, most)
		} else {
			p.exact(s, u, y, most)
		}
		stopped, off := p.task != nil && p.task.Stopped(), math.Inf(1)
		switch {
		case s.found != nil && s.reason == "" && !stopped:
			off = p.checked(s, u, accuracy)
		case s.found == nil && !stopped: // not even a path: the one that stays at u
			reason := s.reason
			clear(s.Best)
			s.refine(rank, s.basis.pieces, p.steps(s.basis.pieces, 0))
			s.reason = reason
		}
		unit := sigma * math.Sqrt(float64(len(y)))
		if sigma == 0 {
			unit = far
			if s.found != nil {
				off += p.missed(s.found.Ends[0], y)
			}
		}
		done := stopped || off <= enough || s.reason != ""
		if !done && s.basis.steps <= max(mostSteps, p.space.Base.Steps()) {
			continue
		}
		g := try.Get(p.at(s.basis.steps).SteeredPath(u, s.controls(s.Best)))
		missed := p.missed(g.End, y)
		g.Mismatch, g.StepError = missed*missed, math.NaN()
		g.Iterations, g.Reason = s.evaluations, s.reason
		if s.found != nil {
			g.Momentum = s.momentum(s.found.Momenta[0])
		}
		if g.Residual = off / unit; unit == 0 {
			g.Residual = off
		}
		switch {
		case stopped:
			g.Status = geom.Cancelled
		case off <= enough:
			g.Status = geom.Converged
		default:
			g.Status = geom.Stalled
			if !done {
				g.Reason = fmt.Sprintf("the path turns by %.2g rad in a step of %d", s.turn(), s.basis.steps)
			}
		}
		return p.thinned(g)
	}
}

// missed is the distance from the end of a path to an observation, Aligned to it.
func (p *Probable) missed(end, y []float64) float64 {
	turned := try.Get(Aligned(p.space.Base, [][]float64{end}, [][]float64{y}))
	return floats.Distance(end, turned[0], 2)
}

// checked takes a step of the search with twice the steps, and returns by how much that moves the path at any time, with what the steps
// and the pieces that are not there do to its end. It is +Inf where the step does not bring the search much nearer to the minimum, and the
// excess of the cost is above the tolerance.
func (p *Probable) checked(s *search, u Point[geom.Vec], tolerance float64) float64 {
	rank, before := len(u.Frame), s.found.Ends[0]
	s.refine(rank, s.basis.pieces, 2*s.basis.steps)
	if p.step(s, u, 0); s.found == nil {
		return math.Inf(1)
	}
	first, excess, x := s.found.Ends[0], s.Excess, s.Best
	if !s.Done {
		p.step(s, u, 0)
	}
	if !(s.Excess <= max(excess/contraction, tolerance)) {
		return math.Inf(1)
	}
	order := float64(p.space.Base.Method().Order)
	off := s.sigma*math.Sqrt(2*(s.Excess+s.found.rest)) + floats.Distance(before, first, 2)/(math.Exp2(order)-1)
	old := try.Get(p.at(s.basis.steps).SteeredPath(u, s.controls(x)))
	new := try.Get(p.at(s.basis.steps).SteeredPath(u, s.controls(s.Best)))
	moved := 0.0
	for k, x := range old.Path {
		moved = max(moved, floats.Distance(x, new.Path[k], 2))
	}
	if off += moved; math.IsNaN(off) {
		off = math.Inf(1)
	}
	return off
}

// thinned leaves of the points of a path those at the times of the space's steps.
func (p *Probable) thinned(g *Geodesic[geom.Vec]) *Geodesic[geom.Vec] {
	every := g.Steps / p.space.Base.Steps()
	for k := range p.space.Base.Steps() + 1 {
		g.Path[k], g.Frames[k], g.Velocities[k] = g.Path[k*every], g.Frames[k*every], g.Velocities[k*every]
	}
	n := p.space.Base.Steps() + 1
	g.Path, g.Frames, g.Velocities = g.Path[:n], g.Frames[:n], g.Velocities[:n]
	return g
}

// exact finds the path that ends at the observation, by the method of multipliers: σ is small beside the frame, and what the
// path misses its observation by is added to what it aims at, until nothing is missed (J. Nocedal and S. J. Wright, chapter 17).
func (p *Probable) exact(s *search, u Point[geom.Vec], y []float64, most int) {
	const accuracy = 1e-14
	frame := mat.NewDense(len(u.Frame), len(u.X), nil)
	for a, v := range u.Frame {
		frame.SetRow(a, v)
	}
	var svd mat.SVD
	if !svd.Factorize(frame, mat.SVDNone) {
		try.Fail("most probable path: the singular values of the frame do not converge")
	}
	sigma := 0.1 * svd.Values(nil)[len(u.Frame)-1]
	for range multipliers {
		if p.to(s, u, sigma, accuracy, most); s.found == nil {
			return
		}
		off := floats.SubTo(make([]float64, len(y)), y, s.found.Ends[0])
		if floats.Norm(off, 2) <= 1e-11*floats.Norm(u.X, 2) {
			return
		}
		s.aim = floats.AddTo(off, off, s.aim)
	}
	p.to(s, u, sigma, accuracy, most)
}

// parallel calls work for 0 … n−1 on all cores. An error of one of them, or of several, ends it when all are done.
func parallel(n int, work func(i int)) {
	errs := make([]error, n)
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				errs[i] = try.Run(func() { work(i) })
			}
		})
	}
	group.Wait()
	try.Do(errors.Join(errs...))
}
