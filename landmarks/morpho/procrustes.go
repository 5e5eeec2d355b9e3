package morpho

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/pointset"
	"anatomy/landmarks/internal/text"
)

// Similarity is the map x ↦ Scale · Rotation · x + Translation of the plane or of space.
type Similarity struct {
	Scale       float64
	Rotation    [][]float64 // [d][d], orthogonal with determinant 1
	Translation []float64   // [d]
}

// Apply returns the images of points, [n][d].
func (s Similarity) Apply(points shape.Shape) shape.Shape {
	out := make([][]float64, len(points))
	for i, p := range points {
		out[i] = make([]float64, len(s.Rotation))
		for c, row := range s.Rotation {
			out[i][c] = s.Scale*floats.Dot(row, p) + s.Translation[c]
		}
	}
	return out
}

// ProcrustesOption changes what FitSimilarity and Procrustes may do to a shape.
type ProcrustesOption func(*procrustesOptions)

type procrustesOptions struct {
	keepSize bool
	of       *Dataset
}

// Of lets errors about semi-landmarks call shapes and landmarks as the data set does whose they are; without it they are counted from 0.
func Of(d *Dataset) ProcrustesOption { return func(o *procrustesOptions) { o.of = d } }

// KeepSize leaves the size of every shape as it is: only translation and rotation are allowed (size-and-shape, or partial Procrustes, alignment).
func KeepSize() ProcrustesOption { return func(o *procrustesOptions) { o.keepSize = true } }

// FitSimilarity returns the similarity that brings a shape closest to a target (ordinary Procrustes analysis): it minimises
// Σ_i |target_i − (s R from_i + t)|² over rotations R (no reflections), translations t and sizes s > 0 (s = 1 with KeepSize).
// Both are [n][d] with d = 2 or 3. It is an error if all landmarks of a shape coincide, or if the best rotation is not determined
// (collinear landmarks in space, or a shape at the greatest distance from the other).
func FitSimilarity(from, target shape.Shape, opts ...ProcrustesOption) (_ Similarity, err error) {
	defer try.Named(&err, "fit a similarity (shape 0 to shape 1)")
	pre := unnamed.preshapes([]shape.Shape{from, target})
	x, y := pre[0], pre[1]
	r, cosine := try.Get2(pointset.Rotation(x.points, y.points))
	scale := 1.0
	if !optionsOf(opts).keepSize {
		scale = y.size / x.size * cosine
	}
	return similarity(scale, r, x.centre, y.centre), nil
}

// ShapeDistance returns the Riemannian distance ρ ∈ [0, π/2] of two shapes in Kendall's shape space, cos ρ = max_R tr(R Xᵀ Y) for
// X and Y centred and of centroid size 1. The full Procrustes distance is sin ρ, the partial one 2 sin(ρ/2)
// (Dryden and Mardia 2016, ch. 4). Both are [n][d] with d = 2 or 3; it is an error if all
// landmarks of a shape coincide.
func ShapeDistance(a, b [][]float64) (_ float64, err error) {
	defer try.Named(&err, "shape distance")
	pre := unnamed.preshapes([]shape.Shape{a, b})
	x, y := pre[0].points, pre[1].points
	r, cosine, err := pointset.Rotation(x, y)
	if !errors.Is(err, pointset.ErrRotation) { // every best rotation gives the same distance
		try.Do(err)
	}
	// Of sine and cosine: the cosine alone would lose half the digits of a small distance.
	var rotated mat.Dense
	rotated.Mul(x, r.T())
	return math.Atan2(frobenius(cosine, &rotated, y), cosine), nil
}

// Alignment is the result of Procrustes.
type Alignment struct {
	Shapes     []shape.Shape // [N][n][d], centred and aligned; their coordinate mean is Mean
	Mean       shape.Shape   // [n][d], centred; of centroid size 1 (with KeepSize of the shapes' own size)
	Transforms []Similarity  // shape i of the input ↦ Shapes[i]
	// Distances from each shape to Mean: full Procrustes distances sin ρ_i, in [0, 1];
	// with KeepSize size-and-shape distances |Shapes[i] − Mean| in the unit of the coordinates.
	Distances  []float64
	RMS        float64 // root mean square of Distances
	Iterations int
	Status     solve.Status // Converged if the last iteration moved the mean by no more than rounding
}

// String says how many shapes are aligned and how far they lie from their mean.
func (a *Alignment) String() string {
	return fmt.Sprintf("%d shapes aligned, %.4g from their mean (root mean square), %s after %d iterations", len(a.Shapes), a.RMS, a.Status,
		a.Iterations)
}

// Err returns nil if Status is Converged, and otherwise an error with the line of String.
func (a *Alignment) Err() error { return solve.NotNil(a).Status.Err(a) }

const (
	procrustesIterations = 1000
	procrustesWork       = 5e7   // iterations times specimens times landmarks (more for the rotation), if this is fewer iterations
	procrustesTolerance  = 1e-14 // change of a mean of size 1, for one coordinate
)

// Procrustes aligns N shapes [n][d], d = 2 or 3, with their mean (generalised Procrustes analysis): translations, rotations
// without reflection and, unless KeepSize is given, sizes. The mean is the full Procrustes mean
//
//	argmin_μ Σ_i sin² ρ(x_i, μ)     or, with KeepSize,     argmin_μ Σ_i min_{R,t} |R x_i + t − μ|²,
//
// found by rotating to the mean and averaging in turns (Gower 1975; Dryden and Mardia 2016, ch. 7). The frame is that of shape 0,
// which is not rotated. For partial alignment at size 1 (as geomorph's) divide each shape by its CentroidSize and give KeepSize.
//
// It is an error if counts or dimensions differ, a coordinate is not finite, a landmark is at a usual code of a missing one (see
// Dataset.CheckCodes), all landmarks of a shape coincide, or a rotation is not determined.
func Procrustes(shapes []shape.Shape, opts ...ProcrustesOption) (*Alignment, error) {
	return unnamed.procrustes(shapes, nil, opts...)
}

// WeightedProcrustes is Procrustes with a weight for each shape in the sums that the mean minimises, in the Mean of the aligned shapes, and in RMS.
// For specimens with errors E_i (see Dataset.SquaredErrors) about a mean from which shapes have the variance V, weights are 1/(V + E_i). It is an
// error too if there are not as many weights as shapes, or one is not positive.
func WeightedProcrustes(shapes []shape.Shape, weights []float64, opts ...ProcrustesOption) (_ *Alignment, err error) {
	defer try.Named(&err, "procrustes")
	try.FailIf(len(weights) != len(shapes), "%d weights for %d shapes", len(weights), len(shapes))
	for i, w := range weights {
		try.FailIf(!(w > 0) || math.IsInf(w, 1), "the weight of shape %d is %g: give a positive number, or leave the shape out", i, w)
	}
	relative := slices.Clone(weights)
	floats.Scale(float64(len(weights))/floats.Sum(weights), relative)
	return unnamed.procrustes(shapes, relative, opts...)
}

// procrustes is WeightedProcrustes of shapes of a data set, with weights of mean 1, or nil.
func (d *Dataset) procrustes(shapes []shape.Shape, importance []float64, opts ...ProcrustesOption) (_ *Alignment, err error) {
	defer try.Named(&err, "procrustes")
	if importance == nil {
		importance = slices.Repeat([]float64{1}, len(shapes))
	}
	pre := d.preshapes(shapes)
	n, dim := pre[0].points.Dims()
	o := optionsOf(opts)
	// One iteration is μ ← Σ_i w_i s_i R_i z_i, brought to size 1, with z_i of size 1: s_i = cos ρ_i, or with sizes kept the size itself.
	mean := pre[0].points
	rotations := make([]*mat.Dense, len(pre))
	rotated := make([]*mat.Dense, len(pre)) // R_i z_i
	cosines := make([]float64, len(pre))
	fit := func() {
		for i, z := range pre {
			var err error
			if rotations[i], cosines[i], err = pointset.Rotation(z.points, mean); err != nil {
				try.Fail("%s and the mean: %w", d.specimen(i), err)
			}
			rotated[i] = mat.NewDense(n, dim, nil)
			rotated[i].Mul(z.points, rotations[i].T())
		}
	}
	lengths := cosines // s_i
	if o.keepSize {
		lengths = lists.Each(pre, func(z preshape) float64 { return z.size })
	}
	average := func() *mat.Dense {
		return weightedMean(floats.MulTo(make([]float64, len(pre)), importance, lengths), rotated)
	}
	out := &Alignment{Status: solve.IterationLimit}
	tolerance := procrustesTolerance * math.Sqrt(float64(n*dim))
	most := min(procrustesIterations, max(10, procrustesWork/alignmentSteps(len(pre), n, dim)))
	for ; out.Iterations < most && out.Status != solve.Converged; out.Iterations++ {
		fit()
		next := average()
		size := mat.Norm(next, 2)
		text.RefuseIf(!(size > 0), "see by Inspect whether some are mirrored or out of order", "the shapes cancel: they have no mean")
		next.Scale(1/size, next)
		if frobenius(1, next, mean) <= tolerance {
			out.Status = solve.Converged
		}
		mean = next
	}
	fit()
	if o.keepSize {
		mean = average()
	}
	out.place(shapes, pre, importance, rotations, rotated, cosines, lengths, mean, o.keepSize)
	return out, nil
}

// place sets the aligned shapes and their mean: of the rotated shapes z_i of size 1, the cosines of their distances from a mean of size 1, and their
// lengths s_i.
func (out *Alignment) place(shapes []shape.Shape, pre []preshape, importance []float64, rotations, rotated []*mat.Dense, cosines, lengths []float64,
	mean *mat.Dense, keepSize bool) {
	_, dim := mean.Dims()
	squares, total := 0.0, 0.0
	for i, w := range importance {
		squares += w * cosines[i] * cosines[i]
	}
	for i, z := range pre {
		// cos ρ_i R_i z_i is at the distance sin ρ_i from a mean of size 1.
		out.Distances = append(out.Distances, frobenius(lengths[i], rotated[i], mean))
		total += importance[i] * out.Distances[i] * out.Distances[i]
		scale := 1.0
		if !keepSize {
			// Σ_i w_i cos ρ_i R_i z_i = (Σ_i w_i cos² ρ_i) μ: with this factor the mean of the aligned shapes is μ.
			scale = cosines[i] / z.size * float64(len(pre)) / squares
		}
		var r mat.Dense // into the frame of shape 0
		r.Mul(rotations[0].T(), rotations[i])
		t := similarity(scale, &r, z.centre, make([]float64, dim))
		out.Transforms = append(out.Transforms, t)
		out.Shapes = append(out.Shapes, t.Apply(shapes[i]))
	}
	out.Mean = shapes[0].Scale(0)
	for i, x := range out.Shapes {
		out.Mean = out.Mean.Add(x.Scale(importance[i] / float64(len(pre))))
	}
	out.RMS = math.Sqrt(total / float64(len(pre)))
}

// alignmentSteps is about how long one iteration takes with so many shapes of n landmarks; a rotation in space takes longer than one in the plane.
func alignmentSteps(shapes, n, dim int) int { return shapes * (n + 10 + 40*(dim-2)) }

func optionsOf(opts []ProcrustesOption) procrustesOptions {
	var o procrustesOptions
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// preshape is a shape without its place and size: points are centred and of norm 1.
type preshape struct {
	points *mat.Dense // [n, d]
	centre []float64
	size   float64
}

// preshapes sees that the shapes correspond and that each has a size.
func (d *Dataset) preshapes(shapes []shape.Shape) []preshape {
	n, dim, _ := d.check(shapes, false)
	pre := make([]preshape, len(shapes))
	for i, shape := range shapes {
		z := preshape{points: mat.NewDense(n, dim, nil), centre: shape.Centroid()}
		largest := 0.0
		for l, p := range shape {
			floats.SubTo(z.points.RawRowView(l), p, z.centre)
			largest = max(largest, floats.Norm(p, math.Inf(1)))
		}
		z.size = mat.Norm(z.points, 2)
		var err error
		if !lists.Finite(z.size) {
			err = text.Advise("take another unit", "coordinates as large as %g overflow", largest)
		} else if z.size <= 1e-14*largest*math.Sqrt(float64(n)) { // below this the size is rounding of the place
			err = text.Advise("leave it out", "all %d landmarks coincide, so there is nothing to align", n)
		}
		try.Do(try.Name(err, "%s", d.specimen(i)))
		z.points.Apply(func(_, _ int, v float64) float64 { return v / z.size }, z.points)
		pre[i] = z
	}
	return pre
}

// CheckShapes returns an error if the shapes cannot be aligned: see Procrustes.
func (d *Dataset) CheckShapes() error {
	return try.Run(func() { d.preshapes(d.Shapes()) })
}

// Align aligns the shapes as TangentShapes compares them: by Procrustes, of Forms with KeepSize and in mean centroid sizes.
func (d *Dataset) Align() (_ *Alignment, err error) {
	defer try.Catch(&err)
	if !d.Forms {
		return d.procrustes(d.Shapes(), nil)
	}
	return d.procrustes(brought(d.preshapes(d.Shapes()), true), nil, KeepSize())
}

// brought are shapes at the origin, of size 1 or, as forms, in units of their mean size.
func brought(pre []preshape, forms bool) (out []shape.Shape) {
	mean := 0.0
	for _, z := range pre {
		mean += z.size / float64(len(pre))
	}
	for _, z := range pre {
		row := slices.Clone(z.points.RawMatrix().Data)
		if forms {
			floats.Scale(z.size/mean, row)
		}
		out = append(out, slices.Collect(slices.Chunk(row, len(z.centre))))
	}
	return out
}

// TangentShapes returns the shapes as rows, [N][n·d], brought to size 1, aligned by rotations (Procrustes with KeepSize) and projected orthogonally
// to the tangent space of their mean, that is to the shapes x with ⟨x, μ⟩ = 1; and the mean μ, [n][d], of size 1. Forms are in units of their mean
// size, and neither they nor their mean are brought to a size. Of data that are Flat they are the coordinates as they are, and their mean. It is an
// error if landmarks are missing, or all shapes are the same, but for rounding, or have no mean (see Alignment.Status).
func (d *Dataset) TangentShapes() (rows [][]float64, _ shape.Shape, err error) {
	defer try.Catch(&err)
	if d.Flat {
		return d.flatRows()
	}
	pre := d.preshapes(d.Shapes())
	a := try.Get(d.alignedOnce(brought(pre, d.Forms)))
	text.RefuseIf(a.Status != solve.Converged, "see by Inspect which are out of order",
		"the mean shape still changes after %d iterations: the shapes have too little in common for a mean", a.Iterations)
	length, squares := 1.0, 0.0
	if !d.Forms {
		length = floats.Norm(a.Mean.Flat(), 2)
	}
	mean := a.Mean.Scale(1 / length)
	for _, x := range a.Shapes {
		along := 1.0
		if !d.Forms {
			along = x.Dot(mean)
		}
		off := x.Sub(mean.Scale(along))
		squares += off.Dot(off)
		rows = append(rows, off.Add(mean).Flat())
	}
	switch {
	case len(pre) == 1:
		return nil, nil, text.Advise("add others", "%s is the only one, so that no shape varies", d.specimen(0))
	case len(a.Mean) == 2 && !d.Forms:
		return nil, nil, text.Advise("digitise three or more", "two landmarks have a size, but no shape")
	case math.Sqrt(squares) < 1e-13*math.Sqrt(float64(len(pre))): // rounding
		return nil, nil, text.Advise("see whether the file repeats one", "all specimens have the same shape, which depends on nothing")
	}
	return rows, mean, nil
}

// recent are the last two alignments that alignedOnce made: a report fits many models to all specimens, and to those that it does not flag.
var recent struct {
	sync.Mutex
	of []alignedShapes
}

type alignedShapes struct {
	given []shape.Shape
	*Alignment
}

// alignedOnce is procrustes with KeepSize. It returns the same Alignment again for equal shapes, so callers change neither the shapes nor the result.
func (d *Dataset) alignedOnce(shapes []shape.Shape) (*Alignment, error) {
	recent.Lock()
	defer recent.Unlock()
	same := func(a alignedShapes) bool {
		return slices.EqualFunc(a.given, shapes, func(x, y shape.Shape) bool { return slices.EqualFunc(x, y, slices.Equal) })
	}
	if i := slices.IndexFunc(recent.of, same); i >= 0 {
		return recent.of[i].Alignment, nil
	}
	a, err := d.procrustes(shapes, nil, KeepSize())
	if err == nil {
		recent.of = append([]alignedShapes{{shapes, a}}, recent.of[:min(1, len(recent.of))]...)
	}
	return a, err
}

// flatRows are the coordinates of data that are Flat, and their mean.
func (d *Dataset) flatRows() (rows [][]float64, mean shape.Shape, err error) {
	defer try.Catch(&err)
	try.Do(d.Validate())
	rows, far, size := slices.Concat(d.Shapes()...), 0.0, 0.0
	centre := lists.Mean(rows)
	for _, row := range rows {
		far, size = math.Max(far, floats.Distance(row, centre, 2)), math.Max(size, floats.Norm(row, 2))
	}
	text.RefuseIf(!(far > 1e-13*size), "see whether one was copied", "%d specimens have the same coordinates, which depend on nothing", len(rows))
	return rows, [][]float64{centre}, nil
}

// similarity is x ↦ scale · r · (x − from) + to.
func similarity(scale float64, r *mat.Dense, from, to []float64) Similarity {
	s := Similarity{Scale: scale, Translation: make([]float64, len(to))}
	for c := range to {
		row := mat.Row(nil, c, r)
		s.Rotation = append(s.Rotation, row)
		s.Translation[c] = to[c] - scale*floats.Dot(row, from)
	}
	return s
}

// weightedMean returns (1/N) Σ_i w_i x_i.
func weightedMean(weights []float64, shapes []*mat.Dense) *mat.Dense {
	n, dim := shapes[0].Dims()
	sum := mat.NewDense(n, dim, nil)
	for i, x := range shapes {
		floats.AddScaled(sum.RawMatrix().Data, weights[i]/float64(len(shapes)), x.RawMatrix().Data)
	}
	return sum
}

// frobenius returns |w x − y|.
func frobenius(w float64, x, y *mat.Dense) float64 {
	var d mat.Dense
	d.Scale(w, x)
	d.Sub(&d, y)
	return mat.Norm(&d, 2)
}
