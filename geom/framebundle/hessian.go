package framebundle

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/try"
	"anatomy/internal/dense"
	"anatomy/internal/lists"
)

// hessian returns the Gauss-Newton Hessian of the objective: of paths that follow mean and frame, Jᵀ (σ² + C Cᵀ)⁻¹ J with the
// derivatives J of their ends by mean and frame and C by their controls, and of log det(νᵀ g ν).
func (e *estimation) hessian() *mat.SymDense {
	tangents := e.paths.tangents(e.at, e.probes())
	dim, variance := (e.Rank+1)*len(e.at.X), e.sigma*e.sigma
	sum := mat.NewDense(dim, dim, nil)
	for _, t := range tangents {
		// (σ² + C Cᵀ)⁻¹ = (1 − C (σ² + CᵀC)⁻¹ Cᵀ)/σ²
		var factor mat.Cholesky
		try.FailIf(!factor.Factorize(dense.Shift(dense.Gram(t.byControls.T()), variance)), "the vectors of the frame become linearly dependent in the search: take a lower rank, or a larger Noise")
		var along, follow, rest, part mat.Dense
		along.Mul(t.byControls.T(), t.byStart)
		try.Do(factor.SolveTo(&follow, &along))
		rest.Mul(t.byControls, &follow)
		rest.Sub(t.byStart, &rest)
		part.Mul(t.byStart.T(), &rest)
		part.Scale(1/(float64(len(tangents))*variance), &part)
		sum.Add(sum, &part)
	}
	// A ridge keeps what few samples say of the frame, and directions that leave a Charted manifold, invertible.
	h := dense.Shift(dense.Symmetric(sum), ridge/e.at.spread())
	e.addVolume(h)
	return h
}

// probes returns 2m controls that are constant in time, with the mean and the covariance of those of the samples.
func (e *estimation) probes() [][]float64 {
	samples := e.paths.constant()
	centre, covariance := lists.Combine(e.Weights, samples), mat.NewSymDense(e.Rank, nil)
	for i, w := range e.Weights {
		covariance.SymRankOne(covariance, w, mat.NewVecDense(e.Rank, floats.SubTo(make([]float64, e.Rank), samples[i], centre)))
	}
	variances, axes, ok := dense.Eigen(covariance)
	try.FailIf(!ok,
		"the most probable paths at a step of the search are not finite: give more steps of the integrator, a larger Noise, or a Start closer to the samples")
	var probes [][]float64
	for a, v := range variances {
		length := math.Sqrt(float64(e.Rank) * max(0, v))
		for _, signed := range []float64{-length, length} {
			probes = append(probes, floats.AddScaledTo(make([]float64, e.Rank), centre, signed, mat.Col(nil, a, axes)))
		}
	}
	return probes
}

// addVolume adds the second derivative of ½ log det(νᵀ g ν) with respect to ν, on vectors orthogonal to the span of ν: it is
// (νᵀ g ν)⁻¹ ⊗ g as in flat space.
func (e *estimation) addVolume(h *mat.SymDense) {
	m := e.space.Base.M
	if geom.IsCharted(m) {
		return // g is E or close to it, and its term is small compared with that of the paths
	}
	out := e.space.call("metric", func(in []*Node) []*Node { return []*Node{geom.MetricMatrix(m, in[0])} }, e.at.X)
	dim := len(e.at.X)
	g := mat.NewDense(dim, dim, out.Flat(0))
	frame := dense.Rows(e.at.Frame)
	var flat, gram, inverse, along, part mat.Dense
	flat.Mul(frame, g)
	gram.Mul(&flat, frame.T())
	try.Do(try.Name(inverse.Inverse(&gram), "the frame degenerates"))
	along.Mul(&inverse, &flat)
	part.Mul(flat.T(), &along) // g ν (νᵀ g ν)⁻¹ νᵀ g
	for k := range e.Rank {
		for l := range k + 1 {
			w := (inverse.At(k, l) + inverse.At(l, k)) / 2
			for j := range dim {
				for i := range dim {
					if at, to := (k+1)*dim+j, (l+1)*dim+i; at >= to {
						h.SetSym(at, to, h.At(at, to)+w*(g.At(j, i)+g.At(i, j)-part.At(j, i)-part.At(i, j))/2)
					}
				}
			}
		}
	}
}
