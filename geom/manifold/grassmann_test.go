package manifold_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
	"anatomy/geom/stats"
)

func TestGrassmann(t *testing.T) {
	t.Parallel()
	m := manifold.Grassmann(4, 2)
	z, _, err := geom.On(m).Project([]float64{1, 0, 0.3, 1, -0.5, 0.2, 0, 2})
	geomtest.Run(t, m, expect.Must(z, err))
}

// subspaces are random points as matrices.
func subspaces(t *testing.T, s *geom.Space[geom.Shape], count, n, p int, spread float64) (z []geom.Shape) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, uint64(n*p)))
	for range count {
		x := make([]float64, n*p)
		for i := range x {
			x[i] = spread * r.NormFloat64()
			if i%(p+1) == 0 && i < p*p {
				x[i]++
			}
		}
		q, _, err := s.Project(engine.Unflatten(x, p))
		z = append(z, expect.Must(q, err))
	}
	return z
}

func times(a, b geom.Shape, transposed bool) *mat.Dense {
	var out mat.Dense
	x, y := mat.NewDense(len(a), len(a[0]), geom.Numbers(a)), mat.NewDense(len(b), len(b[0]), geom.Numbers(b))
	if transposed {
		out.Mul(x.T(), y)
	} else {
		out.Mul(x, y)
	}
	return &out
}

// Distances are those of the principal angles, whose cosines are singular values; they, means and variances do not depend on bases.
func TestGrassmannDistance(t *testing.T) {
	t.Parallel()
	const n, p = 6, 3
	s := geom.OnShapes(manifold.Grassmann(n, p))
	z := subspaces(t, s, 8, n, p, 0.3)
	turn := geom.Shape{{0, 0.6, 0.8}, {-1, 0, 0}, {0, 0.8, -0.6}} // it reverses the orientation
	var other []geom.Shape
	for _, z := range z {
		other = append(other, engine.Unflatten(times(z, turn, false).RawMatrix().Data, p))
	}
	for i := 1; i < len(z); i++ {
		var svd mat.SVD
		if !svd.Factorize(times(z[0], z[i], true), mat.SVDNone) {
			t.Fatal("no singular values")
		}
		want := 0.0
		for _, c := range svd.Values(nil) {
			want += math.Pow(math.Acos(c), 2)
		}
		g := expect.Must(s.Log(other[0], other[i]))
		expect.Abs(t, "distance", g.Length, math.Sqrt(want), 1e-12)
		expect.Abs(t, "velocity at the other basis", geom.Numbers(g.Velocity),
			times(expect.Must(s.Log(z[0], z[i])).Velocity, turn, false).RawMatrix().Data, 1e-12)
		expect.Abs(t, "distance of the end", expect.Must(s.Log(expect.Must(s.Exp(other[0], g.Velocity)).End, z[i])).Length, 0, 1e-12)
	}
	mixed := slices.Concat(z[:4], other[4:])
	a, b := expect.Must(stats.FrechetMean(s, z)), expect.Must(stats.FrechetMean(s, mixed))
	expect.Abs(t, "variance", b.Variance, a.Variance, 1e-12)
	expect.Abs(t, "mean", expect.Must(s.Log(a.Point, b.Point)).Length, 0, 1e-7)
}

// Lines of space are points of a sphere up to sign; planes are at the distances of their normals.
func TestGrassmannOfLines(t *testing.T) {
	t.Parallel()
	lines, planes := geom.On(manifold.Grassmann(3, 1)), geom.On(manifold.Grassmann(3, 2))
	x, y := []float64{0.6, 0, 0.8}, []float64{-0.36, -0.48, -0.8}
	want := math.Acos(math.Abs(floats.Dot(x, y)))
	expect.Abs(t, "angle of lines", expect.Must(lines.Log(x, y)).Length, want, 1e-14)
	normal := func(x []float64) []float64 { // a basis orthogonal to x
		u := []float64{x[1], -x[0], 0}
		if x[1] == 0 {
			u = []float64{0, 1, 0}
		}
		floats.Scale(1/floats.Norm(u, 2), u)
		v := []float64{x[1]*u[2] - x[2]*u[1], x[2]*u[0] - x[0]*u[2], x[0]*u[1] - x[1]*u[0]}
		return []float64{u[0], v[0], u[1], v[1], u[2], v[2]}
	}
	expect.Abs(t, "angle of planes", expect.Must(planes.Log(normal(x), normal(y))).Length, want, 1e-14)
	expect.Abs(t, "curvature", expect.Must(lines.SectionalCurvature(x, []float64{0, 1, 0}, []float64{-0.8, 0, 0.6})), 1, 1e-12)

	expect.Refused(t, expect.Error(lines.Log(x, []float64{0, 1, 0})), "cut locus")
	_, _, err := planes.Project([]float64{1, 2, 1, 2, 1, 2})
	expect.Refused(t, err, "no point of the manifold") // columns that are not independent
	expect.Refused(t, expect.Error(planes.Log([]float64{1, 0, 0, 2, 0, 0}, normal(x))), "Space.Project")
	close := []float64{0.6, 1e-9, 0.8}
	floats.Scale(1/floats.Norm(close, 2), close)
	expect.Rel(t, "a short way", expect.Must(lines.Log(x, close)).Length, 1e-9, 1e-6)
}
