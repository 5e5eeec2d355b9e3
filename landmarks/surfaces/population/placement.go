package population

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/text"
	"anatomy/landmarks/surfaces/mesh"
)

// Placement is landmarks that templates placed on subjects, with the standard errors of their places.
type Placement struct {
	Templates []int // the subjects whose landmarks were given
	// Placed has the landmarks of every subject as the other templates place them. It is nil for the only template, and for a subject that
	// no template could be matched to: see Failures.
	Placed [][]PlacedLandmark
	// Mismatch has for every template and subject Σ_o ‖h φ(T_o) − S_o‖²/‖S_o‖², a number without unit, and NaN where there is no match.
	Mismatch [][]float64
	Noise    [][]float64 // [template][object], σ = wρ, also where the Noise of an object was given
	Reach    []float64   // ρ of every template, always estimated
	// Calibration is f_l, the mean square of the errors of landmark l on templates that others place, divided by the mean square that the
	// matches expect, shrunk towards the mean of all landmarks. With one template it is 1.
	Calibration []float64
	// Shared is the share s of the variance that is the subject's own and does not become smaller with more templates. It is estimated from
	// three templates on, and else ½.
	Shared float64
	// Farther is r_i of every subject: the mean square of its deformations from the templates, divided by that of the templates from each
	// other, and 1 at least. It is 1 on templates, and everywhere with one template.
	Farther []float64
	// Degrees are those of freedom of what Calibration has for all landmarks in common; +Inf with one template.
	Degrees  float64
	Failures []PlacementFailure
	own      []float64 // degrees of freedom of what Calibration has of each landmark alone
	matches  *placements
}

// placements are what a placement concludes from.
type placements struct {
	surfaces []*located
	given    []geom.Shape
	failures []PlacementFailure // whatever the templates
	of       map[int]*matches   // of every template
}

// matches are those of a template to all subjects.
type matches struct {
	placed   [][]PlacedLandmark // nil on itself and where there is no match
	mismatch []float64
	noise    []float64
	reach    float64
	far      []float64 // 2 Energy/γ of every subject in their mean, which ρ² is about, and NaN where there is no match
	known    float64   // γ
	parts    float64   // see carrier.parts
	failures []PlacementFailure
}

// PlacementFailure says why a subject or one of its landmarks is to be looked at.
type PlacementFailure struct {
	Subject  int
	Landmark int // −1 for all of the subject
	Reason   string
}

// String says how many landmarks were placed, and how well.
func (p *Placement) String() string {
	placed, landmarks := 0, 0
	var errs []float64
	for i, s := range solve.NotNil(p).Placed {
		if s != nil && !slices.Contains(p.Templates, i) {
			placed, landmarks = placed+1, len(s)
			for _, l := range s {
				errs = append(errs, l.StandardError())
			}
		}
	}
	s := fmt.Sprintf("%s placed on %s from %s", text.Counted(landmarks, "landmarks"), text.Counted(placed, "subjects"), text.Counted(len(p.Templates), "templates"))
	if errs != nil {
		slices.Sort(errs)
		s += fmt.Sprintf(", median standard error %.3g", errs[len(errs)/2])
	}
	return s + fmt.Sprintf(", %s to look at", text.Counted(len(p.Failures), "places"))
}

// Landmarks places the landmarks of templates on all other subjects. The templates are those subjects whose landmarks are given; for the
// others these are nil. Subjects are about in one pose and size: see Align and Poses.
//
// Each template T is matched to each subject S by the flow φ of a momentum p at the control points and by a similarity h, which costs nothing: they
// minimise ‖h φ(T) − S‖²/2w² + ½ pᵀ K p. Landmarks y are carried by h φ and go to the nearest point of the subject. w is the Noise of the object.
// Where that is 0, w = σ/ρ is estimated for each template from all of its matches, by σ² = Σ_i Mismatch_i/ν and ρ² = Σ_i 2 Energy_i/γ as in Atlas,
// but the template takes no degrees of freedom.
//
// To first order a match takes displacements u of the template, and noise e, for the variables P⁻¹ Jᵀ W (u + e), with P = K + Jᵀ W J and
// W = G/w². The error at y is then u(y) − R(y) P⁻¹ Jᵀ W (u + e), and its covariance at the template is
//
//	Σ(y) = ρ² [ Σ_k π_k v_k E_k(y) + τ R P⁻¹ Jᵀ W J P⁻¹ Rᵀ ].
//
// G and J are those of the section "Noise" of Model.Atlas, at the template, where J has columns for the parameters of h beside those for p,
// and K is 0 there. R(y) is the row of J at y. G leaves out displacements along the surface: the same surface with other triangles does not
// show them. E_k is the covariance of u(y) − R P⁻¹ Jᵀ W u for a Gaussian process u, whose kernel is that of the model with a width from half
// to twice that of the model, in nine steps. v_k is its most likely variance after the matches to all subjects, and π_k its share in their
// likelihood (Hoeting et al., Statistical Science 14, 1999). So the errors do not rest on the width of the model. τ is the variance of noise
// along smooth displacements, divided by what all residuals say of it; it is estimated together with v_k. On the subject the
// covariance is C(y) = D(h φ) Σ(y) D(h φ)ᵀ, projected to the tangent.
//
// Points of several templates t are averaged with weights ω_t ∝ 1/tr C_t. On a subject that is as far from the templates as these are from
// each other, the covariance of the mean is f (s + (1 − s) Σ_t ω_t²) Σ_t ω_t C_t, with Calibration f and Shared s. These come from placing
// each template's landmarks by the others. What n templates tell of f has ν = (n − 1) (tr M)²/tr M² degrees of freedom (Satterthwaite,
// Biometrics Bulletin 2, 1946), for the matrix M of the correlations of the errors of all landmarks in one match.
//
// Errors are as large as deformations are. Those of templates of one sex to subjects of the other are larger than those among the templates,
// and have more in common. With the ratio r_i of mean squares of deformations, Farther, the variance of one match is r_i f C_t. The part of
// it that becomes smaller with more templates is what these differ by, 1 − s, which is the same for all subjects. So the covariance of the
// mean is f (r_i − (1 − s)(1 − Σ_t ω_t²)) Σ_t ω_t C_t.
//
// Two shrinkages make r_i, as in the empirical Bayes estimate of normal means (Efron and Morris, J. Am. Stat. Assoc. 70, 1975). The first is
// towards the mean of the subjects that are no templates: by chance energies of γ parts have the variance 2/γ in the unit of their square, and
// (1 + 3/n)/(2γ) in the mean of n templates, because the subject is in all of them. The second shrinks r_i − 1 towards 0, by the factor
// 1 − v/(r_i − 1)² where that is positive, for the variance v that r_i has by chance. Then r_i below 1 is taken for 1.
//
// The covariance holds to first order. It is too small where deformations stretch by half and more: see notebooks/limits.md. A subject that
// cannot be matched is named in Failures, as are subjects and landmarks that differ from the others, and does not stop the rest. The options
// are solve.Tolerance (default 0.01; see solve.Minimise) and solve.MaxIterations (500).
func (m Model) Landmarks(controls [][]float64, subjects [][]*mesh.Mesh, given []geom.Shape, opts ...solve.Option) (_ *Placement, err error) {
	defer try.Named(&err, "placement")
	var templates []int
	text.RefuseIf(len(given) != len(subjects), "give nil for subjects without landmarks",
		"landmarks of %d subjects for %d subjects", len(given), len(subjects))
	for i, marks := range given {
		if marks == nil {
			continue
		}
		templates = append(templates, i)
		first, d := given[templates[0]], m.Space.Manifold.D
		text.RefuseIf(len(marks) != len(first) || len(marks) == 0, "give all of them",
			"subject %d has %d landmarks, subject %d has %d", i, len(marks), templates[0], len(first))
		for l, x := range marks {
			text.RefuseIf(len(x) != d || !lists.Finite(x...), "digitise it, or leave it out of all templates",
				"landmark %d of subject %d is %v, want %d finite coordinates", l, i, x, d)
		}
	}
	text.RefuseIf(templates == nil, "digitise landmarks on at least one", "no subject has landmarks")
	all := &placements{given: given, of: map[int]*matches{}}
	all.locate(m, controls, subjects, templates)
	for _, t := range templates {
		try.Do(try.Name(try.Run(func() {
			c := m.newCarrier(t, given[t], controls, all.surfaces)
			defer c.free()
			all.of[t] = c.placeAll(all.surfaces, opts)
		}), "template %d", t))
	}
	return all.conclude(templates), nil
}

// Among returns the placement by some of the Templates, from the same matches, as if the others had no landmarks.
func (p *Placement) Among(templates ...int) (_ *Placement, err error) {
	defer try.Named(&err, "placement")
	all := solve.NotNil(p).matches
	text.RefuseIf(all == nil || len(templates) == 0, "give at least one of a placement that Model.Landmarks returned", "no templates")
	for k, t := range templates {
		text.RefuseIf(all.of[t] == nil || slices.Contains(templates[:k], t), "give some of them, each once",
			"templates %v among %v", templates, p.Templates)
	}
	return all.conclude(templates), nil
}

// conclude places landmarks by the matches of templates.
func (m *placements) conclude(templates []int) *Placement {
	p := &Placement{Templates: templates, Placed: make([][]PlacedLandmark, len(m.surfaces)), Shared: 0.5, Failures: slices.Clone(m.failures), matches: m}
	var placed [][][]PlacedLandmark
	for _, t := range templates {
		of := m.of[t]
		placed = append(placed, of.placed)
		p.Mismatch, p.Noise, p.Reach = append(p.Mismatch, of.mismatch), append(p.Noise, of.noise), append(p.Reach, of.reach)
		p.Degrees += of.parts / float64(len(templates)) // of one comparison with another template
		p.Failures = append(p.Failures, of.failures...)
	}
	p.calibrate(m.surfaces, m.given, placed)
	p.compareDistances(m)
	for i, s := range m.surfaces {
		if s != nil {
			p.Placed[i] = p.combine(i, s, placed)
		}
	}
	p.compare(m.surfaces, placed)
	return p
}

// fail notes that a subject or a landmark is to be looked at.
func fail(list *[]PlacementFailure, subject, landmark int, format string, args ...any) {
	*list = append(*list, PlacementFailure{subject, landmark, fmt.Sprintf(format, args...)})
}

// located is a subject whose nearest points can be found.
type located struct {
	objects  []*mesh.Mesh
	locators []*mesh.Locator
	border   [][][]float64 // of each object the vertices on its border
}

// object is the one that a subject's point lies on.
func (s *located) object(x []float64) int {
	object, least := 0, math.Inf(1)
	for o, locator := range s.locators {
		point, _ := locator.Nearest(x)
		if far := floats.Distance(point, x, 2); far < least {
			object, least = o, far
		}
	}
	return object
}

// locate sets surfaces: the subjects that can be matched, and nil for those that fail alone. A template that fails is an error.
func (p *placements) locate(m Model, controls [][]float64, subjects [][]*mesh.Mesh, templates []int) {
	p.surfaces = make([]*located, len(subjects))
	for i, s := range subjects {
		l := &located{objects: s}
		err := try.Run(func() {
			m.check(subjects[templates[0]], controls, subjects[i:i+1])
			for _, object := range s {
				border := slices.Compact(slices.Sorted(slices.Values(slices.Concat(object.Boundary()...))))
				l.locators, l.border = append(l.locators, try.Get(object.Locator())), append(l.border, lists.Pick(object.Vertices, border))
			}
		})
		switch {
		case err == nil:
			p.surfaces[i] = l
		case slices.Contains(templates, i):
			try.Do(try.Name(err, "template %d", i))
		default:
			fail(&p.failures, i, -1, "it was not matched: %v", strings.ReplaceAll(err.Error(), "subject 0", "it"))
		}
	}
}
