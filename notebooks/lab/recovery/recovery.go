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
	"anatomy/geom/shape"
	"anatomy/geom/try"
	"anatomy/internal/dense"
	"anatomy/internal/lists"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/surfaces/attachment"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/population"
)

// Population is what subjects are drawn from, and the model that estimates them: a template that is deformed by two modes, with normal
// scores, and whose vertices are then displaced by independent normal noise.
type Population struct {
	Truth        []*mesh.Mesh // the template: ellipses or ellipsoids about 0, of which the half axes are as 1.3, 1 and 0.8
	Controls     [][]float64
	Width        float64 // of the Gaussian of the norm; the template is smoothed by one that is 1.5 times as wide
	Varifold     bool
	Displacement []float64 // of every object, the standard deviation of the noise of each coordinate
	// Amplitude is how far the kernel of the model says that deformations displace, as a standard deviation. The modes displace by
	// twice 0.15.
	Amplitude float64
}

// ellipse has n points and the long half axis 1.3·scale.
func ellipse(n int, scale float64) *mesh.Mesh {
	x := make([][]float64, n)
	for i := range x {
		s, c := math.Sincos(2 * math.Pi * float64(i) / float64(n))
		x[i] = []float64{1.3 * scale * c, scale * s}
	}
	return mesh.Curve(x, true)
}

// Curves are ellipses of 80 points, in the norm of currents.
func Curves() Population {
	return Population{Truth: []*mesh.Mesh{ellipse(80, 1)}, Controls: ellipse(12, 1).Vertices, Width: 0.2, Displacement: []float64{0.02}, Amplitude: size}
}

// Pairs are Curves with a smaller ellipse in each, whose noise is another.
func Pairs() Population {
	p := Curves()
	p.Truth, p.Displacement = append(p.Truth, ellipse(50, 0.6)), append(p.Displacement, 0.01)
	return p
}

// Surfaces are ellipsoids of 320 triangles, in the norm of currents.
func Surfaces() Population {
	ellipsoid := func(level int) *mesh.Mesh {
		return mesh.Icosphere(level).Map(func(x []float64) []float64 { return []float64{1.3 * x[0], x[1], 0.8 * x[2]} })
	}
	return Population{Truth: []*mesh.Mesh{ellipsoid(2)}, Controls: ellipsoid(0).Vertices, Width: 0.3, Displacement: []float64{0.02}, Amplitude: size}
}

// size is the amplitude of the kernel in which the modes are two standard deviations large.
const size = 0.15

// space is that of the control points, with a kernel of an amplitude.
func (p Population) space(amplitude float64) *landmarks.Space {
	return landmarks.New(len(p.Controls), len(p.Controls[0]), kernels.Sum([]float64{amplitude * amplitude}, kernels.Gaussian(0.8)), geom.Integrator(ode.Heun, 5))
}

// model is that of the estimates.
func (p Population) model() population.Model {
	m := population.Model{Space: p.space(p.Amplitude)}
	for o := range p.Truth {
		m.Objects = append(m.Objects, population.Object{ID: fmt.Sprint(o), Norm: p.norm(), Smoothing: kernels.Gaussian(1.5 * p.Width)})
	}
	return m
}

// norm is that of all objects.
func (p Population) norm() attachment.Norm {
	return attachment.Norm{Kernel: kernels.Gaussian(p.Width), Varifold: p.Varifold}
}

// squares are the squared distances of the objects of a from those of b in the norm.
func (p Population) squares(a, b []*mesh.Mesh) (_ []float64, err error) {
	defer try.Catch(&err)
	return lists.Make(len(a), func(o int) float64 { return math.Max(0, try.Get(p.norm().Term(a[o], b[o]).Value(a[o].Vertices))) }), nil
}

// normal is the unit normal of the ellipsoid at x.
func normal(x []float64) []float64 {
	n := append([]float64{}, x...)
	for a, half := range []float64{1.3, 1, 0.8}[:len(x)] {
		n[a] /= half * half
	}
	floats.Scale(1/floats.Norm(n, 2), n)
	return n
}

// Sample are subjects of a population.
type Sample struct {
	Population
	Subjects [][]*mesh.Mesh
	modes    [2][]float64 // momenta in the space of the amplitude size
	noise    []float64    // of every object the mean of ‖ε‖² of what the noise adds to the measures of subjects
}

// Draw draws subjects, with normal scores of both modes.
func (p Population) Draw(subjects int, seed uint64) (*Sample, error) {
	return p.draw(subjects, seed, func(_ int, random *rand.Rand) (a, b float64) { return random.NormFloat64(), random.NormFloat64() })
}

// draw draws subjects with the scores of their numbers. The modes push along the normals of the ellipsoid, the only way that a
// distance without correspondences sees, and are orthogonal.
func (p Population) draw(subjects int, seed uint64, scores func(subject int, random *rand.Rand) (a, b float64)) (_ *Sample, err error) {
	defer try.Catch(&err)
	random := rand.New(rand.NewPCG(seed, 1))
	space, s := p.space(size), &Sample{Population: p, noise: make([]float64, len(p.Truth))}
	d := len(p.Controls[0])
	for m, of := range []func(x []float64) float64{
		func(x []float64) float64 { return x[0]*x[0] - x[d-1]*x[d-1] },
		func(x []float64) float64 { return x[0] * x[1] },
	} {
		for _, c := range p.Controls {
			s.modes[m] = append(s.modes[m], floats.ScaleTo(make([]float64, d), of(c), normal(c))...)
		}
		velocities := try.Get(engine.Run(func(in []*Node) []*Node {
			return []*Node{space.Manifold.Sharp(BroadcastPrefix(in[0], m+1), in[1])}
		}, shape.Flat(p.Controls), s.modes[:m+1]))
		square := floats.Dot(s.modes[m], velocities.Matrix(0)[m])
		for k, earlier := range s.modes[:m] {
			share := floats.Dot(s.modes[m], velocities.Matrix(0)[k]) / 4
			floats.AddScaled(s.modes[m], -share, earlier)
			square -= 4 * share * share
		}
		floats.Scale(2/math.Sqrt(square), s.modes[m])
	}
	noisy := func(shape []*mesh.Mesh) (out []*mesh.Mesh) {
		for o, m := range shape {
			out = append(out, m.With(Noisy(random, m.Vertices, p.Displacement[o])))
		}
		return out
	}
	for i := range subjects {
		a, b := scores(i, random)
		momentum := floats.ScaleTo(make([]float64, len(s.modes[0])), a, s.modes[0])
		floats.AddScaled(momentum, b, s.modes[1])
		g := try.Get(space.Shoot(p.Controls, space.FromFlat(momentum)))
		var clean []*mesh.Mesh
		for _, m := range p.Truth {
			path := try.Get(space.Transform(g, m.Vertices))
			clean = append(clean, m.With(path[len(path)-1]))
		}
		// What two noisy copies have in common, as the varifold that roughness adds, is no noise.
		one, other := noisy(clean), noisy(clean)
		squares := try.Get(p.squares(one, other))
		floats.AddScaled(s.noise, 1/float64(2*subjects), squares)
		s.Subjects = append(s.Subjects, one)
	}
	return s, nil
}

// Result is what came back.
type Result struct {
	Atlas    *population.Atlas
	Template []float64 // of every object, distance of the template from the true one, in the norm
	Plane    float64   // the largest angle between the planes of the first two modes and of the true ones, in degrees
	Truth    []float64 // of every object, σ of the noise that was added
}

// Recover estimates template, modes and noise of the subjects. The search starts at the first subject, and knows the control points
// and the kernel of the deformations, but neither modes nor noise.
func (s *Sample) Recover() (_ *Result, err error) {
	defer try.Catch(&err)
	model := s.model()
	atlas := try.Get(model.Atlas(s.Subjects[0], s.Controls, s.Subjects))
	off := try.Get(s.squares(atlas.Template, s.Truth))
	out := &Result{Atlas: atlas}
	for o := range s.Truth {
		out.Template, out.Truth = append(out.Template, math.Sqrt(off[o])), append(out.Truth, math.Sqrt(s.noise[o]/atlas.Parts[o]))
	}
	found := try.Get(atlas.PCA(model))
	plane := func(one, other [][]float64) mat.Matrix { // an orthonormal basis of what the norm sees of two modes
		var qr mat.QR
		var q mat.Dense
		qr.Factorize(dense.Rows([][]float64{try.Get(s.seen(one)), try.Get(s.seen(other))}).T())
		qr.QTo(&q)
		return q.Slice(0, q.RawMatrix().Rows, 0, 2)
	}
	var cosines mat.Dense
	cosines.Mul(plane(model.Space.FromFlat(s.modes[0]), model.Space.FromFlat(s.modes[1])).T(), plane(found.Momenta[0], found.Momenta[1]))
	var svd mat.SVD
	svd.Factorize(&cosines, mat.SVDNone)
	out.Plane = 180 / math.Pi * math.Acos(math.Min(1, svd.Values(nil)[1]))
	return out, nil
}

// seen is what the norm sees of a momentum: velocities of the vertices along the normals, up to a factor.
func (s *Sample) seen(p [][]float64) ([]float64, error) {
	var points [][]float64
	for _, m := range s.Truth {
		points = append(points, m.Vertices...)
	}
	kernel := s.space(s.Amplitude).Manifold.Kernel
	out, err := engine.Run(func(in []*Node) []*Node { return []*Node{kernel.Sum(in[0], in[1], in[2])} }, points, s.Controls, p)
	if err != nil {
		return nil, err
	}
	rows := out.Matrix(0)
	return lists.Make(len(points), func(k int) float64 { return floats.Dot(rows[k], normal(points[k])) }), nil
}

// StandardError is that of the template of an atlas of the subjects, in the norm, of every object: half the root mean square distance between the
// templates of two random halves, over so many pairs of halves. The variance of such a difference is four times that of the template
// of all. The searches start at the template of the atlas.
func (s *Sample) StandardError(a *population.Atlas, pairs int) (_ []float64, err error) {
	defer try.Catch(&err)
	model := s.model()
	for o := range model.Objects {
		model.Objects[o].Noise = a.Noise[o] / a.Reach
	}
	random := rand.New(rand.NewPCG(uint64(len(s.Subjects)), 2))
	out := make([]float64, len(s.Truth))
	for range pairs {
		order := random.Perm(len(s.Subjects))
		var halves [2]*population.Atlas
		for h := range halves {
			half, err := model.Atlas(a.Template, s.Controls, lists.Pick(s.Subjects, order[h*len(order)/2:(h+1)*len(order)/2]))
			try.Do(try.Name(err, "half %d", h))
			halves[h] = half
		}
		floats.AddScaled(out, 1/float64(4*pairs), try.Get(s.squares(halves[0].Template, halves[1].Template)))
	}
	for o, square := range out {
		out[o] = math.Sqrt(square)
	}
	return out, nil
}

// Noisy are points with independent normal noise of each coordinate.
func Noisy(random *rand.Rand, points [][]float64, deviation float64) [][]float64 {
	return lists.Each(points, func(p []float64) []float64 {
		return lists.Each(p, func(x float64) float64 { return x + deviation*random.NormFloat64() })
	})
}

// Root is the Cholesky factor of the Gaussian kernel of points, with a ridge; of width 0 they have nothing to do with each other.
func Root(points [][]float64, width, ridge float64) *mat.TriDense {
	gram := mat.NewSymDense(len(points), nil)
	for i, x := range points {
		gram.SetSym(i, i, 1+ridge)
		for j, y := range points[:i] {
			gram.SetSym(i, j, math.Exp(-math.Pow(floats.Distance(x, y, 2)/width, 2)/2))
		}
	}
	var root mat.Cholesky
	root.Factorize(gram)
	lower := new(mat.TriDense)
	root.LTo(lower)
	return lower
}

// Normal is a matrix of independent normal numbers.
func Normal(random *rand.Rand, rows, columns int, deviation float64) *mat.Dense {
	out := mat.NewDense(rows, columns, nil)
	out.Apply(func(int, int, float64) float64 { return deviation * random.NormFloat64() }, out)
	return out
}

// Rotation draws a rotation of space.
func Rotation(random *rand.Rand) *mat.Dense {
	var qr mat.QR
	qr.Factorize(Normal(random, 3, 3, 1))
	q := new(mat.Dense)
	qr.QTo(q)
	q.Scale(math.Copysign(1, mat.Det(q)), q)
	return q
}

// Times is a matrix times a vector.
func Times(m *mat.Dense, x []float64) []float64 {
	var y mat.VecDense
	y.MulVec(m, mat.NewVecDense(len(x), x))
	return y.RawVector().Data
}
