package geom

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
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

// InChart applies a step to a state whose first part is a point, [B..., d], and whose others, [P..., B..., d], are of the
// given kinds: a frame has its vectors in an axis in front. On an Atlas the
// state is ambient and the step is taken in the chart centred at its point; elsewhere it is taken as it is. The step
// gets the manifold in whose coordinates its state is.
func InChart(m Manifold, kinds []Kind, step func(m Manifold, y ode.State) ode.State, state ode.State) ode.State {
	if len(state) != len(kinds)+1 {
		panic(fmt.Sprintf("geom.InChart: a point and %d parts for %d kinds", len(state)-1, len(kinds)))
	}
	at := centredAt(m, state[0])
	y := ode.State{at.x}
	if at.chart != nil {
		y[0] = fresh(at.x) // the step may differentiate by it: the other parts must not depend on it
	}
	for j, k := range kinds {
		y = append(y, at.enter(k, state[j+1]))
	}
	y = step(at.Manifold, y)
	at = at.moved(y[0])
	out := ode.State{at.z}
	for j, k := range kinds {
		out = append(out, at.leave(k, y[j+1]))
	}
	return out
}

// Recentred returns the field and the method with which ode.Flow and ode.Path integrate a field that a manifold
// defines, on states as in InChart.
func Recentred(m Manifold, field func(m Manifold) ode.Field, method ode.Method, kinds ...Kind) (ode.Field, ode.Method) {
	if _, ok := m.(Atlas); !ok {
		return field(m), method
	}
	inner := method.Step
	method.Step = func(_ ode.Field, t, h *Node, y ode.State) ode.State {
		return InChart(m, kinds, func(m Manifold, y ode.State) ode.State { return inner(field(m), t, h, y) }, y)
	}
	return nil, method
}

// located is a point z with coordinates x on a Manifold with its coordinates, which those of the chart are on an Atlas.
type located struct {
	Manifold
	chart Chart // nil where z = x
	z, x  *Node
}

func centredAt(m Manifold, z *Node) located {
	a, ok := m.(Atlas)
	if !ok {
		return located{m, nil, z, z}
	}
	if z.Rank() == 0 || z.Shape().Dim(-1) != a.AmbientDim() {
		panic(fmt.Sprintf("geom: points of shape %s on %T, want a last axis of %d", z.Shape(), m, a.AmbientDim()))
	}
	chart := a.Chart(z)
	shape := z.Shape().Clone()
	shape.Dimensions[shape.Rank()-1] = m.Dim()
	// A derivative with respect to the point must not see the centre move: a node of its own.
	return located{chart, chart, fresh(z), Zeros(z.Graph(), shape)}
}

func (at located) moved(x *Node) located {
	if at.chart == nil {
		return located{at.Manifold, nil, x, x}
	}
	return located{at.Manifold, at.chart, at.chart.Point(x), x}
}

// enter takes a part at the ambient point to coordinates.
func (at located) enter(k Kind, part *Node) *Node {
	if at.chart == nil {
		return part
	}
	if k == Covector {
		x := fresh(broadcastLike(at.x, part))
		return autodiff.Pullback([]*Node{at.chart.Point(x)}, []*Node{part}, []*Node{x})[0]
	}
	return push(at.chart.Coordinates, at.z, part)
}

// leave is the inverse of enter.
func (at located) leave(k Kind, part *Node) *Node {
	if at.chart == nil {
		return part
	}
	if k == Covector {
		z := fresh(broadcastLike(at.z, part))
		return autodiff.Pullback([]*Node{at.chart.Coordinates(z)}, []*Node{part}, []*Node{z})[0]
	}
	v := push(at.chart.Point, at.x, part)
	if q, ok := at.chart.(Quotient); ok {
		v = q.Horizontal(broadcastLike(at.z, v), v)
	}
	return v
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
