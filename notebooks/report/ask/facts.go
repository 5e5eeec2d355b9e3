package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"anatomy/geom/try"
	"anatomy/landmarks/morpho/supplement"
	"anatomy/notebooks/internal/param"
)

// facts are what the code cells of a notebook say of themselves:
//
//	readers   of the calls nb.Data(standard, reader), as written: "morpho.Read"
//	params    what the calls nb.Param("name", standard, allowed...) say, by name: the kind of the parameter, such as "int", if it is
//	          plain, and "file" of nb.File("name"); "answer" or "file" of supplement.Questions, which nb.Answers answers; the allowed values, where all are literals
//	seeds     of the random numbers: "PCG(1, 2)", "seed 7"
//	data      whether they use the package landmarks, and so maybe its data sets
//	cells     one entry a code cell: how many things its main function shows in any case, and whether it prints
//	wrong     the answers among those of the reader that its parameters cannot take, with what is wanted
//
// A cell that is no Go has no facts: it fails when it is executed.
type facts struct {
	Readers []string             `json:"readers"`
	Params  map[string]parameter `json:"params"`
	Seeds   []string             `json:"seeds"`
	Data    bool                 `json:"data"`
	Cells   []cell               `json:"cells"`
	Wrong   []string             `json:"wrong"`
}

// answers are those of whoever asks for reports: Set says values of parameters, and Data whether there are data of his own.
type answers struct {
	Set  map[string]string `json:"set"`
	Data bool              `json:"data"`
}

type parameter struct {
	Kind   string   `json:"kind"`
	Values []string `json:"values"`
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

// factsOf are those of notebooks, in their order, with answers.
func factsOf(paths []string, asked io.Reader) ([]facts, error) {
	all := []facts{}
	err := try.Run(func() {
		var a answers
		try.Do(json.NewDecoder(asked).Decode(&a))
		for _, path := range paths {
			f := read(path)
			f.Wrong = f.refused(a)
			all = append(all, f)
		}
	})
	return all, err
}

// refused are the answers that parameters cannot take. Those that depend on data are looked at where these are read.
func (f facts) refused(a answers) (wrong []string) {
	wrong = []string{}
	for _, name := range slices.Sorted(maps.Keys(a.Set)) {
		p, value, err := f.Params[name], a.Set[name], error(nil)
		question := supplement.Named(name)
		switch {
		case question != nil && question.Step == supplement.ToRead && !a.Data && p.Kind != "":
			err = errors.New("it is about how data are read, and DATA names none")
		case p.Kind == "answer":
			err = question.Set(supplement.Usual(), value)
		case p.Kind != "" && p.Kind != "file":
			if _, err = param.Parse(p.Kind, value); err == nil && len(p.Values) > 0 {
				err = param.Among(value, p.Values)
			}
		}
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("%s=%s: %v", name, value, err))
		}
	}
	return wrong
}

func read(path string) facts {
	f := facts{Readers: []string{}, Params: map[string]parameter{}, Seeds: []string{}, Cells: []cell{}}
	var notebook struct {
		Cells []struct {
			Kind   string `json:"cell_type"`
			Source source `json:"source"`
		} `json:"cells"`
	}
	try.Do(try.Name(json.Unmarshal(try.Get(os.ReadFile(path)), &notebook), "%s", path))
	for _, c := range notebook.Cells {
		if c.Kind == "code" {
			f.Cells = append(f.Cells, f.add(string(c.Source)))
		}
	}
	return f
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
			case name == "nb.Data" && len(args) >= 2:
				add(&f.Readers, types.ExprString(args[1]))
			case name == "nb.Param" && len(args) >= 2:
				if name, ok := literal(args[0]); ok {
					f.Params[name] = declared(n)
				}
			case name == "nb.File" && len(args) == 1:
				if name, ok := literal(args[0]); ok {
					f.Params[name] = parameter{"file", []string{}}
				}
			case name == "nb.Answers":
				for _, i := range supplement.Questions {
					if supplement.Named(i.Name) != nil {
						f.Params[i.Name] = parameter{map[bool]string{true: "file", false: "answer"}[i.Kind == "file"], []string{}}
					}
				}
			case name == "rand.NewPCG" && len(args) == 2:
				add(&f.Seeds, "PCG("+types.ExprString(args[0])+", "+types.ExprString(args[1])+")")
			}
		case *ast.SelectorExpr:
			f.Data = f.Data || types.ExprString(n.X) == "morpho"
		case *ast.KeyValueExpr:
			if types.ExprString(n.Key) == "Seed" {
				add(&f.Seeds, "seed "+types.ExprString(n.Value))
			}
		}
		return true
	})
	var c cell
	for _, s := range file.Decls[0].(*ast.FuncDecl).Body.List {
		if s, ok := s.(*ast.ExprStmt); ok {
			if call, ok := s.X.(*ast.CallExpr); ok {
				switch called(call) {
				case "viz.Show", "nb.Check", "nb.True", "nb.Printf", "nb.Report":
					c.Shows++
				case "fmt.Print", "fmt.Printf", "fmt.Println":
					c.Prints = true
				}
			}
		}
	}
	return c
}

// declared is what a call of nb.Param says of its parameter.
func declared(call *ast.CallExpr) parameter {
	kinds := map[token.Token]string{token.INT: "int", token.FLOAT: "float64", token.STRING: "string"}
	p := parameter{Values: []string{}}
	standard := call.Args[1]
	if signed, ok := standard.(*ast.UnaryExpr); ok {
		standard = signed.X
	}
	switch standard := standard.(type) {
	case *ast.BasicLit:
		p.Kind = kinds[standard.Kind]
	case *ast.Ident:
		if standard.Name == "true" || standard.Name == "false" {
			p.Kind = "bool"
		}
	}
	if f, ok := call.Fun.(*ast.IndexExpr); ok {
		p.Kind = types.ExprString(f.Index)
	}
	for _, a := range call.Args[2:] {
		value, plain := literal(a)
		if !plain { // what else is allowed is not known
			return parameter{p.Kind, []string{}}
		}
		add(&p.Values, value)
	}
	if standard, plain := literal(standard); plain && len(p.Values) > 0 {
		add(&p.Values, standard)
	}
	return p
}

// literal is the value of a string as it stands in the source.
func literal(e ast.Expr) (value string, ok bool) {
	s, ok := e.(*ast.BasicLit)
	if !ok || s.Kind != token.STRING {
		return "", false
	}
	value, err := strconv.Unquote(s.Value)
	return value, err == nil
}

var (
	// others are the lines for the kernel or the shell, and imports, which no statement can be.
	others = regexp.MustCompile(`(?ms)^\s*[%!][^\n]*|^import (?:\(.*?\)|[^\n]*)`)
	// function begins a function or a method at the top level.
	function = regexp.MustCompile(`(?m)^func (?:\([^()]*\) )?\w+(?:\[.*?\])?\(`)
)

// program makes a Go file of a cell, in whose main function all of it stands: functions as values that nobody calls.
func program(text string) string {
	return "package main\nfunc main() {\n" + function.ReplaceAllString(others.ReplaceAllString(text, ""), "_ = func(") + "\n}\n"
}

// called is what a call calls, as it stands in the source, without the type in brackets of a generic function.
func called(call *ast.CallExpr) string {
	if i, ok := call.Fun.(*ast.IndexExpr); ok {
		return types.ExprString(i.X)
	}
	return types.ExprString(call.Fun)
}

func add(list *[]string, item string) {
	if !slices.Contains(*list, item) {
		*list = append(*list, item)
	}
}
