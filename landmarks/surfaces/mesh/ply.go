package mesh

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"anatomy/internal/input"
	"anatomy/landmarks/internal/text"
)

type plyProperty struct {
	name  string
	list  bool
	count numberType // of a list
	value numberType
}

type plyElement struct {
	name       string
	count      int
	properties []plyProperty
}

// plyColumns are the properties of an element that are read. The third coordinate may be missing.
var plyColumns = map[string][]string{"vertex": {"x", "y", "z"}, "face": {"vertex_indices"}, "edge": {"vertex1", "vertex2"}}

// readPLY reads the vertices and the faces or edges of a PLY file (Turk 1994), ascii or binary of either byte order.
func readPLY(in *text.Reader, b *builder) {
	order, elements := plyHeader(in)
	in.Binary = order != nil
	for i := range elements {
		plyRead(in, order, &elements[i], b)
	}
}

// plyHeader returns the byte order, nil for ascii, and the elements.
func plyHeader(in *text.Reader) (order binary.ByteOrder, elements []plyElement) {
	line, err := in.Line()
	in.RefuseIf(err != nil || strings.TrimSpace(line) != "ply", again, "not a PLY file: it begins with %s", text.Clip(line))
	format := ""
	for line := range in.Lines() {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		switch words[0] {
		case "comment", "obj_info":
		case "format":
			in.RefuseIf(len(words) != 3 || words[2] != "1.0", again, "%s: want format ascii, binary_little_endian or binary_big_endian 1.0",
				text.Clip(line))
			switch format = words[1]; format {
			case "ascii":
			case "binary_little_endian":
				order = binary.LittleEndian
			case "binary_big_endian":
				order = binary.BigEndian
			default:
				in.Refuse(again, "format %s is unknown", text.Clip(format))
			}
		case "element":
			in.RefuseIf(len(words) != 3, again, "%s: want element, name and count", text.Clip(line))
			count := in.Count(words[1]+" elements", words[2])
			in.RefuseIf(len(elements) == 100, again, "more than 100 elements")
			elements = append(elements, plyElement{name: words[1], count: count})
		case "property":
			in.RefuseIf(len(elements) == 0, again, "a property before the first element")
			p := plyProperty{name: words[len(words)-1], list: len(words) == 5 && words[1] == "list"}
			if p.name == "vertex_index" {
				p.name = "vertex_indices"
			}
			known := len(words) == 3 || p.list
			if known && p.list {
				p.count, known = numberTypes[words[2]]
			}
			if known {
				p.value, known = numberTypes[words[len(words)-2]]
			}
			in.RefuseIf(!known, again, "%s: want property, type and name, or property list, two types and name", text.Clip(line))
			in.Spend(input.Cells, 16)
			e := &elements[len(elements)-1]
			e.properties = append(e.properties, p)
		case "end_header":
			in.RefuseIf(format == "", again, "the header has no format")
			return order, elements
		default:
			in.Refuse(again, "%s is no line of a PLY header", text.Clip(line))
		}
	}
	in.Need(io.EOF, "end_header")
	return nil, nil
}

// plyRead reads all of one element; one that is neither vertex, face nor edge is passed over.
func plyRead(in *text.Reader, order binary.ByteOrder, e *plyElement, b *builder) {
	in.RefuseIf(len(e.properties) == 0 && e.count > 0, again, "element %s has no properties", text.Clip(e.name))
	in.RefuseIf(e.name == "tristrips" && e.count > 0, "save the mesh with faces", "triangle strips in PLY files are not read")
	var columns []int // those that are kept
	isFace := e.name == "face"
	kind := map[bool]string{false: "number", true: "list of numbers"}[isFace]
	for _, name := range plyColumns[e.name] {
		k := slices.IndexFunc(e.properties, func(p plyProperty) bool { return p.name == name })
		if k < 0 && name == "z" {
			break
		}
		in.RefuseIf(k < 0 || e.properties[k].list != isFace, again, "the element %s has no %s %s", e.name, kind, name)
		columns = append(columns, k)
	}
	for i := range e.count {
		values := e.read(in, order, columns, i)
		if e.name == "vertex" {
			x := make([]float64, len(columns))
			for a, k := range columns {
				x[a] = values[k][0]
			}
			b.vertex(x)
			continue
		}
		var cell []int
		for _, k := range columns {
			for _, v := range values[k] {
				if !isCount(v, math.MaxInt32) {
					in.Refuse(again, "%s %d: vertex %g is not a number of a vertex", e.name, i, v)
				}
				cell = append(cell, int(v))
			}
		}
		switch {
		case isFace && len(cell) < 3:
			in.Refuse("remove it, or "+again, "face %d has %d vertices", i, len(cell))
		case isFace:
			b.fan(cell)
		case e.name == "edge":
			b.line(cell)
		}
	}
}

// read returns the values of the properties of element i that are columns. In ascii each element is a line.
func (e *plyElement) read(in *text.Reader, order binary.ByteOrder, columns []int, i int) [][]float64 {
	var words []string
	for order == nil && len(words) == 0 {
		line, err := in.Line()
		in.Need(err, "%s %d of %d", e.name, i, e.count)
		words = strings.Fields(line)
	}
	var buffer [8]byte
	take := func(t numberType, p plyProperty) float64 {
		if order != nil {
			in.Need(in.Bytes(buffer[:t.size]), "%s of %s %d of %d", p.name, e.name, i, e.count)
			return t.value(order, buffer[:t.size])
		}
		if len(words) == 0 {
			in.Refuse(again, "%s %d: the line ends before %s", e.name, i, p.name)
		}
		v, err := text.Number(words[0])
		if err != nil {
			in.Refuse(number, "%s %d: %s: %w", e.name, i, p.name, err)
		}
		words = words[1:]
		return v
	}
	values := make([][]float64, len(e.properties))
	for k, p := range e.properties {
		n := 1
		if p.list {
			v := take(p.count, p)
			if most := float64(len(words)); order == nil && !isCount(v, most) {
				in.Refuse(again, "%s %d: list %s of %g values in a line of %d", e.name, i, p.name, v, len(words))
			} else if order != nil && !isCount(v, float64(input.Numbers.Most()/3)) {
				in.Refuse(again, "%s %d: list %s of %g values", e.name, i, p.name, v)
			}
			n = int(v)
		}
		keep := slices.Contains(columns, k)
		for range n {
			if v := take(p.value, p); keep {
				values[k] = append(values[k], v)
			}
		}
	}
	in.RefuseIf(len(words) > 0, again, "%s %d: %s after the last property", e.name, i, text.Clip(strings.Join(words, " ")))
	return values
}

// isCount says whether a number is a whole one from 0 to the most.
func isCount(v, most float64) bool { return v == math.Trunc(v) && v >= 0 && v <= most }

// WritePLY writes a PLY file of little-endian doubles, with faces or edges.
func WritePLY(w io.Writer, m *Mesh) error { return written(w, m, writePLY) }

func writePLY(out *bufio.Writer, m *Mesh) {
	fmt.Fprintf(out, "ply\nformat binary_little_endian 1.0\nelement vertex %d\n", len(m.Vertices))
	for a := range m.Vertices[0] {
		fmt.Fprintf(out, "property double %c\n", 'x'+a)
	}
	surface := m.order() == 3
	if surface {
		fmt.Fprintf(out, "element face %d\nproperty list uchar int vertex_indices\n", len(m.Cells))
	} else {
		fmt.Fprintf(out, "element edge %d\nproperty int vertex1\nproperty int vertex2\n", len(m.Cells))
	}
	fmt.Fprintln(out, "end_header")
	for _, x := range m.Vertices {
		out.Write(appendFloats(binary.LittleEndian, nil, x))
	}
	for _, c := range m.Cells {
		if surface {
			out.WriteByte(3)
		}
		out.Write(appendInts(binary.LittleEndian, nil, c))
	}
}
