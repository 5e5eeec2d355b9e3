// Package scanned makes meshes as they come from a scanner: the surface of a body in a noisy volume, cut out and decimated by simple
// means. Tests read them.
package scanned

import (
	"math"
	"math/rand/v2"

	"anatomy/landmarks/surfaces/mesh"
)

// Body is a bone-like body in a volume of n³ voxels with noise of the given standard deviation in voxels, its surface by marching tetrahedra
// and its vertices merged on a grid of the given spacing in voxels. Seeds give bodies of different proportions. The merging leaves
// what such programs leave: duplicate triangles, flaps, edges of three and four triangles, pieces of dust, and each vertex
// is listed twice. The size is about 2.
func Body(seed uint64, n int, noise, spacing float64) *mesh.Mesh {
	random := rand.New(rand.NewPCG(seed, 7))
	vary := func() float64 { return 1 + 0.08*random.NormFloat64() }
	a, b, c, bend, branch := 0.75*vary(), 0.42*vary(), 0.34*vary(), 0.3*vary(), 0.5*vary()
	return Surface(func(p []float64) float64 { // about the distance
		x, y, z := p[0], p[1], p[2]-bend*(p[0]*p[0]-0.2)
		body := (math.Sqrt(x*x/(a*a)+y*y/(b*b)+z*z/(c*c)) - 1) * min(a, b, c)
		along := math.Max(0, math.Min(branch, z)) // a process
		process := math.Sqrt((x-0.3)*(x-0.3)+y*y+(z-along)*(z-along)) - 0.16
		hole := 0.12 - math.Hypot(x+0.25, y) // through the body
		return math.Max(math.Min(body, process), hole)
	}, n, noise, spacing, random)
}

// Surface is that of a body within the cube from −1.2 to 1.2 in a volume of n³ voxels with noise: where inside is negative. Its unit is
// that of coordinates, for the noise. See Body.
func Surface(inside func(x []float64) float64, n int, noise, spacing float64, random *rand.Rand) *mesh.Mesh {
	voxel := 2.4 / float64(n)
	at := func(i int) float64 { return (float64(i) - float64(n)/2) * voxel }
	values := make([]float64, (n+1)*(n+1)*(n+1))
	number := func(i, j, k int) int { return (i*(n+1)+j)*(n+1) + k }
	for i := range n + 1 {
		for j := range n + 1 {
			for k := range n + 1 {
				values[number(i, j, k)] = inside([]float64{at(i), at(j), at(k)}) + noise*voxel*random.NormFloat64()
			}
		}
	}
	m := &mesh.Mesh{}
	cut := map[[2]int]int{} // by edges of the grid: vertices
	position := func(p int) [3]float64 {
		return [3]float64{at(p / (n + 1) / (n + 1)), at(p / (n + 1) % (n + 1)), at(p % (n + 1))}
	}
	vertex := func(p, q int) int {
		key := [2]int{min(p, q), max(p, q)}
		v, found := cut[key]
		if !found {
			s := values[key[0]] / (values[key[0]] - values[key[1]])
			x, y := position(key[0]), position(key[1])
			v = len(m.Vertices)
			m.Vertices = append(m.Vertices, []float64{x[0] + s*(y[0]-x[0]), x[1] + s*(y[1]-x[1]), x[2] + s*(y[2]-x[2])})
			cut[key] = v
		}
		return v
	}
	add := func(u, v, w int, from [3]float64) { // with its normal away from a point inside
		p, q, r := m.Vertices[u], m.Vertices[v], m.Vertices[w]
		x, y := [3]float64{}, [3]float64{}
		for i := range 3 {
			x[i], y[i] = q[i]-p[i], r[i]-p[i]
		}
		det := 0.0
		for i := range 3 {
			det += (x[(i+1)%3]*y[(i+2)%3] - x[(i+2)%3]*y[(i+1)%3]) * (p[i] - from[i])
		}
		if det < 0 {
			v, w = w, v
		}
		m.Cells = append(m.Cells, []int{u, v, w})
	}
	paths := [6][2][3]int{{{1, 0, 0}, {1, 1, 0}}, {{1, 0, 0}, {1, 0, 1}}, {{0, 1, 0}, {1, 1, 0}}, {{0, 1, 0}, {0, 1, 1}}, {{0, 0, 1}, {1, 0, 1}}, {{0, 0, 1}, {0, 1, 1}}}
	for i := range n {
		for j := range n {
			for k := range n {
				for _, path := range paths {
					corners := [4]int{number(i, j, k), number(i+path[0][0], j+path[0][1], k+path[0][2]), number(i+path[1][0], j+path[1][1], k+path[1][2]), number(i+1, j+1, k+1)}
					var in, out []int
					for _, p := range corners {
						if values[p] < 0 {
							in = append(in, p)
						} else {
							out = append(out, p)
						}
					}
					switch len(in) {
					case 1:
						add(vertex(in[0], out[0]), vertex(in[0], out[1]), vertex(in[0], out[2]), position(in[0]))
					case 2:
						p, q, r, s := vertex(in[0], out[0]), vertex(in[0], out[1]), vertex(in[1], out[1]), vertex(in[1], out[0])
						add(p, q, r, position(in[0]))
						add(p, r, s, position(in[1]))
					case 3: // away from what is inside is towards the one outside
						u, v, w := vertex(in[0], out[0]), vertex(in[1], out[0]), vertex(in[2], out[0])
						add(u, v, w, position(in[0]))
					}
				}
			}
		}
	}
	out := m.Simplify(spacing * voxel)
	for _, x := range out.Vertices[:len(out.Vertices):len(out.Vertices)] {
		out.Vertices = append(out.Vertices, append([]float64{}, x...))
	}
	return out
}
