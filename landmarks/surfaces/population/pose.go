package population

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/linalg"
	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/dense"
	"anatomy/internal/lists"
	"anatomy/internal/pool"
	"anatomy/landmarks/internal/text"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/surfaces/mesh"
)

// similarity is the motion x ↦ centre + e^c exp(w)(x − centre) + radius·t of θ = (w, t, c), where w has an angle for each plane. Where it
// is not scaled, c plays no part.
type similarity struct {
	d, turns int // numbers of coordinates and of angles
	scaled   bool
	centre   []float64 // of a shape
	radius   float64
}

func newSimilarity(shape []*mesh.Mesh, scaled bool) similarity {
	d := len(shape[0].Vertices[0])
	centre, _, radius := mesh.Moments(shape)
	return similarity{d, d * (d - 1) / 2, scaled, centre, radius}
}

// size is the number of parameters.
func (s similarity) size() int { return s.turns + s.d + 1 }

// planes visits the planes of rotations with the numbers of their angles.
func (s similarity) planes(visit func(angle, i, j int)) {
	for i, k := 0, 0; i < s.d; i++ {
		for j := i + 1; j < s.d; j, k = j+1, k+1 {
			visit(k, i, j)
		}
	}
}

// graph returns the matrix e^c exp(w), [..., D, D], and the row radius·t, [..., 1, D], of parameters theta, [..., size].
func (s similarity) graph(theta *Node) (turn, shift *Node) {
	number := func(k int) *Node { return ExpandAxes(SliceAxis(theta, -1, AxisRange(k, k+1)), -1) } // [..., 1, 1]
	w := Mul(number(0), leading(ZerosLike(linalg.Eye(theta.Graph(), theta.DType(), s.d)), theta.Rank()+1))
	s.planes(func(k, i, j int) {
		unit := lists.Zeros(s.d, s.d)
		unit[i][j], unit[j][i] = -1, 1
		w = Add(w, Mul(number(k), leading(Const(theta.Graph(), unit), w.Rank())))
	})
	turn = linalg.Expm(w)
	if s.scaled {
		turn = Mul(turn, Exp(number(s.turns+s.d)))
	}
	return turn, MulScalar(ExpandAxes(SliceAxis(theta, -1, AxisRange(s.turns, s.turns+s.d)), -2), s.radius)
}

// leading is x with so many axes, those in front of length 1.
func leading(x *Node, rank int) *Node {
	for x.Rank() < rank {
		x = ExpandAxes(x, 0)
	}
	return x
}

// at is the motion of θ.
func (s similarity) at(theta []float64) *Aligned {
	a := &Aligned{Scale: 1, Centre: s.centre, Shift: slices.Clone(s.centre)}
	if s.scaled {
		a.Scale = math.Exp(theta[s.turns+s.d])
	}
	floats.AddScaled(a.Shift, s.radius, theta[s.turns:s.turns+s.d])
	w := mat.NewDense(s.d, s.d, nil)
	s.planes(func(k, i, j int) {
		w.Set(i, j, -theta[k])
		w.Set(j, i, theta[k])
	})
	var turn mat.Dense
	turn.Exp(w)
	a.Rotation = dense.List(&turn)
	return a
}

// derivatives are those of the place of x by each parameter at θ = 0, [size][D].
func (s similarity) derivatives(x []float64) [][]float64 {
	out := lists.Zeros(s.size(), s.d)
	from := floats.SubTo(make([]float64, s.d), x, s.centre)
	s.planes(func(k, i, j int) { out[k][i], out[k][j] = -from[j], from[i] })
	for a := range s.d {
		out[s.turns+a][a] = s.radius
	}
	if s.scaled {
		copy(out[s.turns+s.d], from)
	}
	return out
}

// Pose is a way in which a subject, or its mirror image x₀ ↦ −x₀, may lie.
type Pose struct {
	*Aligned  // of the mirror image if Mirrored; only the motion, without Objects, Distance and Status
	Mirrored  bool
	Objective float64 // the least of Σ_o ‖h φ(T_o) − S_o‖²/2σ_o² + ½ pᵀ K p: see Model.Landmarks
}

// Poses returns poses of each subject in which the template T may have been deformed to it, of the least Objective first, at least one of the subject
// and one of its mirror image. A nearly symmetric body fits in several, and the one of the least rigid distance need not be the true one. Every
// object must have a Noise; 0 is an error. The errors are those of Align and Landmarks.
//
// # Algorithm
//
// Rough matches start from eight rotations of those that Align tries, 40° or more apart, and as many of the mirror image, each after four
// steps of a rigid alignment. All of them take the same number of iterations, fifteen. Those whose Objective is then at most twice that of the
// best are matched on to a tolerance of 0.05, and always the best of the subject and of its mirror image. Of poses that end less than 20° apart
// the best is kept.
func (m Model) Poses(template []*mesh.Mesh, controls [][]float64, subjects [][]*mesh.Mesh) (_ [][]Pose, err error) {
	defer try.Named(&err, "poses")
	const followed, evaluations = 8, 4
	text.RefuseIf(m.estimatesNoise(), "give it", "an object has no Noise")
	images := make([][]*mesh.Mesh, len(subjects))
	for i, s := range subjects {
		for _, o := range s {
			images[i] = append(images[i], o.Map(func(x []float64) []float64 { return append([]float64{-x[0]}, x[1:]...) }).Flip())
		}
	}
	al := newAligner(m.Objects, template, slices.Concat(subjects, images), true)
	defer al.free()
	out, first := make([][]Pose, len(subjects)), make([]int, len(subjects)) // among all shapes
	pool.Each(len(subjects), func(i int) {
		for k, s := range [][]*mesh.Mesh{subjects[i], images[i]} {
			_, own, _ := mesh.Moments(s)
			for _, a := range al.align(fmt.Sprintf("subject %d", i), s, ways(al.axes, own), followed, evaluations) {
				out[i] = append(out[i], Pose{a, k == 1, math.Inf(1)})
			}
		}
	})
	var shapes [][]*mesh.Mesh
	for i, poses := range out {
		first[i] = len(shapes)
		for _, p := range poses {
			shapes = append(shapes, p.Objects)
		}
	}
	if shapes == nil {
		return out, nil
	}
	c := m.newMatcher(template, controls, shapes, nil)
	defer c.free()
	pool.Each(len(out), func(i int) {
		poses := out[i]
		c.compete(poses, first[i])
		slices.SortStableFunc(poses, func(a, b Pose) int { return cmp.Compare(a.Objective, b.Objective) })
		out[i] = nil
		for _, a := range poses {
			if !slices.ContainsFunc(out[i], func(b Pose) bool { return a.Mirrored == b.Mirrored && angle(a.rotation(), b.rotation()) < apart }) {
				out[i] = append(out[i], a)
			}
		}
	})
	return out, nil
}

// compete matches the template to the poses of a subject, the first of which is a subject of the matcher with this number.
func (c *matcher) compete(poses []Pose, first int) {
	// Where all searches end at one tolerance instead, those far above their minima stop first, and seem worse than they are.
	const tolerance, few, keep = 0.05, 15, 2
	for _, iterations := range []int{few, limits(tolerance).MaxIterations} {
		best := map[bool]float64{false: math.Inf(1), true: math.Inf(1)} // of mirror images or not
		for _, pose := range poses {
			best[pose.Mirrored] = math.Min(best[pose.Mirrored], pose.Objective)
		}
		least := math.Min(best[false], best[true])
		var likely []int
		for k, pose := range poses {
			if pose.Objective <= math.Max(keep*least, best[pose.Mirrored]) {
				likely = append(likely, first+k)
			}
		}
		c.match("match of a pose", likely, []solve.Option{solve.Tolerance(tolerance), solve.MaxIterations(iterations)})
		for k := range poses {
			if end := c.ends[first+k]; end != nil {
				poses[k].Objective = end.value
			}
		}
	}
	for k := range poses {
		if c.ends[first+k] != nil {
			poses[k].Aligned = c.back(first + k).after(poses[k].Aligned)
		}
	}
}

// back is the similarity that brings where subject k has the template closest to the template. Its rotation includes that of the deformation, so that
// two minima that differ in what the similarity of the match does and in what the deformation does have about the same.
func (c *matcher) back(k int) *Aligned {
	momenta := len(c.x[k]) - c.pose.size()
	h := c.pose.at(c.x[k][momenta:])
	g := try.Get(c.Space.With(geom.FixedSteps).Shoot(c.controls, c.Space.FromFlat(c.x[k][:momenta])))
	path := try.Get(c.Space.Transform(g, c.vertices))
	ends := lists.Each(path[len(path)-1], h.Move)
	fit, err := morpho.FitSimilarity(ends, c.vertices)
	if err != nil { // as of a straight line, which has no best rotation
		return h.inverse()
	}
	return &Aligned{Scale: fit.Scale, Rotation: fit.Rotation, Centre: make([]float64, c.pose.d), Shift: fit.Translation}
}
