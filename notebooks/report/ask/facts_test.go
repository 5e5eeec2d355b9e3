package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anatomy/geom/geomtest/expect"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/morpho/supplement"
	"anatomy/landmarks/surfaces/mesh"
)

// nothing is an answer to no question.
func nothing() io.Reader { return strings.NewReader("{}") }

// The values of every parameter of the project's notebooks are looked at.
func TestNotebooksSayWhatTheyTake(t *testing.T) {
	count := 0
	paths := append(expect.Must(filepath.Glob("../../*.ipynb")), expect.Must(filepath.Glob("../../templates/*.ipynb"))...)
	for i, n := range expect.Must(factsOf(paths, nothing())) {
		for name, p := range n.Params {
			if count++; p.Kind == "" {
				t.Errorf("%s: the kind of %s is not known: nb.Param[T] says it", paths[i], name)
			}
		}
		for _, r := range n.Readers {
			if !slices.Contains([]string{"morpho.Read", "mesh.Read", "study.Read", "study.ReadEach"}, r) {
				t.Errorf("%s: readersOf has no %s", paths[i], r)
			}
		}
	}
	if count < 15 {
		t.Errorf("%d parameters", count)
	}
}

// The templates for one's own data take the questions that the table says of their reports; make report itself sees to titles and authors.
func TestTemplatesAskTheQuestions(t *testing.T) {
	for of, template := range map[string]string{"L": "own_landmarks", "M": "own_mesh", "P": "own_population", "D": "placed_landmarks"} {
		asked := expect.Must(factsOf([]string{"../../templates/" + template + ".ipynb"}, nothing()))[0].Params
		for _, i := range supplement.Questions {
			if strings.Contains(i.Reports, of) && i.Step != supplement.ToWrite && asked[i.Name].Kind == "" {
				t.Errorf("%s does not ask %s", template, i.Name)
			}
		}
		for name := range asked {
			if !slices.ContainsFunc(supplement.Questions, func(i supplement.Item) bool { return i.Name == name && strings.Contains(i.Reports, of) }) {
				t.Errorf("%s asks %s, which the table of questions does not have of its report", template, name)
			}
		}
	}
}

// Answers that parameters cannot take are told before anything is executed, each with what is wanted. What depends on data is told where these are
// read.
func TestWrongAnswers(t *testing.T) {
	template := func(name string) string { return "../../templates/" + name + ".ipynb" }
	for _, c := range []struct {
		notebook string
		data     bool
		set      map[string]string
		wrong    []string
	}{
		{"own_landmarks", true, nil, nil},
		{"own_landmarks", true, map[string]string{"from": "a", "by": "", "model": "sex", "closed": "true", "width": "1e-1", "strange": "x", "tree": "/no"}, nil},
		{"own_landmarks", false, map[string]string{"measured": "ja", "permutations": "1.5", "sums": "IV", "closed": "true", "sliders": "a.csv"}, []string{
			"closed=true: it is about how data are read, and DATA names none", "measured=ja: want true or false", "permutations=1.5: want a whole number",
			"sliders=a.csv: it is about how data are read, and DATA names none", "sums=IV: want I or II or III"}},
		{"own_landmarks", true, map[string]string{"join": "rows", "closed": "1"}, []string{"join=rows: want names or order"}},
		{"own_population", true, map[string]string{"tolerance": "small", "similarity": "2", "smooth": "false", "unit": "mm"}, []string{
			"similarity=2: want true or false", "tolerance=small: want a number"}},
	} {
		asked := string(expect.Must(json.Marshal(answers{c.set, c.data})))
		if got := expect.Must(factsOf([]string{template(c.notebook)}, strings.NewReader(asked)))[0].Wrong; !slices.Equal(got, c.wrong) {
			t.Errorf("%s, %v: %q, want %q", c.notebook, c.set, got, c.wrong)
		}
	}
}

// Each format has its reader, whatever packages read in future: a mesh file, a file of landmarks, and a folder of either.
func TestEachFormatHasItsReader(t *testing.T) {
	of := func(name string) (file, folder []string) {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		return expect.Must(readersOf(path)), expect.Must(readersOf(filepath.Dir(path)))
	}
	for _, extension := range mesh.Extensions() {
		if file, folder := of("A" + strings.ToUpper(extension)); !slices.Equal(file, []string{"mesh.Read"}) || !slices.Equal(folder, []string{"study.Read", "study.ReadEach"}) {
			t.Errorf("%s is read by %q, in a folder by %q", extension, file, folder)
		}
	}
	for _, extension := range append(morpho.Extensions(), ".txt") {
		want := []string{"morpho.Read"}
		if extension == ".csv" { // outlines, unless notebooks read landmarks alone
			want = []string{"study.Read", "study.ReadEach", "morpho.Read"}
		}
		if file, folder := of("a" + extension); !slices.Equal(file, []string{"morpho.Read"}) || !slices.Equal(folder, want) {
			t.Errorf("%s is read by %q, in a folder by %q", extension, file, folder)
		}
	}
}
