package cell

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// notebook is a notebook that becomes a program. Its cells follow each other in the function main: what a cell assigns is assigned there, and
// functions that name variables are closures, which see the newest value. A variable that gets another type begins a block that reaches to the end.
type notebook struct {
	w       *Workspace
	cells   []cellParts
	closure map[string]bool // functions that are declared in main
	other   map[string]bool // statements whose variables get another type, by their marks
	plain   map[string]bool // last expressions without a value
	kernel  bool            // executes the program
}

type cellParts struct {
	environment              [][]string // matches of environment
	declarations, statements []piece
}

// environment is a command that gives a variable of the environment a value, for this cell and those that follow.
var environment = regexp.MustCompile(`(?m)^%env (\w+)=(\S+)$`)

// complaint is a message of the compiler about a line of a program.
var complaint = regexp.MustCompile(`main\.go:(\d+):\d+: (.*)`)

// mark ends the lines of the program that may have to be written in another way.
var mark = regexp.MustCompile(`// nb:(\S+)$`)

// Program returns the program that does what the cells of a notebook do from the first to the last; lines of commands other than %env are
// left out. If a kernel is to execute it, each cell begins with a call of nb.Cell. Compile returns what the compiler says of a program, nil if nothing.
func (w *Workspace) Program(cells []string, kernel bool, compile func(source []byte) (output []byte, err error)) ([]byte, error) {
	n := &notebook{w: w, closure: map[string]bool{}, other: map[string]bool{}, plain: map[string]bool{}, kernel: kernel}
	for _, source := range cells {
		lines := strings.Split(source, "\n")
		marker := -1
		for i, line := range lines {
			if opens(line) && marker < 0 {
				marker = i
			}
			if strings.HasPrefix(line, "%") || strings.HasPrefix(line, "!") {
				lines[i] = ""
			}
		}
		declarations, statements := divide(strings.Join(lines, "\n"), marker)
		n.cells = append(n.cells, cellParts{environment.FindAllStringSubmatch(source, -1), declarations, statements})
	}
	if err := n.hidden(); err != nil {
		return nil, err
	}
	n.close()
	for {
		source, err := w.Imports("", []byte(n.source()))
		if err != nil {
			return nil, err
		}
		output, err := compile(source)
		if err != nil {
			return nil, err
		}
		if output == nil {
			source, err := format.Source(regexp.MustCompile(`(?m)[ \t]*// nb:\S+$`).ReplaceAll(source, nil))
			return source, err
		}
		again := false
		lines := strings.Split(string(source), "\n")
		for _, m := range complaint.FindAllSubmatch(output, -1) {
			at, _ := strconv.Atoi(string(m[1]))
			for at < len(lines) && !mark.MatchString(lines[at-1]) {
				at++
			}
			id := mark.FindStringSubmatch(lines[min(at, len(lines))-1])
			switch {
			case id == nil:
			case valueless.Match(m[2]) && !n.plain[id[1]]:
				n.plain[id[1]], again = true, true
			case bytes.HasPrefix(m[2], []byte("cannot use")) && !n.other[id[1]]:
				n.other[id[1]], again = true, true
			}
		}
		if !again {
			return nil, errors.New(string(output))
		}
	}
}

// hidden is an error if a cell names a constant that an earlier cell declares after its first statement: such a constant is known in its own cell
// only, but in one function it would be known from there on.
func (n *notebook) hidden() error {
	own := map[string]int{} // the cells of such constants
	for k, c := range n.cells {
		declared, named := map[string]bool{}, map[string]bool{}
		var constants []string
		for i, p := range append(slices.Clone(c.declarations), c.statements...) {
			for _, d := range parts(p) {
				names := declaredBy(d)
				for _, name := range names {
					declared[name] = true
				}
				if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.CONST && i >= len(c.declarations) {
					constants = append(constants, names...)
				}
				maps.Copy(named, unresolved(d))
			}
			for _, s := range statementsOf(p) {
				ids, _ := targets(s)
				for _, id := range ids {
					declared[id.Name] = declared[id.Name] || declares(s)
				}
				maps.Copy(named, unresolved(s))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(named)) {
			if at, is := own[name]; is && !declared[name] {
				return fmt.Errorf("cell %d names %s, a constant of cell %d: declare it there before the first statement, or as a variable", k+1, name, at+1)
			}
		}
		for name := range declared {
			delete(own, name)
		}
		for _, name := range constants {
			own[name] = k
		}
	}
	return nil
}

// close finds the functions that name variables of the notebook, or functions that do, or that are declared twice.
func (n *notebook) close() {
	variables, names := map[string]bool{}, map[string]map[string]bool{}
	for _, c := range n.cells {
		for _, p := range append(slices.Clone(c.declarations), c.statements...) {
			for _, d := range parts(p) {
				switch d := d.(type) {
				case *ast.FuncDecl:
					if d.Recv == nil && d.Type.TypeParams == nil && d.Name.Name != "init" {
						n.closure[d.Name.Name] = names[d.Name.Name] != nil
						names[d.Name.Name] = unresolved(d)
					}
				case *ast.GenDecl:
					if d.Tok == token.VAR || d.Tok == token.CONST {
						for _, name := range declaredBy(d) {
							variables[name] = true
						}
					}
				}
			}
			for _, s := range statementsOf(p) {
				ids, _ := targets(s)
				for _, id := range ids {
					variables[id.Name] = true
				}
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for f, used := range names {
			for name := range used {
				if !n.closure[f] && (variables[name] || n.closure[name]) {
					n.closure[f], changed = true, true
				}
			}
		}
	}
}

// parts are the declarations of a piece.
func parts(p piece) []ast.Decl {
	file, _ := parser.ParseFile(token.NewFileSet(), "", "package p; "+p.text, 0)
	if file == nil {
		return nil
	}
	return file.Decls
}

// statementsOf are those of a piece.
func statementsOf(p piece) []ast.Stmt {
	file, _ := parser.ParseFile(token.NewFileSet(), "", "package p; func _() {\n"+p.text+"\n}", 0)
	if file == nil || len(file.Decls) == 0 {
		return nil
	}
	f, ok := file.Decls[0].(*ast.FuncDecl)
	if !ok || f.Body == nil {
		return nil
	}
	return f.Body.List
}

// unresolved are the names that a piece of source takes from outside.
func unresolved(node ast.Node) map[string]bool {
	names := map[string]bool{}
	new(live).names(node, func(id *ast.Ident) {
		if id.Obj == nil {
			names[id.Name] = true
		}
	})
	return names
}

// source is the program as it is known to be so far.
func (n *notebook) source() string {
	a := &assembly{notebook: n, known: map[string]bool{}, imported: map[string]bool{}}
	begin, show, start := "// Cell %d.", "nb.Display", "func main() {\nwatch.Terminal(os.Stderr) // long computations say what they do"
	if n.kernel { // in a function of its own, for what main assigns is kept for the next cell
		begin, show, start = displayAlias+".Cell(%d)", displayAlias+".Display", "func main() { nb_cells() }\n\nfunc nb_cells() {"
	}
	for k, c := range n.cells {
		fmt.Fprintf(&a.main, "\n\n"+begin, k+1)
		for _, m := range c.environment {
			fmt.Fprintf(&a.main, "\nos.Setenv(%q, %q)", m[1], m[2])
		}
		for i, p := range n.ordered(c.declarations) {
			a.declaration(fmt.Sprintf("%d.%d", k+1, i), p)
		}
		last := len(c.statements) - 1
		for last > 0 && !c.statements[last].code {
			last--
		}
		for i, p := range c.statements {
			id := fmt.Sprintf("%d.s%d", k+1, i)
			if end := p.expression(); i == last && end > 0 && !n.plain[id] && !n.w.silent(p.text[:end]) {
				fmt.Fprintf(&a.main, "\n%s(%s) // nb:%s", show, p.text[:end], id)
				continue
			}
			a.statement(id, p)
		}
	}
	return fmt.Sprintf("package main\n%s\n%s\n\n%s%s%s\n}\n", a.imports.String(), a.head.String(), start, a.main.String(), strings.Repeat("\n}", a.blocks))
}

// assembly is a program that grows piece by piece.
type assembly struct {
	*notebook
	imports, head, main strings.Builder
	known               map[string]bool // variables of main, in this block
	blocks              int
	imported            map[string]bool
}

// use lets the compiler take variables for used.
func (a *assembly) use(names ...string) {
	for _, name := range names {
		if name != "_" && !a.known[name] {
			a.known[name] = true
			fmt.Fprintf(&a.main, "\n_ = %s", name)
		}
	}
}

func (a *assembly) block() {
	a.main.WriteString("\n{")
	a.blocks++
	clear(a.known)
}

// open begins a block if the variables of a piece get another type.
func (a *assembly) open(id string) {
	if a.other[id] {
		a.block()
	}
}

// declare begins a block if one of the names is declared in this one, where it cannot be declared once more.
func (a *assembly) declare(names []string) {
	if slices.ContainsFunc(names, func(name string) bool { return a.known[name] }) {
		a.block()
	}
}

// constants are known without a use.
func (a *assembly) constants(names []string) {
	for _, name := range names {
		a.known[name] = true
	}
}

func (a *assembly) declaration(id string, p piece) {
	all := parts(p)
	if len(all) == 0 {
		a.main.WriteString("\n" + p.text)
		return
	}
	switch d := all[0].(type) {
	case *ast.FuncDecl:
		if !a.closure[d.Name.Name] || d.Recv != nil {
			a.head.WriteString("\n\n" + p.text)
			return
		}
		a.open(id)
		before, rest, _ := strings.Cut(p.text, "func "+d.Name.Name)
		text := "package p; " + p.text
		signature := text[int(d.Type.Params.Pos())-1 : int(d.Type.End())-1]
		if !a.known[d.Name.Name] {
			fmt.Fprintf(&a.main, "\nvar %s func%s", d.Name.Name, signature)
		}
		fmt.Fprintf(&a.main, "\n%s%s = func%s // nb:%s", before, d.Name.Name, rest, id)
		a.use(d.Name.Name)
	case *ast.GenDecl:
		switch d.Tok {
		case token.IMPORT:
			if !a.imported[p.text] {
				a.imports.WriteString("\n" + p.text)
			}
			a.imported[p.text] = true
		case token.TYPE:
			a.head.WriteString("\n\n" + p.text)
		default:
			names := declaredBy(d)
			a.declare(names)
			a.main.WriteString("\n" + p.text)
			if d.Tok == token.VAR {
				a.use(names...)
			} else {
				a.constants(names)
			}
		}
	}
}

func (a *assembly) statement(id string, p piece) {
	var names []string
	text := p.text
	if all := statementsOf(p); len(all) == 1 {
		ids, _ := targets(all[0])
		for _, id := range ids {
			names = append(names, id.Name)
		}
		assign, ok := all[0].(*ast.AssignStmt)
		if define := ok && assign.Tok == token.DEFINE; define && !a.other[id] &&
			!slices.ContainsFunc(names, func(name string) bool { return name != "_" && !a.known[name] }) {
			text = strings.Replace(text, ":=", "=", 1)
		} else if define {
			a.open(id)
		} else if d, ok := all[0].(*ast.DeclStmt); ok {
			declares := declaredBy(d.Decl)
			a.declare(declares)
			if names == nil { // constants need no use
				a.constants(declares)
			}
		} else {
			names = nil
		}
	}
	a.main.WriteString("\n" + text)
	if len(names) > 0 {
		fmt.Fprintf(&a.main, " // nb:%s", id)
	}
	a.use(names...)
}

// single are the variables of a group each by itself.
func single(p piece) (out []piece) {
	const before = "package p; "
	for _, d := range parts(p) {
		d, ok := d.(*ast.GenDecl)
		if !ok || d.Tok != token.VAR || !d.Lparen.IsValid() {
			continue
		}
		for _, s := range d.Specs {
			one := p
			one.text = "var " + (before + p.text)[s.Pos()-1:s.End()-1]
			out = append(out, one)
		}
	}
	if out == nil {
		return []piece{p}
	}
	return out
}

// ordered puts each declaration of a cell behind those that it names.
func (n *notebook) ordered(grouped []piece) []piece {
	var all []piece
	for _, p := range grouped {
		all = append(all, single(p)...)
	}
	of := map[string]int{}
	for i, p := range all {
		for _, d := range parts(p) {
			for _, name := range declaredBy(d) {
				of[name] = i
			}
		}
	}
	var out []piece
	done := map[int]bool{}
	var visit func(i int)
	visit = func(i int) {
		if done[i] {
			return
		}
		done[i] = true
		for _, d := range parts(all[i]) {
			for _, name := range slices.Sorted(maps.Keys(unresolved(d))) {
				if j, ok := of[name]; ok {
					visit(j)
				}
			}
		}
		out = append(out, all[i])
	}
	for i := range all {
		visit(i)
	}
	return out
}
