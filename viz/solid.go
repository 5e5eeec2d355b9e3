package viz

import (
	"image/color"
	"math"

	"anatomy/geom/try"
	"anatomy/internal/refuse"
)

var porcelain = color.NRGBA{0xd3, 0xde, 0xea, 0xff}

// Surface draws the surface f(u, v) in space for u and v in the given ranges, shaded, with lines of constant u and v. It
// hides what lies behind it, unless Layer.Opacity lets that shine through.
func Surface(f func(u, v float64) []float64, u, v [2]float64) *Layer {
	const n, rule = 72, 6 // facets a side; every sixth line of the grid is drawn
	vertices, triangles := Tessellate(f, u, v, n, n)
	body := surface{vertices: vertices, triangles: triangles}
	return newLayer(traits{name: "Surface"}, func(c *canvas) {
		body.draw(c)
		line := pen{Color: fade(Black, 0.25), Width: c.width(0.3)}
		for i := 0; i <= n; i += rule {
			var along, across [][]float64
			for j := range n + 1 {
				along, across = append(along, vertices[i*(n+1)+j]), append(across, vertices[j*(n+1)+i])
			}
			c.line(along, false, line)
			c.line(across, false, line)
		}
	}).Color(porcelain)
}

// Ellipsoid draws the ellipsoid about the origin with half axes a, b and c along x, y and z; a sphere if they are equal.
func Ellipsoid(a, b, c float64) *Layer {
	l := Surface(func(u, v float64) []float64 {
		sin, cos := math.Sincos(v)
		return []float64{a * sin * math.Cos(u), b * sin * math.Sin(u), c * cos}
	}, [2]float64{0, 2 * math.Pi}, [2]float64{0, math.Pi})
	l.name = "Ellipsoid"
	return l
}

// Mesh draws a triangle mesh in space: lit, smooth over edges of less than 60°, darker where it sees little of the sky, with outlines. Each
// triangle holds the indices of its three vertices, from 0. A mesh of less than 1000 triangles is drawn round between its vertices.
// Layer.ColorBy takes one value a vertex: a density on a sphere, a distance between two brains.
func Mesh(vertices [][]float64, triangles [][3]int) *Layer {
	body := surface{vertices: vertices, triangles: triangles}
	return newLayer(traits{name: "Mesh", takes: "ColorBy", items: len(vertices), noun: "mesh on %d vertices", filled: true, form: true}, body.draw).Color(porcelain)
}

// Tessellate returns a mesh of the surface f(u, v), as Mesh takes it: the points on a grid of nu by nv cells over the ranges
// of u and v, point (i, j) at index i·(nv+1)+j, and two triangles a cell.
func Tessellate(f func(u, v float64) []float64, u, v [2]float64, nu, nv int) (vertices [][]float64, triangles [][3]int) {
	refuse.If(nu < 1 || nv < 1, "viz: Tessellate: %d×%d cells: give at least one each way", nu, nv)
	for i := range nu + 1 {
		for j := range nv + 1 {
			vertices = append(vertices, f(u[0]+(u[1]-u[0])*float64(i)/float64(nu), v[0]+(v[1]-v[0])*float64(j)/float64(nv)))
			if i < nu && j < nv {
				k := i*(nv+1) + j
				triangles = append(triangles, [3]int{k, k + nv + 1, k + nv + 2}, [3]int{k, k + nv + 2, k + 1})
			}
		}
	}
	return vertices, triangles
}

// A surface draws a mesh. Its body is made once, from round vertices if it is coarse: the mesh's and those between two.
type surface struct {
	vertices  [][]float64
	triangles [][3]int
	body      *body
	round     [][]float64
	ends      [][2]int
}

func (s *surface) draw(c *canvas) {
	vertices, triangles := s.vertices, s.triangles
	checkPoints("surface", vertices)
	try.FailIf(len(vertices[0]) != 3, "the vertices have %d coordinates: a surface needs 3", len(vertices[0]))
	try.FailIf(len(triangles) == 0, "no triangles: give at least one")
	for k, t := range triangles {
		for _, v := range t {
			if v < 0 || v >= len(vertices) {
				try.Fail("triangle %d: vertex %d of %d does not exist", k, v, len(vertices))
			}
		}
	}
	if s.body == nil {
		s.round, s.body = vertices, newBody(vertices, triangles)
		for ends := s.ends; len(triangles) < coarse; s.ends = append(s.ends, ends...) {
			s.round, triangles, ends = s.body.rounded(s.round)
			s.body = newBody(s.round, triangles)
		}
	}
	tones := c.layer.tones()
	for _, v := range s.ends {
		if tones != nil {
			tones = append(tones, (tones[v[0]]+tones[v[1]])/2)
		}
	}
	c.add(mark{kind: faceMark, at: s.round, body: s.body, fill: c.ink(0), tones: tones})
}
