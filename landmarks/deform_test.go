package landmarks_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/autodiff"
	"anatomy/geom/engine"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/geom/stochastic"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/surfaces/mesh"
)

// affine is the kernel 1 + x·y, whose fields are affine.
type affine struct{}

func (affine) Gram(x, y *Node) *Node { return AddScalar(linalg.MatMul(x, linalg.T(y)), 1) }

func (k affine) Sum(x, y, b *Node) *Node { return linalg.MatMul(k.Gram(x, y), b) }

func (k affine) Hamilton(x, p *Node) (dx, dp *Node) {
	h := MulScalar(ReduceAllSum(Mul(k.Gram(x, x), linalg.MatMul(p, linalg.T(p)))), 0.5)
	return k.Sum(x, x, p), Neg(Gradient(h, x)[0])
}

func (affine) String() string { return "affine" }

// Where Σ p_j = 0 and A = Σ p_j x_jᵀ is symmetric, A stays, and φ(z) = exp(A) z.
func TestDeformIsAnExponential(t *testing.T) {
	a := mat.NewDense(2, 2, []float64{0.3, 0.2, 0.2, -0.5})
	x := [][]float64{{1, 0}, {0, 1}, {0, 0}}
	p := [][]float64{{0.3, 0.2}, {0.2, -0.5}, {-0.5, 0.3}}
	var want mat.Dense
	want.Exp(a)
	M := landmarks.New(3, 2, affine{}, geom.Integrator(ode.RK4, 50))
	g := expect.Must(M.Shoot(x, p))
	d := expect.Must(M.Deform(g, [][]float64{{2, 1}, {-3, 0.5}}))
	for i, f := range d.Jacobian {
		expect.Abs(t, "Dφ", f, [][]float64{mat.Row(nil, 0, &want), mat.Row(nil, 1, &want)}, 1e-8)
		var image mat.VecDense
		image.MulVec(&want, mat.NewVecDense(2, d.Points[i]))
		expect.Abs(t, "φ", d.Images[i], image.RawVector().Data, 1e-8)
	}
	expect.Abs(t, "log det", expect.Must(d.LogJacobians()), []float64{-0.2, -0.2}, 1e-8) // the trace of A
	s := expect.Must(d.Strains())[0]
	var eigen mat.EigenSym
	eigen.Factorize(mat.NewSymDense(2, a.RawMatrix().Data), true)
	values := eigen.Values(nil)
	expect.Abs(t, "stretches", s.Stretches, []float64{math.Exp(values[1]), math.Exp(values[0])}, 1e-8)
}

// flow returns a geodesic of five landmarks in R^d, with points around them.
func flow(d int, options ...geom.Option) (*landmarks.Space, *landmarks.Geodesic, [][]float64) {
	r := rand.New(rand.NewPCG(uint64(d), 0))
	random := func(n int, scale float64) [][]float64 {
		x := make([][]float64, n)
		for i := range x {
			for range d {
				x[i] = append(x[i], scale*r.NormFloat64())
			}
		}
		return x
	}
	M := landmarks.New(5, d, kernels.Gaussian(1), options...)
	g := expect.Must(M.Shoot(random(5, 1), random(5, 0.5)))
	return M, g, random(7, 1.5)
}

// Central differences of Transform have an error of second order; in two ways det Dφ = exp ∫ div v, by Simpson's rule along the paths.
func TestDeformAgainstDifferences(t *testing.T) {
	for d := 1; d <= 3; d++ {
		M, g, z := flow(d, geom.Integrator(ode.RK4, 40))
		deformation := expect.Must(M.Deform(g, z))
		paths := expect.Must(M.Transform(g, z))
		expect.Abs(t, "images", deformation.Images, paths[40], 1e-13)
		const h = 1e-5
		for b := range d {
			moved := func(by float64) [][]float64 {
				x := make([][]float64, len(z))
				for i := range z {
					x[i] = append([]float64{}, z[i]...)
					x[i][b] += by
				}
				return expect.Must(M.Transform(g, x))[40]
			}
			plus, minus := moved(h), moved(-h)
			for i := range z {
				for a := range d {
					expect.Abs(t, fmt.Sprintf("∂φ_%d/∂z_%d", a, b), deformation.Jacobian[i][a][b], (plus[i][a]-minus[i][a])/(2*h), 1e-8)
				}
			}
		}
		logs := expect.Must(deformation.LogJacobians())
		for i := range z {
			sum := 0.0
			for k, path := range paths {
				weight := []float64{2, 4}[k%2]
				if k == 0 || k == 40 {
					weight = 1
				}
				for j, x := range g.Path[k] { // ∇·(K(z, x) p) = −(z − x)·p K
					square, along := 0.0, 0.0
					for a := range d {
						off := path[i][a] - x[a]
						square += off * off
						along += off * g.Momenta[k][j][a]
					}
					sum -= weight / 120 * along * math.Exp(-square/2)
				}
			}
			expect.Abs(t, "log det Dφ by Liouville's formula", logs[i], sum, 1e-6)
		}
	}
}

// The derivative has the order of the integrator, and the inverse flow the inverse derivative.
func TestDeformHasTheOrderOfTheIntegrator(t *testing.T) {
	for _, method := range []ode.Method{ode.Euler, ode.Heun, ode.RK4} {
		errors := []float64{}
		_, g, z := flow(2, geom.Integrator(ode.RK4, 640))
		fine := landmarks.New(5, 2, kernels.Gaussian(1), geom.Integrator(ode.RK4, 640))
		exact := expect.Must(fine.Deform(g, z)).Jacobian
		for _, n := range []int{20, 40} {
			M := landmarks.New(5, 2, kernels.Gaussian(1), geom.Integrator(method, n))
			worst := 0.0
			for i, f := range expect.Must(M.Deform(expect.Must(M.With(geom.FixedSteps).Shoot(g.Start, g.Momentum)), z)).Jacobian {
				for a := range f {
					for b := range f[a] {
						worst = max(worst, math.Abs(f[a][b]-exact[i][a][b]))
					}
				}
			}
			errors = append(errors, worst)
		}
		expect.Abs(t, "order of "+method.Name, math.Log2(errors[0]/errors[1]), float64(method.Order), 0.25)
	}
	M, g, z := flow(3, geom.Integrator(ode.RK4, 60))
	there := expect.Must(M.Deform(g, z))
	back := expect.Must(M.Deform(expect.Must(M.Inverse(g)), there.Images))
	expect.Abs(t, "φ⁻¹(φ(z))", back.Images, z, 1e-6)
	for i := range z {
		var product mat.Dense
		product.Mul(mat.NewDense(3, 3, slices.Concat(back.Jacobian[i]...)), mat.NewDense(3, 3, slices.Concat(there.Jacobian[i]...)))
		expect.Abs(t, "Dφ⁻¹ Dφ", product.RawMatrix().Data, []float64{1, 0, 0, 0, 1, 0, 0, 0, 1}, 1e-6)
	}
}

// The derivative of Σ F² by the momenta, in reverse mode, is that of differences; many points in blocks are what each is alone.
func TestDeformIsDifferentiable(t *testing.T) {
	M, g, z := flow(2, geom.Integrator(ode.RK4, 10))
	value := func(in []*Node) *Node {
		unit := BroadcastPrefix(linalg.Eye(in[0].Graph(), in[0].DType(), 2), len(z))
		_, f := M.TransformFramesOnGraph(in[0], in[1], in[2], unit)
		return ReduceAllSum(Square(f))
	}
	q, p := shape.Flat(g.Start), shape.Flat(g.Momentum)
	gradient := expect.Must(engine.Run(func(in []*Node) []*Node {
		return []*Node{Gradient(value(in), in[1])[0]}
	}, q, p, z)).Vector(0)
	compiled := engine.Compile(func(in []*Node) []*Node { return []*Node{value(in)} })
	at := func(p []float64) float64 { return expect.Must(compiled.Call(q, p, z)).Scalar(0) }
	for k := range p {
		const h = 1e-5
		plus, minus := append([]float64{}, p...), append([]float64{}, p...)
		plus[k] += h
		minus[k] -= h
		expect.Abs(t, "gradient by the momenta", gradient[k], (at(plus)-at(minus))/(2*h), 1e-7)
	}

	few := expect.Must(M.Deform(g, z))
	defer landmarks.BlocksOf(5 * 12)() // of 12 points and 5 landmarks
	many := slices.Concat(z, z, z)
	for i, f := range expect.Must(M.Deform(g, many)).Jacobian {
		expect.Abs(t, "a point of many", f, few.Jacobian[i%len(z)], 1e-13)
	}
	expect.Refused(t, expect.Error(M.Deform(g, nil)), "Deform: no points")
	expect.Refused(t, expect.Error(M.Inverse(nil)), "Inverse: the geodesic is nil")
}

// Derivatives of the flow by the points and by the momenta are those of autodiff.Jacobian, to rounding: those of the variational equation,
// integrated by the same steps.
func TestDeformIsTheJacobian(t *testing.T) {
	M, g, z := flow(2, geom.Integrator(ode.RK4, 10))
	carry := func(t *Node, y ode.State) ode.State {
		return append(geom.Geodesics(M.Manifold)(t, y[:2]), M.Manifold.Velocity(y[0], y[1], y[2]))
	}
	out := expect.Must(engine.Run(func(in []*Node) []*Node {
		q, p, z := in[0], in[1], in[2]
		_, frames := M.TransformFramesOnGraph(q, p, z, BroadcastPrefix(linalg.Eye(q.Graph(), q.DType(), 2), 7))
		// images are those of points z with momenta p, [..., 14]; one of the two may have an axis in front.
		images := func(z, p *Node) *Node {
			batch := append([]int{}, z.Shape().Dimensions[:z.Rank()-1]...)
			if p.Rank() > z.Rank() {
				batch = []int{p.Shape().Dim(0)}
			}
			all := func(x *Node, dims ...int) *Node {
				if x.Rank() <= len(batch) {
					x = BroadcastPrefix(x, batch...)
				}
				return Reshape(x, append(slices.Clone(batch), dims...)...)
			}
			return Reshape(M.TransformOnGraph(all(q, 10), all(p, 10), all(z, 7, 2)), append(batch, 14)...)
		}
		flat := Reshape(z, 14)
		byPoints := autodiff.Jacobian(func(z *Node) *Node { return images(z, p) }, flat)
		byMomenta := autodiff.Jacobian(func(p *Node) *Node { return images(flat, p) }, p)
		var columns []*Node
		for k := range M.Manifold.Dim() {
			unit := make([]float64, M.Manifold.Dim())
			unit[k] = 1
			start := ode.State{q, p, z, ZerosLike(q), Const(q.Graph(), unit), ZerosLike(z)}
			columns = append(columns, Reshape(ode.Flow(ode.Tangent(carry), ode.RK4, 10, start)[5], 14))
		}
		return []*Node{frames, byPoints, byMomenta, Stack(columns, -1)}
	}, shape.Flat(g.Start), shape.Flat(g.Momentum), z))
	whole := make([][]float64, 14)
	for i, f := range out.Array3(0) {
		for a, row := range f {
			whole[2*i+a] = make([]float64, 14)
			copy(whole[2*i+a][2*i:], row)
		}
	}
	expect.Abs(t, "by the points", whole, out.Matrix(1), 1e-12)
	expect.Abs(t, "by the momenta", out.Matrix(3), out.Matrix(2), 1e-12)
}

// A sphere and an ellipsoid that grow by a flow to a known shape: the ratio of areas of each triangle is det F |F⁻ᵀn| for its normal n, and the whole
// area tends to the closed form of a spheroid with the square of the size of triangles.
func TestAreaRatiosOfGrowth(t *testing.T) {
	x := [][]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0, 0, 0}}
	M := landmarks.New(4, 3, affine{}, geom.Integrator(ode.RK4, 50))
	for _, c := range []struct {
		name   string
		before [3]float64 // half axes
		rates  [3]float64 // of growth, so that the end is a spheroid with the third axis
	}{
		{"sphere", [3]float64{1, 1, 1}, [3]float64{0.2, 0.2, 0.6}},
		{"ellipsoid", [3]float64{1.2, 1, 1}, [3]float64{0.1, 0.1 + math.Log(1.2), 0.7}},
	} {
		p := [][]float64{{c.rates[0], 0, 0}, {0, c.rates[1], 0}, {0, 0, c.rates[2]}, {-c.rates[0], -c.rates[1], -c.rates[2]}}
		g := expect.Must(M.Shoot(x, p))
		a, b := c.before[0]*math.Exp(c.rates[0]), c.before[2]*math.Exp(c.rates[2])
		e := math.Sqrt(1 - a*a/(b*b))
		spheroid := 2 * math.Pi * a * a * (1 + b/(a*e)*math.Asin(e))
		var off []float64
		for _, subdivisions := range []int{3, 4} {
			before := mesh.Icosphere(subdivisions).Map(func(x []float64) []float64 {
				return []float64{c.before[0] * x[0], c.before[1] * x[1], c.before[2] * x[2]}
			})
			path := expect.Must(M.Transform(g, before.Vertices))
			strains := expect.Must(mesh.Strains(before, before.With(path[len(path)-1])))
			jacobian := expect.Must(M.Deform(g, before.Centroids())).Jacobian
			area := 0.0
			for i, n := range before.Normals() {
				f := mat.NewDense(3, 3, slices.Concat(jacobian[i]...))
				var grown mat.VecDense
				if err := grown.SolveVec(f.T(), mat.NewVecDense(3, n)); err != nil {
					t.Fatal(err)
				}
				area += mat.Det(f) * mat.Norm(&grown, 2)
				expect.Abs(t, c.name+": log of the ratio of areas", strains[i].LogJacobian(), math.Log(mat.Det(f)*mat.Norm(&grown, 2)/floats.Norm(n, 2)), 1e-7)
			}
			off = append(off, spheroid-area)
		}
		expect.Abs(t, c.name+": order of the whole area", math.Log2(off[0]/off[1]), 2, 0.1)
	}
}

// kunita are paths of Kunita's process from q with a Gaussian kernel of width 1.
func kunita(M *landmarks.Space, q [][]float64, amplitude float64, run stochastic.Run) *stochastic.Paths[geom.Shape] {
	return expect.Must(expect.Must(M.Kunita(q, 1, amplitude)).Paths(run))
}

// Fields of the affine kernel carry three landmarks of the plane by affine maps: that of their ends, whatever path leads there. Each step
// along a line is taken by the integrator, with the error of its order.
func TestDeformAlongIsAffine(t *testing.T) {
	q := [][]float64{{0, 0}, {1, 0.2}, {0.3, 1.1}}
	path := kunita(landmarks.New(3, 2, kernels.Gaussian(1)), q, 0.3, stochastic.Run{Paths: 1, Steps: 200, Seed: 4}).Points[0]
	M := landmarks.New(3, 2, affine{}, geom.Integrator(ode.RK4, 1))
	z := append([][]float64{{2, -1}, {-3, 0.5}}, q...)
	d := expect.Must(M.DeformAlong(path, z))
	edges := func(x [][]float64) *mat.Dense {
		return mat.NewDense(2, 2, []float64{x[1][0] - x[0][0], x[2][0] - x[0][0], x[1][1] - x[0][1], x[2][1] - x[0][1]})
	}
	end := path[len(path)-1]
	var inverse, want mat.Dense
	if err := inverse.Inverse(edges(q)); err != nil {
		t.Fatal(err)
	}
	want.Mul(edges(end), &inverse)
	for i, f := range d.Jacobian {
		expect.Abs(t, "Dφ", f, [][]float64{mat.Row(nil, 0, &want), mat.Row(nil, 1, &want)}, 1e-6)
		var image mat.VecDense
		image.MulVec(&want, mat.NewVecDense(2, floats.SubTo(make([]float64, 2), d.Points[i], q[0])))
		expect.Abs(t, "φ", d.Images[i], floats.AddTo(make([]float64, 2), image.RawVector().Data, end[0]), 1e-6)
	}
	expect.Abs(t, "landmarks", d.Images[2:], end, 1e-12)

	euler := landmarks.New(3, 2, affine{}, geom.Integrator(ode.Euler, 1))
	expect.Refused(t, expect.Error(euler.DeformAlong(path, z)), "Euler", "ode.Heun")
	expect.Refused(t, expect.Error(M.DeformAlong(path[:1], z)), "1 shapes, want at least 2")
	expect.Refused(t, expect.Error(M.DeformAlong(path, nil)), "no points")
	expect.Refused(t, expect.Error(M.DeformAlong([]geom.Shape{q, {{0, 0}, {0, 0}, {1, 1}}}, z)), "landmarks 0 and 1 coincide")
}

// Along a geodesic the flow is its own, to the second order of the lines between its shapes.
func TestDeformAlongGeodesic(t *testing.T) {
	var off []float64
	for _, n := range []int{20, 40} {
		M, g, z := flow(2, geom.Integrator(ode.RK4, n))
		along, want := expect.Must(M.DeformAlong(g.Path, z)), expect.Must(M.Deform(g, z))
		worst := 0.0
		for i, f := range along.Jacobian {
			worst = max(worst, floats.Distance(slices.Concat(f...), slices.Concat(want.Jacobian[i]...), math.Inf(1)))
		}
		off = append(off, worst)
	}
	t.Logf("%.3g", off)
	expect.Abs(t, "order", math.Log2(off[0]/off[1]), 2, 0.2)
}

// Along paths of Kunita's process log det Dφ at a landmark is ∫ div(K(x, x_j) K⁻¹ ∘dx), by the trapezoidal rule; every second, fourth shape of
// a path gives the same to an order of at least ½.
func TestDeformAlongKunita(t *testing.T) {
	q := [][]float64{{0, 0}, {0.9, 0.1}, {0.2, 1}, {-0.8, 0.3}, {0.1, -0.9}}
	const paths, fine = 16, 1024
	M := landmarks.New(5, 2, kernels.Gaussian(1), geom.Integrator(ode.RK4, 1))
	k := func(x, y []float64) float64 { return math.Exp(-math.Pow(floats.Distance(x, y, 2), 2) / 2) }
	// divergence is that of the field at landmark 0 that moves landmarks x by dx.
	divergence := func(x, dx [][]float64) float64 {
		gram, rhs := mat.NewDense(5, 5, nil), mat.NewDense(5, 2, slices.Concat(dx...))
		for i := range x {
			for j := range x {
				gram.Set(i, j, k(x[i], x[j]))
			}
		}
		var p mat.Dense
		if err := p.Solve(gram, rhs); err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for j := range x {
			sum -= k(x[0], x[j]) * ((x[0][0]-x[j][0])*p.At(j, 0) + (x[0][1]-x[j][1])*p.At(j, 1))
		}
		return sum
	}
	var liouville, coarse [2]float64 // mean squares
	for _, path := range kunita(M, q, 0.3, stochastic.Run{Paths: paths, Steps: fine, Seed: 5}).Points {
		logs := map[int]float64{}
		for _, stride := range []int{1, 4, 16, 64} {
			var some []geom.Shape
			for i := 0; i <= fine; i += stride {
				some = append(some, path[i])
			}
			logs[stride] = expect.Must(expect.Must(M.DeformAlong(some, q[:1])).LogJacobians())[0]
			if stride > 4 {
				continue
			}
			sum := 0.0
			for i, x := range some[1:] {
				dx := make([][]float64, 5)
				for j := range dx {
					dx[j] = floats.SubTo(make([]float64, 2), x[j], some[i][j])
				}
				sum += (divergence(some[i], dx) + divergence(x, dx)) / 2
			}
			liouville[stride/4] += math.Pow(sum-logs[stride], 2) / paths
		}
		coarse[0] += math.Pow(logs[64]-logs[1], 2) / paths
		coarse[1] += math.Pow(logs[16]-logs[1], 2) / paths
	}
	t.Logf("Liouville: %.3g, of every fourth %.3g; every 16th shape: %.3g, every 64th %.3g", math.Sqrt(liouville[0]), math.Sqrt(liouville[1]), math.Sqrt(coarse[1]), math.Sqrt(coarse[0]))
	expect.Abs(t, "log det Dφ by Liouville's formula", math.Sqrt(liouville[0]), 0, 1e-3)
	if order := math.Log2(coarse[0]/coarse[1]) / 4; !(order > 0.4) {
		t.Errorf("order %.2f, want about ½", order)
	}
}

// Where landmarks are close to a point they tell the derivative of Kunita's flow there, whose law is known: with a kernel of width w and the
// amplitude a, log det Dφ at time T is normal with variance s² = 2aT/w² in the plane, and its mean is −s²/2, so that areas stay the same in
// the mean.
func TestDeformAlongHasTheLawOfKunita(t *testing.T) {
	const width, amplitude, h, paths = 0.8, 0.06, 0.2, 400
	q := [][]float64{{0, 0}, {h, 0}, {-h, 0}, {0, h}, {0, -h}}
	M := landmarks.New(5, 2, kernels.Gaussian(width), geom.Integrator(ode.RK4, 1))
	deviation := math.Sqrt(2 * amplitude / (width * width))
	var logs, ratios []float64
	for _, path := range kunita(M, q, amplitude, stochastic.Run{Paths: paths, Steps: 40, Seed: 6}).Points {
		log := expect.Must(expect.Must(M.DeformAlong(path, q[:1])).LogJacobians())[0]
		logs, ratios = append(logs, log), append(ratios, math.Exp(log))
	}
	expect.Mean(t, "ratio of areas", ratios, 1)
	expect.Mean(t, "log-Jacobian", logs, -deviation*deviation/2)
	expect.Distribution(t, "log-Jacobian", logs, func(x float64) float64 {
		return math.Erfc(-(x/deviation+deviation/2)/math.Sqrt2) / 2
	})
}
