package ode

import (
	"fmt"
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
)

// Calculus says at which end of a step, in the limit, an Equation is evaluated.
type Calculus int

const (
	Ito          Calculus = iota // at its beginning: f·dW has mean zero
	Stratonovich                 // in its middle, f∘dW: the chain rule holds, so it means the same in all coordinates
)

// Scheme is a Method for stochastic equations of a calculus. The error of one path is of order h^Strong, E|y_T − y(T)|,
// and of order h^Commutative where the fields of the noise commute, as one field does; that of expectations E g(y_T) is of
// order h^Weak. (P. Kloeden and E. Platen, Numerical solution of stochastic differential equations, 1992.)
type Scheme struct {
	Method
	Calculus                  Calculus
	Strong, Commutative, Weak float64
}

// EulerMaruyama is y + f(t, y)·Δz, for Itô's calculus.
var EulerMaruyama = Scheme{Euler, Ito, 0.5, 0.5, 1}

// EulerHeun is y + ½ (f(t, y) + f(t + h, y + f(t, y)·Δz))·Δz, for Stratonovich's calculus.
var EulerHeun = Scheme{Heun, Stratonovich, 0.5, 1, 1}

// Increments returns Brownian increments over steps of length T/n, dW[i][k] in R^m at step i of path k, for a Drive:
// independent normal numbers of variance T/n. Path k depends on the seed, k, n, m and T alone, not on the number of paths.
func Increments(seed uint64, n, paths, m int, T float64) [][][]float64 {
	dw := make([][][]float64, n)
	for i := range dw {
		dw[i] = make([][]float64, paths)
	}
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

// ItoFromStratonovich returns the Itô equation of the same process: f·dz + ½ Σ_α Dσ_α σ_α dt, with σ_α the field of the
// noise W^α and W in R^m. Derivatives are by automatic differentiation.
func ItoFromStratonovich(f Equation, m int) Equation { return convert(f, m, 0.5) }

// StratonovichFromIto returns the Stratonovich equation of the same process, f·dz − ½ Σ_α Dσ_α σ_α dt.
func StratonovichFromIto(f Equation, m int) Equation { return convert(f, m, -0.5) }

func convert(f Equation, m int, factor float64) Equation {
	return func(t *Node, y State, dt, dw *Node) State {
		if dw.Shape().Dim(-1) != m {
			panic(fmt.Sprintf("ode: noise %s for an equation with %d fields", dw.Shape(), m))
		}
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
		return Axpy(MulScalar(dt, factor), sum, f(t, y, dt, dw))
	}
}
