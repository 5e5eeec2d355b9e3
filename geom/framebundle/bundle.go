package framebundle

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/autodiff"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/internal/lists"
	"anatomy/internal/refuse"
)

// combine returns ν e = Σ_α e_α ν_α, [B..., d], for frame vectors ν, [m, B..., d], and coefficients e, [m, B...].
func combine(nu, e *Node) *Node { return ReduceSum(Mul(ExpandAxes(e, -1), nu), 0) }

// DevelopmentField returns the field u' = Σ_α e_α(t) H_α(u) on states u = (x, ν), in coordinates, where e(t), [m, B...], is the
// velocity of the curve in R^m that is developed.
func DevelopmentField(m geom.Manifold, e func(t *Node) *Node) ode.Field {
	return func(t *Node, y ode.State) ode.State {
		check(m, "DevelopmentField", y[0], y[1])
		v := combine(y[1], e(t))
		return ode.State{v, Neg(geom.NewConnection(m, y[0]).Gamma(v, y[1]))}
	}
}

// develop returns the development of a polygon in R^m from (x, ν), and the frames along it. For n + 1 corners, curve [n + 1, m, B...],
// they are points [n + 1, B..., d] and frames [n + 1, m, B..., d], at the corners. Straight pieces become geodesics, each of them one
// step of the method. If the corners are samples of a smooth curve, the error is O(n⁻²). On a Charted manifold points and vectors are
// ambient, and a step is taken in the chart centred at its start.
func develop(m geom.Manifold, method ode.Method, x, nu, curve *Node) (points, frames *Node) {
	n := curve.Shape().Dim(0) - 1
	pieces := Sub(SliceAxis(curve, 0, AxisRange(1, n+1)), SliceAxis(curve, 0, AxisRange(0, n)))
	final, before := autodiff.Scan(n, func(_ *Node, y, piece []*Node) (next, out []*Node) {
		field, one := func(*Node) *Node { return piece[0] }, ScalarOne(piece[0].Graph(), piece[0].DType())
		return geom.InChart(m, []geom.Kind{geom.Vector}, func(at geom.Local, y ode.State) ode.State {
			return method.Step(DevelopmentField(at.Manifold, field).Equation(), ZerosLike(one), one, nil, y)
		}, y), y
	}, ode.State{x, nu}, []*Node{pieces})
	return append1(before[0], final[0]), append1(before[1], final[1])
}

// gram returns the inner products νᵀ g ν = ⟨ν_α, ν_β⟩_g, [B..., m, m], of the vectors of a frame at x, in coordinates.
func gram(m geom.Manifold, x, nu *Node) *Node {
	return linalg.MatMul(linalg.Rows(nu), linalg.T(linalg.Rows(geom.Flat(m, x, nu))))
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

func check(m geom.Manifold, what string, x, nu *Node) {
	refuse.If(x.Rank() == 0 || x.Shape().Dim(-1) != m.Dim() || nu.Rank() != x.Rank()+1 || !slices.Equal(nu.Shape().Dimensions[1:], x.Shape().Dimensions),
		"framebundle.%s: points %s and frames %s, want [..., %d] and the same with the number of vectors in front",
		what, x.Shape(), nu.Shape(), m.Dim())
}

// velocities returns f_α = ⟨h, ν_α⟩, [m, B...].
func velocities(nu, h *Node) *Node { return ReduceSum(Mul(nu, ExpandAxes(h, 0)), -1) }

// connectionForm returns Σ_β ⟨P^β, Γ(·, ν_β)⟩, [B..., d]: p − h.
func connectionForm(m geom.Manifold, x, nu, vertical *Node) *Node {
	v := ZerosLike(x) // the sum is linear in it
	return Gradient(ReduceAllSum(Mul(vertical, geom.NewConnection(m, x).Gamma(v, nu))), v)[0]
}

// geodesics returns the field of Hamilton's equations of H = ½ Σ_α ⟨h, ν_α⟩² on states (x, ν, p, P), in coordinates. Since H is quadratic in the m
// numbers f_α, it suffices to differentiate ⟨(p, P), lift of v⟩ with v = Σ_α f_α ν_α held constant. This evaluates Γ m times,
// not m² times.
func geodesics(m geom.Manifold) ode.Field {
	return func(_ *Node, y ode.State) ode.State {
		x, nu, p, vertical := y[0], y[1], y[2], y[3]
		h := Sub(p, connectionForm(m, x, nu, vertical))
		f := velocities(nu, h)
		v := combine(nu, f)
		// New nodes to differentiate with respect to, on which v does not depend.
		xs, nus := Squeeze(ExpandAxes(x, 0), 0), Squeeze(ExpandAxes(nu, 0), 0)
		gamma := geom.NewConnection(m, xs).Gamma(v, nus)
		slopes := Gradient(ReduceAllSum(Mul(vertical, gamma)), xs, nus)
		pull := Mul(ExpandAxes(f, -1), ExpandAxes(h, 0))
		return ode.State{v, Neg(gamma), slopes[0], Sub(slopes[1], pull)}
	}
}

// invariant takes a state (x, ν, p, P) to (x, ν, h, P); coordinate is its inverse.
func invariant(m geom.Manifold, y ode.State) ode.State {
	return ode.State{y[0], y[1], Sub(y[2], connectionForm(m, y[0], y[1], y[3])), y[3]}
}

func coordinate(m geom.Manifold, y ode.State) ode.State {
	return ode.State{y[0], y[1], Add(y[2], connectionForm(m, y[0], y[1], y[3])), y[3]}
}

var kinds = []geom.Kind{geom.Vector, geom.Covector, geom.Covector} // of ν, h and P

// shoot returns the geodesic Exp_FM from a state y = (x, ν, h, P): the states at the times 0, 1/n, …, 1, every part with an axis of
// n + 1 times in front. The momenta are invariant parts, see the package. On a Charted manifold all parts are ambient, and every step is
// taken in the chart centred at its start.
func shoot(m geom.Manifold, method ode.Method, n int, y ode.State) ode.State {
	if !geom.IsCharted(m) { // one change of coordinates before and one after all steps
		path := ode.Path(geodesics(m), method, n, coordinate(m, y))
		path[1], path[3] = timesSecond(path[1]), timesSecond(path[3])
		path = invariant(m, path)
		path[1], path[3] = timesSecond(path[1]), timesSecond(path[3])
		return path
	}
	stepwise := ode.NewMethod("frame bundle, "+method.Name, method.Order, func(_ ode.Equation, t, dt, dw *Node, y ode.State) ode.State {
		return geom.InChart(m, kinds, func(at geom.Local, y ode.State) ode.State {
			field := geodesics(at.Manifold).Equation()
			return invariant(at.Manifold, method.Step(field, t, dt, dw, coordinate(at.Manifold, y)))
		}, y)
	})
	return ode.IntegratePath(nil, stepwise, ode.Drive{Steps: n}, y)
}

// timesSecond swaps the first two axes, those of times and of a frame's vectors.
func timesSecond(x *Node) *Node { return Transpose(x, 0, 1) }

// Aligned returns points x_i as they stand in optimal position relative to z_i, where points of the manifold are orbits of ambient
// vectors (geom.Quotient), such as configurations up to rotation: as the chart centred at z_i has them. There |x_i − z_i| is least. A point
// in the cut locus of z_i, where no position is optimal, stays as it is, and so do all on other manifolds.
func Aligned[P geom.Point](on geom.Of[P], z, x []P) ([]P, error) {
	s := on.Geometry()
	if !geom.IsCharted(s.M) {
		return x, nil
	}
	out, err := s.Call(ode.Key{Name: "aligned"}, func(in []*Node) []*Node {
		return []*Node{facing(s.M, in[0], in[1])}
	}, shape.FlatAll(z), shape.FlatAll(x))
	if err != nil {
		return nil, err
	}
	aligned := append([]P{}, x...)
	for i, v := range out.Matrix(0) {
		if lists.Finite(v...) {
			aligned[i] = s.FromFlat(v)
		}
	}
	return aligned, nil
}

// facing is Aligned on a graph, of ambient vectors x close to the manifold, whose size it keeps.
func facing(m geom.Manifold, z, x *Node) *Node {
	at := geom.At(m, z)
	if _, ok := at.Manifold.(geom.Quotient); !ok {
		return x
	}
	aligned := at.Point(at.Coordinates(x))
	square := func(x *Node) *Node { return ReduceAndKeep(Square(x), ReduceSum, -1) }
	return StopGradient(Mul(aligned, BroadcastToShape(Sqrt(Div(square(x), square(aligned))), aligned.Shape())))
}
