package morpho

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/shape"
	"anatomy/geom/try"
	"anatomy/internal/dense"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/text"
)

// errSpline says that landmarks determine no spline.
var errSpline = text.Advise("leave out one of those that coincide, or the shape",
	"they determine no thin-plate spline: two of them coincide, or all lie on a line or in a plane")

// ThinPlateSpline returns the thin-plate spline that takes the landmarks of one shape to those of another, as a map of any points: smooth, but where
// the difference is large it may fold, which a diffeomorphism does not. Both are [n][d], d = 2 or 3. Landmarks that coincide in both shapes, to 1e-9
// of their centroid sizes, count once. It is an error if the shapes differ in size, or if two landmarks coincide in the first alone, or all of its
// landmarks lie on a line or in a plane.
func ThinPlateSpline(from, to shape.Shape) (_ func(points shape.Shape) shape.Shape, err error) {
	defer try.Named(&err, "thin-plate spline (shape 0 to shape 1)")
	unnamed.check([]shape.Shape{from, to}, false)
	s, err := newSpline(from)
	if err != nil {
		kept := places(from, to)
		from, to = lists.Pick(from, kept), lists.Pick(to, kept)
		s, err = newSpline(from)
	}
	try.Do(try.Name(err, "the landmarks of shape 0"))
	return func(points shape.Shape) shape.Shape { return s.warp(to, points) }, nil
}

// places returns the landmarks that are not in the place of an earlier one in both shapes, to rounding.
func places(x, y [][]float64) (kept []int) {
	const rounding = 1e-9 // of a centroid size
	here, there := rounding*CentroidSize(x), rounding*CentroidSize(y)
	for l := range x {
		if !slices.ContainsFunc(kept, func(k int) bool {
			return floats.Distance(x[k], x[l], 2) <= here && floats.Distance(y[k], y[l], 2) <= there
		}) {
			kept = append(kept, l)
		}
	}
	return kept
}

// spline is the thin-plate spline system of n knots in R^d, d = 2 or 3: L = [K P; Pᵀ 0], K_ij = U(|x_i − x_j|), P = [1 x]
// (Bookstein, IEEE PAMI 11, 1989). U(r) is r² log r² in the plane and −r in space, for which energies are positive.
type spline struct {
	toUnit Similarity  // centred and of size 1, for the condition of L
	knots  [][]float64 // so
	l      mat.LU
}

func newSpline(knots [][]float64) (*spline, error) {
	n, d := len(knots), len(knots[0])
	size := CentroidSize(knots)
	if !(size > 0) {
		return nil, errSpline
	}
	s := &spline{toUnit: Similarity{1 / size, lists.Identity(d), shape.Shape(knots).Centroid()}}
	for c := range d {
		s.toUnit.Translation[c] /= -size
	}
	knots = s.toUnit.Apply(knots)
	s.knots = knots
	l := mat.NewDense(n+d+1, n+d+1, nil)
	for i, x := range knots {
		for j, y := range knots {
			l.Set(i, j, radialSpline(d, floats.Distance(x, y, 2)))
		}
		l.Set(i, n, 1)
		l.Set(n, i, 1)
		for c, v := range x {
			l.Set(i, n+1+c, v)
			l.Set(n+1+c, i, v)
		}
	}
	s.l.Factorize(l)
	if !(s.l.Cond() < 1e13) {
		return nil, errSpline
	}
	return s, nil
}

func radialSpline(d int, r float64) float64 {
	if d == 3 {
		return -r
	}
	if r == 0 {
		return 0
	}
	return 2 * r * r * math.Log(r)
}

// bending returns the n×n matrix B of the bending energy Σ_c y_cᵀ B y_c of the spline that takes the knots to y: the
// corner of L⁻¹. Affine maps have none.
func (s *spline) bending() *mat.SymDense {
	n := len(s.knots)
	if n == len(s.knots[0])+1 {
		return mat.NewSymDense(n, nil) // every map is affine, and the corner of L⁻¹ rounding
	}
	size, _ := s.l.Dims()
	unit := mat.NewDense(size, n, nil)
	for i := range n {
		unit.Set(i, i, 1)
	}
	var inverse mat.Dense
	s.l.SolveTo(&inverse, false, unit)
	unitEnergy := s.toUnit.Scale // U is homogeneous of degree 1 or, but for a part that L's side conditions cancel, 2
	if len(s.knots[0]) == 2 {
		unitEnergy *= s.toUnit.Scale
	}
	b := dense.Symmetric(inverse.Slice(0, n, 0, n))
	b.ScaleSym(unitEnergy, b)
	return b
}

// warp returns the images of points under the spline that takes the knots to values, [n][d].
func (s *spline) warp(values, points [][]float64) [][]float64 {
	n, d := len(s.knots), len(s.knots[0])
	size, _ := s.l.Dims()
	right := mat.NewDense(size, d, nil)
	for i, v := range values {
		right.SetRow(i, v)
	}
	var w mat.Dense
	s.l.SolveTo(&w, false, right)
	out := make([][]float64, len(points))
	for k, x := range s.toUnit.Apply(points) {
		out[k] = append([]float64{}, w.RawRowView(n)...)
		for c, v := range x {
			floats.AddScaled(out[k], v, w.RawRowView(n+1+c))
		}
		for i, y := range s.knots {
			floats.AddScaled(out[k], radialSpline(d, floats.Distance(x, y, 2)), w.RawRowView(i))
		}
	}
	return out
}

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
	return unnamed.estimateMissing(shapes)
}

// estimateMissing is EstimateMissing of shapes of a data set.
func (d *Dataset) estimateMissing(shapes []shape.Shape) (_ []shape.Shape, err error) {
	defer try.Catch(&err)
	n, dim, missing := d.check(shapes, true)
	var whole []shape.Shape
	for i, x := range shapes {
		if len(missing[i]) == 0 {
			whole = append(whole, x)
		} else if present := n - len(missing[i]); present < dim+1 {
			text.Refuse("leave it out", "%s has %d landmarks, too few to estimate the other %d from", d.specimen(i), present, n-present)
		}
	}
	text.RefuseIf(whole == nil, "leave out the landmarks that most shapes lack", "every shape lacks a landmark: one shape at least must have all of them")
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
				try.Fail("%s: %w", d.specimen(i), err)
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
