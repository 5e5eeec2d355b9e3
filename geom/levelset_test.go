package geom_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
	"anatomy/internal/lists"
)

// level is x² + y²/4 + z²/2.25 = 1.
func level() geom.Charted { return levelEllipsoid(1, 2, 1.5) }

// Besides passing the suite, an ellipsoid by its equation has the geodesics of the one by a chart.
func TestLevelSet(t *testing.T) {
	t.Parallel()
	geomtest.Run(t, level(), []float64{0.6, 1.6, 0})
	steps := geom.Integrator(ode.RK4, 60) // as in the suite
	x, v := []float64{0, 0, 1.5}, []float64{0.7, 1.1, 0}
	g, want := expect.Must(geom.On(level(), steps).Exp(x, v)), expect.Must(geom.On(manifold.Ellipsoid(1, 2, 1.5), steps).Exp(x, v))
	expect.Rel(t, "length", g.Length, want.Length, 1e-8)
	expect.Abs(t, "end", g.End, want.End, 1e-8)
	expect.Refused(t, expect.Error(geom.On(level()).Log(x, []float64{0.6, 0.8, 0.8})), "not on the manifold")
}

// Two equations in R⁴: a product of circles, which is flat.
func TestLevelSetOfTwoEquations(t *testing.T) {
	t.Parallel()
	circles := geom.On(geom.LevelSet(4, 2, func(x *Node) *Node {
		circle := func(from int) *Node {
			return AddScalar(ReduceAndKeep(Square(SliceAxis(x, -1, AxisRange(from, from+2))), ReduceSum, -1), -1)
		}
		return Concatenate([]*Node{circle(0), circle(2)}, -1)
	}), geom.Integrator(ode.RK4, 100))
	x, y := []float64{1, 0, 0, 1}, []float64{math.Cos(0.5), math.Sin(0.5), math.Sin(0.7), math.Cos(0.7)}
	expect.Abs(t, "end", expect.Must(circles.Exp(x, []float64{0, 0.5, 0.7, 0})).End, y, 1e-8)
	expect.Abs(t, "scalar curvature", expect.Must(circles.ScalarCurvature(y)), 0, 1e-8)
}

// levelEllipsoid is Σ (x_i/a_i)² = 1 by its equation.
func levelEllipsoid(axes ...float64) geom.Charted {
	weights := make([]float64, len(axes))
	for i, a := range axes {
		weights[i] = 1 / (a * a)
	}
	return geom.LevelSet(len(axes), 1, func(x *Node) *Node {
		w := ConstAsDType(x.Graph(), x.DType(), weights)
		return AddScalar(ReduceAndKeep(Mul(Square(x), ExpandLeftToRank(w, x.Rank())), ReduceSum, -1), -1)
	})
}

// joined checks a logarithm in the ambient space: its geodesic leads to the end, and no curve is shorter than the chord.
func joined(t *testing.T, what string, s *geom.Space[geom.Vec], log *geom.Geodesic[geom.Vec], y []float64) {
	t.Helper()
	x := log.Start
	g, err := s.Shoot(x, log.Momentum)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	if chord := floats.Distance(x, y, 2); g.Err() != nil || !(g.Length >= chord) {
		t.Errorf("%s: %v, the chord is %.6g long", what, g, chord)
	}
	expect.Abs(t, what+": end", g.End, y, 1e-7)
}

// Over a tangent plane lie two sheets of a circle: beyond a right angle the chart at one end does not hold the other.
func TestLogOfALevelSetBeyondItsCharts(t *testing.T) {
	t.Parallel()
	circle := geom.On(levelEllipsoid(1, 1))
	angles := []float64{0.5, 1.4, 2, -2.5, 3}
	x := slices.Repeat([][]float64{{1, 0}}, len(angles))
	y := lists.Each(angles, func(a float64) []float64 { return []float64{math.Cos(a), math.Sin(a)} })
	for i, g := range expect.Must(circle.LogAll(x, y)) {
		joined(t, "circle", circle, g, y[i])
		expect.Rel(t, "length", g.Length, math.Abs(angles[i]), 1e-5)
	}
	// The other sheet of a hyperboloid is another component.
	sheets := geom.On(geom.LevelSet(2, 1, func(x *Node) *Node {
		first, last := Square(SliceAxis(x, -1, AxisElem(0))), Square(SliceAxis(x, -1, AxisElem(1)))
		return AddScalar(Sub(last, first), -1)
	}))
	gs, err := sheets.LogAll([][]float64{{0, 1}, {0, 1}}, [][]float64{{math.Sinh(0.5), math.Cosh(0.5)}, {0, -1}})
	if expect.Refused(t, err, "pair 1:", "no curve over other charts was found"); !errors.Is(err, geom.ErrUnreached) {
		t.Errorf("a program cannot ask for %v", err)
	}
	if gs[0] == nil || gs[0].Err() != nil || gs[1] != nil {
		t.Errorf("%v", gs)
	}
}

// Lengths are those of the chart of an ellipsoid, from guesses, too.
func TestLogOfALevelSetIsThatOfItsChart(t *testing.T) {
	t.Parallel()
	axes := []float64{0.5, 1, 2}
	x, y := [][]float64{}, [][]float64{}
	random := rand.New(rand.NewPCG(102, 5))
	point := func() []float64 {
		v := []float64{random.NormFloat64(), random.NormFloat64(), random.NormFloat64()}
		floats.Scale(1/floats.Norm(v, 2), v)
		floats.Mul(v, axes)
		return v
	}
	for range 8 {
		x, y = append(x, point()), append(y, point())
	}
	s := geom.On(levelEllipsoid(axes...))
	gs := expect.Must(s.LogAll(x, y))
	want := expect.Must(geom.On(manifold.Ellipsoid(axes...)).LogAll(x, y))
	var guess [][]float64
	for i, g := range gs {
		expect.Rel(t, "length", g.Length, want[i].Length, 1e-4)
		joined(t, "ellipsoid", s, g, y[i])
		guess = append(guess, floats.ScaleTo(make([]float64, 3), 1+1e-3, g.Velocity))
	}
	for i, g := range expect.Must(s.LogFrom(x, y, guess)) {
		expect.Rel(t, "length from a guess", g.Length, gs[i].Length, 1e-7)
	}
}
