package recovery

import (
	"testing"

	"anatomy/geom"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
)

func TestMain(m *testing.M) { geomtest.Main(m) }

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
		if r.Atlas.Status != geom.Converged || r.Template > 2*e || r.Plane > 10 {
			t.Errorf("%s, standard error %g", r, e)
		}
		expect.Rel(t, "noise", r.Atlas.Noise, r.Truth, 0.1)
	}
	expect.Rel(t, "how large deformations are", far.Atlas.Reach, 0.15*r.Atlas.Reach, 0.02)
}
