package supplement

import (
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/stats/linear"
	"anatomy/internal/lists"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/morpho/shapestats"
	"anatomy/viz"
)

// words are all sentences of a document.
func words(d *Document) string {
	var all []string
	for _, s := range d.Sections {
		for _, p := range s.Parts {
			switch p := p.(type) {
			case Paragraph:
				all = append(all, string(p))
			case List:
				all = append(all, p...)
			}
		}
	}
	return strings.Join(all, "\n")
}

// files are those of a folder with their contents.
func files(t *testing.T, folder string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			out[expect.Must(filepath.Rel(folder, path))] = string(expect.Must(os.ReadFile(path)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// bare is a document without its figures, of which a folder has each in four formats.
func bare(d *Document) *Document {
	out := *d
	out.Sections = lists.Each(d.Sections, func(s Section) Section {
		return Section{s.Title, lists.Filter(s.Parts, func(p Part) bool { _, is := p.(*Figure); return !is })}
	})
	return &out
}

// pictures are the figures of a document.
func pictures(d *Document) (out []string) {
	for _, f := range d.Figures() {
		out = append(out, string(expect.Must(viz.Encode(".svg", f.Drawing))))
	}
	return out
}

// The tables are the published ones: Collyer, Sekora and Adams, Heredity 115, 2015, for salamanders and pupfish.
func TestPublished(t *testing.T) {
	heads := expect.Must(New(morpho.Plethodon(), Question{Model: "species*site", Permutations: 99, Seed: 1}))
	anova := expect.Must(heads.Table("anova"))
	for i, want := range []string{"species 1 0.029258", "site 1 0.064375", "species:site 1 0.030885", "residuals 36 0.072422"} {
		if got := strings.Trim(fmt.Sprint(anova.Rows[i][:3]), "[]"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	pairs := expect.Must(heads.Table("pairs-species-site"))
	if len(pairs.Rows) != 6 || fmt.Sprint(pairs.Rows[5][:3]) != "[Jord Allo Teyah Allo 0.024325]" {
		t.Error(pairs.Rows)
	}
	exact := expect.Must(expect.Must(shapestats.Fit(morpho.Plethodon(), linear.Factor("species"), linear.Factor("site"),
		linear.Interaction(linear.Factor("species"), linear.Factor("site")))).ANOVA(linear.Permutations{N: 99, Seed: 1}))
	if heads.ANOVA.Rows[0] != exact.Rows[0] || anova.Rows[0][5].Value() != exact.Rows[0].F || anova.Rows[0][7].Value() != exact.Rows[0].P {
		t.Errorf("%+v in numbers, %v in the table, want %+v", heads.ANOVA.Rows[0], anova.Rows[0], exact.Rows[0])
	}
	if strings.Contains(words(heads), "Not taken into account") {
		t.Error("species and site are in the model")
	}
	for _, row := range pairs.Rows { // the limit is that of a test of 5 %
		if far, limit, p := row[2].Value(), row[3].Value(), row[4].Value(); far > limit != (p <= 0.05) {
			t.Errorf("%v of %v: p = %v", far, limit, p)
		}
	}
	if w := words(heads); !strings.Contains(w, "The means of Jord Symp and Teyah Symp (species and site) differ by a Procrustes distance of") || !strings.Contains(w, "The means differ most at landmarks") {
		t.Error(w)
	}
	expect.Must(heads.Figure("outliers"))
	if w := words(heads); !strings.Contains(w, "40 specimens with 12 landmarks in the plane were compared. By species and site they are 10 Jord Symp") ||
		!strings.Contains(w, "species:site has a significant effect: it explains 15.7 %") || !strings.Contains(w, "M. Collyer, D. Sekora and D. Adams") {
		t.Error(w)
	}
}

// Specimens weigh by the errors of their landmarks in the mean, the model and the pairs of groups; variances of groups are those without weights.
func TestErrorsOfLandmarks(t *testing.T) {
	ask := Question{Model: "group", Permutations: 99, Seed: 1}
	d := morpho.Pupfish().GroupBy("sex")
	plain := expect.Must(New(d, ask))
	for i := range d.Specimens {
		share := 0.001
		if i%5 == 0 {
			share = 0.05
		}
		d.Specimens[i].Covariates = maps.Clone(d.Specimens[i].Covariates)
		d.Specimens[i].Covariates[morpho.ErrorColumn] = fmt.Sprint(share * morpho.CentroidSize(d.Specimens[i].Points))
	}
	weighted := expect.Must(New(d, ask))
	if w := words(weighted); !strings.Contains(w, "Specimens with larger errors weigh less") || strings.Contains(words(plain), "weigh less") {
		t.Error(w)
	}
	rows := func(d *Document, table string) [][]Cell { return expect.Must(d.Table(table)).Rows }
	fit, _, err := shapestats.FitWithErrors(d, linear.Factor("group"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := rows(weighted, "anova")[0][4], Number(expect.Must(fit.ANOVA(linear.Permutations{N: 99, Seed: 1})).Rows[0].R2, "%.5g"); got != want || got == rows(plain, "anova")[0][4] {
		t.Errorf("R² %s, want %s, without weights %s", got, want, rows(plain, "anova")[0][4])
	}
	if got, want := rows(weighted, "pairs-group")[0][2], rows(plain, "pairs-group")[0][2]; got == want {
		t.Errorf("the distance of the means of the sexes is %s with weights and without", got)
	}
	if got, want := rows(weighted, "disparity"), rows(plain, "disparity"); !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("variances %v, want %v", got, want)
	}
}

// Groups of one specimen each are no model: nothing would be left to compare them with.
func TestSingletons(t *testing.T) {
	apes, seen := morpho.GreatApes(), map[string]bool{}
	apes.Specimens = slices.DeleteFunc(slices.Clone(apes.Specimens), func(s morpho.Specimen) bool {
		first := !seen[s.Group]
		seen[s.Group] = true
		return !first
	})
	d := expect.Must(New(apes, Question{Permutations: 99}))
	if w := words(d); d.Model != "" || len(apes.Specimens) != 6 || !strings.Contains(w, "No model was given, and groups of one specimen each cannot be compared.") {
		t.Error(d.Model, w)
	}
	for _, f := range d.Figures() {
		if strings.Contains(f.Caption, "hull") {
			t.Errorf("groups of one specimen have no hulls: %s", f.Caption)
		}
	}
	if f := expect.Must(d.Figure("allometry")); !strings.Contains(f.Caption, "the line is their slope") {
		t.Error(f.Caption)
	}
}

// A folder is made again to the same bytes, as long as nobody changed it, and nothing of others is written over.
func TestRepeat(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "supplement")
	heads := morpho.Plethodon()
	heads.Unit, heads.Specimens[3].Points[2] = "mm", []float64{math.NaN(), math.NaN()}
	q := Question{Title: "Heads <b>&</b> tails", Authors: []string{"A. Name", "B. Name"}, Model: "size + species*site", Permutations: 99, Seed: 3}
	d := expect.Must(New(heads, q))
	for _, d := range []*Document{bare(d), d} { // an earlier document is replaced
		if err := d.Write(folder); err != nil {
			t.Fatal(err)
		}
	}
	first := files(t, folder)
	if page := first["index.html"]; !strings.Contains(page, "Heads &lt;b&gt;&amp;&lt;/b&gt; tails") || strings.Count(page, "<svg") != len(d.Figures()) {
		t.Error("the page is not as it should be")
	}
	if w := words(d); !strings.Contains(w, "Missing landmarks were estimated") || !strings.Contains(w, heads.Specimens[3].Name+": landmark 3") {
		t.Error(w)
	}
	data, again, err := Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "again")
	if err := expect.Must(New(data, again)).Write(other); err != nil {
		t.Fatal(err)
	}
	second := files(t, other)
	for name, want := range first {
		if second[name] != want {
			t.Errorf("%s has other bytes", name)
		}
	}
	if len(first) != len(second) || len(first) < 20 {
		t.Errorf("%d and %d files", len(first), len(second))
	}
	changed := filepath.Join(other, "tables", "anova.csv")
	if err := os.WriteFile(changed, []byte(strings.Replace(second["tables/anova.csv"], "0.0", "0.1", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err = Open(other)
	expect.Refused(t, err, "tables/anova.csv\" was changed since it was written")
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "thesis.tex"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	expect.Refused(t, bare(d).Write(foreign), "holds other files, such as thesis.tex: name a new folder")
	if err := os.Rename(filepath.Join(foreign, "thesis.tex"), filepath.Join(foreign, crateFile+".0123abcd.tmp")); err != nil { // a killed process
		t.Fatal(err)
	}
	if err := bare(d).Write(foreign); err != nil {
		t.Error(err)
	}
}

// Every embedded data set, and data as people have them, have a document that can be written.
func TestAnyData(t *testing.T) {
	few := morpho.GorillaSkulls()
	few.Specimens = few.Specimens[:4]
	alone := morpho.GorillaSkulls() // one specimen per group
	alone.Specimens = []morpho.Specimen{alone.Specimens[0], alone.Specimens[40], alone.Specimens[41]}
	for i := range alone.Specimens {
		alone.Specimens[i].Group = fmt.Sprint("group ", i)
	}
	cc := morpho.CorpusCallosum()
	for _, c := range []struct {
		data *morpho.Dataset
		q    Question
		want string // in the words, or in the error after "error: "
	}{
		{morpho.Brain2D(), Question{}, "28 specimens with 13 landmarks in the plane"},
		{morpho.Brain3D(), Question{Model: "group + size"}, "in space"},
		{morpho.GreatApes(), Question{}, "By group they are 30 gorf"},
		{morpho.GreatApes(), Question{Model: "size*group"}, "The slopes of the groups"},
		{morpho.MosquitoWings(), Question{}, "The repeatability of one measurement is 0."},
		{morpho.MosquitoWings(), Question{Model: "factor(individual) + factor(side)"}, "individual and side are treated as categories"},
		{morpho.MouseVertebrae(), Question{}, "Please check 7 findings"},
		{morpho.MouseVertebraLandmarks(), Question{}, "6 landmarks"},
		{morpho.PlethodonSpecies(), Question{Tree: morpho.PlethodonTree()}, "Relatives resemble each other: K = 0.957"},
		{morpho.Pupfish(), Question{Model: "centroid_size + population*sex"}, "centroid_size is treated as numbers"},
		{morpho.Rats(), Question{Model: "age + factor(rat)"}, "Shape depends on size"},
		{few, Question{}, "4 specimens"},
		{morpho.Plethodon(), Question{Model: "species", Parts: "jaw: 1-5; skull: 6-12"}, "covariance ratio"},
		{morpho.Plethodon(), Question{Model: "size"}, "Not taken into account here: site and species."},
		{morpho.MouseVertebrae().Group("large"), Question{Curves: "0-15; 15-30; 30-45; 45-59, 0", Slide: "geomorph energy", Turns: 4}, "in 4 turns, as geomorph's gpagen does. Then all shapes were brought to one centroid and to size 1 again"},
		{morpho.MouseVertebrae().Group("large"), Question{Curves: "0-15; 15-30; 30-45; 45-59, 0", Turns: 4}, "error: turns are those of geomorph's sliding"},
		{morpho.PlethodonSpecies(), Question{Tree: morpho.PlethodonTree(), Parts: "jaw: 1-5; skull: 6-11"}, "independent contrasts."},
		{morpho.MouseVertebrae().Group("large"), Question{Curves: "0-15; 15-30; 30-45; 45-59, 0"}, "Of the 60 landmarks 56 are semi-landmarks, which slid along their curves by bending energy"},
		{morpho.MouseVertebrae().Group("large"), Question{Curves: "0-15; 15-30; 30-45; 45-59, 0", Slide: "geomorph distance"}, "as geomorph's gpagen does"},
		{morpho.MouseVertebrae(), Question{Curves: "0-1"}, "error: it has fewer than three landmarks"},
		{morpho.MouseVertebrae(), Question{Slide: "distance"}, "error: no curves are named"},
		{morpho.PlethodonSpecies(), Question{Joint: "1; 6-11; 2-5"}, "rotated about landmark 1 to the mean angle of"},
		{morpho.Brain3D(), Question{Joint: "0, 1; 5-10; 2-4"}, "about the axis of the landmarks 0 and 1 to the mean angle of"},
		{morpho.Brain3D(), Question{Joint: "0; 5-10; 1-4"}, "about landmark 0 to their mean pose"},
		{morpho.PlethodonSpecies(), Question{Joint: "1; 6-11"}, "error: write its landmark (two on the axis of a hinge in space)"},
		{morpho.Plethodon(), Question{Parts: "jaw: 1-5"}, "error: want at least two, with a semicolon"},
		{morpho.Plethodon(), Question{Parts: "jaw: 1-5; 6-12"}, "error: write a name, a colon"},
		{morpho.Plethodon(), Question{Parts: "jaw: 1-four; skull: 6-12"}, `error: no landmark is called as "1-four" begins: landmarks are 1 to 12; landmarks are counted from 1`},
		{morpho.Plethodon(), Question{Parts: "jaw: 1-5; skull: 6-11"}, "error: landmark 12 is in no module"},
		{morpho.MouseVertebraLandmarks(), Question{Pairs: "0-1, 2-3"}, "asymmetr"},
		{morpho.Pupfish(), Question{Covary: "centroid_size"}, "Shapes and centroid_size covary (r = 0."},
		{morpho.Pupfish(), Question{Covary: "sex"}, "error: sex is no number"},
		{alone, Question{}, "groups of one specimen each cannot be compared"},
		{alone, Question{Model: "size"}, "3 specimens"},
		{cc, Question{}, "This was not computed: allometry of corpus callosum"},
		{few, Question{Model: "sex"}, `error: no covariate "sex"`},
		{morpho.Pupfish(), Question{Model: "population*sex", Sums: "III"}, "all other terms, at the mean over the categories"},
		{few, Question{Sums: "IV"}, "error: sums of squares of type IV, want I, II or III"},
		{few, Question{Permutations: -1}, "error: -1 permutations, want a positive number"},
	} {
		name := c.data.Name + " by " + c.q.Model
		if c.q.Permutations == 0 {
			c.q.Permutations = 19
		}
		d, err := New(c.data, c.q)
		if want, refused := strings.CutPrefix(c.want, "error: "); refused {
			expect.Refused(t, err, want)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if c.q.Joint != "" {
			expect.Must(d.Figure("joint"))
		}
		if c.q.Tree != "" {
			expect.Must(d.Table("phylogenetic-components"))
		}
		if w := words(d); !strings.Contains(w, c.want) || strings.Contains(w, "NaN") || strings.Contains(w, "  ") || strings.Contains(w, "%!") {
			t.Errorf("%s: %s", name, w)
		}
		for _, f := range d.Figures() {
			if _, err := viz.Encode(".svg", f.Drawing); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		var names []string
		for _, t := range d.Tables() {
			names = append(names, t.Name)
		}
		for _, f := range d.Figures() {
			names = append(names, "figure "+f.Name)
		}
		slices.Sort(names)
		if n := len(names); n != len(slices.Compact(names)) {
			t.Errorf("%s: two tables or figures have one name", name)
		}
	}
}

// Of specimens with so many landmarks that their orders are not searched, the report says so.
func TestUnfinishedSearch(t *testing.T) {
	d := &morpho.Dataset{Name: "points"}
	random := rand.New(rand.NewPCG(60, 2))
	for i := range 4 {
		points := make([][]float64, 14_200)
		for l := range points {
			points[l] = []float64{float64(l) + random.NormFloat64(), math.Sqrt(float64(l)) + random.NormFloat64()}
		}
		d.Specimens = append(d.Specimens, morpho.Specimen{Name: fmt.Sprint("s", i), Points: points})
	}
	a := &analysis{data: d, mean: expect.Must(shapestats.Fit(d)), formula: &shapestats.Formula{}}
	a.inspect()
	var s Section
	a.describe(&s)
	if all := words(&Document{Sections: []Section{s}}); !strings.Contains(all, "was not finished: 4 specimens with too many landmarks") {
		t.Errorf("%.1000s", all)
	}
}
