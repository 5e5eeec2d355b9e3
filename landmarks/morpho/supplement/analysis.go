package supplement

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/solve"
	"anatomy/geom/stats/linear"
	"anatomy/geom/tree"
	"anatomy/geom/try"
	"anatomy/landmarks/internal/text"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/morpho/shapestats"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/viz"
)

// Question is what a document is about.
type Question struct {
	Title        string   `json:"title"` // of the document; that of the data set if it is empty
	Authors      []string `json:"authors,omitempty"`
	Model        string   `json:"model"`        // see shapestats.Parse; empty: the groups, if there are several and one has two specimens
	Sums         string   `json:"sums"`         // of squares: "I", "II" or "III"; empty means I
	Permutations int      `json:"permutations"` // of every test; 0 means 999
	Seed         uint64   `json:"seed"`
	Tree         string   `json:"tree,omitempty"`    // phylogeny in Newick's format; its leaves are the specimens
	Curves       string   `json:"curves,omitempty"`  // landmarks, as ParseLandmarks reads them, of each in their order, whose ends stay and whose others slide: "1-9; 9-20"
	Slide        string   `json:"slide,omitempty"`   // "energy" (or empty), "distance", "geomorph energy" or "geomorph distance"
	Turns        int      `json:"turns,omitempty"`   // of geomorph's sliding; 0 means 9, as geomorph 4 makes
	Joint        string   `json:"joint,omitempty"`   // landmarks of a joint, of the part at rest and of the one that moves: "1; 6-11; 2-5"
	Links        string   `json:"links,omitempty"`   // pairs of landmarks, joined by lines in figures, as in a wireframe: "1-2, 2-3, 3-1"
	Surface      string   `json:"surface,omitempty"` // specimen of the mesh
	Parts        string   `json:"parts,omitempty"`   // of the shapes, with all landmarks: "jaw: 1-5, 8; skull: 6, 7, 9-12"

	Pairs  string `json:"pairs,omitempty"`  // landmarks on the left and on the right that are mirror images of each other: "1-2, 3-4"; others lie on the midline
	Covary string `json:"covary,omitempty"` // columns of numbers, of which a report says how shapes covary with them: "mass, gape"

	morpho.Corrections // of defects, before all else

	Mesh *mesh.Mesh `json:"-"` // surface of that specimen, in the coordinates of its landmarks, or nil; figures warp it
}

// customary is the usual number of permutations.
const customary = 999

// significant is the p-value up to which a sentence says that there is an effect.
const significant = 0.05

// analysis is a document as it grows.
type analysis struct {
	Question
	asked     Question // before what it leaves open was chosen
	given     *morpho.Dataset
	data      *morpho.Dataset
	coded     []morpho.Finding   // landmarks at codes of missing ones
	found     *morpho.Inspection // of the data
	doubtful  []string           // specimens whose findings may change results
	without   *analysis          // the same without these, nil if there are none
	unknown   error              // why there is no such analysis
	estimated map[string][]int   // missing landmarks by specimens
	slid      *morpho.SlidAlignment
	joint     *joint   // nil without
	links     [][2]int // of the wireframe
	order     []string // names of the specimens as they were given
	tree      *tree.Tree
	formula   *shapestats.Formula
	model     *shapestats.Model
	mean      *shapestats.Model // without terms
	uncertain bool              // landmarks have errors, by which specimens weigh; not on a tree, nor where terms are tested over others
	sums      linear.SumsOfSquares
	anova     *linear.ANOVA
	pca       *shapestats.Components
	methods   []string
	cited     []string
}

// New returns the document that answers a question about a data set. Missing landmarks are estimated (morpho.EstimateMissing), and the
// document says which. With a tree the specimens are species, and models are those of phylogenetic generalised least squares.
//
// The errors are those of morpho.Dataset.Validate but for missing landmarks, of morpho.EstimateMissing, shapestats.Parse and shapestats.Fit.
func New(d *morpho.Dataset, q Question) (*Document, error) {
	document := &Document{}
	if err := try.Run(func() { document.analyse(d, q) }); err != nil {
		return nil, err
	}
	return document, nil
}

// analyse fills a document; an error of a step ends it.
func (document *Document) analyse(d *morpho.Dataset, q Question) {
	a := &analysis{Question: q, asked: q, given: d}
	try.Do(morpho.WriteCSV(io.Discard, d)) // what the document cannot keep is refused before the work
	a.prepare(d)
	if a.model != nil {
		a.anova = try.Get(a.model.ANOVAOfType(a.sums, a.draws()))
	}
	document.Title, document.Authors, document.Model, document.ANOVA = a.Title, a.Authors, a.Model, a.anova
	a.inspect()
	steps := []func() *Section{a.describe, a.measured, a.vary, a.explain, a.differ, a.trajectories, a.separate, a.disparity, a.allometry, a.integrate, a.covary, a.symmetry, a.phylogeny}
	for _, step := range steps {
		if s := step(); s != nil {
			document.Sections = append(document.Sections, *s)
		}
	}
	document.Sections = slices.Insert(document.Sections, 0, *a.summary())
	document.Sections = append(document.Sections, *a.describeMethods(), *a.specimens())
	document.Flagged = a.doubtful
	document.record = record{Question: a.Question, Unit: d.Unit, Closed: d.Closed, FromZero: d.FromZero, Labels: d.Labels, Curves: d.Curves, Notes: d.Notes, Name: d.Name,
		Unscaled: d.Unscaled, Wires: d.Links, Sliders: d.Sliders, data: d}
}

// prepare estimates missing landmarks, reads the model and fits it.
func (a *analysis) prepare(d *morpho.Dataset) {
	a.Title, a.Permutations, a.Sums = cmp.Or(a.Title, d.Name), cmp.Or(a.Permutations, customary), cmp.Or(a.Sums, "I")
	if a.Permutations < 0 {
		try.Do(fmt.Errorf("%d permutations, want a positive number", a.Permutations))
	}
	if a.sums = linear.SumsOfSquares(slices.Index([]string{"I", "II", "III"}, a.Sums)); a.sums < 0 {
		try.Do(fmt.Errorf("sums of squares of type %s, want I, II or III", a.Sums))
	}
	a.order = d.Names()
	if a.Tree != "" {
		d, a.tree = try.Get2(d.MatchTree(try.Get(tree.Parse(a.Tree))))
		a.given = d
	}
	a.ready(d)
	if a.tree != nil && a.Without != "" {
		a.tree = try.Get(a.tree.Keep(a.leaves(d)...))
		a.data = try.Get(a.data.OnTree(a.tree))
	}
	left := a.data.Names()
	a.order = slices.DeleteFunc(a.order, func(name string) bool { return !slices.Contains(left, name) })
	if len(a.order) != len(left) { // species in place of specimens
		a.order = left
	}
	if groups := len(a.data.Groups()); a.Model == "" && 1 < groups && groups < len(a.data.Specimens) {
		a.Model = "group"
	}
	if a.links = try.Get(parseLinks(a.Links, a.data)); a.Links == "" {
		a.links = d.Links
	}
	a.formula = try.Get(shapestats.Parse(a.Model, a.data))
	a.uncertain = try.Get(a.data.SquaredErrors()) != nil && a.tree == nil && !a.over()
	a.mean = try.Get(shapestats.Fit(a.data))
	a.pca = try.Get(a.mean.Components())
	if len(a.formula.Terms) == 0 {
		return
	}
	a.model = a.fit(a.data, a.formula.Terms...)
}

// ANOVA returns the table of the analysis of variance alone, which is one of New's.
func ANOVA(d *morpho.Dataset, q Question) (table *Table, err error) {
	a := &analysis{Question: q, asked: q, given: d}
	err = try.Run(func() {
		if a.prepare(d); a.model == nil {
			try.Do(errors.New("there is nothing to test: give a model, or groups in a column of the table"))
		}
		found := try.Get(a.model.ANOVAOfType(a.sums, a.draws()))
		table = a.anovaTable("anova", strings.Join(append([]string{anovaCaption(found)}, a.readings()...), " "), found)
	})
	return table, err
}

// anovaCaption is the caption of an analysis of variance.
func anovaCaption(of *linear.ANOVA) string {
	return fmt.Sprintf("Procrustes analysis of variance: sums of squares of type %s, in squared centroid sizes.", of.Type)
}

func (a *analysis) draws() linear.Permutations {
	return linear.Permutations{N: a.Permutations, Seed: a.Seed}
}

// fit fits a model, on the tree if there is one, and with the errors of landmarks if these are known.
func (a *analysis) fit(d *morpho.Dataset, terms ...linear.Term) *shapestats.Model {
	if a.tree != nil {
		return try.Get(shapestats.FitOnTree(d, a.tree, terms...))
	}
	if a.uncertain {
		m, _, err := shapestats.FitWithErrors(d, terms...)
		try.Do(err)
		return m
	}
	return try.Get(shapestats.Fit(d, terms...))
}

// unweighted is the model in which all specimens weigh the same.
func (a *analysis) unweighted() *shapestats.Model {
	if !a.uncertain {
		return a.model
	}
	return try.Get(shapestats.Fit(a.data, a.formula.Terms...))
}

// main returns the factors by which figures are coloured and variances compared, those of the first comparison, with the groups that they make
// of the specimens; nil where there are none.
func (a *analysis) main() (name string, factors, groups []string) {
	if all := a.comparisons(); len(all) > 0 {
		factors = all[0]
	} else if len(a.data.Groups()) > 1 {
		factors = []string{"group"}
	} else {
		return "", nil, nil
	}
	d, _ := a.grouped(factors)
	for _, s := range d.Specimens {
		groups = append(groups, s.Group)
	}
	return and(factors), factors, groups
}

// number formats what a table or sentence says.
func number(x float64) string {
	switch {
	case math.IsNaN(x):
		return "–"
	case math.IsInf(x, 1):
		return "∞"
	}
	return fmt.Sprintf("%.5g", x)
}

func percent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }

// pValue formats a p-value.
func pValue(p float64) string {
	if math.IsNaN(p) {
		return "–"
	}
	return fmt.Sprintf("%.3g", p)
}

func and(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// method notes a method with its sources, once.
func (a *analysis) method(sentence string, sources ...string) {
	if !slices.Contains(a.methods, sentence) {
		a.methods = append(a.methods, sentence)
	}
	for _, s := range sources {
		if !slices.Contains(a.cited, s) {
			a.cited = append(a.cited, s)
		}
	}
}

func (a *analysis) share(k int) float64 {
	if k < len(a.pca.Shares) {
		return a.pca.Shares[k]
	}
	return 0
}

// describe aligns the shapes and names the odd ones.
func (a *analysis) describe() *Section {
	const unlike = 0.5 // of the size of a shape; four or more landmarks drawn at random are farther from their mean
	s := &Section{Title: "The specimens and their alignment"}
	found := a.found
	weights := a.mean.Design.Weights
	if a.uncertain {
		weights = a.fit(a.data).Design.Weights
	}
	aligned := try.Get(morpho.WeightedProcrustes(a.data.Shapes(), weights))
	if aligned.Status != solve.Converged {
		try.Do(fmt.Errorf("the alignment of the shapes: %s", aligned.Status))
	}
	a.method("Shapes were aligned by generalised Procrustes analysis, with centroid size 1, and projected to the tangent space of their mean.", "J. Gower, Generalized Procrustes analysis, Psychometrika 40, 1975", "F. J. Rohlf, Shape statistics: Procrustes superimpositions and tangent spaces, J. Classification 16, 1999")
	if a.uncertain {
		s.add(Paragraph("The landmarks have errors of which the sizes are known. Specimens with larger errors weigh less in the mean shape, in the model, and in comparisons of group means and of their paths. The search for outliers subtracts the errors. Components, variances of groups and the other results give all specimens the same weight."))
		a.method("Specimens have the weights 1/(V + E): E is the mean square of the errors of their landmarks, and V the variance of shapes about the model.", "R. Paule and J. Mandel, Consensus values and weighting factors, J. Res. Natl. Bur. Stand. 87, 1982")
	}
	s.add(Paragraph(fmt.Sprintf("The root mean square Procrustes distance from the mean shape is %.3g.", aligned.RMS)))
	if aligned.RMS > unlike {
		s.add(Paragraph("That is more than half the size of a shape: the specimens have little in common, and their mean, components and tests say little about shapes. Check whether each landmark is the same point in all specimens."))
	}
	for _, note := range slices.Concat(a.data.Notes, a.notes()) {
		s.add(Paragraph("Note on the data: " + note + "."))
	}
	a.describeReady(s)
	if len(found.Findings) == 0 {
		s.add(Paragraph("No specimen was found that is an outlier or a copy, is mirrored, has another size, or has exchanged landmarks."))
	} else {
		lines := List{}
		for _, f := range found.Findings {
			lines = append(lines, f.String())
		}
		s.add(Paragraph(fmt.Sprintf("Please check %s before you use the results below; %s:", text.Counted(len(found.Findings), "findings"), a.data.Counting())), lines)
	}
	if n := len(found.Unsearched); n > 0 {
		s.add(Paragraph(fmt.Sprintf("The search for exchanged landmarks was not finished: %s with too many landmarks.", text.Counted(n, "specimens"))))
	}
	var cloud [][]float64
	for _, shape := range aligned.Shapes {
		cloud = append(cloud, shape...)
	}
	mean := viz.Points(aligned.Mean)
	if a.data.Closed {
		mean = viz.Outline(aligned.Mean)
	}
	layers := []*viz.Layer{viz.Points(cloud).Label(text.Counted(len(aligned.Shapes), "specimens")), mean.Color(viz.Black).Label("mean")}
	var estimated [][]float64
	for i, specimen := range a.data.Specimens {
		for _, l := range a.estimated[specimen.Name] {
			estimated = append(estimated, aligned.Shapes[i][l])
		}
	}
	if estimated != nil {
		layers = append(layers, viz.Points(estimated).Label("estimated"))
	}
	names := make([]string, len(aligned.Mean))
	for l := range names {
		names[l] = a.data.Landmark(l)
	}
	if len(aligned.Mean[0]) == 3 {
		layers[1] = viz.Wireframe(aligned.Mean, a.links).Hover(names...).Color(viz.Black).Label("mean")
	}
	if len(names) <= 60 && !a.data.Closed {
		layers = append(layers, viz.Names(aligned.Mean, names).Color(viz.Grey))
	}
	s.add(&Figure{Name: "aligned", Caption: "All specimens after Procrustes alignment, and their mean; " + a.data.Counting() + ".", Drawing: viz.Fig(layers...).Unit("centroid sizes")})
	return s
}

// along is the mean shape moved by a score along a component.
func (a *analysis) along(k int, score float64) [][]float64 {
	row := slices.Clone(a.mean.Fitted[0])
	floats.AddScaled(row, score, a.pca.Axes[k])
	return a.mean.Shape(row)
}

// ends are the lowest and the highest score on a component.
func (a *analysis) ends(k int) []float64 {
	return []float64{floats.Min(a.pca.Scores[k]), floats.Max(a.pca.Scores[k])}
}

// byGroup draws points in the colours of a factor.
func (a *analysis) byGroup(values []string, x, y []float64) (layers []*viz.Layer) {
	var seen []string
	for _, v := range values {
		if !slices.Contains(seen, v) {
			seen = append(seen, v)
		}
	}
	if len(seen) < 2 {
		return []*viz.Layer{viz.Scatter(x, y).Hover(a.data.Names()...)}
	}
	for _, g := range seen {
		var gx, gy []float64
		var names []string
		for i, v := range values {
			if v == g {
				gx, gy, names = append(gx, x[i]), append(gy, y[i]), append(names, a.data.Specimens[i].Name)
			}
		}
		layers = append(layers, viz.Scatter(gx, gy).Label(cmp.Or(g, "without")).Hover(names...))
	}
	return layers
}

// between draws two shapes with lines between their landmarks.
func (a *analysis) between(from, to [][]float64, names ...string) *viz.Figure {
	if a.links != nil {
		return viz.Fig(viz.Wireframe(from, a.links).Label(names[0]), viz.Wireframe(to, a.links).Label(names[1])).Unit("centroid sizes")
	}
	if a.data.Closed {
		return viz.Fig(viz.Outline(from).Label(names[0]), viz.Outline(to).Label(names[1])).Unit("centroid sizes")
	}
	if len(from[0]) == 3 { // a tree joins the landmarks
		way := make([][]float64, len(from))
		for i := range from {
			way[i] = floats.SubTo(make([]float64, 3), to[i], from[i])
		}
		return viz.Fig(viz.Wireframe(from, nil).Label(names[0]), viz.Arrows(from, way).Label("to "+names[1])).Unit("centroid sizes")
	}
	var lines [][][]float64
	for i := range from {
		lines = append(lines, [][]float64{from[i], to[i]})
	}
	return viz.Fig(viz.Lines(lines...).Color(viz.Grey), viz.Points(from).Label(names[0]), viz.Points(to).Label(names[1])).Unit("centroid sizes")
}

// vary shows the principal components.
func (a *analysis) vary() *Section {
	s := &Section{Title: "How the shapes vary"}
	a.method("Principal components are those of the aligned shapes in the tangent space.", "")
	if len(a.pca.Scores) < 2 {
		s.add(Paragraph("The shapes vary along one component only."))
		return s
	}
	_, _, values := a.main()
	s.add(Paragraph(fmt.Sprintf("The morphospace shows the total variation; it is not a test. Its first two components explain %s and %s of the variance.", percent(a.pca.Shares[0]), percent(a.pca.Shares[1]))))
	caption := "Scores of the specimens on the first two principal components, with their shares of the variance."
	if values == nil {
		caption += " The area is their convex hull."
	} else if slices.ContainsFunc(slices.Collect(maps.Values(counts(values))), func(n int) bool { return n > 2 }) {
		caption += " Areas are the convex hulls of the groups."
	}
	if a.drawn() {
		caption += " The small shapes at the margins are those at the lowest, the mean and the highest score."
	}
	s.add(&Figure{Name: "morphospace", Caption: caption, Drawing: a.morphospace(values)})
	if deformations := a.deformations(); deformations != nil {
		s.add(deformations)
	}
	var ends []*viz.Figure
	for k := range 2 {
		scores := a.ends(k)
		ends = append(ends, a.between(a.along(k, scores[0]), a.along(k, scores[1]), "lowest score", "highest score").Title(fmt.Sprintf("(%c) component %d", 'a'+k, k+1)))
	}
	s.add(&Figure{Name: "components", Caption: "The shapes at the ends of the first two components.", Drawing: viz.Row(ends...)})
	if surfaces := a.surfaces(); surfaces != nil {
		s.add(surfaces)
		a.method("The mesh of a specimen was warped by thin-plate splines of its landmarks.", "F. Bookstein, Principal warps: thin-plate splines and the decomposition of deformations, IEEE Trans. Pattern Analysis and Machine Intelligence 11, 1989")
	}
	s.add(sharesTable("components", "Principal components: share of the variance, and its cumulative sum.", a.pca.Shares))
	return s
}

// sharesTable has the first shares of components, and their sums.
func sharesTable(name, caption string, shares []float64) *Table {
	t := &Table{Name: name, Caption: caption, Header: []string{"component", "share", "sum"}}
	sum := 0.0
	for k, share := range shares[:min(len(shares), 10)] {
		sum += share
		t.Rows = append(t.Rows, []string{fmt.Sprint(k + 1), number(share), number(sum)})
	}
	return t
}

// anovaTable is a table of an analysis of variance.
func (a *analysis) anovaTable(name, caption string, of *linear.ANOVA) *Table {
	t := &Table{Name: name, Caption: caption, Header: []string{"term", "df", "SS", "MS", "R²", "F", "Z", "p", "error of p"}}
	over := slices.ContainsFunc(of.Rows, func(r linear.ANOVARow) bool { return r.Over != "" && r.Over != "residuals" })
	if over {
		t.Header = append(t.Header, "F over")
	}
	for _, row := range of.Rows {
		cells := []string{row.Term, fmt.Sprint(row.DF), number(row.SS), number(row.MS), number(row.R2), number(row.F), "–", pValue(row.P), "–"}
		if !math.IsNaN(row.Z) {
			cells[6] = fmt.Sprintf("%.3g", row.Z)
		}
		if !math.IsNaN(row.P) {
			cells[8] = fmt.Sprintf("%.2g", linear.Test{P: row.P, Permutations: of.Permutations}.StandardError())
		}
		if over {
			cells = append(cells, row.Over)
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// explain shows the analysis of variance of the model.
func (a *analysis) explain() *Section {
	if a.model == nil {
		return nil
	}
	s := &Section{Title: "What the model explains"}
	kinds := []string{}
	if len(a.formula.Factors) > 0 {
		kinds = append(kinds, and(a.formula.Factors)+" "+isAre(len(a.formula.Factors))+" treated as categories")
	}
	if len(a.formula.Numbers) > 0 {
		kinds = append(kinds, and(a.formula.Numbers)+" "+isAre(len(a.formula.Numbers))+" treated as numbers")
	}
	s.add(Paragraph(fmt.Sprintf("The model is shape ~ %s, where %s. Each term is tested in addition to %s.", a.Model, and(kinds), [...]string{"the terms above it in the table", "all terms that do not contain it", "all other terms, at the mean over the categories of each factor"}[a.sums])))
	a.warn(s, a.formula.Factors)
	s.add(a.anovaTable("anova", anovaCaption(a.anova), a.anova))
	a.method("The effect size Z is the logarithm of F minus its mean over the permutations, in standard deviations of the permutations.")
	if a.tree != nil {
		a.method(fmt.Sprintf("Models were fitted by phylogenetic generalised least squares. Terms were tested by drawing the signs of independent contrasts at random, %d times.", a.Permutations), "D. Adams and M. Collyer, Phylogenetic ANOVA, Evolution 72, 2018", "J. Felsenstein, Phylogenies and the comparative method, Am. Nat. 125, 1985")
	} else {
		a.method(fmt.Sprintf("Each term was tested by permuting, %d times, the residuals of the model with those terms in addition to which it is tested.", a.Permutations), "D. Freedman and D. Lane, A nonstochastic interpretation of reported significance levels, J. Business and Economic Statistics 1, 1983", "C. Goodall, Procrustes methods in the statistical analysis of shape, J. R. Statist. Soc. B 53, 1991", "M. Collyer, D. Sekora and D. Adams, A method for analysis of phenotypic change for phenotypes described by high-dimensional data, Heredity 115, 2015")
	}
	return s
}

// warn names the columns of categories, numbers not being such, in which specimens of one group differ, if the groups are the combinations of factors.
func (a *analysis) warn(s *Section, factors []string) {
	var names []string
	groups := len(a.data.GroupBy(factors...).Groups())
	for _, name := range append([]string{"group"}, a.data.Covariates()...) {
		values := counts(try.Get(a.data.Column(name)))
		_, err := a.data.Numbers(name)
		if err != nil && len(values) <= len(a.data.Specimens)/2 && len(a.data.GroupBy(append(slices.Clone(factors), name)...).Groups()) > groups {
			names = append(names, name)
		}
	}
	if names != nil {
		s.add(Paragraph(fmt.Sprintf("Not taken into account here: %s. Specimens that belong together are then treated as independent of each other. If the shapes of such groups differ, p-values can be far too small, above all those of slopes. Add the groups to the model, or say why they do not matter.", and(names))))
	}
}

// fileName is a name with - for all but letters, digits and _.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' {
			return r
		}
		return '-'
	}, name)
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// comparisons returns the factors of the model's interactions of two factors, and those that are in none.
func (a *analysis) comparisons() (all [][]string) {
	single := slices.Clone(a.formula.Factors)
	for _, names := range a.formula.Names {
		if len(names) == 2 && slices.Contains(a.formula.Factors, names[0]) && slices.Contains(a.formula.Factors, names[1]) {
			all = append(all, names)
			single = slices.DeleteFunc(single, func(f string) bool { return slices.Contains(names, f) })
		}
	}
	for _, f := range single {
		all = append(all, []string{f})
	}
	return all
}

// over says whether a term of the model is tested over another one.
func (a *analysis) over() bool {
	return slices.ContainsFunc(a.formula.Terms, func(t linear.Term) bool { return t.TestedOver() != "" })
}

// grouped returns the data with the combinations of factors as their groups, and the numbers of the model.
func (a *analysis) grouped(factors []string) (*morpho.Dataset, []linear.Term) {
	d := a.data
	if !slices.Equal(factors, []string{"group"}) {
		d = d.GroupBy(factors...)
	}
	var terms []linear.Term
	for _, t := range a.formula.Terms {
		if slices.Contains(a.formula.Numbers, t.Name()) {
			terms = append(terms, t)
		}
	}
	return d, append(terms, linear.Factor("group"))
}

// differ compares groups pair by pair.
func (a *analysis) differ() *Section {
	if a.model == nil || a.over() {
		return nil
	}
	s := &Section{Title: "Which groups differ"}
	for _, factors := range a.comparisons() {
		d, terms := a.grouped(factors)
		m := a.fit(d, terms...)
		group := terms[len(terms)-1]
		draws, few := a.drawsFor(len(d.Groups()))
		pairs := try.Get(m.PairsOfMeans(group, draws))
		of := "" // which groups, if they are not called so
		if !slices.Equal(factors, []string{"group"}) {
			of = fmt.Sprintf(" (%s)", strings.Join(factors, " and "))
		}
		t := &Table{Name: fileName("pairs-" + strings.Join(factors, "-")), Caption: fmt.Sprintf("Procrustes distances between the means of groups%s.", of), Header: []string{"group", "other group", "distance", "p", "p, corrected (Holm)"}}
		corrected := holm(pairs)
		largest := 0
		for i, p := range pairs {
			if p.Distance > pairs[largest].Distance {
				largest = i
			}
			t.Rows = append(t.Rows, []string{p.A, p.B, number(p.Distance), pValue(p.P), pValue(corrected[i])})
		}
		if len(pairs) == 0 {
			continue
		}
		if len(a.formula.Numbers) > 0 {
			t.Caption += fmt.Sprintf(" The means are those at the mean of %s.", and(a.formula.Numbers))
		}
		t.Caption += few
		s.add(t)
		if d := dendrogram(pairs); d != nil {
			s.add(&Figure{Name: fileName("dendrogram-" + strings.Join(factors, "-")), Caption: fmt.Sprintf("Similarity of the means of groups%s: average linkage of their Procrustes distances. This is not a phylogeny.", of), Drawing: viz.Fig(viz.Tree(d)).XLabel("half the distance, from the root")})
		}
		var means [2][][]float64
		for k, g := range []string{pairs[largest].A, pairs[largest].B} {
			means[k] = a.meanOf(m, d, g)
		}
		which := fmt.Sprintf("The means of the two groups%s", of)
		if len(pairs) > 1 {
			which += fmt.Sprintf(" with the largest distance of %d pairs", len(pairs))
		}
		s.add(&Figure{Name: t.Name, Caption: which + ".",
			Drawing: a.between(means[0], means[1], pairs[largest].A, pairs[largest].B)})
		a.method("Pairs of group means were compared by their Procrustes distance. Its p-value comes from permuting the residuals of the model without the groups. It was corrected for the number of pairs by Holm's method.", "S. Holm, A simple sequentially rejective multiple test procedure, Scand. J. Statistics 6, 1979", "M. Collyer and D. Adams, RRPP: an R package for fitting linear models to high-dimensional data using residual randomization, Methods Ecol. Evol. 9, 2018")
	}
	if len(s.Parts) == 0 {
		return nil
	}
	return s
}

// drawsFor are as many draws for the pairs of some groups that the smallest corrected p-value can be below 0.05, where the usual number of them or more was asked for; few says
// so where that is another number, or where fewer were asked for.
func (a *analysis) drawsFor(groups int) (draws linear.Permutations, few string) {
	draws = a.draws()
	pairs := groups * (groups - 1) / 2
	need := int(float64(pairs)/significant) + 1
	switch {
	case draws.N >= need:
	case draws.N >= customary && pairs < 100*customary:
		draws.N = need
		few = fmt.Sprintf(" These tests used %d permutations, so that the smallest corrected p-value can be below %g.", need, significant)
	default:
		few = fmt.Sprintf(" With %d permutations no corrected p-value of %d pairs can be below %g: take %d.", draws.N, pairs, significant, need)
	}
	return draws, few
}

// holm are the p-values of pairs, corrected for their number: the k-th smallest of n is multiplied by n − k + 1, and none is smaller than those before it (S.
// Holm, Scand. J. Statistics 6, 1979).
func holm(pairs linear.Pairs) []float64 {
	order := make([]int, len(pairs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(pairs[i].P, pairs[j].P) })
	out, least := make([]float64, len(pairs)), 0.0
	for k, i := range order {
		least = max(least, math.Min(1, pairs[i].P*float64(len(pairs)-k)))
		out[i] = least
	}
	return out
}

// meanOf is the shape that a model predicts for a group at the means of its numbers.
func (a *analysis) meanOf(m *shapestats.Model, d *morpho.Dataset, group string) [][]float64 {
	at := map[string]string{"group": group}
	for _, name := range a.formula.Numbers {
		values, err := d.Numbers(name)
		if name == "log size" && err != nil {
			values, err = d.LogSizes()
		}
		try.Do(err)
		at[name] = fmt.Sprint(floats.Sum(values) / float64(len(values)))
	}
	return try.Get(m.Predict(at))
}

// disparity compares how much groups vary.
func (a *analysis) disparity() *Section {
	if a.model == nil || a.tree != nil || a.over() || len(a.formula.Factors) == 0 {
		return nil
	}
	_, factors, values := a.main()
	large, _, small := a.largeGroups(values)
	if large == nil {
		return nil
	}
	var terms []linear.Term
	for _, f := range factors {
		terms = append(terms, linear.Factor(f))
	}
	groups := terms[0]
	if len(terms) > 1 {
		groups = linear.Interaction(terms...)
	}
	model := a.unweighted()
	if small != "" {
		model = try.Get(shapestats.Fit(large, a.formula.Terms...))
	}
	found := try.Get(model.Disparity(groups, a.draws()))
	s := &Section{Title: "Which groups vary more"}
	if small != "" {
		s.add(Paragraph(small))
	}
	t := &Table{Name: "disparity", Caption: "Procrustes variances of the groups about the means that the model predicts.", Header: []string{"group", "specimens", "variance", "degrees of freedom"}}
	for _, g := range found.Groups {
		t.Rows = append(t.Rows, []string{g.Group, fmt.Sprint(g.Samples), number(g.Variance), number(g.DF)})
	}
	pairs := &Table{Name: "disparity-pairs", Caption: "Ratios of these variances.", Header: []string{"group", "other group", "ratio", "p"}}
	for _, r := range found.Ratios {
		pairs.Rows = append(pairs.Rows, []string{r.A, r.B, number(r.Ratio), pValue(r.P)})
	}
	s.add(t, pairs)
	a.method("Variances of groups were compared by permuting the residuals of the model, each divided by the square root of one minus its leverage.", "M. Anderson, Distance-based tests for homogeneity of multivariate dispersions, Biometrics 62, 2006")
	return s
}

// largeGroups is the data without groups of one or two specimens, with the groups of those that are left, and a sentence about the others; nil if there are no two large groups.
func (a *analysis) largeGroups(values []string) (large *morpho.Dataset, groups []string, small string) {
	out := *a.data
	out.Specimens = nil
	var left []string
	count := counts(values)
	for i, s := range a.data.Specimens {
		if count[values[i]] > 2 {
			out.Specimens, groups = append(out.Specimens, s), append(groups, values[i])
		} else if !slices.Contains(left, values[i]) {
			left = append(left, values[i])
		}
	}
	if left != nil {
		small = fmt.Sprintf("Left out here, because they have fewer than three specimens: %s.", and(left))
	}
	if len(counts(groups)) < 2 {
		return nil, nil, small
	}
	return &out, groups, small
}

// phylogeny asks for the signal of a tree.
func (a *analysis) phylogeny() *Section {
	if a.tree == nil {
		return nil
	}
	signal := try.Get(shapestats.PhylogeneticSignal(a.data, a.tree, a.draws()))
	s := &Section{Title: "What the phylogeny explains"}
	verdict := "The phylogenetic signal is not significant"
	if signal.P <= significant {
		verdict = "Relatives resemble each other"
	}
	likely := try.Get(shapestats.PhylogeneticLambda(a.data, a.tree, a.draws()))
	s.add(Paragraph(fmt.Sprintf("%s: K = %.3g (p = %s).", verdict, signal.K, pValue(signal.P))),
		&Table{Name: "signal", Caption: "Phylogenetic signal. Brownian motion along the tree gives values about 1, and shapes that do not depend on the tree values about 0. Z is the effect size.", Header: []string{"signal", "value", "dimensions", "Z", "p"}, Rows: [][]string{
			{"K", number(signal.K), fmt.Sprint(len(a.mean.Fitted[0])), number(signal.Effect.Z()), pValue(signal.P)},
			{"λ", number(likely.Lambda), fmt.Sprint(likely.Dimensions), number(likely.Effect.Z()), pValue(likely.P)}}})
	a.method("The phylogenetic signal K was computed from all coordinates; its effect size Z is that of log K. The signal λ was estimated by maximum likelihood from the first principal components, and again for each permutation; its effect size Z is that of the log-likelihood.",
		"D. Adams, A generalized K statistic for estimating phylogenetic signal from shape and other high-dimensional multivariate data, Syst. Biol. 63, 2014", "M. Collyer, E. Baken and D. Adams, A standardized effect size for evaluating and comparing the strength of phylogenetic signal, Methods Ecol. Evol. 13, 2022",
		"M. Pagel, Inferring the historical patterns of biological evolution, Nature 401, 1999")
	if len(a.pca.Scores) < 2 {
		return s
	}
	phylogenetic := try.Get(shapestats.PhylogeneticComponents(a.data, a.tree))
	s.add(&Figure{Name: "phylomorphospace", Caption: "The phylogeny with the species and their estimated ancestors (a) in the plane of the first two principal components of the shapes, with their shares of the variance, and (b) in that of the first two phylogenetic principal components, with their shares of the rate of evolution, seen from the estimated shape at the root.",
		Drawing: viz.Row(
			a.phylomorphospace(a.pca, "component").Title("(a) principal components"),
			a.phylomorphospace(phylogenetic, "phylogenetic component").Title("(b) phylogenetic components"))})
	a.method("Phylogenetic principal components are the eigenvectors of the covariance of independent contrasts. Their scores are correlated, because species are related.", "L. Revell, Size-correction and principal components for interspecific comparative studies, Evolution 63, 2009")
	s.add(sharesTable("phylogenetic-components", "Phylogenetic principal components: share of the rate of evolution, and its cumulative sum.", phylogenetic.Shares))
	return s
}

// phylomorphospace draws the tree in the plane of the first two components.
func (a *analysis) phylomorphospace(c *shapestats.Components, name string) *viz.Figure {
	var points [][]float64
	for i := range a.data.Specimens {
		points = append(points, []float64{c.Scores[0][i], c.Scores[1][i]})
	}
	nodes := try.Get(a.tree.Prune(points))
	label := func(k int) string { return fmt.Sprintf("%s %d (%s)", name, k+1, percent(c.Shares[k])) }
	return viz.Fig(viz.Phylomorphospace(a.tree, nodes.Mean)).XLabel(label(0)).YLabel(label(1))
}

// initials stand before the name by which a source is sorted.
var initials = regexp.MustCompile(`^(\p{Lu}\.[ -]?)+`)

// describeMethods says what was done, by which program, after whom.
func (a *analysis) describeMethods() *Section {
	s := &Section{Title: "Methods"}
	s.add(Paragraph(strings.Join(a.methods, " ")))
	s.add(Paragraph(fmt.Sprintf("Tests used %d permutations, with random numbers from seed %d. Where there are no more ways to permute the specimens, each was used once. A p-value counts the data as one of the permutations; its standard error is that of sampling permutations. An effect is called significant if p ≤ %g.", a.Permutations, a.Seed, significant)))
	s.add(Paragraph("Computed by " + software() + "."))
	slices.SortFunc(a.cited, func(a, b string) int {
		return strings.Compare(initials.ReplaceAllString(a, ""), initials.ReplaceAllString(b, ""))
	})
	list := List{}
	for _, c := range a.cited {
		if c != "" {
			list = append(list, c)
		}
	}
	s.add(list)
	return s
}

// specimens lists the specimens.
func (a *analysis) specimens() *Section {
	names := a.data.Covariates()
	grouped := len(a.data.Groups()) > 1 && !slices.Contains(names, "group")
	size := "centroid size"
	if a.data.Unit != "" {
		size += " (" + a.data.Unit + ")"
	}
	t := &Table{Name: "specimens", Caption: "The specimens with their sizes and their Procrustes distances from the mean.", Header: []string{"specimen"}}
	if grouped {
		t.Header = append(t.Header, "group")
	}
	t.Header = append(append(t.Header, names...), size, "distance")
	if len(a.estimated) > 0 {
		t.Header = append(t.Header, "estimated landmarks")
	}
	for i, s := range a.data.Specimens {
		row := []string{s.Name}
		if grouped {
			row = append(row, s.Group)
		}
		for _, name := range names {
			row = append(row, s.Covariates[name])
		}
		row = append(row, number(morpho.CentroidSize(s.Points)), number(floats.Norm(a.mean.Residuals[i], 2)))
		if len(a.estimated) > 0 {
			names := make([]string, len(a.estimated[s.Name]))
			for k, l := range a.estimated[s.Name] {
				names[k] = a.data.Landmark(l)
			}
			row = append(row, and(names))
		}
		t.Rows = append(t.Rows, row)
	}
	section := &Section{Title: "Specimens"}
	section.add(t)
	return section
}
