package mesh

import (
	"fmt"
	"math"
)

// Icosphere returns the unit sphere as an icosahedron whose triangles were divided into four k times: 10·4^k + 2 vertices and
// 20·4^k triangles of nearly equal size, with normals outwards.
func Icosphere(subdivisions int) *Mesh {
	if subdivisions < 0 || subdivisions > 9 {
		panic(fmt.Sprintf("mesh.Icosphere: %d subdivisions, want 0 to 9", subdivisions))
	}
	g := math.Phi
	m := &Mesh{
		Vertices: [][]float64{{-1, g, 0}, {1, g, 0}, {-1, -g, 0}, {1, -g, 0}, {0, -1, g}, {0, 1, g}, {0, -1, -g}, {0, 1, -g}, {g, 0, -1}, {g, 0, 1},
			{-g, 0, -1}, {-g, 0, 1}},
		Cells: [][]int{{0, 11, 5}, {0, 5, 1}, {0, 1, 7}, {0, 7, 10}, {0, 10, 11}, {1, 5, 9}, {5, 11, 4}, {11, 10, 2}, {10, 7, 6}, {7, 1, 8},
			{3, 9, 4}, {3, 4, 2}, {3, 2, 6}, {3, 6, 8}, {3, 8, 9}, {4, 9, 5}, {2, 4, 11}, {6, 2, 10}, {8, 6, 7}, {9, 8, 1}},
	}
	for range subdivisions {
		m = m.Subdivide()
	}
	return m.Map(func(x []float64) []float64 {
		r := distance(x, make([]float64, 3))
		return []float64{x[0] / r, x[1] / r, x[2] / r}
	})
}

// Ellipsoid returns the ellipsoid with half axes a, b and c along x, y and z, triangulated by meridians and circles of
// latitude, with a vertex at each pole on the z axis and normals outwards.
func Ellipsoid(a, b, c float64, latitudes, meridians int) *Mesh {
	if latitudes < 1 || meridians < 3 || !(a > 0) || !(b > 0) || !(c > 0) {
		panic(fmt.Sprintf("mesh.Ellipsoid: half axes %g, %g, %g, %d latitudes, %d meridians; want positive axes, at least 1 and 3", a, b, c, latitudes,
			meridians))
	}
	m := &Mesh{Vertices: [][]float64{{0, 0, c}}}
	at := func(i, j int) int { return 1 + i*meridians + j%meridians }
	for i := range latitudes {
		sv, cv := math.Sincos(math.Pi * float64(i+1) / float64(latitudes+1))
		for j := range meridians {
			su, cu := math.Sincos(2 * math.Pi * (float64(j) + 0.5*float64(i%2)) / float64(meridians))
			m.Vertices = append(m.Vertices, []float64{a * sv * cu, b * sv * su, c * cv})
		}
	}
	south := len(m.Vertices)
	m.Vertices = append(m.Vertices, []float64{0, 0, -c})
	for j := range meridians {
		m.Cells = append(m.Cells, []int{0, at(0, j), at(0, j+1)}, []int{south, at(latitudes-1, j+1), at(latitudes-1, j)})
		for i := range latitudes - 1 {
			if i%2 == 0 { // the next circle is turned by half a meridian
				m.Cells = append(m.Cells, []int{at(i, j), at(i+1, j), at(i, j+1)}, []int{at(i, j+1), at(i+1, j), at(i+1, j+1)})
			} else {
				m.Cells = append(m.Cells, []int{at(i, j), at(i+1, j), at(i+1, j+1)}, []int{at(i, j), at(i+1, j+1), at(i, j+1)})
			}
		}
	}
	return m
}

// Subdivide cuts every triangle into four, every edge into two, by the middles of the edges.
func (m *Mesh) Subdivide() *Mesh {
	out := &Mesh{Vertices: cloneRows(m.Vertices)}
	middles := map[[2]int]int{}
	middle := func(a, b int) int {
		key := [2]int{min(a, b), max(a, b)}
		k, found := middles[key]
		if !found {
			x := make([]float64, len(m.Vertices[a]))
			for i := range x {
				x[i] = (m.Vertices[a][i] + m.Vertices[b][i]) / 2
			}
			k = len(out.Vertices)
			middles[key] = k
			out.Vertices = append(out.Vertices, x)
		}
		return k
	}
	for _, t := range m.Cells {
		ab := middle(t[0], t[1])
		if len(t) == 2 {
			out.Cells = append(out.Cells, []int{t[0], ab}, []int{ab, t[1]})
			continue
		}
		bc, ca := middle(t[1], t[2]), middle(t[2], t[0])
		out.Cells = append(out.Cells, []int{t[0], ab, ca}, []int{ab, t[1], bc}, []int{ca, bc, t[2]}, []int{ab, bc, ca})
	}
	return out
}

// Simplify returns the mesh with all vertices in a box of a grid of cubes with sides of this length merged into their mean, without the
// cells that vanish (Rossignac and Borrel, Modeling in Computer Graphics, 1993). It may leave duplicates and non-manifold places: see
// Clean. Where a body is thinner than a cube, its two sides become flaps.
func (m *Mesh) Simplify(side float64) *Mesh {
	of, means := Boxes(m.Vertices, side)
	out := &Mesh{Vertices: means}
	for _, c := range m.Cells {
		cell, vanished := make([]int, len(c)), false
		for k, v := range c {
			cell[k] = of[v]
			vanished = vanished || k > 0 && cell[k] == cell[k-1]
		}
		if !vanished && cell[0] != cell[len(cell)-1] {
			out.Cells = append(out.Cells, cell)
		}
	}
	return out
}

// Boxes returns for every point the number of its box in a grid of cubes with sides of this length, in the order in which the boxes are first met,
// and the mean of the points in each box.
func Boxes(points [][]float64, side float64) (of []int, means [][]float64) {
	boxes := map[[3]int]int{}
	var counts []float64
	for _, x := range points {
		var key [3]int
		for a, v := range x {
			key[a] = int(math.Floor(v / side))
		}
		b, found := boxes[key]
		if !found {
			b, boxes[key] = len(means), len(means)
			means, counts = append(means, make([]float64, len(x))), append(counts, 0)
		}
		of = append(of, b)
		counts[b]++
		for a, v := range x {
			means[b][a] += (v - means[b][a]) / counts[b]
		}
	}
	return of, means
}
