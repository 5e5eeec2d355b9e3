package supplement

import (
	"anatomy/internal/lists"
	"anatomy/landmarks/morpho"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
)

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

// initials stand before the name by which a source is sorted.
var initials = regexp.MustCompile(`^(\p{Lu}\.[ -]?)+`)

// describeMethods says what was done, by which program, after whom.
func (a *analysis) describeMethods() *Section {
	s := &Section{Title: "Methods"}
	s.add(Paragraph(strings.Join(a.methods, " ")))
	s.add(Paragraph(fmt.Sprintf("Tests used %d permutations, with random numbers from seed %d. Where there are no more ways to permute the specimens, each was used once. A p-value counts the data as one of the permutations; its standard error is that of sampling permutations. An effect is called significant if p ≤ %g.", a.Permutations, a.Seed, Significant)))
	s.add(Paragraph("Computed by " + Software() + "."))
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
	t.Header = append(t.Header, names...)
	if !a.data.Flat {
		t.Header = append(t.Header, size)
	}
	t.Header = append(t.Header, "distance")
	if len(a.estimated) > 0 {
		t.Header = append(t.Header, "estimated landmarks")
	}
	for i, s := range a.data.Specimens {
		row := []any{s.Name}
		if grouped {
			row = append(row, s.Group)
		}
		for _, name := range names {
			row = append(row, s.Covariates[name])
		}
		if !a.data.Flat {
			row = append(row, morpho.CentroidSize(s.Points))
		}
		row = append(row, floats.Norm(a.mean.Residuals[i], 2))
		if len(a.estimated) > 0 {
			row = append(row, and(lists.Each(a.estimated[s.Name], a.data.Landmark)))
		}
		t.Add(row...)
	}
	section := &Section{Title: "Specimens"}
	section.add(t)
	return section
}
