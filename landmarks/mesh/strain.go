package mesh

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Strain is what a deformation does to lengths near a point. It comes from the singular values of the derivative F = Dφ: the
// eigenvalues of the right Cauchy–Green tensor FᵀF are the squares of the stretches, and its eigenvectors are their directions.
type Strain struct {
	Stretches  []float64   // λ_1 ≥ λ_2 ≥ …, the ratios of lengths after and before along the Directions; pure numbers
	Directions [][]float64 // orthogonal unit vectors before the deformation, one for each stretch
	Images     [][]float64 // the unit vectors that they become
}

// LogJacobian is Σ log λ_a: the logarithm of the ratio of volumes after and before; of cells of a surface of areas, and of a curve of
// lengths.
func (s Strain) LogJacobian() float64 {
	sum := 0.0
	for _, l := range s.Stretches {
		sum += math.Log(l)
	}
	return sum
}

// Anisotropy is log λ_1 − log λ_m: 0 where all directions are stretched alike.
func (s Strain) Anisotropy() float64 {
	return math.Log(s.Stretches[0] / s.Stretches[len(s.Stretches)-1])
}

// StrainOf returns the strain of a deformation with the derivative F, [D][D], whose row a is the gradient of φ_a. It is an error if F
// is not finite, or does not keep the orientation: then it is not the derivative of a diffeomorphism that moves from the identity.
func StrainOf(f [][]float64) (Strain, error) {
	d := len(f)
	if d == 0 {
		return Strain{}, errors.New("a derivative has no rows: give one for each coordinate")
	}
	m := mat.NewDense(d, d, nil)
	for a, row := range f {
		if len(row) != d {
			return Strain{}, fmt.Errorf("a derivative of %d rows has %d columns, want as many", d, len(row))
		}
		m.SetRow(a, row)
	}
	if det := mat.Det(m); !(det > 0) {
		return Strain{}, fmt.Errorf("the determinant of the derivative is %.3g, want a positive number: take more steps of the integrator", det)
	}
	return singular(m)
}

// singular is the strain of a derivative between spaces with orthonormal bases.
func singular(f *mat.Dense) (Strain, error) {
	var svd mat.SVD
	if !svd.Factorize(f, mat.SVDThin) {
		return Strain{}, errors.New("the derivative of the deformation is not finite: look for vertices whose coordinates are not, and for degenerate cells")
	}
	var u, v mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	s := Strain{Stretches: svd.Values(nil)}
	for k := range s.Stretches {
		s.Directions = append(s.Directions, mat.Col(nil, k, &v))
		s.Images = append(s.Images, mat.Col(nil, k, &u))
	}
	return s, nil
}

// Strains returns the strain of each cell of a curve or surface between two positions of its vertices: that of the affine map within the
// cell. Its directions are vectors along the cell. It is an error if the meshes differ in their cells or vertices, or a cell of the
// first has no size.
func Strains(before, after *Mesh) ([]Strain, error) {
	if len(before.Vertices) != len(after.Vertices) || len(before.Cells) != len(after.Cells) {
		return nil, fmt.Errorf("strains: %d vertices and %d cells before, %d and %d after, want the same mesh with other vertices",
			len(before.Vertices), len(before.Cells), len(after.Vertices), len(after.Cells))
	}
	for _, m := range []*Mesh{before, after} {
		if err := m.wellFormed(); err != nil {
			return nil, fmt.Errorf("strains: %w", err)
		}
	}
	out := make([]Strain, len(before.Cells))
	for i, cell := range before.Cells {
		from, to := edges(before, cell), edges(after, cell)
		// The edges are the columns of Q R: in the orthonormal basis Q of the cell the map is to · R⁻¹.
		var qr mat.QR
		qr.Factorize(from)
		var q, r, inverse, f mat.Dense
		qr.QTo(&q)
		qr.RTo(&r)
		n := len(cell) - 1
		if err := inverse.Inverse(r.Slice(0, n, 0, n)); err != nil {
			return nil, fmt.Errorf("strains: cell %d has no size; Clean removes it", i)
		}
		f.Mul(to, &inverse)
		s, err := singular(&f)
		if err != nil {
			return nil, fmt.Errorf("strains: cell %d: %w", i, err)
		}
		for k, x := range s.Directions {
			var along mat.VecDense
			along.MulVec(q.Slice(0, len(before.Vertices[0]), 0, n), mat.NewVecDense(n, x))
			s.Directions[k] = along.RawVector().Data
		}
		out[i] = s
	}
	return out, nil
}

// edges are those of a cell from its first vertex, the columns of a matrix.
func edges(m *Mesh, cell []int) *mat.Dense {
	x := m.Vertices[cell[0]]
	e := mat.NewDense(len(x), len(cell)-1, nil)
	for k, v := range cell[1:] {
		e.SetCol(k, floats.SubTo(make([]float64, len(x)), m.Vertices[v], x))
	}
	return e
}
