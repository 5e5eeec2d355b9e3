package study

import (
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/text"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/morpho/supplement"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/population"
)

// ReadCovariates reads a table with a row for each subject, as morpho.Dataset.ReadCovariates does for specimens, and returns the study: Flat and
// reports about it have its columns. Names of subjects are those of their files, with or without extensions. Subjects that one rule of morpho.Join
// leaves out, or that have no row, are errors.
func (s *Study) ReadCovariates(path string) (_ *Study, err error) {
	defer try.Catch(&err)
	s.columns = try.Get(s.Columns().ReadCovariates(path))
	s.Notes = append(s.Notes, s.columns.Notes...)
	return s, nil
}

// specimenName is the name of a subject in tables and trees: that of a file without extension, and of an outline the name of its specimen.
func specimenName(name string) string {
	if _, specimen, found := strings.Cut(name, ": "); found {
		return specimen
	}
	if mesh.Readable(name) {
		return stem(name)
	}
	return name
}

// Columns are the names of the subjects with the covariates that were read, as a data set without coordinates.
func (s *Study) Columns() *morpho.Dataset {
	if s.columns != nil {
		return s.columns
	}
	d := &morpho.Dataset{Name: filepath.Base(s.folder), Flat: true}
	d.Specimens = lists.Each(s.Names, func(name string) morpho.Specimen {
		return morpho.Specimen{Name: specimenName(name), Points: [][]float64{{0}}}
	})
	return d
}

// Flat returns an atlas of the study as a data set: the coordinates of a subject are the scores of its momentum along all modes of
// population.Atlas.PCA, so that distances are those of the metric of the control points. The covariate "log size" is the logarithm of the root mean
// square distance from the centre, in the unit of the files; others are those of the table that was read. Body deforms the template by the momentum
// of coordinates. It has the errors of PCA.
func (s *Study) Flat(a *population.Atlas) (_ *morpho.Dataset, _ supplement.Body, err error) {
	defer try.Catch(&err)
	text.RefuseIf(s.Kind != Atlas || len(s.Names) < 3, "take an atlas of at least 3 subjects",
		"statistics of a study of the type %s with %s", s.Kind, text.Counted(len(s.Names), "subjects"))
	modes := try.Get(a.PCA(s.Model))
	d := &morpho.Dataset{Name: filepath.Base(s.folder), Flat: true, Measured: true}
	for i, specimen := range s.Columns().Specimens {
		covariates := map[string]string{}
		maps.Copy(covariates, specimen.Covariates)
		specimen.Points, specimen.Covariates = [][]float64{slices.Clone(modes.Scores[i])}, covariates
		if _, own := covariates[morpho.LogSize]; !own && s.Subjects[i] != nil {
			_, _, size := mesh.Moments(s.Subjects[i])
			covariates[morpho.LogSize] = text.Format(math.Log(size / s.motion(i).Scale))
		}
		d.Specimens = append(d.Specimens, specimen)
	}
	return d, func(x []float64) ([]*mesh.Mesh, error) { return a.At(s.Model, modes, x...) }, nil
}
