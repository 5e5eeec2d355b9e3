// Package guided infers stochastic processes from what is seen of them at the leaves of a tree: the states of ancestors, and
// parameters such as the rate and the width of a kernel. A bridge is a tree of one edge.
//
//	flow, err := space.Kunita(start, 1, 0.1)                   // the process, from the root
//	post, err := guided.Sample(flow, tree, guided.Observations[geom.Shape]{Leaves: leaves, Noise: 0.03}, guided.Options{
//		Unknown: []guided.Unknown{guided.Param(0, "width", guided.LogNormal(1, 0.5)), guided.Rate(guided.InverseGamma(2, 0.5))},
//		Root:    0.2, // the ancestor is normal around start
//	})
//	post.Unknown[0] // width 0.9 ± 0.1 (R̂ 1.003, effective sizes 812 and 640)
//	post.Nodes[0]   // draws of the ancestor
//
// # The model
//
// Along every edge the process takes Options.Steps steps of Euler and Maruyama in Itô's calculus,
//
//	x' = x + h b(x) + √h σ(x) z,  z ~ N(0, 1),
//
// after ItoFromStratonovich where it is written in Stratonovich's, and splits into independent copies at each node; what is seen is
// x + N(0, noise²) at the leaves: all landmarks or some. This chain of steps is the model: what is computed of
// it has no error of discretisation, only the model has. Any stochastic.Process will do whose equation does not depend
// on time; its parts (momenta, frames) belong to the state and are not seen. One whose Dynamics are Separable, as landmarks.Kunita,
// has matrices of the size of the number of landmarks. Noise that does not depend on the state is told by Additive dynamics, as those of
// landmarks.Langevin, and need not be asked from the equation.
//
// # Regression
//
// Specimens of ages that all deviate from one trajectory are the leaves of a tree: of a star, or where individuals are seen again and
// again, of chains (tree.Cohort). What is not known of the root are the trajectory's point and speed, a part of the state:
//
//	cohort, err := tree.Cohort(ages, rats)             // rats: the names of the individuals, nil where each was seen once
//	growth, err := space.Langevin(shape, rest, 0, 0.1) // geodesic motion with noise in the momenta, from rest: momenta of 0
//	post, err := guided.Sample(growth, cohort, guided.Observations[geom.Shape]{Leaves: skulls, Noise: 0.05}, guided.Options{
//		Unknown: []guided.Unknown{guided.Param(1, "deviation", guided.LogNormal(0.1, 1)), guided.Noise(guided.LogNormal(0.05, 1))},
//		Root:    0.3, RootParts: []float64{1}, // the shape at age 0 is normal around shape, its momentum around 0
//	})
//	post.Nodes[0], post.Parts[0] // draws of both
//
// This is geodesic regression (stats.Regress), but that specimens deviate from the geodesic by more than errors, the more the older they
// are and landmarks near each other alike (A. Trouvé and F.-X. Vialard, Shape splines and stochastic shape evolutions, 2012). Any
// process does whose trajectory depends on parts of its state. Ages count
// from the root, which is best put before the youngest specimens where these differ already. What all specimens have in common is the
// trajectory alone: where that is no geodesic, deviations are found larger than those between individuals.
//
// The state holds both coordinates of all landmarks and momenta, and the work of a step grows with (2nD)³. For 18 rats with
// 8 landmarks, seen at eight ages, with two steps an edge and four chains, a gradient takes 0.18 processor seconds (BenchmarkRegression),
// and 4 × 60 draws after a warm-up of 30 take 310, with effective sizes from 127.
//
// # Guides
//
// An auxiliary process, linear with noise that depends on time only,
//
//	x' = x + h (β + J x) + √h N(0, ã),
//
// carries messages h̃(x) = exp(−½‖f − Bx‖²) from the leaves to the root, which meet at the nodes (F. van der Meulen and S. Sommer,
// Backward filtering forward guiding, 2025). Each step of the true process is drawn from its own normal distribution times the message
// after it, and weighted with the mean of this message by its value at the new state, and with the density of what was seen. The
// weights of independent paths have the likelihood for their mean, whatever the messages; where the process is linear with constant
// noise, and they are its own, every weight is the likelihood, to rounding. ã, β and J are averages of σσᵀ, of the drift and, where
// there is no known structure, of its derivative along the paths of the chains, which are learned in the warm-up and fixed after it.
//
// They depend on the unknowns, and so must the messages: an unknown that scales the noise would else go with the weight of the path,
// and move slowly. Messages are made at the mean of the unknowns and a standard deviation around it; between these places f and B are
// polynomials of degree two, which is as good as any other message.
//
// # Charts
//
// On a geom.Charted manifold, such as a sphere or a group, x is an ambient vector, and so is what is seen of it, with errors in all
// directions. Each step is taken in the chart centred where the path is, and parts move with it from chart to chart. Messages are about
// coordinates in charts whose centres are among the points that chains have visited; a step takes the message after it to its own
// chart, to first order. The weight of a step is the ratio of two densities in one chart, so that no Jacobian comes in: weights have
// the likelihood for their mean, whatever the charts. It is the density of what is seen in R^a, which does not depend on the metric, so
// that metrics can be inferred: see stochastic.Correlated. The prior of a root is normal in the chart centred at Process.Start.
// Manifolds whose points are orbits (geom.Quotient) are refused.
//
//	noise, err := stochastic.Correlated(brownian, factor)                  // Brownian motion of SO(3) from lie.Brownian, [3][3]
//	post, err := guided.Sample(noise, star, guided.Observations[geom.Vec]{Leaves: rotations, Noise: 0.02}, guided.Options{
//		Unknown: []guided.Unknown{guided.Param(0, "L11", guided.LogNormal(0.3, 1)), guided.Param(1, "L21", guided.Normal(0, 0.3)), …},
//	})
//	m, err := post.MaximumLikelihood() // the metric is the inverse of LLᵀ
//
// Chains go the way round a sphere or a group that they find at first, and stay there where others are likely, too.
//
// # Sampling
//
// The chains move in the normal numbers z of the steps and the logarithms of the unknowns together, by Hamiltonian Monte Carlo that
// keeps the normal distribution of z exactly: its shortest form is the preconditioned Crank-Nicolson method. Gradients go
// backwards through the paths. All chains, all edges of a depth, and all data sets of SampleAll are one batch of one compiled
// call an iteration. On the CPU the steps of Separable processes are C code, eight paths at once where the processor
// can, on all cores. The noise comes from the host, so that runs repeat, whatever the number of cores.
//
// In the warm-up all chains of a data set get one step size, for a mean acceptance of 0.9, and unknowns a scale in the middle between
// their covariance and the one they have for given noise, which gradients tell before chains have mixed. Where they depend on the
// noise they turn more slowly than it does: how fast is measured at the end of the warm-up, and trajectories are then as long as
// they need.
//
// The Status is Converged only where the rank-normalised split R̂ of every unknown, of the weight and of all coordinates of the nodes is
// below 1.01 and their bulk and tail effective sizes are at least 400: see package chains. Where the context of the process's space ends,
// what was drawn is returned with the error; with Options.Save the same call goes on from there, as if it had not been interrupted.
//
// Posterior.MaximumLikelihood has the maximum of the likelihood, with standard errors, of the draws and the derivatives that come with
// them.
//
// Chains stay in the mode of the posterior where they begin, if paths between modes are improbable. Their R̂ is then above 1.01, or all of
// them are in one, which the Status cannot tell.
//
// Memory is that of the messages, which goes with leaves × steps × landmarks² × (p + 1)(p + 2)/2 for p unknowns, and that of the draws, which
// goes with chains × draws × leaves × landmarks. Sample refuses a run for which there is not enough, by a count that TestMemory compares with
// measured runs of 25 leaves. For 100 leaves with 118 landmarks it counts 3.9 GB, where 3.6 GB were measured (BenchmarkMemory). For 425 leaves it
// counts 16 GB with one unknown and 20 GB with two, 8 GB of them for draws; this was not measured.
// Time goes with leaves × steps: from 25 to 100 leaves of balanced trees with an exponent of 1.2, from 12 to 50 steps with 1.0. A gradient of four
// chains of 100 leaves with 40 landmarks, 25 steps and two unknowns takes 1.9 processor seconds (BenchmarkGradient). It goes with landmarks³: one of
// 25 leaves with 118 landmarks took 11 on a busy machine, so one of 425 leaves would take about 330, and a posterior of 6,000 gradients 550 hours.
package guided
