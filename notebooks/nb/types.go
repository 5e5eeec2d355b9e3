package nb

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"go/ast"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"
)

// Which types hold data, and which stand for something else.

var (
	timeType  = reflect.TypeFor[time.Time]()
	errorType = reflect.TypeFor[error]()
	// description are the packages of GoMLX whose types say what a tensor is like.
	description = regexp.MustCompile(`/(shapes|dtypes)(/|$)`)
	flats       sync.Map // reflect.Type → bool
)

// plain says whether a type is one of numbers.
func plain(t reflect.Type) bool { return t.Kind() >= reflect.Bool && t.Kind() <= reflect.Complex128 }

// flat says whether the bytes of a value are all there is of it.
func flat(t reflect.Type) bool {
	if k := t.Kind(); plain(t) || k != reflect.Struct && k != reflect.Array {
		return plain(t)
	}
	if known, ok := flats.Load(t); ok {
		return known.(bool)
	}
	is := !reaches(t, func(t reflect.Type) bool {
		switch p := t.PkgPath(); t.Kind() {
		case reflect.Struct:
			return t == timeType || p == "sync" || p != "sync/atomic" && outside(t)
		case reflect.Array:
			return false
		}
		return !plain(t)
	})
	flats.Store(t, is)
	return is
}

// holdsData says whether all values of a type are data.
func holdsData(t reflect.Type) bool {
	return !reaches(t, func(t reflect.Type) bool {
		switch t.Kind() {
		case reflect.Interface, reflect.Func, reflect.Chan, reflect.UnsafePointer:
			return true
		}
		return t.Kind() == reflect.Struct && (t.PkgPath() == "sync" || outside(t))
	})
}

// outside says whether the values of a struct type stand for what is outside of the program's data: of the runtime, open
// files, compiled programs.
func outside(t reflect.Type) bool {
	p := t.PkgPath()
	first, _, _ := strings.Cut(p, "/")
	switch {
	case p == "reflect" || p == "runtime" || p == "unique" || p == "weak" || p == "context" || first == "internal":
		return true
	case strings.Contains(p, "/gomlx/"):
		return !description.MatchString(p)
	case p != "os" && first != "net":
		return false
	}
	for f := range t.Fields() {
		if !f.IsExported() {
			return true
		}
	}
	return false
}

// locks says whether a type is a lock, of which nothing is written: it is free.
func locks(t reflect.Type) bool {
	return t.PkgPath() == "sync" && (t.Name() == "Mutex" || t.Name() == "RWMutex")
}

// errOnce is an error of what another program cannot make again.
var errOnce = errors.New("")

// refused says why a struct is no data.
func refused(t reflect.Type, at unsafe.Pointer) error {
	switch {
	case outside(t) && strings.Contains(t.PkgPath(), "/gomlx/"):
		return fmt.Errorf("it holds a %v", t)
	case outside(t):
		return fmt.Errorf("it holds a %v%w", t, errOnce)
	case locks(t) && slices.ContainsFunc(unsafe.Slice((*byte)(at), t.Size()), func(b byte) bool { return b != 0 }):
		return fmt.Errorf("it holds a lock that is held%w", errOnce)
	}
	return nil
}

// computes says whether a struct serves to compute rather than holds data. Those of this module with a lock do: what they hold
// besides is cached, or as it was made.
func computes(t reflect.Type) bool {
	p := t.PkgPath()
	if outside(t) || p == "sync" || p == "sync/atomic" {
		return true
	}
	for f := range t.Fields() {
		if f.Type.PkgPath() == "sync" && strings.HasPrefix(p, "anatomy/") {
			return true
		}
	}
	return false
}

// parts are the types that a type is made of: keys and elements, or the fields of a struct whose values are written field by field.
func parts(t reflect.Type) (all []reflect.StructField) {
	switch t.Kind() {
	case reflect.Array, reflect.Slice, reflect.Pointer:
		return []reflect.StructField{{Type: t.Elem()}}
	case reflect.Map:
		return []reflect.StructField{{Type: t.Key()}, {Type: t.Elem()}}
	case reflect.Struct:
		if !outside(t) && t != timeType && !locks(t) {
			return slices.Collect(t.Fields())
		}
	}
	return nil
}

// types lists the types that the values of some types may reach, in an order that depends on these only, with the number of each.
func types(of ...reflect.Type) (all []reflect.Type, number map[reflect.Type]int) {
	number = map[reflect.Type]int{}
	var walk func(t reflect.Type)
	walk = func(t reflect.Type) {
		if _, known := number[t]; known {
			return
		}
		number[t] = len(all)
		all = append(all, t)
		for _, p := range parts(t) {
			walk(p.Type)
		}
	}
	for _, t := range of {
		walk(t)
	}
	return all, number
}

// reaches says whether the values of a type may reach one of a type of some sort.
func reaches(t reflect.Type, is func(reflect.Type) bool) bool {
	all, _ := types(t)
	return slices.ContainsFunc(all, is)
}

// typeNames writes types as Go source; it holds the packages of the types by the names that they have there.
type typeNames map[string]string

// qualified is a name with its package: where it stands in the arguments of a generic type, with the whole path.
var qualified = regexp.MustCompile(`[\pL_][\pL\pN_./~-]*\.[\pL\pN_]+`)

// of returns the source of a type, or an error if no cell can write it: it or one that it is made of is not exported, is internal, or is of one of
// two packages of the same name. Reflect writes it with the names of packages.
func (names typeNames) of(t reflect.Type) (text string, err error) {
	paths := map[string]string{} // of packages, by their names
	hidden := false
	var walk func(t reflect.Type)
	walk = func(t reflect.Type) {
		if t.Name() != "" {
			if pkg, _, found := strings.Cut(t.String(), "."); found {
				hidden = hidden || paths[pkg] != "" && paths[pkg] != t.PkgPath()
				paths[pkg] = t.PkgPath()
			}
			return
		}
		hidden = hidden || t.Kind() == reflect.UnsafePointer
		for _, p := range structure(t) {
			hidden = hidden || p.PkgPath != "" && p.PkgPath != "main"
			walk(p.Type)
		}
	}
	walk(t)
	text = qualified.ReplaceAllStringFunc(t.String(), func(s string) string {
		dot := strings.LastIndexByte(s, '.')
		path, name := s[:dot], s[dot+1:]
		if path = cmp.Or(paths[path], path); path == "main" {
			return name
		}
		hidden = hidden || !ast.IsExported(name) || strings.Contains("/"+path+"/", "/internal/")
		alias := packageName(path)
		names[alias] = path
		return alias + "." + name
	})
	if hidden {
		return "", fmt.Errorf("no cell can write the name of its type, %v", t)
	}
	return text, nil
}

// structure are the types that the source of a type without a name names.
func structure(t reflect.Type) (all []reflect.StructField) {
	switch t.Kind() {
	case reflect.Func:
		for p := range t.Ins() {
			all = append(all, reflect.StructField{Type: p})
		}
		for p := range t.Outs() {
			all = append(all, reflect.StructField{Type: p})
		}
	case reflect.Interface:
		for m := range t.Methods() {
			all = append(all, reflect.StructField{Type: m.Type, PkgPath: m.PkgPath})
		}
	case reflect.Chan:
		return []reflect.StructField{{Type: t.Elem()}}
	case reflect.Struct:
		return slices.Collect(t.Fields())
	default:
		return parts(t)
	}
	return all
}

// packageName is the name by which the kernel imports a package for its own ends.
func packageName(path string) string {
	sum := sha256.Sum256([]byte(path))
	return "nb_" + hex.EncodeToString(sum[:4])
}
