package guided

import (
	"fmt"
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/stat/distuv"
)

// Prior is a distribution of a number: InverseGamma and LogNormal of a positive one, Normal of any.
type Prior struct {
	family family
	a, b   float64
}

type family int

const (
	inverseGamma family = iota
	logNormal
	normal
)

// InverseGamma has the density ∝ x^(−shape−1) exp(−scale/x).
func InverseGamma(shape, scale float64) Prior { return Prior{inverseGamma, shape, scale} }

// LogNormal is the distribution of median·exp(deviation·Z) with Z normal.
func LogNormal(median, deviation float64) Prior { return Prior{logNormal, math.Log(median), deviation} }

// Normal is the distribution of mean + deviation·Z with Z normal, of a number that may be negative. What is said of logarithms of
// unknowns holds of such a number itself.
func Normal(mean, deviation float64) Prior { return Prior{normal, mean, deviation} }

// number is the number whose logarithm is u, or u itself where it may be negative.
func (p Prior) number(u *Node) *Node {
	if p.family == normal {
		return u
	}
	return Exp(u)
}

// centre is the logarithm of a number in the middle of the distribution, width about the standard deviation of the logarithm.
func (p Prior) centre() (centre, width float64) {
	if p.family == inverseGamma {
		return math.Log(p.b / p.a), 1 / math.Sqrt(p.a)
	}
	return p.a, p.b
}

// logDensity is the logarithm of the density of u = log x, [...], up to a constant.
func (p Prior) logDensity(u *Node) *Node {
	if p.family == inverseGamma {
		return Neg(Add(MulScalar(u, p.a), MulScalar(Exp(Neg(u)), p.b)))
	}
	return MulScalar(Square(AddScalar(u, -p.a)), -0.5/(p.b*p.b))
}

// slope is the derivative of logDensity.
func (p Prior) slope(u float64) float64 {
	if p.family == inverseGamma {
		return p.b*math.Exp(-u) - p.a
	}
	return (p.a - u) / (p.b * p.b)
}

// Draw draws a number.
func (p Prior) Draw(source rand.Source) float64 {
	if p.family == inverseGamma {
		return distuv.InverseGamma{Alpha: p.a, Beta: p.b, Src: source}.Rand()
	}
	if p.family == normal {
		return distuv.Normal{Mu: p.a, Sigma: p.b, Src: source}.Rand()
	}
	return distuv.LogNormal{Mu: p.a, Sigma: p.b, Src: source}.Rand()
}

func (p Prior) check(what string) error {
	if positive(p.b) && (positive(p.a) || p.family != inverseGamma && !math.IsNaN(p.a) && !math.IsInf(p.a, 0)) {
		return nil
	}
	return fmt.Errorf("%s: the prior is not a distribution: InverseGamma and LogNormal take positive numbers, Normal a finite and a positive one", what)
}

func positive(x float64) bool { return x > 0 && !math.IsInf(x, 1) }
