package linear

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/dense"
	"anatomy/internal/lists"
)

// Trajectories are the paths of groups: their means at stages that follow each other, such as ages or sites along a gradient.
type Trajectories struct {
	Groups, Stages []string
	Means          [][][]float64 // [group][stage][p]
	Lengths        []float64     // [group], Σ_k |x_{k+1} − x_k| of the means x
	Pairs          []TrajectoryPair
}

// TrajectoryPair compares the trajectories of two groups. Each p-value is that of one comparison.
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
	lines := []string{"\tsize\tp\tangle\tp\tshape\tp"}
	for _, r := range t.Pairs {
		lines = append(lines, fmt.Sprintf("%s – %s\t%.5g\t%.3g\t%s\t%s\t%s\t%s", r.A, r.B, r.Size, r.PSize,
			dashed("%.1f°", r.Angle*180/math.Pi), dashed("%.3g", r.PAngle), dashed("%.4g", r.Shape), dashed("%.3g", r.PShape)))
	}
	return Table(lines)
}

// Trajectories compares how samples of groups, the categories of one factor, change over stages, those of another: by how much, in which
// direction, and along paths of which shape (M. Collyer and D. Adams, Hystrix 24, 2013; with two stages, Ecology 88, 2007). The stages follow
// each other as numbers if all of them are, or else in the order of the samples. Means are those of PairsOfMeans, for samples that
// have the other covariates of all.
//
// Exchangeable under the null hypothesis, that all groups change alike from wherever they are, are the residuals of the model without the
// interaction of both factors and those that contain it, scaled as for PairsOfMeans; what that model fits is given, as for PairsOfSlopes. Where
// groups differ in one number, the p-values of the others are too large rather than too small: of paths of one length in other directions
// 2 % had lengths that differ at 5 %. Samples are taken to be independent: individuals that were measured at each stage are not.
//
// It is an error if the model has no Interaction of both factors with these before it, one of them is tested Over another term, or a group
// was never seen at a stage.
func (m *Model) Trajectories(group, stage Term, p Permutations) (out *Trajectories, err error) {
	solve.NotNil(m)
	defer try.Named(&err, "trajectories")
	try.FailIf(group.name == stage.name, "%s cannot be both the groups and the stages", group.name)
	both := func(c column) bool { return c.has(group.name) && c.has(stage.name) }
	levels := m.compared(both, group.name, stage.name)
	m.haveBefore(both, group.name, stage.name)
	out = &Trajectories{Groups: levels[0], Stages: inOrderOfNumbers(levels[1])}
	stages := len(out.Stages)
	try.FailIf(stages < 2, "%s has one category, and a trajectory at least two", stage.name)
	var names []string
	for _, g := range out.Groups {
		for _, s := range out.Stages {
			names = append(names, g+" "+s)
		}
	}
	rows := m.rows(names, 1, func(c column, i int) float64 {
		return m.average(c, map[string]string{group.name: out.Groups[i/stages], stage.name: out.Stages[i%stages]}, -1)
	})
	paths := func(vectors *mat.Dense) []*path {
		return lists.Make(len(out.Groups), func(g int) *path {
			return newPath(vectors.Slice(g*stages, (g+1)*stages, 0, vectors.RawMatrix().Cols).(*mat.Dense))
		})
	}
	numbers, tests := m.compare("trajectories", rows, both, p, nil, func(vectors *mat.Dense) (out []float64) {
		of := paths(vectors)
		for a, b := range Twos(len(of)) {
			x, y := of[a], of[b]
			out = append(out, math.Abs(x.length-y.length), angle(x.axis, y.axis), x.shapeFrom(y))
		}
		return out
	})
	for a, b := range Twos(len(out.Groups)) {
		i := 3 * len(out.Pairs)
		out.Pairs = append(out.Pairs, TrajectoryPair{out.Groups[a], out.Groups[b],
			numbers[i], tests[i].P, numbers[i+1], tests[i+1].P, numbers[i+2], tests[i+2].P})
	}
	var means mat.Dense
	means.Mul(rows, dense.Rows(m.Coefficients))
	for g, path := range paths(&means) {
		out.Means = append(out.Means, nil)
		for s := range stages {
			out.Means[g] = append(out.Means[g], means.RawRowView(g*stages+s))
		}
		out.Lengths = append(out.Lengths, path.length)
	}
	return out, nil
}

// haveBefore refuses the model unless two terms stand before their interaction: what is permuted would hold their differences, too.
func (m *Model) haveBefore(both func(c column) bool, group, stage string) {
	null := orthonormal(nil, slices.Repeat([]float64{1}, len(m.Fitted)), 0)
	for _, c := range m.Design.columns {
		if !both(c) {
			null = orthonormal(null, c.values, independent)
		}
	}
	for _, c := range m.Design.columns {
		for _, p := range c.parts {
			try.FailIf((p.term == group || p.term == stage) && len(orthonormal(null, p.values, independent)) > len(null),
				"the model has %s in its interaction alone: let the terms %s and %s stand before it", p.term, group, stage)
		}
	}
}

// inOrderOfNumbers sorts categories if all are numbers.
func inOrderOfNumbers(levels []string) []string {
	numbers := map[string]float64{}
	for _, level := range levels {
		v, err := strconv.ParseFloat(level, 64)
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
	gram := dense.Gram(centred)
	values, u, ok := dense.Eigen(gram)
	try.FailIf(!ok, "trajectories: the points of one are not finite")
	for k := range stages {
		floats.AddScaled(out.axis, u.At(k, stages-1), centred.RawRowView(k)) // of the largest eigenvalue, which is the last
	}
	if floats.Dot(out.axis, centred.RawRowView(stages-1)) < floats.Dot(out.axis, centred.RawRowView(0)) {
		floats.Scale(-1, out.axis)
	}
	if total := mat.Trace(gram); stages > 2 && total > 0 {
		out.form = mat.NewDense(stages, stages, nil)
		out.form.Apply(func(i, j int, v float64) float64 { return v * math.Sqrt(max(0, values[j])/total) }, u)
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
