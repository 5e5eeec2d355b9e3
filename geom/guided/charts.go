package guided

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/autodiff"
	"anatomy/geom/linalg"
	"anatomy/geom/shape"
	"anatomy/geom/try"
)

// On a geom.Charted manifold a path takes each step in the chart centred where it is, and messages are about coordinates in other charts,
// whose centres are among the points that the chains have visited. A step takes the message after it to its own chart, to first order.
// Its weight is a ratio of two densities in one chart, so that no Jacobian comes in and no change of charts makes weights wrong.

// centres are those of the charts of messages: at the root, [G, 1, a], and at the ends of the steps of each level, [n + 1, G, E, a].
type centres struct {
	root   *tensors.Tensor
	levels []*tensors.Tensor
}

// centred are the charts of messages that paths, [C·E, ...], are told: those centred at c, [G, E, a].
func (m model) centred(c *Node, chains int) geom.Local {
	return geom.At(m.manifold, merge(perChain(c, chains)))
}

// heard takes messages b, [N, n, n], and f, [N, n, D], of coordinates in other charts to those in the charts local of paths. The two agree
// at x, [N, n, D], and to first order, but for how the coordinates of parts in the other chart change with the point.
func (m model) heard(local, chart geom.Local, x, b, f *Node) (_, _ *Node) {
	dim := m.manifold.Dim()
	point := m.split(x, dim)[0]
	there, slope := local.Moved(point).Change(chart)
	off := Sub(there, linalg.MatVec(slope, point))
	block := func(k int) *Node { return SliceAxis(b, -1, AxisRange(k*dim, (k+1)*dim)) }
	f = Sub(f, linalg.MatMul(block(0), ExpandAxes(off, -1)))
	columns := []*Node{linalg.MatMul(block(0), slope)}
	for j, kind := range m.kinds {
		turn := slope
		if kind == geom.Covector {
			turn = linalg.T(linalg.InverseGeneral(slope))
		}
		for range m.parts[j] {
			columns = append(columns, linalg.MatMul(block(len(columns)), turn))
		}
	}
	return Concatenate(columns, -1), f
}

// moments are mean, [N, n], and covariance, [N, n, n], in the charts after, of the ends of steps of length h, [N, 1, 1], from the
// coordinates u, [N, n], in the charts before: those of the 2k ends whose noise is ±√k in one direction.
func (m model) moments(before, after geom.Local, u, h *Node, params []*Node, varies []bool) (mean, cov *Node) {
	local, x := m.enter(m.leave(before, ExpandAxes(u, -1)))
	b, sigma, _ := m.at(local, x, params, varies)
	centre := Add(x, Mul(h, b))
	noise := TransposeAllDims(MulScalar(Mul(Sqrt(h), sigma), math.Sqrt(float64(m.k))), 2, 0, 1)
	noise = ExpandAxes(noise, -1)
	middle := BroadcastPrefix(centre, m.k)
	ends := m.from(after, m.leave(local, Concatenate([]*Node{Add(middle, noise), Sub(middle, noise)}, 0)))
	mean = Squeeze(ReduceMean(ends, 0), -1)
	off := Sub(Squeeze(ends, -1), BroadcastPrefix(mean, 2*m.k))
	return mean, MulScalar(Einsum("kni,knj->nij", off, off), 1/float64(2*m.k))
}

// chartedStep is what sampler.visit has for a step: the means over chains, by the function mean, of the coordinates u, the
// covariance, the change of u and its derivative, all but the first divided by h0, the length of the step on the tree.
func (s *sampler[P]) chartedStep(x, before, after, h0, rate *Node, chains int, theta unknown, edges int, mean func(x *Node) *Node) []*Node {
	h := Mul(h0, rate)
	repeated := func(x *Node, times int) *Node {
		dims := x.Shape().Dimensions
		return Reshape(BroadcastPrefix(x, times), append([]int{times * dims[0]}, dims[1:]...)...)
	}
	before, after = merge(perChain(before, chains)), merge(perChain(after, chains))
	moments := func(u *Node, times int) (_, _ *Node) {
		from, to := geom.At(s.manifold, repeated(before, times)), geom.At(s.manifold, repeated(after, times))
		return s.moments(from, to, u, repeated(h, times), theta.along(edges, times), theta.varies)
	}
	u := Squeeze(s.from(geom.At(s.manifold, before), x), -1)
	ends, cov := moments(u, 1)
	phi := autodiff.Jacobian(func(u *Node) *Node {
		times := u.Shape().Size() / (s.n * x.Shape().Dim(0))
		ends, _ := moments(Reshape(u, times*x.Shape().Dim(0), s.n), times)
		return Reshape(ends, u.Shape().Dimensions...)
	}, u)
	return []*Node{mean(ExpandAxes(u, -1)), mean(Div(cov, h0)), mean(Div(ExpandAxes(Sub(ends, u), -1), h0)), mean(Div(Sub(phi, linalg.EyeLike(phi)), h0))}
}

// middles are centres among the points of visits: at each place the one that is closest to their mean; the start where there are no visits.
func (s *sampler[P]) middles(seen visits) centres {
	a, n, k := geom.PointDim(s.manifold), s.options.Steps, s.total/s.groups
	// closest takes the points of the chains of a group, those of each visit of a level at an offset of each chain. After the levels come the nodes.
	closest := func(level int, offset func(c int) int, group int) []float64 {
		var points [][]float64
		mean := make([]float64, a)
		for _, levels := range seen {
			for c := group * k; c < (group+1)*k; c++ {
				at := offset(c) * s.wide
				points = append(points, levels[level][at:at+a])
				floats.Add(mean, points[len(points)-1])
			}
		}
		if points == nil {
			return shape.Flat(s.process.Start)
		}
		floats.Scale(1/float64(len(points)), mean)
		best, least := points[0], math.Inf(1)
		for _, p := range points {
			if off := floats.Distance(p, mean, 2); off < least {
				best, least = p, off
			}
		}
		return best
	}
	node := func(i int) func(c int) int { return func(c int) int { return c*(1+len(s.order)) + s.row[i] } }
	var out centres
	var flat []float64
	for g := range s.groups {
		flat = append(flat, closest(len(s.levels), node(0), g)...)
	}
	out.root = tensors.FromFlatDataAndDimensions(flat, s.groups, 1, a)
	for l, level := range s.levels {
		var flat []float64
		for step := range n + 1 {
			for g := range s.groups {
				for e, i := range level {
					from, offset := l, func(c int) int { return (step*s.total+c)*len(level) + e }
					if step == n {
						from, offset = len(s.levels), node(i)
					}
					flat = append(flat, closest(from, offset, g)...)
				}
			}
		}
		out.levels = append(out.levels, tensors.FromFlatDataAndDimensions(flat, n+1, s.groups, len(level), a))
	}
	return out
}

// charts are, for each node and group, the centre of the chart of its message, [a], and the derivative of points by coordinates there, [a][d].
func (s *sampler[P]) charts() func(group, node int) (centre []float64, slope *mat.Dense) {
	a, d := geom.PointDim(s.manifold), s.manifold.Dim()
	all := tensors.MustCopyFlatData[float64](s.centres.root) // of the root and of the ends of edges, [level][G][E][a]
	first := []int{0}
	for l, level := range s.levels {
		first = append(first, len(all)/a)
		flat := tensors.MustCopyFlatData[float64](s.centres.levels[l])
		all = append(all, flat[len(flat)-s.groups*len(level)*a:]...)
	}
	points := tensors.FromFlatDataAndDimensions(all, len(all)/a, a)
	slopes := try.Get(s.process.Space.Call(s.key("charts"), func(in []*Node) []*Node {
		at := geom.At(s.manifold, in[0])
		return []*Node{autodiff.Jacobian(at.Point, at.X)}
	}, points)).Flat(0)
	return func(group, i int) ([]float64, *mat.Dense) {
		at := first[s.depth[i]] + group*s.width(s.depth[i]) + s.place[i]
		return all[at*a : (at+1)*a], mat.NewDense(a, d, slopes[at*a*d:(at+1)*a*d])
	}
}

// inChart takes the message of an observation of states, [wide], to one of coordinates in the chart at a centre.
func (m model) inChart(seen message, centre []float64, slope *mat.Dense) message {
	r, _ := seen.b.Dims()
	a, d := slope.Dims()
	points := seen.b.Slice(0, r, 0, a) // parts are not seen
	out := message{mat.NewDense(r, m.n, nil), mat.DenseCopyOf(seen.f)}
	out.b.Slice(0, r, 0, d).(*mat.Dense).Mul(points, slope)
	var middle mat.Dense
	middle.Mul(points, mat.NewDense(a, 1, centre))
	out.f.Sub(out.f, &middle)
	out, _ = fuse([]message{out})
	return out
}
