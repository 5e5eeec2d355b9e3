package geomtest

import (
	"flag"
	"os"
	"os/exec"
	"regexp"
	"runtime"
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
	c := exec.Command(os.Args[0], "-test.run", "^"+regexp.QuoteMeta(t.Name())+"$", "-test.v")
	c.Env = append(os.Environ(), "XLA_FLAGS="+level+"3")
	out, err := c.CombinedOutput()
	t.Logf("%s", out)
	if passed := regexp.MustCompile(`(?m)^--- PASS: ` + t.Name() + ` `); err != nil || !passed.Match(out) {
		t.Errorf("in its own process: %v, want that it passes", err)
	}
	return false
}
