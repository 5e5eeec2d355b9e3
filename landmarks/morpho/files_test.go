package morpho

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"anatomy/geom/geomtest/expect"
	"anatomy/internal/replace"
	"anatomy/landmarks/internal/text"
	"anatomy/landmarks/morpho/files"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// codec is a reader with a writer of what it reads.
type codec struct {
	name  string
	read  func(io.Reader, string) (*Dataset, error)
	write func(io.Writer, *Dataset) error
}

var codecs = []codec{
	{"CSV", ReadCSV, WriteCSV},
	{"wide CSV", ReadCSV, writeWideCSV},
	{"TPS", readTPS, writes("TPS")},
	{"NTS", reads("NTS"), writes("NTS")},
	{"Morphologika", reads("Morphologika"), writes("Morphologika")},
	{"NPY", reads("NPY"), writes("NPY")},
}

// reads is the reader of a format, and writes its writer.
func reads(format string) func(io.Reader, string) (*Dataset, error) {
	return func(r io.Reader, name string) (*Dataset, error) {
		d, err := files.Reading{}.ReadAs(format, r, name)
		return (*Dataset)(d), err
	}
}

func writes(format string) func(io.Writer, *Dataset) error {
	return func(w io.Writer, d *Dataset) error { return files.WriteAs(format, w, (*files.Data)(d)) }
}

var (
	readTPS, readFCSV, readMarkups = reads("TPS"), reads("FCSV"), reads("Markups")
	readCheckpoint, readMITK       = reads("Checkpoint"), reads("MITK")
)

// same compares specimens, NaN with NaN and −0 apart from 0.
var same = cmp.Options{cmpopts.EquateEmpty(), cmp.Comparer(func(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
})}

// datasets generates what every format can hold; names and groups with what text formats might trip over.
var datasets = rapid.Custom(func(t *rapid.T) *Dataset {
	name := rapid.StringMatching(`[A-Za-z0-9"',;=#\[\]é_.-]{0,12}`)
	coordinate := rapid.OneOf(
		rapid.Float64().Filter(func(v float64) bool { return !math.IsInf(v, 0) }),
		rapid.SampledFrom([]float64{0, math.Copysign(0, -1), -999, -9999, -1, 0.1, 5e-324, math.MaxFloat64, math.NaN()}),
	)
	d := &Dataset{Name: "generated", Source: "generated"}
	n, dim := rapid.IntRange(2, 5).Draw(t, "landmarks"), rapid.IntRange(2, 3).Draw(t, "dimension")
	grouped := rapid.Bool().Draw(t, "grouped")
	for i := range rapid.IntRange(1, 4).Draw(t, "specimens") {
		s := Specimen{Name: fmt.Sprintf("s%d", i) + name.Draw(t, "name")}
		if grouped {
			s.Group = "g" + name.Draw(t, "group") + rapid.SampledFrom([]string{"", " two"}).Draw(t, "second word")
		}
		for range n {
			point := rapid.SliceOfN(coordinate, dim, dim).Filter(func(p []float64) bool { return !files.IsCode(p, -1) }) // which TPS has for a missing one
			s.Points = append(s.Points, point.Draw(t, "point"))
		}
		s.Covariates = rapid.MapOfN(rapid.SampledFrom([]string{"age", "Site, old", "é=\"1\"", "xy"}), rapid.StringMatching(`[A-Za-z0-9"',;é]{1,5}`), 0, 3).Draw(t, "covariates")
		d.Specimens = append(d.Specimens, s)
	}
	if p := d.Specimens[0].Points[0]; dim == 3 && math.IsNaN(p[2]) {
		p[2] = 0 // where no landmark has z, readers leave it out
	}
	return d
})

// Every format gives back what was written, each coordinate to the last bit.
func TestRoundTrip(t *testing.T) {
	for _, c := range codecs {
		t.Run(c.name, rapid.MakeCheck(func(t *rapid.T) {
			want := datasets.Draw(t, "data")
			var file bytes.Buffer
			if err := c.write(&file, want); err != nil {
				t.Fatal(err)
			}
			text := file.String()
			got, err := c.read(&file, "generated")
			if err != nil {
				t.Fatalf("%v in\n%s", err, text)
			}
			if c.name == "NPY" { // has no names
				for i := range want.Specimens {
					want.Specimens[i].Name, want.Specimens[i].Group = fmt.Sprintf("specimen%02d", i+1), ""
				}
			}
			if !strings.HasSuffix(c.name, "CSV") { // alone holds covariates
				for i := range want.Specimens {
					want.Specimens[i].Covariates = nil
				}
			}
			if diff := cmp.Diff(want, got, same); diff != "" {
				t.Fatalf("%s\nin\n%s", diff, text)
			}
		}))
	}
}

func TestRoundTripThroughFiles(t *testing.T) {
	want := Brain3D()
	for _, name := range []string{"a.csv", "a.tsv", "a.TPS", "a.nts", "a.dta", "a.txt", "a.morphologika", "a.npy"} {
		path := filepath.Join(t.TempDir(), name)
		if err := Write(path, want); err != nil {
			t.Fatal(err)
		}
		got, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		if got.Name != name || got.Source != path {
			t.Errorf("name %q, source %q", got.Name, got.Source)
		}
		if name == "a.npy" {
			for i := range got.Specimens {
				got.Specimens[i].Name, got.Specimens[i].Group = want.Specimens[i].Name, want.Specimens[i].Group
			}
		}
		if diff := cmp.Diff(want.Specimens, got.Specimens); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Without a telling extension the contents decide.
func TestReadByContents(t *testing.T) {
	want := GorillaSkulls()
	for _, c := range codecs {
		for _, name := range []string{"shapes", "shapes.txt", "shapes.dat"} {
			path := filepath.Join(t.TempDir(), name)
			if err := replace.File(path, func(w io.Writer) error { return c.write(w, want) }); err != nil {
				t.Fatal(err)
			}
			got, err := Read(path)
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			if diff := cmp.Diff(want.Shapes(), got.Shapes()); diff != "" {
				t.Errorf("%s: %s", c.name, diff)
			}
		}
	}
	path := filepath.Join(t.TempDir(), "shapes.txt")
	for text, want := range map[string]string{"": "the file is empty", "nothing\nof the kind\n": "neither the extension nor the contents", "a,b\x00": "neither"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Read(path)
		advised(t, err, path, want)
	}
	_, err := Read(filepath.Join(t.TempDir(), "none.csv"))
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestWriteReplacesWholly(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "shapes.nts")
	if err := Write(path, GorillaSkulls()); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	bad := GorillaSkulls()
	bad.Specimens[58].Points[7][1] = math.Inf(1)
	expect.Refused(t, Write(path, bad), `specimen "male29": landmark 7: y is infinite`)
	broken := errors.New("disk full")
	if err := replace.File(path, func(w io.Writer) error {
		io.WriteString(w, "half of it")
		return broken
	}); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, after) {
		t.Error("a write that failed changed the file")
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
	expect.Refused(t, Write(filepath.Join(dir, "shapes.xlsx"), GorillaSkulls()), `".xlsx" names no format`, ".csv")
}

// What a format cannot hold is an error before a byte is written.
func TestWriteRefuses(t *testing.T) {
	points := [][]float64{{0, 0}, {1, 0}}
	all := []string{"CSV", "TPS", "NTS", "Morphologika", "NPY"}
	rectangular := []string{"NTS", "Morphologika", "NPY"}
	for name, c := range map[string]struct {
		specimens []Specimen
		formats   []string
		want      string
	}{
		"nothing":       {nil, all, "no specimens"},
		"no name":       {[]Specimen{{Points: points}}, all, "specimen number 0 has no name"},
		"line break":    {[]Specimen{{Name: "a\nb", Points: points}}, all, "line break"},
		"outer space":   {[]Specimen{{Name: "a", Group: "g ", Points: points}}, all, "spaces around"},
		"infinite":      {[]Specimen{{Name: "a", Points: [][]float64{{0, math.Inf(1)}}}}, all, "landmark 0: y is infinite"},
		"ragged":        {[]Specimen{{Name: "a", Points: [][]float64{{0, 1}, {0, 1, 2}}}}, all, "landmark 1 has 3 coordinates"},
		"line":          {[]Specimen{{Name: "a", Points: [][]float64{{0}}}}, all, "landmark 0 has 1 coordinates"},
		"counts":        {[]Specimen{{Name: "a", Points: points}, {Name: "b", Points: points[:1]}}, rectangular, `specimen "b" does not have the 2 landmarks`},
		"no landmarks":  {[]Specimen{{Name: "a"}}, append(rectangular, "CSV"), "no landmarks"},
		"dimensions":    {[]Specimen{{Name: "a", Points: points}, {Name: "b", Points: [][]float64{{0, 0, 0}, {1, 0, 0}}}}, append(rectangular, "CSV"), `"b"`},
		"name twice":    {[]Specimen{{Name: "a", Points: points}, {Name: "a", Points: points}}, []string{"CSV"}, `two specimens "a"`},
		"space":         {[]Specimen{{Name: "a b", Points: points}}, []string{"NTS"}, "no spaces"},
		"one landmark":  {[]Specimen{{Name: "a", Points: points[:1]}}, []string{"NTS"}, "one landmark"},
		"covariate":     {[]Specimen{{Name: "a", Points: points, Covariates: map[string]string{"x": "1"}}}, []string{"CSV"}, "rename it"},
		"untitled":      {[]Specimen{{Name: "a", Points: points, Covariates: map[string]string{"": "1"}}}, []string{"CSV"}, "rename it"},
		"value":         {[]Specimen{{Name: "a", Points: points, Covariates: map[string]string{"age": "1\n"}}}, []string{"CSV"}, "line break"},
		"section":       {[]Specimen{{Name: "[a", Points: points}}, []string{"Morphologika"}, "would be a section"},
		"half in group": {[]Specimen{{Name: "a", Group: "g", Points: points}, {Name: "b", Points: points}}, []string{"Morphologika"}, `"b" has no group`},
	} {
		for _, codec := range codecs {
			for _, format := range c.formats {
				if codec.name == format {
					t.Run(name+" in "+format, func(t *testing.T) {
						var file bytes.Buffer
						advised(t, codec.write(&file, &Dataset{Name: "shapes", Specimens: c.specimens}), "shapes", c.want)
						if file.Len() > 0 {
							t.Errorf("%d bytes written", file.Len())
						}
					})
				}
			}
		}
	}
}

// Bad files and what the message must say.
var malformed = []struct {
	codec, text string
	want        []string
}{
	{"CSV", "", []string{"bad.csv", "empty"}},
	{"CSV", "specimen,group,landmark,x,y\n", []string{"bad.csv", "no rows"}},
	{"CSV", "a,b,c\n1,2,3\n", []string{"bad.csv:1:", `the header "a,b,c" names no columns x, y`}},
	{"CSV", "sep=;\nspecimen,x,y\na,1,2\n", []string{"bad.csv:2:", "by the ';' that sep= names, no line names columns x, y"}},
	{"CSV", "sep=;\nspecimen;x;y\n\na;1;1_000\n", []string{"bad.csv:4:", `"1_000" is not a number`}},
	{"CSV", "sep=a\nspecimen;x;y\n", []string{"bad.csv:1:", `"a" does not separate columns`}},
	{"CSV", "sep=;\nspecimen;x;y\na;1;\"2\n", []string{"bad.csv:"}},
	{"CSV", "x,y,age,sex,age\n1,2,3,f,4\n", []string{"bad.csv:1:", `columns 3 and 5 of the header both are "age"`}},
	{"CSV", "x\x00,\x00y\x00\n\x00", []string{"bad.csv:1:", "UTF-16 without its byte-order mark"}},
	{"CSV", "specimen,x\na,1\n", []string{"bad.csv:1:", "lacks the column x or y"}},
	{"CSV", "specimen,x,y,x\na,1,2,3\n", []string{"bad.csv:1:", `columns 2 and 4 of the header both are "x"`}},
	{"CSV", "specimen,x,y,x1,y1\na,1,2,3,4\n", []string{"bad.csv:1:", "keep one layout"}},
	{"CSV", "specimen,landmark,x1,y1\na,1,2,3\n", []string{"bad.csv:1:", "keep one layout"}},
	{"CSV", "specimen,landmark,x,y\na,0,1,2\na,1,1\n", []string{"bad.csv:3:", "3 columns", "header has 4"}},
	{"CSV", "specimen,landmark,x,y\na,0,1,2\na,1,1,zwei\n", []string{"bad.csv:3:", `specimen "a", landmark 1`, `y = "zwei" is not a number`}},
	{"CSV", "specimen,landmark,x,y\na,0,1,2\na,1,1,\"2,5\"\n", []string{"bad.csv:3:", `y = "2,5"`, "decimal point"}},
	{"CSV", "specimen;landmark;x;y\na;0;1.5;2\na;1;1;2,5\n", []string{"bad.csv:3:", "2,5, but 1.5 in line 2"}},
	{"CSV", "specimen;landmark;x;y\na;0;1;2,500\na;1;1;-12,345\n", []string{"bad.csv:2:", "2,500 may be 2.500 or 2500"}},
	{"CSV", "specimen;landmark;x;y\na;0;1;2,5\na;1;1;1.234,5\n", []string{"bad.csv:3:", `"1.234,5" is not a number`}},
	{"CSV", "specimen,landmark,x,y\na,0,1,2\na,1,inf,2\n", []string{"bad.csv:3:", "landmark 1", `x = "inf" is infinite`}},
	{"CSV", "specimen,landmark,x,y\na,0,1,2\na,1,1e999,2\n", []string{"bad.csv:3:", "landmark 1", `"1e999" is infinite`}},
	{"CSV", "specimen,landmark,x,y\na,0,1,2\na,0,1,2\n", []string{"bad.csv:3:", `specimen "a": landmark 0 stands in line 2 already`}},
	{"CSV", "specimen,landmark,x,y\na,0,1,2\na,2,1,2\n", []string{"bad.csv:3:", "landmark 2, but there is no landmark 1"}},
	{"CSV", "specimen,landmark,x,y\na,0,1,2\nb,1,1,2\n", []string{"bad.csv:3:", `specimen "b": landmark 1, but there is no landmark 0`}},
	{"CSV", "specimen,landmark,x,y\na,1000000000000,1,2\n", []string{"bad.csv:2:", "there is no landmark 1;"}},
	{"CSV", "specimen,landmark,x,y\na,0,1,2\na,nose,1,2\n", []string{"bad.csv:3:", `landmark "nose" is not a whole number`}},
	{"CSV", "specimen,landmark,x,y\n,0,1,2\n", []string{"bad.csv:2:", "no name"}},
	{"CSV", "specimen,group,landmark,x,y\na,f,0,1,2\na,m,1,1,2\n", []string{"bad.csv:3:", `group "m" here and in "f" in line 2`}},
	{"CSV", "specimen,landmark,x,y\n\"a,0,1,2\n", []string{"bad.csv:"}},
	{"wide CSV", "specimen,x1,y1,x3,y3\na,1,2,3,4\n", []string{"bad.csv:1:", "columns of landmark 1 (x2, y2"}},
	{"wide CSV", "specimen,x1,y1,x2\na,1,2,3\n", []string{"bad.csv:1:", "coordinate of landmark 1 (x2, y2"}},
	{"wide CSV", "specimen,x1,y1,z1,x2,y2\na,1,2,3,4,5\n", []string{"bad.csv:1:", "coordinate of landmark 1 (x2, y2 or z2)"}},
	{"wide CSV", "specimen,x1,y1,x2,y2\na,1,2,3,4\nb,1,2,3,?\n", []string{"bad.csv:3:", `specimen "b", landmark 1: y = "?"`}},

	{"TPS", "", []string{"bad.tps", "no LM="}},
	{"TPS", "hello\n", []string{"bad.tps:1:", `"hello" before the first LM=`}},
	{"TPS", "IMAGE=a.jpg\nLM=1\n1 2\n", []string{"bad.tps:1:", "before the first LM="}},
	{"TPS", "LM=zwei\n", []string{"bad.tps:1:", `"zwei" is not a whole number`}},
	{"TPS", "LM=-1\n", []string{"bad.tps:1:", "not a whole number"}},
	{"TPS", "LM=1000000000000\n1 2\n", []string{"bad.tps:1:", "more than the"}},
	{"TPS", "LM=99999999999999999999999\n1 2\n", []string{"bad.tps:1:", "more than the"}},
	{"TPS", "LM=3\n1 2\n3 4\nID=a\n", []string{"bad.tps:4:", "where landmark 2 belongs", "line 1 announces 1 more"}},
	{"TPS", "LM=3\n1 2\n3 4\n", []string{"bad.tps:3:", "ends before landmark 2"}},
	{"TPS", "LM=2\n1 2\n3 4 5\n", []string{"bad.tps:3:", "landmark 1: 3 values where 2 coordinates belong"}},
	{"TPS", "LM3=1\n1 2\n", []string{"bad.tps:2:", "landmark 0: 2 values where 3 coordinates belong"}},
	{"TPS", "LM=2\n1 2\n3,500 4\n", []string{"bad.tps:3:", "3,500 may be 3.500 or 3500", "decimal point"}},
	{"TPS", "LM=2\n1 2.5\n3,5 4\n", []string{"bad.tps:3:", "3,5, but 2.5 in line 2", "decimal point"}},
	{"TPS", "LM=1\n1 Infinity\n", []string{"bad.tps:2:", `landmark 0: y = "Infinity" is infinite`}},
	{"TPS", "LM=1\n1 2\n3 4\n", []string{"bad.tps:3:", "one of the 1 points announced for the record of line 1"}},
	{"TPS", "LM=0\nCURVES=2\nPOINTS=1\n1 2\nID=a\n", []string{"bad.tps:1:", "1 more curves"}},
	{"TPS", "LM=0\nPOINTS=1\n1 2\n", []string{"bad.tps:2:", "announce no further curve"}},
	{"TPS", "LM=1\n1 2\nIMAGE=a\nIMAGE=b\n", []string{"bad.tps:4:", "second IMAGE=", "line 3"}},
	{"TPS", "LM=1\n1 2\nSCALE=0\n", []string{"bad.tps:3:", `SCALE="0" is not a positive number`}},
	{"TPS", "LM=1\n1e300 2\nSCALE=1e300\n", []string{"bad.tps:1:", "landmark 0: x times SCALE is infinite"}},

	{"NTS", "", []string{"bad.nts", "no parameter line"}},
	{"NTS", "\" a comment\n", []string{"bad.nts", "no parameter line"}},
	{"NTS", "\" a comment\n1 2 4\n", []string{"bad.nts:2:", "is no parameter line"}},
	{"NTS", "2 2 4 0 DIM=2\n", []string{"bad.nts:1:", "is no parameter line"}},
	{"NTS", "1 2 4 0 DIM=4\n", []string{"bad.nts:1:", "2 or 3 dimensions"}},
	{"NTS", "1 2 5 0 DIM=2\n", []string{"bad.nts:1:", "not a multiple of DIM=2"}},
	{"NTS", "1 0 4 0 DIM=2\n", []string{"bad.nts:1:", "no landmarks"}},
	{"NTS", "1 1000000000000 4 0 DIM=2\n", []string{"bad.nts:1:", "more than the"}},
	{"NTS", "1 1000000 1000000 0 DIM=2\n", []string{"bad.nts:1:", "more than the"}},
	{"NTS", "1 2 4 1 DIM=2\n", []string{"bad.nts:1:", "not their code"}},
	{"NTS", "1 2 4 1 none DIM=2\n", []string{"bad.nts:1:", "code of missing values"}},
	{"NTS", "1 2 4 0 DIM=2\n1 2 3 4\n5 6 7\n", []string{"bad.nts:3:", "ends before", "specimen 2 of 2, landmark 1: y"}},
	{"NTS", "1 2 4 0 DIM=2\n1 2 3 4\n5 6 q 8\n", []string{"bad.nts:3:", `specimen 2 of 2, landmark 1: x = "q"`}},
	{"NTS", "1 3 2 0 DIM=2\n1 2\n3 4\n5 q\n", []string{"bad.nts:4:", `landmark 2: y = "q"`}},
	{"NTS", "1 2L 4 0 DIM=2\na\n", []string{"bad.nts:2:", "label 2"}},
	{"NTS", "1 1 4 0 DIM=2\n1 2 3 4\n5 6\n", []string{"bad.nts:3:", `"5" after the last of 1 × 4`}},
	{"NTS", "\"group=a\n1 2 4 0 DIM=2\n1 2 3 4\n5 6 7 8\n", []string{"bad.nts", "1 comments", "2 specimens"}},

	{"Morphologika", "", []string{"bad.txt", "no [rawpoints]"}},
	{"Morphologika", "hello\n", []string{"bad.txt:1:", "before the first [section]"}},
	{"Morphologika", "[individuals\n", []string{"bad.txt:1:", "lacks its ]"}},
	{"Morphologika", "[individuals] 5\n", []string{"bad.txt:1:", `" 5" after "[individuals]"`}},
	{"Morphologika", "[individuals]\n1\n[individuals]\n", []string{"bad.txt:3:", "second [individuals]", "line 1"}},
	{"Morphologika", "[individuals]\n1\n2\n", []string{"bad.txt:3:", "second number"}},
	{"Morphologika", "[individuals]\n1\n[landmarks]\n1\n[rawpoints]\n1 2\n", []string{"bad.txt:5:", "before a number in [dimensions]"}},
	{"Morphologika", "[individuals]\n1\n[landmarks]\n0\n[dimensions]\n2\n[rawpoints]\n", []string{"bad.txt:7:", "[landmarks] is 0"}},
	{"Morphologika", "[individuals]\n1\n[landmarks]\n1\n[dimensions]\n4\n[rawpoints]\n", []string{"bad.txt:7:", "[dimensions] is 4"}},
	{"Morphologika", "[individuals]\n1000000000000\n", []string{"bad.txt:2:", "more than the"}},
	{"Morphologika", "[individuals]\n1000000\n[landmarks]\n1000000\n[dimensions]\n2\n[rawpoints]\n", []string{"bad.txt:7:", "more than the"}},
	{"Morphologika", "[individuals]\n2\n[landmarks]\n2\n[dimensions]\n2\n[rawpoints]\n1 2\n3 4\n5 6\n", []string{"bad.txt:10:", "ends before landmark 1 of specimen 2"}},
	{"Morphologika", "[individuals]\n2\n[landmarks]\n2\n[dimensions]\n2\n[rawpoints]\n1 2\n3 4\n5 6\n7 x\n", []string{"bad.txt:11:", `landmark 1: y = "x"`, "specimen 2 of 2"}},
	{"Morphologika", "[individuals]\n1\n[landmarks]\n1\n[dimensions]\n2\n[rawpoints]\n1 2\n3 4\n", []string{"bad.txt:9:", "after the last"}},
	{"Morphologika", "[individuals]\n1\n[landmarks]\n1\n[dimensions]\n2\n[names]\na\nb\n[rawpoints]\n1 2\n", []string{"bad.txt:7:", "2 lines in [names], but 1 individuals"}},

	{"NPY", "", []string{"bad.npy", "header is incomplete: EOF"}},
	{"NPY", "specimen,x,y", []string{"bad.npy", "not an NPY file"}},
	{"NPY", "\x93NUMPY\x09\x00", []string{"bad.npy", "version 9"}},
	{"NPY", "\x93NUMPY\x01\x00", []string{"bad.npy", "header is incomplete: EOF"}},
	{"NPY", "\x93NUMPY\x01\x00\xff\x00{}", []string{"bad.npy", "header is incomplete: unexpected EOF"}},
	{"NPY", "\x93NUMPY\x02\x00\xff\xff\xff\xff{}", []string{"bad.npy", "header of 4294967295 bytes"}},
	{"NPY", npy("{}", ""), []string{"bad.npy", "lacks descr"}},
	{"NPY", npy("{'descr': '<i8', 'fortran_order': False, 'shape': (2, 2), }", ""), []string{"bad.npy", `type "<i8"`, "float64"}},
	{"NPY", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (4,), }", ""), []string{"bad.npy", "shape [4]"}},
	{"NPY", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (), }", ""), []string{"bad.npy", "not a whole number"}},
	{"NPY", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (5, 4), }", ""), []string{"bad.npy", "shape [5 4]"}},
	{"NPY", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 2), }", ""), []string{"bad.npy", "no landmarks"}},
	{"NPY", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 2), }", ""), []string{"bad.npy", "more than the"}},
	{"NPY", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000, 2), }", ""), []string{"bad.npy", "more than the"}},
	{"NPY", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2), }", "0123456789"), []string{"bad.npy", "after 1 of the 2 numbers"}},
	{"NPY", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2), }", "0123456789abcdefg"), []string{"bad.npy", "bytes follow"}},
	{"NPY", npy("{'descr': '>f4', 'fortran_order': False, 'shape': (2, 2), }", "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x7f\x80\x00\x00"), []string{"bad.npy", "landmark 1: y is infinite"}},
}

// npy is a version 1 file with this header and array.
func npy(header, array string) string {
	return "\x93NUMPY" + "\x01\x00" + string([]byte{byte(len(header)), byte(len(header) >> 8)}) + header + array
}

func TestMalformed(t *testing.T) {
	file := map[string]string{"CSV": "bad.csv", "wide CSV": "bad.csv", "TPS": "bad.tps", "NTS": "bad.nts", "Morphologika": "bad.txt", "NPY": "bad.npy"}
	for _, m := range malformed {
		for _, c := range codecs {
			if c.name == m.codec {
				t.Run(m.codec+" "+text.Clip(m.text), func(t *testing.T) {
					_, err := c.read(strings.NewReader(m.text), file[c.name])
					advised(t, err, m.want...)
				})
			}
		}
	}
}

// A read error in the middle of a file is reported, not taken for its end.
func TestBrokenReader(t *testing.T) {
	broken := errors.New("cable pulled")
	for _, c := range codecs {
		var file bytes.Buffer
		if err := c.write(&file, GorillaSkulls()); err != nil {
			t.Fatal(err)
		}
		for part := 0; part <= file.Len(); part += 1 + part/10 {
			_, err := c.read(io.MultiReader(bytes.NewReader(file.Bytes()[:part]), errorReader{broken}), "broken")
			if !errors.Is(err, broken) {
				t.Errorf("%s, after %d bytes: %v", c.name, part, err)
			}
		}
	}
}

type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) { return 0, r.err }

// Ten megabytes of noise, alone and after the beginning of a good file: an error, in bounded memory.
func TestNoise(t *testing.T) {
	noise := make([]byte, 10<<20)
	r := rand.New(rand.NewPCG(11, 12))
	for i := 0; i < len(noise); i += 8 {
		v := r.Uint64()
		for k := range 8 {
			noise[i+k] = byte(v >> (8 * k))
		}
	}
	digits := bytes.Map(func(b rune) rune { return rune("0123456789 .-\t,;"[b&15]) }, noise[:1<<20])
	heads := map[string]string{
		"CSV": "specimen,landmark,x,y\n", "wide CSV": "specimen,x1,y1\n", "TPS": "LM=100000000\n", "NTS": "1 10000 10000 0 DIM=2\n",
		"Morphologika": "[individuals]\n1000\n[landmarks]\n10000\n[dimensions]\n3\n[rawpoints]\n",
		"NPY":          npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000, 40000, 3), }", ""),
	}
	for _, c := range codecs {
		for what, head := range map[string]string{"noise": "", "head and noise": heads[c.name]} {
			for _, body := range [][]byte{noise, digits} {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				_, err := c.read(io.MultiReader(strings.NewReader(head), bytes.NewReader(body)), "noise")
				runtime.ReadMemStats(&after)
				expect.Refused(t, err, "noise")
				if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 500<<20 {
					t.Errorf("%s, %s: %d MB allocated", c.name, what, allocated>>20)
				}
			}
		}
	}
}

// fuzz feeds a reader anything; what it accepts is finite and, where the writer takes it, comes back the same.
func fuzz(f *testing.F, codecName string, seeds ...string) {
	var c codec
	for _, c = range codecs {
		if c.name == codecName {
			break
		}
	}
	var file bytes.Buffer
	small := &Dataset{Name: "small", Specimens: []Specimen{
		{Name: "a", Group: "g", Points: [][]float64{{0, 1.5}, {-2, math.NaN()}}}, {Name: "b", Group: "h", Points: [][]float64{{1e-300, 3}, {4, 5}}}}}
	if err := c.write(&file, small); err != nil {
		f.Fatal(err)
	}
	f.Add(file.Bytes())
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	for _, m := range malformed {
		if m.codec == c.name {
			f.Add([]byte(m.text))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d := readAnything(t, c.read, text)
		var file bytes.Buffer
		if d == nil || c.write(&file, d) != nil {
			return
		}
		written := file.String()
		again, err := c.read(&file, "fuzz")
		if err != nil {
			t.Fatalf("%v in what was written:\n%s", err, written)
		}
		if diff := cmp.Diff(d.Specimens, again.Specimens, same); diff != "" {
			t.Fatalf("%s\nin what was written:\n%s", diff, written)
		}
	})
}

// readAnything wants a reader to take a text, with finite coordinates, or to return nothing and an error that names the file.
func readAnything(t *testing.T, read func(io.Reader, string) (*Dataset, error), text []byte) *Dataset {
	d, err := read(bytes.NewReader(text), "fuzz")
	if err != nil {
		if !strings.HasPrefix(err.Error(), "fuzz:") {
			t.Errorf("the error does not name the file: %v", err)
		}
		return nil
	}
	for _, s := range d.Specimens {
		for _, p := range s.Points {
			for _, v := range p {
				if math.IsInf(v, 0) {
					t.Fatalf("an infinite coordinate in %q", s.Name)
				}
			}
		}
	}
	return d
}

func FuzzReadCSV(f *testing.F) {
	fuzz(f, "CSV", "x,y\n1,2\n3,4\n", "\ufeffname;group;x;y;z\na;f;1;2;3\n", "id\tx_1\ty_1\tx_2\ty_2\n1\t1\t2\t3\t\n", "1.x,1.y\n1,2\n")
}

func FuzzReadTPS(f *testing.F) {
	fuzz(f, "TPS", "LM=2\n1 2\n-1 -1\nIMAGE=a.jpg\nID=0\nSCALE=0.5\nLM=0\nIMAGE=b.jpg\n", "LM3=1\r1 2 3\rID=a\r", "LM=0\nCURVES=1\nPOINTS=2\n1 2\n3 4\n")
}

func FuzzReadNTS(f *testing.F) {
	fuzz(f, "NTS", "'c\n1 2B 4L 1 9 dim=2\na b c d\nr 1 2 3 9\ns 1 2\n3 4", "1 3 2 0 DIM=2\n1 2\n3 4\n5 6\n", "1 1E 6 0 DIM=3\n1 2 3 4 5 6 e\n")
}

func FuzzReadMorphologika(f *testing.F) {
	fuzz(f, "Morphologika", "[Individuals]\r\n1\r\n[landmarks]\r\n2\r\n[Dimensions]\r\n3\r\n[rawpoints]\r\n'1\r\n1 2 3\r\n4 5 NA\r\n[wireframe]\r\n1 2\r\n")
}

func FuzzReadNPY(f *testing.F) {
	fuzz(f, "NPY", npy("{'descr': '>f4', 'fortran_order': True, 'shape': (1, 2), }", "\x00\x00\x00\x00\x7f\xc0\x00\x00"))
}
