package morpho

import (
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/shape"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/pointset"
)

// labels is another way to count the landmarks of a shape: Mean's landmark l is the shape's start ± l.
type labels struct {
	mirrored, backwards bool
	start               int
	distance            float64 // from the mean, so labelled
}

// called is how d calls the labels.
func (l labels) called(d *Dataset) string {
	var words []string
	if l.mirrored {
		words = append(words, "its mirror image")
	}
	if l.backwards {
		words = append(words, "its landmarks counted the other way round")
	}
	if l.start != 0 {
		words = append(words, "counted from "+d.Called(l.start))
	}
	return strings.Join(words, ", ")
}

// bestLabels returns the labels, other than those it has, with which a shape is nearest to the mean: those of its mirror image, and, counted
// around, those from another landmark or the other way round, too.
func bestLabels(x, mean [][]float64, around bool) (_ labels, err error) {
	defer try.Catch(&err)
	pre := try.Get(preshapes([]shape.Shape{x, mean}, shapeNumber))
	n, dim := pre[0].points.Dims()
	best := labels{distance: math.Inf(1)}
	other := mat.NewDense(n, dim, nil)
	for _, mirrored := range []bool{false, true} {
		for _, backwards := range []bool{false, true} {
			for start := range n {
				if !around && (start > 0 || backwards) {
					break
				}
				if !mirrored && !backwards && start == 0 {
					continue
				}
				for l := range n {
					from := (start + l) % n
					if backwards {
						from = (start - l + n) % n
					}
					other.SetRow(l, pre[0].points.RawRowView(from))
					if mirrored {
						other.Set(l, 0, -other.At(l, 0))
					}
				}
				_, cosine, err := pointset.Rotation(other, pre[1].points)
				if err != pointset.ErrRotation {
					try.Do(err)
				}
				if sine := math.Sqrt(math.Max(0, 1-cosine*cosine)); sine < best.distance {
					best = labels{mirrored, backwards, start, sine}
				}
			}
		}
	}
	return best, nil
}

// swapped returns the pairs of landmarks of an aligned shape that fit the mean once they are exchanged, the greatest gain first. usual are
// the medians of the squared deviations; again says before each search whether to go on.
func swapped(x, mean [][]float64, usual []float64, again func() bool) [][2]int {
	x = slices.Clone(x)
	var pairs [][2]int
	for k := 0; k < len(x)/2 && again(); k++ {
		best, pair := 0.0, [2]int{}
		own := make([]float64, len(x))
		for l := range x {
			own[l] = squaredDistance(x[l], mean[l])
			for m := range l {
				off := own[l] + own[m]
				if off <= exchanged*(usual[l]+usual[m]) || off <= best {
					continue
				}
				if then := squaredDistance(x[m], mean[l]) + squaredDistance(x[l], mean[m]); then <= nearer*off && off-then > best {
					best, pair = off-then, [2]int{m, l}
				}
			}
		}
		if best == 0 {
			break
		}
		x[pair[0]], x[pair[1]] = x[pair[1]], x[pair[0]]
		pairs = append(pairs, pair)
	}
	return pairs
}

// outOfOrder returns the landmarks of a closed outline that change their places where sections are reversed as long as that makes it
// shorter, and by how many mean spacings it does; again says before each search whether to go on.
func outOfOrder(x [][]float64, again func() bool) ([]int, float64) {
	n := len(x)
	spacing := MeanSpacing(x, true)
	order := lists.Range(n)
	at := func(k int) []float64 { return x[order[(k+n)%n]] }
	moved := map[int]bool{}
	total := 0.0
	for again() {
		best, from, to := 0.01*spacing, 0, 0
		for i := range n {
			for length := 2; length <= n/2; length++ { // reverse i … j; more than half is the other part reversed
				j := i + length - 1
				gain := floats.Distance(at(i-1), at(i), 2) + floats.Distance(at(j), at(j+1), 2) -
					floats.Distance(at(i-1), at(j), 2) - floats.Distance(at(i), at(j+1), 2)
				if gain > best {
					best, from, to = gain, i, j
				}
			}
		}
		if to == 0 {
			break
		}
		total += best
		for i, j := from, to; i < j; i, j = i+1, j-1 {
			a, b := i%n, j%n
			order[a], order[b] = order[b], order[a]
			moved[order[a]], moved[order[b]] = true, true
		}
	}
	return slices.Sorted(maps.Keys(moved)), total / spacing
}
