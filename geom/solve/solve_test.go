package solve_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/solve"
)

// each makes a System of one function with its derivative, for systems that differ by their number b.
func each(f func(b int, x []float64) []float64, df func(b int, x, dx []float64) []float64) solve.System {
	return solve.System{
		Residual: func(x [][]float64) ([][]float64, error) {
			out := make([][]float64, len(x))
			for b := range x {
				out[b] = f(b, x[b])
			}
			return out, nil
		},
		Derivative: func(x, dx [][]float64) ([][]float64, error) {
			out := make([][]float64, len(x))
			for b := range x {
				out[b] = df(b, x[b], dx[b])
			}
			return out, nil
		},
	}
}

// start makes roots that set out from points.
func start(t *testing.T, s solve.System, tolerance float64, x ...[]float64) []*solve.Root {
	t.Helper()
	f, err := s.Residual(x)
	if err != nil {
		t.Fatal(err)
	}
	var roots []*solve.Root
	for b := range x {
		roots = append(roots, solve.NewRoot(x[b], f[b], tolerance))
	}
	return roots
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func found(t *testing.T, what string, r *solve.Root) {
	t.Helper()
	if !r.Done || r.Status != solve.Converged {
		t.Errorf("%s: done %t, %s after %d iterations at |F| = %.2g", what, r.Done, r.Status, r.Iterations, r.Norm)
	}
}

// matrix is a symmetric positive definite matrix with eigenvalues from 1/condition to 1.
func matrix(seed uint64, d int, condition float64) *mat.SymDense {
	random := rand.New(rand.NewPCG(seed, 0))
	raw := mat.NewDense(d, d, nil)
	for i := range d {
		for j := range d {
			raw.Set(i, j, random.NormFloat64())
		}
	}
	var qr mat.QR
	var q mat.Dense
	qr.Factorize(raw)
	qr.QTo(&q)
	out := mat.NewSymDense(d, nil)
	for k := range d {
		out.SymRankOne(out, math.Pow(condition, -float64(k)/float64(d-1)), q.ColView(k))
	}
	return out
}

func times(a mat.Matrix, x []float64) []float64 {
	var y mat.VecDense
	y.MulVec(a, mat.NewVecDense(len(x), x))
	return y.RawVector().Data
}

// order is the exponent q of |e_{k+1}| ~ |e_k|^q at the last of errors that are above rounding.
func order(e []float64) float64 {
	var seen []float64
	for _, e := range e {
		if len(seen) == 0 || e > 1e-13 && e < seen[len(seen)-1] {
			seen = append(seen, e)
		}
	}
	n := len(seen)
	return math.Log(seen[n-1]/seen[n-2]) / math.Log(seen[n-2]/seen[n-3])
}

// In one dimension Broyden's method is that of secants, of order (1 + √5)/2, and Newton's with an exact solution of its
// equation has order 2.
func TestOrders(t *testing.T) {
	want := 0.7
	f := func(x float64) float64 { return math.Expm1(0.8*(x-want)) + 0.3*(x-want) }
	var errs []float64
	s := each(func(_ int, x []float64) []float64 {
		errs = append(errs, math.Abs(x[0]-want))
		return []float64{f(x[0])}
	}, func(_ int, x, dx []float64) []float64 {
		return []float64{(0.8*math.Exp(0.8*(x[0]-want)) + 0.3) * dx[0]}
	})
	for _, c := range []struct {
		name  string
		order float64
		run   func(roots []*solve.Root) error
	}{
		{"Broyden", (1 + math.Sqrt(5)) / 2, func(r []*solve.Root) error { return s.Broyden(context.Background(), r, 30) }},
		{"Newton", 2, func(r []*solve.Root) error { return s.Newton(context.Background(), r, 30) }},
	} {
		errs = nil
		roots := start(t, s, 1e-15, []float64{0})
		ok(t, c.run(roots))
		found(t, c.name, roots[0])
		expect.Abs(t, c.name+": order", order(errs), c.order, 0.15)
	}
}

// A search goes on from an expectation that is wrong, also where the residual is larger than expected.
func TestExpectedWrongly(t *testing.T) {
	s := each(func(_ int, x []float64) []float64 { return []float64{x[0] - 3} }, nil)
	r := solve.NewRoot([]float64{0}, []float64{-3}, 1e-12)
	r.Expect([]float64{0.5})
	ok(t, s.Broyden(context.Background(), []*solve.Root{r}, 2))
	found(t, "root", r)
}

// curved is A x + c sin(x) − b with a root at 1, 2, …; a is ill-conditioned.
func curved(a mat.Matrix, c float64) solve.System {
	d, _ := a.Dims()
	root := make([]float64, d)
	for i := range root {
		root[i] = float64(i + 1)
	}
	f := func(x []float64) []float64 {
		y := times(a, x)
		for i := range y {
			y[i] += c * math.Sin(x[i])
		}
		return y
	}
	b := f(root)
	return each(func(_ int, x []float64) []float64 {
		return floats.SubTo(make([]float64, d), f(x), b)
	}, func(_ int, x, dx []float64) []float64 {
		y := times(a, dx)
		for i := range y {
			y[i] += c * math.Cos(x[i]) * dx[i]
		}
		return y
	})
}

// Equations of condition 1e6 are no harder than well-conditioned ones once they are preconditioned.
func TestPreconditioner(t *testing.T) {
	const d = 20
	a := matrix(1, d, 1e6)
	var chol mat.Cholesky
	chol.Factorize(a)
	s := curved(a, 1e-7)
	s.Precondition = func(f [][]float64) ([][]float64, error) {
		out := make([][]float64, len(f))
		for b := range f {
			var y mat.VecDense
			ok(t, chol.SolveVecTo(&y, mat.NewVecDense(d, f[b])))
			out[b] = y.RawVector().Data
		}
		return out, nil
	}
	want := make([]float64, d)
	for i := range want {
		want[i] = float64(i + 1)
	}
	for name, run := range map[string]func(r []*solve.Root) error{
		"Broyden": func(r []*solve.Root) error { return s.Broyden(context.Background(), r, 15) },
		"Newton":  func(r []*solve.Root) error { return s.Newton(context.Background(), r, 8) },
	} {
		roots := start(t, s, 1e-14*floats.Norm(want, 2), make([]float64, d))
		ok(t, run(roots))
		found(t, name, roots[0])
		expect.Abs(t, name, roots[0].X, want, 1e-7) // 1e-14 by the condition, and room
	}
	plain := curved(a, 1e-7)
	roots := start(t, plain, 1e-14*floats.Norm(want, 2), make([]float64, d))
	ok(t, plain.Broyden(context.Background(), roots, 15))
	if roots[0].Done {
		t.Error("the preconditioner is not needed: the test tests nothing")
	}
}

// An affine system in d unknowns ends after 2d steps of Broyden's method (D. M. Gay, SIAM J. Numer. Anal. 16, 1979), one
// step of Newton's, and d + 2 values of Anderson's with d steps in memory.
func TestAffine(t *testing.T) {
	const d = 6
	a := matrix(2, d, 3)
	s := curved(a, 0)
	roots := start(t, s, 1e-12, make([]float64, d))
	ok(t, s.Broyden(context.Background(), roots, 2*d+1))
	found(t, "Broyden", roots[0])

	residual := func(x []float64) []float64 { return expect.Must(s.Residual([][]float64{x}))[0] }
	x, steps, values := make([]float64, d), solve.Anderson{Memory: 20}, 1
	f := residual(x)
	for ; floats.Norm(f, 2) > 1e-11 && values < 50; values++ {
		next, rest := steps.Correct(x, f)
		floats.Sub(next, rest)
		now := residual(next)
		steps.Learn(floats.SubTo(make([]float64, d), next, x), floats.SubTo(make([]float64, d), now, f))
		x, f = next, now
	}
	if values > d+2 {
		t.Errorf("Anderson: %d values to |F| = %.2g", values, floats.Norm(f, 2))
	}
}

// Rosenbrock's valley as two equations, from the usual start and from others, evaluated together: each as if it were alone.
func TestTogether(t *testing.T) {
	s := each(func(_ int, x []float64) []float64 { return []float64{10 * (x[1] - x[0]*x[0]), 1 - x[0]} },
		func(_ int, x, dx []float64) []float64 { return []float64{10 * (dx[1] - 2*x[0]*dx[0]), -dx[0]} })
	starts := [][]float64{{-1.2, 1}, {3, -2}, {1, 1}, {0, 0}}
	together := start(t, s, 1e-12, starts...)
	ok(t, s.Newton(context.Background(), together, 50))
	for b, r := range together {
		found(t, "Rosenbrock", r)
		expect.Abs(t, "root", r.X, []float64{1, 1}, 1e-11)
		alone := start(t, s, 1e-12, starts[b])
		ok(t, s.Newton(context.Background(), alone, 50))
		if alone[0].Iterations != r.Iterations || floats.Distance(alone[0].X, r.X, 2) != 0 {
			t.Errorf("start %d: %d iterations to %v, alone %d to %v", b, r.Iterations, r.X, alone[0].Iterations, alone[0].X)
		}
	}
	if together[2].Iterations != 0 {
		t.Errorf("%d iterations from the root", together[2].Iterations)
	}
}

// Equations that change a little keep what has been learned of them, and a step to where they have no value is shortened.
func TestRenew(t *testing.T) {
	const d = 12
	shift := 0.0
	s := each(func(_ int, x []float64) []float64 {
		y := make([]float64, d)
		for i := range y {
			if x[i] > 2.5 {
				return append(make([]float64, d-1), math.NaN())
			}
			y[i] = (1+float64(i)/d)*x[i] + 0.2*math.Sin(x[(i+1)%d]) - 1 - shift
		}
		return y
	}, nil)
	far := make([]float64, d)
	floats.AddConst(-2, far)
	roots := start(t, s, 1e-11, far)
	ok(t, s.Broyden(context.Background(), roots, 60))
	found(t, "first", roots[0])
	first := roots[0].Iterations
	shift = 1e-3
	ok(t, s.Renew(roots))
	ok(t, s.Broyden(context.Background(), roots, 60))
	found(t, "renewed", roots[0])
	cold := start(t, s, 1e-11, roots[0].X)
	shift = 0
	ok(t, s.Renew(cold))
	ok(t, s.Broyden(context.Background(), cold, 60))
	if warm := roots[0].Iterations - first; warm >= cold[0].Iterations {
		t.Errorf("%d evaluations the first time, %d with what was learned, %d without", first, warm, cold[0].Iterations)
	}
	better := start(t, s, 1e-11, far)
	ok(t, s.Improve(better, [][]float64{roots[0].X}))
	if better[0].Norm >= start(t, s, 1e-11, far)[0].Norm {
		t.Error("a better guess is not taken")
	}
}

func TestStatus(t *testing.T) {
	none := each(func(_ int, x []float64) []float64 { return []float64{1 + x[0]*x[0]} }, func(_ int, x, dx []float64) []float64 { return []float64{2 * x[0] * dx[0]} })
	roots := start(t, none, 1e-10, []float64{2})
	ok(t, none.Broyden(context.Background(), roots, 100))
	if roots[0].Done {
		t.Error("Broyden's method found a root of 1 + x²")
	}
	ok(t, none.Newton(context.Background(), roots, 100))
	if roots[0].Status != solve.Stalled || !roots[0].Done {
		t.Errorf("no root: %s", roots[0].Status)
	}
	slow := each(func(_ int, x []float64) []float64 { return []float64{math.Atan(x[0])} }, func(_ int, x, dx []float64) []float64 { return []float64{dx[0] / (1 + x[0]*x[0])} })
	roots = start(t, slow, 1e-12, []float64{5})
	ok(t, slow.Newton(context.Background(), roots, 1))
	if roots[0].Status != solve.IterationLimit || !roots[0].Done {
		t.Errorf("one step: %s", roots[0].Status)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for name, run := range map[string]func(context.Context, []*solve.Root, int) error{"Broyden": slow.Broyden, "Newton": slow.Newton} {
		roots = start(t, slow, 1e-12, []float64{5})
		ok(t, run(ended, roots, 10))
		if roots[0].Status != solve.Cancelled || !roots[0].Done {
			t.Errorf("%s: cancelled: %s", name, roots[0].Status)
		}
	}
	broken := solve.System{Residual: func([][]float64) ([][]float64, error) { return nil, errors.New("no device") }}
	expect.Refused(t, broken.Broyden(context.Background(), []*solve.Root{solve.NewRoot([]float64{1}, []float64{1}, 0)}, 5), "no device") // an error of the residual
}

// What the inverse has learned last it knows exactly, and of directions orthogonal to all it knows nothing.
func TestInverse(t *testing.T) {
	var b solve.Inverse
	if !b.Identity() {
		t.Error("the zero value has learned something")
	}
	b.Learn([]float64{1, 0.2, 0}, []float64{1.5, 0, 0})
	b.Learn([]float64{0.1, 1, 0}, []float64{0, 2, 0})
	expect.Abs(t, "learned", b.Apply([]float64{0, 2, 0}), []float64{0.1, 1, 0}, 5e-15)
	expect.Abs(t, "unknown", b.Apply([]float64{0, 0, 3}), []float64{0, 0, 3}, 1e-14)
	before := b.Apply([]float64{1, 2, 3})
	b.Learn([]float64{0, 0, 1}, []float64{0, 1, 0}) // B y has no part along s
	if b.Apply([]float64{0, 1, 0})[2] != 0 {
		t.Error("a singular update was taken")
	}
	expect.Abs(t, "kept", b.Apply([]float64{1, 2, 3}), before, 0)
}

// Steps that are multiples of each other.
func TestAndersonForgets(t *testing.T) {
	a := solve.Anderson{Memory: 2}
	a.Learn([]float64{1, 0}, []float64{1, 0})
	a.Learn([]float64{2, 0}, []float64{2, 0})
	x, r := a.Correct([]float64{3, 1}, []float64{3, 1})
	expect.Abs(t, "point", x, []float64{0, 1}, 5e-13)
	expect.Abs(t, "residual", r, []float64{0, 1}, 5e-13)
}

// quadratic is 1 + ½ (x − 1)ᵀA(x − 1).
func quadratic(a mat.Matrix) func(x []float64) (float64, []float64, error) {
	return func(x []float64) (float64, []float64, error) {
		v := append([]float64{}, x...)
		floats.AddConst(-1, v)
		g := times(a, v)
		return 1 + floats.Dot(v, g)/2, g, nil
	}
}

func TestMinimise(t *testing.T) {
	const d = 10
	ones := make([]float64, d)
	floats.AddConst(1, ones)
	a := matrix(3, d, 1e6)
	var inverse mat.Cholesky
	inverse.Factorize(a)
	m, err := solve.Minimise(context.Background(), solve.Objective{Value: quadratic(a), FirstStep: 0.2, Precondition: func(g []float64) ([]float64, error) {
		var y mat.VecDense
		err := inverse.SolveVecTo(&y, mat.NewVecDense(d, g))
		return y.RawVector().Data, err
	}}, make([]float64, d), 1e-7, 100)
	ok(t, err)
	if m.Status != solve.Converged || m.Iterations > 4 {
		t.Errorf("quadratic with its inverse Hessian: %s after %d iterations", m.Status, m.Iterations)
	}
	expect.Abs(t, "minimum", m.X, ones, 1e-6)

	rosenbrock := func(x []float64) (f float64, g []float64, err error) {
		g = make([]float64, len(x))
		for i := range len(x) - 1 {
			u, v := x[i+1]-x[i]*x[i], 1-x[i]
			f += 100*u*u + v*v
			g[i] -= 400*u*x[i] + 2*v
			g[i+1] += 200 * u
		}
		return f, g, nil
	}
	for _, n := range []int{2, d} {
		x := make([]float64, n)
		for i := range x {
			x[i] = -1.2 + 2.2*float64(i%2)
		}
		m, err = solve.Minimise(context.Background(), solve.Objective{Value: rosenbrock, FirstStep: 1e-3, Scale: 1}, x, 1e-6, 500)
		ok(t, err)
		if m.Status != solve.Converged {
			t.Errorf("Rosenbrock in %d dimensions: %s after %d iterations", n, m.Status, m.Iterations)
		}
		expect.Abs(t, "Rosenbrock", m.X, ones[:n], 1e-5)
	}

	// On the unit circle, by a retraction that refuses long steps: the height is least at its lowest point.
	m, err = solve.Minimise(context.Background(), solve.Objective{
		Value: func(x []float64) (float64, []float64, error) {
			return 2 + x[1], []float64{-x[1] * x[0], 1 - x[1]*x[1]}, nil
		},
		FirstStep: 10,
		Retract: func(x, v []float64) ([]float64, error) {
			if floats.Norm(v, 2) > 0.5 {
				return nil, errors.New("too long")
			}
			y := floats.AddTo(make([]float64, 2), x, v)
			floats.Scale(1/floats.Norm(y, 2), y)
			return y, nil
		},
	}, []float64{0.6, 0.8}, 1e-9, 200)
	ok(t, err)
	expect.Abs(t, "lowest point of a circle", m.X, []float64{0, -1}, 5e-8)

	// Out of bounds, and at its end.
	calls, reports := 0, 0
	m, err = solve.Minimise(context.Background(), solve.Objective{FirstStep: 3, Value: func(x []float64) (float64, []float64, error) {
		calls++
		if x[0] <= 0 {
			return math.Inf(1), []float64{0}, nil
		}
		return x[0] - math.Log(x[0]), []float64{1 - 1/x[0]}, nil
	}, Report: func(int, float64, float64, float64) { reports++ }}, []float64{5}, 1e-9, 100)
	ok(t, err)
	expect.Abs(t, "minimum of x − log x", m.X[0], 1, 1e-7)
	if m.Status != solve.Converged || reports != m.Iterations || calls <= m.Iterations {
		t.Errorf("%s after %d iterations, %d values, %d reports", m.Status, m.Iterations, calls, reports)
	}

	// A gradient that is wrong.
	m, err = solve.Minimise(context.Background(), solve.Objective{FirstStep: 1, Value: func(x []float64) (float64, []float64, error) {
		return 1 + x[0]*x[0], []float64{-2 * x[0]}, nil
	}}, []float64{1}, 1e-9, 100)
	ok(t, err)
	if m.Status != solve.Stalled {
		t.Errorf("uphill: %s", m.Status)
	}
	m, err = solve.Minimise(context.Background(), solve.Objective{Value: rosenbrock, FirstStep: 1e-3}, []float64{-1.2, 1}, 1e-9, 3)
	ok(t, err)
	if m.Status != solve.IterationLimit || m.Iterations != 3 {
		t.Errorf("three iterations: %s after %d", m.Status, m.Iterations)
	}
	// The last point that the limit allows is tested as every other one.
	whole := expect.Must(solve.Minimise(context.Background(), solve.Objective{Value: rosenbrock, FirstStep: 1e-3}, []float64{-1.2, 1}, 1e-9, 100))
	for fewer, want := range []solve.Status{solve.Converged, solve.IterationLimit} {
		m = expect.Must(solve.Minimise(context.Background(), solve.Objective{Value: rosenbrock, FirstStep: 1e-3}, []float64{-1.2, 1}, 1e-9, whole.Iterations-fewer))
		if m.Status != want {
			t.Errorf("%d of %d iterations: %s", m.Iterations, whole.Iterations, m.Status)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	m, err = solve.Minimise(ctx, solve.Objective{Value: rosenbrock, FirstStep: 1e-3, Report: func(k int, _, _, _ float64) {
		if k == 2 {
			cancel()
		}
	}}, []float64{-1.2, 1}, 1e-9, 100)
	ok(t, err)
	if m.Status != solve.Cancelled || m.Iterations != 2 {
		t.Errorf("cancelled at 2: %s after %d", m.Status, m.Iterations)
	}
}

// Two valleys searched together, with a Hessian that is far from theirs, and where the function has no value beyond x = 1.5; then
// one of them moved.
func TestBFGS(t *testing.T) {
	valley := func(at float64, x []float64) (float64, []float64) {
		u, v := x[1]-x[0]*x[0], at-x[0]
		if x[0] > 1.5 {
			return math.NaN(), []float64{0, 0}
		}
		return 100*u*u + v*v, []float64{-400*u*x[0] - 2*v, 200 * u}
	}
	at := []float64{1, 0.5}
	var searches []*solve.BFGS
	for range at {
		searches = append(searches, solve.NewBFGS([]float64{-1.2, 1}, mat.NewSymDense(2, []float64{1, 0, 0, 1})))
	}
	search := func() (calls int) {
		for ; !searches[0].Done || !searches[1].Done; calls++ {
			for k, s := range searches {
				f, g := valley(at[k], s.X)
				s.Learn(f, g, 1e-20)
			}
		}
		return calls
	}
	first := search()
	at[1] = 0.6
	for _, s := range searches {
		s.Restart()
	}
	again := search()
	for k, s := range searches {
		expect.Abs(t, "bottom of the valley", s.Best, []float64{at[k], at[k] * at[k]}, 1e-8)
		if &s.X[0] != &s.Best[0] || s.Excess > 1e-20 {
			t.Errorf("search %d ends at %v, the best point is %v, excess %g", k, s.X, s.Best, s.Excess)
		}
	}
	if first > 80 || again > 20 {
		t.Errorf("%d calls, then %d", first, again)
	}
	uphill := solve.NewBFGS([]float64{1}, mat.NewSymDense(1, []float64{1}))
	for !uphill.Done {
		uphill.Learn(uphill.X[0]*uphill.X[0], []float64{-1}, 1e-9)
	}
	expect.Abs(t, "a gradient that is wrong", uphill.X, []float64{1}, 0)
}

// A search that can not begin knows nothing of the minimum.
func TestBFGSWithoutMinimum(t *testing.T) {
	for name, c := range map[string]struct{ hessian, value, gradient float64 }{
		"a Hessian that is not positive": {-1, 26, 10},
		"a value that is not finite":     {1, math.Inf(1), 10},
		"a gradient that is no number":   {1, 26, math.NaN()},
	} {
		s := solve.NewBFGS([]float64{5}, mat.NewSymDense(1, []float64{c.hessian}))
		for range 2 {
			s.Learn(c.value, []float64{c.gradient}, 1e-9)
			if !s.Done || !math.IsInf(s.Excess, 1) || s.Best[0] != 5 {
				t.Errorf("%s: done %t at %v with the excess %g, want +Inf", name, s.Done, s.Best, s.Excess)
			}
			s.Restart()
		}
	}
}

// A search that is written to a file and read again before every value ends where Minimise does, bit for bit, and so does each of its
// earlier states, taken up after its end.
func TestLBFGSSaved(t *testing.T) {
	o := solve.Objective{FirstStep: 1e-3, Memory: 4, Value: func(x []float64) (float64, []float64, error) {
		if x[0] > 1.2 {
			return math.Inf(1), nil, nil
		}
		u, v := x[1]-x[0]*x[0], 1-x[0]
		return 100*u*u + v*v, []float64{-400*u*x[0] - 2*v, 200 * u}, nil
	}}
	o.Precondition = func(g []float64) ([]float64, error) { return []float64{2 * g[0], g[1]}, nil }
	limits := solve.Limits{Tolerance: 1e-9, MaxIterations: 100}
	want := expect.Must(solve.Minimise(context.Background(), o, []float64{-1.2, 1}, limits.Tolerance, limits.MaxIterations))
	states := []solve.LBFGS{{X: []float64{-1.2, 1}}}
	run := func(s solve.LBFGS, saved func(s *solve.LBFGS)) {
		for !s.Done {
			expect.Refused(t, s.Err(), "has not ended")
			f, g, err := o.Value(s.X)
			ok(t, err)
			ok(t, s.Learn(context.Background(), o, f, g, limits))
			saved(&s)
		}
		if got := (solve.Minimum{X: s.X, Value: s.Value, Gradient: s.Decrement, Iterations: s.Iterations, Status: s.Status}); !reflect.DeepEqual(&got, want) {
			t.Errorf("the search ends at %+v, want %+v", got, want)
		}
		if f, _, _ := o.Value(s.Best); f != s.Value || s.At >= s.Values {
			t.Errorf("the value of %v, number %d of %d, is %g, want %g", s.Best, s.At, s.Values, s.Value, f)
		}
		ok(t, s.Learn(context.Background(), o, 0, nil, limits)) // it has ended
		ok(t, s.Err())
	}
	run(states[0], func(s *solve.LBFGS) {
		text := expect.Must(json.Marshal(s))
		*s = solve.LBFGS{}
		ok(t, json.Unmarshal(text, s))
		states = append(states, *s)
	})
	if want.Status != solve.Converged || len(states) < 30 {
		t.Errorf("%s after %d values, want a search that converges after more", want.Status, len(states))
	}
	for _, s := range states {
		run(s, func(*solve.LBFGS) {})
	}
}

// One search along a line, by what it learns: which values it accepts, how it steps back, and how it begins again without memory.
func TestLBFGSAlongLine(t *testing.T) {
	o := solve.Objective{FirstStep: 2, Scale: 1}
	learn := func(s solve.LBFGS, value, gradient float64) solve.LBFGS {
		t.Helper()
		ok(t, s.Learn(context.Background(), o, value, []float64{gradient}, solve.Limits{Tolerance: 1e-9, MaxIterations: 9}))
		return s
	}
	at := func(what string, s solve.LBFGS, x float64, values, of int, done bool) {
		t.Helper()
		if expect.Abs(t, what, s.X, []float64{x}, 1e-15); s.Values != values || s.At != of || s.Done != done {
			t.Errorf("%s: value %d of %d, done %t", what, s.At, s.Values, s.Done)
		}
	}
	first := learn(solve.LBFGS{X: []float64{7}}, 1, 1) // the direction is −2, the slope −2
	at("first step", first, 5, 1, 0, false)
	const least = 1 - 2e-4 // by the condition of Armijo
	second := learn(first, least-1e-8, 0.5)
	at("just low enough: a secant step, of the Hessian ½/2", second, 5-0.5*4, 2, 1, false)
	at("as steep as before, just low enough", learn(first, least-1e-8, 1), 3, 2, 1, false)
	at("as steep as before, not low enough", learn(first, least+1e-8, 1), 6, 2, 0, false)
	at("infinite", learn(first, math.Inf(1), 0), 6, 2, 0, false)
	at("level to rounding, with a slope that is less", learn(first, 1+1e-10, 0.5), 3, 2, 1, false)
	at("level to rounding, with the same slope", learn(first, 1+1e-10, 1), 6, 2, 0, false)
	at("level to rounding, with the opposite slope", learn(first, 1+1e-10, -1), 6, 2, 0, false)
	at("higher than rounding", learn(first, 1+1e-8, 0.5), 6, 2, 0, false)

	// No part of the second step leads down: the third is that without memory; then there is nothing else to try.
	failed, halvings := second, 0
	for ; failed.Pairs != nil; halvings++ {
		failed = learn(failed, 2, 0)
	}
	at("without memory", failed, 5-2*0.5, 2+halvings, 1, false)
	if halvings != 27 { // 2⁻²⁷ < 1e-8
		t.Errorf("%d halvings", halvings)
	}
	for !failed.Done {
		failed = learn(failed, 2, 0)
	}
	at("stalled", failed, 5, 2+2*halvings, 1, true)
	expect.Refused(t, failed.Err(), "no step made progress")

	// A curve that bends down teaches nothing. A preconditioner that leads uphill is not followed. Without Scale it is the first value.
	bent := learn(first, 0.5, 1.5)
	if at("bent down", bent, 5-2*1.5, 2, 1, false); bent.Iterations != 1 {
		t.Errorf("%d directions after the first, want 1", bent.Iterations)
	}
	o.FirstStep = -2
	at("uphill", learn(solve.LBFGS{X: []float64{7}}, 1, 1), 7, 1, 0, true)
	o.FirstStep, o.Scale = 1, 0
	s := learn(solve.LBFGS{X: []float64{7}}, 4, 1)
	at("above 1e-9 √(1e-6 · 4)", learn(s, 0, 2.1e-12), s.X[0]-2.1e-12/(1-2.1e-12), 2, 1, false)
	at("below", learn(s, 0, 1.9e-12), s.X[0], 2, 1, true)
}

// The direction is −H g with the inverse Hessian of the dense formula, H ← (1 − ρ s yᵀ) H (1 − ρ y sᵀ) + ρ s sᵀ, over the last steps, from
// γ P with the γ that fits the last step.
func TestLBFGSDirection(t *testing.T) {
	const d, memory = 6, 3
	a := matrix(9, d, 50)
	p := mat.NewDiagDense(d, []float64{1, 2, 3, 1, 2, 3})
	o := solve.Objective{FirstStep: 0.01, Memory: memory, Precondition: func(g []float64) ([]float64, error) { return times(p, g), nil }}
	s := solve.LBFGS{X: make([]float64, d)}
	var points, gradients [][]float64
	for len(points) < 9 {
		f, g, _ := quadratic(a)(s.X)
		before, limits := s, solve.Limits{Tolerance: 1e-12, MaxIterations: 99}
		ok(t, s.Learn(context.Background(), o, f, g, limits))
		ok(t, before.Learn(context.Background(), o, f/2, make([]float64, d), limits)) // does not change what s has learned
		if s.At != before.Values-1 {
			continue // not low enough
		}
		points, gradients = append(points, s.Best), append(gradients, g)
		h := mat.DenseCopyOf(p)
		h.Scale(o.FirstStep, h)
		for k := max(1, len(points)-memory); k < len(points); k++ {
			step := mat.NewVecDense(d, floats.SubTo(make([]float64, d), points[k], points[k-1]))
			y := mat.NewVecDense(d, floats.SubTo(make([]float64, d), gradients[k], gradients[k-1]))
			if k == max(1, len(points)-memory) {
				last := len(points) - 1
				y := floats.SubTo(make([]float64, d), gradients[last], gradients[last-1])
				gamma := floats.Dot(floats.SubTo(make([]float64, d), points[last], points[last-1]), y) / floats.Dot(y, times(p, y))
				h.Scale(gamma/o.FirstStep, h)
			}
			rho := 1 / mat.Dot(step, y)
			var project, all mat.Dense
			project.Outer(-rho, step, y)
			for i := range d {
				project.Set(i, i, project.At(i, i)+1)
			}
			all.Product(&project, h, project.T())
			var outer mat.Dense
			outer.Outer(rho, step, step)
			h.Add(&all, &outer)
		}
		want := times(h, g)
		floats.Scale(-1, want)
		expect.Rel(t, fmt.Sprintf("direction %d", len(points)), s.Direction, want, 1e-7)
	}
	if len(s.Pairs) != memory {
		t.Errorf("%d steps are remembered", len(s.Pairs))
	}
}

// Where the preconditioner leads uphill there is no minimum, unless the gradient is only rounding.
func TestMinimiseUphill(t *testing.T) {
	for start, want := range map[float64]solve.Status{5: solve.Stalled, 1e-9: solve.Converged} {
		m, err := solve.Minimise(context.Background(), solve.Objective{FirstStep: 0.1,
			Value:        func(x []float64) (float64, []float64, error) { return x[0]*x[0] + 1, []float64{2 * x[0]}, nil },
			Precondition: func(g []float64) ([]float64, error) { return []float64{-g[0]}, nil },
		}, []float64{start}, 1e-6, 100)
		ok(t, err)
		if m.Status != want || m.X[0] != start {
			t.Errorf("from %g: %+v, want %s", start, m, want)
		}
	}
}

// An objective's own residual ends the search, whatever the value says.
func TestMinimiseByResidual(t *testing.T) {
	objective := solve.Objective{FirstStep: 0.1,
		Value: func(x []float64) (float64, []float64, error) {
			return math.Pow(x[0], 4) + 1, []float64{4 * math.Pow(x[0], 3)}, nil
		},
		Residual: func(x []float64) (float64, error) { return math.Abs(x[0]), nil },
	}
	found, err := solve.Minimise(context.Background(), objective, []float64{1}, 1e-3, 200)
	if err != nil || found.Status != solve.Converged || math.Abs(found.X[0]) > 1e-3 || found.Gradient != math.Abs(found.X[0]) {
		t.Errorf("%+v, %v", found, err)
	}
}

// A preconditioner far below the inverse Hessian in one direction hides what is left to win there. Soft shows it.
func TestMinimiseSoftDirections(t *testing.T) {
	bends := []float64{1, 1e-6}
	for _, soft := range []func(g []float64) float64{nil, func(g []float64) float64 { return g[1] * g[1] / bends[1] }} {
		m, err := solve.Minimise(context.Background(), solve.Objective{
			Value: func(x []float64) (float64, []float64, error) {
				return 1 + (bends[0]*x[0]*x[0]+bends[1]*x[1]*x[1])/2, []float64{bends[0] * x[0], bends[1] * x[1]}, nil
			},
			FirstStep: 1,
			Soft:      soft,
		}, []float64{1, 300}, 0.003, 100)
		ok(t, err)
		if at := math.Abs(m.X[1]); m.Status != solve.Converged || (soft != nil) != (at < 10) || m.Gradient > 0.0031 {
			t.Errorf("with Soft %t: %s at %v, gradient %g", soft != nil, m.Status, m.X, m.Gradient)
		}
	}
}

// Systems whose root is found are not evaluated any more where a System can be divided, and the others go their way.
func TestSome(t *testing.T) {
	f := func(b int, x []float64) []float64 {
		return []float64{x[0] + 0.3*math.Sin(float64(b)*x[1]) - 1, x[1] + 0.2*float64(b)*x[0]*x[0] - 2}
	}
	df := func(b int, x, dx []float64) []float64 {
		c := float64(b)
		return []float64{dx[0] + 0.3*c*math.Cos(c*x[1])*dx[1], dx[1] + 0.4*c*x[0]*dx[0]}
	}
	evaluated := 0
	var only func(which []int) solve.System
	only = func(which []int) solve.System {
		s := each(func(k int, x []float64) []float64 { evaluated++; return f(which[k], x) },
			func(k int, x, dx []float64) []float64 { return df(which[k], x, dx) })
		s.Some = func(some []int) solve.System {
			of := make([]int, len(some))
			for k, b := range some {
				of[k] = which[b]
			}
			return only(of)
		}
		return s
	}
	points := [][]float64{{0, 0}, {0, 0}, {0, 0}, {1, 2}}
	all, some := each(f, df), only([]int{0, 1, 2, 3})
	want, got := start(t, all, 1e-12, points...), start(t, some, 1e-12, points...)
	evaluated = 0
	ok(t, all.Broyden(context.Background(), want, 12))
	ok(t, some.Broyden(context.Background(), got, 12))
	iterations := 0
	for _, r := range got {
		iterations += r.Iterations
	}
	if evaluated != iterations {
		t.Errorf("Broyden: %d evaluations in %d iterations", evaluated, iterations)
	}
	ok(t, all.Newton(context.Background(), want, 20))
	ok(t, some.Newton(context.Background(), got, 20))
	for b := range want {
		found(t, "some", got[b])
		expect.Abs(t, "x", got[b].X[0], want[b].X[0], 0)
		expect.Abs(t, "y", got[b].X[1], want[b].X[1], 0)
	}
}

// Steps that are solved exactly find roots where the derivatives in 40 directions say too little: F(x) = A (x + x³/10) − A 1.1 has the
// root 1, and its Jacobian the condition of A.
func TestWhole(t *testing.T) {
	const d = 60
	a := matrix(5, d, 1e8)
	times := func(x []float64) []float64 {
		var y mat.VecDense
		y.MulVec(a, mat.NewVecDense(d, x))
		return y.RawVector().Data
	}
	var system func(which []int) solve.System
	system = func([]int) solve.System {
		s := each(func(_ int, x []float64) []float64 {
			y := make([]float64, d)
			for i := range y {
				y[i] = x[i] + x[i]*x[i]*x[i]/10 - 1.1
			}
			return times(y)
		}, func(_ int, x, dx []float64) []float64 {
			y := make([]float64, d)
			for i := range y {
				y[i] = dx[i] * (1 + 0.3*x[i]*x[i])
			}
			return times(y)
		})
		s.Some = system
		return s
	}
	for _, whole := range []bool{false, true} {
		s := system(nil)
		s.Whole = whole
		roots := start(t, s, 1e-13, make([]float64, d), slices.Repeat([]float64{2}, d))
		ok(t, s.Newton(context.Background(), roots, 8))
		for _, r := range roots {
			if away := floats.Distance(r.X, slices.Repeat([]float64{1}, d), 2); whole != (away < 1e-5) {
				t.Errorf("whole %t: %s after %d iterations at |F| = %.2g, %.2g from the root", whole, r.Status, r.Iterations, r.Norm, away)
			}
		}
	}
}

// Limits that mean nothing are refused by their names.
func TestLimits(t *testing.T) {
	for want, option := range map[string]solve.Option{"Tolerance(NaN)": solve.Tolerance(math.NaN()), "Tolerance(0)": solve.Tolerance(0),
		"Tolerance(+Inf)": solve.Tolerance(math.Inf(1)), "MaxIterations(0)": solve.MaxIterations(0)} {
		expect.Refused(t, expect.Error(solve.Limits{}.With(option)), want)
	}
	if l := expect.Must(solve.Limits{Tolerance: 1}.With(solve.MaxIterations(1), solve.Tolerance(1e-300))); l != (solve.Limits{Tolerance: 1e-300, MaxIterations: 1}) {
		t.Errorf("%+v", l)
	}
}

// Nothing has converged before it was computed, and the larger of two statuses is the worse.
func TestUnknownStatus(t *testing.T) {
	var nothing solve.Status
	for _, err := range []error{nothing.Err("result"), new(solve.Root).Err(), new(solve.Minimum).Err(), (&solve.Root{Done: true}).Err()} {
		if err == nil {
			t.Error("the zero value has converged")
		}
	}
	expect.Refused(t, nothing.Err("result"), "unknown")
	if got := nothing.String(); got != "unknown" {
		t.Errorf("the zero value is printed as %q", got)
	}
	worse := []solve.Status{solve.Converged, nothing, solve.Stalled, solve.IterationLimit, solve.Cancelled}
	if !slices.IsSorted(worse) {
		t.Error("a status is not larger than a better one")
	}
	if nothing.Certified(false) != solve.Stalled || nothing.Certified(true) != solve.Converged {
		t.Error("what was tested is still unknown")
	}
	r := solve.NewRoot([]float64{1}, []float64{1}, 0.5)
	if r.Done || r.Status != nothing {
		t.Errorf("a root that is open: %s", r.Status)
	}
}

// A search does not write into a point that it gave out to be evaluated.
func TestPointsStayAsTheyWere(t *testing.T) {
	var given, were [][]float64
	keep := func(x []float64) { given, were = append(given, x), append(were, slices.Clone(x)) }
	f := func(x []float64) []float64 {
		keep(x)
		return []float64{math.Atan(x[0]-1) + 0.2*x[1], x[1] + 0.3*math.Sin(x[0])}
	}
	valley := func(x []float64) (float64, []float64) { // Rosenbrock's
		keep(x)
		a, b := 1-x[0], x[1]-x[0]*x[0]
		return a*a + 10*b*b, []float64{-2*a - 40*x[0]*b, 20 * b}
	}
	s := each(func(_ int, x []float64) []float64 { return f(x) }, func(_ int, x, dx []float64) []float64 {
		keep(x)
		return []float64{dx[0]/(1+(x[0]-1)*(x[0]-1)) + 0.2*dx[1], 0.3*math.Cos(x[0])*dx[0] + dx[1]}
	})
	roots := start(t, s, 1e-12, []float64{4, 2})
	ok(t, s.Broyden(context.Background(), roots, 6))
	ok(t, s.Newton(context.Background(), roots, 50))
	b := solve.NewBFGS([]float64{-1, 1}, mat.NewSymDense(2, []float64{4, 0, 0, 4}))
	for k := 0; k < 60 && !b.Done; k++ {
		value, gradient := valley(b.X)
		b.Learn(value, gradient, 1e-12)
	}
	expect.Must(solve.Minimise(context.Background(), solve.Objective{Value: func(x []float64) (float64, []float64, error) {
		value, gradient := valley(x)
		return value, gradient, nil
	}, FirstStep: 0.1}, []float64{-1, 1}, 1e-8, 60))
	if len(given) < 60 {
		t.Errorf("only %d points were evaluated", len(given))
	}
	for k, x := range given {
		if !slices.Equal(x, were[k]) {
			t.Errorf("point %d was %g, and is %g now", k, were[k], x)
		}
	}
}
