package morpho

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/shape"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/pointset"
	"anatomy/landmarks/internal/text"
)

// sizes matches the titles of columns that are likely to hold sizes.
var sizes = regexp.MustCompile(`(?i)size|length|mass|weight|^(cs|svl|sl|tl)$`)

const (
	equalSizes = 1e-3 // of the sizes is their range, at most, in shapes that were scaled before
	fewSizes   = 1e-6 // the same for fewer than five specimens, whose sizes may be alike by chance
	nearOne    = 0.01 // from 1 are, at most, the sizes of shapes that were scaled to 1
)

// LogSize and Size are the names of the covariates that LogSizes are, and centroid sizes.
const LogSize, Size = "log size", "centroid size"

// LogSizes returns the logarithms of the centroid sizes. It is an error if the shapes were aligned or scaled before, so that what is left of sizes is
// rounding, or the distance of a shape from the mean: the sizes are equal, or are once they are multiplied or divided by the cosine of that distance
// (a projection to the tangent space divides by it, a full Procrustes fit multiplies). Data that are Flat have them in the column "log size".
func (d *Dataset) LogSizes() ([]float64, error) {
	if len(d.Specimens) == 0 {
		return nil, d.empty()
	}
	if d.Flat {
		return d.numbers(LogSize)
	}
	if d.Unscaled {
		return nil, fmt.Errorf("%s: %w", d.Name,
			text.Advise("give each a scale, or leave size out of the model", "some specimens have no scale, so there are no sizes"))
	}
	sizes := make([]float64, len(d.Specimens))
	for i, s := range d.Specimens {
		if len(s.Points) == 0 {
			return nil, fmt.Errorf("%s: %s: %w", d.Name, d.specimen(i), text.Advise("digitise it, or leave it out", "no landmarks"))
		}
		sizes[i] = math.Log(CentroidSize(s.Points))
	}
	least, most := slices.Min(sizes), slices.Max(sizes)
	if math.Max(-least, most) < nearOne || d.scaled(sizes) {
		return nil, text.Advise(d.unscaled(),
			"centroid sizes are from %.6g to %.6g: the shapes were aligned or scaled before, and these are no sizes of specimens", math.Exp(least), math.Exp(most))
	}
	return sizes, nil
}

// scaled says whether logarithms of sizes are equal, or are so with the cosines of the distances from the mean of the coordinates, which is that of
// the shapes if they were aligned.
func (d *Dataset) scaled(sizes []float64) bool {
	tolerance := equalSizes
	if len(sizes) < 5 {
		tolerance = fewSizes
	}
	alike := func(power float64, cosines []float64) bool {
		before := slices.Clone(sizes)
		for i, cosine := range cosines {
			before[i] += power * math.Log(cosine)
		}
		return floats.Max(before)-floats.Min(before) < tolerance
	}
	if alike(0, nil) {
		return true
	}
	var rows []shape.Shape
	if try.Run(func() { rows = brought(d.preshapes(d.Shapes()), true) }) != nil { // which others say
		return false
	}
	mean := rows[0].Scale(0)
	for _, x := range rows {
		mean = mean.Add(x)
	}
	cosines := lists.Each(rows, func(x shape.Shape) float64 { return math.Max(0, x.Dot(mean)/math.Sqrt(x.Dot(x)*mean.Dot(mean))) })
	return alike(1, cosines) || alike(-1, cosines)
}

// unscaled advises where the sizes are that shapes had before they were scaled.
func (d *Dataset) unscaled() string {
	for _, name := range d.Covariates() {
		if values, err := d.Numbers(name); err == nil && sizes.MatchString(name) && !slices.ContainsFunc(values, math.IsNaN) {
			return fmt.Sprintf("the column %[1]q may hold the sizes before: write %[1]s in place of size in the model", name)
		}
	}
	return "read the sizes before as a column, and write its title in place of size in the model"
}

// unitFactors are how many times as large a length is in another unit.
var unitFactors = []struct {
	factor       float64
	units        string
	small, large string
}{{2.54, "cm and inches", "cm", "in"}, {10, "mm and cm", "mm", "cm"}, {25.4, "mm and inches", "mm", "in"}, {39.37, "inches and m", "in", "m"},
	{100, "cm and m", "cm", "m"},
	{1000, "mm and m, or µm and mm", "mm", "m"}, {10000, "µm and cm", "µm", "cm"}, {1e6, "µm and m", "µm", "m"}}

// otherSizes finds the specimens of another unit: see Inspect.
func otherSizes(d *Dataset) (findings []Finding) {
	sizes := lists.Each(d.Specimens, func(s Specimen) float64 { return quantile(radiiOf(s.Points), 0.5) })
	order := rising(sizes)
	var usual []float64 // of the largest group
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && sizes[order[to]] < apart*sizes[order[to-1]] {
			to++
		}
		if to-from > len(usual) {
			usual = lists.Pick(sizes, order[from:to])
		}
		from = to
	}
	if 2*len(usual) < len(order) {
		return nil // no size is usual
	}
	least, median, most := usual[0], quantile(usual, 0.5), usual[len(usual)-1]
	for i, s := range d.Specimens {
		if sizes[i] >= least && sizes[i] <= most {
			continue
		}
		ratio := sizes[i] / median
		units, own, others := "", "mm", d.Unit
		for _, u := range unitFactors {
			converted := sizes[i] / u.factor
			if ratio < 1 {
				converted = sizes[i] * u.factor
			}
			if units == "" && converted >= 0.9*least && converted <= 1.1*most {
				units = ", the ratio of " + u.units
				own, others = u.small, u.large
				if ratio < 1 {
					own, others = u.large, u.small
				}
				if u.factor == 1000 && d.Unit == "mm" && ratio > 1 {
					own = "µm"
				}
			}
		}
		if math.Max(ratio, 1/ratio) >= farApart || units != "" {
			options := []Option{{"unit", s.Name + "=" + own}, {"without", s.Name}}
			word, alike := advice[OtherSize], ""
			if units != "" {
				alike = "their sizes are those of another unit" + units
			}
			if d.Unit == "" {
				options = slices.Insert(options, 0, Option{"unit", cmp.Or(others, "mm")})
				word = "if it is in another unit than the others, say in which they are (%s %s); or leave it out (%s)"
			}
			findings = append(findings, Finding{Specimen: s.Name, Index: i, Fault: OtherSize, Severity: ratio, Options: options, advice: word, alike: alike,
				About: fmt.Sprintf("its size is %.3g times that of the others%s", ratio, units)})
		}
	}
	return findings
}

// ErrorColumn is the covariate of landmarks that were placed with errors, as study.Study.PlacedData writes it: the root mean square, over the
// landmarks of a specimen, of the standard error along one direction of the curve or surface, in the unit of the landmarks. It is 0 where they were
// digitised. Inspect, WeightedProcrustes, shapestats.FitWithErrors and the reports about landmarks take it into account.
const ErrorColumn = "standard error of landmarks"

// SquaredErrors returns what the errors of its landmarks add to the mean square of the Procrustes distance of each specimen from another
// shape: L(D − 1) times the square of its ErrorColumn over its centroid size. It returns nil for data without that covariate. It is an error
// if a specimen has no number there, or a negative one.
func (d *Dataset) SquaredErrors() (_ []float64, err error) {
	defer try.Catch(&err)
	if !slices.Contains(d.Covariates(), ErrorColumn) {
		return nil, nil
	}
	squares := try.Get(d.Numbers(ErrorColumn))
	for i, e := range squares {
		s := d.Specimens[i]
		try.FailIf(!(e >= 0) || math.IsInf(e, 1), "%s: the %s of specimen %q is %q: give a number that is not negative, or leave the specimen out",
			d.Name, ErrorColumn, s.Name, s.Covariates[ErrorColumn])
		squares[i] = float64(len(s.Points)*(len(s.Points[0])-1)) * math.Pow(e/CentroidSize(s.Points), 2)
	}
	return squares, nil
}

// MeanSpacing returns the mean distance between neighbouring points of an outline, in the unit of the coordinates. If the
// outline is closed, this includes the distance from the last point to the first. It is NaN for fewer than two points.
func MeanSpacing(points [][]float64, closed bool) float64 {
	if len(points) < 2 {
		return math.NaN()
	}
	lengths := pointset.Segments(points, closed)
	return floats.Sum(lengths) / float64(len(lengths))
}

// Resample returns n points at equal arc lengths along the polygon through points, [k][d]; the first one stays. On a closed
// outline they are at j·L/n of the length L, on an open one at j·L/(n − 1), so that both ends stay. It is an error if there are
// too few points, n is too small, or all points coincide.
func Resample(points shape.Shape, n int, closed bool) (_ shape.Shape, err error) {
	defer try.Named(&err, "resample")
	const most = 1 << 24
	unnamed.check([]shape.Shape{points}, false)
	text.RefuseIf(n < 2, "ask for at least 2", "%d points are asked for", n)
	text.RefuseIf(n > most, "ask for fewer", "%d points are asked for, and %d are the most", n, most)
	out, total := pointset.Resample(points, n, closed)
	text.RefuseIf(out == nil, "leave it out", "an outline of %d points has the length %g", len(points), total)
	return out, nil
}

// Mean returns the coordinate mean (1/N) Σ_i shape_i of N shapes [n][d]. Align them first if they lie apart (Procrustes).
func Mean(shapes []shape.Shape) (_ shape.Shape, err error) {
	defer try.Named(&err, "mean")
	unnamed.check(shapes, false)
	mean := shapes[0].Scale(0)
	for _, x := range shapes {
		mean = mean.Add(x.Scale(1 / float64(len(shapes))))
	}
	return mean, nil
}

// CentroidSize returns sqrt(Σ_i |x_i − c|²), c the centroid.
func CentroidSize(x [][]float64) float64 { return pointset.CentroidSize(x) }

// NearestSpacing returns the mean distance from a landmark to the one nearest to it: the natural length for the width of a
// kernel where the landmarks follow no curve, as MeanSpacing is where they do. Points are [n][d], n ≥ 2.
func NearestSpacing(points [][]float64) float64 {
	return lists.Sum(len(points), func(i int) float64 {
		nearest := math.Inf(1)
		for j, q := range points {
			if i != j {
				nearest = min(nearest, floats.Distance(points[i], q, 2))
			}
		}
		return nearest
	}) / float64(len(points))
}

// Spread returns the numbers of n of the points, spread evenly over them: each is the point farthest from those before it and from others
// that are there already. Without others the first is point 0. Points of a mesh become semi-landmarks of its surface so, beside
// its landmarks. It panics if there are not as many points.
func Spread(x [][]float64, n int, others ...[]float64) []int { return pointset.Spread(x, n, others...) }
