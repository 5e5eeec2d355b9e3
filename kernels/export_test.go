package kernels

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/engine"
)

// OnGraph is a kernel whose sums are operations of the graph.
func OnGraph(k Kernel) Kernel { return written{graphOf(k)} }

// Near is the near part of a kernel that was split.
func Near(k Kernel) Kernel { return k.(levels).parts[0] }

// Cutoff is Tiled without the pairs of tiles beyond the reach of a kernel.
func Cutoff(k Kernel, dim int, tolerance float64) (Kernel, error) {
	reach, err := newSampler(k, dim).reach(tolerance)
	return tiled{k, reach}, err
}

// NearFar is a kernel split at one or two radii, in units of the widths; a first radius of 0 leaves no near part.
func NearFar(k Kernel, extent []float64, tolerance float64, radii ...float64) (Kernel, error) {
	if _, err := engine.Backend(); err != nil {
		return nil, err
	}
	s := newSampler(k, len(extent))
	s.costs = costsOf(s.terms, s.d)
	within := make([]inside, len(radii))
	for i, radius := range radii {
		if radius > 0 {
			var ok bool
			if within[i], _, ok = s.split(radius, farTolerance*tolerance/float64(len(radii))); !ok {
				return nil, fmt.Errorf("no far part of %s beyond %g widths is smooth to %g", k, radius, tolerance)
			}
		}
	}
	return s.inLevels(within, k, extent, gridPoints, tolerance)
}

// Chosen is what Fast chooses for many points by the costs of a device: "C" or "graph" of a CPU, or "GPU".
func Chosen(device string, k Kernel, tolerance float64, points, targets [][]float64) (Kernel, error) {
	if _, err := engine.Backend(); err != nil {
		return nil, err
	}
	s := newSampler(k, len(points[0]))
	s.costs = map[string]costs{"C": {pairsInC, gridInC, graphOnCPU.waveCosts}, "graph": graphOnCPU, "GPU": graphOnGPU}[device]
	extent := Extent(targets)
	floats.Scale(margin, extent)
	return s.fastest(k, extent, points, targets, float64(len(points)*len(targets)), tolerance)
}

// Reach is where cut-off tiles end.
func Reach(k Kernel) []float64 { return k.(tiled).reach }

// RadialTransform is the Fourier transform in R³ of a radial kernel of width 1 up to the distance reach, up to the frequency highest.
func RadialTransform(k Kernel, reach, highest float64) func(q float64) float64 {
	return radialTransform(newSampler(k, 3).profile, reach, highest).at
}

// Coefficients are the c_k of an expansion.
func Coefficients(k *Expansion) []float64 { return k.core }

// Mixture is a kernel of width 1 as a sum of Gaussians, and its derivative, at the squared distance s.
func Mixture(k Kernel, tolerance float64) (at func(s float64) (value, slope float64), terms int) {
	gaussians, _ := mixture(newSampler(k, 3).terms, tolerance)
	return func(s float64) (value, slope float64) {
		for _, g := range gaussians {
			v := g.weight * math.Exp(-g.rate*s)
			value, slope = value+v, slope-g.rate*v
		}
		return value, slope
	}, len(gaussians)
}
