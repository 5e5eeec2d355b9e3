package mesh_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anatomy/geom/geomtest/expect"
	"anatomy/landmarks/surfaces/mesh"
)

// awkward has coordinates of many sizes and signs, which only exact writing keeps.
func awkward(m *mesh.Mesh) *mesh.Mesh {
	rng := rand.New(rand.NewPCG(1, 2))
	return m.Map(func(x []float64) []float64 {
		for a := range x {
			x[a] += rng.NormFloat64() * math.Pow(10, float64(rng.IntN(40)-20))
		}
		return x
	})
}

var samples = map[string]*mesh.Mesh{
	"surface": awkward(mesh.Icosphere(1)),
	"curve":   awkward(mesh.Curve([][]float64{{0, 0}, {1, 0}, {1, 1}, {0, 1}}, true)),
	"knot":    awkward(mesh.Curve([][]float64{{0, 0, 1}, {1, 0, 2}, {1, 1, 3}}, false)),
}

var written = []string{".ply", ".obj", ".off", ".vtk", ".vtp"}

func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	for _, extension := range written {
		for name, m := range samples {
			path := filepath.Join(dir, name+extension)
			if err := mesh.Write(path, m); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(m, expect.Must(mesh.Read(path))); diff != "" {
				t.Errorf("%s: %s", path, diff)
			}
		}
	}
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		if strings.HasSuffix(f.Name(), ".tmp") {
			t.Errorf("%s was left behind", f.Name())
		}
	}
}

func TestFailedWriteLeavesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.ply")
	if err := mesh.Write(path, samples["knot"]); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(path)
	if err := mesh.Write(path, &mesh.Mesh{Vertices: [][]float64{{math.NaN(), 0}}, Cells: [][]int{{0, 0}}}); err == nil {
		t.Error("a mesh with NaN was written")
	}
	after, _ := os.ReadFile(path)
	if !bytes.Equal(before, after) {
		t.Error("the earlier file changed")
	}
	for name, want := range map[string]string{"x.xyz": "there are .ply", "x.stl": "would lose digits", "x.gii": "would lose digits"} {
		expect.Refused(t, mesh.Write(filepath.Join(t.TempDir(), name), samples["knot"]), want)
	}
}

// le and be are numbers one after another in binary.
func le(values ...any) string { return pack(binary.LittleEndian, values) }
func be(values ...any) string { return pack(binary.BigEndian, values) }

func pack(order binary.ByteOrder, values []any) string {
	var b bytes.Buffer
	for _, v := range values {
		if err := binary.Write(&b, order, v); err != nil {
			panic(err)
		}
	}
	return b.String()
}

func squeeze(s string) string {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	z.Write([]byte(s))
	z.Close()
	return b.String()
}

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// Files as other programs write them: float32, other counts, polygons, strips, more data than wanted.
var foreign = map[string]string{
	"quad.ply": "ply\r\nformat ascii 1.0\r\ncomment made by hand\r\nobj_info none\r\nelement vertex 4\r\nproperty float x\r\nproperty float y\r\nproperty float z\r\nproperty uchar red\r\n" +
		"element face 1\r\nproperty list uchar int vertex_index\r\nproperty list uchar float uv\r\nelement other 1\r\nproperty int a\r\nend_header\r\n" +
		"0 0 0 9\r\n1 0 0 9\r\n1 1 0 9\r\n\r\n0 1 0 9\r\n4 0 1 2 3 2 0.5 0.5\r\n7\r\n",
	"quad-binary.ply": "ply\nformat binary_big_endian 1.0\nelement vertex 4\nproperty short q\nproperty float x\nproperty float y\nproperty float z\nelement face 1\n" +
		"property list uint uint vertex_indices\nend_header\n" +
		be(int16(1), []float32{0, 0, 0}, int16(1), []float32{1, 0, 0}, int16(1), []float32{1, 1, 0}, int16(1), []float32{0, 1, 0}, uint32(4), []uint32{0, 1, 2, 3}),
	"quad.obj":    "mtllib x.mtl\no quad\nv 0 0 0\nv 1 0 0 1\nv 1 1 0 0.5 0.5 0.5\nvt 0 0\nvn 0 0 1\nv 0 1 0 # the last\nusemtl m\ns off\nf 1/1/1 2//1 \\\n-2/1 -1\n",
	"normals.obj": "# exported from C:\\\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvn 0 0 1\nf 1//1 2//1 3//1 4//1\n",
	"quad.stl":    "solid a quad\r\nfacet normal 0 0 1\r\n outer loop\r\n  vertex 0 0 0\r\n  VERTEX 1.0 0e0 -0\r\n  vertex 1 1 0\r\n endloop\r\nendfacet\r\nendsolid a quad\r\n\r\n" + "solid\nfacet normal 0 0 0\nouter loop\nvertex 0 0 0\nvertex 1 1 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid\n",
	"quad-binary.stl": fmt.Sprintf("%-80s", "solid and yet binary") + le(uint32(2)) +
		le([]float32{0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 1, 0}, uint16(7)) + le([]float32{0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 1, 0}, uint16(0)),
	"quad.off":          "OFF\n# made by hand\n4 1 4\n\n0 0 0\n1 0 0\n1 1 0 # a corner\n0 1 0\n4 0 1 2 3 255 0 0\n",
	"quad-coloured.off": "COFF 4 1 0\n0 0 0 1 0 0 1\n1 0 0 1 0 0 1\n1 1 0 1 0 0 1\n0 1 0 1 0 0 1\n4 0 1 2 3\n",
	"quad.gii":          gifti("ASCII", "0 0 0 1 0 0\n1 1 0 0 1 0", "0 1 2 0 2 3"),
	"quad-base64.gii":   gifti("Base64Binary", b64(le([]float32{0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0})), b64(le([]int32{0, 1, 2, 0, 2, 3}))),
	"quad-zlib.gii":     gifti("GZipBase64Binary", b64(squeeze(le([]float32{0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0}))), b64(squeeze(le([]int32{0, 1, 2, 0, 2, 3})))),
	"quad.vtk": "# vtk DataFile Version 2.0\ntitle\nASCII\nDATASET POLYDATA\nPOINTS 4 float\n0 0 0 1 0 0\n1 1 0\n0 1 0\nMETADATA\nINFORMATION 0\n\nVERTICES 1 2\n1 0\nPOLYGONS 1 5\n4 0 1 2 3\n" +
		"POINT_DATA 4\nSCALARS a float\nLOOKUP_TABLE default\n1 2 3 4\n",
	"quad-binary.vtk": "# vtk DataFile Version 4.2\ntitle\nBINARY\nDATASET POLYDATA\nFIELD FieldData 1\nTime 1 1 double\n" + be(1.5) + "\nPOINTS 4 float\n" +
		be([]float32{0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0}) + "\nPOLYGONS 1 5\n" + be([]int32{4, 0, 1, 2, 3}) + "\nCELL_DATA 1\n",
	"quad-5.vtk": "# vtk DataFile Version 5.1\ntitle\nBINARY\nDATASET POLYDATA\nPOINTS 4 float\n" + be([]float32{0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0}) +
		"\nPOLYGONS 2 4\nOFFSETS vtktypeint64\n" + be([]int64{0, 4}) + "\nCONNECTIVITY vtktypeint64\n" + be([]int64{0, 1, 2, 3}) + "\n",
	"quad-5-ascii.vtk": "# vtk DataFile Version 5.1\nvtk output\nASCII\nDATASET POLYDATA\nPOINTS 4 double\n0 0 0 1 0 0 1 1 0 \n0 1 0 \nMETADATA\nINFORMATION 1\nNAME L2_NORM_RANGE LOCATION vtkDataArray\nDATA 2 0 1.4 \n\n" +
		"POLYGONS 2 4\nOFFSETS vtktypeint64\n0 4 \nCONNECTIVITY vtktypeint64\n0 1 2 3 \n\nCELL_DATA 1\nFIELD FieldData 1\nlabel 1 1 int\n7\n",
	"strip.vtk": "# vtk DataFile Version 3.0\ntitle\nASCII\nDATASET POLYDATA\nPOINTS 4 int\n0 0 0  1 0 0  0 1 0  1 1 0\nTRIANGLE_STRIPS 1 5\n4 0 1 2 3\n",
	"two-pieces.vtp": `<?xml version="1.0"?><VTKFile type="PolyData" version="0.1" byte_order="BigEndian"><PolyData>
<Piece NumberOfPoints="3" NumberOfPolys="1"><PointData><DataArray type="Float32" Name="a" format="ascii">1 2 3</DataArray></PointData>
<Points><DataArray type="Float32" NumberOfComponents="3" format="binary">` + b64(be(uint32(36))+be([]float32{0, 0, 0, 1, 0, 0, 1, 1, 0})) + `</DataArray></Points>
<Verts><DataArray type="Int32" Name="connectivity" format="ascii"></DataArray><DataArray type="Int32" Name="offsets" format="ascii"></DataArray></Verts>
<Polys><DataArray type="Int32" Name="connectivity" format="ascii">0 1 2</DataArray><DataArray type="Int32" Name="offsets" format="ascii">3</DataArray></Polys></Piece>
<Piece NumberOfPoints="0"></Piece>
<Piece NumberOfPoints="3" NumberOfPolys="1">
<Points><DataArray type="Float32" NumberOfComponents="3" format="binary">
  ` + b64(be(uint32(36))) + "\n" + b64(be([]float32{0, 0, 0, 1, 1, 0, 0, 1, 0})) + `
</DataArray></Points>
<Polys><DataArray type="Int32" Name="connectivity" format="ascii">0 1 2</DataArray><DataArray type="Int32" Name="offsets" format="ascii">3</DataArray></Polys></Piece>
</PolyData></VTKFile>`,
}

// gifti is a file of four points and two triangles, with what else FreeSurfer writes.
func gifti(encoding, points, triangles string) string {
	return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE GIFTI SYSTEM "http://www.nitrc.org/frs/download.php/115/gifti.dtd">
<GIFTI Version="1.0" NumberOfDataArrays="3"><MetaData><MD><Name><![CDATA[UserName]]></Name><Value><![CDATA[nobody]]></Value></MD></MetaData><LabelTable/>
<DataArray Intent="NIFTI_INTENT_POINTSET" DataType="NIFTI_TYPE_FLOAT32" ArrayIndexingOrder="RowMajorOrder" Dimensionality="2" Dim0="4" Dim1="3" Encoding="` + encoding + `" Endian="LittleEndian" ExternalFileName="" ExternalFileOffset="">
<CoordinateSystemTransformMatrix><DataSpace><![CDATA[NIFTI_XFORM_UNKNOWN]]></DataSpace><MatrixData>1 0 0 9 0 1 0 9 0 0 1 9 0 0 0 1</MatrixData></CoordinateSystemTransformMatrix>
<Data>` + points + `</Data></DataArray>
<DataArray Intent="NIFTI_INTENT_SHAPE" DataType="NIFTI_TYPE_FLOAT32" Dimensionality="1" Dim0="4" Encoding="ASCII"><Data>1 2 3 4</Data></DataArray>
<DataArray Intent="NIFTI_INTENT_TRIANGLE" DataType="NIFTI_TYPE_INT32" ArrayIndexingOrder="RowMajorOrder" Dimensionality="2" Dim0="2" Dim1="3" Encoding="` + encoding + `" Endian="LittleEndian">
<Data>` + triangles + `</Data></DataArray></GIFTI>`
}

func TestForeignFiles(t *testing.T) {
	square := [][]float64{{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}}
	quad := &mesh.Mesh{Vertices: square, Cells: [][]int{{0, 1, 2}, {0, 2, 3}}}
	for name, contents := range foreign {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(contents), 0o666); err != nil {
			t.Fatal(err)
		}
		got, err := mesh.Read(path)
		if err != nil {
			t.Error(err)
			continue
		}
		want := quad
		switch name {
		case "strip.vtk":
			want = &mesh.Mesh{Vertices: [][]float64{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 0}}, Cells: [][]int{{0, 1, 2}, {2, 1, 3}}}
		case "two-pieces.vtp":
			if done, err := got.Clean(); err != nil || done.MergedVertices != 2 {
				t.Errorf("%s: %v, %v", name, done, err)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Compressed arrays of several blocks, the last a shorter one.
func TestManyBlocks(t *testing.T) {
	data := le([]float64{0, 0, 0, 1, 0, 0, 1, 1, 0})
	parts := []string{squeeze(data[:32]), squeeze(data[32:64]), squeeze(data[64:])}
	head := le([]uint32{3, 32, 8, uint32(len(parts[0])), uint32(len(parts[1])), uint32(len(parts[2]))})
	text := `<VTKFile type="PolyData" compressor="vtkZLibDataCompressor"><PolyData><Piece NumberOfPoints="3"><Points><DataArray type="Float64" NumberOfComponents="3" format="binary">` +
		b64(head) + b64(strings.Join(parts, "")) + `</DataArray></Points><Polys><DataArray type="UInt8" Name="connectivity" format="ascii">0 1 2</DataArray>` +
		`<DataArray type="UInt8" Name="offsets" format="ascii">3</DataArray></Polys></Piece></PolyData></VTKFile>`
	m, err := mesh.ReadVTP(strings.NewReader(text), "blocks.vtp")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]float64{{0, 0, 0}, {1, 0, 0}, {1, 1, 0}}, m.Vertices); diff != "" {
		t.Error(diff)
	}
}

func TestBadFiles(t *testing.T) {
	const ply = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n"
	const vtk = "# vtk DataFile Version 3.0\nt\nASCII\nDATASET POLYDATA\n"
	const vtp = `<VTKFile type="PolyData"><PolyData><Piece NumberOfPoints="1"><Points><DataArray type="Float64" NumberOfComponents="3" `
	for _, c := range []struct{ name, contents, want string }{
		{"a.ply", "plx\n", "a.ply:1: not a PLY file"},
		{"a.ply", "ply\nformat ascii 1.0\nelement vertex 99999999999\n", "a.ply:3: \"99999999999\" vertex elements: more than"},
		{"a.ply", ply + "0 0 0\n0 x 0\n", `a.ply:11: vertex 1: y: "x" is not a number`},
		{"a.ply", ply + "0 0 0\n0 nan 0\n1 1 1\n3 0 1 2\n", "a.ply: coordinate 1 of vertex 1 is NaN"},
		{"a.ply", ply + "0 0 0\n", "a.ply:10: the file ends where vertex 1 of 3 belongs"},
		{"a.ply", ply + "0 0 0\n1 0 0\n0 1 0\n3 0 1 7\n", "a.ply: cell 0 [0 1 7] points outside the 3 vertices"},
		{"a.ply", ply + "0 0 0\n1 0 0\n0 1 0\n9 0 1 7\n", "a.ply:13: face 0: list vertex_indices of 9 values in a line of 3"},
		{"a.ply", ply + "0 0 0\n1 0 0\n0 1 0\n2 0 1\n", "a.ply:13: face 0 has 2 vertices"},
		{"a.ply", "ply\nformat binary_little_endian 1.0\nelement vertex 5000000\nproperty double x\nproperty double y\nend_header\n" + le(1.0, 2.0, 3.0), "a.ply: byte 130: the file ends where y of vertex 1 of 5000000 belongs"},
		{"a.ply", "ply\nformat ascii 1.0\nelement vertex 5000000\nend_header\n", "a.ply:4: element \"vertex\" has no properties"},
		{"a.obj", "v 0 0\n", "a.obj:1: vertex 0 has 2 coordinates, want 3"},
		{"a.obj", "v 0 0 0\nf 0 1 2\n", "a.obj:2: \"f 0 1 2\": there is no vertex 0"},
		{"a.obj", "v 0 0 0\nf -2 1 1\n", "a.obj:2: \"f -2 1 1\": there is no vertex -2"},
		{"a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nl 1 2\n", "a.obj: 1 triangles and 1 edges"},
		{"a.obj", "solid\n", "a.obj:1: \"solid\" is no line"},
		{"a.obj", "", "a.obj: the mesh is empty: no vertices"},
		{"a.obj", "v 0 0 0\n", "a.obj: the mesh is empty: 1 vertices, but no edges or triangles"},
		{"a.vtk", "ply\n", "a.vtk:1: not a legacy VTK file"},
		{"a.vtk", "# vtk DataFile Version 3.0\nt\nASCII\nDATASET UNSTRUCTURED_GRID\n", "a.vtk:4: DATASET \"UNSTRUCTURED_GRID\", want POLYDATA"},
		{"a.vtk", vtk + "POINTS 2 float\n0 0 0\n1 0 z\n", `a.vtk:7: number 5 of POINTS: "z" is not a number`},
		{"a.vtk", vtk + "POINTS 1 float\n0 0 0\nPOLYGONS 1 4\n4 0 0 0\n", "a.vtk:8: cell 0 of 1 of POLYGONS does not fit into its 4 numbers"},
		{"a.vtk", "# vtk DataFile Version 3.0\nt\nBINARY\nDATASET POLYDATA\nPOINTS 5000000 double\n12345678", "number 1 of 15000000 of POINTS belongs"},
		{"a.vtp", "<VTKFile", "a.vtp: byte 8: XML syntax error"},
		{"a.vtp", `<VTKFile type="ImageData"/>`, "a.vtp: VTKFile type \"ImageData\", want PolyData"},
		{"a.vtp", `<VTKFile type="PolyData" compressor="vtkLZ4DataCompressor"/>`, "only vtkZLibDataCompressor is read"},
		{"a.vtp", vtp + `format="binary">AAAA!AAA</DataArray></Points></Piece></PolyData></VTKFile>`, `piece 0: Points: the number of bytes or blocks: "!AAA" is not base64`},
		{"a.vtp", vtp + `format="binary">` + b64(le(uint32(1<<30))) + `</DataArray></Points></Piece></PolyData></VTKFile>`, "the number of bytes or blocks is 1.073741824e+09, more than a file may hold"},
		{"a.vtp", vtp + `format="binary">` + b64(le(uint32(1<<20))) + `</DataArray></Points></Piece></PolyData></VTKFile>`, "the array has 0 of 1048576 bytes"},
		{"a.vtp", vtp + `format="appended" offset="4"/></Points></Piece></PolyData><AppendedData encoding="raw">_ab</AppendedData></VTKFile>`, `offset "4", but 2 bytes are appended`},
		{"a.vtp", vtp + `format="ascii">1 2</DataArray></Points></Piece></PolyData></VTKFile>`, "2 numbers are not three for each point"},
		{"a.xyz", "", `the extension ".xyz" names no format`},
		{"a.stl", "", "a.stl: byte 0: the file ends where the number of triangles of a binary STL file belongs"},
		{"a.stl", "solid\nfacet normal 0 0 1\nouter loop\nvertex 0 0\n", `a.stl:4: "vertex 0 0" does not belong here: facet 0`},
		{"a.stl", "solid\nfacet normal 0 0 1\nouter loop\nvertex 0 0 x\n", `a.stl:4: facet 0, vertex 0: "x" is not a number`},
		{"a.stl", "solid\nfacet normal 0 0 1\nouter loop\nvertex 0 0 1\nendloop\n", `a.stl:5: "endloop" does not belong here`},
		{"a.stl", "solid\nfacet normal 0 0 1\n", "a.stl:2: the file ends where endsolid belongs"},
		{"a.stl", strings.Repeat("\x00", 80) + le(uint32(3)) + strings.Repeat("\x00", 60), "a.stl: byte 144: the file ends where triangle 1 of 3 belongs"},
		{"a.stl", strings.Repeat("\x00", 80) + le(uint32(1)) + strings.Repeat("\x00", 100), "50 bytes follow the last of 1 triangles"},
		{"a.stl", strings.Repeat("\x00", 80) + le(uint32(1<<31)), "\"2147483648\" triangles: more than"},
		{"a.stl", "solid\nendsolid\n", "a.stl: the mesh is empty"},
		{"a.off", "", "the file ends where OFF belongs"},
		{"a.off", "4OFF\n", "only ASCII files of vertices in space are read"},
		{"a.off", "OFF BINARY\n", "only ASCII files of vertices in space are read"},
		{"a.off", "OFX\n", `a.off:1: not an OFF file: "OFX"`},
		{"a.off", "OFF\n1 1 0\n0 0\n", "a.off:3: vertex 0 has 2 coordinates, want 3"},
		{"a.off", "OFF\n1 1 0\n0 0 0\n3 0 0\n", `a.off:4: face 0: "3" corners in a line of 2 numbers`},
		{"a.off", "OFF\n1 1 0\n0 0 0\n3 0 0 1\n", `a.off:4: face 0: there is no vertex "1"; they are 0 to 0`},
		{"a.off", "OFF\n2 1 0\n0 0 0\n", "a.off:3: the file ends where vertex 1 of 2 belongs"},
		{"a.gii", "<GIFTI/>", "no NIFTI_INTENT_POINTSET"},
		{"a.gii", gifti("ExternalFileBinary", "", ""), `array 0 (NIFTI_INTENT_POINTSET): the encoding "ExternalFileBinary"`},
		{"a.gii", gifti("ASCII", "1 2 3", ""), "3 of 12 numbers"},
		{"a.gii", gifti("Base64Binary", "AAAA", ""), "the array has 3 of 48 bytes"},
		{"a.gii", gifti("GZipBase64Binary", "AAAA", ""), "zlib"},
		{"a.gii", strings.ReplaceAll(foreign["quad.gii"], `Dim0="4"`, `Dim0="10000000"`), "at least 30000000 numbers, and 16777216 are the most"},
		{"a.gii", strings.ReplaceAll(foreign["quad.gii"], "0 1 2 0 2 3", "0 1 2 0 2 7"), "points outside the 4 vertices"},
	} {
		path := filepath.Join(t.TempDir(), c.name)
		if err := os.WriteFile(path, []byte(c.contents), 0o666); err != nil {
			t.Fatal(err)
		}
		expect.Refused(t, expect.Error(mesh.Read(path)), c.want)
	}
}

// fuzz feeds a reader: whatever it accepts is a mesh that can be written and read back.
func fuzz(f *testing.F, extension string, read func(data []byte) (*mesh.Mesh, error), write func(*bytes.Buffer, *mesh.Mesh) error) {
	again := read
	if write == nil {
		again = func(d []byte) (*mesh.Mesh, error) { return mesh.ReadVTP(bytes.NewReader(d), "x.vtp") }
		write = func(b *bytes.Buffer, m *mesh.Mesh) error { return mesh.WriteVTP(b, m) }
	}
	for name, contents := range foreign {
		if strings.HasSuffix(name, extension) {
			f.Add([]byte(contents))
		}
	}
	dir := f.TempDir()
	for name, m := range samples {
		if !slices.Contains(written, extension) {
			break
		}
		path := filepath.Join(dir, name+extension)
		if err := mesh.Write(path, m); err != nil {
			f.Fatal(err)
		}
		data, _ := os.ReadFile(path)
		f.Add(data)
		f.Add(data[:len(data)*2/3])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := read(data)
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := write(&b, m); err != nil {
			t.Fatal(err)
		}
		back, err := again(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(m, back); diff != "" {
			t.Error(diff)
		}
	})
}

func FuzzPLY(f *testing.F) {
	fuzz(f, ".ply", func(d []byte) (*mesh.Mesh, error) { return mesh.ReadPLY(bytes.NewReader(d), "x.ply") },
		func(b *bytes.Buffer, m *mesh.Mesh) error { return mesh.WritePLY(b, m) })
}

func FuzzOBJ(f *testing.F) {
	fuzz(f, ".obj", func(d []byte) (*mesh.Mesh, error) { return mesh.ReadOBJ(bytes.NewReader(d), "x.obj") },
		func(b *bytes.Buffer, m *mesh.Mesh) error { return mesh.WriteOBJ(b, m) })
}

func FuzzOFF(f *testing.F) {
	fuzz(f, ".off", func(d []byte) (*mesh.Mesh, error) { return mesh.ReadOFF(bytes.NewReader(d), "x.off") },
		func(b *bytes.Buffer, m *mesh.Mesh) error { return mesh.WriteOFF(b, m) })
}

func FuzzSTL(f *testing.F) {
	fuzz(f, ".stl", func(d []byte) (*mesh.Mesh, error) { return mesh.ReadSTL(bytes.NewReader(d), "x.stl") }, nil)
}

func FuzzGIfTI(f *testing.F) {
	fuzz(f, ".gii", func(d []byte) (*mesh.Mesh, error) { return mesh.ReadGIfTI(bytes.NewReader(d), "x.gii") }, nil)
}

func FuzzVTK(f *testing.F) {
	fuzz(f, ".vtk", func(d []byte) (*mesh.Mesh, error) { return mesh.ReadVTK(bytes.NewReader(d), "x.vtk") },
		func(b *bytes.Buffer, m *mesh.Mesh) error { return mesh.WriteVTK(b, m) })
}

func FuzzVTP(f *testing.F) {
	fuzz(f, ".vtp", func(d []byte) (*mesh.Mesh, error) { return mesh.ReadVTP(bytes.NewReader(d), "x.vtp") },
		func(b *bytes.Buffer, m *mesh.Mesh) error {
			return mesh.WriteVTP(b, m)
		})
}

// What surrounds a mesh is passed over, with a note.
func TestReadAround(t *testing.T) {
	tetrahedron := "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
	ply := "ply\nformat ascii 1.0\nelement vertex 5\nproperty float x\nproperty float y\nproperty float z\nelement face 4\nproperty list uchar int vertex_indices\nend_header\n" +
		"nan nan nan\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 1 3 2\n3 1 2 4\n3 1 4 3\n3 2 3 4\n"
	vtk := func(field string) string {
		return "# vtk DataFile Version 3.0\nmesh\nASCII\nDATASET POLYDATA\nFIELD FieldData 2\n" + field + "age 1 1 int\n7\nPOINTS 4 float\n0 0 0 1 0 0 0 1 0 0 0 1\nPOLYGONS 4 16\n3 0 2 1\n3 0 1 3\n3 0 3 2\n3 1 2 3\n"
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte(tetrahedron))
	z.Close()
	stl := strings.Repeat("\x00", 80) + le(uint32(1)) + strings.Repeat("\x00", 12) + le(float32(0)) + le(float32(0)) + le(float32(0)) + le(float32(1)) + le(float32(0)) + le(float32(0)) +
		le(float32(0)) + le(float32(1)) + le(float32(0)) + "\x00\x00"
	for _, c := range []struct {
		name, text, note string
		cells            int
	}{
		{"loose.obj", tetrahedron + "l 1 2\n", "1 edge beside the triangles: passed over", 4},
		{"looser.obj", tetrahedron + "l 1 2\nl 2 3 4\n", "3 edges beside the triangles: passed over", 4},
		{"unused.ply", ply, "1 unused vertex without coordinates: left out", 4},
		{"infinite.obj", "v 1e999 0 0\n" + strings.NewReplacer("f 1 3 2", "f 2 4 3", "f 1 2 4", "f 2 3 5", "f 1 4 3", "f 2 5 4", "f 2 3 4", "f 3 4 5").Replace(tetrahedron), "1 unused vertex without", 4},
		{"string.vtk", vtk("name 1 1 string\nskull 7 of 9\n"), "", 4},
		{"strings.vtk", vtk("name 2 2 string\na\n\nb c\nd\n"), "", 4},
		{"behind.stl", stl + "made by hand", "12 bytes behind the last triangle: passed over", 1},
		{"packed.obj.gz", packed.String(), "", 4},
	} {
		path := filepath.Join(t.TempDir(), c.name)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := mesh.Read(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if notes := strings.Join(m.Notes, "; "); len(m.Cells) != c.cells || !strings.HasPrefix(notes, c.note) || c.note == "" && notes != "" {
			t.Errorf("%s: %d cells, notes %q", c.name, len(m.Cells), notes)
		}
	}
	for text, want := range map[string]string{
		"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nl 1 2\n":     "1 triangles and 1 edges",
		"v nan 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\n": "coordinate 0 of vertex 0 is NaN",
	} {
		expect.Refused(t, expect.Error(mesh.ReadOBJ(strings.NewReader(text), "a.obj")), want)
	}
}
