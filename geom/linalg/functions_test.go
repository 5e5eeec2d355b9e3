package linalg

import (
	"fmt"
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/engine"
	"anatomy/geom/geomtest/expect"
)

func TestTriangular(t *testing.T) {
	for _, n := range []int{1, 5, 40, 300} {
		a, b := spdMatrix(2, n), random(3, n, 2)
		out := expect.Must(engine.Run(func(in []*Node) []*Node {
			var out []*Node
			for _, lower := range []bool{true, false} {
				for _, transpose := range []bool{false, true} {
					out = append(out, SolveTriangular(in[0], in[1], lower, transpose))
				}
			}
			return out
		}, a, b))
		for k, kind := range []mat.TriKind{mat.Lower, mat.Lower, mat.Upper, mat.Upper} {
			tri := mat.NewTriDense(n, kind, flat(a))
			var x mat.Dense
			if k%2 == 0 {
				x.Solve(tri, dense(b))
			} else {
				x.Solve(tri.T(), dense(b))
			}
			expect.Rel(t, fmt.Sprintf("n=%d case %d", n, k), out.Flat(k), flat(rows(&x)), 1e-12)
		}
	}
}

func TestGeneral(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 9, 30} {
		a, b := random(uint64(n), n, n), random(3, n, 2)
		a[0][0] = 0 // needs a pivot
		if n == 1 {
			a[0][0] = 2
		}
		out := expect.Must(engine.Run(func(in []*Node) []*Node {
			return []*Node{SolveGeneral(in[0], in[1]), InverseGeneral(in[0]), Det(in[0])}
		}, a, b))
		var x, v mat.Dense
		x.Solve(dense(a), dense(b))
		v.Inverse(dense(a))
		expect.Rel(t, "solve", out.Flat(0), flat(rows(&x)), 1e-13)
		expect.Rel(t, "inverse", out.Flat(1), flat(rows(&v)), 1e-13)
		expect.Rel(t, "determinant", out.Flat(2), []float64{mat.Det(dense(a))}, 1e-13)
	}
	permutation := [][]float64{{0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}, {1, 0, 0, 0}}
	out := expect.Must(engine.Run(func(in []*Node) []*Node { return []*Node{InverseGeneral(in[0]), Det(in[0])} }, permutation))
	expect.Abs(t, "inverse of a permutation", out.Flat(0), flat(rows(dense(permutation).T())), 0)
	expect.Abs(t, "its determinant", out.Flat(1), []float64{-1}, 0)
}

func TestSymEig(t *testing.T) {
	for _, n := range []int{1, 2, 3, 40, 75} {
		repeated := make([]float64, n)
		for i := range repeated {
			repeated[i] = float64(i / 3)
		}
		fn := engine.Compile(func(a *Node) []*Node {
			e := SymEig(a)
			return []*Node{e.Values, MatMul(T(e.Vectors), e.Vectors), graph.Sub(MatMul(a, e.Vectors), graph.Mul(e.Vectors, graph.ExpandAxes(e.Values, -2)))}
		})
		eye := make([]float64, n*n)
		for i := range n {
			eye[i*n+i] = 1
		}
		for _, a := range [][][]float64{symmetric(random(uint64(n), n, n)), withSpectrum(4, repeated...), rows(mat.NewDiagDense(n, repeated))} {
			var ref mat.EigenSym
			ref.Factorize(mat.NewSymDense(n, flat(a)), false)
			norm := math.Max(1, mat.Norm(dense(a), 2))
			for _, scale := range []float64{1, 0x1p-600, 0x1p600} { // powers of 2: no rounding
				var scaled mat.Dense
				scaled.Scale(scale, dense(a))
				out, err := fn.Call(rows(&scaled))
				if err != nil {
					t.Fatal(err)
				}
				unscaled := func(x []float64) []float64 {
					for i := range x {
						x[i] /= scale
					}
					return x
				}
				what := fmt.Sprintf("n=%d, scale %g: ", n, scale)
				expect.Rel(t, what+"eigenvalues", unscaled(out.Flat(0)), ref.Values(nil), 2e-14)
				expect.Abs(t, what+"VᵀV", out.Flat(1), eye, 2e-14)
				expect.Abs(t, what+"AV - VΛ", unscaled(out.Flat(2)), make([]float64, n*n), 1e-14*norm)
			}
		}
	}
}

func TestSymmetricFunctions(t *testing.T) {
	for n, a := range map[int][][]float64{6: spdMatrix(3, 6), 30: spdMatrix(4, 30), 4: withSpectrum(5, 1e-2, 1e-2, 1, 1e1)} {
		out := expect.Must(engine.Run(func(in []*Node) []*Node {
			a := in[0]
			r, l := symSqrt(a), SymLog(a)
			return []*Node{MatMul(r, r), a, SymExp(l), a, Trace(l), LogDet(a)}
		}, a))
		expect.Rel(t, "square root", out.Flat(0), out.Flat(1), 1e-13)
		expect.Rel(t, "exp log", out.Flat(2), out.Flat(3), 1e-13)
		expect.Rel(t, fmt.Sprintf("n=%d trace log = log det", n), out.Flat(4), out.Flat(5), 1e-12)
	}
}

// rotation turns by an angle in one plane and by half of it in a second one.
func rotation(angle float64) [][]float64 {
	s, c := math.Sincos(angle)
	s2, c2 := math.Sincos(angle / 2)
	r := dense([][]float64{{c, -s, 0, 0}, {s, c, 0, 0}, {0, 0, c2, -s2}, {0, 0, s2, c2}})
	var qr mat.QR
	qr.Factorize(dense(random(3, 4, 4)))
	var q, out mat.Dense
	qr.QTo(&q)
	out.Mul(&q, r)
	out.Mul(&out, q.T())
	return rows(&out)
}

func TestExpmLogm(t *testing.T) {
	exp := engine.Compile(Expm)
	for _, scale := range []float64{0, 1e-8, 0.1, 1, 5, 20} {
		a := random(5, 5, 5)
		for i := range a {
			for j := range a {
				a[i][j] *= scale
			}
		}
		var ref mat.Dense
		ref.Exp(dense(a))
		out, err := exp.Call(a)
		if err != nil {
			t.Fatal(err)
		}
		expect.Rel(t, fmt.Sprint("exp, scale ", scale), out.Flat(0), flat(rows(&ref)), 2e-14*math.Max(1, scale*5))
	}
	log := engine.Compile(func(r *Node) []*Node {
		l := Logm(r)
		return []*Node{Expm(l), graph.Add(l, T(l)), graph.ReduceAllSum(graph.Square(l))}
	})
	for _, angle := range []float64{0, 1e-9, 0.3, 2, 3.1, math.Pi - 1e-4} {
		r := rotation(angle)
		out, err := log.Call(r)
		if err != nil {
			t.Fatal(err)
		}
		tol := 1e-13 + 1e-15/((math.Pi-angle)*(math.Pi-angle))
		expect.Abs(t, fmt.Sprint("exp log of a rotation by ", angle), out.Flat(0), flat(r), tol)
		expect.Abs(t, "skew", out.Flat(1), make([]float64, 16), tol)
		expect.Abs(t, "angle", out.Flat(2), []float64{2 * (angle*angle + angle*angle/4)}, tol)
	}
	// A nilpotent part: log [[2, 1], [0, 2]] = [[log 2, 1/2], [0, log 2]].
	out := expect.Must(engine.Run(func(in []*Node) []*Node { return []*Node{Logm(in[0])} }, [][]float64{{2, 1}, {0, 2}}))
	expect.Rel(t, "Jordan block", out.Flat(0), []float64{math.Ln2, 0.5, 0, math.Ln2}, 1e-14)
}

func TestCG(t *testing.T) {
	a, b := spdMatrix(3, 40), random(4, 3, 40)
	for j := range b[1] {
		b[1][j] = 0 // a right-hand side of nothing
	}
	out := expect.Must(engine.Run(func(in []*Node) []*Node {
		mul := func(x *Node) *Node { return MatMul(x, in[0]) }
		x, residual := CG(mul, in[1], 1e-12, 200)
		_, early := CG(mul, in[1], 1e-12, 3)
		inverse := Factor(in[0])
		y, once := PCG(mul, func(r *Node) *Node { return T(inverse.Solve(T(r))) }, in[1], 1e-12, 1)
		return []*Node{x, T(Solve(in[0], T(in[1]))), residual, early, y, once}
	}, a, b))
	expect.Rel(t, "solution", out.Flat(0), out.Flat(1), 1e-10)
	for k, r := range out.Vector(2) {
		if !(r <= 2e-12) || k == 1 && r != 0 {
			t.Errorf("residual %d is %g", k, r)
		}
	}
	expect.Rel(t, "solution with the inverse for a preconditioner", out.Flat(4), out.Flat(1), 1e-10)
	if r := out.Vector(5); !(r[0] <= 1e-12) {
		t.Errorf("one step with the inverse for a preconditioner leaves %g", r[0])
	}
	if r := out.Vector(3); !(r[0] > 1e-6) {
		t.Errorf("a solve stopped after 3 steps claims the residual %g", r[0])
	}
}

// Matrices that have not what a function needs give NaN, whole batches of others beside them do not.
func TestNaN(t *testing.T) {
	finite := func(x []float64) (all, none bool) {
		all, none = true, true
		for _, v := range x {
			ok := !math.IsNaN(v) && !math.IsInf(v, 0)
			all, none = all && ok, none && !ok
		}
		return all, none
	}
	for _, n := range []int{2, 70, 260} {
		good, bad := spdMatrix(1, n), spdMatrix(1, n)
		bad[n/2][n/2] = -1
		zero := spdMatrix(1, n)
		for j := range n {
			zero[n-1][j], zero[j][n-1] = 0, 0
		}
		out := expect.Must(engine.Run(func(in []*Node) []*Node {
			f := Factor(in[0])
			return []*Node{f.Inverse(), f.LogDet(), f.Solve(in[0]), f.L}
		}, [][][]float64{good, bad, zero}))
		for k := range 4 {
			v := out.Flat(k)
			size := len(v) / 3
			for m := range 3 {
				all, none := finite(v[m*size : (m+1)*size])
				if m == 0 && !all || m > 0 && (all || k < 3 && !none) {
					t.Errorf("n=%d, output %d of matrix %d: all finite %v, none finite %v", n, k, m, all, none)
				}
			}
		}
	}
	for name, f := range map[string]func(a *Node) *Node{
		"InverseGeneral": InverseGeneral,
		"SymLog":         SymLog,
		"SymSqrt":        symSqrt,
		"Logm":           Logm,
		"Expm":           Expm,
	} {
		good, singular := spdMatrix(1, 4), withSpectrum(1, -1, 0.5, 2, 3)
		if name == "InverseGeneral" {
			singular = [][]float64{{1, 2, 3, 4}, {2, 4, 6, 8}, {0, 1, 0, 1}, {0, 0, 1, 1}}
		}
		if name == "Expm" {
			singular[2][1] = math.Inf(1)
		}
		withNaN := spdMatrix(1, 4)
		withNaN[1][3] = math.NaN()
		fn := engine.Compile(f)
		for k, bad := range [][][]float64{singular, withNaN} {
			out, err := fn.Call([][][]float64{good, bad})
			if err != nil {
				t.Fatal(err)
			}
			v := out.Flat(0)
			all, _ := finite(v[:16])
			_, none := finite(v[16:])
			if !none || !all {
				t.Errorf("%s, matrix %d: %v", name, k, v)
			}
		}
	}
	out := expect.Must(engine.Run(func(in []*Node) []*Node { return []*Node{Det(in[0]), SymEig(in[0]).Values} }, [][]float64{{1, math.NaN()}, {0, 1}}))
	for k := range out {
		if _, none := finite(out.Flat(k)); !none {
			t.Errorf("output %d of a matrix with NaN: %v", k, out.Flat(k))
		}
	}
	singular := expect.Must(engine.Run(func(in []*Node) []*Node { return []*Node{Det(in[0])} }, [][]float64{{1, 2, 3, 4}, {2, 4, 6, 8}, {0, 1, 0, 1}, {0, 0, 1, 1}}))
	expect.Abs(t, "determinant of a singular matrix", singular.Flat(0), []float64{0}, 0)
	negative := expect.Must(engine.Run(func(in []*Node) []*Node {
		x, r := CG(func(x *Node) *Node { return graph.Mul(x, in[0]) }, in[1], 1e-10, 10)
		return []*Node{x, r}
	}, []float64{1, -2}, []float64{1, 1}))
	for k := range 2 {
		if _, none := finite(negative.Flat(k)); !none {
			t.Errorf("CG with an indefinite matrix: %v", negative.Flat(k))
		}
	}
}

// However large another matrix of its batch is, each has the exponential and the logarithm that it has alone.
func TestBatchesDoNotMix(t *testing.T) {
	scalar := func(x float64) [][]float64 { return [][]float64{{x, 0}, {0, x}} }
	small := [][]float64{{1, 0.3}, {-0.2, 0.5}}
	for _, c := range []struct {
		name   string
		f      func(a *Node) *Node
		others []float64
	}{
		{"Expm", Expm, []float64{-1e4, -1e20, 1e20, 1e300}},
		{"Logm", Logm, []float64{1e20, 1e-300, 1e300}},
	} {
		f := engine.Compile(c.f)
		alone := expect.Must(f.Call([][][]float64{small})).Flat(0)
		for _, x := range c.others {
			out := expect.Must(f.Call([][][]float64{small, scalar(x)})).Flat(0)
			expect.Abs(t, fmt.Sprintf("%s beside %g", c.name, x), out[:4], alone, 1e-14)
		}
	}
}

// symSqrt is the positive square root of a symmetric positive definite matrix.
func symSqrt(a *Node) *Node { return SymExp(graph.MulScalar(SymLog(a), 0.5)) }
