package nb

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/ast"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

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
