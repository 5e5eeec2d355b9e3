package shapestats

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/tree"
	"anatomy/landmarks/morpho"
)

// The common slope is the pooled regression within groups, by which the scores, the size-free shapes and the residual component are what their
// definitions say; the group slopes are regressions of each group alone.
func TestAllometry(t *testing.T) {
	d := morpho.Plethodon().GroupBy("species", "site")
	a := expect.Must(MeasureAllometry(d, nil, draws(99, 1)))
	rows, _, err := d.TangentShapes()
	if err != nil {
		t.Fatal(err)
	}
	sizes := expect.Must(d.LogSizes())
	n, columns := float64(len(rows)), len(rows[0])
	means, size, count := map[string][]float64{}, map[string]float64{}, map[string]float64{}
	for _, s := range d.Specimens {
		count[s.Group]++
	}
	for i, s := range d.Specimens {
		if means[s.Group] == nil {
			means[s.Group] = make([]float64, columns)
		}
		floats.AddScaled(means[s.Group], 1/count[s.Group], rows[i])
		size[s.Group] += sizes[i] / count[s.Group]
	}
	slope, of, squares, squaresOf := make([]float64, columns), map[string][]float64{}, 0.0, map[string]float64{}
	for i, s := range d.Specimens {
		off := sizes[i] - size[s.Group]
		squares, squaresOf[s.Group] = squares+off*off, squaresOf[s.Group]+off*off
		if of[s.Group] == nil {
			of[s.Group] = make([]float64, columns)
		}
		for c, v := range rows[i] {
			slope[c] += off * (v - means[s.Group][c])
			of[s.Group][c] += off * (v - means[s.Group][c])
		}
	}
	floats.Scale(1/squares, slope)
	length, mean := floats.Norm(slope, 2), stat.Mean(sizes, nil)
	centre := make([]float64, columns)
	for _, row := range rows {
		floats.AddScaled(centre, 1/n, row)
	}
	for i, row := range rows {
		along := 0.0
		for c := range row {
			along += (row[c] - centre[c]) * slope[c] / length
		}
		expect.Abs(t, "score", a.Scores[i], along, 1e-12)
		for l, p := range a.SizeFree.Specimens[i].Points {
			for c, v := range p {
				expect.Abs(t, "size-free shape", v, row[2*l+c]-slope[2*l+c]*(sizes[i]-mean), 1e-12)
			}
		}
	}
	for g, s := range of {
		floats.Scale(1/squaresOf[g], s)
		shape, _, err := a.Predict(g, 20)
		if err != nil {
			t.Fatal(err)
		}
		for l, p := range shape {
			for c, v := range p {
				expect.Abs(t, "predicted shape of "+g, v, means[g][2*l+c]+(math.Log(20)-size[g])*s[2*l+c], 1e-10)
			}
		}
	}
	expect.Abs(t, "covariance of residual component and slope", stat.Mean(a.ResidualComponent, nil), 0, 1e-15)
	if a.Share <= 0 || a.Share >= 1 || len(a.Pairs) != 6 || a.Table.Rows[2].Term != "log size:group" {
		t.Error(a)
	}
	// What is left after the size was taken away does not depend on it.
	for c := range 2 {
		var values []float64
		for i, s := range a.SizeFree.Specimens {
			values = append(values, s.Points[3][c]-means[d.Specimens[i].Group][6+c])
		}
		var offs []float64
		for i, s := range d.Specimens {
			offs = append(offs, sizes[i]-size[s.Group])
		}
		expect.Abs(t, "covariance of size and a size-free landmark", stat.Covariance(values, offs, nil), 0, 1e-15)
	}
	heads := morpho.PlethodonSpecies()
	for i, s := range heads.Specimens {
		for _, p := range s.Points {
			floats.Scale(float64(i+2), p)
		}
	}
	species := expect.Must(MeasureAllometry(heads, expect.Must(tree.Parse(morpho.PlethodonTree())), draws(19, 1)))
	if species.Slopes != nil || len(species.Scores) != 9 {
		t.Error(species)
	}
	_, err = MeasureAllometry(morpho.Pupfish(), nil, draws(19, 1))
	expect.Refused(t, err, "aligned or scaled before")
}
