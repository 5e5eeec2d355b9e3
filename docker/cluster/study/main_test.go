package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"anatomy/geom/geomtest/expect"
	"anatomy/landmarks/morpho"
)

// A test starts this program again as a task.
func TestMain(m *testing.M) {
	if os.Getenv("STUDY_TASK") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

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

func run(t *testing.T, args ...string) {
	t.Helper()
	if err := runStudy(args); err != nil {
		t.Fatal(err)
	}
}

// contents returns the results of a folder by their names.
func contents(t *testing.T, folder string) map[string]string {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range files {
		if !strings.HasPrefix(f.Name(), part) {
			text, err := os.ReadFile(filepath.Join(folder, f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			out[f.Name()] = string(text)
		}
	}
	return out
}

// file is the path of result number i.
func file(out string, i int) string { return filepath.Join(out, (&result{Number: i}).file()) }

func same(t *testing.T, got, want map[string]string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d files, want %d", len(got), len(want))
	}
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s:\n%s\nwant\n%s", name, got[name], want[name])
		}
	}
}

// Three tasks at once, one of them killed, and what is missing computed by a fourth, give what one task gives.
func TestKilledAndResumed(t *testing.T) {
	data, one, many := skulls(t, 9), t.TempDir(), t.TempDir()
	run(t, "register", "-data", data, "-out", one)
	run(t, "collect", "-out", one)

	start := func(task, tasks string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], "register", "-data", data, "-out", many, "-task", task, "-tasks", tasks)
		cmd.Env = append(os.Environ(), "STUDY_TASK=1")
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	first, second, third := start("0", "3"), start("1", "3"), start("2", "3")
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(file(many, 0)); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no result after five minutes")
		}
	}
	first.Process.Kill()
	first.Wait()
	for _, cmd := range []*exec.Cmd{second, third} {
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(file(many, 6)); err != nil && !os.IsNotExist(err) { // should the kill have come too late
		t.Fatal(err)
	}
	expect.Refused(t, runStudy([]string{"collect", "-out", many}), "results are missing")
	run(t, "register", "-data", data, "-out", many)
	run(t, "collect", "-out", many)
	same(t, contents(t, many), contents(t, one))
	if n := strings.Count(contents(t, many)["study.csv"], "converged"); n != 9 {
		t.Errorf("%d of 9 converged:\n%s", n, contents(t, many)["study.csv"])
	}
}

// A folder with a file a specimen is a study as one file of them is, and its data are those of all its files.
func TestFolder(t *testing.T) {
	file, folder := skulls(t, 2), t.TempDir()
	d := expect.Must(morpho.Read(file))
	for _, s := range d.Specimens {
		if err := morpho.Write(filepath.Join(folder, s.Name+".csv"), &morpho.Dataset{Specimens: []morpho.Specimen{s}}); err != nil {
			t.Fatal(err)
		}
	}
	numbers := regexp.MustCompile(`(?s)"Status".*"Variance"`).FindString
	one, many := t.TempDir(), t.TempDir()
	run(t, "register", "-data", file, "-out", one)
	run(t, "register", "-data", folder, "-out", many)
	for i := range 2 {
		name := (&result{Number: i}).file()
		if got, want := numbers(contents(t, many)[name]), numbers(contents(t, one)[name]); got != want || got == "" {
			t.Errorf("subject %d of a folder:\n%s\nof a file:\n%s", i, got, want)
		}
	}
	if err := os.Rename(filepath.Join(folder, d.Specimens[0].Name+".csv"), filepath.Join(folder, "other.csv")); err != nil {
		t.Fatal(err)
	}
	expect.Refused(t, runStudy([]string{"register", "-data", folder, "-out", many}), "other data or settings")
}

// An interrupted task keeps no result that is not final, and leaves the others for the next one.
func TestInterrupted(t *testing.T) {
	for _, kind := range []string{"register", "bootstrap"} {
		ctx, interrupt := context.WithCancel(context.Background())
		work := prepare(ctx, &settings{Kind: kind, Aligned: true, Samples: 3}, skulls(t, 3))
		calls, out := 0, t.TempDir()
		err := compute(ctx, out, "id", func(i int) (*result, error) {
			calls++
			interrupt()
			return work(i)
		}, 0, 1, 3)
		if left := contents(t, out); calls != 1 || len(left) > 0 {
			t.Errorf("%s: %d calls leave %d results", kind, calls, len(left))
		}
		expect.Refused(t, err, "stopped")
	}
}

// A sample depends on the seed and its number, not on the tasks.
func TestBootstrap(t *testing.T) {
	data, one, many := skulls(t, 4), t.TempDir(), t.TempDir()
	args := func(out string, more ...string) []string {
		return append([]string{"bootstrap", "-data", data, "-out", out, "-samples", "4", "-mismatch", "0.1"}, more...)
	}
	run(t, args(one)...)
	t.Setenv("SLURM_ARRAY_TASK_COUNT", "2")
	t.Setenv("SLURM_ARRAY_TASK_MIN", "1")
	for _, id := range []string{"2", "1"} {
		t.Setenv("SLURM_ARRAY_TASK_ID", id)
		run(t, args(many)...)
	}
	same(t, contents(t, many), contents(t, one))
	if mean := regexp.MustCompile(`(?s)"Mean".*"Variance"`).FindString; mean(contents(t, one)["result_000000.json"]) == mean(contents(t, one)["result_000001.json"]) {
		t.Error("two samples are the same")
	}
	expect.Refused(t, runStudy(args(one, "-seed", "2")), "other data or settings")
}

func TestWrongUse(t *testing.T) {
	data, out := skulls(t, 3), t.TempDir()
	for want, args := range map[string][]string{
		"want register":      {},
		"\"go\": want":       {"go"},
		"want -out":          {"collect"},
		"want -data":         {"register", "-out", out},
		"task 3 of 3":        {"register", "-out", out, "-data", data, "-task", "3", "-tasks", "3"},
		"nobody":             {"register", "-out", out, "-data", data, "-template", "nobody"},
		"-width -1":          {"register", "-out", out, "-data", data, "-width", "-1"},
		"-samples 0":         {"bootstrap", "-out", out, "-data", data, "-samples", "0"},
		"-samples 922337203": {"bootstrap", "-out", out, "-data", data, "-samples", "9223372036854775807"},
		"no such file":       {"register", "-out", out, "-data", data + "x"},
		"-detail 0":          {"atlas", "-out", out, "-data", data, "-detail", "0"},
		"-tolerance NaN":     {"atlas", "-out", out, "-data", data, "-tolerance", "NaN"},
		"-rounds 0":          {"atlas", "-out", out, "-data", data, "-rounds", "0"},
		"not a directory":    {"atlas", "-out", out, "-data", data},
		"\"extra\" is no op": {"register", "-out", out, "-data", data, "extra"},
	} {
		expect.Refused(t, runStudy(args), want)
	}
	if left, _ := os.ReadDir(out); len(left) > 0 {
		t.Errorf("wrong use left %v", left)
	}
}

// Of two studies that start together in one folder, one has it, and the other is told so.
func TestTwoStudiesAtOnce(t *testing.T) {
	for range 200 {
		out := filepath.Join(t.TempDir(), "results")
		start, errs := make(chan bool), make(chan error, 2)
		for seed := range 2 {
			go func() {
				<-start
				_, err := claim(out, settings{Kind: "bootstrap", Seed: uint64(seed), Samples: 3, Count: 3})
				errs <- err
			}()
		}
		close(start)
		first, second := <-errs, <-errs
		if first == nil {
			first, second = second, first
		}
		if second != nil || first == nil || !strings.Contains(first.Error(), "other data or settings") {
			t.Fatalf("want one that has the folder, and one that has not: %v and %v", first, second)
		}
		if left := contents(t, out); len(left) != 1 {
			t.Fatalf("%d files, want the claim alone", len(left))
		}
	}
}

// What lies under a result's name is a result of this study and of this number, whole, or it is refused: by collect, and by a
// task, which leaves it.
func TestResultsOfOthers(t *testing.T) {
	data, out, other := skulls(t, 3), t.TempDir(), t.TempDir()
	run(t, "register", "-data", data, "-out", out)
	run(t, "register", "-data", data, "-out", other, "-width", "50")
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	good := read(file(out, 1))
	for name, c := range map[string]struct{ text, want string }{
		"empty":             {"", "unexpected end of JSON"},
		"no result":         {"{}", "of another study"},
		"no text":           {"null", "of another study"},
		"cut":               {good[:len(good)/2], "JSON"},
		"of another study":  {read(file(other, 1)), "of another study"},
		"of another number": {read(file(out, 2)), "result 2 of this study"},
		"changed":           {strings.Replace(good, `"Length": `, `"Length": 1`, 1), "changed since it was written"},
	} {
		if err := os.WriteFile(file(out, 1), []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"collect", "-out", out}, {"register", "-data", data, "-out", out}} {
			if err := runStudy(args); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), file(out, 1)) {
				t.Errorf("%s: %s: %v, want %q and the file's name", name, args[0], err, c.want)
			}
		}
		if read(file(out, 1)) != c.text {
			t.Errorf("%s: somebody else's file was changed", name)
		}
	}
	if err := os.Remove(file(out, 1)); err != nil {
		t.Fatal(err)
	}
	for name, put := range map[string]struct {
		there func(path string) error
		want  string
	}{
		"a pipe":            {func(path string) error { return syscall.Mkfifo(path, 0o600) }, "data are read from regular files"},
		"an endless device": {func(path string) error { return os.Symlink("/dev/zero", path) }, "data are read from regular files"},
		"a folder":          {func(path string) error { return os.Mkdir(path, 0o755) }, "data are read from regular files"},
		"a link to nowhere": {func(path string) error { return os.Symlink("nothing", path) }, "leads nowhere"},
		"a link to itself":  {func(path string) error { return os.Symlink(filepath.Base(path), path) }, "too many"},
		"a link to such a link": {func(path string) error {
			return errors.Join(os.Symlink("nothing", path+"~"), os.Symlink(path+"~", path))
		}, "leads nowhere"},
	} {
		for _, path := range []string{file(out, 1), filepath.Join(t.TempDir(), "study.json")} {
			if err := put.there(path); err != nil {
				t.Fatal(name, err)
			}
			for _, args := range [][]string{{"collect", "-out", filepath.Dir(path)}, {"register", "-data", data, "-out", filepath.Dir(path)}} {
				expect.Refused(t, runStudy(args), path, put.want)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(name, err)
			}
		}
	}
	run(t, "register", "-data", data, "-out", out, "-task", "1", "-tasks", "9223372036854775807")
	run(t, "collect", "-out", out)
	if read(file(out, 1)) != good {
		t.Error("computed again, the result is another one")
	}

	// What is called as the files of killed tasks are, and is none, hinders nobody.
	folder, link, left := filepath.Join(out, part+"x"), filepath.Join(out, part+"y"), filepath.Join(out, part+"7")
	if err := errors.Join(os.MkdirAll(filepath.Join(folder, "mine"), 0o755), os.Symlink("nothing", link), os.WriteFile(left, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	run(t, "collect", "-out", out)
	names := expect.Must(filepath.Glob(filepath.Join(out, part+"*")))
	if !slices.Equal(names, []string{folder, link}) {
		t.Errorf("after collect there are %s", names)
	}
}

// No number, no file and no environment makes a panic, an endless wait or a folder.
func TestNumbersThatAreNone(t *testing.T) {
	data, out := skulls(t, 3), t.TempDir()
	refused := func(want string, args ...string) {
		t.Helper()
		if err := runStudy(args); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: %v, want a sentence with %q", args, err, want)
		}
	}
	for _, v := range []string{"NaN", "Inf", "-Inf", "-1", "1e999", "x", ""} {
		refused("-width", "register", "-out", out, "-data", data, "-width", v)
		refused("-width", "bootstrap", "-out", out, "-data", data, "-width", v)
		refused("-mismatch", "bootstrap", "-out", out, "-data", data, "-mismatch", v)
	}
	for _, v := range []string{"0", "-1", "NaN", "1.5", "99999999999999999999"} {
		refused("-samples", "bootstrap", "-out", out, "-data", data, "-samples", v)
		refused("task", "register", "-out", out, "-data", data, "-tasks", v)
	}
	refused("-seed", "bootstrap", "-out", out, "-data", data, "-seed", "-1")
	refused("task", "register", "-out", out, "-data", data, "-task", "-1")
	fifo := filepath.Join(t.TempDir(), "pipe.csv")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	refused("pipe.csv", "register", "-out", out, "-data", fifo)
	single := filepath.Join(t.TempDir(), "one.csv")
	if err := os.WriteFile(single, []byte("specimen,x,y\na,0,0\nb,1,7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused("-width", "register", "-out", out, "-data", single, "-align=false")
	none := t.TempDir()
	if err := os.WriteFile(filepath.Join(none, "study.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused("no study", "collect", "-out", none)
	t.Setenv("SLURM_ARRAY_TASK_COUNT", "-3")
	refused("task", "register", "-out", out, "-data", data)
	if left, _ := os.ReadDir(out); len(left) > 0 {
		t.Errorf("wrong use left %v", left)
	}
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
	run(t, "transport", "-data", data, "-out", out)
	subject := expect.Must(os.ReadFile(filepath.Join(out, "subject_bone.pvd")))
	if n := strings.Count(string(subject), "<DataSet "); n != 6 {
		t.Errorf("%d moments of the subject: %s", n, subject)
	}
	for _, name := range []string{"template_bone.pvd", "controls_0005.vtp"} {
		expect.Must(os.Stat(filepath.Join(out, name)))
	}
	expect.Refused(t, runStudy([]string{"transport", "-data", data}), "-out")
	expect.Refused(t, runStudy([]string{"transport", "-data", filepath.Dir(data), "-out", out}), "model.xml")
	expect.Refused(t, runStudy([]string{"transport", "-data", data, "-out", out, "-width", "3"}), "width")
}
