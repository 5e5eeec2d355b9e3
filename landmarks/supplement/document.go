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
	"anatomy/viz"
)

// Document is a text with tables and figures.
type Document struct {
	Title    string
	Authors  []string
	Sections []Section

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
}

func (Paragraph) part() {}
func (List) part()      {}
func (*Table) part()    {}
func (*Figure) part()   {}

// Tables returns the tables of the document in their order.
func (d *Document) Tables() (out []*Table) {
	for _, s := range d.Sections {
		for _, p := range s.Parts {
			if t, is := p.(*Table); is {
				out = append(out, t)
			}
		}
	}
	return out
}

// Figures returns the figures of the document in their order.
func (d *Document) Figures() (out []*Figure) {
	for _, s := range d.Sections {
		for _, p := range s.Parts {
			if f, is := p.(*Figure); is {
				out = append(out, f)
			}
		}
	}
	return out
}
