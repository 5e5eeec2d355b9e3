package stochastic

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/framebundle"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/dense"
	"anatomy/internal/lists"
)

// Flow is a most probable flow of a process: see Process.MostProbable.
type Flow[P geom.Point] struct {
	Points     []P         // at the times 0, T/n, …, T
	Controls   [][]float64 // u, constant on each of the n steps, [n][m]
	Energy     float64     // ½ ∫ |u|² dt
	Momentum   P           // minus the derivative of the least cost by the start, with the coordinates of the parts held: a covector
	Miss       float64     // |x(T) − y|
	Gradient   float64     // the norm of the derivative of the cost by the controls, relative to that of the controls or of rounding errors
	StepError  float64     // how far twice as many steps, with the same controls, move x(T), divided by |y − x(0)|
	Iterations int
	Status     geom.Status // geom.Converged where Gradient is at most 1e-6, StepError at most 1e-3, and without noise Miss small: see MostProbable
}

// String says what the flow is in one line.
func (f *Flow[P]) String() string {
	line := fmt.Sprintf("most probable flow of energy %.4g, %.3g off its end, %s after %d iterations", f.Energy, f.Miss, f.Status, f.Iterations)
	if f.StepError > flowSteps {
		line += fmt.Sprintf("; twice the steps move its end by %.2g %%: use more steps", 100*f.StepError)
	}
	return line
}

// Err returns nil if Status is Converged, and otherwise an error with the line of String.
func (f *Flow[P]) Err() error { return solve.NotNil(f).Status.Err(f) }

const (
	flowTolerance  = 1e-6 // of Gradient and of Miss
	flowSteps      = 1e-3 // of StepError
	flowIterations = 100  // at one noise of the observation
	flowTries      = 3    // where no step of Broyden's method makes progress, it starts again
)

// MostProbable returns the flow from the start of the process that minimises
//
//	½ ∫ |u|² dt + |x(T) − y|²/2σ²,   dx = f(t, x)·(1, u) dt,
//
// over controls u in R^m: with weak noise the paths of the process that are observed at y at time T, with noise of standard deviation
// σ in every coordinate, lie close to it (M. Freidlin and A. Wentzell, Random perturbations of dynamical systems, 1984). With σ = 0
// it ends at y. Where points are orbits, y stands as framebundle.Aligned has it, relative to x(T). The parts of the process, such as
// momenta, end where they like. For Kunita's process this is the geodesic of its covariance (E. Grong and S. Sommer, Most probable flows
// for Kunita SDEs, 2022), for Langevin's with noise in the momenta a shape spline, and for the stochastic development the most probable
// path of framebundle.
//
// The equation is taken as it is written, so that it must be one whose drift is not a mere correction of Itô's calculus: for
// Brownian motion, take Log. It is integrated in n steps of RK4, with controls constant on each; on a Charted manifold in the chart centred
// at the start. Every step of the search solves the problem that is linear in the controls, as Gauss and Newton do, and Broyden's
// method learns from them, while σ falls to the one wanted. A flow is stationary where it has Converged, and with σ = 0 ends at y, to 1e-6 of its
// distance from x(0) or from where the process ends without controls, the larger of them; other minima may be lower. Flows that wind many
// times need more steps: where twice as many, with the same controls, move the end by more than 1e-3 of |y − x(0)|, the flow has not Converged.
func (p Process[P]) MostProbable(y P, sigma float64, steps int, T float64) (_ *Flow[P], err error) {
	what := p.Name + ": most probable flow"
	defer try.Named(&err, "%s", what)
	r := Run{Paths: 1, Steps: steps, Time: T}
	p.check(&r, true)
	try.Do(p.Space.Check("observation", y))
	try.FailIf(!(sigma >= 0) || math.IsInf(sigma, 1), "noise of standard deviation %g", sigma)
	ends := geom.PointDim(p.Space.M)
	try.Do(engine.Fits(fmt.Sprintf("%d steps", r.Steps), 16*float64(ends)*float64(r.Steps)*float64(2*p.Noise+6*ends*(1+len(p.Parts)))))
	task := p.Space.Begin(what)
	defer task.End()
	aligned := try.Get(framebundle.Aligned(p.Space, []P{p.Start}, []P{y}))
	return (&controlled[P]{Process: p, run: r, y: shape.Flat(aligned[0])}).search(sigma, task), nil
}

// controlled is a process with the problem of its most probable flow. Its controls e are those of all steps times the square root of
// the length of a step: ½ |e|² is the energy.
type controlled[P geom.Point] struct {
	Process[P]
	run Run
	y   []float64
}

// linear is the end of a flow, with its derivatives by the controls and by the start.
type linear struct {
	path    [][]float64 // the points at the times of the steps
	x, y    []float64   // the last point, and y aligned to it
	j       *mat.Dense  // by the controls, [a, n·m]
	byStart *mat.Dense  // [a, a], with the coordinates of the parts held
}

// search finds the controls as the root of linear.step, which is close to the identity, while the noise falls to the one wanted.
func (c *controlled[P]) search(sigma float64, task *geom.Task) *Flow[P] {
	still := make([]float64, c.run.Steps*c.Noise)
	now := c.linearise(still)
	far := floats.Distance(now.x, now.y, 2)
	try.FailIf(!lists.Finite(far), "without controls the process diverges: use more steps or a shorter time")
	f := &Flow[P]{Status: geom.Stalled}
	scale := max(far, floats.Distance(c.y, shape.Flat(c.Start), 2))
	rounding := 1e-13 * floats.Norm(c.y, 2) // of the end
	level, share, root := max(sigma, far/math.Sqrt(float64(len(c.y)))), 1e-2, &solve.Root{X: still}
	system := solve.System{Residual: func(e [][]float64) ([][]float64, error) {
		now = c.linearise(e[0])
		f.Iterations++
		root.Tolerance = share*floats.Norm(e[0], 2) + rounding/mat.Norm(now.j, 2)
		task.Report(geom.Progress{Iteration: f.Iterations, Objective: level, Gradient: root.Norm})
		return [][]float64{now.step(e[0], level)}, nil
	}}
	for ; ; level /= 10 {
		if level < 2*sigma || level < 1e-3*far {
			level, share = sigma, flowTolerance/100
		}
		root = &solve.Root{X: root.X}
		roots := []*solve.Root{root}
		try.Do(system.Renew(roots))
		for range flowTries {
			try.Do(system.Broyden(task.Context(), roots, flowIterations))
		}
		if task.Stopped() || level == sigma {
			break
		}
	}
	e := root.X
	now = c.linearise(e)
	f.Gradient = root.Norm / max(floats.Norm(e, 2), rounding/mat.Norm(now.j, 2)/flowTolerance, math.SmallestNonzeroFloat64)
	f.Miss, f.Energy = floats.Distance(now.x, now.y, 2), floats.Dot(e, e)/2
	f.Points = c.Space.FromFlats(now.path)
	if task.Stopped() {
		f.Status = geom.Cancelled
	} else {
		if f.StepError = floats.Distance(now.x, c.halved(e).x, 2); f.StepError > rounding {
			f.StepError /= cmp.Or(floats.Distance(c.y, shape.Flat(c.Start), 2), scale)
		}
		if f.StepError <= flowSteps && f.Gradient <= flowTolerance && (sigma > 0 || f.Miss <= flowTolerance*scale+rounding) {
			f.Status = geom.Converged
		}
	}
	lambda, rest := now.multiplier(e, sigma)
	if sigma > 0 {
		lambda.AddScaledVec(lambda, 1/(sigma*sigma), rest)
	}
	var momentum mat.VecDense
	momentum.MulVec(now.byStart.T(), lambda)
	f.Momentum = c.Space.FromFlat(momentum.RawVector().Data)
	h := c.run.Time / float64(c.run.Steps)
	f.Controls = engine.Unflatten(slices.Clone(e), c.Noise)
	for _, u := range f.Controls {
		floats.Scale(1/math.Sqrt(h), u)
	}
	return f
}

// halved is the flow with the same controls on twice as many steps.
func (c *controlled[P]) halved(e []float64) *linear {
	twice := *c
	twice.run.Steps *= 2
	var halves []float64
	for u := range slices.Chunk(floats.ScaleTo(make([]float64, len(e)), math.Sqrt(0.5), e), c.Noise) {
		halves = append(append(halves, u...), u...)
	}
	return twice.linearise(halves)
}

// multiplier is the λ with e = Jᵀλ at the minimum, λ = (y − x)/σ². It is computed from the problem that is linear in the controls, for
// any σ, by (J Jᵀ + σ²) λ = J e + y − x. In directions in which no control moves the end it is 0, so that rounding errors of J are not
// divided by σ²; there rest is y − x. Such directions are those off an embedded manifold, and those that noise does not reach.
func (l *linear) multiplier(e []float64, sigma float64) (lambda, rest *mat.VecDense) {
	a := len(l.x)
	values, vectors, ok := dense.Eigen(dense.Gram(l.j))
	try.FailIf(!ok, "the flow is not finite: use more steps or a shorter time")
	var to, along mat.VecDense
	lambda, rest = mat.NewVecDense(a, nil), mat.NewVecDense(a, nil)
	to.MulVec(l.j, mat.NewVecDense(len(e), e))
	to.AddVec(&to, mat.NewVecDense(a, floats.SubTo(make([]float64, a), l.y, l.x)))
	along.MulVec(vectors.T(), &to)
	for k, v := range values {
		direction := vectors.ColView(k)
		if v <= 1e-13*values[a-1] {
			rest.AddScaledVec(rest, along.AtVec(k), direction)
		} else {
			lambda.AddScaledVec(lambda, along.AtVec(k)/(v+sigma*sigma), direction)
		}
	}
	return lambda, rest
}

// step is e − Jᵀλ, which vanishes at the minimum.
func (l *linear) step(e []float64, sigma float64) []float64 {
	if !lists.Finite(l.x...) { // the search goes back
		return slices.Repeat([]float64{math.NaN()}, len(e))
	}
	lambda, _ := l.multiplier(e, sigma)
	var u mat.VecDense
	u.MulVec(l.j.T(), lambda)
	return floats.SubTo(make([]float64, len(e)), e, u.RawVector().Data)
}

// steering is the key of the compiled function of controlled.
type steering struct {
	dynamics Dynamics
	kinds    string
}

func (s steering) String() string { return fmt.Sprintf("controls of %T", s.dynamics) }

// linearise integrates a path for every number of the end, whose derivative it carries.
func (c *controlled[P]) linearise(e []float64) *linear {
	m, dynamics, kinds, root := c.Space.M, c.Dynamics, c.kinds(), math.Sqrt(c.run.Time/float64(c.run.Steps))
	args := []any{c.run.Time, engine.Unflatten(floats.ScaleTo(make([]float64, len(e)), root, e), c.Noise), shape.Flat(c.Start)}
	for _, part := range c.Parts {
		args = append(args, shape.FlatAll(part.Vectors))
	}
	out := try.Get(c.Space.Call(steering{dynamics, fmt.Sprint(kinds)}, func(in []*Node) []*Node {
		a, params := geom.PointDim(m), in[3+len(kinds):]
		dw := BroadcastToDims(ExpandAxes(in[1], 1), in[1].Shape().Dim(0), a, in[1].Shape().Dim(1))
		var state ode.State
		for _, part := range in[2 : 3+len(kinds)] {
			state = append(state, forPaths(a, part))
		}
		var path, byControls *Node
		state = geom.InChart(m, append(kinds, geom.Covector), func(at geom.Local, y ode.State) ode.State {
			y = y[: len(kinds)+1 : len(kinds)+1]
			paths := at.Point(ode.IntegratePath(dynamics.Equation(at, params), ode.RK4, ode.Drive{T: in[0], DW: dw}, y)[0])
			path = Squeeze(SliceAxis(paths, 1, AxisElem(0)), 1)
			ends := Squeeze(SliceAxis(paths, 0, AxisRange(-1)), 0)
			slopes := Gradient(ReduceAllSum(Mul(ends, linalg.Eye(ends.Graph(), ends.DType(), a))), y[0], dw)
			byControls = Transpose(slopes[1], 0, 1)
			return append(y, slopes[0])
		}, append(state, ZerosLike(state[0])))
		return []*Node{path, Reshape(byControls, a, -1), state[len(state)-1]}
	}, append(args, c.Params...)...))
	path := out.Matrix(0)
	l := &linear{path: path, x: path[c.run.Steps], j: mat.NewDense(len(c.y), len(e), out.Flat(1)),
		byStart: mat.NewDense(len(c.y), len(c.y), out.Flat(2))}
	l.j.Scale(root, l.j)
	l.y = try.Get(framebundle.Aligned(c.Space.OnNumbers(), [][]float64{l.x}, [][]float64{c.y}))[0]
	return l
}
