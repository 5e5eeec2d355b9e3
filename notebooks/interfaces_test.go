package notebooks

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestClosedFormsAreFound notices a misspelt or mistyped optional method, such as Christofel of a chart: it is found by type assertion,
// so that it would be ignored. In the packages that have optional interfaces each exported method of an unexported type is one of
// an interface, because nobody else can call it, unless an exported type embeds its type; and a method of a manifold or kernel with the name of an optional one has its parameters.
func TestClosedFormsAreFound(t *testing.T) {
	type method struct{ at, receiver, name, parameters string }
	var methods []method
	wanted := map[string][]string{"String": {"func() string"}} // by name: the parameters in each interface
	counted := map[string]bool{}                               // the types of manifolds, and of kernels
	embedded := map[string]bool{}                              // types that an exported type embeds
	for _, folder := range []string{"geom", "geom/internal/shortest", "geom/manifold", "geom/lie", "geom/stochastic", "geom/guided", "kernels", "landmarks", "landmarks/surfaces/attachment"} {
		files, err := filepath.Glob("../" + folder + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.InterfaceType:
					for _, f := range n.Methods.List {
						if as, ok := f.Type.(*ast.FuncType); ok {
							wanted[f.Names[0].Name] = append(wanted[f.Names[0].Name], parameters(set, as))
						}
					}
				case *ast.TypeSpec:
					if of, ok := n.Type.(*ast.StructType); ok && n.Name.IsExported() {
						for _, f := range of.Fields.List {
							if len(f.Names) == 0 {
								embedded[folder+"."+typeName(f.Type)] = true
							}
						}
					}
				case *ast.FuncDecl:
					if n.Recv != nil && n.Name.IsExported() {
						of := folder + "." + typeName(n.Recv.List[0].Type)
						methods = append(methods, method{set.Position(n.Pos()).String(), of, n.Name.Name, parameters(set, n.Type)})
						counted[of] = counted[of] || slices.Contains([]string{"G", "Sharp", "Chart", "Gram"}, n.Name.Name)
					}
				}
				return true
			})
		}
	}
	checked := 0
	for _, m := range methods {
		found, known := wanted[m.name]
		hidden := !ast.IsExported(m.receiver[strings.LastIndex(m.receiver, ".")+1:])
		switch {
		case !known && hidden && !embedded[m.receiver]:
			t.Errorf("%s: no interface has a method %s, so that nobody calls it: is it misspelt?", m.at, m.name)
		case known && (hidden || counted[m.receiver]) && !slices.Contains(found, m.parameters):
			t.Errorf("%s: %s is %s, and in an interface %s", m.at, m.name, m.parameters, strings.Join(found, " or "))
		case known:
			checked++
		}
	}
	if checked < 150 {
		t.Errorf("found %d methods of interfaces, want at least 150: does the search still find them?", checked)
	}
}

var (
	qualifier = regexp.MustCompile(`\b[a-z]\w*\.`)
	plain     = strings.NewReplacer("Vec", "[]float64", "Shape", "[][]float64")
)

// parameters prints the types of a function's parameters and results, without the names of parameters and of packages.
func parameters(set *token.FileSet, f *ast.FuncType) string {
	list := func(l *ast.FieldList) (out []string) {
		if l == nil {
			return nil
		}
		for _, field := range l.List {
			var text strings.Builder
			printer.Fprint(&text, set, field.Type)
			for range max(1, len(field.Names)) {
				out = append(out, plain.Replace(qualifier.ReplaceAllString(text.String(), "")))
			}
		}
		return out
	}
	return fmt.Sprintf("func(%s) %s", strings.Join(list(f.Params), ", "), strings.Join(list(f.Results), ", "))
}
