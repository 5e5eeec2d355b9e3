package mesh

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/try"
	"anatomy/internal/lists"
)

// Locator finds the nearest points of a curve or surface: morpho's semi-landmarks slide on it. The mesh must stay as it is.
type Locator struct {
	mesh       *Mesh
	tree       *box
	directions [][]float64 // unit tangents of the curve or normals of the surface at the vertices
}

// Locator returns what finds the nearest points of m, which must be oriented (see CheckOriented).
//
// Between the vertices, tangents and normals are interpolated, so that they do not jump at the sides of the cells. A vertex with
// neighbours x + e_i has the direction of Σ_i ± e_i/|e_i|² on a curve, with − for the one before, and the normal that of
// Σ_i e_i × e_{i+1}/(|e_i|² |e_{i+1}|²) on a surface (Max, J. Graphics Tools 4, 1999). They are exact where the vertices lie on a
// circle or a sphere.
func (m *Mesh) Locator() (_ *Locator, err error) {
	defer try.Named(&err, "nearest points")
	try.Do(cmp.Or(m.Validate(), m.CheckOriented()))
	m = m.With(m.Vertices)
	m.Cells = slices.Clone(m.Cells)
	m.drop(m.degenerate())
	l := &Locator{m, m.boxes(), lists.Zeros(len(m.Vertices), len(m.Vertices[0]))}
	for i, c := range m.Cells {
		n := m.normal(i) // ½ e × f, or e, at all corners
		for k, v := range c {
			weight := 1.0
			for other, w := range c {
				if other != k {
					weight /= math.Pow(distance(m.Vertices[v], m.Vertices[w]), 2)
				}
			}
			floats.AddScaled(l.directions[v], weight, n)
		}
	}
	for _, n := range l.directions {
		if norm := floats.Norm(n, 2); norm > 0 {
			floats.Scale(1/norm, n)
		}
	}
	return l, nil
}

// Nearest returns the point of the mesh nearest to x, and unit vectors that span its tangent there: one of a curve, two of a surface. Of
// several nearest points it is one. It panics if x has not the mesh's number of coordinates or is not finite.
func (l *Locator) Nearest(x []float64) (point []float64, tangents [][]float64) {
	if len(x) != len(l.mesh.Vertices[0]) || !(floats.Norm(x, math.Inf(1)) <= math.MaxFloat64) {
		panic(fmt.Sprintf("mesh.Locator: the nearest point of %v, want %d finite numbers", x, len(l.mesh.Vertices[0])))
	}
	near := l.mesh.nearest(l.tree, x)
	direction := make([]float64, len(x))
	for k, v := range l.mesh.Cells[near.cell] {
		floats.AddScaled(direction, near.weights[k], l.directions[v])
	}
	if floats.Norm(direction, 2) < 1e-6 { // as at the tip of a fold
		direction = l.mesh.normal(near.cell)
	}
	floats.Scale(1/floats.Norm(direction, 2), direction)
	if len(l.mesh.Cells[near.cell]) == 2 {
		return near.point, [][]float64{direction}
	}
	n := [3]float64(direction)
	axis, least := [3]float64{}, 0
	for a := range n {
		if math.Abs(n[a]) < math.Abs(n[least]) {
			least = a
		}
	}
	axis[least] = 1
	u := crossProduct(n, axis)
	floats.Scale(1/floats.Norm(u[:], 2), u[:])
	v := crossProduct(n, u)
	return near.point, [][]float64{u[:], v[:]}
}

func crossProduct(a, b [3]float64) [3]float64 {
	return [3]float64{a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]}
}

// box is a tree of boxes round cells, of which a leaf has a few.
type box struct {
	low, high []float64
	cells     []int
	parts     []*box // two, or none of a leaf
}

const cellsOfLeaf = 4

// boxes returns the tree of the cells, halved along the longest side of each box.
func (m *Mesh) boxes() *box {
	return m.boxOf(lists.Range(len(m.Cells)), m.Centroids())
}

func (m *Mesh) boxOf(cells []int, middles [][]float64) *box {
	b := &box{low: slices.Clone(middles[cells[0]]), high: slices.Clone(middles[cells[0]]), cells: cells}
	for _, i := range cells {
		for _, v := range m.Cells[i] {
			for a, y := range m.Vertices[v] {
				b.low[a], b.high[a] = min(b.low[a], y), max(b.high[a], y)
			}
		}
	}
	if len(cells) <= cellsOfLeaf {
		return b
	}
	axis := floats.MaxIdx(floats.SubTo(make([]float64, len(b.low)), b.high, b.low))
	slices.SortFunc(cells, func(i, j int) int {
		return cmp.Or(cmp.Compare(middles[i][axis], middles[j][axis]), i-j)
	})
	half := len(cells) / 2
	b.parts = []*box{m.boxOf(cells[:half], middles), m.boxOf(cells[half:], middles)}
	return b
}

// square is that of the distance from x to the box.
func (b *box) square(x []float64) float64 {
	sum := 0.0
	for a, y := range x {
		d := max(b.low[a]-y, 0, y-b.high[a])
		sum += d * d
	}
	return sum
}

// nearest is a point of a mesh: Σ_k weights_k x_k of the vertices of its cell.
type nearest struct {
	square  float64 // of the distance
	cell    int
	weights [3]float64
	point   []float64
}

// nearest returns the point nearest to x of the cells in a box.
func (m *Mesh) nearest(b *box, x []float64) nearest {
	best := nearest{square: math.Inf(1)}
	m.search(b, x, &best)
	return best
}

func (m *Mesh) search(b *box, x []float64, best *nearest) {
	if b.parts == nil {
		for _, i := range b.cells {
			if n := m.nearestOf(i, x); n.square < best.square {
				*best = n
			}
		}
		return
	}
	near, far := b.parts[0], b.parts[1]
	if near.square(x) > far.square(x) {
		near, far = far, near
	}
	for _, part := range []*box{near, far} {
		if part.square(x) < best.square {
			m.search(part, x, best)
		}
	}
}

// nearestOf projects x on the line of an edge or the plane of a triangle; where the foot lies outside, an end or a side is nearest.
func (m *Mesh) nearestOf(cell int, x []float64) nearest {
	c := m.Cells[cell]
	at := func(weights [3]float64) nearest {
		n := nearest{cell: cell, weights: weights, point: make([]float64, len(x))}
		for k, v := range c {
			floats.AddScaled(n.point, weights[k], m.Vertices[v])
		}
		for a, y := range x {
			n.square += (y - n.point[a]) * (y - n.point[a])
		}
		return n
	}
	onSide := func(i, j int) nearest {
		a, b := m.Vertices[c[i]], m.Vertices[c[j]]
		along, length := 0.0, 0.0
		for k := range x {
			along += (x[k] - a[k]) * (b[k] - a[k])
			length += (b[k] - a[k]) * (b[k] - a[k])
		}
		var weights [3]float64
		if length > 0 {
			weights[j] = min(1, max(0, along/length))
		}
		weights[i] = 1 - weights[j]
		return at(weights)
	}
	if len(c) == 2 {
		return onSide(0, 1)
	}
	var u, v, w [3]float64
	for k, o := range m.Vertices[c[0]] {
		u[k], v[k], w[k] = m.Vertices[c[1]][k]-o, m.Vertices[c[2]][k]-o, x[k]-o
	}
	uu, uv, vv := dot(u, u), dot(u, v), dot(v, v)
	wu, wv := dot(w, u), dot(w, v)
	best := nearest{square: math.Inf(1)}
	if det := uu*vv - uv*uv; det > 0 {
		s, t := (vv*wu-uv*wv)/det, (uu*wv-uv*wu)/det
		if s >= 0 && t >= 0 && s+t <= 1 {
			if best = at([3]float64{1 - s - t, s, t}); det > 1e-8*uu*vv {
				return best
			}
			// In a sliver the foot may be a matter of rounding, and a side is nearer.
		}
	}
	for _, side := range [][2]int{{0, 1}, {1, 2}, {2, 0}} {
		if other := onSide(side[0], side[1]); other.square < best.square {
			best = other
		}
	}
	return best
}

func dot(a, b [3]float64) float64 { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }
