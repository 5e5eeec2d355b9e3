package ode

import (
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
	"anatomy/internal/lists"
	"anatomy/internal/refuse"
)

// Calculus says at which time of a step, in the limit of short steps, the right-hand side of a stochastic equation is evaluated.
type Calculus int

const (
	// Ito evaluates it at the beginning of the step: f·dW has mean zero.
	Ito Calculus = iota
	// Stratonovich evaluates it in the middle, written f ∘dW: the chain rule holds, so that an equation has the same meaning in
	// all coordinates.
	Stratonovich
)

// Scheme is a Method for stochastic equations that are written in its Calculus. With steps of length h the mean error of a path,
// E|y_T − y(T)|, is O(h^Strong), and O(h^Commutative) if the vector fields of the noise commute, for example if there is only one.
// The error of expectations E φ(y_T) is O(h^Weak). (P. Kloeden and E. Platen, Numerical solution of stochastic differential
// equations, 1992.)
type Scheme struct {
	Method
	Calculus                  Calculus
	Strong, Commutative, Weak float64
}

// EulerMaruyama is y + f(t, y)·Δz, for equations in Itô's calculus.
var EulerMaruyama = Scheme{Euler, Ito, 0.5, 0.5, 1}

// EulerHeun is y + ½ (f(t, y) + f(t + h, y + f(t, y)·Δz))·Δz, for equations in Stratonovich's calculus.
var EulerHeun = Scheme{Heun, Stratonovich, 0.5, 1, 1}

// Increments returns the increments of Brownian motions in R^m over n steps of length T/n, for the DW of a Drive: dW[i][k] is the
// vector of m numbers for step i of path k, [n][paths][m]. They are independent normal numbers of variance T/n. Path k depends only
// on the seed, k, n, m and T, not on the number of paths.
func Increments(seed uint64, n, paths, m int, T float64) [][][]float64 {
	dw := lists.Make(n, func(_ int) [][]float64 { return make([][]float64, paths) })
	scale := math.Sqrt(T / float64(n))
	for k := range paths {
		rng := rand.New(rand.NewPCG(seed, uint64(k)))
		for i := range dw {
			dw[i][k] = make([]float64, m)
			for a := range m {
				dw[i][k][a] = scale * rng.NormFloat64()
			}
		}
	}
	return dw
}

// ItoFromStratonovich takes a Stratonovich equation with noise W in R^m to the Itô equation of the same process, which is
// f·dz + ½ Σ_α (Dσ_α) σ_α dt. Here σ_α is the vector field that multiplies dW^α; it is differentiated automatically.
func ItoFromStratonovich(f Equation, m int) Equation {
	return func(t *Node, y State, dt, dw *Node) State {
		refuse.If(dw.Shape().Dim(-1) != m, "ode: noise %s for an equation with %d fields", dw.Shape(), m)
		zeros := make(State, len(y))
		for j := range y {
			zeros[j] = ZerosLike(y[j])
		}
		sum, _ := autodiff.Scan(m, func(a *Node, sum, _ []*Node) ([]*Node, []*Node) {
			unit := BroadcastToDims(ExpandLeftToRank(OneHot(a, m, dw.DType()), dw.Rank()), dw.Shape().Dimensions...)
			field := func(y []*Node) []*Node { return f(t, y, ZerosLike(dt), unit) }
			_, slope := autodiff.Pushforward(field, y, field(y))
			return add(sum, slope), nil
		}, zeros, nil)
		return Axpy(MulScalar(dt, 0.5), sum, f(t, y, dt, dw))
	}
}
