package main

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/population"
	"anatomy/landmarks/surfaces/study"
)

// outlines writes ellipses as meshes, and returns their folder.
func outlines(t *testing.T) string {
	t.Helper()
	data := t.TempDir()
	for i, h := range []float64{-0.15, 0, 0.1} {
		var x [][]float64
		for k := range 12 + i {
			s, c := math.Sincos(2 * math.Pi * float64(k) / float64(12+i))
			x = append(x, []float64{10 * (1.3 + h) * c, 10 * (1 - h) * s})
		}
		if err := mesh.Write(filepath.Join(data, fmt.Sprintf("%c.vtp", 'a'+i)), mesh.Curve(x, true)); err != nil {
			t.Fatal(err)
		}
	}
	return data
}

// byRounds plays the rounds of an atlas with some tasks, each only from the files of the round before, and returns the folder and its last round.
func byRounds(t *testing.T, data string, tasks int, options ...string) (folder, last string) {
	t.Helper()
	folder = t.TempDir()
	in := func(format string, args ...any) string { return filepath.Join(folder, fmt.Sprintf(format, args...)) }
	from := []string{"-data", data, "-start", in("start.json")}
	do(t, append([]string{"align", "-data", data, "-out", in("start.json")}, options...)...)
	do(t, append(append([]string{"reduce"}, from...), "-out", in("round_0.json"))...)
	for n := 0; ; n++ {
		now := in("round_%d.json", n)
		if read[round](now).Atlas != nil {
			return folder, now
		}
		var parts []string
		for k := range tasks {
			parts = append(parts, in("part_%d_%d.json", n, k))
			args := append(append([]string{"match"}, from...), "-round", now, "-task", fmt.Sprint(k), "-tasks", fmt.Sprint(tasks), "-out", parts[k])
			if n > 0 {
				args = append(args, "-before", in("part_%d_%d.json", n-1, k))
			}
			do(t, args...)
		}
		do(t, append(append(append([]string{"reduce"}, from...), "-round", now, "-out", in("round_%d.json", n+1)), parts...)...)
	}
}

// An atlas by rounds is the same, bit for bit, by any number of tasks, and it is the atlas that one command estimates.
func TestAtlasByRounds(t *testing.T) {
	data := outlines(t)
	folder, last := byRounds(t, data, 1, "-detail", "0.4")
	other, otherLast := byRounds(t, data, 1, "-detail", "0.4", "-rounds", "3")
	divided, end := byRounds(t, data, 2, "-detail", "0.4", "-rounds", "3")
	if filepath.Base(end) != filepath.Base(otherLast) || text(t, end) != text(t, otherLast) {
		t.Errorf("by two tasks the atlas is\n%s\nby one\n%s", text(t, end), text(t, otherLast))
	}
	out := filepath.Join(folder, "out")
	do(t, "collect", "-start", filepath.Join(folder, "start.json"), "-out", out, last)
	got := read[population.Atlas](filepath.Join(out, "atlas.json"))
	if got.Status != geom.Converged {
		t.Errorf("%s", got)
	}
	written := expect.Must(mesh.Read(filepath.Join(out, "template.vtp")))
	expect.Abs(t, "the template that is written", written.Vertices, got.Template[0].Vertices, 1e-9)
	if table := text(t, filepath.Join(out, "study.csv")); !strings.HasPrefix(table, "number,subject,energy,before,mismatch\n0,a.vtp,") || strings.Count(table, "\n") != 4 {
		t.Errorf("the table is\n%s", table)
	}

	// The one command goes on from its kept searches, to the same files.
	once, again, keep := filepath.Join(folder, "once"), filepath.Join(folder, "again"), filepath.Join(folder, "searches")
	for _, to := range []string{once, again} {
		do(t, "atlas", "-data", data, "-detail", "0.4", "-tolerance", "0.003", "-keep", keep, "-out", to)
	}
	if files := expect.Must(os.ReadDir(keep)); len(files) == 0 {
		t.Error("nothing is kept of the search")
	}
	for _, name := range []string{"atlas.json", "study.csv", "template.vtp", "momenta.vtp"} {
		if text(t, filepath.Join(again, name)) != text(t, filepath.Join(once, name)) {
			t.Errorf("%s differs", name)
		}
	}
	want := read[population.Atlas](filepath.Join(once, "atlas.json"))
	expect.Rel(t, "objective", got.Objective, want.Objective, 1e-3)
	expect.Abs(t, "template", got.Template[0].Vertices, want.Template[0].Vertices, 0.1)
	s := expect.Must(study.Read(data))
	if err := s.Start(0.5, 0.4, false); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Model.Continue(got, s.Subjects); err != nil {
		t.Error(err)
	}

	// What does not belong together is refused.
	start, first := filepath.Join(folder, "start.json"), filepath.Join(folder, "round_1.json")
	next := filepath.Join(t.TempDir(), "next.json")
	from := func(command, start string, args ...string) error {
		return run(append([]string{command, "-data", data, "-start", start, "-out", next}, args...))
	}
	expect.Refused(t, from("match", filepath.Join(other, "start.json"), "-round", first), first, "another atlas")
	expect.Refused(t, from("match", start, "-round", first, "-before", filepath.Join(other, "part_0_0.json")), "part_0_0.json", "another atlas")
	short, part := filepath.Join(divided, "start.json"), filepath.Join(divided, "part_0_1.json")
	expect.Refused(t, from("match", short, "-round", filepath.Join(divided, "round_1.json"), "-before", part), "no match of subject 0 in round 0")
	expect.Refused(t, from("reduce", short, "-round", filepath.Join(divided, "round_0.json"), part), "no part of subject 0 in round 0")
	expect.Refused(t, from("match", last, "-round", first), "not what align wrote")
	expect.Refused(t, run([]string{"collect", "-start", start, "-out", out, first}), "has not ended at round 1")
	if end := read[round](otherLast); end.Atlas.Status != geom.IterationLimit {
		t.Errorf("after three rounds the atlas is %s", end.Atlas)
	}
	if err := mesh.Write(filepath.Join(data, "a.vtp"), mesh.Curve([][]float64{{0, 0}, {10, 0}, {12, 3}, {0, 8}}, true)); err != nil {
		t.Fatal(err)
	}
	if err := from("match", start, "-round", filepath.Join(folder, "round_0.json")); err != nil {
		t.Errorf("the subjects of a round are those that were aligned: %v", err)
	}
}

// The one command also writes the report about a table and a tree of the subjects.
func TestAtlasReport(t *testing.T) {
	data, folder := outlines(t), t.TempDir()
	table, phylogeny, page := filepath.Join(folder, "table.csv"), filepath.Join(folder, "tree.nwk"), filepath.Join(folder, "page")
	for path, text := range map[string]string{table: "name,mass\na,1\nb,3\nc,2\n", phylogeny: "((a:1,b:1):1,c:2);"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"atlas", "-data", data, "-detail", "0.4", "-out", filepath.Join(folder, "out"), "-covariates", table, "-tree", phylogeny, "-model", "mass", "-covary", "mass", "-report", page}
	do(t, args...)
	if anova := text(t, filepath.Join(page, "tables", "anova.csv")); !strings.Contains(anova, "mass,1,") {
		t.Error(anova)
	}
	if pls := text(t, filepath.Join(page, "tables", "covariation.csv")); !strings.Contains(pls, "mass") {
		t.Error(pls)
	}
	if ancestors := text(t, filepath.Join(page, "tables", "ancestors.csv")); strings.Count(ancestors, "\n") != 3 {
		t.Error(ancestors)
	}
	expect.Refused(t, run(append(args, "-model", "weight")), "weight")
	expect.Refused(t, run(args[:len(args)-2]), "want -report")
	if err := os.WriteFile(phylogeny, []byte("((a:1,b:1):1,d:2);"), 0o600); err != nil {
		t.Fatal(err)
	}
	expect.Refused(t, run(args), "no leaves for the specimens", "c")
}

// Names of objects are no paths: what was computed can be collected, and two objects that would have one file are refused before.
func TestAtlasOfNamedObjects(t *testing.T) {
	write := func(objects ...string) string {
		data := t.TempDir()
		for i, h := range []float64{0, 0.2} {
			text := "specimen,x,y\n"
			for o, name := range objects {
				for k := range 10 {
					s, c := math.Sincos(2 * math.Pi * float64(k) / 10)
					text += fmt.Sprintf("%s,%g,%g\n", name, 3*float64(o)+(1+h)*c, s)
				}
			}
			subject := filepath.Join(data, fmt.Sprint("s", i))
			if err := errors.Join(os.Mkdir(subject, 0o755), os.WriteFile(filepath.Join(subject, "all.csv"), []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		return data
	}
	folder, last := byRounds(t, write("/../../valve", "ring"), 1, "-rounds", "1")
	do(t, "collect", "-start", filepath.Join(folder, "start.json"), "-out", folder, last)
	for _, name := range []string{"template_ring.vtp", "template__.._.._valve.vtp", "momenta.vtp", "atlas.json", "study.csv"} {
		if text(t, filepath.Join(folder, name)) == "" {
			t.Errorf("no %s", name)
		}
	}
	for _, command := range []string{"align", "atlas"} {
		expect.Refused(t, run([]string{command, "-data", write("valve/left", "valve:left"), "-out", filepath.Join(folder, "other")}), "one file, template_valve_left")
	}
}

// A study of Deformetrica whose settings changed after its subjects were aligned is refused.
func TestOtherSettings(t *testing.T) {
	data := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(data, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	model := `<model><model-type>DeterministicAtlas</model-type><dimension>2</dimension><template><object id="ring"><deformable-object-type>PolyLine</deformable-object-type>
		<filename>a.vtk</filename><noise-std>0.3</noise-std><attachment-type>Varifold</attachment-type><kernel-width>1</kernel-width></object></template>
		<deformation-parameters><kernel-width>1</kernel-width></deformation-parameters></model>`
	write("model.xml", model)
	write("data_set.xml", `<data-set><subject id="a"><visit id="0"><filename object_id="ring">a.vtk</filename></visit></subject>
		<subject id="b"><visit id="0"><filename object_id="ring">b.vtk</filename></visit></subject></data-set>`)
	for i, name := range []string{"a.vtk", "b.vtk"} {
		write(name, fmt.Sprintf("# vtk DataFile Version 3.0\nring\nASCII\nDATASET POLYDATA\nPOINTS 4 float\n0 0 0\n%d 0 0\n2 2 0\n0 2 0\nLINES 1 6\n5 0 1 2 3 0\n", 2+i))
	}
	folder := t.TempDir()
	start, first := filepath.Join(folder, "start.json"), filepath.Join(folder, "round_0.json")
	do(t, "align", "-data", data, "-out", start)
	do(t, "reduce", "-data", data, "-start", start, "-out", first)
	write("model.xml", strings.Replace(model, "0.3", "0.4", 1))
	expect.Refused(t, run([]string{"reduce", "-data", data, "-start", start, "-out", first}), "changed since its subjects were aligned")
}

// The template of surfaces moves by smooth fields unless that is asked for otherwise, as in the template own_population; curves need none.
func TestTemplateMovesAsInTheNotebook(t *testing.T) {
	surfaces := t.TempDir()
	for i := range 2 {
		if err := mesh.Write(filepath.Join(surfaces, fmt.Sprintf("%c.ply", 'a'+i)), mesh.Ellipsoid(2, 1, 1+0.2*float64(i), 5, 6)); err != nil {
			t.Fatal(err)
		}
	}
	if notebook := text(t, "../../../notebooks/templates/own_population.ipynb"); !strings.Contains(notebook, `nb.Param(\"smooth\", true)`) || !strings.Contains(notebook, "own.FreeVertices, own.Save = !smooth") {
		t.Error("own_population has another default")
	}
	for _, c := range []struct {
		data   string
		args   []string
		smooth bool
	}{{surfaces, nil, true}, {surfaces, []string{"-smooth=false"}, false}, {outlines(t), nil, false}} {
		var settings atlasSettings
		flags := flag.NewFlagSet("study atlas", flag.ContinueOnError)
		settings.flags(flags)
		if err := flags.Parse(c.args); err != nil {
			t.Fatal(err)
		}
		s := settings.study(c.data)
		s.Aligned = true // which costs most of the time
		if err := s.Start(settings.Deformation, settings.Detail, settings.Similarity); err != nil || s.Model.Hypertemplate != c.smooth {
			t.Errorf("%s %v: the template moves by smooth fields: %t, %v", c.data, c.args, s.Model.Hypertemplate, err)
		}
	}
}

// The landmarks of one body are placed on another by one command, as a table that morpho reads.
func TestPlace(t *testing.T) {
	data, out := t.TempDir(), filepath.Join(t.TempDir(), "placed.csv")
	for i, name := range []string{"a", "b"} {
		body := mesh.Ellipsoid(2, 1.2, 1+0.1*float64(i), 8, 12)
		if err := mesh.Write(filepath.Join(data, name+".ply"), body); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			marks := &morpho.Dataset{Specimens: []morpho.Specimen{{Name: name, Points: [][]float64{body.Vertices[0], body.Vertices[5], body.Vertices[11], body.Vertices[20]}}}}
			if err := morpho.Write(filepath.Join(data, name+".csv"), marks); err != nil {
				t.Fatal(err)
			}
		}
	}
	do(t, "place", "-data", data, "-deformation", "1.5", "-detail", "0.2", "-keep", filepath.Join(data, "..", "searches"), "-out", out)
	placed := expect.Must(morpho.Read(out))
	kinds := expect.Must(placed.Column("landmarks"))
	if got := strings.Join(kinds, " "); got != "digitised placed" {
		t.Errorf("landmarks are %s", got)
	}
}
