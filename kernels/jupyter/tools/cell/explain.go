package cell

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var (
	missing   = regexp.MustCompile(`^undefined: (\w+)\.(\w+)$`)
	undefined = regexp.MustCompile(`^undefined: ([\pL_][\pL\pN_]*)$`)
	unused    = regexp.MustCompile(`^declared and not used: ([\pL_][\pL\pN_]*)$`)
	mismatch  = regexp.MustCompile(`^assignment mismatch: (\d) variables? but (.+) returns (\d) values$`)
	multiple  = regexp.MustCompile(`^multiple-value (.+?)\(.*\) \(value of type \((.*)error\)\)`)
	member    = regexp.MustCompile(`^(\S+)\.(\w+) undefined \(type \*?(\w+)\.(\w+)(?:\[.*\])? has no field or method \w+\)$`)
	foreign   = regexp.MustCompile(`^package \S+ is not in std `)
	uncalled  = regexp.MustCompile(`^cannot .*?(\w[\w.]*) \((?:value|variable) of type func\(\) `)
	follows   = regexp.MustCompile(`^(?:not enough|too many) arguments in call|cannot infer`)
	more      = regexp.MustCompile(` \(and \d+ more errors?\)$`)
	place     = regexp.MustCompile(`^.*\.go:\d+(?::\d+)?: `)
	row       = regexp.MustCompile(`^.*\.go:\d+`)
)

// Explain adds to a message of the compiler what to do: for an undefined name of a package or type the one that was probably
// meant, for a variable that does not live on why, for an error that is not looked at nb.Must, for a function that is not called
// its call, for a question mark the key that answers.
func (w *Workspace) Explain(message string) string {
	if m := missing.FindStringSubmatch(message); m != nil {
		if name := closest(m[2], exported(w.source(m[1]))); name != "" {
			return fmt.Sprintf("%s (did you mean %s.%s?)", message, m[1], name)
		}
	} else if m := member.FindStringSubmatch(message); m != nil {
		if name := closest(m[2], w.members(m[3], m[4])); name != "" {
			return fmt.Sprintf("%s (did you mean %s.%s?)", message, m[1], name)
		}
	} else if m := uncalled.FindStringSubmatch(message); m != nil {
		return fmt.Sprintf("%s: it is called by %s()", message, m[1])
	} else if m := undefined.FindStringSubmatch(message); m != nil {
		return refused(w.explainVariable(message, m[1]))
	} else if m := unused.FindStringSubmatch(message); m != nil {
		return fmt.Sprintf("%s: Go wants what a function or block declares to be used: leave it out, or write `_ = %s`", message, m[1])
	} else if foreign.MatchString(message) {
		return refused(message)
	} else if strings.HasPrefix(message, "illegal character U+003F '?'") {
		return message + ": Shift-Tab says what a name is"
	} else if m := mismatch.FindStringSubmatch(message); m != nil {
		if must := map[string]string{"12": "nb.Must", "23": "nb.Must2"}[m[1]+m[3]]; must != "" {
			return fmt.Sprintf("%s: if the last is an error, %s(%s) takes it", message, must, call(m[2]))
		}
	} else if m := multiple.FindStringSubmatch(message); m != nil && strings.Count(m[2], ",") == 1 {
		return fmt.Sprintf("%s: nb.Must(%s(…)) takes the error", message, m[1])
	}
	return message
}

// explainVariable says why a name is not known as a variable of the notebook.
func (w *Workspace) explainVariable(message, name string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var e *entry
	if w.index != nil {
		e = w.index.Variables[name]
	}
	switch {
	case w.defined[name]:
		return fmt.Sprintf("%s: a function does not see what the statements of its own cell assign: declare it in the next cell, or write `var %s = …` above", message, name)
	case e == nil && w.assigned[name]:
		return fmt.Sprintf("%s: `%s := …` assigns to a new variable", message, name)
	case e == nil:
		return message
	case e.Why != "":
		return fmt.Sprintf("%s: its value of cell [%d] does not live on: %s; make it again here", message, e.Cell, e.Why)
	case w.without[name] != "":
		return fmt.Sprintf("%s: its value of cell [%d] cannot be read: %s; run that cell again", message, e.Cell, w.without[name])
	}
	l := live{x: w.index}
	if other := l.stale(e); other != "" {
		return fmt.Sprintf("%s: it is made by a statement of cell [%d] from %s, which has changed since: run that cell again", message, e.Cell, other)
	}
	return message
}

// refused adds why the module around the notebook is not used, if there is one: a name may be a package of it.
func refused(message string) string {
	if why := os.Getenv("ANATOMY_REFUSED"); why != "" {
		return fmt.Sprintf("%s (%s)", message, why)
	}
	return message
}

// Part cuts what a program wrote before a place in a file of its source, file:line, that may go on with what it writes next, unless
// this is all. A runtime that panics writes places in pieces.
func Part(written []byte, file string, all bool) (whole, rest []byte) {
	at := bytes.LastIndex(written, []byte(file))
	if all || at < 0 || strings.Trim(string(written[at+len(file):]), ":0123456789") != "" {
		return written, nil
	}
	return written[:at], bytes.Clone(written[at:])
}

// Context shows a line of a cell with those around it, and a mark below the column of the generated code.
func (w *Workspace) Context(id, line int, code string, column int) string {
	w.mu.Lock()
	lines := w.cells[id]
	w.mu.Unlock()
	var out strings.Builder
	for i := max(line-3, 0); i < min(line+3, len(lines)); i++ {
		fmt.Fprintf(&out, "%6d | %s\n", i+1, lines[i])
		if i != line || column < 1 || column > len(code) {
			continue
		}
		at := strings.LastIndex(lines[i], strings.TrimSuffix(code[column-1:], ","))
		if at < 0 {
			continue
		}
		blank := strings.Map(func(r rune) rune {
			if r == '\t' {
				return r
			}
			return ' '
		}, lines[i][:at])
		out.WriteString("       | " + blank + Red("^") + "\n")
	}
	return out.String()
}

// Red is a text in red.
func Red(text string) string { return "\x1b[31m" + text + "\x1b[0m" }

// call shortens the arguments of a call.
func call(name string) string {
	name, _, _ = strings.Cut(name, "(")
	return name + "(…)"
}

// Messages drops from the lines of a compiler's output those that say nothing of their own: the package's name, errors that
// follow from others, and what a syntax error does to the rest.
func Messages(lines []string) (kept []string) {
	said, unknown := map[string]bool{}, map[string]bool{}
	for _, line := range lines {
		if at := row.FindString(line); undefined.MatchString(strings.TrimPrefix(line, place.FindString(line))) {
			unknown[at] = true
		}
	}
	var unused []string
	dropped := false
	for _, line := range lines {
		line = more.ReplaceAllString(line, "")
		message := strings.TrimPrefix(line, place.FindString(line))
		if dropped && strings.HasPrefix(line, "\t") { // it belongs to the one before
			continue
		}
		dropped = unknown[row.FindString(line)] && follows.MatchString(message)
		syntax := strings.HasPrefix(message, "syntax error")
		switch {
		case dropped || line == "" || strings.HasPrefix(line, "# ") || message == "too many errors":
		case said[message] && undefined.MatchString(message) || said["syntax error"]:
		case strings.HasPrefix(message, "declared and not used") || strings.Contains(message, "imported and not used"):
			unused = append(unused, line)
		default:
			kept = append(kept, line)
			said[message] = true
			said["syntax error"] = syntax
		}
	}
	if len(kept) == 0 {
		return unused
	}
	return kept
}

// source is the folder of a package of the modules, or "".
func (w *Workspace) source(name string) string {
	path := w.path(name)
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dirs[path]
}

// closest is the one of some names that is closest to a misspelt one, or "" if none is close.
func closest(name string, names []string) string {
	best, least := "", 1+len(name)/3
	for _, candidate := range names {
		if d := distance(strings.ToLower(candidate), strings.ToLower(name)); d < least || d == least && best == "" {
			best, least = candidate, d
		}
	}
	return best
}

// members lists the exported fields and methods of a type of a package, those of what it embeds among them.
func (w *Workspace) members(from, name string) (names []string) {
	for _, d := range declared(w.source(from)) {
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv != nil && len(n.Recv.List) > 0 {
					if _, receiver := typeName(n.Recv.List[0].Type); receiver == name {
						names = append(names, n.Name.Name)
					}
				}
				return false
			case *ast.TypeSpec:
				return n.Name.Name == name
			case *ast.Field:
				if n.Names == nil {
					of, embedded := typeName(n.Type)
					names = append(names, w.members(cmp.Or(of, from), embedded)...)
				}
				names = append(names, idents(n.Names)...)
				return false
			}
			return true
		})
	}
	return slices.DeleteFunc(names, func(name string) bool { return !ast.IsExported(name) })
}

// typeName is the name of a type, without its parameters, and that of its package where it is another one.
func typeName(t ast.Expr) (from, name string) {
	switch t := t.(type) {
	case *ast.StarExpr:
		return typeName(t.X)
	case *ast.IndexExpr:
		return typeName(t.X)
	case *ast.SelectorExpr:
		from, _ := t.X.(*ast.Ident)
		if from == nil {
			return "", ""
		}
		return from.Name, t.Sel.Name
	case *ast.Ident:
		return "", t.Name
	}
	return "", ""
}

// exported lists the exported names of a package.
func exported(dir string) (names []string) {
	for _, d := range declared(dir) {
		names = append(names, declaredBy(d)...)
	}
	return slices.DeleteFunc(names, func(name string) bool { return !ast.IsExported(name) })
}

// declared lists the declarations of a package.
func declared(dir string) (all []ast.Decl) {
	if dir == "" {
		return nil
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, _ := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if file != nil {
			all = append(all, file.Decls...)
		}
	}
	return all
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
