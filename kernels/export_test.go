package kernels

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"
)

// OnGraph is a kernel whose sums are operations of the graph.
func OnGraph(k Kernel) Kernel { return graphKernel{graphOf(k)} }

type graphKernel struct{ onGraph }

func (k graphKernel) Sum(x, y, b *Node) *Node            { return k.sumOnGraph(x, y, b) }
func (k graphKernel) Hamilton(x, p *Node) (dx, dp *Node) { return k.hamiltonOnGraph(x, p) }

// Near is the near part of a kernel that was split.
func Near(k Kernel) Kernel { return k.(levels).parts[0] }

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
