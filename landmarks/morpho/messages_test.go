package morpho

import (
	"errors"
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
	zoo.Messages(t, 120, "checkpoint.go", "columns.go", "csv.go", "curves.go", "dataset.go", "evidence.go", "files.go", "folder.go", "inspect.go", "missing.go", "mitk.go", "morphologika.go", "npy.go", "nts.go", "numerals.go", "outline.go",
		"plain.go", "points.go", "rdata.go", "sheet.go", "slicer.go", "tps.go", "workbook.go", "../internal/text/text.go")
}
