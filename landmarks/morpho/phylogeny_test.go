package morpho_test

import (
	"math"
	"testing"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/tree"
	"anatomy/landmarks/morpho"
)

// The signal of the heads of nine salamander species as published (geomorph's physignal of plethspecies): K = 0.9573.
func TestPhylogeneticSignal(t *testing.T) {
	phylogeny := expect.Must(tree.Parse(morpho.PlethodonTree()))
	s, err := morpho.PhylogeneticSignal(morpho.PlethodonSpecies(), phylogeny, 999, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(s)
	if math.Abs(s.K-0.9573) > 0.00005 {
		t.Errorf("K = %.6f, want 0.9573", s.K)
	}
	if again := expect.Must(morpho.PhylogeneticSignal(morpho.PlethodonSpecies(), phylogeny, 999, 1)); *again != *s {
		t.Errorf("%v with the same seed, %v before", again, s)
	}
}

// Codes of missing landmarks are no coordinates, and one shape has no signal but that of rounding.
func TestPhylogeneticSignalRefuses(t *testing.T) {
	phylogeny := expect.Must(tree.Parse(morpho.PlethodonTree()))
	coded, same := morpho.PlethodonSpecies(), morpho.PlethodonSpecies()
	coded.Shape("P_cinereus")[2] = []float64{9999, 9999}
	for i := range same.Specimens {
		f := float64(i)
		turned := morpho.Similarity{Scale: 1 + f, Rotation: [][]float64{{math.Cos(f), -math.Sin(f)}, {math.Sin(f), math.Cos(f)}}, Translation: []float64{f, 1}}
		same.Specimens[i].Points = turned.Apply(morpho.PlethodonSpecies().Specimens[0].Points)
	}
	for want, d := range map[string]*morpho.Dataset{
		`specimen "P_cinereus": landmark 2 is at [9999 9999]`: coded,
		"all specimens have the same shape":                   same,
	} {
		expect.Refused(t, expect.Error(morpho.PhylogeneticSignal(d, phylogeny, 99, 1)), "phylogenetic signal of salamander species", want)
	}
}

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
