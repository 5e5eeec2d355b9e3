package viz_test

import (
	"fmt"
	"math"

	"anatomy/viz"
)

// A shape with a tangent vector, under a notebook's cell.
func Example() {
	var q, v [][]float64
	for i := range 20 {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / 20)
		q = append(q, []float64{40 * cos, 15 * sin})
		v = append(v, []float64{0, 3 * cos})
	}
	viz.Show(viz.Outline(q).Label("q₀"), viz.Arrows(q, v).Label("v₂"))
	// Output:
}

// Faulty data are named, not drawn.
func ExampleSave() {
	q := [][]float64{{0, 0}, {1, math.NaN()}, {1, 1}}
	fmt.Println(viz.Save("shape.png", viz.Outline(q)))
	// Output: viz: shape.png: Outline: shape 0, landmark 1: coordinate y is NaN
}

// A new kind of layer that has one colour is a function: here lines between corresponding landmarks.
func ExampleDrawFunc() {
	links := func(a, b [][]float64) *viz.Layer {
		return viz.NewLayer("Links", viz.DrawFunc(func(c *viz.Canvas) error {
			if len(a) != len(b) {
				return fmt.Errorf("%d and %d landmarks", len(a), len(b))
			}
			for i := range a {
				c.Line([][]float64{a[i], b[i]}, false, c.Stroke(0, 0.5))
			}
			return nil
		}))
	}
	a, b := [][]float64{{0, 0}, {1, 0}}, [][]float64{{0, 1}, {2, 1}}
	viz.Show(links(a, b).Label("links").Color(viz.Grey))
	// Output:
}

// Errors draws values with their standard errors: a layer of a kind that the package does not have. It can be coloured
// by a value, scaled, and stands in the legend with a sample of its own.
func Errors(x, y, sd []float64) *viz.Layer { return viz.NewLayer("Error bars", errors{x, y, sd}) }

type errors struct{ x, y, sd []float64 }

// Items lets ColorBy give every value a colour.
func (e errors) Items() int { return len(e.x) }

func (e errors) Draw(c *viz.Canvas) error {
	if len(e.y) != len(e.x) || len(e.sd) != len(e.x) {
		return fmt.Errorf("%d, %d and %d values", len(e.x), len(e.y), len(e.sd))
	}
	c.Chart()
	reach := c.Scale("sd") // Scale(2) draws two standard errors up and down
	for i, x := range e.x {
		bar(c, i, x, e.y[i]-reach*e.sd[i], e.y[i], e.y[i]+reach*e.sd[i])
	}
	return nil
}

// Thumbnail draws one value into the unit square, for the legend.
func (e errors) Thumbnail(c *viz.Canvas) { bar(c, 0, 0.5, 0, 0.5, 1) }

func bar(c *viz.Canvas, item int, x, lo, y, hi float64) {
	c.Line([][]float64{{x, lo}, {x, hi}}, false, c.Stroke(item, 0.8))
	c.Dot([]float64{x, y}, 3, c.Ink(item), viz.Stroke{})
}

func ExampleNewLayer() {
	T := []float64{0, 0.5, 1, 1.5, 2}
	exact := []float64{1, 0.61, 0.37, 0.22, 0.14}
	estimate, sd := []float64{1, 0.6, 0.38, 0.22, 0.13}, []float64{0.01, 0.02, 0.02, 0.01, 0.01}
	figure := viz.Fig(viz.Series(T, exact).Label("exp(−T)"), Errors(T, estimate, sd).Scale(2).ColorBy("T", T...).Label("200 paths")).XLabel("T")
	fmt.Println(viz.Alt(figure))
	// Output:
	// curve "exp(−T)", vermilion, falls from 1 to 0.14; 5 error bars "200 paths" (2 sd) coloured by T: 0 to 2, its highest value at the lower right, its lowest at the upper left. T from 0 to 2; y from 0.11 to 1.02. <nil>
}
