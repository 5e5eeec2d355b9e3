package geom

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom/internal/shortest"
	"anatomy/geom/shape"
	"anatomy/internal/lists"
)

// Regulariser is an optional interface of a Cometric that may be close to singular, as the cometric of landmarks is when the
// kernel is much wider than the distances between them: it has the inverse of g* + μ, by which vectors are smoothed.
type Regulariser interface {
	// RegularFlat returns (g*(q) + μ)⁻¹ v for points and vectors [..., d] and μ ≥ 0, [...].
	RegularFlat(q, v, mu *Node) *Node
}

// Log returns the geodesic from the point x to the point y: it solves Exp_x(v) = y for the velocity v.
//
// Geodesic.Status is Converged if two conditions hold:
//
//   - the distance |γ(1) − y| in the ambient space, which is √d times the Residual, is at most 1e-8 of |y − x|, or as small as rounding allows;
//   - the steps are enough: the end does not move with more steps or, with a given Integrator, the energy changes by at most 1
//     %.
//
// A search that does not converge is not an error: Log returns the best geodesic found, and Geodesic.Err says what is wrong
// with it. The result is a shortest geodesic if y is within the injectivity radius of x, and usually a little beyond;
// Geodesic.Conjugate says whether it has a conjugate point. Where several shortest geodesics lead to y, as to an antipode, closed forms refuse
// the pair, and a search returns one of the geodesics.
//
// On a SubRiemannian manifold Log solves for the momentum. The derivative of Exp at momentum 0 reaches the distribution only, so the
// search begins with paths of 24 random controls, which the end point map leads to y, and continues with Newton's method from their
// momenta. The result is the shortest of the geodesics found; Geodesic.Corank tells where the end point map is singular.
//
// It is an error if x or y is not a point, if the metric is singular at x or y, if a closed form shows that y is in the cut
// locus of x, or if no curve from x to y is found. The options of the space apply: Integrator, Context, OnProgress.
//
// # Algorithm
//
// Manifolds with closed forms use them. Otherwise Log starts from v = 0, where the derivative of Exp is the identity, and uses
// Broyden's method, which needs no derivatives. If that fails it continues with Newton's method. In more than 8 dimensions, as
// for landmarks whose kernel is wider than their distances, Newton's method starts from the curve of least energy between the
// points, which is relaxed from a straight line, and uses the whole derivative of Exp. Such a geodesic is not longer than that
// curve. Without an Integrator the steps are doubled as by Exp.
//
// The search aims at a residual of 1e-10 and reaches it unless the metric is nearly singular. Rounding leaves about 1e-15 |y|,
// and at most 1e-13 |y|; this matters if points are close together and far from the origin.
//
// In up to 8 dimensions and without closed forms, Log looks for shorter geodesics if the first search fails, if its geodesic
// has a conjugate point, or if another curve from x to y is shorter, such as the straight line of a chart. On surfaces it also
// shoots 48 geodesics from x and from y in all directions, and keeps those that arrive close to the other end and are less than a
// fifth longer. It relaxes these candidates to geodesics until none is shorter. In any dimension such curves over the charts on the way are
// where it starts from if the chart at y does not contain x.
func (s *Space[P]) Log(x, y P) (*Geodesic[P], error) { return converted(s, s.log, x, y) }

func (s *space) log(x, y any) (*Geodesic[Vec], error) {
	gs, err := s.logFrom([]any{x}, []any{y}, nil)
	if err != nil {
		return nil, err
	}
	found := gs[0]
	g, err := s.shoot("Log", shot{z: found.Start, p: found.Momentum}, found.Steps/s.steps)
	if err != nil {
		return nil, err
	}
	found.Start, found.End, found.Path, found.Momenta = g.Start, g.End, g.Path, g.Momenta
	if _, ok := s.M.(SubRiemannian); ok {
		if found.Corank, err = s.corank(found); err != nil {
			return nil, about("Log", err)
		}
	}
	return found, nil
}

// LogAll computes Log for many pairs (x_i, y_i) in the same compiled calls. It returns one geodesic for each pair; they have no
// End, Path and Momenta. Where a pair has none, its geodesic is nil and the error, which names the pair, is joined to those of other such
// pairs (errors.Join): the geodesics of all others are returned with it. If x or y has a point that is not on the manifold, all are nil.
func (s *Space[P]) LogAll(x, y []P) ([]*Geodesic[P], error) { return s.LogFrom(x, y, nil) }

// LogFrom is LogAll with an initial guess of the velocity for each pair; nil means no guesses. A guess is used if its geodesic
// ends closer to y_i than that of velocity 0. With guesses, Log does not look for other, shorter geodesics.
func (s *Space[P]) LogFrom(x, y, guess []P) ([]*Geodesic[P], error) {
	gs, err := s.logFrom(given(x), given(y), shape.FlatAll(guess))
	return lists.Each(gs, func(g *Geodesic[Vec]) *Geodesic[P] {
		if g == nil {
			return nil
		}
		return s.geodesic(g)
	}), err
}

func (s *space) logFrom(starts, ends []any, guess []Vec) ([]*Geodesic[Vec], error) {
	x, y := lists.Each(starts, numbers), lists.Each(ends, numbers)
	if len(x) != len(y) || len(x) == 0 || guess != nil && len(guess) != len(x) {
		return nil, fmt.Errorf("Log: %d starting points, %d end points and %d guesses, want equally many, or no guesses", len(x), len(y), len(guess))
	}
	if err := cmp.Or(s.checkAll("start", starts), s.checkAll("end", ends)); err != nil {
		return nil, about("Log", err)
	}
	if _, ok := s.M.(SubRiemannian); ok {
		if guess != nil {
			return nil, fmt.Errorf("Log: guesses are vectors, which have no momenta on a sub-Riemannian manifold")
		}
		return s.steered(x, y)
	}
	if err := cmp.Or(s.checkRegular("start", x...), s.checkRegular("end", y...)); err != nil {
		return nil, about("Log", err)
	}
	return s.searched(x, y, guess)
}

// searched are the geodesics that the search finds, from guesses or, with nil, from velocity 0.
func (s *space) searched(x, y, guess []Vec) ([]*Geodesic[Vec], error) {
	if factorsOf(s.M) != nil {
		return s.searchedFactors(x, y, guess)
	}
	name := "Log"
	if len(x) > 1 {
		name = fmt.Sprintf("Log of %d pairs", len(x))
	}
	task := s.Begin(name)
	defer task.End()
	var found []shortest.Found
	var err error
	m, closed := s.M.(ClosedForms)
	if closed {
		found, err = s.closed(m, x, y)
	} else {
		found, err = shortest.Search(shooting{s}, task, x, y, guess)
	}
	if err != nil {
		return nil, fmt.Errorf("Log: %w", err)
	}
	gs := make([]*Geodesic[Vec], len(x))
	for i, f := range found {
		if k, bad := lists.NotFinite(f.Momentum); bad && f.Lost == nil {
			f.Lost = fmt.Errorf("coordinate %d of the momentum is %g: the metric is singular at the starting point", k, f.Momentum[k])
		}
		if apart := floats.Distance(x[i], y[i], 2); !closed && !IsCharted(s.M) && 0 < apart && apart < 1e-140 {
			f.Lost, f.Status = fmt.Errorf("the points are %.3g apart, and the squares of such numbers vanish in double precision: take another unit", apart), Stalled
		}
		if f.Lost != nil && f.Status != Converged {
			err = errors.Join(err, failed(i, len(x), f.Lost))
			continue
		}
		gs[i] = &Geodesic[Vec]{Start: x[i], Velocity: f.Velocity, Momentum: f.Momentum, Length: f.Length,
			Steps: f.Steps, Drift: f.Drift, StepError: f.StepError, Conjugate: f.Conjugate,
			Residual: f.Miss / math.Sqrt(float64(s.M.Dim())), Iterations: f.Iterations, Status: f.Status}
	}
	return gs, err
}

// failed is the error of pair i of n.
func failed(i, n int, err error) error {
	if n > 1 {
		err = fmt.Errorf("pair %d: %w", i, err)
	}
	return fmt.Errorf("Log: %w", err)
}

// closed takes the geodesics from a closed form.
func (s *space) closed(m ClosedForms, x, y []Vec) ([]shortest.Found, error) {
	const rounded = 1e-12 // of the numbers of y: rounding in a closed form
	out, err := s.call("Log, closed form", func(in []*Node) []*Node {
		v := m.Log(in[0], in[1])
		end := m.Exp(in[0], v)
		at, there := At(s.M, in[0]), At(s.M, in[1])
		way := Sub(in[1], in[0])
		w := at.Enter(Vector, v)
		p := Flat(at.Manifold, at.X, w)
		return []*Node{v, offset(end, there), euclidean(way), at.Leave(Vector, w), at.Leave(Covector, p), Norm(at.Manifold, at.X, w), there.scale(way), there.scale(in[1])}
	}, alike(s, x), alike(s, y))
	if err != nil {
		return nil, err
	}
	logs, apart, velocities, momenta, lengths := out.Matrix(0), out.Vector(2), out.Matrix(3), out.Matrix(4), out.Vector(5)
	way, size := out.Matrix(6), out.Matrix(7)
	found := make([]shortest.Found, len(x))
	for i, off := range out.Matrix(1)[:len(x)] {
		f := &found[i]
		if _, bad := lists.NotFinite(logs[i]); math.IsInf(apart[i], 1) {
			f.Lost = errors.New("the points are too far apart, or the numbers that stand for them too large, for double precision")
		} else if bad {
			f.Lost = ErrCutLocus
		}
		tolerance := make(Vec, len(off))
		for k := range tolerance { // no number is off by more than on a manifold without sizes
			tolerance[k] = min(onManifold*way[i][k]+rounded*size[i][k], onManifold*apart[i]+rounded*floats.Norm(y[i], 2))
		}
		f.Status = f.Status.Certified(f.Lost == nil && within(off, make(Vec, len(off)), tolerance))
		f.Measures = shortest.Measures{Velocity: velocities[i], Momentum: momenta[i], Length: lengths[i], Miss: floats.Norm(off, 2)}
		f.Steps = s.steps
	}
	return found, nil
}
