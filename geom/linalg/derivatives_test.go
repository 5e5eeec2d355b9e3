package linalg

import (
	"fmt"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
	"anatomy/geom/engine"
	"anatomy/geom/geomtest/expect"
)

// Derivatives of every function of a symmetric positive definite matrix, up to the third.
func TestSPDDerivatives(t *testing.T) {
	functions := map[string]func(in []*Node) *Node{
		"Cholesky": func(in []*Node) *Node { return Cholesky(in[0]) },
		"Solve":    func(in []*Node) *Node { return Solve(in[0], in[1]) },
		"LogDet":   func(in []*Node) *Node { return LogDet(in[0]) },
		"Inverse":  func(in []*Node) *Node { return Inverse(in[0]) },
		"SolveL": func(in []*Node) *Node {
			f := Factor(in[0])
			return graph.Add(f.SolveL(in[1], false), f.SolveL(in[1], true))
		},
		"the density of a normal distribution": func(in []*Node) *Node {
			f := Factor(in[0])
			return graph.Add(f.LogDet(), Trace(MatMul(T(in[1]), f.Solve(in[1]))))
		},
	}
	for name, f := range functions {
		n, orders := 7, 3
		if name == "Solve" {
			n, orders = 35, 1
		}
		at := [][][]float64{spdMatrix(1, n), random(2, n, 2)}
		move := symmetric(random(3, n, n))
		for _, row := range move {
			for j := range row {
				row[j] *= 3 / float64(n)
			}
		}
		direction := [][][]float64{move, random(4, n, 2)}
		derivatives(t, name, orders, 1e-8, func(in []*Node) *Node {
			// Both inputs are used, so that both have a gradient.
			return graph.Mul(f(in), graph.Exp(graph.MulScalar(graph.ReduceAllSum(in[1]), 0.01)))
		}, at, direction)
	}
	derivatives(t, "Cholesky 2×2", 2, 1e-8, func(in []*Node) *Node { return Cholesky(in[0]) }, [][][]float64{spdMatrix(1, 2)}, [][][]float64{symmetric(random(3, 2, 2))})
}

func TestGeneralDerivatives(t *testing.T) {
	for name, f := range map[string]func(a, b *Node) *Node{
		"SolveTriangular": func(a, b *Node) *Node {
			return graph.Concatenate([]*Node{SolveTriangular(a, b, true, false), SolveTriangular(a, b, true, true),
				SolveTriangular(a, b, false, false), SolveTriangular(a, b, false, true)}, -1)
		},
		"SolveGeneral":   SolveGeneral,
		"InverseGeneral": func(a, b *Node) *Node { return MatMul(InverseGeneral(a), b) },
		"Det":            func(a, b *Node) *Node { return graph.Mul(Det(a), graph.ReduceAllSum(b)) },
	} {
		a := spdMatrix(1, 5)
		for i, x := range random(8, 5, 5) {
			for j := range x {
				a[i][j] += 0.2 * x[j]
			}
		}
		derivatives(t, name, 2, 1e-8, func(in []*Node) *Node { return f(in[0], in[1]) },
			[][][]float64{a, random(2, 5, 2)}, [][][]float64{random(3, 5, 5), random(4, 5, 2)})
	}
	for n := 1; n <= 3; n++ {
		derivatives(t, fmt.Sprintf("Det %d×%d", n, n), 2, 1e-8, func(in []*Node) *Node { return graph.Exp(Det(in[0])) }, [][][]float64{random(2, n, n)}, [][][]float64{random(3, n, n)})
	}
}

func TestMatrixFunctionDerivatives(t *testing.T) {
	for name, f := range map[string]func(a *Node) *Node{
		"SymSqrt": symSqrt,
		"SymLog":  SymLog,
		"SymExp":  SymExp,
	} {
		var at, direction [][]float64
		for k, a := range [][][]float64{
			withSpectrum(5, 0.7, 1.1, 2, 3.5),
			withSpectrum(5, 1.3, 1.3, 1.3, 2.5),
			{{1.3, 0, 0, 0}, {0, 1.3, 0, 0}, {0, 0, 1.3, 0}, {0, 0, 0, 1.3}},
			withSpectrum(5, 1.3, 1.3+1e-9, 1.3+1e-5, 1.5),
		} {
			at = append(at, a...)
			direction = append(direction, symmetric(random(uint64(k), 4, 4))...)
		}
		orders := 2
		if name == "SymExp" {
			orders = 3
		}
		derivatives(t, name, orders, 1e-8, func(in []*Node) *Node { return f(graph.Reshape(in[0], 4, 4, 4)) },
			[][][]float64{at}, [][][]float64{direction})
	}
	derivatives(t, "SymEig", 2, 1e-8, func(in []*Node) *Node {
		e := SymEig(in[0])
		return graph.Add(Outer(e.Values, e.Values), graph.Square(e.Vectors)) // squares: the sign is arbitrary
	}, [][][]float64{withSpectrum(5, 0.7, 1.1, 2, 3.5)}, [][][]float64{symmetric(random(6, 4, 4))})
	derivatives(t, "SymEig at a repeated eigenvalue", 1, 1e-8, func(in []*Node) *Node {
		e := SymEig(in[0])
		return conjugate(e.Vectors, graph.Mul(EyeLike(in[0]), graph.ExpandAxes(graph.Exp(e.Values), -1)))
	}, [][][]float64{withSpectrum(5, 0.7, 0.7, 2, 3.5)}, [][][]float64{{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}})
	a := random(7, 4, 4)
	derivatives(t, "Expm", 3, 1e-8, func(in []*Node) *Node { return Expm(in[0]) }, [][][]float64{a}, [][][]float64{random(6, 4, 4)})
	b := spdMatrix(3, 4)
	for i := range b {
		for j := range b {
			b[i][j] += 0.2 * a[i][j]
		}
	}
	derivatives(t, "Logm", 2, 1e-8, func(in []*Node) *Node { return Logm(in[0]) }, [][][]float64{b}, [][][]float64{random(6, 4, 4)})
}

func TestCGDerivatives(t *testing.T) {
	// The matrix is a function of two parameters, one of which the other is made of.
	derivatives(t, "CG", 2, 1e-8, func(in []*Node) *Node {
		c := graph.MulScalar(Trace(in[0]), 0.3)
		some := graph.AddScalar(graph.Abs(c), 1) // of no consequence to the solution
		x, _ := PCG(func(x *Node) *Node {
			return graph.Add(MatMul(x, MatMul(in[0], T(in[0]))), graph.Mul(x, c))
		}, func(r *Node) *Node { return graph.Div(r, some) }, in[1], 1e-14, 50)
		return x
	}, [][][]float64{spdMatrix(1, 5), random(2, 3, 5)}, [][][]float64{random(3, 5, 5), random(4, 3, 5)})
}

// A factorisation made outside a scan and one made inside it have the same gradient through the scan, the one of the
// loop written out.
func TestScan(t *testing.T) {
	outside := func(a, b *Node, scan bool) *Node {
		f := Factor(a)
		step := func(x *Node) *Node {
			inner := Factor(graph.Add(a, Outer(graph.Tanh(x), graph.Tanh(x))))
			return graph.Sub(f.Solve(x), inner.Solve(graph.Sin(x)))
		}
		x := b
		if scan {
			final, _ := autodiff.Scan(2, func(_ *Node, s, _ []*Node) ([]*Node, []*Node) { return []*Node{step(s[0])}, nil }, []*Node{x}, nil)
			x = final[0]
		} else {
			for range 2 {
				x = step(x)
			}
		}
		return graph.Add(graph.ReduceAllSum(graph.Square(x)), f.LogDet())
	}
	out := expect.Must(engine.Run(func(in []*Node) []*Node {
		var out []*Node
		for _, scan := range []bool{true, false} {
			y := outside(in[0], in[1], scan)
			g := graph.Gradient(y, in[0], in[1])
			h := graph.Gradient(graph.Add(graph.ReduceAllSum(graph.Sin(g[0])), graph.ReduceAllSum(graph.Sin(g[1]))), in[0], in[1])
			out = append(out, y, g[0], g[1], h[0], h[1])
		}
		return out
	}, spdMatrix(2, 6), random(3, 1, 6)[0]))
	for k := range 5 {
		expect.Rel(t, fmt.Sprint("output ", k), out.Flat(k), out.Flat(k+5), 1e-12)
	}
}
