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
	"os"
	"slices"
	"strings"

	"anatomy/geom/stats/linear"
	"anatomy/internal/lists"
	"anatomy/landmarks/morpho"
	"anatomy/viz"
)

// Document is a text with tables and figures.
type Document struct {
	Title    string
	Authors  []string
	Model    string            // what explains the shapes, as in a Question; empty for none
	ANOVA    *linear.ANOVA     // of the model; nil without
	Data     *morpho.Dataset   // as it was compared: see Ready; nil for a mesh
	Aligned  *morpho.Alignment // of its shapes, which all weigh the same; nil without
	LeftOut  string            // what the document lacks because it needs XLA, as a paragraph
	Sections []Section
	Flagged  []string // specimens with findings that may change results; without any there are none

	record record
	again  bool // the record makes the document again
}

// Section is a part of a document with a title.
type Section struct {
	Title string
	Parts []Part
}

func (s *Section) add(parts ...Part) { s.Parts = append(s.Parts, parts...) }

// Part is a Paragraph, a Warning, a List, a *Table, a *Figure or a Claim.
type Part interface{ part() }

// Paragraph is text.
type Paragraph string

// Warning is text that no reader should miss.
type Warning string

// Claim is a statement, and whether it holds of the data.
type Claim struct {
	What   string // Markdown in a notebook
	Object string // of the data, about which it is, or ""
	Holds  bool
}

// String is the statement with its object.
func (c Claim) String() string {
	if c.Object == "" {
		return c.What
	}
	return c.What + ", " + c.Object
}

// List is lines of text.
type List []string

// Figure is a drawing.
type Figure struct {
	Name    string // of its files, without extension
	Caption string
	Drawing viz.Drawing
	Cover   bool // it stands for the document in a gallery; without such a figure the first one does
	turns   bool // has a page in which it turns
}

func (Paragraph) part() {}
func (Warning) part()   {}
func (Claim) part()     {}
func (List) part()      {}
func (*Table) part()    {}
func (*Figure) part()   {}

// Show shows the document in a notebook: say prints a paragraph as nb.Printf does, table a table with its caption, its cells below their header,
// and its file, and claim a check. See nb.Report.
func (d *Document) Show(say func(format string, args ...any), table func(caption string, cells [][]string, csv []byte),
	claim func(what, object string, holds bool)) {
	const cover = "ANATOMY_COVER" // asks viz.Show for a cover of the next figure
	panel, asked := os.LookupEnv(cover)
	figures := d.Figures()
	of := slices.IndexFunc(figures, func(f *Figure) bool { return f.Cover })
	for i, s := range d.Sections {
		say("## %s", s.Title)
		for _, part := range s.Parts {
			switch p := part.(type) {
			case Paragraph:
				say("%s", string(p))
			case Warning:
				say("**%s**", string(p))
			case List:
				say(strings.Repeat("- %s\n", len(p)), lists.Each(p, func(line string) any { return line })...)
			case *Table:
				table(p.Caption, p.cells(), p.CSV())
			case *Figure:
				if os.Unsetenv(cover); asked && p == figures[max(0, of)] {
					os.Setenv(cover, panel)
				}
				viz.Show(p.Drawing)
				say("**Figure.** %s", p.Caption)
			case Claim:
				claim(p.What, p.Object, p.Holds)
			}
		}
		if i == 0 && d.LeftOut != "" {
			say("%s", d.LeftOut)
		}
	}
}

// Add adds parts to the section of a title, which it makes as the last one where there is none.
func (d *Document) Add(title string, parts ...Part) {
	at := slices.IndexFunc(d.Sections, func(s Section) bool { return s.Title == title })
	if at < 0 {
		d.Sections, at = append(d.Sections, Section{Title: title}), len(d.Sections)
	}
	d.Sections[at].add(parts...)
}

// Insert puts sections before that of a title, or at the end where there is none. The program anatomy, which makes a document again, has not these.
func (d *Document) Insert(before string, sections ...Section) {
	d.again = false
	at := slices.IndexFunc(d.Sections, func(s Section) bool { return s.Title == before })
	if at < 0 {
		at = len(d.Sections)
	}
	d.Sections = slices.Insert(d.Sections, at, sections...)
}

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
