package nb

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"syscall"
	"unsafe"

	"anatomy/geom/try"
	opened "anatomy/internal/input"
	"anatomy/internal/lists"
)

// Files of what variables hold.

// large is from how many bytes on data without pointers lie behind all else in the file, from where they are mapped.
const large = 1 << 15

// A file begins with the layout of its types and the length of what follows: the regions, the places that references lead to, and what the
// regions hold. Behind that are the large pieces, each at a multiple of align.
const (
	header = sha256.Size + 8
	align  = 64
)

func aligned(n int) int { return (n + align - 1) / align * align }

// region is a piece of memory that holds count values of a type; without count it is what a map of this type refers to.
type region struct {
	spot
	count int
	root  int // 1 + the number of the root whose memory this is, or 0
	owner int // the image that it is of
	id    int // 1 + its number in the file, and 0 before it has one; of a value the number in spans
}

func (r *region) size() uintptr { return r.typ.Size() * uintptr(max(r.count, 1)) }

func (r *region) end() uintptr { return uintptr(r.at) + r.size() }

// far says whether a region lies behind all else in the file.
func (r *region) far() bool { return r.root == 0 && flat(r.typ) && r.size() >= large }

// values are those of a region that have to be walked over.
func (r region) values() iter.Seq[region] {
	return func(yield func(region) bool) {
		one := region{spot: r.spot, count: min(r.count, 1)}
		for range max(r.count, 1) {
			if flat(r.typ) || !yield(one) {
				return
			}
			one.at = unsafe.Add(one.at, r.typ.Size())
		}
	}
}

// merged makes one region of those that overlap, in the order of their addresses, and tells which images share memory.
func merged(met []region, share func(a, b int)) (regions []*region) {
	slices.SortStableFunc(met, func(a, b region) int {
		return cmp.Or(cmp.Compare(uintptr(a.at), uintptr(b.at)), cmp.Compare(b.end(), a.end()), cmp.Compare(b.root, a.root))
	})
	for i := range met {
		r := &met[i]
		last := len(regions) - 1
		if last < 0 || uintptr(r.at) >= regions[last].end() {
			regions = append(regions, r)
			continue
		}
		big := regions[last]
		if share(big.owner, r.owner); r.end() > big.end() { // two parts of one array
			big.count = int((r.end() - uintptr(big.at)) / big.typ.Size())
		}
	}
	return regions
}

// groups parts images into those that share memory.
func groups(images []*image) (all [][]int) {
	var met []region
	of := make([]int, len(images)) // the first image with which each shares memory
	for i, m := range images {
		of[i] = i
		for _, r := range m.met {
			r.owner = i
			met = append(met, r)
		}
	}
	merged(met, func(a, b int) {
		if from, to := max(of[a], of[b]), min(of[a], of[b]); from != to {
			for i := range of {
				if of[i] == from {
					of[i] = to
				}
			}
		}
	})
	all = make([][]int, len(images))
	for i, k := range of {
		all[k] = append(all[k], i)
	}
	return slices.DeleteFunc(all, func(group []int) bool { return group == nil })
}

// layout lists the types that values of the image may have, and hashes how they lie in memory.
func (m *image) layout() (all []reflect.Type, number map[reflect.Type]int, hash []byte) {
	of := lists.Each(m.roots, func(r root) reflect.Type { return r.typ })
	of = append(of, lists.Each(m.names(), func(name string) reflect.Type { return m.dynamic[name] })...)
	all, number = types(append(of, reflect.TypeFor[remembered]())...)
	h := sha256.New()
	for _, t := range all {
		fmt.Fprintln(h, t.PkgPath(), t, t.Kind(), t.Size())
		for _, p := range parts(t) {
			fmt.Fprintln(h, p.Name, p.Offset, number[p.Type])
		}
	}
	return all, number, h.Sum(nil)
}

// file returns what is to be written of an image, in pieces.
func (m *image) file() (chunks [][]byte) {
	_, number, hash := m.layout()
	walked := m.buf
	m.buf = append(hash, make([]byte, header-len(hash))...)
	regions := merged(slices.Clone(m.met), func(a, b int) {})
	var order []*region
	in := make([]*region, len(m.refs)) // the region of each reference
	for k, p := range m.refs {
		i, exact := slices.BinarySearchFunc(regions, uintptr(p.at), func(r *region, at uintptr) int { return cmp.Compare(uintptr(r.at), at) })
		if !exact {
			i--
		}
		if in[k] = regions[i]; in[k].id == 0 {
			order = append(order, in[k])
			in[k].id = len(order)
		}
	}
	m.uint(len(order))
	for _, r := range order {
		m.uint(r.root)
		m.uint(number[r.typ])
		m.uint(r.count)
	}
	m.uint(len(m.refs))
	for k, p := range m.refs {
		m.uint(in[k].id - 1)
		m.uint(int(uintptr(p.at) - uintptr(in[k].at)))
	}
	for _, r := range order {
		switch {
		case r.far():
			chunks = append(chunks, unsafe.Slice((*byte)(r.at), r.size()), make([]byte, aligned(int(r.size()))-int(r.size())))
		case flat(r.typ):
			m.bytes(r.at, r.size())
		}
		for one := range r.values() {
			span := m.spans[m.seen[one.spot]]
			m.buf = append(m.buf, walked[span[0]:span[1]]...)
		}
	}
	binary.LittleEndian.PutUint64(m.buf[len(hash):], uint64(len(m.buf)-header))
	if chunks != nil {
		m.buf = append(m.buf, make([]byte, aligned(len(m.buf))-len(m.buf))...)
	}
	return append([][]byte{m.buf}, chunks...)
}

// read reads the roots; behind are the large pieces.
func (m *image) read(all []reflect.Type, behind []byte) {
	regions := make([]region, m.uint(0))
	for i := range regions {
		r := &regions[i]
		r.root, r.typ, r.count = m.uint(0), all[m.uint(0)], m.uint(0)
		switch {
		case r.root > 0:
			r.at = m.roots[r.root-1].at
		case r.count == 0:
			r.at = reflect.MakeMap(r.typ).UnsafePointer()
		case r.far():
			r.at = unsafe.Pointer(&behind[:r.size()][0])
			behind = behind[min(aligned(int(r.size())), len(behind)):]
		default:
			r.at = reflect.MakeSlice(reflect.SliceOf(r.typ), r.count, r.count).UnsafePointer()
		}
	}
	m.refs = make([]target, m.uint(0))
	for k := range m.refs {
		r, offset := &regions[m.uint(0)], uintptr(m.uint(0))
		m.refs[k] = target{unsafe.Add(r.at, offset), r.size() - offset}
	}
	for _, r := range regions {
		if flat(r.typ) && !r.far() {
			m.bytes(r.at, r.size())
		}
		for one := range r.values() {
			m.content(one)
		}
	}
}

var errBroken = errors.New("the file is broken")

// load reads roots from a file, whose name is the checksum of what it holds: those of the group that was written, and the types that its values
// have in interfaces.
func load(file string, roots []root, dynamic []reflect.Type) (err error) {
	defer try.Catch(&err)
	f := try.Get(opened.Regular(file))
	defer f.Close()
	defer func() {
		if errors.Is(err, errBroken) { // so that it is written again
			os.Remove(file)
		}
	}()
	size := try.Get(f.Stat()).Size()
	if size < header {
		return errBroken
	}
	// What is changed in memory does not reach the file.
	data := try.Get(syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE))
	if sum([][]byte{data}) != filepath.Base(file) {
		return errBroken
	}
	m := &image{reads: true, roots: roots, dynamic: map[string]reflect.Type{}, imports: typeNames{}}
	for _, r := range roots {
		reflect.NewAt(r.typ, r.at).Elem().SetZero()
	}
	for _, t := range dynamic {
		m.named(t)
	}
	all, _, hash := m.layout()
	if !bytes.Equal(data[:len(hash)], hash) {
		return errors.New("its type has changed since")
	}
	defer func() {
		if recover() != nil {
			err = errBroken
		}
	}()
	end := header + int(binary.LittleEndian.Uint64(data[sha256.Size:]))
	m.buf, m.at = data[:end:end], header
	m.read(all, data[min(aligned(end), len(data)):])
	return nil
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
