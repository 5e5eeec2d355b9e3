package shapestats

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/stats/linear"
	"anatomy/landmarks/morpho"
)

// A line means the terms that it lists, in the order of R: single ones first.
func TestParse(t *testing.T) {
	heads, wings, rats, signs := morpho.Plethodon(), morpho.MosquitoWings(), morpho.Rats(), morpho.GorillaSkulls()
	for i := range signs.Specimens {
		signs.Specimens[i].Covariates = map[string]string{"Size": "s", "Age": fmt.Sprint(i % 7), "Age (years)": fmt.Sprint(i), "left/right": fmt.Sprint("l", i%2)}
	}
	for _, c := range []struct {
		data  *morpho.Dataset
		model string
		want  string
	}{
		{heads, "", "[] [] []"},
		{heads, "species", "[species] [species] []"},
		{heads, "species*site", "[species site species:site] [species site] []"},
		{heads, " size+species * site ", "[log size species site species:site] [species site] [log size]"},
		{heads, "species:site + species + site + species", "[species site species:site] [species site] []"},
		{heads, "species*site*size", "[species site log size species:site species:log size site:log size species:site:log size] [species site] [log size]"},
		{heads, "site/species", "[site site:species] [site species] []"},
		{heads, "`species` + site:species", "[species site:species] [species site] []"},
		{rats, "age", "[age] [] [age]"},
		{rats, "factor(age) + factor(`rat`)", "[age rat] [age rat] []"},
		{signs, "group*Age (years)+left/right + Age", "[group Age (years) left/right Age group:Age (years)] [group left/right] [Age (years) Age]"},
		{signs, "factor(Age (years)) + `left/right`:size", "[Age (years) left/right:log size] [Age (years) left/right] [log size]"},
		{heads, "shape ~ Species * SITE", "[species site species:site] [species site] []"},
		{heads, "coords~1+log(Csize)", "[log size] [] [log size]"},
		{heads, "~ csize + as.factor(site)", "[centroid size site] [site] [centroid size]"},
		{heads, "1", "[] [] []"},
		{rats, "as.factor(Age)", "[age] [age] []"},
		{signs, "Age (Years):log(size)", "[Age (years):log size] [] [Age (years) log size]"},
		{wings, "factor(individual) over individual:side + factor(side) over individual:side + individual:side", "[individual side individual:side] [individual side] []"},
	} {
		f, err := Parse(c.model, c.data)
		if err != nil {
			t.Errorf("%s: %v", c.model, err)
			continue
		}
		names := []string{}
		for _, term := range f.Terms {
			names = append(names, term.Name())
		}
		if diff := cmp.Diff(c.want, fmt.Sprint(names, f.Factors, f.Numbers)); diff != "" {
			t.Errorf("%s: %s", c.model, diff)
		}
	}
	for model, want := range map[string]string{
		"specie":         `perhaps "species"`,
		"site ~ species": "shapes are explained, and not a column: write shape ~ species",
		"log(species)":   "log(species): log is that of Csize alone",
		"species site":   `"site" stands where + should`,
		"species +":      "it ends where a column should stand",
		"+ species":      `"+" stands where a column should`,
		"species*(site)": `"(" stands where a column should`,
		"factor(":        "factor( names no column",
		"factor(species": `factor( has no closing bracket behind "species"`,
		"species over":   "it ends where a column should stand",
		"factor(size)":   `"size"`,
	} {
		_, err := Parse(model, heads)
		expect.Refused(t, err, fmt.Sprintf("the model %q", model), want)
	}
}

// The table of a line is that of the terms it stands for, also where terms are tested over others.
func TestParsedModels(t *testing.T) {
	individual, side := linear.Factor("individual"), linear.Factor("side")
	both := linear.Interaction(individual, side)
	wings := morpho.MosquitoWings()
	f := expect.Must(Parse("factor(individual) over individual:side + factor(side) over individual:side + individual:side", wings))
	got := expect.Must(expect.Must(Fit(wings, f.Terms...)).ANOVA(linear.Permutations{N: 99, Seed: 1}))
	want := expect.Must(expect.Must(Fit(wings, individual.Over(both), side.Over(both), both)).ANOVA(linear.Permutations{N: 99, Seed: 1}))
	if diff := cmp.Diff(want.String(), got.String()); diff != "" {
		t.Error(diff)
	}
}
