package mesh_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anatomy/geom/geomtest/expect"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/notebooks/lab/scanned"
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
		if done, err := m.Copy().Clean(); err != nil || done != (mesh.Cleaning{}) {
			t.Error(done, err)
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
		"all 1 triangle are degenerate":                          {Vertices: [][]float64{{0, 0, 0}, {1e-3, 1e-3, 0}, {3e-3, 3e-3, 0}}, Cells: [][]int{{0, 1, 2}}},
		"1 duplicate triangle with 33 % of the size count twice": {Vertices: square, Cells: [][]int{{0, 1, 2}, {0, 2, 3}, {2, 0, 1}}},
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
	if got, want := done.String(), "merged 2 duplicate vertices, removed 2 degenerate cells, removed 1 duplicate cell (33 % of the size), removed 2 unused vertices"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	want := &mesh.Mesh{Vertices: [][]float64{{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}}, Cells: [][]int{{0, 1, 2}, {0, 2, 3}}}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Error(diff)
	}
	if done, err := m.Clean(); err != nil || done.String() != "nothing to clean" {
		t.Errorf("a second time: %v, %v", done, err)
	}
	before.Cells = append(before.Cells, []int{3, 1, 2}) // now the NaN is used
	expect.Refused(t, expect.Error(before.Clean()), "is NaN")
}

// What Clean did to a mesh, in words.
func cleaned(t *testing.T, m *mesh.Mesh) string {
	t.Helper()
	return expect.Must(m.Clean()).String()
}

func turn(m *mesh.Mesh, cells ...int) {
	for _, i := range cells {
		m.Cells[i][0], m.Cells[i][1] = m.Cells[i][1], m.Cells[i][0]
	}
}

// Cells that were turned round come back as they were, whichever they are, as long as most of the size is right.
func TestOrient(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 1))
	for what, m := range map[string]*mesh.Mesh{
		"sphere": mesh.Icosphere(2), "curve": mesh.Curve([][]float64{{0, 0}, {1, 0}, {2, 1}, {0, 1}}, true),
		"open curve": mesh.Curve([][]float64{{0, 0}, {1, 0}, {2, 1}, {0, 1}, {0, 2}}, false), "open sheet": mesh.Ellipsoid(1, 2, 1, 9, 12).With(nil),
	} {
		if m.Vertices == nil { // without its last ring
			m = mesh.Ellipsoid(1, 2, 1, 9, 12)
			m.Cells = m.Cells[:len(m.Cells)*2/3]
			expect.Must(m.Clean())
		}
		for range 20 {
			spoiled := m.Copy()
			var wrong []int
			share := 0.0
			for _, i := range random.Perm(len(m.Cells)) {
				if size := m.Sizes()[i] / m.Size(); share+size < 0.45 {
					wrong, share = append(wrong, i), share+size
				}
			}
			turn(spoiled, wrong...)
			expect.Refused(t, spoiled.CheckOriented(), "are oriented against the rest", "turn them round by Mesh.Clean")
			done := expect.Must(spoiled.Clean())
			if done.TurnedCells != len(wrong) || math.Abs(done.Turned-share) > 1e-12 {
				t.Errorf("%s: turned %d cells of %g of the size, want %d of %g", what, done.TurnedCells, done.Turned, len(wrong), share)
			}
			if diff := cmp.Diff(m, spoiled); diff != "" {
				t.Fatalf("%s: %s", what, diff)
			}
		}
	}
	inside := mesh.Icosphere(1).Flip()
	if got := cleaned(t, inside); got != "turned 80 cells round (100 % of the size)" {
		t.Error(got)
	}
	expect.Abs(t, "volume", expect.Must(inside.Volume()), expect.Must(mesh.Icosphere(1).Volume()), 1e-15)
}

// A Möbius strip has no orientation: that of most of its cells stays, and at one edge two cells disagree.
func TestNoOrientation(t *testing.T) {
	for _, n := range []int{6, 300} {
		strip := &mesh.Mesh{}
		for i := range n {
			a := 2 * math.Pi * float64(i) / float64(n)
			for _, s := range []float64{-0.3, 0.3} {
				r := 1 + s*math.Cos(a/2)
				strip.Vertices = append(strip.Vertices, []float64{r * math.Cos(a), r * math.Sin(a), s * math.Sin(a/2)})
			}
			at := func(k int) int { // the ends meet crosswise
				if k >= 2*n {
					return k - 2*n ^ 1
				}
				return k
			}
			strip.Cells = append(strip.Cells, []int{at(2 * i), at(2*i + 2), at(2*i + 1)}, []int{at(2*i + 1), at(2*i + 2), at(2*i + 3)})
		}
		turn(strip, 1, 4, 5)
		done := expect.Must(strip.Clean())
		if done.Unoriented != 1 || done.TurnedCells != 3 {
			t.Errorf("%d cells: %v", 2*n, done)
		}
		expect.Abs(t, "share at the seam", done.Disagreeing, 1/float64(n), 0.5/float64(n))
		err := strip.CheckOriented()
		if n == 6 {
			expect.Refused(t, err, "the mesh has no orientation: at 1 place, the first edge", "cannot agree")
		} else if err != nil {
			t.Error(err)
		}
		if err := strip.Validate(); err != nil {
			t.Error(err)
		}
	}
}

// What real meshes have and integrals do not mind.
func TestHarmless(t *testing.T) {
	ball := mesh.Icosphere(2)
	volume := expect.Must(ball.Volume())
	join := func(a, b *mesh.Mesh) *mesh.Mesh {
		out := a.Copy()
		for _, c := range b.Cells {
			shifted := []int{}
			for _, v := range c {
				shifted = append(shifted, v+len(a.Vertices))
			}
			out.Cells = append(out.Cells, shifted)
		}
		out.Vertices = append(out.Vertices, b.Copy().Vertices...)
		return out
	}
	apex := append(ball.Copy().Vertices, []float64{2, 2, 2})
	e := ball.Cells[5]
	flap := &mesh.Mesh{Vertices: apex, Cells: append(ball.Copy().Cells, []int{e[0], e[1], len(apex) - 1}, []int{e[1], e[0], len(apex) - 1})}
	fin := &mesh.Mesh{Vertices: apex, Cells: append(ball.Copy().Cells, []int{e[0], e[1], len(apex) - 1})}
	both := join(ball, ball.Flip())
	twice := ball.Copy()
	twice.Cells = append(twice.Cells, twice.Cells[3])
	cube := &mesh.Mesh{}
	for i := range 8 {
		cube.Vertices = append(cube.Vertices, []float64{float64(i >> 2), float64(i >> 1 & 1), float64(i & 1)})
	}
	for _, q := range [][4]int{{0, 1, 3, 2}, {4, 6, 7, 5}, {0, 4, 5, 1}, {2, 3, 7, 6}, {0, 2, 6, 4}, {1, 5, 7, 3}} {
		cube.Cells = append(cube.Cells, []int{q[0], q[1], q[2]}, []int{q[0], q[2], q[3]})
	}
	touching := join(cube, cube.Map(func(x []float64) []float64 { return []float64{x[0] + 1, x[1] + 1, x[2]} }))
	for what, c := range map[string]struct {
		mesh   *mesh.Mesh
		want   string
		volume float64 // NaN for none
	}{
		"flap":              {flap, "removed 1 flap of two cells with the same vertices (6.8 % of the size), removed 1 unused vertex", volume},
		"fin":               {fin, "more than two cells meet at 1 place, which stay", math.NaN()},
		"both sides":        {both, "merged 162 duplicate vertices, removed 320 duplicate cells (50 % of the size)", volume},
		"twice":             {twice, "removed 1 duplicate cell (0.3 % of the size)", volume},
		"touching cubes":    {touching, "merged 2 duplicate vertices, more than two cells meet at 1 place, which stay", 2},
		"two balls":         {join(ball, ball.Map(func(x []float64) []float64 { return []float64{x[0]/10 + 5, x[1] / 10, x[2] / 10} })), "in 2 pieces, of which the largest has 99 % of the size", 1.001 * volume},
		"vertices repeated": {&mesh.Mesh{Vertices: append(ball.Copy().Vertices, ball.Vertices...), Cells: ball.Copy().Cells}, "removed 162 unused vertices", volume},
	} {
		if err := c.mesh.Validate(); err != nil && what != "both sides" {
			t.Errorf("%s: %v", what, err)
		}
		if got := cleaned(t, c.mesh); got != c.want {
			t.Errorf("%s: %s, want %s", what, got, c.want)
		}
		if err := errors.Join(c.mesh.Validate(), c.mesh.CheckOriented()); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := c.mesh.Locator(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		got, err := c.mesh.Volume()
		if math.IsNaN(c.volume) {
			expect.Refused(t, err, "Volume: the mesh is not closed: its boundary has 3 pieces, the first edge")
			continue
		}
		expect.Abs(t, what+": volume", got, c.volume, 1e-12)
	}
}

// Bodies of a scanner are accepted as they are, for all that is in them, and enclose the volume of one without noise.
func TestScanned(t *testing.T) {
	for _, c := range []struct{ noise, spacing, tolerance float64 }{{0.1, 1.2, 0.002}, {0.3, 1.5, 0.02}, {0.5, 1.5, 0.05}} {
		raw := scanned.Body(1, 40, c.noise, c.spacing)
		if err := errors.Join(raw.Validate(), raw.CheckOriented()); c.noise < 0.4 && err != nil {
			t.Error(err)
		}
		m := bodyOf(t, 1, 40, c.noise, c.spacing)
		got, want := expect.Must(m.Volume()), expect.Must(bodyOf(t, 1, 40, 0, c.spacing).Volume())
		expect.Abs(t, "volume with noise", got, want, c.tolerance*want)
	}
}

func bodyOf(t *testing.T, seed uint64, n int, noise, spacing float64) *mesh.Mesh {
	t.Helper()
	m := scanned.Body(seed, n, noise, spacing)
	done := expect.Must(m.Clean())
	t.Log(done)
	if err := errors.Join(m.Validate(), m.CheckOriented()); err != nil {
		t.Error(err)
	}
	if again := expect.Must(m.Clean()); again.MergedVertices+again.UnusedVertices+again.DegenerateCells+again.DuplicateCells+again.Flaps+again.TurnedCells > 0 {
		t.Errorf("a second time: %v", again)
	}
	return m
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
	// Of two triangles that stand at an angle, one bends over the other by more than a right angle, or by less; a flat one is in no pair.
	bent := func(degrees float64) *mesh.Mesh {
		s, c := math.Sincos(degrees * math.Pi / 180)
		return &mesh.Mesh{Vertices: [][]float64{{0, 0, 0}, {1, 0, 0}, {0, -1, 0}, {0, c, s}}, Cells: [][]int{{1, 0, 2}, {0, 1, 3}}}
	}
	flat = bent(0)
	flat.Vertices[3] = []float64{0.5, 0, 0}
	for _, c := range []struct {
		from, to float64
		want     int
	}{{0, 89, 0}, {0, 91, 1}, {80, 120, 0}, {80, 169, 0}, {80, 171, 1}, {80, -9, 0}, {100, 179, 0}} {
		if f := bent(c.to).Folds(bent(c.from)); len(f) != c.want {
			t.Errorf("from %g to %g degrees: folds %v", c.from, c.to, f)
		}
	}
	if f := flat.Folds(bent(0)); len(f) != 0 {
		t.Errorf("a triangle without size folds %v", f)
	}
}
