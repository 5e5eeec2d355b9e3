package shortest

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/solve"
	"anatomy/internal/lists"
)

// How lengths are compared, as shares of a length. Those of curves of Segments chords have errors of some thousandths.
const (
	room   = 1.05 // the geodesics of a fan are longer than the known curve by 5 %, so that they reach the end
	same   = 1e-3 // a geodesic that is longer than a straight line of a chart by less than this is not longer
	lower  = 1e-9 // a geodesic that is shorter by less than this is the same one
	longer = 1.2  // where the geodesic may be the shortest, curves that are longer by a fifth lead to no shorter one
	jump   = 0.25 // nor do curves whose last step is longer than this
)

// energy is the tolerance to which curves of a fan are relaxed, a share: Newton's method goes on from there.
const energy = 1e-6

// bridge searches where the chart at y does not reach x: from guesses, or along curves of a fan over the charts on the way.
func (s *search) bridge(pairs []*candidate, guess []Vec) error {
	var lost []int
	for i, c := range pairs {
		if c.Lost != nil {
			lost = append(lost, i)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	if guess != nil {
		open := lists.Pick(pairs, lost)
		a := s.attempt(starts(open), ends(open))
		a.far = true
		if err := a.run(lists.Pick(guess, lost), true); err != nil {
			return err
		}
		for k, better := range a.pairs {
			if better.root.Status == solve.Converged {
				open[k].replace(better)
			}
		}
	}
	for _, i := range lost {
		// From the distance in numbers on, in the largest unit that the metric has of it.
		const most = 64 // times this distance
		c := pairs[i]
		unit, err := s.Unit(c.x)
		if err != nil {
			return err
		}
		for times := 1.0; times <= most && c.root.Status != solve.Converged && !s.stopped(c); times *= 2 {
			fan, err := s.fan(c.x, c.y, times*room*c.apart*unit)
			if err != nil {
				return err
			}
			if curves := elsewhere(fan, nil); len(curves) > 0 {
				if _, err := s.shorter(c, curves, math.Inf(1)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// replace takes a better geodesic of the same pair.
func (c *candidate) replace(better *candidate) {
	better.root.Iterations += c.root.Iterations
	lost := c.Lost
	c.root, c.times, c.rough, c.Found = better.root, better.times, better.rough, better.Found
	c.Lost = lost
}

// shorten looks for shorter geodesics and for conjugate points. If it is stopped, candidates that are not known to be shortest are Cancelled.
func (s *search) shorten(pairs []*candidate) error {
	if s.stopped(pairs...) {
		return nil
	}
	times, paths, err := s.conjugates(pairs)
	if err != nil {
		return err
	}
	here, there, err := s.Lines(starts(pairs), ends(pairs))
	if err != nil {
		return err
	}
	changed := false
	for i, c := range pairs {
		if s.stopped(c) {
			continue
		}
		better, err := s.shortened(c, []Curve{here[i], there[i]}, times[i], paths[i])
		if err != nil {
			return err
		}
		changed = changed || better
	}
	if changed {
		if times, _, err = s.conjugates(pairs); err != nil {
			return err
		}
	}
	for i, c := range pairs {
		c.Conjugate = times[i]
	}
	return nil
}

// conjugates returns the times of the conjugate points of the geodesics, with the points after each of their steps.
func (s *search) conjugates(pairs []*candidate) (first []float64, paths [][]Vec, err error) {
	times := 1
	for _, c := range pairs {
		times = max(times, c.times)
	}
	return s.Conjugate(starts(pairs), vectors(pairs), times)
}

// shortened replaces the geodesic of a candidate by shorter ones, until there is none, and says whether it did. It searches where no geodesic was
// found, where it has a conjugate point, where the straight line of a chart is shorter, and where on a surface a curve of the fan
// runs elsewhere and is hardly longer.
func (s *search) shortened(c *candidate, lines []Curve, conjugate float64, path []Vec) (changed bool, err error) {
	length, reach := math.Inf(1), math.Inf(1)
	for _, line := range lines {
		if line.Length < reach { // NaN where a chart does not hold the other end
			reach = line.Length
		}
	}
	if c.root.Status == solve.Converged {
		length = c.Length
	}
	minimal := conjugate > 1 && length <= reach*(1+same)
	var known []Curve
	if minimal {
		known = []Curve{{resampled(path, len(path)-1), length, 0}}
	}
	if minimal && s.Dim() > 2 && c.Lost == nil {
		return false, nil // a fan of few geodesics leaves gaps there
	}
	for reach = min(reach, length); !math.IsInf(reach, 1); reach = length {
		fan, err := s.fan(c.x, c.y, room*reach)
		if err != nil {
			return changed, err
		}
		promising := func(other Curve) bool { return other.Length < longer*length && other.hop < jump*length }
		if minimal && !slices.ContainsFunc(elsewhere(fan, known), promising) {
			break
		}
		others := elsewhere(slices.Concat(lines, fan), known)
		if len(others) == 0 { // no chart holds the other end
			break
		}
		better, err := s.shorter(c, others, length)
		if err != nil {
			return changed, err
		}
		if better {
			length, changed = c.Length, true
		}
		if s.stopped(c) || !better {
			break
		}
	}
	return changed, nil
}

// shorter replaces the geodesic of a candidate by the shortest one below a length, +Inf for any, that curves lead to, and says whether there is one.
// The curves are relaxed, and solved and checked from there.
func (s *search) shorter(c *candidate, curves []Curve, length float64) (better bool, err error) {
	for len(curves) < Relaxing { // one shape for all programs
		curves = append(curves, curves[0])
	}
	guess, _, err := s.Relax(s.task.Context(), lists.Each(curves, Curve.points), energy)
	if err != nil || s.task.Stopped() {
		return false, err
	}
	a := s.attempt(slices.Repeat([]Vec{c.x}, len(guess)), slices.Repeat([]Vec{c.y}, len(guess)))
	a.far = c.Lost != nil
	if a.most = length; !math.IsInf(length, 1) {
		a.most = c.rough * (1 - lower)
	}
	if err := a.run(guess, true); err != nil {
		return false, err
	}
	var best *candidate
	shortest := length * (1 - lower)
	for _, f := range a.pairs {
		if f.root.Status == solve.Converged && f.rough < a.most && f.Length < shortest {
			best, shortest = f, f.Length
		}
	}
	if best != nil {
		c.replace(best)
	}
	return best != nil, nil
}

const (
	Segments = 32   // chords of a curve: its length and velocity are off by terms of second order in a chord
	Relaxing = 8    // curves at most are relaxed at a time
	rays     = 48   // geodesics of a fan from either end: on a surface one every 7.5 degrees
	distinct = 0.15 // of the length of a curve: two curves whose points are all closer than this relax to one geodesic
)

// Curve is Segments + 1 points, its length, and that of its last step alone, which is exact where it is short.
type Curve struct {
	Points      []Vec
	Length, hop float64
}

func (c Curve) points() []Vec { return c.Points }

// resampled takes Segments + 1 of the first last + 1 points of a path.
func resampled(path []Vec, last int) []Vec {
	return lists.Make(Segments+1, func(j int) Vec { return path[j*last/Segments] })
}

// elsewhere returns the shortest of the curves, at most Relaxing of them, none of which runs along another or a known one.
func elsewhere(curves, known []Curve) []Curve {
	curves = slices.DeleteFunc(slices.Clone(curves), func(c Curve) bool { return !(c.Length < math.Inf(1)) })
	slices.SortFunc(curves, func(a, b Curve) int { return cmp.Compare(a.Length, b.Length) })
	var out []Curve
	for _, c := range curves {
		long := lists.Sum(Segments, func(j int) float64 { return floats.Distance(c.Points[j], c.Points[j+1], 2) })
		near := func(k Curve) bool {
			for j := range c.Points {
				if floats.Distance(c.Points[j], k.Points[j], 2) > distinct*long {
					return false
				}
			}
			return true
		}
		if !slices.ContainsFunc(known, near) && !slices.ContainsFunc(out, near) {
			out = append(out, c)
		}
		if len(out) == Relaxing {
			break
		}
	}
	return out
}

// fan returns curves from x to y: geodesics of one length from x and from y, in directions all around, up to where they come closest to
// the other end, each with a last step to it.
func (s *search) fan(x, y Vec, length float64) ([]Curve, error) {
	from := slices.Concat(slices.Repeat([]Vec{x}, rays), slices.Repeat([]Vec{y}, rays))
	to := slices.Concat(from[rays:], from[:rays])
	paths, hops, err := s.Rays(from, to, slices.Repeat(directions(rays, s.Dim()), 2), length)
	if err != nil {
		return nil, err
	}
	fan := make([]Curve, 2*rays)
	for k := range fan {
		last, c := 0, Curve{Length: math.Inf(1), hop: math.Inf(1)}
		for t, hop := range hops[k] {
			if hop < c.hop { // NaN where the chart does not hold the other end
				last, c.hop, c.Length = t, hop, hop+length*float64(t)/float64(len(hops[k])-1)
			}
		}
		c.Points = resampled(paths[k], last)
		c.Points[Segments] = to[k]
		if k >= rays {
			slices.Reverse(c.Points)
		}
		fan[k] = c
	}
	return fan, nil
}

// directions returns n unit vectors of R^d all around: each is, of many random ones, the farthest from those before it.
func directions(n, d int) []Vec {
	const tried = 50
	random := rand.New(rand.NewPCG(1, uint64(d)))
	var out []Vec
	for range n {
		var best Vec
		widest := math.Inf(-1)
		for range tried {
			v := make(Vec, d)
			for j := range v {
				v[j] = random.NormFloat64()
			}
			floats.Scale(1/floats.Norm(v, 2), v)
			apart := math.Inf(1)
			for _, o := range out {
				apart = min(apart, floats.Distance(o, v, 2))
			}
			if apart > widest || best == nil {
				best, widest = v, apart
			}
		}
		out = append(out, best)
	}
	return out
}
