package study

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/gonum/floats"

	"anatomy/landmarks/mesh"
	"anatomy/landmarks/population"
)

// Files returns the names of files for the objects of shapes, without endings: the stem of each shape, such as "template", and if it is
// not empty the ID of the object, with _ for characters that are not allowed in names. Two of one name are an error.
func Files(stems, ids []string) ([][]string, error) {
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
			if other, found := taken[name]; found {
				return nil, fmt.Errorf("%s and %s would have one file, %s: give subjects and objects other names", other, what, name)
			}
			taken[name] = what
			out[i] = append(out[i], name)
		}
	}
	return out, nil
}

// stems are the names of the files of Write, of the template first, which the names of subjects and objects must allow.
func stems(names []string, objects []population.Object) ([][]string, error) {
	stems, ids := []string{"template"}, make([]string, len(objects))
	for i, name := range names {
		if name == "" {
			return nil, fmt.Errorf("subject %d has no name", i)
		}
		stems = append(stems, "flow_"+name)
	}
	for o, object := range objects {
		ids[o] = object.ID
	}
	return Files(stems, ids)
}

// Write writes an atlas of the study for ParaView into a folder, which it makes: template.vtp with the mean displacement of its vertices
// over the subjects; momenta.vtp, the control points with the momentum of every subject as a vector field of its name; and the flow of
// the template to each subject as a sequence, flow_NAME.pvd, with the displacement of the vertices. Of an object with an ID these
// are template_ID.vtp and flow_NAME_ID.pvd. Of the study it takes the names of the subjects, of which no two may make one file name, and
// the model. Files of these names are replaced, others stay.
func (s *Study) Write(folder string, a *population.Atlas) error {
	if len(s.Names) != len(a.Momenta) {
		return fmt.Errorf("write: %d names for %d subjects", len(s.Names), len(a.Momenta))
	}
	if len(s.Model.Objects) != len(a.Template) {
		return fmt.Errorf("write: the model has %d objects, the atlas %d", len(s.Model.Objects), len(a.Template))
	}
	files, err := stems(s.Names, s.Model.Objects)
	if err != nil {
		return fmt.Errorf("write: %w", err)
	}
	if err := os.Mkdir(folder, 0o777); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	shift := func(to []*mesh.Mesh, o int) [][]float64 {
		out := make([][]float64, len(to[o].Vertices))
		for i, x := range to[o].Vertices {
			out[i] = floats.SubTo(make([]float64, len(x)), x, a.Template[o].Vertices[i])
		}
		return out
	}
	mean := make([][][]float64, len(a.Template))
	for o := range mean {
		mean[o] = shift(a.Template, o)
	}
	fields := make([]mesh.Field, len(s.Names))
	for i, p := range a.Momenta {
		fields[i] = mesh.Field{Name: s.Names[i], Values: p}
		path, err := a.Flow(s.Model, p)
		if err != nil {
			return fmt.Errorf("write: %s: %w", s.Names[i], err)
		}
		for o := range a.Template {
			var moments []mesh.Moment
			for k, now := range path {
				moments = append(moments, mesh.Moment{Time: float64(k) / float64(len(path)-1), Mesh: now[o],
					Fields: []mesh.Field{{Name: "displacement", Values: shift(now, o)}}})
			}
			for v, d := range moments[len(moments)-1].Fields[0].Values {
				floats.AddScaled(mean[o][v], 1/float64(len(s.Names)), d)
			}
			if err := mesh.WriteSequence(filepath.Join(folder, files[i+1][o]+".pvd"), moments); err != nil {
				return err
			}
		}
	}
	if err := mesh.WritePoints(filepath.Join(folder, "momenta.vtp"), a.Controls, fields...); err != nil {
		return err
	}
	for o, t := range a.Template {
		if err := mesh.WriteFields(filepath.Join(folder, files[0][o]+".vtp"), t, mesh.Field{Name: "mean displacement", Values: mean[o]}); err != nil {
			return err
		}
	}
	return nil
}
