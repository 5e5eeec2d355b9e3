package shapestats

import (
	"fmt"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/tree"
	"anatomy/landmarks/morpho"
)

// Phylogenetic components of nine salamander species are those of phyl.pca of the R package phytools 1.5-1 (L. Revell), of the same aligned shapes.
func TestPhylogeneticComponents(t *testing.T) {
	d, phylogeny := morpho.PlethodonSpecies(), expect.Must(tree.Parse(morpho.PlethodonTree()))
	got := expect.Must(PhylogeneticComponents(d, phylogeny))
	shares := []float64{0.485570517948, 0.163935056453, 0.138736548915, 0.116145651233, 0.053067065696, 0.021167465819, 0.017399743729, 0.003977950208}
	expect.Abs(t, "shares of the rate", got.Shares, shares, 1e-11)
	scores := map[string][3]float64{
		"P_serratus":       {-0.009933842977, -0.0037624097466, -0.010633493383},
		"P_cinereus":       {-0.003630377867, -0.0071364836657, 0.003362908510},
		"P_shenandoah":     {-0.006466964966, -0.0073449318100, 0.008704893688},
		"P_hoffmani":       {0.010842568895, 0.0006174102816, 0.015743846763},
		"P_virginia":       {-0.010692085873, 0.0165781995215, 0.015799418182},
		"P_nettingi":       {0.039469481039, 0.0046949471073, 0.002161499503},
		"P_hubrichti":      {0.012474032843, 0.0167951409831, -0.005796629638},
		"P_electromorphus": {-0.002678500001, -0.0032146257995, -0.001931366829},
		"P_richmondi":      {0.003171740959, 0.0020588230793, -0.011572244202},
	}
	for i, leaf := range phylogeny.Leaves() {
		want := scores[phylogeny.Name[leaf]]
		for k, sign := range []float64{1, -1, -1} { // which phytools leaves to the eigenvectors
			expect.Abs(t, fmt.Sprintf("%s, component %d", phylogeny.Name[leaf], k+1), got.Scores[k][i], sign*want[k], 1e-11)
		}
	}
}

// On a tree whose leaves are independent they are the principal components, and of values that evolved by Brownian motion their contrasts are uncorrelated.
func TestPhylogeneticComponentsOfIndependentSpecies(t *testing.T) {
	d := morpho.PlethodonSpecies()
	star := expect.Must(tree.Parse("(" + strings.Join(d.Names(), ":2,") + ":2);"))
	got, want := expect.Must(PhylogeneticComponents(d, star)), expect.Must(expect.Must(Fit(d)).Components())
	expect.Abs(t, "shares", got.Shares, want.Shares, 1e-12)
	for k := range want.Axes {
		expect.Abs(t, fmt.Sprintf("scores on component %d", k+1), got.Scores[k], want.Scores[k], 1e-12)
	}
	phylogeny := expect.Must(tree.Parse(morpho.PlethodonTree()))
	got = expect.Must(PhylogeneticComponents(d, phylogeny))
	rows := make([][]float64, len(d.Specimens))
	for i := range rows {
		for _, s := range got.Scores {
			rows[i] = append(rows[i], s[i])
		}
	}
	contrasts, root, err := phylogeny.Contrasts(rows)
	if err != nil {
		t.Fatal(err)
	}
	expect.Abs(t, "scores of the root", floats.Norm(root, 2), 0, 1e-14)
	rate := func(k, l int) (sum float64) {
		for _, c := range contrasts {
			sum += c[k] * c[l] / float64(len(contrasts))
		}
		return sum
	}
	for k := range root {
		for l := range k {
			expect.Abs(t, "covariance of contrasts", rate(k, l)/rate(0, 0), 0, 1e-10)
		}
		expect.Rel(t, "share", rate(k, k)/rate(0, 0), got.Shares[k]/got.Shares[0], 1e-9)
	}
	if r := stat.Correlation(got.Scores[0], got.Scores[1], nil); r*r < 1e-2 {
		t.Errorf("scores of relatives have the correlation %g", r)
	}
	same := morpho.PlethodonSpecies()
	for i := range same.Specimens {
		same.Specimens[i].Points = same.Specimens[0].Points
	}
	expect.Refused(t, expect.Error(PhylogeneticComponents(same, phylogeny)), "phylogenetic principal components of salamander species", "all specimens have the same shape")
	expect.Refused(t, expect.Error(PhylogeneticComponents(d.Without("P_cinereus"), phylogeny)), `no specimens for the leaves "P_cinereus"`)
}
