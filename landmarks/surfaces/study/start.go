package study

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/ode"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/internal/text"
	"anatomy/landmarks/surfaces/attachment"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/population"
)

// fastFrom is the number of cells above which the fast sums are taken.
const fastFrom = 2000

// Start aligns the subjects of a folder to the first, and chooses a model. A study of Deformetrica has its own alignment and model, which stay. Sizes
// are relative to r, the root mean square distance of the first subject from its centre:
//
//   - deformations have a Gaussian kernel of the width r·deformation, with control points on a grid one width apart, up to one width from the
//     subject;
//   - the norm of each object is that of varifolds of the width r·detail, with the r of the object, but no finer than its edges;
//   - the noise of each object is 0.2·r for surfaces, with the r of the object, and 0.3 for curves;
//   - the Smoothing of a curve is twice as wide as its norm.
//
// With similarity subjects may also be scaled. The template starts as the first subject. It is a hypertemplate unless
// FreeVertices is set or it has closed outlines, also in a study of Deformetrica. Notes has the numbers that were chosen.
//
// Several poses of each subject and of its mirror image are tried by rough matches of thinned meshes (see population.Model.Poses), and the alignment
// starts from the best. If there are Landmarks, no alignment follows, because Place treats the pose as unknown. Notes names subjects whose two best
// poses cannot be told apart, and subjects whose mirror image fits better. Where subjects are Posed, none of this is tried.
func (s *Study) Start(deformation, detail float64, similarity bool) (err error) {
	defer try.Catch(&err)
	if s.Model.Space != nil {
		s.chooseMotion()
		return nil
	}
	s.chooseNorms(deformation, detail)
	if !s.Aligned {
		s.align(deformation, similarity)
	}
	s.chooseDeformations(deformation)
	return nil
}

// align brings the subjects to the first one.
func (s *Study) align(deformation float64, similarity bool) {
	var poses []*population.Aligned
	if s.Posed {
		poses = lists.Each(s.Subjects[1:], func(shape []*mesh.Mesh) *population.Aligned { return still(len(shape[0].Vertices[0])) })
	} else {
		poses = s.choosePoses(deformation)
	}
	if s.Landmarks == nil {
		poses = s.refine(poses, similarity)
	}
	for i, pose := range poses {
		s.move(i+1, pose)
	}
	s.differ(1e-3)
}

// refine returns the rigid alignments of the subjects to the first that are near poses.
func (s *Study) refine(poses []*population.Aligned, similarity bool) []*population.Aligned {
	s.note("subjects were aligned to %s by %s", s.Names[0], map[bool]string{true: "similarities", false: "rotations"}[similarity])
	// Alignment turns shapes about their centres, within a ball.
	objects := slices.Clone(s.Model.Objects)
	centre, _, first := mesh.Moments(s.Subjects[0])
	ball := 0.0
	for _, shape := range s.Subjects {
		middle, _, size := mesh.Moments(shape)
		if !similarity {
			size = first
		}
		for _, x := range mesh.Vertices(shape) {
			ball = math.Max(ball, floats.Distance(x, middle, 2)*first/size)
		}
	}
	var around [][]float64
	for a := range centre {
		for _, side := range []float64{-ball, ball} {
			around = append(around, make([]float64, len(centre)))
			around[len(around)-1][a] = side
		}
	}
	for o := range objects {
		centred := s.Subjects[0][o].Map(func(x []float64) []float64 { return floats.SubTo(make([]float64, len(x)), x, centre) })
		s.useFastSums(objects, o, slices.Concat(centred.Vertices, around)) // one shape: the corners are few
	}
	aligned := try.Get(population.Refine(objects, s.Subjects[0], s.Subjects[1:], poses, similarity))
	for i, a := range aligned {
		if a.Status != geom.Converged {
			s.doubt(i+1, "the alignment %s", a.Status)
		}
	}
	return aligned
}

// chooseNorms chooses norms and noise of the objects.
func (s *Study) chooseNorms(deformation, detail float64) {
	text.RefuseIf(!(deformation > 0) || !(detail > 0), "give positive numbers", "widths of %g and %g times the size", deformation, detail)
	first, objects := s.Subjects[0], slices.Clone(s.objects().Objects)
	var chosen []string
	for o, m := range first {
		_, _, own := mesh.Moments(first[o : o+1])
		width, noise := math.Max(detail*own, m.Spacing()), 0.3
		if len(m.Cells[0]) == 3 {
			noise = 0.2 * own
		} else { // so that vertices keep their distances along a curve, which varifolds do not see
			objects[o].Smoothing = kernels.Gaussian(2 * width)
		}
		objects[o].Norm, objects[o].Noise = attachment.Norm{Kernel: kernels.Gaussian(width), Varifold: true}, noise
		of := ""
		if len(first) > 1 {
			of = fmt.Sprintf("%s: ", cmp.Or(objects[o].ID, fmt.Sprintf("object %d", o)))
		}
		chosen = append(chosen, fmt.Sprintf("%sthe norm is that of varifolds with a kernel of width %.3g, and σ is %.3g", of, width, noise))
	}
	s.note("%s", strings.Join(chosen, "; "))
	s.Model.Objects = objects
}

// useFastSums takes fast sums, which hold around points, for an object of which a subject has many cells.
func (s *Study) useFastSums(objects []population.Object, o int, points ...geom.Shape) {
	if slices.ContainsFunc(s.Subjects, func(shape []*mesh.Mesh) bool { return len(shape[o].Cells) > fastFrom }) {
		objects[o].Norm.Kernel = try.Get(kernels.Fast(objects[o].Norm.Kernel, 1e-4, points...))
	}
}

// chooseDeformations chooses the sums of the norms, the first template, control points and deformations.
func (s *Study) chooseDeformations(deformation float64) {
	for o := range s.Model.Objects {
		s.useFastSums(s.Model.Objects, o, lists.Each(s.Subjects, func(shape []*mesh.Mesh) geom.Shape { return shape[o].Vertices })...)
	}
	s.Model, s.Controls = s.deformations(s.Model.Objects, deformation)
	s.Template = s.Subjects[0]
	_, _, r := mesh.Moments(s.Template)
	s.note("deformations have a kernel of width %.3g and %d control points", deformation*r, len(s.Controls))
	s.chooseMotion()
}

// chooseMotion chooses how the template moves. Closed outlines need no smooth fields to converge. Where a curve ends or forks they do: a piece that
// lies there on its neighbour is hardly seen by a norm wider than it is. Templates with Landmarks stay.
func (s *Study) chooseMotion() {
	s.Model.Hypertemplate = s.Landmarks == nil && s.Kind != Registration && !s.FreeVertices && !slices.ContainsFunc(s.Template, closedOutline)
	if s.Model.Hypertemplate {
		s.note("the template is the initial template, displaced by a field that is as smooth as the deformations: finer details of the initial template remain in it")
	}
}

// closedOutline says whether a mesh is of curves of which each vertex joins two edges.
func closedOutline(m *mesh.Mesh) bool {
	edges := make([]int, len(m.Vertices))
	for _, v := range slices.Concat(m.Cells...) {
		edges[v]++
	}
	return len(m.Cells[0]) == 2 && !slices.ContainsFunc(edges, func(n int) bool { return n != 2 })
}

// deformations returns a model of objects, with the control points.
func (s *Study) deformations(objects []population.Object, deformation float64) (m population.Model, controls [][]float64) {
	vertices := mesh.Vertices(s.Subjects[0])
	_, _, r := mesh.Moments(s.Subjects[0])
	width := deformation * r
	for _, c := range try.Get(Grid(vertices, width)) {
		if slices.ContainsFunc(vertices, func(x []float64) bool { return floats.Distance(x, c, 2) < width }) {
			controls = append(controls, c)
		}
	}
	space := landmarks.New(len(controls), len(vertices[0]), kernels.Gaussian(width), geom.Integrator(ode.Heun, 5))
	return population.Model{Objects: objects, Space: space, Save: s.Save}, controls
}

// maxGrid bounds a grid of control points: the matrix of their kernel has maxGrid² numbers.
const maxGrid = 20000

// Grid returns the points [n][D] of a regular grid in the middle of the box of points, at the distance spacing from each other. It is an error if
// the spacing is not positive, or if the grid has more than 20,000 points.
func Grid(points [][]float64, spacing float64) (_ [][]float64, err error) {
	defer try.Catch(&err)
	try.FailIf(!(spacing > 0) || math.IsInf(spacing, 1), "a spacing of %g, want a positive number", spacing)
	grid := [][]float64{{}}
	for axis := range points[0] {
		low, high := math.Inf(1), math.Inf(-1)
		for _, x := range points {
			low, high = min(low, x[axis]), max(high, x[axis])
		}
		steps := math.Floor((high - low) / spacing)
		try.FailIf((steps+1)*float64(len(grid)) > maxGrid, "a grid of spacing %g has more than %d points", spacing, maxGrid)
		var next [][]float64
		for _, x := range grid {
			for k := range int(steps) + 1 {
				next = append(next, append(slices.Clone(x), low+(high-low-spacing*steps)/2+spacing*float64(k)))
			}
		}
		grid = next
	}
	return grid, nil
}

// thinned returns the subjects with about so many cells, and objects for them with norms of a share of the size, and a noise.
func (s *Study) thinned(cells int, share float64) ([]population.Object, [][]*mesh.Mesh) {
	objects, thin := slices.Clone(s.Model.Objects), make([][]*mesh.Mesh, len(s.Subjects))
	for o, first := range s.Subjects[0] {
		side := math.Pow(2*first.Size()/float64(cells), 1/float64(len(first.Cells[0])-1))
		_, _, own := mesh.Moments(s.Subjects[0][o : o+1])
		objects[o].Norm.Kernel = kernels.Gaussian(math.Max(share*own, 2*side))
		objects[o].Noise /= 2
		for i, shape := range s.Subjects {
			m := shape[o]
			if len(m.Cells) > cells {
				if m = m.Simplify(side); m.Validate() != nil { // cubes have merged the two sides of what is thinner
					if _, err := m.Clean(); err != nil {
						m = shape[o] // all of it is thinner
					}
				}
			}
			thin[i] = append(thin[i], m)
		}
	}
	return objects, thin
}

// nearly is how many times as large as the least the objective of a second pose may be that is taken for nearly as good.
const nearly = 1.2

// choosePoses returns a pose of each subject but the first, by rough matches of thinned meshes: see population.Model.Poses. Rough matches do not tell
// a mirror image from a body that is the same as its own, nor poses that are nearly as good: such subjects are matched in more detail. It notes those
// of which another pose is nearly as good then, and those whose mirror images fit the first subject clearly better than they do themselves.
func (s *Study) choosePoses(deformation float64) (chosen []*population.Aligned) {
	const alike, clearly = 1.02, 0.65
	objects, thin := s.thinned(400, 0.3)
	model, controls := s.deformations(objects, deformation)
	poses := try.Get(model.Poses(thin[0], controls, thin[1:]))
	suspected := s.lookCloser(model, controls, poses)
	for i, all := range poses {
		own, image := split(all)
		best := own[0]
		for _, p := range own { // as of a shape that is the same in several poses
			if p.Objective < alike*own[0].Objective && p.Turn() < best.Turn() {
				best = p
			}
		}
		chosen = append(chosen, best.Aligned)
		switch {
		case slices.Contains(suspected, i) && image[0].Objective < clearly*own[0].Objective:
			s.doubt(i+1,
				"its mirror image fits %s with the objective %.2g, and itself with %.2g: see whether it is of the other side, or two axes were exchanged",
				s.Names[0], image[0].Objective, own[0].Objective)
		case ambiguous(own):
			s.doubt(i+1, "its pose is ambiguous: two poses fit %s with the objectives %.2g and %.2g; see whether it lies as the others do, or turn it by hand",
				s.Names[0], own[0].Objective, own[1].Objective)
		}
	}
	return chosen
}

// ambiguous says whether the second of poses is nearly as good as the first.
func ambiguous(own []population.Pose) bool {
	return len(own) > 1 && own[1].Objective < nearly*own[0].Objective
}

// split returns the poses of a subject, and those of its mirror image.
func split(poses []population.Pose) (own, image []population.Pose) {
	mirrored := func(p population.Pose) bool { return p.Mirrored }
	return slices.DeleteFunc(slices.Clone(poses), mirrored), lists.Filter(poses, mirrored)
}

// lookCloser replaces the poses of subjects whose mirror images fit best, or whose poses are ambiguous, by those of matches in more detail, and says
// which these are.
func (s *Study) lookCloser(model population.Model, controls [][]float64, poses [][]population.Pose) (suspected []int) {
	for i, all := range poses {
		if own, _ := split(all); all[0].Mirrored || ambiguous(own) {
			suspected = append(suspected, i)
		}
	}
	if suspected == nil {
		return nil
	}
	objects, thin := s.thinned(1600, 0.15)
	model.Objects = objects
	for k, again := range try.Get(model.Poses(thin[0], controls, lists.Pick(thin[1:], suspected))) {
		poses[suspected[k]] = again
	}
	return suspected
}
