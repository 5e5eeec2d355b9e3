package landmarks_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
	"anatomy/kernels"
	"anatomy/landmarks"
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

// Central differences of Carry have an error of second order; in two ways det Dφ = exp ∫ div v, by Simpson's rule along the paths.
func TestDeformAgainstDifferences(t *testing.T) {
	for d := 1; d <= 3; d++ {
		M, g, z := flow(d, geom.Integrator(ode.RK4, 40))
		deformation := expect.Must(M.Deform(g, z))
		paths := expect.Must(M.Carry(g, z))
		expect.Abs(t, "images", deformation.Images, paths[40], 1e-13)
		const h = 1e-5
		for b := range d {
			moved := func(by float64) [][]float64 {
				x := make([][]float64, len(z))
				for i := range z {
					x[i] = append([]float64{}, z[i]...)
					x[i][b] += by
				}
				return expect.Must(M.Carry(g, x))[40]
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
			for i, f := range expect.Must(M.Deform(expect.Must(M.ShootInexact(g.Start, g.Momentum)), z)).Jacobian {
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
		_, f := M.CarryFramesOnGraph(in[0], in[1], in[2], unit)
		return ReduceAllSum(Square(f))
	}
	q, p := M.Vector(g.Start), M.Vector(g.Momentum)
	gradient := expect.Must(engine.Run(func(in []*Node) []*Node {
		return []*Node{Gradient(value(in), in[1])[0]}
	}, q, p, z)).Vector(0)
	at := func(p []float64) float64 {
		return expect.Must(engine.Run(func(in []*Node) []*Node { return []*Node{value(in)} }, q, p, z)).Scalar(0)
	}
	for k := range p {
		const h = 1e-5
		plus, minus := append([]float64{}, p...), append([]float64{}, p...)
		plus[k] += h
		minus[k] -= h
		expect.Abs(t, "gradient by the momenta", gradient[k], (at(plus)-at(minus))/(2*h), 1e-7)
	}

	many := make([][]float64, 1<<20)
	for i := range many {
		many[i] = z[i%len(z)]
	}
	wide := expect.Must(M.Deform(g, many))
	few := expect.Must(M.Deform(g, z))
	for i := 0; i < len(many); i += 99991 {
		expect.Abs(t, "a point of a million", wide.Jacobian[i], few.Jacobian[i%len(z)], 1e-13)
	}
	expect.Refused(t, expect.Error(M.Deform(g, nil)), "Deform: no points")
	expect.Refused(t, expect.Error(M.Inverse(nil)), "Inverse: the geodesic is nil")
}
