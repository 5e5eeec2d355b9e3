package morpho

import (
	"errors"
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

const (
	fcsvColumns = "# columns = id,x,y,z,ow,ox,oy,oz,vis,sel,lock,label,desc,associatedNodeID\n"
	fcsvStart   = "# Markups fiducial file version = 4.11\n# CoordinateSystem = LPS\n" + fcsvColumns
)

// markups is a file of 3D Slicer with these properties of its markup.
func markups(properties string) string {
	return `{"@schema": "https://raw.githubusercontent.com/slicer/slicer/master/Modules/Loadable/Markups/Resources/Schema/markups-schema-v1.0.3.json#",` +
		"\n\"markups\": [{" + properties + "}]}\n"
}

// The same three landmarks, the second of which is missing, in every way that 3D Slicer has of writing them.
func TestReadSlicer(t *testing.T) {
	points := [][]float64{{1, -2, 3.5}, {na, na, na}, {-4, 5, 6}}
	labels := []string{"nasion", "left, upper", "F-3"}
	whole := `{"id": "1", "label": "nasion", "description": "", "associatedNodeID": "", "position": [1, -2.0, 3.5e0], "orientation": [-1, 0, 0, 0, -1, 0, 0, 0, 1], "positionStatus": "defined"}`
	for what, c := range map[string]struct {
		read func(io.Reader, string) (*Dataset, error)
		text string
		want Dataset // but for what all have in common
	}{
		"LPS": {readFCSV, fcsvStart + "vtkMRMLMarkupsFiducialNode_0,1,-2,3.5,0,0,0,1,1,1,0,nasion,,\n2,NA,,nan,0,0,0,1,1,1,0,\"left, upper\",,\n3,-4,5,6,0,0,0,1,1,1,0,F-3,say \"so\",\n",
			Dataset{Labels: labels}},
		"LPS of version 5": {readFCSV, strings.Replace(fcsvStart, "4.11", "5.2", 1) + "1,1,-2,3.5,0,0,0,1,1,1,0,nasion,,,2,0\n2,7,8,9,0,0,0,1,1,1,0,\"left, upper\",,,3,0\n3,-4,5,6,0,0,0,1,1,1,0,F-3,,,2,0\n",
			Dataset{Labels: labels}},
		"RAS of older versions": {readFCSV, "# Markups fiducial file version = 4.6\n# CoordinateSystem = 0\n" + fcsvColumns + "\n1,-1,2,3.5,0,0,0,1,1,1,0,,,\n2,,,,0,0,0,1,1,1,0,,,\n3,4,-5,6,0,0,0,1,1,1,0,,,\n",
			Dataset{}},
		"LPS of older versions": {readFCSV, "# CoordinateSystem = 1\n1,1,-2,3.5\n2,,,\n3,-4,5,6\n", Dataset{}},
		"columns of version 3": {readFCSV, "# Fiducial List file\r\n# numPoints = 3\r\n# columns = label, x, y, z, sel, vis\r\n# CoordinateSystem = RAS\r\nnasion,-1,2,3.5,1,1\r\n\"left, upper\",NA,NA,NA,1,1\r\nF-3,4,-5,6,1,1\r\n",
			Dataset{Labels: labels}},
		"as 3D Slicer writes them": {readMarkups, markups(`"type": "Fiducial", "coordinateSystem": "LPS", "coordinateUnits": "mm", "locked": false, "controlPoints": [` +
			whole + `, {"label": "left, upper", "position": "", "positionStatus": "undefined"}, {"label": "F-3", "position": [-4, 5, 6]}], "measurements": [], "display": {"color": [0.4, 1, 1]}`),
			Dataset{Labels: labels}},
		"RAS, after the points, in the order of the alphabet": {readMarkups, "\ufeff" + markups(`"controlPoints": [{"position": [-1, 2, 3.5]}, {"position": [0, 0, 0], "positionStatus": "missing"},
			{"label": null, "position": [4, -5, 6]}], "coordinateSystem": "RAS", "coordinateUnits": ["um", "UCUM", "micrometer"], "type": "ClosedCurve"`),
			Dataset{Unit: "um", Closed: true}},
		"no more than is needed": {readMarkups, markups(`"type": "Curve", "controlPoints": [{"position": [1, -2, 3.5]}, {"positionStatus": "undefined"}, {"position": [-4, 5, 6]}]`), Dataset{}},
	} {
		t.Run(what, func(t *testing.T) {
			got, err := c.read(strings.NewReader(c.text), "dir/a b.mrk.json")
			if err != nil {
				t.Fatal(err)
			}
			want := c.want
			want.Name, want.Source, want.Specimens = "a b.mrk.json", "dir/a b.mrk.json", []Specimen{{Name: "a b", Points: points}}
			if want.Unit == "" {
				want.Unit = "mm"
			}
			if diff := cmp.Diff(&want, got, same); diff != "" {
				t.Error(diff)
			}
			names := []string{"a", "a.txt", "a.json", "a.MRK.json"} // contents or extension tell the format
			switch {
			case strings.Contains(c.text, "Markups fiducial"):
				names = []string{"a", "a.txt", "a.fcsv"}
			case strings.HasPrefix(c.text, "#"):
				names = []string{"a.FCSV"}
			}
			for _, name := range names {
				path := filepath.Join(t.TempDir(), name)
				if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
					t.Fatal(err)
				}
				if d := expect.Must(Read(path)); d.Specimens[0].Name != "a" || d.Source != path {
					t.Errorf("%s: specimen %q of %s", name, d.Specimens[0].Name, d.Source)
				}
			}
		})
	}
}

// A point that version 5 says is placed may be at the origin.
func TestReadFCSVOrigin(t *testing.T) {
	d := expect.Must(readFCSV(strings.NewReader(fcsvStart+"1,0,0,0,0,0,0,1,1,1,0,F-1,,,2,0\n2,0,0,0,0,0,0,1,1,1,0,F-2,,,0,0\n"), "a.fcsv"))
	if diff := cmp.Diff(shape.Shape{{0, 0, 0}, {na, na, na}}, d.Specimens[0].Points, same); diff != "" {
		t.Error(diff)
	}
}

// Turned from RAS to LPS, a code of a missing landmark would be none.
func TestReadSlicerKeepsCodes(t *testing.T) {
	d := expect.Must(readFCSV(strings.NewReader("# CoordinateSystem = RAS\n1,1,2,3\n2,-999,-999,-999\n"), "a.fcsv"))
	expect.Refused(t, d.Validate(), `a.fcsv: specimen "a": landmark 2 is at [-999 -999 -999]`)
}

func TestMalformedSlicer(t *testing.T) {
	point := func(properties string) string {
		return markups("\"type\": \"Fiducial\", \"controlPoints\": [\n{\"position\": [1, 2, 3]},\n{\n" + properties + "}]")
	}
	for text, want := range map[string]string{
		"":                           "bad: no points",
		"# CoordinateSystem = LPS\n": "bad: no points",
		"# CoordinateSystem = IJK\n": `bad:1: the coordinate system is "IJK"; write LPS or RAS`,
		"# CoordinateSystem = LPS\n# columns = label,x,y\nF,1,2\n": "bad:3: a point, but the comment # columns = before it names no column z",
		fcsvStart + "1,1,2\n":                                            "bad:4: landmark 0: 3 columns, too few",
		fcsvStart + "1,1,2,3\n2,4,5,six\n":                               `bad:5: landmark 1: z = "six" is not a number`,
		fcsvStart + "1,1,2,3\n\n2,4,1e999,6\n":                           `bad:6: landmark 1: y = "1e999" is infinite`,
		fcsvStart + "1,1,2,3,0,0,0,1,1,1,0,F-1,,\n2,0,-0,0.0,0,0,0,1,,,": "bad:5: landmark 1 is at the origin, where 3D Slicer writes a point that was not placed",

		fcsvStart + "1,1,2,3,0,0,0,1,1,1,0,F-1,,,1,0\n": "bad:4: landmark 0 is a preview, a position that was not confirmed",
		fcsvStart + "1,1,2,3,0,0,0,1,1,1,0,F-1,,,4,0\n": `bad:4: landmark 0: the position status "4" behind associatedNodeID is none of 0 to 3`,

		"{":                               "bad:1: this is no JSON: unexpected end of JSON input",
		"{\"a\": 1,\n\n\"markups\": [{]}": "bad:3: this is no JSON: invalid character ']'",
		"{\"a\": NaN}":                    "bad:1: this is no JSON: invalid character 'N'",
		"{} {}":                           "bad:1: this is no JSON",
		"{}":                              "bad: no markups",
		"{\"markups\": {\n}}":             "bad:1: the file: markups is a JSON object",
		"{\"markups\": [\n3]}":            "bad:2: a markup is a JSON number",
		"{\n\"markups\": []}":             "bad: no markups",
		markups(`"type": "Fiducial"`):     "bad: no points",
		markups(`"type": "Plane"`):        `bad:2: the type of the markup is "Plane", whose control points are no landmarks`,
		markups("\n\"type\": 3"):          "bad:3: type is a JSON number",
		markups("\n\"type\": \"Line\"}, \n\n {\"coordinateUnits\": \"um\""): `bad:5: the unit of a markup is "um", that of the first ""`,
		markups("\n\"coordinateSystem\":\n \"IJK\""):                        `bad:4: the coordinate system is "IJK"`,
		markups("\n\"coordinateUnits\": 1"):                                 "bad:3: coordinateUnits is a JSON number",
		markups("\n\"controlPoints\": {}"):                                  "bad:3: a markup: controlPoints is a JSON object",
		markups("\n\"controlPoints\": [1]"):                                 "bad:3: landmark 0 is a JSON number",
		point(`"label": 3`):                                                 "bad:5: landmark 1: label is a JSON number",
		point(""):                                                           `bad:4: landmark 1: the position "" is not three numbers`,
		point(`"position": ""`):                                             `bad:4: landmark 1: the position "\"\"" is not three numbers; write them, or "positionStatus": "undefined" if it is missing`,
		point(`"position": [1, 2]`):                                         `bad:4: landmark 1: the position "[1, 2]"`,
		point(`"position": [1, 2, 3, 4]`):                                   `bad:4: landmark 1: the position "[1, 2, 3, 4]"`,
		point(`"position": [1, null, 3]`):                                   `bad:4: landmark 1: the position "[1, null, 3]"`,
		point(`"position": [1, 1e999, 3]`):                                  `bad:4: landmark 1: the position "[1, 1e999, 3]"`,
		point(`"position": [1, 2, 3], "positionStatus": "preview"`):         "bad:4: landmark 1 is a preview, a position that was not confirmed",
		point(`"position": [1, 2, 3], "positionStatus": "edit"`):            `bad:4: landmark 1: the positionStatus "edit" is none of`,
	} {
		t.Run(want, func(t *testing.T) {
			read := readFCSV
			if strings.HasPrefix(text, "{") {
				read = readMarkups
			}
			advised(t, expect.Error(read(strings.NewReader(text), "bad")), want)
		})
	}
}

// A read error in the middle of a file is reported, not taken for its end.
func TestBrokenSlicer(t *testing.T) {
	broken := errors.New("cable pulled")
	for text, read := range map[string]func(io.Reader, string) (*Dataset, error){fcsvStart + "1,1,2,3\n": readFCSV, markups(`"type": "Line"`): readMarkups} {
		for part := range len(text) {
			if err := expect.Error(read(io.MultiReader(strings.NewReader(text[:part]), errorReader{broken}), "broken")); !errors.Is(err, broken) {
				t.Errorf("after %d bytes: %v", part, err)
			}
		}
	}
}

// A folder is a data set with a specimen of each file.
func TestReadFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "apes")
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(name, text string, want ...string) {
		t.Helper()
		write(name, text)
		advised(t, expect.Error(Read(folder)), append(want, filepath.Join(folder, name))...)
		if err := os.Remove(filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	list := func(labels ...string) string {
		text := fcsvStart
		for l, label := range labels {
			text += fmt.Sprintf("%d,%d,2,3,0,0,0,1,1,1,0,%s,,\n", l+1, l+1, label)
		}
		return text
	}
	write("gorilla 1.fcsv", list("nasion", "basion"))
	write(".DS_Store", "\x00")
	write("gorilla 2.mrk.json", markups(`"type": "Fiducial", "controlPoints": [{"label": "nasion", "position": [-1, -2, 3]}, {"label": "basion", "positionStatus": "undefined"}], "coordinateSystem": "RAS"`))
	want := &Dataset{Name: "apes", Source: folder, Unit: "mm", Labels: []string{"nasion", "basion"}, Specimens: []Specimen{
		{Name: "gorilla 1", Points: [][]float64{{1, 2, 3}, {2, 2, 3}}}, {Name: "gorilla 2", Points: [][]float64{{1, 2, 3}, {na, na, na}}}}}
	got := expect.Must(Read(folder))
	if diff := cmp.Diff(want, got, same); diff != "" {
		t.Error(diff)
	}
	table := filepath.Join(t.TempDir(), "apes.csv")
	if err := Write(table, got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Specimens, expect.Must(Read(table)).Specimens, same); diff != "" {
		t.Error(diff)
	}

	refused("gorilla 3.fcsv", list("F-1"), "1 landmarks, but 2 in gorilla 1.fcsv")
	refused("gorilla 3.fcsv", list("nasion", "bregma"), `landmark 1 is "bregma", but "basion" in gorilla 1.fcsv`)
	refused("gorilla 3.csv", "specimen,x,y\na,1,2\na,2,3\n", "2 coordinates, but 3 in gorilla 1.fcsv")
	refused("gorilla 3.fcsv", list("", ""), "0 labels, but 2 in gorilla 1.fcsv")
	refused("gorilla 3.fcsv", list("nasion", "basion")+"3,x,1,1\n", "gorilla 3.fcsv:6: landmark 2: x =")
	refused("gorilla 3.csv", "specimen,x,y,z\na,1,2,3\na,2,3,4\nb,1,2,3\nb,3,4,5\n", "2 specimens: in a folder, a file holds one")
	refused("gorilla 1.json", markups(`"type": "Line", "controlPoints": [{"label": "nasion", "position": [1, 2, 3]}, {"label": "basion", "position": [1, 2, 4]}]`),
		`the specimen "gorilla 1" is in`)
	refused("gorilla 3.json", markups(`"type": "Line", "coordinateUnits": "um", "controlPoints": [{"label": "nasion", "position": [1, 2, 3]}, {"label": "basion", "position": [1, 2, 4]}]`),
		`the unit is "um", but "mm" in gorilla 1.fcsv`)
	refused("gorilla 3.json", markups(`"type": "ClosedCurve", "controlPoints": [{"label": "nasion", "position": [1, 2, 3]}, {"label": "basion", "position": [1, 2, 4]}]`),
		"closed is true, but false in gorilla 1.fcsv")
	refused("empty.txt", "", "the file is empty")
	write("notes.md", "Bones of the museum\n")
	write("about.txt", "Bones of the museum\n")
	write("gorilla 1.ply", "ply\nformat ascii 1.0\n")
	if err := os.Mkdir(filepath.Join(folder, "more"), 0o700); err != nil {
		t.Fatal(err)
	}
	want.Notes = []string{"passed over, as they hold no landmarks: about.txt, gorilla 1.ply, more, notes.md",
		"if one of them is a table of covariates, name it as such: --covariates, or COVARIATES= of make report"}
	if diff := cmp.Diff(want, expect.Must(Read(folder)), same); diff != "" {
		t.Error(diff)
	}
	advised(t, expect.Error(Read(filepath.Join(folder, "more"))), "more: the folder has no files")

	// Numbers behind the names of lists, which differ, are labels of their own.
	folder = filepath.Join(t.TempDir(), "numbered")
	write("a.fcsv", list("F-1", "F-2"))
	write("b.fcsv", list("b_LM1-1", "b_LM1-2"))
	if d := expect.Must(Read(folder)); d.Labels != nil || len(d.Specimens) != 2 {
		t.Errorf("%v, labels %q", d, d.Labels)
	}
	refused("c.fcsv", list("F-2", "F-1"), `landmark 0 is "F-2", but "F-1" in a.fcsv`)
	refused("c.fcsv", list("F-1", "G-2"), `landmark 1 is "G-2", but "F-2" in a.fcsv`)
}

func FuzzReadFCSV(f *testing.F) {
	f.Add([]byte(fcsvStart + "1,1,2,3,0,0,0,1,1,1,0,\"F-1,,\n"))
	f.Add([]byte("# CoordinateSystem = RAS\n# columns = z,y,x\n1,,NA\n,1e999,0\n"))
	f.Fuzz(func(t *testing.T, text []byte) { readAnything(t, readFCSV, text) })
}

func FuzzReadMarkups(f *testing.F) {
	f.Add([]byte(markups(`"type": "Fiducial", "coordinateUnits": ["mm"], "controlPoints": [{"position": [1, 2, 3]}, {"positionStatus": "missing", "label": "F-1"}]`)))
	f.Add([]byte(`{"markups": [{"coordinateUnits": [], "controlPoints": [{"Position": [1, 2, []]}], "controlPoints": null}], "markups": 3}`))
	f.Fuzz(func(t *testing.T, text []byte) { readAnything(t, readMarkups, text) })
}
