package supplement

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/tree"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/surfaces/mesh"
)

// scores are those of 24 species on a balanced tree, of two diets, that differ in a coordinate, with sizes that move another.
func scores() (d *morpho.Dataset, newick string, body Body) {
	rng := rand.New(rand.NewPCG(3, 1))
	d = &morpho.Dataset{Name: "skulls", Flat: true, Measured: true}
	var names []string
	for i := range 24 {
		size := rng.NormFloat64()
		row := []float64{rng.NormFloat64() + float64(i%2), 0.3*rng.NormFloat64() + 0.5*size, 0.1 * rng.NormFloat64(), 0.1 * rng.NormFloat64()}
		names = append(names, fmt.Sprintf("s%02d", i))
		d.Specimens = append(d.Specimens, morpho.Specimen{Name: names[i], Points: [][]float64{row},
			Covariates: map[string]string{"diet": []string{"plants", "fish"}[i%2], "log size": fmt.Sprint(size)}})
	}
	for len(names) > 1 {
		var next []string
		for i := 0; i+1 < len(names); i += 2 {
			next = append(next, fmt.Sprintf("(%s:1,%s:1.5)", names[i], names[i+1]))
		}
		names = append(next, names[len(names)/2*2:]...)
	}
	return d, names[0] + ":2;", func(x []float64) ([]*mesh.Mesh, error) {
		return []*mesh.Mesh{mesh.Ellipsoid(math.Exp(0.1*x[0]), math.Exp(0.1*x[1]), 1, 3, 5)}, nil
	}
}

var aboutLandmarks = regexp.MustCompile(`(?i)procrustes|landmark|centroid|alignment`)

// Scores of deformations get the chapters that landmarks get, in words of their own, and their files.
func TestFlat(t *testing.T) {
	d, newick, body := scores()
	q := Question{Model: "size + diet", Permutations: 99, Seed: 1, Body: body}
	alone := expect.Must(New(d, q))
	q.Tree, q.Trees = newick, []string{newick, strings.Replace(newick, "s00:1,s01:1.5", "s01:1,s00:2.5", 1)}
	onTree := expect.Must(New(d, q))
	for _, document := range []*Document{alone, onTree} {
		for _, s := range document.Sections {
			for _, part := range s.Parts {
				words := ""
				switch p := part.(type) {
				case Paragraph:
					words = string(p)
				case *Table:
					words = p.Caption + strings.Join(p.Header, " ")
				case *Figure:
					words = p.Caption
				case List:
					if s.Title != "Methods" {
						words = strings.Join(p, " ")
					}
				}
				if strings.Contains(strings.ToLower(words), "specimen") {
					t.Errorf("%s: subjects are called specimens in %q", s.Title, words)
				}
				if found := aboutLandmarks.FindString(words); found != "" {
					t.Errorf("%s: %q in %q", s.Title, found, words)
				}
			}
		}
	}
	for name, document := range map[string]*Document{"anova": alone, "pairs-diet": alone, "disparity": alone, "allometry": alone, "scores": alone, "distances": alone,
		"signal": onTree, "rates": onTree, "ancestors": onTree, "ancestor-coordinates": onTree} {
		expect.Must(document.Table(name))
	}
	for _, name := range []string{"surfaces", "components", "pairs-diet", "allometry", "ancestor", "phylomorphospace"} {
		expect.Must(onTree.Figure(name))
	}
	if caption := expect.Must(onTree.Table("ancestors")).Caption; !strings.Contains(caption, "too small, because it leaves out the errors of the atlas") {
		t.Errorf("the radius of ancestors from an atlas is not called too small: %s", caption)
	}
	far := expect.Must(alone.Table("distances"))
	if got := len(far.Rows); got != 24 || len(far.cells()) != previewed+1 || len(far.Rows[3]) != 25 {
		t.Errorf("%d rows of distances, and %d are shown", got, len(far.cells()))
	}
	ancestors := expect.Must(onTree.Table("ancestors"))
	if row := ancestors.Rows[0]; len(ancestors.Rows) != 23 || row[5].Value() != 1 || !(row[6].Value() > 0) || !(row[4].Value() > row[3].Value()) {
		t.Errorf("%d ancestors, the first %v", len(ancestors.Rows), row)
	}
	// The coordinates of ancestors are means over the trees.
	for j := range 4 {
		mean := 0.0
		for _, text := range q.Trees {
			phylogeny := expect.Must(tree.Parse(text))
			values := map[string][]float64{}
			for _, s := range d.Specimens {
				values[s.Name] = s.Points[0]
			}
			var rows [][]float64
			for _, i := range phylogeny.Leaves() {
				rows = append(rows, values[phylogeny.Name[i]])
			}
			mean += expect.Must(phylogeny.Prune(rows)).Mean[0][j] / 2
		}
		expect.Abs(t, "root", expect.Must(onTree.Table("ancestor-coordinates")).Rows[0][j+1].Value(), mean, 1e-12)
	}
	// What deforms a third coordinate is the same after the coordinates are turned.
	turned := *d
	turned.Specimens = slices.Clone(d.Specimens)
	for i, s := range d.Specimens {
		x := s.Points[0]
		turned.Specimens[i].Points = [][]float64{{0.6*x[0] - 0.8*x[2], x[1], 0.8*x[0] + 0.6*x[2], x[3]}}
	}
	other := expect.Must(New(&turned, Question{Model: "size + diet", Permutations: 99, Seed: 1, Body: body}))
	for i, row := range alone.ANOVA.Rows {
		if i < 2 {
			expect.Rel(t, "F", other.ANOVA.Rows[i].F, row.F, 1e-10)
			expect.Abs(t, "p", other.ANOVA.Rows[i].P, row.P, 0)
		}
	}
	folder := filepath.Join(t.TempDir(), "report")
	if err := bare(onTree).Write(folder); err != nil || len(pictures(onTree)) < 6 {
		t.Fatal(err)
	}
	table := string(expect.Must(os.ReadFile(filepath.Join(folder, "tables", "scores.csv"))))
	if strings.Count(table, "\n") != 25 {
		t.Error(table)
	}
}

// Scores covary with landmarks of the same specimens, which are found by their names in a file, in any pose and size.
func TestFlatWithLandmarks(t *testing.T) {
	d, newick, body := scores()
	marks, random := &morpho.Dataset{Name: "marks"}, rand.New(rand.NewPCG(4, 1))
	for i := range d.Specimens {
		s := d.Specimens[(i+5)%24]
		turn, x := complex(3*random.Float64(), 3*random.Float64()), s.Points[0]
		one := morpho.Specimen{Name: s.Name}
		for _, z := range []complex128{0, 1, complex(1, 1+0.1*x[0]), complex(0.01*random.NormFloat64(), 1)} {
			one.Points = append(one.Points, []float64{real(z * turn), imag(z * turn)})
		}
		marks.Specimens = append(marks.Specimens, one)
	}
	path := filepath.Join(t.TempDir(), "marks.csv")
	if err := morpho.Write(path, marks); err != nil {
		t.Fatal(err)
	}
	q := Question{Covary: path, Permutations: 99, Seed: 1, Body: body}
	for _, q.Tree = range []string{"", newick} {
		document := expect.Must(New(d, q))
		if w := words(document); !strings.Contains(w, "Shapes and landmarks covary (r = ") || len(expect.Must(document.Table("covariation")).Header) != 2 {
			t.Error(w)
		}
	}
	marks.Specimens = marks.Specimens[1:]
	if err := morpho.Write(path, marks); err != nil {
		t.Fatal(err)
	}
	expect.Refused(t, expect.Error(New(d, q)), "has no landmarks of", "s05")
}

// Species that are several specimens have the mean of their coordinates and sizes.
func TestFlatSpecies(t *testing.T) {
	d, _, body := scores()
	for i := range d.Specimens {
		d.Specimens[i].Covariates["species"] = string(rune('a' + i/3))
	}
	document := expect.Must(New(d, Question{Model: "size", Tree: "(((a:1,b:1):1,(c:1,d:1):1):1,((e:1,f:1):1,(g:1,h:1):1):1);", Permutations: 99, Seed: 1, Body: body}))
	want, size := make([]float64, 4), 0.0
	sizes := expect.Must(d.Numbers("log size"))
	for i, s := range d.Specimens[3:6] {
		for j, x := range s.Points[0] {
			want[j] += x / 3
		}
		size += sizes[3+i] / 3
	}
	expect.Abs(t, "the mean of b", document.Data.Specimens[1].Points[0], want, 1e-14)
	expect.Abs(t, "its size", expect.Must(document.Data.LogSizes())[1], size, 1e-14)
}

// Questions about landmarks are refused.
func TestFlatRefuses(t *testing.T) {
	d, _, body := scores()
	expect.Refused(t, expect.Error(New(d, Question{})), "Body")
	expect.Refused(t, expect.Error(New(d, Question{Body: body, Pairs: "1-2"})), "about landmarks")
	d.Specimens[3].Points[0][1] = math.Inf(1)
	expect.Refused(t, expect.Error(New(d, Question{Body: body})), "s03", "coordinate 1")
	d.Specimens[3].Points[0] = d.Specimens[3].Points[0][:2]
	expect.Refused(t, expect.Error(New(d, Question{Body: body})), "s03")
}
