package kernels

import (
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
	"anatomy/geom/engine"
	"anatomy/geom/linalg"
	"anatomy/internal/lists"
	"anatomy/internal/refuse"
	"anatomy/kernels/native"
)

// Gridded is an Expansion whose plane waves are summed by a fast Fourier transform between non-uniform points: weights
// are spread from the points to a grid with a bump φ of a few cells, the grid is convolved with the kernel, and the
// result is read off at the points with the same bump,
//
//	K(x, y) ≈ Σ_gh φ(x − g) C(g − h) φ(y − h).
//
// The cost is O(n + N log N) for a grid of N cells, whatever the number of waves; in C, where only rows that bumps cover are
// transformed, it is the least there is from a few thousand points on. Like the expansion it is its own symmetric kernel; the grid
// keeps translation invariance only to Error.
type Gridded struct {
	Expansion
	Cells []int // of the grid, along each axis

	bump   bump
	pieces [][]float64 // of it, see native.DescribeGrid
	bins   int         // cells of a bin along each axis
}

// pointsInChunk is how many points of one bin are spread together.
const pointsInChunk = 64

// Grid finds plane waves as Expand does, and a grid that sums them, with the tolerance for both.
func Grid(k Kernel, extent []float64, tolerance float64) (*Gridded, error) {
	if err := checkExpansion(extent, tolerance); err != nil {
		return nil, fmt.Errorf("kernels.Grid: %w", err)
	}
	if _, err := engine.Backend(); err != nil {
		return nil, err
	}
	s := newSampler(k, len(extent))
	s.costs = costsOf(s.terms, s.d)
	e := &Expansion{Kernel: k, Extent: extent}
	axes, err := s.axes(e, waveTolerance*tolerance)
	if err != nil {
		return nil, err
	}
	return s.grid(e, axes, gridPoints, tolerance)
}

// gridPoints is for how many points the grid of Grid is chosen.
const gridPoints = 1e5

// gridOf puts an expansion on the grid that costs least for sums over n points, of those that keep the tolerance.
func gridOf(e *Expansion, n, tolerance float64, c gridCosts) (*Gridded, error) {
	var g *Gridded
	along := spreadOf(e)
	for _, ratio := range ratios {
		for width := max(leastWidth, usualWidth(ratio, tolerance)-1); width <= native.MaxWidth; width++ {
			h := newGrid(e, width, ratio)
			if g != nil && h.seconds(n, c) >= g.seconds(n, c) {
				break
			}
			if h.Error += h.adds(along); h.Error <= tolerance {
				g = h
				break
			}
		}
	}
	if g == nil {
		return nil, fmt.Errorf("kernels.Grid: no bump of %d cells is as smooth as the tolerance %g asks: use Expand, tiles or a larger one", native.MaxWidth, tolerance)
	}
	if err := engine.Fits(fmt.Sprintf("kernels.Grid: %s over %.3g on a grid of %s cells", e.Kernel, e.Extent, by(g.Cells)), g.bytes()); err != nil {
		return nil, fmt.Errorf("%w: use tiles, a wider kernel or a larger tolerance", err)
	}
	// Folding the transform of the bump and of cosines into the coefficients leaves one product between the transforms.
	factors := make([][]float64, len(e.Modes))
	for a, m := range e.Modes {
		for j := range m + 1 {
			f := g.bump.transform(2 * math.Pi * float64(j) / float64(g.Cells[a]))
			if f = float64(g.Cells[a]) / (f * f); j > 0 {
				f /= 2
			}
			factors[a] = append(factors[a], f)
		}
	}
	g.core = make([]float64, len(e.core))
	last := factors[len(factors)-1]
	inParts(len(e.core)/len(last), func(from, to int) {
		for row := from; row < to; row++ {
			factor, rest := 1.0, row
			for a := len(factors) - 2; a >= 0; a-- {
				factor *= factors[a][rest%len(factors[a])]
				rest /= len(factors[a])
			}
			for i, f := range last {
				g.core[row*len(last)+i] = factor * f * e.core[row*len(last)+i]
			}
		}
	})
	g.pieces = g.bump.polynomials(tolerance)
	return g, nil
}

// bytes is what H takes over points that fill the extent: of each component the rows of the grid that bumps cover, and the waves that are
// kept after the transforms of two axes; on the graph the grid and all waves, twice.
func (k *Gridded) bytes() float64 {
	d := len(k.Cells)
	if !engine.HasNative(native.Grid) {
		return 32 * float64(d) * k.cells()
	}
	grid, waves := 8*float64(d), 8*float64(d)
	for a, cells := range k.Cells {
		if a < d-1 {
			grid *= k.covered(a)
		} else {
			grid *= float64(cells)
		}
		if a > 0 || d < 3 {
			waves *= float64(2*k.Modes[a] + 1)
		} else {
			waves *= float64(cells)
		}
	}
	return grid + waves
}

// spreadOf is how the coefficients of an expansion are spread along each axis: the sums of those with each j.
func spreadOf(e *Expansion) [][]float64 {
	out := lists.Each(e.Modes, func(m int) []float64 { return make([]float64, m+1) })
	last := out[len(out)-1]
	for row := range len(e.core) / len(last) {
		sum, rest := 0.0, row
		for i, c := range e.core[row*len(last):][:len(last)] {
			c = math.Abs(c)
			sum += c
			last[i] += c
		}
		for a := len(out) - 2; a >= 0; a-- {
			out[a][rest%len(out[a])] += sum
			rest /= len(out[a])
		}
	}
	return out
}

// newGrid is an empty grid with about ratio times as many cells as an expansion has waves.
func newGrid(e *Expansion, width int, ratio float64) *Gridded {
	g := &Gridded{Expansion: *e, bump: newBump(width, ratio), bins: []int{64, 16, 8}[len(e.Modes)-1]}
	for a, m := range g.Modes {
		least := max(int(math.Ceil(ratio*float64(2*m+1))), 3*width)
		if g.Extent[a] > 0 { // bumps do not reach around the grid
			least = max(least, int(math.Ceil(float64(width+2)/(1-g.Extent[a]/g.Period[a]))))
		}
		g.Cells = append(g.Cells, goodLength(least, g.bins))
	}
	return g
}

// ratios are how many times as many cells as waves a grid may have.
var ratios = []float64{3, 2.5, 2, 1.6, 1.25}

// cheapestGrid is the empty grid that costs least for sums over n points of those that add about the tolerance, for the modes of an
// expansion, which needs no coefficients yet.
func (s *sampler) cheapestGrid(e *Expansion, n, tolerance float64) *Gridded {
	var best *Gridded
	for _, ratio := range ratios {
		if g := newGrid(e, usualWidth(ratio, tolerance), ratio); best == nil || g.seconds(n, s.costs.gridCosts) < best.seconds(n, s.costs.gridCosts) {
			best = g
		}
	}
	return best
}

// usualWidth is the least width of bumps that add at most the tolerance to waves along a line whose coefficients fall as a Gaussian,
// to the tolerance at the last one. It is about log(1/tolerance)/(π√(1 − 1/ratio)) and some more for the slope (Barnett, Magland, af
// Klinteberg, 2019).
func usualWidth(ratio, tolerance float64) int {
	if w, ok := usualWidths.Load([2]float64{ratio, tolerance}); ok {
		return w.(int)
	}
	const modes = 24
	e := &Expansion{Modes: []int{modes}}
	along := make([]float64, modes+1)
	for j := range along {
		t := float64(j) / modes
		along[j] = math.Exp(math.Log(tolerance) * t * t)
	}
	width := leastWidth
	for ; width < native.MaxWidth; width++ {
		g := &Gridded{Expansion: *e, Cells: []int{int(ratio * (2*modes + 1))}, bump: newBump(width, ratio)}
		if g.adds([][]float64{along}) <= tolerance {
			break
		}
	}
	usualWidths.Store([2]float64{ratio, tolerance}, width)
	return width
}

// leastWidth is that of bumps.
const leastWidth = 3

var usualWidths sync.Map // as they were found

// adds bounds the error of a grid relative to K(0), to the greatest slope, and to ten times the greatest curvature along an axis, if
// coefficients along different axes do not depend on each other. A wave of frequency ω cells⁻¹ is also spread and read as those of
// frequencies ω + 2πl, by the part of the bump's transform φ^ there.
func (k *Gridded) adds(along [][]float64) float64 {
	worst, values := 0.0, 0.0
	type sums struct{ slope, curvature, slopes, curvatures float64 }
	axes := make([]sums, len(along))
	for a, c := range along {
		total, value := 0.0, 0.0
		s := &axes[a]
		for j, c := range c {
			omega := 2 * math.Pi * float64(j) / float64(k.Cells[a])
			own := k.bump.transform(omega)
			for l := -2; l <= 2; l++ {
				if l == 0 {
					continue
				}
				other := omega + 2*math.Pi*float64(l)
				part := math.Abs(k.bump.transform(other)/own) * c
				value += 2 * part
				s.slope += part * (math.Abs(other) + omega)
				s.curvature += part * (other*other + omega*omega)
			}
			total += c
			s.slopes += c * omega
			s.curvatures += c * omega * omega
		}
		values += value / total
		s.slope, s.curvature, s.slopes, s.curvatures = s.slope/total, s.curvature/total, s.slopes/total, s.curvatures/total
	}
	worst = values
	for _, s := range axes {
		if s.curvatures == 0 { // one wave
			continue
		}
		// The greatest slope of a Gaussian is 0.6 times the root of its curvature.
		worst = math.Max(worst, (s.slope+s.slopes*values)/(0.6*math.Sqrt(s.curvatures)))
		worst = math.Max(worst, (s.curvature+s.curvatures*values)/(10*s.curvatures))
	}
	return worst
}

// seconds is what H costs over n points.
func (k *Gridded) seconds(n float64, c gridCosts) float64 {
	d := float64(len(k.Modes))
	covered, transformed := k.reached(), k.transformed()
	if !c.inC {
		covered, transformed = math.Pow(float64(k.patch()), d), k.cells()*math.Log2(k.cells())
	}
	return n*(c.bump+covered*c.cell) + d*transformed*c.fft
}

// reached is how many cells a bump covers.
func (k *Gridded) reached() float64 { return math.Pow(float64(k.bump.width), float64(len(k.Cells))) }

// transformed is the sum of n·log₂(n) over the lines of n cells that are transformed for a column: along the last axis the rows that
// bumps cover, along the others those of the waves that are kept.
func (k *Gridded) transformed() (work float64) {
	for a, cells := range k.Cells {
		lines := 1.0
		for b := range k.Cells {
			if b < a {
				lines *= k.covered(b)
			} else if b > a {
				lines *= float64(2*k.Modes[b] + 1)
			}
		}
		work += lines * float64(cells) * math.Log2(float64(cells))
	}
	return work
}

// Flops are the additions and multiplications of H, or of a sum alone, over n points that fill the extent, without what a bump itself
// takes: each column is spread to all cells of a bump and read from them, for H with a derivative, and goes through two transforms of
// real numbers.
func (k *Gridded) Flops(n int, forces bool) float64 {
	perCell := 4.0
	if forces {
		perCell = 6
	}
	return float64(len(k.Cells)) * (perCell*float64(n)*k.reached() + 5*k.transformed())
}

// covered is how many cells points that fill the extent cover along an axis, at least those of a bump.
func (k *Gridded) covered(axis int) float64 {
	return math.Max(float64(k.Cells[axis])*k.Extent[axis]/k.Period[axis], float64(k.bump.width))
}

// cells is the number of cells of the grid.
func (k *Gridded) cells() float64 {
	n := 1.0
	for _, c := range k.Cells {
		n *= float64(c)
	}
	return n
}

func (k *Gridded) String() string {
	return fmt.Sprintf("%s on a grid of %s cells, error %.1g", k.Kernel, by(k.Cells), k.Error)
}

// by writes the numbers 32 and 16 as 32 × 16.
func by(n []int) string {
	return strings.Join(strings.Fields(strings.Trim(fmt.Sprint(n), "[]")), " × ")
}

// goodLength is the least length from n on that is a multiple of a bin and has no prime factor above 5.
func goodLength(n, bin int) int {
	for n = (n + bin - 1) / bin; ; n++ {
		rest := n
		for _, p := range []int{2, 3, 5} {
			for rest%p == 0 {
				rest /= p
			}
		}
		if rest == 1 {
			return n * bin
		}
	}
}

// bumpFloor keeps the derivatives of the root finite at the ends of the bump.
const bumpFloor = 1e-4

// Sum spreads b from y and reads off at x.
func (k *Gridded) Sum(x, y, b *Node) *Node {
	if c, ok := k.inC(x, y, b); ok {
		return c.Sum(x, y, b)
	}
	return k.sumOnGraph(x, y, b)
}

// Hamilton has the convolved grid G of p, the velocities φ(x_i)·G and the forces −Σ_c p_ic ∇φ(x_i)·G_c.
func (k *Gridded) Hamilton(x, p *Node) (dx, dp *Node) {
	if c, ok := k.inC(x, x, p); ok {
		return c.Hamilton(x, p)
	}
	return k.hamiltonOnGraph(x, p)
}

func (k *Gridded) inC(x, y, b *Node) (pairwise, bool) {
	if !inC(native.Grid, x, y, b) || x.Shape().Dim(-1) != len(k.Cells) {
		return pairwise{}, false
	}
	axes := lists.Make(len(k.Cells), func(a int) native.GridAxis {
		return native.GridAxis{Cells: k.Cells[a], Modes: k.Modes[a], PerLength: float64(k.Cells[a]) / k.Period[a]}
	})
	return pairwise{k, native.Grid, native.DescribeGrid(axes, k.pieces, k.core)}, true
}

func (k *Gridded) sumOnGraph(x, y, b *Node) *Node {
	return overBatch([]*Node{x, y, b}, func(in []*Node) []*Node {
		low := StopGradient(Min(ReduceMin(in[0], 0), ReduceMin(in[1], 0)))
		grid := k.convolve(k.spread(k.sort(in[1], low), in[2]))
		at := k.sort(in[0], low)
		u, _ := pairSum(at.pairs, []*Node{at.points}, []*Node{grid}, []shapes.Shape{at.shape(in[2].Shape().Dim(1))}, nil, func(about, x, y []*Node) (fx, fy []*Node) {
			return []*Node{Mul(k.read(k.bumps(x[0], about), y[0]), about[0])}, nil
		})
		return []*Node{at.back(u[0])}
	})[0]
}

func (k *Gridded) hamiltonOnGraph(x, p *Node) (dx, dp *Node) {
	out := overBatch([]*Node{x, p}, func(in []*Node) []*Node {
		at := k.sort(in[0], StopGradient(ReduceMin(in[0], 0)))
		grid := k.convolve(k.spread(at, in[1]))
		both := []shapes.Shape{at.shape(in[1].Shape().Dim(1)), at.shape(len(k.Cells))}
		u, _ := pairSum(at.pairs, []*Node{at.points, at.weights(in[1])}, []*Node{grid}, both, nil, func(about, x, y []*Node) (fx, fy []*Node) {
			v := k.read(k.bumps(x[0], about), y[0])
			f := Gradient(Neg(ReduceAllSum(Mul(v, x[1]))), x[0])[0]
			return []*Node{Mul(v, about[0]), Mul(f, about[0])}, nil
		})
		return []*Node{at.back(u[0]), Mul(at.back(u[1]), k.cellsPerLength(in[0]))}
	})
	return out[0], out[1]
}

// binned are points in units of cells, sorted by bins, in chunks of points of one bin.
type binned struct {
	order
	pairs
	points *Node // [n + pointsInChunk, D]
	n      int
}

func (b binned) shape(columns int) shapes.Shape {
	return shapes.Make(b.points.DType(), b.n+pointsInChunk, columns)
}

func (b binned) weights(w *Node) *Node { return afterEnd(permute(w, b.forth, b.inverse)) }

func (b binned) back(v *Node) *Node {
	return permute(SliceAxis(v, 0, AxisRange(0, b.n)), b.inverse, b.forth)
}

// afterEnd appends rows of zeros: a chunk may reach beyond the last point.
func afterEnd(x *Node) *Node {
	return Concatenate([]*Node{x, Zeros(x.Graph(), shapes.Make(x.DType(), pointsInChunk, x.Shape().Dim(1)))}, 0)
}

// sort puts points into bins, and pairs each chunk with its patch of the grid. About a pair a pairFunc is told which rows
// of the chunk are its points, 1 or 0, [pointsInChunk, 1], and the first cell of the patch, one scalar an axis.
func (k *Gridded) sort(x, low *Node) binned {
	g, n, d := x.Graph(), x.Shape().Dim(0), len(k.Cells)
	refuse.If(x.Shape().Dim(1) != d, "kernels: points %s, the kernel %s is for %d coordinates", x.Shape(), k, d)
	cells := Mul(Sub(x, ExpandAxes(low, 0)), k.cellsPerLength(x))
	var bin *Node
	for a, c := range k.Cells {
		i := Squeeze(SliceAxis(StopGradient(cells), 1, AxisElem(a)), 1)
		// What lies outside the box, or is not a number, is an error of the caller: it must not leave the grid.
		b := Clip(ConvertDType(Floor(DivScalar(i, k.bins)), dtypes.Int32), Const(g, int32(0)), Const(g, int32(c/k.bins-1)))
		if bin == nil {
			bin = b
		} else {
			bin = Add(MulScalar(bin, c/k.bins), b)
		}
	}
	forth := sortedIndices(bin)
	o := binned{order: order{forth, sortedIndices(forth)}, n: n}
	o.points = afterEnd(permute(cells, o.forth, o.inverse))

	bin = Squeeze(Gather(ExpandAxes(bin, -1), ExpandAxes(forth, -1)), 1)
	index := Iota(g, bin.Shape(), 0)
	starts := Equal(Mod(index, MulScalar(OnesLike(index), pointsInChunk)), ZerosLike(index))
	if n > 1 {
		differs := NotEqual(SliceAxis(bin, 0, AxisRange(1, n)), SliceAxis(bin, 0, AxisRange(0, n-1)))
		first := Const(g, []bool{true})
		starts = LogicalOr(starts, Concatenate([]*Node{first, differs}, 0))
	}
	list := Sort(Where(starts, index, MulScalar(OnesLike(index), n)), 0, true)
	list = Concatenate([]*Node{list, Const(g, []int32{int32(n)})}, 0)
	o.pairs = pairs{
		count: ReduceAllSum(ConvertDType(starts, dtypes.Int32)),
		sizeX: func(v *Node) []int { return []int{pointsInChunk, v.Shape().Dim(1)} },
		sizeY: func(v *Node) []int {
			size := []int{v.Shape().Dim(0)}
			for range d {
				size = append(size, k.patch())
			}
			return size
		},
		at: func(c *Node) (startX, startY, about []*Node) {
			from, to := autodiff.At(list, c), autodiff.At(list, AddScalar(c, 1))
			zero := Const(c.Graph(), int32(0))
			rows := Add(Iota(c.Graph(), shapes.Make(dtypes.Int32, pointsInChunk, 1), 0), from)
			about = []*Node{ConvertDType(LessThan(rows, to), x.DType())}
			rest := autodiff.At(bin, from)
			corner := make([]*Node, d)
			for a := d - 1; a >= 0; a-- {
				bins := Const(c.Graph(), int32(k.Cells[a]/k.bins))
				corner[a], rest = MulScalar(Mod(rest, bins), k.bins), Div(rest, bins)
			}
			for _, o := range corner {
				about = append(about, ConvertDType(o, x.DType()))
			}
			return []*Node{from, zero}, append([]*Node{zero}, corner...), about
		},
	}
	return o
}

// cellsPerLength is [1, D].
func (k *Gridded) cellsPerLength(like *Node) *Node {
	v := lists.Make(len(k.Cells), func(a int) float64 { return float64(k.Cells[a]) / k.Period[a] })
	return engine.Setting(like.Graph(), like.DType(), v, 1, len(v))
}

// patch is the number of cells along an axis that the bumps of the points of a bin cover. The grid that sums see has a
// margin of as many cells: cell 0 of it is half a bump before the first point.
func (k *Gridded) patch() int { return k.bins + k.bump.width + 1 }

// bumps are φ of every point of a chunk at the cells of its patch, [pointsInChunk, patch] for each axis.
func (k *Gridded) bumps(x *Node, about []*Node) []*Node {
	out := make([]*Node, len(k.Cells))
	half := float64(k.bump.width) / 2
	for a := range out {
		cell := Iota(x.Graph(), shapes.Make(x.DType(), 1, k.patch()), 1)
		at := AddScalar(Sub(SliceAxis(x, 1, AxisRange(a, a+1)), about[1+a]), half)
		t := MulScalar(Sub(at, cell), 1/half)
		rest := OneMinus(Square(t))
		root := Sqrt(MaxScalar(rest, bumpFloor))
		out[a] = Mul(MaxScalar(rest, 0), Exp(MulScalar(AddScalar(root, -1), k.bump.beta)))
	}
	return out
}

// read is Σ_cells φ(x_i)·grid_c, [pointsInChunk, C], of a patch [C, patch, …].
func (k *Gridded) read(w []*Node, patch *Node) *Node {
	d, c, p := len(w), patch.Shape().Dim(0), k.patch()
	rest := Reshape(patch, c, patch.Shape().Size()/c)
	last := w[d-1]
	// All axes but the first by one product of matrices, the first one by one.
	if d == 1 {
		return linalg.MatMul(last, linalg.T(rest))
	}
	right := last
	if d == 3 {
		right = rowProduct(w[1], last)
	}
	v := linalg.MatMul(right, linalg.T(Reshape(rest, c*p, right.Shape().Dim(1)))) // [points, C·patch]
	return ReduceSum(Mul(Reshape(v, pointsInChunk, c, p), ExpandAxes(w[0], 1)), -1)
}

// rowProduct is [n, a·b] of [n, a] and [n, b].
func rowProduct(a, b *Node) *Node {
	return Reshape(Mul(ExpandAxes(a, 2), ExpandAxes(b, 1)), a.Shape().Dim(0), a.Shape().Dim(1)*b.Shape().Dim(1))
}

// spread adds weights [n, C] to a grid with margins, [C, cells + margin, …].
func (k *Gridded) spread(at binned, b *Node) *Node {
	c := b.Shape().Dim(1)
	dims := []int{c}
	for _, n := range k.Cells {
		dims = append(dims, n+k.patch())
	}
	grid := shapes.Make(b.DType(), dims...)
	_, sum := pairSum(at.pairs, []*Node{at.points, at.weights(b)}, nil, nil, []shapes.Shape{grid}, func(about, x, _ []*Node) (fx, fy []*Node) {
		w := k.bumps(x[0], about)
		d := len(w)
		weights := Mul(x[1], about[0])
		left := rowProduct(weights, w[0])
		shape := []int{c}
		for range d {
			shape = append(shape, k.patch())
		}
		if d == 1 {
			return nil, []*Node{Reshape(ReduceSum(left, 0), shape...)}
		}
		right := w[d-1]
		if d == 3 {
			right = rowProduct(w[1], right)
		}
		return nil, []*Node{Reshape(linalg.MatMul(linalg.T(left), right), shape...)}
	})
	return sum[0]
}

// convolve multiplies the Fourier transform of grids [C, cells + margin, …] with the coefficients. It is its own adjoint.
func (k *Gridded) convolve(grid *Node) *Node {
	d := len(k.Cells)
	inner := make([]SliceAxisSpec, d+1)
	inner[0] = AxisRange()
	for a, n := range k.Cells {
		inner[a+1] = AxisRange(0, n)
	}
	// The margins hold nothing: the extent of the points ends before them.
	f := RealFFT(Slice(grid, inner...), k.Cells...)
	c := engine.Setting(grid.Graph(), grid.DType(), k.core, k.coreDims()...)
	for a, m := range k.Modes {
		n := k.Cells[a]
		mirror := a < d-1 // of the last axis a real transform keeps half
		length := n/2 + 1
		if mirror {
			length = n
		}
		gap := length - (m + 1)
		if mirror {
			gap -= m
		}
		dims := append([]int{}, c.Shape().Dimensions...)
		dims[a] = gap
		parts := []*Node{c, Zeros(grid.Graph(), shapes.Make(c.DType(), dims...))}
		if mirror && m > 0 {
			parts = append(parts, Reverse(SliceAxis(c, a, AxisRange(1, m+1)), a))
		}
		c = Concatenate(parts, a)
	}
	c = BroadcastToDims(ExpandAxes(c, 0), f.Shape().Dimensions...)
	out := InverseRealFFT(Mul(f, ConvertDType(c, f.DType())), k.Cells...)
	pad := make([]PadAxis, d+1)
	for a := range d {
		pad[a+1] = PadAxis{End: k.patch()}
	}
	out = Pad(out, ScalarZero(grid.Graph(), grid.DType()), pad...)
	return autodiff.CustomVJP([]*Node{grid}, []*Node{out}, func(ct []*Node) []*Node {
		return []*Node{k.convolve(ct[0])}
	})[0]
}
