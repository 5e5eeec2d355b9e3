// Package native sums radial kernels over all pairs of points in C, inside the programs that XLA compiles for the CPU.
package native

/*
#cgo CFLAGS: -O3 -std=gnu11 -Wno-psabi -I${SRCDIR}/../../geom/engine/internal/ffi
#cgo LDFLAGS: -lm
#include "pairs.h"
*/
import "C"

import (
	"unsafe"

	"anatomy/geom/engine"
)

// Pairs is the name of the function in compiled programs; one that computes something else wants another name.
const Pairs = "anatomy_pairs_2"

// What the function is made for at most: coordinates of a point, columns of weights, terms of a kernel.
const (
	MaxDim     = C.maxD
	MaxColumns = C.maxC
	MaxTerms   = C.maxTerms
)

// Tile is the number of points that are left out together where they lie beyond the reach.
const Tile = C.tile

func lanes() int { return int(C.anatomyLanes()) }

func init() { engine.RegisterNative(Pairs, unsafe.Pointer(C.anatomyPairs)) }

// Kind is the function of which a term of a kernel is made.
type Kind int

const (
	Exponential Kind = C.gaussian // e^(−z/2)
	Fraction    Kind = C.cauchy   // 1/(1 + z)
	Root        Kind = C.laplace  // e^−√z
)

// Term is a function of z = Ratio·s. Derivatives are k and its first two derivatives by s: a_0 times the exponential or times
// the fraction's power m + 1, or Σ_j a_j r^j e^−r/r^Divide with r = √z, which counts as 0 at 0 where it is divided.
type Term struct {
	Kind        Kind
	Ratio       float64
	Derivatives [3]Derivative
}

// Derivative is one of a Term.
type Derivative struct {
	Divide int
	A      []float64 // at most 7
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
		for _, d := range t.Derivatives {
			a := make([]float64, 7)
			copy(a, d.A)
			out = append(append(out, float64(d.Divide), float64(len(d.A)-1)), a...)
		}
	}
	return out
}
