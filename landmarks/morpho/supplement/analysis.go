package supplement

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"gonum.org/v1/gonum/stat"

	"anatomy/geom/solve"
	"anatomy/geom/stats/linear"
	"anatomy/geom/tree"
	"anatomy/geom/try"
	"anatomy/internal/lists"
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
	By           string   `json:"by,omitempty"`      // column whose values are the groups; a model is about it where none is given
	Tree         string   `json:"tree,omitempty"`    // phylogeny in Newick's format; its leaves are the specimens
	Trees        []string `json:"trees,omitempty"`   // more of them, over all of which the phylogenetic signal is computed
	Curves       string   `json:"curves,omitempty"`  // landmarks, as ParseLandmarks reads them, of each in their order, whose ends stay and whose others slide: "1-9; 9-20"
	Slide        string   `json:"slide,omitempty"`   // "energy" (or empty), "distance", "geomorph energy" or "geomorph distance"
	Turns        int      `json:"turns,omitempty"`   // of geomorph's sliding; 0 means 9, as geomorph 4 makes
	Joint        string   `json:"joint,omitempty"`   // landmarks of a joint, of the part at rest and of the one that moves: "1; 6-11; 2-5"
	Links        string   `json:"links,omitempty"`   // pairs of landmarks, joined by lines in figures, as in a wireframe: "1-2, 2-3, 3-1"
	Surface      string   `json:"surface,omitempty"` // specimen of the mesh
	View         string   `json:"view,omitempty"`    // sides from which figures in space show bodies: see viz.ParseViews
	Parts        string   `json:"parts,omitempty"`   // of the shapes, with all landmarks: "jaw: 1-5, 8; skull: 6, 7, 9-12"

	Pairs  string `json:"pairs,omitempty"`  // landmarks on the left and on the right that are mirror images of each other: "1-2, 3-4"; others lie on the midline
	Covary string `json:"covary,omitempty"` // columns of numbers, with which shapes may covary: "mass, gape"; of data that are Flat a file of landmarks, too

	KeepSize bool     `json:"keep_size,omitempty"` // forms are compared: specimens are not brought to one size
	Remarks  []string `json:"remarks,omitempty"`   // what was noted when files of the question were read

	morpho.Corrections // of defects, before all else

	Mesh *mesh.Mesh `json:"-"` // surface of that specimen, in the coordinates of its landmarks, or nil; figures warp it
	Body Body       `json:"-"` // what data that are Flat look like
	Unit string     `json:"-"` // of the coordinates of a mesh without landmarks
}

// customary is the usual number of permutations.
const customary = 999

// Significant is the p-value up to which a sentence says that there is an effect.
const Significant = 0.05

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
	sliding   []morpho.Semilandmark
	joint     *joint   // nil without
	links     [][2]int // of the wireframe
	views     viz.Views
	order     []string // names of the specimens as they were given
	tree      *tree.Tree
	trees     []*tree.Tree // all that are compared, whole; tree is of the first
	signal    string       // what the phylogeny explains, in words
	formula   *shapestats.Formula
	model     *shapestats.Model
	mean      *shapestats.Model // without terms
	uncertain bool              // landmarks have errors, by which specimens weigh; not on a tree, nor where terms are tested over others
	sums      linear.SumsOfSquares
	anova     *linear.ANOVA
	pca       *shapestats.Components
	aligned   *morpho.Alignment // without weights, or nil
	effects   []string          // what differs by how much, and where
	methods   []string
	cited     []string
}

// New returns the document that answers a question about a data set. Missing landmarks are estimated (morpho.EstimateMissing), and the
// document says which. Without data it is the document of the Mesh of the question: its measures, its defects and their repair. With a tree the
// specimens are species, and models are those of phylogenetic generalised least squares.
//
// The errors are those of morpho.Dataset.Validate but for missing landmarks, of morpho.EstimateMissing, shapestats.Parse and shapestats.Fit.
func New(d *morpho.Dataset, q Question) (_ *Document, err error) {
	defer try.Catch(&err)
	document := &Document{}
	switch {
	case d != nil:
		document.analyse(d, q)
	case q.Mesh != nil:
		document.describeMesh(q)
	default:
		try.Fail("neither landmarks nor a mesh: give one of them")
	}
	document.again = true
	return document, nil
}

// analyse fills a document; an error of a step ends it.
func (document *Document) analyse(d *morpho.Dataset, q Question) {
	a := &analysis{Question: q, asked: q, given: d}
	if a.checkFlat(d); !d.Flat {
		try.Do(morpho.WriteCSV(io.Discard, d)) // what the document cannot keep is refused before the work
	}
	a.prepare(d)
	if a.model != nil {
		a.anova = try.Get(a.model.ANOVAOfType(a.sums, a.draws()))
	}
	document.Title, document.Authors, document.Model, document.ANOVA, document.Data = a.Title, a.Authors, a.Model, a.anova, a.data
	if !d.Flat {
		document.LeftOut = "Left out here: the mean, the modes and the model of deformations, which move the landmarks together with the space between them. " +
			"This needs XLA, and is in the report that “make report” of the project anatomy writes."
	}
	a.inspect()
	for _, c := range chapters {
		s := Section{Title: c.title}
		if c.asked(a) {
			c.write(a, &s)
		}
		if s.Parts != nil {
			document.Sections = append(document.Sections, s)
		}
	}
	document.Aligned = a.aligned
	document.Sections = slices.Insert(document.Sections, 0, *a.summary())
	document.Sections = append(document.Sections, *a.describeMethods(), *a.specimens())
	document.Flagged = a.doubtful
	about := *d
	about.Specimens, about.Source = nil, ""
	document.record = record{Question: a.Question, Of: about, data: d}
	if d.Flat {
		document.record.data = nil
		document.reword()
	}
}

// chapters are the sections between the summary and the methods, in their order: those that are asked of the data, and write something.
var chapters = []struct {
	title string
	asked func(a *analysis) bool
	write func(a *analysis, s *Section)
}{
	{"The specimens and their alignment", func(a *analysis) bool { return !a.data.Flat }, (*analysis).describe},
	{"The specimens", func(a *analysis) bool { return a.data.Flat }, (*analysis).describeFlat},
	{"How exact the measurements are", (*analysis).repeated, (*analysis).measured},
	{"How the shapes vary", func(a *analysis) bool { return true }, (*analysis).vary},
	{"What the model explains", func(a *analysis) bool { return a.model != nil }, (*analysis).explain},
	{"Which groups differ", (*analysis).compared, (*analysis).differ},
	{"How groups change", func(a *analysis) bool { return a.compared() && a.tree == nil && len(a.pca.Scores) > 1 }, (*analysis).trajectories},
	{"Can the group be recognised by shape?", func(a *analysis) bool { return a.compared() && a.tree == nil }, (*analysis).separate},
	{"Which groups vary more", func(a *analysis) bool { return a.compared() && a.tree == nil && len(a.formula.Factors) > 0 }, (*analysis).disparity},
	{"How shape changes with size", (*analysis).sized, (*analysis).allometry},
	{"How parts vary together", func(a *analysis) bool { return a.Parts != "" }, (*analysis).integrate},
	{"How shapes covary with measurements", func(a *analysis) bool { return a.Covary != "" }, (*analysis).covary},
	{"How the sides differ", func(a *analysis) bool { return a.Pairs != "" }, (*analysis).symmetry},
	{"What the phylogeny explains", func(a *analysis) bool { return a.tree != nil }, (*analysis).phylogeny},
	{"Ancestors and rates", func(a *analysis) bool { return a.tree != nil }, (*analysis).ancestors},
	{"Scores and distances", func(a *analysis) bool { return a.data.Flat }, (*analysis).coordinates},
}

// repeated says whether the data tell which measurements are repeated.
func (a *analysis) repeated() bool {
	columns := a.data.Covariates()
	return slices.Contains(columns, "individual") && slices.Contains(columns, "replicate")
}

// compared says whether the model compares groups, none of them over another term.
func (a *analysis) compared() bool { return a.model != nil && !a.over() }

// sized says whether sizes are known and not part of the shapes: specimens may have been scaled, and forms have their sizes.
func (a *analysis) sized() bool {
	_, err := a.data.LogSizes()
	return err == nil && !a.KeepSize
}

// prepare estimates missing landmarks, reads the model and fits it.
func (a *analysis) prepare(d *morpho.Dataset) {
	a.Title, a.Permutations, a.Sums = cmp.Or(a.Title, d.Name), cmp.Or(a.Permutations, customary), cmp.Or(a.Sums, "I")
	try.FailIf(a.Permutations < 0, "%d permutations, want a positive number", a.Permutations)
	a.sums = linear.SumsOfSquares(slices.Index([]string{"I", "II", "III"}, a.Sums))
	try.FailIf(a.sums < 0, "sums of squares of type %s, want I, II or III", a.Sums)
	d = try.Get(a.Group(d))
	a.order = d.Names()
	if a.Tree != "" {
		for _, text := range append(a.Trees, a.Tree)[:max(1, len(a.Trees))] { // the first of Trees is Tree
			a.trees = append(a.trees, try.Get(tree.Parse(text)))
		}
		d, a.tree = try.Get2(d.MatchTree(a.trees[0]))
		a.given = d
	}
	a.ready(d)
	if a.KeepSize {
		try.Get(a.data.LogSizes())
	}
	if a.tree != nil && a.Without != "" {
		a.data, a.tree = try.Get2(a.data.MatchTree(a.tree))
	}
	left := a.data.Names()
	a.order = slices.DeleteFunc(a.order, func(name string) bool { return !slices.Contains(left, name) })
	if len(a.order) != len(left) { // species in place of specimens
		a.order = left
	}
	if groups := len(a.data.Groups()); a.Model == "" && 1 < groups && groups < len(a.data.Specimens) {
		a.Model = "group"
	}
	if a.links = parseLinks(a.Links, a.data); a.Links == "" {
		a.links = d.Links
	}
	a.formula = try.Get(shapestats.Parse(a.Model, a.data))
	a.Model = a.formula.Model
	a.uncertain = try.Get(a.data.SquaredErrors()) != nil && a.tree == nil && !a.over() && !a.KeepSize
	a.mean = try.Get(shapestats.Fit(a.data))
	a.pca = try.Get(a.mean.Components())
	if len(a.formula.Terms) == 0 {
		return
	}
	a.model = a.fit(a.data, a.formula.Terms...)
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

// verdict is what is said of an effect by its p-value.
func verdict(p float64, significant, not string) string {
	if p <= Significant {
		return significant
	}
	return not
}

// percent and pValue are numbers as sentences have them.
func percent(x float64) string { return Percent(x).String() }
func pValue(p float64) string  { return PValue(p).String() }

func and(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

func (a *analysis) share(k int) float64 {
	if k < len(a.pca.Shares) {
		return a.pca.Shares[k]
	}
	return 0
}

// describe aligns the shapes and names the odd ones.
func (a *analysis) describe(s *Section) {
	const unlike = 0.5 // of the size of a shape; four or more landmarks drawn at random are farther from their mean
	found := a.found
	aligned := try.Get(a.data.Align())
	if a.uncertain {
		aligned = try.Get(morpho.WeightedProcrustes(a.data.Shapes(), a.fit(a.data).Design.Weights))
	} else {
		a.aligned = aligned
	}
	try.FailIf(aligned.Status != solve.Converged, "the alignment of the shapes: %s", aligned.Status)
	how := "Shapes were aligned by generalised Procrustes analysis, with centroid size 1, and projected to the tangent space of their mean."
	if a.KeepSize {
		how = "Forms, that is shapes with their sizes, were aligned by generalised Procrustes analysis without scaling."
	}
	a.method(how, "Gower 1975",
		"Rohlf 1999")
	if a.uncertain {
		s.add(Paragraph("The landmarks have errors of which the sizes are known. Specimens with larger errors weigh less in the mean shape, in the model, and in comparisons of group means and of their paths. The search for outliers subtracts the errors. Components, variances of groups and the other results give all specimens the same weight."))
		a.method("Specimens have the weights 1/(V + E): E is the mean square of the errors of their landmarks, and V the variance of shapes about the model.", "Paule & Mandel 1982")
	}
	s.add(Paragraph(fmt.Sprintf("The root mean square Procrustes distance from the mean shape is %.3g.", aligned.RMS)))
	if aligned.RMS > unlike {
		s.add(Paragraph("That is more than half the size of a shape: the specimens have little in common, and their mean, components and tests say little about shapes. Check whether each landmark is the same point in all specimens."))
	}
	for _, note := range slices.Concat(a.data.Notes, a.Remarks, a.notes()) {
		s.add(Paragraph("Note on the data: " + note + "."))
	}
	a.describeReady(s)
	if len(found.Findings) == 0 {
		s.add(Paragraph("No specimen was found that is an outlier or a copy, is mirrored, has another size, or has exchanged landmarks."))
	} else {
		lines := List(lists.Each(found.Findings, morpho.Finding.String))
		s.add(Paragraph(fmt.Sprintf("Please check %s before you use the results below; %s:", text.Counted(len(found.Findings), "findings"), a.data.Counting())), lines)
	}
	if n := len(found.Unsearched); n > 0 {
		s.add(Paragraph(fmt.Sprintf("The search for exchanged landmarks was not finished: %s with too many landmarks.", text.Counted(n, "specimens"))))
	}
	s.add(a.alignedFigure(aligned), a.outliers())
}

// outliers has the distances of the specimens from the mean, with the names of those that are far from it.
func (a *analysis) outliers() *Figure {
	const named = 12
	var rank, distances []float64
	var names, far []string
	var places [][]float64
	for k, d := range a.found.Distances { // the largest first
		rank, distances, names = append(rank, float64(k+1)), append(distances, d.Distance), append(names, d.Specimen)
	}
	sorted := slices.Sorted(slices.Values(distances))
	low, high := stat.Quantile(0.25, stat.LinInterp, sorted, nil), stat.Quantile(0.75, stat.LinInterp, sorted, nil)
	fence := high + 1.5*(high-low)
	for k, d := range distances[:min(named, len(distances))] {
		if d > fence {
			places, far = append(places, []float64{rank[k], d}), append(far, names[k])
		}
	}
	layers := []*viz.Layer{viz.HLine(high), viz.HLine(fence).Color(viz.Vermilion), viz.Scatter(rank, distances).Hover(names...)}
	if far != nil {
		layers = append(layers, viz.Names(places, far))
	}
	return &Figure{Name: "outliers", Caption: fmt.Sprintf("Procrustes distances of the %d specimens from the mean of the most typical half of them, in their order. A quarter is above the lower line; specimens above the upper one, 1.5 interquartile ranges higher, are far from the others.", len(distances)),
		Drawing: viz.Fig(layers...).XLabel("specimens in the order of their distances").YLabel("Procrustes distance")}
}

// Picture returns the specimens of a data set after alignment, as HTML for a look at the data: in space a page in which they turn.
func Picture(d *morpho.Dataset) (html []byte, err error) {
	defer try.Catch(&err)
	a := &analysis{links: d.Links}
	a.ready(d)
	f := a.alignedFigure(try.Get(a.data.Align()))
	if html, err = viz.Encode(".html", f.Drawing); err != nil { // in the plane
		html = inline(try.Get(viz.Encode(".svg", f.Drawing)))
	}
	return html, nil
}

// alignedFigure has all specimens after alignment with their mean.
func (a *analysis) alignedFigure(aligned *morpho.Alignment) *Figure {
	cloud := slices.Concat(aligned.Shapes...)
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
	names := lists.Make(len(aligned.Mean), a.data.Landmark)
	if len(aligned.Mean[0]) == 3 {
		layers[1] = viz.Wireframe(aligned.Mean, a.links).Hover(names...).Color(viz.Black).Label("mean")
	}
	if len(names) <= 60 && !a.data.Closed {
		layers = append(layers, viz.Names(aligned.Mean, names).Color(viz.Grey))
	}
	return &Figure{Name: "aligned", Caption: "All specimens after Procrustes alignment, and their mean; " + a.data.Counting() + ".",
		Drawing: arranged(a.views, a.views.Of(viz.Fig(layers...).Unit("centroid sizes"), aligned.Mean))}
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
