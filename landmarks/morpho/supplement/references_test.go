package supplement

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"anatomy/geom/geomtest/expect"
)

// Each source that a method cites is in the table of references, with its address, and no other is there. One paper has none.
func TestReferences(t *testing.T) {
	cited := regexp.MustCompile(`"([A-Z][^". ]+(?: & [A-Z][^" ]+| et al\.)? \d{4})"`)
	left := map[string]bool{}
	for name, reference := range references {
		left[name] = true
		if author, _, _ := strings.Cut(name, " "); !strings.Contains(reference, author) || !strings.Contains(reference, name[len(name)-4:]+". ") != (name == "Adams 1999") ||
			!strings.Contains(reference, ". https://") != (name == "Adams 1999") {
			t.Errorf("%s: %s", name, reference)
		}
	}
	for _, path := range expect.Must(filepath.Glob("*.go")) {
		for _, m := range cited.FindAllStringSubmatch(string(expect.Must(os.ReadFile(path))), -1) {
			if references[m[1]] == "" {
				t.Errorf("%s cites %s, which is not in the table of references", path, m[1])
			}
			delete(left, m[1])
		}
	}
	for name := range left {
		t.Errorf("nothing cites %s", name)
	}
}

// The numbers of a column have the same decimals, as many as the largest and the smallest need, but where they differ too much.
func TestColumns(t *testing.T) {
	table := &Table{Header: []string{"R²", "p", "count", "wide", "share"}}
	table.Add(0.1164, PValue(0.02), 3, 1e-9, Percent(0.5))
	table.Add(1.0, PValue(0.2), 1200, 123456.0, Percent(0.0312))
	table.Add(0.0021, PValue(0.0001), 0, 1.5, Percent(1))
	got := ""
	for _, row := range table.cells() {
		got += strings.Join(row, " ") + "; "
	}
	if want := "R² p count wide share; 0.1164 0.020 3 1e-09 50.0 %; 1.0000 0.200 1200 1.2346e+05 3.1 %; 0.0021 0.0001 0 1.5 100.0 %; "; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
