package population_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/stats"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/population"
)

// Subjects of other shapes grow alike: the momenta of their regressions, moved to the template by the momenta of the atlas, are
// those of the growth that they share.
func TestGrowthOfOutlines(t *testing.T) {
	t.Parallel()
	k := generator()
	space := k.model.Space
	growth := expect.Must(space.Shoot(k.controls, k.mode)).Velocity
	mean := &stats.Mean[geom.Shape]{Point: k.controls}
	var slopes [][]geom.Shape
	for i := range 2 {
		// Subject i is the template, pushed in and out, and its growth that of the template, moved along.
		p := make([][]float64, len(k.controls))
		for a := range p {
			before, after := k.controls[(a+19)%20], k.controls[(a+1)%20]
			push := 0.12 * math.Cos(2*math.Pi*float64(a)/20+2*float64(i))
			p[a] = []float64{push * (after[1] - before[1]), push * (before[0] - after[0])}
		}
		g := expect.Must(space.Shoot(k.controls, p))
		own := expect.Must(space.Transport(g, growth))[0]
		velocity := own[len(own)-1]
		carried := expect.Must(space.Transform(g, k.template.Vertices))
		start := k.template.With(carried[len(carried)-1])
		momentum := expect.Must(space.Exp(g.End, velocity)).Momentum
		times := []float64{-0.7, -0.1, 0.8}
		var shapes []*mesh.Mesh
		for _, when := range times {
			scaled := make([][]float64, len(momentum))
			for a, row := range momentum {
				scaled[a] = floats.ScaleTo(make([]float64, 2), when, row)
			}
			path := expect.Must(space.Transform(expect.Must(space.Shoot(g.End, scaled)), start.Vertices))
			shapes = append(shapes, mesh.Curve(path[len(path)-1], true))
		}
		r := expect.Must(k.model.Regress([]*mesh.Mesh{start}, g.End, population.Single(shapes), times))
		if r.Status != geom.Converged {
			t.Errorf("subject %d: %s", i, r)
		}
		slopes = append(slopes, []geom.Shape{expect.Must(space.Shoot(r.Controls, slope(r, times))).Velocity})
		mean.Momenta = append(mean.Momenta, p)
	}
	gathered := expect.Must(stats.TransportToMean(space, mean, slopes))
	for i, v := range gathered {
		p := expect.Must(space.Exp(k.controls, v[0])).Momentum
		speed := expect.Must(space.Shoot(k.controls, p)).Length / expect.Must(space.Shoot(k.controls, k.mode)).Length
		angle := k.angle(k.mode, p)
		t.Logf("subject %d: %.2f° off, speed %.3f", i, angle, speed)
		if angle > 5 {
			t.Errorf("subject %d: the slope is %g° off", i, angle)
		}
		expect.Abs(t, "speed", speed, 1, 0.05)
	}
}
