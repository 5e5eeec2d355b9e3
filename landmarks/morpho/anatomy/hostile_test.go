//go:build linux

package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"anatomy/geom/geomtest/expect"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/surfaces/mesh"
)

var (
	long    = flag.Bool("hostile", false, "also the hostile files that take seconds each, as make soak does")
	measure = flag.Bool("table", false, "print the memory and the time of each")
)

// asProgram is set where the test is to be the program.
const asProgram = "ANATOMY_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// What one hostile input may take.
const (
	mostMemory = 1 << 30
	mostTime   = 20 * time.Second
)

// hostile is a command about hostile files.
type hostile struct {
	name string
	long bool                    // it takes seconds
	make func(folder string)     // writes its files
	args func(f string) []string // in that folder
	want string                  // of the message; "" where it is answered
}

// inspects is the command for one file.
func inspects(name string) func(string) []string {
	return func(f string) []string { return []string{"inspect", filepath.Join(f, name)} }
}

func converts(name string) func(string) []string {
	return func(f string) []string {
		return []string{"convert", filepath.Join(f, name), filepath.Join(f, "out.ply")}
	}
}

// file writes a file of parts: a text, n times another, and a text.
func file(name, head, body string, n int, tail string) func(string) {
	return func(folder string) {
		f := expect.Must(os.Create(filepath.Join(folder, name)))
		defer f.Close()
		block := body
		for len(block) < 1<<16 && len(block)*2 <= len(body)*n && body != "" {
			block += block
		}
		expect.Must(f.WriteString(head))
		for left := n * len(body); left > 0; left -= len(block) {
			expect.Must(f.WriteString(block[:min(left, len(block))]))
		}
		expect.Must(f.WriteString(tail))
	}
}

// sparse writes a head and makes the file as long as that, without room on the disk.
func sparse(name, head string, size int64) func(string) {
	return func(folder string) {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(head), 0o600); err != nil {
			panic(err)
		}
		if err := os.Truncate(path, size); err != nil {
			panic(err)
		}
	}
}

// numbered writes a line for each number.
func numbered(name, head, format string, n int) func(string) {
	return func(folder string) {
		var b bytes.Buffer
		b.WriteString(head)
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		if err := os.WriteFile(filepath.Join(folder, name), b.Bytes(), 0o600); err != nil {
			panic(err)
		}
	}
}

// zipped writes an archive with a file of n times a text.
func zipped(name, inner, head, body string, n int) func(string) {
	return func(folder string) {
		f := expect.Must(os.Create(filepath.Join(folder, name)))
		defer f.Close()
		z := zip.NewWriter(f)
		w := expect.Must(z.Create(inner))
		expect.Must(io.WriteString(w, head))
		block := strings.Repeat(body, max(1, 1<<20/len(body)))
		for left := n * len(body); left > 0; left -= len(block) {
			expect.Must(io.WriteString(w, block[:min(left, len(block))]))
		}
		if err := z.Close(); err != nil {
			panic(err)
		}
	}
}

// npy is the head of an array of float64.
func npy(shape, kind string) string {
	head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", kind, shape)
	head += strings.Repeat(" ", 117-len(head)) + "\n"
	return "\x93NUMPY\x01\x00" + string(binary.LittleEndian.AppendUint16(nil, uint16(len(head)))) + head
}

func fifo(name string) func(string) {
	return func(folder string) {
		if err := syscall.Mkfifo(filepath.Join(folder, name), 0o600); err != nil {
			panic(err)
		}
	}
}

// device is a link to a file that never ends.
func device(name string) func(string) {
	return func(folder string) {
		if err := os.Symlink("/dev/zero", filepath.Join(folder, name)); err != nil {
			panic(err)
		}
	}
}

func heads(folder string) {
	if err := morpho.Write(filepath.Join(folder, "heads.csv"), morpho.Plethodon()); err != nil {
		panic(err)
	}
}

// beside writes the salamander heads beside a hostile file.
func beside(other func(string)) func(string) {
	return func(folder string) { heads(folder); other(folder) }
}

// about is a command about the salamander heads with options; @ is the folder.
func about(command string, options ...string) func(string) []string {
	return func(f string) []string {
		args := []string{command, filepath.Join(f, "heads.csv")}
		for _, o := range options {
			args = append(args, strings.ReplaceAll(o, "@", f))
		}
		return args
	}
}

// columns is the head of a table with so many landmarks in the plane.
func columns(n int) string {
	var b strings.Builder
	b.WriteString("specimen")
	for l := range n {
		fmt.Fprintf(&b, ",x%d,y%d", l+1, l+1)
	}
	b.WriteString("\n")
	for s := range 3 {
		fmt.Fprintf(&b, "s%d", s)
		b.WriteString(strings.Repeat(",1,2", n) + "\n")
	}
	return b.String()
}

// covariates is a table of the salamander heads with so many columns more.
func covariates(n int) func(string) {
	return func(folder string) {
		var b strings.Builder
		b.WriteString("specimen")
		for c := range n {
			fmt.Fprintf(&b, ",c%d", c)
		}
		b.WriteString("\n")
		for i, name := range morpho.Plethodon().Names() {
			b.WriteString(name + strings.Repeat(fmt.Sprint(",", i), n) + "\n")
		}
		if err := os.WriteFile(filepath.Join(folder, "table.csv"), []byte(b.String()), 0o600); err != nil {
			panic(err)
		}
	}
}

const (
	vtp   = `<VTKFile type="PolyData"><PolyData><Piece NumberOfPoints="1"><Points><DataArray type="Float64" NumberOfComponents="3" format="ascii">`
	gii   = `<GIFTI><DataArray Intent="NIFTI_INTENT_POINTSET" DataType="NIFTI_TYPE_FLOAT32" ArrayIndexingOrder="RowMajorOrder" Dimensionality="2" Dim0="5000000" Dim1="3" Encoding="ASCII" Endian="LittleEndian"><Data>`
	ply   = "ply\nformat ascii 1.0\nelement vertex %d\nproperty float x\nproperty float y\nproperty float z\nelement face %d\nproperty list uchar int vertex_indices\nend_header\n"
	plyLE = "ply\nformat binary_little_endian 1.0\nelement vertex 3\nproperty uchar x\nproperty uchar y\nproperty uchar z\nelement face 1\nproperty list uint uchar vertex_indices\nend_header\n"
)

// anyShapes is a table of shapes of four landmarks that have nothing in common.
func anyShapes(n, dim int) func(string) {
	return func(folder string) {
		random := rand.New(rand.NewPCG(1, 2))
		var b bytes.Buffer
		b.WriteString("specimen,x1,y1,x2,y2,x3,y3,x4,y4")
		if dim == 3 {
			b.WriteString(",z1,z2,z3,z4")
		}
		for i := range n {
			fmt.Fprintf(&b, "\ns%d", i)
			for range 4 * dim {
				fmt.Fprintf(&b, ",%.3f", random.NormFloat64())
			}
		}
		b.WriteString("\n")
		if err := os.WriteFile(filepath.Join(folder, "x.csv"), b.Bytes(), 0o600); err != nil {
			panic(err)
		}
	}
}

func crate(folder string) string { return filepath.Join(folder, "report") }

func written(name, text string) func(string) {
	return func(folder string) {
		path := filepath.Join(crate(folder), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			panic(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			panic(err)
		}
	}
}

func repeats(f string) []string {
	return []string{"repeat", crate(f), "--out", filepath.Join(f, "again")}
}

func all(steps ...func(string)) func(string) {
	return func(folder string) {
		for _, s := range steps {
			s(folder)
		}
	}
}

func many(n int, format, sep string) string {
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(words, sep)
}

var hostiles = []hostile{
	// Files that are larger than they look.
	{"a zip of 1 GB of TPS", true, zipped("x.zip", "a.tps", "LM=100000000\n", "1 2\n", 1<<28), inspects("x.zip"), "are the most"},
	{"a zip of 1 GB of CSV", true, zipped("x.zip", "a.csv", "specimen,x,y\n", "a,1,2\n", 1<<28/6*4), inspects("x.zip"), "are the most"},
	{"a zip of 4 GB of zeros", true, zipped("x.zip", "a.csv", "", "\x00", 4<<30), inspects("x.zip"), "unpacked, it has at least 2147483647 bytes"},
	{"a zip of 250 MB of TPS", true, zipped("x.zip", "a.tps", "LM=60000000\n", "1 2\n", 250<<18), inspects("x.zip"), "more than the 16777216"},
	{"a zip of 200 MB of CSV", true, zipped("x.zip", "a.csv", "specimen,x,y\n", "a,1,2\n", 200<<20/6), inspects("x.zip"), "coordinates of landmarks"},
	{"a zip of a mesh", false, zipped("x.zip", "a.ply", fmt.Sprintf(ply, 1, 0), "1 2 3\n", 1), inspects("x.zip"), "no line above it names columns"},
	{"a zip in a zip", false, zipped("x.zip", "b.zip", "PK", "zz", 100), inspects("x.zip"), "x.zip"},
	{"a zip with 100,000 files", false, func(folder string) {
		f := expect.Must(os.Create(filepath.Join(folder, "x.zip")))
		defer f.Close()
		z := zip.NewWriter(f)
		for i := range 400_000 {
			expect.Must(z.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("%06d/", i)}))
		}
		z.Close()
	}, inspects("x.zip"), "the list of its files is longer"},
	{"a pipe called x.zip", false, fifo("x.zip"), inspects("x.zip"), "is a pipe: data are read from regular files"},
	{"a device called x.zip", false, device("x.zip"), inspects("x.zip"), "is a device"},
	{"a pipe of landmarks", false, fifo("x.tps"), inspects("x.tps"), "is a pipe"},
	{"a pipe in a folder", false, fifo("x.tps"), func(f string) []string { return []string{"inspect", f} }, "is a pipe"},
	{"a device of a mesh", false, device("x.ply"), converts("x.ply"), "is a device"},
	{"a sparse VTP of 8 GB", false, sparse("x.vtp", "<VTKFile>", 8<<30), converts("x.vtp"), "at least 8589934592 bytes"},
	{"a sparse GIfTI of 3 GB", false, sparse("x.gii", gii, 3<<30), converts("x.gii"), "are the most"},
	{"a sparse VTP of 250 MB", true, sparse("x.vtp", "<VTKFile>", 250<<20), converts("x.vtp"), "are the most"},
	{"an NPY of 1 GB", false, sparse("x.npy", npy("1, 67108864, 2", "<f8"), 1<<30+128), inspects("x.npy"), "are the most"},
	{"an NPY of 250 MB", true, sparse("x.npy", npy("1, 16000000, 2", "<f8"), 256000128), inspects("x.npy"), "coordinates"},
	{"an NPY of 64 MB that announces 2 GB", false, sparse("x.npy", npy("1, 134217728, 2", "<f8"), 64<<20), inspects("x.npy"), "more than the 16777216"},
	{"an NPY of 16 MB in a million specimens", true, sparse("x.npy", npy("1000000, 1, 2", "<f8"), 16000128), inspects("x.npy"), "cells"},
	{"an NPY of one specimen with 2 million landmarks", true, sparse("x.npy", npy("1, 2000000, 2", "<f8"), 32000128), inspects("x.npy"), "landmarks coincide"},
	// Text without end.
	{"200 MB of a TPS comment", true, file("x.tps", "LM=1\n1 2\nCOMMENT=", "a", 200<<20, "\n"), inspects("x.tps"), "longer than 16 MiB"},
	{"TPS comments of 200 MB", true, file("x.tps", "LM=1\n1 2\n", "COMMENT=a\n", 20<<20, "ID=a\n"), inspects("x.tps"), "landmarks coincide"},
	{"TPS records without landmarks", true, file("x.tps", "", "LM=0\n", 40<<20, ""), inspects("x.tps"), "cells or elements"},
	{"TPS that announces 2³⁰ points", false, file("x.tps", "LM=1073741824\n", "1 2\n", 9, ""), inspects("x.tps"), "more than the"},
	{"TPS of 16 million numbers", true, file("x.tps", "LM=8000000\n", "1 2\n", 8000000, "ID=a\n"), inspects("x.tps"), "coordinates of landmarks"},
	{"TPS of 4 million numbers", true, numbered("x.tps", "LM=2000000\n", "%d 2\n", 2000000), inspects("x.tps"), ""},
	{"TPS with a million curves", true, file("x.tps", "LM=0\nCURVES=1000000\n", "POINTS=1\n1 2\n", 1000000, "ID=a\n"), inspects("x.tps"), ""},
	{"a CSV of one million columns", false, numbered("x.csv", "specimen", ",x%d", 1000000), inspects("x.csv"), "100000 is the most"},
	{"a CSV of 99,000 columns", false, func(f string) { os.WriteFile(filepath.Join(f, "x.csv"), []byte(columns(49500)), 0o600) }, inspects("x.csv"), ""},
	{"a CSV of 90,000 columns of one title", false, file("x.csv", "specimen", ",x", 90000, "\n"), inspects("x.csv"), "both are"},
	{"a CSV of 90,000 covariates", false, numbered("x.csv", "specimen,x,y", ",c%d", 90000), inspects("x.csv"), "no rows"},
	{"a CSV of 90,000 named landmarks", false, func(f string) {
		os.WriteFile(filepath.Join(f, "x.csv"), []byte("specimen,"+many(45000, "a%db_x,a%[1]db_y", ",")+"\n"+strings.Repeat("s"+strings.Repeat(",1,2", 45000)+"\n", 1)), 0o600)
	}, inspects("x.csv"), ""},
	{"five million rows of one specimen", true, file("x.csv", "specimen,x,y\n", "a,1,2\n", 5000000, ""), inspects("x.csv"), "coordinates of landmarks"},
	{"two million rows of one specimen", true, file("x.csv", "specimen,x,y\n", "a,1,2\n", 2000000, ""), inspects("x.csv"), ""},
	{"five million rows without names", true, file("x.csv", "x,y\n", "1,2\n", 5000000, ""), inspects("x.csv"), "coordinates of landmarks"},
	{"rows of a million landmarks by number", true, numbered("x.csv", "specimen,landmark,x,y\n", "a,%d,1,2\n", 1000000), inspects("x.csv"), ""},
	{"a CSV of 400,000 specimens", false, numbered("x.csv", "specimen,x1,y1,x2,y2,x3,y3\n", "s%d,0,0,1,0,0,1\n", 400000), inspects("x.csv"), "cells"},
	{"a CSV of 140,000 specimens", true, numbered("x.csv", "specimen,x1,y1,x2,y2,x3,y3\n", "s%d,0,0,1,0,0,1\n", 140000), inspects("x.csv"), ""},
	{"a CSV of 140,000 specimens of any shape", true, anyShapes(140000, 2), inspects("x.csv"), ""},
	{"a CSV of 140,000 specimens of any shape in space", true, anyShapes(140000, 3), inspects("x.csv"), ""},
	{"a CSV of 140,000 groups", true, numbered("x.csv", "specimen,group,x1,y1,x2,y2,x3,y3\n", "s%d,g%[1]d,0,0,1,0,0,1\n", 140000), inspects("x.csv"), ""},
	{"200 MB of blank lines", false, file("x.csv", "x,y\n", "\n", 200<<20, ""), inspects("x.csv"), "empty lines"},
	{"200 MB of empty cells", true, file("x.csv", "x,y\n", ",\n", 100<<20, ""), inspects("x.csv"), "are the most"},
	{"200 MB of spaces", true, file("x.csv", "x,y\n", " ", 200<<20, ""), inspects("x.csv"), "longer than 16 MiB"},
	{"a quotation mark that is not closed", true, file("x.csv", "specimen,x,y\n\"", "a,1,2\n", 30<<20, ""), inspects("x.csv"), "is a quotation mark not closed"},
	{"a table without a header of 5 million rows", true, file("x.xyz", "", "1 2 3\n", 5000000, ""), inspects("x.xyz"), "coordinates of landmarks"},
	{"names below a table, by the million", true, file("x.csv", "specimen,x,y\na,1,2\n", "note,,\n", 3000000, ""), inspects("x.csv"), "cells"},
	{"NTS that announces a billion", false, file("x.nts", "1 100000L 100000 0 DIM=2\n", "a ", 1000, ""), inspects("x.nts"), "coordinates"},
	{"NTS of 10 million labels", true, file("x.nts", "1 10000000L 2 0 DIM=2\n", "a ", 5<<20, "\n"), inspects("x.nts"), "coordinates"},
	{"NTS of a million labels", true, file("x.nts", "1 1000000L 4 0 DIM=2\n", "a\n", 1000000, "1 2 3 4\n"), inspects("x.nts"), "the file ends before"},
	{"Morphologika of a billion", false, file("x.morphologika", "[individuals]\n100000\n[landmarks]\n10000\n[dimensions]\n3\n[rawpoints]\n", "1 2 3\n", 9, ""), inspects("x.morphologika"), "coordinates"},
	{"Morphologika of names by the million", true, file("x.morphologika", "[individuals]\n10000000\n[landmarks]\n1\n[dimensions]\n1\n[names]\n", "a\n", 10000000, ""), inspects("x.morphologika"), "no [rawpoints]"},
	{"Checkpoint that announces 10 million points", false, file("x.ckpt", "Stratovan Checkpoint\n[Landmarks]\nNumberOfPoints: 10000000\n", "", 0, "[End]\n"), inspects("x.ckpt"), "coordinates"},
	{"Checkpoint that announces a million points", false, file("x.ckpt", "Stratovan Checkpoint\n[Landmarks]\nNumberOfPoints: 1000000\n", "", 0, "[End]\n"), inspects("x.ckpt"), "all landmarks are missing"},
	{"markups of 120 MB of objects", true, file("x.json", `{"markups":[{"controlPoints":[`, "{},", 40<<20, "{}]}]}"), inspects("x.json"), "cells or elements"},
	{"markups that nest", false, file("x.json", `{"markups":`, "[", 5<<20, ""), inspects("x.json"), "cells or elements"},
	{"markups of 100 MB of spaces", false, file("x.json", `{"markups":`, " ", 100<<20, "[]}"), inspects("x.json"), "no markups"},
	{"MITK of 100 MB of points", true, file("x.mps", "<point_set_file><point_set><time_series>", "<point/>", 12<<20, "</time_series></point_set></point_set_file>"), inspects("x.mps"), "cells or elements"},
	{"MITK of 20 MB of attributes", false, file("x.mps", "<point_set_file", ` a="1"`, 3<<20, "/>"), inspects("x.mps"), "cells or elements"},
	{"FCSV of a million columns", false, file("x.fcsv", "# Markups fiducial file version = 5.0\n# CoordinateSystem = LPS\n", ",", 1<<20, "\n"), inspects("x.fcsv"), "100000 is the most"},
	// Meshes.
	{"VTP of pieces by the million", true, file("x.vtp", `<VTKFile type="PolyData"><PolyData>`, "<Piece/>", 14<<20, "</PolyData></VTKFile>"), converts("x.vtp"), "cells or elements"},
	{"VTP of 100 MB of numbers", true, file("x.vtp", vtp, "1 ", 50<<20, `</DataArray></Points></Piece></PolyData></VTKFile>`), converts("x.vtp"), "numbers"},
	{"GIfTI of 30 MB of numbers", true, file("x.gii", gii, "1 ", 15<<20, `</Data></DataArray></GIFTI>`), converts("x.gii"), "x.gii"},
	{"XML of entities", false, file("x.vtp", `<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><VTKFile>&b;`, "", 0, "</VTKFile>"), converts("x.vtp"), "x.vtp"},
	{"PLY of a polygon of 60 million corners", true, file("x.ply", plyLE+"\x00\x00\x00\x01\x00\x00\x00\x01\x00"+"\x00\x87\x93\x03", "\x01", 60000000, ""), converts("x.ply"), "x.ply"},
	{"PLY of a polygon of 5 million corners", true, file("x.ply", plyLE+"\x00\x00\x00\x01\x00\x00\x00\x01\x00"+"\x40\x4b\x4c\x00", "\x01", 5000000, ""), converts("x.ply"), ""},
	{"PLY of 5 million properties", true, file("x.ply", "ply\nformat ascii 1.0\nelement vertex 1\n", "property char x\n", 5000000, "end_header\n"), converts("x.ply"), "cells or elements"},
	{"PLY of 5 million vertices", true, file("x.ply", fmt.Sprintf(ply, 5000000, 1), "1 2 3\n", 5000000, "3 0 1 2\n"), converts("x.ply"), ""},
	{"STL of 250 MB", true, sparse("x.stl", strings.Repeat("\x00", 80)+"\x00\x09\x3d\x00", 84+50*4000000), converts("x.stl"), ""},
	{"OBJ of 100 MB of faces", true, file("x.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\n", "f 1 2 3\n", 12<<20, ""), converts("x.obj"), "numbers"},
	{"OBJ of polygons that go on", true, file("x.obj", "v 0 0 0\nf 1", " \\\n1", 5<<20, "\n"), converts("x.obj"), "numbers"},
	{"OFF of 16 million vertices", true, file("x.off", "OFF\n16000000 0 0\n", "1 2 3\n", 16000000, ""), converts("x.off"), "numbers"},
	{"VTK of 16 million cells", true, file("x.vtk", "# vtk DataFile Version 3.0\nt\nASCII\nDATASET POLYDATA\nPOINTS 1 float\n0 0 0\nPOLYGONS 4000000 16000000\n", "3 0 0 0\n", 4000000, ""), converts("x.vtk"), "x.vtk"},
	// Beside the data.
	{"covariates of a million columns", false, beside(covariates(100_000)), about("inspect", "--covariates", "@/table.csv"), "100000 is the most"},
	{"covariates of 99,000 columns", true, beside(covariates(99_000)), about("inspect", "--covariates", "@/table.csv"), ""},
	{"covariates that are a pipe", false, beside(fifo("table.csv")), about("inspect", "--covariates", "@/table.csv"), "is a pipe"},
	{"covariates of 5 million rows", true, beside(file("table.csv", "specimen,a\n", "x,1\n", 5000000, "")), about("inspect", "--covariates", "@/table.csv"), "cells"},
	{"a tree that is a pipe", false, beside(fifo("tree.nwk")), about("test", "--tree", "@/tree.nwk"), "is a pipe"},
	{"a tree that is a device", false, beside(device("tree.nwk")), about("test", "--tree", "@/tree.nwk"), "is a device"},
	{"a tree of 200 MB of brackets", true, beside(file("tree.nwk", "", "(", 200<<20, ";")), about("test", "--tree", "@/tree.nwk"), "are the most"},
	{"a tree of 100 MB of brackets", true, beside(file("tree.nwk", "", "(", 100<<20, ";")), about("test", "--tree", "@/tree.nwk"), "cells or elements"},
	{"a tree of a ladder", false, beside(func(f string) {
		os.WriteFile(filepath.Join(f, "tree.nwk"), []byte(strings.Repeat("(", 200000)+"a"+strings.Repeat(",b:1)", 1)+strings.Repeat(")", 199999)+";"), 0o600)
	}), about("test", "--tree", "@/tree.nwk"), "tree"},
	{"a mesh that is a pipe", false, beside(fifo("m.ply")), about("plot", "@/x.svg", "--mesh", "@/m.ply"), "is a pipe"},
	// Options.
	{"a model of 25 columns", false, beside(func(f string) { covariates(25)(f) }), about("test", "--covariates", "@/table.csv", "--model", many(25, "c%d", "*")), "terms"},
	{"a model of 100,000 parentheses", false, heads, about("test", "--model", strings.Repeat("(", 100000)), "model"},
	{"a model of 15,000 columns", false, heads, about("test", "--model", many(15000, "c%d", "+")), "letters"},
	{"a model of one column 1,000 times", false, heads, about("test", "--permutations", "9", "--model", strings.Repeat("species+", 1000)+"species"), ""},
	{"an interaction of one column 1,000 times", false, heads, about("test", "--permutations", "9", "--model", strings.Repeat("species:", 1000)+"species"), ""},
	{"a long name in a model", false, heads, about("test", "--model", strings.Repeat("a", 9000)), "no covariate"},
	{"parts of 1,000 ranges", false, heads, about("report", "--out", "@/r", "--parts", "a: "+many(1000, "%d-1000000", ",")+"; b: 1"), "landmarks are 1 to 12"},
	{"curves of 1,000 ranges", false, heads, about("report", "--out", "@/r", "--curves", many(1000, "%d-1000000", ",")), "landmarks are 1 to 12"},
	{"a joint of 1,000 ranges", false, heads, about("report", "--out", "@/r", "--joint", "1;"+many(1000, "%d-1000000", ",")+";1"), "landmarks are 1 to 12"},
	{"parts of 10,000 ranges of all landmarks", false, heads, about("report", "--out", "@/r", "--parts", "a: "+strings.Repeat("1-12,", 20000)+"; b: 0"), "twice"},
	{"10,000 links", false, heads, about("plot", "@/x.svg", "--links", strings.Repeat("1-2,", 25000)), "more than"},
	{"permutations without end", false, heads, about("test", "--model", "species", "--permutations", "1000000000000000000"), "10000000 is the most"},
	{"permutations, just too many", false, heads, about("test", "--model", "species", "--permutations", "10000001"), "10000000 is the most"},
	// Reports of strangers.
	{"a report whose record is a pipe", false, all(written("question.json", "{}"), func(f string) { fifo("report/ro-crate-metadata.json")(f) }), repeats, "is a pipe"},
	{"a report whose record is a device", false, all(written("question.json", "{}"), func(f string) { device("report/ro-crate-metadata.json")(f) }), repeats, "is a device"},
	{"a report whose data are a device", false, all(written("question.json", "{}"), written("ro-crate-metadata.json", `{"@graph":[{"@id":"data/landmarks.csv","sha256":"0"}]}`), written("data/x", ""), func(f string) { device("report/data/landmarks.csv")(f) }), repeats, "is a device"},
	{"an empty record", false, all(written("question.json", "{}"), written("ro-crate-metadata.json", "{}"), written("data/landmarks.csv", "x,y\n1,2\n")), repeats, "has no checksum"},
	{"a record of 90 MB of objects", true, all(written("question.json", "{}"), func(f string) {
		written("ro-crate-metadata.json", `{"@graph":[`+strings.Repeat("{},", 30<<20)+"{}]}")(f)
	}), repeats, "cells or elements"},
	{"a record of files by the million", true, all(written("question.json", "{}"), written("ro-crate-metadata.json", `{"@graph":[`+strings.Repeat(`{"@id":"question.json","sha256":"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"},`, 20000)+"{}]}")), repeats, "twice"},
}

// everyKind are the same attacks on each ending of files that the program reads, as landmarks and as covariates: refused or answered, whatever
// they are taken for.
func everyKind() (all []hostile) {
	noise := make([]byte, 8<<20)
	random := rand.New(rand.NewPCG(8, 20))
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	for _, ending := range append(append(morpho.Extensions(), mesh.Extensions()...), ".zip") {
		name := "x" + ending
		for _, a := range []struct {
			what string
			make func(string)
		}{
			{"a pipe", fifo(name)},
			{"a device", device(name)},
			{"a link to nothing", func(f string) { os.Symlink("nothing", filepath.Join(f, name)) }},
			{"a folder", func(f string) { os.Mkdir(filepath.Join(f, name), 0o700) }},
			{"nothing", file(name, "", "", 0, "")},
			{"8 MB of zero bytes", sparse(name, "", 8<<20)},
			{"8 MB of noise", file(name, string(noise), "", 0, "")},
			{"a line of 8 MB", file(name, "", "9", 8<<20, "")},
			{"8 MB of line ends", file(name, "", "\n", 8<<20, "")},
			{"8 MB of numbers", file(name, "", "1 ", 4<<20, "\n")},
			{"8 MB of brackets", file(name, "", "[(<", 8<<20/3, "")},
		} {
			all = append(all, hostile{a.what + " called " + name, true, a.make, inspects(name), either})
		}
	}
	return all
}

// either is wanted of what may be refused or answered.
const either = "*"

// Nothing that a file or an option says makes the program take the machine: a gigabyte and twenty seconds are the most, unless the file
// itself is larger.
func TestHostile(t *testing.T) {
	program := expect.Must(os.Executable())
	worst, slowest := hostile{}, hostile{}
	var memory int64
	var spent time.Duration
	count := 0
	for _, h := range append(hostiles, everyKind()...) {
		if h.long && !*long {
			continue
		}
		count++
		t.Run(h.name, func(t *testing.T) {
			folder := t.TempDir()
			h.make(folder)
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute) // by the clock, for what hangs
			defer cancel()
			c := exec.CommandContext(ctx, program, h.args(folder)...)
			c.Env = append(os.Environ(), asProgram+"=1", "ANATOMY_PROGRESS=off")
			var out, said bytes.Buffer
			c.Stdout, c.Stderr = &out, &said
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			c.Wait()
			used := c.ProcessState.SysUsage().(*syscall.Rusage)
			took, peak := time.Duration(used.Utime.Nano()+used.Stime.Nano()), used.Maxrss<<10
			if *measure {
				t.Logf("%5d MB %5.1f s  %s: %.150s", peak>>20, took.Seconds(), h.name, said.String())
			}
			if peak > memory {
				memory, worst = peak, h
			}
			if took > spent {
				spent, slowest = took, h
			}
			switch state := c.ProcessState.ExitCode(); {
			case peak > mostMemory || took > mostTime:
				t.Errorf("%d MB, %v", peak>>20, took)
			case h.want == either && (state == 0 || state == failed):
			case h.want == "" && state != 0, h.want != "" && (state != failed || !strings.Contains(said.String(), h.want)):
				t.Errorf("state %d: %.400s; want %q", state, said.String(), h.want)
			}
			if said.Len() > 4000 || strings.Contains(said.String(), "goroutine") {
				t.Errorf("a message of %d bytes: %.200s", said.Len(), said.String())
			}
		})
	}
	t.Logf("%d hostile inputs; the most memory: %d MB, %s; the most time: %.1f s, %s", count, memory>>20, worst.name, spent.Seconds(), slowest.name)
}
