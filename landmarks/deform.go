package landmarks

import (
	"errors"
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom/linalg"
	"anatomy/geom/ode"
	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/landmarks/mesh"
)

// Deformation is the derivative Dφ of a diffeomorphism φ at points.
type Deformation struct {
	Points   [][]float64   // z, [k][D]
	Images   [][]float64   // φ(z), [k][D]
	Jacobian [][][]float64 // Dφ(z), [k][D][D]: row a is the gradient of φ_a; a pure number
}

// Strains returns what the deformation does to lengths at each point: see mesh.Strain.
func (d *Deformation) Strains() ([]mesh.Strain, error) {
	solve.NotNil(d)
	out := make([]mesh.Strain, len(d.Jacobian))
	for i, f := range d.Jacobian {
		var err error
		if out[i], err = mesh.StrainOf(f); err != nil {
			return nil, fmt.Errorf("strain at point %d: %w", i, err)
		}
	}
	return out, nil
}

// LogJacobians returns log det Dφ at each point: the logarithm of the ratio of volumes, in the plane of areas, after and before. It is
// positive where the deformation expands.
func (d *Deformation) LogJacobians() ([]float64, error) {
	solve.NotNil(d)
	strains, err := d.Strains()
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(strains))
	for i, s := range strains {
		out[i] = s.LogJacobian()
	}
	return out, nil
}

// Deform returns the derivative at points, [k][D], of the diffeomorphism φ at time 1 of a geodesic. With the velocity field v of the
// geodesic it solves the variational equation
//
//	z' = v(z),  F' = Dv(z) F,  F(0) = 1,
//
// whose F at time 1 is Dφ, by the integrator of the space and to its order. Points are taken in blocks, so that the memory does not
// grow with their number. The errors are those of Carry.
func (s *Space) Deform(g *Geodesic, points [][]float64) (_ *Deformation, err error) {
	defer try.Named(&err, "Deform")
	s = s.along(g, points)
	// A block has at most this many numbers of the kernel matrix between points and landmarks.
	const most = 1 << 22
	d, block := s.Manifold.D, min(len(points), max(1, most/s.Manifold.N))
	out := &Deformation{Points: points}
	padded := make([][]float64, block)
	for from := 0; from < len(points); from += block {
		n := copy(padded, points[from:])
		for i := n; i < block; i++ {
			padded[i] = points[from]
		}
		values := try.Get(s.call("deform", func(in []*Node) []*Node {
			z := in[2]
			unit := BroadcastPrefix(linalg.Eye(z.Graph(), z.DType(), d), z.Shape().Dim(0))
			images, frames := s.CarryFramesOnGraph(in[0], in[1], z, unit)
			return []*Node{images, frames}
		}, s.Vector(g.Start), s.Vector(g.Momentum), padded))
		out.Images = append(out.Images, values.Matrix(0)[:n]...)
		out.Jacobian = append(out.Jacobian, values.Array3(1)[:n]...)
	}
	try.Do(s.Manifold.fits(points, out.Images))
	return out, nil
}

// Inverse returns the geodesic from the end of g back to its start. Its diffeomorphism is the inverse of that of g, so that Carry and
// Deform with it give φ⁻¹ and its derivative.
func (s *Space) Inverse(g *Geodesic) (*Geodesic, error) {
	if g == nil || len(g.Momenta) == 0 {
		return nil, errors.New("Inverse: the geodesic is nil or has no momenta: give one that Exp, Shoot or Log returned without an error")
	}
	p := floats.ScaleTo(make([]float64, s.Manifold.Dim()), -1, s.Vector(g.Momenta[len(g.Momenta)-1]))
	return s.Steady(g).ShootInexact(g.End, s.Point(p))
}

// CarryFramesOnGraph is a graph function: it returns where the diffeomorphisms φ at time 1 of the geodesics from q with initial momenta
// p, both [..., N·D], take points z, [..., k, D], and what their derivatives do to vectors there, the columns of frames, [..., k, D, m].
func (s *Space) CarryFramesOnGraph(q, p, z, frames *Node) (images, carried *Node) {
	end := ode.Flow(s.carryingFrames(), s.Method(), s.Steps(), ode.State{q, p, z, frames})
	return end[2], end[3]
}

// carryingFrames is carrying with frames at the points, F' = Dv(z) F.
func (s *Space) carryingFrames() ode.Field {
	carrying := s.carrying()
	return func(t *Node, y ode.State) ode.State {
		dy := carrying(t, y[:3])
		rows := make([]*Node, s.Manifold.D)
		for a := range rows { // the velocity of a point depends on no other point
			rows[a] = Gradient(ReduceAllSum(SliceAxis(dy[2], -1, AxisElem(a))), y[2])[0]
		}
		return append(dy, linalg.MatMul(Stack(rows, -2), y[3]))
	}
}
