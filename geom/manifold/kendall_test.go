package manifold_test

import (
	"math"
	"math/cmplx"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/geomtest"
	"anatomy/geom/manifold"
)

var (
	house = []float64{0, 0, 2, 0, 2, 1.5, 0, 1.2}
	kite  = []float64{0.3, 0, 1, -1, 1.5, 1, -0.6, 1.2}
)

func TestKendall(t *testing.T) {
	t.Parallel()
	m := manifold.Kendall(4)
	z, _, err := geom.On(m).Project(house)
	geomtest.Run(t, m, must(t, z, err))
}

// Triangles are the sphere of radius 1/2: Gauss's curvature is 4.
func TestKendallTriangles(t *testing.T) {
	t.Parallel()
	triangles := [][]float64{{0, 0, 1, 0, 0, 1}, {0, 0, 1, 0, 2, 0}, {0, 0, 1, 0, 0.5, math.Sqrt(0.75)}}
	out := tilted(t, manifold.Kendall(3), func(c geom.Chart, x *Node) *Node { return geom.ScalarCurvature(c, x) }, triangles...)
	for _, v := range out.Vector(0) {
		geomtest.Near(t, "scalar curvature", v, 8, 1e-9)
	}
}

// The distance is arccos |⟨z, y⟩| of the configurations made standard, and translation, scaling and rotation change
// nothing.
func TestKendallDistance(t *testing.T) {
	t.Parallel()
	s := geom.On(manifold.Kendall(4))
	standard := func(z []float64) []complex128 {
		out, mean, size := make([]complex128, 4), complex128(0), 0.0
		for i := range out {
			out[i] = complex(z[2*i], z[2*i+1])
			mean += out[i] / 4
		}
		for i := range out {
			out[i] -= mean
			size += real(out[i] * cmplx.Conj(out[i]))
		}
		for i := range out {
			out[i] /= complex(math.Sqrt(size), 0)
		}
		return out
	}
	a, b := standard(house), standard(kite)
	product := complex128(0)
	for i := range a {
		product += cmplx.Conj(a[i]) * b[i]
	}
	want := math.Acos(cmplx.Abs(product))

	turned := make([]float64, 8) // the kite moved, turned and scaled
	for i := range 4 {
		w := complex(3, -2) + complex(0.5, 2)*complex(kite[2*i], kite[2*i+1])
		turned[2*i], turned[2*i+1] = real(w), imag(w)
	}
	z, _, err := s.Project(house)
	z = must(t, z, err)
	for _, shape := range [][]float64{kite, turned} {
		y, _, err := s.Project(shape)
		y = must(t, y, err)
		g, err := s.Log(z, y)
		g = must(t, g, err)
		geomtest.Near(t, "distance", g.Length, want, 1e-12)
		end, err := s.Exp(z, g.Velocity)
		end = must(t, end, err)
		back, err := s.Log(end.End, y)
		geomtest.Near(t, "distance from the end of the geodesic", must(t, back, err).Length, 0, 1e-12)
	}

	_, err = s.Log(house, z)
	geomtest.Refused(t, "a configuration that is not standard", err, "Space.Project")
	turn := make([]float64, 8) // i z, a rotation
	for i := range 4 {
		turn[2*i], turn[2*i+1] = -z[2*i+1], z[2*i]
	}
	_, err = s.Exp(z, turn)
	geomtest.Refused(t, "a rotation", err, "not tangent")
	_, _, err = s.Project([]float64{1, 1, 1, 1, 1, 1, 1, 1})
	geomtest.Refused(t, "all landmarks in one place", err, "no point of the manifold")
	square, _, err := s.Project([]float64{1, 1, -1, 1, -1, -1, 1, -1})
	square = must(t, square, err)
	mirrored, _, err := s.Project([]float64{1, -1, -1, -1, -1, 1, 1, 1})
	_, err = s.Log(square, must(t, mirrored, err))
	geomtest.Refused(t, "a square and its mirror image", err, "cut locus")
}
