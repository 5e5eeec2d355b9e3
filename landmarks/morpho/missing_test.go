package morpho

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/shape"
	"anatomy/internal/lists"
)

func without(shape [][]float64, landmarks ...int) [][]float64 {
	out := append([][]float64{}, shape...)
	for _, l := range landmarks {
		out[l] = make([]float64, len(shape[l]))
		floats.AddConst(math.NaN(), out[l])
	}
	return out
}

// A spline knows affine maps: of a sample of affine images of one shape nothing is lost.
func TestCompleteAffine(t *testing.T) {
	for dim := range shears {
		base := scattered(6, 9, dim)
		var whole, holes []shape.Shape
		for i := range 6 {
			f := float64(i)
			a := lists.Zeros(dim, dim)
			for r := range dim {
				for c := range dim {
					a[r][c] = 0.1 * math.Sin(f*float64(dim*r+c+1))
				}
				a[r][r]++
			}
			whole = append(whole, affine(a, make([]float64, dim), base))
		}
		holes = append(holes, whole[:3]...)
		holes = append(holes, without(whole[3], 0, 4), without(whole[4], 4), without(whole[5], 7, 8))
		got, err := EstimateMissing(holes)
		if err != nil {
			t.Fatal(err)
		}
		for i := range whole {
			expect.Abs(t, "estimated", got[i], whole[i], 1e-6)
		}
		if !math.IsNaN(holes[3][0][0]) {
			t.Error("the input was changed")
		}
	}
}

// Where almost every shape lacks the same landmark, mean and estimates take many turns to agree, and do: another call changes nothing.
func TestCompleteManyMissing(t *testing.T) {
	base := scattered(3, 6, 2)
	rng := rand.New(rand.NewPCG(8, 1))
	var holes []shape.Shape
	for i := range 40 {
		x := lists.Zeros(6, 2)
		for l, p := range base {
			x[l] = []float64{p[0] + 3*rng.NormFloat64(), p[1] + 3*rng.NormFloat64()}
		}
		if i >= 2 {
			x = without(x, 4)
		}
		holes = append(holes, x)
	}
	got := expect.Must(EstimateMissing(holes))
	reference := expect.Must(Procrustes(got)).Mean
	for i, x := range holes[2:] {
		again := expect.Must(estimateBySpline(x, []int{4}, reference))
		expect.Abs(t, fmt.Sprintf("shape %d by the mean of all", i+2), again[4], got[i+2][4], 1e-6)
	}
}

// On real skulls estimates are closer to the truth than the mean shape's landmark.
func TestCompleteSkulls(t *testing.T) {
	shapes := GorillaSkulls().Group("female").Shapes()
	aligned, err := Procrustes(shapes)
	if err != nil {
		t.Fatal(err)
	}
	off := map[string]float64{}
	for i := range 24 {
		l := i % 8
		holes := append([]shape.Shape{}, shapes...)
		holes[i] = without(shapes[i], l)
		got := expect.Must(EstimateMissing(holes))
		off["spline"] += floats.Distance(got[i][l], shapes[i][l], 2)
		expect.Abs(t, "another shape", got[(i+1)%30], shapes[(i+1)%30], 0)
		toMean, err := FitSimilarity(dropped(shapes[i], []int{l}), dropped(aligned.Mean, []int{l}))
		if err != nil {
			t.Fatal(err)
		}
		mean := toMean.inverse().Apply(aligned.Mean)
		off["mean"] += floats.Distance(mean[l], shapes[i][l], 2)
	}
	if !(off["spline"] < off["mean"]) {
		t.Errorf("distances from the truth: %v", off)
	}
}

func TestCompleteErrors(t *testing.T) {
	nan := math.NaN()
	square := [][]float64{{0, 0}, {1, 0}, {1, 1}, {0, 2}}
	estimate := func(x ...shape.Shape) error { _, err := EstimateMissing(x); return err }
	for want, err := range map[string]error{
		"no shapes":                               estimate(),
		"every shape lacks a landmark":            estimate(without(square, 1), without(square, 2)),
		"landmark 1 is [NaN 0]":                   estimate(square, [][]float64{{0, 0}, {nan, 0}, {1, 1}, {0, 2}}),
		"shape 1: all landmarks are missing":      estimate(square, without(square, 0, 1, 2, 3)),
		"shape 1 has 2 landmarks, too few":        estimate(square, without(square, 0, 1)),
		"shape 1: 3 landmarks, but shape 0 has 4": estimate(square, square[:3]),
		"shape 1: landmark 1: x is infinite":      estimate(square, [][]float64{{0, 0}, {math.Inf(1), 0}, {1, 1}, {0, 2}}),
		// Numbers of landmarks are those of the shape, not of what is left of it.
		"shape 1: landmark 2: y is infinite":    estimate(square, [][]float64{{nan, nan}, {1, 0}, {1, math.Inf(-1)}, {0, 2}}),
		"shape 1: landmark 2 has 3 coordinates": estimate(square, [][]float64{{nan, nan}, {1, 0}, {1, 1, 1}, {0, 2}}),
		"shape 0: landmark 0 has 1 coordinates": estimate([][]float64{{0}, {1}}),
		"determine no thin-plate spline": estimate([][]float64{{0, 0}, {1, 1}, {2, 2}, {0, 5}},
			without([][]float64{{0, 0}, {1, 1}, {2, 2}, {0, 5}}, 3)),
	} {
		expect.Refused(t, err, want)
	}
	got, err := EstimateMissing([]shape.Shape{square, square})
	if err != nil {
		t.Fatal(err)
	}
	expect.Abs(t, "nothing missing", got[1], square, 0)
}

// What takes shapes refuses landmarks at a usual code of a missing one, which would be places far away.
func TestCodesAreNoPlaces(t *testing.T) {
	shapes := GorillaSkulls().Shapes()[:8]
	shapes[5] = without(shapes[5], 1)
	coded := slices.Clone(shapes[6])
	coded[2] = []float64{-999, -999}
	good := shapes[0]
	whole := []shape.Shape{good, coded}
	curve := Semilandmarks(len(good), false)
	for what, err := range map[string]error{
		"EstimateMissing":   expect.Error(EstimateMissing(append(slices.Clone(shapes), coded))),
		"Procrustes":        expect.Error(Procrustes(whole)),
		"ProcrustesSliding": expect.Error(ProcrustesSliding(whole, curve, BendingEnergy)),
		"FitSimilarity":     expect.Error(FitSimilarity(good, coded)),
		"ShapeDistance":     expect.Error(ShapeDistance(coded, good)),
		"Mean":              expect.Error(Mean(whole)),
		"Resample":          expect.Error(Resample(coded, 5, true)),
	} {
		t.Run(what, func(t *testing.T) {
			expect.Refused(t, err, "landmark 2 is at [-999 -999], by which many programs mark a missing one", "in Go Missing or Complete")
		})
	}
}
