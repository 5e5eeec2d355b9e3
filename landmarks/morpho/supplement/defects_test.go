package supplement

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/stats/linear"
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
					out = append(out, row.P <= Significant)
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

// A group of one or two does not end the chapters of the others; each chapter names the groups that it leaves out.
func TestSmallGroups(t *testing.T) {
	d := sample(6, 25, 8, 2, 3, 1)
	d.Specimens[24].Group, d.Specimens[23].Group, d.Specimens[22].Group = "lonely", "pair", "pair"
	document := expect.Must(New(d, Question{Permutations: 99, Seed: 1}))
	for _, name := range []string{"disparity", "separation", "pairs-group"} {
		if _, err := document.Table(name); err != nil {
			t.Error(err)
		}
	}
	if w := words(document); strings.Count(w, "Left out here, because they have fewer than three specimens: pair and lonely.") != 2 {
		t.Error(w)
	}
}

// By hand, R's p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm").
func TestHolm(t *testing.T) {
	pairs := linear.Pairs{{P: 0.01}, {P: 0.04}, {P: 0.03}, {P: 0.005}}
	expect.Abs(t, "Holm", holm(pairs), []float64{0.03, 0.06, 0.06, 0.02}, 1e-15)
}

// With many pairs of groups, permutations are raised until a corrected p-value can be below 0.05, or the report says that it cannot.
func TestManyGroups(t *testing.T) {
	d := sample(7, 36, 6, 2, 0, 1)
	for i := range d.Specimens {
		d.Specimens[i].Group = fmt.Sprint("g", i%12)
	}
	for n, want := range map[int]string{999: "These tests used 1321 permutations", 99: "With 99 permutations no corrected p-value of 66 pairs can be below 0.05: take 1321."} {
		document := expect.Must(New(d, Question{Permutations: n, Seed: 1}))
		if caption := expect.Must(document.Table("pairs-group")).Caption; !strings.Contains(caption, want) {
			t.Error(caption)
		}
	}
}

// One question has one answer: the p-value of size is that of the model, wherever it stands, also where specimens weigh by the errors of their landmarks.
func TestOneAnswer(t *testing.T) {
	d := morpho.GreatApes()
	for i := range d.Specimens {
		d.Specimens[i].Covariates = map[string]string{morpho.ErrorColumn: fmt.Sprint(0.5 + float64(i%9)/3)}
	}
	document := expect.Must(New(d, Question{Model: "size*group", Permutations: 199, Seed: 4}))
	for _, s := range document.Sections {
		if s.Title != "How shape changes with size" {
			continue
		}
		said := words(&Document{Sections: []Section{s}})
		for _, row := range document.ANOVA.Rows {
			if strings.HasPrefix(row.Term, "log size") && !strings.Contains(said, "(p = "+pValue(row.P)+")") {
				t.Errorf("%s %v: %s", row.Term, row.P, said)
			}
		}
		for _, part := range s.Parts {
			if table, is := part.(*Table); is && table.Name == "allometry" && strings.Contains(fmt.Sprint(table.Rows), "log size") {
				t.Errorf("a second answer: %v", table.Rows)
			}
		}
	}
}

// What the data leave open is noted once each.
func TestNotes(t *testing.T) {
	species := morpho.PlethodonSpecies()
	curves := sample(8, 12, 9, 2, 1, 1)
	curves.Curves, curves.Unit = [][2]int{{3, 9}}, ""
	for want, d := range map[string]*morpho.Dataset{
		"the unit is not known": curves, `the points of the curves do not slide. --curves "4-9" slides them`: curves,
		"the specimens are species": binomials(species), "aligned or scaled before": species,
	} {
		if w := words(expect.Must(New(d, Question{Permutations: 19}))); strings.Count(w, want) != 1 {
			t.Errorf("%q: %s", want, w)
		}
	}
}

func binomials(d *morpho.Dataset) *morpho.Dataset {
	for i := range d.Specimens {
		d.Specimens[i].Name = strings.Replace(d.Specimens[i].Name, "P_", "Plethodon_", 1)
	}
	return d
}
