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
func TestFixAngle(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	heads := PlethodonSpecies()
	jaw, skull := []int{1, 2, 3, 4}, []int{5, 6, 7, 8, 9, 10}
	fixed, angle, err := heads.FixAngle(0, skull, jaw)
	if err != nil {
		t.Fatal(err)
	}
	again, same, err := fixed.FixAngle(0, skull, jaw)
	if err != nil {
		t.Fatal(err)
	}
	expect.Abs(t, "angle, again", same, angle, 1e-12)
	sum := 0.0
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
		middle := func(points [][]float64, part []int) (float64, float64) {
			x, y := 0.0, 0.0
			for _, l := range part {
				x, y = x+points[l][0]-points[0][0], y+points[l][1]-points[0][1]
			}
			return x, y
		}
		ax, ay := middle(before, skull)
		bx, by := middle(before, jaw)
		open := math.Atan2(by, bx) - math.Atan2(ay, ax)
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
	closed, _, err := d.FixAngle(0, skull, jaw)
	if err != nil {
		t.Fatal(err)
	}
	expect.Abs(t, "distance of rigid parts from their mean", expect.Must(Procrustes(closed.Shapes())).RMS, 0, 1e-12)
	_, _, err = d.FixAngle(0, skull, []int{1, 5})
	expect.Refused(t, err, "landmark 5 is listed twice")
	_, _, err = Brain3D().FixAngle(0, skull, jaw)
	expect.Refused(t, err, "in space, where a joint has three angles")
	elbow := &Dataset{Name: "elbows"}
	for i := range 4 {
		elbow.Specimens = append(elbow.Specimens, Specimen{Name: fmt.Sprint(i), Points: [][]float64{{0, 0}, {1, 0}, {2, 0}, {0.1 * float64(i), 1}, {0, 2}}})
	}
	for _, p := range elbow.Specimens[3].Points {
		p[1] *= -1
	}
	_, _, err = elbow.FixAngle(0, []int{1, 2}, []int{3, 4})
	expect.Refused(t, err, `specimen "3"`, "is it mirrored?")
}
