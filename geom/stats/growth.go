package stats

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/autodiff"
	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/geom/stats/linear"
	"anatomy/geom/try"
	"anatomy/internal/lists"
)

// Track is what one subject was at several times, in any order.
type Track[P geom.Point] struct {
	Times  []float64
	Points []P
}

// Components are variance components, not principal components: the parts of a variance.
type Components struct {
	Total   float64 // the variance of the estimates
	Within  float64 // the part of it that is error of estimation
	Between float64 // the variance between subjects: Total − Within, an unbiased estimate, which is below 0 where subjects hardly differ
}

func split(total, within float64) Components { return Components{total, within, total - within} }

// Growth is a hierarchical model of subjects that change, each along a geodesic of its own: see Grow.
type Growth[P geom.Point] struct {
	Origin   float64          // t₀, the mean of all times
	Times    [][]float64      // t_ij
	Subjects []*Regression[P] // γ_i
	Mean     *Mean[P]         // of the intercepts γ_i(t₀); its Point is y
	Slopes   []P              // s_i: γ_i'(t₀) moved to y
	Misses   [][]P            // e_ij: Log of observation j of subject i at γ_i(t_ij), moved to γ_i(t₀) and to y

	Slope, Momentum P       // s̄, the mean slope, and s̄♭: the average trajectory is Exp_y((t − t₀) s̄)
	Variation       *PCA[P] // of the s_i about s̄: modes u_k at y, and the scores of subjects

	Intercept     Components   // of the variance of the γ_i(t₀), squared lengths
	Rate          Components   // of the variance of the s_i, squared lengths per squared time
	Modes         []Components // of the variance of the slopes along u_k; Total is Variation.Variances[k]
	Noise         float64      // the standard deviation of one observation about its subject's geodesic, √ of the expected ‖ε‖²: a length
	StandardError float64      // of s̄: √(Rate.Total/N), the root of the expected ‖s̄ − β‖²
	Status        geom.Status  // the worst of those of the regressions and of the mean
}

// Grow estimates how subjects change in time, and what varies between them (Muralidharan and Fletcher, CVPR 2012; Singh, Hinkle,
// Joshi and Fletcher, IPMI 2013). In the model, observation j of subject i at time t_ij is
//
//	x_ij = Exp(γ_i(t_ij), ε_ij),  γ_i(t) = Exp_{p_i}((t − t₀) v_i),
//
// with independent noise ε_ij of mean 0 and covariance R. The slopes v_i, moved in parallel to the mean of the p_i, are
// s_i = β + b_i with independent b_i of mean 0 and covariance B. The mean slope s̄ is the estimate of β; its covariance is C/N,
// where C is the sample covariance of the N slopes.
//
// tracks holds the times and the points of each subject, in any order and any unit of time. Slopes and their standard errors are
// lengths per unit of time; the components of Rate and Modes are squared lengths per squared time, Noise is a length.
//
// It is an error if there are fewer than two subjects, if a subject has fewer than two observations or all at one time, or if no
// subject has a third observation. Samples that no logarithm reaches (see RelativeNoise) need another way: Regress with RelativeNoise for every
// subject, FrechetMean with RelativeNoise, and TransportToMean. If the Context of the space ends, the result has the Times and Subjects whose
// regressions were done, and their Mean if all were; its other fields are empty.
//
// The options are Tolerance and MaxIterations, with the defaults of Regress and FrechetMean, to which they go.
//
// # Algorithm
//
// First every subject gets its geodesic regression. Then the slopes at the mean time t₀ are moved in parallel along the geodesics
// from the p_i to their Fréchet mean y, where they have the mean s̄ and the covariance C.
//
// C also contains the errors of the regressions: to first order it estimates B + R·mean(1/S_i), S_i = Σ_j (t_ij − t̄_i)². R is
// estimated by the residuals, Σ e_ij e_ijᵀ/Σ(n_i − 2), and B by what is left. The components of Rate are the traces of C, of
// R·mean(1/S_i) and of their difference, in the metric at y; the components of Modes are their values along the modes. In the same
// way the covariance of the intercepts contains R·mean(1/n_i + (t₀ − t̄_i)²/S_i). Neglected are curvature times squares of ε, and
// holonomy: the vectors are moved to the estimate of y, not to y itself.
//
// Subjects with the same number of observations share one compiled program.
func Grow[P geom.Point](on geom.Of[P], tracks []Track[P], opts ...TestOption) (_ *Growth[P], err error) {
	defer try.Named(&err, "growth")
	s := on.Geometry()
	origin, free := try.Get2(spread(tracks))
	g := &Growth[P]{Origin: origin, Status: geom.Converged}
	var intercepts []P
	var means []MeanOption
	for _, o := range opts {
		var given options
		if try.Do(o.apply(&given)); given.sigma > 0 {
			return nil, fmt.Errorf("RelativeNoise(%g): Grow takes exact geodesics; take Regress with RelativeNoise for each subject, FrechetMean with RelativeNoise, and TransportToMean", given.sigma)
		}
		means = append(means, o)
	}
	velocities, misses := make([]P, len(tracks)), make([][]P, len(tracks))
	var slopeError, interceptError float64 // mean(1/S_i), mean(1/n_i + (t₀ − t̄_i)²/S_i)
	for i, track := range tracks {
		r, err := Regress(on, track.Points, linear.Terms{linear.Covariate("time", track.Times...)}, means...)
		try.Do(try.Name(err, "subject %d", i))
		if r.Status == geom.Cancelled {
			g.Status = geom.Cancelled
			return g, nil
		}
		squares := 0.0
		for _, t := range track.Times {
			squares += (t - r.Origin[0]) * (t - r.Origin[0])
		}
		away := g.Origin - r.Origin[0]
		slopeError += 1 / squares / float64(len(tracks))
		interceptError += (1/float64(len(track.Times)) + away*away/squares) / float64(len(tracks))
		var point P
		err = try.Run(func() { point, velocities[i], misses[i] = r.at(s, track.Times, g.Origin) })
		try.Do(try.Name(err, "subject %d", i))
		intercepts = append(intercepts, point)
		g.Times, g.Subjects, g.Status = append(g.Times, track.Times), append(g.Subjects, r), max(g.Status, r.Status)
	}
	g.Mean, err = FrechetMean(on, intercepts, means...)
	try.Do(try.Name(err, "of the intercepts"))
	if g.Status = max(g.Status, g.Mean.Status); g.Status == geom.Cancelled {
		return g, nil
	}
	for i := range misses {
		misses[i] = append([]P{velocities[i]}, misses[i]...)
	}
	for _, v := range transportToMean(s, g.Mean, intercepts, misses) {
		g.Slopes, g.Misses = append(g.Slopes, v[0]), append(g.Misses, v[1:])
	}
	g.vary(s, float64(free), slopeError, interceptError)
	return g, nil
}

// spread returns the mean of all times of subjects and Σ(n_i − 2).
func spread[P geom.Point](tracks []Track[P]) (mean float64, free int, err error) {
	if len(tracks) < 2 {
		return 0, 0, fmt.Errorf("%d subjects, want at least 2: Regress takes one", len(tracks))
	}
	observations := 0
	for i, track := range tracks {
		if len(track.Times) != len(track.Points) || len(track.Times) < 2 {
			return 0, 0, fmt.Errorf("subject %d has %d times and %d points, want as many of both and at least 2", i, len(track.Times), len(track.Points))
		}
		for _, t := range track.Times {
			mean += t
		}
		observations += len(track.Times)
		free += len(track.Times) - 2
	}
	if free == 0 {
		return 0, 0, errors.New("every subject was observed twice, which leaves nothing to tell error from change: want a third observation of at least one")
	}
	return mean / float64(observations), free, nil
}

// at returns the point of the geodesic at a time, its velocity there and the Misses moved there.
func (r *Regression[P]) at(s *geom.Space[P], times []float64, origin float64) (point, velocity P, moved []P) {
	values := lists.Make(len(times), func(i int) []float64 { return times[i : i+1] })
	moved = r.gathered(s, values)
	g := try.Get(r.shoot(s, []float64{origin}))
	moved = forth(s, g, append([]P{r.Velocities[0]}, moved...)...)
	return g.End, moved[0], moved[1:]
}

// forth moves vectors at the start of a geodesic to its end.
func forth[P geom.Point](s *geom.Space[P], g *geom.Geodesic[P], v ...P) []P {
	paths := try.Get(s.Transport(g, v...))
	return lists.Each(paths, func(path []P) P { return path[len(path)-1] })
}

// back moves vectors at the end x of a geodesic to its start.
func back[P geom.Point](s *geom.Space[P], g *geom.Geodesic[P], x P, v ...P) []P {
	momentum := append([]float64{}, shape.Flat(g.Momenta[len(g.Momenta)-1])...)
	floats.Scale(-1, momentum)
	end, v := placed(s, g.End, x, v...)
	return forth(s, &geom.Geodesic[P]{Start: end, Momentum: s.Point(momentum), Steps: g.Steps}, v...)
}

// placed returns vectors at x as vectors at z, the same point of a Charted manifold as x but for rounding, and, where points are orbits
// (geom.Quotient), perhaps another configuration of it: by the chart centred at z, which does not see how configurations are turned. It
// returns z without its rounding, too. On other manifolds the vectors stay as they are.
func placed[P geom.Point](s *geom.Space[P], z, x P, v ...P) (point P, vectors []P) {
	if !geom.IsCharted(s.M) {
		return z, v
	}
	out := try.Get(s.Call(key("placed"), func(in []*graph.Node) []*graph.Node {
		at := geom.At(s.M, in[0])
		x := graph.BroadcastPrefix(in[1], in[2].Shape().Dim(0))
		_, dx := autodiff.Pushforward(func(x []*graph.Node) []*graph.Node { return []*graph.Node{at.Coordinates(x[0])} }, []*graph.Node{x}, in[2:])
		return []*graph.Node{at.Moved(at.X).Z, at.Leave(geom.Vector, dx[0])}
	}, shape.Flat(z), shape.Flat(x), shape.FlatAll(v)))
	return s.Point(out.Vector(0)), s.Points(out.Matrix(1))
}

// TransportToMean moves vectors at the samples x_i of a mean to the mean y, in parallel along the geodesics between them: those of sample i, vectors[i], any
// number, become vectors at y in the same order. Where the mean has a RelativeNoise, x_i is the end of its geodesic from y. For an atlas of surfaces, give
// a Mean with the control points as Point and the momenta of the atlas as Momenta: see population.Atlas. Where points are orbits (geom.Quotient), it
// is an error: a vector belongs to one configuration of the orbit x_i, and which one is not known.
func TransportToMean[P geom.Point](on geom.Of[P], mean *Mean[P], vectors [][]P) (_ [][]P, err error) {
	defer try.Named(&err, "transportToMean")
	s := on.Geometry()
	try.FailIf(mean == nil || len(mean.Momenta) != len(vectors), "vectors of %d samples, want a mean of as many", len(vectors))
	if try.Get(s.Orbits()) {
		return nil, errors.New("points are orbits, and the mean does not say at which configurations the vectors are: " +
			"Grow moves the slopes of its regressions")
	}
	return transportToMean(s, mean, nil, vectors), nil
}

// transportToMean is TransportToMean for vectors at given points; nil for the ends of the geodesics from y.
func transportToMean[P geom.Point](s *geom.Space[P], mean *Mean[P], points []P, vectors [][]P) [][]P {
	out := make([][]P, len(vectors))
	for i, v := range vectors {
		if len(v) == 0 {
			continue
		}
		err := try.Run(func() {
			g := try.Get(s.Shoot(mean.Point, mean.Momenta[i]))
			x := g.End
			if points != nil {
				x = points[i]
			}
			out[i] = back(s, g, x, v...)
		})
		try.Do(try.Name(err, "sample %d", i))
	}
	return out
}

// vary computes means and variances of what has been gathered at y, with Σ(n_i − 2) = free.
func (g *Growth[P]) vary(s *geom.Space[P], free, slopeError, interceptError float64) {
	n := len(g.Slopes)
	slope := lists.Combine(even(n), shape.FlatAll(g.Slopes))
	rows := [][]float64{slope}
	for _, v := range g.Slopes {
		rows = append(rows, floats.SubTo(make([]float64, len(slope)), shape.Flat(v), slope))
	}
	for _, e := range g.Misses {
		rows = append(rows, shape.FlatAll(e)...)
	}
	momenta := musical(s.OnNumbers(), "flat", shape.Flat(g.Mean.Point), rows, geom.Vector, geom.Covector, geom.Flat).Matrix(0)
	g.Slope, g.Momentum = s.Point(slope), s.Point(momenta[0])
	g.Variation = try.Get(TangentPCA(&Mean[P]{Point: g.Mean.Point, Weights: even(n), Velocities: s.Points(rows[1 : n+1]), Momenta: s.Points(momenta[1 : n+1]), Status: g.Status}))
	variance := 0.0 // of one observation
	for k, row := range rows[1:] {
		square := floats.Dot(row, momenta[k+1])
		if k < n {
			g.Rate.Total += square / float64(n-1)
		} else {
			variance += square / free
		}
	}
	g.Noise = math.Sqrt(variance)
	g.Rate = split(g.Rate.Total, variance*slopeError)
	g.Intercept = split(g.Mean.Variance*float64(n)/float64(n-1), variance*interceptError)
	g.StandardError = math.Sqrt(g.Rate.Total / float64(n))
	for k, u := range g.Variation.Momenta {
		within := 0.0
		for _, e := range rows[n+1:] {
			along := floats.Dot(shape.Flat(u), e)
			within += along * along / free * slopeError
		}
		g.Modes = append(g.Modes, split(g.Variation.Variances[k], within))
	}
}

var errStopped = errors.New("growth: it was cancelled before its slopes had a mean: compute it to the end")

// At returns the point Exp_y((t − t₀)(s̄ + Σ_k c_k u_k)): for no c_k that of the average trajectory at time t, else that of a
// subject with the scores c_k along the first modes of Variation. More scores than modes are an error.
func (g *Growth[P]) At(on geom.Of[P], t float64, scores ...float64) (point P, err error) {
	solve.NotNil(g)
	if g.Variation == nil {
		return point, errStopped
	}
	if len(scores) > len(g.Variation.Momenta) {
		return point, fmt.Errorf("growth: %d scores for %d modes", len(scores), len(g.Variation.Momenta))
	}
	p := append([]float64{}, shape.Flat(g.Momentum)...)
	for k, c := range scores {
		floats.AddScaled(p, c, shape.Flat(g.Variation.Momenta[k]))
	}
	floats.Scale(t-g.Origin, p)
	way, err := on.Geometry().Shoot(g.Mean.Point, shape.Like(g.Mean.Point, p))
	if err != nil {
		return point, fmt.Errorf("growth at %g: %w", t, err)
	}
	return way.End, nil
}

// Departure says by how much subjects that were all observed at the same times deviate from their geodesics on average.
type Departure struct {
	Times  []float64
	Along  []float64 // the mean of the e_ij along s̄, divided by ‖s̄‖²: by how much time subjects are ahead of their geodesics
	Across []float64 // the norm of the mean of the rest, a length
	// P is the p-value of Σ_j ‖mean_i e_ij‖²; PAcross that of the part across s̄. If subjects follow geodesics in another time, P is
	// small and PAcross is not.
	P, PAcross float64
}

// Departure tests whether the geodesics fit. All subjects must have the same times, in the same order; other times are an error, and so is a mean
// slope of 0. If they do, the e_ij have mean 0 at every time j, and changing the signs of all e_ij of a subject makes them no less likely, where
// their distribution is symmetric. So it compares Σ_j ‖mean_i e_ij‖² with the values for random signs of subjects.
func (g *Growth[P]) Departure(on geom.Of[P], p linear.Permutations) (_ *Departure, err error) {
	defer try.Named(&err, "departure")
	solve.NotNil(g)
	if g.Variation == nil {
		return nil, errStopped
	}
	for i, t := range g.Times {
		try.FailIf(!slices.Equal(t, g.Times[0]), "subject %d has other times than subject 0", i)
	}
	s := on.Geometry()
	slope, covector := shape.Flat(g.Slope), shape.Flat(g.Momentum)
	speed := floats.Dot(slope, covector)
	try.FailIf(!(speed > 0), "the mean slope is 0, so that there is no direction across it")
	n, times := len(g.Times), len(g.Times[0])
	var rows [][]float64
	for _, e := range g.Misses {
		rows = append(rows, shape.FlatAll(e)...)
	}
	momenta := musical(s.OnNumbers(), "flat", shape.Flat(g.Mean.Point), rows, geom.Vector, geom.Covector, geom.Flat).Matrix(0)
	mean := func(rows [][]float64, j int, sign []float64) []float64 {
		sum := make([]float64, len(slope))
		for i := range n {
			floats.AddScaled(sum, sign[i]/float64(n), rows[i*times+j])
		}
		return sum
	}
	// shares are by how much time mean_i e_ij is ahead along s̄, and the square of the rest.
	shares := func(j int, sign []float64) (ahead, square float64) {
		e, p := mean(rows, j, sign), mean(momenta, j, sign)
		ahead = floats.Dot(e, covector) / speed
		floats.AddScaled(e, -ahead, slope)
		floats.AddScaled(p, -ahead, covector)
		return ahead, max(0, floats.Dot(e, p))
	}
	sums := func(sign []float64) []float64 {
		all, across := 0.0, 0.0
		for j := range times {
			ahead, square := shares(j, sign)
			all, across = all+square+ahead*ahead*speed, across+square
		}
		if across < 1e-24*all { // which is rounding where nothing is across
			across = 0
		}
		return []float64{all, across}
	}
	sign := slices.Repeat([]float64{1}, n)
	d := &Departure{Times: g.Times[0]}
	for j := range times {
		ahead, square := shares(j, sign)
		d.Along, d.Across = append(d.Along, ahead), append(d.Across, math.Sqrt(square))
	}
	p.Task = s.Begin("departure")
	defer p.Task.End()
	tests := try.Get(p.Test("departure", n, linear.Signs, sums(sign), func(d *linear.Draw) ([]float64, error) { return sums(d.Sign), nil }))
	d.P, d.PAcross = tests[0].P, tests[1].P
	return d, nil
}

// String says what the model is in one line.
func (g *Growth[P]) String() string {
	if g.Variation == nil {
		return fmt.Sprintf("growth of %d subjects, %s", len(g.Subjects), g.Status)
	}
	return fmt.Sprintf("growth of %d subjects, %.3g ± %.2g by the unit of time, standard deviation between subjects %.2g, %s",
		len(g.Subjects), math.Sqrt(max(0, floats.Dot(shape.Flat(g.Slope), shape.Flat(g.Momentum)))), g.StandardError, math.Sqrt(max(0, g.Rate.Between)), g.Status)
}

// Err returns nil if Status is Converged, and otherwise an error with the line of String.
func (g *Growth[P]) Err() error { return solve.NotNil(g).Status.Err(g) }
