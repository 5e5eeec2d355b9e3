package cell

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var (
	undefined = regexp.MustCompile(`^undefined: ([\pL_][\pL\pN_]*)$`)
	follows   = regexp.MustCompile(`^(?:not enough|too many) arguments in call|cannot infer`)
	more      = regexp.MustCompile(` \(and \d+ more errors?\)$`)
	place     = regexp.MustCompile(`^.*\.go:\d+(?::\d+)?: `)
	row       = regexp.MustCompile(`^.*\.go:\d+`)
)

// Explain adds to a message of the compiler about a line of a cell what to do: by the first hint that fits.
func (w *Workspace) Explain(message string, id, line int) string {
	w.mu.Lock()
	text := ""
	if lines := w.cells[id]; line >= 0 && line < len(lines) {
		text = lines[line]
	}
	w.mu.Unlock()
	_, found := w.hint(message, text)
	return message + found
}

// hint returns the number of the first hint that fits, and what it adds to a message about a line.
func (w *Workspace) hint(message, line string) (which int, found string) {
	for k, h := range hints {
		said, here := h.message.FindStringSubmatchIndex(message), h.line.FindStringSubmatchIndex(line)
		switch {
		case said == nil || here == nil:
		case h.find != nil:
			if found := h.find(w, h.message.FindStringSubmatch(message), line); found != "" {
				return k, found
			}
		case h.line.String() != "":
			return k, ": " + string(h.line.ExpandString(nil, h.instead, line, here))
		default:
			return k, ": " + string(h.message.ExpandString(nil, h.instead, message, said))
		}
	}
	return -1, ""
}

// Command says what to do in place of a command of the kernel that there is not, such as %time.
func Command(name string) string { return new(Workspace).Explain("no command "+name, -1, 0) }

// lost says why a name is not known as a variable of the notebook.
func (w *Workspace) lost(m []string, _ string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := m[1]
	var e *entry
	if w.index != nil {
		e = w.index.Variables[name]
	}
	switch {
	case w.defined[name]:
		return ": a function does not see what the statements of its own cell assign: declare it in the next cell, or write `var " + name + " = …` above"
	case e == nil && w.assigned[name]:
		return fmt.Sprintf(": `%s := …` assigns to a new variable", name)
	case e == nil:
		return ""
	case e.Why != "":
		return fmt.Sprintf(": its value of cell [%d] does not live on: %s; make it again here", e.Cell, e.Why)
	case w.without[name] != "":
		return fmt.Sprintf(": its value of cell [%d] cannot be read: %s; run that cell again", e.Cell, w.without[name])
	}
	l := live{x: w.index}
	if other := l.stale(e); other != "" {
		return fmt.Sprintf(": a statement of cell [%d] makes it from %s, which has changed since: run that cell again", e.Cell, other)
	}
	return ""
}

// refused says why the module around the notebook is not used, if there is one: a name may be a package of it.
func refused(*Workspace, []string, string) string {
	if why := os.Getenv("ANATOMY_REFUSED"); why != "" {
		return fmt.Sprintf(" (%s)", why)
	}
	return ""
}

// meant is the one of some names that was probably meant, behind the same words.
func meant(before, name string, names []string) string {
	if best := closest(name, names); best != "" {
		return fmt.Sprintf(" (did you mean %s%s?)", before, best)
	}
	return ""
}

// misspelt finds a name of a package or a type that was probably meant.
func (w *Workspace) misspelt(m []string, _ string) string {
	if len(m) > 3 {
		return meant(m[1]+".", m[2], w.members(m[3], m[4]))
	}
	return meant(m[1]+".", m[2], exported(w.folder(m[1])))
}

// unlooked says how nb.Must takes an error that is not looked at.
func unlooked(_ *Workspace, m []string, _ string) string {
	name, _, _ := strings.Cut(m[2], "(")
	if must := map[string]string{"12": "nb.Must", "23": "nb.Must2"}[m[1]+m[3]]; must != "" {
		return fmt.Sprintf(": if the last is an error, %s(%s(…)) takes it", must, name)
	}
	return ""
}

// notPackage says of a name before a dot that it is no package.
func (w *Workspace) notPackage(m []string, line string) string {
	_, after, found := strings.Cut(line, m[1]+".")
	if !found {
		return ""
	}
	w.mu.Lock()
	w.read()
	names := append(slices.Collect(maps.Keys(w.own)), slices.Collect(maps.Keys(w.used))...)
	w.mu.Unlock()
	if slices.Contains(names, m[1]) { // a package, and no name of it
		return w.misspelt([]string{"", m[1], regexp.MustCompile(`^\w*`).FindString(after)}, line)
	}
	return cmp.Or(meant("", m[1], names), ": no variable and no package has this name; packages of Go, of this project and of the modules that it uses "+
		"are found by their names, others after `!*go get path@version`")
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

// closest is the one of some names that is closest to a misspelt one, or "" if none is close.
func closest(name string, names []string) string {
	best, least := "", 1+len(name)/3
	if len(name) < 3 { // a variable, for which every other one would be close
		return ""
	}
	for _, candidate := range names {
		if d := distance(strings.ToLower(candidate), strings.ToLower(name)); d < least || d == least && best == "" {
			best, least = candidate, d
		}
	}
	return best
}

// members lists the exported fields and methods of a type of a package, those of what it embeds among them, but for types within.
func (w *Workspace) members(from, name string, within ...string) (names []string) {
	if within = append(within, from+"."+name); slices.Contains(within[:len(within)-1], from+"."+name) {
		return nil
	}
	for _, d := range declared(w.folder(from)) {
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GenDecl:
				return n.Tok == token.TYPE
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
					names = append(names, w.members(cmp.Or(of, from), embedded, within...)...)
				}
				names = append(names, idents(n.Names)...)
				return false
			}
			return true
		})
	}
	return slices.DeleteFunc(names, func(name string) bool { return !ast.IsExported(name) })
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
