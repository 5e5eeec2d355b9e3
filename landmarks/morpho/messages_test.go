package morpho

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anatomy/geom/geomtest/expect"
	"anatomy/internal/input"
	"anatomy/landmarks/internal/zoo"
)

// advised wants an error about data: it says words, which begin with where it is, and what to do.
func advised(t *testing.T, err error, words ...string) {
	t.Helper()
	expect.Refused(t, err, words...)
	var advice *input.Advice
	switch {
	case err == nil:
	case !errors.As(err, &advice) || advice.Do == "" || !strings.HasSuffix(err.Error(), "; "+advice.Do):
		t.Errorf("%q does not end in what to do", err)
	case strings.HasPrefix(err.Error(), advice.Error()):
		t.Errorf("%q does not begin with where it is", err)
	}
}

func TestMessagesSayWhatToDo(t *testing.T) {
	sources := slices.Concat(expect.Must(filepath.Glob("files/*.go")), []string{"dataset.go", "inspect.go", "spline.go", "sizes.go", "../internal/text/text.go"})
	zoo.Messages(t, 120, slices.DeleteFunc(sources, func(name string) bool { return strings.HasSuffix(name, "_test.go") })...)
}
