// Package dense has what packages ask of gonum's matrices.
package dense

import (
	"slices"

	"gonum.org/v1/gonum/mat"

	"anatomy/internal/lists"
)

// Rows is the matrix with these rows.
func Rows(rows [][]float64) *mat.Dense {
	return mat.NewDense(len(rows), len(rows[0]), slices.Concat(rows...))
}

// List is the inverse of Rows.
func List(m mat.Matrix) [][]float64 {
	n, _ := m.Dims()
	return lists.Make(n, func(i int) []float64 { return mat.Row(nil, i, m) })
}

// Symmetric is (a + aᵀ)/2.
func Symmetric(a mat.Matrix) *mat.SymDense {
	n, _ := a.Dims()
	out := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			out.SetSym(i, j, (a.At(i, j)+a.At(j, i))/2)
		}
	}
	return out
}

// Gram is a aᵀ, the products of the rows.
func Gram(a mat.Matrix) *mat.SymDense {
	out := new(mat.SymDense)
	out.SymOuterK(1, a)
	return out
}

// Shift adds a number to the diagonal, and returns the matrix.
func Shift(a *mat.SymDense, by float64) *mat.SymDense {
	for i := range a.SymmetricDim() {
		a.SetSym(i, i, a.At(i, i)+by)
	}
	return a
}

// Eigen returns the eigenvalues, rising, and the eigenvectors, which are columns; not ok where they were not found.
func Eigen(a mat.Symmetric) (values []float64, vectors *mat.Dense, ok bool) {
	var eigen mat.EigenSym
	if !eigen.Factorize(a, true) {
		return nil, nil, false
	}
	vectors = new(mat.Dense)
	eigen.VectorsTo(vectors)
	return eigen.Values(nil), vectors, true
}
