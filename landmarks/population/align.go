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
	"anatomy/landmarks/internal/text"
	"anatomy/landmarks/mesh"
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
// The result is a local minimum of Distance, and may not be the least one if the kernel of the norm is narrow or a shape is nearly
// symmetric: of 14 simulated bodies close to ellipsoids, 7 were turned by 22° to 180°. Look at such shapes after alignment.
//
// # Algorithm
//
// A search starts where the centres of mass agree, in many rotations: as the subject lies, and turned about where the main axes agree, all
// objects counting the same. These turns are multiples of 15° in the plane; in space they are the rotations of a cube and turns by 45°
// between them. From the best three starts it minimises the distance, and the least of the three is the result.
func Align(objects []Object, to []*mesh.Mesh, subjects [][]*mesh.Mesh, scaled bool) (out []*Aligned, err error) {
	defer try.Named(&err, "align")
	al := newAligner(objects, to, checkAlign(objects, to, subjects), scaled)
	defer al.objective.Free()
	for i, s := range subjects {
		name := fmt.Sprintf("subject %d", i)
		a := al.align(name, s)
		al.model.checkNormBounds(name, a.Objects, to)
		out = append(out, a)
	}
	return out, nil
}

// checkAlign returns the largest numbers of vertices and cells of each object of a subject.
func checkAlign(objects []Object, to []*mesh.Mesh, subjects [][]*mesh.Mesh) [][2]int {
	goal, model := "the one that the others are brought to", Model{Objects: objects}
	most := make([][2]int, len(objects))
	for i, s := range append([][]*mesh.Mesh{to}, subjects...) {
		name := goal
		if i > 0 {
			name = fmt.Sprintf("subject %d", i-1)
		}
		if len(s) != len(objects) || len(objects) == 0 {
			text.Refuse("give one of each", "%s has %d meshes for %d objects", name, len(s), len(objects))
		}
		for o, m := range s {
			try.Do(objects[o].Norm.Check(model.Label(name, o), m))
			try.Do(mesh.CheckAlike(model.Label(name, o), m, goal, to[o]))
			if i > 0 {
				most[o] = [2]int{max(most[o][0], len(m.Vertices)), max(most[o][1], len(m.Cells))}
			}
		}
	}
	return most
}

// aligner brings subjects to one shape.
type aligner struct {
	model     Model
	d, turns  int // numbers of coordinates and of angles
	scaled    bool
	most      [][2]int // see checkAlign
	objective *engine.Func

	target []*mesh.Mesh // centred
	centre []float64    // of the shape
	axes   *mat.Dense
	radius float64
}

func newAligner(objects []Object, to []*mesh.Mesh, most [][2]int, scaled bool) *aligner {
	d := len(to[0].Vertices[0])
	al := &aligner{model: Model{Objects: objects}, d: d, turns: d * (d - 1) / 2, scaled: scaled, most: most}
	al.centre, al.axes, al.radius = mesh.Moments(to)
	for _, m := range to {
		al.target = append(al.target, m.Map(func(x []float64) []float64 { return floats.SubTo(make([]float64, d), x, al.centre) }))
	}
	al.objective = engine.Compile(func(in []*Node) []*Node { return al.distance(in[0], in[1:]) }, engine.Name("align"))
	return al
}

// each visits the planes of rotations with the numbers of their angles.
func (al *aligner) each(visit func(angle, i, j int)) {
	for i, k := 0, 0; i < al.d; i++ {
		for j := i + 1; j < al.d; j, k = j+1, k+1 {
			visit(k, i, j)
		}
	}
}

// distance returns the distance, with its gradient, after the motion exp(w) (e^c x) + r·t of centred points x, for parameters theta =
// (w, t, c). Of every object the shapes are its vertices and cells, and those of the target.
func (al *aligner) distance(theta *Node, shapes []*Node) []*Node {
	w := ZerosLike(linalg.Eye(theta.Graph(), theta.DType(), al.d))
	al.each(func(k, i, j int) {
		unit := make([][]float64, al.d)
		for a := range unit {
			unit[a] = make([]float64, al.d)
		}
		unit[i][j], unit[j][i] = -1, 1
		w = Add(w, Mul(Const(w.Graph(), unit), Reshape(Slice(theta, AxisElem(k)))))
	})
	turn := linalg.T(linalg.Expm(w))
	distance := ScalarZero(theta.Graph(), theta.DType())
	for o, object := range al.model.Objects {
		x, at, other, others := shapes[4*o], shapes[4*o+1], shapes[4*o+2], shapes[4*o+3]
		moved := linalg.MatMul(x, turn)
		if al.scaled {
			moved = Mul(moved, Exp(Reshape(Slice(theta, AxisElem(al.turns+al.d)))))
		}
		moved = Add(moved, MulScalar(Reshape(Slice(theta, AxisRange(al.turns, al.turns+al.d)), 1, al.d), al.radius))
		order := len(al.target[o].Cells[0])
		c, b := object.Norm.Measure(moved, Reshape(at, -1, order))
		e, f := object.Norm.Measure(other, Reshape(others, -1, order))
		whole := object.Norm.Square(e, f)
		distance = Add(distance, Div(Add(Sub(object.Norm.Square(c, b), MulScalar(object.Norm.Inner(c, b, e, f), 2)), whole), whole))
	}
	return []*Node{distance, Gradient(distance, theta)[0]}
}

// align brings one subject to the target.
func (al *aligner) align(name string, s []*mesh.Mesh) *Aligned {
	middle, own, size := mesh.Moments(s)
	scale := 1.0
	if al.scaled {
		scale = al.radius / size
	}
	// call evaluates the motion theta after the rotation r.
	call := func(r *mat.Dense, theta []float64) engine.Values {
		args := []any{theta}
		for o, m := range s {
			x := make([][]float64, al.most[o][0])
			for i := range x {
				v := mat.NewVecDense(al.d, floats.SubTo(make([]float64, al.d), m.Vertices[min(i, len(m.Vertices)-1)], middle))
				var y mat.VecDense
				y.MulVec(r, v)
				y.ScaleVec(scale, &y)
				x[i] = y.RawVector().Data
			}
			at := slices.Concat(m.Cells...)
			for len(at) < al.most[o][1]*len(m.Cells[0]) {
				at = append(at, 0) // cells without size
			}
			args = append(args, x, at, al.target[o].Vertices, slices.Concat(al.target[o].Cells...))
		}
		return try.Get(al.objective.Call(args...))
	}
	rotation, theta, least, status := al.search(name, ways(al.axes, own), call)
	a := &Aligned{Scale: scale, Centre: middle, Shift: slices.Clone(al.centre), Distance: least, Status: status}
	if al.scaled {
		a.Scale *= math.Exp(theta[al.turns+al.d])
	}
	floats.AddScaled(a.Shift, al.radius, theta[al.turns:al.turns+al.d])
	w := mat.NewDense(al.d, al.d, nil)
	al.each(func(k, i, j int) {
		w.Set(i, j, -theta[k])
		w.Set(j, i, theta[k])
	})
	var turn, r mat.Dense
	turn.Exp(w)
	r.Mul(&turn, rotation)
	for i := range al.d {
		a.Rotation = append(a.Rotation, mat.Row(nil, i, &r))
	}
	for _, m := range s {
		a.Objects = append(a.Objects, m.Map(a.Move))
	}
	return a
}

// search minimises the distance from the best three of the rotations. Main axes that are about as long say nothing of how a shape lies:
// all ways are tried, and the best few followed. The first is kept where another is better by no more than rounding.
func (al *aligner) search(name string, ways []*mat.Dense, call func(r *mat.Dense, theta []float64) engine.Values) (rotation *mat.Dense, theta []float64, least float64, status geom.Status) {
	const rounding, followed = 1e-12, 3
	size := al.turns + al.d + 1
	var starts []*mat.Dense
	var values []float64
	for _, r := range ways {
		if finite := call(r, make([]float64, size)).Scalar(0); !math.IsNaN(finite) && !math.IsInf(finite, 0) {
			starts, values = append(starts, r), append(values, finite)
		}
	}
	if starts == nil {
		text.Refuse("see whether its coordinates and the kernel of the norm are in one unit", "%s: no finite distance", name)
	}
	least = math.Inf(1)
	for range min(followed, len(starts)) {
		k := 0
		for i, value := range values {
			if value < values[k]-rounding {
				k = i
			}
		}
		tolerance := math.Max(1e-9*values[k], rounding)
		search := solve.NewBFGS(make([]float64, size), mat.NewSymDense(size, nil))
		for evaluation := 0; !search.Done && evaluation < 200; evaluation++ {
			v := call(starts[k], search.X)
			g := v.Vector(1)
			if evaluation == 0 { // a first step of at most 0.1
				for i := range g {
					search.Hessian.SetSym(i, i, math.Max(10*floats.Norm(g, 2), 1e-12*(1+values[k])))
				}
			}
			search.Learn(v.Scalar(0), g, tolerance)
		}
		if search.Value < least-tolerance {
			rotation, theta, least, status = starts[k], search.Best, search.Value, geom.Converged
			if search.Excess > tolerance {
				status = geom.Stalled
			}
		}
		values[k] = math.Inf(1)
	}
	return rotation, theta, least, status
}

// ways are rotations that a search may start from: none, and those by which own main axes come to lie along the axes of another shape
// or are turned from there, by multiples of 15° in the plane, in space by the rotations of a cube, with one by 45° after it or none.
func ways(axes, own *mat.Dense) []*mat.Dense {
	d, _ := axes.Dims()
	out := []*mat.Dense{mat.NewDense(d, d, nil)}
	for a := range d {
		out[0].Set(a, a, 1)
	}
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
