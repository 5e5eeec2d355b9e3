package morpho

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/landmarks/internal/text"
)

const estimateIterations = 10000

// EstimateMissing returns shapes in which missing landmarks, those with NaN coordinates, are estimated from the sample by
// thin-plate splines: the mean shape is warped so that its landmarks fall on those which the shape has, and takes the
// missing ones along (Gunz, Mitteroecker, Neubauer, Weber and Bookstein, J. Human Evolution 57, 2009). The mean is the Procrustes mean
// of all shapes, the estimates included, so mean and estimates are found in turns. Shapes are [n][d], d = 2 or 3; what is there stays as it is.
//
// They take the more turns the fewer shapes have a landmark; if there is no end after 10,000 of them, that is an error.
//
// A shape must have landmarks enough for a spline, d + 1 not all on a line or in a plane; every landmark must be there in
// some shape, and one shape must have all of them. Landmarks at a code such as −999 are an error, not estimated: see Dataset.Missing.
func EstimateMissing(shapes [][][]float64) ([][][]float64, error) {
	missing, err := missingLandmarks(shapes)
	if err != nil {
		return nil, fmt.Errorf("missing landmarks: %w", err)
	}
	var whole [][][]float64
	for i, x := range shapes {
		if len(missing[i]) == 0 {
			whole = append(whole, x)
		}
	}
	if len(whole) == len(shapes) {
		return shapes, nil
	}
	reference := whole[0]
	if len(whole) > 1 {
		a, err := Procrustes(whole)
		if err != nil {
			return nil, fmt.Errorf("missing landmarks: the shapes without missing landmarks: %w", err)
		}
		reference = a.Mean
	}
	out := shapes
	for range estimateIterations {
		next, change := make([][][]float64, len(shapes)), 0.0
		for i, x := range shapes {
			if next[i], err = estimateBySpline(x, missing[i], reference); err != nil {
				return nil, fmt.Errorf("missing landmarks: shape %d: %w", i, err)
			}
			for _, l := range missing[i] {
				move := floats.Distance(next[i][l], out[i][l], 2)
				change = math.Max(change, move/CentroidSize(next[i]))
			}
		}
		out = next
		if change <= 1e-9 { // not in the first turn, from NaN
			return out, nil
		}
		a, err := Procrustes(out)
		if err != nil {
			return nil, fmt.Errorf("missing landmarks: %w", err)
		}
		reference = a.Mean
	}
	return nil, fmt.Errorf("missing landmarks: %w", text.Advise("leave out the landmarks that few shapes have",
		"mean and estimates still change after %d turns, as only %d of %d shapes have all landmarks", estimateIterations, len(whole), len(shapes)))
}

// missingLandmarks lists the landmarks that each shape lacks and sees that there is enough to estimate them from.
func missingLandmarks(shapes [][][]float64) ([][]int, error) {
	if len(shapes) == 0 {
		return nil, text.Advise("give some", "no shapes")
	}
	out := make([][]int, len(shapes))
	whole := false
	dim := 0
	for i, x := range shapes {
		if len(x) != len(shapes[0]) {
			return nil, text.Advise("let missing landmarks be NaN in their places",
				"shape %d has %d landmarks, shape 0 has %d", i, len(x), len(shapes[0]))
		}
		for l, p := range x {
			if i == 0 && l == 0 {
				dim = len(p)
			}
			if len(p) != dim || dim != 2 && dim != 3 {
				return nil, text.Advise("give all landmarks 2, or all 3",
					"shape %d: landmark %d has %d coordinates, landmark 0 of shape 0 has %d", i, l, len(p), dim)
			}
			switch count := floats.Count(math.IsNaN, p); {
			case count == dim:
				out[i] = append(out[i], l)
			case count > 0:
				return nil, text.Advise("let all its coordinates be NaN, or none",
					"shape %d: landmark %d is %v: a landmark is missing as a whole or not at all", i, l, p)
			default:
				if err := checkPoint(l, p); err != nil {
					return nil, fmt.Errorf("shape %d: %w", i, err)
				}
			}
		}
		present := len(x) - len(out[i])
		if present == 0 {
			return nil, text.Advise("leave it out", "shape %d: all landmarks are missing", i)
		}
		if len(out[i]) > 0 && present < dim+1 {
			return nil, text.Advise("leave it out", "shape %d has %d landmarks, too few to estimate the other %d from", i, present, len(out[i]))
		}
		whole = whole || len(out[i]) == 0
	}
	if !whole {
		return nil, text.Advise("leave out the landmarks that most shapes lack",
			"every shape lacks a landmark: one shape at least must have all of them")
	}
	return out, nil
}

// split returns the landmarks of x that are not missing, those of the reference in their places, and the reference's others.
func split(x [][]float64, missing []int, reference [][]float64) (present, known, wanted [][]float64) {
	next := 0
	for l := range x {
		if next < len(missing) && missing[next] == l {
			wanted = append(wanted, reference[l])
			next++
			continue
		}
		present, known = append(present, x[l]), append(known, reference[l])
	}
	return present, known, wanted
}

func estimateBySpline(x [][]float64, missing []int, reference [][]float64) ([][]float64, error) {
	if len(missing) == 0 {
		return x, nil
	}
	present, known, wanted := split(x, missing, reference)
	s, err := newSpline(known)
	if err != nil {
		return nil, fmt.Errorf("its landmarks in the mean shape: %w", err)
	}
	return filled(x, missing, s.warp(present, wanted)), nil
}

func filled(x [][]float64, missing []int, values [][]float64) [][]float64 {
	out := append([][]float64{}, x...)
	for k, l := range missing {
		out[l] = values[k]
	}
	return out
}

// EstimateMissingByRegression is EstimateMissing with the covariation of landmarks in the complete shapes: missing
// landmarks are predicted from the others by ridge regression on these shapes, all aligned by Procrustes. Generalised
// cross-validation (Golub, Heath and Wahba, Technometrics 21, 1979) chooses how far to trust it; with no relation it gives
// the mean. At least 4 shapes must be complete. It is better than EstimateMissing if many are.
func EstimateMissingByRegression(shapes [][][]float64) ([][][]float64, error) {
	missing, err := missingLandmarks(shapes)
	if err != nil {
		return nil, fmt.Errorf("missing landmarks by regression: %w", err)
	}
	var whole [][][]float64
	for i, x := range shapes {
		if len(missing[i]) == 0 {
			whole = append(whole, x)
		}
	}
	if len(whole) < 4 {
		return nil, fmt.Errorf("missing landmarks by regression: %w", text.Advise("use EstimateMissing",
			"%d of %d shapes have all landmarks, want at least 4", len(whole), len(shapes)))
	}
	a, err := Procrustes(whole)
	if err != nil {
		return nil, fmt.Errorf("missing landmarks by regression: the shapes without missing landmarks: %w", err)
	}
	out := make([][][]float64, len(shapes))
	for i, x := range shapes {
		if out[i] = x; len(missing[i]) == 0 {
			continue
		}
		// All by the landmarks that this shape has, so that its alignment means the same as the others'.
		present, known, centre := split(x, missing[i], a.Mean)
		toMean, err := FitSimilarity(present, known)
		if err != nil {
			return nil, fmt.Errorf("missing landmarks by regression: shape %d: %w", i, err)
		}
		var from, to [][]float64
		for _, y := range a.Shapes {
			p, _, w := split(y, missing[i], y)
			t, err := FitSimilarity(p, known)
			if err != nil {
				return nil, fmt.Errorf("missing landmarks by regression: shape %d: %w", i, err)
			}
			from = append(from, difference(t.Apply(p), known))
			to = append(to, difference(t.Apply(w), centre))
		}
		values := ridgeRegression(from, to, difference(toMean.Apply(present), known))
		estimate := make([][]float64, len(centre))
		for k, c := range centre {
			estimate[k] = floats.AddTo(make([]float64, len(c)), values[k*len(c):(k+1)*len(c)], c)
		}
		out[i] = filled(x, missing[i], toMean.inverse().Apply(estimate))
	}
	return out, nil
}

// difference returns the coordinates of a − b in one row.
func difference(a, b [][]float64) []float64 {
	return floats.SubTo(make([]float64, len(a)*len(a[0])), slices.Concat(a...), slices.Concat(b...))
}

// ridgeRegression predicts y at x from the samples (x_i, y_i): the mean of y plus (x − x̄) Vᵀ S/(S² + λ) Uᵀ Y with U S V the
// deviations of the x_i, and the λ of least generalised cross-validation, tr(RᵀR)/(N − 1 − Σ S²/(S² + λ))².
func ridgeRegression(xs, ys [][]float64, x []float64) []float64 {
	n := len(xs)
	centred := func(rows [][]float64) (*mat.Dense, []float64) {
		mean := make([]float64, len(rows[0]))
		for _, r := range rows {
			floats.AddScaled(mean, 1/float64(n), r)
		}
		m := mat.NewDense(n, len(mean), nil)
		for i, r := range rows {
			floats.SubTo(m.RawRowView(i), r, mean)
		}
		return m, mean
	}
	mx, xMean := centred(xs)
	my, yMean := centred(ys)
	var svd mat.SVD
	svd.Factorize(mx, mat.SVDThin)
	s := svd.Values(nil)
	for len(s) > 0 && s[len(s)-1] <= 1e-10*s[0] {
		s = s[:len(s)-1]
	}
	if len(s) == 0 {
		return yMean
	}
	var u, v, uy mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	uy.Mul(u.T(), my)
	// Neither sum may cancel: where the x_i span all deviations of the y_i, both tend to 0 with λ.
	squares, rest := make([]float64, len(s)), math.Pow(mat.Norm(my, 2), 2)
	for k := range s {
		squares[k] = math.Pow(floats.Norm(uy.RawRowView(k), 2), 2)
		rest -= squares[k]
	}
	if rest = math.Max(0, rest); len(s) == n-1 {
		rest = 0
	}
	best, lambda := math.Inf(1), 0.0
	for e := -10.0; e <= 4; e += 0.25 {
		l := s[0] * s[0] * math.Pow(10, e)
		left, free := rest, float64(n-1-len(s))
		for k := range s {
			out := l / (s[k]*s[k] + l)
			left += out * out * squares[k]
			free += out
		}
		if gcv := left / (free * free); gcv < best {
			best, lambda = gcv, l
		}
	}
	off := floats.SubTo(make([]float64, len(x)), x, xMean)
	for k := range s {
		c := floats.Dot(mat.Col(nil, k, &v), off) * s[k] / (s[k]*s[k] + lambda)
		floats.AddScaled(yMean, c, uy.RawRowView(k))
	}
	return yMean
}
