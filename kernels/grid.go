package kernels

import (
	"fmt"
	"math"
	"strings"
	"sync"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/engine"
	"anatomy/internal/lists"
	"anatomy/kernels/native"
)

// Gridded is an Expansion whose plane waves are summed by a fast Fourier transform between non-uniform points: weights
// are spread from the points to a grid with a bump φ of a few cells, the grid is convolved with the kernel, and the
// result is read off at the points with the same bump,
//
//	K(x, y) ≈ Σ_gh φ(x − g) C(g − h) φ(y − h).
//
// The cost is O(n + N log N) for a grid of N cells, whatever the number of waves; in C, where only rows that bumps cover are
// transformed, it is the least there is from a few thousand points on. Like the expansion it is its own symmetric kernel; the grid
// keeps translation invariance only to Error.
type Gridded struct {
	Expansion
	Cells []int // of the grid, along each axis

	bump   bump
	pieces [][]float64 // of it, see native.DescribeGrid
	bins   int         // cells of a bin along each axis
}

// Grid finds plane waves as Expand does, and a grid that sums them, with the tolerance for both.
func Grid(k Kernel, extent []float64, tolerance float64) (*Gridded, error) {
	if err := checkExpansion(extent, tolerance); err != nil {
		return nil, fmt.Errorf("kernels.Grid: %w", err)
	}
	if _, err := engine.Backend(); err != nil {
		return nil, err
	}
	s := newSampler(k, len(extent))
	s.costs = costsOf(s.terms, s.d)
	e := &Expansion{Kernel: k, Extent: extent}
	axes, err := s.axes(e, waveTolerance*tolerance)
	if err != nil {
		return nil, err
	}
	return s.grid(e, axes, gridPoints, tolerance)
}

// gridPoints is for how many points the grid of Grid is chosen.
const gridPoints = 1e5

// gridOf puts an expansion on the grid that costs least for sums over n points, of those that keep the tolerance.
func gridOf(e *Expansion, n, tolerance float64, c gridCosts) (*Gridded, error) {
	var g *Gridded
	along := spreadOf(e)
	for _, ratio := range ratios {
		for width := max(leastWidth, usualWidth(ratio, tolerance)-1); width <= native.MaxWidth; width++ {
			h := newGrid(e, width, ratio)
			if g != nil && h.seconds(n, c) >= g.seconds(n, c) {
				break
			}
			if h.Error += h.adds(along); h.Error <= tolerance {
				g = h
				break
			}
		}
	}
	if g == nil {
		return nil, fmt.Errorf("kernels.Grid: no bump of %d cells is as smooth as the tolerance %g asks: use Expand, tiles or a larger one", native.MaxWidth, tolerance)
	}
	if err := engine.Fits(fmt.Sprintf("kernels.Grid: %s over %.3g on a grid of %s cells", e.Kernel, e.Extent, by(g.Cells)), g.bytes()); err != nil {
		return nil, fmt.Errorf("%w: use tiles, a wider kernel or a larger tolerance", err)
	}
	// Folding the transform of the bump and of cosines into the coefficients leaves one product between the transforms.
	factors := make([][]float64, len(e.Modes))
	for a, m := range e.Modes {
		for j := range m + 1 {
			f := g.bump.transform(2 * math.Pi * float64(j) / float64(g.Cells[a]))
			if f = float64(g.Cells[a]) / (f * f); j > 0 {
				f /= 2
			}
			factors[a] = append(factors[a], f)
		}
	}
	g.core = make([]float64, len(e.core))
	last := factors[len(factors)-1]
	inParts(len(e.core)/len(last), func(from, to int) {
		for row := from; row < to; row++ {
			factor, rest := 1.0, row
			for a := len(factors) - 2; a >= 0; a-- {
				factor *= factors[a][rest%len(factors[a])]
				rest /= len(factors[a])
			}
			for i, f := range last {
				g.core[row*len(last)+i] = factor * f * e.core[row*len(last)+i]
			}
		}
	})
	g.pieces = g.bump.polynomials(tolerance)
	return g, nil
}

// bytes is what H takes over points that fill the extent: of each component the rows of the grid that bumps cover, and the waves that are
// kept after the transforms of two axes; on the graph the grid and all waves, twice.
func (k *Gridded) bytes() float64 {
	d := len(k.Cells)
	if !engine.HasNative(native.Grid, nil) {
		return 32 * float64(d) * k.cells()
	}
	grid, waves := 8*float64(d), 8*float64(d)
	for a, cells := range k.Cells {
		if a < d-1 {
			grid *= k.covered(a)
		} else {
			grid *= float64(cells)
		}
		if a > 0 || d < 3 {
			waves *= float64(2*k.Modes[a] + 1)
		} else {
			waves *= float64(cells)
		}
	}
	return grid + waves
}

// spreadOf is how the coefficients of an expansion are spread along each axis: the sums of those with each j.
func spreadOf(e *Expansion) [][]float64 {
	out := lists.Each(e.Modes, func(m int) []float64 { return make([]float64, m+1) })
	last := out[len(out)-1]
	for row := range len(e.core) / len(last) {
		sum, rest := 0.0, row
		for i, c := range e.core[row*len(last):][:len(last)] {
			c = math.Abs(c)
			sum += c
			last[i] += c
		}
		for a := len(out) - 2; a >= 0; a-- {
			out[a][rest%len(out[a])] += sum
			rest /= len(out[a])
		}
	}
	return out
}

// newGrid is an empty grid with about ratio times as many cells as an expansion has waves.
func newGrid(e *Expansion, width int, ratio float64) *Gridded {
	g := &Gridded{Expansion: *e, bump: newBump(width, ratio), bins: []int{64, 16, 8}[len(e.Modes)-1]}
	for a, m := range g.Modes {
		least := max(int(math.Ceil(ratio*float64(2*m+1))), 3*width)
		if g.Extent[a] > 0 { // bumps do not reach around the grid
			least = max(least, int(math.Ceil(float64(width+2)/(1-g.Extent[a]/g.Period[a]))))
		}
		g.Cells = append(g.Cells, goodLength(least, g.bins))
	}
	return g
}

// ratios are how many times as many cells as waves a grid may have.
var ratios = []float64{3, 2.5, 2, 1.6, 1.25}

// cheapestGrid is the empty grid that costs least for sums over n points of those that add about the tolerance, for the modes of an
// expansion, which needs no coefficients yet.
func (s *sampler) cheapestGrid(e *Expansion, n, tolerance float64) *Gridded {
	var best *Gridded
	for _, ratio := range ratios {
		if g := newGrid(e, usualWidth(ratio, tolerance), ratio); best == nil || g.seconds(n, s.costs.gridCosts) < best.seconds(n, s.costs.gridCosts) {
			best = g
		}
	}
	return best
}

// usualWidth is the least width of bumps that add at most the tolerance to waves along a line whose coefficients fall as a Gaussian,
// to the tolerance at the last one. It is about log(1/tolerance)/(π√(1 − 1/ratio)) and some more for the slope (Barnett, Magland, af
// Klinteberg, 2019).
func usualWidth(ratio, tolerance float64) int {
	if w, ok := usualWidths.Load([2]float64{ratio, tolerance}); ok {
		return w.(int)
	}
	const modes = 24
	e := &Expansion{Modes: []int{modes}}
	along := make([]float64, modes+1)
	for j := range along {
		t := float64(j) / modes
		along[j] = math.Exp(math.Log(tolerance) * t * t)
	}
	width := leastWidth
	for ; width < native.MaxWidth; width++ {
		g := &Gridded{Expansion: *e, Cells: []int{int(ratio * (2*modes + 1))}, bump: newBump(width, ratio)}
		if g.adds([][]float64{along}) <= tolerance {
			break
		}
	}
	usualWidths.Store([2]float64{ratio, tolerance}, width)
	return width
}

// leastWidth is that of bumps.
const leastWidth = 3

var usualWidths sync.Map // as they were found

// adds bounds the error of a grid relative to K(0), to the greatest slope, and to ten times the greatest curvature along an axis, if
// coefficients along different axes do not depend on each other. A wave of frequency ω cells⁻¹ is also spread and read as those of
// frequencies ω + 2πl, by the part of the bump's transform φ^ there.
func (k *Gridded) adds(along [][]float64) float64 {
	worst, values := 0.0, 0.0
	type sums struct{ slope, curvature, slopes, curvatures float64 }
	axes := make([]sums, len(along))
	for a, c := range along {
		total, value := 0.0, 0.0
		s := &axes[a]
		for j, c := range c {
			omega := 2 * math.Pi * float64(j) / float64(k.Cells[a])
			own := k.bump.transform(omega)
			for l := -2; l <= 2; l++ {
				if l == 0 {
					continue
				}
				other := omega + 2*math.Pi*float64(l)
				part := math.Abs(k.bump.transform(other)/own) * c
				value += 2 * part
				s.slope += part * (math.Abs(other) + omega)
				s.curvature += part * (other*other + omega*omega)
			}
			total += c
			s.slopes += c * omega
			s.curvatures += c * omega * omega
		}
		values += value / total
		s.slope, s.curvature, s.slopes, s.curvatures = s.slope/total, s.curvature/total, s.slopes/total, s.curvatures/total
	}
	worst = values
	for _, s := range axes {
		if s.curvatures == 0 { // one wave
			continue
		}
		// The greatest slope of a Gaussian is 0.6 times the root of its curvature.
		worst = math.Max(worst, (s.slope+s.slopes*values)/(0.6*math.Sqrt(s.curvatures)))
		worst = math.Max(worst, (s.curvature+s.curvatures*values)/(10*s.curvatures))
	}
	return worst
}

// seconds is what H costs over n points.
func (k *Gridded) seconds(n float64, c gridCosts) float64 {
	d := float64(len(k.Modes))
	covered, transformed := k.reached(), k.transformed()
	if !c.inC {
		covered, transformed = math.Pow(float64(k.patch()), d), k.cells()*math.Log2(k.cells())
	}
	return n*(c.bump+covered*c.cell) + d*transformed*c.fft
}

// reached is how many cells a bump covers.
func (k *Gridded) reached() float64 { return math.Pow(float64(k.bump.width), float64(len(k.Cells))) }

// transformed is the sum of n·log₂(n) over the lines of n cells that are transformed for a column: along the last axis the rows that
// bumps cover, along the others those of the waves that are kept.
func (k *Gridded) transformed() (work float64) {
	for a, cells := range k.Cells {
		lines := 1.0
		for b := range k.Cells {
			if b < a {
				lines *= k.covered(b)
			} else if b > a {
				lines *= float64(2*k.Modes[b] + 1)
			}
		}
		work += lines * float64(cells) * math.Log2(float64(cells))
	}
	return work
}

// Flops are the additions and multiplications of H, or of a sum alone, over n points that fill the extent, without what a bump itself
// takes: each column is spread to all cells of a bump and read from them, for H with a derivative, and goes through two transforms of
// real numbers.
func (k *Gridded) Flops(n int, forces bool) float64 {
	perCell := 4.0
	if forces {
		perCell = 6
	}
	return float64(len(k.Cells)) * (perCell*float64(n)*k.reached() + 5*k.transformed())
}

// covered is how many cells points that fill the extent cover along an axis, at least those of a bump.
func (k *Gridded) covered(axis int) float64 {
	return math.Max(float64(k.Cells[axis])*k.Extent[axis]/k.Period[axis], float64(k.bump.width))
}

// cells is the number of cells of the grid.
func (k *Gridded) cells() float64 {
	return float64(lists.Product(k.Cells...))
}

func (k *Gridded) String() string {
	return fmt.Sprintf("%s on a grid of %s cells, error %.1g", k.Kernel, by(k.Cells), k.Error)
}

// by writes the numbers 32 and 16 as 32 × 16.
func by(n []int) string {
	return strings.Join(strings.Fields(strings.Trim(fmt.Sprint(n), "[]")), " × ")
}

// goodLength is the least length from n on that is a multiple of a bin and has no prime factor above 5.
func goodLength(n, bin int) int {
	for n = (n + bin - 1) / bin; ; n++ {
		rest := n
		for _, p := range []int{2, 3, 5} {
			for rest%p == 0 {
				rest /= p
			}
		}
		if rest == 1 {
			return n * bin
		}
	}
}

// Sum spreads b from y and reads off at x.
func (k *Gridded) Sum(x, y, b *Node) *Node { return k.sums(x, y, b).Sum(x, y, b) }

// Hamilton has the convolved grid G of p, the velocities φ(x_i)·G and the forces −Σ_c p_ic ∇φ(x_i)·G_c.
func (k *Gridded) Hamilton(x, p *Node) (dx, dp *Node) { return k.sums(x, x, p).Hamilton(x, p) }

func (k *Gridded) sums(x, y, b *Node) sums {
	if !inC(native.Grid, x, y, b) || x.Shape().Dim(-1) != len(k.Cells) {
		return written{k}
	}
	axes := lists.Make(len(k.Cells), func(a int) native.GridAxis {
		return native.GridAxis{Cells: k.Cells[a], Modes: k.Modes[a], PerLength: float64(k.Cells[a]) / k.Period[a]}
	})
	return pairwise{k, native.Grid, native.DescribeGrid(axes, k.pieces, k.core)}
}
