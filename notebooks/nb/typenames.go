package nb

import (
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

func (names typeNames) of(t reflect.Type) (string, error) {
	if t.Name() != "" {
		return names.named(t)
	}
	list := func(n int, at func(i int) reflect.Type) (string, error) {
		all := make([]string, n)
		for i := range all {
			var err error
			if all[i], err = names.of(at(i)); err != nil {
				return "", err
			}
		}
		return strings.Join(all, ", "), nil
	}
	var before string
	switch t.Kind() {
	case reflect.Pointer:
		before = "*"
	case reflect.Slice:
		before = "[]"
	case reflect.Array:
		before = fmt.Sprintf("[%d]", t.Len())
	case reflect.Chan:
		before = map[reflect.ChanDir]string{reflect.RecvDir: "<-chan ", reflect.SendDir: "chan<- ", reflect.BothDir: "chan "}[t.ChanDir()]
	case reflect.Map:
		key, err := names.of(t.Key())
		if err != nil {
			return "", err
		}
		before = "map[" + key + "]"
	case reflect.Func:
		in, err := list(t.NumIn(), t.In)
		if err != nil {
			return "", err
		}
		if t.IsVariadic() {
			last, _ := names.of(t.In(t.NumIn() - 1).Elem())
			in = in[:len(in)-len("[]"+last)] + "..." + last
		}
		out, err := list(t.NumOut(), t.Out)
		return "func(" + in + ") (" + out + ")", err
	case reflect.Struct:
		text := "struct {"
		for f := range t.Fields() {
			of, err := names.of(f.Type)
			if err == nil && f.PkgPath != "" && f.PkgPath != "main" {
				err = unnamed(t)
			}
			if err != nil {
				return "", err
			}
			if text += " " + f.Name + " "; f.Anonymous {
				text = strings.TrimSuffix(text, f.Name+" ")
			}
			text += of
			if f.Tag != "" {
				text += fmt.Sprintf(" %q", f.Tag)
			}
			text += ";"
		}
		return text + " }", nil
	case reflect.Interface:
		text := "interface {"
		for i := range t.NumMethod() {
			m := t.Method(i)
			of, err := names.of(m.Type)
			if err != nil || m.PkgPath != "" && m.PkgPath != "main" {
				return "", unnamed(t)
			}
			text += " " + m.Name + strings.TrimPrefix(of, "func") + ";"
		}
		return text + " }", nil
	default:
		return "", unnamed(t)
	}
	element, err := names.of(t.Elem())
	return before + element, err
}

func unnamed(t reflect.Type) error {
	return fmt.Errorf("no cell can write the name of its type, %v", t)
}

// named writes the name of a type with that of its package. The arguments of a generic type stand in its name, with the paths
// of their packages.
func (names typeNames) named(t reflect.Type) (string, error) {
	if t.PkgPath() == "" {
		return t.Name(), nil
	}
	var err error
	return qualified.ReplaceAllStringFunc(t.PkgPath()+"."+t.Name(), func(s string) string {
		dot := strings.LastIndexByte(s, '.')
		path, name := s[:dot], s[dot+1:]
		if path == "main" {
			return name
		}
		if c := name[0]; c < 'A' || c > 'Z' || strings.Contains("/"+path+"/", "/internal/") {
			err = unnamed(t)
		}
		alias := packageName(path)
		names[alias] = path
		return alias + "." + name
	}), err
}

// packageName is the name by which the kernel imports a package for its own ends.
func packageName(path string) string {
	sum := sha256.Sum256([]byte(path))
	return "nb_" + hex.EncodeToString(sum[:4])
}
