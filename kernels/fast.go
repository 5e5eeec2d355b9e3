package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/engine"
)

// Seconds of two cores per unit of work, measured once; only their ratios matter to the choice.
const (
	secondsPerPair = 5e-9    // of points, in a tile, with gradient
	secondsPerWave = 1.2e-10 // of a point, a plane wave and a coordinate, with gradient
	secondsPerBump = 1e-6    // of a point on a grid, and for each cell of its patch
	secondsPerCell = 3.5e-10
	secondsPerFFT  = 1e-7 // of a cell of the grid and a coordinate
)

// margin is by how much shapes may spread during a flow beyond the box of those that are given.
const margin = 1.25

// Fast returns a kernel with the sums that cost least for shapes like those given, to a tolerance: the matrix for few
// points, tiles, cut-off tiles, plane waves or a grid. Kernel.String says which, and their error. The choice can be
// overridden by calling Tiled, Cutoff, Expand or Grid instead.
//
// The box of the plane waves is that of all shapes, a quarter wider. The result has been compared with the kernel
// itself on a random subset of the points.
func Fast(k Kernel, tolerance float64, shapes ...[][]float64) (Kernel, error) {
	if len(shapes) == 0 || len(shapes[0]) == 0 {
		return nil, fmt.Errorf("kernels.Fast: no points")
	}
	if err := checkTolerance(tolerance); err != nil {
		return nil, fmt.Errorf("kernels.Fast: %w", err)
	}
	var all [][]float64
	for _, s := range shapes {
		all = append(all, s...)
	}
	n, d := len(shapes[0]), len(all[0])
	for i, p := range all {
		if len(p) != d || !finite(p) {
			return nil, fmt.Errorf("kernels.Fast: point %d of all shapes is %v, want %d finite coordinates", i, p, d)
		}
	}
	if n <= 2*tileSize {
		return k, nil
	}
	extent := Extent(all)
	for a := range extent {
		extent[a] *= margin
	}
	// What each would cost, and how to make it.
	type candidate struct {
		seconds float64
		make    func() (Kernel, error)
	}
	pairs := float64(n) * float64(n) / 2
	candidates := []candidate{{pairs * secondsPerPair, func() (Kernel, error) { return Tiled(k), nil }}}
	s := newSampler(k, d)
	if reach, err := s.reach(tolerance); err == nil {
		share := nearShare(shapes[0], reach)
		candidates = append(candidates, candidate{pairs * share * secondsPerPair, func() (Kernel, error) { return tiled{k, reach}, nil }})
	}
	e := &Expansion{Kernel: k, Extent: extent}
	if axes, err := s.axes(e, tolerance); err == nil && e.rank() <= maxModes {
		work := float64(n) * float64(e.rank()) * float64(d)
		candidates = append(candidates, candidate{work * secondsPerWave, func() (Kernel, error) { return e, s.fit(e, axes, tolerance) }})
		g := &Gridded{Expansion: *e}
		g.shape(tolerance)
		patch, cells := math.Pow(float64(g.patch()), float64(d)), 1.0
		for _, c := range g.Cells {
			cells *= float64(c)
		}
		seconds := float64(n)*(secondsPerBump+patch*secondsPerCell) + cells*float64(d)*secondsPerFFT
		candidates = append(candidates, candidate{seconds, func() (Kernel, error) {
			if err := s.fit(e, axes, tolerance); err != nil {
				return nil, err
			}
			return gridOf(e, tolerance)
		}})
	}
	for {
		best := 0
		for i, c := range candidates {
			if c.seconds < candidates[best].seconds {
				best = i
			}
		}
		fast, err := candidates[best].make()
		if err == nil {
			err = check(fast, k, shapes[0], tolerance)
		}
		if err == nil || len(candidates) == 1 {
			return fast, err
		}
		candidates = append(candidates[:best], candidates[best+1:]...)
	}
}

func finite(p []float64) bool {
	for _, v := range p {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// nearShare estimates the share of pairs that cut-off tiles visit: those of points closer than the reach and the size
// of two tiles.
func nearShare(points [][]float64, reach []float64) float64 {
	r := rand.New(rand.NewPCG(1, 1))
	extent := Extent(points)
	tile := math.Pow(float64(tileSize)/float64(len(points)), 0.5) // of a curve's or a surface's extent
	near := 0
	const trials = 20000
	for range trials {
		x, y := points[r.IntN(len(points))], points[r.IntN(len(points))]
		s := 0.0
		for a := range x {
			gap := math.Max(0, math.Abs(x[a]-y[a])-tile*extent[a]) / reach[a]
			s += gap * gap
		}
		if s < 1 {
			near++
		}
	}
	return float64(near) / trials
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
