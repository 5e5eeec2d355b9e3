package manifold

import "anatomy/geom"

// Hyperbolic returns the hyperbolic space H^n, n ≥ 1, of curvature −1 as a hyperboloid: points are the vectors z of R^(n+1) with
// z_0 > 0 and −z_0² + z_1² + … + z_n² = −1. A chart is Poincaré's ball. It has closed forms.
func Hyperbolic(n int) geom.Atlas {
	atLeast("Hyperbolic", n, 1)
	return constantCurvature{n, -1}
}
