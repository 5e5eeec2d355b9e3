package geom

import (
	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
	"anatomy/internal/refuse"
)

// Charted is a manifold that needs more than one chart. Its points are vectors z of an ambient space, [..., a]: unit vectors for
// the sphere, matrices row by row for SPD(n). Every point is the centre of a chart. After every step of an integration the
// state is moved to the chart centred at the new point, so that a path never leaves its chart.
//
// Tangent vectors are ambient vectors, [..., a]: images of the vectors of a chart under the derivative of Point. A covector P,
// [..., a], is the linear form V ↦ Σ P_i V_i on tangent vectors V. Several P are the same form; the functions of this package
// return the pullback by Coordinates of the covector in the chart.
type Charted interface {
	Manifold
	AmbientDim() int     // a
	Chart(c *Node) Chart // the chart centred at c, [..., a]
}

// Chart is a Metric or a Cometric in coordinates x together with the map between coordinates and ambient points. Where the
// centre is [B..., a], coordinates are [P..., B..., d]: the axes P are there where many points are evaluated in one chart.
type Chart interface {
	Manifold
	// Point returns the ambient point, [..., a], with the coordinates x, [..., d]. Coordinates 0 give the centre; where the
	// centre was given with rounding errors, they give a point of the manifold close to it, and NaN where none is near.
	Point(x *Node) *Node
	// Coordinates is the inverse of Point, extended smoothly to ambient vectors near the manifold. It is not finite at
	// points in the cut locus of the centre.
	Coordinates(z *Node) *Node
}

// Differential is an optional interface of a Chart that knows the derivative of Point in closed form. Programs for charts without it are
// larger: they differentiate Point and Coordinates.
type Differential interface {
	// Push returns the derivative of Point at x, [..., d], in the direction v, [..., d]; z is Point(x), [..., a]. A nil x is the centre.
	Push(z, x, v *Node) *Node
	// Pull is the inverse: it returns the direction, [..., d], of a tangent vector v at z, [..., a].
	Pull(z, x, v *Node) *Node
}

// differential is a chart as a Differential, nil if it is none: a chart that is made of others is one if these are.
func differential(c Chart) Differential {
	switch c := c.(type) {
	case distributionChart:
		return c.known
	case quotientOfBlocks:
		return differential(c.chartOfBlocks)
	case chartOfBlocks:
		d := differentialOfBlocks{c.blocks, c.of, nil}
		for _, f := range c.factors {
			if d.known = append(d.known, differential(f.(Chart))); d.known[len(d.known)-1] == nil {
				return nil
			}
		}
		return d
	case Differential:
		return c
	}
	return nil
}

// ClosedForms is an optional interface of manifolds: a Space uses these formulas instead of integrating. Points and vectors are
// ambient for a Charted manifold, [..., a], and coordinates for other manifolds, [..., d]. To compute without the closed forms of a
// Charted manifold m, wrap it: struct{ geom.Charted }{m}.
type ClosedForms interface {
	Exp(z, v *Node) *Node // Exp_z(v)
	Log(z, y *Node) *Node // Log_z(y); NaN where y is in the cut locus of z
}

// ClosedTransport is an optional interface of manifolds with ClosedForms whose parallel transport along geodesics has one, too.
type ClosedTransport interface {
	ClosedForms
	Transport(z, v, w *Node) *Node // w, parallel along the geodesic t ↦ Exp_z(t v), at time 1
}

// Quotient is an optional interface of a Chart: that of a manifold whose points are orbits in the ambient space, such as configurations up to
// rotation.
type Quotient interface {
	// Horizontal returns the tangent part of an ambient vector v at z that is orthogonal to the orbit of z, [..., a].
	Horizontal(z, v *Node) *Node
}

// Scaled is an optional interface of a Chart whose ambient vectors have numbers of sizes or units of their own, such as rotations beside
// translations. On others a number is compared with the norm of its vector.
type Scaled interface {
	// Scale returns the size with which an error of each number of v is compared, [..., a]: of a tangent vector at z, or of z itself.
	Scale(z, v *Node) *Node
}

// scale is Scale of the chart at z.
func scale(c Chart, z, v *Node) *Node {
	switch c := c.(type) {
	case distributionChart:
		return scale(c.Chart, z, v)
	case Scaled:
		return c.Scale(z, v)
	}
	return BroadcastToShape(Sqrt(ReduceAndKeep(Square(v), ReduceSum, -1)), v.Shape())
}

// scale are the sizes with which errors of vectors at Z are compared, or of Z itself.
func (at Local) scale(v *Node) *Node {
	if at.chart == nil {
		return scale(nil, at.Z, v)
	}
	return scale(at.chart, linalg.Lead(at.Z, v, 1), v)
}

// within says whether the errors of numbers are within their tolerances: taken together where numbers are compared with their norm.
func within(got, want, tolerance Vec) bool {
	sum := 0.0
	for i, x := range got {
		if x != want[i] {
			off := (x - want[i]) / tolerance[i]
			sum += off * off
		}
	}
	return sum <= 1
}

// Kind says how a part of a state changes with the chart: like a tangent vector or like a covector.
type Kind int

const (
	Vector   Kind = iota // by the derivative of the change of coordinates
	Covector             // by the transpose of the inverse of that derivative
)

// IsCharted reports whether a manifold is Charted: its points are those of an ambient space, with a chart centred at each.
func IsCharted(m Manifold) bool {
	_, ok := m.(Charted)
	return ok
}

// PointDim returns how many numbers make a point or a tangent vector in a Space: AmbientDim for a Charted manifold, Dim for other
// manifolds.
func PointDim(m Manifold) int {
	if a, ok := m.(Charted); ok {
		return a.AmbientDim()
	}
	return m.Dim()
}

// Local is a manifold in coordinates around given points Z: on a Charted manifold the coordinates of the charts centred at Z, and on other
// manifolds, where points are coordinates already, unchanged. At makes it. The embedded Manifold takes these coordinates, so
// that graph functions of coordinates can be called as Sharp(at.Manifold, at.X, p).
type Local struct {
	Manifold
	Z *Node // the points, [..., a] on a Charted manifold and [..., d] elsewhere
	X *Node // their coordinates, [..., d]: on a Charted manifold 0 as At returns them, and those given to Moved after it; elsewhere equal to Z

	chart Chart        // nil where Z = X
	known Differential // the chart, where it is one, or else nil
	off   *Node        // X, or nil at the centres
}

// At returns a manifold in coordinates around points z, [..., a] on a Charted manifold and [..., d] elsewhere. A derivative with respect
// to Z or X of what is computed from it takes the charts as fixed: they do not move with the points.
func At(m Manifold, z *Node) Local {
	a, ok := m.(Charted)
	if !ok {
		return Local{Manifold: m, Z: z, X: z}
	}
	refuse.If(z.Rank() == 0 || z.Shape().Dim(-1) != a.AmbientDim(),
		"geom: points of shape %s on %T, want a last axis of %d", z.Shape(), m, a.AmbientDim())
	chart := a.Chart(z)
	shape := z.Shape().Clone()
	shape.Dimensions[shape.Rank()-1] = m.Dim()
	return Local{chart, fresh(z), Zeros(z.Graph(), shape), chart, differential(chart), nil}
}

// Point takes coordinates, [..., d], to points, [..., a].
func (at Local) Point(x *Node) *Node {
	if at.chart == nil {
		return x
	}
	return at.chart.Point(x)
}

// Coordinates takes points, [..., a], to coordinates, [..., d]: the inverse of Point, see Chart.
func (at Local) Coordinates(z *Node) *Node {
	if at.chart == nil {
		return z
	}
	return at.chart.Coordinates(z)
}

// Moved returns the same charts at other points: those with coordinates x, [..., d].
func (at Local) Moved(x *Node) Local {
	return Local{at.Manifold, at.Point(x), x, at.chart, at.known, x}
}

// Through returns the same charts at other points: z, [..., a].
func (at Local) Through(z *Node) Local {
	x := at.Coordinates(z)
	return Local{at.Manifold, z, x, at.chart, at.known, x}
}

// Change returns the coordinates of Z in the charts of other, [..., d], and the matrix of their derivative by X, [..., d, d].
func (at Local) Change(other Local) (x, slope *Node) {
	if at.known != nil {
		there := other.Through(at.Z)
		return there.X, linalg.T(linalg.Rows(there.Enter(Vector, at.push(basisAt(at.X)))))
	}
	change := func(x *Node) *Node { return other.Coordinates(at.Point(x)) }
	return change(at.X), autodiff.Jacobian(change, at.X)
}

// Enter takes vectors or covectors at Z, [P..., B..., a], to coordinates, [P..., B..., d], where Z is [B..., a].
func (at Local) Enter(k Kind, part *Node) *Node {
	if at.chart == nil {
		return part
	}
	switch {
	case k == Covector && at.known != nil:
		return transposed(at.push, at.X, part)
	case k == Covector:
		return transposed(at.chart.Point, at.X, part)
	case at.known != nil:
		return at.known.Pull(at.Z, at.off, part)
	}
	return push(at.chart.Coordinates, at.Z, part)
}

// Leave is the inverse of Enter.
func (at Local) Leave(k Kind, part *Node) *Node {
	if at.chart == nil {
		return part
	}
	if k == Covector {
		if at.known != nil {
			return transposed(func(v *Node) *Node { return at.known.Pull(at.Z, at.off, v) }, at.Z, part)
		}
		return transposed(at.chart.Coordinates, at.Z, part)
	}
	v := at.push(part)
	if q, ok := at.chart.(Quotient); ok {
		v = q.Horizontal(linalg.Lead(at.Z, v, 1), v)
	}
	return v
}

// push is the derivative of Point at X in the direction v, [P..., B..., d].
func (at Local) push(v *Node) *Node {
	if at.known != nil {
		return at.known.Push(at.Z, at.off, v)
	}
	return push(at.chart.Point, at.X, v)
}

// Euclidean returns the Euclidean metric E of the ambient space in coordinates at x, [..., d, d]: E = JᵀJ with J the derivative
// of Point, and the identity where points are coordinates.
func (at Local) Euclidean(x *Node) *Node {
	if at.chart == nil {
		return linalg.Eyes(x, at.Dim())
	}
	j := autodiff.Jacobian(at.chart.Point, x)
	return linalg.MatMul(linalg.T(j), j)
}

// InChart applies a step of an integration in the chart centred at the current point. The first part of the state is a point,
// [B..., a], and the others are vectors or covectors of the given kinds, [P..., B..., a]: the vectors of a frame are in the
// first axis. State and result are ambient on a Charted manifold; step takes and returns coordinates, [..., d].
func InChart(m Manifold, kinds []Kind, step func(at Local, y ode.State) ode.State, state ode.State) ode.State {
	refuse.If(len(state) != len(kinds)+1, "geom.InChart: a point and %d parts for %d kinds", len(state)-1, len(kinds))
	at := At(m, state[0])
	y := ode.State{at.X}
	if at.chart != nil {
		y[0] = fresh(at.X) // the step may differentiate by it: the other parts must not depend on it
	}
	for j, k := range kinds {
		y = append(y, at.Enter(k, state[j+1]))
	}
	y = step(at, y)
	at = at.Moved(y[0])
	out := ode.State{at.Z}
	for j, k := range kinds {
		out = append(out, at.Leave(k, y[j+1]))
	}
	return out
}

// Recentred prepares an equation that a manifold defines for ode.Integrate: it returns the equation and the method to pass on. States are as in
// InChart. On a Charted manifold every step is taken in the chart centred at its start: the returned method contains the equation, and the returned
// equation is nil. Pass both on to ode.Integrate as they are.
func Recentred(m Manifold, equation func(m Manifold) ode.Equation, method ode.Method, kinds ...Kind) (ode.Equation, ode.Method) {
	if !IsCharted(m) {
		return equation(m), method
	}
	return nil, ode.NewMethod("re-centred "+method.Name, method.Order, func(_ ode.Equation, t, dt, dw *Node, y ode.State) ode.State {
		return InChart(m, kinds, func(at Local, y ode.State) ode.State {
			return method.Step(equation(at.Manifold), t, dt, dw, y)
		}, y)
	})
}

// Flow integrates a field that a manifold defines from t = 0 to 1 in n steps and returns the final state. It is ode.Flow, but states are
// as in InChart, and on a Charted manifold every step is taken in the chart centred at its start.
func Flow(m Manifold, field func(m Manifold) ode.Field, method ode.Method, n int, y ode.State, kinds ...Kind) ode.State {
	f, method := recentredField(m, field, method, kinds)
	return ode.Integrate(f, method, ode.Drive{Steps: n}, y)
}

// Path is Flow with the states at all times 0, 1/n, …, 1: every part has an axis of n + 1 times in front.
func Path(m Manifold, field func(m Manifold) ode.Field, method ode.Method, n int, y ode.State, kinds ...Kind) ode.State {
	f, method := recentredField(m, field, method, kinds)
	return ode.IntegratePath(f, method, ode.Drive{Steps: n}, y)
}

func recentredField(m Manifold, field func(m Manifold) ode.Field, method ode.Method, kinds []Kind) (ode.Equation, ode.Method) {
	return Recentred(m, func(m Manifold) ode.Equation { return field(m).Equation() }, method, kinds...)
}

// push is the derivative of f at x in the direction v.
func push(f func(x *Node) *Node, x, v *Node) *Node {
	_, dy := autodiff.Pushforward(func(x []*Node) []*Node { return []*Node{f(x[0])} }, []*Node{linalg.Lead(x, v, 1)}, []*Node{v})
	return dy[0]
}

// transposed is the transpose of the derivative of f at x, of a covector p.
func transposed(f func(x *Node) *Node, x, p *Node) *Node {
	x = fresh(linalg.Lead(x, p, 1))
	return autodiff.Pullback([]*Node{f(x)}, []*Node{p}, []*Node{x})[0]
}
