package viz

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"anatomy/geom/try"
	"anatomy/internal/lists"
)

// Series draws y against x as a line: a convergence curve, an energy over time. A figure with a Series, Scatter, Band,
// Histogram, HLine or VLine has axes of independent scale.
func Series(x, y []float64) *Layer {
	return newLayer(traits{name: "Series", chart: true, noun: "curve", detail: (*scene).course}, func(c *canvas) {
		points := pairs(x, y)
		c.line(points, false, c.stroke(0, 1.1))
	})
}

// Scatter draws y against x as dots; both have the same length. Several in one figure that have labels have marks of different shapes. Hull and Ellipse draw the outline of the cloud.
func Scatter(x, y []float64) *Layer {
	return newLayer(traits{name: "Scatter", takes: "ColorBy Hover Hull Ellipse", chart: true, group: true, items: len(x), noun: "point", detail: (*scene).cloud}, func(c *canvas) {
		points := pairs(x, y)
		c.dots(points, c.width(3))
		c.surround(points)
	})
}

// Band fills the range from lo to hi over x: an error band, a confidence region.
func Band(x, lo, hi []float64) *Layer {
	return newLayer(traits{name: "Band", chart: true}, func(c *canvas) {
		below := pairs(x, lo)
		above := pairs(x, hi)
		for i := len(above) - 1; i >= 0; i-- {
			try.FailIf(lo[i] > hi[i], "value %d: the lower end %v lies above the upper %v", i, lo[i], hi[i])
			below = append(below, above[i])
		}
		c.area(below, fade(c.ink(0), 0.25))
	})
}

// Histogram draws the distribution of the values as bars of equal width whose areas sum to 1. bins is their number; 0
// takes the width 2·IQR·n^(−1/3), with the interquartile range IQR of n values (Freedman & Diaconis 1981), or, where half of
// the values are alike and IQR is 0, the width 3.49·s·n^(−1/3) with their standard deviation s (Scott 1979), and not fewer
// than 1 + log₂ n bars (Sturges 1926).
func Histogram(values []float64, bins int) *Layer {
	return newLayer(traits{name: "Histogram", chart: true, detail: (*scene).peak}, func(c *canvas) {
		try.FailIf(len(values) == 0, "no values: give at least one")
		if i, bad := lists.NotFinite(values); bad {
			try.Fail("value %d is %v", i, values[i])
		}
		try.FailIf(bins < 0 || bins > 10000, "%d bins: give 0 to 10000", bins)
		sorted := slices.Sorted(slices.Values(values))
		n := len(sorted)
		lo, hi := sorted[0], sorted[n-1]
		constant := flat(lo, hi)
		if constant {
			reach := math.Max(0.5, 1e-9*math.Abs(lo))
			lo, hi = lo-reach, hi+reach
		}
		count := bins
		if count == 0 {
			width := 2 * (sorted[(3*n)/4] - sorted[n/4]) / math.Cbrt(float64(n))
			count = 1
			if width == 0 && !constant {
				width = 3.49 * stat.StdDev(sorted, nil) / math.Cbrt(float64(n))
				count = int(math.Ceil(1 + math.Log2(float64(n))))
			}
			if bars := math.Ceil((hi - lo) / width); !constant && bars > float64(count) { // not if the squares of the numbers have no end
				count = int(math.Min(200, bars))
			}
		}
		width := (hi - lo) / float64(count)
		heights := make([]float64, count)
		for _, v := range values {
			heights[min(count-1, int((v-lo)/width))] += 1 / (float64(n) * width)
		}
		for i, h := range heights {
			left, right := lo+float64(i)*width, lo+float64(i+1)*width
			bar := [][]float64{{left, 0}, {left, h}, {right, h}, {right, 0}}
			c.area(bar, fade(c.ink(0), 0.35))
			c.line(bar, true, c.stroke(0, 0.5))
		}
	})
}

// HLine draws a line across the whole chart at height y: an expected value, a tolerance.
func HLine(y float64) *Layer { return level("HLine", "horizontal line", []float64{math.NaN(), y}, y) }

// VLine draws a line across the whole chart at the given x.
func VLine(x float64) *Layer { return level("VLine", "vertical line", []float64{x, math.NaN()}, x) }

func level(name, noun string, at []float64, v float64) *Layer {
	return newLayer(traits{name: name, chart: true, noun: noun, detail: func(*scene, *Layer) string { return "at " + short(v) }}, func(c *canvas) {
		try.FailIf(!lists.Finite(v), "the value is %v", v)
		c.add(mark{kind: levelMark, at: [][]float64{at}, stroke: c.stroke(0, 0.8)})
	}).Color(Grey).Dashed()
}

// pairs joins x and y to points.
func pairs(x, y []float64) [][]float64 {
	try.FailIf(len(x) != len(y), "%d values of x, %d of y", len(x), len(y))
	try.FailIf(len(x) == 0, "no values: give at least one")
	points := make([][]float64, len(x))
	for i := range x {
		if points[i] = []float64{x[i], y[i]}; !lists.Finite(x[i], y[i]) {
			try.Fail("value %d is (%v, %v)", i, x[i], y[i])
		}
	}
	return points
}
