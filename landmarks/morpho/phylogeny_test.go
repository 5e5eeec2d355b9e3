package morpho_test

import (
	"math"
	"slices"
	"testing"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/tree"
	"anatomy/landmarks/morpho"
)

// Specimens come in the order of the leaves.
func TestOnTree(t *testing.T) {
	d := morpho.PlethodonSpecies()
	phylogeny := expect.Must(tree.Parse(morpho.PlethodonTree()))
	ordered := expect.Must(d.OnTree(phylogeny))
	for a, i := range phylogeny.Leaves() {
		if s := ordered.Specimens[a]; s.Name != phylogeny.Name[i] || &s.Points[0] != &d.Shape(s.Name)[0] {
			t.Errorf("leaf %d, %s, has the specimen %s", a, phylogeny.Name[i], s.Name)
		}
	}
	blank := expect.Must(tree.Parse("('P cinereus':1,P_serratus:1);"))
	two := *d
	two.Specimens = []morpho.Specimen{{Name: "P serratus"}, {Name: "P_cinereus"}}
	if got := expect.Must(two.OnTree(blank)).Names(); got[0] != "P_cinereus" || got[1] != "P serratus" {
		t.Errorf("%v", got)
	}
	expect.Refused(t, expect.Error(d.Without("P_cinereus").OnTree(phylogeny)), `no specimens for the leaves "P_cinereus"`, "Keep")
	expect.Refused(t, expect.Error(d.OnTree(expect.Must(phylogeny.Keep("P_hoffmani", "P_cinereus", "P_serratus", "P_virginia", "P_nettingi", "P_richmondi", "P_shenandoah")))),
		`no leaves for the specimens "P_electromorphus", "P_hubrichti"`, "Without")
	two.Specimens = []morpho.Specimen{{Name: "P serratus"}, {Name: "P_other"}}
	expect.Refused(t, expect.Error(two.OnTree(blank)), `no specimens for the leaves "P cinereus"; no leaves for the specimens "P_other"`)
	two.Specimens = []morpho.Specimen{{Name: "P serratus"}, {Name: "P_serratus"}}
	expect.Refused(t, expect.Error(two.OnTree(blank)), "specimens 0 and 1 both are called")
	expect.Refused(t, expect.Error(d.OnTree(expect.Must(tree.Parse("('a b':1,a_b:1);")))), `two leaves are called "a_b"`)
}

// A tree is pruned to the specimens, or the specimens become the means of the values that its leaves are.
func TestMatchTree(t *testing.T) {
	d := morpho.PlethodonSpecies()
	phylogeny := expect.Must(tree.Parse(morpho.PlethodonTree()))
	few := d.Without(d.Specimens[0].Name, d.Specimens[1].Name)
	got, pruned, err := few.MatchTree(phylogeny)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(pruned.Leaves()); n != 7 || len(got.Specimens) != 7 || !slices.Contains(got.Notes, "2 leaves of the tree without specimens were left out of it") {
		t.Error(n, got, got.Notes)
	}
	expect.Must(few.OnTree(pruned))

	// Two specimens of each species, turned, and of sizes 1 and 3 times: their mean has the shape, and twice the size.
	twice := &morpho.Dataset{Name: "twice"}
	for _, s := range d.Specimens {
		var turned [][]float64
		for _, p := range s.Points {
			turned = append(turned, []float64{7 - 3*p[1], 3 * p[0]})
		}
		about := map[string]string{"species": s.Name, "sex": "f"}
		twice.Specimens = append(twice.Specimens, morpho.Specimen{Name: s.Name + " 1", Points: s.Points, Covariates: about},
			morpho.Specimen{Name: s.Name + " 2", Points: turned, Covariates: map[string]string{"species": s.Name, "sex": "m"}})
	}
	means, _, err := twice.MatchTree(phylogeny)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(means.Notes, "the leaves of the tree are values of species: 18 specimens became the means of 9 values") {
		t.Error(means.Notes)
	}
	for _, s := range means.Specimens {
		one := d.Shape(s.Name)
		if off := expect.Must(morpho.ShapeDistance(one, s.Points)); off > 1e-7 || math.Abs(morpho.CentroidSize(s.Points)/morpho.CentroidSize(one)-2) > 1e-9 {
			t.Errorf("%s: %g off, size %g", s.Name, off, morpho.CentroidSize(s.Points)/morpho.CentroidSize(one))
		}
		if _, has := s.Covariates["sex"]; has || s.Covariates["species"] != s.Name {
			t.Error(s.Covariates)
		}
	}
	_, _, err = d.MatchTree(expect.Must(tree.Parse("(a:1,b:1);")))
	expect.Refused(t, err, "no specimens for the leaves", "no leaves for the specimens")
}
