package morpho

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// FixAngle returns a copy in which a part of each specimen was rotated about a joint, such as a jaw about its articulation, so that its angle is the same in
// all: what differs then is the shape of the parts, and not how far the mouth is open (D. Adams, Methods for shape analysis of landmark data from
// articulated structures, Evol. Ecol. Research 1, 1999). The angle is that from the centroid of the landmarks of the part at rest to that of the
// moving ones, seen from the joint, counter-clockwise. The common one is the mean over the specimens, in radians, and is returned, too; Notes has it.
//
// It is an error if the landmarks are not in the plane, a landmark is missing, does not exist or is in both parts or the joint, or a centroid is at the
// joint; and if angles differ by more than a quarter turn from their mean, as of specimens that are mirror images of the others.
func (d *Dataset) FixAngle(joint int, resting, moving []int) (*Dataset, float64, error) {
	fail := func(err error) (*Dataset, float64, error) {
		return nil, 0, fmt.Errorf("articulation of %s: %w", d.Name, err)
	}
	pre, err := preshapes(d.Shapes(), d.specimen)
	if err != nil {
		return fail(err)
	}
	if len(pre[0].centre) != 2 {
		return fail(errors.New("the landmarks are in space, where a joint has three angles, and not one"))
	}
	n, _ := pre[0].points.Dims()
	seen := map[int]bool{}
	for _, l := range slices.Concat([]int{joint}, resting, moving) {
		if l < 0 || l >= n || seen[l] {
			return fail(fmt.Errorf("landmark %d is listed twice, or is not of 0 to %d", l, n-1))
		}
		seen[l] = true
	}
	if len(resting) == 0 || len(moving) == 0 {
		return fail(errors.New("a part has no landmarks"))
	}
	angles, sin, cos := make([]float64, len(d.Specimens)), 0.0, 0.0
	for i, s := range d.Specimens {
		var directions [2][]float64
		for k, part := range [][]int{resting, moving} {
			var points [][]float64
			for _, l := range part {
				points = append(points, s.Points[l])
			}
			directions[k] = floats.SubTo(make([]float64, 2), Centroid(points), s.Points[joint])
			if floats.Norm(directions[k], 2) <= 1e-9*CentroidSize(s.Points) {
				return fail(fmt.Errorf("%s: a part has its centroid at the joint", d.specimen(i)))
			}
		}
		a, b := directions[0], directions[1]
		angles[i] = math.Atan2(a[0]*b[1]-a[1]*b[0], floats.Dot(a, b))
		sin, cos = sin+math.Sin(angles[i]), cos+math.Cos(angles[i])
	}
	mean, centre := 0.0, math.Atan2(sin, cos)
	for i, angle := range angles {
		off := math.Remainder(angle-centre, 2*math.Pi)
		if math.Abs(off) > math.Pi/2 {
			return fail(fmt.Errorf("%s has the angle %.0f° and the mean is %.0f°: is it mirrored?", d.specimen(i), angle*180/math.Pi, centre*180/math.Pi))
		}
		angles[i] = off
		mean += off / float64(len(angles))
	}
	out := *d
	out.Specimens = slices.Clone(d.Specimens)
	for i, s := range d.Specimens {
		turn := mean - angles[i]
		points := slices.Clone(s.Points)
		for _, l := range moving {
			x, y := s.Points[l][0]-s.Points[joint][0], s.Points[l][1]-s.Points[joint][1]
			points[l] = []float64{s.Points[joint][0] + math.Cos(turn)*x - math.Sin(turn)*y, s.Points[joint][1] + math.Sin(turn)*x + math.Cos(turn)*y}
		}
		out.Specimens[i].Points = points
	}
	common := math.Remainder(centre+mean, 2*math.Pi)
	out.note("landmarks %d were rotated about landmark %d to the mean angle of %.1f°", moving, joint, common*180/math.Pi)
	return &out, common, nil
}
