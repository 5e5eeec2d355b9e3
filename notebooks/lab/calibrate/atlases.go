package main

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/stat"

	"anatomy/geom"
	"anatomy/geom/try"
	simulated "anatomy/notebooks/lab/recovery"
)

// atlases simulates populations of curves and surfaces, and says how template, modes and noise come back.
func atlases(b *bench) {
	const subjects, samples, pairs = 30, 5, 2
	b.text("The atlases have %d simulated subjects without correspondences, and estimate the noise. A subject is an ellipse or ellipsoid, deformed by two modes; each vertex is displaced by independent noise. Each line has %d samples. Distances are root mean squares in the norm of the atlas. The standard error is half the distance between the templates of two random halves, from %d pairs per sample. *quotient* is the distance of the template from the truth, divided by the standard error; without bias it is 1, give or take a third. *pairs* have a second, smaller curve inside the first, with its own noise. *amplitude* is that of the deformations' kernel at the start of the search, and *found* its estimate. The truth is 0.15, for the two numbers of a momentum that vary.", subjects, samples, pairs)
	b.header("subjects", "norm, width", "noise", "amplitude", "converged", "template from the truth", "standard error", "quotient", "plane of the modes, at most", "σ divided by the truth", "found")
	var refused []string
	for _, c := range []struct {
		name                    string
		population              simulated.Population
		varifold                bool
		width, noise, amplitude float64
	}{
		{"curves", simulated.Curves(), false, 0.1, 0.02, 0.15},
		{"curves", simulated.Curves(), false, 0.2, 0.02, 0.15},
		{"curves", simulated.Curves(), false, 0.2, 0.02, 0.03},
		{"curves", simulated.Curves(), false, 0.2, 0.02, 1},
		{"curves", simulated.Curves(), false, 0.4, 0.02, 0.15},
		{"curves", simulated.Curves(), true, 0.1, 0.02, 0.15},
		{"curves", simulated.Curves(), true, 0.2, 0.02, 0.15},
		{"curves", simulated.Curves(), true, 0.2, 0.005, 0.15},
		{"curves", simulated.Curves(), true, 0.4, 0.02, 0.15},
		{"pairs", simulated.Pairs(), false, 0.2, 0.02, 0.15},
		{"surfaces", simulated.Surfaces(), false, 0.3, 0.02, 0.15},
		{"surfaces", simulated.Surfaces(), true, 0.3, 0.02, 0.15},
	} {
		p, norm := c.population, "currents"
		if c.varifold {
			norm = "varifolds"
		}
		p.Varifold, p.Width, p.Displacement[0], p.Amplitude = c.varifold, c.width, c.noise, c.amplitude
		objects := len(p.Truth)
		converged, off, expected, plane := 0, make([]float64, objects), make([]float64, objects), 0.0
		ratios, found := make([][]float64, objects), []float64{}
		for k := range uint64(samples) {
			s := try.Get(p.Draw(subjects, b.seed+k))
			r, err := s.Recover()
			if err != nil {
				refused = append(refused, fmt.Sprintf("%s, %s of width %g, sample %d: %v", c.name, norm, c.width, k+1, err))
				continue
			}
			e := try.Get(s.StandardError(r.Atlas, pairs))
			if r.Atlas.Status == geom.Converged {
				converged++
			}
			for o := range objects {
				off[o], expected[o] = math.Hypot(off[o], r.Template[o]), math.Hypot(expected[o], e[o])
				ratios[o] = append(ratios[o], r.Atlas.Noise[o]/r.Truth[o])
			}
			plane, found = math.Max(plane, r.Plane), append(found, r.Atlas.Reach*c.amplitude)
		}
		if len(found) == 0 {
			continue
		}
		n := math.Sqrt(float64(len(found)))
		for o, noise := range p.Displacement {
			mean, deviation := stat.MeanStdDev(ratios[o], nil)
			b.row("%s | %s, %g | %g | %g | %d of %d | %.3f | %.3f | %.2f | %.1f° | %.3f ± %.3f | %.3f", c.name, norm, c.width, noise, c.amplitude, converged, samples,
				off[o]/n, expected[o]/n, off[o]/expected[o], plane, mean, deviation/n, stat.Mean(found, nil))
		}
	}
	b.text("\nErrors: %s.", cmp.Or(strings.Join(refused, "; "), "none"))
}
