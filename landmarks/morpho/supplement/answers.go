package supplement

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

	"anatomy/geom/try"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/surfaces/mesh"
)

// Answers are those to all Questions: how files are read, and a Question, of which Asked fills in what stands in files.
type Answers struct {
	Question
	As        morpho.Reading
	Join      morpho.Join
	Table     string  // covariates: a file
	Sliders   string  // a file
	Closed    bool    // the landmarks follow a closed outline
	Missing   float64 // code of missing landmarks; NaN for none
	Phylogeny string  // a file
	Which     string  // trees of this file: "first" or "all"
	Scan      string  // a file of a mesh, or SPECIMEN=FILE
	Deformations
}

// Deformations say how landmarks are deformed, and which deformation is drawn: see package report of landmarks/surfaces.
type Deformations struct {
	Width    float64 // of the Gaussian kernel, relative to the distance between neighbouring landmarks
	Mismatch float64 // in centroid sizes: such a miss of all landmarks costs as much as a deformation of length 1; 0: exact matches
	From, To string  // a deformation is drawn between these specimens or groups; empty: chosen by the groups
}

// Check is an error, which lists those that there are, if a deformation is to be drawn from or to what is no specimen or group of the data.
func (o Deformations) Check(d *morpho.Dataset) error {
	all := slices.DeleteFunc(append(d.Names(), d.Groups()...), func(name string) bool { return name == "" })
	for _, end := range [][2]string{{"from", o.From}, {"to", o.To}} {
		if end[1] != "" && !slices.Contains(all, end[1]) {
			return fmt.Errorf("%s=%s: there is no such specimen or group; there are %s", end[0], clip(end[1]), someOf(all))
		}
	}
	return nil
}

// Usual returns the answers that are taken where none are given.
func Usual() *Answers {
	q := Question{Sums: "I", Permutations: customary, Seed: 1}
	return &Answers{Question: q, Join: morpho.Join{By: "names", Unmatched: "error"}, Missing: math.NaN(), Which: "first",
		Deformations: Deformations{Width: 3, Mismatch: 0.1}}
}

// Set answers questions by their names, and returns the names of others. The error has each answer that is wrong, and what is wanted.
func (a *Answers) Set(answers map[string]string) (others []string, err error) {
	for _, name := range slices.Sorted(maps.Keys(answers)) {
		if i := Named(name); i == nil {
			others = append(others, name)
		} else if wrong := i.Set(a, answers[name]); wrong != nil {
			err = errors.Join(err, fmt.Errorf("%s=%s: %w", name, answers[name], wrong))
		}
	}
	return others, err
}

// Read reads the landmarks of a file or folder, with their table, as the answers say. It has the errors of morpho.Reading.Read, morpho.Join.Covariates
// and morpho.Dataset.ReadSliders and MissingAt.
func (a *Answers) Read(path string) (d *morpho.Dataset, err error) {
	defer try.Catch(&err)
	if info, err := os.Stat(path); err == nil && !info.IsDir() && mesh.Readable(path) {
		try.Fail("%s is a mesh: a report measures it. Landmarks stand in a file of their own", path)
	}
	d = try.Get(a.As.Read(path))
	if a.Sliders != "" {
		d = try.Get(d.ReadSliders(a.Sliders))
	}
	if !math.IsNaN(a.Missing) {
		d = try.Get(d.MissingAt(a.Missing))
	}
	if a.Table != "" {
		d = try.Get(a.Join.Covariates(d, a.Table))
	}
	d.Closed = d.Closed || a.Closed
	return d, nil
}

// Asked returns the question with the trees and the mesh of the files that it names. It has the errors of tree.Read and mesh.Read.
func (a *Answers) Asked() (q Question, err error) {
	defer try.Catch(&err)
	q = a.Question
	remark := func(what string, notes ...string) {
		q.Remarks = slices.DeleteFunc(slices.Clone(q.Remarks), func(r string) bool { return strings.HasPrefix(r, what) })
		for _, note := range notes {
			q.Remarks = append(q.Remarks, what+": "+note)
		}
	}
	if a.Phylogeny != "" {
		var notes []string
		q, notes = try.Get2(q.ReadTrees(a.Phylogeny, a.Which == "all"))
		remark("the tree", notes...)
	}
	if a.Scan != "" {
		name, path, named := strings.Cut(a.Scan, "=")
		if !named {
			path, name = name, strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
		}
		q.Surface, q.Mesh = name, try.Get(mesh.Read(path))
		remark("the mesh", q.Mesh.Notes...)
	}
	return q, nil
}

// Group returns the data with the groups of the column By, and makes it the model where there is none. It is an error if there is no such column.
func (q *Question) Group(d *morpho.Dataset) (*morpho.Dataset, error) {
	if q.By == "" {
		return d, nil
	}
	if _, err := d.Column(q.By); err != nil {
		return nil, err
	}
	q.Model = cmp.Or(q.Model, q.By)
	return d.GroupBy(q.By), nil
}
