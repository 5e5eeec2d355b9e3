package manifold_test

import (
	"math"
	"math/cmplx"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
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
	geomtest.Run(t, m, expect.Must(z, err))
}

// Triangles are the sphere of radius 1/2: Gauss's curvature is 4.
func TestKendallTriangles(t *testing.T) {
	t.Parallel()
	triangles := [][]float64{{0, 0, 1, 0, 0, 1}, {0, 0, 1, 0, 2, 0}, {0, 0, 1, 0, 0.5, math.Sqrt(0.75)}}
	out := tilted(t, manifold.Kendall(3), func(c geom.Chart, x *Node) *Node { return geom.ScalarCurvature(c, x) }, triangles...)
	for _, v := range out.Vector(0) {
		expect.Abs(t, "scalar curvature", v, 8, 1e-9)
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
	z = expect.Must(z, err)
	for _, shape := range [][]float64{kite, turned} {
		y, _, err := s.Project(shape)
		y = expect.Must(y, err)
		g := expect.Must(s.Log(z, y))
		expect.Abs(t, "distance", g.Length, want, 1e-12)
		end := expect.Must(s.Exp(z, g.Velocity))
		expect.Abs(t, "distance from the end of the geodesic", expect.Must(s.Log(end.End, y)).Length, 0, 1e-12)
	}

	expect.Refused(t, expect.Error(s.Log(house, z)), "Space.Project") // a configuration that is not standard
	turn := make([]float64, 8)                                        // i z, a rotation
	for i := range 4 {
		turn[2*i], turn[2*i+1] = -z[2*i+1], z[2*i]
	}
	expect.Refused(t, expect.Error(s.Exp(z, turn)), "not tangent") // a rotation
	_, _, err = s.Project([]float64{1, 1, 1, 1, 1, 1, 1, 1})
	expect.Refused(t, err, "no point of the manifold") // all landmarks in one place
	square, _, err := s.Project([]float64{1, 1, -1, 1, -1, -1, 1, -1})
	square = expect.Must(square, err)
	mirrored, _, err := s.Project([]float64{1, -1, -1, -1, -1, 1, 1, 1})
	expect.Refused(t, expect.Error(s.Log(square, expect.Must(mirrored, err))), "cut locus") // a square and its mirror image
}
