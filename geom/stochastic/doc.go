// Package stochastic simulates diffusions on manifolds and computes with them: Brownian motion, stochastic development,
// normal distributions, bridges, likelihoods, diffusion means.
//
//	sphere := geom.On(manifold.Sphere(2))
//	paths, err := stochastic.Brownian(sphere, x).Paths(stochastic.Run{Paths: 20, Steps: 100, Seed: 1})
//
// A Process is a stochastic equation with its start; a Run says how many paths are made of it, and from which noise.
// Noise is made on the host from the seed and is an input of one compiled function for all paths, so runs repeat
// exactly, on any device. On a geom.Atlas paths move from chart to chart and leave none; points and vectors are ambient.
//
// # Normal distributions
//
// The normal distribution N(x, Σ) with Σ = Σ_α ν_α ν_αᵀ is the distribution at time 1 of Development(s, x, ν), the
// isotropic one of variance σ² that of Brownian(s, x) at time σ². Process.Sample draws from them.
package stochastic
