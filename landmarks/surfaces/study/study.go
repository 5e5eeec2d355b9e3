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
	"fmt"
	"slices"

	"anatomy/geom"
	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/text"
	"anatomy/landmarks/morpho"
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
	// FreeVertices says that all vertices of a template move, as those of closed outlines always do. Otherwise it is a population.Model.Hypertemplate:
	// it moves by smooth fields only. Set it before Start.
	FreeVertices bool
	Posed        bool   // the subjects lie about alike, as by one protocol of scanning: Start turns them from where they lie only
	Aligned      bool   // the subjects are aligned already, as when Start did so in another process: Start only chooses the model
	Save         string // a folder where Start, Estimate and Place keep their searches: see population.Model

	columns   *morpho.Dataset               // the names with covariates; nil without a table
	results   map[string]string             // the files of a finished study of Deformetrica, by what they are; nil of others
	momenta   []geom.Shape                  // of these
	folder    string                        // that was read
	each      bool                          // a mesh that cannot be used is left out
	Landmarks []geom.Shape                  // of every subject, nil where there are none: for Place. Start moves them with the subjects
	Labels    []string                      // of the landmarks, or nil
	motions   map[int]*population.Aligned   // of the subjects that were moved
	doubts    []population.PlacementFailure // about the alignment
}

// Remarks are the Notes, and what was left out: what a notebook says of its data.
func (s *Study) Remarks() []string {
	return append(slices.Clone(s.Notes), lists.Each(s.LeftOut, func(reason string) string { return "left out: " + reason })...)
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

// Validate returns an error where the study cannot be estimated: see Read.
func (s *Study) Validate() (err error) {
	defer try.Catch(&err)
	text.RefuseIf(len(s.Names) != len(s.Subjects), "give one for each", "%d names for %d subjects", len(s.Names), len(s.Subjects))
	switch where := cmp.Or(s.folder, "the study"); {
	case len(s.Subjects) == 0 && len(s.LeftOut) > 0:
		text.Refuse("correct them", "%s: no subject is left: %d cannot be used, and the first is %s", where, len(s.LeftOut), s.LeftOut[0])
	case len(s.Subjects) == 0:
		text.Refuse("give at least one", "%s: no subjects", where)
	case s.Kind != Registration && len(s.Subjects) == 1:
		text.Refuse("add others, or give this file instead of its folder: its report describes one mesh",
			"%s: %s is the only subject, and a template needs at least 2", where, s.Names[0])
	}
	if s.momenta != nil && s.Subjects[0] == nil {
		return nil
	}
	first, name := s.Subjects[0], s.Names[0]
	if s.Template != nil {
		first, name = s.Template, "the template"
	}
	objects := s.objects()
	try.Get(stems(s.Names, objects.Objects)) // what is estimated could not be written
	for i, shape := range s.Subjects {
		text.RefuseIf(len(shape) != len(objects.Objects) || len(shape) != len(first), "give one of each",
			"%s has %d meshes, %s %d, for %d objects", s.Names[i], len(shape), name, len(first), len(objects.Objects))
	}
	for o, m := range first {
		text.RefuseIf(m == nil || len(m.Vertices) == 0 || len(m.Cells) == 0, "save it again, or leave it out", "%s is empty",
			objects.Label(name, o))
	}
	for o, m := range first {
		d, e := len(m.Vertices[0]), len(first[0].Vertices[0])
		text.RefuseIf(d != e, "give both two or both three coordinates", "%s is in R^%d, %s in R^%d", objects.Label(name, o), d, objects.Label(name, 0), e)
		for i, shape := range s.Subjects {
			own := objects.Label(s.Names[i], o)
			text.RefuseIf(shape[o] == nil, "read or make it first", "%s is nil", own)
			try.Do(try.Name(shape[o].Validate(), "%s", own))
			try.Do(mesh.CheckAlike(objects.Label(name, o), m, own, shape[o]))
		}
		for i, ratio := range s.ratiosOf(o) {
			text.RefuseIf(ratio > maxSizeRatio || ratio < 1./maxSizeRatio, "convert it, correct it, or leave it out", otherUnit,
				objects.Label(s.Names[i], o), times(ratio))
		}
	}
	return nil
}

// objects is a model with the objects alone, nameless ones where none are known yet.
func (s *Study) objects() population.Model {
	if s.Model.Objects == nil {
		return population.Model{Objects: make([]population.Object, len(s.Subjects[0]))}
	}
	return population.Model{Objects: s.Model.Objects}
}

// Finished says whether the study was estimated by Deformetrica, whose files Estimate then returns as an atlas; without a search it has no more than
// the meshes of the subjects tell.
func (s *Study) Finished() bool { return s.momenta != nil }

// Estimate estimates what the study is for: population.Model.Atlas, Regress or Register. Of a study
// that is Finished it is population.Model.Assess, or template, control points and momenta alone where meshes of subjects are missing.
func (s *Study) Estimate(opts ...solve.Option) (_ *population.Atlas, err error) {
	defer try.Catch(&err)
	text.RefuseIf(s.Model.Space == nil, "call Start, which chooses one", "the study has no model")
	s.Model.Save = s.Save
	switch {
	case s.momenta != nil && s.Subjects[0] == nil:
		return &population.Atlas{Template: s.Template, Controls: s.Controls, Momenta: s.momenta, Reach: 1}, nil
	case s.momenta != nil:
		return s.Model.Assess(s.Template, s.Controls, s.momenta, s.Subjects)
	}
	switch s.Kind {
	case Atlas:
		return s.Model.Atlas(s.Template, s.Controls, s.Subjects, opts...)
	case Regression:
		return s.Model.Regress(s.Template, s.Controls, s.Subjects, s.Times, opts...)
	}
	return s.Model.Register(s.Template, s.Controls, s.Subjects[0], opts...)
}
