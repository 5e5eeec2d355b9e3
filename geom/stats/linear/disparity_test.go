package linear

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/geomtest/expect"
	"anatomy/internal/dense"
)

// The model is fitted again to each draw: with a slope that three groups share, a draw of two of them changes the fit of all. The p-value is
// that of whole fits to the same draws, by the normal equations.
func TestDisparityFitsAgain(t *testing.T) {
	const n = 16
	rng := rand.New(rand.NewPCG(3, 1))
	y, x, group, of := normals(rng, n, 2), make([]float64, n), make([]string, n), make([]int, n)
	design := mat.NewDense(n, 4, nil)
	for i := range n {
		of[i] = []int{0, 1, 1, 2}[i%4]
		x[i], group[i] = rng.NormFloat64()+3*float64(of[i]), fmt.Sprint(of[i])
		floats.Scale(1+float64(of[i]), y[i])
		design.SetRow(i, []float64{1, x[i], indicator(of[i] == 1), indicator(of[i] == 2)})
	}
	var inverse, hat mat.Dense
	inverse.Mul(design.T(), design)
	if err := inverse.Inverse(&inverse); err != nil {
		t.Fatal(err)
	}
	hat.Product(design, &inverse, design.T())
	residuals := func(y *mat.Dense) *mat.Dense {
		var out mat.Dense
		out.Mul(&hat, y)
		out.Sub(y, &out)
		return &out
	}
	var free, squares [3]float64
	scaled := residuals(dense.Rows(y))
	for i := range n {
		row := scaled.RawRowView(i)
		squares[of[i]] += floats.Dot(row, row)
		free[of[i]] += 1 - hat.At(i, i)
		floats.Scale(1/math.Sqrt(1-hat.At(i, i)), row)
	}
	ratio := func(squares [3]float64, a, b int) float64 { return squares[a] / free[a] / (squares[b] / free[b]) }

	groups, covariate := Factor("group", group...), Covariate("x", x...)
	m := expect.Must(expect.Must(NewDesign(n, nil, nil, covariate, groups)).Fit(y))
	p := Permutations{N: 199, Seed: 5}
	for k, got := range expect.Must(m.Disparity(groups, p)).Ratios {
		a, b := []int{0, 0, 1}[k], []int{1, 2, 2}[k]
		expect.Rel(t, "ratio", got.Ratio, ratio(squares, a, b), 1e-10)
		var both []int // those of a, then those of b
		for _, g := range []int{a, b} {
			for i := range n {
				if of[i] == g {
					both = append(both, i)
				}
			}
		}
		want := expect.Must(p.Test("by hand", len(both), Order, []float64{math.Abs(math.Log(got.Ratio))}, func(d *Draw) ([]float64, error) {
			drawn := mat.DenseCopyOf(scaled)
			for k, i := range both {
				drawn.SetRow(i, scaled.RawRowView(both[d.Order[k]]))
			}
			var squares [3]float64
			again := residuals(drawn)
			for i := range n {
				squares[of[i]] += floats.Dot(again.RawRowView(i), again.RawRowView(i))
			}
			return []float64{math.Abs(math.Log(ratio(squares, a, b)))}, nil
		}))[0]
		expect.Abs(t, fmt.Sprintf("p of groups %d and %d", a, b), got.P, want.P, 1e-12)
	}
}

// A direction that nearly lies in what a basis spans is orthogonal to it to rounding.
func TestOrthonormal(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	column := func() []float64 { return normals(rng, 1, 40)[0] }
	var basis [][]float64
	for range 5 {
		basis = orthonormal(basis, column(), 0)
	}
	near := make([]float64, 40)
	for _, q := range basis {
		floats.AddScaled(near, rng.NormFloat64(), q)
	}
	floats.AddScaled(near, 1e-6, column())
	basis = orthonormal(basis, near, independent)
	for _, q := range basis[:5] {
		expect.Abs(t, "⟨q, new⟩", floats.Dot(q, basis[5]), 0, 1e-14)
	}
	if len(orthonormal(basis, near, independent)) != 6 {
		t.Error("a column that the basis spans adds to it")
	}
}

// Whether samples determine a prediction does not depend on the unit of a covariate, and a term that does nothing has no scores.
func TestPredictInAnyUnit(t *testing.T) {
	const n = 24
	rng := rand.New(rand.NewPCG(6, 1))
	for _, unit := range []float64{1e-9, 1, 1e12} {
		d := data{"site": cycle(n, "n", "s"), "pond": cycle(n, "a", "b", "c", "d"), "age": nil}
		for range n {
			d["age"] = append(d["age"], fmt.Sprint(unit*(5+rng.Float64())))
		}
		site, age, pond := Factor("site"), Covariate("age"), Factor("pond")
		design := expect.Must(NewDesign(n, d, nil, site, age, Interaction(age, site), Interaction(age, pond)))
		m := expect.Must(design.Fit(normals(rng, n, 2)))
		for i := range 4 {
			at := map[string]string{"site": d["site"][i], "pond": d["pond"][i], "age": d["age"][i]}
			expect.Abs(t, fmt.Sprintf("prediction, unit %g", unit), expect.Must(m.Predict(at)), m.Fitted[i], 1e-6)
			at["site"] = map[string]string{"n": "s", "s": "n"}[at["site"]] // where this pond is not
			expect.Refused(t, expect.Error(m.Predict(at)), "do not determine the effect")
		}
		nothing := expect.Must(expect.Must(NewDesign(n, d, nil, age)).Fit(slices.Repeat([][]float64{{0, 0}}, n)))
		expect.Refused(t, expect.Error(nothing.RegressionScores(age)), "the term age does nothing")
	}
}
