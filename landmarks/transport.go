package landmarks

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
)

// Gram returns K(x_i, x_j), [..., N, N].
func (m Manifold) Gram(q *Node) *Node {
	x := m.points(q)
	return m.Kernel.Gram(x, x)
}

// GramGradient returns ∂K(x_i, x_j)/∂x_i, [..., N, N, D].
func (m Manifold) GramGradient(q *Node) *Node {
	// Every pair gets a copy of its points, so that one gradient gives the derivatives of all pairs.
	x := m.points(q)
	batch := x.Shape().Dimensions[:x.Rank()-2]
	copies := func(rows, columns int) *Node {
		y := Reshape(x, append(append([]int{}, batch...), rows, columns, 1, m.D)...)
		return BroadcastToDims(y, append(append([]int{}, batch...), m.N, m.N, 1, m.D)...)
	}
	xi, xj := copies(m.N, 1), copies(1, m.N)
	return Squeeze(Gradient(ReduceAllSum(m.Kernel.Gram(xi, xj)), xi)[0], -2)
}

// Transport moves tangent vectors at the start of a geodesic along it and returns them at the times of its path:
// out[k][i] is vector k at time i, one row a landmark.
func (s *Space) Transport(g *Geodesic, v ...[][]float64) ([][][][]float64, error) {
	vectors, err := s.tangents("Transport", v)
	if err != nil {
		return nil, err
	}
	along := &geom.Geodesic{Start: flatten(g.Start), Momentum: flatten(g.Momentum)}
	out, err := s.Geometry.Transport(along, vectors...)
	return s.fields(out), err
}

// TransportAlong moves tangent vectors at the first of a curve's shapes along the curve and returns them at all its
// shapes: out[k][i] is vector k at shape i. See geom.Space.TransportAlong.
func (s *Space) TransportAlong(curve [][][]float64, v ...[][]float64) ([][][][]float64, error) {
	points := make([][]float64, len(curve))
	for i, q := range curve {
		var err error
		if points[i], err = s.Vector(q); err != nil {
			return nil, fmt.Errorf("TransportAlong: shape %d of the curve: %w", i, err)
		}
	}
	vectors, err := s.tangents("TransportAlong", v)
	if err != nil {
		return nil, err
	}
	out, err := s.Geometry.TransportAlong(points, vectors...)
	return s.fields(out), err
}

// SectionalCurvature returns the sectional curvature at a shape of the plane that two tangent vectors span.
func (s *Space) SectionalCurvature(q, u, v [][]float64) (float64, error) {
	x, err := s.Vector(q)
	if err != nil {
		return 0, fmt.Errorf("SectionalCurvature: %w", err)
	}
	vectors, err := s.tangents("SectionalCurvature", [][][]float64{u, v})
	if err != nil {
		return 0, err
	}
	return s.Geometry.SectionalCurvature(x, vectors[0], vectors[1])
}

func (s *Space) tangents(what string, v [][][]float64) ([][]float64, error) {
	out := make([][]float64, len(v))
	for k := range v {
		var err error
		if out[k], err = s.rows(v[k]); err != nil {
			return nil, fmt.Errorf("%s: vector %d: %w", what, k, err)
		}
	}
	return out, nil
}

func (s *Space) fields(vectors [][][]float64) [][][][]float64 {
	out := make([][][][]float64, len(vectors))
	for k, times := range vectors {
		for _, v := range times {
			out[k] = append(out[k], s.Shape(v))
		}
	}
	return out
}
