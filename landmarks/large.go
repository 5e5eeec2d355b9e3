package landmarks

import (
	"context"
	"errors"
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/landmarks/internal/pointset"
)

// LogWithin returns a geodesic from shape q to a shape near target, both [n][dim]: the root mean square of the differences of
// the coordinates is at most tolerance, which is a length. Use it for thousands of landmarks, and for kernels that are much
// wider than the distances between landmarks, for which an exact match would need very large momenta. It never stores the
// matrix of the kernel.
//
// If the tolerance is not reached, or if no number of steps is enough (see Geodesic.StepError), it returns the best geodesic
// found, and Status says so. Iterations counts the steps with all landmarks. The errors are those of geom.Space.Log.
//
// # Algorithm
//
// It solves for the momentum p whose geodesic, as of Shoot, ends at the target. The derivative of Exp with respect to p is close to K(q), so a step
// is (K(q) + μ)⁻¹ times the residual, by preconditioned conjugate gradients, corrected by Anderson's method. μ starts at a hundredth of the largest
// row sum of K, so that only the smooth part of the residual causes momentum. It decreases if progress is slow and increases after bad steps.
//
// If this stalls because landmarks move several widths of the kernel, a sequence of matches with Correspondence follows. Their
// noise level decreases until a match ends within the tolerance. Their preconditioner is the Gauss–Newton matrix for up to 600
// coordinates, and K for more.
//
// For 2000 landmarks or more, the first step comes from the geodesic of a tenth of them, but at least 500, which are spread
// over the shape. If the geodesic needs more steps of the integrator than the search took, and no Integrator was given, the
// search runs again with more.
func (s *Space) LogWithin(q, target [][]float64, tolerance float64) (*Geodesic, error) {
	return s.logWithin("LogWithin", q, target, tolerance)
}

// logWithin is LogWithin by the name that the caller knows.
func (s *Space) logWithin(name string, q, target [][]float64, tolerance float64) (_ *Geodesic, err error) {
	defer try.Named(&err, "%s", name)
	for i, shape := range []geom.Shape{q, target} {
		what := [...]string{"starting shape", "target shape"}[i]
		try.Do(s.CheckNumbers(what, shape))
		try.Do(s.CheckRegular(what, shape))
	}
	if !(tolerance > 0) || math.IsInf(tolerance, 1) {
		return nil, fmt.Errorf("tolerance %g, want a positive length", tolerance)
	}
	task := s.Begin(name)
	defer task.End()
	x, iterations := shape.Flat(q), 0
	for steady := s; ; {
		a := try.Get(steady.within(task, x, shape.Flat(target), tolerance))
		iterations += a.iterations
		g, finer := try.Get2(s.found(steady, x, a.momentum, a.status))
		if finer == nil {
			g.Residual, g.Iterations = a.residual, iterations
			return g, nil
		}
		steady = finer
	}
}

// within searches as LogWithin does.
func (s *Space) within(task *geom.Task, x, y []float64, tolerance float64) (*aimed, error) {
	kernel, err := s.newSpectrum(x)
	if err != nil {
		return nil, err
	}
	a, err := s.aim(task, x, y, tolerance, kernel)
	if err == nil && a.status != geom.Converged && a.status != geom.Cancelled {
		err = s.pull(task, x, y, tolerance, kernel, a)
	}
	return a, err
}

// pull improves a by matches with Correspondence, each from the momenta of the one before, whose noise falls until they end within the
// tolerance. It gives up where a fall does not help for the third time.
func (s *Space) pull(task *geom.Task, x, y []float64, tolerance float64, kernel *spectrum, a *aimed) (err error) {
	defer try.Catch(&err)
	inputs := try.Get(Correspondence(s.FromFlat(y)).Inputs(s.Manifold.N, s.Manifold.D))
	r := s.newRegistration(&matcher{call: (*engine.Func).Call}, x, nil, Correspondence(nil), inputs, kernel)
	// The momenta at time 1 are (target − end)/noise². What was found is a start where a hundredth of the way is left; momenta that stalled
	// before are too large, and the way from them is longer than that from 0, with a guess for a tenth of the way.
	way := floats.SubTo(make([]float64, len(x)), y, x)
	largest := kernel.lambda[len(kernel.lambda)-1]
	guess := kernel.apply(func(l float64) float64 { return 1 / (l + 0.01*largest) }, way)
	p, left := make([]float64, len(x)), 0.1*floats.Norm(way, 2)
	if rest := a.residual * math.Sqrt(float64(len(x))); rest < 0.1*left {
		p, guess, left = a.momentum, a.momentum, 0.5*rest
	}
	noise := math.Sqrt(left / floats.Norm(guess, 2))
	for last, slow := math.Inf(1), 0; slow < 3; noise /= 2 {
		ctx, arrived := context.WithCancel(task.Context())
		found, err := s.descend(ctx, r, p, noise, func(iteration int, f, gradient, enough float64) {
			task.Report(geom.Progress{Iteration: a.iterations + iteration, Objective: f, Gradient: gradient, Tolerance: enough})
			if r.left() <= tolerance {
				arrived()
			}
		})
		arrived()
		if err != nil {
			return err
		}
		try.Get(r.at(found.X, 1, noise))
		p = found.X
		a.iterations += found.Iterations
		if r.left() < a.residual {
			a.momentum, a.residual = p, r.left()
		}
		switch {
		case a.residual <= tolerance:
			a.status = geom.Converged
			return nil
		case found.Status == geom.Cancelled:
			a.status = geom.Cancelled
			return nil
		case !(r.left() < 0.9*last): // half of the noise should leave about a quarter
			slow++
		}
		last = r.left()
	}
	return nil
}

// descend minimises the objective of a match with Correspondence from momenta p, in at most 500 iterations. Up to 600 momenta it
// preconditions with the Gauss–Newton matrix, which it renews every 10 iterations. A preconditioner made of K alone misses how far
// geodesics spread once they go several widths of the kernel: the search then stops far above the minimum, at a place that depends on
// rounding, with the status Converged.
func (s *Space) descend(ctx context.Context, r *registration, p []float64, noise float64, report func(iteration int, f, gradient, tolerance float64)) (_ *solve.Minimum, err error) {
	defer try.Catch(&err)
	const most, few, renewal = 500, 600, 10
	objective := r.around(p, 1, noise)
	objective.Soft = nil // the next noise goes on with what is left
	done, round := 0, most
	objective.Report = func(iteration int, f, gradient, tolerance float64) { report(done+iteration, f, gradient, tolerance) }
	for {
		if len(p) <= few {
			matrix := s.gaussNewton(r.fixed[0].([]float64), p, noise)
			if matrix != nil {
				round = renewal
				objective.FirstStep = 1
				objective.Precondition = func(g []float64) ([]float64, error) {
					step := mat.NewVecDense(len(g), nil)
					if err := matrix.SolveVecTo(step, mat.NewVecDense(len(g), g)); err != nil && !errors.As(err, new(mat.Condition)) {
						return nil, err
					}
					return step.RawVector().Data, nil
				}
			}
		}
		found := try.Get(solve.Minimise(ctx, objective, p, 0.01, min(round, most-done)))
		done += found.Iterations
		found.Iterations = done
		if found.Status != solve.IterationLimit || done == most {
			return found, nil
		}
		p = found.X
	}
}

// gaussNewton returns the Cholesky factors of K + μ + JᵀJ/noise², the Gauss–Newton approximation of the second derivative of the
// objective of a match with Correspondence. J is the derivative of the end with respect to the momenta, which costs as many geodesics
// as there are momenta, and μ = K(x, x)/1000. It returns nil if the matrix is not positive definite.
func (s *Space) gaussNewton(x, p []float64, noise float64) *mat.Cholesky {
	const block = 64 // derivatives in a call
	d, c := len(x), s.Manifold.D
	out := try.Get(s.call("kernel matrix", func(in []*Node) []*Node { return []*Node{s.Manifold.Gram(in[0])} }, x))
	transposed := mat.NewDense(d, d, nil) // J
	for from := 0; from < d; from += block {
		directions := make([][]float64, block)
		for k := range directions {
			directions[k] = make([]float64, d)
			if from+k < d {
				directions[k][from+k] = 1
			}
		}
		ends := try.Get(s.call("derivatives of the end", func(in []*Node) []*Node {
			end, _ := s.FlowTangent(BroadcastPrefix(in[0], block), BroadcastPrefix(in[1], block), in[2])
			return []*Node{end}
		}, x, p, directions))
		for k, row := range ends.Matrix(0)[:min(block, d-from)] {
			transposed.SetRow(from+k, row)
		}
	}
	sum := mat.NewSymDense(d, nil)
	sum.SymOuterK(1/(noise*noise), transposed)
	for i, row := range out.Matrix(0) {
		for j, k := range row[i:] {
			if j == 0 {
				k *= 1.001
			}
			for a := range c {
				sum.SetSym(c*i+a, c*(i+j)+a, sum.At(c*i+a, c*(i+j)+a)+k)
			}
		}
	}
	var factors mat.Cholesky
	if !factors.Factorize(sum) {
		return nil
	}
	return &factors
}

// aimed is a momentum whose geodesic ends near a target shape, with the state of the search.
type aimed struct {
	momentum   []float64
	residual   float64
	iterations int
	status     geom.Status
	mu         float64 // the last μ, divided by the largest row sum of K
}

// over sets the status of a search that ends.
func (a *aimed) over(task *geom.Task, bad int, tolerance float64) bool {
	switch {
	case a.residual <= tolerance:
		a.status = geom.Converged
	case bad > 8:
		a.status = geom.Stalled
	case a.iterations == 60:
		a.status = geom.IterationLimit
	case task.Report(geom.Progress{Iteration: a.iterations, Objective: a.residual, Gradient: a.residual, Tolerance: tolerance}):
		a.status = geom.Cancelled
	default:
		return false
	}
	return true
}

// coarse is the least number of landmarks whose geodesic gives the first step for four times as many or more.
const coarse = 500

// aim finds the momentum of LogWithin.
func (s *Space) aim(task *geom.Task, x, y []float64, tolerance float64, kernel *spectrum) (_ *aimed, err error) {
	defer try.Catch(&err)
	d := len(x)
	rms := func(f []float64) float64 { return floats.Norm(f, 2) / math.Sqrt(float64(d)) }
	scale, spectrum := s.rowSum(x), kernel.inputs()

	p, f := make([]float64, d), floats.SubTo(make([]float64, d), y, x)
	best, bestF, mu := &aimed{momentum: p, residual: rms(f)}, f, 0.01*scale
	first, firstMu := f, mu // the velocity that the first step takes
	if s.Manifold.N >= 4*coarse && best.residual > tolerance {
		v, part := s.coarseVelocity(task, x, y, tolerance)
		// That velocity is smooth: a small μ reproduces it.
		first, mu, firstMu = v, part*scale, 1e-3*part*scale
	}
	steps := solve.Anderson{Memory: 8}
	for bad := 0; !best.over(task, bad, tolerance); best.iterations++ {
		// The best combination of the momenta of earlier steps, and its residual if that were linear.
		next, rest := steps.Correct(p, f)
		weight := mu
		if best.iterations == 0 {
			rest, weight = first, firstMu
		}
		pNew, fNew := s.stepWithin(x, next, rest, weight, y, spectrum)
		was, now := best.residual, rms(fNew)
		switch {
		case !(now < math.Inf(1)) || now > 2*was:
			// Too far: start again from the best with smaller steps.
			steps.Forget()
			p, f = best.momentum, bestF
			mu *= 10
			bad++
			continue
		case now > was: // a step that did not help: shorter ones
			mu *= 2
		case now > 0.5*was && mu > 1e-9*scale:
			mu /= 4
		}
		steps.Learn(floats.SubTo(make([]float64, d), pNew, p), floats.SubTo(make([]float64, d), fNew, f))
		if bad++; now <= 0.95*was {
			bad = 0
		}
		if p, f = pNew, fNew; now < was {
			best.momentum, bestF, best.residual = p, f, now
		}
	}
	best.mu = mu / scale
	return best, nil
}

// rowSum is the largest row sum of K.
func (s *Space) rowSum(x []float64) float64 {
	ones := make([]float64, len(x))
	floats.AddConst(1, ones)
	return try.Get(s.call("row sums", func(in []*Node) []*Node {
		return []*Node{ReduceAllMax(s.Manifold.Sharp(in[0], in[1]))}
	}, x, ones)).Scalar(0)
}

// stepWithin is a step of LogWithin: from momenta p by (K + μ)⁻¹ times a residual. It returns the new momenta and the residual to which they lead.
func (s *Space) stepWithin(x, p, residual []float64, mu float64, y []float64, spectrum []any) (momenta, rest []float64) {
	out := try.Get(s.call("LogWithin step", func(in []*Node) []*Node {
		p := Add(in[1], s.Manifold.nearlySolve(in[0], in[2], in[3], in[5:]))
		end := ode.Flow(geom.Geodesics(s.Manifold), s.Method(), s.Steps(), ode.State{in[0], p})
		return []*Node{p, Sub(in[4], end[0])}
	}, append([]any{x, p, residual, mu, y}, spectrum...)...))
	return out.Vector(0), out.Vector(1)
}

// velocityOf is the key of the compiled function for the velocities of n points.
type velocityOf struct{ n int }

// coarseVelocity returns the initial velocities of all landmarks in the flow of a geodesic of some of them, and the μ with which
// this geodesic was found, divided by the largest row sum of K.
func (s *Space) coarseVelocity(task *geom.Task, x, y []float64, tolerance float64) (v []float64, mu float64) {
	q, target := s.FromFlat(x), s.FromFlat(y)
	some := s.fewer()
	from, to := make([]float64, 0, some.M.Dim()), make([]float64, 0, some.M.Dim())
	for _, i := range pointset.Spread(q, some.Manifold.N) {
		from, to = append(from, q[i]...), append(to, target[i]...)
	}
	a := try.Get(some.within(task, from, to, 0.5*tolerance))
	out := try.Get(some.Call(velocityOf{s.Manifold.N}, func(in []*Node) []*Node {
		return []*Node{linalg.Vectors(some.Manifold.Velocity(in[0], in[1], in[2]))}
	}, from, a.momentum, q))
	return out.Vector(0), a.mu
}
