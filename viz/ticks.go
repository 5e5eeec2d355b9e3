package viz

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// flat reports whether the ends of a range differ by rounding errors at most.
func flat(lo, hi float64) bool { return hi-lo <= 1e-12*math.Max(math.Abs(lo), math.Abs(hi)) }

// multiples returns the ticks of a linear axis: the multiples of step from lo to hi.
func multiples(lo, hi, step float64) []plot.Tick {
	const most = 1000 // more are of no use: the step is too small for the numbers
	first := math.Ceil(lo/step - 1e-9)
	count := math.Floor(hi/step+1e-9) - first + 1
	if !(count >= 1 && count <= most) {
		return nil
	}
	power := powerOf(lo, hi)
	unit := math.Pow(10, float64(power))
	decimals := max(0, -int(math.Floor(math.Log10(step/unit)+1e-9)))
	ticks := make([]plot.Tick, int(count))
	for i := range ticks {
		v := (first + float64(i)) * step
		label := number(v/unit, decimals)
		if power != 0 && v != 0 {
			label += "·10" + superscript(power)
		}
		ticks[i] = plot.Tick{Value: v, Label: label}
	}
	return ticks
}

// powerOf returns the power of ten of which ticks from lo to hi are written as multiples, 0 for plain numbers.
func powerOf(lo, hi float64) int {
	if biggest := math.Max(math.Abs(lo), math.Abs(hi)); biggest >= 1e5 || biggest < 1e-3 {
		return int(math.Floor(math.Log10(biggest)))
	}
	return 0
}

// decades returns the ticks of a logarithmic axis with about count labels: powers of ten are labelled, every second,
// third … one where they would crowd; over less than two decades 2 and 5 times a power are labelled too. Labels are plain
// numbers, 0.5 or 20, where all of them can be from 0.001 to 10000, and powers of ten otherwise. Within half a decade the
// ticks are the multiples of a step, as on a linear axis.
func decades(lo, hi float64, count int) []plot.Tick {
	if math.Log10(hi/lo) < 0.5 {
		return multiples(lo, hi, round((hi-lo)/float64(max(count, 1))))
	}
	first, last := int(math.Ceil(math.Log10(lo)-1e-9)), int(math.Floor(math.Log10(hi)+1e-9)) // powers inside
	stride := max(1, int(math.Ceil(float64(last-first)/float64(max(count, 1)))))
	dense := math.Log10(hi/lo) < 2
	label := func(v float64, power string) string {
		if lo > 0.99e-3 && hi < 1.01e4 {
			return short(v)
		}
		return power
	}
	var ticks []plot.Tick
	for e := first - 1; e <= last; e++ {
		for k := 1; k <= 9; k++ {
			v := float64(k) * math.Pow(10, float64(e))
			if v < lo*(1-1e-9) || v > hi*(1+1e-9) {
				continue
			}
			t := plot.Tick{Value: v}
			switch {
			case k == 1 && (e-first)%stride == 0:
				t.Label = label(v, "10"+superscript(e))
			case dense && (k == 2 || k == 5):
				t.Label = label(v, number(float64(k), 0)+"·10"+superscript(e))
			case stride > 1 && k > 1:
				continue
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}

// round returns the number 1, 2 or 5 times a power of ten whose ratio to x is nearest to 1.
func round(x float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, step := range [][2]float64{{1, 2}, {2, 5}, {5, 10}} {
		if x/power < math.Sqrt(step[0]*step[1]) {
			return step[0] * power
		}
	}
	return 10 * power
}

// inDegrees is the label of an axis of angles: the unit is its end, which "(°C)" and "degrees of freedom" are not.
var inDegrees = regexp.MustCompile(`(°|\bdegrees)\W*$`)

// roundDegrees returns the step nearest to x, a round number, at which an axis of angles has its ticks.
func roundDegrees(x float64) float64 {
	if x <= 5 || x > 360 {
		return x
	}
	best := 10.0
	for _, step := range []float64{15, 30, 45, 90, 180, 360} {
		if math.Abs(math.Log(step/x)) < math.Abs(math.Log(best/x)) {
			best = step
		}
	}
	return best
}

func number(v float64, decimals int) string {
	if v == 0 {
		v = 0 // no −0
	}
	return strings.Replace(strconv.FormatFloat(v, 'f', decimals, 64), "-", "−", 1)
}

// short prints v with three significant digits.
func short(v float64) string { return digits(v, 3) }

// digits prints v with so many significant digits, or fewer where zeros would end them.
func digits(v float64, count int) string {
	size := math.Abs(v)
	if v == 0 {
		return "0"
	}
	format, precision := byte('e'), count-1
	if size >= 1e-3 && size < 1e5 {
		format, precision = 'f', max(0, count-1-int(math.Floor(math.Log10(size))))
	}
	text, exponent, scientific := strings.Cut(strconv.FormatFloat(v, format, precision, 64), "e")
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	if scientific {
		e, _ := strconv.Atoi(exponent)
		text += "·10" + superscript(e)
	}
	return strings.Replace(text, "-", "−", 1)
}

// apart prints values that stand beside each other, with three significant digits, and more where one is so near to
// another that the last of these would be more than a fifth of their difference. Values that differ by rounding errors are alike.
func apart(values ...float64) []string {
	texts := make([]string, len(values))
	for i, v := range values {
		count := 3
		for _, w := range values {
			if lo, hi := math.Min(v, w), math.Max(v, w); v != 0 && !flat(lo, hi) {
				count = max(count, 1+int(math.Floor(math.Log10(math.Abs(v))+1e-9))-int(math.Floor(math.Log10((hi-lo)/5))))
			}
		}
		texts[i] = digits(v, count)
	}
	return texts
}

var raising = strings.NewReplacer("-", "⁻", "0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹")

func superscript(n int) string { return raising.Replace(strconv.Itoa(n)) }
