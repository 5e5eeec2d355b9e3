package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/stats"
	"anatomy/landmarks/mesh"
	"anatomy/landmarks/population"
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
		expect.Refused(t, study([]string{"collect", "-out", out}), "the atlas has", "start the tasks")
		if kept == 0 {
			// Two tasks by turns, one round after the other.
			for range 2 {
				run(t, args(out, "-task", "1", "-tasks", "2")...)
				expect.Refused(t, study([]string{"collect", "-out", out}), "2 parts (subjects 0, 2)", "are missing")
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
	s := expect.Must(population.Read(data))
	if err := s.Start(0.5, 0.4, false); err != nil {
		t.Fatal(err)
	}
	want := expect.Must(s.Estimate(stats.Tolerance(0.003)))
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
	expect.Refused(t, study(args(one, "-tolerance", "0.02")), "other data or settings")
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
		expect.Refused(t, study(args(out, "-task", "0", "-tasks", "3")), names[1], "is not the part of subject 0 in round 0")
		if contents(t, out)[names[1]] != text {
			t.Error("somebody else's file was changed")
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
