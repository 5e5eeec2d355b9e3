package tree

import (
	"math"
	"slices"
	"testing"

	"anatomy/geom/geomtest/expect"
)

// Leaves are the specimens in their order, at their ages from the root, and two of them share what their individual had lived before the
// younger one was seen: nothing, where they are of two individuals.
func TestCohort(t *testing.T) {
	ages := []float64{5, 2, 0, 3, 2, 5, 7, 1.5, 0}
	for _, individuals := range [][]string{nil, {"a", "a", "b", "c", "a", "a", "b", "a", "c"}} {
		c := expect.Must(Cohort(ages, individuals))
		if _, err := c.check(); err != nil {
			t.Error(err)
		}
		shared := expect.Must(c.Shared())
		for k, leaf := range c.Leaves() {
			expect.Rel(t, "age", c.Height()[leaf], ages[k], 1e-15)
			for l := range k {
				want := 0.0
				if individuals != nil && individuals[k] == individuals[l] {
					want = math.Min(ages[k], ages[l])
				}
				expect.Abs(t, "shared", shared[k][l], want, 1e-15)
			}
		}
	}
	if star := expect.Must(Cohort(ages, nil)); !slices.Equal(star.Length[1:], ages) {
		t.Errorf("the edges of the star are %v", star.Length)
	}
	for _, c := range []struct {
		ages        []float64
		individuals []string
		want        []string
	}{
		{[]float64{1, -2}, nil, []string{"specimen 1", "-2"}},
		{[]float64{1, math.NaN()}, nil, []string{"specimen 1", "NaN"}},
		{[]float64{math.Inf(1), 3}, nil, []string{"specimen 0", "+Inf"}},
		{[]float64{4, 4}, nil, []string{"2 specimens of one age"}},
		{nil, nil, []string{"0 specimens"}},
		{[]float64{1, 2, 3}, []string{"a", "", ""}, []string{"specimen 1 is of no individual"}},
		{[]float64{1, 2}, []string{"a"}, []string{"1 individuals for 2 ages"}},
	} {
		_, err := Cohort(c.ages, c.individuals)
		expect.Refused(t, err, c.want...)
	}
}

// A cohort that is written and read has the same leaves by name, at the same ages and as far from each other, in another order.
func TestCohortIsRead(t *testing.T) {
	c := expect.Must(Cohort([]float64{1, 2, 3, 4}, []string{"x", "y", "x", "y"}))
	again := expect.Must(Parse(c.Newick()))
	where := map[string]int{} // leaves by name
	for a, i := range again.Leaves() {
		where[again.Name[i]] = a
	}
	want, got := expect.Must(c.Shared()), expect.Must(again.Shared())
	moved := false
	for a, i := range c.Leaves() {
		for b, j := range c.Leaves() {
			expect.Abs(t, "shared", got[where[c.Name[i]]][where[c.Name[j]]], want[a][b], 1e-15)
		}
		moved = moved || where[c.Name[i]] != a
	}
	if !moved {
		t.Error("the order of the leaves is kept, other than Newick says")
	}
}
