// Command gpucheck compares what an NVIDIA GPU computes with what the CPU computes, and how long both take.
//
//	go run ./docker/gpucheck                     # make gpu-check
//	go run ./docker/gpucheck -tested portable    # without a GPU: the operations of its programs, on the CPU
//
// It runs a fixed set of computations in one process for each back end: single programs, in float64 and float32, and whole searches.
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
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/engine"
	"anatomy/geom/try"
	"anatomy/internal/lists"
)

func main() {
	reference := flag.String("reference", "cpu", "the `back end` that is right: cpu, portable (the CPU without its C functions), cuda, "+
		"what GOMLX_BACKEND may hold, or a .json file that -compute printed elsewhere")
	tested := flag.String("tested", "cuda", "the `back end` that is tested")
	sizes := flag.String("landmarks", "2000,20000", "`numbers` of landmarks for Hamilton's equations")
	seconds := flag.Float64("seconds", 3, "for which each computation is repeated, at most ten times, for its time; 0: each once, both back ends side by side")
	alone := flag.Bool("compute", false, "only compute, on the back end of the environment, and print the results as JSON")
	record := flag.String("record", "", "with -compute: a `folder` for the programs, as text, in a folder for each computation")
	compiler := flag.String("compile", "", "compile the programs of all computations for GPUs that are not there: the `folder` of the CUDA plug-in and its compiler")
	recorded := flag.String("programs", "", "with -compile: a `folder` in which programs were recorded, in place of those of the computations")
	accept := flag.Bool("accept", false, "with -compile: today's launches are the allowed ones from now on")
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
	if *alone || *compiler != "" {
		if err := try.Run(func() {
			if *alone {
				try.Do(json.NewEncoder(os.Stdout).Encode(compute(ns, *seconds, *record)))
				return
			}
			compileAll(os.Stdout, *compiler, *recorded, *sizes, *accept)
		}); err != nil {
			fmt.Fprintln(os.Stderr, "gpucheck:", err)
			os.Exit(1)
		}
		return
	}
	names, backends, runs := []string{"tested", "reference"}, []string{*tested, *reference}, make([]*run, 2)
	var group sync.WaitGroup
	for i := range runs { // the tested one first, since it may be missing
		group.Go(func() {
			runs[i] = inProcess(names[i], backends[i], "-landmarks", *sizes, "-seconds", fmt.Sprint(*seconds))
		})
		if *seconds > 0 {
			group.Wait()
		}
	}
	if group.Wait(); !compare(os.Stdout, runs[1], runs[0]) {
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
	First, Seconds  float64 // of the first call, which compiles; of later ones, if there are any, the median
	Error           string
}

// inProcess computes in a process of its own, since a process has one back end.
func inProcess(what, backend string, options ...string) *run {
	r, err := start(backend, options...)
	if err != nil {
		fmt.Fprintf(os.Stderr, "gpu-check: %s: %v\n", backend, err)
		if r != nil {
			os.Exit(2)
		}
		os.Exit(1)
	}
	fmt.Printf("%s: %s, %s\n", what, backend, r.Device)
	return r
}

// start returns what a process computes, or a file has. Where the back end could not be opened there is an error besides.
func start(backend string, options ...string) (_ *run, err error) {
	defer try.Catch(&err)
	var out []byte
	if strings.HasSuffix(backend, ".json") {
		out = try.Get(os.ReadFile(backend))
	} else {
		cmd := exec.Command(try.Get(os.Executable()), append(options, "-compute")...)
		cmd.Stderr = os.Stderr
		cmd.Env = slices.DeleteFunc(os.Environ(), func(s string) bool {
			name, _, _ := strings.Cut(s, "=")
			return slices.Contains([]string{"GOMLX_BACKEND", "ANATOMY_DEVICE", "ANATOMY_NATIVE"}, name)
		})
		known := map[string][]string{"cpu": {"ANATOMY_DEVICE=cpu"}, "cuda": {"ANATOMY_DEVICE=cuda"}, "portable": {"ANATOMY_DEVICE=cpu", "ANATOMY_NATIVE=off"}}
		if known[backend] == nil {
			known[backend] = []string{"GOMLX_BACKEND=" + backend}
		}
		cmd.Env = append(cmd.Env, known[backend]...)
		out, err = cmd.Output()
		try.Do(try.Name(err, "its process ended"))
	}
	r := new(run)
	try.Do(json.Unmarshal(out, r))
	if r.Error != "" {
		err = errors.New(r.Error)
	}
	return r, err
}

// compute measures all computations; record is a folder for their programs, or "".
func compute(ns []int, enough float64, record string) *run {
	b, err := engine.Backend()
	if err != nil {
		return &run{Error: err.Error()}
	}
	r := &run{Device: b.DeviceDescription(0)}
	measure := func(name, precision string, tolerance float64, call func() [][]float64) {
		v := result{Name: name, Precision: precision, Tolerance: tolerance}
		defer func() { r.Results = append(r.Results, v) }()
		if record != "" {
			dir := filepath.Join(record, name+", "+precision)
			if err := os.MkdirAll(dir, 0o700); err != nil {
				v.Error = err.Error()
				return
			}
			os.Setenv(engine.RecordVariable, dir)
		}
		var seconds []float64
		for begin := time.Now(); len(seconds) == 0 || enough > 0 && (len(seconds) == 1 || len(seconds) < 10 && time.Since(begin).Seconds() < enough); {
			start := time.Now()
			err := try.Run(func() { v.Parts = call() })
			seconds = append(seconds, time.Since(start).Seconds())
			if err = cmp.Or(err, finite(v.Parts)); err != nil {
				v.Parts, v.Error = nil, err.Error()
				return
			}
		}
		v.First = seconds[0]
		slices.Sort(seconds[1:])
		v.Seconds = seconds[len(seconds)/2]
	}

	programs(measure, ns)
	searches(measure)
	return r
}

// finite returns an error where a value is not: JSON has no such numbers.
func finite(parts [][]float64) error {
	for _, values := range parts {
		if i, bad := lists.NotFinite(values); bad {
			return fmt.Errorf("value %d is %g", i, values[i])
		}
	}
	return nil
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
