// Package landmarks is the manifold of n labelled points in the plane or in space, with the metric that the LDDMM
// framework gives it. Landmark data, their files and their alignment are package morpho's.
//
//	cc := morpho.CorpusCallosum()
//	M := landmarks.New(39, 2, kernels.Gaussian(cc.Spacing()))
//	r, err := M.Log(cc.Shape("jhu_atlas"), cc.Shape("colin27"))
//
// The cometric of landmarks x_1 … x_n is g^{ij} = K(x_i, x_j)·I_D for a reproducing kernel K: a momentum p_i sits at
// every landmark, moves all of them by x_i' = Σ_j K(x_i, x_j) p_j, and any other point z by z' = Σ_j K(z, x_j) p_j.
// Shapes are [][]float64, a row a landmark; inside the geometry a shape is the vector x_1 y_1 x_2 y_2 …
package landmarks
