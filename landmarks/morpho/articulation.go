package morpho

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/landmarks/internal/pointset"
	"gonum.org/v1/gonum/spatial/r3"

	"anatomy/geom/try"
	"anatomy/internal/lists"
)

// FixJoint returns a copy in which a moving part of each specimen, such as a jaw, is rotated about its joint to the same angle in all specimens.
// What still differs is the shape of the parts, not how far the mouth is open (D. Adams, Methods for shape analysis of landmark data from
// articulated structures, Evol. Ecol. Research 1, 1999). Arguments are numbers of landmarks from 0; Notes says what was done. The joint is
//
//   - a landmark in the plane, or two landmarks in space on the axis of a hinge. The angle from the centroid of the resting part to that of the
//     moving part, seen along the axis, becomes its mean over the specimens;
//   - one landmark in space, about which the part turns in all directions. Rotations about the joint bring the resting parts to their mean, and
//     then the moving parts to theirs, so that the chordal mean of the latter rotations is the identity (M. Moakher, SIAM J. Matrix Anal. Appl.
//     24, 2002).
//
// It is an error if a landmark is missing, does not exist or is listed twice; if the position of a part is not determined, because its centroid is
// on the axis or its landmarks are collinear with a joint in space; and if a part is more than a quarter turn from the mean position, as those of
// mirrored specimens are at a hinge.
func (d *Dataset) FixJoint(joint, resting, moving []int) (_ *Dataset, err error) {
	defer try.Named(&err, "articulation of %s", d.Name)
	n, dim := try.Get(preshapes(d.Shapes(), d.specimen))[0].points.Dims()
	seen := map[int]bool{}
	for _, l := range slices.Concat(joint, resting, moving) {
		try.FailIf(l < 0 || l >= n || seen[l], "%s is listed twice, or is not of %s to %s", d.Called(l), d.Landmark(0), d.Landmark(n-1))
		seen[l] = true
	}
	try.FailIf(len(resting) == 0 || len(moving) == 0, "a part has no landmarks: list at least one for each part")
	out := *d
	out.Specimens = slices.Clone(d.Specimens)
	for i, s := range d.Specimens {
		out.Specimens[i].Points = slices.Clone(s.Points)
	}
	switch {
	case len(joint) == 1 && dim == 3:
		out.fixPose(joint[0], resting, moving)
	case len(joint) == dim-1:
		out.fixAngle(joint, resting, moving)
	default:
		try.Fail("the joint is at %d landmarks: want one, or in space two on its axis", len(joint))
	}
	return &out, nil
}

const quarter = math.Pi / 2

// fixAngle does so with a hinge, in place.
func (d *Dataset) fixAngle(joint, resting, moving []int) {
	vector := func(p []float64) r3.Vec {
		p = append(slices.Clone(p), 0)
		return r3.Vec{X: p[0], Y: p[1], Z: p[2]}
	}
	angles, axes, sum := make([]float64, len(d.Specimens)), make([]r3.Vec, len(d.Specimens)), r3.Vec{}
	for i, s := range d.Specimens {
		at, size := vector(s.Points[joint[0]]), CentroidSize(s.Points)
		axes[i] = r3.Vec{Z: 1}
		if len(joint) == 2 {
			axis := r3.Sub(vector(s.Points[joint[1]]), at)
			try.FailIf(r3.Norm(axis) <= 1e-9*size, "%s: both landmarks of the axis coincide", d.specimen(i))
			axes[i] = r3.Unit(axis)
		}
		var off [2]r3.Vec
		for k, part := range [][]int{resting, moving} {
			off[k] = r3.Sub(vector(lists.Pick(s.Points, part).Centroid()), at)
			off[k] = r3.Sub(off[k], r3.Scale(r3.Dot(off[k], axes[i]), axes[i]))
			try.FailIf(r3.Norm(off[k]) <= 1e-9*size, "%s: a part has its centroid on the axis of the joint", d.specimen(i))
		}
		angles[i] = math.Atan2(r3.Dot(axes[i], r3.Cross(off[0], off[1])), r3.Dot(off[0], off[1]))
		sum = r3.Add(sum, r3.Vec{X: math.Cos(angles[i]), Y: math.Sin(angles[i])})
	}
	mean, centre := 0.0, math.Atan2(sum.Y, sum.X)
	for i, angle := range angles {
		off := math.Remainder(angle-centre, 2*math.Pi)
		try.FailIf(math.Abs(off) > quarter, "%s has the angle %.0f° and the mean is %.0f°: is it mirrored?",
			d.specimen(i), degrees(angle), degrees(centre))
		angles[i] = off
		mean += off / float64(len(angles))
	}
	for i, s := range d.Specimens {
		at, turn := vector(s.Points[joint[0]]), r3.NewRotation(mean-angles[i], axes[i])
		for _, l := range moving {
			p := r3.Add(at, turn.Rotate(r3.Sub(vector(s.Points[l]), at)))
			s.Points[l] = []float64{p.X, p.Y, p.Z}[:len(s.Points[l])]
		}
	}
	about := d.Called(joint...)
	if len(joint) == 2 {
		about = "the axis of the " + about
	}
	d.note("%s: rotated about %s to the mean angle of %.1f°", d.Called(moving...), about, degrees(math.Remainder(centre+mean, 2*math.Pi)))
}

func degrees(angle float64) float64 { return angle * 180 / math.Pi }

// fixPose does so with a joint that turns in all directions, in place.
func (d *Dataset) fixPose(joint int, resting, moving []int) {
	seen := func(part []int) (out []*mat.Dense) { // from the joint
		for _, s := range d.Specimens {
			x := mat.NewDense(len(part), 3, nil)
			for k, l := range part {
				floats.SubTo(x.RawRowView(k), s.Points[l], s.Points[joint])
			}
			out = append(out, x)
		}
		return out
	}
	frames, err := d.turns(seen(resting))
	try.Do(try.Name(err, "the part at rest"))
	parts := seen(moving)
	for i, x := range parts {
		x.Mul(x, frames[i].T())
	}
	turns, err := d.turns(parts)
	try.Do(try.Name(err, "the moving part"))
	most := 0.0
	for i, s := range d.Specimens {
		angle := math.Acos(max(-1, min(1, (mat.Trace(turns[i])-1)/2)))
		try.FailIf(angle > quarter, "%s: its part is set %.0f° off the mean: are its landmarks in order?", d.specimen(i), degrees(angle))
		most = max(most, angle)
		parts[i].Mul(parts[i], turns[i].T())
		parts[i].Mul(parts[i], frames[i])
		for k, l := range moving {
			s.Points[l] = floats.AddTo(make([]float64, 3), s.Points[joint], parts[i].RawRowView(k))
		}
	}
	d.note("%s: rotated about %s to their mean pose, by at most %.1f°", d.Called(moving...), d.Called(joint), degrees(most))
}

// turns returns the rotations about the origin that bring points to their mean, and whose own mean is the identity.
func (d *Dataset) turns(points []*mat.Dense) (_ []*mat.Dense, err error) {
	defer try.Catch(&err)
	weights, turned, out := make([]float64, len(points)), make([]*mat.Dense, len(points)), make([]*mat.Dense, len(points))
	for i, x := range points {
		weights[i], turned[i], out[i] = 1/mat.Norm(x, 2), x, mat.DenseCopyOf(mat.NewDiagDense(3, []float64{1, 1, 1}))
	}
	for range 1000 {
		mean, change := weightedMean(weights, turned), 0.0
		for i, x := range points {
			r, _, err := pointset.Rotation(x, mean)
			try.Do(try.Name(err, "%s", d.specimen(i)))
			change = max(change, frobenius(1, r, out[i]))
			var y mat.Dense
			y.Mul(x, r.T())
			out[i], turned[i] = r, &y
		}
		if change > 1e-13 {
			continue
		}
		ones := slices.Repeat([]float64{1}, len(out))
		common, _ := try.Get2(pointset.Rotation(mat.DenseCopyOf(weightedMean(ones, out).T()), mat.DenseCopyOf(mat.NewDiagDense(3, ones[:3]))))
		for i, r := range out {
			out[i] = new(mat.Dense)
			out[i].Mul(common, r)
		}
		return out, nil
	}
	return nil, errors.New("its mean still turns after 1000 iterations: the specimens have too little in common")
}
