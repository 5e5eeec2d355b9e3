package morpho

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/shape"
)

// Tables without a header are one specimen.
func TestPlainTables(t *testing.T) {
	space := [][]float64{{8.049, 20.267, 7.161}, {1, 2, 3}, {4, 5, 6}, {7, 8, 9}}
	plane := [][]float64{{8.049, 20.267}, {1, 2}, {4, 5}}
	none, inPlane := "no header: taken for one specimen of 4 landmarks with 3 coordinates each", "no header: taken for one specimen of 3 landmarks with 2 coordinates each"
	labels := []string{"nasion", "basion", "tip", "S 3"}
	for _, c := range []struct {
		what, text string
		want       Dataset
	}{
		{"blanks", "8.049 20.267 7.161\n1 2 3\n4 5 6\n7 8 9\n", Dataset{Notes: []string{none}}},
		{"more blanks, Windows' line ends", " 8.049   20.267  7.161\r\n 1  2 3 \r\n4 5 6\r\n7 8 9\r\n", Dataset{Notes: []string{none}}},
		{"tabs", "8.049\t20.267\t7.161\n1\t2\t3\n4\t5\t6\n7\t8\t9\n", Dataset{Notes: []string{none}}},
		{"commas", "8.049,20.267,7.161\n1, 2, 3\n4,5,6\n7,8,9\n", Dataset{Notes: []string{none}}},
		{"semicolons and decimal commas", "8,049;20,267;7,161\n1;2;3\n4,0;5;6\n7;8;9\n", Dataset{Notes: []string{none}}},
		{"blanks and decimal commas", "8,049 20,267 7,161\n1 2 3\n4,0 5 6\n7 8 9\n", Dataset{Notes: []string{none}}},
		{"every other line is blank", "8.049 20.267 7.161\n\n1 2 3\n\n4 5 6\n\n7 8 9\n", Dataset{Notes: []string{none}}},
		{"blank lines between blocks", "8.049 20.267 7.161\n\n1 2 3\n4 5 6\n\n7 8 9\n", Dataset{Notes: []string{"blank lines between the landmarks were passed over", none}}},
		{"labels", "nasion,8.049,20.267,7.161\nbasion,1,2,3\ntip,4,5,6\nS 3,7,8,9\n", Dataset{Labels: labels, Notes: []string{none}}},
		{"quoted labels", "\"nasion\" 8.049 20.267 7.161\n\"basion\" 1 2 3\n\"tip\" 4 5 6\n\"S 3\" 7 8 9\n", Dataset{Labels: labels, Notes: []string{none}}},
		{"numbers", "1 8.049 20.267 7.161\n2 1 2 3\n3 4 5 6\n4 7 8 9\n", Dataset{Notes: []string{none, "the first column was taken for the numbers of the landmarks, from 1"}}},
		{"numbers in the plane", "0;8.049;20.267\n1;1;2\n2;4;5\n", Dataset{Notes: []string{inPlane, "the first column was taken for the numbers of the landmarks, from 0"}}},
		{"the plane", "8.049 20.267\n1 2\n4 5\n", Dataset{Notes: []string{inPlane}}},
		{"Landmark Editor", "Version 1.0\n4\nnasion 8.049 20.267 7.161\nbasion 1 2 3\ntip 4 5 6\nS_3 7 8 9\n",
			Dataset{Labels: []string{"nasion", "basion", "tip", "S_3"}, Notes: []string{none}}},
		{"n_points", "version: 1\nn_points: 3\n{\n8.049 20.267\n1 2\n4 5\n}\n", Dataset{Notes: []string{inPlane}}},
		{"comments, titles, remarks", "# by hand\nSkull 7 of the museum\n8.049 20.267 7.161\n1 2 3\n4 5 6\n7 8 9\n\nmeasured twice\n", Dataset{Notes: []string{
			`line 2 above the coordinates was passed over: "Skull 7 of the museum"`, `line 8 below the coordinates was passed over: "measured twice"`, none}}},
	} {
		t.Run(c.what, func(t *testing.T) {
			got := expect.Must(ReadCSV(strings.NewReader(c.text), "folder/skull 7.txt"))
			c.want.Name, c.want.Source = "skull 7.txt", "folder/skull 7.txt"
			points := space
			if len(got.Specimens[0].Points[0]) == 2 {
				points = plane
			}
			c.want.Specimens = []Specimen{{Name: "skull 7", Points: points}}
			c.want.FromZero = c.what == "numbers in the plane"
			if diff := cmp.Diff(&c.want, got, same); diff != "" {
				t.Error(diff)
			}
		})
	}
	missing := expect.Must(ReadCSV(strings.NewReader("Version 1.0\n3\nS0 9999 9999 9999\nS1 1 2 3\nS2 NA NA NA\n"), "a.pts"))
	if diff := cmp.Diff(shape.Shape{{na, na, na}, {1, 2, 3}, {na, na, na}}, missing.Specimens[0].Points, same); diff != "" {
		t.Error(diff)
	}
}

func TestPlainTablesRefused(t *testing.T) {
	for text, want := range map[string][]string{
		"1 2 3\n4 5 6\n":                                 {"p.txt:1: a table seems to begin here, with 3 numbers", "write a header"},
		"1 2 3 4\n5 6 7 8\n9 10 11 12\n":                 {"p.txt:1: rows have four numbers, and the first of them do not count the rows", "write a header"},
		"1 2 3\n4 5\n6 7 8\n9 1 2\n":                     {`p.txt:2: "4 5" has other columns than line 1`},
		"1 2 3\n4 5 6\nremark\n7 8 9\n1 5 6\n":           {`p.txt:3: "remark" stands between landmarks`, "remove the line"},
		"1 2 3\n4 5 6\n7 8 x9\n1 5 6\n":                  {`p.txt:3: "7 8 x9" is no landmark`},
		"a 2 3\na 5 6\nb 7 8\nb 9 1\n":                   {`p.txt:2: the name "a" stands in line 1 already`, "names of specimens"},
		"1 2 3\n4 5 6\n7 8 9\n\n7 8 9\n3 5 6\n1 2 3\n":   {"p.txt:1: blank lines part the landmarks in 2 of one length"},
		"Version 1.0\n5\nS0 1 2 3\nS1 1 2 4\nS2 1 3 2\n": {"p.txt:2: 5 points are announced, and there are 3", "it may have ended early"},
		"length,width,height\n1,2,3\n4,5,6\n7,8,9\n":     {`p.txt:1: the header "length,width,height" names no columns`},
		"1,5 2\n4,5 6.5\n7 8\n":                          {"p.txt:1: 1,5, but 6.5 in line 2", "decimal points"},
		"OFF\n8 6 12\n1 1 1 2\n":                         {"p.txt:2: a table seems to begin here, with 3 numbers"},
	} {
		_, err := ReadCSV(strings.NewReader(text), "p.txt")
		advised(t, err, want...)
	}
}

const checkpointStart = "Version 6\nStratovan Checkpoint (TM)\n\n[Specimen Information]\nName: ant, .ckpt\n\n[Surface Information]\nNumberOfSurfaces: 1\n0: -41 \"\" 200 200 200\n\n[Landmarks]\n"

func TestReadCheckpoint(t *testing.T) {
	got := expect.Must(readCheckpoint(strings.NewReader(checkpointStart+`NumberOfPoints: 5
Units: um
0: 0 N 0x48 1469.846313 390.145691 1028.751099 0.698689 -0.657508 -0.281988 "eye_tip_L" 0 1
2: 0 M 0x48 127.459595 390.593414 1032.406006 -0.792710 -0.577146 -0.196246 "eye tip R" 0 2
3: 0 N 0x8 1 -2 3e2 0 0 1 "" -1 -1

[SinglePoints]
NumberOfSinglePoints: 1
0: 0 0 1
`), "ants/ant 1.ckpt"))
	nowhere := []float64{na, na, na}
	want := &Dataset{Name: "ant 1.ckpt", Source: "ants/ant 1.ckpt", Unit: "µm", Labels: []string{"eye_tip_L", "", "eye tip R", "", ""},
		Specimens: []Specimen{{Name: "ant 1", Points: [][]float64{{1469.846313, 390.145691, 1028.751099}, nowhere, nowhere, {1, -2, 300}, nowhere}}},
		Notes:     []string{"landmark 1 is not in the file: missing", "landmark 4 is not in the file: missing"}}
	if diff := cmp.Diff(want, got, same); diff != "" {
		t.Error(diff)
	}
	point := `0: 0 N 0x48 1 2 3 0 0 1 "a" 0 1` + "\n"
	for text, want := range map[string][]string{
		"":                                    {"c.ckpt:11: the section [Landmarks] has no NumberOfPoints"},
		"NumberOfPoints: 2\n" + point:         {"c.ckpt:13: the file ends within [Landmarks], after 1 of 2 points"},
		"NumberOfPoints: x\n":                 {"c.ckpt:12: points:", "not a whole number"},
		"NumberOfPoints: 1\n" + point + point: {"c.ckpt:14: landmark 0 after 1 of the 1"},
		point:                                 {"c.ckpt:12: landmark 0 after 0 of the -1"},
		"NumberOfPoints: 1\n" + strings.Replace(point, "N", "Q", 1):        {`c.ckpt:13: landmark 0: the status is "Q"`, "write N"},
		"NumberOfPoints: 1\n" + strings.Replace(point, "2 3", "2 zwei", 1): {`c.ckpt:13: landmark 0: z = "zwei" is not a number`},
		"NumberOfPoints: 1\n0: 0 N 0x48 1 2\n":                             {`c.ckpt:13: "0: 0 N 0x48 1 2" is no landmark`},
		"NumberOfPoints: 0\n\n[Curves]\n":                                  {"c.ckpt: no points"},
	} {
		advised(t, expect.Error(readCheckpoint(strings.NewReader(checkpointStart+text), "c.ckpt")), want...)
	}
	advised(t, expect.Error(readCheckpoint(strings.NewReader("Version 6\n"), "c.ckpt")), "c.ckpt:1: no section [Landmarks]")
}

// mitk is a point set of MITK with these points, and something more before them.
func mitk(more string, points ...string) string {
	return `<?xml version="1.0" encoding="ISO-8859-1" ?><point_set_file><file_version>0.1</file_version><point_set><time_series><time_series_id>0</time_series_id>` +
		more + strings.Join(points, "") + "</time_series></point_set></point_set_file>"
}

func TestReadMITK(t *testing.T) {
	point := func(id int, x, y, z string) string {
		return fmt.Sprintf("<point>\n<id>%d</id><specification>0</specification><x>%s</x><y>%s</y><z> %s </z></point>\n", id, x, y, z)
	}
	geometry := `<Geometry3D ImageGeometry="false"><IndexToWorld type="Matrix3x3" m_0_0="1" m_0_1="0" m_1_0="0" m_1_1="1" m_2_2="1.0"/><Offset type="Vector3D" x="0" y="0" z="-0"/></Geometry3D>`
	got := expect.Must(readMITK(strings.NewReader(mitk(geometry, point(3, "1e1", "2", "3"), point(0, "4", "5", "-6"))), "a/skull.mps"))
	want := &Dataset{Name: "skull.mps", Source: "a/skull.mps", Unit: "mm", Specimens: []Specimen{{Name: "skull", Points: [][]float64{{4, 5, -6}, {10, 2, 3}}}},
		Notes: []string{"the numbers of the points, from 0 to 3, have gaps: landmarks are counted without them"}}
	if diff := cmp.Diff(want, got, same); diff != "" {
		t.Error(diff)
	}
	one := point(0, "1", "2", "3")
	for text, want := range map[string]string{
		"":                                    "m.mps: byte 0: EOF",
		"<a/>":                                "expected element type <point_set_file>",
		mitk(""):                              "m.mps: no points",
		mitk("", one, one):                    "m.mps: two points have the number 0",
		mitk("", one[:10]):                    "m.mps: byte",
		mitk("", point(0, "1", "", "inf")):    `landmark 0: z = "inf" is infinite`,
		mitk("", "<point><id>x</id></point>"): `point 0: id: "x" is not a whole number`,
		mitk(strings.Replace(geometry, `m_0_1="0"`, `m_0_1="1"`, 1), one): `the geometry of the points moves them: m_0_1 is "1"`,
		mitk(one+"</time_series><time_series>", one):                      "2 point sets or times",
		strings.Replace(mitk("", one), "ISO-8859-1", "EBCDIC", 1):         `the encoding "EBCDIC" is not known; save the file as UTF-8`,
	} {
		advised(t, expect.Error(readMITK(strings.NewReader(text), "m.mps")), want)
	}
}

// Files of one specimen each, of all formats that hold one, beside meshes: a data set of those that have landmarks.
func TestReadMixedFolder(t *testing.T) {
	folder := t.TempDir()
	text := map[string]string{
		"a.txt": "1 2 3\n4 5 6\n7 8 10\n", "b.pts": "Version 1.0\n3\nS0 1 2 3\nS1 4 5 6\nS2 7 8 11\n", "c.xyz": "1\t2\t3\n4\t5\t6\n7\t8\t12\n",
		"a.ply": "ply\n", "b.off": "OFF\n3 1 0\n1 2 3\n4 5 6\n7 8 10\n3 0 1 2\n",
	}
	for name, content := range text {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err := Read(folder)
	advised(t, err, "b.pts: 3 labels, but 0 in a.txt", "correct one of them")
	if err := os.Remove(filepath.Join(folder, "b.pts")); err != nil {
		t.Fatal(err)
	}
	got := expect.Must(Read(folder))
	if diff := cmp.Diff([]string{"a", "c"}, got.Names()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"passed over, as they hold no landmarks: a.ply, b.off", "each file: no header: taken for one specimen of 3 landmarks with 3 coordinates each"}, got.Notes); diff != "" {
		t.Error(diff)
	}
}

func FuzzReadCheckpoint(f *testing.F) {
	f.Add([]byte(checkpointStart + "NumberOfPoints: 1\n0: 0 N 0x48 1 2 3 0 0 1 \"a\" 0 1\n[Curves]\n"))
	f.Fuzz(func(t *testing.T, text []byte) { readAnything(t, readCheckpoint, text) })
}

func FuzzReadMITK(f *testing.F) {
	f.Add([]byte(mitk("", "<point><id>0</id><x>1</x><y>2</y><z>3</z></point>")))
	f.Fuzz(func(t *testing.T, text []byte) { readAnything(t, readMITK, text) })
}

func FuzzReadPlain(f *testing.F) {
	f.Add([]byte("Version 1.0\n3\nS0 1 2,5 3\nS1 4 5 6\nS2 7 8 9\n"))
	f.Add([]byte("title\n1;2;3\n2;4;5\n\n3;4;NA\nremark\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		readAnything(t, func(r io.Reader, name string) (*Dataset, error) { return ReadCSV(r, name) }, text)
	})
}
