// Package framebundle is geometry on the frame bundle of a manifold: horizontal lifts, development of curves, and the
// sub-Riemannian geodesics whose projections are the most probable paths of anisotropic Brownian motion (Sommer,
// Information Processing in Medical Imaging, 2015; Sommer and Svane, J. Geometric Mechanics 9, 2017).
//
//	bundle := framebundle.On(manifold.Sphere(2))
//	u := framebundle.At([]float64{1, 0, 0}, []float64{0, 1, 0}, []float64{0, 0, 0.5}) // x, then the vectors ν_1, ν_2
//	dev, err := bundle.Develop(u, [][]float64{{0, 0}, {1, 0}, {1, 1}})                // dev.Path, dev.Frames
//
// Over makes the bundle over a geom.Space, with its type of points. stats.FrameBundleMean estimates a Mean, a point with a frame.
//
// # Points
//
// A point of the bundle is u = (x, ν), ν a frame of m ≤ d linearly independent tangent vectors at x. On the graph x is
// [B..., d] and ν is [m, B..., d], with the vectors of the frame in the first axis, as geom.Connection takes them.
//
//	H_α(u) = (ν_α, −Γ(ν_α, ν_β))   horizontal vector fields: x moves along ν_α, and all ν_β stay parallel
//	w(t)                           a curve in R^m; its development is the solution u of u' = Σ_α w_α' H_α(u), or its x(t);
//	                               w is the anti-development of u
//
// # Momenta
//
// In coordinates a covector at u is a pair (p, P), p of [B..., d] dual to x and P of [m, B..., d] dual to ν. Its invariant parts are
//
//	h = p − Σ_β ⟨P^β, Γ(·, ν_β)⟩   the horizontal part, a covector of the manifold at x: ⟨h, v⟩ = ⟨(p, P), lift of v⟩
//	P^β                            the vertical part, m covectors at x
//
// and the Hamiltonian is H = ½ Σ_α ⟨(p, P), H_α⟩² = ½ Σ_α ⟨h, ν_α⟩². With f_α = ⟨h, ν_α⟩ and R as in geom.Riemann, its flow
// Exp_FM is
//
//	x' = v = Σ_α f_α ν_α,   ∇ν_β = 0,   ∇h = Σ_β ⟨P^β, R(·, v) ν_β⟩,   ∇P^β = −f_β h.
//
// The m numbers f_α(0) determine the energy and the initial velocity; the bending of the path depends on all of (h, P). The vector
// f = w' is the velocity of the anti-development, with f_α' = Σ_β ⟨P^β, R(ν_α, v) ν_β⟩.
//
// # Most probable paths
//
// A most probable path from u to a point y has the least energy ½ ∫ |w'|² dt among all paths with x(1) = y and any frame at the end.
// It is the projection of a geodesic with P(1) = 0. In general P(0) ≠ 0, so a search among momenta with P(0) = 0 finds wrong
// paths. Let V(u) be the least energy. The derivative of V along the lift of v is −⟨h(0), v⟩, and its derivative with respect to
// ν_β is −P^β(0); so the momenta are the gradients by which the search for a Mean varies x and ν.
package framebundle
