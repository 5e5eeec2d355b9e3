package cell

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	missing   = regexp.MustCompile(`^undefined: (\w+)\.(\w+)$`)
	undefined = regexp.MustCompile(`^undefined: (\w+)$`)
	mismatch  = regexp.MustCompile(`^assignment mismatch: (\d) variables? but (.+) returns (\d) values$`)
	multiple  = regexp.MustCompile(`^multiple-value (.+?)\(.*\) \(value of type \((.*)error\)\)`)
	more      = regexp.MustCompile(` \(and \d+ more errors?\)$`)
	place     = regexp.MustCompile(`^.*\.go:\d+(?::\d+)?: `)
)

// Explain adds to a message of the compiler what to do: for an undefined name of a package the one that was probably meant,
// for a variable of another main function how values live, for an error that is not looked at nb.Must.
func (w *Workspace) Explain(message string) string {
	if m := missing.FindStringSubmatch(message); m != nil {
		if name := w.meant(m[1], m[2]); name != "" {
			return fmt.Sprintf("%s (did you mean %s.%s?)", message, m[1], name)
		}
	} else if m := undefined.FindStringSubmatch(message); m != nil {
		w.mu.Lock()
		id, known := w.values[m[1]]
		now := w.cell
		w.mu.Unlock()
		if known && id == now {
			return fmt.Sprintf("%s: functions do not see what the statements of a cell assign: pass it as an argument, or write `var %s = …` above the statements", message, m[1])
		} else if known {
			return fmt.Sprintf("%s: it was a value of cell [%d], and values end with their cell: write `var %s = …` there, above its statements, and later cells have it", message, id, m[1])
		}
	} else if m := mismatch.FindStringSubmatch(message); m != nil {
		if must := map[string]string{"12": "nb.Must", "23": "nb.Must2"}[m[1]+m[3]]; must != "" {
			return fmt.Sprintf("%s: if the last is an error, %s(%s) takes it", message, must, call(m[2]))
		}
	} else if m := multiple.FindStringSubmatch(message); m != nil && strings.Count(m[2], ",") == 1 {
		return fmt.Sprintf("%s: nb.Must(%s(…)) takes the error", message, m[1])
	}
	return message
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
	said := map[string]bool{}
	var unused []string
	for _, line := range lines {
		line = more.ReplaceAllString(line, "")
		message := strings.TrimPrefix(line, place.FindString(line))
		syntax := strings.HasPrefix(message, "syntax error")
		switch {
		case line == "" || strings.HasPrefix(line, "# ") || message == "too many errors":
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

// meant is the exported name of a package of the modules that is closest to a misspelt one, or "".
func (w *Workspace) meant(from, name string) string {
	path := w.path(from)
	w.mu.Lock()
	dir := w.dirs[path]
	w.mu.Unlock()
	best, least := "", 1+len(name)/3
	for _, candidate := range exported(dir) {
		if d := distance(strings.ToLower(candidate), strings.ToLower(name)); d < least || d == least && best == "" {
			best, least = candidate, d
		}
	}
	return best
}

// exported lists the exported names of a package.
func exported(dir string) (names []string) {
	add := func(id *ast.Ident) {
		if id.IsExported() {
			names = append(names, id.Name)
		}
	}
	for _, d := range declared(dir) {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				add(d.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					add(s.Name)
				case *ast.ValueSpec:
					for _, id := range s.Names {
						add(id)
					}
				}
			}
		}
	}
	return names
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
