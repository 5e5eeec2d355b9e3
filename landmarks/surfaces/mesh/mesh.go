package mesh

import (
	"fmt"
	"math"
	"slices"

	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/text"
)

// Mesh is a curve, with edges as cells, or a surface in space, with triangles as cells.
type Mesh struct {
	Vertices [][]float64 // [n][D], D = 2 or 3
	Cells    [][]int     // [m][2] edges or [m][3] triangles: numbers of vertices
	Notes    []string    // what a reader passed over, in words
}

// String says in one line what it is, and where.
func (m *Mesh) String() string {
	if len(m.Vertices) == 0 || len(m.Cells) == 0 {
		return "empty mesh"
	}
	what := "surface"
	if m.order() == 2 {
		what = "curve"
	}
	about := fmt.Sprintf("%s of %s on %s", what, text.Counted(len(m.Cells), m.kind()), text.Counted(len(m.Vertices), "vertices"))
	for c := range m.Vertices[0] {
		low, high := math.Inf(1), math.Inf(-1)
		for _, v := range m.Vertices {
			low, high = min(low, v[c]), max(high, v[c])
		}
		about += fmt.Sprintf(", %c from %.4g to %.4g", 'x'+c, low, high)
	}
	return about
}

// Curve returns the curve that joins points, [n][2] or [n][3], in their order, and the last to the first if it is closed. It
// shares the points.
func Curve(points [][]float64, closed bool) *Mesh {
	m := &Mesh{Vertices: points}
	for i := range len(points) - 1 {
		m.Cells = append(m.Cells, []int{i, i + 1})
	}
	if closed && len(points) > 2 {
		m.Cells = append(m.Cells, []int{len(points) - 1, 0})
	}
	return m
}

// Copy returns a mesh that shares nothing with m.
func (m *Mesh) Copy() *Mesh {
	return &Mesh{Vertices: cloneRows(m.Vertices), Cells: cloneRows(m.Cells)}
}

func cloneRows[T any](rows [][]T) [][]T {
	return lists.Make(len(rows), func(i int) []T { return slices.Clone(rows[i]) })
}

// Vertices returns the vertices of meshes, one mesh after the other.
func Vertices(meshes []*Mesh) [][]float64 {
	return slices.Concat(lists.Each(meshes, func(m *Mesh) [][]float64 { return m.Vertices })...)
}

// WithVertices returns meshes with the same cells and other vertices, which stand one mesh after the other as those of Vertices. Nothing is copied.
func WithVertices(meshes []*Mesh, x [][]float64) []*Mesh {
	out := make([]*Mesh, len(meshes))
	for i, m := range meshes {
		n := len(m.Vertices)
		out[i], x = m.With(x[:n:n]), x[n:]
	}
	return out
}

// With returns the mesh with the same cells and other vertices, as of a deformed shape. Nothing is copied.
func (m *Mesh) With(vertices [][]float64) *Mesh { return &Mesh{Vertices: vertices, Cells: m.Cells} }

// Map returns the mesh with f applied to every vertex.
func (m *Mesh) Map(f func(x []float64) []float64) *Mesh {
	out := m.Copy()
	for i, x := range out.Vertices {
		out.Vertices[i] = f(x)
	}
	return out
}

// Flip returns the mesh with the opposite orientation.
func (m *Mesh) Flip() *Mesh {
	out := m.Copy()
	for _, c := range out.Cells {
		c[0], c[1] = c[1], c[0]
	}
	return out
}

// Triangles returns the cells of a surface as viz.Mesh takes them.
func (m *Mesh) Triangles() [][3]int {
	out := make([][3]int, 0, len(m.Cells))
	for _, c := range m.Cells {
		if len(c) == 3 {
			out = append(out, [3]int(c))
		}
	}
	return out
}

func (m *Mesh) kind() string {
	if m.order() == 2 {
		return "edges"
	}
	return "triangles"
}

// order is the number of vertices of a cell.
func (m *Mesh) order() int {
	if len(m.Cells) == 0 {
		return 0
	}
	return len(m.Cells[0])
}

func (m *Mesh) firstCell(cells []int) string {
	if len(cells) == 0 {
		return ""
	}
	return fmt.Sprintf("%d %v", cells[0], m.Cells[cells[0]])
}

// wellFormed returns what makes m no mesh at all: no vertices or cells, vertices or cells of different sizes, coordinates
// that are no numbers, cells that point nowhere.
func (m *Mesh) wellFormed() (err error) {
	defer try.Catch(&err)
	text.RefuseIf(m == nil || len(m.Vertices) == 0, "save the mesh again, or leave it out", "the mesh is empty: no vertices")
	dim := len(m.Vertices[0])
	text.RefuseIf(dim != 2 && dim != 3, "give each vertex 2 or 3 coordinates", "vertex 0 has %d coordinates", dim)
	for i, x := range m.Vertices {
		if a, bad := lists.NotFinite(x); len(x) != dim {
			text.Refuse("give all as many", "vertex %d has %d coordinates, vertex 0 has %d", i, len(x), dim)
		} else if bad {
			text.Refuse("correct it, or remove the cells at this vertex", "coordinate %d of vertex %d is %g", a, i, x[a])
		}
	}
	text.RefuseIf(len(m.Cells) == 0, "save the mesh with its cells: landmarks are read by morpho.Read",
		"the mesh is empty: %d vertices, but no edges or triangles", len(m.Vertices))
	k := len(m.Cells[0])
	text.RefuseIf(k != 2 && k != 3, "give it 2 for an edge or 3 for a triangle", "cell 0 has %d vertices", k)
	text.RefuseIf(k == 3 && dim == 2, "give the vertices a third coordinate", "triangles in the plane are no surface")
	if i := slices.IndexFunc(m.Cells, func(c []int) bool { return len(c) != k }); i >= 0 {
		text.Refuse("give all as many", "cell %d has %d vertices, cell 0 has %d", i, len(m.Cells[i]), k)
	}
	m.checkCells()
	return nil
}

// checkCells refuses cells that point nowhere.
func (m *Mesh) checkCells() {
	for i, c := range m.Cells {
		for _, v := range c {
			if v < 0 || v >= len(m.Vertices) {
				text.Refuse("correct the numbers, or "+again, "cell %d %v points outside the %d vertices", i, c, len(m.Vertices))
			}
		}
	}
}

// Shares of the size of a mesh up to which cells without orientation, and cells that count twice, are no error.
const (
	maxDisagreeing = 0.01
	maxTwice       = 0.1
)

// CheckAlike returns an error if two meshes, neither of them empty, cannot be compared, as one is a curve and the other a surface, or one
// in the plane and the other in space. The error calls them by names.
func CheckAlike(one string, a *Mesh, other string, b *Mesh) (err error) {
	defer try.Catch(&err)
	d, e := len(a.Vertices[0]), len(b.Vertices[0])
	text.RefuseIf(d != e, "give both two or both three coordinates", "%s is in R^%d, %s in R^%d", one, d, other, e)
	text.RefuseIf(a.order() != b.order(), "give an object either as curves or as surfaces", "%s has %s, %s %s", one, a.kind(), other, b.kind())
	return nil
}

// Validate returns an error if integrals over the cells would not be those of a curve or surface: if m is no mesh, if all its cells are
// degenerate, or if cells with the vertices of earlier ones have more than 10 % of its size. Clean removes these. Non-manifold
// places, borders, several pieces and unused vertices are no errors.
func (m *Mesh) Validate() (err error) {
	defer try.Catch(&err)
	try.Do(m.wellFormed())
	text.RefuseIf(len(m.degenerate()) == len(m.Cells), again, "all %s are degenerate: they have no size", text.Counted(len(m.Cells), m.kind()))
	twice := m.duplicateCells()
	share := m.share(twice)
	text.RefuseIf(share > maxTwice, "remove them by Mesh.Clean", "%s with %s of the size count twice, the first %s",
		text.Counted(len(twice), "duplicate "+m.kind()), percent(share), m.firstCell(twice))
	return nil
}

// share is that of the size of the mesh which these cells have.
func (m *Mesh) share(cells []int) float64 {
	if len(cells) == 0 {
		return 0
	}
	return lists.Sum(len(cells), func(k int) float64 { return m.size(cells[k]) }) / m.Size()
}

func percent(share float64) string { return fmt.Sprintf("%.*g %%", 2+int(share+0.005), 100*share) }

// degenerate lists cells with a vertex twice or with size 0 as far as rounding can tell.
func (m *Mesh) degenerate() (cells []int) {
	for i, c := range m.Cells {
		longest := 0.0
		for k := range c {
			longest = max(longest, distance(m.Vertices[c[k]], m.Vertices[c[(k+1)%len(c)]]))
		}
		size := m.size(i)
		if !(size > 0) || len(c) == 3 && size < 1e-14*longest*longest {
			cells = append(cells, i)
		}
	}
	return cells
}

// twins returns for every vertex the first one at the same place.
func (m *Mesh) twins() []int {
	seen := make(map[[3]float64]int, len(m.Vertices))
	out := make([]int, len(m.Vertices))
	for i, x := range m.Vertices {
		var key [3]float64
		for a, v := range x {
			key[a] = v + 0 // −0 is 0
		}
		j, found := seen[key]
		if !found {
			seen[key], j = i, i
		}
		out[i] = j
	}
	return out
}

// duplicateCells lists cells with the vertices of an earlier one.
func (m *Mesh) duplicateCells() (list []int) {
	seen := make(map[[3]int]bool, len(m.Cells))
	for i, c := range m.Cells {
		key, _ := sorted(c)
		if seen[key] {
			list = append(list, i)
		}
		seen[key] = true
	}
	return list
}

// faces returns, for every vertex of a curve or edge of a surface, the cells at it: those that run through it in the
// order (lower vertex, higher vertex), or arrive at it, and the others.
func (m *Mesh) faces() map[[2]int]*[2][]int {
	out := map[[2]int]*[2][]int{}
	put := func(key [2]int, side, cell int) {
		f := out[key]
		if f == nil {
			f = new([2][]int)
			out[key] = f
		}
		f[side] = append(f[side], cell)
	}
	for i, c := range m.Cells {
		if len(c) == 2 {
			put([2]int{c[1], -1}, 0, i)
			put([2]int{c[0], -1}, 1, i)
			continue
		}
		for k := range c {
			a, b := c[k], c[(k+1)%3]
			if a < b {
				put([2]int{a, b}, 0, i)
			} else {
				put([2]int{b, a}, 1, i)
			}
		}
	}
	return out
}

func place(key [2]int) string {
	if key[1] < 0 {
		return fmt.Sprintf("vertex %d", key[0])
	}
	return fmt.Sprintf("edge %d–%d", key[0], key[1])
}

func distance(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += (a[i] - b[i]) * (a[i] - b[i])
	}
	return math.Sqrt(sum)
}
