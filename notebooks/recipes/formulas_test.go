package recipes

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/lie"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
	"anatomy/geom/tree"
	"anatomy/notebooks/nb"
)

// How do I add a manifold by its cometric, and evaluate its formulas?
func Example_formulas() {
	y := func(q *Node) *Node { return SliceAxis(q, -1, AxisRange(1, 2)) }
	plane := geom.CometricFunc(2, func(q, p *Node) *Node { // the half plane: y² times the covector
		return Mul(p, BroadcastToShape(Square(y(q)), p.Shape()))
	})
	upwards := func(q *Node) *Node { return Concatenate([]*Node{ZerosLike(y(q)), y(q)}, -1) }
	out := nb.Must(engine.Run(func(q, u, v *Node) []*Node {
		height := geom.GradientOf(plane, func(q *Node) *Node { return Squeeze(y(q), -1) }, q)
		return []*Node{height, geom.Divergence(plane, upwards, q), geom.Riemann(plane, q, u, v, v), geom.Ricci(plane, q), geom.ScalarCurvature(plane, q)}
	}, geom.Vec{0, 2}, geom.Vec{1, 0}, geom.Vec{0, 1}))
	fmt.Printf("%.3f %.3f %.3f\n%.3f %.3f\n", out.Vector(0), out.Scalar(1), out.Vector(2), out.Matrix(3), out.Scalar(4))
	// Output:
	// [0.000 4.000] -1.000 [-0.250 0.000]
	// [[-0.250 0.000] [0.000 -0.250]] -2.000
}

// Which manifolds are there, and of which dimensions?
func Example_manifolds() {
	for _, m := range []geom.Manifold{manifold.Sphere(2), manifold.Ellipsoid(1, 2, 3), manifold.Torus(2, 1), manifold.Cylinder(1),
		manifold.Hyperbolic(2), manifold.SPD(3), manifold.Kendall(5, 3), manifold.Configurations(5, 3), manifold.Heisenberg()} {
		fmt.Print(m.Dim(), " ")
	}
	// Output:
	// 2 2 2 2 2 6 8 15 3
}

// How do I compute in a Lie algebra?
func Example_algebra() {
	G := lie.Affine(1) // x ↦ a x + b, with the basis of scalings and shifts
	out := nb.Must(engine.Run(func(z, xi, eta *Node) (bracket, adjoint *Node) {
		return G.Bracket(xi, eta), G.Ad(z, eta)
	}, geom.Vec{2, 3, 0, 1}, geom.Vec{1, 0}, geom.Vec{0, 1}))
	fmt.Println(out.Vector(0), out.Vector(1))
	// Output:
	// [0 1] [0 2]
}

// How do I integrate the equations of a rigid body on the graph?
func Example_body() {
	G, inertia := lie.SO(3), []float64{1, 2, 3}
	body := nb.Must(G.LeftInvariant([][]float64{{1, 0, 0}, {0, 2, 0}, {0, 0, 3}}))
	energy := func(mu *Node) *Node { // ½ Σ μ_i²/I_i
		return MulScalar(ReduceSum(Div(Square(mu), ConstAsDType(mu.Graph(), mu.DType(), inertia)), -1), 0.5)
	}
	out := nb.Must(engine.Run(func(z, mu *Node) (reduced, whole *Node) {
		reduced = ode.Flow(G.LiePoisson(lie.Left, energy), ode.RK4, 100, ode.State{mu})[0]
		return reduced, ode.Flow(lie.EulerPoincare(body), G.MuntheKaas(lie.Left, ode.RK4), 100, ode.State{z, mu})[1]
	}, G.Identity(), geom.Vec{1, 1, 0}))
	fmt.Printf("%.6f\n%.6f\n", out.Vector(0), out.Vector(1))
	// Output:
	// [1.037402 0.833782 -0.478128]
	// [1.037402 0.833782 -0.478128]
}

// How do I keep some species of a tree, or make one of individuals that were measured at several ages?
func Example_trees() {
	phylogeny := nb.Must(tree.Parse("((a:1,b:1):1,(c:0.5,d:0.5):1.5);"))
	fmt.Println(nb.Must(phylogeny.Keep("a", "c", "d")).Newick())
	cohort := nb.Must(tree.Cohort([]float64{1, 2, 3}, []string{"rat 1", "rat 1", "rat 2"}))
	fmt.Println(cohort.Newick())
	// Output:
	// (a:2,(c:0.5,d:0.5):1.5);
	// (('specimen 0':0,'specimen 1':1):1,'specimen 2':3);
}
