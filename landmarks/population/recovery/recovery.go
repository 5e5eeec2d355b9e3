// Package recovery simulates populations of curves and surfaces of which everything is known, and says how well an atlas brings it
// back: for tests, and for the tables of calibrate.
package recovery

import (
	"fmt"
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/ode"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/mesh"
	"anatomy/landmarks/population"
)

// Result is what came back.
type Result struct {
	Atlas    *population.Atlas
	Template float64 // distance of the template from the true one, in the norm of currents
	Halves   float64 // that between the templates of two halves of the subjects
	Plane    float64 // the largest angle between the planes of the first two modes and of the true ones, in degrees
	Truth    float64 // σ of the noise that was added
}

// Curves estimates ellipses of 80 points.
func Curves(subjects int, seed uint64) (*Result, error) {
	ellipse := func(n int) *mesh.Mesh {
		x := make([][]float64, n)
		for i := range x {
			s, c := math.Sincos(2 * math.Pi * float64(i) / float64(n))
			x[i] = []float64{1.3 * c, s}
		}
		return mesh.Curve(x, true)
	}
	return run(ellipse(80), ellipse(12).Vertices, 0.2, 0.02, subjects, seed)
}

// Surfaces estimates ellipsoids of 320 triangles.
func Surfaces(subjects int, seed uint64) (*Result, error) {
	ellipsoid := func(level int) *mesh.Mesh {
		return mesh.Icosphere(level).Map(func(x []float64) []float64 { return []float64{1.3 * x[0], x[1], 0.8 * x[2]} })
	}
	return run(ellipsoid(2), ellipsoid(0).Vertices, 0.3, 0.02, subjects, seed)
}

// run estimates template, modes and noise of subjects: a template that is deformed by two modes, with normal scores, and whose
// vertices are then displaced by independent normal noise. The search starts at the first subject, and knows the control points,
// the kernel of the deformations and its amplitude, but neither modes nor noise.
func run(truth *mesh.Mesh, controls [][]float64, width, displacement float64, subjects int, seed uint64) (*Result, error) {
	const amplitude = 0.15
	normal := func(x []float64) []float64 {
		n := append([]float64{}, x...)
		for a, half := range []float64{1.3, 1, 0.8}[:len(x)] {
			n[a] /= half * half
		}
		floats.Scale(1/floats.Norm(n, 2), n)
		return n
	}
	d := len(controls[0])
	random := rand.New(rand.NewPCG(seed, 1))
	space := landmarks.New(len(controls), d, kernels.Sum([]float64{amplitude * amplitude}, kernels.Gaussian(0.8)), geom.Integrator(ode.Heun, 5))
	norm := mesh.Norm{Kernel: kernels.Gaussian(width)}
	gram, err := engine.Run(func(in []*Node) []*Node { return []*Node{space.Manifold.Kernel.Gram(in[0], in[0])} }, controls)
	if err != nil {
		return nil, err
	}
	k := mat.NewDense(len(controls), len(controls), gram.Flat(0))
	inner := func(p, q [][]float64) float64 {
		sum := 0.0
		for i := range p {
			for j := range q {
				sum += k.At(i, j) * floats.Dot(p[i], q[j])
			}
		}
		return sum
	}
	// The modes push along the normals of the ellipsoid, the only way that a distance without correspondences sees, each as far as two
	// standard deviations of the model.
	var modes [2][][]float64
	for m, of := range []func(x []float64) float64{
		func(x []float64) float64 { return x[0]*x[0] - x[d-1]*x[d-1] },
		func(x []float64) float64 { return x[0] * x[1] },
	} {
		for _, c := range controls {
			modes[m] = append(modes[m], floats.ScaleTo(make([]float64, d), of(c), normal(c)))
		}
		for _, earlier := range modes[:m] {
			share := inner(modes[m], earlier) / inner(earlier, earlier)
			for i, row := range modes[m] {
				floats.AddScaled(row, -share, earlier[i])
			}
		}
		size := math.Sqrt(inner(modes[m], modes[m]))
		for _, row := range modes[m] {
			floats.Scale(2/size, row)
		}
	}
	var all []*mesh.Mesh
	missed := 0.0
	for range subjects {
		p := make([][]float64, len(controls))
		s := [2]float64{random.NormFloat64(), random.NormFloat64()}
		for i := range p {
			p[i] = floats.ScaleTo(make([]float64, d), s[0], modes[0][i])
			floats.AddScaled(p[i], s[1], modes[1][i])
		}
		g, err := space.Shoot(controls, p)
		if err != nil {
			return nil, err
		}
		path, err := space.Carry(g, truth.Vertices)
		if err != nil {
			return nil, err
		}
		clean := truth.With(path[len(path)-1])
		noisy := clean.Map(func(x []float64) []float64 {
			y := append([]float64{}, x...)
			for a := range y {
				y[a] += displacement * random.NormFloat64()
			}
			return y
		})
		square, err := norm.Term(clean, noisy).Value(clean.Vertices)
		if err != nil {
			return nil, err
		}
		missed += square / float64(subjects)
		all = append(all, noisy)
	}
	model := population.Model{Space: space, Norm: norm, Smoothing: kernels.Gaussian(1.5 * width)}
	out := &Result{}
	if out.Atlas, err = model.Atlas(all[0], controls, all); err != nil {
		return nil, err
	}
	out.Truth = math.Sqrt(missed / out.Atlas.Parts)
	apart := func(a, b *mesh.Mesh) float64 {
		square, e := norm.Term(a, b).Value(a.Vertices)
		if e != nil {
			err = e
		}
		return math.Sqrt(math.Max(0, square))
	}
	out.Template = apart(out.Atlas.Template, truth)
	model.Noise = out.Atlas.Noise
	var halves [2]*population.Atlas
	for h := range halves {
		if halves[h], err = model.Atlas(all[0], controls, all[h*subjects/2:(h+1)*subjects/2]); err != nil {
			return nil, fmt.Errorf("half %d: %w", h, err)
		}
	}
	out.Halves = apart(halves[0].Template, halves[1].Template)
	found, e := out.Atlas.PCA(model)
	if e != nil {
		return nil, e
	}
	// Modes as what is seen of them: velocities of the vertices along the normals.
	seen := func(p [][]float64) ([]float64, error) {
		v, err := engine.Run(func(in []*Node) []*Node { return []*Node{space.Manifold.Kernel.Sum(in[0], in[1], in[2])} }, truth.Vertices, controls, p)
		if err != nil {
			return nil, err
		}
		out := make([]float64, len(truth.Vertices))
		for i, row := range v.Matrix(0) {
			out[i] = floats.Dot(row, normal(truth.Vertices[i]))
		}
		return out, nil
	}
	var planes [2]*mat.Dense
	for i, pair := range [][2][][]float64{modes, {found.Momenta[0], found.Momenta[1]}} {
		planes[i] = mat.NewDense(len(truth.Vertices), 2, nil)
		for j, p := range pair {
			v, err := seen(p)
			if err != nil {
				return nil, err
			}
			planes[i].SetCol(j, v)
		}
		var qr mat.QR
		var q mat.Dense
		qr.Factorize(planes[i])
		qr.QTo(&q)
		planes[i] = mat.DenseCopyOf(q.Slice(0, len(truth.Vertices), 0, 2))
	}
	var cosines mat.Dense
	cosines.Mul(planes[0].T(), planes[1])
	var svd mat.SVD
	svd.Factorize(&cosines, mat.SVDNone)
	out.Plane = 180 / math.Pi * math.Acos(math.Min(1, svd.Values(nil)[1]))
	return out, err
}

// String says what came back in one line.
func (r *Result) String() string {
	return fmt.Sprintf("%d subjects, %s, %d evaluations: template off by %.3g, halves by %.3g; modes by %.2g°; σ %.4g, the truth %.4g",
		len(r.Atlas.Momenta), r.Atlas.Status, r.Atlas.Evaluations, r.Template, r.Halves, r.Plane, r.Atlas.Noise, r.Truth)
}
