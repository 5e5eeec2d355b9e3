package morpho

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anatomy/geom/geomtest/expect"
	"anatomy/internal/lists"
)

// readText reads a text as a file of landmarks of this name.
func readText(t *testing.T, name, text string) *Dataset {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return expect.Must(Read(path))
}

// four has four specimens of four landmarks in the plane with these names.
func four(t *testing.T, names ...string) *Dataset {
	t.Helper()
	rows := []string{"0,1,41,-1,40,29,1,30", "1,-2,42,0,41,30,0,30", "1,0,40,1,39,28,0,29", "-2,-1,49,-1,39,30,1,36"}
	text := "specimen,x1,y1,x2,y2,x3,y3,x4,y4\n"
	for i, name := range names {
		text += name + "," + rows[i] + "\n"
	}
	return readText(t, "four.csv", text)
}

// Whose row is it: names that are equal first, then one looser rule at a time, else order where one side has no names, else an error.
func TestWhoseRow(t *testing.T) {
	names := func(words string) []string { return strings.Fields(words) }
	for _, c := range []struct {
		specimens, table string
		want             string // values of the second or the named column, or an error after "error: "
		note             string
	}{
		{"KU1.L KU2.L KU3.L KU4.L", "specimen,mass\nKU1.R,10\nKU2.R,11\nKU3.R,12\nKU4.R,13\n", "error: no column has names", ""},
		{"KU1.L KU1.R KU2.L KU2.R", "specimen,mass\nKU1.L,1\nKU1.R,2\nKU2.L,3\nKU2.R,4\n", "1 2 3 4", `joined by its column "specimen"`},
		{"sp.A sp.B sp.C sp.D", "who,mass\nsp.D,4\nsp.C,3\nsp.B,2\nsp.A,1\n", "1 2 3 4", `"who"`},
		{"NHM/100 AMNH/100 NHM/101 AMNH/101", "specimen,mass\nNHM/100,1\nAMNH/100,2\nNHM/101,3\nAMNH/101,4\n", "1 2 3 4", ""},
		{"a0 A0 a1 A1", "specimen,mass\nA1,4\na1,3\nA0,2\na0,1\n", "1 2 3 4", ""},
		{"1 2 3 4", "specimen,mass\nA1,4\nA2,3\nA3,2\nA4,1\n", "4 3 2 1", "by order, row k to specimen k, because the specimens have no names"},
		{"1 2 3 4", "row,catalogue,mass\n1,3,5\n2,4,6\n3,1,7\n4,2,8\n", "7 8 5 6", `by its column "catalogue"; the names would fit too in "row"`},
		{"D:\\photos\\f0.JPG D:\\photos\\f1.JPG D:\\photos\\f2.JPG D:\\photos\\f3.JPG", "fish,mass\nf0,1\nf1,2\nf2,3\nf3,4\n", "1 2 3 4", "4 names of the table were joined without folder and extension"},
		{"C:/x/a.tif C:/x/b.tif C:/x/c.tif C:/x/d.tif", "fish,mass\nd,4\nb,2\nc,3\na,1\n", "1 2 3 4", "without folder and extension"},
		{"Ab Bc Cd De", "fish,mass\nab,1\nbc,2\nCd,3\nde,4\n", "1 2 3 4", "3 names of the table were joined whatever the case"},
		{"a.jpg B C D", "fish,mass\nA,1\nB,2\nC,3\nD,4\n", `error: 1 of 4 specimens have no row: "a.jpg"; rows of no specimen: "A"; perhaps "A" is "a.jpg"`, ""},
		{"a b c d", "who;mass\na;10,0\nb;11,5\nc;12,25\nd;13,0\n", "10.0 11.5 12.25 13.0", ""},
		{"a b c d", "...1,mass\nd,4\nc,3\nb,2\na,1\n", "1 2 3 4", ""},
		{"a b c d", ",mass\nd,4\nc,3\nb,2\na,1\n", "1 2 3 4", ""},
		{"a b c d", "Unnamed: 0,mass\nd,4\nc,3\nb,2\na,1\n", "1 2 3 4", ""},
		{"a b c d", "sex,mass\nm,4\nf,3\nm,2\nf,1\n", "4 3 2 1", "because no column of the table has names"},
		{"a b c d", "who,mass\na,1\nb,2\nc,3\nx,4\n", `error: 1 of 4 specimens have no row: "d"`, ""},
		{"a b c d", "who,mass\na,1\nb,2\na,3\nd,4\n", `error: the specimen "a" has two rows, in lines 2 and 4`, ""},
		{"Rana Rana Bufo Bufo", "who,mass\nRana,1\nRana,2\nBufo,3\nBufo,4\n", "1 2 3 4", `2 specimens are called "Rana"`},
	} {
		t.Run(c.specimens+" "+c.table, func(t *testing.T) {
			d, err := covariatesOf(t, four(t, names(c.specimens)...), c.table)
			if want, refused := strings.CutPrefix(c.want, "error: "); refused {
				expect.Refused(t, err, want)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(expect.Must(d.Column("mass")), " "); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if notes := strings.Join(d.Notes, "; "); !strings.Contains(notes, c.note) {
				t.Errorf("notes %s, want %s", notes, c.note)
			}
		})
	}
	grouped := readText(t, "groups.csv", "specimen,group,x1,y1,x2,y2,x3,y3\na,1,0,0,1,0,0,1\nb,2,0,0,2,0,0,1\n")
	_, err := covariatesOf(t, grouped, "specimen,group\na,3\nb,2\n")
	expect.Refused(t, err, `group of the specimen "a" is "3", in the landmark file it is "1"`)
	path := filepath.Join(t.TempDir(), "table.csv")
	if err := os.WriteFile(path, []byte("who,mass\nx,1\nb,2\nc,3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	abc := four(t, "a", "b", "c")
	d := expect.Must(Join{Unmatched: "drop"}.Covariates(abc, path))
	if got := fmt.Sprint(d.Names(), d.Notes); got != `[b c] [the table was joined by its column "who" left out, because the table has no row of them: "a" covariates: rows of no specimen: "x"]` {
		t.Error(got)
	}
	if got := expect.Must(expect.Must(Join{By: "order"}.Covariates(abc, path)).Column("mass")); !slices.Equal(got, []string{"1", "2", "3"}) {
		t.Error(got)
	}
	_, err = Join{By: "order"}.Covariates(four(t, "a", "b"), path)
	expect.Refused(t, err, "3 rows do not belong to 2 specimens")
}

// What is this column: group and words are categories, numbers are numbers, and what is neither is named by its cells.
func TestReading(t *testing.T) {
	d := &Dataset{Name: "nine"}
	for i := range 9 {
		d.Specimens = append(d.Specimens, Specimen{Name: fmt.Sprint("s", i+1), Group: fmt.Sprint(1 + i/3), Covariates: map[string]string{
			"plot": fmt.Sprint(1 + i%3), "age": fmt.Sprint(3 + 2*i), "mass": fmt.Sprint(1.5 * float64(i)), "sex": "m", "site": string(rune('a' + i%2))}})
	}
	for name, want := range map[string]string{
		"group": "group has the values 1, 2, 3 and is taken for categories; number(group) takes it for numbers",
		"plot":  "plot has the values 1, 2, 3 and is taken for numbers; factor(plot) takes it for categories",
	} {
		if r := expect.Must(d.Variable(name)); !r.Doubt || r.String() != want {
			t.Errorf("%v %s, want %s", r.Doubt, r, want)
		}
	}
	for name, want := range map[string]bool{"age": false, "mass": false, "site": true} {
		if r := expect.Must(d.Variable(name)); r.Doubt || r.Categories != want {
			t.Errorf("%+v", r)
		}
	}
	_, err := d.Variable("sex")
	expect.Refused(t, err, `sex is "m" in all specimens, so that it explains nothing; leave it out of the model`)
	for _, odd := range []string{"-", "n/a", "?", ".", "unknown", "12 g", "10,5", "2024-03-01", "", "NA"} {
		d.Specimens[2].Covariates["age"] = odd
		_, err := d.Variable("age")
		expect.Refused(t, err, fmt.Sprintf(`most values of age are numbers, but "s3" has %q`, odd), "--without s3", "factor(age)")
	}
	for i := range 5 {
		d.Specimens[i].Covariates["age"] = "old"
	}
	if r := expect.Must(d.Variable("age")); !r.Categories {
		t.Errorf("%+v", r)
	}
}

// What does the user call this landmark: its label, else its number in the file, else from 1; and options read what messages say.
func TestLandmarkNames(t *testing.T) {
	plain := GreatApes()
	zero := readText(t, "z.csv", "specimen,x0,y0,x1,y1,x2,y2,x3,y3\na,0,0,1,0,1,1,0,1\nb,0,0,2,0,1,1,0,1\n")
	labelled := GreatApes()
	for l := range 8 {
		labelled.Labels = append(labelled.Labels, fmt.Sprintf("F-%d", l+1))
	}
	for _, c := range []struct {
		d          *Dataset
		line, want string
	}{
		{plain, "1-3, 8", "landmarks 1, 2, 3 and 8"},
		{plain, "8 1", "landmarks 8 and 1"},
		{zero, "0-2", "landmarks 0, 1 and 2"},
		{labelled, "F-3, F-8", "landmarks F-3 and F-8"},
		{labelled, "F-1-F-3,F-5–F-6", "landmarks F-1, F-2, F-3, F-5 and F-6"},
		{labelled, "2", "landmark F-2"},
		{plain.WithoutLandmarks(2), "2-4", "landmarks 2 and 4"},
		{plain.WithoutLandmarks(2), "3", "error: no landmark is called as \"3\" begins: landmarks are 1 to 8"},
		{plain, "0", "error: landmarks are 1 to 8; landmarks are counted from 1"},
		{zero, "4", "error: landmarks are 0 to 3; landmarks are counted from 0, as in the file"},
		{plain, "5-2", "error: \"5-2\" is no range of landmarks"},
		{labelled, "G-1", "error: landmarks are F-1 to F-8; landmarks have their labels"},
	} {
		got, err := c.d.ParseLandmarks(c.line)
		if want, refused := strings.CutPrefix(c.want, "error: "); refused {
			expect.Refused(t, err, want)
		} else if err != nil || c.d.Called(got...) != c.want {
			t.Errorf("%s: %v %s, want %s", c.line, err, c.d.Called(got...), c.want)
		}
	}
	if from, to, err := labelled.ParseLink("F-3-F-8"); err != nil || from != 2 || to != 7 {
		t.Error(from, to, err)
	}
	// Written and read again, labels and numbers are the same.
	for _, d := range []*Dataset{plain, zero, labelled} {
		path := filepath.Join(t.TempDir(), "again.csv")
		if err := Write(path, d); err != nil {
			t.Fatal(err)
		}
		if again := expect.Must(Read(path)); again.Landmark(2) != d.Landmark(2) || again.Counting() != d.Counting() {
			t.Errorf("%s, want %s", again.Landmark(2), d.Landmark(2))
		}
	}
	labelled.Specimens[4].Points[2], labelled.Specimens[4].Points[7] = labelled.Specimens[4].Points[7], labelled.Specimens[4].Points[2]
	found := expect.Must(Inspect(labelled)).Findings
	if len(found) != 1 || found[0].String() != `gorf05: landmarks F-3 and F-8 fit the others in each other's place; exchange them (--exchange gorf05=F-3,F-8), or leave the specimen out (--without gorf05)` {
		t.Error(found)
	}
}

// Corrections do what they say, the printed options can be given back, and the data set itself stays as it was.
func TestCorrected(t *testing.T) {
	d := GreatApes()
	d.Unit = "mm"
	d.Specimens[0].Name, d.Specimens[1].Name, d.Specimens[2].Name = "a; b", "Frau O'Hara = 7", `x"y`
	before := fmt.Sprint(d.Shapes())
	out := expect.Must(d.Corrected(Corrections{Without: `a; b; gorf05\; x"y`, Mirror: "gorf04", Exchange: "Frau O'Hara = 7=2,5; gorf06 = 1, 3", Units: "gorf07=cm", WithoutLandmarks: "8"}))
	if len(out.Specimens) != len(d.Specimens)-3 || slices.Contains(out.Names(), "a; b") || slices.Contains(out.Names(), "gorf05") || len(out.Specimens[0].Points) != 7 || before != fmt.Sprint(d.Shapes()) {
		t.Error(out, out.Names()[:4])
	}
	hara := out.Specimens[0].Points
	expect.Abs(t, "exchanged", [][]float64{hara[1], hara[4]}, [][]float64{d.Specimens[1].Points[4], d.Specimens[1].Points[1]}, 0)
	expect.Abs(t, "unit", CentroidSize(out.at("gorf07").Points), 10*CentroidSize(d.at("gorf07").Points[:7]), 1e-9)
	rho := expect.Must(ShapeDistance(mirrored(d.at("gorf04").Points)[:7], out.at("gorf04").Points))
	expect.Abs(t, "mirrored", rho, 0., 1e-7)
	if notes := strings.Join(out.Notes, "|"); !strings.Contains(notes, "left out: landmark 8") || !strings.Contains(notes, "mirrored: gorf04") {
		t.Error(notes)
	}
	d.Unit = ""
	for _, units := range []string{"cm", "cm; gorf07=mm", "gorf07=mm; cm"} {
		out := expect.Must(d.Corrected(Corrections{Units: units}))
		if factor := CentroidSize(out.at("gorf07").Points) / CentroidSize(d.at("gorf07").Points); out.Unit != "cm" || d.Unit != "" || len(units) > 2 && math.Abs(factor-0.1) > 1e-9 {
			t.Errorf("%s: %q, %g", units, out.Unit, factor)
		}
	}
	for want, c := range map[string]Corrections{
		`no specimen "gorf4"; perhaps "gorf04"`:       {Without: "gorf4"},
		`no specimen "nobody"`:                        {Mirror: "nobody"},
		"exchange: \"3\" are not two landmarks":       {Exchange: "gorf04=3"},
		"landmarks are 1 to 8":                        {Exchange: "gorf04=3,9"},
		"the specimen \"gorf04\" is to have the unit": {Units: "gorf04=parsec"},
		"all specimens are left out":                  {Without: strings.Join(d.Names(), "; ")},
	} {
		_, err := d.Corrected(c)
		expect.Refused(t, err, d.Name+": ", want)
	}
	for word, want := range map[string]string{"s01": "s01", "a; b": `"a; b"`, "O'Hara": `"O'Hara"`, `D:\x.jpg`: `'D:\x.jpg'`, `x"y`: `'x"y'`, "$HOME's": `'$HOME'\''s'`} {
		if got := quoted(word); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Codes of missing landmarks are recognised where they are, and nowhere else.
func TestCoded(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	skulls := func() *Dataset {
		d := &Dataset{Name: "skulls"}
		for i := range 40 {
			s := Specimen{Name: fmt.Sprintf("s%02d", i)}
			for l := range 9 {
				s.Points = append(s.Points, []float64{300 + 100*math.Cos(float64(l)) + 3*random.NormFloat64(), 400 + 70*math.Sin(1.3*float64(l)) + 3*random.NormFloat64()})
			}
			d.Specimens = append(d.Specimens, s)
		}
		return d
	}
	put := func(d *Dataset, x, y float64, at ...int) *Dataset {
		for k := 0; k < len(at); k += 2 {
			d.Specimens[at[k]].Points[at[k+1]] = []float64{x, y}
		}
		return d
	}
	rounded := skulls() // whole pixels, of which many are shared
	for _, s := range rounded.Specimens {
		for l := range s.Points {
			s.Points[l] = []float64{math.Round(s.Points[l][0]), math.Round(s.Points[l][1])}
		}
	}
	base := skulls() // all on one base line
	for i := range base.Specimens {
		base = put(base, 200, 300, i, 0)
	}
	copies := skulls()
	copies.Specimens[5].Points = copies.Specimens[9].Points
	for _, c := range []struct {
		name string
		d    *Dataset
		want string
	}{
		{"clean", skulls(), ""}, {"pixels", rounded, ""}, {"a base line", base, ""}, {"copies", copies, ""},
		{"the origin", put(skulls(), 0, 0, 3, 2, 8, 2, 17, 5), "s03, s08, s17: landmarks 3 and 6 are at (0, 0)"},
		{"minus one", put(skulls(), -1, -1, 3, 2, 8, 7), "s03, s08: landmarks 3 and 8 are at (−1, −1)"},
		{"a usual code", put(skulls(), -999, -999, 30, 4), "s30: landmark 5 is at (−999, −999)"},
		{"one far out", put(skulls(), 32000, 5, 30, 4), "s30: landmark 5 is at (32000, 5)"},
		{"several landmarks of one", put(skulls(), 1998, -1998, 1, 1, 1, 2, 1, 3, 4, 1), "s01, s04: landmarks 2, 3 and 4 are at (1998, −1998)"},
		{"in pixels", put(rounded.Scale(1), 0, 0, 3, 2, 8, 2), "s03, s08: landmark 3 is at (0, 0)"},
	} {
		got := ""
		for _, f := range c.d.Coded() {
			got += f.Specimen + ": " + f.About
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		complete := expect.Must(c.d.Complete())
		if (c.want == "") != (complete == c.d) || c.want != "" && (!strings.Contains(strings.Join(complete.Notes, ""), "not used (--measured") || len(complete.Coded()) > 0) {
			t.Errorf("%s: %q", c.name, complete.Notes)
		}
		if c.want != "" && expect.Must(Inspect(c.d)).Data.Notes == nil {
			t.Errorf("%s: Inspect has no note", c.name)
		}
		if c.d.Measured = true; c.d.Coded() != nil {
			t.Errorf("%s: codes in data that are measured", c.name)
		}
	}
	many := skulls()
	for i := range 12 {
		put(many, math.NaN(), math.NaN(), i, 3)
	}
	if notes := strings.Join(expect.Must(many.Complete()).Notes, ""); !strings.Contains(notes, "landmark 4 is estimated in 12 of 40 specimens") || !strings.Contains(notes, "--without-landmarks 4") {
		t.Error(notes)
	}
}

// Landmarks are said to be exchanged only if the specimen fits once they are: of specimens that are broken otherwise some pair always fits better.
func TestExchangedOrBroken(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 8))
	right, wrong := 0, 0
	for k := range 20 {
		d := GreatApes()
		i := 8 * k
		x := d.Specimens[i].Points
		if k%2 == 0 {
			a := random.IntN(7)
			x[a], x[a+1] = x[a+1], x[a]
		} else { // three landmarks somewhere
			for range 3 {
				x[random.IntN(8)] = []float64{200 * random.Float64(), 200 * random.Float64()}
			}
		}
		swappedNames := expect.Must(Inspect(d)).Names(Swapped)
		switch {
		case k%2 == 0 && len(swappedNames) == 1:
			right++
		case k%2 == 1 && len(swappedNames) > 0:
			wrong++
		}
	}
	if right < 8 || wrong > 1 {
		t.Errorf("%d of 10 exchanges found, %d of 10 other specimens called exchanged", right, wrong)
	}
}

// What an alignment leaves is no size: scaled to one, projected to the tangent space, or fitted with the cosine of the distance. Real sizes are.
func TestSizesOfAlignedShapes(t *testing.T) {
	for _, d := range []*Dataset{GorillaSkulls(), Brain3D(), GreatApes(), MosquitoWings().GroupBy()} {
		if d.Name != "mosquito wings" {
			if _, err := d.LogSizes(); err != nil {
				t.Error(err)
			}
		}
		a := expect.Must(Procrustes(d.Shapes()))
		unit := *d
		rows, _, err := d.TangentShapes()
		if err != nil {
			t.Fatal(err)
		}
		for what, points := range map[string]func(i int) [][]float64{
			"one size": func(i int) [][]float64 {
				return Similarity{150 / CentroidSize(a.Shapes[i]), lists.Identity(len(a.Mean[0])), make([]float64, len(a.Mean[0]))}.Apply(a.Shapes[i])
			},
			"fitted": func(i int) [][]float64 {
				return Similarity{40, lists.Identity(len(a.Mean[0])), make([]float64, len(a.Mean[0]))}.Apply(a.Shapes[i])
			},
			"projected": func(i int) [][]float64 { return slices.Collect(slices.Chunk(rows[i], len(a.Mean[0]))) },
		} {
			unit.Specimens = slices.Clone(d.Specimens)
			for i := range unit.Specimens {
				unit.Specimens[i].Points = points(i)
			}
			if _, err := unit.LogSizes(); err == nil {
				t.Errorf("%s, %s: sizes are taken for sizes", d.Name, what)
			}
		}
	}
}

// What all specimens have is said once, copies are named whatever their size, place and direction, and a unit is found beside them.
func TestSaidOnce(t *testing.T) {
	d := GorillaSkulls()
	for i, s := range d.Specimens {
		copy(s.Points[6], s.Points[2])
		if i == 20 {
			for l, p := range d.Specimens[3].Points {
				s.Points[l] = []float64{7 - 1.5*p[1], 2 + 1.5*p[0]}
			}
		}
	}
	for _, p := range d.Specimens[9].Points {
		p[0], p[1] = p[0]/10, p[1]/10
	}
	var got []string
	for _, f := range expect.Must(Inspect(d)).Findings {
		got = append(got, f.Specimen+": "+f.About)
	}
	want := []string{"all specimens: landmarks 2 and 6 are in one place", "female10: its size is 0.0967 times that of the others, the ratio of mm and cm", `female21: its shape is that of "female04"`}
	for k, w := range want {
		if len(got) != len(want) || !strings.HasPrefix(got[k], w) {
			t.Errorf("%q, want %q", got, want)
			break
		}
	}
}
