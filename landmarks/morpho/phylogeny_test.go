package morpho_test

import (
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
