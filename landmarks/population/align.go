package population

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/linalg"
	"anatomy/geom/solve"
	"anatomy/landmarks/mesh"
)

// Aligned is a mesh after the motion x ↦ Scale·Rotation (x − Centre) + Shift.
type Aligned struct {
	*mesh.Mesh
	Rotation      [][]float64 // [D][D], without reflection
	Scale         float64
	Centre, Shift []float64
	Distance      float64 // squared, in the norm
	Status        geom.Status
}

// Align moves curves or surfaces close to another one, which need not correspond, by rotations and shifts, and if scaled by scales.
// It starts where their centres of mass and main axes agree, in the best of the ways that this leaves, and minimises the distance
// in the norm. Where two main axes are about as long, and the kernel of the norm is narrow, it may end in a minimum that is not the
// least: Distance tells.
func Align(norm mesh.Norm, to *mesh.Mesh, subjects []*mesh.Mesh, scaled bool) ([]*Aligned, error) {
	const goal = "the mesh that the others are brought to"
	if err := norm.Check(goal, to); err != nil {
		return nil, fmt.Errorf("align: %w", err)
	}
	vertices, cells := 0, 0
	for i, s := range subjects {
		name := fmt.Sprintf("subject %d", i)
		if err := norm.Check(name, s); err != nil {
			return nil, fmt.Errorf("align: %w", err)
		}
		if err := mesh.Alike(name, s, goal, to); err != nil {
			return nil, fmt.Errorf("align: %w", err)
		}
		vertices, cells = max(vertices, len(s.Vertices)), max(cells, len(s.Cells))
	}
	d, order := len(to.Vertices[0]), len(to.Cells[0])
	turns := d * (d - 1) / 2
	centre, axes, radius := moments(to)
	// The distance after the motion exp(w) (e^c (x − 0)) + r·t of centred points x, for parameters w, t, c.
	objective := engine.Compile(func(in []*Node) []*Node {
		theta, x, at, other, others := in[0], in[1], in[2], in[3], in[4]
		w := ZerosLike(linalg.Eye(x.Graph(), x.DType(), d))
		for i, k := 0, 0; i < d; i++ {
			for j := i + 1; j < d; j, k = j+1, k+1 {
				unit := make([][]float64, d)
				for a := range unit {
					unit[a] = make([]float64, d)
				}
				unit[i][j], unit[j][i] = -1, 1
				w = Add(w, Mul(Const(x.Graph(), unit), Reshape(Slice(theta, AxisElem(k)))))
			}
		}
		moved := linalg.MatMul(x, linalg.T(linalg.Expm(w)))
		if scaled {
			moved = Mul(moved, Exp(Reshape(Slice(theta, AxisElem(turns+d)))))
		}
		moved = Add(moved, MulScalar(Reshape(Slice(theta, AxisRange(turns, turns+d)), 1, d), radius))
		c, b := norm.Measure(moved, Reshape(at, -1, order))
		e, f := norm.Measure(other, Reshape(others, -1, order))
		whole := norm.Square(e, f)
		distance := Add(Sub(norm.Square(c, b), MulScalar(norm.Inner(c, b, e, f), 2)), whole)
		return []*Node{distance, Gradient(distance, theta)[0], whole}
	}, engine.Name("align"))
	defer objective.Free()
	target := to.Map(func(x []float64) []float64 { return floats.SubTo(make([]float64, d), x, centre) })
	var out []*Aligned
	for _, s := range subjects {
		middle, own, size := moments(s)
		scale := 1.0
		if scaled {
			scale = radius / size
		}
		at := append([]int{}, flatten(s.Cells)...)
		for len(at) < cells*order {
			at = append(at, 0) // cells without size
		}
		// call evaluates the motion theta after the rotation r.
		call := func(r *mat.Dense, theta []float64) (engine.Values, error) {
			x := make([][]float64, vertices)
			for i := range x {
				v := mat.NewVecDense(d, floats.SubTo(make([]float64, d), s.Vertices[min(i, len(s.Vertices)-1)], middle))
				var y mat.VecDense
				y.MulVec(r, v)
				y.ScaleVec(scale, &y)
				x[i] = y.RawVector().Data
			}
			return objective.Call(theta, x, at, target.Vertices, flatten(to.Cells))
		}
		// The first, r = 1 for the mesh itself, is kept where another is better by no more than rounding.
		best, least, rounding := (*mat.Dense)(nil), math.Inf(1), 0.0
		for signs := range 1 << d {
			flip := mat.NewDense(d, d, nil)
			for a := range d {
				flip.Set(a, a, float64(1-2*(signs>>a&1)))
			}
			var r mat.Dense
			r.Product(axes, flip, own.T())
			if mat.Det(&r) < 0 {
				continue
			}
			v, err := call(&r, make([]float64, turns+d+1))
			if err != nil {
				return nil, err
			}
			rounding = 1e-12 * v.Scalar(2)
			if v.Scalar(0) < least-rounding {
				best, least = &r, v.Scalar(0)
			}
		}
		if best == nil {
			return nil, fmt.Errorf("align: subject %d has no finite distance", len(out))
		}
		tolerance := math.Max(1e-9*least, rounding)
		theta, first := make([]float64, turns+d+1), true
		search := solve.NewBFGS(theta, mat.NewSymDense(len(theta), nil))
		for evaluation := 0; !search.Done && evaluation < 200; evaluation++ {
			v, err := call(best, search.X)
			if err != nil {
				return nil, err
			}
			g := v.Vector(1)
			if first { // a first step of at most 0.1
				first = false
				for i := range theta {
					search.Hessian.SetSym(i, i, math.Max(10*floats.Norm(g, 2), 1e-12*(1+least)))
				}
			}
			search.Learn(v.Scalar(0), g, tolerance)
		}
		v, err := call(best, search.Best)
		if err != nil {
			return nil, err
		}
		a := &Aligned{Scale: scale, Centre: middle, Shift: append([]float64{}, centre...), Distance: v.Scalar(0)}
		if search.Excess > tolerance {
			a.Status = geom.Stalled
		}
		theta = search.Best
		if scaled {
			a.Scale *= math.Exp(theta[turns+d])
		}
		floats.AddScaled(a.Shift, radius, theta[turns:turns+d])
		w := mat.NewDense(d, d, nil)
		for i, k := 0, 0; i < d; i++ {
			for j := i + 1; j < d; j, k = j+1, k+1 {
				w.Set(i, j, -theta[k])
				w.Set(j, i, theta[k])
			}
		}
		var turn, r mat.Dense
		turn.Exp(w)
		r.Mul(&turn, best)
		for i := range d {
			a.Rotation = append(a.Rotation, mat.Row(nil, i, &r))
		}
		a.Mesh = s.Map(a.Move)
		out = append(out, a)
	}
	return out, nil
}

// Move returns where the motion takes a point.
func (a *Aligned) Move(x []float64) []float64 {
	from := floats.SubTo(make([]float64, len(x)), x, a.Centre)
	y := append([]float64{}, a.Shift...)
	for i, row := range a.Rotation {
		y[i] += a.Scale * floats.Dot(row, from)
	}
	return y
}

// moments are the centre of mass of a mesh, its main axes as columns, the longest last, and the root mean square distance from
// the centre.
func moments(m *mesh.Mesh) (centre []float64, axes *mat.Dense, radius float64) {
	d := len(m.Vertices[0])
	sizes, middles, total := m.Sizes(), m.Centroids(), m.Size()
	centre = make([]float64, d)
	for i, c := range middles {
		floats.AddScaled(centre, sizes[i]/total, c)
	}
	spread := mat.NewSymDense(d, nil)
	for i, c := range middles {
		spread.SymRankOne(spread, sizes[i]/total, mat.NewVecDense(d, floats.SubTo(make([]float64, d), c, centre)))
	}
	var eigen mat.EigenSym
	eigen.Factorize(spread, true)
	axes = new(mat.Dense)
	eigen.VectorsTo(axes)
	return centre, axes, math.Sqrt(mat.Trace(spread))
}
