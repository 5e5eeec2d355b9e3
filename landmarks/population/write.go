package population

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/gonum/floats"

	"anatomy/landmarks/mesh"
)

// Write writes an atlas for ParaView into a folder, which it makes: template.vtp with the mean displacement of its vertices over
// the subjects; momenta.vtp, the control points with the momentum of every subject as a vector field of its name; and the flow of
// the template to each subject as a sequence, flow_NAME.pvd, with the displacement of the vertices. Of an object with an ID these
// are template_ID.vtp and flow_NAME_ID.pvd. m is the model of the atlas, names are those of the subjects: two that make one file name
// are an error. Files of these names are replaced, others stay.
func (a *Atlas) Write(folder string, m Model, names []string) error {
	if len(names) != len(a.Momenta) {
		return fmt.Errorf("write: %d names for %d subjects", len(names), len(a.Momenta))
	}
	taken := map[string]string{}
	// file is the name of one of an object.
	file := func(stem, subject string, o int) (string, error) {
		if id := m.Objects[o].ID; id != "" {
			stem += "_" + id
		}
		stem = strings.Map(func(r rune) rune {
			if strings.ContainsRune(`/\:*?"<>|`, r) || r < ' ' {
				return '_'
			}
			return r
		}, stem)
		what := fmt.Sprintf("%q, object %d", subject, o)
		if other, found := taken[stem]; found {
			return "", fmt.Errorf("write: %s and %s would have one file, %s: give subjects and objects other names", other, what, stem)
		}
		taken[stem] = what
		return filepath.Join(folder, stem), nil
	}
	if len(m.Objects) != len(a.Template) {
		return fmt.Errorf("write: the model has %d objects, the atlas %d", len(m.Objects), len(a.Template))
	}
	templates, flows := make([]string, len(m.Objects)), make([][]string, len(names))
	for o := range m.Objects {
		var err error
		if templates[o], err = file("template", "template", o); err != nil {
			return err
		}
		for i, name := range names {
			flow, err := file("flow_"+name, name, o)
			if err != nil {
				return err
			}
			flows[i] = append(flows[i], flow)
		}
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
	fields := make([]mesh.Field, len(names))
	for i, p := range a.Momenta {
		fields[i] = mesh.Field{Name: names[i], Values: p}
		g, err := m.Space.Shoot(a.Controls, p)
		if err != nil {
			return fmt.Errorf("write: %s: %w", names[i], err)
		}
		path, err := m.Space.Carry(g, vertices(a.Template))
		if err != nil {
			return fmt.Errorf("write: %s: %w", names[i], err)
		}
		for o := range a.Template {
			var moments []mesh.Moment
			for k, x := range path {
				now := with(a.Template, x)
				moments = append(moments, mesh.Moment{Time: float64(k) / float64(len(path)-1), Mesh: now[o],
					Fields: []mesh.Field{{Name: "displacement", Values: shift(now, o)}}})
			}
			for v, d := range moments[len(moments)-1].Fields[0].Values {
				floats.AddScaled(mean[o][v], 1/float64(len(names)), d)
			}
			if err := mesh.WriteSequence(flows[i][o]+".pvd", moments); err != nil {
				return err
			}
		}
	}
	if err := mesh.WritePoints(filepath.Join(folder, "momenta.vtp"), a.Controls, fields...); err != nil {
		return err
	}
	for o, t := range a.Template {
		if err := mesh.WriteFields(templates[o]+".vtp", t, mesh.Field{Name: "mean displacement", Values: mean[o]}); err != nil {
			return err
		}
	}
	return nil
}
