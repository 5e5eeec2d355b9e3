package landmarks

import (
	"fmt"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/ode"
	"anatomy/geom/solve"
	"anatomy/geom/stats"
)

// DataTerm is a squared distance of points from a target, for Match: Correspondence, mesh.Current, mesh.Varifold, or one of
// your own.
type DataTerm interface {
	// Inputs returns the numbers that Distance takes, for n points in R^d: arguments of an engine.Func. An error says why such
	// points cannot be compared with the target.
	Inputs(n, d int) ([]any, error)
	// Distance returns the squared distance, a scalar, of points x, [n, d]. scale, a scalar, multiplies the width at which it
	// looks, where there is one.
	Distance(x, scale *Node, inputs []*Node) *Node
	// Scales returns the scales to be taken one after the other, coarse to fine; the last is 1.
	Scales() []float64
}

// Correspondence is Σ_ia w_i |x_ia − y_ia|² for points x_i that correspond to those of the target, [n][D], over the coordinates that
// are not NaN: a missing landmark counts nothing. Without weights, one a point, all are 1.
func Correspondence(target [][]float64, weights ...float64) DataTerm {
	return correspondence{target, weights}
}

type correspondence struct {
	target  [][]float64
	weights []float64
}

func (c correspondence) Scales() []float64 { return []float64{1} }

func (c correspondence) Inputs(n, d int) ([]any, error) {
	if len(c.target) != n {
		return nil, fmt.Errorf("%d points, the target has %d", n, len(c.target))
	}
	if c.weights != nil && len(c.weights) != n {
		return nil, fmt.Errorf("%d weights for %d points", len(c.weights), n)
	}
	y, w := make([][]float64, n), make([][]float64, n)
	total := 0.0
	for i, p := range c.target {
		if len(p) != d {
			return nil, fmt.Errorf("point %d of the target has %d coordinates, want %d", i, len(p), d)
		}
		weight := 1.0
		if c.weights != nil {
			weight = c.weights[i]
		}
		if !(weight >= 0) || math.IsInf(weight, 1) {
			return nil, fmt.Errorf("weight %d is %g, want a number that is not negative", i, weight)
		}
		y[i], w[i] = make([]float64, d), make([]float64, d)
		for a, v := range p {
			if math.IsInf(v, 0) {
				return nil, fmt.Errorf("coordinate %d of point %d of the target is %g", a, i, v)
			}
			if !math.IsNaN(v) {
				y[i][a], w[i][a] = v, weight
				total += weight
			}
		}
	}
	if total == 0 {
		return nil, fmt.Errorf("no point of the target has a weight and coordinates")
	}
	return []any{y, w}, nil
}

func (c correspondence) Distance(x, _ *Node, inputs []*Node) *Node {
	return ReduceAllSum(Mul(inputs[1], Square(Sub(x, inputs[0]))))
}

// Matching is a geodesic that carries a source near to a target.
type Matching struct {
	// Geodesic is that of the points with momenta, the source itself or the control points. Its Residual is √(Mismatch/Before),
	// the share of the distance that is left (0 where there was none), and Iterations and Status are those of the minimisation.
	Geodesic
	Source   [][][]float64 // the path of the source points at the times 0, 1/n, …, 1
	Deformed [][]float64   // the source at time 1

	Before, Mismatch float64 // the data term at times 0 and 1: squared distances
	Objective        float64 // ½ ‖v‖² + Mismatch/2σ²
	Evaluations      int     // of the objective with its gradient
}

// Match deforms a source, [N][D], towards a target that need not have the same points: it minimises
//
//	½ ‖v‖²_K + D(φ(source))/2σ²,   ½ ‖v‖²_K = ½ Σ_ij K(x_i, x_j) p_i·p_j
//
// over the momenta p at the source's points, where φ is the end of their geodesic flow and D the term (Vaillant, Miller, Younes and
// Trouvé, NeuroImage 23, 2004). Small σ matches closely. As ‖v‖_K is a length, σ has the unit of √D by length: a pure number for
// landmarks, where it is that of stats.Mismatch, and for curves; a length for surfaces.
// The gradient is exact, in reverse mode through the integrator; the limited-memory BFGS method sees it in the metric of
// the kernel. Momenta stay bounded where the exact Log has to undo a wide kernel's smoothing: there Match with Correspondence is the
// way to a good geodesic.
//
// It takes stats.Tolerance (default 0.03) and stats.MaxIterations (500 at every scale of the term). Status says how the last scale ended; cancelled or not, the best momenta found are returned.
func (s *Space) Match(source [][]float64, term DataTerm, sigma float64, opts ...stats.Option) (*Matching, error) {
	return s.match(source, nil, term, sigma, opts)
}

// MatchFrom is Match with momenta at control points, [N][D], of their own, which carry the source, [k][D], along: with fewer of them
// than source points, about a kernel's width apart, it is as much faster, and the deformation as smooth (Durrleman et al.,
// NeuroImage 101, 2014).
func (s *Space) MatchFrom(controls, source [][]float64, term DataTerm, sigma float64, opts ...stats.Option) (*Matching, error) {
	for i, z := range source {
		if err := s.checkPoint(z); err != nil {
			return nil, fmt.Errorf("MatchFrom: point %d of the source: %w", i, err)
		}
	}
	if len(source) == 0 {
		return nil, fmt.Errorf("MatchFrom: no source")
	}
	return s.match(controls, source, term, sigma, opts)
}

// String says what the match is in one line.
func (m *Matching) String() string {
	return fmt.Sprintf("match of %d points, √(%.3g) of √(%.3g) left, %s after %d iterations", len(m.Deformed), m.Mismatch, m.Before, m.Status, m.Iterations)
}

// match carries the source, or without one the controls themselves, to the target.
func (s *Space) match(controls, source [][]float64, term DataTerm, sigma float64, opts []stats.Option) (*Matching, error) {
	if err := s.CheckNumbers("source", controls); err != nil {
		return nil, fmt.Errorf("Match: the points with momenta: %w", err)
	}
	if err := s.CheckRegular("source", controls); err != nil {
		return nil, fmt.Errorf("Match: the points with momenta: %w", err)
	}
	q := s.Vector(controls)
	if !(sigma > 0) || math.IsInf(sigma, 1) {
		return nil, fmt.Errorf("Match: σ is %g, want a positive number", sigma)
	}
	moved := source
	if source == nil {
		moved = controls
	}
	inputs, err := term.Inputs(len(moved), s.Manifold.D)
	if err != nil {
		return nil, fmt.Errorf("Match: %w", err)
	}
	fixed := append([]any{q, moved}, inputs...)
	precision := 1 / (sigma * sigma)
	objective := engine.Compile(func(in []*Node) []*Node {
		p, scale, precision, q, z := in[0], in[1], in[2], in[3], in[4]
		var end *Node
		if source == nil {
			end = s.Manifold.points(ode.Flow(geom.Geodesics(s.Manifold), s.Method(), s.Steps(), ode.State{q, p})[0])
		} else {
			end = ode.Flow(s.carrying(), s.Method(), s.Steps(), ode.State{q, p, z})[2]
		}
		mismatch := term.Distance(end, scale, in[5:])
		energy := geom.Hamiltonian(s.Manifold)(q, p)
		f := Add(energy, Mul(MulScalar(precision, 0.5), mismatch))
		return []*Node{f, Gradient(f, p)[0], mismatch, ReduceAllSum(Square(end))}
	}, engine.Name("Match"))
	defer objective.Free()
	m := &Matching{}
	evaluate := func(p []float64, scale float64) (engine.Values, error) {
		m.Evaluations++
		return objective.Call(append([]any{p, scale, precision}, fixed...)...)
	}
	p := make([]float64, len(q))
	out, err := evaluate(p, 1)
	if err != nil {
		return nil, err
	}
	m.Before = out.Scalar(2)
	if f := out.Scalar(0); math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("Match: the data term of the source is %g", m.Before)
	}
	kernel, err := s.newSpectrum(q)
	if err != nil {
		return nil, fmt.Errorf("Match: %w", err)
	}
	scales := term.Scales()
	for k, scale := range scales {
		value := func(p []float64) (float64, []float64, error) {
			out, err := evaluate(p, scale)
			if err != nil {
				return 0, nil, err
			}
			f, g := out.Scalar(0), out.Vector(1)
			if sum := f + out.Scalar(3) + floats.Norm(g, 1); math.IsNaN(sum) || math.IsInf(sum, 0) {
				return math.Inf(1), g, nil
			}
			return f, g, nil
		}
		stiffness, err := kernel.stiffness(value, p)
		if err != nil {
			return nil, err
		}
		more := opts
		if k < len(scales)-1 {
			more = append(opts[:len(opts):len(opts)], stats.Tolerance(0.1)) // a coarse scale only shows the way
		}
		found, err := stats.Minimise("match", s, 0.03, solve.Objective{Value: value, Precondition: kernel.solve, FirstStep: 1 / (1 + stiffness)}, p, more...)
		if err != nil {
			return nil, fmt.Errorf("Match: %w", err)
		}
		p = found.X
		m.Objective, m.Status = found.Value, found.Status
		m.Iterations += found.Iterations
		if m.Status == geom.Cancelled {
			break
		}
	}
	g, err := s.Shoot(controls, s.Point(p))
	if err != nil {
		return nil, fmt.Errorf("Match: %w", err)
	}
	iterations, status := m.Iterations, m.Status
	m.Geodesic = *g
	m.Iterations, m.Status = iterations, status
	if m.Source = m.Path; source != nil {
		if m.Source, err = s.Carry(&m.Geodesic, source); err != nil {
			return nil, err
		}
	}
	m.Deformed = m.Source[len(m.Source)-1]
	if err := s.holds(m, term); err != nil {
		return nil, fmt.Errorf("Match: %w", err)
	}
	if out, err = evaluate(p, 1); err != nil {
		return nil, err
	}
	m.Objective, m.Mismatch = out.Scalar(0), out.Scalar(2)
	if m.Before > 0 {
		m.Residual = math.Sqrt(max(0, m.Mismatch) / m.Before)
	}
	return m, nil
}

// holds says whether the fast sums of the kernels, where they have boxes, were right for a match.
func (s *Space) holds(m *Matching, term DataTerm) error {
	if k, ok := s.Manifold.Kernel.(bounded); ok {
		for i := range m.Path {
			if err := k.Fits(slices.Concat(m.Path[i], m.Source[i])); err != nil {
				return fmt.Errorf("step %d of %d: %w", i, len(m.Path)-1, err)
			}
		}
	}
	if t, ok := term.(bounded); ok {
		return t.Fits(m.Deformed)
	}
	return nil
}

// carrying is the field of geodesics (q, p) and of points z that go with them.
func (s *Space) carrying() ode.Field {
	hamilton := geom.Geodesics(s.Manifold)
	return func(t *Node, y ode.State) ode.State {
		return append(hamilton(t, y[:2]), s.Manifold.Velocity(y[0], y[1], y[2]))
	}
}
