package nb

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
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

// flat says whether the bytes of a value are all there is of it.
func flat(t reflect.Type) bool {
	switch k := t.Kind(); {
	case k >= reflect.Bool && k <= reflect.Complex128:
		return true
	case k != reflect.Struct && k != reflect.Array:
		return false
	}
	if known, ok := flats.Load(t); ok {
		return known.(bool)
	}
	all, _ := types([]reflect.Type{t})
	is := !slices.ContainsFunc(all, func(t reflect.Type) bool {
		switch k, p := t.Kind(), t.PkgPath(); {
		case k == reflect.Struct:
			return t == timeType || p == "sync" || p != "sync/atomic" && outside(t)
		case k == reflect.Array:
			return false
		default:
			return k < reflect.Bool || k > reflect.Complex128
		}
	})
	flats.Store(t, is)
	return is
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
	case locks(t):
		for _, b := range unsafe.Slice((*byte)(at), t.Size()) {
			if b != 0 {
				return fmt.Errorf("it holds a lock that is held%w", errOnce)
			}
		}
	}
	return nil
}

// sentinels are errors that programs compare.
var sentinels = []error{io.EOF, io.ErrUnexpectedEOF, fs.ErrNotExist, fs.ErrExist, fs.ErrPermission, fs.ErrInvalid, fs.ErrClosed,
	context.Canceled, context.DeadlineExceeded}

// worded says whether an error lives on by its words: one of a type that no cell can name, or that holds more than data.
func worded(x reflect.Value) bool {
	if !x.Type().Implements(errorType) {
		return false
	}
	if _, err := (typeNames{}).of(x.Type()); err != nil {
		return true
	}
	return newMemory().add(root{"", x.Type(), copied(x).Addr().UnsafePointer()}) != nil
}

// remembered is an error of which the words and the causes are left.
type remembered struct {
	words  string
	causes []error
}

func (r *remembered) Error() string   { return r.words }
func (r *remembered) Unwrap() []error { return r.causes }

// causes lists what an error wraps.
func causes(err error) []error {
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		return e.Unwrap()
	case interface{ Unwrap() error }:
		if cause := e.Unwrap(); cause != nil {
			return []error{cause}
		}
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

// types lists the types that the values of some types may reach, in an order that depends on these only, with the number of each.
func types(of []reflect.Type) (all []reflect.Type, number map[reflect.Type]int) {
	number = map[reflect.Type]int{}
	var walk func(t reflect.Type)
	walk = func(t reflect.Type) {
		if _, known := number[t]; known {
			return
		}
		number[t] = len(all)
		all = append(all, t)
		switch t.Kind() {
		case reflect.Array, reflect.Slice, reflect.Pointer:
			walk(t.Elem())
		case reflect.Map:
			walk(t.Key())
			walk(t.Elem())
		case reflect.Struct:
			if outside(t) || t == timeType || locks(t) {
				return
			}
			for f := range t.Fields() {
				walk(f.Type)
			}
		}
	}
	for _, t := range of {
		walk(t)
	}
	return all, number
}

// typeKey writes a type with the whole paths of its packages.
func typeKey(t reflect.Type) string {
	if t.Name() != "" || t.Kind() == reflect.Struct || t.Kind() == reflect.Interface || t.Kind() == reflect.Func || t.Kind() == reflect.Chan {
		return t.PkgPath() + " " + t.String()
	}
	switch t.Kind() {
	case reflect.Map:
		return "map " + typeKey(t.Key()) + " " + typeKey(t.Elem())
	case reflect.Array:
		return fmt.Sprint(t.Len(), " ", typeKey(t.Elem()))
	}
	return t.Kind().String() + " " + typeKey(t.Elem())
}

// layout hashes how values of some types lie in memory.
func layout(all []reflect.Type) [sha256.Size]byte {
	h := sha256.New()
	for _, t := range all {
		fmt.Fprintln(h, typeKey(t), t.Kind(), t.Size())
		if t.Kind() == reflect.Struct && !outside(t) {
			for f := range t.Fields() {
				fmt.Fprintln(h, f.Name, f.Offset, typeKey(f.Type))
			}
		}
	}
	return [sha256.Size]byte(h.Sum(nil))
}
