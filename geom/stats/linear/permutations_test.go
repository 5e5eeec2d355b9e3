package linear

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/watch"
)

// test draws from a statistic that is written down: values[k] are its numbers at draw k.
func test(p Permutations, observed []float64, values ...[]float64) ([]Test, error) {
	k := -1
	return p.Test("test", 30, Order, observed, func(*Draw) ([]float64, error) {
		k++
		return values[k], nil
	})
}

// The rules of the p-value: data count as a draw, equal numbers are equal to rounding, what is no number never makes a result significant,
// and draws that do not count leave no trace.
func TestRules(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for what, c := range map[string]struct {
		observed float64
		permuted []float64
		p        float64
	}{
		"larger, smaller, equal":  {2, []float64{3, 1, 2}, 3. / 4},
		"equal but for rounding":  {2, []float64{2 * (1 - 1e-10), 2 * (1 - 1e-8)}, 2. / 3},
		"below 0":                 {-2, []float64{-2 * (1 + 1e-10), -2 * (1 + 1e-8), -1}, 3. / 4},
		"permuted is no number":   {2, []float64{nan, nan, 1}, 3. / 4},
		"observed is no number":   {nan, []float64{1, 2, 3}, nan},
		"observed is infinite":    {inf, []float64{1, inf, 1e300}, 2. / 4},
		"nothing to be explained": {0, []float64{0, 0, 0}, 1},
	} {
		values := make([][]float64, len(c.permuted))
		for k, v := range c.permuted {
			values[k] = []float64{v}
		}
		got := expect.Must(test(Permutations{N: len(values)}, []float64{c.observed}, values...))[0]
		if got.P != c.p && !(math.IsNaN(c.p) && math.IsNaN(got.P)) || got.Permutations != len(values) {
			t.Errorf("%s: %v, want p %g", what, got, c.p)
		}
	}
	two := expect.Must(test(Permutations{N: 3}, []float64{2, 5}, []float64{3, 4}, nil, []float64{1, 6}))
	expect.Abs(t, "p of two numbers", []float64{two[0].P, two[1].P}, []float64{2. / 3, 2. / 3}, 0)
	if two[0].Permutations != 2 {
		t.Errorf("%d draws count, want 2", two[0].Permutations)
	}
	expect.Abs(t, "standard error", Test{0.05, 1899}.StandardError(), 0.005, 1e-15)
	if s := (Test{0.05, 1899}).String(); s != "p 0.05 ± 0.005 of 1899 permutations" {
		t.Error(s)
	}
	expect.Refused(t, expect.Error(test(Permutations{}, []float64{1})), "0 permutations, want at least 1")
	if none := expect.Must(test(Permutations{N: 3}, nil)); len(none) != 0 {
		t.Errorf("%v", none)
	}
	broken := errors.New("broken")
	_, err := Permutations{N: 3}.Test("test", 3, Order, []float64{1}, func(*Draw) ([]float64, error) { return nil, broken })
	expect.Refused(t, err, "permutation 0: broken")
	if !errors.Is(err, broken) {
		t.Error("the error of the statistic is lost")
	}
}

// A test that is stopped has the draws before; that during which it was stopped does not count.
func TestStopped(t *testing.T) {
	for _, during := range []bool{false, true} {
		ctx, stop := context.WithCancel(context.Background())
		var seen []watch.Progress
		task := watch.Begin("test", ctx, func(p watch.Progress) {
			if seen = append(seen, p); len(seen) == 4 && !during {
				stop()
			}
		})
		count := 0
		got := expect.Must(Permutations{N: 99, Task: task}.Test("its own", 30, Order, []float64{7}, func(*Draw) ([]float64, error) {
			if count++; count == 4 && during {
				stop()
			}
			return []float64{0}, nil
		}))[0]
		if got.Permutations != 3 || got.P != 0.25 || seen[1] != (watch.Progress{Task: "test", Iteration: 1, Total: 99, Objective: 7}) {
			t.Errorf("stopped during the fourth draw, %v: %v, %v", during, got, seen[1])
		}
		stop()
	}
}

// ranks are how many of three numbers are less than each.
func ranks(x []int) (out [3]int) {
	for i := range out {
		for j := range out {
			if x[j] < x[i] {
				out[i]++
			}
		}
	}
	return out
}

// All orders and signs are drawn alike, equal seeds draw alike, and what is not exchangeable stays as it is.
func TestDraws(t *testing.T) {
	const n = 6000
	all := func(what Exchange, seed uint64) (orders map[[3]int]int, signs map[[3]float64]int, list [][3]int) {
		orders, signs = map[[3]int]int{}, map[[3]float64]int{}
		expect.Must(Permutations{N: n, Seed: seed}.Test("test", 30, what, []float64{1}, func(d *Draw) ([]float64, error) {
			orders[ranks(d.Order[:3])]++ // of so many rows not all ways are drawn
			signs[[3]float64(d.Sign[:3])]++
			list = append(list, [3]int(d.Order[:3]))
			return []float64{1}, nil
		}))
		return orders, signs, list
	}
	for what, want := range map[Exchange][2]int{Order: {6, 1}, Signs: {1, 8}, OrderAndSigns: {6, 8}} {
		orders, signs, _ := all(what, 1)
		if len(orders) != want[0] || len(signs) != want[1] {
			t.Errorf("%d: %d orders and %d signs, want %d", what, len(orders), len(signs), want)
		}
		for _, count := range orders {
			expect.Abs(t, "count of an order", float64(count), n/float64(want[0]), 5*math.Sqrt(n/float64(want[0])))
		}
		for _, count := range signs {
			expect.Abs(t, "count of signs", float64(count), n/float64(want[1]), 5*math.Sqrt(n/float64(want[1])))
		}
	}
	_, _, a := all(OrderAndSigns, 7)
	_, _, b := all(OrderAndSigns, 7)
	if _, _, c := all(OrderAndSigns, 8); !slices.Equal(a, b) || slices.Equal(a, c) {
		t.Error("draws are not those of the seed")
	}
}

// Of few rows each way to exchange them is drawn once: the p-value is exact, whatever the seed.
func TestAllWays(t *testing.T) {
	y := []float64{1, 2, 4, 8, 16}
	for what, want := range map[Exchange]int{Order: 119, Signs: 31} {
		seen := map[string]int{}
		extreme := 0
		tests, err := (Permutations{N: 999, Seed: 3}).OnCores("all", 5, what, []float64{y[0] + y[1] - y[4]}, func() func(d *Draw) ([]float64, error) {
			return func(d *Draw) ([]float64, error) {
				at := func(i int) float64 { return d.Sign[i] * y[d.Order[i]] }
				return []float64{at(0) + at(1) - at(4)}, nil
			}
		}, func(values []float64) {
			seen[fmt.Sprint(values)]++
			if values[0] >= y[0]+y[1]-y[4] {
				extreme++
			}
		})
		if err != nil || tests[0].Permutations != want || tests[0].P != float64(1+extreme)/float64(1+want) {
			t.Errorf("%v: %+v, %v, want %d draws", what, tests, err, want)
		}
	}
	ways := map[string]bool{}
	for k := range 24 * 16 {
		d := newDraw(4)
		d.way(k, OrderAndSigns)
		ways[fmt.Sprint(d.Order, d.Sign)] = true
		if k == 0 && fmt.Sprint(d.Order, d.Sign) != "[0 1 2 3] [1 1 1 1]" {
			t.Error(d.Order, d.Sign)
		}
	}
	if len(ways) != 24*16 {
		t.Errorf("%d ways, want %d", len(ways), 24*16)
	}
}
