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
	"anatomy/kernels"
	"anatomy/landmarks/mesh"
)

// steps is how many steps the search remembers: its valleys are long.
const steps = 100

// memory is how many bytes the intermediate values of one call may take, as estimated.
const memory = 1 << 30

// fit is the objective of a Model for given subjects. Subject i has the momentum Σ_k design_ik m_k with coefficients m_k: those of
// an atlas are the momenta themselves. The variables are the vertices of the template, one object after the other, the coefficients
// and, if they are free, the control points.
type fit struct {
	Model
	sigma    []float64 // of every object
	start    []*mesh.Mesh
	ends     []int // of the objects among the vertices of the template
	controls [][]float64
	design   [][]float64
	chunks   []chunk
	batch    int // how many subjects one call takes

	attach, energy, smooth, apply, pull *engine.Func

	stiff       float64       // 0.1 K(x, x), added to the kernel matrix of the control points where it is inverted: see landmarks.Space.Match
	gram        *mat.SymDense // K at the first control points
	metric      mat.Cholesky  // of K + stiff
	common      []float64     // w with Σ_k design_ik w_k = 1 for all i; nil where there is none
	scale       []float64     // of the preconditioner, for each of the blocks
	squares     []float64     // Σ_i ‖S_io‖² of every object
	evaluations int
	last        *evaluation
	bend        *bend // the last
	narrow      bool  // the search follows the template
}

// chunk is what one call needs of size subjects: of every object the middles d, [size, m, D], and weights e, [size, m, C], of their
// cells, padded with cells without size, and their squares, [size]. The last chunk is padded with empty subjects.
type chunk struct {
	subjects []int
	size     int
	measures []any
}

// evaluation is the objective with its gradient at x.
type evaluation struct {
	x, gradient []float64
	value       float64
	mismatch    [][]float64 // of subjects and objects
	energy      []float64
	pulls       [][]float64 // g_i: see Atlas
	deformed    [][][]float64
	motion      [][]float64 // K m_k
}

// loose says whether a noise is to be estimated.
func (m Model) loose() bool {
	return slices.ContainsFunc(m.Objects, func(o Object) bool { return o.Noise == 0 })
}

// Label returns the name of an object of a subject or of the template in errors: whose, and of several objects the ID or the number.
func (m Model) Label(whose string, o int) string {
	if len(m.Objects) == 1 {
		return whose
	}
	return fmt.Sprintf("%s, %s", whose, cmp.Or(m.Objects[o].ID, fmt.Sprintf("object %d", o)))
}

func (m Model) check(template []*mesh.Mesh, controls [][]float64, subjects [][]*mesh.Mesh) error {
	if m.Space == nil || len(m.Objects) == 0 {
		return errors.New("the model has no Space or no Objects")
	}
	name := func(i int) string {
		if i == len(subjects) {
			return "the template"
		}
		return fmt.Sprintf("subject %d", i)
	}
	for i, shape := range append(subjects[:len(subjects):len(subjects)], template) {
		if len(shape) != len(m.Objects) {
			return fmt.Errorf("%s has %d meshes, the model %d objects", name(i), len(shape), len(m.Objects))
		}
	}
	for o, object := range m.Objects {
		if object.Norm.Kernel == nil {
			return fmt.Errorf("%s has no Norm", m.Label("the model", o))
		}
		if !(object.Noise >= 0) || math.IsInf(object.Noise*object.Noise, 1) {
			return fmt.Errorf("%s: the noise is %g, want a positive number, or 0 to estimate it", m.Label("the model", o), object.Noise)
		}
		for i, shape := range append(subjects[:len(subjects):len(subjects)], template) {
			if shape[o] == nil {
				return fmt.Errorf("%s is nil", m.Label(name(i), o))
			}
			if err := object.Norm.Check(m.Label(name(i), o), shape[o]); err != nil {
				return err
			}
		}
		for i, s := range subjects {
			if err := mesh.CheckAlike(m.Label("the template", o), template[o], m.Label(name(i), o), s[o]); err != nil {
				return err
			}
			if err := object.plausible(template[o], m.Label(name(i), o), s[o]); err != nil {
				return err
			}
		}
		names, meshes := []string{m.Label("the template", o)}, []*mesh.Mesh{template[o]}
		for i, s := range subjects {
			names, meshes = append(names, m.Label(name(i), o)), append(meshes, s[o])
		}
		if err := object.Norm.CheckWidth(names, meshes); err != nil {
			return err
		}
		if d := len(template[o].Vertices[0]); d != m.Space.Manifold.D {
			return fmt.Errorf("%s is in R^%d, the space in R^%d", m.Label("the template", o), d, m.Space.Manifold.D)
		}
	}
	if err := m.Space.CheckNumbers("control points", controls); err != nil {
		return err
	}
	return m.Space.CheckRegular("control points", controls)
}

// plausible refuses a subject in another unit than the template, and one that is inside out where the norm sees it: no deformation
// brings these together, and a search would end somewhere.
func (o Object) plausible(template *mesh.Mesh, name string, s *mesh.Mesh) error {
	length := func(m *mesh.Mesh) float64 { return math.Pow(m.Size(), 1/float64(len(m.Cells[0])-1)) }
	const units = 7 // centimetres and millimetres differ by 10, animals of one kind by less
	if ratio := length(s) / length(template); ratio > units || ratio < 1.0/units {
		return fmt.Errorf("%s is %.3g times as large as the template: give both in one unit, or scale it by Align", name, ratio)
	}
	if o.Norm.Varifold {
		return nil
	}
	// Of open ones there is no volume, and no telling.
	if a, err := template.Volume(); err == nil {
		if b, err := s.Volume(); err == nil && a*b < 0 {
			return fmt.Errorf("%s is inside out as the template sees it: Flip it, or take varifolds", name)
		}
	}
	return nil
}

func newFit(m Model, template []*mesh.Mesh, controls [][]float64, subjects [][]*mesh.Mesh, design [][]float64) (*fit, error) {
	f, err := uncut(m, template, controls, subjects, design)
	if err != nil {
		return nil, err
	}
	return f, f.cut(subjects, f.batch)
}

// uncut is a fit without chunks.
func uncut(m Model, template []*mesh.Mesh, controls [][]float64, subjects [][]*mesh.Mesh, design [][]float64) (*fit, error) {
	m.Objects = slices.Clone(m.Objects)
	f := &fit{Model: m, start: template, controls: controls, design: design}
	f.scale = slices.Repeat([]float64{1}, len(m.Objects)+2)
	end := 0
	for o, t := range template {
		if m.Objects[o].Smoothing == nil {
			m.Objects[o].Smoothing = m.Objects[o].Norm.Kernel
		}
		end += len(t.Vertices)
		f.sigma, f.ends = append(f.sigma, m.Objects[o].Noise), append(f.ends, end)
	}
	f.attach = engine.Compile(func(in []*Node) []*Node {
		q, p, z, precision, subjects := in[0], in[1], in[2], in[3], in[4:]
		batch := p.Shape().Dim(0)
		qs, zs := BroadcastPrefix(q, batch), BroadcastPrefix(z, batch)
		end := m.Space.CarryOnGraph(qs, p, zs)
		var mismatch []*Node
		for o, object := range m.Objects {
			middles, weights, square := subjects[3*o], subjects[3*o+1], subjects[3*o+2]
			c, b := f.measure(end, o)
			mismatch = append(mismatch, Add(Sub(object.Norm.Square(c, b), MulScalar(object.Norm.Inner(c, b, middles, weights), 2)), square))
		}
		all := Stack(mismatch, -1)
		by := []*Node{p, zs}
		if m.Free {
			by = append(by, qs)
		}
		return append([]*Node{all, end}, Gradient(ReduceAllSum(Mul(all, BroadcastPrefix(precision, batch))), by...)...)
	}, engine.Name("atlas"))
	f.energy = engine.Compile(func(in []*Node) []*Node {
		q, p := in[0], in[1]
		v, force := m.Space.Manifold.Hamilton(BroadcastPrefix(q, p.Shape().Dim(0)), p)
		return []*Node{MulScalar(ReduceSum(Mul(p, v), -1), 0.5), v, ReduceSum(force, 0)}
	}, engine.Name("atlas energy"))
	f.smooth = engine.Compile(func(in []*Node) []*Node {
		var smooth []*Node
		for o, object := range m.Objects {
			z := f.rows(in[0], o)
			smooth = append(smooth, object.Smoothing.Sum(z, z, f.rows(in[1], o)))
		}
		return []*Node{Concatenate(smooth, -2)}
	}, engine.Name("atlas smoothing"))
	f.apply = engine.Compile(func(in []*Node) []*Node {
		return []*Node{m.Space.Manifold.Kernel.Sum(in[0], in[1], in[2])}
	}, engine.Name("atlas velocities"))
	f.pull = engine.Compile(func(in []*Node) []*Node {
		z := BroadcastPrefix(in[0], in[1].Shape().Dim(0))
		moved := Add(z, in[1])
		miss := ScalarZero(z.Graph(), z.DType())
		for o, object := range m.Objects {
			c, b := f.measure(moved, o)
			e, w := f.measure(z, o)
			miss = Add(miss, ReduceAllSum(Sub(MulScalar(object.Norm.Square(c, b), 0.5), object.Norm.Inner(c, b, e, w))))
		}
		return []*Node{Gradient(miss, moved)[0]}
	}, engine.Name("atlas bend"))
	f.batch = f.chunkOf(subjects)
	if err := f.metrics(); err != nil {
		return nil, err
	}
	return f, f.reaches()
}

// reaches returns an error where the kernel of the deformations or the control points are in another unit than the template, whose
// vertices they do not move, or move all alike.
func (f *fit) reaches() error {
	const none, all = 1e-3, 0.98
	ones := make([][]float64, len(f.controls))
	for i := range ones {
		ones[i] = slices.Repeat([]float64{1}, f.Space.Manifold.D)
	}
	out, err := f.apply.Call(mesh.Vertices(f.start), f.controls, ones)
	if err != nil {
		return err
	}
	least, beyond, count := math.Inf(1), 0, f.ends[len(f.ends)-1]
	for _, row := range out.Matrix(0) {
		k := row[0] / f.gram.At(0, 0)
		if least = math.Min(least, k); k < none {
			beyond++
		}
	}
	switch n := float64(len(f.controls)); {
	case 2*beyond > count:
		return fmt.Errorf("%d of the %d vertices of the template are out of reach of the control points, by the kernel %s: are these, or its width, in another unit?", beyond, count, f.Space.Manifold.Kernel)
	case n > 1 && least > all*n:
		return fmt.Errorf("the kernel of the deformations, %s, is much wider than the template and the control points, all of which it moves alike: is its width in another unit?", f.Space.Manifold.Kernel)
	}
	return nil
}

// spacing is the least of those of the objects of the template.
func (f *fit) spacing() float64 {
	least := math.Inf(1)
	for _, t := range f.start {
		least = math.Min(least, t.Spacing())
	}
	return least
}

// rows are those of an object among all vertices, [..., n, D].
func (f *fit) rows(x *Node, o int) *Node {
	return SliceAxis(x, -2, AxisRange(f.ends[o]-len(f.start[o].Vertices), f.ends[o]))
}

// part is that of an object in the numbers of all vertices.
func (f *fit) part(x []float64, o int) []float64 {
	d := f.Space.Manifold.D
	return x[(f.ends[o]-len(f.start[o].Vertices))*d : f.ends[o]*d]
}

// measure is that of an object of the template with all vertices x.
func (f *fit) measure(x *Node, o int) (c, b *Node) {
	cells := f.start[o].Cells
	return f.Objects[o].Norm.Measure(f.rows(x, o), Const(x.Graph(), cells))
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
func (f *fit) chunkOf(subjects [][]*mesh.Mesh) int {
	cells := 0
	for o, t := range f.start {
		most := len(t.Cells)
		for _, s := range subjects {
			most = max(most, len(s[o].Cells))
		}
		cells += most
	}
	// A flow is kept at about 2√steps times, and within a step at some stages; a measure with its derivatives is
	// some 100 numbers a cell.
	kept := 2*math.Sqrt(float64(f.Space.Steps())) + 12
	each := 8 * (float64((f.ends[len(f.ends)-1]+2*len(f.controls))*f.Space.Manifold.D)*kept + 100*float64(cells))
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
	f.stiff, f.gram = 0.1*k.At(0, 0), mat.NewSymDense(n, nil)
	f.gram.CopySym(k)
	for i := range n {
		k.SetSym(i, i, k.At(i, i)+f.stiff)
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

// cut computes what the subjects are compared by, once, in chunks of a size; or of some subjects only, as it is for all.
func (f *fit) cut(subjects [][]*mesh.Mesh, size int, some ...int) error {
	f.squares, f.chunks = make([]float64, len(f.Objects)), nil
	if some == nil {
		for i := range subjects {
			some = append(some, i)
		}
	}
	for c := range slices.Chunk(some, size) {
		f.chunks = append(f.chunks, chunk{subjects: c, size: size})
	}
	for o, object := range f.Objects {
		cells, vertices, order := 0, 0, len(f.start[o].Cells[0])
		for _, s := range subjects {
			cells, vertices = max(cells, len(s[o].Cells)), max(vertices, len(s[o].Vertices))
		}
		measure := engine.Compile(func(in []*Node) []*Node {
			c, b := object.Norm.Measure(in[0], Reshape(in[1], -1, order))
			shaped := func(x *Node) *Node { return Reshape(x, size, cells, x.Shape().Dim(-1)) }
			c, b = shaped(c), shaped(b)
			return []*Node{c, b, object.Norm.Square(c, b)}
		}, engine.Name("atlas subjects"))
		defer measure.Free()
		for k := range f.chunks {
			c := &f.chunks[k]
			var x [][]float64
			var all []int
			for b := range size {
				s := subjects[c.subjects[min(b, len(c.subjects)-1)]][o]
				for i := range cells {
					for k := range order {
						v := 0
						if i < len(s.Cells) && b < len(c.subjects) {
							v = s.Cells[i][k]
						}
						all = append(all, len(x)+v)
					}
				}
				for i := range vertices {
					x = append(x, s.Vertices[min(i, len(s.Vertices)-1)])
				}
			}
			out, err := measure.Call(x, all)
			if err != nil {
				return err
			}
			c.measures = append(c.measures, out.Array3(0), out.Array3(1), out.Vector(2))
			f.squares[o] += floats.Sum(out.Vector(2))
		}
	}
	return nil
}

// split returns the vertices, the coefficients and the control points that x holds.
func (f *fit) split(x []float64) (vertices []float64, coefficients [][]float64, controls []float64) {
	n, k := f.ends[len(f.ends)-1]*f.Space.Manifold.D, f.Space.Manifold.Dim()
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
	e := &evaluation{x: x, gradient: make([]float64, len(x)), mismatch: make([][]float64, len(f.design)), pulls: make([][]float64, len(f.design)), deformed: make([][][]float64, len(f.design))}
	n, k := len(vertices), len(controls)
	precision := f.precision()
	atControls := make([]float64, k)
	z := engine.Unflatten(vertices, d)
	for _, c := range f.chunks {
		p := make([][]float64, c.size)
		for b := range p {
			if p[b] = make([]float64, k); b < len(c.subjects) {
				p[b] = f.momentum(c.subjects[b], coefficients)
			}
		}
		out, err := f.attach.Call(append([]any{controls, p, z, precision}, c.measures...)...)
		if err != nil {
			return nil, err
		}
		mismatch, end, byMomentum, byVertex := out.Matrix(0), out.Array3(1), out.Matrix(2), out.Flat(3)
		for b, i := range c.subjects {
			e.mismatch[i], e.deformed[i] = mismatch[b], end[b]
			e.value += floats.Dot(precision, mismatch[b])
			e.pulls[i] = append([]float64{}, byVertex[b*n:(b+1)*n]...)
			floats.Add(e.gradient[:n], e.pulls[i])
			for l, w := range f.design[i] {
				floats.AddScaled(e.gradient[n+l*k:n+(l+1)*k], w, byMomentum[b])
			}
			if f.Free {
				floats.Add(atControls, out.Matrix(4)[b])
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

// precision is 1/2σ² of every object.
func (f *fit) precision() []float64 {
	out := make([]float64, len(f.sigma))
	for o, sigma := range f.sigma {
		out[o] = 1 / (2 * sigma * sigma)
	}
	return out
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
	n, k := f.ends[len(f.ends)-1]*f.Space.Manifold.D, f.Space.Manifold.Dim()
	m := n + len(f.design[0])*k
	end := m
	if f.Free {
		end += k
	}
	return [3][2]int{{0, n}, {n, m}, {m, end}}
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

// precondition takes a gradient to a step, by an approximate inverse of the second derivatives: a smoothed gradient of the
// template, and (K + stiff)⁻¹ times those by the coefficients, each with its scale. A template that moves in the flow of common
// momenta while all momenta change by the opposite keeps its distances, nearly: the last part of the inverse steps along this
// valley, where the second derivative is that of the energies alone.
func (f *fit) precondition(g []float64) ([]float64, error) {
	d := f.Space.Manifold.D
	at := f.blocks()
	out := make([]float64, len(g))
	byVertex := engine.Unflatten(g[:at[0][1]], d)
	start := mesh.Vertices(f.start)
	v, err := f.smooth.Call(start, byVertex)
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
	for b, r := range f.scaled() {
		floats.Scale(f.scale[b], out[r[0]:r[1]])
	}
	if f.common == nil {
		return out, nil
	}
	if v, err = f.apply.Call(f.controls, start, byVertex); err != nil {
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
	if v, err = f.apply.Call(start, f.controls, engine.Unflatten(valley, d)); err != nil {
		return nil, err
	}
	floats.Add(out[:at[0][1]], v.Flat(0))
	return out, nil
}

// outer is what x holds of the template and of free control points.
func (f *fit) outer(x []float64) []float64 {
	at := f.blocks()[1]
	return slices.Concat(x[:at[0]], x[at[1]:])
}

// outward takes a gradient by the variables of outer to a step.
func (f *fit) outward(g []float64) ([]float64, error) {
	at := f.blocks()
	step, err := f.precondition(slices.Concat(g[:at[1][0]], make([]float64, at[1][1]-at[1][0]), g[at[1][0]:]))
	if err != nil {
		return nil, err
	}
	return f.outer(step), nil
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

// lengths are ‖g‖² of the parts of every object in derivatives g by the vertices z, in the norms of the smoothing kernels.
func (f *fit) lengths(z, g []float64) ([]float64, error) {
	d := f.Space.Manifold.D
	out, err := f.smooth.Call(engine.Unflatten(z, d), engine.Unflatten(g, d))
	if err != nil {
		return nil, err
	}
	s := make([]float64, len(f.Objects))
	for o := range s {
		s[o] = math.Max(0, floats.Dot(f.part(g, o), f.part(out.Flat(0), o)))
	}
	return s, nil
}

// soft returns what solve.Objective.Soft is for one momentum, as for landmarks.Space.Match: of K + βK², whose β is that of the
// preconditioner's scale, where covectors of all directions count the same.
func (f *fit) soft() (func(g []float64) float64, error) {
	n := f.gram.SymmetricDim()
	var bend mat.Dense
	bend.Mul(f.gram, f.gram)
	stiffness := math.Max(0, 1/f.scale[len(f.Objects)]-1) * mat.Trace(f.gram) / mat.Trace(&bend)
	bend.Scale(stiffness, &bend)
	bend.Add(&bend, f.gram)
	whole := symmetric(&bend)
	for i := range n {
		whole.SetSym(i, i, whole.At(i, i)+1e-6*mat.Trace(f.gram)) // smaller eigenvalues are not known
	}
	var factor mat.Cholesky
	if !factor.Factorize(whole) {
		return nil, errors.New("the kernel matrix of the control points is not positive definite")
	}
	return func(g []float64) float64 {
		right := mat.NewDense(n, len(g)/n, slices.Clone(g))
		var x mat.Dense
		if err := factor.SolveTo(&x, right); err != nil && !errors.As(err, new(mat.Condition)) {
			panic(err) // the shapes are right
		}
		return floats.Dot(x.RawMatrix().Data, g) / (20 * 20)
	}, nil
}

// length is ‖r‖² of derivatives r by one momentum: see Atlas.Unsettled.
func (f *fit) length(r []float64) float64 {
	v := make([]float64, len(r))
	f.solve(v, r)
	return math.Max(0, floats.Dot(v, r))
}

// share is √(a/b), and 0 where a is 0.
func share(a, b float64) float64 {
	if a == 0 {
		return 0
	}
	return math.Sqrt(a / b)
}

// imbalance returns Imbalance and Unsettled, see Atlas, from sums over the subjects: of every object ‖Σ g_i‖², Σ ‖g_i‖² and the
// mismatch, Σ ‖r_i‖² and the energy.
func (f *fit) imbalance(total, apart, mismatch []float64, missed, energy float64) (imbalance, unsettled float64) {
	same := true
	for o := range f.Objects {
		if mismatch[o] > 1e-12*f.squares[o] { // else all subjects are the template
			imbalance, same = math.Max(imbalance, share(total[o], apart[o])), false
		}
	}
	least := 1e-12 * floats.Dot(f.squares, f.precision())
	if same && energy <= least {
		return 0, 0
	}
	return imbalance, share(missed, 2*math.Max(energy, least)) // where nothing moved yet, there is no energy
}

// balance returns Imbalance and Unsettled at an evaluation.
func (f *fit) balance(e *evaluation) (imbalance, unsettled float64, err error) {
	at := f.blocks()
	z := e.x[:at[0][1]]
	total, err := f.lengths(z, e.gradient[:at[0][1]])
	if err != nil {
		return 0, 0, err
	}
	apart := make([]float64, len(f.Objects))
	for _, g := range e.pulls {
		s, err := f.lengths(z, g)
		if err != nil {
			return 0, 0, err
		}
		floats.Add(apart, s)
	}
	missed := 0.0
	for r := range slices.Chunk(e.gradient[at[1][0]:at[1][1]], f.Space.Manifold.Dim()) {
		missed += f.length(r)
	}
	imbalance, unsettled = f.imbalance(total, apart, sums(e.mismatch), missed, floats.Sum(e.energy))
	return imbalance, unsettled, nil
}

// calibrate sets the scales of the preconditioner by the second derivatives at x along a random step of each kind of variables.
func (f *fit) calibrate(x []float64) error {
	start, err := f.at(x)
	if err != nil {
		return err
	}
	want, bend, err := f.bends(start, func(int) bool { return true })
	if err != nil {
		return err
	}
	f.rescale(want, bend)
	return nil
}

// rescale sets those scales of the preconditioner for which the second derivatives have the sign of a minimum.
func (f *fit) rescale(want, bend []float64) {
	for b := range f.scale {
		if bend[b] > 0 { // else x is far from a minimum
			f.scale[b] = want[b] / bend[b]
		}
	}
}

// bends returns the second derivatives at start along a random step of each of those kinds of variables that are wanted, in the order
// of scaled, and what they would be if the preconditioner without its scales were their inverse. Other kinds have zeros.
func (f *fit) bends(start *evaluation, wanted func(kind int) bool) (want, bend []float64, err error) {
	want, bend = make([]float64, len(f.scale)), make([]float64, len(f.scale))
	x := start.x
	random := rand.New(rand.NewPCG(1, 1))
	size, d := f.Space.Manifold.Dim(), f.Space.Manifold.D
	spacing := f.spacing()
	for b, r := range f.scaled() {
		if r[0] == r[1] || !wanted(b) {
			continue
		}
		step := make([]float64, len(x))
		way := step[r[0]:r[1]]
		for i := range way {
			way[i] = random.NormFloat64()
		}
		// With the metric M of a kind, and a random covector ξ, the step is M ξ, and ξᵀ M ξ what its second derivative shall be.
		want[b] = floats.Dot(way, way)
		length := floats.Norm(way, math.Inf(1))
		switch objects := len(f.Objects); {
		case b < objects:
			v, err := f.smooth.Call(mesh.Vertices(f.start), engine.Unflatten(step[:f.blocks()[0][1]], d))
			if err != nil {
				return nil, nil, err
			}
			smooth := f.part(v.Flat(0), b)
			want[b] = floats.Dot(way, smooth)
			copy(way, smooth)
			length = floats.Norm(way, math.Inf(1))
		case b == objects:
			out, err := f.energy.Call(geom.Numbers(geom.Shape(f.controls)), engine.Unflatten(way, size))
			if err != nil {
				return nil, nil, err
			}
			length, want[b] = floats.Norm(out.Flat(1), math.Inf(1)), 2*floats.Sum(out.Vector(0))
		}
		t := 1e-3 * spacing / length
		after, err := f.evaluate(floats.AddScaledTo(make([]float64, len(x)), x, t, step))
		if err != nil {
			return nil, nil, err
		}
		bend[b] = (floats.Dot(way, after.gradient[r[0]:r[1]]) - floats.Dot(way, start.gradient[r[0]:r[1]])) / t
	}
	return want, bend, nil
}

// bounded is a value with its gradient for solve.Minimise: infinite where either is no number.
func bounded(value float64, gradient []float64) (float64, []float64, error) {
	if sum := value + floats.Norm(gradient, 1); math.IsNaN(sum) || math.IsInf(sum, 0) {
		value = math.Inf(1)
	}
	return value, gradient, nil
}

// limits are those of a search with the default number of iterations.
func limits(tolerance float64) solve.Limits {
	return solve.Limits{Tolerance: tolerance, MaxIterations: 500}
}

// patience is how many steps the search takes in all variables at once, unless told otherwise, before it follows the template.
const patience = 200

// search minimises the objective from x, for a noise.
func (f *fit) search(name string, x []float64, opts []solve.Option) (*solve.Minimum, error) {
	found := &solve.Minimum{X: x, Status: geom.IterationLimit}
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
		if found, err = o.Run(name, f.Space, x, solve.Limits{Tolerance: 0.03, MaxIterations: patience}, opts...); err != nil {
			return nil, err
		}
	}
	if found.Status != geom.IterationLimit || f.Space.Manifold.Dim() > widest {
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

// renewals is how often the noise is estimated anew at most.
const renewals = 20

// annealing is where the estimate of a noise stands.
type annealing struct {
	Loose    bool    // the noise is still far from what it will be, and the search may be rough
	Rough    float64 // the tolerance of a rough search
	Renewals int     // how often it was estimated, until it held
}

// tolerance is that of the next search, if the last shall have the one given.
func (s annealing) tolerance(last float64) float64 {
	if s.Loose && s.Rough >= 0.1 {
		return s.Rough
	}
	return last
}

// anneal estimates Noise, Reach and Parts of an atlas at the end of a search that took a number of iterations, and chooses f.sigma
// for the next one. It is done if the noise holds, or was estimated too often.
func (f *fit) anneal(s *annealing, e *evaluation, a *Atlas, iterations int) (done bool, err error) {
	if iterations == 0 {
		// Momenta that are as small as noise change with σ: where nothing was to do, neither noise nor reach are new.
		s.Rough /= 3
	}
	if err := f.noise(e, a); err != nil {
		return false, err
	}
	next, change := make([]float64, len(f.sigma)), 0.0
	for o, sigma := range f.sigma {
		next[o] = a.Noise[o] / a.Reach
		change = math.Max(change, math.Abs(math.Log(next[o]/sigma)))
	}
	if !s.Loose && change < 0.02 {
		return true, nil
	}
	if s.Renewals++; s.Renewals > renewals {
		return true, nil
	}
	// A small σ is approached from above: there the valleys are wide.
	s.Loose = change > 0.1
	for o, sigma := range f.sigma {
		f.sigma[o] = math.Min(math.Max(next[o], sigma/2), sigma*2)
	}
	f.last = nil
	return false, nil
}

// estimate minimises the objective, from coefficients or, if they are nil, from 0, and returns what it found with the coefficients. If
// flowing, the template moves in flows only at first. Noise that is to be estimated starts at the one given, unless that is nil.
func (m Model) estimate(name string, template []*mesh.Mesh, controls [][]float64, coefficients [][][]float64, noise []float64, flowing bool, subjects [][]*mesh.Mesh, design [][]float64, opts []solve.Option) (*Atlas, [][][]float64, error) {
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
	at := copy(x, geom.Numbers(geom.Shape(mesh.Vertices(template))))
	for _, p := range coefficients {
		at += copy(x[at:], m.Space.Vector(p))
	}
	if m.Free {
		copy(x[f.blocks()[2][0]:], geom.Numbers(geom.Shape(controls)))
	}
	loose := m.loose()
	if loose {
		if noise == nil {
			if noise, err = f.guess(x[:f.blocks()[0][1]]); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		for o, object := range m.Objects {
			f.sigma[o] = cmp.Or(object.Noise, noise[o])
		}
	}
	first, err := f.at(x)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	if math.IsNaN(first.value) || math.IsInf(first.value, 0) {
		return nil, nil, fmt.Errorf("%s: the objective at the start is %g, want a finite number: check coordinates and kernels", name, first.value)
	}
	a := &Atlas{Before: first.mismatch, Noise: slices.Clone(f.sigma), Reach: 1}
	iterations := 0
	if flowing {
		// When all subjects are near, the template takes the details that these have in common.
		clear(f.scale[:len(f.Objects)])
		rough, err := f.objective().Run(name, m.Space, x, limits(0.1), append(opts[:len(opts):len(opts)], solve.Tolerance(0.1))...)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		x, iterations, a.Flowing = rough.X, rough.Iterations, rough.Status == geom.Cancelled
	}
	found, stage := &solve.Minimum{X: x}, annealing{Loose: loose, Rough: 0.3}
	for {
		now := opts
		if rough := stage.tolerance(0); rough > 0 {
			now = append(opts[:len(opts):len(opts)], solve.Tolerance(rough))
		}
		if found, err = f.search(name, found.X, now); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		iterations += found.Iterations
		if !loose || found.Status == geom.Cancelled {
			break
		}
		e, err := f.at(found.X)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		done, err := f.anneal(&stage, e, a, found.Iterations)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		if stage.Renewals > renewals {
			found.Status = geom.IterationLimit
		}
		if done {
			break
		}
	}
	e, err := f.at(found.X)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	a.Iterations, a.Status = iterations, found.Status
	if err := f.finish(a, e, subjects); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	_, flat, _ := f.split(found.X)
	return a, m.Space.Points(flat), nil
}

// finish sets what an atlas, of which noise, status and iterations are known, is at an evaluation.
func (f *fit) finish(a *Atlas, e *evaluation, subjects [][]*mesh.Mesh) (err error) {
	if a.Imbalance, a.Unsettled, err = f.balance(e); err != nil {
		return err
	}
	z, flat, q := f.split(e.x)
	for _, t := range with(f.start, f.Space.Point(z)) {
		a.Template = append(a.Template, t.Copy())
	}
	a.Controls = f.Space.Point(q)
	for i := range subjects {
		a.Momenta = append(a.Momenta, f.Space.Point(f.momentum(i, flat)))
		a.Deformed = append(a.Deformed, with(a.Template, e.deformed[i]))
	}
	a.Mismatch, a.Energy, a.Evaluations = e.mismatch, e.energy, f.evaluations
	a.Objective = floats.Sum(e.energy) / (a.Reach * a.Reach)
	for o, mismatch := range sums(e.mismatch) {
		a.Objective += mismatch / (2 * a.Noise[o] * a.Noise[o])
	}
	a.folds(a.Template, f.start)
	if err := f.fits(a, subjects); err != nil {
		return err
	}
	for _, p := range a.Momenta {
		g, err := f.Space.ShootInexact(a.Controls, p)
		if err != nil {
			return err
		}
		a.Drift = math.Max(a.Drift, g.Drift)
	}
	if a.Drift > geom.MaxDrift && a.Status == geom.Converged {
		a.Status = geom.Stalled
	}
	return nil
}

// match minimises the objective over the one momentum of x. It has converged where unsettled of an evaluation is at most the tolerance;
// without unsettled the test is that of solve.Minimise.
func (f *fit) match(name string, x []float64, tolerance float64, unsettled func(e *evaluation) float64, opts []solve.Option) (*solve.Minimum, *evaluation, error) {
	from, to := f.blocks()[1][0], f.blocks()[1][1]
	at := func(p []float64) (*evaluation, error) { return f.evaluate(slices.Concat(x[:from], p, x[to:])) }
	seen := map[*float64]float64{}
	o := solve.Objective{
		Value: func(p []float64) (float64, []float64, error) {
			e, err := at(p)
			if err != nil {
				return 0, nil, err
			}
			if unsettled != nil {
				seen[&p[0]] = unsettled(e)
			}
			return bounded(e.value, e.gradient[from:to])
		},
		Precondition: func(g []float64) ([]float64, error) {
			out := make([]float64, len(g))
			f.solve(out, g)
			return out, nil
		},
		FirstStep: f.scale[len(f.Objects)],
	}
	if unsettled != nil {
		o.Residual = func(p []float64) (float64, error) { return seen[&p[0]], nil }
	} else {
		soft, err := f.soft()
		if err != nil {
			return nil, nil, err
		}
		o.Soft = soft
	}
	found, err := o.Run(name, f.Space, x[from:to], limits(tolerance), opts...)
	if err != nil {
		return nil, nil, err
	}
	e, err := at(found.X)
	return found, e, err
}

// Register returns the match of a template, which stays as it is, to one subject, as an atlas of that subject: it is
// landmarks.Space.MatchFrom for several objects. Its Status does not speak of Imbalance, which is not 0. It is Stalled where cells of the
// deformed template are folded, which needs a wider kernel of the deformations or more noise, and where the integrator's steps are too
// few. The options are solve.Tolerance (default 0.003; see solve.Minimise) and solve.MaxIterations (500).
func (m Model) Register(template []*mesh.Mesh, controls [][]float64, subject []*mesh.Mesh, opts ...solve.Option) (*Atlas, error) {
	const name = "registration"
	subjects := [][]*mesh.Mesh{subject}
	m.Free = false
	if err := m.check(template, controls, subjects); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if m.loose() {
		return nil, fmt.Errorf("%s: the noise of one subject cannot be estimated: give Noise", name)
	}
	f, err := newFit(m, template, controls, subjects, identity(1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer f.free()
	x := append(slices.Clone(geom.Numbers(geom.Shape(mesh.Vertices(template)))), make([]float64, m.Space.Manifold.Dim())...)
	before, err := f.at(x)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := f.calibrate(x); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	found, end, err := f.match(name, x, 0.003, nil, opts)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	a := &Atlas{Before: before.mismatch, Noise: f.sigma, Reach: 1, Iterations: found.Iterations, Status: found.Status}
	if err := f.finish(a, end, subjects); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	a.folds(a.Deformed[0], template)
	return a, nil
}

// folds counts the cells of a shape that are folded and were not before, of which none is left where a search has converged.
func (a *Atlas) folds(shape, before []*mesh.Mesh) {
	for o, t := range shape {
		a.Folded += len(t.Folds(before[o]))
	}
	if a.Folded > 0 && a.Status == geom.Converged {
		a.Status = geom.Stalled
	}
}

// fits returns an error if the fast sums of a kernel hold in a box only and what was computed left it.
func (f *fit) fits(a *Atlas, subjects [][]*mesh.Mesh) error {
	for i, s := range subjects {
		if err := hold(f.Space.Manifold.Kernel, a.Controls, mesh.Vertices(a.Template), mesh.Vertices(a.Deformed[i])); err != nil {
			return fmt.Errorf("the kernel of the deformations, subject %d: %w", i, err)
		}
		if err := f.comparable(fmt.Sprintf("subject %d", i), s, a.Deformed[i]); err != nil {
			return err
		}
	}
	return nil
}

// comparable returns an error if the fast sums of a norm hold in a box only in which two shapes are not.
func (m Model) comparable(name string, s, other []*mesh.Mesh) error {
	for o, object := range m.Objects {
		if err := hold(object.Norm.Kernel, s[o].Vertices, other[o].Vertices); err != nil {
			return fmt.Errorf("the kernel of the norm, %s: %w", m.Label(name, o), err)
		}
	}
	return nil
}

// hold returns an error if the sums of a kernel hold in a box only in which points are not.
func hold(k kernels.Kernel, points ...[][]float64) error {
	if k, bounded := k.(interface {
		Fits(points [][]float64) error
	}); bounded {
		return k.Fits(slices.Concat(points...))
	}
	return nil
}
