package morpho

import (
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/shape"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/pointset"
	"anatomy/landmarks/internal/text"
)

// MeanSpacing returns the mean distance between neighbouring points of an outline, in the unit of the coordinates. If the
// outline is closed, this includes the distance from the last point to the first. It is NaN for fewer than two points.
func MeanSpacing(points [][]float64, closed bool) float64 {
	if len(points) < 2 {
		return math.NaN()
	}
	lengths := pointset.Segments(points, closed)
	return floats.Sum(lengths) / float64(len(lengths))
}

// Resample returns n points at equal arc lengths along the polygon through points, [k][d]; the first one stays. On a closed
// outline they are at j·L/n of the length L, on an open one at j·L/(n − 1), so that both ends stay. It is an error if there are
// too few points, n is too small, or all points coincide.
func Resample(points shape.Shape, n int, closed bool) (_ shape.Shape, err error) {
	defer try.Named(&err, "resample")
	const most = 1 << 24
	try.Get2(extent(points))
	text.RefuseIf(n < 2, "ask for at least 2", "%d points are asked for", n)
	text.RefuseIf(n > most, "ask for fewer", "%d points are asked for, and %d are the most", n, most)
	out, total := pointset.Resample(points, n, closed)
	text.RefuseIf(out == nil, "leave it out", "an outline of %d points has the length %g", len(points), total)
	return out, nil
}

// Mean returns the coordinate mean (1/N) Σ_i shape_i of N shapes [n][d]. Align them first if they lie apart (Procrustes).
func Mean(shapes []shape.Shape) (_ shape.Shape, err error) {
	defer try.Named(&err, "mean")
	try.Get2(commonExtent(shapes, shapeNumber))
	mean := shapes[0].Scale(0)
	for _, x := range shapes {
		mean = mean.Add(x.Scale(1 / float64(len(shapes))))
	}
	return mean, nil
}

// CentroidSize returns sqrt(Σ_i |x_i − c|²), c the centroid.
func CentroidSize(x [][]float64) float64 { return pointset.CentroidSize(x) }

// extent returns the count and dimension of a shape whose landmarks are all there.
func extent(shape [][]float64) (n, dim int, err error) {
	defer try.Catch(&err)
	text.RefuseIf(len(shape) == 0, "leave it out", "no landmarks")
	dim = len(shape[0])
	text.RefuseIf(dim != 2 && dim != 3, "give it 2 or 3", "landmark 0 has %d coordinates", dim)
	for l, p := range shape {
		if len(p) != dim {
			text.Refuse("give all landmarks as many", "landmark %d has %d coordinates, landmark 0 has %d", l, len(p), dim)
		}
		try.Do(checkPoint(l, p, strconv.Itoa))
	}
	return len(shape), dim, nil
}

// checkPoint returns an error where landmark l has no place: its coordinates are not finite, or a usual code of a missing one.
func checkPoint(l int, p []float64, called func(l int) string) error {
	for c, v := range p {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return text.Advise("leave out the landmark or the specimen, or see EstimateMissing", "landmark %s: %s is %g", called(l), text.Axis(c), v)
		}
	}
	return checkCode(l, p, called)
}

// commonExtent returns the count and dimension that all shapes have; errors call shape i what(i).
func commonExtent(shapes []shape.Shape, what func(i int) string) (n, dim int, err error) {
	defer try.Catch(&err)
	text.RefuseIf(len(shapes) == 0, "give some", "no shapes")
	for i, shape := range shapes {
		m, d, err := extent(shape)
		if err != nil {
			try.Fail("%s: %w", what(i), err)
		}
		if i == 0 {
			n, dim = m, d
		}
		if m != n || d != dim {
			text.Refuse("let missing landmarks be NaN in their places, or leave the shape out",
				"%s has %d landmarks in %d dimensions, %s has %d in %d", what(i), m, d, what(0), n, dim)
		}
	}
	return n, dim, nil
}

func shapeNumber(i int) string { return fmt.Sprint("shape ", i) }

// NearestSpacing returns the mean distance from a landmark to the one nearest to it: the natural length for the width of a
// kernel where the landmarks follow no curve, as MeanSpacing is where they do. Points are [n][d], n ≥ 2.
func NearestSpacing(points [][]float64) float64 {
	return lists.Sum(len(points), func(i int) float64 {
		nearest := math.Inf(1)
		for j, q := range points {
			if i != j {
				nearest = min(nearest, floats.Distance(points[i], q, 2))
			}
		}
		return nearest
	}) / float64(len(points))
}

// Spread returns the numbers of n of the points, spread evenly over them: each is the point farthest from those before it and from others
// that are there already. Without others the first is point 0. Points of a mesh become semi-landmarks of its surface so, beside
// its landmarks. It panics if there are not as many points.
func Spread(x [][]float64, n int, others ...[]float64) []int { return pointset.Spread(x, n, others...) }
