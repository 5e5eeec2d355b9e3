package population_test

import (
	"fmt"
	"math"

	"anatomy/geom"
	"anatomy/geom/ode"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/surfaces/attachment"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/population"
)

// The mean of five ellipses, with another number of points each, and how they vary: by their half axes.
func ExampleModel_Atlas() {
	ellipse := func(n int, a, b float64) *mesh.Mesh {
		var x [][]float64
		for i := range n {
			s, c := math.Sincos(2 * math.Pi * float64(i) / float64(n))
			x = append(x, []float64{a * c, b * s})
		}
		return mesh.Curve(x, true)
	}
	var subjects [][]*mesh.Mesh
	for i, h := range []float64{-0.2, -0.1, 0, 0.1, 0.2} {
		subjects = append(subjects, []*mesh.Mesh{ellipse(30+3*i, 2*(1+h), 1-h)})
	}
	controls := ellipse(12, 2, 1).Vertices
	model := population.Model{
		Space:   landmarks.New(12, 2, kernels.Gaussian(1), geom.Integrator(ode.Heun, 5)),
		Objects: []population.Object{{Norm: attachment.Norm{Kernel: kernels.Gaussian(0.5)}, Noise: 0.3}},
	}
	atlas, err := model.Atlas(subjects[0], controls, subjects)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := atlas.Err(); err != nil { // the search has not converged
		fmt.Println(err)
		return
	}
	area, err := atlas.Template[0].Volume()
	if err != nil {
		fmt.Println(err)
		return
	}
	modes, err := atlas.PCA(model)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: %d points, area %.1f, first mode %.0f %%\n", atlas.Status, len(atlas.Template[0].Vertices), area, 100*modes.Explained[0])
	// Output:
	// converged: 30 points, area 6.2, first mode 100 %
}
