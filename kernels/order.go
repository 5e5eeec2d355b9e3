package kernels

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
	"anatomy/internal/lists"
)

// order says in which order the points of a set fill its tiles: slot i has point forth[i], and point i is in slot
// inverse[i]. Without indices they keep the order in which they come.
type order struct{ forth, inverse *Node }

// arrange pads points to whole tiles, with copies of the last point. Where tiles can be left out it sorts them along
// a space-filling curve, so that the points of a tile lie together.
func (k tiled) arrange(x *Node) (*Node, order) {
	n := x.Shape().Dim(0)
	x = padded(x, SliceAxis(x, 0, AxisRange(n-1, n)))
	if k.reach == nil {
		return x, order{}
	}
	forth := sortedIndices(mortonCodes(x, k.reach))
	o := order{forth: forth, inverse: sortedIndices(forth)}
	return permute(x, o.forth, o.inverse), o
}

// weights brings the weights of points into their tiles. Padding has weight zero: it adds nothing to a sum.
func (o order) weights(b *Node) *Node {
	b = padded(b, Zeros(b.Graph(), shapes.Make(b.DType(), 1, b.Shape().Dim(1))))
	if o.forth == nil {
		return b
	}
	return permute(b, o.forth, o.inverse)
}

// back brings what was computed for the points of tiles into the order of the n points.
func (o order) back(v *Node, n int) *Node {
	if o.forth != nil {
		v = permute(v, o.inverse, o.forth)
	}
	return SliceAxis(v, 0, AxisRange(0, n))
}

// tileCount is how many tiles n points fill; padding does not change it. All tiles of a set have the same size.
func tileCount(n int) int { return (n + tileSize - 1) / tileSize }

func padded(x, row *Node) *Node {
	n := x.Shape().Dim(0)
	tiles := tileCount(n)
	missing := (n+tiles-1)/tiles*tiles - n
	if missing == 0 {
		return x
	}
	return Concatenate([]*Node{x, BroadcastToDims(row, missing, x.Shape().Dim(1))}, 0)
}

// permute is x[forth[i]]; inverse is the inverse permutation, which takes cotangents back.
func permute(x, forth, inverse *Node) *Node {
	out := Gather(x, ExpandAxes(forth, -1))
	return autodiff.CustomVJP([]*Node{x}, []*Node{out}, func(ct []*Node) []*Node {
		return []*Node{permute(ct[0], inverse, forth)}
	})[0]
}

// sortedIndices returns the indices that sort int32 keys: those are the low bits of what is sorted.
func sortedIndices(keys *Node) *Node {
	high := BitwiseShiftLeftScalar(ConvertDType(keys, dtypes.Int64), int64(32))
	index := Iota(keys.Graph(), shapes.Make(dtypes.Int64, keys.Shape().Dimensions...), 0)
	return ConvertDType(Sort(Add(high, index), 0, true), dtypes.Int32)
}

// mortonCodes numbers cells, a 16th of the reach wide or wider, by interleaving the bits of their coordinates, and returns the
// numbers of the points' cells. Points with numbers near each other lie near each other.
func mortonCodes(x *Node, reach []float64) *Node {
	d := min(len(reach), 15) // more axes leave no bit for each
	bits := 30 / d
	low, high := ReduceMin(x, 0), ReduceMax(x, 0)
	return lists.Fold(d, BitwiseOr, func(a int) *Node {
		la, ha := SliceAxis(low, 0, AxisElem(a)), SliceAxis(high, 0, AxisElem(a))
		cell := Max(MulScalar(Sub(ha, la), 1.0001/float64(int(1)<<bits)), number(x, reach[a]/16))
		c := ConvertDType(Floor(Div(Sub(Squeeze(SliceAxis(x, 1, AxisElem(a)), 1), la), cell)), dtypes.Int32)
		return lists.Fold(bits, BitwiseOr, func(b int) *Node {
			bit := BitwiseAnd(BitwiseShiftRightLogicalScalar(c, int32(b)), OnesLike(c))
			return BitwiseShiftLeftScalar(bit, int32(b*d+a))
		})
	})
}

// near are the pairs (I, J) of tiles of the padded points x and y whose boxes are within reach of each other; for a
// symmetric sum only those with I ≤ J, since a pairFunc adds to the sums over both tiles. About a pair it is told one
// scalar, the factor of what it adds to the second sum: 0 for a tile with itself, because the first sum has met each of
// its pairs of points in both orders, and otherwise 1.
func (k tiled) near(x, y *Node, symmetric bool) pairs {
	g := x.Graph()
	tx, ty := tileCount(x.Shape().Dim(0)), tileCount(y.Shape().Dim(0))
	sizeX, sizeY := x.Shape().Dim(0)/tx, y.Shape().Dim(0)/ty
	grid := shapes.Make(dtypes.Int32, tx, ty)
	i, j := Iota(g, grid, 0), Iota(g, grid, 1)
	keep := GreaterOrEqual(i, ZerosLike(i))
	if symmetric {
		keep = LessOrEqual(i, j)
	}
	if k.reach != nil {
		lowX, highX := boxes(x, tx)
		lowY, highY := boxes(y, ty)
		s := lists.Fold(len(k.reach), Add, func(a int) *Node {
			column := func(v *Node) *Node { return SliceAxis(v, 1, AxisRange(a, a+1)) }
			row := func(v *Node) *Node { return Transpose(column(v), 0, 1) }
			gap := Max(Sub(column(lowX), row(highY)), Sub(row(lowY), column(highX)))
			return Square(Mul(Max(gap, ZerosLike(gap)), number(gap, 1/k.reach[a])))
		})
		keep = LogicalAnd(keep, LogicalNot(GreaterOrEqual(s, OnesLike(s)))) // what is not a number is near everything
	}
	index := Add(MulScalar(i, ty), j)
	last := MulScalar(OnesLike(index), tx*ty)
	list := Sort(Reshape(Where(keep, index, last), tx*ty), 0, true)
	piece := func(rows int) func(v *Node) []int {
		return func(v *Node) []int { return []int{rows, v.Shape().Dim(1)} }
	}
	return pairs{
		count: ReduceAllSum(ConvertDType(keep, dtypes.Int32)),
		sizeX: piece(sizeX), sizeY: piece(sizeY),
		at: func(c *Node) (startX, startY, about []*Node) {
			pair, columns := autodiff.At(list, c), Const(c.Graph(), int32(ty))
			i, j, zero := Div(pair, columns), Mod(pair, columns), Const(c.Graph(), int32(0))
			once := ConvertDType(NotEqual(i, j), x.DType())
			return []*Node{MulScalar(i, sizeX), zero}, []*Node{MulScalar(j, sizeY), zero}, []*Node{once}
		},
	}
}

// boxes are the corners of the bounding boxes of tiles, [tiles, D].
func boxes(x *Node, tiles int) (low, high *Node) {
	x = Reshape(x, tiles, x.Shape().Dim(0)/tiles, x.Shape().Dim(1))
	return ReduceMin(x, 1), ReduceMax(x, 1)
}
