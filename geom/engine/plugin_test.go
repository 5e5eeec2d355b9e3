package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"anatomy/geom/engine/internal/programs"
	"anatomy/geom/engine/trusted"
	"anatomy/geom/geomtest/expect"
)

// planted is a project folder with an empty plug-in, which no other user may write to.
func planted(t *testing.T, plugins ...string) (home string) {
	t.Helper()
	home = t.TempDir() + "/päth [with] spaces"
	for _, p := range plugins {
		path := filepath.Join(home, site, p)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

const site = ".anatomy/venv/lib/python3.11/site-packages"

func TestFindPlugin(t *testing.T) {
	home := planted(t, cpuPlugins[2])
	t.Setenv("ANATOMY_HOME", home)
	for _, want := range []string{cpuPlugins[2], pinned, "anatomy_plugin/chosen.so"} { // each is preferred to those before
		if err := os.Mkdir(filepath.Dir(filepath.Join(home, site, want)), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, site, want), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		for _, device := range []string{"", "cpu"} {
			t.Setenv("ANATOMY_DEVICE", device)
			if got, err := FindPlugin(); err != nil || got != filepath.Join(home, site, want) {
				t.Errorf("device %q: %q, %v", device, got, err)
			}
		}
	}
	t.Setenv("ANATOMY_PLUGINS", filepath.Join(home, site))
	t.Setenv("ANATOMY_HOME", "/nowhere")
	if got, err := FindPlugin(); err != nil || got != filepath.Join(home, site, "anatomy_plugin/chosen.so") {
		t.Errorf("in the folder of wheels: %q, %v", got, err)
	}
	t.Setenv("ANATOMY_PLUGINS", "")
	t.Setenv("ANATOMY_HOME", home)
	t.Setenv("ANATOMY_DEVICE", "cuda")
	expect.Refused(t, expect.Error(FindPlugin()), "make setup-cuda")
	home = planted(t, pinned, cudaPlugins[0])
	t.Setenv("ANATOMY_HOME", home)
	if got, err := FindPlugin(); err != nil || got != filepath.Join(home, site, cudaPlugins[0]) {
		t.Errorf("CUDA asked for: %q, %v", got, err)
	}
	t.Setenv("ANATOMY_DEVICE", "gpu")
	expect.Refused(t, expect.Error(FindPlugin()), "want cpu or cuda")
}

// Neither the working directory nor a folder above it is searched, and from a folder that ANATOMY_HOME names wrongly nothing
// else is: without it the plug-in is that of the folder from which the program was built, or none.
func TestNoPluginIsSearched(t *testing.T) {
	t.Setenv("ANATOMY_DEVICE", "")
	root := expect.Must(filepath.Abs("../.."))
	below := filepath.Join(planted(t, pinned), "notebooks/deep")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(below)
	for _, unset := range []func(){func() { t.Setenv("ANATOMY_HOME", "") }, func() { os.Unsetenv("ANATOMY_HOME") }} {
		unset()
		got, err := FindPlugin()
		if err == nil && !strings.HasPrefix(got, root+"/.anatomy/venv/") || err != nil && !strings.Contains(err.Error(), fmt.Sprintf("%q", root)) {
			t.Errorf("found %q, error %v, want those of %s", got, err, root)
		}
	}
	t.Setenv("ANATOMY_HOME", "/nowhere")
	expect.Refused(t, expect.Error(FindPlugin()), "make setup", `"/nowhere", which ANATOMY_HOME names`)
	t.Setenv("ANATOMY_HOME", "../..")
	expect.Refused(t, expect.Error(FindPlugin()), `"../..", which ANATOMY_HOME names: want an absolute path`)
}

// A plug-in that somebody else may write to, or exchange, is not loaded, and no other one in its place.
func TestNoPluginOfOthers(t *testing.T) {
	t.Setenv("ANATOMY_DEVICE", "")
	spoil := map[string]func(path string) error{
		"everybody may write to": func(path string) error { return os.Chmod(path, 0o777) },
	}
	if os.Geteuid() == 0 { // only root can give a file away
		spoil["belongs to"] = func(path string) error { return os.Chown(path, 65534, -1) }
	}
	for said, spoil := range spoil {
		for up := pinned; up != "../../../../../.."; up = filepath.Join(up, "..") { // the plug-in, the folders above it, the project's
			home := planted(t, cpuPlugins[1:]...)
			path := filepath.Join(home, site, up)
			if err := spoil(path); err != nil {
				t.Fatal(err)
			}
			t.Setenv("ANATOMY_HOME", home)
			err := expect.Error(FindPlugin())
			expect.Refused(t, err, said, path, pinned+" is not loaded")
			if !errors.Is(err, trusted.ErrUnsafe) {
				t.Errorf("error %v", err)
			}
		}
	}
}

// The user's flags stay, in front; a plug-in that may not know a flag is not given it.
func TestFlags(t *testing.T) {
	ours := "/home/.anatomy/venv/lib/python3.11/site-packages/" + pinned
	const emitters = "--xla_cpu_use_fusion_emitters=false"
	const passes = "--xla_llvm_disable_expensive_passes=true --xla_backend_extra_options=-disable-lsr,-disable-post-ra,-unroll-threshold=150"
	parts := fmt.Sprint("--xla_cpu_parallel_codegen_split_count=", min(32, 2*runtime.NumCPU()), " --xla_cpu_enable_fast_min_max=false")
	for _, c := range []struct{ plugin, users, want string }{
		{ours, "", emitters + " " + passes + " " + parts},
		{ours, "--xla_dump_to=/tmp", "--xla_dump_to=/tmp " + emitters + " " + passes + " " + parts},
		{ours, "--xla_cpu_use_fusion_emitters=true", "--xla_cpu_use_fusion_emitters=true " + passes + " " + parts},
		{cpuPlugins[2], "", ""},
		{cudaPlugins[0], "--xla_gpu_deterministic_ops=true", "--xla_gpu_deterministic_ops=true " + programs.GPUFlag},
	} {
		if got := flags(c.plugin, c.users); got != c.want {
			t.Errorf("%s with %q: %q, want %q", c.plugin, c.users, got, c.want)
		}
	}
}

// A plug-in reads XLA_FLAGS while it is opened; afterwards they are the user's again, for the programs that this process starts.
func TestFlagsArePutBack(t *testing.T) {
	for _, given := range []bool{true, false} {
		t.Setenv("XLA_FLAGS", "--xla_dump_to=/tmp")
		if !given {
			os.Unsetenv("XLA_FLAGS")
		}
		before, _ := os.LookupEnv("XLA_FLAGS")
		done := tell(pinned)
		if now := os.Getenv("XLA_FLAGS"); !strings.HasPrefix(now, before) || len(now) == len(before) {
			t.Errorf("the plug-in is told %q", now)
		}
		done()
		if after, is := os.LookupEnv("XLA_FLAGS"); after != before || is != given {
			t.Errorf("%q is left of %q", after, before)
		}
	}
}

// What computes is said with its checksum, and with its builder if that is known; NOTICE.md has the same builders.
func TestMachineCode(t *testing.T) {
	t.Setenv("ANATOMY_DEVICE", "")
	t.Setenv("ANATOMY_HOME", planted(t, pinned))
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	unknown := "libpjrt_cpu.so, built by somebody who is not known to this project; SHA-256 " + empty
	if got, err := MachineCode(); err != nil || got != unknown {
		t.Errorf("%q, %v, want %q", got, err, unknown)
	}
	notice := string(expect.Must(os.ReadFile("../../NOTICE.md")))
	for hash, about := range builders {
		file, rest, _ := strings.Cut(about, " of ")
		wheel, rest, _ := strings.Cut(rest, " ")
		version, builder, _ := strings.Cut(rest, ", built by ")
		if want := fmt.Sprintf("| `%s` of `%s` %s | %s | `%s` |", file, wheel, version, builder, hash); !strings.Contains(notice, want) {
			t.Errorf("NOTICE.md has no row with %s", want)
		}
	}
	builders[empty] = "a.so of wheel 1, built by somebody"
	defer delete(builders, empty)
	if got, err := MachineCode(); err != nil || got != builders[empty]+"; SHA-256 "+empty {
		t.Errorf("%q, %v", got, err)
	}
	t.Setenv("GOMLX_BACKEND", "xla:cpu")
	if got, err := MachineCode(); err != nil || got != "xla:cpu" {
		t.Errorf("%q, %v", got, err)
	}
	t.Setenv("GOMLX_BACKEND", "xla:/nowhere/plugin.so,tf32")
	expect.Refused(t, expect.Error(MachineCode()), "/nowhere/plugin.so: no such file")
	t.Setenv("GOMLX_BACKEND", "")
	t.Setenv("ANATOMY_HOME", "/nowhere")
	expect.Refused(t, expect.Error(MachineCode()), "no XLA plug-in")
}
