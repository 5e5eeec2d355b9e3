package viz

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"anatomy/internal/lists"
	"anatomy/internal/pool"
)

// A body is what a surface has from every side: its triangles, which of their corners share a normal, and how much of the sky each normal's
// point sees.
type body struct {
	triangles [][3]int  // vertices
	normals   [][3]int  // of the corners of each triangle
	points    []int     // the vertex of each normal: normal i < number of vertices is that of vertex i
	open      []float64 // of each normal, from 0 to 1
}

// sharpEdge is the cosine of the angle between two triangles beyond which their common edge stays sharp: 60°. An icosahedron, with 42°, is
// round, a cube is not.
const sharpEdge = 0.5

// newBody joins the triangles of a surface: corners at one place share a normal where no sharp edge parts them.
func newBody(vertices [][]float64, triangles [][3]int) *body {
	b := &body{triangles: triangles, normals: make([][3]int, len(triangles)), points: make([]int, len(vertices))}
	box := boxOf(vertices)
	type place [3]int
	first, weld := map[place]int{}, make([]int, len(vertices)) // the first vertex at the place of each: a seam leaves no mark
	fine := 1e7 / math.Max(2*box.radius(3), 1e-300)
	for i, p := range vertices {
		var at place
		for k := range 3 {
			at[k] = int(math.Round(fine * (p[k] - box.lo[k])))
		}
		if _, known := first[at]; !known {
			first[at] = i
		}
		weld[i], b.points[i] = first[at], i
	}
	var none [3]float64
	flat := make([][3]float64, len(triangles)) // unit normals
	around := make([][][2]int, len(vertices))  // triangle and corner
	for t, corners := range triangles {
		flat[t] = unit3(across(vertices, corners))
		for k, v := range corners {
			around[weld[v]] = append(around[weld[v]], [2]int{t, k})
		}
	}
	for v, corners := range around {
		group := lists.Range(len(corners))
		for i, a := range corners {
			for j, c := range corners[:i] {
				p, q := flat[a[0]], flat[c[0]]
				sharp := dot3(p, q) <= sharpEdge && p != none && q != none // a triangle without area has no normal
				if group[i] == group[j] || sharp || !neighbours(triangles[a[0]], triangles[c[0]], weld) {
					continue
				}
				for k, from := 0, group[i]; k <= i; k++ {
					if group[k] == from {
						group[k] = group[j]
					}
				}
			}
		}
		number := map[int]int{}
		for i, c := range corners {
			if _, known := number[group[i]]; !known {
				number[group[i]] = v
				if len(number) > 1 {
					number[group[i]] = len(b.points)
					b.points = append(b.points, v)
				}
			}
			b.normals[c[0]][c[1]] = number[group[i]]
		}
	}
	b.open = b.openness(vertices)
	return b
}

// coarse is the number of triangles below which a body would look like a crystal.
const coarse = 1000

// rounded cuts each triangle of a body in four. The new vertices lie on the cubic curves over the edges to which its normals are normal (curved PN
// triangles: Vlachos, Peters, Boyd & Mitchell, I3D 2001), over a sharp edge half-way between those of its triangles. They come after the old
// ones; ends are the two between which each of them lies.
func (b *body) rounded(at [][]float64) (vertices [][]float64, triangles [][3]int, ends [][2]int) {
	edge := func(c [3]int, k int) [2]int { return [2]int{min(c[k], c[(k+1)%3]), max(c[k], c[(k+1)%3])} }
	number, sides := map[[2]int]int{}, map[[2]int]float64{}
	vertices = slices.Clone(at)
	for _, corners := range b.triangles {
		for k := range 3 {
			e := edge(corners, k)
			if sides[e]++; sides[e] == 1 {
				number[e] = len(vertices)
				vertices, ends = append(vertices, blend(at[e[0]], at[e[1]], 0.5)), append(ends, e)
			}
		}
	}
	unit := b.normalsAt(at)
	for t, corners := range b.triangles {
		var middle [3]int
		for k, v := range corners {
			e := edge(corners, k)
			middle[k] = number[e]
			way := floats.SubTo(make([]float64, 3), at[corners[(k+1)%3]], at[v])
			for end, corner := range [2]int{k, (k + 1) % 3} {
				n := unit[b.normals[t][corner]]
				floats.AddScaled(vertices[middle[k]], float64(2*end-1)/8/sides[e]*floats.Dot(n[:], way), n[:])
			}
		}
		for k, v := range corners {
			triangles = append(triangles, [3]int{v, middle[k], middle[(k+2)%3]})
		}
		triangles = append(triangles, middle)
	}
	return vertices, triangles, ends
}

// longest is the length of the longest edge, as drawn points have it.
func (b *body) longest(at [][]float64) (length float64) {
	for _, c := range b.triangles {
		length = math.Max(length, math.Max(distance(at[c[0]], at[c[1]]), distance(at[c[0]], at[c[2]])))
	}
	return length
}

// neighbours reports whether two triangles share an edge.
func neighbours(a, b [3]int, weld []int) bool {
	shared := slices.DeleteFunc(a[:], func(v int) bool { return !slices.ContainsFunc(b[:], func(w int) bool { return weld[v] == weld[w] }) })
	return len(shared) > 1
}

// normalsAt returns the unit normals: the means of those of the triangles, by their areas.
func (b *body) normalsAt(at [][]float64) [][3]float64 {
	sums := make([][3]float64, len(b.points))
	for t, corners := range b.triangles {
		n := across(at, corners)
		for _, i := range b.normals[t] {
			for k := range 3 {
				sums[i][k] += n[k]
			}
		}
	}
	for i, n := range sums {
		sums[i] = unit3(n)
	}
	return sums
}

// openness returns the share of the sky that the point of each normal sees, a ray by the cosine of its angle with the normal: the ambient
// occlusion (Zhukov, Iones & Kronin, Rendering Techniques 1998) on the more open side of the surface. Rays run through a grid of cells
// that the surface fills. Means with the neighbours hide its steps.
func (b *body) openness(at [][]float64) []float64 {
	const most, least, work = 200, 48, 4e6 // rays of a point, half of them for each side, and of all
	rays := max(least, min(most, int(work/float64(len(b.points)))))
	sky := lists.Make(rays, func(i int) [3]float64 { // evenly over the sphere
		z := 1 - (2*float64(i)+1)/float64(rays)
		sin, cos := math.Sincos(float64(i) * math.Pi * (3 - math.Sqrt(5)))
		return [3]float64{math.Sqrt(1-z*z) * cos, math.Sqrt(1-z*z) * sin, z}
	})
	g, normals, open := b.grid(at), b.normalsAt(at), make([]float64, len(b.points))
	pool.Each(len(open), func(i int) { open[i] = g.open(at[b.points[i]], normals[i], sky) })
	mean, count := make([]float64, len(open)), make([]float64, len(open))
	for _, corners := range b.normals {
		all := (open[corners[0]] + open[corners[1]] + open[corners[2]]) / 3
		for _, i := range corners {
			mean[i], count[i] = mean[i]+all, count[i]+1
		}
	}
	for i := range mean {
		mean[i] /= math.Max(count[i], 1)
	}
	return mean
}

// A grid is cubes of space, with empty ones around, and which of them a surface runs through.
type grid struct {
	low  [3]float64
	side float64
	size [3]int
	full []bool
}

func (b *body) grid(at [][]float64) *grid {
	const cells = 96 // along the longest side
	box := boxOf(at)
	g := &grid{low: box.lo, side: math.Max(2*box.radius(3)/cells, 1e-300)}
	for k := range 3 {
		g.size[k] = int(box.size(k)/g.side) + 3
	}
	g.full = make([]bool, g.size[0]*g.size[1]*g.size[2])
	for _, t := range b.triangles {
		p, q, r := at[t[0]], at[t[1]], at[t[2]]
		for range 2 { // the shortest edge is opposite p: a sliver takes few steps
			if distance(q, r) > min(distance(p, q), distance(r, p)) {
				p, q, r = r, p, q
			}
		}
		n := int(2*math.Max(distance(p, q), distance(p, r))/g.side) + 1
		for i := range n + 1 {
			s := float64(i) / float64(n)
			from, to := blend(p, q, s), blend(p, r, s)
			m := int(2*distance(from, to)/g.side) + 1
			for j := range m + 1 {
				x, y, z := g.place(blend(from, to, float64(j)/float64(m)))
				g.full[(int(x)*g.size[1]+int(y))*g.size[2]+int(z)] = true
			}
		}
	}
	return g
}

// place returns where a point is, in cells.
func (g *grid) place(p []float64) (x, y, z float64) {
	return (p[0]-g.low[0])/g.side + 1, (p[1]-g.low[1])/g.side + 1, (p[2]-g.low[2])/g.side + 1
}

// open returns the share of rays that leave the grid, on the side of a point of the surface where it is larger. First comes the side away from the
// middle: rays through a body are the longest, and end where that side cannot be the larger one.
func (g *grid) open(p []float64, n [3]float64, sky [][3]float64) (most float64) {
	const from = 1.8 // cells: a flat surface does not hide itself: the diagonal of a cell is √3
	x, y, z := g.place(p)
	side := math.Copysign(1, n[0]*(x-float64(g.size[0])/2)+n[1]*(y-float64(g.size[1])/2)+n[2]*(z-float64(g.size[2])/2))
	for _, side := range [2]float64{side, -side} {
		all := 0.0
		for _, d := range sky {
			all += max(0, side*dot3(d, n))
		}
		seen, off := all, side*from
		for i := 0; i < len(sky) && seen > most*all; i++ {
			if way := side * dot3(sky[i], n); way > 0 && g.stops(x+off*n[0], y+off*n[1], z+off*n[2], sky[i]) {
				seen -= way
			}
		}
		most = max(most, seen/max(all, 1e-300))
	}
	return most
}

// stops reports whether a ray meets a full cell before it leaves the grid.
func (g *grid) stops(x, y, z float64, d [3]float64) bool {
	for {
		i, j, k := int(x), int(y), int(z)
		if i < 0 || i >= g.size[0] || j < 0 || j >= g.size[1] || k < 0 || k >= g.size[2] {
			return false
		}
		if g.full[(i*g.size[1]+j)*g.size[2]+k] {
			return true
		}
		x, y, z = x+d[0], y+d[1], z+d[2]
	}
}

// light returns how bright a surface is whose unit normal, towards the reader, is n in the camera's frame, and which sees a share of the sky:
// by a lamp above the reader's left shoulder with a soft highlight (Blinn, SIGGRAPH 1977), a weak one from the right, and soft light that is
// stronger from above. Colours that stand for values have no highlight. turn.js has the same.
func light(n [3]float64, open float64, valued bool) float64 {
	lamp := 0.5*math.Max(0, -0.45*n[0]+0.55*n[1]+0.7*n[2]) + 0.14*math.Max(0, 0.7*n[0]+0.1*n[1]+0.7*n[2])
	if !valued {
		lamp += 0.14 * math.Pow(math.Max(0, -0.24*n[0]+0.3*n[1]+0.92*n[2]), 24)
	}
	return (0.1+0.9*open)*(0.49+0.1*n[1]) + (0.55+0.45*open)*lamp
}

// across is the normal of a triangle, as long as twice its area.
func across(at [][]float64, t [3]int) [3]float64 {
	var a, b [3]float64
	for k := range 3 {
		a[k], b[k] = at[t[1]][k]-at[t[0]][k], at[t[2]][k]-at[t[0]][k]
	}
	return [3]float64{a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]}
}

func dot3(a, b [3]float64) float64 { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }

func unit3(n [3]float64) [3]float64 {
	length := cmp.Or(math.Sqrt(dot3(n, n)), 1)
	return [3]float64{n[0] / length, n[1] / length, n[2] / length}
}
