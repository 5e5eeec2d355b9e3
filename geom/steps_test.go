package geom_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
)

// onEllipsoid returns a random point of the ellipsoid with these half axes.
func onEllipsoid(r *rand.Rand, axes []float64) []float64 {
	z := make([]float64, len(axes))
	for i := range z {
		z[i] = r.NormFloat64()
	}
	floats.Scale(1/floats.Norm(z, 2), z)
	floats.Mul(z, axes)
	return z
}

// around integrates the geodesic of the ellipsoid Σ (z_i/a_i)² = 1 from z with the velocity v in ambient coordinates,
//
//	z” = −(Σ (z'_i/a_i)²/Σ (z_i/a_i²)²) (z_i/a_i²),
//
// by n steps of the classical Runge–Kutta method: it has nothing in common with charts. It returns the point at time 1.
func around(axes, z, v []float64, n int) []float64 {
	d := len(z)
	y := append(append([]float64{}, z...), v...)
	slope := func(y []float64) []float64 {
		var above, below float64
		for i, a := range axes {
			above += y[d+i] * y[d+i] / (a * a)
			below += y[i] * y[i] / (a * a * a * a)
		}
		out := append([]float64{}, y[d:]...)
		for i, a := range axes {
			out = append(out, -above/below*y[i]/(a*a))
		}
		return out
	}
	h := 1 / float64(n)
	at := func(by float64, k []float64) []float64 { return floats.AddScaledTo(make([]float64, 2*d), y, by*h, k) }
	for range n {
		k1 := slope(y)
		k2 := slope(at(0.5, k1))
		k3 := slope(at(0.5, k2))
		k4 := slope(at(1, k3))
		for i := range y {
			y[i] += h / 6 * (k1[i] + 2*k2[i] + 2*k3[i] + k4[i])
		}
	}
	return y[:d]
}

// Between random points of a flat ellipsoid logarithms keep the promise of StepError: their lengths there and back agree to 1e-4, and a
// geodesic in ambient coordinates with the velocity that was found, in 4000 steps, ends at the point to 1e-4 of the length. With 25
// steps for all, as a given Integrator has it, neither holds.
func TestLogsOfAFlatEllipsoid(t *testing.T) {
	t.Parallel()
	axes := []float64{0.3, 1, 1}
	r := rand.New(rand.NewPCG(7, 40))
	var x, y [][]float64
	for range geomtest.Count(8, 16) {
		p, q := onEllipsoid(r, axes), onEllipsoid(r, axes)
		x, y = append(x, p, q), append(y, q, p)
	}
	for _, c := range []struct {
		name   string
		space  *geom.Space[geom.Vec]
		kept   bool
		finest int // the most steps that any took
	}{
		{"settled", geom.On(manifold.Ellipsoid(axes...)), true, 100},
		{"25 steps", geom.On(manifold.Ellipsoid(axes...), geom.Integrator(ode.RK4, 25)), false, 25},
	} {
		var gs []*geom.Geodesic[geom.Vec]
		for i := 0; i < len(x); i += 8 { // the search for shorter ones takes as many at once, by the same programs
			gs = append(gs, expect.Must(c.space.LogAll(x[i:i+8], y[i:i+8]))...)
		}
		var apart, off, said float64
		most := 0
		for i, g := range gs {
			if c.kept && g.Err() != nil {
				t.Errorf("%s: pair %d: %v", c.name, i, g.Err())
			}
			back := gs[i^1]
			apart = math.Max(apart, math.Abs(g.Length-back.Length)/back.Length)
			off = math.Max(off, floats.Distance(around(axes, x[i], g.Velocity, 4000), y[i], 2)/g.Length)
			said, most = math.Max(said, g.StepError), max(most, g.Steps)
		}
		t.Logf("%s: there and back %.2g, off %.2g, StepError up to %.2g, up to %d steps", c.name, apart, off, said, most)
		if kept := apart <= 1e-4 && off <= 1e-4; kept != c.kept || c.kept && (said > 1e-4 || most != c.finest) {
			t.Errorf("%s: lengths there and back differ by %.2g, geodesics end off by %.2g, StepError %.2g, %d steps", c.name, apart, off, said, most)
		}
	}
}

// Exp keeps the promise too, and says by how much the last doubling moved the end. A geodesic that was put together of several is the
// same as one by as many steps.
func TestStepsOfExp(t *testing.T) {
	t.Parallel()
	axes := []float64{0.3, 1, 1}
	s := geom.On(manifold.Ellipsoid(axes...))
	r := rand.New(rand.NewPCG(8, 40))
	taken := map[int]bool{}
	for range geomtest.Count(8, 20) {
		x := onEllipsoid(r, axes)
		_, tangent, err := s.Project(x, []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()})
		v := expect.Must(tangent, err)[0]
		g := expect.Must(s.Exp(x, v))
		taken[g.Steps] = true
		if len(g.Path) != g.Steps+1 || len(g.Momenta) != g.Steps+1 {
			t.Errorf("%d steps, %d points, %d momenta", g.Steps, len(g.Path), len(g.Momenta))
		}
		expect.Abs(t, "end", g.End, around(axes, x, v, 4000), 1e-4*g.Length)
		direct := expect.Must(s.With(geom.Integrator(ode.RK4, g.Steps)).Exp(x, v))
		expect.Abs(t, "by as many steps", g.End, direct.End, 1e-12)
		expect.Abs(t, "momentum", g.Momenta[g.Steps/5], direct.Momenta[g.Steps/5], 1e-11)
		expect.Rel(t, "drift", g.Drift, direct.Drift, 1e-3) // at more times
		if shot := expect.Must(s.Shoot(x, g.Momentum)); shot.Steps != g.Steps {
			t.Errorf("Exp takes %d steps, Shoot %d", g.Steps, shot.Steps)
		} else {
			expect.Abs(t, "Shoot", shot.End, g.End, 1e-12)
		}
		if g.Drift <= 1e-7 {
			continue
		}
		twice := expect.Must(s.With(geom.Integrator(ode.RK4, 2*g.Steps)).Exp(x, v))
		moved := floats.Distance(twice.End, g.End, 2) / g.Length
		if !(g.StepError <= 5e-5 && moved <= 1.01*g.StepError && g.StepError <= 2*moved) {
			t.Errorf("%d steps: StepError %.2g, twice as many move the end by %.2g of the length", g.Steps, g.StepError, moved)
		}
	}
	if !taken[25] || !taken[50] {
		t.Errorf("steps %v", taken)
	}
	if g := expect.Must(s.Exp([]float64{0, 1, 0}, []float64{0, 0, 0})); g.Steps != 25 || g.StepError != 0 {
		t.Errorf("at rest: %d steps, StepError %g", g.Steps, g.StepError)
	}
}

// Distances of the half-plane are those of its closed form, arcosh(1 + |x − y|²/2x_2 y_2), to 1e-4, also far up and down, where 25 steps
// are too few.
func TestStepsInTheHalfPlane(t *testing.T) {
	t.Parallel()
	s := geom.On(halfPlane())
	r := rand.New(rand.NewPCG(9, 40))
	var x, y [][]float64
	for range 40 {
		x = append(x, []float64{r.NormFloat64(), math.Exp(r.NormFloat64())})
		y = append(y, []float64{r.NormFloat64(), math.Exp(1.5 * r.NormFloat64())})
	}
	most := 0
	for i, g := range expect.Must(s.LogAll(x, y)) {
		d := floats.Distance(x[i], y[i], 2)
		want := math.Acosh(1 + d*d/(2*x[i][1]*y[i][1]))
		if g.Err() != nil {
			t.Error(g.Err())
		}
		expect.Rel(t, fmt.Sprintf("distance of pair %d by %d steps", i, g.Steps), g.Length, want, 1e-4)
		most = max(most, g.Steps)
	}
	if most < 50 {
		t.Errorf("at most %d steps", most)
	}
}
