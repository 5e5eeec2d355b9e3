package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
	if err := study(args); err != nil {
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
	expect.Refused(t, study([]string{"collect", "-out", many}), "results are missing")
	run(t, "register", "-data", data, "-out", many)
	run(t, "collect", "-out", many)
	same(t, contents(t, many), contents(t, one))
	if n := strings.Count(contents(t, many)["study.csv"], "converged"); n != 9 {
		t.Errorf("%d of 9 converged:\n%s", n, contents(t, many)["study.csv"])
	}
}

// A sample depends on the seed and its number, not on the tasks.
func TestBootstrap(t *testing.T) {
	data, one, many := skulls(t, 4), t.TempDir(), t.TempDir()
	args := func(out string, more ...string) []string {
		return append([]string{"bootstrap", "-data", data, "-out", out, "-samples", "2", "-mismatch", "5"}, more...)
	}
	run(t, args(one)...)
	t.Setenv("SLURM_ARRAY_TASK_COUNT", "2")
	t.Setenv("SLURM_ARRAY_TASK_MIN", "1")
	for _, id := range []string{"2", "1"} {
		t.Setenv("SLURM_ARRAY_TASK_ID", id)
		run(t, args(many)...)
	}
	same(t, contents(t, many), contents(t, one))
	if means := contents(t, one); means["result_000000.json"] == strings.Replace(means["result_000001.json"], `"Number": 1`, `"Number": 0`, 1) {
		t.Error("two samples are the same")
	}
	expect.Refused(t, study(args(one, "-seed", "2")), "other data or settings")
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
		"no such file":       {"register", "-out", out, "-data", data + "x"},
		"\"extra\" is no op": {"register", "-out", out, "-data", data, "extra"},
	} {
		expect.Refused(t, study(args), want)
	}
	if left, _ := os.ReadDir(out); len(left) > 0 {
		t.Errorf("wrong use left %v", left)
	}
}
