package kernels

import (
	"fmt"

	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
	"anatomy/geom/linalg"
	"anatomy/internal/lists"
)

// tileSize is the greatest number of points in a tile. Its matrices of float64 fit the second-level cache of a core.
const tileSize = 512

// Tiled returns the kernel k with exact sums in memory of order n, where n is the number of points. The sums run in C, or on
// the graph, where the matrix is computed tile by tile. Symmetric sums compute each K(x_i, x_j) = K(x_j, x_i) once.
func Tiled(k Kernel) Kernel { return tiled{Kernel: k} }

// tiled has exact sums if reach is nil. Else it leaves out the pairs of tiles that are farther apart than the ellipsoid with these half
// axes. Beyond it K is at most tolerance·K(0) and its slope at most tolerance times the steepest (see sampler.reach): right for kernels
// much narrower than the shape. The points of a tile lie together, whatever order they come in. The error of Σ_j K(x_i, x_j) b_j is at
// most tolerance·Σ|b_j| over the points left out, that of its derivative as much of the steepest slope.
type tiled struct {
	Kernel
	reach []float64
}

func (k tiled) String() string {
	if k.reach == nil {
		return k.Kernel.String() + " in tiles"
	}
	return fmt.Sprintf("%s in tiles up to the distance %.4g", k.Kernel, k.reach)
}

func (k tiled) Sum(x, y, b *Node) *Node {
	if k, ok := inPairs(k, k.Kernel, k.reach, x, y, b); ok {
		return k.Sum(x, y, b)
	}
	return k.sumOnGraph(x, y, b)
}

func (k tiled) Hamilton(x, p *Node) (dx, dp *Node) {
	if k, ok := inPairs(k, k.Kernel, k.reach, x, x, p); ok {
		return k.Hamilton(x, p)
	}
	return k.hamiltonOnGraph(x, p)
}

func (k tiled) sumOnGraph(x, y, b *Node) *Node {
	return overBatch([]*Node{x, y, b}, func(in []*Node) []*Node {
		n, c := in[0].Shape().Dim(0), in[2].Shape().Dim(1)
		px, orderX := k.arrange(in[0])
		py, orderY := k.arrange(in[1])
		x, y := []*Node{px}, []*Node{py, orderY.weights(in[2])}
		fx, _ := pairSum(k.near(px, py, false), x, y, like(px, c), nil, func(_, x, y []*Node) (fx, fy []*Node) {
			return []*Node{linalg.MatMul(k.Gram(x[0], y[0]), y[1])}, nil
		})
		return []*Node{orderX.back(fx[0], n)}
	})[0]
}

func (k tiled) hamiltonOnGraph(x, p *Node) (dx, dp *Node) {
	out := overBatch([]*Node{x, p}, func(in []*Node) []*Node {
		n, d := in[0].Shape().Dim(0), in[0].Shape().Dim(1)
		px, order := k.arrange(in[0])
		z := []*Node{px, order.weights(in[1])}
		fx, fy := pairSum(k.near(px, px, true), z, z, like(px, d, d), like(px, d, d), func(about, x, y []*Node) (fx, fy []*Node) {
			vx, vy, gx, gy := interact(k.Kernel, x[0], x[1], y[0], y[1])
			return []*Node{vx, gx}, []*Node{Mul(vy, about[0]), Mul(gy, about[0])}
		})
		return []*Node{order.back(Add(fx[0], fy[0]), n), order.back(Add(fx[1], fy[1]), n)}
	})
	return out[0], out[1]
}

// like are shapes [n, width] for n points x.
func like(x *Node, widths ...int) []shapes.Shape {
	return lists.Each(widths, func(w int) shapes.Shape { return shapes.Make(x.DType(), x.Shape().Dim(0), w) })
}

// interact is what points x with momenta p and points y with momenta q do to each other:
//
//	vx_i = Σ_j K(x_i, y_j) q_j,   fx_i = −∂/∂x_i Σ_j (p_i·q_j) K(x_i, y_j),   and vy, fy with the roles exchanged.
func interact(k Kernel, x, p, y, q *Node) (vx, vy, fx, fy *Node) {
	switch k := k.(type) {
	case radial:
		s := k.squaredDistance(x, y)
		gram := k.profile(s)
		slope, factor := gram, k.rate
		if k.rate == 0 {
			slope, factor = Gradient(ReduceAllSum(gram), s)[0], 1
		}
		vx, fx = k.act(gram, slope, factor, x, p, y, q)
		vy, fy = k.act(linalg.T(gram), linalg.T(slope), factor, y, q, x, p)
		return vx, vy, fx, fy
	case sum:
		out := k.total(func(t Kernel) []*Node {
			vx, vy, fx, fy := interact(t, x, p, y, q)
			return []*Node{vx, vy, fx, fy}
		})
		return out[0], out[1], out[2], out[3]
	}
	gram := k.Gram(x, y)
	grads := Gradient(Neg(ReduceAllSum(Mul(gram, linalg.MatMul(p, linalg.T(q))))), x, y)
	return linalg.MatMul(gram, q), linalg.MatMul(linalg.T(gram), p), grads[0], grads[1]
}

// act returns Σ_j K_ij q_j and the force 2/σ_a² Σ_j k'_ij (p_i·q_j)(y_ja − x_ia), k' = factor·slope, by products of the
// matrices with q and with all q_jc y_ja: no matrix of the p_i·q_j is formed.
func (k radial) act(gram, slope *Node, factor float64, x, p, y, q *Node) (v, f *Node) {
	n, d := x.Shape().Dim(0), x.Shape().Dim(1)
	features := Concatenate([]*Node{q, rowProduct(q, y)}, 1)
	sums := linalg.MatMul(slope, features)
	moved := columns(sums, 0, d)
	if v = moved; gram != slope {
		v = linalg.MatMul(gram, q)
	}
	pull := Sub(Reshape(columns(sums, d, d+d*d), n, d, d), Mul(ExpandAxes(moved, 2), ExpandAxes(x, 1)))
	return v, k.inverseSquareWidths(ReduceSum(Mul(pull, ExpandAxes(p, 2)), 1), 2*factor)
}

func columns(x *Node, from, to int) *Node { return SliceAxis(x, 1, AxisRange(from, to)) }

// pairs are the pairs of pieces of two sets that a sum visits one after the other. A piece is a slice of a set's arrays.
type pairs struct {
	count *Node // how many
	// at says, for pair c < count, where its pieces start in either set, and what else a pairFunc is told about the pair,
	// such as whether both pieces are the same.
	at           func(c *Node) (startX, startY, about []*Node)
	sizeX, sizeY func(v *Node) []int // of a piece of the array v
}

// pairFunc takes a piece of each array of either set, and what is said about the pair, to what the pair adds to the sums over
// either set.
type pairFunc func(about, x, y []*Node) (fx, fy []*Node)

// pairSum returns the sums of f over pairs of pieces of the arrays x and y, of the shapes given. Its derivative is a sum
// over the same pairs, of derivatives of f; so are the higher ones.
func pairSum(ps pairs, x, y []*Node, shapesX, shapesY []shapes.Shape, f pairFunc) (sumX, sumY []*Node) {
	acc := lists.Each(join(shapesX, shapesY), func(s shapes.Shape) *Node { return Zeros(ps.count.Graph(), s) })
	out := autodiff.Repeat(ps.count, func(c *Node, acc []*Node) []*Node {
		startX, startY, about := ps.at(c)
		fx, fy := f(about, cutOut(x, startX, ps.sizeX), cutOut(y, startY, ps.sizeY))
		next := make([]*Node, len(acc))
		for k, v := range join(fx, fy) {
			start := startX
			if k >= len(fx) {
				start = startY
			}
			old := DynamicSlice(acc[k], start, v.Shape().Dimensions)
			next[k] = DynamicUpdateSlice(acc[k], Add(old, v), start)
		}
		return next
	}, acc)
	out = autodiff.CustomVJP(join(x, y), out, func(ct []*Node) []*Node {
		cx, cy := join(x, ct[:len(shapesX)]), join(y, ct[len(shapesX):])
		gx, gy := pairSum(ps, cx, cy, shapesOf(x), shapesOf(y), func(about, cx, cy []*Node) (gx, gy []*Node) {
			x, y := cx[:len(x)], cy[:len(y)]
			fx, fy := f(about, x, y)
			var s *Node
			for k, v := range join(fx, fy) {
				t := ReduceAllSum(Mul(v, join(cx[len(x):], cy[len(y):])[k]))
				if s != nil {
					t = Add(s, t)
				}
				s = t
			}
			grads := Gradient(s, join(x, y)...)
			return grads[:len(x)], grads[len(x):]
		})
		return join(gx, gy)
	})
	return out[:len(shapesX)], out[len(shapesX):]
}

func join[T any](a, b []T) []T { return append(append([]T{}, a...), b...) }

func shapesOf(x []*Node) []shapes.Shape {
	return lists.Make(len(x), func(k int) shapes.Shape { return x[k].Shape() })
}

func cutOut(x, start []*Node, size func(v *Node) []int) []*Node {
	return lists.Each(x, func(v *Node) *Node { return DynamicSlice(v, start, size(v)) })
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
	xs := lists.Each(in, func(v *Node) *Node { return Reshape(v, n, v.Shape().Dim(-2), v.Shape().Dim(-1)) })
	none := []*Node{Const(in[0].Graph(), int32(0))}
	_, ys := autodiff.Scan(n, func(_ *Node, carry, x []*Node) ([]*Node, []*Node) { return carry, f(x) }, none, xs)
	for k, y := range ys {
		ys[k] = Reshape(y, append(append([]int{}, lead...), y.Shape().Dimensions[1:]...)...)
	}
	return ys
}
