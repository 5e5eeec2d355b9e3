package files

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"anatomy/landmarks/internal/pointset"
	"anatomy/landmarks/internal/text"
)

const (
	// closer is how much better shapes have to agree for the values to decide against the titles, or against another layout: in 48 columns of
	// published triples that were titled as x and y it was 6, and layouts of shapes that were aligned before differ by less than 1.5.
	closer = 3
	// usual is a distance of shapes to their mean that organisms of one kind seldom have: below it a layout is not doubted.
	usual = 0.1
	// agree is a distance of shapes to their mean below which columns without telling titles are those of landmarks: of columns of something else,
	// such as scores of components, it is about 1, and of lengths half of that.
	agree = 0.3
)

// layouts are those of columns from left to right, whatever their titles: coordinates of a landmark side by side, or of an axis.
func layouts(columns []int) (all []layout) {
	for _, dim := range []int{2, 3} {
		n := len(columns) / dim
		if len(columns)%dim != 0 || n < fewest {
			continue
		}
		blocks := make([][]int, n)
		for k, column := range columns {
			blocks[k%n] = append(blocks[k%n], column)
		}
		axes := strings.Split("xyz"[:dim], "")
		all = append(all, layout{about: strings.Join(axes, ", ") + " of each landmark in turn", points: slices.Collect(slices.Chunk(columns, dim)),
			wide: true},
			layout{about: "all " + strings.Join(axes, ", then all "), points: blocks, wide: true})
	}
	return all
}

func (l layout) dim() int { return len(l.points[0]) }

// decide places the columns of a table whose titles are numbers throughout, and notes where other layouts fit those of others much better.
func (c *columns) decide(header []string, rows []Row, as Reading) {
	if !c.wide {
		return
	}
	columns := slices.Sorted(slices.Values(slices.Concat(c.points...)))
	all := layouts(columns)
	if c.numbered {
		all = slices.DeleteFunc(all, func(l layout) bool { return as.Dimensions > 0 && l.dim() != as.Dimensions })
	}
	best := 0
	for k := range all {
		if all[k].fit = misfit(rows, all[k].points); all[k].fit*closer < all[best].fit {
			best = k
		}
	}
	if !c.numbered {
		named := misfit(rows, c.points)
		if k := slices.IndexFunc(all, func(l layout) bool { return named > usual && l.fit > 0 && l.fit*closer < named }); k >= 0 {
			c.notes = append(c.notes,
				fmt.Sprintf("the titles may be wrong: read as %s from left to right, the shapes are %.2g from their mean (root mean square), and %.2g as titled",
					all[k].about, all[k].fit, named))
		}
		return
	}
	const byHeader = "write a header such as specimen,x1,y1,x2,y2"
	const choose = "give --dimensions 2 or --dimensions 3, or " + byHeader
	titles := text.Clip(strings.TrimSpace(header[columns[0]])) + " to " + text.Clip(strings.TrimSpace(header[columns[len(columns)-1]]))
	refuseIf(len(all) == 0, byHeader, "the %d columns %s are not those of three or more landmarks", len(columns), titles)
	chosen := all[best]
	for _, l := range all {
		refuseIf(l.dim() != chosen.dim() && !(chosen.fit*closer < l.fit), choose,
			"the columns %s may be %d landmarks (%s; %.2g from their mean) or %d (%s; %.2g)", titles, len(chosen.points), chosen.about,
			chosen.fit, len(l.points), l.about, l.fit)
	}
	refuseIf(as.Dimensions == 0 && !(chosen.fit < agree), "if these are landmarks, "+choose, "%w",
		notLandmarks("no title of the columns "+titles+" tells x and y, and their values make no shapes that agree"))
	c.layout = chosen
	c.notes = append(c.notes, fmt.Sprintf("the columns %s were taken for %d landmarks: %s", titles, len(chosen.points), chosen.about))
}

// misfit is the root mean square distance of the shapes of rows to their mean, each of size 1 and turned to it: NaN of fewer than five
// complete ones. It looks at 40 specimens and 200 landmarks at most, spread over all.
func misfit(rows []Row, points [][]int) float64 {
	const fewest, specimens, landmarks = 5, 40, 200
	thin := func(n, most int) int { return (n + most - 1) / most }
	var shapes []*mat.Dense
	for i := 0; i < len(rows); i += thin(len(rows), specimens) {
		var values []float64
		for l := 0; l < len(points); l += thin(len(points), landmarks) {
			for _, column := range points[l] {
				v, err := Number(strings.Replace(rows[i].Field(column), ",", ".", 1))
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
			r, cosine, _ := pointset.Rotation(x, mean)
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
