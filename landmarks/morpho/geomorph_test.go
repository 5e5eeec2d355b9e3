package morpho

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/shape"
	"anatomy/geom/solve"
)

// plainGeomorph is the sliding of geomorph by whole matrices: vectors of n·2 coordinates, all of x first, tangents as columns of U and the energy as a
// Kronecker product.
func plainGeomorph(t *testing.T, shapes []shape.Shape, semilandmarks []Semilandmark, bending bool, most int) (slid []*mat.Dense, mean *mat.Dense, turns int) {
	n := len(shapes[0])
	unit := func(x *mat.Dense) *mat.Dense {
		var out mat.Dense
		out.Scale(1/mat.Norm(x, 2), x)
		return &out
	}
	for _, x := range shapes {
		z := mat.NewDense(n, 2, slices.Concat(x...))
		for c := range 2 {
			column := mat.Col(nil, c, z)
			floats.AddConst(-floats.Sum(column)/float64(n), column)
			z.SetCol(c, column)
		}
		slid = append(slid, unit(z))
	}
	rotate := func(to *mat.Dense) { // in the plane by the angle of Σ z̄_l w_l
		for i, x := range slid {
			re, im := 0.0, 0.0
			for l := range n {
				re += x.At(l, 0)*to.At(l, 0) + x.At(l, 1)*to.At(l, 1)
				im += x.At(l, 0)*to.At(l, 1) - x.At(l, 1)*to.At(l, 0)
			}
			sin, cos := im/math.Hypot(re, im), re/math.Hypot(re, im)
			var turned mat.Dense
			turned.Mul(x, mat.NewDense(2, 2, []float64{cos, sin, -sin, cos}))
			slid[i] = &turned
		}
	}
	average := func() *mat.Dense {
		sum := mat.NewDense(n, 2, nil)
		for _, x := range slid {
			sum.Add(sum, x)
		}
		sum.Scale(1/float64(len(slid)), sum)
		return sum
	}
	rotate(slid[0])
	mean = average()
	ss := func() float64 { return math.Pow(mat.Norm(average(), 2), 2) * float64(len(slid)) }
	for before, change := ss(), 1.0; turns < most && change > 1e-4; turns++ {
		energy := mat.NewDense(2*n, 2*n, nil)
		if bending {
			l := mat.NewDense(n+3, n+3, nil)
			for i := range n {
				for j := range n {
					if r := math.Hypot(mean.At(i, 0)-mean.At(j, 0), mean.At(i, 1)-mean.At(j, 1)); i != j {
						l.Set(i, j, r*r*math.Log(r))
					}
				}
				for k, v := range []float64{1, mean.At(i, 0), mean.At(i, 1)} {
					l.Set(i, n+k, v)
					l.Set(n+k, i, v)
				}
			}
			var inverse mat.Dense
			if err := inverse.Inverse(l); err != nil {
				t.Fatal(err)
			}
			for i := range n {
				for j := range n {
					energy.Set(i, j, inverse.At(i, j))
					energy.Set(n+i, n+j, inverse.At(i, j))
				}
			}
		} else {
			for i := range 2 * n {
				energy.Set(i, i, 1)
			}
		}
		for i, x := range slid {
			u, y := mat.NewDense(2*n, len(semilandmarks), nil), mat.NewVecDense(2*n, nil)
			for k, s := range semilandmarks {
				dx, dy := x.At(s.Neighbours[1], 0)-x.At(s.Neighbours[0], 0), x.At(s.Neighbours[1], 1)-x.At(s.Neighbours[0], 1)
				u.Set(s.Point, k, dx/math.Hypot(dx, dy))
				u.Set(n+s.Point, k, dy/math.Hypot(dx, dy))
			}
			for l := range n {
				y.SetVec(l, x.At(l, 0)-mean.At(l, 0))
				y.SetVec(n+l, x.At(l, 1)-mean.At(l, 1))
			}
			var ul, middle, right, way, step mat.Dense
			ul.Mul(u.T(), energy)
			middle.Mul(&ul, u)
			right.Mul(&ul, y)
			if err := way.Solve(&middle, &right); err != nil {
				t.Fatal(err)
			}
			step.Mul(u, &way)
			next := mat.DenseCopyOf(x)
			for l := range n {
				next.Set(l, 0, x.At(l, 0)-step.At(l, 0))
				next.Set(l, 1, x.At(l, 1)-step.At(n+l, 0))
			}
			slid[i] = next
		}
		after := ss()
		change, before = math.Abs(after-before), after
		rotate(unit(mean))
		mean = unit(average())
	}
	return slid, mean, turns
}

// Sliding as geomorph is that by whole matrices, to 1e-10, and another than towards a mean that stays.
func TestSlidingAsGeomorph(t *testing.T) {
	mice := MouseVertebrae().Group("large").Shapes()
	slide := Semilandmarks(60, true, 0, 15, 30, 45)
	for k, criterion := range []Criterion{BendingEnergy, BendingEnergy, ProcrustesDistance} {
		most := []int{9, 4, 9}[k]
		got := expect.Must(ProcrustesSlidingGeomorph(mice, slide, criterion, most))
		slid, mean, turns := plainGeomorph(t, mice, slide, criterion == BendingEnergy, most)
		for i, x := range slid {
			expect.Abs(t, "shape", slices.Concat(got.Shapes[i]...), x.RawMatrix().Data, 1e-10)
			expect.Abs(t, "slid shape, transformed", got.Transforms[i].Apply(got.Slid[i]), got.Shapes[i], 1e-12)
			for _, l := range []int{0, 15, 30, 45} {
				expect.Abs(t, "fixed landmark", got.Slid[i][l], mice[i][l], 1e-9)
			}
		}
		expect.Abs(t, "mean", slices.Concat(got.Mean...), mean.RawMatrix().Data, 1e-10)
		if got.Iterations != turns || got.Status != solve.Converged && turns < most {
			t.Errorf("%d turns, %v; want %d", got.Iterations, got.Status, turns)
		}
		ours := expect.Must(ProcrustesSliding(mice, slide, criterion))
		t.Logf("geomorph %v\nours %v", got, ours)
	}
	_, err := ProcrustesSlidingGeomorph(mice, slide, BendingEnergy, 0)
	expect.Refused(t, err, "0 turns, want at least 1")
	_, err = ProcrustesSlidingGeomorph(mice, nil, BendingEnergy, 9)
	expect.Refused(t, err, "no semi-landmarks")
}
