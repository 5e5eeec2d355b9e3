package supplement

import (
	"fmt"
	"strings"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/try"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/viz"
)

// Body returns the meshes that a specimen of coordinates is, [K], of data that are Flat: the template, deformed by the momentum of these scores.
type Body func(coordinates []float64) ([]*mesh.Mesh, error)

// checkFlat refuses questions about landmarks where the data have none, and data that nothing draws.
func (a *analysis) checkFlat(d *morpho.Dataset) {
	without := a.Corrections
	without.Without = ""
	switch {
	case !d.Flat:
	case a.Body == nil:
		try.Fail("coordinates in a flat space need a Body, which says what they look like")
	case a.Curves+a.Slide+a.Joint+a.Links+a.Surface+a.Parts+a.Pairs != "" || without != (morpho.Corrections{}):
		try.Fail("curves, a joint, links, a surface, parts, pairs and corrections are about landmarks, and these data are coordinates in a flat space")
	}
}

// describeFlat says what the coordinates are.
func (a *analysis) describeFlat() *Section {
	s := &Section{Title: "The specimens"}
	squares := 0.0
	for _, row := range a.mean.Residuals {
		squares += floats.Dot(row, row) / float64(len(a.mean.Residuals))
	}
	s.add(Paragraph(fmt.Sprintf("The mean square of the distances of the specimens from their mean is %.3g. Distances are lengths of deformations: those between the momenta at the template, in the metric of the control points.", squares)))
	for _, note := range a.data.Notes {
		s.add(Paragraph("Note on the data: " + note + "."))
	}
	a.method("Coordinates are the scores of the momenta at the template along all of their principal components, in the metric of the control points. The space of momenta is flat, and statistics are those of vectors.",
		"M. Vaillant, M. Miller, L. Younes and A. Trouvé, Statistics on diffeomorphisms via tangent space representations, NeuroImage 23, 2004")
	return s
}

// bodies draws the meshes of coordinates, coloured by their displacement from those of others, from each side.
func (a *analysis) bodies(title string, from, to []float64, quantity string) []*viz.Figure {
	body := try.Get(a.Body(to))
	return a.views.Of(Drawn(body, a.Question.Unit, quantity, Displacements(body, try.Get(a.Body(from)))).Title(title), body[0].Vertices)
}

// flatEnds are the meshes at the ends of the first two components, coloured by their displacement from the mean.
func (a *analysis) flatEnds() *Figure {
	var figures []*viz.Figure
	for k := range 2 {
		for end, score := range a.ends(k) {
			title := fmt.Sprintf("(%c) component %d, %s score", 'a'+2*k+end, k+1, []string{"lowest", "highest"}[end])
			figures = append(figures, a.bodies(title, a.mean.Mean[0], a.along(k, score)[0], "displacement")...)
		}
	}
	return &Figure{Name: "surfaces", Caption: "The template, deformed to the ends of the first two components, coloured by the displacement from the mean.", Drawing: viz.Tiles(2, figures...).SharedAxes()}
}

// coordinates has all scores and distances as files.
func (a *analysis) coordinates() *Section {
	if !a.data.Flat {
		return nil
	}
	s := &Section{Title: "Scores and distances"}
	scores := &Table{Name: "scores", Caption: "Scores of the specimens on all principal components; the beginning.", Header: []string{"specimen"}, Preview: true}
	distances := &Table{Name: "distances", Caption: "Distances between the specimens; the beginning.", Header: append([]string{"specimen"}, a.data.Names()...), Preview: true}
	for k := range a.pca.Scores {
		scores.Header = append(scores.Header, fmt.Sprint("component ", k+1))
	}
	for i, specimen := range a.data.Specimens {
		row, far := []any{specimen.Name}, []any{specimen.Name}
		for _, component := range a.pca.Scores {
			row = append(row, component[i])
		}
		for _, other := range a.data.Specimens {
			far = append(far, floats.Distance(specimen.Points[0], other.Points[0], 2))
		}
		scores.Add(row...)
		distances.Add(far...)
	}
	s.add(scores, distances)
	return s
}

// flatWords are what coordinates in a flat space have in place of words about landmarks.
var flatWords = strings.NewReplacer("Procrustes distances between", "Distances between", "squared Procrustes distances", "squared distances", "Procrustes distance", "distance",
	"Procrustes analysis of variance", "Analysis of variance", "Procrustes variances", "Variances", "squared centroid sizes", "squared lengths of deformations",
	"the aligned shapes", "the coordinates", "centroid size", "size", "in the tangent space", "in the flat space")

// reword gives the texts of the document the words of coordinates in a flat space. References and names of columns keep theirs.
func (d *Document) reword() {
	for s := range d.Sections {
		for k, part := range d.Sections[s].Parts {
			switch p := part.(type) {
			case Paragraph:
				d.Sections[s].Parts[k] = Paragraph(flatWords.Replace(string(p)))
			case List:
				if d.Sections[s].Title != "Methods" {
					for i, line := range p {
						p[i] = flatWords.Replace(line)
					}
				}
			case *Table:
				p.Caption = flatWords.Replace(p.Caption)
			case *Figure:
				p.Caption = flatWords.Replace(p.Caption)
			}
		}
	}
}
