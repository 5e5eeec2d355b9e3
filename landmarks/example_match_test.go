package landmarks_test

import (
	"fmt"

	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/morpho"
)

// The shortest deformation of one corpus callosum into another.
func ExampleSpace_Log() {
	cc := morpho.CorpusCallosum()
	M := landmarks.New(39, 2, kernels.Gaussian(cc.Spacing()))
	g, err := M.Log(cc.Shape("jhu_atlas"), cc.Shape("colin27"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%v, length %.2f %s, exact to 1e-8: %v\n", g.Status, g.Length, cc.Unit, g.Residual < 1e-8)
	// Output: converged, length 23.11 mm, exact to 1e-8: true
}

// Match weighs the length of the way against the mismatch that is left: right for wide kernels and noisy landmarks.
func ExampleSpace_Match() {
	cc := morpho.CorpusCallosum()
	M := landmarks.New(39, 2, kernels.Gaussian(3*cc.Spacing()))
	m, err := M.Match(cc.Shape("jhu_atlas"), landmarks.Correspondence(cc.Shape("colin27")), 0.1)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%v, %.0f%% of the distance is left\n", m.Status, 100*m.Residual)
	// Output: converged, 6% of the distance is left
}
