package kernels

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/dsp/fourier"

	"anatomy/internal/lists"
	"anatomy/internal/pool"
)

// maxModes bounds the core of an expansion: 2m + 1 waves along each of the axes give at most this many of them.
const maxModes = 1 << 25

// Expand approximates a kernel by plane waves, between points whose coordinates differ by at most extent along each axis.
// The tolerance is that of the kernel relative to K(0), and of its gradient relative to the largest gradient. Kernels with
// a kink at 0 (Laplace of order 0 and 1) take too many waves for small tolerances, and so do kernels much narrower than
// the extent: the error says how many.
func Expand(k Kernel, extent []float64, tolerance float64) (*Expansion, error) {
	if err := checkExpansion(extent, tolerance); err != nil {
		return nil, fmt.Errorf("kernels.Expand: %w", err)
	}
	s := newSampler(k, len(extent))
	e := &Expansion{Kernel: k, Extent: extent}
	axes, err := s.axes(e, tolerance)
	if err != nil {
		return nil, err
	}
	if err := s.fit(e, axes, tolerance); err != nil {
		return nil, err
	}
	return e, nil
}

func checkExpansion(extent []float64, tolerance float64) error {
	if d := len(extent); d < 1 || d > 3 {
		return fmt.Errorf("extent %v of %d axes, want 1 to 3", extent, d)
	}
	for a, e := range extent {
		if !(e >= 0) || math.IsInf(e, 1) {
			return fmt.Errorf("extent %g along axis %d, want a finite number ≥ 0", e, a)
		}
	}
	return checkTolerance(tolerance)
}

func checkTolerance(tolerance float64) error {
	if !(tolerance >= 1e-13 && tolerance < 1) {
		return fmt.Errorf("tolerance %g, want 1e-13 to 1", tolerance)
	}
	return nil
}

// fit computes the coefficients of an expansion, and adds modes until it meets the tolerance.
func (s *sampler) fit(e *Expansion, axes []axis, tolerance float64) (err error) {
	// The analysis along the axes bounds the error of kernels with positive coefficients; others may want a few more.
	for try := 0; ; try++ {
		if n := e.rank(); n > maxModes {
			return fmt.Errorf("kernels.Expand: %s over %.3g to %g takes %v plane waves, %.3g in all: use tiles, a wider kernel or a larger tolerance", e.Kernel, e.Extent, tolerance, e.sizes(), n)
		}
		if err := s.core(e, axes, tolerance/10); err != nil {
			return err
		}
		if e.Error, err = s.error(e, axes); err != nil {
			return err
		}
		if e.Error <= tolerance {
			return nil
		}
		if try == 8 {
			return fmt.Errorf("kernels.Expand: %s over %.3g still has the error %.2g with %v plane waves: use tiles or a larger tolerance than %g", e.Kernel, e.Extent, e.Error, e.sizes(), tolerance)
		}
		for a := range e.Modes {
			if e.Extent[a] > 0 {
				e.Modes[a] += 1 + e.Modes[a]/8
			}
		}
	}
}

// rank is the number M of basis functions, which may be larger than any integer.
func (k *Expansion) rank() float64 {
	n := 1.0
	for _, s := range k.sizes() {
		n *= float64(s)
	}
	return n
}

// axis is how a kernel is made periodic along one axis: by a sum over its images up to the distance reach; or, where it
// does not decay, by a window that is 1 up to the extent and 0 at half the period.
type axis struct {
	extent, period, reach float64
	window                bool
	taper                 float64 // what the window leaves out at its ends
	steepest              float64 // slope of the kernel along the axis, of a radial one at any distance
}

// samples returns coordinates and factors whose sum over K(coordinate)·factor is the periodic kernel at t.
func (a axis) samples(t float64) (coordinates, factors []float64) {
	if a.period == 0 {
		return []float64{0}, []float64{1}
	}
	if a.window {
		// erfc falls from 2 to 0; its own steps at the ends of the window stay below the tolerance.
		width := math.Sqrt(-math.Log(a.taper))
		u := (t - a.extent) / (a.period/2 - a.extent)
		return []float64{t}, []float64{math.Erfc(width*(2*u-1)) / 2}
	}
	for m := math.Ceil((-a.reach - t) / a.period); m <= math.Floor((a.reach-t)/a.period); m++ {
		coordinates, factors = append(coordinates, t+m*a.period), append(factors, 1)
	}
	return coordinates, factors
}

// grid has the samples of the points period·i/(2 half), i ≤ half, and says which i each is of.
func (a axis) grid(half int) (coordinates, factors []float64, owner []int) {
	for i := range half + 1 {
		x, f := a.samples(a.period * float64(i) / float64(2*max(half, 1)))
		for j := range x {
			coordinates, factors, owner = append(coordinates, x[j]), append(factors, f[j]), append(owner, i)
		}
	}
	return coordinates, factors, owner
}

// axes finds periods and modes for every axis from the kernel along that axis.
func (s *sampler) axes(e *Expansion, tolerance float64) ([]axis, error) {
	out := make([]axis, s.d)
	e.Period, e.Modes = make([]float64, s.d), make([]int, s.d)
	for a, extent := range e.Extent {
		e.Period[a] = 1
		if extent == 0 {
			continue
		}
		if s.profile != nil { // waves as short as a thin layer would have to cancel: its slopes are to be those of the kernel
			extent = math.Max(extent, 1/s.scale[a])
		}
		const far = 40                                                                                          // extents: images reach no farther
		t := lists.Make(batch, func(i int) float64 { return far * extent * math.Pow(float64(i)/(batch-1), 3) }) // kernels may be narrow
		v, slope, err := s.line(a, t)
		if err != nil {
			return nil, err
		}
		steepest, reach, images, beyond := 0.0, 0.0, 0.0, 0.0
		if s.profile != nil {
			steepest = s.steepest * s.scale[a]
		}
		top := math.Max(v[0], s.top)
		for i := range t {
			if t[i] <= extent {
				steepest = math.Max(steepest, math.Abs(slope[i]))
			}
			if t[i] >= extent {
				beyond = math.Max(beyond, math.Abs(v[i]))
			}
			if math.Abs(v[i]) > tolerance/4*top || math.Abs(slope[i]) > tolerance/4*steepest {
				reach = t[min(i+1, batch-1)]
			}
			if math.Abs(v[i]) > 1e-4*tolerance*top {
				images = t[min(i+1, batch-1)]
			}
		}
		var candidates []axis
		if math.Abs(v[batch-1]) <= 1e-4*tolerance*top { // else the images that are left out would make steps
			candidates = append(candidates, axis{extent: extent, period: extent + reach, reach: images})
		}
		if candidates == nil || reach > extent {
			taper := math.Min(0.1, 1e-4*tolerance*top/beyond)
			for _, w := range []float64{1.1, 1.2, 1.3, 1.6, 2, 3} {
				candidates = append(candidates, axis{extent: extent, period: 2 * w * extent, window: true, taper: taper})
			}
		}
		best := -1
		for _, c := range candidates {
			m, err := s.modes(a, c, s.top, steepest, tolerance/float64(2*s.d))
			if err != nil {
				return nil, err
			}
			if best < 0 || m < best {
				best, out[a] = m, c
			}
		}
		out[a].steepest = steepest
		e.Modes[a], e.Period[a] = best, out[a].period
	}
	return out, nil
}

// line is the kernel and its slope along an axis.
func (s *sampler) line(a int, t []float64) (k, slope []float64, err error) {
	x := make([][]float64, len(t))
	for i := range t {
		x[i] = make([]float64, s.d)
		x[i][a] = t[i]
	}
	k, g, err := s.values(x)
	for _, row := range g {
		slope = append(slope, row[a])
	}
	return k, slope, err
}

// modes returns how many waves along axis a, as it is made periodic, leave out at most tolerance of the kernel, or of top, and of its
// slope.
func (s *sampler) modes(a int, periodic axis, top, steepest, tolerance float64) (int, error) {
	for half := 64; ; half *= 2 {
		x, f, owner := periodic.grid(half)
		k, _, err := s.line(a, x)
		if err != nil {
			return 0, err
		}
		values := make([]float64, half+1)
		for j := range k {
			values[owner[j]] += k[j] * f[j]
		}
		w := 2 * math.Pi / periodic.period
		coefficient := cosines(values, []int{half + 1}, 0, half)
		tail, m := 0.0, half
		for ; m > 0; m-- {
			if c := math.Abs(coefficient[m]); c > 1e-16*values[0] { // the rest is rounding
				tail += c * math.Max(1/math.Max(values[0], top), float64(m)*w/steepest)
			}
			if tail > tolerance {
				break
			}
		}
		if m < half*3/4 || half >= 1024 {
			return m, nil
		}
	}
}

// core computes the coefficients c_k, to the tolerance.
func (s *sampler) core(e *Expansion, axes []axis, tolerance float64) error {
	if gaussians, ok := mixture(s.terms, tolerance); ok {
		e.core = s.mixtureCore(e, axes, gaussians)
		return nil
	}
	if core, ok := s.radialCore(e, axes); ok {
		e.core = core
		return nil
	}
	return s.sampledCore(e, axes)
}

// sampledCore computes the coefficients from samples of the periodic kernel.
func (s *sampler) sampledCore(e *Expansion, axes []axis) error {
	dims := make([]int, s.d)
	coordinates, factors, owner := make([][]float64, s.d), make([][]float64, s.d), make([][]int, s.d)
	for a, m := range e.Modes {
		half := 0
		if e.Extent[a] > 0 {
			half = goodLength(m+m/4+4, 1) // what is aliased lies beyond 3/2 m
		}
		dims[a] = half + 1
		coordinates[a], factors[a], owner[a] = axes[a].grid(half)
	}
	values, err := s.sample(coordinates, factors, owner, dims)
	if err != nil {
		return err
	}
	for a, m := range e.Modes {
		values = cosines(values, dims, a, m)
		dims[a] = m + 1
	}
	e.core = values
	return nil
}

// error is the greatest error of an expansion on a grid of differences that is finer near 0 and near the extent.
func (s *sampler) error(e *Expansion, axes []axis) (float64, error) {
	perAxis := []int{2048, 72, 16}[s.d-1]
	coordinates := make([][]float64, s.d)
	dims := make([]int, s.d)
	for a, extent := range e.Extent {
		for i := range perAxis {
			if extent > 0 || i == 0 {
				coordinates[a] = append(coordinates[a], extent*(1-math.Cos(math.Pi*float64(i)/float64(perAxis-1)))/2)
			}
		}
		dims[a] = len(coordinates[a])
	}
	// Derivative by axis a, or none for a = −1, of the expansion on the grid.
	expanded := func(by int) []float64 {
		v, shape := e.core, e.coreDims()
		for a, m := range e.Modes {
			w := 2 * math.Pi / e.Period[a]
			mat := make([][]float64, dims[a])
			for i, t := range coordinates[a] {
				mat[i] = make([]float64, m+1)
				for k := range mat[i] {
					kw := w * float64(k)
					if mat[i][k] = math.Cos(kw * t); a == by {
						mat[i][k] = -kw * math.Sin(kw*t)
					}
				}
			}
			v = apply(v, shape, a, mat)
			shape[a] = dims[a]
		}
		return v
	}
	got := lists.Make(s.d+1, func(a int) []float64 { return expanded(a - 1) })
	var worst, worstSlope float64
	top, steepest := s.top, 0.0
	for _, axis := range axes { // this grid may be too coarse to see it
		steepest = math.Max(steepest, axis.steepest)
	}
	err := tensor(coordinates, func(points [][]float64, at [][]int) error {
		v, g, err := s.values(points)
		for i, c := range at {
			from := 0
			for a, j := range c {
				from = from*dims[a] + j
			}
			top = math.Max(top, math.Abs(v[i]))
			worst = math.Max(worst, math.Abs(v[i]-got[0][from]))
			for a := range c {
				if dims[a] > 1 {
					steepest = math.Max(steepest, math.Abs(g[i][a]))
					worstSlope = math.Max(worstSlope, math.Abs(g[i][a]-got[a+1][from]))
				}
			}
		}
		return err
	})
	if steepest > 0 {
		worstSlope /= steepest
	}
	return math.Max(worst/top, worstSlope), err
}

// cosines takes samples along axis a, at the half + 1 points L i/(2 half) of an even function of period L, to its coefficients of
// cos 2π kx/L, k ≤ m ≤ half.
func cosines(v []float64, dims []int, a, m int) []float64 {
	n := dims[a]
	if n == 1 {
		return v
	}
	inner := lists.Product(dims[a+1:]...)
	lines := len(v) / n
	out := make([]float64, lines*(m+1))
	inParts(lines, func(from, to int) {
		transform, line := fourier.NewDCT(n), make([]float64, n)
		for l := from; l < to; l++ {
			o, i := l/inner, l%inner
			for j := range line {
				line[j] = v[(o*n+j)*inner+i]
			}
			transform.Transform(line, line)
			for k := range m + 1 {
				c := line[k] / float64(n-1)
				if k == 0 || k == n-1 {
					c /= 2
				}
				out[(o*(m+1)+k)*inner+i] = c
			}
		}
	})
	return out
}

// inParts divides n tasks among the cores.
func inParts(n int, f func(from, to int)) {
	parts := pool.Cores()
	pool.Do(parts, parts, func(_, k int) error {
		f(n*k/parts, n*(k+1)/parts)
		return nil
	})
}

// apply multiplies axis a of a tensor with a matrix.
func apply(v []float64, dims []int, a int, mat [][]float64) []float64 {
	outer, inner := lists.Product(dims[:a]...), lists.Product(dims[a+1:]...)
	n, m := dims[a], len(mat)
	out := make([]float64, outer*m*inner)
	by := blas64.General{Rows: m, Cols: n, Stride: n, Data: slices.Concat(mat...)}
	if inner == 1 {
		blas64.Gemm(blas.NoTrans, blas.Trans, 1, blas64.General{Rows: outer, Cols: n, Stride: n, Data: v}, by, 0, blas64.General{Rows: outer, Cols: m, Stride: m, Data: out})
		return out
	}
	for o := range outer {
		from := blas64.General{Rows: n, Cols: inner, Stride: inner, Data: v[o*n*inner:]}
		blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, by, from, 0, blas64.General{Rows: m, Cols: inner, Stride: inner, Data: out[o*m*inner:]})
	}
	return out
}
