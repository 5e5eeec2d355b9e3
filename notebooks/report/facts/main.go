// Facts prints what the code cells of notebooks say of themselves, for the runner of the reports: facts NOTEBOOK...
//
// The answer is a list in JSON with one entry a notebook, in their order:
//
//	readers   of the calls nb.Data(standard, reader), as written: "morpho.Read"
//	params    the names of the calls nb.Param("name", standard)
//	seeds     of the random numbers: "PCG(1, 2)", "seed 7"
//	data      whether they use the package landmarks, and so maybe its data sets
//	cells     one entry a code cell: how many things its main function shows in any case, and whether it prints
//
// A cell that is no Go has no facts: it fails when it is executed.
package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
)

type facts struct {
	Readers []string `json:"readers"`
	Params  []string `json:"params"`
	Seeds   []string `json:"seeds"`
	Data    bool     `json:"data"`
	Cells   []cell   `json:"cells"`
}

type cell struct {
	Shows  int  `json:"shows"`
	Prints bool `json:"prints"`
}

// source is the text of a cell: Jupyter writes a string or a list of its lines.
type source string

func (s *source) UnmarshalJSON(data []byte) error {
	var lines []string
	if json.Unmarshal(data, &lines) == nil {
		*s = source(strings.Join(lines, ""))
		return nil
	}
	return json.Unmarshal(data, (*string)(s))
}

func main() {
	all := []facts{}
	for _, path := range os.Args[1:] {
		f, err := read(path)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", path, err)
			os.Exit(1)
		}
		all = append(all, f)
	}
	if err := json.NewEncoder(os.Stdout).Encode(all); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func read(path string) (facts, error) {
	f := facts{Readers: []string{}, Params: []string{}, Seeds: []string{}, Cells: []cell{}}
	data, err := os.ReadFile(path)
	if err != nil {
		return f, err
	}
	var notebook struct {
		Cells []struct {
			Kind   string `json:"cell_type"`
			Source source `json:"source"`
		} `json:"cells"`
	}
	if err := json.Unmarshal(data, &notebook); err != nil {
		return f, err
	}
	for _, c := range notebook.Cells {
		if c.Kind == "code" {
			f.Cells = append(f.Cells, f.add(string(c.Source)))
		}
	}
	return f, nil
}

// add takes up what a cell says.
func (f *facts) add(text string) cell {
	file, err := parser.ParseFile(token.NewFileSet(), "", program(text), parser.SkipObjectResolution)
	if err != nil {
		return cell{}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			switch name, args := called(n), n.Args; {
			case name == "nb.Data" && len(args) == 2:
				add(&f.Readers, written(args[1]))
			case name == "nb.Param" && len(args) == 2:
				if s, ok := args[0].(*ast.BasicLit); ok {
					if s, err := strconv.Unquote(s.Value); err == nil {
						add(&f.Params, s)
					}
				}
			case name == "rand.NewPCG" && len(args) == 2:
				add(&f.Seeds, "PCG("+written(args[0])+", "+written(args[1])+")")
			}
		case *ast.SelectorExpr:
			f.Data = f.Data || written(n.X) == "morpho"
		case *ast.KeyValueExpr:
			if written(n.Key) == "Seed" {
				add(&f.Seeds, "seed "+written(n.Value))
			}
		}
		return true
	})
	var c cell
	for _, d := range file.Decls {
		main, ok := d.(*ast.FuncDecl)
		if !ok || main.Name.Name != "main" {
			continue
		}
		for _, s := range main.Body.List {
			if s, ok := s.(*ast.ExprStmt); ok {
				if call, ok := s.X.(*ast.CallExpr); ok {
					switch name := called(call); name {
					case "viz.Show", "nb.Check", "nb.True", "nb.Printf":
						c.Shows++
					case "fmt.Print", "fmt.Printf", "fmt.Println":
						c.Prints = true
					}
				}
			}
		}
	}
	return c
}

// program makes a Go file of a cell: what stands below %% is its main function, or without %% what is no declaration; lines
// for the kernel or the shell are not Go.
func program(text string) string {
	var above, below strings.Builder
	out := &above
	for line := range strings.Lines(text) {
		switch word := strings.TrimSpace(line); {
		case word == "%%" || word == "%main":
			out = &below
		case strings.HasPrefix(word, "%"), strings.HasPrefix(word, "!"):
		default:
			out.WriteString(line)
		}
	}
	declarations, statements := above.String(), below.String()
	if out == &above {
		declarations, statements = split(declarations)
	}
	return "package main\n" + declarations + "\nfunc main() {\n" + statements + "\n}\n"
}

// split parts the declarations of a piece of Go from its statements.
func split(text string) (declarations, statements string) {
	set := token.NewFileSet()
	file := set.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), func(token.Position, string) {}, 0)
	depth, start, first := 0, 0, token.ILLEGAL // of what is being read
	for {
		pos, tok, _ := s.Scan()
		end := min(file.Offset(pos)+1, len(text))
		switch tok {
		case token.LPAREN, token.LBRACK, token.LBRACE:
			depth++
		case token.RPAREN, token.RBRACK, token.RBRACE:
			depth--
		}
		if first == token.ILLEGAL && tok != token.SEMICOLON {
			first = tok
		}
		if tok == token.EOF || tok == token.SEMICOLON && depth == 0 {
			switch first {
			case token.FUNC, token.TYPE, token.VAR, token.CONST, token.IMPORT:
				declarations += text[start:end]
			default:
				statements += text[start:end]
			}
			start, first = end, token.ILLEGAL
		}
		if tok == token.EOF {
			return declarations, statements
		}
	}
}

// called is the name of a called function of a package, "" of others.
func called(call *ast.CallExpr) string {
	if s, ok := call.Fun.(*ast.SelectorExpr); ok {
		return written(s)
	}
	return ""
}

// written is a short expression as it stands in the source: a number, a name, a selector.
func written(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Value
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		if x := written(e.X); x != "" {
			return x + "." + e.Sel.Name
		}
	}
	return ""
}

func add(list *[]string, item string) {
	if !slices.Contains(*list, item) {
		*list = append(*list, item)
	}
}
