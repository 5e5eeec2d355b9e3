package tree

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/stats/linear"
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
func (t *Tree) Signal(values [][]float64, p linear.Permutations) (*Signal, error) {
	leaves, err := t.checkSignal(values)
	if err != nil {
		return nil, err
	}
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
	observed, err := k(values)
	if err != nil {
		return nil, err
	}
	logs := []float64{math.Log(observed[0])}
	tests, err := permuteLeaves(values, observed, p, k, func(drawn []float64) { logs = append(logs, math.Log(drawn[0])) })
	if err != nil {
		return nil, fmt.Errorf("tree: signal: %w", err)
	}
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
	leaves, err := t.measured(values)
	if err == nil && len(leaves) < 3 {
		err = fmt.Errorf("tree: the signal of %d leaves says nothing: at least 3 are needed", len(leaves))
	}
	if err != nil {
		return nil, err
	}
	for a, row := range values {
		if j := slices.IndexFunc(row, math.IsNaN); j >= 0 {
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
func (t *Tree) Rates(values [][]float64, data linear.Data, groups linear.Term, p linear.Permutations) (*Rates, error) {
	if _, err := t.measured(values); err != nil {
		return nil, err
	}
	names, members, err := linear.Cells(len(values), data, groups)
	if err != nil {
		return nil, err
	}
	out := &Rates{}
	clades := make([]*clade, len(names))
	for g, name := range names {
		n, far, size := len(members[g]), 0.0, 0.0
		if n < 2 {
			return nil, fmt.Errorf("%s has %d species, want at least 2", name, n)
		}
		if clades[g], err = t.clade(values, members[g]); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, a := range members[g] {
			far, size = max(far, floats.Distance(values[a], values[members[g][0]], 2)), max(size, floats.Norm(values[a], 2))
		}
		if !(far > 1e-13*size) {
			return nil, fmt.Errorf("the species of %s do not vary, or a value is missing", name)
		}
		out.Groups = append(out.Groups, GroupRate{name, n, math.Pow(mat.Norm(clades[g].u, 2), 2) / float64(n-1)})
	}
	for a, b := range linear.Twos(len(names)) {
		pair, err := t.clade(values, slices.Concat(members[a], members[b]))
		if err != nil {
			return nil, fmt.Errorf("%s and %s: %w", names[a], names[b], err)
		}
		rate, err := pair.rates(clades[a], clades[b])
		if err != nil {
			return nil, err
		}
		var gram mat.Dense
		gram.Mul(pair.u, pair.u.T())
		ratio := out.Groups[a].Rate / out.Groups[b].Rate
		err = out.Ratios.Add("rates of evolution", p, names[a], names[b], ratio, len(pair.leaves)-1, linear.OrderAndSigns, func() func(d *linear.Draw) float64 {
			return func(d *linear.Draw) float64 {
				first, second := d.Traces(&gram, rate[0], rate[1])
				return first / second
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// clade is some leaves of a tree on their own tree.
type clade struct {
	*Tree
	leaves []int      // of the whole tree, in the order of its own
	u      *mat.Dense // the contrasts of the values
}

func (t *Tree) clade(values [][]float64, members []int) (out *clade, err error) {
	leaves, number, kept := t.Leaves(), map[string]int{}, []string{}
	for _, a := range members {
		name := t.Name[leaves[a]]
		number[name], kept = a, append(kept, name)
	}
	out = &clade{}
	if out.Tree, err = t.Keep(kept...); err != nil {
		return nil, err
	}
	for _, i := range out.Leaves() {
		out.leaves = append(out.leaves, number[out.Name[i]])
	}
	out.u, err = out.contrasts(values)
	return out, err
}

// contrasts are those of values of the leaves of the whole tree.
func (c *clade) contrasts(values [][]float64) (*mat.Dense, error) {
	u, _, err := c.Contrasts(lists.Pick(values, c.leaves))
	if err != nil {
		return nil, err
	}
	return mat.NewDense(len(u), len(u[0]), slices.Concat(u...)), nil
}

// rates returns, for groups that make up the clade, the matrices with Σ_kl rate_kl ⟨u_k, u_l⟩ as the rate of a group.
func (c *clade) rates(groups ...*clade) (rate []*mat.SymDense, err error) {
	shared, err := c.Shared()
	if err != nil {
		return nil, err
	}
	// Values that have given contrasts are V Cᵀ times these, as C V Cᵀ = 1.
	n, most := len(c.leaves), slices.Max(c.leaves)+1
	unit, made := lists.Zeros(most, n), lists.Zeros(most, n-1)
	for k, a := range c.leaves {
		unit[a][k] = 1
	}
	own, err := c.contrasts(unit)
	if err != nil {
		return nil, err
	}
	for k, a := range c.leaves {
		mat.NewVecDense(n-1, made[a]).MulVec(own, mat.NewVecDense(n, shared[k]))
	}
	for _, g := range groups {
		of, err := g.contrasts(made)
		if err != nil {
			return nil, err
		}
		square := mat.NewSymDense(n-1, nil)
		square.SymOuterK(1/float64(len(g.leaves)-1), of.T())
		rate = append(rate, square)
	}
	return rate, nil
}
