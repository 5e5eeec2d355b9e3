package morpho

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/internal/lists"
)

// complexMean is the full Procrustes mean of shapes in the plane in closed form: the eigenvector of the greatest eigenvalue of
// Σ_i z_i z_i* (Kent 1994), found from the real symmetric form of the Hermitian matrix.
func complexMean(shapes []shape.Shape) (mean [][]float64, rms float64) {
	n := len(shapes[0])
	s := mat.NewSymDense(2*n, nil)
	for _, shape := range shapes {
		c, size := shape.Centroid(), CentroidSize(shape)
		z := make([]complex128, n)
		for l, p := range shape {
			z[l] = complex(p[0]-c[0], p[1]-c[1]) / complex(size, 0)
		}
		for i := range n {
			for j := range n {
				h := z[i] * cmplx.Conj(z[j])
				re, im := real(h), imag(h)
				if i <= j {
					s.SetSym(i, j, s.At(i, j)+re)
					s.SetSym(n+i, n+j, s.At(n+i, n+j)+re)
				}
				s.SetSym(i, n+j, s.At(i, n+j)-im)
			}
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(s, true) {
		panic("eigenvalues")
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	for l := range n {
		mean = append(mean, []float64{vectors.At(l, 2*n-1), vectors.At(n+l, 2*n-1)})
	}
	greatest := eigen.Values(nil)[2*n-1]
	return mean, math.Sqrt(1 - greatest/float64(len(shapes)))
}

// The summary that procGPA of the R package shapes prints for these skulls (Dryden and Mardia 2016, ch. 7), and the closed form in the plane.
func TestProcrustesGorillas(t *testing.T) {
	skulls := GorillaSkulls()
	published := map[string]float64{"female": 0.0437139586876, "male": 0.0499377219311}
	var means, closed []shape.Shape
	for _, sex := range []string{"female", "male"} {
		shapes := skulls.Group(sex).Shapes()
		a, err := Procrustes(shapes)
		if err != nil {
			t.Fatal(err)
		}
		if a.Status != solve.Converged {
			t.Errorf("%s: not converged in %d iterations", sex, a.Iterations)
		}
		expect.Abs(t, sex+": root mean square of the full Procrustes distances", a.RMS, published[sex], 1e-12)
		mean, rms := complexMean(shapes)
		expect.Abs(t, sex+": the same from the closed form", a.RMS, rms, 1e-13)
		d, err := ShapeDistance(a.Mean, mean)
		if err != nil {
			t.Fatal(err)
		}
		expect.Abs(t, sex+": distance of the mean from the closed form", d, 0, 1e-14)
		means, closed = append(means, a.Mean), append(closed, mean)
	}
	ours, err := ShapeDistance(means[0], means[1])
	if err != nil {
		t.Fatal(err)
	}
	exact, err := ShapeDistance(closed[0], closed[1])
	if err != nil {
		t.Fatal(err)
	}
	expect.Abs(t, "distance of the two means, against the closed form", ours, exact, 1e-14)
	// R's means come from an iteration that ends at a change of 1e-5, so its distance is that of the exact means to nine digits only
	// (the root mean squares above, stationary at the mean, lose nothing by it).
	expect.Abs(t, "distance of the two means, against R", ours, 0.0586640709773, 3e-9)
}

func randomShape(r *rand.Rand, n, dim int) [][]float64 {
	points := lists.Zeros(n, dim)
	for _, p := range points {
		for c := range p {
			p[c] = r.NormFloat64()
		}
	}
	return points
}

// randomSimilarity returns a random rotation (QR of a Gaussian matrix), place and size.
func randomSimilarity(r *rand.Rand, dim int) Similarity {
	g := mat.NewDense(dim, dim, nil)
	g.Apply(func(_, _ int, _ float64) float64 { return r.NormFloat64() }, g)
	var qr mat.QR
	qr.Factorize(g)
	var q mat.Dense
	qr.QTo(&q)
	if mat.Det(&q) < 0 {
		for c := range dim {
			q.Set(c, 0, -q.At(c, 0))
		}
	}
	s := Similarity{Scale: math.Exp(r.NormFloat64())}
	for c := range dim {
		s.Rotation = append(s.Rotation, mat.Row(nil, c, &q))
		s.Translation = append(s.Translation, 10*r.NormFloat64())
	}
	return s
}

func TestFitSimilarityRecoversSimilarity(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, dim := range []int{2, 3} {
		for range 20 {
			shape := randomShape(r, 5, dim)
			s := randomSimilarity(r, dim)
			got, err := FitSimilarity(shape, s.Apply(shape))
			if err != nil {
				t.Fatal(err)
			}
			expect.Abs(t, "scale", got.Scale, s.Scale, 1e-13*s.Scale)
			expect.Abs(t, "rotation", got.Rotation, s.Rotation, 1e-13)
			expect.Abs(t, "translation", [][]float64{got.Translation}, [][]float64{s.Translation}, 1e-12*(1+s.Scale))
			rigid := s
			rigid.Scale = 1
			if got, err = FitSimilarity(shape, rigid.Apply(shape), KeepSize()); err != nil {
				t.Fatal(err)
			}
			if got.Scale != 1 {
				t.Errorf("KeepSize: scale %g", got.Scale)
			}
			expect.Abs(t, "rotation with KeepSize", got.Rotation, s.Rotation, 1e-13)
		}
	}
}

// The best rotation never reflects, and no rotation nearby is better.
func TestFitSimilarityIsBest(t *testing.T) {
	squares := func(a, b [][]float64) (sum float64) {
		for l := range a {
			d := floats.Distance(a[l], b[l], 2)
			sum += d * d
		}
		return sum
	}
	r := rand.New(rand.NewPCG(3, 4))
	for _, dim := range []int{2, 3} {
		for i := range 40 {
			shape, target := randomShape(r, 6, dim), randomShape(r, 6, dim)
			if i%2 == 0 { // a mirror image: the optimum over all orthogonal maps is a reflection
				for l, p := range shape {
					target[l] = append([]float64{-p[0]}, p[1:]...)
					target[l][1] += 0.1 * r.NormFloat64()
				}
			}
			s, err := FitSimilarity(shape, target)
			if err != nil {
				t.Fatal(err)
			}
			q := mat.NewDense(dim, dim, nil)
			for c, row := range s.Rotation {
				q.SetRow(c, row)
			}
			expect.Abs(t, "determinant", mat.Det(q), 1, 1e-13)
			best := squares(s.Apply(shape), target)
			for range 20 {
				near := s
				near.Scale *= 1 + 1e-3*r.NormFloat64()
				near.Rotation, near.Translation = lists.Zeros(dim, dim), append([]float64(nil), s.Translation...)
				angle := 0.02 * r.NormFloat64()
				i, j := 0, 1
				if dim == 3 {
					i = r.IntN(3)
					j = (i + 1 + r.IntN(2)) % 3
				}
				for c := range dim {
					copy(near.Rotation[c], s.Rotation[c])
				}
				for c := range dim {
					near.Rotation[i][c] = math.Cos(angle)*s.Rotation[i][c] - math.Sin(angle)*s.Rotation[j][c]
					near.Rotation[j][c] = math.Sin(angle)*s.Rotation[i][c] + math.Cos(angle)*s.Rotation[j][c]
					near.Translation[c] += 1e-3 * r.NormFloat64()
				}
				if other := squares(near.Apply(shape), target); other < best*(1-1e-12) {
					t.Errorf("%d-D: residual %g, but %g nearby", dim, best, other)
				}
			}
		}
	}
}

// ρ of two triangles in closed form: Kendall's shape space of triangles is the sphere of radius 1/2, so that an equilateral triangle (a pole) is
// π/4 from every flat one and π/2 from its mirror image.
func TestShapeDistanceOfTriangles(t *testing.T) {
	h := math.Sqrt(3) / 2
	equilateral := [][]float64{{0, 0}, {1, 0}, {0.5, h}}
	mirror := [][]float64{{0, 0}, {1, 0}, {0.5, -h}}
	for _, flat := range []shape.Shape{{{0, 0}, {1, 0}, {2, 0}}, {{0, 0}, {1, 1}, {-3, -3}}, {{5, 5}, {5, 5}, {6, 7}}} {
		d, err := ShapeDistance(equilateral, flat)
		if err != nil {
			t.Fatal(err)
		}
		expect.Abs(t, "equilateral to flat", d, math.Pi/4, 1e-14)
	}
	d, err := ShapeDistance(equilateral, mirror)
	if err != nil {
		t.Fatal(err)
	}
	expect.Abs(t, "equilateral to its mirror image", d, math.Pi/2, 1e-14)
	// A small distance keeps its digits: height h → h(1+ε) is at ρ ≈ ε/2 on that sphere.
	const epsilon = 1e-9
	d, err = ShapeDistance(equilateral, [][]float64{{0, 0}, {1, 0}, {0.5, h * (1 + epsilon)}})
	if err != nil {
		t.Fatal(err)
	}
	expect.Abs(t, "a small distance", d, epsilon/2, 1e-15)
}

func TestShapeDistanceIsAMetricOfShapes(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	distance := func(a, b [][]float64) float64 {
		d, err := ShapeDistance(a, b)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, dim := range []int{2, 3} {
		for range 20 {
			a, b, c := randomShape(r, 5, dim), randomShape(r, 5, dim), randomShape(r, 5, dim)
			ab := distance(a, b)
			expect.Abs(t, "symmetry", distance(b, a), ab, 1e-13)
			expect.Abs(t, "invariance", distance(randomSimilarity(r, dim).Apply(a), randomSimilarity(r, dim).Apply(b)), ab, 1e-12)
			if ab > distance(a, c)+distance(c, b)+1e-13 {
				t.Errorf("%d-D: triangle inequality broken", dim)
			}
		}
	}
}

func TestProcrustesOfOneShape(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, dim := range []int{2, 3} {
		first := randomShape(r, 7, dim)
		shapes := []shape.Shape{first}
		for range 9 {
			shapes = append(shapes, randomSimilarity(r, dim).Apply(first))
		}
		a, err := Procrustes(shapes)
		if err != nil {
			t.Fatal(err)
		}
		expect.Abs(t, "RMS", a.RMS, 0, 1e-13)
		expect.Abs(t, "size of the mean", CentroidSize(a.Mean), 1, 1e-14)
		for i := range shapes {
			expect.Abs(t, fmt.Sprintf("shape %d of %d", i, len(shapes)), a.Shapes[i], a.Mean, 1e-13)
		}
	}
}

func TestProcrustesInvariants(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for name, data := range map[string]*Dataset{"2-D": MouseVertebrae(), "3-D": Brain3D()} {
		for _, opts := range [][]ProcrustesOption{nil, {KeepSize()}} {
			t.Run(fmt.Sprintf("%s, %d options", name, len(opts)), func(t *testing.T) {
				shapes := data.Shapes()
				a, err := Procrustes(shapes, opts...)
				if err != nil {
					t.Fatal(err)
				}
				if a.Status != solve.Converged {
					t.Errorf("not converged in %d iterations", a.Iterations)
				}
				size := CentroidSize(a.Mean)
				if opts == nil {
					expect.Abs(t, "size of the mean", size, 1, 1e-14)
				}
				sum := 0.0
				for i, shape := range shapes {
					expect.Abs(t, "transform", a.Transforms[i].Apply(shape), a.Shapes[i], 0)
					expect.Abs(t, "centroid", floats.Norm(a.Shapes[i].Centroid(), 2), 0, 1e-13*size)
					// The mean of the aligned shapes is the best fit for each: aligning once more turns nothing.
					s, err := FitSimilarity(a.Shapes[i], a.Mean, opts...)
					if err != nil {
						t.Fatal(err)
					}
					for c, row := range s.Rotation {
						expect.Abs(t, "rotation left over", row[c], 1, 1e-13)
					}
					want := 0.0
					if opts == nil {
						rho, err := ShapeDistance(shape, a.Mean)
						if err != nil {
							t.Fatal(err)
						}
						want = math.Sin(rho)
					} else {
						expect.Abs(t, "size kept", CentroidSize(a.Shapes[i]), CentroidSize(shape), 1e-12*size)
						for l, p := range a.Shapes[i] {
							want = math.Hypot(want, floats.Distance(p, a.Mean[l], 2))
						}
					}
					expect.Abs(t, "distance", a.Distances[i], want, 1e-12*size)
					sum += want * want
				}
				expect.Abs(t, "RMS", a.RMS, math.Sqrt(sum/float64(len(shapes))), 1e-12*size)

				// Where the others lie changes nothing; with sizes kept they may only be moved rigidly.
				moved := []shape.Shape{shapes[0]}
				for _, shape := range shapes[1:] {
					s := randomSimilarity(r, len(shape[0]))
					if opts != nil {
						s.Scale = 1
					}
					moved = append(moved, s.Apply(shape))
				}
				b, err := Procrustes(moved, opts...)
				if err != nil {
					t.Fatal(err)
				}
				expect.Abs(t, "mean of moved shapes", b.Mean, a.Mean, 1e-12*size)
				// The frame is that of shape 0.
				for c, row := range a.Transforms[0].Rotation {
					expect.Abs(t, "rotation of shape 0", row[c], 1, 1e-14)
				}
			})
		}
	}
}

func TestProcrustesRefuses(t *testing.T) {
	triangle := [][]float64{{0, 0}, {1, 0}, {0, 1}}
	h := math.Sqrt(3) / 2
	equilateral := [][]float64{{0, 0}, {1, 0}, {0.5, h}}
	for name, c := range map[string]struct {
		shapes []shape.Shape
		want   []string
	}{
		"none":       {nil, []string{"no shapes"}},
		"empty":      {[]shape.Shape{triangle, {}}, []string{"shape 1", "no landmarks"}},
		"count":      {[]shape.Shape{triangle, triangle[:2]}, []string{"shape 1: 2 landmarks", "shape 0 has 3"}},
		"dimension":  {[]shape.Shape{triangle, {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}}, []string{"shape 1", "landmark 0 has 3 coordinates"}},
		"ragged":     {[]shape.Shape{triangle, {{0, 0}, {1, 0, 0}, {0, 1}}}, []string{"shape 1", "landmark 1 has 3 coordinates"}},
		"missing":    {[]shape.Shape{triangle, {{0, 0}, {1, math.NaN()}, {0, 1}}}, []string{"shape 1", "landmark 1", "y is NaN"}},
		"infinite":   {[]shape.Shape{triangle, {{0, 0}, {math.Inf(-1), 0}, {0, 1}}}, []string{"shape 1", "landmark 1", "x is infinite"}},
		"overflow":   {[]shape.Shape{triangle, {{1.7e308, 0}, {-1.7e308, 0}, {0, 1.7e308}}}, []string{"shape 1", "overflow"}},
		"coincident": {[]shape.Shape{triangle, {{0.1, 0.2}, {0.1, 0.2}, {0.1, 0.2}}}, []string{"shape 1", "all 3 landmarks coincide"}},
		"one":        {[]shape.Shape{{{1, 2}}, {{1, 2}}}, []string{"shape 0", "all 1 landmarks coincide"}},
		"rounding":   {[]shape.Shape{triangle, {{1e9, 0}, {1e9 + 1e-7, 0}, {1e9, 0}}}, []string{"shape 1", "all 3 landmarks coincide"}},
		"mirror":     {[]shape.Shape{equilateral, {{0, 0}, {1, 0}, {0.5, -h}}}, []string{"shape 1", "rotation is not determined"}},
		"collinear":  {[]shape.Shape{{{0, 0, 0}, {1, 0, 0}, {3, 0, 0}}, {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}}, []string{"shape 0", "rotation is not determined", "collinear"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Procrustes(c.shapes)
			expect.Refused(t, err, append(c.want, "procrustes")...)
			if len(c.shapes) == 2 {
				_, err = FitSimilarity(c.shapes[0], c.shapes[1])
				expect.Refused(t, err, "fit a similarity")
			}
		})
	}
}

func TestScalesOfCoordinates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		factor := math.Pow(10, float64(rapid.IntRange(-150, 150).Draw(t, "exponent")))
		shapes := GorillaSkulls().Scale(factor).Group("male").Shapes()
		a, err := Procrustes(shapes)
		if err != nil {
			t.Fatal(err)
		}
		expect.Abs(t, "RMS", a.RMS, 0.0499377219311, 1e-12)
		if a, err = Procrustes(shapes, KeepSize()); err != nil {
			t.Fatal(err)
		}
		if a.Status != solve.Converged {
			t.Fatalf("coordinates of order %g: not converged", factor)
		}
	})
}

// A shape of weight 2 counts as often as two such shapes.
func TestWeightedProcrustes(t *testing.T) {
	shapes := GorillaSkulls().Shapes()[:5]
	for _, opts := range [][]ProcrustesOption{nil, {KeepSize()}} {
		got := expect.Must(WeightedProcrustes(shapes, []float64{2, 6, 2, 2, 4}, opts...))
		want := expect.Must(Procrustes([]shape.Shape{shapes[0], shapes[1], shapes[1], shapes[1], shapes[2], shapes[3], shapes[4], shapes[4]}, opts...))
		expect.Abs(t, "mean", got.Mean, want.Mean, 1e-12*CentroidSize(want.Mean))
		expect.Rel(t, "root mean square", got.RMS, want.RMS, 1e-10)
		for i, k := range []int{0, 1, 4, 5, 6} {
			expect.Abs(t, "aligned shape", got.Shapes[i], want.Shapes[k], 1e-10*CentroidSize(want.Mean))
			expect.Rel(t, "distance", got.Distances[i], want.Distances[k], 1e-10)
		}
		if plain := expect.Must(Procrustes(shapes, opts...)); plain.Distances[1] <= got.Distances[1] {
			t.Errorf("a shape of weight 6 is %g from the mean, %g with equal weights", got.Distances[1], plain.Distances[1])
		}
	}
	expect.Refused(t, expect.Error(WeightedProcrustes(shapes, []float64{1, 1})), "2 weights for 5 shapes")
	expect.Refused(t, expect.Error(WeightedProcrustes(shapes, []float64{1, 1, 0, 1, 1})), "weight of shape 2 is 0")
}
