package geomtest

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/linalg"
)

func TestMain(m *testing.M) { Main(m, Plain) }

// plane is R² with a metric g, the Euclidean one for nil.
type plane struct{ g func(x *Node) *Node }

func (plane) Dim() int { return 2 }

func (m plane) G(x *Node) *Node {
	if m.g == nil {
		return diagonal(OnesLike(x))
	}
	return m.g(x)
}

func diagonal(x *Node) *Node {
	d := x.Shape().Dim(-1)
	return Mul(BroadcastToDims(ExpandAxes(x, -1), append(append([]int{}, x.Shape().Dimensions...), d)...),
		BroadcastPrefix(linalg.Eye(x.Graph(), x.DType(), d), x.Shape().Dimensions[:x.Rank()-1]...))
}

func part(x *Node, i int) *Node { return SliceAxis(x, -1, AxisRange(i, i+1)) }
func pair(a, b *Node) *Node     { return Concatenate([]*Node{a, b}, -1) }

// closed is the plane with closed forms, which may be wrong by a factor.
type closed struct {
	plane
	exp, log, transport float64
}

func (m closed) Exp(z, v *Node) *Node          { return Add(z, MulScalar(v, m.exp)) }
func (m closed) Log(z, y *Node) *Node          { return MulScalar(Sub(y, z), m.log) }
func (m closed) Transport(_, _, w *Node) *Node { return MulScalar(w, m.transport) }

// symbols is a plane with Γ of its own.
type symbols struct {
	plane
	wrong func(gamma, u, v *Node) *Node
}

func (m symbols) Christoffel(x, u, v *Node) *Node {
	return m.wrong(geom.Christoffel(m.plane, x, u, v), u, v)
}

// lowered has a closed form of ♭ that is not the inverse of ♯.
type lowered struct{ geom.Cometric }

func (m lowered) Flat(_, v *Node) *Node { return MulScalar(v, 1.001) }

// circle is x² + y² = 1 in charts by the angle, or by the orthogonal projection on the tangent, which takes both half circles to the same
// coordinates.
type circle struct {
	folded bool
	stray  float64 // by which the metric is not that of the plane
	pushed float64 // the factor of Push; 0 for charts that do not know it
}

func (circle) Dim() int        { return 1 }
func (circle) AmbientDim() int { return 2 }

func (m circle) Chart(c *Node) geom.Chart {
	c = Div(c, BroadcastToShape(Sqrt(ReduceAndKeep(Square(c), ReduceSum, -1)), c.Shape()))
	if m.pushed != 0 {
		return pushed{arc{m, c}}
	}
	return arc{m, c}
}

type arc struct {
	m circle
	c *Node
}

func quarter(z *Node) *Node  { return pair(Neg(part(z, 1)), part(z, 0)) } // a quarter of a turn
func times(s, v *Node) *Node { return Mul(BroadcastToShape(s, v.Shape()), v) }
func dot(a, b *Node) *Node   { return ReduceAndKeep(Mul(a, b), ReduceSum, -1) }

func (c arc) at(x *Node) *Node {
	return BroadcastPrefix(c.c, x.Shape().Dimensions[:x.Rank()-c.c.Rank()]...)
}

func (c arc) Dim() int { return 1 }

func (c arc) G(x *Node) *Node {
	one := OnesLike(x)
	if c.m.folded {
		one = Reciprocal(OneMinus(Square(x)))
	}
	return ExpandAxes(Add(one, MulScalar(Square(x), c.m.stray)), -1)
}

func (c arc) Point(x *Node) *Node {
	along, up := Sin(x), Cos(x)
	if c.m.folded {
		along, up = x, Sqrt(OneMinus(Square(x)))
	}
	return Add(times(up, c.at(x)), times(along, quarter(c.at(x))))
}

func (c arc) Coordinates(z *Node) *Node {
	along := dot(z, quarter(c.at(z)))
	if c.m.folded {
		return along
	}
	return Atan2(along, dot(z, c.at(z)))
}

type pushed struct{ arc }

func (c pushed) Push(z, _, v *Node) *Node { return MulScalar(times(v, along(z, v)), c.m.pushed) }
func (c pushed) Pull(z, _, v *Node) *Node { return dot(v, along(z, v)) }

// along is a quarter of a turn from z, with the axes in front that v has.
func along(z, v *Node) *Node {
	return quarter(BroadcastPrefix(z, v.Shape().Dimensions[:v.Rank()-z.Rank()]...))
}

// recorder is a test whose errors are kept.
type recorder struct{ found []string }

func (*recorder) Helper()             {}
func (r *recorder) Failed() bool      { return len(r.found) > 0 }
func (*recorder) Logf(string, ...any) {}
func (r *recorder) Error(args ...any) { r.found = append(r.found, fmt.Sprint(args...)) }
func (r *recorder) Errorf(format string, a ...any) {
	r.found = append(r.found, fmt.Sprintf(format, a...))
}

func (r *recorder) Fatal(args ...any) {
	r.Error(args...)
	runtime.Goexit()
}

// The suite finds what is wrong with each of these manifolds, and nothing with those that are right.
func TestWrongManifolds(t *testing.T) {
	bent := func(x *Node) *Node { return diagonal(pair(OnePlus(Square(part(x, 1))), OnesLike(part(x, 0)))) }
	signs := func(signs ...float64) func(q, p *Node) *Node {
		return func(_, p *Node) *Node { return Mul(p, ExpandLeftToRank(Const(p.Graph(), signs), p.Rank())) }
	}
	for _, c := range []struct {
		name   string
		m      geom.Manifold
		point  []float64
		wanted string // what the suite says first; "" for nothing
	}{
		{"right plane", closed{plane{}, 1, 1, 1}, nil, ""},
		{"right circle", circle{pushed: 1}, []float64{0.6, 0.8}, ""},
		{"indefinite metric", plane{func(x *Node) *Node { return diagonal(pair(OnesLike(part(x, 0)), Neg(OnesLike(part(x, 1))))) }}, nil, "g is positive definite"},
		{"indefinite cometric", geom.CometricFunc(3, signs(1, 1, -1)), []float64{0.1, 0.2, 0.3}, "g is positive definite"},
		{"unsymmetric metric", plane{func(x *Node) *Node {
			g := bent(x)
			return Add(g, Mul(BroadcastPrefix(Const(g.Graph(), [][]float64{{0, 0.01}, {0, 0}}), x.Shape().Dimensions[:x.Rank()-1]...), OnesLike(g)))
		}}, nil, "g is symmetric"},
		{"metric of no numbers", plane{func(x *Node) *Node { return diagonal(Sqrt(AddScalar(Neg(Square(x)), -1))) }}, nil, "g is symmetric"},
		{"wrong Γ", symbols{plane{bent}, func(g, _, _ *Node) *Node { return MulScalar(g, 1.001) }}, nil, "Γ from the metric"},
		{"Γ with torsion", symbols{plane{bent}, func(g, u, v *Node) *Node { return Add(g, MulScalar(Mul(u, pair(part(v, 1), part(v, 0))), 1e-3)) }}, nil, "Γ has no torsion"},
		{"wrong ♭", lowered{geom.CometricFunc(2, signs(1, 1))}, nil, "♭ is g"},
		{"wrong Exp", closed{plane{}, 1.001, 1, 1}, nil, "Exp in closed form"},
		{"wrong Log", closed{plane{}, 1, 1.001, 1}, nil, "Log in closed form"},
		{"wrong transport", closed{plane{}, 1, 1, 1.001}, nil, "Transport of the velocity in closed form"},
		{"chart that folds", circle{folded: true}, []float64{0.6, 0.8}, "two points have the same coordinates"},
		{"metric of no immersion", circle{stray: 1e-3}, []float64{0.6, 0.8}, "⟨u, v⟩ in a tilted chart"},
		{"wrong Push", circle{pushed: 1.001}, []float64{0.6, 0.8}, "Push is the derivative of Point"},
		{"metric with kinks", plane{func(x *Node) *Node {
			return diagonal(pair(OnePlus(Abs(Sin(MulScalar(part(x, 1), 20)))), OnesLike(part(x, 0))))
		}}, nil, "energy of a geodesic"},
	} {
		if c.point == nil {
			c.point = []float64{0.3, 0.4}
		}
		r := &recorder{}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			run(r, c.m, [][]float64{c.point})
		}()
		<-ended
		if found := strings.Join(r.found, "\n"); (c.wanted == "") != (found == "") || !strings.Contains(found, c.wanted) {
			t.Errorf("%s: the suite says %q, want %q", c.name, found, c.wanted)
		}
	}
}
