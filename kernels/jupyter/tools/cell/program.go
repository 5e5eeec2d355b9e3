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
	var head, imports, main strings.Builder
	known := map[string]bool{} // variables of main, in this block
	blocks := 0
	imported := map[string]bool{}
	use := func(names ...string) {
		for _, name := range names {
			if name != "_" && !known[name] {
				known[name] = true
				fmt.Fprintf(&main, "\n_ = %s", name)
			}
		}
	}
	block := func() {
		main.WriteString("\n{")
		blocks++
		clear(known)
	}
	open := func(id string) {
		if n.other[id] {
			block()
		}
	}
	again := func(names []string) { // what is declared in this block cannot be so once more
		if slices.ContainsFunc(names, func(name string) bool { return known[name] }) {
			block()
		}
	}
	begin, show, start := "// Cell %d.", "nb.Display", "func main() {\nwatch.Terminal(os.Stderr) // long computations say what they do"
	if n.kernel { // in a function of its own, for what main assigns is kept for the next cell
		begin, show, start = displayAlias+".Cell(%d)", displayAlias+".Display", "func main() { nb_cells() }\n\nfunc nb_cells() {"
	}
	for k, c := range n.cells {
		fmt.Fprintf(&main, "\n\n"+begin, k+1)
		for _, m := range c.environment {
			fmt.Fprintf(&main, "\nos.Setenv(%q, %q)", m[1], m[2])
		}
		for i, p := range n.ordered(c.declarations) {
			id := fmt.Sprintf("%d.%d", k+1, i)
			all := parts(p)
			if len(all) == 0 {
				main.WriteString("\n" + p.text)
				continue
			}
			switch d := all[0].(type) {
			case *ast.FuncDecl:
				if !n.closure[d.Name.Name] || d.Recv != nil {
					head.WriteString("\n\n" + p.text)
					continue
				}
				open(id)
				before, rest, _ := strings.Cut(p.text, "func "+d.Name.Name)
				text := "package p; " + p.text
				signature := text[int(d.Type.Params.Pos())-1 : int(d.Type.End())-1]
				if !known[d.Name.Name] {
					fmt.Fprintf(&main, "\nvar %s func%s", d.Name.Name, signature)
				}
				fmt.Fprintf(&main, "\n%s%s = func%s // nb:%s", before, d.Name.Name, rest, id)
				use(d.Name.Name)
			case *ast.GenDecl:
				switch d.Tok {
				case token.IMPORT:
					if !imported[p.text] {
						imports.WriteString("\n" + p.text)
					}
					imported[p.text] = true
				case token.TYPE:
					head.WriteString("\n\n" + p.text)
				default:
					names := declaredBy(d)
					again(names)
					main.WriteString("\n" + p.text)
					if d.Tok == token.VAR {
						use(names...)
					} else {
						for _, name := range names {
							known[name] = true
						}
					}
				}
			}
		}
		last := len(c.statements) - 1
		for last > 0 && !c.statements[last].code {
			last--
		}
		for i, p := range c.statements {
			id := fmt.Sprintf("%d.s%d", k+1, i)
			if end := p.expression(); i == last && end > 0 && !n.plain[id] && !n.w.silent(p.text[:end]) {
				fmt.Fprintf(&main, "\n%s(%s) // nb:%s", show, p.text[:end], id)
				continue
			}
			all := statementsOf(p)
			var names []string
			text := p.text
			if len(all) == 1 {
				ids, _ := targets(all[0])
				for _, id := range ids {
					names = append(names, id.Name)
				}
				a, ok := all[0].(*ast.AssignStmt)
				if define := ok && a.Tok == token.DEFINE; define && !n.other[id] &&
					!slices.ContainsFunc(names, func(name string) bool { return name != "_" && !known[name] }) {
					text = strings.Replace(text, ":=", "=", 1)
				} else if define {
					open(id)
				} else if d, ok := all[0].(*ast.DeclStmt); ok {
					declares := declaredBy(d.Decl)
					again(declares)
					if names == nil { // constants need no use
						for _, name := range declares {
							known[name] = true
						}
					}
				} else {
					names = nil
				}
			}
			main.WriteString("\n" + text)
			if len(names) > 0 {
				fmt.Fprintf(&main, " // nb:%s", id)
			}
			use(names...)
		}
	}
	return fmt.Sprintf("package main\n%s\n%s\n\n%s%s%s\n}\n", imports.String(), head.String(), start, main.String(), strings.Repeat("\n}", blocks))
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
