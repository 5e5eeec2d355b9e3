package cell

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"
)

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
	queue     []ast.Node      // reached, and not looked at yet
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

// edited sorts edits and applies them.
func edited(src string, edits []edit) string {
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.at, b.at) })
	var out strings.Builder
	done := 0
	for _, e := range edits {
		out.WriteString(src[done:e.at] + e.text)
		done = e.at + e.length
	}
	return out.String() + src[done:]
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
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
			if _, receiver := typeName(f.Recv.List[0].Type); receiver != "" {
				l.methods[receiver] = append(l.methods[receiver], f)
			}
		}
		declarations(d, func(id *ast.Ident, n ast.Node) {
			if id.Name == "main" {
				l.main, _ = n.(*ast.FuncDecl)
			} else if id.Name != "_" {
				l.declared[id.Obj], l.named[id.Name] = n, n
			}
		})
	}
	for _, s := range file.Imports {
		name, path := imported(s)
		if name == "." {
			l.dots = append(l.dots, path)
		}
		l.imports[name] = path
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
	for _, d := range l.file.Decls {
		declarations(d, func(id *ast.Ident, n ast.Node) {
			if l.x.Variables[id.Name] == nil || l.own[id.Name] || isVar(n) {
				return
			}
			if _, function := n.(*ast.FuncDecl); function {
				l.blank(gone, n)
				return
			}
			copy(gone[l.offset(id.Pos()):], "_"+strings.Repeat(" ", len(id.Name)-1))
			if _, is := n.(*ast.TypeSpec); is {
				for _, m := range l.methods[id.Name] {
					l.blank(gone, m)
				}
			}
		})
	}
	if !bytes.Equal(gone, l.src) {
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
	}
	l.statements()
	l.globals()
	return []byte(edited(string(l.src), l.edits)), nil
}

func (l *live) insert(at int, text string) { l.edits = append(l.edits, edit{at, 0, text}) }

// reach finds the declarations that the cell comes to, and the variables of earlier cells that it names.
func (l *live) reach() {
	l.reached, l.needed, l.recipes = map[ast.Node]bool{}, map[string]bool{}, map[string]bool{}
	l.queue = nil
	for _, d := range l.file.Decls {
		declarations(d, func(id *ast.Ident, n ast.Node) {
			if isVar(n) || id.Name == "main" || id.Name == "init" || l.own[id.Name] {
				l.visit(n)
			}
		})
	}
	only := map[*ast.Ident]bool{} // set, not read
	for _, s := range l.body() {
		if names, _ := targets(s); !declares(s) {
			for _, id := range names {
				only[id] = true
			}
		}
	}
	for len(l.queue) > 0 {
		n := l.queue[0]
		l.queue = l.queue[1:]
		if s, ok := n.(*ast.TypeSpec); ok {
			for _, m := range l.methods[s.Name.Name] {
				l.visit(m)
			}
		}
		identifiers(n, func(id *ast.Ident) {
			if id.Obj != nil {
				l.visit(l.declared[id.Obj])
			} else {
				l.need(id.Name, !only[id])
			}
		})
	}
}

// visit reaches a declaration.
func (l *live) visit(n ast.Node) {
	if n != nil && !l.reached[n] {
		l.reached[n] = true
		l.queue = append(l.queue, n)
	}
}

// need reaches a variable of an earlier cell, which is read or only set, with what its type and its recipe name.
func (l *live) need(name string, read bool) {
	e := l.known(name)
	was, again := l.needed[name]
	if e == nil || again && (was || !read) {
		return
	}
	l.needed[name] = read
	of := []string{e.Type}
	if read {
		of = append(of, e.Types...)
	}
	for k, other := range e.Group {
		if read && l.x.current(e, other) {
			l.need(other, true)
		} else if read {
			of = append(of, e.Members[k])
		}
	}
	for _, t := range of {
		if t, err := parser.ParseExpr(t); err == nil {
			identifiers(t, func(id *ast.Ident) { l.visit(l.named[id.Name]) })
		}
	}
	if read {
		l.needRecipe(e.Recipe)
	}
}

// needRecipe reaches what a recipe names.
func (l *live) needRecipe(id string) {
	r := l.x.Recipes[id]
	if r == nil || l.recipes[id] {
		return
	}
	l.recipes[id] = true
	file, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+l.making(id), 0)
	if err == nil {
		identifiers(file, func(id *ast.Ident) {
			if id.Obj == nil {
				l.visit(l.named[id.Name])
				l.need(id.Name, true)
			}
		})
	}
	for _, in := range r.Inputs {
		l.needRecipe(in.Recipe)
	}
}

// prune leaves out the functions that the cell does not come to, and imports that nothing names.
func (l *live) prune() {
	used, bare := map[string]bool{}, false
	for _, d := range l.file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if !l.reached[d] {
				l.blank(l.src, d)
				continue
			}
		case *ast.GenDecl:
			if d.Tok == token.IMPORT {
				continue
			}
		}
		identifiers(d, func(id *ast.Ident) {
			if _, variable := l.needed[id.Name]; id.Obj == nil && !variable {
				used[id.Name] = true
				bare = bare || id.IsExported()
			}
		})
	}
	for _, s := range l.file.Imports {
		name, path := imported(s)
		if l.unused[path] || name != "_" && name != "." && !used[name] || name == "." && !bare {
			l.blank(l.src, s)
		}
	}
}

// head declares and reads variables of earlier cells.
func (l *live) head() {
	imports := map[string]string{displayAlias: displayPath}
	// Go sets variables in the order of their declarations: these stand first, then what gives them their values.
	vars, first := "", fmt.Sprintf("; var _ = %s.Begin(%d)", displayAlias, l.cell)
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
		vars += fmt.Sprintf("; var %s %s", name, e.Type)
		if !l.needed[name] {
			continue
		}
		// Equal values lie in one file, whatever shares memory.
		if group := e.File + " " + strings.Join(e.Group, " "); e.File != "" && !groups[group] {
			groups[group] = true
			first += fmt.Sprintf("; var _ = %s.Load(%q, %s", displayAlias, e.File, typeList(e.Types))
			for k, other := range e.Group {
				if l.x.current(e, other) {
					first += ", " + variables([]string{other})
				} else {
					was := fmt.Sprintf("nb_was_%d_%s", len(groups), other)
					vars += fmt.Sprintf("; var %s %s", was, e.Members[k])
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
	first = vars + first
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

// body is that of main.
func (l *live) body() []ast.Stmt {
	if l.main == nil {
		return nil
	}
	return l.main.Body.List
}

// statements rewrites those of main that give variables their values.
func (l *live) statements() {
	locals := map[string]bool{} // declared by main so far
	count := 0
	for _, s := range l.body() {
		names, values := targets(s)
		if len(names) == 0 {
			continue
		}
		fresh := slices.ContainsFunc(names, func(id *ast.Ident) bool { return !locals[id.Name] })
		line := l.line(s.Pos())
		after := ""
		for _, id := range names {
			known, declared := locals[id.Name], l.named[id.Name]
			_, global := l.needed[id.Name]
			global = global && declared == nil || isVar(declared)
			switch {
			case !declares(s):
			case l.plain[line], known && fresh, !known && !global:
				locals[id.Name] = true
			default:
				count++
				temporary := fmt.Sprintf("nb_%d", count)
				l.edits = append(l.edits, edit{l.offset(id.Pos()), len(id.Name), temporary})
				after += fmt.Sprintf("; %s.Set(&%s, &%s)", displayAlias, id.Name, temporary)
				for k := line; k <= l.line(s.End()); k++ {
					l.rewritten[k] = line
				}
			}
		}
		l.insert(l.offset(s.End()), after+"; "+l.bind(s, names, values))
	}
}

// variables describes variables as notebooks/nb wants it.
func variables(names []string) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = fmt.Sprintf("%s.Var(%q, &%s)", displayAlias, name, name)
	}
	return strings.Join(all, ", ")
}

// bind tells notebooks/nb that a statement or a declaration has given variables their values.
func (l *live) bind(s ast.Node, names []*ast.Ident, values []ast.Expr) string {
	return fmt.Sprintf("%s.Bind(%s, %s)", displayAlias, l.by(s, names, values), variables(idents(names)))
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
		for _, v := range s.Values {
			identifiers(v, func(id *ast.Ident) {
				if other, is := l.declared[id.Obj].(*ast.ValueSpec); is {
					bind(other)
				}
			})
		}
		if names := named(s.Names); len(names) > 0 {
			binds += "; var _ = " + l.bind(s, names, s.Values)
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
