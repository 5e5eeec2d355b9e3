package population

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// compare names subjects and landmarks that differ from the others.
func (p *Placement) compare(surfaces []*located, placed [][][]PlacedLandmark) {
	for t, template := range p.Templates {
		for _, i := range outliers(p.Mismatch[t], 2) {
			fail(&p.Failures, i, -1, "template %d misses it by %.2g %% of its square, and other subjects by %.2g %% in the median: see whether a part is missing or broken", template, 100*p.Mismatch[t][i], 100*median(p.Mismatch[t]))
		}
	}
	var gaps []float64
	for _, marks := range p.Placed {
		for _, m := range marks {
			gaps = append(gaps, m.Gap)
		}
	}
	usual := median(gaps)
	for l := range p.Calibration {
		errs, stretches := make([]float64, len(surfaces)), make([]float64, len(surfaces))
		for i := range surfaces {
			errs[i], stretches[i] = math.NaN(), math.NaN()
			if p.Placed[i] != nil {
				errs[i], stretches[i] = p.Placed[i][l].StandardError(), p.Placed[i][l].Stretch
			}
		}
		middle := median(stretches)
		away := make([]float64, len(surfaces))
		for i, s := range stretches {
			away[i] = math.Exp(math.Abs(s - middle))
		}
		for _, i := range outliers(errs, 2.5) {
			fail(&p.Failures, i, l, "its standard error is %.2g, that on other subjects %.2g in the median", errs[i], median(errs))
		}
		for _, i := range outliers(away, 4) {
			fail(&p.Failures, i, l, "the match changes volumes by a factor of %.2g there, on other subjects by %.2g in the median: see whether the part is broken or missing", math.Exp(stretches[i]), math.Exp(middle))
		}
		for i, marks := range p.Placed {
			if marks == nil {
				continue
			}
			mark, s := marks[l], surfaces[i]
			o := s.object(mark.Point)
			spacing := s.objects[o].Spacing()
			if mark.Gap > math.Max(5*usual, spacing) {
				fail(&p.Failures, i, l, "the matched templates are %.2g away from the subject there", mark.Gap)
			}
			if slices.ContainsFunc(s.border[o], func(x []float64) bool { return floats.Distance(x, mark.Point, 2) < 0.6*spacing }) {
				fail(&p.Failures, i, l, "it is at a border of the subject: see whether there is a hole")
			}
			p.disagreement(i, l, placed)
		}
	}
}

// disagreement names a landmark that templates place farther from each other than their errors say.
func (p *Placement) disagreement(i, l int, placed [][][]PlacedLandmark) {
	const far = 9 // of the mean square, in that of the errors
	sum, count := 0.0, 0
	for _, of := range placed {
		if of[i] == nil {
			continue
		}
		off := floats.Distance(of[i][l].Point, p.Placed[i][l].Point, 2)
		sum += off * off / math.Pow(of[i][l].StandardError(), 2)
		count++
	}
	if count < 2 {
		return
	}
	degrees := float64((count - 1) * (len(p.Placed[i][l].Point) - 1))
	if sum/degrees/p.Calibration[l]/math.Max(1-p.Shared, 0.1) > far {
		fail(&p.Failures, i, l, "the templates place it differently")
	}
}

// median is that of the numbers that are no NaN.
func median(x []float64) float64 {
	var known []float64
	for _, v := range x {
		if !math.IsNaN(v) {
			known = append(known, v)
		}
	}
	if known == nil {
		return math.NaN()
	}
	slices.Sort(known)
	return (known[len(known)/2] + known[(len(known)-1)/2]) / 2
}

// outliers are the positive numbers more than a factor above the median, and more than four robust standard deviations of the
// logarithms, which those below the median have: what is wrong is above.
func outliers(x []float64, factor float64) (at []int) {
	logs := make([]float64, len(x))
	for i, v := range x {
		logs[i] = v
		if !math.IsNaN(v) {
			logs[i] = math.Log(math.Max(v, math.SmallestNonzeroFloat64))
		}
	}
	middle := median(logs)
	var below []float64
	for _, v := range logs {
		if v <= middle {
			below = append(below, middle-v)
		}
	}
	limit := math.Max(math.Log(factor), 4*1.4826*median(below))
	for i, v := range logs {
		if v-middle > limit {
			at = append(at, i)
		}
	}
	return at
}
