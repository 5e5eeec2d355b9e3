package guided

import (
	"fmt"

	"anatomy/geom/tree"
)

// plan is a tree in the order in which it is swept: edges by the depth of their ends.
type plan struct {
	tree   *tree.Tree
	levels [][]int // nodes at the lower ends of the edges of depth 1, 2, …
	order  []int   // all of them in a row
	place  []int   // of a node in its level; of the root 0
	leaf   []bool  // of node i
	depth  []int   // of node i
}

func newPlan(t *tree.Tree) *plan {
	p := &plan{tree: t, place: make([]int, len(t.Parent)), leaf: make([]bool, len(t.Parent)), depth: t.Depth()}
	for i, d := range p.depth {
		if d == 0 {
			continue
		}
		for len(p.levels) < d {
			p.levels = append(p.levels, nil)
		}
		p.place[i] = len(p.levels[d-1])
		p.levels[d-1] = append(p.levels[d-1], i)
	}
	for _, level := range p.levels {
		p.order = append(p.order, level...)
	}
	for _, i := range t.Leaves() {
		p.leaf[i] = true
	}
	return p
}

// parents is the matrix that picks, for each edge of a level, the state at its upper end: [edges of the level][nodes of the one above].
func (p *plan) parents(level int) [][]float64 {
	above := 1
	if level > 0 {
		above = len(p.levels[level-1])
	}
	pick := make([][]float64, len(p.levels[level]))
	for e, i := range p.levels[level] {
		pick[e] = make([]float64, above)
		pick[e][p.place[p.tree.Parent[i]]] = 1
	}
	return pick
}

// guide are the messages of a tree: those along edge e before step k, and at its end, the message that comes together at the node.
type guide struct {
	root  message
	along [][]message // [node][steps + 1]; nil at the root
}

// pull takes messages from the leaves to the root, through the steps of the auxiliary process.
func (p *plan) pull(steps int, leaf func(node int) message, step func(node, k int) transition) (*guide, error) {
	g := &guide{along: make([][]message, len(p.tree.Parent))}
	gathered := make([][]message, len(p.tree.Parent))
	for i := len(p.tree.Parent) - 1; i >= 0; i-- {
		var m message
		if p.leaf[i] {
			m = leaf(i)
		} else {
			m, _ = fuse(gathered[i])
		}
		if i == 0 {
			g.root = m
			break
		}
		along := make([]message, steps+1)
		along[steps] = m
		for k := steps - 1; k >= 0; k-- {
			var err error
			if along[k], err = along[k+1].back(step(i, k)); err != nil {
				return nil, fmt.Errorf("step %d of the edge above %s: %w", k+1, p.tree.Label(i), err)
			}
		}
		g.along[i] = along
		gathered[p.tree.Parent[i]] = append(gathered[p.tree.Parent[i]], along[0])
	}
	return g, nil
}
