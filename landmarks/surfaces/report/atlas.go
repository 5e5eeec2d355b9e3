package report

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/morpho/supplement"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/population"
	"anatomy/landmarks/surfaces/study"
	"anatomy/viz"
)

// Template says how the template of a population is estimated.
type Template struct {
	Deformation float64 // width of the deformations, in sizes of the first subject
	Detail      float64 // width in which shapes are compared, in the same unit
	Noise       string  // of the shapes, in multiples of the usual one: of all objects, or by their names, "skull: 2; jaw: 0.5"
	Similarity  bool    // subjects are also scaled
	Tolerance   float64 // of both residuals of population.Atlas
	Unit        string  // of the coordinates
	Folder      string  // for files that ParaView shows, if it is not empty
	Covariates  string  // a file: see study.Study.ReadCovariates
	Tree        string  // a file with a phylogeny, or several, of the subjects or of values of a column, for the Question
	Sensitivity bool    // other poses and widths are tried, and what they change is a table

	// Question is what is asked about the momenta at the template: a model, a tree, measurements. Without one, and without covariates of the study, the
	// document has the template and its modes alone.
	Question supplement.Question
}

// atlas is a document as it grows.
type atlas struct {
	Template
	own      *study.Study
	found    *population.Atlas
	objects  []string  // their names
	before   []float64 // the sum over the subjects of Atlas.Before, by objects
	mismatch []float64
	views    viz.Views
}

// foldedLimit is the share of the length or area of a template that folded cells may have: single slivers fold without harm.
const foldedLimit = 1e-3

// noMinimum is what a report says about a template whose search has not converged.
const noMinimum = "The search did not find a minimum. Draw no conclusion from the template, the modes and the deformations below."

const finishedStudy = "Template, control points and momenta are those of a finished study of Deformetrica: nothing was searched for."

// Atlas estimates the template of a study, or its registration or regression, and returns the document about it, and what was found. It has the errors
// of Study.ReadCovariates, Start, Estimate and Write, and of population.Atlas.PCA and Mode.
func Atlas(own *study.Study, t Template) (_ *supplement.Document, _ *population.Atlas, err error) {
	defer try.Catch(&err)
	t.check(own)
	views := try.Get(viz.ParseViews(t.Question.View))
	before := *own
	before.Subjects = slices.Clone(own.Subjects)
	t.start(own)
	a := &atlas{Template: t, own: own, views: views, found: try.Get(own.Estimate(solve.Tolerance(t.Tolerance)))}
	if t.Folder != "" {
		try.Do(own.Write(t.Folder, a.found))
	}
	a.objects = lists.Each(own.Model.Objects, func(o population.Object) string { return o.ID })
	a.before, a.mismatch = make([]float64, len(a.objects)), make([]float64, len(a.objects))
	for i, mismatch := range a.found.Mismatch {
		floats.Add(a.before, a.found.Before[i])
		floats.Add(a.mismatch, mismatch)
	}
	document := &supplement.Document{Title: "A population"}
	if a.asked() {
		document = a.statistics()
	}
	first := ""
	if len(document.Sections) > 0 {
		first = document.Sections[0].Title
	}
	if a.found.Mismatch == nil { // of a finished study without the meshes of its subjects
		s := &supplement.Section{Title: "The atlas"}
		add(s, finishedStudy+" The meshes of the subjects are not there, so how well it fits them is not known.")
		s.Parts = append(s.Parts, supplement.List(own.Notes))
		document.Insert(first, *s)
		return document, a.found, nil
	}
	document.Insert(first, *a.summary(), *a.template())
	if own.Kind == study.Atlas && len(own.Names) > 2 {
		document.Insert(first, *a.modes())
	}
	if t.Sensitivity {
		document.Insert(first, *a.sensitivity(&before))
	}
	document.Insert("", *a.subjects(), *a.methods())
	return document, a.found, nil
}

// start starts a study, and multiplies the noise of its objects.
func (t Template) start(own *study.Study) {
	try.Do(own.Start(t.Deformation, t.Detail, t.Similarity))
	own.Model.Objects = slices.Clone(own.Model.Objects)
	for part := range strings.FieldsFuncSeq(t.Noise, func(r rune) bool { return r == ';' || r == ',' }) {
		name, number, named := strings.Cut(part, ":")
		if !named {
			number = part
		}
		factor, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		found := false
		var names []string
		for o := range own.Model.Objects {
			object := &own.Model.Objects[o]
			if names = append(names, object.ID); !named || strings.TrimSpace(name) == object.ID {
				object.Noise *= factor
				found = true
			}
		}
		if err != nil || !found || !(factor > 0) || math.IsInf(factor, 1) {
			try.Fail("noise=%s: give a positive number, or one for some objects by their names, as in “skull: 2; jaw: 0.5”; the objects are %q", t.Noise, names)
		}
		own.Notes = append(own.Notes, fmt.Sprintf("noise=%s multiplies σ by this number", strings.TrimSpace(part)))
	}
}

// of is the name of an object after a comma, if it has one.
func of(object string) string {
	if object == "" {
		return ""
	}
	return ", " + object
}

// summary says what was estimated, and whether it can be used.
func (a *atlas) summary() *supplement.Section {
	s := &supplement.Section{Title: "Summary"}
	if a.asked() {
		s.Title = "The atlas"
	}
	switch a.own.Kind {
	case study.Atlas:
		add(s, "A template of %d subjects was estimated.", len(a.own.Names))
	case study.Registration:
		add(s, "The template was deformed to one subject.")
	case study.Regression:
		add(s, "A path of the template in time was estimated from %d observations of one subject.", len(a.own.Names))
	}
	for o, object := range a.objects {
		add(s, "The squared distance between the subjects and the deformed template is %.2g %% of that between the subjects and the initial template%s.",
			100*a.mismatch[o]/a.before[o], of(object))
	}
	f := a.found
	if a.own.Finished() {
		add(s, finishedStudy+" Its functional is %.6g. Two residuals are 0 at a minimum: %.3f for the template, in its standard errors, and %.3f for the momenta, relative to them.", f.Objective, f.Imbalance, f.Unsettled)
		return s
	}
	add(s, "The search ended after %d evaluations: %s. Two residuals are 0 at a minimum. The first, %.3f, estimates the distance of the template from the minimum in standard errors of the template. The second, %.3f, is the gradient with respect to the momenta, divided by the momenta.",
		f.Evaluations, f.Status, f.Imbalance, f.Unsettled)
	if f.Status == geom.Converged {
		return s
	}
	settled := f.Unsettled <= a.Tolerance && (a.own.Kind == study.Registration || f.Imbalance <= a.Tolerance) // whatever the cells of the template do
	if settled && f.FoldedShare > foldedLimit {
		s.Parts = append(s.Parts, supplement.Warning(fmt.Sprintf("Of the template %.2g %% is folded.", 100*f.FoldedShare)))
		add(s, "The template may follow the noise of the subjects. Try a larger “deformation” in SET.")
	} else {
		s.Parts = append(s.Parts, supplement.Warning(noMinimum))
		add(s, "Often the subjects have too little in common: they are different objects, or are not aligned. See the figures and the notes under “Methods”. Otherwise try a larger “deformation” in SET.")
	}
	if a.own.Kind == study.Atlas && a.own.FreeVertices {
		add(s, "If the surfaces are rough, run the report again without “smooth=false”: the template then moves by smooth fields only.")
	}
	return s
}

// template shows the first subject and the template.
func (a *atlas) template() *supplement.Section {
	s := &supplement.Section{Title: "The template"}
	add(s, "The template is the shape from which the deformations to all subjects start.")
	template := a.found.Template
	far := supplement.Displacements(template, template) // on average over the subjects
	for _, shape := range a.found.Deformed {
		for o, d := range supplement.Displacements(shape, template) {
			floats.AddScaled(far[o], 1/float64(len(a.found.Deformed)), d)
		}
	}
	figure(s, supplement.Figure{Name: "template", Caption: "(a) The first subject. (b) The template, coloured by the mean displacement of its vertices over the subjects.",
		Drawing: viz.Tiles(max(2, len(a.views)), slices.Concat(
			a.views.Of(supplement.Drawn(a.own.Subjects[0], a.Unit, "", nil).Title("(a) "+a.own.Names[0]), a.own.Subjects[0][0].Vertices),
			a.views.Of(supplement.Drawn(template, a.Unit, "mean displacement", far).Title("(b) template"), template[0].Vertices))...)})
	return s
}

// modes shows how the subjects vary about the template.
func (a *atlas) modes() *supplement.Section {
	s := &supplement.Section{Title: "How the subjects vary"}
	modes := try.Get(a.found.PCA(a.own.Model))
	c := []float64{-2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2}
	mode, err := a.found.Mode(a.own.Model, modes, 0, c...)
	if err != nil { // deformations of a template that is none are too large to be followed
		add(s, "The modes cannot be shown: %s.", err)
		return s
	}
	shown := *modes // each takes a flow to every subject
	shown.Modes = modes.Modes[:min(3, len(modes.Modes))]
	left := try.Get(a.found.Reconstruction(a.own.Model, &shown, a.own.Subjects)) // squared distances that remain after k modes
	add(s, "The modes are the principal components of the deformations. The first mode explains %.0f %% of the variance.", 100*modes.Explained[0])
	figure(s, supplement.Figure{Name: "mode", Caption: "The first mode, from c = −2 to 2 standard deviations. Colours are distances from the mean shape, c = 0.",
		Drawing: viz.Slider("c", c, func(k int) *viz.Figure {
			mean := mode[slices.Index(c, 0)]
			return a.views[:1].Of(supplement.Drawn(mode[k], a.Unit, "distance from the mean", supplement.Displacements(mode[k], mean)), mean[0].Vertices)[0]
		})})
	for o, object := range a.objects {
		var shares []string
		for k := 1; k < min(4, len(left)); k++ {
			shares = append(shares, fmt.Sprintf("%.1f %%", 100*left[k][o]/left[0][o]))
		}
		add(s, "If the template is deformed by one mode, by two modes, and so on, this share of its squared distance from the subjects remains%s: %s.",
			of(object), strings.Join(shares, ", "))
	}
	return s
}

// subjects is the table of the subjects.
func (a *atlas) subjects() *supplement.Section {
	s := &supplement.Section{Title: "The subjects"}
	t := &supplement.Table{Name: "subjects", Caption: "The energy of a subject is half the squared length of its deformation. Before: squared distance between the subject and the initial template. After: squared distance between the subject and the template deformed to it. In both columns 100 % is the mean of the squared distances before.",
		Header: []string{"subject", "energy"}}
	for _, o := range a.objects {
		t.Header = append(t.Header, "vertices"+of(o), "before"+of(o), "after"+of(o))
	}
	for i, name := range a.own.Names {
		energy := math.NaN()
		if a.own.Kind != study.Regression { // a regression has one energy, that of the path
			energy = a.found.Energy[i]
		}
		row := []any{name, supplement.Number(energy, "%.3g")}
		for o, m := range a.own.Subjects[i] {
			mean := a.before[o] / float64(len(a.own.Names))
			row = append(row, len(m.Vertices), supplement.Percent(math.Max(0, a.found.Before[i][o]/mean)), supplement.Percent(a.found.Mismatch[i][o]/mean))
		}
		t.Add(row...)
	}
	s.Parts = append(s.Parts, t)
	if a.Folder != "" {
		add(s, "The folder %s contains the template, the momenta and the flows.", filepath.Base(a.Folder))
	}
	return s
}

// methods says what was chosen, and holds the claims about the template.
func (a *atlas) methods() *supplement.Section {
	s := &supplement.Section{Title: "Methods"}
	if a.asked() {
		s.Title = "Methods of the atlas"
	}
	add(s, "The template and the momenta minimise the sum of two terms: the energy of the deformations, and the squared distance of the deformed template from the subjects in the norm of varifolds. The deformations are geodesic flows of control points. Computed by %s. Choices and repairs:", supplement.Software())
	sources := supplement.List{"S. Durrleman et al., Morphometry of anatomical shape complexes with dense deformations and sparse parameters, NeuroImage 101, 2014. https://doi.org/10.1016/j.neuroimage.2014.06.043",
		"N. Charon and A. Trouvé, The varifold representation of nonoriented shapes for diffeomorphic registration, SIAM J. Imaging Sciences 6, 2013. https://doi.org/10.1137/130918885"}
	if a.own.Model.Hypertemplate {
		sources = append(sources, "J. Ma, M. I. Miller and L. Younes, A Bayesian generative model for surface template estimation, International Journal of Biomedical Imaging, 2010. https://doi.org/10.1155/2010/974957")
	}
	s.Parts = append(s.Parts, supplement.List(a.own.Notes), supplement.Paragraph("References:"), sources, converged("the template", a.found.Status),
		supplement.Claim{What: "Folded edges or triangles have at most 0.1 % of the length or area of the template", Holds: a.found.FoldedShare <= foldedLimit})
	for o, object := range a.objects {
		s.Parts = append(s.Parts, supplement.Claim{What: "The deformed template is closer to the subjects than the initial template is", Object: object, Holds: a.mismatch[o] < a.before[o]})
	}
	return s
}

// Outlines is a study of closed outlines, one a specimen.
func Outlines(names []string, outlines []geom.Shape) *study.Study {
	curves := lists.Each(outlines, func(x geom.Shape) *mesh.Mesh { return mesh.Curve(x, true) })
	return &study.Study{Names: names, Subjects: population.Single(curves)}
}
