package mesh

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Mesh is a curve, with edges as cells, or a surface in space, with triangles as cells.
type Mesh struct {
	Vertices [][]float64 // [n][D], D = 2 or 3
	Cells    [][]int     // [m][2] edges or [m][3] triangles: numbers of vertices
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
	about := fmt.Sprintf("%s of %s on %s", what, counted(len(m.Cells), m.kind()), counted(len(m.Vertices), "vertices"))
	for c := range m.Vertices[0] {
		low, high := math.Inf(1), math.Inf(-1)
		for _, v := range m.Vertices {
			low, high = min(low, v[c]), max(high, v[c])
		}
		about += fmt.Sprintf(", %c from %.4g to %.4g", 'x'+c, low, high)
	}
	return about
}

// Curve returns the curve that joins points in their order, the last to the first if it is closed. The points are shared.
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
	return &Mesh{cloneRows(m.Vertices), cloneRows(m.Cells)}
}

func cloneRows[T any](rows [][]T) [][]T {
	out := make([][]T, len(rows))
	for i, r := range rows {
		out[i] = slices.Clone(r)
	}
	return out
}

// Vertices returns the vertices of meshes, one mesh after the other.
func Vertices(meshes []*Mesh) (x [][]float64) {
	for _, m := range meshes {
		x = append(x, m.Vertices...)
	}
	return x
}

// With returns the mesh with the same cells and other vertices, as of a deformed shape. Nothing is copied.
func (m *Mesh) With(vertices [][]float64) *Mesh { return &Mesh{vertices, m.Cells} }

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

// Validate returns what may spoil a computation with the mesh, everything at once, with the numbers of the first offenders;
// nil for a clean manifold mesh. Clean repairs degenerate and duplicate cells, duplicate and unused vertices.
// How cells are oriented is a matter of CheckOriented.
func (m *Mesh) Validate() error {
	if err := m.wellFormed(); err != nil {
		return err
	}
	var all []error
	note := func(count int, format string, args ...any) {
		if count > 0 {
			all = append(all, fmt.Errorf(format, args...))
		}
	}
	bad := m.degenerate()
	note(len(bad), "%s, the first %s", counted(len(bad), "degenerate "+m.kind()), m.firstCell(bad))
	same := m.duplicateVertices()
	note(len(same), "%s, the first %d at the place of %d", counted(len(same), "duplicate vertices"), first(same), firstTwin(m, same))
	unused := m.unused()
	note(len(unused), "%s, the first %d", counted(len(unused), "unused vertices"), first(unused))
	twice := m.duplicateCells()
	note(len(twice), "%s, the first %s", counted(len(twice), "duplicate "+m.kind()), m.firstCell(twice))
	if place, count := m.nonManifold(); count > 0 {
		all = append(all, fmt.Errorf("%d non-manifold places, the first %s", count, place))
	}
	return errors.Join(all...)
}

// counted is "1 duplicate vertex" or "2 duplicate vertices".
func counted(n int, what string) string {
	if n == 1 {
		if stem, ok := strings.CutSuffix(what, "vertices"); ok {
			what = stem + "vertex"
		} else {
			what = strings.TrimSuffix(what, "s")
		}
	}
	return fmt.Sprintf("%d %s", n, what)
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

func first(list []int) int {
	if len(list) == 0 {
		return -1
	}
	return list[0]
}

func firstTwin(m *Mesh, same []int) int {
	if len(same) == 0 {
		return -1
	}
	for i, x := range m.Vertices {
		if slices.Equal(x, m.Vertices[same[0]]) {
			return i
		}
	}
	return -1
}

// wellFormed returns what makes m no mesh at all: no vertices or cells, vertices or cells of different sizes, coordinates
// that are no numbers, cells that point nowhere.
func (m *Mesh) wellFormed() error {
	if m == nil || len(m.Vertices) == 0 {
		return errors.New("the mesh is empty: no vertices")
	}
	dim := len(m.Vertices[0])
	if dim != 2 && dim != 3 {
		return fmt.Errorf("vertex 0 has %d coordinates, want 2 or 3", dim)
	}
	for i, x := range m.Vertices {
		if len(x) != dim {
			return fmt.Errorf("vertex %d has %d coordinates, vertex 0 has %d", i, len(x), dim)
		}
		for a, v := range x {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("coordinate %d of vertex %d is %g", a, i, v)
			}
		}
	}
	if len(m.Cells) == 0 {
		return fmt.Errorf("the mesh is empty: %d vertices, but no edges or triangles", len(m.Vertices))
	}
	k := len(m.Cells[0])
	if k != 2 && k != 3 {
		return fmt.Errorf("cell 0 has %d vertices, want 2 (edges) or 3 (triangles)", k)
	}
	if k == 3 && dim == 2 {
		return errors.New("triangles in the plane are no surface: give the vertices a third coordinate")
	}
	for i, c := range m.Cells {
		if len(c) != k {
			return fmt.Errorf("cell %d has %d vertices, cell 0 has %d", i, len(c), k)
		}
		for _, v := range c {
			if v < 0 || v >= len(m.Vertices) {
				return fmt.Errorf("cell %d %v points outside the %d vertices", i, c, len(m.Vertices))
			}
		}
	}
	return nil
}

// solid is wellFormed for computations that divide by the sizes of cells.
func (m *Mesh) solid() error {
	if err := m.wellFormed(); err != nil {
		return err
	}
	if bad := m.degenerate(); len(bad) > 0 {
		return fmt.Errorf("%s, the first %s: Clean removes them", counted(len(bad), "degenerate "+m.kind()), m.firstCell(bad))
	}
	return nil
}

// CheckAlike returns an error if two meshes, neither of them empty, cannot be compared, as one is a curve and the other a surface, or one
// in the plane and the other in space. The error calls them by names.
func CheckAlike(one string, a *Mesh, other string, b *Mesh) error {
	if d, e := len(a.Vertices[0]), len(b.Vertices[0]); d != e {
		return fmt.Errorf("%s is in R^%d, %s in R^%d", one, d, other, e)
	}
	if a.order() != b.order() {
		return fmt.Errorf("%s has %s, %s %s", one, a.kind(), other, b.kind())
	}
	return nil
}

// CheckCells returns an error if integrals over the cells would miss one or count one twice: if cells are degenerate or have the
// vertices of earlier ones, or if m is no mesh at all.
func (m *Mesh) CheckCells() error {
	if err := m.solid(); err != nil {
		return err
	}
	if twice := m.duplicateCells(); len(twice) > 0 {
		return fmt.Errorf("%s, the first %s, would count twice: Clean removes them", counted(len(twice), "duplicate "+m.kind()), m.firstCell(twice))
	}
	return nil
}

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

func (m *Mesh) duplicateVertices() (list []int) {
	for i, j := range m.twins() {
		if i != j {
			list = append(list, i)
		}
	}
	return list
}

func (m *Mesh) unused() (list []int) {
	used := make([]bool, len(m.Vertices))
	for _, c := range m.Cells {
		for _, v := range c {
			used[v] = true
		}
	}
	for i, u := range used {
		if !u {
			list = append(list, i)
		}
	}
	return list
}

// duplicateCells lists cells with the vertices of an earlier one.
func (m *Mesh) duplicateCells() (list []int) {
	seen := make(map[[3]int]bool, len(m.Cells))
	for i, c := range m.Cells {
		key := [3]int{-1, -1, -1}
		copy(key[:], c)
		slices.Sort(key[:])
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

// nonManifold describes the first place, of how many, at which more than two cells meet.
func (m *Mesh) nonManifold() (string, int) {
	return worst(m.faces(), func(f *[2][]int) bool { return len(f[0])+len(f[1]) > 2 })
}

func worst(faces map[[2]int]*[2][]int, is func(f *[2][]int) bool) (string, int) {
	least, count := [2]int{math.MaxInt, 0}, 0
	for key, f := range faces {
		if is(f) {
			count++
			if slices.Compare(key[:], least[:]) < 0 {
				least = key
			}
		}
	}
	if count == 0 {
		return "", 0
	}
	f := faces[least]
	cells := slices.Concat(f[0], f[1])
	slices.Sort(cells)
	return fmt.Sprintf("%s, where cells %v meet", place(least), cells), count
}

// CheckOriented returns an error where two cells that meet are oriented against each other, or more than two meet: the current
// of such a mesh is not that of a curve or surface, as its parts cancel. Orient turns cells round; varifolds need none of it.
func (m *Mesh) CheckOriented() error {
	if err := m.wellFormed(); err != nil {
		return err
	}
	faces := m.faces()
	if where, count := worst(faces, func(f *[2][]int) bool { return len(f[0])+len(f[1]) > 2 }); count > 0 {
		return fmt.Errorf("%d non-manifold places, the first %s: such a mesh has no orientation", count, where)
	}
	if where, count := worst(faces, func(f *[2][]int) bool { return len(f[0]) == 2 || len(f[1]) == 2 }); count > 0 {
		return fmt.Errorf("inconsistent orientation at %d places, the first %s: Orient turns cells round", count, where)
	}
	return nil
}

// Orient turns cells round so that each part of the mesh is oriented as its first cell, and returns how many it turned.
// A mesh without an orientation, as a Möbius strip, is an error and stays as it is.
func (m *Mesh) Orient() (turned int, err error) {
	if err := m.wellFormed(); err != nil {
		return 0, err
	}
	faces := m.faces()
	if where, count := worst(faces, func(f *[2][]int) bool { return len(f[0])+len(f[1]) > 2 }); count > 0 {
		return 0, fmt.Errorf("%d non-manifold places, the first %s: such a mesh has no orientation", count, where)
	}
	type neighbour struct {
		cell    int
		against bool
	}
	next := make([][]neighbour, len(m.Cells))
	join := func(a, b int, against bool) {
		next[a] = append(next[a], neighbour{b, against})
		next[b] = append(next[b], neighbour{a, against})
	}
	for _, f := range faces {
		switch {
		case len(f[0]) == 1 && len(f[1]) == 1:
			join(f[0][0], f[1][0], false)
		case len(f[0]) == 2:
			join(f[0][0], f[0][1], true)
		case len(f[1]) == 2:
			join(f[1][0], f[1][1], true)
		}
	}
	seen, flip := make([]bool, len(m.Cells)), make([]bool, len(m.Cells))
	for start := range m.Cells {
		if seen[start] {
			continue
		}
		seen[start] = true
		for open := []int{start}; len(open) > 0; {
			c := open[len(open)-1]
			open = open[:len(open)-1]
			for _, n := range next[c] {
				want := flip[c] != n.against
				if seen[n.cell] {
					if flip[n.cell] != want {
						return 0, fmt.Errorf("the mesh has no orientation: cell %d cannot agree with all its neighbours", n.cell)
					}
					continue
				}
				seen[n.cell], flip[n.cell] = true, want
				open = append(open, n.cell)
			}
		}
	}
	for i, f := range flip {
		if f {
			m.Cells[i][0], m.Cells[i][1] = m.Cells[i][1], m.Cells[i][0]
			turned++
		}
	}
	return turned, nil
}

// Cleaning is what Clean did.
type Cleaning struct {
	MergedVertices, DegenerateCells, DuplicateCells, UnusedVertices int
}

// String says what was done in words.
func (c Cleaning) String() string {
	var parts []string
	say := func(did string, n int, what string) {
		if n > 0 {
			parts = append(parts, did+" "+counted(n, what))
		}
	}
	say("merged", c.MergedVertices, "duplicate vertices")
	say("removed", c.DegenerateCells, "degenerate cells")
	say("removed", c.DuplicateCells, "duplicate cells")
	say("removed", c.UnusedVertices, "unused vertices")
	if parts == nil {
		return "nothing to clean"
	}
	return strings.Join(parts, ", ")
}

// Clean merges vertices at exactly the same place, removes degenerate cells, cells with the vertices of an earlier one and
// vertices of no cell, and says what it did. The order of what remains is kept. A mesh that is none (see Validate) stays as it
// is, with its error.
func (m *Mesh) Clean() (Cleaning, error) {
	var done Cleaning
	used := m.Copy()
	if err := used.dropUnused(&done); err != nil {
		return Cleaning{}, err
	}
	if err := used.wellFormed(); err != nil {
		return Cleaning{}, err
	}
	twins := used.twins()
	for _, c := range used.Cells {
		for k, v := range c {
			c[k] = twins[v]
		}
	}
	for i, j := range twins {
		if i != j {
			done.MergedVertices++
		}
	}
	done.DegenerateCells = used.drop(used.degenerate())
	done.DuplicateCells = used.drop(used.duplicateCells())
	var rest Cleaning
	if err := used.dropUnused(&rest); err != nil {
		return Cleaning{}, err
	}
	done.UnusedVertices += rest.UnusedVertices - done.MergedVertices
	if len(used.Cells) == 0 {
		return Cleaning{}, fmt.Errorf("all %d cells are degenerate", len(m.Cells))
	}
	*m = *used
	return done, nil
}

func (m *Mesh) drop(cells []int) int {
	gone := make(map[int]bool, len(cells))
	for _, i := range cells {
		gone[i] = true
	}
	kept := m.Cells[:0]
	for i, c := range m.Cells {
		if !gone[i] {
			kept = append(kept, c)
		}
	}
	m.Cells = kept
	return len(cells)
}

// dropUnused removes vertices of no cell, also such that are no numbers.
func (m *Mesh) dropUnused(done *Cleaning) error {
	number := make([]int, len(m.Vertices))
	for i, c := range m.Cells {
		for _, v := range c {
			if v < 0 || v >= len(m.Vertices) {
				return fmt.Errorf("cell %d %v points outside the %d vertices", i, c, len(m.Vertices))
			}
			number[v] = 1
		}
	}
	kept := make([][]float64, 0, len(m.Vertices))
	for i, used := range number {
		number[i] = len(kept)
		if used == 1 {
			kept = append(kept, m.Vertices[i])
		}
	}
	for _, c := range m.Cells {
		for k, v := range c {
			c[k] = number[v]
		}
	}
	done.UnusedVertices = len(m.Vertices) - len(kept)
	m.Vertices = kept
	return nil
}

func distance(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += (a[i] - b[i]) * (a[i] - b[i])
	}
	return math.Sqrt(sum)
}
