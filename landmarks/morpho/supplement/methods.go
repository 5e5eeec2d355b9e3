package supplement

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"anatomy"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/morpho"
)

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
