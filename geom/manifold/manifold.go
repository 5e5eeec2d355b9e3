// Package manifold has the usual manifolds: spheres, hyperbolic spaces, positive definite matrices, shapes of landmarks up to
// similarity, surfaces.
//
//	space := geom.On(manifold.Hyperbolic(2))
//	g, err := space.Exp([]float64{1, 0, 0}, []float64{0, 1, 0}) // g.End is (cosh 1, sinh 1, 0)
//	spd := geom.OnShapes(manifold.SPD(3))                       // points are 3×3 matrices, [][]float64
//
// Points are ambient vectors (see geom.Charted), unless the comment of a manifold says that they are coordinates. Many manifolds have
// closed forms (geom.ClosedForms); tests compare them with what package geom computes from the metric alone. A size that is too
// small, or a length that is not positive, is a panic.
package manifold

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/internal/refuse"
)

// dot is Σ x_i y_i, [..., 1].
func dot(x, y *Node) *Node { return ReduceAndKeep(Mul(x, y), ReduceSum, -1) }

// scale is a x for a of [..., 1] and x of [..., n].
func scale(a, x *Node) *Node { return Mul(BroadcastToShape(a, x.Shape()), x) }

// from cuts the last axis to from…to.
func from(x *Node, from, to int) *Node { return SliceAxis(x, -1, AxisRange(from, to)) }

// atLeast panics where a size is too small.
func atLeast(name string, n, least int) {
	refuse.If(n < least, "manifold.%s: size %d, want at least %d", name, n, least)
}

// positiveFinite panics where a length is not a positive number.
func positiveFinite(name string, lengths ...float64) {
	for _, v := range lengths {
		refuse.If(!(v > 0) || math.IsInf(v, 1), "manifold.%s: %g, want finite positive numbers", name, v)
	}
}
