package engine

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"anatomy/internal/lists"
	"anatomy/internal/refuse"
)

// Body is a part of a graph that is built once and copied with other nodes in the place of its inputs and of what it takes from outside, as a loop
// and the derivative of a loop want it.
type Body struct {
	Inputs, Outputs []*graph.Node
	Outside         []*graph.Node // nodes that were there before and that the outputs are made of; small constants are not among them

	made span
}

// span are the nodes that were made one after the other: those behind from, up to to.
type span struct{ from, to graph.NodeId }

func (s span) holds(n *graph.Node) bool { return n.Id() > s.from && n.Id() <= s.to }

// Record builds a body: build returns the inputs, which Input made or which it made of those, and the outputs.
func Record(g *graph.Graph, build func() (inputs, outputs []*graph.Node)) *Body {
	b := &Body{made: span{from: g.LastNode().Id()}}
	b.Inputs, b.Outputs = build()
	b.made.to = g.LastNode().Id()
	seen := map[*graph.Node]bool{}
	for _, n := range b.Inputs {
		seen[n] = true
	}
	var visit func(n *graph.Node)
	visit = func(n *graph.Node) {
		if seen[n] {
			return
		}
		seen[n] = true
		refuse.If(b.made.holds(n) && n.IsLogged(), "engine: %s is logged in the body of a loop, where it has many values", n)
		switch {
		case isNumber(n):
		case !b.made.holds(n) || n.Type() == graph.NodeTypeConstant:
			b.Outside = append(b.Outside, n)
		default:
			for _, in := range n.Inputs() {
				visit(in)
			}
		}
	}
	for _, n := range b.Outputs {
		visit(n)
	}
	return b
}

// Input is a node for a body's Inputs: nothing but its shape is that of like.
func Input(like *graph.Node) *graph.Node { return graph.Identity(graph.ZerosLike(like)) }

// isNumber reports whether a node is a constant that a copy has anew. GoMLX knows the value of small ones only.
func isNumber(n *graph.Node) bool {
	b := builderOf(n.Graph())
	return n.Type() == graph.NodeTypeConstant && n.ConstantValue() != nil && (b == nil || !b.fixed[n])
}

// On returns the outputs for other inputs and other nodes from outside.
func (b *Body) On(inputs, outside []*graph.Node) []*graph.Node {
	c := &copier{image: map[*graph.Node]*graph.Node{}, made: []span{b.made}}
	for i, n := range b.Inputs {
		c.image[n] = inputs[i]
	}
	for i, n := range b.Outside {
		c.image[n] = outside[i]
	}
	c.apart = len(inputs) > 0 && !inputs[0].Function().IsMain()
	return lists.Each(b.Outputs, c.copy)
}

// copier copies nodes of a body.
type copier struct {
	image map[*graph.Node]*graph.Node
	made  []span // what is copied where it depends on inputs
	apart bool   // the copies are in another function, which can use nothing of main
}

func (c *copier) copy(n *graph.Node) *graph.Node {
	if n == nil {
		return nil
	}
	image, done := c.image[n]
	if done {
		return image
	}
	image = n
	switch {
	case n.Type() == graph.NodeTypeConstant:
		if c.apart {
			image = graph.ConstTensor(n.Graph(), n.ConstantValue())
		}
	case slices.ContainsFunc(c.made, func(s span) bool { return s.holds(n) }):
		if inputs := lists.Each(n.Inputs(), c.copy); c.apart || !slices.Equal(inputs, n.Inputs()) {
			image = n.CloneWithInputs(inputs...)
			c.differentiate(n, image)
		}
	}
	c.image[n] = image
	return image
}

// differentiate gives a copy the derivative of a node with a rule of its own. What the rule returns is made of what the node was made of, and copied.
func (c *copier) differentiate(n, image *graph.Node) {
	rule := n.CustomGradient()
	if rule == nil || c.apart {
		return
	}
	SetVJP(image, func(_ *graph.Node, cotangents []*graph.Node, shape shapes.Shape) []*graph.Node {
		made := span{from: n.Graph().LastNode().Id()}
		out := rule(n, cotangents, shape)
		made.to = n.Graph().LastNode().Id()
		c.made = append(c.made, made)
		return lists.Each(out, c.copy)
	})
}

// While repeats body on the state as long as cond, which takes the state or its first parts, is true, and returns the last state. It has no
// derivative; autodiff.CustomVJP gives its result one.
func While(cond, body *Body, state []*graph.Node) []*graph.Node {
	g := state[0].Graph()
	outside := slices.Concat(cond.Outside, body.Outside)
	all := slices.Concat(state, outside)
	closure := func(b *Body, first int, repeats bool) *graph.Function {
		return graph.NewClosure(g, func(g *graph.Graph) []*graph.Node {
			in := lists.Each(all, func(n *graph.Node) *graph.Node {
				return graph.Parameter(g, fmt.Sprintf("state_%d", g.LastNode().Id()), n.Shape())
			})
			out := b.On(in[:len(b.Inputs)], in[first:][:len(b.Outside)])
			if repeats {
				out = append(out, in[len(state):]...)
			}
			return out
		})
	}
	return graph.While(closure(cond, len(state), false), closure(body, len(state)+len(cond.Outside), true), all...)[:len(state)]
}
