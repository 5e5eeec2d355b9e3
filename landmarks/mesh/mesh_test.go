package mesh_test

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anatomy/geom/geomtest/expect"
	"anatomy/landmarks/mesh"
)

func sum(x []float64) (s float64) {
	for _, v := range x {
		s += v
	}
	return s
}

// Spheres are closed, oriented outwards, of Euler characteristic 2, and their area and volume converge as h².
func TestSpheres(t *testing.T) {
	for k, m := range []*mesh.Mesh{mesh.Icosphere(3), mesh.Icosphere(4), mesh.Ellipsoid(1, 1, 1, 24, 48), mesh.Ellipsoid(1, 1, 1, 49, 96)} {
		if err := m.Validate(); err != nil {
			t.Error(err)
		}
		if err := m.CheckOriented(); err != nil {
			t.Error(err)
		}
		if euler := len(m.Vertices) - len(m.Cells)/2; euler != 2 {
			t.Errorf("sphere %d: Euler characteristic %d", k, euler)
		}
		if b := m.Boundary(); b != nil {
			t.Errorf("sphere %d: boundary %v", k, b)
		}
		v, err := m.Volume()
		if err != nil {
			t.Fatal(err)
		}
		h := m.Spacing()
		expect.Abs(t, "area", m.Size(), 4*math.Pi, 4*h*h)
		expect.Abs(t, "volume", v, 4*math.Pi/3, 2*h*h)
		expect.Abs(t, "sum of areas", sum(m.Sizes()), m.Size(), 1e-12)
		centroids := m.Centroids()
		for i, n := range m.Normals() {
			c := centroids[i]
			if n[0]*c[0]+n[1]*c[1]+n[2]*c[2] <= 0 {
				t.Fatalf("sphere %d: normal %d points inwards", k, i)
			}
		}
	}
	v, _ := mesh.Icosphere(2).Flip().Volume()
	if v >= 0 {
		t.Errorf("the volume inside out is %g", v)
	}
	// A stretch multiplies the volume by its determinant, a shift changes nothing.
	e := mesh.Icosphere(2).Map(func(x []float64) []float64 { return []float64{2*x[0] + 100, 3 * x[1], 0.5*x[2] - 7} })
	expect.Abs(t, "volume of an ellipsoid", expect.Must(e.Volume()), 3*expect.Must(mesh.Icosphere(2).Volume()), 1e-12)
}

func TestCurves(t *testing.T) {
	square := mesh.Curve([][]float64{{0, 0}, {2, 0}, {2, 3}, {0, 3}}, true)
	expect.Abs(t, "length", square.Size(), 10, 0)
	expect.Abs(t, "area", expect.Must(square.Volume()), 6, 0)
	expect.Abs(t, "area, clockwise", expect.Must(square.Flip().Volume()), -6, 0)
	expect.Abs(t, "subdivided", square.Subdivide().Size(), 10, 0)
	expect.Abs(t, "spacing", square.Subdivide().Spacing(), 1.25, 0)
	open := mesh.Curve([][]float64{{0, 0}, {2, 0}, {2, 3}}, false)
	if diff := cmp.Diff([][]int{{0}, {2}}, open.Boundary()); diff != "" {
		t.Error(diff)
	}
	expect.Refused(t, expect.Error(open.Volume()), "not closed")
}

func TestString(t *testing.T) {
	for want, m := range map[string]*mesh.Mesh{
		"curve of 3 edges on 3 vertices, x from 0 to 2, y from -1 to 0.5": mesh.Curve([][]float64{{0, 0}, {2, -1}, {1, 0.5}}, true),
		"surface of 1 triangle on 3 vertices, x from 0 to 1, y from 0 to 1, z from 0 to 0": {
			Vertices: [][]float64{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, Cells: [][]int{{0, 1, 2}}},
		"empty mesh": {},
	} {
		if got := m.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestDistances(t *testing.T) {
	triangle := &mesh.Mesh{Vertices: [][]float64{{0, 0, 0}, {4, 0, 0}, {0, 4, 0}}, Cells: [][]int{{0, 1, 2}}}
	points := &mesh.Mesh{Vertices: [][]float64{{1, 1, 5}, {-3, -4, 0}, {2, -1, 0}, {3, 3, 0}, {6, 0, 0}}, Cells: [][]int{{0, 1, 2}}}
	d, err := points.Distances(triangle)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{5, 5, 1, math.Sqrt2, 2} {
		expect.Abs(t, "distance", d[i], want, 1e-15)
	}
}

func TestBadMeshes(t *testing.T) {
	square := [][]float64{{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}}
	for want, m := range map[string]*mesh.Mesh{
		"the mesh is empty: no vertices":                         {},
		"4 vertices, but no edges or triangles":                  {Vertices: square},
		"coordinate 1 of vertex 0 is NaN":                        {Vertices: [][]float64{{0, math.NaN()}}},
		"coordinate 0 of vertex 1 is -Inf":                       {Vertices: [][]float64{{0, 0}, {math.Inf(-1), 0}}},
		"vertex 1 has 2 coordinates, vertex 0 has 3":             {Vertices: [][]float64{{0, 0, 0}, {0, 0}}},
		"cell 1 [0 1 4] points outside the 4 vertices":           {Vertices: square, Cells: [][]int{{0, 1, 2}, {0, 1, 4}}},
		"cell 0 [-1 1 2] points outside":                         {Vertices: square, Cells: [][]int{{-1, 1, 2}}},
		"cell 1 has 2 vertices, cell 0 has 3":                    {Vertices: square, Cells: [][]int{{0, 1, 2}, {0, 1}}},
		"cell 0 has 4 vertices":                                  {Vertices: square, Cells: [][]int{{0, 1, 2, 3}}},
		"triangles in the plane are no surface":                  {Vertices: [][]float64{{0, 0}, {1, 0}, {1, 1}}, Cells: [][]int{{0, 1, 2}}},
		"1 degenerate triangle, the first 1 [0 2 2]":             {Vertices: square, Cells: [][]int{{0, 1, 2}, {0, 2, 2}, {0, 2, 3}}},
		"1 degenerate triangle, the first 0 [0 1 2]":             {Vertices: [][]float64{{0, 0, 0}, {1e-3, 1e-3, 0}, {3e-3, 3e-3, 0}}, Cells: [][]int{{0, 1, 2}}},
		"1 unused vertex, the first 3":                           {Vertices: square, Cells: [][]int{{0, 1, 2}}},
		"1 duplicate vertex, the first 3 at the place of 0":      {Vertices: [][]float64{{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 0, 0}, {0, 1, 0}}, Cells: [][]int{{0, 1, 2}, {3, 2, 4}}},
		"1 duplicate triangle, the first 2 [2 0 1]":              {Vertices: square, Cells: [][]int{{0, 1, 2}, {0, 2, 3}, {2, 0, 1}}},
		"1 non-manifold places, the first edge 0–1, where cells": {Vertices: append(square, []float64{0, 0, 1}), Cells: [][]int{{0, 1, 2}, {1, 0, 3}, {0, 1, 4}}},
		"1 non-manifold places, the first vertex 0, where cells": {Vertices: square, Cells: [][]int{{0, 1}, {0, 2}, {0, 3}}},
	} {
		expect.Refused(t, m.Validate(), want)
	}
}

func TestClean(t *testing.T) {
	m := &mesh.Mesh{
		Vertices: [][]float64{{9, 9, 9}, {0, 0, 0}, {1, 0, 0}, {math.NaN(), 0, 0}, {1, 1, 0}, {0, 0, 0}, {0, 1, 0}, {0, math.Copysign(0, -1), 0}},
		Cells:    [][]int{{1, 2, 4}, {5, 4, 6}, {1, 5, 2}, {4, 7, 2}, {2, 2, 4}},
	}
	before := m.Copy()
	done, err := m.Clean()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := done.String(), "merged 2 duplicate vertices, removed 2 degenerate cells, removed 1 duplicate cell, removed 2 unused vertices"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	want := &mesh.Mesh{Vertices: [][]float64{{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}}, Cells: [][]int{{0, 1, 2}, {0, 2, 3}}}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Error(diff)
	}
	if err := m.Validate(); err != nil {
		t.Error(err)
	}
	if done, err := m.Clean(); err != nil || done.String() != "nothing to clean" {
		t.Errorf("a second time: %v, %v", done, err)
	}
	before.Cells = append(before.Cells, []int{3, 1, 2}) // now the NaN is used
	expect.Refused(t, expect.Error(before.Clean()), "is NaN")
}

func TestOrient(t *testing.T) {
	m := mesh.Icosphere(2)
	for _, i := range []int{3, 17, 100} {
		m.Cells[i][0], m.Cells[i][1] = m.Cells[i][1], m.Cells[i][0]
	}
	expect.Refused(t, m.CheckOriented(), "inconsistent orientation at 9 places, the first edge")
	if turned, err := m.Orient(); err != nil || turned != 3 {
		t.Errorf("turned %d, %v", turned, err)
	}
	if diff := cmp.Diff(expect.Must(mesh.Icosphere(2).Volume()), expect.Must(m.Volume())); diff != "" {
		t.Error(diff)
	}
	strip := &mesh.Mesh{} // a Möbius strip
	for i := range 6 {
		a := math.Pi * float64(i) / 3
		for _, s := range []float64{-0.3, 0.3} {
			r := 1 + s*math.Cos(a/2)
			strip.Vertices = append(strip.Vertices, []float64{r * math.Cos(a), r * math.Sin(a), s * math.Sin(a/2)})
		}
		at := func(k int) int { // the ends meet crosswise
			if k >= 12 {
				return k - 12 ^ 1
			}
			return k
		}
		strip.Cells = append(strip.Cells, []int{at(2 * i), at(2*i + 2), at(2*i + 1)}, []int{at(2*i + 1), at(2*i + 2), at(2*i + 3)})
	}
	if err := strip.Validate(); err != nil {
		t.Error(err)
	}
	expect.Refused(t, expect.Error(strip.Orient()), "has no orientation")
	curve := mesh.Curve([][]float64{{0, 0}, {1, 0}, {2, 1}}, true)
	curve.Cells[1] = []int{2, 1}
	expect.Refused(t, curve.CheckOriented(), "inconsistent orientation at 2 places, the first vertex 1")
	if turned, err := curve.Orient(); err != nil || turned != 1 {
		t.Errorf("turned %d, %v", turned, err)
	}
}

// A vertex of a flat sheet that is pulled over its neighbours folds the triangles at it, in every orientation.
func TestFolds(t *testing.T) {
	flat := &mesh.Mesh{Vertices: [][]float64{{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}, {0.5, 0.5, 0}}, Cells: [][]int{{0, 1, 4}, {1, 2, 4}, {2, 3, 4}, {3, 0, 4}}}
	for _, turned := range []bool{false, true} {
		if turned {
			flat.Cells[1][0], flat.Cells[1][1] = flat.Cells[1][1], flat.Cells[1][0]
		}
		pulled := flat.Copy()
		pulled.Vertices[4] = []float64{0.9, 0.5, 0.1}
		if f := pulled.Folds(flat); len(f) != 0 {
			t.Errorf("no fold, got %v", f)
		}
		pulled.Vertices[4][0] = 1.5
		if f := pulled.Folds(flat); !slices.Equal(f, [][2]int{{0, 1}, {1, 2}}) {
			t.Errorf("folds %v", f)
		}
	}
}
