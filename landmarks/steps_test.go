package landmarks_test

import (
	"math"
	"testing"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/ode"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/morpho"
)

// Where 25 steps are too few, Match and LogWithin go on with more, and find the length of a geodesic by 400 steps to 1e-4. A given
// Integrator is obeyed, and the length is wrong then.
func TestSearchesTakeTheStepsThatTheyNeed(t *testing.T) {
	s := landmarks.New(4, 2, kernels.Gaussian(1))
	q := geom.Shape{{0, 0}, {1, 0}, {1, 1}, {0, 1}}
	far := expect.Must(s.With(geom.Integrator(ode.RK4, 400)).Exp(q, geom.Shape{{3.6, 0}, {12, 1.2}, {12, 12}, {0, 7.2}}))
	for _, c := range []struct {
		name  string
		space *landmarks.Space
		steps int
	}{{"settled", s, 50}, {"25 steps", s.With(geom.Integrator(ode.RK4, 25)), 25}} {
		m := expect.Must(c.space.Match(q, landmarks.Correspondence(far.End), 0.01))
		for what, g := range map[string]*landmarks.Geodesic{"match": &m.Geodesic, "within": expect.Must(c.space.LogWithin(q, far.End, 1e-6))} {
			off := math.Abs(g.Length/far.Length - 1)
			if g.Status != geom.Converged || g.Steps != c.steps || (off <= 1e-4) != (c.steps == 50) || (g.StepError <= 1e-4) != (c.steps == 50) {
				t.Errorf("%s, %s: %s, %d steps, length off by %.2g, StepError %.2g", c.name, what, g, g.Steps, off, g.StepError)
			}
		}
	}
}

// Log between two callosa with a kernel of 2.5 or 2.6 spacings, where the metric is nearly singular, finds the geodesic to much less than its
// tolerance of 1e-8, though its search gets no further and may end for that reason. The status is that of the residual.
func TestStatusOfLogWithAWideKernel(t *testing.T) {
	q := morpho.CorpusCallosum().Shapes()
	n := len(q[0])
	spacing := morpho.MeanSpacing(q[0], true)
	for width, options := range map[float64][]geom.Option{2.5: nil, 2.6: {geom.Integrator(ode.RK4, 25)}} {
		g := expect.Must(landmarks.New(n, 2, kernels.Gaussian(width*spacing), options...).Log(q[0], q[1]))
		off := 0.0
		for i, x := range g.End {
			off = math.Max(off, math.Hypot(x[0]-q[1][i][0], x[1]-q[1][i][1]))
		}
		if g.Status != geom.Converged || g.Err() != nil || off > 1e-6 || options == nil && g.StepError > 1e-4 {
			t.Errorf("%s, StepError %.2g, the end is off by %.2g: %v", g, g.StepError, off, g.Err())
		}
	}
}
