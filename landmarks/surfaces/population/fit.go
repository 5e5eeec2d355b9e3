package population

import (
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/shape"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/surfaces/mesh"
)

// callMemory is how many bytes the intermediate values of one call of several subjects may take, as estimated.
const callMemory = 1 << 30

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
	perCall  int     // how many subjects one call takes
	calls    float64 // bytes of the intermediate values of one call, as estimated

	functions
	metric // of momenta

	scale       []float64 // of the preconditioner: of each object, of the momenta, of the control points
	squares     []float64 // Σ_i ‖S_io‖² of every object
	evaluations int
	last        *evaluation
	hessian     *dataHessian // the last
	out         []*mat.Dense // where landmarks are placed, see outwards
	frozen      bool         // template and control points stay
	on          *geom.Task   // whose parts the searches are; nil: they run on the space
	stiff       *stiffness   // of the steps of a hypertemplate, once it is known
	response    *response    // of the momenta, once it is known
}

// functions are the compiled ones of a fit.
type functions struct {
	dataTerms    *engine.Func // (q, p, z, precision, subjects) → ‖φ_i(T_o) − S_io‖², φ_i(z), and the gradients of their weighted sum
	energy       *engine.Func // (q, p) → ½ pᵀ K p, K p, and the sum of the derivatives by q
	smooth       *engine.Func // (z, g) → the smoothing kernels' sums over g
	kernelSums   *engine.Func // (x, y, p) → Σ_j K(x_i, y_j) p_j
	dataGradient *engine.Func // (z, u) → the gradient of ½‖T + u − T‖² by u, at z = T
	endPulls     *engine.Func // (z, precision, subjects) → the gradient of the weighted sum of ‖z_io − S_io‖² by z, for deformed vertices z_i
}

// chunk holds the measures of the subjects of one call, size of them: of every object the middles d, [size, m, D], and weights e, [size, m, C], of their
// cells, padded with cells without size, and their squares, [size]. The last chunk is padded with empty subjects.
type chunk struct {
	subjects []int
	size     int
	measures engine.Values
}

// after returns arguments with the measures behind them.
func (c chunk) after(args ...any) []any {
	for _, m := range c.measures {
		args = append(args, m)
	}
	return args
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

func newFit(m Model, template []*mesh.Mesh, controls [][]float64, subjects [][]*mesh.Mesh, design [][]float64) *fit {
	f := compileFit(m, template, controls, subjects, design)
	f.measureSubjects(subjects, f.perCall)
	return f
}

// compileFit returns a fit whose subjects are not measured yet.
func compileFit(m Model, template []*mesh.Mesh, controls [][]float64, subjects [][]*mesh.Mesh, design [][]float64) *fit {
	m.Objects = slices.Clone(m.Objects)
	f := &fit{Model: m, start: template, controls: controls, design: design}
	f.scale = m.noScales()
	end := 0
	for o, t := range template {
		if m.Objects[o].Smoothing == nil {
			m.Objects[o].Smoothing = m.Objects[o].Norm.Kernel
		}
		end += len(t.Vertices)
		f.sigma, f.ends = append(f.sigma, m.Objects[o].Noise), append(f.ends, end)
	}
	f.functions = f.compile()
	f.shareOut(subjects)
	f.metric = newMetric(m.Space.Manifold.Kernel, controls)
	f.checkReach()
	return f
}

// noScales are those of a preconditioner before they are known: of a hypertemplate no vertex moves for itself.
func (m Model) noScales() []float64 {
	scale := slices.Repeat([]float64{1}, len(m.Objects)+2)
	if m.Hypertemplate {
		clear(scale[:len(m.Objects)])
	}
	return scale
}

func (f *fit) compile() functions {
	k := f.Space.Manifold.Kernel
	return functions{
		engine.Compile(f.dataTermsGraph, engine.Name("atlas")),
		engine.Compile(func(in []*Node) []*Node {
			q, p := in[0], in[1]
			v, force := f.Space.Manifold.Hamilton(BroadcastPrefix(q, p.Shape().Dim(0)), p)
			return []*Node{MulScalar(ReduceSum(Mul(p, v), -1), 0.5), v, ReduceSum(force, 0)}
		}, engine.Name("atlas energy")),
		engine.Compile(func(in []*Node) []*Node {
			var smooth []*Node
			for o, object := range f.Objects {
				z := f.rows(in[0], o)
				smooth = append(smooth, object.Smoothing.Sum(z, z, f.rows(in[1], o)))
			}
			return []*Node{Concatenate(smooth, -2)}
		}, engine.Name("atlas smoothing")),
		engine.Compile(func(in []*Node) []*Node { return []*Node{k.Sum(in[0], in[1], in[2])} }, engine.Name("atlas velocities")),
		engine.Compile(f.dataGradientGraph, engine.Name("atlas data gradient")),
		engine.Compile(func(in []*Node) []*Node {
			z, precision, subjects := in[0], in[1], in[2:]
			return []*Node{Gradient(ReduceAllSum(Mul(f.mismatches(z, subjects), BroadcastPrefix(precision, z.Shape().Dim(0)))), z)[0]}
		}, engine.Name("atlas pulls")),
	}
}

func (f *fit) dataTermsGraph(in []*Node) []*Node {
	q, p, z, precision, subjects := in[0], in[1], in[2], in[3], in[4:]
	batch := p.Shape().Dim(0)
	qs, zs := BroadcastPrefix(q, batch), BroadcastPrefix(z, batch)
	end := f.Space.TransformOnGraph(qs, p, zs)
	all := f.mismatches(end, subjects)
	by := []*Node{p, zs}
	if f.Free {
		by = append(by, qs)
	}
	return append([]*Node{all, end}, Gradient(ReduceAllSum(Mul(all, BroadcastPrefix(precision, batch))), by...)...)
}

// mismatches are ‖T_o − S_io‖² of subjects i and objects o, for the measures of a chunk and vertices of all of them, [size, n, D].
func (f *fit) mismatches(vertices *Node, subjects []*Node) *Node {
	var mismatch []*Node
	for o, object := range f.Objects {
		middles, weights, square := subjects[3*o], subjects[3*o+1], subjects[3*o+2]
		c, b := f.measure(vertices, o)
		mismatch = append(mismatch, Add(Sub(object.Norm.Square(c, b), MulScalar(object.Norm.Inner(c, b, middles, weights), 2)), square))
	}
	return Stack(mismatch, -1)
}

func (f *fit) dataGradientGraph(in []*Node) []*Node {
	z := BroadcastPrefix(in[0], in[1].Shape().Dim(0))
	moved := Add(z, in[1])
	miss := ScalarZero(z.Graph(), z.DType())
	for o, object := range f.Objects {
		c, b := f.measure(moved, o)
		e, w := f.measure(z, o)
		miss = Add(miss, ReduceAllSum(Sub(MulScalar(object.Norm.Square(c, b), 0.5), object.Norm.Inner(c, b, e, w))))
	}
	return []*Node{Gradient(miss, moved)[0]}
}

func (f *fit) free() {
	for _, c := range []*engine.Func{f.dataTerms, f.energy, f.smooth, f.kernelSums, f.dataGradient, f.endPulls} {
		c.Free()
	}
}

// shareOut sets how many of the subjects one call takes.
func (f *fit) shareOut(subjects [][]*mesh.Mesh) {
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
	count := int(math.Ceil(float64(len(subjects)) * each / callMemory))
	f.perCall = (len(subjects) + count - 1) / count
	f.calls = float64(f.perCall) * each
}

// measureSubjects computes the measures of the subjects once, in chunks of a size; or of some subjects only, padded as for all.
func (f *fit) measureSubjects(subjects [][]*mesh.Mesh, size int, some ...int) {
	f.squares, f.chunks = make([]float64, len(f.Objects)), nil
	if some == nil {
		some = lists.Range(len(subjects))
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
			out := try.Get(measure.Call(x, all))
			c.measures = append(c.measures, out...)
			f.squares[o] += floats.Sum(out.Vector(2))
		}
	}
}

// spacing is the least of those of the objects of the template.
func (f *fit) spacing() float64 {
	return floats.Min(lists.Each(f.start, (*mesh.Mesh).Spacing))
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

// split returns the vertices, the coefficients and the control points that x holds.
func (f *fit) split(x []float64) (vertices []float64, coefficients [][]float64, controls []float64) {
	n, k := f.ends[len(f.ends)-1]*f.Space.Manifold.D, f.Space.Manifold.Dim()
	vertices, x = x[:n], x[n:]
	for range f.design[0] {
		coefficients = append(coefficients, x[:k])
		x = x[k:]
	}
	if !f.Free {
		x = shape.Flat(f.controls)
	}
	return vertices, coefficients, x
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

// momentum is that of subject i.
func (f *fit) momentum(i int, coefficients [][]float64) []float64 {
	return lists.Combine(f.design[i], coefficients)
}

// separate says whether every subject has a momentum of its own, as in an atlas. The columns of a regression are centred, and fewer.
func (f *fit) separate() bool { return len(f.design[0]) == len(f.design) }

// precision is 1/2σ² of every object.
func (f *fit) precision() []float64 {
	return lists.Each(f.sigma, func(sigma float64) float64 { return 1 / (2 * sigma * sigma) })
}

// evaluate computes the objective and its gradient at x.
func (f *fit) evaluate(x []float64) *evaluation {
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
		out := try.Get(f.dataTerms.Call(c.after(controls, p, z, precision)...))
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
	out := try.Get(f.energy.Call(controls, coefficients))
	e.energy, e.motion = out.Vector(0), out.Matrix(1)
	e.value += floats.Sum(e.energy)
	for l, v := range e.motion {
		floats.Add(e.gradient[n+l*k:n+(l+1)*k], v)
	}
	if f.Free {
		floats.Sub(atControls, out.Vector(2))
		copy(e.gradient[len(x)-k:], atControls)
	}
	return e
}

// at is the evaluation at x, which is remembered where x has the numbers of the last one.
func (f *fit) at(x []float64) *evaluation {
	if f.last == nil || !slices.Equal(f.last.x, x) {
		f.last = f.evaluate(slices.Clone(x))
	}
	return f.last
}
