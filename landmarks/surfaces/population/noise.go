package population

import (
	"cmp"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/landmarks/internal/text"
)

// maxRenewals is how often the noise is estimated anew at most.
const maxRenewals = 20

// annealing is where the estimate of a noise stands.
type annealing struct {
	Loose    bool    // the noise is still far from what it will be, and the search may be rough
	Rough    float64 // the tolerance of a rough search
	Renewals int     // how often it was estimated, until it held
}

// tolerance is that of the next search, if the last shall have the one given.
func (s annealing) tolerance(last float64) float64 {
	if s.Loose && s.Rough >= 0.1 {
		return s.Rough
	}
	return last
}

// anneal estimates Noise, Reach and Parts of an atlas at the end of a search that took a number of iterations, and chooses f.sigma
// for the next one. It is done if the noise holds, or was estimated too often.
func (f *fit) anneal(s *annealing, e *evaluation, a *Atlas, iterations int) (done bool) {
	if iterations == 0 {
		// Momenta that are as small as noise change with σ: where nothing was to do, neither noise nor reach are new.
		s.Rough /= 3
	}
	f.estimateNoise(e, a)
	next, change := make([]float64, len(f.sigma)), 0.0
	for o, sigma := range f.sigma {
		next[o] = a.Noise[o] / a.Reach
		change = math.Max(change, math.Abs(math.Log(next[o]/sigma)))
	}
	if !s.Loose && change < 0.02 {
		return true
	}
	if s.Renewals++; s.Renewals > maxRenewals {
		return true
	}
	// A small σ is approached from above: there the valleys are wide.
	s.Loose = change > 0.1
	for o, sigma := range f.sigma {
		f.sigma[o] = math.Min(math.Max(next[o], sigma/2), sigma*2)
	}
	f.last = nil
	return false
}

// initialNoise is a noise of every object to begin with: that which is given, or as of equal displacements of all vertices, where the data determine a
// quarter of a momentum, whatever the unit of K.
func (f *fit) initialNoise(vertices []float64) []float64 {
	o := f.dataHessianAt(vertices)
	parts := 0.0
	for k := range f.sigma {
		parts += o.parts(k)
	}
	quarter := math.Min(float64(f.Space.Manifold.Dim()), parts) / 4
	for sigma, factor := 1.0, 1.0; ; {
		all, weights := make([]float64, len(f.sigma)), make([]float64, len(f.sigma))
		for k := range all {
			all[k] = sigma * math.Sqrt(o.square[k]/o.trace[k]*o.trace[0]/o.square[0])
			weights[k] = 1 / (all[k] * all[k])
		}
		next := 2.0
		if _, determined := o.countParts(weights, o.factorPosterior(weights)); determined < quarter {
			next = 0.5
		}
		if factor*next == 1 {
			for k, object := range f.Objects {
				all[k] = cmp.Or(object.Noise, all[k])
			}
			return all
		}
		factor = next
		sigma *= factor
	}
}

// weights are what the second derivatives of the data terms count for a momentum: 1/σ² of every object for each subject that it
// moves, times the square of how far.
func (f *fit) weights() []float64 {
	w := 0.0
	for _, row := range f.design {
		w += row[0] * row[0]
	}
	return floats.ScaleTo(make([]float64, len(f.sigma)), 2*w, f.precision())
}

// estimateNoise estimates Noise, Reach and Parts of an atlas from an evaluation at f.sigma, which is the σ/ρ that the search took: its minimum
// depends on no more. It is an error if template and deformations can follow the residuals, so that little of them is left.
func (f *fit) estimateNoise(e *evaluation, a *Atlas) {
	const share = 0.2
	o := f.dataHessianAt(e.x[:f.blocks()[0][1]])
	n, momenta := float64(len(f.design)), float64(len(f.design[0]))
	following := momenta
	if f.separate() {
		following = n - 1
	}
	weights := f.weights()
	left, determined := o.countParts(weights, o.factorPosterior(weights))
	const none = 1e-3 // of what the data determine; there deformations are as large as the cells
	unit := f.spacing() * f.spacing() / o.kernel.At(0, 0)
	a.Reach = math.Sqrt((2*floats.Sum(e.energy) + none*unit) / (momenta*determined + none))
	a.Parts = make([]float64, len(f.sigma))
	for k, mismatch := range sums(e.mismatch) {
		a.Parts[k] = o.parts(k)
		if f.Objects[k].Noise > 0 {
			a.Noise[k] = f.Objects[k].Noise
			continue
		}
		free := (n-1)*a.Parts[k] - following*(a.Parts[k]-left[k])
		text.RefuseIf(free < share*n*a.Parts[k], "give Noise, or take a wider kernel of the deformations, a narrower one of the norm, or more subjects",
			"%s cannot be estimated: of %.0f independent parts of the residuals, template and deformations leave %.0f", f.Label("the noise", k), n*a.Parts[k], free)
		// Rounding bounds σ from below, as where all subjects are the template.
		a.Noise[k] = math.Sqrt(math.Max(mismatch, 1e-8*f.squares[k]) / free)
	}
}

// parts is Λ of an object: see Model.Atlas.
func (o *dataHessian) parts(k int) float64 { return o.trace[k] * o.trace[k] / o.square[k] }

// countParts returns how many parts of the residual of a subject a momentum cannot follow, of every object, and how many of its own the
// data determine. Of displacements u of the vertices it takes A u, for A = J P⁻¹ Jᵀ W, with P = K + Jᵀ W J and the blocks w_o G_o of
// W. Left of object o is E ‖(1 − A)u‖²_o, where the vertices of each object q are displaced independently, with the variance
// tr G_q/tr G_q²/w_q, and the unit is 1/w_o. The factor is that of P. Determined is tr P⁻¹ Jᵀ W J less the number of other motions, which are
// determined but cost no energy.
func (o *dataHessian) countParts(weights []float64, factor *mat.Cholesky) (left []float64, determined float64) {
	solved := func(of []*mat.SymDense) (all []*mat.Dense) {
		for _, m := range of {
			var x mat.Dense
			solveTo(factor, &x, m)
			all = append(all, &x)
		}
		return all
	}
	taken, held := solved(o.squares), solved(o.hessians)
	for k, w := range weights {
		l := o.parts(k) - 2*w*mat.Trace(taken[k])*o.trace[k]/o.square[k]
		for q, v := range weights {
			var both mat.Dense
			both.Mul(taken[q], held[k])
			l += w * v * mat.Trace(&both) * o.trace[q] / o.square[q]
		}
		left = append(left, l)
		determined += w * mat.Trace(held[k])
	}
	return left, determined - float64(o.free)
}
