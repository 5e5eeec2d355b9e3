package morpho

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/shape"
)

var na = math.NaN()

// is a specimen.
func is(name, group string, points [][]float64, covariates map[string]string) Specimen {
	return Specimen{Name: name, Group: group, Points: points, Covariates: covariates}
}

// Files as other programs and people write them.
func TestReadersUnderstand(t *testing.T) {
	one := [][]float64{{1, 2}, {3, 4}}
	two := [][]float64{{5, 6}, {7, 8}}
	space := [][]float64{{1, 2, 3}, {4, 5, 6}}
	for _, c := range []struct {
		what, codec, text string
		want              []Specimen
	}{
		{"columns in any order, columns of landmarks, landmarks in any order from 1", "CSV",
			"Y,curve,x,Landmark,Group,Name\n4,9,3,2,f,a\n2,9,1,1,f,a\n6,8,5,1,m,b\n8,7,7,2,m,b\n",
			[]Specimen{is("a", "f", one, nil), is("b", "m", two, nil)}},
		{"covariates", "CSV", "specimen,landmark,Site 1,x,y,,age\na,0,S,1,2,,7\na,1,S,3,4,,7\nb,0,T,5,6,,\nb,1,T,7,8,,\n",
			[]Specimen{is("a", "", one, map[string]string{"Site 1": "S", "age": "7"}), is("b", "", two, map[string]string{"Site 1": "T"})}},
		{"Excel's separator", "CSV", "sep=;\r\nspecimen;x;y\r\na;1;2\r\na;3;4\r\n", []Specimen{is("a", "", one, nil)}},
		{"CR alone", "CSV", "specimen,x,y\ra,1,2\ra,3,4\r", []Specimen{is("a", "", one, nil)}},
		{"UTF-16", "CSV", "\xff\xfen\x00a\x00m\x00e\x00\t\x00x\x00\t\x00y\x00\n\x00\xe9\x00\t\x001\x00\t\x002\x00\n\x00\xe9\x00\t\x003\x00\t\x004\x00", []Specimen{is("é", "", one, nil)}},
		{"specimens interleaved", "CSV", "specimen,landmark,x,y\na,0,1,2\nb,0,5,6\na,1,3,4\nb,1,7,8\n",
			[]Specimen{is("a", "", one, nil), is("b", "", two, nil)}},
		{"one shape, nothing but coordinates", "CSV", "x,y\n1,2\n3,4\n", []Specimen{is("specimen01", "", one, nil)}},
		{"decimal commas", "CSV", "\ufeffspecimen;age;note;x;y\r\na;12,5;1,2,3;1;2,0\r\na;12,5;1,2,3;300e-2;4,000\r\n", []Specimen{is("a", "", one, map[string]string{"age": "12.5", "note": "1,2,3"})}},
		{"decimal commas behind tabs", "CSV", "x\ty\n1,000\t2\n3,00\t4\n", []Specimen{is("specimen01", "", one, nil)}},
		{"semicolons, byte-order mark, CRLF", "CSV", "\ufeffspecimen;x;y;z\r\na;1;2;3\r\na;4;5;6\r\n", []Specimen{is("a", "", space, nil)}},
		{"tabs and spaces", "CSV", "specimen\tx\ty\na b\t 1\t2\na b\t3\t4 \n", []Specimen{is("a b", "", one, nil)}},
		{"quotes", "CSV", "\"specimen\",\"x\",\"y\"\n\"Smith, 3\",1,2\n\"Smith, 3\",3,4\n", []Specimen{is("Smith, 3", "", one, nil)}},
		{"missing", "CSV", "specimen,x,y\na,1,\na,NA,nan\n", []Specimen{is("a", "", [][]float64{{1, na}, {na, na}}, nil)}},
		{"wide from 1", "wide CSV", "id,group,x1,y1,x2,y2\na,f,1,2,3,4\nb,m,5,6,7,8\n", []Specimen{is("a", "f", one, nil), is("b", "m", two, nil)}},
		{"wide with covariates", "wide CSV", "id,x1,y1,x2,y2,age\na,1,2,3,4,7\nb,5,6,7,8,9\n",
			[]Specimen{is("a", "", one, map[string]string{"age": "7"}), is("b", "", two, map[string]string{"age": "9"})}},
		{"wide from 0, columns by axis, other spelling", "wide CSV", "x.0,x.1,y.0,y.1,name\n1,3,2,4,a\n", []Specimen{is("a", "", one, nil)}},
		{"wide as write.csv(two.d.array(A)) writes it in R", "wide CSV", "\"\",\"1.X\",\"1.Y\",\"2.X\",\"2.Y\"\n\"a\",1,2,3,4\n\"b\",5,6,7,8\n",
			[]Specimen{is("a", "", one, nil), is("b", "", two, nil)}},
		{"untitled columns beside names", "wide CSV", ",id,x1,y1,,x2,y2\n8,a,1,2,9,3,4\n8,b,5,6,9,7,8\n", []Specimen{is("a", "", one, nil), is("b", "", two, nil)}},
		{"an empty first column", "wide CSV", ",x1,y1,x2,y2\n,1,2,3,4\n,5,6,7,8\n", []Specimen{is("specimen01", "", one, nil), is("specimen02", "", two, nil)}},
		{"row names of a long table", "CSV", ",specimen,x,y\n1,a,1,2\n2,a,3,4\n", []Specimen{is("a", "", one, nil)}},
		{"wide as geomorph writes it", "wide CSV", "1.X,1.Y,1.Z,2.X,2.Y,2.Z\n1,2,3,4,5,6\n1,2,3,4,5,6\n", []Specimen{is("specimen01", "", space, nil), is("specimen02", "", space, nil)}},

		{"names from ID, then IMAGE, then numbers", "TPS", "LM=2\n1 2\n3 4\nIMAGE=a.jpg\nID=a\nLM=2\n5 6\n7 8\nIMAGE=b.jpg\nLM=2\n1 2\n3 4\n",
			[]Specimen{is("a", "", one, nil), is("b.jpg", "", two, nil), is("specimen03", "", one, nil)}},
		{"spaces, case, comments, unknown keys, blank lines, tabs", "TPS",
			"# made by hand\n\" and\n\nlm = 2\n  1\t2 \n3   4\nid = a=1\nCOMMENT=group=old\nVARIABLES=2\n\n", []Specimen{is("a=1", "old", one, nil)}},
		{"LM3", "TPS", "LM3=2\n1 2 3\n4 5 6\nID=a\n", []Specimen{is("a", "", space, nil)}},
		{"scale", "TPS", "LM=2\n2 4\n6 8\nID=a\nSCALE=0.5\nLM=0\nIMAGE=blank.jpg\nLM=2\n10 12\n14 16\nSCALE=0.5\nID=b\n",
			[]Specimen{is("a", "", one, nil), is("blank.jpg", "", nil, nil), is("b", "", two, nil)}},
		{"curves after landmarks", "TPS", "LM=1\n1 2\nCURVES=2\nPOINTS=2\n3 4\n5 6\nPOINTS=1\n7 8\nOUTLINES=1\nPOINTS=1\n9 10\nID=a\n",
			[]Specimen{is("a", "", [][]float64{{1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 10}}, nil)}},
		{"missing as NA", "TPS", "LM=2\nNA NA\n3 4\nID=a\n", []Specimen{is("a", "", [][]float64{{na, na}, {3, 4}}, nil)}},
		{"missing as negative pixels", "TPS", "LM=3\n-1 -1\n3 4\n0 5\nIMAGE=a\n", []Specimen{is("a", "", [][]float64{{na, na}, {3, 4}, {0, 5}}, nil)}},
		{"negative coordinates of an aligned shape", "TPS", "LM=3\n-1 -1\n-3 4\n0 5\nIMAGE=a\n", []Specimen{is("a", "", [][]float64{{-1, -1}, {-3, 4}, {0, 5}}, nil)}},
		{"negative coordinates without an image", "TPS", "LM=2\n-1 -1\n3 4\nID=a\n", []Specimen{is("a", "", [][]float64{{-1, -1}, {3, 4}}, nil)}},
		{"CR alone", "TPS", "LM=2\r1 2\r3 4\rID=a\r", []Specimen{is("a", "", one, nil)}},

		{"plain", "NTS", "\"comment\n'comment\n1 2 4 0 DIM=2\n1 2 3 4\n5 6 7 8\n", []Specimen{is("specimen01", "", one, nil), is("specimen02", "", two, nil)}},
		{"labels, missing code", "NTS", "1 2L 4L 1 -999 dim = 2\na b\nx1 y1 x2 y2\n1 2 3 4\n-999 -999.0 7 8\n",
			[]Specimen{is("a", "", one, nil), is("b", "", [][]float64{{na, na}, {7, 8}}, nil)}},
		{"labels begin rows", "NTS", "1 2B 4 0 DIM=2\na 1 2 3 4\nb 5 6 7 8\n", []Specimen{is("a", "", one, nil), is("b", "", two, nil)}},
		{"labels end rows", "NTS", "1 2E 4 0 DIM=2\n1 2 3 4 a\n5 6 7 8 b\n", []Specimen{is("a", "", one, nil), is("b", "", two, nil)}},
		{"numbers across lines", "NTS", "1 2 4 0 DIM=2\n1 2 3\n4 5\n6 7 8", []Specimen{is("specimen01", "", one, nil), is("specimen02", "", two, nil)}},
		{"Landmark Editor", "NTS", "1 2L 6 1 9999 Dim=3\na\nb\n1 2 3\n4 5 6\n1 2 3\n4 5 6\n", []Specimen{is("a", "", space, nil), is("b", "", space, nil)}},
		{"one specimen, a row a landmark", "NTS", "1 2L 3 0 DIM=3\nnasion bregma\n1 2 3\n4 5 6\n", []Specimen{is("specimen01", "", space, nil)}},

		{"sections in any case and order, names with spaces, other sections", "Morphologika",
			"[Landmarks]\n2\n[Individuals]\n2\n[dimensions]\n2\n[names]\nSpecimen 1\nSpecimen 2\n[labels]\nSex Age\n[labelvalues]\nfemale old\nmale old\n" +
				"[rawpoints]\n'#1\n1 2\n3\t4\n\n'#2\n5 6\n7 8\n[wireframe]\n[polygons]\n1 2\n", []Specimen{is("Specimen 1", "", one, map[string]string{"Sex": "female", "Age": "old"}), is("Specimen 2", "", two, map[string]string{"Sex": "male", "Age": "old"})}},
		{"no names", "Morphologika", "[individuals]\n1\n[landmarks]\n2\n[dimensions]\n3\n[rawpoints]\n1 2 3\n4 5 6", []Specimen{is("specimen01", "", space, nil)}},
	} {
		t.Run(c.what, func(t *testing.T) {
			for _, codec := range codecs {
				if codec.name != c.codec {
					continue
				}
				got, err := codec.read(strings.NewReader(c.text), "dir/shapes.txt")
				if err != nil {
					t.Fatal(err)
				}
				want := &Dataset{Name: "shapes.txt", Source: "dir/shapes.txt", Specimens: c.want}
				if c.what == "curves after landmarks" {
					want.Curves = [][2]int{{1, 3}, {3, 4}, {4, 5}}
				}
				if diff := cmp.Diff(want, got, same, cmpopts.IgnoreFields(Dataset{}, "Notes", "FromZero")); diff != "" { // see TestSpreadsheets
					t.Error(diff)
				}
			}
		})
	}
}

// Arrays that NumPy 2.2.6 wrote, in the versions, byte orders and layouts that their names say.
func TestReadNumPyFiles(t *testing.T) {
	first := [][]float64{{1.5, -2.25}, {3, na}, {0.1, 1e-300}}
	second := [][]float64{{7, 8}, {9, 10}, {11, 12}}
	for name, want := range map[string][]shape.Shape{
		"little_f8_c_v1.npy":       {first, second},
		"little_f8_fortran_v2.npy": {first, second},
		"big_f4_c_v3.npy":          {second},
		"big_f8_fortran_v1.npy":    {second},
	} {
		d, err := Read(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, d.Shapes(), same); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A blank record, a missing landmark, its code under a scale, and shapes of other counts survive reading, and Validate names them.
func TestValidateWhatWasRead(t *testing.T) {
	for text, want := range map[string]string{
		"LM=1\n1 2\nID=a\nLM=0\nIMAGE=b.jpg\n":     `specimen "b.jpg": no landmarks`,
		"LM=2\n1 2\nNA NA\nID=a\n":                 `specimen "a": landmark 2 is missing`,
		"LM=1\n1 2\nID=a\nLM=2\n1 2\n3 4\nID=b\n":  `specimen "b": 2 landmarks, but "a" has 1`,
		"LM=2\n1 2\n-999 -999\nID=a\nSCALE=0.05\n": `specimen "a": landmark 2 is at [-999 -999]`,
	} {
		d, err := readTPS(strings.NewReader(text), "skulls.tps")
		if err != nil {
			t.Fatal(err)
		}
		expect.Refused(t, d.Validate(), "skulls.tps: ", want)
	}
}
