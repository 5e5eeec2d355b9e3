package notebooks

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestExportsAreUsed finds exported names of the library that nobody uses outside of their packages: no other package, no command, no code cell of a
// notebook and no recipe. Prose, tests and what only measures are no users. A method that an interface asks for has one, and so has a type that
// a used function takes or returns.
func TestExportsAreUsed(t *testing.T) {
	m := load(t)
	found := 0
	for _, o := range m.exports() {
		found++
		path, name := short(o.Pkg().Path()), called(o)
		open := slices.Contains(kept[path], name)
		switch used := m.used[o] || measured[path+"."+name]; {
		case !used && !open:
			t.Errorf("%s: %s.%s has no user outside of its package but tests and what measures: show it in a lesson or a recipe, make it unexported, or remove it",
				m.set.Position(o.Pos()), o.Pkg().Name(), name)
		case used && open:
			t.Errorf("%s.%s has a user: take it from the list kept", path, name)
		}
	}
	if found < 500 {
		t.Errorf("found %d exported names, want at least 500: does the search still find them?", found)
	}
	t.Logf("%d exported names; in cells %d selectors whose types are not known", found, m.loose)
}

// kept are names without a user, by package, that belong to what others with a user are part of: the operations of a group, the functions of a
// spectrum, the listings of the paper.
var kept = map[string][]string{
	"geom":        {"GeodesicTransport", "Recentred", "Transport"},
	"geom/guided": {"Prior.Draw"},
	"geom/lie": {
		"Group.AmbientDim", "Group.Hat", "Group.Vee", "Group.Mul", "Group.Inverse", "Group.Exp", "Group.Log", "Group.Coadjoint", "Group.BracketDual",
		"Group.DExp",
	},
	"geom/linalg":                   {"Node", "Spectrum.Exp"},
	"geom/stats":                    {"MeanDistance"},
	"geom/tree":                     {"Ancestors.LogLikelihood"}, // of given rates, against which package guided is tested
	"landmarks":                     {"Flow.TransformFramesOnGraph", "JetSpace.Split"},
	"landmarks/morpho/shapestats":   {"Integration.At"},
	"landmarks/morpho/supplement":   {"Document.Tables", "Document.Figures"},
	"landmarks/surfaces/population": {"Regression.At"},
}

// measured are names for what measures alone: they lie where what they measure is.
var measured = map[string]bool{"kernels.Gridded.Flops": true}

// measuring are folders of programs that measure, and of helpers of tests.
var measuring = regexp.MustCompile(`^` + modulePath + `(notebooks/lab/(calibrate|bench|scanned)|geom/geomtest)\b`)

// outside are folders whose exports are not the library's: helpers of tests, of lessons and of one package, and what compiled cells call.
var outside = regexp.MustCompile(`/(geomtest|internal|lab|nb)\b`)

func short(path string) string { return strings.TrimPrefix(path, modulePath) }

// called is the name of an object in its package; of a method with that of its type.
func called(o types.Object) string {
	if f, ok := o.(*types.Func); ok {
		if receiver := f.Signature().Recv(); receiver != nil {
			if n := named(receiver.Type()); n != nil {
				return n.Obj().Name() + "." + o.Name()
			}
		}
	}
	return o.Name()
}

// named is the type that a receiver or field has, without pointers; nil if it has no name.
func named(t types.Type) *types.Named {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	n, _ := types.Unalias(t).(*types.Named)
	if n != nil {
		n = n.Origin()
	}
	return n
}

// module is the type-checked module with what uses what.
type module struct {
	set        *token.FileSet
	own        map[string]*types.Package
	rest       types.Importer // of other modules, from what the compiler wrote
	byName     map[string]string
	used       map[types.Object]bool // outside of its package
	interfaces []*types.Interface
	loose      int
}

func (m *module) Import(path string) (*types.Package, error) {
	if p := m.own[path]; p != nil {
		return p, nil
	}
	return m.rest.Import(path)
}

// load checks the packages of the module, its notebooks and its recipes.
func load(t *testing.T) *module {
	list := exec.Command("go", "list", "-export", "-deps", "-compiled", "-json=ImportPath,Name,Dir,CompiledGoFiles,Export,Module", "./...")
	list.Dir, list.Stderr = "..", os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	m := &module{set: token.NewFileSet(), own: map[string]*types.Package{}, byName: map[string]string{}, used: map[types.Object]bool{}}
	exports := map[string]string{}
	m.rest = importer.ForCompiler(m.set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath, Name, Dir, Export string
			CompiledGoFiles               []string
			Module                        *struct{ Main bool }
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if _, taken := m.byName[p.Name]; !taken || p.Module != nil && p.Module.Main || !strings.ContainsAny(p.ImportPath, "/.") {
			m.byName[p.Name] = p.ImportPath
		}
		if p.Module == nil || !p.Module.Main { // packages come after those that they import
			exports[p.ImportPath] = p.Export
			continue
		}
		var files []*ast.File
		for _, path := range p.CompiledGoFiles {
			if !filepath.IsAbs(path) { // else it is what cgo made
				path = filepath.Join(p.Dir, path)
			}
			files = append(files, m.parse(t, path, nil))
		}
		m.own[p.ImportPath] = m.check(p.ImportPath, files, func(err error) { t.Error(err) })
	}
	recipes, err := filepath.Glob("recipes/*_test.go")
	if err != nil || recipes == nil {
		t.Fatal("no recipes: ", err)
	}
	var files []*ast.File
	for _, path := range recipes {
		files = append(files, m.parse(t, path, nil))
	}
	m.check("recipes", files, func(err error) { t.Error(err) })
	for _, path := range notebooks(t) {
		m.check(path, []*ast.File{m.parse(t, path, m.program(t, path))}, func(error) {})
	}
	m.spread()
	return m
}

func (m *module) parse(t *testing.T, path string, source any) *ast.File {
	file, err := parser.ParseFile(m.set, path, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// check finds the types of a package, and notes what it uses of others.
func (m *module) check(path string, files []*ast.File, report func(error)) *types.Package {
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	config := types.Config{Importer: m, Error: report}
	p, _ := config.Check(path, m.set, files, info)
	use := func(o types.Object) {
		switch x := o.(type) {
		case *types.Func:
			o = x.Origin()
		case *types.Var:
			o = x.Origin()
		}
		if o != nil && o.Pkg() != p && !measuring.MatchString(path) {
			m.used[o] = true
		}
	}
	for _, o := range info.Uses {
		use(o)
	}
	for _, s := range info.Selections { // whoever uses a field uses its type
		if n := named(s.Recv()); n != nil {
			use(n.Obj())
		}
	}
	for e, t := range info.Types {
		if _, ok := e.(*ast.InterfaceType); ok {
			m.interfaces = append(m.interfaces, t.Type.Underlying().(*types.Interface))
		}
	}
	for _, other := range p.Imports() {
		for _, name := range other.Scope().Names() {
			if i, ok := other.Scope().Lookup(name).Type().Underlying().(*types.Interface); ok {
				m.interfaces = append(m.interfaces, i)
			}
		}
	}
	if !strings.HasSuffix(path, ".ipynb") {
		return p
	}
	// A variable of a cell may have got another type: then all that is called so counts.
	names := map[string]bool{}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && info.Selections[s] == nil && info.Uses[s.Sel] == nil {
				names[s.Sel.Name] = true
				m.loose++
			}
			return true
		})
	}
	for _, o := range m.exports() {
		if names[o.Name()] {
			m.used[o] = true
		}
	}
	return p
}

// exports are the exported names of the library, in an order.
func (m *module) exports() (out []types.Object) {
	for _, path := range slices.Sorted(maps.Keys(m.own)) {
		p := m.own[path]
		if p.Name() == "main" || outside.MatchString(path) {
			continue
		}
		for _, name := range p.Scope().Names() {
			o := p.Scope().Lookup(name)
			if !o.Exported() {
				continue
			}
			out = append(out, o)
			if n, ok := o.Type().(*types.Named); ok && n.Obj() == o {
				for i := range n.NumMethods() {
					if n.Method(i).Exported() {
						out = append(out, n.Method(i))
					}
				}
			}
		}
	}
	return out
}

// spread takes methods of interfaces for used, and what used names are made of.
func (m *module) spread() {
	exports := m.exports()
	seen := map[types.Type]bool{}
	var mark func(t types.Type)
	mark = func(t types.Type) {
		if seen[t] {
			return
		}
		seen[t] = true
		switch t := types.Unalias(t).(type) {
		case *types.Named:
			m.used[t.Origin().Obj()] = true
			for i := range t.TypeArgs().Len() {
				mark(t.TypeArgs().At(i))
			}
			mark(t.Underlying())
		case *types.Struct:
			for f := range t.Fields() {
				if f.Exported() {
					mark(f.Type())
				}
			}
		case *types.Signature:
			mark(t.Params())
			mark(t.Results())
		case *types.Tuple:
			for v := range t.Variables() {
				mark(v.Type())
			}
		case *types.Map:
			mark(t.Key())
			mark(t.Elem())
		case interface{ Elem() types.Type }: // pointers, slices, arrays, channels
			mark(t.Elem())
		case *types.Interface:
			for f := range t.Methods() {
				mark(f.Type())
			}
		}
	}
	for _, o := range exports {
		if f, ok := o.(*types.Func); ok && f.Signature().Recv() != nil && m.asked(f) {
			m.used[o] = true
		}
	}
	for _, o := range exports { // whoever has the methods of an interface uses it
		if i, ok := o.Type().Underlying().(*types.Interface); ok && m.implemented(o.Pkg(), i) {
			m.used[o] = true
		}
	}
	for _, o := range exports {
		if m.used[o] {
			mark(o.Type())
		}
	}
	for _, o := range exports { // a value of an enumeration
		if c, ok := o.(*types.Const); ok {
			if n := named(c.Type()); n != nil && m.used[n.Obj()] {
				m.used[o] = true
			}
		}
	}
}

// implemented says whether a type of another package has the methods of an interface.
func (m *module) implemented(of *types.Package, i *types.Interface) bool {
	for _, p := range m.own {
		for _, name := range p.Scope().Names() {
			if t, ok := p.Scope().Lookup(name).(*types.TypeName); ok && p != of && i.NumMethods() > 0 && !types.IsInterface(t.Type()) && (types.Implements(t.Type(), i) || types.Implements(types.NewPointer(t.Type()), i)) {
				return true
			}
		}
	}
	return false
}

// asked says whether an interface asks for a method: it is called through it.
func (m *module) asked(f *types.Func) bool {
	if slices.Contains([]string{"Is", "As", "Unwrap", "Err"}, f.Name()) { // of package errors; and Err, which every result with a status has
		return true
	}
	n := named(f.Signature().Recv().Type())
	return slices.ContainsFunc(m.interfaces, func(i *types.Interface) bool {
		for k := range i.NumMethods() {
			if i.Method(k).Name() == f.Name() {
				return n.TypeParams().Len() > 0 || types.Implements(n, i) || types.Implements(types.NewPointer(n), i)
			}
		}
		return false
	})
}

var (
	quoted    = regexp.MustCompile(`"([^"]+)"`)
	defines   = regexp.MustCompile(`^(?:\s|//.*\n)*([A-Za-z_]\w*(?:\s*,\s*[A-Za-z_]\w*)*)\s*:=`)
	qualified = regexp.MustCompile(`\b([a-z]\w*)\.[A-Z]`)
)

// program makes a Go file of the code cells of a notebook: what they declare, the variables that they define, and their statements.
func (m *module) program(t *testing.T, path string) string {
	var notebook struct {
		Cells []struct {
			Kind   string `json:"cell_type"`
			Source []string
		}
	}
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &notebook)
	}
	if err != nil {
		t.Fatal(path, err)
	}
	var imports, body strings.Builder
	known := map[string]bool{}
	for _, c := range notebook.Cells {
		if c.Kind != "code" {
			continue
		}
		var statements strings.Builder
		for _, piece := range pieces(regexp.MustCompile(`(?m)^[%!].*$`).ReplaceAllString(strings.Join(c.Source, ""), "")) {
			switch piece.first {
			case token.IMPORT:
				imports.WriteString(piece.text)
				for _, path := range quoted.FindAllStringSubmatch(piece.text, -1) {
					known[filepath.Base(path[1])] = true
				}
				continue
			case token.FUNC, token.TYPE, token.VAR, token.CONST:
				body.WriteString(piece.text)
				continue
			}
			statements.WriteString(piece.text)
			if found := defines.FindStringSubmatchIndex(piece.text); found != nil {
				names := strings.Split(piece.text[found[2]:found[3]], ",")
				for i, name := range names {
					if name = strings.TrimSpace(name); known["var "+name] {
						names[i] = "_"
					}
					known["var "+name] = true
				}
				fmt.Fprintf(&body, "var %s = %s\n", strings.Join(names, ","), strings.TrimLeft(piece.text[found[1]:], " "))
			}
		}
		fmt.Fprintf(&body, "\nfunc _() {\n%s\n}\n", statements.String())
	}
	for _, q := range qualified.FindAllStringSubmatch(body.String(), -1) {
		if path := m.byName[q[1]]; path != "" && !known[q[1]] && !known["var "+q[1]] {
			known[q[1]] = true
			fmt.Fprintf(&imports, "import %q\n", path)
		}
	}
	return "package cells\n" + imports.String() + body.String()
}

// piece is a declaration or a statement.
type piece struct {
	first token.Token
	text  string
}

// pieces are those of a text.
func pieces(text string) (out []piece) {
	set := token.NewFileSet()
	file := set.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), func(token.Position, string) {}, 0)
	depth, start, first := 0, 0, token.ILLEGAL
	for {
		pos, tok, _ := s.Scan()
		switch tok {
		case token.LPAREN, token.LBRACK, token.LBRACE:
			depth++
		case token.RPAREN, token.RBRACK, token.RBRACE:
			depth--
		}
		if first == token.ILLEGAL {
			first = tok
		}
		if tok == token.EOF || tok == token.SEMICOLON && depth == 0 {
			end := min(file.Offset(pos)+1, len(text))
			out = append(out, piece{first, text[start:end]})
			start, first = end, token.ILLEGAL
		}
		if tok == token.EOF {
			return out
		}
	}
}
