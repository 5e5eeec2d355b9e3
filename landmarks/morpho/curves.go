package morpho

import (
	"fmt"
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
	unequal := false
	for k, name := range counts {
		least, most := parts[0][k][1]-parts[0][k][0], 0
		for _, of := range parts {
			least, most = min(least, of[k][1]-of[k][0]), max(most, of[k][1]-of[k][0])
		}
		unequal, asked = unequal || least < most, asked || as.Resample[name] > 0
		counts[k] = fmt.Sprintf("%s=%d", name, least)
	}
	for name := range as.Resample {
		if !slices.ContainsFunc(counts, func(c string) bool { return strings.HasPrefix(c, name+"=") }) {
			refuse("name those of "+strings.Join(counts, ", "), "no curve is called %s", text.Clip(name))
		}
	}
	switch {
	case len(counts) == 0:
		return
	case !asked && unequal:
		refuse("give --resample "+strings.Join(counts, ","), "curves have other numbers of points in other specimens")
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
