package manifold

import (
	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/linalg"
)

// Sphere returns the unit sphere S^n in R^(n+1), n ≥ 1; points are unit vectors, and distances angles in radians. Charts are
// stereographic projections. It has closed forms.
func Sphere(n int) geom.Atlas {
	atLeast("Sphere", n, 1)
	return sphere{constantCurvature{n, 1}}
}
