package notebooks

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// storeys returns the packages of the first table of architecture.md in its order, and how many of them its first row has.
func storeys(t *testing.T) (packages []string, plain int) {
	text, err := os.ReadFile("architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	for i, row := range strings.Split(table, "\n") {
		for _, name := range code.FindAllStringSubmatch(row, -1) {
			packages = append(packages, path.Join("anatomy", name[1]))
		}
		if i == 0 {
			plain = len(packages)
		}
	}
	return packages, plain
}

// imports returns what each package of the module imports, without its tests.
func imports(t *testing.T) map[string][]string {
	found, set := map[string][]string{}, token.NewFileSet()
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			_, err := os.Stat(filepath.Join(path, "go.mod"))
			if path != ".." && (err == nil || strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(set, path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		name := "anatomy" + strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "..")
		if found[name] == nil {
			found[name] = []string{}
		}
		for _, spec := range file.Imports {
			other, _ := strconv.Unquote(spec.Path.Value)
			found[name] = append(found[name], other)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestImportOrder holds the storeys of architecture.md: it lists every package once, a package imports only those listed before it,
// and those of the first row do not link XLA.
func TestImportOrder(t *testing.T) {
	packages, plain := storeys(t)
	found, at := imports(t), map[string]int{}
	xla := regexp.MustCompile(`^github.com/gomlx/`)
	for place, path := range packages {
		if _, exists := found[path]; !exists {
			t.Errorf("architecture.md lists %s, which does not exist", path)
		}
		if _, twice := at[path]; twice {
			t.Errorf("architecture.md lists %s twice", path)
		}
		at[path] = place
	}
	for path, imported := range found {
		place, listed := at[path]
		if !listed {
			t.Errorf("architecture.md does not list %s: put it on its storey", path)
			continue
		}
		for _, other := range imported {
			if below, own := at[other]; own && below >= place {
				t.Errorf("%s imports %s, which architecture.md lists after it", path, other)
			}
			if place < plain && xla.MatchString(other) {
				t.Errorf("%s imports %s, but stands in the first row of architecture.md", path, other)
			}
		}
	}
}
