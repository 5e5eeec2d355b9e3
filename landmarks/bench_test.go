package landmarks_test

import (
	"testing"
	"time"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/ode"
	"anatomy/kernels"
	"anatomy/landmarks"
)

// The problems of the JAX yardstick: two callosa in units of 20 mm, σ the atlas's spacing, 100 Euler steps. Each
// benchmark reports the first call, which builds and compiles, beside the later ones.
func yardstick() (m *landmarks.Space, q, target [][]float64) {
	cc := landmarks.CorpusCallosum().Scale(1. / 20)
	q, target = cc.Shape("jhu_atlas"), cc.Shape("colin27")
	m = landmarks.New(39, 2, kernels.Gaussian(landmarks.MeanSpacing(q, true)), landmarks.Integrator(ode.Euler, 100))
	return m, q, target
}

func benchmark(b *testing.B, call func() error) {
	start := time.Now()
	if err := call(); err != nil {
		b.Fatal(err)
	}
	first := time.Since(start)
	best := time.Duration(1<<63 - 1)
	for b.Loop() {
		start = time.Now()
		if err := call(); err != nil {
			b.Fatal(err)
		}
		best = min(best, time.Since(start))
	}
	b.ReportMetric(first.Seconds(), "first-s")
	b.ReportMetric(float64(best.Microseconds())/1000, "best-ms")
}

func BenchmarkExp39(b *testing.B) {
	m, q, target := yardstick()
	p := momentum(q, target)
	f := engine.Compile(func(q, p *Node) []*Node {
		return ode.Flow(geom.Geodesics(m.Manifold), ode.Euler, 100, ode.State{q, p})
	})
	benchmark(b, func() error { _, err := f.Call(flat(q), p); return err })
}

func BenchmarkGrad39(b *testing.B) {
	m, q, target := yardstick()
	p := momentum(q, target)
	f := engine.Compile(func(q, p, target *Node) (*Node, *Node) {
		loss := ReduceAllMean(Square(Sub(ode.Flow(geom.Geodesics(m.Manifold), ode.Euler, 100, ode.State{q, p})[0], target)))
		return loss, Gradient(loss, p)[0]
	})
	benchmark(b, func() error { _, err := f.Call(flat(q), p, flat(target)); return err })
}

func BenchmarkLog39(b *testing.B) {
	m, q, target := yardstick()
	benchmark(b, func() error { _, err := m.Log(q, target); return err })
}

func flat(q [][]float64) (x []float64) {
	for _, p := range q {
		x = append(x, p...)
	}
	return x
}

func momentum(q, target [][]float64) []float64 {
	p := flat(target)
	for i, x := range flat(q) {
		p[i] = 0.3 * (p[i] - x)
	}
	return p
}
