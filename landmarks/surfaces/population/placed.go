package population

import (
	"math"
	"slices"

	"anatomy/internal/dense"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// PlacedLandmark is a landmark on a subject, which was not digitised there.
type PlacedLandmark struct {
	Point      []float64   // on the subject
	Covariance [][]float64 // of its error, [D][D], in the tangent of the subject
	Degrees    float64     // of freedom of the factor of Covariance that templates tell; +Inf with one template
	Gap        float64     // how far flows ended from the subject, the mean of the templates
	Stretch    float64     // the logarithm of the ratio of volumes after and before the flow, the mean of the templates
}

// StandardError is the root mean square error along one direction of the tangent: √(tr Covariance/(D − 1)).
func (p PlacedLandmark) StandardError() float64 {
	return math.Sqrt(mat.Trace(dense.Rows(p.Covariance)) / float64(len(p.Covariance)-1))
}

// Radius is the ratio of the half axes of Ellipse to the standard errors along them: √(k F(k, ν)) for the quantile F of a probability, with k = D − 1
// and the Degrees ν.
func (p PlacedLandmark) Radius(probability float64) float64 {
	k := float64(len(p.Covariance) - 1)
	if math.IsInf(p.Degrees, 1) {
		return math.Sqrt(distuv.ChiSquared{K: k}.Quantile(probability))
	}
	return math.Sqrt(k * distuv.F{D1: k, D2: p.Degrees}.Quantile(probability))
}

// Ellipse returns n points on the ellipse in the tangent that has the true place with a probability; on a curve the two ends of the
// interval.
func (p PlacedLandmark) Ellipse(probability float64, n int) [][]float64 {
	variances, axes := eigen(dense.Symmetric(dense.Rows(p.Covariance))) // in ascending order, the normal first
	at := func(along ...float64) []float64 {
		x := slices.Clone(p.Point)
		for k, c := range along {
			floats.AddScaled(x, c*math.Sqrt(math.Max(0, variances[k+1])), mat.Col(nil, k+1, axes))
		}
		return x
	}
	r := p.Radius(probability)
	if len(variances) == 2 {
		return [][]float64{at(-r), at(r)}
	}
	out := make([][]float64, n)
	for i := range out {
		s, c := math.Sincos(2 * math.Pi * float64(i) / float64(n))
		out[i] = at(r*c, r*s)
	}
	return out
}
