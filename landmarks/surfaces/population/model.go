package population

import (
	"cmp"
	"fmt"
	"strings"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/solve"
	"anatomy/geom/stats/linear"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/internal/text"
	"anatomy/landmarks/surfaces/attachment"
	"anatomy/landmarks/surfaces/mesh"
)

// Object is one of the curves or surfaces that a subject is made of, and says how it is compared with that of the template.
type Object struct {
	ID string // in errors and in the names of files; those of several objects differ
	// Norm is that in which a deformed template misses a subject. For thousands of cells its kernel is made by kernels.Fast.
	Norm attachment.Norm
	// Noise is σ: the smaller, the closer the deformed templates come to the subjects. Where it is 0, it is estimated, and with it
	// how large deformations are: see Atlas.Noise and Atlas.Reach.
	Noise float64
	// Smoothing is the kernel that smooths the gradient with respect to the vertices of the template, so that its cells do not
	// cross; without it that of Norm. Details of the first template that are finer than its width stay as they are.
	Smoothing kernels.Kernel
}

// Model says what deforms a template, and how it is compared with subjects. A template and a subject are lists of meshes, one of
// each object, in the same order: one deformation carries them all.
type Model struct {
	Space   *landmarks.Space // of the control points, with the kernel K of the deformations and the integrator of their flows
	Objects []Object
	Free    bool // the control points are moved, too
	// Hypertemplate says that the first template T₀ is a hypertemplate (Ma, Miller and Younes, Int. J. Biomed. Imaging 2010): the template
	// is x + Σ_k K(x, c_k) a_k at its vertices x, and keeps the details of T₀ that are finer than the kernel K. Otherwise all
	// vertices move. If triangles are as large as the norm is wide, the data do not determine where they go: take a hypertemplate. Another T₀ gives
	// another template: of five profiles of skulls, one that was 0.5 standard errors away as a shape.
	Hypertemplate bool
	// Save is a folder where Atlas, Regress, Register, Landmarks and Poses keep their searches, and look for them before they search: the same call
	// goes on from there after an interruption, with the same result. Of an atlas, the third stage is not kept. Without Save nothing is.
	Save string
}

// Single returns subjects of one object each.
func Single(meshes []*mesh.Mesh) [][]*mesh.Mesh {
	return lists.Each(meshes, func(m *mesh.Mesh) []*mesh.Mesh { return []*mesh.Mesh{m} })
}

// Atlas is a template T with objects T_o and, for every subject S_i, the momentum p_i of a deformation φ_i that brings T close to S_i.
type Atlas struct {
	Template []*mesh.Mesh   // of every object
	Controls [][]float64    // the control points c, [N][D]
	Momenta  []geom.Shape   // p_i of every subject, [N][D]
	Deformed [][]*mesh.Mesh // φ_i(T) of every subject, by objects

	Before    [][]float64 // ‖T_o − S_io‖² of every subject and object for the template at the start
	Mismatch  [][]float64 // ‖φ_i(T_o) − S_io‖²
	Energy    []float64   // ½ p_iᵀ K(c, c) p_i; of a regression one number, Σ_i ½ p_iᵀ K(c, c) p_i/N
	Objective float64     // Σ_i (Σ_o Mismatch_io/2σ_o² + Energy_i/ρ²)
	// Noise is σ of every object, as given or estimated: see the section "Noise" of Model.Atlas. Roughness that all subjects have in common is
	// in the template, not in σ.
	Noise []float64
	Parts []float64 // degrees of freedom of the norm of every object, where a σ was estimated: Λ of the section "Noise"; not a Part of Rounds
	// Reach is ρ, estimated with σ: deformations are ρ times as large as the kernel K says, and what is minimised is that of the kernel
	// ρ²K. ρ² = Σ_i 2 Energy_i/γ, with the number γ = Σ_i tr (Jᵀ W J + K/ρ²)⁻¹ Jᵀ W J of parts of the momenta that the data
	// determine (MacKay). It is 1 where all σ were given.
	Reach float64

	// Imbalance and Unsettled say by how much the equations of a minimum are missed. The derivatives g_i of Mismatch_i/2σ² with
	// respect to the vertices add up to 0 there: Imbalance is ‖Σ g_i‖/√(Σ ‖g_i‖²) in the norm of the smoothing kernel, that is in
	// standard errors of the template, and the largest of the objects. With a hypertemplate the g_i are derivatives by the field a, which moves all
	// objects together, in the norm of the r_i. The derivatives r_i of the objective with respect to the momenta are 0: Unsettled is
	// √(Σ ‖r_i‖²/Σ ‖p_i‖²), where ‖p‖² = pᵀ K p and ‖r‖² = rᵀ (K + 0.1 K(x, x))⁻¹ r is the same for the velocity r.
	//
	// They are small near every minimum, of which there may be several. They hardly see vertices that slide along a curve or a surface, as the norm
	// does not see these. Templates of five profiles of skulls from two starts, both converged at 0.05, were 0.5 standard errors apart by vertices, and
	// 0.07 as shapes; at 0.005, 1.3 and 0.11. Compare templates by mesh.Mesh.Distances.
	Imbalance, Unsettled float64
	// Folded is how many pairs of neighbouring cells of the template lie on each other, and did not at the start: see mesh.Folds.
	// FoldedShare is the largest share of the size of an object that their smaller cells have: slivers and fins, which fold first, have
	// little.
	Folded      int
	FoldedShare float64 `json:",omitempty"`
	Drift       float64 // the largest of the flows to the subjects: see geom.Geodesic
	Iterations  int
	Evaluations int // how often the objective and its gradient were computed
	// Status is Converged if Imbalance and Unsettled are at most the tolerance, and Stalled if then the cells of FoldedShare have more than
	// 0.1 % of the size or Drift is more than 1 %. It does not speak of where free control points are.
	Status geom.Status
	// Flowing says that it was cancelled while the template moved in flows only, where Continue then goes on.
	Flowing bool `json:",omitempty"`
}

// Atlas returns the template and the momenta that minimise
//
//	Σ_i [ Σ_o ‖φ_i(T_o) − S_io‖²/2σ_o² + ½ p_iᵀ K(c, c) p_i ]
//
// over the vertices of the template T or the fields of a Model.Hypertemplate, the momenta p_i at the control points c and, if Model.Free is set, over c (Durrleman et
// al., NeuroImage 101, 2014; the log-likelihood printed there is −2 times this, and its kernels are exp(−r²/w²), so that w = √2 σ
// of kernels.Gaussian). φ_i is the flow of the geodesic from c with the momentum p_i; the norm and the noise σ_o are those of
// object o of the model.
//
// template holds a mesh per object, such as those of one subject; the search starts at its vertices and keeps its cells. controls
// is c, [N][D]. subjects is [subject][object]; they may have other numbers of vertices than the template. All are in one unit,
// and aligned: see Align.
//
// Status is Converged if Imbalance and Unsettled are at most the tolerance and hardly any cells are folded: see Atlas.Status. A
// search that does not converge is not an error. It is an error if there are fewer than two subjects, if the objects of a subject,
// the template and the model differ in number or kind, if a mesh has no cells or coordinates that are not finite, or if the noise
// is to be estimated and no degrees of freedom are left for it.
//
// The options are solve.Tolerance (default 0.03) and solve.MaxIterations, the limit of each stage: 500 of the first, 700 of the second and 200 of the
// third. Where the noise is estimated, the stages after the first are repeated.
//
// # Algorithm
//
// In the first stage the template moves in flows only, so that its cells stay apart. In the second all its vertices move; with a hypertemplate the
// steps take account of how much each subject resists in each direction. If the noise is so small that this does not end, and a momentum has at most
// 600 numbers, a third stage moves the template while the momenta follow it, each to its minimum.
//
// The objective has long and flat valleys, so compare objectives at small tolerances only.
//
// # Noise
//
// A noise that is not given is estimated to 1 % by the method of MacKay (Neural Computation 4, 1992): σ² = Σ_i Mismatch_i/ν, where ν is how many
// degrees of freedom the template and the momenta leave to the residuals. They are counted for small momenta, in four steps.
//
//  1. Displacements u of the vertices of an object change it by ‖T + u − T‖² = uᵀ G u. If all vertices move independently, this norm has
//     Λ = (tr G)²/tr G² degrees of freedom (Satterthwaite, Biometrics Bulletin 2, 1946).
//  2. The momentum of a subject follows the displacements as far as A u, with A = J (Jᵀ W J + K/ρ²)⁻¹ Jᵀ W. Here J is the kernel matrix
//     between vertices and control points, and W has a block G/σ² for each object.
//  3. To the residual of a subject (1 − A) u is left: for one object Λ tr (1 − A)ᵀ G (1 − A)/tr G degrees of freedom. For one of several
//     objects they are the mean of ‖(1 − A) u‖²/σ² in its norm, where the vertices of each object have the variance σ² tr G/tr G².
//  4. The template takes the degrees of freedom of one of the N subjects: ν is N − 1 times those of step 3.
//
// It is an error if almost none are left. In simulations of 16 to 30 subjects σ of curves was up to 6 % too small, because vertices that slide
// along the template help momenta to follow the noise, and σ of surfaces was 2 to 4 % too large.
func (m Model) Atlas(template []*mesh.Mesh, controls [][]float64, subjects [][]*mesh.Mesh, opts ...solve.Option) (_ *Atlas, err error) {
	defer try.Named(&err, "atlas")
	text.RefuseIf(len(subjects) < 2, "give two or more: one is matched by landmarks.Space.MatchFrom", "%d subjects", len(subjects))
	return m.estimate("atlas", start{template: template, controls: controls, flowing: true}, subjects, lists.Identity(len(subjects)), opts), nil
}

// Continue goes on from where an atlas of the same subjects ended, because it was cancelled (see geom.Context) or for a smaller tolerance. The atlas
// may come from a file: encoding/json writes and reads it without loss. Before is that of the first start, Iterations and Evaluations go on counting,
// and Folded counts the pairs of the given atlas, too. The atlas of Regress is an error.
func (m Model) Continue(a *Atlas, subjects [][]*mesh.Mesh, opts ...solve.Option) (_ *Atlas, err error) {
	defer try.Named(&err, "continue")
	text.RefuseIf(a == nil || len(a.Momenta) != len(subjects) || len(subjects) < 2, "give the two or more of the atlas", "%d subjects", len(subjects))
	text.RefuseIf(len(a.Energy) != len(subjects), "start it again", "this is not an atlas but a regression, whose subjects share one momentum")
	text.RefuseIf(len(a.Noise) != len(m.Objects), "give the model of the atlas", "the atlas has %d objects, the model %d", len(a.Noise), len(m.Objects))
	noise := floats.ScaleTo(make([]float64, len(a.Noise)), 1/cmp.Or(a.Reach, 1), a.Noise)
	from := start{template: a.Template, controls: a.Controls, coefficients: a.Momenta, noise: noise, flowing: a.Flowing}
	out := m.estimate("continue", from, subjects, lists.Identity(len(subjects)), opts)
	out.Before = a.Before
	if m.estimatesNoise() && out.Parts == nil { // cancelled before it was estimated anew
		out.Noise, out.Reach, out.Parts = a.Noise, cmp.Or(a.Reach, 1), a.Parts
	}
	out.Iterations += a.Iterations
	out.Evaluations += a.Evaluations
	out.addFolds(a.Folded, a.FoldedShare)
	return out, nil
}

// Assess returns what a template with control points and momenta is as an atlas of subjects, without a search: its objective, flows and residuals.
// Template and momenta may be those of another program. Before is that of momenta 0. Status is Converged if Imbalance and Unsettled are at most 0.03.
// Every object must have a Noise.
func (m Model) Assess(template []*mesh.Mesh, controls [][]float64, momenta []geom.Shape, subjects [][]*mesh.Mesh) (_ *Atlas, err error) {
	defer try.Named(&err, "assess")
	m.check(template, controls, subjects)
	text.RefuseIf(len(momenta) != len(subjects) || m.estimatesNoise(), "give one for each, and Noise",
		"%d momenta of %d subjects, with the noise %s", len(momenta), len(subjects), map[bool]string{true: "open", false: "given"}[m.estimatesNoise()])
	f := newFit(m, template, controls, subjects, lists.Identity(len(subjects)))
	defer f.free()
	a := &Atlas{Noise: f.sigma, Reach: 1, Status: geom.IterationLimit}
	a.Before = f.evaluate(f.begin(start{template: template, controls: controls})).mismatch
	f.finish(a, f.at(f.begin(start{template: template, controls: controls, coefficients: momenta})), subjects)
	if a.Imbalance <= 0.03 && a.Unsettled <= 0.03 {
		a.Status = geom.Converged
	}
	return a, nil
}

// Regress returns the template T at the mean t̄ of times and the momenta p_i = (t_i − t̄) p of its path, as an atlas: they minimise
// Σ_io ‖φ_i(T_o) − S_io‖²/2σ_o² + Σ_i ½ p_iᵀ K(c, c) p_i/Nρ², its Objective. There is a time for each of the N subjects. The options are those of
// Atlas.
func (m Model) Regress(template []*mesh.Mesh, controls [][]float64, subjects [][]*mesh.Mesh, times []float64, opts ...solve.Option) (
	_ *Atlas, err error) {
	defer try.Named(&err, "regression")
	d := try.Get(linear.NewDesign(len(subjects), nil, nil, linear.Covariate("time", times...)))
	return m.estimate("regression", start{template: template, controls: controls, flowing: true}, subjects, d.Rows, opts), nil
}

// Shape returns the template deformed by a momentum at the control points, [N][D], for the model of the atlas.
func (a *Atlas) Shape(m Model, momentum [][]float64) (_ []*mesh.Mesh, err error) {
	defer try.Catch(&err)
	solve.NotNil(a)
	path := try.Get(m.Space.Transform(try.Get(m.Space.Shoot(a.Controls, momentum)), mesh.Vertices(a.Template)))
	return mesh.WithVertices(a.Template, path[len(path)-1]), nil
}

// Flow returns the template at the times 0, 1/n, …, 1 of the flow of a momentum, as Shape, whatever the drift of its energy: see Drift.
func (a *Atlas) Flow(m Model, momentum [][]float64) (out [][]*mesh.Mesh, err error) {
	defer try.Catch(&err)
	solve.NotNil(a)
	for _, x := range try.Get(m.Space.Transform(try.Get(m.Space.With(geom.FixedSteps).Shoot(a.Controls, momentum)), mesh.Vertices(a.Template))) {
		out = append(out, mesh.WithVertices(a.Template, x))
	}
	return out, nil
}

// String says what the atlas is in one line.
func (a *Atlas) String() string {
	var objects []string
	mismatch, before := sums(a.Mismatch), sums(a.Before)
	for o, t := range a.Template {
		objects = append(objects, fmt.Sprintf("%d %d-vertex cells, √(%.3g) of √(%.3g) left", len(t.Cells), len(t.Cells[0]), mismatch[o], before[o]))
	}
	s := fmt.Sprintf("template of %s for %d subjects, %s after %d iterations, imbalance %.2g, unsettled %.2g",
		strings.Join(objects, " and "), len(a.Momenta), a.Status, a.Iterations, a.Imbalance, a.Unsettled)
	if a.Folded > 0 {
		s += fmt.Sprintf(", %d pairs of cells folded (%.2g %% of the size)", a.Folded, 100*a.FoldedShare)
	}
	if a.FoldedShare > maxFolded {
		s += ": take a Hypertemplate or a wider Smoothing kernel, in a registration a wider kernel of the deformations or more Noise"
	}
	if a.Drift > geom.MaxDrift {
		s += fmt.Sprintf(", the energy of a flow drifts by %.2g %%: take more steps (geom.Integrator)", 100*a.Drift)
	}
	return s
}

// Err returns nil if Status is Converged, and otherwise an error with the line of String.
func (a *Atlas) Err() error { return solve.NotNil(a).Status.Err(a) }

// sums are those of columns.
func sums(rows [][]float64) []float64 {
	out := make([]float64, len(rows[0]))
	for _, row := range rows {
		floats.Add(out, row)
	}
	return out
}
