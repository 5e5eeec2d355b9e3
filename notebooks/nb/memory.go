package nb

import (
	"cmp"
	"fmt"
	"iter"
	"reflect"
	"slices"
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
	digest  bool // it is not to be read again, and what is no data is passed over
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
	case reflect.Array, reflect.Struct:
		if t.Kind() == reflect.Struct {
			if m.digest && computes(t) {
				return nil
			}
			if err := refused(t, at); err != nil {
				return err
			}
			if t == timeType || locks(t) {
				return nil
			}
		}
		for t, at := range inside(t, at) {
			if err := m.visit(t, at, i, depth+1); err != nil {
				return err
			}
		}
	case reflect.Map:
		return m.visitMap(v, i, depth)
	case reflect.Interface:
		return m.visitDynamic(v, i, depth)
	default: // functions, channels, addresses
		if m.digest || v.IsZero() {
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

// inside are the values that lie within an array or a struct.
func inside(t reflect.Type, at unsafe.Pointer) iter.Seq2[reflect.Type, unsafe.Pointer] {
	return func(yield func(reflect.Type, unsafe.Pointer) bool) {
		if t.Kind() == reflect.Array {
			for k := range t.Len() {
				if !yield(t.Elem(), unsafe.Add(at, uintptr(k)*t.Elem().Size())) {
					return
				}
			}
			return
		}
		for f := range t.Fields() {
			if !yield(f.Type, unsafe.Add(at, f.Offset)) {
				return
			}
		}
	}
}

// visitMap visits the keys and values of a map, once.
func (m *memory) visitMap(v reflect.Value, i, depth int) error {
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
	if flat(v.Type().Key()) && flat(v.Type().Elem()) {
		return nil
	}
	for it := v.MapRange(); it.Next(); {
		for _, x := range []reflect.Value{it.Key(), it.Value()} {
			if err := m.visitCopy(x, i, depth); err != nil {
				return err
			}
		}
	}
	return nil
}

// visitDynamic visits what an interface holds.
func (m *memory) visitDynamic(v reflect.Value, i, depth int) error {
	if v.IsNil() || worded(v.Elem()) {
		return nil
	}
	x := v.Elem()
	if _, err := (typeNames{}).of(x.Type()); err != nil && !m.digest {
		return fmt.Errorf("it holds a %v, which has no name that a cell can write", x.Type())
	}
	if !m.dynamic[x.Type()] {
		m.dynamic[x.Type()] = true
		m.logD = append(m.logD, x.Type())
	}
	return m.visitCopy(x, i, depth)
}

// visitCopy visits a value that is at no place of its own.
func (m *memory) visitCopy(x reflect.Value, i, depth int) error {
	x = copied(x)
	return m.visit(x.Type(), x.Addr().UnsafePointer(), i, depth+1)
}

// copied returns a value in memory of its own.
func copied(x reflect.Value) reflect.Value {
	c := reflect.New(x.Type()).Elem()
	c.Set(x)
	return c
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

// digested hashes what a variable holds. What serves to compute is passed over: functions, locks with the caches that they guard, compiled
// programs. So it tells whether the value was changed since a statement made it.
func digested(r root) string {
	m := newMemory()
	m.digest = true
	if err := m.add(r); err != nil {
		return err.Error()
	}
	m.groups()
	chunks, _ := m.write([]int{0})
	return sum(chunks)
}
