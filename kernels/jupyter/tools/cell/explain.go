package cell

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var undefined = regexp.MustCompile(`^undefined: (\w+)\.(\w+)$`)

// Explain adds to a message of the compiler about an undefined name of a package of the workspace the name that was
// probably meant.
func (w *Workspace) Explain(message string) string {
	match := undefined.FindStringSubmatch(message)
	if match == nil {
		return message
	}
	path := w.path(match[1])
	w.mu.Lock()
	dir := w.dirs[path]
	w.mu.Unlock()
	if dir == "" {
		return message
	}
	best, least := "", 1+len(match[2])/3
	for _, name := range exported(dir) {
		if d := distance(strings.ToLower(name), strings.ToLower(match[2])); d < least || d == least && best == "" {
			best, least = name, d
		}
	}
	if best == "" {
		return message
	}
	return fmt.Sprintf("%s (did you mean %s.%s?)", message, match[1], best)
}

// exported lists the exported names of a package.
func exported(dir string) (names []string) {
	files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	add := func(id *ast.Ident) {
		if id.IsExported() {
			names = append(names, id.Name)
		}
	}
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, _ := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
		if file == nil {
			continue
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					add(d.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						add(s.Name)
					case *ast.ValueSpec:
						for _, id := range s.Names {
							add(id)
						}
					}
				}
			}
		}
	}
	return names
}

// distance counts the letters to insert, delete or replace to get from a to b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		left := row[0]
		row[0] = i + 1
		for j := range b {
			change := left
			if a[i] != b[j] {
				change++
			}
			left = row[j+1]
			row[j+1] = min(change, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
