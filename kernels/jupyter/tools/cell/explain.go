package cell

import (
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
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
	visible   = regexp.MustCompile(`[^\t]`)
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

// meant is the one of some names that is closest to a misspelt one, and so was probably meant, behind the same words; "" if none is close, or the
// name is so short that many are.
func meant(before, name string, names []string) string {
	best, least := "", 1+len(name)/3
	for _, candidate := range names {
		if d := distance(strings.ToLower(candidate), strings.ToLower(name)); len(name) > 2 && (d < least || d == least && best == "") {
			best, least = fmt.Sprintf(" (did you mean %s%s?)", before, candidate), d
		}
	}
	return best
}

// misspelt finds a name of a package or a type that was probably meant.
func (w *Workspace) misspelt(m []string, _ string) string {
	if len(m) > 3 {
		return meant(m[1]+".", m[2], w.members(m[3], m[4]))
	}
	return meant(m[1]+".", m[2], exported(w.folder(m[1])))
}

// unexported is misspelt where the name comes before the package.
func unexported(w *Workspace, m []string, line string) string {
	return w.misspelt([]string{"", m[2], m[1]}, line)
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
		out.WriteString("       | " + visible.ReplaceAllString(lines[i][:at], " ") + Red("^") + "\n")
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

// Said parts what the program of a cell writes to standard error from what it says in the end, which is the error of the cell: the
// message of package nb, or a panic. The other lines go through at once.
type Said struct {
	held   []byte // from the beginning of a line that says the end, or may do so once it is whole
	within bool   // what went through last has no end of line
}

// last begins the lines that say the end of a program.
var last = regexp.MustCompile(`^(?:panic: |fatal error: |error: |cell \[\d+\], line \d+: (?:error: |✗ ))`)

// ends says whether a line says the end, or may do so if it goes on.
func ends(line []byte) bool {
	if last.Match(line) {
		return true
	}
	if bytes.Contains(line, []byte("\n")) {
		return false
	}
	for _, word := range []string{"panic: ", "fatal error: ", "error: ", "cell ["} {
		if len(line) > 0 && strings.HasPrefix(word, string(line)) {
			return true
		}
	}
	const longest = len("cell [1000000], line 1000000: error: ")
	return bytes.HasPrefix(line, []byte("cell [")) && len(line) < longest
}

// Pass takes what the program writes next and returns what goes through.
func (s *Said) Pass(written []byte) (through []byte) {
	text := append(s.held, written...)
	at := 0
	for at < len(text) && (s.within || !ends(text[at:])) {
		line := bytes.IndexByte(text[at:], '\n') + 1
		if s.within = line == 0; s.within {
			line = len(text) - at
		}
		at += line
	}
	through, s.held = text[:at:at], bytes.Clone(text[at:])
	return through
}

// End takes how the program ended. It returns what goes through after all, and the error of the cell: a *Failure, if the program said
// why it ended.
func (s *Said) End(exit error) (through []byte, err error) {
	held := s.held
	*s = Said{}
	switch {
	case exit == nil:
		return held, nil
	case exit.Error() == "signal: killed":
		return held, fmt.Errorf("%w: the system does so if memory runs out", exit)
	case !strings.HasPrefix(exit.Error(), "exit status ") || !last.Match(held):
		return held, exit
	}
	return nil, failure(string(held))
}

// Failure is why a program ended: what it says with its place, and through which functions it came there.
type Failure struct {
	message string
	trace   []string
}

func (f *Failure) Error() string { return strings.Join(append([]string{f.message}, f.trace...), "\n") }

// Traceback is what Jupyter shows.
func (f *Failure) Traceback() []string {
	shown := []string{Red(f.message)}
	if f.trace != nil {
		shown = append(shown, strings.Join(f.trace, "\n"))
	}
	return shown
}

// AsFailure returns the Failure in an error, or nil.
func AsFailure(err error) (f *Failure) {
	errors.As(err, &f)
	return f
}

var (
	// goroutine stands between what a panic says and how it came there.
	goroutine = regexp.MustCompile(`\n(?:\[signal [^\n]*\]\n)?(?:\n(?:runtime stack:\n(?:[^\n]+\n)*\n)?)?goroutine \d+ [^\n]*:\n`)
	// frame is a function, with its arguments, and the place in it.
	frame = regexp.MustCompile(`(?m)^(?:created by )?(\S+?)(?:\([^()\n]*\)| in goroutine \d+)?\n\t(.+?)(?: \+0x[0-9a-f]+)?$`)
)

// failure reads the end of what a program has said. Of a panic that says what is wrong, such as those of the library, the places in
// cells are left, of errors of the runtime all: numbers of goroutines and addresses say nothing.
func failure(said string) *Failure {
	at := goroutine.FindStringIndex(said)
	if strings.HasPrefix(said, "cell [") || at == nil {
		return &Failure{message: strings.TrimSpace(said)}
	}
	message := strings.ReplaceAll(strings.TrimSpace(said[:at[0]]), "\n\t", "\n")
	frames, _, _ := strings.Cut(said[at[1]:], "\n\n") // of this goroutine
	all := strings.Contains(message, "runtime error: ") || strings.HasPrefix(message, "fatal error: ")
	var trace []string
	place := ""
	for _, f := range frame.FindAllStringSubmatch(frames, -1) {
		name, where := strings.TrimPrefix(path.Base(f[1]), "main."), f[2]
		inCell := strings.HasPrefix(where, "cell [")
		if inCell && place == "" {
			place = where
		}
		if name != "panic" && !strings.HasPrefix(name, "runtime.") && (all || inCell) {
			trace = append(trace, fmt.Sprintf("    in %s, %s", name, where))
		}
	}
	if place != "" {
		message = place + ": " + message
	}
	const most = 20
	if len(trace) > most {
		trace = append(trace[:most], fmt.Sprintf("    … (%d more)", len(trace)-most))
	} else if len(trace) == 1 && place != "" {
		trace = nil // the place says it
	}
	return &Failure{message, trace}
}

// hint is what to do about a message of the compiler, about what a line of a cell says, or about both: a text, or what find adds, if anything. The
// table hints.tsv has them.
type hint struct {
	message, line *regexp.Regexp
	instead       string
	find          func(w *Workspace, message []string, line string) string
}

//go:embed hints.tsv
var hintTable string

// hints are tried in this order.
var hints = func() (all []hint) {
	finders := map[string]func(w *Workspace, message []string, line string) string{"!lost": (*Workspace).lost, "!misspelt": (*Workspace).misspelt,
		"!unlooked": unlooked, "!refused": refused, "!notPackage": (*Workspace).notPackage, "!unexported": unexported}
	words := strings.NewReplacer("{syntax}", "^expected|^syntax error|^unexpected|^illegal", "{undefined}", undefined.String(), "{keyboard}", keyboard)
	for row := range strings.Lines(hintTable) {
		if cells := strings.Split(strings.TrimSuffix(words.Replace(row), "\n"), "\t"); row[0] != '#' {
			all = append(all, hint{regexp.MustCompile(cells[0]), regexp.MustCompile(cells[1]), cells[2], finders[cells[2]]})
		}
	}
	return all
}()

// keyboard is what is said of a cell that would wait for a line of input for ever.
const keyboard = "a cell has no keyboard: write the value into the cell, such as `name := \"x\"`; the command %with_inputs asks for lines"
