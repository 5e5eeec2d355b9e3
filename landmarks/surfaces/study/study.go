// Package study goes from a folder of curves or surfaces to an estimate of package population, and from there to files: Read reads
// meshes, outlines, or a study of Deformetrica, Start aligns the subjects and chooses a model, Estimate estimates, and Write writes for
// ParaView.
//
//	s, err := study.Read("bones")          // one mesh file per subject, or one folder per subject with one file per object
//	err = s.Start(0.5, 0.2, false)         // widths of the deformations and of the norms, in sizes of the first subject
//	atlas, err := s.Estimate()             // s.Notes say what was chosen and repaired
//	err = s.Write("results", atlas)
//
// ReadLandmarks reads the landmarks of some of the subjects, and Place places them on the others.
package study

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/ode"
	"anatomy/geom/solve"
	"anatomy/geom/stats/linear"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/internal/text"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/surfaces/attachment"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/population"
)

// Kind is what a Study is for.
type Kind uint8

const (
	Atlas        Kind = iota // a template of at least two subjects: population.Model.Atlas
	Registration             // one subject, to which the template is brought: population.Model.Register
	Regression               // one subject at several times: population.Model.Regress
)

func (k Kind) String() string { return [...]string{"atlas", "registration", "regression"}[k] }

// Study is all that an estimate is made of: subjects with their names, a first template, control points and the model.
type Study struct {
	Kind     Kind
	Names    []string
	Subjects [][]*mesh.Mesh // of every subject one of each object
	Times    []float64      // of a Regression
	Template []*mesh.Mesh
	Controls [][]float64
	Model    population.Model // before Start its objects have at most names
	Notes    []string         // what was repaired, chosen or passed over, in sentences
	LeftOut  []string         // by ReadEach: what could not be used, and why
	// FreeVertices says that all vertices of a template of surfaces move. Otherwise it is a population.Model.Hypertemplate: it moves by smooth
	// fields only. Set it before Start.
	FreeVertices bool
	Save         string // a folder where Start, Estimate and Place keep their searches: see population.Model

	folder    string                        // that was read
	each      bool                          // a mesh that cannot be used is left out
	Landmarks [][][]float64                 // of every subject, nil where there are none: for Place. Start moves them with the subjects
	Labels    []string                      // of the landmarks, or nil
	motions   map[int]*population.Aligned   // of the subjects that were moved
	doubts    []population.PlacementFailure // about the alignment
}

func (s *Study) note(format string, args ...any) {
	s.Notes = append(s.Notes, fmt.Sprintf(format, args...))
}

// doubt notes what speaks against a subject.
func (s *Study) doubt(subject int, format string, args ...any) {
	reason := fmt.Sprintf(format, args...)
	s.note("%s: %s", s.Names[subject], reason)
	s.doubts = append(s.doubts, population.PlacementFailure{Subject: subject, Landmark: -1, Reason: reason})
}

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
// differ, if an object is a surface in one subject and a curve in another, or if a subject is five times as large or small as the median, which
// means another unit.
//
// Start then brings the subjects to the first and chooses the model.
func Read(folder string) (*Study, error) { return read(folder, false) }

// ReadEach is Read, but leaves out the subjects for which Read would fail: those whose file cannot be read, whose mesh has no cells, or whose unit is
// another. LeftOut says which and why. It is for folders that are read for their landmarks; an atlas should not lack a subject by mistake.
func ReadEach(folder string) (*Study, error) { return read(folder, true) }

func read(folder string, each bool) (*Study, error) {
	if model, set := firstFile(folder, modelNames), firstFile(folder, dataSetNames); model != "" || set != "" {
		if model == "" {
			return nil, text.Advise("put it there", "%s: a study of Deformetrica needs model.xml beside %s", folder, filepath.Base(set))
		}
		return readDeformetrica(model, set, firstFile(folder, optimizationNames))
	}
	s := &Study{folder: folder, each: each}
	names, meshes, folders, err := s.meshes(folder, "")
	if err != nil {
		return nil, err
	}
	if len(meshes) > 0 {
		s.Names, s.Subjects = names, population.Single(meshes)
		if len(folders) > 0 {
			s.note("folders that were skipped because the folder above contains meshes: %s", strings.Join(folders, ", "))
		}
		return s.compared()
	}
	var first []string
	for _, subject := range folders {
		left := len(s.LeftOut)
		names, meshes, _, err := s.meshes(filepath.Join(folder, subject), subject+"/")
		if err != nil {
			return nil, err
		}
		if len(s.LeftOut) > left { // one of its objects
			continue
		}
		if len(meshes) == 0 {
			s.note("folder without meshes: %s", subject)
			continue
		}
		objects := map[string]*mesh.Mesh{}
		for i, name := range names {
			id := object(subject, name)
			if objects[id] != nil {
				return nil, text.Advise("rename one", "%s: two meshes of the name %s", filepath.Join(folder, subject), text.Clip(id))
			}
			objects[id] = meshes[i]
		}
		ids := slices.Sorted(maps.Keys(objects))
		if len(ids) == 1 && (first == nil || len(first) == 1) {
			ids, objects = []string{""}, map[string]*mesh.Mesh{"": meshes[0]}
		}
		if first == nil {
			first = ids
			for _, id := range ids {
				s.Model.Objects = append(s.Model.Objects, population.Object{ID: id})
			}
		}
		if !slices.Equal(ids, first) {
			err := text.Advise("give all subjects the same", "%s: the subject %s has the objects %s, %s has %s", folder, subject, strings.Join(ids, ", "), s.Names[0], strings.Join(first, ", "))
			if s.leaves(subject, err) {
				continue
			}
			return nil, err
		}
		var shape []*mesh.Mesh
		for _, id := range ids {
			shape = append(shape, objects[id])
		}
		s.Names, s.Subjects = append(s.Names, subject), append(s.Subjects, shape)
	}
	if len(s.Subjects) == 0 && len(s.LeftOut) == 0 {
		return nil, text.Advise("put meshes there, or name another folder", "%s: no meshes (%s), no outlines (.csv), no study of Deformetrica (model.xml, data_set.xml)", folder, strings.Join(mesh.Extensions(), ", "))
	}
	return s.compared()
}

// meshes reads the meshes and outlines of a folder, with names, which notes call by a prefix, and says which folders it has.
func (s *Study) meshes(folder, prefix string) (names []string, meshes []*mesh.Mesh, folders []string, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, nil, nil, err
	}
	var others, marked []string // other files, landmarks of meshes
	stems := map[string]bool{}  // of meshes, and whether landmarks are beside them
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
			switch {
			case err == nil:
				names, meshes = append(names, name), append(meshes, m)
				for _, note := range m.Notes {
					s.note("%s%s: %s", prefix, name, note)
				}
			case !s.leaves(prefix+name, err):
				return nil, nil, nil, err
			}
		case beside && landmarkFile(name):
			stems[stem(name)] = true
			marked = append(marked, name)
		case strings.EqualFold(filepath.Ext(name), ".csv"):
			d, err := morpho.Read(path)
			if len(stems) > 0 && errors.Is(err, morpho.ErrNotLandmarks) {
				others = append(others, name)
				continue
			}
			if err != nil {
				return nil, nil, nil, err
			}
			if err := d.CheckCodes(); err != nil {
				return nil, nil, nil, fmt.Errorf("%s: %w", folder, err)
			}
			for _, specimen := range d.Specimens {
				names, meshes = append(names, name+": "+specimen.Name), append(meshes, mesh.Curve(specimen.Points, true))
			}
			s.note("%s%s: %d outlines, treated as closed", prefix, name, len(d.Specimens))
		default:
			others = append(others, name)
		}
	}
	if len(others) > 0 {
		s.note("files that were skipped: %s%s", prefix, strings.Join(others, ", "))
	}
	s.noteLandmarks(prefix, marked, stems)
	var clean []string
	var cleaned []*mesh.Mesh
	for i, m := range meshes {
		err := s.clean(prefix+names[i], m)
		switch {
		case err == nil:
			clean, cleaned = append(clean, names[i]), append(cleaned, m)
		case !s.leaves(prefix+names[i], err):
			return nil, nil, nil, fmt.Errorf("%s: %w", folder, err)
		}
	}
	return clean, cleaned, folders, nil
}

// noteLandmarks notes files of landmarks beside meshes, which are not used, and meshes without any.
func (s *Study) noteLandmarks(prefix string, marked []string, stems map[string]bool) {
	if len(marked) == 0 {
		return
	}
	var bare []string
	for name, has := range stems {
		if !has {
			bare = append(bare, name)
		}
	}
	note := fmt.Sprintf(unusedLandmarks+" (morpho.Read reads them): %s%s", prefix, strings.Join(marked, ", "))
	if len(bare) > 0 {
		note += "; the following have none: " + strings.Join(slices.Sorted(slices.Values(bare)), ", ")
	}
	s.note("%s", note)
}

// leaves says whether a subject that cannot be used is left out, and notes it.
func (s *Study) leaves(name string, err error) bool {
	if s.each {
		reason := strings.ReplaceAll(err.Error(), s.folder+string(filepath.Separator), "")
		s.LeftOut = append(s.LeftOut, name+": "+strings.TrimPrefix(reason, name+": "))
	}
	return s.each
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
		var err error
		switch ratio := ratios[i]; {
		case 2*kinds[kind(shape)] < len(subjects):
			err = text.Advise("give a mesh of the kind of the others", "its cells have %d vertices in R^%d, and those of most subjects do not", len(shape[0].Cells[0]), len(shape[0].Vertices[0]))
		case !(ratio < maxSizeRatio && ratio > 1./maxSizeRatio):
			err = text.Advise("convert it or correct it", "it is %s times as large as the median of the subjects: it has another unit, or vertices out of their places", times(ratio))
		default:
			s.Names, s.Subjects = append(s.Names, names[i]), append(s.Subjects, shape)
			continue
		}
		s.leaves(names[i], err)
	}
}

// ratios returns how many times as large as their median the shapes are that are chosen of the subjects.
func (s *Study) ratios(chosen func(shape []*mesh.Mesh) []*mesh.Mesh) []float64 {
	sizes := make([]float64, len(s.Subjects))
	for i, shape := range s.Subjects {
		_, _, sizes[i] = mesh.Moments(chosen(shape))
	}
	median := slices.Sorted(slices.Values(sizes))[len(sizes)/2]
	for i := range sizes {
		sizes[i] /= median
	}
	return sizes
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
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if done != (mesh.Cleaning{}) {
		s.note("%s: %s", name, done)
	}
	return nil
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

// Validate returns an error where the study cannot be estimated: see Read.
func (s *Study) Validate() error {
	if len(s.Names) != len(s.Subjects) {
		return text.Advise("give one for each", "%d names for %d subjects", len(s.Names), len(s.Subjects))
	}
	switch where := cmp.Or(s.folder, "the study"); {
	case len(s.Subjects) == 0 && len(s.LeftOut) > 0:
		return text.Advise("correct them", "%s: no subject is left: %d cannot be used, and the first is %s", where, len(s.LeftOut), s.LeftOut[0])
	case len(s.Subjects) == 0:
		return text.Advise("give at least one", "%s: no subjects", where)
	case s.Kind != Registration && len(s.Subjects) == 1:
		return text.Advise("add others, or give this file instead of its folder: its report describes one mesh", "%s: %s is the only subject, and a template needs at least 2", where, s.Names[0])
	}
	first, name := s.Subjects[0], s.Names[0]
	if s.Template != nil {
		first, name = s.Template, "the template"
	}
	objects := population.Model{Objects: s.Model.Objects}
	if objects.Objects == nil {
		objects.Objects = make([]population.Object, len(first))
	}
	if _, err := stems(s.Names, objects.Objects); err != nil { // what is estimated could not be written
		return err
	}
	for i, shape := range s.Subjects {
		if len(shape) != len(objects.Objects) || len(shape) != len(first) {
			return text.Advise("give one of each", "%s has %d meshes, %s %d, for %d objects", s.Names[i], len(shape), name, len(first), len(objects.Objects))
		}
	}
	for o, m := range first {
		if m == nil || len(m.Vertices) == 0 || len(m.Cells) == 0 {
			return text.Advise("save it again, or leave it out", "%s is empty", objects.Label(name, o))
		}
	}
	for o, m := range first {
		if d, e := len(m.Vertices[0]), len(first[0].Vertices[0]); d != e {
			return text.Advise("give both two or both three coordinates", "%s is in R^%d, %s in R^%d", objects.Label(name, o), d, objects.Label(name, 0), e)
		}
		for i, shape := range s.Subjects {
			own := objects.Label(s.Names[i], o)
			if shape[o] == nil {
				return text.Advise("read or make it first", "%s is nil", own)
			}
			if err := shape[o].Validate(); err != nil {
				return fmt.Errorf("%s: %w", own, err)
			}
			if err := mesh.CheckAlike(objects.Label(name, o), m, own, shape[o]); err != nil {
				return err
			}
		}
		for i, ratio := range s.ratiosOf(o) {
			if ratio > maxSizeRatio || ratio < 1./maxSizeRatio {
				return text.Advise("convert it, correct it, or leave it out", "%s is %s times as large as the median of the subjects: it has another unit, or vertices out of their places", objects.Label(s.Names[i], o), times(ratio))
			}
		}
	}
	return nil
}

// fastFrom is the number of cells above which the fast sums are taken.
const fastFrom = 2000

// Start aligns the subjects of a folder to the first, and chooses a model. A study of Deformetrica has its own alignment and model, which stay. Sizes
// are relative to r, the root mean square distance of the first subject from its centre:
//
//   - deformations have a Gaussian kernel of the width r·deformation, with control points on a grid one width apart, up to one width from the subject;
//   - the norm of each object is that of varifolds of the width r·detail, with the r of the object, but no finer than its edges;
//   - the noise of each object is 0.2·r for surfaces, with the r of the object, and 0.3 for curves;
//   - the Smoothing of a curve is twice as wide as its norm.
//
// With similarity subjects may also be scaled. The template starts as the first subject. A template of surfaces is a hypertemplate unless
// FreeVertices is set, also in a study of Deformetrica. Notes has the numbers that were chosen.
//
// Several poses of each subject and of its mirror image are tried by rough matches of thinned meshes (see population.Model.Poses), and the alignment
// starts from the best. If there are Landmarks, no alignment follows, because Place treats the pose as unknown. Notes names subjects whose two best
// poses cannot be told apart, and subjects whose mirror image fits better.
func (s *Study) Start(deformation, detail float64, similarity bool) error {
	if s.Model.Space != nil {
		s.chooseMotion()
		return nil
	}
	if err := s.chooseNorms(deformation, detail); err != nil {
		return err
	}
	poses, err := s.choosePoses(deformation)
	if err != nil {
		return err
	}
	if s.Landmarks == nil {
		if poses, err = s.refine(poses, similarity); err != nil {
			return err
		}
	}
	for i, pose := range poses {
		s.move(i+1, pose)
	}
	if err := s.differ(1e-3); err != nil {
		return err
	}
	return s.chooseDeformations(deformation)
}

// refine returns the rigid alignments of the subjects to the first that are near poses.
func (s *Study) refine(poses []*population.Aligned, similarity bool) ([]*population.Aligned, error) {
	motion := "rotations"
	if similarity {
		motion = "similarities"
	}
	s.note("subjects were aligned to %s by %s", s.Names[0], motion)
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
		if err := s.useFastSums(objects, o, slices.Concat(centred.Vertices, around)); err != nil { // one shape: the corners are few
			return nil, err
		}
	}
	aligned, err := population.Refine(objects, s.Subjects[0], s.Subjects[1:], poses, similarity)
	if err != nil {
		return nil, err
	}
	for i, a := range aligned {
		if a.Status != geom.Converged {
			s.doubt(i+1, "the alignment %s", a.Status)
		}
	}
	return aligned, nil
}

// StartAligned is Start where the subjects are aligned already, as when Start did so in another process.
func (s *Study) StartAligned(deformation, detail float64) error {
	if s.Model.Space != nil {
		s.chooseMotion()
		return nil
	}
	if err := s.chooseNorms(deformation, detail); err != nil {
		return err
	}
	return s.chooseDeformations(deformation)
}

// chooseNorms chooses norms and noise of the objects.
func (s *Study) chooseNorms(deformation, detail float64) error {
	if !(deformation > 0) || !(detail > 0) {
		return text.Advise("give positive numbers", "widths of %g and %g times the size", deformation, detail)
	}
	first := s.Subjects[0]
	objects := slices.Clone(s.Model.Objects)
	if objects == nil {
		objects = make([]population.Object, len(first))
	}
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
	return nil
}

// useFastSums takes fast sums, which hold around points, for an object of which a subject has many cells.
func (s *Study) useFastSums(objects []population.Object, o int, points ...[][]float64) (err error) {
	if slices.ContainsFunc(s.Subjects, func(shape []*mesh.Mesh) bool { return len(shape[o].Cells) > fastFrom }) {
		objects[o].Norm.Kernel, err = kernels.Fast(objects[o].Norm.Kernel, 1e-4, points...)
	}
	return err
}

// chooseDeformations chooses the sums of the norms, the first template, control points and deformations.
func (s *Study) chooseDeformations(deformation float64) error {
	objects := s.Model.Objects
	for o := range objects {
		var points [][][]float64
		for _, shape := range s.Subjects {
			points = append(points, shape[o].Vertices)
		}
		if err := s.useFastSums(objects, o, points...); err != nil {
			return err
		}
	}
	var err error
	if s.Model, s.Controls, err = s.deformations(objects, deformation); err != nil {
		return err
	}
	s.Template = s.Subjects[0]
	_, _, r := mesh.Moments(s.Template)
	s.note("deformations have a kernel of width %.3g and %d control points", deformation*r, len(s.Controls))
	s.chooseMotion()
	return nil
}

// chooseMotion chooses how the template moves: curves need no smooth fields to converge, and templates with Landmarks stay.
func (s *Study) chooseMotion() {
	curve := func(m *mesh.Mesh) bool { return len(m.Cells[0]) == 2 }
	s.Model.Hypertemplate = s.Landmarks == nil && s.Kind != Registration && !s.FreeVertices && !slices.ContainsFunc(s.Template, curve)
	if s.Model.Hypertemplate {
		s.note("the template is the initial template, displaced by a field that is as smooth as the deformations: finer details of the initial template remain in it")
	}
}

// deformations returns a model of objects, with the control points.
func (s *Study) deformations(objects []population.Object, deformation float64) (m population.Model, controls [][]float64, err error) {
	first := s.Subjects[0]
	_, _, r := mesh.Moments(first)
	grid, err := Grid(mesh.Vertices(first), deformation*r)
	if err != nil {
		return m, nil, err
	}
	for _, c := range grid {
		near := slices.ContainsFunc(mesh.Vertices(first), func(x []float64) bool {
			return floats.Distance(x, c, 2) < deformation*r
		})
		if near {
			controls = append(controls, c)
		}
	}
	space := landmarks.New(len(controls), len(first[0].Vertices[0]), kernels.Gaussian(deformation*r), geom.Integrator(ode.Heun, 5))
	return population.Model{Objects: objects, Space: space, Save: s.Save}, controls, nil
}

// Estimate estimates what the study is for: population.Model.Atlas, the atlas of population.Model.Regress, or population.Model.Register.
func (s *Study) Estimate(opts ...solve.Option) (*population.Atlas, error) {
	if s.Model.Space == nil {
		return nil, text.Advise("call Start, which chooses one", "the study has no model")
	}
	s.Model.Save = s.Save
	switch s.Kind {
	case Atlas:
		return s.Model.Atlas(s.Template, s.Controls, s.Subjects, opts...)
	case Regression:
		r, err := s.Model.Regress(s.Template, s.Controls, s.Subjects, linear.Terms{linear.Covariate("time", s.Times...)}, opts...)
		if err != nil {
			return nil, err
		}
		return r.Atlas, nil
	}
	return s.Model.Register(s.Template, s.Controls, s.Subjects[0], opts...)
}
