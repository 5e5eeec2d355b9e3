package morpho

import (
	"fmt"
	"strings"

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
