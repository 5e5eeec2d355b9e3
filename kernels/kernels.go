// Package kernels holds the reproducing kernels K(x, y) of R^D that make landmarks a manifold: Gaussian, the Laplace
// (Matérn) family, Cauchy, sums of them, each with one width, one along every axis, or widths along any directions (Oriented), and any of
// them with affine fields that are nearly free (Conditional, ThinPlate).
//
// All but the last two are scalar kernels of the form k(s), s = Σ_a ((x_a − y_a)/σ_a)² with k(0) = 1; the matrix kernel of each is
// K(x, y)·I. Widths have the unit of the landmarks.
//
// Widths and weights are settings of compiled programs (engine.Setting): kernels of a kind share theirs.
//
// On the CPU, in float64 and up to three dimensions, exact sums, those on a grid and their first and second derivatives run in C code
// inside the compiled program (kernels/native), which forms no matrix; elsewhere they are operations of the graph. For sums in float32, name the
// points in engine.Float32, so that they are centred before: far from the origin a float32 holds few digits of their differences.
package kernels

import (
	"fmt"
	"math"
	"slices"
	"strings"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
	"anatomy/geom/engine"
	"anatomy/geom/linalg"
	"anatomy/internal/lists"
	"anatomy/internal/refuse"
	"anatomy/kernels/native"
)

// Kernel is a positive definite function of two points.
type Kernel interface {
	// Gram returns the matrix K(x_i, y_j), [..., n, m], of points x, [..., n, D], and y, [..., m, D].
	Gram(x, y *Node) *Node
	// Sum returns Σ_j K(x_i, y_j) b_j, [..., n, C], for weights b, [..., m, C].
	Sum(x, y, b *Node) *Node
	// Hamilton returns the velocities Σ_j K(x_i, x_j) p_j and the forces −∂/∂x_i ½ Σ_jl (p_j·p_l) K(x_j, x_l) of
	// points x with momenta p, all [..., n, D].
	Hamilton(x, p *Node) (dx, dp *Node)
	// String names the kernel with its widths.
	String() string
}

// Bounded is an optional interface of kernels, and of data terms with a kernel, whose fast sums hold for points in a box only.
type Bounded interface {
	// Fits returns an error if a point, of [n][D], is outside the box.
	Fits(points [][]float64) error
}

// NearlyFree is an optional interface of kernels in whose norm some fields cost nearly nothing: see Conditional.
type NearlyFree interface {
	// Free is the number of functions that span the coordinates of these fields. As many eigenvalues of a kernel matrix are large.
	Free() int
}

// Gaussian is the kernel exp(−|x − y|²/2σ²). One width is isotropic; D widths scale the D axes. σ has the unit of the
// coordinates. A width that is not positive is a panic.
func Gaussian(sigma ...float64) Kernel {
	k := newRadial("Gaussian", sigma, func(s *Node) *Node { return Exp(MulScalar(s, -0.5)) })
	k.rate = -0.5
	k.kind = native.Exponential
	k.derivative = func(m int) native.Derivative { return native.Derivative{A: []float64{math.Pow(-0.5, float64(m))}} }
	return k
}

// Cauchy is the kernel 1/(1 + |x − y|²/σ²). Widths are as for Gaussian.
func Cauchy(sigma ...float64) Kernel {
	k := newRadial("Cauchy", sigma, func(s *Node) *Node { return Reciprocal(AddScalar(s, 1)) })
	k.kind = native.Fraction
	k.derivative = func(m int) native.Derivative { return native.Derivative{A: []float64{[]float64{1, -1, 2}[m]}} }
	return k
}

// Laplace is the reproducing kernel k_c(r) of the Sobolev space of order c + (D+1)/2, a polynomial of degree c in
// r = |x − y|/σ times exp(−r): the Matérn kernel of smoothness c + 1/2 with k_c(0) = 1.
//
//	k_0 = e^−r,  k_1 = (1 + r) e^−r,  k_2 = (1 + r + r²/3) e^−r,  k_3 = (1 + r + 2r²/5 + r³/15) e^−r, …
//
// k_c has 2c derivatives at r = 0; the geodesic equations want c ≥ 1, curvature and the frame bundle c ≥ 2.
// Derivatives that do not exist at r = 0 count as zero there, which is their value by symmetry.
func Laplace(order int, sigma ...float64) Kernel {
	refuse.If(order < 0 || order > 6, "kernels.Laplace: order %d, want 0 to 6", order)
	k := newRadial(fmt.Sprintf("Laplace-%d", order), sigma, func(s *Node) *Node { return laplace(order, s) })
	k.kind = native.Root
	k.derivative = func(m int) native.Derivative { return laplaceDerivative(order, m) }
	return k
}

// laplaceDerivative is the m-th derivative of k_c by s, by dk_c/ds = −k_{c−1}/(2(2c − 1)) down to k_0 = e^−r, whose
// derivatives are −e^−r/2r and (1 + r) e^−r/4r³.
func laplaceDerivative(c, m int) native.Derivative {
	factor := 1.0
	for ; m > 0 && c > 0; m, c = m-1, c-1 {
		factor *= -0.5 / float64(2*c-1)
	}
	d := []native.Derivative{{A: laplaceCoefficients(c)}, {Divide: 1, A: []float64{-0.5}}, {Divide: 3, A: []float64{0.25, 0.25}}}[m]
	for j := range d.A {
		d.A[j] *= factor
	}
	return d
}

// laplace is k_c as a function of s = r². Its derivative is dk_c/ds = −k_{c−1}/(2(2c − 1)), without the root that makes
// automatic differentiation divide by zero on the diagonal.
func laplace(c int, s *Node) *Node {
	r := Sqrt(s)
	sum := OnesLike(s)
	power := sum
	for _, a := range laplaceCoefficients(c)[1:] {
		power = Mul(power, r)
		sum = Add(sum, MulScalar(power, a))
	}
	value := Mul(sum, Exp(Neg(r)))
	return autodiff.CustomVJP([]*Node{s}, []*Node{value}, func(ct []*Node) []*Node {
		if c > 0 {
			return []*Node{Mul(ct[0], MulScalar(laplace(c-1, s), -0.5/float64(2*c-1)))}
		}
		atZero := Equal(s, ZerosLike(s))
		safe := Sqrt(Where(atZero, OnesLike(s), s))
		slope := Div(MulScalar(Exp(Neg(safe)), -0.5), safe)
		return []*Node{Mul(ct[0], Where(atZero, ZerosLike(s), slope))}
	})[0]
}

// laplaceCoefficients returns the coefficients a_j of k_c(r) = Σ a_j r^j e^−r, a_j = 2^j (2c−j)! c! / ((2c)! j! (c−j)!).
func laplaceCoefficients(c int) []float64 {
	factorial := func(n int) float64 { return math.Round(math.Gamma(float64(n) + 1)) }
	return lists.Make(c+1, func(j int) float64 {
		return math.Pow(2, float64(j)) * factorial(2*c-j) * factorial(c) / (factorial(2*c) * factorial(j) * factorial(c-j))
	})
}

// Radial is your own kernel k(s) of the squared distance s = Σ_a ((x_a − y_a)/σ_a)². profile returns k of each number of s,
// elementwise; name is what String prints.
//
// k must be positive definite in the dimension of the points. Choose k(0) = 1, so that momenta have the unit of lengths. s is
// exactly 0 for equal points. Forces come from the derivative of the profile: a profile that is not differentiable at s = 0,
// such as √s, needs its own derivative there (autodiff.CustomVJP). One width is isotropic; D widths scale the axes.
//
// Exact sums are operations of the graph, also on the CPU. Sums on a grid (Fast, Grid) run in C there.
func Radial(name string, profile func(s *Node) *Node, sigma ...float64) Kernel {
	refuse.If(profile == nil, "kernels.Radial: no profile")
	return newRadial(name, sigma, profile)
}

// Sum is the kernel Σ_l w_l K_l: several scales at once. There is one weight for each kernel, and all are positive.
func Sum(weights []float64, terms ...Kernel) Kernel {
	refuse.If(len(weights) != len(terms) || len(terms) == 0, "kernels.Sum: %d weights for %d kernels", len(weights), len(terms))
	for i, w := range weights {
		refuse.If(!(w > 0) || math.IsInf(w, 1), "kernels.Sum: weight %d is %g; a positive definite sum wants finite positive weights", i, w)
	}
	return sum{weights, terms}
}

type sum struct {
	weights []float64
	terms   []Kernel
}

// total is Σ w_l f(K_l), output by output.
func (k sum) total(f func(t Kernel) []*Node) []*Node {
	var total []*Node
	for i, t := range k.terms {
		for j, v := range f(t) {
			if v = Mul(v, number(v, k.weights[i])); i == 0 {
				total = append(total, v)
			} else {
				total[j] = Add(total[j], v)
			}
		}
	}
	return total
}

func (k sum) Gram(x, y *Node) *Node {
	return k.total(func(t Kernel) []*Node { return []*Node{t.Gram(x, y)} })[0]
}

func (k sum) sums(x, y, b *Node) sums { return inPairs(k, k, nil, x, y, b) }

func (k sum) Sum(x, y, b *Node) *Node {
	if k, ok := k.sums(x, y, b).(pairwise); ok {
		return k.Sum(x, y, b)
	}
	return k.total(func(t Kernel) []*Node { return []*Node{t.Sum(x, y, b)} })[0]
}

func (k sum) Hamilton(x, p *Node) (dx, dp *Node) {
	if k, ok := k.sums(x, x, p).(pairwise); ok {
		return k.Hamilton(x, p)
	}
	out := k.total(func(t Kernel) []*Node { v, f := t.Hamilton(x, p); return []*Node{v, f} })
	return out[0], out[1]
}

func (k sum) sumOnGraph(x, y, b *Node) *Node {
	return k.total(func(t Kernel) []*Node { return []*Node{graphOf(t).sumOnGraph(x, y, b)} })[0]
}

func (k sum) hamiltonOnGraph(x, p *Node) (dx, dp *Node) {
	out := k.total(func(t Kernel) []*Node { v, f := graphOf(t).hamiltonOnGraph(x, p); return []*Node{v, f} })
	return out[0], out[1]
}

// Fits says whether all terms hold for points: expansions do so only up to their extent.
func (k sum) Fits(points [][]float64) error {
	for _, t := range k.terms {
		if t, ok := t.(Bounded); ok {
			if err := t.Fits(points); err != nil {
				return err
			}
		}
	}
	return nil
}

// Free is the most that a term has.
func (k sum) Free() (most int) {
	for _, t := range k.terms {
		if t, ok := t.(NearlyFree); ok {
			most = max(most, t.Free())
		}
	}
	return most
}

func (k sum) String() string {
	parts := lists.Make(len(k.terms), func(i int) string { return fmt.Sprintf("%.4g·%s", k.weights[i], k.terms[i]) })
	return strings.Join(parts, " + ")
}

// radial is k(s) with s the squared distance in units of the widths.
type radial struct {
	name    string
	widths  []float64
	profile func(s *Node) *Node
	rate    float64 // where k' is this multiple of k, else 0

	kind       native.Kind
	derivative func(m int) native.Derivative // of the profile by s, m ≤ 2; nil where C does not know the kernel
}

func newRadial(name string, widths []float64, profile func(s *Node) *Node) radial {
	refuse.If(len(widths) == 0, "kernels.%s: no width", name)
	for i, w := range widths {
		refuse.If(!(w > 0) || math.IsInf(w, 1), "kernels.%s: width %d is %g, want a finite positive number", name, i, w)
	}
	return radial{name: name, widths: widths, profile: profile}
}

func (k radial) Gram(x, y *Node) *Node { return k.profile(k.squaredDistance(x, y)) }

func (k radial) sums(x, y, b *Node) sums            { return inPairs(k, k, nil, x, y, b) }
func (k radial) Sum(x, y, b *Node) *Node            { return k.sums(x, y, b).Sum(x, y, b) }
func (k radial) Hamilton(x, p *Node) (dx, dp *Node) { return k.sums(x, x, p).Hamilton(x, p) }

func (k radial) sumOnGraph(x, y, b *Node) *Node { return weighted(k.Gram(x, y), b) }

// hamiltonOnGraph has the force 2/σ_a² Σ_j w_ij (x_ja − x_ia) with w_ij = k'(s_ij) p_i·p_j.
func (k radial) hamiltonOnGraph(x, p *Node) (dx, dp *Node) {
	s := k.squaredDistance(x, x)
	gram := k.profile(s)
	slope := Gradient(ReduceAllSum(gram), s)[0]
	if fused(x, x) {
		return k.hamiltonInRows(x, p, s, gram, slope)
	}
	return weighted(gram, p), k.inverseSquareWidths(pull(Mul(slope, linalg.MatMul(p, linalg.T(p))), x, x), 2)
}

// hamiltonInRows is hamiltonOnGraph whose derivative, too, is made of sums over j alone, which a compiler puts into one loop: the pullback is the
// derivative along (−f̄, v̄), since that of the Hamiltonian is symmetric (see pullForces).
func (k radial) hamiltonInRows(x, p, s, gram, slope *Node) (v, f *Node) {
	apart := func(x *Node) *Node { return Sub(row(x), column(x)) }
	dot := func(a, b *Node) *Node { return ReduceSum(Mul(a, b), -3) }
	sum := func(terms *Node) *Node { return linalg.T(ReduceSum(terms, -1)) }
	times := func(w, v *Node) *Node { return Mul(ExpandAxes(w, -3), v) }
	product := dot(column(p), row(p))
	v, f = sum(times(gram, row(p))), k.inverseSquareWidths(sum(times(Mul(slope, product), apart(x))), 2)
	out := autodiff.CustomVJP([]*Node{x, p}, []*Node{v, f}, func(ct []*Node) []*Node {
		dx, dp := Neg(ct[1]), ct[0]
		ds := dot(apart(x), apart(k.inverseSquareWidths(dx, 2)))
		more := Add(dot(column(dp), row(p)), dot(column(p), row(dp)))
		bySlope := Add(Mul(Mul(Gradient(ReduceAllSum(slope), s)[0], ds), product), Mul(slope, more))
		dv := sum(Add(times(Mul(slope, ds), row(p)), times(gram, row(dp))))
		df := sum(Add(times(bySlope, apart(x)), times(Mul(slope, product), apart(dx))))
		return []*Node{Neg(k.inverseSquareWidths(df, 2)), dv}
	})
	return out[0], out[1]
}

// fused says whether sums over the pairs of two lists of points are written as sums of [..., D, n, m], of which XLA makes few loops. A GPU
// takes longer to call a library for the product of small matrices than to compute it.
func fused(x, y *Node) bool {
	const few = 128
	return engine.ForGPU(x) && max(x.Shape().Dim(-2), y.Shape().Dim(-2)) <= few
}

func column(x *Node) *Node { return ExpandAxes(linalg.T(x), -1) } // x_ia, [..., D, n, 1]
func row(y *Node) *Node    { return ExpandAxes(linalg.T(y), -2) } // y_ja, [..., D, 1, m]

// weighted is Σ_j w_ij b_j, [..., n, D].
func weighted(w, b *Node) *Node {
	if fused(w, b) {
		return linalg.T(ReduceSum(Mul(ExpandAxes(w, -3), row(b)), -1))
	}
	return linalg.MatMul(w, b)
}

// pull is Σ_j w_ij (y_j − x_i), [..., n, D]. A product with ones sums rows faster than XLA's own sum.
func pull(w, x, y *Node) *Node {
	if fused(x, y) {
		return linalg.T(ReduceSum(Mul(ExpandAxes(w, -3), Sub(row(y), column(x))), -1))
	}
	d := y.Shape().Dim(-1)
	sums := linalg.MatMul(w, Concatenate([]*Node{y, OnesLike(SliceAxis(y, -1, AxisRange(0, 1)))}, -1))
	return Sub(SliceAxis(sums, -1, AxisRange(0, d)), Mul(SliceAxis(sums, -1, AxisRange(d, d+1)), x))
}

// inverseSquareWidths multiplies coordinate a of v by factor/σ_a².
func (k radial) inverseSquareWidths(v *Node, factor float64) *Node {
	scale := lists.Each(k.widths, func(w float64) float64 { return factor / (w * w) })
	dims := append(slices.Repeat([]int{1}, v.Rank()-1), len(scale))
	return Mul(v, engine.Setting(v.Graph(), v.DType(), scale, dims...))
}

// number is a scalar of the kernel in the type of x: another kernel of the kind has another one in the same program.
func number(x *Node, v float64) *Node { return engine.Setting(x.Graph(), x.DType(), []float64{v}) }

func (k radial) String() string {
	w := lists.Make(len(k.widths), func(i int) string { return fmt.Sprintf("%.4g", k.widths[i]) })
	return fmt.Sprintf("%s(σ = %s)", k.name, strings.Join(w, ", "))
}

// squaredDistance is Σ_a ((x_a − y_a)/σ_a)², summed axis by axis: exact zeros on the diagonal, and one fused loop. Its
// gradient is made of matrix products, with −2/σ² Σ_j c_ij (y_j − x_i) for the cotangent c.
func (k radial) squaredDistance(x, y *Node) *Node {
	dim := x.Shape().Dim(-1)
	refuse.If(x.Rank() < 2 || y.Rank() != x.Rank() || y.Shape().Dim(-1) != dim,
		"kernels: points of shapes %s and %s, want [..., n, D] and [..., m, D]", x.Shape(), y.Shape())
	refuse.If(len(k.widths) != 1 && len(k.widths) != dim,
		"kernels: %s has %d widths, the points %s have %d coordinates", k, len(k.widths), x.Shape(), dim)
	s := lists.Fold(dim, Add, func(a int) *Node {
		w := k.widths[min(a, len(k.widths)-1)]
		xa, ya := SliceAxis(x, -1, AxisRange(a, a+1)), SliceAxis(y, -1, AxisRange(a, a+1))
		// Scaled before, coincident points would be a rounding error apart where XLA fuses a product with the difference.
		return Square(Mul(Sub(xa, Transpose(ya, -1, -2)), number(x, 1/w)))
	})
	return autodiff.CustomVJP([]*Node{x, y}, []*Node{s}, func(ct []*Node) []*Node {
		c := ct[0]
		if x == y {
			return []*Node{k.inverseSquareWidths(pull(Add(c, linalg.T(c)), x, x), -2), nil}
		}
		return []*Node{k.inverseSquareWidths(pull(c, x, y), -2), k.inverseSquareWidths(pull(linalg.T(c), y, x), -2)}
	})[0]
}
