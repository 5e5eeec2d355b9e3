package mesh

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"

	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/landmarks/internal/text"
)

// readVTK reads a legacy VTK file of PolyData (versions 1 to 5.1), ASCII or BINARY: its points with the polygons, triangle
// strips or lines.
func readVTK(in *text.Reader, b *builder) {
	head, err := in.Line()
	in.RefuseIf(err != nil || !strings.HasPrefix(strings.ToLower(head), "# vtk datafile version"), again,
		"not a legacy VTK file: it begins with %s", text.Clip(head))
	modern := strings.HasPrefix(strings.TrimSpace(head[len("# vtk DataFile Version"):]), "5")
	_, err = in.Line()
	in.Need(err, "the title")
	in.Number++ // words follow, from the third line
	v := &vtkReader{Reader: in, modern: modern}
	switch kind := v.word("ASCII or BINARY"); strings.ToUpper(kind) {
	case "ASCII":
	case "BINARY":
		v.binary = true
	default:
		in.Refuse(again, "%s where ASCII or BINARY belongs", text.Clip(kind))
	}
	for {
		word, err := in.Word()
		if err == io.EOF {
			return
		}
		in.Need(err, "a section")
		switch section := strings.ToUpper(word); section {
		case "DATASET":
			set, err := in.Word()
			in.RefuseIf(err != nil || strings.ToUpper(set) != "POLYDATA", "save the surface as PolyData", "DATASET %s, want POLYDATA",
				text.Clip(set))
		case "POINTS":
			v.points(b)
		case "VERTICES", "POLYGONS", "LINES", "TRIANGLE_STRIPS":
			v.cells(section, b)
		case "METADATA": // lasts to a blank line
			first := true // which is the rest of this one
			for line := range in.Lines() {
				if !first && strings.TrimSpace(line) == "" {
					break
				}
				first = false
			}
		case "FIELD":
			v.field()
		case "POINT_DATA", "CELL_DATA": // the geometry is over
			return
		default:
			in.Refuse(again, "%s is no section of PolyData", text.Clip(word))
		}
	}
}

type vtkReader struct {
	*text.Reader
	binary, modern bool
}

// word reads a word.
func (v *vtkReader) word(what string) string {
	word, err := v.Word()
	v.Need(err, "%s", what)
	return word
}

// count reads a number of things.
func (v *vtkReader) count(what string) int { return v.Count(what, v.word("the number of "+what)) }

func (v *vtkReader) kind() (t numberType) {
	word := v.word("a type")
	v.here(try.Run(func() { t = typeCalled(word, "vtktype") }))
	return t
}

// numbers reads n values and hands them out one by one.
func (v *vtkReader) numbers(what string, n int, t numberType, each func(x float64)) {
	var buffer [8]byte
	if v.binary {
		// The data begin after the end of the line.
		for {
			err := v.Bytes(buffer[:1])
			if err != nil && n == 0 {
				return
			}
			v.Need(err, "%s", what)
			c := buffer[0]
			if c == '\n' {
				v.Number++
				break
			}
			v.RefuseIf(c != ' ' && c != '\t' && c != '\r', again, "%q after the types of %s", c, what)
		}
		v.Binary = true
		defer func() { v.Binary = false }()
	}
	for i := range n {
		if v.binary {
			if err := v.Bytes(buffer[:t.size]); err != nil {
				v.Need(err, "number %d of %d of %s", i, n, what)
			}
			each(t.value(binary.BigEndian, buffer[:t.size]))
			continue
		}
		word, err := v.Word()
		if err != nil {
			v.Need(err, "number %d of %d of %s", i, n, what)
		}
		x, err := text.Number(word)
		if err != nil {
			v.Refuse(number, "number %d of %s: %w", i, what, err)
		}
		each(x)
	}
}

func (v *vtkReader) points(b *builder) {
	n := v.count("POINTS")
	b.vertices = slices.Collect(slices.Chunk(v.array("POINTS", 3*n, v.kind()), 3))
}

// cells reads "n size" with size numbers, each cell led by its length, or since version 5 "offsets size" with two arrays.
func (v *vtkReader) cells(section string, b *builder) {
	n := v.count(section)
	size := v.count("numbers in " + section)
	if v.modern {
		var arrays [2][]int
		for k, head := range []string{"OFFSETS", "CONNECTIVITY"} {
			word, err := v.Word()
			v.RefuseIf(err != nil || strings.ToUpper(word) != head, again, "%s: %s where %s belongs", section, text.Clip(word), head)
			arrays[k] = v.vertexNumbers(section+" "+head, []int{n, size}[k], v.kind())
		}
		if n == 0 {
			return
		}
		v.RefuseIf(arrays[0][0] != 0, again, "%s: the first offset is %d, not 0", section, arrays[0][0])
		v.here(try.Run(func() { splitCells(section, arrays[0][1:], arrays[1], b) }))
		return
	}
	flat := v.vertexNumbers(section, size, numberTypes["int"])
	for i := range n {
		if len(flat) == 0 || flat[0] < 0 || flat[0] >= len(flat) {
			v.Refuse(again, "cell %d of %d of %s does not fit into its %d numbers", i, n, section, size)
		}
		addCell(section, flat[1:1+flat[0]], b)
		flat = flat[1+flat[0]:]
	}
	v.RefuseIf(len(flat) > 0, again, "%d numbers after the last cell of %s", len(flat), section)
}

// array reads n numbers.
func (v *vtkReader) array(what string, n int, t numberType) (out []float64) {
	v.Spend(input.Numbers, n)
	v.numbers(what, n, t, func(x float64) { out = append(out, x) })
	return out
}

// vertexNumbers reads n numbers of vertices or cells.
func (v *vtkReader) vertexNumbers(what string, n int, t numberType) (out []int) {
	x := v.array(what, n, t)
	v.here(try.Name(try.Run(func() { out = vertexNumbers(x) }), "%s", what))
	return out
}

// here ends the read by an error at the current line or byte.
func (v *vtkReader) here(err error) {
	if err != nil {
		try.Do(v.Errorf("%w", err))
	}
}

// splitCells cuts the vertex numbers at the ends of the cells.
func splitCells(section string, ends, connectivity []int, b *builder) {
	from := 0
	for i, to := range ends {
		if to < from || to > len(connectivity) {
			text.Refuse(again, "%s: cell %d ends at %d of %d vertex numbers and begins at %d", section, i, to, len(connectivity), from)
		}
		addCell(section, connectivity[from:to], b)
		from = to
	}
	text.RefuseIf(from != len(connectivity), again, "%s: %d vertex numbers after the last cell", section, len(connectivity)-from)
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
func (v *vtkReader) field() {
	v.word("the name of a field")
	for range v.count("arrays of a field") {
		name := v.word("the name of an array")
		components := v.count("components")
		tuples := v.count("tuples")
		v.RefuseIf(components > 0 && tuples > input.Numbers.Most()/components, again, "array %s of %d×%d numbers", text.Clip(name), tuples,
			components)
		if head := bytes.TrimLeft(v.Peek(9), " \t"); strings.EqualFold(string(head[:min(len(head), 6)]), "string") {
			v.word("a type")
			v.strings(components * tuples)
			continue
		}
		v.numbers("array "+text.Clip(name), components*tuples, v.kind(), func(float64) {})
	}
}

// strings passes over n texts: a line each, or a length in one, two, four or eight bytes and as many bytes.
func (v *vtkReader) strings(n int) {
	_, err := v.Line()
	v.Need(err, "texts")
	for i := range n {
		if !v.binary {
			_, err := v.Line()
			v.Need(err, "text %d of %d", i, n)
			continue
		}
		var head [8]byte
		v.Need(v.Bytes(head[:1]), "text %d of %d", i, n)
		length, bytes := uint64(head[0]&0x3f), [4]int{8, 4, 2, 1}[head[0]>>6]
		v.Need(v.Bytes(head[1:bytes]), "text %d of %d", i, n)
		for _, b := range head[1:bytes] {
			length = length<<8 | uint64(b)
		}
		for ; length > 0; length-- {
			v.Need(v.Bytes(head[:1]), "text %d of %d", i, n)
		}
	}
}

// writeVTK writes a legacy VTK file, version 3.0, BINARY; the vertices of a curve in the plane get z = 0.
func writeVTK(out *bufio.Writer, m *Mesh) {
	fmt.Fprintf(out, "# vtk DataFile Version 3.0\nmesh\nBINARY\nDATASET POLYDATA\nPOINTS %d double\n", len(m.Vertices))
	for _, x := range spatial(m.Vertices) {
		out.Write(appendFloats(binary.BigEndian, nil, x))
	}
	fmt.Fprintf(out, "\n%s %d %d\n", map[int]string{2: "LINES", 3: "POLYGONS"}[m.order()], len(m.Cells), len(m.Cells)*(1+m.order()))
	for _, c := range m.Cells {
		out.Write(appendInts(binary.BigEndian, nil, append([]int{len(c)}, c...)))
	}
	fmt.Fprintln(out)
}
