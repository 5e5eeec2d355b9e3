package guided

import (
	"anatomy/geom/tree"
	"anatomy/geom/try"
)

// plan is a tree in the order in which it is swept: edges by the depth of their ends. Nodes at the ends of edges without length are one:
// the uppermost stands for them.
type plan struct {
	tree   *tree.Tree
	stands []int   // which node stands for node i
	levels [][]int // nodes at the lower ends of the edges of depth 1, 2, …
	order  []int   // all of them in a row
	place  []int   // of a node in its level; of the root 0
	leaf   []bool  // whether no edge begins at node i
	depth  []int   // of node i
	inner  []bool  // whether a node of depth 0, 1, …, at which edges begin, is seen
}

func newPlan(t *tree.Tree) *plan {
	n := len(t.Parent)
	p := &plan{tree: t, stands: make([]int, n), place: make([]int, n), leaf: make([]bool, n), depth: make([]int, n)}
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
		p.order = append(p.order, level...)
	}
	p.inner = make([]bool, 1+len(p.levels))
	for _, i := range t.Leaves() {
		if i = p.stands[i]; !p.leaf[i] {
			p.inner[p.depth[i]] = true
		}
	}
	return p
}

// nodes are those that stand for others or themselves, by their depth.
func (p *plan) nodes() []int { return append([]int{0}, p.order...) }

// parent is the node at the upper end of the edge above node i.
func (p *plan) parent(i int) int { return p.stands[p.tree.Parent[i]] }

// parents is the matrix that picks, for each edge of a level, the state at its upper end: [edges of the level][nodes of the one above].
func (p *plan) parents(level int) [][]float64 {
	above := 1
	if level > 0 {
		above = len(p.levels[level-1])
	}
	pick := make([][]float64, len(p.levels[level]))
	for e, i := range p.levels[level] {
		pick[e] = make([]float64, above)
		pick[e][p.place[p.parent(i)]] = 1
	}
	return pick
}

// pull takes messages from where something is seen to the root, through the steps of the auxiliary process, and returns that of the root. It
// tells the message after each step k of the edge above each node as soon as it is known, because all of them take too much memory to be kept.
func (p *plan) pull(steps int, seen func(node int) []message, step func(node, k int) transition, tell func(node, k int, m message)) message {
	gathered := make([][]message, len(p.tree.Parent))
	join := func(i int) message {
		all := append(gathered[i], seen(i)...)
		if gathered[i] = nil; p.leaf[i] {
			return all[0]
		}
		m, _ := fuse(all)
		return m
	}
	for i := len(p.tree.Parent) - 1; i > 0; i-- {
		if p.stands[i] != i {
			continue
		}
		m := join(i)
		for k := steps - 1; k >= 0; k-- {
			tell(i, k, m)
			var err error
			m, err = m.back(step(i, k))
			try.Do(try.Name(err, "step %d of the edge above %s", k+1, p.tree.Label(i)))
		}
		gathered[p.parent(i)] = append(gathered[p.parent(i)], m)
	}
	return join(0)
}
