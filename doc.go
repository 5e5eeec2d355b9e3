// Package anatomy names the version of this module, which computes with anatomical shapes. Nothing else is in it: the packages below do
// the work, and `go doc -all ./landmarks` prints the documentation of one of them.
//
//	landmarks                     shapes of landmarks: the manifold of LDDMM, geodesics, matches
//	landmarks/morpho              files of landmarks, alignment, semi-landmarks, published data sets
//	landmarks/morpho/shapestats   linear models of shapes with permutation tests, integration, symmetry, phylogenies
//	landmarks/surfaces/mesh       files of curves and surfaces, and their repair
//	landmarks/surfaces/population templates and modes of curves and surfaces without correspondences
//	landmarks/morpho/supplement   the report about a data set or a mesh; landmarks/surfaces/report adds what needs XLA
//	geom                          geodesics, logarithms, transport and curvature on any manifold; the notation of the project
//	geom/manifold                 spheres, tori, covariance matrices, Kendall's shape spaces and others; geom/lie has matrix groups
//	geom/stats                    Fréchet means, tangent PCA, regression, permutation tests on any manifold
//	geom/stochastic               Brownian motion, bridges, likelihoods; geom/guided has posteriors
//	geom/framebundle              frames, development, most probable paths
//	kernels                       reproducing kernels and their sums over many points
//	viz                           pictures
//	notebooks/nb                  what cells of notebooks call
package anatomy

// Version is that of the module. Reports, supplements and the program anatomy show it; CHANGELOG.md says what a version brought.
const Version = "0.1.0"
