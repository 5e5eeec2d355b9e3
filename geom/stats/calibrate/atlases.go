package main

import (
	"fmt"

	simulated "anatomy/landmarks/population/recovery"
)

// atlases simulates populations of curves and surfaces, and says how template, modes and noise come back.
func atlases(b *bench) error {
	const subjects, samples = 30, 3
	b.text("Atlases of %d simulated subjects without correspondences, with the noise estimated: an ellipse or ellipsoid, deformed by two modes, its vertices displaced by independent noise. Distances are those of currents.", subjects)
	b.header("subjects", "status", "template from the truth", "templates of two halves", "plane of the modes", "σ", "the truth")
	for _, c := range []struct {
		name     string
		simulate func(subjects int, seed uint64) (*simulated.Result, error)
	}{{"curves", simulated.Curves}, {"surfaces", simulated.Surfaces}} {
		for k := range uint64(samples) {
			r, err := c.simulate(subjects, b.seed+k)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			b.row("%s | %s | %.3f | %.3f | %.1f° | %.4f | %.4f", c.name, r.Atlas.Status, r.Template, r.Halves, r.Plane, r.Atlas.Noise, r.Truth)
		}
	}
	return nil
}
