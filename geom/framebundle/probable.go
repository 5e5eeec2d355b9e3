package framebundle

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/ode"
)

// EndTolerance is by how much, relative to |y − x|, Exp_FM may miss the end of a most probable path for it to be Converged: more
// than the integrators of the two differ by, and far below what noise and samples leave open.
const EndTolerance = 1e-5

// MostProbablePath returns the path from u that minimises
//
//	½ ∫ |w'|² dt + |x(1) − y|²/2σ²,
//
// the most probable path of Brownian motion with covariance ννᵀ to an observation y with noise of standard deviation σ in
// every coordinate (of an Atlas, in every ambient one). With σ = 0 it ends at y, which takes a frame of d vectors. See Probable for
// the search where σ > 0.
//
// The path is a projected geodesic of the frame bundle with P(1) = 0 and ρ + σ² h(1) = 0 for the derivative ρ of
// |x(1) − y|²/2. Residual says by how much Exp_FM of its momentum ends elsewhere, and Status is Converged where that is at
// most EndTolerance of |y − x|. It is more where σ is small and the rank is: h(0) is of the size |x(1) − y|/σ², and the flow
// magnifies its last digits. The path is right even then. On an Atlas it stays in the chart centred at u.
func (s *Space[P]) MostProbablePath(u Point[P], y P, sigma float64) (*Geodesic[P], error) {
	found, err := s.MostProbablePaths(u, []P{y}, sigma)
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// MostProbablePaths is MostProbablePath for many observations at once.
func (s *Space[P]) MostProbablePaths(u Point[P], observations []P, sigma float64) ([]*Geodesic[P], error) {
	const what = "most probable path"
	if err := s.Check(u); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if err := s.Base.CheckAll("observation", observations); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	rank, d := len(u.Frame), s.Base.M.Dim()
	switch {
	case !(sigma >= 0) || math.IsInf(sigma, 1):
		return nil, fmt.Errorf("%s: noise of standard deviation %g", what, sigma)
	case sigma == 0 && rank < d:
		return nil, fmt.Errorf("%s: %d frame vectors in dimension %d reach no given point: use a full frame or noise σ > 0", what, rank, d)
	}
	task := s.Base.Begin(what)
	defer task.End()
	found, err := s.mostProbable(task, s.flat(u), s.Base.Vectors(observations), sigma)
	if err != nil {
		return nil, err
	}
	gs := make([]*Geodesic[P], len(found))
	for i, g := range found {
		gs[i] = Shaped(s.Base, g)
	}
	return gs, nil
}

func (s *Space[P]) mostProbable(task *geom.Task, u Point[geom.Vec], ys [][]float64, sigma float64) ([]*Geodesic[geom.Vec], error) {
	if sigma == 0 {
		return s.exactPaths(task, u, ys)
	}
	p := NewProbable(s.Base, ys)
	p.task = task
	gs, err := p.paths(u, sigma)
	if err != nil {
		return nil, err
	}
	for _, g := range gs {
		if g.Status == geom.Stalled {
			p.refine(min(lastModes, s.Base.Steps()+1))
			return p.paths(u, sigma)
		}
	}
	return gs, nil
}

// Probable searches for the most probable paths from a point of the frame bundle to observations.
//
// By the maximum principle a most probable path is decided by its controls w', m smooth functions of time, and its momentum is
// minus the derivative of the cost by its start. The search is for controls, as sums of polynomials: it is one for
// a minimum, with few unknowns, which no curvature makes unstable, whereas momenta of d(m + 1) components that a flow of
// Hamilton's equations magnifies are known best when the path is. The standard deviation of the noise falls to the one wanted
// by factors of 3. What is found at one point of the bundle is where the search at the next one starts.
type Probable struct {
	space    *Space[geom.Vec]
	task     *geom.Task // nil for none
	ys       [][]float64
	modes    int
	search   []*minimiser
	sigma    float64
	Searches int // evaluations of all paths
}

// Found tells of most probable paths how they start.
type Found struct {
	Cost, Energy, Mismatch []float64 // Cost is the energy plus Mismatch²/2σ²
	Momenta                []Momentum[geom.Vec]
	Pull                   []Momentum[geom.Vec] // the same as steps of Move see them
	Excess                 float64              // by how much Cost exceeds the minimum at most, as the search knows it
}

const (
	firstModes, lastModes = 8, 16 // polynomials a frame vector
	persistence           = 60    // evaluations at one noise
)

// NewProbable starts a search for paths to points as lists of numbers.
func NewProbable[P geom.Point](on geom.Of[P], ys [][]float64) *Probable {
	s := Over(on.Geometry().Flat())
	return &Probable{space: s, ys: ys, modes: min(firstModes, s.Base.Steps()+1)}
}

// From returns the most probable paths from u to observations with noise of standard deviation σ > 0. Their costs exceed the
// minimum by no more than the tolerance, in units of log likelihood. It does not Check u.
func (p *Probable) From(u Point[geom.Vec], sigma, tolerance float64) (*Found, error) {
	level := sigma
	if p.search == nil || len(p.search[0].x) != p.modes*len(u.Frame) {
		for _, y := range p.ys {
			level = max(level, floats.Distance(y, u.X, 2)/math.Sqrt(float64(len(y))))
		}
		p.start(u, level)
	} else {
		if p.sigma > 1.5*sigma {
			level = p.sigma
		}
	}
	for {
		for _, m := range p.search {
			m.renew(p.sigma * p.sigma / (level * level))
		}
		p.sigma = level
		last := level <= sigma
		limit := tolerance
		if !last {
			limit = max(tolerance, 1e-3)
		}
		found, err := p.minimise(u, limit)
		if err != nil || last {
			return found, err
		}
		if level /= 3; level < 1.5*sigma {
			level = sigma
		}
	}
}

// start sets the controls to 0 with the Hessian of flat space.
func (p *Probable) start(u Point[geom.Vec], sigma float64) {
	m := len(u.Frame)
	p.search, p.sigma = make([]*minimiser, len(p.ys)), sigma
	for i := range p.search {
		h := mat.NewSymDense(p.modes*m, nil)
		for k := range p.modes * m {
			h.SetSym(k, k, 1)
		}
		for a := range m {
			for b := a; b < m; b++ {
				h.SetSym(a, b, h.At(a, b)+floats.Dot(u.Frame[a], u.Frame[b])/(sigma*sigma))
			}
		}
		p.search[i] = &minimiser{x: make([]float64, p.modes*m), hessian: h}
	}
}

// refine takes more polynomials.
func (p *Probable) refine(modes int) {
	for _, s := range p.search {
		rank := len(s.x) / p.modes
		h := mat.NewSymDense(modes*rank, nil)
		for k := range modes * rank {
			h.SetSym(k, k, 1)
		}
		for k := range s.x {
			for l := k; l < len(s.x); l++ {
				h.SetSym(k, l, s.hessian.At(k, l))
			}
		}
		s.x, s.hessian = append(s.x, make([]float64, modes*rank-len(s.x))...), h
	}
	p.modes = modes
}

// Controls returns the controls that were found, [modes][m][N], as Steer takes them.
func (p *Probable) Controls() [][][]float64 {
	return p.controls(func(m *minimiser) []float64 { return m.x })
}

func (p *Probable) controls(of func(m *minimiser) []float64) [][][]float64 {
	rank := len(p.search[0].x) / p.modes
	c := make([][][]float64, p.modes)
	for k := range c {
		c[k] = make([][]float64, rank)
		for a := range c[k] {
			for _, m := range p.search {
				c[k][a] = append(c[k][a], of(m)[k*rank+a])
			}
		}
	}
	return c
}

func (p *Probable) minimise(u Point[geom.Vec], tolerance float64) (*Found, error) {
	precision := 1 / (p.sigma * p.sigma)
	for try := 0; ; try++ {
		out, err := p.space.Steer(u, p.controls(func(m *minimiser) []float64 { return m.trial }), p.ys)
		if err != nil {
			return nil, err
		}
		p.Searches++
		cancelled := p.task != nil && p.task.Report(geom.Progress{Iteration: p.Searches, Objective: p.sigma, Gradient: tolerance})
		f := &Found{Mismatch: out.Mismatch, Momenta: out.Momenta, Pull: out.Pull}
		atBest := true
		for i, m := range p.search {
			gradient := append([]float64{}, m.trial...)
			for k := range gradient {
				rank := len(u.Frame)
				gradient[k] += precision * out.Slope[k/rank][k%rank][i]
			}
			energy := floats.Dot(m.trial, m.trial) / 2
			cost := energy + precision/2*out.Mismatch[i]*out.Mismatch[i]
			f.Energy, f.Cost = append(f.Energy, energy), append(f.Cost, cost)
			tried := &m.trial[0]
			m.learn(cost, gradient, tolerance)
			atBest = atBest && m.done && tried == &m.x[0]
			f.Excess = max(f.Excess, m.decrement)
		}
		if try >= persistence || cancelled {
			for _, m := range p.search {
				m.done, m.trial = true, m.x
			}
		}
		if atBest {
			for i, h := range f.Momenta {
				floats.Scale(precision, h.Horizontal)
				floats.Scale(precision, f.Pull[i].Horizontal)
				for _, v := range h.Vertical { // which both have
					floats.Scale(precision, v)
				}
			}
			return f, nil
		}
	}
}

// paths returns the paths from u with what certifies them.
func (p *Probable) paths(u Point[geom.Vec], sigma float64) ([]*Geodesic[geom.Vec], error) {
	found, err := p.From(u, sigma, 1e-16)
	if err != nil {
		return nil, err
	}
	for i, cost := range found.Cost {
		if _, bad := notFinite([]float64{cost}); bad {
			return nil, diverged(i)
		}
	}
	h, vertical := make([][]float64, len(p.ys)), make([][][]float64, len(u.Frame)) // [N, a], [m, N, a]
	for i, m := range found.Momenta {
		h[i] = m.Horizontal
		for b, v := range m.Vertical {
			vertical[b] = append(vertical[b], v)
		}
	}
	out, err := p.space.call("ends of Exp_FM", func(in []*Node) []*Node {
		x, nu := copies(in[0], in[1], in[2].Shape().Dim(0))
		path := Shoot(p.space.Base.M, p.space.Base.Method(), p.space.Base.Steps(), ode.State{x, nu, in[2], in[3]})
		return []*Node{Squeeze(SliceAxis(path[0], 0, AxisRange(-1)), 0)}
	}, u.X, u.Frame, h, vertical)
	if err != nil {
		return nil, err
	}
	gs := make([]*Geodesic[geom.Vec], len(p.ys))
	for i, end := range out.Matrix(0) {
		c := make([][]float64, p.modes)
		for k := range c {
			c[k] = p.search[i].x[k*len(u.Frame) : (k+1)*len(u.Frame)]
		}
		g, err := p.space.SteeredPath(u, c)
		if err != nil {
			return nil, err
		}
		off := floats.Distance(end, g.End, 2)
		g.Momentum, g.Mismatch, g.Iterations = found.Momenta[i], found.Mismatch[i], p.Searches
		g.Residual = off / math.Sqrt(float64(len(end)))
		if !(off <= EndTolerance*floats.Distance(p.ys[i], u.X, 2)+1e-13*floats.Norm(u.X, 2)) {
			g.Status = geom.Stalled
		}
		if p.task != nil && p.task.Stopped() {
			g.Status = geom.Cancelled
		}
		gs[i] = g
	}
	return gs, nil
}
