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
	"anatomy/kernels/native"
)

// Seconds of two cores per unit of work of H, measured once; only their ratios matter to the choice.
const (
	secondsInC     = 2.3e-10 // of a pair of points, in C, without the terms of the kernel
	secondsToSort  = 2.5e-7  // of a point, in C, to find those that lie near it
	secondsPerBump = 9e-8    // of a point on a grid in C, and for each cell that its bump covers
	secondsPerCell = 5.5e-10
	secondsPerFFT  = 3e-10 // of a coordinate, a cell of a line of the grid that is transformed, and the logarithm of their number to base 2

	// On the graph, where the whole grid is transformed.
	secondsPerPair        = 2.3e-9
	secondsPerWave        = 1.8e-10 // of a point, a plane wave and a coordinate
	secondsPerBumpOnGraph = 1e-6
	secondsPerCellOnGraph = 5.8e-10
	secondsPerFFTOnGraph  = 4e-9
)

// secondsPerTerm are those of a term of the kernel and a pair of points, in C.
var secondsPerTerm = [...]float64{native.Exponential: 1.3e-10, native.Fraction: 7e-11, native.Root: 2.3e-10, native.Piece: 2.3e-10}

// margin is by how much shapes may spread during a flow beyond the box of those that are given.
const margin = 1.25

// Fast returns a kernel with the sums that cost least for shapes like those given, to a tolerance: the kernel itself for
// few points, tiles, cut-off tiles, plane waves (where there are no sums in C), a grid, a fine and a coarse grid, or cut-off tiles for
// the near part of the kernel and one or two grids for the rest. Kernel.String says which, and the error of waves and grids. The choice
// can be overridden by calling Tiled, Cutoff, Expand, Grid or NearFar instead.
//
// The costs are those of sums over the first shape at the points of each: where control points carry many others, give the control
// points first. The box of the plane waves is that of all shapes, a quarter wider. What is left out is measured on a grid of
// differences; of a kernel that may be other between the axes than along them, sums over a random subset of the points are compared
// with exact ones, too.
func Fast(k Kernel, tolerance float64, shapes ...[][]float64) (Kernel, error) {
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
	if !finite(extent) {
		for i, p := range all {
			if len(p) != d || !finite(p) {
				return nil, fmt.Errorf("kernels.Fast: point %d of all shapes is %v, want %d finite coordinates", i, p, d)
			}
		}
		return nil, fmt.Errorf("kernels.Fast: the points spread over %g, which is too much for double precision", extent)
	}
	if pairs <= 4*tileSize*tileSize {
		return k, nil
	}
	if _, err := engine.Backend(); err != nil {
		return nil, err
	}
	floats.Scale(margin, extent)
	candidates := candidates(k, newSampler(k, d), extent, shapes[0], all, float64(pairs), tolerance)
	slices.SortStableFunc(candidates, func(a, b candidate) int { return cmp.Compare(a.seconds, b.seconds) })
	_, isRadial := describe(k, d, nil)
	var errs []error
	for _, c := range candidates {
		fast, err := c.make()
		if err == nil && !isRadial { // to compile two sums takes as long as the first call of the result
			err = check(fast, k, shapes[0], tolerance)
		}
		if err == nil {
			return fast, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// Exact returns a kernel without the way to sum that Fast, Tiled, Cutoff, Expand, Grid or NearFar gave it.
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

// candidates are the ways to sum over points, at those of targets, so many pairs a sum, in a box of such an extent. Each is costed
// once, by what the kernel along the axes tells; coefficients are computed only for the one that is made.
func candidates(k Kernel, s *sampler, extent []float64, points, targets [][]float64, pairs, tolerance float64) []candidate {
	n := (float64(len(points)) + pairs/float64(len(points))) / 2 // that waves and grids take, as often from points as to them
	perPair, perPiece, perPoint, tile := secondsPerPair, secondsPerPair, 0.0, tileSize
	if s.terms != nil && engine.HasNative(native.Pairs) {
		perPair, perPiece, perPoint, tile = secondsInC, secondsInC+secondsPerTerm[native.Piece], secondsToSort, native.Tile
		for _, t := range s.terms {
			perPair += secondsPerTerm[t.Kind]
		}
	}
	out := []candidate{{pairs * perPair, func() (Kernel, error) { return Tiled(k), nil }}}
	reach, beyond := s.reach(tolerance)
	unit, ends := reach, math.Inf(1)
	if s.profile != nil {
		if unit = s.widths(); beyond == nil {
			ends = reach[0] * s.scale[0] // it is round in these units
		}
	} else if ends = 1; beyond != nil {
		unit = extent
	}
	share := nearShare(points, targets, unit, float64(tile)/n)
	near := func(reach, seconds float64) float64 { return n*perPoint + pairs*share(reach)*seconds }
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
		candidate{n * e.rank() * float64(s.d) * secondsPerWave, func() (Kernel, error) { return e, s.fit(e, axes, tolerance) }},
		candidate{cheapestGrid(e, n, tolerance).seconds(n), func() (Kernel, error) { return s.grid(e, axes, n, tolerance) }})
}

// waveTolerance is the share of the tolerance that plane waves take whose grid takes the rest.
const waveTolerance = 0.5

// grid fits an expansion and puts it on a grid for sums over n points, with the tolerance for both.
func (s *sampler) grid(e *Expansion, axes []axis, n, tolerance float64) (*Gridded, error) {
	if err := s.fit(e, axes, waveTolerance*tolerance); err != nil {
		return nil, err
	}
	return gridOf(e, n, tolerance)
}

func finite(p []float64) bool {
	for _, v := range p {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
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

// check compares fast sums with exact ones over at most 2000 of the points, relative to the sum of the |weights|.
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
		return []*Node{ReduceAllMax(Abs(Sub(got, want))), Mul(ReduceAllSum(b), ReduceAllSum(at0))}
	}, subset, weights)
	if err != nil {
		return err
	}
	if e := out.Scalar(0) / out.Scalar(1); !(e <= tolerance) {
		return fmt.Errorf("kernels.Fast: %s is off by %.2g on a random subset, tolerance %g: use Tiled", fast, e, tolerance)
	}
	return nil
}
