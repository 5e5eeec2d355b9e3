package kernels

import (
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
	"anatomy/geom/engine"
	"anatomy/internal/lists"
	"anatomy/kernels/native"
)

// pairwise are sums with a kernel over all pairs of points, exact ones or those of a grid, by C code inside the compiled program. Their
// first and second derivatives are such sums too; further ones are those of the sums on the graph.
type pairwise struct {
	kernel     onGraph
	function   string    // in C
	parameters []float64 // of the kernel, as native.Describe writes them
}

// onGraph has a kernel's sums as operations of the graph, for every back end, type of number and dimension.
type onGraph interface {
	Kernel
	sumOnGraph(x, y, b *Node) *Node
	hamiltonOnGraph(x, p *Node) (dx, dp *Node)
}

// graphOf is a kernel's sums on the graph; those of a user's kernel are there anyway.
func graphOf(k Kernel) onGraph {
	if k, ok := k.(onGraph); ok {
		return k
	}
	return foreign{k}
}

type foreign struct{ Kernel }

func (k foreign) sumOnGraph(x, y, b *Node) *Node            { return k.Sum(x, y, b) }
func (k foreign) hamiltonOnGraph(x, p *Node) (dx, dp *Node) { return k.Hamilton(x, p) }

// sums are those of a kernel for some operands: pairwise, or written.
type sums interface {
	Sum(x, y, b *Node) *Node
	Hamilton(x, p *Node) (dx, dp *Node)
}

// written are sums on the graph.
type written struct{ onGraph }

func (k written) Sum(x, y, b *Node) *Node            { return k.sumOnGraph(x, y, b) }
func (k written) Hamilton(x, p *Node) (dx, dp *Node) { return k.hamiltonOnGraph(x, p) }

// inPairs returns the exact sums of a kernel that is k between points within reach of each other, nil for all: in C, if there are such
// for the kernel, the back end and the operands.
func inPairs(graph onGraph, k Kernel, reach []float64, x, y, b *Node) sums {
	if inC(native.Pairs, x, y, b) {
		if parameters, ok := describe(k, x.Shape().Dim(-1), reach); ok {
			return pairwise{graph, native.Pairs, parameters}
		}
	}
	return written{graph}
}

// inC says whether the back end has a function in C that takes the operands of a sum.
func inC(function string, x, y, b *Node) bool {
	if x.Rank() < 2 || !engine.HasNative(function, x) {
		return false
	}
	d, lead := x.Shape().Dim(-1), x.Shape().Dimensions[:x.Rank()-2]
	for _, v := range []*Node{x, y, b} {
		if v.DType() != dtypes.Float64 || v.Rank() != x.Rank() || !slices.Equal(v.Shape().Dimensions[:x.Rank()-2], lead) || v.Shape().Size() == 0 {
			return false
		}
	}
	return y.Shape().Dim(-1) == d && d <= native.MaxDim && b.Shape().Dim(-1) <= native.MaxColumns
}

// Inner returns Σ_ij K(x_i, y_j) p_i·q_j, [...], for points x, [..., n, D], and y, [..., m, D], with weights p, [..., n, C], and q,
// [..., m, C]. Sums in C give its derivatives by x and p together with it. Of a set with itself, where x is y and p is q, each pair
// is taken once, and derivatives of other sums take half as long, as both sides give the same.
func Inner(k Kernel, x, p, y, q *Node) *Node {
	self := x == y && p == q
	total := func(p, v *Node) *Node { return ReduceSum(Mul(p, v), -2, -1) }
	var c pairwise
	var inC bool
	if k, ok := k.(interface{ sums(x, y, b *Node) sums }); ok {
		c, inC = k.sums(x, y, q).(pairwise)
	}
	each := func(ct, v *Node, factor float64) *Node { // of the batch
		return Mul(MulScalar(ExpandAxes(ExpandAxes(ct, -1), -1), factor), v)
	}
	switch {
	case inC && self:
		v, f := c.Hamilton(x, p)
		return autodiff.CustomVJP([]*Node{x, p}, []*Node{total(p, v)}, func(ct []*Node) []*Node {
			return []*Node{each(ct[0], f, -2), each(ct[0], v, 2)}
		})[0]
	case inC:
		v, f := c.forces(x, p, y, q)
		return autodiff.CustomVJP([]*Node{x, p, y, q}, []*Node{total(p, v)}, func(ct []*Node) []*Node {
			w, g := c.forces(y, q, x, p)
			return []*Node{each(ct[0], f, -1), each(ct[0], v, 1), each(ct[0], g, -1), each(ct[0], w, 1)}
		})[0]
	case self:
		return autodiff.CustomVJP([]*Node{x, p}, []*Node{total(p, k.Sum(x, x, p))}, func(ct []*Node) []*Node {
			z := copies([]*Node{x, p})
			return autodiff.Pullback([]*Node{total(z[1], k.Sum(z[0], x, p))}, []*Node{MulScalar(ct[0], 2)}, z)
		})[0]
	}
	return total(p, k.Sum(x, y, q))
}

// describe returns the parameters that the C code takes for a kernel between points within reach of each other, nil for all, in R^d.
func describe(k Kernel, d int, reach []float64) (parameters []float64, ok bool) {
	scale, terms, ok := describeTerms(k, d)
	if !ok {
		return nil, false
	}
	far := math.Inf(1)
	if reach != nil {
		far = 0
		for a, r := range reach {
			far = math.Max(far, math.Pow(r*scale[a], 2))
		}
	}
	return native.Describe(far, scale, terms), true
}

// describeTerms makes a radial kernel, or a sum of such whose widths are multiples of each other, a function of
// s = Σ_a ((x_a − y_a) scale_a)² for points in R^d, a sum of terms.
func describeTerms(k Kernel, d int) (scale []float64, terms []native.Term, ok bool) {
	kernels, weights := []Kernel{k}, []float64{1}
	if s, ok := k.(sum); ok {
		kernels, weights = s.terms, s.weights
	}
	if len(kernels) > native.MaxTerms {
		return nil, nil, false
	}
	for l, k := range kernels {
		r, ok := k.(radial)
		if !ok || r.derivative == nil || len(r.widths) != 1 && len(r.widths) != d {
			return nil, nil, false
		}
		ratio := 1.0
		for a := range d {
			s := 1 / r.widths[min(a, len(r.widths)-1)]
			if l == 0 {
				scale = append(scale, s)
			} else if v := math.Pow(s/scale[a], 2); a == 0 {
				ratio = v
			} else if math.Abs(v/ratio-1) > 4e-15 {
				return nil, nil, false
			}
		}
		term := native.Term{Kind: r.kind, Ratio: ratio}
		for m := range term.Derivatives {
			t := r.derivative(m)
			for j := range t.A {
				t.A[j] *= weights[l] * math.Pow(ratio, float64(m))
			}
			term.Derivatives[m] = t
		}
		terms = append(terms, term)
	}
	return scale, terms, true
}

// call runs the C code on operands [..., n, columns], for outputs of these shapes.
func (k pairwise) call(operands []*Node, outputs ...shapes.Shape) []*Node {
	x := operands[0]
	in := []*Node{engine.Setting(x.Graph(), x.DType(), k.parameters, len(k.parameters))}
	for _, v := range operands {
		in = append(in, Reshape(v, -1, v.Shape().Dim(-2), v.Shape().Dim(-1)))
	}
	out := lists.Each(outputs, func(s shapes.Shape) shapes.Shape {
		return shapes.Make(s.DType, in[1].Shape().Dim(0), s.Dim(-2), s.Dim(-1))
	})
	values := engine.Native(k.function, in, out...)
	for i, v := range values {
		values[i] = Reshape(v, outputs[i].Dimensions...)
	}
	return values
}

// Sum is Σ_j K(x_i, y_j) b_j.
func (k pairwise) Sum(x, y, b *Node) *Node {
	s := x.Shape().Clone()
	s.Dimensions[s.Rank()-1] = b.Shape().Dim(-1)
	v := k.call([]*Node{x, y, b}, s)
	return autodiff.CustomVJP([]*Node{x, y, b}, v, func(ct []*Node) []*Node {
		atX, back, atY := k.bothForces(x, ct[0], y, b)
		return []*Node{Neg(atX), Neg(atY), back}
	})[0]
}

// forces are v_i = Σ_j K(x_i, y_j) q_j and f_i = −∂/∂x_i Σ_j (p_i·q_j) K(x_i, y_j).
func (k pairwise) forces(x, p, y, q *Node) (v, f *Node) {
	operands := []*Node{x, p, y, q}
	out := k.call(operands, p.Shape(), x.Shape())
	out = autodiff.CustomVJP(operands, out, func(ct []*Node) []*Node {
		return k.pullForces(x, p, y, q, ct, []*Node{ZerosLike(q), ZerosLike(y)})
	})
	return out[0], out[1]
}

// bothForces are the forces f_i on x, and w_j = Σ_i K(x_i, y_j) p_i and the forces g_j on y, in one pass over the pairs.
func (k pairwise) bothForces(x, p, y, q *Node) (f, w, g *Node) {
	operands := []*Node{x, p, y, q}
	out := k.call(operands, x.Shape(), q.Shape(), y.Shape())
	out = autodiff.CustomVJP(operands, out, func(ct []*Node) []*Node {
		return k.pullForces(x, p, y, q, []*Node{ZerosLike(p), ct[0]}, ct[1:])
	})
	return out[0], out[1], out[2]
}

// pullForces is the pullback of the forces on both sides: it takes the cotangents of (v, f), atX, and those of (w, g), atY, to those
// of the operands. With E = Σ_ij (p_i·q_j) K_ij the four outputs are (∂E/∂p, −∂E/∂x, ∂E/∂q, −∂E/∂y). Their derivatives are second
// derivatives of E, which are symmetric: so the pullback is the derivative of the forces along (v̄, −f̄, w̄, −ḡ).
func (k pairwise) pullForces(x, p, y, q *Node, atX, atY []*Node) []*Node {
	one, other := []*Node{x, p, Neg(atX[1]), atX[0]}, []*Node{y, q, Neg(atY[1]), atY[0]}
	toP, toX := k.derivative(one, other)
	toQ, toY := k.derivative(other, one)
	return []*Node{Neg(toX), toP, Neg(toY), toQ}
}

// Hamilton are the forces of points on each other.
func (k pairwise) Hamilton(x, p *Node) (dx, dp *Node) {
	out := k.call([]*Node{x, p, x, p}, p.Shape(), x.Shape())
	out = autodiff.CustomVJP([]*Node{x, p}, out, func(ct []*Node) []*Node { return k.pullSelf(x, p, ct) })
	return out[0], out[1]
}

func (k pairwise) pullSelf(x, p *Node, ct []*Node) []*Node {
	set := []*Node{x, p, Neg(ct[1]), ct[0]}
	atP, atX := k.derivative(set, set)
	return []*Node{Neg(atX), atP}
}

// derivative is that of the forces along (dx, dp, dy, dq), for sets (x, p, dx, dp) and (y, q, dy, dq), of which the second one may
// be the first. It is linear in the directions, so that pullForces is its pullback by them.
func (k pairwise) derivative(x, y []*Node) (dv, df *Node) {
	out := k.call(join(x, y), x[1].Shape(), x[0].Shape())
	if &x[0] == &y[0] {
		out = autodiff.CustomVJP(x, out, func(ct []*Node) []*Node {
			z := copies(x[:2])
			v, f := k.kernel.hamiltonOnGraph(z[0], z[1])
			return join(thirdDerivative([]*Node{v, f}, z, []*Node{x[3], Neg(x[2])}, ct), k.pullSelf(x[0], x[1], ct))
		})
		return out[0], out[1]
	}
	out = autodiff.CustomVJP(join(x, y), out, func(ct []*Node) []*Node {
		z := copies([]*Node{x[0], x[1], y[0], y[1]})
		v, w := k.kernel.sumOnGraph(z[0], z[2], z[3]), k.kernel.sumOnGraph(z[2], z[0], z[1])
		f := Gradient(Neg(ReduceAllSum(Mul(z[1], v))), z[0], z[2])
		at := thirdDerivative([]*Node{v, f[0], w, f[1]}, z, []*Node{x[3], Neg(x[2]), y[3], Neg(y[2])}, ct)
		directions := k.pullForces(x[0], x[1], y[0], y[1], ct, []*Node{ZerosLike(y[1]), ZerosLike(y[0])})
		return slices.Concat(at[:2], directions[:2], at[2:], directions[2:])
	})
	return out[0], out[1]
}

// thirdDerivative pulls the cotangents ct back through derivative to the points and weights z, of which the first two are those that
// the forces act on: by the symmetry of second derivatives, derivative is the Jacobian of the forces applied to turned.
func thirdDerivative(forces, z, turned, ct []*Node) []*Node {
	back := autodiff.Pullback(forces, turned, z[:2])
	return autodiff.Pullback([]*Node{back[1], Neg(back[0])}, ct, z)
}

// copies are other nodes of the same values: derivatives by them keep the roles of a node apart that has several.
func copies(x []*Node) []*Node { return lists.Each(x, Identity) }
