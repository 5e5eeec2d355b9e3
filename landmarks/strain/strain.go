// Package strain measures what deformations do to lengths: principal stretches, their directions, and ratios of volumes.
package strain

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Tensor is what a deformation does to lengths near a point. It comes from the singular values of the derivative F = Dφ: the
// eigenvalues of the right Cauchy–Green tensor FᵀF are the squares of the stretches, and its eigenvectors are their directions.
type Tensor struct {
	Stretches  []float64   // λ_1 ≥ λ_2 ≥ …, the ratios of lengths after and before along the Directions; pure numbers
	Directions [][]float64 // orthogonal unit vectors before the deformation, one for each stretch
	Images     [][]float64 // the unit vectors that they become
}

// LogJacobian is Σ log λ_a: the logarithm of the ratio of volumes after and before; of cells of a surface of areas, and of a curve of
// lengths.
func (s Tensor) LogJacobian() float64 {
	sum := 0.0
	for _, l := range s.Stretches {
		sum += math.Log(l)
	}
	return sum
}

// Anisotropy is log λ_1 − log λ_m: 0 where all directions are stretched alike.
func (s Tensor) Anisotropy() float64 {
	return math.Log(s.Stretches[0] / s.Stretches[len(s.Stretches)-1])
}

// Of returns the strain of a deformation with the derivative F, [D][D], whose row a is the gradient of φ_a. It is an error if F
// is not finite, or does not keep the orientation: then it is not the derivative of a diffeomorphism that moves from the identity.
func Of(f [][]float64) (Tensor, error) {
	d := len(f)
	if d == 0 {
		return Tensor{}, errors.New("a derivative has no rows: give one for each coordinate")
	}
	m := mat.NewDense(d, d, nil)
	for a, row := range f {
		if len(row) != d {
			return Tensor{}, fmt.Errorf("a derivative of %d rows has %d columns, want as many", d, len(row))
		}
		m.SetRow(a, row)
	}
	if det := mat.Det(m); !(det > 0) {
		return Tensor{}, fmt.Errorf("the determinant of the derivative is %.3g, want a positive number: take more steps of the integrator", det)
	}
	return OfMatrix(m)
}

// OfMatrix returns the strain of a derivative between spaces with orthonormal bases, which need not have the same dimension, as those of
// a cell and of space do not. It is an error if the derivative is not finite.
func OfMatrix(f *mat.Dense) (Tensor, error) {
	var svd mat.SVD
	if !svd.Factorize(f, mat.SVDThin) {
		return Tensor{}, errors.New("the derivative of the deformation is not finite: look for vertices whose coordinates are not, and for degenerate cells")
	}
	var u, v mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	s := Tensor{Stretches: svd.Values(nil)}
	for k := range s.Stretches {
		s.Directions = append(s.Directions, mat.Col(nil, k, &v))
		s.Images = append(s.Images, mat.Col(nil, k, &u))
	}
	return s, nil
}
