package study_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/landmarks/internal/zoo"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/study"
)

// zooFormat is a format of mesh files.
type zooFormat struct {
	name, extension string
	write           func(b *bytes.Buffer, m *mesh.Mesh) error
	text            bool
	count           string // an expression that finds the number of vertices or triangles in the file
}

func encoded[E any](write func(b *bytes.Buffer, m *mesh.Mesh, e E) error, e E) func(*bytes.Buffer, *mesh.Mesh) error {
	return func(b *bytes.Buffer, m *mesh.Mesh) error { return write(b, m, e) }
}

// saved is what mesh.Write writes.
func saved(b *bytes.Buffer, m *mesh.Mesh, extension string) error {
	folder, err := os.MkdirTemp("", "zoo")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "mesh"+extension)
	if err := mesh.Write(path, m); err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	b.Write(text)
	return err
}

// rows are lines of numbers, each behind some words.
func rows[T any](all [][]T, before string) string {
	var b strings.Builder
	for _, row := range all {
		fmt.Fprintln(&b, before+strings.Trim(fmt.Sprint(row), "[]"))
	}
	return b.String()
}

// ply is what other programs write: text, or big-endian numbers.
func ply(b *bytes.Buffer, m *mesh.Mesh, format string) error {
	k := len(m.Cells[0])
	cells := map[int]string{2: "edge %d\nproperty int vertex1\nproperty int vertex2\n", 3: "face %d\nproperty list uchar int vertex_indices\n"}[k]
	fmt.Fprintf(b, "ply\nformat %s 1.0\nelement vertex %d\nproperty double x\nproperty double y\nproperty double z\nelement "+cells+"end_header\n", format, len(m.Vertices), len(m.Cells))
	if format == "ascii" {
		b.WriteString(rows(m.Vertices, "") + rows(m.Cells, map[int]string{2: "", 3: "3 "}[k]))
		return nil
	}
	binary.Write(b, binary.BigEndian, slices.Concat(m.Vertices...))
	for _, c := range m.Cells {
		if k == 3 {
			b.WriteByte(3)
		}
		for _, v := range c {
			binary.Write(b, binary.BigEndian, int32(v))
		}
	}
	return nil
}

func vtkText(b *bytes.Buffer, m *mesh.Mesh) error {
	k := len(m.Cells[0])
	fmt.Fprintf(b, "# vtk DataFile Version 3.0\nmesh\nASCII\nDATASET POLYDATA\nPOINTS %d double\n%s\n%s %d %d\n%s\n", len(m.Vertices), rows(m.Vertices, ""),
		map[int]string{2: "LINES", 3: "POLYGONS"}[k], len(m.Cells), len(m.Cells)*(1+k), rows(m.Cells, fmt.Sprint(k, " ")))
	return nil
}

// vtp has arrays as text, in base64 in their places, or as they are behind all.
func vtp(b *bytes.Buffer, m *mesh.Mesh, format string) error {
	var appended bytes.Buffer
	array := func(attributes, text string, numbers any) string {
		var data, all bytes.Buffer
		binary.Write(&data, binary.LittleEndian, numbers)
		binary.Write(&all, binary.LittleEndian, uint64(data.Len()))
		all.Write(data.Bytes())
		switch format {
		case "ascii":
			return fmt.Sprintf("<DataArray %s format=\"ascii\">\n%s</DataArray>\n", attributes, text)
		case "binary":
			return fmt.Sprintf("<DataArray %s format=\"binary\">%s</DataArray>\n", attributes, base64.StdEncoding.EncodeToString(all.Bytes()))
		}
		at := appended.Len()
		appended.Write(all.Bytes())
		return fmt.Sprintf("<DataArray %s format=\"appended\" offset=\"%d\"/>\n", attributes, at)
	}
	var connectivity, offsets []int64
	for _, c := range m.Cells {
		for _, v := range c {
			connectivity = append(connectivity, int64(v))
		}
		offsets = append(offsets, int64(len(connectivity)))
	}
	section := map[int]string{2: "Lines", 3: "Polys"}[len(m.Cells[0])]
	fmt.Fprintf(b, "<?xml version=\"1.0\"?>\n<VTKFile type=\"PolyData\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\">\n<PolyData>\n<Piece NumberOfPoints=\"%d\">\n<Points>\n%s</Points>\n<%s>\n%s%s</%s>\n</Piece>\n</PolyData>\n",
		len(m.Vertices), array(`type="Float64" NumberOfComponents="3"`, rows(m.Vertices, ""), slices.Concat(m.Vertices...)), section,
		array(`type="Int64" Name="connectivity"`, rows(m.Cells, ""), connectivity), array(`type="Int64" Name="offsets"`, rows([][]int64{offsets}, ""), offsets), section)
	if format == "raw" {
		fmt.Fprintf(b, "<AppendedData encoding=\"raw\">\n_%s\n</AppendedData>\n", appended.Bytes())
	}
	fmt.Fprintln(b, "</VTKFile>")
	return nil
}

func zooFormats() []zooFormat {
	const points = `(?:element vertex |POINTS |NumberOfPoints=")(\d+)`
	return []zooFormat{
		{"PLY, text", ".ply", encoded(ply, "ascii"), true, points},
		{"PLY, little-endian", ".ply", encoded(saved, ".ply"), false, points},
		{"PLY, big-endian", ".ply", encoded(ply, "binary_big_endian"), false, points},
		{"OBJ", ".obj", encoded(saved, ".obj"), true, ""},
		{"OFF", ".off", encoded(saved, ".off"), true, `OFF\s+(\d+)`},
		{"VTK, text", ".vtk", vtkText, true, points},
		{"VTK, binary", ".vtk", encoded(saved, ".vtk"), false, points},
		{"VTP, text", ".vtp", encoded(vtp, "ascii"), true, points},
		{"VTP, base64", ".vtp", encoded(vtp, "binary"), false, points},
		{"VTP, raw", ".vtp", encoded(vtp, "raw"), false, points},
		{"VTP, compressed", ".vtp", encoded(saved, ".vtp"), false, points},
		{"STL, text", ".stl", stlText, true, ""},
		{"STL, binary", ".stl", stlBinary, false, ""},
		{"GIfTI, text", ".gii", encoded(gifti, "ASCII"), true, `Dim0="(\d+)"`},
		{"GIfTI, base64", ".gii", encoded(gifti, "Base64Binary"), false, `Dim0="(\d+)"`},
	}
}

func stlText(b *bytes.Buffer, m *mesh.Mesh) error {
	fmt.Fprintln(b, "solid bone")
	for _, c := range m.Cells {
		fmt.Fprint(b, "facet normal 0 0 0\nouter loop\n")
		for _, v := range c {
			x := m.Vertices[v]
			fmt.Fprintf(b, "vertex %v %v %v\n", x[0], x[1], x[2])
		}
		fmt.Fprint(b, "endloop\nendfacet\n")
	}
	fmt.Fprintln(b, "endsolid bone")
	return nil
}

func stlBinary(b *bytes.Buffer, m *mesh.Mesh) error {
	b.Write(make([]byte, 80))
	binary.Write(b, binary.LittleEndian, uint32(len(m.Cells)))
	for _, c := range m.Cells {
		b.Write(make([]byte, 12))
		for _, v := range c {
			for _, x := range m.Vertices[v] {
				binary.Write(b, binary.LittleEndian, float32(x))
			}
		}
		b.Write(make([]byte, 2))
	}
	return nil
}

func gifti(b *bytes.Buffer, m *mesh.Mesh, encoding string) error {
	var points, triangles string
	if encoding == "ASCII" {
		points, triangles = strings.NewReplacer("[", "", "]", "").Replace(fmt.Sprint(m.Vertices)), strings.NewReplacer("[", "", "]", "").Replace(fmt.Sprint(m.Cells))
	} else {
		var x, c bytes.Buffer
		binary.Write(&x, binary.LittleEndian, slices.Concat(m.Vertices...))
		for _, v := range slices.Concat(m.Cells...) {
			binary.Write(&c, binary.LittleEndian, int32(v))
		}
		points, triangles = base64.StdEncoding.EncodeToString(x.Bytes()), base64.StdEncoding.EncodeToString(c.Bytes())
	}
	fmt.Fprintf(b, `<?xml version="1.0" encoding="UTF-8"?>
<GIFTI Version="1.0" NumberOfDataArrays="2">
<DataArray Intent="NIFTI_INTENT_POINTSET" DataType="NIFTI_TYPE_FLOAT64" ArrayIndexingOrder="RowMajorOrder" Dimensionality="2" Dim0="%d" Dim1="3" Encoding="%s" Endian="LittleEndian">
<Data>%s</Data>
</DataArray>
<DataArray Intent="NIFTI_INTENT_TRIANGLE" DataType="NIFTI_TYPE_INT32" ArrayIndexingOrder="RowMajorOrder" Dimensionality="2" Dim0="%d" Dim1="3" Encoding="%s" Endian="LittleEndian">
<Data>%s</Data>
</DataArray>
</GIFTI>
`, len(m.Vertices), encoding, points, len(m.Cells), encoding, triangles)
	return nil
}

// defect is what is wrong with a mesh, or with the contents of its file.
type defect struct {
	name     string
	harmless bool // to what is computed: the surface is the same
	posture  bool // seen where subjects are aligned
	mesh     func(m *mesh.Mesh)
	file     func(f zooFormat, clean string) (string, bool) // false if the format has no such defect
}

func onText(spoil func(string) string) func(zooFormat, string) (string, bool) {
	return func(f zooFormat, clean string) (string, bool) { return spoil(clean), f.text }
}

// bone is a closed surface of 80 triangles without symmetry, of mean radius about 10, number i of a population.
func bone(i int) *mesh.Mesh {
	s := 0.03 * float64(i)
	return mesh.Icosphere(1).Map(func(x []float64) []float64 {
		y := []float64{12*x[0] + 3*(1+s)*x[1]*x[1] + s, (8+3*s)*x[1] + 2*x[0]*x[2], 6*x[2]*(1+0.4*x[0]*x[1]) + 40*s}
		for a, v := range y {
			y[a] = math.Round(64*v) / 64 // which float32 holds, and the middles of edges, too
		}
		return y
	})
}

// moved is a defect of all vertices, seen or not where subjects are aligned.
func moved(name string, harmless bool, f func(x []float64) []float64) defect {
	return defect{name: name, harmless: harmless, posture: true, mesh: func(m *mesh.Mesh) { *m = *m.Map(f) }}
}

func scaled(name string, factor float64) defect {
	d := moved(name, false, func(x []float64) []float64 { return []float64{factor * x[0], factor * x[1], factor * x[2]} })
	d.posture = false
	return d
}

// number is the coordinate by which defects of text find a place in a file: the first vertex of the spoiled mesh is there.
const number = "7.5625"

func defects() []defect {
	replaced := func(name, by string) defect {
		return defect{name: name, mesh: func(m *mesh.Mesh) { m.Vertices[0][0] = 7.5625 },
			file: onText(func(s string) string { return strings.Replace(s, number, by, 1) })}
	}
	counted := func(name string, by int) defect {
		return defect{name: name, file: func(f zooFormat, s string) (string, bool) {
			if f.name == "STL, binary" {
				b := []byte(s)
				binary.LittleEndian.PutUint32(b[80:], uint32(int(binary.LittleEndian.Uint32(b[80:]))+by))
				return string(b), true
			}
			if f.count == "" {
				return "", false
			}
			at := regexp.MustCompile(f.count).FindStringSubmatchIndex(s)
			n, _ := strconv.Atoi(s[at[2]:at[3]])
			return s[:at[2]] + strconv.Itoa(n+by) + s[at[3]:], true
		}}
	}
	all := []defect{{name: "none", harmless: true}}
	for _, d := range zoo.TextDefects() {
		all = append(all, defect{name: d.Name, harmless: true, file: onText(d.Spoil)})
	}
	all = append(all, []defect{
		{name: "each vertex listed twice", harmless: true, mesh: func(m *mesh.Mesh) { m.Vertices = append(m.Vertices, m.Copy().Vertices...) }},
		{name: "each triangle with vertices of its own", harmless: true, mesh: func(m *mesh.Mesh) {
			var x [][]float64
			for _, c := range m.Cells {
				for k, v := range c {
					x = append(x, slices.Clone(m.Vertices[v]))
					c[k] = len(x) - 1
				}
			}
			m.Vertices = x
		}},
		{name: "a vertex of no triangle", harmless: true, mesh: func(m *mesh.Mesh) { m.Vertices = append(m.Vertices, []float64{1, 2, 3}) }},
		{name: "a triangle with a vertex twice", harmless: true, mesh: func(m *mesh.Mesh) { m.Cells = append(m.Cells, []int{3, 4, 4}) }},
		{name: "a triangle without area", harmless: true, mesh: func(m *mesh.Mesh) {
			a, b := m.Vertices[m.Cells[0][0]], m.Vertices[m.Cells[0][1]]
			m.Vertices = append(m.Vertices, []float64{(a[0] + b[0]) / 2, (a[1] + b[1]) / 2, (a[2] + b[2]) / 2})
			m.Cells = append(m.Cells, []int{m.Cells[0][0], m.Cells[0][1], len(m.Vertices) - 1})
		}},
		{name: "triangles twice", harmless: true, mesh: func(m *mesh.Mesh) { m.Cells = append(m.Cells, slices.Clone(m.Cells[5]), slices.Clone(m.Cells[9])) }},
		{name: "all triangles twice", harmless: true, mesh: func(m *mesh.Mesh) { m.Cells = append(m.Cells, m.Copy().Cells...) }},
		{name: "all triangles on both sides", harmless: true, mesh: func(m *mesh.Mesh) { m.Cells = append(m.Cells, m.Flip().Cells...) }},
		{name: "a flap", harmless: true, mesh: func(m *mesh.Mesh) {
			m.Vertices = append(m.Vertices, []float64{1, 2, 13})
			a, b, n := m.Cells[7][0], m.Cells[7][1], len(m.Vertices)-1
			m.Cells = append(m.Cells, []int{a, b, n}, []int{b, a, n})
		}},
		{name: "some triangles turned round", harmless: true, mesh: func(m *mesh.Mesh) {
			for _, c := range m.Cells[20:40] {
				c[0], c[1] = c[1], c[0]
			}
		}},
		{name: "inside out", harmless: true, mesh: func(m *mesh.Mesh) { *m = *m.Flip() }},
		{name: "vertices and triangles in another order", harmless: true, mesh: func(m *mesh.Mesh) {
			slices.Reverse(m.Vertices)
			slices.Reverse(m.Cells)
			for _, c := range m.Cells {
				for k, v := range c {
					c[k] = len(m.Vertices) - 1 - v
				}
			}
		}},
		{name: "a fin: three triangles at an edge", mesh: func(m *mesh.Mesh) {
			m.Vertices = append(m.Vertices, []float64{1, 2, 13})
			m.Cells = append(m.Cells, []int{m.Cells[7][0], m.Cells[7][1], len(m.Vertices) - 1})
		}},
		{name: "dust: a small second piece", mesh: func(m *mesh.Mesh) {
			n := len(m.Vertices)
			dust := mesh.Icosphere(0).Map(func(x []float64) []float64 { return []float64{x[0] + 20, x[1], x[2]} })
			m.Vertices = append(m.Vertices, dust.Vertices...)
			for _, c := range dust.Cells {
				m.Cells = append(m.Cells, []int{c[0] + n, c[1] + n, c[2] + n})
			}
		}},
		{name: "a triangle is missing", mesh: func(m *mesh.Mesh) { m.Cells = m.Cells[1:] }},
		{name: "half is missing", mesh: func(m *mesh.Mesh) { m.Cells = m.Cells[40:] }},
		{name: "a Möbius strip", mesh: func(m *mesh.Mesh) { *m = *strip() }},
		{name: "a copy of another subject", mesh: func(m *mesh.Mesh) { *m = *bone(0) }},
		{name: "a vertex elsewhere", mesh: func(m *mesh.Mesh) { m.Vertices[3][0] += 300 }},
		{name: "all vertices in one place", mesh: func(m *mesh.Mesh) { *m = *m.Map(func([]float64) []float64 { return []float64{1, 2, 3} }) }},
		{name: "all vertices on a line", mesh: func(m *mesh.Mesh) { *m = *m.Map(func(x []float64) []float64 { return []float64{x[0], 0, 0} }) }},
		{name: "a curve", mesh: func(m *mesh.Mesh) { *m = *mesh.Curve(m.Vertices, true) }},
		scaled("in metres, the others in mm", 0.001),
		scaled("in µm, the others in mm", 1000),
		scaled("in inches, the others in mm", 1/25.4),
		scaled("in cm, the others in mm", 0.1),
		moved("far from the others", true, func(x []float64) []float64 { return []float64{x[0] + 1e4, x[1], x[2] - 300} }),
		moved("x to the left and y to the back (RAS for LPS)", true, func(x []float64) []float64 { return []float64{-x[0], -x[1], x[2]} }),
		moved("axes counted round", true, func(x []float64) []float64 { return []float64{x[1], x[2], x[0]} }),
		moved("two axes exchanged", false, func(x []float64) []float64 { return []float64{x[1], x[0], x[2]} }),
		moved("mirrored", false, func(x []float64) []float64 { return []float64{-x[0], x[1], x[2]} }),
		replaced("NaN", "nan"),
		replaced("an infinite number", "1e999"),
		replaced("a word for a number", "7.56o5"),
		replaced("a decimal comma", "7,5625"),
		{name: "a coordinate is missing", mesh: func(m *mesh.Mesh) { m.Vertices[0][0] = 7.5625 }, file: onText(func(s string) string {
			return strings.Replace(s, number, "", 1)
		})},
		counted("one more announced than there are", 1),
		counted("one less announced than there are", -1),
		{name: "the first vertex is missing", file: func(f zooFormat, s string) (string, bool) {
			_, rest, _ := strings.Cut(s, "\n")
			return rest, f.name == "OBJ"
		}},
		{name: "binary data announced as text", file: func(f zooFormat, s string) (string, bool) {
			return strings.NewReplacer("binary_little_endian", "ascii", "binary_big_endian", "ascii", "BINARY", "ASCII", `format="binary"`, `format="ascii"`, "Base64Binary", "ASCII").Replace(s),
				!f.text && f.name != "STL, binary" && f.name != "VTP, raw" && f.name != "VTP, compressed"
		}},
		{name: "text announced as binary data", file: func(f zooFormat, s string) (string, bool) {
			return strings.NewReplacer("format ascii", "format binary_little_endian", "\nASCII", "\nBINARY", `format="ascii"`, `format="binary"`, `"ASCII"`, `"Base64Binary"`).Replace(s),
				f.text && f.name != "OBJ" && f.name != "OFF" && f.name != "STL, text"
		}},
		{name: "the other byte order announced", file: func(f zooFormat, s string) (string, bool) {
			return strings.NewReplacer("binary_little_endian", "binary_big_endian", "binary_big_endian", "binary_little_endian", `"LittleEndian"`, `"BigEndian"`).Replace(s),
				f.extension == ".ply" && !f.text || f.name == "GIfTI, base64" || f.name == "VTP, base64" || f.name == "VTP, raw"
		}},
		{name: "the file of another program", file: func(zooFormat, string) (string, bool) {
			return "%PDF-1.7\n" + strings.Repeat("1 0 obj stream endstream\n", 9), true
		}},
		{name: "an empty file", file: func(zooFormat, string) (string, bool) { return "", true }},
	}...)
	for tenth := 1; tenth < 10; tenth++ {
		all = append(all, defect{name: zoo.CutOff, file: func(_ zooFormat, s string) (string, bool) { return zoo.Cut(s, tenth), true }})
	}
	return all
}

// strip is a Möbius strip as large as a bone.
func strip() *mesh.Mesh {
	m := &mesh.Mesh{}
	const n = 30
	for i := range n {
		s, c := math.Sincos(2 * math.Pi * float64(i) / n)
		t, u := math.Sincos(math.Pi * float64(i) / n)
		for _, w := range []float64{-3, 3} {
			m.Vertices = append(m.Vertices, []float64{(10 + w*u) * c, (10 + w*u) * s, w * t})
		}
	}
	for i := range n {
		a, b, c, d := 2*i, 2*i+1, 2*i+2, 2*i+3
		if i == n-1 {
			c, d = 1, 0
		}
		m.Cells = append(m.Cells, []int{a, c, b}, []int{c, d, b})
	}
	return m
}

// corners are the triangles of a surface by the places of their corners to five digits, each beginning with its least one.
func corners(m *mesh.Mesh) []string {
	var all []string
	for _, c := range m.Cells {
		var at []string
		for _, v := range c {
			x := m.Vertices[v]
			at = append(at, fmt.Sprintf("%.4f %.4f %.4f", x[0]+0, x[1]+0, x[2]+0))
		}
		k := slices.Index(at, slices.Min(at))
		all = append(all, strings.Join(append(at[k:len(at):len(at)], at[:k]...), ", "))
	}
	slices.Sort(all)
	return all
}

// near says whether points are where others are, within a tenth of the size of a bone on average.
func near(x, y [][]float64) bool {
	square := 0.0
	for i := range x {
		square += math.Pow(floats.Distance(x[i], y[i], 2), 2) / float64(len(x))
	}
	return square < 1
}

// keep writes a folder of four meshes, the third with a defect, and reads it; false if the format has no such defect.
func (f zooFormat) keep(t *testing.T, spoil defect) (zoo.Outcome, bool) {
	folder, what := t.TempDir(), f.name+", "+spoil.name
	spoiled := -1
	for i := range 4 {
		m := bone(i)
		if i == 2 && spoil.mesh != nil {
			spoil.mesh(m)
			spoiled = len(m.Cells[0])
		}
		var b bytes.Buffer
		if err := f.write(&b, m); err != nil {
			t.Fatal(what, err)
		}
		s, ok := b.String(), true
		if i == 2 && spoil.file != nil {
			if s, ok = spoil.file(f, s); !ok {
				return zoo.Outcome{}, false
			}
		}
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("b%d%s", i, f.extension)), []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if spoiled == 2 && (f.extension == ".stl" || f.extension == ".gii") { // have triangles only
		return zoo.Outcome{}, false
	}
	s, err := study.Read(folder)
	equal := err == nil && slices.Equal(corners(s.Subjects[2][0]), corners(bone(2)))
	if err == nil && spoil.posture {
		before := len(s.Notes)
		if err = s.Start(0.8, 0.4, false); err == nil {
			chosen := func(n string) bool {
				return strings.HasPrefix(n, "the norm is that of varifolds") || strings.HasPrefix(n, "subjects were aligned to") || strings.HasPrefix(n, "deformations have a kernel") || strings.HasPrefix(n, "the template is the initial template")
			}
			s.Notes = append(s.Notes[:before], slices.DeleteFunc(s.Notes[before:], chosen)...)
			equal = near(s.Subjects[2][0].Vertices, s.Subjects[0][0].Vertices)
		}
	}
	if err != nil {
		return zoo.Refusal(t, what, folder, err), true
	}
	o := zoo.Outcome{Kind: zoo.Accepted, Words: strings.Join(s.Notes, "; "), Equal: equal}
	if o.Words != "" {
		o.Kind = zoo.Noted
	}
	return o, true
}

// Each defect in each format: nothing harmless is refused or changes the surface, nothing harmful goes by without a word. The table of
// testdata/zoo.md says what becomes of each.
func TestZoo(t *testing.T) {
	table := zoo.Table{Title: "What becomes of faulty meshes", Preamble: "Each defect is put into the third of four surfaces of 80 triangles in a folder, which study.Read reads: %d files. Of formats that say the same, " +
		"the table has the words for the first. What is seen only where subjects are aligned was tried in one format. `go test ./landmarks/surfaces/study -run TestZoo -zoo` writes it."}
	var names []string
	for _, f := range zooFormats() {
		for _, spoil := range defects() {
			if !slices.Contains(names, spoil.name) {
				names = append(names, spoil.name)
			}
			if spoil.posture && f.name != "PLY, little-endian" {
				continue
			}
			if o, ok := f.keep(t, spoil); ok {
				table.Add(t, f.name, spoil.name, spoil.harmless, o)
			}
		}
	}
	table.Check(t, "testdata/zoo.md", 500, names)
}
