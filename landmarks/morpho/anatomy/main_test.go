package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/shape"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/morpho/shapestats"
	"anatomy/landmarks/morpho/supplement"
	"anatomy/landmarks/surfaces/mesh"
)

func commandLine(args ...string) (state int, stdout, stderr string) {
	var out, errors bytes.Buffer
	state = run(args, &out, &errors)
	return state, out.String(), errors.String()
}

// inFolder is a folder with salamander heads, without their covariates, and a table of these.
func inFolder(t *testing.T) (heads, covariates string) {
	t.Helper()
	folder := t.TempDir()
	heads, covariates = filepath.Join(folder, "heads.tps"), filepath.Join(folder, "specimens.csv")
	d := morpho.Plethodon()
	table := "Measured in 2025\n\nspecimen;species;site\n"
	for i, s := range d.Specimens {
		table += s.Name + ".jpg;" + s.Covariates["species"] + ";" + s.Covariates["site"] + "\n"
		d.Specimens[i].Covariates, d.Specimens[i].Group = nil, ""
	}
	if err := morpho.Write(heads, d); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(covariates, []byte(table), 0o600); err != nil {
		t.Fatal(err)
	}
	return heads, covariates
}

// From the digitiser's file and a spreadsheet to the published table, in each format, and to a page.
func TestCommands(t *testing.T) {
	heads, covariates := inFolder(t)
	folder := filepath.Dir(heads)
	at := func(name string) string { return filepath.Join(folder, name) }
	model := []string{"--covariates", covariates, "--model", "species*site", "--permutations", "99"}
	with := func(args ...string) []string { return append(args, model...) }

	state, out, errors := commandLine(with("test", heads, "--format", "csv")...)
	if want := "term,df,SS,MS,R2,F,Z,p,error_of_p\nspecies,1,0.0292578376"; state != 0 || !strings.HasPrefix(out, want) {
		t.Errorf("state %d: %s%s", state, out, errors)
	}
	_, out, _ = commandLine(with("test", heads, "--format", "json", "--table", "disparity")...)
	var rows []map[string]any
	if err := json.Unmarshal([]byte(out), &rows); err != nil || len(rows) != 4 || rows[0]["specimens"] != 10. || rows[0]["variance"] == nil {
		t.Errorf("%v: %s", err, out)
	}
	_, both, _ := commandLine(with("test", heads, "--format", "json", "--table", "disparity", "--table", "disparity-pairs")...)
	if lines := strings.Split(both, "\n"); len(lines) != 3 || lines[0]+"\n" != out || json.Unmarshal([]byte(lines[1]), &rows) != nil || len(rows) != 6 {
		t.Error(both)
	}
	if _, out, _ = commandLine(with("test", heads)...); !strings.Contains(out, "species:site") {
		t.Error(out)
	}

	state, out, errors = commandLine(with("report", heads, "--out", at("supplement"), "--unit", "mm", "--authors", "A. Name; B. Name")...)
	if state != 0 || out != at("supplement/index.html")+"\n" {
		t.Errorf("state %d: %s%s", state, out, errors)
	}
	if state, _, errors = commandLine("repeat", at("supplement"), "--out", at("again")); state != 0 {
		t.Error(errors)
	}
	for _, name := range []string{"index.html", "ro-crate-metadata.json", "figures/allometry.pdf", "data/landmarks.csv"} {
		if !bytes.Equal(expect.Must(os.ReadFile(at("supplement/"+name))), expect.Must(os.ReadFile(at("again/"+name)))) {
			t.Errorf("%s has other bytes", name)
		}
	}
	if state, _, errors = commandLine("repeat", at("supplement"), "--out", at("other"), "--model", "site"); state != 0 {
		t.Error(errors)
	}
	if state, _, errors = commandLine(with("plot", heads, at("figure.svg"), "--figure", "allometry")...); state != 0 || len(expect.Must(os.ReadFile(at("figure.svg")))) < 1000 {
		t.Error(errors)
	}

	if state, out, _ = commandLine("inspect", heads); state != 0 || !strings.Contains(out, "40 specimens") {
		t.Error(out)
	}
	if state, out, _ = commandLine("inspect", heads, "--format", "json"); state != 0 || !json.Valid([]byte(out)) {
		t.Error(out)
	}
	if state, _, errors = commandLine("convert", heads, at("heads.csv"), "--covariates", covariates); state != 0 {
		t.Error(errors)
	}
	back := expect.Must(morpho.Read(at("heads.csv")))
	expect.Abs(t, "converted", back.Shapes()[7], morpho.Plethodon().Shapes()[7], 0)
	if site := expect.Must(back.Column("site")); site[0] != "Symp" {
		t.Error(site)
	}
	if state, _, errors = commandLine("align", heads, at("aligned.csv")); state != 0 {
		t.Error(errors)
	}
	expect.Abs(t, "aligned", expect.Must(morpho.Read(at("aligned.csv"))).Shapes()[5], expect.Must(morpho.Procrustes(morpho.Plethodon().Shapes())).Shapes[5], 1e-12)
	if state, _, errors = commandLine("convert", at("nothing.stl"), at("mesh.ply")); state != failed {
		t.Error(state, errors)
	}
	ball := at("bones/ball.ply")
	if err := os.Mkdir(filepath.Dir(ball), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := mesh.Write(ball, mesh.Icosphere(2)); err != nil {
		t.Fatal(err)
	}
	if state, _, errors = commandLine("report", ball, "--out", at("ball"), "--unit", "mm"); state != 0 {
		t.Error(errors)
	}
	if state, _, errors = commandLine("repeat", at("ball"), "--out", at("ball again")); state != 0 ||
		!bytes.Equal(expect.Must(os.ReadFile(at("ball/index.html"))), expect.Must(os.ReadFile(at("ball again/index.html")))) {
		t.Error("another page about the mesh", errors)
	}
	for _, flags := range [][]string{{"--covariates", covariates}, {"--closed"}, {"--missing", "-1"}, {"--mirror", "a"}, {"--unit", "a=mm"}, {"--join", "order"}, {"--measured"}, {"--dimensions", "3"}, {"--covary", "mass"}, {"--model", "size"}, {"--parts", "a: 0; b: 1"}} {
		if state, _, errors = commandLine(append([]string{"report", ball, "--out", at("no")}, flags...)...); state != failed || !strings.Contains(errors, "a mesh alone has no") {
			t.Error(flags, errors)
		}
	}
	if state, _, errors = commandLine("report", filepath.Dir(ball)); state != failed || !strings.Contains(errors, "a folder of meshes: its template") {
		t.Error(errors)
	}
	if state, out, _ = commandLine("completion", "bash"); state != 0 || len(out) < 1000 {
		t.Error("no completion")
	}
}

// Numbers for other programs: those of the library, with all their digits.
func TestJSON(t *testing.T) {
	heads, _ := inFolder(t)
	d := expect.Must(morpho.Read(heads))
	state, out, errors := commandLine("align", heads, filepath.Join(t.TempDir(), "aligned.npy"), "--format", "json")
	var about struct {
		Mean      [][]float64
		Distances []float64
		Sizes     []float64 `json:"centroid_sizes"`
	}
	if err := json.Unmarshal([]byte(out), &about); state != 0 || err != nil || errors != "" {
		t.Fatal(err, errors)
	}
	want := expect.Must(morpho.Procrustes(d.Shapes()))
	expect.Abs(t, "mean", about.Mean, want.Mean, 0)
	expect.Abs(t, "distances", about.Distances, want.Distances, 0)
	for i, size := range expect.Must(d.LogSizes()) {
		expect.Abs(t, "size", math.Log(about.Sizes[i]), size, 1e-12)
	}

	_, out, _ = commandLine("components", heads, "--format", "json")
	var found struct {
		Specimens []string
		Shares    []float64
		Scores    [][]float64
		Axes      []shape.Shape
		Mean      [][]float64
	}
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		t.Fatal(err)
	}
	model := expect.Must(shapestats.Fit(d))
	components := expect.Must(model.Components())
	expect.Abs(t, "scores", found.Scores, components.Scores, 0)
	expect.Abs(t, "shares", found.Shares, components.Shares, 0)
	expect.Abs(t, "axis", slices.Concat(found.Axes[1]...), components.Axes[1], 0)
	if _, out, _ = commandLine("components", heads); !strings.Contains(out, "1  0.3674  0.3674") {
		t.Error(out)
	}
}

// What is wrong is said on the standard error, with a state that tells the data from the command line.
func TestErrors(t *testing.T) {
	heads, covariates := inFolder(t)
	for _, c := range []struct {
		state int
		want  string
		args  []string
	}{
		{misused, `unknown command "reprot"`, []string{"reprot"}},
		{misused, "accepts 1 arg(s)", []string{"report"}},
		{misused, "unknown flag: --colour", []string{"report", heads, "--colour", "red"}},
		{misused, "want text or csv or json", []string{"test", heads, "--format", "pdf"}},
		{misused, "want I or II or III", []string{"test", heads, "--sums", "IV"}},
		{misused, `required flag(s) "out" not set`, []string{"repeat", "x"}},
		{failed, "no such file", []string{"report", "nothing.csv"}},
		{failed, `no covariate "sex"`, []string{"test", heads, "--covariates", covariates, "--model", "sex"}},
		{failed, `the report has no table "anowa"; it has components, anova`, []string{"test", heads, "--covariates", covariates, "--model", "site", "--table", "anowa"}},
		{failed, "the report has no figure", []string{"plot", heads, "x.svg", "--figure", "allometrie"}},
		{failed, "no landmark is at", []string{"inspect", heads, "--missing", "-999"}},
		{failed, "no such file", []string{"repeat", "nowhere", "--out", "x"}},
	} {
		state, out, errors := commandLine(c.args...)
		if state != c.state || out != "" || !strings.Contains(errors, c.want) || strings.Contains(errors, "goroutine") {
			t.Errorf("%v: state %d, %q, %q; want state %d and %q", c.args, state, out, errors, c.state, c.want)
		}
	}
}

// Each command has an example that begins with its name.
func TestHelp(t *testing.T) {
	for _, c := range commands().Commands() {
		state, out, _ := commandLine(c.Name(), "--help")
		if state != 0 || !strings.Contains(out, "Examples:\n  anatomy "+c.Name()) {
			t.Errorf("%s: %s", c.Name(), out)
		}
	}
}

// The program asks every question: a report all of them, other commands those of the steps that they take.
func TestEachQuestionHasItsFlag(t *testing.T) {
	last := map[string]supplement.Step{"report": supplement.ToWrite, "repeat": supplement.ToWrite, "test": supplement.ToCompare, "plot": supplement.ToCompare,
		"align": supplement.ToPrepare, "components": supplement.ToPrepare, "inspect": supplement.ToCorrect, "convert": supplement.ToCorrect}
	for _, c := range commands().Commands() {
		for _, i := range supplement.Questions {
			want := i.Step < supplement.ToDeform && i.Step <= last[c.Name()] && (c.Name() != "repeat" || i.Step > supplement.ToRead)
			if got := c.Flags().Lookup(i.Name) != nil; got != want && last[c.Name()] > 0 && i.Step < supplement.ToDeform {
				t.Errorf("%s --%s: %v, want %v", c.Name(), i.Name, got, want)
			}
		}
	}
}

// A report that is made again takes other answers and corrections: those of which there may be several in addition to the recorded ones.
func TestRepeatWithOtherAnswers(t *testing.T) {
	heads, covariates := inFolder(t)
	at := func(name string) string { return filepath.Join(filepath.Dir(heads), name) }
	ask := []string{"report", heads, "--covariates", covariates, "--model", "species*site", "--permutations", "9"}
	for name, args := range map[string][]string{
		"first": append(ask, "--without", "s03"), "want": append(ask, "--without", "s03; s07", "--mirror", "s01", "--sums", "II", "--authors", "A. Name")} {
		if state, _, errors := commandLine(append(args, "--out", at(name))...); state != 0 {
			t.Fatal(errors)
		}
	}
	if state, _, errors := commandLine("repeat", at("first"), "--out", at("again"), "--without", "s07", "--mirror", "s01", "--sums", "II", "--authors", "A. Name"); state != 0 {
		t.Fatal(errors)
	}
	for _, name := range []string{"index.html", "question.json"} {
		if !bytes.Equal(expect.Must(os.ReadFile(at("want/"+name))), expect.Must(os.ReadFile(at("again/"+name)))) {
			t.Errorf("%s has other bytes", name)
		}
	}
}
