package linear

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/try"
	"anatomy/internal/lists"
)

// FitWithErrors explains rows y_i, [N][p], of N samples that were measured with errors. E_i is the mean square of the norm of the error of row i,
// 0 where there is none. The data may be nil, as in NewDesign. As in a random-effects model, samples have the weights 1/(V + E_i) for the
// variance V of the rows about the model. It is returned as between, and solves
//
//	Σ_i |y_i − ŷ_i|²/(V + E_i) = N − K
//
// for the K columns of the design and the constant; if nothing solves this, V is 0 (Paule and Mandel, J. Res. Natl. Bur. Stand. 87, 1982).
// Permutation tests take the residuals over √(V + E_i), with the V of the data in all draws. These are exchangeable if errors are distributed
// over the columns of y as the differences between samples are. Otherwise they are nearly so. The errors are those of NewDesign and Fit, and
// one for an E_i that is negative or no finite number.
func FitWithErrors(data Data, y [][]float64, errors []float64, terms ...Term) (m *Model, between float64, err error) {
	defer try.Catch(&err)
	n, usual := len(y), 0.0
	try.FailIf(len(errors) != n, "errors of %d samples for %d rows", len(errors), n)
	for i, e := range errors {
		try.FailIf(!(e >= 0) || math.IsInf(e, 1),
			"the mean square error of sample %d is %g: give a number that is not negative, or leave the sample out", i, e)
		usual += e / float64(n)
	}
	at := func(v float64) (excess float64) {
		weights := lists.Each(errors, func(e float64) float64 { return 1 / (v + e) })
		d := try.Get(NewDesign(n, data, weights, terms...))
		m = try.Get(d.Fit(y))
		excess = -float64(n - len(d.basis))
		for i, r := range m.Residuals {
			excess += floats.Dot(r, r) * weights[i]
		}
		return excess
	}
	if usual == 0 {
		excess := at(1)
		free := float64(n - len(m.Design.basis))
		return m, (excess + free) / free, nil
	}
	const least = 1e-9 // of V, as a share of the usual error, and of its precision
	between = root(at, least*usual, usual, least)
	at(between)
	if between <= 2*least*usual {
		between = 0
	}
	return m, between, nil
}

// root is where a function that falls with v > 0 is 0, to a share of v, between the low value and any, of which high is the first that is tried.
func root(of func(v float64) float64, low, high, share float64) float64 {
	for !(of(high) <= 0) {
		low, high = high, 2*high
	}
	for high/low > 1+share {
		if middle := math.Sqrt(low * high); of(middle) > 0 {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}
