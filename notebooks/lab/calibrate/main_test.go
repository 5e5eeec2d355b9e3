package main

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/try"
	simulated "anatomy/notebooks/lab/recovery"
)

// At short times and distances heat kernels are those of flat space.
func TestHeatKernelsAreFlatAtShortTimes(t *testing.T) {
	const T, r = 0.02, 0.1
	for name, c := range map[string]struct {
		log func(T, r float64) float64
		d   float64
	}{
		"S¹": {circleKernel, 1}, "S²": {sphereKernel, 2}, "S³": {sphere3Kernel, 3}, "SO(3)": {rotationKernel, 3}, "H³": {hyperbolicKernel, 3}, "torus": {torusKernel, 2},
	} {
		flat := -r*r/(2*T) - c.d/2*math.Log(2*math.Pi*T)
		if got := c.log(T, r); math.Abs(got-flat) > 0.03 {
			t.Errorf("%s: log density %.4f, in flat space %.4f", name, got, flat)
		}
	}
}

// What a table could not say is refused: sections that do not exist, tests that cannot reject, means without a standard error, numbers
// that would be cut.
func TestFlags(t *testing.T) {
	whole := bench{simulations: 2, permutations: 19, seeds: 2, pairs: 1, trees: 4, bridges: 1, cohorts: 1, factors: 1, families: 2, draws: 1, theirs: 1}
	for _, c := range []struct {
		change func(b *bench)
		only   string
		want   string
	}{
		{func(b *bench) {}, "seizes", "matches none of the sections densities, sizes"},
		{func(b *bench) {}, "(", "-only"},
		{func(b *bench) { b.simulations = 1 }, "", "-simulations 1, want at least 2"},
		{func(b *bench) { b.permutations = 18 }, "", "-permutations 18, want at least 19"},
		{func(b *bench) { b.trees = 7 }, "", "-trees 7, want a multiple of 4"},
		{func(b *bench) { b.pairs = 0 }, "", "-pairs 0, want at least 1"},
	} {
		b := whole
		c.change(&b)
		_, err := b.check(c.only)
		expect.Refused(t, err, c.want)
	}
	for only, want := range map[string]int{"": len(sections), "sizes|coverage": 2, "^trees$": 1} {
		wanted, err := whole.check(only)
		if err != nil || len(wanted) != want {
			t.Errorf("-only %q: %d sections, want %d (%v)", only, len(wanted), want, err)
		}
	}
}

// A section, a line or a simulation that ends with an error takes no other with it, and the run says in the end that it failed.
func TestErrorsEndLines(t *testing.T) {
	var out strings.Builder
	b := &bench{out: &out, simulations: 4}
	failing := section{"one", "One", func(b *bench) {
		b.tested(b.simulations, func(k int, _ *rand.Rand) ([]float64, geom.Status) {
			if k == 2 {
				try.Do(errors.New("broken"))
			}
			return []float64{0.01}, geom.Converged
		}, "first")
		b.tested(b.simulations, func(k int, _ *rand.Rand) ([]float64, geom.Status) {
			return []float64{0.01, 0.5}, []geom.Status{geom.Converged, geom.Stalled}[k%2] // every second one has stalled
		}, "second", "third")
		try.Do(errors.New("at its end"))
	}}
	following := section{"two", "Two", func(b *bench) { b.text("reached") }}
	expect.Refused(t, b.run([]section{failing, following}), "one: at its end")
	for _, want := range []string{"| first | 2 of 2 | simulation 2: broken |", "| second | 2 of 4 | 100.0 ± ", "| third | 2 of 4 | 0.0 ± ", "error*: at its end", "reached"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}

// None of n is not exactly none, and of none there is no share.
func TestShare(t *testing.T) {
	for want, got := range map[string]string{"0.0 ± 1.0 %": share(0, 98), "50.0 ± 5.0 %": share(49, 98), "100.0 ± 1.0 %": share(98, 98), "–": share(0, 0)} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Of families with all landmarks or none the standard error is that of families; where all have the same share it is 0.
func TestShareOfFamilies(t *testing.T) {
	half := func(c simulated.Coverage) int { return c.Half }
	for want, families := range map[string][]simulated.Coverage{
		"50.0 ± 50.0 %": {{Landmarks: 100, Half: 100}, {Landmarks: 100}},
		"40.0 ± 0.0 %":  {{Landmarks: 100, Half: 40}, {Landmarks: 50, Half: 20}},
	} {
		if got := shareOfFamilies(families, half); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
