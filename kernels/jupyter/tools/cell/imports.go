// Package cell is what our build of GoNB does otherwise than GoNB itself: it finds imports by the names of packages,
// explains names that do not exist, and tells whether a cell is complete.
package cell

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/tools/imports"
)

// Workspace knows the packages of some modules and those that they import, by name. It reads the sources again when it
// meets a name that it does not know.
type Workspace struct {
	roots []string    // folders of the modules
	ready atomic.Bool // gopls has read them

	mu   sync.Mutex
	own  map[string][]string // name of a package of the modules → import paths
	used map[string][]string // name of a package that they import → import paths
	dirs map[string]string   // import path of a package of the modules → its folder

	cell     int               // the number of the newest cell
	cells    map[int][]string  // the lines of each
	declares map[string]bool   // what the newest cell declares
	defined  map[string]bool   // what its statements declare
	assigned map[string]bool   // and what they assign without declaring it
	index    *index            // the variables that it had
	without  map[string]string // those that could not be declared, and why
}

// NewWorkspace takes the folders of the modules.
func NewWorkspace(roots []string) *Workspace {
	return &Workspace{roots: roots, cells: map[int][]string{}}
}

// Imports returns the source of a package main with an import of every package that it names and does not import,
// without the imports that it does not use. A name decides, not what is selected from it: so a misspelt function of a
// known package is reported as such. Names that the workspace does not know, or knows twice, are left to goimports.
// No line moves up to the first import of the source. The program lies at a path beside the variables of the notebook.
func (w *Workspace) Imports(program string, src []byte) ([]byte, error) {
	_, dummies := readIndex(program).dummies(src, false)
	src = w.Add(append(src, dummies...))
	out, err := imports.Process("main.go", src, nil)
	if err != nil {
		return nil, err
	}
	return add(out, func(name string) string { // misspelt functions of the standard library
		if standard(name) != "" {
			return name
		}
		return ""
	}), nil
}

// standard is the folder of a package of the standard library, or "".
func standard(name string) string {
	dir := filepath.Join(goroot(), "src", name)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return ""
	}
	return dir
}

// folder is where the sources of a package of that name are, if it is one of the modules or of the standard library.
func (w *Workspace) folder(name string) string {
	path := w.path(name)
	w.mu.Lock()
	defer w.mu.Unlock()
	return cmp.Or(w.dirs[path], standard(cmp.Or(path, name)))
}

// Add does the first half of Imports, the packages of the workspace, and takes a source with errors, too.
func (w *Workspace) Add(src []byte) []byte {
	return add(src, w.path)
}

// AddTo does the same to files, the first of which is the program: completion knows the variables of the notebook, too.
func (w *Workspace) AddTo(files ...string) error {
	for i, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if i == 0 {
			imports, declarations := readIndex(name).dummies(src, true)
			head := []byte("package main")
			src = append(bytes.Replace(src, head, append(head, imports...), 1), declarations...)
		}
		if err := os.WriteFile(name, w.Add(src), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// WriteAll writes a file which imports every package of the workspace into a folder of its own below dir: a question about
// it makes gopls read them all before the first one of the user.
func (w *Workspace) WriteAll(dir string) (file string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.read()
	src := []byte("package all\n")
	for _, p := range slices.Sorted(maps.Keys(w.dirs)) {
		src = fmt.Appendf(src, "\nimport _ %q", p)
	}
	file = filepath.Join(dir, "all", "all.go")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		return "", err
	}
	return file, os.WriteFile(file, append(src, '\n'), 0o600)
}

// path returns the one import path of a package's name, or "".
func (w *Workspace) path(name string) string {
	if name == displayAlias {
		return displayPath
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for range 2 {
		for _, names := range []map[string][]string{w.own, w.used} {
			if paths := names[name]; len(paths) == 1 {
				return paths[0]
			} else if len(paths) > 1 {
				return ""
			}
		}
		w.read()
	}
	return ""
}

func (w *Workspace) read() {
	w.own, w.used, w.dirs = map[string][]string{}, map[string][]string{}, map[string]string{}
	insert := func(names map[string][]string, name, path string) {
		if !slices.Contains(names[name], path) {
			names[name] = append(names[name], path)
		}
	}
	for _, root := range w.roots {
		mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
		if err != nil || modfile.ModulePath(mod) == "" {
			continue
		}
		filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			name := d.Name()
			if d.IsDir() {
				_, nested := os.Stat(filepath.Join(file, "go.mod"))
				if file != root && (nested == nil || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "vendor") {
					return fs.SkipDir
				}
				return nil
			}
			if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return nil
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
			if err != nil {
				return nil
			}
			for _, spec := range parsed.Imports {
				if name, p := imported(spec); spec.Name == nil && !hidden(p) {
					insert(w.used, name, p)
				}
			}
			relative, err := filepath.Rel(root, filepath.Dir(file))
			if p := path.Join(modfile.ModulePath(mod), filepath.ToSlash(relative)); err == nil && parsed.Name.Name != "main" && !hidden(p) {
				insert(w.own, parsed.Name.Name, p)
				w.dirs[p] = filepath.Dir(file)
			}
			return nil
		})
	}
}

func hidden(path string) bool {
	return slices.Contains(strings.Split(path, "/"), "internal")
}

// Base is the name of a package as its path tells it.
func Base(p string) string {
	p, _, _ = module.SplitPathVersion(p)
	return path.Base(p)
}

// imported is the name by which a source knows a package that it imports, and the path.
func imported(s *ast.ImportSpec) (name, path string) {
	path, _ = strconv.Unquote(s.Path.Value)
	if s.Name != nil {
		return s.Name.Name, path
	}
	return Base(path), path
}

// add imports the packages that the source names without importing them, as far as the function knows a path.
func add(src []byte, find func(name string) string) []byte {
	set := token.NewFileSet()
	file, _ := parser.ParseFile(set, "main.go", src, parser.AllErrors)
	if file == nil || !file.Name.End().IsValid() {
		return src
	}
	missing := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := s.X.(*ast.Ident); ok && slices.Contains(file.Unresolved, id) {
				missing[id.Name] = true
			}
		}
		return true
	})
	for _, spec := range file.Imports {
		name, _ := imported(spec)
		delete(missing, name)
	}
	var added bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		if p := find(name); p != "" {
			if name == displayAlias {
				added.WriteString("; import " + name)
			} else {
				added.WriteString("; import")
			}
			fmt.Fprintf(&added, " %q", p)
		}
	}
	at := set.Position(file.Name.End()).Offset
	return slices.Concat(src[:at], added.Bytes(), src[at:])
}

var goroot = sync.OnceValue(func() string {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
})
