// Package shape has the type of a list of points: Shape. geom.Shape is the same type.
package shape

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Shape is a list of n points of R^D, or of a vector at each of n points, [n][D]: landmarks, the vertices of a mesh, a tangent vector or a
// momentum of landmarks, the rows of a matrix. Every [][]float64 can be assigned to a Shape, and every Shape to a [][]float64.
//
// Methods with two shapes panic unless both have equally many points of equally many coordinates. Results share no memory with their arguments.
type Shape [][]float64

// Flat returns the coordinates in one list, point after point: x₁ y₁ x₂ y₂ …. It is not the v♭ of geom.Flat.
func (a Shape) Flat() []float64 {
	var all []float64
	for _, x := range a {
		all = append(all, x...)
	}
	return all
}

// Like returns the shape with the coordinates that Flat has put into one list, and with as many in each point as a has.
func (a Shape) Like(flat []float64) Shape {
	b := make(Shape, len(a))
	for i, x := range a {
		b[i], flat = slices.Clone(flat[:len(x)]), flat[len(x):]
	}
	return b
}

// Add returns a + b.
func (a Shape) Add(b Shape) Shape { return a.with(b, 1) }

// Sub returns a − b, the vectors from the points of b to those of a.
func (a Shape) Sub(b Shape) Shape { return a.with(b, -1) }

// Scale returns t·a.
func (a Shape) Scale(t float64) Shape {
	x := a.Flat()
	floats.Scale(t, x)
	return a.Like(x)
}

// with returns a + t·b.
func (a Shape) with(b Shape, t float64) Shape {
	x, y := pair(a, b)
	floats.AddScaled(x, t, y)
	return a.Like(x)
}

// Dot returns Σ_i ⟨a_i, b_i⟩. A covector and a vector at the same points have this pairing.
func (a Shape) Dot(b Shape) float64 { return floats.Dot(pair(a, b)) }

// Distance returns √(Σ_i |a_i − b_i|²).
func (a Shape) Distance(b Shape) float64 {
	x, y := pair(a, b)
	return floats.Distance(x, y, 2)
}

// Largest returns the largest absolute value of a coordinate, 0 of none and NaN where one is NaN.
func (a Shape) Largest() (most float64) {
	for _, x := range a.Flat() {
		most = max(most, math.Abs(x))
	}
	return most
}

// Flat returns the coordinates of a shape in one list, as the method Flat does, and a list as it is.
func Flat[P []float64 | [][]float64 | Shape](x P) []float64 {
	switch x := any(x).(type) {
	case Shape:
		return x.Flat()
	case [][]float64:
		return Shape(x).Flat()
	}
	return any(x).([]float64)
}

// FlatAll is Flat of each, nil of nil.
func FlatAll[P []float64 | [][]float64 | Shape](x []P) (flat [][]float64) {
	for _, p := range x {
		flat = append(flat, Flat(p))
	}
	return flat
}

// Like returns coordinates in the form of x, a shape or a list, sharing no memory with them: see Shape.Like.
func Like[P []float64 | Shape](x P, flat []float64) P {
	if x, ok := any(x).(Shape); ok {
		return any(x.Like(flat)).(P)
	}
	return any(slices.Clone(flat)).(P)
}

// pair returns the coordinates of two shapes of one size.
func pair(a, b Shape) (x, y []float64) {
	where := ""
	for i := range min(len(a), len(b)) {
		if where == "" && len(a[i]) != len(b[i]) {
			where = fmt.Sprintf("; point %d has %d coordinates in one and %d in the other", i, len(a[i]), len(b[i]))
		}
	}
	if len(a) != len(b) || where != "" {
		panic(fmt.Sprintf("shape: %s and %s: want two shapes of one size%s", size(a), size(b), where))
	}
	return a.Flat(), b.Flat()
}

func size(a Shape) string {
	if len(a) == 0 {
		return "no points"
	}
	return fmt.Sprintf("%d points of %d coordinates", len(a), len(a[0]))
}
