package main

import (
	"encoding/json"
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

// notebooks is what facts says of the notebooks of the project, as the question wants it.
func notebooks(t *testing.T) (all []map[string]any) {
	t.Helper()
	paths := append(expect.Must(filepath.Glob("../../*.ipynb")), expect.Must(filepath.Glob("../../templates/*.ipynb"))...)
	if err := json.Unmarshal(expect.Must(json.Marshal(expect.Must(factsOf(paths)))), &all); err != nil {
		t.Fatal(err)
	}
	for i, path := range paths {
		all[i]["name"] = filepath.Base(path)
	}
	return all
}

// The values of every parameter of the project's notebooks are looked at.
func TestNotebooksSayWhatTheyTake(t *testing.T) {
	count := 0
	for _, n := range notebooks(t) {
		for name, p := range n["params"].(map[string]any) {
			count++
			if p.(map[string]any)["kind"] == "" {
				t.Errorf("%s: the kind of %s is not known: nb.Param[T] says it", n["name"], name)
			}
		}
		for _, r := range n["readers"].([]any) {
			if readers[r.(string)] == nil {
				t.Errorf("%s: look has no %v", n["name"], r)
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
		asked := expect.Must(factsOf([]string{"../../templates/" + template + ".ipynb"}))[0].Params
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

func TestLook(t *testing.T) {
	known := notebooks(t)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	table := write("table.csv", "specimen,group,species,x,y\na,g,one,0,0\na,g,one,1,7\nb,h,two,0,1\nb,h,two,1,8\n")
	for _, c := range []struct {
		reader, path string
		set          map[string]string
		said         []string // nil if nothing is wrong
	}{
		{"", "", nil, nil},
		{"morpho.Read", table, nil, nil},
		{"morpho.Read", write("wrong.csv", "specimen,x,y\na,0,0\na,1,seven\n"), nil, []string{"wrong.csv:3: ", `y = "seven" is not a number`}},
		{"morpho.Read", write("missing.csv", "specimen,x,y\na,0,0\na,1,NA\n"), nil, []string{`specimen "a": landmark 2 is [1 NaN]`}},
		{"mesh.Read", write("wrong.ply", "ply\nformat"), nil, []string{"wrong.ply"}},
		{"study.Read", t.TempDir(), nil, []string{"002: no meshes"}},
		{"study.Read", "/no/such/folder", nil, []string{"/no/such/folder: no such file"}},
		{"os.Open", table, nil, []string{`no data are read by "os.Open"`}},

		{"morpho.Read", table, map[string]string{"from": "a", "to": "h", "by": "", "model": "group", "closed": "true", "width": "1e-1", "strange": "x"}, nil},
		{"morpho.Read", table, map[string]string{"by": "species", "from": "two", "to": "one"}, nil},
		{"morpho.Read", table, map[string]string{"by": "species", "from": "g"}, []string{`from="g": there is no such specimen or group; there are a, b, one and two`}},
		{"morpho.Read", table, map[string]string{"by": "sex", "from": "g"}, []string{`SET: `, `no covariate "sex"`}},
		{"morpho.Read", table, map[string]string{"from": "c"}, []string{`from="c": there is no such specimen or group; there are a, b, g and h`}},
		{"morpho.Read", table, map[string]string{"model": "sex"}, []string{`SET: the model "sex": `}},
		{"morpho.Read", table, map[string]string{"by": "group", "from": "g"}, nil},
		{"morpho.Read", table, map[string]string{"covariates": write("ages.csv", "name,age\na,3\nb,4\n"), "model": "age"}, nil},
		{"morpho.Read", table, map[string]string{"covariates": write("some.csv", "name,age\na,3\n")}, []string{"some.csv", `"b"`}},
		{"morpho.Read", table, map[string]string{"mirror": "a", "exchange": "b=1,2", "unit": "mm; a=in"}, nil},
		{"morpho.Read", table, map[string]string{"without": "nobody"}, []string{`SET: `, `no specimen "nobody"`}},
		{"morpho.Read", table, map[string]string{"without-landmarks": "3"}, []string{`SET: `, "landmarks are 1 to 2"}},
		{"morpho.Read", table, map[string]string{"join": "rows"}, []string{`SET: join=rows: want names or order`}},
		{"", "", map[string]string{"measured": "ja", "permutations": "1.5"}, []string{
			"SET: measured=ja: want true or false\n", "permutations=1.5: want a whole number"}},
	} {
		text := expect.Must(json.Marshal(map[string]any{"reader": c.reader, "path": c.path, "set": c.set, "notebooks": known}))
		if _, err := look(strings.NewReader(string(text))); c.said != nil {
			expect.Refused(t, err, c.said...)
		} else if err != nil {
			t.Errorf("%s, %v: error %v", c.path, c.set, err)
		}
	}

	// What was passed over is said.
	text := expect.Must(json.Marshal(map[string]any{"reader": "morpho.Read", "path": write("titled.csv", "Skulls\nspecimen,x,y\na,0,0\na,1,7\n")}))
	if notes, err := look(strings.NewReader(string(text))); err != nil || len(notes) != 1 || notes[0] != "line 1 above the header was passed over: \"Skulls\"" {
		t.Errorf("%v, %q", err, notes)
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
