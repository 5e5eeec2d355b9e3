package supplement

import (
	"cmp"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"anatomy"
	"anatomy/geom/stats/linear"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/text"
	"anatomy/landmarks/morpho"
)

// sameAxis is the cosine of two components, at least, that show the same change of shape.
const sameAxis = 0.7

// inspect looks for faults, within the groups of the model, and computes the analysis without the specimens that have some.
func (a *analysis) inspect() {
	if a.found = (&morpho.Inspection{}); a.data.Flat { // no landmark is misplaced
		return
	}
	d := a.data
	if _, factors, _ := a.main(); factors != nil && a.tree == nil {
		d, _ = a.grouped(factors)
	}
	a.found = try.Get(morpho.Inspect(d))
	a.doubtful = a.found.Names(morpho.OtherSize, morpho.Mirrored, morpho.Relabelled, morpho.Swapped, morpho.OutOfOrder, morpho.FarFromMean, morpho.Copy)
	if len(a.doubtful) == 0 {
		return
	}
	if 2*len(a.doubtful) > len(a.data.Specimens) {
		a.unknown = errors.New("more than half of the specimens would be left out")
		return
	}
	b := &analysis{Question: a.asked, given: a.given}
	b.Model = a.Model
	b.Without = strings.Join(append(slices.Clone(a.doubtful), b.Without), "; ")
	a.unknown = try.Run(func() {
		if b.prepare(a.given); b.model != nil {
			b.anova = try.Get(b.model.ANOVAOfType(b.sums, b.draws()))
		}
		a.without = b
	})
}

// faults says which specimens have which faults.
func (a *analysis) faults() string {
	words := map[morpho.Fault][2]string{
		morpho.OtherSize: {"has another size, or another unit", "have another size, or another unit"}, morpho.Mirrored: {"is mirrored", "are mirrored"},
		morpho.Relabelled: {"has its landmarks in another order", "have their landmarks in another order"}, morpho.Swapped: {"has landmarks in each other's place", "have landmarks in each other's place"},
		morpho.OutOfOrder: {"has an outline out of order", "have outlines out of order"}, morpho.FarFromMean: {"is unlike the others", "are unlike the others"},
		morpho.Copy: {"is a copy of another specimen", "are copies of other specimens"},
	}
	var said []string
	for fault := morpho.OtherSize; fault <= morpho.Copy; fault++ {
		if names := a.found.Names(fault); len(names) > 0 {
			verb := words[fault][0]
			if len(names) > 1 {
				verb = words[fault][1]
			}
			said = append(said, someOf(names)+" "+verb)
		}
	}
	for _, f := range a.coded {
		said = append(said, fmt.Sprintf("%s in %s, which is taken for a code of missing landmarks", f.About, someOf(f.All)))
	}
	return strings.Join(said, "; ")
}

// someOf are names, the first five of many.
func someOf(names []string) string {
	if len(names) > 6 {
		return fmt.Sprintf("%d specimens (%s, …)", len(names), strings.Join(names[:5], ", "))
	}
	return and(names)
}

// readings say how columns were taken that could be taken otherwise.
func (a *analysis) readings() (sentences []string) {
	doubts := a.formula.Doubts
	if groups, err := a.data.Variable("group"); err == nil && a.asked.Model == "" && a.Model == "group" && groups.Doubt {
		doubts = []string{groups.String()}
	}
	for _, doubt := range doubts {
		sentences = append(sentences, "The column "+doubt+".")
	}
	return sentences
}

// summary says what was found, first about the data.
func (a *analysis) summary() *Section {
	s := &Section{Title: "Summary"}
	if faults := a.faults(); faults != "" {
		words := "Check the data before you use these results: " + faults + "."
		switch {
		case a.without != nil:
			words += fmt.Sprintf(" This summary gives the results with and without %s; the chapters below are about all, unless they say otherwise.", a.these())
		case a.unknown != nil:
			words += fmt.Sprintf(" Do not rely on the results below: there are none without %s to compare them with (%v).", a.these(), a.unknown)
		}
		s.add(Paragraph(words))
	}
	s.add(Paragraph(a.sample()))
	for _, sentence := range a.readings() {
		s.add(Paragraph(sentence))
	}
	if a.model == nil {
		why := "No model was given."
		if len(a.data.Groups()) > 1 {
			why = "No model was given, and groups of one specimen each cannot be compared."
		}
		s.add(Paragraph(why))
	} else {
		s.add(Paragraph(fmt.Sprintf("The model shape ~ %s explains %s of the variation of shape%s. Its terms:", a.Model, percent(explained(a.anova)), a.otherwise(func(b *analysis) string { return percent(explained(b.anova)) }))), a.verdicts())
	}
	for _, effect := range a.effects {
		s.add(Paragraph(effect))
	}
	if a.model == nil || a.without != nil {
		s.add(Paragraph(a.componentsSentence()))
	}
	if a.signal != "" {
		s.add(Paragraph(a.signal))
	}
	if order := a.changedOrder(); order != "" {
		s.add(Paragraph(order))
	}
	return s
}

// these are the specimens of doubtful findings.
func (a *analysis) these() string {
	if len(a.doubtful) == 1 {
		return "this specimen"
	}
	return fmt.Sprintf("these %d specimens", len(a.doubtful))
}

// otherwise says what a result is without the doubtful specimens.
func (a *analysis) otherwise(result func(b *analysis) string) string {
	if a.without == nil {
		return ""
	}
	return fmt.Sprintf(" with %s, and %s without", a.these(), result(a.without))
}

// sample says how many specimens there are in which groups.
func (a *analysis) sample() string {
	n, dim := len(a.data.Specimens[0].Points), len(a.data.Specimens[0].Points[0])
	where := "in the plane"
	if dim == 3 {
		where = "in space"
	}
	words := fmt.Sprintf("%s with %d landmarks %s were compared.", text.Counted(len(a.data.Specimens), "specimens"), n, where)
	if a.data.Flat {
		words = fmt.Sprintf("%s with %d coordinates were compared.", text.Counted(len(a.data.Specimens), "specimens"), dim)
	}
	if left := len(a.given.Specimens) - len(a.data.Specimens); left > 0 {
		words += fmt.Sprintf(" Left out: %s.", a.Without)
	}
	if a.KeepSize {
		words += " Forms were compared: a shape here has its size, and what is said in centroid sizes is in means of these sizes."
	}
	name, _, values := a.main()
	if values == nil {
		return words
	}
	groups, count := lists.Distinct(values), counts(values)
	if len(groups) == len(values) {
		return words + fmt.Sprintf(" Each is the only one of its %s.", name)
	}
	for i, g := range groups {
		format := "%d %s"
		if g != "" && '0' <= g[0] && g[0] <= '9' {
			format = "%d of %s"
		}
		groups[i] = fmt.Sprintf(format, count[g], cmp.Or(g, "without"))
	}
	return words + fmt.Sprintf(" By %s they are %s.", name, and(groups))
}

// explained is the share of the variation that a model explains.
func explained(of *linear.ANOVA) float64 {
	for _, row := range of.Rows {
		if row.Term == "residuals" {
			return 1 - row.R2
		}
	}
	return math.NaN()
}

// verdicts are the tests of the terms of the model, with and without the doubtful specimens.
func (a *analysis) verdicts() (found List) {
	numbers := func(row linear.ANOVARow) string {
		return fmt.Sprintf("%s of the squared Procrustes distances (F = %.3g, p = %s)", percent(row.R2), row.F, pValue(row.P))
	}
	verdict := func(row linear.ANOVARow) string {
		return verdict(row.P, "has a significant effect", "has no significant effect")
	}
	for _, row := range a.anova.Rows {
		if math.IsNaN(row.P) {
			continue
		}
		if a.without == nil {
			found = append(found, fmt.Sprintf("%s %s: it explains %s.", row.Term, verdict(row), numbers(row)))
			continue
		}
		i := slices.IndexFunc(a.without.anova.Rows, func(r linear.ANOVARow) bool { return r.Term == row.Term })
		other := a.without.anova.Rows[i]
		if verdict(row) == verdict(other) {
			found = append(found, fmt.Sprintf("%s %s with and without %s: it explains %s with, and %s without.", row.Term, verdict(row), a.these(), numbers(row), numbers(other)))
		} else {
			found = append(found, fmt.Sprintf("%s: the answer depends on %s. Without, it %s and explains %s. With, it %s and explains %s.", row.Term, a.these(), verdict(other), numbers(other), verdict(row), numbers(row)))
		}
	}
	return found
}

// componentsSentence says how much the first components explain, and whether the first is due to the doubtful specimens.
func (a *analysis) componentsSentence() string {
	shares := func(b *analysis) string { return percent(b.pca.Shares[0]) + " and " + percent(b.share(1)) }
	words := fmt.Sprintf("The first two principal components explain %s of the variance%s.", shares(a), a.otherwise(shares))
	if a.without == nil {
		return words
	}
	// The frame of either mean is that of its first specimen.
	turn := try.Get(morpho.FitSimilarity(a.without.mean.Mean, a.mean.Mean))
	turn.Scale, turn.Translation = 1, make([]float64, len(turn.Translation))
	axis := slices.Concat(turn.Apply(a.without.mean.Shape(a.without.pca.Axes[0]))...)
	if cosine := math.Abs(floats.Dot(axis, a.pca.Axes[0])); cosine < sameAxis {
		scores, theirs := a.pca.Scores[0], 0.0
		for i, s := range a.data.Specimens {
			if slices.Contains(a.doubtful, s.Name) {
				theirs += scores[i] * scores[i]
			}
		}
		words += fmt.Sprintf(" The first component is another one without: with, %s of its variance is that of %s.", percent(theirs/floats.Dot(scores, scores)), a.these())
	}
	return words
}

// farthest are the groups whose means differ most, "" with fewer than three.
func (a *analysis) farthest() string {
	if !a.compared() {
		return ""
	}
	for _, factors := range a.comparisons() {
		d, terms := a.grouped(factors)
		draws := a.draws()
		draws.N = 1
		pairs := try.Get(a.fit(d, terms...).PairsOfMeans(terms[len(terms)-1], draws))
		if len(pairs) < 2 {
			continue
		}
		p := slices.MaxFunc(pairs, func(p, q linear.Pair) int { return cmp.Compare(p.Distance, q.Distance) })
		return p.A + " and " + p.B
	}
	return ""
}

// changedOrder says whether other groups differ most without the doubtful specimens.
func (a *analysis) changedOrder() string {
	if a.without == nil {
		return ""
	}
	with, without := a.farthest(), a.without.farthest()
	if with == without || with == "" || without == "" {
		return ""
	}
	return fmt.Sprintf("The means of %s differ most with %s, and those of %s without.", with, a.these(), without)
}

var (
	speciesColumn = regexp.MustCompile(`(?i)^(species|taxon|binomial)$`)
	binomial      = regexp.MustCompile(`^\p{Lu}\p{Ll}+[ _]\p{Ll}{3,}$`)
)

// notes are about what the data or the question leave open.
func (a *analysis) notes() (notes []string) {
	d := a.data
	if _, err := d.LogSizes(); d.Flat {
	} else if err != nil {
		notes = append(notes, fmt.Sprintf("%v. There is no chapter about size, and an alignment that is made again can change sums of squares by some per cent", err))
	} else if d.Unit == "" && len(d.Specimens[0].Points[0]) == 2 {
		notes = append(notes, "the unit is not known. If coordinates are pixels of photographs, sizes compare only if all have one scale")
	}
	if d.Curves != nil && a.Curves == "" {
		curves := lists.Each(d.Curves, func(c [2]int) string { return d.Landmark(c[0]) + "-" + d.Landmark(c[1]-1) })
		notes = append(notes, fmt.Sprintf("the points of the curves do not slide. --curves \"%s\" slides them", strings.Join(curves, "; ")))
	}
	alone := !slices.ContainsFunc(d.Names(), func(name string) bool { return !binomial.MatchString(name) })
	for _, name := range d.Covariates() {
		alone = alone || speciesColumn.MatchString(name) && len(counts(try.Get(d.Column(name)))) == len(d.Specimens)
	}
	if alone && a.tree == nil && len(d.Specimens) > 3 {
		notes = append(notes, "the specimens are species, and tests treat them as independent of each other. --tree takes their phylogeny into account")
	}
	return notes
}

//go:embed references.csv
var referenceTable string

// references are the sources by the names by which sentences cite them, each with its address.
var references = func() map[string]string {
	all := map[string]string{}
	for _, row := range try.Get(csv.NewReader(strings.NewReader(referenceTable)).ReadAll())[1:] {
		all[row[0]] = strings.TrimSpace(row[1] + ". " + row[2])
	}
	return all
}()

// method notes a method, sentences that cite its sources, once.
func (a *analysis) method(sentences string, sources ...string) {
	if sources != nil {
		sentences = fmt.Sprintf("%s (%s).", strings.TrimSuffix(sentences, "."), strings.Join(sources, "; "))
	}
	if !slices.Contains(a.methods, sentences) {
		a.methods, a.cited = append(a.methods, sentences), append(a.cited, sources...)
	}
}

// describeMethods says what was done, by which program, after whom.
func (a *analysis) describeMethods() *Section {
	s := &Section{Title: "Methods"}
	a.method(fmt.Sprintf("Tests used %d permutations, with random numbers from seed %d. Where there are no more ways to permute the specimens, each was used once. An effect is called significant if p ≤ %g. The standard error of a p-value is that of sampling permutations; it counts the data as one of them.", a.Permutations, a.Seed, Significant), "Phipson & Smyth 2010")
	for _, sentences := range a.methods {
		s.add(Paragraph(sentences))
	}
	s.add(Paragraph(fmt.Sprintf("Computed by %s. Cite the program as: The anatomy authors, anatomy: computational anatomy in Go notebooks, version %s.", Software(), anatomy.Version)))
	slices.Sort(a.cited)
	s.add(List(lists.Each(slices.Compact(a.cited), func(name string) string { return references[name] })))
	return s
}

// specimens lists the specimens.
func (a *analysis) specimens() *Section {
	d, t := a.data, &Table{Name: "specimens", Caption: "The specimens with their sizes and their Procrustes distances from the mean."}
	rows := make([][]any, len(d.Specimens))
	column := func(name string, value func(i int, s morpho.Specimen) any) {
		t.Header = append(t.Header, name)
		for i, s := range d.Specimens {
			rows[i] = append(rows[i], value(i, s))
		}
	}
	column("specimen", func(_ int, s morpho.Specimen) any { return s.Name })
	if len(d.Groups()) > 1 && !slices.Contains(d.Covariates(), "group") {
		column("group", func(_ int, s morpho.Specimen) any { return s.Group })
	}
	for _, name := range d.Covariates() {
		column(name, func(_ int, s morpho.Specimen) any { return s.Covariates[name] })
	}
	if !d.Flat {
		column(WithUnit("centroid size", d.Unit, ""), func(_ int, s morpho.Specimen) any { return morpho.CentroidSize(s.Points) })
	}
	column("distance", func(i int, _ morpho.Specimen) any { return floats.Norm(a.mean.Residuals[i], 2) })
	if len(a.estimated) > 0 {
		column("estimated landmarks", func(_ int, s morpho.Specimen) any { return and(lists.Each(a.estimated[s.Name], d.Landmark)) })
	}
	for _, row := range rows {
		t.Add(row...)
	}
	section := &Section{Title: "Specimens"}
	section.add(t)
	return section
}
