package stochastic

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/ode"
)

// Process is a diffusion dy = f(t, y)·(dt, dW) from a point at time 0. The functions of this package make the usual ones;
// a Process of one's own has all fields set that it needs.
type Process struct {
	Space  *geom.Space
	Name   string     // of what is compiled: processes of one name on one Space have one Equation
	Scheme ode.Scheme // of the calculus that Equation is meant in
	Noise  int        // m, W is in R^m
	Start  []float64
	Parts  []Part // what moves with the point
	Params []any  // arguments of Equation: numbers and slices of them, as for engine.Func.Call

	// Equation gives f in the coordinates of m, a chart where the process is on an Atlas: the state is the point, [N, d],
	// and the parts, [..., N, d], for N paths, and dW is [N, m].
	Equation func(m geom.Manifold, params []*Node) ode.Equation
}

// Part is a tangent vector or a covector at the point, [d], or several of them, [k][d].
type Part struct {
	Kind  geom.Kind
	Value any // []float64 or [][]float64
}

// Run says how a process is simulated.
type Run struct {
	Paths int     // number of independent paths
	Steps int     // of the scheme, from time 0 to Time
	Time  float64 // T; 0 stands for 1
	Seed  uint64  // of the noise: see ode.Increments
}

// Paths are simulated paths at the times 0, T/n, …, T.
type Paths struct {
	Points [][][]float64 // Points[k][i] is path k at time i
	Noise  [][][]float64 // Noise[k][i] is the Brownian motion W in R^m that drives it
}

// Paths simulates paths. A path that diverges is an error that names the path and the step.
func (p Process) Paths(r Run) (*Paths, error) {
	out, dw, err := p.run(&r, "paths")
	if err != nil {
		return nil, err
	}
	paths := &Paths{Points: out.Array3(0), Noise: make([][][]float64, r.Paths)}
	for k := range paths.Noise {
		w := make([]float64, p.Noise)
		paths.Noise[k] = [][]float64{w}
		for i := range dw {
			w = floats.AddTo(make([]float64, p.Noise), w, dw[i][k])
			paths.Noise[k] = append(paths.Noise[k], w)
		}
	}
	return paths, nil
}

// Sample simulates paths and returns their ends.
func (p Process) Sample(r Run) ([][]float64, error) {
	out, _, err := p.run(&r, "sample")
	if err != nil {
		return nil, err
	}
	return out.Matrix(0), nil
}

// run returns, as its first value, the points of all paths, [N, n + 1, ...], or their ends, [N, ...].
func (p Process) run(r *Run, what string) (out engine.Values, dw [][][]float64, err error) {
	if err := r.check(p.Name); err != nil {
		return nil, nil, err
	}
	if p.Noise < 1 {
		return nil, nil, fmt.Errorf("%s: noise in R^%d, want at least 1 dimension", p.Name, p.Noise)
	}
	if err := p.checkStart(); err != nil {
		return nil, nil, err
	}
	dw = ode.Increments(r.Seed, r.Steps, r.Paths, p.Noise, r.Time)
	args := []any{r.Time, dw, p.Start}
	for _, part := range p.Parts {
		args = append(args, part.Value)
	}
	args = append(args, p.Params...)
	// The shapes of the arguments say the rest: numbers of steps and paths are not part of the name.
	out, err = p.Space.Call(p.Name+", "+what, func(in []*Node) []*Node {
		T, dw, start, params := in[0], in[1], in[2:3+len(p.Parts)], in[3+len(p.Parts):]
		n := dw.Shape().Dim(1)
		var y ode.State
		for _, part := range start {
			y = append(y, forPaths(n, part))
		}
		y = append(y, ReduceSum(ZerosLike(y[0]), -1))
		if what == "sample" {
			end := ode.StochasticFlow(p.stepper(params), T, dw, y)
			return []*Node{end[0], end[len(end)-1]}
		}
		path := ode.StochasticPath(p.stepper(params), T, dw, y)
		finite := path[len(path)-1]
		return []*Node{Transpose(path[0], 0, 1), Squeeze(SliceAxis(finite, 0, AxisRange(-1)), 0)}
	}, args...)
	if err != nil {
		return nil, nil, err
	}
	for k, steps := range out.Vector(1) {
		if i := int(steps); i < r.Steps {
			return nil, nil, fmt.Errorf("%s: path %d diverges at step %d of %d (time %.4g of %.4g): the steps are too long, or it leaves the chart; use more steps or a shorter time",
				p.Name, k, i+1, r.Steps, r.Time*float64(i+1)/float64(r.Steps), r.Time)
		}
	}
	return out, dw, nil
}

// stepper takes steps of the process; the last part of the state counts those after which the others were finite, [N].
func (p Process) stepper(params []*Node) ode.Stepper {
	kinds := make([]geom.Kind, len(p.Parts))
	for j, part := range p.Parts {
		kinds[j] = part.Kind
	}
	return func(t, h, dw *Node, y ode.State) ode.State {
		count := y[len(y)-1]
		next := geom.InChart(p.Space.M, kinds, func(m geom.Manifold, y ode.State) ode.State {
			return p.Scheme.Along(p.Equation(m, params))(t, h, dw, y)
		}, y[:len(y)-1])
		var finite *Node
		for _, part := range next {
			axes := []int{-1}
			for a := range part.Rank() - 2 {
				axes = append(axes, a)
			}
			ok := LogicalAll(IsFinite(part), axes...)
			if finite == nil {
				finite = ok
			} else {
				finite = LogicalAnd(finite, ok)
			}
		}
		return append(next, Add(count, ConvertDType(finite, count.DType())))
	}
}

// forPaths repeats a part, [..., d], for N paths, [..., N, d].
func forPaths(n int, part *Node) *Node {
	dims := part.Shape().Dimensions
	last := len(dims) - 1
	repeated := append(append(append([]int{}, dims[:last]...), n), dims[last])
	return BroadcastToDims(ExpandAxes(part, last), repeated...)
}

func (r *Run) check(what string) error {
	if r.Time == 0 {
		r.Time = 1
	}
	switch {
	case r.Paths < 1:
		return fmt.Errorf("%s: %d paths, want at least 1", what, r.Paths)
	case r.Steps < 1:
		return fmt.Errorf("%s: %d steps, want at least 1", what, r.Steps)
	case !(r.Time > 0) || math.IsInf(r.Time, 1):
		return fmt.Errorf("%s: time %g, want a finite positive number", what, r.Time)
	}
	return nil
}

// checkStart validates the start and the parts at it.
func (p Process) checkStart() error {
	var vectors [][]float64
	names := []string{"start"}
	all := [][]float64{p.Start}
	for j, part := range p.Parts {
		rows, ok := part.Value.([][]float64)
		if !ok {
			row, ok := part.Value.([]float64)
			if !ok {
				return fmt.Errorf("%s: part %d is a %T, want []float64 or [][]float64", p.Name, j, part.Value)
			}
			rows = [][]float64{row}
		}
		if len(rows) == 0 {
			return fmt.Errorf("%s: part %d has no vectors", p.Name, j)
		}
		for i, row := range rows {
			names, all = append(names, fmt.Sprintf("vector %d of part %d", i, j)), append(all, row)
			if part.Kind == geom.Vector {
				vectors = append(vectors, row)
			}
		}
	}
	for i, row := range all {
		if err := checkVector(p.Space, p.Name, names[i], row); err != nil {
			return err
		}
	}
	return checkOn(p.Space, p.Name, p.Start, vectors)
}

func checkVector(s *geom.Space, what, name string, v []float64) error {
	n := s.M.Dim()
	if a, ok := s.M.(geom.Atlas); ok {
		n = a.AmbientDim()
	}
	if len(v) != n {
		return fmt.Errorf("%s: the %s has %d coordinates, those of the manifold have %d", what, name, len(v), n)
	}
	for i, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("%s: coordinate %d of the %s is %g", what, i, name, x)
		}
	}
	return nil
}

func checkVectors(s *geom.Space, what, name string, list [][]float64) error {
	for i, v := range list {
		if err := checkVector(s, what, fmt.Sprintf("%s %d", name, i), v); err != nil {
			return err
		}
	}
	return nil
}

// checkOn refuses points that are not on an Atlas, and vectors that are not tangent there.
func checkOn(s *geom.Space, what string, z []float64, vectors [][]float64) error {
	if _, ok := s.M.(geom.Atlas); !ok {
		return nil
	}
	const tolerance = 1e-8
	point, tangent, err := s.Project(z, vectors...)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if off := floats.Distance(point, z, 2); !(off <= tolerance*floats.Norm(z, 2)) {
		return fmt.Errorf("%s: the point is %.3g off the manifold; geom.Space.Project moves points to it", what, off)
	}
	for i, v := range vectors {
		if off := floats.Distance(tangent[i], v, 2); !(off <= tolerance*floats.Norm(v, 2)+1e-12) {
			return fmt.Errorf("%s: vector %d is not tangent: the part that is not has norm %.3g; geom.Space.Project removes it", what, i, off)
		}
	}
	return nil
}
