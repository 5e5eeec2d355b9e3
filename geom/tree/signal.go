package tree

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/stats/linear"
	"anatomy/geom/try"
	"anatomy/internal/lists"
)

var _ linear.Tree = (*Tree)(nil)

// Signal is a phylogenetic signal K: 1 is expected under Brownian motion along the tree, 0 without any relation to it.
type Signal struct {
	K float64
	linear.Test
	Effect linear.Effect // of log K, by which signals are compared (M. Collyer, E. Baken and D. Adams, Methods Ecol. Evol. 13, 2022)
}

// String is the signal on one line.
func (s *Signal) String() string {
	return fmt.Sprintf("K = %.4f, Z = %.2f, %v", s.K, s.Effect.Z(), s.Test)
}

// Signal returns the phylogenetic signal of values [L][k], one row for each leaf in the order of Leaves (S. Blomberg, T. Garland and A. Ives,
// 2003; for shapes D. Adams, A generalized K statistic, Syst. Biol. 63, 2014):
//
//	K = Σ_a |y_a − â|² / Σ |u|²  /  (tr V − L/(1ᵀV⁻¹1))/(L − 1),
//
// with the mean â and the contrasts u of Prune. It is tested by permuting the values among the leaves. It is an error, besides those of Prune,
// if a value is missing, there are fewer than three leaves, or all have the same values.
func (t *Tree) Signal(values [][]float64, p linear.Permutations) (_ *Signal, err error) {
	defer try.Catch(&err)
	leaves := try.Get(t.checkSignal(values))
	n, expected := float64(len(leaves)), floats.Sum(lists.Pick(t.Height(), leaves))
	k := func(values [][]float64) ([]float64, error) {
		up, err := t.sweepUp(values)
		if err != nil {
			return nil, err
		}
		total, size := 0.0, 0.0
		for _, row := range values {
			d := floats.Distance(row, up.Mean[0], 2)
			total += d * d
			size = math.Max(size, floats.Norm(row, 2))
		}
		if !(math.Sqrt(total) > 1e-13*size) {
			return nil, errors.New("tree: all leaves have the same values, which have no signal")
		}
		return []float64{total / floats.Sum(up.squares) / ((expected - n*up.Variance[0][0]) / (n - 1))}, nil
	}
	observed := try.Get(k(values))
	logs := []float64{math.Log(observed[0])}
	tests, err := permuteLeaves(values, observed, p, k, func(drawn []float64) { logs = append(logs, math.Log(drawn[0])) })
	try.Do(try.Name(err, "tree: signal"))
	return &Signal{observed[0], tests[0], linear.NewEffect(logs)}, nil
}

// permuteLeaves tests numbers of the values of leaves by permuting these among the leaves; seen gets the numbers of each draw.
func permuteLeaves(values [][]float64, observed []float64, p linear.Permutations, of func(values [][]float64) ([]float64, error), seen func(drawn []float64)) ([]linear.Test, error) {
	return p.OnCores("phylogenetic signal", len(values), linear.Order, observed, func() func(d *linear.Draw) ([]float64, error) {
		permuted := make([][]float64, len(values))
		return func(d *linear.Draw) ([]float64, error) {
			for a, b := range d.Order {
				permuted[a] = values[b]
			}
			return of(permuted)
		}
	}, seen)
}

// checkSignal returns the leaves of a tree whose values may be permuted among them.
func (t *Tree) checkSignal(values [][]float64) ([]int, error) {
	leaves := t.Leaves()
	if len(leaves) < 3 {
		return nil, fmt.Errorf("tree: the signal of %d leaves says nothing: at least 3 are needed", len(leaves))
	}
	for a, row := range values {
		if j := slices.IndexFunc(row, math.IsNaN); j >= 0 && a < len(leaves) {
			return nil, fmt.Errorf("tree: leaf %s: value %d is missing, and permutations need all", t.Label(leaves[a]), j)
		}
	}
	return leaves, nil
}

// Rates are the rates at which groups of species evolve.
type Rates struct {
	Groups []GroupRate // in the order of the leaves
	Ratios linear.Ratios
}

// GroupRate is the rate of a group: Σ|u|²/(n − 1) of the n − 1 contrasts u of its species on their own tree, which is unbiased under
// Brownian motion: the variance that a unit of length adds, of all coordinates together.
type GroupRate struct {
	Group   string
	Species int
	Rate    float64
}

// String is a table with a row per group, and one with a row per pair.
func (r *Rates) String() string {
	lines := []string{"\tspecies\trate"}
	for _, g := range r.Groups {
		lines = append(lines, fmt.Sprintf("%s\t%d\t%.5g", g.Group, g.Species, g.Rate))
	}
	return r.Ratios.Under(linear.Table(lines))
}

// Rates compares how fast values [L][k], one row for each leaf in the order of Leaves, evolve by Brownian motion in groups of species
// (D. Adams, Syst. Biol. 63, 2014; J. Denton and D. Adams, Evolution 69, 2015). The groups are the categories of a factor or the
// combinations of an Interaction of factors, clades or not; the data of the leaves may be nil if the factors have values of their own.
//
// A pair is tested on the tree of its own species, so that no other group has a part in it. Exchangeable under the null hypothesis, one rate
// on that tree, are its contrasts, with either sign; what is compared are the ratios of the values that permuted contrasts make. Adams's
// rates are sums over rows of V^(-½)(Y − â), each of which mixes species of all groups; here clades depend on nothing outside them.
//
// It has the errors of Prune, and is one if a value is missing, or a group has fewer than two species or does not vary.
func (t *Tree) Rates(values [][]float64, data linear.Data, groups linear.Term, p linear.Permutations) (out *Rates, err error) {
	defer try.Catch(&err)
	try.Do(t.CheckLengths())
	l := len(t.Leaves())
	try.FailIf(len(values) != l, "values of %d leaves, but the tree has %d", len(values), l)
	names, members := try.Get2(linear.Cells(len(values), data, groups))
	out = &Rates{}
	clades := make([]*clade, len(names))
	for g, name := range names {
		n, far, size := len(members[g]), 0.0, 0.0
		try.FailIf(n < 2, "%s has %d species, want at least 2", name, n)
		try.Do(try.Name(try.Run(func() { clades[g] = t.clade(values, members[g]) }), "%s", name))
		for _, a := range members[g] {
			far, size = max(far, floats.Distance(values[a], values[members[g][0]], 2)), max(size, floats.Norm(values[a], 2))
		}
		try.FailIf(!(far > 1e-13*size), "the species of %s do not vary, or a value is missing", name)
		out.Groups = append(out.Groups, GroupRate{name, n, math.Pow(mat.Norm(clades[g].u, 2), 2) / float64(n-1)})
	}
	for a, b := range linear.Twos(len(names)) {
		var pair *clade
		try.Do(try.Name(try.Run(func() { pair = t.clade(values, slices.Concat(members[a], members[b])) }), "%s and %s", names[a], names[b]))
		first, second := pair.rate(clades[a]), pair.rate(clades[b])
		var gram mat.Dense
		gram.Mul(pair.u, pair.u.T())
		ratio := out.Groups[a].Rate / out.Groups[b].Rate
		drawn := func(d *linear.Draw) float64 {
			one, other := d.Traces(&gram, first, second)
			return one / other
		}
		try.Do(out.Ratios.Add("rates of evolution", p, names[a], names[b], ratio, len(pair.leaves)-1, linear.OrderAndSigns,
			func() func(d *linear.Draw) float64 { return drawn }))
	}
	return out, nil
}

// clade is some leaves of a tree on their own tree.
type clade struct {
	*Tree
	leaves []int      // of the whole tree, in the order of its own
	u      *mat.Dense // the contrasts of the values
}

func (t *Tree) clade(values [][]float64, members []int) *clade {
	leaves, number, kept := t.Leaves(), map[string]int{}, []string{}
	for _, a := range members {
		name := t.Name[leaves[a]]
		number[name], kept = a, append(kept, name)
	}
	out := &clade{Tree: try.Get(t.Keep(kept...))}
	out.leaves = lists.Each(out.Leaves(), func(i int) int { return number[out.Name[i]] })
	out.u = out.contrasts(values)
	return out
}

// contrasts are those of values of the leaves of the whole tree.
func (c *clade) contrasts(values [][]float64) *mat.Dense {
	u, _ := try.Get2(c.Contrasts(lists.Pick(values, c.leaves)))
	return mat.NewDense(len(u), len(u[0]), slices.Concat(u...))
}

// rate returns, for a part of the clade, the matrix with Σ_kl rate_kl ⟨u_k, u_l⟩ as its rate.
func (c *clade) rate(part *clade) *mat.SymDense {
	// Values that have given contrasts are V Cᵀ times these, as C V Cᵀ = 1.
	n, most, shared := len(c.leaves), slices.Max(c.leaves)+1, try.Get(c.Shared())
	unit, made := lists.Zeros(most, n), lists.Zeros(most, n-1)
	for k, a := range c.leaves {
		unit[a][k] = 1
	}
	own := c.contrasts(unit)
	for k, a := range c.leaves {
		mat.NewVecDense(n-1, made[a]).MulVec(own, mat.NewVecDense(n, shared[k]))
	}
	square := mat.NewSymDense(n-1, nil)
	square.SymOuterK(1/float64(len(part.leaves)-1), part.contrasts(made).T())
	return square
}
