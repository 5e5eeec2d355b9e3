package kernels

import (
	"fmt"
	"math"
	"sync"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mat"

	"anatomy/kernels/native"
)

// twoLevel is a radial kernel as the sum of a near part, which is 0 beyond a radius, and a far part that is smooth enough for
// plane waves: for kernels with a kink or a long tail, which take too many waves alone and cannot be cut off. With s the squared
// distance in units of the widths and a polynomial P,
//
//	near = k(s) − P(s) for s < edge, else 0,   far = P(s) for s < edge, else k(s).
//
// P meets k and its first two derivatives at the edge; what is left free of it leaves least of the far part's Fourier transform
// beyond as low a frequency as the tolerance allows. So the far part takes about as few waves as one of that radius can. The near
// part is smooth in the distance, so that a polynomial of it, of ten terms or so, replaces it to a tenth of the tolerance.
type twoLevel struct {
	Kernel // its Gram is exact
	near   tiled
	far    Kernel // sums by plane waves
}

func (k twoLevel) String() string {
	return fmt.Sprintf("%s, near part up to the distance %.4g, rest: %s", k.Kernel, k.near.reach, k.far)
}

func (k twoLevel) Sum(x, y, b *Node) *Node { return Add(k.near.Sum(x, y, b), k.far.Sum(x, y, b)) }

func (k twoLevel) Hamilton(x, p *Node) (dx, dp *Node) {
	nearX, nearP := k.near.Hamilton(x, p)
	farX, farP := k.far.Hamilton(x, p)
	return Add(nearX, farX), Add(nearP, farP)
}

// Fits says whether the far part holds for points.
func (k twoLevel) Fits(points [][]float64) error {
	return k.far.(interface{ Fits([][]float64) error }).Fits(points)
}

// valueOf is derivative m of a sum of terms.
func valueOf(terms []native.Term, m int, s float64) float64 {
	v := 0.0
	for _, t := range terms {
		v += t.At(m, s)
	}
	return v
}

// NearFar returns a radial kernel, or a sum of such whose widths are multiples of each other, as the sum of a near part, sums over
// the pairs within a radius, and of a far part on a grid, for points whose coordinates differ by at most extent along each axis. The
// radius is in units of the widths, the tolerance that of Expand, relative to K(0) and to the greatest slope of the whole kernel.
func NearFar(k Kernel, extent []float64, radius, tolerance float64) (Kernel, error) {
	if err := checkExpansion(extent, tolerance); err != nil {
		return nil, fmt.Errorf("kernels.NearFar: %w", err)
	}
	if !(radius > 0) || math.IsInf(radius, 1) {
		return nil, fmt.Errorf("kernels.NearFar: radius %g, want a finite positive number", radius)
	}
	_, terms, ok := describeTerms(k, len(extent))
	if !ok {
		return nil, fmt.Errorf("kernels.NearFar: %s is not radial in %d coordinates: use Expand, Grid or Tiled", k, len(extent))
	}
	far, _, ok := split(terms, radius, tolerance, len(extent))
	if !ok {
		return nil, fmt.Errorf("kernels.NearFar: no far part of %s beyond %g widths is smooth to %g: use a larger radius or tolerance", k, radius, tolerance)
	}
	return splitAt(far, k, extent, gridPoints, tolerance)
}

// splitAt makes the parts of a kernel, for sums over n points.
func splitAt(within inside, k Kernel, extent []float64, n, tolerance float64) (Kernel, error) {
	d := len(extent)
	whole := newSampler(k, d)
	_, terms, _ := describeTerms(k, d)
	reach := make([]float64, d)
	for a, s := range whole.scale {
		reach[a] = math.Sqrt(within.edge) / s
	}
	near, err := nearPart(terms, within, reach, tolerance)
	if err != nil {
		return nil, err
	}
	part := &sampler{d: d, scale: whole.scale, top: valueOf(terms, 0, 0), steepest: greatest(terms, 1)}
	slope := within.slope()
	part.profile = func(m int, s float64) float64 {
		switch {
		case s >= within.edge:
			return whole.profile(m, s)
		case m == 0:
			return within.at(s)
		}
		return slope.at(s)
	}
	e := &Expansion{Kernel: k, Extent: extent}
	axes, err := part.axes(e, tolerance)
	if err != nil {
		return nil, err
	}
	far, err := part.grid(e, axes, n, tolerance)
	if err != nil {
		return nil, err
	}
	return twoLevel{k, tiled{near, reach}, far}, nil
}

// twoLevels is the cheapest way to split a kernel, with the periods of its expansion e, at one of a few radii, for n points.
func (s *sampler) twoLevels(k Kernel, e *Expansion, tolerance, n float64, nearSeconds func(reach []float64) float64) (best candidate, ok bool) {
	scale, terms, ok := describeTerms(k, s.d)
	if !ok {
		return best, false
	}
	size := 0.0
	for a, extent := range e.Extent {
		size = math.Max(size, extent*scale[a])
	}
	best.seconds = math.Inf(1)
	for _, share := range []float64{0.02, 0.028, 0.04, 0.055, 0.075, 0.1, 0.14, 0.19, 0.25} {
		radius := share * size
		within, highest, ok := split(terms, radius, tolerance, s.d)
		if !ok {
			continue
		}
		far := &Expansion{Kernel: k, Extent: e.Extent, Period: e.Period}
		reach := make([]float64, s.d)
		for a := range reach {
			m := 0
			if reach[a] = radius / scale[a]; e.Extent[a] > 0 {
				m = int(math.Ceil(highest * scale[a] * e.Period[a] / (2 * math.Pi)))
			}
			far.Modes = append(far.Modes, m)
		}
		if far.rank() > maxModes {
			continue
		}
		if seconds := nearSeconds(reach) + cheapestGrid(far, n, tolerance).seconds(n); seconds < best.seconds {
			best = candidate{seconds, func() (Kernel, error) { return splitAt(within, k, e.Extent, n, tolerance) }}
		}
	}
	return best, !math.IsInf(best.seconds, 1)
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
func split(terms []native.Term, radius, tolerance float64, d int) (far inside, highest float64, ok bool) {
	spectra := radialSpectra[d-1]()
	edge := radius * radius
	// The far part is what P must be near the edge, and beyond it k, which a window lets fade out: that adds only low frequencies.
	fixed := []float64{valueOf(terms, 0, edge), valueOf(terms, 1, edge) * edge / 2, valueOf(terms, 2, edge) * edge * edge / 8} // of (u − 1)^j
	values := make([]float64, len(spectra.nodes))
	for i, t := range spectra.nodes {
		if v := t * t * edge; t < 1 {
			u := 2*t*t - 2
			values[i] = fixed[0] + u*(fixed[1]+u*fixed[2])
		} else {
			values[i] = valueOf(terms, 0, v) * spectra.window[i]
		}
	}
	top, slope := valueOf(terms, 0, 0), greatest(terms, 1)
	rows := len(spectra.frequencies)
	target, weights := make([]float64, rows), make([]float64, rows)
	for j, c := range spectra.frequencies {
		for i, v := range values {
			target[j] += spectra.transform[j][i] * v
		}
		weights[j] = spectra.measure[j] * math.Max(1/top, c/(radius*slope))
	}
	solve := func(from int) (b []float64, left float64) {
		// A ridge keeps coefficients small that the high frequencies do not tell.
		const ridge = 1e-11
		m, rhs := mat.NewDense(rows-from+splitTerms, splitTerms, nil), mat.NewVecDense(rows-from+splitTerms, nil)
		norms := make([]float64, splitTerms)
		for l := range norms {
			for j := from; j < rows; j++ {
				norms[l] += math.Pow(spectra.basis[j][l]*weights[j], 2)
			}
			norms[l] = math.Sqrt(norms[l])
			for j := from; j < rows; j++ {
				m.Set(j-from, l, spectra.basis[j][l]*weights[j]/norms[l])
			}
			m.Set(rows-from+l, l, ridge)
		}
		for j := from; j < rows; j++ {
			rhs.SetVec(j-from, -target[j]*weights[j])
		}
		var qr mat.QR
		qr.Factorize(m)
		var x mat.VecDense
		if err := qr.SolveVecTo(&x, false, rhs); err != nil {
			return nil, math.Inf(1)
		}
		b = make([]float64, splitTerms)
		for l := range b {
			b[l] = x.AtVec(l) / norms[l]
		}
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

// splitTerms is how many polynomials the far part has free near 0.
const splitTerms = 10

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
