package nb

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"regexp"
	"strings"
)

// typeNames writes types as Go source; it holds the packages of the types by the names that they have there.
type typeNames map[string]string

var qualified = regexp.MustCompile(`[\w./~-]+\.\w+`)

// of returns the source of a type, or an error if no cell can write it.
func (names typeNames) of(t reflect.Type) (text string, err error) {
	var write func(t reflect.Type) string
	hidden := func(of reflect.Type, path string) { // what only the package at a path may name
		if path != "" && path != "main" {
			err = cmp.Or(err, error(unnamed{of}))
		}
	}
	list := func(n int, at func(i int) reflect.Type) string {
		all := make([]string, n)
		for i := range all {
			all[i] = write(at(i))
		}
		return strings.Join(all, ", ")
	}
	write = func(t reflect.Type) string {
		switch {
		case t.PkgPath() != "":
			return names.named(t, hidden)
		case t.Name() != "":
			return t.Name()
		}
		switch t.Kind() {
		case reflect.Pointer:
			return "*" + write(t.Elem())
		case reflect.Slice:
			return "[]" + write(t.Elem())
		case reflect.Array:
			return fmt.Sprintf("[%d]%s", t.Len(), write(t.Elem()))
		case reflect.Chan:
			return map[reflect.ChanDir]string{reflect.RecvDir: "<-chan ", reflect.SendDir: "chan<- ", reflect.BothDir: "chan "}[t.ChanDir()] + write(t.Elem())
		case reflect.Map:
			return "map[" + write(t.Key()) + "]" + write(t.Elem())
		case reflect.Func:
			in := list(t.NumIn(), t.In)
			if t.IsVariadic() {
				last := write(t.In(t.NumIn() - 1).Elem())
				in = strings.TrimSuffix(in, "[]"+last) + "..." + last
			}
			return "func(" + in + ") (" + list(t.NumOut(), t.Out) + ")"
		case reflect.Struct:
			text := "struct {"
			for f := range t.Fields() {
				hidden(t, f.PkgPath)
				if text += " "; !f.Anonymous {
					text += f.Name + " "
				}
				if text += write(f.Type); f.Tag != "" {
					text += fmt.Sprintf(" %q", f.Tag)
				}
				text += ";"
			}
			return text + " }"
		case reflect.Interface:
			text := "interface {"
			for i := range t.NumMethod() {
				m := t.Method(i)
				hidden(t, m.PkgPath)
				text += " " + m.Name + strings.TrimPrefix(write(m.Type), "func") + ";"
			}
			return text + " }"
		}
		hidden(t, "unsafe")
		return ""
	}
	text = write(t)
	return text, err
}

// unnamed is the error of a type that no cell can write.
type unnamed struct{ reflect.Type }

func (u unnamed) Error() string {
	return fmt.Sprintf("no cell can write the name of its type, %v", u.Type)
}

// named writes the name of a type with that of its package. The arguments of a generic type stand in its name, with the paths
// of their packages.
func (names typeNames) named(t reflect.Type, hidden func(of reflect.Type, path string)) string {
	return qualified.ReplaceAllStringFunc(t.PkgPath()+"."+t.Name(), func(s string) string {
		dot := strings.LastIndexByte(s, '.')
		path, name := s[:dot], s[dot+1:]
		if path == "main" {
			return name
		}
		if c := name[0]; c < 'A' || c > 'Z' || strings.Contains("/"+path+"/", "/internal/") {
			hidden(t, path)
		}
		alias := packageName(path)
		names[alias] = path
		return alias + "." + name
	})
}

// packageName is the name by which the kernel imports a package for its own ends.
func packageName(path string) string {
	sum := sha256.Sum256([]byte(path))
	return "nb_" + hex.EncodeToString(sum[:4])
}
