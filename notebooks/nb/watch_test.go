package nb

import (
	"encoding/gob"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/janpfeifer/gonb/gonbui/protocol"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/kernels"
)

// watched passes a value that took a second through First; note is what it says of it.
func watched[T any](t *testing.T, v T, deps ...any) (known remembered, note string) {
	w := Watched("x", "print", "", deps...)
	note = remember(w, filepath.Join(t.TempDir(), "kept", w.file()), v, time.Second)
	if note != "" {
		return known, note
	}
	t.Setenv(protocol.GONB_TMP_DIR_ENV, t.TempDir())
	w.begin = w.begin.Add(-time.Second)
	First(w, v)
	text, err := os.ReadFile(filepath.Join(os.Getenv(protocol.GONB_TMP_DIR_ENV), "kept", w.file()+".json"))
	if err == nil {
		err = json.Unmarshal(text, &known)
	}
	if err != nil {
		t.Fatal(err)
	}
	return known, ""
}

type open struct {
	A []float64
	B *open
}

type closed struct{ a int }

type guarded struct {
	mu    sync.Mutex
	cache map[string]int
}

type generic[T any] struct{ V T }

func TestFirst(t *testing.T) {
	one := &open{}
	for name, kept := range map[string]func() (remembered, string){
		"[]float64":               func() (remembered, string) { return watched(t, []float64{1, math.NaN(), math.Inf(1)}) },
		"map[string][][2]float32": func() (remembered, string) { return watched(t, map[string][][2]float32{"a": {{1, 2}}, "b": nil}) },
		"time.Duration":           func() (remembered, string) { return watched(t, time.Second) },
		"mat.Dense":               func() (remembered, string) { return watched(t, *mat.NewDense(1, 2, []float64{3, 4})) },
		"*geom.Geodesic[[][]float64]": func() (remembered, string) {
			return watched(t, &geom.Geodesic[geom.Shape]{Path: []geom.Shape{{{1}}}, Conjugate: math.Inf(1)})
		},
		"Couple[int,error]": func() (remembered, string) { return watched(t, Two(1, error(nil))) },
		"Triple[int,string,solve.Status]": func() (remembered, string) {
			return watched(t, Three(1, "a", geom.Converged))
		},
	} {
		known, note := kept()
		got := known.Type
		for alias, path := range known.Imports {
			got = strings.ReplaceAll(got, alias, filepath.Base(path))
		}
		if want := strings.NewReplacer("Couple", "nb.Couple", "Triple", "nb.Triple").Replace(name); !known.Kept || got != want || known.Print != "print" {
			t.Errorf("%s: got %+v %s", name, known, note)
		}
	}
	for why, refused := range map[string]func() (remembered, string){
		"type func() cannot":             func() (remembered, string) { return watched(t, func() {}) },
		"type chan int cannot":           func() (remembered, string) { return watched(t, []any{make(chan int)}) },
		"type nb.guarded cannot":         func() (remembered, string) { return watched(t, &guarded{}) },
		"has no exported fields":         func() (remembered, string) { return watched(t, closed{1}) },
		"is not the same":                func() (remembered, string) { return watched(t, struct{ A, b int }{1, 2}) },
		"is not the same once":           func() (remembered, string) { return watched(t, open{A: []float64{}}) },
		"held at two places":             func() (remembered, string) { return watched(t, []*open{{B: one}, {B: one}}) },
		"type *nb.open cannot be stored": func() (remembered, string) { return watched(t, one, &one) },
		"cannot name its type, struct":   func() (remembered, string) { return watched(t, struct{ A int }{1}) },
		"cannot name its type, nb.gen":   func() (remembered, string) { return watched(t, generic[open]{open{A: []float64{1}}}) },
	} {
		if known, note := refused(); known.Kept || !strings.Contains(note, why) || !strings.HasPrefix(note, "note: x took 1.0 s, and each later cell computes it again: ") {
			t.Errorf("%s: got %+v %q", why, known, note)
		}
	}
	t.Setenv(protocol.GONB_TMP_DIR_ENV, t.TempDir())
	First(Watched("x", "print", ""), Two(1, errors.New("failed")))
	first := Watched("x", "print", "")
	first.begin = first.begin.Add(-time.Second)
	First(first, Two(1, errors.New("failed")))
	if _, err := os.Stat(filepath.Join(os.Getenv(protocol.GONB_TMP_DIR_ENV), "kept", first.file()+".gob")); err == nil {
		t.Error("an error is kept")
	}
}

func TestKept(t *testing.T) {
	t.Setenv(protocol.GONB_TMP_DIR_ENV, t.TempDir())
	cause, calls := []float64{1}, 0
	get := func(print string) []float64 {
		return Kept(Watched("x", print, "", &cause), func() []float64 {
			time.Sleep(moment)
			calls++
			return []float64{2, float64(calls)}
		})
	}
	for i, c := range []struct {
		print string
		cause float64
		calls float64
	}{{"a", 1, 1}, {"a", 1, 1}, {"b", 1, 2}, {"b", 3, 3}, {"b", 3, 3}} {
		cause = []float64{c.cause}
		if got := get(c.print); len(got) != 2 || got[1] != c.calls {
			t.Errorf("%d: got %v, want %v", i, got, c.calls)
		}
	}
	files, _ := filepath.Glob(filepath.Join(os.Getenv(protocol.GONB_TMP_DIR_ENV), "kept", "*.gob"))
	for _, name := range files {
		if err := os.Truncate(name, 60); err != nil {
			t.Fatal(err)
		}
	}
	if got := get("b"); got[1] != 4 || len(files) != 1 {
		t.Errorf("got %v of a broken file, %q", got, files)
	}
}

// Once a computation was interrupted, what is made of its best is not stored: the next cell computes it.
func TestInterruptedIsNotKept(t *testing.T) {
	t.Setenv(protocol.GONB_TMP_DIR_ENV, t.TempDir())
	ctx, _, end := surroundings()
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	end()
	path, calls := write(t, notebook), 0
	compute := func() float64 { calls++; return float64(calls) }
	watched := func() *Watch {
		w := Watched("x", "print", "")
		w.begin = w.begin.Add(-time.Second)
		return w
	}
	get := func() {
		Kept(watched(), compute)
		First(watched(), compute())
		keep(path, lineOf(t, notebook, `nb.Keep("kept"`), "k", func() (float64, error) { return compute(), nil })
	}
	get()
	interrupted.Store(false) // the next cell
	get()
	if calls != 6 {
		t.Errorf("computed %d times, want 6", calls)
	}
}

// A variable that is changed by computing another one tells that the other one must be computed each time.
func TestWatchedNotices(t *testing.T) {
	for name, c := range map[string]struct {
		of     any
		change func(any)
	}{
		"a number":       {new(int), func(p any) { *p.(*int)++ }},
		"a slice":        {&[][]float64{{1}}, func(p any) { (*p.(*[][]float64))[0][0] = 2 }},
		"a map":          {&map[string]int{"a": 1, "b": 2}, func(p any) { (*p.(*map[string]int))["c"] = 3 }},
		"a generator":    {new(rand.New(rand.NewPCG(1, 2))), func(p any) { (*p.(**rand.Rand)).Int() }},
		"what is hidden": {&closed{1}, func(p any) { p.(*closed).a = 2 }},
		"beside a lock":  {new(gob.NewEncoder(io.Discard)), func(p any) { (*p.(**gob.Encoder)).Encode(open{}) }},
		"a tensor":       {new(tensors.FromValue([]float64{1, 2})), func(p any) { *p.(**tensors.Tensor) = tensors.FromValue([]float64{1, 3}) }},
		"within one":     {new(engine.Values{tensors.FromValue(1.0)}), func(p any) { (*p.(*engine.Values))[0].MustMutableFlatData(func(flat any) { flat.([]float64)[0] = 2 }) }},
		"its type":       {new(tensors.FromValue([]int32{1})), func(p any) { *p.(**tensors.Tensor) = tensors.FromValue([]uint32{1}) }},
		"a shape":        {new(shapes.Make(dtypes.Float64, 2)), func(p any) { *p.(*shapes.Shape) = shapes.Make(dtypes.Float64, 3) }},
		"an interface":   {new(any(open{})), func(p any) { *p.(*any) = closed{} }},
	} {
		w := Watched("x", "print", "", c.of)
		again := Watched("x", "print", "", c.of)
		if w.before != again.before {
			t.Errorf("%s: two digests", name)
		}
		c.change(c.of)
		if note := remember(w, filepath.Join(t.TempDir(), "x"), 1, time.Second); !strings.Contains(note, "meanwhile another variable has changed") {
			t.Errorf("%s: got %q", name, note)
		}
	}
	cache := &guarded{cache: map[string]int{}}
	w := Watched("x", "print", "", &cache)
	cache.cache["a"] = 1
	if note := remember(w, filepath.Join(t.TempDir(), "x"), 1, time.Second); note != "" {
		t.Errorf("the cache behind a lock: got %q", note)
	}
	for name, c := range map[string]struct {
		holds   any
		refused bool
	}{
		"what was read":        {&[]byte{1}, false},
		"a function":           {new(os.Getpid), true},
		"one within":           {&map[string]any{"a": os.Getpid}, true},
		"one of the library's": {new(kernels.Gaussian(1)), false},
	} {
		if w := Watched("x", "print", "", Acting(c.holds, "it reads")); w.refused == "it reads" != c.refused || w.refused != "" != c.refused {
			t.Errorf("%s, by what reads: %q", name, w.refused)
		}
		if w := Watched("x", "print", "", c.holds); w.refused != "" {
			t.Errorf("%s: %q", name, w.refused)
		}
	}
	circle := &open{A: []float64{1}}
	circle.B = circle
	if w := Watched("x", "print", "", &circle); w.refused != "" {
		t.Errorf("a circle: %s", w.refused)
	}
	type nested []nested
	self := nested{nil}
	self[0] = self
	if w := Watched("x", "print", "", &self); !strings.Contains(w.refused, "nested too deeply") {
		t.Errorf("a slice in itself: %q", w.refused)
	}
	for name, want := range map[string]bool{
		"main.f": false, "main.init.func1": false, "main.glob..func2": false, "anatomy/kernels.Gaussian.func1": false,
		"main.init.func1.1": true, "main.counter.func1": true, "main.init.counter.func3": true, "main.T.f": true, "math/rand/v2.(*Rand).Int-fm": true,
	} {
		if hides(name) != want {
			t.Errorf("%s: got %v", name, !want)
		}
	}
}
