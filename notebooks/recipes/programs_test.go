package recipes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os/exec"
	"strings"
	"sync"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/manifold"
	"anatomy/geom/stats"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/morpho/supplement"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/notebooks/nb"
	"anatomy/viz"
)

// How do I stop a search at a deadline?
func Example_deadline() {
	ctx, cancel := context.WithTimeout(context.Background(), 0) // no time at all, as an example
	defer cancel()
	M := landmarks.New(12, 2, kernels.Gaussian(30), geom.Context(ctx))
	mean := nb.Must(stats.FrechetMean(M, morpho.Plethodon().Shapes()[:4]))
	fmt.Println(mean.Status, "- the best so far has", len(mean.Point), "landmarks")
	// Output:
	// cancelled - the best so far has 12 landmarks
}

// How do I show the progress of a long search?
func Example_progress() {
	calls := 0
	M := landmarks.New(12, 2, kernels.Gaussian(0.2), geom.OnProgress(func(p geom.Progress) { calls++ })) // fmt.Println(p) prints a line
	heads := nb.Must(morpho.Procrustes(morpho.Plethodon().Shapes()[:4])).Shapes
	nb.Must(stats.FrechetMean(M, heads))
	fmt.Println(calls > 0)
	// Output:
	// true
}

// How do I compute many logarithms at once?
func Example_batch() {
	heads := nb.Must(morpho.Procrustes(morpho.Plethodon().Shapes())).Shapes
	M := landmarks.New(12, 2, kernels.Gaussian(0.2))
	logs := nb.Must(M.LogAll(heads[:20], heads[20:])) // from the first twenty to the others
	terms := make([]landmarks.DataTerm, 20)
	for k := range terms {
		terms[k] = landmarks.Correspondence(heads[20+k])
	}
	matches := nb.Must(M.MatchAll(heads[:20], terms, 0.3)) // which leave a mismatch
	fmt.Println(len(logs), logs[0].Status, len(matches), matches[0].Status)
	// Output:
	// 20 converged 20 converged
}

// How do I compile once and call from several goroutines?
func Example_compile() {
	f := engine.Compile(func(x *Node) *Node { return ReduceAllSum(Square(x)) })
	var group sync.WaitGroup
	sums := make([]float64, 4)
	for k := range sums {
		group.Go(func() { sums[k] = nb.Must(f.Call(geom.Vec{float64(k), 1})).Scalar(0) })
	}
	group.Wait()
	fmt.Println(sums)
	// Output:
	// [1 2 5 10]
}

// Does this run on a GPU?
func Example_device() {
	backend, err := engine.Backend()       // the error says what is missing
	onGPU := err == nil && !engine.OnCPU() // after `make setup-cuda`, unless ANATOMY_DEVICE is cpu
	fmt.Println(backend != nil, onGPU == engine.OnCPU())
	// Output:
	// true false
}

// Will it fit into the memory?
func Example_memory() {
	n := 1e7
	err := engine.Fits("the matrix of ten million landmarks", 8*n*n)
	fmt.Println(err != nil)
	// Output:
	// true
}

// How do I choose another kernel?
func Example_kernels() {
	points := [][]float64{{0, 0}, {0.1, 0}, {0.5, 0}}
	// A Laplace kernel of order k is a Matérn kernel of smoothness k + 1/2; a Cauchy kernel has a long tail.
	for _, k := range []kernels.Kernel{kernels.Gaussian(0.1), kernels.Laplace(2, 0.1), kernels.Cauchy(0.1)} {
		values := nb.Must(engine.Run(func(x *Node) *Node { return k.Sum(x, Slice(x, AxisRange(0, 1)), OnesLike(Slice(x, AxisRange(0, 1)))) }, points))
		fmt.Printf("%.3f %.3f\n", values.Matrix(0)[1][0], values.Matrix(0)[2][0]) // at the distances 0.1 and 0.5
	}
	// Output:
	// 0.607 0.000
	// 0.858 0.097
	// 0.500 0.038
}

// How do I sum a kernel over very many points?
func Example_sums() {
	points := mesh.Icosphere(5).Vertices // 10,242
	k := nb.Must(kernels.Fast(kernels.Gaussian(0.3), 1e-6, points))
	sum := func(k kernels.Kernel) []float64 {
		return nb.Must(engine.Run(func(x *Node) *Node { return k.Sum(x, x, x) }, points)).Flat(0)
	}
	fast, exact := sum(k), sum(kernels.Tiled(kernels.Gaussian(0.3)))
	fmt.Println(math.Abs(fast[0]-exact[0]) < 1e-6*float64(len(points)))
	// Output:
	// true
}

// How do I match tens of thousands of landmarks?
func Example_within() {
	q := mesh.Icosphere(4).Vertices // 2562
	target := mesh.Icosphere(4).Map(func(x []float64) []float64 { return []float64{1.2 * x[0], x[1], 0.9 * x[2]} }).Vertices
	k := nb.Must(kernels.Fast(kernels.Gaussian(0.5), 1e-5, q, target))
	g := nb.Must(landmarks.New(len(q), 3, k).LogWithin(q, target, 1e-3)) // the root mean square error is at most 0.001
	fmt.Println(g.Status, g.Residual <= 1e-3)
	// Output:
	// converged true
}

// How do I distinguish a missing file from a faulty one?
func Example_missingFile() {
	_, err := morpho.Read("nowhere.csv")
	fmt.Println(errors.Is(err, fs.ErrNotExist))
	// Output:
	// true
}

// How do I read landmarks from a stream?
func Example_stream() {
	d := nb.Must(morpho.ReadCSV(strings.NewReader("specimen,x,y\na,0,0\na,1,7\n"), "upload.csv"))
	fmt.Println(d, d.Validate())
	// Output:
	// upload.csv: 1 specimen of 2 landmarks in 2 dimensions <nil>
}

// How do I check an upload before I compute?
func Example_validate() {
	d := nb.Must(morpho.ReadCSV(strings.NewReader("specimen,x,y\na,0,0\na,1,NA\n"), "upload.csv"))
	fmt.Println(d.Validate())
	// Output:
	// upload.csv: specimen "a": landmark 2 is missing (y is NaN); leave the landmark or the specimen out, or estimate it (in Go by Complete)
}

// How do I convert landmarks to another format?
func Example_convert() {
	heads := nb.Must(morpho.Read("heads.tps"))
	fmt.Println(morpho.Write("heads-copy.csv", heads))
	// Output:
	// <nil>
}

// How do I store a geodesic as JSON?
func Example_json() {
	S := geom.On(manifold.Sphere(2))
	g := nb.Must(S.Exp(geom.Vec{1, 0, 0}, geom.Vec{0, 1, 0}))
	text := nb.Must(json.Marshal(g.End))
	var end geom.Vec
	fmt.Println(json.Unmarshal(text, &end), end[0] == g.End[0]) // without loss
	// Output:
	// <nil> true
}

// How do I write a figure to a file?
func Example_figure() {
	head := morpho.Plethodon().Shapes()[0]
	fmt.Println(viz.Save("head.svg", viz.Fig(viz.Points(head), viz.Numbers(head)))) // or .pdf, .png
	// Output:
	// <nil>
}

// How do I get a table of a report as CSV?
func Example_table() {
	d := nb.Must(morpho.Read("heads.csv"))
	table := nb.Must(supplement.ANOVA(d, supplement.Question{Model: "species", Permutations: 99, Seed: 1}))
	fmt.Println(strings.Split(string(table.CSV()), "\n")[0]) // numbers have all their digits
	fmt.Println(table.Rows[0][5], table.Rows[0][7].Value() <= supplement.Significant)
	// Output:
	// term,df,SS,MS,R2,F,Z,p,error_of_p
	// 6.6304 true
}

// How do I make a report, and the same one again?
func Example_repeat() {
	d := nb.Must(morpho.Read("heads.csv"))
	fmt.Println(nb.Must(supplement.New(d, supplement.Question{Model: "species", Permutations: 99})).Write("report"))
	again, question, err := supplement.Open("report") // an error if a file was changed
	fmt.Println(len(again.Specimens), question.Model, err)
	// Output:
	// <nil>
	// 40 species <nil>
}

// Which exit code does the program anatomy have?
func Example_exitCode() {
	err := exec.Command("./anatomy", "inspect", "nowhere.csv").Run() // 0: done, 1: the data or the question, 2: the command line
	var exit *exec.ExitError
	fmt.Println(errors.As(err, &exit), exit.ExitCode())
	// Output:
	// true 1
}
