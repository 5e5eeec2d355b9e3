// Command bench times the kernel sums of this project beside those of others, on one machine in one run:
//
//	go run ./notebooks/lab/bench [-max 1000000] [-plot scaling.png] [-python python]
//	go run ./notebooks/lab/bench -narrow [-min 20000] [-max 100000] [-tolerance 1e-6] [-sigmas 0.2,0.1,0.05] [-python python]
//
// The second table is that of narrow kernels: what kernels.Fast chooses for kernels of several widths on a curve, a surface and a
// volume, beside exact sums and finufft.
//
// Each measurement is a process of its own, so that its peak memory is known. The points lie on the ellipsoid with half
// axes 1, 0.8, 0.6, the kernel is Gaussian, the momenta are random. "H" is the right-hand side of Hamilton's equations, velocities
// and forces; "K" the sum Σ_j K(x_i, x_j) p_j alone. Errors are relative to the largest value, from 100 points against exact sums.
// The ratio is of the clock, to the fastest rival of that sum; the share is that of the additions and multiplications that a
// processor can do. Rivals (rivals.py: JAX, KeOps, finufft) are run right after ours where the Python has them:
// notebooks/lab/bench/requirements.txt.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"image/color"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom/engine"
	"anatomy/geom/try"
	"anatomy/kernels"
	"anatomy/viz"
)

// method is a way to compute sums: ours, or one of rivals.py.
type method struct {
	name    string
	largest int // number of points
	ours    bool
	color   color.Color
}

var methods = []method{
	{"H exact", 20000, true, viz.Blue},
	{"H 1e-4", 1000000, true, viz.Vermilion},
	{"H 1e-6", 1000000, true, viz.Green},
	{"K 5e-8", 1000000, true, viz.Purple},
	{"H JAX", 20000, false, viz.Orange},
	{"H KeOps", 20000, false, viz.Sky},
	{"K finufft", 1000000, false, viz.Purple},
}

var sizes = []int{100, 1000, 10000, 20000, 100000, 1000000}

// usual is the width of the kernel for every number of points; the other widths are those for someWidths points.
const (
	usual      = 0.5
	someWidths = 20000
)

var widths = []float64{0.02, 0.05, 0.1, 0.2, usual, 1}

// result is what a measurement prints.
type result struct {
	First float64 // seconds of the first call
	cost
	Megabytes float64 // peak of the process
	Error     float64
	Flops     float64 // additions and multiplications of a call, 0 if not counted
	Missing   string  // why there is none
}

// cost is the least seconds of calls, of the clock and of all processors.
type cost struct{ Best, CPU float64 }

var unknown = cost{math.Inf(1), math.Inf(1)}

// of takes another call.
func (c *cost) of(call func()) {
	start, cpu := time.Now(), processorSeconds()
	call()
	c.Best, c.CPU = min(c.Best, time.Since(start).Seconds()), min(c.CPU, processorSeconds()-cpu)
}

// compiled are the sums of a kernel over points and momenta: velocities, and with forces these.
func compiled(k kernels.Kernel, forces bool) *engine.Func {
	return engine.Compile(func(x, p *Node) []*Node {
		if !forces {
			return []*Node{k.Sum(x, x, p)}
		}
		v, f := k.Hamilton(x, p)
		return []*Node{v, f}
	})
}

func main() {
	largest := flag.Int("max", 1000000, "largest number of points")
	plot := flag.String("plot", "", "write the scaling plot to this file")
	python := flag.String("python", "python3", "Python with JAX, KeOps and finufft")
	small := flag.Bool("narrow", false, "the table of narrow kernels, from -min to -max points")
	smallest := flag.Int("min", 0, "smallest number of points of that table")
	tolerance := flag.Float64("tolerance", 1e-6, "tolerance of that table")
	sigmas := flag.String("sigmas", "0.2,0.1,0.05", "widths of that table")
	row := flag.String("row", "", "measure this row of that table alone, and print JSON")
	only := flag.String("method", "", "measure this method alone, for -max points, and print JSON")
	sigma := flag.Float64("sigma", usual, "width of the kernel for -method")
	flag.Parse()
	err := try.Run(func() {
		switch {
		case *row != "":
			var c problem
			try.Do(json.Unmarshal([]byte(*row), &c))
			var r narrow
			r.Missing = why(func() { c.measure(&r) })
			try.Do(json.NewEncoder(os.Stdout).Encode(r))
		case *small:
			var list []float64
			try.Do(json.Unmarshal([]byte("["+*sigmas+"]"), &list))
			narrowTable(*smallest, *largest, *tolerance, list, *python)
		case *only != "":
			var r result
			r.Missing = why(func() { r = measure(*only, *largest, *sigma) })
			try.Do(json.NewEncoder(os.Stdout).Encode(r))
		default:
			table(*largest, *python, *plot)
		}
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// why is the error that ends a measurement, "" for none.
func why(measure func()) string {
	if err := try.Run(measure); err != nil {
		return err.Error()
	}
	return ""
}

// print prints a row, if there is one, beside the seconds of the fastest rival, 0 for none, and the flops of a processor.
func (r result) print(m method, n int, sigma, rival, limit float64) {
	if r.Best == 0 {
		return
	}
	ratio, share := "", ""
	if m.ours && rival > 0 {
		ratio = fmt.Sprintf("%.3f", r.Best/rival)
	}
	if r.Flops > 0 {
		share = fmt.Sprintf("%.0f%%", 100*r.Flops/(r.CPU*limit))
	}
	fmt.Printf("%-12s %9d %5g %10.3f %10.5f %10.5f %9.0f %9.1e %6s %6s\n",
		m.name, n, sigma, r.First, r.Best, r.CPU, r.Megabytes, r.Error, ratio, share)
}

// table runs every method for every size, and for every width, prints them and draws them.
func table(largest int, python, plot string) {
	self := try.Get(os.Executable())
	limit := peak()
	fmt.Printf("load %s; a processor does %.3g Gflop/s at most; two points of exact sums take %d flops\n", load(), limit/1e9, pairFlops)
	fmt.Printf("%-12s %9s %5s %10s %10s %10s %9s %9s %6s %6s\n",
		"sums", "points", "σ", "first s", "best s", "processors", "MB", "error", "ratio", "share")
	missing := map[string]bool{}
	measure := func(m method, n int, sigma float64) (r result) {
		command := exec.Command(self, "-method", m.name, "-max", fmt.Sprint(n), "-sigma", fmt.Sprint(sigma))
		if !m.ours {
			command = exec.Command(python, "notebooks/lab/bench/rivals.py", m.name, fmt.Sprint(n), fmt.Sprint(sigma))
		}
		child(&r, command)
		if r.Missing != "" && !missing[m.name] {
			missing[m.name] = true
			fmt.Printf("%-12s %s\n", m.name, r.Missing)
		}
		return r
	}
	bySize, byWidth := make([]curve, len(methods)), make([]curve, len(methods))
	// rows measures the methods for points and a width, one after the other, so that ratios are of the same minutes.
	rows := func(n int, sigma float64, along []curve, at float64, takes func(m method) bool) {
		results := make([]result, len(methods))
		fastest := map[byte]float64{}
		for i, m := range methods {
			if n > m.largest || missing[m.name] || !takes(m) {
				continue
			}
			results[i] = measure(m, n, sigma)
			if best := results[i].Best; best > 0 {
				along[i].x, along[i].y = append(along[i].x, at), append(along[i].y, best)
				if rival := fastest[m.name[0]]; !m.ours && (rival == 0 || best < rival) {
					fastest[m.name[0]] = best
				}
			}
		}
		for i, m := range methods {
			results[i].print(m, n, sigma, fastest[m.name[0]], limit)
		}
	}
	for _, n := range sizes {
		if n <= largest {
			rows(n, usual, bySize, float64(n), func(method) bool { return true })
		}
	}
	for _, sigma := range widths {
		if someWidths <= largest { // exact sums take as long whatever the width
			rows(someWidths, sigma, byWidth, sigma, func(m method) bool { return m.ours || m.name == "K finufft" })
		}
	}
	if plot == "" {
		return
	}
	try.Do(viz.Save(plot, viz.Row(figure(bySize, "points, σ = 0.5"), figure(byWidth, "σ, 20,000 points"))))
}

// curve is the times of a method.
type curve struct{ x, y []float64 }

func figure(curves []curve, x string) *viz.Figure {
	var layers []*viz.Layer
	for i, c := range curves {
		if len(c.x) < 2 {
			continue
		}
		l := viz.Series(c.x, c.y).Label(methods[i].name).Color(methods[i].color)
		if !methods[i].ours {
			l = l.Dashed()
		}
		layers = append(layers, l)
	}
	return viz.Fig(layers...).XLabel(x).YLabel("seconds").LogX().LogY()
}

// child runs a measurement and reads what it prints.
func child(r any, command *exec.Cmd) {
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err == nil {
		err = json.Unmarshal(out[max(0, strings.LastIndex(string(out), "\n{")):], r)
	}
	try.Do(try.Name(err, "%s", strings.Join(command.Args, " ")))
}

// cloud is n points and momenta, each component n^-1 times a normal number.
func cloud(n int) (x, p [][]float64) {
	r := rand.New(rand.NewPCG(0, 0))
	for range n {
		a, b, norm := make([]float64, 3), make([]float64, 3), 0.
		for k := range a {
			a[k], b[k] = r.NormFloat64(), r.NormFloat64()/float64(n)
			norm += a[k] * a[k]
		}
		for k, h := range []float64{1, 0.8, 0.6} {
			a[k] *= h / math.Sqrt(norm)
		}
		x, p = append(x, a), append(p, b)
	}
	return x, p
}

func measure(name string, n int, sigma float64) result {
	x, p := cloud(n)
	gauss := kernels.Gaussian(sigma)
	var tolerance float64
	k, forces := gauss, name[0] == 'H'
	if n > 1000 {
		k = kernels.Tiled(gauss)
	}
	flops := float64(n) * float64(n) / 2 * pairFlops
	if _, err := fmt.Sscanf(name[2:], "%g", &tolerance); err == nil {
		k = try.Get(kernels.Fast(gauss, tolerance, x))
		flops = 0
		if g, ok := k.(*kernels.Gridded); ok {
			flops = g.Flops(n, forces)
		}
	}
	f, flatX, flatP := compiled(k, forces), tensors.FromValue(x), tensors.FromValue(p)
	start := time.Now()
	out := try.Get(f.Call(flatX, flatP))
	r := result{First: time.Since(start).Seconds(), cost: unknown, Flops: flops}
	for begin := time.Now(); time.Since(begin) < 3*time.Second; {
		r.of(func() { try.Get(f.Call(flatX, flatP)) })
	}
	var got [][]float64
	for i := range out {
		got = append(got, out.Flat(i)[:300])
	}
	r.Megabytes = peakMegabytes()
	r.Error = worst(x, p, sigma, got)
	return r
}

// peakMegabytes is the most memory that the process had.
func peakMegabytes() float64 { return float64(usage().Maxrss) / 1024 }

// processorSeconds are those of all threads of the process.
func processorSeconds() float64 {
	u := usage()
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

func usage() (u syscall.Rusage) {
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return u
}

// worst is the error of the velocities, and the forces if there are any, of the first points.
func worst(x, p [][]float64, sigma float64, got [][]float64) (worst float64) {
	var off, scale [2]float64
	for i := range len(got[0]) / 3 {
		v, f := exactly(x, p, i, sigma, profiles[0].value)
		for what, want := range [][]float64{v, f}[:len(got)] {
			off[what] = math.Max(off[what], floats.Distance(got[what][3*i:3*i+3], want, math.Inf(1)))
			scale[what] = math.Max(scale[what], floats.Norm(want, math.Inf(1)))
		}
	}
	for what := range got {
		worst = math.Max(worst, off[what]/scale[what])
	}
	return worst
}

// exactly are the velocity and the force of point i by a kernel with these values and slopes in s = r²/σ².
func exactly(x, p [][]float64, i int, sigma float64, value func(s float64) (k, slope float64)) (v, f []float64) {
	v, f = make([]float64, 3), make([]float64, 3)
	d := make([]float64, 3)
	for j := range x {
		floats.SubTo(d, x[i], x[j])
		k, slope := value(floats.Dot(d, d) / (sigma * sigma))
		floats.AddScaled(v, k, p[j])
		floats.AddScaled(f, -2*slope*floats.Dot(p[i], p[j])/(sigma*sigma), d)
	}
	return v, f
}
