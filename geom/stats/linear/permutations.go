package linear

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"gonum.org/v1/gonum/stat"

	"anatomy/geom/watch"
	"anatomy/internal/lists"
	"anatomy/internal/pool"
)

// Permutations are the random draws of a test: N of them, 999 are customary. Equal seeds give equal draws. Where there are no more than N ways to exchange the rows,
// each of them is drawn once, and p-values are exact.
type Permutations struct {
	N    int
	Seed uint64
	Task *watch.Task // reports the draws and stops them; nil for a task of its own. On a geom.Space the test has that of the space.
}

// mostDraws of a test tell p to four digits.
const mostDraws = 10_000_000

// Exchange is what is exchangeable under the null hypothesis.
type Exchange int

const (
	Order         Exchange = iota // the order of rows
	Signs                         // the signs of rows
	OrderAndSigns                 // both
)

// Draw is one random draw: row i becomes Sign[i] times row Order[i]. It is overwritten by the next one.
type Draw struct {
	Order  []int
	Sign   []float64
	Random *rand.Rand // for statistics that draw something else besides
}

// newDraw returns the draw that leaves n rows as they are.
func newDraw(n int) *Draw {
	return &Draw{Order: lists.Range(n), Sign: slices.Repeat([]float64{1}, n)}
}

func (d *Draw) next(what Exchange) {
	if what != Signs {
		for i := range d.Order {
			d.Order[i] = i
		}
		d.Random.Shuffle(len(d.Order), func(i, j int) { d.Order[i], d.Order[j] = d.Order[j], d.Order[i] })
	}
	if what != Order {
		for i := range d.Sign {
			d.Sign[i] = float64(1 - 2*d.Random.IntN(2))
		}
	}
}

// ways counts the ways to exchange n rows other than to leave them as they are, if there are no more than most; else it is 0.
func ways(n int, what Exchange, most int) int {
	count := 1
	for i := 1; i <= n && count <= most+1; i++ {
		if what != Signs {
			count *= i
		}
		if what != Order {
			count *= 2
		}
	}
	if count > most+1 {
		return 0
	}
	return count - 1
}

// way sets the k-th way to exchange the rows; 0 leaves them as they are.
func (d *Draw) way(k int, what Exchange) {
	left := lists.Range(len(d.Order))
	for i := range d.Order {
		if what != Order {
			d.Sign[i], k = float64(1-2*(k%2)), k/2
		}
		if what != Signs {
			pick := k % len(left)
			k /= len(left)
			d.Order[i] = left[pick]
			left = slices.Delete(left, pick, pick+1)
		}
	}
}

// Test is the result of a permutation test.
type Test struct {
	P            float64 // (1 + #{permuted ≥ observed})/(1 + Permutations), 1 before the first draw; NaN where the observed number is
	Permutations int     // how many draws were made and count
}

// StandardError is the Monte Carlo standard error of P, √(P(1 − P)/(1 + Permutations)).
func (t Test) StandardError() float64 { return math.Sqrt(t.P * (1 - t.P) / float64(1+t.Permutations)) }

// String is the p-value with its standard error.
func (t Test) String() string {
	return fmt.Sprintf("p %.3g ± %.1g of %d permutations", t.P, t.StandardError(), t.Permutations)
}

// tie is the share of an observed number by which an equal one may be smaller.
const tie = 1e-9

// statistic returns numbers of a draw, or nil for a draw that does not count.
type statistic = func(d *Draw) ([]float64, error)

// Test compares observed numbers with those of random draws of n rows: permuted returns them for a draw, in the same order, or nil for a draw
// that does not count. See the rules in the comment of the package. It returns a Test for each number, or the first error of permuted. A draw
// during which the task was stopped does not count.
func (p Permutations) Test(name string, n int, what Exchange, observed []float64, permuted func(d *Draw) ([]float64, error)) ([]Test, error) {
	return p.test(name, n, what, observed, 1, func() statistic { return permuted }, nil)
}

// OnCores is Test on all cores: permuted returns a function for each, which does not draw from Draw.Random. seen, if it is not nil, gets the
// numbers of the draws that count in their order.
func (p Permutations) OnCores(name string, n int, what Exchange, observed []float64, permuted func() statistic, seen func(values []float64)) ([]Test, error) {
	return p.test(name, n, what, observed, runtime.GOMAXPROCS(0), permuted, seen)
}

func (p Permutations) test(name string, n int, what Exchange, observed []float64, cores int, permuted func() statistic, seen func(values []float64)) ([]Test, error) {
	if err := p.check(n, cores, permuted); err != nil {
		return nil, err
	}
	task := p.Task
	if task == nil {
		task = watch.Begin(name, nil, nil)
		defer task.End()
	}
	random := rand.New(rand.NewPCG(p.Seed, 0))
	on := lists.Make(cores, func(_ int) statistic { return permuted() })
	batch := make([]result, 1)
	if cores > 1 {
		batch = make([]result, 8*cores) // which are drawn one after the other
	}
	for i := range batch {
		batch[i].Draw = newDraw(n)
		batch[i].Random = random
	}
	t := &tally{observed: observed, extreme: make([]int, len(observed)), seen: seen}
	all := ways(n, what, p.N)
	draws := cmp.Or(all, p.N)
	for k := 0; k < draws && len(observed) > 0; k += len(batch) {
		batch = batch[:min(len(batch), draws-k)]
		for i := range batch {
			if task.Report(watch.Progress{Iteration: k + i, Total: draws, Objective: observed[0]}) {
				break
			}
			if all > 0 {
				batch[i].way(k+i+1, what)
			} else {
				batch[i].next(what)
			}
		}
		if task.Stopped() {
			break
		}
		pool.Do(len(on), len(batch), func(c, i int) error {
			values, err := on[c](batch[i].Draw)
			batch[i].values, batch[i].err = slices.Clone(values), err
			return nil
		})
		if task.Stopped() {
			break
		}
		for i, r := range batch {
			if r.err != nil {
				return nil, fmt.Errorf("permutation %d: %w", k+i, r.err)
			}
			t.add(r.values)
		}
	}
	return t.tests(), nil
}

// check refuses numbers of permutations: none, and so many that a test would not end.
func (p Permutations) check(n, cores int, permuted func() statistic) error {
	if p.N < 1 {
		return fmt.Errorf("%d permutations, want at least 1", p.N)
	}
	if p.N <= mostDraws {
		return nil
	}
	one := newDraw(n)
	one.Random = rand.New(rand.NewPCG(p.Seed, 0))
	began := time.Now()
	if _, err := permuted()(one); err != nil {
		return err
	}
	hours := time.Since(began).Hours() * float64(p.N) / float64(cores)
	return fmt.Errorf("%d permutations would take about %.2g hours, and %d is the most: 999 are customary", p.N, hours, mostDraws)
}

// result is a draw with its numbers.
type result struct {
	*Draw
	values []float64
	err    error
}

// tally counts draws, and how many have numbers that are at least the observed ones.
type tally struct {
	observed []float64
	extreme  []int
	drawn    int
	seen     func(values []float64)
}

func (t *tally) add(values []float64) {
	if values == nil {
		return
	}
	if t.drawn++; t.seen != nil {
		t.seen(values)
	}
	for j, v := range values {
		if o := t.observed[j]; math.IsNaN(v) || v >= o || v >= o-tie*math.Abs(o) {
			t.extreme[j]++
		}
	}
}

func (t *tally) tests() []Test {
	out := make([]Test, len(t.observed))
	for i, o := range t.observed {
		out[i] = Test{float64(1+t.extreme[i]) / float64(1+t.drawn), t.drawn}
		if math.IsNaN(o) {
			out[i].P = math.NaN()
		}
	}
	return out
}

// Effect is an observed number beside those of random draws, on a scale on which these are about normal: a logarithm, or a power. Its size is comparable between samples of other numbers and other dimensions.
type Effect struct {
	Observed        float64
	Mean, Deviation float64 // of the draws, the data as they are being one of them
}

// NewEffect is the effect by the observed number and those of the draws, which follow it.
func NewEffect(numbers []float64) Effect {
	mean, deviation := stat.MeanStdDev(numbers, nil)
	return Effect{numbers[0], mean, deviation}
}

// Z is the effect size, by how many standard deviations the observed number is above the mean of the draws. It is NaN where a draw is infinite, or there are
// fewer than two, or all are the same but for rounding.
func (e Effect) Z() float64 {
	if z := (e.Observed - e.Mean) / e.Deviation; e.Deviation > 1e-13*math.Abs(e.Mean) && !math.IsInf(z, 0) {
		return z
	}
	return math.NaN()
}

// Ratio compares the variances, or the rates of evolution, of two groups.
type Ratio struct {
	A, B  string
	Ratio float64 // that of A divided by that of B
	P     float64 // the p-value of |log Ratio|
}

// Ratios are all pairs of groups. Each p-value is that of one comparison: for an error of 5 % in all k of them ask for 5 %/k of
// each (Bonferroni).
type Ratios []Ratio

// Add tests a ratio of two groups and appends it: permuted returns a function for each core that returns it for a draw of n rows.
func (r *Ratios) Add(name string, p Permutations, a, b string, ratio float64, n int, what Exchange, permuted func() func(d *Draw) float64) error {
	size := func(ratio float64) []float64 { return []float64{math.Abs(math.Log(ratio))} }
	tests, err := p.OnCores(name, n, what, size(ratio), func() statistic {
		of := permuted()
		return func(d *Draw) ([]float64, error) { return size(of(d)), nil }
	}, nil)
	if err == nil {
		*r = append(*r, Ratio{a, b, ratio, tests[0].P})
	}
	return err
}

// Under returns the table of the ratios, if there are any, under that of the groups.
func (r Ratios) Under(groups string) string {
	if len(r) == 0 {
		return groups
	}
	return groups + "\n" + r.String()
}

// String is a table with a row per pair.
func (r Ratios) String() string {
	lines := []string{"\tratio\tp"}
	for _, pair := range r {
		lines = append(lines, fmt.Sprintf("%s : %s\t%.4g\t%.3g", pair.A, pair.B, pair.Ratio, pair.P))
	}
	return Table(lines)
}

// Table aligns the cells of lines, which tabs separate, to the right.
func Table(lines []string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, line := range lines {
		fmt.Fprintln(w, line+"\t")
	}
	w.Flush()
	aligned := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	for i, line := range aligned {
		aligned[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(aligned, "\n")
}
