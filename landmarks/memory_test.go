package landmarks_test

import (
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
)

// Reverse mode through 10,000 steps of 39 landmarks raises the process's peak memory by less than 300 MB, and the
// gradient equals differences: a long loop is checkpointed.
func TestMemoryOfALongLoop(t *testing.T) {
	m, atlas, colin := callosa()
	f := engine.Compile(func(q, p, target *Node) (*Node, *Node) {
		loss := ReduceAllMean(Square(Sub(ode.Flow(geom.Geodesics(m.Manifold), ode.Euler, 10000, ode.State{q, p})[0], target)))
		return loss, Gradient(loss, p)[0]
	})
	q, target := shape.Flat(atlas), shape.Flat(colin)
	p := make([]float64, len(q))
	for i := range p {
		p[i] = 0.2 * (target[i] - q[i])
	}
	var out engine.Values
	expect.Memory(t, 300<<20, func() { out = expect.Must(f.Call(q, p, target)) })
	const h = 1e-3
	at := func(d float64) float64 {
		old := p[7]
		defer func() { p[7] = old }()
		p[7] += d
		return expect.Must(f.Call(q, p, target)).Scalar(0)
	}
	want := (8*(at(h)-at(-h)) - (at(2*h) - at(-2*h))) / (12 * h)
	expect.Rel(t, "gradient", out.Vector(1)[7], want, 1e-8)
}
