package mesh_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"io"
	"strings"
	"testing"

	"anatomy/geom/geomtest/expect"
	"anatomy/landmarks/internal/bomb"
	"anatomy/landmarks/surfaces/mesh"
)

// zeros are so many megabytes of zeros as squeeze makes them, of which it is given two: the second may be said again.
func zeros(megabytes int) string {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	var ends []int
	for range 2 {
		z.Write(make([]byte, 1<<20))
		z.Flush()
		ends = append(ends, b.Len())
	}
	one, more := b.String()[:ends[0]], b.String()[ends[0]:]
	adler := binary.BigEndian.AppendUint32(nil, uint32(megabytes<<20%65521<<16|1))
	return one + strings.Repeat(more, megabytes-1) + "\x03\x00" + string(adler) // an empty last block, and the checksum
}

func TestZeros(t *testing.T) {
	z := expect.Must(zlib.NewReader(strings.NewReader(zeros(3))))
	if got := expect.Must(io.ReadAll(z)); string(got) != strings.Repeat("\x00", 3<<20) {
		t.Errorf("%d bytes", len(got))
	}
}

// zlibVTP is a mesh of one piece whose connectivity is n numbers 0 in blocks that share their packed bytes, of an appended array
// for each of the copies.
func zlibVTP(n, copies int) []byte {
	const blockSize = 32 << 20
	block := zeros(blockSize >> 20)
	blocks := n / blockSize
	header := []uint64{uint64(blocks), blockSize, 0}
	for range blocks {
		header = append(header, uint64(len(block)))
	}
	var b bytes.Buffer
	b.WriteString(`<VTKFile type="PolyData" byte_order="LittleEndian" header_type="UInt64" compressor="vtkZLibDataCompressor"><PolyData><Piece NumberOfPoints="1">` +
		`<Points><DataArray type="Float64" NumberOfComponents="3" format="ascii">0 0 0</DataArray></Points><Polys>`)
	for range copies {
		b.WriteString(`<DataArray type="UInt8" Name="connectivity" format="appended" offset="0"/>`)
	}
	b.WriteString(`</Polys></Piece></PolyData><AppendedData encoding="raw">_` + le(header))
	for range blocks {
		b.WriteString(block)
	}
	b.WriteString("</AppendedData></VTKFile>")
	return b.Bytes()
}

// Files that would take many times their size are refused, in less than a gigabyte.
func TestBombs(t *testing.T) {
	ones := strings.Repeat("1 ", 1<<20)
	const ply = "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n0 0\n"
	for name, c := range map[string]struct {
		read func(io.Reader, string) (*mesh.Mesh, error)
		file io.Reader
		want string
	}{
		"three megabytes of VTP that are three gigabytes": {mesh.ReadVTP, bytes.NewReader(zlibVTP(3<<30, 1)), "167772160 bytes are more than a file may hold"},
		"a VTP whose arrays share their data":             {mesh.ReadVTP, bytes.NewReader(zlibVTP(32<<20, 100)), "numbers, and 16777216 are the most"},
		"a GIfTI of three megabytes that is gigabytes":    {mesh.ReadGIfTI, strings.NewReader(strings.ReplaceAll(gifti("GZipBase64Binary", b64(zeros(400)), ""), `Dim0="4"`, `Dim0="15000000"`)), "at least 45000000 numbers, and 16777216 are the most"},
		"an STL line of 300 MB":                           {mesh.ReadSTL, io.MultiReader(strings.NewReader("solid\n"), bomb.Repeat(ones, 150)), "longer than 16 MiB"},
		"an OFF face of 300 MB":                           {mesh.ReadOFF, io.MultiReader(strings.NewReader("OFF\n1 1 0\n0 0 0\n"), bomb.Repeat(ones, 150)), "longer than 16 MiB"},
		"an OBJ face of 300 MB":                           {mesh.ReadOBJ, io.MultiReader(strings.NewReader("f "), bomb.Repeat(ones, 150)), "longer than 16 MiB"},
		"an OBJ line that goes on over millions of lines": {mesh.ReadOBJ, bomb.Repeat(strings.Repeat(" \\\n", 1<<20), 30), "longer than 16 MiB"},
		"a PLY face of 300 MB":                            {mesh.ReadPLY, io.MultiReader(strings.NewReader(ply), bomb.Repeat(ones, 150)), "longer than 16 MiB"},
		"the first line of a VTK file that has 300 MB":    {mesh.ReadVTK, bomb.Repeat(ones, 150), "not a legacy VTK file"},
		"a word of a VTK file that has 300 MB":            {mesh.ReadVTK, io.MultiReader(strings.NewReader("# vtk DataFile Version 3.0\nt\n"), bomb.Repeat(strings.Repeat("1", 1<<20), 300)), "longer than any number"},
		"a VTP of elements in elements":                   {mesh.ReadVTP, io.MultiReader(strings.NewReader("<VTKFile>"), bomb.Repeat(strings.Repeat("<a>", 1<<18), 40)), "nest more than 100 deep"},
		"a GIfTI of elements in elements":                 {mesh.ReadGIfTI, io.MultiReader(strings.NewReader("<GIFTI>"), bomb.Repeat(strings.Repeat("<a>", 1<<18), 40)), "nest more than 100 deep"},
	} {
		bomb.Refused(t, name, c.read, c.file, c.want)
	}
}
