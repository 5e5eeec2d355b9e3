// Package recipes has short answers to questions: of people who measure shapes, of those who study their geometry, and of those who build programs.
// They are executed as examples, and a page shows them:
//
//	go test ./notebooks/recipes -write
package recipes

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"anatomy/geom/geomtest"
	"anatomy/geom/stats/linear"
	"anatomy/geom/tree"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/morpho/shapestats"
	"anatomy/landmarks/morpho/supplement"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/notebooks/nb"
	"anatomy/viz"
)

var writePage = flag.Bool("write", false, "write the page anew")

// chapters of the page: the file with their examples, and the heading.
var chapters = []struct{ source, heading string }{
	{"recipes_test.go", "Shapes"},
	{"surfaces_test.go", "Surfaces and outlines"},
	{"geometry_test.go", "Geometry"},
	{"formulas_test.go", "Formulas of manifolds, groups and trees"},
	{"statistics_test.go", "Statistics on manifolds"},
	{"programs_test.go", "Programs"},
}

const beginning = `# Recipes

Short answers to questions. The tests execute every recipe, and the comment at its end is what it prints. A recipe works in a notebook as it is; in a program
of your own, handle the error instead of calling ` + "`nb.Must`" + `. Chapters:
`

// home is the folder of this package.
var home string

// TestMain makes the files that the recipes read: heads.csv and heads.tps of salamanders, specimens.csv with what is known of them, bone.ply, the
// folder bones of three outlines, landmarks.csv of the first, and the program anatomy.
func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "recipes")
	must := func(err error) {
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	must(err)
	home, err = os.Getwd()
	must(err)
	build := exec.Command("go", "build", "-o", filepath.Join(folder, "anatomy"), "../../landmarks/morpho/anatomy")
	build.Stderr = os.Stderr
	must(build.Run())
	must(os.Chdir(folder))
	must(morpho.Write("heads.csv", morpho.Plethodon()))
	bare := morpho.Plethodon()
	table := "specimen,species,site\n"
	for i, s := range bare.Specimens {
		table += s.Name + "," + s.Covariates["species"] + "," + s.Covariates["site"] + "\n"
		bare.Specimens[i].Covariates = nil
	}
	must(morpho.Write("heads.tps", bare))
	must(os.WriteFile("specimens.csv", []byte(table), 0o600))
	must(mesh.Write("bone.ply", mesh.Icosphere(3)))
	must(os.Mkdir("bones", 0o700))
	for i, bone := range morpho.MouseVertebrae().Specimens[30:33] {
		outline := nb.Must(morpho.Resample(bone.Points, 20, true))
		must(morpho.Write("bones/"+bone.Name+".csv", &morpho.Dataset{Specimens: []morpho.Specimen{{Name: bone.Name, Points: outline}}}))
		if i == 0 {
			must(morpho.Write("landmarks.csv", &morpho.Dataset{Specimens: []morpho.Specimen{{Name: bone.Name, Points: [][]float64{outline[0], outline[5], outline[10], outline[15]}}}}))
		}
	}
	if variable, flags, _ := strings.Cut(string(geomtest.Quick), "="); os.Getenv(variable) == "" { // recipes compile much and compute little
		must(os.Setenv(variable, flags))
	}
	state := m.Run()
	must(os.Chdir(home))
	must(os.RemoveAll(folder))
	os.Exit(state)
}

// How do I read my landmarks?
func Example_read() {
	heads := nb.Must(morpho.Read("heads.tps")) // or a table, or a folder of 3D Slicer files
	fmt.Println(heads)
	// Output:
	// heads.tps: 40 specimens of 12 landmarks in 2 dimensions
}

// How do I add covariates from a spreadsheet?
func Example_covariates() {
	heads := nb.Must(morpho.Read("heads.tps"))
	heads = nb.Must(heads.ReadCovariates("specimens.csv"))
	fmt.Println(heads.Covariates())
	// Output:
	// [site species]
}

// Which specimens look wrong?
func Example_inspect() {
	bones := morpho.MouseVertebrae()
	found := nb.Must(morpho.Inspect(bones))
	fmt.Println(found)
	fmt.Println(found.Findings[0])
	// Output:
	// 76 specimens, 7 out of order
	// mouse01: landmarks 31, 32, 33, 34, 35, 36, 37 and 38 in another order make the outline 7.82 spacings shorter; put them in order in the file, or leave the specimen out where outlines are deformed (--without mouse01)
}

// How do I leave out a specimen?
func Example_without() {
	heads := nb.Must(morpho.Read("heads.csv"))
	heads = heads.Without("s03", "s17")
	fmt.Println(len(heads.Specimens))
	// Output:
	// 38
}

// How do I leave out landmarks, or change the unit?
func Example_scale() {
	brains := morpho.Brain2D().WithoutLandmarks(11, 12).Scale(10) // from cm to mm
	fmt.Println(brains)
	fmt.Println(morpho.Brain3D()) // of other people
	// Output:
	// mid-sagittal brains: 28 specimens of 11 landmarks in 2 dimensions; groups con (14), scz (14)
	// brains, 3-D: 58 specimens of 24 landmarks in 3 dimensions; groups f (27), m (31)
}

// How do I estimate missing landmarks?
func Example_missing() {
	heads := nb.Must(morpho.Read("heads.csv"))
	heads.Specimens[3].Points[5] = []float64{-999, -999} // some programs mark missing landmarks so
	heads = nb.Must(heads.Missing(-999))
	for i, points := range nb.Must(morpho.EstimateMissing(heads.Shapes())) {
		heads.Specimens[i].Points = points
	}
	fmt.Printf("%.2f\n", heads.Specimens[3].Points[5])
	// Output:
	// [1.74 57.16]
}

// How do I align shapes and save them?
func Example_align() {
	heads := nb.Must(morpho.Read("heads.csv"))
	aligned := nb.Must(morpho.Procrustes(heads.Shapes()))
	for i := range heads.Specimens {
		heads.Specimens[i].Points = aligned.Shapes[i]
	}
	fmt.Println(aligned, morpho.Write("aligned.csv", heads))
	// Output:
	// 40 shapes aligned, 0.07017 from their mean (root mean square), converged after 6 iterations <nil>
}

// How far are two shapes apart?
func Example_distance() {
	heads := nb.Must(morpho.Read("heads.csv"))
	d := nb.Must(morpho.ShapeDistance(heads.Shape("s01"), heads.Shape("s02")))
	fmt.Printf("%.4f\n", d)
	// Output:
	// 0.0635
}

// Do two groups differ, and what is the p-value?
func Example_groups() {
	heads := nb.Must(morpho.Read("heads.csv"))
	model := nb.Must(shapestats.Fit(heads, linear.Factor("species")))
	table := nb.Must(model.ANOVA(linear.Permutations{N: 999, Seed: 1}))
	fmt.Printf("R² = %.3f, p = %.3f\n", table.Rows[0].R2, table.Rows[0].P)
	// Output:
	// R² = 0.149, p = 0.001
}

// How do I test two factors with their interaction?
func Example_factors() {
	heads := nb.Must(morpho.Read("heads.csv"))
	formula := nb.Must(shapestats.Parse("species*site", heads))
	model := nb.Must(shapestats.Fit(heads, formula.Terms...))
	fmt.Println(nb.Must(model.ANOVA(linear.Permutations{N: 999, Seed: 1})))
	// Output:
	// DF        SS         MS      R²       F     Z      p
	//        species   1  0.029258   0.029258  0.1486  14.544  4.49  0.001
	//           site   1  0.064375   0.064375  0.3269  32.000  5.74  0.001
	//   species:site   1  0.030885   0.030885  0.1568  15.353  5.32  0.001
	//      residuals  36  0.072422  0.0020117  0.3677
	//          total  39   0.19694  0.0050497  1.0000
	// 999 permutations of residuals: a p of 0.05 has the standard error 0.007
}

// Which sums of squares do I use if the groups have different sizes?
func Example_unbalanced() {
	fish := morpho.Pupfish()
	formula := nb.Must(shapestats.Parse("population*sex", fish))
	model := nb.Must(shapestats.Fit(fish, formula.Terms...))
	// Type II does not depend on the order of the terms.
	table := nb.Must(model.ANOVAOfType(linear.TypeII, linear.Permutations{N: 999, Seed: 1}))
	fmt.Printf("%s: SS %.5f, Z %.2f\n", table.Rows[1].Term, table.Rows[1].SS, table.Rows[1].Z)
	// Output:
	// sex: SS 0.01590, Z 5.35
}

// Which of several groups differ?
func Example_pairs() {
	heads := nb.Must(morpho.Read("heads.csv")).GroupBy("species", "site")
	group := linear.Factor("group")
	model := nb.Must(shapestats.Fit(heads, group))
	pairs := nb.Must(model.PairsOfMeans(group, linear.Permutations{N: 999, Seed: 1}))
	fmt.Println(pairs) // six tests: a pair differs at the level of 5 % if p ≤ 0.05/6
	// Output:
	// distance      p
	//    Jord Symp – Teyah Symp   0.10694  0.001
	//     Jord Symp – Jord Allo  0.095667  0.001
	//    Jord Symp – Teyah Allo  0.091931  0.001
	//    Teyah Symp – Jord Allo   0.10137  0.001
	//   Teyah Symp – Teyah Allo  0.099498  0.001
	//    Jord Allo – Teyah Allo  0.024325  0.711
}

// Does one group vary more than the other?
func Example_disparity() {
	fish := morpho.Pupfish()
	population := linear.Factor("population")
	model := nb.Must(shapestats.Fit(fish, population))
	found := nb.Must(model.Disparity(population, linear.Permutations{N: 999, Seed: 1}))
	fmt.Printf("ratio %.2f, p = %.3f\n", found.Ratios[0].Ratio, found.Ratios[0].P)
	// Output:
	// ratio 1.00, p = 0.975
}

// Does shape change with size?
func Example_allometry() {
	apes := morpho.GreatApes()
	model := nb.Must(shapestats.Fit(apes, shapestats.LogSize()))
	table := nb.Must(model.ANOVA(linear.Permutations{N: 999, Seed: 1}))
	fmt.Printf("size explains %.0f %%, p = %.3f\n", 100*table.Rows[0].R2, table.Rows[0].P)
	// Output:
	// size explains 25 %, p = 0.001
}

// Do groups differ beyond what size explains?
func Example_beyondSize() {
	apes := morpho.GreatApes()
	model := nb.Must(shapestats.Fit(apes, shapestats.LogSize(), linear.Factor("group")))
	table := nb.Must(model.ANOVA(linear.Permutations{N: 999, Seed: 1}))
	fmt.Printf("groups explain %.0f %% more, p = %.3f\n", 100*table.Rows[1].R2, table.Rows[1].P)
	// Output:
	// groups explain 34 % more, p = 0.001
}

// Which shape does the model predict at a given size?
func Example_predict() {
	apes := morpho.GreatApes()
	model := nb.Must(shapestats.Fit(apes, shapestats.LogSize()))
	small := nb.Must(model.Predict(map[string]string{"log size": "5.3"}))
	large := nb.Must(model.Predict(map[string]string{"log size": "5.8"}))
	fmt.Println(viz.Save("allometry.svg", viz.Points(small).Label("small"), viz.Points(large).Label("large")))
	// Output:
	// <nil>
}

// How do I put the same number of points on each outline?
func Example_resample() {
	bone := morpho.MouseVertebrae().Shapes()[0]
	even := nb.Must(morpho.Resample(bone, 40, true)) // true: the outline is closed
	fmt.Println(len(bone), len(even))
	// Output:
	// 60 40
}

// How do I slide semi-landmarks?
func Example_slide() {
	mice := morpho.MouseVertebrae().Group("large")
	slide := morpho.Semilandmarks(60, true, 0, 15, 30, 45) // these four landmarks do not slide
	a := nb.Must(morpho.ProcrustesSliding(mice.Shapes(), slide, morpho.BendingEnergy))
	fmt.Println(a.Status)
	// Output:
	// converged
}

// Do related species resemble each other?
func Example_signal() {
	heads := morpho.PlethodonSpecies()
	phylogeny := nb.Must(tree.Parse(morpho.PlethodonTree()))
	signal := nb.Must(shapestats.PhylogeneticSignal(heads, phylogeny, linear.Permutations{N: 999, Seed: 1}))
	fmt.Printf("K = %.3f, p = %.3f\n", signal.K, signal.P)
	// Output:
	// K = 0.957, p = 0.010
}

// How do I write a report for my paper into one folder?
func Example_supplement() {
	heads := nb.Must(morpho.Read("heads.csv"))
	question := supplement.Question{Title: "Heads", Model: "size + species*site", Permutations: 999, Seed: 1}
	document := nb.Must(supplement.New(heads, question))
	fmt.Println(document.Write("heads-report")) // page, tables, figures, methods
	// Output:
	// <nil>
}

// TestPage holds the page to the examples: each has its question, at most ten lines and its output there. What README.md shows is one of them.
func TestPage(t *testing.T) {
	text, recipes := beginning, ""
	for i, c := range chapters {
		anchor := strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(c.heading), ",", ""), " ", "-")
		text += fmt.Sprintf("[%s](#%s)%s\n", c.heading, anchor, map[bool]string{true: ".", false: ","}[i == len(chapters)-1])
		recipes += fmt.Sprintf("\n## %s\n", c.heading) + written(t, c.source)
	}
	text += recipes
	file := filepath.Join(filepath.Dir(home), "recipes.md")
	if *writePage {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if page, err := os.ReadFile(file); err != nil || string(page) != text {
		t.Errorf("recipes.md differs from the examples: go test ./notebooks/recipes -write")
	}
	first, err := os.ReadFile(filepath.Join(filepath.Dir(home), "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(first), "```go\n")
	if shown, _, _ = strings.Cut(shown, "```"); shown == "" || !strings.Contains(text, shown) {
		t.Errorf("README.md shows code that is not a recipe:\n%s", shown)
	}
}

// written are the recipes of a file.
func written(t *testing.T, source string) (text string) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, filepath.Join(home, source), nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, d := range file.Decls {
		f, is := d.(*ast.FuncDecl)
		if !is || !strings.HasPrefix(f.Name.Name, "Example") {
			continue
		}
		var body strings.Builder
		if err := (&printer.Config{Mode: printer.UseSpaces | printer.TabIndent, Tabwidth: 8}).Fprint(&body, files, &printer.CommentedNode{Node: f.Body, Comments: file.Comments}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(strings.Trim(body.String(), "{}")), "\n")
		var code, output []string
		for _, line := range lines {
			line = strings.TrimPrefix(line, "\t")
			switch {
			case strings.HasPrefix(line, "// Output:") || output != nil && strings.HasPrefix(line, "//"):
				output = append(output, strings.TrimPrefix(strings.TrimPrefix(line, "//"), " "))
			default:
				code = append(code, line)
			}
		}
		if len(code) > 10 {
			t.Errorf("%s has %d lines, want at most 10", f.Name.Name, len(code))
		}
		if len(output) > 1 && strings.Join(output[1:], "") != "<nil>" {
			for i, line := range output[1:] {
				if i == 0 && len(output) > 2 && strings.Contains(line, "  ") { // the header of a table, which go test trims
					line = strings.Repeat(" ", max(0, utf8.RuneCountInString(output[2])-utf8.RuneCountInString(line))) + line
				}
				code = append(code, strings.TrimRight("// "+line, " "))
			}
		}
		count++
		text += fmt.Sprintf("\n### %s\n```go\n%s\n```\n", strings.TrimSpace(f.Doc.Text()), strings.Join(code, "\n"))
	}
	if count < 5 {
		t.Errorf("%s has %d recipes, want at least 5", source, count)
	}
	return text
}
