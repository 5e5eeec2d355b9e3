package landmarks

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/linalg"
	"anatomy/internal/refuse"
	"anatomy/kernels"
)

// Jets is the manifold of N landmarks in R^D with the derivatives of a diffeomorphism φ there. A landmark q_i has a frame of D vectors
// a_ib = ∂_b φ and, if Order is 2, the second derivatives b_ibc = ∂_b ∂_c φ, b ≤ c. With momenta p_i, P_ib and Q_ibc, one covector for each of
// them, the velocity field is
//
//	v(z) = Σ_i p_i K(z, q_i) + P_ib ∂_b K(z, q_i) + Q_ibc ∂_b ∂_c K(z, q_i),
//
// where ∂_b K(z, q_i) is the derivative of K(z, ·) along a_ib, and ∂_b ∂_c K that along a_ib and a_ic plus that along b_ibc. The field moves the
// landmarks by v, the frames by its derivative, a_ib' = Dv a_ib, and b_ibc' = D²v(a_ib, a_ic) + Dv b_ibc (S. Sommer, M. Nielsen, S. Darkner, X.
// Pennec, Higher-order momentum distributions and locally affine LDDMM registration, 2013; H. Jacobs, S. Sommer, Higher-order spatial accuracy
// in diffeomorphic image registration, 2014). The cometric is a matrix of derivatives of K, the limit of that of clusters of landmarks.
//
// Graph functions take points, vectors and momenta as [..., Dim], landmark by landmark: q_i, its D vectors, and its D(D+1)/2 second
// derivatives in the order 11, 12, …, 22, …. K must have 2·Order derivatives, and one more for geodesics. NewJets makes a space of it.
type Jets struct {
	N, D, Order int
	Kernel      kernels.Kernel // K
}

// size is the number of rows of a landmark.
func (m Jets) size() int {
	if m.Order == 2 {
		return 1 + m.D + m.D*(m.D+1)/2
	}
	return 1 + m.D
}

// Dim is N·D·(1 + D), and N·D²(D+1)/2 more for second derivatives.
func (m Jets) Dim() int { return m.N * m.size() * m.D }

// Rows says that a row of a shape is a landmark, a vector of a frame or a second derivative: see geom.Rows.
func (m Jets) Rows() (n, columns int, name string) { return m.N * m.size(), m.D, "row" }

// CheckRegular returns an error if two landmarks coincide, or if the vectors of a frame are linearly dependent up to rounding.
func (m Jets) CheckRegular(x []float64) error {
	if err := (Manifold{m.N, m.D, m.Kernel}).CheckRegular(slices.Concat(m.places(x)...)); err != nil {
		return err
	}
	for i := range m.N {
		at := i*m.size()*m.D + m.D
		if c := mat.Cond(mat.NewDense(m.D, m.D, slices.Clone(x[at:at+m.D*m.D])), 2); !(c < 1e12) {
			return fmt.Errorf("the %d vectors of the frame at landmark %d are linearly dependent, and no deformation makes or parts them; correct them",
				m.D, i)
		}
	}
	return nil
}

func (m Jets) places(x []float64) (out [][]float64) {
	for i := range m.N {
		out = append(out, x[i*m.size()*m.D:][:m.D])
	}
	return out
}

// Fits returns an error if the kernel has fast sums that are valid in a box only, and a landmark is outside the box.
func (m Jets) Fits(x []float64) error {
	return m.fits(m.places(x))
}

func (m Jets) fits(points ...geom.Shape) error { return Manifold{m.N, m.D, m.Kernel}.fits(points...) }

func (m Jets) dimension() int { return m.D }

// germ are points y with weights w that depend on scalars t. The derivative of a sum over them by all t, at t = 0, is the sum with the derivatives
// of the jets: the landmark has the weight t₁ t₂ p, the point q + t₁ a_b has t₂ P_b, and q + t₁ a_b + t₂ a_c + t₁ t₂ b_bc has Q_bc. Jets of
// order 1 have t₂ = 1, and points alone no t.
type germ struct {
	y, w *Node   // [..., rows, D] and [..., rows, columns]
	t    []*Node // [..., 1, 1, 1]
}

// germ is that of jets x with weights w, [..., rows, D] and [..., rows, columns].
func (m Jets) germ(x, w *Node) germ {
	lead := x.Shape().Dimensions[:x.Rank()-2]
	row := func(x *Node, k int) *Node { // of each landmark
		x = Reshape(x, slices.Concat(lead, []int{m.N, m.size(), x.Shape().Dim(-1)})...)
		return SliceAxis(x, -2, AxisRange(k, k+1))
	}
	var t []*Node
	for range m.Order {
		t = append(t, Identity(Zeros(x.Graph(), shapes.Make(x.DType(), append(slices.Clone(lead), 1, 1, 1)...))))
	}
	q, one := row(x, 0), t[0]
	second := func(x *Node) *Node { return x } // times t₂
	if m.Order == 2 {
		one = Mul(t[0], t[1])
		second = func(x *Node) *Node { return Mul(t[1], x) }
	}
	points, weights := []*Node{q}, []*Node{Mul(one, row(w, 0))}
	for b := range m.D {
		points = append(points, Add(q, Mul(t[0], row(x, 1+b))))
		weights = append(weights, second(row(w, 1+b)))
	}
	for b, k := 0, 1+m.D; k < m.size(); b++ {
		for c := b; c < m.D; c, k = c+1, k+1 {
			points = append(points, Add(points[1+b], second(Add(row(x, 1+c), Mul(t[0], row(x, k))))))
			weights = append(weights, row(w, k))
		}
	}
	join := func(rows []*Node, like *Node) *Node {
		return Reshape(Concatenate(rows, -2), like.Shape().Dimensions...)
	}
	return germ{join(points, x), join(weights, w), t}
}

// pairing is Σ K(x, y) v·w, summed over the points of two germs with their derivatives, and over the batch. The matrix on the graph has higher
// derivatives that compile sooner than those of sums in C.
func (m Jets) pairing(a, b germ) *Node {
	sum := ReduceAllSum(Mul(a.w, linalg.MatMul(m.Kernel.Gram(a.y, b.y), b.w)))
	for _, t := range slices.Concat(a.t, b.t) {
		sum = ReduceAllSum(Gradient(sum, t)[0])
	}
	return sum
}

// velocities are those of jets x with weights w, [..., rows, D] and [..., rows, columns].
func (m Jets) velocities(x, w *Node) *Node {
	each := Identity(ZerosLike(w))
	return Gradient(m.pairing(m.germ(x, each), m.germ(x, w)), each)[0]
}

// Sharp returns the velocities of landmarks, frames and second derivatives, [..., Dim].
func (m Jets) Sharp(q, p *Node) *Node {
	return Reshape(m.velocities(m.rows(q), m.rows(p)), q.Shape().Dimensions...)
}

// Flat returns the solution p of Sharp(q, p) = v, [..., Dim], by one factorisation of the matrix of derivatives of K.
func (m Jets) Flat(q, v *Node) *Node {
	x := m.rows(q)
	return Reshape(linalg.Solve(m.velocities(x, linalg.Eyes(q, x.Shape().Dim(-2))), m.rows(v)), v.Shape().Dimensions...)
}

// Hamilton returns Hamilton's equations of geodesics, both [..., Dim].
func (m Jets) Hamilton(q, p *Node) (dq, dp *Node) {
	// H is half of a symmetric pairing, so its derivative is that by one side.
	x, w := Identity(q), Identity(p)
	d := Gradient(m.pairing(m.germ(m.rows(x), m.rows(w)), m.germ(m.rows(q), m.rows(p))), x, w)
	return d[1], Neg(d[0])
}

// Velocity returns the velocity field v(z), [..., k, D], at points z, [..., k, D], of landmarks with frames q and momenta p, both [..., Dim].
func (m Jets) Velocity(q, p, z *Node) *Node {
	each := Identity(ZerosLike(z))
	return Gradient(m.pairing(germ{z, each, nil}, m.germ(m.rows(q), m.rows(p))), each)[0]
}

func (m Jets) rows(q *Node) *Node {
	refuse.If(q.Rank() == 0 || q.Shape().Dim(-1) != m.Dim(),
		"landmarks: jets of shape %s, want [..., %d] for %d landmarks in R^%d with derivatives of order %d", q.Shape(), m.Dim(), m.N, m.D, m.Order)
	return linalg.Matrices(q, m.N*m.size(), m.D)
}

// JetSpace computes on Jets with shapes: a landmark, the D vectors of its frame and its second derivatives are rows one after the other. It has all
// methods of geom.Space, such as Exp and Log, and those of a Flow.
type JetSpace struct {
	Flow
	Manifold Jets // for graph functions
}

// NewJets returns the space of n landmarks in R^dim with their derivatives up to an order, 1 or 2, and the metric of a kernel: see Jets. The
// options are those of geom, such as geom.Integrator. A number n or dim below 1, another order, or a nil kernel, is a panic.
func NewJets(n, dim, order int, kernel kernels.Kernel, options ...geom.Option) *JetSpace {
	refuse.If(n < 1 || dim < 1 || order < 1 || order > 2 || kernel == nil,
		"landmarks.NewJets: %d landmarks in R^%d with derivatives of order %d and the kernel %v, want order 1 or 2", n, dim, order, kernel)
	m := Jets{n, dim, order, kernel}
	return &JetSpace{Flow{geom.OnShapes(m, options...), m}, m}
}

// Join returns the shape with the given landmarks, [N][D], and frames, [N][D][D], whose columns are the vectors; nil for unit matrices. Second
// derivatives are 0. Other sizes are an error.
func (s *JetSpace) Join(points [][]float64, frames [][][]float64) (geom.Shape, error) {
	m := s.Manifold
	if len(points) != m.N || frames != nil && len(frames) != m.N {
		return nil, fmt.Errorf("Join: %d landmarks and %d frames, the space has %d", len(points), len(frames), m.N)
	}
	var out geom.Shape
	for i, x := range points {
		jet := engine.Unflatten(make([]float64, m.size()*m.D), m.D)
		copy(jet[0], x)
		if err := s.checkPoint(x); err != nil {
			return nil, fmt.Errorf("Join: landmark %d: %w", i, err)
		}
		for a := range m.D {
			jet[1+a][a] = 1
			if frames == nil {
				continue
			}
			if len(frames[i]) != m.D || len(frames[i][a]) != m.D {
				return nil, fmt.Errorf("Join: frame %d is no matrix with %d rows and columns", i, m.D)
			}
			for b, v := range frames[i][a] {
				jet[1+b][a] = v
			}
		}
		out = append(out, jet...)
	}
	return out, nil
}

// Split is the inverse of Join: it returns the landmarks and frames of a shape with finite numbers, without second derivatives.
func (s *JetSpace) Split(x geom.Shape) (points [][]float64, frames [][][]float64, err error) {
	if err := s.CheckNumbers("shape", x); err != nil {
		return nil, nil, fmt.Errorf("Split: %w", err)
	}
	for rows := range slices.Chunk(x, s.Manifold.size()) {
		frame := engine.Unflatten(make([]float64, s.Manifold.D*s.Manifold.D), s.Manifold.D)
		for a := range frame {
			for b := range frame {
				frame[a][b] = rows[1+b][a]
			}
		}
		points, frames = append(points, rows[0]), append(frames, frame)
	}
	return points, frames, nil
}

// String says in one line which manifold it is.
func (s *JetSpace) String() string {
	m := s.Manifold
	return fmt.Sprintf("manifold of %d landmarks in R^%d with derivatives of order %d, kernel %v", m.N, m.D, m.Order, m.Kernel)
}
