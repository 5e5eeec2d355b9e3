package shapestats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/stats/linear"
	"anatomy/geom/tree"
	"anatomy/landmarks/morpho"
)

// Rates are those of generalised least squares with the covariance V of a group's own tree, or of clades with that of the whole: the trace
// of (Y − 1â)ᵀV⁻¹(Y − 1â)/(n − 1). The unit of time and the order of children say nothing of ratios.
func TestEvolutionaryRatesAreGeneralisedLeastSquares(t *testing.T) {
	d, phylogeny := species(false)
	habitat := linear.Factor("habitat")
	d.Specimens[7].Covariates["habitat"] = "wood" // or a cave has one species
	for i := range d.Specimens {
		if d.Specimens[i].Covariates["habitat"] == "cave" {
			d.Specimens[i].Covariates["habitat"] = "rock"
		}
	}
	got := expect.Must(EvolutionaryRates(d, phylogeny, habitat, draws(199, 1)))
	ordered := expect.Must(d.OnTree(phylogeny))
	y, _, err := tangentCoordinates(ordered)
	if err != nil {
		t.Fatal(err)
	}
	shared := expect.Must(phylogeny.Shared())
	for _, g := range got.Groups {
		var rows []int
		for i, s := range ordered.Specimens {
			if s.Covariates["habitat"] == g.Group {
				rows = append(rows, i)
			}
		}
		n := len(rows)
		v, x := mat.NewDense(n, n, nil), mat.NewDense(n, 22, nil)
		for r, i := range rows {
			x.SetRow(r, y.RawRowView(i))
			for c, j := range rows {
				v.Set(r, c, shared[i][j])
			}
		}
		var inverse, weighted, ones mat.Dense
		if err := inverse.Inverse(v); err != nil {
			t.Fatal(err)
		}
		one := mat.NewDense(1, n, nil)
		one.Apply(func(_, _ int, _ float64) float64 { return 1 }, one)
		ones.Mul(one, &inverse) // 1ᵀV⁻¹
		weighted.Mul(&ones, x)
		mean := weighted.RawRowView(0)
		floats.Scale(1/floats.Sum(ones.RawRowView(0)), mean)
		for r := range n {
			floats.Sub(x.RawRowView(r), mean)
		}
		weighted.Reset()
		weighted.Mul(&inverse, x)
		weighted.MulElem(&weighted, x)
		expect.Rel(t, g.Group+": rate", g.Rate, mat.Sum(&weighted)/float64(n-1), 1e-9)
		if g.Species != n {
			t.Errorf("%s has %d species, want %d", g.Group, g.Species, n)
		}
	}
	if len(got.Groups) != 2 || len(got.Ratios) != 1 || !strings.Contains(got.String(), "wood : rock") {
		t.Errorf("%v", got)
	}
	expect.Rel(t, "ratio of the shapes that contrasts make", got.Ratios[0].Ratio, got.Groups[0].Rate/got.Groups[1].Rate, 1e-9)
	_, turned := species(true)
	for i := range turned.Length {
		turned.Length[i] *= 1e6
	}
	again := expect.Must(EvolutionaryRates(d, turned, habitat, draws(199, 1)))
	for _, r := range again.Groups {
		for _, g := range got.Groups {
			if r.Group == g.Group {
				expect.Rel(t, "rate a million times slower", r.Rate*1e6, g.Rate, 1e-9)
			}
		}
	}
	t.Logf("\n%v", got)
}

// Under Brownian motion with one rate two clades differ at 5 % in 5 % of 200 samples, within three standard errors, and so do two groups that
// are no clades, beside a third that evolves faster; the clade that evolves at nine times the rate is found.
func TestEvolutionaryRatesHoldTheirSize(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	const samples = 200
	var rejected [2]float64
	found := 0.0
	for i := range samples {
		d, phylogeny := brownian(rng, 4) // the leaves are 0 to 15 in their order
		for a := range d.Specimens {
			c := d.Specimens[a].Covariates
			c["half"] = fmt.Sprint(a / 8)
			c["mixed"] = fmt.Sprint(a % 3 / 2)
			if a >= 12 {
				c["mixed"] = "fast"
			}
		}
		rejected[0] += indicator(expect.Must(EvolutionaryRates(d, phylogeny, linear.Factor("half"), draws(39, rng.Uint64()))).Ratios[0].P <= 0.05)
		for _, from := range []int{12, 8} { // faster by 3² from their mean
			mean := make([]float64, 8)
			for _, s := range d.Specimens[from:] {
				floats.AddScaled(mean, 1/float64(16-from), flat(s.Points))
			}
			for _, s := range d.Specimens[from:] {
				for l, p := range s.Points {
					for c := range p {
						p[c] = mean[2*l+c] + 3*(p[c]-mean[2*l+c])
					}
				}
			}
			if from == 12 {
				rejected[1] += indicator(expect.Must(EvolutionaryRates(d, phylogeny, linear.Factor("mixed"), draws(39, rng.Uint64()))).Ratios[0].P <= 0.05)
			}
			if i >= 20 {
				break
			}
			if from == 8 {
				found += indicator(expect.Must(EvolutionaryRates(d, phylogeny, linear.Factor("half"), draws(39, rng.Uint64()))).Ratios[0].P <= 0.05)
			}
		}
	}
	for k, what := range []string{"clade", "mixed group"} {
		if share := rejected[k] / samples; !atFivePercent(samples)(share) {
			t.Errorf("the rate of the %s differs in %g of the samples", what, share)
		}
	}
	if found < 19 {
		t.Errorf("a faster clade is found in %g of 20 samples", found)
	}
}

func TestEvolutionaryRatesRefuse(t *testing.T) {
	d, phylogeny := species(false)
	habitat := linear.Factor("habitat")
	expect.Refused(t, expect.Error(EvolutionaryRates(d, phylogeny, habitat, draws(0, 1))), "evolutionary rates of salamander species", "0 permutations")
	expect.Refused(t, expect.Error(EvolutionaryRates(d, phylogeny, linear.Covariate("x"), draws(9, 1))), "x is a number")
	expect.Refused(t, expect.Error(EvolutionaryRates(d.Without("P_cinereus"), phylogeny, habitat, draws(9, 1))), `no specimens for the leaves "P_cinereus"`)
	d.Specimens[3].Covariates["habitat"] = "wood"
	expect.Refused(t, expect.Error(EvolutionaryRates(d, phylogeny, habitat, draws(9, 1))), "cave has 1 species, want at least 2")
	same, phylogeny := brownian(rand.New(rand.NewPCG(1, 1)), 2)
	for i := range same.Specimens {
		same.Specimens[i].Covariates["half"] = fmt.Sprint(i / 2)
	}
	same.Specimens[1].Points = same.Specimens[0].Points
	expect.Refused(t, expect.Error(EvolutionaryRates(same, phylogeny, linear.Factor("half"), draws(9, 1))), "the species of 0 do not vary")
	for i := range phylogeny.Length {
		phylogeny.Length[i] = 0
	}
	expect.Refused(t, expect.Error(EvolutionaryRates(same, phylogeny, linear.Factor("half"), draws(9, 1))), "0: tree: the leaves", "are at distance 0")
}

// The signal of the heads of nine salamander species as published (geomorph's physignal of plethspecies): K = 0.9573.
func TestPhylogeneticSignal(t *testing.T) {
	phylogeny := expect.Must(tree.Parse(morpho.PlethodonTree()))
	s, err := PhylogeneticSignal(morpho.PlethodonSpecies(), phylogeny, draws(999, 1))
	if err != nil {
		t.Fatal(err)
	}
	t.Log(s)
	if math.Abs(s.K-0.9573) > 0.00005 {
		t.Errorf("K = %.6f, want 0.9573", s.K)
	}
	if again := expect.Must(PhylogeneticSignal(morpho.PlethodonSpecies(), phylogeny, draws(999, 1))); *again != *s {
		t.Errorf("%v with the same seed, %v before", again, s)
	}
}

// The signal λ and its log-likelihood of distances between landmarks are those of phylosig of the R package phytools 1.5-1, which searches with another
// formula, and stops at a lower maximum of the second one (28.64494 at λ = 0.5436).
func TestPhylogeneticLambda(t *testing.T) {
	phylogeny := expect.Must(tree.Parse(morpho.PlethodonTree()))
	d := expect.Must(morpho.PlethodonSpecies().OnTree(phylogeny))
	for _, want := range []struct {
		a, b                          int
		lambda, logLikelihood, within float64
	}{{2, 10, 0.92521547, 28.22160519, 1e-7}, {2, 3, 0, 28.66596, 5e-6}} {
		var distances [][]float64
		for _, s := range d.Specimens {
			distances = append(distances, []float64{floats.Distance(s.Points[want.a], s.Points[want.b], 2)})
		}
		got := expect.Must(phylogeny.Lambda(distances, draws(9, 1)))
		expect.Abs(t, "λ", got.Lambda, want.lambda, 1e-4)
		expect.Abs(t, "log-likelihood", got.LogLikelihood, want.logLikelihood, want.within)
	}
	shapes := expect.Must(PhylogeneticLambda(d, phylogeny, draws(999, 1)))
	t.Log(shapes)
	if shapes.Dimensions != 2 { // 8/3
		t.Errorf("%d dimensions, want 2", shapes.Dimensions)
	}
	if again := expect.Must(PhylogeneticLambda(morpho.PlethodonSpecies(), phylogeny, draws(999, 1))); *again != *shapes {
		t.Errorf("%v of the species in another order, %v before", again, shapes)
	}
	expect.Refused(t, expect.Error(PhylogeneticLambda(d, phylogeny, draws(0, 1))), "phylogenetic signal of salamander species", "0 permutations")
}

// Codes of missing landmarks are no coordinates, and one shape has no signal but that of rounding.
func TestPhylogeneticSignalRefuses(t *testing.T) {
	phylogeny := expect.Must(tree.Parse(morpho.PlethodonTree()))
	coded, same := morpho.PlethodonSpecies(), morpho.PlethodonSpecies()
	coded.Shape("P_cinereus")[2] = []float64{9999, 9999}
	for i := range same.Specimens {
		f := float64(i)
		turned := morpho.Similarity{Scale: 1 + f, Rotation: [][]float64{{math.Cos(f), -math.Sin(f)}, {math.Sin(f), math.Cos(f)}}, Translation: []float64{f, 1}}
		same.Specimens[i].Points = turned.Apply(morpho.PlethodonSpecies().Specimens[0].Points)
	}
	for want, d := range map[string]*morpho.Dataset{
		`specimen "P_cinereus": landmark 3 is at [9999 9999]`: coded,
		"all specimens have the same shape":                   same,
	} {
		expect.Refused(t, expect.Error(PhylogeneticSignal(d, phylogeny, draws(99, 1))), "phylogenetic signal of salamander species", want)
	}
}
