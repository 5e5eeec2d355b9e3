package geom

import (
	"fmt"
	"math"

	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom/autodiff"
	"anatomy/geom/engine"
	"anatomy/geom/ode"
)

// Spaces of an Atlas, and of manifolds with ClosedForms.

// onManifold bounds what a point may lie off its manifold, relative to the norm of the point, and a tangent vector off
// the tangent space, relative to that of the vector.
const onManifold = 1e-8

// direct reports whether the space is that of an Atlas or has closed forms.
func (s *Space) direct() bool {
	_, atlas := s.M.(Atlas)
	_, closed := s.M.(ClosedForms)
	return atlas || closed
}

// coordinates is the length of the vectors that stand for points.
func (s *Space) coordinates() int {
	if a, ok := s.M.(Atlas); ok {
		return a.AmbientDim()
	}
	return s.M.Dim()
}

// ambientFlat is v♭ of tangent vectors at z.
func ambientFlat(m Manifold, z, v *Node) *Node {
	at := centredAt(m, z)
	return at.leave(Covector, Flat(at.Manifold, at.x, at.enter(Vector, v)))
}

// times is t v at the times 0, 1/n, …, 1, [n + 1, …].
func times(n int, v *Node) *Node {
	t := MulScalar(IotaFull(v.Graph(), shapes.Make(v.DType(), n+1)), 1/float64(n))
	v = BroadcastPrefix(v, n+1)
	for t.Rank() < v.Rank() {
		t = ExpandAxes(t, -1)
	}
	return Mul(BroadcastToShape(t, v.Shape()), v)
}

// directPath returns points and momenta as Space.path does, from a point, and a velocity or else a momentum, and how far
// point and velocity are from the manifold and its tangent space.
func (s *Space) directPath(z, v, p *Node) []*Node {
	at := centredAt(s.M, z)
	on := at.moved(at.x).z
	offTangent := ScalarZero(z.Graph(), z.DType())
	var x, given *Node
	if v != nil {
		given = v
		x = at.enter(Vector, v)
		p = at.leave(Covector, Flat(at.Manifold, at.x, x))
	} else {
		x = Sharp(at.Manifold, at.x, at.enter(Covector, p))
	}
	v = at.leave(Vector, x)
	if given != nil {
		offTangent = length(Sub(v, given))
	}
	var points, momenta *Node
	if m, ok := s.M.(ClosedForms); ok {
		tv := times(s.steps, v)
		start := broadcastLike(on, tv)
		points = m.Exp(start, tv)
		momenta = ambientFlat(s.M, points, m.Transport(start, tv, broadcastLike(v, tv)))
	} else {
		field, method := Recentred(s.M, Geodesics, s.method, Covector)
		path := ode.Path(field, method, s.steps, ode.State{on, p})
		points, momenta = path[0], path[1]
	}
	return []*Node{points, momenta, v, Sqrt(ReduceSum(Mul(v, p), -1)), length(Sub(on, z)), offTangent}
}

func length(v *Node) *Node { return Sqrt(ReduceSum(Square(v), -1)) }

// checkOn reports points off the manifold and vectors off the tangent space, by the distances that a graph returned.
func checkOn(what, point string, z []float64, offPoint float64, vector string, v []float64, offTangent float64) error {
	norm := floats.Norm(z, 2)
	if !(offPoint <= onManifold*norm) {
		if math.IsNaN(offPoint) {
			return fmt.Errorf("%s: the %s is not on the manifold", what, point)
		}
		return fmt.Errorf("%s: the %s is not on the manifold: it is %.3g off; Space.Project moves points to it", what, point, offPoint)
	}
	if v != nil && !(offTangent <= onManifold*floats.Norm(v, 2)+1e-12*norm) {
		return fmt.Errorf("%s: the %s is not tangent: the part that is not has norm %.3g of %.3g; Space.Project removes it", what, vector, offTangent, floats.Norm(v, 2))
	}
	return nil
}

// Project returns the point of an Atlas that an ambient vector close to it stands for, and the tangent parts of vectors
// there: what points need that were rounded or averaged in the ambient space. On other manifolds it changes nothing.
func (s *Space) Project(z []float64, vectors ...[]float64) (point []float64, tangent [][]float64, err error) {
	for i, v := range append([][]float64{z}, vectors...) {
		if err := s.check("Project", fmt.Sprintf("vector %d", i), v, "point", z); err != nil {
			return nil, nil, err
		}
	}
	out, err := s.Call("Project", func(in []*Node) []*Node {
		at := centredAt(s.M, in[0])
		out := []*Node{at.moved(at.x).z}
		for _, v := range in[1:] {
			out = append(out, at.leave(Vector, at.enter(Vector, v)))
		}
		return out
	}, toAny(append([][]float64{z}, vectors...))...)
	if err != nil {
		return nil, nil, err
	}
	if i, bad := notFinite(out.Vector(0)); bad {
		return nil, nil, fmt.Errorf("Project: no point of the manifold is near: coordinate %d would be %g", i, out.Vector(0)[i])
	}
	for i := range vectors {
		tangent = append(tangent, out.Vector(i+1))
	}
	return out.Vector(0), tangent, nil
}

func toAny(x [][]float64) []any {
	out := make([]any, len(x))
	for i := range x {
		out[i] = x[i]
	}
	return out
}

// gap is what separates an end point from y, as a tangent vector at z: the coordinates of the end point in the chart
// centred at y, as a vector of that chart at z. For end = Exp_z(v) it is zero where the end point is y, and close to
// v − Log_z(y) else. It returns the distance of the end point from y in the ambient space too.
func gap(m Manifold, z, y, end *Node) (tangent, distance *Node) {
	at := centredAt(m, y)
	if at.chart == nil {
		d := Sub(end, y)
		return d, length(d)
	}
	x := at.chart.Coordinates(end)
	tangent = push(at.chart.Point, at.chart.Coordinates(fresh(z)), x)
	return tangent, length(Sub(at.chart.Point(x), y))
}

// integratedEnd is Exp_z(v) of an Atlas.
func (s *Space) integratedEnd(z, v *Node) *Node {
	field, method := Recentred(s.M, Geodesics, s.method, Covector)
	return ode.Flow(field, method, s.steps, ode.State{z, ambientFlat(s.M, z, v)})[0]
}

// directLog is LogFrom for an Atlas or closed forms.
func (s *Space) directLog(z, y, guess [][]float64) ([]*Geodesic, error) {
	start, apart, err := s.checkPairs(z, y)
	if err != nil {
		return nil, err
	}
	roots := make([]*root, len(z))
	var velocities [][]float64
	var distances, conjugate []float64
	if m, ok := s.M.(ClosedForms); ok {
		out, err := s.Call("Log", func(in []*Node) []*Node {
			v := m.Log(in[0], in[1])
			_, distance := gap(s.M, in[0], in[1], m.Exp(in[0], v))
			return []*Node{v, distance}
		}, z, y)
		if err != nil {
			return nil, err
		}
		velocities, distances = out.Matrix(0), out.Vector(1)
		for i, v := range velocities {
			if _, bad := notFinite(v); bad {
				return nil, cutLocus(i)
			}
			roots[i] = &root{x: v}
		}
	} else {
		if roots, err = s.searchLog(z, y, guess, start, apart, false); err != nil {
			return nil, err
		}
		if guess == nil { // a guess says which of the geodesics is wanted
			if conjugate, err = s.shorten(z, y, start, apart, roots); err != nil {
				return nil, err
			}
		}
		for _, r := range roots {
			velocities = append(velocities, r.x)
		}
		out, err := s.logGap(z, y, velocities)
		if err != nil {
			return nil, err
		}
		distances = out.Vector(1)
	}
	out, err := s.Call("Log momenta", func(in []*Node) []*Node {
		at := centredAt(s.M, in[0])
		x := at.enter(Vector, in[1])
		v, p := at.leave(Vector, x), at.leave(Covector, Flat(at.Manifold, at.x, x))
		return []*Node{v, p, Sqrt(ReduceSum(Mul(v, p), -1))}
	}, z, velocities)
	if err != nil {
		return nil, err
	}
	velocities = out.Matrix(0)
	momenta, lengths := out.Matrix(1), out.Vector(2)
	gs := make([]*Geodesic, len(z))
	for i, r := range roots {
		if r.status == Converged && !(distances[i] <= onManifold*apart[i]+1e-12*floats.Norm(y[i], 2)) {
			r.status = Stalled
		}
		gs[i] = &Geodesic{Start: z[i], Velocity: velocities[i], Momentum: momenta[i], Length: lengths[i],
			Residual: distances[i] / math.Sqrt(float64(s.M.Dim())), Iterations: r.iterations, Status: r.status}
		if conjugate != nil {
			gs[i].Conjugate = conjugate[i]
		}
	}
	return gs, nil
}

func cutLocus(pair int) error {
	return fmt.Errorf("Log of pair %d: the end point is in the cut locus of the starting point, there is no one shortest geodesic: move one of them", pair)
}

// checkPairs validates the points of Log and returns what gap says of the starting points.
func (s *Space) checkPairs(z, y [][]float64) (start [][]float64, apart []float64, err error) {
	for i := range z {
		if err := s.check(fmt.Sprintf("Log of pair %d", i), "starting point", z[i], "end point", y[i]); err != nil {
			return nil, nil, err
		}
	}
	out, err := s.Call("Log pairs", func(in []*Node) []*Node {
		off := func(z *Node) *Node {
			at := centredAt(s.M, z)
			return length(Sub(at.moved(at.x).z, z))
		}
		start, apart := gap(s.M, in[0], in[1], in[0])
		return []*Node{start, apart, off(in[0]), off(in[1])}
	}, z, y)
	if err != nil {
		return nil, nil, err
	}
	start, apart = out.Matrix(0), out.Vector(1)
	offZ, offY := out.Vector(2), out.Vector(3)
	for i := range z {
		what := fmt.Sprintf("Log of pair %d", i)
		if err := checkOn(what, "starting point", z[i], offZ[i], "", nil, 0); err != nil {
			return nil, nil, err
		}
		if err := checkOn(what, "end point", y[i], offY[i], "", nil, 0); err != nil {
			return nil, nil, err
		}
		if _, bad := notFinite(append(start[i], apart[i])); bad {
			return nil, nil, cutLocus(i)
		}
	}
	return start, apart, nil
}

// logGap is gap at Exp_z(v).
func (s *Space) logGap(z, y, v [][]float64) (engine.Values, error) {
	return s.Call("Log", func(in []*Node) []*Node {
		f, distance := gap(s.M, in[0], in[1], s.integratedEnd(in[0], in[2]))
		return []*Node{f, distance}
	}, z, y, v)
}

// searchLog solves gap(Exp_z(v)) = 0 for ambient tangent vectors v, from 0 or guesses that are better; with anew from the guesses,
// better or not.
func (s *Space) searchLog(z, y, guess, start [][]float64, apart []float64, anew bool) ([]*root, error) {
	scale := make([]float64, len(z))
	scaled := func(out engine.Values, err error) ([][]float64, error) {
		if err != nil {
			return nil, err
		}
		f := out.Matrix(0)
		for i := range f {
			floats.Scale(scale[i], f[i])
		}
		return f, nil
	}
	eq := equations{
		residual: func(v [][]float64) ([][]float64, error) {
			return scaled(s.logGap(z, y, v))
		},
		derivative: func(v, dv [][]float64) ([][]float64, error) {
			return scaled(s.Call("DExp", func(in []*Node) []*Node {
				_, df := autodiff.Pushforward(func(v []*Node) []*Node {
					f, _ := gap(s.M, in[0], in[1], s.integratedEnd(in[0], v[0]))
					return []*Node{f}
				}, in[2:3], in[3:4])
				return df
			}, z, y, v, dv))
		},
	}
	roots := make([]*root, len(z))
	for i, f := range start {
		// The chart shrinks what is far from its centre: the first step is as long as the points are apart.
		norm := floats.Norm(f, 2)
		scale[i] = 1
		if norm > 0 {
			scale[i] = apart[i] / norm
		}
		f = floats.ScaleTo(make([]float64, len(f)), scale[i], f)
		roots[i] = &root{x: make([]float64, len(f)), f: f, norm: apart[i], tol: 1e-10*apart[i] + 1e-13*floats.Norm(y[i], 2)}
		if anew {
			roots[i].norm = math.Inf(1)
		}
	}
	if err := eq.startAt(roots, guess); err != nil {
		return nil, err
	}
	for _, r := range roots {
		if math.IsInf(r.norm, 1) { // the guess leads nowhere
			r.done, r.status = true, Stalled
		}
	}
	if err := eq.broyden(roots, 80); err != nil {
		return nil, err
	}
	return roots, eq.newton(roots, 30)
}
