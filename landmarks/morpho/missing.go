package morpho

import (
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/shape"
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
func EstimateMissing(shapes []shape.Shape) ([]shape.Shape, error) {
	return estimateMissing(shapes, shapeNumber, strconv.Itoa)
}

// estimateMissing is EstimateMissing with errors that call shape i what(i) and landmark l called(l).
func estimateMissing(shapes []shape.Shape, what, called func(int) string) ([]shape.Shape, error) {
	missing, err := missingLandmarks(shapes, what, called)
	if err != nil {
		return nil, fmt.Errorf("missing landmarks: %w", err)
	}
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
		if err != nil {
			return nil, fmt.Errorf("missing landmarks: the shapes without missing landmarks: %w", err)
		}
		reference = a.Mean
	}
	out := shapes
	for range estimateIterations {
		next, change := make([]shape.Shape, len(shapes)), 0.0
		for i, x := range shapes {
			if next[i], err = estimateBySpline(x, missing[i], reference); err != nil {
				return nil, fmt.Errorf("missing landmarks: %s: %w", what(i), err)
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
func missingLandmarks(shapes []shape.Shape, what, called func(int) string) ([][]int, error) {
	if len(shapes) == 0 {
		return nil, text.Advise("give some", "no shapes")
	}
	out := make([][]int, len(shapes))
	whole := false
	dim := 0
	for i, x := range shapes {
		if len(x) != len(shapes[0]) {
			return nil, text.Advise("let missing landmarks be NaN in their places",
				"%s has %d landmarks, %s has %d", what(i), len(x), what(0), len(shapes[0]))
		}
		for l, p := range x {
			if i == 0 && l == 0 {
				dim = len(p)
			}
			if len(p) != dim || dim != 2 && dim != 3 {
				return nil, text.Advise("give all landmarks 2, or all 3",
					"%s: landmark %s has %d coordinates, landmark %s of %s has %d", what(i), called(l), len(p), called(0), what(0), dim)
			}
			switch count := floats.Count(math.IsNaN, p); {
			case count == dim:
				out[i] = append(out[i], l)
			case count > 0:
				return nil, text.Advise("let all its coordinates be NaN, or none",
					"%s: landmark %s is %v: a landmark is missing as a whole or not at all", what(i), called(l), p)
			default:
				if err := checkPoint(l, p, called); err != nil {
					return nil, fmt.Errorf("%s: %w", what(i), err)
				}
			}
		}
		present := len(x) - len(out[i])
		if present == 0 {
			return nil, text.Advise("leave it out", "%s: all landmarks are missing", what(i))
		}
		if len(out[i]) > 0 && present < dim+1 {
			return nil, text.Advise("leave it out", "%s has %d landmarks, too few to estimate the other %d from", what(i), present, len(out[i]))
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
