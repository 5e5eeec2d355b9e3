package stochastic

import (
	"slices"

	"anatomy/geom/engine"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/geom/tree"
	"anatomy/geom/try"
	"anatomy/internal/lists"
)

// Along simulates r.Paths evolutions along a tree: the process starts at the root, runs along every edge for the time r.Time times its
// length, and at a branching point goes on independently in all children from where it is, with its parts; its time is that since the
// root. It returns the points of the nodes, [nodes][r.Paths]. Each edge takes r.Steps steps; r.Time is the time of a unit of length, so for Brownian motion the rate of
// evolution. An evolution that diverges on one edge is left out at all nodes: there are fewer than r.Paths.
//
// It has the errors of Paths, and is one if the length of an edge is missing. While the rate is small, the coordinates of the leaves have
// the covariance V ⊗ g*, with V of tree.Tree.Shared and the cometric g* at the start.
func (p Process[P]) Along(t *tree.Tree, r Run) (_ [][]P, err error) {
	defer try.Named(&err, "%s", p.Name)
	try.Do(t.CheckLengths())
	p.check(&r, false)
	states := make([][]any, len(t.Parent)) // of all paths at the nodes: points, [N, ...], and parts, [k, N, ...]
	times := make([]float64, len(t.Parent))
	left := make([]int, len(t.Parent)) // children whose edges are still to be run
	for _, q := range t.Parent[1:] {
		left[q]++
	}
	points := lists.Make(r.Paths, func(_ int) []float64 { return shape.Flat(p.Start) })
	states[0] = []any{points}
	for _, part := range p.Parts {
		vectors := shape.FlatAll(part.Vectors)
		repeated := make([][][]float64, len(vectors))
		for j, v := range vectors {
			for range r.Paths {
				repeated[j] = append(repeated[j], v)
			}
		}
		states[0] = append(states[0], repeated)
	}
	ends := [][][]float64{points}
	kept := lists.Range(r.Paths)
	for i, q := range t.Parent[1:] {
		i++
		state := states[q]
		times[i] = times[q] + t.Length[i]*r.Time
		if time := t.Length[i] * r.Time; time > 0 {
			// Of its own for every edge, and independent of the numbers of paths and of other edges.
			var out engine.Values
			err := try.Run(func() {
				var here []int
				out, here = p.simulate(ode.Increments(r.stream(i), r.Steps, r.Paths, p.Noise, time), times[q], time, state, true, false)
				kept = slices.DeleteFunc(kept, func(k int) bool { _, ok := slices.BinarySearch(here, k); return !ok })
			})
			try.Do(try.Name(err, "edge above %s", t.Label(i)))
			state = []any{out.Matrix(0)}
			for j := range p.Parts {
				state = append(state, out.Array3(j+1))
			}
		}
		if left[q]--; left[q] == 0 {
			states[q] = nil
		}
		states[i] = state
		ends = append(ends, state[0].([][]float64))
	}
	if lost := r.Paths - len(kept); float64(lost) > mostLeftOut*float64(r.Paths) {
		try.Fail("%d of %d evolutions diverge on some edge: use more steps or a lower rate", lost, r.Paths)
	}
	return lists.Each(ends, func(end [][]float64) []P { return p.Space.Points(lists.Pick(end, kept)) }), nil
}
