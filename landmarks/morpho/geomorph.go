package morpho

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/dense"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/pointset"
)

const geomorphTolerance = 1e-4

// ProcrustesSlidingGeomorph is sliding as the R package geomorph does it (gpagen of version 4.0.8, without approxBE), to compare with its results:
// towards the mean of the shapes as they slide. The shapes are brought to size 1 and rotated to shape 0. Then, in turns, the semi-landmarks of each
// take one step of Slide, the shapes are rotated to the mean, and the mean is computed anew, with size 1. It ends where N |mean|² before the rotation
// changes by no more than 1e-4 from one turn to the next, which is the Status Converged, or after the given number of turns: nine in geomorph 4, and
// four in versions before (its max.iter less one).
//
// It differs from ProcrustesSliding in this: the mean moves, so that landmarks crowd from turn to turn where curves are long for their points; the
// turns approach no limit, so that another number of them gives other shapes (Left says how far they would still slide); and sizes and places are no
// longer exactly those at the start, since they are not brought back after a step: for sums of squares as geomorph has them compare Shapes as they
// are, whose sizes are not 1 and whose centroids are not 0. Of surfaces geomorph takes other neighbours.
//
// The only option is Of. It has the errors of ProcrustesSliding, and is one if a semi-landmark has a Support, which geomorph does not know.
func ProcrustesSlidingGeomorph(shapes []shape.Shape, semilandmarks []Semilandmark, criterion Criterion, turns int,
	opts ...ProcrustesOption) (_ *SlidAlignment, err error) {
	defer try.Named(&err, "procrustes with sliding as geomorph")
	try.FailIf(turns < 1, "%d turns, want at least 1", turns)
	whole := newSlider(shapes, semilandmarks, criterion, opts)
	pre := whole.of.preshapes(shapes)
	n, dim := pre[0].points.Dims()
	try.FailIf(slices.ContainsFunc(semilandmarks, func(m Semilandmark) bool { return len(m.On) > 0 }),
		"semi-landmarks lie on curves or surfaces: use ProcrustesSliding")
	slid, total := make([]*mat.Dense, len(pre)), make([]*mat.Dense, len(pre)) // shapes, and all their rotations so far
	rotate := func(mean *mat.Dense) {
		for i, x := range slid {
			r, _, err := pointset.Rotation(x, mean)
			try.FailIf(err != nil, "%s and the mean: %w", whole.of.specimen(i), err)
			var rotated, both mat.Dense
			rotated.Mul(x, r.T())
			both.Mul(r, total[i])
			slid[i], total[i] = &rotated, &both
		}
	}
	for i, z := range pre {
		slid[i], total[i] = z.points, dense.Rows(lists.Identity(dim))
	}
	rotate(pre[0].points)
	ones := slices.Repeat([]float64{1}, len(pre))
	mean := weightedMean(ones, slid)
	shape := func(x *mat.Dense) [][]float64 { return slices.Collect(slices.Chunk(x.RawMatrix().Data, dim)) }
	out := &SlidAlignment{Alignment: &Alignment{Status: solve.IterationLimit}}
	// step is one of all shapes, and how long it is.
	step := func() (next []*mat.Dense, lengths []float64) {
		s := whole
		s.reference = shape(mean)
		if criterion == BendingEnergy {
			s.bending = bendingOf(s.reference)
		}
		for i, x := range slid {
			try.Do(try.Name(try.Run(func() {
				y, length, _ := s.slide(shape(x))
				next, lengths = append(next, mat.NewDense(n, dim, slices.Concat(y...))), append(lengths, length)
			}), "%s", whole.of.specimen(i)))
		}
		return next, lengths
	}
	square := math.Pow(mat.Norm(mean, 2), 2) * float64(len(pre))
	for ; out.Iterations < turns && out.Status != solve.Converged; out.Iterations++ {
		slid, _ = step()
		before := square
		square = math.Pow(mat.Norm(weightedMean(ones, slid), 2), 2) * float64(len(pre))
		rotate(mean)
		mean = weightedMean(ones, slid)
		mean.Scale(1/mat.Norm(mean, 2), mean)
		if math.Abs(square-before) <= geomorphTolerance {
			out.Status = solve.Converged
		}
	}
	_, out.Left = step()
	out.settle(shapes, pre, slid, total, mean, semilandmarks)
	return out, nil
}

// settle sets the aligned shapes, what slid in them, and their mean.
func (out *SlidAlignment) settle(shapes []shape.Shape, pre []preshape, slid, total []*mat.Dense, mean *mat.Dense, semilandmarks []Semilandmark) {
	_, dim := mean.Dims()
	shape := func(x *mat.Dense) [][]float64 { return slices.Collect(slices.Chunk(x.RawMatrix().Data, dim)) }
	out.Mean, out.Reference = shape(mean), shape(mean)
	bending := bendingOf(out.Mean)
	for i, x := range slid {
		t := similarity(1/pre[i].size, total[i], pre[i].centre, make([]float64, dim))
		s := slider{number: i, semilandmarks: semilandmarks}
		out.Transforms, out.Shapes, out.Slid = append(out.Transforms, t), append(out.Shapes, shape(x)), append(out.Slid, t.inverse().Apply(shape(x)))
		out.Off, out.Crossed = append(out.Off, s.off(out.Slid[i], shapes[i])), append(out.Crossed, s.crossed(out.Slid[i], shapes[i]))
		out.Energies = append(out.Energies, bendingEnergy(bending, out.Shapes[i]))
		out.Distances = append(out.Distances, frobenius(1, x, mean))
	}
	out.RMS = floats.Norm(out.Distances, 2) / math.Sqrt(float64(len(pre)))
}
