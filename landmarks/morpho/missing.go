package morpho

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/shape"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/text"
)

const estimateIterations = 10000

// EstimateMissing returns shapes in which missing landmarks, those with NaN coordinates, are estimated by thin-plate splines: the spline that maps
// the landmarks of the mean shape to those that a shape has also maps the missing ones (Gunz, Mitteroecker, Neubauer, Weber and Bookstein, J. Human
// Evolution 57, 2009). The mean is the Procrustes mean of all shapes, estimates included, so mean and estimates are computed alternately until they
// settle. Shapes are [n][d], d = 2 or 3; landmarks that are present do not change.
//
// Each shape needs d + 1 landmarks that are not all on a line or in a plane; each landmark must be present in some shape, and one shape must have all
// of them. It is an error if this does not hold, if landmarks are at a code such as −999 (see Dataset.Missing), or if the estimates have not settled
// after 10,000 rounds; the fewer shapes have a landmark, the more rounds are needed.
func EstimateMissing(shapes []shape.Shape) ([]shape.Shape, error) {
	return estimateMissing(shapes, shapeNumber, strconv.Itoa)
}

// estimateMissing is EstimateMissing with errors that call shape i what(i) and landmark l called(l).
func estimateMissing(shapes []shape.Shape, what, called func(int) string) (_ []shape.Shape, err error) {
	defer try.Named(&err, "missing landmarks")
	missing := missingLandmarks(shapes, what, called)
	var whole []shape.Shape
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
		try.Do(try.Name(err, "the shapes without missing landmarks"))
		reference = a.Mean
	}
	out := shapes
	for range estimateIterations {
		next, change := make([]shape.Shape, len(shapes)), 0.0
		for i, x := range shapes {
			if next[i], err = estimateBySpline(x, missing[i], reference); err != nil {
				try.Fail("%s: %w", what(i), err)
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
		reference = try.Get(Procrustes(out)).Mean
	}
	return nil, text.Advise("leave out the landmarks that few shapes have",
		"mean and estimates still change after %d turns, as only %d of %d shapes have all landmarks", estimateIterations, len(whole), len(shapes))
}

// missingLandmarks lists the landmarks that each shape lacks and sees that there is enough to estimate them from.
func missingLandmarks(shapes []shape.Shape, what, called func(int) string) [][]int {
	text.RefuseIf(len(shapes) == 0, "give some", "no shapes")
	out := make([][]int, len(shapes))
	whole := false
	dim := 0
	for i, x := range shapes {
		text.RefuseIf(len(x) != len(shapes[0]), "let missing landmarks be NaN in their places",
			"%s has %d landmarks, %s has %d", what(i), len(x), what(0), len(shapes[0]))
		for l, p := range x {
			if i == 0 && l == 0 {
				dim = len(p)
			}
			if len(p) != dim || dim != 2 && dim != 3 {
				text.Refuse("give all landmarks 2, or all 3",
					"%s: landmark %s has %d coordinates, landmark %s of %s has %d", what(i), called(l), len(p), called(0), what(0), dim)
			}
			switch count := floats.Count(math.IsNaN, p); {
			case count == dim:
				out[i] = append(out[i], l)
			case count > 0:
				text.Refuse("let all its coordinates be NaN, or none",
					"%s: landmark %s is %v: a landmark is missing as a whole or not at all", what(i), called(l), p)
			default:
				if err := checkPoint(l, p, called); err != nil {
					try.Fail("%s: %w", what(i), err)
				}
			}
		}
		present := len(x) - len(out[i])
		text.RefuseIf(present == 0, "leave it out", "%s: all landmarks are missing", what(i))
		text.RefuseIf(len(out[i]) > 0 && present < dim+1, "leave it out",
			"%s has %d landmarks, too few to estimate the other %d from", what(i), present, len(out[i]))
		whole = whole || len(out[i]) == 0
	}
	text.RefuseIf(!whole, "leave out the landmarks that most shapes lack", "every shape lacks a landmark: one shape at least must have all of them")
	return out
}

// estimateBySpline returns a shape with its missing landmarks where the spline takes those of a reference.
func estimateBySpline(x [][]float64, missing []int, reference [][]float64) ([][]float64, error) {
	if len(missing) == 0 {
		return x, nil
	}
	s, err := newSpline(dropped(reference, missing))
	if err != nil {
		return nil, fmt.Errorf("its landmarks in the mean shape: %w", err)
	}
	out := slices.Clone(x)
	for k, p := range s.warp(dropped(x, missing), lists.Pick(reference, missing)) {
		out[missing[k]] = p
	}
	return out, nil
}
