package report

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/ode"
	"anatomy/geom/stats"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/morpho/supplement"
)

// words are all paragraphs, warnings and lists of a document.
func words(d *supplement.Document) string {
	var all []string
	for _, s := range d.Sections {
		for _, part := range s.Parts {
			switch p := part.(type) {
			case supplement.Paragraph:
				all = append(all, string(p))
			case supplement.Warning:
				all = append(all, string(p))
			case supplement.List:
				all = append(all, p...)
			}
		}
	}
	return strings.Join(all, "\n")
}

// The document of landmarks has that of the program with its numbers, says nothing of what it lacks, and its table of both models has those of the
// analysis of variance to the last digit.
func TestLandmarks(t *testing.T) {
	heads, q := morpho.Plethodon(), supplement.Question{Model: "species*site", Permutations: 99, Seed: 1}
	plain := expect.Must(supplement.New(heads, q))
	d := expect.Must(Landmarks(heads, q, supplement.Deformations{Width: 3, Mismatch: 0.1}))
	if plain.LeftOut == "" || d.LeftOut != "" || len(d.Figures()) <= len(plain.Figures()) {
		t.Error(plain.LeftOut, d.LeftOut)
	}
	table := expect.Must(d.Table("deformations"))
	if got, _, _ := strings.Cut(string(table.CSV()), "\n"); got != "term,fitted_to,R2,F,p" {
		t.Error(got)
	}
	for i, row := range plain.ANOVA.Rows[:3] {
		if shapes := table.Rows[2*i]; shapes[3].Value() != row.F || shapes[4].Value() != row.P || shapes[1].String() != "shapes" {
			t.Errorf("%v, want %+v", shapes, row)
		}
	}
	folder := filepath.Join(t.TempDir(), "report")
	if err := d.Write(folder); err != nil {
		t.Fatal(err)
	}
	if page := string(expect.Must(os.ReadFile(filepath.Join(folder, "index.html")))); strings.Contains(page, "anatomy repeat") {
		t.Error("the page says that the program makes it again, which has no deformations")
	}
}

// The miss of a mean is a distance between landmarks, in the plane and in space.
func TestMissIsADistance(t *testing.T) {
	for _, dim := range []int{2, 3} {
		var shapes [][][]float64
		for i := range 3 {
			shape := [][]float64{{0, 0, 0}, {1, 0, 0.2}, {1, 1, 0}, {0.1, 1, 0.5}}
			shape[i][i%2] += 0.3
			for l := range shape {
				shape[l] = shape[l][:dim]
			}
			shapes = append(shapes, shape)
		}
		space := landmarks.New(4, dim, kernels.Gaussian(0.8), geom.Integrator(ode.RK4, 10))
		mean := expect.Must(stats.FrechetMean(space, shapes, stats.Mismatch(0.2)))
		want := 0.0
		for i, x := range shapes {
			end, squares := expect.Must(space.Exp(mean.Point, mean.Velocities[i])).End, 0.0
			for l := range x {
				far := floats.Distance(end[l], x[l], 2)
				squares += far * far / float64(len(x))
			}
			want = max(want, math.Sqrt(squares))
		}
		expect.Rel(t, "miss", missed(mean), want, 1e-6)
	}
}

// Landmarks that coincide in every specimen stay in all chapters but those of deformations, which say so. These may be exact.
func TestLandmarksThatCoincide(t *testing.T) {
	heads := morpho.Plethodon().GroupBy("species").Group("Jord")
	heads.Specimens = heads.Specimens[:8]
	for i := range heads.Specimens {
		heads.Specimens[i].Points[6] = slices.Clone(heads.Specimens[i].Points[2])
	}
	d := expect.Must(Landmarks(heads, supplement.Question{Permutations: 9, Seed: 1}, supplement.Deformations{Width: 3}))
	if n := len(d.Data.Specimens[0].Points); n != 12 {
		t.Error(n, "landmarks")
	}
	if w := words(d); !strings.Contains(w, "They meet the landmarks exactly.") || !strings.Contains(w, "Deformations have fewer landmarks: landmark 7 coincides with 3 in every specimen") {
		t.Error(w)
	}
}

// A significant p-value is told from an insignificant one by its number, not by three digits of it: 0.0504 is above 0.05.
func TestVerdictsAreNumbers(t *testing.T) {
	if c := supplement.PValue(0.05004); c.String() != "0.05" || c.Value() <= supplement.Significant {
		t.Error(c, c.Value())
	}
}
