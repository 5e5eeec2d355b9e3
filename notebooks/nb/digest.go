package nb

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math"
	"reflect"
	"slices"
	"strings"
	"unsafe"
)

// A digest hashes what a value holds, with all that it points to. What serves to compute is passed over: functions, locks with
// the caches that they guard, compiled programs. So it tells whether a value was changed since a statement made it.
type digest struct {
	hash  hash.Hash
	seen  map[spot]int // pointers and maps, in the order of the visit
	depth int
	small [9]byte
}

// digested returns the digest of a variable.
func digested(r root) string {
	d := &digest{hash: sha256.New(), seen: map[spot]int{}}
	d.value(reflect.NewAt(r.typ, r.at).Elem())
	return string(d.hash.Sum(nil))
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

func (d *digest) value(v reflect.Value) {
	if d.depth++; d.depth > deepest {
		return
	}
	defer func() { d.depth-- }()
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
		if size := t.Elem().Size(); flat(t.Elem()) && v.Len() > 0 {
			d.hash.Write(unsafe.Slice((*byte)(v.UnsafePointer()), uintptr(v.Len())*size))
			return
		}
		for i := range v.Len() {
			d.value(v.Index(i))
		}
	case reflect.Struct:
		if computes(t) {
			return
		}
		for i := range v.NumField() {
			d.value(v.Field(i))
		}
	case reflect.Pointer:
		if !d.first(v) {
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
	}
}

// first says whether a pointer or map is visited for the first time, and is not nil.
func (d *digest) first(v reflect.Value) bool {
	if v.IsNil() {
		d.number('0', 0)
		return false
	}
	at := spot{v.UnsafePointer(), v.Type()}
	if n, again := d.seen[at]; again {
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
		k := &digest{hash: sha256.New(), seen: map[spot]int{}, depth: d.depth}
		k.value(i.Key())
		all = append(all, entry{k.hash.Sum(nil), i.Value()})
	}
	slices.SortFunc(all, func(a, b entry) int { return bytes.Compare(a.key, b.key) })
	d.number('m', uint64(len(all)))
	for _, e := range all {
		d.hash.Write(e.key)
		d.value(e.value)
	}
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
