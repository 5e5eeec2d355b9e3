package geomtest

import (
	"os"
	"testing"
)

// Main runs the tests of a package that compile much and compute little: XLA's optimisation costs them more than it saves.
// XLA_FLAGS, where it is set, stays as it is.
func Main(m *testing.M) {
	if os.Getenv("XLA_FLAGS") == "" {
		os.Setenv("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false")
	}
	os.Exit(m.Run())
}
