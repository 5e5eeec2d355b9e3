package population

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"anatomy/geom"
	"anatomy/geom/try"
	"anatomy/kernels"
	"anatomy/landmarks/internal/text"
	"anatomy/landmarks/surfaces/mesh"
)

// estimatesNoise says whether a noise is to be estimated.
func (m Model) estimatesNoise() bool {
	return slices.ContainsFunc(m.Objects, func(o Object) bool { return o.Noise == 0 })
}

// Label returns the name of an object of a subject or of the template in errors: whose, and of several objects the ID or the number.
func (m Model) Label(whose string, o int) string {
	if len(m.Objects) == 1 {
		return whose
	}
	return fmt.Sprintf("%s, %s", whose, cmp.Or(m.Objects[o].ID, fmt.Sprintf("object %d", o)))
}

func (m Model) check(template []*mesh.Mesh, controls [][]float64, subjects [][]*mesh.Mesh) {
	text.RefuseIf(m.Space == nil || len(m.Objects) == 0, "give both", "the model has no Space or no Objects")
	for o, object := range m.Objects {
		text.RefuseIf(object.Norm.Kernel == nil, "give one, such as attachment.Norm{Kernel: kernels.Gaussian(8)}", "%s has no Norm", m.Label("the model", o))
		text.RefuseIf(!(object.Noise >= 0) || math.IsInf(object.Noise*object.Noise, 1), "give a positive number, or 0 to estimate it",
			"%s: the noise is %g", m.Label("the model", o), object.Noise)
	}
	shapes := slices.Concat([][]*mesh.Mesh{template}, subjects)
	for o, names := range m.checkShapes("the template", shapes) {
		var meshes []*mesh.Mesh
		for i, shape := range shapes {
			m.Objects[o].checkUnits(template[o], names[i], shape[o])
			meshes = append(meshes, shape[o])
		}
		try.Do(m.Objects[o].Norm.CheckWidth(names, meshes))
		d := len(template[o].Vertices[0])
		text.RefuseIf(d != m.Space.Manifold.D, "give landmarks.New as many coordinates", "%s is in R^%d, the space in R^%d", names[0], d, m.Space.Manifold.D)
	}
	try.Do(m.Space.CheckNumbers("control points", controls))
	try.Do(m.Space.CheckRegular("control points", controls))
}

// checkShapes refuses shapes that have not one mesh of each object, of the kind of the first shape. It returns the names of the meshes for errors,
// [object][shape], where the shapes after the first are the subjects.
func (m Model) checkShapes(first string, shapes [][]*mesh.Mesh) [][]string {
	names := make([][]string, len(m.Objects))
	for i, shape := range shapes {
		whose := first
		if i > 0 {
			whose = fmt.Sprintf("subject %d", i-1)
		}
		text.RefuseIf(len(shape) != len(names) || len(names) == 0, "give one of each", "%s has %d meshes for %d objects", whose, len(shape), len(names))
		for o, own := range shape {
			name := m.Label(whose, o)
			names[o] = append(names[o], name)
			text.RefuseIf(own == nil, "read or make it first", "%s is nil", name)
			try.Do(m.Objects[o].Norm.Check(name, own))
			try.Do(mesh.CheckAlike(names[o][0], shapes[0][o], name, own))
		}
	}
	return names
}

// checkUnits refuses a subject in another unit than the template, and one that is inside out where the norm sees it: no deformation
// brings these together, and a search would end somewhere.
func (o Object) checkUnits(template *mesh.Mesh, name string, s *mesh.Mesh) {
	length := func(m *mesh.Mesh) float64 { return math.Pow(m.Size(), 1/float64(len(m.Cells[0])-1)) }
	const units = 7 // centimetres and millimetres differ by 10, animals of one kind by less
	ratio := length(s) / length(template)
	text.RefuseIf(ratio > units || ratio < 1.0/units, "give both in one unit, or scale it by Align", "%s is %.3g times as large as the template", name, ratio)
	if o.Norm.Varifold {
		return
	}
	// Of open ones there is no volume, and no telling.
	a, open := template.Volume()
	b, err := s.Volume()
	text.RefuseIf(open == nil && err == nil && a*b < 0, "turn it by Mesh.Flip, or take varifolds", "%s is inside out as the template sees it", name)
}

// checkReach refuses a fit where the kernel of the deformations or the control points are in another unit than the template, whose
// vertices they do not move, or move all alike.
func (f *fit) checkReach() {
	const none, all = 1e-3, 0.98
	ones := slices.Repeat([][]float64{slices.Repeat([]float64{1}, f.Space.Manifold.D)}, len(f.controls))
	out := try.Get(f.kernelSums.Call(mesh.Vertices(f.start), f.controls, ones))
	least, beyond, count := math.Inf(1), 0, f.ends[len(f.ends)-1]
	for _, row := range out.Matrix(0) {
		k := row[0] / f.gram.At(0, 0)
		if least = math.Min(least, k); k < none {
			beyond++
		}
	}
	n, kernel := float64(len(f.controls)), f.Space.Manifold.Kernel
	text.RefuseIf(2*beyond > count, "see whether these, or its width, are in another unit",
		"%d of the %d vertices of the template are out of reach of the control points, by the kernel %s", beyond, count, kernel)
	text.RefuseIf(n > 1 && least > all*n, "see whether its width is in another unit",
		"the kernel of the deformations, %s, is much wider than the template and the control points, all of which it moves alike", kernel)
}

// checkAtlasBounds refuses an atlas if the fast sums of a kernel hold in a box only and what was computed left it.
func (f *fit) checkAtlasBounds(a *Atlas, subjects [][]*mesh.Mesh) {
	for i, s := range subjects {
		err := checkBounds(f.Space.Manifold.Kernel, a.Controls, mesh.Vertices(a.Template), mesh.Vertices(a.Deformed[i]))
		try.Do(try.Name(err, "the kernel of the deformations, subject %d", i))
		f.checkNormBounds(fmt.Sprintf("subject %d", i), s, a.Deformed[i])
	}
}

// checkNormBounds refuses two shapes if the fast sums of a norm hold in a box only in which they are not.
func (m Model) checkNormBounds(name string, s, other []*mesh.Mesh) {
	for o, object := range m.Objects {
		err := checkBounds(object.Norm.Kernel, s[o].Vertices, other[o].Vertices)
		try.Do(try.Name(err, "the kernel of the norm, %s", m.Label(name, o)))
	}
}

// checkBounds returns an error if the sums of a kernel hold in a box only in which points are not.
func checkBounds(k kernels.Kernel, points ...geom.Shape) error {
	if k, bounded := k.(kernels.Bounded); bounded {
		return k.Fits(slices.Concat(points...))
	}
	return nil
}
