package morpho

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/solve"
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
)

func (f Fault) String() string {
	return [...]string{"coincident landmarks", "another size", "mirrored", "relabelled", "swapped landmarks", "out of order", "far from the mean"}[f]
}

// advice says what to do about the fault, once the specimen was looked at.
func (f Fault) advice() string {
	return [...]string{
		"correct one of them in the file, leave the specimen out, leave the landmark out of all specimens, or deform with a mismatch; other analyses are not affected",
		"if it is in another unit, convert it in the file",
		"if it is of the other side, or two of its axes were exchanged, mirror it; or leave it out",
		"number its landmarks as in the others, or leave it out",
		"exchange them in the file, or leave the specimen out",
		"put them in order in the file, or leave the specimen out where outlines are deformed",
		"check it, and keep it if it is correct",
	}[f]
}

// Finding is one fault of one specimen.
type Finding struct {
	Specimen  string
	Index     int // of the specimen
	Fault     Fault
	Landmarks []int // those concerned; nil for all of them
	// Coincident: landmarks that have another in their place. OtherSize: the size, in medians of the others. OutOfOrder: by how much another
	// order shortens the outline, in mean spacings. Else the distance from the mean, in medians.
	Severity float64
	About    string // the fault in words
}

// String is where, what and what to do.
func (f Finding) String() string { return f.Specimen + ": " + f.About + "; " + f.Fault.advice() }

// SpecimenDistance is how far a specimen lies from the mean shape.
type SpecimenDistance struct {
	Specimen string
	Index    int
	Distance float64 // full Procrustes distance sin ρ
}

// Inspection is what Inspect saw.
type Inspection struct {
	Mean      [][]float64        // the mean shape of the half of the specimens nearest to it, of centroid size 1
	Distances []SpecimenDistance // of every specimen from Mean, the farthest first
	Findings  []Finding          // by fault, and the most severe first

	Unsearched []int // specimens with too many landmarks for a search through all their orders

	work int // that is left for these searches
}

// orders takes one search through the pairs of n landmarks of specimen i from the work, and says whether there was as much left.
func (in *Inspection) orders(i, n int) bool {
	if in.work -= n * n; in.work < 0 && (len(in.Unsearched) == 0 || in.Unsearched[len(in.Unsearched)-1] != i) {
		in.Unsearched = append(in.Unsearched, i)
	}
	return in.work >= 0
}

// String says how many specimens have which faults.
func (in *Inspection) String() string {
	count := map[Fault]int{}
	for _, f := range in.Findings {
		count[f.Fault]++
	}
	words := []string{fmt.Sprintf("%d specimens", len(in.Distances))}
	for _, f := range slices.Sorted(maps.Keys(count)) {
		words = append(words, fmt.Sprintf("%d %s", count[f], f))
	}
	if len(count) == 0 {
		words = append(words, "nothing found")
	}
	if len(in.Unsearched) > 0 {
		words = append(words, fmt.Sprintf("%s with too many landmarks for a search through their orders", text.Counted(len(in.Unsearched), "specimens")))
	}
	return strings.Join(words, ", ")
}

// Names returns the specimens with one of the faults, or with any fault where none is given, in the order of the findings.
func (in *Inspection) Names(faults ...Fault) []string {
	solve.NotNil(in)
	var names []string
	for _, f := range in.Findings {
		if (len(faults) == 0 || slices.Contains(faults, f.Fault)) && !slices.Contains(names, f.Specimen) {
			names = append(names, f.Specimen)
		}
	}
	return names
}

const (
	none      = 1e-9  // from the mean is no distance but rounding
	farther   = 1.5   // medians of the distances: nearer shapes are not searched for mirrored or other labels
	fitting   = 2     // medians of the distances, at most, are shapes that fit once their landmarks are counted otherwise
	explains  = 0.5   // of its squared distance from the mean is left, at most, where other labels are the right ones
	shortened = 0.1   // mean spacings by which another order must shorten an outline
	tukey     = 1.5   // quartile distances beyond the upper quartile
	exchanged = 9     // times the usual squared deviation of both that swapped landmarks are off, at least
	nearer    = 0.25  // of their squared deviation is left, at most, once they are exchanged
	apart     = 2     // times as large as the next smaller one is a size of another group
	resting   = 1e-12 // is no change of a mean of size 1 but rounding
	turning   = 5e7   // steps (see alignmentSteps) after which the turns to the mean of the nearest half end
	orderings = 2e8   // orders times landmarks that are searched, in all specimens
	farApart  = 5     // times as large as the others are specimens of another size, whatever the unit
)

// Inspect lists the specimens that were probably digitised in another way than the others. Look at them before any analysis;
// they need not be wrong. A finding has one of these faults:
//
//   - Coincident: two landmarks have the same coordinates.
//   - OtherSize: the specimen is not in the largest group of similar sizes, and its size is at least five times the median size of
//     this group, at most a fifth of it, or what another unit makes of it.
//   - Mirrored: its mirror image halves its squared Procrustes distance from the mean.
//   - Relabelled: on a closed outline, counting the landmarks from another one or the other way round does so.
//   - Swapped (not on outlines): landmarks l and m deviate three times as much as usual, and half as much after exchanging them.
//   - OutOfOrder (on closed outlines): another order of neighbours makes the outline shorter by more than a tenth of the mean
//     distance of neighbours.
//   - FarFromMean: its distance from the mean exceeds the upper quartile by more than one and a half interquartile ranges (Tukey
//     1977), and no fault above but OutOfOrder explains it.
//
// The data set is not changed, and its specimens need not be aligned. Distances are full Procrustes distances, which have no unit. Where an
// ErrorColumn says how large the errors of landmarks are, FarFromMean judges the distance without them, √(d² − E) or 0 (see SquaredErrors).
//
// It is an error if numbers of landmarks or dimensions differ, if landmarks are missing (see EstimateMissing), or if Procrustes
// cannot align the shapes.
//
// # Algorithm
//
// The mean is that of the half of the specimens nearest to it, so that faulty ones do not influence it; beyond about ten thousand specimens the
// search for this half ends after fewer than 20 turns. The size is the median
// distance of the landmarks from the medians of their coordinates, so that one wrong landmark does not influence it; groups of
// sizes are separated where a size is more than twice the next smaller one. Mirrored and Relabelled are tested for specimens that
// are farther from the mean than one and a half times the median distance. Where there is no closed outline, the other labels must
// also bring the specimen nearer than twice the median. OutOfOrder reverses sections as long as this shortens the outline, the
// greatest gain first (2-opt, Croes 1958). Searches through the orders of n landmarks take n² steps a specimen, and 2·10⁸ in all: Unsearched are
// the specimens that were not searched to the end.
func Inspect(d *Dataset) (*Inspection, error) {
	if err := d.CheckCodes(); err != nil {
		return nil, fmt.Errorf("inspect: %w", err)
	}
	shapes := d.Shapes()
	mean, err := coreMean(shapes)
	if err != nil {
		return nil, fmt.Errorf("inspect %s: %w", d.Name, err)
	}
	errors, err := d.SquaredErrors()
	if err != nil {
		return nil, fmt.Errorf("inspect: %w", err)
	}
	in := &Inspection{Mean: mean, work: orderings}
	distances, without := make([]float64, len(shapes)), make([]float64, len(shapes)) // with and without errors
	deviations := make([][]float64, len(mean))                                       // [n][N], squared
	aligned := make([][][]float64, len(shapes))
	for i, x := range shapes {
		if distances[i], err = fullDistance(x, mean); err != nil {
			return nil, fmt.Errorf("inspect %s: specimen %q: %w", d.Name, d.Specimens[i].Name, err)
		}
		if without[i] = distances[i]; errors != nil {
			without[i] = math.Sqrt(math.Max(0, distances[i]*distances[i]-errors[i]))
		}
		t, err := FitSimilarity(x, mean)
		if err != nil {
			return nil, fmt.Errorf("inspect %s: specimen %q: %w", d.Name, d.Specimens[i].Name, err)
		}
		aligned[i] = t.Apply(x)
		for l := range mean {
			deviations[l] = append(deviations[l], squaredDistance(aligned[i][l], mean[l]))
		}
		in.Distances = append(in.Distances, SpecimenDistance{d.Specimens[i].Name, i, distances[i]})
	}
	slices.SortStableFunc(in.Distances, func(a, b SpecimenDistance) int { return cmp.Compare(b.Distance, a.Distance) })
	usual := make([]float64, len(mean))
	for l := range usual {
		usual[l] = quantile(deviations[l], 0.5)
	}
	median, upper := quantile(distances, 0.5), quantile(without, 0.75)
	fence := upper + tukey*(upper-quantile(without, 0.25))

	for i, x := range shapes {
		if err := in.judge(d, i, x, aligned[i], distances[i], median, without[i] > fence, usual); err != nil {
			return nil, fmt.Errorf("inspect %s: specimen %q: %w", d.Name, d.Specimens[i].Name, err)
		}
	}
	in.Findings = append(in.Findings, otherSizes(d)...)
	slices.SortStableFunc(in.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Fault, b.Fault), cmp.Compare(b.Severity, a.Severity))
	})
	return in, nil
}

// judge looks for the faults of specimen i, given the median of the distances, whether it is far, and the usual deviations of landmarks.
func (in *Inspection) judge(d *Dataset, i int, x, aligned [][]float64, distance, median float64, far bool, usual []float64) (err error) {
	note := func(fault Fault, landmarks []int, severity float64, about string, args ...any) {
		in.Findings = append(in.Findings, Finding{d.Specimens[i].Name, i, fault, landmarks, severity, fmt.Sprintf(about, args...)})
	}
	if pairs := coincident(x); len(pairs) > 0 {
		var second []int
		var words []string
		for _, p := range pairs {
			second, words = append(second, p[1]), append(words, fmt.Sprintf("landmarks %d and %d are in one place", p[0], p[1]))
		}
		note(Coincident, second, float64(len(second)), "%s", listed(words))
	}
	again := func() bool { return in.orders(i, len(x)) }
	if d.Closed {
		if landmarks, gain := outOfOrder(x, again); gain > shortened {
			var numbers []string
			for _, l := range landmarks {
				numbers = append(numbers, strconv.Itoa(l))
			}
			note(OutOfOrder, landmarks, gain, "landmarks %s in another order make the outline %.2f spacings shorter", listed(numbers), gain)
		}
	}
	severity := distance / median
	// relabelled looks for labels that leave less than a limit of the distance.
	relabelled := func(around bool, limit float64) (bool, error) {
		around = around && again()
		l, err := bestLabels(x, in.Mean, around)
		if err != nil || l.distance > limit {
			return false, err
		}
		fault := Relabelled
		if l.mirrored {
			fault = Mirrored
		}
		note(fault, nil, severity, "%s fits the others: %.3f from the mean, not %.3f", l, l.distance, distance)
		return true, nil
	}
	explained := false
	if distance > farther*median && distance > none {
		half := math.Sqrt(explains) * distance
		if explained, err = relabelled(d.Closed, half); !d.Closed && !explained && err == nil {
			// Some order of landmarks that follow no outline always fits better: this one must fit as those of the others do.
			explained, err = relabelled(true, min(half, fitting*median))
		}
	}
	if err != nil {
		return err
	}
	if !d.Closed && !explained {
		for _, p := range swapped(aligned, in.Mean, usual, again) {
			note(Swapped, p[:], severity, "landmarks %d and %d fit the others in each other's place", p[0], p[1])
			explained = true
		}
	}
	if explained {
		return nil
	}
	if far {
		note(FarFromMean, nil, severity, "it is %.3f from the mean of the most typical half of the specimens; the median distance is %.3f", distance, median)
	}
	return nil
}

// coreMean returns the Procrustes mean, of size 1, of that half of the shapes which is nearest to it: found in turns from the mean of all, until it rests.
// There are 20 turns at most, and none after so many steps as turning says.
func coreMean(shapes [][][]float64) ([][]float64, error) {
	half := shapes
	var mean [][]float64
	for turn, steps := 0, 0; turn < 20 && steps < turning; turn++ {
		a, err := Procrustes(half)
		if err != nil {
			return nil, err
		}
		steps += a.Iterations * alignmentSteps(len(half), len(a.Mean), len(a.Mean[0]))
		before := mean
		mean = Similarity{1 / CentroidSize(a.Mean), identity(len(a.Mean[0])), make([]float64, len(a.Mean[0]))}.Apply(a.Mean)
		if before != nil {
			if change, err := fullDistance(before, mean); err == nil && change < resting {
				break
			}
		}
		order, distances := make([]int, len(shapes)), make([]float64, len(shapes))
		for i, x := range shapes {
			order[i] = i
			if distances[i], err = fullDistance(x, mean); err != nil {
				return nil, err
			}
		}
		slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(distances[i], distances[j]) })
		next := make([][][]float64, 0, len(shapes)/2+1)
		for _, i := range order[:len(shapes)/2+1] {
			next = append(next, shapes[i])
		}
		if slices.EqualFunc(half, next, func(x, y [][]float64) bool { return &x[0] == &y[0] }) {
			break
		}
		half = next
	}
	return mean, nil
}

func identity(d int) [][]float64 {
	one := zeros(d, d)
	for c := range d {
		one[c][c] = 1
	}
	return one
}

// fullDistance is the full Procrustes distance sin ρ.
func fullDistance(x, y [][]float64) (float64, error) {
	rho, err := ShapeDistance(x, y)
	return math.Sin(rho), err
}

func squaredDistance(x, y []float64) float64 {
	d := floats.Distance(x, y, 2)
	return d * d
}

// quantile is that of R (type 7 of Hyndman and Fan, Am. Stat. 50, 1996): of order statistics, at (n − 1) p counted from 0. For p = 0.5 it
// is the median.
func quantile(x []float64, p float64) float64 {
	sorted := slices.Sorted(slices.Values(x))
	whole, part := math.Modf(p * float64(len(x)-1))
	below, above := sorted[int(whole)], sorted[int(math.Ceil(whole+part))]
	return below + part*(above-below)
}

// unitFactors are how many times as large a length is in another unit.
var unitFactors = []struct {
	factor float64
	units  string
}{{2.54, "cm and inches"}, {10, "mm and cm"}, {25.4, "mm and inches"}, {39.37, "inches and m"}, {100, "cm and m"}, {1000, "mm and m, or µm and mm"},
	{10000, "µm and cm"}, {1e6, "µm and m"}}

// otherSizes finds the specimens of another unit: see Inspect.
func otherSizes(d *Dataset) (findings []Finding) {
	order := make([]int, len(d.Specimens))
	sizes := make([]float64, len(order))
	for i, s := range d.Specimens {
		order[i], sizes[i] = i, medianRadius(s.Points)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sizes[a], sizes[b]) })
	var usual []float64 // of the largest group
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && sizes[order[to]] < apart*sizes[order[to-1]] {
			to++
		}
		if to-from > len(usual) {
			usual = nil
			for _, i := range order[from:to] {
				usual = append(usual, sizes[i])
			}
		}
		from = to
	}
	if 2*len(usual) < len(order) {
		return nil // no size is usual
	}
	least, median, most := usual[0], quantile(usual, 0.5), usual[len(usual)-1]
	for i, s := range d.Specimens {
		if sizes[i] >= least && sizes[i] <= most {
			continue
		}
		ratio := sizes[i] / median
		units := ""
		for _, u := range unitFactors {
			converted := sizes[i] / u.factor
			if ratio < 1 {
				converted = sizes[i] * u.factor
			}
			if units == "" && converted >= 0.9*least && converted <= 1.1*most {
				units = ": " + u.units + "?"
			}
		}
		if math.Max(ratio, 1/ratio) >= farApart || units != "" {
			findings = append(findings, Finding{s.Name, i, OtherSize, nil, ratio, fmt.Sprintf("its size is %.3g times that of the others%s", ratio, units)})
		}
	}
	return findings
}

// medianRadius is a size that a landmark far off has no part in: the median distance of the landmarks from where their medians are.
func medianRadius(x [][]float64) float64 {
	centre, distances := make([]float64, len(x[0])), make([]float64, len(x))
	for c := range centre {
		for l, p := range x {
			distances[l] = p[c]
		}
		centre[c] = quantile(distances, 0.5)
	}
	for l, p := range x {
		distances[l] = floats.Distance(p, centre, 2)
	}
	return quantile(distances, 0.5)
}

// labels is another way to count the landmarks of a shape: Mean's landmark l is the shape's start ± l.
type labels struct {
	mirrored, backwards bool
	start               int
	distance            float64 // from the mean, so labelled
}

func (l labels) String() string {
	var words []string
	if l.mirrored {
		words = append(words, "its mirror image")
	}
	if l.backwards {
		words = append(words, "its landmarks counted the other way round")
	}
	if l.start != 0 {
		words = append(words, fmt.Sprintf("counted from landmark %d", l.start))
	}
	return strings.Join(words, ", ")
}

// bestLabels returns the labels, other than those it has, with which a shape is nearest to the mean: those of its mirror image, and, counted
// around, those from another landmark or the other way round, too.
func bestLabels(x, mean [][]float64, around bool) (labels, error) {
	pre, err := preshapes([][][]float64{x, mean}, shapeNumber)
	if err != nil {
		return labels{}, err
	}
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
				_, cosine, err := rotationTo(other, pre[1].points)
				if err != nil && err != errRotation {
					return labels{}, err
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
		for l := range x {
			for m := range l {
				off := squaredDistance(x[l], mean[l]) + squaredDistance(x[m], mean[m])
				then := squaredDistance(x[m], mean[l]) + squaredDistance(x[l], mean[m])
				if off > exchanged*(usual[l]+usual[m]) && then <= nearer*off && off-then > best {
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
	order := make([]int, n)
	for l := range order {
		order[l] = l
	}
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
