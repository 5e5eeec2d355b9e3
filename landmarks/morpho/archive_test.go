package morpho

import (
	"archive/zip"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"anatomy/geom/geomtest/expect"
)

// What each format holds comes back to the last bit: missing landmarks, labels, units, closed outlines and curves, in a file or a file per specimen.
func TestFilesPerSpecimen(t *testing.T) {
	d := Brain3D()
	d.Specimens, d.Unit = slices.Clone(d.Specimens[:3]), "mm"
	for i := range d.Specimens {
		d.Specimens[i].Group, d.Specimens[i].Covariates = "", nil
	}
	d.Specimens[1].Points = slices.Clone(d.Specimens[1].Points)
	d.Specimens[1].Points[5] = []float64{math.NaN(), math.NaN(), math.NaN()}
	for l := range d.Specimens[0].Points {
		d.Labels = append(d.Labels, "point, "+string(rune('A'+l)))
	}
	d.FromZero = false // which these formats do not say
	folder := t.TempDir()
	same := func(got, want *Dataset, ignored ...string) {
		t.Helper()
		if diff := cmp.Diff(want, got, cmpopts.EquateNaNs(), cmpopts.IgnoreFields(Dataset{}, append(ignored, "Name", "Source", "Notes")...)); diff != "" {
			t.Error(diff)
		}
	}
	for _, name := range []string{"all.mrk.json.zip", "all.json.zip", "all.fcsv.zip"} {
		path := filepath.Join(folder, name)
		if err := Write(path, d); err != nil {
			t.Fatal(err)
		}
		got := expect.Must(Read(path))
		same(got, d)
		if got.Name == "" || got.Source != path {
			t.Errorf("%q from %q", got.Name, got.Source)
		}
	}
	one := *d
	one.Closed, one.Specimens = true, []Specimen{{Name: "one", Points: d.Specimens[1].Points}}
	one.Specimens[0].Points[0] = []float64{1. / 3, -1e-300, 12345678.9}
	for _, name := range []string{"one.mrk.json", "one.fcsv"} {
		path := filepath.Join(folder, name)
		if err := Write(path, &one); err != nil {
			t.Fatal(err)
		}
		if name == "one.fcsv" {
			same(expect.Must(Read(path)), &one, "Closed")
		} else {
			same(expect.Must(Read(path)), &one)
		}
	}

	curves := GorillaSkulls()
	curves.FromZero = false
	curves.Unit, curves.Curves = "mm", [][2]int{{3, 5}, {5, 8}}
	path := filepath.Join(folder, "skulls.tps")
	if err := Write(path, curves); err != nil {
		t.Fatal(err)
	}
	if first := string(expect.Must(os.ReadFile(path))); !strings.HasPrefix(first, "LM=3\n") || !strings.Contains(first, "CURVES=2\nPOINTS=2\n") || !strings.Contains(first, "SCALE=1\n") {
		t.Error(first[:200])
	}
	same(expect.Must(Read(path)), curves, "Unit")
	path = filepath.Join(folder, "skulls.tps.zip")
	if err := Write(path, curves); err != nil {
		t.Fatal(err)
	}
	if got := expect.Must(Read(path)); len(got.Specimens) != 59 || !slices.Equal(got.Curves, curves.Curves) {
		t.Error(got)
	}
	path = filepath.Join(folder, "skulls.morphoj.txt")
	if err := Write(path, curves); err != nil {
		t.Fatal(err)
	}
	read := expect.Must(Read(path))
	for i, s := range read.Specimens {
		if s.Name != curves.Specimens[i].Name {
			t.Error(s.Name)
		}
		expect.Abs(t, s.Name, s.Points, curves.Specimens[i].Points, 0)
	}
	for name, c := range map[string]struct {
		data *Dataset
		want string
	}{
		"a.fcsv":         {d, "holds one specimen, and there are 3; write a .zip"},
		"a.mrk.json":     {GorillaSkulls().Group("male"), "holds one specimen, and there are 29"},
		"a.mrk.json.zip": {GorillaSkulls(), "points in space, and these are in the plane"},
		"a.zip":          {d, "tells no format of the files in it"},
		"a.morphoj.txt":  {d, "landmark 5 of"},
		"a.ply":          {d, "names no format of landmarks that is written"},
	} {
		advised(t, Write(filepath.Join(folder, name), c.data), c.want)
	}
	one.Specimens[0].Name = "../one"
	advised(t, Write(filepath.Join(folder, "b.fcsv.zip"), &one), "is no name of a file")
}

// Several lists of a file are one specimen, and those of curves its curves; of a hostile archive nothing is written beside it.
func TestSeveralLists(t *testing.T) {
	list := func(kind, system, points string) string {
		return `{"type": "` + kind + `", "coordinateSystem": "` + system + `", "controlPoints": [` + points + `]}`
	}
	d := expect.Must(readMarkups(strings.NewReader(`{"markups": [`+list("Fiducial", "LPS", `{"label": "a", "position": [1, 2, 3]}`)+","+
		list("ClosedCurve", "RAS", `{"label": "b", "position": [4, 5, 6]}, {"label": "c", "position": [7, 8, 9]}`)+","+
		list("Curve", "LPS", `{"label": "d", "position": [0.5, 0, 1]}`)+`]}`), "skull.mrk.json"))
	expect.Abs(t, "points", d.Specimens[0].Points, [][]float64{{1, 2, 3}, {-4, -5, 6}, {-7, -8, 9}, {0.5, 0, 1}}, 0)
	if len(d.Specimens) != 1 || d.Closed || !slices.Equal(d.Labels, []string{"a", "b", "c", "d"}) || !slices.Equal(d.Curves, [][2]int{{1, 3}, {3, 4}}) {
		t.Errorf("%v %v %v", d, d.Labels, d.Curves)
	}
	folder := t.TempDir()
	path := filepath.Join(folder, "evil.zip")
	pack := func(text string, names ...string) {
		t.Helper()
		file := expect.Must(os.Create(path))
		out := zip.NewWriter(file)
		for _, name := range names {
			if _, err := expect.Must(out.Create(name)).Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(out.Close(), file.Close()); err != nil {
			t.Fatal(err)
		}
	}
	pack("specimen,landmark,x,y\na,0,1,2\na,1,3,4\n", "../../evil.csv", "__MACOSX/._evil.csv")
	if d, err := Read(path); err != nil || len(d.Specimens) != 1 || d.Name != "evil" {
		t.Errorf("%v, %v", d, err)
	}
	if left := expect.Must(os.ReadDir(folder)); len(left) != 1 {
		t.Error(left)
	}
	if err := os.WriteFile(path, []byte("PK no archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	advised(t, expect.Error(Read(path)), "save it again")
	pack("Bones of the museum", "notes.md")
	if err := expect.Error(Read(path)); !errors.Is(err, ErrNotLandmarks) || !strings.Contains(err.Error(), filepath.Join("evil.zip", "notes.md")) {
		t.Errorf("%v: not known as that of a file of something else", err)
	}
}
