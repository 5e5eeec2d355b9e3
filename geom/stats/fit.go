package stats

import (
	"fmt"
	"math"

	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/engine"
)

// model is points ŷ_i = Exp_p(a_i♯) at the ends of geodesics with momenta a_i = Σ_k s_ik m_k, fitted to samples x_i.
type model struct {
	p []float64   // [a]
	m [][]float64 // [K][a]
	s [][]float64 // [N][K]
}

// fit is a model on its way to the least sum Σ w_i d(ŷ_i, x_i)², or with noise σ Σ w_i (‖a_i‖² + |ŷ_i − x_i|²/σ²).
type fit struct {
	*run
	space   *geom.Space
	samples [][]float64
	weights []float64
	model

	freePoint, freeScores bool    // what varies beside the last of the m_k
	variance              float64 // of the samples

	points [][]float64      // ŷ_i of the last evaluation
	logs   []*geom.Geodesic // from them to the samples, where the fit is exact
}

func (f *fit) graph(name string, model model, more []any, fn func(p, m, s, momenta, ends *graph.Node, more []*graph.Node) []*graph.Node) (engine.Values, error) {
	return f.space.Call(name, func(in []*graph.Node) []*graph.Node {
		p, m, s := in[0], in[1], in[2]
		momenta := graph.DotGeneral(s, []int{1}, nil, m, []int{0}, nil)
		starts := graph.BroadcastToShape(graph.ExpandAxes(p, 0), momenta.Shape())
		return fn(p, m, s, momenta, f.space.ShootMap(starts, momenta), in[3:])
	}, append([]any{model.p, model.m, model.s}, more...)...)
}

// gradient differentiates a sum by p, m and s; on an Atlas the derivatives are a covector at p and vectors there.
func (f *fit) gradient(sum, p, m, s *graph.Node) []*graph.Node {
	g := graph.Gradient(sum, p, m, s)
	tangent := geom.InChart(f.space.M, []geom.Kind{geom.Covector, geom.Vector},
		func(_ geom.Manifold, y []*graph.Node) []*graph.Node { return y }, []*graph.Node{p, g[0], g[1]})
	return []*graph.Node{tangent[1], tangent[2], g[2]}
}

// value returns the sum and its gradient by p, m and s. Where the model leads to no points that have logarithms, the sum
// is infinite.
func (f *fit) value(at model) (value float64, gradient model, err error) {
	gradients := func(out engine.Values) model { return model{out.Vector(0), out.Matrix(1), out.Matrix(2)} }
	if f.sigma > 0 {
		out, err := f.graph("inexact fit", at, []any{f.samples, f.weights, 1 / (f.sigma * f.sigma)},
			func(p, m, s, momenta, ends *graph.Node, more []*graph.Node) []*graph.Node {
				x, w, precision := more[0], more[1], more[2]
				starts := graph.BroadcastToShape(graph.ExpandAxes(p, 0), momenta.Shape())
				squares := graph.ReduceSum(graph.Mul(momenta, geom.Sharp(f.space.M, starts, momenta)), -1)
				misses := graph.ReduceSum(graph.Square(graph.Sub(ends, x)), -1)
				sum := graph.ReduceAllSum(graph.Mul(w, graph.Add(squares, graph.Mul(precision, misses))))
				return append(f.gradient(sum, p, m, s), sum, ends)
			})
		if err != nil {
			return 0, model{}, err
		}
		if value = out.Scalar(3); !finite(value) {
			value = math.Inf(1)
		} else {
			f.points = out.Matrix(4)
		}
		return value, gradients(out), nil
	}

	out, err := f.graph("fit", at, nil, func(_, _, _, _, ends *graph.Node, _ []*graph.Node) []*graph.Node { return []*graph.Node{ends} })
	if err != nil {
		return 0, model{}, err
	}
	points := out.Matrix(0)
	for _, y := range points {
		if !finite(floats.Norm(y, 1)) {
			return math.Inf(1), model{}, nil
		}
	}
	var guess [][]float64
	if f.logs != nil {
		guess = make([][]float64, len(points))
		for i, y := range points {
			guess[i] = floats.SubTo(make([]float64, len(y)), f.points[i], y)
			floats.Add(guess[i], f.logs[i].Velocity)
		}
	}
	logs, err := f.space.LogFrom(points, f.samples, guess)
	if err != nil {
		if f.logs == nil {
			return 0, model{}, err
		}
		return math.Inf(1), model{}, nil
	}
	f.points, f.logs = points, logs
	pulls := make([][]float64, len(logs)) // −2 w_i Log_ŷ(x_i)♭
	for i, g := range logs {
		value += f.weights[i] * g.Length * g.Length
		pulls[i] = floats.ScaleTo(make([]float64, len(g.Momentum)), -2*f.weights[i], g.Momentum)
	}
	if out, err = f.graph("gradient of fit", at, []any{pulls}, func(p, m, s, _, ends *graph.Node, more []*graph.Node) []*graph.Node {
		return f.gradient(graph.ReduceAllSum(graph.Mul(ends, more[0])), p, m, s)
	}); err != nil {
		return 0, model{}, err
	}
	return value, gradients(out), nil
}

// optimise varies p if freePoint is set, the last of the m_k, and the s if freeScores is set.
func (f *fit) optimise() (*minimum, error) {
	start := f.model
	last := len(start.m) - 1
	pack := func(of model) (x []float64) {
		x = append(x, of.m[last]...)
		if f.freePoint {
			x = append(x, of.p...)
		}
		if f.freeScores {
			for _, row := range of.s {
				x = append(x, row...)
			}
		}
		return x
	}
	unpack := func(x []float64) model {
		a := len(start.p)
		out := model{start.p, append(append([][]float64{}, start.m[:last]...), x[:a:a]), start.s}
		x = x[a:]
		if f.freePoint {
			out.p, x = x[:a:a], x[a:]
		}
		if f.freeScores {
			out.s = engine.Unflatten(x, last+1)
		}
		return out
	}
	// The second derivatives of the sum where space is flat: by m_k 2 Σ w s² g*, by p 2 g, by s_ik 2 w_i ‖m_k‖²; with
	// noise g is the identity over σ², and a ridge stands for the momenta that it leaves free.
	spread := 0.0
	for i, row := range start.s {
		spread += f.weights[i] * row[last] * row[last]
	}
	sizes := make([]float64, last+1)
	for k, m := range start.m {
		v, err := f.sharp(m)
		if err != nil {
			return nil, err
		}
		if sizes[k] = floats.Dot(m, v); f.sigma > 0 {
			sizes[k] = f.sigma*f.sigma*sizes[k] + floats.Dot(v, v)
		}
	}
	problem := problem{
		firstStep: 0.5,
		scale:     f.variance,
		value: func(x []float64) (float64, []float64, error) {
			value, g, err := f.value(unpack(x))
			if err != nil || math.IsInf(value, 1) {
				return value, nil, err
			}
			return value, pack(g), nil
		},
		precondition: func(g []float64) ([]float64, error) {
			a := len(start.p)
			flat, err := f.flat(g[:a])
			if err != nil {
				return nil, err
			}
			out := floats.ScaleTo(flat, 1/spread, flat)
			g = g[a:]
			if f.freePoint {
				v := g[:a]
				if f.sigma == 0 {
					if v, err = f.sharp(v); err != nil {
						return nil, err
					}
				}
				out, g = append(out, v...), g[a:]
			}
			for j, v := range g {
				i, k := j/(last+1), j%(last+1)
				if f.weights[i] > 0 {
					v /= f.weights[i] * sizes[k]
				}
				out = append(out, v)
			}
			return out, nil
		},
		retract: func(x, d []float64) ([]float64, error) {
			out, _ := add(x, d)
			if a := len(start.p); f.freePoint {
				p, _, err := f.space.Project(out[a : 2*a])
				if err != nil {
					return nil, err
				}
				copy(out[a:2*a], p)
			}
			return out, nil
		},
	}
	if f.sigma > 0 {
		problem.firstStep *= f.sigma * f.sigma
	}
	found, err := f.minimise(problem, pack(start))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.task, err)
	}
	f.model = unpack(found.x)
	// The line search may have ended at another point than the best.
	if found.value, _, err = f.value(f.model); err != nil {
		return nil, fmt.Errorf("%s: %w", f.task, err)
	}
	for _, g := range f.logs {
		if g.Status != geom.Converged && found.status == geom.Converged {
			found.status = geom.Stalled
		}
	}
	return found, nil
}

// sharp is p♯ at the point at which the fit began.
func (f *fit) sharp(p []float64) ([]float64, error) {
	out, err := f.space.Call("sharp", func(in []*graph.Node) []*graph.Node {
		kinds := []geom.Kind{geom.Covector, geom.Vector}
		state := []*graph.Node{in[0], in[1], graph.ZerosLike(in[1])}
		return geom.InChart(f.space.M, kinds, func(m geom.Manifold, y []*graph.Node) []*graph.Node {
			return []*graph.Node{y[0], y[1], geom.Sharp(m, y[0], y[1])}
		}, state)[2:]
	}, f.model.p, p)
	if err != nil {
		return nil, err
	}
	return out.Vector(0), nil
}

// flat is v♭ there, of a smoothed v where the fit has noise.
func (f *fit) flat(v []float64) ([]float64, error) {
	if f.sigma > 0 {
		out, err := stiffFlat(f.space, f.model.p, [][]float64{v})
		if err != nil {
			return nil, err
		}
		return out[0], nil
	}
	out, err := f.space.Call("flat", func(in []*graph.Node) []*graph.Node {
		kinds := []geom.Kind{geom.Vector, geom.Covector}
		state := []*graph.Node{in[0], in[1], graph.ZerosLike(in[1])}
		return geom.InChart(f.space.M, kinds, func(m geom.Manifold, y []*graph.Node) []*graph.Node {
			return []*graph.Node{y[0], y[1], geom.Flat(m, y[0], y[1])}
		}, state)[2:]
	}, f.model.p, v)
	if err != nil {
		return nil, err
	}
	return out.Vector(0), nil
}
