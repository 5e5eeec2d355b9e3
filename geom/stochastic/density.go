package stochastic

import (
	"fmt"
	"math"

	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
)

// Density estimates, at given points y, the density of a distribution of which there are samples x_i, with respect to the
// Riemannian volume:
//
//	f(y) = (1/N) Σ_i (2πh²)^{−d/2} exp(−|x_i − y|²_g(y) / 2h²),
//
// in the coordinates of a chart centred at y where the manifold is an Atlas. The bandwidth h has the unit of distances;
// the bias is O(h²), the variance O(1/(N h^d)).
func Density(s *geom.Space, samples, at [][]float64, bandwidth float64) ([]float64, error) {
	const what = "Density"
	if len(samples) == 0 || len(at) == 0 {
		return nil, fmt.Errorf("%s: %d samples, %d points, want at least 1 of each", what, len(samples), len(at))
	}
	if !(bandwidth > 0) || math.IsInf(bandwidth, 1) {
		return nil, fmt.Errorf("%s: bandwidth %g, want a finite positive number", what, bandwidth)
	}
	if err := checkVectors(s, what, "sample", samples); err != nil {
		return nil, err
	}
	if err := checkVectors(s, what, "point", at); err != nil {
		return nil, err
	}
	out, err := s.Call(what, func(in []*Node) []*Node {
		samples, at, h := in[0], in[1], in[2]
		n, q, d := samples.Shape().Dim(0), at.Shape().Dim(0), s.M.Dim()
		x := BroadcastToDims(ExpandAxes(samples, 1), n, q, samples.Shape().Dim(1))
		m, centre := s.M, at
		if a, ok := s.M.(geom.Atlas); ok {
			chart := a.Chart(at)
			m, centre = chart, Zeros(at.Graph(), shapes.Make(at.DType(), q, d))
			x = chart.Coordinates(x)
		} else {
			x = Sub(x, BroadcastPrefix(at, n))
		}
		g := geom.MetricMatrix(m, centre)
		square := ReduceSum(Mul(Einsum("nqi,qij->nqj", x, g), x), -1)
		terms := Exp(Div(square, MulScalar(Square(h), -2)))
		terms = Where(IsFinite(square), terms, ZerosLike(terms)) // samples in the cut locus of y are far from it
		values := ReduceSum(terms, 0)
		norm := MulScalar(Pow(MulScalar(Square(h), 2*math.Pi), Scalar(h.Graph(), h.DType(), 0.5*float64(d))), float64(n))
		return []*Node{Div(values, norm)}
	}, samples, at, bandwidth)
	if err != nil {
		return nil, err
	}
	values := out.Vector(0)
	for i, v := range values {
		if math.IsNaN(v) {
			return nil, fmt.Errorf("%s: point %d is not on the manifold, or the metric is singular there", what, i)
		}
	}
	return values, nil
}
