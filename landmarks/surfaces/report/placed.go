package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom"
	"anatomy/geom/stats/linear"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/morpho/shapestats"
	"anatomy/landmarks/morpho/supplement"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/population"
	"anatomy/landmarks/surfaces/study"
	"anatomy/viz"
)

// Placing says how landmarks are placed, and what is done with them.
type Placing struct {
	Deformation float64 // width of the deformations, in sizes of the first template
	Detail      float64 // width in which shapes are compared, in the same unit
	Unit        string  // of the coordinates
	View        string  // sides from which bodies are shown: see viz.ParseViews
	Templates   string  // landmarks of some subjects, where the study has none yet: see study.Study.ReadLandmarks
	File        string  // for the table of landmarks, if it is not empty
	Model       string  // what explains the shapes: see shapestats.Parse
	Seed        uint64  // of the permutations by which the model is tested
}

// placed is a document as it grows.
type placed struct {
	Placing
	own    *study.Study
	views  viz.Views
	meshes [][]*mesh.Mesh // before they are aligned
	found  *population.Placement
	table  *morpho.Dataset
	errors []float64 // the standard error of each subject, in the unit of the coordinates; 0 for a template, NaN where nothing was placed
	doubts []string
}

// Placed places the landmarks of some subjects of a study on the others, and returns the document about them. It has the errors of
// Study.ReadLandmarks, Start and Place, and of morpho.Write.
func Placed(own *study.Study, o Placing) (_ *supplement.Document, _ *population.Placement, err error) {
	defer try.Catch(&err)
	if own.Landmarks == nil {
		try.Do(own.ReadLandmarks(o.Templates))
	}
	p := &placed{Placing: o, own: own, views: try.Get(viz.ParseViews(o.View)), meshes: slices.Clone(own.Subjects)}
	try.Do(own.Start(o.Deformation, o.Detail, true))
	p.found = try.Get(own.Place())
	p.table = own.PlacedData("placed landmarks", p.found)
	for i, marks := range p.found.Placed {
		expected := lists.Each(marks, population.PlacedLandmark.StandardError)
		p.errors = append(p.errors, RMS(expected)) // NaN where there are none
		if slices.Contains(p.found.Templates, i) {
			p.errors[i] = 0
		}
	}
	if o.File != "" {
		try.Do(morpho.Write(o.File, p.table))
	}
	document := &supplement.Document{Title: "Placed landmarks", Data: p.table, Sections: []supplement.Section{*p.summary()}}
	if p.found.Failures != nil || own.LeftOut != nil {
		document.Insert("", *p.doubtful())
	}
	if len(p.found.Templates) > 1 {
		document.Insert("", *p.templates())
	}
	document.Insert("", *p.explained(), *p.methods())
	return document, p.found, nil
}

// summary has a picture of a template and of a typical subject, and the table of the subjects.
func (p *placed) summary() *supplement.Section {
	s := &supplement.Section{Title: "Summary"}
	add(s, "%s.", p.found)
	var known []float64
	for i, e := range p.errors {
		if !math.IsNaN(e) && !slices.Contains(p.found.Templates, i) {
			known = append(known, e)
		}
	}
	if slices.Sort(known); len(known) > 0 {
		typical := slices.Index(p.errors, known[len(known)/2])
		figure(s, supplement.Figure{Name: "placed", Drawing: viz.Tiles(max(2, len(p.views)), slices.Concat(p.draw(p.found.Templates[0], "(a) "), p.draw(typical, "(b) "))...),
			Caption: "(a) A template with its digitised landmarks. (b) The subject whose standard error is the median, with the placed landmarks. Each ellipse is computed to contain the true landmark with a probability of 95 %."})
	}
	t := &supplement.Table{Name: "subjects", Caption: "The standard error of a subject is the root mean square of those of its landmarks, per direction of the surface.",
		Header: []string{"subject", "landmarks", supplement.WithUnit("standard error", p.Unit, ""), "places to look at"}}
	kinds, failures := try.Get(p.table.Column("landmarks")), try.Get(p.table.Numbers("failures"))
	for i, name := range p.own.Names {
		e := p.errors[i]
		if e == 0 { // digitised
			e = math.NaN()
		}
		t.Add(name, kinds[i], supplement.Number(e, "%.3g"), int(failures[i]))
	}
	s.Parts = append(s.Parts, t)
	return s
}

// draw draws a subject from its sides, with its landmarks, and the ellipses of those that were placed.
func (p *placed) draw(i int, title string) []*viz.Figure {
	at := p.table.Specimens[i].Points
	points, layers := viz.Points(at), []*viz.Layer{viz.Names(at, lists.Make(len(at), p.label)).Color(viz.Grey)}
	if slices.Contains(p.found.Templates, i) {
		layers = append(layers, points.Color(viz.Black).Label("digitised"))
	} else if p.found.Placed[i] != nil {
		var rings []geom.Shape
		for _, mark := range p.found.Placed[i] {
			ring := mark.Ellipse(0.95, 48)
			rings = append(rings, append(ring, ring[0]))
		}
		layers = append(layers, points.Color(viz.Vermilion).Label("placed"), viz.Lines(rings...).Color(viz.Black).Width(1.5).Label("95 % ellipse"))
	}
	return p.views.Of(supplement.Drawn(p.meshes[i], p.Unit, "", nil, layers...).Title(title+p.own.Names[i]), p.meshes[i][0].Vertices)
}

// label is the name of a landmark, or its number.
func (p *placed) label(l int) string {
	if l < len(p.table.Labels) && p.table.Labels[l] != "" {
		return p.table.Labels[l]
	}
	return fmt.Sprint(l)
}

// doubtful lists the subjects and landmarks that one should look at.
func (p *placed) doubtful() *supplement.Section {
	s := &supplement.Section{Title: "Places to look at"}
	list := supplement.List(lists.Each(p.own.LeftOut, func(reason string) string { return "left out: " + reason }))
	for _, f := range p.found.Failures {
		where := p.own.Names[f.Subject]
		if f.Landmark >= 0 {
			where += ", landmark " + p.label(f.Landmark)
		}
		p.doubts = append(p.doubts, where+": "+f.Reason)
	}
	if slices.ContainsFunc(p.found.Failures, func(f population.PlacementFailure) bool { return strings.Contains(f.Reason, "template ") }) {
		add(s, "Templates are counted from 0 in the order of the table.")
	}
	s.Parts = append(s.Parts, append(list, p.doubts...))
	return s
}

// Missed returns the errors of placed landmarks whose true places are known, per direction of the surface (distance/√2), and their standard errors.
func Missed(marks []population.PlacedLandmark, where [][]float64) (off, expected []float64) {
	for l, mark := range marks {
		off = append(off, floats.Distance(mark.Point, where[l], 2)/math.Sqrt2)
		expected = append(expected, mark.StandardError())
	}
	return off, expected
}

// RMS is the root mean square.
func RMS(x []float64) float64 { return floats.Norm(x, 2) / math.Sqrt(float64(len(x))) }

// templates says how well templates place the landmarks of each other.
func (p *placed) templates() *supplement.Section {
	s := &supplement.Section{Title: "How well the templates find each other"}
	var off, expected, farther []float64
	for _, t := range p.found.Templates {
		a, b := Missed(p.found.Placed[t], p.table.Specimens[t].Points)
		off, expected = append(off, a...), append(expected, b...)
	}
	add(s, "The landmarks of each template were also placed by the other templates. They miss the digitised ones by %s (root mean square per direction of the surface). Their standard error is %s. It has been scaled to fit such errors; without this correction it would be %.2f times as large. The share %.2f of the variance comes from the subject, is common to all templates, and does not become smaller with more of them.",
		inUnit(RMS(off), p.Unit), inUnit(RMS(expected), p.Unit), 1/math.Sqrt(stat.Mean(p.found.Calibration, nil)), p.found.Shared)
	for i, marks := range p.found.Placed {
		if marks != nil && !slices.Contains(p.found.Templates, i) {
			farther = append(farther, p.found.Farther[i])
		}
	}
	if farther != nil {
		slices.Sort(farther)
		add(s, "The mean square of the deformations from the templates to another subject is %.2f times that between the templates (median; largest %.2f). The variances of errors grow with it. If it is far above 1, also digitise some of these subjects.",
			farther[len(farther)/2], farther[len(farther)-1])
	}
	return s
}

// explained is the linear model of the shapes, in which specimens weigh by their errors.
func (p *placed) explained() *supplement.Section {
	const permutations = 999
	s := &supplement.Section{Title: "A linear model of the shapes"}
	var between float64
	var found *linear.ANOVA
	err := try.Run(func() {
		formula := try.Get(shapestats.Parse(p.Model, p.table))
		fitted, variance, err := shapestats.FitWithErrors(p.table, formula.Terms...)
		try.Do(err)
		found, between = try.Get(fitted.ANOVA(linear.Permutations{N: permutations, Seed: p.Seed})), variance
	})
	if err != nil {
		add(s, "There is none: %s.", err)
		return s
	}
	add(s, "The shapes are explained by %s. A specimen weighs the less, the larger the errors of its landmarks are: its weight is 1/(V + E), with the mean square E of its errors and the variance V of shapes about the model, which is estimated.", p.Model)
	t := &supplement.Table{Name: "anova", Caption: fmt.Sprintf("Analysis of variance with these weights, %d permutations. √V is %.3f centroid sizes.", permutations, math.Sqrt(between)),
		Header: []string{"term", "degrees of freedom", "share of the variation", "F", "p"}}
	for _, r := range found.Rows {
		t.Add(r.Term, r.DF, supplement.Number(r.R2, "%.3f"), supplement.Number(r.F, "%.3g"), supplement.PValue(r.P))
	}
	s.Parts = append(s.Parts, t)
	return s
}

// methods says how landmarks were placed.
func (p *placed) methods() *supplement.Section {
	s := &supplement.Section{Title: "Methods"}
	add(s, "Several poses of each subject are matched roughly, and the pose with the best match is taken. Each template is then deformed to each subject by a similarity and the geodesic flow of control points. Similarity and flow minimise a weighted sum of the energy of the flow and the squared distance in the norm of varifolds; both weights are estimated from all subjects. Landmarks follow the flow and go to the nearest point of the subject. Their covariance is that of the displacements and the noise that the match takes wrongly, to first order, with a flat prior for the similarity. The width and the variance of the displacements are weighed by their likelihood after all matches. The places that several templates give are averaged with weights inverse to their variances. The covariance is calibrated by the errors of templates on each other, and is larger on subjects to which deformations are larger. A few templates determine the size of the errors only roughly, so the ellipses have quantiles of the F distribution. Computed by %s. Choices and repairs:", supplement.Software())
	notes := supplement.List(slices.DeleteFunc(slices.Clone(p.own.Notes), func(note string) bool { return slices.Contains(p.doubts, note) }))
	s.Parts = append(s.Parts, notes, supplement.Paragraph("References:"), supplement.List{
		"A. Porto, S. Rolfe, A. M. Maga, ALPACA: a fast and accurate computer vision approach for automated landmarking of three-dimensional biological structures, Methods in Ecology and Evolution 12, 2021. https://doi.org/10.1111/2041-210X.13689",
		"S. Durrleman et al., Morphometry of anatomical shape complexes with dense deformations and sparse parameters, NeuroImage 101, 2014. https://doi.org/10.1016/j.neuroimage.2014.06.043"},
		supplement.Claim{What: "Every mesh that could be read has its landmarks, digitised or placed", Holds: !slices.ContainsFunc(p.errors, math.IsNaN)})
	return s
}
