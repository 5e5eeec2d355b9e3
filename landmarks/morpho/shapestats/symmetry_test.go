package shapestats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/stats/linear"
	"anatomy/landmarks/morpho"
)

// face has two landmarks on the midline and three pairs.
var (
	face  = [][]float64{{0, 3}, {0, -3}, {1, 2}, {-1, 2}, {2, 0}, {-2, 0}, {1.5, -2}, {-1.5, -2}}
	sides = [][2]int{{2, 3}, {4, 5}, {6, 7}}
)

// faces are individuals that vary symmetrically, with an asymmetry of their own and one that all have, each measured a few times.
func faces(r *rand.Rand, individuals, times int, own, all, measured float64) *morpho.Dataset {
	d := &morpho.Dataset{Name: "faces"}
	for i := range individuals {
		v := make([][]float64, len(face))
		for j, p := range face {
			v[j] = []float64{p[0] + own*r.NormFloat64(), p[1] + own*r.NormFloat64()}
		}
		v[4][1] += all
		v[5][1] -= all
		for _, p := range sides {
			x, y := 0.2*r.NormFloat64(), 0.2*r.NormFloat64()
			v[p[0]][0], v[p[1]][0] = v[p[0]][0]+x, v[p[1]][0]-x
			v[p[0]][1], v[p[1]][1] = v[p[0]][1]+y, v[p[1]][1]+y
		}
		for k := range times {
			a := r.Float64()
			s := morpho.Specimen{Name: fmt.Sprint(i, ".", k), Covariates: map[string]string{"individual": fmt.Sprint(i)}}
			for _, p := range v {
				x, y := p[0]+measured*r.NormFloat64(), p[1]+measured*r.NormFloat64()
				s.Points = append(s.Points, []float64{5 + 3*(math.Cos(a)*x-math.Sin(a)*y), 3 * (math.Sin(a)*x + math.Cos(a)*y)})
			}
			d.Specimens = append(d.Specimens, s)
		}
	}
	return d
}

// mirror is the mirror image with left and right exchanged.
func mirror(x [][]float64) [][]float64 {
	out := make([][]float64, len(x))
	for i, p := range x {
		out[i] = []float64{-p[0], p[1]}
	}
	for _, p := range sides {
		out[p[0]], out[p[1]] = out[p[1]], out[p[0]]
	}
	return out
}

func TestObjectSymmetry(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	// What is symmetric has no asymmetry.
	s := expect.Must(ObjectSymmetry(faces(r, 10, 1, 0, 0, 0), sides, draws(9, 1)))
	expect.Abs(t, "asymmetry of symmetric faces", []float64{s.DirectionalSS, s.FluctuatingSS}, []float64{0, 0}, 1e-24)
	if s.SymmetricSS < 0.01 {
		t.Errorf("the faces hardly vary: %g", s.SymmetricSS)
	}

	// The parts are what they say, and add up to the variation.
	d := faces(r, 12, 2, 0.05, 0.2, 0.02)
	s = expect.Must(ObjectSymmetry(d, sides, draws(999, 1)))
	distance := func(a, b [][]float64) float64 { return expect.Must(morpho.ShapeDistance(a, b)) }
	expect.Abs(t, "distance of the mean from its mirror image", distance(s.Mean, mirror(s.Mean)), 0, 1e-7)
	total := 0.0
	for i := range d.Specimens {
		even, odd, back := s.Symmetric.Specimens[i].Points, s.Asymmetric.Specimens[i].Points, make([][]float64, len(face))
		whole := make([][]float64, len(face))
		for l, m := range s.Mean {
			back[l], whole[l] = make([]float64, 2), make([]float64, 2)
			for c := range m {
				back[l][c] = 2*m[c] - odd[l][c]
				whole[l][c] = even[l][c] + odd[l][c] - m[c]
				total += (whole[l][c] - m[c]) * (whole[l][c] - m[c])
			}
		}
		expect.Abs(t, "distance of a symmetric part from its mirror image", distance(even, mirror(even)), 0, 1e-7)
		expect.Abs(t, "distance of the opposite asymmetry from the mirror image", distance(back, mirror(odd)), 0, 1e-7)
		expect.Abs(t, "distance of both parts from the shape", distance(whole, d.Specimens[i].Points), 0, 0.01) // the tangent space
	}
	expect.Rel(t, "sums of squares", s.SymmetricSS+s.DirectionalSS+s.FluctuatingSS, total, 1e-12)

	// The asymmetry that was put in, in the unit of the mean's size, turned as the mean is.
	size := morpho.CentroidSize(face)
	far := func(l int) float64 { return math.Hypot(s.Directional[l][0], s.Directional[l][1]) * size }
	if far(4) < 0.12 || far(4) > 0.22 || s.P > 0.01 {
		t.Errorf("directional asymmetry of landmark 4 is %.3g of 0.2, p %g", far(4), s.P)
	}
	for _, l := range []int{0, 1, 2, 3, 6, 7} {
		if far(l) > far(4)/2 {
			t.Errorf("directional asymmetry moves landmark %d by %.3g, landmark 4 by %.3g", l, far(l), far(4))
		}
	}
	fa := expect.Must(anova(s.Asymmetric, draws(199, 1), linear.Factor("individual")))
	if fa.Rows[0].P > 0.005 {
		t.Errorf("fluctuating asymmetry of twice the error is not found:\n%s", fa)
	}

	// Neither the order of the specimens nor which side is the left one matters.
	slices.Reverse(d.Specimens)
	other := expect.Must(ObjectSymmetry(d, [][2]int{{3, 2}, {5, 4}, {6, 7}}, draws(9, 1)))
	expect.Rel(t, "sums of squares in another order", []float64{other.SymmetricSS, other.DirectionalSS, other.FluctuatingSS}, []float64{s.SymmetricSS, s.DirectionalSS, s.FluctuatingSS}, 1e-9)
}

// In one of twenty samples without a directional or a fluctuating asymmetry there is one.
func TestSizesOfSymmetry(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	const samples = 200
	directional, fluctuating := 0, 0
	for i := range samples {
		s := expect.Must(ObjectSymmetry(faces(r, 8, 2, 0, 0, 0.05), sides, draws(19, uint64(i))))
		if s.P <= 0.05 {
			directional++
		}
		if expect.Must(anova(s.Asymmetric, draws(19, uint64(i)), linear.Factor("individual"))).Rows[0].P <= 0.05 {
			fluctuating++
		}
	}
	for what, n := range map[string]int{"directional": directional, "fluctuating": fluctuating} {
		if n > 20 || n < 2 { // 10 ± 3
			t.Errorf("%d of %d samples have a %s asymmetry at 5 %%", n, samples, what)
		}
	}
}

func TestSymmetryErrors(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	d := faces(r, 4, 1, 0.1, 0, 0)
	some := faces(r, 4, 1, 0.1, 0, 0)
	some.Specimens[2].Covariates = nil
	two := faces(r, 2, 3, 0.1, 0, 0)
	lost := faces(r, 4, 1, 0.1, 0, 0)
	lost.Specimens[2].Points[4][0] = math.NaN()
	for want, f := range map[string]func() error{
		"landmark 3 is in two":    func() error { return expect.Error(ObjectSymmetry(d, [][2]int{{2, 3}, {3, 4}}, draws(9, 1))) },
		"twice in one":            func() error { return expect.Error(ObjectSymmetry(d, [][2]int{{2, 2}}, draws(9, 1))) },
		"landmark 8, want 0 to 7": func() error { return expect.Error(ObjectSymmetry(d, [][2]int{{2, 8}}, draws(9, 1))) },
		"no pairs of landmarks":   func() error { return expect.Error(ObjectSymmetry(d, nil, draws(9, 1))) },
		"0 permutations":          func() error { return expect.Error(ObjectSymmetry(d, sides, draws(0, 1))) },
		"no specimens":            func() error { return expect.Error(ObjectSymmetry(&morpho.Dataset{}, sides, draws(9, 1))) },
		"one has an individual":   func() error { return expect.Error(ObjectSymmetry(some, sides, draws(9, 1))) },
		`specimen "2.0": landmark 5 is missing (x is NaN)`: func() error { return expect.Error(ObjectSymmetry(lost, sides, draws(9, 1))) },
		"2 individuals, want at le":                        func() error { return expect.Error(ObjectSymmetry(two, sides, draws(9, 1))) },
	} {
		expect.Refused(t, f(), want)
	}
}
