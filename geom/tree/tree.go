// Package tree is rooted trees with lengths of edges: phylogenies. It reads and writes Newick, measures the paths that tips
// share, and prunes Brownian motion along the edges. It is plain Go and links no XLA.
package tree

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Tree is a rooted tree of n nodes, numbered from the root, 0, so that parents come before their children. A node may have any
// number of children: none makes it a leaf. A tree that was never rooted has its root at some branching point, mostly of three.
type Tree struct {
	Parent []int     // [n], of node i; -1 at the root
	Length []float64 // [n], of the edge above node i; 0 at the root, NaN where it is not known
	Name   []string  // [n], may be empty; leaves of the same name are refused
	Notes  []string  // what a reader passed over, in words
}

// New returns the tree with these parents, lengths and names; nil names are empty ones. It keeps the slices. It is an error if
// node 0 is not the only root, a child comes before its parent, a length is negative or infinite, or two leaves have one name;
// CheckLengths sees that all lengths are known.
func New(parent []int, length []float64, name []string) (*Tree, error) {
	if name == nil {
		name = make([]string, len(parent))
	}
	t := &Tree{Parent: slices.Clone(parent), Length: slices.Clone(length), Name: slices.Clone(name)}
	if _, err := t.check(); err != nil {
		return nil, fmt.Errorf("tree: %w", err)
	}
	return t, nil
}

// Star returns the tree of n ≥ 1 leaves that part at the root, each on an edge of this length: of specimens that were made independently from
// one.
func Star(n int, length float64) (*Tree, error) {
	if most := 1 << 24; n < 1 || n > most {
		return nil, fmt.Errorf("tree: a star of %d leaves: give at least one, and at most %d", n, most)
	}
	if math.IsNaN(length) {
		return nil, fmt.Errorf("tree: the edges of a star have no length")
	}
	lengths := slices.Repeat([]float64{length}, n+1)
	lengths[0] = 0
	parent := make([]int, n+1)
	parent[0] = -1
	return New(parent, lengths, nil)
}

// check returns the first thing that is wrong with the tree, and where.
func (t *Tree) check() (node int, err error) {
	if node, err = t.formed(); err == nil {
		node, err = t.lengths(false)
	}
	if err != nil {
		return node, err
	}
	leaves := map[string]bool{}
	for _, i := range t.Leaves() {
		if leaves[t.Name[i]] {
			return i, fmt.Errorf("a second leaf is called %s", t.Label(i))
		}
		leaves[t.Name[i]] = t.Name[i] != ""
	}
	return 0, nil
}

// CheckLengths returns an error if the length of an edge is not known, or there are no nodes.
func (t *Tree) CheckLengths() error {
	_, err := t.formed()
	if err == nil {
		_, err = t.lengths(true)
	}
	if err != nil {
		return fmt.Errorf("tree: %w", err)
	}
	return nil
}

// lengths returns the first length that is wrong, or not known where it must be, and the node below it.
func (t *Tree) lengths(known bool) (node int, err error) {
	if l := t.Length[0]; l != 0 {
		return 0, fmt.Errorf("the root has an edge of length %v above it, which joins it to nothing: it must be 0", l)
	}
	for i, l := range t.Length {
		switch {
		case known && math.IsNaN(l):
			return i, fmt.Errorf("the edge above %s has no length", t.Label(i))
		case l < 0:
			return i, fmt.Errorf("the edge above %s: the length is %v: lengths are not negative: write 0 if that was meant, or estimate the tree by another method",
				t.Label(i), l)
		case math.IsInf(l, 0):
			return i, fmt.Errorf("the edge above %s: the length is %v: lengths are finite", t.Label(i), l)
		}
	}
	return 0, nil
}

// formed returns what makes it no tree, and where: trees may be made by hand.
func (t *Tree) formed() (node int, err error) {
	if t == nil || len(t.Parent) == 0 {
		return 0, fmt.Errorf("it has no nodes: make it with New or Parse")
	}
	if n := len(t.Parent); len(t.Length) != n || len(t.Name) != n {
		return 0, fmt.Errorf("%d parents, %d lengths and %d names, want one of each a node: make it with New or Parse", n, len(t.Length), len(t.Name))
	}
	for i, p := range t.Parent {
		switch {
		case i == 0 && p != -1:
			return 0, fmt.Errorf("the parent of node 0, which is the root, is %d, not -1: make it with New or Parse", p)
		case i > 0 && (p < 0 || p >= i):
			return i, fmt.Errorf("the parent of node %d is %d, not one of the nodes before it, 0 to %d: make it with New or Parse", i, p, i-1)
		}
	}
	return 0, nil
}

// links returns the first child of every node and its next sibling; -1 where there is none.
func (t *Tree) links() (first, next []int) {
	first, next = make([]int, len(t.Parent)), make([]int, len(t.Parent))
	for i := len(t.Parent) - 1; i >= 0; i-- {
		first[i], next[i] = -1, -1
	}
	for i := len(t.Parent) - 1; i > 0; i-- {
		p := t.Parent[i]
		next[i], first[p] = first[p], i
	}
	return first, next
}

// Leaves returns the nodes without children, in order; of a tree of one node this is the root, of one that no function of this package made none.
func (t *Tree) Leaves() []int {
	if _, err := t.formed(); err != nil {
		return nil
	}
	inner := make([]bool, len(t.Parent))
	for _, p := range t.Parent[1:] {
		inner[p] = true
	}
	var out []int
	for i := range t.Parent {
		if !inner[i] {
			out = append(out, i)
		}
	}
	return out
}

// Height returns the length of the path from the root to each node.
func (t *Tree) Height() []float64 {
	out := make([]float64, len(t.Parent))
	for i := 1; i < len(out); i++ {
		out[i] = out[t.Parent[i]] + t.Length[i]
	}
	return out
}

// Label returns what to call node i in a message: its name in quotation marks, that of its first leaf, or its number.
func (t *Tree) Label(i int) string {
	leaf := i
	for leaf+1 < len(t.Parent) && t.Parent[leaf+1] == leaf {
		leaf++
	}
	switch {
	case t.Name[i] != "":
		return strconv.Quote(t.Name[i])
	case t.Name[leaf] != "":
		return "the clade of " + strconv.Quote(t.Name[leaf])
	}
	return "node " + strconv.Itoa(i)
}

// Keep returns the tree of some of the leaves, by name: without the others, without nodes that have one child left, whose edges are
// joined, and rooted where the paths to the leaves first part. It is an error if a name is that of no leaf.
func (t *Tree) Keep(names ...string) (*Tree, error) {
	if _, err := t.formed(); err != nil {
		return nil, fmt.Errorf("tree: %w", err)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("tree: no leaf to keep: give the name of at least one")
	}
	leaf := map[string]int{}
	for _, i := range t.Leaves() {
		leaf[t.Name[i]] = i
	}
	n := len(t.Parent)
	below := make([]int, n) // how many children of a node lead to these leaves; 1 for the leaves
	for _, name := range names {
		i, ok := leaf[name]
		if !ok || name == "" {
			return nil, fmt.Errorf("tree: no leaf is called %q", name)
		}
		below[i] = 1
	}
	for i := n - 1; i > 0; i-- {
		if below[i] > 0 {
			below[t.Parent[i]]++
		}
	}
	first, _ := t.links()
	out := &Tree{}
	at := make([]int, n)        // in the new tree: of the node itself or of the one that stands for it
	added := make([]float64, n) // length of the edges that were joined above it
	for i, p := range t.Parent {
		if below[i] == 0 {
			continue
		}
		length := 0.0
		at[i] = -1
		if p >= 0 {
			length, at[i] = t.Length[i]+added[p], at[p]
		}
		if below[i] == 1 && first[i] >= 0 {
			added[i] = length
			continue
		}
		out.Parent, out.Name = append(out.Parent, at[i]), append(out.Name, t.Name[i])
		if at[i] < 0 {
			length = 0
		}
		out.Length = append(out.Length, length)
		at[i] = len(out.Parent) - 1
	}
	return out, nil
}
