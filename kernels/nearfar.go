package kernels

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mat"

	"anatomy/internal/lists"
	"anatomy/kernels/native"
)

// levels is a radial kernel as a sum of parts: for kernels with a kink or a long tail, which take too many plane waves alone and cannot
// be cut off. With s the squared distance in units of the widths, radii r_1 < r_2 and polynomials P_i,
//
//	F_i = P_i(s) for s < r_i², else k(s);   k = (k − F_1) + F_1,  (k − F_2) + F_2  or  (k − F_1) + (F_1 − F_2) + F_2.
//
// P_i meets k and its first two derivatives at r_i; what is left free of it leaves least of F_i's Fourier transform beyond as low a
// frequency as the tolerance allows. So F_i takes about as few waves as a function that is free within r_i can. The near part k − F_1
// is summed over pairs of points; it is smooth in the distance, so that a polynomial of it, of ten terms or so, replaces it to a tenth
// of the tolerance. The others are on grids. One that ends at r_2 needs a fine grid, which need not have room for the tail of the
// kernel; the tail is on a coarse one.
type levels struct {
	Kernel // its Gram is exact
	parts  []Kernel
}

func (k levels) String() string {
	parts := lists.Each(k.parts, func(p Kernel) string { return strings.TrimPrefix(p.String(), k.Kernel.String()+" on ") })
	return fmt.Sprintf("%s as %s", k.Kernel, strings.Join(parts, " + "))
}

func (k levels) Sum(x, y, b *Node) *Node {
	v := k.parts[0].Sum(x, y, b)
	for _, p := range k.parts[1:] {
		v = Add(v, p.Sum(x, y, b))
	}
	return v
}

func (k levels) Hamilton(x, p *Node) (dx, dp *Node) {
	dx, dp = k.parts[0].Hamilton(x, p)
	for _, part := range k.parts[1:] {
		v, f := part.Hamilton(x, p)
		dx, dp = Add(dx, v), Add(dp, f)
	}
	return dx, dp
}

// Fits says whether the grids hold for points.
func (k levels) Fits(points [][]float64) error {
	return k.parts[len(k.parts)-1].(*Gridded).Fits(points)
}

// valueOf is derivative m of a sum of terms.
func valueOf(terms []native.Term, m int, s float64) float64 {
	v := 0.0
	for _, t := range terms {
		v += t.At(m, s)
	}
	return v
}

// inLevels makes the parts of a kernel that is split by these polynomials, for sums over n points. The first polynomial may have the
// edge 0, and then there is no near part.
func (s *sampler) inLevels(within []inside, k Kernel, extent []float64, n, tolerance float64) (Kernel, error) {
	out := levels{Kernel: k}
	far := tolerance / float64(len(within)) // of each grid
	if edge := within[0].edge; edge > 0 {
		reach := s.widths()
		floats.Scale(math.Sqrt(edge), reach)
		near, err := nearPart(s.terms, within[0], reach, tolerance)
		if err != nil {
			return nil, err
		}
		out.parts = append(out.parts, tiled{near, reach})
		far *= 1 - nearTolerance
	}
	for i := range within {
		part := &sampler{d: s.d, scale: s.scale, top: s.top, steepest: s.steepest, profile: within[i].far(s.profile), costs: s.costs}
		if i+1 < len(within) {
			all, beyond := part.profile, within[i+1].far(s.profile)
			part.profile = func(m int, s float64) float64 { return all(m, s) - beyond(m, s) }
		}
		e := &Expansion{Kernel: k, Extent: extent}
		axes, err := part.axes(e, waveTolerance*far)
		if err != nil {
			return nil, err
		}
		g, err := part.grid(e, axes, n, far)
		if err != nil {
			return nil, err
		}
		out.parts = append(out.parts, g)
	}
	return out, nil
}

// cheapestLevels are the cheapest ways to split a kernel, with the periods and modes of its expansion e, at one or two of a few radii, for
// n points: one for each first radius, since a near part may turn out to be no polynomial. Beyond the radius where it ends there is
// nothing to split off.
func (s *sampler) cheapestLevels(k Kernel, e *Expansion, tolerance, n, ends float64, nearSeconds func(radius float64) float64) (ways []candidate) {
	size := 0.0
	for a, extent := range e.Extent {
		size = math.Max(size, extent*s.scale[a])
	}
	var radii []float64
	for _, share := range []float64{0, 0.01, 0.014, 0.02, 0.028, 0.04, 0.055, 0.075, 0.1, 0.14, 0.19, 0.25, 0.35, 0.5} {
		if share*size < ends {
			radii = append(radii, share*size)
		}
	}
	type level struct {
		within  inside
		radius  float64
		highest []float64 // frequency of a wave along each axis
		ok      bool
		seconds [2]float64 // of a grid that has the periods of e, alone and as one of two
	}
	// What one of so many grids costs with the waves of a level and such periods.
	seconds := func(l *level, grids int, period func(a int) float64) float64 {
		grid := &Expansion{Kernel: k, Extent: e.Extent}
		for a := range e.Extent {
			grid.Period = append(grid.Period, period(a))
			grid.Modes = append(grid.Modes, int(math.Ceil(math.Min(l.highest[a]*grid.Period[a]/(2*math.Pi), maxModes))))
		}
		if grid.rank() > maxModes {
			return math.Inf(1)
		}
		return s.cheapestGrid(grid, n, tolerance/float64(grids)).seconds(n, s.costs.gridCosts)
	}
	all := make([]*level, len(radii))
	inParts(len(radii), func(from, to int) {
		for i := from; i < to; i++ {
			l, highest := &level{radius: radii[i], ok: true}, 0.0
			if l.radius > 0 {
				l.within, highest, l.ok = s.split(l.radius, farTolerance*tolerance/2)
			}
			for a, c := range s.scale {
				frequency := 0.0
				if e.Extent[a] > 0 {
					if frequency = highest * c; l.radius == 0 {
						frequency = float64(e.Modes[a]) * 2 * math.Pi / e.Period[a]
					}
				}
				l.highest = append(l.highest, frequency)
			}
			for one := range l.seconds {
				l.seconds[one] = seconds(l, one+1, func(a int) float64 { return e.Period[a] })
			}
			all[i] = l
		}
	})
	all = slices.DeleteFunc(all, func(l *level) bool { return !l.ok })
	for i, l := range all {
		best := candidate{seconds: math.Inf(1)}
		try := func(seconds float64, within ...inside) {
			if seconds < best.seconds {
				best = candidate{seconds, func() (Kernel, error) { return s.inLevels(within, k, e.Extent, n, tolerance) }}
			}
		}
		near := 0.0
		if i > 0 {
			near = nearSeconds(l.radius)
			try(near+l.seconds[0], l.within)
		}
		for _, rest := range all[i+1:] {
			if near+rest.seconds[1] < best.seconds {
				try(near+seconds(l, 2, func(a int) float64 { return e.Extent[a] + rest.radius/s.scale[a] })+rest.seconds[1], l.within, rest.within)
			}
		}
		if best.make != nil {
			ways = append(ways, best)
		}
	}
	return ways
}

// byDistance is derivative m by the distance r = √s, of one whose derivatives by s are v.
func byDistance(m int, v [3]float64, r float64) float64 {
	switch m {
	case 0:
		return v[0]
	case 1:
		return 2 * r * v[1]
	}
	return 2*v[1] + 4*r*r*v[2]
}

// greatest is the greatest derivative m of k by the distance.
func greatest(terms []native.Term, m int) float64 {
	top := 0.0
	for i := range 2000 {
		r := math.Pow(10, float64(i-1000)/250)
		var v [3]float64
		for l := range m + 1 {
			v[l] = valueOf(terms, l, r*r)
		}
		top = math.Max(top, math.Abs(byDistance(m, v, r)))
	}
	return top
}

// split finds the polynomial that leaves less than the tolerance of the far part, and of its slope, beyond a frequency that is as low
// as it can be, to about a tenth of 1/radius; false where there is none.
func (s *sampler) split(radius, tolerance float64) (far inside, highest float64, ok bool) {
	spectra := radialSpectra[s.d-1]()
	edge := radius * radius
	// The far part is what P must be near the edge, and beyond it k, which a window lets fade out: that adds only low frequencies.
	fixed := []float64{s.profile(0, edge), s.profile(1, edge) * edge / 2, valueOf(s.terms, 2, edge) * edge * edge / 8} // of (u − 1)^j
	values := make([]float64, len(spectra.nodes))
	for i, t := range spectra.nodes {
		if v := t * t * edge; t < 1 {
			u := 2*t*t - 2
			values[i] = fixed[0] + u*(fixed[1]+u*fixed[2])
		} else {
			values[i] = s.profile(0, v) * spectra.window[i]
		}
	}
	// Least squares over the frequencies from each one on.
	rows := len(spectra.frequencies)
	target, weights := make([]float64, rows), make([]float64, rows)
	for j := range rows {
		target[j] = floats.Dot(spectra.transform[j], values)
		weights[j] = spectra.measure[j] * math.Max(1/s.top, spectra.frequencies[j]/(radius*s.steepest))
	}
	solve := func(from int) (b []float64, left float64) {
		b = leastSquares(spectra.basis[from:], target[from:], weights[from:])
		for j := from; j < rows; j++ {
			v := target[j]
			for l, c := range b {
				v += c * spectra.basis[j][l]
			}
			left += math.Abs(v) * weights[j]
		}
		return b, left
	}
	low, high := 0, rows*9/10
	b, left := solve(high)
	if !(left <= tolerance) {
		return far, 0, false
	}
	for high-low > 1 {
		middle := (low + high) / 2
		if c, left := solve(middle); left <= tolerance {
			b, high = c, middle
		} else {
			low = middle
		}
	}
	// In powers of u: the fixed part, and Σ b_l ((1 − u)/2)³ P_l(u) by the recurrence of the Legendre polynomials.
	p := []float64{fixed[0] - fixed[1] + fixed[2], fixed[1] - 2*fixed[2], fixed[2]}
	before, now := []float64{}, []float64{0.125, -0.375, 0.375, -0.125}
	for l, c := range b {
		p = combine(1, p, c, now)
		before, now = now, combine(float64(2*l+1)/float64(l+1), append([]float64{0}, now...), -float64(l)/float64(l+1), before)
	}
	return inside{edge, p}, spectra.frequencies[high] / radius, true
}

// farTolerance is the share of the tolerance that plane waves of far parts take.
const farTolerance = waveTolerance * (1 - nearTolerance)

// splitTerms is how many polynomials the far part has free near 0.
const splitTerms = 10

// leastSquares returns the x for which Σ_j (w_j (y_j + Σ_l a_jl x_l))² is least. A ridge keeps coefficients small that the rows do not tell.
func leastSquares(a [][]float64, y, w []float64) []float64 {
	const ridge = 1e-11
	rows := len(a)
	m, right, x := mat.NewDense(rows+splitTerms, splitTerms, nil), mat.NewVecDense(rows+splitTerms, nil), mat.VecDense{}
	for j, row := range a {
		floats.ScaleTo(m.RawRowView(j), w[j], row)
		right.SetVec(j, -w[j]*y[j])
	}
	for l := range splitTerms {
		m.Set(rows+l, l, ridge*mat.Norm(m.ColView(l), 2))
	}
	if err := x.SolveVec(m, right); err != nil && !errors.As(err, new(mat.Condition)) {
		return slices.Repeat([]float64{math.NaN()}, splitTerms)
	}
	return x.RawVector().Data
}

// spectrum has the radial Fourier transforms in R^d of functions of t, the distance in units of the radius, by quadrature.
type spectrum struct {
	frequencies   []float64
	measure       []float64 // of a frequency: ∫ |F| measure bounds a function whose transform is F
	nodes, window []float64 // window is 1 up to the radius and falls to 0 slowly
	transform     [][]float64
	basis         [][]float64 // transforms of (1 − t²)³ P_l(2t² − 1), t < 1
}

var radialSpectra = [3]func() *spectrum{
	sync.OnceValue(func() *spectrum { return newSpectrum(1) }),
	sync.OnceValue(func() *spectrum { return newSpectrum(2) }),
	sync.OnceValue(func() *spectrum { return newSpectrum(3) }),
}

func newSpectrum(d int) *spectrum {
	const (
		step, count = 0.125, 480 // of frequencies
		end, perBox = 9.0, 16
	)
	out := &spectrum{}
	var weights []float64
	panel := func(from, to float64) {
		x, w := make([]float64, perBox), make([]float64, perBox)
		quad.Legendre{}.FixedLocations(x, w, from, to)
		out.nodes, weights = append(out.nodes, x...), append(weights, w...)
	}
	for i := range 4 {
		panel(float64(i)/4, float64(i+1)/4)
	}
	const panels = 28
	for i := range panels {
		panel(1+(end-1)*float64(i)/panels, 1+(end-1)*float64(i+1)/panels)
	}
	// The surface of the unit sphere, for either transform: F = |S| ∫ f t^(d−1) j(ωt) dt, and f the same of F over (2π)^d.
	sphere := []float64{2, 2 * math.Pi, 4 * math.Pi}[d-1]
	wave := []func(x float64) float64{math.Cos, math.J0, func(x float64) float64 { return math.Sin(x) / x }}[d-1]
	for _, t := range out.nodes {
		w := 1.0
		if t > 1 {
			w = math.Erfc(5.8*(2*(t-1)/(end-1)-1)) / 2
		}
		out.window = append(out.window, w)
	}
	for j := range count {
		c := step * float64(j+1)
		out.frequencies = append(out.frequencies, c)
		out.measure = append(out.measure, step*sphere*math.Pow(c, float64(d-1))/math.Pow(2*math.Pi, float64(d)))
		row, basis := make([]float64, len(out.nodes)), make([]float64, splitTerms)
		for i, t := range out.nodes {
			row[i] = sphere * weights[i] * math.Pow(t, float64(d-1)) * wave(c*t)
			if t < 1 {
				before, now, u := 0.0, math.Pow(1-t*t, 3), 2*t*t-1
				for l := range basis {
					basis[l] += row[i] * now
					before, now = now, (float64(2*l+1)*u*now-float64(l)*before)/float64(l+1)
				}
			}
		}
		out.transform, out.basis = append(out.transform, row), append(out.basis, basis)
	}
	return out
}
