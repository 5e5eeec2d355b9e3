package shapestats

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/geom/stats/linear"
	"anatomy/geom/tree"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/morpho"
)

// Separation is axes along which groups differ most, with what they are worth for specimens that had no part in them.
type Separation struct {
	Groups []string
	Mean   shape.Shape // [n][d], of all shapes, of size 1
	Shares []float64   // [k], of the squared distances between the means of groups, falling
	Axes   [][]float64 // [k][p], change of shape for a unit of the score
	Scores [][]float64 // [k][N], of specimens that had a part in the axes: they show groups apart even where there are none
	// CrossValidated has the scores of each specimen on axes that were found without it, turned to the Axes by the means of the groups. These are to
	// be drawn beside the Scores.
	CrossValidated [][]float64
	// Right and RightAgain are the shares of specimens whose own group has the nearest mean along the axes: of specimens that had no part in these,
	// and of such that had. By chance alone it is 1 divided by the number of groups, or a little less.
	Right, RightAgain float64
	Confusion         [][]int // [group][nearest group], of cross-validated specimens
	Components        int     // how many principal components of the shapes were taken

	// The test is that of the sum of squares between groups in the metric of the axes, for shapes of any groups: their specimens are permuted.
	linear.Test
}

// String says in one line how well groups are told apart.
func (s *Separation) String() string {
	return fmt.Sprintf("%.1f %% of the specimens are nearest to their own group, cross-validated, and %.1f %% not so; %v; %d principal components",
		100*s.Right, 100*s.RightAgain, s.Test, s.Components)
}

// CanonicalVariates returns the axes along which the groups of a data set differ most, relative to the standard deviation within groups (linear
// discriminants): each axis a maximises aᵀBa/aᵀWa, with the matrices of sums of squares B between and W within groups, among those that are
// uncorrelated within groups with the axes before it. Scores have the variance 1 within groups. The test compares Pillai's trace, tr(B(B + W)⁻¹).
//
// The covariance within groups is that of the first principal components of all specimens: those with 95 % of the variance, but at most a third
// of the number of specimens minus that of groups, because a covariance of more numbers cannot be estimated. Scores of specimens that took part in
// the axes separate groups even if these do not differ, the more the fewer specimens there are per component: see CrossValidated.
//
// It is an error if there are fewer than two groups, if a group has a single specimen, or if nothing varies; other errors are those of Fit.
func CanonicalVariates(d *morpho.Dataset, p linear.Permutations) (*Separation, error) {
	return separation("canonical variates", d, p, (*Components).most, true)
}

// BetweenGroupComponents returns the principal components of the group means, weighted by the numbers of specimens, and the scores of all shapes on
// them. The axes have length 1 and need no covariance within groups (P. Mitteroecker and F. Bookstein, Evol. Biol. 38, 2011). The test compares the
// share of the variance that is between groups. In many dimensions these axes also separate groups that do not differ (A. Cardini, P. O'Higgins and
// J. Rohlf, Evol. Biol. 46, 2019): see CrossValidated. Errors are those of CanonicalVariates.
func BetweenGroupComponents(d *morpho.Dataset, p linear.Permutations) (*Separation, error) {
	return separation("between-group components", d, p, func(c *Components, free int) int { return len(c.Axes) }, false)
}

func separation(what string, d *morpho.Dataset, p linear.Permutations, components func(c *Components, free int) int, whiten bool) (_ *Separation,
	err error) {
	defer try.Named(&err, "%s of %s", what, d.Name)
	mean := try.Get(Fit(d))
	c := try.Get(mean.Components())
	groups := lists.Each(d.Specimens, func(s morpho.Specimen) string { return s.Group })
	r := components(c, len(groups)-len(d.Groups()))
	out := separate(what, c.Scores[:r], groups, whiten, p)
	out.Mean = mean.Mean
	for k, axis := range out.Axes {
		out.Axes[k] = lists.Combine(axis, c.Axes[:r])
	}
	return out, nil
}

// sorted are rows in groups.
type sorted struct {
	z      *mat.Dense // [N, r]
	of     []int      // the group of each row
	count  []float64  // of the groups
	mean   *mat.Dense // [G, r]
	within *mat.SymDense
	whiten bool
}

// separate does so for columns of numbers, [r][N], whose means are 0.
func separate(what string, columns [][]float64, groups []string, whiten bool, p linear.Permutations) *Separation {
	n, r := len(groups), len(columns)
	out := &Separation{Components: r}
	s := &sorted{z: mat.NewDense(n, r, nil), whiten: whiten}
	for k, c := range columns {
		s.z.SetCol(k, c)
	}
	for _, name := range groups {
		g := slices.Index(out.Groups, name)
		if g < 0 {
			g, out.Groups, s.count = len(out.Groups), append(out.Groups, name), append(s.count, 0)
		}
		s.of = append(s.of, g)
		s.count[g]++
	}
	g := len(out.Groups)
	try.FailIf(g < 2, "%d group, want at least 2", g)
	if k := slices.Index(s.count, 1); k >= 0 {
		try.Fail("the group %s has 1 specimen, want at least 2", out.Groups[k])
	}
	s.mean = s.means(s.of)
	s.within = mat.NewSymDense(r, nil)
	for i, k := range s.of {
		s.within.SymRankOne(s.within, 1, s.off(i, k))
	}
	whole := try.Get(s.axes(-1))
	out.Shares = whole.shares
	right := 0
	for k := range whole.shares {
		out.Axes, out.Scores = append(out.Axes, mat.Col(nil, k, whole.change)), append(out.Scores, make([]float64, n))
		out.CrossValidated = append(out.CrossValidated, make([]float64, n))
	}
	out.Confusion = lists.Make(g, func(int) []int { return make([]int, g) })
	for i, k := range s.of {
		score := whole.score(s.z.RowView(i))
		if whole.nearest(score) == k {
			out.RightAgain += 1 / float64(n)
		}
		without, err := s.axes(i)
		try.Do(try.Name(err, "without specimen %d", i))
		crossed := without.score(s.z.RowView(i))
		nearest := without.nearest(crossed)
		if out.Confusion[k][nearest]++; nearest == k {
			right++
		}
		crossed = without.towards(whole, s.count, crossed)
		for j := range out.Scores {
			out.Scores[j][i], out.CrossValidated[j][i] = score.AtVec(j), crossed.AtVec(j)
		}
	}
	out.Right = float64(right) / float64(n)

	rows := s.z
	if whiten { // by the covariance of all: the sum of squares between groups is Pillai's trace then
		rows = standardise(s.z)
	}
	table := oneWay(rows, groups, p)
	out.Test = linear.Test{P: table.Rows[0].P, Permutations: table.Permutations}
	return out
}

// oneWay is the analysis of variance of rows in groups.
func oneWay(rows *mat.Dense, groups []string, p linear.Permutations) *linear.ANOVA {
	y := lists.Make(len(groups), rows.RawRowView)
	design := try.Get(linear.NewDesign(len(y), nil, nil, linear.Factor("group", groups...)))
	return try.Get(try.Get(design.Fit(y)).ANOVA(p))
}

// standardise turns and scales columns such that their products are 1 with themselves and 0 with each other.
func standardise(z *mat.Dense) *mat.Dense {
	var svd mat.SVD
	try.FailIf(!svd.Factorize(z, mat.SVDThin), "the singular values were not found")
	var u mat.Dense
	svd.UTo(&u)
	return &u
}

// means are those of groups, [G, r].
func (s *sorted) means(of []int) *mat.Dense {
	_, r := s.z.Dims()
	out := mat.NewDense(len(s.count), r, nil)
	for i, g := range of {
		floats.AddScaled(out.RawRowView(g), 1/s.count[g], s.z.RawRowView(i))
	}
	return out
}

// off is a row less the mean of a group.
func (s *sorted) off(i, g int) *mat.VecDense {
	row := slices.Clone(s.z.RawRowView(i))
	floats.Sub(row, s.mean.RawRowView(g))
	return mat.NewVecDense(len(row), row)
}

// directions are axes that separate groups.
type directions struct {
	centre *mat.VecDense // of all rows
	axes   *mat.Dense    // [r, k]: scores are (row − centre)·axes
	change *mat.Dense    // [r, k], of the row for a unit of the score
	means  *mat.Dense    // [G, k], scores of the groups
	shares []float64
}

// axes are those of all rows without one, or of all if that is −1.
func (s *sorted) axes(without int) (_ *directions, err error) {
	defer try.Catch(&err)
	groups, r := s.mean.Dims()
	n := 0.0
	mean, count, within := mat.DenseCopyOf(s.mean), slices.Clone(s.count), mat.NewSymDense(r, nil)
	within.CopySym(s.within)
	if without >= 0 {
		g := s.of[without]
		off := s.off(without, g)
		floats.AddScaled(mean.RawRowView(g), -1/(count[g]-1), off.RawVector().Data)
		within.SymRankOne(within, -count[g]/(count[g]-1), off)
		count[g]--
	}
	centre := make([]float64, r)
	for g, c := range count {
		n += c
		floats.AddScaled(centre, c, mean.RawRowView(g))
	}
	floats.Scale(1/n, centre)
	weighted := mat.NewDense(groups, r, nil) // √n_g (mean_g − centre)
	for g, c := range count {
		floats.AddScaled(weighted.RawRowView(g), math.Sqrt(c), mean.RawRowView(g))
		floats.AddScaled(weighted.RawRowView(g), -math.Sqrt(c), centre)
	}
	var lower mat.TriDense
	if s.whiten {
		try.FailIf(n <= float64(groups), "%g specimens of %d groups have no covariance within", n, groups)
		within.ScaleSym(1/(n-float64(groups)), within)
		var cholesky mat.Cholesky
		try.FailIf(!cholesky.Factorize(within),
			"the groups differ in a direction in which no group varies: add specimens, or use fewer components")
		cholesky.LTo(&lower)
		var turned mat.Dense
		try.Do(turned.Solve(&lower, weighted.T()))
		weighted = mat.DenseCopyOf(turned.T())
	}
	var svd mat.SVD
	try.FailIf(!svd.Factorize(weighted, mat.SVDThin), "the singular values of the means were not found")
	var v mat.Dense
	svd.VTo(&v)
	values := svd.Values(nil)
	k, total := min(groups-1, r), floats.Dot(values, values)
	try.FailIf(!(total > 0), "all groups have the same mean: look for copies of specimens")
	out := &directions{centre: mat.NewVecDense(r, centre), axes: mat.DenseCopyOf(v.Slice(0, r, 0, k)), change: mat.DenseCopyOf(v.Slice(0, r, 0, k)),
		means: new(mat.Dense)}
	for _, value := range values[:k] {
		out.shares = append(out.shares, value*value/total)
	}
	if s.whiten {
		out.change.Mul(&lower, out.change)
		try.Do(out.axes.Solve(lower.T(), out.axes))
	}
	for j := range k { // the sign
		column := mat.Col(nil, j, out.change)
		if -floats.Min(column) > floats.Max(column)*(1+1e-9) {
			floats.Scale(-1, column)
			out.change.SetCol(j, column)
			column = mat.Col(nil, j, out.axes)
			floats.Scale(-1, column)
			out.axes.SetCol(j, column)
		}
	}
	for g := range count {
		floats.Sub(mean.RawRowView(g), centre)
	}
	out.means.Mul(mean, out.axes)
	return out, nil
}

func (d *directions) score(row mat.Vector) *mat.VecDense {
	var off, out mat.VecDense
	off.SubVec(row, d.centre)
	out.MulVec(d.axes.T(), &off)
	return &out
}

// nearest is the group whose mean is nearest to a score.
func (d *directions) nearest(score *mat.VecDense) int {
	best, least := 0, math.Inf(1)
	groups, _ := d.means.Dims()
	for g := range groups {
		if off := floats.Distance(d.means.RawRowView(g), score.RawVector().Data, 2); off < least {
			best, least = g, off
		}
	}
	return best
}

// towards turns a score to the axes of others, by the rotation or mirror image that brings the means nearest to theirs.
func (d *directions) towards(other *directions, weights []float64, score *mat.VecDense) *mat.VecDense {
	_, k := d.means.Dims()
	product := mat.NewDense(k, k, nil)
	for g, w := range weights {
		product.RankOne(product, w, mat.NewVecDense(k, other.means.RawRowView(g)), mat.NewVecDense(k, d.means.RawRowView(g)))
	}
	var svd mat.SVD
	svd.Factorize(product, mat.SVDFull)
	var u, v, turn mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	turn.Mul(&u, v.T())
	var out mat.VecDense
	out.MulVec(&turn, score)
	return &out
}

// At is the mean shape moved by a score along an axis, [n][d].
func (s *Separation) At(axis int, score float64) shape.Shape {
	row := slices.Concat(solve.NotNil(s).Mean...)
	floats.AddScaled(row, score, s.Axes[axis])
	return points(row, len(s.Mean[0]))
}

// Components are principal components of N rows, those that vary.
type Components struct {
	Axes   [][]float64 // [k][p], of length 1; the largest number of each is positive
	Scores [][]float64 // [k][N], ⟨row less mean, axis⟩, or less what is estimated for the root of a tree
	Shares []float64   // [k], of the variance
}

// Components returns the principal components of the residuals of the model: of one without terms those of the shapes. On a tree they are not
// the PhylogeneticComponents. It is an error if all residuals are 0.
func (m *Model) Components() (_ *Components, err error) {
	defer try.Named(&err, "principal components of %s", solve.NotNil(m).Data.Name)
	return principal(m.Residuals), nil
}

// most is how many components have 95 % of the variance, at most a third of the degrees of freedom, since a covariance of more numbers is not known.
func (c *Components) most(free int) int {
	k, sum := 0, 0.0
	for k < min(len(c.Shares), free/3) && sum < 0.95 {
		sum += c.Shares[k]
		k++
	}
	return max(1, k)
}

// PhylogeneticComponents returns the phylogenetic principal components of shapes on a tree whose leaves are the specimens (L. Revell, Size-correction
// and principal components for interspecific comparative studies, Evolution 63, 2009): eigenvectors of the rates of evolution R = UᵀU/(N − 1) by
// Brownian motion, with the phylogenetically independent contrasts U. Scores are those of the leaves in their order, seen from the estimate for the
// root. They are correlated, and their variances are not the Shares, which are those of the trace of R. The shapes are aligned as for Fit. It has the
// errors of OnTree and TangentShapes.
func PhylogeneticComponents(d *morpho.Dataset, t *tree.Tree) (_ *Components, err error) {
	defer try.Named(&err, "phylogenetic principal components of %s", d.Name)
	rows, _ := onTree(d, t)
	contrasts, root := try.Get2(t.Contrasts(rows))
	return components(contrasts, rows, root, 0), nil
}

// principal are the principal components of rows.
func principal(rows [][]float64) *Components {
	mean := lists.Mean(rows)
	off := lists.Each(rows, func(row []float64) []float64 { return floats.SubTo(make([]float64, len(row)), row, mean) })
	return components(off, rows, mean, 1e-26*float64(len(rows)-1)) // of shapes of size 1 rounding has a variance of about 1e-32
}

// components have the axes along which the sum of squares of some rows is largest, from a least one on, and the scores of others seen from a centre.
func components(of, rows [][]float64, centre []float64, least float64) *Components {
	var svd mat.SVD
	try.FailIf(!svd.Factorize(mat.NewDense(len(of), len(centre), slices.Concat(of...)), mat.SVDThinV), "the singular values were not found")
	var v mat.Dense
	svd.VTo(&v)
	variances := svd.Values(nil)
	floats.Mul(variances, variances)
	total, out := floats.Sum(variances), &Components{}
	for k, variance := range variances {
		if !(variance > 1e-18*variances[0]) || variance < least {
			break
		}
		axis := mat.Col(nil, k, &v)
		largest := 0
		for i, x := range axis { // the first of those that are equal but for rounding
			if math.Abs(x) > math.Abs(axis[largest])*(1+1e-9) {
				largest = i
			}
		}
		if axis[largest] < 0 {
			floats.Scale(-1, axis)
		}
		scores := lists.Each(rows, func(row []float64) float64 { return floats.Dot(row, axis) })
		floats.AddConst(-floats.Dot(centre, axis), scores)
		out.Axes, out.Scores, out.Shares = append(out.Axes, axis), append(out.Scores, scores), append(out.Shares, variance/total)
	}
	try.FailIf(out.Axes == nil, "all specimens are equal: look for copies")
	return out
}
