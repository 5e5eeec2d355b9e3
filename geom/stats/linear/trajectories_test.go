package linear

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/geomtest/expect"
)

// A path that is turned, moved and made larger has the same shape, twice the length, and an axis that turns with it; the angle and the
// distance of two triangles by hand.
func TestPath(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	random := func(r, c int) *mat.Dense {
		m := mat.NewDense(r, c, nil)
		m.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, m)
		return m
	}
	var qr mat.QR
	var turn, turned mat.Dense
	qr.Factorize(random(6, 6))
	qr.QTo(&turn)
	x := random(4, 6)
	turned.Mul(x, &turn)
	turned.Apply(func(_, j int, v float64) float64 { return 2*v + float64(j) }, &turned)
	a, b, other := newPath(x), newPath(&turned), newPath(random(4, 6))
	expect.Rel(t, "length", b.length, 2*a.length, 1e-12)
	expect.Abs(t, "distance from itself, turned", a.shapeFrom(b), 0, 1e-7)
	expect.Abs(t, "distance from another", other.shapeFrom(a), other.shapeFrom(b), 1e-12)
	var axis mat.VecDense
	axis.MulVec(turn.T(), mat.NewVecDense(6, a.axis))
	expect.Abs(t, "axis", angle(b.axis, axis.RawVector().Data), 0, 1e-9)
	// Σσ of 2 × 2 matrices is √(|M|² + 2 |det M|).
	p, q := random(3, 2), random(3, 2)
	centred := func(m *mat.Dense) *mat.Dense {
		out := mat.DenseCopyOf(m)
		for c := range 2 {
			column := mat.Col(nil, c, m)
			floats.AddConst(-floats.Sum(column)/3, column)
			out.SetCol(c, column)
		}
		out.Scale(1/mat.Norm(out, 2), out)
		return out
	}
	var product mat.Dense
	product.Mul(centred(p).T(), centred(q))
	sum := math.Sqrt(math.Pow(mat.Norm(&product, 2), 2) + 2*math.Abs(mat.Det(&product)))
	expect.Abs(t, "distance of triangles", newPath(p).shapeFrom(newPath(q)), math.Sqrt(2-2*sum), 1e-12)
	// The axis of a straight way is its direction.
	straight := mat.NewDense(3, 2, []float64{0, 0, 3, 4, 9, 12})
	expect.Abs(t, "axis of a straight way", angle(newPath(straight).axis, []float64{0.6, 0.8}), 0, 1e-12)
	expect.Abs(t, "its length", newPath(straight).length, 15, 1e-12)
	// Where nothing changes there is no shape.
	if still := newPath(mat.NewDense(4, 6, nil)); !math.IsNaN(a.shapeFrom(still)) || !math.IsNaN(still.shapeFrom(a)) {
		t.Error("a shape of what does not change")
	}
}
