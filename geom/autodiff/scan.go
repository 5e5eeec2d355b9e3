// Package autodiff differentiates graph functions: compiled loops with reverse mode through them, custom gradient
// rules, Jacobian-vector and vector-Jacobian products, Jacobians.
//
// Graph functions panic, with the shapes of their operands in the message.
package autodiff

import (
	"math"
	"slices"

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
// else of about 2√n of them. step is called once, or twice if states are not all stored.
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
	outs, body := loop(n, reverse, step, carry, xs)
	inputs := slices.Concat(carry, xs, body.Outside)
	k := len(carry)
	numY := len(outs) - 2*k
	var trajectory []*Node
	outs = CustomVJP(inputs, outs, func(ct []*Node) []*Node {
		return reversePass(n, reverse, body, carry, xs, trajectory, ct[:k], ct[k:k+numY], ct[k+numY:])
	})
	trajectory = outs[k+numY:]
	return outs[:k], outs[k : k+numY]
}

// reversePass is the scan over the same indices in the other order that takes cotangents of the final state and the
// outputs to cotangents of carry, xs and the captured nodes, in this order.
func reversePass(n int, reverse bool, body *engine.Body, carry, xs, trajectory, ctFinal, ctY, ctTrajectory []*Node) []*Node {
	captured := body.Outside
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
		c, x := in[:len(carry)], in[len(carry):len(carry)+len(xs)]
		in = in[len(carry)+len(xs):]
		// The step is differentiated by itself: no path leads from one of these to another.
		own := lists.Each(captured, Identity)
		out := body.On(slices.Concat([]*Node{i}, c, x), own)
		y := out[len(carry):]
		pairing := inner(append(lists.Pick(out, fCarry), lists.Pick(y, live)...), slices.Concat(back[:len(fCarry)], in[:len(live)]))
		grads := gradientOrZeros(pairing, slices.Concat(lists.Pick(c, fCarry), lists.Pick(x, fXs), lists.Pick(own, fCaptured)))
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

// loop emits the While. It returns the final carry followed by the stacked outputs and the stacked states, and the body that is the step, of the
// iteration, the carry and the slices.
func loop(n int, reverse bool, step Step, carry, xs []*Node) (outs []*Node, taken *engine.Body) {
	g := slices.Concat(carry, xs)[0].Graph()
	state := append([]*Node{Const(g, int32(0))}, carry...)
	body := engine.Record(g, func() (in, out []*Node) {
		in = lists.Each(state, engine.Input)
		index, c := in[0], in[1:]
		if reverse {
			index = Sub(Const(g, int32(n-1)), index)
		}
		x := lists.Each(xs, func(s *Node) *Node { return At(s, index) })
		taken = engine.Record(g, func() (in, out []*Node) {
			next, ys := step(index, slices.Clone(c), x)
			checkCarry("Scan", carry, next)
			return slices.Concat([]*Node{index}, c, x), slices.Concat(next, ys)
		})
		next, ys := taken.Outputs[:len(c)], taken.Outputs[len(c):]
		out = append([]*Node{AddScalar(in[0], 1)}, next...)
		for _, y := range slices.Concat(ys, c) {
			stack := Zeros(g, shapes.Make(y.DType(), append([]int{n}, y.Shape().Dimensions...)...))
			state, in = append(state, stack), append(in, engine.Input(stack))
			out = append(out, setAt(in[len(in)-1], y, index))
		}
		return in, out
	})
	return while(Const(g, int32(n)), body, state), taken
}

// Repeat runs step count times, for an int32 scalar that may itself be computed, and compiles it once:
//
//	for i := range count { carry = step(i, carry) }
//
// It has no derivative; CustomVJP gives its result one.
func Repeat(count *Node, step func(i *Node, carry []*Node) []*Node, carry []*Node) []*Node {
	g := count.Graph()
	state := append([]*Node{Const(g, int32(0))}, carry...)
	return while(count, engine.Record(g, func() (in, out []*Node) {
		in = lists.Each(state, engine.Input)
		next := step(in[0], slices.Clone(in[1:]))
		checkCarry("Repeat", carry, next)
		return in, append([]*Node{AddScalar(in[0], 1)}, next...)
	}), state)
}

// while runs a body whose first input counts its iterations, and returns the final state.
func while(count *Node, body *engine.Body, state []*Node) []*Node {
	more := engine.Record(count.Graph(), func() (in, out []*Node) {
		in = []*Node{engine.Input(state[0])}
		return in, []*Node{LessThan(in[0], count)}
	})
	return engine.While(more, body, state)[1:]
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
