package main

import (
	"math"
	"testing"
)

// At short times and distances heat kernels are those of flat space.
func TestHeatKernelsAreFlatAtShortTimes(t *testing.T) {
	const T, r = 0.02, 0.1
	for name, c := range map[string]struct {
		log func(T, r float64) float64
		d   float64
	}{
		"S¹": {circleKernel, 1}, "S²": {sphereKernel, 2}, "S³": {sphere3Kernel, 3}, "SO(3)": {rotationKernel, 3}, "H³": {hyperbolicKernel, 3}, "torus": {torusKernel, 2},
	} {
		flat := -r*r/(2*T) - c.d/2*math.Log(2*math.Pi*T)
		if got := c.log(T, r); math.Abs(got-flat) > 0.03 {
			t.Errorf("%s: log density %.4f, in flat space %.4f", name, got, flat)
		}
	}
}
