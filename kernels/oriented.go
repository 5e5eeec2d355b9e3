package kernels

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/engine"
	"anatomy/geom/linalg"
	"anatomy/internal/refuse"
)

// Oriented returns the kernel K(x, y) = k(W⁻¹x, W⁻¹y) with an invertible matrix W of widths, D×D: a kernel k of width 1 gets widths along
// any directions. For Gaussian(1) the covariance is W Wᵀ. The columns of W are the directions times their widths. A matrix that is not
// square, or singular to rounding, is a panic. Tiled, Fast and Grid apply to k, for points W⁻¹x.
func Oriented(k Kernel, widths [][]float64) Kernel {
	d := len(widths)
	w := mat.NewDense(max(d, 1), max(d, 1), nil)
	for i, row := range widths {
		refuse.If(len(row) != d, "kernels.Oriented: row %d of %d has %d numbers, want a square matrix", i, d, len(row))
		w.SetRow(i, row)
	}
	var inverse mat.Dense
	if err := inverse.Inverse(w); err != nil || math.IsNaN(mat.Sum(&inverse)) {
		panic(fmt.Sprintf("kernels.Oriented: the matrix of widths %v is singular", widths))
	}
	return oriented{k, d, inverse.RawMatrix().Data}
}

// oriented has W⁻¹ row by row.
type oriented struct {
	k       Kernel
	d       int
	inverse []float64
}

// matrix is W⁻¹, [..., D, D], for points x, [..., n, D].
func (k oriented) matrix(x *Node) *Node {
	if dim := x.Shape().Dim(-1); dim != k.d {
		panic(fmt.Sprintf("kernels: the widths of %s are those of %d axes, the points have %d coordinates", k, k.d, dim))
	}
	dims := x.Shape().Dimensions
	return BroadcastPrefix(engine.Setting(x.Graph(), x.DType(), k.inverse, k.d, k.d), dims[:len(dims)-2]...)
}

// in takes points x to W⁻¹x.
func (k oriented) in(x *Node) *Node { return linalg.MatMul(x, linalg.T(k.matrix(x))) }

func (k oriented) Gram(x, y *Node) *Node { return k.k.Gram(k.in(x), k.in(y)) }

func (k oriented) Sum(x, y, b *Node) *Node { return k.k.Sum(k.in(x), k.in(y), b) }

// Hamilton has forces by x, W⁻ᵀ times those by W⁻¹x.
func (k oriented) Hamilton(x, p *Node) (dx, dp *Node) {
	dx, dp = k.k.Hamilton(k.in(x), p)
	return dx, linalg.MatMul(dp, k.matrix(x))
}

// Fits says whether k holds for points W⁻¹x.
func (k oriented) Fits(points [][]float64) error {
	b, ok := k.k.(Bounded)
	if !ok {
		return nil
	}
	inside := make([][]float64, len(points))
	for i, x := range points {
		inside[i] = make([]float64, k.d)
		mat.NewVecDense(k.d, inside[i]).MulVec(mat.NewDense(k.d, k.d, k.inverse), mat.NewVecDense(k.d, x))
	}
	return b.Fits(inside)
}

func (k oriented) String() string { return fmt.Sprintf("%s along %d directions", k.k, k.d) }
