package kernels

import (
	"fmt"

	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
	"anatomy/geom/linalg"
)

// tileSize is the number of points in a tile. Its matrices of float64 fit the second-level cache of a core.
const tileSize = 512

// Tiled returns the kernel with sums that form its matrix tile by tile: exact, in memory of order n, each
// K(x_i, x_j) = K(x_j, x_i) computed once where the sum is symmetric.
func Tiled(k Kernel) Kernel { return tiled{Kernel: k} }

// Cutoff is Tiled without the pairs of tiles between which K ≤ tolerance·K(0): right for kernels much narrower than
// the shape. Tiles are of points that lie together, whatever their order is. The error of Σ_j K(x_i, x_j) b_j is at
// most tolerance·Σ|b_j| over the points left out.
func Cutoff(k Kernel, dim int, tolerance float64) (Kernel, error) {
	reach, err := newSampler(k, dim).reach(tolerance)
	return tiled{k, reach}, err
}

type tiled struct {
	Kernel
	reach []float64 // tiles farther apart than the ellipsoid with these half axes are left out; nil for none
}

func (k tiled) String() string {
	if k.reach == nil {
		return k.Kernel.String() + " in tiles"
	}
	return fmt.Sprintf("%s in tiles up to the distance %.4g", k.Kernel, k.reach)
}

func (k tiled) Sum(x, y, b *Node) *Node {
	return overBatch([]*Node{x, y, b}, func(in []*Node) []*Node {
		n, c := in[0].Shape().Dim(0), in[2].Shape().Dim(1)
		px, orderX := k.arrange(in[0])
		py, orderY := k.arrange(in[1])
		x, y := []*Node{px}, []*Node{py, orderY.weights(in[2])}
		fx, _ := pairSum(k.near(px, py, false), x, y, []int{c}, nil, func(_ *Node, x, y []*Node) (fx, fy []*Node) {
			return []*Node{linalg.MatMul(k.Gram(x[0], y[0]), y[1])}, nil
		})
		return []*Node{orderX.back(fx[0], n)}
	})[0]
}

func (k tiled) Hamilton(x, p *Node) (dx, dp *Node) {
	out := overBatch([]*Node{x, p}, func(in []*Node) []*Node {
		n, d := in[0].Shape().Dim(0), in[0].Shape().Dim(1)
		px, order := k.arrange(in[0])
		z := []*Node{px, order.weights(in[1])}
		fx, fy := pairSum(k.near(px, px, true), z, z, []int{d, d}, []int{d, d}, func(once *Node, x, y []*Node) (fx, fy []*Node) {
			vx, vy, gx, gy := interact(k.Kernel, x[0], x[1], y[0], y[1])
			return []*Node{vx, gx}, []*Node{Mul(vy, once), Mul(gy, once)}
		})
		return []*Node{order.back(Add(fx[0], fy[0]), n), order.back(Add(fx[1], fy[1]), n)}
	})
	return out[0], out[1]
}

// interact is what points x with momenta p and points y with momenta q do to each other:
//
//	vx_i = Σ_j K(x_i, y_j) q_j,   fx_i = −∂/∂x_i Σ_j (p_i·q_j) K(x_i, y_j),   and vy, fy with the roles exchanged.
func interact(k Kernel, x, p, y, q *Node) (vx, vy, fx, fy *Node) {
	switch k := k.(type) {
	case radial:
		s := k.squaredDistance(x, y)
		gram := k.profile(s)
		w := Mul(Gradient(ReduceAllSum(gram), s)[0], linalg.MatMul(p, linalg.T(q)))
		return linalg.MatMul(gram, q), linalg.MatMul(linalg.T(gram), p),
			k.inverseSquareWidths(pull(w, x, y), 2), k.inverseSquareWidths(pull(linalg.T(w), y, x), 2)
	case sum:
		total := make([]*Node, 4)
		for i, t := range k.terms {
			vx, vy, fx, fy := interact(t, x, p, y, q)
			for j, v := range []*Node{vx, vy, fx, fy} {
				if v = MulScalar(v, k.weights[i]); i > 0 {
					v = Add(total[j], v)
				}
				total[j] = v
			}
		}
		return total[0], total[1], total[2], total[3]
	}
	gram := k.Gram(x, y)
	grads := Gradient(Neg(ReduceAllSum(Mul(gram, linalg.MatMul(p, linalg.T(q))))), x, y)
	return linalg.MatMul(gram, q), linalg.MatMul(linalg.T(gram), p), grads[0], grads[1]
}

// tileFunc takes the features of two tiles, [tileSize, ·], to what they add to sums over the points of either. once is
// 0 for a tile with itself, where f meets every pair of points in both orders, else 1.
type tileFunc func(once *Node, x, y []*Node) (fx, fy []*Node)

// pairSum returns the sums of f over pairs of tiles, [n, widthX...] and [m, widthY...]. Its derivative is such a sum
// of the derivatives of f, and so to any order.
func pairSum(pairs tilePairs, x, y []*Node, widthX, widthY []int, f tileFunc) (sumX, sumY []*Node) {
	g := x[0].Graph()
	var acc []*Node
	for _, w := range widthX {
		acc = append(acc, Zeros(g, shapes.Make(x[0].DType(), x[0].Shape().Dim(0), w)))
	}
	for _, w := range widthY {
		acc = append(acc, Zeros(g, shapes.Make(x[0].DType(), y[0].Shape().Dim(0), w)))
	}
	out := autodiff.Repeat(pairs.count, func(c *Node, acc []*Node) []*Node {
		i, j := pairs.at(c)
		once := ConvertDType(NotEqual(i, j), x[0].DType())
		fx, fy := f(once, tiles(x, i), tiles(y, j))
		next := make([]*Node, len(acc))
		for k, v := range append(append([]*Node{}, fx...), fy...) {
			at := i
			if k >= len(fx) {
				at = j
			}
			start := []*Node{MulScalar(at, tileSize), Const(at.Graph(), int32(0))}
			old := DynamicSlice(acc[k], start, v.Shape().Dimensions)
			next[k] = DynamicUpdateSlice(acc[k], Add(old, v), start)
		}
		return next
	}, acc)
	out = autodiff.CustomVJP(append(append([]*Node{}, x...), y...), out, func(ct []*Node) []*Node {
		cx, cy := append(append([]*Node{}, x...), ct[:len(widthX)]...), append(append([]*Node{}, y...), ct[len(widthX):]...)
		gx, gy := pairSum(pairs, cx, cy, widths(x), widths(y), func(once *Node, cx, cy []*Node) (gx, gy []*Node) {
			x, y := cx[:len(x)], cy[:len(y)]
			fx, fy := f(once, x, y)
			var s *Node
			for k, v := range append(append([]*Node{}, fx...), fy...) {
				c := append(append([]*Node{}, cx[len(x):]...), cy[len(y):]...)[k]
				if t := ReduceAllSum(Mul(v, c)); s == nil {
					s = t
				} else {
					s = Add(s, t)
				}
			}
			grads := Gradient(s, append(append([]*Node{}, x...), y...)...)
			return grads[:len(x)], grads[len(x):]
		})
		return append(gx, gy...)
	})
	return out[:len(widthX)], out[len(widthX):]
}

func widths(x []*Node) []int {
	w := make([]int, len(x))
	for k := range x {
		w[k] = x[k].Shape().Dim(1)
	}
	return w
}

// tiles cuts tile i out of features.
func tiles(x []*Node, i *Node) []*Node {
	out := make([]*Node, len(x))
	for k, v := range x {
		out[k] = DynamicSlice(v, []*Node{MulScalar(i, tileSize), Const(i.Graph(), int32(0))}, []int{tileSize, v.Shape().Dim(1)})
	}
	return out
}

// overBatch runs f for matrices on operands with equal leading axes, one after the other.
func overBatch(in []*Node, f func(in []*Node) []*Node) []*Node {
	lead := in[0].Shape().Dimensions[:in[0].Rank()-2]
	if len(lead) == 0 {
		return f(in)
	}
	n := 1
	for _, l := range lead {
		n *= l
	}
	xs := make([]*Node, len(in))
	for k, v := range in {
		xs[k] = Reshape(v, n, v.Shape().Dim(-2), v.Shape().Dim(-1))
	}
	none := []*Node{Const(in[0].Graph(), int32(0))}
	_, ys := autodiff.Scan(n, func(_ *Node, carry, x []*Node) ([]*Node, []*Node) { return carry, f(x) }, none, xs)
	for k, y := range ys {
		ys[k] = Reshape(y, append(append([]int{}, lead...), y.Shape().Dimensions[1:]...)...)
	}
	return ys
}
