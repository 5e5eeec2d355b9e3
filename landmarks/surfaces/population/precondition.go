package population

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/engine"
	"anatomy/geom/shape"
	"anatomy/geom/try"
	"anatomy/internal/dense"
	"anatomy/internal/lists"
	"anatomy/kernels"
	"anatomy/landmarks/internal/text"
	"anatomy/landmarks/surfaces/mesh"
)

// metric is the inverse of K + ridge between momenta, for the kernel matrix K of the first control points, each coordinate alike.
type metric struct {
	ridge float64       // 0.1 K(x, x): see landmarks.Space.Match
	gram  *mat.SymDense // K
	whole *mat.Cholesky // of K + ridge
}

func newMetric(kernel kernels.Kernel, controls [][]float64) (m metric) {
	out := try.Get(engine.Run(func(in []*Node) []*Node { return []*Node{kernel.Gram(in[0], in[0])} }, controls))
	n := len(controls)
	m.gram = mat.NewSymDense(n, out.Flat(0))
	m.ridge = 0.1 * m.gram.At(0, 0)
	m.whole = factorKernel(m.gram, m.ridge)
	return m
}

// ridged is a + ridge·1.
func ridged(a mat.Symmetric, ridge float64) *mat.SymDense {
	out := mat.NewSymDense(a.SymmetricDim(), nil)
	out.CopySym(a)
	return dense.Shift(out, ridge)
}

// factorKernel is the factor of a kernel matrix of the control points plus ridge·1.
func factorKernel(k mat.Symmetric, ridge float64) *mat.Cholesky {
	return factored(ridged(k, ridge), "take fewer control points, or a narrower kernel", "the kernel matrix of the control points")
}

// factored is the factor of a matrix, which an error calls by a name.
func factored(a mat.Symmetric, do, name string) *mat.Cholesky {
	factor := &mat.Cholesky{}
	text.RefuseIf(!factor.Factorize(a), do, "%s is not positive definite", name)
	return factor
}

// solveTo sets out to a⁻¹ b by the factor of a. What it says of the condition of a is no error.
func solveTo(factor *mat.Cholesky, out *mat.Dense, b mat.Matrix) {
	if err := conditioned(factor.SolveTo(out, b)); err != nil {
		panic(err) // the shapes are right
	}
}

// conditioned is an error but for what it says of the condition of a matrix.
func conditioned(err error) error {
	if errors.As(err, new(mat.Condition)) {
		return nil
	}
	return err
}

// solve sets out to (K + ridge)⁻¹ g.
func (m *metric) solve(out, g []float64) {
	n := m.gram.SymmetricDim()
	solveTo(m.whole, mat.NewDense(n, len(g)/n, out), mat.NewDense(n, len(g)/n, slices.Clone(g)))
}

// squaredNorm is ‖r‖² of derivatives r by one momentum: see Atlas.Unsettled.
func (m *metric) squaredNorm(r []float64) float64 {
	v := make([]float64, len(r))
	m.solve(v, r)
	return math.Max(0, floats.Dot(v, r))
}

// squaredNorms are ‖g‖² of derivatives g by the vertices z, of every object, or of all together by the field of a hypertemplate: see Atlas.Imbalance.
func (f *fit) squaredNorms(z, g []float64) []float64 {
	d := f.Space.Manifold.D
	if f.Hypertemplate {
		return []float64{f.squaredNorm(f.byField(g))}
	}
	out := try.Get(f.smooth.Call(engine.Unflatten(z, d), engine.Unflatten(g, d)))
	return lists.Make(len(f.Objects), func(o int) float64 { return math.Max(0, floats.Dot(f.part(g, o), f.part(out.Flat(0), o))) })
}

// scaled are the ranges of the variables that the preconditioner scales one by one: of the objects' vertices, and of the rest.
func (f *fit) scaled() (ranges [][2]int) {
	at, from := f.blocks(), 0
	for _, end := range f.ends {
		ranges = append(ranges, [2]int{from, end * f.Space.Manifold.D})
		from = end * f.Space.Manifold.D
	}
	return append(ranges, at[1], at[2])
}

// precondition takes a gradient to a step, by an approximate inverse of the second derivatives: a smoothed gradient of the template, and
// (K + ridge)⁻¹ times those by the coefficients, each with its scale. If the response of momenta is known, they follow the step of the template, and
// P⁻¹ stands for (K + ridge)⁻¹. An atlas whose template moves in a flow while all momenta change by the opposite keeps its distances, nearly: the last
// part of the inverse steps along this valley, where the second derivative is that of the energies alone. The steps of a hypertemplate are those of
// its stiffness.
func (f *fit) precondition(g []float64) []float64 {
	if f.stiff != nil && !f.frozen {
		return f.solveStiff(g)
	}
	d, size, at := f.Space.Manifold.D, f.Space.Manifold.Dim(), f.blocks()
	out, sum := make([]float64, len(g)), make([]float64, size)
	part := func(x []float64, l int) []float64 { return x[at[1][0]+l*size : at[1][0]+(l+1)*size] }
	for l := range f.design[0] {
		f.solveMomentum(part(out, l), part(g, l))
		floats.Add(sum, part(g, l))
	}
	if f.frozen {
		floats.Scale(f.scale[len(f.Objects)], out)
		return out
	}
	start := mesh.Vertices(f.start)
	copy(out, try.Get(f.smooth.Call(start, engine.Unflatten(f.led(g), d))).Flat(0))
	copy(out[at[2][0]:], g[at[2][0]:])
	for b, r := range f.scaled() {
		floats.Scale(f.scale[b], out[r[0]:r[1]])
	}
	f.addFollowing(out)
	if !f.separate() {
		return out
	}
	valley := try.Get(f.kernelSums.Call(f.controls, start, engine.Unflatten(g[:at[0][1]], d))).Flat(0)
	floats.Sub(valley, sum)
	f.solve(valley, valley)
	floats.Scale(1/float64(len(f.design)), valley)
	for l := range f.design {
		floats.Sub(part(out, l), valley)
	}
	floats.Add(out[:at[0][1]], try.Get(f.kernelSums.Call(start, f.controls, engine.Unflatten(valley, d))).Flat(0))
	return out
}

// led returns the derivatives by the vertices of a template whose momenta follow it by their response, if that is known.
func (f *fit) led(g []float64) []float64 {
	at, sum := f.blocks(), make([]float64, f.Space.Manifold.Dim())
	out := slices.Clone(g[:at[0][1]])
	if f.response == nil {
		return out
	}
	for r := range slices.Chunk(g[at[1][0]:at[1][1]], len(sum)) {
		floats.Add(sum, r)
	}
	floats.Add(out, f.lead(sum))
	return out
}

// solveMomentum sets out to a step of one momentum, before its scale.
func (f *fit) solveMomentum(out, g []float64) {
	if f.response == nil {
		f.solve(out, g)
		return
	}
	solveTo(f.response.factor, mat.NewDense(len(g), 1, out), mat.NewDense(len(g), 1, g))
}

// addFollowing adds to a step how momenta follow its template.
func (f *fit) addFollowing(step []float64) {
	if f.response == nil {
		return
	}
	at := f.blocks()
	shift := f.follow(step[:at[0][1]])
	for p := range slices.Chunk(step[at[1][0]:at[1][1]], len(shift)) {
		floats.Add(p, shift)
	}
}

// preconditionTemplate takes a gradient by the template and by free control points alone to a step.
func (f *fit) preconditionTemplate(g []float64) []float64 {
	at := f.blocks()[1]
	step := f.precondition(slices.Concat(g[:at[0]], make([]float64, at[1]-at[0]), g[at[0]:]))
	return slices.Concat(step[:at[0]], step[at[1]:])
}

// calibrate sets the scales of the preconditioner by the second derivatives at x along a random step of each kind of variables.
func (f *fit) calibrate(x []float64) {
	f.rescale(f.curvatures(f.at(x), func(kind int) bool { return !f.frozen || kind == len(f.Objects) }))
}

// rescale sets those scales of the preconditioner for which the second derivatives have the sign of a minimum.
func (f *fit) rescale(expected, curvature []float64) {
	for b := range f.scale {
		if curvature[b] > 0 { // else x is far from a minimum
			f.scale[b] = expected[b] / curvature[b]
		}
	}
}

// curvatures returns the second derivatives at start along a random step of each of those kinds of variables that are wanted, in the order
// of scaled, and what they would be if the preconditioner without its scales were their inverse. Other kinds have zeros.
func (f *fit) curvatures(start *evaluation, wanted func(kind int) bool) (expected, curvature []float64) {
	expected, curvature = make([]float64, len(f.scale)), make([]float64, len(f.scale))
	x := start.x
	random := rand.New(rand.NewPCG(1, 1))
	size, d := f.Space.Manifold.Dim(), f.Space.Manifold.D
	spacing := f.spacing()
	for b, r := range f.scaled() {
		if r[0] == r[1] || !wanted(b) || f.Hypertemplate && b < len(f.Objects) || f.response != nil && b == len(f.Objects) {
			continue
		}
		step := make([]float64, len(x))
		way := step[r[0]:r[1]]
		for i := range way {
			way[i] = random.NormFloat64()
		}
		// With the metric M of a kind, and a random covector ξ, the step is M ξ, and ξᵀ M ξ what its second derivative shall be.
		expected[b] = floats.Dot(way, way)
		length := floats.Norm(way, math.Inf(1))
		switch objects := len(f.Objects); {
		case b < objects:
			v := try.Get(f.smooth.Call(mesh.Vertices(f.start), engine.Unflatten(step[:f.blocks()[0][1]], d)))
			smooth := f.part(v.Flat(0), b)
			expected[b] = floats.Dot(way, smooth)
			copy(way, smooth)
			length = floats.Norm(way, math.Inf(1))
			f.addFollowing(step)
		case b == objects:
			out := try.Get(f.energy.Call(shape.Flat(f.controls), engine.Unflatten(way, size)))
			length, expected[b] = floats.Norm(out.Flat(1), math.Inf(1)), 2*floats.Sum(out.Vector(0))
		}
		t := 1e-3 * spacing / length
		after := f.evaluate(floats.AddScaledTo(make([]float64, len(x)), x, t, step))
		curvature[b] = (floats.Dot(step, after.gradient) - floats.Dot(step, start.gradient)) / t
	}
	return expected, curvature
}
