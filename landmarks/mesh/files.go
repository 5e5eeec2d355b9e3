package mesh

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"anatomy/landmarks/internal/replace"
)

// Encoding is how the numbers of a file are written.
type Encoding uint8

const (
	ASCII          Encoding = iota // decimal numbers that are read back to the last bit
	LittleEndian                   // PLY: float64 and int32
	BigEndian                      // PLY, VTK: float64 and int32
	Base64                         // VTP: each array in its place
	AppendedBase64                 // VTP: all arrays at the end of the file
	AppendedRaw                    // VTP: all arrays at the end of the file as they are, which is no more XML
	Zlib           Encoding = 0x80 // VTP: compressed; added to one of the three above
)

func (e Encoding) String() string {
	names := [...]string{"ASCII", "LittleEndian", "BigEndian", "Base64", "AppendedBase64", "AppendedRaw"}
	name := "unknown"
	if k := int(e &^ Zlib); k < len(names) {
		name = names[k]
	}
	if e&Zlib != 0 {
		name += "|Zlib"
	}
	return name
}

type fileFormat struct {
	extension string
	encodings []Encoding // the first is Write's
	read      func(r io.Reader, name string) (*Mesh, error)
	write     func(w io.Writer, m *Mesh, e Encoding) error
}

var fileFormats = []fileFormat{
	{".ply", []Encoding{LittleEndian, BigEndian, ASCII}, ReadPLY, WritePLY},
	{".obj", []Encoding{ASCII}, ReadOBJ, func(w io.Writer, m *Mesh, _ Encoding) error { return WriteOBJ(w, m) }},
	{".vtk", []Encoding{BigEndian, ASCII}, ReadVTK, WriteVTK},
	{".vtp", []Encoding{AppendedBase64 | Zlib, ASCII, Base64, Base64 | Zlib, AppendedBase64, AppendedRaw, AppendedRaw | Zlib}, ReadVTP, WriteVTP},
}

func formatOf(path string) (*fileFormat, error) {
	extension := strings.ToLower(filepath.Ext(path))
	for i := range fileFormats {
		if fileFormats[i].extension == extension {
			return &fileFormats[i], nil
		}
	}
	return nil, fmt.Errorf("%s: the extension %q names no format of meshes; there are .ply, .obj, .vtk and .vtp", path, extension)
}

// Read reads a mesh in the format that the extension names: .ply, .obj, .vtk (legacy PolyData), .vtp (XML PolyData).
// Polygons become fans of triangles, strips their triangles, polylines their edges; single points, normals, textures and
// other data are passed over. Curves whose z are all 0 come back in the plane. Degenerate cells and unused or duplicate
// vertices are read as they are: see Mesh.Validate and Mesh.Clean. Errors name the file, the line or byte, and the element.
func Read(path string) (*Mesh, error) {
	format, err := formatOf(path)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return format.read(f, path)
}

// Write writes a mesh in the format that the extension names, by default binary where the format allows: .ply
// (LittleEndian), .obj (ASCII), .vtk (BigEndian), .vtp (AppendedBase64|Zlib). Every coordinate is read back to the last
// bit. The file is written beside path and renamed, so that an error leaves an earlier file as it was.
func Write(path string, m *Mesh, encoding ...Encoding) error {
	format, err := formatOf(path)
	if err != nil {
		return err
	}
	e := format.encodings[0]
	if len(encoding) > 0 {
		e = encoding[0]
	}
	if len(encoding) > 1 || !slices.Contains(format.encodings, e) {
		return fmt.Errorf("%s: encodings %v, want one of %v", path, encoding, format.encodings)
	}
	return replace.File(path, func(w io.Writer) error { return format.write(w, m, e) })
}

const (
	maxElements = 1 << 27 // vertices or numbers that a file may announce
	maxLine     = 64 << 20
	maxWord     = 256
)

// input reads a file and knows where it is.
type input struct {
	r    *bufio.Reader
	file string
	line int   // of the last line or word, from 1
	at   int64 // bytes read
	text bool  // whether errors name the line or the byte
}

func newInput(r io.Reader, file string) *input {
	return &input{r: bufio.NewReaderSize(r, 64<<10), file: file, text: true}
}

func (in *input) errorf(format string, args ...any) error {
	if in.text {
		return fmt.Errorf("%s:%d: %s", in.file, max(in.line, 1), fmt.Sprintf(format, args...))
	}
	return fmt.Errorf("%s: byte %d: %s", in.file, in.at, fmt.Sprintf(format, args...))
}

// broken says why a read failed: what was to be read there.
func (in *input) broken(err error, what string, args ...any) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return in.errorf("the file ends where %s belongs", fmt.Sprintf(what, args...))
	}
	return in.errorf("%v", err)
}

// readLine returns the next line without its end (LF, CRLF); io.EOF after the last.
func (in *input) readLine() (string, error) {
	var line []byte
	for {
		part, err := in.r.ReadSlice('\n')
		in.at += int64(len(part))
		line = append(line, part...)
		if len(line) > maxLine {
			in.line++
			return "", fmt.Errorf("the line is longer than %d bytes", maxLine)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if err != nil && (err != io.EOF || len(line) == 0) {
			return "", err
		}
		in.line++
		return strings.TrimRight(string(line), "\r\n"), nil
	}
}

// word returns the next text between white space; io.EOF after the last.
func (in *input) word() (string, error) {
	var word []byte
	in.line = max(in.line, 1)
	for {
		c, err := in.r.ReadByte()
		if err != nil {
			if err == io.EOF && len(word) > 0 {
				return string(word), nil
			}
			return "", err
		}
		in.at++
		switch c {
		case ' ', '\t', '\r', '\n':
			if len(word) > 0 {
				in.r.UnreadByte()
				in.at--
				return string(word), nil
			}
			if c == '\n' {
				in.line++
			}
			continue
		}
		if word = append(word, c); len(word) > maxWord {
			return "", fmt.Errorf("%s is no number", clip(string(word)))
		}
	}
}

func (in *input) bytes(b []byte) error {
	n, err := io.ReadFull(in.r, b)
	in.at += int64(n)
	return err
}

func parseFloat(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%s is not a number", clip(text))
	}
	return v, nil
}

func parseInt(text string) (int, error) {
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s is not a whole number", clip(text))
	}
	return int(v), nil
}

// parseCount reads how many things a header announces.
func parseCount(what, text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) || err == nil && n > maxElements:
		return 0, fmt.Errorf("%s %s: more than the %d that a file may hold", clip(text), what, maxElements)
	case err != nil:
		return 0, fmt.Errorf("%s: %s is not a count", what, clip(text))
	}
	return int(n), nil
}

func formatFloat(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// clip quotes text for a message, at most forty bytes of it.
func clip(text string) string {
	if len(text) > 40 {
		return strconv.Quote(text[:40]) + "…"
	}
	return strconv.Quote(text)
}

// builder collects what a file holds and makes it a mesh.
type builder struct {
	vertices  [][]float64
	edges     [][]int
	triangles [][]int
}

// fan adds a polygon; one of two vertices is an edge, one of less nothing.
func (b *builder) fan(polygon []int) {
	if len(polygon) == 2 {
		b.line(polygon)
	}
	for k := 2; k < len(polygon); k++ {
		b.triangles = append(b.triangles, []int{polygon[0], polygon[k-1], polygon[k]})
	}
}

// strip adds a strip of triangles, which alternate in direction.
func (b *builder) strip(s []int) {
	for k := 2; k < len(s); k++ {
		if k%2 == 0 {
			b.triangles = append(b.triangles, []int{s[k-2], s[k-1], s[k]})
		} else {
			b.triangles = append(b.triangles, []int{s[k-1], s[k-2], s[k]})
		}
	}
}

func (b *builder) line(polyline []int) {
	for k := 1; k < len(polyline); k++ {
		b.edges = append(b.edges, []int{polyline[k-1], polyline[k]})
	}
}

func (b *builder) mesh(file string) (*Mesh, error) {
	m := &Mesh{b.vertices, b.triangles}
	if len(b.triangles) == 0 {
		m.Cells = b.edges
	} else if len(b.edges) > 0 {
		return nil, fmt.Errorf("%s: %d triangles and %d edges: a mesh is either a surface or a curve", file, len(b.triangles), len(b.edges))
	}
	if err := m.wellFormed(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(m.Vertices[0]) == 3 && len(b.triangles) == 0 {
		flat := !slices.ContainsFunc(m.Vertices, func(x []float64) bool { return x[2] != 0 })
		if flat {
			for i, x := range m.Vertices {
				m.Vertices[i] = x[:2:2]
			}
		}
	}
	return m, nil
}

// inSpace returns x with three coordinates, as the formats want them.
func inSpace(x []float64) [3]float64 {
	var y [3]float64
	copy(y[:], x)
	return y
}
