package linalg

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/engine"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/linalg/native"
)

func flat(m [][]float64) []float64 { return slices.Concat(m...) }

func random(seed uint64, n, m int) [][]float64 {
	r := rand.New(rand.NewPCG(seed, 7))
	out := make([]float64, n*m)
	for i := range out {
		out[i] = r.NormFloat64()
	}
	return engine.Unflatten(out, m)
}

func dense(m [][]float64) *mat.Dense { return mat.NewDense(len(m), len(m[0]), flat(m)) }

func rows(m mat.Matrix) [][]float64 {
	r, c := m.Dims()
	out := make([][]float64, r)
	for i := range out {
		out[i] = make([]float64, c)
		for j := range out[i] {
			out[i][j] = m.At(i, j)
		}
	}
	return out
}

// spdMatrix is a well-conditioned symmetric positive definite matrix.
func spdMatrix(seed uint64, n int) [][]float64 {
	var a mat.Dense
	x := dense(random(seed, n, n))
	a.Mul(x, x.T())
	a.Scale(1/float64(n), &a)
	for i := range n {
		a.Set(i, i, a.At(i, i)+0.5)
	}
	return rows(&a)
}

// C and the graph factor alike, one matrix or many. Of those that are not positive definite L is NaN from the column on that shows it,
// and so is the last row of L⁻¹, and whatever is solved.
func TestCholeskyInC(t *testing.T) {
	for _, n := range []int{4, 17, 39, 100} {
		many := [][][]float64{spdMatrix(1, n), spdMatrix(2, n), spdMatrix(3, n), spdMatrix(4, n)}
		many[2][n/2][n/2] = -1
		many[3][n-1][n-1] = math.NaN()
		out := expect.Must(engine.Run(func(a *Node) []*Node {
			if !engine.HasNative(native.Cholesky, nil) {
				t.Skip("the back end calls no C")
			}
			l, inv := choleskyInC(a)
			good := graph.SliceAxis(a, 0, graph.AxisRange(0, 2))
			want, wantInv := choleskyColumns(good)
			one, _ := choleskyInC(graph.Squeeze(graph.SliceAxis(a, 0, graph.AxisRange(1, 2)), 0))
			return []*Node{l, inv, want, wantInv, one}
		}, many))
		for k, what := range []string{"L", "L⁻¹"} {
			expect.Abs(t, fmt.Sprintf("%d × %d: %s", n, n, what), out.Flat(k)[:2*n*n], out.Flat(k+2), 1e-12)
		}
		expect.Abs(t, "one alone", out.Flat(4), out.Flat(0)[n*n:2*n*n], 0)
		for k, bad := range map[int]int{2: n / 2, 3: n - 1} {
			l, last := out.Flat(0)[k*n*n:], out.Flat(1)[k*n*n+(n-1)*n:]
			for i := range n {
				for j := range n {
					if math.IsNaN(l[i*n+j]) != (j >= bad && i >= j) {
						t.Fatalf("%d × %d, not positive definite from column %d on: L[%d][%d] is %g", n, n, bad, i, j, l[i*n+j])
					}
				}
				if !math.IsNaN(last[i]) {
					t.Errorf("%d × %d, not positive definite: %g in the last row of L⁻¹", n, n, last[i])
				}
			}
		}
	}
}

// withSpectrum is Q diag(λ) Qᵀ for a random orthogonal Q, symmetric to the last bit.
func withSpectrum(seed uint64, lambda ...float64) [][]float64 {
	n := len(lambda)
	var qr mat.QR
	qr.Factorize(dense(random(seed, n, n)))
	var q, a mat.Dense
	qr.QTo(&q)
	a.Mul(&q, mat.NewDiagDense(n, lambda))
	a.Mul(&a, q.T())
	out := rows(&a)
	for i := range n {
		for j := range i {
			out[i][j] = out[j][i]
		}
	}
	return out
}

func symmetric(m [][]float64) [][]float64 {
	out := make([][]float64, len(m))
	for i := range m {
		out[i] = make([]float64, len(m))
		for j := range m {
			out[i][j] = (m[i][j] + m[j][i]) / 2
		}
	}
	return out
}

func weights(x *Node) *Node {
	g := x.Graph()
	n := x.Shape().Size()
	w := make([]float64, n)
	for i := range w {
		w[i] = math.Sin(float64(3*i + 1))
	}
	return graph.Reshape(graph.ConvertDType(graph.Const(g, w), x.DType()), x.Shape().Dimensions...)
}

// derivatives compares the first orders derivatives of Σ w∘f along a direction with differences of fourth order of the
// derivative before: the gradient, the gradient of the gradient, and so on, all made by reverse mode.
func derivatives(t *testing.T, what string, orders int, tol float64, f func(in []*Node) *Node, at, direction [][][]float64) {
	t.Helper()
	k := len(at)
	fn := engine.Compile(func(in []*Node) []*Node {
		x, d := in[:k], in[k:]
		y := f(x)
		s := graph.ReduceAllSum(graph.Mul(y, weights(y)))
		out := []*Node{s}
		for range orders {
			var next *Node
			for j, g := range graph.Gradient(s, x...) {
				p := graph.ReduceAllSum(graph.Mul(g, d[j]))
				if next == nil {
					next = p
				} else {
					next = graph.Add(next, p)
				}
			}
			s = next
			out = append(out, s)
		}
		return out
	})
	const h = 4e-4
	value := map[int][]float64{}
	for step := -2; step <= 2; step++ {
		var args []any
		for j := range at {
			moved := make([][]float64, len(at[j]))
			for r := range moved {
				moved[r] = make([]float64, len(at[j][r]))
				for c := range moved[r] {
					moved[r][c] = at[j][r][c] + h*float64(step)*direction[j][r][c]
				}
			}
			args = append(args, moved)
		}
		for _, d := range direction {
			args = append(args, d)
		}
		out, err := fn.Call(args...)
		if err != nil {
			t.Fatalf("%s: %+v", what, err)
		}
		for o := range orders + 1 {
			value[step] = append(value[step], out.Scalar(o))
		}
	}
	for o := range orders {
		want := (8*(value[1][o]-value[-1][o]) - (value[2][o] - value[-2][o])) / (12 * h)
		expect.Rel(t, fmt.Sprintf("%s: derivative %d", what, o+1), value[0][o+1], want, tol)
	}
}

func TestBasics(t *testing.T) {
	a, b, x := random(1, 3, 4), random(2, 4, 2), random(3, 1, 4)[0]
	out := expect.Must(engine.Run(func(in []*Node) []*Node {
		a, b, x := in[0], in[1], in[2]
		as := graph.Stack([]*Node{a, graph.Neg(a)}, 0)
		bs := graph.Stack([]*Node{b, graph.MulScalar(b, 2)}, 0)
		return []*Node{
			MatMul(a, b), MatMul(as, bs), MatMul(as, b), MatMul(a, bs), MatVec(a, x), Outer(x, x), Trace(MatMul(T(a), a)),
			Eye(a.Graph(), a.DType(), 2),
		}
	}, a, b, x))
	var ab mat.Dense
	ab.Mul(dense(a), dense(b))
	one := flat(rows(&ab))
	times := func(s float64) []float64 {
		o := make([]float64, len(one))
		for i := range o {
			o[i] = s * one[i]
		}
		return o
	}
	expect.Rel(t, "a b", out.Flat(0), one, 1e-15)
	expect.Rel(t, "batch", out.Flat(1), append(times(1), times(-2)...), 1e-15)
	expect.Rel(t, "shared right", out.Flat(2), append(times(1), times(-1)...), 1e-15)
	expect.Rel(t, "shared left", out.Flat(3), append(times(1), times(2)...), 1e-15)
	var ax mat.VecDense
	ax.MulVec(dense(a), mat.NewVecDense(4, x))
	expect.Rel(t, "a x", out.Flat(4), ax.RawVector().Data, 1e-15)
	expect.Abs(t, "x xᵀ", out.Flat(5)[:4], []float64{x[0] * x[0], x[0] * x[1], x[0] * x[2], x[0] * x[3]}, 0)
	f := mat.Norm(dense(a), 2)
	expect.Rel(t, "trace", out.Flat(6), []float64{f * f}, 1e-15)
	expect.Abs(t, "eye", out.Flat(7), []float64{1, 0, 0, 1}, 0)
}

func TestShapes(t *testing.T) {
	m, v := random(1, 3, 4), []float64{1, 2}
	for want, f := range map[string]func(m, v *Node) *Node{
		"[3, 4]": func(m, v *Node) *Node { return Cholesky(m) },
		"[2]":    func(m, v *Node) *Node { return Solve(MatMul(m, T(m)), v) },
		"MatMul: shapes (Float64)[3, 4] and (Float64)[3, 4]": func(m, v *Node) *Node { return MatMul(m, m) },
		"is not a matrix": func(m, v *Node) *Node { return T(v) },
		"Outer":           func(m, v *Node) *Node { return Outer(m, v) },
		"matvec takes (Float64)[2] to (Float64)[2, 1]": func(m, v *Node) *Node {
			x, _ := CG(func(x *Node) *Node { return graph.ExpandAxes(x, -1) }, v, 1e-9, 5)
			return x
		},
	} {
		_, err := engine.Run(func(m, v *Node) *Node { return f(m, v) }, m, v)
		expect.Refused(t, err, want)
	}
}

// Every path of the factorisation: written out, columns, halves, panels.
func TestCholesky(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 25, 39, 60, 300} {
		a, b := spdMatrix(uint64(n), n), random(5, n, 2)
		out := expect.Must(engine.Run(func(in []*Node) []*Node {
			f := Factor(in[0])
			return []*Node{f.L, f.Solve(in[1]), f.LogDet(), f.Inverse(), f.SolveL(in[1], false), f.SolveL(in[1], true)}
		}, a, b))
		var ref mat.Cholesky
		if !ref.Factorize(mat.NewSymDense(n, flat(a))) {
			t.Fatal("reference")
		}
		var l, li, v mat.Dense
		var lt mat.TriDense
		ref.LTo(&lt)
		l.CloneFrom(&lt)
		var x mat.Dense
		ref.SolveTo(&x, dense(b))
		li.Inverse(&l)
		v.Mul(li.T(), &li)
		var lb, ltb mat.Dense
		lb.Solve(&l, dense(b))
		ltb.Solve(l.T(), dense(b))
		for k, want := range [][]float64{flat(rows(&l)), flat(rows(&x)), {ref.LogDet()}, flat(rows(&v)), flat(rows(&lb)), flat(rows(&ltb))} {
			expect.Rel(t, fmt.Sprintf("n=%d output %d", n, k), out.Flat(k), want, 2e-14)
		}
		for i := range n {
			for j := i + 1; j < n; j++ {
				if out.Flat(0)[i*n+j] != 0 {
					t.Fatalf("n=%d: L[%d][%d] is not zero", n, i, j)
				}
			}
			if n > 60 {
				break
			}
		}
	}
}

// A batch is the loop over its members, in every function.
func TestBatch(t *testing.T) {
	spd := func(a *Node) []*Node {
		f := Factor(a)
		b := graph.Slice(a, graph.AxisRange().Spacer(), graph.AxisRange(0, 2))
		v := graph.Squeeze(graph.Slice(b, graph.AxisRange().Spacer(), graph.AxisElem(0)), -1)
		return []*Node{f.L, f.Solve(b), f.Solve(v), f.LogDet(), f.Inverse(), SolveTriangular(a, b, true, false), SolveTriangular(a, b, false, false)}
	}
	others := func(a *Node) []*Node {
		b := graph.Slice(a, graph.AxisRange().Spacer(), graph.AxisRange(0, 2))
		e := SymEig(a)
		return []*Node{SolveGeneral(a, b), Det(a), e.Values, e.Exp(), e.Log(), Expm(a), Logm(a)}
	}
	for _, c := range []struct {
		n        int
		f        func(a *Node) []*Node
		gradient bool
	}{{3, spd, true}, {35, spd, true}, {5, others, false}} {
		n := c.n
		var as [][][]float64
		for k := range 3 {
			as = append(as, spdMatrix(uint64(k+1), n))
		}
		all := func(a *Node) []*Node {
			out := c.f(a)
			if !c.gradient {
				return out
			}
			var s *Node
			for _, o := range out {
				p := graph.ReduceAllSum(graph.Sin(o))
				if s == nil {
					s = p
				} else {
					s = graph.Add(s, p)
				}
			}
			return append(out, graph.Gradient(s, a)[0])
		}
		batched := expect.Must(engine.Run(func(in []*Node) []*Node { return all(in[0]) }, as))
		single := engine.Compile(func(in []*Node) []*Node { return all(in[0]) })
		for k := range as {
			out, err := single.Call(as[k])
			if err != nil {
				t.Fatal(err)
			}
			for o := range out {
				want := out.Flat(o)
				expect.Rel(t, fmt.Sprintf("n=%d member %d output %d", n, k, o), batched.Flat(o)[k*len(want):(k+1)*len(want)], want, 1e-11)
			}
		}
	}
}

func TestFloat32(t *testing.T) {
	a, b := spdMatrix(3, 30), random(4, 30, 2)
	fn := func(in []*Node) []*Node {
		x := SolveGeneral(in[0], in[1])
		return []*Node{Solve(in[0], in[1]), x, symSqrt(in[0]), Expm(in[0]), graph.Gradient(graph.ReduceAllSum(Solve(in[0], in[1])), in[0])[0]}
	}
	want := expect.Must(engine.Run(fn, a, b))
	got, err := engine.Compile(fn, engine.Float32()).Call(a, b)
	if err != nil {
		t.Fatal(err)
	}
	for k := range want {
		expect.Rel(t, fmt.Sprint("output ", k), got.Flat(k), want.Flat(k), 1e-4)
	}
}

// The residual stays small for a condition number of 10¹⁰, from Gaussian kernel matrices to random spectra.
func TestIllConditioned(t *testing.T) {
	for _, n := range []int{3, 60, 200} {
		fn := engine.Compile(func(a, b *Node) []*Node {
			f := Factor(a)
			return []*Node{f.Solve(b), graph.Sub(MatMul(f.L, T(f.L)), a)}
		})
		lambda := make([]float64, n)
		for i := range lambda {
			lambda[i] = math.Pow(10, -10*float64(i)/float64(n-1))
		}
		a := withSpectrum(11, lambda...)
		kernel := make([][]float64, n)
		for i := range kernel {
			kernel[i] = make([]float64, n)
			for j := range kernel[i] {
				d := float64(i-j) / float64(n) * 20
				kernel[i][j] = math.Exp(-d * d / 2)
				if i == j {
					kernel[i][j] += 1e-9
				}
			}
		}
		for k, a := range [][][]float64{a, kernel} {
			b := random(9, n, 1)
			out, err := fn.Call(a, b)
			if err != nil {
				t.Fatal(err)
			}
			x := mat.NewDense(n, 1, out.Flat(0))
			var r mat.Dense
			r.Mul(dense(a), x)
			r.Sub(&r, dense(b))
			scale := mat.Norm(dense(a), 2)*mat.Norm(x, 2) + mat.Norm(dense(b), 2)
			var ref mat.Cholesky
			ref.Factorize(mat.NewSymDense(n, flat(a)))
			var xr, rr mat.Dense
			ref.SolveTo(&xr, dense(b))
			rr.Mul(dense(a), &xr)
			rr.Sub(&rr, dense(b))
			if got, want := mat.Norm(&r, 2)/scale, mat.Norm(&rr, 2)/scale; !(got <= 1e-15) {
				t.Errorf("n=%d matrix %d: residual %.2g, LAPACK's %.2g", n, k, got, want)
			}
			expect.Abs(t, "L Lᵀ", out.Flat(1), make([]float64, n*n), 1e-14)
		}
	}
}
