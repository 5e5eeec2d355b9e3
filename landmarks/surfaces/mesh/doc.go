// Package mesh is curves and triangle surfaces: files in and out, checks and repairs, and measures. It links no XLA. Package attachment
// compares two meshes without correspondences between their vertices.
//
//	brain, err := mesh.Read("brain.ply") // PLY, OBJ, OFF, STL, GIfTI, VTK PolyData (.vtk, .vtp)
//	fmt.Println(brain.Clean())           // merged 12 duplicate vertices, …
//
// A Locator finds nearest points and tangents; morpho's semi-landmarks slide on it.
//
// Vertices are counted from 0 everywhere: in Cells, in messages and in errors.
package mesh
