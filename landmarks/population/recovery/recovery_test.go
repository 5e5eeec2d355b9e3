package recovery

import (
	"testing"

	"anatomy/geom"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
)

func TestMain(m *testing.M) { geomtest.Main(m) }

// Template, plane of modes and noise come back, the template better than half of the sample tells it.
func TestCurves(t *testing.T) {
	t.Parallel()
	r := expect.Must(Curves(16, 1))
	t.Log(r)
	if r.Atlas.Status != geom.Converged || r.Template > r.Halves || r.Plane > 10 {
		t.Errorf("%s", r)
	}
	expect.Rel(t, "noise", r.Atlas.Noise, r.Truth, 0.1)
}
