package study

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"anatomy/kernels"
	"anatomy/landmarks/internal/text"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/population"
)

// compared returns the study if it is valid, after compare.
func (s *Study) compared() (*Study, error) {
	if s.each && len(s.Subjects) > 0 {
		s.weed()
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if err := s.differ(0); err != nil {
		return nil, err
	}
	s.compare()
	return s, nil
}

// differ returns an error if all vertices of all subjects are within a share of the size of the first one: then nothing varies.
func (s *Study) differ(share float64) error {
	_, _, size := mesh.Moments(s.Subjects[0])
	for _, shape := range s.Subjects[1:] {
		for o, m := range shape {
			if !alike(m, s.Subjects[0][o], share*size) {
				return nil
			}
		}
	}
	if s.Kind == Registration {
		return nil
	}
	return text.Advise("give subjects that differ", "%s: all %d subjects are copies of %s, so that nothing varies", cmp.Or(s.folder, "the study"), len(s.Subjects), s.Names[0])
}

// alike reports whether vertices of two meshes that belong together are at most a distance apart, and they are of the same number.
func alike(m, other *mesh.Mesh, distance float64) bool {
	return slices.EqualFunc(m.Vertices, other.Vertices, func(x, y []float64) bool { return floats.Distance(x, y, 2) <= distance })
}

// compare notes in what single subjects differ from the others as faulty ones do: a border where others are closed, a corner far from
// its neighbours, another size, and two subjects that are the same.
func (s *Study) compare() {
	objects := population.Model{Objects: s.Model.Objects}
	if objects.Objects == nil {
		objects.Objects = make([]population.Object, len(s.Subjects[0]))
	}
	for o := range s.Subjects[0] {
		open, closed := []string{}, 0
		for i, ratio := range s.ratiosOf(o) {
			if ratio > usualSizeRatio || ratio < 1./usualSizeRatio {
				s.note("%s is %s times as large as the median of the subjects: see whether it has another unit, such as inches among centimetres", objects.Label(s.Names[i], o), times(ratio))
			}
		}
		for i, shape := range s.Subjects {
			if len(shape[o].Boundary()) > 0 {
				open = append(open, objects.Label(s.Names[i], o))
			} else {
				closed++
			}
			if longest, median := sides(shape[o]); longest > maxSideRatio*median {
				s.note("%s: its longest side, %.3g, is %.0f times the median: see whether all vertices are in their places", objects.Label(s.Names[i], o), longest, longest/median)
			}
			for j := range i {
				if alike(shape[o], s.Subjects[j][o], 0) {
					s.note("%s has the vertices of %s: see whether one was copied", objects.Label(s.Names[i], o), objects.Label(s.Names[j], o))
					break
				}
			}
		}
		if closed > 0 && len(open) > 0 {
			s.note("%s: the mesh has a border, and %d others are closed: see whether it has a hole or was cut off", strings.Join(open, ", "), closed)
		}
	}
}

// usualSizeRatio is how many times as large as the median, or as small, a subject may be without a note.
const usualSizeRatio = 2

// maxSideRatio is how many times as long as the median the longest side of a cell may be without a note.
const maxSideRatio = 20

// sides returns the longest side of the cells of a mesh, and the median.
func sides(m *mesh.Mesh) (longest, median float64) {
	var all []float64
	for _, c := range m.Cells {
		for k := range c {
			sum := 0.0
			for a, v := range m.Vertices[c[k]] {
				sum += math.Pow(v-m.Vertices[c[(k+1)%len(c)]][a], 2)
			}
			all = append(all, math.Sqrt(sum))
		}
	}
	slices.Sort(all)
	return all[len(all)-1], all[len(all)/2]
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

// choosePoses returns a pose of each subject but the first, by rough matches of thinned meshes: see population.Model.Poses. Rough matches do not tell a mirror
// image from a body that is the same as its own, nor poses that are nearly as good: such subjects are matched in more detail. It notes those of which
// another pose is nearly as good then, and those whose mirror images fit the first subject clearly better than they do themselves.
func (s *Study) choosePoses(deformation float64) (chosen []*population.Aligned, err error) {
	const alike, clearly = 1.02, 0.65
	objects, thin := s.thinned(400, 0.3)
	model, controls, err := s.deformations(objects, deformation)
	if err != nil {
		return nil, err
	}
	poses, err := model.Poses(thin[0], controls, thin[1:])
	if err != nil {
		return nil, err
	}
	suspected, err := s.lookCloser(model, controls, poses)
	if err != nil {
		return nil, err
	}
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
		case suspected[i] && image[0].Objective < clearly*own[0].Objective:
			s.doubt(i+1, "its mirror image fits %s with the objective %.2g, and itself with %.2g: see whether it is of the other side, or two axes were exchanged",
				s.Names[0], image[0].Objective, own[0].Objective)
		case ambiguous(own):
			s.doubt(i+1, "its pose is ambiguous: two poses fit %s with the objectives %.2g and %.2g; see whether it lies as the others do, or turn it by hand", s.Names[0], own[0].Objective, own[1].Objective)
		}
	}
	return chosen, nil
}

// ambiguous says whether the second of poses is nearly as good as the first.
func ambiguous(own []population.Pose) bool {
	return len(own) > 1 && own[1].Objective < nearly*own[0].Objective
}

// split returns the poses of a subject, and those of its mirror image.
func split(poses []population.Pose) (own, image []population.Pose) {
	for _, p := range poses {
		if p.Mirrored {
			image = append(image, p)
		} else {
			own = append(own, p)
		}
	}
	return own, image
}

// lookCloser replaces the poses of subjects whose mirror images fit best, or whose poses are ambiguous, by those of matches in more detail, and says which
// these are.
func (s *Study) lookCloser(model population.Model, controls [][]float64, poses [][]population.Pose) (suspected map[int]bool, err error) {
	suspected = map[int]bool{}
	for i, all := range poses {
		if own, _ := split(all); all[0].Mirrored || ambiguous(own) {
			suspected[i] = true
		}
	}
	if len(suspected) == 0 {
		return nil, nil
	}
	objects, thin := s.thinned(1600, 0.15)
	var shapes [][]*mesh.Mesh
	for i := range poses {
		if suspected[i] {
			shapes = append(shapes, thin[i+1])
		}
	}
	model.Objects = objects
	again, err := model.Poses(thin[0], controls, shapes)
	if err != nil {
		return nil, err
	}
	for i := range poses {
		if suspected[i] {
			poses[i], again = again[0], again[1:]
		}
	}
	return suspected, nil
}
