package morpho

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/shape"
	"anatomy/landmarks/internal/pointset"
)

var square = [][]float64{{0, 0}, {2, 0}, {2, 2}, {0, 2}}

func TestMeanSpacing(t *testing.T) {
	expect.Abs(t, "closed square", MeanSpacing(square, true), 2, 0)
	expect.Abs(t, "open square", MeanSpacing(square, false), 2, 0)
	l := [][]float64{{0, 0, 0}, {3, 4, 0}, {3, 4, 1}}
	expect.Abs(t, "open path", MeanSpacing(l, false), 3, 0)
	expect.Abs(t, "closed path", MeanSpacing(l, true), (6+math.Sqrt(26))/3, 1e-15)
	if !math.IsNaN(MeanSpacing(square[:1], true)) {
		t.Error("one point has a spacing")
	}
}

func TestCentroidAndSize(t *testing.T) {
	expect.Abs(t, "centroid", [][]float64{shape.Shape(square).Centroid()}, [][]float64{{1, 1}}, 0)
	expect.Abs(t, "size of the square", CentroidSize(square), math.Sqrt(8), 1e-15)
	// CS² = (1/n) Σ_{i<j} |x_i − x_j|².
	points := randomShape(rand.New(rand.NewPCG(1, 1)), 9, 3)
	sum := 0.0
	for i := range points {
		for j := range i {
			d := floats.Distance(points[i], points[j], 2)
			sum += d * d
		}
	}
	expect.Abs(t, "size by pairs", CentroidSize(points), math.Sqrt(sum/9), 1e-14)
}

func TestMean(t *testing.T) {
	mean, err := Mean([]shape.Shape{{{0, 0}, {1, 2}}, {{2, 4}, {3, 4}}})
	if err != nil {
		t.Fatal(err)
	}
	expect.Abs(t, "mean", mean, [][]float64{{1, 2}, {2, 3}}, 0)
	_, err = Mean([]shape.Shape{{{0, 0}}, {{0, 0}, {1, 1}}})
	expect.Refused(t, err, "mean", "shape 1: 2 landmarks, but shape 0 has 1")
}

func TestResampleSquare(t *testing.T) {
	for _, c := range []struct {
		what   string
		n      int
		closed bool
		want   [][]float64
	}{
		{"closed by 8", 8, true, [][]float64{{0, 0}, {1, 0}, {2, 0}, {2, 1}, {2, 2}, {1, 2}, {0, 2}, {0, 1}}},
		{"closed by 4", 4, true, square},
		{"open by 4", 4, false, square},
		{"open by 7", 7, false, [][]float64{{0, 0}, {1, 0}, {2, 0}, {2, 1}, {2, 2}, {1, 2}, {0, 2}}},
		{"open by 2", 2, false, [][]float64{{0, 0}, {0, 2}}},
	} {
		got, err := Resample(square, c.n, c.closed)
		if err != nil {
			t.Fatal(err)
		}
		expect.Abs(t, c.what, got, c.want, 1e-15)
	}
}

// Points of a circle's polygon, at uneven distances and one of them twice: the result lies on the polygon at equal arc lengths.
func TestResampleArcLength(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	angle := 0.0
	var circle [][]float64
	for angle < 2*math.Pi {
		circle = append(circle, []float64{math.Cos(angle), math.Sin(angle)})
		angle += 0.02 + 0.1*r.Float64()
	}
	circle = append(circle[:3], append([][]float64{circle[2]}, circle[3:]...)...)
	// arc is the arc length at which p lies on the polygon.
	arc := func(p []float64, closed bool) float64 {
		best, at, s := math.Inf(1), 0.0, 0.0
		for i, length := range pointset.Segments(circle, closed) {
			a, b := circle[i], circle[(i+1)%len(circle)]
			if da, db := floats.Distance(a, p, 2), floats.Distance(b, p, 2); da+db-length < best {
				best, at = da+db-length, s+da
			}
			s += length
		}
		if best > 1e-14 {
			t.Errorf("%v is %g off the polygon", p, best)
		}
		return at
	}
	for _, closed := range []bool{true, false} {
		const n = 37
		got, err := Resample(circle, n, closed)
		if err != nil {
			t.Fatal(err)
		}
		total := floats.Sum(pointset.Segments(circle, closed))
		parts := float64(n - 1)
		if closed {
			parts = n
		}
		for k, p := range got {
			expect.Abs(t, "arc length", arc(p, closed), total*float64(k)/parts, 1e-13)
		}
		expect.Abs(t, "first", got[:1], circle[:1], 0)
		if !closed {
			expect.Abs(t, "last", got[n-1:], circle[len(circle)-1:], 1e-14)
		}
	}
}

// The 39 landmarks of each corpus callosum are its 200 points resampled.
func TestResampleCorpusCallosum(t *testing.T) {
	few, many := CorpusCallosum(), CorpusCallosumOutline()
	for _, name := range few.Names() {
		got, err := Resample(many.Shape(name), 39, true)
		if err != nil {
			t.Fatal(err)
		}
		// The 39 come from a finer contour than the 200, so they agree to the sagitta of the polygon.
		expect.Abs(t, name, got, few.Shape(name), 0.1)
	}
}

func TestResampleRefuses(t *testing.T) {
	_, err := Resample(square, 1, true)
	expect.Refused(t, err, "1 points are asked for")
	_, err = Resample([][]float64{{1, 1}, {1, 1}}, 5, false)
	expect.Refused(t, err, "length 0")
	_, err = Resample([][]float64{{1, 1}}, 5, false)
	expect.Refused(t, err, "1 points has the length 0")
	_, err = Resample([][]float64{{1, 1}, {math.NaN(), 1}}, 5, false)
	expect.Refused(t, err, "landmark 1", "x is NaN")
	_, err = Resample(nil, 5, false)
	expect.Refused(t, err, "no landmarks")
}
