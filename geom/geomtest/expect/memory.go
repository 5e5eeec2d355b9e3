package expect

import (
	"runtime"
	"syscall"
	"testing"
)

// Memory fails the test if the largest resident size that the process has had grows by more than so many bytes while f runs.
func Memory(t *testing.T, most int, f func()) {
	t.Helper()
	before := peak(t)
	f()
	if grown := peak(t) - before; grown > most {
		t.Errorf("peak memory grew by %d MB", grown>>20)
	} else {
		t.Logf("peak memory grew by %d MB", grown>>20)
	}
}

func peak(t *testing.T) int {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "darwin" { // which counts bytes, others kilobytes
		return int(usage.Maxrss)
	}
	return int(usage.Maxrss) << 10
}
