package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/build"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/printer"
	"go/token"
	"html"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"anatomy/geom/try"
	"anatomy/internal/lists"
)

// reference is the documentation of the packages of this module.
type reference struct {
	page  strings.Builder   // HTML; each exported name has its place, "landmarks.Space.Log", and a package its name and its path
	names map[string]string // their declarations on one line, by the names of these places
	about map[string]string // the first sentences of their comments
}

func documentation() (_ *reference, err error) {
	defer try.Catch(&err)
	r := &reference{names: map[string]string{}, about: map[string]string{}}
	// With -e programs that do not compile yet are listed, too, and passed over below.
	list := exec.Command("go", "list", "-e", "-f", "{{.Name}}\t{{.ImportPath}}\t{{.Dir}}",
		"anatomy/"+"...") // internal/rename.py finds a path that ends so
	list.Stderr = os.Stderr
	for line := range strings.Lines(string(try.Get(list.Output()))) {
		field := strings.Split(strings.TrimSpace(line), "\t")
		if field[0] != "main" && !inside(field[1]) {
			r.add(field[1], field[2])
		}
	}
	return r, nil
}

// MarshalJSON writes what reports need.
func (r *reference) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"page": r.page.String(), "names": r.names})
}

// find lists the names that have all words in them, in their declarations or in the first sentences of their comments, as Markdown. Those
// that have the first word in their own name come first.
func find(words []string) (string, error) {
	r, err := documentation()
	if err != nil || len(words) == 0 {
		return "", err
	}
	has := func(text, word string) bool { return strings.Contains(strings.ToLower(text), strings.ToLower(word)) }
	lines := map[bool]string{} // by whether the first word is in the name
	for _, name := range slices.Sorted(maps.Keys(r.names)) {
		if all := name + " " + r.names[name] + " " + r.about[name]; !slices.ContainsFunc(words, func(w string) bool { return !has(all, w) }) {
			lines[has(name, words[0])] += fmt.Sprintf("- `%s` %s\n", name, r.about[name])
		}
	}
	return lines[true] + lines[false], nil
}

// inside reports whether a package is of no use to others: what tests share, what computes in C for another package, what simulates for a
// calibration.
func inside(importPath string) bool {
	for name := range strings.SplitSeq(importPath, "/") {
		if strings.HasSuffix(name, "test") || slices.Contains([]string{"internal", "native", "recovery", "trusted", "try", "watch"}, name) {
			return true
		}
	}
	return false
}

// documented reads the package in a folder; nil where there are only tests.
func documented(set *token.FileSet, importPath, dir string) *doc.Package {
	b := try.Get(build.ImportDir(dir, 0))
	files := lists.Each(slices.Concat(b.GoFiles, b.CgoFiles), func(name string) *ast.File {
		return try.Get(parser.ParseFile(set, filepath.Join(dir, name), nil, parser.ParseComments))
	})
	if len(files) == 0 {
		return nil
	}
	return try.Get(doc.NewFromFiles(set, files, importPath))
}

// linked is the place of a name: on the page, if it is of this module, else where Go documents it.
func linked(pkg *doc.Package, l *comment.DocLink) string {
	parts := []string{pkg.Name, l.Recv, l.Name}
	if l.ImportPath != "" {
		if !strings.HasPrefix(l.ImportPath, "anatomy/") {
			return l.DefaultURL("https://pkg.go.dev/")
		}
		parts[0] = path.Base(l.ImportPath)
	}
	return "#" + strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ".")
}

// add writes the documentation of the package in a folder.
func (r *reference) add(importPath, dir string) {
	set := token.NewFileSet()
	pkg := documented(set, importPath, dir)
	if pkg == nil {
		return
	}
	p := pkg.Printer()
	p.HeadingLevel, p.HeadingID = 4, func(*comment.Heading) string { return "" }
	p.DocLinkURL = func(l *comment.DocLink) string { return linked(pkg, l) }
	text := func(s string) { r.page.Write(p.HTML(pkg.Parser().Parse(s))) }
	source := func(n ast.Node) string {
		var out strings.Builder
		(&printer.Config{Mode: printer.UseSpaces | printer.TabIndent, Tabwidth: 4}).Fprint(&out, set, n)
		return out.String()
	}
	entry := func(level int, name, declaration, about string) {
		r.names[name] = strings.Join(strings.Fields(strings.SplitN(declaration, "\n", 2)[0]), " ")
		r.about[name] = pkg.Synopsis(about)
		fmt.Fprintf(&r.page, "<h%d id=\"%s\">%s</h%d>\n<pre><code>%s</code></pre>\n", level, name, name, level, html.EscapeString(declaration))
		text(about)
	}
	values := func(list []*doc.Value) {
		for _, v := range list {
			for _, name := range v.Names {
				if ast.IsExported(name) {
					r.names[pkg.Name+"."+name] = v.Decl.Tok.String() + " " + name
					fmt.Fprintf(&r.page, "<span id=\"%s.%s\"></span>", pkg.Name, name)
				}
			}
			fmt.Fprintf(&r.page, "<pre><code>%s</code></pre>\n", html.EscapeString(source(v.Decl)))
			text(v.Doc)
		}
	}
	functions := func(level int, of string, list []*doc.Func) {
		for _, f := range list {
			f.Decl.Body = nil
			entry(level, pkg.Name+"."+of+f.Name, source(f.Decl), f.Doc)
		}
	}
	r.names[pkg.Name] = "package " + importPath
	_, within, _ := strings.Cut(importPath, "/") // two packages may have one name
	fmt.Fprintf(&r.page, "<h2 id=\"%s\">%s</h2>\n", within, within)
	if within != pkg.Name {
		fmt.Fprintf(&r.page, "<span id=\"%s\"></span>", pkg.Name)
	}
	fmt.Fprintf(&r.page, "<p><code>import \"%s\"</code></p>\n", importPath)
	text(pkg.Doc)
	values(pkg.Consts)
	values(pkg.Vars)
	functions(3, "", pkg.Funcs)
	for _, t := range pkg.Types {
		entry(3, pkg.Name+"."+t.Name, source(t.Decl), t.Doc)
		values(t.Consts)
		values(t.Vars)
		functions(3, "", t.Funcs)
		functions(4, t.Name+".", t.Methods)
	}
}
