package shapestats

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/shape"
	"anatomy/geom/stats/linear"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/morpho"
)

// Symmetry parts shapes that are their own mirror images but for some asymmetry (object symmetry), such as skulls or faces. In the tangent
// space of the symmetric mean shape μ the aligned shape of specimen i is
//
//	μ + s_i + a_i,   s_i = (x_i + x̄_i)/2 − μ,   a_i = (x_i − x̄_i)/2,
//
// with its mirror image x̄_i, in which left and right landmarks have changed places (C. Klingenberg, M. Barluenga and A. Meyer,
// Evolution 56, 2002; K. Mardia, F. Bookstein and I. Moreton, Biometrika 87, 2000). All s_i are symmetric, all a_i change their sign in
// the mirror.
type Symmetry struct {
	Mean shape.Shape // [n][d], μ, of size 1
	// Symmetric and Asymmetric have the shapes μ + s_i and μ + a_i, with the covariates of the specimens. They are data like others: differences
	// between groups are the ANOVA of Symmetric, and where individuals were measured several times, their fluctuating asymmetry
	// is told from the error of measurement by that of Fit(s.Asymmetric, linear.Factor("individual")).
	Symmetric, Asymmetric *morpho.Dataset
	// Directional is the asymmetry that all share, [n][d]: the mean of a over individuals, each the mean of its measurements.
	Directional shape.Shape
	// Sums of squares over the specimens: Σ|s_i|², N |Directional|² and Σ|a_i − Directional|², the last one with the error of measurement.
	// They add up to the variation of the specimens where all individuals were measured as often.
	SymmetricSS, DirectionalSS, FluctuatingSS float64
	// The test is that of the directional asymmetry: under the null hypothesis each individual's asymmetry may as well be the opposite, and
	// signs are drawn at random. What is compared is |Directional|² divided by Σ|a_i|².
	linear.Test
}

// String is the shares of the sums of squares in one line.
func (s *Symmetry) String() string {
	total := (s.SymmetricSS + s.DirectionalSS + s.FluctuatingSS) / 100
	return fmt.Sprintf("symmetric variation %.2f %%, directional asymmetry %.2f %% (%v), fluctuating asymmetry %.2f %%",
		s.SymmetricSS/total, s.DirectionalSS/total, s.Test, s.FluctuatingSS/total)
}

// ObjectSymmetry parts the shapes of a data set. Pairs are landmarks on the left and on the right that are each other's mirror images; the
// others lie on the midline. The specimens and their mirror images are brought to size 1 and aligned together. Specimens with the same
// covariate "individual", if they have one, are measurements of one.
//
// It is an error if there are no pairs, a landmark of a pair does not exist or is in two pairs, landmarks are missing, all shapes are
// the same or have no mean, there are fewer than three individuals, or some specimens have an individual and others none.
func ObjectSymmetry(d *morpho.Dataset, pairs [][2]int, p linear.Permutations) (_ *Symmetry, err error) {
	defer try.Named(&err, "symmetry of %s", d.Name)
	both := withMirrorImages(d, pairs)
	x, middle := try.Get2(both.TangentShapes())
	dim, mean := len(middle[0]), slices.Concat(middle...)
	out := &Symmetry{Mean: middle}
	symmetric, asymmetric := *d, *d
	symmetric.Unit, asymmetric.Unit = "", ""
	symmetric.Specimens, asymmetric.Specimens = slices.Clone(d.Specimens), slices.Clone(d.Specimens)
	out.Symmetric, out.Asymmetric = &symmetric, &asymmetric
	var individuals []string
	sums, counts := map[string][]float64{}, map[string]float64{}
	for i, s := range d.Specimens {
		half := func(sign float64) []float64 {
			v := floats.SubTo(make([]float64, len(mean)), x[2*i], mean)
			floats.AddScaled(v, sign, x[2*i+1])
			floats.AddScaled(v, -sign, mean)
			floats.Scale(0.5, v)
			return v
		}
		even, odd := half(1), half(-1)
		out.SymmetricSS += floats.Dot(even, even)
		name := s.Covariates["individual"]
		try.FailIf((name == "") != (d.Specimens[0].Covariates["individual"] == ""),
			"specimen %q and the first one: one has an individual, the other none", s.Name)
		if name == "" {
			name = fmt.Sprint(i) // those of specimens may be alike
		}
		if sums[name] == nil {
			individuals, sums[name] = append(individuals, name), make([]float64, len(odd))
		}
		floats.Add(sums[name], odd)
		counts[name]++
		symmetric.Specimens[i].Points = points(floats.AddTo(even, even, mean), dim)
		asymmetric.Specimens[i].Points = points(floats.AddTo(odd, odd, mean), dim)
	}
	try.FailIf(len(individuals) < 3, "%d individuals, want at least 3", len(individuals))
	directional := make([]float64, len(mean))
	for _, name := range individuals {
		floats.Scale(1/counts[name], sums[name])
		floats.AddScaled(directional, 1/float64(len(individuals)), sums[name])
	}
	out.Directional = points(directional, dim)
	n := float64(len(d.Specimens))
	out.DirectionalSS = n * floats.Dot(directional, directional)
	for i := range d.Specimens {
		for l, p := range asymmetric.Specimens[i].Points {
			for c, v := range p {
				off := v - out.Mean[l][c] - out.Directional[l][c]
				out.FluctuatingSS += off * off
			}
		}
	}
	// With the same |a_i| a larger mean leaves less around it: as a test, this is that of F.
	sum := make([]float64, len(mean))
	tests := try.Get(p.Test("directional asymmetry", len(individuals), linear.Signs, []float64{floats.Dot(directional, directional)},
		func(d *linear.Draw) ([]float64, error) {
			clear(sum)
			for k, name := range individuals {
				floats.AddScaled(sum, d.Sign[k]/float64(len(individuals)), sums[name])
			}
			return []float64{floats.Dot(sum, sum)}, nil
		}))
	out.Test = tests[0]
	return out, nil
}

// withMirrorImages returns two specimens of each: itself, and its mirror image.
func withMirrorImages(d *morpho.Dataset, pairs [][2]int) *morpho.Dataset {
	try.FailIf(len(d.Specimens) == 0, "the data set has no specimens")
	try.Do(d.CheckShapes()) // an error that knows no mirror images
	try.FailIf(len(pairs) == 0,
		"no pairs of landmarks: give at least one pair of a left and a right landmark; landmarks on the midline alone have no sides")
	n := len(d.Specimens[0].Points)
	partner, seen := lists.Range(n), make([]bool, n)
	for _, p := range pairs {
		for k, i := range p {
			try.FailIf(i < 0 || i >= n, "pair %d has the landmark %d, want 0 to %d", p, i, n-1)
			try.FailIf(seen[i], "landmark %d is in two pairs, or twice in one", i)
			seen[i], partner[i] = true, p[1-k]
		}
	}
	out := *d
	out.Specimens = nil
	for _, s := range d.Specimens {
		image := morpho.Specimen{Name: s.Name + " mirrored", Points: make([][]float64, n)}
		for i, p := range s.Points {
			image.Points[partner[i]] = slices.Clone(p)
			image.Points[partner[i]][0] *= -1
		}
		out.Specimens = append(out.Specimens, s, image)
	}
	return &out
}
