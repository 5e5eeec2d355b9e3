package population

import (
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/geom/stats"
	"anatomy/geom/stats/linear"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/text"
	"anatomy/landmarks/surfaces/mesh"
)

// PCA returns the principal components of the momenta p_i about their mean p̄, in the metric pᵀ K(c, c) p: see stats.TangentPCA. The modes are
// momenta and velocities at the control points; Mode and At make meshes of them. The Model of this and of the other methods is that of the atlas.
func (a *Atlas) PCA(m Model) (_ *stats.PCA[geom.Shape], err error) {
	defer try.Catch(&err)
	solve.NotNil(a)
	space := m.Space
	mean := &stats.Mean[geom.Shape]{Point: a.Controls, Status: a.Status}
	centre := a.MeanMomentum()
	for _, p := range a.Momenta {
		mean.Weights, mean.Momenta = append(mean.Weights, 1/float64(len(a.Momenta))), append(mean.Momenta, p.Sub(centre))
	}
	out := try.Get(engine.Run(func(in []*Node) []*Node {
		return []*Node{geom.Sharp(space.Manifold, in[0], in[1])}
	}, shape.Flat(a.Controls), shape.FlatAll(mean.Momenta)))
	mean.Velocities = space.FromFlats(out.Matrix(0))
	return stats.TangentPCA(mean)
}

// MeanMomentum is p̄ = Σ p_i/N. It is small, not 0: the template is balanced by its smooth displacements, not by momenta.
func (a *Atlas) MeanMomentum() geom.Shape {
	solve.NotNil(a)
	sum := geom.Shape(a.Controls).Scale(0)
	for _, p := range a.Momenta {
		sum = sum.Add(p)
	}
	return sum.Scale(1 / float64(len(a.Momenta)))
}

// scored is the momentum p̄ + Σ_k s_k u_k.
func (a *Atlas) momentumOf(modes *stats.PCA[geom.Shape], scores []float64) geom.Shape {
	text.RefuseIf(len(scores) > len(modes.Momenta), "give one for each", "%d scores for %d modes", len(scores), len(modes.Momenta))
	p := a.MeanMomentum()
	for k, s := range scores {
		p = p.Add(modes.Momenta[k].Scale(s))
	}
	return p
}

// At returns the template deformed by the momentum p̄ + Σ_k s_k u_k, for scores s_k of the first modes u_k of PCA.
func (a *Atlas) At(m Model, modes *stats.PCA[geom.Shape], scores ...float64) (_ []*mesh.Mesh, err error) {
	defer try.Catch(&err)
	solve.NotNil(a)
	return a.Shape(m, a.momentumOf(modes, scores))
}

// Mode returns At along mode k, counted from 0, for each number of standard deviations of its scores.
func (a *Atlas) Mode(m Model, modes *stats.PCA[geom.Shape], k int, deviations ...float64) (out [][]*mesh.Mesh, err error) {
	defer try.Catch(&err)
	solve.NotNil(a)
	text.RefuseIf(k < 0 || k >= len(modes.Modes), "count modes from 0", "mode %d of %d", k, len(modes.Modes))
	for _, c := range deviations {
		scores := make([]float64, k+1)
		scores[k] = c * math.Sqrt(modes.Variances[k])
		shape, err := a.At(m, modes, scores...)
		try.Do(try.Name(err, "mode %d at %g standard deviations", k, c))
		out = append(out, shape)
	}
	return out, nil
}

// Reconstruction returns the mean of ‖At(scores of S_i along the first k modes) − S_i‖² over the subjects, for k = 0, 1, …, [k][object].
func (a *Atlas) Reconstruction(m Model, modes *stats.PCA[geom.Shape], subjects [][]*mesh.Mesh) (out [][]float64, err error) {
	defer try.Catch(&err)
	solve.NotNil(a)
	text.RefuseIf(len(subjects) != len(modes.Scores), "give those of the modes", "%d subjects, the modes are of %d", len(subjects), len(modes.Scores))
	m.Free = false
	m.check(a.Template, a.Controls, subjects)
	f := newFit(m, a.Template, a.Controls, subjects, lists.Identity(len(subjects)))
	defer f.free()
	f.sigma = a.Noise
	for k := range len(modes.Modes) + 1 {
		x := append([]float64{}, shape.Flat(mesh.Vertices(a.Template))...)
		for i := range subjects {
			x = append(x, a.momentumOf(modes, modes.Scores[i][:k]).Flat()...)
		}
		mean := sums(f.evaluate(x).mismatch)
		floats.Scale(1/float64(len(subjects)), mean)
		out = append(out, mean)
	}
	return out, nil
}

// Difference is where on the template two groups of subjects differ, at every vertex of every object.
type Difference struct {
	Groups       []string     // the two groups, in the order of their first subjects
	Statistic    [][]float64  // Hotelling's T² of the displacements φ_i(x) − x
	P            [][]float64  // its p-value, corrected for all vertices: (1 + n)/(1 + N), where n of N permutations have a largest T² that is at least this one
	Shift        []geom.Shape // the mean displacement of the first group minus that of the second
	Least        float64      // the least P: that of the hypothesis that the groups differ nowhere
	Permutations int          // how many were drawn
}

// Compare tests at every vertex of the template whether the displacements of two groups of subjects, at least D + 2 in all and
// two in each, have the same mean. The groups are the categories of a factor, linear.Factor("sex", sexes...). Permutations of the groups
// give the distribution of the largest T² of all vertices (Nichols and Holmes, Human Brain Mapping 15, 2001): if the groups do not differ, P
// is below 5 % anywhere with a probability of 5 %.
func (a *Atlas) Compare(groups linear.Term, p linear.Permutations) (_ *Difference, err error) {
	defer try.Named(&err, "compare")
	solve.NotNil(a)
	template := mesh.Vertices(a.Template)
	n, d := len(a.Deformed), len(template[0])
	names, members := try.Get2(linear.Cells(n, nil, groups))
	text.RefuseIf(len(names) != 2, "give subjects of two groups", "%d groups", len(names))
	count := len(members[0])
	text.RefuseIf(count < 2 || n-count < 2 || n < d+2, "give at least 2 subjects in each, and more than coordinates in all",
		"groups of %d and %d, where %d are needed in all", count, n-count, d+2)
	// The total scatter is that of all permutations: with it T² is a function of the shift alone.
	deformed := lists.Each(a.Deformed, mesh.Vertices)
	moves, inverse := make([]*mat.Dense, len(template)), make([]*mat.Dense, len(template))
	for v, x := range template {
		moves[v] = mat.NewDense(n, d, nil)
		for i, y := range deformed {
			moves[v].SetRow(i, floats.SubTo(make([]float64, d), y[v], x))
		}
		for k := range d {
			column := mat.Col(nil, k, moves[v])
			floats.AddConst(-floats.Sum(column)/float64(n), column)
			moves[v].SetCol(k, column)
		}
		var scatter mat.Dense
		scatter.Mul(moves[v].T(), moves[v])
		inverse[v] = new(mat.Dense)
		if err := inverse[v].Inverse(&scatter); err != nil {
			try.Fail("the displacements of vertex %d have no spread in some direction: %w", v, err)
		}
	}
	share := slices.Repeat([]float64{-1 / float64(n-count)}, n)
	for _, i := range members[0] {
		share[i] = 1 / float64(count)
	}
	of := func(order []int) (squares []float64, shifts [][]float64) {
		for v := range moves {
			shift := make([]float64, d)
			for i, j := range order {
				floats.AddScaled(shift, share[i], moves[v].RawRowView(j))
			}
			between := mat.Inner(mat.NewVecDense(d, shift), inverse[v], mat.NewVecDense(d, shift)) * float64(count) * float64(n-count) / float64(n)
			squares = append(squares, float64(n-2)*between/math.Max(1-between, 1e-12))
			shifts = append(shifts, shift)
		}
		return squares, shifts
	}
	statistic, shift := of(lists.Range(n))
	tests := try.Get(p.Test("compare", n, linear.Order, statistic, func(draw *linear.Draw) ([]float64, error) {
		squares, _ := of(draw.Order)
		return slices.Repeat([]float64{floats.Max(squares)}, len(squares)), nil
	}))
	out := &Difference{Groups: names, Least: 1, Permutations: tests[0].Permutations}
	for _, t := range a.Template {
		n := len(t.Vertices)
		p := lists.Each(tests[:n], func(test linear.Test) float64 { return test.P })
		out.Statistic, out.P, out.Shift = append(out.Statistic, statistic[:n]), append(out.P, p), append(out.Shift, shift[:n])
		out.Least = min(out.Least, floats.Min(p))
		statistic, tests, shift = statistic[n:], tests[n:], shift[n:]
	}
	return out, nil
}
