package population

import (
	"fmt"
	"time"

	"anatomy/geom/engine"
	"anatomy/geom/try"
	"anatomy/internal/lists"
)

// usualEvaluations is how many evaluations a search with given noise takes: 60 to 320 of profiles, brains and simulated skulls, at the tolerance 0.05.
const usualEvaluations = 150

// plan says what a search will take if one evaluation takes so long, and refuses one that wants more memory than there is.
func (f *fit) plan(name string, once time.Duration) string {
	what, bytes := fmt.Sprintf("%s of %d subjects", name, len(f.design)), f.memory()
	try.Do(engine.Fits(what, bytes))
	return fmt.Sprintf("%s: about %v for %d evaluations, and %.1f GB", what, (usualEvaluations * once).Round(time.Second), usualEvaluations, bytes/1e9)
}

// memory is how many bytes a search takes, as estimated: see TestMemory for what was measured.
func (f *fit) memory() float64 {
	const (
		resident = 1.5e8 // XLA with the compiled functions
		garbage  = 2     // Go's heap grows to twice what is in use
		measure  = 120   // a cell of a subject: its middle and its weights, with their slices
	)
	at, d, subjects := f.blocks(), f.Space.Manifold.D, float64(len(f.design))
	cells := lists.Sum(len(f.start), func(o int) float64 { return float64(len(f.start[o].Cells)) })
	each := 2*(16+24/float64(d))*float64(at[0][1]) + measure*cells // two evaluations, with pulls and deformed vertices
	heap := 16*remembered*float64(at[2][1]) + subjects*each
	if f.stiffens() {
		size, apart := float64(f.Space.Manifold.Dim()), 1.0
		if subjects*size*size <= maxApart {
			apart = subjects
		}
		heap += 8 * size * size * (3 + 3*apart)
	}
	return resident + f.calls + garbage*heap
}
