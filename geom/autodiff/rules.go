package autodiff

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/gomlx/compute/shapes"

	"anatomy/internal/refuse"
)

// Gradient rules that GoMLX v0.28.8 lacks.
func init() {
	rules := map[NodeType]func(node, v *Node) *Node{
		NodeTypeIdentity: func(_, v *Node) *Node { return v },
		NodeTypeExpm1:    func(node, v *Node) *Node { return Mul(v, AddScalar(node, 1)) },
		NodeTypeRsqrt: func(node, v *Node) *Node {
			return MulScalar(Mul(v, Div(node, node.Inputs()[0])), -0.5)
		},
		NodeTypeSign: func(_, v *Node) *Node { return ZerosLike(v) },
	}
	for kind, rule := range rules {
		if _, found := VJPRegistration[kind]; found {
			panic(fmt.Sprintf("autodiff: GoMLX has a gradient rule for %s now: remove it from rules.go", kind))
		}
		VJPRegistration[kind] = func(node *Node, cts []*Node, _ shapes.Shape) []*Node {
			out := make([]*Node, len(node.Inputs()))
			out[0] = rule(node, cts[0])
			return out
		}
	}
	VJPRegistration[NodeTypeAtan2] = func(node *Node, cts []*Node, _ shapes.Shape) []*Node {
		y, x := node.Inputs()[0], node.Inputs()[1]
		refuse.If(!y.Shape().Equal(x.Shape()), "autodiff: gradient of Atan2 with operands of different shapes %s and %s", y.Shape(), x.Shape())
		w := Div(cts[0], Add(Square(x), Square(y)))
		return []*Node{Mul(w, x), Neg(Mul(w, y))}
	}
}
