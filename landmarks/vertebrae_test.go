package landmarks_test

import (
	"testing"

	"anatomy/geom/geomtest/expect"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/morpho"
)

// With a kernel half as wide again as 60 landmarks are apart the velocities differ by 1e5 in what they cost: Newton's steps have to
// be exact.
func TestLogBetweenVertebrae(t *testing.T) {
	data := morpho.MouseVertebrae()
	look := expect.Must(morpho.Inspect(data))
	aligned := expect.Must(morpho.Procrustes(data.Without(look.Names(morpho.OutOfOrder)...).Shapes()))
	M := landmarks.New(60, 2, kernels.Gaussian(1.5*morpho.MeanSpacing(aligned.Mean, true)))
	g := expect.Must(M.Log(aligned.Shapes[41], aligned.Shapes[6]))
	t.Log(g)
	if err := g.Err(); err != nil {
		t.Error(err)
	}
	// The shortest discrete path with 30 steps has the length 0.139.
	expect.Rel(t, "length", g.Length, 0.1400, 0.01)
}
