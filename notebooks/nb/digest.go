package nb

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"math"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"unsafe"
)

// A digest hashes what values hold, with all that they point to, fields that are not exported, too. Values that no program
// can tell apart have the same digest, in every process. What a value depends on is hashed without what its source tells:
// functions, and what serves to compute (locks with the caches that they guard, back ends, graphs).
type digest struct {
	hash hash.Hash
	seen map[pointed]int // pointers and maps, in the order of the visit
	// stored is set for a value that is to be stored: what a copy would not carry is refused.
	stored bool
	// acts is why a function must not be passed over, unless the library has made it; or empty.
	acts    string
	refused string // why, or empty
	depth   int
	small   [9]byte
}

// pointed is where a value of a type is in memory.
type pointed struct {
	at   unsafe.Pointer
	kind reflect.Type
}

func newDigest() *digest { return &digest{hash: sha256.New(), seen: map[pointed]int{}} }

func (d *digest) sum() string { return hex.EncodeToString(d.hash.Sum(nil)) }

// storing is the digest of a value that is to be stored, alone, or why it is not the same in a copy.
func (d *digest) storing(v reflect.Value) (sum string, err error) {
	d.hash.Reset()
	d.stored = true
	d.value(v)
	if d.refused != "" {
		return "", errors.New(d.refused)
	}
	return d.sum(), nil
}

func (d *digest) refuse(format string, args ...any) {
	if d.refused == "" {
		d.refused = fmt.Sprintf(format, args...)
	}
}

// number writes a mark and a number.
func (d *digest) number(mark byte, x uint64) {
	d.small[0] = mark
	binary.LittleEndian.PutUint64(d.small[1:], x)
	d.hash.Write(d.small[:])
}

func (d *digest) text(s string) {
	d.number('t', uint64(len(s)))
	d.hash.Write(unsafe.Slice(unsafe.StringData(s), len(s)))
}

// deepest is how far values may be nested: a type may hold itself.
const deepest = 10000

func (d *digest) value(v reflect.Value) {
	if d.depth++; d.depth > deepest {
		d.refuse("a value of type %v is nested too deeply", v.Type())
	}
	defer func() { d.depth-- }()
	if d.refused != "" {
		return
	}
	switch t := v.Type(); v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			d.number('b', 1)
		} else {
			d.number('b', 0)
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		d.number('i', uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		d.number('u', v.Uint())
	case reflect.Float32, reflect.Float64:
		d.number('f', math.Float64bits(v.Float()))
	case reflect.Complex64, reflect.Complex128:
		d.number('c', math.Float64bits(real(v.Complex())))
		d.number('c', math.Float64bits(imag(v.Complex())))
	case reflect.String:
		d.text(v.String())
	case reflect.Array:
		for i := range v.Len() {
			d.value(v.Index(i))
		}
	case reflect.Slice:
		if v.IsNil() {
			d.number('0', 0)
			return
		}
		d.number('s', uint64(v.Len()))
		if size := t.Elem().Size(); plain(t.Elem()) && v.Len() > 0 {
			d.hash.Write(unsafe.Slice((*byte)(v.UnsafePointer()), uintptr(v.Len())*size))
			return
		}
		for i := range v.Len() {
			d.value(v.Index(i))
		}
	case reflect.Struct:
		if computes(t) {
			if d.stored {
				d.refuse("a value of type %v cannot be stored", t)
			}
			return
		}
		for i := range v.NumField() {
			d.value(v.Field(i))
		}
	case reflect.Pointer:
		if !d.first(v) {
			return
		}
		if t.Implements(tensorType) && !d.stored {
			d.tensor(reflect.NewAt(t.Elem(), v.UnsafePointer()).Interface().(tensor))
			return
		}
		d.value(v.Elem())
	case reflect.Map:
		if !d.first(v) {
			return
		}
		d.entries(v)
	case reflect.Interface:
		if v.IsNil() {
			d.number('0', 0)
			return
		}
		d.text(v.Elem().Type().String())
		d.value(v.Elem())
	default: // functions, channels, addresses
		if v.IsZero() {
			d.number('0', 0)
			return
		}
		d.number('1', 0)
		if d.stored {
			d.refuse("a value of type %v cannot be stored; keep the data it is made from", t)
		} else if v.Kind() == reflect.Func {
			name := runtime.FuncForPC(v.Pointer()).Name()
			if hides(name) {
				d.refuse("it depends on a function that may hide values, of type %v", t)
			} else if d.acts != "" && !made.MatchString(name) {
				d.refuse("%s", d.acts)
			}
		}
	}
}

// tensor is a *tensors.Tensor of GoMLX, a package that need not be linked into every cell for this: data behind a lock.
type tensor interface{ ValueSafe() (any, error) }

var tensorType = reflect.TypeFor[tensor]()

func (d *digest) tensor(t tensor) {
	v, err := t.ValueSafe()
	if err != nil {
		d.refuse("it depends on a tensor that cannot be read: %v", err)
		return
	}
	d.value(reflect.ValueOf(&v).Elem())
}

// hides says whether a function of that name may hold values that its source does not tell: methods with their receiver, and
// what a function of the notebook has made, unlike a function literal that a variable is set to.
func hides(name string) bool {
	return strings.HasSuffix(name, "-fm") || strings.HasPrefix(name, "main.") && !written.MatchString(name)
}

// made are names of functions that the library has made, such as those of a kernel.
var made = regexp.MustCompile(`^anatomy/.*\.func\d+`)

var written = regexp.MustCompile(`^main\.(init\.func\d+|glob\.\.func\d+|[^.]+)$`)

// first says whether a pointer or map is visited for the first time, and is not nil.
func (d *digest) first(v reflect.Value) bool {
	if v.IsNil() {
		d.number('0', 0)
		return false
	}
	at := pointed{v.UnsafePointer(), v.Type()}
	if n, again := d.seen[at]; again {
		if d.stored {
			d.refuse("a value of type %v cannot be stored: the same is held at two places", v.Type())
		}
		d.number('r', uint64(n))
		return false
	}
	d.seen[at] = len(d.seen)
	d.number('p', 0)
	return true
}

// entries hashes a map by the order of the digests of its keys.
func (d *digest) entries(v reflect.Value) {
	type entry struct {
		key   []byte
		value reflect.Value
	}
	var all []entry
	for i := v.MapRange(); i.Next(); {
		k := newDigest()
		k.stored, k.acts = d.stored, d.acts
		k.value(i.Key())
		if k.refused != "" {
			d.refuse("%s", k.refused)
		}
		all = append(all, entry{k.hash.Sum(nil), i.Value()})
	}
	slices.SortFunc(all, func(a, b entry) int { return bytes.Compare(a.key, b.key) })
	d.number('m', uint64(len(all)))
	for _, e := range all {
		d.hash.Write(e.key)
		d.value(e.value)
	}
}

// plain says whether the bytes of a value are all there is of it.
func plain(t reflect.Type) bool {
	return t.Kind() >= reflect.Bool && t.Kind() <= reflect.Complex128
}

// description are the packages of GoMLX whose types say what a tensor is like.
var description = regexp.MustCompile(`/(shapes|dtypes)(/|$)`)

// computes says whether a struct serves to compute rather than holds data. Those of this module with a lock do: what they hold
// besides is cached, or as it was made. Of others only the lock does.
func computes(t reflect.Type) bool {
	switch p := t.PkgPath(); {
	case p == "sync" || p == "sync/atomic" || p == "reflect" || p == "runtime" || strings.HasPrefix(p, "internal/"):
		return true
	case strings.Contains(p, "/gomlx/"):
		return !description.MatchString(p)
	case !strings.HasPrefix(p, "anatomy/"):
		return false
	}
	for f := range t.Fields() {
		if f.Type.PkgPath() == "sync" {
			return true
		}
	}
	return false
}
