package main

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/combin"

	"anatomy/geom/try"
	simulated "anatomy/notebooks/lab/recovery"
)

// placements simulates families of surfaces, places landmarks on them, and counts how many are in their ellipses.
func placements(b *bench) {
	const families, subjects, count = 10, 8, 20
	b.text("%d landmarks placed on the subjects of %d simulated families a line, of %d subjects, as the template placed_landmarks does it with a folder: a body with bumps, deformed by random smooth flows, in any pose and size, its surface cut out of a turned volume and decimated. In a family every choice of so many templates is made, and the landmarks on all other subjects are counted. Errors are root mean squares of one coordinate in the tangent of the subject, in mean sides of its triangles. *Deviation* is the mean square of an error in the unit of its standard error: 1 if this is right. Landmarks of one family have errors in common, so the standard errors of shares are those of families, not of landmarks. *Of another sex*: half of the family is a quarter larger and shifted in shape by as much as subjects differ; templates are of this half, and landmarks of the other one are counted. Subjects that are named as a whole are not counted: *named* is their share of all, and *wrong* that of those that lie more than three standard errors off and are not named.", count, families, subjects)
	b.header("family", "templates", "landmarks", "error", "standard error", "deviation", "in the ellipse of 50 %", "of 95 %", "shared", "named", "wrong")
	for _, c := range []struct {
		name string
		kin  simulated.Kin
	}{
		{"as the model", simulated.Kin{Width: 0.6, Deviation: 0.06, Side: 0.16}},
		{"smooth", simulated.Kin{Width: 0.8, Deviation: 0.06, Side: 0.16}},
		{"rough", simulated.Kin{Width: 0.45, Deviation: 0.05, Side: 0.16}},
		{"large deformations", simulated.Kin{Width: 0.5, Deviation: 0.08, Side: 0.16}},
		{"coarse triangles", simulated.Kin{Width: 0.6, Deviation: 0.06, Side: 0.24}},
		{"templates of another sex", simulated.Kin{Width: 0.6, Deviation: 0.06, Side: 0.16, Others: subjects / 2, Larger: 1.25, Shift: 0.06}},
	} {
		templates, numbers := subjects, []int{1, 3, 7}
		if c.kin.Others > 0 {
			templates, numbers = c.kin.Others, []int{1, 3}
		}
		of := map[int][]simulated.Coverage{} // by the number of templates, of every family
		shared := map[int][]float64{}
		for k := range uint64(families) {
			f := try.Get(c.kin.Draw(subjects, count, b.seed+k))
			among := try.Get(f.Place(templates))
			for _, n := range numbers {
				var all simulated.Coverage
				for _, chosen := range combin.Combinations(templates, n) {
					p := try.Get(among(chosen...))
					shared[n] = append(shared[n], p.Shared)
					for i := c.kin.Others; i < subjects; i++ {
						if !slices.Contains(chosen, i) {
							all.Add(f.Cover(p, i))
						}
					}
				}
				of[n] = append(of[n], all)
			}
		}
		for _, n := range numbers {
			var t simulated.Coverage
			for _, family := range of[n] {
				t.Add(family)
			}
			all := float64(t.Landmarks)
			counted := func(k int) string { return fmt.Sprintf("%.1f %%", 100*float64(k*count)/(all+float64(t.Named*count))) }
			b.row("%s | %d | %d | %.2f | %.2f | %.2f | %s | %s | %.2f | %s | %s", c.name, n, t.Landmarks,
				math.Sqrt(t.Error/all), math.Sqrt(t.Expected/all), t.Deviation/all,
				shareOfFamilies(of[n], func(c simulated.Coverage) int { return c.Half }),
				shareOfFamilies(of[n], func(c simulated.Coverage) int { return c.Most }), stat.Mean(shared[n], nil), counted(t.Named), counted(t.Wrong))
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
