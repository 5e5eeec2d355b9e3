package population

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/solve"
	"anatomy/geom/stats"
	"anatomy/landmarks/mesh"
)

// stiff is added to the kernel matrix of the control points where it is inverted: see landmarks.Space.Match.
const stiff = 0.1

// steps is how many steps the search remembers: its valleys are long.
const steps = 100

// memory is how many bytes the intermediate values of one call may take, as estimated.
const memory = 1 << 30

// fit is the objective of a Model for given subjects. Subject i has the momentum Σ_k design_ik m_k with coefficients m_k: those of
// an atlas are the momenta themselves. The variables are the vertices of the template, the coefficients and, if they are free,
// the control points, one after the other.
type fit struct {
	Model
	start    *mesh.Mesh
	controls [][]float64
	design   [][]float64
	chunks   []chunk

	attach, energy, smooth, apply, pull *engine.Func

	metric      mat.Cholesky // of K + stiff at the first control points
	common      []float64    // w with Σ_k design_ik w_k = 1 for all i; nil where there is none
	scale       [3]float64   // of the preconditioner, for each kind of variables
	squares     float64      // Σ ‖S_i‖²
	evaluations int
	last        *evaluation
	bend        *bend // the last
	narrow      bool  // the search follows the template
}

// chunk is what one call needs of subjects: the middles d, [B, m, D], and weights e, [B, m, C], of their cells, padded with
// cells without size, and their squares, [B]. The last chunk is padded with empty subjects.
type chunk struct {
	subjects         []int
	middles, weights [][][]float64
	square           []float64
}

// evaluation is the objective with its gradient at x.
type evaluation struct {
	x, gradient      []float64
	value            float64
	mismatch, energy []float64
	pulls            [][]float64 // g_i: see Atlas
	deformed         [][][]float64
	motion           [][]float64 // K m_k
}

func (m Model) check(template *mesh.Mesh, controls [][]float64, subjects []*mesh.Mesh) error {
	if m.Space == nil || m.Norm.Kernel == nil {
		return errors.New("the model has no Space or no Norm")
	}
	if !(m.Noise >= 0) || math.IsInf(m.Noise*m.Noise, 1) {
		return fmt.Errorf("the noise is %g, want a positive number, or 0 to estimate it", m.Noise)
	}
	if template == nil {
		return errors.New("no template")
	}
	for i, s := range subjects {
		if s == nil {
			return fmt.Errorf("subject %d is nil", i)
		}
		if err := m.Norm.Check(fmt.Sprintf("subject %d", i), s); err != nil {
			return err
		}
	}
	if err := m.Norm.Check("the template", template); err != nil {
		return err
	}
	for i, s := range subjects {
		if err := mesh.Alike("the template", template, fmt.Sprintf("subject %d", i), s); err != nil {
			return err
		}
		if err := m.plausible(template, i, s); err != nil {
			return err
		}
	}
	if d := len(template.Vertices[0]); d != m.Space.Manifold.D {
		return fmt.Errorf("the template is in R^%d, the space in R^%d", d, m.Space.Manifold.D)
	}
	if err := m.Space.CheckNumbers("control points", controls); err != nil {
		return err
	}
	return m.Space.CheckRegular("control points", controls)
}

// plausible refuses a subject in another unit than the template, and one that is inside out where the norm sees it: no deformation
// brings these together, and a search would end somewhere.
func (m Model) plausible(template *mesh.Mesh, i int, s *mesh.Mesh) error {
	length := func(m *mesh.Mesh) float64 { return math.Pow(m.Size(), 1/float64(len(m.Cells[0])-1)) }
	const units = 7 // centimetres and millimetres differ by 10, animals of one kind by less
	if ratio := length(s) / length(template); ratio > units || ratio < 1.0/units {
		return fmt.Errorf("subject %d is %.3g times as large as the template: give both in one unit, or scale it by Align", i, ratio)
	}
	if m.Norm.Varifold {
		return nil
	}
	// Of open ones there is no volume, and no telling.
	if a, err := template.Volume(); err == nil {
		if b, err := s.Volume(); err == nil && a*b < 0 {
			return fmt.Errorf("subject %d is inside out as the template sees it: Flip it, or take varifolds", i)
		}
	}
	return nil
}

func newFit(m Model, template *mesh.Mesh, controls [][]float64, subjects []*mesh.Mesh, design [][]float64) (*fit, error) {
	if m.Smoothing == nil {
		m.Smoothing = m.Norm.Kernel
	}
	f := &fit{Model: m, start: template, controls: controls, design: design, scale: [3]float64{1, 1, 1}}
	cells, order := flatten(template.Cells), len(template.Cells[0])
	f.attach = engine.Compile(func(in []*Node) []*Node {
		q, p, z, middles, weights, square := in[0], in[1], in[2], in[3], in[4], in[5]
		batch := p.Shape().Dim(0)
		qs, zs := BroadcastPrefix(q, batch), BroadcastPrefix(z, batch)
		end := m.Space.CarryOnGraph(qs, p, zs)
		c, b := m.Norm.Measure(end, Reshape(Const(z.Graph(), cells), -1, order))
		mismatch := Add(Sub(m.Norm.Square(c, b), MulScalar(m.Norm.Inner(c, b, middles, weights), 2)), square)
		by := []*Node{p, zs}
		if m.Free {
			by = append(by, qs)
		}
		return append([]*Node{mismatch, end}, Gradient(ReduceAllSum(mismatch), by...)...)
	}, engine.Name("atlas"))
	f.energy = engine.Compile(func(in []*Node) []*Node {
		q, p := in[0], in[1]
		v, force := m.Space.Manifold.Hamilton(BroadcastPrefix(q, p.Shape().Dim(0)), p)
		return []*Node{MulScalar(ReduceSum(Mul(p, v), -1), 0.5), v, ReduceSum(force, 0)}
	}, engine.Name("atlas energy"))
	f.smooth = engine.Compile(func(in []*Node) []*Node {
		return []*Node{m.Smoothing.Sum(in[0], in[0], in[1])}
	}, engine.Name("atlas smoothing"))
	f.apply = engine.Compile(func(in []*Node) []*Node {
		return []*Node{m.Space.Manifold.Kernel.Sum(in[0], in[1], in[2])}
	}, engine.Name("atlas velocities"))
	f.pull = engine.Compile(func(in []*Node) []*Node {
		z, cells := BroadcastPrefix(in[0], in[1].Shape().Dim(0)), Reshape(in[2], -1, order)
		moved := Add(z, in[1])
		c, b := m.Norm.Measure(moved, cells)
		e, w := m.Norm.Measure(z, cells)
		miss := Sub(MulScalar(m.Norm.Square(c, b), 0.5), m.Norm.Inner(c, b, e, w))
		return []*Node{Gradient(ReduceAllSum(miss), moved)[0]}
	}, engine.Name("atlas bend"))
	if err := f.metrics(); err != nil {
		return nil, err
	}
	return f, f.cut(subjects, f.chunkOf(subjects))
}

func (f *fit) free() {
	for _, c := range []*engine.Func{f.attach, f.energy, f.smooth, f.apply, f.pull} {
		c.Free()
	}
}

func flatten[T any](rows [][]T) (out []T) {
	for _, c := range rows {
		out = append(out, c...)
	}
	return out
}

// chunkOf returns how many of the subjects one call takes.
func (f *fit) chunkOf(subjects []*mesh.Mesh) int {
	cells := len(f.start.Cells)
	for _, s := range subjects {
		cells = max(cells, len(s.Cells))
	}
	// A flow is kept at about 2√steps times, and within a step at some stages; a measure with its derivatives is
	// some 100 numbers a cell.
	kept := 2*math.Sqrt(float64(f.Space.Steps())) + 12
	each := 8 * (float64((len(f.start.Vertices)+2*len(f.controls))*f.Space.Manifold.D)*kept + 100*float64(cells))
	count := int(math.Ceil(float64(len(subjects)) * each / memory))
	return (len(subjects) + count - 1) / count
}

// metrics computes what the preconditioner is made of.
func (f *fit) metrics() error {
	out, err := engine.Run(func(in []*Node) []*Node { return []*Node{f.Space.Manifold.Kernel.Gram(in[0], in[0])} }, f.controls)
	if err != nil {
		return err
	}
	n := len(f.controls)
	k := mat.NewSymDense(n, out.Flat(0))
	for i := range n {
		k.SetSym(i, i, k.At(i, i)+stiff)
	}
	if !f.metric.Factorize(k) {
		return errors.New("the kernel matrix of the control points is not positive definite")
	}
	design := mat.NewDense(len(f.design), len(f.design[0]), flatten(f.design))
	ones := mat.NewVecDense(len(f.design), nil)
	for i := range f.design {
		ones.SetVec(i, 1)
	}
	var w, left mat.VecDense
	if err := w.SolveVec(design, ones); err == nil {
		left.MulVec(design, &w)
		left.SubVec(&left, ones)
		if left.Norm(2) < 1e-9 {
			f.common = w.RawVector().Data
		}
	}
	return nil
}

// cut computes what the subjects are compared by, once, in chunks of a size.
func (f *fit) cut(subjects []*mesh.Mesh, size int) error {
	cells, vertices, order := 0, 0, len(f.start.Cells[0])
	for _, s := range subjects {
		cells, vertices = max(cells, len(s.Cells)), max(vertices, len(s.Vertices))
	}
	measure := engine.Compile(func(in []*Node) []*Node {
		c, b := f.Norm.Measure(in[0], Reshape(in[1], -1, order))
		shaped := func(x *Node) *Node { return Reshape(x, size, cells, x.Shape().Dim(-1)) }
		c, b = shaped(c), shaped(b)
		return []*Node{c, b, f.Norm.Square(c, b)}
	}, engine.Name("atlas subjects"))
	defer measure.Free()
	for from := 0; from < len(subjects); from += size {
		c := chunk{}
		var x [][]float64
		var all []int
		for b := range size {
			at := min(from+b, len(subjects)-1)
			s := subjects[at]
			for i := range cells {
				for k := range order {
					v := 0
					if i < len(s.Cells) && from+b < len(subjects) {
						v = s.Cells[i][k]
					}
					all = append(all, len(x)+v)
				}
			}
			for i := range vertices {
				x = append(x, s.Vertices[min(i, len(s.Vertices)-1)])
			}
			if from+b < len(subjects) {
				c.subjects = append(c.subjects, at)
			}
		}
		out, err := measure.Call(x, all)
		if err != nil {
			return err
		}
		c.middles, c.weights, c.square = out.Array3(0), out.Array3(1), out.Vector(2)
		f.squares += floats.Sum(c.square)
		f.chunks = append(f.chunks, c)
	}
	return nil
}

// split returns the vertices, the coefficients and the control points that x holds.
func (f *fit) split(x []float64) (vertices []float64, coefficients [][]float64, controls []float64) {
	n, k := len(f.start.Vertices)*f.Space.Manifold.D, f.Space.Manifold.Dim()
	vertices, x = x[:n], x[n:]
	for range f.design[0] {
		coefficients = append(coefficients, x[:k])
		x = x[k:]
	}
	if !f.Free {
		x = geom.Numbers(geom.Shape(f.controls))
	}
	return vertices, coefficients, x
}

// momentum is that of subject i.
func (f *fit) momentum(i int, coefficients [][]float64) []float64 {
	p := make([]float64, len(coefficients[0]))
	for k, w := range f.design[i] {
		floats.AddScaled(p, w, coefficients[k])
	}
	return p
}

// evaluate computes the objective and its gradient at x.
func (f *fit) evaluate(x []float64) (*evaluation, error) {
	f.evaluations++
	d := f.Space.Manifold.D
	vertices, coefficients, controls := f.split(x)
	e := &evaluation{x: x, gradient: make([]float64, len(x)), mismatch: make([]float64, len(f.design)), pulls: make([][]float64, len(f.design)), deformed: make([][][]float64, len(f.design))}
	n, k := len(vertices), len(controls)
	precision := 1 / (2 * f.Noise * f.Noise)
	atControls := make([]float64, k)
	z := engine.Unflatten(vertices, d)
	for _, c := range f.chunks {
		p := make([][]float64, len(c.square))
		for b := range p {
			if p[b] = make([]float64, k); b < len(c.subjects) {
				p[b] = f.momentum(c.subjects[b], coefficients)
			}
		}
		out, err := f.attach.Call(controls, p, z, c.middles, c.weights, c.square)
		if err != nil {
			return nil, err
		}
		mismatch, end, byMomentum, byVertex := out.Vector(0), out.Array3(1), out.Matrix(2), out.Flat(3)
		for b, i := range c.subjects {
			e.mismatch[i], e.deformed[i] = mismatch[b], end[b]
			e.value += precision * mismatch[b]
			e.pulls[i] = floats.ScaleTo(make([]float64, n), precision, byVertex[b*n:(b+1)*n])
			floats.Add(e.gradient[:n], e.pulls[i])
			for l, w := range f.design[i] {
				floats.AddScaled(e.gradient[n+l*k:n+(l+1)*k], precision*w, byMomentum[b])
			}
			if f.Free {
				floats.AddScaled(atControls, precision, out.Matrix(4)[b])
			}
		}
	}
	out, err := f.energy.Call(controls, coefficients)
	if err != nil {
		return nil, err
	}
	e.energy, e.motion = out.Vector(0), out.Matrix(1)
	e.value += floats.Sum(e.energy)
	for l, v := range e.motion {
		floats.Add(e.gradient[n+l*k:n+(l+1)*k], v)
	}
	if f.Free {
		floats.Sub(atControls, out.Vector(2))
		copy(e.gradient[len(x)-k:], atControls)
	}
	return e, nil
}

// at is the evaluation at x, which is remembered where x is that of the last one.
func (f *fit) at(x []float64) (*evaluation, error) {
	if f.last == nil || &f.last.x[0] != &x[0] {
		e, err := f.evaluate(x)
		if err != nil {
			return nil, err
		}
		f.last = e
	}
	return f.last, nil
}

// blocks are the ranges of the vertices, the coefficients and the control points in the variables.
func (f *fit) blocks() [3][2]int {
	n, k := len(f.start.Vertices)*f.Space.Manifold.D, f.Space.Manifold.Dim()
	m := n + len(f.design[0])*k
	end := m
	if f.Free {
		end += k
	}
	return [3][2]int{{0, n}, {n, m}, {m, end}}
}

// precondition takes a gradient to a step, by an approximate inverse of the second derivatives: a smoothed gradient of the
// template, and (K + stiff)⁻¹ times those by the coefficients, each with its scale. A template that moves in the flow of common
// momenta while all momenta change by the opposite keeps its distances, nearly: the last part of the inverse steps along this
// valley, where the second derivative is that of the energies alone.
func (f *fit) precondition(g []float64) ([]float64, error) {
	d := f.Space.Manifold.D
	at := f.blocks()
	out := make([]float64, len(g))
	byVertex := engine.Unflatten(g[:at[0][1]], d)
	v, err := f.smooth.Call(f.start.Vertices, byVertex)
	if err != nil {
		return nil, err
	}
	copy(out, v.Flat(0))
	size := f.Space.Manifold.Dim()
	part := func(x []float64, l int) []float64 { return x[at[1][0]+l*size : at[1][0]+(l+1)*size] }
	for l := range f.design[0] {
		f.solve(part(out, l), part(g, l))
	}
	copy(out[at[2][0]:], g[at[2][0]:])
	for b, r := range at {
		floats.Scale(f.scale[b], out[r[0]:r[1]])
	}
	if f.common == nil {
		return out, nil
	}
	if v, err = f.apply.Call(f.controls, f.start.Vertices, byVertex); err != nil {
		return nil, err
	}
	valley := v.Flat(0)
	for l, w := range f.common {
		floats.AddScaled(valley, -w, part(g, l))
	}
	f.solve(valley, valley)
	floats.Scale(1/floats.Dot(f.common, f.common), valley)
	for l, w := range f.common {
		floats.AddScaled(part(out, l), -w, valley)
	}
	if v, err = f.apply.Call(f.start.Vertices, f.controls, engine.Unflatten(valley, d)); err != nil {
		return nil, err
	}
	floats.Add(out[:at[0][1]], v.Flat(0))
	return out, nil
}

// solve sets out to (K + stiff)⁻¹ g.
func (f *fit) solve(out, g []float64) {
	d := f.Space.Manifold.D
	n := len(g) / d
	to := mat.NewDense(n, d, out)
	if err := f.metric.SolveTo(to, mat.NewDense(n, d, append([]float64{}, g...))); err != nil && !errors.As(err, new(mat.Condition)) {
		panic(err) // the shapes are right
	}
}

// balance returns Imbalance and Unsettled: see Atlas.
func (f *fit) balance(e *evaluation) (imbalance, unsettled float64, err error) {
	if e.value <= 1e-12*f.squares/(2*f.Noise*f.Noise) { // all subjects are the template
		return 0, 0, nil
	}
	at := f.blocks()
	z := engine.Unflatten(e.x[:at[0][1]], f.Space.Manifold.D)
	square := func(g []float64) (float64, error) {
		out, err := f.smooth.Call(z, engine.Unflatten(g, f.Space.Manifold.D))
		if err != nil {
			return 0, err
		}
		return math.Max(0, floats.Dot(g, out.Flat(0))), nil
	}
	total, err := square(e.gradient[:at[0][1]])
	if err != nil {
		return 0, 0, err
	}
	apart := 0.0
	for _, g := range e.pulls {
		s, err := square(g)
		if err != nil {
			return 0, 0, err
		}
		apart += s
	}
	size := f.Space.Manifold.Dim()
	v := make([]float64, size)
	missed := 0.0
	for from := at[1][0]; from < at[1][1]; from += size {
		r := e.gradient[from : from+size]
		f.solve(v, r)
		missed += math.Max(0, floats.Dot(v, r))
	}
	ratio := func(a, b float64) float64 {
		if a == 0 {
			return 0
		}
		return math.Sqrt(a / b)
	}
	return ratio(total, apart), ratio(missed, 2*floats.Sum(e.energy)), nil
}

// calibrate sets the scales of the preconditioner by the second derivatives at x along a random step of each kind of variables.
func (f *fit) calibrate(x []float64) error {
	start, err := f.at(x)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(1, 1))
	size, d := f.Space.Manifold.Dim(), f.Space.Manifold.D
	for b, r := range f.blocks() {
		if r[0] == r[1] {
			continue
		}
		step := make([]float64, len(x))
		way := step[r[0]:r[1]]
		for i := range way {
			way[i] = random.NormFloat64()
		}
		// With the metric M of a kind, and a random covector ξ, the step is M ξ, and ξᵀ M ξ what its second derivative shall be.
		want, length := floats.Dot(way, way), floats.Norm(way, math.Inf(1))
		switch b {
		case 0:
			v, err := f.smooth.Call(f.start.Vertices, engine.Unflatten(way, d))
			if err != nil {
				return err
			}
			want = floats.Dot(way, v.Flat(0))
			copy(way, v.Flat(0))
			length = floats.Norm(way, math.Inf(1))
		case 1:
			out, err := f.energy.Call(geom.Numbers(geom.Shape(f.controls)), engine.Unflatten(way, size))
			if err != nil {
				return err
			}
			length, want = floats.Norm(out.Flat(1), math.Inf(1)), 2*floats.Sum(out.Vector(0))
		}
		t := 1e-3 * f.start.Spacing() / length
		after, err := f.evaluate(floats.AddScaledTo(make([]float64, len(x)), x, t, step))
		if err != nil {
			return err
		}
		bend := (floats.Dot(way, after.gradient[r[0]:r[1]]) - floats.Dot(way, start.gradient[r[0]:r[1]])) / t
		if bend > 0 { // else x is far from a minimum
			f.scale[b] = want / bend
		}
	}
	return nil
}

// bounded is a value with its gradient for solve.Minimise: infinite where either is no number.
func bounded(value float64, gradient []float64) (float64, []float64, error) {
	if sum := value + floats.Norm(gradient, 1); math.IsNaN(sum) || math.IsInf(sum, 0) {
		value = math.Inf(1)
	}
	return value, gradient, nil
}

// patience is how many steps the search takes in all variables at once, unless told otherwise, before it follows the template.
const patience = 200

// search minimises the objective from x, for a noise.
func (f *fit) search(name string, x []float64, opts []stats.Option) (*solve.Minimum, error) {
	found := &solve.Minimum{X: x, Status: geom.MaxIterations}
	if err := f.calibrate(x); err != nil {
		return nil, err
	}
	if !f.narrow {
		o := f.objective()
		o.Residual = func(x []float64) (float64, error) {
			e, err := f.at(x)
			if err != nil {
				return 0, err
			}
			imbalance, unsettled, err := f.balance(e)
			return max(imbalance, unsettled), err
		}
		var err error
		if found, err = stats.Minimise(name, f.Space, 0.03, o, x, append([]stats.Option{stats.MaxIterations(patience)}, opts...)...); err != nil {
			return nil, err
		}
	}
	if found.Status != geom.MaxIterations || f.Space.Manifold.Dim() > widest {
		return found, nil
	}
	f.narrow = true
	before := found.Iterations
	found, err := f.follow(name, found.X, opts)
	if err != nil {
		return nil, err
	}
	found.Iterations += before
	return found, nil
}

// objective is that of all variables.
func (f *fit) objective() solve.Objective {
	return solve.Objective{
		Value: func(x []float64) (float64, []float64, error) {
			e, err := f.at(x)
			if err != nil {
				return 0, nil, err
			}
			return bounded(e.value, e.gradient)
		},
		Precondition: f.precondition,
		FirstStep:    1,
		Memory:       steps,
	}
}

// rounds is how often the noise is estimated anew at most.
const rounds = 20

// estimate minimises the objective, from coefficients or, if they are nil, from 0, and returns what it found with the coefficients.
// Where the noise is to be estimated, it starts at the one given, unless that is 0.
func (m Model) estimate(name string, template *mesh.Mesh, controls [][]float64, coefficients [][][]float64, noise float64, subjects []*mesh.Mesh, design [][]float64, opts []stats.Option) (*Atlas, [][][]float64, error) {
	if err := m.check(template, controls, subjects); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	for i, p := range coefficients {
		if err := m.Space.CheckNumbers(fmt.Sprintf("momentum %d", i), p); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	f, err := newFit(m, template, controls, subjects, design)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	defer f.free()
	x := make([]float64, f.blocks()[2][1])
	at := copy(x, geom.Numbers(geom.Shape(template.Vertices)))
	for _, p := range coefficients {
		at += copy(x[at:], m.Space.Vector(p))
	}
	if m.Free {
		copy(x[f.blocks()[2][0]:], geom.Numbers(geom.Shape(controls)))
	}
	if f.Noise = cmp.Or(m.Noise, noise); f.Noise == 0 {
		if f.Noise, err = f.guess(x[:f.blocks()[0][1]]); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	first, err := f.at(x)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	if math.IsNaN(first.value) || math.IsInf(first.value, 0) {
		return nil, nil, fmt.Errorf("%s: the objective at the start is %g, want a finite number: check coordinates and kernels", name, first.value)
	}
	a := &Atlas{Before: first.mismatch, Noise: f.Noise, Reach: 1}
	iterations := 0
	if coefficients == nil {
		// First the template moves in flows only; when all subjects are near, it takes the details that these have in common.
		f.scale[0] = 0
		rough, err := stats.Minimise(name, m.Space, 0.1, f.objective(), x, append(opts[:len(opts):len(opts)], stats.Tolerance(0.1))...)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		x, iterations = rough.X, rough.Iterations
	}
	found := &solve.Minimum{X: x}
	loose := m.Noise == 0
	for round := 0; ; round++ {
		now := opts
		if loose {
			now = append(opts[:len(opts):len(opts)], stats.Tolerance(0.3))
		}
		if found, err = f.search(name, found.X, now); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		iterations += found.Iterations
		if m.Noise > 0 || found.Status == geom.Cancelled {
			break
		}
		e, err := f.at(found.X)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		if err := f.noise(e, a); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		next := a.Noise / a.Reach
		change := math.Abs(math.Log(next / f.Noise))
		if !loose && change < 0.02 {
			break
		}
		if round == rounds {
			found.Status = geom.MaxIterations
			break
		}
		// A small σ is approached from above: there the valleys are wide.
		loose = change > 0.1
		f.Noise, f.last = math.Min(math.Max(next, f.Noise/2), f.Noise*2), nil
	}
	e, err := f.at(found.X)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	if a.Imbalance, a.Unsettled, err = f.balance(e); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	vertices, flat, q := f.split(found.X)
	a.Template = template.With(m.Space.Point(vertices)).Copy()
	a.Controls = m.Space.Point(q)
	coefficients = m.Space.Points(flat)
	for i := range subjects {
		a.Momenta = append(a.Momenta, m.Space.Point(f.momentum(i, flat)))
		a.Deformed = append(a.Deformed, a.Template.With(e.deformed[i]))
	}
	a.Mismatch, a.Energy = e.mismatch, e.energy
	a.Objective = floats.Sum(e.mismatch)/(2*a.Noise*a.Noise) + floats.Sum(e.energy)/(a.Reach*a.Reach)
	a.Iterations, a.Evaluations, a.Status = iterations, f.evaluations, found.Status
	if a.Folded = len(a.Template.Folds(template)); a.Folded > 0 && a.Status == geom.Converged {
		a.Status = geom.Stalled
	}
	return a, coefficients, f.fits(a, subjects)
}

// fits returns an error if the fast sums of a kernel hold in a box only and what was computed left it.
func (f *fit) fits(a *Atlas, subjects []*mesh.Mesh) error {
	type bounded interface {
		Fits(points [][]float64) error
	}
	flow, flowBounded := f.Space.Manifold.Kernel.(bounded)
	data, dataBounded := f.Norm.Kernel.(bounded)
	for i, s := range subjects {
		if flowBounded {
			if err := flow.Fits(slices.Concat(a.Controls, a.Template.Vertices, a.Deformed[i].Vertices)); err != nil {
				return fmt.Errorf("the kernel of the deformations, subject %d: %w", i, err)
			}
		}
		if dataBounded {
			if err := data.Fits(slices.Concat(s.Vertices, a.Deformed[i].Vertices)); err != nil {
				return fmt.Errorf("the kernel of the norm, subject %d: %w", i, err)
			}
		}
	}
	return nil
}
