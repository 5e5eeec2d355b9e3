// Package supplement answers the usual questions about a sample of shapes in one document: how the specimens were compared, which are odd, how
// they vary, what a model explains, which groups differ, how shape changes with size, and which methods were used. It is the supplement
// of a paper: a page, its tables as CSV, its figures as SVG, PDF and PNG, and a record by which it can be made again.
//
//	heads, err := morpho.Read("heads.tps")
//	heads, err = heads.ReadCovariates("specimens.csv")
//	document, err := supplement.New(heads, supplement.Question{Model: "size + species*site"})
//	err = document.Write("supplement")
//
// The program `anatomy` does this from the command line. The package links no XLA.
package supplement

import (
	"fmt"
	"strings"

	"anatomy/geom/stats/linear"
	"anatomy/viz"
)

// Document is a text with tables and figures.
type Document struct {
	Title    string
	Authors  []string
	Model    string        // what explains the shapes, as in a Question; empty for none
	ANOVA    *linear.ANOVA // of the model, in numbers; nil without
	Sections []Section
	Flagged  []string // specimens with findings that may change results; without any there are none

	record record
}

// Section is a part of a document with a title.
type Section struct {
	Title string
	Parts []Part
}

func (s *Section) add(parts ...Part) { s.Parts = append(s.Parts, parts...) }

// Part is a Paragraph, a List, a *Table or a *Figure.
type Part interface{ part() }

// Paragraph is text.
type Paragraph string

// List is lines of text.
type List []string

// Table is rows of cells under a header.
type Table struct {
	Name    string // of its file, without extension
	Caption string
	Header  []string
	Rows    [][]string
}

// Figure is a drawing.
type Figure struct {
	Name    string // of its files, without extension
	Caption string
	Drawing viz.Drawing
	turns   bool // has a page in which it turns
}

func (Paragraph) part() {}
func (List) part()      {}
func (*Table) part()    {}
func (*Figure) part()   {}

// Tables returns the tables of the document in their order.
func (d *Document) Tables() []*Table { return partsOf[*Table](d) }

// Figures returns the figures of the document in their order.
func (d *Document) Figures() []*Figure { return partsOf[*Figure](d) }

func partsOf[P Part](d *Document) (out []P) {
	for _, s := range d.Sections {
		for _, part := range s.Parts {
			if p, is := part.(P); is {
				out = append(out, p)
			}
		}
	}
	return out
}

// Table returns the table of a name. It is an error, which lists those that there are, if there is none.
func (d *Document) Table(name string) (*Table, error) {
	return called("table", name, d.Tables(), func(t *Table) string { return t.Name })
}

// Figure returns the figure of a name. It is an error, which lists those that there are, if there is none.
func (d *Document) Figure(name string) (*Figure, error) {
	return called("figure", name, d.Figures(), func(f *Figure) string { return f.Name })
}

func called[P any](kind, name string, all []P, nameOf func(P) string) (none P, err error) {
	var names []string
	for _, p := range all {
		if nameOf(p) == name {
			return p, nil
		}
		names = append(names, nameOf(p))
	}
	return none, fmt.Errorf("the report has no %s %q; it has %s", kind, name, strings.Join(names, ", "))
}
