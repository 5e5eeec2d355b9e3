package autodiff

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/engine"
	"anatomy/internal/lists"
	"anatomy/internal/refuse"
)

// CustomVJP returns the outputs, which were computed from the inputs in whatever way, with a derivative of their own: reverse
// mode calls rule with the cotangents of the outputs, and rule returns those of the inputs, in their order, nil for an input
// without one. How the outputs were computed is not differentiated. The rule is made of graph functions, so it can be
// differentiated in turn.
func CustomVJP(inputs, outputs []*Node, rule func(cotangents []*Node) []*Node) []*Node {
	g := outputs[0].Graph()
	name := fmt.Sprintf("custom_vjp_%d", g.LastNode().Id())
	all := append(append([]*Node{}, inputs...), outputs...)
	// A named function that passes the outputs through is the one operation with many inputs and outputs; XLA inlines it.
	pass := NewFunction(g, name, func(g *Graph) []*Node {
		p := lists.Make(len(all), func(j int) *Node { return Parameter(g, fmt.Sprintf("%s_%d", name, j), all[j].Shape()) })
		return p[len(inputs):]
	})
	outs := pass.Call(all...)
	call := outs[0]
	if call.Type() != NodeTypeCall {
		call = call.Inputs()[0]
	}
	engine.SetVJP(call, func(ct []*Node) []*Node {
		cts := rule(ct)
		refuse.If(len(cts) != len(inputs), "autodiff.CustomVJP: the rule returned %d cotangents for %d inputs", len(cts), len(inputs))
		return append(cts, make([]*Node, len(outputs))...)
	})
	return outs
}

// Pullback is the vector-Jacobian product: for y that was computed from x and cotangents ct of the shapes of y it returns the
// cotangents ct·∂y/∂x, of the shapes of x.
func Pullback(y, ct, x []*Node) []*Node { return gradientOrZeros(inner(y, ct), x) }

// Pushforward is the Jacobian-vector product: it returns f(x) and the directional derivative ∂f/∂x·v, for v of the shapes of
// x. It is made by two reverse passes, as the gradient of ⟨∂⟨f(x), u⟩/∂x, v⟩ with respect to u.
func Pushforward(f func(x []*Node) []*Node, x, v []*Node) (y, dy []*Node) {
	refuse.If(len(x) != len(v), "autodiff.Pushforward: %d points, %d directions", len(x), len(v))
	for j := range x {
		refuse.If(!x[j].Shape().Equal(v[j].Shape()), "autodiff.Pushforward: x[%d] has shape %s, its direction %s", j, x[j].Shape(), v[j].Shape())
	}
	y = f(x)
	return y, pushed(y, x, v)
}

// pushed is the derivative of y, computed from x, in the direction v.
func pushed(y, x, v []*Node) []*Node {
	u := make([]*Node, len(y))
	for j := range y {
		u[j] = Identity(ZerosLike(y[j])) // a node of its own: GoMLX shares scalar constants
	}
	return gradientOrZeros(inner(Pullback(y, u, x), v), u)
}

// Grad returns the gradient of f at x, [..., d]: f takes x to [...] and treats the leading axes as a batch, so that no result
// depends on another one's x.
func Grad(f func(x *Node) *Node, x *Node) *Node {
	return Gradient(ReduceAllSum(f(x)), x)[0]
}

// Hessian returns the gradients of f by every x, in their shapes, and the Hessian H[..., i, j] = ∂²f/∂x_i∂x_j by the first,
// [..., d, d]: f takes all x, the first of shape [..., d], to [...] and treats the leading axes as a batch. One batched pass.
func Hessian(f func(x []*Node) *Node, x ...*Node) (gradients []*Node, hessian *Node) {
	d := x[0].Shape().Dim(-1)
	xs := lists.Make(len(x), func(j int) *Node { return BroadcastPrefix(x[j], d) })
	slopes := Gradient(ReduceAllSum(f(xs)), xs...)
	for _, slope := range slopes {
		gradients = append(gradients, Squeeze(SliceAxis(slope, 0, AxisRange(0, 1)), 0))
	}
	return gradients, rows(slopes[0], xs[0])
}

// Jacobian returns J[..., i, j] = ∂f_i/∂x_j, [..., k, d]: f takes x, [..., d], to [..., k] and treats the leading axes
// as a batch. The result of f may have more axes, [..., k, l]: J is then [..., k, l, d]. One batched pass, in reverse mode where f has at most d
// numbers, else in forward mode.
func Jacobian(f func(x *Node) *Node, x *Node) *Node {
	d := x.Shape().Dim(-1)
	list := func(xs *Node) (y *Node, dims []int) {
		y = f(xs)
		dims = slices.Clone(y.Shape().Dimensions)
		return Reshape(y, append(dims[:x.Rank():x.Rank()], -1)...), dims
	}
	xs := BroadcastPrefix(x, d)
	y, dims := list(xs)
	k := y.Shape().Dim(-1)
	if k < d {
		xs = BroadcastPrefix(x, k)
		y, _ = list(xs)
	}
	var j *Node
	if k <= d {
		j = rows(y, xs)
	} else {
		dy := pushed([]*Node{y}, []*Node{xs}, []*Node{unit(xs)})[0]
		j = TransposeAllDims(dy, lists.Make(dy.Rank(), func(a int) int { return (a + 1) % dy.Rank() })...)
	}
	return Reshape(j, append(dims[1:], d)...)
}

// rows is the Jacobian of y, [k, ..., k], by xs, [k, ..., d], of which every entry of the leading axes gives a row.
func rows(y, xs *Node) *Node {
	return leadingToRow(Pullback([]*Node{y}, []*Node{unit(y)}, []*Node{xs})[0])
}

// unit has the shape of like, [n, ..., n], and is one-hot in the last axis, in another place for each entry of the first.
func unit(like *Node) *Node {
	dims := like.Shape().Dimensions
	n := dims[0]
	ones := slices.Repeat([]int{1}, len(dims))
	ones[0], ones[len(ones)-1] = n, n
	square := shapes.Make(dtypes.Int32, n, n)
	eye := ConvertDType(Equal(Iota(like.Graph(), square, 0), Iota(like.Graph(), square, 1)), like.DType())
	return BroadcastToDims(Reshape(eye, ones...), dims...)
}

// leadingToRow moves axis 0 to the last but one.
func leadingToRow(x *Node) *Node {
	rank := x.Rank()
	perm := make([]int, rank)
	for a := range rank - 2 {
		perm[a] = a + 1
	}
	perm[rank-2], perm[rank-1] = 0, rank-1
	return TransposeAllDims(x, perm...)
}

// inner returns Σ ⟨a_j, b_j⟩, or nil where the lists are empty.
func inner(a, b []*Node) *Node {
	refuse.If(len(a) != len(b), "autodiff: %d values against %d cotangents", len(a), len(b))
	var sum *Node
	for j := range a {
		refuse.If(!a[j].Shape().Equal(b[j].Shape()), "autodiff: value %d has shape %s, its cotangent %s", j, a[j].Shape(), b[j].Shape())
		s := ReduceAllSum(Mul(a[j], b[j]))
		if sum == nil {
			sum = s
		} else {
			sum = Add(sum, s)
		}
	}
	return sum
}

func gradientOrZeros(s *Node, x []*Node) []*Node {
	if s == nil {
		return lists.Make(len(x), func(j int) *Node { return ZerosLike(x[j]) })
	}
	if len(x) == 0 {
		return nil
	}
	return Gradient(s, x...)
}

func isFloat(n *Node) bool { return n.DType().IsFloat() }

// isZero recognises the constant zeros that reverse mode fills in for outputs without a cotangent.
func isZero(n *Node) bool {
	if n.Type() == NodeTypeBroadcastInDim {
		n = n.Inputs()[0]
	}
	return n.Type() == NodeTypeConstant && n == ScalarZero(n.Graph(), n.DType())
}

// floats lists the indices of floating-point nodes.
func floats(nodes []*Node) (indices []int) {
	for j, n := range nodes {
		if isFloat(n) {
			indices = append(indices, j)
		}
	}
	return indices
}
