package framebundle

import (
	"errors"
	"fmt"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/ode"
	"anatomy/geom/solve"
)

// EndTolerance is by how much, relative to |y − x|, Exp_FM may miss the end of a most probable path for it to be Converged: more
// than the integrators of the two differ by, and far below what noise and samples leave open.
const EndTolerance = 1e-5

// MostProbablePath returns the path from u that minimises
//
//	½ ∫ |w'|² dt + |x(1) − y|²/2σ²,
//
// the most probable path of Brownian motion with covariance ννᵀ to an observation y with noise of standard deviation σ in
// every coordinate (of a Charted manifold, in every ambient one, with y Aligned to x(1)). With σ = 0 it ends at y, which takes a frame of d
// vectors. See Probable for the search.
//
// The path is a projected geodesic of the frame bundle with P(1) = 0 and ρ + σ² h(1) = 0 for the derivative ρ of
// |x(1) − y|²/2. Residual says by how much Exp_FM of its momentum ends elsewhere, and Status is Converged where that is at
// most EndTolerance of |y − x|. It is more where σ is small and the rank is: h(0) is of the size |x(1) − y|/σ², and the flow
// magnifies its last digits. The path is right even then. On a Charted manifold it stays in the chart centred at u.
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
	p := NewProbable(s.Base, s.Base.Vectors(observations))
	p.task = s.Base.Begin(what)
	defer p.task.End()
	found, err := p.Paths(s.flat(u), sigma)
	if err != nil {
		return nil, err
	}
	gs := make([]*Geodesic[P], len(found))
	for i, g := range found {
		gs[i] = Shaped(s.Base, g)
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
	task     *geom.Task  // nil for none
	ys, aims [][]float64 // observations, and what paths aim at
	modes    int
	search   []*solve.BFGS
	sigma    float64
	kept     []*solve.BFGS // what Follow sets out with
	keptAt   float64       // the σ of these
	Searches int           // evaluations of all paths
}

// Found tells of most probable paths how they start.
type Found struct {
	Cost, Energy []float64 // Cost is the energy plus |x(1) − y|²/2σ²
	Ends         [][]float64
	Momenta      []Momentum[geom.Vec]
	Pull         []Momentum[geom.Vec] // the same as steps of Move see them
	Excess       float64              // by how much Cost exceeds the minimum at most, as the search knows it; +Inf where a path is not finite
}

const (
	firstModes, lastModes = 8, 16 // polynomials a frame vector
	persistence           = 60    // evaluations at one noise
	patience              = 15    // evaluations after a step of Move
	tooFar                = 100   // units of log likelihood by which a path may be off after one
	multipliers           = 12    // aims at most
)

// NewProbable starts a search for paths to points as lists of numbers.
func NewProbable[P geom.Point](on geom.Of[P], ys [][]float64) *Probable {
	s := Over(on.Geometry().Flat())
	return &Probable{space: s, ys: ys, aims: ys, modes: min(firstModes, s.Base.Steps()+1)}
}

// From returns the most probable paths from u to observations with noise of standard deviation σ > 0. Their costs exceed the
// minimum by no more than the tolerance, in units of log likelihood. It does not Check u.
func (p *Probable) From(u Point[geom.Vec], sigma, tolerance float64) (*Found, error) {
	level := sigma
	if p.search == nil || len(p.search[0].X) != p.modes*len(u.Frame) {
		if err := p.face(u.X); err != nil {
			return nil, err
		}
		for _, y := range p.ys {
			level = max(level, floats.Distance(y, u.X, 2)/math.Sqrt(float64(len(y))))
		}
		p.start(u, level)
	} else if p.sigma > 1.5*sigma {
		level = p.sigma
	}
	for {
		for _, m := range p.search {
			rescale(m.Hessian, p.sigma*p.sigma/(level*level))
			m.Restart()
		}
		p.sigma = level
		last := level <= sigma
		limit := tolerance
		if !last {
			limit = max(tolerance, 1e-3)
		}
		found, err := p.minimise(u, limit, persistence, math.Inf(1))
		if err != nil || last {
			return found, err
		}
		if level /= 3; level < 1.5*sigma {
			level = sigma
		}
	}
}

// face aligns the observations to a point.
func (p *Probable) face(x []float64) (err error) {
	p.ys, err = Aligned(p.space.Base, slices.Repeat([][]float64{x}, len(p.ys)), p.ys)
	p.aims = p.ys
	return err
}

// On goes on over a space that integrates otherwise.
func (p *Probable) On(base *geom.Space[geom.Vec]) { p.space = Over(base) }

// Keep remembers the paths that were found, for Follow.
func (p *Probable) Keep() {
	p.keptAt, p.kept = p.sigma, make([]*solve.BFGS, len(p.search))
	for i, m := range p.search {
		p.kept[i] = copied(m.Best, m.Hessian)
	}
}

func copied(x []float64, hessian *mat.SymDense) *solve.BFGS {
	h := mat.NewSymDense(len(x), nil)
	h.CopySym(hessian)
	return solve.NewBFGS(x, h)
}

// Follow is From for the point u to which a step of Move leads from where paths were kept: it sets out with controls that would in
// flat space leave the ends where they were. It gives up early where they are far from the best ones, with an Excess above the
// tolerance: then the step is too long. The step is that of x, and then those of the frame vectors.
func (p *Probable) Follow(u Point[geom.Vec], step []float64, sigma, tolerance float64) (*Found, error) {
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
		return nil, errors.New("most probable path: the frame degenerates")
	}
	p.sigma = sigma
	for i, k := range p.kept {
		c := append([]float64{}, k.Best...)
		end := append([]float64{}, step[:n]...)
		for a := range rank { // the first polynomial is 1
			floats.AddScaled(end, c[a], step[(a+1)*n:(a+2)*n])
		}
		var along, change mat.VecDense
		along.MulVec(frame, mat.NewVecDense(n, end))
		if err := factor.SolveVecTo(&change, &along); err != nil {
			return nil, fmt.Errorf("most probable path: %w", err)
		}
		floats.Sub(c[:rank], change.RawVector().Data)
		p.search[i] = copied(c, k.Hessian)
		rescale(p.search[i].Hessian, p.keptAt*p.keptAt/(sigma*sigma))
	}
	return p.minimise(u, tolerance, patience, tooFar)
}

// Tangent is the derivative of the end of a path, [n, …], by a step of Move, x first and then the frame vectors, and by its
// controls.
type Tangent struct{ ByStart, ByControls *mat.Dense }

// Tangents returns the derivatives of the ends of paths from u with constant controls, [P][m]. It takes P·n developments with
// their derivatives, many at once.
func (p *Probable) Tangents(u Point[geom.Vec], constant [][]float64) ([]Tangent, error) {
	n, rank := len(u.X), len(u.Frame)
	tangents := make([]Tangent, len(constant))
	starts := make([][]float64, len(constant))
	for i := range constant {
		tangents[i], starts[i] = Tangent{mat.NewDense(n, (rank+1)*n, nil), mat.NewDense(n, p.modes*rank, nil)}, u.X
	}
	// With x(1) less the unit vector k for an aim, the derivative of |x(1) − aim|²/2 is that of component k.
	var controls, aims [][]float64
	err := p.steerConstant(u, constant, starts, func(job int, s *Steered, i int) {
		for k := range n {
			aim := append([]float64{}, s.Ends[i]...)
			aim[k]--
			controls, aims = append(controls, constant[job]), append(aims, aim)
		}
	})
	if err != nil {
		return nil, err
	}
	err = p.steerConstant(u, controls, aims, func(job int, s *Steered, i int) {
		t, k := tangents[job/n], job%n
		for a, v := range append([][]float64{s.Pull[i].Horizontal}, s.Pull[i].Vertical...) {
			for j, v := range v {
				t.ByStart.Set(k, a*n+j, -v)
			}
		}
		for l, slopes := range s.Slope {
			for a, slope := range slopes {
				t.ByControls.Set(k, l*rank+a, slope[i])
			}
		}
	})
	return tangents, err
}

// steerConstant steers paths with constant controls, [P][m], in batches of the size of the search, so that the two share a compiled
// function. It calls each for path job, which is number i of a batch.
func (p *Probable) steerConstant(u Point[geom.Vec], controls, aims [][]float64, each func(job int, s *Steered, i int)) error {
	batch := len(p.ys)
	for from := 0; from < len(aims); from += batch {
		c, to := make([][][]float64, p.modes), make([][]float64, batch)
		for k := range c {
			c[k] = make([][]float64, len(u.Frame))
			for a := range c[k] {
				c[k][a] = make([]float64, batch)
			}
		}
		for i := range batch {
			job := min(from+i, len(aims)-1)
			to[i] = aims[job]
			for a, v := range controls[job] {
				c[0][a][i] = v
			}
		}
		s, err := p.space.Steer(u, c, to)
		if err != nil {
			return err
		}
		for i := range min(batch, len(aims)-from) {
			each(from+i, s, i)
		}
	}
	return nil
}

// start sets the controls to 0 with the Hessian of flat space.
func (p *Probable) start(u Point[geom.Vec], sigma float64) {
	m := len(u.Frame)
	p.search, p.sigma = make([]*solve.BFGS, len(p.ys)), sigma
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
		p.search[i] = solve.NewBFGS(make([]float64, p.modes*m), h)
	}
}

// rescale makes what a Hessian has beyond 1, the part of the observations, so many times what it was.
func rescale(h *mat.SymDense, factor float64) {
	var eigen mat.EigenSym
	if factor == 1 || !eigen.Factorize(h, true) {
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

// refine takes more polynomials.
func (p *Probable) refine(modes int) {
	for i, s := range p.search {
		rank := len(s.Best) / p.modes
		h := mat.NewSymDense(modes*rank, nil)
		for k := range modes * rank {
			h.SetSym(k, k, 1)
		}
		for k := range s.Best {
			for l := k; l < len(s.Best); l++ {
				h.SetSym(k, l, s.Hessian.At(k, l))
			}
		}
		p.search[i] = solve.NewBFGS(append(s.Best, make([]float64, modes*rank-len(s.Best))...), h)
	}
	p.modes = modes
}

// Controls returns the controls that were found, [modes][m][N], as Steer takes them.
func (p *Probable) Controls() [][][]float64 {
	return p.controls(func(m *solve.BFGS) []float64 { return m.Best })
}

func (p *Probable) controls(of func(m *solve.BFGS) []float64) [][][]float64 {
	rank := len(p.search[0].X) / p.modes
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

// minimise gives up where it takes more evaluations than persistence, or where a path costs too much by more than worst.
func (p *Probable) minimise(u Point[geom.Vec], tolerance float64, persistence int, worst float64) (*Found, error) {
	precision := 1 / (p.sigma * p.sigma)
	for try := 0; ; try++ {
		out, err := p.space.Steer(u, p.controls(func(m *solve.BFGS) []float64 { return m.X }), p.aims)
		if err != nil {
			return nil, err
		}
		p.Searches++
		cancelled := p.task != nil && p.task.Report(geom.Progress{Iteration: p.Searches, Objective: p.sigma, Gradient: tolerance})
		f := &Found{Ends: out.Ends, Momenta: out.Momenta, Pull: out.Pull}
		atBest := true
		for i, m := range p.search {
			x := m.X
			gradient := append([]float64{}, x...)
			for k := range gradient {
				rank := len(u.Frame)
				gradient[k] += precision * out.Slope[k/rank][k%rank][i]
			}
			energy := floats.Dot(x, x) / 2
			cost := energy + precision/2*out.Mismatch[i]*out.Mismatch[i]
			f.Energy, f.Cost = append(f.Energy, energy), append(f.Cost, cost)
			if _, bad := notFinite([]float64{cost}); bad && try == 0 {
				f.Excess = math.Inf(1)
				return f, nil
			}
			m.Learn(cost, gradient, tolerance)
			if try >= persistence || cancelled {
				m.Stop()
			}
			atBest = atBest && m.Done && &x[0] == &m.Best[0]
			f.Excess = max(f.Excess, m.Excess)
		}
		if f.Excess > worst {
			return f, nil
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

// Paths returns the most probable paths from u with what certifies them, for σ > 0 or for σ = 0 and a full frame. It does not
// Check u.
func (p *Probable) Paths(u Point[geom.Vec], sigma float64) ([]*Geodesic[geom.Vec], error) {
	gs, err := p.certified(u, sigma)
	if err != nil {
		return nil, err
	}
	more := min(lastModes, p.space.Base.Steps()+1)
	for _, g := range gs {
		if g.Status == geom.Stalled && p.modes < more {
			p.refine(more)
			return p.certified(u, sigma)
		}
	}
	return gs, nil
}

func (p *Probable) certified(u Point[geom.Vec], sigma float64) ([]*Geodesic[geom.Vec], error) {
	const accuracy = 1e-16
	if err := p.face(u.X); err != nil {
		return nil, err
	}
	var found *Found
	var err error
	if sigma > 0 {
		found, err = p.From(u, sigma, accuracy)
	} else {
		found, err = p.exact(u, accuracy)
	}
	if err != nil {
		return nil, err
	}
	for i, cost := range found.Cost {
		if _, bad := notFinite([]float64{cost}); bad {
			return nil, fmt.Errorf("most probable path: that to observation %d diverges: it is too far away, or the frame too small for it", i)
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
	gs, ends := make([]*Geodesic[geom.Vec], len(p.ys)), make([][]float64, len(p.ys))
	for i := range gs {
		c := make([][]float64, p.modes)
		for k := range c {
			c[k] = p.search[i].Best[k*len(u.Frame) : (k+1)*len(u.Frame)]
		}
		if gs[i], err = p.space.SteeredPath(u, c); err != nil {
			return nil, err
		}
		ends[i] = gs[i].End
	}
	shot, err := Aligned(p.space.Base, ends, out.Matrix(0))
	if err != nil {
		return nil, err
	}
	ys, err := Aligned(p.space.Base, ends, p.ys)
	if err != nil {
		return nil, err
	}
	for i, g := range gs {
		off := floats.Distance(shot[i], g.End, 2)
		g.Momentum, g.Mismatch, g.Iterations = found.Momenta[i], floats.Distance(g.End, ys[i], 2), p.Searches
		g.Residual = off / math.Sqrt(float64(len(g.End)))
		if sigma == 0 {
			off += g.Mismatch
		}
		if !(off <= EndTolerance*floats.Distance(p.ys[i], u.X, 2)+1e-13*floats.Norm(u.X, 2)) {
			g.Status = geom.Stalled
		}
		if p.task != nil && p.task.Stopped() {
			g.Status = geom.Cancelled
		}
	}
	return gs, nil
}

// exact returns the paths that end at the observations, by the method of multipliers: σ is small beside the frame, and what a
// path misses its observation by is added to what it aims at, until nothing is missed (J. Nocedal and S. J. Wright, chapter 17).
func (p *Probable) exact(u Point[geom.Vec], accuracy float64) (*Found, error) {
	frame := mat.NewDense(len(u.Frame), len(u.X), nil)
	for a, v := range u.Frame {
		frame.SetRow(a, v)
	}
	var svd mat.SVD
	if !svd.Factorize(frame, mat.SVDNone) {
		return nil, errors.New("most probable path: the singular values of the frame do not converge")
	}
	defer func() { p.aims = p.ys }()
	sigma := 0.1 * svd.Values(nil)[len(u.Frame)-1]
	for range multipliers {
		found, err := p.From(u, sigma, accuracy)
		if err != nil {
			return nil, err
		}
		missed := 0.0
		aims := make([][]float64, len(p.ys))
		for i, end := range found.Ends {
			off := floats.SubTo(make([]float64, len(end)), p.ys[i], end)
			missed = max(missed, floats.Norm(off, 2))
			aims[i] = floats.AddTo(off, off, p.aims[i])
		}
		if missed <= 1e-11*floats.Norm(u.X, 2) {
			return found, nil
		}
		p.aims = aims
	}
	return p.From(u, sigma, accuracy)
}
