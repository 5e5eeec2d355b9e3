package report

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/ode"
	"anatomy/geom/stats"
	"anatomy/geom/try"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/morpho/supplement"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/population"
	"anatomy/landmarks/surfaces/study"
)

func TestMain(m *testing.M) { geomtest.Main(m, geomtest.Quick) }

// words are all paragraphs, warnings and lists of a document.
func words(d *supplement.Document) string {
	var all []string
	for _, s := range d.Sections {
		for _, part := range s.Parts {
			switch p := part.(type) {
			case supplement.Paragraph:
				all = append(all, string(p))
			case supplement.Warning:
				all = append(all, string(p))
			case supplement.List:
				all = append(all, p...)
			}
		}
	}
	return strings.Join(all, "\n")
}

// The document of landmarks has that of the program with its numbers, says nothing of what it lacks, and its table of both models has those of the
// analysis of variance to the last digit.
func TestLandmarks(t *testing.T) {
	heads, q := morpho.Plethodon(), supplement.Question{Model: "species*site", Permutations: 99, Seed: 1}
	plain := expect.Must(supplement.New(heads, q))
	d := expect.Must(Landmarks(heads, &supplement.Answers{Question: q, Deformations: supplement.Deformations{Width: 3, Mismatch: 0.1}}))
	if plain.LeftOut == "" || d.LeftOut != "" || len(d.Figures()) <= len(plain.Figures()) {
		t.Error(plain.LeftOut, d.LeftOut)
	}
	table := expect.Must(d.Table("deformations"))
	if got, _, _ := strings.Cut(string(table.CSV()), "\n"); got != "term,fitted_to,R2,F,p" {
		t.Error(got)
	}
	for i, row := range plain.ANOVA.Rows[:3] {
		if shapes := table.Rows[2*i]; shapes[3].Value() != row.F || shapes[4].Value() != row.P || shapes[1].String() != "shapes" {
			t.Errorf("%v, want %+v", shapes, row)
		}
	}
	folder := filepath.Join(t.TempDir(), "report")
	if err := d.Write(folder); err != nil {
		t.Fatal(err)
	}
	if page := string(expect.Must(os.ReadFile(filepath.Join(folder, "index.html")))); strings.Contains(page, "anatomy repeat") {
		t.Error("the page says that the program makes it again, which has no deformations")
	}
}

// The miss of a mean is a distance between landmarks, in the plane and in space.
func TestMissIsADistance(t *testing.T) {
	for _, dim := range []int{2, 3} {
		var shapes []geom.Shape
		for i := range 3 {
			shape := geom.Shape{{0, 0, 0}, {1, 0, 0.2}, {1, 1, 0}, {0.1, 1, 0.5}}
			shape[i][i%2] += 0.3
			for l := range shape {
				shape[l] = shape[l][:dim]
			}
			shapes = append(shapes, shape)
		}
		space := landmarks.New(4, dim, kernels.Gaussian(0.8), geom.Integrator(ode.RK4, 10))
		mean := expect.Must(stats.FrechetMean(space, shapes, stats.RelativeNoise(0.2)))
		want := 0.0
		for i, x := range shapes {
			end, squares := expect.Must(space.Exp(mean.Point, mean.Velocities[i])).End, 0.0
			for l := range x {
				far := floats.Distance(end[l], x[l], 2)
				squares += far * far / float64(len(x))
			}
			want = max(want, math.Sqrt(squares))
		}
		expect.Rel(t, "miss", missed(mean), want, 1e-6)
	}
}

// Landmarks that coincide in every specimen stay in all chapters but those of deformations, which say so. These may be exact.
func TestLandmarksThatCoincide(t *testing.T) {
	heads := morpho.Plethodon().GroupBy("species").Group("Jord")
	heads.Specimens = heads.Specimens[:8]
	for i := range heads.Specimens {
		heads.Specimens[i].Points[6] = slices.Clone(heads.Specimens[i].Points[2])
	}
	d := expect.Must(Landmarks(heads, &supplement.Answers{Question: supplement.Question{Permutations: 9, Seed: 1}, Deformations: supplement.Deformations{Width: 3}}))
	if n := len(d.Data.Specimens[0].Points); n != 12 {
		t.Error(n, "landmarks")
	}
	if w := words(d); !strings.Contains(w, "They meet the landmarks exactly.") || !strings.Contains(w, "Deformations have fewer landmarks: landmark 7 coincides with 3 in every specimen") {
		t.Error(w)
	}
}

// A significant p-value is told from an insignificant one by its number, not by three digits of it: 0.0504 is above 0.05.
func TestVerdictsAreNumbers(t *testing.T) {
	if c := supplement.PValue(0.05004); c.String() != "0.050" || c.Value() <= supplement.Significant {
		t.Error(c, c.Value())
	}
}

// The noise is multiplied for all objects or for those that are named, in a copy of the model; what is no such answer is refused with the names.
func TestNoiseOfObjects(t *testing.T) {
	circle := func(radius float64) *mesh.Mesh {
		var x [][]float64
		for k := range 12 {
			s, c := math.Sincos(math.Pi * float64(k) / 6)
			x = append(x, []float64{radius * c, radius * s})
		}
		return mesh.Curve(x, true)
	}
	objects := []population.Object{{ID: "skull"}, {ID: "jaw"}}
	two := func() *study.Study {
		return &study.Study{Names: []string{"a", "b"}, Aligned: true, Model: population.Model{Objects: objects},
			Subjects: [][]*mesh.Mesh{{circle(2), circle(1)}, {circle(2.1), circle(1.1)}}}
	}
	start := func(noise string, own *study.Study) error {
		return try.Run(func() { Template{Deformation: 0.5, Detail: 0.2, Noise: noise}.start(own) })
	}
	for noise, want := range map[string][]float64{"": {0.3, 0.3}, "2": {0.6, 0.6}, "jaw: 0.5": {0.3, 0.15}, "skull:2,jaw:3": {0.6, 0.9}, "2; jaw: 0.5": {0.6, 0.3}} {
		own := two()
		if err := start(noise, own); err != nil {
			t.Fatal(noise, err)
		}
		for o, object := range own.Model.Objects {
			expect.Abs(t, noise+" of "+object.ID, object.Noise, want[o], 1e-12)
		}
	}
	for _, noise := range []string{"nose: 2", "jaw: loud", "0", "jaw: -1", "skull: Inf", "jaw"} {
		expect.Refused(t, start(noise, two()), "noise="+noise, `["skull" "jaw"]`)
	}
	if objects[0].Noise != 0 {
		t.Error("the objects that were given have changed")
	}
}

// ellipses writes outlines of two diets, whose lengths grow with their sizes, and a table of them, and reads both.
func ellipses(t *testing.T) *study.Study {
	t.Helper()
	folder := t.TempDir()
	table := "specimen,diet\n"
	for i := range 8 {
		size, fat := 10*math.Exp(0.05*float64(i)), 0.2*float64(i%2)
		var x [][]float64
		for k := range 14 + i%3 {
			s, c := math.Sincos(2 * math.Pi * float64(k) / float64(14+i%3))
			x = append(x, []float64{size * (1.6 + 0.02*float64(i)) * c, size * (0.8 + fat + 0.1*c) * s})
		}
		name := string(rune('a' + i))
		if err := mesh.Write(filepath.Join(folder, name+".ply"), mesh.Curve(x, true)); err != nil {
			t.Fatal(err)
		}
		table += name + "," + []string{"plants", "fish"}[i%2] + "\n"
	}
	path := filepath.Join(t.TempDir(), "table.csv")
	if err := os.WriteFile(path, []byte(table), 0o600); err != nil {
		t.Fatal(err)
	}
	return expect.Must(expect.Must(study.Read(folder)).ReadCovariates(path))
}

// The atlas of a folder with a table and a tree gets the chapters of landmarks. The coordinates of subjects have the distances of their momenta, sizes are
// those of the files, bodies are those that the atlas deforms, and the table of decisions has a row for each.
func TestAtlasStatistics(t *testing.T) {
	own := ellipses(t)
	question := supplement.Question{Model: "size + diet", Tree: "((a:1,b:1):1,((c:1,d:1):1,((e:1,f:1):1,(g:1,h:1):1):1):1);", Permutations: 99, Seed: 1}
	folder := t.TempDir()
	d, _, err := Atlas(own, Template{Deformation: 0.8, Detail: 0.4, Similarity: true, Tolerance: 0.2, Folder: folder, Question: question, Sensitivity: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"anova", "signal", "ancestors", "rates", "scores", "distances", "momenta", "subjects"} {
		expect.Must(d.Table(name))
	}
	terms := d.ANOVA.Rows
	if terms[0].Term != "log size" || terms[1].Term != "diet" || !(terms[1].R2 > 0.3) {
		t.Errorf("%+v", terms)
	}
	decisions := expect.Must(d.Table("sensitivity"))
	if len(decisions.Rows) != 6 || decisions.Rows[0][3].Value() != terms[0].R2 || decisions.Rows[1][5].Value() == terms[1].R2 {
		t.Errorf("%v\n%v", decisions.Header, decisions.Rows)
	}
	sizes := expect.Must(d.Data.LogSizes())
	expect.Abs(t, "the ratio of the sizes of e and a", sizes[4]-sizes[0], 0.25, 0.03)
	for _, name := range []string{"mean_diet_fish.vtp", "component_1_highest.vtp", "template.vtp", "ancestor_a_to_h.vtp", "ancestor_g_to_h.vtp"} {
		expect.Must(os.Stat(filepath.Join(folder, name)))
	}
	if w := words(d); strings.Contains(w, "Procrustes") || !strings.Contains(w, "lengths of deformations") {
		t.Error(w)
	}
	expect.Refused(t, expect.Error(own.ReadCovariates(filepath.Join(folder, "no.csv"))), "no.csv")
}

// A finished study of Deformetrica has the statistics of its momenta, with the meshes of its subjects or without them. Their squared distances are those of
// plain numbers: (p − r)ᵀ K (p − r).
func TestFinishedStudy(t *testing.T) {
	folder := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("model.xml", `<model><model-type>DeterministicAtlas</model-type><template><object id="ring"><deformable-object-type>PolyLine</deformable-object-type>
		<filename>ring.vtk</filename><noise-std>0.3</noise-std><attachment-type>Varifold</attachment-type><kernel-width>1</kernel-width></object></template>
		<deformation-parameters><kernel-width>2</kernel-width></deformation-parameters></model>`)
	data, momenta := "<data-set>", "5 2 2\n"
	p := [][]float64{{0.1, 0, 0, 0.2}, {0, 0.1, 0.1, 0}, {0.3, 0, 0, 0}, {0, 0, 0.1, 0.1}, {0.05, -0.1, 0, 0}}
	for i, x := range p {
		data += `<subject id="` + string(rune('a'+i)) + `"><visit id="0"><filename object_id="ring">` + string(rune('a'+i)) + `.vtk</filename></visit></subject>`
		momenta += fmt.Sprintf("\n%g %g\n%g %g\n", x[0], x[1], x[2], x[3])
	}
	put("data_set.xml", data+"</data-set>")
	put("Atlas_Momentas.txt", momenta)
	put("Atlas_ControlPoints.txt", "0 0\n1 0\n")
	if err := mesh.Write(filepath.Join(folder, "ring.vtk"), mesh.Curve([][]float64{{0, 0}, {2, 0}, {2, 1}, {0, 1}}, true)); err != nil {
		t.Fatal(err)
	}
	put("table.csv", "id,diet\na,x\nb,y\nc,x\nd,y\ne,x\n")
	for _, with := range []bool{false, true} {
		for i := range p {
			if m := mesh.Curve([][]float64{{0, 0}, {2, 0.1 * float64(i)}, {2, 1}, {0, 1}}, true); with && mesh.Write(filepath.Join(folder, string(rune('a'+i))+".vtk"), m) != nil {
				t.Fatal("not written")
			}
		}
		own := expect.Must(expect.Must(study.Read(folder)).ReadCovariates(filepath.Join(folder, "table.csv")))
		d, _, err := Atlas(own, Template{Deformation: 1, Detail: 1, Tolerance: 0.05, Question: supplement.Question{Model: "diet", Permutations: 9, Seed: 1}})
		if err != nil {
			t.Fatal(err)
		}
		off, k := floats.SubTo(make([]float64, 4), p[0], p[3]), math.Exp(-0.25)
		want := floats.Dot(off, off) + 2*k*(off[0]*off[2]+off[1]*off[3])
		expect.Rel(t, "squared distance", math.Pow(expect.Must(d.Table("distances")).Rows[0][4].Value(), 2), want, 1e-9)
		if d.ANOVA == nil || strings.Contains(words(d), "Its functional is") != with {
			t.Error(words(d))
		}
	}
}
