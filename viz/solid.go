package viz

import (
	"fmt"
	"image/color"
	"math"
)

var porcelain = color.NRGBA{0xd3, 0xde, 0xea, 0xff}

// Surface draws the surface f(u, v) in space for u and v in the given ranges, shaded, with lines of constant u and v. It
// hides what lies behind it, unless Layer.Opacity lets that shine through.
func Surface(f func(u, v float64) []float64, u, v [2]float64) *Layer {
	const n, rule = 72, 6 // facets a side; every sixth line of the grid is drawn
	return newLayer("Surface", drawFunc(func(c *canvas) error {
		vertices, triangles := Tessellate(f, u, v, n, n)
		if err := facets(c, vertices, triangles); err != nil {
			return err
		}
		line := pen{Color: fade(shade(c.ink(0), 0.72), 0.8), Width: c.width(0.3)}
		for i := 0; i <= n; i += rule {
			var along, across [][]float64
			for j := range n + 1 {
				along, across = append(along, vertices[i*(n+1)+j]), append(across, vertices[j*(n+1)+i])
			}
			c.line(along, false, line)
			c.line(across, false, line)
		}
		return nil
	})).Color(porcelain)
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

// Mesh draws a triangle mesh in space, shaded. Each triangle holds the indices of its three vertices, from 0.
// Layer.ColorBy takes one value a vertex: a density on a sphere, a distance between two brains.
func Mesh(vertices [][]float64, triangles [][3]int) *Layer {
	return newLayer("Mesh", each{len(vertices), func(c *canvas) error { return facets(c, vertices, triangles) }}).of(account{noun: counted("mesh on %d vertices")}).Color(porcelain)
}

// Tessellate returns a mesh of the surface f(u, v), as Mesh takes it: the points on a grid of nu by nv cells over the ranges
// of u and v, point (i, j) at index i·(nv+1)+j, and two triangles a cell.
func Tessellate(f func(u, v float64) []float64, u, v [2]float64, nu, nv int) (vertices [][]float64, triangles [][3]int) {
	if nu < 1 || nv < 1 {
		panic(fmt.Sprintf("viz: Tessellate: %d×%d cells: give at least one each way", nu, nv))
	}
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

func facets(c *canvas, vertices [][]float64, triangles [][3]int) error {
	if err := checkPoints("surface", vertices); err != nil {
		return err
	}
	if len(vertices[0]) != 3 {
		return fmt.Errorf("the vertices have %d coordinates: a surface needs 3", len(vertices[0]))
	}
	if len(triangles) == 0 {
		return fmt.Errorf("no triangles: give at least one")
	}
	for k, t := range triangles {
		corners := make([][]float64, 3)
		for i, v := range t {
			if v < 0 || v >= len(vertices) {
				return fmt.Errorf("triangle %d: vertex %d of %d does not exist", k, v, len(vertices))
			}
			corners[i] = vertices[v]
		}
		if !c.layer.byValue {
			c.face(corners, c.ink(t[0]))
			continue
		}
		c.gradient(corners, [3]color.NRGBA{c.ink(t[0]), c.ink(t[1]), c.ink(t[2])}, min(4, int(math.Sqrt(40000/float64(len(triangles))))))
	}
	return nil
}

// gradient draws a triangle whose colour runs between those of its corners, in n² small ones.
func (c *canvas) gradient(corners [][]float64, inks [3]color.NRGBA, n int) {
	n = max(n, 1)
	at := func(i, j float64) []float64 { // barycentric: i/n towards corner 1, j/n towards corner 2
		p := make([]float64, 3)
		for k := range p {
			p[k] = corners[0][k] + (i*(corners[1][k]-corners[0][k])+j*(corners[2][k]-corners[0][k]))/float64(n)
		}
		return p
	}
	ink := func(i, j float64) color.NRGBA {
		mix := func(a, b, c uint8) uint8 {
			return uint8(math.Round(float64(a) + (i*(float64(b)-float64(a))+j*(float64(c)-float64(a)))/float64(n)))
		}
		a, b, c := inks[0], inks[1], inks[2]
		return color.NRGBA{mix(a.R, b.R, c.R), mix(a.G, b.G, c.G), mix(a.B, b.B, c.B), mix(a.A, b.A, c.A)}
	}
	for i := range n {
		for j := range n - i {
			x, y := float64(i), float64(j)
			c.face([][]float64{at(x, y), at(x+1, y), at(x, y+1)}, ink(x+1.0/3, y+1.0/3))
			if i+j < n-1 {
				c.face([][]float64{at(x+1, y), at(x+1, y+1), at(x, y+1)}, ink(x+2.0/3, y+2.0/3))
			}
		}
	}
}

// camera looks at the origin from azimuth (about z, from x towards y) and elevation, in radians, without perspective.
type camera struct{ azimuth, elevation float64 }

// view turns p into the camera's frame: right, up, and towards the camera.
func (c camera) view(p []float64) []float64 {
	sa, ca := math.Sincos(c.azimuth)
	se, ce := math.Sincos(c.elevation)
	return []float64{
		-sa*p[0] + ca*p[1],
		-se*ca*p[0] - se*sa*p[1] + ce*p[2],
		ce*ca*p[0] + ce*sa*p[1] + se*p[2],
	}
}

// light returns how bright a facet is, given its corners in the camera's frame: the light stands above the camera's
// left shoulder, and both sides of a surface are lit.
func light(at [][]float64) float64 {
	var a, b [3]float64
	for k := range 3 {
		a[k], b[k] = at[1][k]-at[0][k], at[2][k]-at[0][k]
	}
	n := [3]float64{a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]}
	length := math.Sqrt(n[0]*n[0] + n[1]*n[1] + n[2]*n[2])
	if length == 0 {
		return 1
	}
	if n[2] < 0 {
		length = -length
	}
	return 0.68 + 0.36*(-0.35*n[0]+0.5*n[1]+0.79*n[2])/length
}
