package stats

import (
	"anatomy/geom"
	"anatomy/geom/framebundle"
)

// FrameBundleMean returns the Fréchet mean on the frame bundle: a point x and a frame ν of rank m, 1 ≤ m ≤ d, at a local minimum
// of
//
//	Σ w_i (½ ‖p_i‖² + λ |π Exp_FM(u, p_i) − x_i|²) + ½ log det(νᵀ g ν),  λ = 1/2σ²,
//
// over u = (x, ν) and the momenta p_i of paths from u. Exp_FM is the geodesic flow of the frame bundle, π the projection
// (x, ν) ↦ x, and |·| the Euclidean norm of coordinates, or of ambient vectors on a Charted manifold. The covariance of the
// samples is ννᵀ. As σ → 0 the objective is the negative log-likelihood of a normal distribution on the manifold, with the energy
// of the most probable path to a sample in place of −log of its density (Sommer, Information Processing in Medical Imaging, 2015).
// Kühnel and Sommer print the logarithm with the opposite sign, for which there is no minimum.
//
// σ > 0 is the standard deviation of the noise of a coordinate. In flat space the covariance of the samples along the frame is then V + 2σ² +
// σ⁴V⁻¹ with V = ννᵀ, so V is too small by about 2σ². (The likelihood of samples with noise has V + σ².) As σ → 0 the result in flat space is
// the mean and the covariance of the samples, and for m < d the leading principal components. With σ > 0 the objective has no least value,
// because it tends to −∞ as the frame shrinks to 0. A local minimum exists where the standard deviations of the samples along the frame are
// more than 2σ.
//
// The samples determine a frame of rank m well if 2σ lies between the standard deviations of the principal components m and m + 1:
//
//   - It is an error if σ exceeds 0.49 of the standard deviation of component m, because the frame would lose a vector.
//   - If samples deviate in directions outside the frame by much more than 2σ, their paths bend, because a curved path also
//     reaches points in other directions. This is right for samples of a distribution of rank m on a curved manifold. For other
//     samples the frame then describes the bends and not the spread, and the search is long.
//   - A sample that no smooth deformation reaches, such as an outline with landmarks in a wrong order, has a path that turns many
//     times. If no most probable path to it is found, Status is not Converged, and Unmatched names the sample. Leave it out, or choose a
//     larger Noise or rank.
//
// Status is Converged if Imbalance is at most the Tolerance, whatever the number of samples and the unit of length, and the paths
// end within 5e-6 of the distance of the farthest sample. A search that does not converge is not an error:
// Err says why. It is an error if the rank is not from 1 to d, if there are too few samples for it, or if a sample is not a point.
//
// The options are Weights, Start, Noise (σ; default: the standard deviation that the principal components leave in other
// directions, but at least 1/100 and at most 1/4 of the least standard deviation along the frame), Tolerance (default 0.01, in
// standard errors) and MaxIterations (50; 10 if the samples do not determine a frame of this rank).
//
// # Algorithm
//
// The paths are most probable ones at every step of the search (see framebundle.Space.MostProbablePath), so the derivative of the objective
// with respect to u is given by their momenta. The search for u is quasi-Newton and starts from the Gauss–Newton Hessian, which comes from the
// derivatives of the ends of 2m paths whose anti-developments have the mean and the covariance of those of the samples. It begins with much
// noise and few steps of the integrator. A step moves x in coordinates with the covectors ν_β♭ held, on a Charted manifold along a geodesic.
// If the search for the path to a sample fails at steps of u that shrink, the search for u continues with the best path to it that is known.
func FrameBundleMean[P geom.Point](on geom.Of[P], samples []P, rank int, opts ...MeanOption) (_ *framebundle.Mean[P], err error) {
	s := on.Geometry()
	r := newRun("Frame bundle mean", s, 1e-2)
	defer r.end(&err)
	r.MaxIterations, r.lengths = 0, true // the former cannot be given
	x, w := samplesOf(r, s, samples, opts)
	return framebundle.Estimate(s, framebundle.Estimation{Samples: x, Weights: w, Start: r.startingPoint(x, w), Rank: rank, Noise: r.noise,
		Tolerance: r.Tolerance, MaxIterations: r.MaxIterations, Task: r.Task})
}
