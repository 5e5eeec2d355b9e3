// Package stats is statistics of points on a manifold: the Fréchet mean, principal components in the
// tangent space, means with covariance on the frame bundle, geodesic regression, growth of many
// subjects, permutation tests of groups and covariates. A newcomer begins with a mean and its principal components:
//
//	space := geom.On(manifold.Sphere(2))           // or landmarks.New(…), with shapes as points
//	mean, err := stats.FrechetMean(space, samples) // mean.Point, mean.Variance, mean.Distances
//	pca, err := stats.TangentPCA(mean)             // pca.Modes, pca.Variances, pca.Scores
//	points, err := pca.Mode(space, 0, -2, 0, 2)    // along the first mode, at −2, 0 and 2 standard deviations
//	u, err := stats.MeanUncertainty(space, mean)   // u.StandardError of the mean, u.Radii(0.95)
//
// Samples are x_1 … x_N with weights w_i ≥ 0, Σ w_i = 1 (1/N without the option Weights). They are points of the type of the
// space, lists of numbers or shapes. Distances are d(y, x) = ‖Log_y(x)‖_g, in the unit of the data for landmarks. The rest of
// the notation is that of package geom.
//
// # Exact and inexact
//
// Logarithms between shapes of many noisy landmarks may not be found: a kernel cannot separate landmarks that are much closer
// together than its width, and a geodesic that matches them exactly is bent wildly. The option RelativeNoise(σ) replaces d² by
//
//	d_σ²(y, x) = min_v ‖v‖²_g + |Exp_y(v) − x|²/σ²,
//
// which needs no logarithm. In flat space d_σ is the norm of x − y in the inner product (g* + σ²)⁻¹, with σ² in the part that the nugget has in
// kriging. For σ → 0, d_σ² becomes d².
//
// # Stopping
//
// Long computations report every iteration, and end early when the geom.Context of the space ends or a notebook's stop button is pressed. They then
// return the best result so far with the Status geom.Cancelled and no error; only MeanUncertainty returns an error. All fields of the results are
// exported, so that a notebook can store them.
package stats
