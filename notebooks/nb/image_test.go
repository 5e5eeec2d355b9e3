package nb

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"anatomy/landmarks/morpho"
)

type node struct {
	next  *node
	value float64
}

type hidden struct {
	sync.Mutex
	once  sync.Once
	n     atomic.Int64
	names map[string][]int
	any   any
	sub   struct{ a, b [2]int8 }
}

// through writes variables and reads them again: from has pointers to them, to to others of the same types.
func through(t *testing.T, from, to []any) [][]int {
	t.Helper()
	variable := func(p any) root {
		v := reflect.ValueOf(p)
		return root{"", v.Type().Elem(), v.UnsafePointer()}
	}
	var images []*image
	for _, p := range from {
		images = append(images, reached(t, variable(p)))
	}
	parts := groups(images)
	for _, g := range parts {
		var written, roots []root
		for _, i := range g {
			written, roots = append(written, variable(from[i])), append(roots, variable(to[i]))
		}
		m, dir := reached(t, written...), t.TempDir()
		name, err := save(dir, m.file())
		if err != nil {
			t.Fatal(err)
		}
		if err := load(filepath.Join(dir, name), roots, slices.Collect(maps.Values(m.dynamic))); err != nil {
			t.Fatal(err)
		}
		if second, err := save(dir, reached(t, roots...).file()); err != nil || second != name {
			t.Errorf("what was read is written in another way: %v", err)
		}
	}
	return parts
}

func reached(t *testing.T, roots ...root) *image {
	t.Helper()
	m, err := reach(false, roots...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func same[T any](t *testing.T, v T) T {
	t.Helper()
	var w T
	through(t, []any{&v}, []any{&w})
	if !reflect.DeepEqual(v, w) {
		t.Errorf("got %#v, want %#v", w, v)
	}
	return w
}

func TestImageKeepsValues(t *testing.T) {
	same(t, true)
	same(t, 3)
	same(t, math.Inf(-1))
	same(t, complex(1, 2))
	same(t, "é\x00")
	same(t, [3]uint8{1, 2})
	same(t, []string(nil))
	same(t, []string{})
	same(t, []string{"a", "", "b"})
	same(t, [][]float64{{1, 2}, nil, {}, {3}})
	same(t, map[string][]int{"a": {1}, "b": nil})
	same(t, map[string]int(nil))
	same(t, map[string]int{})
	same(t, map[[2]int]map[string]bool{{1, 2}: {"x": true}})
	same(t, struct{}{})
	same(t, []struct{}{{}, {}})
	same(t, &struct{}{})
	same(t, (*int)(nil))
	same(t, any(nil))
	same(t, []any{1, "a", 2.5, nil, []int{1}, map[string]any{"b": 1}, &[]bool{true}})
	same(t, node{&node{nil, 2}, 1})
	same(t, time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC))
	same(t, morpho.CorpusCallosum())
	h := &hidden{names: map[string][]int{"a": {1, 2}}, any: []any{1.5}}
	h.n.Store(7)
	h.once.Do(func() {})
	h.sub.b[1] = 5
	same(t, h)
	large := make([]float64, 1e5)
	for i := range large {
		large[i] = float64(i)
	}
	got := same(t, [][]float64{large, {1}, large[10:1e5]})
	got[0][11] = -1
	if got[2][1] != -1 {
		t.Error("large slices that share memory are parted")
	}
	r := rand.New(rand.NewPCG(1, 2))
	r.Uint64()
	var copy *rand.Rand
	through(t, []any{&r}, []any{&copy})
	if a, b := r.Uint64(), copy.Uint64(); a != b {
		t.Error("a generator does not go on")
	}
}

func TestImageSharesWhatIsShared(t *testing.T) {
	a := []int{1, 2, 3, 4}
	b, c, d := a[1:3], &a[2], []int{1, 2, 3, 4}
	x := struct{ u, v float64 }{1, 2}
	px, pv := &x, &x.v
	m := map[string]int{"a": 1}
	n := m
	ring := &node{value: 1}
	ring.next = &node{ring, 2}
	var a2, b2, d2 []int
	var c2 *int
	x2 := x
	var px2 *struct{ u, v float64 }
	var pv2 *float64
	var m2, n2 map[string]int
	var ring2 *node
	groups := through(t, []any{&a, &b, &c, &d, &x, &px, &pv, &m, &n, &ring}, []any{&a2, &b2, &c2, &d2, &x2, &px2, &pv2, &m2, &n2, &ring2})
	if want := [][]int{{0, 1, 2}, {3}, {4, 5, 6}, {7, 8}, {9}}; !reflect.DeepEqual(groups, want) {
		t.Errorf("got groups %v, want %v", groups, want)
	}
	b2[1] = 30
	if a2[2] != 30 || *c2 != 30 || d2[2] != 3 {
		t.Error(a2, b2, *c2, d2)
	}
	if b2 = append(b2, 40); a2[3] != 40 {
		t.Error("append does not write to the array:", a2)
	}
	px2.v = 5
	if x2.v != 5 || *pv2 != 5 {
		t.Error(x2, *px2, *pv2)
	}
	m2["b"] = 2
	if n2["b"] != 2 {
		t.Error(n2)
	}
	if ring2.next.next != ring2 {
		t.Error("the circle is open")
	}
}

func TestImageOfErrors(t *testing.T) {
	_, missing := os.Open("/nothing")
	cause := fmt.Errorf("reading: %w", errors.Join(io.EOF, errors.New("a"), missing))
	var got error
	through(t, []any{&cause}, []any{&got})
	var at *fs.PathError
	if got.Error() != cause.Error() || !errors.Is(got, io.EOF) || errors.Is(got, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", got)
	}
	through(t, []any{&missing}, []any{&got})
	if !errors.As(got, &at) || at.Path != "/nothing" || !errors.Is(got, fs.ErrNotExist) {
		t.Errorf("got %#v", got)
	}
}

func TestImageRefuses(t *testing.T) {
	locked := &hidden{}
	locked.Lock()
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	shared := []float64{1, 2}
	f, c, r := any(math.Sin), make(chan int), reflect.TypeFor[int]()
	both := struct {
		shared []float64
		seen   map[string]int
		f      func()
	}{shared, map[string]int{"a": 1}, func() {}}
	for _, x := range []struct {
		variable any
		why      string
	}{{&f, "a function"}, {&c, "a channel"}, {&locked, "a lock that is held"}, {&file, "os.File"}, {&r, "no name"}, {&both, "a function"}} {
		v := reflect.ValueOf(x.variable)
		if _, err := reach(false, root{"x", v.Type().Elem(), v.UnsafePointer()}); err == nil || !strings.Contains(err.Error(), x.why) {
			t.Errorf("%T: %v", x.variable, err)
		}
	}
}

func TestImageOfOtherTypes(t *testing.T) {
	v := map[string]int{"a": 1}
	dir := t.TempDir()
	name, err := save(dir, reached(t, Var("", &v).root).file())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, name)
	var w map[string]string
	if err := load(file, []root{Var("", &w).root}, nil); err == nil || !strings.Contains(err.Error(), "type has changed") {
		t.Error(err)
	}
	text, _ := os.ReadFile(file)
	for n := range text {
		var x map[string]int
		cut := filepath.Join(dir, "cut")
		if err := os.WriteFile(cut, text[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if load(cut, []root{Var("", &x).root}, nil) == nil {
			t.Errorf("%d of %d bytes are a whole file", n, len(text))
		}
	}
}

// A digest tells what changed, whatever the order of maps, and passes over functions and what guards them; a map may hold itself.
func TestDigest(t *testing.T) {
	type fitted struct {
		mutex sync.Mutex
		cache map[string]float64
	}
	value := struct {
		names map[any]*[]string
		f     func()
		list  []any
		space *fitted
	}{map[any]*[]string{}, func() {}, []any{1, "a"}, &fitted{}}
	for i := range 20 {
		value.names[i], value.names[fmt.Sprint(i)] = &[]string{fmt.Sprint(i)}, &[]string{"x"}
	}
	value.list[1] = value.list
	first := digested(Var("", &value).root)
	for range 20 {
		if digested(Var("", &value).root) != first {
			t.Fatal("equal values have different digests")
		}
	}
	value.space.cache = map[string]float64{"a": 1}
	if digested(Var("", &value).root) != first {
		t.Error("what a lock guards counts")
	}
	(*value.names[7])[0] = "8"
	second := digested(Var("", &value).root)
	value.list[0] = 1.0
	if third := digested(Var("", &value).root); second == first || third == second || third == first {
		t.Error("a change is not seen")
	}
	self := map[string]any{"a": 1}
	self["self"] = self
	var again map[string]any
	through(t, []any{&self}, []any{&again})
	again["self"].(map[string]any)["b"] = 2
	if again["b"] != 2 {
		t.Error("a map that holds itself is another one")
	}
}

func TestTypeNames(t *testing.T) {
	names := typeNames{}
	for v, want := range map[any]string{
		(*map[string][]int)(nil):                          "*map[string][]int",
		(*morpho.Dataset)(nil):                            "*nb_X.Dataset",
		(*func(int, ...string) (float64, error))(nil):     "*func(int, ...string) (float64, error)",
		(*struct{ A, B int })(nil):                        "*struct { A int; B int; }",
		(*interface{ F(int) string })(nil):                "*interface { F(int) (string); }",
		(*any)(nil):                                       "*interface { }",
		(*<-chan [3]bool)(nil):                            "*<-chan [3]bool",
		(*fs.FileMode)(nil):                               "*nb_X.FileMode",
		(*atomic.Pointer[map[string]morpho.Dataset])(nil): "*nb_X.Pointer[map[string]nb_X.Dataset]",
		(*struct{ *morpho.Dataset })(nil):                 "*struct { *nb_X.Dataset; }",
	} {
		got, err := names.of(reflect.TypeOf(v))
		for alias := range names {
			got = strings.ReplaceAll(got, alias, "nb_X")
		}
		if err != nil || got != want {
			t.Errorf("%T: got %s, want %s, error %v", v, got, want, err)
		}
	}
	if _, err := names.of(reflect.TypeFor[*node]()); err == nil {
		t.Error("the name of a type that is not exported is written")
	}
}

// One flipped bit anywhere in a file of values is told, and the file goes, so that the cell writes it anew; so is a pipe in its place.
func TestFlippedBits(t *testing.T) {
	x := make([]float64, large/8+100)
	for i := range x {
		x[i] = float64(i)
	}
	kept := map[string][]float64{"few": {1, 2, 3}, "many": x}
	chunks, dir := reached(t, Var("kept", &kept).root).file(), t.TempDir()
	name, err := save(dir, chunks)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, name)
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	read := func() error {
		got := map[string][]float64{}
		err := load(file, []root{Var("", &got).root}, nil)
		if err == nil && !reflect.DeepEqual(got, kept) {
			t.Fatal("another value")
		}
		return err
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		if _, err := save(dir, chunks); err != nil {
			t.Fatal(err)
		}
		if err := read(); err != nil {
			t.Fatal(err)
		}
		bad := slices.Clone(good)
		bad[random.IntN(len(bad))] ^= 1 << random.IntN(8)
		if err := os.WriteFile(file, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := read(); !errors.Is(err, errBroken) {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Skip(err)
	}
	if err := read(); err == nil || !strings.Contains(err.Error(), "is a pipe") {
		t.Error(err)
	}
	if _, err := save(dir, chunks); err != nil || read() != nil {
		t.Error("a pipe stays in place of the values")
	}
}
