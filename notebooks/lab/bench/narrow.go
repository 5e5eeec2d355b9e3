package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom/engine"
	"anatomy/geom/try"
	"anatomy/kernels"
)

// problem is a row of the table of narrow kernels: sums over n points of a shape with half axes 1, 0.8, 0.6.
type problem struct {
	Shape, Kernel    string
	Sigma, Tolerance float64
	N                int
}

type profile struct {
	name   string
	kernel func(sigma ...float64) kernels.Kernel
	value  func(s float64) (k, slope float64) // k and dk/ds for s = r²/σ²
}

var profiles = []profile{
	{"Gaussian", kernels.Gaussian, func(s float64) (float64, float64) { k := math.Exp(-s / 2); return k, -k / 2 }},
	{"Laplace-2", laplace(2), laplaceAt(2)},
	{"Laplace-3", laplace(3), laplaceAt(3)},
	{"Laplace-4", laplace(4), laplaceAt(4)},
	{"Cauchy", kernels.Cauchy, func(s float64) (float64, float64) { return 1 / (1 + s), -1 / ((1 + s) * (1 + s)) }},
	{"2 scales", func(sigma ...float64) kernels.Kernel {
		return kernels.Sum([]float64{0.5, 0.5}, kernels.Gaussian(sigma...), kernels.Gaussian(3*sigma[0]))
	}, func(s float64) (float64, float64) {
		a, b := math.Exp(-s/2), math.Exp(-s/18)
		return (a + b) / 2, -(a + b/9) / 4
	}},
}

func laplace(order int) func(sigma ...float64) kernels.Kernel {
	return func(sigma ...float64) kernels.Kernel { return kernels.Laplace(order, sigma...) }
}

// laplaceAt is the polynomial of the kernel in r times e^−r, whose slope is that of the order below times −1/(4c − 2).
func laplaceAt(order int) func(s float64) (k, slope float64) {
	coefficients := [][]float64{1: {1, 1}, 2: {1, 1, 1. / 3}, 3: {1, 1, 0.4, 1. / 15}, 4: {1, 1, 3. / 7, 2. / 21, 1. / 105}}
	at := func(c int, r float64) (sum float64) {
		for j, a := range coefficients[c] {
			sum += a * math.Pow(r, float64(j))
		}
		return sum * math.Exp(-r)
	}
	return func(s float64) (k, slope float64) {
		r := math.Sqrt(s)
		return at(order, r), -at(order-1, r) / float64(4*order-2)
	}
}

// points are n of a closed curve, of an ellipsoid or in it, with momenta of n^-1 times normal numbers.
func (c problem) points() (x, p [][]float64) {
	if x, p = cloud(c.N); c.Shape == "surface" {
		return x, p
	}
	r := rand.New(rand.NewPCG(1, 0))
	for i := range x {
		if c.Shape == "curve" {
			t := 2 * math.Pi * (float64(i) + r.Float64()) / float64(c.N)
			x[i] = []float64{math.Cos(t), 0.8 * math.Sin(t), 0.6 * math.Sin(3*t)}
			continue
		}
		deep := math.Cbrt(r.Float64())
		for a := range x[i] {
			x[i][a] *= deep
		}
	}
	return x, p
}

// narrow is a measured row, of a kernel that was chosen by Fast. Exact sums are measured for 20,000 points, and taken to grow with the square.
type narrow struct {
	Chosen         string
	Plan, First    float64 // seconds of kernels.Fast, and of the first call with compilation
	H, K           cost
	ExactH, ExactK cost
	Megabytes      float64
	// The greatest errors of 200 random sums relative to what the weights allow: Σ|p_j|, and for forces |p_i|·Σ|p_j| times the
	// steepest slope of the kernel.
	ErrorK, ErrorH float64
	Missing        string
}

// measure fills a row.
func (c problem) measure(r *narrow) {
	x, p := c.points()
	of := slices.IndexFunc(profiles, func(p profile) bool { return p.name == c.Kernel })
	try.FailIf(of < 0, "no kernel %q", c.Kernel)
	exact, value := profiles[of].kernel(c.Sigma), profiles[of].value
	try.Get(engine.Backend())
	start := time.Now()
	fast := try.Get(kernels.Fast(exact, c.Tolerance, x))
	r.Plan, r.Chosen = time.Since(start).Seconds(), fast.String()
	some := min(c.N, 20000)
	all, few := []any{tensors.FromValue(x), tensors.FromValue(p)}, []any{tensors.FromValue(x[:some]), tensors.FromValue(p[:some])}
	calls := []struct {
		f    *engine.Func
		args []any
		cost *cost
	}{{compiled(fast, true), all, &r.H}, {compiled(fast, false), all, &r.K},
		{compiled(exact, true), few, &r.ExactH}, {compiled(exact, false), few, &r.ExactK}}
	var out engine.Values
	for i, call := range calls {
		start := time.Now()
		first := try.Get(call.f.Call(call.args...))
		if *call.cost = unknown; i == 0 {
			out, r.First = first, time.Since(start).Seconds()
		}
	}
	r.Megabytes = peakMegabytes()
	for begin, i := time.Now(), 0; i < 2 || time.Since(begin) < 3*time.Second; i++ { // in alternation
		for _, call := range calls {
			call.cost.of(func() { try.Get(call.f.Call(call.args...)) })
		}
	}
	scale := math.Pow(float64(c.N)/float64(some), 2)
	for _, e := range []*cost{&r.ExactH, &r.ExactK} {
		e.Best, e.CPU = e.Best*scale, e.CPU*scale
	}
	r.ErrorK, r.ErrorH = c.errors(x, p, value, out.Matrix(0), out.Matrix(1))
}

// errors compares velocities and forces of 200 points with exact sums.
func (c problem) errors(x, p [][]float64, value func(s float64) (k, slope float64), v, f [][]float64) (ofV, ofF float64) {
	steepest, weights := 0.0, 0.0
	for i := 1; i < 1000; i++ {
		s := float64(i) * 0.01
		_, slope := value(s)
		steepest = math.Max(steepest, 2*math.Sqrt(s)*-slope/c.Sigma)
	}
	for _, b := range p {
		weights += floats.Norm(b, 2)
	}
	r := rand.New(rand.NewPCG(2, 0))
	for range 200 {
		i := r.IntN(len(x))
		exactV, exactF := exactly(x, p, i, c.Sigma, value)
		ofV = math.Max(ofV, floats.Distance(v[i], exactV, 2)/weights)
		ofF = math.Max(ofF, floats.Distance(f[i], exactF, 2)/(floats.Norm(p[i], 2)*weights*steepest))
	}
	return ofV, ofF
}

// rivals measures finufft's sums with all kernels that it has.
func (c problem) rivals(python string, least map[string]cost) {
	for _, name := range []string{"Gaussian", "Laplace-2", "Laplace-3", "Laplace-4"} {
		var r result
		child(&r, exec.Command(python, "notebooks/lab/bench/rivals.py", "K finufft", fmt.Sprint(c.N), fmt.Sprint(c.Sigma),
			c.Shape, fmt.Sprint(c.Tolerance/10), name))
		before, ok := least[name]
		if !ok {
			before = unknown
		}
		if r.Best > 0 {
			before = cost{min(before.Best, r.Best), min(before.CPU, r.CPU)}
		}
		least[name] = before
	}
}

// narrowTable measures Fast for narrow kernels, a process a row, with finufft's sums before and after those of a shape: of the same
// kernel where its Fourier coefficients have a closed form and fit into memory, and of Gaussians of each width, which
// want the fewest waves. Ratios are of the clock, of K to these sums. A row that ends in SLOW takes more of the processors than exact
// sums, which it did not choose; one in WRONG is less accurate than the tolerance.
func narrowTable(smallest, largest int, tolerance float64, sigmas []float64, python string) {
	self := try.Get(os.Executable())
	fmt.Printf("sums by kernels.Fast to %g, by finufft to %g: seconds of the clock (of all processors), "+
		"least of calls in alternation; load is that of the last minute\n", tolerance, tolerance/10)
	fmt.Printf("%-8s %-9s %5s %8s %5s %6s %15s %15s %15s %15s %15s %6s %15s %6s %6s %8s %8s  %s\n",
		"shape", "kernel", "σ", "points", "plan", "first",
		"H", "K", "H exact", "K exact", "its Gaussian", "ratio", "finufft", "ratio", "MB", "error K", "error H", "chosen")
	for _, n := range []int{20000, 100000, 1000000} {
		if n < smallest || n > largest {
			continue
		}
		for _, shape := range []string{"curve", "surface", "volume"} {
			for _, sigma := range sigmas {
				c, finufft := problem{shape, "", sigma, tolerance, n}, map[string]cost{}
				c.rivals(python, finufft)
				rows := make([]narrow, len(profiles))
				for i, profile := range profiles {
					c.Kernel = profile.name
					child(&rows[i], exec.Command(self, "-row", string(try.Get(json.Marshal(c)))))
				}
				c.rivals(python, finufft)
				for i, r := range rows {
					line := fmt.Sprintf("%-8s %-9s %5g %8d ", shape, profiles[i].name, sigma, n)
					if r.Missing != "" {
						fmt.Println(line + r.Missing)
						continue
					}
					line += fmt.Sprintf("%5.2f %6.2f", r.Plan, r.First)
					for _, t := range []cost{r.H, r.K, r.ExactH, r.ExactK, finufft["Gaussian"]} {
						line += fmt.Sprintf(" %7.4f (%5.2f)", t.Best, t.CPU)
					}
					same := fmt.Sprintf(" %15s %6s", "-", "-")
					if t, ok := finufft[profiles[i].name]; ok && t.Best < math.Inf(1) {
						same = fmt.Sprintf(" %7.4f (%5.2f) %6.2f", t.Best, t.CPU, r.K.Best/t.Best)
					}
					line += fmt.Sprintf(" %6.2f%s %6.0f %8.1e %8.1e  load %s, %s",
						r.K.Best/finufft["Gaussian"].Best, same, r.Megabytes, r.ErrorK, r.ErrorH, load(), r.Chosen)
					if !strings.HasSuffix(r.Chosen, " in tiles") && (r.H.CPU > 1.05*r.ExactH.CPU || r.K.CPU > 1.05*r.ExactK.CPU) {
						line += " SLOW"
					}
					if !(r.ErrorK <= tolerance && r.ErrorH <= tolerance) {
						line += " WRONG"
					}
					fmt.Println(line)
				}
			}
		}
	}
}

// load is the average of the last minute, "?" where the system does not tell.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "?"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
