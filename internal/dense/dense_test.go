package dense

import (
	"testing"

	"gonum.org/v1/gonum/mat"
)

func TestDense(t *testing.T) {
	a := Rows([][]float64{{1, 2}, {4, 3}})
	if got := Symmetric(a); !mat.Equal(got, mat.NewDense(2, 2, []float64{1, 3, 3, 3})) {
		t.Error(mat.Formatted(got))
	}
	gram := Shift(Gram(a), 1)
	if !mat.Equal(gram, mat.NewDense(2, 2, []float64{6, 10, 10, 26})) {
		t.Error(mat.Formatted(gram))
	}
	values, vectors, ok := Eigen(gram)
	var left, right mat.Dense
	left.Mul(gram, vectors)
	right.Mul(vectors, mat.NewDiagDense(2, values))
	if !ok || values[0] > values[1] || !mat.EqualApprox(&left, &right, 1e-13) {
		t.Error(values, mat.Formatted(vectors))
	}
}
