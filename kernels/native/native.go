// Package native sums kernels over all pairs of points in C, inside the programs that XLA compiles for the CPU: radial ones exactly, and
// such as a grid of waves tells.
package native

/*
// Go does not see that a header of another folder changed: the number is a checksum, which a test of notebooks holds.
#cgo CFLAGS: -O3 -g0 -std=gnu11 -Wno-psabi -I${SRCDIR}/../../geom/engine/internal/ffi -DHEADERS=0xcc00eba9
#cgo LDFLAGS: -lm
#include "pairs.h"
#include "grid.h"
*/
import "C"

import (
	"math"
	"unsafe"

	"anatomy/geom/engine"
)

// Names of the functions in compiled programs; one that computes something else wants another name.
const (
	Pairs = "anatomy_pairs_4"
	Grid  = "anatomy_grid_1"
)

// What the function is made for at most: coordinates of a point, columns of weights, terms of a kernel.
const (
	MaxDim     = C.maxD
	MaxColumns = C.maxC
	MaxTerms   = C.maxTerms
	Powers     = C.powers // of the polynomials of a Piece
)

// Tile is the number of points that are left out together where they lie beyond the reach.
const Tile = C.tile

// lanes is how many numbers the version of the loop that this processor runs takes at once, for tests.
func lanes() int { return int(C.anatomyLanes()) }

func init() {
	engine.RegisterNative(Pairs, unsafe.Pointer(C.anatomyPairs))
	engine.RegisterNative(Grid, unsafe.Pointer(C.anatomyGrid))
}

// Kind is the function of which a term of a kernel is made.
type Kind int

const (
	Exponential Kind = C.gaussian // e^(−z/2)
	Fraction    Kind = C.cauchy   // 1/(1 + z)
	Root        Kind = C.laplace  // e^−√z
	Piece       Kind = C.piece    // 1 for z < 1, else 0
)

// Term is a function of z = Ratio·s. Derivatives are k and its first two derivatives by s: a_0 times the exponential, a_0 times
// the fraction's power m + 1, or, with r = √z, Σ_j a_j r^j e^−r/r^Divide or Σ_j a_j (2r − 1)^j/r^Divide for r < 1. What is divided
// counts as 0 at r = 0.
type Term struct {
	Kind        Kind
	Ratio       float64
	Derivatives [3]Derivative
}

// Derivative is one of a Term.
type Derivative struct {
	Divide int
	A      []float64 // at most 7, of a Piece at most Powers
}

// At is derivative m of the term at s.
func (t Term) At(m int, s float64) float64 {
	d, z := t.Derivatives[m], t.Ratio*s
	switch t.Kind {
	case Exponential:
		return d.A[0] * math.Exp(-z/2)
	case Fraction:
		return []float64{d.A[0], d.A[0] / (1 + z), d.A[0] / (1 + z) / (1 + z)}[m] / (1 + z)
	}
	r := math.Sqrt(z)
	if r == 0 && d.Divide > 0 || r >= 1 && t.Kind == Piece {
		return 0
	}
	u, factor := r, math.Exp(-r)
	if t.Kind == Piece {
		u, factor = 2*r-1, 1
	}
	v := 0.0
	for j := len(d.A) - 1; j >= 0; j-- {
		v = v*u + d.A[j]
	}
	for range d.Divide {
		v /= r
	}
	return v * factor
}

// Describe is what the function is told of a kernel Σ terms(s), s = Σ_a ((x_a − y_a) scale_a)²: pairs with s beyond reach may
// be left out, none if it is infinite.
func Describe(reach float64, scale []float64, terms []Term) []float64 {
	out := make([]float64, 1+MaxDim)
	out[0] = reach
	copy(out[1:], scale)
	out = append(out, float64(len(terms)))
	for _, t := range terms {
		out = append(out, float64(t.Kind), t.Ratio)
		room := 7 // whatever the degree: kernels of a kind share their programs
		if t.Kind == Piece {
			room = Powers
		}
		for _, d := range t.Derivatives {
			a := make([]float64, room)
			copy(a, d.A)
			out = append(append(out, float64(d.Divide), float64(len(d.A)-1)), a...)
		}
	}
	return out
}

// What a grid has at most: cells that a bump covers, and the degree of its polynomials.
const (
	MaxWidth  = C.maxWidth
	MaxDegree = C.maxDegree
)

// GridAxis is an axis of a grid: its cells, how many in a unit of length, and the waves e^(2πi jk/Cells), |j| ≤ Modes, with coefficients.
type GridAxis struct {
	Cells, Modes int
	PerLength    float64
}

// DescribeGrid is what the function is told of a grid. On cell l of those that it covers a bump is Σ_j bump[j][l] z^j, for a point that
// lies at z, -1 to 1, between the cell before the first of them and that one. The core has the coefficients of waves j ≥ 0, which are
// even in each axis, for the inverse transform with its division by the number of cells.
func DescribeGrid(axes []GridAxis, bump [][]float64, core []float64) []float64 {
	out := []float64{float64(len(axes)), float64(len(bump[0])), float64(len(bump) - 1)}
	for _, a := range axes {
		out = append(out, float64(a.Cells), float64(a.Modes), a.PerLength)
	}
	for _, row := range bump {
		out = append(out, row...)
	}
	return append(out, core...)
}
