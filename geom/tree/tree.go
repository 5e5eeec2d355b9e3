// Package tree is rooted trees with lengths of edges: phylogenies. It reads and writes Newick, measures the paths that tips
// share, and prunes Brownian motion along the edges. It is plain Go and links no XLA.
package tree

import (
	"fmt"
	"math"
	"strconv"
)

// Tree is a rooted tree of n nodes, numbered from the root, 0, so that parents come before their children. A node may have any
// number of children: none makes it a leaf. A tree that was never rooted has its root at some branching point, mostly of three.
type Tree struct {
	Parent []int     // [n], of node i; -1 at the root
	Length []float64 // [n], of the edge above node i; 0 at the root, NaN where it is not known
	Name   []string  // [n], may be empty and, but for leaves that are matched by name, the same
}

// New returns the tree with these parents, lengths and names; nil names are empty ones. It keeps the slices. It is an error if
// node 0 is not the only root, a child comes before its parent, or a length is negative or infinite; CheckLengths sees that all
// lengths are known.
func New(parent []int, length []float64, name []string) (*Tree, error) {
	n := len(parent)
	if n == 0 {
		return nil, fmt.Errorf("tree: no nodes")
	}
	if name == nil {
		name = make([]string, n)
	}
	if len(length) != n || len(name) != n {
		return nil, fmt.Errorf("tree: %d parents, %d lengths and %d names: one of each a node", n, len(length), len(name))
	}
	t := &Tree{Parent: parent, Length: length, Name: name}
	if parent[0] != -1 {
		return nil, fmt.Errorf("tree: the parent of node 0, which is the root, is %d, not -1", parent[0])
	}
	if length[0] != 0 {
		return nil, fmt.Errorf("tree: the root has an edge of length %v above it, which joins it to nothing: it must be 0", length[0])
	}
	for i := 1; i < n; i++ {
		if parent[i] < 0 || parent[i] >= i {
			return nil, fmt.Errorf("tree: the parent of %s is %d, not one of the nodes before it, 0 to %d", t.Label(i), parent[i], i-1)
		}
		if length[i] < 0 || math.IsInf(length[i], 0) {
			return nil, fmt.Errorf("tree: the edge above %s has length %v: lengths are finite and not negative", t.Label(i), length[i])
		}
	}
	return t, nil
}

// CheckLengths returns an error if the length of an edge is not known.
func (t *Tree) CheckLengths() error {
	for i, l := range t.Length {
		if math.IsNaN(l) {
			return fmt.Errorf("tree: the edge above %s has no length", t.Label(i))
		}
	}
	return nil
}

// Children returns the children of node i, in order. It looks through all later nodes.
func (t *Tree) Children(i int) []int {
	var out []int
	for j := i + 1; j < len(t.Parent); j++ {
		if t.Parent[j] == i {
			out = append(out, j)
		}
	}
	return out
}

// Leaves returns the nodes without children, in order; of a tree of one node this is the root.
func (t *Tree) Leaves() []int {
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

// Depth returns the number of edges between the root and each node.
func (t *Tree) Depth() []int {
	out := make([]int, len(t.Parent))
	for i := 1; i < len(out); i++ {
		out[i] = out[t.Parent[i]] + 1
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

// Label returns what to call node i in a message: its name in quotation marks, or its number.
func (t *Tree) Label(i int) string {
	if t.Name[i] != "" {
		return strconv.Quote(t.Name[i])
	}
	return "node " + strconv.Itoa(i)
}
