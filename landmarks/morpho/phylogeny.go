package morpho

import (
	"maps"
	"slices"

	"gonum.org/v1/gonum/stat"

	"anatomy/geom/shape"
	"anatomy/geom/tree"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/text"
)

// OnTree returns the specimens in the order of the leaves of a tree, matched by their names, in which _ and a space are the same; the
// points are shared. It is an error, which lists them, if a leaf has no specimen, a specimen no leaf, or two of either one name.
func (d *Dataset) OnTree(t *tree.Tree) (_ *Dataset, err error) {
	defer try.Named(&err, "%s: on the tree", d.Name)
	specimens := map[string]int{}
	for i, s := range d.Specimens {
		j, taken := specimens[spaced(s.Name)]
		try.FailIf(taken, "specimens %d and %d both are called %s: take their mean, or leave one out with Without", j, i, text.Clip(s.Name))
		specimens[spaced(s.Name)] = i
	}
	out := *d
	out.Specimens = nil
	var alone []string // leaves without a specimen
	leaves := map[string]bool{}
	for _, i := range t.Leaves() {
		name := spaced(t.Name[i])
		try.FailIf(leaves[name], "two leaves are called %s", text.Clip(t.Name[i]))
		leaves[name] = true
		if s, ok := specimens[name]; ok {
			out.Specimens = append(out.Specimens, d.Specimens[s])
		} else {
			alone = append(alone, t.Name[i])
		}
	}
	var off []string
	for _, s := range d.Specimens {
		if !leaves[spaced(s.Name)] {
			off = append(off, s.Name)
		}
	}
	switch {
	case len(alone) > 0 && len(off) > 0:
		try.Fail("no specimens for the leaves %s; no leaves for the specimens %s", text.Names(alone), text.Names(off))
	case len(alone) > 0:
		try.Fail("no specimens for the leaves %s: take the tree of the others by its method Keep", text.Names(alone))
	case len(off) > 0:
		try.Fail("no leaves for the specimens %s: leave them out with Without", text.Names(off))
	}
	return &out, nil
}

// MatchTree returns the specimens in the order of the leaves of a tree, as OnTree does, and the tree without the leaves that have none. Where
// no specimen is called as a leaf is, but a covariate or the group has the names of leaves, the specimens are the means of those of one
// value: the Procrustes mean of their shapes at the mean of their centroid sizes, or the mean of coordinates that are Flat at that of "log size".
// Notes say both. Its errors are those of OnTree.
func (d *Dataset) MatchTree(t *tree.Tree) (_ *Dataset, _ *tree.Tree, err error) {
	defer try.Catch(&err)
	leaves := map[string]string{}
	for _, i := range t.Leaves() {
		leaves[spaced(t.Name[i])] = t.Name[i]
	}
	on := func(values []string) (kept []string) {
		for _, v := range values {
			if leaf, is := leaves[spaced(v)]; is && !slices.Contains(kept, leaf) {
				kept = append(kept, leaf)
			}
		}
		return kept
	}
	kept := on(d.Names())
	if len(kept) == 0 {
		for _, name := range append(d.Covariates(), "group") {
			column, err := d.Column(name)
			if err != nil || slices.ContainsFunc(column, func(v string) bool { _, is := leaves[spaced(v)]; return !is }) {
				continue
			}
			d, kept = d.meansBy(name, column), on(column)
			break
		}
	}
	if rest := len(leaves) - len(kept); rest > 0 && len(kept) > 1 {
		pruned := try.Get(t.Keep(kept...))
		out := *d
		out.note("%s of the tree without specimens were left out of it", text.Counted(rest, "leaves"))
		d, t = &out, pruned
	}
	ordered, err := d.OnTree(t)
	return ordered, t, err
}

// meansBy returns the means of the specimens of each value of a column.
func (d *Dataset) meansBy(name string, column []string) *Dataset {
	out := *d
	out.Specimens = nil
	at := map[string][]int{}
	for i, v := range column {
		at[v] = append(at[v], i)
	}
	sizes, known := d.Numbers(LogSize)
	for _, v := range slices.Sorted(maps.Keys(at)) {
		var shapes []shape.Shape
		first, size := d.Specimens[at[v][0]], 0.0
		s := Specimen{Name: v, Group: first.Group, Covariates: maps.Clone(first.Covariates)}
		for _, i := range at[v] {
			other := d.Specimens[i]
			shapes, size = append(shapes, other.Points), size+CentroidSize(other.Points)/float64(len(at[v]))
			if other.Group != s.Group {
				s.Group = ""
			}
			maps.DeleteFunc(s.Covariates, func(k, value string) bool { return other.Covariates[k] != value })
		}
		if d.Flat {
			s.Points = shape.Shape{lists.Mean(slices.Concat(shapes...))} // each has one point
			if known == nil {
				s.Covariates[LogSize] = text.Format(stat.Mean(lists.Pick(sizes, at[v]), nil))
			}
			out.Specimens = append(out.Specimens, s)
			continue
		}
		a, err := Procrustes(shapes)
		if err == nil {
			err = a.Err()
		}
		try.Do(try.Name(err, "%s: the mean of %s", d.Name, text.Clip(v)))
		s.Points = a.Mean.Scale(size / CentroidSize(a.Mean))
		out.Specimens = append(out.Specimens, s)
	}
	out.note("the leaves of the tree are values of %s: %d specimens became the means of %d values", name, len(d.Specimens), len(out.Specimens))
	return &out
}
