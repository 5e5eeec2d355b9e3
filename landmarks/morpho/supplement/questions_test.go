package supplement

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/stats/linear"
	"anatomy/geom/tree"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/morpho/shapestats"
	"anatomy/viz"
)

// Every answer that a user can give has its question: each field of Answers is where the answer to one goes, but for those that are filled in from files.
func TestEachAnswerHasItsQuestion(t *testing.T) {
	filled := map[string]bool{"Mesh": true, "Surface": true, "Unit": true, "Tree": true, "Trees": true, "Remarks": true, "Body": true}
	answers, asked := Usual(), map[uintptr]bool{}
	for _, i := range Questions {
		if Named(i.Name) != nil {
			asked[Named(i.Name).at(answers).Addr().Pointer()] = true
		}
	}
	var look func(v reflect.Value)
	look = func(v reflect.Value) {
		for k := range v.NumField() {
			switch f, of := v.Type().Field(k), v.Field(k); {
			case !f.IsExported() || filled[f.Name]:
			case of.Kind() == reflect.Struct:
				look(of)
			case !asked[of.Addr().Pointer()]:
				t.Errorf("no question has the answer %s.%s", v.Type(), f.Name)
			}
		}
	}
	look(reflect.ValueOf(answers).Elem())
}

// Every question takes its example and each of its values, and nothing of another kind.
func TestAnswers(t *testing.T) {
	for _, i := range Questions {
		if i.field == "" {
			continue
		}
		for _, text := range append([]string{i.Example}, i.Values...) {
			a := Usual()
			if err := i.Set(a, text); err != nil {
				t.Errorf("%s=%s: %v", i.Name, text, err)
			}
			b := Usual()
			if i.Take(b, a); !reflect.DeepEqual(i.at(a).Interface(), i.at(b).Interface()) {
				t.Errorf("%s=%s: taken as %v", i.Name, text, i.at(b))
			}
		}
		if wrong := i.Set(Usual(), "three of them"); slices.Contains([]string{"text", "file", "several"}, i.Kind) != (wrong == nil) && i.Name != "resample" {
			t.Errorf("%s: %v", i.Name, wrong)
		}
	}
	a := Usual()
	others, err := a.Set(map[string]string{"without": "a", "template": "b", "from": "c", "authors": "A. Name; B. Name", "resample": "edge=20, 2=8"})
	if fmt.Sprint(others, err, a.Authors, a.As.Resample) != "[template] <nil> [A. Name B. Name] map[2:8 edge:20]" {
		t.Error(others, err, a.Authors, a.As.Resample)
	}
	if err := Named("without").Set(a, "b"); err != nil || a.Without != "a; b" {
		t.Error(a.Without, err)
	}
	expect.Refused(t, expect.Error(a.Set(map[string]string{"seed": "-1", "sums": "IV", "resample": "edge"})), "seed=-1: want a whole number",
		"sums=IV: want I or II or III", "resample=edge: want how many points each curve is to have")
}

// Landmarks may be chosen by name, and a column makes the groups and the model.
func TestChosenLandmarksAndGroups(t *testing.T) {
	d := morpho.Plethodon()
	d.Labels = []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}
	q := Question{By: "site", Permutations: 9, Corrections: morpho.Corrections{Landmarks: "d-g, a, l", WithoutLandmarks: "e"}}
	document := expect.Must(New(d, q))
	if document.Model != "site" || strings.Join(document.Data.Labels, "") != "adfgl" || len(document.Data.Groups()) != 2 {
		t.Error(document.Model, document.Data.Labels, document.Data.Groups())
	}
	q.Landmarks = "d, z"
	expect.Refused(t, expect.Error(New(d, q)), "landmarks: no landmark is called as", "z")
	expect.Refused(t, expect.Error(New(d, Question{By: "colour"})), `no covariate "colour"`)
}

// The page of questions has the table of all questions.
func TestThePageHasAllQuestions(t *testing.T) {
	const page = "../../../notebooks/questions.md"
	reports := strings.NewReplacer("L", "landmarks, ", "M", "a mesh, ", "P", "a population, ", "D", "placed landmarks, ")
	table := "| question | for example | usually | what it asks | reports |\n|---|---|---|---|---|\n"
	for _, i := range Questions {
		only := ""
		if i.Step == ToDeform {
			only = "†"
		}
		table += fmt.Sprintf("| `%s`%s | `%s` | %s | %s | %s |\n", i.Name, only, i.Example, i.Usual(), i.About, strings.TrimSuffix(reports.Replace(i.Reports), ", "))
	}
	if text := string(expect.Must(os.ReadFile(page))); !strings.Contains(text, table) {
		t.Errorf("%s has other questions than the code: put this there\n%s", page, table)
	}
}

// Forms are compared as Procrustes with KeepSize aligns them, in means of their sizes, and specimens that differ in size alone differ.
func TestForms(t *testing.T) {
	d := morpho.Plethodon()
	for i := range d.Specimens {
		if i%2 == 0 {
			d.Specimens[i].Covariates = map[string]string{"site": "small"}
			continue
		}
		d.Specimens[i].Covariates = map[string]string{"site": "large"}
		for _, p := range d.Specimens[i].Points {
			floats.Scale(2, p)
		}
	}
	q := Question{Model: "site", Permutations: 99, KeepSize: true}
	forms := expect.Must(New(d, q))
	mean, a := 0.0, expect.Must(morpho.Procrustes(d.Shapes(), morpho.KeepSize()))
	for _, s := range d.Specimens {
		mean += morpho.CentroidSize(s.Points) / float64(len(d.Specimens))
	}
	total := 0.0
	for _, far := range a.Distances {
		total += far * far / mean / mean
	}
	expect.Rel(t, "total sum of squares", forms.ANOVA.Rows[2].SS, total, 1e-9)
	q.KeepSize = false
	if shapes := expect.Must(New(d, q)); forms.ANOVA.Rows[0].R2 < 0.7 || shapes.ANOVA.Rows[0].R2 > 0.1 {
		t.Errorf("size is %.3g of forms, and %.3g of shapes", forms.ANOVA.Rows[0].R2, shapes.ANOVA.Rows[0].R2)
	}
	if w := words(forms); !strings.Contains(w, "Forms were compared") || strings.Contains(w, "How shape changes with size") {
		t.Error(w)
	}
}

// Of a file of several trees the first is taken with a note, or all, and the table has the spread of what is computed for each.
func TestSignalOverTrees(t *testing.T) {
	d := morpho.PlethodonSpecies()
	first := string(expect.Must(os.ReadFile("../data/plethodon_species.nwk")))
	one := expect.Must(tree.Parse(first))
	text := first
	for _, name := range []string{"star", "leaf"} {
		other := *one
		other.Length = slices.Clone(one.Length)
		for i := range other.Length {
			if name == "star" && i > 0 {
				other.Length[i] *= float64(1 + i%3)
			}
		}
		text += other.Newick() + "\n"
	}
	path := filepath.Join(t.TempDir(), "many.nwk")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	a := Usual()
	a.Phylogeny, a.Permutations = path, 99
	if q := expect.Must(a.Asked()); q.Trees != nil || len(q.Remarks) != 1 || !strings.Contains(q.Remarks[0], "the file holds 3 trees: the first was taken") {
		t.Error(q.Remarks)
	}
	a.Which = "all"
	document := expect.Must(New(d, expect.Must(a.Asked())))
	signal, over := expect.Must(document.Table("signal")), expect.Must(document.Table("signal-trees"))
	var k []float64
	for _, text := range strings.Split(strings.TrimSpace(text), "\n") {
		k = append(k, expect.Must(shapestats.PhylogeneticSignal(d, expect.Must(tree.Parse(text)), linear.Permutations{N: 9})).K)
	}
	slices.Sort(k)
	rows := strings.Split(string(over.CSV()), "\n")
	if want := fmt.Sprintf("K,3,%v,%v,%v", k[1], k[0], k[2]); rows[1] != want || !strings.Contains(string(signal.CSV()), fmt.Sprintf("K,%v,", k[0])) && k[0] == k[2] {
		t.Errorf("%s\nwant %s\n%s", over.CSV(), want, signal.CSV())
	}
	if !strings.Contains(words(document), "Over all 3 trees K is from") {
		t.Error(document)
	}
}

// Parts of species, and what covaries with them, are compared by contrasts, also without a model.
func TestPartsOfSpecies(t *testing.T) {
	d, phylogeny := morpho.PlethodonSpecies(), expect.Must(tree.Parse(morpho.PlethodonTree()))
	for i := range d.Specimens {
		d.Specimens[i].Covariates = map[string]string{"mass": fmt.Sprint(i * i % 7)}
	}
	w := words(expect.Must(New(d, Question{Tree: morpho.PlethodonTree(), Parts: "jaw: 1-5; skull: 6-11", Covary: "mass", Permutations: 19})))
	modular := expect.Must(expect.Must(shapestats.FitOnTree(d, phylogeny)).Modularity([][]int{{0, 1, 2, 3, 4}, {5, 6, 7, 8, 9, 10}}, linear.Permutations{N: 1}))
	for _, want := range []string{fmt.Sprintf("covariance ratio %.3g,", modular.CR), "tested by permuting phylogenetically independent contrasts and their signs"} {
		if !strings.Contains(w, want) {
			t.Errorf("no %q in %s", want, w)
		}
	}
}

// Of more than six groups each has its own colour and symbol, and its name in the figure; one of a single specimen is named where means are compared.
func TestGroupsAreToldApart(t *testing.T) {
	d := morpho.Plethodon()
	for i := range d.Specimens {
		d.Specimens[i].Covariates = map[string]string{"kind": fmt.Sprintf("kind%d", i%8)}
	}
	d.Specimens[39].Covariates["kind"] = "lonely"
	document := expect.Must(New(d, Question{Model: "kind", Permutations: 9}))
	svg := string(expect.Must(viz.Encode(".svg", expect.Must(document.Figure("morphospace")).Drawing)))
	for _, words := range []string{`&#34;kind0, n = 5&#34;, blue`, `&#34;kind6, n = 5&#34;, vermilion`, `&#34;kind7, n = 4&#34;, green`, `&#34;lonely, n = 1&#34;, sky blue`, "names, kind0, kind1, kind2"} {
		if !strings.Contains(svg, words) {
			t.Errorf("the figure does not say %s", words)
		}
	}
	if caption := expect.Must(document.Table("pairs-kind")).Caption; !strings.Contains(caption, "Of lonely there is one specimen") {
		t.Error(caption)
	}
	seen := map[[2]any]bool{}
	for k := range 36 {
		seen[[2]any{k % 6, inTurn[(k+k/6)%6]}] = true
	}
	if len(seen) != 36 {
		t.Errorf("%d of 36 groups are told apart", len(seen))
	}
}
