package supplement

import (
	"fmt"
	"strings"

	"anatomy/geom/stats/linear"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/text"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/morpho/shapestats"
	"anatomy/viz"
)

// clip quotes a text for a message, where text is one.
var clip = text.Clip

// part is landmarks with a name.
type part struct {
	name      string
	landmarks []int
}

// parseParts reads parts of a data set such as "jaw: 1-5, 8; skull: 6, 7, 9-12".
func parseParts(line string, d *morpho.Dataset) (out []part, err error) {
	for _, text := range strings.Split(line, ";") {
		name, numbers, named := strings.Cut(text, ":")
		p := part{name: strings.TrimSpace(name)}
		if !named || p.name == "" {
			return nil, fmt.Errorf("the part %s: write a name, a colon and landmarks, as jaw: 1-5, 8", clip(strings.TrimSpace(text)))
		}
		if p.landmarks, err = d.ParseLandmarks(numbers); err != nil {
			return nil, fmt.Errorf("the part %s: %w", clip(p.name), err)
		}
		out = append(out, p)
	}
	if len(out) < 2 {
		return nil, fmt.Errorf("the parts %s: want at least two, with a semicolon between them", clip(line))
	}
	return out, nil
}

// integrate asks how parts of the shapes covary, in all specimens or, with groups, in each group that has enough.
func (a *analysis) integrate() *Section {
	if a.Parts == "" {
		return nil
	}
	parts := try.Get(parseParts(a.Parts, a.data))
	modules := lists.Each(parts, func(p part) []int { return p.landmarks })
	s := &Section{Title: "How parts vary together"}
	base := a.mean
	if a.model != nil && !a.over() {
		base = a.unweighted()
	}
	modular := try.Get(base.Modularity(modules, a.draws()))
	verdict := "The parts are not significant modules"
	if modular.P <= Significant {
		verdict = "The parts are modules: landmarks covary less between the parts than within them"
	}
	s.add(Paragraph(fmt.Sprintf("%s (covariance ratio %.3g, p = %s; compared with random sets of landmarks p = %s, compared with the same pattern turned over the shape p = %s).", verdict, modular.CR, pValue(modular.P), pValue(modular.Random.P), pValue(modular.Turned.P))))
	a.method("The covariance ratio of the parts was compared with that of random sets of landmarks, and with that of the same pattern turned over the mean shape. The larger p-value counts.", "D. Adams, Evaluating modularity in morphometric data, Methods Ecol. Evol. 7, 2016")

	t := &Table{Name: "integration", Caption: fmt.Sprintf("Two-block partial least squares of %s and the other landmarks, each aligned by itself: correlation of the first pair of scores, effect size and p.", parts[0].name), Header: []string{"specimens", "number", "r", "Z", "p"}}
	s.add(t)
	var names []string
	var effects []*shapestats.Integration
	var figure *viz.Figure
	add := func(name string, n int, found *shapestats.Integration) {
		t.Add(name, n, found.R, Number(found.Effect.Z(), "%.3g"), PValue(found.P))
		names, effects = append(names, name), append(effects, found)
		if figure == nil {
			figure = viz.Fig(viz.Scatter(found.Scores[0][0], found.Scores[1][0])).XLabel(parts[0].name + " score").YLabel("score of the others")
			s.add(&Figure{Name: "integration", Caption: fmt.Sprintf("Scores on the first pair of axes along which %s and the other landmarks covary most, of %s.", parts[0].name, name), Drawing: figure})
		}
	}
	_, factors, values := a.main()
	switch {
	case a.tree != nil:
		found := try.Get(shapestats.MeasureIntegrationOnTree(a.data, a.tree, modules[0], a.draws()))
		add("species on the tree", len(a.data.Specimens), found)
		a.method("The integration of species is that of their phylogenetically independent contrasts.", "D. Adams and R. Felice, Assessing trait covariation and morphological integration on phylogenies using evolutionary covariance matrices, PLoS ONE 9, 2014")
	case values == nil:
		found := try.Get(shapestats.MeasureIntegration(a.data, modules[0], a.draws()))
		add("all specimens", len(a.data.Specimens), found)
	default:
		d, _ := a.grouped(factors)
		for _, g := range d.Groups() {
			some := d.Group(g)
			if len(some.Specimens) < 5 {
				continue
			}
			found := try.Get(shapestats.MeasureIntegration(some, modules[0], a.draws()))
			add(g, len(some.Specimens), found)
		}
	}
	a.method("The covariation of parts was measured by two-block partial least squares. The effect size Z is that of the correlation to the power with which its permutations are most like normal numbers.", "G. Box and D. Cox, An analysis of transformations, J. R. Statist. Soc. B 26, 1964", "F. J. Rohlf and M. Corti, Use of two-block partial least-squares to study covariation in shape, Syst. Biol. 49, 2000")
	if len(effects) > 1 {
		s.add(a.integrationPairs(names, effects))
	}
	return s
}

// integrationPairs compares groups by how much their parts covary.
func (a *analysis) integrationPairs(names []string, effects []*shapestats.Integration) *Table {
	pairs := &Table{Name: "integration-pairs", Caption: "Comparison of groups by the integration of their parts: by how much more the inverse hyperbolic tangent of r is above its mean over permutations, in standard errors of the difference, and its p-value by the normal distribution.", Header: []string{"group", "other group", "Z of the difference", "p"}}
	for i, j := range linear.Twos(len(effects)) {
		z, p := effects[i].Difference(effects[j])
		pairs.Add(names[i], names[j], Number(z, "%.3g"), PValue(p))
	}
	a.method("Integrations of groups were compared by the inverse hyperbolic tangents of their correlations, less the means over permutations, in standard errors of the difference. The standard error is the larger one of two: the standard deviation over permutations, and that of the jackknife.", "D. Adams and M. Collyer, On the comparison of the strength of morphological integration across morphometric datasets, Evolution 70, 2016")
	return pairs
}
