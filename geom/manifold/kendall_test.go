package manifold_test

import (
	"math"
	"math/cmplx"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/spatial/r3"

	"anatomy/geom"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
	"anatomy/geom/stats"
	"anatomy/landmarks/morpho"
)

var (
	house = []float64{0, 0, 2, 0, 2, 1.5, 0, 1.2}
	kite  = []float64{0.3, 0, 1, -1, 1.5, 1, -0.6, 1.2}
)

func TestKendall(t *testing.T) {
	t.Parallel()
	m := manifold.Kendall(4, 2)
	z, _, err := geom.On(m).Project(house)
	geomtest.Run(t, m, expect.Must(z, err))
}

// Triangles are the sphere of radius 1/2: Gauss's curvature is 4.
func TestKendallTriangles(t *testing.T) {
	t.Parallel()
	triangles := [][]float64{{0, 0, 1, 0, 0, 1}, {0, 0, 1, 0, 2, 0}, {0, 0, 1, 0, 0.5, math.Sqrt(0.75)}}
	out := tilted(t, manifold.Kendall(3, 2), func(c geom.Chart, x *Node) *Node { return geom.ScalarCurvature(c, x) }, triangles...)
	for _, v := range out.Vector(0) {
		expect.Abs(t, "scalar curvature", v, 8, 1e-9)
	}
}

// The distance is arccos |⟨z, y⟩| of the configurations made standard, and translation, scaling and rotation change
// nothing.
func TestKendallDistance(t *testing.T) {
	t.Parallel()
	s := geom.On(manifold.Kendall(4, 2))
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

// tower and wedge are tetrahedra.
var (
	tower = []float64{0, 0, 0, 1, 0, 0.2, 0, 1.2, 0, 0.4, 0.3, 2}
	wedge = []float64{0.1, 0, 0.3, 1.4, 0, 0, 0, 0.9, 0.2, 0.8, 1, 0.7}
)

func TestKendallInSpace(t *testing.T) {
	t.Parallel()
	m := manifold.Kendall(4, 3)
	z, _, err := geom.On(m).Project(tower)
	geomtest.Run(t, m, expect.Must(z, err))
}

// turnedInSpace is a configuration turned by angles about two axes.
func turnedInSpace(z [][]float64, a, b float64) [][]float64 {
	out := make([][]float64, len(z))
	sa, ca := math.Sincos(a)
	sb, cb := math.Sincos(b)
	for i, p := range z {
		x, y := ca*p[0]-sa*p[1], sa*p[0]+ca*p[1]
		out[i] = []float64{x, cb*y - sb*p[2], sb*y + cb*p[2]}
	}
	return out
}

// brains are the first n brains of 24 landmarks.
func brains(t *testing.T, s *geom.Space[geom.Shape], n int) (z []geom.Shape) {
	t.Helper()
	for _, shape := range morpho.Brain3D().Shapes()[:n] {
		p, _, err := s.Project(shape)
		z = append(z, expect.Must(p, err))
	}
	return z
}

// Distances are those by singular values, however configurations are turned and however close they are. In one plane, which can be turned
// over, they are the lesser of those to a figure and to its mirror image.
func TestKendallDistanceInSpace(t *testing.T) {
	t.Parallel()
	s := geom.OnShapes(manifold.Kendall(24, 3))
	z := brains(t, s, 6)
	start, ends := slices.Repeat(z[:1], 8), slices.Clone(z[1:])
	for i := range ends {
		ends[i] = turnedInSpace(ends[i], float64(i), 2.1*float64(i))
	}
	for _, step := range []float64{1e-3, 1e-8} {
		moved := slices.Clone(z[0])
		moved[3] = []float64{moved[3][0] + step, moved[3][1], moved[3][2] - step}
		p, _, err := s.Project(turnedInSpace(moved, 1, 2))
		ends = append(ends, expect.Must(p, err))
	}
	ends = append(ends, turnedInSpace(z[0], 3, 1))
	for i, g := range expect.Must(s.LogAll(start, ends)) {
		expect.Abs(t, "distance", g.Length, expect.Must(morpho.ShapeDistance(z[0], ends[i])), 3e-15)
		if end := expect.Must(s.Exp(z[0], g.Velocity)).End; i < 5 {
			expect.Abs(t, "distance of the end", expect.Must(morpho.ShapeDistance(end, ends[i])), 0, 1e-14)
		}
	}

	plane, space := geom.On(manifold.Kendall(4, 2)), geom.On(manifold.Kendall(4, 3))
	flat := func(z []float64, mirror float64) (in2, in3 []float64) {
		for i := 0; i < len(z); i += 2 {
			in2, in3 = append(in2, z[i], mirror*z[i+1]), append(in3, z[i], mirror*z[i+1], 0)
		}
		in2, _, err := plane.Project(in2)
		if err != nil {
			t.Fatal(err)
		}
		in3, _, err = space.Project(in3)
		return in2, expect.Must(in3, err)
	}
	a2, a3 := flat(house, 1)
	b2, b3 := flat(kite, 1)
	c2, c3 := flat(kite, -1)
	least := min(expect.Must(plane.Log(a2, b2)).Length, expect.Must(plane.Log(a2, c2)).Length)
	expect.Abs(t, "distance of figures", expect.Must(space.Log(a3, b3)).Length, least, 1e-14)
	expect.Abs(t, "distance of mirrored figures", expect.Must(space.Log(a3, c3)).Length, least, 1e-14)

	line := []float64{0, 0, 0, 1, 2, 3, 2, 4, 6, -1, -2, -3}
	_, _, err := space.Project(line)
	expect.Refused(t, err, "on a line")
	expect.Refused(t, expect.Error(space.Log(a3, line)), "on a line")
	_, _, err = space.Project(slices.Repeat([]float64{1, 2, 3}, 4))
	expect.Refused(t, err, "in one place")
	_, _, err = space.Project(floats.ScaleTo(make([]float64, 12), 1e307, tower))
	expect.Refused(t, err, "no point of the manifold") // its size is no number
	regular, _, err := space.Project([]float64{1, 1, 1, 1, -1, -1, -1, 1, -1, -1, -1, 1})
	regular = expect.Must(regular, err)
	mirrored := slices.Clone(regular)
	for i := range mirrored {
		mirrored[i] *= -1
	}
	expect.Refused(t, expect.Error(space.Log(regular, mirrored)), "cut locus") // a tetrahedron and its mirror image
}

// Sectional curvature is 1 + ¾‖[u, v]ᵛ‖² of orthonormal vectors (B. O'Neill, Michigan Math. J. 13, 1966): the vertical part of their
// bracket is 2ω × z with Σ (|z_i|² − z_i z_iᵀ) ω = Σ v_i × u_i.
func TestKendallCurvatureInSpace(t *testing.T) {
	t.Parallel()
	s := geom.On(manifold.Kendall(4, 3))
	for _, z := range [][]float64{tower, wedge} {
		z, tangent, err := s.Project(z, []float64{1, 0, 0.3, 0, 0.2, 0, -1, 0, 0.5, 0, 0.1, 0}, []float64{0, 1, 0, 0.4, 0, 0, 0.2, 0, -0.7, 0, 0.3, 1})
		if err != nil {
			t.Fatal(err)
		}
		u, v := tangent[0], tangent[1]
		floats.Scale(1/floats.Norm(u, 2), u)
		floats.AddScaled(v, -floats.Dot(u, v), u)
		floats.Scale(1/floats.Norm(v, 2), v)
		vec := func(z []float64, i int) r3.Vec { return r3.Vec{X: z[3*i], Y: z[3*i+1], Z: z[3*i+2]} }
		var inertia mat.Dense
		inertia.ReuseAs(3, 3)
		torque := mat.NewVecDense(3, nil)
		for i := range 4 {
			p, c := vec(z, i), r3.Cross(vec(u, i), vec(v, i))
			x := mat.NewVecDense(3, []float64{p.X, p.Y, p.Z})
			inertia.RankOne(&inertia, -1, x, x)
			for a := range 3 {
				inertia.Set(a, a, inertia.At(a, a)+r3.Norm2(p))
			}
			torque.AddVec(torque, mat.NewVecDense(3, []float64{c.X, c.Y, c.Z}))
		}
		var omega mat.VecDense
		if err := omega.SolveVec(&inertia, torque); err != nil {
			t.Fatal(err)
		}
		want := 1 + 3*mat.Dot(&omega, torque)
		expect.Rel(t, "sectional curvature", expect.Must(s.SectionalCurvature(z, u, v)), want, 1e-11)
	}
}

// Means and components do not see how samples are turned. The full Procrustes mean of the same samples is another one: there
// Σ sin² ρ_i is stationary, whose gradient is −Σ (sin 2ρ_i/ρ_i) Log(x_i).
func TestKendallMeanInSpace(t *testing.T) {
	t.Parallel()
	s := geom.OnShapes(manifold.Kendall(24, 3))
	x := brains(t, s, 12)
	var other []geom.Shape
	for i := range x {
		other = append(other, turnedInSpace(x[i], 2.4*float64(i), 1.7*float64(i)))
	}
	a, b := expect.Must(stats.FrechetMean(s, x)), expect.Must(stats.FrechetMean(s, other))
	if a.Status != geom.Converged || b.Status != geom.Converged {
		t.Errorf("%s, %s", a.Status, b.Status)
	}
	expect.Abs(t, "variance", b.Variance, a.Variance, 1e-13)
	expect.Abs(t, "mean", expect.Must(morpho.ShapeDistance(a.Point, b.Point)), 0, 1e-8)
	p, q := expect.Must(stats.TangentPCA(a)), expect.Must(stats.TangentPCA(b))
	expect.Rel(t, "variances", q.Variances, p.Variances, 1e-8)

	full := expect.Must(morpho.Procrustes(x))
	mean, _, err := s.Project(full.Mean)
	mean = expect.Must(mean, err)
	slope, fall := make([]float64, 72), make([]float64, 72)
	for _, g := range expect.Must(s.LogAll(slices.Repeat([]geom.Shape{mean}, len(x)), x)) {
		floats.AddScaled(slope, math.Sin(2*g.Length)/g.Length/2/float64(len(x)), g.Velocity.Flat())
		floats.AddScaled(fall, 1/float64(len(x)), g.Velocity.Flat())
	}
	apart := expect.Must(morpho.ShapeDistance(a.Point, mean))
	expect.Abs(t, "gradient at the full Procrustes mean", floats.Norm(slope, 2), 0, 1e-13)
	expect.Abs(t, "distance of the means by one step", apart, floats.Norm(fall, 2), 0.1*apart)
	if apart < 1e-6 {
		t.Errorf("the Fréchet mean is %.3g from the full Procrustes mean", apart)
	}
}
