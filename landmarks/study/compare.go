package study

import (
	"math"
	"slices"
	"strings"

	"anatomy/kernels"
	"anatomy/landmarks/attachment"
	"anatomy/landmarks/mesh"
	"anatomy/landmarks/population"
)

// compared returns the study if it is valid, after compare.
func (s *Study) compared() (*Study, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	s.compare()
	return s, nil
}

// compare notes in what single subjects differ from the others as faulty ones do: a border where others are closed, a corner far from
// its neighbours, and two subjects that are the same.
func (s *Study) compare() {
	objects := population.Model{Objects: s.Model.Objects}
	if objects.Objects == nil {
		objects.Objects = make([]population.Object, len(s.Subjects[0]))
	}
	for o := range s.Subjects[0] {
		open, closed := []string{}, 0
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
				if slices.EqualFunc(shape[o].Vertices, s.Subjects[j][o].Vertices, slices.Equal[[]float64]) {
					s.note("%s has the vertices of %s: see whether one was copied", objects.Label(s.Names[i], o), objects.Label(s.Names[j], o))
				}
			}
		}
		if closed > 0 && len(open) > 0 {
			s.note("%s: the mesh has a border, and %d others are closed: see whether it has a hole or was cut off", strings.Join(open, ", "), closed)
		}
	}
}

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

// noteMirrored notes subjects whose mirror images fit the first one clearly better than they do themselves, both aligned. Thinned meshes
// tell.
func (s *Study) noteMirrored() error {
	const cells, clearly = 400, 0.7
	objects, thin := make([]population.Object, len(s.Subjects[0])), make([][]*mesh.Mesh, len(s.Subjects))
	for o, first := range s.Subjects[0] {
		side := math.Pow(2*first.Size()/cells, 1/float64(len(first.Cells[0])-1))
		_, _, own := mesh.Moments(s.Subjects[0][o : o+1])
		objects[o].Norm = attachment.Norm{Kernel: kernels.Gaussian(math.Max(0.3*own, 2*side)), Varifold: true}
		for i, shape := range s.Subjects {
			m := shape[o]
			if len(m.Cells) > cells {
				if m = m.Simplify(side); m.Validate() != nil {
					m = shape[o] // it is thinner than a cube all over
				}
			}
			thin[i] = append(thin[i], m)
		}
	}
	mirrored := make([][]*mesh.Mesh, len(thin)-1)
	for i, shape := range thin[1:] {
		for _, m := range shape {
			mirrored[i] = append(mirrored[i], m.Map(func(x []float64) []float64 { return append([]float64{-x[0]}, x[1:]...) }))
		}
	}
	as, err := population.Align(objects, thin[0], thin[1:], true)
	if err != nil {
		return err
	}
	turned, err := population.Align(objects, thin[0], mirrored, true)
	if err != nil {
		return err
	}
	for i, a := range as {
		if turned[i].Distance < clearly*a.Distance {
			s.note("%s: its mirror image is at a distance of %.2g from %s, and itself at %.2g: see whether it is of the other side, or two axes were exchanged",
				s.Names[i+1], turned[i].Distance, s.Names[0], a.Distance)
		}
	}
	return nil
}
