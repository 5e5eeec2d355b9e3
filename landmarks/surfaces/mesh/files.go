package mesh

import (
	"bufio"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/internal/lists"
	"anatomy/internal/replace"
	"anatomy/landmarks/internal/text"
)

type fileFormat struct {
	extension string
	read      func(in *text.Reader, b *builder)
	write     func(out *bufio.Writer, m *Mesh) // nil for formats of float32, which would lose digits
}

var fileFormats = []fileFormat{
	{".ply", readPLY, writePLY}, {".obj", readOBJ, writeOBJ}, {".vtk", readVTK, writeVTK}, {".off", readOFF, writeOFF}, {".stl", readSTL, nil},
	{".gii", readGIfTI, nil}, {".vtp", readVTP, func(out *bufio.Writer, m *Mesh) { writeVTP(out, m) }},
}

func formatOf(path string) (*fileFormat, error) {
	extension := strings.ToLower(filepath.Ext(path))
	if extension == ".gz" {
		extension = strings.ToLower(filepath.Ext(path[:len(path)-len(extension)]))
	}
	if i := slices.IndexFunc(fileFormats, func(f fileFormat) bool { return f.extension == extension }); i >= 0 {
		return &fileFormats[i], nil
	}
	return nil, text.Advise("save the mesh in one of these", "%s: the extension %q names no format of meshes; there are %s", path, extension,
		strings.Join(Extensions(), ", "))
}

// Extensions are those of the files that Read reads.
func Extensions() []string { return extensions(fileFormats) }

func extensions(formats []fileFormat) []string {
	return lists.Each(formats, func(f fileFormat) string { return f.extension })
}

// Readable returns whether the extension of a path names a format that Read reads.
func Readable(path string) bool {
	_, err := formatOf(path)
	return err == nil
}

// Read reads a mesh in the format that the extension names: .ply, .obj, .off, .stl (ASCII or binary), .gii (GIfTI), .vtk (legacy PolyData),
// .vtp (XML PolyData). Coordinates are those of the file: few formats say their unit or which way their axes point (those of scanners
// are RAS or LPS, which differ in the signs of x and y).
// Polygons become fans of triangles, strips their triangles, polylines their edges; single points, normals, textures and
// other data are passed over. Curves whose z are all 0 come back in the plane. Degenerate cells and unused or duplicate
// vertices are read as they are: see Mesh.Clean. Notes name what is passed over: edges beside more triangles, unused vertices whose
// coordinates are no numbers, bytes behind the triangles of a binary STL file. A file may be packed by gzip, as .ply.gz. Errors name the
// file, the line or byte, and the element.
func Read(path string) (_ *Mesh, err error) {
	defer try.Catch(&err)
	format := try.Get(formatOf(path))
	f := try.Get(input.Open(path))
	defer f.Close()
	return format.mesh(f, path)
}

// mesh reads a mesh, whose file errors call by a name.
func (f *fileFormat) mesh(r io.Reader, name string) (_ *Mesh, err error) {
	defer try.Catch(&err)
	in := text.NewReader(r, name)
	b := &builder{in: in}
	f.read(in, b)
	return b.mesh(name), nil
}

// Write writes a mesh in the format that the extension names, binary where the format allows: .ply (little-endian), .obj, .off, .vtk (legacy,
// big-endian), .vtp (compressed). Every coordinate is read back to the last bit. The file is written beside path and renamed, so that an
// error leaves an earlier file as it was.
func Write(path string, m *Mesh) (err error) {
	defer try.Catch(&err)
	format := try.Get(formatOf(path))
	others := extensions(lists.Filter(fileFormats, func(f fileFormat) bool { return f.write != nil }))
	text.RefuseIf(format.write == nil, "choose one of these extensions", "%s: %s files hold float32 and would lose digits, those of %s do not",
		path, format.extension, strings.Join(others, ", "))
	return replace.File(path, func(w io.Writer) error { return written(w, m, format.write) })
}

// written writes a mesh, which must be one.
func written(w io.Writer, m *Mesh, write func(out *bufio.Writer, m *Mesh)) (err error) {
	defer try.Catch(&err)
	try.Do(m.wellFormed())
	out := bufio.NewWriter(w)
	write(out, m)
	return out.Flush()
}

// What to do about files that are not as their format says, and about those that end too early.
const (
	again  = "save the mesh again by the program that made it"
	cut    = "the file may have been cut off: save it again"
	number = "write a number, with a decimal point"
)

// maxCorners bounds a polygon or polyline that stands in one line.
const maxCorners = 1 << 20

// builder collects what a file holds and makes it a mesh.
type builder struct {
	vertices  [][]float64
	edges     [][]int
	triangles [][]int
	notes     []string

	in interface{ Spend(kind input.Kind, n int) } // whose budget they take
}

func (b *builder) vertex(x []float64) {
	b.in.Spend(input.Numbers, len(x))
	b.vertices = append(b.vertices, x)
}

func (b *builder) triangle(t []int) {
	b.in.Spend(input.Numbers, len(t))
	b.triangles = append(b.triangles, t)
}

// fan adds a polygon; one of two vertices is an edge, one of less nothing.
func (b *builder) fan(polygon []int) {
	if len(polygon) == 2 {
		b.line(polygon)
	}
	for k := 2; k < len(polygon); k++ {
		b.triangle([]int{polygon[0], polygon[k-1], polygon[k]})
	}
}

// strip adds a strip of triangles, which alternate in direction.
func (b *builder) strip(s []int) {
	for k := 2; k < len(s); k++ {
		if k%2 == 0 {
			b.triangle([]int{s[k-2], s[k-1], s[k]})
		} else {
			b.triangle([]int{s[k-1], s[k-2], s[k]})
		}
	}
}

func (b *builder) line(polyline []int) {
	for k := 1; k < len(polyline); k++ {
		b.in.Spend(input.Numbers, 2)
		b.edges = append(b.edges, []int{polyline[k-1], polyline[k]})
	}
}

func (b *builder) mesh(file string) *Mesh {
	m := &Mesh{Vertices: b.vertices, Cells: b.triangles, Notes: b.notes}
	if len(b.triangles) == 0 {
		m.Cells = b.edges
	} else if n := len(b.edges); n > 0 && n < len(b.triangles) {
		m.Notes = append(m.Notes, text.Counted(n, "edges")+" beside the triangles: passed over")
	} else if n > 0 {
		text.Refuse("save the triangles and the edges in two files", "%s: %d triangles and %d edges: a mesh is either a surface or a curve", file,
			len(b.triangles), len(b.edges))
	}
	m.dropNowhere()
	try.Do(try.Name(m.wellFormed(), "%s", file))
	if len(m.Vertices[0]) == 3 && len(b.triangles) == 0 && !slices.ContainsFunc(m.Vertices, func(x []float64) bool { return x[2] != 0 }) {
		m.Vertices = lists.Each(m.Vertices, func(x []float64) []float64 { return x[:2:2] })
	}
	return m
}

// dropNowhere leaves out vertices whose coordinates are no numbers, if no cell uses one.
func (m *Mesh) dropNowhere() {
	somewhere := func(v int) bool {
		return !slices.ContainsFunc(m.Vertices[v], func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
	}
	used := slices.ContainsFunc(m.Cells, func(c []int) bool {
		return slices.ContainsFunc(c, func(v int) bool { return v < 0 || v >= len(m.Vertices) || !somewhere(v) })
	})
	if used {
		return
	}
	if nowhere := m.keep(somewhere); nowhere > 0 {
		m.Notes = append(m.Notes, text.Counted(nowhere, "unused vertices")+" without coordinates: left out")
	}
}

// spatial returns rows of three coordinates, as the formats want them.
func spatial(x [][]float64) [][]float64 {
	return lists.Each(x, func(x []float64) []float64 { return append(slices.Clone(x), 0)[:3] })
}
