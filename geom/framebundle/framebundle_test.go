package framebundle_test

import (
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/framebundle"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/linalg"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
	"anatomy/kernels"
	"anatomy/landmarks"
)

func TestMain(m *testing.M) {
	geomtest.Main(m, geomtest.Quick,
		TestMostProbablePathNotFound, TestMostProbablePathToTurned, TestMove, TestGeodesic, TestErrors)
}

// stereographic is S² in one chart, by its metric alone.
func stereographic() geom.Metric {
	return geom.MetricFunc(2, func(x *Node) *Node {
		s := AddScalar(ReduceSum(Square(x), -1), 1)
		c := DivScalar(Square(s), 4)
		eye := BroadcastPrefix(linalg.Eye(x.Graph(), x.DType(), 2), x.Shape().Dimensions[:x.Rank()-1]...)
		return Div(eye, ExpandAxes(ExpandAxes(c, -1), -1))
	})
}

// points is the manifold of a few landmarks, with a point and a frame of m vectors.
func points(n, m int) (landmarks.Manifold, framebundle.Point[geom.Vec]) {
	u := framebundle.Point[geom.Vec]{X: make([]float64, 2*n), Frame: make([][]float64, m)}
	for i := range n {
		a := 2 * math.Pi * float64(i) / float64(n)
		u.X[2*i], u.X[2*i+1] = math.Cos(a), 0.7*math.Sin(a)
	}
	for k := range u.Frame {
		u.Frame[k] = wave(2*n, 1.3+0.7*float64(k), 0.4)
	}
	return landmarks.Manifold{N: n, D: 2, Kernel: kernels.Gaussian(0.9)}, u
}

// wave is a vector without structure.
func wave(n int, seed, size float64) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = size * math.Sin(seed*float64(1+i*i))
	}
	return v
}

func waves(m, n int, seed, size float64) [][]float64 {
	v := make([][]float64, m)
	for k := range v {
		v[k] = wave(n, seed+0.6*float64(k), size)
	}
	return v
}

// The cometric is the block matrix of the paper, made here from the array of Christoffel symbols; Hamilton's equations by automatic
// differentiation of its energy are those of Exp_FM.
func TestCometric(t *testing.T) {
	m, u := points(3, 2)
	d, rank := 6, 2
	p, vertical := wave(d, 0.9, 1), waves(rank, d, 2.1, 1)
	out := expect.Must(engine.Run(func(in []*Node) []*Node {
		x, nu, p, vertical := in[0], in[1], in[2], in[3]
		inverseW := linalg.MatMul(linalg.T(nu), nu)
		symbols := geom.ChristoffelSymbols(m, x) // h, j, i
		gamma := Reshape(DotGeneral(nu, []int{1}, nil, symbols, []int{2}, nil), rank*d, d)
		top := Concatenate([]*Node{inverseW, Neg(linalg.MatMul(inverseW, linalg.T(gamma)))}, -1)
		corner := linalg.MatMul(linalg.MatMul(gamma, inverseW), linalg.T(gamma))
		bottom := Concatenate([]*Node{Neg(linalg.MatMul(gamma, inverseW)), corner}, -1)
		printed := Concatenate([]*Node{top, bottom}, 0)
		covector := Concatenate([]*Node{p, Reshape(vertical, rank*d)}, 0)
		h := MulScalar(ReduceAllSum(Mul(covector, linalg.MatVec(printed, covector))), 0.5)
		g := Gradient(h, x, nu, p, vertical)
		field := framebundle.Geodesics(m)(nil, in)
		return []*Node{framebundle.CometricMatrix(m, x, nu), printed,
			field[0], g[2], field[1], g[3], field[2], Neg(g[0]), field[3], Neg(g[1])}
	}, u.X, u.Frame, p, vertical))
	for i := 0; i < len(out); i += 2 {
		expect.Abs(t, []string{"cometric", "x'", "ν'", "p'", "P'"}[i/2], out.Flat(i), out.Flat(i+1), 5e-12)
	}
}

// Along a geodesic energy is constant, h has no other force than that of the curvature, and the frame is parallel.
func TestGeodesic(t *testing.T) {
	lm, lu := points(3, 2)
	for _, c := range []struct {
		name string
		m    geom.Manifold
		u    framebundle.Point[geom.Vec]
		p    framebundle.Momentum[geom.Vec]
	}{
		{"stereographic", stereographic(), framebundle.Point[geom.Vec]{X: []float64{0.3, -0.2}, Frame: [][]float64{{0.8, 0.1}, {-0.2, 0.3}}},
			framebundle.Momentum[geom.Vec]{Horizontal: []float64{0.7, 0.9}, Vertical: [][]float64{{0.4, -0.6}, {0.5, 1.1}}}},
		{"landmarks", lm, lu, framebundle.Momentum[geom.Vec]{Horizontal: wave(6, 0.8, 0.6), Vertical: waves(2, 6, 1.7, 0.5)}},
	} {
		s := framebundle.On(c.m, geom.Integrator(ode.RK4, 60))
		g, err := s.Exp(c.u, c.p)
		if err != nil {
			t.Fatal(err)
		}
		for k, f := range g.Velocities {
			expect.Abs(t, c.name+": energy", floats.Dot(f, f)/2, g.Energy, 1e-8)
			expect.Abs(t, c.name+": velocity", f, []float64{floats.Dot(g.Momenta[k].Horizontal, g.Frames[k][0]), floats.Dot(g.Momenta[k].Horizontal, g.Frames[k][1])}, 1e-12)
		}
		for k := range g.Path {
			gram, err := s.Gram(framebundle.Point[geom.Vec]{X: g.Path[k], Frame: g.Frames[k]})
			if err != nil {
				t.Fatal(err)
			}
			start, _ := s.Gram(c.u)
			expect.Abs(t, c.name+": νᵀgν", gram.RawSymmetric().Data, start.RawSymmetric().Data, 8e-9)
		}
		moved, err := s.Base.TransportAlong(g.Path, c.u.Frame...)
		if err != nil {
			t.Fatal(err)
		}
		for a := range c.u.Frame {
			expect.Abs(t, c.name+": parallel vector", g.Frames[60][a], moved[a][60], 5e-7)
		}
	}
}

// Rolling the sphere along a circle of radius ρ gives a circle with the same geodesic curvature 1/ρ: of angular radius
// atan ρ, after an arc of length s at the longitude s/sin(atan ρ).
func TestDevelopmentOfCircle(t *testing.T) {
	s := framebundle.On(manifold.Sphere(2))
	rho := 0.8
	theta := math.Atan(rho)
	u := framebundle.Point[geom.Vec]{X: []float64{math.Sin(theta), 0, math.Cos(theta)},
		Frame: [][]float64{{0, 1, 0}, {-math.Cos(theta), 0, math.Sin(theta)}}} // along the circle, towards its centre
	var errors []float64
	for _, n := range []int{50, 100} {
		curve := make([][]float64, n+1)
		for k := range curve {
			a := 5 * float64(k) / float64(n)
			curve[k] = []float64{rho * math.Sin(a), rho * (1 - math.Cos(a))}
		}
		d, err := s.Develop(u, curve)
		if err != nil {
			t.Fatal(err)
		}
		phi := 5 * rho / math.Sin(theta)
		want := []float64{math.Sin(theta) * math.Cos(phi), math.Sin(theta) * math.Sin(phi), math.Cos(theta)}
		errors = append(errors, floats.Distance(d.Path[n], want, 2))
	}
	t.Logf("errors %.3g", errors)
	if order := math.Log2(errors[0] / errors[1]); errors[1] > 1e-2 || math.Abs(order-2) > 0.1 {
		t.Errorf("errors %.3g at 50 and 100 pieces: order %.2f, want 2", errors, order)
	}
}

// A straight line develops to the geodesic.
func TestStraightLine(t *testing.T) {
	m, u := points(3, 2)
	s := framebundle.On(m)
	curve := make([][]float64, 26)
	for k := range curve {
		a := float64(k) / 25
		curve[k] = []float64{0.7 * a, -0.4 * a}
	}
	d, err := s.Develop(u, curve)
	if err != nil {
		t.Fatal(err)
	}
	v := make([]float64, 6)
	floats.AddScaled(v, 0.7, u.Frame[0])
	floats.AddScaled(v, -0.4, u.Frame[1])
	g, err := geom.On(m).Exp(u.X, v)
	if err != nil {
		t.Fatal(err)
	}
	expect.Abs(t, "end of the geodesic", d.Path[25], g.Path[25], 1e-7)
}

// A most probable path ends at its target with P = 0, costs no more than its neighbours with the same end, and the
// derivative of its energy by point and frame is minus its momentum.
func TestMostProbablePath(t *testing.T) {
	sphere := manifold.Sphere(2)
	lm, lu := points(3, 6)
	for k, v := range lu.Frame {
		floats.Scale(0.3, v)
		v[k] += 0.4
	}
	lm2, lu2 := points(4, 2)
	for _, c := range []struct {
		name  string
		m     geom.Manifold
		u     framebundle.Point[geom.Vec]
		y     []float64
		sigma float64
	}{
		{"sphere", sphere, framebundle.Point[geom.Vec]{X: []float64{0, 0, 1}, Frame: [][]float64{{0.9, 0, 0}, {0.1, 0.4, 0}}}, []float64{math.Sin(1) * 0.6, math.Sin(1) * 0.8, math.Cos(1)}, 0},
		{"sphere with noise", sphere, framebundle.Point[geom.Vec]{X: []float64{0, 0, 1}, Frame: [][]float64{{0.9, 0.2, 0}}}, []float64{math.Sin(1) * 0.6, math.Sin(1) * 0.8, math.Cos(1)}, 0.3},
		{"landmarks", lm, lu, floats.AddTo(make([]float64, 6), lu.X, wave(6, 2.3, 0.3)), 0},
		{"landmarks with noise", lm2, lu2, floats.AddTo(make([]float64, 8), lu2.X, wave(8, 2.3, 0.3)), 0.1},
	} {
		s := framebundle.On(c.m, geom.Integrator(ode.RK4, 20)) // an even number, for Simpson's rule
		g, err := s.MostProbablePath(c.u, c.y, c.sigma)
		if err != nil {
			t.Fatal(c.name, err)
		}
		t.Logf("%s: energy %.6g, mismatch %.3g, residual %.3g after %d iterations", c.name, g.Energy, g.Mismatch, g.Residual, g.Iterations)
		if g.Status != geom.Converged {
			t.Errorf("%s: %s", c.name, g.Status)
		}
		if c.sigma == 0 {
			expect.Abs(t, c.name+": end", g.End, c.y, 1e-6)
		}
		if c.sigma > 0 {
			steered(t, c.name, s, g, c.y, c.sigma)
		}
		search := framebundle.NewProbable(s, [][]float64{c.y})
		cost := func(u framebundle.Point[geom.Vec]) float64 {
			if c.sigma > 0 {
				return search.From(u, c.sigma, 1e-14).Costs[0]
			}
			g, err := s.MostProbablePath(u, c.y, 0)
			if err != nil {
				t.Fatal(c.name, err)
			}
			return g.Energy
		}
		var slope, want []float64
		const e = 1e-3
		for k, v := range append([][]float64{c.u.Frame[len(c.u.Frame)-1]}, c.u.Frame[:min(2, len(c.u.Frame))]...) {
			at := func(e float64) float64 {
				dx, dframe := make([]float64, len(v)), make([][]float64, len(c.u.Frame))
				for a := range dframe {
					dframe[a] = make([]float64, len(v))
				}
				if k == 0 {
					floats.AddScaled(dx, e, v)
				} else {
					floats.AddScaled(dframe[k-1], e, v)
				}
				return cost(lifted(t, s, c.u, dx, dframe))
			}
			slope = append(slope, (at(e)-at(-e))/(2*e))
			p := g.Momentum.Horizontal
			if k > 0 {
				p = g.Momentum.Vertical[k-1]
			}
			want = append(want, -floats.Dot(p, v))
		}
		expect.Abs(t, c.name+": derivative of the energy", slope, want, 5e-5)
	}
}

// lifted takes x along the geodesic with velocity dx and ν + dν parallel along it.
func lifted(t *testing.T, s *framebundle.Space[geom.Vec], u framebundle.Point[geom.Vec], dx []float64, dframe [][]float64) framebundle.Point[geom.Vec] {
	t.Helper()
	var frame [][]float64
	for k, v := range u.Frame {
		frame = append(frame, floats.AddTo(make([]float64, len(v)), v, dframe[k]))
	}
	g, err := s.Base.Exp(u.X, dx)
	if err != nil {
		t.Fatal(err)
	}
	moved, err := s.Base.Transport(g, frame...)
	if err != nil {
		t.Fatal(err)
	}
	u = framebundle.Point[geom.Vec]{X: g.End}
	for _, path := range moved {
		u.Frame = append(u.Frame, path[len(path)-1])
	}
	return u
}

// The derivatives of a mismatch and of the logarithm of the volume along steps of mean and frame are the differences.
func TestMove(t *testing.T) {
	lm, lu := points(3, 2)
	for _, c := range []struct {
		name   string
		m      geom.Manifold
		u      framebundle.Point[geom.Vec]
		y      []float64
		dx     []float64
		dframe [][]float64
	}{
		{"sphere", manifold.Sphere(2), framebundle.Point[geom.Vec]{X: []float64{0, 0, 1}, Frame: [][]float64{{0.9, 0, 0}, {0.1, 0.4, 0}}}, []float64{0.6, 0, 0.8},
			[]float64{0.4, -0.3, 0}, [][]float64{{0.2, 0.3, 0}, {0, -0.4, 0}}},
		{"landmarks", lm, lu, floats.AddTo(make([]float64, 6), lu.X, wave(6, 2.3, 0.3)), wave(6, 1.9, 0.5), waves(2, 6, 0.7, 0.5)},
	} {
		s := framebundle.On(c.m)
		controls := make([][]float64, 2*s.Base.Steps()+1)
		for j := range controls {
			x := float64(j) / float64(len(controls)-1)
			controls[j] = []float64{0.5 - 0.8*x*x, 0.9*x - 0.4}
		}
		at := func(e float64) (values []float64, pull []framebundle.Momentum[geom.Vec]) {
			dframe := make([][]float64, len(c.dframe))
			for a, v := range c.dframe {
				dframe[a] = floats.ScaleTo(make([]float64, len(v)), e, v)
			}
			u := s.Move(c.u, append([][]float64{floats.ScaleTo(make([]float64, len(c.dx)), e, c.dx)}, dframe...)...)
			mismatch, _, pulled, _ := s.Steer(u, controls, c.y)
			volume, slope := s.LogVolume(u)
			return []float64{-mismatch / 2, volume}, []framebundle.Momentum[geom.Vec]{pulled, slope}
		}
		const e = 1e-4
		ahead, _ := at(e)
		behind, _ := at(-e)
		_, pulls := at(0)
		for k, p := range pulls {
			want := floats.Dot(p.Horizontal, c.dx)
			for a, v := range c.dframe {
				want += floats.Dot(p.Vertical[a], v)
			}
			expect.Abs(t, c.name+": derivative along Move", (ahead[k]-behind[k])/(2*e), want, 1e-6)
		}
	}
}

// steered checks that the path of the controls that a most probable path has is the same, and has its momentum.
func steered(t *testing.T, name string, s *framebundle.Space[geom.Vec], g *framebundle.Geodesic[geom.Vec], y []float64, sigma float64) {
	t.Helper()
	// The velocities between two times are those of the Hamiltonian flow.
	half := framebundle.Over(s.Base.With(geom.Integrator(s.Base.Method(), 2*s.Base.Steps())))
	flow := expect.Must(half.Exp(g.Start, g.Momentum))
	rank, controls := len(g.Start.Frame), flow.Velocities
	expect.Abs(t, name+": velocities of Exp_FM", flow.Velocities[s.Base.Steps()], g.Velocities[s.Base.Steps()/2], 1e-5)
	mismatch, momentum, _, slope := s.Steer(g.Start, controls, y)
	expect.Abs(t, name+": mismatch of the steered path", math.Sqrt(mismatch), math.Sqrt(g.Mismatch), 1e-5)
	flat := func(p framebundle.Momentum[geom.Vec]) (x []float64) {
		x = append(x, p.Horizontal...)
		for _, v := range p.Vertical {
			x = append(x, v...)
		}
		return x
	}
	expect.Abs(t, name+": momentum of the steered path", floats.ScaleTo(make([]float64, len(y)*(rank+1)), 1/(sigma*sigma), flat(momentum)), flat(g.Momentum), 1e-3)
	last := len(controls) - 1
	for j, row := range slope {
		weight := float64(2+2*(j%2)) / float64(3*last) // of Simpson's rule
		if j == 0 || j == last {
			weight /= 2
		}
		for a, slope := range row {
			expect.Abs(t, name+": control", controls[j][a], -slope/(weight*sigma*sigma), 1e-3)
		}
	}
	path, err := s.SteeredPath(g.Start, flow.Velocities)
	if err != nil {
		t.Fatal(err)
	}
	expect.Abs(t, name+": end of the steered path", path.End, g.End, 1e-5)
	expect.Abs(t, name+": energy of the steered path", path.Energy, g.Energy, 1e-4)
}

func TestErrors(t *testing.T) {
	m, u := points(3, 2)
	s := framebundle.On(m)
	sphere := framebundle.On(manifold.Sphere(2))
	curve := [][]float64{{0, 0}, {0.1, 0.2}}
	for _, c := range []struct {
		want string
		call func() error
	}{
		{"a frame of 7 vectors in dimension 6", func() error {
			_, err := s.Develop(framebundle.Point[geom.Vec]{X: u.X, Frame: waves(7, 6, 1, 1)}, curve)
			return err
		}},
		{"a frame of 0 vectors", func() error { _, err := s.Develop(framebundle.Point[geom.Vec]{X: u.X}, curve); return err }},
		{"linearly dependent", func() error {
			_, err := s.Develop(framebundle.Point[geom.Vec]{X: u.X, Frame: [][]float64{u.Frame[0], u.Frame[0]}}, curve)
			return err
		}},
		{"linearly dependent", func() error {
			_, err := s.Exp(framebundle.Point[geom.Vec]{X: u.X, Frame: [][]float64{make([]float64, 6)}}, framebundle.Momentum[geom.Vec]{Horizontal: u.X})
			return err
		}},
		{"point 1 of the curve has 1 coordinates, the frame 2 vectors", func() error {
			_, err := s.Develop(u, [][]float64{{0, 0}, {1}})
			return err
		}},
		{"the curve has 1 points", func() error { _, err := s.Develop(u, curve[:1]); return err }},
		{"coordinate 1 of point 1 of the curve is NaN", func() error {
			_, err := s.Develop(u, [][]float64{{0, 0}, {1, math.NaN()}})
			return err
		}},
		{"1 vertical parts, the frame 2 vectors", func() error {
			_, err := s.Exp(u, framebundle.Momentum[geom.Vec]{Horizontal: u.X, Vertical: waves(1, 6, 1, 1)})
			return err
		}},
		{"the path diverges at step", func() error {
			_, err := s.Exp(u, framebundle.Momentum[geom.Vec]{Horizontal: wave(6, 1, 1e200)})
			return err
		}},
		{"2 frame vectors in dimension 6 reach no given point", func() error { _, err := s.MostProbablePath(u, u.X, 0); return err }},
		{"is not tangent", func() error {
			_, err := sphere.Develop(framebundle.Point[geom.Vec]{X: []float64{0, 0, 1}, Frame: [][]float64{{1, 0, 0.1}}}, [][]float64{{0}, {1}})
			return err
		}},
		{"not on the manifold", func() error {
			_, err := sphere.Develop(framebundle.Point[geom.Vec]{X: []float64{0, 0, 1.1}, Frame: [][]float64{{1, 0, 0}}}, [][]float64{{0}, {1}})
			return err
		}},
	} {
		expect.Refused(t, c.call(), c.want)
	}
}
