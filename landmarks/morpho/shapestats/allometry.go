package shapestats

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/geom/stats/linear"
	"anatomy/geom/tree"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/morpho"
)

// Allometry is how shape changes with the logarithm of centroid size, by one slope for all groups, and by one for each.
type Allometry struct {
	Common *Model        // shape by size and group
	Slopes *Model        // and by size:group; nil without groups
	Table  *linear.ANOVA // of Slopes, or of Common without groups: the row "log size:group" is the test of slopes
	Pairs  linear.Pairs  // the slopes of pairs of groups; nil without groups

	Sizes []float64 // [N], logarithms of centroid sizes, as Scores and ResidualComponent in the order of Common.Data
	// Scores are the common allometric component, and with it the regression scores: how far a shape goes along the slope that all groups share (A.
	// Drake and C. Klingenberg, Proc. R. Soc. B 275, 2008; P. Mitteroecker and others, J. Human Evolution 46, 2004).
	Scores []float64
	// ResidualComponent are the scores on the first principal component of the shapes less their part along that slope, and its share of what they
	// vary.
	ResidualComponent []float64
	Share             float64
	// SizeFree are the shapes at the mean of the logarithm of size, by the common slope: data like others, which keep the differences between groups.
	SizeFree *morpho.Dataset
}

// MeasureAllometry fits shape to the logarithm of centroid size, and to the groups of the data set if there are several (morpho.Dataset.GroupBy makes
// them). With a tree, which may be nil, the specimens are species: see FitOnTree. Specimens whose landmarks have known errors are weighed by them:
// see FitWithErrors. Errors are those of Fit and of morpho.Dataset.LogSizes, as for shapes that were scaled before.
func MeasureAllometry(d *morpho.Dataset, t *tree.Tree, p linear.Permutations) (_ *Allometry, err error) {
	defer try.Named(&err, "allometry of %s", d.Name)
	fit := func(terms ...linear.Term) (*Model, error) {
		if t != nil {
			return FitOnTree(d, t, terms...)
		}
		if slices.Contains(d.Covariates(), morpho.ErrorColumn) {
			m, _, err := FitWithErrors(d, terms...)
			return m, err
		}
		return Fit(d, terms...)
	}
	size, group := LogSize(), linear.Factor("group")
	terms := linear.Terms{size}
	if len(d.Groups()) > 1 {
		terms = append(terms, group)
	}
	out := &Allometry{}
	out.Common = try.Get(fit(terms...))
	tested := out.Common
	if len(terms) > 1 {
		out.Slopes = try.Get(fit(append(terms, linear.Interaction(size, group))...))
		out.Pairs = try.Get(out.Slopes.PairsOfSlopes(group, size, p))
		tested = out.Slopes
	}
	out.Table = try.Get(tested.ANOVA(p))
	out.Scores = try.Get(out.Common.RegressionScores(size))
	out.Sizes = try.Get(out.Common.Data.Numbers(morpho.LogSize))
	free := *out.Common.Data
	free.Specimens, free.Unit = slices.Clone(free.Specimens), ""
	out.SizeFree = &free
	slope, mean := out.slope(), stat.Mean(out.Sizes, nil)
	length := floats.Norm(slope, 2)
	var rest [][]float64
	for i, s := range out.Sizes {
		row := slices.Clone(out.Common.Fitted[i])
		floats.Add(row, out.Common.Residuals[i])
		rest = append(rest, slices.Clone(row))
		floats.AddScaled(rest[i], -floats.Dot(row, slope)/(length*length), slope)
		floats.AddScaled(row, mean-s, slope)
		free.Specimens[i].Points = out.Common.Shape(row)
	}
	var left *Components
	err = try.Run(func() { left = principal(rest) })
	try.FailIf(err != nil, "the shapes vary along one line, and nothing is left beside their change with size")
	out.ResidualComponent, out.Share = left.Scores[0], left.Shares[0]
	return out, nil
}

// String is the table, and that of pairs.
func (a *Allometry) String() string {
	if len(a.Pairs) == 0 {
		return a.Table.String()
	}
	return a.Table.String() + "\n" + a.Pairs.String()
}

// slope is the common change of shape for a unit of log size.
func (a *Allometry) slope() []float64 {
	return a.Common.Coefficients[slices.Index(a.Common.Columns, morpho.LogSize)]
}

// Predict returns the shape [n][d] that the slope of a group predicts at a centroid size, and its score, on the axis of Scores. Without groups the
// argument group is ignored. Errors are those of Model.Predict.
func (a *Allometry) Predict(group string, size float64) (_ shape.Shape, score float64, err error) {
	defer try.Catch(&err)
	m := cmp.Or(solve.NotNil(a).Slopes, a.Common)
	predicted := try.Get(m.Predict(map[string]string{"group": group, morpho.LogSize: fmt.Sprint(math.Log(size))}))
	row, slope := predicted.Flat(), a.slope()
	floats.Sub(row, lists.Mean(m.Fitted))
	floats.Sub(row, lists.Mean(m.Residuals))
	return predicted, floats.Dot(row, slope) / floats.Norm(slope, 2), nil
}

// Repeatability is how much of the variation of repeated measurements is that of what was measured, and how much is error of measurement.
type Repeatability struct {
	// ICC is the intraclass correlation of one measurement (C. Lessells and P. Boag, Auk 104, 1987; C. Fruciano, Dev. Genes Evol. 226, 2016),
	//
	//	(MS_b − MS_w)/(MS_b + (m − 1) MS_w),
	//
	// with the mean squares between and within individuals and m measurements of each; of unequal numbers m_i, m = (N − Σm_i²/N)/(a − 1) for a
	// individuals. It is 1 without error, and about 0 or below where measurements of one individual are no more alike than those of several.
	ICC float64
	// Table is the analysis of variance by individual and session, if sessions were named: the systematic error and its test are in the second row,
	// the random error in that of the residuals.
	Table  *linear.ANOVA
	Noise  []float64 // [n], standard deviation of each landmark within individuals, all coordinates together, in centroid sizes
	Spread []float64 // [n], the same of the means of the individuals
}

// String is the table with the repeatability.
func (r *Repeatability) String() string {
	return fmt.Sprintf("%v\nrepeatability of one measurement: %.4f", r.Table, r.ICC)
}

// MeasureRepeatability compares repeated measurements of individuals: how much of the variance of shape is between individuals, and how much is
// error of measurement. Individuals are the categories of a factor, or of an Interaction of factors, such as the sides of each. A session is the
// factor of who measured, or when: its term separates a systematic error from a random one.
//
// The test of a session permutes the residuals of the individuals' means, which are exchangeable if sessions do not differ. It is an error if no
// individual was measured twice; other errors are those of Fit.
func MeasureRepeatability(d *morpho.Dataset, individual linear.Term, p linear.Permutations, session ...linear.Term) (_ *Repeatability, err error) {
	defer try.Named(&err, "repeatability of %s", d.Name)
	names, members := try.Get2(linear.Cells(len(d.Specimens), d, individual))
	n, a, squares := float64(len(d.Specimens)), float64(len(names)), 0.0
	for _, m := range members {
		squares += float64(len(m) * len(m))
	}
	try.FailIf(squares == n, "each category of %s was measured once", individual.Name())
	try.FailIf(a < 2, "there is one individual: measure at least two")
	m := try.Get(Fit(d, linear.Factor(individual.Name(), cells(names, members)...)))
	out := &Repeatability{Noise: make([]float64, len(m.Mean)), Spread: make([]float64, len(m.Mean))}
	dim := len(m.Mean[0])
	centre := lists.Mean(m.Fitted)
	within, between := 0.0, 0.0
	for i := range m.Fitted {
		for c, r := range m.Residuals[i] {
			b := m.Fitted[i][c] - centre[c]
			out.Noise[c/dim] += r * r / (n - a)
			out.Spread[c/dim] += b * b / (a - 1) * a / n
			within, between = within+r*r, between+b*b
		}
	}
	for l := range out.Noise {
		out.Noise[l], out.Spread[l] = math.Sqrt(out.Noise[l]), math.Sqrt(out.Spread[l])
	}
	within, between = within/(n-a), between/(a-1)
	out.ICC = (between - within) / (between + ((n-squares/n)/(a-1)-1)*within)
	if len(session) > 0 {
		m = try.Get(Fit(d, append([]linear.Term{linear.Factor(individual.Name(), cells(names, members)...)}, session...)...))
	}
	out.Table = try.Get(m.ANOVA(p))
	return out, nil
}

// cells is the name of each sample's cell.
func cells(names []string, members [][]int) []string {
	out := make([]string, len(slices.Concat(members...)))
	for c, m := range members {
		for _, i := range m {
			out[i] = names[c]
		}
	}
	return out
}

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
