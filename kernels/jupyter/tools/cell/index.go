package cell

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// Readable names packages in a text about the notebook by their own names, not by those that the kernel gives them.
func Readable(program, text string) string {
	for _, e := range readIndex(program).Variables {
		for alias, path := range e.Imports {
			text = strings.ReplaceAll(text, alias+".", Base(path)+".")
		}
	}
	return text
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
	all := map[string]string{}
	before := token.EOF
	for _, l := range lexemes(string(src)) {
		e := x.Variables[l.lit]
		if l.tok == token.IDENT && before != token.PERIOD && e != nil && !declared[l.lit] {
			declared[l.lit] = true
			if !types {
				declarations += "\nvar " + l.lit + " any\n"
			} else if e.Type != "" {
				declarations += "\nvar " + l.lit + " " + e.Type + "\n"
				maps.Copy(all, e.Imports)
			}
		}
		before = l.tok
	}
	for _, alias := range slices.Sorted(maps.Keys(all)) {
		imports += fmt.Sprintf("; import %s %q", alias, all[alias])
	}
	return imports, declarations
}
