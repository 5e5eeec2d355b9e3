package stochastic

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/linalg"
	"anatomy/geom/shape"
	"anatomy/geom/try"
)

// Density estimates the density of a distribution from samples x_i, with respect to the Riemannian volume. It returns, for each of
// the given points y,
//
//	f(y) = (1/N) Σ_i (2πh²)^{−d/2} exp(−|x_i − y|²_g(y) / 2h²),
//
// where x_i − y is a difference of coordinates, on a Charted manifold those of the chart centred at y. The bandwidth h is a length; the
// bias is O(h²) and the variance O(1/(N h^d)). The values have the unit of 1/length^d. A sample in the cut locus of y counts for nothing; a
// point y where the metric is not finite is an error.
func Density[P geom.Point](on geom.Of[P], samples, points []P, bandwidth float64) (_ []float64, err error) {
	defer try.Named(&err, "Density")
	s := on.Geometry()
	try.FailIf(!(bandwidth > 0) || math.IsInf(bandwidth, 1), "bandwidth %g, want a finite positive number", bandwidth)
	try.Do(s.CheckAll("sample", samples))
	try.Do(s.CheckAll("point", points))
	try.Do(s.CheckRegular("point", points...))
	out := try.Get(s.Call(operation{name: "Density"}, func(in []*Node) []*Node {
		samples, h := in[0], in[2]
		at := geom.At(s.M, in[1])
		n, q, d := samples.Shape().Dim(0), in[1].Shape().Dim(0), s.M.Dim()
		x := at.Coordinates(BroadcastToDims(ExpandAxes(samples, 1), n, q, samples.Shape().Dim(1)))
		x = Sub(x, BroadcastPrefix(at.X, n))
		m, centre := at.Manifold, at.X
		g := geom.MetricMatrix(m, centre)
		square := ReduceSum(Mul(Einsum("nqi,qij->nqj", x, g), x), -1)
		terms := Exp(Div(square, MulScalar(Square(h), -2)))
		terms = Where(LogicalAll(IsFinite(x), -1), terms, ZerosLike(terms)) // samples in the cut locus of y are far from it
		values := linalg.NaNWhere(LogicalNot(LogicalAll(IsFinite(g), -1, -2)), ReduceSum(terms, 0))
		norm := MulScalar(Pow(MulScalar(Square(h), 2*math.Pi), Scalar(h.Graph(), h.DType(), 0.5*float64(d))), float64(n))
		return []*Node{Div(values, norm)}
	}, shape.FlatAll(samples), shape.FlatAll(points), bandwidth))
	values := out.Vector(0)
	for i, v := range values {
		try.FailIf(math.IsNaN(v), "the metric is singular at point %d: take a point where it is finite", i)
	}
	return values, nil
}
