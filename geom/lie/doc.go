// Package lie has matrix groups with invariant metrics: rotations SO(n), rigid motions SE(n), invertible matrices GL(n), affine
// maps.
//
//	G := lie.SO(3)
//	M, err := G.LeftInvariant([][]float64{{1, 0, 0}, {0, 2, 0}, {0, 0, 3}}) // the moments of inertia of a body
//	space := geom.On(M)                                                     // for geodesics, means … as on any manifold
//	v, err := G.Tangent(0, 0, math.Pi/2)                                    // a tangent vector at the identity
//	g, err := space.Exp(G.Identity(), v)                                    // g.End is the rotation by 90° about z
//	m, err := lie.Move(space, G.Identity(), []float64{0.01, 1, 0}, 16, 800) // the motion of the body until time 16
//
// An element g of the group is a matrix of N rows, written as the list of its rows, [..., N²]; geom.OnShapes makes a space with
// matrices as points. An element of the Lie algebra is the list ξ of its coordinates, [..., d], in the basis E_a of the group;
// its matrix is ξ^ = Σ_a ξ_a E_a. A momentum μ, [..., d], is the linear form ξ ↦ ⟨μ, ξ⟩ = Σ_a μ_a ξ_a. Angles are in radians.
//
//	exp, log          the matrix exponential and its inverse, the principal logarithm
//	Ad_g ξ            g ξ^ g⁻¹, and ad_ξ η = [ξ, η], ξ^η^ − η^ξ^
//	Ad*_g μ, ad*_ξ μ  their transposes: ⟨Ad*_g μ, η⟩ = ⟨μ, Ad_g η⟩ and ⟨ad*_ξ μ, η⟩ = ⟨μ, [ξ, η]⟩
//	dexp_ξ            Σ_k ad_ξ^k/(k+1)!, with (exp ξ)' = dexp_ξ ξ' · exp ξ = exp ξ · dexp_(−ξ) ξ'
//
// # Metrics
//
// An inner product A on the Lie algebra gives two metrics, in which the squared norm of a velocity g' is A(ξ, ξ): in the
// left-invariant one g' = g ξ^, and in the right-invariant one g' = ξ^ g. Charts are exponential: the point with coordinates x in the
// chart at c is c exp x for left-invariant metrics and exp x · c for right-invariant ones, and the metric in these coordinates is
// dexpᵀ A dexp. So geodesics, transport, curvature, means and Brownian motion are computed by package geom and the packages that
// use it. If the metric is bi-invariant, or on SE(n) the product of such a metric of the rotations and of that of straight lines, closed forms
// are used automatically.
//
// The standard inner product makes the basis orthonormal. On SO(n) it is ½ tr ξ^ᵀη^: the length of a geodesic of SO(3) is the
// angle of its rotation, the sectional curvature for orthonormal ξ and η is ¼ |[ξ, η]|², and Brownian motion g_t from the identity
// of SO(3), whose generator is half the Laplacian, has E tr g_T = 3 e^(−T).
//
// # Quotients
//
// Quotient makes the homogeneous space G/H, to which a metric descends: the sphere is SO(3)/SO(2), the positive definite matrices are
// GL(n)/O(n), the sets of p orthonormal vectors SO(n)/SO(n − p). Points stay elements of the group, any of their fibre, and paths come
// with their horizontal lifts.
//
// # Motions
//
// A geodesic is also a motion, for example of a rigid body in free space. With the momentum μ = A ξ it solves the equations of
// Euler and Poincaré (J. Marsden and T. Ratiu, Introduction to Mechanics and Symmetry, 1999, chapter 13),
//
//	g' = g ξ^,  μ' = ad*_ξ μ     left-invariant: ξ and μ are in body coordinates, and Ad*_(g⁻¹) μ, in space, is constant
//	g' = ξ^ g,  μ' = −ad*_ξ μ    right-invariant: ξ and μ are in space coordinates, and Ad*_g μ, in the body, is constant
//
// Move integrates them. On the graph, EulerPoincare is their field, LiePoisson the field of any Hamiltonian on momenta, and
// MuntheKaas turns an integrator into one that stays on the group. Brownian and Coadjoint are stochastic motions: on the group, and
// of momenta on their coadjoint orbits.
package lie
