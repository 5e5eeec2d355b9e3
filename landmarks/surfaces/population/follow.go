package population

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/solve"
	"anatomy/geom/try"
)

// maxFollowed is the largest dimension of a momentum of which the second derivatives are kept whole.
const maxFollowed = 600

// separate says whether the momenta of subjects are independent of each other, as in an atlas.
func (f *fit) separate() bool { return len(f.design[0]) == len(f.design) }

// weights are what the second derivatives of the data terms count for a momentum: 1/σ² of every object for each subject that it
// moves, times the square of how far.
func (f *fit) weights() []float64 {
	w := 0.0
	for _, row := range f.design {
		w += row[0] * row[0]
	}
	return floats.ScaleTo(make([]float64, len(f.sigma)), 2*w, f.precision())
}

// response is how momenta follow the template: to first order by −P⁻¹ Σ Jᵀ G u/σ², if its vertices move by u, with the factor of
// P = K + Σ H/σ².
type response struct {
	*fit
	*dataHessian
	factor mat.Cholesky
}

// momenta is the change of every momentum if the template moves by u.
func (v *response) momenta(u []float64) []float64 {
	v.weigh(u)
	out := mat.NewVecDense(v.Space.Manifold.Dim(), nil)
	out.MulVec(v.pulls.T(), mat.NewVecDense(len(u), u))
	v.solveHessian(out)
	return out.RawVector().Data
}

// adjoint is the adjoint of momenta.
func (v *response) adjoint(r []float64) []float64 {
	p := mat.NewVecDense(len(r), r)
	v.solveHessian(p)
	var out mat.VecDense
	out.MulVec(v.pulls, p)
	v.weigh(out.RawVector().Data)
	return out.RawVector().Data
}

// weigh divides numbers of the vertices of each object by −σ².
func (v *response) weigh(u []float64) {
	for o, c := range v.precision() {
		floats.Scale(-2*c, v.part(u, o))
	}
}

func (v *response) solveHessian(x *mat.VecDense) {
	to := mat.NewDense(x.Len(), 1, x.RawVector().Data)
	solveTo(&v.factor, to, to)
}

// follower is a search for the template, and for free control points, in which every momentum is at its minimum.
type follower struct {
	response
	searches   []*solve.BFGS // of the momenta
	last, base followed      // the last template, and the one from which the next step goes
	goal       float64       // of Unsettled
}

// followed is a template with free control points, y, and what was found there.
type followed struct {
	y, gradient []float64
	e           *evaluation
	momenta     [][]float64
}

// follow minimises the objective where the noise is so small that a step in all variables at once leaves the narrow valley of the
// template and its momenta: it steps with the template alone (and free control points), and brings the momenta, those of each
// subject by a search of their own, to their minimum at every step. So the search for the template sees the objective of the best
// momenta (Golub and Pereyra, SIAM J. Numer. Anal. 10, 1973).
func (f *fit) follow(name string, x []float64, opts []solve.Option) *solve.Minimum {
	at := f.blocks()
	o := f.dataHessianAt(x[:at[0][1]])
	size := f.Space.Manifold.Dim()
	hessian := o.posterior(f.weights(), 0.1*f.ridge)
	v := &follower{response: response{fit: f, dataHessian: o}, goal: 0.03}
	if !v.factor.Factorize(hessian) {
		return &solve.Minimum{X: x, Status: solve.Stalled}
	}
	v.base = followed{y: f.withoutMomenta(x)}
	for l := range f.design[0] {
		own := mat.NewSymDense(size, nil)
		own.CopySym(hessian)
		s := solve.NewBFGS(x[at[1][0]+l*size:at[1][0]+(l+1)*size], own)
		v.searches, v.base.momenta = append(v.searches, s), append(v.base.momenta, s.Best)
	}
	v.last = v.base
	found := try.Get(solve.Objective{
		Value: func(y []float64) (float64, []float64, error) {
			v.settle(y)
			return bounded(v.last.e.value, v.last.gradient)
		},
		Precondition: func(g []float64) ([]float64, error) { return f.preconditionTemplate(g), nil },
		Residual: func(y []float64) (float64, error) {
			v.base = v.known(y)
			imbalance, unsettled := f.balance(v.base.e)
			v.goal = 0.3 * math.Min(0.1, math.Max(imbalance, unsettled))
			return max(imbalance, unsettled), nil
		},
		FirstStep: 1,
		Memory:    remembered,
	}.Run(name, f.Space, v.base.y, limits(0.03), opts...))
	f.last = v.known(found.X).e
	found.X = f.last.x
	return found
}

// known is what was found at y, one of the last two templates.
func (v *follower) known(y []float64) followed {
	if slices.Equal(y, v.last.y) {
		return v.last
	}
	return v.base
}

// settle brings all momenta to their minimum for the template y, and sets last.
func (v *follower) settle(y []float64) {
	size, at := v.Space.Manifold.Dim(), v.blocks()
	shift := make([]float64, size)
	if v.common != nil {
		shift = v.momenta(floats.SubTo(make([]float64, at[0][1]), y[:at[0][1]], v.base.y[:at[0][1]]))
	}
	for l, s := range v.searches {
		s.Best = floats.AddTo(make([]float64, size), v.base.momenta[l], shift)
		s.Restart()
	}
	e := v.searchMomenta(y)
	v.last = followed{y: slices.Clone(y), gradient: v.withoutMomenta(e.gradient), e: e}
	if v.common != nil {
		// As momenta move with the template, what is left of the derivatives by them counts for it.
		rest := make([]float64, size)
		for r := range slices.Chunk(e.gradient[at[1][0]:at[1][1]], size) {
			floats.Add(rest, r)
		}
		floats.Add(v.last.gradient[:at[0][1]], v.adjoint(rest))
	}
	for _, s := range v.searches {
		v.last.momenta = append(v.last.momenta, s.Best)
	}
}

// searchMomenta goes on with the searches of all momenta for the template y until they have met the goal, and returns the evaluation
// at the best momenta.
func (v *follower) searchMomenta(y []float64) *evaluation {
	size, at := v.Space.Manifold.Dim(), v.blocks()[1]
	evaluate := func(part func(s *solve.BFGS) []float64) *evaluation {
		x := slices.Clone(y[:at[0]])
		for _, s := range v.searches {
			x = append(x, part(s)...)
		}
		return v.evaluate(append(x, y[at[0]:]...))
	}
	descent := make([]float64, size)
	var e *evaluation
	best := false // e is where every search was best
	for range 100 {
		e = evaluate(func(s *solve.BFGS) []float64 { return s.X })
		open := false
		best = true
		for l, s := range v.searches {
			value := e.value
			if v.separate() {
				value = floats.Dot(v.precision(), e.mismatch[l]) + e.energy[l]
			}
			g := e.gradient[at[0]+l*size : at[0]+(l+1)*size]
			v.solve(descent, g)
			tried, tolerance := slices.Clone(s.X), 0.0
			if floats.Dot(descent, g) <= v.goal*v.goal*2*floats.Sum(e.energy)/float64(len(v.searches)) {
				tolerance = math.Inf(1)
			}
			s.Learn(value, g, tolerance)
			open, best = open || !s.Done, best && slices.Equal(s.Best, tried)
		}
		if !open {
			break
		}
	}
	if best {
		return e
	}
	return evaluate(func(s *solve.BFGS) []float64 { return s.Best })
}
