package morpho

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/landmarks/internal/pointset"
	"gonum.org/v1/gonum/spatial/r3"
)

// FixJoint returns a copy in which a part of each specimen was rotated about a joint, such as a jaw about its articulation, so that it is set alike in
// all: what differs then is the shape of the parts, and not how far the mouth is open (D. Adams, Methods for shape analysis of landmark data from
// articulated structures, Evol. Ecol. Research 1, 1999). Notes says what was done. The joint is
//
//   - a landmark in the plane, or two landmarks in space on the axis of a hinge. The angle from the centroid of the part at rest to that of the moving
//     one, seen along the axis, becomes its mean over the specimens;
//   - one landmark in space, about which the part turns in all directions. The parts at rest are brought to their mean by rotations about the joint, and so
//     are, seen from these, the moving ones; the mean of the rotations that these take is none (the chordal mean: M. Moakher, SIAM J. Matrix Anal. Appl. 24, 2002).
//
// It is an error if a landmark is missing, does not exist or is listed twice; if a part does not tell how it is set, as its centroid is on the axis, or
// its landmarks are collinear with a joint in space; and if parts are set by more than a quarter turn off their mean, as at a hinge those of specimens
// that are mirror images of the others.
func (d *Dataset) FixJoint(joint, resting, moving []int) (*Dataset, error) {
	fail := func(err error) (*Dataset, error) { return nil, fmt.Errorf("articulation of %s: %w", d.Name, err) }
	pre, err := preshapes(d.Shapes(), d.specimen)
	if err != nil {
		return fail(err)
	}
	n, dim := pre[0].points.Dims()
	seen := map[int]bool{}
	for _, l := range slices.Concat(joint, resting, moving) {
		if l < 0 || l >= n || seen[l] {
			return fail(fmt.Errorf("%s is listed twice, or is not of %s to %s", d.Called(l), d.Landmark(0), d.Landmark(n-1)))
		}
		seen[l] = true
	}
	if len(resting) == 0 || len(moving) == 0 {
		return fail(errors.New("a part has no landmarks: list at least one for each part"))
	}
	out := *d
	out.Specimens = slices.Clone(d.Specimens)
	for i, s := range d.Specimens {
		out.Specimens[i].Points = slices.Clone(s.Points)
	}
	switch {
	case len(joint) == 1 && dim == 3:
		err = out.fixPose(joint[0], resting, moving)
	case len(joint) == dim-1:
		err = out.fixAngle(joint, resting, moving)
	default:
		err = fmt.Errorf("the joint is at %d landmarks: want one, or in space two on its axis", len(joint))
	}
	if err != nil {
		return fail(err)
	}
	return &out, nil
}

const quarter = math.Pi / 2

// fixAngle does so with a hinge, in place.
func (d *Dataset) fixAngle(joint, resting, moving []int) error {
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
			if r3.Norm(axis) <= 1e-9*size {
				return fmt.Errorf("%s: both landmarks of the axis coincide", d.specimen(i))
			}
			axes[i] = r3.Unit(axis)
		}
		var off [2]r3.Vec
		for k, part := range [][]int{resting, moving} {
			off[k] = r3.Sub(vector(Centroid(some(s.Points, part))), at)
			off[k] = r3.Sub(off[k], r3.Scale(r3.Dot(off[k], axes[i]), axes[i]))
			if r3.Norm(off[k]) <= 1e-9*size {
				return fmt.Errorf("%s: a part has its centroid on the axis of the joint", d.specimen(i))
			}
		}
		angles[i] = math.Atan2(r3.Dot(axes[i], r3.Cross(off[0], off[1])), r3.Dot(off[0], off[1]))
		sum = r3.Add(sum, r3.Vec{X: math.Cos(angles[i]), Y: math.Sin(angles[i])})
	}
	mean, centre := 0.0, math.Atan2(sum.Y, sum.X)
	for i, angle := range angles {
		off := math.Remainder(angle-centre, 2*math.Pi)
		if math.Abs(off) > quarter {
			return fmt.Errorf("%s has the angle %.0f° and the mean is %.0f°: is it mirrored?", d.specimen(i), degrees(angle), degrees(centre))
		}
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
	return nil
}

func degrees(angle float64) float64 { return angle * 180 / math.Pi }

// some are points of a shape.
func some(points [][]float64, which []int) (out [][]float64) {
	for _, l := range which {
		out = append(out, points[l])
	}
	return out
}

// fixPose does so with a joint that turns in all directions, in place.
func (d *Dataset) fixPose(joint int, resting, moving []int) error {
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
	if err != nil {
		return fmt.Errorf("the part at rest: %w", err)
	}
	parts := seen(moving)
	for i, x := range parts {
		x.Mul(x, frames[i].T())
	}
	turns, err := d.turns(parts)
	if err != nil {
		return fmt.Errorf("the moving part: %w", err)
	}
	most := 0.0
	for i, s := range d.Specimens {
		angle := math.Acos(max(-1, min(1, (mat.Trace(turns[i])-1)/2)))
		if angle > quarter {
			return fmt.Errorf("%s: its part is set %.0f° off the mean: are its landmarks in order?", d.specimen(i), degrees(angle))
		}
		most = max(most, angle)
		parts[i].Mul(parts[i], turns[i].T())
		parts[i].Mul(parts[i], frames[i])
		for k, l := range moving {
			s.Points[l] = floats.AddTo(make([]float64, 3), s.Points[joint], parts[i].RawRowView(k))
		}
	}
	d.note("%s: rotated about %s to their mean pose, by at most %.1f°", d.Called(moving...), d.Called(joint), degrees(most))
	return nil
}

// turns returns the rotations about the origin that bring points to their mean, and whose own mean is the identity.
func (d *Dataset) turns(points []*mat.Dense) ([]*mat.Dense, error) {
	weights, turned, out := make([]float64, len(points)), make([]*mat.Dense, len(points)), make([]*mat.Dense, len(points))
	for i, x := range points {
		weights[i], turned[i], out[i] = 1/mat.Norm(x, 2), x, mat.DenseCopyOf(mat.NewDiagDense(3, []float64{1, 1, 1}))
	}
	for range 1000 {
		mean, change := weightedMean(weights, turned), 0.0
		for i, x := range points {
			r, _, err := pointset.Rotation(x, mean)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", d.specimen(i), err)
			}
			change = max(change, frobenius(1, r, out[i]))
			var y mat.Dense
			y.Mul(x, r.T())
			out[i], turned[i] = r, &y
		}
		if change > 1e-13 {
			continue
		}
		ones := make([]float64, len(out))
		floats.AddConst(1, ones)
		common, _, err := pointset.Rotation(mat.DenseCopyOf(weightedMean(ones, out).T()), mat.DenseCopyOf(mat.NewDiagDense(3, []float64{1, 1, 1})))
		if err != nil {
			return nil, err
		}
		for i, r := range out {
			out[i] = new(mat.Dense)
			out[i].Mul(common, r)
		}
		return out, nil
	}
	return nil, errors.New("its mean still turns after 1000 iterations: the specimens have too little in common")
}
