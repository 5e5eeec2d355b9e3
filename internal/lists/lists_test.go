package lists

import (
	"math"
	"slices"
	"testing"
)

func TestLists(t *testing.T) {
	if got := Pick([]string{"a", "b", "c"}, []int{2, 0, 2}); !slices.Equal(got, []string{"c", "a", "c"}) {
		t.Error(got)
	}
	if got := Combine([]float64{2, 0, -1}, [][]float64{{1, 2}, {math.NaN(), math.Inf(1)}, {3, 5}}); !slices.Equal(got, []float64{-1, -1}) {
		t.Error(got)
	}
	for k, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if i, bad := NotFinite([]float64{1, x, x}); i != 1 || !bad || Finite(1, x) {
			t.Errorf("case %d: %d, %v", k, i, bad)
		}
	}
	if got := Each(Range(3), func(i int) int { return i * i }); !slices.Equal(got, []int{0, 1, 4}) || Each(nil, math.Abs) != nil || Pick[[]int](nil, []int{0}) != nil {
		t.Error(got)
	}
	if got := Filter(Range(5), func(i int) bool { return i%2 == 1 }); !slices.Equal(got, []int{1, 3}) || Filter(got, func(i int) bool { return i > 9 }) != nil {
		t.Error(got)
	}
	if got := Distinct([]string{"b", "a", "b", "", "a"}); !slices.Equal(got, []string{"b", "a", ""}) || Distinct([]int(nil)) != nil {
		t.Error(got)
	}
	if got := Mean([][]float64{{1, 2}, {3, 5}}); !slices.Equal(got, []float64{2, 3.5}) {
		t.Error(got)
	}
	if rows := Zeros(2, 3); len(rows) != 2 || !slices.Equal(rows[1], []float64{0, 0, 0}) || &rows[0][0] == &rows[1][0] {
		t.Error(rows)
	}
	if !Finite() || !Finite(1, math.MaxFloat64) {
		t.Error("finite numbers are finite")
	}
}
