// Package manifold holds the manifolds that come with closed forms or with a use of their own: one file each.
//
// Points are ambient vectors (see geom.Atlas) unless a manifold's comment says that they are its coordinates. What a
// manifold knows in closed form (geom.ClosedForms) always agrees with what geom computes from its metric alone.
package manifold

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"
)

// dot is Σ x_i y_i with its axis kept, [..., 1].
func dot(x, y *Node) *Node { return ReduceAndKeep(Mul(x, y), ReduceSum, -1) }

// scale is a x for a of [..., 1] and x of [..., n].
func scale(a, x *Node) *Node { return Mul(BroadcastToShape(a, x.Shape()), x) }

// like gives what belongs to a centre, [B..., n], the axes that points evaluated in its chart have in front of B.
func like(c, x *Node) *Node {
	return BroadcastPrefix(c, x.Shape().Dimensions[:x.Rank()-c.Rank()]...)
}

// likeMatrix is like for a matrix of the centre, [B..., n, m].
func likeMatrix(a, x *Node) *Node {
	return BroadcastPrefix(a, x.Shape().Dimensions[:x.Rank()+1-a.Rank()]...)
}

// from cuts the last axis to from…to.
func from(x *Node, from, to int) *Node { return SliceAxis(x, -1, AxisRange(from, to)) }

// atLeast panics where a size is too small.
func atLeast(name string, n, least int) {
	if n < least {
		panic(fmt.Sprintf("manifold.%s: size %d, want at least %d", name, n, least))
	}
}

// positiveFinite panics where a length is not a positive number.
func positiveFinite(name string, lengths ...float64) {
	for _, v := range lengths {
		if !(v > 0) || math.IsInf(v, 1) {
			panic(fmt.Sprintf("manifold.%s: %g, want finite positive numbers", name, v))
		}
	}
}
