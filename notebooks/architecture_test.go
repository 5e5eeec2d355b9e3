package notebooks

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"hash/crc32"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rows returns the rows of the first table of CONTRIBUTING.md that stands below a heading.
func rows(t *testing.T, heading string) []string {
	text, err := os.ReadFile("../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n## "+heading+"\n")
	_, table, _ = strings.Cut(table, "---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	return strings.Split(table, "\n")
}

// modulePath begins the paths of all packages; `make rename` writes another one.
const modulePath = "anatomy/"

// storeys returns the packages of the table of storeys in its order, and how many of them its first row has.
func storeys(t *testing.T) (packages []string, plain int) {
	for i, row := range rows(t, "Storeys") {
		for _, name := range code.FindAllStringSubmatch(row, -1) {
			packages = append(packages, path.Join(modulePath, name[1]))
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
		name := filepath.ToSlash(filepath.Join(modulePath, strings.TrimPrefix(filepath.Dir(path), "..")))
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

// houses returns what packages of each house in the first column of the table of houses may import: the folders of the third.
func houses(t *testing.T) map[string][]string {
	found := map[string][]string{}
	for _, row := range rows(t, "Houses") {
		cells := strings.Split(row, "|")
		house := path.Join(modulePath, code.FindStringSubmatch(cells[1])[1])
		found[house] = []string{house, "anatomy/landmarks/internal", "anatomy/landmarks/strain"}
		for _, folder := range code.FindAllStringSubmatch(cells[3], -1) {
			found[house] = append(found[house], path.Join(modulePath, folder[1]))
		}
	}
	return found
}

// houseOf is the innermost folder of those given that a package lies in: the house of a package, or "".
func houseOf(path string, folders iter.Seq[string]) string {
	best := ""
	for f := range folders {
		if (path == f || f+"/" != modulePath && strings.HasPrefix(path, f+"/")) && len(f) > len(best) {
			best = f
		}
	}
	return best
}

// TestImportOrder holds the houses and storeys of CONTRIBUTING.md: a house imports only those that its row names; the storeys list every
// package once, a package imports only those listed before it, and those of the first row do not link XLA.
func TestImportOrder(t *testing.T) {
	packages, plain := storeys(t)
	found, at, allowed := imports(t), map[string]int{}, houses(t)
	xla := regexp.MustCompile(`^github.com/gomlx/`)
	for place, path := range packages {
		if _, exists := found[path]; !exists {
			t.Errorf("CONTRIBUTING.md lists %s, which does not exist", path)
		}
		if _, twice := at[path]; twice {
			t.Errorf("CONTRIBUTING.md lists %s twice", path)
		}
		at[path] = place
	}
	for path, imported := range found {
		place, listed := at[path]
		if !listed {
			t.Errorf("CONTRIBUTING.md does not list %s: put it on its storey", path)
			continue
		}
		house := houseOf(path, maps.Keys(allowed))
		for _, other := range imported {
			_, own := at[other]
			inner := houseOf(other, maps.Keys(allowed)) // landmarks/morpho lies in landmarks, and is no part of it
			if own && house != "" && (houseOf(other, slices.Values(allowed[house])) == "" || inner != "" && inner != house &&
				houseOf(other, slices.Values(allowed[house])) == house) {
				t.Errorf("%s imports %s, which the table of houses does not allow to %s", path, other, house)
			}
			if below, own := at[other]; own && below >= place {
				t.Errorf("%s imports %s, which CONTRIBUTING.md lists after it", path, other)
			}
			if place < plain && xla.MatchString(other) {
				t.Errorf("%s imports %s, but stands in the first row of CONTRIBUTING.md", path, other)
			}
		}
	}
}

// Go does not see that a header of another folder changed, and would not compile again what includes it. So whoever includes one names a checksum
// of the headers there.
func TestHeadersOfOtherFolders(t *testing.T) {
	flags := regexp.MustCompile(`(?m)^#cgo CFLAGS:.* -I\$\{SRCDIR\}/(\S+)(.*)$`)
	found := 0
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.Contains(path, ".anatomy") {
			return err
		}
		text, err := os.ReadFile(path)
		m := flags.FindStringSubmatch(string(text))
		if m == nil {
			return err
		}
		found++
		headers, err := filepath.Glob(filepath.Join(filepath.Dir(path), m[1], "*.h"))
		sum := crc32.NewIEEE()
		for _, header := range headers {
			text, err := os.ReadFile(header)
			if err != nil {
				return err
			}
			sum.Write(text)
		}
		if want := fmt.Sprintf(" -DHEADERS=0x%08x", sum.Sum32()); m[2] != want || headers == nil {
			t.Errorf("%s: the headers in %s have changed: want%s behind the folder, where%s stands", path, m[1], want, m[2])
		}
		return err
	})
	if err != nil || found < 3 {
		t.Errorf("%d packages include headers of other folders, want at least 3: %v", found, err)
	}
}

// TestPanicsStayInside holds where geom/try may be used: not in the packages of geometry below, which return errors; elsewhere no exported
// function ends by a panic of it, so that one that calls try.Get, Do or Fail defers try.Named or Catch.
func TestPanicsStayInside(t *testing.T) {
	without := regexp.MustCompile(`^anatomy/(kernels|geom(/(autodiff|engine|internal/\w+|lie|linalg|manifold|ode|solve|tree|watch))?)$`)
	found, set := imports(t), token.NewFileSet()
	for name, imported := range found {
		if !slices.Contains(imported, "anatomy/geom/try") || strings.Contains(name, "internal") {
			continue
		}
		if without.MatchString(name) {
			t.Errorf("%s imports geom/try: return errors there", name)
		}
		files, _ := filepath.Glob(filepath.Join("..", strings.TrimPrefix(name, "anatomy"), "*.go"))
		for _, path := range files {
			file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if ok && f.Body != nil && !strings.HasSuffix(path, "_test.go") && file.Name.Name != "main" && f.Name.IsExported() &&
					(f.Recv == nil || ast.IsExported(receiver(f.Recv.List[0].Type))) && raises(f.Body) {
					t.Errorf("%s: %s may end by a panic of geom/try: defer try.Named or try.Catch", set.Position(f.Pos()), f.Name.Name)
				}
			}
		}
	}
}

// raises says whether a function calls try.Get, Do or Fail by itself, and defers no function of try.
func raises(body *ast.BlockStmt) (found bool) {
	guarded := false
	ast.Inspect(body, func(n ast.Node) bool {
		if _, deferred := n.(*ast.DeferStmt); deferred {
			ast.Inspect(n, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				guarded = guarded || ok && (types.ExprString(s.X) == "try" || s.Sel.Name == "end") // end of a task calls try.Caught
				return true
			})
		}
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch name := types.ExprString(call.Fun); name {
		case "try.Run", "newLayer": // what a layer of viz draws runs in try.Run
			return false
		case "try.Do", "try.Fail", "try.FailIf", "try.Get", "try.Get2":
			found = true
		}
		return true
	})
	return found && !guarded
}
