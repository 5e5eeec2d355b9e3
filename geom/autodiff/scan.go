// Package autodiff differentiates graph functions: compiled loops with reverse mode through them, custom gradient
// rules, Jacobian-vector and vector-Jacobian products, Jacobians.
//
// Graph functions panic, with the shapes of their operands in the message.
package autodiff

import (
	"fmt"
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/engine"
	"anatomy/internal/lists"
	"anatomy/internal/refuse"
)

// Step is the body of a loop: from the state before iteration i (an int32 scalar) and the i-th slices of the inputs it
// makes the state after it and the iteration's outputs.
type Step func(i *Node, carry, x []*Node) (next, y []*Node)

// StoreLimit is the size, in bytes, up to which a loop keeps every state for its reverse pass. Longer loops keep about
// √n states and run each stretch between them again.
const StoreLimit = 32 << 20

// Scan runs step n times and compiles it once:
//
//	for i := range n { carry, y[i] = step(i, carry, x[i]) }
//
// Every element of xs has n as its leading axis; every element of ys gets it. step may use nodes from outside the loop
// as they are. Reverse mode goes through a scan with respect to carry, xs and those outside nodes, to any order, and
// through scans within scans. It takes each step once more, and the memory of all n states where that is at most StoreLimit,
// else of about 2√n of them. step is called several times while the graph is built, so it must depend on its arguments alone.
func Scan(n int, step Step, carry, xs []*Node) (final, ys []*Node) {
	refuse.If(n < 1, "autodiff.Scan: %d iterations, want at least 1", n)
	refuse.If(len(carry) == 0 && len(xs) == 0, "autodiff.Scan: neither a carry nor inputs")
	for j, x := range xs {
		refuse.If(x.Rank() == 0 || x.Shape().Dim(0) != n,
			"autodiff.Scan: xs[%d] has shape %s, want the number of iterations %d as its leading axis", j, x.Shape(), n)
	}
	bytes := 0
	for _, c := range carry {
		bytes += int(c.Shape().ByteSize())
	}
	if n*bytes <= StoreLimit || n < 4 {
		return scan(n, false, step, carry, xs)
	}
	return checkpointed(n, step, carry, xs)
}

// Loop is Scan without inputs and outputs. It runs step n times, compiles it once, and returns the last state:
//
//	for range n { state = step(state...) }
//
// The step has a parameter and a result for each node of the state. One with a parameter more is given the number of the iteration first, an int32
// scalar; with it At takes a row of a node from outside.
func Loop[F ExecGraphFn](n int, step F, state ...*Node) []*Node {
	numbered := engine.Takes(step) == len(state)+1
	final, _ := Scan(n, func(i *Node, now, _ []*Node) (next, _ []*Node) {
		if numbered {
			now = append([]*Node{i}, now...)
		}
		return engine.Apply(step, now...), nil
	}, state, nil)
	return final
}

// checkpointed is a scan of scans: the reverse pass of the outer one stores only the states between stretches, and
// takes the inner one again, which stores its own.
func checkpointed(n int, step Step, carry, xs []*Node) (final, ys []*Node) {
	k := int(math.Sqrt(float64(n)))
	m := n / k
	cut := func(from, to int) []*Node {
		return lists.Each(xs, func(x *Node) *Node { return SliceAxis(x, 0, AxisRange(from, to)) })
	}
	stretch := func(s *Node, length int, carry, xs []*Node) ([]*Node, []*Node) {
		return scan(length, false, func(i *Node, c, x []*Node) ([]*Node, []*Node) {
			return step(Add(MulScalar(s, k), i), c, x)
		}, carry, xs)
	}
	folded := cut(0, m*k)
	for j, x := range folded {
		folded[j] = Reshape(x, append([]int{m, k}, x.Shape().Dimensions[1:]...)...)
	}
	final, ys = scan(m, false, func(s *Node, c, x []*Node) ([]*Node, []*Node) { return stretch(s, k, c, x) }, carry, folded)
	for j, y := range ys {
		ys[j] = Reshape(y, append([]int{m * k}, y.Shape().Dimensions[2:]...)...)
	}
	if rest := n - m*k; rest > 0 {
		var tail []*Node
		final, tail = stretch(Const(final[0].Graph(), int32(m)), rest, final, cut(m*k, n))
		for j := range ys {
			ys[j] = Concatenate([]*Node{ys[j], tail[j]}, 0)
		}
	}
	return final, ys
}

// scan is one loop, forwards or backwards over the indices, that stores its states for the reverse pass.
func scan(n int, reverse bool, step Step, carry, xs []*Node) (final, ys []*Node) {
	var numY int
	stored := func(i *Node, c, x []*Node) ([]*Node, []*Node) {
		next, y := step(i, c, x)
		numY = len(y)
		return next, append(append([]*Node{}, y...), c...)
	}
	outs, captured := loop(n, reverse, stored, carry, xs)

	inputs := append(append(append([]*Node{}, carry...), xs...), captured...)
	k := len(carry)
	var trajectory []*Node
	outs = CustomVJP(inputs, outs, func(ct []*Node) []*Node {
		return reversePass(n, reverse, step, carry, xs, captured, trajectory, ct[:k], ct[k:k+numY], ct[k+numY:])
	})
	trajectory = outs[k+numY:]
	return outs[:k], outs[k : k+numY]
}

// reversePass is the scan over the same indices in the other order that takes cotangents of the final state and the
// outputs to cotangents of carry, xs and the captured nodes, in this order.
func reversePass(n int, reverse bool, step Step, carry, xs, captured, trajectory, ctFinal, ctY, ctTrajectory []*Node) []*Node {
	live := make([]int, 0, len(ctY)) // outputs with a cotangent
	for j, c := range ctY {
		if isFloat(c) && !isZero(c) {
			live = append(live, j)
		}
	}
	liveTrajectory := make([]int, 0, len(carry))
	for j, c := range ctTrajectory {
		if isFloat(c) && !isZero(c) {
			liveTrajectory = append(liveTrajectory, j)
		}
	}
	fCarry, fXs, fCaptured := floats(carry), floats(xs), floats(captured)

	back := lists.Pick(ctFinal, fCarry)
	for _, j := range fCaptured {
		back = append(back, ZerosLike(captured[j]))
	}
	in := append(append([]*Node{}, trajectory...), xs...)
	in = append(in, lists.Pick(ctY, live)...)
	in = append(in, lists.Pick(ctTrajectory, liveTrajectory)...)

	cts, ctXs := scan(n, !reverse, func(i *Node, back, in []*Node) ([]*Node, []*Node) {
		// The step is differentiated by itself: no path may lead through what it is given from outside.
		leaves := append(append([]*Node{}, in...), captured...)
		c, x := in[:len(carry)], in[len(carry):len(carry)+len(xs)]
		in = in[len(carry)+len(xs):]
		var grads []*Node
		engine.Leaves(leaves, func() {
			next, y := step(i, c, x)
			pairing := inner(append(lists.Pick(next, fCarry), lists.Pick(y, live)...), append(append([]*Node{}, back[:len(fCarry)]...), in[:len(live)]...))
			wrt := append(append(lists.Pick(c, fCarry), lists.Pick(x, fXs)...), lists.Pick(captured, fCaptured)...)
			grads = gradientOrZeros(pairing, wrt)
		})
		next := append([]*Node{}, grads[:len(fCarry)]...)
		for s, j := range liveTrajectory {
			for slot, f := range fCarry {
				if f == j {
					next[slot] = Add(next[slot], in[len(live)+s])
				}
			}
		}
		for s, gr := range grads[len(fCarry)+len(fXs):] {
			next = append(next, Add(back[len(fCarry)+s], gr))
		}
		return next, grads[len(fCarry) : len(fCarry)+len(fXs)]
	}, back, in)

	out := make([]*Node, len(carry)+len(xs)+len(captured))
	for s, j := range fCarry {
		out[j] = cts[s]
	}
	for s, j := range fXs {
		out[len(carry)+j] = ctXs[s]
	}
	for s, j := range fCaptured {
		out[len(carry)+len(xs)+j] = cts[len(fCarry)+s]
	}
	return out
}

// loop emits the While. It returns the final carry followed by the stacked outputs, and the nodes from outside the
// loop that step uses.
func loop(n int, reverse bool, step Step, carry, xs []*Node) (outs, captured []*Node) {
	g := append(append([]*Node{}, carry...), xs...)[0].Graph()
	before := g.LastNode().Id()
	var stacks []shapes.Shape
	body := engine.NewClosure(g, func(g *Graph) []*Node {
		i, c := counter(g, carry)
		index := i
		if reverse {
			index = Sub(Const(g, int32(n-1)), i)
		}
		x := lists.Each(xs, func(s *Node) *Node { return At(s, index) })
		stepFrom := len(g.Nodes())
		next, ys := step(index, append([]*Node{}, c...), x)
		checkCarry("Scan", carry, next)
		captured = outside(g.Nodes()[stepFrom:], append(append([]*Node{}, next...), ys...), before)
		result := append([]*Node{AddScalar(i, 1)}, next...)
		for j, y := range ys {
			stacks = append(stacks, shapes.Make(y.DType(), append([]int{n}, y.Shape().Dimensions...)...))
			result = append(result, setAt(parameter(g, stacks[j]), y, index))
		}
		return result
	})
	state := append([]*Node{}, carry...)
	for _, s := range stacks {
		state = append(state, Zeros(g, s))
	}
	return while(func(g *Graph) *Node { return Const(g, int32(n)) }, body, state), captured
}

// Repeat runs step count times, for an int32 scalar that may itself be computed, and compiles it once:
//
//	for i := range count { carry = step(i, carry) }
//
// It has no derivative; CustomVJP gives its result one.
func Repeat(count *Node, step func(i *Node, carry []*Node) []*Node, carry []*Node) []*Node {
	body := engine.NewClosure(count.Graph(), func(g *Graph) []*Node {
		i, c := counter(g, carry)
		next := step(i, append([]*Node{}, c...))
		checkCarry("Repeat", carry, next)
		return append([]*Node{AddScalar(i, 1)}, next...)
	})
	return while(func(*Graph) *Node { return count }, body, carry)
}

// parameter is a parameter of a closure. MLIR wants the names of nested regions to differ: they are numbered by the
// nodes built so far.
func parameter(g *Graph, shape shapes.Shape) *Node {
	return Parameter(g, fmt.Sprintf("p%d", g.LastNode().Id()), shape)
}

// counter makes the parameters of a loop's closure: the iteration and the state.
func counter(g *Graph, state []*Node) (i *Node, c []*Node) {
	i = parameter(g, shapes.Make(dtypes.Int32))
	for _, s := range state {
		c = append(c, parameter(g, s.Shape()))
	}
	return i, c
}

// while runs a body that counts its iterations, and returns the final state.
func while(count func(*Graph) *Node, body *Function, state []*Node) []*Node {
	g := state[0].Graph()
	cond := engine.NewClosure(g, func(g *Graph) []*Node {
		i, _ := counter(g, state)
		return []*Node{LessThan(i, count(g))}
	})
	return While(cond, body, append([]*Node{Const(g, int32(0))}, state...)...)[1:]
}

// outside lists the nodes up to id before that the given ones use or are.
func outside(nodes, results []*Node, before NodeId) (captured []*Node) {
	seen := map[*Node]bool{}
	visit := func(n *Node) {
		if n.Id() <= before && !seen[n] && n.Type() != NodeTypeConstant {
			seen[n] = true
			captured = append(captured, n)
		}
	}
	for _, n := range nodes {
		for _, in := range n.Inputs() {
			visit(in)
		}
	}
	for _, n := range results {
		visit(n)
	}
	return captured
}

func checkCarry(name string, carry, next []*Node) {
	refuse.If(len(next) != len(carry), "autodiff.%s: step returns %d carry slots, got %d", name, len(next), len(carry))
	for j := range carry {
		refuse.If(!next[j].Shape().Equal(carry[j].Shape()),
			"autodiff.%s: carry slot %d enters with shape %s and leaves the step with %s; they must agree", name, j, carry[j].Shape(), next[j].Shape())
	}
}

// At returns x[i], of x's shape without its leading axis, for an integer scalar node i.
func At(x, i *Node) *Node {
	dims := append([]int{1}, x.Shape().Dimensions[1:]...)
	return Reshape(DynamicSlice(x, leading(i, x.Rank()), dims), dims[1:]...)
}

// setAt returns x with x[i] = row.
func setAt(x, row, i *Node) *Node {
	return DynamicUpdateSlice(x, ExpandAxes(row, 0), leading(i, x.Rank()))
}

func leading(i *Node, rank int) []*Node {
	at := []*Node{i}
	for len(at) < rank {
		at = append(at, Const(i.Graph(), int32(0)))
	}
	return at
}
