package morpho

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/text"
)

// SpecimenDistance is how far a specimen lies from the mean shape.
type SpecimenDistance struct {
	Specimen string
	Index    int
	Distance float64 // full Procrustes distance sin ρ
}

// Inspection is what Inspect saw.
type Inspection struct {
	Data      *Dataset           // as it was looked at: see Dataset.Complete; its notes say what was done
	Mean      shape.Shape        // the mean shape of the half of the specimens nearest to it, of centroid size 1
	Distances []SpecimenDistance // of every specimen from Mean, the farthest first
	Findings  []Finding          // by fault, and the most severe first

	Unsearched []int // specimens with too many landmarks for a search through all their orders

	work    int           // that is left for these searches
	aligned []shape.Shape // the specimens, fitted to Mean
	usual   []float64     // medians of the squared deviations of landmarks
	median  float64       // of the distances
	fence   float64       // beyond which a distance is far
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
	some := lists.Filter(in.Findings, func(f Finding) bool { return len(faults) == 0 || slices.Contains(faults, f.Fault) })
	return lists.Distinct(slices.Concat(lists.Each(some, Finding.names)...))
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
	farOff    = 2.5   // medians, at least, is a distance that is far: beyond the fence alone are some of most samples that have no fault
	fewMiddle = 5     // specimens, at least, have a middle from which one of them is far
	equal     = 1e-6  // is the distance, at most, of shapes that are copies
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
//   - FarFromMean: its distance exceeds the upper quartile by more than one and a half interquartile ranges (Tukey 1977), is more than two and a half
//     times the median, and no fault above but OutOfOrder explains it. In groups of five or more specimens it is the distance from the middle of the group (the medians of the coordinates of aligned shapes), in medians
//     of that in the group, and else the distance from the mean.
//   - Copy: its shape is that of another specimen, to a millionth, of any size, place and direction.
//
// The data set is not changed, and its specimens need not be aligned. Missing landmarks are estimated, and those at codes of missing ones too
// (Dataset.Complete): Data has notes of this. Distances are full Procrustes distances, which have no unit. Where an ErrorColumn says how large the
// errors of landmarks are, FarFromMean judges the distance without them, √(d² − E) or 0 (see SquaredErrors).
//
// It is an error if numbers of landmarks or dimensions differ, or if Procrustes cannot align the shapes.
//
// # Algorithm
//
// The mean is that of the half of the specimens nearest to it, so that faulty ones do not influence it; beyond about ten thousand specimens the
// search for this half ends after fewer than 20 turns. The size is the median distance of the landmarks from the medians of their coordinates, so
// that one wrong landmark does not influence it; groups of sizes are separated where a size is more than twice the next smaller one. Mirrored and
// Relabelled are tested for specimens that are farther from the mean than one and a half times the median distance. Where there is no closed outline,
// the other labels must also bring the specimen nearer than twice the median, and exchanged landmarks must bring it within the fence of distances.
// OutOfOrder reverses sections as long as this shortens the outline, the greatest gain first (2-opt, Croes 1958). Searches through the orders of n
// landmarks take n² steps a specimen, and 2·10⁸ in all: Unsearched are the specimens that were not searched to the end.
func Inspect(d *Dataset) (_ *Inspection, err error) {
	defer try.Named(&err, "inspect")
	if len(d.Specimens) == 0 {
		return nil, d.empty()
	}
	complete := try.Get(d.Complete())
	return inspect(complete, try.Get(complete.SquaredErrors()))
}

// inspect is Inspect of data without missing landmarks.
func inspect(d *Dataset, errors []float64) (in *Inspection, err error) {
	defer try.Named(&err, "%s", d.Name)
	shapes := d.Shapes()
	in = &Inspection{Data: d, Mean: d.coreMean(shapes), work: orderings}
	distances, without := make([]float64, len(shapes)), make([]float64, len(shapes)) // with and without errors
	deviations := make([][]float64, len(in.Mean))                                    // [n][N], squared
	in.aligned = make([]shape.Shape, len(shapes))
	for i, x := range shapes {
		t, err := FitSimilarity(x, in.Mean)
		try.Do(try.Name(err, "%s", d.specimen(i)))
		in.aligned[i] = t.Apply(x)
		square := 0.0 // sin² ρ, as Mean has size 1
		for l := range in.Mean {
			off := squaredDistance(in.aligned[i][l], in.Mean[l])
			deviations[l], square = append(deviations[l], off), square+off
		}
		distances[i] = math.Sqrt(square)
		without[i] = lessErrors(distances[i], errors, i)
		in.Distances = append(in.Distances, SpecimenDistance{d.Specimens[i].Name, i, distances[i]})
	}
	slices.SortStableFunc(in.Distances, func(a, b SpecimenDistance) int { return cmp.Compare(b.Distance, a.Distance) })
	in.usual = make([]float64, len(in.Mean))
	for l := range in.usual {
		in.usual[l] = quantile(deviations[l], 0.5)
	}
	in.median, in.fence = quantile(distances, 0.5), fenceOf(without)
	pairs := lists.Each(shapes, func(x shape.Shape) [][2]int { return coincident(x) })
	common := in.everywhere(pairs)
	far := in.far(distances, without, errors)
	for i, x := range shapes {
		in.coincident(i, slices.DeleteFunc(pairs[i], func(p [2]int) bool { return common[p] }))
		try.Do(try.Name(try.Run(func() { in.judge(i, x, distances[i], far[i]) }), "%s", d.specimen(i)))
	}
	in.copies(distances)
	in.Findings = together(append(in.Findings, otherSizes(d)...))
	slices.SortStableFunc(in.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Fault, b.Fault), cmp.Compare(b.Severity, a.Severity))
	})
	return in, nil
}

// lessErrors is a distance without what errors add to its square.
func lessErrors(distance float64, errors []float64, i int) float64 {
	if errors == nil {
		return distance
	}
	return math.Sqrt(math.Max(0, distance*distance-errors[i]))
}

// fenceOf is that of Tukey.
func fenceOf(x []float64) float64 {
	upper := quantile(x, 0.75)
	return upper + tukey*(upper-quantile(x, 0.25))
}

// far says of each specimen, in words, how far from the mean or the middle of its group it is, and in how many medians; "" where that is not far.
func (in *Inspection) far(distances, without, errors []float64) []Finding {
	d, out := in.Data, make([]Finding, len(distances))
	if len(distances) < fewMiddle {
		return out
	}
	members := map[string][]int{}
	for i, s := range d.Specimens {
		members[s.Group] = append(members[s.Group], i)
	}
	var all []float64 // ratios within groups
	ratios, about := make([]float64, len(distances)), make([]string, len(distances))
	for _, g := range d.Groups() {
		if len(members[g]) < fewMiddle || len(members) == 1 {
			continue
		}
		middle := lists.Zeros(len(in.Mean), len(in.Mean[0]))
		for l := range middle {
			for c := range middle[l] {
				middle[l][c] = quantile(lists.Each(members[g], func(i int) float64 { return in.aligned[i][l][c] }), 0.5)
			}
		}
		off := lists.Each(members[g], func(i int) float64 {
			square := lists.Sum(len(middle), func(l int) float64 { return squaredDistance(in.aligned[i][l], middle[l]) })
			return lessErrors(math.Sqrt(square), errors, i)
		})
		median := quantile(off, 0.5)
		for k, i := range members[g] {
			ratios[i] = off[k] / math.Max(median, none)
			all = append(all, ratios[i])
			about[i] = fmt.Sprintf("it is %.3f from the middle of its group, %s; the median distance there is %.3f", off[k], text.Clip(g), median)
		}
	}
	fence := 0.0
	if all != nil {
		fence = fenceOf(all)
	}
	for i := range out {
		switch {
		case about[i] != "" && ratios[i] > max(fence, farOff):
			out[i] = Finding{About: about[i], Severity: ratios[i]}
		case about[i] == "" && without[i] > max(in.fence, farOff*quantile(without, 0.5)):
			out[i] = Finding{About: fmt.Sprintf("it is %.3f from the mean of the most typical half of the specimens; the median distance is %.3f",
				distances[i], in.median),
				Severity: distances[i] / in.median}
		}
	}
	return out
}

// note adds a finding about specimen i.
func (in *Inspection) note(i int, f Finding, options ...Option) {
	f.Specimen, f.Index = in.Data.Specimens[i].Name, i
	f.Options = append(options, Option{"without", f.Specimen})
	f.advice = advice[f.Fault]
	in.Findings = append(in.Findings, f)
}

// advice has a place for each option of a fault.
var advice = [...]string{
	Coincident:  "correct one of them in the file, leave the landmark out of all specimens (%s), leave the specimen out (%s), or deform with a mismatch; other analyses are not affected",
	OtherSize:   "if it is in another unit, say in which (%s); or leave it out (%s)",
	Mirrored:    "if it is of the other side, or two of its axes were exchanged, mirror it (%s); or leave it out (%s)",
	Relabelled:  "number its landmarks as in the others, or leave it out (%s)",
	Swapped:     "exchange them (%s), or leave the specimen out (%s)",
	OutOfOrder:  "put them in order in the file, or leave the specimen out where outlines are deformed (%s)",
	FarFromMean: "check it, and keep it if it is correct, or leave it out (%s)",
	Copy:        "if it is the same specimen, leave it out (%s)",
}

// everywhere notes the landmarks that coincide in more than half of the specimens, once for all, and returns them.
func (in *Inspection) everywhere(pairs [][][2]int) map[[2]int]bool {
	d, with := in.Data, map[[2]int][]string{}
	for i, s := range d.Specimens {
		for _, pair := range pairs[i] {
			with[pair] = append(with[pair], s.Name)
		}
	}
	common := map[[2]int]bool{}
	for pair, names := range with {
		if n := len(d.Specimens); n > 2 && 2*len(names) > n {
			common[pair] = true
			where := "all specimens"
			if len(names) < n {
				where = fmt.Sprintf("%d of %d specimens", len(names), n)
			}
			in.Findings = append(in.Findings,
				Finding{Specimen: where, All: names, Index: -1, Fault: Coincident, Landmarks: []int{pair[1]}, Severity: float64(len(names)),
					About: d.Called(pair[:]...) + " are in one place", Options: []Option{{"without-landmarks", d.Landmark(pair[1])}},
					advice: "leave one of them out (%s), or deform with a mismatch; other analyses are not affected"})
		}
	}
	slices.SortFunc(in.Findings, func(a, b Finding) int { return a.Landmarks[0] - b.Landmarks[0] })
	return common
}

// copies notes the specimens that have the shape of an earlier one. Specimens of one shape are as far from the mean.
func (in *Inspection) copies(distances []float64) {
	order, size := rising(distances), len(in.Mean)
	of := map[int]int{}
	for k, i := range order {
		for _, j := range order[k+1:] {
			if distances[j]-distances[i] > equal {
				break
			}
			square := 0.0
			for l := 0; l < size && square <= equal*equal; l++ {
				square += squaredDistance(in.aligned[i][l], in.aligned[j][l])
			}
			if earlier, later := min(i, j), max(i, j); square <= equal*equal {
				if was, is := of[later]; !is || earlier < was {
					of[later] = earlier
				}
			}
		}
	}
	if len(of) == len(distances)-1 {
		return // nothing varies, which analyses say
	}
	for _, i := range slices.Sorted(maps.Keys(of)) {
		in.note(i, Finding{Fault: Copy, About: fmt.Sprintf("its shape is that of %s", text.Clip(in.Data.Specimens[of[i]].Name))})
	}
}

// coincident notes pairs of landmarks of specimen i.
func (in *Inspection) coincident(i int, pairs [][2]int) {
	if len(pairs) == 0 {
		return
	}
	var second []int
	var words, names []string
	for _, p := range pairs {
		second, words, names = append(second, p[1]), append(words, in.Data.Called(p[:]...)+" are in one place"), append(names, in.Data.Landmark(p[1]))
	}
	in.note(i, Finding{Fault: Coincident, Landmarks: second, Severity: float64(len(second)), About: text.Listed(words)},
		Option{"without-landmarks", strings.Join(names, ",")})
}

// judge looks for the other faults of specimen i at its distance.
func (in *Inspection) judge(i int, x [][]float64, distance float64, far Finding) {
	d := in.Data
	again := func() bool { return in.orders(i, len(x)) }
	if d.Closed {
		if landmarks, gain := outOfOrder(x, again); gain > shortened {
			in.note(i, Finding{Fault: OutOfOrder, Landmarks: landmarks, Severity: gain,
				About: fmt.Sprintf("%s in another order make the outline %.2f spacings shorter", d.Called(landmarks...), gain)})
		}
	}
	explained := false
	if distance > farther*in.median && distance > none {
		half := math.Sqrt(explains) * distance
		// Some order of landmarks that follow no outline always fits better: this one must fit as those of the others do.
		explained = in.relabelled(i, x, distance, d.Closed, half) || !d.Closed && in.relabelled(i, x, distance, true, min(half, fitting*in.median))
	}
	if !d.Closed && !explained {
		pairs := in.exchanged(x, swapped(in.aligned[i], in.Mean, in.usual, again))
		for _, p := range pairs {
			in.note(i, Finding{Fault: Swapped, Landmarks: p[:], Severity: distance / in.median,
				About: fmt.Sprintf("%s fit the others in each other's place", d.Called(p[:]...))},
				Option{"exchange", fmt.Sprintf("%s=%s,%s", d.Specimens[i].Name, d.Landmark(p[0]), d.Landmark(p[1]))})
		}
		explained = len(pairs) > 0
	}
	if !explained && far.About != "" {
		far.Fault = FarFromMean
		in.note(i, far)
	}
}

// relabelled looks for labels that leave less than a limit of the distance of specimen i.
func (in *Inspection) relabelled(i int, x [][]float64, distance float64, around bool, limit float64) bool {
	around = around && in.orders(i, len(x))
	l := bestLabels(x, in.Mean, around)
	if l.distance > limit || !l.mirrored && distance < farOff*in.median { // other labels fit a shape that has a symmetry, too
		return false
	}
	f := Finding{Fault: Relabelled, Severity: distance / in.median,
		About: fmt.Sprintf("%s fits the others: %.3f from the mean, not %.3f", l.called(in.Data), l.distance, distance)}
	var options []Option
	if l.mirrored && !l.backwards && l.start == 0 {
		f.alike = "their mirror images fit the others"
		options = []Option{{"mirror", in.Data.Specimens[i].Name}}
	}
	if l.mirrored {
		f.Fault = Mirrored
	}
	if in.note(i, f, options...); l.mirrored && options == nil {
		in.Findings[len(in.Findings)-1].advice = advice[Relabelled]
	}
	return true
}

// exchanged are the pairs of landmarks after whose exchange a shape fits: it is within the fence, and they are where they usually are.
func (in *Inspection) exchanged(x [][]float64, pairs [][2]int) [][2]int {
	if len(pairs) == 0 {
		return nil
	}
	x = slices.Clone(x)
	for _, p := range pairs {
		x[p[0]], x[p[1]] = x[p[1]], x[p[0]]
	}
	t, err := FitSimilarity(x, in.Mean)
	if distance, wrong := fullDistance(x, in.Mean); err != nil || wrong != nil || distance > in.fence {
		return nil
	}
	x = t.Apply(x)
	for _, p := range pairs {
		if squaredDistance(x[p[0]], in.Mean[p[0]])+squaredDistance(x[p[1]], in.Mean[p[1]]) > exchanged*(in.usual[p[0]]+in.usual[p[1]]) {
			return nil
		}
	}
	return pairs
}

// coreMean returns the Procrustes mean, of size 1, of that half of the shapes which is nearest to it: found in turns from the mean of all, until it
// rests. There are 20 turns at most, and none after so many steps as turning says.
func (d *Dataset) coreMean(shapes []shape.Shape) [][]float64 {
	d.check(shapes, false)
	half := shapes
	var mean [][]float64
	for turn, steps := 0, 0; turn < 20 && steps < turning; turn++ {
		a := try.Get(Procrustes(half))
		steps += a.Iterations * alignmentSteps(len(half), len(a.Mean), len(a.Mean[0]))
		before := mean
		mean = Similarity{1 / CentroidSize(a.Mean), lists.Identity(len(a.Mean[0])), make([]float64, len(a.Mean[0]))}.Apply(a.Mean)
		if before != nil {
			if change, err := fullDistance(before, mean); err == nil && change < resting {
				break
			}
		}
		order := rising(lists.Each(shapes, func(x shape.Shape) float64 { return try.Get(fullDistance(x, mean)) }))
		next := lists.Pick(shapes, order[:len(shapes)/2+1])
		if slices.EqualFunc(half, next, func(x, y shape.Shape) bool { return &x[0] == &y[0] }) {
			break
		}
		half = next
	}
	return mean
}

// rising are the numbers of values in their order; equal ones stay in theirs.
func rising(values []float64) []int {
	order := lists.Range(len(values))
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(values[i], values[j]) })
	return order
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
