package cell

import (
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
	other   map[string]bool // by their marks: statements whose variables get another type, and last expressions without a value
	kernel  bool            // executes the program
}

type cellParts struct {
	environment              [][]string // matches of environment
	declarations, statements []piece
}

// environment is a command that gives a variable of the environment a value, for this cell and those that follow.
var environment = regexp.MustCompile(`(?m)^%env (\w+)=(\S+)$`)

// complaint is a message of the compiler about a line of a program for which there is another way to write it.
var complaint = regexp.MustCompile(`main\.go:(\d+):\d+: (?:cannot use|.*` + valueless.String() + `)`)

// mark ends the lines of the program that may have to be written in another way.
var mark = regexp.MustCompile(`[ \t]*// nb:(\S+)(?:\n|$)`)

// Program returns the program that does what the cells of a notebook do from the first to the last; lines of commands other than %env are
// left out. If a kernel is to execute it, each cell begins with a call of nb.Cell. Compile returns what the compiler says of a program, nil if nothing.
func (w *Workspace) Program(cells []string, kernel bool, compile func(source []byte) (output []byte, err error)) ([]byte, error) {
	n := &notebook{w: w, closure: map[string]bool{}, other: map[string]bool{}, kernel: kernel}
	for _, source := range cells {
		code, marker := plainCode(strings.Split(source, "\n"), func(i int, line string) bool { return strings.HasPrefix(line, "%") || strings.HasPrefix(line, "!") })
		declarations, statements := divide(code, marker)
		n.cells = append(n.cells, cellParts{environment.FindAllStringSubmatch(source, -1), ordered(declarations), statements})
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
			return format.Source(mark.ReplaceAll(source, []byte("\n")))
		}
		again := false
		lines := strings.SplitAfter(string(source), "\n")
		for _, m := range complaint.FindAllSubmatch(output, -1) {
			at, _ := strconv.Atoi(string(m[1]))
			id := mark.FindStringSubmatch(strings.Join(lines[min(at, len(lines))-1:], ""))
			if id != nil && !n.other[id[1]] {
				n.other[id[1]], again = true, true
			}
		}
		if !again {
			return nil, errors.New(string(output))
		}
	}
}

// close finds the functions that name variables of the notebook, or functions that do, or that are declared twice.
func (n *notebook) close() {
	variables, names := map[string]bool{}, map[string]map[string]bool{}
	for _, c := range n.cells {
		for _, p := range slices.Concat(c.declarations, c.statements) {
			node := p.node()
			if f, ok := node.(*ast.FuncDecl); !ok {
				ids, _ := targets(node)
				for _, name := range append(declaredBy(node), idents(ids)...) {
					variables[name] = true
				}
			} else if f.Recv == nil && f.Type.TypeParams == nil && f.Name.Name != "init" {
				n.closure[f.Name.Name] = names[f.Name.Name] != nil
				names[f.Name.Name] = unresolved(f)
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

// unresolved are the names that a piece of source takes from outside.
func unresolved(node ast.Node) map[string]bool {
	found := map[string]bool{}
	identifiers(node, func(id *ast.Ident) {
		if id.Obj == nil {
			found[id.Name] = true
		}
	})
	return found
}

// source is the program as it is known to be so far.
func (n *notebook) source() string {
	a := &assembly{notebook: n, known: map[string]token.Token{}, imported: map[string]bool{}}
	begin, show, start := "// Cell %d.", "nb.Display", "func main() {\nwatch.Terminal(os.Stderr) // long computations say what they do"
	if n.kernel { // in a function of its own, for what main assigns is kept for the next cell
		begin, show, start = displayAlias+".Cell(%d)", displayAlias+".Display", "func main() { nb_cells() }\n\nfunc nb_cells() {"
	}
	for k, c := range n.cells {
		fmt.Fprintf(&a.main, "\n\n"+begin, k+1)
		for _, m := range c.environment {
			fmt.Fprintf(&a.main, "\nos.Setenv(%q, %q)", m[1], m[2])
		}
		shown := lastCode(c.statements)
		for i, p := range slices.Concat(c.declarations, c.statements) {
			id := fmt.Sprintf("%d.%d", k+1, i)
			if end := p.expression(); i-len(c.declarations) == shown && end > 0 && !n.other[id] && !n.w.silent(p.text[:end]) {
				fmt.Fprintf(&a.main, "\n%s(%s) // nb:%s", show, p.text[:end], id)
				continue
			}
			a.add(id, p)
		}
	}
	return fmt.Sprintf("package main\n%s\n%s\n\n%s%s%s\n}\n", a.imports.String(), a.head.String(), start, a.main.String(), strings.Repeat("\n}", a.blocks))
}

// assembly is a program that grows piece by piece.
type assembly struct {
	*notebook
	imports, head, main strings.Builder
	known               map[string]token.Token // what main declares in this block: token.VAR or token.CONST
	blocks              int
	imported            map[string]bool
}

// declare notes names that a piece declares, behind a new block where they are known or if is says so, and then writes it. The compiler takes
// variables for used.
func (a *assembly) declare(id, text string, as token.Token, fresh bool, names []string) {
	if fresh {
		a.main.WriteString("\n{")
		a.blocks++
		clear(a.known)
	}
	a.main.WriteString("\n" + text)
	if as == token.VAR && len(names) > 0 {
		fmt.Fprintf(&a.main, " // nb:%s", id)
	}
	for _, name := range names {
		if name == "_" {
			continue
		}
		if as == token.VAR && a.known[name] == 0 {
			fmt.Fprintf(&a.main, "\n_ = %s", name)
		}
		a.known[name] = as
	}
}

// add writes a piece.
func (a *assembly) add(id string, p piece) {
	knows := func(name string) bool { return a.known[name] != 0 }
	switch d := p.node().(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if !a.closure[name] || d.Recv != nil {
			a.head.WriteString("\n\n" + p.text)
			return
		}
		before, rest, _ := strings.Cut(p.text, "func "+name)
		text := fmt.Sprintf("%s%s = func%s", before, name, rest)
		if fresh := a.other[id] || a.known[name] == token.CONST; fresh || !knows(name) {
			signature := (pieceBefore + p.text)[d.Type.Params.Pos()-1 : d.Type.End()-1]
			a.declare(id, fmt.Sprintf("var %s func%s\n%s", name, signature, text), token.VAR, fresh, []string{name})
		} else {
			a.declare(id, text, token.VAR, false, []string{name})
		}
	case *ast.GenDecl:
		switch names := declaredBy(d); d.Tok {
		case token.IMPORT:
			if !a.imported[p.text] {
				a.imports.WriteString("\n" + p.text)
			}
			a.imported[p.text] = true
		case token.TYPE:
			a.head.WriteString("\n\n" + p.text)
		default:
			a.declare(id, p.text, d.Tok, slices.ContainsFunc(names, knows), names)
		}
	case *ast.AssignStmt:
		ids, _ := targets(d)
		names := idents(ids)
		constant := slices.ContainsFunc(names, func(name string) bool { return a.known[name] == token.CONST })
		switch {
		case d.Tok != token.DEFINE:
			a.main.WriteString("\n" + p.text)
		case a.other[id] || constant || slices.ContainsFunc(names, func(name string) bool { return !knows(name) }):
			a.declare(id, p.text, token.VAR, a.other[id] || constant, names)
		default:
			a.declare(id, strings.Replace(p.text, ":=", "=", 1), token.VAR, false, names)
		}
	default:
		a.main.WriteString("\n" + p.text)
	}
}

// idents are the names of identifiers.
func idents(ids []*ast.Ident) (names []string) {
	for _, id := range ids {
		names = append(names, id.Name)
	}
	return names
}

// single are the variables of a group each by itself.
func single(p piece) (out []piece) {
	d, ok := p.node().(*ast.GenDecl)
	if !ok || d.Tok != token.VAR || !d.Lparen.IsValid() {
		return []piece{p}
	}
	for _, s := range d.Specs {
		one := p
		one.text = "var " + (pieceBefore + p.text)[s.Pos()-1:s.End()-1]
		out = append(out, one)
	}
	return out
}

// ordered puts each declaration of a cell behind those that it names.
func ordered(grouped []piece) (out []piece) {
	var all []piece
	of := map[string]int{}
	for _, p := range grouped {
		for _, one := range single(p) {
			for _, name := range declaredBy(one.node()) {
				of[name] = len(all)
			}
			all = append(all, one)
		}
	}
	done := make([]bool, len(all))
	var visit func(i int)
	visit = func(i int) {
		if done[i] {
			return
		}
		done[i] = true
		for _, name := range slices.Sorted(maps.Keys(unresolved(all[i].node()))) {
			if j, ok := of[name]; ok {
				visit(j)
			}
		}
		out = append(out, all[i])
	}
	for i := range all {
		visit(i)
	}
	return out
}

// pieceBefore stands before a declaration where it is parsed.
const pieceBefore = "package p; "

// node is the declaration or the statement that a piece is, or an empty statement.
func (p piece) node() ast.Node {
	file, err := parser.ParseFile(token.NewFileSet(), "", pieceBefore+p.text, 0)
	if err == nil && len(file.Decls) == 1 {
		return file.Decls[0]
	}
	file, err = parser.ParseFile(token.NewFileSet(), "", "package p; func _() {\n"+p.text+"\n}", 0)
	if err == nil && len(file.Decls) == 1 {
		if all := file.Decls[0].(*ast.FuncDecl).Body.List; len(all) == 1 {
			return all[0]
		}
	}
	return &ast.EmptyStmt{}
}
