package landmarks_test

import (
	"math"
	"testing"

	"anatomy/geom"
	"anatomy/geom/framebundle"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/ode"
	"anatomy/geom/stats"
	"anatomy/kernels"
	"anatomy/landmarks"
)

// Translations by rows of equal vectors: a frame at q.
func translations(q [][]float64, size float64) []geom.Shape {
	frame := make([]geom.Shape, 2)
	for range q {
		frame[0] = append(frame[0], []float64{size, 0})
		frame[1] = append(frame[1], []float64{0, size})
	}
	return frame
}

func TestDevelopShapes(t *testing.T) {
	q := geom.Shape{{1, 0}, {0, 1}, {-1, 0}, {0, -0.7}}
	m := landmarks.New(4, 2, kernels.Gaussian(1.2), geom.Integrator(ode.RK4, 10))
	frame := translations(q, 0.4)
	curve := [][]float64{{0, 0}, {0.3, 0}, {0.3, 0.4}, {0, 0.5}}
	d, err := framebundle.Over(m).Develop(framebundle.At(q, frame...), curve)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Path) != 4 || len(d.Frames) != 4 || len(d.Frames[3]) != 2 || len(d.Frames[3][1]) != 4 {
		t.Errorf("path %v, frames %v", d.Path, d.Frames)
	}
	expect.Refused(t, expect.Error(framebundle.Over(m).Develop(framebundle.At(q, geom.Shape{{1, 0}}), curve)), "the vector has 1 landmarks, the manifold has 4")
}

// Shapes on one development of a line, symmetric around its start: the mean is that shape.
func TestFrameBundleMeanOfShapes(t *testing.T) {
	q := geom.Shape{{1, 0}, {0, 1}, {-1, 0}, {0, -0.7}}
	m := landmarks.New(4, 2, kernels.Gaussian(1.2), geom.Integrator(ode.RK4, 5))
	frame := []geom.Shape{{{0.2, 0.1}, {0, -0.1}, {0.1, 0}, {-0.1, 0.1}}}
	var shapes []geom.Shape
	for _, w := range []float64{-1.5, -0.5, 0.5, 1.5} {
		d, err := framebundle.Over(m).Develop(framebundle.At(q, frame...), [][]float64{{0}, {w / 2}, {w}})
		if err != nil {
			t.Fatal(err)
		}
		shapes = append(shapes, d.Path[2])
	}
	fit, err := stats.FrameBundleMean(m, shapes, 1, stats.Tolerance(1e-3))
	if err != nil {
		t.Fatal(err)
	}
	want := 0.0 // ‖ν‖² times the mean square of w
	g, err := m.Exp(q, frame[0])
	if err != nil {
		t.Fatal(err)
	}
	want = g.Length * g.Length * 1.25
	expect.Rel(t, "variance", fit.Variances[0], want, 0.02)
	for i := range q {
		if off := math.Hypot(fit.Point[i][0]-q[i][0], fit.Point[i][1]-q[i][1]); !(off < 5e-3) {
			t.Errorf("landmark %d of the mean is at %.4f, want %.4f", i, fit.Point[i], q[i])
		}
	}
	if len(fit.Paths) != 4 || len(fit.Paths[0].Path) != 6 || fit.Paths[0].Mismatch > 1e-4 {
		t.Errorf("%d paths, mismatch %.3g", len(fit.Paths), fit.Paths[0].Mismatch)
	}
	if _, err := stats.FrameBundleMean(m, nil, 1); err == nil {
		t.Error("no shapes: no error")
	}
}
