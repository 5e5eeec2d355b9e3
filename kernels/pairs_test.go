package kernels_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/engine"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/geomtest/kept"
	"anatomy/kernels"
	"anatomy/kernels/native"
)

// The sums in C are those on the graph, with their derivatives, for coincident points too.
func TestPairsInC(t *testing.T) {
	if _, err := engine.Backend(); err != nil || !engine.HasNative(native.Pairs, nil) {
		t.Skipf("the back end calls no C code (error %v)", err)
	}
	for _, c := range []struct {
		kernel  kernels.Kernel
		dim     int
		columns int
		orders  int
	}{
		{kernels.Gaussian(0.5), 2, 2, 3},
		{kernels.Gaussian(0.5, 0.3, 0.4), 3, 3, 2},
		{kernels.Cauchy(0.3), 1, 1, 2},
		{kernels.Laplace(0, 0.4), 3, 3, 2},
		{kernels.Laplace(1, 0.4), 2, 2, 2},
		{kernels.Laplace(2, 0.4), 3, 3, 2},
		{kernels.Laplace(3, 0.5, 0.4), 2, 4, 3},
		{kernels.Laplace(6, 0.2), 3, 1, 2},
		{kernels.Sum([]float64{2, 0.5, 1}, kernels.Gaussian(0.6, 0.3), kernels.Cauchy(0.2, 0.1), kernels.Laplace(4, 1, 0.5)), 2, 2, 3},
		{kernels.Sum([]float64{2, 0.5}, kernels.Gaussian(0.6, 0.3), kernels.Cauchy(0.2)), 2, 2, 2},
		{kernels.Near(expect.Must(kernels.NearFar(kernels.Laplace(3, 0.2, 0.15), []float64{2, 2}, 1e-4, 4))), 2, 2, 2},
		{kernels.Near(expect.Must(kernels.NearFar(kernels.Sum([]float64{1, 2}, kernels.Cauchy(0.2), kernels.Laplace(2, 0.3)), []float64{2, 2, 2}, 1e-4, 4))), 3, 3, 2},
	} {
		x, _ := cloud(43, c.dim, 5)
		y, _ := cloud(70, c.dim, 6)
		copy(x[7], x[3]) // coincident
		copy(y[5], x[3])
		_, p := cloud(43, min(c.columns, 3), 7)
		_, q := cloud(70, min(c.columns, 3), 8)
		for _, w := range [][][]float64{p, q} {
			for i := range w {
				for len(w[i]) < c.columns {
					w[i] = append(w[i], w[i][0]*w[i][1])
				}
			}
		}
		var outs [][]*Node
		out, err := engine.Run(func(x, y, p, q *Node) []*Node {
			for _, k := range []kernels.Kernel{c.kernel, kernels.OnGraph(c.kernel)} {
				var out []*Node
				// derivatives are ever new scalar functions of the ones before.
				descend := func(value []*Node, by ...*Node) {
					for range c.orders {
						var s *Node
						for i, v := range value {
							w := Cos(AddScalar(MulScalar(IotaFull(v.Graph(), v.Shape()), 0.7), float64(i)))
							if t := ReduceAllSum(Mul(v, w)); s == nil {
								s = t
							} else {
								s = Add(s, t)
							}
						}
						value = Gradient(s, by...)
						out = append(out, value...)
					}
				}
				sum := k.Sum(x, y, q)
				self := k.Sum(x, x, p)
				out = append(out, sum, self)
				descend([]*Node{sum}, x, y, q)
				descend([]*Node{self}, x, p)
				inner, square := kernels.Inner(k, x, p, y, q), kernels.Inner(k, x, p, x, p)
				out = append(out, inner, square)
				descend([]*Node{inner}, x, p, y, q)
				descend([]*Node{square}, x, p)
				if c.columns == c.dim {
					v, f := k.Hamilton(x, p)
					out = append(out, v, f)
					descend([]*Node{v, f}, x, p)
				}
				outs = append(outs, out)
			}
			return append(append([]*Node{}, outs[len(outs)-2]...), outs[len(outs)-1]...)
		}, x, y, p, q)
		if err != nil {
			t.Fatalf("%s: %v", c.kernel, err)
		}
		half := len(out) / 2
		for i := range half {
			expect.Rel(t, fmt.Sprintf("%s, dimension %d: output %d", c.kernel, c.dim, i), out.Flat(i), out.Flat(half+i), 2e-13)
		}
	}
}

// Sums over many points, which threads share and which leave out pairs of far tiles, are those on the graph, with their derivatives.
func TestManyPairsInC(t *testing.T) {
	if _, err := engine.Backend(); err != nil || !engine.HasNative(native.Pairs, nil) {
		t.Skipf("the back end calls no C code (error %v)", err)
	}
	x, p := cloud(1111, 3, 1)
	y, q := cloud(1003, 3, 2)
	exact := kernels.Gaussian(0.05)
	cut := expect.Must(kernels.Cutoff(exact, 3, 1e-14))
	for _, k := range []kernels.Kernel{exact, cut} {
		out := expect.Must(engine.Run(func(x, y, p, q *Node) []*Node {
			var out []*Node
			for _, k := range []kernels.Kernel{k, kernels.OnGraph(exact)} {
				sum, inner, square := k.Sum(x, y, q), kernels.Inner(k, x, p, y, q), kernels.Inner(k, x, p, x, p)
				v, f := k.Hamilton(x, p)
				out = append(append(out, sum, inner, square, v, f), Gradient(ReduceAllSum(Mul(sum, p)), x, y, q)...)
				out = append(append(out, Gradient(inner, x, p, y, q)...), Gradient(square, x, p)...)
				out = append(out, Gradient(ReduceAllSum(Add(Mul(v, x), Mul(f, p))), x, p)...)
			}
			return out
		}, x, y, p, q))
		half := len(out) / 2
		for i := range half {
			expect.Rel(t, fmt.Sprintf("%s: output %d", k, i), out.Flat(i), out.Flat(half+i), 1e-11)
		}
	}
}

// Sums on a grid in C are those on the graph, with their derivatives and in a batch; what leaves the grid gets
// nothing, and what is no number none.
func TestGridsInC(t *testing.T) {
	if _, err := engine.Backend(); err != nil || !engine.HasNative(native.Grid, nil) {
		t.Skipf("the back end calls no C code (error %v)", err)
	}
	for dim := 1; dim <= 3; dim++ {
		x, p := cloud(611, dim, 1)
		y, q := cloud(503, dim, 2)
		k := expect.Must(kernels.Grid(kernels.Gaussian([]float64{0.2, 0.25, 0.3}[:dim]...), kernels.Extent(append(x, y...)), 1e-8))
		out := expect.Must(engine.Run(func(x, y, p, q *Node) []*Node {
			var out []*Node
			for _, k := range []kernels.Kernel{k, kernels.OnGraph(k)} {
				sum, inner, square := k.Sum(x, y, q), kernels.Inner(k, x, p, y, q), kernels.Inner(k, x, p, x, p)
				v, f := k.Hamilton(x, p)
				one := func(v *Node) *Node { return SliceAxis(v, 1, AxisRange(0, 1)) }
				two := func(v *Node) *Node { return Stack([]*Node{v, MulScalar(v, 0.5)}, 0) }
				out = append(append(out, sum, inner, square, v, f, k.Sum(x, y, one(q)), k.Sum(two(x), two(y), two(q))), Gradient(ReduceAllSum(Mul(sum, p)), x, y, q)...)
				out = append(append(out, Gradient(inner, x, p, y, q)...), Gradient(square, x, p)...)
				out = append(out, Gradient(ReduceAllSum(Add(Mul(v, x), Mul(f, p))), x, p)...)
				g := Gradient(inner, x, q)
				out = append(out, Gradient(Add(ReduceAllSum(Mul(g[0], p)), ReduceAllSum(Mul(g[1], q))), x, p, y, q)...)
			}
			return out
		}, x, y, p, q))
		half := len(out) / 2
		for i := range half {
			expect.Rel(t, fmt.Sprintf("dimension %d: output %d", dim, i), out.Flat(i), out.Flat(half+i), 1e-8)
		}
		for _, c := range []struct{ at, want float64 }{{100, 0}, {math.NaN(), math.NaN()}} {
			away := append([][]float64{}, x...)
			away[5] = make([]float64, dim)
			for a := range away[5] {
				away[5][a] = c.at
			}
			v := expect.Must(engine.Run(func(x, p *Node) []*Node { return []*Node{k.Sum(x, x, p)} }, away, p)).Matrix(0)
			for i, row := range v {
				if i == 5 && row[0] != c.want && !(math.IsNaN(row[0]) && math.IsNaN(c.want)) || i != 5 && !(math.Abs(row[0]) > 0) {
					t.Errorf("dimension %d: sum at point %d, of which 5 is at %g, is %v", dim, i, c.at, row)
				}
			}
		}
	}
}

// Between single points a kernel on a grid and its slope are within the tolerance, twice as its waves and its grid may each add one;
// one that is split is so with its second derivative, to 30 times as much.
func TestFastKernelsKeepTheirTolerance(t *testing.T) {
	x, _ := cloud(2000, 2, 3)
	extent := kernels.Extent(x)
	compare := func(fast, exact kernels.Kernel, tolerances ...float64) {
		out := expect.Must(engine.Run(func(x, b *Node) []*Node {
			y := SliceAxis(x, 0, AxisRange(0, 1))
			x = SliceAxis(x, 0, AxisRange(1)) // kinks have no second derivative at distance 0
			var out []*Node
			for _, k := range []kernels.Kernel{fast, exact} {
				v := k.Sum(x, y, b)
				slope := Gradient(ReduceAllSum(v), x)[0]
				second := Gradient(ReduceAllSum(Mul(slope, Sin(MulScalar(IotaFull(x.Graph(), x.Shape()), 1.3)))), x)[0]
				out = append(out, v, slope, second)
			}
			return out
		}, x, [][]float64{{1}}))
		for i, tolerance := range tolerances {
			expect.Rel(t, fmt.Sprintf("%s: derivative %d", fast, i), out.Flat(i), out.Flat(3+i), tolerance)
		}
	}
	for _, k := range []kernels.Kernel{kernels.Gaussian(0.15), kernels.Cauchy(0.6)} {
		for _, tolerance := range []float64{1e-3, 1e-6, 1e-11} {
			compare(expect.Must(kernels.Grid(k, extent, tolerance)), k, 2*tolerance, 2*tolerance)
		}
	}
	for _, k := range []kernels.Kernel{kernels.Laplace(0, 0.5), kernels.Laplace(3, 0.3, 0.4), kernels.Sum([]float64{1, 3}, kernels.Cauchy(0.3), kernels.Laplace(2, 0.2))} {
		for _, tolerance := range []float64{1e-3, 1e-6, 1e-8} {
			for _, radii := range [][]float64{{1.5}, {1, 3}} {
				compare(expect.Must(kernels.NearFar(k, extent, tolerance, radii...)), k, 2*tolerance, 2*tolerance, 30*tolerance)
			}
		}
	}
}

// A kept program calls the C code of the process that reads it. Without C code the sums are the same, from another program.
func TestKeptProgramsCallC(t *testing.T) {
	x, p := cloud(50, 3, 9)
	folder, line, run := kept.Program(t, func() string {
		out := expect.Must(engine.Run(func(x, p *Node) []*Node {
			v, f := kernels.Gaussian(0.5).Hamilton(x, p)
			return []*Node{v, f}
		}, x, p))
		return fmt.Sprint(engine.HasNative(native.Pairs, nil), " ", out.Flat(1)[0], " ", out.Flat(1)[1])
	})
	t.Setenv("ANATOMY_NATIVE", "off")
	var inC, onGraph struct {
		native bool
		f      [2]float64
	}
	expect.Must(fmt.Sscan(line, &inC.native, &inC.f[0], &inC.f[1]))
	expect.Must(fmt.Sscan(run(folder), &onGraph.native, &onGraph.f[0], &onGraph.f[1]))
	if onGraph.native {
		t.Error("ANATOMY_NATIVE=off leaves the C functions on")
	}
	expect.Rel(t, "forces", onGraph.f[:], inC.f[:], 1e-13)
}

// Points that are not numbers have sums that are none, however many lie in a tile; those of other points are none or right, as they are
// beside points that are infinitely far.
func TestPointsThatAreNone(t *testing.T) {
	const lost = 13
	for _, dim := range []int{1, 2, 3} {
		k := expect.Must(kernels.Cutoff(kernels.Gaussian(0.1), dim, 1e-9))
		sums := func(k kernels.Kernel, x, p [][]float64) [][]float64 {
			return expect.Must(engine.Run(func(x, p *Node) []*Node {
				v, f := k.Hamilton(x, p)
				return []*Node{Concatenate([]*Node{v, f, k.Sum(x, x, p)}, 1)}
			}, x, p)).Matrix(0)
		}
		x, p := cloud(100, dim, 5)
		want := sums(k, slices.Clone(x[lost:]), p[lost:])
		for _, none := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			for i := range lost {
				x[i] = slices.Repeat([]float64{none}, dim)
			}
			for _, k := range []kernels.Kernel{k, kernels.OnGraph(k)} {
				for i, row := range sums(k, x, p) {
					for c, v := range row {
						if i < lost && math.IsNaN(none) && !math.IsNaN(v) || i >= lost && !math.IsNaN(v) && !(math.Abs(v-want[i-lost][c]) < 1e-12) && !math.IsInf(v, 0) {
							t.Fatalf("dimension %d, points at %g: the sums of point %d are %v", dim, none, i, row)
						}
					}
				}
			}
		}
	}
}
