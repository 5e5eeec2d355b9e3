package manifold_test

import (
	"testing"

	"anatomy/geom/geomtest"
	"anatomy/geom/manifold"
)

func TestEuclidean(t *testing.T) {
	t.Parallel()
	geomtest.Run(t, manifold.Euclidean(3), []float64{2, 0, -1}, []float64{0, 0, 0})
}
