package population

import (
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/linalg"
	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/surfaces/mesh"
)

// matcher matches a template that stays to subjects, each for itself: it minimises Σ_o ‖h φ(T_o) − S_o‖²/2σ_o² + ½ pᵀ K p over the momentum p
// of φ and the parameters θ of the similarity h. The variables x are p and θ.
type matcher struct {
	*fit
	pose      similarity
	terms     *engine.Func // (q, p, z, precision, θ, subject) → ‖h φ(T_o) − S_o‖² and the gradient of their weighted sum by p and θ
	vertices  [][]float64
	hessian   *dataHessian  // at the template, by p and θ
	posterior *mat.Cholesky // of K + Σ_o H_o/σ_o²
	x         [][]float64   // of each subject, so far
	ends      []*matched    // there, nil where no distance is finite
	status    []geom.Status
}

// matched is the objective with its gradient at x.
type matched struct {
	x             []float64
	mismatch      []float64 // of objects
	energy, value float64
	gradient      []float64
}

// newMatcher takes the matrices of outwards, or nil for second derivatives that include displacements along the cells.
func (m Model) newMatcher(template []*mesh.Mesh, controls [][]float64, subjects [][]*mesh.Mesh, out []*mat.Dense) *matcher {
	m.Free = false
	c := &matcher{pose: newSimilarity(template, true), vertices: mesh.Vertices(template)}
	c.fit = compileFit(m, template, controls, subjects, lists.Identity(len(subjects)))
	c.terms = engine.Compile(c.termsGraph, engine.Name("match"))
	c.measureSubjects(subjects, 1)
	z := shape.Flat(c.vertices)
	motions := make([][]float64, c.pose.size())
	for _, y := range c.vertices {
		for k, v := range c.pose.derivatives(y) {
			motions[k] = append(motions[k], v...)
		}
	}
	c.out = out
	c.hessian = c.dataHessianAt(z, motions...)
	if m.estimatesNoise() {
		c.sigma = c.initialNoise(z)
	}
	c.ends, c.status = make([]*matched, len(subjects)), make([]geom.Status, len(subjects))
	c.x = lists.Zeros(len(subjects), m.Space.Manifold.Dim()+c.pose.size())
	c.hold()
	return c
}

func (c *matcher) free() {
	c.terms.Free()
	c.fit.free()
}

// termsGraph is for one subject, or for several with an axis of these in front of all that is given.
func (c *matcher) termsGraph(in []*Node) []*Node {
	q, p, z, precision, theta := in[0], in[1], in[2], in[3], in[4]
	turn, shift := c.pose.graph(theta)
	centre := leading(Const(z.Graph(), c.pose.centre), z.Rank())
	end := c.Space.TransformOnGraph(q, p, z)
	end = Add(Add(linalg.MatMul(Sub(end, centre), linalg.T(turn)), shift), centre)
	chunk := func(x *Node, rank int) *Node { // a chunk of all subjects
		dims := x.Shape().Dimensions[x.Rank()-rank:]
		return Reshape(x, append([]int{-1}, dims...)...)
	}
	var subjects []*Node
	for i, x := range in[5:] {
		subjects = append(subjects, chunk(x, []int{2, 2, 0}[i%3]))
	}
	mismatch := Reshape(c.mismatches(chunk(end, 2), subjects), precision.Shape().Dimensions...)
	return append([]*Node{mismatch}, Gradient(ReduceAllSum(Mul(mismatch, precision)), p, theta)...)
}

// hold sets posterior for the noise, with which all ends are to be found anew.
func (c *matcher) hold() {
	c.posterior = c.hessian.factorPosterior(c.weights())
	clear(c.ends)
}

// solve returns posterior⁻¹ b.
func (c *matcher) solve(b *mat.Dense) *mat.Dense {
	var out mat.Dense
	solveTo(c.posterior, &out, b)
	return &out
}

// evaluate computes the objective of subject k with its gradient.
func (c *matcher) evaluate(call engine.Caller, k int, x []float64) *matched {
	n := len(x) - c.pose.size()
	out := try.Get(call(c.terms, c.chunks[k].after(shape.Flat(c.controls), x[:n], c.vertices, c.precision(), x[n:])...))
	var motion mat.VecDense
	motion.MulVec(c.hessian.kernel, mat.NewVecDense(len(x), x))
	e := &matched{x: slices.Clone(x), mismatch: slices.Clone(out.Flat(0)), energy: mat.Dot(&motion, mat.NewVecDense(len(x), x)) / 2}
	e.value = e.energy + floats.Dot(e.mismatch, c.precision())
	e.gradient = slices.Concat(out.Flat(1), out.Flat(2))
	floats.Add(e.gradient, motion.RawVector().Data)
	return e
}

// match brings the variables of some subjects to their minima, side by side.
func (c *matcher) match(name string, subjects []int, opts []solve.Option) {
	task := c.Space.Begin(name)
	defer task.End()
	errs := make([]error, len(subjects))
	engine.Together(task, len(subjects), func(i int, call engine.Caller) {
		errs[i] = try.Run(func() { c.matchOne(call, task, subjects[i], opts) })
	})
	for _, err := range errs {
		try.Do(err)
	}
}

// matchOne brings the variables of subject k to their minimum. The second derivatives at the template precondition it.
func (c *matcher) matchOne(call engine.Caller, task *geom.Task, k int, opts []solve.Option) {
	last := c.ends[k]
	at := func(x []float64) *matched {
		if last == nil || !slices.Equal(last.x, x) {
			last = c.evaluate(call, k, x)
		}
		return last
	}
	if first := at(c.x[k]); math.IsNaN(first.value) || math.IsInf(first.value, 0) {
		return
	}
	own := *c.fit // which counts for itself, as subjects are matched at one time
	own.on = task
	end := own.run("match", c.chunks[k:k+1], solve.Objective{
		Value: func(x []float64) (float64, []float64, error) {
			e := at(x)
			return bounded(e.value, e.gradient)
		},
		Precondition: func(g []float64) ([]float64, error) {
			return c.solve(mat.NewDense(len(g), 1, slices.Clone(g))).RawMatrix().Data, nil
		},
		FirstStep: 1,
	}, c.x[k], limits(0.01), opts)
	try.FailIf(end.Status == geom.Cancelled, "the search was stopped")
	c.x[k], c.status[k], c.ends[k] = end.X, end.Status, at(end.X)
}

// sizes are ‖S_o‖² of the objects of subject k.
func (c *matcher) sizes(k int) []float64 {
	return lists.Make(len(c.Objects), func(o int) float64 { return c.chunks[k].measures.Scalar(3*o + 2) })
}
