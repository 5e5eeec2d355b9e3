package mesh

import (
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/try"
	"anatomy/landmarks/strain"
)

// Strains returns the strain of each cell of a curve or surface between two positions of its vertices: that of the affine map within the
// cell. Its directions are vectors along the cell. It is an error if the meshes differ in their cells or vertices, or a cell of the
// first has no size.
func Strains(before, after *Mesh) (_ []strain.Tensor, err error) {
	defer try.Named(&err, "strains")
	try.FailIf(len(before.Vertices) != len(after.Vertices) || len(before.Cells) != len(after.Cells),
		"%d vertices and %d cells before, %d and %d after, want the same mesh with other vertices",
		len(before.Vertices), len(before.Cells), len(after.Vertices), len(after.Cells))
	for _, m := range []*Mesh{before, after} {
		try.Do(m.wellFormed())
	}
	out := make([]strain.Tensor, len(before.Cells))
	for i, cell := range before.Cells {
		from, to := edges(before, cell), edges(after, cell)
		// The edges are the columns of Q R: in the orthonormal basis Q of the cell the map is to · R⁻¹.
		var qr mat.QR
		qr.Factorize(from)
		var q, r, inverse, f mat.Dense
		qr.QTo(&q)
		qr.RTo(&r)
		n := len(cell) - 1
		try.FailIf(inverse.Inverse(r.Slice(0, n, 0, n)) != nil, "cell %d has no size; Clean removes it", i)
		f.Mul(to, &inverse)
		s, err := strain.OfMatrix(&f)
		try.Do(try.Name(err, "cell %d", i))
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
