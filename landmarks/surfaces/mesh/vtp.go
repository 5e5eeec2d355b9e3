package mesh

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/landmarks/internal/markup"
	"anatomy/landmarks/internal/text"
)

// vtpFile is what of a file applies to all its arrays.
type vtpFile struct {
	*numbers
	header     numberType // of the sizes of blocks
	compressed bool
	appended   []byte // after the _; nil where there is none
	raw        bool   // whether appended is not base64
}

// vtpArray is one DataArray: its attributes and, unless appended, its text.
type vtpArray struct {
	Type       string `xml:"type,attr"`
	Name       string `xml:"Name,attr"`
	Components string `xml:"NumberOfComponents,attr"`
	Format     string `xml:"format,attr"`
	Offset     string `xml:"offset,attr"`
	Text       string `xml:",chardata"`
}

type vtpCells struct {
	Arrays []vtpArray `xml:"DataArray"`
}

type vtpPiece struct {
	NumberOfPoints string `xml:",attr"`
	PointData      vtpCells
	Points         struct {
		Arrays []vtpArray `xml:"DataArray"`
	}
	Lines, Strips, Polys vtpCells
}

type vtpDocument struct {
	XMLName    xml.Name   `xml:"VTKFile"`
	Type       string     `xml:"type,attr"`
	ByteOrder  string     `xml:"byte_order,attr"`
	HeaderType string     `xml:"header_type,attr"`
	Compressor string     `xml:"compressor,attr"`
	Pieces     []vtpPiece `xml:"PolyData>Piece"`
}

// readVTP reads an XML VTK file of PolyData: ascii, inline base64, appended as base64 or raw, uncompressed or by
// vtkZLibDataCompressor, of either byte order. Several pieces become one mesh.
func readVTP(in *text.Reader, b *builder) { parseVTP(in, b, false) }

// parseVTP reads points and cells, and on request the data of points.
func parseVTP(in *text.Reader, b *builder, withFields bool) (fields []Field) {
	f, name := &vtpFile{numbers: &numbers{Reader: in}}, in.File
	all := f.whole()
	b.in = f
	// Raw appended data are no XML: the parser gets what stands before them.
	xmlPart := all
	if tag := bytes.LastIndex(all, []byte("</AppendedData>")); tag >= 0 {
		open := bytes.Index(all, []byte("<AppendedData"))
		text.RefuseIf(open < 0 || open > tag, again, "%s: byte %d: </AppendedData> without its beginning", name, tag)
		inside := all[open:tag]
		end := bytes.IndexByte(inside, '>')
		f.raw = bytes.Contains(inside[:end+1], []byte(`"raw"`)) || bytes.Contains(inside[:end+1], []byte(`'raw'`))
		underscore := bytes.IndexByte(inside[end+1:], '_')
		text.RefuseIf(underscore < 0, again, "%s: byte %d: the appended data do not begin with _", name, open)
		f.appended = inside[end+1+underscore+1:]
		xmlPart = append(append([]byte{}, all[:open]...), "</VTKFile>"...)
	} else if open := bytes.Index(all, []byte("<AppendedData")); open >= 0 {
		text.Refuse(again, "%s: the file ends within its appended data", name)
	}
	var doc vtpDocument
	try.Do(markup.Parse(xmlPart, name, &doc, in.Budget))
	text.RefuseIf(doc.Type != "PolyData", "save the surface as PolyData", "%s: VTKFile type %s, want PolyData", name, text.Clip(doc.Type))
	try.Do(try.Name(try.Run(func() { f.order = byteOrder("byte_order", doc.ByteOrder) }), "%s", name))
	f.header = numberTypes[map[string]string{"": "uint32", "UInt32": "uint32", "UInt64": "uint64"}[doc.HeaderType]]
	f.compressed = doc.Compressor != ""
	text.RefuseIf(f.header.size == 0, again, "%s: header_type %s is unknown", name, text.Clip(doc.HeaderType))
	text.RefuseIf(f.compressed && doc.Compressor != "vtkZLibDataCompressor", "save the file with it or uncompressed",
		"%s: compressor %s: only vtkZLibDataCompressor is read", name, text.Clip(doc.Compressor))
	for i := range doc.Pieces {
		err := try.Run(func() {
			before := len(b.vertices)
			f.piece(&doc.Pieces[i], b)
			if withFields && len(b.vertices) > before {
				f.fields(&doc.Pieces[i], before, len(b.vertices), &fields)
			}
		})
		try.Do(try.Name(err, "%s: piece %d", name, i))
	}
	return fields
}

// fields reads the data of a piece's points, which become vertices from before to after. Every piece with points has the same.
func (f *vtpFile) fields(p *vtpPiece, before, after int, fields *[]Field) {
	text.RefuseIf(before > 0 && len(p.PointData.Arrays) != len(*fields), again, "%d arrays of PointData, the pieces before have %d",
		len(p.PointData.Arrays), len(*fields))
	for k := range p.PointData.Arrays {
		a := &p.PointData.Arrays[k]
		width := 1
		if a.Components != "" {
			width, _ = text.Count("components", a.Components)
			text.RefuseIf(width < 1, again, "PointData %s: %s components", text.Clip(a.Name), text.Clip(a.Components))
		}
		x := f.array(a, "PointData "+text.Clip(a.Name))
		text.RefuseIf(len(x) != width*(after-before), again, "PointData %s: %d numbers for %d points of %d components", text.Clip(a.Name),
			len(x), after-before, width)
		if before == 0 {
			*fields = append(*fields, Field{Name: a.Name})
		}
		field := &(*fields)[k]
		text.RefuseIf(field.Name != a.Name || before > 0 && len(field.Values[0]) != width, again,
			"PointData %s is not that of the pieces before", text.Clip(a.Name))
		field.Values = slices.AppendSeq(field.Values, slices.Chunk(x, width))
	}
}

func (f *vtpFile) piece(p *vtpPiece, b *builder) {
	if len(p.Points.Arrays) == 0 {
		if n := strings.TrimSpace(p.NumberOfPoints); n == "" || n == "0" {
			return
		}
		text.Refuse(again, "no array in Points")
	}
	points := &p.Points.Arrays[0]
	text.RefuseIf(points.Components != "3", again, "Points of %s components, want 3", text.Clip(points.Components))
	x := f.array(points, "Points")
	text.RefuseIf(len(x)%3 != 0, again, "Points: %d numbers are not three for each point", len(x))
	if n := strings.TrimSpace(p.NumberOfPoints); n != "" {
		count := try.Get(text.Count("points", n))
		text.RefuseIf(count != len(x)/3, again, "Points: %d points, %d are announced", len(x)/3, count)
	}
	own := builder{in: f}
	for _, section := range []struct {
		name  string
		cells vtpCells
	}{{"LINES", p.Lines}, {"TRIANGLE_STRIPS", p.Strips}, {"POLYGONS", p.Polys}} {
		if len(section.cells.Arrays) == 0 {
			continue
		}
		arrays := map[string][]int{}
		for k := range section.cells.Arrays {
			a := &section.cells.Arrays[k]
			if a.Name != "connectivity" && a.Name != "offsets" {
				continue
			}
			what := section.name + ": " + a.Name
			x := f.array(a, what)
			try.Do(try.Name(try.Run(func() { arrays[a.Name] = vertexNumbers(x) }), "%s", what))
		}
		splitCells(section.name, arrays["offsets"], arrays["connectivity"], &own)
	}
	before := len(b.vertices)
	b.vertices = slices.AppendSeq(b.vertices, slices.Chunk(x, 3))
	for _, cells := range [][][]int{own.edges, own.triangles} {
		for _, c := range cells {
			for k := range c {
				c[k] += before
			}
		}
	}
	b.edges, b.triangles = append(b.edges, own.edges...), append(b.triangles, own.triangles...)
}

// array returns the numbers of a DataArray, which errors call what.
func (f *vtpFile) array(a *vtpArray, what string) (out []float64) {
	err := try.Run(func() { out = f.numbersOf(a) })
	if err != nil && a.Format == "appended" {
		what += ": appended at " + strings.TrimSpace(a.Offset)
	}
	try.Do(try.Name(err, "%s", what))
	return out
}

func (f *vtpFile) numbersOf(a *vtpArray) []float64 {
	t := typeCalled(a.Type, "")
	var r io.Reader
	switch a.Format {
	case "ascii":
		return f.words(a.Text, math.MaxInt)
	case "binary":
		r = &base64Reader{text: strings.NewReader(a.Text)}
	case "appended":
		offset, err := strconv.Atoi(strings.TrimSpace(a.Offset))
		text.RefuseIf(err != nil || offset < 0 || offset >= len(f.appended), again, "offset %s, but %d bytes are appended",
			text.Clip(a.Offset), len(f.appended))
		if r = bytes.NewReader(f.appended[offset:]); !f.raw {
			r = &base64Reader{text: bytes.NewReader(f.appended[offset:])}
		}
	default:
		text.Refuse(again, "format %s is unknown", text.Clip(a.Format))
	}
	blocks, length := f.blocks(r)
	text.RefuseIf(length%t.size != 0, again, "%d bytes are not a number of %s", length, a.Type)
	f.Spend(input.Numbers, length/t.size)
	if blocks != nil {
		r = unpacked(r, blocks)
	}
	return f.binary(r, length, t)
}

// blocks returns the length of an array in bytes, and its blocks if it is compressed. The bytes follow their count or, compressed, the number of
// blocks, their size, that of the last and the compressed size of each.
func (f *vtpFile) blocks(r io.Reader) (blocks []block, length int) {
	size := func(what string, args ...any) int {
		var b [8]byte
		_, err := io.ReadFull(r, b[:f.header.size])
		try.Do(ended(err, what, args...))
		v := f.header.value(f.order, b[:])
		text.RefuseIf(v > 8*float64(input.Numbers.Most()), again, "%s is %g, more than a file may hold", fmt.Sprintf(what, args...), v)
		return int(v)
	}
	n := size("the number of bytes or blocks")
	if !f.compressed || n == 0 {
		return nil, n
	}
	blockSize, lastSize := size("the size of a block"), size("the size of the last block")
	for i := range n {
		s := size("the size of compressed block %d of %d", i, n)
		plain := blockSize
		if i == n-1 && lastSize > 0 {
			plain = lastSize
		}
		blocks = append(blocks, block{s, plain})
		length += plain
		text.RefuseIf(length > 8*input.Numbers.Most(), again, "%d bytes are more than a file may hold", length)
	}
	return blocks, length
}

// block is the size of one compressed block, packed and plain.
type block struct{ packed, plain int }

// unpacked are the plain bytes of blocks, one after another.
func unpacked(r io.Reader, blocks []block) io.Reader {
	all := new(bytes.Buffer)
	for k, b := range blocks {
		packed := new(bytes.Buffer) // memory follows what is there, not what was announced
		got, err := io.CopyN(packed, r, int64(b.packed))
		try.Do(ended(err, "block %d has %d of %d bytes", k, got, b.packed))
		z, err := zlib.NewReader(packed)
		try.Do(try.Name(err, "block %d", k))
		n, err := io.CopyN(all, z, int64(b.plain))
		try.Do(ended(err, "block %d, unpacked, lacks %d bytes", k, int64(b.plain)-n))
	}
	return all
}

// writeVTP writes an XML VTK file of PolyData with compressed arrays behind it in base64. The vertices of a curve in the plane get z = 0. Fields
// become its PointData.
func writeVTP(out *bufio.Writer, m *Mesh, fields ...Field) {
	section := "Lines"
	if m.order() == 3 {
		section = "Polys"
	}
	writePolyData(out, m.Vertices, section, m.Cells, fields)
}

// writePolyData writes points with the cells of one section: Verts, Lines or Polys. It ends with an error if a field is not one of these points.
func writePolyData(out *bufio.Writer, points [][]float64, section string, cells [][]int, fields []Field) {
	for _, f := range fields {
		try.Do(f.check(len(points)))
	}
	var appended strings.Builder
	array := func(attributes string, data []byte) {
		fmt.Fprintf(out, "<DataArray %s format=\"appended\" offset=\"%d\"/>\n", attributes, appended.Len())
		var packed bytes.Buffer
		z := zlib.NewWriter(&packed)
		z.Write(data)
		try.Do(z.Close())
		var sizes []byte // of a single block
		for _, v := range []int{1, len(data), len(data), packed.Len()} {
			sizes = binary.LittleEndian.AppendUint64(sizes, uint64(v))
		}
		appended.WriteString(base64.StdEncoding.EncodeToString(sizes) + base64.StdEncoding.EncodeToString(packed.Bytes()))
	}
	floats := func(name string, rows [][]float64) {
		var escaped bytes.Buffer
		try.Do(xml.EscapeText(&escaped, []byte(name)))
		if len(rows[0]) == 2 { // a vector
			rows = spatial(rows)
		}
		array(fmt.Sprintf(`type="Float64" Name="%s" NumberOfComponents="%d"`, escaped.String(), len(rows[0])),
			appendFloats(binary.LittleEndian, nil, slices.Concat(rows...)))
	}
	fmt.Fprintf(out,
		"<?xml version=\"1.0\"?>\n<VTKFile type=\"PolyData\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\" compressor=\"vtkZLibDataCompressor\">\n<PolyData>\n<Piece NumberOfPoints=\"%d\"", len(points))
	for _, name := range []string{"Verts", "Lines", "Strips", "Polys"} {
		n := 0
		if name == section {
			n = len(cells)
		}
		fmt.Fprintf(out, " NumberOf%s=\"%d\"", name, n)
	}
	fmt.Fprintln(out, ">")
	if len(fields) > 0 {
		fmt.Fprintln(out, "<PointData>")
		for _, f := range fields {
			floats(f.Name, f.Values)
		}
		fmt.Fprintln(out, "</PointData>")
	}
	fmt.Fprintln(out, "<Points>")
	floats("Points", points)
	fmt.Fprintf(out, "</Points>\n<%s>\n", section)
	var connectivity, offsets []byte
	end := 0
	for _, c := range cells {
		for _, v := range c {
			connectivity = binary.LittleEndian.AppendUint64(connectivity, uint64(v))
		}
		end += len(c)
		offsets = binary.LittleEndian.AppendUint64(offsets, uint64(end))
	}
	array(`type="Int64" Name="connectivity"`, connectivity)
	array(`type="Int64" Name="offsets"`, offsets)
	fmt.Fprintf(out, "</%s>\n</Piece>\n</PolyData>\n<AppendedData encoding=\"base64\">\n_%s\n</AppendedData>\n</VTKFile>\n", section, appended.String())
}
