package landmarks_test

import (
	"strings"
	"testing"

	"anatomy/geom"
	"anatomy/geom/stats"
	"anatomy/geom/stochastic"
	"anatomy/kernels"
	"anatomy/landmarks"
)

// Landmarks that coincide are seen in every dimension, by all that needs the inverse of the kernel matrix.
func TestCoincidentLandmarksInAnyDimension(t *testing.T) {
	for dim := 1; dim <= 5; dim++ {
		s := landmarks.New(3, dim, kernels.Gaussian(1))
		shape := func(at ...float64) [][]float64 {
			q := make([][]float64, len(at))
			for i, v := range at {
				q[i] = make([]float64, dim)
				q[i][dim-1] = v
			}
			return q
		}
		good, bad := shape(0, 1, 2), shape(0, 1, 0)
		for name, f := range map[string]func() error{
			"Log from": func() error { _, err := s.Log(bad, good); return err },
			"Log to":   func() error { _, err := s.Log(good, bad); return err },
			"Exp":      func() error { _, err := s.Exp(bad, good); return err },
			"mean":     func() error { _, err := stats.FrechetMean(s, []geom.Shape{good, bad}); return err },
			"Brownian": func() error {
				_, err := stochastic.Brownian(s, bad).Sample(stochastic.Run{Paths: 2, Steps: 2})
				return err
			},
			"bridge": func() error {
				_, err := stochastic.Bridge(s, stochastic.Guided, good, bad, stochastic.Run{Paths: 2, Steps: 2})
				return err
			},
		} {
			if err := f(); err == nil || !strings.Contains(err.Error(), "landmarks 0 and 2 coincide") {
				t.Errorf("R^%d: %s: %v", dim, name, err)
			}
		}
	}
}
