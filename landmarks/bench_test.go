package landmarks_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/geomtest/bench"
	"anatomy/geom/ode"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/surfaces/attachment"
	"anatomy/landmarks/surfaces/mesh"
)

// The problems of the JAX yardstick: two callosa in units of 20 mm, σ the atlas's spacing, 100 Euler steps.
func yardstick() (m *landmarks.Space, q, target [][]float64) {
	cc := morpho.CorpusCallosum().Scale(1. / 20)
	q, target = cc.Shape("jhu_atlas"), cc.Shape("colin27")
	m = landmarks.New(39, 2, kernels.Gaussian(morpho.MeanSpacing(q, true)), geom.Integrator(ode.Euler, 100))
	return m, q, target
}

func BenchmarkExp39(b *testing.B) {
	m, q, target := yardstick()
	p := momentum(q, target)
	f := engine.Compile(func(q, p *Node) []*Node {
		return ode.Flow(geom.Geodesics(m.Manifold), ode.Euler, 100, ode.State{q, p})
	})
	bench.Call(b, func() error { _, err := f.Call(flat(q), p); return err })
}

func BenchmarkGrad39(b *testing.B) {
	m, q, target := yardstick()
	p := momentum(q, target)
	f := engine.Compile(func(q, p, target *Node) (*Node, *Node) {
		loss := ReduceAllMean(Square(Sub(ode.Flow(geom.Geodesics(m.Manifold), ode.Euler, 100, ode.State{q, p})[0], target)))
		return loss, Gradient(loss, p)[0]
	})
	bench.Call(b, func() error { _, err := f.Call(flat(q), p, flat(target)); return err })
}

func BenchmarkLog39(b *testing.B) {
	m, q, target := yardstick()
	bench.Call(b, func() error { _, err := m.Log(q, target); return err })
}

// simulated are pairs of outlines: the yardstick's first one, moved twice by random smooth fields, each half as far as its second
// one is away.
func simulated(count int) (m *landmarks.Space, x, y []geom.Shape) {
	_, q, target := yardstick()
	spacing := morpho.MeanSpacing(q, true)
	random := rand.New(rand.NewPCG(1, 1))
	moved := func() geom.Shape {
		field := make([][]float64, len(q))
		for i := range field {
			field[i] = make([]float64, 2)
		}
		for range 6 {
			centre, force := q[random.IntN(len(q))], []float64{random.NormFloat64(), random.NormFloat64()}
			for i, z := range q {
				floats.AddScaled(field[i], math.Exp(-math.Pow(floats.Distance(z, centre, 2)/(4*spacing), 2)/2), force)
			}
		}
		var far, wanted float64
		for i := range q {
			far, wanted = math.Hypot(far, floats.Norm(field[i], 2)), math.Hypot(wanted, floats.Distance(q[i], target[i], 2))
		}
		for i, z := range q {
			floats.AddScaledTo(field[i], z, 0.5*wanted/far, field[i])
		}
		return field
	}
	for range count {
		x, y = append(x, moved()), append(y, moved())
	}
	return landmarks.New(39, 2, kernels.Gaussian(spacing), geom.Integrator(ode.RK4, 10)), x, y
}

// Logarithms of many pairs in one call, and how many of them were found.
func BenchmarkLogAll(b *testing.B) {
	for _, count := range []int{100, 1000} {
		b.Run(fmt.Sprintf("pairs=%d", count), func(b *testing.B) {
			m, x, y := simulated(count)
			found := 0
			bench.Call(b, func() error {
				gs, err := m.LogAll(x, y)
				found = 0
				for _, g := range gs {
					if g.Status == geom.Converged {
						found++
					}
				}
				return err
			})
			b.ReportMetric(float64(found), "found")
		})
	}
}

// solids are two ellipsoids with corresponding points, spread evenly.
func solids(n int) (q, target [][]float64) {
	for i := range n {
		z := 1 - (2*float64(i)+1)/float64(n)
		s, c := math.Sincos(math.Pi * (3 - math.Sqrt(5)) * float64(i))
		r := math.Sqrt(1 - z*z)
		q = append(q, []float64{r * c, 0.8 * r * s, 0.6 * z})
		target = append(target, []float64{0.74*r*c - 0.39*r*s, 0.31*r*c + 0.92*r*s, 0.8 * z})
	}
	return q, target
}

func many(b *testing.B, sigma float64, q, target [][]float64) *landmarks.Space {
	k, err := kernels.Fast(kernels.Gaussian(sigma), 1e-5, q, target)
	if err != nil {
		b.Fatal(err)
	}
	return landmarks.New(len(q), len(q[0]), k, geom.Integrator(ode.RK4, 10))
}

func BenchmarkLogWithin20000(b *testing.B) {
	for _, dim := range []string{"plane", "space"} {
		for _, sigma := range []float64{0.5, 0.1} {
			b.Run(fmt.Sprintf("%s/σ=%g", dim, sigma), func(b *testing.B) {
				q, target := solids(20000)
				if dim == "plane" {
					q, target = ellipses(20000)
				}
				m := many(b, sigma, q, target)
				bench.Call(b, func() error {
					g, err := m.LogWithin(q, target, 5e-4)
					if err == nil && g.Status != geom.Converged {
						err = errors.New(g.Status.String())
					}
					return err
				})
			})
		}
	}
}

// The gradient of a function of Exp of 20,000 landmarks in space, through 40 steps.
func BenchmarkGrad20000(b *testing.B) {
	q, target := solids(20000)
	m := many(b, 0.5, q, target)
	p := momentum(q, target)
	for i := range p {
		p[i] /= 20000
	}
	f := engine.Compile(func(q, p, target *Node) (*Node, *Node) {
		loss := ReduceAllMean(Square(Sub(ode.Flow(geom.Geodesics(m.Manifold), ode.RK4, 40, ode.State{q, p})[0], target)))
		return loss, Gradient(loss, p)[0]
	})
	bench.Call(b, func() error { _, err := f.Call(flat(q), p, flat(target)); return err })
}

// Surfaces with 642, 2562 and 10,242 vertices, matched by varifolds with 162 control points.
func BenchmarkMatchSurfaces(b *testing.B) {
	for k := 3; k <= 5; k++ {
		source := mesh.Icosphere(k).Map(func(x []float64) []float64 { return []float64{x[0], 0.8 * x[1], 0.7 * x[2]} })
		target := mesh.Icosphere(k).Map(func(x []float64) []float64 {
			return []float64{1.2*x[0] + 0.2*x[1]*x[1], 0.75 * x[1], 0.7*x[2] - 0.1*x[0]}
		})
		b.Run(fmt.Sprint(len(source.Vertices)), func(b *testing.B) {
			controls := mesh.Icosphere(2).Map(func(x []float64) []float64 { return []float64{x[0], 0.8 * x[1], 0.7 * x[2]} })
			fast, err := kernels.Fast(kernels.Gaussian(0.2), 1e-4, source.Vertices, target.Vertices)
			if err != nil {
				b.Fatal(err)
			}
			m := landmarks.New(len(controls.Vertices), 3, kernels.Gaussian(0.4), geom.Integrator(ode.Heun, 8))
			bench.Call(b, func() error {
				r, err := m.MatchFrom(controls.Vertices, source.Vertices, attachment.Varifold(fast, source, target).Coarse(2), 0.1)
				if err == nil && r.Status != geom.Converged {
					err = errors.New(r.Status.String())
				}
				return err
			})
		})
	}
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
