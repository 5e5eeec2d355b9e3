package files

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"anatomy/internal/input"
	"anatomy/landmarks/internal/pointset"
	"anatomy/landmarks/internal/text"
)

// resample brings the curves of all specimens to the numbers of points of the Reading, and tells the data where they are. It refuses
// curves of other numbers of points in other specimens, and says how many each could have.
func (in *source) resample() {
	parts := in.curves
	if in.alone && len(parts) > 0 {
		in.Curves = parts[0]
	}
	if in.alone || slices.ContainsFunc(parts, func(of [][2]int) bool { return len(of) != len(parts[0]) }) {
		return // other curves, not longer ones: see morpho.Dataset.Validate
	}
	wanted := map[string]int{}
	maps.Copy(wanted, in.Resample)
	var counts, unequal, asked []string
	points := make([]int, len(slices.Concat(parts[:min(1, len(parts))]...))) // that each curve is to have; 0 where it keeps its own
	for k := range points {
		name := strconv.Itoa(k + 1)
		if k < len(in.curveNames) {
			name = in.curveNames[k]
		}
		least, most := math.MaxInt, 0
		for _, of := range parts {
			least, most = min(least, of[k][1]-of[k][0]), max(most, of[k][1]-of[k][0])
		}
		counts = append(counts, fmt.Sprintf("%s=%d", name, least))
		if points[k] = in.Resample[name]; points[k] > 0 {
			asked = append(asked, fmt.Sprintf("%s=%d", name, points[k]))
		} else if least < most {
			unequal = append(unequal, counts[k])
		}
		delete(wanted, name)
	}
	switch unknown := slices.Sorted(maps.Keys(wanted)); {
	case len(unknown) > 0 && len(counts) == 0:
		refuse("leave --resample out", "the file has no curves, and none that is called %s", text.Clip(unknown[0]))
	case len(unknown) > 0:
		refuse("name those of "+strings.Join(counts, ", "), "no curve is called %s", text.Clip(unknown[0]))
	case len(counts) == 0:
		return
	case len(unequal) > 0:
		refuse("give --resample "+strings.Join(unequal, ","), "curves have other numbers of points in other specimens")
	case len(asked) > 0:
		for i := range in.Specimens {
			in.resampleOne(&in.Specimens[i], parts[i], points)
		}
		slices.Sort(asked)
		in.Labels = nil
		in.note("points of curves were placed anew, at equal distances along each: %s", strings.Join(asked, ", "))
	}
	if !slices.ContainsFunc(parts, func(of [][2]int) bool { return !slices.Equal(of, parts[0]) }) {
		in.Curves = parts[0]
	}
}

// resampleOne brings the curves of a specimen to these numbers of points, and their places with them.
func (in *source) resampleOne(s *Specimen, parts [][2]int, points []int) {
	var out [][]float64
	end := 0
	for k, of := range parts {
		out = append(out, s.Points[end:of[0]]...)
		curve := s.Points[of[0]:of[1]]
		if n := points[k]; n > 0 {
			length := math.NaN()
			if n > 1 && n <= input.Coordinates.Most() && len(curve) > 0 && !slices.ContainsFunc(curve, func(p []float64) bool {
				return isMissing(p) ||
					AtCode(p)
			}) {
				curve, length = pointset.Resample(curve, n, false)
			}
			refuseIf(!(length > 0), "ask for 2 points or more, or leave the specimen out",
				"a curve of specimen %q cannot have %d points: it lacks a point or has no length, or these are too few or too many", s.Name,
				n)
		}
		parts[k], end = [2]int{len(out), len(out) + len(curve)}, of[1]
		out = append(out, curve...)
	}
	s.Points = append(out, s.Points[end:]...)
}

// curvePoint matches the label of a point of a curve: a name, and behind a separator its number on it.
var curvePoint = regexp.MustCompile(`^(.*\D.*)[ _.:-]\d+$`)

func curveLabel(label string) string {
	if m := curvePoint.FindStringSubmatch(label); m != nil {
		return m[1]
	}
	return label
}

// curveTitle matches the names of curves, as C000 or curve 2: other words with numbers are those of landmarks.
var curveTitle = regexp.MustCompile(`(?i)^c(urve)?[ _.-]?\d*$`)

// labelledCurves are runs of three and more landmarks whose labels are a name and a number on it, as Landmark Editor writes curves.
func labelledCurves(labels []string) (curves [][2]int) {
	from := 0
	for l := range labels {
		if l+1 < len(labels) && curveLabel(labels[l+1]) == curveLabel(labels[l]) {
			continue
		}
		if l+1-from >= fewest && curveTitle.MatchString(curveLabel(labels[l])) {
			curves = append(curves, [2]int{from, l + 1})
		}
		from = l + 1
	}
	return curves
}

// namesOfCurves are the labels of the first points of the curves, without their numbers; nil where there are none, or one repeats.
func namesOfCurves(labels []string, curves [][2]int) (names []string) {
	for _, c := range curves {
		if c[0] >= len(labels) || labels[c[0]] == "" || slices.Contains(names, curveLabel(labels[c[0]])) {
			return nil
		}
		names = append(names, curveLabel(labels[c[0]]))
	}
	return names
}

// withoutNumbers are labels of which each curve has one.
func withoutNumbers(labels []string, curves [][2]int) (out []string) {
	for l, label := range labels {
		if !slices.ContainsFunc(curves, func(c [2]int) bool { return c[0] < l && l < c[1] }) {
			out = append(out, curveLabel(label))
		}
	}
	return out
}
