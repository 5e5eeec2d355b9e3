package stats

import (
	"context"
	"math"

	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/dense"
	"anatomy/internal/lists"
)

// shots are geodesics q_i from points y_i that end near samples x_i, on a manifold whose points are coordinates. Each minimises
// ‖p‖²_g* + |q(1) − x_i|²/σ² over its momentum p at y_i. At the minimum p is a root of the transversality condition
//
//	F_i(p) = q(1) + σ² p(1) − x_i = 0
//
// (Beg, Miller, Trouvé and Younes, Int. J. Computer Vision 61, 2005, for images), whose derivative is close to g*(y_i) + σ².
// So the search for all p_i needs flows and no gradients, and can continue from the current p_i when the y_i or σ have changed
// a little. The y_i are close together, so that g* at one of them is good enough for all.
type shots struct {
	ctx       context.Context
	space     *geom.Space[geom.Vec]
	finer     *geom.Space[geom.Vec] // takes the place of space as soon as momenta are not found; nil: none
	samples   [][]float64
	y         [][]float64
	variance  float64 // σ²
	tolerance float64 // of |F_i| times share_i, in the search
	// share has the weights of the samples in a sum Σ w_i p_i that matters alone, in units of the mean weight, at most 1. With it, what is known
	// of F_i where the y_i move a little, F_i + y_i − y_i before, takes the place of an evaluation. nil: all are 1, and all F_i are evaluated.
	share    []float64
	cometric *cometric
	roots    []*solve.Root
}

func newShots(ctx context.Context, space *geom.Space[geom.Vec], samples [][]float64) *shots {
	s := &shots{ctx: ctx, space: space, samples: samples}
	for _, x := range samples {
		s.roots = append(s.roots, &solve.Root{X: make([]float64, len(x))})
	}
	return s
}

// aim moves the starts of the geodesics to y, with the cometric at one of these points or close by, changes σ², and searches for
// the new momenta: from the old ones by Broyden's method, and if that fails by Newton's; if that fails too, with a finer
// integration; and then, because the changed problem has no solution near the old momenta, from p = 0 with σ² falling.
func (s *shots) aim(y [][]float64, at *cometric, variance float64) {
	before := s.y
	s.y, s.cometric, s.variance = y, at, variance
	lost := s.follow(before)
	if len(lost) > 0 && s.refine() {
		lost = s.follow(nil)
	}
	if variance > 0 {
		s.approach(lost)
	}
}

// refine goes over to the finer integration, if there is one.
func (s *shots) refine() bool {
	if s.finer == nil {
		return false
	}
	s.space, s.finer = s.finer, nil
	return true
}

// steady goes over to as many steps as some of the geodesics need in a space that doubles its steps, and reports whether these are more than
// before: then they are to be aimed anew. It returns the numbers of those for which no steps are enough.
func (s *shots) steady(space *geom.Space[geom.Vec], which ...int) (more bool, lost []int) {
	var needed []*geodesic
	for _, i := range which {
		if g, err := space.Shoot(s.y[i], s.roots[i].X); err == nil {
			needed = append(needed, g)
		} else {
			lost = append(lost, i)
		}
	}
	if finer := space.Steady(needed...); finer.Steps() > s.space.Steps() {
		s.space, more = finer, true
	}
	return more, lost
}

// follow searches for the momenta near the current ones, which are those of geodesics from the starts before; nil: from anywhere. It returns the
// numbers of the samples for which it does not find them.
func (s *shots) follow(before [][]float64) (lost []int) {
	for i, r := range s.roots {
		if r.Tolerance = s.tolerance; s.share != nil {
			r.Tolerance /= s.share[i]
		}
		if s.share != nil && before != nil {
			r.Expect(floats.AddTo(make([]float64, len(r.F)), r.F, floats.SubTo(make([]float64, len(r.F)), s.y[i], before[i])))
		}
	}
	if s.share == nil || before == nil {
		try.Do(s.equations(lists.Range(len(s.roots))).Renew(s.roots))
	}
	// Only momenta that are not found yet are evaluated.
	for range 4 {
		if which := s.open(); len(which) > 0 {
			try.Do(s.equations(which).Broyden(s.ctx, lists.Pick(s.roots, which), 5))
		}
	}
	s.newton()
	return s.open()
}

// open returns the numbers of the samples whose momenta are not found yet.
func (s *shots) open() (which []int) {
	for i, r := range s.roots {
		if !r.Done {
			which = append(which, i)
		}
	}
	return which
}

// worst is the largest |F_i|, times share_i.
func (s *shots) worst() float64 {
	worst := 0.0
	for i, r := range s.roots {
		off := r.Norm
		if s.share != nil && !math.IsNaN(off) {
			off *= s.share[i]
		}
		if worst = max(worst, off); math.IsNaN(off) {
			return math.Inf(1)
		}
	}
	return worst
}

func (s *shots) newton() {
	which := s.open()
	if len(which) == 0 {
		return
	}
	try.Do(s.equations(which).Newton(s.ctx, lists.Pick(s.roots, which), 8))
	for _, r := range lists.Pick(s.roots, which) {
		r.Done = r.Status == solve.Converged
	}
}

// batch is how many geodesics one call integrates at most: larger calls are no faster for each geodesic, and take more memory.
const batch = 64

// call runs a graph function of (y, σ², x, rows…) for some of the samples, with the flow of the present space, and returns a row for each. It pads
// their number to one of a few sizes, so that the function is compiled for these sizes only. That may be long after the first call with the same
// key, and by the function of that call: it may use no field of shots, which change.
func (s *shots) call(name string, fn func(space *geom.Space[geom.Vec], y, variance, x *graph.Node, rows []*graph.Node) *graph.Node, which []int, rows ...[][]float64) [][]float64 {
	if len(which) > batch {
		part := func(from, to int) [][]float64 {
			return s.call(name, fn, which[from:to], lists.Each(rows, func(r [][]float64) [][]float64 { return r[from:to] })...)
		}
		return append(part(0, batch), part(batch, len(which))...)
	}
	size := min(batch, len(s.samples))
	for size > 1 && (size+2)/3 >= len(which) {
		size = (size + 2) / 3
	}
	x, y := make([][]float64, size), make([][]float64, size)
	for k := range x {
		i := which[min(k, len(which)-1)]
		x[k], y[k] = s.samples[i], s.y[i]
	}
	args := []any{y, s.variance, x}
	for _, r := range rows {
		padded := lists.Make(size, func(k int) []float64 { return r[min(k, len(r)-1)] })
		args = append(args, padded)
	}
	space := s.space
	out := try.Get(space.Call(shooting(name, space), func(in []*graph.Node) []*graph.Node {
		return []*graph.Node{fn(space, in[0], in[1], in[2], in[3:])}
	}, args...))
	return out.Matrix(0)[:len(which)]
}

// equations are F_i = 0 for some of the samples.
func (s *shots) equations(which []int) solve.System {
	return solve.System{
		Residual: func(p [][]float64) ([][]float64, error) {
			return s.call("transversality", func(space *geom.Space[geom.Vec], y, variance, x *graph.Node, in []*graph.Node) *graph.Node {
				q, r := space.FlowMap(y, in[0])
				return graph.Sub(graph.Add(q, graph.Mul(variance, r)), x)
			}, which, p), nil
		},
		Derivative: func(p, dp [][]float64) ([][]float64, error) {
			return s.call("derivative of transversality", func(space *geom.Space[geom.Vec], y, variance, _ *graph.Node, in []*graph.Node) *graph.Node {
				dq, dr := space.FlowTangent(y, in[0], in[1])
				return graph.Add(dq, graph.Mul(variance, dr))
			}, which, p, dp), nil
		},
		Some: func(some []int) solve.System { return s.equations(lists.Pick(which, some)) },
		Precondition: func(f [][]float64) ([][]float64, error) {
			return lists.Make(len(f), func(k int) []float64 { return s.cometric.solve(s.variance, f[k]) }), nil
		},
	}
}

// distances returns ‖p_i‖²_g* + |q_i(1) − x_i|²/σ² and |q_i(1) − x_i|² for all samples; the former is ‖p_i‖²_g* where σ is 0.
func (s *shots) distances() (squares, misses []float64) {
	p := lists.Each(s.roots, func(r *solve.Root) []float64 { return r.X })
	for _, row := range s.call("distances", distances, lists.Range(len(p)), p) {
		if misses = append(misses, row[1]); s.variance > 0 {
			row[0] += row[1] / s.variance
		}
		squares = append(squares, row[0])
	}
	return squares, misses
}

// velocities returns the p_i♯ at the y_i.
func (s *shots) velocities() [][]float64 {
	p := lists.Each(s.roots, func(r *solve.Root) []float64 { return r.X })
	return musical(s.space, "sharp", s.y, p, geom.Covector, geom.Vector, geom.Sharp).Matrix(0)
}

// distances is the graph function of the method: it returns ‖p_i‖²_g* and |q_i(1) − x_i|², [..., 2].
func distances(space *geom.Space[geom.Vec], y, _, x *graph.Node, in []*graph.Node) *graph.Node {
	p := in[0]
	q, _ := space.FlowMap(y, p)
	misses := graph.ReduceSum(graph.Square(graph.Sub(q, x)), -1)
	return graph.Stack([]*graph.Node{graph.ReduceSum(graph.Mul(p, geom.Sharp(space.M, y, p)), -1), misses}, -1)
}

// approach searches for the momenta of some samples anew from p = 0, with σ² falling to its value from one for which the problem
// has one solution: by halves, or by less where that is too fast. Momenta that it does not find stay as they are.
func (s *shots) approach(which []int) {
	const (
		exact   = 1e-3 // the tolerance of |F_i| on the way, divided by that at the end
		fastest = 2    // the factors by which σ² falls
		slowest = 1.15
	)
	wanted := s.variance
	defer func() { s.variance = wanted }()
	above := fastest * wanted // the last σ² with known momenta
	for above < floats.Max(s.cometric.values) {
		above *= fastest
	}
	for _, i := range which {
		system, known, above := s.equations([]int{i}), make([]float64, len(s.y[i])), above
		for fall := float64(fastest); above > wanted && fall > slowest && s.ctx.Err() == nil; {
			s.variance = math.Max(wanted, above/fall)
			root := &solve.Root{X: known, Tolerance: exact * s.tolerance}
			roots := []*solve.Root{root}
			try.Do(system.Renew(roots))
			try.Do(system.Broyden(s.ctx, roots, 10))
			try.Do(system.Newton(s.ctx, roots, 10))
			if !(root.Norm <= root.Tolerance) {
				fall = math.Sqrt(fall)
				continue
			}
			known, above, fall = root.X, s.variance, math.Min(fastest, fall*math.Sqrt(fall))
			if above == wanted {
				root.Tolerance = s.tolerance
				s.roots[i] = root
			}
		}
	}
}

// cometric is g* at a point as a matrix on the host, with its eigenvalues and eigenvectors. For a PointCometric it is K ⊗ 1, where
// k is K and width the number of coordinates of a point; otherwise k is g* and width is 1.
type cometric struct {
	k       *mat.SymDense
	width   int
	values  []float64
	vectors *mat.Dense
}

func cometricAt(space *geom.Space[geom.Vec], y []float64) *cometric {
	out := try.Get(space.Call(key("cometric matrix"), func(in []*graph.Node) []*graph.Node {
		if m, ok := space.M.(geom.PointCometric); ok {
			return []*graph.Node{m.Gram(in[0])}
		}
		return []*graph.Node{geom.CometricMatrix(space.M, in[0])}
	}, y))
	n, ok := len(out.Matrix(0)), lists.Finite(floats.Norm(out.Flat(0), 1))
	c := &cometric{k: mat.NewSymDense(n, out.Flat(0)), width: len(y) / n}
	if ok {
		c.values, c.vectors, ok = dense.Eigen(c.k)
	}
	try.FailIf(!ok, "the metric is singular or not finite at a point of the search: give a Start closer to the samples; for landmarks, take a narrower kernel")
	return c
}

// sharp returns g* p.
func (c *cometric) sharp(p []float64) []float64 {
	var v mat.Dense
	v.Mul(c.k, mat.NewDense(len(c.values), c.width, p))
	return v.RawMatrix().Data
}

// square returns ‖p‖²_g*.
func (c *cometric) square(p []float64) float64 { return math.Max(0, floats.Dot(p, c.sharp(p))) }

// solve returns (g* + σ²)⁻¹ v.
func (c *cometric) solve(variance float64, v []float64) []float64 {
	var parts, p mat.Dense
	parts.Mul(c.vectors.T(), mat.NewDense(len(c.values), c.width, v))
	for i, l := range c.values {
		floats.Scale(1/(math.Max(l, 0)+variance), parts.RawRowView(i))
	}
	p.Mul(c.vectors, &parts)
	return p.RawMatrix().Data
}
