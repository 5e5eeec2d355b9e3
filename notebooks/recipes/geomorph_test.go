package recipes

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"anatomy/geom/stats/linear"
	"anatomy/geom/tree"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/morpho/shapestats"
	"anatomy/notebooks/nb"
)

// The calls of geomorph.R, whose numbers are in geomorph.txt.
func Example_geomorph() {
	draws := linear.Permutations{N: 999, Seed: 1}
	species, site, population, sex := linear.Factor("species"), linear.Factor("site"), linear.Factor("population"), linear.Factor("sex")
	d, fish, heads := morpho.Plethodon(), morpho.Pupfish(), morpho.PlethodonSpecies()
	phylogeny := nb.Must(tree.Parse(morpho.PlethodonTree()))
	fit := nb.Must(shapestats.Fit(d, species, site, linear.Interaction(species, site)))
	size := nb.Must(shapestats.Fit(d, shapestats.LogSize()))
	paths := nb.Must(shapestats.Fit(fish, population, sex, linear.Interaction(population, sex)))
	individual, side := linear.Factor("individual"), linear.Factor("side")
	both := linear.Interaction(individual, side)
	wings := nb.Must(shapestats.Fit(morpho.MosquitoWings(), individual.Over(both), side.Over(both), both))
	table := nb.Must(fit.ANOVA(draws))
	groups := d.GroupBy("species", "site")
	var sizes []float64
	for _, x := range d.Shapes() {
		sizes = append(sizes, morpho.CentroidSize(x))
	}
	p := func(x float64) { fmt.Printf("%.5g\n", x) }
	// calls
	p(stat.Mean(sizes, nil))
	p(table.Rows[4].SS)
	p(table.Rows[0].SS)
	p(table.Rows[1].R2)
	p(table.Rows[2].F)
	p(nb.Must(size.ANOVA(draws)).Rows[0].F)
	p(nb.Must(paths.ANOVAOfType(linear.TypeII, draws)).Rows[0].SS)
	p(nb.Must(nb.Must(shapestats.Fit(groups, linear.Factor("group"))).PairsOfMeans(linear.Factor("group"), draws))[5].Distance)
	p(nb.Must(nb.Must(shapestats.Fit(d, species)).Disparity(species, draws)).Groups[0].SS / 20)
	p(nb.Must(paths.Trajectories(population, sex, draws)).Pairs[0].Angle * 180 / math.Pi)
	p(nb.Must(shapestats.MeasureIntegration(d, []int{0, 1, 2, 3, 4}, draws)).R)
	p(nb.Must(nb.Must(shapestats.Fit(d)).Components()).Shares[0])
	p(stat.StdDev(nb.Must(shapestats.MeasureAllometry(d, nil, draws)).Scores, nil))
	p(nb.Must(shapestats.PhylogeneticSignal(heads, phylogeny, draws)).K)
	p(nb.Must(wings.ANOVA(draws)).Rows[0].F)
	p(nb.Must(shapestats.PhylogeneticComponents(heads, phylogeny)).Shares[0])
	// Output:
	// 16
	// 0.19694
	// 0.029258
	// 0.32688
	// 15.353
	// 1.7973
	// 0.0091189
	// 0.024325
	// 0.0041498
	// 42.325
	// 0.72043
	// 0.36743
	// 0.033369
	// 0.9573
	// 2.6901
	// 0.48557
}

// TestGeomorph holds the page to both programs: what R printed, in geomorph.txt, is what the example prints, and the page shows each call beside ours.
func TestGeomorph(t *testing.T) {
	read := func(path ...string) string {
		text, err := os.ReadFile(filepath.Join(append([]string{home}, path...)...))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	between := func(text, from, to string) string {
		_, text, _ = strings.Cut(text, from)
		text, _, _ = strings.Cut(text, to)
		return strings.Trim(text, "\n")
	}
	r, ours, numbers := read("geomorph.R"), read("geomorph_test.go"), strings.Fields(read("geomorph.txt"))
	ours = strings.ReplaceAll("\n"+between(ours, "func Example_geomorph() {\n", "\n}\n"), "\n\t", "\n")
	printed := strings.Fields(strings.ReplaceAll(between(ours+"\nEND", "// Output:\n", "END"), "//", ""))
	if strings.Join(printed, " ") != strings.Join(numbers, " ") {
		t.Errorf("the example prints %s, and R %s", printed, numbers)
	}
	calls := func(text string) (out []string) {
		for _, line := range strings.Split(text, "\n") {
			if call, ok := strings.CutPrefix(line, "p("); ok {
				out = append(out, strings.ReplaceAll(bare(strings.TrimSuffix(call, ")")), ", print.progress = FALSE", ""))
			}
		}
		return out
	}
	theirs, here := calls(between(r, "# calls\n", "END")), calls(between(ours, "// calls\n", "// Output"))
	if len(theirs) != len(numbers) || len(here) != len(numbers) {
		t.Fatalf("%d numbers of %d calls in R and %d in Go", len(numbers), len(theirs), len(here))
	}
	block := "```r\n" + strings.ReplaceAll(between(r, "library(geomorph))\n", "# calls"), ", print.progress = FALSE", "") + "\n```\n\n```go\n" +
		bare(between(ours, "\n", "// calls")) + "\n```\n\n| R | Go, each call that returns an error in `nb.Must` | both print |\n|---|---|--:|\n"
	for i, number := range numbers {
		block += fmt.Sprintf("| `%s` | `%s` | %s |\n", theirs[i], here[i], number)
	}
	page := read("..", "coming-from.md")
	if *writePage {
		const from, to = "<!-- geomorph -->\n", "<!-- end -->"
		before, after, _ := strings.Cut(page, from)
		page = before + from + strings.TrimSpace(block) + "\n" + after[strings.Index(after, to):]
		if err := os.WriteFile(filepath.Join(home, "..", "coming-from.md"), []byte(page), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if between(page, "<!-- geomorph -->\n", "<!-- end -->") != strings.TrimSpace(block) {
		t.Error("coming-from.md differs from the example: go test ./notebooks/recipes -write")
	}
}

// bare is code without the calls of nb.Must around others.
func bare(code string) string {
	for {
		before, rest, found := strings.Cut(code, "nb.Must(")
		if !found {
			return code
		}
		depth := 1
		for i, c := range rest {
			switch c {
			case '(':
				depth++
			case ')':
				depth--
			}
			if depth == 0 {
				code = before + rest[:i] + rest[i+1:]
				break
			}
		}
	}
}
