package mesh

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"anatomy/landmarks/internal/markup"
	"anatomy/landmarks/internal/replace"
	"anatomy/landmarks/internal/text"
)

// Field is data at points, such as the vertices of a mesh: one number each, [n][1], or a vector, [n][2] or [n][3].
type Field struct {
	Name   string
	Values [][]float64
}

// Scalars makes a field of numbers.
func Scalars(name string, values []float64) Field {
	f := Field{Name: name}
	for _, v := range values {
		f.Values = append(f.Values, []float64{v})
	}
	return f
}

func (f Field) check(points int) error {
	if f.Name == "" || len(f.Values) != points {
		return fmt.Errorf("the field %q has %d values for %d points", f.Name, len(f.Values), points)
	}
	for i, row := range f.Values {
		if len(row) != len(f.Values[0]) || len(row) < 1 || len(row) > 3 {
			return fmt.Errorf("value %d of the field %q has %d numbers, value 0 %d; want 1 to 3, as many of each", i, f.Name, len(row), len(f.Values[0]))
		}
		for _, v := range row {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("value %d of the field %q is %g", i, f.Name, v)
			}
		}
	}
	return nil
}

// WriteFields writes a mesh with data at its vertices to a .vtp file, which ParaView shows. It is written beside path and renamed.
func WriteFields(path string, m *Mesh, fields ...Field) error {
	if err := vtpPath(path); err != nil {
		return err
	}
	return replace.File(path, func(w io.Writer) error { return WriteVTP(w, m, AppendedBase64|Zlib, fields...) })
}

// WritePoints writes points with data, such as control points with momenta, to a .vtp file. ParaView draws the vectors as glyphs.
func WritePoints(path string, points [][]float64, fields ...Field) error {
	if err := vtpPath(path); err != nil {
		return err
	}
	if len(points) == 0 {
		return fmt.Errorf("%s: no points", path)
	}
	cells := make([][]int, len(points))
	for i, x := range points {
		if len(x) != len(points[0]) || len(x) < 2 || len(x) > 3 {
			return fmt.Errorf("%s: point %d has %d coordinates, want 2 or 3, as many of each", path, i, len(x))
		}
		for a, v := range x {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("%s: coordinate %d of point %d is %g", path, a, i, v)
			}
		}
		cells[i] = []int{i}
	}
	return replace.File(path, func(w io.Writer) error {
		return writeVTP(w, points, "Verts", cells, AppendedBase64|Zlib, fields)
	})
}

func vtpPath(path string) error {
	if !strings.EqualFold(filepath.Ext(path), ".vtp") {
		return fmt.Errorf("%s: data at points are written to .vtp", path)
	}
	return nil
}

// ReadFields reads a .vtp file with the data at its points, in three coordinates; the cells are those of Read, nil for points alone.
func ReadFields(path string) (points [][]float64, cells [][]int, fields []Field, err error) {
	if err := vtpPath(path); err != nil {
		return nil, nil, nil, err
	}
	f, err := text.Open(path)
	if err != nil {
		return nil, nil, nil, err
	}
	defer f.Close()
	b, fields, err := readVTP(f, path, true)
	if err != nil {
		return nil, nil, nil, err
	}
	if cells = b.triangles; cells == nil {
		cells = b.edges
	}
	return b.vertices, cells, fields, nil
}

// Moment is a mesh at a time, with data at its vertices.
type Moment struct {
	Time   float64
	Mesh   *Mesh
	Fields []Field
}

type pvd struct {
	XMLName xml.Name `xml:"VTKFile"`
	Type    string   `xml:"type,attr"`
	Sets    []struct {
		Time string `xml:"timestep,attr"`
		File string `xml:"file,attr"`
	} `xml:"Collection>DataSet"`
}

// WriteSequence writes meshes through time, such as a flow, as name.pvd and the files name/0000.vtp, name/0001.vtp, … that it
// names, which ParaView plays. The .pvd file comes last: it names only what is there. Of an earlier, longer sequence of the same name
// files stay that it no longer names.
func WriteSequence(path string, moments []Moment) error {
	if !strings.EqualFold(filepath.Ext(path), ".pvd") {
		return fmt.Errorf("%s: a sequence is written to .pvd", path)
	}
	if len(moments) == 0 {
		return fmt.Errorf("%s: no moments", path)
	}
	for i, m := range moments {
		if math.IsNaN(m.Time) || math.IsInf(m.Time, 0) || i > 0 && m.Time <= moments[i-1].Time {
			return fmt.Errorf("%s: the time of moment %d is %g: want times that grow", path, i, m.Time)
		}
		if m.Mesh == nil {
			return fmt.Errorf("%s: moment %d has no mesh", path, i)
		}
	}
	folder := strings.TrimSuffix(path, filepath.Ext(path))
	if err := os.Mkdir(folder, 0o777); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	var list strings.Builder
	for i, m := range moments {
		file := fmt.Sprintf("%04d.vtp", i)
		if err := WriteFields(filepath.Join(folder, file), m.Mesh, m.Fields...); err != nil {
			return err
		}
		var name strings.Builder
		if err := xml.EscapeText(&name, []byte(filepath.Base(folder)+"/"+file)); err != nil {
			return err
		}
		fmt.Fprintf(&list, "<DataSet timestep=\"%s\" part=\"0\" file=\"%s\"/>\n", text.Format(m.Time), name.String())
	}
	return replace.File(path, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"0.1\" byte_order=\"LittleEndian\">\n<Collection>\n%s</Collection>\n</VTKFile>\n", list.String())
		return err
	})
}

// ReadSequence reads the times and meshes of a .pvd file whose parts are .vtp files.
func ReadSequence(path string) ([]Moment, error) {
	f, err := text.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const largest = 64 << 20
	all, err := io.ReadAll(io.LimitReader(f, largest))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var doc pvd
	if err := markup.Parse(all, path, &doc); err != nil {
		return nil, err
	}
	if doc.Type != "Collection" {
		return nil, fmt.Errorf("%s: VTKFile type %s, want Collection", path, text.Clip(doc.Type))
	}
	var out []Moment
	for i, set := range doc.Sets {
		t, err := strconv.ParseFloat(set.Time, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: part %d: the time %s is no number", path, i, text.Clip(set.Time))
		}
		file := filepath.Join(filepath.Dir(path), set.File)
		points, cells, fields, err := ReadFields(file)
		if err != nil {
			return nil, err
		}
		m := &Mesh{points, cells}
		if err := m.wellFormed(); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		out = append(out, Moment{t, m, fields})
	}
	return out, nil
}
