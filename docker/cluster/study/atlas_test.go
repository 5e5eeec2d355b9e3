package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/solve"
	"anatomy/geom/try"
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

// An interrupted atlas says that it was stopped, once, and keeps no part of the round.
func TestAtlasInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(context.Background())
	interrupt()
	out := t.TempDir()
	s := settings{Kind: "atlas", Atlas: &atlasSettings{Deformation: 0.5, Detail: 0.4, Tolerance: 0.03, Rounds: 3}}
	if err := try.Run(func() { atlas(ctx, s, outlines(t), out, 0, 1) }); !errors.Is(err, errStopped) {
		t.Errorf("error %v", err)
	}
	if left := contents(t, out); len(left) != 2 { // study.json and the first round
		t.Errorf("left %v", sortedKeys(left))
	}
}

// A task that was killed leaves some of the files. From whatever there is, with however many tasks, comes what one task makes in one
// go, and it is the atlas of population.
func TestAtlas(t *testing.T) {
	data, one := outlines(t), t.TempDir()
	args := func(out string, more ...string) []string {
		return append([]string{"atlas", "-data", data, "-out", out, "-detail", "0.4"}, more...)
	}
	run(t, args(one)...)
	whole := contents(t, one)
	var names []string // in the order in which they were written
	for _, name := range sortedKeys(whole) {
		if strings.HasPrefix(name, "round_") {
			names = append(names, name)
		}
	}
	t.Logf("%d files", len(names))

	// Killed after some files, in the middle of one.
	for _, kept := range []int{0, 3, len(names) / 2, len(names) - 1} {
		out := t.TempDir()
		for _, name := range append([]string{"study.json"}, names[:kept]...) {
			if err := os.WriteFile(filepath.Join(out, name), []byte(whole[name]), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(out, part+"7"), []byte(whole["study.json"][:9]), 0o644); err != nil {
			t.Fatal(err)
		}
		expect.Refused(t, runStudy([]string{"collect", "-out", out}), "the atlas has", "start the tasks")
		if kept == 0 {
			// Two tasks by turns, one round after the other.
			for range 2 {
				run(t, args(out, "-task", "1", "-tasks", "2")...)
				expect.Refused(t, runStudy([]string{"collect", "-out", out}), "2 parts (subjects 0, 2)", "are missing")
				run(t, args(out, "-task", "0", "-tasks", "2")...)
			}
		}
		run(t, args(out)...)
		same(t, contents(t, out), whole)
		run(t, "collect", "-out", out)
		if files, _ := filepath.Glob(filepath.Join(out, part+"*")); len(files) > 0 {
			t.Errorf("%s is left", files)
		}
	}

	run(t, "collect", "-out", one)
	var got population.Atlas
	if err := json.Unmarshal([]byte(contents(t, one)["atlas.json"]), &got); err != nil {
		t.Fatal(err)
	}
	s := expect.Must(study.Read(data))
	if err := s.Start(0.5, 0.4, false); err != nil {
		t.Fatal(err)
	}
	want := expect.Must(s.Estimate(solve.Tolerance(0.003)))
	t.Logf("rounds: %s; at once: %s", &got, want)
	if got.Status != geom.Converged {
		t.Errorf("%s", &got)
	}
	expect.Rel(t, "objective", got.Objective, want.Objective, 1e-3)
	expect.Abs(t, "template", got.Template[0].Vertices, want.Template[0].Vertices, 0.1)
	written := expect.Must(mesh.Read(filepath.Join(one, "template.vtp")))
	expect.Abs(t, "the template that is written", written.Vertices, got.Template[0].Vertices, 1e-9)
	if table := contents(t, one)["study.csv"]; !strings.HasPrefix(table, "number,subject,energy,before,mismatch\n0,a.vtp,") || strings.Count(table, "\n") != 4 {
		t.Errorf("the table is\n%s", table)
	}
	if _, err := (s.Model).Continue(&got, s.Subjects); err != nil {
		t.Error(err)
	}

	// What is not of this study is neither taken nor replaced.
	expect.Refused(t, runStudy(args(one, "-tolerance", "0.02")), "other data or settings")
	other := strings.Replace(whole[names[1]], `"Energy": `, `"Energy": 1`, 1)
	for _, text := range []string{"", "{}", whole[names[2]], other} {
		out := t.TempDir()
		for _, name := range []string{"study.json", names[0], names[1]} {
			content := whole[name]
			if name == names[1] {
				content = text
			}
			if err := os.WriteFile(filepath.Join(out, name), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		expect.Refused(t, runStudy(args(out, "-task", "0", "-tasks", "3")), names[1], "is not the part of subject 0 in round 0")
		if contents(t, out)[names[1]] != text {
			t.Error("somebody else's file was changed")
		}
	}
}

// Names of objects are no paths: what the tasks computed can be collected, and two objects that would have one file are refused before.
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
	out := t.TempDir()
	run(t, "atlas", "-data", write("/../../valve", "ring"), "-out", out, "-rounds", "2")
	run(t, "collect", "-out", out)
	for _, name := range []string{"template_ring.vtp", "template__.._.._valve.vtp", "momenta.vtp", "atlas.json", "study.csv"} {
		if contents(t, out)[name] == "" {
			t.Errorf("no %s", name)
		}
	}
	out = t.TempDir()
	expect.Refused(t, runStudy([]string{"atlas", "-data", write("valve/left", "valve:left"), "-out", out}), "one file, template_valve_left")
}

// Settings of a study of Deformetrica belong to the study, whatever the name of its folder.
func TestFingerprint(t *testing.T) {
	for _, name := range []string{"a", "a[1]", "*"} {
		folder := filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, text := range []string{"<noise-std>0.3</noise-std>", "<noise-std>3</noise-std>"} {
			if err := os.WriteFile(filepath.Join(folder, "model.xml"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			seen[fingerprint(folder, &study.Study{})] = true
		}
		if len(seen) != 2 {
			t.Errorf("%s: other settings are the same study", name)
		}
	}
}

func sortedKeys(files map[string]string) (names []string) {
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// The template of surfaces moves by smooth fields unless that is asked for otherwise, in the tasks as in notebook 14; curves need none.
func TestTemplateMovesAsInNotebook14(t *testing.T) {
	surfaces := t.TempDir()
	for i := range 2 {
		if err := mesh.Write(filepath.Join(surfaces, fmt.Sprintf("%c.ply", 'a'+i)), mesh.Ellipsoid(2, 1, 1+0.2*float64(i), 5, 6)); err != nil {
			t.Fatal(err)
		}
	}
	if notebook := string(expect.Must(os.ReadFile("../../../notebooks/14_own_population.ipynb"))); !strings.Contains(notebook, `nb.Param(\"smooth\", true)`) || !strings.Contains(notebook, "own.FreeVertices, own.Save = !smooth") {
		t.Error("notebook 14 has another default")
	}
	for _, c := range []struct {
		data   string
		args   []string
		smooth bool
	}{{surfaces, nil, true}, {surfaces, []string{"-smooth=false"}, false}, {outlines(t), nil, false}} {
		var a atlasSettings
		f := flag.NewFlagSet("study", flag.ContinueOnError)
		a.flags(f)
		if err := f.Parse(c.args); err != nil {
			t.Fatal(err)
		}
		_, cohort := join(context.Background(), &settings{Kind: "atlas", Atlas: &a}, c.data, t.TempDir())
		if cohort.Model.Hypertemplate != c.smooth {
			t.Errorf("%s %v: the template moves by smooth fields: %t", c.data, c.args, cohort.Model.Hypertemplate)
		}
	}
}
