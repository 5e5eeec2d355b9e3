package stats

import (
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/lists"
)

// model is points ŷ_i = Exp_p(a_i♯) at the ends of geodesics with momenta a_i = Σ_k s_ik m_k, fitted to samples x_i.
type model struct {
	p []float64   // [a]
	m [][]float64 // [K][a]
	s [][]float64 // [N][K]
}

// fit is the search for the p and m of the model that minimises Σ w_i d(ŷ_i, x_i)², or with RelativeNoise Σ w_i d_σ(ŷ_i, x_i)².
type fit struct {
	*run                          // in whose space all geodesics take the same steps, since the sum would change suddenly with them
	exact   *geom.Space[geom.Vec] // that of the user
	samples [][]float64
	weights []float64
	model

	variance float64 // of the samples

	points [][]float64 // ŷ_i of the last evaluation
	logs   []*geodesic // from the ŷ_i to the samples, without RelativeNoise
	shots  *shots      // from the ŷ_i to the samples, with RelativeNoise; else nil
}

func (f *fit) graph(name string, model model, more []any, fn func(p, m, ends *graph.Node, more []*graph.Node) []*graph.Node) engine.Values {
	space := f.space // which changes, while the function may be compiled again, for other shapes
	return try.Get(space.Call(shooting(name, space), func(in []*graph.Node) []*graph.Node {
		p, m, s := in[0], in[1], in[2]
		momenta := graph.DotGeneral(s, []int{1}, nil, m, []int{0}, nil)
		starts := graph.BroadcastToShape(graph.ExpandAxes(p, 0), momenta.Shape())
		ends, _ := space.FlowMap(starts, momenta)
		return fn(p, m, ends, in[3:])
	}, append([]any{model.p, model.m, model.s}, more...)...))
}

// gradient returns the derivatives of a sum with respect to p and m; on a Charted manifold they are a covector at p and vectors at p.
func (f *fit) gradient(sum, p, m *graph.Node) []*graph.Node {
	g := graph.Gradient(sum, p, m)
	return geom.InChart(f.space.M, []geom.Kind{geom.Covector, geom.Vector},
		func(_ geom.Local, y []*graph.Node) []*graph.Node { return y }, []*graph.Node{p, g[0], g[1]})[1:]
}

// value returns the sum and its gradient with respect to p and m. The sum is +Inf if the geodesics of the model diverge or
// their ends have no logarithms to the samples.
func (f *fit) value(at model) (value float64, gradient model) {
	out := f.graph("fit", at, nil, func(_, _, ends *graph.Node, _ []*graph.Node) []*graph.Node { return []*graph.Node{ends} })
	points := out.Matrix(0)
	for _, y := range points {
		if !lists.Finite(y...) {
			return math.Inf(1), model{}
		}
	}
	pulls := make([][]float64, len(points)) // −2 w_i Log_ŷ(x_i)♭
	if f.shots != nil {
		f.shots.aim(points, f.shots.cometric, f.shots.variance)
		squares, _ := f.shots.distances()
		f.points, value = points, floats.Dot(f.weights, squares)
		for i, r := range f.shots.roots {
			pulls[i] = floats.ScaleTo(make([]float64, len(r.X)), -2*f.weights[i], r.X)
		}
	} else {
		var guess [][]float64
		if f.logs != nil {
			guess = make([][]float64, len(points))
			for i, y := range points {
				guess[i] = floats.SubTo(make([]float64, len(y)), f.points[i], y)
				floats.Add(guess[i], f.logs[i].Velocity)
			}
		}
		logs, err := f.space.LogFrom(points, f.samples, guess)
		if err != nil && f.logs != nil {
			return math.Inf(1), model{}
		}
		try.Do(err)
		f.points, f.logs = points, logs
		for i, g := range logs {
			value += f.weights[i] * g.Length * g.Length
			pulls[i] = floats.ScaleTo(make([]float64, len(g.Momentum)), -2*f.weights[i], g.Momentum)
		}
	}
	if !lists.Finite(value) {
		return math.Inf(1), model{}
	}
	out = f.graph("gradient of fit", at, []any{pulls}, func(p, m, ends *graph.Node, more []*graph.Node) []*graph.Node {
		return f.gradient(graph.ReduceAllSum(graph.Mul(ends, more[0])), p, m)
	})
	return value, model{p: out.Vector(0), m: out.Matrix(1)}
}

// newFit is a fit at the mean, without the m_k.
func (r *run) newFit(samples [][]float64, w []float64, mean *Mean[geom.Vec], scores [][]float64) *fit {
	steady := *r
	steady.space = r.space.Steady()
	return &fit{run: &steady, exact: r.space, samples: samples, weights: w, variance: mean.Variance, model: model{p: mean.Point, s: scores}}
}

// optimise is optimiseSteady, again with more steps as long as the geodesics of the result need more.
func (f *fit) optimise() *solve.Minimum {
	for iterations := 0; ; {
		found := f.optimiseSteady()
		iterations += found.Iterations
		if found.Iterations = iterations; found.Status == geom.Cancelled || found.Status == geom.IterationLimit {
			return found
		}
		needed, err := f.geodesics()
		if f.Stopped() {
			found.Status = geom.Cancelled
			return found
		}
		finer := f.exact.Steady(needed...)
		if finer.Steps() <= f.space.Steps() {
			if err != nil || worst(needed) != geom.Converged {
				found.Status = geom.Stalled
			}
			return found
		}
		// A search with too few steps may stall, since gradients are those of exact lengths.
		f.space = finer
		if f.shots != nil {
			f.shots.space = finer
		}
	}
}

// geodesics are those of the model and those to the samples, with the steps that they need.
func (f *fit) geodesics() (needed []*geodesic, err error) {
	shoot := func(from, momentum []float64) {
		g, failed := f.exact.Shoot(from, momentum)
		if failed != nil {
			err = failed
			return
		}
		needed = append(needed, g)
	}
	for i, s := range f.s {
		shoot(f.p, lists.Combine(s, f.m))
		if f.shots != nil {
			shoot(f.points[i], f.shots.roots[i].X)
		}
	}
	if err != nil || f.shots != nil {
		return needed, err
	}
	velocities, _ := parts(f.logs)
	logs, err := f.exact.LogFrom(f.points, f.samples, velocities)
	if err != nil { // some are nil
		return needed, err
	}
	return append(needed, logs...), nil
}

// pack lists the variables of a model: the m_k and p.
func pack(of model) []float64 { return append(slices.Concat(of.m...), of.p...) }

// unpack is the model with these variables.
func (f *fit) unpack(x []float64) model {
	rows := engine.Unflatten(x, len(f.p))
	last := len(rows) - 1
	return model{p: rows[last], m: rows[:last:last], s: f.s}
}

// problem is the sum as a function of what varies, from the model as it is. The s_ik have Σ w_i s_ik s_il = 0 for k ≠ l.
func (f *fit) problem() solve.Objective {
	// The second derivatives of the sum in flat space are 2 Σ w s² g* for m_k and 2 g for p. With
	// RelativeNoise g is (g* + σ²)⁻¹, and those for m_k are 2 Σ w s² g* g g*, with a ridge for momenta that are too rough to matter.
	spreads := make([]float64, len(f.m))
	for i, row := range f.s {
		for k, s := range row {
			spreads[k] += f.weights[i] * s * s
		}
	}
	started := false
	return solve.Objective{
		FirstStep: 0.5,
		Scale:     f.variance,
		Value: func(x []float64) (float64, []float64, error) {
			value, g := f.value(f.unpack(x))
			switch {
			case !math.IsInf(value, 1):
				started = true
				return value, pack(g), nil
			case !started:
				return 0, nil, fmt.Errorf("the geodesics of the model in the tangent space at the mean, where the search starts, leave what can be computed: take samples that are closer together, or another chart")
			}
			return value, nil, nil
		},
		Precondition: func(g []float64) ([]float64, error) {
			a := len(f.p)
			var out []float64
			for _, spread := range spreads {
				flat := f.flat(g[:a])
				floats.Scale(1/spread, flat)
				out, g = append(out, flat...), g[a:]
			}
			return append(out, f.sharp(g)...), nil
		},
		Retract: func(x, d []float64) ([]float64, error) {
			out := floats.AddTo(make([]float64, len(x)), x, d)
			at := out[len(out)-len(f.p):]
			p, _, err := f.space.Project(at)
			if err != nil {
				return nil, err
			}
			copy(at, p)
			return out, nil
		},
	}
}

// optimiseSteady minimises the sum with the steps that the space has.
func (f *fit) optimiseSteady() *solve.Minimum {
	problem, iterations := f.problem(), 0
	var found *solve.Minimum
	for {
		found = f.minimise(problem, pack(f.model))
		f.model = f.unpack(found.X)
		// The line search may have ended at another point than the best.
		found.Value, _ = f.value(f.model)
		iterations += found.Iterations
		if f.shots != nil || found.Status != geom.Converged {
			break
		}
		// Logarithms that follow the model stay on their sides of the samples' cut loci.
		shorter := f.shortened(f.points, f.samples, f.logs)
		if shorter == nil || f.Stopped() {
			break
		}
		left := 0.0
		for i, g := range shorter {
			left += f.weights[i] * g.Length * g.Length
		}
		if left > found.Value-1e-9*f.variance { // rounding of logarithms that are nearly 0
			break
		}
		f.logs = shorter
	}
	found.Iterations = iterations
	for _, g := range f.logs {
		if g.Status != geom.Converged {
			found.Status = max(found.Status, geom.Stalled)
		}
		if math.IsNaN(known(g).Length) {
			found.Value = math.NaN()
		}
	}
	if f.Stopped() { // and perhaps did not look for all that is shorter
		found.Status = geom.Cancelled
	}
	return found
}

// sharp is p♯ at the point where the fit started, or (g* + σ²) p with RelativeNoise.
func (f *fit) sharp(p []float64) []float64 {
	if f.shots != nil {
		v := f.shots.cometric.sharp(p)
		floats.AddScaled(v, f.shots.variance, p)
		return v
	}
	return musical(f.space, "sharp", f.model.p, p, geom.Covector, geom.Vector, geom.Sharp).Vector(0)
}

// flat is v♭ at the point where the fit started, or (g* + ridge)⁻¹ (g* + σ²) (g* + ridge)⁻¹ v with RelativeNoise.
func (f *fit) flat(v []float64) []float64 {
	if f.shots != nil {
		return f.shots.cometric.solve(ridge, f.sharp(f.shots.cometric.solve(ridge, v)))
	}
	return musical(f.space, "flat", f.model.p, v, geom.Vector, geom.Covector, geom.Flat).Vector(0)
}

// musical is ♯ or ♭ of one vector or covector at a point, [a], or of several, [k, a], at one point or as many, [k, a].
func musical(space *geom.Space[geom.Vec], name string, point, v any, from, to geom.Kind, of func(m geom.Manifold, x, v *graph.Node) *graph.Node) engine.Values {
	return try.Get(space.Call(key(name), func(in []*graph.Node) []*graph.Node {
		at := geom.At(space.M, in[0])
		x, w := at.X, at.Enter(from, in[1])
		if w.Rank() > x.Rank() {
			x = graph.BroadcastPrefix(x, w.Shape().Dim(0))
		}
		return []*graph.Node{at.Leave(to, of(at.Manifold, x, w))}
	}, point, v))
}
