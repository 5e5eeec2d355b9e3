package morpho

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"anatomy/geom/try"
	"anatomy/landmarks/internal/text"
)

// resample brings the curves of all specimens to the numbers of points of a Reading, and tells the data set where they are. It refuses
// curves of other numbers of points in other specimens, and says how many each could have. parts are the curves of each specimen: from, and
// to before. names are theirs, if they have any.
func (as Reading) resample(d *Dataset, parts [][][2]int, names []string) {
	counts, asked := []string{}, false
	for i, of := range parts {
		if len(of) != len(parts[0]) {
			return // other curves, not longer ones: see Validate
		}
		for k := range of {
			if i == 0 {
				counts = append(counts, curveName(names, k))
			}
		}
	}
	var unequal []string
	for k, name := range counts {
		least, most := parts[0][k][1]-parts[0][k][0], 0
		for _, of := range parts {
			least, most = min(least, of[k][1]-of[k][0]), max(most, of[k][1]-of[k][0])
		}
		asked = asked || as.Resample[name] > 0
		counts[k] = fmt.Sprintf("%s=%d", name, least)
		if least < most && as.Resample[name] == 0 {
			unequal = append(unequal, counts[k])
		}
	}
	for name := range as.Resample {
		if !slices.ContainsFunc(counts, func(c string) bool { return strings.HasPrefix(c, name+"=") }) {
			refuse("name those of "+strings.Join(counts, ", "), "no curve is called %s", text.Clip(name))
		}
	}
	switch {
	case len(counts) == 0:
		return
	case len(unequal) > 0:
		refuse("give --resample "+strings.Join(unequal, ","), "curves have other numbers of points in other specimens")
	case asked:
		for i := range d.Specimens {
			var out [][]float64
			end, moved := 0, slices.Clone(parts[i])
			for k, of := range parts[i] {
				points := d.Specimens[i].Points
				out = append(out, points[end:of[0]]...)
				curve := points[of[0]:of[1]]
				if n := as.Resample[curveName(names, k)]; n > 0 {
					curve = try.Get(Resample(curve, n, false))
				}
				moved[k], end = [2]int{len(out), len(out) + len(curve)}, of[1]
				out = append(out, curve...)
			}
			d.Specimens[i].Points, parts[i] = append(out, d.Specimens[i].Points[end:]...), moved
		}
		d.note("points of curves were placed anew, at equal distances along each: %s", strings.Join(listedCounts(as.Resample), ", "))
	}
	if !slices.ContainsFunc(parts, func(of [][2]int) bool { return !slices.Equal(of, parts[0]) }) {
		d.Curves = parts[0]
	}
}

func curveName(names []string, k int) string {
	if k < len(names) {
		return names[k]
	}
	return strconv.Itoa(k + 1)
}

func listedCounts(counts map[string]int) (all []string) {
	for name, n := range counts {
		all = append(all, fmt.Sprintf("%s=%d", name, n))
	}
	slices.Sort(all)
	return all
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

// dropChains leaves out links and sliders that have one of the landmarks, and counts the others anew.
func (d *Dataset) dropChains(landmarks []int) {
	anew := func(chain []int) bool { // false if one is left out
		for k, l := range chain {
			if slices.Contains(landmarks, l) {
				return false
			}
			before := map[int]bool{}
			for _, out := range landmarks {
				before[out] = before[out] || out < l
			}
			for _, is := range before {
				if is {
					chain[k]--
				}
			}
		}
		return true
	}
	links, sliders := d.Links, d.Sliders
	d.Links, d.Sliders = nil, nil
	for _, l := range links {
		if anew(l[:]) {
			d.Links = append(d.Links, l)
		}
	}
	for _, s := range sliders {
		if anew(s[:]) {
			d.Sliders = append(d.Sliders, s)
		}
	}
}
