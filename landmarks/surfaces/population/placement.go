package population

import (
	"fmt"
	"math"
	"slices"
	"strings"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/kernels"
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

// PlacedLandmark is a landmark on a subject, which was not digitised there.
type PlacedLandmark struct {
	Point      []float64   // on the subject
	Covariance [][]float64 // of its error, [D][D], in the tangent of the subject
	Degrees    float64     // of freedom of the factor of Covariance that templates tell; +Inf with one template
	Gap        float64     // how far flows ended from the subject, the mean of the templates
	Stretch    float64     // the logarithm of the ratio of volumes after and before the flow, the mean of the templates
}

// StandardError is the root mean square error along one direction of the tangent: √(tr Covariance/(D − 1)).
func (p PlacedLandmark) StandardError() float64 {
	sum := 0.0
	for a, row := range p.Covariance {
		sum += row[a]
	}
	return math.Sqrt(sum / float64(len(p.Covariance)-1))
}

// Radius is the ratio of the half axes of Ellipse to the standard errors along them: √(k F(k, ν)) for the quantile F of a probability, with k = D − 1
// and the Degrees ν.
func (p PlacedLandmark) Radius(probability float64) float64 {
	k := float64(len(p.Covariance) - 1)
	if math.IsInf(p.Degrees, 1) {
		return math.Sqrt(distuv.ChiSquared{K: k}.Quantile(probability))
	}
	return math.Sqrt(k * distuv.F{D1: k, D2: p.Degrees}.Quantile(probability))
}

// Ellipse returns n points on the ellipse in the tangent that has the true place with a probability; on a curve the two ends of the
// interval.
func (p PlacedLandmark) Ellipse(probability float64, n int) [][]float64 {
	d := len(p.Covariance)
	var eigen mat.EigenSym
	eigen.Factorize(symmetric(mat.NewDense(d, d, slices.Concat(p.Covariance...))), true) // in ascending order, the normal first
	var axes mat.Dense
	eigen.VectorsTo(&axes)
	at := func(along ...float64) []float64 {
		x := slices.Clone(p.Point)
		for k, c := range along {
			floats.AddScaled(x, c*math.Sqrt(math.Max(0, eigen.Values(nil)[k+1])), mat.Col(nil, k+1, &axes))
		}
		return x
	}
	r := p.Radius(probability)
	if d == 2 {
		return [][]float64{at(-r), at(r)}
	}
	out := make([][]float64, n)
	for i := range out {
		s, c := math.Sincos(2 * math.Pi * float64(i) / float64(n))
		out[i] = at(r*c, r*s)
	}
	return out
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
	if len(given) != len(subjects) {
		text.Refuse("give nil for subjects without landmarks", "landmarks of %d subjects for %d subjects", len(given), len(subjects))
	}
	for i, marks := range given {
		if marks == nil {
			continue
		}
		templates = append(templates, i)
		if first := given[templates[0]]; len(marks) != len(first) || len(marks) == 0 {
			text.Refuse("give all of them", "subject %d has %d landmarks, subject %d has %d", i, len(marks), templates[0], len(first))
		}
		for l, x := range marks {
			if d := m.Space.Manifold.D; len(x) != d || floats.HasNaN(x) || !(floats.Norm(x, math.Inf(1)) <= math.MaxFloat64) {
				text.Refuse("digitise it, or leave it out of all templates", "landmark %d of subject %d is %v, want %d finite coordinates", l, i, x, d)
			}
		}
	}
	if templates == nil {
		text.Refuse("digitise landmarks on at least one", "no subject has landmarks")
	}
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
func (p *Placement) Among(templates ...int) (*Placement, error) {
	all := solve.NotNil(p).matches
	if all == nil || len(templates) == 0 {
		return nil, text.Advise("give at least one of a placement that Model.Landmarks returned", "placement: no templates")
	}
	for k, t := range templates {
		if all.of[t] == nil || slices.Contains(templates[:k], t) {
			return nil, text.Advise("give some of them, each once", "placement: templates %v among %v", templates, p.Templates)
		}
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
				border, seen := [][]float64{}, map[int]bool{}
				for _, v := range slices.Concat(object.Boundary()...) {
					if !seen[v] {
						border, seen[v] = append(border, object.Vertices[v]), true
					}
				}
				l.locators, l.border = append(l.locators, try.Get(object.Locator())), append(l.border, border)
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

// carrier takes the landmarks of a template to subjects.
type carrier struct {
	*matcher
	template int
	marks    [][]float64
	objects  []int        // that each landmark lies on
	reach    *mat.Dense   // the derivatives of the places of landmarks by the variables, [size, L·D]
	subjects []int        // that it is matched to
	gramOf   *engine.Func // the matrix of the kernel of the deformations between points
}

func (m Model) newCarrier(template int, marks, controls [][]float64, surfaces []*located) *carrier {
	c := &carrier{template: template, marks: marks}
	var subjects [][]*mesh.Mesh
	for i, s := range surfaces {
		if s != nil && i != template {
			c.subjects, subjects = append(c.subjects, i), append(subjects, s.objects)
		}
	}
	if subjects == nil {
		text.Refuse("give others", "there is no subject that it can be matched to")
	}
	shape := surfaces[template]
	c.matcher = m.newMatcher(shape.objects, controls, subjects, outwards(shape.objects))
	for _, y := range marks {
		c.objects = append(c.objects, shape.object(y))
	}
	c.reachMarks()
	kernel := kernels.Exact(m.Space.Manifold.Kernel)
	c.gramOf = engine.Compile(func(x *Node) *Node { return kernel.Gram(x, x) })
	return c
}

// reachMarks sets reach.
func (c *carrier) reachMarks() {
	n, d := len(c.controls), c.Space.Manifold.D
	out := mat.NewDense(len(c.marks), n, try.Get(c.kernelSums.Call(c.marks, c.controls, identity(n))).Flat(0))
	c.reach = mat.NewDense(n*d+c.pose.size(), len(c.marks)*d, nil)
	for l, y := range c.marks {
		for i := range n {
			for a := range d {
				c.reach.Set(i*d+a, l*d+a, out.At(l, i))
			}
		}
		for k, v := range c.pose.derivatives(y) {
			for a := range d {
				c.reach.Set(n*d+k, l*d+a, v[a])
			}
		}
	}
}

// parts is how many of the errors errs of landmarks are independent in the tangents of the template: (tr C)²/tr C² of their correlations C.
func (c *carrier) parts(errs *mat.Dense, s *located) float64 {
	d, size := c.Space.Manifold.D, len(c.marks)
	k := d - 1
	tangents := mat.NewDense(size*k, size*d, nil)
	for l, x := range c.marks {
		_, along := s.locators[c.objects[l]].Nearest(x)
		for b, t := range along {
			for a, v := range t {
				tangents.Set(l*k+b, l*d+a, v)
			}
		}
	}
	var within mat.Dense
	within.Product(tangents, errs, tangents.T())
	own := make([]float64, size) // variances of landmarks
	for i := range size * k {
		own[i/k] += within.At(i, i) / float64(k)
	}
	squares := 0.0
	for i := range size * k {
		for j := range size * k {
			squares += within.At(i, j) * within.At(i, j) / (own[i/k] * own[j/k])
		}
	}
	return float64(size*k) * float64(size*k) / squares
}

// placeAll matches the template to all subjects and moves the landmarks there. With the noise estimated, it matches them roughly until the
// estimate holds.
func (c *carrier) placeAll(surfaces []*located, opts []solve.Option) *matches {
	const holds, rough = 0.05, 0.05 // of the logarithm of w; the tolerance
	last := try.Get(limits(0.01).With(opts...)).Tolerance
	tolerance := math.Max(rough, last)
	var noise []float64
	var reach, known, change float64
	settled := !c.estimatesNoise()
	for renewal := 0; ; renewal++ {
		done := settled || renewal == maxRenewals
		if done {
			tolerance = last
		}
		c.hold()
		for k, i := range c.subjects {
			c.match(k, fmt.Sprintf("match of template %d to subject %d", c.template, i), append(slices.Clone(opts), solve.Tolerance(tolerance)))
		}
		if noise, reach, known, change = c.estimate(); done {
			break
		}
		settled = change < holds
		for o := range c.sigma {
			c.sigma[o] = math.Min(math.Max(noise[o]/reach, c.sigma[o]/2), c.sigma[o]*2)
		}
	}
	errs := c.errors(reach)
	of := &matches{placed: make([][]PlacedLandmark, len(surfaces)), mismatch: slices.Repeat([]float64{math.NaN()}, len(surfaces)),
		noise: noise, reach: reach, known: known, far: slices.Repeat([]float64{math.NaN()}, len(surfaces)), parts: c.parts(errs, surfaces[c.template])}
	total, count := 0.0, 0.0
	for _, e := range c.ends {
		if e != nil {
			total, count = total+e.energy, count+1
		}
	}
	for k, i := range c.subjects {
		if c.ends[k] == nil {
			fail(&of.failures, i, -1, "it was not matched: the search from template %d found no finite distance", c.template)
			continue
		}
		if c.status[k] != geom.Converged {
			fail(&of.failures, i, -1, "the match of template %d %s", c.template, c.status[k])
		}
		of.mismatch[i] = 0
		of.far[i] = c.ends[k].energy * count / math.Max(total, math.SmallestNonzeroFloat64)
		for o, square := range c.sizes(k) {
			of.mismatch[i] += c.ends[k].mismatch[o] / square
		}
		if err := try.Run(func() { of.placed[i] = c.place(k, surfaces[i], reach, errs) }); err != nil {
			fail(&of.failures, i, -1, "the landmarks of template %d could not be placed: %v", c.template, err)
		}
	}
	return of
}

// estimate returns σ of every object, ρ and γ, see Atlas, from the matches to all subjects, of which the template takes no degrees of
// freedom, and the largest logarithm of a change of σ/ρ.
func (c *carrier) estimate() (noise []float64, reach, known, change float64) {
	left, known := c.hessian.countParts(c.weights(), c.posterior)
	n, energy := 0.0, 0.0
	noise, squares := make([]float64, len(c.sigma)), make([]float64, len(c.sigma))
	for k, e := range c.ends {
		if e != nil {
			n++
			energy += e.energy
			floats.Add(noise, e.mismatch)
			floats.Add(squares, c.sizes(k))
		}
	}
	const none, share = 1e-3, 0.1 // see estimateNoise
	unit := c.spacing() * c.spacing() / c.hessian.kernel.At(0, 0)
	reach = math.Sqrt((2*energy + none*unit) / (n*known + none))
	for o, sigma := range c.sigma {
		if parts := c.hessian.parts(o); c.Objects[o].Noise == 0 && left[o] < share*parts {
			text.Refuse("give Noise, or take a wider kernel of the deformations or a narrower one of the norm", "%s cannot be estimated: of %.0f independent parts of a residual, deformations leave %.0f", c.Label("the noise", o), parts, left[o])
		}
		// Rounding bounds σ from below, as where all subjects are the template.
		noise[o] = math.Sqrt(math.Max(noise[o], 1e-8*squares[o]) / (n * left[o]))
		if c.Objects[o].Noise > 0 {
			noise[o] = sigma * reach
		} else {
			change = math.Max(change, math.Abs(math.Log(noise[o]/reach/sigma)))
		}
	}
	return noise, reach, known, change
}

// place moves the landmarks, whose errors have the covariance errs over ρ², to subject k.
func (c *carrier) place(k int, s *located, reach float64, errs *mat.Dense) []PlacedLandmark {
	momenta := len(c.x[k]) - c.pose.size()
	g := try.Get(c.Space.With(geom.FixedSteps).Shoot(c.controls, c.Space.FromFlat(c.x[k][:momenta])))
	flow := try.Get(c.Space.Deform(g, c.marks))
	stretch := try.Get(flow.LogJacobians())
	d, pose := c.Space.Manifold.D, c.pose.at(c.x[k][momenta:])
	out := make([]PlacedLandmark, len(c.marks))
	for l := range c.marks {
		var covariance, frame mat.Dense
		covariance.Scale(reach*reach*pose.Scale*pose.Scale, errs.Slice(l*d, (l+1)*d, l*d, (l+1)*d))
		frame.Mul(pose.rotation(), mat.NewDense(d, d, slices.Concat(flow.Jacobian[l]...)))
		covariance.Product(&frame, &covariance, frame.T())
		end := pose.Move(flow.Images[l])
		point, tangents := s.locators[c.objects[l]].Nearest(end)
		out[l] = PlacedLandmark{Point: point, Covariance: inTangent(&covariance, tangents), Gap: floats.Distance(point, end, 2), Stretch: stretch[l]}
	}
	return out
}

// inTangent is the part of a covariance in the plane or on the line of orthonormal tangents.
func inTangent(covariance mat.Matrix, tangents [][]float64) [][]float64 {
	t := mat.NewDense(len(tangents), len(tangents[0]), slices.Concat(tangents...))
	var projection, out mat.Dense
	projection.Mul(t.T(), t)
	out.Product(&projection, covariance, &projection)
	return rows(&out)
}

// calibrate sets Calibration and Shared by the errors of templates on each other.
func (p *Placement) calibrate(surfaces []*located, given []geom.Shape, placed [][][]PlacedLandmark) {
	count, n := len(given[p.Templates[0]]), len(p.Templates)
	p.Calibration = slices.Repeat([]float64{1}, count)
	p.own = slices.Repeat([]float64{math.Inf(1)}, count)
	if n < 2 {
		p.Degrees = math.Inf(1)
		return
	}
	p.Degrees *= float64(n - 1)
	// errs[u][l] are those of landmark l on template u, in the tangent, divided by the standard errors of single matches.
	errs := make([][][][]float64, n)
	for u, subject := range p.Templates {
		errs[u] = make([][][]float64, count)
		for l, truth := range given[subject] {
			s := surfaces[subject]
			_, tangents := s.locators[s.object(truth)].Nearest(truth)
			for t := range p.Templates {
				if placed[t][subject] == nil {
					continue
				}
				mark, e := placed[t][subject][l], make([]float64, len(tangents))
				off := floats.SubTo(make([]float64, len(truth)), mark.Point, truth)
				for a, tangent := range tangents {
					e[a] = floats.Dot(tangent, off) / mark.StandardError()
				}
				errs[u][l] = append(errs[u][l], e)
			}
		}
	}
	squares, pairs, sums := 0.0, 0.0, 0.0
	for l := range count {
		var own []float64
		for u := range errs {
			for t, e := range errs[u][l] {
				own = append(own, floats.Dot(e, e)/float64(len(e)))
				for _, f := range errs[u][l][:t] {
					sums, pairs = sums+floats.Dot(e, f)/float64(len(e)), pairs+1
				}
			}
		}
		p.Calibration[l] = stat.Mean(own, nil)
		squares += p.Calibration[l] / float64(count)
	}
	if pairs > 0 {
		p.Shared = math.Max(0, math.Min(1, sums/pairs/squares))
	}
	// Errors of t on u are about minus those of u on t, so that n − 1 of each direction are independent. What the mean squares of landmarks
	// scatter more than chance says how far they may differ: ν degrees of freedom are those of a common one.
	degrees := float64((n - 1) * (len(surfaces[p.Templates[0]].objects[0].Vertices[0]) - 1))
	excess := stat.Variance(p.Calibration, nil)/(squares*squares) - 2/degrees
	for l, own := range p.Calibration {
		p.Calibration[l] = squares
		if excess > 0 {
			common := 4 + 2/excess
			p.Calibration[l] = (common*squares + degrees*own) / (common + degrees)
			p.own[l] = common + degrees
		}
	}
}

// compareDistances sets Farther.
func (p *Placement) compareDistances(m *placements) {
	n, among, known := float64(len(p.Templates)), 0.0, 0.0
	p.Farther = slices.Repeat([]float64{1}, len(m.surfaces))
	if n < 2 {
		return
	}
	far, subjects := slices.Repeat([]float64{math.NaN()}, len(m.surfaces)), []float64{}
	for i := range far {
		var from []float64 // the templates
		for _, t := range p.Templates {
			if f := m.of[t].far[i]; t != i && !math.IsNaN(f) {
				from = append(from, f)
			}
		}
		switch mean := stat.Mean(from, nil); {
		case slices.Contains(p.Templates, i):
			among += mean / n
			known += m.of[i].known / n
		case from != nil:
			far[i], subjects = mean, append(subjects, mean)
		}
	}
	mean, excess, chance := stat.Mean(subjects, nil), 0.0, (1+3/n)/(2*known)
	doubt := 2/(known*(n-1)) + chance/float64(len(subjects)) // the variance of mean/among by chance
	if !(among > 0 && mean > 0) {
		return
	}
	if len(subjects) > 1 {
		excess = math.Max(0, stat.Variance(subjects, nil)/(mean*mean)-chance)
	}
	for i, f := range far {
		if !math.IsNaN(f) {
			more := (mean+excess/(excess+chance)*(f-mean))/among - 1
			p.Farther[i] = 1 + math.Max(0, more-doubt/math.Max(more, math.Sqrt(doubt)))
		}
	}
}

// combine averages the landmarks of templates on a subject.
func (p *Placement) combine(i int, s *located, placed [][][]PlacedLandmark) []PlacedLandmark {
	var all [][]PlacedLandmark
	for _, of := range placed {
		if of[i] != nil {
			all = append(all, of[i])
		}
	}
	if all == nil {
		return nil
	}
	out := make([]PlacedLandmark, len(all[0]))
	for l := range out {
		weights := make([]float64, len(all))
		for t, marks := range all {
			weights[t] = 1 / math.Pow(marks[l].StandardError(), 2)
		}
		floats.Scale(1/floats.Sum(weights), weights)
		d := len(all[0][l].Point)
		mean, covariance, own := make([]float64, d), mat.NewDense(d, d, nil), 0.0
		for t, w := range weights {
			mark := all[t][l]
			floats.AddScaled(mean, w, mark.Point)
			out[l].Gap += w * mark.Gap
			out[l].Stretch += w * mark.Stretch
			own += w * w
			var part mat.Dense
			part.Scale(w, mat.NewDense(d, d, slices.Concat(mark.Covariance...)))
			covariance.Add(covariance, &part)
		}
		covariance.Scale(p.Calibration[l]*(p.Farther[i]-(1-p.Shared)*(1-own)), covariance)
		out[l].Degrees = 1 / (1/p.Degrees + 1/p.own[l])
		point, tangents := s.locators[s.object(all[0][l].Point)].Nearest(mean)
		out[l].Point, out[l].Covariance = point, inTangent(covariance, tangents)
	}
	return out
}

// compare names subjects and landmarks that differ from the others.
func (p *Placement) compare(surfaces []*located, placed [][][]PlacedLandmark) {
	for t, template := range p.Templates {
		for _, i := range outliers(p.Mismatch[t], 2) {
			fail(&p.Failures, i, -1, "template %d misses it by %.2g %% of its square, and other subjects by %.2g %% in the median: see whether a part is missing or broken", template, 100*p.Mismatch[t][i], 100*median(p.Mismatch[t]))
		}
	}
	var gaps []float64
	for _, marks := range p.Placed {
		for _, m := range marks {
			gaps = append(gaps, m.Gap)
		}
	}
	usual := median(gaps)
	for l := range p.Calibration {
		errs, stretches := make([]float64, len(surfaces)), make([]float64, len(surfaces))
		for i := range surfaces {
			errs[i], stretches[i] = math.NaN(), math.NaN()
			if p.Placed[i] != nil {
				errs[i], stretches[i] = p.Placed[i][l].StandardError(), p.Placed[i][l].Stretch
			}
		}
		middle := median(stretches)
		away := make([]float64, len(surfaces))
		for i, s := range stretches {
			away[i] = math.Exp(math.Abs(s - middle))
		}
		for _, i := range outliers(errs, 2.5) {
			fail(&p.Failures, i, l, "its standard error is %.2g, that on other subjects %.2g in the median", errs[i], median(errs))
		}
		for _, i := range outliers(away, 4) {
			fail(&p.Failures, i, l, "the match changes volumes by a factor of %.2g there, on other subjects by %.2g in the median: see whether the part is broken or missing", math.Exp(stretches[i]), math.Exp(middle))
		}
		for i, marks := range p.Placed {
			if marks == nil {
				continue
			}
			mark, s := marks[l], surfaces[i]
			o := s.object(mark.Point)
			spacing := s.objects[o].Spacing()
			if mark.Gap > math.Max(5*usual, spacing) {
				fail(&p.Failures, i, l, "the matched templates are %.2g away from the subject there", mark.Gap)
			}
			if slices.ContainsFunc(s.border[o], func(x []float64) bool { return floats.Distance(x, mark.Point, 2) < 0.6*spacing }) {
				fail(&p.Failures, i, l, "it is at a border of the subject: see whether there is a hole")
			}
			p.disagreement(i, l, placed)
		}
	}
}

// disagreement names a landmark that templates place farther from each other than their errors say.
func (p *Placement) disagreement(i, l int, placed [][][]PlacedLandmark) {
	const far = 9 // of the mean square, in that of the errors
	sum, count := 0.0, 0
	for _, of := range placed {
		if of[i] == nil {
			continue
		}
		off := floats.Distance(of[i][l].Point, p.Placed[i][l].Point, 2)
		sum += off * off / math.Pow(of[i][l].StandardError(), 2)
		count++
	}
	if count < 2 {
		return
	}
	degrees := float64((count - 1) * (len(p.Placed[i][l].Point) - 1))
	if sum/degrees/p.Calibration[l]/math.Max(1-p.Shared, 0.1) > far {
		fail(&p.Failures, i, l, "the templates place it differently")
	}
}

// median is that of the numbers that are no NaN.
func median(x []float64) float64 {
	var known []float64
	for _, v := range x {
		if !math.IsNaN(v) {
			known = append(known, v)
		}
	}
	if known == nil {
		return math.NaN()
	}
	slices.Sort(known)
	return (known[len(known)/2] + known[(len(known)-1)/2]) / 2
}

// outliers are the positive numbers more than a factor above the median, and more than four robust standard deviations of the
// logarithms, which those below the median have: what is wrong is above.
func outliers(x []float64, factor float64) (at []int) {
	logs := make([]float64, len(x))
	for i, v := range x {
		logs[i] = v
		if !math.IsNaN(v) {
			logs[i] = math.Log(math.Max(v, math.SmallestNonzeroFloat64))
		}
	}
	middle := median(logs)
	var below []float64
	for _, v := range logs {
		if v <= middle {
			below = append(below, middle-v)
		}
	}
	limit := math.Max(math.Log(factor), 4*1.4826*median(below))
	for i, v := range logs {
		if v-middle > limit {
			at = append(at, i)
		}
	}
	return at
}
