package attachment_test

import (
	"fmt"

	"anatomy/kernels"
	"anatomy/landmarks/surfaces/attachment"
	"anatomy/landmarks/surfaces/mesh"
)

// Two spheres with different triangles are near to each other as varifolds, an ellipsoid is farther off.
func ExampleVarifold() {
	source := mesh.Icosphere(2)
	for _, target := range []*mesh.Mesh{mesh.Ellipsoid(1, 1, 1, 12, 24), mesh.Ellipsoid(1.3, 1, 0.8, 12, 24)} {
		d, err := attachment.Varifold(kernels.Gaussian(0.5), source, target).Value(source.Vertices)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%d triangles to %d: %.3f\n", len(source.Triangles()), len(target.Triangles()), d)
	}
	// Output:
	// 320 triangles to 576: 0.001
	// 320 triangles to 576: 2.040
}
