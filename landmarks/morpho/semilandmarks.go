package morpho

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/dense"
	"anatomy/internal/lists"
)

// Semilandmark is a point of a curve or surface, whose place along it means nothing: it slides along a line or in a plane.
type Semilandmark struct {
	Point int
	// Neighbours are the landmarks b, a before and after the point on a curve, which slides along x_a − x_b; three or more are round it on a
	// surface in space: it slides in the plane of their first two principal directions, or with On in the tangent plane of that. With
	// none it slides along the tangent of On.
	Neighbours []int
	// On are the curves or surfaces that the point lies on and goes back to, one a shape; none where they are not known.
	On []Support
}

// Support is a curve or surface; meshes have a Locator that is one.
type Support interface {
	// Nearest returns the point of it nearest to x, and vectors that span its tangent there: one of a curve, two of a surface.
	Nearest(x []float64) (point []float64, tangents [][]float64)
}

// Semilandmarks returns the semi-landmarks of a curve through n points in their order: all but the fixed ones, and but the ends
// of an open curve. Each has the points before and after it for Neighbours. It panics if a fixed one is not among the points.
func Semilandmarks(n int, closed bool, fixed ...int) []Semilandmark {
	for _, l := range fixed {
		if l < 0 || l >= n {
			panic(fmt.Errorf("semi-landmarks: landmark %d is to be fixed; landmarks are 0 to %d", l, n-1))
		}
	}
	var out []Semilandmark
	for l := range n {
		if !slices.Contains(fixed, l) && (closed || l > 0 && l < n-1) {
			out = append(out, Semilandmark{Point: l, Neighbours: []int{(l + n - 1) % n, (l + 1) % n}})
		}
	}
	return out
}

// SurfaceSemilandmarks returns the given points of a surface in space as semi-landmarks, each with so many landmarks for Neighbours, at
// least three, as are nearest to it in a template, [n][3]. It panics if there are not as many.
func SurfaceSemilandmarks(template [][]float64, neighbours int, points ...int) []Semilandmark {
	if neighbours < 3 || neighbours >= len(template) {
		panic(fmt.Errorf("semi-landmarks: %d neighbours, want at least 3 of the other %d landmarks", neighbours, len(template)-1))
	}
	var out []Semilandmark
	for _, l := range points {
		if l < 0 || l >= len(template) {
			panic(fmt.Errorf("semi-landmarks: landmark %d is to slide; landmarks are 0 to %d", l, len(template)-1))
		}
		others := slices.Delete(lists.Range(len(template)), l, l+1)
		slices.SortStableFunc(others, func(i, j int) int {
			return cmp.Compare(floats.Distance(template[i], template[l], 2), floats.Distance(template[j], template[l], 2))
		})
		out = append(out, Semilandmark{Point: l, Neighbours: others[:neighbours:neighbours]})
	}
	return out
}

// Criterion is what semi-landmarks slide to make least.
type Criterion int

const (
	// BendingEnergy is that of the thin-plate spline which takes the reference to the shape.
	BendingEnergy Criterion = iota
	// ProcrustesDistance is Σ_l |x_l − r_l|², landmark by landmark.
	ProcrustesDistance
)

// newSlider is for semi-landmarks that the shapes have.
func newSlider(shapes []shape.Shape, semilandmarks []Semilandmark, criterion Criterion, opts []ProcrustesOption) slider {
	o := slider{procrustesOptions: optionsOf(opts), semilandmarks: semilandmarks}
	n, d, _ := o.of.check(shapes, false)
	try.FailIf(len(semilandmarks) == 0, "there are no semi-landmarks: list at least one, or use Procrustes")
	try.FailIf(criterion != BendingEnergy && criterion != ProcrustesDistance, "no criterion %d", int(criterion))
	seen := map[int]bool{}
	for i, s := range semilandmarks {
		for _, l := range append([]int{s.Point}, s.Neighbours...) {
			try.FailIf(l < 0 || l >= n, "semi-landmark %d is landmark %d with the neighbours %v; landmarks are 0 to %d", // in Go alone
				i, s.Point, s.Neighbours, n-1)
		}
		what := "the semi-landmark " + o.of.called(s.Point)
		switch k := len(s.Neighbours); {
		case k == 0 && len(s.On) == 0:
			try.Fail("%s has neither neighbours nor a curve or surface, so no tangent", what)
		case k == 1:
			try.Fail("%s has one neighbour, so no tangent; two are of a curve, three or more of a surface", what)
		case k == 2 && s.Neighbours[0] == s.Neighbours[1]:
			try.Fail("%s has landmark %s on both sides, so no tangent", what, o.of.called(s.Neighbours[0]))
		case k > 2 && d == 2:
			try.Fail("%s has %d neighbours, as on a surface, but is in the plane; two are of a curve", what, k)
		}
		try.FailIf(len(s.On) > 0 && len(s.On) != len(shapes), "%s lies on %d curves or surfaces, one a shape, but there are %d shapes",
			what, len(s.On), len(shapes))
		nowhere := slices.Index(s.On, nil)
		try.FailIf(nowhere >= 0, "%s: its curve or surface of %s is nil", what, o.of.specimen(max(nowhere, 0)))
		try.FailIf(seen[s.Point], "landmark %s slides twice", o.of.called(s.Point))
		seen[s.Point] = true
	}
	return o
}

func bendingOf(reference [][]float64) *mat.SymDense {
	s, err := newSpline(reference)
	try.Do(try.Name(err, "the mean's landmarks"))
	return s.bending()
}

// slider slides the shape with a number towards a reference, by bending energy where its matrix is given, else by Procrustes distance.
type slider struct {
	procrustesOptions
	number        int
	semilandmarks []Semilandmark
	reference     [][]float64
	bending       *mat.SymDense
}

// slide returns the shape after a step, and how long one that is not halved is: root of the sum of squares. If no step makes anything
// better, however short, it is stuck where it is. What lies on a Support goes back to the nearest point after the step, which is halved
// until the criterion is not worse than before, or so much nearer to its least that the next step is shorter: at the end, on a mesh, it
// may rise by some ten-thousandths, which the facets hide.
func (s *slider) slide(x [][]float64) (next [][]float64, length float64, stuck bool) {
	step, gain := s.step(x)
	for _, v := range step {
		length = math.Hypot(length, floats.Norm(v, 2))
	}
	energy := s.energy(x)
	for share := 1.0; share > 1e-3; share /= 2 {
		next = slices.Clone(x)
		for i, m := range s.semilandmarks {
			next[m.Point] = floats.AddScaledTo(make([]float64, len(step[i])), x[m.Point], share, step[i])
		}
		if !s.supported() {
			return next, length, false // the least that there is
		}
		next = s.ontoSupports(next)
		if s.energy(next) <= energy {
			return next, length, false
		}
		// On the facets of a mesh the energy has no derivative: where all that a step can gain is less than they hide, steps that become
		// shorter lead on.
		left := math.Inf(1)
		if err := try.Run(func() { _, left = s.step(next) }); err == nil && left <= (1-share/2)*gain {
			return next, length, false
		}
	}
	return x, length, true
}

func (s *slider) supported() bool {
	return slices.ContainsFunc(s.semilandmarks, func(m Semilandmark) bool { return len(m.On) > 0 })
}

// ontoSupports returns the shape with its semi-landmarks at the nearest points of what they lie on.
func (s *slider) ontoSupports(x [][]float64) [][]float64 {
	out := slices.Clone(x)
	for _, m := range s.semilandmarks {
		if len(m.On) == 0 {
			continue
		}
		out[m.Point], _ = m.On[s.number].Nearest(x[m.Point])
		try.FailIf(len(out[m.Point]) != len(x[0]) || !(floats.Norm(out[m.Point], math.Inf(1)) <= math.MaxFloat64),
			"landmark %s: the nearest point of its curve or surface is %v", s.of.called(m.Point), out[m.Point])
	}
	return out
}

// step returns how far each semi-landmark goes along its tangents, and by how much the criterion would fall if these were the curves
// and surfaces themselves. With orthonormal tangents u_a of semi-landmarks l(a), one of a curve and two of a surface, and the bending
// energy matrix B of the reference the distances t solve Σ_b B_{l(a) l(b)} (u_a·u_b) t_b = −Σ_m B_{l(a) m} u_a·x_m (Bookstein, Med.
// Image Anal. 1, 1997; Gunz, Mitteroecker and Bookstein 2005); for Procrustes distance, t_a = u_a·(r_{l(a)} − x_{l(a)}). Where the
// energy leaves distances open, the shortest are taken.
func (s *slider) step(x [][]float64) (step [][]float64, gain float64) {
	var points []int // l(a)
	var u [][]float64
	for _, m := range s.semilandmarks {
		tangents := s.tangents(m, x)
		for _, v := range tangents {
			points, u = append(points, m.Point), append(u, v)
		}
	}
	ways, b := make([]float64, len(u)), make([]float64, len(u))
	if s.bending == nil {
		for a, l := range points {
			b[a] = floats.Dot(u[a], s.reference[l]) - floats.Dot(u[a], x[l])
		}
		copy(ways, b)
	} else {
		a := mat.NewSymDense(len(u), nil)
		for i, l := range points {
			for m, y := range x {
				b[i] -= s.bending.At(l, m) * floats.Dot(u[i], y)
			}
			for j := range i + 1 {
				a.SetSym(i, j, s.bending.At(l, points[j])*floats.Dot(u[i], u[j]))
			}
		}
		ways = shortest(a, b, 1e-12*mat.Norm(s.bending, 2)) // not of a, which may be nothing else
	}
	step = lists.Zeros(len(s.semilandmarks), len(x[0]))
	a := 0
	for i, m := range s.semilandmarks {
		for ; a < len(points) && points[a] == m.Point; a++ {
			floats.AddScaled(step[i], ways[a], u[a])
		}
	}
	return step, floats.Dot(ways, b)
}

// shortest returns the shortest t for which a t − b is least; eigenvalues of a up to rounding are 0.
func shortest(a *mat.SymDense, b []float64, rounding float64) []float64 {
	t := make([]float64, len(b))
	var chol mat.Cholesky
	if chol.Factorize(a) && mat.Norm(a, 1)/chol.Cond() > 10*rounding { // a bound of the least eigenvalue
		try.Do(chol.SolveVecTo(mat.NewVecDense(len(b), t), mat.NewVecDense(len(b), b)))
		return t
	}
	values, vectors, ok := dense.Eigen(a)
	try.FailIf(!ok, "the eigenvalues of the bending energy were not found")
	for e, v := range values {
		if v > rounding {
			column := mat.Col(nil, e, vectors)
			floats.AddScaled(t, floats.Dot(column, b)/v, column)
		}
	}
	return t
}

// energy is the criterion.
func (s *slider) energy(x [][]float64) float64 {
	if s.bending != nil {
		return bendingEnergy(s.bending, x)
	}
	sum := 0.0
	for _, m := range s.semilandmarks {
		sum += math.Pow(floats.Distance(x[m.Point], s.reference[m.Point], 2), 2)
	}
	return sum
}

// tangents returns orthonormal tangents of the shape at a semi-landmark.
func (s *slider) tangents(m Semilandmark, x [][]float64) [][]float64 {
	d := len(x[0])
	switch {
	case len(m.Neighbours) != 2 && len(m.On) > 0:
		_, tangents := m.On[s.number].Nearest(x[m.Point])
		try.FailIf(len(tangents) == 0 || len(tangents) >= d, "landmark %s: its curve or surface has %d tangents in %d dimensions",
			s.of.called(m.Point), len(tangents), d)
		var out [][]float64
		for _, v := range tangents {
			try.FailIf(len(v) != d, "landmark %s: a tangent %v of its curve or surface in %d dimensions", s.of.called(m.Point), v, d)
			u := slices.Clone(v)
			for _, w := range out {
				floats.AddScaled(u, -floats.Dot(u, w), w)
			}
			norm := floats.Norm(u, 2)
			try.FailIf(!(norm > 1e-9*floats.Norm(v, 2)), "landmark %s: the tangents %v of its curve or surface span nothing",
				s.of.called(m.Point), tangents)
			floats.Scale(1/norm, u)
			out = append(out, u)
		}
		return out
	case len(m.Neighbours) == 2:
		before, after := m.Neighbours[0], m.Neighbours[1]
		u := floats.SubTo(make([]float64, d), x[after], x[before])
		norm := floats.Norm(u, 2)
		try.FailIf(norm == 0, "landmarks %s and %s coincide, so landmark %s between them has no tangent", s.of.called(before), s.of.called(after),
			s.of.called(m.Point))
		floats.Scale(1/norm, u)
		return [][]float64{u}
	}
	around, names := lists.Pick(x, m.Neighbours), lists.Each(m.Neighbours, s.of.called)
	centre, spread := shape.Shape(around).Centroid(), mat.NewSymDense(d, nil)
	for _, y := range around {
		spread.SymRankOne(spread, 1, mat.NewVecDense(d, floats.SubTo(make([]float64, d), y, centre)))
	}
	values, vectors, ok := dense.Eigen(spread)
	try.FailIf(!ok, "landmark %s: the principal directions of its neighbours %v were not found", s.of.called(m.Point), names)
	try.FailIf(!(values[1] > 1e-12*values[2]) || values[0] > values[1]/2,
		"landmark %s: its neighbours %v lie near no plane, or on a line: they vary by %.3g, %.3g and %.3g along their principal directions",
		s.of.called(m.Point), names, math.Sqrt(values[2]), math.Sqrt(math.Max(0, values[1])), math.Sqrt(math.Max(0, values[0])))
	return [][]float64{mat.Col(nil, 2, vectors), mat.Col(nil, 1, vectors)}
}

// SlidAlignment is the result of ProcrustesSliding.
type SlidAlignment struct {
	*Alignment               // of the slid shapes: Transforms take Slid to Shapes
	Slid       []shape.Shape // the shapes as they were given, with their semi-landmarks slid
	Reference  shape.Shape   // what they slid towards: the mean of the shapes as they were given
	Energies   []float64     // bending energy of each of Shapes against Reference
	// Left is how far the semi-landmarks of each shape would still go along their tangents, root of the sum of squares over CentroidSize.
	Left []float64
	// Off is how far semi-landmarks of each shape are at most from the curves and surfaces that they slid along, over CentroidSize: from the
	// tangent at the nearest given semi-landmark. Those on a Support are on it.
	Off []float64
	// Crossed lists the semi-landmarks of each shape that have slid past a neighbour: its direction from there is more than a right angle
	// from what it was. There the curve or surface is folded.
	Crossed [][]int
}

// String is that of Alignment, with the turns of sliding, the mean of Energies, and what there is of Off, Crossed and Left.
func (a *SlidAlignment) String() string {
	out := fmt.Sprintf("%v of sliding, with a bending energy of %.4g on average", a.Alignment, floats.Sum(a.Energies)/float64(len(a.Energies)))
	if off := floats.Max(a.Off); off > 0 {
		out += fmt.Sprintf(", at most %.2g of a centroid size off their curves and surfaces", off)
	}
	var folded []int
	for i, crossed := range a.Crossed {
		if len(crossed) > 0 {
			folded = append(folded, i)
		}
	}
	if folded != nil {
		out += fmt.Sprintf("; landmarks of shapes %v slid past a neighbour", folded)
	}
	if left := floats.Max(a.Left); left > slidingTolerance {
		out += fmt.Sprintf("; shape %d has %.2g of its centroid size left to slide", floats.MaxIdx(a.Left), left)
	}
	return out
}

// Err returns nil if Status is Converged, and otherwise an error with the line of String.
func (a *SlidAlignment) Err() error { return solve.NotNil(a).Status.Err(a) }

const (
	slidingIterations = 1000
	slidingTolerance  = 1e-6
)

// ProcrustesSliding is Procrustes for shapes with semi-landmarks on curves and surfaces. First the semi-landmarks of each shape
// slide, by a criterion, towards the mean of the given shapes; then the shapes are aligned.
//
// The Status is Converged if in each shape the semi-landmarks would move by at most 1e-6 of its size (root mean square). A
// shape ends after at most 1000 steps; Iterations counts the steps of the longest search. A semi-landmark that would leave an
// open curve or surface stays at its end, and the Status is then Stalled or IterationLimit.
//
// Semi-landmarks without a Support slide along tangents and leave a bent curve or surface a little: see Off. Those with one are
// first moved onto it. It is an error if this moves any of them farther than the root mean square distance of the landmarks
// from their centroid. The other errors are those of Procrustes.
//
// The mean stays fixed during the sliding. If it moved with the shapes, nothing would hold it on the curves: landmarks would
// crowd, and energies and distances would decrease without a limit. To slide towards the new mean once more, call the function
// again with Slid. See P. Gunz, P. Mitteroecker and F. Bookstein, Semilandmarks in three dimensions, 2005.
func ProcrustesSliding(shapes []shape.Shape, semilandmarks []Semilandmark, criterion Criterion, opts ...ProcrustesOption) (_ *SlidAlignment,
	err error) {
	defer try.Named(&err, "procrustes with sliding")
	whole := newSlider(shapes, semilandmarks, criterion, opts)
	given := whole.onTheirSupports(shapes)
	before := try.Get(Procrustes(given, opts...))
	bending := bendingOf(before.Mean)
	out := &SlidAlignment{Reference: before.Mean}
	longest := 0
	for i, x := range given {
		s := whole
		s.number = i
		if criterion == BendingEnergy {
			s.bending = bending
		}
		try.Do(try.Name(try.Run(func() {
			slid, steps, left := s.slideTo(out.Reference, x, opts)
			out.Slid, out.Left, out.Off = append(out.Slid, slid), append(out.Left, left), append(out.Off, s.off(slid, x))
			out.Crossed, longest = append(out.Crossed, s.crossed(slid, x)), max(longest, steps)
		}), "%s", s.of.specimen(i)))
	}
	out.Alignment = try.Get(Procrustes(out.Slid, opts...))
	for _, x := range out.Shapes {
		out.Energies = append(out.Energies, bendingEnergy(bending, x))
	}
	if out.Iterations, out.Status = longest, max(before.Status, out.Status); out.Status == solve.Converged && floats.Max(out.Left) > slidingTolerance {
		if out.Status = solve.Stalled; longest == slidingIterations {
			out.Status = solve.IterationLimit
		}
	}
	return out, nil
}

// slideTo returns the shape slid towards a mean to the end, in how many steps, and its entry of Left.
func (s *slider) slideTo(mean, x [][]float64, opts []ProcrustesOption) (slid [][]float64, steps int, left float64) {
	for ; ; steps++ {
		// For Procrustes distance the shape is aligned anew; the energy does not depend on that.
		toMean := try.Get(FitSimilarity(x, mean, opts...))
		s.reference = toMean.inverse().Apply(mean)
		next, length, stuck := s.slide(x)
		left = length / CentroidSize(x)
		if left <= slidingTolerance || stuck || steps == slidingIterations {
			return x, steps, left
		}
		x = next
	}
}

// onTheirSupports returns the shapes with the semi-landmarks that have one on their Support.
func (s slider) onTheirSupports(shapes []shape.Shape) []shape.Shape {
	out := make([]shape.Shape, len(shapes))
	for i, x := range shapes {
		s.number = i
		try.Do(try.Name(try.Run(func() { out[i] = s.ontoSupports(x) }), "%s", s.of.specimen(i)))
		radius := CentroidSize(x) / math.Sqrt(float64(len(x)))
		for l, p := range x {
			if way := floats.Distance(p, out[i][l], 2); way > radius {
				try.Fail("%s: landmark %s is %.4g from its curve or surface, while landmarks are %.4g from their centroid: "+
					"is it that of this shape, in its unit and axes?", s.of.specimen(i), s.of.called(l), way, radius)
			}
		}
	}
	return out
}

// off returns the entry of Off for the slid shape x.
func (s *slider) off(x, given [][]float64) float64 {
	farthest := 0.0
	for _, m := range s.semilandmarks {
		if len(m.On) > 0 {
			continue
		}
		nearest, least := m, math.Inf(1)
		for _, g := range s.semilandmarks {
			if r := floats.Distance(x[m.Point], given[g.Point], 2); r < least {
				nearest, least = g, r
			}
		}
		tangents := s.tangents(nearest, given)
		across := floats.SubTo(make([]float64, len(x[0])), x[m.Point], given[nearest.Point])
		for _, u := range tangents {
			floats.AddScaled(across, -floats.Dot(across, u), u)
		}
		farthest = math.Max(farthest, floats.Norm(across, 2))
	}
	return farthest / CentroidSize(x)
}

// crossed returns the entry of Crossed for the slid shape x.
func (s *slider) crossed(x, given [][]float64) (points []int) {
	for _, m := range s.semilandmarks {
		from := func(x [][]float64, l int) []float64 {
			return floats.SubTo(make([]float64, len(x[l])), x[l], x[m.Point])
		}
		if slices.ContainsFunc(m.Neighbours, func(l int) bool { return floats.Dot(from(x, l), from(given, l)) < 0 }) {
			points = append(points, m.Point)
		}
	}
	return points
}

func bendingEnergy(b *mat.SymDense, x [][]float64) float64 {
	energy, points := 0.0, dense.Rows(x)
	for c := range x[0] {
		y := points.ColView(c)
		energy += mat.Inner(y, b, y)
	}
	return energy
}

// inverse is x ↦ Rᵀ (x − Translation)/Scale.
func (s Similarity) inverse() Similarity {
	d := len(s.Rotation)
	out := Similarity{Scale: 1 / s.Scale, Rotation: lists.Zeros(d, d), Translation: make([]float64, d)}
	for i := range d {
		for j := range d {
			out.Rotation[i][j] = s.Rotation[j][i]
		}
	}
	for i := range d {
		out.Translation[i] = -out.Scale * floats.Dot(out.Rotation[i], s.Translation)
	}
	return out
}
