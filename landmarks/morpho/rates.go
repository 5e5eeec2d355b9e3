package morpho

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"anatomy/geom/tree"
)

// Rates are the rates at which the shapes of groups of species evolve.
type Rates struct {
	Groups []GroupRate // in the order of the leaves
	Ratios Ratios
}

// GroupRate is the rate of a group: Σ|u|²/(n − 1) of the n − 1 contrasts u of its species on their own tree, which is unbiased under
// Brownian motion: the variance that a unit of length adds, of all coordinates together, in the unit of Procrustes distances squared.
type GroupRate struct {
	Group   string
	Species int
	Rate    float64
}

// String is a table with a row a group, and one with a row a pair.
func (r *Rates) String() string {
	return r.Ratios.under(table(func(w io.Writer) {
		fmt.Fprintln(w, "\tspecies\trate\t")
		for _, g := range r.Groups {
			fmt.Fprintf(w, "%s\t%d\t%.5g\t\n", g.Group, g.Species, g.Rate)
		}
	}))
}

// EvolutionaryRates compares how fast the shapes of groups of species evolve by Brownian motion along a tree whose leaves are the specimens
// (D. Adams, Syst. Biol. 63, 2014; J. Denton and D. Adams, Evolution 69, 2015). The groups are the categories of a factor or the
// combinations of an Interaction of factors, clades or not. The shapes are aligned as for FitLinear.
//
// A pair is tested on the tree of its own species, so that no other group has a part in it. Exchangeable under the null hypothesis, one rate
// on that tree, are its contrasts, with either sign; what is compared are the ratios of the shapes that permuted contrasts make. Adams's
// rates are sums over rows of V^(-½)(Y − â), each of which mixes species of all groups; here clades depend on nothing outside them.
//
// It has the errors of OnTree and of Prune, and is one if a group has fewer than two species or does not vary.
func EvolutionaryRates(d *Dataset, t *tree.Tree, groups Term, permutations int, seed uint64) (*Rates, error) {
	fail := func(err error) (*Rates, error) {
		return nil, fmt.Errorf("evolutionary rates of %s: %w", d.Name, err)
	}
	if permutations < 1 {
		return fail(fmt.Errorf("%d permutations, want at least 1", permutations))
	}
	ordered, err := d.OnTree(t)
	if err != nil {
		return nil, err
	}
	y, _, err := ordered.tangentCoordinates()
	if err != nil {
		return fail(err)
	}
	names, members, err := ordered.cells(groups)
	if err != nil {
		return fail(err)
	}
	leaves := t.Leaves()
	// contrasts returns those of some species on their own tree, [n − 1, n], as combinations of the rows of y that it returns, and the tree.
	contrasts := func(species ...int) (*mat.Dense, []int, *tree.Tree, error) {
		row, kept := map[string]int{}, make([]string, len(species))
		for k, a := range species {
			kept[k] = t.Name[leaves[a]]
			row[kept[k]] = a
		}
		own, err := t.Keep(kept...)
		if err != nil {
			return nil, nil, nil, err
		}
		n := len(species)
		unit := make([][]float64, n)
		rows := make([]int, n)
		for k, i := range own.Leaves() {
			rows[k] = row[own.Name[i]]
			unit[k] = make([]float64, n)
			unit[k][k] = 1
		}
		up, err := own.Prune(unit)
		if err != nil {
			return nil, nil, nil, err
		}
		c := mat.NewDense(n-1, n, nil)
		for k, u := range up.Contrasts {
			c.SetRow(k, u.Values)
		}
		return c, rows, own, nil
	}
	of := func(rows []int) *mat.Dense {
		out := mat.NewDense(len(rows), y.RawMatrix().Cols, nil)
		for k, a := range rows {
			out.SetRow(k, y.RawRowView(a))
		}
		return out
	}
	out := &Rates{}
	type ofGroup struct {
		contrasts *mat.Dense
		rows      []int
	}
	ofGroups := make([]ofGroup, len(names))
	for g, name := range names {
		n := len(members[g])
		if n < 2 {
			return fail(fmt.Errorf("%s has %d species, want at least 2", name, n))
		}
		c, rows, _, err := contrasts(members[g]...)
		if err != nil {
			return fail(fmt.Errorf("%s: %w", name, err))
		}
		ofGroups[g] = ofGroup{c, rows}
		var u mat.Dense
		u.Mul(c, of(rows))
		squares := sumOfSquares(&u)
		if squares <= float64(n)*rounding*rounding*sumOfSquares(c) {
			return fail(fmt.Errorf("the species of %s do not vary", name))
		}
		out.Groups = append(out.Groups, GroupRate{name, n, squares / float64(n-1)})
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	for a, b := range twos(len(names)) {
		c, rows, own, err := contrasts(slices.Concat(members[a], members[b])...)
		if err != nil {
			return fail(fmt.Errorf("%s and %s: %w", names[a], names[b], err))
		}
		shared, err := own.Shared()
		if err != nil {
			return fail(err)
		}
		var u, shapes mat.Dense
		u.Mul(c, of(rows))
		v := mat.NewDense(len(rows), len(rows), nil)
		for k := range shared {
			v.SetRow(k, shared[k])
		}
		shapes.Mul(v, c.T()) // times contrasts: shapes that have them, as C V Cᵀ = 1
		at := map[int]int{}
		for k, row := range rows {
			at[row] = k
		}
		var rate [2]*mat.SymDense // Σ_kl rate_kl ⟨u_k, u_l⟩ is that of a group, by the contrasts u of the pair
		for k, g := range []int{a, b} {
			own := ofGroups[g]
			some := mat.NewDense(len(own.rows), len(at)-1, nil)
			for r, row := range own.rows {
				some.SetRow(r, shapes.RawRowView(at[row]))
			}
			var group mat.Dense // times contrasts of the pair: those of the group
			group.Mul(own.contrasts, some)
			rate[k] = mat.NewSymDense(len(at)-1, nil)
			rate[k].SymOuterK(1/float64(len(own.rows)-1), group.T())
		}
		var gram mat.Dense
		gram.Mul(&u, u.T())
		ratio := func(order []int, signs []float64) float64 {
			one, other := traces(&gram, order, signs, rate[0], rate[1])
			return one / other
		}
		s := &stratum{y: &u, signs: true}
		same, plus := make([]int, len(at)-1), slices.Repeat([]float64{1}, len(at)-1)
		for k := range same {
			same[k] = k
		}
		out.Ratios = append(out.Ratios, compareRatios(names[a], names[b], ratio(same, plus), permutations, func() float64 { return ratio(s.permutation(rng)) }))
	}
	return out, nil
}
