package cell

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// index is what notebooks/nb writes about the variables of a notebook: see there.
type index struct {
	Variables map[string]*entry
	Recipes   map[string]*recipe
}

type entry struct {
	Cell                  int
	Type                  string
	Imports               map[string]string
	File                  string
	Group, Members, Types []string
	Recipe                string
	Reads                 map[string]string
	Why                   string
}

type recipe struct {
	Name, Type, Source string
	Imports            map[string]string
	Inputs             []struct {
		Name, Type, File, Recipe string
		Types                    []string
	}
}

func (e *entry) holds() string { return cmp.Or(e.File, e.Recipe) }

// current says whether a variable of e's group still has the value that was written with e's: it may have been assigned since.
func (x *index) current(e *entry, name string) bool {
	other := x.Variables[name]
	return other != nil && other.File == e.File && slices.Equal(other.Group, e.Group)
}

func indexFile(program string) string {
	return filepath.Join(filepath.Dir(program), "values", "index.json")
}

func readIndex(program string) *index {
	x := &index{}
	if text, err := os.ReadFile(indexFile(program)); err == nil {
		json.Unmarshal(text, x)
	}
	return x
}

// Values lists the variables of the notebook whose program lies at a path.
func Values(program string) []string { return slices.Sorted(maps.Keys(readIndex(program).Variables)) }

// Forget forgets variables of the notebook, all if none is named, and says whether there was one.
func Forget(program string, names ...string) (found bool) {
	x := readIndex(program)
	if len(names) == 0 {
		names = slices.Collect(maps.Keys(x.Variables))
	}
	for _, name := range names {
		found = found || x.Variables[name] != nil
		delete(x.Variables, name)
	}
	if text, err := json.Marshal(x); found && err == nil {
		os.WriteFile(indexFile(program), text, 0o600)
	}
	return found
}

// live is a cell's program in the form in which its variables live on: those of earlier cells that it names are declared and
// read, and what its statements assign is written in the end. Line by line it is as the program.
type live struct {
	x       *index
	cell    int
	own     map[string]bool   // what the cell declares
	plain   map[int]bool      // lines of statements that declare variables of main, though the notebook has them
	unused  map[string]bool   // imports that are left out
	without map[string]string // variables that cannot be declared, and why

	set      *token.FileSet
	file     *ast.File
	src      []byte
	declared map[*ast.Object]ast.Node // at the top level
	named    map[string]ast.Node
	methods  map[string][]*ast.FuncDecl
	main     *ast.FuncDecl
	imports  map[string]string // name → path
	dots     []string

	reached   map[ast.Node]bool
	draws     bool            // the last value may be a figure
	needed    map[string]bool // variables of the notebook that are declared; true: and read
	recipes   map[string]bool
	edits     []edit
	rewritten map[int]int    // line → line of the statement that is written in another way
	tail      map[int]string // line behind the program → variable that is made there
	first     int            // line that declares the variables of earlier cells
}

// edit puts text in the place of some bytes of a source.
type edit struct {
	at, length int
	text       string
}

func newLive(x *index, cell int, own map[string]bool) *live {
	return &live{x: x, cell: cell, own: own, plain: map[int]bool{}, unused: map[string]bool{}, without: map[string]string{}}
}

func (l *live) offset(p token.Pos) int { return l.set.Position(p).Offset }

func (l *live) line(p token.Pos) int { return l.set.Position(p).Line }

func (l *live) text(n ast.Node) string { return string(l.src[l.offset(n.Pos()):l.offset(n.End())]) }

// blank overwrites a node with spaces.
func (l *live) blank(src []byte, n ast.Node) {
	for i := l.offset(n.Pos()); i < l.offset(n.End()); i++ {
		if src[i] != '\n' {
			src[i] = ' '
		}
	}
}

func (l *live) parse() error {
	l.set = token.NewFileSet()
	file, err := parser.ParseFile(l.set, "main.go", l.src, 0)
	if err != nil {
		return err
	}
	l.file, l.main = file, nil
	l.declared, l.named, l.methods = map[*ast.Object]ast.Node{}, map[string]ast.Node{}, map[string][]*ast.FuncDecl{}
	l.imports, l.dots = map[string]string{}, nil
	note := func(id *ast.Ident, n ast.Node) {
		if id.Name != "_" {
			l.declared[id.Obj], l.named[id.Name] = n, n
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			switch {
			case d.Recv != nil:
				if _, receiver := typeName(d.Recv.List[0].Type); receiver != "" {
					l.methods[receiver] = append(l.methods[receiver], d)
				}
			case d.Name.Name == "main":
				l.main = d
			default:
				note(d.Name, d)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.ValueSpec:
					for _, id := range s.Names {
						if d.Tok == token.CONST { // iota and repeated values
							note(id, d)
						} else {
							note(id, s)
						}
					}
				case *ast.TypeSpec:
					note(s.Name, s)
				case *ast.ImportSpec:
					path, _ := strconv.Unquote(s.Path.Value)
					name := Base(path)
					if s.Name != nil {
						name = s.Name.Name
					}
					if name == "." {
						l.dots = append(l.dots, path)
					}
					l.imports[name] = path
				}
			}
		}
	}
	delete(l.declared, nil)
	return nil
}

// known returns a variable of an earlier cell.
func (l *live) known(name string) *entry {
	if l.without[name] != "" {
		return nil
	}
	e := l.x.Variables[name]
	if e == nil || e.Why != "" || l.stale(e) != "" {
		return nil
	}
	return e
}

// stale names a variable that functions of a recipe read, and which holds something else since.
func (l *live) stale(e *entry) string {
	for name, held := range e.Reads {
		if o := l.x.Variables[name]; o == nil || o.holds() != held {
			return name
		}
	}
	return ""
}

// program returns a program in its form.
func (l *live) program(src []byte) ([]byte, error) {
	l.src = bytes.Clone(src)
	if err := l.parse(); err != nil {
		return nil, err
	}
	// What was declared before a variable of the same name has gone.
	gone := bytes.Clone(l.src)
	changed := false
	for name, n := range l.named {
		if l.x.Variables[name] == nil || l.own[name] {
			continue
		}
		switch n := n.(type) {
		case *ast.FuncDecl:
			l.blank(gone, n)
			changed = true
		case *ast.TypeSpec:
			copy(gone[l.offset(n.Name.Pos()):], "_"+strings.Repeat(" ", len(name)-1))
			for _, m := range l.methods[name] {
				l.blank(gone, m)
			}
			changed = true
		case *ast.GenDecl:
			for _, s := range n.Specs {
				for _, id := range s.(*ast.ValueSpec).Names {
					if id.Name == name {
						copy(gone[l.offset(id.Pos()):], "_"+strings.Repeat(" ", len(name)-1))
					}
				}
			}
			changed = true
		}
	}
	if changed {
		l.src = gone
		if err := l.parse(); err != nil {
			return nil, err
		}
	}
	l.reach()
	l.prune()
	l.edits, l.rewritten, l.tail = nil, map[int]int{}, map[int]string{}
	l.head()
	if l.main != nil {
		l.insert(l.offset(l.main.Body.Lbrace)+1, " defer "+displayAlias+".End();")
		l.statements()
	}
	l.globals()
	slices.SortStableFunc(l.edits, func(a, b edit) int { return cmp.Compare(a.at, b.at) })
	var out []byte
	done := 0
	for _, e := range l.edits {
		out = append(append(out, l.src[done:e.at]...), e.text...)
		done = e.at + e.length
	}
	return append(out, l.src[done:]...), nil
}

func (l *live) insert(at int, text string) { l.edits = append(l.edits, edit{at, 0, text}) }

// reach finds the declarations that the cell comes to, and the variables of earlier cells that it names.
func (l *live) reach() {
	l.draws = false
	l.reached, l.needed, l.recipes = map[ast.Node]bool{}, map[string]bool{}, map[string]bool{}
	var queue []ast.Node
	visit := func(n ast.Node) {
		if n != nil && !l.reached[n] {
			l.reached[n] = true
			queue = append(queue, n)
		}
	}
	var need func(name string, read bool)
	var text func(id string)
	need = func(name string, read bool) {
		e := l.known(name)
		was, again := l.needed[name]
		if e == nil || again && (was || !read) {
			return
		}
		l.needed[name] = read
		if t, err := parser.ParseExpr(e.Type); err == nil {
			l.names(t, func(id *ast.Ident) { visit(l.named[id.Name]) })
		}
		if !read {
			return
		}
		for _, t := range e.Types {
			if t, err := parser.ParseExpr(t); err == nil {
				l.names(t, func(id *ast.Ident) { visit(l.named[id.Name]) })
			}
		}
		for k, other := range e.Group {
			if l.x.current(e, other) {
				need(other, true)
			} else if t, err := parser.ParseExpr(e.Members[k]); err == nil {
				l.names(t, func(id *ast.Ident) { visit(l.named[id.Name]) })
			}
		}
		text(e.Recipe)
	}
	text = func(id string) {
		r := l.x.Recipes[id]
		if r == nil || l.recipes[id] {
			return
		}
		l.recipes[id] = true
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+l.making(id), 0)
		if err == nil {
			l.names(file, func(id *ast.Ident) {
				if id.Obj == nil {
					visit(l.named[id.Name])
					need(id.Name, true)
				}
			})
		}
		for _, in := range r.Inputs {
			text(in.Recipe)
		}
	}
	for _, d := range l.file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d == l.main || d.Name.Name == "init" || d.Recv == nil && l.own[d.Name.Name] {
				visit(d)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.ValueSpec:
					if d.Tok == token.VAR {
						visit(s)
					}
				case *ast.TypeSpec:
					if l.own[s.Name.Name] {
						visit(s)
					}
				}
			}
		}
	}
	only := map[*ast.Ident]bool{} // set, not read
	if l.main != nil {
		for _, s := range l.main.Body.List {
			if s, ok := s.(*ast.AssignStmt); ok && s.Tok == token.ASSIGN {
				for _, x := range s.Lhs {
					if id, ok := x.(*ast.Ident); ok {
						only[id] = true
					}
				}
			}
		}
	}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		if s, ok := n.(*ast.TypeSpec); ok {
			for _, m := range l.methods[s.Name.Name] {
				visit(m)
			}
		}
		l.names(n, func(id *ast.Ident) {
			if id.Obj != nil {
				visit(l.declared[id.Obj])
			} else {
				need(id.Name, !only[id])
			}
		})
	}
}

// names passes on the identifiers of a piece of source but for those behind a dot.
func (l *live) names(n ast.Node, see func(id *ast.Ident)) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			l.names(n.X, see)
			return false
		case *ast.Ident:
			see(n)
		}
		return true
	})
}

// prune leaves out the functions that the cell does not come to, and imports that nothing names.
func (l *live) prune() {
	for _, d := range l.file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && !l.reached[f] {
			l.blank(l.src, f)
		}
	}
	used, bare := map[string]bool{}, false
	for _, d := range l.file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if !l.reached[d] {
				continue
			}
		case *ast.GenDecl:
			if d.Tok == token.IMPORT {
				continue
			}
		}
		l.names(d, func(id *ast.Ident) {
			if _, variable := l.needed[id.Name]; id.Obj == nil && !variable {
				used[id.Name] = true
				bare = bare || id.IsExported()
			}
		})
	}
	for _, s := range l.file.Imports {
		path, _ := strconv.Unquote(s.Path.Value)
		name := Base(path)
		if s.Name != nil {
			name = s.Name.Name
		}
		if l.unused[path] || name != "_" && name != "." && !used[name] || name == "." && !bare {
			l.blank(l.src, s)
		} else if path == figurePath {
			l.draws = bytes.Contains(l.src, []byte(displayOpen))
		}
	}
}

// head declares and reads variables of earlier cells.
func (l *live) head() {
	imports := map[string]string{displayAlias: displayPath}
	// Go sets variables in the order of their declarations: these stand first, then what gives them their values.
	variables, first := "", fmt.Sprintf("; var _ = %s.Begin(%d)", displayAlias, l.cell)
	var last strings.Builder
	lines := bytes.Count(l.src, []byte("\n")) + 1
	add := func(name, text string) {
		last.WriteString("\n" + text)
		for range strings.Count(text, "\n") + 1 {
			lines++
			l.tail[lines] = name
		}
	}
	groups := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(l.needed)) {
		e := l.x.Variables[name]
		maps.Copy(imports, e.Imports)
		if l.named[name] != nil { // the cell declares it
			continue
		}
		variables += fmt.Sprintf("; var %s %s", name, e.Type)
		if !l.needed[name] {
			continue
		}
		// Equal values lie in one file, whatever shares memory.
		if group := e.File + " " + strings.Join(e.Group, " "); e.File != "" && !groups[group] {
			groups[group] = true
			first += fmt.Sprintf("; var _ = %s.Load(%q, %s", displayAlias, e.File, typeList(e.Types))
			for k, other := range e.Group {
				if l.x.current(e, other) {
					first += ", " + variable(other)
				} else {
					was := fmt.Sprintf("nb_was_%d_%s", len(groups), other)
					variables += fmt.Sprintf("; var %s %s", was, e.Members[k])
					first += fmt.Sprintf(", %s.Var(\"\", &%s)", displayAlias, was)
				}
			}
			first += ")"
		} else if e.Recipe != "" {
			first += fmt.Sprintf("; var _ = %s.Make(%q, &%s, nb_make_%s)", displayAlias, name, name, e.Recipe)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(l.recipes)) {
		r := l.x.Recipes[id]
		maps.Copy(imports, r.Imports)
		add(r.Name, l.making(id))
	}
	for _, path := range imports {
		l.draws = l.draws || path == figurePath && bytes.Contains(l.src, []byte(displayOpen))
	}
	if l.draws { // others need not link the package
		viz := packageName(figurePath)
		imports[viz] = figurePath
		add("", fmt.Sprintf("var _ = %s.Draw(func(x any) bool { d, ok := x.(%s.Drawing); if ok { %s.Show(d) }; return ok })", displayAlias, viz, viz))
	}
	first = variables + first
	header := ""
	for _, alias := range slices.Sorted(maps.Keys(imports)) {
		named := alias == displayAlias || strings.Contains(first+last.String(), alias+".")
		if l.imports[alias] == "" && named {
			header += fmt.Sprintf("; import %s %q", alias, imports[alias])
		}
	}
	at := l.offset(l.file.Name.End())
	l.insert(at, header)
	for _, d := range l.file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			at = l.offset(g.End())
		}
	}
	l.insert(at, first)
	l.first = bytes.Count(l.src[:at], []byte("\n")) + 1
	l.insert(len(l.src), last.String()+"\n")
}

func variable(name string) string { return fmt.Sprintf("%s.Var(%q, &%s)", displayAlias, name, name) }

func typeList(all []string) string {
	if len(all) == 0 {
		return "nil"
	}
	return displayAlias + ".Types(" + typeCalls(all) + ")"
}

func typeCalls(all []string) string {
	calls := make([]string, len(all))
	for i, t := range all {
		calls[i] = displayAlias + ".Type[" + t + "]()"
	}
	return strings.Join(calls, ", ")
}

// making is the function that makes a variable by its recipe.
func (l *live) making(id string) string {
	r := l.x.Recipes[id]
	var out strings.Builder
	fmt.Fprintf(&out, "func nb_make_%s() (nb_out %s) {", id, r.Type)
	for _, in := range r.Inputs {
		value := fmt.Sprintf("nb_make_%s()", in.Recipe)
		if in.File != "" {
			value = fmt.Sprintf("%s.Input[%s](%q", displayAlias, in.Type, in.File)
			if len(in.Types) > 0 {
				value += ", " + typeCalls(in.Types)
			}
			value += ")"
		}
		fmt.Fprintf(&out, " var %s %s = %s; _ = %s;", in.Name, in.Type, value, in.Name)
	}
	fmt.Fprintf(&out, " {\n%s\nnb_out = %s }; return }", r.Source, r.Name)
	return out.String()
}

// targets lists the variables that a statement at the top level of main gives values, or nil, and what they are computed from.
func targets(s ast.Stmt) (names []*ast.Ident, values []ast.Expr) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		if s.Tok != token.DEFINE && s.Tok != token.ASSIGN {
			return nil, nil
		}
		for _, x := range s.Lhs {
			id, ok := x.(*ast.Ident)
			if !ok {
				return nil, nil
			}
			names = append(names, id)
		}
		return names, s.Rhs
	case *ast.DeclStmt:
		if d, ok := s.Decl.(*ast.GenDecl); ok && d.Tok == token.VAR {
			for _, s := range d.Specs {
				names, values = append(names, s.(*ast.ValueSpec).Names...), append(values, s.(*ast.ValueSpec).Values...)
			}
		}
	}
	return slices.DeleteFunc(names, func(id *ast.Ident) bool { return id.Name == "_" }), values
}

// statements rewrites those of main that give variables their values.
func (l *live) statements() {
	locals := map[string]bool{} // declared by main so far
	count := 0
	for _, s := range l.main.Body.List {
		names, values := targets(s)
		define, _ := s.(*ast.AssignStmt)
		_, declare := s.(*ast.DeclStmt)
		line := l.line(s.Pos())
		after, bound := "", []string(nil)
		fresh := false
		for _, id := range names {
			if id.Name == "_" {
				continue
			}
			fresh = fresh || !locals[id.Name]
		}
		for _, id := range names {
			if id.Name == "_" {
				continue
			}
			bound = append(bound, variable(id.Name))
			_, global := l.needed[id.Name]
			global = global && l.named[id.Name] == nil || l.named[id.Name] != nil && isVar(l.named[id.Name])
			again := locals[id.Name] && !fresh
			switch {
			case !declare && (define == nil || define.Tok != token.DEFINE) || l.plain[line]:
			case global && !locals[id.Name], again:
				count++
				temporary := fmt.Sprintf("nb_%d", count)
				l.edits = append(l.edits, edit{l.offset(id.Pos()), len(id.Name), temporary})
				after += fmt.Sprintf("; %s.Set(&%s, &%s)", displayAlias, id.Name, temporary)
				for k := line; k <= l.line(s.End()); k++ {
					l.rewritten[k] = line
				}
				continue
			}
			if declare || define != nil && define.Tok == token.DEFINE {
				locals[id.Name] = true
			}
		}
		if len(bound) > 0 {
			after += fmt.Sprintf("; %s.Bind(%s, %s)", displayAlias, l.by(s, values), strings.Join(bound, ", "))
		}
		if after != "" {
			l.insert(l.offset(s.End()), after)
		}
	}
}

func isVar(n ast.Node) bool {
	_, is := n.(*ast.ValueSpec)
	return is
}

// globals binds the variables that the cell declares above its statements, each behind those that it is made from.
func (l *live) globals() {
	at, binds, done := -1, "", map[*ast.ValueSpec]bool{}
	var bind func(s *ast.ValueSpec)
	bind = func(s *ast.ValueSpec) {
		if done[s] {
			return
		}
		done[s] = true
		var bound []string
		for _, id := range s.Names {
			if id.Name != "_" {
				bound = append(bound, variable(id.Name))
			}
		}
		for _, v := range s.Values {
			l.names(v, func(id *ast.Ident) {
				if other, is := l.declared[id.Obj].(*ast.ValueSpec); is {
					bind(other)
				}
			})
		}
		if len(bound) > 0 {
			binds += fmt.Sprintf("; var _ = %s.Bind(%s, %s)", displayAlias, l.by(s, s.Values), strings.Join(bound, ", "))
		}
	}
	for _, d := range l.file.Decls {
		if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.VAR {
			at = l.offset(d.End())
			for _, s := range d.Specs {
				bind(s.(*ast.ValueSpec))
			}
		}
	}
	if binds != "" {
		l.insert(at, binds)
	}
}

// by describes a statement or a declaration as notebooks/nb wants it: its source, the packages that it names, the variables
// that functions read which it calls, and the variables that it names.
func (l *live) by(s ast.Node, values []ast.Expr) string {
	if len(values) == 0 {
		return displayAlias + ".By(``, ``, ``)"
	}
	_, literal := ast.Unparen(values[0]).(*ast.FuncLit)
	literal = literal && len(values) == 1
	start := l.offset(s.Pos())
	source := l.text(s)
	var edits []edit
	imports, inputs, reads := map[string]string{}, map[string]bool{}, map[string]bool{}
	if a, ok := s.(*ast.AssignStmt); ok && a.Tok == token.ASSIGN {
		edits = append(edits, edit{l.offset(a.TokPos) - start, 1, ":="})
	}
	isGlobal := func(id *ast.Ident) bool {
		if id.Obj == nil {
			_, is := l.needed[id.Name]
			return is
		}
		return isVar(l.declared[id.Obj])
	}
	fields := fieldNames(s)
	l.names(s, func(id *ast.Ident) {
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
	var through func(n ast.Node)
	seen := map[ast.Node]bool{}
	through = func(n ast.Node) {
		if f, ok := n.(*ast.FuncDecl); !ok || seen[f] {
			return
		}
		seen[n] = true
		l.names(n, func(id *ast.Ident) {
			if isGlobal(id) {
				reads[id.Name] = true
			} else if id.Obj != nil {
				through(l.declared[id.Obj])
			}
		})
	}
	for _, v := range values {
		l.names(v, func(id *ast.Ident) {
			switch {
			case literal:
			case isGlobal(id) || id.Obj != nil && l.topLevel(id.Obj):
				inputs[id.Name] = true
			case id.Obj != nil:
				through(l.declared[id.Obj])
			}
		})
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.at, b.at) })
	out, done := "", 0
	for _, e := range edits {
		out += source[done:e.at] + e.text
		done = e.at + e.length
	}
	out += source[done:]
	if _, spec := s.(*ast.ValueSpec); spec {
		out = "var " + out
	}
	var packages []string
	for _, alias := range slices.Sorted(maps.Keys(imports)) {
		packages = append(packages, alias+" "+imports[alias])
	}
	call := fmt.Sprintf("%s.By(%q, %q, %q", displayAlias, out, strings.Join(packages, ", "), strings.Join(slices.Sorted(maps.Keys(reads)), " "))
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		call += ", " + variable(name)
	}
	return call + ")"
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
	if o.Kind != ast.Var || l.main == nil {
		return false
	}
	for _, s := range l.main.Body.List {
		names, _ := targets(s)
		for _, id := range names {
			if id.Obj == o && id.Pos() == o.Pos() {
				return true
			}
		}
	}
	return false
}

// packageName is the name by which package nb imports a package, too.
func packageName(path string) string {
	sum := sha256.Sum256([]byte(path))
	return "nb_" + hex.EncodeToString(sum[:4])
}

// dummies declares the variables of the notebook that a source names, so that their names are not taken for those of packages.
func (x *index) dummies(src []byte, types bool) (imports, declarations string) {
	declared := map[string]bool{}
	if file, _ := parser.ParseFile(token.NewFileSet(), "", src, 0); file != nil && file.Scope != nil {
		for name := range file.Scope.Objects {
			declared[name] = true
		}
	}
	var s scanner.Scanner
	set := token.NewFileSet()
	s.Init(set.AddFile("", set.Base(), len(src)), src, nil, 0)
	all := map[string]string{}
	for before := token.EOF; ; {
		_, tok, name := s.Scan()
		if tok == token.EOF {
			break
		}
		e := x.Variables[name]
		if tok == token.IDENT && before != token.PERIOD && e != nil && !declared[name] {
			declared[name] = true
			if !types {
				declarations += "\nvar " + name + " any\n"
			} else if e.Type != "" {
				declarations += "\nvar " + name + " " + e.Type + "\n"
				maps.Copy(all, e.Imports)
			}
		}
		before = tok
	}
	for _, alias := range slices.Sorted(maps.Keys(all)) {
		imports += fmt.Sprintf("; import %s %q", alias, all[alias])
	}
	return imports, declarations
}

var position = regexp.MustCompile(`(?m)^(\./form/program|.*main(?:_test)?\.go):(\d+)(?::(\d+))?: (.*)$`)

// declaration begins that of a variable of an earlier cell.
var declaration = regexp.MustCompile(`; var ([\pL_][\pL\pN_]*) `)

// place returns where a place of the form is in the program.
func (l *live) place(out []byte, line, column int) int {
	at := 0
	for range line - 1 {
		next := bytes.IndexByte(out[at:], '\n')
		if next < 0 {
			return column
		}
		at += next + 1
	}
	at += column - 1
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
