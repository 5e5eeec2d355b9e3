// Package population estimates means and variation of curves and surfaces whose vertices do not correspond.
//
//	M := landmarks.New(len(controls), 2, kernels.Gaussian(10))       // where momenta sit, and how smooth deformations are
//	outline := population.Object{Norm: attachment.Norm{Kernel: kernels.Gaussian(4), Varifold: true}, Noise: 0.5}
//	model := population.Model{Space: M, Objects: []population.Object{outline}}
//	subjects := population.Single(outlines)                          // or [][]*mesh.Mesh, several objects a subject
//	atlas, err := model.Atlas(subjects[0], controls, subjects)       // template, and a momentum for every subject
//	modes, err := atlas.PCA(model)                                   // how they vary
//	shapes, err := atlas.Mode(model, modes, 0, -2, 0, 2)             // as meshes
//
// Subjects may be made of several objects, as the bones of a skull, each with its norm and its noise: one deformation carries all. Model.Atlas
// estimates an atlas in one process, and Model.Continue goes on from its result. Rounds estimates it on many machines, or where a process may be
// killed at any time: its state between rounds can be stored. Align brings the subjects together before, without correspondences. Model.Landmarks
// places the landmarks of digitised subjects on the others, with standard errors. Model.Register matches a template to one subject, Model.Regress
// follows one deformation through time, Atlas.Compare says where two groups differ. Package study reads a folder of meshes or a study of
// Deformetrica, chooses a model, and writes for ParaView.
package population
