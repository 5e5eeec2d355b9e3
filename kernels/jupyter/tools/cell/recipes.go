package cell

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strconv"
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

// by describes a statement or a declaration, which gives names values, as notebooks/nb wants it: its source, the packages that it names, the
// variables that functions read which it calls, and the variables that it names.
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

var position = regexp.MustCompile(`(?m)^(\./form/program|.*main(?:_test)?\.go):(\d+)(?::(\d+))?: (.*)$`)

// declaration begins that of a variable of an earlier cell.
var declaration = regexp.MustCompile(`; var ([\pL_][\pL\pN_]*) `)

// place returns where a place of the form is in the program.
func (l *live) place(out []byte, line, column int) int {
	lines := bytes.SplitAfter(out, []byte("\n"))
	at := len(bytes.Join(lines[:min(line-1, len(lines))], nil)) + column - 1
	shift := 0
	for _, e := range l.edits {
		if e.at+shift+len(e.text) > at {
			if e.at+shift <= at { // in what was inserted
				at = e.at + shift
			}
			break
		}
		shift += len(e.text) - e.length
	}
	at -= shift
	return at - bytes.LastIndexByte(l.src[:min(at, len(l.src))], '\n')
}

// again reads what a compiler says of the form, and says whether another form may be right: where a variable gets a value of
// another type, an import is not needed any more, or a variable cannot be declared.
func (l *live) again(form, output []byte) (better bool) {
	for _, m := range position.FindAllSubmatch(output, -1) {
		line, _ := strconv.Atoi(string(m[2]))
		message := string(m[4])
		if statement, ok := l.rewritten[line]; ok && !l.plain[statement] {
			l.plain[statement], better = true, true
		}
		name := l.tail[line]
		if column, err := strconv.Atoi(string(m[3])); err == nil && line == l.first {
			text := bytes.Split(form, []byte("\n"))[line-1]
			if all := declaration.FindAllSubmatch(text[:min(column, len(text))], -1); all != nil {
				name = string(all[len(all)-1][1])
			}
		}
		if _, ok := l.needed[name]; ok && l.without[name] == "" {
			l.without[name], better = message, true
		}
		if path, ok := strings.CutSuffix(message, " imported and not used"); ok {
			if path, err := strconv.Unquote(strings.SplitN(path, " ", 2)[0]); err == nil && !l.unused[path] {
				l.unused[path], better = true, true
			}
		}
	}
	return better
}

// asks says where the program would wait for input, as a compiler does.
func (l *live) asks(name string) (output []byte) {
	is := func(n ast.Node, path, begin string) bool {
		s, _ := n.(*ast.SelectorExpr)
		if s == nil {
			return false
		}
		from, _ := s.X.(*ast.Ident)
		return from != nil && from.Obj == nil && l.imports[from.Name] == path && strings.HasPrefix(s.Sel.Name, begin)
	}
	for n := range l.reached {
		ast.Inspect(n, func(n ast.Node) bool {
			call, _ := n.(*ast.CallExpr)
			if call == nil {
				return true
			}
			of, _ := call.Fun.(*ast.SelectorExpr)
			if is(call.Fun, "fmt", "Scan") || of != nil && is(of.X, "os", "Stdin") ||
				slices.ContainsFunc(call.Args, func(x ast.Expr) bool { return is(x, "os", "Stdin") }) {
				at := l.set.Position(call.Pos())
				output = fmt.Appendf(output, "./%s:%d:%d: %s\n", name, at.Line, at.Column, keyboard)
			}
			return true
		})
	}
	return output
}

// back gives the places in what a compiler says as they are in the program.
func (l *live) back(name string, out, output []byte) []byte {
	return position.ReplaceAllFunc(output, func(s []byte) []byte {
		m := position.FindSubmatch(s)
		line, _ := strconv.Atoi(string(m[2]))
		column, err := strconv.Atoi(string(m[3]))
		if err != nil {
			return s
		}
		return fmt.Appendf(nil, "./%s:%d:%d: %s", name, line, l.place(out, line, column), m[4])
	})
}
