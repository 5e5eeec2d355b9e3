package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"gonum.org/v1/gonum/stat"

	"anatomy/geom"
	"anatomy/geom/guided"
	"anatomy/geom/stats/chains"
	"anatomy/geom/tree"
	"anatomy/geom/try"
	"anatomy/kernels"
	"anatomy/landmarks"
)

// leaves07 are the leaves that notebook 07 of hyperiax 3.0.0 simulates and observes, a line each of 16 points.
//
//go:embed published.txt
var leaves07 string

//go:embed published.py
var hyperiax07 string

// published is the posterior of that notebook: Kunita's flow with the kernel Laplace-4, which is called Laplace-2 there, from a circle
// along a tree of depth 2 and degree 3, with 100 steps an edge.
func published(b *bench) {
	const steps, noise = 100, 1e-3
	o := guided.Observations[geom.Shape]{Noise: math.Sqrt(noise)}
	var rows [][]float64
	for line := range strings.Lines(leaves07) {
		var leaf geom.Shape
		var row []float64
		for _, field := range strings.Fields(line) {
			var x float64
			try.Get(fmt.Sscan(field, &x))
			row = append(row, x)
		}
		for i := 0; i < len(row); i += 2 {
			leaf = append(leaf, row[i:i+2])
		}
		rows, o.Leaves = append(rows, row), append(o.Leaves, leaf)
	}
	var circle geom.Shape
	for i := range 16 {
		a := 2 * math.Pi * float64(i) / 16
		circle = append(circle, []float64{math.Cos(a), math.Sin(a)})
	}
	parent, length := []int{-1, 0, 0, 0}, []float64{0, 1, 1, 1}
	for i := range 9 {
		parent, length = append(parent, 1+i/3), append(length, 1)
	}
	t := try.Get(tree.New(parent, length, nil))
	process := try.Get(landmarks.New(16, 2, kernels.Laplace(4, 1)).Kunita(circle, 0.25, 0.1))
	b.text("The table has the posterior of amplitude and width of a stochastic flow of 16 landmarks along a tree with 9 leaves. The data were simulated with the amplitude 0.1 and the width 0.25 (notebook 07 of hyperiax 3.0.0, with 100 steps per edge). *sizes* are the effective sample sizes of all chains together, for the mean and for the tails. *seconds* are processor seconds, for hyperiax without compilation.")
	b.header("program", "draws", "seconds", "wall", "amplitude", "R̂", "sizes", "width", "R̂", "sizes", "smallest size per second")
	line := func(program string, amplitude, width [][]float64, seconds, wall float64) {
		cells := ""
		least := math.Inf(1)
		for _, draws := range [][][]float64{amplitude, width} {
			mean, deviation := stat.MeanStdDev(slices.Concat(draws...), nil)
			least = math.Min(least, math.Min(chains.Bulk(draws), chains.Tail(draws)))
			cells += fmt.Sprintf(" | %.3f ± %.3f | %.3f | %.0f, %.0f", mean, deviation, chains.RHat(draws), chains.Bulk(draws), chains.Tail(draws))
		}
		b.row("%s | %d × %d | %.0f | %.0f%s | %.2g", program, len(width), len(width[0]), seconds, wall, cells, least/seconds)
	}
	begin, processor := time.Now(), seconds()
	post := try.Get(guided.Sample(process, t, o, guided.Options{
		Unknown: []guided.Unknown{guided.Param(1, "amplitude", guided.InverseGamma(2, 0.5)), guided.Param(0, "width", guided.InverseGamma(3, 2))},
		Steps:   steps, Warmup: 100, Draws: b.draws, Seed: b.seed}))
	line("anatomy", post.Unknown[0].Draws, post.Unknown[1].Draws, seconds()-processor, time.Since(begin).Seconds())
	if b.python == "" {
		return
	}
	data := try.Get(json.Marshal(rows))
	c := exec.Command(b.python, "-c", hyperiax07, fmt.Sprint(b.theirs), fmt.Sprint(steps))
	c.Stdin, c.Stderr = bytes.NewReader(data), os.Stderr
	out := try.Get(c.Output())
	if strings.TrimSpace(string(out)) == "absent" {
		return
	}
	var theirs struct {
		Processor, Wall float64
		Draws           [2][][]float64
	}
	try.Do(try.Name(json.Unmarshal(out, &theirs), "hyperiax"))
	line("hyperiax", theirs.Draws[0], theirs.Draws[1], theirs.Processor, theirs.Wall)
}

// seconds is the processor time of this process.
func seconds() float64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return math.NaN()
	}
	return float64(r.Utime.Sec+r.Stime.Sec) + 1e-6*float64(r.Utime.Usec+r.Stime.Usec)
}
