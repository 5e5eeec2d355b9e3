// Package shapestats is geometric morphometrics: analyses of the shapes of a morpho.Dataset by the linear models and permutation tests of
// geom/stats/linear. It computes on the host and links no XLA.
//
//	species, site := linear.Factor("species"), linear.Factor("site")                // columns of the data set
//	model, err := shapestats.Fit(heads, species, site, linear.Interaction(species, site))
//	table, err := model.ANOVA(linear.Permutations{N: 999, Seed: 1})                 // Procrustes analysis of variance
//	pairs, err := model.PairsOfMeans(site, linear.Permutations{N: 999, Seed: 1})    // also PairsOfSlopes, Disparity, Trajectories, Modularity
//
// FitOnTree is the same for species with a phylogeny; PhylogeneticSignal, PhylogeneticLambda and EvolutionaryRates compare shapes along it.
// MeasureIntegration tells how two parts of an anatomy covary, ObjectSymmetry how left and right sides differ.
//
// Shapes are brought to size 1, aligned by rotations and projected to the tangent space of their mean (morpho.Dataset.TangentShapes). The rows of
// the models are these shapes, with the coordinates of a landmark after those of the one before; Model.Shape makes [][]float64 of them.
package shapestats
