package shapestats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/stats/linear"
	"anatomy/geom/tree"
	"anatomy/landmarks/morpho"
)

func normals(r *rand.Rand, n, columns int) [][]float64 {
	out := make([][]float64, n)
	for i := range out {
		for range columns {
			out[i] = append(out[i], r.NormFloat64())
		}
	}
	return out
}

// times is rows · matrix.
func times(rows, by [][]float64) [][]float64 {
	out := make([][]float64, len(rows))
	for i, row := range rows {
		out[i] = make([]float64, len(by[0]))
		for j, v := range row {
			for c, w := range by[j] {
				out[i][c] += v * w
			}
		}
	}
	return out
}

// Closed forms: two numbers, a block and the same one turned and scaled, a covariance of rank 1; and what may not matter.
func TestTwoBlockPLS(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	pls := func(a, b [][]float64) *PLS { return expect.Must(TwoBlockPLS(a, b, draws(9, 1))) }

	x, y := normals(r, 20, 1), normals(r, 20, 1)
	one := pls(x, y)
	correlation := stat.Correlation(slices.Concat(x...), slices.Concat(y...), nil)
	expect.Abs(t, "R of two numbers", one.R, math.Abs(correlation), 1e-14)
	expect.Abs(t, "RV of two numbers", one.RV, correlation*correlation, 1e-14)
	expect.Abs(t, "their covariance", one.Values[0], math.Abs(stat.Covariance(slices.Concat(x...), slices.Concat(y...), nil)), 1e-14)

	a := normals(r, 15, 3)
	c, s := math.Cos(0.7), math.Sin(0.7)
	turn := [][]float64{{3 * c, -3 * s, 0}, {3 * s, 3 * c, 0}, {0, 0, 3}}
	same := pls(a, times(a, turn))
	expect.Abs(t, "R of a block with itself", same.R, 1, 1e-13)
	expect.Abs(t, "RV of a block with itself", same.RV, 1, 1e-13)
	expect.Abs(t, "p of a block with itself", same.P, 0.1, 0)

	// b follows a along one direction of each alone.
	u, v := []float64{2. / 3, 2. / 3, 1. / 3}, []float64{0.6, 0.8}
	b := make([][]float64, len(a))
	for i, row := range a {
		score := 5 * (row[0]*u[0] + row[1]*u[1] + row[2]*u[2])
		b[i] = []float64{score * v[0], score * v[1]}
	}
	alone := pls(a, b)
	expect.Abs(t, "share of the first pair", alone.Shares[0], 1, 1e-12)
	if len(alone.Values) != 1 {
		t.Errorf("%d pairs of axes, want 1: %g", len(alone.Values), alone.Values)
	}
	expect.Abs(t, "axis", alone.Axes[1][0], []float64{math.Copysign(v[0], alone.Axes[1][0][0]), math.Copysign(v[1], alone.Axes[1][0][0])}, 1e-12)

	// S₁₂ by hand is Σ s u vᵀ; blocks may be exchanged, turned and moved.
	b = normals(r, 15, 2)
	for i := range b {
		b[i][0] += a[i][1]
	}
	p := pls(a, b)
	for i := range 3 {
		for j := range 2 {
			sum := 0.0
			for k, s := range p.Values {
				sum += s * p.Axes[0][k][i] * p.Axes[1][k][j]
			}
			column := func(rows [][]float64, c int) (out []float64) {
				for _, row := range rows {
					out = append(out, row[c])
				}
				return out
			}
			expect.Abs(t, fmt.Sprintf("covariance %d %d", i, j), sum, stat.Covariance(column(a, i), column(b, j), nil), 1e-13)
		}
	}
	turned := times(a, turn)
	for i := range turned {
		turned[i][0] += 1e3
	}
	for what, other := range map[string]*PLS{"exchanged": pls(b, a), "turned, scaled and moved": pls(turned, b)} {
		expect.Abs(t, "R of blocks that are "+what, other.R, p.R, 1e-11)
		expect.Abs(t, "RV of blocks that are "+what, other.RV, p.RV, 1e-11)
	}
}

// The p-value is the share of permutations, drawn one by one, in which the first pair of scores is correlated as much.
func TestPLSPermutations(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	a, b := normals(r, 12, 5), normals(r, 12, 3)
	for i := range b {
		b[i][0] += 0.7 * a[i][1]
	}
	for _, blocks := range [][2][][]float64{{a, b}, {b, a}, {a, normals(r, 12, 20)}} {
		p := expect.Must(TwoBlockPLS(blocks[0], blocks[1], draws(199, 5)))
		rng := rand.New(rand.NewPCG(5, 0))
		extreme := 1.0
		for range 199 {
			var permuted [][]float64
			for _, j := range rng.Perm(12) {
				permuted = append(permuted, blocks[1][j])
			}
			if expect.Must(TwoBlockPLS(blocks[0], permuted, draws(1, 1))).R >= p.R {
				extreme++
			}
		}
		expect.Abs(t, "p", p.P, extreme/200, 0)
	}
}

// independent are specimens of an outline of n landmarks with noise, all landmarks by themselves.
func independent(r *rand.Rand, specimens, n int, noise float64) *morpho.Dataset {
	d := &morpho.Dataset{Name: "independent landmarks"}
	for s := range specimens {
		sp := morpho.Specimen{Name: fmt.Sprint(s)}
		for i := range n {
			a := 2 * math.Pi * float64(i) / float64(n)
			sp.Points = append(sp.Points, []float64{10*math.Cos(a) + noise*r.NormFloat64(), 7*math.Sin(a) + noise*r.NormFloat64()})
		}
		d.Specimens = append(d.Specimens, sp)
	}
	return d
}

// Landmarks that vary by themselves are integrated in one of twenty samples; parts that bend together are.
func TestIntegration(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	some := []int{0, 1, 2, 3}
	const samples = 200
	significant := 0
	for i := range samples {
		if expect.Must(MeasureIntegration(independent(r, 12, 9, 0.3), some, draws(19, uint64(i)))).P <= 0.05 {
			significant++
		}
	}
	if significant > 20 || significant < 2 { // 10 ± 3
		t.Errorf("%d of %d samples of independent parts have p ≤ 0.05", significant, samples)
	}

	bent := independent(r, 30, 9, 0.1)
	for _, s := range bent.Specimens {
		by := r.NormFloat64()
		s.Points[1][0] += by // one landmark of either part goes out
		s.Points[6][1] -= 2 * by
	}
	g := expect.Must(MeasureIntegration(bent, some, draws(199, 1)))
	if g.P > 0.005 || g.R < 0.95 {
		t.Errorf("parts that bend together: %s", &g.PLS)
	}
	for part, of := range g.Landmarks {
		expect.Abs(t, "the mean of a part", g.At(part, 0, 0)[0], g.Means[part][0], 0)
		at := g.At(part, 0, 0.1)
		far, which := 0.0, 0
		for i := range at {
			if d := math.Hypot(at[i][0]-g.Means[part][i][0], at[i][1]-g.Means[part][i][1]); d > far {
				far, which = d, of[i]
			}
		}
		if want := []int{1, 6}[part]; which != want {
			t.Errorf("along its axis part %d moves landmark %d most, want %d", part, which, want)
		}
	}
	// Where a part lies, how it is turned and how large it is, is nothing to the other one.
	for i, s := range bent.Specimens {
		c, sin := math.Cos(float64(i)), math.Sin(float64(i))
		for _, l := range some {
			x, y := s.Points[l][0], s.Points[l][1]
			s.Points[l][0], s.Points[l][1] = float64(1+i)*(c*x-sin*y)+float64(3*i), float64(1+i)*(sin*x+c*y)
		}
	}
	expect.Abs(t, "R of parts that moved", expect.Must(MeasureIntegration(bent, some, draws(9, 1))).R, g.R, 1e-6)
}

// How much jaw and skull of salamanders covary; differences of species and sites are part of it.
func ExampleMeasureIntegration() {
	g, err := MeasureIntegration(morpho.Plethodon(), []int{0, 1, 2, 3, 4}, draws(999, 1))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(g)
	jaw := g.At(0, 0, 0.05) // its shape at a score of 0.05 along the first axis
	fmt.Println(len(jaw), "landmarks of the jaw")
	// Output:
	// R 0.7204, Z 3.91, p 0.001 ± 0.001 of 999 permutations; RV 0.4831; the first pair of axes has 78.0 % of the squared covariance
	// 5 landmarks of the jaw
}

func TestIntegrationErrors(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	d := independent(r, 10, 9, 0.1)
	lost, coded := independent(r, 10, 9, 0.1), independent(r, 10, 9, 0.1)
	lost.Specimens[2].Points[7][1] = math.NaN()
	coded.Specimens[2].Points[7] = []float64{-999, -999}
	a := normals(r, 10, 2)
	for want, f := range map[string]func() error{
		"listed twice":        func() error { return expect.Error(MeasureIntegration(d, []int{1, 1, 2}, draws(9, 1))) },
		"or is not of 0 to 8": func() error { return expect.Error(MeasureIntegration(d, []int{1, 2, 9}, draws(9, 1))) },
		"a part has 2":        func() error { return expect.Error(MeasureIntegration(d, []int{1, 2}, draws(9, 1))) },
		`specimen "2": landmark 8 is missing (y is NaN)`: func() error { return expect.Error(MeasureIntegration(lost, []int{1, 2, 3}, draws(9, 1))) },
		`specimen "2": landmark 8 is at [-999 -999]`:     func() error { return expect.Error(MeasureIntegration(coded, []int{1, 2, 3}, draws(9, 1))) },
		"no specimens":       func() error { return expect.Error(MeasureIntegration(&morpho.Dataset{}, []int{1, 2, 3}, draws(9, 1))) },
		"10 and 9 specimens": func() error { return expect.Error(TwoBlockPLS(a, a[:9], draws(9, 1))) },
		"0 permutations":     func() error { return expect.Error(TwoBlockPLS(a, a, draws(0, 1))) },
		"block 2: all":       func() error { return expect.Error(TwoBlockPLS(a, slices.Repeat([][]float64{{1, 2}}, 10), draws(9, 1))) },
		"specimen 9 is NaN": func() error {
			return expect.Error(TwoBlockPLS(append(a[:9:9], []float64{1, math.NaN()}), a, draws(9, 1)))
		},
		"specimen 9 has 1":           func() error { return expect.Error(TwoBlockPLS(append(a[:9:9], []float64{1}), a, draws(9, 1))) },
		"block 1: it has no columns": func() error { return expect.Error(TwoBlockPLS(make([][]float64, 10), a, draws(9, 1))) },
	} {
		expect.Refused(t, f(), want)
	}
}

// On a star of equal lengths the integration of species is that of specimens; on another tree it is that of rows by the root of the inverse covariance
// of the leaves, less the estimate at the root.
func TestIntegrationOnTree(t *testing.T) {
	heads := morpho.PlethodonSpecies()
	parts := []int{0, 1, 2, 3, 4}
	var star []string
	for _, s := range heads.Specimens {
		star = append(star, s.Name+":1")
	}
	equal := expect.Must(tree.Parse("(" + strings.Join(star, ",") + ");"))
	alone, on := expect.Must(MeasureIntegration(heads, parts, draws(9, 1))), expect.Must(MeasureIntegrationOnTree(heads, equal, parts, draws(9, 1)))
	expect.Abs(t, "R on a star", on.R, alone.R, 1e-12)
	expect.Abs(t, "covariance on a star", on.Values[0], alone.Values[0], 1e-15)
	for i, name := range on.Scores[0][0] {
		leaf := equal.Name[equal.Leaves()[i]]
		k := slices.IndexFunc(heads.Specimens, func(s morpho.Specimen) bool { return s.Name == leaf })
		expect.Abs(t, "score on a star", name, alone.Scores[0][0][k], 1e-12)
	}

	phylogeny := expect.Must(tree.Parse(morpho.PlethodonTree()))
	on = expect.Must(MeasureIntegrationOnTree(heads, phylogeny, parts, draws(99, 1)))
	d := expect.Must(heads.OnTree(phylogeny))
	_, rows := apart(d, parts)
	shared := expect.Must(phylogeny.Shared())
	v := mat.NewSymDense(9, nil)
	for a := range shared {
		for b := range a + 1 {
			v.SetSym(a, b, shared[a][b])
		}
	}
	var eigen mat.EigenSym
	eigen.Factorize(v, true)
	var q, root mat.Dense
	eigen.VectorsTo(&q)
	scaled := mat.DenseCopyOf(&q)
	for j, value := range eigen.Values(nil) {
		for i := range 9 {
			scaled.Set(i, j, q.At(i, j)/math.Sqrt(value))
		}
	}
	root.Mul(scaled, q.T())
	ones := mat.NewDense(9, 1, slices.Repeat([]float64{1}, 9))
	var u [2]mat.Dense
	for part := range rows {
		y := mat.NewDense(9, len(rows[part][0]), slices.Concat(rows[part]...))
		var inverse, weights, mean, centre mat.Dense
		inverse.Mul(&root, &root)
		weights.Mul(ones.T(), &inverse)
		mean.Mul(&weights, y)
		mean.Scale(1/mat.Sum(&weights), &mean)
		centre.Mul(ones, &mean)
		y.Sub(y, &centre)
		u[part].Mul(&root, y)
	}
	var cross mat.Dense
	cross.Mul(u[0].T(), &u[1])
	var svd mat.SVD
	svd.Factorize(&cross, mat.SVDThin)
	var left, right, x, y mat.Dense
	svd.UTo(&left)
	svd.VTo(&right)
	x.Mul(&u[0], left.ColView(0))
	y.Mul(&u[1], right.ColView(0))
	expect.Abs(t, "R on the tree", on.R, mat.Dot(x.ColView(0), y.ColView(0))/mat.Norm(&x, 2)/mat.Norm(&y, 2), 1e-10)
	expect.Abs(t, "evolutionary covariance", on.Values[0], svd.Values(nil)[0]/8, 1e-12)
	t.Log(on)
}

// The difference of effects is that of normal numbers, and of one sample with itself 0; the standard error is that of the samples without each.
func TestEffects(t *testing.T) {
	a := &Integration{PLS: PLS{fisher: linear.Effect{Observed: 5, Mean: 1, Deviation: 2}, StandardError: 1}}
	b := &Integration{PLS: PLS{fisher: linear.Effect{Observed: 4, Mean: 3, Deviation: 1}, StandardError: 1.5}}
	z, p := a.Difference(b)
	expect.Abs(t, "z", z, 3/2.5, 1e-15)
	expect.Abs(t, "p", p, 0.2301393, 1e-7)
	if z, p := a.Difference(a); z != 0 || p != 1 || a.fisher.Z() != 2 || !math.IsNaN((linear.NewEffect([]float64{3, 3, 3})).Z()) || !math.IsNaN(linear.NewEffect(normalised([]float64{3, 3 + 1e-15, 3})).Z()) {
		t.Error(z, p, a)
	}
	r := rand.New(rand.NewPCG(9, 9))
	x, y := normals(r, 12, 3), normals(r, 12, 2)
	var left []float64
	for i := range x {
		left = append(left, math.Atanh(expect.Must(TwoBlockPLS(slices.Delete(slices.Clone(x), i, i+1), slices.Delete(slices.Clone(y), i, i+1), draws(1, 1))).R))
	}
	expect.Abs(t, "standard error", expect.Must(TwoBlockPLS(x, y, draws(1, 1))).StandardError, math.Sqrt(11./12*11*stat.Variance(left, nil)), 1e-12)
}

// The draws of Effect have the skewness and the quantiles of normal numbers, those of R and of atanh R not; Z of salamander heads is that of
// geomorph 4.0.8, of parts aligned apart and together.
func TestEffectIsOnANormalScale(t *testing.T) {
	heads, some := morpho.Plethodon(), []int{0, 1, 2, 3, 4}
	_, apart := apart(heads, some)
	rows := expect.Must(Fit(heads)).Residuals
	r := rand.New(rand.NewPCG(17, 18))
	split := func(rows [][]float64, at int) (out [2][][]float64) {
		for _, row := range rows {
			out[0], out[1] = append(out[0], row[:at]), append(out[1], row[at:])
		}
		return out
	}
	for _, c := range []struct {
		name   string
		blocks [2][][]float64
		z      float64 // of geomorph
	}{
		{"heads, parts apart", apart, 3.87},
		{"heads, one alignment", split(rows, 10), 5.24},
		{"brains", split(expect.Must(Fit(morpho.Brain3D())).Residuals, 36), 0},
		{"gorillas", split(expect.Must(Fit(morpho.GorillaSkulls())).Residuals, 8), 0},
		{"few specimens", [2][][]float64{normals(r, 10, 6), normals(r, 10, 5)}, 0},
		{"many specimens of few numbers", [2][][]float64{normals(r, 200, 2), normals(r, 200, 2)}, 0},
		{"many numbers", [2][][]float64{normals(r, 40, 30), normals(r, 40, 60)}, 0},
	} {
		x, y := newBlock(c.blocks[0], true), newBlock(c.blocks[1], true)
		drawn := []float64{x.correlation(y)}
		_, err := draws(1999, 3).Test("draws", len(c.blocks[0]), linear.Order, drawn[:1:1], func(d *linear.Draw) ([]float64, error) {
			drawn = append(drawn, x.correlation(y.permuted(d)))
			return drawn[:1], nil
		})
		if err != nil {
			t.Fatal(err)
		}
		z := normalised(drawn)
		hyperbolic := slices.Clone(drawn)
		for i, v := range drawn {
			hyperbolic[i] = math.Atanh(v)
		}
		t.Logf("%s: skewness %.2f, of R %.2f, of atanh R %.2f; Z %.2f, of atanh R %.2f", c.name, stat.Skew(z, nil), stat.Skew(drawn, nil),
			stat.Skew(hyperbolic, nil), linear.NewEffect(z).Z(), linear.NewEffect(hyperbolic).Z())
		expect.Abs(t, c.name+": skewness", stat.Skew(z, nil), 0, 0.1)
		mean, deviation := stat.MeanStdDev(z, nil)
		slices.Sort(z)
		for q, want := range map[float64]float64{0.01: -2.326, 0.05: -1.645, 0.5: 0, 0.95: 1.645, 0.99: 2.326} {
			expect.Abs(t, fmt.Sprintf("%s: quantile %g", c.name, q), (stat.Quantile(q, stat.Empirical, z, nil)-mean)/deviation, want, 0.2)
		}
		if c.z > 0 {
			expect.Abs(t, c.name+": Z", expect.Must(TwoBlockPLS(c.blocks[0], c.blocks[1], draws(1999, 3))).Effect.Z(), c.z, 0.3)
		}
	}
}
