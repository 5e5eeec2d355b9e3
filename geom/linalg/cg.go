package linalg

import (
	"github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
	"anatomy/geom/engine"
	"anatomy/internal/lists"
	"anatomy/internal/refuse"
)

// CG solves A x = b for b of [..., n] by conjugate gradients. The matrix A is symmetric positive definite and is given by its
// product with vectors: matvec(x) returns A x. The iteration stops when ‖b - A x‖ ≤ tol ‖b‖ for all systems of the batch, or after
// maxIter steps. The second result, residual, [...], is the ‖b - A x‖/‖b‖ that was reached, without a gradient. If A is not positive
// definite, the result may be NaN.
//
// The gradient is that of the exact solution, by b and all that A is made of. It needs one more solve, b̄ = A⁻¹ x̄; the cotangent -b̄ of
// A x is pulled back to what matvec uses.
func CG(matvec func(x *Node) *Node, b *Node, tol float64, maxIter int) (x, residual *Node) {
	return PCG(matvec, func(r *Node) *Node { return r }, b, tol, maxIter)
}

// PCG is CG with a preconditioner: precondition(r) returns M r for a symmetric positive definite matrix M close to A⁻¹. The fewer
// distinct eigenvalues M A has, the fewer steps are needed. The gradient is that of CG and does not involve the preconditioner.
func PCG(matvec, precondition func(x *Node) *Node, b *Node, tol float64, maxIter int) (x, residual *Node) {
	refuse.If(b.Rank() == 0 || !b.DType().IsFloat(), "linalg.CG: right-hand side %s is not a vector, [..., n]", b.Shape())
	product := engine.Record(b.Graph(), func() (in, out []*Node) {
		in = []*Node{engine.Input(b)}
		return in, []*Node{matvec(in[0])}
	})
	y := product.Outputs[0]
	refuse.If(!y.Shape().Equal(b.Shape()), "linalg.CG: matvec takes %s to %s, want the same shape", b.Shape(), y.Shape())
	dot := func(x, y *Node) *Node { return graph.ReduceAndKeep(graph.Mul(x, y), graph.ReduceSum, -1) }
	bb := dot(b, b)
	unfinished := func(rr *Node) *Node { return graph.GreaterThan(rr, graph.MulScalar(bb, tol*tol)) }
	z := precondition(b)
	refuse.If(!z.Shape().Equal(b.Shape()), "linalg.PCG: precondition takes %s to %s, want the same shape", b.Shape(), z.Shape())
	state := []*Node{graph.Const(b.Graph(), int32(0)), graph.ZerosLike(b), b, z, bb, dot(b, z)}
	x = while(state, func(s []*Node) *Node {
		more := graph.ReduceAllMax(graph.ConvertDType(unfinished(s[4]), s[0].DType()))
		return graph.LogicalAnd(graph.IsPositive(more), graph.LessThan(s[0], graph.Const(b.Graph(), int32(maxIter))))
	}, func(s []*Node) []*Node {
		x, r, p, rr, rz := s[1], s[2], s[3], s[4], s[5]
		ap := matvec(p)
		// A system of the batch that is done stays as it is.
		zero := graph.ZerosLike(rr)
		alpha := graph.Where(unfinished(rr), graph.Div(rz, positive(dot(p, ap))), zero)
		x = graph.Add(x, graph.Mul(alpha, p))
		r = graph.Sub(r, graph.Mul(alpha, ap))
		z := precondition(r)
		next := dot(r, z)
		beta := graph.Where(unfinished(rr), graph.Div(next, rz), zero)
		return []*Node{graph.AddScalar(s[0], 1), x, r, graph.Add(z, graph.Mul(beta, p)), dot(r, r), next}
	})[1]
	x = autodiff.CustomVJP(append([]*Node{b}, product.Outside...), []*Node{x}, func(ct []*Node) []*Node {
		w, _ := PCG(matvec, precondition, ct[0], tol, maxIter)
		own := lists.Each(product.Outside, graph.Identity)
		return append([]*Node{w}, autodiff.Pullback(product.On([]*Node{x}, own), []*Node{graph.Neg(w)}, own)...)
	})[0]
	r := graph.Sub(b, matvec(x))
	rr := graph.Div(dot(r, r), graph.Where(graph.IsZero(bb), graph.OnesLike(bb), bb))
	return x, graph.StopGradient(graph.Squeeze(graph.Sqrt(rr), -1))
}
