// Package shapestats is geometric morphometrics: analyses of the shapes of a morpho.Dataset by the linear models and permutation tests of
// geom/stats/linear. It computes on the host and links no XLA.
//
//	species, site := linear.Factor("species"), linear.Factor("site")                // columns of the data set
//	model, err := shapestats.Fit(heads, species, site, linear.Interaction(species, site))
//	table, err := model.ANOVA(linear.Permutations{N: 999, Seed: 1})                 // Procrustes analysis of variance
//	pairs, err := model.PairsOfMeans(site, linear.Permutations{N: 999, Seed: 1})    // also PairsOfSlopes, Disparity, Trajectories, Modularity
//
// FitOnTree is the same for species with a phylogeny; PhylogeneticSignal, PhylogeneticLambda and EvolutionaryRates compare shapes along it.
// MeasureIntegration tells how two parts of an anatomy covary, ObjectSymmetry how left and right sides differ.
//
// Shapes are brought to size 1, aligned by rotations and projected to the tangent space of their mean (morpho.Dataset.TangentShapes). The rows of
// the models are these shapes, with the coordinates of a landmark after those of the one before; Model.Shape makes [][]float64 of them.
package shapestats

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/geom/stats/linear"
	"anatomy/geom/tree"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/text"
	"anatomy/landmarks/morpho"
)

// Model is a linear model of shapes, Y = X B + E. Row i of Y is the shape of specimen i in the tangent space of the mean: n·d coordinates, those of
// one landmark after another. The embedded linear.Model has the Coefficients B, a row for each of Columns, and the Fitted and Residuals of each
// specimen, and makes tables and tests: ANOVA, PairsOfMeans, PairsOfSlopes, Disparity, Trajectories. Sums of squares are in squared centroid sizes,
// and distances in centroid sizes; of Forms both are in mean centroid sizes.
type Model struct {
	*linear.Model
	Data *morpho.Dataset // the specimens in the order of the rows: on a tree, that of its leaves
	Mean shape.Shape     // [n][d], the Procrustes mean, of size 1

	tree *tree.Tree // nil without
}

// Fit aligns the shapes of a data set (Procrustes, centroid size 1), projects them to the tangent space of their mean, and fits
// a linear model with the terms, in their order, by least squares: B minimises |Y − X B|². Without terms the model is the mean.
//
// Factors and covariates are columns of the data set, "group" or LogSize, or they have values of their own in the order of the
// specimens. Specimens are treated as independent, except for terms Over others; for species use FitOnTree.
//
// It is an error if landmarks are missing, if all shapes are the same or have no mean (morpho.Dataset.TangentShapes), if a column is not there or
// lacks a value (linear.NewDesign), or if no degrees of freedom are left or the levels of the error of a term are not exchangeable
// (linear.Design.Fit).
func Fit(d *morpho.Dataset, terms ...linear.Term) (*Model, error) { return fit(d, nil, terms) }

// FitWithErrors is Fit for landmarks with errors: the morpho.ErrorColumn of the data says how large they are. Specimen i has the weight 1/(V + E_i),
// where E_i is the variance that the errors of its landmarks add (morpho.Dataset.SquaredErrors) and V that of shapes about the model, which is
// estimated (linear.FitWithErrors) and returned as between, in squared centroid sizes. It is an error if the data have no such column, or no number
// of a specimen there; others are those of Fit.
func FitWithErrors(d *morpho.Dataset, terms ...linear.Term) (_ *Model, between float64, err error) {
	defer try.Named(&err, "linear model of %s with errors", d.Name)
	rows, mean := try.Get2(d.TangentShapes())
	squares := try.Get(d.SquaredErrors())
	try.FailIf(squares == nil, "no column %q: take Fit", morpho.ErrorColumn)
	m := &Model{Data: d, Mean: mean}
	m.Model, between, err = linear.FitWithErrors(d, rows, squares, terms...)
	return m, between, err
}

// FitOnTree is Fit for species, the leaves of a tree, by phylogenetic generalised least squares: see linear.Design.FitOnTree. Values of
// terms of their own are in the order of the leaves. It has the errors of Fit and morpho.Dataset.OnTree, and is one if two leaves are at
// distance 0.
func FitOnTree(d *morpho.Dataset, t *tree.Tree, terms ...linear.Term) (_ *Model, err error) {
	defer try.Catch(&err)
	return fit(try.Get(d.OnTree(t)), t, terms)
}

func fit(d *morpho.Dataset, t *tree.Tree, terms []linear.Term) (_ *Model, err error) {
	defer try.Named(&err, "linear model of %s%s", d.Name, map[bool]string{true: " on a tree"}[t != nil])
	rows, mean := try.Get2(d.TangentShapes())
	design := try.Get(linear.NewDesign(len(rows), d, nil, terms...))
	m := &Model{Data: d, Mean: mean, tree: t}
	if t != nil {
		m.Model, err = design.FitOnTree(rows, t)
	} else {
		m.Model, err = design.Fit(rows)
	}
	return m, err
}

// FitRows explains rows of numbers, [N][p], one for each specimen of a data set, by terms, which may name its columns as those of Fit do: other
// coordinates of the shapes, such as the scores of deformations (stats.TangentPCA). It has the errors of linear.NewDesign and linear.Design.Fit.
func FitRows(d *morpho.Dataset, rows [][]float64, terms ...linear.Term) (_ *linear.Model, err error) {
	defer try.Named(&err, "linear model of rows about %s", d.Name)
	try.FailIf(len(rows) != len(d.Specimens), "%d rows for %d specimens", len(rows), len(d.Specimens))
	return try.Get(linear.NewDesign(len(rows), d, nil, terms...)).Fit(rows)
}

// Shape returns a row of the model as a shape, [n][d]; they share their numbers.
func (m *Model) Shape(row []float64) shape.Shape {
	solve.NotNil(m)
	return points(row, len(m.Mean[0]))
}

// Predict returns the shape, [n][d], that the model expects for a specimen with these covariates, by name: "group" for
// Factor("group"), "log size" for LogSize, and columns of the data set. So the Covariates of a Specimen may be given. See
// linear.Model.Predict.
func (m *Model) Predict(covariates map[string]string) (_ shape.Shape, err error) {
	defer try.Catch(&err)
	return m.Shape(try.Get(solve.NotNil(m).Model.Predict(covariates))), nil
}

// points are numbers in rows of dim; they share them.
func points(x []float64, dim int) [][]float64 { return slices.Collect(slices.Chunk(x, dim)) }

// LogSize is the logarithm of the centroid size, the Covariate "log size", or the column of the data set that has this name: allometry. It is an
// error if the shapes were aligned or scaled before: see morpho.Dataset.LogSizes.
func LogSize() linear.Term { return linear.Covariate(morpho.LogSize) }

// PhylogeneticSignal returns the signal K of shapes on a tree whose leaves are the specimens (D. Adams, A generalized K statistic for
// estimating phylogenetic signal from shape and other high-dimensional multivariate data, Syst. Biol. 63, 2014; see tree.Tree.Signal).
// The shapes are aligned as for Fit, that is, as geomorph does. It has the errors of OnTree and TangentShapes.
func PhylogeneticSignal(d *morpho.Dataset, t *tree.Tree, p linear.Permutations) (_ *tree.Signal, err error) {
	defer try.Named(&err, "phylogenetic signal of %s", d.Name)
	rows, _ := onTree(d, t)
	return t.Signal(rows, p)
}

// PhylogeneticLambda returns the signal λ of shapes on a tree whose leaves are the specimens, by the likelihood of those principal components that
// have 95 % of the variance, at most a third of the specimens less one: see tree.Tree.Lambda. The shapes are aligned as for Fit. It has the errors of
// OnTree, TangentShapes and tree.Tree.Lambda.
func PhylogeneticLambda(d *morpho.Dataset, t *tree.Tree, p linear.Permutations) (_ *tree.Lambda, err error) {
	defer try.Named(&err, "phylogenetic signal of %s", d.Name)
	rows, _ := onTree(d, t)
	c, scores := principal(rows), make([][]float64, len(rows))
	for _, s := range c.Scores[:c.most(len(rows)-1)] {
		for i := range scores {
			scores[i] = append(scores[i], s[i])
		}
	}
	return t.Lambda(scores, p)
}

// EvolutionaryRates compares how fast the shapes of groups of species evolve along a tree whose leaves are the specimens, in the unit of
// Procrustes distances squared divided by that of lengths: see tree.Tree.Rates. The shapes are aligned as for Fit. It has the errors of
// OnTree, TangentShapes and Rates.
func EvolutionaryRates(d *morpho.Dataset, t *tree.Tree, groups linear.Term, p linear.Permutations) (_ *tree.Rates, err error) {
	defer try.Named(&err, "evolutionary rates of %s", d.Name)
	rows, data := onTree(d, t)
	return t.Rates(rows, data, groups, p)
}

// onTree are the shapes and the data of the leaves.
func onTree(d *morpho.Dataset, t *tree.Tree) ([][]float64, linear.Data) {
	ordered := try.Get(d.OnTree(t))
	rows, _ := try.Get2(ordered.TangentShapes())
	return rows, ordered
}

// Formula is a model in a line, as Parse reads it.
type Formula struct {
	Terms   linear.Terms
	Names   [][]string // of each term its column, or those of an interaction
	Factors []string   // columns that are taken for categories
	Numbers []string   // columns that are taken for numbers; "log size" for LogSize
	Model   string     // the line, without what stands before ~
	Doubts  []string   // which columns could be read otherwise, in words: see morpho.Variable
}

// Parse reads the terms of a model of shapes:
//
//	size + sex*population
//	individual over individual:side + side over individual:side + individual:side
//
// A name is a column of the data set, "group" or "size". Names may have spaces and signs, as Age (years); between backquotes no sign in them is one
// of the model. A column is a covariate or a factor as morpho.Dataset.Variable says; factor(year) and number(group) make it one of them in the whole
// line. size is LogSize, unless the data set has a column of that name. a:b is an interaction, a*b is a + b + a:b, and a/b, categories of b within
// those of a, is a + a:b. "over" names the term by whose mean square a term is tested (linear.Term.Over). Terms stand in the order of the line,
// interactions of two behind all single ones, and so on, each once. The empty line is the mean.
//
// A line may be one of R: shape ~ sex + log(Csize), where Csize is the centroid size and log(Csize) is size; as.factor(year), as.numeric(group);
// 1 for the mean. A name in another case stands for the only column of that name.
//
// It is an error if a column is not there, with those that are, or if there are more terms than specimens.
func Parse(model string, d *morpho.Dataset) (_ *Formula, err error) {
	defer try.Named(&err, "the model %s", text.Clip(model))
	try.FailIf(len(model) > longest, "it has %d letters, and %d are the most", len(model), longest)
	p := &parser{data: d, names: append(d.Covariates(), "group"), terms: map[string]linear.Term{}, asked: map[string]string{}}
	if left, right, is := strings.Cut(model, "~"); is && !slices.ContainsFunc(p.names, func(name string) bool { return strings.Contains(name, "~") }) {
		try.FailIf(slices.Contains(p.names, strings.TrimSpace(left)), "shapes are explained, and not a column: write shape ~ %s",
			strings.TrimSpace(right))
		model = strings.TrimSpace(right)
	}
	p.words = words(model, p.names)
	for i, word := range p.words {
		if p.words[i] = cmp.Or(inR[word], word); slices.Contains(asks, p.words[i]) && i+2 < len(p.words) && p.words[i+1] == "(" {
			p.asked[p.column(p.words[i+2])] = p.words[i]
		}
	}
	if len(p.words) == 1 && p.words[0] == "1" {
		p.words = nil
	} else if len(p.words) > 1 && p.words[0] == "1" && p.words[1] == "+" {
		p.words = p.words[2:]
	}
	p.sum()
	slices.SortStableFunc(p.order, func(a, b product) int { return len(a.names) - len(b.names) })
	out := &Formula{Model: model, Factors: p.factors, Numbers: p.numbers, Doubts: p.doubts}
	for _, t := range p.order {
		term := p.term(t.names)
		if t.over != nil {
			term = term.Over(p.term(t.over))
		}
		out.Terms, out.Names = append(out.Terms, term), append(out.Names, t.names)
	}
	return out, nil
}

// product is a term: the names of an interaction, or one.
type product struct{ names, over []string }

const longest = 10_000 // letters of a model

// asks are the words by which a model says what a column is.
var asks = []string{"factor", "number"}

// inR are words of R for those of a model.
var inR = map[string]string{"as.factor": "factor", "as.numeric": "number"}

type parser struct {
	data             *morpho.Dataset
	names            []string // of columns
	words            []string
	terms            map[string]linear.Term // by names
	asked            map[string]string      // which of asks names a column
	factors, numbers []string
	doubts           []string
	order            []product
}

// words parts a line into names, signs and numbers. What stands between backquotes is a name that begins with one, and so is the longest of some
// columns.
func words(line string, columns []string) (out []string) {
	known := lists.Each(columns, func(column string) []rune { return []rune(column) })
	begins := func(rest []rune) (n int) {
		for _, c := range known {
			same := func(a []rune) bool { // in any case where a name could not be read without
				return slices.Equal(a, c) || strings.ContainsAny(string(c), " +*:/()") && strings.EqualFold(string(a), string(c))
			}
			if after := len(c); after > n && after <= len(rest) && same(rest[:after]) &&
				(after == len(rest) || unicode.IsSpace(rest[after]) || strings.ContainsRune("+*:/()", rest[after])) {
				n = after
			}
		}
		return n
	}
	for rest := []rune(line); len(rest) > 0; {
		n := 1
		switch {
		case unicode.IsSpace(rest[0]):
			rest = rest[1:]
			continue
		case rest[0] == '`':
			if n = slices.Index(rest[1:], '`') + 1; n == 0 {
				n = len(rest)
			}
			out, rest = append(out, string(rest[:n])), rest[min(n+1, len(rest)):]
			continue
		case begins(rest) > 0:
			n = begins(rest)
			out, rest = append(out, "`"+string(rest[:n])), rest[n:]
			continue
		case !strings.ContainsRune("+*:/()", rest[0]):
			for n < len(rest) && !unicode.IsSpace(rest[n]) && !strings.ContainsRune("+*:/()`", rest[n]) {
				n++
			}
		}
		out, rest = append(out, string(rest[:n])), rest[n:]
	}
	return out
}

func (p *parser) next(words ...string) bool {
	if len(p.words) > 0 && slices.Contains(words, p.words[0]) {
		p.words = p.words[1:]
		return true
	}
	return false
}

// sum reads terms and puts them in their order.
func (p *parser) sum() {
	for more := len(p.words) > 0; more; {
		all := p.crossed()
		if p.next("over") {
			over := p.interaction()
			for i := range all {
				all[i].over = over
			}
		}
		for _, t := range all {
			if !slices.ContainsFunc(p.order, func(o product) bool { return same(o.names, t.names) }) {
				p.order = append(p.order, t)
				p.bound(len(p.order))
			}
		}
		if more = p.next("+"); !more && len(p.words) > 0 {
			try.Fail("%s stands where + should: write size + sex*site", text.Clip(strings.TrimPrefix(p.words[0], "`")))
		}
	}
}

// same says whether two interactions have the same names.
func same(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

// crossed reads interactions that * or / join.
func (p *parser) crossed() []product {
	first := p.interaction()
	all := []product{{names: first}}
	for {
		nested := len(p.words) > 0 && p.words[0] == "/"
		if !p.next("*", "/") {
			return all
		}
		names := p.interaction()
		if nested {
			all = append(all, product{names: union(all[len(all)-1].names, names)})
			continue
		}
		before := slices.Clone(all)
		p.bound(2*len(all) + 1)
		all = append(all, product{names: names})
		for _, t := range before {
			all = append(all, product{names: union(t.names, names)})
		}
	}
}

// bound ends the parsing if there are more terms than specimens, which cannot tell their effects apart.
func (p *parser) bound(terms int) {
	if n := len(p.data.Specimens); terms > n {
		try.Fail("it has at least %d terms, and no more than the %d specimens can be told apart: write fewer, or + in place of *", terms, n)
	}
}

func union(a, b []string) []string { return lists.Distinct(slices.Concat(a, b)) }

// interaction reads names that : joins.
func (p *parser) interaction() (names []string) {
	for {
		names = union(names, []string{p.name()})
		if !p.next(":") {
			return names
		}
	}
}

// name reads a column, and returns the name of its term.
func (p *parser) name() string {
	try.FailIf(len(p.words) == 0, "it ends where a column should stand")
	word := p.words[0]
	try.FailIf(strings.ContainsAny(word[:1], "+*:/()"), "%s stands where a column should", text.Clip(word))
	p.words = p.words[1:]
	name := p.column(word)
	asked := slices.Contains(asks, word)
	if (asked || word == "log") && p.next("(") {
		try.FailIf(len(p.words) == 0, "%s( names no column", word)
		name = p.column(p.words[0])
		p.words = p.words[1:]
		try.FailIf(!p.next(")"), "%s( has no closing bracket behind %s", word, text.Clip(name))
		if !asked && name != morpho.Size && name != "size" {
			try.Fail("log(%s): log is that of Csize alone. Add a column of logarithms to the table", name)
		} else if !asked {
			name = "size"
		}
	}
	if _, err := p.data.Column(name); err != nil && p.asked[name] == "" && (name == "size" || name == morpho.Size) {
		term := LogSize()
		if name == morpho.Size {
			term = linear.Covariate(name)
		}
		p.take(term, &p.numbers)
		return term.Name()
	}
	if p.asked[name] == "number" || p.asked[name] == "" && !p.categories(name) {
		p.take(linear.Covariate(name), &p.numbers)
	} else {
		try.Get(p.data.Column(name))
		p.take(linear.Factor(name), &p.factors)
	}
	return name
}

// column is the name of a column as the data have it, and of sizes.
func (p *parser) column(word string) string {
	name := strings.TrimPrefix(word, "`")
	like := lists.Filter(p.names, func(column string) bool { return strings.EqualFold(column, name) })
	switch lower := strings.ToLower(name); {
	case slices.Contains(p.names, name), name == "size":
	case len(like) == 1:
		return like[0]
	case lower == "size" || lower == "log size" || lower == "logcsize":
		return "size"
	case lower == "csize" || lower == morpho.Size:
		return morpho.Size
	}
	return name
}

// categories says whether a column is taken for categories, with a word of doubt.
func (p *parser) categories(name string) bool {
	r := try.Get(p.data.Variable(name))
	if r.Doubt && !slices.Contains(p.doubts, r.String()) {
		p.doubts = append(p.doubts, r.String())
	}
	return r.Categories
}

func (p *parser) take(term linear.Term, list *[]string) {
	p.terms[term.Name()] = term
	if !slices.Contains(*list, term.Name()) {
		*list = append(*list, term.Name())
	}
}

func (p *parser) term(names []string) linear.Term {
	all := lists.Each(names, func(name string) linear.Term { return p.terms[name] })
	if len(all) == 1 {
		return all[0]
	}
	return linear.Interaction(all...)
}
