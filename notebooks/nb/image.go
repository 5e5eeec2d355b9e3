package nb

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"time"
	"unsafe"

	"anatomy/internal/lists"
)

// Variables are written as the memory that they reach: pieces of memory with a type, and references between them. So what two
// variables share stays shared, circles end, and fields count whether they are exported or not. What is not data is refused:
// functions, channels, locks that are held, open files, compiled programs.

// root is a variable.
type root struct {
	name string
	typ  reflect.Type
	at   unsafe.Pointer
}

// spot is where a value of a type is in memory.
type spot struct {
	at  unsafe.Pointer
	typ reflect.Type
}

// image is what some roots reach, as it lies in memory and in a file. One walk over values, the method value, finds what they reach, refuses
// what is no data, and writes, digests or reads it: so what is read is what was written.
type image struct {
	reads  bool
	digest bool // it is not to be read again, and what is no data is passed over
	roots  []root

	dynamic map[string]reflect.Type // types of the values in interfaces, by their names
	imports typeNames               // the packages of these names
	refs    []target                // what references lead to, in the order in which they were met
	buf     []byte
	at      int // how far it was read
	err     error

	met   []region
	ids   map[unsafe.Pointer]int // numbers of refs
	queue []region               // values to walk over
	seen  map[spot]int           // numbers of the values that were met
	spans [][2]int               // where in buf each of them is
}

// target is where a reference leads to, and how many bytes of the region are there and behind it.
type target struct {
	at   unsafe.Pointer
	left uintptr
}

// reach walks over what some roots reach. The error says what of it is no data.
func reach(digest bool, roots ...root) (*image, error) {
	m := &image{digest: digest, roots: roots, dynamic: map[string]reflect.Type{}, imports: typeNames{}, ids: map[unsafe.Pointer]int{},
		seen: map[spot]int{}}
	for i, r := range roots {
		if r.typ.Size() > 0 {
			m.reference(region{spot: spot{r.at, r.typ}, count: 1, root: i + 1})
		}
	}
	for m.err == nil && len(m.queue) > 0 {
		last := len(m.queue) - 1
		next := m.queue[last]
		m.queue = m.queue[:last]
		begin := len(m.buf)
		m.content(next)
		m.spans[next.id] = [2]int{begin, len(m.buf)}
	}
	return m, m.err
}

// uint passes on a number.
func (m *image) uint(x int) int {
	if !m.reads {
		m.buf = binary.AppendUvarint(m.buf, uint64(x))
		return x
	}
	read, n := binary.Uvarint(m.buf[m.at:])
	if n <= 0 {
		panic(errBroken)
	}
	m.at += n
	return int(read)
}

func (m *image) text(s string) string {
	n := m.uint(len(s))
	if !m.reads {
		m.buf = append(m.buf, s...)
		return s
	}
	m.at += n
	return string(m.buf[m.at-n : m.at])
}

func (m *image) bytes(at unsafe.Pointer, n uintptr) {
	if here := unsafe.Slice((*byte)(at), n); !m.reads {
		m.buf = append(m.buf, here...)
	} else {
		m.at += copy(here, m.buf[m.at:m.at+int(n)])
	}
}

// reference passes on where memory is, and walks over it once. What is returned is of use to who reads.
func (m *image) reference(r region) target {
	id := 0
	if !m.reads {
		known := false
		if id, known = m.ids[r.at]; !known {
			id = len(m.refs)
			m.ids[r.at], m.refs = id, append(m.refs, target{at: r.at})
		}
		m.met = append(m.met, r)
		for one := range r.values() {
			if _, again := m.seen[one.spot]; !again {
				one.id = len(m.spans)
				m.seen[one.spot], m.spans, m.queue = one.id, append(m.spans, [2]int{}), append(m.queue, one)
			}
		}
	}
	return m.refs[m.uint(id)]
}

// content passes on one value of a region.
func (m *image) content(one region) {
	switch {
	case one.count == 0:
		m.entries(reflect.NewAt(one.typ, unsafe.Pointer(&one.at)).Elem())
	default:
		m.value(one.typ, one.at, 0)
	}
}

// slice is how a slice lies in memory.
type slice struct {
	at       unsafe.Pointer
	len, cap int
}

// deepest is how far values may be nested in one piece of memory: interfaces that hold themselves have no end.
const deepest = 1000

// value passes on a value of a type. Where it is read, there is the zero value before.
func (m *image) value(t reflect.Type, at unsafe.Pointer, depth int) {
	switch {
	case m.err != nil:
		return
	case depth > deepest:
		m.err = fmt.Errorf("a value of type %v is nested too deeply", t)
		return
	case flat(t):
		m.bytes(at, t.Size())
		return
	}
	v := reflect.NewAt(t, at).Elem()
	switch t.Kind() {
	case reflect.String:
		if s := m.text(v.String()); m.reads {
			v.SetString(s)
		}
	case reflect.Slice:
		n := 0
		if !v.IsNil() {
			n = v.Len() + 1
		}
		switch n = m.uint(n) - 1; {
		case n > 0 && t.Elem().Size() > 0:
			if p := m.reference(region{spot: spot{v.UnsafePointer(), t.Elem()}, count: n}); m.reads {
				*(*slice)(at) = slice{p.at, n, int(p.left / t.Elem().Size())}
			}
		case n >= 0 && m.reads:
			v.Set(reflect.MakeSlice(t, n, n))
		}
	case reflect.Pointer, reflect.Map:
		n := 0
		if !v.IsNil() {
			n = 1
		}
		to := region{spot: spot{v.UnsafePointer(), t}}
		if t.Kind() == reflect.Pointer {
			to.typ, to.count = t.Elem(), 1
		}
		switch {
		case m.uint(n) == 0:
		case to.typ.Size() == 0 && m.reads:
			v.Set(reflect.New(to.typ).Convert(t))
		case to.typ.Size() > 0:
			if p := m.reference(to); m.reads {
				*(*unsafe.Pointer)(at) = p.at
			}
		}
	case reflect.Array:
		for k := range t.Len() {
			m.value(t.Elem(), unsafe.Add(at, uintptr(k)*t.Elem().Size()), depth+1)
		}
	case reflect.Struct:
		m.fields(v, at, depth)
	case reflect.Interface:
		m.held(v, depth)
	default:
		m.none(v)
	}
}

func (m *image) fields(v reflect.Value, at unsafe.Pointer, depth int) {
	t := v.Type()
	switch {
	case m.digest && computes(t):
	case t == timeType:
		text, _ := v.Interface().(time.Time).MarshalBinary()
		if text := m.text(string(text)); m.reads {
			v.Addr().Interface().(*time.Time).UnmarshalBinary([]byte(text))
		}
	default:
		if !m.reads {
			m.err = refused(t, at)
		}
		if locks(t) {
			return
		}
		for f := range t.Fields() {
			m.value(f.Type, unsafe.Add(at, f.Offset), depth+1)
		}
	}
}

// none is for a function, a channel or an address: nil, but for digests.
func (m *image) none(v reflect.Value) {
	switch t := v.Type(); {
	case m.reads || v.IsZero():
	case m.digest:
		m.uint(1)
	case t.Kind() == reflect.Func:
		m.err = fmt.Errorf("it holds a function (%v)", t)
	case t.Kind() == reflect.Chan:
		m.err = fmt.Errorf("it holds a channel (%v)%w", t, errOnce)
	default:
		m.err = fmt.Errorf("it holds an address (%v)", t)
	}
}

// elsewhere passes on a value that is at no place of its own.
func (m *image) elsewhere(t reflect.Type, x reflect.Value, depth int) reflect.Value {
	here := reflect.New(t).Elem()
	if x.IsValid() {
		here.Set(x)
	}
	m.value(t, here.Addr().UnsafePointer(), depth+1)
	return here
}

// entries passes on the keys of a map and then its values: where keys refer to nothing new, by the order of what is written of them.
func (m *image) entries(v reflect.Value) {
	key, element := v.Type().Key(), v.Type().Elem()
	if m.reads {
		for _, k := range lists.Make(int(m.uint(0)), func(int) reflect.Value { return m.elsewhere(key, reflect.Value{}, 0) }) {
			v.SetMapIndex(k, m.elsewhere(element, reflect.Value{}, 0))
		}
		return
	}
	type entry struct {
		key   []byte
		value reflect.Value
	}
	var all []entry
	m.uint(v.Len())
	begin, refs := len(m.buf), len(m.refs)
	for it := v.MapRange(); it.Next(); {
		m.elsewhere(key, it.Key(), 0)
		all = append(all, entry{bytes.Clone(m.buf[begin:]), it.Value()})
		m.buf = m.buf[:begin]
	}
	if len(m.refs) == refs {
		slices.SortFunc(all, func(a, b entry) int { return bytes.Compare(a.key, b.key) })
	}
	for _, e := range all {
		m.buf = append(m.buf, e.key...)
	}
	for _, e := range all {
		m.elsewhere(element, e.value, 0)
	}
}

// held passes on what an interface holds, behind the name of its type; an error that no other program can make by its words and causes.
func (m *image) held(v reflect.Value, depth int) {
	name, x := "", v.Elem()
	switch {
	case v.IsNil():
	case worded(x):
		err := x.Interface().(error)
		name, x = "error", reflect.ValueOf(remembered{err.Error(), causes(err), slices.Index(sentinels, err) + 1})
	default:
		name = m.named(x.Type())
	}
	if name = m.text(name); name == "" {
		return
	}
	t := m.dynamic[name]
	if name == "error" {
		t = reflect.TypeFor[remembered]()
	}
	x = m.elsewhere(t, x, depth)
	if r, is := x.Interface().(remembered); is && r.known > 0 {
		x = reflect.ValueOf(sentinels[r.known-1])
	} else if is {
		x = reflect.ValueOf(&r)
	}
	if m.reads {
		v.Set(x)
	}
}

// named notes a type of a value in an interface and returns its name.
func (m *image) named(t reflect.Type) string {
	name, err := m.imports.of(t)
	switch {
	case err == nil:
	case m.digest:
		name = t.PkgPath() + " " + t.String()
	default:
		m.err = fmt.Errorf("it holds a %v, which has no name that a cell can write", t)
	}
	m.dynamic[name] = t
	return name
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
	here := reflect.New(x.Type())
	here.Elem().Set(x)
	_, err := reach(false, root{"", x.Type(), here.UnsafePointer()})
	return err != nil
}

// remembered is an error of which the words and the causes are left.
type remembered struct {
	words  string
	causes []error
	known  int // 1 + the number of the one of sentinels that it is, or 0
}

func (r *remembered) Error() string   { return r.words }
func (r *remembered) Unwrap() []error { return r.causes }

// causes lists what an error wraps.
func causes(err error) []error {
	if e, several := err.(interface{ Unwrap() []error }); several {
		return e.Unwrap()
	}
	if cause := errors.Unwrap(err); cause != nil {
		return []error{cause}
	}
	return nil
}

// names lists the types of the values in interfaces by their names.
func (m *image) names() []string { return slices.Sorted(maps.Keys(m.dynamic)) }

// digested hashes what a variable holds. What serves to compute is passed over: functions, locks with the caches that they guard, compiled
// programs. So it tells whether the value was changed since a statement made it.
func digested(r root) string {
	m, err := reach(true, r)
	if err != nil {
		return err.Error()
	}
	return sum(m.file())
}
