package mesh

import "math"

// Simplify returns the mesh with all vertices in a box of a grid of cubes with sides of this length merged into their mean, without the
// cells that vanish (Rossignac and Borrel, Modeling in Computer Graphics, 1993). It may leave duplicates and non-manifold places: see
// Clean. Where a body is thinner than a cube, its two sides become flaps.
func (m *Mesh) Simplify(side float64) *Mesh {
	boxes := map[[3]int]int{}
	of := make([]int, len(m.Vertices))
	out := &Mesh{}
	var counts []float64
	for i, x := range m.Vertices {
		var key [3]int
		for a, v := range x {
			key[a] = int(math.Floor(v / side))
		}
		b, found := boxes[key]
		if !found {
			b = len(out.Vertices)
			boxes[key] = b
			out.Vertices, counts = append(out.Vertices, make([]float64, len(x))), append(counts, 0)
		}
		of[i] = b
		counts[b]++
		for a, v := range x {
			out.Vertices[b][a] += (v - out.Vertices[b][a]) / counts[b]
		}
	}
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
