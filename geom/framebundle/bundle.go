package framebundle

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/autodiff"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
	"anatomy/internal/refuse"
)

// lift returns the derivative of the frame along the horizontal lift of a tangent vector v, [B..., d], to (x, ν): the vectors
// −Γ(v, ν_β), [m, B..., d], in coordinates.
func lift(m geom.Manifold, x, nu, v *Node) *Node {
	check(m, "DevelopmentField", x, nu)
	return Neg(geom.NewConnection(m, x).Gamma(v, nu))
}

// combine returns ν e = Σ_α e_α ν_α, [B..., d], for frame vectors ν, [m, B..., d], and coefficients e, [m, B...].
func combine(nu, e *Node) *Node { return ReduceSum(Mul(ExpandAxes(e, -1), nu), 0) }

// DevelopmentField returns the field u' = Σ_α e_α(t) H_α(u) on states u = (x, ν), in coordinates, where e(t), [m, B...], is the
// velocity of the curve in R^m that is developed.
func DevelopmentField(m geom.Manifold, e func(t *Node) *Node) ode.Field {
	return func(t *Node, y ode.State) ode.State {
		v := combine(y[1], e(t))
		return ode.State{v, lift(m, y[0], y[1], v)}
	}
}

// develop returns the development of a polygon in R^m from (x, ν), and the frames along it. For n + 1 corners, curve [n + 1, m, B...],
// they are points [n + 1, B..., d] and frames [n + 1, m, B..., d], at the corners. Straight pieces become geodesics, each of them one
// step of the method. If the corners are samples of a smooth curve, the error is O(n⁻²). On a Charted manifold points and vectors are
// ambient, and a step is taken in the chart centred at its start.
func develop(m geom.Manifold, method ode.Method, x, nu, curve *Node) (points, frames *Node) {
	n := curve.Shape().Dim(0) - 1
	pieces := Sub(SliceAxis(curve, 0, AxisRange(1, n+1)), SliceAxis(curve, 0, AxisRange(0, n)))
	final, before := scan(n, func(y ode.State, piece []*Node) (ode.State, []*Node) {
		return geom.InChart(m, []geom.Kind{geom.Vector}, func(at geom.Local, y ode.State) ode.State {
			return piecewise(at.Manifold, method, y, piece[0])
		}, y), y
	}, ode.State{x, nu}, []*Node{pieces})
	return append1(before[0], final[0]), append1(before[1], final[1])
}

// piecewise takes a state along one piece of a polygon.
func piecewise(m geom.Manifold, method ode.Method, y ode.State, piece *Node) ode.State {
	one := ScalarOne(piece.Graph(), piece.DType())
	return method.Step(DevelopmentField(m, func(*Node) *Node { return piece }).Equation(), ZerosLike(one), one, nil, y)
}

// gram returns the inner products νᵀ g ν = ⟨ν_α, ν_β⟩_g, [B..., m, m], of the vectors of a frame at x, in coordinates.
func gram(m geom.Manifold, x, nu *Node) *Node {
	return linalg.MatMul(linalg.Rows(nu), linalg.T(linalg.Rows(flatFrame(m, x, nu))))
}

func flatFrame(m geom.Manifold, x, nu *Node) *Node {
	return geom.Flat(m, BroadcastPrefix(x, nu.Shape().Dim(0)), nu)
}

func sharpFrame(m geom.Manifold, x, covectors *Node) *Node {
	return geom.Sharp(m, BroadcastPrefix(x, covectors.Shape().Dim(0)), covectors)
}

// CometricMatrix returns the cometric Σ_α H_α H_αᵀ of the frame bundle, [B..., d + m·d, d + m·d], in the coordinates
// (x, ν_1, …, ν_m). With W⁻¹ = ννᵀ and Γ^h_jγ = Γ^h_ji ν_γ^i it is
//
//	(    W⁻¹       −W⁻¹Γᵀ  )
//	(  −Γ W⁻¹     Γ W⁻¹ Γᵀ )
//
// and has rank m. It is for display: nothing else forms it.
func CometricMatrix(m geom.Manifold, x, nu *Node) *Node {
	check(m, "CometricMatrix", x, nu)
	rows := linalg.Rows(nu) // the H_α, [B..., m, d] and [B..., m, m, d]
	change := linalg.Rows(linalg.Rows(Neg(geom.NewConnection(m, x).Gamma(ExpandAxes(nu, 1), nu))))
	dims := slices.Clone(rows.Shape().Dimensions)
	dims[len(dims)-1] = -1
	rows = Concatenate([]*Node{rows, Reshape(change, dims...)}, -1)
	return linalg.MatMul(linalg.T(rows), rows)
}

// append1 appends the last of n + 1 values to the n before it, along the first axis.
func append1(before, last *Node) *Node {
	return Concatenate([]*Node{before, ExpandAxes(last, 0)}, 0)
}

// scan is autodiff.Scan for steps that do not depend on their number.
func scan(n int, step func(y ode.State, x []*Node) (next ode.State, out []*Node), y ode.State, xs []*Node) (final ode.State, out []*Node) {
	return autodiff.Scan(n, func(_ *Node, y, x []*Node) ([]*Node, []*Node) { return step(y, x) }, y, xs)
}

func check(m geom.Manifold, what string, x, nu *Node) {
	refuse.If(x.Rank() == 0 || x.Shape().Dim(-1) != m.Dim() || nu.Rank() != x.Rank()+1 || !slices.Equal(nu.Shape().Dimensions[1:], x.Shape().Dimensions),
		"framebundle.%s: points %s and frames %s, want [..., %d] and the same with the number of vectors in front",
		what, x.Shape(), nu.Shape(), m.Dim())
}
