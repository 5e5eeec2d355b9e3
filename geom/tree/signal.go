package tree

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/stats/linear"
	"anatomy/geom/watch"
)

var _ linear.Tree = (*Tree)(nil)

// Signal is a phylogenetic signal K: 1 is expected under Brownian motion along the tree, 0 without any relation to it.
type Signal struct {
	K float64
	linear.Test
}

// String is the signal on one line.
func (s *Signal) String() string { return fmt.Sprintf("K = %.4f, %v", s.K, s.Test) }

// Signal returns the phylogenetic signal of values [L][k], one row for each leaf in the order of Leaves (S. Blomberg, T. Garland and A. Ives,
// 2003; for shapes D. Adams, A generalized K statistic, Syst. Biol. 63, 2014):
//
//	K = Σ_a |y_a − â|² / Σ |u|²  /  (tr V − L/(1ᵀV⁻¹1))/(L − 1),
//
// with the mean â and the contrasts u of Prune. It is tested by permuting the values among the leaves. It is an error, besides those of Prune,
// if a value is missing, there are fewer than three leaves, or all have the same values.
func (t *Tree) Signal(values [][]float64, p linear.Permutations) (*Signal, error) {
	leaves := t.Leaves()
	n := float64(len(leaves))
	if n < 3 {
		return nil, fmt.Errorf("tree: the signal of %d leaves says nothing: at least 3 are needed", len(leaves))
	}
	for a, row := range values {
		if j := slices.IndexFunc(row, math.IsNaN); j >= 0 && a < len(leaves) {
			return nil, fmt.Errorf("tree: leaf %s: value %d is missing, and permutations need all", t.Label(leaves[a]), j)
		}
	}
	expected := 0.0
	height := t.Height()
	for _, i := range leaves {
		expected += height[i]
	}
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
	task := watch.Begin("phylogenetic signal", nil, nil)
	defer task.End()
	permuted := make([][]float64, len(values))
	tests, err := p.Test(task, len(values), linear.Order, observed, func(d *linear.Draw) ([]float64, error) {
		for a, b := range d.Order {
			permuted[a] = values[b]
		}
		return k(permuted)
	})
	if err != nil {
		return nil, fmt.Errorf("tree: signal: %w", err)
	}
	return &Signal{observed[0], tests[0]}, nil
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
	if l := len(t.Leaves()); len(values) != l {
		return nil, fmt.Errorf("values of %d leaves, but the tree has %d", len(values), l)
	}
	names, members, err := linear.Cells(len(values), data, groups)
	if err != nil {
		return nil, err
	}
	size := 0.0
	for a, row := range values {
		if size = max(size, floats.Norm(row, 2)); math.IsNaN(size) {
			return nil, fmt.Errorf("leaf %d: a value is missing", a)
		}
	}
	out := &Rates{}
	of := make([]*contrasted, len(names))
	for g, name := range names {
		n := len(members[g])
		if n < 2 {
			return nil, fmt.Errorf("%s has %d species, want at least 2", name, n)
		}
		if of[g], err = t.contrasted(values, members[g]); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		squares, weights := mat.Norm(of[g].values, 2), mat.Norm(of[g].contrasts, 2)
		if squares <= math.Sqrt(float64(n))*1e-13*size*weights {
			return nil, fmt.Errorf("the species of %s do not vary", name)
		}
		out.Groups = append(out.Groups, GroupRate{name, n, squares * squares / float64(n-1)})
	}
	task := watch.Begin("rates of evolution", nil, nil)
	defer task.End()
	for a, b := range linear.Twos(len(names)) {
		pair, err := t.contrasted(values, slices.Concat(members[a], members[b]))
		if err != nil {
			return nil, fmt.Errorf("%s and %s: %w", names[a], names[b], err)
		}
		one, other, err := pair.rates(of[a], of[b])
		if err != nil {
			return nil, err
		}
		var gram mat.Dense
		gram.Mul(pair.values, pair.values.T())
		ratio := out.Groups[a].Rate / out.Groups[b].Rate
		if err := out.Ratios.Add(p, task, names[a], names[b], ratio, len(pair.rows)-1, linear.OrderAndSigns, func(d *linear.Draw) float64 {
			first, second := d.Traces(&gram, one, other)
			return first / second
		}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// contrasted are the contrasts of some species on their own tree.
type contrasted struct {
	tree      *Tree
	rows      []int      // [n], the leaves of the whole tree that are its leaves
	contrasts *mat.Dense // [n − 1, n], as combinations of these
	values    *mat.Dense // [n − 1, k], of the values
}

func (t *Tree) contrasted(values [][]float64, species []int) (*contrasted, error) {
	leaves, n := t.Leaves(), len(species)
	row, kept := map[string]int{}, make([]string, n)
	for k, a := range species {
		kept[k] = t.Name[leaves[a]]
		row[kept[k]] = a
	}
	own, err := t.Keep(kept...)
	if err != nil {
		return nil, err
	}
	out := &contrasted{tree: own, contrasts: mat.NewDense(n-1, n, nil), values: new(mat.Dense)}
	some, unit := mat.NewDense(n, len(values[0]), nil), make([][]float64, n)
	for k, i := range own.Leaves() {
		out.rows = append(out.rows, row[own.Name[i]])
		some.SetRow(k, values[out.rows[k]])
		unit[k] = make([]float64, n)
		unit[k][k] = 1
	}
	contrasts, _, err := own.Contrasts(unit)
	if err != nil {
		return nil, err
	}
	for k, u := range contrasts {
		out.contrasts.SetRow(k, u)
	}
	out.values.Mul(out.contrasts, some)
	return out, nil
}

// rates returns, for two groups that make up the pair, the matrices with Σ_kl rate_kl ⟨u_k, u_l⟩ as the rate of the group, by the contrasts u of
// the pair.
func (pair *contrasted) rates(groups ...*contrasted) (one, other *mat.SymDense, err error) {
	shared, err := pair.tree.Shared()
	if err != nil {
		return nil, nil, err
	}
	v := mat.NewDense(len(shared), len(shared), slices.Concat(shared...))
	var made mat.Dense
	made.Mul(v, pair.contrasts.T()) // times contrasts: values that have them, as C V Cᵀ = 1
	at := map[int]int{}
	for k, row := range pair.rows {
		at[row] = k
	}
	var rate [2]*mat.SymDense
	for k, own := range groups {
		some := mat.NewDense(len(own.rows), len(at)-1, nil)
		for r, row := range own.rows {
			some.SetRow(r, made.RawRowView(at[row]))
		}
		var group mat.Dense // times contrasts of the pair: those of the group
		group.Mul(own.contrasts, some)
		rate[k] = mat.NewSymDense(len(at)-1, nil)
		rate[k].SymOuterK(1/float64(len(own.rows)-1), group.T())
	}
	return rate[0], rate[1], nil
}
