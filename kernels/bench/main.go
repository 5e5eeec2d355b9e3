// Command bench times the kernel sums of this project beside those of others, on one machine in one run:
//
//	go run ./kernels/bench [-max 1000000] [-sigma 0.5] [-plot scaling.png] [-python python]
//	go run ./kernels/bench -narrow [-min 20000] [-max 100000] [-python python]
//
// The second table is that of narrow kernels: what kernels.Fast chooses for three kernels of three widths on a curve, a surface and a
// volume, beside exact sums and finufft.
//
// Each measurement is a process of its own, so that its peak memory is known. The points lie on the ellipsoid with half
// axes 1, 0.8, 0.6, the kernel is Gaussian, with σ = 0.5 where no other is given, the momenta are random. "H" is the right-hand side of
// Hamilton's equations, velocities and forces; "K" the sum Σ_j K(x_i, x_j) p_j alone. Errors are relative to the
// largest value, from 100 points against exact sums. Rivals (rivals.py: JAX, KeOps, finufft) are run where the Python
// has them: kernels/bench/requirements.txt.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"anatomy/geom/engine"
	"anatomy/kernels"
	"anatomy/viz"
)

// method is a way to compute sums: ours, or one of rivals.py.
type method struct {
	name    string
	largest int // number of points
	ours    bool
}

var methods = []method{
	{"H exact", 20000, true},
	{"H 1e-4", 1000000, true},
	{"H 1e-6", 1000000, true},
	{"K 5e-8", 1000000, true},
	{"H JAX", 20000, false},
	{"H KeOps", 20000, false},
	{"K finufft", 1000000, false},
}

var sizes = []int{100, 1000, 10000, 20000, 100000, 1000000}

// result is what a measurement prints.
type result struct {
	First, Best float64 // seconds of the first call and of the best later one
	CPU         float64 // of all processors, of the best call
	Megabytes   float64 // peak of the process
	Error       float64
	Missing     string // why there is none
}

func main() {
	largest := flag.Int("max", 1000000, "largest number of points")
	sigma := flag.Float64("sigma", 0.5, "width of the kernel")
	plot := flag.String("plot", "", "write the scaling plot to this file")
	python := flag.String("python", "python3", "Python with JAX, KeOps and finufft")
	narrow := flag.Bool("narrow", false, "the table of narrow kernels, from -min to -max points")
	smallest := flag.Int("min", 0, "smallest number of points of that table")
	row := flag.String("row", "", "measure this row of that table alone, and print JSON")
	only := flag.String("method", "", "measure this method alone, for -max points, and print JSON")
	flag.Parse()
	var err error
	switch {
	case *row != "":
		err = measureRow(*row)
	case *narrow:
		err = narrowTable(*smallest, *largest, *python)
	case *only != "":
		err = json.NewEncoder(os.Stdout).Encode(measure(*only, *largest, *sigma))
	default:
		err = table(*largest, *sigma, *python, *plot)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// table runs every method for every size, prints them and draws them.
func table(largest int, sigma float64, python, plot string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	limit := peak()
	fmt.Printf("load %s; a processor does %.3g Gflop/s at most; share: of that, by the %d flops a pair of exact sums\n", load(), limit/1e9, pairFlops)
	fmt.Printf("%-12s %9s %10s %10s %10s %9s %9s %6s\n", "sums", "points", "first s", "best s", "processors", "MB", "error", "share")
	var layers []*viz.Layer
	for _, m := range methods {
		var x, y []float64
		for _, n := range sizes {
			if n > min(largest, m.largest) {
				break
			}
			command := exec.Command(self, "-method", m.name, "-max", fmt.Sprint(n), "-sigma", fmt.Sprint(sigma))
			if !m.ours {
				command = exec.Command(python, "kernels/bench/rivals.py", m.name, fmt.Sprint(n), fmt.Sprint(sigma))
			}
			var r result
			if err := child(&r, command); err != nil {
				return fmt.Errorf("%s with %d points: %w", m.name, n, err)
			}
			if r.Missing != "" {
				fmt.Printf("%-12s %s\n", m.name, r.Missing)
				break
			}
			fmt.Printf("%-12s %9d %10.3f %10.5f %10.5f %9.0f %9.1e", m.name, n, r.First, r.Best, r.CPU, r.Megabytes, r.Error)
			if m.name == "H exact" {
				fmt.Printf(" %5.0f%%", 100*pairFlops*float64(n)*float64(n)/(r.CPU*limit))
			}
			fmt.Println()
			x, y = append(x, float64(n)), append(y, r.Best)
		}
		if len(x) > 1 {
			l := viz.Series(x, y).Label(m.name)
			if !m.ours {
				l = l.Dashed()
			}
			layers = append(layers, l)
		}
	}
	if plot == "" {
		return nil
	}
	return viz.Save(plot, viz.Fig(layers...).XLabel("points").YLabel("seconds").LogX().LogY())
}

// child runs a measurement and reads what it prints.
func child(r any, command *exec.Cmd) error {
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return err
	}
	return json.Unmarshal(out[max(0, strings.LastIndex(string(out), "\n{")):], r)
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
	k := gauss
	if n > 1000 {
		k = kernels.Tiled(gauss)
	}
	if _, err := fmt.Sscanf(name[2:], "%g", &tolerance); err == nil {
		if k, err = kernels.Fast(gauss, tolerance, x); err != nil {
			return result{Missing: err.Error()}
		}
	}
	f := engine.Compile(func(x, p *Node) []*Node {
		if name[0] == 'K' {
			return []*Node{k.Sum(x, x, p)}
		}
		v, f := k.Hamilton(x, p)
		return []*Node{v, f}
	})
	flatX, err := tensor(x)
	if err != nil {
		return result{Missing: err.Error()}
	}
	flatP, err := tensor(p)
	if err != nil {
		return result{Missing: err.Error()}
	}
	start := time.Now()
	out, err := f.Call(flatX, flatP)
	if err != nil {
		return result{Missing: err.Error()}
	}
	r := result{First: time.Since(start).Seconds(), Best: math.Inf(1), CPU: math.Inf(1)}
	for begin := time.Now(); time.Since(begin) < 3*time.Second; {
		start, cpu := time.Now(), processorSeconds()
		if _, err = f.Call(flatX, flatP); err != nil {
			return result{Missing: err.Error()}
		}
		r.Best, r.CPU = min(r.Best, time.Since(start).Seconds()), min(r.CPU, processorSeconds()-cpu)
	}
	var got [][]float64
	for i := range out {
		got = append(got, out.Flat(i)[:300])
	}
	r.Megabytes = peakMegabytes()
	r.Error = worst(x, p, sigma, got)
	return r
}

func tensor(x [][]float64) (*tensors.Tensor, error) {
	flat, dims, err := engine.Flatten(x)
	if err != nil {
		return nil, err
	}
	return tensors.FromFlatDataAndDimensions(flat, dims...), nil
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
	for what, values := range got {
		var off, scale float64
		for i := range len(values) / 3 {
			want := make([]float64, 3)
			for j := range x {
				var s, pp float64
				for a := range 3 {
					d := x[i][a] - x[j][a]
					s += d * d
					pp += p[i][a] * p[j][a]
				}
				k := math.Exp(-s / (2 * sigma * sigma))
				for a := range 3 {
					if what == 0 {
						want[a] += k * p[j][a]
					} else {
						want[a] += k * pp * (x[i][a] - x[j][a]) / (sigma * sigma)
					}
				}
			}
			for a := range 3 {
				off, scale = math.Max(off, math.Abs(values[3*i+a]-want[a])), math.Max(scale, math.Abs(want[a]))
			}
		}
		worst = math.Max(worst, off/scale)
	}
	return worst
}
