package kernels_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/engine"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/linalg"
	"anatomy/geom/shape"
	"anatomy/kernels"
)

// cloud is n points on an ellipsoid with half axes 1, 0.8, 0.6 (an ellipse, an interval), and momenta.
func cloud(n, dim int, seed uint64) (x, p [][]float64) {
	r := rand.New(rand.NewPCG(seed, 1))
	for range n {
		a, b, norm := make([]float64, dim), make([]float64, dim), 0.
		for k := range a {
			a[k], b[k] = r.NormFloat64(), (1+r.NormFloat64())/float64(n)
			norm += a[k] * a[k]
		}
		for k := range a {
			if a[k] *= []float64{1, .8, .6}[k]; dim > 1 {
				a[k] /= math.Sqrt(norm)
			}
		}
		x, p = append(x, a), append(p, b)
	}
	return x, p
}

func TestExpansions(t *testing.T) {
	for _, c := range []struct {
		kernel    kernels.Kernel
		dim       int
		tolerance float64
	}{
		{kernels.Gaussian(0.5), 3, 1e-6},
		{kernels.Gaussian(0.5), 2, 1e-10},
		{kernels.Gaussian(0.3), 1, 1e-6},
		{kernels.Gaussian(0.5, 0.4, 0.7), 3, 1e-4},
		{kernels.Gaussian(3), 3, 1e-8},
		{kernels.Cauchy(0.7), 1, 1e-6},
		{kernels.Cauchy(0.7), 2, 1e-6},
		{kernels.Laplace(3, 0.3), 2, 1e-4},
		{kernels.Sum([]float64{1, 0.5}, kernels.Gaussian(1), kernels.Gaussian(0.3)), 2, 1e-6},
	} {
		x, p := cloud(700, c.dim, 3)
		k, err := kernels.Expand(c.kernel, kernels.Extent(x), c.tolerance)
		if err != nil {
			t.Errorf("%s: %v", c.kernel, err)
			continue
		}
		y := x[:50]
		out, err := engine.Run(func(x, p, y *Node) []*Node {
			v, f := c.kernel.Hamilton(x, p)
			ve, fe := k.Hamilton(x, p)
			return []*Node{v, ve, f, fe, c.kernel.Sum(y, x, p), k.Sum(y, x, p)}
		}, x, p, y)
		if err != nil {
			t.Fatal(err)
		}
		for i, what := range []string{"velocity", "force", "sum"} {
			expect.Rel(t, fmt.Sprintf("%s dim %d: %s", k, c.dim, what), out.Flat(2*i+1), out.Flat(2*i), c.tolerance*20)
		}
	}
}

// The closed forms of a Gaussian and of Matérn's kernel c + 1/2: F(q) = 8π^(3/2) Γ(c + 2)/Γ(c + 1/2) (1 + q²)^−(c + 2).
func TestRadialTransform(t *testing.T) {
	for _, c := range []struct {
		kernel         kernels.Kernel
		reach, highest float64
		want           func(q float64) float64
		tolerance      float64 // of F(0)
	}{
		{kernels.Gaussian(1), 9, 8, func(q float64) float64 { return math.Pow(2*math.Pi, 1.5) * math.Exp(-q*q/2) }, 1e-13},
		{kernels.Laplace(3, 1), 45, 30, func(q float64) float64 {
			return 8 * math.Pow(math.Pi, 1.5) * math.Gamma(5) / math.Gamma(3.5) * math.Pow(1+q*q, -5)
		}, 1e-11},
	} {
		f := kernels.RadialTransform(c.kernel, c.reach, c.highest)
		got, want := make([]float64, 1000), make([]float64, 1000)
		for i := range got {
			q := c.highest * float64(i) / 999
			got[i], want[i] = f(q)/c.want(0), c.want(q)/c.want(0)
		}
		expect.Abs(t, c.kernel.String(), got, want, c.tolerance)
	}
}

// The coefficients of a Gaussian, which come from products of those along the axes, and of Matérn's kernel, which come from a radial
// transform in three dimensions and from samples in others, are those of Poisson's formula.
func TestCoefficients(t *testing.T) {
	for _, extent := range [][]float64{{2, 1.5, 1}, {2, 1.5}, {2, 0, 1}} {
		d := 0.0
		for _, e := range extent {
			if e > 0 {
				d++
			}
		}
		// ν = 7/2
		matern := math.Pow(4*math.Pi, d/2) * math.Gamma(3.5+d/2) / math.Gamma(3.5)
		for _, c := range []struct {
			kernel           func(widths ...float64) kernels.Kernel
			widths           []float64
			tolerance, least float64                      // of the expansion, and of a coefficient
			transform        func(square float64) float64 // of the frequency times the width
		}{
			{kernels.Gaussian, []float64{0.2, 0.25, 0.3}, 1e-9, 1e-14, func(square float64) float64 { return math.Pow(2*math.Pi, d/2) * math.Exp(-square/2) }},
			{func(w ...float64) kernels.Kernel { return kernels.Laplace(3, w...) }, []float64{0.04, 0.03, 0.05}, 1e-4, 1e-9, func(square float64) float64 { return matern * math.Pow(1+square, -3.5-d/2) }},
		} {
			widths := c.widths[:len(extent)]
			k := expect.Must(kernels.Expand(c.kernel(widths...), extent, c.tolerance))
			got := kernels.Coefficients(k)
			want := make([]float64, len(got))
			for i := range got {
				rest, square := i, 0.0
				want[i] = 1
				for a := len(extent) - 1; a >= 0; a-- {
					j := rest % (k.Modes[a] + 1)
					rest /= k.Modes[a] + 1
					if extent[a] == 0 {
						continue
					}
					square += math.Pow(2*math.Pi*float64(j)/k.Period[a]*widths[a], 2)
					want[i] *= widths[a] / k.Period[a]
					if j > 0 {
						want[i] *= 2
					}
				}
				want[i] *= c.transform(square)
			}
			expect.Abs(t, fmt.Sprintf("%s over %v", k.Kernel, extent), got, want, c.least)
		}
	}
}

// A sum of Gaussians is the Cauchy kernel, a Gaussian and their sum to the tolerance, in units of K(0) and of the greatest slope, with
// as many terms for each of its digits.
func TestMixture(t *testing.T) {
	cauchy := func(s float64) (float64, float64) { return 1 / (1 + s), -1 / ((1 + s) * (1 + s)) }
	for _, tolerance := range []float64{1e-2, 1e-4, 1e-7, 1e-10, 1e-13} {
		for _, c := range []struct {
			kernel kernels.Kernel
			at     func(s float64) (value, slope float64)
			terms  float64 // at most, for each factor e of the tolerance
		}{
			{kernels.Gaussian(1), func(s float64) (float64, float64) { v := math.Exp(-s / 2); return v, -v / 2 }, 1},
			{kernels.Cauchy(1), cauchy, 6},
			{kernels.Sum([]float64{2, 1}, kernels.Cauchy(1), kernels.Gaussian(2)), func(s float64) (float64, float64) {
				k, slope := cauchy(s)
				v := math.Exp(-s / 8)
				return 2*k + v, 2*slope - v/8
			}, 6},
		} {
			at, terms := kernels.Mixture(c.kernel, tolerance)
			if terms == 0 || float64(terms) > -c.terms*math.Log(tolerance) {
				t.Errorf("%s to %g in %d terms", c.kernel, tolerance, terms)
			}
			for i := range 2000 {
				r := 100 * math.Pow(float64(i)/2000, 4)
				value, slope := at(r * r)
				wantValue, wantSlope := c.at(r * r)
				top, _ := c.at(0)
				// The slopes by the distance are at most 0.6 of the top.
				if math.Abs(value-wantValue) > tolerance*top || 2*r*math.Abs(slope-wantSlope) > 0.6*tolerance*top {
					t.Fatalf("%s to %g: %.3g and %.3g off at the distance %g", c.kernel, tolerance, value-wantValue, 2*r*(slope-wantSlope), r)
				}
			}
		}
	}
}

// A grid sums the plane waves of an expansion. Its first and second derivatives are those of what it computes, and of the kernel.
func TestGrids(t *testing.T) {
	for _, c := range []struct {
		kernel    kernels.Kernel
		dim       int
		tolerance float64
	}{
		{kernels.Gaussian(0.2), 3, 1e-6},
		{kernels.Gaussian(0.05), 2, 1e-6},
		{kernels.Gaussian(0.05), 1, 1e-9},
		{kernels.Laplace(3, 0.2), 2, 1e-4},
	} {
		x, p := cloud(300, c.dim, 3)
		_, u := cloud(300, c.dim, 6)
		_, w := cloud(300, c.dim, 7)
		k, err := kernels.Grid(c.kernel, kernels.Extent(x), c.tolerance)
		if err != nil {
			t.Errorf("%s: %v", c.kernel, err)
			continue
		}
		// pairing is ⟨v, u⟩ + ⟨f, w⟩ at (x, p) moved by s(u, w)/10, and its first two derivatives by s.
		f := engine.Compile(func(x, p, u, w, s *Node) []*Node {
			x, p = Add(x, Mul(MulScalar(u, 0.1), s)), Add(p, Mul(MulScalar(w, 0.1), s))
			v, f := k.Hamilton(x, p)
			pairing := Add(ReduceAllSum(Mul(v, u)), ReduceAllSum(Mul(f, w)))
			along := func(y *Node) *Node {
				g := Gradient(y, x, p)
				return MulScalar(Add(ReduceAllSum(Mul(g[0], u)), ReduceAllSum(Mul(g[1], w))), 0.1)
			}
			first := along(pairing)
			ve, fe := c.kernel.Hamilton(x, p)
			exact := along(Add(ReduceAllSum(Mul(ve, u)), ReduceAllSum(Mul(fe, w))))
			y := SliceAxis(x, 0, AxisRange(0, 70))
			return []*Node{pairing, first, along(first), v, ve, f, fe, k.Sum(y, x, p), c.kernel.Sum(y, x, p), exact, along(exact)}
		})
		at := func(s float64) engine.Values {
			out, err := f.Call(x, p, u, w, s)
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		here := at(0)
		// The slope of the bump has about one digit less than the bump.
		for i, what := range []string{"velocity", "force", "sum"} {
			expect.Rel(t, fmt.Sprintf("%s: %s", k, what), here.Flat(3+2*i), here.Flat(4+2*i), c.tolerance*[]float64{1, 5, 1}[i])
		}
		// Where it ends, the bump's second derivative jumps by about the tolerance.
		const h = 0.02
		a, b, cc, d := at(h), at(-h), at(2*h), at(-2*h)
		for i, what := range []string{"first", "second"} {
			want := (8*(a.Scalar(i)-b.Scalar(i)) - cc.Scalar(i) + d.Scalar(i)) / (12 * h)
			expect.Rel(t, fmt.Sprintf("%s: %s derivative against differences", k, what), here.Scalar(i+1), want, []float64{2e-6, math.Max(1e-4, 2*c.tolerance)}[i])
			expect.Rel(t, fmt.Sprintf("%s: %s derivative", k, what), here.Scalar(i+1), here.Scalar(9+i), c.tolerance*[]float64{1, 50}[i])
		}
	}
}

// A kernel that is split sums as the whole does, with first and second derivatives, of which the grids have fewer digits.
func TestNearFar(t *testing.T) {
	for _, c := range []struct {
		kernel    kernels.Kernel
		dim       int
		tolerance float64
		radii     []float64
	}{
		{kernels.Cauchy(0.1), 1, 1e-6, []float64{3}},
		{kernels.Sum([]float64{1, 2}, kernels.Laplace(2, 0.2, 0.3), kernels.Laplace(4, 0.1, 0.15)), 2, 1e-6, []float64{1.5}},
		{kernels.Laplace(3, 0.4, 0.5, 0.6), 3, 1e-5, []float64{1.5}},
		{kernels.Cauchy(0.4), 3, 1e-5, []float64{1.5, 4}},
		{kernels.Cauchy(0.2, 0.3), 2, 1e-6, []float64{0, 4}},
	} {
		x, p := cloud(300, c.dim, 3)
		_, u := cloud(300, c.dim, 6)
		_, w := cloud(300, c.dim, 7)
		k := expect.Must(kernels.NearFar(c.kernel, kernels.Extent(x), c.tolerance, c.radii...))
		out, err := engine.Run(func(x, p, u, w *Node) []*Node {
			var out []*Node
			for _, k := range []kernels.Kernel{c.kernel, k} {
				v, f := k.Hamilton(x, p)
				g := Gradient(Add(ReduceAllSum(Mul(v, u)), ReduceAllSum(Mul(f, w))), x, p)
				second := Gradient(Add(ReduceAllSum(Mul(g[0], w)), ReduceAllSum(Mul(g[1], u))), x, p)
				y := SliceAxis(x, 0, AxisRange(0, 70))
				sum := k.Sum(y, x, p)
				out = append(out, v, f, sum, Gradient(ReduceAllSum(Square(sum)), x)[0], g[0], g[1], second[0], second[1])
			}
			return out
		}, x, p, u, w)
		if err != nil {
			t.Fatalf("%s: %v", c.kernel, err)
		}
		for i, what := range []string{"velocity", "force", "sum", "gradient of sum", "gradient x", "gradient p", "second x", "second p"} {
			factor := []float64{1, 1, 1, 1, 2, 2, 50, 50}[i]
			expect.Rel(t, fmt.Sprintf("%s: %s", k, what), out.Flat(len(out)/2+i), out.Flat(i), factor*c.tolerance)
		}
	}
}

// The near part ends with two derivatives at the radius, and both parts add up to the kernel.
func TestNearPartEnds(t *testing.T) {
	const radius, width = 2.0, 0.3
	exact := kernels.Laplace(2, width)
	near := kernels.Near(expect.Must(kernels.NearFar(exact, []float64{2, 2}, 1e-6, radius)))
	at := func(r float64) []float64 { return []float64{r * width, 0} }
	gaps := []float64{0.01, 0.005}
	x := [][]float64{at(radius), at(radius * 1.001), at(10)}
	for _, g := range gaps {
		x = append(x, at(radius-g))
	}
	out := expect.Must(engine.Run(func(x *Node) []*Node { return []*Node{near.Gram(x, Zeros(x.Graph(), shapes.Make(x.DType(), 1, 2)))} }, x))
	v := out.Flat(0)
	expect.Abs(t, "beyond the radius", v[:3], []float64{0, 0, 0}, 0)
	for i := range gaps[1:] {
		if order := math.Log2(v[3+i] / v[4+i]); !(order > 2.9) {
			t.Errorf("the near part falls with the power %.3g of the distance to the radius, want 3: %g", order, v[3:])
		}
	}
}

// Tiles are exact, cut-off tiles to their tolerance, with first and second derivatives.
func TestTiles(t *testing.T) {
	for _, c := range []struct {
		kernel    kernels.Kernel
		tolerance float64 // of a cut-off, 0 for none
	}{
		{kernels.Gaussian(0.5, 0.3, 0.4), 0},
		{kernels.Sum([]float64{1, 2}, kernels.Laplace(2, 0.2), kernels.Gaussian(0.4)), 0},
		{struct{ kernels.Kernel }{kernels.Gaussian(0.5)}, 0}, // without a closed form
		{kernels.Gaussian(0.05), 1e-12},
	} {
		x, p := cloud(1200, 3, 5)
		_, u := cloud(1200, 3, 6)
		_, w := cloud(1200, 3, 7)
		k := kernels.Tiled(c.kernel)
		if c.tolerance > 0 {
			var err error
			if k, err = kernels.Cutoff(c.kernel, 3, c.tolerance); err != nil {
				t.Fatal(err)
			}
		}
		out, err := engine.Run(func(x, p, u, w *Node) []*Node {
			var out [][]*Node
			for _, k := range []kernels.Kernel{kernels.OnGraph(c.kernel), kernels.OnGraph(k), k} {
				v, f := k.Hamilton(x, p)
				pairing := Add(ReduceAllSum(Mul(v, u)), ReduceAllSum(Mul(f, w)))
				g := Gradient(pairing, x, p)
				second := Gradient(Add(ReduceAllSum(Mul(g[0], w)), ReduceAllSum(Mul(g[1], u))), x, p)
				y := SliceAxis(x, 0, AxisRange(0, 70))
				sum := k.Sum(y, x, p)
				out = append(out, []*Node{v, f, g[0], g[1], second[0], second[1], sum, Gradient(ReduceAllSum(Square(sum)), x)[0]})
			}
			return slices.Concat(out...)
		}, x, p, u, w)
		if err != nil {
			t.Fatal(err)
		}
		for i, what := range []string{"velocity", "force", "gradient x", "gradient p", "second x", "second p", "sum", "gradient of sum"} {
			for j, where := range []string{"on the graph", "in C"} {
				expect.Rel(t, fmt.Sprintf("%s %s: %s", k, where, what), out.Flat(8*(j+1)+i), out.Flat(i), 1e-12+50*c.tolerance)
			}
		}
	}
}

// Without C functions, what those choices change. TestTiles and TestGridsInC have the sums on the graph.
func TestPortable(t *testing.T) {
	t.Parallel()
	geomtest.Portable(t, TestFast, TestFastIsTheKernelEverywhere)
}

// Few points keep their matrix, many never have one. By the costs of sums in C, a grid is cheapest for wide kernels and cut-off tiles
// for narrow ones, tiles for those that neither decay nor are smooth; over very many points a near part and grids for kernels with a
// kink, and a fine and a coarse grid for those with a tail. On the graph near parts do not pay so soon, and waves do, on a GPU most of
// all. A sum of anisotropic kernels is compared with exact sums.
func TestFast(t *testing.T) {
	x, _ := cloud(6000, 3, 8)
	many, _ := cloud(100000, 3, 8)
	for _, c := range []struct {
		device string // "" for that of the back end
		kernel kernels.Kernel
		points [][]float64
		want   string // one of these
	}{
		{"", kernels.Gaussian(0.5), x[:1500], "on a grid|plane waves|in tiles"},
		{"", kernels.Sum([]float64{1, 1}, kernels.Gaussian(0.5), kernels.Gaussian(0.5, 0.6, 0.7)), x, "on a grid|plane waves"},
		{"C", kernels.Gaussian(0.5), x, "on a grid"},
		{"C", kernels.Gaussian(0.02), x, "in tiles up to"},
		{"C", kernels.Cauchy(0.1), x[:3000], "in tiles"},
		{"C", kernels.Laplace(2, 0.1), many, "as near part"},
		{"C", kernels.Cauchy(0.1), many, "as a grid of"},
		{"C", kernels.Cauchy(0.02), many, "as near part"}, // the cheapest near part is no polynomial
		{"graph", kernels.Gaussian(0.5), x, "plane waves"},
		{"graph", kernels.Gaussian(0.2), x, "on a grid"},
		{"graph", kernels.Gaussian(0.02), x, "in tiles up to"},
		{"graph", kernels.Laplace(2, 0.1), x, "in tiles"},
		{"GPU", kernels.Gaussian(0.2), x, "plane waves"},
		{"GPU", kernels.Gaussian(0.02), x, "in tiles up to"},
	} {
		chosen := ""
		if c.device == "" {
			chosen = expect.Must(kernels.Fast(c.kernel, 1e-6, c.points)).String()
		} else {
			chosen = expect.Must(kernels.Chosen(c.device, c.kernel, 1e-6, c.points, c.points)).String()
		}
		if !slices.ContainsFunc(strings.Split(c.want, "|"), func(want string) bool { return strings.Contains(chosen, want) }) {
			t.Errorf("%d points, device %q: chose %s, want %s", len(c.points), c.device, chosen, c.want)
		}
	}
	// Points that carry 6000 others.
	if k := expect.Must(kernels.Fast(kernels.Gaussian(0.02), 1e-6, x[:800], x)); !strings.Contains(k.String(), "in tiles") {
		t.Errorf("800 points: chose %s, want tiles", k)
	}
	for _, shapes := range [][]shape.Shape{{x[:100], x}, {x[:500]}} {
		if k := expect.Must(kernels.Fast(kernels.Gaussian(0.02), 1e-6, shapes...)); k.String() != "Gaussian(σ = 0.02)" {
			t.Errorf("%d points: chose %s, want the matrix", len(shapes[0]), k)
		}
	}
}

// Whatever Fast chooses is within the tolerance at 200 random targets, for velocities and forces.
func TestFastIsWithinTheTolerance(t *testing.T) {
	x, p := cloud(20000, 3, 8)
	weights := 0.0
	for _, row := range p {
		for _, v := range row {
			weights = math.Max(weights, math.Abs(v))
		}
	}
	weights *= float64(len(p))
	for _, exact := range []kernels.Kernel{kernels.Gaussian(1), kernels.Gaussian(0.3), kernels.Gaussian(0.1), kernels.Gaussian(0.02), kernels.Laplace(3, 0.05)} {
		for _, tolerance := range []float64{1e-4, 1e-6} {
			k, err := kernels.Fast(exact, tolerance, x)
			if err != nil {
				t.Errorf("%s: %v", exact, err)
				continue
			}
			out, err := engine.Run(func(x, p *Node) []*Node {
				v, f := k.Hamilton(x, p)
				want, force := exact.Hamilton(x, p)
				some := AxisRange(0, 200)
				return []*Node{SliceAxis(v, 0, some), SliceAxis(want, 0, some), SliceAxis(f, 0, some), SliceAxis(force, 0, some)}
			}, x, p)
			if err != nil {
				t.Fatal(err)
			}
			expect.Abs(t, fmt.Sprintf("%s: velocities", k), out.Flat(0), out.Flat(1), tolerance*weights)
			expect.Rel(t, fmt.Sprintf("%s: forces", k), out.Flat(2), out.Flat(3), 20*tolerance)
		}
	}
}

// Whatever Fast chooses is nowhere farther from the kernel than the tolerance times K(0), nor its slope than as much of the steepest.
func TestFastIsTheKernelEverywhere(t *testing.T) {
	x, _ := cloud(20000, 3, 8)
	r := rand.New(rand.NewPCG(9, 1))
	at := x[:8000]
	for i := range at[1:] { // at all distances from the first point
		z, far := x[1+i+len(at)], math.Pow(10, -3*r.Float64())
		for a := range z {
			at[1+i] = append(at[1+i][:a:a], at[0][a]+far*(z[a]-at[0][a]))
		}
	}
	for _, exact := range []kernels.Kernel{kernels.Gaussian(0.3), kernels.Gaussian(0.02), kernels.Laplace(2, 0.1), kernels.Laplace(3, 0.02), kernels.Laplace(4, 0.3), kernels.Cauchy(0.2)} {
		for _, tolerance := range []float64{1e-4, 1e-6} {
			fast := expect.Must(kernels.Fast(exact, tolerance, x))
			out := expect.Must(engine.Run(func(x *Node) []*Node {
				var out []*Node
				for _, k := range []kernels.Kernel{exact, fast} {
					y := SliceAxis(x, 0, AxisRange(0, 1))
					v := k.Sum(x, y, OnesLike(SliceAxis(y, 1, AxisRange(0, 1))))
					out = append(out, v, SliceAxis(Gradient(ReduceAllSum(v), x)[0], 0, AxisRange(1)))
				}
				return out
			}, at))
			expect.Abs(t, fmt.Sprintf("%s: values", fast), out.Flat(2), out.Flat(0), tolerance)
			expect.Rel(t, fmt.Sprintf("%s: slopes", fast), out.Flat(3), out.Flat(1), tolerance)
		}
	}
}

func TestBadExpansions(t *testing.T) {
	for want, f := range map[string]func() error{
		"4 axes":              func() error { _, err := kernels.Expand(kernels.Gaussian(1), make([]float64, 4), 1e-6); return err },
		"extent NaN":          func() error { _, err := kernels.Expand(kernels.Gaussian(1), []float64{math.NaN()}, 1e-6); return err },
		"tolerance 0":         func() error { _, err := kernels.Expand(kernels.Gaussian(1), []float64{1}, 0); return err },
		"in all: use tiles":   func() error { _, err := kernels.Expand(kernels.Gaussian(0.001), []float64{1, 1, 1}, 1e-6); return err },
		"Fast: tolerance 0":   func() error { _, err := kernels.Fast(kernels.Gaussian(1), 0, [][]float64{{0}}); return err },
		"Fast: tolerance NaN": func() error { _, err := kernels.Fast(kernels.Gaussian(1), math.NaN(), [][]float64{{0}}); return err },
		"no kernel":           func() error { _, err := kernels.Fast(nil, 1e-6, [][]float64{{0, 0}}); return err },
		"no points":           func() error { _, err := kernels.Fast(kernels.Gaussian(1), 1e-6); return err },
		"point 1 of all": func() error {
			_, err := kernels.Fast(kernels.Gaussian(1), 1e-6, [][]float64{{0, 1}, {math.NaN(), 1}})
			return err
		},
		"cannot be cut off": func() error {
			return expect.Error(kernels.Cutoff(kernels.Cauchy(1e3), 2, 1e-13))
		},
	} {
		expect.Refused(t, f(), want)
	}
	k, err := kernels.Expand(kernels.Gaussian(1), []float64{1, 1}, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	expect.Refused(t, k.Fits([][]float64{{0, 0}, {1, 1.1}}), "spread over 1.1 along axis 1")
	expect.Refused(t, k.Fits([][]float64{{0, 0, 0}, {1, 1, 1}}), "the points have 3 coordinates, the plane waves of Gaussian(σ = 1) hold for 2")
	if err := k.Fits(nil); err != nil {
		t.Error(err)
	}
	total, ok := kernels.Sum([]float64{2, 1}, kernels.Gaussian(3), kernels.Sum([]float64{1}, k)).(interface{ Fits([][]float64) error })
	if !ok {
		t.Fatal("a sum of expansions does not say which points it holds for")
	}
	expect.Refused(t, total.Fits([][]float64{{0, 0}, {1, 1.1}}), "spread over 1.1 along axis 1")
	if err := total.Fits([][]float64{{0, 0}, {1, 1}}); err != nil {
		t.Errorf("points inside the box: %v", err)
	}
}

// matrixless is a kernel whose matrix does not fit into memory.
type matrixless struct{ kernels.Kernel }

func (matrixless) Gram(x, y *Node) *Node { panic("the matrix is formed") }

// A sum of kernels sums as its terms do.
func TestSumOfTermsWithoutTheirMatrix(t *testing.T) {
	x, p := cloud(40, 3, 1)
	a, b := kernels.Gaussian(0.5), kernels.Cauchy(0.3)
	want, got := kernels.Sum([]float64{2, 0.5}, a, b), kernels.Sum([]float64{2, 0.5}, matrixless{a}, matrixless{b})
	out, err := engine.Run(func(x, p *Node) []*Node {
		return []*Node{linalg.MatMul(want.Gram(x, x), p), want.Sum(x, x, p), got.Sum(x, x, p)}
	}, x, p)
	if err != nil {
		t.Fatal(err)
	}
	for i, what := range []string{"of a sum", "without matrices"} {
		expect.Rel(t, "sums "+what, out.Flat(i+1), out.Flat(0), 1e-15)
	}
}

// A plane that was turned is flat but for rounding: it costs as much as other thin layers, at most as much as thick ones.
func TestFlatShapes(t *testing.T) {
	var plane, line [][]float64
	sin, cos := math.Sincos(math.Pi / 2)
	r := rand.New(rand.NewPCG(1, 1))
	for range 5000 {
		x, y := 50*r.Float64(), 50*r.Float64()
		plane, line = append(plane, []float64{x * cos, x * sin, y}), append(line, []float64{x * cos, x * sin})
	}
	done := make(chan error)
	go func() {
		_, err := kernels.Fast(kernels.Gaussian(1), 1e-4, plane)
		if err == nil {
			_, err = kernels.Fast(kernels.Gaussian(1), 1e-4, line)
		}
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("Fast does not end on points that are flat but for rounding")
	}
	modes := func(k kernels.Kernel, tolerance float64, extent ...float64) []int {
		return expect.Must(kernels.Expand(k, extent, tolerance)).Modes
	}
	for _, k := range []kernels.Kernel{kernels.Gaussian(1), kernels.Laplace(3, 1), kernels.Cauchy(1)} {
		thick := modes(k, 1e-4, 20, 1)
		for _, thin := range []float64{0.1, 1e-3, 1e-9} {
			if m := modes(k, 1e-4, 20, thin); m[1] > thick[1] || m[0] > thick[0] {
				t.Errorf("%s: %d waves over a layer of %g, %d over one of 1", k, m, thin, thick)
			}
		}
	}
	if m, want := modes(kernels.Gaussian(1), 1e-2, 0, 400, 400), modes(kernels.Gaussian(1), 1e-2, 400, 400); m[1] > want[0]*11/10 || m[2] != m[1] {
		t.Errorf("%d waves over a wide plane in space, %d over one in the plane", m, want)
	}
	var flops []float64
	for a := range 3 {
		extent := []float64{30, 30, 30}
		extent[a] = 0
		flops = append(flops, expect.Must(kernels.Grid(kernels.Gaussian(1), extent, 1e-6)).Flops(1, true))
	}
	if slices.Max(flops) > 1.5*slices.Min(flops) {
		t.Errorf("what a flat shape costs depends on which axis it is flat along: %.3g", flops)
	}
}

// A grid tells an error that is not exceeded: that of its waves, and of spreading them.
func TestGridsTellTheirError(t *testing.T) {
	two := kernels.Sum([]float64{1, 1}, kernels.Gaussian(1), kernels.Gaussian(0.1))
	for _, c := range []struct {
		kernel    kernels.Kernel
		extent    []float64
		tolerance float64
	}{
		{two, []float64{8, 8}, 1e-6},
		{two, []float64{8, 8}, 1e-7},
		{kernels.Gaussian(0.3), []float64{3}, 1e-3},
		{kernels.Laplace(2, 1), []float64{6, 6}, 1e-4},
		{kernels.Laplace(1, 1), []float64{8}, 1e-2},
		{kernels.Cauchy(0.4), []float64{5}, 1e-8},
	} {
		k := expect.Must(kernels.Grid(c.kernel, c.extent, c.tolerance))
		if !(k.Error <= c.tolerance) {
			t.Errorf("%s: the tolerance is %g", k, c.tolerance)
		}
		r := rand.New(rand.NewPCG(4, 1))
		x := make([][]float64, 3000)
		for i := range x {
			for _, e := range c.extent {
				x[i] = append(x[i], e*math.Pow(r.Float64(), 3))
			}
		}
		x[0] = make([]float64, len(c.extent))
		out := expect.Must(engine.Run(func(x *Node) []*Node {
			var out []*Node
			for _, k := range []kernels.Kernel{c.kernel, k} {
				y := SliceAxis(x, 0, AxisRange(0, 1))
				v := k.Sum(x, y, OnesLike(SliceAxis(y, 1, AxisRange(0, 1))))
				out = append(out, v, SliceAxis(Gradient(ReduceAllSum(v), x)[0], 0, AxisRange(1)))
			}
			return out
		}, x))
		at0, steepest := 0.0, 0.0
		for _, v := range out.Flat(0) {
			at0 = math.Max(at0, v)
		}
		for _, v := range out.Flat(1) {
			steepest = math.Max(steepest, math.Abs(v))
		}
		expect.Abs(t, fmt.Sprintf("%s: values", k), out.Flat(2), out.Flat(0), k.Error*at0)
		expect.Abs(t, fmt.Sprintf("%s: slopes", k), out.Flat(3), out.Flat(1), k.Error*steepest)
	}
}

// Where a kernel ends does not depend on the unit of length.
func TestCutoffHasNoUnit(t *testing.T) {
	want := kernels.Reach(expect.Must(kernels.Cutoff(kernels.Gaussian(1), 2, 1e-4)))[0]
	for _, sigma := range []float64{1e-9, 1e9} {
		expect.Rel(t, fmt.Sprintf("reach of σ = %g", sigma), kernels.Reach(expect.Must(kernels.Cutoff(kernels.Gaussian(sigma), 2, 1e-4))), []float64{want * sigma, want * sigma}, 1e-12)
		expect.Rel(t, fmt.Sprintf("reach of σ = %g of a kernel that is not known to be radial", sigma), kernels.Reach(expect.Must(kernels.Cutoff(plain{kernels.Gaussian(sigma)}, 2, 1e-4))), []float64{want * sigma, want * sigma}, 0.02)
	}
}

// plain is a kernel of which nothing is known but its values.
type plain struct{ kernels.Kernel }

// Points of more coordinates than a space-filling curve has bits for are sorted by some.
func TestCutoffInManyDimensions(t *testing.T) {
	x, p := make([][]float64, 1200), make([][]float64, 1200)
	r := rand.New(rand.NewPCG(5, 1))
	for i := range x {
		for range 31 {
			x[i], p[i] = append(x[i], r.NormFloat64()), append(p[i], r.NormFloat64())
		}
	}
	exact := kernels.Gaussian(2)
	k := expect.Must(kernels.Cutoff(exact, 31, 1e-12))
	out := expect.Must(engine.Run(func(x, p *Node) []*Node { return []*Node{k.Sum(x, x, p), exact.Sum(x, x, p)} }, x, p))
	expect.Rel(t, "sums", out.Flat(0), out.Flat(1), 1e-10)
}
