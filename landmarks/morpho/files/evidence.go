package files

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/shape"
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
		total := mat.NewDense(len(points), len(points[0]), nil)
		sum = 0
		for _, x := range shapes {
			r, cosine, _ := pointset.Rotation(x, mean)
			sum += max(0, 2-2*cosine)
			var turned mat.Dense
			turned.Mul(x, r.T())
			total.Add(total, &turned)
		}
		total.Scale(1/mat.Norm(total, 2), total)
		mean = total
	}
	return math.Sqrt(sum / float64(len(shapes)))
}

// centred is a shape about its centroid, of size 1; nil if it has none.
func centred(values []float64, dim int) *mat.Dense {
	x := shape.Shape(slices.Collect(slices.Chunk(values, dim)))
	centre := x.Centroid()
	for _, p := range x {
		floats.Sub(p, centre)
	}
	size := floats.Norm(values, 2)
	if !(size > 0) || math.IsInf(size, 0) {
		return nil
	}
	floats.Scale(1/size, values)
	return mat.NewDense(len(x), dim, values)
}

// runs counts the runs of equal cells, and says how long each is, 0 if they differ in length, and whether each has a name of its own.
func runs(cells []string) (count, length int, unique bool) {
	seen, begin := map[string]bool{}, 0
	unique = true
	for i := range cells {
		if i+1 < len(cells) && cells[i+1] == cells[i] {
			continue
		}
		if count++; count == 1 {
			length = i + 1
		} else if i+1-begin != length {
			length = 0
		}
		unique = unique && !seen[cells[i]] && cells[i] != ""
		seen[cells[i]], begin = true, i+1
	}
	return count, length, unique
}

// nameColumn finds the column with the names of the specimens: by its title, unless its values cannot be names and those of another can.
// In a long table these are constant over each run of landmarks, in a wide one they are words that differ. A note says if values decided.
func (c *columns) nameColumn(rows []Row) {
	var titled []int // the surest first
	place := func(i int) int { return nameTitle(c.covariates[i]) }
	for i := range c.covariates {
		if place(i) < len(nameTitles)-1 || !c.wide && place(i) < len(nameTitles) {
			titled = append(titled, i)
		}
	}
	slices.SortFunc(titled, func(a, b int) int { return (place(a)-place(b))<<20 + a - b })
	why := ""
	if c.wide {
		c.specimen, why = c.wideNames(titled, rows)
	} else {
		c.specimen, why = c.longNames(titled, rows)
	}
	title, has := c.covariates[c.specimen]
	switch {
	case c.specimen < 0 || len(titled) > 0 && c.specimen == titled[0]:
		return
	case !has:
		if c.rowNames = true; c.specimen == 0 && c.wide {
			return
		}
		title = strconv.Itoa(c.specimen + 1)
	default:
		title = strconv.Quote(title)
	}
	c.notes = append(c.notes, "the column "+title+" was taken for the names of the specimens: "+why)
}

// wideNames is nameColumn of a wide table: the values of a titled column differ, or those of the first one, which is no coordinate.
func (c *columns) wideNames(titled []int, rows []Row) (column int, why string) {
	differ := func(i int) bool {
		cells := c.values(rows, i)
		seen := map[string]bool{}
		for _, cell := range cells {
			seen[cell] = true
		}
		return len(seen) == len(cells) && !seen[""]
	}
	title, taken := c.covariates[0]
	switch k := slices.IndexFunc(titled, differ); {
	case k >= 0:
		return titled[k], "those of " + strconv.Quote(c.covariates[titled[0]]) + " repeat"
	case len(titled) > 0:
		return titled[0], ""
	case slices.Contains(c.untitled, 0):
		return 0, "it is the first, and has no title"
	case taken && len(rows) > 0 && !IsNumber(firstOf(rows, 0)) && differ(0) && (len(rows) >= fewest || title == "X"):
		return 0, "it is the first, and its words differ"
	}
	return -1, ""
}

// longNames is nameColumn of a long table: each name is that of one run of landmarks, or comes several times.
func (c *columns) longNames(titled []int, rows []Row) (column int, why string) {
	constant := func(i int) (count int, why string) { // "" if it is not
		count, length, unique := runs(c.values(rows, i))
		if unique && length >= fewest {
			why = fmt.Sprintf("it is constant over each run of %d landmarks", length)
		}
		return count, why
	}
	column = -1
	for _, i := range titled {
		if _, why := constant(i); why != "" {
			return i, why
		}
	}
	for k, i := range titled {
		cells := c.values(rows, i)
		count, length, _ := runs(cells)
		distinct := len(slices.Compact(slices.Sorted(slices.Values(cells))))
		if distinct == len(cells) {
			continue
		}
		column, c.byRun, why = i, length >= fewest && count > distinct, "those of "+strconv.Quote(c.covariates[titled[0]])+" differ in each row"
		if k == 0 && strings.HasPrefix(strings.ToLower(c.covariates[i]), "specimen") { // which no column of landmarks is called
			return column, why
		}
		break
	}
	most, found := 1, -1
	for i := range c.covariates {
		if count, is := constant(i); is != "" && (count > most || count == most && i < found) {
			most, found, why = count, i, is
		}
	}
	switch {
	case found >= 0:
		column, c.byRun = found, false
	case column < 0 && len(titled) > 0:
		column = titled[0]
	}
	return column, why
}
