package morpho

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Semilandmark is a point of a curve, whose place along the curve means nothing: it slides along the line through its
// neighbours, x_After − x_Before.
type Semilandmark struct{ Before, Point, After int }

// Semilandmarks returns the semi-landmarks of a curve through n points in their order: all but the fixed ones, and but the ends
// of an open curve. It panics if a fixed one is not among the points.
func Semilandmarks(n int, closed bool, fixed ...int) []Semilandmark {
	isFixed := make(map[int]bool, len(fixed))
	for _, l := range fixed {
		if l < 0 || l >= n {
			panic(fmt.Errorf("semi-landmarks: landmark %d is to be fixed; landmarks are 0 to %d", l, n-1))
		}
		isFixed[l] = true
	}
	var out []Semilandmark
	for l := range n {
		if isFixed[l] || !closed && (l == 0 || l == n-1) {
			continue
		}
		out = append(out, Semilandmark{(l + n - 1) % n, l, (l + 1) % n})
	}
	return out
}

// Criterion is what semi-landmarks slide to make least.
type Criterion int

const (
	// BendingEnergy is that of the thin-plate spline which takes the reference to the shape.
	BendingEnergy Criterion = iota
	// ProcrustesDistance is Σ_l |x_l − r_l|², landmark by landmark.
	ProcrustesDistance
)

// Slide moves the semi-landmarks of a shape along their tangents to where the criterion against a reference is least, in
// one step: tangents are those of the shape as it is. With direction u_l of semi-landmark l and the bending energy matrix B
// of the reference the distances t solve Σ_m B_lm (u_l·u_m) t_m = −Σ_m B_lm u_l·x_m (Bookstein, Med. Image Anal. 1, 1997; Gunz,
// Mitteroecker and Bookstein 2005); for Procrustes distance, t_l = u_l·(r_l − x_l). Where the energy leaves distances open, the
// shortest are taken. The shape must be aligned with the reference for Procrustes distance. Both are [n][d], d = 2 or 3.
func Slide(shape, reference [][]float64, semilandmarks []Semilandmark, criterion Criterion) ([][]float64, error) {
	if _, _, err := commonExtent([][][]float64{shape, reference}, shapeNumber); err != nil {
		return nil, fmt.Errorf("slide (shape 0 along its curves to shape 1): %w", err)
	}
	if err := checkSemilandmarks(len(shape), semilandmarks, criterion); err != nil {
		return nil, fmt.Errorf("slide: %w", err)
	}
	var bending *mat.SymDense
	if criterion == BendingEnergy {
		s, err := newSpline(reference)
		if err != nil {
			return nil, fmt.Errorf("slide: the reference's landmarks: %w", err)
		}
		bending = s.bending()
	}
	out, err := slide(shape, reference, semilandmarks, bending)
	if err != nil {
		return nil, fmt.Errorf("slide: %w", err)
	}
	return out, nil
}

func checkSemilandmarks(n int, semilandmarks []Semilandmark, criterion Criterion) error {
	if len(semilandmarks) == 0 {
		return errors.New("no semi-landmarks")
	}
	if criterion != BendingEnergy && criterion != ProcrustesDistance {
		return fmt.Errorf("no criterion %d", int(criterion))
	}
	seen := map[int]bool{}
	for i, s := range semilandmarks {
		for _, l := range []int{s.Before, s.Point, s.After} {
			if l < 0 || l >= n {
				return fmt.Errorf("semi-landmark %d is landmark %d between %d and %d; landmarks are 0 to %d", i, s.Point, s.Before, s.After, n-1)
			}
		}
		if s.Before == s.After {
			return fmt.Errorf("semi-landmark %d (landmark %d) has landmark %d on both sides, so no tangent", i, s.Point, s.Before)
		}
		if seen[s.Point] {
			return fmt.Errorf("landmark %d slides twice", s.Point)
		}
		seen[s.Point] = true
	}
	return nil
}

// slide is Slide by bending energy where its matrix is given, else by Procrustes distance.
func slide(shape, reference [][]float64, semilandmarks []Semilandmark, bending *mat.SymDense) ([][]float64, error) {
	k := len(semilandmarks)
	directions := make([][]float64, k)
	for i, s := range semilandmarks {
		u := floats.SubTo(make([]float64, len(shape[0])), shape[s.After], shape[s.Before])
		norm := floats.Norm(u, 2)
		if norm == 0 {
			return nil, fmt.Errorf("landmarks %d and %d coincide, so landmark %d between them has no tangent", s.Before, s.After, s.Point)
		}
		floats.Scale(1/norm, u)
		directions[i] = u
	}
	ways := make([]float64, k)
	if bending == nil {
		for i, s := range semilandmarks {
			ways[i] = floats.Dot(directions[i], reference[s.Point]) - floats.Dot(directions[i], shape[s.Point])
		}
	} else {
		a, b := mat.NewSymDense(k, nil), make([]float64, k)
		for i, s := range semilandmarks {
			for l, x := range shape {
				b[i] -= bending.At(s.Point, l) * floats.Dot(directions[i], x)
			}
			for j, r := range semilandmarks[:i+1] {
				a.SetSym(i, j, bending.At(s.Point, r.Point)*floats.Dot(directions[i], directions[j]))
			}
		}
		var eigen mat.EigenSym
		if !eigen.Factorize(a, true) {
			return nil, errors.New("the eigenvalues of the bending energy were not found")
		}
		values := eigen.Values(nil)
		var vectors mat.Dense
		eigen.VectorsTo(&vectors)
		rounding := 1e-12 * mat.Norm(bending, 2) // not of a, which may be nothing else
		for e, v := range values {
			if v > rounding {
				column := mat.Col(nil, e, &vectors)
				floats.AddScaled(ways, floats.Dot(column, b)/v, column)
			}
		}
	}
	out := make([][]float64, len(shape))
	for l, x := range shape {
		out[l] = append([]float64{}, x...)
	}
	for i, s := range semilandmarks {
		floats.AddScaled(out[s.Point], ways[i], directions[i])
	}
	return out, nil
}

// SlidAlignment is the result of ProcrustesSliding.
type SlidAlignment struct {
	*Alignment               // of the slid shapes: Transforms take Slid to Shapes
	Slid       [][][]float64 // the shapes as they were given, with their semi-landmarks slid
	Energies   []float64     // bending energy of each of Shapes against Mean
}

// String is that of Alignment, with the turns of sliding and the mean of Energies.
func (a *SlidAlignment) String() string {
	return fmt.Sprintf("%v of sliding, with a bending energy of %.4g on average", a.Alignment, floats.Sum(a.Energies)/float64(len(a.Energies)))
}

const slidingIterations = 100

// ProcrustesSliding is Procrustes for curves: semi-landmarks slide on every shape towards the mean by a criterion, in turns
// with the alignment. It ends when no turn moves them by more than 1e-6 of a shape's size (root mean square), or after 100
// turns; Converged and Iterations count these. Slid points leave a bent curve by a little: give curves densely.
func ProcrustesSliding(shapes [][][]float64, semilandmarks []Semilandmark, criterion Criterion, opts ...ProcrustesOption) (*SlidAlignment, error) {
	n, _, err := commonExtent(shapes, shapeNumber)
	if err != nil {
		return nil, fmt.Errorf("procrustes with sliding: %w", err)
	}
	if err := checkSemilandmarks(n, semilandmarks, criterion); err != nil {
		return nil, fmt.Errorf("procrustes with sliding: %w", err)
	}
	out := &SlidAlignment{Slid: shapes}
	for turn := 0; ; turn++ {
		if out.Alignment, err = Procrustes(out.Slid, opts...); err != nil {
			return nil, err
		}
		s, err := newSpline(out.Mean)
		if err != nil {
			return nil, fmt.Errorf("procrustes with sliding: the mean's landmarks: %w", err)
		}
		bending := s.bending()
		out.Energies = make([]float64, len(shapes))
		for i, x := range out.Shapes {
			out.Energies[i] = bendingEnergy(bending, x)
		}
		out.Iterations = turn
		if turn == slidingIterations {
			out.Converged = false
			return out, nil
		}
		if criterion == ProcrustesDistance {
			bending = nil
		}
		next := make([][][]float64, len(shapes))
		furthest := 0.0
		for i, x := range out.Shapes {
			moved, err := slide(x, out.Mean, semilandmarks, bending)
			if err != nil {
				return nil, fmt.Errorf("procrustes with sliding: shape %d: %w", i, err)
			}
			way := 0.0
			for l := range x {
				way += math.Pow(floats.Distance(moved[l], x[l], 2), 2)
			}
			furthest = math.Max(furthest, math.Sqrt(way)/CentroidSize(x))
			next[i] = out.Transforms[i].inverse().Apply(moved)
		}
		if furthest <= 1e-6 {
			return out, nil
		}
		out.Slid = next
	}
}

func bendingEnergy(b *mat.SymDense, x [][]float64) float64 {
	energy := 0.0
	for c := range x[0] {
		y := mat.NewVecDense(len(x), nil)
		for l := range x {
			y.SetVec(l, x[l][c])
		}
		energy += mat.Inner(y, b, y)
	}
	return energy
}

// inverse is x ↦ Rᵀ (x − Translation)/Scale.
func (s Similarity) inverse() Similarity {
	d := len(s.Rotation)
	out := Similarity{Scale: 1 / s.Scale, Rotation: zeros(d, d), Translation: make([]float64, d)}
	for i := range d {
		for j := range d {
			out.Rotation[i][j] = s.Rotation[j][i]
		}
	}
	for i := range d {
		out.Translation[i] = -out.Scale * floats.Dot(out.Rotation[i], s.Translation)
	}
	return out
}
