package population

import (
	"fmt"
	"time"

	"anatomy/geom/engine"
	"anatomy/geom/try"
)

// usualEvaluations is how many evaluations a search with given noise takes: 60 to 320 of profiles, brains and simulated skulls, at the tolerance 0.05.
const usualEvaluations = 150

// plan says what a search will take if one evaluation takes so long, and refuses one that wants more memory than there is.
func (f *fit) plan(name string, once time.Duration) string {
	at, d, subjects := f.blocks(), f.Space.Manifold.D, float64(len(f.design))
	cells := 0
	for _, m := range f.start {
		cells += len(m.Cells)
	}
	const measured = 120                                                     // bytes of a cell: its middle and its weights, with their slices
	each := 2*(16+24/float64(d))*float64(at[0][1]) + measured*float64(cells) // two evaluations, with pulls and deformed vertices
	bytes := callMemory + 16*remembered*float64(at[2][1]) + subjects*each
	if f.stiffens() {
		size, apart := float64(f.Space.Manifold.Dim()), 1.0
		if subjects*size*size <= maxApart {
			apart = subjects
		}
		bytes += 8 * size * size * (3 + 3*apart)
	}
	what := fmt.Sprintf("%s of %d subjects", name, len(f.design))
	try.Do(engine.Fits(what, bytes))
	return fmt.Sprintf("%s: about %v for %d evaluations, and %.1f GB", what, (usualEvaluations * once).Round(time.Second), usualEvaluations, bytes/1e9)
}
