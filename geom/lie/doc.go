// Package lie is matrix groups with invariant metrics: rotations SO(n), rigid motions SE(n), GL(n), affine maps.
//
//	G := lie.SO(3)
//	M, err := G.LeftInvariant([][]float64{{1, 0, 0}, {0, 2, 0}, {0, 0, 3}}) // the moments of inertia of a body
//	space := geom.On(M)                                                       // as for any manifold
//
// An element g of the group is its matrix row by row, [..., N²], for matrices of N rows. An element of the Lie algebra is
// its coordinates ξ, [..., d], in the basis E_a of the group, and ξ^ = Σ_a ξ_a E_a its matrix; a momentum μ, [..., d], stands
// for ξ ↦ Σ_a μ_a ξ_a. Angles are in radians.
//
//	exp, log          the matrix exponential and its inverse, the principal logarithm
//	Ad_g ξ            g ξ^ g⁻¹, and ad_ξ η = [ξ, η], ξ^η^ − η^ξ^
//	Ad*_g μ, ad*_ξ μ  their transposes: ⟨Ad*_g μ, η⟩ = ⟨μ, Ad_g η⟩ and ⟨ad*_ξ μ, η⟩ = ⟨μ, [ξ, η]⟩
//	dexp_ξ            Σ_k ad_ξ^k/(k+1)!, with (exp ξ)' = dexp_ξ ξ' · exp ξ = exp ξ · dexp_(−ξ) ξ'
//
// # Metrics
//
// An inner product A on the Lie algebra gives two metrics, A(ξ, ξ) for the velocity g' = g ξ^, left-invariant, or g' = ξ^ g,
// right-invariant. Charts are exponential: the point with coordinates x in the chart at c is c exp x, or exp x · c, where the
// metric is dexpᵀ A dexp. So geodesics, transport, curvature, means and Brownian motion are those of package geom and what
// builds on it. Where the metric is bi-invariant they have closed forms, which are found by themselves.
//
// The standard inner product makes the basis orthonormal. On SO(n) it is ½ tr ξ^ᵀη^: the length of a geodesic of SO(3) is the
// angle of its rotation, sectional curvatures are ¼ |[ξ, η]|², and Brownian motion, whose generator is half the Laplacian, has
// E tr g_T = 3 e^(−T) from the identity.
//
// # Motions
//
// Geodesics are motions too, of a rigid body in free space first of all: with the momentum μ = A ξ,
//
//	g' = g ξ^,  μ' = ad*_ξ μ     left-invariant: ξ and μ belong to the body, Ad*_(g⁻¹) μ in space stays
//	g' = ξ^ g,  μ' = −ad*_ξ μ    right-invariant: ξ and μ belong to space, Ad*_g μ in the body stays
//
// the equations of Euler and Poincaré (J. Marsden and T. Ratiu, Introduction to Mechanics and Symmetry, 1999, chapter 13).
// LiePoisson is their form for any Hamiltonian on momenta; MuntheKaas turns an integrator into one that stays on the group.
// Brownian and Coadjoint are stochastic motions on the group and of momenta on their coadjoint orbits.
package lie
