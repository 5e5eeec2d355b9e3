package mesh

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/try"
	"anatomy/internal/dense"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/text"
	"anatomy/landmarks/strain"
)

// normal is the vector of a cell: ½ (b − a) × (c − a) of a triangle, whose length is its area; b − a of an edge.
func (m *Mesh) normal(i int) []float64 {
	c := m.Cells[i]
	a, b := m.Vertices[c[0]], m.Vertices[c[1]]
	u := make([]float64, len(a))
	for k := range u {
		u[k] = b[k] - a[k]
	}
	if len(c) == 2 {
		return u
	}
	d := m.Vertices[c[2]]
	n := crossProduct([3]float64(u), [3]float64{d[0] - a[0], d[1] - a[1], d[2] - a[2]})
	return []float64{n[0] / 2, n[1] / 2, n[2] / 2}
}

func (m *Mesh) size(i int) float64 {
	n := m.normal(i)
	return distance(n, make([]float64, len(n)))
}

// Normals returns the vector of every cell: of a triangle (a, b, c) its area times its unit normal, ½ (b − a) × (c − a); of
// an edge its tangent b − a.
func (m *Mesh) Normals() [][]float64 {
	return lists.Make(len(m.Cells), m.normal)
}

// Sizes returns the area of every triangle or the length of every edge.
func (m *Mesh) Sizes() []float64 {
	return lists.Make(len(m.Cells), m.size)
}

// Size is the area of a surface, the length of a curve.
func (m *Mesh) Size() float64 {
	return lists.Sum(len(m.Cells), m.size)
}

// Centroids returns the middle of every cell.
func (m *Mesh) Centroids() [][]float64 {
	out := make([][]float64, len(m.Cells))
	for i, c := range m.Cells {
		x := make([]float64, len(m.Vertices[c[0]]))
		for _, v := range c {
			for k := range x {
				x[k] += m.Vertices[v][k] / float64(len(c))
			}
		}
		out[i] = x
	}
	return out
}

// Spacing is the mean length of the sides of the cells, an edge of two triangles counting twice: the finest width of a kernel that
// does not see the triangles themselves.
func (m *Mesh) Spacing() float64 {
	sum, count := 0.0, 0
	for _, c := range m.Cells {
		for k := range c {
			if len(c) == 2 && k == 1 {
				break
			}
			sum += distance(m.Vertices[c[k]], m.Vertices[c[(k+1)%len(c)]])
			count++
		}
	}
	return sum / float64(count)
}

// Volume is the volume that a closed surface encloses, Σ a·(b × c)/6 over its triangles, or the area that a closed curve of
// the plane encloses; positive where normals point outwards, or the curve runs counter-clockwise. Where more than two cells meet, as many
// must run one way as the other.
func (m *Mesh) Volume() (_ float64, err error) {
	defer try.Named(&err, "Volume")
	m.checkClosed()
	sum, o := 0.0, m.Vertices[m.Cells[0][0]] // an origin near the mesh, for the digits
	for i, c := range m.Cells {
		n := m.normal(i)
		a := m.Vertices[c[0]]
		if len(c) == 2 {
			sum += ((a[0]-o[0])*n[1] - (a[1]-o[1])*n[0]) / 2
			continue
		}
		sum += ((a[0]-o[0])*n[0] + (a[1]-o[1])*n[1] + (a[2]-o[2])*n[2]) / 3
	}
	return sum, nil
}

// Boundary returns the edges of a surface that one triangle has, in its direction, or the ends of a curve, one number each;
// sorted. A closed mesh has none.
func (m *Mesh) Boundary() [][]int {
	var out [][]int
	for key, f := range m.faces() {
		switch {
		case len(f[0])+len(f[1]) != 1:
		case key[1] < 0:
			out = append(out, []int{key[0]})
		case len(f[0]) == 1:
			out = append(out, []int{key[0], key[1]})
		default:
			out = append(out, []int{key[1], key[0]})
		}
	}
	slices.SortFunc(out, slices.Compare)
	return out
}

// Folds returns the pairs of neighbouring cells whose normals, or directions of edges, are by more than a right angle farther apart than
// in before, a mesh with the same cells: there a deformation that should keep a curve or surface embedded has folded it. Cells that stood
// on edge, as at fins, may bend by less. Cells without size have no normals, and are in no pair. Sorted.
func (m *Mesh) Folds(before *Mesh) [][2]int {
	var out [][2]int
	is, was := m.Normals(), before.Normals()
	joints, _ := m.joints(m.faces())
	for _, j := range joints {
		now, then := angle(is[j.a], is[j.b]), angle(was[j.a], was[j.b])
		if !j.agree {
			now, then = math.Pi-now, math.Pi-then
		}
		if now-then > math.Pi/2 {
			out = append(out, [2]int{j.a, j.b})
		}
	}
	slices.SortFunc(out, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	return out
}

// angle is that between two vectors, NaN if one is 0.
func angle(u, v []float64) float64 {
	return math.Acos(math.Max(-1, math.Min(1, floats.Dot(u, v)/(floats.Norm(u, 2)*floats.Norm(v, 2)))))
}

// Distances returns how far every vertex of m is from the nearest point of another mesh, on its edges or triangles.
func (m *Mesh) Distances(other *Mesh) (_ []float64, err error) {
	defer try.Catch(&err)
	try.Do(m.wellFormed())
	try.Do(try.Name(other.wellFormed(), "the other mesh"))
	text.RefuseIf(len(m.Vertices[0]) != len(other.Vertices[0]), "give both two or both three",
		"one mesh has %d coordinates, the other %d", len(m.Vertices[0]), len(other.Vertices[0]))
	tree := other.boxes()
	return lists.Each(m.Vertices, func(x []float64) float64 { return math.Sqrt(other.nearest(tree, x).square) }), nil
}

// Moments returns the centre of mass of meshes, their main axes as columns, the longest last, and the root mean square distance from the
// centre. Each mesh has the same mass.
func Moments(meshes []*Mesh) (centre []float64, axes *mat.Dense, radius float64) {
	d := len(meshes[0].Vertices[0])
	centre = make([]float64, d)
	each := func(visit func(mass float64, at []float64)) {
		for _, m := range meshes {
			sizes, total := m.Sizes(), m.Size()*float64(len(meshes))
			for i, c := range m.Centroids() {
				visit(sizes[i]/total, c)
			}
		}
	}
	each(func(mass float64, at []float64) { floats.AddScaled(centre, mass, at) })
	spread := mat.NewSymDense(d, nil)
	each(func(mass float64, at []float64) {
		spread.SymRankOne(spread, mass, mat.NewVecDense(d, floats.SubTo(make([]float64, d), at, centre)))
	})
	_, axes, _ = dense.Eigen(spread)
	return centre, axes, math.Sqrt(mat.Trace(spread))
}

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
