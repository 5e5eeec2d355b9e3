package cell

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
)

func typeList(all []string) string {
	calls := make([]string, len(all))
	for i, t := range all {
		calls[i] = displayAlias + ".Type[" + t + "]()"
	}
	return displayAlias + ".Types(" + strings.Join(calls, ", ") + ")"
}

// making is the function that makes a variable by its recipe.
func (l *live) making(id string) string {
	r := l.x.Recipes[id]
	var out strings.Builder
	fmt.Fprintf(&out, "func nb_make_%s() (nb_out %s) {", id, r.Type)
	for _, in := range r.Inputs {
		value := fmt.Sprintf("nb_make_%s()", in.Recipe)
		if in.File != "" {
			value = fmt.Sprintf("%s.Input[%s](%q, %s)", displayAlias, in.Type, in.File, typeList(in.Types))
		}
		fmt.Fprintf(&out, " var %s %s = %s; _ = %s;", in.Name, in.Type, value, in.Name)
	}
	fmt.Fprintf(&out, " {\n%s\nnb_out = %s }; return }", r.Source, r.Name)
	return out.String()
}

// by describes a statement or a declaration, which gives names values, as notebooks/nb wants it: its source, the packages that it names, the variables
// that functions read which it calls, and the variables that it names.
func (l *live) by(s ast.Node, names []*ast.Ident, values []ast.Expr) string {
	if len(values) == 0 {
		return displayAlias + ".By(``, ``, ``)"
	}
	out, imports := l.alone(s)
	if _, spec := s.(*ast.ValueSpec); spec {
		out = "var " + out
	}
	if len(names) > 1 { // making takes one, and the compiler wants each to be used
		out += "; _" + strings.Repeat(", _", len(names)-1) + " = " + strings.Join(idents(names), ", ")
	}
	var packages []string
	for _, alias := range slices.Sorted(maps.Keys(imports)) {
		packages = append(packages, alias+" "+imports[alias])
	}
	inputs, reads := l.from(values)
	call := fmt.Sprintf("%s.By(%q, %q, %q", displayAlias, out, strings.Join(packages, ", "), strings.Join(reads, " "))
	if len(inputs) > 0 {
		call += ", " + variables(inputs)
	}
	return call + ")"
}

// alone is a statement as it stands by itself: with packages by the names that the kernel gives them, which are imported.
func (l *live) alone(s ast.Node) (source string, imports map[string]string) {
	start := l.offset(s.Pos())
	var edits []edit
	imports = map[string]string{}
	if a, ok := s.(*ast.AssignStmt); ok && a.Tok == token.ASSIGN {
		edits = append(edits, edit{l.offset(a.TokPos) - start, 1, ":="})
	}
	fields := fieldNames(s)
	identifiers(s, func(id *ast.Ident) {
		at := l.offset(id.Pos()) - start
		if _, variable := l.needed[id.Name]; id.Obj != nil || variable || fields[id] {
			return
		}
		if path := l.imports[id.Name]; path != "" {
			imports[packageName(path)] = path
			edits = append(edits, edit{at, len(id.Name), packageName(path)})
		} else if id.IsExported() && len(l.dots) == 1 && types.Universe.Lookup(id.Name) == nil {
			imports[packageName(l.dots[0])] = l.dots[0]
			edits = append(edits, edit{at, 0, packageName(l.dots[0]) + "."})
		}
	})
	return edited(l.text(s), edits), imports
}

// from lists the variables that values name, and those that the functions read that they call.
func (l *live) from(values []ast.Expr) (inputs, reads []string) {
	_, literal := ast.Unparen(values[0]).(*ast.FuncLit)
	literal = literal && len(values) == 1
	named, read := map[string]bool{}, map[string]bool{}
	isGlobal := func(id *ast.Ident) bool {
		if id.Obj == nil {
			_, is := l.needed[id.Name]
			return is
		}
		return isVar(l.declared[id.Obj])
	}
	var through func(n ast.Node)
	seen := map[ast.Node]bool{}
	through = func(n ast.Node) {
		if f, ok := n.(*ast.FuncDecl); !ok || seen[f] {
			return
		}
		seen[n] = true
		identifiers(n, func(id *ast.Ident) {
			if isGlobal(id) {
				read[id.Name] = true
			} else if id.Obj != nil {
				through(l.declared[id.Obj])
			}
		})
	}
	for _, v := range values {
		identifiers(v, func(id *ast.Ident) {
			switch {
			case literal:
			case isGlobal(id) || id.Obj != nil && l.topLevel(id.Obj):
				named[id.Name] = true
			case id.Obj != nil:
				through(l.declared[id.Obj])
			}
		})
	}
	return slices.Sorted(maps.Keys(named)), slices.Sorted(maps.Keys(read))
}

// fieldNames are the names of fields in literals of structs; keys in literals of other types are values.
func fieldNames(n ast.Node) map[*ast.Ident]bool {
	names := map[*ast.Ident]bool{}
	ast.Inspect(n, func(n ast.Node) bool {
		literal, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		switch literal.Type.(type) {
		case *ast.MapType, *ast.ArrayType:
			return true
		}
		for _, x := range literal.Elts {
			if pair, ok := x.(*ast.KeyValueExpr); ok {
				if id, ok := pair.Key.(*ast.Ident); ok {
					names[id] = true
				}
			}
		}
		return true
	})
	return names
}

// topLevel says whether an object is a variable that a statement of main declares outside of blocks.
func (l *live) topLevel(o *ast.Object) bool {
	return o.Kind == ast.Var && slices.ContainsFunc(l.body(), func(s ast.Stmt) bool {
		names, _ := targets(s)
		return slices.ContainsFunc(names, func(id *ast.Ident) bool { return id.Obj == o && id.Pos() == o.Pos() })
	})
}

// packageName is the name by which package nb imports a package, too.
func packageName(path string) string {
	sum := sha256.Sum256([]byte(path))
	return "nb_" + hex.EncodeToString(sum[:4])
}
