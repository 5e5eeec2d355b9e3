package stochastic

import (
	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/ode"
	"anatomy/geom/try"
	"anatomy/internal/lists"
)

// Correlated returns a process with the noise L dW in place of dW, for a lower triangular matrix L, [m][m], with a positive diagonal.
// The entries of L are the first parameters of the new process, row by row: L_11, L_21, L_22, L_31, …; those of p follow. So package
// guided can infer them, one guided.Param each:
//
//   - of Brownian motion on a group (lie.Brownian) in the metric A = 1: the new process is Brownian motion in the metric A = (LLᵀ)⁻¹, if
//     the group is unimodular;
//   - of a Development in a frame e: the new process has the normal distribution whose covariance is LLᵀ in this frame, that of the frame
//     Σ_α L_αβ e_α.
//
// Each covariance LLᵀ has one such L. Another shape of L and entries that are not finite are errors.
func Correlated[P geom.Point](p Process[P], factor [][]float64) (_ Process[P], err error) {
	defer try.Named(&err, "Correlated")
	try.FailIf(len(factor) != p.Noise, "a factor of %d rows for noise in R^%d", len(factor), p.Noise)
	params := []any{}
	for i, row := range factor {
		try.FailIf(len(row) != p.Noise, "row %d of the factor has %d numbers, want %d", i, len(row), p.Noise)
		for j, x := range row {
			switch {
			case !lists.Finite(x) || j > i && x != 0 || j == i && x <= 0:
				try.Fail("entry (%d, %d) of the factor is %g: want a lower triangular matrix with a positive diagonal", i, j, x)
			case j <= i:
				params = append(params, x)
			}
		}
	}
	p.Name += " with correlated noise"
	p.Params, p.Dynamics = append(params, p.Params...), correlated{p.Dynamics, p.Noise}
	return p, nil
}

// correlated are the dynamics of Correlated for noise in R^m.
type correlated struct {
	of Dynamics
	m  int
}

func (c correlated) NearCentre() Dynamics {
	if s, ok := c.of.(Stepwise); ok {
		return correlated{s.NearCentre(), c.m}
	}
	return c
}

func (c correlated) Equation(at geom.Local, params []*Node) ode.Equation {
	entries := c.m * (c.m + 1) / 2
	f := c.of.Equation(at, params[entries:])
	return func(t *Node, y ode.State, dt, dw *Node) ode.State {
		columns := make([]*Node, c.m)
		for i := range c.m {
			for j := range i + 1 {
				term := Mul(params[i*(i+1)/2+j], SliceAxis(dw, -1, AxisRange(j, j+1)))
				if j == 0 {
					columns[i] = term
				} else {
					columns[i] = Add(columns[i], term)
				}
			}
		}
		return f(t, y, dt, Concatenate(columns, -1))
	}
}
