package population_test

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/kernels"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/surfaces/attachment"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/population"
)

// A curve and a surface come back from a motion with a turn by 2.6, other points and, where asked, another scale.
func TestAlign(t *testing.T) {
	t.Parallel()
	k := generator()
	bump := func(m *mesh.Mesh) *mesh.Mesh {
		return m.Map(func(x []float64) []float64 {
			f := 1 + 0.5*math.Exp(-4*math.Pow(floats.Distance(x, []float64{1, 0.2, 0.3}, 2), 2))
			return []float64{1.4 * f * x[0], f * x[1], 0.7 * f * x[2]}
		})
	}
	for _, c := range []struct {
		name  string
		to, m *mesh.Mesh
		width float64
	}{
		{"curve", k.template, mesh.Curve(expect.Must(morpho.Resample(k.template.Vertices, 47, true)), true), 0.3},
		{"surface", bump(mesh.Icosphere(2)), bump(mesh.Ellipsoid(1, 1, 1, 11, 20)), 0.4},
	} {
		d := len(c.to.Vertices[0])
		w := mat.NewDense(d, d, nil)
		w.Set(0, 1, -2.6)
		w.Set(1, 0, 2.6)
		if d == 3 {
			w.Set(0, 2, 0.7)
			w.Set(2, 0, -0.7)
		}
		var turn mat.Dense
		turn.Exp(w)
		for _, scale := range []float64{1, 1.7} {
			moved := c.m.Map(func(x []float64) []float64 {
				var y mat.VecDense
				y.MulVec(&turn, mat.NewVecDense(d, append([]float64{}, x...)))
				y.ScaleVec(scale, &y)
				floats.AddConst(5, y.RawVector().Data)
				return y.RawVector().Data
			})
			got := expect.Must(population.Align([]population.Object{{Norm: attachment.Norm{Kernel: kernels.Gaussian(c.width)}}}, []*mesh.Mesh{c.to}, [][]*mesh.Mesh{{moved}, {c.to}}, scale != 1))
			for _, x := range c.m.Vertices[:3] {
				expect.Abs(t, "there and back", got[0].Back(got[0].Move(x)), x, 1e-12)
			}
			off := 0.0
			for i, x := range got[0].Objects[0].Vertices {
				off = max(off, floats.Distance(x, c.m.Vertices[i], 2))
			}
			t.Logf("%s, scale %g: off by %.2g, distance %.3g, %s; itself by %.2g", c.name, scale, off, got[0].Distance, got[0].Status, floats.Distance(got[1].Shift, got[1].Centre, 2))
			if off > 0.02 || got[0].Status != geom.Converged || math.Abs(got[0].Scale*scale-1) > 0.01 {
				t.Errorf("%s: off by %g, scale %g, %s", c.name, off, got[0].Scale*scale, got[0].Status)
			}
			expect.Abs(t, "the move of itself", got[1].Objects[0].Vertices, c.to.Vertices, 1e-4)
		}
	}
}

// A mesh is where it is, also one with symmetries, whose other ways to lie on itself are as good, but for rounding.
func TestAlignItself(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]*mesh.Mesh{"ellipsoid": mesh.Ellipsoid(1.3, 1, 0.8, 9, 16), "sphere": mesh.Icosphere(1), "outline": generator().template} {
		for _, scaled := range []bool{false, true} {
			got := expect.Must(population.Align([]population.Object{{Norm: attachment.Norm{Kernel: kernels.Gaussian(0.4)}}}, []*mesh.Mesh{m}, [][]*mesh.Mesh{{m}}, scaled))[0]
			if got.Status != geom.Converged {
				t.Errorf("%s: %s", name, got.Status)
			}
			expect.Abs(t, name, got.Objects[0].Vertices, m.Vertices, 1e-9)
		}
	}
}

// The main axes of a vertebra are about as long: in 27 of 69 they lie along others than in the first, which no search came back from.
func TestAlignVertebrae(t *testing.T) {
	t.Parallel()
	mice := morpho.MouseVertebrae()
	bad := expect.Must(morpho.Inspect(mice)).Names(morpho.OutOfOrder)
	shapes := expect.Must(morpho.Procrustes(mice.Without(bad...).Shapes())).Shapes
	const turn, scale = 2.6, 1.7
	sin, cos := math.Sincos(turn)
	var subjects [][]*mesh.Mesh
	for i := 2; i < len(shapes); i += 3 {
		q := expect.Must(morpho.Resample(slices.Concat(shapes[i][i%60:], shapes[i][:i%60]), 50+i%30, true))
		subjects = append(subjects, []*mesh.Mesh{mesh.Curve(q, true).Map(func(x []float64) []float64 {
			return []float64{5 + scale*(cos*x[0]-sin*x[1]), scale * (sin*x[0] + cos*x[1])}
		})})
	}
	norm := attachment.Norm{Kernel: kernels.Gaussian(2 * morpho.MeanSpacing(shapes[0], true))}
	for i, a := range expect.Must(population.Align([]population.Object{{Norm: norm}}, []*mesh.Mesh{mesh.Curve(shapes[0], true)}, subjects, true)) {
		off := math.Abs(math.Remainder(math.Atan2(a.Rotation[1][0], a.Rotation[0][0])+turn, 2*math.Pi))
		if off > 0.2 || math.Abs(a.Scale*scale-1) > 0.1 || a.Distance > 0.15 || a.Status != geom.Converged {
			t.Errorf("subject %d: turned by %.2g more, %.3g times as large, distance %.2g, %s", i, off, a.Scale*scale, a.Distance, a.Status)
		}
	}
}

// Two main axes of a body may be alike, too: then bumps alone say how it lies about the third.
func TestAlignRoundSurfaces(t *testing.T) {
	t.Parallel()
	bumpy := func(m *mesh.Mesh) *mesh.Mesh {
		return m.Map(func(x []float64) []float64 {
			f := 1.0
			for i, b := range [][]float64{{1, 0, 0.1}, {-0.2, 1, 0.3}, {0.1, -0.3, 1}, {-0.6, -0.6, -0.5}} {
				f += (0.2 + 0.08*float64(i)) * math.Exp(-6*math.Pow(floats.Distance(x, b, 2), 2))
			}
			return []float64{1.3 * f * x[0], f * x[1], f * x[2]}
		})
	}
	to, other := bumpy(mesh.Icosphere(2)), bumpy(mesh.Ellipsoid(1, 1, 1, 11, 20))
	var subjects [][]*mesh.Mesh
	var turns []*mat.Dense
	for _, k := range []float64{4, 5, 10, 11} {
		turn := new(mat.Dense)
		turns = append(turns, turn)
		sin, cos := math.Sincos(0.5 * k)
		turn.Product(mat.NewDense(3, 3, []float64{0, 0, 1, 1, 0, 0, 0, 1, 0}), mat.NewDense(3, 3, []float64{1, 0, 0, 0, cos, -sin, 0, sin, cos}))
		stretch := []float64{1, 1 + 0.06*math.Sin(k), 1 - 0.06*math.Sin(k)} // which axis is longer
		subjects = append(subjects, []*mesh.Mesh{other.Map(func(x []float64) []float64 {
			var y mat.VecDense
			y.MulVec(turn, mat.NewVecDense(3, floats.MulTo(make([]float64, 3), x, stretch)))
			return y.RawVector().Data
		})})
	}
	for k, a := range expect.Must(population.Align([]population.Object{{Norm: attachment.Norm{Kernel: kernels.Gaussian(0.4)}}}, []*mesh.Mesh{to}, subjects, false)) {
		var left mat.Dense
		left.Mul(mat.NewDense(3, 3, slices.Concat(a.Rotation...)), turns[k])
		if off := math.Acos(math.Min(1, (mat.Trace(&left)-1)/2)); off > 0.3 || a.Status != geom.Converged {
			t.Errorf("subject %d: turned by %.2g more, distance %.2g, %s", k, off, a.Distance, a.Status)
		}
	}
}

// Fast sums of a norm for the shapes as they lie need not hold where one of them is turned to the other.
func TestAlignInABox(t *testing.T) {
	t.Parallel()
	oval := func(a, b float64) []*mesh.Mesh {
		var x [][]float64
		for i := range 12 {
			s, c := math.Sincos(2 * math.Pi * float64(i) / 12)
			x = append(x, []float64{a * c, b * s})
		}
		return []*mesh.Mesh{mesh.Curve(x, true)}
	}
	align := func(extent ...float64) ([]*population.Aligned, error) {
		k := expect.Must(kernels.Expand(kernels.Gaussian(1.5), extent, 1e-3))
		return population.Align([]population.Object{{Norm: attachment.Norm{Kernel: k}}}, oval(0.5, 1), [][]*mesh.Mesh{oval(2.6, 0.9)}, false)
	}
	expect.Refused(t, expect.Error(align(7, 3)), "align: the kernel of the norm, subject 0", "wider extent")
	if got := expect.Must(align(7, 7))[0]; got.Status != geom.Converged {
		t.Errorf("%v", got.Status)
	}
}
