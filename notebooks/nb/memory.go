package nb

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"
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

// region is a piece of memory that holds count values of a type.
type region struct {
	at    unsafe.Pointer
	typ   reflect.Type
	count int
	owner int // the root from which it was met first
	root  bool
	id    int // in the order in which it is written; -1 before
}

func (r *region) size() uintptr { return r.typ.Size() * uintptr(r.count) }

func (r *region) end() uintptr { return uintptr(r.at) + r.size() }

// spot is where a value of a type is in memory.
type spot struct {
	at  unsafe.Pointer
	typ reflect.Type
}

// memory is what some roots reach.
type memory struct {
	roots   []root
	met     []region               // as they were met
	regions []*region              // those of met that overlap are one; by address
	seen    map[spot]int           // where references into memory with pointers were met, and from which root
	maps    map[unsafe.Pointer]int // maps, and from which root
	joined  [][2]int               // roots that reach the same
	dynamic map[reflect.Type]bool  // types of the values in interfaces

	queue []spot
	log   []spot // what the last root has added to seen
	logM  []unsafe.Pointer
	logD  []reflect.Type
}

func newMemory() *memory {
	return &memory{seen: map[spot]int{}, maps: map[unsafe.Pointer]int{}, dynamic: map[reflect.Type]bool{}}
}

// add follows a root. If it reaches what is no data, it is left out, and the error says why.
func (m *memory) add(r root) error {
	met, joined := len(m.met), len(m.joined)
	m.log, m.logM, m.logD, m.queue = nil, nil, nil, nil
	i := len(m.roots)
	m.roots = append(m.roots, r)
	m.met = append(m.met, region{r.at, r.typ, 1, i, true, -1})
	m.refer(spot{r.at, r.typ}, i)
	var err error
	for err == nil && len(m.queue) > 0 {
		last := len(m.queue) - 1
		p := m.queue[last]
		m.queue = m.queue[:last]
		err = m.visit(p.typ, p.at, i, 0)
	}
	if err == nil {
		return nil
	}
	m.roots, m.met, m.joined = m.roots[:i], m.met[:met], m.joined[:joined]
	for _, p := range m.log {
		delete(m.seen, p)
	}
	for _, p := range m.logM {
		delete(m.maps, p)
	}
	for _, t := range m.logD {
		delete(m.dynamic, t)
	}
	return err
}

// refer notes a reference to memory, which is visited once.
func (m *memory) refer(p spot, i int) {
	if flat(p.typ) {
		return
	}
	if j, again := m.seen[p]; again {
		if i != j {
			m.joined = append(m.joined, [2]int{i, j})
		}
		return
	}
	m.seen[p] = i
	m.log = append(m.log, p)
	m.queue = append(m.queue, p)
}

// deepest is how far values may be nested in one piece of memory: interfaces and maps that hold themselves have no end.
const deepest = 1000

func (m *memory) visit(t reflect.Type, at unsafe.Pointer, i, depth int) error {
	if depth > deepest {
		return fmt.Errorf("a value of type %v is nested too deeply", t)
	}
	if flat(t) {
		return nil
	}
	v := reflect.NewAt(t, at).Elem()
	switch t.Kind() {
	case reflect.String:
	case reflect.Array:
		for k := range t.Len() {
			if err := m.visit(t.Elem(), unsafe.Add(at, uintptr(k)*t.Elem().Size()), i, depth+1); err != nil {
				return err
			}
		}
	case reflect.Slice:
		if v.Len() == 0 || t.Elem().Size() == 0 {
			return nil
		}
		m.met = append(m.met, region{v.UnsafePointer(), t.Elem(), v.Len(), i, false, -1})
		if !flat(t.Elem()) {
			for k := range v.Len() {
				m.refer(spot{unsafe.Add(v.UnsafePointer(), uintptr(k)*t.Elem().Size()), t.Elem()}, i)
			}
		}
	case reflect.Pointer:
		if v.IsNil() || t.Elem().Size() == 0 {
			return nil
		}
		m.met = append(m.met, region{v.UnsafePointer(), t.Elem(), 1, i, false, -1})
		m.refer(spot{v.UnsafePointer(), t.Elem()}, i)
	case reflect.Struct:
		if err := refused(t, at); err != nil {
			return err
		}
		if t == timeType || locks(t) {
			return nil
		}
		for f := range t.Fields() {
			if err := m.visit(f.Type, unsafe.Add(at, f.Offset), i, depth+1); err != nil {
				return err
			}
		}
	case reflect.Map:
		if v.IsNil() {
			return nil
		}
		if j, again := m.maps[v.UnsafePointer()]; again {
			if i != j {
				m.joined = append(m.joined, [2]int{i, j})
			}
			return nil
		}
		m.maps[v.UnsafePointer()] = i
		m.logM = append(m.logM, v.UnsafePointer())
		if flat(t.Key()) && flat(t.Elem()) {
			return nil
		}
		for it := v.MapRange(); it.Next(); {
			for _, x := range []reflect.Value{it.Key(), it.Value()} {
				x := copied(x)
				if err := m.visit(x.Type(), x.Addr().UnsafePointer(), i, depth+1); err != nil {
					return err
				}
			}
		}
	case reflect.Interface:
		if v.IsNil() {
			return nil
		}
		x := v.Elem()
		if worded(x) {
			return nil
		}
		if _, err := (typeNames{}).of(x.Type()); err != nil {
			return fmt.Errorf("it holds a %v, which has no name that a cell can write", x.Type())
		}
		if !m.dynamic[x.Type()] {
			m.dynamic[x.Type()] = true
			m.logD = append(m.logD, x.Type())
		}
		x = copied(x)
		return m.visit(x.Type(), x.Addr().UnsafePointer(), i, depth+1)
	default: // functions, channels, addresses
		if v.IsZero() {
			return nil
		}
		switch t.Kind() {
		case reflect.Func:
			return fmt.Errorf("it holds a function (%v)", t)
		case reflect.Chan:
			return fmt.Errorf("it holds a channel (%v)%w", t, errOnce)
		}
		return fmt.Errorf("it holds an address (%v)", t)
	}
	return nil
}

// copied returns a value in memory of its own.
func copied(x reflect.Value) reflect.Value {
	c := reflect.New(x.Type()).Elem()
	c.Set(x)
	return c
}

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
	is := true
	if t.Kind() == reflect.Array {
		is = flat(t.Elem())
	} else if p := t.PkgPath(); p == "sync" || p != "sync/atomic" && outside(t) {
		is = false
	} else {
		for f := range t.Fields() {
			is = is && flat(f.Type)
		}
	}
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

// groups parts the roots into those that share memory.
func (m *memory) groups() (all [][]int) {
	m.merge()
	first := make([]int, len(m.roots))
	for i := range first {
		first[i] = i
	}
	find := func(i int) int {
		for first[i] != i {
			i = first[i]
		}
		return i
	}
	for _, j := range m.joined {
		a, b := find(j[0]), find(j[1])
		first[max(a, b)] = min(a, b)
	}
	at := map[int]int{}
	for i := range first {
		k, known := at[find(i)]
		if !known {
			k = len(all)
			at[find(i)] = k
			all = append(all, nil)
		}
		all[k] = append(all[k], i)
	}
	return all
}

// merge makes one region of those that overlap.
func (m *memory) merge() {
	order := make([]*region, len(m.met))
	for i := range m.met {
		order[i] = &m.met[i]
	}
	slices.SortStableFunc(order, func(a, b *region) int {
		if c := cmp.Compare(uintptr(a.at), uintptr(b.at)); c != 0 {
			return c
		}
		if c := cmp.Compare(b.end(), a.end()); c != 0 {
			return c
		}
		return map[bool]int{true: -1, false: 1}[a.root || !b.root]
	})
	m.regions = m.regions[:0]
	for _, r := range order {
		if r.size() == 0 {
			continue
		}
		last := len(m.regions) - 1
		if last < 0 || uintptr(r.at) >= m.regions[last].end() {
			m.regions = append(m.regions, r)
			continue
		}
		big := m.regions[last]
		if big.owner != r.owner {
			m.joined = append(m.joined, [2]int{big.owner, r.owner})
		}
		if r.end() > big.end() { // two parts of one array
			big.count = int((r.end() - uintptr(big.at)) / big.typ.Size())
		}
	}
}

// find returns the region that holds an address, and how far in.
func (m *memory) find(at unsafe.Pointer) (*region, uintptr) {
	k, exact := slices.BinarySearchFunc(m.regions, uintptr(at), func(r *region, at uintptr) int { return cmp.Compare(uintptr(r.at), at) })
	if !exact {
		k--
	}
	r := m.regions[k]
	return r, uintptr(at) - uintptr(r.at)
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

// large is from how many bytes on data without pointers lie behind all else in the file, from where they are mapped.
const large = 1 << 15

// A file begins with the layout of its types and the length of what follows; behind that are the large pieces, each at a
// multiple of align.
const (
	header = sha256.Size + 8
	align  = 64
)

func aligned(n int) int { return (n + align - 1) / align * align }

// writer writes some roots that share memory.
type writer struct {
	m      *memory
	number map[reflect.Type]int
	roots  []int
	used   map[reflect.Type]bool // types in interfaces
	buf    []byte
	behind [][]byte // large pieces, and what is between them
	size   int      // of these
	count  int      // regions that have numbers
	maps   map[unsafe.Pointer]int
	queue  []func()
}

// write returns what is to be written of some roots, in pieces, and which of the types in interfaces they reach.
func (m *memory) write(group []int) (chunks [][]byte, dynamic []reflect.Type) {
	for t := range m.dynamic {
		dynamic = append(dynamic, t)
	}
	slices.SortFunc(dynamic, func(a, b reflect.Type) int { return cmp.Compare(typeKey(a), typeKey(b)) })
	for {
		w := m.writing(group, dynamic)
		if len(w.used) == len(dynamic) {
			return append([][]byte{w.buf}, w.behind...), dynamic
		}
		dynamic = slices.DeleteFunc(dynamic, func(t reflect.Type) bool { return !w.used[t] })
	}
}

func (m *memory) writing(group []int, dynamic []reflect.Type) *writer {
	for _, r := range m.regions {
		r.id = -1
	}
	of := make([]reflect.Type, len(group))
	for k, i := range group {
		of[k] = m.roots[i].typ
	}
	all, number := types(append(of, dynamic...))
	sum := layout(all)
	w := &writer{m: m, number: number, roots: group, used: map[reflect.Type]bool{}, buf: append(sum[:], make([]byte, 8)...),
		maps: map[unsafe.Pointer]int{}}
	for _, i := range group {
		if t := m.roots[i].typ; t.Size() > 0 {
			w.reference(m.roots[i].at)
		}
	}
	for len(w.queue) > 0 {
		next := w.queue[0]
		w.queue = w.queue[1:]
		next()
	}
	binary.LittleEndian.PutUint64(w.buf[sha256.Size:], uint64(len(w.buf)-header))
	if w.behind != nil {
		w.buf = append(w.buf, make([]byte, aligned(len(w.buf))-len(w.buf))...)
	}
	return w
}

func (w *writer) uint(x uint64) { w.buf = binary.AppendUvarint(w.buf, x) }

func (w *writer) text(s string) {
	w.uint(uint64(len(s)))
	w.buf = append(w.buf, s...)
}

// reference writes where memory is: the number of its region, which is described where it is met first, and the place in it.
func (w *writer) reference(at unsafe.Pointer) {
	r, offset := w.m.find(at)
	if r.id >= 0 {
		w.uint(uint64(r.id))
		w.uint(uint64(offset))
		return
	}
	r.id = w.count
	w.count++
	w.uint(uint64(r.id))
	w.uint(uint64(offset))
	if r.root {
		w.uint(1 + uint64(slices.IndexFunc(w.roots, func(i int) bool { return w.m.roots[i].at == r.at })))
	} else {
		w.uint(0)
		w.uint(uint64(w.number[r.typ]))
		w.uint(uint64(r.count))
	}
	data := unsafe.Slice((*byte)(r.at), r.size())
	switch {
	case flat(r.typ) && !r.root && len(data) >= large:
		w.behind = append(w.behind, data, make([]byte, aligned(len(data))-len(data)))
		w.size += aligned(len(data))
	case flat(r.typ):
		w.queue = append(w.queue, func() { w.buf = append(w.buf, data...) })
	default:
		w.queue = append(w.queue, func() {
			for k := range r.count {
				w.value(r.typ, unsafe.Add(r.at, uintptr(k)*r.typ.Size()))
			}
		})
	}
}

func (w *writer) value(t reflect.Type, at unsafe.Pointer) {
	if flat(t) {
		w.buf = append(w.buf, unsafe.Slice((*byte)(at), t.Size())...)
		return
	}
	v := reflect.NewAt(t, at).Elem()
	switch t.Kind() {
	case reflect.String:
		w.text(v.String())
	case reflect.Array:
		for k := range t.Len() {
			w.value(t.Elem(), unsafe.Add(at, uintptr(k)*t.Elem().Size()))
		}
	case reflect.Slice:
		if v.IsNil() {
			w.uint(0)
			return
		}
		w.uint(uint64(v.Len()) + 1)
		if v.Len() > 0 && t.Elem().Size() > 0 {
			w.reference(v.UnsafePointer())
		}
	case reflect.Pointer:
		if v.IsNil() {
			w.uint(0)
			return
		}
		w.uint(1)
		if t.Elem().Size() > 0 {
			w.reference(v.UnsafePointer())
		}
	case reflect.Struct:
		if t == timeType {
			text, _ := v.Interface().(time.Time).MarshalBinary()
			w.text(string(text))
			return
		}
		if locks(t) {
			return
		}
		for f := range t.Fields() {
			w.value(f.Type, unsafe.Add(at, f.Offset))
		}
	case reflect.Map:
		if v.IsNil() {
			w.uint(0)
			return
		}
		id, known := w.maps[v.UnsafePointer()]
		if !known {
			id = len(w.maps) + 1
			w.maps[v.UnsafePointer()] = id
			w.queue = append(w.queue, func() { w.entries(v) })
		}
		w.uint(uint64(id))
		if !known {
			w.uint(uint64(w.number[t]))
			w.uint(uint64(v.Len()))
		}
	case reflect.Interface:
		if v.IsNil() {
			w.uint(0)
			return
		}
		x := v.Elem()
		if worded(x) {
			w.uint(1)
			w.words(x.Interface().(error))
			return
		}
		w.used[x.Type()] = true
		w.uint(2)
		w.uint(uint64(w.number[x.Type()]))
		w.copy(x)
	default: // a function, a channel or an address: nil
	}
}

// copy writes a value that is at no place of its own.
func (w *writer) copy(x reflect.Value) {
	x = copied(x)
	w.value(x.Type(), x.Addr().UnsafePointer())
}

// words writes an error by its words.
func (w *writer) words(err error) {
	if k := slices.Index(sentinels, err); k >= 0 {
		w.uint(uint64(k) + 1)
		return
	}
	w.uint(0)
	w.text(err.Error())
	all := causes(err)
	w.uint(uint64(len(all)))
	for _, cause := range all {
		w.words(cause)
	}
}

// entries writes a map: where its keys refer to nothing, by the order of what is written of them.
func (w *writer) entries(v reflect.Value) {
	type entry struct {
		key   []byte
		value reflect.Value
	}
	var all []entry
	before, regions, maps := w.buf, w.count, len(w.maps)
	for it := v.MapRange(); it.Next(); {
		w.buf = nil
		w.copy(it.Key())
		all = append(all, entry{w.buf, it.Value()})
	}
	w.buf = before
	if w.count == regions && len(w.maps) == maps {
		slices.SortFunc(all, func(a, b entry) int { return bytes.Compare(a.key, b.key) })
	}
	for _, e := range all {
		w.buf = append(w.buf, e.key...)
	}
	for _, e := range all {
		w.copy(e.value)
	}
}

// save writes pieces to a file of a folder, whose name is the hash of what they hold, unless it is there.
func save(folder string, chunks [][]byte) (name string, err error) {
	h := sha256.New()
	for _, c := range chunks {
		h.Write(c)
	}
	name = hex.EncodeToString(h.Sum(nil)[:16])
	file := filepath.Join(folder, name)
	if _, err := os.Stat(file); err == nil {
		return name, nil
	}
	return name, replace(file, chunks)
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

// reader reads what a writer wrote.
type reader struct {
	data   []byte
	at     int
	behind int // where the next large piece is
	types  []reflect.Type
	roots  []root
	known  []piece
	maps   []reflect.Value
	queue  []func()
}

var errBroken = errors.New("the file is broken")

// load reads roots from a file: those of the group that was written, and the types that its values have in interfaces.
func load(file string, roots []root, dynamic []reflect.Type) (err error) {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
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
	of := make([]reflect.Type, len(roots))
	for k, r := range roots {
		of[k] = r.typ
	}
	slices.SortFunc(dynamic, func(a, b reflect.Type) int { return cmp.Compare(typeKey(a), typeKey(b)) })
	all, _ := types(append(of, dynamic...))
	if sum := layout(all); !bytes.Equal(data[:len(sum)], sum[:]) {
		return errors.New("its type has changed since")
	}
	r := &reader{data: data, at: header, behind: aligned(header + int(binary.LittleEndian.Uint64(data[sha256.Size:]))), types: all, roots: roots}
	defer func() {
		if recover() != nil {
			err = errBroken
		}
	}()
	for _, v := range roots {
		if v.typ.Size() > 0 {
			r.reference()
		}
	}
	for len(r.queue) > 0 {
		next := r.queue[0]
		r.queue = r.queue[1:]
		next()
	}
	return nil
}

func (r *reader) uint() uint64 {
	x, n := binary.Uvarint(r.data[r.at:])
	if n <= 0 {
		panic(errBroken)
	}
	r.at += n
	return x
}

func (r *reader) text() string {
	n := int(r.uint())
	r.at += n
	return string(r.data[r.at-n : r.at])
}

func (r *reader) bytes(at unsafe.Pointer, n uintptr) {
	r.at += copy(unsafe.Slice((*byte)(at), n), r.data[r.at:r.at+int(n)])
}

// slice is how a slice lies in memory.
type slice struct {
	at       unsafe.Pointer
	len, cap int
}

// piece is where memory is, and its size.
type piece struct {
	at   unsafe.Pointer
	size uintptr
}

// reference returns where memory is, and how many bytes of its region are there and behind it.
func (r *reader) reference() (at unsafe.Pointer, left uintptr) {
	id, offset := int(r.uint()), uintptr(r.uint())
	if id < len(r.known) {
		p := r.known[id]
		return unsafe.Add(p.at, offset), p.size - offset
	}
	var t reflect.Type
	k, count := int(r.uint()), 1
	if k > 0 {
		at, t = r.roots[k-1].at, r.roots[k-1].typ
	} else {
		t, count = r.types[r.uint()], int(r.uint())
	}
	size := t.Size() * uintptr(count)
	switch {
	case flat(t) && k == 0 && size >= large:
		at = unsafe.Pointer(&r.data[r.behind : r.behind+int(size)][0])
		r.behind += aligned(int(size))
	default:
		if k == 0 {
			at = reflect.MakeSlice(reflect.SliceOf(t), count, count).UnsafePointer()
		}
		r.queue = append(r.queue, func() {
			if flat(t) {
				r.bytes(at, size)
				return
			}
			for k := range count {
				r.value(t, unsafe.Add(at, uintptr(k)*t.Size()))
			}
		})
	}
	r.known = append(r.known, piece{at, size})
	return unsafe.Add(at, offset), size - offset
}

func (r *reader) value(t reflect.Type, at unsafe.Pointer) {
	if flat(t) {
		r.bytes(at, t.Size())
		return
	}
	v := reflect.NewAt(t, at).Elem()
	switch t.Kind() {
	case reflect.String:
		v.SetString(r.text())
	case reflect.Array:
		for k := range t.Len() {
			r.value(t.Elem(), unsafe.Add(at, uintptr(k)*t.Elem().Size()))
		}
	case reflect.Slice:
		n := int(r.uint()) - 1
		switch {
		case n < 0:
			v.SetZero()
		case n == 0 || t.Elem().Size() == 0:
			v.Set(reflect.MakeSlice(t, n, n))
		default:
			p, left := r.reference()
			*(*slice)(at) = slice{p, n, int(left / t.Elem().Size())}
		}
	case reflect.Pointer:
		switch {
		case r.uint() == 0:
			v.SetZero()
		case t.Elem().Size() == 0:
			v.Set(reflect.New(t.Elem()).Convert(t))
		default:
			p, _ := r.reference()
			v.Set(reflect.NewAt(t.Elem(), p).Convert(t))
		}
	case reflect.Struct:
		if t == timeType {
			v.Addr().Interface().(*time.Time).UnmarshalBinary([]byte(r.text()))
			return
		}
		if locks(t) {
			return
		}
		for f := range t.Fields() {
			r.value(f.Type, unsafe.Add(at, f.Offset))
		}
	case reflect.Map:
		id := int(r.uint())
		if id == 0 {
			v.SetZero()
			return
		}
		if id > len(r.maps) {
			t, n := r.types[r.uint()], int(r.uint())
			m := reflect.MakeMapWithSize(t, n)
			r.maps = append(r.maps, m)
			r.queue = append(r.queue, func() {
				keys := make([]reflect.Value, n)
				for k := range keys {
					keys[k] = r.fresh(t.Key())
				}
				for _, key := range keys {
					m.SetMapIndex(key, r.fresh(t.Elem()))
				}
			})
		}
		v.Set(r.maps[id-1].Convert(t))
	case reflect.Interface:
		switch r.uint() {
		case 0:
			v.SetZero()
		case 1:
			v.Set(reflect.ValueOf(r.words()))
		default:
			v.Set(r.fresh(r.types[r.uint()]))
		}
	}
}

// fresh reads a value that is at no place of its own.
func (r *reader) fresh(t reflect.Type) reflect.Value {
	x := reflect.New(t)
	r.value(t, x.UnsafePointer())
	return x.Elem()
}

func (r *reader) words() error {
	if k := int(r.uint()); k > 0 {
		return sentinels[k-1]
	}
	e := &remembered{words: r.text()}
	for range r.uint() {
		e.causes = append(e.causes, r.words())
	}
	return e
}
