package geomtest

import (
	"flag"
	"os"
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

// Main runs the tests of a package that compile much and compute little: XLA's optimisation costs them more than it saves.
// Benchmarks time what users run, with it. XLA_FLAGS, where it is set, stays as it is.
func Main(m *testing.M) {
	flag.Parse()
	if os.Getenv("XLA_FLAGS") == "" && flag.Lookup("test.bench").Value.String() == "" {
		os.Setenv("XLA_FLAGS", "--xla_backend_optimization_level=0")
	}
	os.Exit(m.Run())
}
