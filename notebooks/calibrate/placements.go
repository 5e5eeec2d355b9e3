package main

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"

	"anatomy/geom/try"
	simulated "anatomy/landmarks/population/recovery"
)

// placements simulates families of surfaces, places landmarks on them, and counts how many are in their ellipses.
func placements(b *bench) {
	const families, others, count = 10, 5, 20
	b.text("%d landmarks placed on the subjects of %d simulated families a line, %d beside the templates, as notebook 23 does it with a folder: a body with bumps, deformed by random smooth flows, in any pose and size, its surface cut out of a turned volume and decimated. Errors are root mean squares of one coordinate in the tangent of the subject, in mean sides of its triangles. *Others* are subjects that are no templates; *left out* are templates on which the others place their landmarks. Subjects that are named as a whole are not counted: *named* of all, and *wrong* are those that lie more than three standard errors off and are not named. *Deviation* is the mean square of an error in the unit of its standard error: 1 if this is right. Landmarks of one family have errors in common, so the standard errors of shares are those of families, not of landmarks. *Another sex*: the templates are all of one, a quarter larger and shifted in shape by as much as subjects differ, and the others of the other.", count, families, others)
	b.header("family", "templates", "on", "landmarks", "error", "standard error", "deviation", "in the ellipse of 50 %", "of 95 %", "shared", "named", "wrong")
	for _, c := range []struct {
		name string
		kin  simulated.Kin
	}{
		{"as the model", simulated.Kin{Width: 0.6, Deviation: 0.06, Side: 0.16}},
		{"smooth", simulated.Kin{Width: 0.8, Deviation: 0.06, Side: 0.16}},
		{"rough", simulated.Kin{Width: 0.45, Deviation: 0.05, Side: 0.16}},
		{"large deformations", simulated.Kin{Width: 0.5, Deviation: 0.08, Side: 0.16}},
		{"coarse triangles", simulated.Kin{Width: 0.6, Deviation: 0.06, Side: 0.24}},
		{"templates of another sex", simulated.Kin{Width: 0.6, Deviation: 0.06, Side: 0.16, Larger: 1.25, Shift: 0.06}},
	} {
		for _, templates := range []int{1, 3, 7} {
			if c.kin.Shift > 0 {
				c.kin.Others = templates
			}
			var of [2][]simulated.Coverage
			var shared []float64
			for k := range uint64(families) {
				f := try.Get(c.kin.Draw(templates+others, count, b.seed+k))
				p := try.Get(f.Place(templates))
				shared = append(shared, p.Shared)
				for k := range of {
					of[k] = append(of[k], f.Cover(p, k == 1))
				}
			}
			for k, name := range []string{"others", "left out"} {
				var t simulated.Coverage
				for _, family := range of[k] {
					t.Add(family)
				}
				if t.Landmarks == 0 {
					continue
				}
				n := float64(t.Landmarks)
				b.row("%s | %d | %s | %d | %.2f | %.2f | %.2f | %s | %s | %.2f | %d | %d", c.name, templates, name, t.Landmarks,
					math.Sqrt(t.Error/n), math.Sqrt(t.Expected/n), t.Deviation/n,
					shareOfFamilies(of[k], func(c simulated.Coverage) int { return c.Half }),
					shareOfFamilies(of[k], func(c simulated.Coverage) int { return c.Most }), stat.Mean(shared, nil), t.Named, t.Wrong)
			}
		}
	}
}

// shareOfFamilies is the share of landmarks that are counted, in per cent, with its standard error, for which families are independent and
// their landmarks are not.
func shareOfFamilies(families []simulated.Coverage, counted func(simulated.Coverage) int) string {
	hits, all := 0, 0
	for _, f := range families {
		hits, all = hits+counted(f), all+f.Landmarks
	}
	share, squares, n := float64(hits)/float64(all), 0.0, float64(len(families))
	for _, f := range families {
		squares += math.Pow(float64(counted(f))-share*float64(f.Landmarks), 2)
	}
	return fmt.Sprintf("%.1f ± %.1f %%", 100*share, 100*math.Sqrt(squares*n/(n-1))/float64(all))
}
