// Package shortest searches for geodesics between points: for the velocity v with Exp_x(v) = y, and for another geodesic where a curve from x to y
// shows that there is a shorter one. It works on numbers. The formulas are those of a Geometry, which evaluates them for many geodesics at once.
//
// The search is one loop. Each turn takes a finer integrator, for the pairs that the coarser ones led astray:
//
//	solve    Broyden's and Newton's methods lead the ends of geodesics to y
//	check    more steps until the ends stay where they are, and a measure of what is left
//	refine   solve and check again from other curves: over the charts on the way where the chart at y does not reach x, and from shorter ones
//
// A candidate is one geodesic with all that is known of it. An attempt is the candidates that are solved and checked together.
package shortest

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/solve"
	"anatomy/geom/watch"
	"anatomy/internal/lists"
)

// Vec is a point or vector as numbers.
type Vec = []float64

// Geometry is what the search asks of a manifold and of the steps with which it is integrated. Row b of arguments and results belongs to
// geodesic b. The unknown v is a velocity at x or, where HasVelocities is false, a momentum. From far, the chart at y does not reach x, and gaps
// are coordinates of the chart at y as they are.
type Geometry interface {
	Dim() int
	HasVelocities() bool // whether the derivative of Exp at 0 is the identity; else only momenta are unknowns
	Integrator() (steps, order int, doubles bool)
	Finer(times int) Geometry // the same with so many times the steps
	Costly() bool             // whether geodesics cost time, and not calls

	// Start returns the gaps at v = 0, the distances |y − x| of numbers, and the share that a gap at x has of a short distance from y.
	Start(x, y []Vec, far bool) (gaps []Vec, apart, shrinking []float64, err error)
	// Evaluate evaluates a formula. It is called for two numbers of rows only, for which programs are compiled.
	Evaluate(f Formula, rows ...[]Vec) ([]Vec, error)
	// Measure tells what a search returns of geodesics with these stations.
	Measure(x, y, v []Vec, points, momenta [][]Vec) ([]Measures, error)

	// Lines returns curves from x to y: the straight lines in the chart at x and those in the chart at y, of Segments chords.
	Lines(x, y []Vec) (here, there []Curve, err error)
	// Rays returns geodesics of one length from points, in directions in coordinates, with the length of the last step from each of their points
	// to another point, NaN where no chart holds it.
	Rays(from, to, directions []Vec, length float64) (paths [][]Vec, hops [][]float64, err error)
	// Relax takes curves to those of least energy with the same ends, to a tolerance of their energy. It returns their velocities and lengths.
	Relax(ctx context.Context, curves [][]Vec, tolerance float64) (v []Vec, lengths []float64, err error)
	// Lengths are those of the vectors v at x.
	Lengths(x, v []Vec) ([]float64, error)
	// Unit is the largest length of a vector at x that is as long as a coordinate of the chart, divided by its length in numbers.
	Unit(x Vec) (float64, error)
	// Conjugate returns the times in (0, 1] of the first conjugate points, +Inf for none, by so many times the steps, and the paths.
	Conjugate(x, v []Vec, times int) (first []float64, paths [][]Vec, err error)
}

// Formula is one of a geodesic, of vectors, with a vector as its result.
type Formula string

const (
	Shoot      Formula = "Log"            // of x, v: the points and then the momenta at the ends of equal parts of the time
	Continue   Formula = "Log, next part" // the same of a state, a point and then its momentum
	Derivative Formula = "DExp"           // of x, v, dv: the end, and then how it moves with dv
	// Gap is one of x, y and an end: 0 where the end is y, and close to the difference of velocities elsewhere. Slope is its derivative along
	// a vector at the end, the fourth argument.
	Gap      Formula = "Log, gap"
	FarGap   Formula = "Log, gap from far"
	Slope    Formula = "Log, slope of gap"
	FarSlope Formula = "Log, slope of gap from far"
)

// Measures are those of a geodesic.
type Measures struct {
	Velocity, Momentum  Vec
	Length, Drift, Miss float64 // Drift of the energy; Miss is |Exp_x(v) − y|
}

// Found is the result for a pair.
type Found struct {
	Measures
	StepError         float64
	Steps, Iterations int
	Status            solve.Status
	Conjugate         float64 // the time of the first conjugate point, 0 where it was not looked for
	Lost              error   // why the charts alone lead to no geodesic
}

// FewDimensions is the largest dimension in which the search asks whether a geodesic is a shortest one. Directions all around cover few dimensions
// only, and conjugate points cost as many flows as there are dimensions. In more dimensions Newton's method takes whole Jacobians.
const FewDimensions = 8

const (
	finer  = 4  // times the steps in the next turn of the loop
	finest = 16 // times the steps in its last turn
)

type search struct {
	Geometry
	task        *watch.Task
	evaluations int // of ends, or of their derivatives
}

// Search returns the geodesics from x_i to y_i. With guesses of the velocities it looks for no shorter ones, since a guess says which geodesic is
// wanted. A search that ends early returns the best geodesic so far.
func Search(g Geometry, task *watch.Task, x, y, guess []Vec) ([]Found, error) {
	s := &search{Geometry: g, task: task}
	open, found, spent := lists.Range(len(x)), make([]Found, len(x)), make([]int, len(x))
	steps, _, doubles := g.Integrator()
	for times := 1; ; times *= finer {
		pairs, err := s.turn(lists.Pick(x, open), lists.Pick(y, open), lists.Pick(guess, open))
		if err != nil {
			return nil, err
		}
		var lost []int
		for k, i := range open {
			c := pairs[k]
			spent[i] += c.root.Iterations
			if c.Status = c.root.Status; times == 1 || c.Status == solve.Converged {
				c.Steps, c.Iterations = times*c.times*steps, spent[i]
				found[i] = c.Found
			}
			// Where the steps change the energy by more, none of their roots is close to a geodesic.
			if c.Status != solve.Converged && !(c.Drift <= MaxDrift) {
				lost = append(lost, i)
			}
		}
		// In more dimensions finer steps would take too long.
		if open = lost; len(open) == 0 || !doubles || g.Dim() > FewDimensions || times == finest || task.Stopped() {
			return found, nil
		}
		s.Geometry = s.Finer(finer)
	}
}

// turn is one turn of the loop: solve, check, refine.
func (s *search) turn(x, y, guess []Vec) ([]*candidate, error) {
	a := s.attempt(x, y)
	if err := a.run(guess, false); err != nil {
		return nil, err
	}
	if err := s.bridge(a.pairs, guess); err != nil {
		return nil, err
	}
	if guess == nil && s.Dim() <= FewDimensions {
		return a.pairs, s.shorten(a.pairs)
	}
	return a.pairs, nil
}

// stopped reports whether the search shall stop, and if so says so of candidates that it has not done with.
func (s *search) stopped(pairs ...*candidate) bool {
	if !s.task.Stopped() {
		return false
	}
	for _, c := range pairs {
		c.root.Done, c.root.Status = true, solve.Cancelled
	}
	return true
}

// evaluated counts an evaluation of ends or of their derivatives, and reports the candidate that is farthest from its tolerance.
func (s *search) evaluated(pairs []*candidate) {
	s.evaluations++
	p := watch.Progress{Iteration: s.evaluations}
	worst := 1.0
	for _, c := range pairs {
		if r := c.root; !r.Done && r.Norm/r.Tolerance > worst && !math.IsInf(r.Norm/r.Tolerance, 1) {
			unit := c.shrunk * math.Sqrt(float64(s.Dim()))
			worst, p.Residual, p.Tolerance = r.Norm/r.Tolerance, r.Norm/unit, r.Tolerance/unit
		}
	}
	s.task.Detail(p)
}

// How many steps a geodesic takes on [0, 1]. Without a given integrator they are doubled until the end of the geodesic stays where it is.
const (
	Standard = 25   // steps at first
	Doubled  = 64   // times as many at most
	Accuracy = 1e-4 // is the largest StepError, a share of the length
	Calm     = 1e-7 // is a Drift with which the steps are enough: of 100,000 geodesics the worst had a StepError of 7e-6
	// MaxDrift is the largest Drift where the number of steps is given: with 1 % of the energy the end is off by about 1 % of the length.
	MaxDrift = 0.01
)

// Settled says whether more steps leave the end of a geodesic where it is. Half of the error is room for what even more steps would change.
func Settled(stepError float64) bool { return stepError <= Accuracy/2 }

// Enough says whether the steps of a geodesic are enough, where they are doubled or given.
func Enough(drift, stepError float64, doubles bool) bool {
	if doubles {
		return Settled(stepError)
	}
	return drift <= MaxDrift
}

// Estimated is a StepError that was not measured. A method of order n has an error of order n in the steps, and a drift that is often of order
// n + 1.
func Estimated(order int, drift float64) float64 {
	return math.Pow(drift, float64(order)/float64(order+1))
}

// Arc is a geodesic at the ends of equal parts of [0, 1], the last of which is its end: points and momenta, with its start and length.
type Arc struct {
	Start           Vec
	Points, Momenta []Vec
	Length          float64
}

// End is the last point.
func (a Arc) End() Vec { return a.Points[len(a.Points)-1] }

// Moved is how far from the end of an arc another point close by is: along the arc, as a share of its length, or in numbers, as a
// share of their way, whichever is more. By Gauss's lemma ⟨p(1), δ⟩/length is what δ = end − γ(1) adds to the length.
func (a Arc) Moved(end Vec) float64 {
	if a.Length == 0 {
		return 0
	}
	way, from := 0.0, a.Start
	for _, q := range a.Points {
		way += floats.Distance(from, q, 2)
		from = q
	}
	miss := floats.SubTo(make(Vec, len(end)), end, a.End())
	return max(math.Abs(floats.Dot(a.Momenta[len(a.Momenta)-1], miss))/(a.Length*a.Length), floats.Norm(miss, 2)/way)
}

// thinned leaves one in so many of the points and momenta, and multiplies the momenta by this number.
func (a Arc) thinned(times int) Arc {
	out := Arc{Start: a.Start, Length: a.Length}
	for k := times - 1; k < len(a.Points); k += times {
		out.Points = append(out.Points, a.Points[k])
		out.Momenta = append(out.Momenta, floats.ScaleTo(make(Vec, len(a.Momenta[k])), float64(times), a.Momenta[k]))
	}
	return out
}

// Parts is into how many equal parts so many steps are divided to see the geodesic on the way: up to 5.
func Parts(steps int) int {
	k := 5
	for steps%k != 0 {
		k--
	}
	return k
}
