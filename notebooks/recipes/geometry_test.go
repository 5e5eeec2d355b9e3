package recipes

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/framebundle"
	"anatomy/geom/lie"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
	"anatomy/geom/stochastic"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/morpho"
	"anatomy/notebooks/nb"
)

// How do I make the manifold of landmarks?
func Example_landmarks() {
	M := landmarks.New(39, 2, kernels.Gaussian(5)) // in the plane, with a kernel of 5 mm
	fmt.Println(M)
	// Output:
	// manifold of 39 landmarks in R^2, kernel Gaussian(σ = 5)
}

// How do I find the geodesic between two shapes?
func Example_log() {
	cc := morpho.CorpusCallosum()                             // two human outlines, 39 landmarks, mm
	M := landmarks.New(39, 2, kernels.Gaussian(cc.Spacing())) // the LDDMM manifold with a Gaussian kernel
	g := nb.Must(M.Log(cc.Shape("jhu_atlas"), cc.Shape("colin27")))
	fmt.Printf("%s, %.1f mm long\n", g.Status, g.Length)
	// Output:
	// converged, 23.1 mm long
}

// Can I trust a geodesic?
func Example_trust() {
	cc := morpho.CorpusCallosum()
	q0, q1 := cc.Shape("jhu_atlas"), cc.Shape("colin27")
	M := landmarks.New(39, 2, kernels.Gaussian(cc.Spacing()))
	g := nb.Must(M.Log(q0, q1))
	times := nb.Must(M.Conjugate([]geom.Shape{q0}, []geom.Shape{g.Velocity}))
	fmt.Println(g.Err(), g.Residual < 1e-6, g.Drift < 1e-4, math.IsInf(times[0], 1)) // it converged, ends at the target, keeps its energy, has no conjugate point
	// Output:
	// <nil> true true true
}

// How do I shoot a geodesic from a velocity, and from a momentum?
func Example_shoot() {
	M := landmarks.New(2, 2, kernels.Gaussian(1))
	q := geom.Shape{{0, 0}, {1, 0}}
	byVelocity := nb.Must(M.Exp(q, geom.Shape{{0, 1}, {0, 0}}))
	byMomentum := nb.Must(M.Shoot(q, geom.Shape{{0, 1}, {0, 0}}))
	fmt.Printf("%.3f\n%.3f\n", byVelocity.End, byMomentum.End)
	// Output:
	// [[0.179 0.967] [0.821 0.015]]
	// [[0.000 1.000] [1.000 0.591]]
}

// How do I compute a curvature?
func Example_curvature() {
	S := geom.On(manifold.Sphere(2))
	scalar := nb.Must(S.ScalarCurvature(geom.Vec{0, 0, 1}))
	sectional := nb.Must(S.SectionalCurvature(geom.Vec{0, 0, 1}, geom.Vec{1, 0, 0}, geom.Vec{0, 1, 0}))
	fmt.Printf("%.6f %.6f\n", scalar, sectional)
	// Output:
	// 2.000000 1.000000
}

// How do I transport a vector along a geodesic?
func Example_transport() {
	S := geom.On(manifold.Sphere(2))
	g := nb.Must(S.Log(geom.Vec{1, 0, 0}, geom.Vec{0, 1, 0}))
	along := nb.Must(S.Transport(g, geom.Vec{0, 1, 0}))[0]
	fmt.Printf("%.3f\n", along[len(along)-1])
	// Output:
	// [-1.000 0.000 0.000]
}

// How do I add a manifold by its metric?
func Example_metric() {
	plane := geom.On(geom.MetricFunc(2, func(x *Node) *Node { // the half plane: the metric is 1/y² times the identity
		y := SliceAxis(x, -1, AxisRange(1, 2))
		zero, g := ZerosLike(y), Reciprocal(Square(y))
		return Stack([]*Node{Concatenate([]*Node{g, zero}, -1), Concatenate([]*Node{zero, g}, -1)}, -2)
	}))
	g := nb.Must(plane.Log(geom.Vec{0, 1}, geom.Vec{0, 2}))
	fmt.Printf("%.6f, log 2 is %.6f\n", g.Length, math.Log(2))
	// Output:
	// 0.693147, log 2 is 0.693147
}

// How do I add a surface by an immersion?
func Example_immersion() {
	saddle := geom.On(geom.FromImmersion(geom.ImmersionFunc(2, func(p *Node) *Node {
		x, y := SliceAxis(p, -1, AxisRange(0, 1)), SliceAxis(p, -1, AxisRange(1, 2))
		return Concatenate([]*Node{p, Mul(x, y)}, -1) // z = x y
	})))
	fmt.Printf("%.6f\n", nb.Must(saddle.ScalarCurvature(geom.Vec{0, 0}))/2) // Gauss curvature
	// Output:
	// -1.000000
}

// How do I get the Christoffel symbols at a point?
func Example_christoffel() {
	torus := geom.MetricFunc(2, func(x *Node) *Node { // (angle around the tube, angle around the axis)
		r := AddScalar(Cos(SliceAxis(x, -1, AxisRange(0, 1))), 2)
		zero := ZerosLike(r)
		return Stack([]*Node{Concatenate([]*Node{OnesLike(r), zero}, -1), Concatenate([]*Node{zero, Square(r)}, -1)}, -2)
	})
	gamma := nb.Must(engine.Run(func(x *Node) *Node { return geom.ChristoffelSymbols(torus, x) }, geom.Vec{math.Pi / 2, 0}))
	fmt.Printf("%.3f\n", gamma.Array3(0)[0]) // Γ⁰_kl
	// Output:
	// [[0.000 0.000] [0.000 2.000]]
}

// How do I write a function of my own on the graph, and differentiate it?
func Example_gradient() {
	square := func(x *Node) *Node { return ReduceAllSum(Square(x)) }
	out := nb.Must(engine.Run(func(x *Node) (*Node, *Node) { return square(x), Gradient(square(x), x)[0] }, geom.Vec{3, 4}))
	fmt.Println(out.Scalar(0), out.Vector(1))
	// Output:
	// 25 [6 8]
}

// How do I choose the integrator and its steps?
func Example_integrator() {
	M := landmarks.New(2, 2, kernels.Gaussian(1), geom.Integrator(ode.RK4, 100))
	heun := M.With(geom.Integrator(ode.Heun, 10))
	fmt.Println(M.Steps(), heun.Steps())
	// Output:
	// 100 10
}

// How do I use a kernel of my own?
func Example_kernel() {
	rational := kernels.Radial("rational", func(s *Node) *Node { return Reciprocal(AddScalar(s, 1)) }, 2) // 1/(1 + r²/4)
	M := landmarks.New(2, 2, rational)
	g := nb.Must(M.Shoot(geom.Shape{{0, 0}, {2, 0}}, geom.Shape{{0, 1}, {0, 0}}))
	fmt.Printf("%.3f\n", g.Velocity)
	// Output:
	// [[0.000 1.000] [0.000 0.500]]
}

// How do I roll a path onto a manifold?
func Example_develop() {
	S := framebundle.On(manifold.Sphere(2))
	pole := geom.Vec{0, 0, 1}
	north := framebundle.At(pole, nb.Must(stochastic.Orthonormal(S.Base, pole))...)
	var line [][]float64
	for k := range 51 {
		line = append(line, []float64{math.Pi / 2 * float64(k) / 50, 0})
	}
	d := nb.Must(S.Develop(north, line))
	fmt.Println(math.Abs(d.Path[50][2]) < 1e-3) // on the equator
	// Output:
	// true
}

// How do I work with rotations?
func Example_rotations() {
	G := lie.SO(3)
	S := geom.On(nb.Must(G.LeftInvariant(nil))) // lengths are angles
	turn := nb.Must(S.Exp(G.Identity(), nb.Must(G.Tangent(0, 0, math.Pi/2)))).End
	fmt.Printf("%.3f\n", nb.Must(S.Log(G.Identity(), turn)).Length)
	// Output:
	// 1.571
}
