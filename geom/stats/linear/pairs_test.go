package linear

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/geomtest/expect"
)

// noisy are rows of numbers that depend on nothing, groups and stages of unequal numbers of rows, and another number.
func noisy(random *rand.Rand, n, columns int) (y [][]float64, group, stage Term, x Term) {
	groups, stages, numbers := make([]string, n), make([]string, n), make([]float64, n)
	for i := range n {
		row := make([]float64, columns)
		for j := range row {
			row[j] = random.NormFloat64() / math.Sqrt(float64(1+j))
		}
		y, groups[i], stages[i], numbers[i] = append(y, row), fmt.Sprint(min(i%3, 1)), fmt.Sprint(i/3%3), random.NormFloat64()
	}
	return y, Factor("group", groups...), Factor("stage", stages...), Covariate("x", numbers...)
}

// The draws of slopes are those of a fit again: the common slope of the data stays, to which the residuals of the permuted residuals are added.
func TestCommonSlopeIsGiven(t *testing.T) {
	y, group, _, x := noisy(rand.New(rand.NewPCG(4, 4)), 18, 5)
	p := Permutations{N: 199, Seed: 6}
	one := expect.Must(NewDesign(len(y), nil, nil, group, x))
	two := expect.Must(NewDesign(len(y), nil, nil, group, x, Interaction(group, x)))
	common := expect.Must(one.Fit(y))
	slopes := func(m *Model) (first, second []float64) {
		first = m.Coefficients[2]
		return first, floats.AddTo(make([]float64, len(first)), first, m.Coefficients[3])
	}
	model := expect.Must(two.Fit(y))
	observed := angle(slopes(model))
	tests := expect.Must(p.Test("by hand", len(y), Order, []float64{observed}, func(d *Draw) ([]float64, error) {
		permuted := make([][]float64, len(y))
		for i, j := range d.Order {
			permuted[i] = floats.ScaleTo(make([]float64, 5), math.Sqrt(17./15), common.Residuals[j])
		}
		drawn := expect.Must(one.Fit(permuted)).Residuals
		for i := range drawn {
			floats.Add(drawn[i], common.Fitted[i])
		}
		expect.Abs(t, "common slope of a draw", expect.Must(one.Fit(drawn)).Coefficients[2], common.Coefficients[2], 1e-13)
		return []float64{angle(slopes(expect.Must(two.Fit(drawn))))}, nil
	}))
	got := expect.Must(model.PairsOfSlopes(group, x, p))[0]
	expect.Abs(t, "angle", got.Angle, observed, 1e-12)
	expect.Abs(t, "its p", got.PAngle, tests[0].P, 0)
}

// Where nothing has a direction, angles of slopes, and angles and shapes of trajectories, of 40 numbers are significant at 5 % in 5 % of 300
// samples, within three standard errors.
func TestDirectionsOfNoise(t *testing.T) {
	random := rand.New(rand.NewPCG(21, 22))
	const samples = 300
	var rejected [5]float64
	for range samples {
		y, group, stage, x := noisy(random, 36, 40)
		p := Permutations{N: 39, Seed: random.Uint64()}
		slopes := expect.Must(expect.Must(expect.Must(NewDesign(36, nil, nil, group, x, Interaction(group, x))).Fit(y)).PairsOfSlopes(group, x, p))[0]
		paths := expect.Must(expect.Must(expect.Must(NewDesign(36, nil, nil, group, stage, Interaction(group, stage))).Fit(y)).Trajectories(group, stage, p)).Pairs[0]
		for k, p := range []float64{slopes.P, slopes.PAngle, paths.PSize, paths.PAngle, paths.PShape} {
			rejected[k] += indicator(p <= 0.05)
		}
	}
	for k, what := range []string{"distance of slopes", "angle of slopes", "size of paths", "angle of paths", "shape of paths"} {
		expect.Abs(t, what+": share of samples in which it is significant", rejected[k]/samples, 0.05, 3*math.Sqrt(0.05*0.95/samples))
	}
}
