package framebundle

import (
	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/ode"
)

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
