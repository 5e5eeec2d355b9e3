// Command gpucheck tells whether an NVIDIA GPU computes what the CPU computes, and how long both take.
//
//	go run ./docker/gpucheck
//
// It runs a fixed set of computations in one process for each back end: the exponential map of 39 landmarks and its
// gradient, the logarithm, and Hamilton's equations of many landmarks, by exact and by fast sums, in float64 and float32.
// Results of both precisions are compared with the reference's in float64, velocities and forces each on their own. The exit status
// is 0 if all agree, 1 if one differs or fails, or a process ends before its time, 2 if a back end cannot be opened or the options are
// wrong.
//
// Where a GPU's machine lacks a CPU plug-in: `gpucheck -compute > cpu.json` elsewhere, `gpucheck -reference cpu.json` there.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/autodiff"
	"anatomy/geom/engine"
	"anatomy/geom/ode"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/morpho"
)

func main() {
	reference := flag.String("reference", "cpu", "the `back end` that is right: cpu, cuda, what GOMLX_BACKEND may hold, or a .json file that -compute printed elsewhere")
	tested := flag.String("tested", "cuda", "the `back end` that is tested")
	sizes := flag.String("landmarks", "2000,20000", "`numbers` of landmarks for Hamilton's equations")
	alone := flag.Bool("compute", false, "only compute, on the back end of the environment, and print the results as JSON")
	flag.Parse()
	var ns []int
	for _, s := range strings.Split(*sizes, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 2 || flag.NArg() > 0 {
			flag.Usage()
			os.Exit(2)
		}
		ns = append(ns, n)
	}
	if *alone {
		if err := json.NewEncoder(os.Stdout).Encode(compute(ns)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	t := inProcess("tested", *tested, *sizes) // first, since it is the one that may be missing
	r := inProcess("reference", *reference, *sizes)
	if !compare(os.Stdout, r, t) {
		os.Exit(1)
	}
}

// run is what one back end makes of all computations.
type run struct {
	Device  string
	Error   string // why the back end could not be opened
	Results []result
}

// result is what one back end makes of one computation.
type result struct {
	Name, Precision string
	Tolerance       float64 // largest difference that passes, as a share of the largest value of a part
	Parts           [][]float64
	First, Seconds  float64 // of the first call, which compiles; of later ones, the median
	Error           string
}

// inProcess computes in a process of its own, since a process has one back end.
func inProcess(what, backend, sizes string) *run {
	r, err := start(backend, sizes)
	status := 1
	if err == nil && r.Error != "" {
		err, status = errors.New(r.Error), 2
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "gpu-check: %s: %v\n", backend, err)
		os.Exit(status)
	}
	fmt.Printf("%s: %s, %s\n", what, backend, r.Device)
	return r
}

func start(backend, sizes string) (*run, error) {
	r := new(run)
	if strings.HasSuffix(backend, ".json") {
		text, err := os.ReadFile(backend)
		if err != nil {
			return nil, err
		}
		return r, json.Unmarshal(text, r)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "-compute", "-landmarks", sizes)
	cmd.Stderr = os.Stderr
	cmd.Env = slices.DeleteFunc(os.Environ(), func(s string) bool {
		return strings.HasPrefix(s, "GOMLX_BACKEND=") || strings.HasPrefix(s, "ANATOMY_DEVICE=")
	})
	if backend == "cpu" || backend == "cuda" {
		cmd.Env = append(cmd.Env, "ANATOMY_DEVICE="+backend)
	} else {
		cmd.Env = append(cmd.Env, "GOMLX_BACKEND="+backend)
	}
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("its process ended with %w", err)
	}
	return r, json.Unmarshal(out, r)
}

func compute(ns []int) *run {
	b, err := engine.Backend()
	if err != nil {
		return &run{Error: err.Error()}
	}
	r := &run{Device: b.DeviceDescription(0)}
	measure := func(name, precision string, tolerance float64, call func() ([][]float64, error)) {
		v := result{Name: name, Precision: precision, Tolerance: tolerance}
		defer func() { r.Results = append(r.Results, v) }()
		var seconds []float64
		for begin := time.Now(); len(seconds) < 2 || len(seconds) < 10 && time.Since(begin) < 3*time.Second; {
			start := time.Now()
			parts, err := call()
			seconds = append(seconds, time.Since(start).Seconds())
			if err = cmp.Or(err, finite(parts)); err != nil {
				v.Parts, v.Error = nil, err.Error()
				return
			}
			v.Parts = parts
		}
		v.First = seconds[0]
		slices.Sort(seconds[1:])
		v.Seconds = seconds[(len(seconds)+1)/2]
	}

	cc := morpho.CorpusCallosum()
	q, target := cc.Shape("jhu_atlas"), cc.Shape("colin27")
	kernel := kernels.Gaussian(cc.Spacing())
	space := landmarks.New(len(q), 2, kernel)
	var x, y, v []float64
	for i := range q {
		for a := range q[i] {
			x, y, v = append(x, q[i][a]), append(y, target[i][a]), append(v, target[i][a]-q[i][a])
		}
	}
	exp := func(q, v *Node) *Node { return geom.ExpMap(space.Manifold, ode.RK4, 25, q, v) }
	gradient := func(q, v, target *Node) *Node {
		return autodiff.Grad(func(v *Node) *Node { return ReduceAllSum(Square(Sub(exp(q, v), target))) }, v)
	}
	for _, p := range precisions {
		f := engine.Compile(exp, p.options...)
		measure("Exp, 39 landmarks", p.name, p.exp, func() ([][]float64, error) { return vector(f.Call(x, v)) })
	}
	for _, p := range precisions {
		f := engine.Compile(gradient, p.options...)
		measure("gradient through it", p.name, p.gradient, func() ([][]float64, error) { return vector(f.Call(x, v, y)) })
	}
	measure("Log, 39 landmarks", "float64", 1e-6, func() ([][]float64, error) {
		g, err := space.Log(q, target)
		if err != nil {
			return nil, err
		}
		return [][]float64{slices.Concat(g.Velocity...)}, nil
	})
	for _, n := range ns {
		points, momenta := ellipsoid(n)
		k := kernels.Gaussian(0.25)
		expansion, err := kernels.Expand(k, kernels.Extent(points), 1e-6)
		if err != nil {
			measure(fmt.Sprintf("an expansion, %d landmarks", n), "float64", 0, func() ([][]float64, error) { return nil, err })
			continue
		}
		for _, sum := range []struct {
			name string
			kernels.Kernel
		}{{"tiles", kernels.Tiled(k)}, {"expansion", expansion}} {
			for _, p := range precisions {
				f := engine.Compile(sum.Hamilton, p.options...)
				measure(fmt.Sprintf("Hamilton, %d landmarks, %s", n, sum.name), p.name, p.hamilton, func() ([][]float64, error) {
					out, err := f.Call(points, momenta)
					if err != nil {
						return nil, err
					}
					return [][]float64{slices.Concat(out.Matrix(0)...), slices.Concat(out.Matrix(1)...)}, nil
				})
			}
		}
	}
	return r
}

// The tolerances are rounding, amplified by the flow's dependence on its start.
var precisions = []struct {
	name                    string
	options                 []engine.Option
	exp, gradient, hamilton float64
}{
	{"float64", nil, 1e-11, 1e-10, 1e-11},
	{"float32", []engine.Option{engine.Float32()}, 1e-5, 1e-4, 1e-4},
}

func vector(out engine.Values, err error) ([][]float64, error) {
	if err != nil {
		return nil, err
	}
	return [][]float64{out.Vector(0)}, nil
}

// finite returns an error where a value is not: JSON has no such numbers.
func finite(parts [][]float64) error {
	for _, values := range parts {
		for i, v := range values {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("value %d is %g", i, v)
			}
		}
	}
	return nil
}

// ellipsoid returns n points spread evenly over an ellipsoid, and smooth momenta.
func ellipsoid(n int) (points, momenta [][]float64) {
	for i := range n {
		z := 1 - (2*float64(i)+1)/float64(n)
		r, angle := math.Sqrt(1-z*z), float64(i)*math.Pi*(3-math.Sqrt(5))
		x := []float64{r * math.Cos(angle), 0.8 * r * math.Sin(angle), 0.6 * z}
		points = append(points, x)
		momenta = append(momenta, []float64{math.Sin(3*x[1]) / float64(n), math.Cos(2*x[2]) / float64(n), x[0] * x[1] / float64(n)})
	}
	return points, momenta
}

// compare prints the table and says whether all results agree.
func compare(out io.Writer, reference, tested *run) bool {
	right := map[string]result{}
	for _, r := range reference.Results {
		right[r.Name+r.Precision] = r
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "computation\tprecision\treference\ttested\tfirst call\tfaster by\tdifference\tallowed")
	agree := true
	for _, t := range tested.Results {
		r, exact := right[t.Name+t.Precision], right[t.Name+"float64"]
		verdict, d := "agrees", math.NaN()
		switch {
		case t.Error != "":
			verdict = "FAILED: " + t.Error
		case exact.Name == "":
			verdict = "NOT in the reference"
		case exact.Error != "":
			verdict = "the reference FAILED: " + exact.Error
		default:
			if d = difference(t.Parts, exact.Parts); !(d <= t.Tolerance) {
				verdict = "DIFFERS"
			}
		}
		agree = agree && verdict == "agrees"
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%.1f\t%.1e\t%.0e\t%s\n", t.Name, t.Precision,
			duration(r.Seconds), duration(t.Seconds), duration(t.First), r.Seconds/t.Seconds, d, t.Tolerance, verdict)
	}
	w.Flush()
	fmt.Fprintln(out, map[bool]string{true: "all agree", false: "NOT all agree"}[agree])
	return agree
}

// difference is the largest of max |a − b| / max |b| over the parts.
func difference(a, b [][]float64) float64 {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	worst := 0.0
	for k := range a {
		if len(a[k]) != len(b[k]) {
			return math.Inf(1)
		}
		worst = max(worst, floats.Distance(a[k], b[k], math.Inf(1))/floats.Norm(b[k], math.Inf(1)))
	}
	return worst
}

func duration(seconds float64) string {
	return time.Duration(seconds * 1e9).Round(10 * time.Microsecond).String()
}
