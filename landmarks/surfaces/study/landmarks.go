package study

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/dense"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/text"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/population"
)

// ReadLandmarks reads the landmarks of some subjects, which Place then places on the others; call it before Start. The path is a folder with a file
// per subject, named as its mesh, such as skull.mrk.json for skull.ply (see morpho.Read), or one file whose specimens have such names. An empty path
// is the folder of the meshes. Subjects with landmarks become the first ones. It is an error if a landmark is farther from its mesh than a tenth of
// the size, which means another unit or other directions of the axes.
func (s *Study) ReadLandmarks(path string) (err error) {
	defer try.Catch(&err)
	path = cmp.Or(path, s.folder)
	files := []string{path}
	if try.Get(os.Stat(path)).IsDir() {
		files = nil
		for _, e := range try.Get(os.ReadDir(path)) {
			if landmarkFile(e.Name()) && slices.ContainsFunc(s.Names, func(name string) bool { return stem(name) == stem(e.Name()) }) {
				files = append(files, filepath.Join(path, e.Name()))
			}
		}
	}
	of := map[string][][]float64{}
	for _, file := range files {
		d := try.Get(morpho.Read(file))
		if s.Labels == nil {
			s.Labels = d.Labels
		}
		for _, specimen := range d.Specimens {
			of[stem(specimen.Name)] = specimen.Points
		}
	}
	s.Notes = slices.DeleteFunc(s.Notes, func(note string) bool { return strings.HasPrefix(note, unusedLandmarks) })
	var order, bare []int
	for i, name := range s.Names {
		if of[stem(name)] == nil {
			bare = append(bare, i)
			continue
		}
		try.Do(try.Name(try.Run(func() { checkOn(of[stem(name)], s.Subjects[i]) }), "%s", name))
		order = append(order, i)
	}
	left := ""
	if s.LeftOut != nil {
		left = "; left out: " + strings.Join(s.LeftOut, "; ")
	}
	text.RefuseIf(order == nil, "give a file of landmarks the name of a mesh, such as skull.mrk.json beside skull.ply",
		"%s: no landmarks of a subject%s", path, left)
	names, subjects := s.Names, s.Subjects
	s.Names, s.Subjects, s.Landmarks = nil, nil, nil
	for _, i := range append(order, bare...) {
		s.Names, s.Subjects, s.Landmarks = append(s.Names, names[i]), append(s.Subjects, subjects[i]), append(s.Landmarks, of[stem(names[i])])
	}
	return nil
}

// landmarkFile says whether a name is that of a file of landmarks.
func landmarkFile(name string) bool {
	return slices.Contains(append(morpho.Extensions(), ".txt"), strings.ToLower(filepath.Ext(name)))
}

// checkOn refuses landmarks that are far from a subject: by a tenth of its size, and by an edge where edges are longer, as coarse cells cut
// corners off.
func checkOn(marks [][]float64, shape []*mesh.Mesh) {
	_, _, size := mesh.Moments(shape)
	far := 0.1 * size
	var locators []*mesh.Locator
	for _, m := range shape {
		locators = append(locators, try.Get(m.Locator()))
		far = math.Max(far, m.Spacing())
	}
	for l, x := range marks {
		d := len(shape[0].Vertices[0])
		text.RefuseIf(len(x) != d, "give both two or both three coordinates", "landmark %d has %d coordinates, the mesh %d", l, len(x), d)
		text.RefuseIf(floats.HasNaN(x), "digitise it, or leave it out of all templates", "landmark %d is missing", l)
		least := math.Inf(1)
		for _, locator := range locators {
			point, _ := locator.Nearest(x)
			least = math.Min(least, floats.Distance(point, x, 2))
		}
		text.RefuseIf(least > far, "save both in one unit and one system of axes (RAS or LPS)",
			"landmark %d is %.3g away from the mesh, whose size is %.3g", l, least, size)
	}
}

// Place places the landmarks of the subjects that have some on the others: see population.Model.Landmarks, with the noise estimated.
// Points and covariances are in the coordinates of the files. Subjects that Start found mirrored, or in a pose that is ambiguous, or could
// not align, are among the Failures.
func (s *Study) Place(opts ...solve.Option) (_ *population.Placement, err error) {
	defer try.Catch(&err)
	text.RefuseIf(s.Model.Space == nil, "call Start, which chooses one", "the study has no model")
	m := s.Model
	m.Objects = slices.Clone(m.Objects)
	for o := range m.Objects {
		m.Objects[o].Noise = 0
	}
	return s.returned(try.Get(m.Landmarks(s.Controls, s.Subjects, s.Landmarks, opts...))), nil
}

// Among is population.Placement.Among of what Place returned. If Start named all these templates among the Failures, all subjects are named.
func (s *Study) Among(p *population.Placement, templates ...int) (_ *population.Placement, err error) {
	defer try.Catch(&err)
	return s.returned(try.Get(p.Among(templates...))), nil
}

// returned is a placement in the coordinates of the files, with the failures of Start.
func (s *Study) returned(p *population.Placement) *population.Placement {
	p.Failures = slices.Concat(s.doubts, s.doubtful(p), p.Failures)
	slices.SortStableFunc(p.Failures, func(a, b population.PlacementFailure) int {
		return cmp.Or(a.Subject-b.Subject, a.Landmark-b.Landmark)
	})
	for i, marks := range p.Placed {
		for l := range marks {
			back(s.motion(i), &marks[l])
		}
	}
	return p
}

// doubtful names the subjects that only templates in doubt place. Start compares poses with that of the first subject, so that a template in a wrong
// pose places nothing right on the subjects in right ones.
func (s *Study) doubtful(p *population.Placement) (out []population.PlacementFailure) {
	about := map[int]string{}
	for _, d := range s.doubts {
		about[d.Subject] = d.Reason
	}
	if slices.ContainsFunc(p.Templates, func(t int) bool { return about[t] == "" }) {
		return nil
	}
	first := p.Templates[0]
	for i, marks := range p.Placed {
		if marks != nil {
			out = append(out,
				population.PlacementFailure{Subject: i, Landmark: -1, Reason: fmt.Sprintf("its template %s is in doubt: %s", s.Names[first], about[first])})
		}
	}
	return out
}

// still is no motion.
func still(d int) *population.Aligned {
	return &population.Aligned{Scale: 1, Centre: make([]float64, d), Shift: make([]float64, d), Rotation: lists.Identity(d)}
}

// motion is where a subject was moved so far.
func (s *Study) motion(i int) *population.Aligned {
	if a := s.motions[i]; a != nil {
		return a
	}
	return still(len(s.Subjects[i][0].Vertices[0]))
}

// move moves a subject with its landmarks.
func (s *Study) move(i int, a *population.Aligned) {
	if s.motions == nil {
		s.motions = map[int]*population.Aligned{}
	}
	s.motions[i] = a
	s.Subjects[i] = lists.Each(s.Subjects[i], func(m *mesh.Mesh) *mesh.Mesh { return m.Map(a.Move) })
	if s.Landmarks != nil {
		s.Landmarks[i] = lists.Each(s.Landmarks[i], a.Move)
	}
}

// back moves a landmark from where its subject was aligned.
func back(a *population.Aligned, mark *population.PlacedLandmark) {
	turn := dense.Rows(a.Rotation)
	var covariance mat.Dense
	covariance.Product(turn.T(), dense.Rows(mark.Covariance), turn)
	covariance.Scale(1/(a.Scale*a.Scale), &covariance)
	mark.Covariance = dense.List(&covariance)
	mark.Point, mark.Gap = a.Back(mark.Point), mark.Gap/a.Scale
}

// PlacedData returns the landmarks of all subjects as a data set: digitised ones where these were given, else placed ones, and missing ones where
// there are neither. Its covariates are "landmarks" (digitised or placed), the standard error of each landmark by its label or number, their root
// mean square (morpho.ErrorColumn), and the number of failures that name the subject.
func (s *Study) PlacedData(name string, p *population.Placement) *morpho.Dataset {
	d := &morpho.Dataset{Name: name, Labels: s.Labels, Notes: slices.Clone(s.Notes)}
	count := len(s.Landmarks[p.Templates[0]])
	label := func(l int) string {
		if l < 0 {
			return "all landmarks"
		}
		if l < len(s.Labels) {
			return cmp.Or(s.Labels[l], fmt.Sprint(l))
		}
		return fmt.Sprint(l)
	}
	for i, marks := range p.Placed {
		failures := 0
		for _, f := range p.Failures {
			if f.Subject == i {
				failures++
			}
		}
		specimen := morpho.Specimen{Name: stem(s.Names[i]), Points: make([][]float64, count),
			Covariates: map[string]string{"failures": fmt.Sprint(failures)}}
		sum := 0.0
		given := slices.Contains(p.Templates, i)
		for l := range count {
			err := math.NaN()
			switch {
			case given:
				err, specimen.Points[l] = 0, s.motion(i).Back(s.Landmarks[i][l])
			case marks != nil:
				err, specimen.Points[l] = marks[l].StandardError(), marks[l].Point
			default:
				specimen.Points[l] = slices.Repeat([]float64{math.NaN()}, len(s.Landmarks[p.Templates[0]][0]))
			}
			sum += err * err / float64(count)
			specimen.Covariates["standard error of "+label(l)] = number(err)
		}
		specimen.Covariates[morpho.ErrorColumn] = number(math.Sqrt(sum))
		specimen.Covariates["landmarks"] = "placed"
		if given {
			specimen.Covariates["landmarks"] = "digitised"
		}
		d.Specimens = append(d.Specimens, specimen)
	}
	for _, f := range p.Failures {
		d.Notes = append(d.Notes, fmt.Sprintf("%s, %s: %s", s.Names[f.Subject], label(f.Landmark), f.Reason))
	}
	return d
}

// number writes one, and nothing for NaN.
func number(x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	return fmt.Sprintf("%.4g", x)
}
