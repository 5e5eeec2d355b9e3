package stats

import (
	"fmt"
	"math"

	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/engine"
)

// ridge is added to the cometric in preconditioners: directions in which a kernel is smaller count as equally stiff.
const ridge = 0.01

// inexactMean minimises Σ w_i (‖p_i‖²_g* + |q_i(1) − x_i|²/σ²) over the point y and the momenta p_i of the geodesics q_i
// from it.
func (r *run) inexactMean(space *geom.Space, samples [][]float64, w []float64) (*Mean, error) {
	if _, ok := space.M.(geom.Atlas); ok {
		return nil, fmt.Errorf("%s: Mismatch is for manifolds with coordinates; on %T logarithms are exact: leave it out", r.task, space.M)
	}
	if r.tolerance == 0 {
		r.tolerance = 0.02
	}
	if i := floats.MinIdx(w); w[i] == 0 {
		return nil, fmt.Errorf("%s: sample %d has weight 0, so with Mismatch nothing determines its geodesic: leave it out", r.task, i)
	}
	y, err := r.startingPoint(space, samples, w)
	if err != nil {
		return nil, err
	}
	d, n := len(y), len(samples)
	precision := 1 / (r.sigma * r.sigma)
	call := func(name string, differentiate bool, x []float64) (engine.Values, error) {
		return space.Call(name, func(in []*graph.Node) []*graph.Node {
			y, p, x, w, precision := in[0], in[1], in[2], in[3], in[4]
			starts := graph.BroadcastToShape(graph.ExpandAxes(y, 0), p.Shape())
			v := geom.Sharp(space.M, starts, p)
			squares := graph.ReduceSum(graph.Mul(p, v), -1)
			misses := graph.ReduceSum(graph.Square(graph.Sub(space.ShootMap(starts, p), x)), -1)
			distances := graph.Add(squares, graph.Mul(precision, misses))
			f := graph.ReduceAllSum(graph.Mul(w, distances))
			if !differentiate {
				return []*graph.Node{f, v, distances, misses}
			}
			return append([]*graph.Node{f}, graph.Gradient(f, y, p)...)
		}, x[:d], engine.Unflatten(x[d:], d), samples, w, precision)
	}
	problem := problem{
		firstStep: 0.5 / precision,
		retract:   add,
		value: func(x []float64) (float64, []float64, error) {
			out, err := call("inexact mean", true, x)
			if err != nil {
				return 0, nil, err
			}
			g := append(out.Flat(1), out.Flat(2)...)
			if f := out.Scalar(0); finite(f) && finite(floats.Norm(g, 1)) {
				return f, g, nil
			}
			return math.Inf(1), g, nil
		},
		precondition: func(g []float64) ([]float64, error) {
			h, err := stiffFlat(space, y, engine.Unflatten(g[d:], d))
			if err != nil {
				return nil, err
			}
			out := append([]float64{}, g[:d]...)
			for i, v := range h {
				for _, c := range v {
					out = append(out, c/w[i])
				}
			}
			return out, nil
		},
	}
	found, err := r.minimise(problem, append(append([]float64{}, y...), make([]float64, n*d)...))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.task, err)
	}
	out, err := call("inexact mean, result", false, found.x)
	if err != nil {
		return nil, err
	}
	m := &Mean{Point: found.x[:d:d], Weights: w, Velocities: out.Matrix(1), Momenta: engine.Unflatten(found.x[d:], d),
		Variance: found.value, Gradient: found.gradient, Iterations: found.iterations, Status: found.status}
	misses := out.Vector(3)
	for i, square := range out.Vector(2) {
		m.Distances = append(m.Distances, math.Sqrt(max(0, square)))
		m.Residual = max(m.Residual, math.Sqrt(misses[i]/float64(d)))
	}
	return m, nil
}

// stiffFlat returns (g* + ridge)⁻¹ a_i at y where the manifold can do so, else a_i♭: the preconditioner of momenta.
func stiffFlat(space *geom.Space, y []float64, a [][]float64) ([][]float64, error) {
	out, err := space.Call("stiff flat", func(in []*graph.Node) []*graph.Node {
		a := in[1]
		y := graph.BroadcastToShape(graph.ExpandAxes(in[0], 0), a.Shape())
		if m, ok := space.M.(geom.Regulariser); ok {
			mu := graph.MulScalar(graph.OnesLike(graph.Squeeze(graph.SliceAxis(a, -1, graph.AxisElem(0)), -1)), ridge)
			return []*graph.Node{m.RegularFlat(y, a, mu)}
		}
		return []*graph.Node{geom.Flat(space.M, y, a)}
	}, y, a)
	if err != nil {
		return nil, err
	}
	return out.Matrix(0), nil
}

// add is the retraction of coordinates.
func add(x, d []float64) ([]float64, error) { return floats.AddTo(make([]float64, len(x)), x, d), nil }

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
