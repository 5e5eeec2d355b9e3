package manifold_test

import (
	"math"
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
)

func TestTorus(t *testing.T) {
	t.Parallel()
	geomtest.Run(t, manifold.Torus(2, 0.8), []float64{2.8, 0, 0}, []float64{0, 2, -0.8})
}

// Gauss's curvature is (ρ − R)/(r² ρ); Clairaut: ρ² φ' is constant along a geodesic, many times round the tube.
func TestTorusCurvatureAndClairaut(t *testing.T) {
	t.Parallel()
	m := manifold.Torus(2, 0.5)
	out := tilted(t, m, func(c geom.Chart, x *Node) *Node {
		induced := geom.FromImmersion(geom.ImmersionFunc(2, c.Point)).G(x)
		return Stack([]*Node{geom.ScalarCurvature(c, x), ReduceMax(Abs(Sub(induced, geom.MetricMatrix(c, x))), -1, -2)}, -1)
	}, []float64{2.5, 0, 0}, []float64{0, 1.5, 0}, []float64{-2, 0, 0.5})
	for i, v := range out.Matrix(0) {
		p := out.Matrix(1)[i]
		rho := math.Hypot(p[0], p[1])
		expect.Abs(t, "scalar curvature", v[0], 2*(rho-2)/(0.25*rho), 1e-10)
		expect.Abs(t, "induced metric", v[1], 0, 1e-12)
	}

	g := expect.Must(geom.On(m, geom.Integrator(ode.RK4, 400)).Exp([]float64{2.5, 0, 0}, []float64{0, 6, 8}))
	for k, p := range g.Path {
		v := g.Momenta[k] // of an induced metric: the velocity in R³
		expect.Abs(t, "ρ² φ'", p[0]*v[1]-p[1]*v[0], 15, 1e-5)
		expect.Abs(t, "speed", math.Sqrt(v[0]*v[0]+v[1]*v[1]+v[2]*v[2]), 10, 1e-5)
	}
}

// At half a turn around the tube, but not along the circle alone, one way round is shorter: it crosses the inner circle, with ρ² φ' = c and
//
//	φ = ∫ c r/(ρ √(ρ² − c²)) dθ,  length ∫ r ρ/√(ρ² − c²) dθ.
func TestTorusHalfATurnAroundTheTube(t *testing.T) {
	const R, r, phi = 2, 1, 0.8
	along := func(c float64) (turn, length float64) {
		const n = 400 // Simpson's rule
		for k := range n + 1 {
			weight := math.Pi / n / 3 * []float64{2, 4}[k%2]
			if k == 0 || k == n {
				weight /= 2
			}
			rho := R + r*math.Cos(math.Pi/2+math.Pi*float64(k)/n)
			root := math.Sqrt(rho*rho - c*c)
			turn += weight * c * r / (rho * root)
			length += weight * r * rho / root
		}
		return turn, length
	}
	low, high := 0., 0.9999
	for high-low > 1e-13 {
		c := (low + high) / 2
		if turn, _ := along(c); turn < phi {
			low = c
		} else {
			high = c
		}
	}
	turn, length := along(low)
	expect.Abs(t, "angle by Clairaut", turn, phi, 1e-9)
	s := geom.On(manifold.Torus(R, r), geom.Integrator(ode.RK4, 60))
	sin, cos := math.Sincos(phi)
	top, bottom := []float64{R, 0, r}, []float64{R * cos, R * sin, -r}
	for k, pair := range [][2][]float64{{top, bottom}, {bottom, top}} {
		g := expect.Must(s.Log(pair[0], pair[1]))
		if g.Status != geom.Converged {
			t.Errorf("pair %d: %v", k, g)
		}
		expect.Abs(t, "length", g.Length, length, 1e-5)
	}
	// Half a turn along the circle both ways are as long: the chart at the end does not reach the start, but curves over other charts do.
	half := expect.Must(s.Log([]float64{R + r, 0, 0}, []float64{-R - r, 0, 0}))
	if half.Status != geom.Converged || half.Length > math.Pi*(R+r)*(1+1e-6) {
		t.Errorf("half a turn: %v, longer than around the outer circle", half)
	}
}

// On a thin torus the geodesics over and under the tube are close together, and many lead around the hole. Log finds the shortest, and the same
// from either end: 2.675276 and 2.445005 are the shortest of 360 geodesics drawn from the first two points.
func TestLogOnAThinTorus(t *testing.T) {
	t.Parallel()
	s := geom.On(manifold.Torus(1, 0.3))
	project := func(z ...float64) []float64 {
		z, _, err := s.Project(z)
		return expect.Must(z, err)
	}
	x := [][]float64{project(-1.038878, 0.173853, 0.295223), project(0.844912, -0.950161, -0.127649)}
	y := [][]float64{project(1.241439, 0.375317, -0.042794), project(-0.609293, 0.350792, 0.042737)}
	random := rand.New(rand.NewPCG(201, 5))
	for range 10 {
		for _, points := range []*[][]float64{&x, &y} {
			sinU, cosU := math.Sincos(2 * math.Pi * random.Float64())
			sinV, cosV := math.Sincos(2 * math.Pi * random.Float64())
			*points = append(*points, []float64{(1 + 0.3*cosV) * cosU, (1 + 0.3*cosV) * sinU, 0.3 * sinV})
		}
	}
	there, back := expect.Must(s.LogAll(x, y)), expect.Must(s.LogAll(y, x))
	for i, g := range there {
		if g.Err() != nil || back[i].Err() != nil {
			t.Errorf("pair %d: %v, %v", i, g, back[i])
		}
		expect.Rel(t, "length back", back[i].Length, g.Length, 1e-5)
	}
	expect.Rel(t, "length", []float64{there[0].Length, there[1].Length}, []float64{2.675276, 2.445005}, 1e-5)
}
