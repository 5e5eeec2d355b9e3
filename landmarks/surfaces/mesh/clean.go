package mesh

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/text"
)

// Cleaning is what Clean did, and what it left. Shares are those of the size of the mesh as it was.
type Cleaning struct {
	MergedVertices, UnusedVertices int     // duplicates that were merged, and vertices of no cell that were removed
	DegenerateCells                int     // without size: removed
	DuplicateCells                 int     // with the vertices of an earlier one: removed
	Flaps                          int     // pairs of cells with opposite sides and the same vertices: removed, as they enclose nothing
	Removed                        float64 // share of the size of all that was removed
	TurnedCells                    int     // turned round, so that neighbours agree and a closed mesh has its normals outside
	Turned                         float64 // share of the size of these
	NonManifold                    int     // places at which more than two cells meet: they stay
	Unoriented                     int     // places at which two cells meet that cannot agree: they stay
	Disagreeing                    float64 // share of the size of the cells at these places
	Pieces                         int     // parts of the mesh that have no vertex in common, if there are several
	Largest                        float64 // share of the size of the largest of these
}

// String says it in words.
func (c Cleaning) String() string {
	var parts []string
	say := func(n int, format string, args ...any) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	say(c.MergedVertices, "merged %s", text.Counted(c.MergedVertices, "duplicate vertices"))
	say(c.DegenerateCells, "removed %s", text.Counted(c.DegenerateCells, "degenerate cells"))
	say(c.DuplicateCells, "removed %s", text.Counted(c.DuplicateCells, "duplicate cells"))
	say(c.Flaps, "removed %s of two cells with the same vertices", text.Counted(c.Flaps, "flaps"))
	if c.Removed > 0 {
		parts[len(parts)-1] += fmt.Sprintf(" (%s of the size)", percent(c.Removed))
	}
	say(c.UnusedVertices, "removed %s", text.Counted(c.UnusedVertices, "unused vertices"))
	say(c.TurnedCells, "turned %s round (%s of the size)", text.Counted(c.TurnedCells, "cells"), percent(c.Turned))
	say(c.NonManifold, "more than two cells meet at %s, which stay", text.Counted(c.NonManifold, "places"))
	say(c.Unoriented, "at %s no orientation of the cells agrees (they have %s of the size): varifolds need none", text.Counted(c.Unoriented, "places"),
		percent(c.Disagreeing))
	say(c.Pieces, "in %d pieces, of which the largest has %s of the size", c.Pieces, percent(c.Largest))
	if parts == nil {
		return "nothing to clean"
	}
	return strings.Join(parts, ", ")
}

// Clean repairs what does no harm in a mesh, and says what it did. It
//
//   - merges vertices at exactly the same place, and removes degenerate cells and vertices of no cell;
//   - removes cells with the vertices of an earlier one, and both of a flap, two cells with the same vertices and opposite sides; of a mesh
//     that has each cell on both sides it keeps one of each;
//   - turns cells round so that neighbours agree, each part as most of its size is oriented, and a closed mesh so that its normals
//     point outside, or a closed curve of the plane so that it runs counter-clockwise.
//
// The order of what remains is kept. Non-manifold places stay, and so does a mesh without an orientation, such as a Möbius strip, but for
// what can be turned: integrals over the cells need neither. A mesh that is none stays as it is, with its error: no vertices or cells,
// coordinates that are no numbers, cells that point nowhere or have all no size.
func (m *Mesh) Clean() (done Cleaning, err error) {
	defer func() {
		if try.Caught(&err, recover()); err != nil {
			done = Cleaning{}
		}
	}()
	used := m.Copy()
	done.UnusedVertices = used.dropUnused()
	try.Do(used.wellFormed())
	size := used.Size()
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
	text.RefuseIf(len(used.Cells) == 0, again, "all %d cells are degenerate", len(m.Cells))
	flaps := used.flaps()
	if used.share(flaps) < 0.5 {
		done.Flaps = used.drop(flaps) / 2
	}
	done.DuplicateCells = used.drop(used.duplicateCells())
	done.Removed = math.Max(0, 1-used.Size()/size)
	if done.Removed < 1e-12 { // of rounding
		done.Removed = 0
	}
	done.UnusedVertices += used.dropUnused() - done.MergedVertices
	used.orient(&done)
	done.Turned /= size
	used.pieces(&done)
	*m = *used
	return done, nil
}

// flaps lists pairs of cells with the same vertices and opposite sides.
func (m *Mesh) flaps() (cells []int) {
	open := map[[3]int][2][]int{} // by vertices: cells of one side, and of the other
	for i, c := range m.Cells {
		key, side := sorted(c)
		sides := open[key]
		if other := sides[1-side]; len(other) > 0 {
			cells = append(cells, other[len(other)-1], i)
			sides[1-side] = other[:len(other)-1]
		} else {
			sides[side] = append(sides[side], i)
		}
		open[key] = sides
	}
	return cells
}

// sorted returns the vertices of a cell in their order, −1 in place of a third one of an edge, and the parity of the permutation.
func sorted(cell []int) (key [3]int, odd int) {
	key[2] = -1
	copy(key[:], cell)
	for i := range cell {
		for j := i + 1; j < len(cell); j++ {
			if key[j] < key[i] {
				key[i], key[j], odd = key[j], key[i], 1-odd
			}
		}
	}
	return key, odd
}

func (m *Mesh) drop(cells []int) int {
	gone := make(map[int]bool, len(cells))
	for _, i := range cells {
		gone[i] = true
	}
	i := -1
	m.Cells = slices.DeleteFunc(m.Cells, func([]int) bool { i++; return gone[i] })
	return len(cells)
}

// dropUnused removes vertices of no cell, also such that are no numbers, and returns how many.
func (m *Mesh) dropUnused() int {
	m.checkCells()
	used := make([]bool, len(m.Vertices))
	for _, c := range m.Cells {
		for _, v := range c {
			used[v] = true
		}
	}
	return m.keep(func(v int) bool { return used[v] })
}

// keep leaves out vertices that no cell uses, and returns how many.
func (m *Mesh) keep(which func(v int) bool) int {
	number, kept := make([]int, len(m.Vertices)), make([][]float64, 0, len(m.Vertices))
	for v, x := range m.Vertices {
		if number[v] = len(kept); which(v) {
			kept = append(kept, x)
		}
	}
	for _, c := range m.Cells {
		for k, v := range c {
			c[k] = number[v]
		}
	}
	gone := len(m.Vertices) - len(kept)
	m.Vertices = kept
	return gone
}

// joint is a place at which two cells meet and no other: a vertex of a curve or an edge of a surface.
type joint struct {
	key    [2]int // of the place, see faces
	a, b   int    // cells
	agree  bool   // whether they are oriented alike
	length float64
}

// joints returns the joints of a mesh, whose faces are given, in the order of their places, and how many places have more than two cells.
func (m *Mesh) joints(faces map[[2]int]*[2][]int) (list []joint, nonManifold int) {
	for key, f := range faces {
		switch n := len(f[0]) + len(f[1]); {
		case n > 2:
			nonManifold++
		case n == 2:
			cells := slices.Concat(f[0], f[1])
			j := joint{key: key, a: min(cells[0], cells[1]), b: max(cells[0], cells[1]), agree: len(f[0]) == 1, length: 1}
			if key[1] >= 0 {
				j.length = distance(m.Vertices[key[0]], m.Vertices[key[1]])
			}
			list = append(list, j)
		}
	}
	slices.SortFunc(list, func(a, b joint) int { return slices.Compare(a.key[:], b.key[:]) })
	return list, nonManifold
}

// parts are sets of cells or of vertices, each with the side on which it stands in its set (union–find with parity).
type parts struct{ parent, side []int }

func newParts(n int) *parts {
	return &parts{lists.Range(n), make([]int, n)}
}

// find returns the set of i and its side there.
func (p *parts) find(i int) (root, side int) {
	for p.parent[i] != i {
		up := p.parent[i]
		p.side[i] ^= p.side[up] // half the path is left out
		p.parent[i] = p.parent[up]
		side ^= p.side[i]
		i = p.parent[i]
	}
	return i, side
}

// join makes one set of those of i and j, which stand on one side, or on two if apart is 1.
func (p *parts) join(i, j, apart int) {
	a, s := p.find(i)
	b, t := p.find(j)
	if a != b {
		p.parent[max(a, b)], p.side[max(a, b)] = min(a, b), s^t^apart
	}
}

// orientation says which cells are to be turned round so that neighbours agree, each part of the mesh as most of its size is, and at which
// joints two cells do not agree even then. Patches of cells that agree already are turned as a whole, those with the longest common
// borders first, so that of a mesh without orientation little disagrees.
func (m *Mesh) orientation(faces map[[2]int]*[2][]int) (turn []bool, left []joint, nonManifold int) {
	joints, nonManifold := m.joints(faces)
	patches := newParts(len(m.Cells))
	for _, j := range joints {
		if j.agree {
			patches.join(j.a, j.b, 0)
		}
	}
	borders := map[[2]int]float64{}
	for _, j := range joints {
		a, _ := patches.find(j.a)
		b, _ := patches.find(j.b)
		if a != b {
			borders[[2]int{min(a, b), max(a, b)}] += j.length
		}
	}
	longestFirst := func(a, b [2]int) int { return cmp.Or(cmp.Compare(borders[b], borders[a]), slices.Compare(a[:], b[:])) }
	for _, key := range slices.SortedFunc(maps.Keys(borders), longestFirst) {
		patches.join(key[0], key[1], 1)
	}
	sizes := map[int][2]float64{}
	for i := range m.Cells {
		part, side := patches.find(i)
		s := sizes[part]
		s[side] += m.size(i)
		sizes[part] = s
	}
	turn = make([]bool, len(m.Cells))
	for i := range m.Cells {
		part, side := patches.find(i)
		s := sizes[part]
		turn[i] = side == 1 == (s[0] >= s[1])
	}
	for _, j := range joints {
		if j.agree != (turn[j.a] == turn[j.b]) {
			left = append(left, j)
		}
	}
	return turn, left, nonManifold
}

// orient turns cells round as orientation says, and a closed mesh inside out if that encloses less than nothing.
func (m *Mesh) orient(done *Cleaning) {
	turn, left, nonManifold := m.orientation(m.faces())
	done.NonManifold, done.Unoriented, done.Disagreeing = nonManifold, len(left), m.share(beside(left))
	flip := func(i int) { m.Cells[i][0], m.Cells[i][1] = m.Cells[i][1], m.Cells[i][0] }
	for i, t := range turn {
		if t {
			flip(i)
		}
	}
	if volume, err := m.Volume(); err == nil && volume < 0 {
		for i := range m.Cells {
			turn[i] = !turn[i]
			flip(i)
		}
	}
	for i, t := range turn {
		if t {
			done.TurnedCells++
			done.Turned += m.size(i)
		}
	}
}

// beside lists the cells at joints.
func beside(joints []joint) (cells []int) {
	for _, j := range joints {
		cells = append(cells, j.a, j.b)
	}
	slices.Sort(cells)
	return slices.Compact(cells)
}

// pieces counts the parts of the mesh that have no vertex in common.
func (m *Mesh) pieces(done *Cleaning) {
	vertices := newParts(len(m.Vertices))
	for _, c := range m.Cells {
		for _, v := range c[1:] {
			vertices.join(c[0], v, 0)
		}
	}
	sizes := map[int]float64{}
	for i, c := range m.Cells {
		piece, _ := vertices.find(c[0])
		sizes[piece] += m.size(i)
	}
	if len(sizes) == 1 {
		return
	}
	done.Pieces = len(sizes)
	for _, s := range sizes {
		done.Largest = math.Max(done.Largest, s/m.Size())
	}
}

// CheckOriented returns an error where two cells that meet are oriented against each other: the current of such a mesh is not that of a
// curve or surface, as its parts cancel. Clean turns cells round. Where no orientation agrees, as of a Möbius strip, it is an error if the
// cells there have more than 1 % of the size. Places at which more than two cells meet are no error; varifolds need none of it.
func (m *Mesh) CheckOriented() error {
	_, err := m.oriented()
	return err
}

// oriented is CheckOriented, with the faces.
func (m *Mesh) oriented() (faces map[[2]int]*[2][]int, err error) {
	defer try.Catch(&err)
	try.Do(m.wellFormed())
	faces = m.faces()
	turn, left, _ := m.orientation(faces)
	var wrong []int
	for i, t := range turn {
		if t {
			wrong = append(wrong, i)
		}
	}
	text.RefuseIf(len(wrong) > 0, "turn them round by Mesh.Clean, or take varifolds",
		"%s are oriented against the rest (%s of the size), the first %s", text.Counted(len(wrong), m.kind()), percent(m.share(wrong)), m.firstCell(wrong))
	if share := m.share(beside(left)); share > maxDisagreeing {
		text.Refuse("take varifolds, which need none",
			"the mesh has no orientation: at %s, the first %s, the cells, which have %s of the size, cannot agree",
			text.Counted(len(left), "places"), place(left[0].key), percent(share))
	}
	return faces, nil
}

// checkClosed refuses a mesh if the boundary of its current is not 0: where as many cells do not run through a place one way as the other.
func (m *Mesh) checkClosed() {
	faces := try.Get(m.oriented())
	open := 0
	least := [2]int{math.MaxInt, 0}
	for key, f := range faces {
		if len(f[0]) != len(f[1]) {
			open++
			if slices.Compare(key[:], least[:]) < 0 {
				least = key
			}
		}
	}
	text.RefuseIf(open > 0, "close its holes, or measure Size instead of Volume",
		"the mesh is not closed: its boundary has %d pieces, the first %s", open, place(least))
	text.RefuseIf(len(m.Cells[0]) == 2 && len(m.Vertices[0]) == 3, "give a curve in the plane, or a surface", "a curve in space encloses none")
}
