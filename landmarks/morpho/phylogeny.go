package morpho

import (
	"fmt"
	"strings"

	"gonum.org/v1/gonum/mat"

	"anatomy/geom/tree"
	"anatomy/landmarks/internal/text"
)

// OnTree returns the specimens in the order of the leaves of a tree, matched by their names, in which _ and a space are the same; the
// points are shared. It is an error, which lists them, if a leaf has no specimen, a specimen no leaf, or two of either one name.
func (d *Dataset) OnTree(t *tree.Tree) (*Dataset, error) {
	fail := func(format string, args ...any) (*Dataset, error) {
		return nil, fmt.Errorf("%s: on the tree: %s", d.Name, fmt.Sprintf(format, args...))
	}
	plain := func(name string) string { return strings.ReplaceAll(name, "_", " ") }
	specimens := map[string]int{}
	for i, s := range d.Specimens {
		if j, taken := specimens[plain(s.Name)]; taken {
			return fail("specimens %d and %d both are called %s: take their mean, or leave one out with Without", j, i, text.Clip(s.Name))
		}
		specimens[plain(s.Name)] = i
	}
	out := *d
	out.Specimens = nil
	var alone []string // leaves without a specimen
	leaves := map[string]bool{}
	for _, i := range t.Leaves() {
		name := plain(t.Name[i])
		if leaves[name] {
			return fail("two leaves are called %s", text.Clip(t.Name[i]))
		}
		leaves[name] = true
		if s, ok := specimens[name]; ok {
			out.Specimens = append(out.Specimens, d.Specimens[s])
		} else {
			alone = append(alone, t.Name[i])
		}
	}
	var off []string
	for _, s := range d.Specimens {
		if !leaves[plain(s.Name)] {
			off = append(off, s.Name)
		}
	}
	switch {
	case len(alone) > 0 && len(off) > 0:
		return fail("no specimens for the leaves %s; no leaves for the specimens %s", listNames(alone), listNames(off))
	case len(alone) > 0:
		return fail("no specimens for the leaves %s: take the tree of the others by its method Keep", listNames(alone))
	case len(off) > 0:
		return fail("no leaves for the specimens %s: leave them out with Without", listNames(off))
	}
	return &out, nil
}

// PhylogeneticSignal returns the signal K of shapes on a tree whose leaves are the specimens (D. Adams, A generalized K statistic for
// estimating phylogenetic signal from shape and other high-dimensional multivariate data, Syst. Biol. 63, 2014; see tree.Tree.Signal).
// The shapes are aligned as for ProcrustesANOVA, that is, as geomorph does. It has the errors of OnTree, and is one if landmarks are missing or
// all shapes are the same.
func PhylogeneticSignal(d *Dataset, t *tree.Tree, permutations int, seed uint64) (*tree.Signal, error) {
	fail := func(err error) (*tree.Signal, error) {
		return nil, fmt.Errorf("phylogenetic signal of %s: %w", d.Name, err)
	}
	ordered, err := d.OnTree(t)
	if err != nil {
		return nil, err
	}
	y, _, err := ordered.tangentCoordinates()
	if err != nil {
		return fail(err)
	}
	values := make([][]float64, len(ordered.Specimens))
	for i := range values {
		values[i] = mat.Row(nil, i, y)
	}
	signal, err := t.Signal(values, permutations, seed)
	if err != nil {
		return fail(err)
	}
	return signal, nil
}
