package morpho

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Trajectories are the ways of groups through shape space: their mean shapes at stages that follow each other, such as ages or sites along
// a gradient.
type Trajectories struct {
	Groups, Stages []string
	Means          [][][][]float64 // [group][stage][n][d]
	Lengths        []float64       // [group], Σ_k |x_{k+1} − x_k| of the means x, in the unit of Procrustes distance
	Pairs          []TrajectoryPair
}

// TrajectoryPair compares the trajectories of two groups. Each p-value is that of one comparison, (1 + #{permuted ≥ number})/(1 +
// permutations).
type TrajectoryPair struct {
	A, B   string
	Size   float64 // difference of their Lengths, without its sign
	PSize  float64
	Angle  float64 // between their first principal axes, each from the first stage towards the last, in [0, π]
	PAngle float64
	// Shape is their Procrustes distance √(2 − 2 Σσ), with the singular values σ of XᵀY for the centred stages X and Y of size 1: what
	// differs when place, size and rotation are gone. A trajectory has a shape from three stages on, if its group changes: with two
	// stages, all trajectories are segments of a line and differ in size and angle alone. Where there is no shape, Shape and PShape are NaN.
	Shape  float64
	PShape float64
}

// String is a table with a row per pair, and a dash for what is not defined.
func (t *Trajectories) String() string {
	dashed := func(format string, v float64) string {
		if math.IsNaN(v) {
			return "–"
		}
		return fmt.Sprintf(format, v)
	}
	return table(func(w io.Writer) {
		fmt.Fprintln(w, "\tsize\tp\tangle\tp\tshape\tp\t")
		for _, r := range t.Pairs {
			fmt.Fprintf(w, "%s – %s\t%.5g\t%.3g\t%s\t%s\t%s\t%s\t\n", r.A, r.B, r.Size, r.PSize,
				dashed("%.1f°", r.Angle*180/math.Pi), dashed("%.3g", r.PAngle), dashed("%.4g", r.Shape), dashed("%.3g", r.PShape))
		}
	})
}

// Trajectories compares how shapes of groups, the categories of one factor, change over stages, those of another: by how much, in which
// direction, and along ways of which shape (M. Collyer and D. Adams, Hystrix 24, 2013; with two stages, Ecology 88, 2007). The stages follow
// each other as numbers if all of them are, or else in the order of the specimens. Means are those of PairsOfMeans, for specimens that
// have the other covariates of all.
//
// Exchangeable under the null hypothesis, that all groups change alike from wherever they are, are the residuals of the model without the
// interaction of both factors and those that contain it, scaled as for PairsOfMeans. Where groups differ in one number, the p-values of the
// others are too large rather than too small: of ways of one length in other directions 2 % had lengths that differ at 5 %. Where
// nothing changes over the stages, angles and shapes are those of noise. Specimens are taken to be independent: individuals that
// were measured at each stage are not.
//
// It is an error if the model has no Interaction of both factors with these before it, one of them is tested Over another term, or a group
// was never seen at a stage.
func (m *LinearModel) Trajectories(group, stage Term, permutations int, seed uint64) (*Trajectories, error) {
	fail := func(err error) (*Trajectories, error) {
		return nil, fmt.Errorf("trajectories of %s: %w", m.Data.Name, err)
	}
	if group.name == stage.name {
		return fail(fmt.Errorf("%s cannot be both the groups and the stages", group.name))
	}
	both := func(c column) bool { return c.has(group.name) && c.has(stage.name) }
	levels, err := m.compared(both, permutations, group.name, stage.name)
	if err != nil {
		return fail(err)
	}
	// What is permuted would hold the differences of groups and stages, too.
	null := orthonormal(nil, slices.Repeat([]float64{1}, len(m.Fitted)))
	for _, c := range m.columns {
		if !both(c) {
			null = orthonormal(null, c.values)
		}
	}
	for _, c := range m.columns {
		for _, p := range c.parts {
			if (p.term == group.name || p.term == stage.name) && len(orthonormal(null, p.values)) > len(null) {
				return fail(fmt.Errorf("the model has %s in its interaction alone: let the terms %s and %s stand before it", p.term, group.name, stage.name))
			}
		}
	}
	out := &Trajectories{Groups: levels[0], Stages: inOrderOfNumbers(levels[1])}
	stages := len(out.Stages)
	if stages < 2 {
		return fail(fmt.Errorf("%s has one category, and a trajectory at least two", stage.name))
	}
	var names []string
	for _, g := range out.Groups {
		for _, s := range out.Stages {
			names = append(names, g+" "+s)
		}
	}
	rows, err := m.rows(names, 1, func(c column, i int) float64 {
		return m.average(c, map[string]string{group.name: out.Groups[i/stages], stage.name: out.Stages[i%stages]}, -1)
	})
	if err != nil {
		return fail(err)
	}
	numbers, p, err := m.test(rows, both, permutations, seed, func(vectors *mat.Dense) (out []float64) {
		paths := make([]*path, len(levels[0]))
		for g := range paths {
			_, columns := vectors.Dims()
			paths[g] = newPath(vectors.Slice(g*stages, (g+1)*stages, 0, columns).(*mat.Dense))
		}
		for a, b := range twos(len(paths)) {
			x, y := paths[a], paths[b]
			out = append(out, math.Abs(x.length-y.length), angle(x.axis, y.axis), x.shapeFrom(y))
		}
		return out
	})
	if err != nil {
		return fail(err)
	}
	for a, b := range twos(len(out.Groups)) {
		i := 3 * len(out.Pairs)
		out.Pairs = append(out.Pairs, TrajectoryPair{out.Groups[a], out.Groups[b], numbers[i], p[i], numbers[i+1], p[i+1], numbers[i+2], p[i+2]})
	}
	coefficients := mat.NewDense(len(m.Columns), len(slices.Concat(m.Mean...)), nil)
	for c := range m.Columns {
		coefficients.SetRow(c, slices.Concat(m.Coefficients[c]...))
	}
	var means mat.Dense
	means.Mul(rows, coefficients)
	for g := range out.Groups {
		var shapes [][][]float64
		for s := range stages {
			mean := means.RawRowView(g*stages + s)
			floats.Add(mean, slices.Concat(m.Mean...))
			shapes = append(shapes, points(mean, len(m.Mean[0])))
		}
		out.Means = append(out.Means, shapes)
		out.Lengths = append(out.Lengths, newPath(mat.DenseCopyOf(means.Slice(g*stages, (g+1)*stages, 0, means.RawMatrix().Cols))).length)
	}
	return out, nil
}

// inOrderOfNumbers sorts categories if all are numbers.
func inOrderOfNumbers(levels []string) []string {
	numbers := map[string]float64{}
	for _, level := range levels {
		v, err := parseCoordinate(level)
		if err != nil || math.IsNaN(v) {
			return levels
		}
		numbers[level] = v
	}
	return slices.SortedFunc(slices.Values(levels), func(a, b string) int { return cmp.Compare(numbers[a], numbers[b]) })
}

// path is a trajectory.
type path struct {
	length float64
	axis   []float64  // its first principal axis, from the first stage towards the last
	form   *mat.Dense // [stages, stages]: as far from each other as the centred stages of size 1; nil for two stages, and where nothing changes
}

func newPath(x *mat.Dense) *path {
	stages, columns := x.Dims()
	out := &path{axis: make([]float64, columns)}
	mean := make([]float64, columns)
	for k := range stages {
		floats.AddScaled(mean, 1/float64(stages), x.RawRowView(k))
		if k > 0 {
			out.length += floats.Distance(x.RawRowView(k), x.RawRowView(k-1), 2)
		}
	}
	centred := mat.DenseCopyOf(x)
	for k := range stages {
		floats.Sub(centred.RawRowView(k), mean)
	}
	gram := mat.NewSymDense(stages, nil)
	gram.SymOuterK(1, centred)
	var eigen mat.EigenSym
	eigen.Factorize(gram, true)
	var u mat.Dense
	eigen.VectorsTo(&u)
	for k := range stages {
		floats.AddScaled(out.axis, u.At(k, stages-1), centred.RawRowView(k)) // of the largest eigenvalue, which is the last
	}
	if floats.Dot(out.axis, centred.RawRowView(stages-1)) < floats.Dot(out.axis, centred.RawRowView(0)) {
		floats.Scale(-1, out.axis)
	}
	if total := mat.Trace(gram); stages > 2 && total > 0 {
		values := eigen.Values(nil)
		out.form = mat.NewDense(stages, stages, nil)
		out.form.Apply(func(i, j int, v float64) float64 { return v * math.Sqrt(max(0, values[j])/total) }, &u)
	}
	return out
}

// shapeFrom is the Procrustes distance of two paths.
func (x *path) shapeFrom(y *path) float64 {
	if x.form == nil || y.form == nil {
		return math.NaN()
	}
	var product mat.Dense
	product.Mul(x.form.T(), y.form)
	var svd mat.SVD
	if !svd.Factorize(&product, mat.SVDNone) {
		return math.NaN()
	}
	return math.Sqrt(max(0, 2-2*floats.Sum(svd.Values(nil))))
}
