// Package attachment compares curves and surfaces whose vertices do not correspond: the distances of currents and of varifolds, and
// how much of a piece lies outside of a whole.
//
//	term := attachment.Varifold(kernels.Gaussian(8), atlas, brain) // a data term for landmarks.Space.Match
//	norm := attachment.Norm{Kernel: kernels.Gaussian(8)}           // of an object of a population.Model
//
// The kernel of a term is taken between all cells. Thousands of these want a fast one,
//
//	k, err := kernels.Fast(kernels.Gaussian(8), 1e-4, atlas.Vertices, brain.Vertices)
//
// whose cost grows as their number, as does that of a match with control points.
package attachment

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom/engine"
	"anatomy/geom/try"
	"anatomy/kernels"
	"anatomy/landmarks/internal/text"
	"anatomy/landmarks/surfaces/mesh"
)

// parts returns the middles c_i, [..., m, D], and the vectors n_i, [..., m, D], of cells, [m, 2] or [m, 3] vertex numbers, of
// points x, [..., n, D], with at most one axis in front: a triangle (a, b, c) has its area times its unit normal,
// ½ (b − a) × (c − a); an edge its tangent b − a.
func parts(x, cells *Node) (c, n *Node) {
	if r := x.Rank(); r < 2 || r > 3 || cells.Rank() != 2 || cells.Shape().Dim(1) < 2 || cells.Shape().Dim(1) > 3 || cells.Shape().Dim(1) > x.Shape().Dim(-1) {
		panic(fmt.Sprintf("attachment: points %s and cells %s, want [..., n, D] and [m, 2], or [..., n, 3] and [m, 3]", x.Shape(), cells.Shape()))
	}
	corner := func(k int) *Node {
		at := SliceAxis(cells, 1, AxisRange(k, k+1))
		if x.Rank() == 2 {
			return Gather(x, at)
		}
		return Transpose(Gather(Transpose(x, 0, 1), at), 0, 1)
	}
	a, b := corner(0), corner(1)
	if cells.Shape().Dim(1) == 2 {
		return MulScalar(Add(a, b), 0.5), Sub(b, a)
	}
	d := corner(2)
	return MulScalar(Add(Add(a, b), d), 1.0/3), MulScalar(cross(Sub(b, a), Sub(d, a)), 0.5)
}

func cross(u, v *Node) *Node {
	out := make([]*Node, 3)
	for k := range out {
		out[k] = Sub(Mul(coordinate(u, k+1), coordinate(v, k+2)), Mul(coordinate(u, k+2), coordinate(v, k+1)))
	}
	return Concatenate(out, -1)
}

// coordinate is that with the number k, counted round, of vectors in space.
func coordinate(x *Node, k int) *Node { return SliceAxis(x, -1, AxisRange(k%3, k%3+1)) }

// Norm is the norm of currents or of varifolds, in which meshes without correspondences are compared: see Current and Varifold.
type Norm struct {
	Kernel   kernels.Kernel // between the middles of cells
	Varifold bool           // without orientation
}

// Measure returns the middles c, [..., m, D], of cells, [m, 2] or [m, 3] vertex numbers, of points x, [..., n, D], with at most one
// axis in front, and the weights b of the cells in the sums of Inner, [..., m, C]. A cell without size weighs nothing.
func (n Norm) Measure(x, cells *Node) (c, b *Node) {
	c, v := parts(x, cells)
	return c, features(v, n.Varifold)
}

// Inner returns the inner products ⟨S, T⟩ = Σ_ij k(c_i, d_j) b_i·e_j of meshes with the measures (c, b) and (d, e): [...].
func (n Norm) Inner(c, b, d, e *Node) *Node { return kernels.Inner(n.Kernel, c, b, d, e) }

// Square is Inner of a mesh with itself.
func (n Norm) Square(c, b *Node) *Node { return n.Inner(c, b, c, b) }

// features returns what the kernel sums of a distance weigh: for currents the vectors n themselves, so that ⟨n_i, n_j⟩ is their
// inner product; for varifolds n nᵀ/|n| as a vector, so that it is that of Cauchy and Binet, ⟨n_i, n_j⟩²/(|n_i| |n_j|).
func features(n *Node, varifold bool) *Node {
	if !varifold {
		return n
	}
	d := n.Shape().Dim(-1)
	square := ReduceAndKeep(Square(n), ReduceSum, -1)
	flat := IsZero(square) // a cell without size weighs nothing
	inverse := Where(flat, ZerosLike(square), Reciprocal(Sqrt(Where(flat, OnesLike(square), square))))
	var products []*Node
	for i := range d {
		for j := i; j < d; j++ {
			product := Mul(coordinate(n, i), coordinate(n, j))
			if j > i {
				product = MulScalar(product, math.Sqrt2) // for n_i n_j and n_j n_i
			}
			products = append(products, product)
		}
	}
	return Mul(Concatenate(products, -1), inverse)
}

// Term is the squared distance of a mesh, whose vertices move, from a target: a data term for landmarks.Space.Match. What is
// wrong with the meshes that it was made of, Inputs and Value report. It keeps the meshes: do not change them later.
type Term struct {
	norm           Norm
	source, target *mesh.Mesh
	scales         []float64
	err            error
}

// Current returns the data term of two meshes that is the squared distance of their currents (Vaillant and Glaunès, IPMI 2005):
//
//	‖S − T‖² = Σ_ij k(c_i, c_j) n_i·n_j − 2 Σ_ij k(c_i, d_j) n_i·m_j + Σ_ij k(d_i, d_j) m_i·m_j
//
// c_i are the centres of the cells of the source S, and n_i their vectors: normals with the length of the area for triangles,
// tangents with the length of the edge for curves. d_j and m_j are those of the target T. Both meshes must be oriented. The
// square root of the distance has the unit of the sizes of cells. Details that are narrower than the kernel cancel.
func Current(k kernels.Kernel, source, target *mesh.Mesh) *Term {
	return Norm{k, false}.Term(source, target)
}

// Varifold returns the data term of two meshes that is the squared distance of their varifolds (Charon and Trouvé, SIAM J.
// Imaging Sci. 6, 2013). It needs no correspondence and no orientation. The formula is that of Current with (n_i·n_j)²/(|n_i|
// |n_j|) in place of n_i·n_j. source is the mesh that is deformed, and target the fixed one; both are curves or both are
// surfaces. k compares their cells by position; its width has the unit of the coordinates.
func Varifold(k kernels.Kernel, source, target *mesh.Mesh) *Term {
	return Norm{k, true}.Term(source, target)
}

// Term is the squared distance of two meshes in the norm.
func (n Norm) Term(source, target *mesh.Mesh) *Term {
	t := &Term{norm: n, source: source, target: target, scales: []float64{1}}
	t.err = cmp.Or(n.Check("the source mesh", source), n.Check("the target mesh", target))
	if t.err == nil {
		t.err = mesh.CheckAlike("the source mesh", source, "the target", target)
	}
	return t
}

// Check returns why a mesh, which errors call by a name, has no such norm: see mesh.Mesh.Validate, for currents mesh.Mesh.CheckOriented
// too; or that there is no kernel. Cells without size weigh nothing, and where more than two cells meet each weighs its size.
func (n Norm) Check(name string, m *mesh.Mesh) (err error) {
	defer try.Catch(&err)
	text.RefuseIf(n.Kernel == nil, "give one, such as kernels.Gaussian(8)", "the norm has no kernel")
	try.Do(try.Name(m.Validate(), "%s", name))
	if !n.Varifold {
		try.Do(try.Name(m.CheckOriented(), "the current of %s", name))
	}
	return nil
}

// CheckWidth returns an error where the width of the kernel is in another unit than meshes, which errors call by their names: so small that no
// cell sees its neighbours, K being below 1e-4 at the mean length of their sides, or so large that all cells are in one place, K being
// above 0.98 all over the mesh. Matches of such meshes end, but nowhere.
func (n Norm) CheckWidth(names []string, meshes []*mesh.Mesh) (err error) {
	defer try.Catch(&err)
	const none, all = 1e-4, 0.98
	d := len(meshes[0].Vertices[0])
	at := [][]float64{make([]float64, d)}
	for _, m := range meshes {
		spacing := m.Spacing()
		at = append(at, kernels.Extent(m.Vertices))
		for a := range d {
			side := make([]float64, d)
			side[a] = spacing
			at = append(at, side)
		}
	}
	k := try.Get(engine.Run(func(x *Node) *Node { return n.Kernel.Gram(SliceAxis(x, 0, AxisElem(0)), x) }, at)).Flat(0)
	floats.Scale(1/k[0], k)
	for i, m := range meshes {
		extent, sides := k[1+i*(d+1)], k[2+i*(d+1):2+i*(d+1)+d]
		text.RefuseIf(floats.Max(sides) < none, "see whether its width is in another unit, or for a finer mesh",
			"the kernel of the norm, %s, is much narrower than the cells of %s, whose sides are %.3g long", n.Kernel, names[i], m.Spacing())
		text.RefuseIf(extent > all, "see whether its width is in another unit",
			"the kernel of the norm, %s, is much wider than %s, whose box has a diagonal of %.3g", n.Kernel, names[i], floats.Norm(at[1+i*(d+1)], 2))
	}
	return nil
}

// Coarse returns the term with the kernel's width multiplied by these factors, one after the other, before it is taken as it is:
// a match that sets out from what is far away finds its way, and the details come last. As 4, 2.
func (t *Term) Coarse(factors ...float64) *Term {
	out := *t
	out.scales = append(append([]float64{}, factors...), 1)
	for i, f := range factors {
		if out.err == nil && (!(f > 1) || math.IsInf(f, 1)) {
			out.err = text.Advise("give numbers above 1", "Coarse: factor %d is %g", i, f)
		}
	}
	return &out
}

// Scales returns the factors of the kernel's width, the last 1.
func (t *Term) Scales() []float64 { return t.scales }

// Inputs returns the numbers that Distance takes beside n points in R^d, or what is wrong.
func (t *Term) Inputs(n, d int) (_ []any, err error) {
	defer try.Catch(&err)
	try.Do(t.err)
	text.RefuseIf(n != len(t.source.Vertices) || d != len(t.source.Vertices[0]), "give as many",
		"%d points in R^%d, the source mesh has %d vertices in R^%d", n, d, len(t.source.Vertices), len(t.source.Vertices[0]))
	try.Do(t.Fits(t.source.Vertices))
	try.Do(t.norm.CheckWidth([]string{"the source mesh", "the target mesh"}, []*mesh.Mesh{t.source, t.target}))
	return []any{slices.Concat(t.source.Cells...), t.target.Vertices, slices.Concat(t.target.Cells...)}, nil
}

// Fits says whether the fast sums of the kernel, where it has a box, hold for points x and the target.
func (t *Term) Fits(x [][]float64) error {
	if k, bounded := t.norm.Kernel.(kernels.Bounded); bounded {
		return k.Fits(slices.Concat(x, t.target.Vertices))
	}
	return nil
}

// Distance returns the squared distance, a scalar, of the mesh with vertices x, [n, D], from the target, with
// the kernel's width multiplied by scale. It is a difference of sums: one of less than 1e-14 of them is rounding, and 0.
func (t *Term) Distance(x, scale *Node, inputs []*Node) *Node {
	part := func(x, cells *Node) (c, b *Node) {
		c, b = t.norm.Measure(x, Reshape(cells, -1, len(t.source.Cells[0])))
		return Div(c, scale), b
	}
	c, b := part(x, inputs[0])
	d, e := part(inputs[1], inputs[2])
	squares := Add(t.norm.Square(c, b), t.norm.Square(d, e))
	return unrounded(Sub(squares, MulScalar(t.norm.Inner(c, b, d, e), 2)), squares)
}

// unrounded is a difference of terms of a size, and 0, with the derivative 0, where nothing but their rounding is left.
func unrounded(difference, size *Node) *Node {
	return Where(LessOrEqual(Abs(difference), MulScalar(size, 1e-14)), ZerosLike(difference), difference)
}

// Value returns the squared distance of the source mesh with the vertices x from the target.
func (t *Term) Value(x [][]float64) (_ float64, err error) {
	defer try.Catch(&err)
	d := 0
	if len(x) > 0 {
		d = len(x[0])
	}
	inputs := append([]any{x, 1.0}, try.Get(t.Inputs(len(x), d))...)
	out := try.Get(engine.Run(func(in []*Node) []*Node { return []*Node{t.Distance(in[0], in[1], in[2:])} }, inputs...))
	return out.Scalar(0), nil
}

// String names the distance with its kernel.
func (t *Term) String() string {
	return t.norm.String()
}

// String names the norm with its kernel.
func (n Norm) String() string {
	if n.Varifold {
		return "varifold, " + n.Kernel.String()
	}
	return "current, " + n.Kernel.String()
}
