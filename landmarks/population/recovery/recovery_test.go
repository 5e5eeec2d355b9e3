package recovery

import (
	"testing"

	"anatomy/geom"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
)

func TestMain(m *testing.M) { geomtest.Main(m) }

// came fails where template, with its standard errors, plane of modes or noise did not come back.
func came(t *testing.T, r *Result, e []float64) {
	t.Helper()
	for o := range e {
		if r.Atlas.Status != geom.Converged || r.Template[o] > 2*e[o] || r.Plane > 10 {
			t.Errorf("object %d: %s, standard error %g", o, r, e[o])
		}
		expect.Rel(t, "noise", r.Atlas.Noise[o], r.Truth[o], 0.1)
	}
}

// Template, plane of modes and noise come back, the template within two standard errors; and so they do where the kernel says that
// deformations are seven times as large.
func TestCurves(t *testing.T) {
	t.Parallel()
	s := expect.Must(Curves().Draw(16, 2))
	r := expect.Must(s.Recover())
	e := expect.Must(s.StandardError(r.Atlas, 2))
	t.Log(r, e)
	s.Amplitude = 1
	far := expect.Must(s.Recover())
	t.Log(far)
	for _, r := range []*Result{r, far} {
		came(t, r, e)
	}
	expect.Rel(t, "how large deformations are", far.Atlas.Reach, 0.15*r.Atlas.Reach, 0.02)
}

// Of two outlines in each subject each has its own noise, and both templates come back.
func TestPairs(t *testing.T) {
	t.Parallel()
	s := expect.Must(Pairs().Draw(16, 2))
	r := expect.Must(s.Recover())
	e := expect.Must(s.StandardError(r.Atlas, 2))
	t.Log(r, e)
	came(t, r, e)
}
