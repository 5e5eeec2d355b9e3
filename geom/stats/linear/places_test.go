package linear_test

import (
	"math/rand/v2"
	"testing"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/stats/linear"
)

// F at a place is that of the ANOVA of this column alone, beside the other terms. Where an effect is at one place of many, it is found there.
func TestPlaces(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const n, places = 24, 30
	var sexes []string
	var ages []float64
	rows := make([][]float64, n)
	for i := range rows {
		sexes, ages = append(sexes, []string{"f", "m", "m"}[i%3]), append(ages, r.Float64()*10)
		for range places {
			rows[i] = append(rows[i], r.NormFloat64()+0.3*ages[i])
		}
		if sexes[i] == "m" {
			rows[i][7] += 5
		}
	}
	sex, age := linear.Factor("sex", sexes...), linear.Covariate("age", ages...)
	design := expect.Must(linear.NewDesign(n, nil, nil, sex, age))
	draws := linear.Permutations{N: 199, Seed: 1}
	model := expect.Must(design.Fit(rows))
	got := expect.Must(model.Places(sex, draws))
	for c := range places {
		column := make([][]float64, n)
		for i := range rows {
			column[i] = rows[i][c : c+1]
		}
		table := expect.Must(expect.Must(design.Fit(column)).ANOVAOfType(linear.TypeII, linear.Permutations{N: 1, Seed: 1}))
		expect.Rel(t, "F at a place", got.F[c], table.Rows[0].F, 1e-9)
		if (got.P[c] <= 0.05) != (c == 7) {
			t.Errorf("place %d: p = %g, and the effect is at place 7 alone", c, got.P[c])
		}
	}
	expect.Abs(t, "the least p", got.Least, 1./200, 1e-15)
	expect.Refused(t, expect.Error(model.Places(linear.Factor("site", sexes...), draws)), "no term site in the model")
}

// Without an effect, some of 200 places that vary smoothly have p ≤ 5 % in 5 % of 400 experiments.
func TestPlacesHoldTheirSize(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const n, places, experiments = 15, 200, 400
	rejected := 0
	for range experiments {
		var groups []string
		rows := make([][]float64, n)
		for i := range rows {
			groups = append(groups, []string{"a", "b", "b"}[i%3])
			smooth := 0.0
			for range places {
				smooth = 0.9*smooth + r.NormFloat64()
				rows[i] = append(rows[i], smooth)
			}
		}
		group := linear.Factor("group", groups...)
		model := expect.Must(expect.Must(linear.NewDesign(n, nil, nil, group)).Fit(rows))
		if expect.Must(model.Places(group, linear.Permutations{N: 39, Seed: r.Uint64()})).Least <= 0.05 {
			rejected++
		}
	}
	// 39 draws reject at 1/40 and 2/40: in exactly 5 % of experiments.
	expect.Estimate(t, "share of experiments with p ≤ 5 % somewhere", float64(rejected)/experiments, 0.011, 0.05)
}
