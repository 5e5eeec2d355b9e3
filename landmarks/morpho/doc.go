// Package morpho is landmark data: files, Procrustes alignment, semi-landmarks that slide on curves and surfaces, missing landmarks,
// resampled outlines, and embedded sets of real anatomy. Package shapestats analyses them. It computes on the host and links no XLA.
//
//	cc := morpho.CorpusCallosum()                              // outlines of 39 landmarks, mm
//	mice, err := morpho.Read("mice.tps")                       // tables, TPS, 3D Slicer, R and others; or a folder of files
//	aligned, err := morpho.Procrustes(mice.Shapes())           // generalised Procrustes analysis
//	M := landmarks.New(39, 2, kernels.Gaussian(cc.Spacing()))  // the manifold of such shapes
//
// Shapes are [][]float64, a row of 2 or 3 coordinates a landmark; landmarks are counted from 0.
package morpho
