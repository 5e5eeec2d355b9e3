package framebundle

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/autodiff"
	"anatomy/geom/engine"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
)

// MostProbablePath returns the projected geodesic of the frame bundle from u that minimises
//
//	½ ∫ |w'|² dt + |x(1) − y|²/2σ²,
//
// the most probable path of Brownian motion with covariance ννᵀ to an observation y with noise of standard deviation σ in
// every coordinate (of an Atlas, in every ambient one). With σ = 0 it ends at y, which takes a frame of d vectors.
//
// The path has P(1) = 0 and, for the derivative ρ of |x(1) − y|²/2, ρ + σ² h(1) = 0. These are as many equations as the
// momentum has components; the search for their root takes no derivatives and converges fast where the curvature, times
// the square of the distance, is moderate. Few vectors and little noise make h(0) large outside their span and the flow
// unstable; where the search does not reach y the Status says so, and minimising over the controls of Steer is the way.
// On an Atlas it stays in the chart centred at u.
func (s *Space) MostProbablePath(u Point, y []float64, sigma float64) (*Geodesic, error) {
	found, err := s.MostProbablePaths(u, [][]float64{y}, sigma, nil)
	if err != nil {
		return nil, err
	}
	g, err := s.Exp(u, found[0].Momentum)
	if err != nil {
		return nil, err
	}
	g.Mismatch, g.Residual, g.Iterations, g.Status = found[0].Mismatch, found[0].Residual, found[0].Iterations, found[0].Status
	g.unknown = found[0].unknown
	return g, nil
}

// MostProbablePaths is MostProbablePath for many observations at once, without what a Geodesic has along the path. The
// search sets out from the momenta of paths found at a point close to u; nil for none.
func (s *Space) MostProbablePaths(u Point, ys [][]float64, sigma float64, from []*Geodesic) ([]*Geodesic, error) {
	const what = "most probable path"
	if err := s.Check(u); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	for i, y := range ys {
		if err := s.checkVector(fmt.Sprintf("observation %d", i), y); err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
	}
	rank, d := len(u.Frame), s.Geometry.M.Dim()
	switch {
	case len(ys) == 0:
		return nil, fmt.Errorf("%s: no observations", what)
	case !(sigma >= 0) || math.IsInf(sigma, 1):
		return nil, fmt.Errorf("%s: noise of standard deviation %g", what, sigma)
	case sigma == 0 && rank < d:
		return nil, fmt.Errorf("%s: %d frame vectors in dimension %d reach no given point: use a full frame or noise σ > 0", what, rank, d)
	case from != nil && len(from) != len(ys):
		return nil, fmt.Errorf("%s: %d paths to set out from for %d observations", what, len(from), len(ys))
	}
	search := make([]*approach, len(ys))
	for i := range ys {
		search[i] = &approach{step: 1, reached: make([]float64, (rank+1)*len(u.X))}
		if from != nil && len(from[i].unknown) == rank+1 {
			search[i].reached, search[i].part = concatenate(from[i].unknown), 1
		}
		search[i].set(min(memory, (rank+1)*d))
	}
	var out engine.Values
	evaluate := func() (err error) {
		unknown := make([][][]float64, rank+1) // [m + 1, N, a]
		parts := make([]float64, len(ys))
		for i, a := range search {
			for k := range unknown {
				unknown[k] = append(unknown[k], a.root.x[k*len(u.X):(k+1)*len(u.X)])
			}
			parts[i] = a.target
		}
		out, err = s.endConditions(u, ys, parts, sigma, unknown)
		return err
	}
	stalled := false
	for open := true; open; {
		if err := evaluate(); err != nil {
			return nil, err
		}
		open = false
		residuals, scales := out.Array3(0), out.Vector(1)
		for i, a := range search {
			if !a.done {
				var r []float64
				for k := range residuals {
					r = append(r, residuals[k][i]...)
				}
				a.learn(r, 1e-10*scales[i]+1e-14*floats.Norm(u.X, 2))
			}
			open = open || !a.done
			stalled = stalled || a.status == geom.Stalled
		}
	}
	if stalled { // these went back to their best points
		if err := evaluate(); err != nil {
			return nil, err
		}
	}
	starts := momenta(out.Matrix(2), out.Array3(3))
	energies, mismatches := out.Vector(4), out.Vector(5)
	gs := make([]*Geodesic, len(ys))
	for i, a := range search {
		g := &Geodesic{Start: u, Momentum: starts[i], Energy: energies[i], Mismatch: mismatches[i],
			Residual: a.root.norm / math.Sqrt(float64(len(a.root.x))), Iterations: a.iterations, Status: a.status, unknown: engine.Unflatten(a.root.x, len(u.X))}
		if _, bad := notFinite([]float64{energies[i], mismatches[i]}); bad {
			return nil, fmt.Errorf("%s: that to observation %d diverges: it is too far away, or the frame too small for it", what, i)
		}
		gs[i] = g
	}
	return gs, nil
}

// endConditions evaluates, on the way to the given part of the distance to the observations and for unknowns (z, Z) of
// [m + 1, N, a], the residuals of the end conditions, of the same shape, and
// what the paths start and end with. With K = ννᵀ + σ²E⁻¹, E the Euclidean metric of the ambient vectors in coordinates, the
// momentum is
//
//	h = K⁻¹ z,  P^β = f_β h + K⁻¹ Z^β
//
// and the residuals are E⁻¹(ρ + σ² h(1)) and K P^β(1): all lengths, with the Jacobian 1 in flat space.
func (s *Space) endConditions(u Point, ys [][]float64, parts []float64, sigma float64, unknown [][][]float64) (engine.Values, error) {
	return s.call("most probable paths", func(in []*Node) []*Node {
		x, nu, y, part, variance, unknown := in[0], in[1], in[2], ExpandAxes(in[3], -1), Square(in[4]), in[5]
		n, rank := y.Shape().Dim(0), nu.Shape().Dim(0)
		x, nu = copies(x, nu, n)
		z, rest := SliceAxis(unknown, 0, AxisRange(0, 1)), SliceAxis(unknown, 0, AxisRange(1, rank+1))
		var scale, energies, mismatch *Node
		kinds := []geom.Kind{geom.Vector, geom.Vector, geom.Vector, geom.Covector, geom.Covector}
		state := ode.State{x, nu, z, rest, ZerosLike(x), ZerosLike(rest)}
		out := geom.InChart(s.Geometry.M, kinds, func(m geom.Manifold, in ode.State) ode.State {
			x, nu, z, rest := in[0], in[1], Squeeze(in[2], 0), in[3]
			rows := frameLast(nu)
			k := linalg.MatMul(linalg.T(rows), rows)
			// In coordinates E = 1.
			target, embedded := y, func(x *Node) *Node { return x }
			noise := BroadcastPrefix(linalg.Eye(k.Graph(), k.DType(), m.Dim()), n)
			raise := func(_, covector *Node) *Node { return covector }
			if chart, ok := m.(geom.Chart); ok {
				target, embedded = chart.Coordinates(y), chart.Point
				noise = linalg.Inverse(euclidean(chart, x))
				raise = func(x, covector *Node) *Node { return linalg.Solve(euclidean(chart, x), covector) }
			}
			k = Add(k, Mul(variance, noise))
			target = Add(x, Mul(part, Sub(target, x)))
			// One factorisation serves all momenta.
			columns := linalg.T(frameLast(Concatenate([]*Node{ExpandAxes(z, 0), rest}, 0)))
			momenta := frameFirst(linalg.T(linalg.Solve(k, columns)))
			h := Squeeze(SliceAxis(momenta, 0, AxisRange(0, 1)), 0)
			f := velocities(nu, h)
			vertical := Add(SliceAxis(momenta, 0, AxisRange(1, rank+1)), Mul(ExpandAxes(f, -1), ExpandAxes(h, 0)))
			energies = energy(nu, h)

			end := ode.Flow(Geodesics(m), s.method, s.steps, coordinate(m, ode.State{x, nu, h, vertical}))
			end = invariant(m, end)
			reached := embedded(end[0])
			off := Sub(reached, embedded(target))
			mismatch = Sqrt(ReduceSum(Square(off), -1))
			rho := off
			if reached != end[0] {
				rho = autodiff.Pullback([]*Node{reached}, []*Node{off}, []*Node{end[0]})[0]
			}
			first := raise(target, Add(rho, Mul(variance, end[2])))
			second := frameFirst(linalg.T(linalg.MatMul(k, linalg.T(frameLast(end[3])))))
			scale = Sqrt(ReduceSum(Square(Sub(target, x)), -1))
			return ode.State{x, nu, ExpandAxes(first, 0), second, h, vertical}
		}, state)
		return []*Node{Concatenate(out[2:4], 0), scale, out[4], out[5], energies, mismatch}
	}, u.X, u.Frame, ys, parts, sigma, unknown)
}

// euclidean returns E = JᵀJ, [..., d, d], for the derivative J of the ambient point.
func euclidean(chart geom.Chart, x *Node) *Node {
	j := autodiff.Jacobian(chart.Point, x)
	return linalg.MatMul(linalg.T(j), j)
}

const (
	patience = 30 // iterations at one target
	shortest = 1. / 64
	memory   = 20
)

// approach walks to an observation: straight away, and where that fails over targets on the way.
type approach struct {
	root       fixedPoint
	reached    []float64 // the unknown at the last target that was reached
	part       float64   // which part of the way that is
	step       float64   // the next step
	target     float64   // the part under way
	count      int       // iterations at this target
	iterations int
	done       bool
	status     geom.Status
}

// set starts the search at the next target.
func (a *approach) set(memory int) {
	a.target = min(1, a.part+a.step)
	x := append([]float64{}, a.reached...)
	if a.part > 0 {
		floats.Scale(a.target/a.part, x)
	}
	a.root, a.count = fixedPoint{x: x, damping: 1, memory: memory}, 0
}

func (a *approach) learn(f []float64, tolerance float64) {
	a.iterations++
	a.count++
	found := a.root.learn(f, tolerance)
	switch {
	case found && a.target == 1:
		a.done = true
	case found:
		a.reached, a.part = a.root.best, a.target
		a.set(a.root.memory)
	case a.count == patience || a.root.damping < shortest:
		if a.part == 1 { // the guess was bad
			floats.Scale(0, a.reached)
			a.part, a.step = 0, 2
		}
		if a.step /= 2; a.step < shortest {
			a.done, a.status = true, geom.Stalled
			a.root.x = a.root.best
			return
		}
		a.set(a.root.memory)
	}
}

// fixedPoint searches for a root of F, whose Jacobian is close to the identity, by Anderson's method: the step −F from the
// combination of the last points for which F, as an affine function, is smallest. Where |F| grows it goes back to the best
// point and takes shorter steps, without memory.
type fixedPoint struct {
	x, f    []float64 // the next point; the value at the best one
	best    []float64
	norm    float64 // |f|
	damping float64
	memory  int
	dx, df  [][]float64 // differences of points and of values
}

// learn takes the value f of F at x. It moves x on, or returns true where f vanishes.
func (p *fixedPoint) learn(f []float64, tolerance float64) bool {
	norm := floats.Norm(f, 2)
	if p.best != nil && !(norm <= 2*p.norm) { // also where it is not a number
		p.damping /= 4
		p.dx, p.df = nil, nil
		p.x = floats.AddScaledTo(make([]float64, len(f)), p.best, -p.damping, p.f)
		return false
	}
	if p.best != nil {
		p.dx = append(p.dx, floats.SubTo(make([]float64, len(f)), p.x, p.best))
		p.df = append(p.df, floats.SubTo(make([]float64, len(f)), f, p.f))
		if len(p.dx) > p.memory {
			p.dx, p.df = p.dx[1:], p.df[1:]
		}
	}
	p.best, p.f, p.norm = p.x, f, norm
	if norm <= tolerance {
		return true
	}
	p.x = floats.AddScaledTo(make([]float64, len(f)), p.x, -p.damping, f)
	for len(p.df) > 0 {
		a := mat.NewDense(len(f), len(p.df), nil)
		for j, d := range p.df {
			a.SetCol(j, d)
		}
		var c mat.VecDense
		var qr mat.QR
		qr.Factorize(a)
		if err := qr.SolveVecTo(&c, false, mat.NewVecDense(len(f), f)); err != nil { // dependent differences
			p.dx, p.df = p.dx[1:], p.df[1:]
			continue
		}
		for j := range p.df {
			floats.AddScaled(p.x, -c.AtVec(j), p.dx[j])
			floats.AddScaled(p.x, p.damping*c.AtVec(j), p.df[j])
		}
		break
	}
	return false
}

func concatenate(rows [][]float64) (x []float64) {
	for _, r := range rows {
		x = append(x, r...)
	}
	return x
}
