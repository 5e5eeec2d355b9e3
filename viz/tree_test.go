package viz

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/plot/vg"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/shape"
	"anatomy/geom/tree"
)

// What has a given size on the page lies inside the figure, whatever the figure's size, and names do not touch one another while there is
// room.
func TestNamesFindRoom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	overlaps := 0
	for trial := range 40 {
		points := make([][]float64, 9)
		names := make([]string, len(points))
		for i := range points {
			points[i] = []float64{rng.Float64(), rng.Float64()}
			names[i] = fmt.Sprintf("species %d", i*i*i*i)
		}
		for _, chart := range []bool{false, true} {
			layer := newLayer(traits{name: "Marks", chart: chart}, func(c *canvas) {
				c.glyph(points[0], [][]float64{{-40, -3}, {20, 30}, {0, 5}}, paper, c.stroke(0, 1))
				c.add(mark{kind: glyphMark, at: points[1:2], text: "a caption of some length", fill: Black, glyph: [][]float64{{9, -7}}})
			})
			s := expect.Must(Fig(Points(points), layer, Names(points, names)).scene())
			width := vg.Length(7+trial%5) * cm
			page := vg.Rectangle{Max: vg.Point{X: width, Y: s.naturalHeight(width)}}
			f := s.frame(s.inner(page))
			var boxes []vg.Rectangle
			for _, st := range s.stamps(f) {
				at := st.at
				if st.text != "" {
					half := textBox(st.text).Scale(0.5)
					at = []vg.Point{st.at[0].Sub(half), st.at[0].Add(half)}
					boxes = append(boxes, vg.Rectangle{Min: at[0], Max: at[1]})
				}
				low, high := extremes(at)
				if low.X < f.area.Min.X-0.01 || low.Y < f.area.Min.Y-0.01 || high.X > f.area.Max.X+0.01 || high.Y > f.area.Max.Y+0.01 {
					t.Errorf("%v to %v lies outside %v", low, high, f.area)
				}
			}
			for i, a := range boxes {
				for _, b := range boxes[:i] {
					if a.Min.X < b.Max.X && b.Min.X < a.Max.X && a.Min.Y < b.Max.Y && b.Min.Y < a.Max.Y {
						overlaps++
					}
				}
			}
		}
	}
	if overlaps > 0 {
		t.Errorf("%d names overlap", overlaps)
	}
}

// Lengths are to scale: the leaves of an ultrametric tree end at one place of the axis, and edges are as long as they say.
func TestTreeLayout(t *testing.T) {
	s := expect.Must(Fig(Tree(species())).scene())
	want := species()
	height := want.Height()
	edge := 0
	for _, m := range s.marks {
		if m.kind != lineMark {
			continue
		}
		edge++
		end := m.at[len(m.at)-1]
		expect.Abs(t, "length", end[0]-m.at[0][0], want.Length[edge], 1e-15)
		expect.Abs(t, "height", end[0], height[edge], 0)
	}
	if edge != len(want.Parent)-1 {
		t.Errorf("%d edges", edge)
	}
	leaves, row := rowsOf(want)
	for r, i := range want.Leaves() { // they are written from top to bottom
		expect.Abs(t, "row", row[i], float64(leaves-1-r), 0)
	}
	expect.Abs(t, "row of the root", row[0], (row[1]+row[2])/2, 0)
	// Nodes need not be numbered along the rows.
	crossed := expect.Must(tree.New([]int{-1, 0, 0, 1, 2, 1, 2}, []float64{0, 1, 1, 1, 1, 1, 1}, nil))
	_, row = rowsOf(crossed)
	expect.Abs(t, "rows", row, []float64{1.5, 2.5, 0.5, 3, 1, 2, 0}, 0)
}

func TestTreeAlt(t *testing.T) {
	got := expect.Must(alt(Fig(Tree(species()).Label("phylogeny")).XLabel("million years")))
	if want := `tree of 10 nodes "phylogeny", grey, from the top A, Plethodon cinereus, P. virginia, C, D, E. million years from 0 to 3.5.`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	raster(t, Fig(Tree(expect.Must(tree.Parse("A;")))).XLabel("million years"), 72)
}

func TestTreeErrors(t *testing.T) {
	shapes := make([]shape.Shape, 10)
	shapes[4] = [][]float64{{0, 0}, {math.NaN(), 1}}
	solid := make([]shape.Shape, 10)
	solid[4] = constant(3, 1, 2, 3)
	for _, c := range []struct {
		drawing Drawing
		want    string
	}{
		{Tree(nil), "Tree: no tree"},
		{Tree(expect.Must(tree.Parse("(A,B);"))), `the edge above "A" has no length`},
		{Tree(species(), shapes[:3]...), "3 shapes for 10 nodes"},
		{Tree(species(), shapes...), "shape 4, landmark 1: coordinate x is NaN"},
		{Tree(species(), solid...), "shape 4 has 3 coordinates"},
		{Fig(Tree(species())).Size(2, 5), "make it larger"},
		{Phylomorphospace(nil, constant(10, 1, 2)), "no tree"},
		{Phylomorphospace(species(), constant(8, 1, 2)), "8 points for 10 nodes"},
		{Phylomorphospace(species(), constant(10, 1, 2, 3)), "for flat figures"},
		{Names(constant(2, 1, 2), []string{"a"}), "1 names for 2 points"},
		{newLayer(traits{name: "Mine"}, func(c *canvas) {
			c.glyph([]float64{0, 0}, [][]float64{{1, math.NaN()}}, paper, pen{})
		}), "Mine: mark 0: the offset 0 is [1 NaN]"},
	} {
		_, err := alt(c.drawing)
		if err == nil {
			err = Save(t.TempDir()+"/x.png", c.drawing)
		}
		expect.Refused(t, err, c.want)
	}
}
