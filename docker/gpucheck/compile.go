package main

import (
	"cmp"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"anatomy/geom/engine/described"
	"anatomy/geom/try"
)

// allowed has the launches of the computations, which budget reads: a change that makes a program slower on a GPU is seen without one.
//
//go:embed testdata/launches.csv
var allowed string

// slack is by how much launches may exceed what is allowed, as a share: another version of XLA fuses a little less or more.
const slack = 0.1

// reference is the card whose launches are counted, an H100.
const reference = 2

// launch is the time that a launch takes on an H100, in seconds, however little it computes.
const launch = 2e-6

// group is what the compilers make of the programs of one computation.
type group struct {
	name      string
	programs  int
	launches  int   // of the program that launches most, on the reference
	all       int   // of all calls of all programs
	open      bool  // it has loops whose turns the compiler does not know
	kernels   int   // of all programs
	temporary int64 // the most that a program takes, in bytes
	seconds   []float64
	failures  map[string][]string // why, and for which cards
}

// problems is how many share the programs: see batches.
func (g *group) problems() float64 {
	n, _, _ := strings.Cut(g.name, " × ")
	problems, _ := strconv.ParseFloat(n, 64)
	return max(problems, 1)
}

// compileAll compiles programs for every card and prints a table. It fails if one does not compile, or if a computation launches more than is
// allowed.
func compileAll(out io.Writer, compiler, recorded, sizes string, accept bool) {
	computed := recorded == ""
	if computed {
		recorded = try.Get(os.MkdirTemp("", "programs"))
		defer os.RemoveAll(recorded)
		try.Get(start("portable", "-landmarks", sizes, "-seconds", "0", "-record", recorded))
	}
	try.Do(described.Open(compiler))
	groups := compiled(recorded)
	failed := printed(out, groups)
	try.FailIf(failed > 0, "%d programs do not compile", failed)
	switch {
	case accept:
		try.Do(os.WriteFile("docker/gpucheck/testdata/launches.csv", budgetOf(groups), 0o644))
	case computed:
		budget(groups)
	}
}

// compiled compiles the programs below a folder, HASH.mlir. Those in one folder are a group. A program of several groups is compiled once.
func compiled(folder string) []*group {
	groups, files := map[string]*group{}, map[string][]string{} // by the path of a folder
	try.Do(filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if dir := filepath.Dir(path); strings.HasSuffix(path, ".mlir") {
			groups[dir] = &group{name: filepath.Base(dir), seconds: make([]float64, len(described.Cards)), failures: map[string][]string{}}
			files[dir] = append(files[dir], path)
		}
		return err
	}))
	try.FailIf(len(groups) == 0, "%s has no programs, files that end in .mlir: ANATOMY_RECORD_PROGRAMS=FOLDER ANATOMY_NATIVE=off in the environment "+
		"records those of any command", folder)
	for i, card := range described.Cards {
		c, err := described.For(card)
		try.Do(try.Name(err, "%s", card.Name))
		seen := map[string]*described.Program{}
		for path, g := range groups {
			g.programs = len(files[path])
			for _, file := range files[path] {
				p := seen[filepath.Base(file)]
				if p == nil {
					if p, err = c.Compile(try.Get(os.ReadFile(file))); err != nil {
						why, _, _ := strings.Cut(err.Error(), "\n")
						g.failures[why] = append(g.failures[why], card.Name)
						continue
					}
					seen[filepath.Base(file)] = p
				}
				g.seconds[i] += p.Seconds
				g.temporary = max(g.temporary, p.Temporary)
				if i == reference {
					g.count(p, file)
				}
			}
		}
	}
	return slices.SortedFunc(maps.Values(groups), func(a, b *group) int { return cmp.Compare(a.name, b.name) })
}

// count adds the launches of a program, for the reference, that a file has.
func (g *group) count(p *described.Program, file string) {
	g.kernels += p.Kernels
	if calls, err := os.Stat(strings.TrimSuffix(file, ".mlir") + ".calls"); err == nil {
		g.all += p.Launches * int(calls.Size())
	}
	if p.Launches > g.launches {
		g.launches, g.open = p.Launches, p.Open
	}
}

// printed prints the table, and returns how many programs failed.
func printed(out io.Writer, groups []*group) (failed int) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "computation\tprograms\tlaunches\ttime of these\tlaunches of all calls\ttime of these\tkernels\tmemory\tof each problem")
	for _, c := range described.Cards {
		fmt.Fprintf(w, "\t%d.%d", c.Major, c.Minor)
	}
	fmt.Fprintln(w)
	programs := 0
	for _, g := range groups {
		programs += g.programs
		fmt.Fprintf(w, "%s\t%d\t%s%d\t%.3g ms\t%d\t%.3g ms\t%d\t%.3g MB\t", g.name, g.programs, map[bool]string{true: "≥ "}[g.open], g.launches,
			1e3*launch*float64(g.launches), g.all, 1e3*launch*float64(g.all), g.kernels, float64(g.temporary)/1e6)
		if n := g.problems(); n > 1 {
			fmt.Fprintf(w, "%.1f, %.2g MB", float64(g.launches)/n, float64(g.temporary)/1e6/n)
		}
		for _, s := range g.seconds {
			fmt.Fprintf(w, "\t%.1f s", s)
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	for _, g := range groups {
		for why, cards := range g.failures {
			failed += len(cards)
			fmt.Fprintf(out, "%s, for %s: %s\n", g.name, strings.Join(cards, ", "), why)
		}
	}
	fmt.Fprintf(out, "%d programs for each of %d cards, %d failures. Launches are those of the program that has most, on an H100, where each takes "+
		"some 2 µs. The last columns are compile times by compute capability.\n", programs, len(described.Cards), failed)
	return failed
}

func budgetOf(groups []*group) []byte {
	text := new(strings.Builder)
	w := csv.NewWriter(text)
	_ = w.Write([]string{"computation", "launches"})
	for _, g := range groups {
		_ = w.Write([]string{g.name, strconv.Itoa(g.launches)})
	}
	w.Flush()
	return []byte(text.String())
}

// budget fails where launches are more than are allowed.
func budget(groups []*group) {
	limit := map[string]float64{}
	for _, row := range try.Get(csv.NewReader(strings.NewReader(allowed)).ReadAll())[1:] {
		limit[row[0]] = try.Get(strconv.ParseFloat(row[1], 64))
	}
	var errs []error
	for _, g := range groups {
		if l, known := limit[g.name]; !known || float64(g.launches) > (1+slack)*l {
			errs = append(errs, fmt.Errorf("%s: %d launches, allowed are %g", g.name, g.launches, l))
		}
	}
	if errs != nil {
		errs = append(errs, errors.New("if this is meant, `make gpu-compile OPTIONS=-accept` allows it"))
	}
	try.Do(errors.Join(errs...))
}
