package chains_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/stats/chains"
)

// autoregression draws chains x' = ρx + √(1 − ρ²) z, the further ones shifted, from Lehmer's generator.
func autoregression(chains, draws int, rho, shift float64, rounded bool) [][]float64 {
	k := 1
	out := make([][]float64, chains)
	for c := range out {
		x := 0.0
		for range draws {
			k = k * 48271 % 2147483647
			x = rho*x + math.Sqrt(1-rho*rho)*distuv.UnitNormal.Quantile((float64(k)+0.5)/2147483648)
			y := x + shift*float64(c)
			if rounded {
				y = math.RoundToEven(y*10) / 10
			}
			out[c] = append(out[c], y)
		}
	}
	return out
}

// What ArviZ 0.23.4 gives for the same draws.
func TestArviZ(t *testing.T) {
	for _, a := range []struct {
		chains, draws    int
		rho, shift       float64
		rounded          bool
		rHat, bulk, tail float64
	}{
		{4, 1000, 0, 0, false, 1.00065129432, 4188.10728847, 4097.56180288},
		{4, 1000, 0.9, 0, false, 1.03271180913, 225.373579095, 410.039834638},
		{3, 501, 0.5, 0.3, false, 1.03952581563, 169.033376172, 606.154238173},
		{2, 200, -0.5, 0, false, 1.00892160074, 926.724855172, 341.759402293},
		{4, 400, 0.7, 0, true, 1.00300725706, 305.531943407, 675.220069831},
		{1, 300, 0.95, 0, false, math.NaN(), 12.5051360568, 20.4655336605},
	} {
		x := autoregression(a.chains, a.draws, a.rho, a.shift, a.rounded)
		if !math.IsNaN(a.rHat) {
			expect.Rel(t, "R̂", chains.RHat(x), a.rHat, 1e-10)
		}
		expect.Rel(t, "bulk", chains.Bulk(x), a.bulk, 1e-8)
		expect.Rel(t, "tail", chains.Tail(x), a.tail, 1e-8)
	}
}

// Chains of which nothing can be told.
func TestNothing(t *testing.T) {
	for name, x := range map[string][][]float64{
		"none":    nil,
		"short":   {{1, 2, 3}},
		"unequal": {{1, 2, 3, 4}, {1, 2, 3, 4, 5}},
		"endless": {{1, 2, math.Inf(1), 4}},
	} {
		for _, v := range []float64{chains.RHat(x), chains.Bulk(x), chains.Tail(x)} {
			if !math.IsNaN(v) {
				t.Errorf("%s: got %g, want NaN", name, v)
			}
		}
	}
	expect.Abs(t, "equal draws", chains.Bulk([][]float64{{1, 1, 1, 1}}), 4, 0)
}
