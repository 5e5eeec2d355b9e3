package population

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/stats"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/mesh"
)

// Model says what deforms a template, and how it is compared with subjects.
type Model struct {
	Space *landmarks.Space // of the control points, with the kernel K of the deformations and the integrator of their flows
	// Norm is that in which a deformed template misses a subject. For thousands of cells its kernel is made by kernels.Fast.
	Norm mesh.Norm
	// Noise is σ: the smaller, the closer the deformed templates come to the subjects. Where it is 0, it is estimated, and with it
	// how large deformations are: see Atlas.Noise and Atlas.Reach.
	Noise float64
	// Smoothing is the kernel that smooths the gradient with respect to the vertices of the template, so that its cells do not
	// cross; without it that of Norm. Details of the first template that are finer than its width stay as they are.
	Smoothing kernels.Kernel
	Free      bool // the control points are moved, too
}

// Atlas is a template T and, for every subject S_i, the momentum p_i of a deformation φ_i that brings T close to S_i.
type Atlas struct {
	Template *mesh.Mesh
	Controls [][]float64   // the control points c, [N][D]
	Momenta  [][][]float64 // p_i of every subject, [N][D]
	Deformed []*mesh.Mesh  // φ_i(T)

	Before    []float64 // ‖T₀ − S_i‖² for the template at the start
	Mismatch  []float64 // ‖φ_i(T) − S_i‖²
	Energy    []float64 // ½ p_iᵀ K(c, c) p_i
	Objective float64   // Σ_i Mismatch_i/2σ² + Energy_i/ρ²
	// Noise is σ. Where it was estimated, σ² = Σ_i Mismatch_i/ν to 1 %, with the number ν of independent parts of all residuals
	// that template and momenta leave free (the effective number of parameters of MacKay, Neural Computation 4, 1992). If vertices
	// of the template T were displaced independently, ‖T + u − T‖² = uᵀ G u would have Λ = (tr G)²/tr G² parts of the same
	// variance (Satterthwaite, Biometrics Bulletin 2, 1946), σ² each. The template takes those of one of N subjects. The momentum
	// of a subject takes A u, with A = J (Jᵀ G J/σ² + K/ρ²)⁻¹ Jᵀ G/σ² and the kernels J between vertices and control points:
	// ν = (N − 1) Λ tr (1 − A)ᵀG(1 − A)/tr G. Where little is left to tell σ by, there is an error. What roughness adds to the varifold
	// of every subject is no noise: the template takes it. The count is that of small momenta. In simulations of 16 to 30 subjects σ
	// was too small by 2 to 6 %, since vertices of the template, shifted along it, help momenta to follow the noise.
	Noise float64
	Parts float64 // Λ, where σ was estimated
	// Reach is ρ, estimated with σ: deformations are ρ times as large as the kernel K says, and what is minimised is that of the kernel
	// ρ²K. ρ² = Σ_i 2 Energy_i/γ, with the number γ = Σ_i tr (Jᵀ G J/σ² + K/ρ²)⁻¹ Jᵀ G J/σ² of parts of the momenta that the data
	// determine (MacKay). It is 1 where σ was given.
	Reach float64

	// Imbalance and Unsettled say by how much the equations of a minimum are missed. The derivatives g_i of Mismatch_i/2σ² with
	// respect to the vertices add up to 0 there: Imbalance is ‖Σ g_i‖/√(Σ ‖g_i‖²) in the norm of the smoothing kernel, that is in
	// standard errors of the template. The derivatives r_i of the objective with respect to the momenta are 0: Unsettled is
	// √(Σ ‖r_i‖²/Σ ‖p_i‖²), where ‖p‖² = pᵀ K p and ‖r‖² = rᵀ (K + 0.1)⁻¹ r is the same for the velocity r.
	Imbalance, Unsettled float64
	// Folded is how many pairs of neighbouring cells of the template lie on each other, and did not at the start: see mesh.Folds.
	Folded      int
	Iterations  int
	Evaluations int // how often the objective and its gradient were computed
	// Status is Converged if Imbalance and Unsettled are at most the tolerance, and Stalled if then cells are folded. It does not
	// speak of where free control points are.
	Status geom.Status
}

// Atlas returns the template and the momenta that minimise
//
//	Σ_i [ ‖φ_i(T) − S_i‖²/2σ² + ½ p_iᵀ K(c, c) p_i ]
//
// over the vertices of T and the momenta p_i at the control points c, and over c if Model.Free is set (Durrleman et al., NeuroImage
// 101, 2014; its log-likelihood is −2 times this, with kernels exp(−r²/w²): w = √2 σ of kernels.Gaussian). φ_i is the flow of the
// geodesic from c with the momentum p_i. The search starts at the vertices of a template, such as one of the subjects, and keeps its
// cells; the subjects need not have as many. They should be aligned: see Align.
//
// It takes stats.Tolerance (default 0.03), the largest Imbalance and Unsettled, and stats.MaxIterations, for each of three stages: at
// first (500) the template moves in flows only, so that its cells stay apart; then (200) with all its vertices. If the noise is so
// small that this does not end, at last (500) the template moves while the momenta, if they have at most 600 numbers, follow it, each
// to its minimum.
func (m Model) Atlas(template *mesh.Mesh, controls [][]float64, subjects []*mesh.Mesh, opts ...stats.Option) (*Atlas, error) {
	if len(subjects) < 2 {
		return nil, fmt.Errorf("atlas: %d subjects, want at least 2: one is matched by landmarks.Space.MatchFrom", len(subjects))
	}
	a, _, err := m.estimate("atlas", template, controls, nil, 0, subjects, identity(len(subjects)), opts)
	return a, err
}

// Continue goes on from where an atlas of the same subjects ended, because it was cancelled (see geom.Context) or for a smaller
// tolerance. The atlas may come from a file: encoding/json writes and reads it without loss. Before is that of the first start,
// Iterations and Evaluations go on counting, and so does Folded, with what was folded already.
func (m Model) Continue(a *Atlas, subjects []*mesh.Mesh, opts ...stats.Option) (*Atlas, error) {
	if a == nil || len(a.Momenta) != len(subjects) || len(subjects) < 2 {
		return nil, fmt.Errorf("continue: %d subjects, want the two or more of the atlas", len(subjects))
	}
	out, _, err := m.estimate("continue", a.Template, a.Controls, a.Momenta, a.Noise/cmp.Or(a.Reach, 1), subjects, identity(len(subjects)), opts)
	if err != nil {
		return nil, err
	}
	out.Before = a.Before
	if m.Noise == 0 && out.Parts == 0 { // cancelled before it was estimated anew
		out.Noise, out.Reach, out.Parts = a.Noise, cmp.Or(a.Reach, 1), a.Parts
	}
	out.Iterations += a.Iterations
	out.Evaluations += a.Evaluations
	if out.Folded += a.Folded; out.Folded > 0 && out.Status == geom.Converged {
		out.Status = geom.Stalled
	}
	return out, nil
}

// identity is the design of an atlas of n subjects.
func identity(n int) [][]float64 {
	design := make([][]float64, n)
	for i := range design {
		design[i] = make([]float64, n)
		design[i][i] = 1
	}
	return design
}

// Regression is a template T at a time t₀ and the momentum p of a deformation with the time: the subject at time t_i is close to
// T_t = φ_{(t − t₀)p}(T).
type Regression struct {
	*Atlas              // Momenta are (t_i − t₀)p, Deformed T_{t_i}, and Objective is Σ_i Mismatch_i/2σ² + ½ s² pᵀ K p/ρ²
	Origin  float64     // t₀, the mean of the times
	Scale   float64     // the standard deviation of the times
	Tangent [][]float64 // p, by the unit of the times
}

// Regress returns the template and the momentum that minimise Σ_i ‖φ_{(t_i − t₀)p}(T) − S_i‖²/2σ² + ½ s² pᵀ K(c, c) p, with the mean
// t₀ and the standard deviation s of the times. The options are those of Atlas.
func (m Model) Regress(times []float64, template *mesh.Mesh, controls [][]float64, subjects []*mesh.Mesh, opts ...stats.Option) (*Regression, error) {
	if len(times) != len(subjects) {
		return nil, fmt.Errorf("regression: %d times for %d subjects", len(times), len(subjects))
	}
	r := &Regression{}
	for i, t := range times {
		if math.IsNaN(t) || math.IsInf(t, 0) {
			return nil, fmt.Errorf("regression: time %d is %g", i, t)
		}
		r.Origin += t / float64(len(times))
	}
	for _, t := range times {
		r.Scale += (t - r.Origin) * (t - r.Origin) / float64(len(times))
	}
	if r.Scale = math.Sqrt(r.Scale); !(r.Scale > 0) {
		return nil, errors.New("regression: all times are equal, which determines no momentum")
	}
	design := make([][]float64, len(times))
	for i, t := range times {
		design[i] = []float64{(t - r.Origin) / r.Scale}
	}
	a, coefficients, err := m.estimate("regression", template, controls, nil, 0, subjects, design, opts)
	if err != nil {
		return nil, err
	}
	r.Atlas, r.Tangent = a, coefficients[0]
	for _, row := range r.Tangent {
		floats.Scale(1/r.Scale, row)
	}
	return r, nil
}

// At returns T_t, for the model of the regression.
func (r *Regression) At(m Model, t float64) (*mesh.Mesh, error) {
	p := make([][]float64, len(r.Tangent))
	for i, row := range r.Tangent {
		p[i] = floats.ScaleTo(make([]float64, len(row)), t-r.Origin, row)
	}
	return r.Shape(m, p)
}

// Shape returns the template deformed by a momentum at the control points, [N][D], for the model of the atlas.
func (a *Atlas) Shape(m Model, momentum [][]float64) (*mesh.Mesh, error) {
	g, err := m.Space.Shoot(a.Controls, momentum)
	if err != nil {
		return nil, err
	}
	path, err := m.Space.Carry(g, a.Template.Vertices)
	if err != nil {
		return nil, err
	}
	return a.Template.With(path[len(path)-1]), nil
}

// String says what the atlas is in one line.
func (a *Atlas) String() string {
	s := fmt.Sprintf("template of %d %d-vertex cells for %d subjects, √(%.3g) of √(%.3g) left, %s after %d iterations, imbalance %.2g, unsettled %.2g",
		len(a.Template.Cells), len(a.Template.Cells[0]), len(a.Momenta), floats.Sum(a.Mismatch), floats.Sum(a.Before), a.Status, a.Iterations, a.Imbalance, a.Unsettled)
	if a.Folded > 0 {
		s += fmt.Sprintf(", %d pairs of cells folded: take a wider Smoothing kernel", a.Folded)
	}
	return s
}
