// Command calibrate measures whether results are what they say: log densities against closed forms, the sizes of tests, the
// coverage of intervals, the recovery of normal distributions, logarithms against the shortest geodesics known. It prints tables in
// Markdown, failures included: an error ends its line. It takes an hour or more, too long for the tests of every change.
//
//	make calibrate OPTIONS="-simulations 100 -only sizes"
//
// All random numbers come from -seed. With -python, an interpreter that has geomstats or
// jaxgeometry, their logarithms stand beside ours, and with one that has hyperiax 3.0.0 its posterior does.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"time"

	"anatomy/geom"
	"anatomy/geom/try"
)

// sections are the tables. One more is a function and a line here.
var sections = []section{
	{"densities", "Transition densities by bridges", densities},
	{"sizes", "Sizes of the hypothesis tests", sizes},
	{"shapes", "Sizes of the tests of shapes", shapes},
	{"momenta", "Sizes of the tests of momenta", momenta},
	{"species", "Sizes of the tests of momenta of species", species},
	{"families", "Families of surfaces on trees", families},
	{"coverage", "Coverage of intervals, and recovery", coverage},
	{"recovery", "Recovery of start, frame and scale", recovery},
	{"logarithms", "Logarithms", logarithms},
	{"counts", "Tests with all of their samples", counts},
	{"trees", "Posteriors on trees", trees},
	{"bridges", "Posteriors of bridges", bridges},
	{"cohorts", "Posteriors of regressions", cohorts},
	{"factors", "Metrics of a group and normal distributions on the sphere", factors},
	{"atlases", "Atlases of simulated populations", atlases},
	{"placements", "Landmarks placed on simulated families", placements},
	{"published", "A published posterior", published},
}

type section struct {
	name, title string
	run         func(b *bench)
}

// bench is what the sections are told, and where they write.
type bench struct {
	out                       io.Writer
	simulations, permutations int
	seeds, pairs              int
	trees, bridges, cohorts   int
	factors, families         int
	draws, theirs             int
	seed                      uint64
	python                    string
}

func main() {
	b := &bench{out: os.Stdout}
	flag.IntVar(&b.simulations, "simulations", 1000, "simulations a line, of tests and intervals")
	flag.IntVar(&b.permutations, "permutations", 199, "permutations of every test")
	flag.IntVar(&b.seeds, "seeds", 200, "likelihoods a line, each of 100 bridges")
	flag.IntVar(&b.pairs, "pairs", 1000, "pairs of points a manifold, fewer where they take long")
	flag.IntVar(&b.trees, "trees", 200, "simulated trees, a multiple of 4")
	flag.IntVar(&b.bridges, "bridges", 200, "simulated bridges of 39 landmarks")
	flag.IntVar(&b.cohorts, "cohorts", 100, "simulated cohorts")
	flag.IntVar(&b.factors, "factors", 100, "simulated sets of rotations, and of points of the sphere")
	flag.IntVar(&b.families, "families", 40, "simulated families of surfaces")
	flag.IntVar(&b.draws, "draws", 280, "draws of each chain of the published posterior")
	flag.IntVar(&b.theirs, "theirs", 100, "draws of each chain of it that hyperiax makes")
	flag.Uint64Var(&b.seed, "seed", 1, "seed of everything")
	flag.StringVar(&b.python, "python", "", "a Python interpreter with geomstats, jaxgeometry or hyperiax")
	only := flag.String("only", "", "regular expression of the sections to run: densities, sizes, shapes, momenta, species, families, coverage, recovery, logarithms, counts, trees, bridges, cohorts, factors, atlases, placements, published")
	flag.Parse()
	wanted, err := b.check(*only)
	if err == nil {
		err = b.run(wanted)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "calibrate:", err)
		os.Exit(1)
	}
}

// check refuses numbers that make tables without a meaning, and returns the sections that are wanted.
func (b *bench) check(only string) ([]section, error) {
	for _, c := range []struct {
		name         string
		got, atLeast int
		why          string
	}{
		{"simulations", b.simulations, 2, ": one has no standard error"},
		{"permutations", b.permutations, 19, ": with fewer no p-value is 5 % or less"},
		{"seeds", b.seeds, 2, ": one has no standard error"},
		{"pairs", b.pairs, 1, ""},
		{"trees", b.trees, 4, ": there are four of them to simulate on"},
		{"bridges", b.bridges, 1, ""},
		{"cohorts", b.cohorts, 1, ""},
		{"factors", b.factors, 1, ""},
		{"families", b.families, 2, ": one has no standard error"},
		{"draws", b.draws, 1, ""},
		{"theirs", b.theirs, 1, ""},
	} {
		if c.got < c.atLeast {
			return nil, fmt.Errorf("-%s %d, want at least %d%s", c.name, c.got, c.atLeast, c.why)
		}
	}
	if b.trees%4 > 0 {
		return nil, fmt.Errorf("-trees %d, want a multiple of 4: as many on each of four trees", b.trees)
	}
	pattern, err := regexp.Compile(only)
	if err != nil {
		return nil, fmt.Errorf("-only: %w", err)
	}
	var wanted []section
	var names []string
	for _, s := range sections {
		if names = append(names, s.name); pattern.MatchString(s.name) {
			wanted = append(wanted, s)
		}
	}
	if wanted == nil {
		return nil, fmt.Errorf("-only %s matches none of the sections %s", only, strings.Join(names, ", "))
	}
	return wanted, nil
}

// run writes the sections. One that ends with an error says so, and the others follow.
func (b *bench) run(wanted []section) error {
	var failed []error
	for _, s := range wanted {
		begin := time.Now()
		fmt.Fprintf(b.out, "### %s\n\n", s.title)
		if err := try.Run(func() { s.run(b) }); err != nil {
			b.text("\n*It ended with an error*: %v", err)
			failed = append(failed, fmt.Errorf("%s: %w", s.name, err))
		}
		fmt.Fprintf(b.out, "\nThis section took %.0f s.\n\n", time.Since(begin).Seconds())
	}
	return errors.Join(failed...)
}

// tenth is how many simulations lines have that take long.
func (b *bench) tenth() int { return max(2, b.simulations/10) }

// text is a paragraph.
func (b *bench) text(format string, args ...any) { fmt.Fprintf(b.out, format+"\n\n", args...) }

// header begins a table, row adds a line.
func (b *bench) header(cells ...string) {
	fmt.Fprintf(b.out, "| %s |\n|%s\n", strings.Join(cells, " | "), strings.Repeat("---|", len(cells)))
}

func (b *bench) row(format string, cells ...any) { fmt.Fprintf(b.out, "| "+format+" |\n", cells...) }

// share is k of n in per cent with its standard error, for which there are one more and one less: none of n is not exactly none.
func share(k, n int) string {
	if n == 0 {
		return "–"
	}
	p := (float64(k) + 1) / (float64(n) + 2)
	return fmt.Sprintf("%.1f ± %.1f %%", 100*float64(k)/float64(n), 100*math.Sqrt(p*(1-p)/(float64(n)+2)))
}

// simulation draws number k of the simulations of a line, with random numbers of its own, and says whether its search converged.
type simulation[T any] func(k int, random *rand.Rand) (T, geom.Status)

// simulate returns what came of the simulations that converged, and how many were made: an error ends them.
func simulate[T any](b *bench, count int, draw simulation[T]) (converged []T, made int, failed error) {
	for k := range count {
		var one T
		var status geom.Status
		if err := try.Run(func() { one, status = draw(k, b.random(k)) }); err != nil {
			return converged, k, fmt.Errorf("simulation %d: %w", k, err)
		}
		if status == geom.Converged {
			converged = append(converged, one)
		}
	}
	return converged, count, nil
}
