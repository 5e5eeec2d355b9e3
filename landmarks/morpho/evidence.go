package morpho

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"anatomy/landmarks/internal/text"
)

// Reading says how a file is read where nothing in it tells. The zero value leaves everything to the file.
type Reading struct {
	Dimensions int            // 2 or 3, of a table whose columns are numbered throughout
	Resample   map[string]int // how many points each curve is to have, by its name, or by its number from 1

	alone  bool    // the file is one of a folder, which sees to curves
	curves bool    // which are wanted
	scales *scales // of such files
}

// layout is a way in which columns of coordinates may be those of landmarks.
type layout struct {
	about  string
	dim    int
	points [][]int
	fit    float64 // root mean square distance of the shapes to their mean; NaN where it is not known
}

// layouts are those of columns from left to right, whatever their titles: coordinates of a landmark side by side, or of an axis.
func layouts(columns []int) (all []layout) {
	for _, dim := range []int{2, 3} {
		if n := len(columns) / dim; len(columns)%dim == 0 && n >= fewest {
			beside := slices.Collect(slices.Chunk(columns, dim))
			var blocks [][]int
			for l := range n {
				var at []int
				for c := range dim {
					at = append(at, columns[c*n+l])
				}
				blocks = append(blocks, at)
			}
			axes := strings.Join(strings.Split("xyz"[:dim], ""), ", ")
			all = append(all, layout{axes + " of each landmark in turn", dim, beside, math.NaN()},
				layout{"all x, then all " + strings.Join(strings.Split("yz"[:dim-1], ""), ", then all "), dim, blocks, math.NaN()})
		}
	}
	return all
}

// closer is how much better shapes have to agree for the values to decide against the titles, or against another layout: in 48 columns of
// published triples that were titled as x and y it was 6, and layouts of shapes that were aligned before differ by less than 1.5.
const closer = 3

// usual is a distance of shapes to their mean that organisms of one kind seldom have: below it a layout is not doubted.
const usual = 0.1

// agree is a distance of shapes to their mean below which columns without telling titles are those of landmarks: of columns of something else, such as
// scores of components, it is about 1, and of lengths half of that.
const agree = 0.3

// decide places the columns of a table whose titles are numbers throughout, and notes where other layouts fit those of others much better.
func (c *csvColumns) decide(header []string, rows []sheetRow, as Reading) error {
	if !c.wide {
		return nil
	}
	columns := slices.Sorted(slices.Values(slices.Concat(c.points...)))
	all := layouts(columns)
	if c.numbered {
		all = slices.DeleteFunc(all, func(l layout) bool { return as.Dimensions > 0 && l.dim != as.Dimensions })
	}
	for k := range all {
		all[k].fit = c.misfit(rows, all[k].points)
	}
	if !c.numbered {
		named := c.misfit(rows, c.points)
		for _, l := range all {
			if named > usual && l.fit > 0 && l.fit*closer < named {
				c.notes = append(c.notes, fmt.Sprintf("the titles may be wrong: read as %s from left to right, the shapes are %.2g from their mean (root mean square), and %.2g as titled",
					l.about, l.fit, named))
				break
			}
		}
		return nil
	}
	first, last := text.Clip(strings.TrimSpace(header[columns[0]])), text.Clip(strings.TrimSpace(header[columns[len(columns)-1]]))
	if len(all) == 0 {
		return text.Advise("write a header such as specimen,x1,y1,x2,y2", "the %d columns %s to %s are not those of three or more landmarks", len(columns), first, last)
	}
	best := 0
	for k, l := range all {
		if l.fit*closer < all[best].fit {
			best = k
		}
	}
	chosen := all[best]
	for _, l := range all {
		if l.dim != chosen.dim && !(chosen.fit*closer < l.fit) {
			return text.Advise("give --dimensions 2 or --dimensions 3, or write a header such as specimen,x1,y1,x2,y2", "the columns %s to %s may be %d landmarks (%s; %.2g from their mean) "+
				"or %d (%s; %.2g)", first, last, len(chosen.points), chosen.about, chosen.fit, len(l.points), l.about, l.fit)
		}
	}
	if as.Dimensions == 0 && !(chosen.fit < agree) {
		return text.Advise("if these are landmarks, give --dimensions 2 or --dimensions 3, or write a header such as specimen,x1,y1,x2,y2", "%w",
			notLandmarks(fmt.Sprintf("no title of the columns %s to %s tells x and y, and their values make no shapes that agree", first, last)))
	}
	c.points = chosen.points
	c.notes = append(c.notes, fmt.Sprintf("the columns %s to %s were taken for %d landmarks: %s", first, last, len(chosen.points), chosen.about))
	return nil
}

// misfit is the root mean square distance of the shapes of rows to their mean, each of size 1 and turned to it: NaN of fewer than five
// complete ones. It looks at 40 specimens and 200 landmarks at most, spread over all.
func (c *csvColumns) misfit(rows []sheetRow, points [][]int) float64 {
	const fewest, specimens, landmarks = 5, 40, 200
	thin := func(n, most int) int { return (n + most - 1) / most }
	var shapes []*mat.Dense
	for i := 0; i < len(rows); i += thin(len(rows), specimens) {
		var values []float64
		for l := 0; l < len(points); l += thin(len(points), landmarks) {
			for _, column := range points[l] {
				v, err := parseCoordinate(strings.Replace(csvField(rows[i].cells, column), ",", ".", 1))
				if err != nil {
					v = math.NaN()
				}
				values = append(values, v)
			}
		}
		if x := centred(values, len(points[0])); x != nil {
			shapes = append(shapes, x)
		}
	}
	if len(shapes) < fewest {
		return math.NaN()
	}
	mean, sum := shapes[0], 0.0
	for range 2 {
		var total mat.Dense
		total.CloneFrom(mean)
		total.Zero()
		sum = 0
		for _, x := range shapes {
			r, cosine, _ := rotationTo(x, mean)
			sum += max(0, 2-2*cosine)
			var turned mat.Dense
			turned.Mul(x, r.T())
			total.Add(&total, &turned)
		}
		total.Scale(1/mat.Norm(&total, 2), &total)
		mean = &total
	}
	return math.Sqrt(sum / float64(len(shapes)))
}

// centred is a shape about its centroid, of size 1; nil if it has none.
func centred(values []float64, dim int) *mat.Dense {
	x := mat.NewDense(len(values)/dim, dim, values)
	for c := range dim {
		column := mat.Col(nil, c, x)
		mean := mat.Sum(mat.NewVecDense(len(column), column)) / float64(len(column))
		for l := range column {
			x.Set(l, c, column[l]-mean)
		}
	}
	size := mat.Norm(x, 2)
	if !(size > 0) || math.IsInf(size, 0) {
		return nil
	}
	x.Scale(1/size, x)
	return x
}
