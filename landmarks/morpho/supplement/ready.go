package supplement

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/morpho"
	"anatomy/viz"
)

// Ready returns the data as New compares them: missing landmarks estimated, semi-landmarks slid along the curves of the question, and its joint at one angle.
func Ready(d *morpho.Dataset, q Question) (*morpho.Dataset, error) {
	a := &analysis{Question: q}
	err := try.Run(func() { a.ready(d) })
	return a.data, err
}

// ready sets the data as Ready has them, the landmarks that were estimated, and how semi-landmarks slid.
func (a *analysis) ready(d *morpho.Dataset) {
	a.views = try.Get(viz.ParseViews(a.View))
	d = try.Get(d.Corrected(a.Corrections))
	a.coded = d.Coded()
	out := *try.Get(d.Complete())
	out.Forms = a.KeepSize
	out.Specimens = slices.Clone(out.Specimens)
	a.estimated = map[string][]int{}
	for i, s := range d.Specimens {
		for l, p := range s.Points {
			if !slices.Equal(p, out.Specimens[i].Points[l]) {
				a.estimated[s.Name] = append(a.estimated[s.Name], l)
			}
		}
	}
	try.Do(out.Validate())
	if a.Turns != 0 && !strings.HasPrefix(a.Slide, "geomorph") {
		try.Do(errors.New("turns are those of geomorph's sliding: slide by geomorph energy or geomorph distance"))
	}
	try.FailIf(a.Curves == "" && a.Slide != "" && len(d.Sliders) == 0, "semi-landmarks are to slide by %s, but no curves are named",
		a.Slide)
	if a.Curves != "" || len(d.Sliders) > 0 {
		a.slid, a.sliding = a.slide(&out)
		for i, shape := range a.slid.Slid {
			out.Specimens[i].Points = shape
		}
	}
	if a.Joint == "" {
		a.data = &out
		return
	}
	parts := strings.Split(a.Joint, ";")
	try.FailIf(len(parts) != 3, "the joint %s: write its landmark (two on the axis of a hinge in space), those of the part at rest and those of the "+
		"one that moves, as 1; 6-11; 2-5", clip(a.Joint))
	var lists [3][]int
	for k, part := range parts {
		landmarks, err := out.ParseLandmarks(part)
		try.Do(try.Name(err, "the joint %s", clip(a.Joint)))
		lists[k] = landmarks
	}
	a.data = try.Get(out.FixJoint(lists[0], lists[1], lists[2]))
	a.joint = &joint{at: lists[0], resting: lists[1], moving: lists[2], before: out.Shapes(), after: a.data.Shapes()}
}

// joint is what was done about a joint.
type joint struct {
	at, resting, moving []int
	before, after       []shape.Shape
}

// figure has the specimens before and after, with the part at rest of each on the mean of these parts.
func (j *joint) figure() *Figure {
	still := slices.Concat(j.at, j.resting)
	parts := lists.Each(j.before, func(x shape.Shape) shape.Shape { return lists.Pick(x, still) })
	aligned := try.Get(morpho.Procrustes(parts))
	var panels []*viz.Figure
	for k, shapes := range [][]shape.Shape{j.before, j.after} {
		var rest, moved [][]float64
		var arms []shape.Shape
		for i, x := range shapes {
			x = try.Get(morpho.FitSimilarity(parts[i], aligned.Mean)).Apply(x)
			rest, moved = append(rest, lists.Pick(x, still)...), append(moved, lists.Pick(x, j.moving)...)
			arms = append(arms, [][]float64{x[j.at[0]], lists.Pick(x, j.moving).Centroid()})
		}
		f := viz.Fig(viz.Lines(arms...).Color(viz.LightGrey), viz.Points(rest).Label("joint and part at rest"), viz.Points(moved).Label("moving part")).
			Unit("sizes of the part at rest").Title([]string{"(a) as measured", "(b) joint fixed"}[k])
		if len(j.at) == 2 { // along the hinge
			axis := floats.SubTo(make([]float64, 3), aligned.Mean[1], aligned.Mean[0])
			f.Camera(math.Atan2(axis[1], axis[0])*180/math.Pi, math.Asin(axis[2]/floats.Norm(axis, 2))*180/math.Pi)
		}
		panels = append(panels, f)
	}
	caption := "All specimens, with the parts at rest aligned, (a) as they were measured and (b) after the moving parts were rotated about the joint to their mean position. Lines join the joint and the centroid of the moving part."
	if len(j.at) == 2 {
		caption += " The view is along the axis of the hinge."
	}
	return &Figure{Name: "joint", Caption: caption, Drawing: viz.Row(panels...).SharedAxes()}
}

// slide slides the semi-landmarks of the curves of the question.
func (q Question) slide(d *morpho.Dataset) (slid *morpho.SlidAlignment, sliding []morpho.Semilandmark) {
	for _, s := range d.Sliders {
		if q.Curves == "" {
			sliding = append(sliding, morpho.Semilandmark{Point: s[1], Neighbours: []int{s[0], s[2]}})
		}
	}
	for _, text := range strings.Split(q.Curves, ";") {
		if q.Curves == "" {
			break
		}
		curve, err := d.ParseLandmarks(text)
		if err == nil && len(curve) < 3 {
			err = errors.New("it has fewer than three landmarks, and the first and the last do not slide: list at least three")
		}
		try.Do(try.Name(err, "the curve %s", clip(strings.TrimSpace(text))))
		for k := 1; k+1 < len(curve); k++ {
			sliding = append(sliding, morpho.Semilandmark{Point: curve[k], Neighbours: []int{curve[k-1], curve[k+1]}})
		}
	}
	by, geomorph := strings.CutPrefix(cmp.Or(q.Slide, "energy"), "geomorph ")
	criterion := morpho.Criterion(slices.Index([]string{"energy", "distance"}, by)) // as the constants are
	try.FailIf(criterion < 0, "semi-landmarks slide by %q, want energy, distance, geomorph energy or geomorph distance", q.Slide)
	var err error
	if geomorph {
		slid, err = morpho.ProcrustesSlidingGeomorph(d.Shapes(), sliding, criterion, cmp.Or(q.Turns, 9), morpho.Of(d))
	} else {
		slid, err = morpho.ProcrustesSliding(d.Shapes(), sliding, criterion, morpho.Of(d))
	}
	try.Do(try.Name(err, "the curves"))
	return slid, sliding
}

// describeReady says what was done to the data before they were compared.
func (a *analysis) describeReady(s *Section) {
	if a.slid != nil {
		by, source := "bending energy", "towards the mean of the shapes as they were given"
		if strings.HasSuffix(a.Slide, "distance") {
			by = "Procrustes distance"
		}
		if strings.HasPrefix(a.Slide, "geomorph") {
			source = fmt.Sprintf("towards the mean that moves with them, in %d turns, as geomorph's gpagen does. Then all shapes were brought to one centroid and to size 1 again, which gpagen does not do, so that sums of squares are not those of geomorph", a.slid.Iterations)
		}
		text := fmt.Sprintf("Of the %d landmarks %d are semi-landmarks, which slid along their curves by %s. They are at most %.2g centroid sizes away from the curves.", len(a.slid.Mean), len(a.sliding), by, floats.Max(a.slid.Off))
		if a.slid.Status != solve.Converged {
			text += fmt.Sprintf(" The sliding did not converge (%s): points would still move by up to %.2g centroid sizes.", a.slid.Status, floats.Max(a.slid.Left))
		}
		s.add(Paragraph(text))
		var lines List
		for i, crossed := range a.slid.Crossed {
			if len(crossed) > 0 {
				lines = append(lines, a.order[i]+": "+a.data.Called(crossed...))
			}
		}
		if lines != nil {
			s.add(Paragraph("Some semi-landmarks slid past a neighbour, so the curve is folded:"), lines)
		}
		a.method(fmt.Sprintf("Semi-landmarks slid by %s %s.", by, source), "Gunz et al. 2005")
	}
	if a.joint != nil {
		s.add(a.joint.figure())
		a.method("Parts of each specimen were rotated about their joint to the mean pose.", "Adams 1999")
	}
	if len(a.estimated) > 0 {
		var lines List
		for _, specimen := range a.data.Specimens {
			if l := a.estimated[specimen.Name]; l != nil {
				lines = append(lines, specimen.Name+": "+a.data.Called(l...))
			}
		}
		s.add(Paragraph("Missing landmarks were estimated. The table of specimens lists them. The tests treat them as measured:"), lines)
		a.method("Missing landmarks were estimated by thin-plate splines from the Procrustes mean.", "Gunz et al. 2009")
	}
}
