package study

import (
	"cmp"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/try"
	"anatomy/landmarks/internal/text"
	"anatomy/landmarks/surfaces/mesh"
)

// compared returns the study if it is valid, after compare.
func (s *Study) compared() (*Study, error) {
	if s.each && len(s.Subjects) > 0 {
		s.weed()
	}
	try.Do(s.Validate())
	s.differ(0)
	s.compare()
	return s, nil
}

// differ ends with an error if all vertices of all subjects are within a share of the size of the first one: then nothing varies.
func (s *Study) differ(share float64) {
	_, _, size := mesh.Moments(s.Subjects[0])
	for _, shape := range s.Subjects[1:] {
		for o, m := range shape {
			if !alike(m, s.Subjects[0][o], share*size) {
				return
			}
		}
	}
	text.RefuseIf(s.Kind != Registration, "give subjects that differ", "%s: all %d subjects are copies of %s, so that nothing varies",
		cmp.Or(s.folder, "the study"), len(s.Subjects), s.Names[0])
}

// alike reports whether vertices of two meshes that belong together are at most a distance apart, and they are of the same number.
func alike(m, other *mesh.Mesh, distance float64) bool {
	return slices.EqualFunc(m.Vertices, other.Vertices, func(x, y []float64) bool { return floats.Distance(x, y, 2) <= distance })
}

// compare notes in what single subjects differ from the others as faulty ones do: a border where others are closed, a corner far from
// its neighbours, another size, and two subjects that are the same.
func (s *Study) compare() {
	objects := s.objects()
	for o := range s.Subjects[0] {
		open, closed := []string{}, 0
		for i, ratio := range s.ratiosOf(o) {
			if ratio > usualSizeRatio || ratio < 1./usualSizeRatio {
				s.note("%s is %s times as large as the median of the subjects: see whether it has another unit, such as inches among centimetres",
					objects.Label(s.Names[i], o), times(ratio))
			}
		}
		for i, shape := range s.Subjects {
			if len(shape[o].Boundary()) > 0 {
				open = append(open, objects.Label(s.Names[i], o))
			} else {
				closed++
			}
			if longest, median := sides(shape[o]); longest > maxSideRatio*median {
				s.note("%s: its longest side, %.3g, is %.0f times the median: see whether all vertices are in their places", objects.Label(s.Names[i], o),
					longest, longest/median)
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
			all = append(all, floats.Distance(m.Vertices[c[k]], m.Vertices[c[(k+1)%len(c)]], 2))
		}
	}
	slices.Sort(all)
	return all[len(all)-1], all[len(all)/2]
}
