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
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"anatomy/geom"
	"anatomy/geom/geomtest"
	"anatomy/geom/try"
	"anatomy/internal/lists"
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

// number is a flag.
type number struct {
	to           *int
	name         string
	usual, least int
	what, why    string // why no less
}

func (b *bench) numbers() []number {
	return []number{
		{&b.simulations, "simulations", 1000, 2, "simulations a line, of tests and intervals", ": one has no standard error"},
		{&b.permutations, "permutations", 199, 19, "permutations of every test", ": with fewer no p-value is 5 % or less"},
		{&b.seeds, "seeds", 200, 2, "likelihoods a line, each of 100 bridges", ": one has no standard error"},
		{&b.pairs, "pairs", 1000, 1, "pairs of points a manifold, fewer where they take long", ""},
		{&b.trees, "trees", 200, 4, "simulated trees, a multiple of 4", ": there are four of them to simulate on"},
		{&b.bridges, "bridges", 200, 1, "simulated bridges of 39 landmarks", ""},
		{&b.cohorts, "cohorts", 100, 1, "simulated cohorts", ""},
		{&b.factors, "factors", 100, 1, "simulated sets of rotations, and of points of the sphere", ""},
		{&b.families, "families", 40, 2, "simulated families of surfaces", ": one has no standard error"},
		{&b.draws, "draws", 280, 1, "draws of each chain of the published posterior", ""},
		{&b.theirs, "theirs", 100, 1, "draws of each chain of it that hyperiax makes", ""},
	}
}

func main() {
	b := &bench{out: os.Stdout}
	for _, n := range b.numbers() {
		flag.IntVar(n.to, n.name, n.usual, n.what)
	}
	flag.Uint64Var(&b.seed, "seed", 1, "seed of everything")
	flag.StringVar(&b.python, "python", "", "a Python interpreter with geomstats, jaxgeometry or hyperiax")
	only := flag.String("only", "", "regular expression of the sections to run: "+strings.Join(names(), ", "))
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

// names are those of the sections.
func names() []string { return lists.Each(sections, func(s section) string { return s.name }) }

// check refuses numbers that make tables without a meaning, and returns the sections that are wanted.
func (b *bench) check(only string) ([]section, error) {
	for _, n := range b.numbers() {
		if *n.to < n.least {
			return nil, fmt.Errorf("-%s %d, want at least %d%s", n.name, *n.to, n.least, n.why)
		}
	}
	if b.trees%4 > 0 {
		return nil, fmt.Errorf("-trees %d, want a multiple of 4: as many on each of four trees", b.trees)
	}
	pattern, err := regexp.Compile(only)
	if err != nil {
		return nil, fmt.Errorf("-only: %w", err)
	}
	wanted := slices.DeleteFunc(slices.Clone(sections), func(s section) bool { return !pattern.MatchString(s.name) })
	if len(wanted) == 0 {
		return nil, fmt.Errorf("-only %s matches none of the sections %s", only, strings.Join(names(), ", "))
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

// counted are the tests that draw fewer samples where they are run for every change.
const counted = "TestCalibration|TestMostProbablePathsToCallosa|TestMostProbablePathsToAnatomy|TestBridgeLikelihoodOnSphere|TestWindings|TestBrownianOnNonUnimodularGroup|TestGrowthRecovers|TestFactors"

var verdict = regexp.MustCompile(`^--- (\w+): (\w+) \(([\d.]+)s\)`)

// counts repeats tests with all of their samples. What they say of themselves stands in the table, and a failure is a row like others.
func counts(b *bench) {
	b.text("These tests take part of their samples in every run of the tests, and all of them here.")
	b.header("test", "result", "seconds", "message")
	c := exec.Command("go", "test", "-count=1", "-v", "-timeout=2h", "-run", "^("+counted+")$", "./geom/stochastic", "./geom/framebundle", "./geom/lie", "./geom/stats", "./geom/guided")
	c.Env = append(os.Environ(), geomtest.Full+"=1")
	out, failed := c.Output()
	if exit := (*exec.ExitError)(nil); failed != nil && !errors.As(failed, &exit) {
		try.Do(failed)
	}
	var says []string
	rows := 0
	for s := bufio.NewScanner(strings.NewReader(string(out))); s.Scan(); {
		line := s.Text()
		if m := verdict.FindStringSubmatch(line); m != nil {
			b.row("%s | %s | %s | %s", m[2], strings.ToLower(m[1]), m[3], strings.Join(says, "; "))
			says, rows = nil, rows+1
		} else if _, said, ok := strings.Cut(line, "_test.go:"); ok {
			_, said, _ = strings.Cut(said, ": ")
			says = append(says, said)
		}
	}
	if want := strings.Count(counted, "|") + 1; rows != want {
		try.Do(fmt.Errorf("%d of %d tests ran (%v)\n%s", rows, want, failed, out))
	}
}
