package pointset

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/internal/input"
)

// Segments returns the distances between neighbouring points.
func Segments(points [][]float64, closed bool) []float64 {
	n := len(points)
	lengths := make([]float64, 0, n)
	for i := range n - 1 {
		lengths = append(lengths, floats.Distance(points[i], points[i+1], 2))
	}
	if closed {
		lengths = append(lengths, floats.Distance(points[n-1], points[0], 2))
	}
	return lengths
}

// Resample returns n points at equal arc lengths along the polygon through points, [k][d], and its length. The first one stays. On a closed polygon
// they are at j·L/n of the length L, on an open one at j·L/(n − 1). They are nil where the length is 0 or not finite.
func Resample(points [][]float64, n int, closed bool) ([][]float64, float64) {
	lengths, dim := Segments(points, closed), len(points[0])
	total := floats.Sum(lengths)
	if !(total > 0) || math.IsInf(total, 0) {
		return nil, total
	}
	parts := float64(n - 1)
	if closed {
		parts = float64(n)
	}
	out := make([][]float64, n)
	segment, before := 0, 0.0 // before is the arc length at the segment's beginning
	for k := range out {
		s := total * float64(k) / parts
		for segment < len(lengths)-1 && before+lengths[segment] <= s {
			before += lengths[segment]
			segment++
		}
		t := 0.0
		if lengths[segment] > 0 {
			t = min((s-before)/lengths[segment], 1)
		}
		from, to := points[segment], points[(segment+1)%len(points)]
		out[k] = make([]float64, dim)
		for c := range dim {
			out[k][c] = (1-t)*from[c] + t*to[c]
		}
	}
	return out, total
}

// ErrRotation is that of shapes whose best rotation is one of several.
var ErrRotation = input.Advise("take more landmarks, or leave the shape out",
	"the best rotation is not determined: the landmarks are collinear in space, or the shapes have nothing in common (mirror images?)")

// Rotation returns the rotation R that maximises tr(R xᵀ y) for x and y of norm 1, and that maximum, cos ρ:
// in the plane by the angle of xᵀy; in space, with xᵀy = U S Vᵀ, it is R = V diag(1, …, ±1) Uᵀ (Kabsch 1976; Umeyama 1991).
// With ErrRotation R is one of several.
func Rotation(x, y *mat.Dense) (*mat.Dense, float64, error) {
	var cross mat.Dense
	cross.Mul(x.T(), y)
	if _, dim := x.Dims(); dim == 2 {
		along, across := cross.At(0, 0)+cross.At(1, 1), cross.At(0, 1)-cross.At(1, 0) // cos ρ times the cosine and sine of the angle
		cosine := math.Hypot(along, across)
		if cosine < 1e-13 {
			return mat.NewDense(2, 2, []float64{1, 0, 0, 1}), cosine, ErrRotation
		}
		return mat.NewDense(2, 2, []float64{along / cosine, -across / cosine, across / cosine, along / cosine}), cosine, nil
	}
	var svd mat.SVD
	if !svd.Factorize(&cross, mat.SVDFull) {
		return nil, 0, errors.New("the singular value decomposition failed")
	}
	var u, v mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	s := svd.Values(nil)
	last := len(s) - 1
	if mat.Det(&u)*mat.Det(&v) < 0 {
		s[last] = -s[last]
		column := v.Slice(0, last+1, last, last+1).(*mat.Dense)
		column.Scale(-1, column)
	}
	var r mat.Dense
	r.Mul(&v, u.T())
	if s[last-1]+s[last] < 1e-13 {
		return &r, floats.Sum(s), ErrRotation
	}
	return &r, floats.Sum(s), nil
}
