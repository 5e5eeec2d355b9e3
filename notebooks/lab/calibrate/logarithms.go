package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"

	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom"
	"anatomy/geom/geomtest/heat"
	"anatomy/geom/lie"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
	"anatomy/geom/stochastic"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/morpho"
)

// logarithms takes random pairs there and back.
func logarithms(b *bench) {
	b.text("Each line has pairs of random points, with logarithms in both directions; there are a twentieth as many pairs of outlines of real bones. *stalled* is the share of logarithms with this status. *missed* is the share with the status *converged* whose Exp ends more than 1e-8 from its target. *longer* is the share of converged geodesics that are a thousandth longer than the way back, or than the closed form, and still are with 100 steps instead of 25.")
	b.header("manifold", "pairs", "stalled", "missed", "longer", "geomstats: missed", "longer", "jaxgeometry: missed", "longer")
	for _, c := range pairings() {
		try.Do(try.Name(try.Run(func() { b.pairing(c) }), "%s", c.name))
	}
}

// pairing is a row of logarithms.
func (b *bench) pairing(c pairing) {
	s := geom.On(c.m)
	x, y := c.draw(s, b.random(0), max(1, b.pairs/c.share))
	points, targets := slices.Concat(x, y), slices.Concat(y, x)
	there, err := s.LogAll(points, targets)
	if err != nil {
		b.row("%s | %d | refused: %v | | | | | | ", c.name, len(x), err)
		return
	}
	var closed []*geom.Geodesic[geom.Vec]
	if c.closed != nil {
		closed = try.Get(geom.On(c.closed).LogAll(points, targets))
	}
	ends := ends(s, there)
	stalled, open := 0, 0
	var suspects []int
	for i, g := range there {
		if g.Status != geom.Converged {
			stalled++
			continue
		}
		if !(apart(c.shapes, ends[i], targets[i]) <= 1e-8) {
			open++
		}
		if tooLong(there, closed, i) {
			suspects = append(suspects, i)
		}
	}
	longer := stillLonger(s, suspects, points, targets, there, closed)
	b.row("%s | %d | %s | %s | %s | %s | %s", c.name, len(x), share(stalled, len(there)), share(open, len(there)), share(longer, len(there)),
		b.rival("geomstats", c.rivals[0], points), b.rival("jaxgeometry", c.rivals[1], points))
}

// draw draws pairs of points.
func (c pairing) draw(s *geom.Space[geom.Vec], random *rand.Rand, pairs int) (x, y [][]float64) {
	var points [][]float64
	for len(points) < 2*pairs {
		x := c.ambient(random)
		if geom.IsCharted(c.m) {
			projected, _, err := s.Project(x)
			if err != nil {
				continue // a matrix that reverses the orientation
			}
			x = projected
		}
		if k := len(points) - pairs; k >= 0 && slices.Equal(x, points[k]) {
			continue // the same bone twice
		}
		points = append(points, x)
	}
	return points[:pairs], points[pairs:]
}

// pairings are the manifolds of the table.
func pairings() []pairing {
	sphere, hyperbolic, spd := manifold.Sphere(2), manifold.Hyperbolic(2), manifold.SPD(3)
	rotations := try.Get(lie.SO(3).LeftInvariant(nil))
	top := try.Get(lie.SO(3).LeftInvariant([][]float64{{1, 0, 0}, {0, 2, 0}, {0, 0, 3}}))
	rigid := try.Get(lie.SE(3).LeftInvariant(nil))
	integrated := func(m geom.Charted) geom.Charted { return struct{ geom.Charted }{m} }
	all := []pairing{
		{"sphere", 1, sphere, nil, [2]string{"sphere", "sphere"}, false, gaussian(3, 1)},
		{"sphere, by integration", 1, integrated(sphere), sphere, [2]string{}, false, gaussian(3, 1)},
		{"hyperbolic plane, by integration", 1, integrated(hyperbolic), hyperbolic, [2]string{}, false, func(random *rand.Rand) []float64 {
			v := gaussian(2, 1)(random)
			return []float64{math.Sqrt(1 + floats.Dot(v, v)), v[0], v[1]}
		}},
		{"SPD(3)", 1, spd, nil, [2]string{"spd"}, false, positive},
		{"SPD(3), by integration", 1, integrated(spd), spd, [2]string{}, false, positive},
		{"triangles (Kendall)", 1, integrated(manifold.Kendall(3, 2)), manifold.Kendall(3, 2), [2]string{}, true, gaussian(6, 1)},
		{"SO(3)", 1, rotations, nil, [2]string{"rotations"}, false, gaussian(9, 1)},
		{"SO(3), by integration", 1, integrated(rotations), rotations, [2]string{}, false, gaussian(9, 1)},
		{"SO(3), moments 1, 2, 3", 1, top, nil, [2]string{}, false, gaussian(9, 1)},
		{"SE(3)", 1, rigid, nil, [2]string{}, false, func(random *rand.Rand) []float64 {
			v := gaussian(12, 1)(random)
			return append(v, 0, 0, 0, 1)
		}},
		{"torus 1, 0.45", 1, manifold.Torus(1, 0.45), nil, [2]string{}, false, gaussian(3, 1)},
		{"cylinder", 1, manifold.Cylinder(1), nil, [2]string{}, false, gaussian(3, 1)},
		{"ellipsoid 1, 1, 3", 1, manifold.Ellipsoid(1, 1, 3), nil, [2]string{}, false, gaussian(3, 1)},
		{"5 landmarks, 0.3 around a regular pentagon of radius 1, kernel 0.5", 1, landmarks.Manifold{N: 5, D: 2, Kernel: kernels.Gaussian(0.5)}, nil, [2]string{1: "landmarks"}, false, pentagon},
	}
	bones, spacing := vertebrae()
	for _, spacings := range []float64{1, 1.5, 2, 3} {
		all = append(all, pairing{fmt.Sprintf("vertebrae of mice, 60 landmarks, kernel of %g spacings", spacings), 20,
			landmarks.Manifold{N: 60, D: 2, Kernel: kernels.Gaussian(spacings * spacing)}, nil, [2]string{}, false,
			func(random *rand.Rand) []float64 { return bones[random.IntN(len(bones))] }})
	}
	return all
}

// ends shoots the momenta of geodesics again, each with its own number of steps, which Log may have chosen.
func ends(s *geom.Space[geom.Vec], geodesics []*geom.Geodesic[geom.Vec]) [][]float64 {
	of := map[int][]int{} // by steps
	for i, g := range geodesics {
		of[g.Steps] = append(of[g.Steps], i)
	}
	out := make([][]float64, len(geodesics))
	for _, which := range of {
		var starts, momenta [][]float64
		for _, i := range which {
			starts, momenta = append(starts, geodesics[i].Start), append(momenta, geodesics[i].Momentum)
		}
		steady := s.Steady(geodesics[which[0]])
		shot := try.Get(steady.Call(shooting{steady.Steps()}, func(in []*graph.Node) []*graph.Node {
			end, _ := steady.FlowMap(in[0], in[1])
			return []*graph.Node{end}
		}, starts, momenta))
		for k, end := range shot.Matrix(0) {
			out[which[k]] = end
		}
	}
	return out
}

// tooLong: geodesic i is by a thousandth longer than the way back, where that converged, or than the closed form.
func tooLong(there, closed []*geom.Geodesic[geom.Vec], i int) bool {
	length := math.Inf(1)
	if back := there[(i+len(there)/2)%len(there)]; back.Status == geom.Converged {
		length = back.Length
	}
	if closed != nil {
		length = math.Min(length, closed[i].Length)
	}
	return there[i].Length > length*(1+1e-3)
}

// stillLonger counts the geodesics of a list that are too long also with four times the steps: what 25 steps make too long is an
// error of integration, of which Drift tells.
func stillLonger(s *geom.Space[geom.Vec], suspects []int, x, y [][]float64, there, closed []*geom.Geodesic[geom.Vec]) (longer int) {
	if len(suspects) == 0 {
		return 0
	}
	both := slices.Clone(there)
	var again []int
	var from, to, guess [][]float64
	for _, i := range suspects {
		again = append(again, i, (i+len(there)/2)%len(there))
	}
	for _, i := range again {
		from, to, guess = append(from, x[i]), append(to, y[i]), append(guess, there[i].Velocity)
	}
	for k, g := range try.Get(s.With(geom.Integrator(ode.RK4, 100)).LogFrom(from, to, guess)) {
		both[again[k]] = g
	}
	for _, i := range suspects {
		if tooLong(both, closed, i) {
			longer++
		}
	}
	return longer
}

// pairing is a line of the table: a manifold with points on it.
type pairing struct {
	name    string
	share   int // one in so many of the pairs
	m       geom.Manifold
	closed  geom.Manifold // nil: none
	rivals  [2]string     // the name in rivals.py for geomstats and jaxgeometry
	shapes  bool          // of Kendall's space
	ambient func(random *rand.Rand) []float64
}

// vertebrae are those of mice whose outlines have all points in order, after Procrustes analysis, with their mean spacing.
func vertebrae() (shapes [][]float64, spacing float64) {
	data := morpho.MouseVertebrae()
	look := try.Get(morpho.Inspect(data))
	aligned := try.Get(morpho.Procrustes(data.Without(look.Names(morpho.OutOfOrder)...).Shapes()))
	for _, s := range aligned.Shapes {
		shapes = append(shapes, slices.Concat(s...))
	}
	return shapes, morpho.MeanSpacing(aligned.Mean, true)
}

// shooting is a key of Space.Call.
type shooting struct{ steps int }

// apart is how far numbers are apart, with configurations of Kendall's space in optimal position.
func apart(shapes bool, x, y []float64) float64 {
	if shapes {
		var re, im float64 // of ⟨x, y⟩
		for i := 0; i < len(x); i += 2 {
			re, im = re+x[i]*y[i]+x[i+1]*y[i+1], im+x[i]*y[i+1]-x[i+1]*y[i]
		}
		size := math.Hypot(re, im)
		turned := make([]float64, len(x))
		for i := 0; i < len(x); i += 2 {
			turned[i], turned[i+1] = (re*x[i]-im*x[i+1])/size, (im*x[i]+re*x[i+1])/size
		}
		x = turned
	}
	return floats.Distance(x, y, 2)
}

// positive is A Aᵀ for a matrix A of normal numbers, which may be close to singular.
func positive(random *rand.Rand) []float64 {
	a := gaussian(9, 1)(random)
	p := make([]float64, 9)
	for i := range 3 {
		for j := range 3 {
			p[3*i+j] = floats.Dot(a[3*i:3*i+3], a[3*j:3*j+3])
		}
	}
	return p
}

//go:embed rivals.py
var script string

// rival takes the same pairs there and back by another library; the answer are two cells.
func (b *bench) rival(library, manifold string, points [][]float64) string {
	if manifold == "" || b.python == "" {
		return "– | –"
	}
	out, err := b.ask(script, points, library+"/"+manifold)
	if try.Do(try.Name(err, "%s", library)); out == "" {
		return "– | –"
	}
	var open, longer int
	if _, err := fmt.Sscan(out, &open, &longer); err != nil {
		try.Do(fmt.Errorf("%s: answer %q: %w", library, out, err))
	}
	return share(open, len(points)) + " | " + share(longer, len(points))
}

// ask runs a script of Python, to which it gives data, and returns what it prints; nothing where a library is absent.
func (b *bench) ask(script string, data any, args ...string) (string, error) {
	c := exec.Command(b.python, append([]string{"-c", script}, args...)...)
	c.Stdin = bytes.NewReader(try.Get(json.Marshal(data)))
	out, err := c.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return strings.TrimPrefix(strings.TrimSpace(string(out)), "absent"), err
}

// densities holds bridges against heat kernels.
func densities(b *bench) {
	const paths, steps = 100, 100
	b.text("Each line has %d likelihoods, each from %d bridges with %d steps and its own noise. *bias* is the logarithm of the mean of all likelihoods minus log p, with its standard error; *z* is the bias in standard errors. The remaining bias is the error of the time step. *covered* is the share of single likelihoods whose interval of two standard errors contains the closed form, among those with a finite standard error; it should be 95 %%. *finite* is the share with a finite standard error.", b.seeds, paths, steps)
	b.header("manifold", "T", "distance", "log p", "bias", "z", "standard error (median)", "covered", "finite", "effective size (median) of 100")
	rotations := try.Get(lie.SO(3).LeftInvariant(nil))
	great := func(d int) func(r float64) []float64 {
		return func(r float64) []float64 {
			x := make([]float64, d+1)
			x[0], x[1] = math.Cos(r), math.Sin(r)
			return x
		}
	}
	outer := func(r float64) []float64 { // along the outer equator of the torus
		return []float64{1.45 * math.Cos(r/1.45), 1.45 * math.Sin(r/1.45), 0}
	}
	for _, c := range []struct {
		name      string
		m         geom.Manifold
		point     func(r float64) []float64 // at a distance from point(0)
		log       func(T, r float64) float64
		distances []float64
		times     []float64
	}{
		{"S¹", manifold.Sphere(1), great(1), circleKernel, []float64{0, 3}, []float64{0.5, 2, 4}},
		{"S²", manifold.Sphere(2), great(2), sphereKernel, []float64{0.5, 2.5}, []float64{0.2, 1, 3}},
		{"S³", manifold.Sphere(3), great(3), sphere3Kernel, []float64{0.5, 2.5}, []float64{0.2, 1, 3}},
		{"SO(3)", rotations, about, rotationKernel, []float64{0.5, 3}, []float64{0.5, 2, 4}},
		{"H³", manifold.Hyperbolic(3), func(r float64) []float64 { return []float64{math.Cosh(r), math.Sinh(r), 0, 0} }, hyperbolicKernel, []float64{0.5, 3}, []float64{0.5, 2}},
		{"torus 1, 0.45", manifold.Torus(1, 0.45), outer, torusKernel, []float64{0.5, 1.5}, []float64{0.05, 0.2, 1}},
		{"Heisenberg", manifold.Heisenberg(), func(r float64) []float64 { return []float64{r, 0, 0} }, func(T, r float64) float64 { return math.NaN() }, []float64{0.5}, []float64{0.5}},
	} {
		for _, T := range c.times {
			for _, r := range c.distances {
				all, err := stochastic.LogLikelihood(geom.On(c.m), stochastic.Guided, c.point(0), slices.Repeat([][]float64{c.point(r)}, b.seeds), stochastic.Run{Paths: paths, Steps: steps, Time: T, Seed: b.seed})
				if _, sub := c.m.(geom.SubRiemannian); sub && err != nil {
					b.row("%s | %g | %g | refused: %v | | | | | |", c.name, T, r, err)
					continue
				}
				try.Do(try.Name(err, "%s, T = %g, distance %g", c.name, T, r))
				b.row("%s | %g | %g | %s", c.name, T, r, against(c.log(T, r), all))
			}
		}
	}
}

// against are the cells that compare likelihoods with the closed form.
func against(want float64, all []stochastic.Likelihood) string {
	var ratios, errors, sizes []float64
	covered, told := 0, 0
	for _, l := range all {
		ratios, errors, sizes = append(ratios, math.Exp(l.Log-want)), append(errors, l.StandardError), append(sizes, l.EffectiveSize)
		if math.IsInf(l.StandardError, 1) {
			continue
		}
		told++
		if math.Abs(l.Log-want) <= 2*l.StandardError+1e-9 {
			covered++
		}
	}
	mean, deviation := stat.MeanStdDev(ratios, nil)
	se := deviation / math.Sqrt(float64(len(ratios))) / mean
	z := "exact"
	if se > 1e-9 {
		z = fmt.Sprintf("%.1f", math.Log(mean)/se)
	}
	return fmt.Sprintf("%.3f | %.4f ± %.4f | %s | %.2g | %s | %s | %.0f", want, math.Log(mean), se, z,
		median(errors), share(covered, max(told, 1)), share(told, len(all)), median(sizes))
}

func median(x []float64) float64 {
	x = slices.Clone(x)
	slices.Sort(x)
	return x[len(x)/2]
}

// series is Σ term(l) for l = 0, …, 99.
func series(term func(l float64) float64) float64 {
	return lists.Sum(100, func(l int) float64 { return term(float64(l)) })
}

// about is the rotation by an angle about the third axis.
func about(angle float64) []float64 {
	sin, cos := math.Sincos(angle)
	return []float64{cos, -sin, 0, sin, cos, 0, 0, 0, 1}
}

// The heat kernels are those of ½Δ, as logarithms.

func circleKernel(T, r float64) float64 {
	sum := lists.Sum(61, func(k int) float64 { return math.Exp(-math.Pow(r+2*math.Pi*float64(k-30), 2) / (2 * T)) })
	return math.Log(sum / math.Sqrt(2*math.Pi*T))
}

func sphereKernel(T, r float64) float64 { return math.Log(heat.Kernel(T, math.Cos(r))) }

// sphere3Kernel is Σ (l+1) sin((l+1)r)/(2π² sin r) e^{−l(l+2)T/2}.
func sphere3Kernel(T, r float64) float64 {
	sum := series(func(l float64) float64 { return (l + 1) * math.Sin((l+1)*r) * math.Exp(-l*(l+2)*T/2) })
	return math.Log(sum / (2 * math.Pi * math.Pi * math.Sin(r)))
}

// rotationKernel is Σ (2l+1) sin((l+½)r)/(8π² sin(r/2)) e^{−l(l+1)T/2}.
func rotationKernel(T, r float64) float64 {
	sum := series(func(l float64) float64 { return (2*l + 1) * math.Sin((l+0.5)*r) * math.Exp(-l*(l+1)*T/2) })
	return math.Log(sum / (8 * math.Pi * math.Pi * math.Sin(r/2)))
}

// hyperbolicKernel is (2πT)^{−3/2} r/sinh r e^{−T/2 − r²/2T}.
func hyperbolicKernel(T, r float64) float64 {
	return math.Log(r/math.Sinh(r)) - 1.5*math.Log(2*math.Pi*T) - T/2 - r*r/(2*T)
}

// torusKernel is that of the torus of radii 1 and 0.45 between points of its outer equator: a Fourier series around the axis,
// Σ_m a_m(T) cos m φ, where a_m solves the heat equation around the tube, by its values at equidistant angles and the
// derivatives of trigonometric interpolation.
func torusKernel(T, distance float64) float64 {
	const (
		R, r = 1., 0.45
		n    = 48
	)
	h := 2 * math.Pi / n
	derivative, second := mat.NewDense(n, n, nil), mat.NewDense(n, n, nil)
	for i := range n {
		for j := range n {
			if half, sign := float64(i-j)*h/2, math.Pow(-1, float64(i-j)); i != j {
				derivative.Set(i, j, 0.5*sign/math.Tan(half))
				second.Set(i, j, -0.5*sign/math.Pow(math.Sin(half), 2))
			}
		}
		second.Set(i, i, -n*n/12.-1./6)
	}
	sum := 0.0
	for m := range 60 {
		generator := mat.NewDense(n, n, nil)
		for i := range n {
			sin, cos := math.Sincos(float64(i) * h)
			rho := R + r*cos
			for j := range n {
				generator.Set(i, j, T/2*(second.At(i, j)/(r*r)-sin/(r*rho)*derivative.At(i, j)))
			}
			generator.Set(i, i, generator.At(i, i)-T/2*float64(m*m)/(rho*rho))
		}
		var flow mat.Dense
		flow.Exp(generator)
		term := flow.At(0, 0) / h / (2 * math.Pi * r * (R + r))
		if m > 0 {
			term *= 2 * math.Cos(float64(m)*distance/(R+r))
		}
		sum += term
	}
	return math.Log(sum)
}
