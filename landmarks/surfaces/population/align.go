package population

import (
	"fmt"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/linalg"
	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/dense"
	"anatomy/internal/lists"
	"anatomy/internal/pool"
	"anatomy/landmarks/internal/text"
	"anatomy/landmarks/surfaces/attachment"
	"anatomy/landmarks/surfaces/mesh"
)

// Aligned is a subject after the motion x ↦ Scale·Rotation (x − Centre) + Shift.
type Aligned struct {
	Objects       []*mesh.Mesh
	Rotation      [][]float64 // [D][D], without reflection
	Scale         float64
	Centre, Shift []float64
	Distance      float64 // Σ_o ‖S_o − T_o‖²/‖T_o‖² over the objects, in their norms
	Status        geom.Status
}

// Align moves subjects close to another one, which need not correspond, by rotations and shifts, and if scaled by scales. One motion
// moves all objects of a subject. Noise and smoothing of the objects play no part. Shapes that leave the box of a kernel with fast sums
// are an error.
//
// The result is a local minimum of Distance, and may not be the least one if the kernel of the norm is narrow. Of a nearly symmetric body
// the least one may not be the true pose: of 14 simulated bodies close to ellipsoids, 7 were turned by 22° to 180°. Model.Poses chooses
// among several minima by deformations.
//
// # Algorithm
//
// A search starts where the centres of mass agree, in many rotations: as the subject lies, and turned about where the main axes agree, all
// objects counting the same. These turns are multiples of 15° in the plane; in space they are the rotations of a cube and turns by 45°
// between them. From the best three starts, which are 40° or more apart, it minimises the distance, and the least of the three is the result.
func Align(objects []Object, to []*mesh.Mesh, subjects [][]*mesh.Mesh, scaled bool) (_ []*Aligned, err error) {
	defer try.Named(&err, "align")
	return alignFrom(nil, objects, to, subjects, scaled), nil
}

// Refine is Align from the rotation of a pose of each subject: it finds the minimum that is near.
func Refine(objects []Object, to []*mesh.Mesh, subjects [][]*mesh.Mesh, poses []*Aligned, scaled bool) (_ []*Aligned, err error) {
	defer try.Named(&err, "align")
	text.RefuseIf(len(poses) != len(subjects), "give one for each", "%d poses for %d subjects", len(poses), len(subjects))
	return alignFrom(poses, objects, to, subjects, scaled), nil
}

// alignFrom aligns subjects from the rotations of poses, or where there are none from ways.
func alignFrom(poses []*Aligned, objects []Object, to []*mesh.Mesh, subjects [][]*mesh.Mesh, scaled bool) (out []*Aligned) {
	const followed, evaluations = 3, 200
	al := newAligner(objects, to, subjects, scaled)
	defer al.free()
	out = make([]*Aligned, len(subjects))
	pool.Each(len(subjects), func(i int) {
		s := subjects[i]
		_, own, _ := mesh.Moments(s)
		starts := ways(al.axes, own)
		if poses != nil {
			starts = []*mat.Dense{poses[i].rotation()}
		}
		name := fmt.Sprintf("subject %d", i)
		a := al.align(name, s, starts, followed, evaluations)[0]
		al.model.checkNormBounds(name, a.Objects, to)
		out[i] = a
	})
	return out
}

// aligner brings subjects to one shape.
type aligner struct {
	similarity
	model     Model
	most      [][2]int     // numbers of vertices and cells of each object, the largest of the subjects
	objective *engine.Func // (θ, subject, target) → the distance and its gradient
	overlap   *engine.Func // Σ_o ⟨S_o, T_o⟩/‖T_o‖²

	target   []*mesh.Mesh // centred
	measures [][]any      // of the target, with their squares
	axes     *mat.Dense
}

func newAligner(objects []Object, to []*mesh.Mesh, subjects [][]*mesh.Mesh, scaled bool) *aligner {
	al := &aligner{model: Model{Objects: objects}, most: make([][2]int, len(objects))}
	al.model.checkShapes("the one that the others are brought to", slices.Concat([][]*mesh.Mesh{to}, subjects))
	for o, most := range al.most {
		for _, s := range subjects {
			most = [2]int{max(most[0], len(s[o].Vertices)), max(most[1], len(s[o].Cells))}
		}
		al.most[o] = most
	}
	al.similarity = newSimilarity(to, scaled)
	_, al.axes, _ = mesh.Moments(to)
	for o, m := range to {
		m = m.Map(func(x []float64) []float64 { return floats.SubTo(make([]float64, al.d), x, al.centre) })
		out := try.Get(engine.Run(func(in []*Node) []*Node {
			e, f := objects[o].Norm.Measure(in[0], Const(in[0].Graph(), m.Cells))
			return []*Node{e, f, objects[o].Norm.Square(e, f)}
		}, m.Vertices))
		al.target, al.measures = append(al.target, m), append(al.measures, []any{out[0], out[1], out[2]})
	}
	al.objective = engine.Compile(func(in []*Node) []*Node {
		distance := al.distance(in[0], in[1:])
		return []*Node{distance, Gradient(distance, in[0])[0]}
	}, engine.Name("align"))
	al.overlap = engine.Compile(func(in []*Node) []*Node {
		sum := ScalarZero(in[0].Graph(), in[0].DType())
		al.each(in[0], in[1:], func(norm attachment.Norm, c, b, e, f, whole *Node) {
			sum = Add(sum, Div(norm.Inner(c, b, e, f), whole))
		})
		return []*Node{sum}
	}, engine.Name("align"))
	return al
}

func (al *aligner) free() {
	al.objective.Free()
	al.overlap.Free()
}

// distance returns the distance after the similarity theta of centred points.
func (al *aligner) distance(theta *Node, shapes []*Node) *Node {
	distance := ScalarZero(theta.Graph(), theta.DType())
	al.each(theta, shapes, func(norm attachment.Norm, c, b, e, f, whole *Node) {
		distance = Add(distance, Div(Add(Sub(norm.Square(c, b), MulScalar(norm.Inner(c, b, e, f), 2)), whole), whole))
	})
	return distance
}

// each visits the norms of the objects with the measures of a subject after the similarity theta of centred points, those of the target,
// and the square of the target. Of every object the shapes are its vertices and cells, the measures of the target and their square.
func (al *aligner) each(theta *Node, shapes []*Node, visit func(norm attachment.Norm, c, b, e, f, whole *Node)) {
	turn, shift := al.graph(theta)
	for o, object := range al.model.Objects {
		x, at := shapes[5*o], shapes[5*o+1]
		c, b := object.Norm.Measure(Add(linalg.MatMul(x, linalg.T(turn)), shift), Reshape(at, -1, len(al.target[o].Cells[0])))
		visit(object.Norm, c, b, shapes[5*o+2], shapes[5*o+3], shapes[5*o+4])
	}
}

// align returns minima of the distance of one subject from the target, the least first, from the best few of the rotations, each after at
// most so many evaluations. Those that turn by less than 20° from a lesser one are left out.
func (al *aligner) align(name string, s []*mesh.Mesh, starts []*mat.Dense, followed, evaluations int) (out []*Aligned) {
	middle, _, size := mesh.Moments(s)
	first := &Aligned{Scale: 1, Centre: middle, Shift: al.centre}
	if al.scaled {
		first.Scale = al.radius / size
	}
	// call evaluates a function of the distance at the motion theta after the rotation r.
	call := func(f *engine.Func, r *mat.Dense, theta []float64) engine.Values {
		args := []any{theta}
		for o, m := range s {
			x := make([][]float64, al.most[o][0])
			for i := range x {
				v := mat.NewVecDense(al.d, floats.SubTo(make([]float64, al.d), m.Vertices[min(i, len(m.Vertices)-1)], middle))
				var y mat.VecDense
				y.MulVec(r, v)
				y.ScaleVec(first.Scale, &y)
				x[i] = y.RawVector().Data
			}
			at := slices.Concat(m.Cells...)
			for len(at) < al.most[o][1]*len(m.Cells[0]) {
				at = append(at, 0) // cells without size
			}
			args = append(append(args, x, at), al.measures[o]...)
		}
		return try.Get(f.Call(args...))
	}
	for _, f := range al.search(name, starts, call, followed, evaluations) {
		first.Rotation = dense.List(f.rotation)
		a := al.at(f.theta).after(first)
		a.Distance, a.Status = f.value, f.status
		if slices.ContainsFunc(out, func(b *Aligned) bool { return angle(a.rotation(), b.rotation()) < apart }) {
			continue
		}
		a.Objects = lists.Each(s, func(m *mesh.Mesh) *mesh.Mesh { return m.Map(a.Move) })
		out = append(out, a)
	}
	return out
}

// minimum is one of the distance.
type minimum struct {
	rotation *mat.Dense // where the search started
	theta    []float64  // the similarity after it
	value    float64
	status   geom.Status
}

// search minimises the distance from the best few of the rotations, and returns the minima, the least first. Main axes that are about as
// long say nothing of how a shape lies: all ways are tried, and the best few followed that are apart. Of those that differ by no more than
// rounding the first stays first.
func (al *aligner) search(name string, ways []*mat.Dense, call func(f *engine.Func, r *mat.Dense, theta []float64) engine.Values, followed, evaluations int) (found []minimum) {
	const rounding, near = 1e-12, 40 * math.Pi / 180
	size := al.size()
	var starts []*mat.Dense
	var overlaps []float64
	for _, r := range ways {
		if finite := call(al.overlap, r, make([]float64, size)).Scalar(0); !math.IsNaN(finite) && !math.IsInf(finite, 0) {
			starts, overlaps = append(starts, r), append(overlaps, finite)
		}
	}
	text.RefuseIf(starts == nil, "see whether its coordinates and the kernel of the norm are in one unit", "%s: no finite distance", name)
	for range followed {
		k := 0
		for i, overlap := range overlaps {
			if overlap > overlaps[k]+rounding {
				k = i
			}
		}
		if math.IsInf(overlaps[k], -1) {
			break
		}
		tolerance := rounding
		search := solve.NewBFGS(make([]float64, size), mat.NewSymDense(size, nil))
		for evaluation := 0; !search.Done && evaluation < evaluations; evaluation++ {
			v := call(al.objective, starts[k], search.X)
			g := v.Vector(1)
			if evaluation == 0 { // a first step of at most 0.1
				tolerance = math.Max(1e-9*v.Scalar(0), rounding)
				for i := range g {
					search.Hessian.SetSym(i, i, math.Max(10*floats.Norm(g, 2), 1e-12*(1+v.Scalar(0))))
				}
			}
			search.Learn(v.Scalar(0), g, tolerance)
		}
		m := minimum{starts[k], search.Best, search.Value, geom.Converged}
		if search.Excess > tolerance {
			m.status = geom.Stalled
		}
		at := len(found)
		for at > 0 && m.value < found[at-1].value-tolerance {
			at--
		}
		found = slices.Insert(found, at, m)
		for i, r := range starts { // the search from here would end there, too
			if angle(starts[k], r) < near {
				overlaps[i] = math.Inf(-1)
			}
		}
	}
	return found
}

// ways are rotations that a search may start from: none, and those by which own main axes come to lie along the axes of another shape
// or are turned from there, by multiples of 15° in the plane, in space by the rotations of a cube, with one by 45° after it or none.
func ways(axes, own *mat.Dense) []*mat.Dense {
	d, _ := axes.Dims()
	out := []*mat.Dense{dense.Rows(lists.Identity(d))}
	same := mat.Det(axes)*mat.Det(own) > 0 // handedness
	along := func(turn *mat.Dense) {
		if mat.Det(turn) > 0 == same {
			r := new(mat.Dense)
			r.Product(axes, turn, own.T())
			out = append(out, r)
		}
	}
	if d == 2 {
		for k := range 24 {
			s, c := math.Sincos(2 * math.Pi * float64(k) / 24)
			along(mat.NewDense(2, 2, []float64{c, -s, s, c}))
			along(mat.NewDense(2, 2, []float64{c, s, s, -c}))
		}
		return out
	}
	turns := []*mat.Dense{out[0]}
	for _, axis := range []int{0, 1, 2} { // by 45°, between those of the cube
		i, j := (axis+1)%3, (axis+2)%3
		turn := mat.DenseCopyOf(out[0])
		turn.Set(i, i, math.Sqrt2/2)
		turn.Set(j, j, math.Sqrt2/2)
		turn.Set(i, j, -math.Sqrt2/2)
		turn.Set(j, i, math.Sqrt2/2)
		turns = append(turns, turn)
	}
	for _, to := range [][]int{{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}} {
		for signs := range 8 {
			cube := mat.NewDense(3, 3, nil)
			for a, b := range to {
				cube.Set(a, b, float64(1-2*(signs>>a&1)))
			}
			for _, turn := range turns {
				var both mat.Dense
				both.Mul(turn, cube)
				along(&both)
			}
		}
	}
	return out
}

// Err returns nil if Status is Converged, and otherwise an error with the distance that is left.
func (a *Aligned) Err() error {
	return solve.NotNil(a).Status.Err(fmt.Sprintf("alignment at distance %.3g", a.Distance))
}

// Move returns where the motion takes a point.
func (a *Aligned) Move(x []float64) []float64 {
	solve.NotNil(a)
	from := floats.SubTo(make([]float64, len(x)), x, a.Centre)
	y := append([]float64{}, a.Shift...)
	for i, row := range a.Rotation {
		y[i] += a.Scale * floats.Dot(row, from)
	}
	return y
}

// Back returns where the motion takes a point from.
func (a *Aligned) Back(y []float64) []float64 {
	x := append([]float64{}, solve.NotNil(a).Centre...)
	from := floats.SubTo(make([]float64, len(y)), y, a.Shift)
	for i, row := range a.Rotation {
		floats.AddScaled(x, from[i]/a.Scale, row)
	}
	return x
}

// inverse returns the motion back, without Objects.
func (a *Aligned) inverse() *Aligned {
	return &Aligned{Rotation: dense.List(a.rotation().T()), Scale: 1 / a.Scale, Centre: a.Shift, Shift: a.Centre, Distance: a.Distance, Status: a.Status}
}

// after returns the motion of another, b, and then a, without Objects.
func (a *Aligned) after(b *Aligned) *Aligned {
	var r mat.Dense
	r.Mul(solve.NotNil(a).rotation(), solve.NotNil(b).rotation())
	return &Aligned{Rotation: dense.List(&r), Scale: a.Scale * b.Scale, Centre: b.Centre, Shift: a.Move(b.Shift), Distance: a.Distance, Status: a.Status}
}

// Turn is the angle of the rotation.
func (a *Aligned) Turn() float64 {
	return angle(solve.NotNil(a).rotation(), dense.Rows(lists.Identity(len(a.Rotation))))
}

func (a *Aligned) rotation() *mat.Dense {
	return dense.Rows(a.Rotation)
}

// apart is how far one pose is turned from another one at least.
const apart = 20 * math.Pi / 180

// angle is that of the rotation between two.
func angle(a, b *mat.Dense) float64 {
	var off mat.Dense
	off.Sub(a, b)
	return 2 * math.Asin(math.Min(1, mat.Norm(&off, 2)/math.Sqrt(8))) // in two and three dimensions ‖a − b‖² = 8 sin²(angle/2)
}

// eigen are the eigenvalues of a matrix in ascending order, with its eigenvectors as columns.
func eigen(m mat.Symmetric) (values []float64, vectors *mat.Dense) {
	values, vectors, ok := dense.Eigen(m)
	try.FailIf(!ok, "the eigenvalues of a matrix do not converge")
	return values, vectors
}
