package kernels

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom/engine"
	"anatomy/geom/shape"
	"anatomy/internal/lists"
	"anatomy/kernels/native"
)

// costs are seconds per unit of work of H on a device, by which Fast chooses. Only their ratios matter.
type costs struct {
	pairCosts
	gridCosts
	waveCosts
}

// pairCosts are those of sums over pairs of points.
type pairCosts struct {
	pair float64    // of a pair, without the terms of the kernel
	term [4]float64 // of a term of each native.Kind, for a pair
	sort float64    // of a point, to find the tiles near it
	tile int        // points that are left out together
}

// gridCosts are those of sums on a grid.
type gridCosts struct {
	inC  bool    // where rows that no bump covers are left out of the transforms
	bump float64 // of a point
	cell float64 // of a cell that the bump of a point covers
	fft  float64 // of a cell of a line that is transformed, times the logarithm of their number to base 2, for a coordinate
}

// waveCosts are those of sums over plane waves.
type waveCosts struct {
	point float64
	wave  float64 // of a point and a plane wave, for a coordinate
}

// Measured on two cores of a CPU: sums in C, and the same as operations of the graph.
var (
	pairsInC = pairCosts{
		pair: 2.3e-10,
		term: [...]float64{native.Exponential: 1.3e-10, native.Fraction: 7e-11, native.Root: 2.3e-10, native.Piece: 2.3e-10},
		sort: 2.5e-7,
		tile: native.Tile,
	}
	gridInC    = gridCosts{inC: true, bump: 9e-8, cell: 5.5e-10, fft: 3e-10}
	graphOnCPU = costs{
		pairCosts{
			pair: 1.9e-9,
			term: [...]float64{native.Exponential: 4e-10, native.Fraction: 2e-10, native.Root: 1.3e-9, native.Piece: 5e-9},
			sort: 1e-6,
			tile: tileSize,
		},
		gridCosts{bump: 1e-6, cell: 5.8e-10, fft: 4e-9},
		waveCosts{point: 1e-6, wave: 1.8e-10},
	}
)

// graphOnGPU is estimated, not measured. A step of a loop takes 15 operations of 10 µs each, over a pair of tiles, 64 points of a grid
// or some 1000 points of waves; arithmetic takes 1e-12 s per operation, a quarter of that in products of matrices.
var graphOnGPU = costs{
	pairCosts{
		pair: 6e-10,
		term: [...]float64{native.Exponential: 5e-11, native.Fraction: 5e-11, native.Root: 1e-10, native.Piece: 5e-10},
		sort: 1e-7,
		tile: tileSize,
	},
	gridCosts{bump: 5e-6, cell: 6e-12, fft: 1e-11},
	waveCosts{point: 3e-7, wave: 1.5e-12},
}

// costsOf are those of a kernel in R^d on the device of the back end, which is open.
func costsOf(terms []native.Term, d int) costs {
	if !engine.OnCPU() {
		return graphOnGPU
	}
	out := graphOnCPU
	if terms != nil && d <= native.MaxDim && engine.HasNative(native.Pairs, nil) {
		out.pairCosts = pairsInC
	}
	if d <= native.MaxDim && engine.HasNative(native.Grid, nil) {
		out.gridCosts = gridInC
	}
	return out
}

// of is what a pair of points costs with a kernel of some terms.
func (c pairCosts) of(terms []native.Term) float64 {
	if terms == nil {
		return c.pair + c.term[native.Root]
	}
	seconds := c.pair
	for _, t := range terms {
		seconds += c.term[t.Kind]
	}
	return seconds
}

// margin is by how much shapes may spread during a flow beyond the box of those that are given.
const margin = 1.25

// Fast returns the kernel k with the method of summation that costs least for the given shapes, [points][D], at a relative
// tolerance. Kernel.String names the method and its error. Tiled, Expand and Grid choose a method directly.
//
// The sums are those over the points of the first shape, at the points of each shape. If control points carry many other
// points, give the control points first. Sums are accurate for points within the box of all shapes, made a quarter wider.
//
// It is an error if there are no points, a coordinate is not finite, the points spread too far for double precision, the kernel gives NaN or
// an infinite number between them, or the sums miss the tolerance on a random subset of the points.
//
// # Algorithm
//
// The methods are the kernel itself (few points), tiles, cut-off tiles, plane waves (if there are no sums in C), a grid, a fine
// and a coarse grid, and cut-off tiles for the near part of the kernel with one or two grids for the rest. Their costs were
// measured on a CPU, with and without sums in C, and are estimated for a GPU. The error of a method is measured on a grid of
// differences. If a kernel may differ between the axes, sums over a random subset of the points are also compared with exact
// ones.
func Fast(k Kernel, tolerance float64, shapes ...shape.Shape) (Kernel, error) {
	if k == nil || len(shapes) == 0 || len(shapes[0]) == 0 {
		return nil, fmt.Errorf("kernels.Fast: no kernel, or no points")
	}
	if err := checkTolerance(tolerance); err != nil {
		return nil, fmt.Errorf("kernels.Fast: %w", err)
	}
	all := shapes[0]
	if len(shapes) > 1 {
		all = slices.Concat(shapes...)
	}
	d, pairs := len(all[0]), len(shapes[0])*len(all)/len(shapes)
	extent := Extent(all)
	if !lists.Finite(extent...) {
		for i, p := range all {
			if len(p) != d || !lists.Finite(p...) {
				return nil, fmt.Errorf("kernels.Fast: point %d of all shapes is %v, want %d finite coordinates", i, p, d)
			}
		}
		return nil, fmt.Errorf("kernels.Fast: the points spread over %g, which is too much for double precision", extent)
	}
	s := newSampler(k, d)
	if s.terms == nil {
		if err := check(k, k, shapes[0], tolerance); err != nil {
			return nil, err
		}
	}
	if pairs <= 4*tileSize*tileSize {
		return k, nil
	}
	if _, err := engine.Backend(); err != nil {
		return nil, err
	}
	floats.Scale(margin, extent)
	s.costs = costsOf(s.terms, d)
	return s.fastest(k, extent, shapes[0], all, float64(pairs), tolerance)
}

// fastest makes the cheapest of the candidates that keeps the tolerance.
func (s *sampler) fastest(k Kernel, extent []float64, points, targets [][]float64, pairs, tolerance float64) (Kernel, error) {
	var errs []error
	for _, c := range s.candidates(k, extent, points, targets, pairs, tolerance) {
		fast, err := c.make()
		if err == nil && s.terms == nil { // to compile two sums takes as long as the first call of the result
			err = check(fast, k, points, tolerance)
		}
		if err == nil {
			return fast, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// Exact returns a kernel without the way to sum that Fast, Tiled, Expand or Grid gave it.
func Exact(k Kernel) Kernel {
	switch k := k.(type) {
	case tiled:
		return k.Kernel
	case levels:
		return k.Kernel
	case *Gridded:
		return k.Kernel
	case *Expansion:
		return k.Kernel
	}
	return k
}

// candidate is a way to sum: what H costs, and how the kernel is made.
type candidate struct {
	seconds float64
	make    func() (Kernel, error)
}

// candidates are the ways to sum over points, at those of targets, so many pairs a sum, in a box of such an extent, the cheapest first.
// Each is costed once, by what the kernel along the axes tells; coefficients are computed only for the one that is made.
func (s *sampler) candidates(k Kernel, extent []float64, points, targets [][]float64, pairs, tolerance float64) (out []candidate) {
	defer func() {
		slices.SortStableFunc(out, func(a, b candidate) int { return cmp.Compare(a.seconds, b.seconds) })
	}()
	n := (float64(len(points)) + pairs/float64(len(points))) / 2 // that waves and grids take, as often from points as to them
	perPair, perPiece := s.costs.of(s.terms), s.costs.pair+s.costs.term[native.Piece]
	out = []candidate{{pairs * perPair, func() (Kernel, error) { return Tiled(k), nil }}}
	reach, beyond := s.reach(tolerance)
	unit, ends := reach, math.Inf(1)
	if s.profile != nil {
		if unit = s.widths(); beyond == nil {
			ends = reach[0] * s.scale[0] // it is round in these units
		}
	} else if ends = 1; beyond != nil {
		unit = extent
	}
	share := nearShare(points, targets, unit, float64(s.costs.tile)/n)
	near := func(reach, seconds float64) float64 { return n*s.costs.sort + pairs*share(reach)*seconds }
	if beyond == nil {
		out = append(out, candidate{near(ends, perPair), func() (Kernel, error) { return tiled{k, reach}, nil }})
	}
	if s.d > 3 {
		return out
	}
	e := &Expansion{Kernel: k, Extent: extent}
	axes, err := s.axes(e, waveTolerance*tolerance)
	if err != nil {
		return out
	}
	if s.terms != nil {
		out = append(out, s.cheapestLevels(k, e, tolerance, n, ends, func(radius float64) float64 { return near(radius, perPiece) })...)
	}
	if e.rank() > maxModes {
		return out
	}
	return append(out,
		candidate{n * (s.costs.point + e.rank()*float64(s.d)*s.costs.wave), func() (Kernel, error) { return e, s.fit(e, axes, tolerance) }},
		candidate{s.cheapestGrid(e, n, tolerance).seconds(n, s.costs.gridCosts), func() (Kernel, error) { return s.grid(e, axes, n, tolerance) }})
}

// waveTolerance is the share of the tolerance that plane waves take whose grid takes the rest.
const waveTolerance = 0.5

// grid fits an expansion and puts it on a grid for sums over n points, with the tolerance for both.
func (s *sampler) grid(e *Expansion, axes []axis, n, tolerance float64) (*Gridded, error) {
	if err := s.fit(e, axes, waveTolerance*tolerance); err != nil {
		return nil, err
	}
	return gridOf(e, n, tolerance, s.costs.gridCosts)
}

// nearShare estimates the share of pairs, of points and targets, that tiles visit which are cut off at a reach in these units along the
// axes, where a tile holds a share of the points: the pairs within the reach and the width of two tiles. Half the width of a tile is
// the distance within which as many points lie as it holds.
func nearShare(points, targets [][]float64, unit []float64, tile float64) func(reach float64) float64 {
	const trials, low, high = 20000, 80, 800
	r := rand.New(rand.NewPCG(1, 1))
	distances := make([]float64, trials)
	for i := range distances {
		x, y := points[r.IntN(len(points))], targets[r.IntN(len(targets))]
		for a, u := range unit {
			d := (x[a] - y[a]) / u
			distances[i] += d * d
		}
		distances[i] = math.Sqrt(distances[i])
	}
	slices.Sort(distances)
	// Of shares that are few trials the share is a power of the distance: the dimension, 1 for a curve.
	first := distances[low]
	dimension := math.Log(high/low) / math.Log(distances[high]/first)
	if !(dimension >= 1) { // points that coincide
		dimension = 1
	}
	wide := first * math.Pow(tile*trials/low, 1/dimension)
	if at := int(tile * trials); at > low {
		wide = distances[min(at, trials-1)]
	}
	return func(reach float64) float64 {
		reach += 2 * wide
		if reach < first {
			return low * math.Pow(reach/first, dimension) / trials
		}
		within, _ := slices.BinarySearch(distances, reach)
		return float64(within) / trials
	}
}

// check compares fast sums with exact ones, which are to be finite, over at most 2000 of the points, relative to the sum of the |weights|.
func check(fast, exact Kernel, points [][]float64, tolerance float64) error {
	r := rand.New(rand.NewPCG(2, 1))
	subset, weights := make([][]float64, min(2000, len(points))), make([][]float64, min(2000, len(points)))
	for i := range subset {
		subset[i], weights[i] = points[r.IntN(len(points))], []float64{r.Float64()}
	}
	out, err := engine.Run(func(x, b *Node) []*Node {
		y := SliceAxis(x, 0, AxisRange(0, min(200, len(subset))))
		got, want := fast.Sum(y, x, b), exact.Sum(y, x, b)
		at0 := exact.Gram(SliceAxis(x, 0, AxisRange(0, 1)), SliceAxis(x, 0, AxisRange(0, 1)))
		return []*Node{ReduceAllMax(Abs(Sub(got, want))), Mul(ReduceAllSum(b), ReduceAllSum(at0)), ReduceAllSum(want), ReduceAllSum(got)}
	}, subset, weights)
	if err != nil {
		return err
	}
	if !lists.Finite(out.Scalar(1), out.Scalar(2)) {
		return fmt.Errorf("kernels.Fast: sums of %s over a random subset of the points are no finite numbers: give a kernel that is finite at every distance, 0 included", exact)
	}
	if e := out.Scalar(0) / out.Scalar(1); !(e <= tolerance) || !lists.Finite(out.Scalar(3)) { // a maximum drops NaN
		return fmt.Errorf("kernels.Fast: %s is off by %.2g on a random subset, tolerance %g: use Tiled", fast, e, tolerance)
	}
	return nil
}
