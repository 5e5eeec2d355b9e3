// Package bomb is the test that readers refuse files which would take many times their size.
package bomb

import (
	"io"
	"runtime"
	"strings"
	"testing"

	"anatomy/geom/geomtest/expect"
)

// Repeat is text n times.
func Repeat(text string, n int) io.Reader {
	readers := make([]io.Reader, n)
	for i := range readers {
		readers[i] = strings.NewReader(text)
	}
	return io.MultiReader(readers...)
}

// Refused wants read to refuse a file of the name "bomb", with an error that names it and says the words, before it has
// allocated a gigabyte.
func Refused[T any](t *testing.T, what string, read func(file io.Reader, name string) (T, error), file io.Reader, words string) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := read(file, "bomb")
	runtime.ReadMemStats(&after)
	expect.Refused(t, err, "bomb", words)
	if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; allocated > 1000 {
		t.Errorf("%s: %d MiB allocated", what, allocated)
	}
}
