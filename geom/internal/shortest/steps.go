package shortest

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

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
