package manifold_test

import (
	"math"
	"testing"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
	"anatomy/geom/shape"
	"anatomy/geom/stats"
)

func TestEuclidean(t *testing.T) {
	t.Parallel()
	geomtest.Run(t, manifold.Euclidean(3), []float64{2, 0, -1}, []float64{0, 0, 0})
}

// Mean and components of configurations as shapes are those of their numbers, in the plane up to similarity and in space as they are.
func TestShapesOfConfigurations(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		shapes, numbers geom.Manifold
		columns         int
	}{
		"Kendall":        {manifold.Kendall(4, 2), manifold.Kendall(4, 2), 2},
		"Configurations": {manifold.Configurations(4, 3), manifold.Euclidean(12), 3},
	} {
		asShapes, asNumbers := geom.OnShapes(c.shapes), geom.On(c.numbers)
		var shapes []geom.Shape
		var numbers []geom.Vec
		for k := range 6 {
			x := make([]float64, 4*c.columns)
			for i := range x {
				x[i] = math.Sin(float64(i*i+1)) + 0.2*math.Cos(float64((k+2)*(i+1)))
			}
			x, _, err := asNumbers.Project(x)
			if err != nil {
				t.Fatal(err)
			}
			shapes, numbers = append(shapes, engine.Unflatten(x, c.columns)), append(numbers, x)
		}
		want := expect.Must(stats.TangentPCA(expect.Must(stats.FrechetMean(asNumbers, numbers))))
		got := expect.Must(stats.TangentPCA(expect.Must(stats.FrechetMean(asShapes, shapes))))
		if len(got.Point) != 4 || len(got.Modes[0][3]) != c.columns {
			t.Errorf("%s: a mean of %d rows, modes of %d columns", name, len(got.Point), len(got.Modes[0][3]))
		}
		expect.Abs(t, name+": mean", shape.Flat(got.Point), want.Point, 1e-12)
		expect.Rel(t, name+": variances", got.Variances, want.Variances, 1e-12)
		expect.Abs(t, name+": first mode", shape.Flat(got.Modes[0]), want.Modes[0], 1e-9)
	}
}
