package population

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/solve"
)

// widest is the largest dimension of a momentum of which the second derivatives are kept whole.
const widest = 600

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

// valley is how momenta follow the template: to first order by −P⁻¹ Σ Jᵀ G u/σ², if its vertices move by u, with the factor of
// P = K + Σ H/σ².
type valley struct {
	*fit
	*bend
	factor mat.Cholesky
}

// shift is that of every momentum if the template moves by u.
func (v *valley) shift(u []float64) []float64 {
	v.weigh(u)
	out := mat.NewVecDense(v.Space.Manifold.Dim(), nil)
	out.MulVec(v.pulls.T(), mat.NewVecDense(len(u), u))
	v.solved(out)
	return out.RawVector().Data
}

// back is the adjoint of shift.
func (v *valley) back(r []float64) []float64 {
	p := mat.NewVecDense(len(r), r)
	v.solved(p)
	var out mat.VecDense
	out.MulVec(v.pulls, p)
	v.weigh(out.RawVector().Data)
	return out.RawVector().Data
}

// weigh divides numbers of the vertices of each object by −σ².
func (v *valley) weigh(u []float64) {
	for o, c := range v.precision() {
		floats.Scale(-2*c, v.part(u, o))
	}
}

func (v *valley) solved(x *mat.VecDense) {
	if err := v.factor.SolveVecTo(x, x); err != nil && !errors.As(err, new(mat.Condition)) {
		panic(err) // the shapes are right
	}
}

// follow minimises the objective where the noise is so small that a step in all variables at once leaves the narrow valley of the
// template and its momenta: it steps with the template alone (and free control points), and brings the momenta, those of each
// subject by a search of their own, to their minimum at every step. So the search for the template sees the objective of the best
// momenta (Golub and Pereyra, SIAM J. Numer. Anal. 10, 1973).
func (f *fit) follow(name string, x []float64, opts []solve.Option) (*solve.Minimum, error) {
	at := f.blocks()
	o, err := f.bendAt(x[:at[0][1]])
	if err != nil {
		return nil, err
	}
	size := f.Space.Manifold.Dim()
	hessian := o.posterior(f.weights(), 0.1*f.stiff)
	v := valley{fit: f, bend: o}
	if !v.factor.Factorize(hessian) {
		return &solve.Minimum{X: x, Status: solve.Stalled}, nil
	}
	var searches []*solve.BFGS
	for l := range f.design[0] {
		own := mat.NewSymDense(size, nil)
		own.CopySym(hessian)
		searches = append(searches, solve.NewBFGS(x[at[1][0]+l*size:at[1][0]+(l+1)*size], own))
	}
	// Of the last template, and of that from which the next step goes.
	type state struct {
		y, gradient []float64
		e           *evaluation
		momenta     [][]float64
	}
	start := state{y: f.outer(x)}
	for _, s := range searches {
		start.momenta = append(start.momenta, s.Best)
	}
	last, base := start, start
	goal := 0.03 // of Unsettled
	settle := func(y []float64) error {
		shift := make([]float64, size)
		if f.common != nil {
			shift = v.shift(floats.SubTo(make([]float64, at[0][1]), y[:at[0][1]], base.y[:at[0][1]]))
		}
		for l, s := range searches {
			s.Best = floats.AddTo(make([]float64, size), base.momenta[l], shift)
			s.Restart()
		}
		assemble := func(part func(s *solve.BFGS) []float64) (x []float64) {
			x = append(x, y[:at[1][0]]...)
			for _, s := range searches {
				x = append(x, part(s)...)
			}
			return append(x, y[at[1][0]:]...)
		}
		descent := make([]float64, size)
		var e *evaluation
		best := false // e is where every search was best
		for range 100 {
			var err error
			if e, err = f.evaluate(assemble(func(s *solve.BFGS) []float64 { return s.X })); err != nil {
				return err
			}
			open := false
			best = true
			for l, s := range searches {
				value := e.value
				if f.separate() {
					value = floats.Dot(f.precision(), e.mismatch[l]) + e.energy[l]
				}
				g := e.gradient[at[1][0]+l*size : at[1][0]+(l+1)*size]
				f.solve(descent, g)
				tried, tolerance := &s.X[0], 0.0
				if floats.Dot(descent, g) <= goal*goal*2*floats.Sum(e.energy)/float64(len(searches)) {
					tolerance = math.Inf(1)
				}
				s.Learn(value, g, tolerance)
				open, best = open || !s.Done, best && &s.Best[0] == tried
			}
			if !open {
				break
			}
		}
		if !best {
			var err error
			if e, err = f.evaluate(assemble(func(s *solve.BFGS) []float64 { return s.Best })); err != nil {
				return err
			}
		}
		last = state{y: y, gradient: f.outer(e.gradient), e: e}
		if f.common != nil {
			// As momenta move with the template, what is left of the derivatives by them counts for it.
			rest := make([]float64, size)
			for l := range searches {
				floats.Add(rest, e.gradient[at[1][0]+l*size:at[1][0]+(l+1)*size])
			}
			floats.Add(last.gradient[:at[0][1]], v.back(rest))
		}
		for _, s := range searches {
			last.momenta = append(last.momenta, s.Best)
		}
		return nil
	}
	of := func(y []float64) state {
		if &y[0] == &last.y[0] {
			return last
		}
		return base
	}
	found, err := solve.Objective{
		Value: func(y []float64) (float64, []float64, error) {
			if err := settle(y); err != nil {
				return 0, nil, err
			}
			return bounded(last.e.value, last.gradient)
		},
		Precondition: f.outward,
		Residual: func(y []float64) (float64, error) {
			base = of(y)
			imbalance, unsettled, err := f.balance(base.e)
			goal = 0.3 * math.Min(0.1, math.Max(imbalance, unsettled))
			return max(imbalance, unsettled), err
		},
		FirstStep: 1,
		Memory:    steps,
	}.Run(name, f.Space, start.y, limits(0.03), opts...)
	if err != nil {
		return nil, err
	}
	f.last = of(found.X).e
	found.X = f.last.x
	return found, nil
}
