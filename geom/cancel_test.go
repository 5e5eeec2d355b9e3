package geom_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"anatomy/geom"
	"anatomy/geom/geomtest"
	"anatomy/geom/manifold"
	"anatomy/kernels"
	"anatomy/landmarks"
)

// Wherever a search for logarithms is stopped, it returns what it has found, without an error, and Converged is only what it would
// have found without the stop: on the torus, whose first geodesic is not the shortest, and in more than 8 dimensions, where curves
// are relaxed before Newton's method. On the torus, where a search is long, every third look at the context is the last one.
func TestStoppedLog(t *testing.T) {
	const u = 3.1
	circle := func(turned, stretched float64) (x []float64) {
		for i := range 5 {
			s, c := math.Sincos(float64(i)*2*math.Pi/5 + turned)
			x = append(x, stretched*c, s)
		}
		return x
	}
	for _, c := range []struct {
		name  string
		every int
		m     geom.Manifold
		x, y  [][]float64
	}{
		{"torus", 3, manifold.Torus(1, 0.45), [][]float64{{1.45, 0, 0}}, [][]float64{{1.45 * math.Cos(u), 1.45 * math.Sin(u), 0}}},
		{"landmarks", 1, landmarks.Manifold{N: 5, D: 2, Kernel: kernels.Gaussian(2)}, [][]float64{circle(0, 1), circle(0, 1), circle(0, 1)},
			[][]float64{circle(0.3, 1.4), circle(0.3, 1.5), circle(-0.3, 0.7)}},
	} {
		whole := &geomtest.Countdown{Context: context.Background(), Left: math.MaxInt}
		s := geom.On(c.m)
		want, err := s.With(geom.Context(whole)).LogAll(c.x, c.y)
		if err != nil {
			t.Fatal(c.name, err)
		}
		looks := math.MaxInt - whole.Left
		t.Log(c.name, want, looks)
		for after := 0; after < looks; after += c.every {
			got, err := s.With(geom.Context(&geomtest.Countdown{Context: context.Background(), Left: after})).LogAll(c.x, c.y)
			if err != nil {
				t.Fatalf("%s: stopped after %d: %v", c.name, after, err)
			}
			cancelled, found := false, true
			for i, g := range got {
				if cancelled := g.Status == geom.Cancelled; errors.Is(g.Err(), geom.ErrCancelled) != cancelled ||
					errors.Is(g.Err(), geom.ErrNotConverged) != (g.Status != geom.Converged) {
					t.Errorf("%s, and its error is %v", g.Status, g.Err())
				}
				cancelled, found = cancelled || g.Status == geom.Cancelled, found && g.Status == geom.Converged
				if g.Status == geom.Converged && !(math.Abs(g.Length-want[i].Length) <= 1e-9*want[i].Length) {
					t.Errorf("%s: stopped after %d: pair %d: %s, want length %g", c.name, after, i, g, want[i].Length)
				}
			}
			if !cancelled && !(found && after == looks-1) { // all may be found before the last look
				t.Errorf("%s: stopped after %d: none is cancelled", c.name, after)
			}
		}
	}
}
