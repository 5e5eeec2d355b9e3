package landmarks_test

import (
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/surfaces/attachment"
	"anatomy/landmarks/surfaces/mesh"
)

var anchors = [][]float64{{-1, -1}, {2, -0.5}, {0, 1.5}}

func TestConditionalGeometry(t *testing.T) {
	shape := []float64{0, 0, 1, 0.2, 0.3, 0.9, 0.8, 1.1}
	for _, k := range []kernels.Kernel{kernels.Conditional(kernels.Gaussian(0.7), anchors, 3), kernels.ThinPlate(1, anchors, 3)} {
		t.Run(k.String(), func(t *testing.T) {
			t.Parallel()
			geomtest.Run(t, landmarks.Manifold{N: 4, D: 2, Kernel: k}, shape)
		})
	}
}

// spline has, for a weight of affine fields, ½⟨v, v⟩ of velocities v at landmarks q and the field with them at points z.
func spline(t *testing.T, q, v, z [][]float64, anchors [][]float64, weight float64) (numbers []float64) {
	t.Helper()
	m := landmarks.Manifold{N: len(q), D: 2, Kernel: kernels.ThinPlate(1, anchors, weight)}
	out := expect.Must(engine.Run(func(in []*Node) []*Node {
		p := m.Flat(in[0], in[1])
		return []*Node{geom.Inner(m, in[0], in[1], in[1]), m.Velocity(in[0], p, in[2])}
	}, shape.Flat(q), shape.Flat(v), z))
	return append([]float64{out.Scalar(0)}, shape.Flat(out.Matrix(1))...)
}

// limit extrapolates what depends on a weight like a polynomial of its inverse.
func limit(f func(weight float64) []float64) []float64 {
	table := [][]float64{f(2000), f(4000), f(8000), f(16000)}
	for power := 1.0; len(table) > 1; power++ {
		var next [][]float64
		for i := range table[1:] {
			fine := floats.ScaleTo(make([]float64, len(table[0])), math.Exp2(power), table[i+1])
			floats.Sub(fine, table[i])
			floats.Scale(1/(math.Exp2(power)-1), fine)
			next = append(next, fine)
		}
		table = next
	}
	return table[0]
}

// Bookstein's example of 1989: a square whose two diagonals move apart bends with the energy 1/(16 log 2) = 0.0902. For free affine fields the
// metric is the bending energy, the field the thin-plate spline of package morpho, and the anchors are of no account.
func TestThinPlateIsBooksteins(t *testing.T) {
	square := [][]float64{{0, 1}, {-1, 0}, {0, -1}, {1, 0}}
	v := [][]float64{{0, -0.25}, {0, 0.25}, {0, -0.25}, {0, 0.25}}
	z := [][]float64{{0.3, 0.2}, {1.4, -0.9}}
	bent := limit(func(weight float64) []float64 { return spline(t, square, v, z, anchors, weight) })
	expect.Abs(t, "bending energy of Bookstein's square", bent[0], 1/(16*math.Ln2), 1e-8)

	q := [][]float64{{0.1, 0.2}, {1.3, -0.1}, {0.7, 0.9}, {-0.4, 0.8}, {0.5, -0.7}, {1.6, 1.2}}
	moved := make([][]float64, len(q))
	v = make([][]float64, len(q))
	for i, x := range q {
		v[i] = []float64{0.4*x[0] + 0.3*math.Sin(5*float64(i)), -0.2*x[0] + 0.3*math.Cos(3*float64(i))}
		moved[i] = []float64{x[0] + v[i][0], x[1] + v[i][1]}
	}
	field := limit(func(weight float64) []float64 { return spline(t, q, v, z, anchors, weight) })
	other := limit(func(weight float64) []float64 { return spline(t, q, v, z, [][]float64{{0, 0}, {1, 0}, {0, 1}}, weight) })
	expect.Abs(t, "with other anchors", other, field, 1e-8)
	warp, err := morpho.ThinPlateSpline(q, moved)
	if err != nil {
		t.Fatal(err)
	}
	for i, image := range warp(z) {
		for a := range image {
			expect.Abs(t, "the spline at a point", z[i][a]+field[1+2*i+a], image[a], 1e-8)
		}
	}
	affine := limit(func(weight float64) []float64 {
		var v [][]float64
		for _, x := range q {
			v = append(v, []float64{0.3*x[0] - 0.5*x[1] + 1, 0.2*x[0] + 0.1*x[1] - 2})
		}
		return spline(t, q, v, z, anchors, weight)[:1]
	})
	expect.Abs(t, "energy of an affine motion", affine[0], 0, 1e-8)
}

// With a kernel of any kind the least energy of velocities is that of the annihilating momenta, vᵀ(K⁻¹ − K⁻¹A(AᵀK⁻¹A)⁻¹AᵀK⁻¹)v, and the momenta
// have no part along affine functions.
func TestConditionalIsTheQuotient(t *testing.T) {
	q := [][]float64{{0.1, 0.2}, {1.3, -0.1}, {0.7, 0.9}, {-0.4, 0.8}, {0.5, -0.7}, {1.6, 1.2}}
	v := [][]float64{{0.5, 0.1}, {-0.2, 0.4}, {0.3, 0.3}, {0.2, -0.6}, {0, 0.7}, {-0.4, 0.2}}
	at := limit(func(weight float64) []float64 {
		m := landmarks.Manifold{N: 6, D: 2, Kernel: kernels.Conditional(kernels.Gaussian(0.9), anchors, weight)}
		out := expect.Must(engine.Run(func(in []*Node) []*Node {
			p := m.Flat(in[0], in[1])
			x, w := Reshape(in[0], 6, 2), Reshape(p, 6, 2)
			moments := ReduceAllMax(Abs(MatMul(Transpose(Concatenate([]*Node{OnesLike(x), x}, -1), 0, 1), w)))
			return []*Node{ReduceAllSum(Mul(p, in[1])), moments}
		}, shape.Flat(q), shape.Flat(v)))
		return []float64{out.Scalar(0), out.Scalar(1)}
	})
	m := landmarks.Manifold{N: 6, D: 2, Kernel: kernels.Gaussian(0.9)}
	want := expect.Must(engine.Run(func(in []*Node) []*Node {
		x, v := Reshape(in[0], 6, 2), Reshape(in[1], 6, 2)
		a := Concatenate([]*Node{OnesLike(SliceAxis(x, -1, AxisRange(0, 1))), x}, -1)
		gram := m.Gram(in[0])
		kv, ka := linalg.Solve(gram, v), linalg.Solve(gram, a)
		fit := MatMul(ka, linalg.Solve(MatMul(Transpose(a, 0, 1), ka), MatMul(Transpose(ka, 0, 1), v)))
		return []*Node{ReduceAllSum(Mul(v, Sub(kv, fit)))}
	}, shape.Flat(q), shape.Flat(v))).Scalar(0)
	expect.Abs(t, "energy", at[0], want, 1e-8)
	expect.Abs(t, "moments of the momenta", at[1], 0, 1e-8)
}

// Match converges if affine fields are nearly free, when the kernel matrix has a few large eigenvalues and an uneven diagonal. Its objective is
// smaller, as the affine part of the way costs less.
func TestMatchWithFreeAffineFields(t *testing.T) {
	t.Parallel()
	cc := morpho.CorpusCallosum()
	atlas := cc.Shape("jhu_atlas")
	made := make([][]float64, len(atlas))
	for i, x := range atlas {
		r := floats.Distance(x, atlas[9], 2)
		made[i] = []float64{1.1*x[0] + 0.2*x[1], -0.1*x[0] + 0.9*x[1] + 4*math.Exp(-r*r/50)}
	}
	kernel := kernels.Conditional(kernels.Gaussian(cc.Spacing()), [][]float64{{-40, -40}, {40, -40}, {-40, 40}}, 1e4)
	term := attachment.Current(kernels.Gaussian(10), mesh.Curve(atlas, true), mesh.Curve(made, true))
	m := landmarks.New(39, 2, kernel, geom.Integrator(ode.RK4, 25))
	match := expect.Must(m.Match(atlas, term, 3))
	better := expect.Must(m.Match(atlas, term, 3, solve.Tolerance(1e-4), solve.MaxIterations(2000)))
	plain := expect.Must(landmarks.New(39, 2, kernels.Gaussian(cc.Spacing())).Match(atlas, term, 3))
	t.Logf("%s after %d evaluations, objective %.5g; %s after %d, %.5g; Gaussian %.5g", match.Status, match.Evaluations, match.Objective, better.Status, better.Evaluations, better.Objective, plain.Objective)
	if match.Status != geom.Converged || match.Evaluations > 130 {
		t.Errorf("%s after %d evaluations", match.Status, match.Evaluations)
	}
	expect.Rel(t, "objective", match.Objective, better.Objective, 0.002)
	if !(match.Objective < plain.Objective/5) {
		t.Errorf("the objective is %.4g, with a Gaussian kernel %.4g", match.Objective, plain.Objective)
	}
}

// For landmarks on a circle about the centre of regular anchors all K(x, x) are the same, and affine fields are nearly free all the same.
func TestMatchOfCircleWithFreeAffineFields(t *testing.T) {
	t.Parallel()
	var circle, made, regular [][]float64
	for i := range 39 {
		s, c := math.Sincos(2 * math.Pi * float64(i) / 39)
		circle = append(circle, []float64{30 * c, 30 * s})
		r := math.Hypot(30*c-30, 30*s)
		made = append(made, []float64{33*c + 6*s + 5*math.Exp(-r*r/50), -3*c + 27*s})
		if i%13 == 0 {
			regular = append(regular, []float64{40 * c, 40 * s})
		}
	}
	term := attachment.Current(kernels.Gaussian(10), mesh.Curve(circle, true), mesh.Curve(made, true))
	m := landmarks.New(39, 2, kernels.Conditional(kernels.Gaussian(5), regular, 1e4), geom.Integrator(ode.RK4, 25))
	if match := expect.Must(m.Match(circle, term, 3)); match.Status != geom.Converged || match.Evaluations > 160 {
		t.Errorf("%s after %d evaluations", match.Status, match.Evaluations)
	}
}
