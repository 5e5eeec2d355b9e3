package kernels

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/autodiff"
	"anatomy/geom/engine"
	"anatomy/geom/linalg"
	"anatomy/internal/refuse"
)

// Conditional returns the kernel of vector fields whose affine part is nearly free. From a kernel k that is conditionally positive definite of
// order at most 2, D+1 anchors u_a in R^D and a weight λ > 0 it makes
//
//	K(x, y) = k(x, y) − Σ_a ℓ_a(x) k(u_a, y) − Σ_b k(x, u_b) ℓ_b(y) + Σ_ab ℓ_a(x) (k(u_a, u_b) + λ δ_ab) ℓ_b(y),
//
// where ℓ_a is the affine function with ℓ_a(u_b) = δ_ab. It is positive definite. The squared norm of a field v is |v|_k² + Σ_a |v(u_a)|²/λ,
// where the semi-norm |·|_k is 0 for affine fields (J. Meinguet, Multivariate interpolation at arbitrary
// points made simple, 1979; H. Wendland, Scattered Data Approximation, 2005, theorem 10.20). For λ → ∞ affine fields cost nothing, and the
// anchors do not matter. Every kernel of this package can be k.
//
// The limit has no geodesics: with λ the affine part of a flow swings faster and faster, and takes more steps. Choose the least λ for which affine
// motions are cheap enough.
//
// Anchors are [D+1][D], in the unit of the points, and about as far apart as these. Anchors on a line or in a plane, and a weight that is
// not positive, are a panic. Tiled, Fast and Grid apply to k, for points and anchors.
func Conditional(k Kernel, anchors [][]float64, weight float64) Kernel {
	d := len(anchors) - 1
	refuse.If(d < 1 || !(weight > 0) || math.IsInf(weight, 1),
		"kernels.Conditional: %d anchors with the weight %g, want D+1 anchors and a finite positive weight", len(anchors), weight)
	rows := mat.NewDense(d+1, d+1, nil) // [1 u_a]
	for a, u := range anchors {
		refuse.If(len(u) != d, "kernels.Conditional: anchor %d of %d has %d coordinates, want %d", a, d+1, len(u), d)
		rows.SetRow(a, append([]float64{1}, u...))
	}
	var inverse mat.Dense
	if err := inverse.Inverse(rows); err != nil || math.IsNaN(mat.Sum(&inverse)) {
		panic(fmt.Sprintf("kernels.Conditional: the anchors %v do not span the space", anchors))
	}
	return conditional{k, d, anchors, inverse.RawMatrix().Data, weight}
}

// ThinPlate returns Conditional of k(x, y) = s log s, s = |x − y|²/σ², in the plane. For λ → ∞ the field with given velocities at landmarks is
// their thin-plate spline, and the squared norm of it is the bending energy Σ_c v_cᵀ B v_c times σ² (F. Bookstein, Principal warps, 1989, with
// U(r) = r² log r²). The derivative of such a field is infinite, like log r, at landmarks with a momentum. There must be 3 anchors in
// the plane.
func ThinPlate(sigma float64, anchors [][]float64, weight float64) Kernel {
	refuse.If(len(anchors) != 3, "kernels.ThinPlate: %d anchors, want 3 in the plane", len(anchors))
	return Conditional(newRadial("thin plate", []float64{sigma}, thinPlate), anchors, weight)
}

// thinPlate is s log s. Its derivatives, which do not exist at s = 0, count as 0 there.
func thinPlate(s *Node) *Node {
	atZero := Equal(s, ZerosLike(s))
	log := Log(Where(atZero, OnesLike(s), s))
	return autodiff.CustomVJP([]*Node{s}, []*Node{Mul(s, log)}, func(ct []*Node) []*Node {
		return []*Node{Mul(ct[0], Where(atZero, ZerosLike(s), OnePlus(log)))}
	})[0]
}

// conditional has, row by row, the inverse of the matrix with the rows [1 u_a].
type conditional struct {
	k       Kernel
	d       int
	anchors [][]float64
	inverse []float64
	weight  float64
}

// constant is a matrix of the kernel, [..., D+1, columns], for points x, [..., n, D].
func (k conditional) constant(x *Node, values []float64) *Node {
	dims := x.Shape().Dimensions
	return BroadcastPrefix(engine.Setting(x.Graph(), x.DType(), values, k.d+1, len(values)/(k.d+1)), dims[:len(dims)-2]...)
}

// with is points x with the anchors after them.
func (k conditional) with(x *Node) *Node {
	if dim := x.Shape().Dim(-1); dim != k.d {
		panic(fmt.Sprintf("kernels: the anchors of %s have %d coordinates, the points %d", k, k.d, dim))
	}
	var u []float64
	for _, row := range k.anchors {
		u = append(u, row...)
	}
	return Concatenate([]*Node{x, k.constant(x, u)}, -2)
}

// affine is ℓ_a(x_i), [..., n, D+1].
func (k conditional) affine(x *Node) *Node {
	one := OnesLike(SliceAxis(x, -1, AxisRange(0, 1)))
	return linalg.MatMul(Concatenate([]*Node{one, x}, -1), k.constant(x, k.inverse))
}

// split parts rows into those of n points and of the anchors.
func split(rows *Node, n int) (points, anchors *Node) {
	return SliceAxis(rows, -2, AxisRange(0, n)), SliceAxis(rows, -2, AxisRange(n, rows.Shape().Dim(-2)))
}

// moments are s_a = Σ_j ℓ_a(y_j) b_j, and b with −s after it, which annihilates affine functions.
func (k conditional) moments(y, b *Node) (s, annihilating *Node) {
	s = linalg.MatMul(linalg.T(k.affine(y)), b)
	return s, Concatenate([]*Node{b, Neg(s)}, -2)
}

func (k conditional) Gram(x, y *Node) *Node {
	all := k.k.Gram(k.with(x), k.with(y))
	n, m := x.Shape().Dim(-2), y.Shape().Dim(-2)
	top, bottom := split(all, n)
	atX, right := split(linalg.T(top), m)
	atU, corner := split(linalg.T(bottom), m)
	left, ly := k.affine(x), k.affine(y)
	one := Mul(linalg.EyeLike(corner), number(x, k.weight))
	out := Sub(linalg.T(atX), linalg.MatMul(left, linalg.T(atU)))
	return Sub(out, linalg.MatMul(Sub(linalg.T(right), linalg.MatMul(left, Add(linalg.T(corner), one))), linalg.T(ly)))
}

func (k conditional) Sum(x, y, b *Node) *Node {
	s, weights := k.moments(y, b)
	v, atAnchors := split(k.k.Sum(k.with(x), k.with(y), weights), x.Shape().Dim(-2))
	return Add(v, linalg.MatMul(k.affine(x), Sub(Mul(s, number(x, k.weight)), atAnchors)))
}

// Hamilton has H = ½ Σ k over points and anchors, with the weights p and −s, and ½ λ |s|²; s depends on x by ℓ_a.
func (k conditional) Hamilton(x, p *Node) (dx, dp *Node) {
	s, weights := k.moments(x, p)
	dx, dp = k.k.Hamilton(k.with(x), weights)
	n := x.Shape().Dim(-2)
	v, atAnchors := split(dx, n)
	f, _ := split(dp, n)
	bySum := Sub(Mul(s, number(x, k.weight)), atAnchors)                             // ∂H/∂s
	slopes := SliceAxis(linalg.T(k.constant(x, k.inverse)), -1, AxisRange(1, k.d+1)) // ∇ℓ_a, [..., D+1, D]
	return Add(v, linalg.MatMul(k.affine(x), bySum)), Sub(f, linalg.MatMul(linalg.MatMul(p, linalg.T(bySum)), slopes))
}

// Free is the number of affine functions.
func (k conditional) Free() int { return k.d + 1 }

// Fits says whether k holds for points and anchors.
func (k conditional) Fits(points [][]float64) error {
	if b, ok := k.k.(Bounded); ok {
		return b.Fits(append(points[:len(points):len(points)], k.anchors...))
	}
	return nil
}

func (k conditional) String() string {
	return fmt.Sprintf("%s with affine fields of weight %.4g", k.k, k.weight)
}
