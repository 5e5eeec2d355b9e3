package stochastic

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/autodiff"
	"anatomy/geom/framebundle"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/geom/try"
	"anatomy/internal/lists"
)

// Brownian returns the process of Brownian motion from a point. Its generator is ½Δ, so the mean of d(x_0, x_t)² is d·t for
// small t. In coordinates and in Itô's calculus it is
//
//	dx^i = −½ g^kl Γ^i_kl dt + E^i_a dW^a,  E Eᵀ = g*, E the Cholesky factor,
//
// with W in R^d (E. Hsu, Stochastic analysis on manifolds, 2002, section 3.3). On a geom.SubRiemannian manifold W is in R^k, the columns of
// E are its frame, and Δ is the Laplacian of Popp's volume. Nothing is computed here: Paths, Sample and
// Along simulate it. The process has a copy of its start, as all processes that functions make have of what they are given.
func Brownian[P geom.Point](on geom.Of[P], start P) Process[P] {
	s := on.Geometry()
	return Process[P]{Space: s, Name: "Brownian motion", Scheme: ode.EulerMaruyama, Noise: geom.Rank(s.M), Start: geom.Clone(start), Dynamics: brownian{}}
}

type brownian struct{}

func (brownian) Equation(at geom.Local, _ []*Node) ode.Equation {
	return func(_ *Node, y ode.State, dt, dw *Node) ode.State {
		drift := Mul(dt, MulScalar(geom.ChristoffelTrace(at.Manifold, y[0]), -0.5))
		return ode.State{Add(drift, linalg.MatVec(geom.Orthonormal(at.Manifold, y[0]), dw))}
	}
}

// Projected returns Brownian motion on a manifold in R^a with the metric of R^a as noise of R^a, projected to the tangent planes:
//
//	dx = P(x) ∘ dW,
//
// with W in R^a and the orthogonal projectors P(x), in Stratonovich's calculus (E. Hsu, Stochastic analysis on manifolds, 2002, theorem
// 3.1.4). It is the process of Brownian. It is an error if the metric is not that of R^a, as on hyperbolic spaces.
func Projected[P geom.Point](on geom.Of[P], start P) (_ Process[P], err error) {
	const what = "Projected"
	defer try.Named(&err, what)
	s := on.Geometry()
	try.Do(s.Check("start", start))
	out := try.Get(s.Call(operation{name: what}, func(in []*Node) []*Node {
		at := geom.At(s.M, in[0])
		return []*Node{geom.MetricMatrix(at.Manifold, at.X), at.Euclidean(at.X)}
	}, shape.Flat(start)))
	own, ambient := out.Flat(0), out.Flat(1)
	if off := floats.Distance(own, ambient, 2); !(off <= 1e-8*floats.Norm(ambient, 2)) {
		return Process[P]{}, fmt.Errorf("the metric differs by %.3g from that of the ambient space: use Brownian", off)
	}
	return Process[P]{Space: s, Name: "projected Brownian motion", Scheme: ode.EulerHeun, Noise: geom.PointDim(s.M), Start: geom.Clone(start), Dynamics: projected{}}, nil
}

type projected struct{}

// Equation has (JᵀJ)⁻¹Jᵀ dW in coordinates, J the derivative of the point.
func (projected) Equation(at geom.Local, _ []*Node) ode.Equation {
	return func(_ *Node, y ode.State, _, dw *Node) ode.State {
		j := linalg.T(autodiff.Jacobian(at.Point, y[0]))
		return ode.State{linalg.MatVec(linalg.Inverse(linalg.MatMul(j, linalg.T(j))), linalg.MatVec(j, dw))}
	}
}

// Development returns the stochastic development of Brownian motion W in R^m, from a point and a frame of m ≤ d tangent vectors
// ν_1, …, ν_m at this point. It is the process x of
//
//	dx = Σ_α ν_α ∘ dW^α,  dν_β = −Γ(∘dx, ν_β),
//
// in Stratonovich's calculus: the frame stays parallel along the path (Hsu, section 2.3; S. Sommer, Anisotropic distributions on
// manifolds, 2015). If the frame is an orthonormal basis, the process is Brownian motion.
func Development[P geom.Point](on geom.Of[P], start P, frame ...P) Process[P] {
	return Process[P]{Space: on.Geometry(), Name: "Development", Scheme: ode.EulerHeun, Noise: len(frame), Start: geom.Clone(start),
		Parts: []Part[P]{{geom.Vector, lists.Each(frame, geom.Clone[P])}}, Dynamics: development{}}
}

type development struct{}

func (development) Equation(at geom.Local, _ []*Node) ode.Equation {
	return func(t *Node, y ode.State, _, dw *Node) ode.State {
		rate := Transpose(dw, 0, 1)
		return framebundle.DevelopmentField(at.Manifold, func(*Node) *Node { return rate })(t, y)
	}
}

// Orthonormal returns an orthonormal basis of the tangent space at a point x: d vectors.
func Orthonormal[P geom.Point](on geom.Of[P], x P) (_ []P, err error) {
	defer try.Named(&err, "Orthonormal")
	s := on.Geometry()
	try.Do(s.Check("point", x))
	try.Do(s.CheckRegular("point", x))
	out := try.Get(s.Call(operation{name: "Orthonormal"}, func(in []*Node) []*Node {
		at := geom.At(s.M, in[0])
		return []*Node{at.Leave(geom.Vector, linalg.T(geom.Orthonormal(at.Manifold, at.X)))}
	}, shape.Flat(x)))
	basis := out.Matrix(0)
	for _, v := range basis {
		try.FailIf(!lists.Finite(v...),
			"the metric at the point %v has no basis in double precision: the point is out of the chart, or its numbers are too large", x)
	}
	return s.FromFlats(basis), nil
}

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
