package morpho

import (
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/shape"
)

func TestEmbedded(t *testing.T) {
	for _, c := range []struct {
		data               *Dataset
		count, n, dim      int
		closed             bool
		groups             []string
		firstName          string
		first              []float64
		spacing, tolerance float64
	}{
		{CorpusCallosum(), 2, 39, 2, true, []string{"human"}, "jhu_atlas", []float64{-37.5, 6.8339}, 5.0, 0.2},
		{CorpusCallosumOutline(), 2, 200, 2, true, []string{"human"}, "jhu_atlas", []float64{-37.5, 6.8339}, 1.0, 0.1},
		{MouseVertebrae(), 76, 60, 2, true, []string{"control", "large", "small"}, "mouse01", []float64{228, 121}, 12, 3},
		{MouseVertebraLandmarks(), 76, 6, 2, false, []string{"control", "large", "small"}, "mouse01", []float64{168.59, 35.66}, 100, 50},
		{GorillaSkulls(), 59, 8, 2, false, []string{"female", "male"}, "female01", []float64{5, 193}, 130, 50},
		{Brain2D(), 28, 13, 2, false, []string{"con", "scz"}, "subject01", []float64{0.345632, -0.036031}, 0.3, 0.2},
		{Brain3D(), 58, 24, 3, false, []string{"f", "m"}, "subject01", []float64{80, 23.5, 59}, 50, 40},
		{Plethodon().GroupBy("species", "site"), 40, 12, 2, false, []string{"Jord Symp", "Teyah Symp", "Jord Allo", "Teyah Allo"}, "s01", []float64{8.89372, 53.77644}, 5, 3},
		{PlethodonSpecies(), 9, 11, 2, false, []string{""}, "P_cinereus", []float64{0.217091118, -0.000276374}, 0.2, 0.1},
		{MosquitoWings().GroupBy("side"), 40, 18, 2, false, []string{"1", "2"}, "i1s1r1.0", []float64{-0.4933, 0.013}, 0.3, 0.2},
		{Pupfish().GroupBy("population", "sex"), 54, 56, 2, false, []string{"Marsh F", "Marsh M", "Sinkhole F", "Sinkhole M"}, "p01", []float64{-0.03361891469147957, -0.06719394124693495}, 0.04, 0.03},
		{Rats().GroupBy("age"), 144, 8, 2, false, []string{"7", "14", "21", "30", "40", "60", "90", "150"}, "rat01_day007", []float64{-450, -475}, 400, 200},
		{GreatApes(), 167, 8, 2, false, []string{"gorf", "gorm", "panf", "panm", "pongof", "pongom"}, "gorf01", []float64{5, 193}, 120, 60},
	} {
		t.Run(c.data.Name, func(t *testing.T) {
			if err := c.data.Validate(); err != nil {
				t.Error(err)
			}
			if c.data.Source == "" {
				t.Error("no source")
			}
			points := c.data.Specimens[0].Points
			if got := []int{len(c.data.Specimens), len(points), len(points[0])}; !slices.Equal(got, []int{c.count, c.n, c.dim}) {
				t.Errorf("%v, want %d × %d × %d", got, c.count, c.n, c.dim)
			}
			if c.data.Closed != c.closed {
				t.Errorf("closed is %v", c.data.Closed)
			}
			if diff := cmp.Diff(c.groups, c.data.Groups()); diff != "" {
				t.Error(diff)
			}
			expect.Abs(t, "first landmark", c.data.Shape(c.firstName)[:1], [][]float64{c.first}, 0)
			expect.Abs(t, "spacing", c.data.Spacing(), c.spacing, c.tolerance)
		})
	}
}

// Both sets of the mice are the same bones in the same order.
func TestMiceCorrespond(t *testing.T) {
	a, b := MouseVertebrae(), MouseVertebraLandmarks()
	for i := range a.Specimens {
		if a.Specimens[i].Name != b.Specimens[i].Name || a.Specimens[i].Group != b.Specimens[i].Group {
			t.Errorf("bone %d: %s %s and %s %s", i, a.Specimens[i].Name, a.Specimens[i].Group, b.Specimens[i].Name, b.Specimens[i].Group)
		}
	}
}

// The corpora callosa run counter-clockwise: the shoelace area is positive.
func TestCallosaOrientation(t *testing.T) {
	for _, shape := range CorpusCallosum().Shapes() {
		area := 0.0
		for i, p := range shape {
			q := shape[(i+1)%len(shape)]
			area += (p[0]*q[1] - p[1]*q[0]) / 2
		}
		if area < 300 || area > 1500 { // mm²; a human corpus callosum has some 600
			t.Errorf("area %g mm²", area)
		}
	}
}

func TestDatasetAccess(t *testing.T) {
	d := GorillaSkulls()
	male := d.Group("male")
	if len(male.Specimens) != 29 || male.Name != d.Name || len(d.Specimens) != 59 {
		t.Errorf("%d male of %d", len(male.Specimens), len(d.Specimens))
	}
	if len(male.Shapes()) != 29 || len(male.Names()) != 29 || male.Names()[0] != "male01" {
		t.Errorf("names %v", male.Names())
	}
	_, err := d.Find("colin27")
	expect.Refused(t, err, "gorilla skulls", `no specimen "colin27"`, `"female01", "female02"`, "59 in all")
	panics(t, func() { d.Shape("colin27") }, `no specimen "colin27"`)
	panics(t, func() { d.Group("old") }, `no group "old"`, `"female", "male"`)
	twice := &Dataset{Name: "d", Specimens: []Specimen{{Name: "a"}, {Name: "a"}}}
	_, err = twice.Find("a")
	expect.Refused(t, err, `2 specimens are called "a"`)
	if !math.IsNaN((&Dataset{Specimens: []Specimen{{Points: [][]float64{{0, 0}, {math.NaN(), 1}}}}}).Spacing()) {
		t.Error("a missing landmark does not show in the spacing")
	}
}

// panics fails unless f panics with an error that says all of want.
func panics(t *testing.T, f func(), want ...string) {
	t.Helper()
	defer func() {
		t.Helper()
		err, _ := recover().(error)
		expect.Refused(t, err, want...)
	}()
	f()
}

// Ages, sites and the like come with the specimens, as text or as numbers.
func TestCovariates(t *testing.T) {
	rats := Rats()
	ages, err := rats.Numbers("age")
	if err != nil {
		t.Fatal(err)
	}
	if ages[0] != 7 || ages[143] != 150 || len(ages) != 144 {
		t.Errorf("ages %v", ages)
	}
	if fourth := rats.GroupBy("rat").Group("4"); len(fourth.Specimens) != 8 || fourth.Specimens[0].Name != "rat04_day007" || rats.Specimens[0].Group != "" {
		t.Errorf("rat 4: %v", fourth.Names())
	}
	groups, err := GorillaSkulls().Column("group")
	if err != nil || groups[0] != "female" {
		t.Errorf("%v, %v", groups, err)
	}
	_, err = rats.Column("sex")
	expect.Refused(t, err, "rat skulls", `no covariate "sex"; there are: "age", "rat"`)
	_, err = Plethodon().Numbers("site")
	expect.Refused(t, err, `specimen "s01": site is no number: "Symp" is not a number`)
	panics(t, func() { rats.GroupBy("sex") }, `no covariate "sex"`)
	sizes, err := Pupfish().Numbers("centroid_size")
	if err != nil || sizes[0] != 63.73360982308429 {
		t.Errorf("%v, %v", sizes, err)
	}
	path := filepath.Join(t.TempDir(), "rats.csv")
	if err := Write(path, rats); err != nil {
		t.Fatal(err)
	}
	again, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rats.Specimens, again.Specimens); diff != "" {
		t.Error(diff)
	}
}

func TestDatasetString(t *testing.T) {
	want := "x: 2 specimens of 0 to 1 landmarks in 2 dimensions, mm; groups a (1), b (1); covariates age, species"
	d := &Dataset{Name: "x", Unit: "mm", Specimens: []Specimen{{Name: "1", Group: "a", Points: [][]float64{{1, 2}}, Covariates: map[string]string{"species": "s"}},
		{Name: "2", Group: "b", Covariates: map[string]string{"age": "3"}}}}
	if got := d.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The specimens of PlethodonSpecies are the leaves of the tree.
func TestPlethodonTree(t *testing.T) {
	leaves := regexp.MustCompile(`[A-Z]_[a-z]+`).FindAllString(PlethodonTree(), -1)
	names := PlethodonSpecies().Names()
	slices.Sort(leaves)
	slices.Sort(names)
	if diff := cmp.Diff(leaves, names); diff != "" {
		t.Error(diff)
	}
}

// A code is a missing landmark when asked for; otherwise it is named.
func TestMissing(t *testing.T) {
	d := &Dataset{Name: "d", Unit: "mm", Specimens: []Specimen{{Name: "a", Points: [][]float64{{-999, -999}, {-999, 1}, {0, 2}}}}}
	expect.Refused(t, d.Validate(), `specimen "a": landmark 1 is at [-999 -999], by which many programs mark a missing one; write NA in the file, or name the code (--missing -999`)
	got := expect.Must(d.Missing(-999))
	if diff := cmp.Diff(shape.Shape{{na, na}, {-999, 1}, {0, 2}}, got.Specimens[0].Points, same); diff != "" || got.Unit != "mm" {
		t.Errorf("unit %q, %s", got.Unit, diff)
	}
	if d.Specimens[0].Points[0][0] != -999 {
		t.Error("Missing changed its receiver")
	}
	_, err := d.Missing(-1)
	expect.Refused(t, err, "d: no landmark is at -1")
	_, err = got.Missing(-999)
	expect.Refused(t, err, "d: no landmark is at -999")
}

// A scale keeps codes, which then are refused and may be declared as before.
func TestScaleKeepsCodes(t *testing.T) {
	d := &Dataset{Name: "d", Specimens: []Specimen{{Name: "a", Points: [][]float64{{-999, -999}, {-999, 1}, {9999, 9999}}}}}
	scaled := d.Scale(0.05)
	expect.Refused(t, scaled.Validate(), `specimen "a": landmark 1 is at [-999 -999]`)
	if diff := cmp.Diff(shape.Shape{{na, na}, {-49.95, 0.05}, {9999, 9999}}, expect.Must(scaled.Missing(-999)).Specimens[0].Points, same); diff != "" {
		t.Error(diff)
	}
}

func TestScale(t *testing.T) {
	d := CorpusCallosum()
	cm := d.Scale(0.1)
	if cm.Unit != "" || d.Unit != "mm" {
		t.Errorf("units %q and %q", cm.Unit, d.Unit)
	}
	expect.Abs(t, "spacing", cm.Spacing(), d.Spacing()/10, 1e-15)
	cm.Specimens[0].Points[0][0] = 1
	if diff := cmp.Diff(CorpusCallosum(), d); diff != "" {
		t.Errorf("Scale changed its receiver: %s", diff)
	}
}

func TestValidate(t *testing.T) {
	good := Specimen{Name: "good", Points: [][]float64{{0, 0}, {1, 0}, {0, 1}}}
	for name, c := range map[string]struct {
		specimens []Specimen
		want      []string
	}{
		"none":      {nil, []string{"no specimens"}},
		"empty":     {[]Specimen{good, {Name: "bad"}}, []string{"no landmarks"}},
		"count":     {[]Specimen{good, {Name: "bad", Points: good.Points[:2]}}, []string{"2 landmarks", `"good" has 3`}},
		"dimension": {[]Specimen{good, {Name: "bad", Points: [][]float64{{0, 0}, {1, 0, 0}, {0, 1}}}}, []string{"landmark 2 has 3 coordinates", `landmark 1 of "good" has 2`}},
		"plane":     {[]Specimen{good, {Name: "bad", Points: [][]float64{{0}, {1}, {2}}}}, []string{"landmark 1 has 1 coordinates"}},
		"missing":   {[]Specimen{good, {Name: "bad", Points: [][]float64{{0, 0}, {1, 0}, {0, math.NaN()}}}}, []string{"landmark 3 is missing", "y is NaN"}},
		"infinite":  {[]Specimen{good, {Name: "bad", Points: [][]float64{{0, 0}, {math.Inf(1), 0}, {0, 1}}}}, []string{"landmark 2: x is infinite"}},
		"same name": {[]Specimen{{Name: "bad", Points: good.Points}, {Name: "bad", Points: good.Points}}, []string{"specimens 0 and 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := (&Dataset{Name: "shapes.tps", Specimens: c.specimens}).Validate()
			want := append(c.want, "shapes.tps: ")
			if len(c.specimens) > 0 {
				want = append(want, `specimen "bad"`)
			}
			advised(t, err, want...)
		})
	}
}

// Landmarks that coincide are let through by Validate and Procrustes, found by Inspect, and left out by Distinct where they coincide in every
// specimen that it is about.
func TestCoincidentLandmarks(t *testing.T) {
	d := GorillaSkulls()
	copy(d.Specimens[5].Points[6], d.Specimens[5].Points[2])
	if err := d.Validate(); err != nil {
		t.Error(err)
	}
	if in := expect.Must(Inspect(d)); len(in.Names(Coincident)) != 1 || in.Findings[0].String() != "female06: landmarks 2 and 6 are in one place; "+in.Findings[0].advise() {
		t.Error(in.Findings)
	}
	if got := d.Distinct(); len(got.Specimens[5].Points) != 8 || got.Notes != nil {
		t.Errorf("%v %q", got, got.Notes)
	}
	got := d.Distinct("female06")
	want := []string{"landmark 6 coincides with 2 in female06: it is left out", "left out: landmark 6"}
	if diff := cmp.Diff(want, got.Notes); diff != "" {
		t.Error(diff)
	}
	for i, s := range got.Specimens {
		expect.Abs(t, s.Name, s.Points, append(slices.Clone(d.Specimens[i].Points[:6]), d.Specimens[i].Points[7]), 0)
	}
	if err := got.Distinct("female06").Validate(); err != nil || len(d.Specimens[5].Points) != 8 || d.Notes != nil {
		t.Errorf("%v, %v", err, d)
	}

	// In every specimen: −0 is 0, missing landmarks are nowhere, and of three in one place the first is left.
	nan := math.NaN()
	all := &Dataset{Name: "all", Labels: []string{"a", "b", "c", "d", "e"}, Specimens: []Specimen{
		{Name: "one", Points: [][]float64{{0, 1}, {math.Copysign(0, -1), 1}, {0, 1}, {nan, nan}, {nan, nan}}},
		{Name: "two", Points: [][]float64{{2, 3}, {1, 0}, {2, 3}, {nan, nan}, {nan, nan}}},
		{Name: "three", Points: [][]float64{{2, 3}, {2, 3}, {2, 3}, {2, 3}, {2, 3}}}}}
	if diff := cmp.Diff([]string{"a", "b", "d", "e"}, all.Distinct().Labels); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a"}, all.Distinct("three").Labels); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a", "d", "e"}, all.Distinct("one").Labels); diff != "" {
		t.Error(diff)
	}
	panics(t, func() { all.WithoutLandmarks(5) }, `all: specimen "one" has no landmark 5; it has 5, in Go counted from 0`)
	panics(t, func() { all.Distinct("four") }, `no specimen "four"; there are: "one", "two", "three"`)
}
