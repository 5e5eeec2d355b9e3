package main

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom"
	"anatomy/geom/geomtest/heat"
	"anatomy/geom/lie"
	"anatomy/geom/manifold"
	"anatomy/geom/stochastic"
	"anatomy/geom/try"
)

// densities holds bridges against heat kernels.
func densities(b *bench) {
	const paths, steps = 100, 100
	b.text("Each line has %d likelihoods, each from %d bridges with %d steps and its own noise. *bias* is the logarithm of the mean of all likelihoods minus log p, with its standard error; *z* is the bias in standard errors. The remaining bias is the error of the time step. *covered* is the share of single likelihoods whose interval of two standard errors contains the closed form, among those with a finite standard error; it should be 95 %%. *finite* is the share with a finite standard error.", b.seeds, paths, steps)
	b.header("manifold", "T", "distance", "log p", "bias", "z", "standard error (median)", "covered", "finite", "effective size (median) of 100")
	rotations := try.Get(lie.SO(3).LeftInvariant(nil))
	great := func(d int) func(r float64) []float64 {
		return func(r float64) []float64 {
			x := make([]float64, d+1)
			x[0], x[1] = math.Cos(r), math.Sin(r)
			return x
		}
	}
	outer := func(r float64) []float64 { // along the outer equator of the torus
		return []float64{1.45 * math.Cos(r/1.45), 1.45 * math.Sin(r/1.45), 0}
	}
	for _, c := range []struct {
		name      string
		m         geom.Manifold
		point     func(r float64) []float64 // at a distance from point(0)
		log       func(T, r float64) float64
		distances []float64
		times     []float64
	}{
		{"S¹", manifold.Sphere(1), great(1), circleKernel, []float64{0, 3}, []float64{0.5, 2, 4}},
		{"S²", manifold.Sphere(2), great(2), sphereKernel, []float64{0.5, 2.5}, []float64{0.2, 1, 3}},
		{"S³", manifold.Sphere(3), great(3), sphere3Kernel, []float64{0.5, 2.5}, []float64{0.2, 1, 3}},
		{"SO(3)", rotations, about, rotationKernel, []float64{0.5, 3}, []float64{0.5, 2, 4}},
		{"H³", manifold.Hyperbolic(3), func(r float64) []float64 { return []float64{math.Cosh(r), math.Sinh(r), 0, 0} }, hyperbolicKernel, []float64{0.5, 3}, []float64{0.5, 2}},
		{"torus 1, 0.45", manifold.Torus(1, 0.45), outer, torusKernel, []float64{0.5, 1.5}, []float64{0.05, 0.2, 1}},
		{"Heisenberg", manifold.Heisenberg(), func(r float64) []float64 { return []float64{r, 0, 0} }, func(T, r float64) float64 { return math.NaN() }, []float64{0.5}, []float64{0.5}},
	} {
		s := geom.On(c.m)
		for _, T := range c.times {
			for _, r := range c.distances {
				ends := slices.Repeat([][]float64{c.point(r)}, b.seeds)
				all, err := stochastic.LogLikelihood(s, stochastic.Guided, c.point(0), ends, stochastic.Run{Paths: paths, Steps: steps, Time: T, Seed: b.seed})
				if _, sub := c.m.(geom.SubRiemannian); sub && err != nil {
					b.row("%s | %g | %g | refused: %v | | | | | |", c.name, T, r, err)
					continue
				}
				try.Do(try.Name(err, "%s, T = %g, distance %g", c.name, T, r))
				want := c.log(T, r)
				var ratios, errors, sizes []float64
				covered, told := 0, 0
				for _, l := range all {
					ratios, errors, sizes = append(ratios, math.Exp(l.Log-want)), append(errors, l.StandardError), append(sizes, l.EffectiveSize)
					if math.IsInf(l.StandardError, 1) {
						continue
					}
					told++
					if math.Abs(l.Log-want) <= 2*l.StandardError+1e-9 {
						covered++
					}
				}
				mean, deviation := stat.MeanStdDev(ratios, nil)
				se := deviation / math.Sqrt(float64(len(ratios))) / mean
				z := "exact"
				if se > 1e-9 {
					z = fmt.Sprintf("%.1f", math.Log(mean)/se)
				}
				b.row("%s | %g | %g | %.3f | %.4f ± %.4f | %s | %.2g | %s | %s | %.0f", c.name, T, r, want, math.Log(mean), se, z,
					median(errors), share(covered, max(told, 1)), share(told, len(all)), median(sizes))
			}
		}
	}
}

func median(x []float64) float64 {
	x = slices.Clone(x)
	slices.Sort(x)
	return x[len(x)/2]
}

// about is the rotation by an angle about the third axis.
func about(angle float64) []float64 {
	sin, cos := math.Sincos(angle)
	return []float64{cos, -sin, 0, sin, cos, 0, 0, 0, 1}
}

// The heat kernels are those of ½Δ, as logarithms.

func circleKernel(T, r float64) float64 {
	sum := 0.0
	for k := -30; k <= 30; k++ {
		sum += math.Exp(-math.Pow(r+2*math.Pi*float64(k), 2) / (2 * T))
	}
	return math.Log(sum / math.Sqrt(2*math.Pi*T))
}

func sphereKernel(T, r float64) float64 { return math.Log(heat.Kernel(T, math.Cos(r))) }

// sphere3Kernel is Σ (l+1) sin((l+1)r)/(2π² sin r) e^{−l(l+2)T/2}.
func sphere3Kernel(T, r float64) float64 {
	sum := 0.0
	for l := range 100 {
		k := float64(l)
		sum += (k + 1) * math.Sin((k+1)*r) * math.Exp(-k*(k+2)*T/2)
	}
	return math.Log(sum / (2 * math.Pi * math.Pi * math.Sin(r)))
}

// rotationKernel is Σ (2l+1) sin((l+½)r)/(8π² sin(r/2)) e^{−l(l+1)T/2}.
func rotationKernel(T, r float64) float64 {
	sum := 0.0
	for l := range 100 {
		k := float64(l)
		sum += (2*k + 1) * math.Sin((k+0.5)*r) * math.Exp(-k*(k+1)*T/2)
	}
	return math.Log(sum / (8 * math.Pi * math.Pi * math.Sin(r/2)))
}

// hyperbolicKernel is (2πT)^{−3/2} r/sinh r e^{−T/2 − r²/2T}.
func hyperbolicKernel(T, r float64) float64 {
	return math.Log(r/math.Sinh(r)) - 1.5*math.Log(2*math.Pi*T) - T/2 - r*r/(2*T)
}

// torusKernel is that of the torus of radii 1 and 0.45 between points of its outer equator: a Fourier series around the axis,
// Σ_m a_m(T) cos m φ, where a_m solves the heat equation around the tube, by its values at equidistant angles and the
// derivatives of trigonometric interpolation.
func torusKernel(T, distance float64) float64 {
	const (
		R, r = 1., 0.45
		n    = 48
	)
	h := 2 * math.Pi / n
	derivative, second := mat.NewDense(n, n, nil), mat.NewDense(n, n, nil)
	for i := range n {
		for j := range n {
			if half, sign := float64(i-j)*h/2, math.Pow(-1, float64(i-j)); i != j {
				derivative.Set(i, j, 0.5*sign/math.Tan(half))
				second.Set(i, j, -0.5*sign/math.Pow(math.Sin(half), 2))
			}
		}
		second.Set(i, i, -n*n/12.-1./6)
	}
	sum := 0.0
	for m := range 60 {
		generator := mat.NewDense(n, n, nil)
		for i := range n {
			sin, cos := math.Sincos(float64(i) * h)
			rho := R + r*cos
			for j := range n {
				generator.Set(i, j, T/2*(second.At(i, j)/(r*r)-sin/(r*rho)*derivative.At(i, j)))
			}
			generator.Set(i, i, generator.At(i, i)-T/2*float64(m*m)/(rho*rho))
		}
		var flow mat.Dense
		flow.Exp(generator)
		term := flow.At(0, 0) / h / (2 * math.Pi * r * (R + r))
		if m > 0 {
			term *= 2 * math.Cos(float64(m)*distance/(R+r))
		}
		sum += term
	}
	return math.Log(sum)
}
