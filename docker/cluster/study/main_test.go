package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/landmarks/morpho"
)

func TestMain(m *testing.M) { geomtest.Main(m, geomtest.Quick) }

func skulls(t *testing.T, n int) string {
	t.Helper()
	d := morpho.GorillaSkulls()
	d.Specimens = d.Specimens[:n]
	path := filepath.Join(t.TempDir(), "skulls.csv")
	if err := morpho.Write(path, d); err != nil {
		t.Fatal(err)
	}
	return path
}

func do(t *testing.T, args ...string) {
	t.Helper()
	if err := run(args); err != nil {
		t.Fatal(err)
	}
}

func text(t *testing.T, path string) string {
	t.Helper()
	return string(expect.Must(os.ReadFile(path)))
}

// divided has a command computed by tasks, and returns their files.
func divided(t *testing.T, tasks int, args ...string) (files []string) {
	t.Helper()
	folder := t.TempDir()
	for k := range tasks {
		files = append(files, filepath.Join(folder, fmt.Sprint(k, ".json")))
		do(t, append(args, "-task", fmt.Sprint(k), "-tasks", fmt.Sprint(tasks), "-out", files[k])...)
	}
	return files
}

// The table of a study does not depend on how many tasks it had, nor on the order of their files; a file that is missing, there twice or of another
// study is refused.
func TestTasks(t *testing.T) {
	data, out := skulls(t, 5), filepath.Join(t.TempDir(), "table.csv")
	for _, args := range [][]string{{"register", "-data", data}, {"bootstrap", "-data", data, "-samples", "4", "-mismatch", "0.1"}} {
		one, many := divided(t, 1, args...), divided(t, 3, args...)
		do(t, "collect", "-out", out, one[0])
		want := text(t, out)
		do(t, "collect", "-out", out, many[2], many[0], many[1])
		if got := text(t, out); got != want || strings.Count(got, "converged") != len(strings.Split(want, "\n"))-2 {
			t.Errorf("%s by three tasks:\n%s\nby one:\n%s", args[0], got, want)
		}
		other := divided(t, 1, append(args, "-width", "50")...)[0]
		before := text(t, out)
		expect.Refused(t, run([]string{"collect", "-out", out, many[0], many[2]}), "result 1 is missing")
		expect.Refused(t, run([]string{"collect", "-out", out, many[0], many[1]}), "result 2 is missing")
		expect.Refused(t, run([]string{"collect", "-out", out, many[0], many[1], many[2], many[1]}), "there twice")
		expect.Refused(t, run([]string{"collect", "-out", out, one[0], other}), other, "other data or settings")
		if text(t, out) != before {
			t.Error("a refusal changed the table")
		}
	}
	samples := divided(t, 1, "bootstrap", "-data", data, "-samples", "2", "-mismatch", "0.1")
	r := read[results](samples[0]).Results
	if fmt.Sprint(r[0].Mean) == fmt.Sprint(r[1].Mean) {
		t.Error("two samples are the same")
	}
}

// A folder with a file a specimen is a study as one file of them is.
func TestFolder(t *testing.T) {
	file, folder := skulls(t, 2), t.TempDir()
	for _, s := range expect.Must(morpho.Read(file)).Specimens {
		if err := morpho.Write(filepath.Join(folder, s.Name+".csv"), &morpho.Dataset{Specimens: []morpho.Specimen{s}}); err != nil {
			t.Fatal(err)
		}
	}
	one, many := read[results](divided(t, 1, "register", "-data", file)[0]), read[results](divided(t, 1, "register", "-data", folder)[0])
	for i := range one.Results {
		expect.Abs(t, "momentum", many.Results[i].Momentum, one.Results[i].Momentum, 0)
	}
}

// Wrong use is refused in a sentence before anything is written: no number, no file makes a panic or an endless wait.
func TestWrongUse(t *testing.T) {
	data, folder := skulls(t, 3), t.TempDir()
	out := filepath.Join(folder, "out.json")
	pipe, single := filepath.Join(t.TempDir(), "pipe.csv"), filepath.Join(t.TempDir(), "one.csv")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(single, []byte("specimen,x,y\na,0,0\nb,1,7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused := func(want string, args ...string) {
		t.Helper()
		if err := run(args); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: %v, want a sentence with %q", args, err, want)
		}
	}
	refused("want one of align")
	refused("\"go\": want one of", "go")
	refused("want -out", "collect")
	refused("want the files", "collect", "-out", out)
	refused("want -data", "register", "-out", out)
	refused("is no option", "register", "-out", out, "-data", data, "extra")
	refused("nobody", "register", "-out", out, "-data", data, "-template", "nobody")
	refused("no such file", "register", "-out", out, "-data", data+"x")
	refused("pipe.csv", "register", "-out", out, "-data", pipe)
	refused("want -width", "register", "-out", out, "-data", single, "-align=false")
	refused("not a directory", "atlas", "-out", out, "-data", data)
	refused("no results", "collect", "-out", out, pathOf(t, "{}"))
	refused("remove it", "collect", "-out", out, pathOf(t, "{\"Settings\":"))
	refused("-rounds 0", "align", "-out", out, "-data", data, "-rounds", "0")
	for _, v := range []string{"NaN", "Inf", "-Inf", "-1", "1e999", "x", ""} {
		for command, flags := range map[string][]string{
			"register": {"width"}, "bootstrap": {"width", "mismatch"}, "atlas": {"detail", "tolerance"}, "align": {"deformation", "tolerance"}, "place": {"detail"},
		} {
			for _, name := range flags {
				refused("-"+name, command, "-out", out, "-data", data, "-"+name, v)
			}
		}
	}
	for _, v := range []string{"0", "-1", "NaN", "1.5", "99999999999999999999"} {
		refused("-samples", "bootstrap", "-out", out, "-data", data, "-samples", v)
		refused("task", "register", "-out", out, "-data", data, "-tasks", v)
	}
	refused("task 3 of 3", "match", "-out", out, "-data", data, "-task", "3", "-tasks", "3")
	refused("task -1 of 1", "register", "-out", out, "-data", data, "-task", "-1")
	refused("-samples", "bootstrap", "-out", out, "-data", data, "-samples", "9223372036854775807")
	refused("-seed", "bootstrap", "-out", out, "-data", data, "-seed", "-1")
	if left, _ := os.ReadDir(folder); len(left) > 0 {
		t.Errorf("wrong use left %v", left)
	}
}

// pathOf is that of a file with a text.
func pathOf(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "file.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A study of parallel transport of Deformetrica is predicted by one command, and what cannot be meant is refused.
func TestTransport(t *testing.T) {
	data, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	for name, text := range map[string]string{
		"model.xml": `<model><model-type>ParallelTransport</model-type><template><object id="bone"><filename>bone.obj</filename></object></template>
			<initial-control-points>points.txt</initial-control-points><initial-momenta>grow.txt</initial-momenta><initial-momenta-to-transport>differ.txt</initial-momenta-to-transport>
			<deformation-parameters><kernel-width>1</kernel-width><tmin>0</tmin><tmax>0.5</tmax></deformation-parameters></model>`,
		"bone.obj":   "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
		"points.txt": "0 0 0\n1 1 0\n", "grow.txt": "0 0 0.2\n0 0.2 0\n", "differ.txt": "0.1 0 0\n0 0 0.1\n",
	} {
		if err := os.WriteFile(filepath.Join(data, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	do(t, "transport", "-data", data, "-out", out)
	subject := expect.Must(os.ReadFile(filepath.Join(out, "subject_bone.pvd")))
	if n := strings.Count(string(subject), "<DataSet "); n != 6 {
		t.Errorf("%d moments of the subject: %s", n, subject)
	}
	for _, name := range []string{"template_bone.pvd", "controls_0005.vtp"} {
		expect.Must(os.Stat(filepath.Join(out, name)))
	}
	expect.Refused(t, run([]string{"transport", "-data", data}), "-out")
	expect.Refused(t, run([]string{"transport", "-data", filepath.Dir(data), "-out", out}), "model.xml")
	expect.Refused(t, run([]string{"transport", "-data", data, "-out", out, "-width", "3"}), "width")
}
