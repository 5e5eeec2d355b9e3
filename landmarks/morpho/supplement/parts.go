package supplement

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

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
func parseParts(line string, d *morpho.Dataset) (out []part) {
	for text := range strings.SplitSeq(line, ";") {
		name, numbers, named := strings.Cut(text, ":")
		name = strings.TrimSpace(name)
		try.FailIf(!named || name == "", "the part %s: write a name, a colon and landmarks, as jaw: 1-5, 8", clip(strings.TrimSpace(text)))
		landmarks, err := d.ParseLandmarks(numbers)
		try.Do(try.Name(err, "the part %s", clip(name)))
		out = append(out, part{name, landmarks})
	}
	try.FailIf(len(out) < 2, "the parts %s: want at least two, with a semicolon between them", clip(line))
	return out
}

// integrate asks how parts of the shapes covary, in all specimens or, with groups, in each group that has enough.
func (a *analysis) integrate(s *Section) {
	parts := parseParts(a.Parts, a.data)
	modules := lists.Each(parts, func(p part) []int { return p.landmarks })
	base := a.mean
	switch {
	case a.compared():
		base = a.unweighted()
	case a.tree != nil:
		base = a.fit(a.data) // of contrasts
	}
	modular := try.Get(base.Modularity(modules, a.draws()))
	said := verdict(modular.P, "The parts are modules: landmarks covary less between the parts than within them", "The parts are not significant modules")
	s.add(Paragraph(fmt.Sprintf("%s (covariance ratio %.3g, p = %s; compared with random sets of landmarks p = %s, compared with the same pattern turned over the shape p = %s).", said, modular.CR, pValue(modular.P), pValue(modular.Random.P), pValue(modular.Turned.P))))
	a.method("The covariance ratio of the parts was compared with that of random sets of landmarks, and with that of the same pattern turned over the mean shape. The larger p-value counts.", "Adams 2016")

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
		a.method("The integration of species is that of their phylogenetically independent contrasts.", "Adams & Felice 2014")
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
	a.method("The covariation of parts was measured by two-block partial least squares. The effect size Z is that of the correlation to the power with which its permutations are most like normal numbers.", "Box & Cox 1964", "Rohlf & Corti 2000")
	if len(effects) > 1 {
		s.add(a.integrationPairs(names, effects))
	}
}

// integrationPairs compares groups by how much their parts covary.
func (a *analysis) integrationPairs(names []string, effects []*shapestats.Integration) *Table {
	pairs := &Table{Name: "integration-pairs", Caption: "Comparison of groups by the integration of their parts: by how much more the inverse hyperbolic tangent of r is above its mean over permutations, in standard errors of the difference, and its p-value by the normal distribution.", Header: []string{"group", "other group", "Z of the difference", "p"}}
	for i, j := range linear.Twos(len(effects)) {
		z, p := effects[i].Difference(effects[j])
		pairs.Add(names[i], names[j], Number(z, "%.3g"), PValue(p))
	}
	a.method("Integrations of groups were compared by the inverse hyperbolic tangents of their correlations, less the means over permutations, in standard errors of the difference. The standard error is the larger one of two: the standard deviation over permutations, and that of the jackknife.", "Adams & Collyer 2016")
	return pairs
}

// rows are the aligned shapes.
func (a *analysis) rows() [][]float64 {
	m := a.mean
	return lists.Make(len(m.Fitted), func(i int) []float64 {
		return floats.AddTo(make([]float64, len(m.Fitted[i])), m.Fitted[i], m.Residuals[i])
	})
}

// covary asks how shapes covary with columns of numbers, or with landmarks of the same specimens.
func (a *analysis) covary(s *Section) {
	var numbers [][]float64
	var names, header []string
	caption := "aligned landmarks: the share of the squared covariance of each pair of axes."
	if _, err := os.Stat(a.Covary); err == nil && a.data.Flat {
		numbers, names = a.landmarks(), []string{"landmarks"}
	} else {
		numbers, names = a.columns()
		caption, header = "standardised columns: the share of the squared covariance of each pair of axes, and the weights of the columns.", names
	}
	pls, by := shapestats.TwoBlockPLS, "by permuting specimens"
	if a.tree != nil {
		pls = func(x, y [][]float64, p linear.Permutations) (*shapestats.PLS, error) {
			return shapestats.TwoBlockPLSOnTree(a.tree, x, y, p)
		}
		by = "by permuting phylogenetically independent contrasts and their signs"
	}
	found := try.Get(pls(a.rows(), numbers, a.draws()))
	s.add(Paragraph(fmt.Sprintf("Shapes and %s %s (r = %.3g, p = %s).", and(names), verdict(found.P, "covary", "do not covary significantly"), found.R, pValue(found.P))))
	t := &Table{Name: "covariation", Caption: "Two-block partial least squares of shapes and " + caption, Header: append([]string{"pair", "share"}, header...)}
	for k, share := range found.Shares {
		t.Add(k+1, share, found.Axes[1][k][:len(header)])
	}
	_, _, values := a.main()
	s.add(t, &Figure{Name: "covariation", Caption: "Scores of the specimens on the first pair of axes.", Drawing: viz.Fig(a.byGroup(values, found.Scores[1][0], found.Scores[0][0])...).XLabel("score of " + and(names)).YLabel("score of shape")})
	a.method("The covariation of shapes and measurements was found by two-block partial least squares, and tested "+by+".", "Rohlf & Corti 2000")
}

// columns are those of the question, standardised, and their names.
func (a *analysis) columns() (numbers [][]float64, names []string) {
	numbers = make([][]float64, len(a.data.Specimens))
	for name := range strings.SplitSeq(a.Covary, ",") {
		name = strings.TrimSpace(name)
		column := try.Get(a.data.Numbers(name))
		try.FailIf(floats.HasNaN(column), "%s is not known of all specimens: leave those without it out", name)
		mean, deviation := stat.MeanStdDev(column, nil)
		for i, v := range column {
			numbers[i] = append(numbers[i], (v-mean)/deviation)
		}
		names = append(names, name)
	}
	return numbers, names
}

// landmarks are the shapes of landmarks of the specimens, by their names, in the file of the question.
func (a *analysis) landmarks() [][]float64 {
	d := try.Get(morpho.Read(a.Covary))
	some, names := *d, d.Names()
	some.Specimens = lists.Each(a.data.Specimens, func(s morpho.Specimen) morpho.Specimen {
		i := slices.Index(names, s.Name)
		try.FailIf(i < 0, "%s has no landmarks of %s: shapes covary with landmarks of all specimens, by their names", a.Covary, clip(s.Name))
		return d.Specimens[i]
	})
	rows, _ := try.Get2(some.TangentShapes())
	return rows
}

// symmetry asks how the sides of symmetric shapes differ.
func (a *analysis) symmetry(s *Section) {
	found := try.Get(shapestats.ObjectSymmetry(a.data, parseLinks(a.Pairs, a.data), a.draws()))
	s.add(Paragraph(fmt.Sprintf("%s (p = %s).", verdict(found.P, "The specimens share an asymmetry", "There is no significant asymmetry that all specimens share"), pValue(found.P))))
	total := found.SymmetricSS + found.DirectionalSS + found.FluctuatingSS
	t := &Table{Name: "symmetry", Caption: "Parts of the variation of shapes: sums of squares in squared centroid sizes. The fluctuating asymmetry contains the error of measurement.", Header: []string{"part", "SS", "R²"}}
	for k, ss := range []float64{found.SymmetricSS, found.DirectionalSS, found.FluctuatingSS} {
		t.Add([]string{"symmetric", "directional asymmetry", "fluctuating asymmetry"}[k], ss, ss/total)
	}
	asymmetric := make([][]float64, len(found.Mean))
	for l, p := range found.Mean {
		asymmetric[l] = floats.AddScaledTo(make([]float64, len(p)), p, 10, found.Directional[l])
	}
	s.add(t, &Figure{Name: "symmetry", Caption: "The symmetric mean, and ten times the asymmetry that all specimens share.", Drawing: arranged(a.views, a.between("", found.Mean, asymmetric, "symmetric mean", "with 10 × asymmetry"))})
	a.method("Symmetric and asymmetric parts are those of the shapes and their relabelled mirror images. Directional asymmetry was tested by drawing the signs of individual asymmetries at random.", "Klingenberg et al. 2002")
}
