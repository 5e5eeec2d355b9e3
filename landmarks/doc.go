// Package landmarks is the manifold of shapes with N labelled points, called landmarks, in the plane or in space, with the metric of
// the LDDMM framework (large deformation diffeomorphic metric mapping). Landmark data, files and alignment are in package
// morpho.
//
//	cc := morpho.CorpusCallosum()
//	M := landmarks.New(39, 2, kernels.Gaussian(cc.Spacing()))   // 39 landmarks in the plane, and the width of the kernel
//	g, err := M.Log(cc.Shape("jhu_atlas"), cc.Shape("colin27")) // the geodesic between two shapes
//	grid, err := M.TransformLines(g, lines)                         // its diffeomorphism, applied to polylines
//	mean, err := stats.FrechetMean(M, shapes, stats.RelativeNoise(0.1))
//
// Log matches landmarks exactly. If the kernel is much wider than the distances between landmarks, or the landmarks are noisy,
// use Match, which matches them approximately. For more than 1000 landmarks see LogWithin.
//
// The cometric of landmarks x_1 … x_N in R^D is g^ij = K(x_i, x_j)·I_D for a reproducing kernel K. Every landmark has a momentum
// p_j; together they move the landmarks by x_i' = Σ_j K(x_i, x_j) p_j, and any other point z by z' = Σ_j K(z, x_j) p_j. Shapes are
// [][]float64 with one landmark in each row; graph functions take them as vectors x_1 y_1 x_2 y_2 …, [..., N·D]. Momenta and
// lengths of geodesics have the unit of the landmarks' coordinates.
//
// NewJets makes the space of landmarks with frames, which a deformation moves by its derivative, and with second derivatives.
package landmarks
