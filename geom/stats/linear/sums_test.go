package linear

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/geomtest/expect"
	"anatomy/internal/dense"
)

// Sums by cells are those of whole matrices, for designs of categories, with numbers, with cells of one sample, and with none; and a cell takes as many
// pieces as it has numbers, and one.
func TestSumsByCells(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	const n = 50
	number := func(name string) Term { return Covariate(name, normals(rng, 1, n)[0]...) }
	a, b, size := Factor("a", cycle(n, "x", "y", "z")...), Factor("b", cycle(n, "u", "v")...), number("size")
	var each []string
	for i := range n {
		each = append(each, fmt.Sprint(i/2))
	}
	x := dense.Rows(normals(rng, n, 9))
	for name, c := range map[string]struct {
		terms []Term
		steps int
	}{
		"categories":              {[]Term{a, b, Interaction(a, b)}, n + 6*6},
		"categories and a size":   {[]Term{size, a, b, Interaction(size, a, b)}, 2*n + 12*10},
		"numbers alone":           {[]Term{size, number("age")}, 3 * n},
		"twenty-five individuals": {[]Term{Factor("individual", each...)}, n + 25*25},
	} {
		d := expect.Must(NewDesign(n, nil, nil, c.terms...))
		w := dense.Rows(d.basis)
		s := newSums(w, d.cells())
		project, draw := s.of(x, nil), newDraw(n)
		draw.Random = rng
		for range 3 {
			draw.next(OrderAndSigns)
			permuted := mat.NewDense(n, 9, nil)
			draw.rows(permuted, x)
			var want, off mat.Dense
			want.Mul(w, permuted)
			off.Sub(project(draw), &want)
			expect.Abs(t, name, mat.Max(&off)-mat.Min(&off), 0, 1e-13)
		}
		if got := s.steps(); got != c.steps {
			t.Errorf("%s: %d steps, want %d", name, got, c.steps)
		}
	}
}

// Draws on several cores are those on one, in their order; the first error is that of the first draw which has one, and what was stopped is what was drawn.
func TestOnCores(t *testing.T) {
	p := Permutations{N: 101, Seed: 3}
	sum := func(d *Draw) float64 {
		return floats.Dot([]float64{1, 2, 4, 8, 16}, []float64{float64(d.Order[0]), float64(d.Order[1]), d.Sign[2], float64(d.Order[3]), d.Sign[4]})
	}
	var one, several []float64
	alone := expect.Must(p.Test("one", 5, OrderAndSigns, []float64{20}, func(d *Draw) ([]float64, error) {
		one = append(one, sum(d))
		return []float64{sum(d)}, nil
	}))
	together := expect.Must(p.test("several", 5, OrderAndSigns, []float64{20}, 3, func() statistic {
		return func(d *Draw) ([]float64, error) { return []float64{sum(d)}, nil }
	}, func(values []float64) { several = append(several, values...) }))
	expect.Abs(t, "draws", several, one, 0)
	if alone[0] != together[0] {
		t.Errorf("%v on one core, %v on three", alone[0], together[0])
	}
	first, found := 0, false
	for k, v := range one {
		if v > 25 && !found {
			first, found = k, true
		}
	}
	_, err := p.test("broken", 5, OrderAndSigns, []float64{20}, 3, func() statistic {
		return func(d *Draw) ([]float64, error) {
			if v := sum(d); v > 25 {
				return nil, fmt.Errorf("%g is too much", v)
			}
			return []float64{0}, nil
		}
	}, nil)
	expect.Refused(t, err, fmt.Sprintf("permutation %d: %g is too much", first, one[first]))
}
