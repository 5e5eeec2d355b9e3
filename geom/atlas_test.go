package geom_test

import (
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
)

func TestSingularMetricIsAnError(t *testing.T) {
	s := geom.On(geom.MetricFunc(2, func(x *Node) *Node { // diag(1, x_0), singular at the origin
		one, first := OnesLike(x), SliceAxis(x, -1, AxisElem(0))
		zero := ZerosLike(first)
		return Stack([]*Node{
			Concatenate([]*Node{SliceAxis(one, -1, AxisElem(0)), zero}, -1),
			Concatenate([]*Node{zero, first}, -1),
		}, -2)
	}))
	for _, run := range map[string]func() error{
		"Exp":   func() error { _, err := s.Exp([]float64{0, 0}, []float64{1, 1}); return err },
		"Shoot": func() error { _, err := s.Shoot([]float64{0, 0}, []float64{1, 1}); return err },
		"Exp into the singular line": func() error {
			_, err := s.Exp([]float64{0.1, 0}, []float64{-1, 0})
			return err
		},
	} {
		expect.Refused(t, run(), "singular")
	}
	g, err := s.Log([]float64{0, 0}, []float64{1, 1})
	if err == nil && g.Status == geom.Converged {
		t.Error("Log from a singular point: converged")
	}
}
