package supplement

import (
	"fmt"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom/try"
	"anatomy/internal/lists"
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

// covary asks how shapes covary with columns of numbers.
func (a *analysis) covary() *Section {
	if a.Covary == "" {
		return nil
	}
	shapes := a.rows()
	numbers := make([][]float64, len(shapes))
	var names []string
	for _, name := range strings.Split(a.Covary, ",") {
		name = strings.TrimSpace(name)
		column := try.Get(a.data.Numbers(name))
		try.FailIf(floats.HasNaN(column), "%s is not known of all specimens: leave those without it out", name)
		mean, deviation := stat.MeanStdDev(column, nil)
		for i, v := range column {
			numbers[i] = append(numbers[i], (v-mean)/deviation)
		}
		names = append(names, name)
	}
	found := try.Get(shapestats.TwoBlockPLS(shapes, numbers, a.draws()))
	s := &Section{Title: "How shapes covary with measurements"}
	verdict := "do not covary significantly"
	if found.P <= Significant {
		verdict = "covary"
	}
	s.add(Paragraph(fmt.Sprintf("Shapes and %s %s (r = %.3g, p = %s).", and(names), verdict, found.R, pValue(found.P))))
	t := &Table{Name: "covariation", Caption: "Two-block partial least squares of shapes and standardised columns: the share of the squared covariance of each pair of axes, and the weights of the columns.", Header: append([]string{"pair", "share"}, names...)}
	for k, share := range found.Shares {
		row := []any{k + 1, share}
		for _, w := range found.Axes[1][k] {
			row = append(row, w)
		}
		t.Add(row...)
	}
	_, _, values := a.main()
	s.add(t, &Figure{Name: "covariation", Caption: "Scores of the specimens on the first pair of axes.", Drawing: viz.Fig(a.byGroup(values, found.Scores[1][0], found.Scores[0][0])...).XLabel("score of " + and(names)).YLabel("score of shape")})
	a.method("The covariation of shapes and measurements was found by two-block partial least squares, and tested by permuting specimens.", "F. J. Rohlf and M. Corti, Use of two-block partial least-squares to study covariation in shape, Syst. Biol. 49, 2000")
	return s
}

// symmetry asks how the sides of symmetric shapes differ.
func (a *analysis) symmetry() *Section {
	if a.Pairs == "" {
		return nil
	}
	found := try.Get(shapestats.ObjectSymmetry(a.data, try.Get(parseLinks(a.Pairs, a.data)), a.draws()))
	s := &Section{Title: "How the sides differ"}
	verdict := "There is no significant asymmetry that all specimens share"
	if found.P <= Significant {
		verdict = "The specimens share an asymmetry"
	}
	s.add(Paragraph(fmt.Sprintf("%s (p = %s).", verdict, pValue(found.P))))
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
	a.method("Symmetric and asymmetric parts are those of the shapes and their relabelled mirror images. Directional asymmetry was tested by drawing the signs of individual asymmetries at random.", "C. Klingenberg, M. Barluenga and A. Meyer, Shape analysis of symmetric structures, Evolution 56, 2002")
	return s
}
