package population

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom"
	"anatomy/internal/dense"
	"anatomy/internal/lists"
)

// calibrate sets Calibration and Shared by the errors of templates on each other.
func (p *Placement) calibrate(surfaces []*located, given []geom.Shape, placed [][][]PlacedLandmark) {
	count, n := len(given[p.Templates[0]]), len(p.Templates)
	p.Calibration = slices.Repeat([]float64{1}, count)
	p.own = slices.Repeat([]float64{math.Inf(1)}, count)
	if n < 2 {
		p.Degrees = math.Inf(1)
		return
	}
	p.Degrees *= float64(n - 1)
	// errs[u][l] are those of landmark l on template u, in the tangent, divided by the standard errors of single matches.
	errs := make([][][][]float64, n)
	for u, subject := range p.Templates {
		errs[u] = make([][][]float64, count)
		for l, truth := range given[subject] {
			s := surfaces[subject]
			_, tangents := s.locators[s.object(truth)].Nearest(truth)
			for t := range p.Templates {
				if placed[t][subject] == nil {
					continue
				}
				mark, e := placed[t][subject][l], make([]float64, len(tangents))
				off := floats.SubTo(make([]float64, len(truth)), mark.Point, truth)
				for a, tangent := range tangents {
					e[a] = floats.Dot(tangent, off) / mark.StandardError()
				}
				errs[u][l] = append(errs[u][l], e)
			}
		}
	}
	squares, pairs, sums := 0.0, 0.0, 0.0
	for l := range count {
		var own []float64
		for u := range errs {
			for t, e := range errs[u][l] {
				own = append(own, floats.Dot(e, e)/float64(len(e)))
				for _, f := range errs[u][l][:t] {
					sums, pairs = sums+floats.Dot(e, f)/float64(len(e)), pairs+1
				}
			}
		}
		p.Calibration[l] = stat.Mean(own, nil)
		squares += p.Calibration[l] / float64(count)
	}
	if pairs > 0 {
		p.Shared = math.Max(0, math.Min(1, sums/pairs/squares))
	}
	// Errors of t on u are about minus those of u on t, so that n − 1 of each direction are independent. What the mean squares of landmarks
	// scatter more than chance says how far they may differ: ν degrees of freedom are those of a common one.
	degrees := float64((n - 1) * (len(surfaces[p.Templates[0]].objects[0].Vertices[0]) - 1))
	excess := stat.Variance(p.Calibration, nil)/(squares*squares) - 2/degrees
	for l, own := range p.Calibration {
		p.Calibration[l] = squares
		if excess > 0 {
			common := 4 + 2/excess
			p.Calibration[l] = (common*squares + degrees*own) / (common + degrees)
			p.own[l] = common + degrees
		}
	}
}

// compareDistances sets Farther.
func (p *Placement) compareDistances(m *placements) {
	n, among, known := float64(len(p.Templates)), 0.0, 0.0
	p.Farther = slices.Repeat([]float64{1}, len(m.surfaces))
	if n < 2 {
		return
	}
	far, subjects := slices.Repeat([]float64{math.NaN()}, len(m.surfaces)), []float64{}
	for i := range far {
		var from []float64 // the templates
		for _, t := range p.Templates {
			if f := m.of[t].far[i]; t != i && !math.IsNaN(f) {
				from = append(from, f)
			}
		}
		switch mean := stat.Mean(from, nil); {
		case slices.Contains(p.Templates, i):
			among += mean / n
			known += m.of[i].known / n
		case from != nil:
			far[i], subjects = mean, append(subjects, mean)
		}
	}
	mean, excess, chance := stat.Mean(subjects, nil), 0.0, (1+3/n)/(2*known)
	doubt := 2/(known*(n-1)) + chance/float64(len(subjects)) // the variance of mean/among by chance
	if !(among > 0 && mean > 0) {
		return
	}
	if len(subjects) > 1 {
		excess = math.Max(0, stat.Variance(subjects, nil)/(mean*mean)-chance)
	}
	for i, f := range far {
		if !math.IsNaN(f) {
			more := (mean+excess/(excess+chance)*(f-mean))/among - 1
			p.Farther[i] = 1 + math.Max(0, more-doubt/math.Max(more, math.Sqrt(doubt)))
		}
	}
}

// combine averages the landmarks of templates on a subject.
func (p *Placement) combine(i int, s *located, placed [][][]PlacedLandmark) []PlacedLandmark {
	var all [][]PlacedLandmark
	for _, of := range placed {
		if of[i] != nil {
			all = append(all, of[i])
		}
	}
	if all == nil {
		return nil
	}
	out := make([]PlacedLandmark, len(all[0]))
	for l := range out {
		weights := lists.Each(all, func(marks []PlacedLandmark) float64 { return 1 / math.Pow(marks[l].StandardError(), 2) })
		floats.Scale(1/floats.Sum(weights), weights)
		d := len(all[0][l].Point)
		mean, covariance, own := make([]float64, d), mat.NewDense(d, d, nil), 0.0
		for t, w := range weights {
			mark := all[t][l]
			floats.AddScaled(mean, w, mark.Point)
			out[l].Gap += w * mark.Gap
			out[l].Stretch += w * mark.Stretch
			own += w * w
			part := dense.Rows(mark.Covariance)
			part.Scale(w, part)
			covariance.Add(covariance, part)
		}
		covariance.Scale(p.Calibration[l]*(p.Farther[i]-(1-p.Shared)*(1-own)), covariance)
		out[l].Degrees = 1 / (1/p.Degrees + 1/p.own[l])
		point, tangents := s.locators[s.object(all[0][l].Point)].Nearest(mean)
		out[l].Point, out[l].Covariance = point, inTangent(covariance, tangents)
	}
	return out
}
