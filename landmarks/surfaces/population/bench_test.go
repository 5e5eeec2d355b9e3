package population_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/geomtest/bench"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/ode"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/surfaces/attachment"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/population"
	"anatomy/landmarks/surfaces/study"
	"anatomy/notebooks/lab/scanned"
)

// BenchmarkAtlas is the run that Deformetrica 4.3 took 268 s for, with a GPU, and left far from a minimum: two closed surfaces of
// about 10,000 triangles, 660 control points, currents of width 0.5, deformations of width 3, both for exp(−r²/w²), σ = 1, 20
// points of time. These surfaces are two deformations, by half a width, of an ellipsoid as large as a mouse's mandible.
func BenchmarkAtlas(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	surface := func(latitudes, meridians int) *mesh.Mesh {
		type bump struct{ at, push []float64 }
		var bumps []bump
		for range 12 {
			s, c := math.Sincos(2 * math.Pi * r.Float64())
			z := 2*r.Float64() - 1
			f := math.Sqrt(1 - z*z)
			n := []float64{f * c, f * s, z}
			h := 1.5 * (2*r.Float64() - 1)
			bumps = append(bumps, bump{[]float64{17 * n[0], 6.5 * n[1], 5 * n[2]}, []float64{h * n[0], h * n[1], h * n[2]}})
		}
		return mesh.Ellipsoid(17, 6.5, 5, latitudes, meridians).Map(func(x []float64) []float64 {
			y := append([]float64{}, x...)
			for _, b := range bumps {
				d := math.Hypot(math.Hypot(x[0]-b.at[0], x[1]-b.at[1]), x[2]-b.at[2])
				for a := range y {
					y[a] += b.push[a] * math.Exp(-d*d/18)
				}
			}
			return y
		})
	}
	subjects := population.Single([]*mesh.Mesh{surface(69, 72), surface(75, 73)})
	var controls [][]float64
	for i := range 15 {
		for j := range 8 {
			for k := range 6 {
				x := []float64{2.7 * (float64(i) - 7), 2.7 * (float64(j) - 3.5), 2.7 * (float64(k) - 2.5)}
				if math.Pow(x[0]/20, 2)+math.Pow(x[1]/10, 2)+math.Pow(x[2]/8.5, 2) < 1.8 {
					controls = append(controls, x)
				}
			}
		}
	}
	all := append(append([][]float64{}, subjects[0][0].Vertices...), subjects[1][0].Vertices...)
	const tolerance = 1e-4 // that of Study.Start
	flow := expect.Must(kernels.Fast(kernels.Gaussian(3/math.Sqrt2), tolerance, controls, subjects[0][0].Vertices))
	data := expect.Must(kernels.Fast(kernels.Gaussian(0.5/math.Sqrt2), tolerance, all))
	smoothing := expect.Must(kernels.Fast(kernels.Gaussian(0.7), tolerance, all))
	b.Log(len(controls), flow, data, len(subjects[0][0].Cells), len(subjects[1][0].Cells))
	defer bench.Memory(b)()
	for b.Loop() {
		model := population.Model{Space: landmarks.New(len(controls), 3, flow, geom.Integrator(ode.Euler, 19)),
			Objects: []population.Object{{Norm: attachment.Norm{Kernel: data}, Noise: 1, Smoothing: smoothing}}}
		a := expect.Must(model.Atlas(subjects[0], controls, subjects))
		b.Logf("%s, %d evaluations, −2 × objective %.4f", a, a.Evaluations, -2*a.Objective)
		b.ReportMetric(float64(a.Evaluations), "evaluations")
	}
}

// BenchmarkHypertemplate is a pair of meshes as a scanner has them, as large as in BenchmarkAtlas and with its widths: about 10,000
// triangles each, the surfaces of bodies whose proportions vary by 8 % in volumes with noise of 0.3 voxels, decimated.
func BenchmarkHypertemplate(b *testing.B) {
	var bodies []*mesh.Mesh
	var all [][]float64
	for seed := range uint64(2) {
		m := scanned.Body(seed+1, 88, 0.3, 1.2)
		expect.Must(m.Clean())
		m = m.Map(func(x []float64) []float64 { return []float64{20 * x[0], 20 * x[1], 20 * x[2]} })
		bodies, all = append(bodies, m), append(all, m.Vertices...)
	}
	var controls [][]float64
	for _, c := range expect.Must(study.Grid(bodies[0].Vertices, 3)) {
		if slices.ContainsFunc(bodies[0].Vertices, func(x []float64) bool { return floats.Distance(x, c, 2) < 3 }) {
			controls = append(controls, c)
		}
	}
	data := expect.Must(kernels.Fast(kernels.Gaussian(0.5/math.Sqrt2), 1e-4, all))
	model := population.Model{Space: landmarks.New(len(controls), 3, kernels.Gaussian(3/math.Sqrt2), geom.Integrator(ode.Euler, 19)),
		Objects: []population.Object{{Norm: attachment.Norm{Kernel: data}, Noise: 1}}, Hypertemplate: true}
	b.Log(len(controls), data, len(bodies[0].Cells), len(bodies[1].Cells))
	defer bench.Memory(b)()
	for b.Loop() {
		a := expect.Must(model.Atlas(population.Single(bodies)[0], controls, population.Single(bodies)))
		b.Logf("%s, %d evaluations, objective %.4f", a, a.Evaluations, a.Objective)
		b.ReportMetric(float64(a.Evaluations), "evaluations")
	}
}
