package notebooks

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"anatomy"
)

// texts returns every page of the project, and the prose of its notebooks, by path from the project's folder.
func texts(t *testing.T) map[string]string {
	found := map[string]string{}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != ".." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "reports"):
			return filepath.SkipDir
		case strings.HasSuffix(path, ".md"):
			data, err := os.ReadFile(path)
			found[path] = string(data)
			return err
		case strings.HasSuffix(path, ".ipynb"):
			var prose strings.Builder
			for _, cell := range cells(t, path) {
				if cell.Type == "markdown" {
					prose.WriteString(strings.Join(cell.Source, "") + "\n\n")
				}
			}
			found[path] = prose.String()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// notebooks returns the paths of the lessons and of the templates.
func notebooks(t *testing.T) []string {
	t.Helper()
	lessons, _ := filepath.Glob("*.ipynb")
	templates, _ := filepath.Glob("templates/*.ipynb")
	if len(lessons) < 20 || len(templates) < 4 {
		t.Fatalf("%d lessons and %d templates", len(lessons), len(templates))
	}
	return append(lessons, templates...)
}

// cell is one cell of a notebook.
type cell struct {
	Type     string `json:"cell_type"`
	ID       string
	Source   []string
	Metadata struct{ Tags []string }
}

// cells returns the cells of a notebook.
func cells(t *testing.T, path string) []cell {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var notebook struct{ Cells []cell }
	if err := json.Unmarshal(data, &notebook); err != nil {
		t.Fatal(err)
	}
	return notebook.Cells
}

// anchor is the fragment by which a browser finds a heading.
func anchor(heading string) string {
	kept := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(heading), "")
	return strings.ReplaceAll(kept, " ", "-")
}

var code = regexp.MustCompile("`([^`\n]+)`")

// TestCaptions: a colour of a light page is another one on a dark page.
func TestCaptions(t *testing.T) {
	caption := regexp.MustCompile(`(?m)^\*\*Figure\.\*\*.*`)
	colour := regexp.MustCompile(`(?i)\b(black|white|gr[ae]y|light|dark|blue|red|green|orange|yellow|purple|pink)\b`)
	captions := 0
	for page, text := range texts(t) {
		for _, c := range caption.FindAllString(text, -1) {
			captions++
			if found := colour.FindString(c); found != "" {
				t.Errorf("%s: a caption names the colour %s: name what is drawn by its form or its entry in the legend: %s", page, found, c)
			}
		}
	}
	if captions < 100 {
		t.Errorf("%d captions", captions)
	}
}

// TestLinks follows each relative link of the texts, and its anchor in a page.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading := regexp.MustCompile(`(?m)^#+ (.*)$`)
	pages := texts(t)
	links := 0
	for page, text := range pages {
		for _, match := range link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
			target, fragment, _ := strings.Cut(match[1], "#")
			if strings.Contains(target, ":") || strings.HasPrefix(target, "attachment") {
				continue
			}
			links++
			file := page
			if target != "" {
				file = filepath.Join(filepath.Dir(page), target)
			}
			if strings.HasPrefix(target, "reports/") { // made by `make report`
				continue
			}
			// Reports lie beside each other, where links between notebooks name the HTML.
			if name, ok := strings.CutSuffix(file, ".html"); ok {
				file = name + ".ipynb"
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s links to %s, which does not exist", page, match[1])
				continue
			}
			if fragment == "" || !strings.HasSuffix(file, ".md") {
				continue
			}
			known := false
			for _, h := range heading.FindAllStringSubmatch(pages[file], -1) {
				known = known || anchor(h[1]) == fragment
			}
			if !known {
				t.Errorf("%s links to %s, but %s has no such heading", page, match[1], file)
			}
		}
	}
	if links < 50 {
		t.Errorf("found %d links, want at least 50: does the pattern still match?", links)
	}
}

// declared returns the exported names of each package by the package's name: functions, types, and methods and fields as Type.Name.
func declared(t *testing.T) map[string]map[string]bool {
	found := map[string]map[string]bool{}
	set := token.NewFileSet()
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != ".." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go"):
			return nil
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(file.Name.Name, "_test")
		if found[name] == nil {
			found[name] = map[string]bool{}
		}
		declare(file, found[name])
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func declare(file *ast.File, names map[string]bool) {
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			names[d.Name.Name] = true
			if d.Recv != nil {
				names[receiver(d.Recv.List[0].Type)+"."+d.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.ValueSpec:
					for _, n := range s.Names {
						names[n.Name] = true
					}
				case *ast.TypeSpec:
					names[s.Name.Name] = true
					members(s.Name.Name, s.Type, names)
				}
			}
		}
	}
}

// members adds the fields of a structure and the methods of an interface.
func members(name string, of ast.Expr, names map[string]bool) {
	var list *ast.FieldList
	switch d := of.(type) {
	case *ast.StructType:
		list = d.Fields
	case *ast.InterfaceType:
		list = d.Methods
	default:
		return
	}
	for _, field := range list.List {
		for _, n := range field.Names {
			names[n.Name], names[name+"."+n.Name] = true, true
		}
		if len(field.Names) == 0 { // embedded: its members are taken to be there
			names[name+".*"] = true
		}
	}
}

func receiver(of ast.Expr) string {
	switch e := of.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// TestNames looks for each package.Name of the texts, and each Test, Fuzz, Benchmark and Example, among the declarations.
func TestNames(t *testing.T) {
	name := regexp.MustCompile(`\b([a-z]+)\.([A-Z]\w*)(?:\.([A-Z]\w*))?`)
	test := regexp.MustCompile(`^(?:Test|Fuzz|Benchmark|Example)[A-Z]\w*$`)
	packages := declared(t)
	tests := map[string]bool{}
	for _, names := range packages {
		for n := range names {
			tests[n] = true
		}
	}
	names := 0
	for page, text := range texts(t) {
		// In the tables for readers of other libraries the first column has names of theirs.
		if filepath.Base(page) == "coming-from.md" {
			lines := strings.Split(text, "\n")
			for i, line := range lines {
				if cells := strings.Split(line, " | "); strings.HasPrefix(line, "| ") && len(cells) > 1 {
					lines[i] = strings.Join(cells[1:], " | ")
				}
			}
			text = strings.Join(lines, "\n")
		}
		for _, quoted := range code.FindAllStringSubmatch(text, -1) {
			if test.MatchString(quoted[1]) {
				if names++; !tests[quoted[1]] {
					t.Errorf("%s names the test %s, which does not exist", page, quoted[1])
				}
			}
			for _, match := range name.FindAllStringSubmatch(quoted[1], -1) {
				known := packages[match[1]]
				if known == nil {
					continue
				}
				names++
				if !known[match[2]] {
					t.Errorf("%s names %s.%s, which does not exist", page, match[1], match[2])
				} else if match[3] != "" && !known[match[2]+"."+match[3]] && !known[match[2]+".*"] {
					t.Errorf("%s names %s, which does not exist", page, match[0])
				}
			}
		}
	}
	if names < 200 {
		t.Errorf("found %d names, want at least 200: does the pattern still match?", names)
	}
}

// TestCommands looks for each target of make that the texts name, and each folder that they tell Go to run or test.
func TestCommands(t *testing.T) {
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{"HOUSE": true}
	for _, m := range regexp.MustCompile(`(?m)^([a-z-]+):`).FindAllSubmatch(makefile, -1) {
		targets[string(m[1])] = true
	}
	for house := range strings.FieldsSeq(string(regexp.MustCompile(`HOUSES := (.*)`).FindSubmatch(makefile)[1])) {
		targets["test-"+house] = true
	}
	command := regexp.MustCompile("(?m)(?:^|`|&& )make ([a-z][a-z-]*)|go (?:run|test|doc|build) (?:-\\S+ )*\\./([\\w/]+)")
	found := 0
	for page, text := range texts(t) {
		for _, m := range command.FindAllStringSubmatch(text, -1) {
			found++
			if m[1] != "" && !targets[m[1]] && m[1] != "test-" {
				t.Errorf("%s names `make %s`, which the Makefile does not have", page, m[1])
			}
			if _, err := os.Stat(filepath.Join("..", m[2])); err != nil && m[2] != "FOLDER" {
				t.Errorf("%s names the folder %s, which does not exist", page, m[2])
			}
		}
	}
	if found < 50 {
		t.Errorf("found %d commands, want at least 50: does the pattern still match?", found)
	}
}

// TestLengths holds pages to a length that a reader takes in at once.
func TestLengths(t *testing.T) {
	for page, text := range texts(t) {
		most := 200
		switch {
		case page == "../README.md":
			most = 80
		case !strings.HasSuffix(page, ".md") || page == "../notebooks/recipes.md" || page == "../notebooks/coming-from.md": // these are looked up
			continue
		}
		if lines := strings.Count(text, "\n"); lines > most {
			t.Errorf("%s has %d lines, want at most %d: divide it by reader", page, lines, most)
		}
	}
}

// A lesson is read at 200 words and 15 lines of code a minute; solutions of exercises are not counted.
const wordsPerMinute, linesPerMinute = 200.0, 15.0

// TestMinutes measures how long a lesson takes, and compares what its first cell and the table of the course say.
func TestMinutes(t *testing.T) {
	stated := regexp.MustCompile(`\*\*Time\*\* (\d+) minutes`)
	course, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, path := range notebooks(t) {
		lesson := cells(t, path)
		said := stated.FindStringSubmatch(strings.Join(lesson[0].Source, ""))
		if said == nil {
			continue // a template
		}
		found++
		minutes := 0.0
		for _, cell := range lesson {
			text := strings.Join(cell.Source, "")
			switch {
			case slices.Contains(cell.Metadata.Tags, "solution"):
			case cell.Type == "code":
				minutes += float64(len(slices.DeleteFunc(strings.Split(text, "\n"), func(s string) bool { return strings.TrimSpace(s) == "" }))) / linesPerMinute
			default:
				minutes += float64(len(strings.Fields(text))) / wordsPerMinute
			}
		}
		if got, _ := strconv.Atoi(said[1]); math.Abs(float64(got)-minutes) > 3 {
			t.Errorf("%s says %s minutes, and reading it takes %.0f: write **Time** %.0f minutes there and in README.md", path, said[1], minutes, minutes)
		}
		if row := regexp.MustCompile(`(?m)^\|.*\(` + regexp.QuoteMeta(path) + `\).*\| (\d+) \|$`).FindSubmatch(course); row == nil || string(row[1]) != said[1] {
			t.Errorf("%s says %s minutes, and the last column of README.md does not", path, said[1])
		}
	}
	if found < 15 {
		t.Errorf("found %d lessons that state their time, want at least 15", found)
	}
}

// TestCells holds code cells to a length that a reader takes in at once: one idea per cell.
func TestCells(t *testing.T) {
	for _, path := range notebooks(t) {
		for _, cell := range cells(t, path) {
			most := 50
			if slices.Contains(cell.Metadata.Tags, "listing") {
				most = 30
			}
			if lines := len(cell.Source); cell.Type == "code" && lines > most {
				t.Errorf("%s: the cell %s has %d lines, want at most %d: divide it", path, cell.ID, lines, most)
			}
		}
	}
}

// TestVersion compares the version in the pages that name it.
func TestVersion(t *testing.T) {
	for page, want := range map[string]string{
		"../CITATION.cff": "\nversion: " + anatomy.Version + "\n",
		"../CHANGELOG.md": "\n## " + anatomy.Version,
		"../NOTICE.md":    "for version " + anatomy.Version,
		"../README.md":    "version = {" + anatomy.Version + "}",
	} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %q: the version is that of doc.go", page, strings.TrimSpace(want))
		}
	}
}
