package study

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/text"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/population"
)

// maxSizeRatio is how many times as large as the median a subject may be; in another unit it is 10 or 25.4 times as large, or 1000 times.
const maxSizeRatio = 5

// Read reads a folder, which is one of these:
//
//   - a study of Deformetrica 4, or with the tags of 3: the folder has model.xml and data_set.xml, of the type Registration, DeterministicAtlas,
//     BayesianAtlas or Regression. Notes names what has no counterpart here;
//   - subjects of one object each: every mesh file is a subject (see mesh.Read), and so is every specimen of a .csv file, whose landmarks are read as
//     a closed outline. A .csv file with the name of a mesh file has the landmarks of that mesh;
//   - a folder per subject, with its objects as such files. Objects of different subjects correspond by their names, without extension and without
//     the name of the subject: left.ply and a_left.ply of the subject a. If every subject has one object, its name does not matter.
//
// Other files are named in Notes. Meshes are cleaned (see mesh.Mesh.Clean). It is an error if there are fewer than two subjects, if their objects
// differ, if an object is a surface in one subject and a curve in another, or if a subject is five times as large or small as the median, which means
// another unit.
//
// Start then brings the subjects to the first and chooses the model.
func Read(folder string) (*Study, error) { return read(folder, false) }

// ReadEach is Read, but leaves out the subjects for which Read would fail: those whose file cannot be read, whose mesh has no cells, or whose unit is
// another. LeftOut says which and why. It is for folders that are read for their landmarks; an atlas should not lack a subject by mistake.
func ReadEach(folder string) (*Study, error) { return read(folder, true) }

func read(folder string, each bool) (_ *Study, err error) {
	defer try.Catch(&err)
	if model, set := firstFile(folder, modelNames), firstFile(folder, dataSetNames); model != "" || set != "" {
		text.RefuseIf(model == "", "put it there", "%s: a study of Deformetrica needs model.xml beside %s", folder, filepath.Base(set))
		s := readDeformetrica(model, set, firstFile(folder, optimizationNames))
		return s, s.Validate()
	}
	s := &Study{folder: folder, each: each}
	names, meshes, folders := s.meshes(folder, "")
	if len(meshes) > 0 {
		s.Names, s.Subjects = names, population.Single(meshes)
		if len(folders) > 0 {
			s.note("folders that were skipped because the folder above contains meshes: %s", strings.Join(folders, ", "))
		}
		return s.compared()
	}
	for _, subject := range folders {
		s.readSubject(subject)
	}
	if len(s.Subjects) == 0 && len(s.LeftOut) == 0 {
		text.Refuse("put meshes there, or name another folder",
			"%s: no meshes (%s), no outlines (.csv), no study of Deformetrica (model.xml, data_set.xml)", folder, strings.Join(mesh.Extensions(), ", "))
	}
	return s.compared()
}

// readSubject reads the objects of a subject in a folder of its own. The first subject has those of the study.
func (s *Study) readSubject(subject string) {
	left, folder := len(s.LeftOut), filepath.Join(s.folder, subject)
	names, meshes, _ := s.meshes(folder, subject+"/")
	switch {
	case len(s.LeftOut) > left: // one of its objects
		return
	case len(meshes) == 0:
		s.note("folder without meshes: %s", subject)
		return
	}
	objects := map[string]*mesh.Mesh{}
	for i, name := range names {
		id := object(subject, name)
		text.RefuseIf(objects[id] != nil, "rename one", "%s: two meshes of the name %s", folder, text.Clip(id))
		objects[id] = meshes[i]
	}
	first := lists.Each(s.Model.Objects, func(o population.Object) string { return o.ID })
	ids := slices.Sorted(maps.Keys(objects))
	if len(ids) == 1 && len(first) < 2 {
		ids, objects = []string{""}, map[string]*mesh.Mesh{"": meshes[0]}
	}
	if first == nil {
		first = ids
		s.Model.Objects = lists.Each(ids, func(id string) population.Object { return population.Object{ID: id} })
	}
	if !slices.Equal(ids, first) {
		s.leave(subject, text.Advise("give all subjects the same", "%s: the subject %s has the objects %s, %s has %s",
			s.folder, subject, strings.Join(ids, ", "), s.Names[0], strings.Join(first, ", ")))
		return
	}
	shape := lists.Each(ids, func(id string) *mesh.Mesh { return objects[id] })
	s.Names, s.Subjects = append(s.Names, subject), append(s.Subjects, shape)
}

// meshes reads the meshes and outlines of a folder, with names, which notes call by a prefix, and says which folders it has.
func (s *Study) meshes(folder, prefix string) (names []string, meshes []*mesh.Mesh, folders []string) {
	var all []string
	var raw []*mesh.Mesh
	var others, marked []string // other files, landmarks of meshes
	stems := map[string]bool{}  // of meshes, and whether landmarks are beside them
	entries := try.Get(os.ReadDir(folder))
	for _, e := range entries {
		if mesh.Readable(e.Name()) {
			stems[stem(e.Name())] = false
		}
	}
	for _, e := range entries {
		name, path := e.Name(), filepath.Join(folder, e.Name())
		_, beside := stems[stem(name)]
		switch {
		case strings.HasPrefix(name, "."):
		case e.IsDir():
			folders = append(folders, name)
		case mesh.Readable(name):
			m, err := mesh.Read(path)
			if err != nil {
				s.leave(prefix+name, err)
				continue
			}
			for _, note := range m.Notes {
				s.note("%s%s: %s", prefix, name, note)
			}
			all, raw = append(all, name), append(raw, m)
		case beside && landmarkFile(name):
			stems[stem(name)] = true
			marked = append(marked, name)
		case strings.EqualFold(filepath.Ext(name), ".csv"):
			d, err := morpho.Read(path)
			if len(stems) > 0 && errors.Is(err, morpho.ErrNotLandmarks) {
				others = append(others, name)
				continue
			}
			try.Do(err)
			try.Do(try.Name(d.CheckCodes(), "%s", folder))
			s.note("%s%s: %d outlines, treated as closed", prefix, name, len(d.Specimens))
			for _, specimen := range d.Specimens {
				all, raw = append(all, name+": "+specimen.Name), append(raw, mesh.Curve(specimen.Points, true))
			}
		default:
			others = append(others, name)
		}
	}
	if len(others) > 0 {
		s.note("files that were skipped: %s%s", prefix, strings.Join(others, ", "))
	}
	if len(marked) > 0 {
		note := fmt.Sprintf(unusedLandmarks+" (morpho.Read reads them): %s%s", prefix, strings.Join(marked, ", "))
		maps.DeleteFunc(stems, func(_ string, has bool) bool { return has })
		if len(stems) > 0 {
			note += "; the following have none: " + strings.Join(slices.Sorted(maps.Keys(stems)), ", ")
		}
		s.note("%s", note)
	}
	for i, m := range raw {
		switch err := s.clean(prefix+all[i], m); {
		case err == nil:
			names, meshes = append(names, all[i]), append(meshes, m)
		case s.each:
			s.leave(prefix+all[i], err)
		default:
			try.Fail("%s: %w", folder, err)
		}
	}
	return names, meshes, folders
}

// leave leaves out a subject that cannot be used, or ends the reading by the error.
func (s *Study) leave(name string, err error) {
	if !s.each {
		try.Do(err)
	}
	reason := strings.ReplaceAll(err.Error(), s.folder+string(filepath.Separator), "")
	s.LeftOut = append(s.LeftOut, name+": "+strings.TrimPrefix(reason, name+": "))
}

// weed leaves out subjects that are no meshes, or of another kind or unit than most.
func (s *Study) weed() {
	kinds := map[string]int{}
	kind := func(shape []*mesh.Mesh) string { return fmt.Sprint(len(shape[0].Vertices[0]), len(shape[0].Cells[0])) }
	for _, shape := range s.Subjects {
		kinds[kind(shape)]++
	}
	ratios := s.ratios(func(shape []*mesh.Mesh) []*mesh.Mesh { return shape })
	names, subjects := s.Names, s.Subjects
	s.Names, s.Subjects = nil, nil
	for i, shape := range subjects {
		switch ratio := ratios[i]; {
		case 2*kinds[kind(shape)] < len(subjects):
			s.leave(names[i], text.Advise("give a mesh of the kind of the others", "its cells have %d vertices in R^%d, and those of most subjects do not",
				len(shape[0].Cells[0]), len(shape[0].Vertices[0])))
		case ratio < maxSizeRatio && ratio > 1./maxSizeRatio:
			s.Names, s.Subjects = append(s.Names, names[i]), append(s.Subjects, shape)
		default:
			s.leave(names[i], text.Advise("convert it or correct it", otherUnit, "it", times(ratio)))
		}
	}
}

// otherUnit says that something is so many times as large as it should be.
const otherUnit = "%s is %s times as large as the median of the subjects: it has another unit, or vertices out of their places"

// ratios returns how many times as large as their median the shapes are that are chosen of the subjects.
func (s *Study) ratios(chosen func(shape []*mesh.Mesh) []*mesh.Mesh) []float64 {
	sizes := lists.Each(s.Subjects, func(shape []*mesh.Mesh) float64 {
		_, _, size := mesh.Moments(chosen(shape))
		return size
	})
	median := slices.Sorted(slices.Values(sizes))[len(sizes)/2]
	return lists.Each(sizes, func(size float64) float64 { return size / median })
}

// ratiosOf is ratios of the meshes of an object.
func (s *Study) ratiosOf(o int) []float64 {
	return s.ratios(func(shape []*mesh.Mesh) []*mesh.Mesh { return shape[o : o+1] })
}

// times writes a ratio with three digits and without an exponent of ten if it is large.
func times(ratio float64) string {
	if ratio < 1000 {
		return fmt.Sprintf("%.3g", ratio)
	}
	return fmt.Sprintf("%.0f", ratio)
}

// clean repairs a mesh and notes what was done.
func (s *Study) clean(name string, m *mesh.Mesh) error {
	done, err := m.Clean()
	if done != (mesh.Cleaning{}) { // as after an error
		s.note("%s: %s", name, done)
	}
	return try.Name(err, "%s", name)
}

const unusedLandmarks = "landmarks of meshes, which an atlas does not use"

// stem is the name of a file without extension.
func stem(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(name, filepath.Ext(name)), ".mrk")
}

// object is the name of an object of a subject: of a specimen its own, of a file without extension and the name of the subject.
func object(subject, name string) string {
	if _, specimen, found := strings.Cut(name, ": "); found {
		return specimen
	}
	stem := stem(name)
	for _, between := range []string{"_", "-", ".", " "} {
		for _, rest := range []string{strings.TrimPrefix(stem, subject+between), strings.TrimSuffix(stem, between+subject)} {
			if rest != stem && rest != "" {
				return rest
			}
		}
	}
	return stem
}

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
