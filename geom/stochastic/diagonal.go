package stochastic

import (
	"fmt"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/autodiff"
	"anatomy/geom/linalg"
	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/geom/try"
)

// Meetings are weighted points where Brownian motions from given points meet at one time: see Meet.
type Meetings[P geom.Point] struct {
	Points     []P       // of 2·Run.Steps steps
	LogWeights []float64 // of Points; the mean of exp(LogWeights) is exp(Log)

	Log float64 // log ∫ Π_j p_T(x_j, y) dy
	// StandardError of Log has in it the spread of the weights, StepError and the share of Diverged: +Inf where the weights spread too far to tell.
	StandardError float64
	StepError     float64 // log Z_2n − Log: see Meet
	EffectiveSize float64 // (Σ w)²/Σ w² of Points
	Diverged      int     // paths of 2·Run.Steps steps that diverged: they are not among Points
}

// String says what the meetings are in one line.
func (m *Meetings[P]) String() string {
	return fmt.Sprintf("%d meetings, effective size %.3g, log density %.4g ± %.2g%s", len(m.Points), m.EffectiveSize, m.Log, m.StandardError, sayLost(m.Diverged))
}

// Weights returns the weights of the points, which sum to their number.
func (m *Meetings[P]) Weights() []float64 {
	total := floats.LogSumExp(solve.NotNil(m).LogWeights)
	w := make([]float64, len(m.LogWeights))
	for k, l := range m.LogWeights {
		w[k] = math.Exp(l-total) * float64(len(w))
	}
	return w
}

// Meet simulates J ≥ 2 Brownian motions that start at the samples x_j and are conditioned to be at one point at time T = r.Time: a Brownian
// motion of the product of J copies of the manifold, conditioned to end on its diagonal. The density of this point y is proportional to
// Π_j p_T(x_j, y). So its mode is the diffusion mean for the time T, and its distribution is what the samples say of the mean if it is known
// before that they have this variance (M. Jensen and S. Sommer, Mean estimation on the diagonal of product manifolds, 2022).
//
// All motions run in the chart centred at the point centre. Each step leads them, over the time τ that is left, to the mean m of their
// coordinates, weighted by the metrics at the points: it adds the drift (m − x_j)/τ, and takes as much from the noise that is left over
// by the noise of m as a bridge does. The weight of a path is the density of its Euler–Maruyama steps without this divided by that with
// it; the last step to one point is a product of normal densities. In flat space all weights are equal. r.Steps is at least 2.
//
// The error of the mean weight Z_n of n steps falls with 1/n. So r.Paths paths of n = r.Steps steps are followed by as many others of 2n,
// and exp(Log) is 2 Z_2n − Z_n (L. Richardson 1911; D. Talay and L. Tubaro, Stochastic Analysis and Applications 8, 1990). Points have the
// law of 2n steps. Paths that diverge because they come near the cut locus of the centre have the weight 0; it is an error if they are
// more than a tenth.
func Meet[P geom.Point](on geom.Of[P], samples []P, centre P, r Run) (_ *Meetings[P], err error) {
	const what = "Meet"
	defer try.Named(&err, what)
	s := on.Geometry()
	r.check()
	try.FailIf(len(samples) < 2 || r.Steps < 2, "%d samples and %d steps, want at least 2 of each", len(samples), r.Steps)
	try.Do(s.Check("centre", centre))
	try.Do(s.CheckAll("sample", samples))
	try.Do(s.CheckRegular("sample", append([]P{centre}, samples...)...))
	d := s.M.Dim()
	r.fits(3*len(samples), d, 0, false)
	run := func(r Run) *Meetings[P] {
		out := try.Get(s.Call(operation{name: what}, func(in []*Node) []*Node {
			end, logWeights := meetings(s.M, in[0], in[1], in[2], in[3])
			return []*Node{end, logWeights}
		}, shape.Flat(centre), shape.FlatAll(samples), r.Time, r.bridging(r.Paths, len(samples)*d)))
		ends, weights := out.Matrix(0), slices.Clone(out.Vector(1))
		m := &Meetings[P]{Diverged: lose(weights)}
		try.FailIf(float64(m.Diverged) > mostLost*float64(r.Paths),
			"%d of %d paths of %d steps diverge: they come near the cut locus of the centre, or the steps are too long; use a shorter time",
			m.Diverged, r.Paths, r.Steps)
		for k, l := range weights {
			if !math.IsInf(l, -1) {
				m.Points, m.LogWeights = append(m.Points, s.Point(ends[k])), append(m.LogWeights, l)
			}
		}
		total, size, spread := spreadOf(weights)
		m.Log, m.EffectiveSize, m.StandardError = total-math.Log(float64(r.Paths)), size, spread
		return m
	}
	coarse := run(r)
	r.Steps, r.Seed = 2*r.Steps, r.stream(0)
	m := run(r)
	ratio := math.Exp(coarse.Log - m.Log) // Z_n/Z_2n
	spread := math.Hypot(2*m.StandardError, ratio*coarse.StandardError) / (2 - ratio)
	if ratio >= 2 {
		ratio, spread = 1, math.Inf(1)
	}
	m.StepError = -math.Log(2 - ratio)
	floats.AddConst(-m.StepError-missing(float64(m.Diverged)/float64(r.Paths)), m.LogWeights)
	m.Log -= m.StepError
	m.StandardError = math.Hypot(math.Hypot(spread, m.StepError), missing(float64(max(m.Diverged, coarse.Diverged))/float64(r.Paths)))
	return m, nil
}

// meetings returns the ends, [N, a], and log weights, [N], of motions from x, [J, a], in the chart centred at c, [a], with normal numbers
// xi, [n, N, J·d].
func meetings(m geom.Manifold, c, x, T, xi *Node) (end, logWeights *Node) {
	n, paths, j, d := xi.Shape().Dim(0), xi.Shape().Dim(1), x.Shape().Dim(0), m.Dim()
	at := geom.At(m, c)
	m = at.Manifold
	xi = Reshape(xi, n, paths, j, d)
	total := func(x *Node) *Node { return ReduceSum(x, -1, -2) }
	number := func(x float64) *Node { return Scalar(T.Graph(), T.DType(), x) }
	// left is the time after step i: T (1 − i/n)².
	left := func(i *Node) *Node {
		return Mul(T, Square(OneMinus(MulScalar(i, 1/float64(n)))))
	}
	y, _ := autodiff.Scan(n-1, func(i *Node, y, in []*Node) ([]*Node, []*Node) {
		i = ConvertDType(i, T.DType())
		tau, next := left(i), left(OnePlus(i))
		h, root := Sub(tau, next), Sqrt(Div(next, tau))
		x, xi, step := y[0], in[0], newTogether(m, y[0])
		common := step.inFrame(step.mean(linalg.MatVec(step.frame, xi)))
		noise := Add(common, Mul(root, Sub(xi, common)))
		pull := Div(step.inFrame(Sub(step.mean(x), x)), tau)
		move := Add(noise, Mul(Sqrt(h), pull)) // without drift, over √h
		x = Add(Add(x, Mul(h, step.drift)), Mul(Sqrt(h), linalg.MatVec(step.frame, move)))
		weight := MulScalar(Sub(total(Square(xi)), total(Square(move))), 0.5)
		return []*Node{x, Add(y[1], weight), Add(y[2], MulScalar(Log(root), float64((j-1)*d)))}, nil
	}, []*Node{BroadcastPrefix(at.Coordinates(x), paths), BroadcastToDims(number(0), paths), number(0)}, []*Node{Slice(xi, AxisRange(0, n-1))})
	// The last step, of length h: Π_j N(y; μ_j, h g*(x_j)), with the volume at y.
	h := left(number(float64(n - 1)))
	step := newTogether(m, y[0])
	mu := Add(y[0], Mul(h, step.drift))
	mean := step.mean(mu)
	spread := ReduceSum(Square(step.inFrame(Sub(mean, mu))), -1, -2)
	last := Squeeze(Slice(xi, AxisElem(n-1), AxisRange(), AxisElem(0)), 0, 2) // [N, d]
	factor := linalg.Factor(step.sum)
	off := Squeeze(linalg.SolveTriangular(factor.L, ExpandAxes(last, -1), true, true), -1)
	at = at.Moved(Add(Squeeze(Slice(mean, AxisRange(), AxisElem(0)), 1), Mul(Sqrt(h), off)))
	volumes := Sub(ReduceSum(geom.LogVolume(m, y[0]), -1), MulScalar(geom.LogVolume(m, at.X), float64(j-1)))
	logWeights = Add(y[1], Sub(volumes, MulScalar(Add(Div(spread, h), factor.LogDet()), 0.5)))
	return at.Z, Add(logWeights, Sub(y[2], MulScalar(Log(MulScalar(h, 2*math.Pi)), float64((j-1)*d)/2)))
}

// together is what a step of several motions needs at their points x, [N, J, d].
type together struct {
	g, frame, drift *Node // metric and orthonormal frame, [N, J, d, d]; −½ g^kl Γ^i_kl
	sum             *Node // Σ_j g(x_j), [N, d, d]
}

func newTogether(m geom.Manifold, x *Node) together {
	g := geom.MetricMatrix(m, x)
	return together{g, geom.Orthonormal(m, x), MulScalar(geom.ChristoffelTrace(m, x), -0.5), ReduceSum(g, 1)}
}

// mean is (Σ g_j)⁻¹ Σ g_j v_j, for all j, [N, J, d].
func (t together) mean(v *Node) *Node {
	sum := ReduceSum(linalg.MatVec(t.g, v), 1)
	return BroadcastToShape(ExpandAxes(Squeeze(linalg.Solve(t.sum, ExpandAxes(sum, -1)), -1), 1), v.Shape())
}

// inFrame is E⁻¹ v = Eᵀ g v.
func (t together) inFrame(v *Node) *Node {
	return linalg.MatVec(linalg.T(t.frame), linalg.MatVec(t.g, v))
}
