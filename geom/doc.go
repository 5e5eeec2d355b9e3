// Package geom is Riemannian and sub-Riemannian geometry on the graph: metrics, cometrics, geodesics and logarithms,
// and everything that follows from them by automatic differentiation.
//
// # A manifold
//
// A manifold is a value with Dim and either G, its metric, or Sharp, its cometric, in coordinates; closed forms are
// optional methods, found by type assertion, and always equal what the generic functions of this package compute.
// Graph functions take nodes and batch over leading axes; Space runs them on host slices.
//
// A manifold that no single chart holds is an Atlas: its points and vectors are those of an ambient space, unit vectors
// for the sphere, and every step is taken in the chart centred at the current point. Functions on the host take and
// return ambient vectors then. Graph functions enter the chart at a point by At, which is the identity where points are
// coordinates.
//
// # A space
//
// A Space runs the geometry of a manifold on host values, with points of one type P: On has lists of numbers, OnShapes
// shapes, one row a landmark or one row of a matrix. Functions of other packages take an Of[P], which a Space is, and give
// back points of the same type. Computations that take long end when the Context of the space does.
//
// # Notation
//
//	d            dimension; q, x points, [..., d]; v tangent vectors, [..., d]; p covectors (momenta), [..., d]
//	g_ij         metric, [..., d, d];  g^ij cometric, its inverse
//	p♯^i         g^ij p_j, Sharp: covector to vector;  v♭_i  g_ij v^j, Flat: vector to covector
//	⟨u, v⟩_g     g_ij u^i v^j;  ‖v‖_g its norm
//	H(q, p)      ½ g^ij p_i p_j, the Hamiltonian of geodesics
//	Exp_q(v)     γ(1) for the geodesic with γ(0) = q, γ'(0) = v;  Log_q(y) its inverse, d(q, y) = ‖Log_q(y)‖_g
//	Γ^i_kl       Christoffel symbols, upper index first;  Γ(u, v)^i = Γ^i_kl u^k v^l
//	∂_l g_mk     Dg[m, k, l], the derivative last
//	K ⊗ I_D      cometric of n landmarks in R^D, d = n·D, coordinates landmark by landmark: x_1 y_1 x_2 y_2 …
//
// Time runs from 0 to 1 everywhere. Lengths have the unit of the data; momenta have the unit of lengths, since the
// kernels are normalised to k(0) = 1.
//
// # Errors
//
// Graph functions panic with shapes in the message. Host functions return errors that say what was wrong, where, and
// what to do; an iteration that stops early says so in its Status and returns the best it had.
package geom
