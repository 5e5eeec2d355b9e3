package supplement

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"anatomy/geom/geomtest/expect"
	"anatomy/landmarks/morpho"
)

// sample is n specimens of a shape in two groups, which differ by a share of its size, with noise.
func sample(seed uint64, n, landmarks, dim int, difference, noise float64) *morpho.Dataset {
	random := rand.New(rand.NewPCG(seed, 1))
	mean := make([][]float64, landmarks)
	change := make([][]float64, landmarks)
	for l := range mean {
		for range dim {
			mean[l], change[l] = append(mean[l], 50*random.NormFloat64()), append(change[l], random.NormFloat64())
		}
	}
	d := &morpho.Dataset{Name: "planted", Unit: "mm"}
	for i := range n {
		s := morpho.Specimen{Name: fmt.Sprintf("s%03d", i), Group: []string{"a", "b"}[i%2]}
		size := math.Exp(0.2 * random.NormFloat64())
		for l := range mean {
			p := make([]float64, dim)
			for c := range p {
				p[c] = size * (mean[l][c] + difference*float64(i%2)*change[l][c] + noise*random.NormFloat64())
			}
			s.Points = append(s.Points, p)
		}
		d.Specimens = append(d.Specimens, s)
	}
	return d
}

// first is the summary of a document, a line for each sentence of a list.
func first(d *Document) string { return words(&Document{Sections: d.Sections[:1]}) }

// The four defects of published data sets, planted, and one of two at once: the summary names them first, and what it says without the specimens is what it says of the
// data as they should be.
func TestDefectsBeforeConclusions(t *testing.T) {
	for _, c := range []struct {
		name  string
		data  func() *morpho.Dataset
		model string
		spoil func(d *morpho.Dataset)
		found []string // words of the first sentence
		flips bool     // whether a verdict is another one with the defects
	}{
		{"two broken of 99", func() *morpho.Dataset { return sample(1, 99, 12, 2, 1.5, 1.5) }, "group", func(d *morpho.Dataset) {
			for _, i := range []int{3, 4} {
				for l := range 8 {
					d.Specimens[i].Points[l] = []float64{float64(50 * (i*l + 3) % 170), float64(37 * l * l % 190)}
				}
			}
		}, []string{"s003", "s004"}, false},
		{"seven mirrored of 120", func() *morpho.Dataset { return sample(2, 120, 14, 2, 0.8, 1.5) }, "group", func(d *morpho.Dataset) {
			for _, i := range []int{1, 20, 33, 47, 60, 88, 119} {
				for l, p := range d.Specimens[i].Points {
					d.Specimens[i].Points[l] = []float64{-p[0], p[1]}
				}
			}
		}, []string{"7 specimens (", "are mirrored"}, true},
		{"a code in 4 of 126", func() *morpho.Dataset { return sample(3, 126, 16, 3, 1.5, 1.5) }, "size", func(d *morpho.Dataset) {
			for _, i := range []int{5, 50, 90, 101} {
				d.Specimens[i].Points[6] = []float64{1998, 1998, -1998}
			}
		}, []string{"landmark 7 is at (1998, 1998, −1998) in s005, s050, s090 and s101, which is taken for a code"}, false},
		{"seven of 71 in another unit", func() *morpho.Dataset { return sample(4, 71, 10, 2, 1.5, 1.5) }, "size", func(d *morpho.Dataset) {
			for i := range 7 {
				for l, p := range d.Specimens[10*i].Points {
					d.Specimens[10*i].Points[l] = []float64{p[0] / 10, p[1] / 10}
				}
			}
		}, []string{"7 specimens (", "have another size, or another unit"}, false},
		{"exchanged landmarks and a copy", func() *morpho.Dataset { return sample(5, 40, 10, 2, 1.5, 1.5) }, "group", func(d *morpho.Dataset) {
			x := d.Specimens[7].Points
			x[2], x[8] = x[8], x[2]
			for l, p := range d.Specimens[30].Points {
				d.Specimens[12].Points[l] = []float64{5 - 2*p[1], 3 + 2*p[0]}
			}
		}, []string{"s007 has landmarks in each other's place", "is a copy of another specimen"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			ask := Question{Model: c.model, Permutations: 199, Seed: 1}
			d := c.data()
			right := expect.Must(New(d, ask))
			if len(right.Flagged) > 0 || !strings.HasPrefix(first(right), fmt.Sprint(len(d.Specimens))) {
				t.Fatalf("clean data: %s", first(right))
			}
			c.spoil(d)
			document := expect.Must(New(d, ask))
			said, _, _ := strings.Cut(first(document), "\n")
			if !strings.HasPrefix(said, "Check the data before you use these results: ") {
				t.Errorf("first: %s", said)
			}
			for _, want := range c.found {
				if !strings.Contains(said, want) {
					t.Errorf("%q does not say %q", said, want)
				}
			}
			without := document
			if names := document.Flagged; len(names) > 0 {
				ask.Without = strings.Join(names, "; ")
				without = expect.Must(New(d, ask))
			}
			// The lists have a line for each term, by the same words where verdicts agree.
			verdict := func(d *Document) []bool {
				var out []bool
				for _, row := range d.ANOVA.Rows {
					out = append(out, row.P <= significant)
				}
				return out
			}
			if !slices.Equal(verdict(without), verdict(right)) {
				t.Errorf("without: %s\nright: %s", first(without), first(right))
			}
			if strings.Contains(first(document), "the answer depends on") != !slices.Equal(verdict(document), verdict(without)) {
				t.Error(first(document))
			}
			if c.flips && slices.Equal(verdict(document), verdict(right)) {
				t.Errorf("the defect changes no verdict: %s", first(document))
			}
			t.Log(first(document))
		})
	}
}
