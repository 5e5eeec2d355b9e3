package morpho_test

import (
	"fmt"

	"anatomy/landmarks/morpho"
)

func ExampleDataset() {
	cc := morpho.CorpusCallosum()
	fmt.Println(cc.Names())
	fmt.Printf("%d landmarks, %.2f %s apart\n", len(cc.Shape("jhu_atlas")), cc.Spacing(), cc.Unit)
	// Output:
	// [jhu_atlas colin27]
	// 39 landmarks, 5.04 mm apart
}

// Bones lie as they were digitised; their shapes compare once place, rotation and size are gone.
func ExampleProcrustes() {
	a, err := morpho.Procrustes(morpho.MouseVertebrae().Shapes())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d shapes, %s, root mean square distance from the mean: %.4f\n", len(a.Shapes), a.Status, a.RMS)
	// Output:
	// 76 shapes, converged, root mean square distance from the mean: 0.0737
}

// A look at the data before any analysis.
func ExampleInspect() {
	mice := morpho.MouseVertebrae()
	look, err := morpho.Inspect(mice)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(look)
	fmt.Println(look.Findings[0])
	fmt.Println(mice.Without(look.Names(morpho.OutOfOrder)...))
	// Output:
	// 76 specimens, 7 out of order
	// mouse01: landmarks 31, 32, 33, 34, 35, 36, 37 and 38 in another order make the outline 7.82 spacings shorter; put them in order in the file, or leave the specimen out where outlines are deformed (--without mouse01)
	// mouse vertebrae, outlines: 69 specimens of 60 landmarks in 2 dimensions, closed outlines; groups control (23), large (23), small (23)
}
