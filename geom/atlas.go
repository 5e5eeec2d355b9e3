package geom

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
)

// Atlas is a manifold of which one chart holds only a part. Its points are vectors z of an ambient space, [..., a]:
// unit vectors for the sphere, matrices row by row for SPD(n). Every point is the centre of a chart, and what moves on
// the manifold is taken to a new chart after every step, so paths leave no chart.
//
// Tangent vectors are ambient vectors, [..., a], images of the vectors of a chart under the derivative of Point.
// A covector P, [..., a], stands for V ↦ Σ P_i V_i on tangent vectors; the ones returned are pulled back by Coordinates.
type Atlas interface {
	Manifold
	AmbientDim() int     // a
	Chart(c *Node) Chart // the chart centred at c, [..., a]
}

// Chart is a Metric or a Cometric in coordinates x, [..., d], that know the points they stand for. The axes in front
// are those of the centre, with more before them where a function is evaluated for several directions at once.
type Chart interface {
	Manifold
	// Point takes coordinates to the ambient point, 0 to the centre: to the nearest point of the manifold, or another
	// one close by, where the centre was given inexactly, and to NaN where it is far from being a point.
	Point(x *Node) *Node
	// Coordinates is the inverse of Point, extended smoothly to ambient vectors near the manifold. It has no finite
	// value at points in the cut locus of the centre.
	Coordinates(z *Node) *Node
}

// ClosedForms are what a Space takes instead of integrating, in the points and vectors that it shows: ambient ones for an
// Atlas, coordinates else. struct{ geom.Atlas }{m} hides them.
type ClosedForms interface {
	Exp(z, v *Node) *Node          // Exp_z(v)
	Log(z, y *Node) *Node          // Log_z(y); NaN where y is in the cut locus of z
	Transport(z, v, w *Node) *Node // w transported along the geodesic from z with velocity v to its end
}

// Quotient is a Chart of a manifold whose points are orbits in the ambient space, such as configurations up to rotation.
type Quotient interface {
	// Horizontal returns the part of an ambient vector at z that is orthogonal to the orbit of z, and tangent else.
	Horizontal(z, v *Node) *Node
}

// SubRiemannian marks a cometric of rank below the dimension everywhere: momenta have geodesics (Space.Shoot), vectors
// in general have not.
type SubRiemannian interface {
	Cometric
	Rank() int
}

// Kind says how a part of a state moves from chart to chart.
type Kind int

const (
	Vector Kind = iota
	Covector
)

// IsAtlas reports whether points of a manifold are those of an ambient space, with a chart centred at each.
func IsAtlas(m Manifold) bool {
	_, ok := m.(Atlas)
	return ok
}

// PointDim is how many numbers stand for a point and for a tangent vector: those of the ambient space of an Atlas, else
// the coordinates.
func PointDim(m Manifold) int {
	if a, ok := m.(Atlas); ok {
		return a.AmbientDim()
	}
	return m.Dim()
}

// Local is a manifold in coordinates around points Z, [..., a], those of the charts centred there on an Atlas, the
// manifold's own elsewhere, where points are their coordinates. Everything that computes in coordinates enters by At.
type Local struct {
	Manifold
	Z *Node // the points
	X *Node // their coordinates, [..., d]: 0 on an Atlas

	chart Chart // nil where Z = X
}

// At returns a manifold in coordinates around points. Derivatives by the points, Z or X, do not see the charts move.
func At(m Manifold, z *Node) Local {
	a, ok := m.(Atlas)
	if !ok {
		return Local{Manifold: m, Z: z, X: z}
	}
	if z.Rank() == 0 || z.Shape().Dim(-1) != a.AmbientDim() {
		panic(fmt.Sprintf("geom: points of shape %s on %T, want a last axis of %d", z.Shape(), m, a.AmbientDim()))
	}
	chart := a.Chart(z)
	shape := z.Shape().Clone()
	shape.Dimensions[shape.Rank()-1] = m.Dim()
	return Local{chart, fresh(z), Zeros(z.Graph(), shape), chart}
}

// Point takes coordinates, [..., d], to points, [..., a].
func (at Local) Point(x *Node) *Node {
	if at.chart == nil {
		return x
	}
	return at.chart.Point(x)
}

// Coordinates is the inverse of Point; see Chart.
func (at Local) Coordinates(z *Node) *Node {
	if at.chart == nil {
		return z
	}
	return at.chart.Coordinates(z)
}

// Moved is the point with coordinates x, in the same charts.
func (at Local) Moved(x *Node) Local {
	return Local{at.Manifold, at.Point(x), x, at.chart}
}

// Enter takes vectors or covectors at Z, [P..., ..., a], to coordinates, [P..., ..., d].
func (at Local) Enter(k Kind, part *Node) *Node {
	if at.chart == nil {
		return part
	}
	if k == Covector {
		x := fresh(broadcastLike(at.X, part))
		return autodiff.Pullback([]*Node{at.chart.Point(x)}, []*Node{part}, []*Node{x})[0]
	}
	return push(at.chart.Coordinates, at.Z, part)
}

// Leave is the inverse of Enter.
func (at Local) Leave(k Kind, part *Node) *Node {
	if at.chart == nil {
		return part
	}
	if k == Covector {
		z := fresh(broadcastLike(at.Z, part))
		return autodiff.Pullback([]*Node{at.chart.Coordinates(z)}, []*Node{part}, []*Node{z})[0]
	}
	v := push(at.chart.Point, at.X, part)
	if q, ok := at.chart.(Quotient); ok {
		v = q.Horizontal(broadcastLike(at.Z, v), v)
	}
	return v
}

// Euclidean returns the metric E that the numbers standing for points have in coordinates, [..., d, d]: JᵀJ with the
// derivative J of Point, 1 where points are coordinates.
func (at Local) Euclidean(x *Node) *Node {
	if at.chart == nil {
		dims := x.Shape().Dimensions
		return BroadcastPrefix(linalg.Eye(x.Graph(), x.DType(), at.Dim()), dims[:len(dims)-1]...)
	}
	j := autodiff.Jacobian(at.chart.Point, x)
	return linalg.MatMul(linalg.T(j), j)
}

// InChart applies a step to a state whose first part is a point, [B..., d], and whose others, [P..., B..., d], are of the
// given kinds: a frame has its vectors in an axis in front. The state is one of points and vectors as a Space shows them;
// the step sees it in coordinates.
func InChart(m Manifold, kinds []Kind, step func(at Local, y ode.State) ode.State, state ode.State) ode.State {
	if len(state) != len(kinds)+1 {
		panic(fmt.Sprintf("geom.InChart: a point and %d parts for %d kinds", len(state)-1, len(kinds)))
	}
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

// Recentred returns the equation and the method with which ode.Integrate integrates an equation that a manifold defines, on
// states as in InChart: on an Atlas every step is taken in the chart centred at its start.
func Recentred(m Manifold, equation func(m Manifold) ode.Equation, method ode.Method, kinds ...Kind) (ode.Equation, ode.Method) {
	if !IsAtlas(m) {
		return equation(m), method
	}
	return nil, ode.NewMethod("re-centred "+method.Name, method.Order, func(_ ode.Equation, t, dt, dw *Node, y ode.State) ode.State {
		return InChart(m, kinds, func(at Local, y ode.State) ode.State {
			return method.Step(equation(at.Manifold), t, dt, dw, y)
		}, y)
	})
}

// Flow is ode.Flow of a field that a manifold defines, on states as in InChart.
func Flow(m Manifold, field func(m Manifold) ode.Field, method ode.Method, n int, y ode.State, kinds ...Kind) ode.State {
	f, method := recentredField(m, field, method, kinds)
	return ode.Integrate(f, method, ode.Drive{Steps: n}, y)
}

// Path is ode.Path of a field that a manifold defines, on states as in InChart.
func Path(m Manifold, field func(m Manifold) ode.Field, method ode.Method, n int, y ode.State, kinds ...Kind) ode.State {
	f, method := recentredField(m, field, method, kinds)
	return ode.IntegratePath(f, method, ode.Drive{Steps: n}, y)
}

func recentredField(m Manifold, field func(m Manifold) ode.Field, method ode.Method, kinds []Kind) (ode.Equation, ode.Method) {
	return Recentred(m, func(m Manifold) ode.Equation { return field(m).Equation() }, method, kinds...)
}

// push is the derivative of f at x in the direction v.
func push(f func(x *Node) *Node, x, v *Node) *Node {
	_, dy := autodiff.Pushforward(func(x []*Node) []*Node { return []*Node{f(x[0])} }, []*Node{broadcastLike(x, v)}, []*Node{v})
	return dy[0]
}

// broadcastLike gives x, [B..., d], the leading axes of v, [P..., B..., k].
func broadcastLike(x, v *Node) *Node {
	return BroadcastPrefix(x, v.Shape().Dimensions[:v.Rank()-x.Rank()]...)
}
