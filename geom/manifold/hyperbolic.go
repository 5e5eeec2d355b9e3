package manifold

import "anatomy/geom"

// Hyperbolic is the hyperbolic space H^n of curvature −1 as a hyperboloid: the vectors z of R^(n+1) with z_0 > 0 and
// −z_0² + z_1² + … + z_n² = −1. Its charts are Poincaré's ball.
func Hyperbolic(n int) geom.Atlas {
	atLeast("Hyperbolic", n, 1)
	return constantCurvature{n, -1}
}
