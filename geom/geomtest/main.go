package geomtest

import (
	"flag"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// Full is the variable of the environment with which Count is full; `make calibrate` sets it.
const Full = "ANATOMY_FULL"

// Count is how many samples a test draws: quick in the tests of every change, full where they may take long.
func Count(quick, full int) int {
	if os.Getenv(Full) != "" {
		return full
	}
	return quick
}

const level = "--xla_backend_optimization_level="

// quick says that this process compiles without optimisation.
var quick bool

// Main runs the tests of a package that compile much and compute little. XLA's optimisation costs them more than it saves. So does
// compiling parts of a program at once, and so do the newest instructions of the processor, which cost a tenth of the time. Benchmarks
// time what users run, with all three. XLA_FLAGS, where it is set, stays as it is.
func Main(m *testing.M) {
	flag.Parse()
	if os.Getenv("XLA_FLAGS") == "" && flag.Lookup("test.bench").Value.String() == "" {
		flags := level + "0 --xla_cpu_parallel_codegen_split_count=1"
		if runtime.GOARCH == "amd64" {
			flags += " --xla_cpu_max_isa=AVX2"
		}
		os.Setenv("XLA_FLAGS", flags)
		quick = true
	}
	os.Exit(m.Run())
}

// Optimised runs a test that computes much and compiles little again, in a process of its own with XLA's optimisation, and fails
// if that one does not pass. It is no subtest. It says whether the test should go on here, as it does in that process:
//
//	if !geomtest.Optimised(t) {
//		return
//	}
func Optimised(t *testing.T) bool {
	t.Helper()
	if !quick {
		return true
	}
	again(t, []string{"XLA_FLAGS=" + level + "3"}, t.Name())
	return false
}

// Portable runs tests of its package again in a process without C functions, which is what a GPU runs, and fails if one does not pass there. Tests
// are given as functions, so that none is lost with its name.
func Portable(t *testing.T, tests ...func(t *testing.T)) {
	t.Helper()
	env := []string{"ANATOMY_NATIVE=off"}
	if quick {
		env = append(env, "XLA_FLAGS=") // which the process sets itself
	}
	var names []string
	for _, test := range tests {
		name := runtime.FuncForPC(reflect.ValueOf(test).Pointer()).Name()
		names = append(names, name[strings.LastIndex(name, ".")+1:])
	}
	again(t, env, names...)
}

// again runs tests in a process with other variables of the environment, and fails if one does not pass there.
func again(t *testing.T, env []string, names ...string) {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run", "^("+strings.Join(names, "|")+")$", "-test.v")
	c.Env = append(os.Environ(), env...)
	out, err := c.CombinedOutput()
	t.Logf("%s", out)
	for _, name := range names {
		if passed := regexp.MustCompile(`(?m)^--- PASS: ` + name + ` `); err != nil || !passed.Match(out) {
			t.Errorf("%s in a process of its own: %v, want that it passes", name, err)
		}
	}
}
