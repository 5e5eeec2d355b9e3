package mesh

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"

	"anatomy/landmarks/internal/text"
)

// vtkTypes are the element types of legacy VTK files.
var vtkTypes = map[string]numberType{
	"char": plyTypes["int8"], "unsigned_char": plyTypes["uint8"], "short": plyTypes["int16"], "unsigned_short": plyTypes["uint16"],
	"int": plyTypes["int32"], "unsigned_int": plyTypes["uint32"], "float": plyTypes["float32"], "double": plyTypes["float64"],
	"long": int64Type, "unsigned_long": uint64Type, "vtktypeint64": int64Type, "vtktypeuint64": uint64Type, "vtkidtype": plyTypes["int32"],
	"vtktypeint32": plyTypes["int32"], "vtktypeuint32": plyTypes["uint32"],
}

var (
	int64Type  = numberType{8, func(o binary.ByteOrder, b []byte) float64 { return float64(int64(o.Uint64(b))) }}
	uint64Type = numberType{8, func(o binary.ByteOrder, b []byte) float64 { return float64(o.Uint64(b)) }}
)

// ReadVTK reads a legacy VTK file of PolyData (versions 1 to 5.1), ASCII or BINARY: its points with the polygons, triangle
// strips or lines.
func ReadVTK(r io.Reader, name string) (*Mesh, error) {
	in := newReader(r, name)
	head, err := in.Line()
	if err != nil || !strings.HasPrefix(strings.ToLower(head), "# vtk datafile version") {
		return nil, in.Advise(again, "not a legacy VTK file: it begins with %s", text.Clip(head))
	}
	modern := strings.HasPrefix(strings.TrimSpace(head[len("# vtk DataFile Version"):]), "5")
	if _, err := in.Line(); err != nil {
		return nil, in.Broken(err, "the title")
	}
	in.Number++ // words follow, from the third line
	v := &vtkReader{Reader: in, modern: modern}
	kind, err := in.Word()
	if err != nil {
		return nil, in.Broken(err, "ASCII or BINARY")
	}
	switch strings.ToUpper(kind) {
	case "ASCII":
	case "BINARY":
		v.binary = true
	default:
		return nil, in.Advise(again, "%s where ASCII or BINARY belongs", text.Clip(kind))
	}
	var b builder
	for {
		word, err := in.Word()
		if err == io.EOF {
			return b.mesh(name)
		}
		if err != nil {
			return nil, in.Broken(err, "a section")
		}
		switch section := strings.ToUpper(word); section {
		case "DATASET":
			set, err := in.Word()
			if err != nil || strings.ToUpper(set) != "POLYDATA" {
				return nil, in.Advise("save the surface as PolyData", "DATASET %s, want POLYDATA", text.Clip(set))
			}
		case "POINTS":
			err = v.points(&b)
		case "VERTICES", "POLYGONS", "LINES", "TRIANGLE_STRIPS":
			err = v.cells(section, &b)
		case "METADATA": // lasts to a blank line
			_, err = in.Line()
			for line := "-"; strings.TrimSpace(line) != "" && err == nil; {
				line, err = in.Line()
			}
			if err == io.EOF {
				err = nil
			}
		case "FIELD":
			err = v.field()
		case "POINT_DATA", "CELL_DATA": // the geometry is over
			return b.mesh(name)
		default:
			err = in.Advise(again, "%s is no section of PolyData", text.Clip(word))
		}
		if err != nil {
			return nil, err
		}
	}
}

type vtkReader struct {
	*text.Reader
	binary, modern bool
}

// count reads a number of things.
func (v *vtkReader) count(what string) (int, error) {
	word, err := v.Word()
	if err != nil {
		return 0, v.Broken(err, "the number of %s", what)
	}
	n, err := text.Count(what, word)
	if err != nil {
		return 0, v.Errorf("%w", err)
	}
	return n, nil
}

func (v *vtkReader) kind() (numberType, error) {
	word, err := v.Word()
	if err != nil {
		return numberType{}, v.Broken(err, "a type")
	}
	t, ok := vtkTypes[strings.ToLower(word)]
	if !ok {
		return numberType{}, v.Advise(again, "the type %s is unknown", text.Clip(word))
	}
	return t, nil
}

// numbers reads n values and hands them out one by one.
func (v *vtkReader) numbers(what string, n int, t numberType, each func(i int, x float64)) error {
	var buffer [8]byte
	if v.binary {
		// The data begin after the end of the line.
		for {
			if err := v.Bytes(buffer[:1]); err != nil {
				if n == 0 {
					return nil
				}
				return v.Broken(err, "%s", what)
			}
			c := buffer[0]
			if c == '\n' {
				v.Number++
				break
			}
			if c != ' ' && c != '\t' && c != '\r' {
				return v.Advise(again, "%q after the types of %s", c, what)
			}
		}
		v.Binary = true
		defer func() { v.Binary = false }()
	}
	for i := range n {
		if v.binary {
			if err := v.Bytes(buffer[:t.size]); err != nil {
				return v.Broken(err, "number %d of %d of %s", i, n, what)
			}
			each(i, t.value(binary.BigEndian, buffer[:t.size]))
			continue
		}
		word, err := v.Word()
		if err != nil {
			return v.Broken(err, "number %d of %d of %s", i, n, what)
		}
		x, err := text.Number(word)
		if err != nil {
			return v.Advise(number, "number %d of %s: %w", i, what, err)
		}
		each(i, x)
	}
	return nil
}

func (v *vtkReader) points(b *builder) error {
	n, err := v.count("POINTS")
	if err != nil {
		return err
	}
	t, err := v.kind()
	if err != nil {
		return err
	}
	var flat []float64
	if err := v.numbers("POINTS", 3*n, t, func(_ int, x float64) { flat = append(flat, x) }); err != nil {
		return err
	}
	b.vertices = nil
	for i := range n {
		b.vertices = append(b.vertices, flat[3*i:3*i+3:3*i+3])
	}
	return nil
}

// cells reads "n size" with size numbers, each cell led by its length, or since version 5 "offsets size" with two arrays.
func (v *vtkReader) cells(section string, b *builder) error {
	n, err := v.count(section)
	if err != nil {
		return err
	}
	size, err := v.count("numbers in " + section)
	if err != nil {
		return err
	}
	if v.modern {
		var arrays [2][]int
		for k, head := range []string{"OFFSETS", "CONNECTIVITY"} {
			word, err := v.Word()
			if err != nil || strings.ToUpper(word) != head {
				return v.Advise(again, "%s: %s where %s belongs", section, text.Clip(word), head)
			}
			t, err := v.kind()
			if err != nil {
				return err
			}
			if arrays[k], err = v.ints(section+" "+head, []int{n, size}[k], t); err != nil {
				return err
			}
		}
		if n == 0 {
			return nil
		}
		if arrays[0][0] != 0 {
			return v.Advise(again, "%s: the first offset is %d, not 0", section, arrays[0][0])
		}
		if err := splitCells(section, arrays[0][1:], arrays[1], b); err != nil {
			return v.Errorf("%w", err)
		}
		return nil
	}
	flat, err := v.ints(section, size, plyTypes["int32"])
	if err != nil {
		return err
	}
	for i := range n {
		if len(flat) == 0 || flat[0] < 0 || flat[0] >= len(flat) {
			return v.Advise(again, "cell %d of %d of %s does not fit into its %d numbers", i, n, section, size)
		}
		addCell(section, flat[1:1+flat[0]], b)
		flat = flat[1+flat[0]:]
	}
	if len(flat) > 0 {
		return v.Advise(again, "%d numbers after the last cell of %s", len(flat), section)
	}
	return nil
}

func (v *vtkReader) ints(what string, n int, t numberType) ([]int, error) {
	var out []int
	bad := -1
	err := v.numbers(what, n, t, func(i int, x float64) {
		if bad < 0 && (x != math.Trunc(x) || x < 0 || x > 4*text.Most) {
			bad = i
		}
		out = append(out, int(x))
	})
	if err == nil && bad >= 0 {
		err = v.Advise(again, "number %d of %s is no number of a vertex or cell", bad, what)
	}
	return out, err
}

// splitCells cuts the vertex numbers at the ends of the cells.
func splitCells(section string, ends, connectivity []int, b *builder) error {
	from := 0
	for i, to := range ends {
		if to < from || to > len(connectivity) {
			return text.Advise(again, "%s: cell %d ends at %d of %d vertex numbers and begins at %d", section, i, to, len(connectivity), from)
		}
		addCell(section, connectivity[from:to], b)
		from = to
	}
	if from != len(connectivity) {
		return text.Advise(again, "%s: %d vertex numbers after the last cell", section, len(connectivity)-from)
	}
	return nil
}

func addCell(section string, cell []int, b *builder) {
	switch section {
	case "LINES":
		b.line(cell)
	case "POLYGONS":
		b.fan(cell)
	case "TRIANGLE_STRIPS":
		b.strip(cell)
	}
}

// field passes over "FIELD name n" and its n arrays.
func (v *vtkReader) field() error {
	if _, err := v.Word(); err != nil {
		return v.Broken(err, "the name of a field")
	}
	n, err := v.count("arrays of a field")
	if err != nil {
		return err
	}
	for range n {
		name, err := v.Word()
		if err != nil {
			return v.Broken(err, "the name of an array")
		}
		components, err := v.count("components")
		if err != nil {
			return err
		}
		tuples, err := v.count("tuples")
		if err != nil {
			return err
		}
		if components > 0 && tuples > text.Most/components {
			return v.Advise(again, "array %s of %d×%d numbers", text.Clip(name), tuples, components)
		}
		t, err := v.kind()
		if err != nil {
			return err
		}
		if err := v.numbers("array "+text.Clip(name), components*tuples, t, func(int, float64) {}); err != nil {
			return err
		}
	}
	return nil
}

// WriteVTK writes a legacy VTK file, version 3.0, as ASCII or BigEndian (BINARY); the vertices of a curve in the plane get z = 0.
func WriteVTK(w io.Writer, m *Mesh, e Encoding) error {
	if err := m.wellFormed(); err != nil {
		return err
	}
	kind := "ASCII"
	switch e {
	case ASCII:
	case BigEndian:
		kind = "BINARY"
	default:
		return text.Advise("choose another encoding", "a legacy VTK file has no encoding %v", e)
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "# vtk DataFile Version 3.0\nmesh\n%s\nDATASET POLYDATA\nPOINTS %d double\n", kind, len(m.Vertices))
	for _, x := range m.Vertices {
		y := inSpace(x)
		if e == ASCII {
			writeFloats(out, y[:])
		} else {
			out.Write(appendFloats(binary.BigEndian, nil, y[:]))
		}
	}
	section := map[int]string{2: "LINES", 3: "POLYGONS"}[m.order()]
	fmt.Fprintf(out, "\n%s %d %d\n", section, len(m.Cells), len(m.Cells)*(1+m.order()))
	for _, c := range m.Cells {
		row := append([]int{len(c)}, c...)
		if e == ASCII {
			writeInts(out, row)
		} else {
			out.Write(appendInts(binary.BigEndian, nil, row))
		}
	}
	fmt.Fprintln(out)
	return out.Flush()
}
