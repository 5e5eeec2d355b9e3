// Package mesh is curves and triangle surfaces: files in and out, checks and repairs, measures, and the distances of
// currents and varifolds, which compare two meshes without correspondences between their vertices.
//
//	brain, err := mesh.Read("brain.ply")                     // PLY, OBJ, OFF, STL, GIfTI, VTK PolyData (.vtk, .vtp)
//	fmt.Println(brain.Clean())                                // merged 12 duplicate vertices, …
//	term := mesh.Varifold(kernels.Gaussian(8), atlas, brain)  // a data term for landmarks.Space.Match
//
// A Locator finds nearest points and tangents; morpho's semi-landmarks slide on it. Within is the data term for a piece of a surface
// against a whole. The kernel of a term is taken between all cells. Thousands of these want a fast one,
//
//	k, err := kernels.Fast(kernels.Gaussian(8), 1e-4, atlas.Vertices, brain.Vertices)
//
// whose cost grows as their number, as does that of a match with control points.
//
// Vertices are counted from 0 everywhere: in Cells, in messages and in errors.
package mesh
