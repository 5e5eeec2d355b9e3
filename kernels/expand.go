package kernels

import (
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/dsp/fourier"

	"anatomy/geom/engine"
	"anatomy/internal/lists"
	"anatomy/internal/pool"
	"anatomy/kernels/native"
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
		const far = 40 // extents: images reach no farther
		t := make([]float64, batch)
		for i := range t {
			t[i] = far * extent * math.Pow(float64(i)/(batch-1), 3) // kernels may be narrow
		}
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
		coefficient := fourier.NewDCT(half+1).Transform(nil, values)
		for m := range coefficient {
			if coefficient[m] /= float64(2 * half); m > 0 && m < half {
				coefficient[m] *= 2
			}
		}
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

// sampler evaluates a kernel K(x, 0) and its gradient on the host.
type sampler struct {
	d             int
	terms         []native.Term                  // of a kernel that is a sum of such, else nil
	profile       func(m int, s float64) float64 // derivative m of a radial kernel by s = Σ_a (x_a scale_a)²
	scale         []float64
	f             *engine.Func // of others
	top, steepest float64      // of a radial kernel, or of that of which this one is a part, else 0: errors are relative to these at least
	costs         costs        // of its sums, where one is to be chosen
}

// batch is the number of points in one call, so that only one shape is compiled.
const batch = 4096

func newSampler(k Kernel, d int) *sampler {
	if scale, terms, ok := describeTerms(k, d); ok {
		profile := func(m int, s float64) float64 { return valueOf(terms, m, s) }
		return &sampler{d: d, terms: terms, scale: scale, profile: profile, top: profile(0, 0), steepest: greatest(terms, 1)}
	}
	return &sampler{d: d, f: engine.Compile(func(x *Node) (*Node, *Node) {
		v := k.Gram(x, Zeros(x.Graph(), shapes.Make(x.DType(), 1, d)))
		return Squeeze(v, -1), Gradient(ReduceAllSum(v), x)[0]
	}, engine.Name("kernels.Expand"))}
}

// widths are those of a radial kernel along the axes.
func (s *sampler) widths() []float64 {
	out := make([]float64, s.d)
	for a, c := range s.scale {
		out[a] = 1 / c
	}
	return out
}

// sample is the kernel at the coordinates along each axis times their factors, added up in the cells, so many along each axis, of their
// owners, which ascend.
func (s *sampler) sample(coordinates, factors [][]float64, owner [][]int, dims []int) ([]float64, error) {
	n := 1
	for _, d := range dims {
		n *= d
	}
	values := make([]float64, n)
	if s.profile == nil {
		return values, tensor(coordinates, func(points [][]float64, at [][]int) error {
			v, _, err := s.values(points)
			for i := range v {
				f, to := 1.0, 0
				for a, j := range at[i] {
					f *= factors[a][j]
					to = to*dims[a] + owner[a][j]
				}
				values[to] += f * v[i]
			}
			return err
		})
	}
	var squares, factor [3][]float64
	var cell [3][]int
	stride := n
	for a := range squares {
		squares[a], factor[a], cell[a] = []float64{0}, []float64{1}, []int{0}
		if a >= s.d {
			continue
		}
		stride /= dims[a]
		factor[a], squares[a], cell[a] = factors[a], nil, nil
		for j, c := range coordinates[a] {
			squares[a], cell[a] = append(squares[a], c*s.scale[a]*c*s.scale[a]), append(cell[a], owner[a][j]*stride)
		}
	}
	inParts(dims[0], func(from, to int) {
		first, _ := slices.BinarySearch(owner[0], from)
		end, _ := slices.BinarySearch(owner[0], to)
		for i := first; i < end; i++ {
			for j := range squares[1] {
				square, f, at := squares[0][i]+squares[1][j], factor[0][i]*factor[1][j], cell[0][i]+cell[1][j]
				for l, more := range squares[2] {
					values[at+cell[2][l]] += f * factor[2][l] * s.profile(0, square+more)
				}
			}
		}
	})
	return values, nil
}

// each calls f with the squared distance of each point, from several goroutines.
func (s *sampler) each(x [][]float64, f func(i int, square float64)) {
	inParts(len(x), func(from, to int) {
		for i := from; i < to; i++ {
			square := 0.0
			for a, c := range x[i] {
				square += c * s.scale[a] * c * s.scale[a]
			}
			f(i, square)
		}
	})
}

func (s *sampler) values(x [][]float64) (v []float64, gradient [][]float64, err error) {
	if s.profile != nil {
		v, gradient = make([]float64, len(x)), make([][]float64, len(x))
		all := make([]float64, len(x)*s.d)
		s.each(x, func(i int, square float64) {
			v[i] = s.profile(0, square)
			slope := s.profile(1, square)
			gradient[i] = all[i*s.d : (i+1)*s.d]
			for a, c := range x[i] {
				gradient[i][a] = 2 * slope * c * s.scale[a] * s.scale[a]
			}
		})
		return v, gradient, nil
	}
	for from := 0; from < len(x); from += batch {
		n := min(batch, len(x)-from)
		in := append(append([][]float64{}, x[from:from+n]...), make([][]float64, batch-n)...)
		for i := n; i < batch; i++ {
			in[i] = x[from]
		}
		out, err := s.f.Call(in)
		if err != nil {
			return nil, nil, err
		}
		v, gradient = append(v, out.Vector(0)[:n]...), append(gradient, out.Matrix(1)[:n]...)
	}
	return v, gradient, nil
}

// reach is the distance along each axis beyond which the kernel stays below tolerance·K(0), and its slope below as much of the steepest.
func (s *sampler) reach(tolerance float64) ([]float64, error) {
	reach := make([]float64, s.d)
	for a := range reach {
		unit, err := s.unit(a)
		if err != nil {
			return nil, err
		}
		t, v, slope, err := s.scan(a, unit, 6)
		if err != nil {
			return nil, err
		}
		steepest := 0.0
		for _, g := range slope {
			steepest = math.Max(steepest, math.Abs(g))
		}
		last := len(v) - 1
		for ; last >= 0 && math.Abs(v[last]) <= tolerance*v[0] && math.Abs(slope[last]) <= tolerance*steepest; last-- {
		}
		if last < 0 || last == len(v)-1 {
			return nil, fmt.Errorf("kernels: a kernel that is above %g of K(0) at the distance %.3g along axis %d cannot be cut off", tolerance, t[batch-1], a)
		}
		reach[a] = t[last+1]
	}
	return reach, nil
}

// scan is the kernel with its slope along an axis at distances from 10^−decades to 10^decades of a unit.
func (s *sampler) scan(a int, unit, decades float64) (t, k, slope []float64, err error) {
	t = lists.Make(batch, func(i int) float64 { return unit * math.Pow(10, decades*(2*float64(i)/(batch-1)-1)) })
	k, slope, err = s.line(a, t)
	return t, k, slope, err
}

// unit is a width of the kernel along an axis: of one that is not radial, the distance within which it falls to a half.
func (s *sampler) unit(a int) (float64, error) {
	if s.profile != nil {
		return 1 / s.scale[a], nil
	}
	t, k, _, err := s.scan(a, 1, 100)
	for i, v := range k {
		if !(v > k[0]/2) {
			return t[i], err
		}
	}
	return 1, err
}

// tensor calls f with the points of a tensor grid and their indices, a batch at a time, which it may not keep.
func tensor(coordinates [][]float64, f func(points [][]float64, at [][]int) error) error {
	d := len(coordinates)
	points, at := make([][]float64, batch), make([][]int, batch)
	values, indices := make([]float64, batch*d), make([]int, batch*d)
	for i := range points {
		points[i], at[i] = values[i*d:(i+1)*d], indices[i*d:(i+1)*d]
	}
	index := make([]int, d)
	for n := 0; ; {
		for a, i := range index {
			points[n][a], at[n][a] = coordinates[a][i], i
		}
		n++
		a := d - 1
		for ; a >= 0; a-- {
			if index[a]++; index[a] < len(coordinates[a]) {
				break
			}
			index[a] = 0
		}
		if a < 0 {
			return f(points[:n], at[:n])
		}
		if n == batch {
			if err := f(points, at); err != nil {
				return err
			}
			n = 0
		}
	}
}

// cosines takes samples along axis a, at the half + 1 points L i/(2 half) of an even function of period L, to its coefficients of
// cos 2π kx/L, k ≤ m ≤ half.
func cosines(v []float64, dims []int, a, m int) []float64 {
	n := dims[a]
	if n == 1 {
		return v
	}
	inner := 1
	for _, d := range dims[a+1:] {
		inner *= d
	}
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
	inner, outer := 1, 1
	for b, d := range dims {
		if b < a {
			outer *= d
		} else if b > a {
			inner *= d
		}
	}
	n, m := dims[a], len(mat)
	out := make([]float64, outer*m*inner)
	by := blas64.General{Rows: m, Cols: n, Stride: n}
	for _, row := range mat {
		by.Data = append(by.Data, row...)
	}
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
