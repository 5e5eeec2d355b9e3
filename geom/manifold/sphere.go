package manifold

import "anatomy/geom"

// Sphere returns the unit sphere S^n in R^(n+1), n ≥ 1; points are unit vectors, and distances angles in radians. Charts are
// stereographic projections. It has closed forms.
func Sphere(n int) geom.Atlas {
	atLeast("Sphere", n, 1)
	return constantCurvature{n, 1}
}
