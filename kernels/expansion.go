package kernels

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom/autodiff"
	"anatomy/geom/engine"
	"anatomy/geom/linalg"
	"anatomy/internal/lists"
	"anatomy/internal/refuse"
)

// Expansion is a kernel as a sum of plane waves, periodic with a period L_a along every axis:
//
//	K(x, y) ≈ Σ_k c_k Π_a cos(2π k_a (x_a − y_a)/L_a),   0 ≤ k_a ≤ m_a
//
// With the real basis φ = Π_a (1, cos, sin) of M = Π_a (2m_a + 1) functions it is Σ_k φ_k(x) c_k φ_k(y), of rank M: the
// sums over n points cost O(n·M), as products of matrices, without any n×n matrix. It is invariant under translations
// and its own kernel, so that flows keep their Hamiltonian and linear momentum, and derivatives are those of the
// expansion. Kernels that decay have c_k ≥ 0, their Fourier transform. It holds for points no farther apart than Extent.
type Expansion struct {
	Kernel           // the kernel that is expanded; Gram is its own
	Extent []float64 // greatest difference of two points along each axis
	// Error is the greatest error of K/K(0) and of ∇K/max|∇K| that was met on a grid in the box of Extent; of a Gridded with a bound of
	// what its grid adds.
	Error  float64
	Modes  []int     // m_a
	Period []float64 // L_a

	core []float64 // c_k, the last axis fastest
}

func (k *Expansion) String() string {
	m := lists.Each(k.Modes, func(v int) string { return fmt.Sprint(2*v + 1) })
	return fmt.Sprintf("%s in %s plane waves, error %.1g", k.Kernel, strings.Join(m, " × "), k.Error)
}

// Fits says whether the expansion holds for points.
func (k *Expansion) Fits(points [][]float64) error {
	if len(points) == 0 {
		return nil
	}
	if d := len(points[0]); d != len(k.Extent) {
		return fmt.Errorf("the points have %d coordinates, the plane waves of %s hold for %d: expand the kernel for such points", d, k.Kernel, len(k.Extent))
	}
	for a, e := range Extent(points) {
		if !(e <= k.Extent[a]*(1+1e-12)) {
			return fmt.Errorf("the points spread over %.4g along axis %d, the plane waves of %s hold for %.4g: expand the kernel for a wider extent", e, a, k.Kernel, k.Extent[a])
		}
	}
	return nil
}

// Extent is the width of the box of points along each axis; NaN where a coordinate is, and where points have not as many of them as the
// first one.
func Extent(points [][]float64) []float64 {
	low, high := slices.Clone(points[0]), slices.Clone(points[0])
	for _, p := range points {
		if len(p) != len(low) {
			return slices.Repeat([]float64{math.NaN()}, len(low))
		}
		for a, v := range p {
			low[a], high[a] = min(low[a], v), max(high[a], v)
		}
	}
	return floats.SubTo(high, high, low)
}

// Sum is Φ(x) c Φ(y)ᵀ b.
func (k *Expansion) Sum(x, y, b *Node) *Node {
	return overBatch([]*Node{x, y, b}, func(in []*Node) []*Node {
		coefficients := k.transform(in[1], in[2])
		y := k.inChunks([]*Node{in[0]}, in[2].Shape().Dim(1), func(x []*Node) []*Node {
			return []*Node{k.at(k.waves(x[0]), coefficients)}
		})
		return y
	})[0]
}

// Hamilton has the transform f = Φ(x)ᵀ p and, with G = c f, the velocities Φ G and the forces −Σ_c p_c ∇Φ G_c.
func (k *Expansion) Hamilton(x, p *Node) (dx, dp *Node) {
	out := overBatch([]*Node{x, p}, func(in []*Node) []*Node {
		coefficients := k.transform(in[0], in[1])
		return k.inChunks(in, in[1].Shape().Dim(1), func(in []*Node) []*Node {
			w := k.waves(in[0])
			return []*Node{k.at(w, coefficients), Neg(k.gradient(w, coefficients, in[1]))}
		})
	})
	return out[0], out[1]
}

// chunkBytes bounds the matrices of a chunk of points, so that they stay in the cache.
const chunkBytes = 4 << 20

// inChunks runs f on chunks of points and stacks what it returns as matrices with one row for each point. Inside f points
// run along the last axis: features of a chunk are [·, chunk].
func (k *Expansion) inChunks(in []*Node, columns int, f func(in []*Node) []*Node) []*Node {
	n, chunks, size := k.chunks(in[0], columns)
	none := []*Node{Const(in[0].Graph(), int32(0))}
	_, ys := autodiff.Scan(chunks, func(_ *Node, carry, x []*Node) ([]*Node, []*Node) {
		out := f(x)
		for j, y := range out {
			out[j] = linalg.T(y)
		}
		return carry, out
	}, none, cut(in, chunks, size))
	for j, y := range ys {
		ys[j] = SliceAxis(Reshape(y, chunks*size, y.Shape().Dim(-1)), 0, AxisRange(0, n))
	}
	return ys
}

// transform returns c_k Σ_j φ_k(y_j) b_j, [M of all axes but the last, M of the last × C].
func (k *Expansion) transform(y, b *Node) *Node {
	_, chunks, size := k.chunks(y, b.Shape().Dim(1))
	core := k.coreMatrix(y, b.Shape().Dim(1))
	sum, _ := autodiff.Scan(chunks, func(_ *Node, carry, in []*Node) ([]*Node, []*Node) {
		left, right := k.factors(k.waves(in[0]), in[1])
		return []*Node{Add(carry[0], linalg.MatMul(left, linalg.T(right)))}, nil
	}, []*Node{ZerosLike(core)}, cut([]*Node{y, b}, chunks, size))
	return Mul(sum[0], core)
}

func (k *Expansion) chunks(x *Node, columns int) (n, chunks, size int) {
	n = x.Shape().Dim(0)
	rows := k.sizes()
	last := len(rows) - 1
	left := lists.Product(rows[:last]...)
	fit := chunkBytes / (16 * (left + columns*rows[last]))
	fit = min(max(fit, 256), 4096)
	chunks = (n + fit - 1) / fit
	return n, chunks, (n + chunks - 1) / chunks
}

// cut makes [chunks, columns, size] of matrices with a row a point, the last chunk filled with zeros.
func cut(in []*Node, chunks, size int) []*Node {
	return lists.Each(in, func(v *Node) *Node {
		n, c := v.Shape().Dim(0), v.Shape().Dim(1)
		if missing := chunks*size - n; missing > 0 {
			v = Concatenate([]*Node{v, Zeros(v.Graph(), shapes.Make(v.DType(), missing, c))}, 0)
		}
		return TransposeAllDims(Reshape(v, chunks, size, c), 0, 2, 1)
	})
}

// sizes are the 2m_a + 1.
func (k *Expansion) sizes() []int { return lists.Each(k.Modes, func(m int) int { return 2*m + 1 }) }

// coreDims are the m_a + 1, the shape of the coefficients.
func (k *Expansion) coreDims() []int { return lists.Each(k.Modes, func(m int) int { return m + 1 }) }

// waves returns (1, cos kθ, sin kθ), k = 1 … m_a, θ = 2π x_a/L_a, [2m_a + 1, chunk] for every axis of points [D, chunk].
func (k *Expansion) waves(x *Node) []*Node {
	refuse.If(x.Shape().Dim(0) != len(k.Modes),
		"kernels: points with %d coordinates, the kernel %s is expanded in %d", x.Shape().Dim(0), k, len(k.Modes))
	out := make([]*Node, len(k.Modes))
	for a, m := range k.Modes {
		xa := SliceAxis(x, 0, AxisRange(a, a+1))
		theta := Mul(xa, number(xa, 2*math.Pi/k.Period[a]))
		c, s := Cos(theta), Sin(theta)
		// Angles add: the waves 1 … n times wave n are n + 1 … 2n.
		for n := 1; n < m; n = min(2*n, m) {
			more := AxisRange(0, min(n, m-n))
			cn, sn := SliceAxis(c, 0, AxisRange(n-1, n)), SliceAxis(s, 0, AxisRange(n-1, n))
			ck, sk := SliceAxis(c, 0, more), SliceAxis(s, 0, more)
			c, s = Concatenate([]*Node{c, Sub(Mul(ck, cn), Mul(sk, sn))}, 0), Concatenate([]*Node{s, Add(Mul(sk, cn), Mul(ck, sn))}, 0)
		}
		parts := []*Node{OnesLike(xa), c, s}
		if m == 0 {
			parts = parts[:1]
		}
		e := Concatenate(parts, 0)
		out[a] = autodiff.CustomVJP([]*Node{xa}, []*Node{e}, func(ct []*Node) []*Node {
			return []*Node{ReduceAndKeep(Mul(ct[0], k.slope(out[a], a)), ReduceSum, 0)}
		})[0]
	}
	return out
}

// slope is the derivative of the waves e of axis a.
func (k *Expansion) slope(e *Node, a int) *Node {
	m := k.Modes[a]
	if m == 0 {
		return ZerosLike(e)
	}
	f := lists.Make(m, func(j int) float64 { return 2 * math.Pi / k.Period[a] * float64(j+1) })
	frequency := engine.Setting(e.Graph(), e.DType(), f, m, 1)
	one, c, s := SliceAxis(e, 0, AxisRange(0, 1)), SliceAxis(e, 0, AxisRange(1, m+1)), SliceAxis(e, 0, AxisRange(m+1, 2*m+1))
	return Concatenate([]*Node{ZerosLike(one), Neg(Mul(s, frequency)), Mul(c, frequency)}, 0)
}

// factors splits Φ ⊗ b into the product of all axes but the last, and the last times the weights [C, chunk].
func (k *Expansion) factors(w []*Node, b *Node) (left, right *Node) {
	if len(w) == 1 {
		return w[0], b
	}
	left = w[0]
	for _, e := range w[1 : len(w)-1] {
		left = product(left, e)
	}
	return left, product(w[len(w)-1], b)
}

// product is [a·b, chunk] of [a, chunk] and [b, chunk].
func product(a, b *Node) *Node {
	return Reshape(Mul(ExpandAxes(a, 1), ExpandAxes(b, 0)), a.Shape().Dim(0)*b.Shape().Dim(0), a.Shape().Dim(1))
}

// at returns Φ G, [C, chunk].
func (k *Expansion) at(w []*Node, coefficients *Node) *Node {
	v := k.alongLast(w, coefficients)
	if len(w) == 1 {
		return v
	}
	return ReduceSum(Mul(v, ExpandAxes(w[len(w)-1], 1)), 0)
}

// alongLast sums over all axes but the last: [2m + 1 of the last, C, chunk], for one axis [C, chunk].
func (k *Expansion) alongLast(w []*Node, coefficients *Node) *Node {
	left, _ := k.factors(w, w[0])
	v := linalg.MatMul(linalg.T(coefficients), left)
	if len(w) == 1 {
		return v
	}
	last := w[len(w)-1].Shape().Dim(0)
	return Reshape(v, last, v.Shape().Dim(0)/last, v.Shape().Dim(1))
}

// gradient returns Σ_c p_c ∂/∂x_a (Φ G_c), [D, chunk].
func (k *Expansion) gradient(w []*Node, coefficients, p *Node) *Node {
	_, right := k.factors(w, p)
	rest := linalg.MatMul(coefficients, right)
	d := len(w)
	parts := make([]*Node, d)
	if d == 3 {
		rest = Reshape(rest, w[0].Shape().Dim(0), w[1].Shape().Dim(0), rest.Shape().Dim(1))
		parts[1] = ReduceSum(Mul(ReduceSum(Mul(rest, ExpandAxes(w[0], 1)), 0), k.slope(w[1], 1)), 0)
		rest = ReduceSum(Mul(rest, ExpandAxes(w[1], 0)), 1)
	}
	parts[0] = ReduceSum(Mul(rest, k.slope(w[0], 0)), 0)
	if d > 1 {
		v := ReduceSum(Mul(k.alongLast(w, coefficients), ExpandAxes(p, 0)), 1)
		parts[d-1] = ReduceSum(Mul(v, k.slope(w[d-1], d-1)), 0)
	}
	return Stack(parts, 0)
}

// coreMatrix is c_k for every basis function, in the layout of transform.
func (k *Expansion) coreMatrix(like *Node, columns int) *Node {
	c := engine.Setting(like.Graph(), like.DType(), k.core, k.coreDims()...)
	for a, m := range k.Modes {
		c = Concatenate([]*Node{c, SliceAxis(c, a, AxisRange(1, m+1))}, a) // the sine has the coefficient of its cosine
	}
	sizes := k.sizes()
	d := len(sizes)
	if d == 1 {
		return BroadcastToDims(ExpandAxes(c, 1), sizes[0], columns)
	}
	rows := c.Shape().Size() / sizes[d-1]
	c = BroadcastToDims(Reshape(c, rows, sizes[d-1], 1), rows, sizes[d-1], columns)
	return Reshape(c, rows, sizes[d-1]*columns)
}
