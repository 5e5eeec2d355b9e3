package cell

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/parser"
	"go/scanner"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// index is what notebooks/nb writes about the variables of a notebook: see there.
type index struct {
	Variables map[string]*entry
	Recipes   map[string]*recipe
}

type entry struct {
	Cell                  int
	Type                  string
	Imports               map[string]string
	File                  string
	Group, Members, Types []string
	Recipe                string
	Reads                 map[string]string
	Why                   string
}

type recipe struct {
	Name, Type, Source string
	Imports            map[string]string
	Inputs             []struct {
		Name, Type, File, Recipe string
		Types                    []string
	}
}

func (e *entry) holds() string { return cmp.Or(e.File, e.Recipe) }

// current says whether a variable of e's group still has the value that was written with e's: it may have been assigned since.
func (x *index) current(e *entry, name string) bool {
	other := x.Variables[name]
	return other != nil && other.File == e.File && slices.Equal(other.Group, e.Group)
}

func indexFile(program string) string {
	return filepath.Join(filepath.Dir(program), "values", "index.json")
}

func readIndex(program string) *index {
	x := &index{}
	if text, err := os.ReadFile(indexFile(program)); err == nil {
		json.Unmarshal(text, x)
	}
	return x
}

// Values lists the variables of the notebook whose program lies at a path.
func Values(program string) []string { return slices.Sorted(maps.Keys(readIndex(program).Variables)) }

// Forget forgets variables of the notebook, all if none is named, and says whether there was one.
func Forget(program string, names ...string) (found bool) {
	x := readIndex(program)
	if len(names) == 0 {
		names = slices.Collect(maps.Keys(x.Variables))
	}
	for _, name := range names {
		found = found || x.Variables[name] != nil
		delete(x.Variables, name)
	}
	if text, err := json.Marshal(x); found && err == nil {
		os.WriteFile(indexFile(program), text, 0o600)
	}
	return found
}

// dummies declares the variables of the notebook that a source names, so that their names are not taken for those of packages.
func (x *index) dummies(src []byte, types bool) (imports, declarations string) {
	declared := map[string]bool{}
	if file, _ := parser.ParseFile(token.NewFileSet(), "", src, 0); file != nil && file.Scope != nil {
		for name := range file.Scope.Objects {
			declared[name] = true
		}
	}
	var s scanner.Scanner
	set := token.NewFileSet()
	s.Init(set.AddFile("", set.Base(), len(src)), src, nil, 0)
	all := map[string]string{}
	for before := token.EOF; ; {
		_, tok, name := s.Scan()
		if tok == token.EOF {
			break
		}
		e := x.Variables[name]
		if tok == token.IDENT && before != token.PERIOD && e != nil && !declared[name] {
			declared[name] = true
			if !types {
				declarations += "\nvar " + name + " any\n"
			} else if e.Type != "" {
				declarations += "\nvar " + name + " " + e.Type + "\n"
				maps.Copy(all, e.Imports)
			}
		}
		before = tok
	}
	for _, alias := range slices.Sorted(maps.Keys(all)) {
		imports += fmt.Sprintf("; import %s %q", alias, all[alias])
	}
	return imports, declarations
}
