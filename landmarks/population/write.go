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
// the template to each subject as a sequence, flow_NAME.pvd, with the displacement of the vertices. m is the model of the atlas,
// names are those of the subjects: two that make one file name are an error. Files of these names are replaced, others stay.
func (a *Atlas) Write(folder string, m Model, names []string) error {
	if len(names) != len(a.Momenta) {
		return fmt.Errorf("write: %d names for %d subjects", len(names), len(a.Momenta))
	}
	files, taken := make([]string, len(names)), map[string]string{}
	for i, name := range names {
		files[i] = strings.Map(func(r rune) rune {
			if strings.ContainsRune(`/\:*?"<>|`, r) || r < ' ' {
				return '_'
			}
			return r
		}, name)
		if other, found := taken[files[i]]; found {
			return fmt.Errorf("write: the subjects %q and %q would have one file: give them other names", other, name)
		}
		taken[files[i]] = name
	}
	if err := os.Mkdir(folder, 0o777); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	shift := func(to [][]float64) [][]float64 {
		out := make([][]float64, len(to))
		for i, x := range to {
			out[i] = floats.SubTo(make([]float64, len(x)), x, a.Template.Vertices[i])
		}
		return out
	}
	mean := shift(a.Template.Vertices)
	fields := make([]mesh.Field, len(names))
	for i, p := range a.Momenta {
		fields[i] = mesh.Field{Name: names[i], Values: p}
		g, err := m.Space.Shoot(a.Controls, p)
		if err != nil {
			return fmt.Errorf("write: %s: %w", names[i], err)
		}
		path, err := m.Space.Carry(g, a.Template.Vertices)
		if err != nil {
			return fmt.Errorf("write: %s: %w", names[i], err)
		}
		var moments []mesh.Moment
		for k, x := range path {
			moments = append(moments, mesh.Moment{Time: float64(k) / float64(len(path)-1), Mesh: a.Template.With(x),
				Fields: []mesh.Field{{Name: "displacement", Values: shift(x)}}})
		}
		for v, d := range shift(path[len(path)-1]) {
			floats.AddScaled(mean[v], 1/float64(len(names)), d)
		}
		if err := mesh.WriteSequence(filepath.Join(folder, "flow_"+files[i]+".pvd"), moments); err != nil {
			return err
		}
	}
	if err := mesh.WritePoints(filepath.Join(folder, "momenta.vtp"), a.Controls, fields...); err != nil {
		return err
	}
	return mesh.WriteFields(filepath.Join(folder, "template.vtp"), a.Template, mesh.Field{Name: "mean displacement", Values: mean})
}
