package guided

import (
	"fmt"
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/lie"
	"anatomy/geom/manifold"
	"anatomy/geom/stochastic"
	"anatomy/geom/tree"
)

// twisted is the plane as a geom.Charted whose charts are turned by angles that depend on their centres.
type twisted struct{}

func (twisted) Dim() int        { return 2 }
func (twisted) AmbientDim() int { return 2 }

func (twisted) Chart(c *Node) geom.Chart {
	angle := Sub(MulScalar(SliceAxis(c, -1, AxisRange(0, 1)), 3), SliceAxis(c, -1, AxisRange(1, 2)))
	return twist{c, Cos(angle), Sin(angle)}
}

type twist struct{ centre, cos, sin *Node }

func (twist) Dim() int        { return 2 }
func (twist) G(x *Node) *Node { return manifold.Euclidean(2).(geom.Metric).G(x) }
func (t twist) lead(a, x *Node) *Node {
	return BroadcastPrefix(a, x.Shape().Dimensions[:x.Rank()-a.Rank()]...)
}
func (t twist) Point(x *Node) *Node { return Add(t.lead(t.centre, x), t.turned(x, t.sin)) }
func (t twist) Coordinates(z *Node) *Node {
	return t.turned(Sub(z, t.lead(t.centre, z)), Neg(t.sin))
}

func (t twist) turned(x, sin *Node) *Node {
	c, s := t.lead(t.cos, x), t.lead(sin, x)
	x0, x1 := SliceAxis(x, -1, AxisRange(0, 1)), SliceAxis(x, -1, AxisRange(1, 2))
	return Concatenate([]*Node{Sub(Mul(c, x0), Mul(s, x1)), Add(Mul(s, x0), Mul(c, x1))}, -1)
}

// weighed is the logarithm of the mean of the weights of independent paths, with its standard error.
func (s *sampler[P]) weighed() (log, standardError float64) {
	s.shake()
	w, _ := s.weigh()
	total := floats.LogSumExp(w)
	for c := range w {
		w[c] = math.Exp(w[c]-total) * float64(len(w))
	}
	return total - math.Log(float64(len(w))), stat.StdErr(stat.StdDev(w, nil), float64(len(w)))
}

// quadrature is Simpson's rule for ∫ f from a to b.
func quadrature(a, b float64, f func(x float64) float64) float64 {
	const n = 400
	sum := f(a) + f(b)
	for i := 1; i < n; i++ {
		sum += float64(2+2*(i%2)) * f(a+(b-a)*float64(i)/n)
	}
	return sum * (b - a) / (3 * n)
}

// legendre is P_l(x).
func legendre(l int, x float64) float64 {
	p0, p1 := 1.0, x
	for k := range l {
		p0, p1 = p1, (float64(2*k+3)*x*p1-float64(k+1)*p0)/float64(k+2)
	}
	return p0
}

// onSphere is the density of an observation with errors in R³ by its angle from the start of n steps of Brownian motion on S²: each step
// is by 2 atan(√h|ξ|/2) in a random direction, whose Legendre coefficients are multiplied, and so are those of the errors. For 0 steps
// it is that of the heat kernel.
func onSphere(T float64, n int, noise float64) func(angle float64) float64 {
	var c [40]float64
	for l := range c {
		c[l] = math.Exp(-float64(l*(l+1)) * T / 2)
		if n > 0 {
			h := T / float64(n)
			c[l] = math.Pow(quadrature(0, 40, func(e float64) float64 {
				return math.Exp(-e) * legendre(l, (1-h*e/2)/(1+h*e/2))
			}), float64(n))
		}
		c[l] *= float64(2*l+1) / 2 * quadrature(0, math.Min(2, 40*noise*noise), func(off float64) float64 {
			return math.Pow(2*math.Pi*noise*noise, -1.5) * math.Exp(-off/(noise*noise)) * legendre(l, 1-off)
		})
	}
	return func(angle float64) (sum float64) {
		for l := range c {
			sum += c[l] * legendre(l, math.Cos(angle))
		}
		return sum
	}
}

// character is that of the representation of SO(3) of dimension 2l + 1 at a rotation by an angle.
func character(l int, angle float64) float64 {
	if s := math.Sin(angle / 2); math.Abs(s) > 1e-6 {
		return math.Sin(float64(2*l+1)*angle/2) / s
	}
	return float64(2*l + 1)
}

// onRotations is the same for SO(3), by characters, for the volume 8π² of the metric in which lengths are angles.
func onRotations(T float64, n int, noise float64) func(angle float64) float64 {
	var c [30]float64
	for l := range c {
		dim := float64(2*l + 1)
		c[l] = math.Exp(-float64(l*(l+1)) * T / 2)
		if n > 0 {
			c[l] = math.Pow(quadrature(0, 9, func(r float64) float64 {
				return math.Sqrt(2/math.Pi) * r * r * math.Exp(-r*r/2) * character(l, math.Sqrt(T/float64(n))*r) / dim
			}), float64(n))
		}
		c[l] *= quadrature(0, math.Min(math.Pi, 9*noise), func(phi float64) float64 {
			off := 1 - math.Cos(phi)
			return math.Pow(2*math.Pi*noise*noise, -4.5) * math.Exp(-2*off/(noise*noise)) * character(l, phi) * off / math.Pi
		})
	}
	return func(angle float64) (sum float64) {
		for l := range c {
			sum += c[l] * character(l, angle)
		}
		return sum
	}
}

// The mean weight of paths through many charts is the density of what is seen, in closed form for the very steps that are taken.
func TestDensityAcrossCharts(t *testing.T) {
	const T, noise, steps = 0.6, 0.1, 12
	edge := expect.Must(tree.New([]int{-1, 0}, []float64{0, T}, nil))
	sphere := geom.On(manifold.Sphere(2))
	rotations := geom.On(expect.Must(lie.SO(3).LeftInvariant(nil)))
	for k, angle := range []float64{0.3, 1.7} {
		s, c := math.Sincos(angle)
		for _, x := range []struct {
			name    string
			process stochastic.Process[geom.Vec]
			seen    geom.Vec
			closed  func(T float64, n int, noise float64) func(angle float64) float64
		}{
			{"S²", stochastic.Brownian(sphere, geom.Vec{0, 0, 1}), geom.Vec{0.6 * s, 0.8 * s, c}, onSphere},
			{"SO(3)", expect.Must(lie.Brownian(rotations, lie.SO(3).Identity())), geom.Vec{1, 0, 0, 0, c, -s, 0, s, c}, onRotations},
		} {
			sampler := prepared(t, x.process, edge, Observations[geom.Vec]{Leaves: []geom.Vec{x.seen}, Noise: noise}, Options{Steps: steps, Chains: geomtest.Count(800, 3000), Seed: uint64(k)})
			log, standardError := sampler.weighed()
			t.Logf("%s at %g: %.4f ± %.4f, closed %.4f, heat kernel %.4f", x.name, angle, log, standardError, math.Log(x.closed(T, steps, noise)(angle)), math.Log(x.closed(T, 0, noise)(angle)))
			expect.Estimate(t, fmt.Sprintf("log density on %s at %g", x.name, angle), log, standardError, math.Log(x.closed(T, steps, noise)(angle)))
		}
	}
}

// How fast Brownian motion of SO(3) is, from rotations where it came to: the maximum of the likelihood is that of the product of densities
// in closed form.
func TestRateOfRotations(t *testing.T) {
	const n, steps, T, noise = 8, 6, 0.25, 0.05
	group := lie.SO(3)
	rotations := geom.On(expect.Must(group.LeftInvariant(nil)))
	brownian := expect.Must(lie.Brownian(rotations, group.Identity()))
	seen := expect.Must(brownian.Sample(stochastic.Run{Paths: n, Steps: 40, Time: 1.3 * T, Seed: 3}))
	post := expect.Must(Sample(brownian, expect.Must(tree.Star(n, T)), Observations[geom.Vec]{Leaves: seen, Noise: noise}, Options{Steps: steps, Warmup: 50, Draws: 80, Seed: 1,
		Unknown: []Unknown{Rate(LogNormal(1, 1))}}))
	checkMaximum(t, post, 0.01, func(u []float64) (sum float64) {
		density := onRotations(T*math.Exp(u[0]), steps, noise)
		for _, g := range seen {
			sum += math.Log(density(math.Acos((g[0] + g[4] + g[8] - 1) / 2)))
		}
		return sum
	})
}

// normals are samples of a normal distribution on a manifold, whose factor in a basis is known, and the process that infers it.
type normals struct {
	process stochastic.Process[geom.Vec]
	factor  [][]float64
	seen    []geom.Vec
	logs    [][]float64 // the coordinates of the samples' logarithms in the basis
}

// entries are those of a lower triangular factor as unknowns.
func entries(factor [][]float64) (unknown []Unknown, values []float64) {
	for i, row := range factor {
		for j, x := range row[:i+1] {
			prior := LogNormal(x, 0.7)
			if j < i {
				prior = Normal(0, 0.5)
			}
			unknown, values = append(unknown, Param(len(unknown), fmt.Sprintf("L%d%d", i+1, j+1), prior)), append(values, x)
		}
	}
	return unknown, values
}

// rotationsOf are n rotations, where Brownian motion of the metric (LLᵀ)⁻¹ of SO(3) is at time 1.
func rotationsOf(factor [][]float64, n int, seed uint64) normals {
	group := lie.SO(3)
	s := geom.On(expect.Must(group.LeftInvariant(nil)))
	p := expect.Must(stochastic.Correlated(expect.Must(lie.Brownian(s, group.Identity())), factor))
	out := normals{process: p, factor: factor, seen: expect.Must(p.Sample(stochastic.Run{Paths: n, Steps: 30, Seed: seed}))}
	for _, g := range out.seen {
		v := expect.Must(s.Log(group.Identity(), g)).Velocity
		out.logs = append(out.logs, []float64{v[7], v[2], v[3]})
	}
	return out
}

// The frame of a normal distribution on the sphere and, at length, the metric of SO(3), all six numbers, from samples. Where distributions are narrow the
// maximum of the likelihood is near that of normal distributions of the samples' logarithms; the truth is within the errors.
func TestFactors(t *testing.T) {
	if !geomtest.In(t, geomtest.Optimised) {
		return
	}
	const noise = 0.01
	north, basis := geom.Vec{0, 0, 1}, []geom.Vec{{1, 0, 0}, {0, 1, 0}}
	sphere := geom.On(manifold.Sphere(2))
	onSphere := normals{factor: [][]float64{{0.35, 0}, {0.12, 0.2}}}
	onSphere.process = expect.Must(stochastic.Correlated(stochastic.Development(sphere, north, basis...), onSphere.factor))
	onSphere.seen = expect.Must(onSphere.process.Sample(stochastic.Run{Paths: 16, Steps: 30, Seed: 2}))
	for _, y := range onSphere.seen {
		onSphere.logs = append(onSphere.logs, expect.Must(sphere.Log(north, y)).Velocity[:2])
	}
	samples := map[string]normals{"S²": onSphere}
	if geomtest.Count(0, 1) == 1 {
		samples["SO(3)"] = rotationsOf([][]float64{{0.35, 0, 0}, {0.12, 0.25, 0}, {0, -0.1, 0.2}}, 16, 5)
	}
	for name, x := range samples {
		unknown, truth := entries(x.factor)
		post := expect.Must(Sample(x.process, expect.Must(tree.Star(len(x.seen), 1)), Observations[geom.Vec]{Leaves: x.seen, Noise: noise}, Options{Steps: 4, Warmup: geomtest.Count(40, 60), Draws: geomtest.Count(80, 160), Seed: 1, Unknown: unknown}))
		m := expect.Must(post.MaximumLikelihood())
		t.Log(name, post, m)
		d, n := len(x.factor), float64(len(x.logs))
		moments := mat.NewSymDense(d, nil)
		for i := range d {
			for j := range d {
				sum := 0.0
				for _, v := range x.logs {
					sum += v[i] * v[j] / n
				}
				if i == j {
					sum -= noise * noise
				}
				moments.SetSym(i, j, sum)
			}
		}
		var chol mat.Cholesky
		chol.Factorize(moments)
		var l mat.TriDense
		chol.LTo(&l)
		k := 0
		for i := range d {
			for j := range i + 1 {
				u := post.Unknown[k]
				off := func(y float64) float64 { return (u.logarithm(m.Values[k]) - u.logarithm(y)) / m.StandardErrors[k] }
				t.Logf("%s %s: %.4f, of the logarithms %.4f, true %.4f", name, u.Name, m.Values[k], l.At(i, j), truth[k])
				if by := off(l.At(i, j)); math.Abs(by) > 0.3 {
					t.Errorf("%s %s: %g standard errors from that of the logarithms", name, u.Name, by)
				}
				if by := off(truth[k]); math.Abs(by) > 3 {
					t.Errorf("%s %s: %g standard errors from the truth", name, u.Name, by)
				}
				k++
			}
		}
	}
}
