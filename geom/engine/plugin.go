package engine

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/gomlx/compute"

	"anatomy/geom/engine/internal/programs"
	"anatomy/geom/engine/trusted"
)

// Where plug-ins lie in a Python environment, the preferred one first: that which `make setup PLUGIN=…` chose, then those of wheels.
var (
	cudaPlugins = []string{"jax_plugins/xla_cuda13/xla_cuda_plugin.so"}
	cpuPlugins  = []string{"anatomy_plugin/*.so", pinned, "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so"}
)

// pinned is the plug-in for Linux on x86-64, with which the project's numbers were computed.
const pinned = "fastatomstruct_xla_cpu/libpjrt_cpu.so"

// builders says of plug-ins, by their SHA-256, which file of which package they are, and who built them. NOTICE.md shows it.
var builders = map[string]string{
	"0a0fe56ca17be9efc7b942e89e534e5e0ad4a0f1e369b66d27b62184509015b9": "libpjrt_cpu.so of fastatomstruct-xla-cpu 2026.6.23, built by " +
		"zml/pjrt-artifacts (manual-2026-06-23T00-20-00Z), repackaged by the authors of fastatomstruct",
	"88c3f28c5900f48ad4a82cab9e79bba9537809743395e341485f8794268820dc": "xla_cpu_pjrt.so of xla-cpu-pjrt 0.0.1, built by the OpenXLA authors",
	"fcf411f3e8ff635c2b2cf87215aa7016f460e66d236c3db08309e7486583532d": "xla_cpu_pjrt.so of xla-cpu-pjrt 0.0.1, built by the OpenXLA authors",
	"4443b8c89bd43923dcb895efc95058c65682de1724ec5a66854a96d4731e4228": "xla_cuda_plugin.so of jax-cuda13-pjrt 0.10.2, built by the JAX authors",
}

// MachineCode says which plug-in Backend opens: its file with the package, who built it, and its SHA-256. Of a GOMLX_BACKEND that names no file
// it says the name. An error says that there is no plug-in.
func MachineCode() (string, error) {
	path, config, err := plugin()
	if path == "" || err != nil {
		return config, err
	}
	code, err := os.ReadFile(path)
	hash := fmt.Sprintf("%x", sha256.Sum256(code))
	about := builders[hash]
	if about == "" {
		about = filepath.Base(path) + ", built by somebody who is not known to this project"
	}
	return about + "; SHA-256 " + hash, err
}

// plugin is the configuration with which Backend opens GoMLX, and the plug-in's path in it, "" if GoMLX looks for one.
func plugin() (path, config string, err error) {
	if config = os.Getenv(compute.ConfigEnvVar); config == "" {
		path, err = findPlugin()
		return path, configOf(path), err
	}
	path, _, _ = strings.Cut(strings.TrimPrefix(config, "xla:"), ",")
	if !filepath.IsAbs(path) {
		path = ""
	}
	return path, config, nil
}

// configOf is the configuration of a plug-in that was found, with an option that go-xla guesses from the path.
func configOf(path string) string { return fmt.Sprintf("xla:%s,shared_buffers=%t", path, !cuda(path)) }

func cuda(config string) bool {
	return slices.ContainsFunc(cudaPlugins, func(plugin string) bool { return strings.Contains(config, plugin) })
}

// findPlugin returns the absolute path of the XLA plug-in. It lies in the folder of Python's wheels that ANATOMY_PLUGINS names; else in
// .anatomy/venv of the folder that ANATOMY_HOME names, or of that whose sources of this package the program was built from; where -trimpath hides
// that, in the Python environment whose bin folder holds the program. It is machine code, so it is an error if anybody but this user and root may
// write to it or to a folder on its path, and no other folder is searched.
func findPlugin() (string, error) { return pluginFor(os.Getenv(deviceVariable)) }

// deviceVariable is the environment variable that names the device of all programs.
const deviceVariable = "ANATOMY_DEVICE"

// pluginFor is findPlugin for a device.
func pluginFor(device string) (string, error) {
	install := "make setup"
	candidates := map[string][]string{"": cpuPlugins, "cpu": cpuPlugins, "cuda": cudaPlugins}[device]
	if candidates == nil {
		return "", fmt.Errorf("ANATOMY_DEVICE=%q: want cpu or cuda", device)
	} else if device == "cuda" {
		install = "make setup-cuda"
	} else if _, err := os.Stat("/dev/nvidiactl"); err == nil && device == "" {
		candidates = slices.Concat(cudaPlugins, cpuPlugins)
	}
	const project, wheels = ".anatomy/venv", "lib/python3*/site-packages"
	_, source, _, _ := runtime.Caller(0)
	home, inside, which := filepath.Join(source, "../../.."), project+"/"+wheels, "from which this program was built"
	if !filepath.IsAbs(home) { // -trimpath
		program, _ := os.Executable()
		home, inside, which = filepath.Join(program, "../.."), wheels, "whose bin folder holds this program"
	}
	for _, v := range []struct{ name, inside string }{{"ANATOMY_HOME", project + "/" + wheels}, {"ANATOMY_PLUGINS", ""}} {
		if named := os.Getenv(v.name); named != "" {
			home, inside, which = named, v.inside, "which "+v.name+" names"
		}
	}
	const otherwise = "GOMLX_BACKEND=xla:/absolute/path/to/plugin.so names another one"
	if !filepath.IsAbs(home) {
		return "", fmt.Errorf("the folder %q, %s: want an absolute path; %s", home, which, otherwise)
	}
	for _, c := range candidates {
		found, _ := filepath.Glob(filepath.Join(escapeGlob(home), inside, c))
		if len(found) == 0 {
			continue
		}
		if err := trusted.Path(found[0]); err != nil {
			return "", fmt.Errorf("the XLA plug-in %s is not loaded: %w; %s", found[0], err, otherwise)
		}
		return found[0], nil
	}
	return "", fmt.Errorf("no XLA plug-in in %q, %s: run `%s` in the folder of the project, and name that by ANATOMY_HOME if it is another one; %s",
		home, which, install, otherwise)
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// tell sets XLA_FLAGS for a plug-in, which reads it while it is opened, and returns a function that puts back what was there.
func tell(plugin string) (done func()) {
	const name = "XLA_FLAGS"
	users, given := os.LookupEnv(name)
	os.Setenv(name, flags(plugin, users))
	return func() {
		if os.Unsetenv(name); given {
			os.Setenv(name, users)
		}
	}
}

// flags adds to those of the user (XLA_FLAGS) what a plug-in of the project is told, so that programs compile sooner; they run
// as fast to a few per cent. A plug-in that does not know a flag ends the process, so that only the one is told that has these:
//
//   - not to use XLA's newer emitters of fusions, through MLIR, which take 1.1 to 2.4 times as long;
//   - to leave out the passes of LLVM that XLA calls expensive: on Lie groups compiling takes 0.76 of the time without them;
//   - to leave out LLVM's reduction of loop strength and its scheduling after registers are allocated, and to unroll loops half as far:
//     0.83 together over a sixth of the notebooks' programs;
//   - to cut a program into twice as many parts as there are processors, not into 32, each of which costs: 0.91 to 0.94 on two.
//
// It is also told that a maximum or minimum of numbers is NaN where one of them is, as on other devices: else it passes over NaN, and a
// test of the largest error holds where errors are not numbers.
//
// The plug-in for NVIDIA GPUs is told programs.GPUFlag.
func flags(plugin, users string) string {
	if name, _, _ := strings.Cut(programs.GPUFlag, "="); cuda(plugin) && !strings.Contains(users, name) {
		return strings.TrimSpace(users + " " + programs.GPUFlag)
	}
	if !strings.HasSuffix(plugin, pinned) {
		return users
	}
	for _, f := range []struct {
		name  string
		value any
	}{
		{"--xla_cpu_use_fusion_emitters", false},
		{"--xla_llvm_disable_expensive_passes", true},
		{"--xla_backend_extra_options", "-disable-lsr,-disable-post-ra,-unroll-threshold=150"},
		{"--xla_cpu_parallel_codegen_split_count", min(32, 2*runtime.NumCPU())},
		{"--xla_cpu_enable_fast_min_max", false},
	} {
		if !strings.Contains(users, f.name) {
			users += fmt.Sprintf(" %s=%v", f.name, f.value)
		}
	}
	return strings.TrimSpace(users)
}
