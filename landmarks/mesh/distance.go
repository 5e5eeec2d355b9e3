package mesh

import (
	"fmt"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/engine"
	"anatomy/kernels"
)

// Parts returns the middles c_i, [m, D], and the vectors n_i, [m, D], of cells, [m, 2] or [m, 3] vertex numbers, of points x,
// [n, D]: a triangle (a, b, c) has its area times its unit normal, ½ (b − a) × (c − a); an edge its tangent b − a.
func Parts(x, cells *Node) (c, n *Node) {
	if x.Rank() != 2 || cells.Rank() != 2 || cells.Shape().Dim(1) < 2 || cells.Shape().Dim(1) > 3 || cells.Shape().Dim(1) > x.Shape().Dim(1) {
		panic(fmt.Sprintf("mesh.Parts: points %s and cells %s, want [n, D] and [m, 2], or [n, 3] and [m, 3]", x.Shape(), cells.Shape()))
	}
	corner := func(k int) *Node { return Gather(x, SliceAxis(cells, 1, AxisRange(k, k+1))) }
	a, b := corner(0), corner(1)
	if cells.Shape().Dim(1) == 2 {
		return MulScalar(Add(a, b), 0.5), Sub(b, a)
	}
	d := corner(2)
	return MulScalar(Add(Add(a, b), d), 1.0/3), MulScalar(cross(Sub(b, a), Sub(d, a)), 0.5)
}

func cross(u, v *Node) *Node {
	at := func(x *Node, k int) *Node { return SliceAxis(x, 1, AxisRange(k%3, k%3+1)) }
	parts := make([]*Node, 3)
	for k := range parts {
		parts[k] = Sub(Mul(at(u, k+1), at(v, k+2)), Mul(at(u, k+2), at(v, k+1)))
	}
	return Concatenate(parts, 1)
}

// features returns what the kernel sums of a distance weigh: for currents the vectors n themselves, so that ⟨n_i, n_j⟩ is their
// inner product; for varifolds n nᵀ/|n| as a vector, so that it is that of Cauchy and Binet, ⟨n_i, n_j⟩²/(|n_i| |n_j|).
func features(n *Node, varifold bool) *Node {
	if !varifold {
		return n
	}
	d := n.Shape().Dim(1)
	square := ReduceAndKeep(Square(n), ReduceSum, 1)
	flat := IsZero(square) // a cell without size weighs nothing
	inverse := Where(flat, ZerosLike(square), Reciprocal(Sqrt(Where(flat, OnesLike(square), square))))
	at := func(k int) *Node { return SliceAxis(n, 1, AxisRange(k, k+1)) }
	var parts []*Node
	for i := range d {
		for j := i; j < d; j++ {
			part := Mul(at(i), at(j))
			if j > i {
				part = MulScalar(part, math.Sqrt2) // for n_i n_j and n_j n_i
			}
			parts = append(parts, part)
		}
	}
	return Mul(Concatenate(parts, 1), inverse)
}

// Term is the squared distance of a mesh, whose vertices move, from a target: a data term for landmarks.Space.Match. What is
// wrong with the meshes that it was made of, Inputs and Value report.
type Term struct {
	kernel         kernels.Kernel
	varifold       bool
	source, target *Mesh
	scales         []float64
	err            error
}

// Current is the squared distance of the currents of two meshes, which are oriented curves or surfaces (Vaillant and Glaunès,
// IPMI 2005):
//
//	‖S − T‖² = Σ_ij k(c_i, c_j) n_i·n_j − 2 Σ_ij k(c_i, d_j) n_i·m_j + Σ_ij k(d_i, d_j) m_i·m_j
//
// with middles c and vectors n of the cells of S, d and m of T: normals as long as the areas, tangents of curves as long as
// the edges. Its root has the unit of the sizes. Details narrower than the kernel cancel.
func Current(k kernels.Kernel, source, target *Mesh) *Term { return newTerm(k, source, target, false) }

// Varifold is the squared distance of the varifolds of two meshes (Charon and Trouvé, SIAM J. Imaging Sci. 6, 2013), which need no
// orientation: as Current, with (n_i·n_j)²/(|n_i| |n_j|), the kernel of Cauchy and Binet, in place of n_i·n_j.
func Varifold(k kernels.Kernel, source, target *Mesh) *Term { return newTerm(k, source, target, true) }

func newTerm(k kernels.Kernel, source, target *Mesh, varifold bool) *Term {
	t := &Term{kernel: k, varifold: varifold, source: source, target: target, scales: []float64{1}}
	for _, m := range []struct {
		name string
		*Mesh
	}{{"source", source}, {"target", target}} {
		if err := m.solid(); err != nil {
			t.err = fmt.Errorf("the %s mesh: %w", m.name, err)
			return t
		}
		if !varifold {
			if err := m.Oriented(); err != nil {
				t.err = fmt.Errorf("the current of the %s mesh: %w; or take Varifold", m.name, err)
				return t
			}
		}
	}
	if a, b := len(source.Vertices[0]), len(target.Vertices[0]); a != b {
		t.err = fmt.Errorf("the source mesh is in R^%d, the target in R^%d", a, b)
	} else if source.order() != target.order() {
		t.err = fmt.Errorf("the source mesh has %s, the target %s", source.kind(), target.kind())
	}
	return t
}

// Coarse returns the term with the kernel's width multiplied by these factors, one after the other, before it is taken as it is:
// a match that sets out from what is far away finds its way, and the details come last. As 4, 2.
func (t *Term) Coarse(factors ...float64) *Term {
	out := *t
	out.scales = append(append([]float64{}, factors...), 1)
	for i, f := range factors {
		if out.err == nil && (!(f > 1) || math.IsInf(f, 1)) {
			out.err = fmt.Errorf("Coarse: factor %d is %g, want a number above 1", i, f)
		}
	}
	return &out
}

// Scales returns the factors of the kernel's width, the last 1.
func (t *Term) Scales() []float64 { return t.scales }

// Inputs returns the numbers that Distance takes beside n points in R^d, or what is wrong.
func (t *Term) Inputs(n, d int) ([]any, error) {
	if t.err != nil {
		return nil, t.err
	}
	if n != len(t.source.Vertices) || d != len(t.source.Vertices[0]) {
		return nil, fmt.Errorf("%d points in R^%d, the source mesh has %d vertices in R^%d", n, d, len(t.source.Vertices), len(t.source.Vertices[0]))
	}
	if err := t.Fits(t.source.Vertices); err != nil {
		return nil, err
	}
	return []any{flatCells(t.source), t.target.Vertices, flatCells(t.target)}, nil
}

// Fits says whether the fast sums of the kernel, where it has a box, hold for points x and the target.
func (t *Term) Fits(x [][]float64) error {
	if k, bounded := t.kernel.(interface {
		Fits(points [][]float64) error
	}); bounded {
		return k.Fits(slices.Concat(x, t.target.Vertices))
	}
	return nil
}

func flatCells(m *Mesh) []int {
	var out []int
	for _, c := range m.Cells {
		out = append(out, c...)
	}
	return out
}

// Distance returns the squared distance, a scalar, of the mesh with vertices x, [n, D], from the target, with the kernel's
// width multiplied by scale.
func (t *Term) Distance(x, scale *Node, inputs []*Node) *Node {
	part := func(x, cells *Node) (c, b *Node) {
		c, n := Parts(x, Reshape(cells, -1, t.source.order()))
		return Div(c, scale), features(n, t.varifold)
	}
	c, b := part(x, inputs[0])
	d, e := part(inputs[1], inputs[2])
	inner := func(x, bx, y, by *Node) *Node { return ReduceAllSum(Mul(bx, t.kernel.Sum(x, y, by))) }
	return Add(Sub(inner(c, b, c, b), MulScalar(inner(c, b, d, e), 2)), inner(d, e, d, e))
}

// Value returns the squared distance of the source mesh with the vertices x from the target.
func (t *Term) Value(x [][]float64) (float64, error) {
	d := 0
	if len(x) > 0 {
		d = len(x[0])
	}
	inputs, err := t.Inputs(len(x), d)
	if err != nil {
		return 0, err
	}
	out, err := engine.Run(func(in []*Node) []*Node {
		return []*Node{t.Distance(in[0], in[1], in[2:])}
	}, append([]any{x, 1.0}, inputs...)...)
	if err != nil {
		return 0, err
	}
	return out.Scalar(0), nil
}

// String names the distance with its kernel.
func (t *Term) String() string {
	if t.varifold {
		return "varifold, " + t.kernel.String()
	}
	return "current, " + t.kernel.String()
}
