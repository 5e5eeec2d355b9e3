package nb

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"syscall"
	"time"
	"unsafe"

	opened "anatomy/internal/input"
)

// Files of what variables hold.

// large is from how many bytes on data without pointers lie behind all else in the file, from where they are mapped.
const large = 1 << 15

// A file begins with the layout of its types and the length of what follows; behind that are the large pieces, each at a
// multiple of align.
const (
	header = sha256.Size + 8
	align  = 64
)

func aligned(n int) int { return (n + align - 1) / align * align }

// codec writes the memory of some roots to a buffer, or reads it: each of its methods does both, so that what is read is what was written.
type codec struct {
	from   *memory // that is written, or nil
	buf    []byte
	at     int      // how far it was read
	behind []byte   // large pieces that were not read yet
	pieces [][]byte // those that are written, with what is between them

	roots   []root
	types   []reflect.Type
	number  map[reflect.Type]int
	used    map[reflect.Type]bool // types that were written in interfaces
	regions []piece
	maps    []reflect.Value
	ids     map[unsafe.Pointer]int // of maps that were written
	queue   []func()
}

// piece is where memory is, and its size.
type piece struct {
	at   unsafe.Pointer
	size uintptr
}

// newCodec is for roots, and the types that values have in interfaces.
func newCodec(from *memory, roots []root, dynamic []reflect.Type) *codec {
	var of []reflect.Type
	for _, r := range roots {
		of = append(of, r.typ)
	}
	slices.SortFunc(dynamic, func(a, b reflect.Type) int { return cmp.Compare(typeKey(a), typeKey(b)) })
	c := &codec{from: from, roots: roots, used: map[reflect.Type]bool{}, ids: map[unsafe.Pointer]int{}}
	c.types, c.number = types(append(of, dynamic...))
	return c
}

func (c *codec) writes() bool { return c.from != nil }

// all passes on the roots and what they refer to.
func (c *codec) all() {
	for _, r := range c.roots {
		if r.typ.Size() > 0 {
			c.reference(r.at)
		}
	}
	for len(c.queue) > 0 {
		next := c.queue[0]
		c.queue = c.queue[1:]
		next()
	}
}

// write returns what is to be written of some roots, in pieces, and which of the types in interfaces they reach.
func (m *memory) write(group []int) (chunks [][]byte, dynamic []reflect.Type) {
	dynamic = slices.Collect(maps.Keys(m.dynamic))
	for {
		for _, r := range m.regions {
			r.id = -1
		}
		var roots []root
		for _, i := range group {
			roots = append(roots, m.roots[i])
		}
		c := newCodec(m, roots, dynamic)
		sum := layout(c.types)
		c.buf = append(sum[:], make([]byte, header-len(sum))...)
		c.all()
		if len(c.used) < len(dynamic) {
			dynamic = slices.DeleteFunc(dynamic, func(t reflect.Type) bool { return !c.used[t] })
			continue
		}
		binary.LittleEndian.PutUint64(c.buf[len(sum):], uint64(len(c.buf)-header))
		if c.pieces != nil {
			c.buf = append(c.buf, make([]byte, aligned(len(c.buf))-len(c.buf))...)
		}
		return append([][]byte{c.buf}, c.pieces...), dynamic
	}
}

var errBroken = errors.New("the file is broken")

// load reads roots from a file, whose name is the checksum of what it holds: those of the group that was written, and the types that its values have in interfaces.
func load(file string, roots []root, dynamic []reflect.Type) (err error) {
	f, err := opened.Regular(file)
	if err != nil {
		return err
	}
	defer f.Close()
	defer func() {
		if errors.Is(err, errBroken) { // so that it is written again
			os.Remove(file)
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return err
	} else if info.Size() < header {
		return errBroken
	}
	// What is changed in memory does not reach the file.
	data, err := syscall.Mmap(int(f.Fd()), 0, int(info.Size()), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE)
	if err != nil {
		return err
	}
	if sum([][]byte{data}) != filepath.Base(file) {
		return errBroken
	}
	for _, r := range roots {
		reflect.NewAt(r.typ, r.at).Elem().SetZero()
	}
	c := newCodec(nil, roots, dynamic)
	if sum := layout(c.types); !bytes.Equal(data[:len(sum)], sum[:]) {
		return errors.New("its type has changed since")
	}
	defer func() {
		if recover() != nil {
			err = errBroken
		}
	}()
	end := header + int(binary.LittleEndian.Uint64(data[sha256.Size:]))
	c.buf, c.at = data[:end:end], header
	if aligned(end) < len(data) {
		c.behind = data[aligned(end):]
	}
	c.all()
	return nil
}

// uint passes on a number.
func (c *codec) uint(x int) int {
	if c.writes() {
		c.buf = binary.AppendUvarint(c.buf, uint64(x))
		return x
	}
	read, n := binary.Uvarint(c.buf[c.at:])
	if n <= 0 {
		panic(errBroken)
	}
	c.at += n
	return int(read)
}

func (c *codec) text(s string) string {
	n := c.uint(len(s))
	if c.writes() {
		c.buf = append(c.buf, s...)
		return s
	}
	c.at += n
	return string(c.buf[c.at-n : c.at])
}

func (c *codec) bytes(at unsafe.Pointer, n uintptr) {
	if here := unsafe.Slice((*byte)(at), n); c.writes() {
		c.buf = append(c.buf, here...)
	} else {
		c.at += copy(here, c.buf[c.at:c.at+int(n)])
	}
}

// reference passes on where memory is: the number of its region, which is described where it is met first, and the place in it. It returns
// that place, and how many bytes of the region are there and behind it.
func (c *codec) reference(at unsafe.Pointer) (there unsafe.Pointer, left uintptr) {
	var r *region
	id, offset := 0, uintptr(0)
	if c.writes() {
		if r, offset = c.from.find(at); r.id < 0 {
			r.id = len(c.regions)
		}
		id = r.id
	}
	id, offset = c.uint(id), uintptr(c.uint(int(offset)))
	if id == len(c.regions) {
		c.regions = append(c.regions, c.region(r))
	}
	p := c.regions[id]
	return unsafe.Add(p.at, offset), p.size - offset
}

// region passes on a region: which root it is, or else the type and the count of its values; these follow, the large ones behind all else.
func (c *codec) region(r *region) piece {
	which, number, count := 0, 0, 1
	if r != nil {
		number, count = c.number[r.typ], r.count
		if r.root {
			which = 1 + slices.IndexFunc(c.roots, func(v root) bool { return v.at == r.at })
		}
	}
	var p piece
	var t reflect.Type
	if which = c.uint(which); which > 0 {
		p.at, t = c.roots[which-1].at, c.roots[which-1].typ
	} else {
		number, count = c.uint(number), c.uint(count)
		t = c.types[number]
	}
	p.size = t.Size() * uintptr(count)
	switch far := which == 0 && flat(t) && p.size >= large; {
	case far && r != nil:
		p.at = r.at
		c.pieces = append(c.pieces, unsafe.Slice((*byte)(r.at), p.size), make([]byte, aligned(int(p.size))-int(p.size)))
	case far:
		p.at = unsafe.Pointer(&c.behind[:p.size][0])
		c.behind = c.behind[min(aligned(int(p.size)), len(c.behind)):]
	default:
		if r != nil {
			p.at = r.at
		} else if which == 0 {
			p.at = reflect.MakeSlice(reflect.SliceOf(t), count, count).UnsafePointer()
		}
		c.queue = append(c.queue, func() {
			if flat(t) {
				c.bytes(p.at, p.size)
				return
			}
			for k := range count {
				c.value(t, unsafe.Add(p.at, uintptr(k)*t.Size()))
			}
		})
	}
	return p
}

// slice is how a slice lies in memory.
type slice struct {
	at       unsafe.Pointer
	len, cap int
}

// value passes on a value of a type. Where it is read, there is the zero value before.
func (c *codec) value(t reflect.Type, at unsafe.Pointer) {
	if flat(t) {
		c.bytes(at, t.Size())
		return
	}
	v := reflect.NewAt(t, at).Elem()
	switch t.Kind() {
	case reflect.String:
		if s := c.text(v.String()); !c.writes() {
			v.SetString(s)
		}
	case reflect.Slice:
		n := 0
		if !v.IsNil() {
			n = v.Len() + 1
		}
		n = c.uint(n) - 1
		switch {
		case n > 0 && t.Elem().Size() > 0:
			if p, left := c.reference(v.UnsafePointer()); !c.writes() {
				*(*slice)(at) = slice{p, n, int(left / t.Elem().Size())}
			}
		case n >= 0 && !c.writes():
			v.Set(reflect.MakeSlice(t, n, n))
		}
	case reflect.Pointer:
		n := 0
		if !v.IsNil() {
			n = 1
		}
		switch {
		case c.uint(n) == 0:
		case t.Elem().Size() > 0:
			if p, _ := c.reference(v.UnsafePointer()); !c.writes() {
				v.Set(reflect.NewAt(t.Elem(), p).Convert(t))
			}
		case !c.writes():
			v.Set(reflect.New(t.Elem()).Convert(t))
		}
	case reflect.Array, reflect.Struct:
		switch {
		case t.Kind() == reflect.Struct && (c.writes() && c.from.digest && computes(t) || locks(t)):
		case t == timeType:
			text, _ := v.Interface().(time.Time).MarshalBinary()
			if text := c.text(string(text)); !c.writes() {
				v.Addr().Interface().(*time.Time).UnmarshalBinary([]byte(text))
			}
		default:
			for t, at := range inside(t, at) {
				c.value(t, at)
			}
		}
	case reflect.Map:
		c.mapping(v)
	case reflect.Interface:
		c.dynamic(v)
	default: // a function, a channel or an address: nil, but for digests
		if c.writes() && c.from.digest && !v.IsZero() {
			c.uint(1)
		}
	}
}

// elsewhere passes on a value that is at no place of its own.
func (c *codec) elsewhere(t reflect.Type, x reflect.Value) reflect.Value {
	here := reflect.New(t).Elem()
	if x.IsValid() {
		here.Set(x)
	}
	c.value(t, here.Addr().UnsafePointer())
	return here
}

// mapping passes on a map: its number, its type and length where it is met first, and later its entries.
func (c *codec) mapping(v reflect.Value) {
	id := 0
	if !v.IsNil() {
		if id = c.ids[v.UnsafePointer()]; id == 0 {
			id = len(c.maps) + 1
			c.ids[v.UnsafePointer()] = id
		}
	}
	if id = c.uint(id); id == 0 {
		return
	}
	if id > len(c.maps) {
		t, n := c.types[c.uint(c.number[v.Type()])], c.uint(v.Len())
		m := v
		if !c.writes() {
			m = reflect.MakeMapWithSize(t, n)
		}
		c.maps = append(c.maps, m)
		c.queue = append(c.queue, func() { c.entries(t, m, n) })
	}
	if !c.writes() {
		v.Set(c.maps[id-1].Convert(v.Type()))
	}
}

// entries passes on the keys of a map and then its values: where keys refer to nothing, by the order of what is written of them.
func (c *codec) entries(t reflect.Type, m reflect.Value, n int) {
	if !c.writes() {
		keys := make([]reflect.Value, n)
		for k := range keys {
			keys[k] = c.elsewhere(t.Key(), reflect.Value{})
		}
		for _, key := range keys {
			m.SetMapIndex(key, c.elsewhere(t.Elem(), reflect.Value{}))
		}
		return
	}
	type entry struct {
		key   []byte
		value reflect.Value
	}
	var all []entry
	before, regions, maps := c.buf, len(c.regions), len(c.maps)
	for it := m.MapRange(); it.Next(); {
		c.buf = nil
		c.elsewhere(t.Key(), it.Key())
		all = append(all, entry{c.buf, it.Value()})
	}
	c.buf = before
	if len(c.regions) == regions && len(c.maps) == maps {
		slices.SortFunc(all, func(a, b entry) int { return bytes.Compare(a.key, b.key) })
	}
	for _, e := range all {
		c.buf = append(c.buf, e.key...)
	}
	for _, e := range all {
		c.elsewhere(t.Elem(), e.value)
	}
}

// What an interface holds.
const (
	nothing = iota
	words   // of an error
	typed   // a value after the number of its type
)

func (c *codec) dynamic(v reflect.Value) {
	kind, number, x := nothing, 0, v.Elem()
	if !v.IsNil() {
		kind, number = typed, c.number[x.Type()]
		if worded(x) {
			kind = words
		}
	}
	switch c.uint(kind) {
	case words:
		var err error
		if c.writes() {
			err = x.Interface().(error)
		}
		if err = c.error(err); !c.writes() {
			v.Set(reflect.ValueOf(err))
		}
	case typed:
		t := c.types[c.uint(number)]
		c.used[t] = true
		if x = c.elsewhere(t, x); !c.writes() {
			v.Set(x)
		}
	}
}

// error passes on an error by its words and causes.
func (c *codec) error(err error) error {
	if known := c.uint(slices.Index(sentinels, err) + 1); known > 0 {
		return sentinels[known-1]
	}
	e := &remembered{}
	if c.writes() {
		e.words, e.causes = err.Error(), causes(err)
	}
	e.words = c.text(e.words)
	if n := c.uint(len(e.causes)); !c.writes() {
		e.causes = make([]error, n)
	}
	for i, cause := range e.causes {
		if cause = c.error(cause); !c.writes() {
			e.causes[i] = cause
		}
	}
	return e
}

// save writes pieces to a file of a folder, whose name is the hash of what they hold, unless it is there.
func save(folder string, chunks [][]byte) (name string, err error) {
	name = sum(chunks)
	file := filepath.Join(folder, name)
	if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
		return name, nil
	}
	return name, replace(file, chunks)
}

// sum hashes what pieces hold.
func sum(chunks [][]byte) string {
	h := sha256.New()
	for _, c := range chunks {
		h.Write(c)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// replace writes a file as a whole or not at all.
func replace(file string, chunks [][]byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), "new-*")
	if err != nil {
		return err
	}
	for _, c := range chunks {
		if err == nil {
			_, err = f.Write(c)
		}
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
