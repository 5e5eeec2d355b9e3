package landmarks_test

import (
	"testing"

	"anatomy/geom/geomtest/expect"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/morpho"
)

// With kernels half as wide again as 60 landmarks are apart, and twice as wide, the velocities differ by 1e5 in what they cost, and
// shooting leads nowhere: Log finds the geodesics from curves of least energy. The lengths of such curves that another program found,
// with 30 chords and the metric at their starts, are by a two-hundredth less, whichever end is the start.
func TestLogBetweenVertebrae(t *testing.T) {
	data := morpho.MouseVertebrae()
	look := expect.Must(morpho.Inspect(data))
	aligned := expect.Must(morpho.Procrustes(data.Without(look.Names(morpho.OutOfOrder)...).Shapes()))
	x, y := aligned.Shapes[41], aligned.Shapes[6]
	for _, c := range []struct {
		spacings, length float64
		from, to         [][]float64
	}{{1.5, 0.1393, x, y}, {2, 0.2441, y, x}} {
		M := landmarks.New(60, 2, kernels.Gaussian(c.spacings*morpho.MeanSpacing(aligned.Mean, true)))
		g := expect.Must(M.Log(c.from, c.to))
		if err := g.Err(); err != nil {
			t.Error(err)
		}
		expect.Rel(t, "length", g.Length, c.length, 0.01)
	}
}
