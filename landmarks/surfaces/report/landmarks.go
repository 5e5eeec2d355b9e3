package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/ode"
	"anatomy/geom/stats"
	"anatomy/geom/stats/linear"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/morpho/shapestats"
	"anatomy/landmarks/morpho/supplement"
	"anatomy/viz"
)

const sizes = "centroid sizes" // the unit of aligned shapes

// deformed is a sample of landmarks with their mean by deformations.
type deformed struct {
	supplement.Deformations
	question supplement.Question
	document *supplement.Document
	data     *morpho.Dataset
	grouped  *morpho.Dataset // with the groups of the model if the data have none
	spacing  float64         // of neighbouring landmarks
	space    *landmarks.Space
	mean     *stats.Mean[geom.Shape]
	modes    *stats.PCA[geom.Shape]
	terms    linear.Terms
}

// Landmarks returns the document of supplement.New, and in it the Fréchet mean of the aligned shapes by deformations with its modes and uncertainty,
// the model of the question fitted to deformations, and a deformation between groups or specimens. It has the errors of supplement.Answers.Asked and
// supplement.New, of stats.FrechetMean, stats.TangentPCA and of shapestats.FitRows.
func Landmarks(d *morpho.Dataset, asked *supplement.Answers) (_ *supplement.Document, err error) {
	defer try.Catch(&err)
	q := try.Get(asked.Asked())
	try.Do(asked.Check(try.Get(q.Group(try.Get(d.Corrected(q.Corrections)))))) // before anything is computed
	r := &deformed{Deformations: asked.Deformations, question: q, document: try.Get(supplement.New(d, q))}
	r.data, r.document.LeftOut = r.document.Data.Distinct(), ""
	aligned := r.document.Aligned
	if aligned == nil || len(aligned.Mean) > len(r.data.Specimens[0].Points) { // there specimens weigh by their errors, and landmarks may coincide
		aligned = try.Get(r.data.Align())
	}
	if r.spacing = morpho.NearestSpacing(aligned.Mean); r.data.Closed {
		r.spacing = morpho.MeanSpacing(aligned.Mean, true)
	}
	r.space = landmarks.New(len(aligned.Mean), len(aligned.Mean[0]), kernels.Gaussian(r.Width*r.spacing), geom.Integrator(ode.RK4, 10))
	var near []stats.MeanOption
	if r.Mismatch != 0 {
		near = append(near, stats.RelativeNoise(r.Mismatch))
	}
	r.mean = try.Get(stats.FrechetMean(r.space, aligned.Shapes, near...))
	r.modes = try.Get(stats.TangentPCA(r.mean))
	formula := try.Get(shapestats.Parse(r.document.Model, r.data))
	r.terms, r.grouped = formula.Terms, r.data
	if len(r.data.Groups()) < 2 && len(formula.Factors) > 0 {
		r.grouped = r.data.GroupBy(formula.Factors...)
	}
	found := r.mean.Status == geom.Converged
	r.document.Insert("Methods", *r.describe(found))
	if found && len(r.terms) > 0 {
		r.document.Insert("Methods", *r.compare())
	}
	if found {
		r.document.Insert("Methods", *r.change())
	}
	r.methods(found)
	return r.document, nil
}

// describe has the mean with its modes and its uncertainty.
func (r *deformed) describe(found bool) *supplement.Section {
	s := &supplement.Section{Title: "The mean shape and its deformations"}
	add(s, "The squared Procrustes distance is the sum of the squared displacements of the landmarks. A deformation moves all landmarks together with the space between them. Its length is small if neighbouring landmarks move in the same way, and large if they move against each other. The mean below is the Fréchet mean: it minimises the sum of the squared lengths of the deformations to the aligned shapes. Its modes are the principal components of the deformations from the mean to the specimens.")
	if r.Mismatch != 0 {
		add(s, "Deformations may miss landmarks slightly, because digitised landmarks contain noise.")
	}
	if notes := r.data.Notes[len(r.document.Data.Notes):]; len(notes) > 0 {
		add(s, "Deformations have fewer landmarks: %s.", strings.Join(notes, "; "))
	}
	s.Parts = append(s.Parts, converged("the Fréchet mean", r.mean.Status))
	if !found {
		add(s, "The search for the Fréchet mean ended as %s. Therefore this report shows neither modes nor tests of deformations.", r.mean.Status)
	}
	if len(r.mean.Unmatched) > 0 {
		lost := lists.Pick(r.data.Names(), r.mean.Unmatched)
		add(s, "No smooth deformation was found from the mean to %s. Please look at the order of the landmarks of these specimens. SET=\"without='%s'\" leaves the specimens out.",
			strings.Join(lost, ", "), strings.Join(lost, "; "))
	}
	if found {
		figure(s, r.variation())
		figure(s, r.uncertainty())
	}
	return s
}

// draw draws a shape: as an outline, or as points if its landmarks follow none.
func (r *deformed) draw(q [][]float64) *viz.Layer {
	if r.data.Closed {
		return viz.Outline(q)
	}
	return viz.Points(q)
}

// variation shows the first modes of the mean.
func (r *deformed) variation() supplement.Figure {
	var panels []*viz.Figure
	for k := range min(2, len(r.modes.Variances)) {
		ends := try.Get(r.modes.Mode(r.space, k, -2, 2))
		layers := []*viz.Layer{r.draw(r.mean.Point).Color(viz.Grey).Label("mean"),
			r.draw(ends[0]).Color(viz.Blue).Label("−2 standard deviations"),
			r.draw(ends[1]).Color(viz.Vermilion).Label("2 standard deviations")}
		if !r.data.Closed {
			way := ends[1].Sub(ends[0]) // dots of three shapes could not be told apart
			layers = []*viz.Layer{viz.Wireframe(ends[0], r.data.Links).Color(viz.Blue).Label("−2 standard deviations"),
				viz.Arrows(ends[0], way).Color(viz.Vermilion).Label("to 2 standard deviations")}
		}
		panels = append(panels, viz.Fig(layers...).
			NoAxes().Unit(sizes).Title(fmt.Sprintf("(%c) mode %d: %.0f %%", 'a'+k, k+1, 100*r.modes.Explained[k])))
	}
	return supplement.Figure{Name: "modes", Drawing: viz.Row(panels...).SharedAxes(), Caption: fmt.Sprintf(
		"The Fréchet mean of %d specimens and its first modes of variation by deformations, with their shares of the variance. The root mean square distance by which a deformation misses the landmarks is at most %.2g centroid sizes; neighbouring landmarks are %.2g apart.",
		len(r.data.Specimens), missed(r.mean), r.spacing)}
}

// missed is the largest root mean square distance between the landmarks of a sample and the end of the deformation to it. The Residual is one over the
// coordinates.
func missed(m *stats.Mean[geom.Shape]) float64 {
	return math.Sqrt(float64(len(m.Point[0]))) * m.Residual
}

// uncertainty shows how exactly the mean is known.
func (r *deformed) uncertainty() supplement.Figure {
	u := try.Get(stats.MeanUncertainty(r.space, r.mean))
	covariance, dim := u.Covariance(), len(r.mean.Point[0])
	var blocks [][][]float64 // of each landmark
	var deviations []float64
	for k := range r.mean.Point {
		block, trace := make([][]float64, dim), 0.0
		for a := range dim {
			block[a] = covariance[dim*k+a][dim*k : dim*k+dim]
			trace += block[a][a]
		}
		blocks, deviations = append(blocks, block), append(deviations, math.Sqrt(trace))
	}
	f := supplement.Figure{Name: "mean-uncertainty"}
	about := "coloured by the standard error of each landmark"
	if dim == 2 {
		label := "95 % region"
		about = "with a 95 % confidence region for each landmark, not corrected for their number"
		factor := try.Get(u.Factor(0.95, dim))
		times := math.Max(1, math.Round(0.3*r.spacing/(factor*slices.Max(deviations))))
		if times > 1 {
			about, label = about+fmt.Sprintf(", drawn %g times as large", times), fmt.Sprintf("95 %% region, ×%g", times)
		}
		regions := make([][][]float64, len(blocks))
		for k, block := range blocks {
			for _, row := range block {
				regions[k] = append(regions[k], floats.ScaleTo(make([]float64, dim), times*times*factor*factor, row))
			}
		}
		f.Drawing = viz.Fig(r.draw(r.mean.Point).Color(viz.Grey).Width(1), viz.Points(r.mean.Point).Color(viz.Blue).Label("mean"),
			viz.Ellipses(r.mean.Point, regions).Color(viz.Vermilion).Label(label)).NoAxes().Unit(sizes)
	} else {
		f.Drawing = viz.Fig(viz.Points(r.mean.Point).ColorBy("standard error (centroid sizes)", deviations...)).NoAxes().Unit(sizes)
	}
	f.Caption = fmt.Sprintf("The Fréchet mean %s. The standard errors of the landmarks are between %.2g and %.2g centroid sizes.", about, slices.Min(deviations), slices.Max(deviations))
	return f
}

// compare has the model as fitted to shapes and to deformations, and the terms about which the two differ.
func (r *deformed) compare() *supplement.Section {
	s := &supplement.Section{Title: "The model by shapes and by deformations"}
	shapes := r.document.ANOVA
	fit := try.Get(shapestats.FitRows(r.data, r.modes.Scores, r.terms...))
	of := try.Get(fit.ANOVAOfType(shapes.Type, linear.Permutations{N: shapes.Permutations, Seed: r.question.Seed}))
	t := &supplement.Table{Name: "deformations", Header: []string{"term", "fitted to", "R²", "F", "p"}, Caption: fmt.Sprintf(
		"The model shape ~ %s with sums of squares of type %s, fitted to the aligned shapes (Procrustes distance) and to the deformations from the Fréchet mean, with the same permutations.", r.document.Model, shapes.Type)}
	s.Parts = append(s.Parts, t)
	var differ []string
	for i, row := range shapes.Rows {
		if row.Over == "" { // no term
			continue
		}
		deformations := of.Rows[i]
		t.Add(row.Term, "shapes", row.R2, row.F, supplement.PValue(row.P))
		t.Add(row.Term, "deformations", deformations.R2, deformations.F, supplement.PValue(deformations.P))
		if (row.P <= supplement.Significant) != (deformations.P <= supplement.Significant) {
			differ = append(differ, row.Term)
		}
	}
	if differ == nil {
		add(s, "At p ≤ %g shapes and deformations give the same answer for every term.", supplement.Significant)
	} else {
		add(s, "At p ≤ %g the two answers differ about %s. The two distances weight differences in shape differently. The squared Procrustes distance is the sum of the squared displacements of the landmarks. The length of a deformation counts displacements less if neighbours share them or if they are as small as the noise. With each p-value, say to which distance it belongs.",
			supplement.Significant, strings.Join(differ, ", "))
	}
	return s
}

// velocity is the initial velocity that leads from the mean to a specimen, or its average over the specimens of a group. For the empty name, which
// stands for the mean, it is 0.
func (r *deformed) velocity(name string) geom.Shape {
	total, n := r.mean.Point.Scale(0), 0.0
	for i, s := range r.grouped.Specimens {
		if s.Group == name && slices.Contains(r.grouped.Groups(), name) || s.Name == name {
			total = total.Add(r.mean.Velocities[i])
			n++
		}
	}
	return total.Scale(1 / math.Max(1, n))
}

// ends are the specimens or groups between which a deformation is drawn, and why.
func (r *deformed) ends() (from, to, why string) {
	from, to = r.From, r.To
	groups := r.grouped.Groups()
	other := func(a, b string) string { // the first group that is neither
		return groups[slices.IndexFunc(groups, func(g string) bool { return g != a && g != b })]
	}
	if n := len(groups); n > 1 && n < len(r.grouped.Specimens) {
		if from == "" {
			from = other(from, to)
		}
		if to == "" {
			to = other(from, to)
		}
	} else if from == "" && to == "" {
		return "", r.data.Names()[floats.MaxIdx(r.mean.Distances)], "Of all specimens, this one has the longest deformation from the mean."
	}
	return from, to, "The change is the difference of two initial velocities, which lead from the mean to the two specimens or groups. The velocity of a group is the mean over its specimens."
}

// change shows the deformation of the mean between two groups or specimens.
func (r *deformed) change() *supplement.Section {
	from, to, why := r.ends()
	towards := cmp.Or(to, "the mean")
	s := &supplement.Section{Title: fmt.Sprintf("From %s to %s", cmp.Or(from, "the mean"), towards)}
	if from != "" {
		towards += ", minus that towards " + from
	}
	add(s, "%s", why)
	g := try.Get(r.space.Exp(r.mean.Point, r.velocity(to).Sub(r.velocity(from))))
	left := viz.Fig(viz.Arrows(g.Start, g.Velocity).Label("initial velocity"), r.draw(g.Start).Color(viz.Blue).Label("mean"))
	right := viz.Fig(viz.Trajectories(g.Path), r.draw(g.End).Color(viz.Vermilion))
	flat := len(g.Start[0]) == 2
	if flat {
		grid := try.Get(r.space.TransformLines(g, viz.Lattice(30, g.Start, g.End)))
		right = viz.Fig(viz.Grid(grid...), r.draw(g.End).Color(viz.Vermilion))
	}
	figure(s, supplement.Figure{Name: "change", Cover: true, Caption: fmt.Sprintf("(a) The Fréchet mean with the initial velocity towards %s. (b) The deformation with this velocity; its length is %.3g.", towards, g.Length),
		Drawing: viz.Row(left.NoAxes().Unit(sizes).Title("(a) the change"), right.NoAxes().Unit(sizes).Title("(b) the mean, deformed")).SharedAxes()})
	if flat && len(g.Start) <= 80 { // what a page can compute
		drag := viz.DragPoints
		if r.data.Closed {
			drag = viz.Drag
		}
		figure(s, supplement.Figure{Name: "drag", Caption: "The same deformation. In HTML its landmarks can be dragged, and a slider changes the width of the kernel.",
			Drawing: drag(g.Path, g.Momentum, r.Width*r.spacing).Unit(sizes)})
	}
	return s
}

// methods says how deformations were computed.
func (r *deformed) methods(found bool) {
	minimised := "They meet the landmarks exactly. The Fréchet mean minimises the sum of their squared lengths."
	if r.Mismatch != 0 {
		minimised = fmt.Sprintf("The Fréchet mean minimises a sum over the specimens: the squared length of the deformation, plus the squared distance of its end from the specimen divided by %.3g².", r.Mismatch)
	}
	s := &supplement.Section{}
	add(s, "Deformations are geodesics of the manifold of landmarks with a Gaussian kernel of width %.3g centroid sizes, %.3g times the distance between neighbouring landmarks, integrated by ten steps of the Runge–Kutta method of order 4. %s",
		r.Width*r.spacing, r.Width, minimised)
	if found && len(r.terms) > 0 {
		add(s, "The model of deformations is fitted to their initial velocities at the mean, in an orthonormal basis of the metric.")
	}
	r.document.Add("Methods", append(s.Parts, supplement.List{
		"S. Joshi and M. Miller, Landmark matching via large deformation diffeomorphisms, IEEE Trans. Image Processing 9, 2000. https://doi.org/10.1109/83.855431",
		"X. Pennec, Intrinsic statistics on Riemannian manifolds, J. Mathematical Imaging and Vision 25, 2006. https://doi.org/10.1007/s10851-006-6228-4",
		"L. Kühnel and S. Sommer, Computational anatomy in Theano, 2017, arXiv:1706.07690. https://doi.org/10.48550/arXiv.1706.07690"})...)
}
