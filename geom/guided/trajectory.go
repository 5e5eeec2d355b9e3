package guided

import (
	"slices"

	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
)

// chain are the numbers that move: the noise of the edges, [n, C, E, k·D], the unknowns, [C, p], and where the root is not known its noise,
// [C, n·D]. All of them are normal before the data.
type chain []*Node

// along gives a number of each chain, [C], the shapes of the parts, for a product with them.
func (x chain) along(v *Node) chain {
	out := chain{Reshape(v, 1, v.Shape().Dim(0), 1, 1)}
	for range x[1:] {
		out = append(out, ExpandAxes(v, 1))
	}
	return out
}

// energy is −log ψ + ½‖x‖² + ½‖p‖² of each chain, [C].
func energy(log *Node, x, p chain) *Node {
	e := Neg(log)
	for j := range x {
		axes := []int{1}
		if j == 0 {
			axes = []int{0, 2, 3}
		}
		e = Add(e, MulScalar(Add(ReduceSum(Square(x[j]), axes...), ReduceSum(Square(p[j]), axes...)), 0.5))
	}
	return e
}

// zeros are those of the shapes of nodes.
func zeros(x []*Node) (out []*Node) {
	for _, x := range x {
		out = append(out, ZerosLike(x))
	}
	return out
}

// at is what is known of chains where they are: the logarithm of the density, [C], the nodes, the unknowns, and the slope of y.
type at struct{ log, nodes, u, slope *Node }

func (a at) list() []*Node { return []*Node{a.log, a.nodes, a.u, a.slope} }

func listed(x []*Node) at { return at{x[0], x[1], x[2], x[3]} }

// trajectory is one step of Hamiltonian Monte Carlo of all chains (A. Beskos, F. Pinski, J. Sanz-Serna and A. Stuart, Hybrid Monte
// Carlo on Hilbert spaces, 2011). The energy is −log ψ(x) + ½‖x‖² + ½‖p‖²; the second part turns x and p by an angle, exactly, so
// that the length of the noise does not matter. One turn by a small angle without the first part would be a step of the
// preconditioned Crank-Nicolson method.
func (s *sampler[P]) trajectory(in []*Node) []*Node {
	k := len(s.state())
	x, p := chain(in[:k]), chain(in[k:2*k])
	eps, turns, logU := in[2*k], in[2*k+1], in[2*k+2]
	end, momentum, before, after := s.turned(x, p, eps, turns, in[2*k+3:])
	gain := Sub(energy(before.log, x, p), energy(after.log, end, momentum))
	finite := LogicalAnd(IsFinite(gain), IsFinite(after.log))
	gain = Where(finite, gain, AddScalar(ZerosLike(gain), -1e300))
	accept := LessThan(logU, gain)
	choose := func(yes, no *Node, axis int) *Node {
		dims := slices.Repeat([]int{1}, yes.Rank())
		dims[axis] = eps.Shape().Dim(0)
		return Where(BroadcastToDims(Reshape(accept, dims...), yes.Shape().Dimensions...), yes, no)
	}
	out := []*Node{choose(end[0], x[0], 1)}
	for j := 1; j < k; j++ {
		out = append(out, choose(end[j], x[j], 0))
	}
	return append(out, Exp(MinScalar(gain, 0)), choose(after.nodes, before.nodes, 0), choose(after.u, before.u, 0), Where(accept, after.log, before.log),
		Sub(choose(after.slope, before.slope, 0), out[1]))
}

// turned takes chains along a trajectory of so many turns by angles eps, [C], with the arguments of parse. It returns where they are and
// their momenta, and what is known of them at the start and there.
func (s *sampler[P]) turned(x, p chain, eps, turns *Node, arguments []*Node) (end, momentum chain, before, after at) {
	k := len(x)
	sweep, unknowns := s.parse(arguments)
	slope := func(x chain) (at, chain) {
		x = slices.Clone(x)
		for j := range x {
			x[j] = Identity(x[j])
		}
		var xi *Node
		if k == 3 {
			xi = x[2]
		}
		theta, u, prior := unknowns(x[1])
		log, nodes, _ := sweep.run(x[0], xi, theta, false)
		log = Add(Add(log, prior), MulScalar(ReduceSum(Square(x[1]), -1), 0.5))
		g := chain(Gradient(ReduceAllSum(log), x...))
		return at{log, nodes, u, g[1]}, g
	}
	// The first pass turns by the angle 0 and finds what holds at the start, so that XLA compiles one slope and not two: each takes seconds.
	nodes := Zeros(eps.Graph(), shapes.Make(eps.DType(), eps.Shape().Dim(0), 1+len(s.order), s.wide, s.d))
	none := zeros(at{eps, nodes, x[1], x[1]}.list())
	final := autodiff.Repeat(AddScalar(turns, 1), func(i *Node, y []*Node) []*Node {
		x, p, g, start := chain(slices.Clone(y[:k])), slices.Clone(y[k:2*k]), y[2*k:3*k], y[3*k+4:]
		first := Equal(i, ZerosLike(i))
		angle := Where(first, ZerosLike(eps), eps)
		half, cos, sin := x.along(MulScalar(angle, 0.5)), x.along(Cos(angle)), x.along(Sin(angle))
		for j := range x {
			v := Add(p[j], Mul(half[j], g[j]))
			x[j], p[j] = Add(Mul(cos[j], x[j]), Mul(sin[j], v)), Sub(Mul(cos[j], v), Mul(sin[j], x[j]))
		}
		now, g := slope(x)
		for j := range x {
			p[j] = Add(p[j], Mul(half[j], g[j]))
		}
		next := slices.Concat(x, p, g, now.list())
		for j, v := range now.list() {
			next = append(next, Where(first, v, start[j]))
		}
		return next
	}, slices.Concat(x, p, zeros(x), none, none))
	return final[:k], final[k : 2*k], listed(final[3*k+4:]), listed(final[3*k:])
}
