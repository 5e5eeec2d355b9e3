package cell

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Kept is a version of a cell's program in which the values of slow top-level variables are kept, for go build -overlay.
type Kept struct {
	Overlay string // the argument, or "": there is nothing to keep

	folder string
	prints map[string]string // variable → what its source is
}

// remembered is what notebooks/nb writes about a variable: see there.
type remembered struct {
	Print   string
	Kept    bool
	Type    string
	Imports map[string]string
}

// Keep writes that version beside a program, line by line as the program has it. A variable whose value comes of a call
// is written `nb_.First(nb_.Watched(…), call)`: package nb measures it, and remembers whether it is worth keeping, and
// its type. In the next cell it is written `nb_.Kept(nb_.Watched(…), func() type { return call })`, or as the cell has
// it if it was quick or cannot be kept.
func (w *Workspace) Keep(program string) *Kept {
	none := &Kept{}
	src, err := os.ReadFile(program)
	if err != nil {
		return none
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, program, src, 0)
	if err != nil {
		return none
	}
	p := newSources(set, file, src)
	k := &Kept{folder: filepath.Join(filepath.Dir(program), "kept"), prints: map[string]string{}}
	imports := map[string]string{displayAlias: displayPath}
	type insertion struct {
		at   int
		text string
	}
	var insertions []insertion
	state := ""
	for _, v := range p.variables() {
		if state == "" {
			state = w.state()
		}
		print, refused, depends, ok := p.of(v)
		if !ok {
			continue
		}
		sum := sha256.Sum256([]byte(state + print))
		print = hex.EncodeToString(sum[:])
		name := strings.Join(v.names, ", ")
		known := k.known(name)
		if known.Print == print && !known.Kept {
			continue
		}
		k.prints[name] = print
		watched := fmt.Sprintf("nb_.Watched(%q, %q, %q", name, print, refused)
		for _, other := range depends {
			watched += ", " + other
		}
		watched += ")"
		before, after := "nb_.First("+watched+", ", ")"
		if v.declared != "" {
			before = "nb_.First[" + v.declared + "](" + watched + ", "
		}
		if known.Print == print {
			maps.Copy(imports, known.Imports)
			before, after = "nb_.Kept("+watched+", func() "+known.Type+" { return ", " })"
		}
		if n := len(v.names); n > 1 {
			before += map[int]string{2: "nb_.Two(", 3: "nb_.Three("}[n]
			after = ")" + after + ".Values()"
		}
		insertions = append(insertions, insertion{p.offset(v.value.Pos()), before}, insertion{p.offset(v.value.End()), after})
	}
	if len(insertions) == 0 {
		return none
	}
	for _, spec := range file.Imports {
		if spec.Name != nil {
			delete(imports, spec.Name.Name)
		}
	}
	header := ""
	for _, alias := range slices.Sorted(maps.Keys(imports)) {
		header += fmt.Sprintf("; import %s %q", alias, imports[alias])
	}
	insertions = append(insertions, insertion{p.offset(file.Name.End()), header})
	slices.SortStableFunc(insertions, func(a, b insertion) int { return a.at - b.at })
	var out []byte
	done := 0
	for _, i := range insertions {
		out = append(append(out, src[done:i.at]...), i.text...)
		done = i.at
	}
	out = append(out, src[done:]...)

	overlay, _ := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Base(program): "kept/program"}})
	if os.MkdirAll(k.folder, 0o700) != nil || os.WriteFile(filepath.Join(k.folder, "program"), out, 0o600) != nil ||
		os.WriteFile(filepath.Join(k.folder, "overlay.json"), overlay, 0o600) != nil {
		return none
	}
	k.Overlay = "-overlay=" + filepath.Join(k.folder, "overlay.json")
	return k
}

// Leave notes that the variables are to be left alone as long as their source is the same: the program that keeps them
// was not compiled, the original was.
func (k *Kept) Leave() {
	for name, print := range k.prints {
		if text, err := json.Marshal(remembered{Print: print}); err == nil {
			os.WriteFile(k.file(name), text, 0o600)
		}
	}
}

func (k *Kept) file(name string) string {
	sum := sha256.Sum256([]byte(name))
	return filepath.Join(k.folder, "variable-"+hex.EncodeToString(sum[:8])+".json")
}

func (k *Kept) known(name string) (known remembered) {
	if text, err := os.ReadFile(k.file(name)); err == nil {
		json.Unmarshal(text, &known)
	}
	return known
}

// state stands for what is outside of a notebook and decides what its variables are: the sources of the modules, what lies
// in the folders of their packages and below, for it may be embedded, and the environment of the library.
func (w *Workspace) state() string {
	hash := sha256.New()
	for _, root := range w.roots {
		packages := map[string]bool{}
		filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			name := d.Name()
			if !d.IsDir() {
				inside := packages[filepath.Dir(file)] && filepath.Ext(name) != ".ipynb" // which is saved all the time
				if info, err := d.Info(); err == nil && (inside || source.MatchString(name)) {
					fmt.Fprintln(hash, file, info.Size(), info.ModTime().UnixNano())
				}
				return nil
			}
			_, kernel := os.Stat(filepath.Join(file, lockName))
			if file != root && (strings.HasPrefix(name, ".") || kernel == nil) { // a kernel's folder, where TMPDIR is within
				return fs.SkipDir
			}
			sources, _ := filepath.Glob(filepath.Join(file, "*.go"))
			if file == root { // where notebooks write to, maybe: it counts if something is embedded there
				sources = slices.DeleteFunc(sources, func(s string) bool {
					text, _ := os.ReadFile(s)
					return !bytes.Contains(text, []byte("//go:embed"))
				})
			}
			packages[file] = packages[filepath.Dir(file)] || len(sources) > 0
			return nil
		})
	}
	for _, e := range os.Environ() {
		if strings.HasPrefix(e, "ANATOMY_") || strings.HasPrefix(e, "GOMLX_") || strings.HasPrefix(e, "XLA_") {
			fmt.Fprintln(hash, e)
		}
	}
	return hex.EncodeToString(hash.Sum(nil))
}

var source = regexp.MustCompile(`^go\.(mod|sum)$|\.([chsS]|go|cc|cpp)$`)

// sources knows which declarations of a program depend on which.
type sources struct {
	set      *token.FileSet
	file     *ast.File
	src      []byte
	imported map[string]string        // name of a package in the program → its path
	dotted   []string                 // paths of packages whose names the program has as its own
	declared map[*ast.Object]ast.Node // what an identifier at the top level is
	methods  map[string][]ast.Node    // type → its methods
}

// variable is one top-level variable, or several that are the results of one call.
type variable struct {
	names    []string
	declared string // type, or ""
	value    ast.Expr
	spec     *ast.ValueSpec
}

func newSources(set *token.FileSet, file *ast.File, src []byte) *sources {
	p := &sources{set, file, src, map[string]string{}, nil, map[*ast.Object]ast.Node{}, map[string][]ast.Node{}}
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		name := Base(path)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if name == "." {
			p.dotted = append(p.dotted, path)
		}
		p.imported[name] = path
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				p.declared[d.Name.Obj] = d
				continue
			}
			ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					p.methods[id.Name] = append(p.methods[id.Name], d)
				}
				return true
			})
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.ValueSpec:
					for _, name := range s.Names {
						if d.Tok == token.CONST { // iota and repeated values
							p.declared[name.Obj] = d
						} else {
							p.declared[name.Obj] = s
						}
					}
				case *ast.TypeSpec:
					p.declared[s.Name.Obj] = s
				}
			}
		}
	}
	delete(p.declared, nil)
	return p
}

func (p *sources) offset(pos token.Pos) int { return p.set.Position(pos).Offset }

func (p *sources) text(n ast.Node) string { return string(p.src[p.offset(n.Pos()):p.offset(n.End())]) }

// variables lists those whose values come of calls.
func (p *sources) variables() (all []variable) {
	for _, d := range p.file.Decls {
		d, ok := d.(*ast.GenDecl)
		if !ok || d.Tok != token.VAR {
			continue
		}
		for _, s := range d.Specs {
			s := s.(*ast.ValueSpec)
			declared := ""
			if s.Type != nil {
				declared = p.text(s.Type)
			}
			names := make([]string, len(s.Names))
			for i, name := range s.Names {
				names[i] = name.Name
			}
			if len(s.Values) == 1 && (len(names) == 2 || len(names) == 3) && s.Type == nil {
				if p.calls(s.Values[0]) {
					all = append(all, variable{names, "", s.Values[0], s})
				}
				continue
			}
			for i, value := range s.Values {
				if len(s.Values) == len(names) && names[i] != "_" && p.calls(value) {
					all = append(all, variable{names[i : i+1], declared, value, s})
				}
			}
		}
	}
	return all
}

// calls says whether computing an expression calls a function that may take time, other than nb.Keep.
func (p *sources) calls(x ast.Expr) bool {
	found := false
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr:
			switch f := ast.Unparen(n.Fun).(type) {
			case *ast.Ident:
				_, own := p.declared[f.Obj].(*ast.FuncDecl)
				_, variable := p.declared[f.Obj].(*ast.ValueSpec)
				found = found || own || variable
			case *ast.SelectorExpr, *ast.FuncLit, *ast.IndexExpr, *ast.IndexListExpr, *ast.CallExpr:
				found = true
			}
		}
		return true
	})
	call, ok := x.(*ast.CallExpr)
	return found && !(ok && p.text(call.Fun) == "nb.Keep")
}

// of returns the source that a variable depends on, why it must be computed each time, or "", and the variables that it
// depends on, as arguments of nb.Watched. It is not ok where they depend on it in turn.
//
// What computes the variables that it depends on may read files: their values are compared. But their methods may not, nor
// the functions that they hold, which no one compares.
func (p *sources) of(v variable) (text, refused string, depends []string, ok bool) {
	start := []ast.Node{v.value}
	if v.spec.Type != nil {
		start = append(start, v.spec.Type)
	}
	nodes, ok := p.reach(v, true, start)
	text = strings.Join(v.names, ", ") + " " + v.declared + " = " + p.text(v.value)
	acting := []ast.Node{v.value}
	var quiet []string
	for _, n := range nodes {
		text += "\n" + p.text(n)
		if s, is := n.(*ast.ValueSpec); is {
			why := p.acts(v, s)
			for _, name := range s.Names {
				if name.Name == "_" || slices.Contains(v.names, name.Name) {
					continue
				}
				if why != "" { // in front: a value that others hold, too, is looked at where it is met first
					depends = append(depends, fmt.Sprintf("nb_.Acting(&%s, %q)", name.Name, why))
				} else {
					quiet = append(quiet, "&"+name.Name)
				}
			}
		} else if f, is := n.(*ast.FuncDecl); is && f.Recv != nil {
			acting = append(acting, f)
		}
	}
	return text, p.acts(v, acting...), append(depends, quiet...), ok
}

// acts says what pieces of source, or the functions that they come to, call that may read or change what is outside of the
// program, or "". Where they read a variable, its value is none of them.
func (p *sources) acts(v variable, pieces ...ast.Node) string {
	called, _ := p.reach(v, false, pieces)
	called = slices.DeleteFunc(called, func(n ast.Node) bool { _, is := n.(*ast.ValueSpec); return is })
	for _, n := range slices.Concat(pieces, called) {
		if why := p.effect(n); why != "" {
			return why
		}
	}
	return ""
}

// reach lists the declarations that nodes name, and those that these name, with the methods of types; where variables are
// computed from, if through. It is not ok if the variable v is among them.
func (p *sources) reach(v variable, through bool, queue []ast.Node) (nodes []ast.Node, ok bool) {
	seen := map[ast.Node]bool{}
	ok = true
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		ast.Inspect(n, func(n ast.Node) bool {
			id, is := n.(*ast.Ident)
			if !is || id.Obj == nil {
				return true
			}
			d := p.declared[id.Obj]
			if d == nil || seen[d] {
				return true
			}
			if d == v.spec && slices.Contains(v.names, id.Name) {
				ok = false
				return true
			}
			seen[d] = true
			nodes = append(nodes, d)
			if _, is := d.(*ast.ValueSpec); !is || through {
				queue = append(queue, d)
			}
			if _, is := d.(*ast.TypeSpec); is {
				for _, m := range p.methods[id.Name] {
					nodes, queue = append(nodes, m), append(queue, m)
				}
			}
			return true
		})
	}
	return nodes, ok
}

// effects are functions of the standard library, by package, that read what the source does not tell or do more than
// return a value.
var effects = map[string]*regexp.Regexp{
	"time":         regexp.MustCompile(`^(Now|Since|Until|After|AfterFunc|Tick|New.*)$`),
	"fmt":          regexp.MustCompile(`^(Print|Fprint|Scan|Fscan)`),
	"math/rand":    regexp.MustCompile(`^([^NR]|Norm|Read)`), // all but New, NewSource, Rand, …
	"math/rand/v2": regexp.MustCompile(`^([^NPRC]|N$|Norm|Perm)`),
	"runtime":      regexp.MustCompile(`.`),
	"testing":      regexp.MustCompile(`.`),
	"unsafe":       regexp.MustCompile(`.`),
	"flag":         regexp.MustCompile(`.`),
	"log":          regexp.MustCompile(`.`),
	"C":            regexp.MustCompile(`.`),
	displayPath:    regexp.MustCompile(`^[^M]`), // all but Must
}

// outside are packages that are all about files, networks and processes.
var outside = regexp.MustCompile(`^(os|io|net|bufio|syscall|crypto/rand|embed|runtime|log|github\.com/janpfeifer/gonb)(/|$)`)

// reading are names of functions and methods that look as if they read or wrote files, or showed something.
var reading = regexp.MustCompile(`^(Read|Open|Load|Glob|Walk|Save|Write|Create|Remove|Show|Print|Display|Download|Fetch|Exec$|Getenv)`)

// effect names what a piece of source calls that may read or change what is outside of the program, or "".
func (p *sources) effect(n ast.Node) (refused string) {
	look := func(shown, name string, paths ...string) {
		bad := reading.MatchString(name)
		for _, path := range paths {
			e := effects[path]
			bad = bad || outside.MatchString(path) || e != nil && e.MatchString(name)
		}
		if bad && refused == "" {
			refused = shown + " may read, write or show what is outside of the program; nb.Keep keeps it all the same"
		}
	}
	var visit func(n ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			from, ok := n.X.(*ast.Ident)
			if ok && from.Obj == nil {
				look(from.Name+"."+n.Sel.Name, n.Sel.Name, p.imported[from.Name])
			} else {
				look(n.Sel.Name, n.Sel.Name)
				ast.Inspect(n.X, visit)
			}
			return false
		case *ast.Ident:
			if len(p.dotted) > 0 && n.Obj == nil && n.IsExported() {
				look(n.Name, n.Name, p.dotted...)
			}
		}
		return true
	}
	ast.Inspect(n, visit)
	return refused
}
