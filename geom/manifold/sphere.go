package manifold

import "anatomy/geom"

// Sphere is the unit sphere S^n of R^(n+1); the points are unit vectors. Its charts are stereographic.
func Sphere(n int) geom.Atlas {
	atLeast("Sphere", n, 1)
	return constantCurvature{n, 1}
}
