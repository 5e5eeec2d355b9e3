package linear

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/geomtest/expect"
)

// Where rows are measured with errors of known variances, the variance between samples comes back, its equation holds, slopes scatter less than without weights, and a
// test of no effect rejects one in twenty of 1,000 simulations.
func TestFitWithErrors(t *testing.T) {
	const n, p, runs, between = 30, 4, 1000, 2. // of all columns together
	random := rand.New(rand.NewPCG(5, 6))
	squares, age := make([]float64, n), make([]float64, n)
	for i := range n {
		age[i] = float64(i % 7)
		squares[i] = 0.1 + float64(i%5)*float64(i%5)
	}
	term, mean, weighted, plain, rejected := Covariate("age", age...), 0.0, 0.0, 0.0, 0
	for run := range runs {
		y := normals(random, n, p)
		for i := range y {
			floats.Scale(math.Sqrt((between+squares[i])/p), y[i])
		}
		m, v, err := FitWithErrors(nil, y, squares, term)
		if err != nil {
			t.Fatal(err)
		}
		if run < 10 && v > 0 {
			sum := 0.0
			for i, r := range m.Residuals {
				sum += floats.Dot(r, r) / (v + squares[i])
			}
			expect.Abs(t, "the equation of the variance", sum, n-2, 1e-5)
		}
		mean += v / runs
		weighted += floats.Dot(m.Coefficients[1], m.Coefficients[1]) / runs
		ordinary := expect.Must(expect.Must(NewDesign(n, nil, nil, term)).Fit(y))
		plain += floats.Dot(ordinary.Coefficients[1], ordinary.Coefficients[1]) / runs
		if expect.Must(m.ANOVA(Permutations{N: 199, Seed: uint64(run)})).Rows[0].P <= 0.05 {
			rejected++
		}
	}
	t.Logf("variance %.3f, squared slopes %.4f and %.4f, %d of %d rejected", mean, weighted, plain, rejected, runs)
	expect.Rel(t, "variance between samples", mean, between, 0.05)
	expect.Rel(t, "squared slopes in those without weights", weighted/plain, 0.55, 0.3)
	expect.Abs(t, "rejected at 5 %", float64(rejected)/runs, 0.05, 3*math.Sqrt(0.05*0.95/runs))
	_, _, err := FitWithErrors(nil, normals(random, n, p), append(squares[:n-1:n-1], -1), term)
	expect.Refused(t, err, "the mean square error of sample 29 is -1")
}
