package kernels

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
	"anatomy/geom/engine"
	"anatomy/geom/linalg"
	"anatomy/internal/lists"
	"anatomy/internal/refuse"
)

// pointsInChunk is how many points of one bin are spread together.
const pointsInChunk = 64

// bumpFloor keeps the derivatives of the root finite at the ends of the bump.
const bumpFloor = 1e-4

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
			return append([]int{v.Shape().Dim(0)}, slices.Repeat([]int{k.patch()}, d)...)
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
	half := float64(k.bump.width) / 2
	return lists.Make(len(k.Cells), func(a int) *Node {
		cell := Iota(x.Graph(), shapes.Make(x.DType(), 1, k.patch()), 1)
		at := AddScalar(Sub(SliceAxis(x, 1, AxisRange(a, a+1)), about[1+a]), half)
		t := MulScalar(Sub(at, cell), 1/half)
		rest := OneMinus(Square(t))
		root := Sqrt(MaxScalar(rest, bumpFloor))
		return Mul(MaxScalar(rest, 0), Exp(MulScalar(AddScalar(root, -1), k.bump.beta)))
	})
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
		shape := append([]int{c}, slices.Repeat([]int{k.patch()}, d)...)
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
		mirror, gap := a < d-1, n-1-2*m
		if !mirror { // of the last axis a real transform keeps half
			gap = n/2 - m
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
