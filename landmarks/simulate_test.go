package landmarks_test

import (
	"testing"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/kernels"
	"anatomy/landmarks"
)

// Equal seeds give equal shapes, whose differences grow with the size; the first shapes of a longer list are those of a shorter one.
func TestSimulate(t *testing.T) {
	q := geom.Shape{{0, 0}, {2, 0}, {2, 1}, {0, 1}}
	s := landmarks.New(4, 2, kernels.Gaussian(1))
	few, more := expect.Must(s.Simulate(q, 2, 0.1, 7)), expect.Must(s.Simulate(q, 5, 0.1, 7))
	for i, x := range few {
		expect.Abs(t, "shape", x, more[i], 0)
	}
	other, large := expect.Must(s.Simulate(q, 1, 0.1, 8))[0], expect.Must(s.Simulate(q, 1, 0.2, 7))[0]
	if few[0].Distance(other) < 0.01 || large.Distance(q) < 1.5*few[0].Distance(q) {
		t.Errorf("%v, %v, %v", few[0], other, large)
	}
	solid := landmarks.New(4, 3, kernels.Gaussian(1))
	if x := expect.Must(solid.Simulate(geom.Shape{{0, 0, 0}, {2, 0, 1}, {2, 1, 0}, {0, 1, 1}}, 1, 0.1, 1))[0]; x[0][2] == 0 {
		t.Error("landmarks in space move in the plane", x)
	}
	expect.Refused(t, expect.Error(s.Simulate(q[:3], 1, 0.1, 1)), "Simulate: the outline has 3 landmarks, the manifold has 4")
	expect.Refused(t, expect.Error(solid.Simulate(q, 1, 0.1, 1)), "Simulate", "3")
}
