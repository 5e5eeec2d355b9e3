package supplement

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom/stats/linear"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/morpho/shapestats"
	"anatomy/viz"
)

// rows are the aligned shapes.
func (a *analysis) rows() [][]float64 {
	m := a.mean
	return lists.Make(len(m.Fitted), func(i int) []float64 {
		return floats.AddTo(make([]float64, len(m.Fitted[i])), m.Fitted[i], m.Residuals[i])
	})
}

// covary asks how shapes covary with columns of numbers, or with landmarks of the same specimens.
func (a *analysis) covary() *Section {
	if a.Covary == "" {
		return nil
	}
	var numbers [][]float64
	var names, header []string
	caption := "aligned landmarks: the share of the squared covariance of each pair of axes."
	if _, err := os.Stat(a.Covary); err == nil && a.data.Flat {
		numbers, names = a.landmarks(), []string{"landmarks"}
	} else {
		numbers, names = a.columns()
		caption, header = "standardised columns: the share of the squared covariance of each pair of axes, and the weights of the columns.", names
	}
	pls, by := shapestats.TwoBlockPLS, "by permuting specimens"
	if a.tree != nil {
		pls = func(x, y [][]float64, p linear.Permutations) (*shapestats.PLS, error) {
			return shapestats.TwoBlockPLSOnTree(a.tree, x, y, p)
		}
		by = "by permuting phylogenetically independent contrasts and their signs"
	}
	found := try.Get(pls(a.rows(), numbers, a.draws()))
	s := &Section{Title: "How shapes covary with measurements"}
	s.add(Paragraph(fmt.Sprintf("Shapes and %s %s (r = %.3g, p = %s).", and(names), verdict(found.P, "covary", "do not covary significantly"), found.R, pValue(found.P))))
	t := &Table{Name: "covariation", Caption: "Two-block partial least squares of shapes and " + caption, Header: append([]string{"pair", "share"}, header...)}
	for k, share := range found.Shares {
		t.Add(k+1, share, found.Axes[1][k][:len(header)])
	}
	_, _, values := a.main()
	s.add(t, &Figure{Name: "covariation", Caption: "Scores of the specimens on the first pair of axes.", Drawing: viz.Fig(a.byGroup(values, found.Scores[1][0], found.Scores[0][0])...).XLabel("score of " + and(names)).YLabel("score of shape")})
	a.method("The covariation of shapes and measurements was found by two-block partial least squares, and tested "+by+".", "Rohlf & Corti 2000")
	return s
}

// columns are those of the question, standardised, and their names.
func (a *analysis) columns() (numbers [][]float64, names []string) {
	numbers = make([][]float64, len(a.data.Specimens))
	for name := range strings.SplitSeq(a.Covary, ",") {
		name = strings.TrimSpace(name)
		column := try.Get(a.data.Numbers(name))
		try.FailIf(floats.HasNaN(column), "%s is not known of all specimens: leave those without it out", name)
		mean, deviation := stat.MeanStdDev(column, nil)
		for i, v := range column {
			numbers[i] = append(numbers[i], (v-mean)/deviation)
		}
		names = append(names, name)
	}
	return numbers, names
}

// landmarks are the shapes of landmarks of the specimens, by their names, in the file of the question.
func (a *analysis) landmarks() [][]float64 {
	d := try.Get(morpho.Read(a.Covary))
	some, names := *d, d.Names()
	some.Specimens = lists.Each(a.data.Specimens, func(s morpho.Specimen) morpho.Specimen {
		i := slices.Index(names, s.Name)
		try.FailIf(i < 0, "%s has no landmarks of %s: shapes covary with landmarks of all specimens, by their names", a.Covary, clip(s.Name))
		return d.Specimens[i]
	})
	rows, _ := try.Get2(some.TangentShapes())
	return rows
}

// symmetry asks how the sides of symmetric shapes differ.
func (a *analysis) symmetry() *Section {
	if a.Pairs == "" {
		return nil
	}
	found := try.Get(shapestats.ObjectSymmetry(a.data, try.Get(parseLinks(a.Pairs, a.data)), a.draws()))
	s := &Section{Title: "How the sides differ"}
	s.add(Paragraph(fmt.Sprintf("%s (p = %s).", verdict(found.P, "The specimens share an asymmetry", "There is no significant asymmetry that all specimens share"), pValue(found.P))))
	total := found.SymmetricSS + found.DirectionalSS + found.FluctuatingSS
	t := &Table{Name: "symmetry", Caption: "Parts of the variation of shapes: sums of squares in squared centroid sizes. The fluctuating asymmetry contains the error of measurement.", Header: []string{"part", "SS", "R²"}}
	for k, ss := range []float64{found.SymmetricSS, found.DirectionalSS, found.FluctuatingSS} {
		t.Add([]string{"symmetric", "directional asymmetry", "fluctuating asymmetry"}[k], ss, ss/total)
	}
	asymmetric := make([][]float64, len(found.Mean))
	for l, p := range found.Mean {
		asymmetric[l] = floats.AddScaledTo(make([]float64, len(p)), p, 10, found.Directional[l])
	}
	s.add(t, &Figure{Name: "symmetry", Caption: "The symmetric mean, and ten times the asymmetry that all specimens share.", Drawing: arranged(a.views, a.between("", found.Mean, asymmetric, "symmetric mean", "with 10 × asymmetry"))})
	a.method("Symmetric and asymmetric parts are those of the shapes and their relabelled mirror images. Directional asymmetry was tested by drawing the signs of individual asymmetries at random.", "Klingenberg et al. 2002")
	return s
}
