package mesh

import (
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/internal/lists"
	"anatomy/internal/replace"
	"anatomy/landmarks/internal/text"
)

// Field is data at points, such as the vertices of a mesh: one number each, [n][1], or a vector, [n][2] or [n][3].
type Field struct {
	Name   string
	Values [][]float64
}

// Scalars makes a field of numbers.
func Scalars(name string, values []float64) Field {
	return Field{name, lists.Each(values, func(v float64) []float64 { return []float64{v} })}
}

func (f Field) check(points int) error {
	if f.Name == "" || len(f.Values) != points {
		return text.Advise("give a value for each point", "the field %q has %d values for %d points", f.Name, len(f.Values), points)
	}
	for i, row := range f.Values {
		if k, bad := lists.NotFinite(row); len(row) != len(f.Values[0]) || len(row) < 1 || len(row) > 3 {
			return text.Advise("give 1 to 3 numbers in each, as many in all",
				"value %d of the field %q has %d numbers, value 0 %d; want 1 to 3, as many of each", i, f.Name, len(row), len(f.Values[0]))
		} else if bad {
			return text.Advise("write a number, or leave the field out", "value %d of the field %q is %g", i, f.Name, row[k])
		}
	}
	return nil
}

// WriteFields writes a mesh with data at its vertices to a .vtp file, which ParaView shows. It is written beside path and renamed.
func WriteFields(path string, m *Mesh, fields ...Field) (err error) {
	defer try.Catch(&err)
	vtpPath(path)
	return replace.File(path, func(w io.Writer) error {
		return written(w, m, func(out *bufio.Writer, m *Mesh) { writeVTP(out, m, fields...) })
	})
}

// WritePoints writes points with data, such as control points with momenta, to a .vtp file. ParaView draws the vectors as glyphs.
func WritePoints(path string, points [][]float64, fields ...Field) (err error) {
	defer try.Catch(&err)
	vtpPath(path)
	text.RefuseIf(len(points) == 0, "give at least one point", "%s: no points", path)
	try.Do(try.Name((Field{"points", points}).check(len(points)), "%s", path))
	text.RefuseIf(len(points[0]) < 2, "give 2 or 3", "%s: points of 1 coordinate", path)
	cells := lists.Make(len(points), func(i int) []int { return []int{i} })
	return replace.File(path, func(w io.Writer) error {
		return try.Run(func() {
			out := bufio.NewWriter(w)
			writePolyData(out, points, "Verts", cells, fields)
			try.Do(out.Flush())
		})
	})
}

func vtpPath(path string) {
	text.RefuseIf(!strings.EqualFold(filepath.Ext(path), ".vtp"), "choose this extension", "%s: data at points are written to .vtp", path)
}

// ReadFields reads a .vtp file with the data at its points, in three coordinates; the cells are those of Read, nil for points alone.
func ReadFields(path string) (points [][]float64, cells [][]int, fields []Field, err error) {
	defer try.Catch(&err)
	vtpPath(path)
	f := try.Get(input.Open(path))
	defer f.Close()
	b := &builder{}
	fields = parseVTP(text.NewReader(f, path), b, true)
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

// WriteSequence writes meshes through time, such as a flow, as name.pvd, which ParaView plays, and the files 0000.vtp, 0001.vtp, … of a
// new folder beside it: name, or name.1, name.2, … where there is one already. All moments are checked first, and the .pvd file, which
// names the others, comes last: an error leaves an earlier sequence as it was. The folder of an earlier one is removed in the end,
// unless there is anything in it that is not of this sequence.
func WriteSequence(path string, moments []Moment) (err error) {
	defer try.Catch(&err)
	text.RefuseIf(!strings.EqualFold(filepath.Ext(path), ".pvd"), "choose this extension", "%s: a sequence is written to .pvd", path)
	text.RefuseIf(len(moments) == 0, "give at least one", "%s: no moments", path)
	for i, m := range moments {
		text.RefuseIf(math.IsNaN(m.Time) || math.IsInf(m.Time, 0) || i > 0 && m.Time <= moments[i-1].Time, "sort them, each time once",
			"%s: the time of moment %d is %g: want times that grow", path, i, m.Time)
		try.Do(try.Name(m.Mesh.wellFormed(), "%s: moment %d", path, i))
		for _, f := range m.Fields {
			try.Do(try.Name(f.check(len(m.Mesh.Vertices)), "%s: moment %d", path, i))
		}
	}
	earlier := sequenceFiles(path)
	folder := newFolder(strings.TrimSuffix(path, filepath.Ext(path)))
	if err := try.Run(func() { writeSequence(path, folder, moments) }); err != nil {
		os.RemoveAll(folder)
		return err
	}
	for _, file := range earlier {
		try.Do(try.Name(os.Remove(file), "%s is written, but not all files of the one before are removed", path))
	}
	return nil
}

// newFolder makes a folder of this name, with a number where there is one already.
func newFolder(name string) string {
	folder := name
	for k := 1; ; k++ {
		if err := os.Mkdir(folder, 0o777); !errors.Is(err, os.ErrExist) {
			try.Do(err)
			return folder
		}
		folder = fmt.Sprintf("%s.%d", name, k)
	}
}

// momentFile is the name of the file of a moment in the folder of its sequence.
func momentFile(i int) string { return fmt.Sprintf("%04d.vtp", i) }

// writeSequence writes the files of a sequence into its folder, and then the .pvd file.
func writeSequence(path, folder string, moments []Moment) {
	var list strings.Builder
	for i, m := range moments {
		try.Do(WriteFields(filepath.Join(folder, momentFile(i)), m.Mesh, m.Fields...))
		var name strings.Builder
		try.Do(xml.EscapeText(&name, []byte(filepath.Base(folder)+"/"+momentFile(i))))
		fmt.Fprintf(&list, "<DataSet timestep=\"%s\" part=\"0\" file=\"%s\"/>\n", text.Format(m.Time), name.String())
	}
	try.Do(replace.File(path, func(w io.Writer) error {
		_, err := fmt.Fprintf(w,
			"<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"0.1\" byte_order=\"LittleEndian\">\n<Collection>\n%s</Collection>\n</VTKFile>\n", list.String())
		return err
	}))
}

var (
	ofSequence = regexp.MustCompile(`^(\.\d+)?$`)   // what newFolder adds to a name
	fileOfSet  = regexp.MustCompile(`file="(.*?)"`) // that a .pvd file names
)

// sequenceFiles returns the files that a .pvd file names and then their folder, if it is one of WriteSequence and has nothing else in it;
// otherwise nil.
func sequenceFiles(path string) (files []string) {
	list, err := input.ReadFile(path)
	if err != nil {
		return nil
	}
	folder, own := "", map[string]bool{}
	for i, set := range fileOfSet.FindAllSubmatch(list, -1) {
		name, file, _ := strings.Cut(html.UnescapeString(string(set[1])), "/")
		number, found := strings.CutPrefix(name, strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
		if !found || !ofSequence.MatchString(number) || file != momentFile(i) || i > 0 && name != folder {
			return nil
		}
		folder, own[file] = name, true
	}
	folder = filepath.Join(filepath.Dir(path), folder)
	entries, err := os.ReadDir(folder)
	if err != nil || len(own) == 0 {
		return nil
	}
	for _, e := range entries {
		if !own[e.Name()] || !e.Type().IsRegular() {
			return nil
		}
		files = append(files, filepath.Join(folder, e.Name()))
	}
	return append(files, folder)
}
