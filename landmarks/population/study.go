package population

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"anatomy/geom"
	"anatomy/geom/ode"
	"anatomy/geom/stats"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/mesh"
	"anatomy/landmarks/morpho"
)

// Kind is what a Study is for.
type Kind uint8

const (
	Atlases      Kind = iota // a template of at least two subjects: Model.Atlas
	Registration             // one subject, to which the template is brought: landmarks.Space.MatchFrom
	Regressions              // one subject at several times: Model.Regress
)

func (k Kind) String() string { return [...]string{"atlas", "registration", "regression"}[k] }

// Study is all that an estimate is made of: subjects with their names, a first template, control points and the model.
type Study struct {
	Kind     Kind
	Names    []string
	Subjects []*mesh.Mesh
	Times    []float64 // of Regressions
	Template *mesh.Mesh
	Controls [][]float64
	Model    Model
	Notes    []string // what was repaired, chosen or passed over, in sentences
}

func (s *Study) note(format string, args ...any) {
	s.Notes = append(s.Notes, fmt.Sprintf(format, args...))
}

// alien is how many times as large as the median a subject may be; in another unit it is 10 or 25.4 times as large, or 1000 times.
const alien = 5

// Read reads a folder: a study of Deformetrica, where it holds model.xml and data_set.xml (see ReadDeformetrica), or else one subject
// a mesh file (see mesh.Read) and a specimen of a .csv file of landmarks, whose points are taken for a closed outline. Other files
// are named in Notes. Subjects are cleaned (see mesh.Mesh.Clean). It is an error if there are fewer than two, if some are surfaces
// and others curves, and if one is five times as large or small as the median: then its unit is another.
//
// Of such a folder the subjects are brought to the first, by rotations without correspondences (see Align), or by similarities with
// scaled; Start then chooses the model.
func Read(folder string) (*Study, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	if model, set := firstFile(folder, modelNames), firstFile(folder, dataSetNames); set != "" {
		if model == "" {
			return nil, fmt.Errorf("%s: a study of Deformetrica needs model.xml beside %s", folder, filepath.Base(set))
		}
		return ReadDeformetrica(model, set, firstFile(folder, optimizationNames))
	}
	s := &Study{}
	var others []string
	for _, e := range entries {
		name, path := e.Name(), filepath.Join(folder, e.Name())
		switch {
		case strings.HasPrefix(name, "."):
		case e.IsDir():
			others = append(others, name+"/")
		case mesh.Readable(name):
			m, err := mesh.Read(path)
			if err != nil {
				return nil, err
			}
			s.Names, s.Subjects = append(s.Names, name), append(s.Subjects, m)
		case strings.EqualFold(filepath.Ext(name), ".csv"):
			d, err := morpho.Read(path)
			if err != nil {
				return nil, err
			}
			for _, specimen := range d.Specimens {
				s.Names, s.Subjects = append(s.Names, name+": "+specimen.Name), append(s.Subjects, mesh.Curve(specimen.Points, true))
			}
			s.note("%s: %d outlines, taken for closed", name, len(d.Specimens))
		default:
			others = append(others, name)
		}
	}
	if len(others) > 0 {
		s.note("passed over: %s", strings.Join(others, ", "))
	}
	if len(s.Subjects) == 0 {
		return nil, fmt.Errorf("%s: no meshes (.ply, .obj, .off, .stl, .gii, .vtk, .vtp), no outlines (.csv), no study of Deformetrica (model.xml, data_set.xml)", folder)
	}
	for i, m := range s.Subjects {
		done, err := m.Clean()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(folder, s.Names[i]), err)
		}
		if done != (mesh.Cleaning{}) {
			s.note("%s: %s", s.Names[i], done)
		}
	}
	return s, s.Validate()
}

// Validate returns an error where the study cannot be estimated: see Read.
func (s *Study) Validate() error {
	if len(s.Names) != len(s.Subjects) {
		return fmt.Errorf("%d names for %d subjects", len(s.Names), len(s.Subjects))
	}
	if s.Kind != Registration && len(s.Subjects) < 2 {
		return fmt.Errorf("%d subjects, an %s wants at least 2: one surface is matched to another by landmarks.Space.Match, as in notebook 10", len(s.Subjects), s.Kind)
	}
	if len(s.Subjects) == 0 {
		return errors.New("no subjects")
	}
	first, name := s.Subjects[0], s.Names[0]
	if s.Template != nil {
		first, name = s.Template, "the template"
	}
	var sizes []float64
	for i, m := range s.Subjects {
		if err := m.Validate(); err != nil {
			return fmt.Errorf("%s: %w", s.Names[i], err)
		}
		if err := mesh.Alike(name, first, s.Names[i], m); err != nil {
			return fmt.Errorf("%w: a study has either curves or surfaces", err)
		}
		_, _, radius := moments(m)
		sizes = append(sizes, radius)
	}
	sorted := slices.Sorted(slices.Values(sizes))
	median := sorted[len(sorted)/2]
	for i, size := range sizes {
		if size > alien*median || size < median/alien {
			return fmt.Errorf("%s is %.3g times as large as the median of the subjects: it has another unit; convert it, or leave it out", s.Names[i], size/median)
		}
	}
	return nil
}

// many is from how many cells the fast sums are taken.
const many = 2000

// Start aligns the subjects of a folder to the first, and chooses a model by their size r, the root mean square distance of the
// first from its centre; a study of Deformetrica has its own, and stays as it is. The deformations are Gaussian of width
// r·deformation, and the norm is that of varifolds of width r·detail, but no finer than its edges; the noise is a share of what
// would be all: 0.2·r for surfaces and 0.3 for curves. Notes say the numbers. With similarity subjects may also be scaled. The
// template starts as the first subject, and control points stand on a grid, a width apart, as far as a width from it.
func (s *Study) Start(deformation, detail float64, similarity bool) error {
	if s.Model.Space != nil {
		return nil
	}
	if !(deformation > 0) || !(detail > 0) {
		return fmt.Errorf("widths of %g and %g times the size, want positive numbers", deformation, detail)
	}
	first := s.Subjects[0]
	_, _, r := moments(first)
	width := math.Max(detail*r, first.Spacing())
	norm := mesh.Norm{Kernel: kernels.Gaussian(width), Varifold: true}
	aligned, err := Align(norm, first, s.Subjects[1:], similarity)
	if err != nil {
		return err
	}
	points, cells := [][][]float64{first.Vertices}, len(first.Cells)
	for i, a := range aligned {
		if a.Status != geom.Converged {
			s.note("%s: the alignment %s", s.Names[i+1], a.Status)
		}
		s.Subjects[i+1] = a.Mesh
		points, cells = append(points, a.Mesh.Vertices), max(cells, len(a.Mesh.Cells))
	}
	if cells > many {
		if norm.Kernel, err = kernels.Fast(norm.Kernel, 1e-4, points...); err != nil {
			return err
		}
	}
	s.Template = s.Subjects[0]
	grid, err := Grid(s.Template.Vertices, deformation*r)
	if err != nil {
		return err
	}
	for _, c := range grid {
		near := slices.ContainsFunc(s.Template.Vertices, func(x []float64) bool {
			square := 0.0
			for k := range x {
				square += (x[k] - c[k]) * (x[k] - c[k])
			}
			return square < deformation*r*deformation*r
		})
		if near {
			s.Controls = append(s.Controls, c)
		}
	}
	noise := 0.3
	if len(first.Cells[0]) == 3 {
		noise = 0.2 * r
	}
	s.Model = Model{Norm: norm, Noise: noise,
		Space: landmarks.New(len(s.Controls), len(first.Vertices[0]), kernels.Gaussian(deformation*r), geom.Integrator(ode.Heun, 5))}
	motion := "rotations"
	if similarity {
		motion = "similarities"
	}
	s.note("aligned to %s by %s; deformations of width %.3g, varifolds of width %.3g, noise %.3g, %d control points", s.Names[0], motion, deformation*r, width, noise, len(s.Controls))
	return nil
}

// Estimate estimates what the study is for: Model.Atlas, or of Regressions the atlas of Model.Regress. Of a Registration it is the
// match of the template, which stays as it is, as an atlas of one subject, whose equations for the template are not those of a
// minimum: Imbalance and Unsettled are 0 there, and Status is that of landmarks.Space.MatchFrom.
func (s *Study) Estimate(opts ...stats.Option) (*Atlas, error) {
	if s.Model.Space == nil {
		return nil, errors.New("the study has no model: Start chooses one")
	}
	switch s.Kind {
	case Atlases:
		return s.Model.Atlas(s.Template, s.Controls, s.Subjects, opts...)
	case Regressions:
		r, err := s.Model.Regress(s.Times, s.Template, s.Controls, s.Subjects, opts...)
		if err != nil {
			return nil, err
		}
		return r.Atlas, nil
	}
	m, err := s.Model.Space.MatchFrom(s.Controls, s.Template.Vertices, s.Model.Norm.Term(s.Template, s.Subjects[0]), s.Model.Noise, opts...)
	if err != nil {
		return nil, err
	}
	attachment := m.Mismatch / (2 * s.Model.Noise * s.Model.Noise)
	return &Atlas{Template: s.Template, Controls: s.Controls, Momenta: [][][]float64{m.Momentum}, Deformed: []*mesh.Mesh{s.Template.With(m.Deformed)},
		Before: []float64{m.Before}, Mismatch: []float64{m.Mismatch}, Energy: []float64{m.Objective - attachment}, Objective: m.Objective,
		Folded: len(s.Template.With(m.Deformed).Folds(s.Template)), Iterations: m.Iterations, Evaluations: m.Evaluations, Status: m.Status}, nil
}
