// Package bench measures calls in benchmarks: what the first one takes, which compiles, what the best later one takes, and memory. It
// links no XLA.
package bench

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Call makes a call once, and then as often as the benchmark asks. It reports the seconds of the first call, first-s, the milliseconds
// of the best later one, best-ms, and memory as Memory does.
func Call(b *testing.B, call func() error) {
	b.Helper()
	defer Memory(b)()
	once := func() time.Duration {
		start := time.Now()
		if err := call(); err != nil {
			b.Fatal(err)
		}
		return time.Since(start)
	}
	first := once()
	best := time.Duration(1<<63 - 1)
	for b.Loop() {
		best = min(best, once())
	}
	b.ReportMetric(first.Seconds(), "first-s")
	b.ReportMetric(float64(best.Microseconds())/1000, "best-ms")
}

// Memory returns a function that reports the most resident memory that the process had since then, peak-MB, where Linux tells.
func Memory(b *testing.B) (report func()) {
	const forget = "5"
	err := os.WriteFile("/proc/self/clear_refs", []byte(forget), 0)
	return func() {
		if megabytes, ok := peak(); ok && err == nil {
			b.ReportMetric(megabytes, "peak-MB")
		}
	}
}

func peak() (megabytes float64, ok bool) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, false
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	number, _, _ := strings.Cut(rest, "kB")
	kilobytes, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	return kilobytes * 1024 / 1e6, err == nil
}
