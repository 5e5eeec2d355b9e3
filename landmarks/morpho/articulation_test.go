package morpho

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/geomtest/expect"
)

// Two rigid parts that are open at random have one shape once the angle is fixed. Parts do not change, the angle is the mean one, and doing it again
// changes nothing.
func TestFixJointInThePlane(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	heads := PlethodonSpecies()
	jaw, skull := []int{1, 2, 3, 4}, []int{5, 6, 7, 8, 9, 10}
	fixed := expect.Must(heads.FixJoint([]int{0}, skull, jaw))
	again := expect.Must(fixed.FixJoint([]int{0}, skull, jaw))
	angleOf := func(points [][]float64) float64 {
		var angles [2]float64
		for k, part := range [][]int{skull, jaw} {
			x, y := 0.0, 0.0
			for _, l := range part {
				x, y = x+points[l][0]-points[0][0], y+points[l][1]-points[0][1]
			}
			angles[k] = math.Atan2(y, x)
		}
		return angles[1] - angles[0]
	}
	sum, angle := 0.0, angleOf(fixed.Specimens[0].Points)
	for i, s := range fixed.Specimens {
		before := heads.Specimens[i].Points
		for _, part := range [][]int{append([]int{0}, jaw...), append([]int{0}, skull...)} {
			for _, a := range part {
				for _, b := range part {
					expect.Abs(t, "distance within a part", floats.Distance(s.Points[a], s.Points[b], 2), floats.Distance(before[a], before[b], 2), 1e-12)
				}
			}
		}
		expect.Abs(t, "again", again.Specimens[i].Points, s.Points, 1e-12)
		expect.Abs(t, "the angle is that of the first specimen", math.Remainder(angleOf(s.Points)-angle, 2*math.Pi), 0, 1e-12)
		open := angleOf(before)
		sum += math.Remainder(open-angle, 2*math.Pi)
	}
	expect.Abs(t, "mean of the angles", sum/9, 0, 1e-12)

	one := heads.Specimens[0].Points
	d := &Dataset{Name: "rigid"}
	for i := range 10 {
		s := Specimen{Name: fmt.Sprint(i)}
		turn := 0.3 * rng.NormFloat64()
		for l, p := range one {
			q := p
			if l >= 1 && l <= 4 {
				x, y := p[0]-one[0][0], p[1]-one[0][1]
				q = []float64{one[0][0] + math.Cos(turn)*x - math.Sin(turn)*y, one[0][1] + math.Sin(turn)*x + math.Cos(turn)*y}
			}
			s.Points = append(s.Points, q)
		}
		d.Specimens = append(d.Specimens, s)
	}
	if open := expect.Must(Procrustes(d.Shapes())).RMS; open < 0.05 {
		t.Errorf("open jaws are %g from their mean", open)
	}
	closed := expect.Must(d.FixJoint([]int{0}, skull, jaw))
	expect.Abs(t, "distance of rigid parts from their mean", expect.Must(Procrustes(closed.Shapes())).RMS, 0, 1e-12)
	expect.Refused(t, expect.Error(d.FixJoint([]int{0}, skull, []int{1, 5})), "landmark 6 is listed twice")
	expect.Refused(t, expect.Error(d.FixJoint([]int{0, 1}, skull, jaw[1:])), "at 2 landmarks: want one, or in space two")
	elbow := &Dataset{Name: "elbows"}
	for i := range 4 {
		elbow.Specimens = append(elbow.Specimens, Specimen{Name: fmt.Sprint(i), Points: [][]float64{{0, 0}, {1, 0}, {2, 0}, {0.1 * float64(i), 1}, {0, 2}}})
	}
	for _, p := range elbow.Specimens[3].Points {
		p[1] *= -1
	}
	expect.Refused(t, expect.Error(elbow.FixJoint([]int{0}, []int{1, 2}, []int{3, 4})), `specimen "3"`, "is it mirrored?")
}

// turn is the rotation by an angle about an axis, by Rodrigues' formula.
func turn(angle float64, axis, p []float64) []float64 {
	k, c, s := axis, math.Cos(angle), math.Sin(angle)
	along := floats.Dot(k, p) * (1 - c)
	return []float64{c*p[0] + s*(k[1]*p[2]-k[2]*p[1]) + along*k[0], c*p[1] + s*(k[2]*p[0]-k[0]*p[2]) + along*k[1], c*p[2] + s*(k[0]*p[1]-k[1]*p[0]) + along*k[2]}
}

// articulated are rigid parts in space: the joint is at landmark 0, with landmark 1 on the axis (0, 0.6, 0.8); landmarks 2 to 5 rest, and 6 to 9 were
// turned by rotation i. Each specimen was turned, scaled and moved as a whole.
func articulated(rng *rand.Rand, n int, rotation func(i int, p []float64) []float64) *Dataset {
	points := [][]float64{{0, 0, 0}, {0, 1.2, 1.6}}
	for range 8 {
		points = append(points, []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()})
	}
	d := &Dataset{Name: "articulated"}
	for i := range n {
		s := Specimen{Name: fmt.Sprint(i)}
		axis := []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
		floats.Scale(1/floats.Norm(axis, 2), axis)
		whole, size, place := 3*rng.Float64(), 1+rng.Float64(), []float64{rng.NormFloat64(), 5, rng.NormFloat64()}
		for l, p := range points {
			if l >= 6 {
				p = rotation(i, p)
			}
			s.Points = append(s.Points, floats.AddScaledTo(make([]float64, 3), place, size, turn(whole, axis, p)))
		}
		d.Specimens = append(d.Specimens, s)
	}
	return d
}

// Rigid parts that turn about a hinge, or in all directions, have one shape once the joint is fixed. Where the rotations have no mean, a part that was not
// turned stays as it is, by either way for a hinge. Doing it again changes nothing.
func TestFixJointInSpace(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 5))
	rest, move, hinge := []int{2, 3, 4, 5}, []int{6, 7, 8, 9}, []float64{0, 0.6, 0.8}
	angles := []float64{0.5, -0.5, 0.2, -0.2, 0}
	opened := articulated(rng, 5, func(i int, p []float64) []float64 { return turn(angles[i], hinge, p) })
	tumbled := articulated(rng, 7, func(i int, p []float64) []float64 { // by ±0.4 about each axis, the last one not
		axis := make([]float64, 3)
		if i == 6 {
			return p
		}
		axis[i/2] = 1
		return turn(0.4*float64(1-2*(i%2)), axis, p)
	})
	if open := expect.Must(Procrustes(tumbled.Shapes())).RMS; open < 0.05 {
		t.Errorf("open parts are %g from their mean", open)
	}
	for _, of := range []struct {
		name  string
		d     *Dataset
		joint []int
	}{{"hinge", opened, []int{0, 1}}, {"hinge as a joint in all directions", opened, []int{0}}, {"joint in all directions", tumbled, []int{0}}} {
		fixed := expect.Must(of.d.FixJoint(of.joint, rest, move))
		expect.Abs(t, of.name+": distance from the mean", expect.Must(Procrustes(fixed.Shapes())).RMS, 0, 1e-12)
		again := expect.Must(fixed.FixJoint(of.joint, rest, move))
		for i, s := range fixed.Specimens {
			expect.Abs(t, of.name+": again", again.Specimens[i].Points, s.Points, 1e-11)
			for _, l := range append([]int{0, 1}, rest...) {
				expect.Abs(t, of.name+": what rests", s.Points[l], of.d.Specimens[i].Points[l], 0)
			}
		}
		last := len(of.d.Specimens) - 1
		expect.Abs(t, of.name+": the last one, which was not turned", fixed.Specimens[last].Points, of.d.Specimens[last].Points, 1e-11)
		t.Log(fixed.Notes)
	}
	still := articulated(rand.New(rand.NewPCG(9, 9)), 3, func(_ int, p []float64) []float64 { return p })
	still.Specimens[0].Points[1] = still.Specimens[0].Points[0]
	expect.Refused(t, expect.Error(still.FixJoint([]int{0, 1}, rest, move)), `specimen "0": both landmarks of the axis coincide`)
	expect.Refused(t, expect.Error(still.FixJoint([]int{0}, rest, []int{6})), "the moving part", `specimen "0"`, "the best rotation is not determined")
	for _, l := range move {
		still.Specimens[0].Points[l] = still.Specimens[0].Points[0]
	}
	expect.Refused(t, expect.Error(still.FixJoint([]int{0}, rest, move)), "the moving part", `specimen "0"`, "coincide")
	far := articulated(rng, 5, func(i int, p []float64) []float64 { return turn(float64(i/4)*2, hinge, p) })
	expect.Refused(t, expect.Error(far.FixJoint([]int{0}, rest, move)), `specimen "4"`, "are its landmarks in order?")
}
