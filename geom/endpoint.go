package geom

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/autodiff"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
	"anatomy/internal/dense"
	"anatomy/internal/lists"
)

// On a SubRiemannian manifold the end point map E takes controls u(t) in R^k to the end of the path x' = Σ_a u_a X_a. A path of least
// energy ½ ∫ |u|² dt to y has u = E'(u)* λ with the momentum λ at y, unless E' is singular there.
const (
	searches = 24 // begin with other controls
	pieces   = 25 // of the time have constant controls
	steering = 30 // steps of the search for controls
	finals   = 4  // paths with the least energy become geodesics
)

// steered is Log on a SubRiemannian manifold: for each pair the shortest of the geodesics found.
func (s *space) steered(x, y []Vec) ([]*Geodesic[Vec], error) {
	var starts, ends, momenta []Vec
	left := make([]float64, len(x)) // how far the best path ends from y
	for i := range x {
		apart := floats.Distance(x[i], y[i], 2)
		out, err := s.call("Log, controls", func(in []*Node) []*Node {
			p, energy, miss := steered(s.M, s.method, in[0], in[1], in[2])
			return []*Node{p, energy, miss}
		}, x[i], y[i], tried(Rank(s.M), apart))
		if err != nil {
			return nil, err
		}
		p, energy, miss := out.Matrix(0), out.Vector(1), out.Vector(2)
		order := lists.Range(searches)
		slices.SortStableFunc(order, func(a, b int) int {
			if near := 0.01 * apart; miss[a] <= near && miss[b] <= near {
				return cmp.Compare(energy[a], energy[b])
			}
			return cmp.Compare(orInf(miss[a]), orInf(miss[b]))
		})
		left[i] = orInf(miss[order[0]])
		starts, ends = append(starts, slices.Repeat(x[i:i+1], finals)...), append(ends, slices.Repeat(y[i:i+1], finals)...)
		momenta = append(momenta, lists.Pick(p, order[:finals])...)
	}
	all, err := s.searched(starts, ends, momenta)
	if all == nil {
		return nil, err
	}
	err = nil
	best := make([]*Geodesic[Vec], len(x))
	for i := range x {
		found := slices.DeleteFunc(all[i*finals:(i+1)*finals], func(g *Geodesic[Vec]) bool { return g == nil })
		// Where a continuum of shortest paths leads to the end, Newton's method comes no closer than the error of the time steps.
		close := accuracy * floats.Distance(x[i], y[i], 2)
		if len(found) == 0 {
			continue
		}
		g := slices.MinFunc(found, func(a, b *Geodesic[Vec]) int {
			if a.Residual <= close && b.Residual <= close {
				return cmp.Compare(a.Length, b.Length)
			}
			return cmp.Compare(a.Residual, b.Residual)
		})
		if !(g.Residual <= 10*close) {
			reason := fmt.Errorf("of %d paths none comes closer to the end than %.3g: brackets of the fields do not span all directions, "+
				"or the chart at the end does not reach the start", searches, g.Residual)
			if left[i] <= 0.01*floats.Distance(x[i], y[i], 2) {
				reason = fmt.Errorf("paths lead to within %.2g of the end, but no geodesic was found that comes closer than %.2g: the end is close to points "+
					"to which many shortest geodesics lead, as on the axis of the Heisenberg group, or to an abnormal path; move it, or go by a point between",
					left[i], g.Residual)
			}
			err = errors.Join(err, failed(i, len(x), reason))
			continue
		}
		best[i] = g
	}
	return best, err
}

// orInf is a distance, +Inf where it is not a number.
func orInf(x float64) float64 {
	if math.IsNaN(x) {
		return math.Inf(1)
	}
	return x
}

// tried are controls in R^k to begin with, as increments [pieces][searches][k]: Fourier series of random signs and sizes.
func tried(k int, apart float64) [][][]float64 {
	const waves = 3
	random := rand.New(rand.NewPCG(1, 1))
	w := lists.Make(pieces, func(int) [][]float64 { return lists.Zeros(searches, k) })
	for b := range searches {
		size := max(apart, math.Sqrt(apart)) * math.Pow(2, float64(b%4)-1) / pieces
		for a := range k {
			for wave := range waves {
				up, phase := random.NormFloat64(), 2*math.Pi*random.Float64()
				for i := range w {
					w[i][b][a] += size * up * math.Cos(2*math.Pi*float64(wave*i)/pieces+phase)
				}
			}
		}
	}
	return w
}

// horizontal is the equation dy = Σ_a dW^a X_a.
func horizontal(m Manifold) ode.Equation {
	return func(_ *Node, y ode.State, _, dw *Node) ode.State {
		return ode.State{linalg.MatVec(Orthonormal(m, y[0]), dw)}
	}
}

// reached is the end of paths from z with controls w, [n, B, k], as a difference from y in the coordinates of the chart there, [B, d], with
// its derivatives by the controls, [B, d, n·k], and by the start in the coordinates of the chart at z, [B, d, d].
func reached(m Manifold, method ode.Method, z, y, w *Node) (miss, byControls, byStart *Node) {
	n, b, k, d := w.Shape().Dim(0), w.Shape().Dim(1), w.Shape().Dim(2), m.Dim()
	at := At(m, BroadcastPrefix(z, d, b))
	x := fresh(at.X)
	dw := fresh(BroadcastToDims(ExpandAxes(w, 1), n, d, b, k))
	equation, method := Recentred(m, horizontal, method)
	end := ode.Integrate(equation, method, ode.Drive{DW: dw}, ode.State{at.Point(x)})[0]
	there := At(m, BroadcastPrefix(y, d, b))
	miss = Sub(there.Coordinates(end), there.X)
	slopes := Gradient(ReduceAllSum(Mul(miss, basisAt(Squeeze(SliceAxis(there.X, 0, AxisElem(0)), 0)))), dw, x)
	return Squeeze(SliceAxis(miss, 0, AxisElem(0)), 0), Reshape(TransposeAllDims(slopes[0], 2, 1, 0, 3), b, d, n*k), Transpose(slopes[1], 0, 1)
}

// steered improves controls w, [n, B, k]: each step solves the problem that is linear in them. It returns the momenta at z to which they
// lead, [B, a], the energies of the paths and how far they miss y in coordinates, both [B].
func steered(m Manifold, method ode.Method, z, y, w *Node) (momenta, energies, misses *Node) {
	n, b, k := w.Shape().Dim(0), w.Shape().Dim(1), w.Shape().Dim(2)
	multiplier := func(w *Node) (flat, lambda, j, byStart, miss *Node) {
		miss, j, byStart = reached(m, method, z, y, w)
		flat = Reshape(Transpose(w, 0, 1), b, n*k)
		gram := MulScalar(linalg.MatMul(j, linalg.T(j)), 1/float64(n))
		trace := ExpandAxes(ExpandAxes(MulScalar(linalg.Trace(gram), 1e-10), -1), -1)
		gram = Add(gram, Mul(linalg.EyeLike(gram), BroadcastToShape(trace, gram.Shape())))
		return flat, linalg.Solve(gram, Sub(linalg.MatVec(j, flat), miss)), j, byStart, miss
	}
	norm := func(x *Node) *Node { return Sqrt(ReduceAndKeep(Square(x), ReduceSum, -1)) }
	found, _ := autodiff.Scan(steering, func(_ *Node, c, _ []*Node) (next, out []*Node) {
		flat, lambda, j, _, _ := multiplier(c[0])
		step := Sub(MulScalar(linalg.MatVec(linalg.T(j), lambda), 1/float64(n)), flat)
		most := Div(norm(flat), norm(step)) // a step that is longer than half of the controls leads astray
		flat = Add(flat, Mul(step, BroadcastToShape(MulScalar(MinScalar(most, 1), 0.5), step.Shape())))
		return []*Node{Transpose(Reshape(flat, b, n, k), 0, 1)}, nil
	}, []*Node{w}, nil)
	flat, lambda, _, byStart, miss := multiplier(found[0])
	momenta = At(m, BroadcastPrefix(z, b)).Leave(Covector, linalg.MatVec(linalg.T(byStart), lambda))
	return momenta, MulScalar(ReduceSum(Square(flat), -1), float64(n)/2), Squeeze(norm(miss), -1)
}

// corank is the number of directions that the derivative of the end point map misses along a geodesic.
func (s *space) corank(g *Geodesic[Vec]) (int, error) {
	const tiny = 1e-12 // of squares: rounding
	var points, momenta []Vec
	for i := range pieces {
		k := (2*i + 1) * g.Steps / (2 * pieces)
		points, momenta = append(points, g.Path[k]), append(momenta, g.Momenta[k])
	}
	out, err := s.call("Log, corank", func(in []*Node) []*Node {
		at := At(s.M, in[2])
		u := linalg.MatVec(linalg.T(Orthonormal(at.Manifold, at.X)), at.Enter(Covector, in[3])) // [pieces, k]
		_, j, _ := reached(s.M, s.method, in[0], in[1], ExpandAxes(MulScalar(u, 1./pieces), 1))
		return []*Node{Squeeze(linalg.MatMul(j, linalg.T(j)), 0)}
	}, g.Start, g.End, points, momenta)
	if err != nil {
		return 0, err
	}
	d := s.M.Dim()
	values, _, ok := dense.Eigen(mat.NewSymDense(d, out.Flat(0)))
	if !ok {
		return 0, errors.New("the derivative of the end point map is not finite")
	}
	missing := 0
	for _, v := range values {
		if v <= tiny*values[d-1] {
			missing++
		}
	}
	return missing, nil
}
