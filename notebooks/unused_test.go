package notebooks

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestExportsAreUsed finds exported functions, and methods of exported types, whose name no program, package, notebook, page or example
// has: only tests use them, or nobody does. A name that something else has too hides one.
func TestExportsAreUsed(t *testing.T) {
	exports, used := map[string]token.Position{}, map[string]bool{}
	set, word := token.NewFileSet(), regexp.MustCompile(`\b[A-Z]\w*`)
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		_, module := os.Stat(filepath.Join(path, "go.mod"))
		switch {
		case entry.IsDir() && path != ".." && module == nil: // another module
			return fs.SkipDir
		case entry.IsDir() && path != ".." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "reports"):
			return fs.SkipDir
		case strings.HasSuffix(name, ".md") && name != "CHANGELOG.md":
			text, err := os.ReadFile(path)
			for _, w := range word.FindAllString(string(text), -1) {
				used[w] = true
			}
			return err
		case strings.HasSuffix(name, ".ipynb"):
			var notebook struct {
				Cells []struct{ Source []string }
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if err := json.Unmarshal(text, &notebook); err != nil {
				return err
			}
			for _, cell := range notebook.Cells {
				for _, w := range word.FindAllString(strings.Join(cell.Source, ""), -1) {
					used[w] = true
				}
			}
			return nil
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(name, "example"):
			return nil
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		// What package nb exports is also called by the cells that the kernel compiles, and geomtest is for tests.
		counts := file.Name.Name != "main" && !strings.Contains(path, "geomtest") && !strings.Contains(path, "internal") && file.Name.Name != "nb"
		declared := map[*ast.Ident]bool{}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				declared[f.Name] = true
				if counts && f.Name.IsExported() && !strings.HasSuffix(name, "_test.go") && (f.Recv == nil || ast.IsExported(receiver(f.Recv.List[0].Type))) {
					exports[f.Name.Name] = set.Position(f.Pos())
				}
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && id.IsExported() && !declared[id] {
				used[id.Name] = true
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, at := range exports {
		if !used[name] {
			t.Errorf("%s: %s has no user but tests: give it a use, or make it unexported, or remove it", at, name)
		}
	}
	if len(exports) < 500 {
		t.Errorf("found %d exported names, want at least 500: does the search still find them?", len(exports))
	}
}
