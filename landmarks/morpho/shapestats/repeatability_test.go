package shapestats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/stats/linear"
	"anatomy/landmarks/morpho"
)

// measuredTwice are squares whose corners vary by a standard deviation between individuals, and by another within, as often as measured.
func measuredTwice(rng *rand.Rand, between, within float64, measured ...int) *morpho.Dataset {
	d := &morpho.Dataset{Name: "measurements"}
	for i, m := range measured {
		own := [][]float64{{0, 0}, {1, 0}, {1, 1}, {0, 1}}
		for _, p := range own {
			p[0], p[1] = p[0]+between*rng.NormFloat64(), p[1]+between*rng.NormFloat64()
		}
		for r := range m {
			s := morpho.Specimen{Name: fmt.Sprint(i, " ", r), Covariates: map[string]string{"individual": fmt.Sprint("i", i), "replicate": fmt.Sprint("r", r)}}
			for _, p := range own {
				s.Points = append(s.Points, []float64{p[0] + within*rng.NormFloat64(), p[1] + within*rng.NormFloat64()})
			}
			d.Specimens = append(d.Specimens, s)
		}
	}
	return d
}

// The sums of squares are those of squared distances between pairs of shapes, and the correlation follows from them.
func TestRepeatability(t *testing.T) {
	individual := linear.Factor("individual")
	for _, d := range []*morpho.Dataset{morpho.MosquitoWings().GroupBy("individual", "side"), measuredTwice(rand.New(rand.NewPCG(1, 2)), 0.05, 0.02, 2, 3, 1, 5, 2)} {
		if d.Specimens[0].Group != "" {
			individual = linear.Factor("group")
		} else {
			individual = linear.Factor("individual")
		}
		r := expect.Must(MeasureRepeatability(d, individual, draws(19, 1)))
		y, _, err := tangentCoordinates(d)
		if err != nil {
			t.Fatal(err)
		}
		of := expect.Must(d.Column(individual.Name()))
		count, total, within, n := map[string]float64{}, 0.0, 0.0, float64(len(of))
		for _, name := range of {
			count[name]++
		}
		for i := range of {
			for j := range i {
				square := 0.0
				for c, v := range y.RawRowView(i) {
					square += (v - y.At(j, c)) * (v - y.At(j, c))
				}
				if total += square / n; of[i] == of[j] {
					within += square / count[of[i]]
				}
			}
		}
		a, squares := float64(len(count)), 0.0
		for _, c := range count {
			squares += c * c
		}
		msb, msw := (total-within)/(a-1), within/(n-a)
		m := (n - squares/n) / (a - 1)
		expect.Abs(t, "the intraclass correlation by distances", r.ICC, (msb-msw)/(msb+(m-1)*msw), 1e-12)
		noise := 0.0
		for _, v := range r.Noise {
			noise += v * v
		}
		expect.Abs(t, "the sum of the landmarks' noise", noise, msw, 1e-15)
		expect.Abs(t, "the table's mean square", r.Table.Rows[1].MS, msw, 1e-15)
	}
}

// Measurements of known errors have the correlation σ²/(σ² + ε²), and a systematic error of a session is found where it is.
func TestRepeatabilityOfKnownErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const samples = 200
	sum, squares := 0.0, 0.0
	for range samples {
		icc := expect.Must(MeasureRepeatability(measuredTwice(rng, 0.02, 0.01, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3), linear.Factor("individual"), draws(1, 1))).ICC
		sum, squares = sum+icc, squares+icc*icc
	}
	mean := sum / samples
	expect.Abs(t, "mean correlation", mean, 0.8, 3*math.Sqrt((squares/samples-mean*mean)/samples)+0.005) // of 20 individuals it is a little too small
	d := measuredTwice(rng, 0.05, 0.01, 2, 2, 2, 2, 2, 2, 2, 2)
	session := linear.Factor("replicate")
	if r := expect.Must(MeasureRepeatability(d, linear.Factor("individual"), draws(99, 1), session)); r.Table.Rows[1].P < 0.05 {
		t.Error(r)
	}
	for i := range d.Specimens {
		if d.Specimens[i].Covariates["replicate"] == "r1" {
			d.Specimens[i].Points[2][0] += 0.05
		}
	}
	if r := expect.Must(MeasureRepeatability(d, linear.Factor("individual"), draws(99, 1), session)); r.Table.Rows[1].P > 0.02 {
		t.Error(r)
	}
	_, err := MeasureRepeatability(measuredTwice(rng, 0.05, 0.01, 1, 1, 1), linear.Factor("individual"), draws(9, 1))
	expect.Refused(t, err, "each category of individual was measured once")
}
