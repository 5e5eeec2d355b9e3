// Package framebundle is geometry on the frame bundle of a manifold: horizontal lifts, development of curves, and the
// sub-Riemannian geodesics whose projections are the most probable paths of anisotropic Brownian motion (Sommer,
// Information Processing in Medical Imaging, 2015; Sommer and Svane, J. Geometric Mechanics 9, 2017).
//
// # Points
//
// A point of the bundle is u = (x, ν), ν a frame of m ≤ d linearly independent tangent vectors at x. On the graph x is
// [B..., d], and the vectors of the frame stand in an axis in front, ν of [m, B..., d], as geom.Connection takes them.
//
//	H_α(u) = (ν_α, −Γ(ν_α, ν_β))   horizontal fields: x moves along ν_α, all ν_β stay parallel
//	w(t)                           a curve in R^m; its development is u' = Σ_α w_α' H_α(u), and x(t) on the manifold
//
// # Momenta
//
// In coordinates a covector at u is (p, P), p of [B..., d] and P of [m, B..., d] dual to x and ν. Its invariant parts are
//
//	h = p − Σ_β ⟨P^β, Γ(·, ν_β)⟩   the horizontal part, a covector of the manifold at x: ⟨h, v⟩ = ⟨(p, P), lift of v⟩
//	P^β                            the vertical part, m covectors at x
//
// and the Hamiltonian is H = ½ Σ_α ⟨(p, P), H_α⟩² = ½ Σ_α ⟨h, ν_α⟩². With f_α = ⟨h, ν_α⟩ and R as in geom.Riemann, its flow
// Exp_FM is
//
//	x' = v = Σ_α f_α ν_α,   ∇ν_β = 0,   ∇h = Σ_β ⟨P^β, R(·, v) ν_β⟩,   ∇P^β = −f_β h.
//
// The m numbers f_α(0) decide on the energy and on the initial velocity, the whole of (h, P) on where the path bends:
// f = w' is the velocity of the anti-development, and changes by ⟨P^β, R(ν_α, v) ν_β⟩.
//
// # Most probable paths
//
// A path from u that costs the least energy ½ ∫ |w'|² dt among those with a given end point x(1), whatever the frame there,
// is a projected geodesic with P(1) = 0. In general then P(0) ≠ 0: to search among momenta with P(0) = 0 would bend paths
// the wrong way. Let V(u) be the least energy. Then the derivative of V along the lift of v is −⟨h(0), v⟩ and that by ν_β is
// −P^β(0): the momenta are all that statistics need in order to vary mean and covariance.
package framebundle
