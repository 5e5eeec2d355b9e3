// Package stats is statistics of points on a manifold: the Fréchet mean and the geometric median, tangent principal
// components and principal geodesics, geodesic regression, two-sample permutation tests.
//
//	mean, err := stats.FrechetMean(space, samples)
//	pca, err := stats.TangentPCA(mean)
//	points, err := pca.Mode(space, 0, -2, -1, 0, 1, 2) // along the first mode, in standard deviations
//
// Samples are x_1 … x_N with weights w_i ≥ 0, Σ w_i = 1 (1/N unless Weights says otherwise), points as the space takes
// them: lists of numbers, or shapes. Distances are d(y, x) = ‖Log_y(x)‖_g.
//
// # Exact and inexact
//
// Logarithms of many noisy landmarks need not be within reach: a kernel cannot tell landmarks apart that lie much
// closer together than its width, and an exact match bends the geodesic wildly. Mismatch(σ) replaces d² by
//
//	d_σ²(y, x) = min_v ‖v‖²_g + |Exp_y(v) − x|²/σ²,
//
// which needs no logarithm. Where space is flat it is the norm of x − y in (g* + σ²)⁻¹: σ² is the nugget of kriging. It is d²
// in the limit σ → 0.
//
// # Stopping
//
// What takes long tells of its iterations, and ends early when the geom.Context of the space does, or at a notebook's stop
// button: the result is then the best so far, its Status geom.Cancelled. The results have exported fields only, so that a
// notebook can keep them.
package stats
