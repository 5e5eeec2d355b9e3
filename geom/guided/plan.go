package guided

import (
	"anatomy/geom/tree"
	"anatomy/internal/lists"
)

// plan is a tree in the order in which it is swept: edges by the depth of their ends. Nodes at the ends of edges without length are one:
// the uppermost stands for them.
type plan struct {
	tree   *tree.Tree
	stands []int   // which node stands for node i
	levels [][]int // nodes at the lower ends of the edges of depth 1, 2, …
	order  []int   // all of them in a row
	row    []int   // of a node in that row, behind the root
	place  []int   // of a node in its level; of the root 0
	leaf   []bool  // whether no edge begins at node i
	depth  []int   // of node i
	inner  []bool  // whether a node of depth 0, 1, …, at which edges begin, is seen
}

func newPlan(t *tree.Tree) *plan {
	n := len(t.Parent)
	p := &plan{tree: t, stands: make([]int, n), row: make([]int, n), place: make([]int, n), leaf: make([]bool, n), depth: make([]int, n)}
	for i := 1; i < n; i++ {
		p.stands[i], p.leaf[i] = i, true
		above := p.stands[t.Parent[i]]
		if t.Length[i] == 0 {
			p.stands[i] = above
			continue
		}
		p.leaf[above] = false
		d := p.depth[above]
		p.depth[i] = d + 1
		if d == len(p.levels) {
			p.levels = append(p.levels, nil)
		}
		p.place[i] = len(p.levels[d])
		p.levels[d] = append(p.levels[d], i)
	}
	for _, level := range p.levels {
		for _, i := range level {
			p.order = append(p.order, i)
			p.row[i] = len(p.order)
		}
	}
	p.inner = make([]bool, 1+len(p.levels))
	for _, i := range t.Leaves() {
		if i = p.stands[i]; !p.leaf[i] {
			p.inner[p.depth[i]] = true
		}
	}
	return p
}

// width is how many nodes have a depth.
func (p *plan) width(depth int) int {
	if depth == 0 {
		return 1
	}
	return len(p.levels[depth-1])
}

// parent is the node at the upper end of the edge above node i.
func (p *plan) parent(i int) int { return p.stands[p.tree.Parent[i]] }

// parents is the matrix that picks, for each edge of a level, the state at its upper end: [edges of the level][nodes of the one above].
func (p *plan) parents(level int) [][]float64 {
	pick := lists.Zeros(len(p.levels[level]), p.width(level))
	for e, i := range p.levels[level] {
		pick[e][p.place[p.parent(i)]] = 1
	}
	return pick
}
