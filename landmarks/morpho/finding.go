package morpho

import (
	"fmt"
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
	"anatomy/landmarks/internal/text"
)

// Fault is what a look at the data finds wrong with a specimen, or suspects.
type Fault int

const (
	Coincident  Fault = iota // two landmarks in one place
	OtherSize                // the size is many times that of the others, or in another unit
	Mirrored                 // the mirror image fits the other specimens
	Relabelled               // the landmarks are counted the other way round, or from another one
	Swapped                  // two landmarks in each other's place
	OutOfOrder               // neighbours along an outline in an order that makes it longer
	FarFromMean              // the shape is far from the others'
	Copy                     // the shape is that of another specimen
	Coded                    // landmarks at a code of missing ones: see Dataset.Coded
)

func (f Fault) String() string {
	return [...]string{"coincident landmarks", "another size", "mirrored", "relabelled", "swapped landmarks", "out of order", "far from the mean",
		"copied", "at codes"}[f]
}

// Option is an option of the program, and a parameter of the notebook, by which something is done about a finding.
type Option struct {
	Name  string `json:"name"` // such as mirror: see Corrections
	Value string `json:"value"`
}

// String is the option as it can be pasted behind a command.
func (o Option) String() string { return "--" + o.Name + " " + quoted(o.Value) }

// Finding is one fault of one specimen, or of several that have it alike.
type Finding struct {
	Specimen  string   // "all specimens", or how many, where it is of several
	All       []string // the names of several
	Index     int      // of the specimen, −1 for several
	Fault     Fault
	Landmarks []int // those concerned; nil for all of them
	// Coincident: landmarks that have another in their place. OtherSize: the size, in medians of the others. OutOfOrder: by how much another order
	// shortens the outline, in mean spacings. Copy: 0. Coded: the number of specimens. Else the distance from the mean, or from the middle of its
	// group, in medians.
	Severity float64
	About    string // the fault in words
	Options  []Option

	advice string // with a place for each option
	alike  string // the fault in words, if several specimens have it alike; "" where each has its own
	places []place
}

// ofSeveral are words about one specimen as they are about several.
var ofSeveral = strings.NewReplacer("it is", "they are", "of its axes", "of their axes", "mirror it", "mirror them", "leave it", "leave them")

// together joins findings that are alike to one about all of their specimens, whose options do to all what is to be done.
func together(all []Finding) (out []Finding) {
	for _, f := range all {
		at := slices.IndexFunc(out, func(o Finding) bool { return f.alike != "" && o.alike == f.alike })
		if at < 0 {
			out = append(out, f)
			continue
		}
		o := &out[at]
		o.All = append(o.names(), f.Specimen)
		o.Specimen, o.Index, o.Severity, o.About, o.advice = text.Listed(o.All), -1, math.Max(o.Severity, f.Severity), f.alike, ofSeveral.Replace(f.advice)
		for k, option := range f.Options {
			if option != o.Options[k] {
				o.Options[k].Value += "; " + option.Value
			}
		}
	}
	return out
}

// advise says what to do about the finding, once the specimen was looked at, with the options that do it.
func (f Finding) advise() string {
	words := make([]any, len(f.Options))
	for i, o := range f.Options {
		words[i] = o
	}
	return fmt.Sprintf(f.advice, words...)
}

// String is where, what and what to do.
func (f Finding) String() string { return f.Specimen + ": " + f.About + "; " + f.advise() }

// names are those of the specimens of the finding.
func (f Finding) names() []string {
	if f.All != nil {
		return f.All
	}
	return []string{f.Specimen}
}

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
func bestLabels(x, mean [][]float64, around bool) labels {
	pre := unnamed.preshapes([]shape.Shape{x, mean})
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
	return best
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
