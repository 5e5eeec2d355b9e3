package study

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/population"
)

// Files returns the names of files for the objects of shapes, without extensions: the stem of each shape, such as "template", followed by _ and the
// ID of the object if it has one. Characters that names of files cannot have become _. It is an error if two names are equal.
func Files(stems, ids []string) (_ [][]string, err error) {
	defer try.Catch(&err)
	taken, out := map[string]string{}, make([][]string, len(stems))
	for i, stem := range stems {
		for o, id := range ids {
			name := stem
			if id != "" {
				name += "_" + id
			}
			name = strings.Map(func(r rune) rune {
				if strings.ContainsRune(`/\:*?"<>|`, r) || r < ' ' {
					return '_'
				}
				return r
			}, name)
			what := fmt.Sprintf("%q, object %d", stem, o)
			other, found := taken[name]
			try.FailIf(found, "%s and %s would have one file, %s: give subjects and objects other names", other, what, name)
			taken[name] = what
			out[i] = append(out[i], name)
		}
	}
	return out, nil
}

// stems are the names of the files of Write, of the template first, which the names of subjects and objects must allow.
func stems(names []string, objects []population.Object) ([][]string, error) {
	if i := slices.Index(names, ""); i >= 0 {
		return nil, fmt.Errorf("subject %d has no name", i)
	}
	flows := lists.Each(names, func(name string) string { return "flow_" + name })
	return Files(append([]string{"template"}, flows...), lists.Each(objects, func(o population.Object) string { return o.ID }))
}

// Write writes an atlas of the study for ParaView into a folder, which it makes: template.vtp with the mean displacement of its vertices
// over the subjects and the means of the maps of strain; momenta.vtp, the control points with the momentum of every subject as a vector field of
// its name; and the flow of the template to each subject as a sequence, flow_NAME.pvd, with the displacement of the vertices and maps of
// strain: the logarithm of the ratio of areas, or on a curve of lengths, after and before, and the anisotropy (see strain.Tensor), each the
// mean of the cells at a vertex. There are no such maps, with a note, of a template that has cells without size. Of an object with an ID these
// are template_ID.vtp and flow_NAME_ID.pvd. Of the study it takes the names of the subjects, of which no two may make one file name, and
// the model. Files of these names are replaced, others stay.
func (s *Study) Write(folder string, a *population.Atlas) (err error) {
	defer try.Named(&err, "write")
	try.FailIf(len(s.Names) != len(a.Momenta) || len(s.Model.Objects) != len(a.Template), "%d names for %d subjects, and the model has %d objects, the atlas %d",
		len(s.Names), len(a.Momenta), len(s.Model.Objects), len(a.Template))
	files := try.Get(stems(s.Names, s.Model.Objects))
	try.Do(os.MkdirAll(folder, 0o777))
	mean := make([][]mesh.Field, len(a.Template))
	for o, t := range a.Template {
		strain, err := strainFields(t, t)
		if err != nil {
			s.note("%s: no maps of strain: %v", files[0][o], err)
		}
		mean[o] = append([]mesh.Field{{Name: "displacement", Values: geom.Shape(t.Vertices).Scale(0)}}, strain...)
	}
	fields := make([]mesh.Field, len(s.Names))
	for i, p := range a.Momenta {
		fields[i] = mesh.Field{Name: s.Names[i], Values: p}
		try.Do(try.Name(try.Run(func() { s.writeFlow(folder, files[i+1], a.Template, try.Get(a.Flow(s.Model, p)), mean) }), "%s", s.Names[i]))
	}
	try.Do(mesh.WritePoints(filepath.Join(folder, "momenta.vtp"), a.Controls, fields...))
	for o, t := range a.Template {
		for f := range mean[o] {
			mean[o][f].Name = "mean " + mean[o][f].Name
		}
		try.Do(mesh.WriteFields(filepath.Join(folder, files[0][o]+".vtp"), t, mean[o]...))
	}
	return nil
}

// writeFlow writes the flow of a template to a subject, a file for each object, and adds its last fields to the means over the subjects.
func (s *Study) writeFlow(folder string, files []string, template []*mesh.Mesh, path [][]*mesh.Mesh, mean [][]mesh.Field) {
	for o, t := range template {
		var moments []mesh.Moment
		for k, now := range path {
			fields := []mesh.Field{{Name: "displacement", Values: geom.Shape(now[o].Vertices).Sub(t.Vertices)}}
			if len(mean[o]) > 1 {
				fields = append(fields, try.Get(strainFields(t, now[o]))...)
			}
			moments = append(moments, mesh.Moment{Time: float64(k) / float64(len(path)-1), Mesh: now[o], Fields: fields})
		}
		for f, field := range moments[len(moments)-1].Fields {
			for v, d := range field.Values {
				floats.AddScaled(mean[o][f].Values[v], 1/float64(len(s.Names)), d)
			}
		}
		try.Do(mesh.WriteSequence(filepath.Join(folder, files[o]+".pvd"), moments))
	}
}

// strainFields are maps of the strain at vertices between two positions of a mesh: see Write.
func strainFields(before, after *mesh.Mesh) (_ []mesh.Field, err error) {
	defer try.Catch(&err)
	strains := try.Get(mesh.Strains(before, after))
	ratio := "log ratio of areas"
	if len(before.Cells[0]) == 2 {
		ratio = "log ratio of lengths"
	}
	n := len(before.Vertices)
	fields := []mesh.Field{{Name: ratio, Values: lists.Zeros(n, 1)}, {Name: "anisotropy", Values: lists.Zeros(n, 1)}}
	cells := make([]float64, n)
	for i, cell := range before.Cells {
		for _, v := range cell {
			cells[v]++ // the mean so far changes by this part of the difference
			for f, x := range []float64{strains[i].LogJacobian(), strains[i].Anisotropy()} {
				mean := fields[f].Values[v]
				mean[0] += (x - mean[0]) / cells[v]
			}
		}
	}
	return fields, nil
}
