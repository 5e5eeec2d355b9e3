package geomtest

import (
	"flag"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"anatomy/internal/lists"
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

// Way is how the tests of a process compute.
type Way string

const (
	// Plain is GoMLX's back end in plain Go. It compiles nothing and computes slowly, so that it is for tests of many formulas with few numbers: the
	// curvature of a group of nine dimensions takes 0.3 s in place of 5. With ANATOMY_FULL these tests run as Quick, too.
	Plain Way = "GOMLX_BACKEND=go"
	// Optimised is XLA as users have it, for tests that compute much and compile little.
	Optimised Way = "XLA_FLAGS=--xla_backend_optimization_level=3"
)

// Quick is XLA without optimisation, which costs tests more than it saves. So does compiling parts of a program at once, and so do the newest
// instructions of the processor, which cost a tenth of the time.
var Quick = func() Way {
	flags := "XLA_FLAGS=--xla_backend_optimization_level=0 --xla_cpu_parallel_codegen_split_count=1"
	if runtime.GOARCH == "amd64" {
		flags += " --xla_cpu_max_isa=AVX2"
	}
	return Way(flags)
}()

// way is that of this process; empty where the environment or a benchmark, which times what users run, chooses the back end or XLA's flags.
var way Way

// Main runs the tests of a package in a way, Plain or Quick, and then the others, in a process of their own, in the other one of these two.
func Main(m *testing.M, w Way, others ...func(t *testing.T)) {
	flag.Parse()
	option := func(name string) flag.Value { return flag.Lookup("test." + name).Value }
	if os.Getenv("XLA_FLAGS")+os.Getenv("GOMLX_BACKEND") != "" || option("bench").String() != "" {
		os.Exit(m.Run())
	}
	if os.Getenv(Full) != "" {
		w, others = Quick, nil
	}
	variable, value, _ := strings.Cut(string(w), "=")
	os.Setenv(variable, value)
	way = w
	chosen, err := regexp.Compile(strings.Split(option("run").String(), "/")[0])
	if err != nil || option("list").String()+option("skip").String() != "" { // which stay as they are
		os.Exit(m.Run())
	}
	names := lists.Filter(named(others), chosen.MatchString)
	if len(names) == 0 {
		os.Exit(m.Run())
	}
	option("skip").Set(exactly(names))
	status := m.Run()
	args := slices.DeleteFunc(slices.Clone(os.Args[1:]), func(a string) bool { return strings.HasPrefix(a, "-test.testlogfile") })
	c := exec.Command(os.Args[0], append(args, "-test.run="+exactly(names))...)
	c.Env, c.Stdout, c.Stderr = append(os.Environ(), map[Way]Way{Plain: Quick, Quick: Plain}[w].environment()...), os.Stdout, os.Stderr
	if c.Run() != nil {
		status = 1
	}
	os.Exit(status)
}

// named are the names of tests, so that none is lost with its name.
func named(tests []func(t *testing.T)) []string {
	return lists.Each(tests, func(test func(t *testing.T)) string {
		name := runtime.FuncForPC(reflect.ValueOf(test).Pointer()).Name()
		return name[strings.LastIndex(name, ".")+1:]
	})
}

func exactly(names []string) string { return "^(" + strings.Join(names, "|") + ")$" }

// In runs a test again in a process that computes in another way than those of its package, and fails if it does not pass there. It is no subtest.
// It says whether the test should go on here, as it does in that process:
//
//	if !geomtest.In(t, geomtest.Optimised) {
//		return
//	}
func In(t *testing.T, w Way) bool {
	t.Helper()
	if way == "" || way == w {
		return true
	}
	again(t, w.environment(), t.Name())
	return false
}

// environment is what makes another process compute in a way.
func (w Way) environment() []string { return []string{"GOMLX_BACKEND=", "XLA_FLAGS=", string(w)} }

// Portable runs tests of its package again in a process without C functions, which is what a GPU runs, and fails if one does not pass there.
func Portable(t *testing.T, tests ...func(t *testing.T)) {
	t.Helper()
	env := []string{"ANATOMY_NATIVE=off"}
	if way != "" {
		env = append(env, Quick.environment()...)
	}
	again(t, env, named(tests)...)
}

// again runs tests in a process with other variables of the environment, and fails if one does not pass there.
func again(t *testing.T, env []string, names ...string) {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run", exactly(names), "-test.v")
	c.Env = append(os.Environ(), env...)
	out, err := c.CombinedOutput()
	t.Logf("%s", out)
	for _, name := range names {
		if passed := regexp.MustCompile(`(?m)^--- PASS: ` + name + ` `); err != nil || !passed.Match(out) {
			t.Errorf("%s in a process of its own: %v, want that it passes", name, err)
		}
	}
}
