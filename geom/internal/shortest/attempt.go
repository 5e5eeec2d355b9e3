package shortest

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/solve"
	"anatomy/internal/lists"
)

// ErrUnreached is of pairs for which no geodesic was found.
var ErrUnreached = errors.New("the chart at the end point does not reach the starting point, and no curve over other charts was found: " +
	"one is in the cut locus of the other, or no curve leads to it: move one of them, or go by a point between them")

// How close to y a geodesic ends, as shares of the distance |y − x|. What rounding leaves of |y| is added to each.
const (
	aim      = 1e-10   // at which a search ends
	reached  = 1e-8    // at which a geodesic is one to y: a search in a metric that is nearly singular comes no closer
	rounding = 0x1p-52 // of |y|: one rounding
	rounded  = 1e-13   // of |y|: the roundings of several hundred steps
)

// After how many evaluations or steps a search is given up. The searches of the tests that find a geodesic take half of them at most.
const (
	broydens = 80 // evaluations by Broyden's method at first
	newtons  = 30 // steps of Newton's method by GMRES
	repeated = 40 // evaluations by Broyden's method from a root with half the steps
	wholes   = 12 // steps of Newton's method from such a root, or with whole Jacobians
	// wholeMost is the largest dimension with whole Jacobians: they cost as many flows as there are dimensions.
	wholeMost = 1500
)

// A call takes small geodesics where these are Costly, and 8 times as many where there are so many. Elsewhere it takes all.
const small = 8

// candidate is one geodesic from x to y, with what is known of it.
type candidate struct {
	x, y Vec
	root *solve.Root // v

	apart  float64 // |y − x|
	scale  float64 // the factor of the residual
	shrunk float64 // what is left of |Exp_x(v) − y| in a residual, times its factor: about this share, if not more

	times int // the multiple of the steps
	arc   Arc // the geodesic that was computed last
	of    Vec // its v

	Found         // Steps, Iterations and Status at the end
	rough float64 // the length by the steps of the geometry
}

// allowed is how far from y the geodesic may end: a share of the distance, or as rounding allows.
func (c *candidate) allowed(share float64) float64 {
	return share*c.apart + rounded*floats.Norm(c.y, 2)
}

// arrived says whether the geodesic ends at y, to a share of the distance or to rounding.
func (c *candidate) arrived(share float64) bool { return c.root.Norm <= c.shrunk*c.allowed(share) }

// attempt is candidates that are solved and checked together.
type attempt struct {
	*search
	pairs []*candidate
	far   bool    // the charts at the ends do not reach the starts
	most  float64 // geodesics that are not shorter than this, by the steps of the geometry, are of no use
}

func (s *search) attempt(x, y []Vec) *attempt {
	a := &attempt{search: s, most: math.Inf(1)}
	for i := range x {
		a.pairs = append(a.pairs, &candidate{x: x[i], y: y[i], times: 1})
	}
	return a
}

func roots(pairs []*candidate) []*solve.Root {
	return lists.Each(pairs, func(c *candidate) *solve.Root { return c.root })
}

func starts(pairs []*candidate) []Vec {
	return lists.Each(pairs, func(c *candidate) Vec { return c.x })
}
func ends(pairs []*candidate) []Vec { return lists.Each(pairs, func(c *candidate) Vec { return c.y }) }
func vectors(pairs []*candidate) []Vec {
	return lists.Each(pairs, func(c *candidate) Vec { return c.root.X })
}

// run solves and checks, from v = 0, or from a guess where its residual is smaller; if anew, always from the guess.
func (a *attempt) run(guess []Vec, anew bool) error {
	if err := a.begin(); err != nil {
		return err
	}
	if err := a.solve(guess, anew); err != nil {
		return err
	}
	return a.check()
}

// begin makes the roots, at v = 0.
func (a *attempt) begin() error {
	gaps, apart, shrinking, err := a.Start(starts(a.pairs), ends(a.pairs), a.far)
	if err != nil {
		return err
	}
	steps, _, _ := a.Integrator()
	for i, c := range a.pairs {
		gap := gaps[i]
		c.apart = apart[i]
		if !lists.Finite(append(slices.Clone(gap), c.apart)...) && !a.far {
			c.Lost = ErrUnreached
		}
		// The chart shrinks vectors far from its centre: scaled, the first step is as long as the points are apart.
		c.scale = 1
		if norm := floats.Norm(gap, 2); norm > 0 && c.apart > 0 && !a.far {
			c.scale = c.apart / norm
		}
		floats.Scale(c.scale, gap)
		c.shrunk = c.scale * shrinking[i]
		still := make(Vec, len(gap))
		c.root = solve.NewRoot(still, gap, c.shrunk*(aim*c.apart+4*rounding*floats.Norm(c.y, 2)))
		c.of, c.arc = still, Arc{Start: c.x, Points: slices.Repeat([]Vec{c.x}, Parts(steps)), Momenta: slices.Repeat([]Vec{still}, Parts(steps))}
		if c.Lost != nil {
			c.root.Norm, c.root.Done, c.root.Status = math.Inf(1), true, solve.Stalled
		}
	}
	return nil
}

// solve searches for the roots.
func (a *attempt) solve(guess []Vec, anew bool) (err error) {
	eq, found := a.equations(a.pairs), roots(a.pairs)
	switch {
	case anew:
		err = from(eq, found, guess)
	case guess != nil:
		err = eq.Improve(found, guess)
	}
	if err != nil {
		return err
	}
	// Broyden's method begins with the identity, which is no derivative where only momenta are unknowns, nor where gaps are coordinates of
	// one chart for those of another.
	if a.HasVelocities() && !a.far {
		if err := eq.Broyden(a.task.Context(), found, broydens); err != nil {
			return err
		}
	}
	for _, c := range a.pairs { // where rounding has the last word
		c.root.Done = c.root.Done || c.arrived(aim)
	}
	if d := a.Dim(); FewDimensions < d && d <= wholeMost && !a.far {
		err = a.relaxed()
	} else {
		err = eq.Newton(a.task.Context(), found, newtons)
	}
	if err != nil {
		return err
	}
	return a.measure()
}

// from moves the roots to guesses, better or not. Those whose guess leads nowhere are done.
func from(eq solve.System, roots []*solve.Root, guess []Vec) error {
	for _, r := range roots {
		r.Norm = math.Inf(1)
	}
	err := eq.Improve(roots, guess)
	for _, r := range roots {
		if math.IsInf(r.Norm, 1) {
			r.Done, r.Status = true, solve.Stalled
		}
	}
	return err
}

// relaxed searches for the roots that are still open from the curves of least energy between the same points, to which straight lines are
// relaxed. Newton's method with whole Jacobians takes their ends to y. A root stays where it was if that leads to no smaller residual, or to
// a geodesic that is longer than the curve, which shows another way.
func (a *attempt) relaxed() error {
	const (
		energy = 1e-9 // a share: the velocity is then off by less than by the chords
		longer = 1.01 // lengths of curves of 32 chords are off by some thousandths
	)
	open := slices.DeleteFunc(slices.Clone(a.pairs), func(c *candidate) bool { return c.root.Done })
	if len(open) == 0 {
		return nil
	}
	lines, _, err := a.Lines(starts(open), ends(open))
	if err != nil {
		return err
	}
	guess, reach := make([]Vec, len(open)), make([]float64, len(open))
	for k, line := range lines { // one by one: each takes as many cometrics as it has chords
		v, lengths, err := a.Relax(a.task.Context(), [][]Vec{line.points()}, energy)
		if err != nil {
			return err
		}
		guess[k], reach[k] = v[0], lengths[0]
	}
	if a.stopped(open...) {
		return nil
	}
	found := lists.Each(open, func(c *candidate) *solve.Root { return solve.NewRoot(c.root.X, c.root.F, c.root.Tolerance) })
	eq := a.equations(open)
	eq.Whole = true
	if err := from(eq, found, guess); err != nil {
		return err
	}
	if err := eq.Newton(a.task.Context(), found, wholes); err != nil {
		return err
	}
	lengths, err := a.Lengths(starts(open), lists.Each(found, func(r *solve.Root) Vec { return r.X }))
	if err != nil {
		return err
	}
	for k, c := range open {
		r := found[k]
		if r.Status == solve.IterationLimit {
			r.Status = solve.Stalled // as it would with more of them
		}
		r.Iterations += c.root.Iterations
		if r.Norm < c.root.Norm && lengths[k] <= longer*reach[k] {
			c.root = r
		} else {
			c.root.Done, c.root.Status = true, max(r.Status, solve.Stalled)
		}
	}
	return nil
}

// check gives the candidates as many steps as they need, and says which of them are geodesics to y. Exp may end where it should while the steps
// are too long, or one of them leads over a singularity of the metric.
func (a *attempt) check() error {
	_, order, doubles := a.Integrator()
	var open []*candidate
	for _, c := range a.pairs {
		c.rough, c.StepError = c.Length, Estimated(order, c.Drift)
		if doubles && c.arrived(reached) && c.Drift > Calm && c.Length < a.most {
			open = append(open, c)
		}
	}
	for times := 2; times <= Doubled && len(open) > 0; times *= 2 {
		var err error
		if open, err = a.double(open, times); err != nil {
			return err
		}
	}
	for _, c := range a.pairs {
		c.root.Status = c.root.Status.Certified(c.Miss <= c.allowed(reached) && Enough(c.Drift, c.StepError, doubles))
	}
	return nil
}

// double takes a multiple of the steps. Where the end stays, what was found with half the steps is the result; where it moves, it searches
// for the root anew. It returns those that need even more steps.
func (a *attempt) double(open []*candidate, times int) (next []*candidate, err error) {
	if a.stopped(open...) {
		for _, c := range open {
			c.StepError = math.NaN()
		}
		return nil, nil
	}
	before := lists.Each(open, func(c *candidate) candidate { return *c })
	was := lists.Each(open, func(c *candidate) solve.Root { return *c.root })
	for _, c := range open {
		c.times = times
	}
	if err := a.equations(open).Renew(roots(open)); err != nil {
		return nil, err
	}
	var moved []*candidate
	for k, c := range open {
		end := c.arc.End()
		if c.StepError = before[k].arc.Moved(end); Settled(c.StepError) {
			c.times, c.arc, c.of, *c.root = times/2, before[k].arc, before[k].of, was[k]
		} else {
			moved = append(moved, c)
		}
	}
	if len(moved) == 0 {
		return nil, nil
	}
	eq := a.equations(moved)
	if err := eq.Broyden(a.task.Context(), roots(moved), repeated); err != nil {
		return nil, err
	}
	for _, c := range moved {
		c.root.Done = c.root.Done || c.arrived(reached)
	}
	eq.Whole = FewDimensions < a.Dim() && a.Dim() <= wholeMost
	if err := eq.Newton(a.task.Context(), roots(moved), wholes); err != nil {
		return nil, err
	}
	if err := a.measure(); err != nil {
		return nil, err
	}
	_, order, _ := a.Integrator()
	for _, c := range moved {
		if c.Drift <= Calm {
			c.StepError = Estimated(order, c.Drift)
		} else if c.arrived(reached) {
			next = append(next, c)
		}
	}
	return next, nil
}

// measure measures the geodesics of the roots. A root that was found is the last one that was evaluated, as a rule.
func (a *attempt) measure() error {
	again := slices.DeleteFunc(slices.Clone(a.pairs), func(c *candidate) bool { return slices.Equal(c.root.X, c.of) })
	if len(again) > 0 {
		if _, err := a.residual(again, vectors(again)); err != nil {
			return err
		}
	}
	found, err := a.Measure(starts(a.pairs), ends(a.pairs), vectors(a.pairs),
		lists.Each(a.pairs, func(c *candidate) []Vec { return c.arc.Points }), lists.Each(a.pairs, func(c *candidate) []Vec { return c.arc.Momenta }))
	if err != nil {
		return err
	}
	for i, c := range a.pairs {
		c.Measures, c.arc.Length = found[i], found[i].Length
	}
	return nil
}

// equations are Exp_x(v) = y for some of the candidates.
func (a *attempt) equations(of []*candidate) solve.System {
	return solve.System{
		Residual:   func(v [][]float64) ([][]float64, error) { return a.residual(of, v) },
		Derivative: func(v, dv [][]float64) ([][]float64, error) { return a.derivative(of, v, dv) },
		Some:       func(which []int) solve.System { return a.equations(lists.Pick(of, which)) },
	}
}

// residual returns the scaled gaps of the geodesics by v. With a multiple of the steps, geodesics of shares of v follow each other, so that programs
// are compiled for the steps of the geometry only.
func (a *attempt) residual(of []*candidate, v []Vec) ([]Vec, error) {
	states := make([]Vec, len(of))
	for k, c := range of {
		c.of, c.arc = slices.Clone(v[k]), Arc{Start: c.x}
		states[k] = floats.ScaleTo(make(Vec, len(v[k])), 1/float64(c.times), v[k])
	}
	for step := 1; ; step++ {
		on := slices.DeleteFunc(lists.Range(len(of)), func(k int) bool { return step > of[k].times })
		if len(on) == 0 {
			a.evaluated(a.pairs)
			return a.gaps(of, lists.Each(of, func(c *candidate) Vec { return c.arc.End() }), nil)
		}
		shoot, rows := Shoot, [][]Vec{starts(lists.Pick(of, on)), lists.Pick(states, on)}
		if step > 1 {
			shoot, rows = Continue, rows[1:]
		}
		out, err := a.inBlocks(shoot, rows...)
		if err != nil {
			return nil, err
		}
		for j, k := range on {
			c, n := of[k], len(v[k])
			points, momenta := out[j][:len(out[j])/2], out[j][len(out[j])/2:]
			states[k] = slices.Concat(points[len(points)-n:], momenta[len(momenta)-n:])
			c.arc.Points, c.arc.Momenta = append(c.arc.Points, rowsOf(points, n)...), append(c.arc.Momenta, rowsOf(momenta, n)...)
			if step == c.times && step > 1 {
				c.arc = c.arc.thinned(step)
			}
		}
	}
}

// rowsOf are vectors of n numbers.
func rowsOf(numbers Vec, n int) []Vec { return slices.Collect(slices.Chunk(numbers, n)) }

// derivative takes the steps of the geometry, also of geodesics with more: Newton's steps are then not exact, but few.
func (a *attempt) derivative(of []*candidate, v, dv []Vec) ([]Vec, error) {
	defer a.evaluated(a.pairs)
	out, err := a.inBlocks(Derivative, starts(of), v, dv)
	if err != nil {
		return nil, err
	}
	return a.gaps(of, lists.Each(out, func(row Vec) Vec { return row[:len(row)/2] }), lists.Each(out, func(row Vec) Vec { return row[len(row)/2:] }))
}

// gaps returns the scaled gaps at the ends of geodesics or, with vectors at the ends, their derivatives along these.
func (a *attempt) gaps(of []*candidate, at, along []Vec) ([]Vec, error) {
	gap, far, rows := Gap, FarGap, [][]Vec{starts(of), ends(of), at}
	if along != nil {
		gap, far, rows = Slope, FarSlope, append(rows, along)
	}
	if a.far {
		gap = far
	}
	out, err := a.inBlocks(gap, rows...)
	for k, f := range out {
		floats.Scale(of[k].scale, f)
	}
	return out, err
}

// inBlocks evaluates a formula for all rows of its arguments. In many dimensions it takes them in blocks, the last one padded, so that programs are compiled for
// two numbers of rows only; in few dimensions, in blocks of as many rows as the attempt has candidates.
func (a *attempt) inBlocks(f Formula, args ...[]Vec) (out []Vec, err error) {
	size := len(a.pairs)
	if a.Costly() {
		size = min(size, small)
	}
	for count := len(args[0]); len(out) < count; {
		n := size
		if count-len(out) >= small*n {
			n *= small
		}
		which := lists.Range(n)
		for k := range which {
			which[k] = min(len(out)+k, count-1)
		}
		values, err := a.Evaluate(f, lists.Each(args, func(rows []Vec) []Vec { return lists.Pick(rows, which) })...)
		if err != nil {
			return nil, err
		}
		out = append(out, values[:min(n, count-len(out))]...)
	}
	return out, nil
}
