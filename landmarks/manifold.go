package landmarks

import (
	"fmt"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/linalg"
	"anatomy/internal/lists"
	"anatomy/internal/refuse"
	"anatomy/kernels"
)

// Manifold is the manifold of N landmarks in R^D with the cometric K(x_i, x_j)·I_D, for graph functions: its points q, momenta p and
// velocities v are [..., N·D]. It is a geom.PointCometric. New makes a Space of it, which computes with shapes.
type Manifold struct {
	N, D   int
	Kernel kernels.Kernel // K
}

// Dim is N·D.
func (m Manifold) Dim() int { return m.N * m.D }

func (m Manifold) dimension() int { return m.D }

// Rows says that a row of a shape is a landmark: see geom.Rows.
func (m Manifold) Rows() (n, columns int, name string) { return m.N, m.D, "landmark" }

// CheckRegular returns an error if two landmarks coincide, where the kernel matrix is singular; the error names them.
func (m Manifold) CheckRegular(x []float64) error {
	rows := engine.Unflatten(x, m.D)
	order := lists.Range(len(rows))
	slices.SortStableFunc(order, func(i, j int) int { return slices.Compare(rows[i], rows[j]) })
	for k := 1; k < len(order); k++ {
		if i, j := order[k-1], order[k]; slices.Equal(rows[i], rows[j]) {
			return fmt.Errorf("landmarks %d and %d coincide at %v, and no deformation parts them or brings them together; correct them, "+
				"leave one of them out, leave the shape out, or match with a mismatch", i, j, rows[i])
		}
	}
	return nil
}

// Fits returns an error if the kernel has fast sums that are valid in a box only, and a landmark is outside the box.
func (m Manifold) Fits(x []float64) error {
	return m.fits(m.places(x))
}

func (m Manifold) places(x []float64) [][]float64 { return engine.Unflatten(x, m.D) }

// fits is Fits for points of space.
func (m Manifold) fits(points ...geom.Shape) error {
	if k, ok := m.Kernel.(kernels.Bounded); ok {
		return k.Fits(slices.Concat(points...))
	}
	return nil
}

// Sharp returns Σ_j K(x_i, x_j) p_j, [..., N·D].
func (m Manifold) Sharp(q, p *Node) *Node {
	x := m.points(q)
	return linalg.Vectors(m.Kernel.Sum(x, x, m.points(p)))
}

// Hamilton returns Hamilton's equations of geodesics, both [..., N·D]: x_i' = Σ_j K(x_i, x_j) p_j and
// p_i' = −∂/∂x_i ½ Σ_jl (p_j·p_l) K(x_j, x_l).
func (m Manifold) Hamilton(q, p *Node) (dq, dp *Node) {
	dq, dp = m.Kernel.Hamilton(m.points(q), m.points(p))
	return linalg.Vectors(dq), linalg.Vectors(dp)
}

// Beyond this number of landmarks K(q) is never formed: systems with it are solved by conjugate gradients.
const denseLimit = 1000

// Flat returns the solution p, [..., N·D], of Σ_j K(x_i, x_j) p_j = v_i: by one N×N factorisation with D right-hand sides, and for
// more than 1000 landmarks by conjugate gradients with kernel sums. Where conjugate gradients do not reach a relative residual of
// 1e-6, as for a kernel much wider than the distances between landmarks, the result is NaN.
func (m Manifold) Flat(q, v *Node) *Node {
	if m.N > denseLimit {
		return m.solve(q, v, ScalarZero(q.Graph(), q.DType()))
	}
	x := m.points(q)
	return linalg.Vectors(linalg.Solve(m.Kernel.Gram(x, x), m.points(v)))
}

// RegularFlat returns the solution p, [..., N·D], of Σ_j K(x_i, x_j) p_j + μ p_i = v_i for μ ≥ 0, [...]; see Flat.
func (m Manifold) RegularFlat(q, v, mu *Node) *Node {
	if m.N > denseLimit {
		return m.solve(q, v, mu)
	}
	x := m.points(q)
	k := m.Kernel.Gram(x, x)
	ridge := Mul(ExpandAxes(ExpandAxes(mu, -1), -1), linalg.EyeLike(k))
	return linalg.Vectors(linalg.Solve(Add(k, ridge), m.points(v)))
}

// solve is RegularFlat by conjugate gradients, to a relative residual of 1e-6; NaN where that is not reached.
func (m Manifold) solve(q, v, mu *Node) *Node {
	for mu.Rank() < q.Rank() {
		mu = ExpandAxes(mu, -1)
	}
	const tolerance = 1e-6
	p, residual := linalg.CG(m.regular(q, mu), v, tolerance, 1000)
	solved := LessOrEqual(ExpandAxes(residual, -1), Scalar(q.Graph(), q.DType(), tolerance))
	return linalg.NaNWhere(LogicalNot(solved), p)
}

// regular takes p to Σ_j K(x_i, x_j) p_j + μ p_i.
func (m Manifold) regular(q, mu *Node) func(p *Node) *Node {
	return func(p *Node) *Node { return Add(m.Sharp(q, p), Mul(mu, p)) }
}

// Gram returns the kernel matrix K(x_i, x_j), [..., N, N].
func (m Manifold) Gram(q *Node) *Node {
	x := m.points(q)
	return m.Kernel.Gram(x, x)
}

// GramGradient returns ∂K(x_i, x_j)/∂x_i, [..., N, N, D].
func (m Manifold) GramGradient(q *Node) *Node {
	// Every pair gets a copy of its points, so that one gradient gives the derivatives of all pairs.
	x := m.points(q)
	batch := x.Shape().Dimensions[:x.Rank()-2]
	copies := func(rows, columns int) *Node {
		y := Reshape(x, append(append([]int{}, batch...), rows, columns, 1, m.D)...)
		return BroadcastToDims(y, append(append([]int{}, batch...), m.N, m.N, 1, m.D)...)
	}
	xi, xj := copies(m.N, 1), copies(1, m.N)
	return Squeeze(Gradient(ReduceAllSum(m.Kernel.Gram(xi, xj)), xi)[0], -2)
}

// Velocity returns the velocities z' = Σ_j K(z, x_j) p_j, [..., k, D], of k arbitrary points z, [..., k, D], for landmarks q with
// momenta p, both [..., N·D].
func (m Manifold) Velocity(q, p, z *Node) *Node {
	return m.Kernel.Sum(z, m.points(q), m.points(p))
}

func (m Manifold) points(q *Node) *Node {
	refuse.If(q.Rank() == 0 || q.Shape().Dim(-1) != m.Dim(),
		"landmarks: coordinates of shape %s, want [..., %d] for %d landmarks in R^%d", q.Shape(), m.Dim(), m.N, m.D)
	return linalg.Matrices(q, m.N, m.D)
}
