package stats_test

import (
	"fmt"
	"slices"

	"anatomy/geom"
	"anatomy/geom/stats"
	"anatomy/geom/stats/linear"
)

// along are covariates c0, c1, ….
func along(columns ...[]float64) (terms linear.Terms) {
	for k, c := range columns {
		terms = append(terms, linear.Covariate(fmt.Sprint("c", k), c...))
	}
	return terms
}

// compare is a permutation test of groups 0, 1, ….
func compare[P geom.Point](on geom.Of[P], groups [][]P, statistic stats.Statistic, n int, seed uint64, opts ...stats.TestOption) (*stats.Comparison[P], error) {
	var names []string
	for g, members := range groups {
		names = append(names, slices.Repeat([]string{fmt.Sprint(g)}, len(members))...)
	}
	return stats.PermutationTest(on, slices.Concat(groups...), linear.Factor("group", names...), statistic, linear.Permutations{N: n, Seed: seed}, opts...)
}
