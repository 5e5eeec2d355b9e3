package lie_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/framebundle"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/geomtest/heat"
	"anatomy/geom/lie"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
	"anatomy/geom/stochastic"
)

// quotient is G/H with the inner product a, nil for the standard one.
func quotient(g *lie.Group, a [][]float64, isotropy ...[]float64) lie.Homogeneous {
	return expect.Must(lie.Quotient(expect.Must(g.LeftInvariant(a)), isotropy))
}

var (
	aboutZ = []float64{0, 0, 1}
	skew2  = []float64{0, -1, 1, 0} // of GL(2)
)

// rotation4 is the rotation of SO(4) in the plane of the axes i and j, as coordinates in its Lie algebra.
func rotation4(i, j int) []float64 {
	g := lie.SO(4)
	for k := range g.Dim() {
		xi := make([]float64, g.Dim())
		xi[k] = 1
		v := expect.Must(g.Tangent(xi...))
		if v[4*i+j] != 0 {
			return xi
		}
	}
	return nil
}

// euclidean is the inner product tr vᵀw of the first p columns v, w of skew 4×4 matrices: pairs of them count double.
func euclidean(p int) [][]float64 {
	g := lie.SO(4)
	a := make([]float64, g.Dim())
	for k := range a {
		xi := make([]float64, g.Dim())
		xi[k] = 1
		v := expect.Must(g.Tangent(xi...))
		for i := range v {
			if i%4 < p {
				a[k] += v[i] * v[i]
			}
		}
		if a[k] == 0 {
			a[k] = 1 // vertical
		}
	}
	return diagonal(a...)
}

// tilted is an inner product on the Lie algebra of GL(2) that is invariant under rotations and in which multiples of the identity are not
// orthogonal to rotations. It descends to the same metric of GL(2)/SO(2) as some others, but by other horizontal vectors.
func tilted() [][]float64 {
	// 4 on the symmetric matrices and on (0 −1; 1 0), and their product with the identity.
	a := diagonal(4, 4, 4, 4)
	for _, k := range []int{0, 3} {
		a[k][1], a[1][k], a[k][2], a[2][k] = -1, -1, 1, 1
	}
	return a
}

// Covariance matrices by lifts that are not orthogonal pass the suite. Those with orthogonal lifts, spheres and pairs of orthonormal vectors
// are compared with other forms instead: see TestHomogeneousIsIntrinsic and TestPairsOfOrthonormalVectors.
func TestHomogeneous(t *testing.T) {
	t.Parallel()
	gl2 := lie.GL(2)
	m := quotient(gl2, tilted(), skew2)
	if _, closed := any(m).(geom.ClosedForms); closed {
		t.Error("closed forms of tilted lifts")
	}
	geomtest.Run(t, m, expm(gl2, []float64{0.3, -0.5, 0.2, -0.4}))
}

// Pairs of orthonormal vectors, SO(4)/SO(2), are no symmetric space, but its geodesics are exponentials: they are those that are
// integrated, and so is transport, and Log is the inverse of Exp.
func TestPairsOfOrthonormalVectors(t *testing.T) {
	t.Parallel()
	so4 := lie.SO(4)
	m := quotient(so4, nil, rotation4(2, 3))
	if _, closed := any(m).(geom.ClosedForms); !closed {
		t.Error("no closed forms, though geodesics are exponentials")
	}
	closed, integrated := geom.On(m), geom.On(struct{ geom.Charted }{m}, geom.Integrator(ode.RK4, 60))
	x := expm(so4, []float64{0.3, -0.2, 0.5, 0.1, 0.4, -0.6})
	_, v, err := closed.Project(x, expect.Must(so4.Tangent(0.5, -0.4, 0.3, 0.7, -0.2, 0.6)), expect.Must(so4.Tangent(0.2, 0.6, -0.5, 0.1, 0.3, -0.4)))
	if err != nil {
		t.Fatal(err)
	}
	g, want := expect.Must(closed.Exp(x, v[0])), expect.Must(integrated.Exp(x, v[0]))
	expect.Abs(t, "end of a geodesic", g.End, want.End, 1e-8)
	moved, alike := expect.Must(closed.Transport(g, v[1]))[0], expect.Must(integrated.Transport(want, v[1]))[0]
	expect.Abs(t, "transport", moved[len(moved)-1], alike[len(alike)-1], 1e-8)
	expect.Abs(t, "Log of Exp", expect.Must(closed.LogAll([][]float64{x}, [][]float64{g.End}))[0].Velocity, v[0], 1e-8)
}

// projected is v of the tangent vector at g, by the projection f of matrices, as a difference quotient's limit: f is linear or quadratic,
// so that the central difference is exact.
func projected(f func(g *mat.Dense) []float64, g, v []float64) (point, vector []float64) {
	n := int(math.Sqrt(float64(len(g))))
	moved := func(h float64) []float64 {
		return f(mat.NewDense(n, n, floats.AddScaledTo(make([]float64, len(g)), g, h, v)))
	}
	vector = moved(1)
	floats.Sub(vector, moved(-1))
	floats.Scale(0.5, vector)
	return moved(0), vector
}

// Distances, geodesics, transport and curvature are those of the intrinsic forms, whatever the lifts. Lifts of SPD(2) pass the suite in
// TestHomogeneous.
func TestHomogeneousIsIntrinsic(t *testing.T) {
	so3, gl3 := lie.SO(3), lie.GL(3)
	columns := func(from, to int) func(g *mat.Dense) []float64 {
		return func(g *mat.Dense) (out []float64) {
			n, _ := g.Dims()
			for i := range n {
				out = append(out, g.RawRowView(i)[from:to]...)
			}
			return out
		}
	}
	square := func(g *mat.Dense) []float64 {
		var p mat.Dense
		p.Mul(g, g.T())
		return p.RawMatrix().Data
	}
	for _, c := range []struct {
		name      string
		group     *lie.Group
		m         lie.Homogeneous
		intrinsic geom.Manifold
		f         func(g *mat.Dense) []float64
		turn      []float64 // an element of H
		size      float64
	}{
		{"sphere", so3, quotient(so3, nil, aboutZ), manifold.Sphere(2), columns(2, 3), expm(so3, []float64{0, 0, 3}), 1},
		{"SPD(3)", gl3, quotient(gl3, diagonal(4, 4, 4, 4, 4, 4, 4, 4, 4), []float64{0, -1, 0, 1, 0, 0, 0, 0, 0},
			[]float64{0, 0, -1, 0, 0, 0, 1, 0, 0}, []float64{0, 0, 0, 0, 0, -1, 0, 1, 0}), manifold.SPD(3), square, []float64{0, -1, 0, 1, 0, 0, 0, 0, 1}, 0.4},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, closed := c.m.(geom.ClosedForms); !closed {
				t.Error("no closed forms, though geodesics are exponentials")
			}
			quotient, intrinsic := geom.On(c.m), geom.On(c.intrinsic)
			xi := random(7, 4, c.group.Dim(), c.size)
			x, y := expm(c.group, xi[0]), expm(c.group, xi[1])
			n := int(math.Sqrt(float64(len(x))))
			var turned mat.Dense
			turned.Mul(mat.NewDense(n, n, y), mat.NewDense(n, n, c.turn))
			y = turned.RawMatrix().Data
			of := func(g []float64) []float64 { p, _ := projected(c.f, g, g); return p }
			down := func(g, v []float64) []float64 { _, v = projected(c.f, g, v); return v }

			g := expect.Must(quotient.Log(x, y))
			want := expect.Must(intrinsic.Log(of(x), of(y)))
			expect.Rel(t, "distance", g.Length, want.Length, 1e-11)
			expect.Abs(t, "velocity", down(x, g.Velocity), want.Velocity, 1e-10)
			for k := range g.Path {
				same := expect.Must(intrinsic.Log(of(g.Path[k]), want.Path[k])).Length
				expect.Abs(t, "distance of the geodesics", same, 0, 1e-7)
			}
			end := expect.Must(quotient.Exp(x, g.Velocity)).End
			expect.Abs(t, "end", expect.Must(quotient.Log(end, y)).Length, 0, 1e-7)

			_, vectors, err := quotient.Project(x, expect.Must(c.group.Tangent(xi[2]...)), expect.Must(c.group.Tangent(xi[3]...)))
			if err != nil {
				t.Fatal(err)
			}
			moved := expect.Must(quotient.Transport(g, vectors[0]))
			last := len(moved[0]) - 1
			alike := expect.Must(intrinsic.Transport(want, down(x, vectors[0])))
			got := down(g.Path[last], moved[0][last])
			expect.Abs(t, "transport", got, alike[0][len(alike[0])-1], 1e-9)
			expect.Rel(t, "sectional curvature", expect.Must(quotient.SectionalCurvature(x, vectors[0], vectors[1])),
				expect.Must(intrinsic.SectionalCurvature(of(x), down(x, vectors[0]), down(x, vectors[1]))), 1e-9)
			group, fibre, err := lie.ONeill(quotient, x, vectors[0], vectors[1])
			if err != nil {
				t.Fatal(err)
			}
			expect.Rel(t, "O'Neill's formula", group+fibre, expect.Must(quotient.SectionalCurvature(x, vectors[0], vectors[1])), 1e-9)
		})
	}
}

// In the metric that R^(n×p) induces on orthonormal vectors z the geodesic is (z v) exp((A −S; 1 A)) (1; 0) exp −A, A = zᵀv, S = vᵀv
// (A. Edelman, T. Arias and S. Smith, SIAM J. Matrix Anal. Appl. 20, 1998, equation 2.42).
func TestInducedMetricOfOrthonormalVectors(t *testing.T) {
	so4 := lie.SO(4)
	m := quotient(so4, euclidean(2), rotation4(2, 3))
	if _, closed := m.(geom.ClosedForms); closed {
		t.Error("closed forms of a metric whose geodesics are no exponentials")
	}
	space := geom.On(m, geom.Integrator(ode.RK4, 100))
	x := expm(so4, random(5, 1, 6, 0.7)[0])
	_, vectors, err := space.Project(x, expect.Must(so4.Tangent(0.5, -0.4, 0.3, 0.7, -0.2, 0.6)))
	if err != nil {
		t.Fatal(err)
	}
	// Project takes vectors at x: the tangent vector at the identity has been read as one there.
	g := expect.Must(space.Exp(x, vectors[0]))
	z, v := mat.NewDense(4, 4, x).Slice(0, 4, 0, 2), mat.NewDense(4, 4, vectors[0]).Slice(0, 4, 0, 2)
	var a, s, e, back, both, end mat.Dense
	a.Mul(z.T(), v)
	s.Mul(v.T(), v)
	block := mat.NewDense(4, 4, nil)
	for i := range 2 {
		for j := range 2 {
			block.Set(i, j, a.At(i, j))
			block.Set(2+i, 2+j, a.At(i, j))
			block.Set(i, 2+j, -s.At(i, j))
		}
		block.Set(2+i, i, 1)
	}
	e.Exp(block)
	a.Scale(-1, &a)
	back.Exp(&a)
	both.Augment(z, v)
	end.Product(&both, e.Slice(0, 4, 0, 2), &back)
	got := mat.DenseCopyOf(mat.NewDense(4, 4, g.End).Slice(0, 4, 0, 2))
	expect.Abs(t, "end", got.RawMatrix().Data, end.RawMatrix().Data, 1e-8)
	expect.Rel(t, "length", g.Length, mat.Norm(v, 2), 1e-12)
}

// Brownian motion of G/H in its lifts is the motion driven by an orthonormal basis of 𝔪; bridges between fibres give the heat kernel, and
// most probable paths are those of the sphere.
func TestLiftedProcesses(t *testing.T) {
	so3 := lie.SO(3)
	m := quotient(so3, nil, aboutZ)
	down, up := geom.On(m), geom.On(m.Total())
	horizontal, vertical := m.Split()
	run := stochastic.Run{Paths: 400, Steps: 50, Time: 0.8, Seed: 3}
	lifted := expect.Must(stochastic.Brownian(down, so3.Identity()).Sample(run))
	driven := expect.Must(expect.Must(lie.Driven(up, so3.Identity(), horizontal)).Sample(run))
	var height []float64
	for k, g := range lifted {
		expect.Abs(t, "lift", g, driven[k], 0.02)
		height = append(height, g[8])
	}
	expect.Mean(t, "height", height, math.Exp(-0.8))
	for _, g := range expect.Must(expect.Must(lie.Driven(up, so3.Identity(), vertical)).Sample(run)) {
		expect.Abs(t, "pole in a fibre", []float64{g[2], g[5], g[8]}, []float64{0, 0, 1}, 1e-12)
	}

	x := so3.Identity()
	y := mul3(expm(so3, []float64{0.9, 0, 0}), expm(so3, []float64{0, 0, 2}))
	found := expect.Must(stochastic.LogLikelihood(down, stochastic.Guided, x, [][]float64{y}, stochastic.Run{Paths: 200, Steps: 40, Time: 0.3, Seed: 5}))[0]
	expect.Estimate(t, "log density of a fibre", found.Log, found.StandardError, math.Log(heat.Kernel(0.3, math.Cos(0.9))))

	// A frame of 0.5 and 0.2 at the pole, as rotations about x and y, whose images are −e_2 and e_1.
	frame := [][]float64{floats.ScaleTo(make([]float64, 9), 0.5, expect.Must(so3.Tangent(1, 0, 0))), floats.ScaleTo(make([]float64, 9), 0.2, expect.Must(so3.Tangent(0, 1, 0)))}
	turned := mul3(expm(so3, []float64{0.5, 0.4, 0}), expm(so3, []float64{0, 0, 2}))
	path := expect.Must(framebundle.Over(down).MostProbablePath(framebundle.At(x, frame...), turned, 0))
	sphere := framebundle.On(manifold.Sphere(2))
	want := expect.Must(sphere.MostProbablePath(framebundle.At([]float64{0, 0, 1}, []float64{0, -0.5, 0}, []float64{0.2, 0, 0}),
		[]float64{turned[2], turned[5], turned[8]}, 0))
	expect.Rel(t, "energy of the most probable path", path.Energy, want.Energy, 1e-6)
	if path.Status != geom.Converged || !(path.StepError <= 1e-3) { // ends are compared as orbits
		t.Errorf("%v, step error %g", path, path.StepError)
	}
}

func mul3(a, b []float64) []float64 {
	var c mat.Dense
	c.Mul(mat.NewDense(3, 3, a), mat.NewDense(3, 3, b))
	return c.RawMatrix().Data
}

func TestQuotientRefuses(t *testing.T) {
	so3 := lie.SO(3)
	left := func(a [][]float64) geom.Charted { return expect.Must(so3.LeftInvariant(a)) }
	expect.Refused(t, expect.Error(lie.Quotient(manifold.Sphere(2), nil)), "LeftInvariant")
	expect.Refused(t, expect.Error(lie.Quotient(expect.Must(so3.RightInvariant(nil)), [][]float64{aboutZ})), "right-invariant")
	expect.Refused(t, expect.Error(lie.Quotient(left(diagonal(1, 2, 3)), [][]float64{aboutZ})), "does not descend", "invariant under Ad")
	expect.Refused(t, expect.Error(lie.Quotient(left(nil), [][]float64{{1, 0, 0}, {0, 1, 0}})), "no subalgebra")
	expect.Refused(t, expect.Error(lie.Quotient(left(nil), [][]float64{{1, 0, 0}, {2, 0, 0}})), "vector 1", "depends")
	expect.Refused(t, expect.Error(lie.Quotient(left(nil), [][]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}})), "a point")
	expect.Refused(t, expect.Error(lie.Quotient(left(nil), [][]float64{{1, 0}})), "2 coordinates")
	_, _, err := lie.ONeill(geom.On(left(nil)), so3.Identity(), expect.Must(so3.Tangent(1, 0, 0)), expect.Must(so3.Tangent(0, 1, 0)))
	expect.Refused(t, err, "want one from Quotient")
}

// SO(4)/(SO(2) × SO(2)) is the manifold of planes of R^4 with an orientation. Log finds the shortest geodesic between two fibres by whatever
// elements they are given: its length is √(θ_1² + θ_2²) with the principal angles, of which the larger is turned to π − θ where the
// orientations are opposite.
func TestLogBetweenFibres(t *testing.T) {
	const n = 60
	so4 := lie.SO(4)
	space := geom.On(quotient(so4, nil, rotation4(0, 1), rotation4(2, 3)))
	var x, y [][]float64
	var want []float64
	from, to, turns := random(1, n, 6, 0.7), random(2, n, 6, 0.7), random(3, n, 2, 2)
	for k := range n {
		a, b := mat.NewDense(4, 4, expm(so4, from[k])), mat.NewDense(4, 4, expm(so4, to[k]))
		h := make([]float64, 6)
		floats.AddScaled(h, turns[k][0], rotation4(0, 1))
		floats.AddScaled(h, turns[k][1], rotation4(2, 3))
		var turned, cosines mat.Dense
		turned.Mul(b, mat.NewDense(4, 4, expm(so4, h)))
		x, y = append(x, a.RawMatrix().Data), append(y, turned.RawMatrix().Data)
		cosines.Mul(a.Slice(0, 4, 0, 2).T(), b.Slice(0, 4, 0, 2))
		var svd mat.SVD
		svd.Factorize(&cosines, mat.SVDNone)
		c := svd.Values(nil)
		smaller, larger := math.Acos(min(c[0], 1)), math.Acos(c[1])
		if mat.Det(&cosines) < 0 {
			larger = math.Pi - larger
		}
		want = append(want, math.Hypot(smaller, larger))
	}
	for k, g := range expect.Must(space.LogAll(x, y)) {
		expect.Rel(t, "distance", g.Length, want[k], 1e-7)
	}
}

// The distance of two orthonormal pairs in R⁴ is that between all elements of their fibres: of y turned about 32 angles, the nearest in SO(4)
// is no nearer, also close to the cut locus; and it is the same both ways.
func TestLogIsThatOfTheNearestElement(t *testing.T) {
	t.Parallel()
	group := lie.SO(4)
	s := geom.On(quotient(group, nil, rotation4(2, 3)))
	whole := geom.On(expect.Must(group.LeftInvariant(nil)))
	random := rand.New(rand.NewPCG(404, 5))
	point := func() []float64 {
		z := make([]float64, 16)
		for i := range z {
			z[i] = random.NormFloat64()
		}
		if mat.Det(mat.NewDense(4, 4, z)) < 0 {
			floats.Scale(-1, z[:4])
		}
		z, _, err := whole.Project(z)
		return expect.Must(z, err)
	}
	var x, y, from, to [][]float64
	const pairs, turns = 40, 32
	for range pairs {
		x, y = append(x, point()), append(y, point())
	}
	for i := range pairs {
		for k := range turns {
			sin, cos := math.Sincos(2 * math.Pi * (float64(k) + 0.1) / turns)
			turned := slices.Clone(y[i])
			for row := range 4 {
				turned[4*row+2], turned[4*row+3] = cos*y[i][4*row+2]+sin*y[i][4*row+3], cos*y[i][4*row+3]-sin*y[i][4*row+2]
			}
			from, to = append(from, x[i]), append(to, turned)
		}
	}
	there, back := expect.Must(s.LogAll(x, y)), expect.Must(s.LogAll(y, x))
	elements := expect.Must(whole.LogAll(from, to))
	for i, g := range there {
		nearest := math.Inf(1)
		for _, e := range elements[i*turns : (i+1)*turns] {
			nearest = min(nearest, e.Length)
		}
		if !(g.Length <= nearest) {
			t.Errorf("pair %d: %v, an element of the fibre is %.5g away", i, g, nearest)
		}
		expect.Rel(t, "length back", back[i].Length, g.Length, 1e-8)
	}
}

// SO(3)/SO(2) refuses antipodes, whichever element of the fibre is given, as the sphere does, and has the points just before.
func TestAntipodesOfAQuotient(t *testing.T) {
	t.Parallel()
	s := geom.On(quotient(lie.SO(3), nil, aboutZ))
	north := []float64{1, 0, 0, 0, 1, 0, 0, 0, 1}
	for _, turn := range []float64{0, 0.7} {
		sin, cos := math.Sincos(turn)
		at := func(angle float64) []float64 { // about x, after the turn about z
			s, c := math.Sincos(angle)
			return []float64{cos, -sin, 0, c * sin, c * cos, -s, s * sin, s * cos, c}
		}
		expect.Refused(t, expect.Error(s.Log(north, at(math.Pi))), "no one shortest geodesic")
		expect.Rel(t, "length", expect.Must(s.Log(north, at(math.Pi-1e-6))).Length, expect.Must(s.Log(north, at(1))).Length*(math.Pi-1e-6), 1e-9)
	}
}
