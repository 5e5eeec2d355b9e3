package guided

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"

	"anatomy/geom"
	"anatomy/geom/geomtest/bench"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/shape"
	"anatomy/geom/stochastic"
	"anatomy/geom/tree"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/morpho"
)

// large is a balanced tree of leaves that are circles of n landmarks, moved and stretched at random, with the width of the kernel, about two
// distances of neighbours, and its amplitude as unknowns.
func large(leaves, n int) (stochastic.Process[geom.Shape], *tree.Tree, Observations[geom.Shape], []Unknown) {
	rng := rand.New(rand.NewPCG(1, 1))
	circle := func(deviation float64) (q geom.Shape) {
		var z [4]float64
		for a := range z {
			z[a] = deviation * rng.NormFloat64()
		}
		for i := range n {
			sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(n))
			q = append(q, []float64{z[0] + (1+z[1])*cos, z[2] + (1+z[3])*sin})
		}
		return q
	}
	parent, length := []int{-1}, []float64{0}
	for i := 1; i < 2*leaves-1; i++ {
		parent, length = append(parent, (i-1)/2), append(length, 1)
	}
	seen := Observations[geom.Shape]{Noise: 0.05}
	for range leaves {
		seen.Leaves = append(seen.Leaves, circle(0.1))
	}
	p := expect.Must(landmarks.New(n, 2, kernels.Gaussian(1)).Kunita(circle(0), 12/float64(n), 0.005))
	return p, expect.Must(tree.New(parent, length, nil)), seen, []Unknown{
		Param(0, "width", LogNormal(12/float64(n), 0.2)), Param(1, "amplitude", LogNormal(0.005, 0.5))}
}

// The memory that runs of four chains ask for, and the most that they have: where guides are made of eight visits, and where 400 draws are kept.
// Each size wants a process of its own: -bench Memory/leaves=25/landmarks=60/unknowns=2 -benchtime 1x.
func BenchmarkMemory(b *testing.B) {
	for _, size := range [][3]int{{25, 20, 1}, {25, 60, 2}, {50, 60, 1}, {12, 118, 2}, {25, 118, 1}, {25, 118, 2}, {100, 118, 1}} {
		b.Run(fmt.Sprintf("leaves=%d/landmarks=%d/unknowns=%d", size[0], size[1], size[2]), func(b *testing.B) {
			p, t, seen, unknown := large(size[0], size[1])
			defer bench.Memory(b)()
			for b.Loop() {
				s := expect.Must(newSampler(p, t, []Observations[geom.Shape]{seen}, Options{Unknown: unknown[:size[2]]}))
				b.ReportMetric(s.memory()/1e6, "counted-MB")
				s.origin()
				s.guide(nil)
				var seen visits
				for range 8 {
					s.look(&seen)
				}
				s.guide(seen)
				s.learned, seen = nil, nil
				step := []*stepSize{newStepSize(0.02)}
				m, out := s.move(step, 1, 1), s.empty()
				for range s.options.Draws {
					s.record(out, m)
				}
				s.move(step, 1, 1)
				runtime.KeepAlive(out)
			}
		})
	}
}

// A gradient of four chains, of trees with more leaves and edges with more steps.
func BenchmarkGradient(b *testing.B) {
	for _, size := range [][2]int{{25, 25}, {50, 25}, {100, 25}, {100, 12}, {100, 50}} {
		b.Run(fmt.Sprintf("leaves=%d/steps=%d", size[0], size[1]), func(b *testing.B) {
			p, t, seen, unknown := large(size[0], 40)
			gradients(b, expect.Must(newSampler(p, t, []Observations[geom.Shape]{seen}, Options{Unknown: unknown, Steps: size[1], Chains: 4})))
		})
	}
}

// gradients measures those of a sampler.
func gradients[P geom.Point](b *testing.B, s *sampler[P]) {
	s.origin()
	s.guide(nil)
	gradients := 0
	step := []*stepSize{newStepSize(longest)}
	s.move(step, 1, 1) // compiles it
	seconds := func() float64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
	}
	defer bench.Memory(b)()
	begin := seconds()
	for b.Loop() {
		gradients += 1 + s.move(step, few, 1).turns
	}
	b.ReportMetric((seconds()-begin)/float64(gradients), "processor-s/gradient")
}

// A gradient of four chains of the regression of 18 rats' skulls, each seen at eight ages, in the logarithm of age.
func BenchmarkRegression(b *testing.B) {
	rats := morpho.Rats()
	skulls := expect.Must(morpho.Procrustes(rats.Shapes(), morpho.KeepSize()))
	ages := expect.Must(rats.Numbers("age"))
	for i, age := range ages {
		ages[i] = 1 + math.Log(age/7)
	}
	space := landmarks.New(8, 2, kernels.Gaussian(morpho.MeanSpacing(skulls.Mean, true)))
	rest := shape.Like(geom.Shape(skulls.Mean), make([]float64, 16))
	p := expect.Must(space.Langevin(skulls.Mean, rest, 0, 20))
	seen := Observations[geom.Shape]{Noise: 10}
	for _, skull := range skulls.Shapes {
		seen.Leaves = append(seen.Leaves, skull)
	}
	gradients(b, expect.Must(newSampler(p, expect.Must(tree.Cohort(ages, expect.Must(rats.Column("rat")))), []Observations[geom.Shape]{seen},
		Options{Unknown: []Unknown{Param(1, "deviation", LogNormal(20, 0.7)), Noise(LogNormal(10, 0.7))}, Root: 100, RootParts: []float64{400}, Steps: 2, Chains: 4})))
}
