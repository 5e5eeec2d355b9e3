// Package stochastic simulates diffusions on manifolds, and uses them for statistics: Brownian motion, stochastic development,
// normal distributions, bridges, likelihoods, diffusion means.
//
//	sphere := geom.On(manifold.Sphere(2))
//	paths, err := stochastic.Brownian(sphere, x).Paths(stochastic.Run{Paths: 20, Steps: 100, Seed: 1})
//	// paths.Points[k][i] is path k at time i/100
//	bridges, err := stochastic.Bridge(sphere, stochastic.Guided, x, y, stochastic.Run{Paths: 20, Steps: 100, Seed: 1})
//
// A Process is a stochastic equation with its start, and a Run says how many paths are simulated, in how many steps, and with
// which seed; Process.Along runs it along a tree, and Process.MostProbable finds its way to a given point when noise is weak. The
// noise is made on the host from the seed, and is an input of one compiled function for all paths; so equal runs have equal noise on
// every device. On a geom.Charted every step is taken in the chart centred at its start; points and vectors are ambient. The notation
// is that of packages geom and ode; τ = T − t is the time that is left to the end T of a bridge.
//
// # Normal distributions
//
// The normal distribution that starts at x with the covariance ννᵀ = Σ_α ν_α ν_αᵀ is the distribution of
// Development(s, x, ν_1, …, ν_m) at time 1. The isotropic one with variance σ² in every direction is the distribution of
// Brownian(s, x) at time σ². Process.Sample draws from them. The start x is in general neither the mean of their coordinates
// nor their Fréchet mean: from samples of the isotropic one it is estimated as their DiffusionMean.
package stochastic
