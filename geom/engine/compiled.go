package engine

import (
	"container/list"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"anatomy/geom/engine/internal/programs"
)

// program is what XLA made of a graph function for inputs of given shapes.
type program struct {
	inputs   []shapes.Shape
	built    chan struct{} // closed when the next fields are known
	run      compute.Executable
	settings []*setting
	logged   []*graph.Node
	nodes    int
	bytes    int64 // for results and intermediate values; 0 where not known
	err      error
	called   func() // records a call; nil: not wanted

	calls int           // in progress, under compiled.Lock
	place *list.Element // among all that are compiled; nil once dropped
}

// compiled holds the programs of the process, the one called last in front.
var compiled struct {
	sync.Mutex
	programs list.List
	nodes    int
}

// Of more than limit nodes of graphs, at 5 to 10 kB of compiled code each, the programs called longest ago go, but least
// programs stay: an iteration that alternates between some large ones must not compile them anew each time. A Log on a level set
// has programs of 60,000 nodes.
var limit = 1 << 17

const least = 16

// buildFunc compiles a function for inputs of given shapes.
type buildFunc func(b backend, inputs []shapes.Shape) (*graph.Graph, error)

// shelf holds the programs of one function, those that were dropped among them until the next one comes.
type shelf struct{ programs []*program }

func newShelf(f *Func) *shelf {
	s := new(shelf)
	runtime.AddCleanup(f, (*shelf).clear, s)
	return s
}

// clear drops all programs.
func (s *shelf) clear() {
	compiled.Lock()
	defer compiled.Unlock()
	for _, p := range s.programs {
		p.drop()
	}
	s.programs = nil
}

// take returns the program for inputs of these shapes, which build compiles where there is none. It is the caller's until
// release.
func (s *shelf) take(b compute.Backend, inputs []shapes.Shape, build buildFunc) (*program, error) {
	compiled.Lock()
	s.programs = slices.DeleteFunc(s.programs, func(p *program) bool { return p.place == nil })
	i := slices.IndexFunc(s.programs, func(p *program) bool { return slices.EqualFunc(p.inputs, inputs, shapes.Shape.Equal) })
	if i >= 0 {
		p := s.programs[i]
		p.calls++
		compiled.programs.MoveToFront(p.place)
		compiled.Unlock()
		<-p.built
		if p.err != nil {
			p.release()
		}
		return p, p.err
	}
	p := &program{inputs: inputs, built: make(chan struct{}), calls: 1}
	p.place = compiled.programs.PushFront(p)
	s.programs = append(s.programs, p)
	compiled.Unlock()

	g, err := build(backend{Backend: b}, inputs)
	compiled.Lock()
	defer compiled.Unlock()
	defer close(p.built)
	if err != nil {
		p.err = err
		p.drop() // so that the next call tries again
		return nil, err
	}
	p.run, p.settings, p.logged = g.Executable(), builderOf(g).settings, g.LoggedNodes()
	p.called = programs.Recording()
	if b.HasSharedBuffers() { // what it works on lies in main memory
		p.bytes = bytes(p.run)
	}
	if p.place != nil {
		p.nodes = len(g.Nodes()) + 50 // a program of one operation takes 0.1 MB
		compiled.nodes += p.nodes
	}
	for compiled.nodes > limit && compiled.programs.Len() > least {
		compiled.programs.Back().Value.(*program).drop()
	}
	return p, nil
}

func (p *program) release() {
	compiled.Lock()
	defer compiled.Unlock()
	p.calls--
	p.free()
}

// drop forgets a program, which is freed when no call of it is in progress. The caller holds the lock.
func (p *program) drop() {
	if p.place != nil {
		compiled.programs.Remove(p.place)
		compiled.nodes -= p.nodes
		p.place = nil
	}
	p.free()
}

func (p *program) free() {
	if p.calls == 0 && p.place == nil && p.run != nil {
		p.run.Finalize()
		p.run = nil
	}
}

// call runs the program on tensors of the shapes that it was compiled for.
func (p *program) call(b compute.Backend, in []*tensors.Tensor) (Values, error) {
	for _, s := range p.settings {
		in = append(in, s.tensor)
	}
	buffers := make([]compute.Buffer, len(in))
	for i, t := range in {
		var err error
		if buffers[i], err = t.Buffer(b, 0); err != nil {
			return nil, fmt.Errorf("argument %d: %w", i, err)
		}
	}
	if p.bytes > 1<<26 { // less is not worth the question
		if err := Fits("the computation", float64(p.bytes)); err != nil {
			return nil, err
		}
	}
	if p.called != nil {
		p.called()
	}
	results, err := p.run.Execute(buffers, nil, 0)
	runtime.KeepAlive(in)
	if err != nil {
		return nil, err
	}
	out := make(Values, len(results))
	made := int64(0)
	for i, r := range results {
		if out[i], err = tensors.FromBuffer(r); err != nil {
			return nil, err
		}
		made += out[i].ByteSize()
	}
	collect(made)
	n := len(out) - len(p.logged)
	p.log(out[n:])
	return out[:n], nil
}

// collect counts bytes of results. They lie outside of Go's heap, so that its collector, which frees them, does not see how many wait for
// it: it is called where they are many, beside the heap that it goes through.
func collect(bytes int64) {
	if uncollected.Add(-bytes) >= 0 {
		return
	}
	runtime.GC()
	var heap runtime.MemStats
	runtime.ReadMemStats(&heap)
	uncollected.Store(max(32<<20, int64(heap.HeapAlloc/2)))
}

// uncollected is how many bytes of results may be made until they are collected.
var uncollected atomic.Int64

func init() { uncollected.Store(32 << 20) }

// log prints the nodes that were marked with SetLogged, whose values come after the others.
func (p *program) log(values Values) {
	if len(values) == 0 {
		return
	}
	messages, ids := make([]string, len(values)), make([]graph.NodeId, len(values))
	for i, n := range p.logged {
		messages[i], ids[i] = n.LogMessage(), n.Id()
	}
	graph.DefaultNodeLogger(p.logged[0].Graph(), messages, values, ids)
}
