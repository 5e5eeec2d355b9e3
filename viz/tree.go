package viz

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/shape"
	"anatomy/geom/tree"
	"anatomy/geom/try"
	"anatomy/internal/lists"
)

// Tree draws a rooted tree from left to right, with lengths to scale along the x axis, and the names of its leaves. XLabel says
// what is measured: "length from the root (million years)". Shapes of the plane, if any, are drawn small at the nodes, all on one scale, as
// closed outlines: one a node of the tree, nil for none. The layer has an item a node: ColorBy colours the edge above it and its
// shape.
func Tree(t *tree.Tree, shapes ...shape.Shape) *Layer {
	n := 0
	if t != nil {
		n = len(t.Parent)
	}
	return newLayer(traits{name: "Tree", takes: "ColorBy", items: n, noun: "tree of %d nodes", detail: (*scene).listed}, func(c *canvas) {
		try.FailIf(t == nil, "no tree: give one of tree.Parse or tree.New")
		try.Do(t.CheckLengths())
		try.FailIf(len(shapes) != 0 && len(shapes) != n, "%d shapes for %d nodes: give one a node, nil for none", len(shapes), n)
		for i, s := range shapes {
			if len(s) > 0 && len(s[0]) != 2 {
				try.Fail("shape %d has %d coordinates: shapes at nodes are of the plane", i, len(s[0]))
			}
		}
		small := glyphs(shapes, glyphWidth, glyphTall)
		leaves, row := rowsOf(t)
		c.rows, c.row = leaves, math.Max(9, 2*boxOf(small...).hi[1]+4)
		height := t.Height()
		at := func(i int) []float64 { return []float64{height[i], row[i]} }
		for i, p := range t.Parent {
			if p >= 0 {
				c.line([][]float64{at(p), {height[p], row[i]}, at(i)}, false, c.stroke(i, 1))
			}
		}
		if n == 1 {
			c.dot(at(0), 3, c.ink(0), pen{})
		}
		isLeaf := func(i int) bool { return !slices.Contains(t.Parent, i) }
		for i := range n {
			reach := 0.0
			if len(shapes) > 0 && shapes[i] != nil {
				g := small[i]
				reach = boxOf(g).hi[0]
				if isLeaf(i) { // beside the leaf, not over its edge
					for _, p := range g {
						p[0] += gap + reach
					}
					reach = gap + 2*reach
				}
				stroke := c.stroke(i, 0.8)
				stroke.Width = 0.8
				c.glyph(at(i), g, paper, stroke)
			}
			if isLeaf(i) && t.Name[i] != "" {
				c.add(mark{kind: glyphMark, at: [][]float64{at(i)}, text: spaced(t.Name[i]), fill: Black, glyph: [][]float64{{reach + gap, 0}}})
			}
		}
	}).Color(Grey)
}

// spaced is a name with spaces in place of underscores: that is what they stand for in Newick's format.
func spaced(name string) string { return strings.ReplaceAll(name, "_", " ") }

const (
	gap        = 3.0 // points between the parts of a leaf
	glyphWidth = 30.0
	glyphTall  = 18.0
)

// glyphs returns shapes as offsets in points from the middles of their boxes, all on one scale, the largest of a size; none of a shape that is
// nil. Of shapes in space they have the two coordinates along which the first is largest.
func glyphs(shapes []shape.Shape, width, height float64) (out []shape.Shape) {
	axes, scale := []int{0, 1}, math.Inf(1)
	for i, s := range shapes {
		if s == nil {
			continue
		}
		checkPoints(fmt.Sprintf("shape %d", i), s)
		b := boxOf(s)
		if len(s[0]) == 3 && math.IsInf(scale, 1) {
			size := []float64{b.size(0), b.size(1), b.size(2)}
			axes = slices.Delete([]int{0, 1, 2}, floats.MinIdx(size), floats.MinIdx(size)+1)
		}
		scale = math.Min(scale, math.Min(width/b.size(axes[0]), height/b.size(axes[1])))
	}
	if out = make([]shape.Shape, len(shapes)); math.IsInf(scale, 1) {
		return out
	}
	for i, s := range shapes {
		b := boxOf(s)
		for _, p := range s {
			out[i] = append(out[i], lists.Each(axes, func(k int) float64 { return scale * (p[k] - (b.lo[k]+b.hi[k])/2) }))
		}
	}
	return out
}

// rowsOf returns how many leaves there are and the row of every node, the first leaf's the highest: of a node with children, the middle of those
// of its first and last.
func rowsOf(t *tree.Tree) (leaves int, row []float64) {
	children, row := make([][]int, len(t.Parent)), make([]float64, len(t.Parent))
	for i, p := range t.Parent {
		if p >= 0 {
			children[p] = append(children[p], i)
		}
	}
	leaves = len(t.Leaves())
	above := 0
	var place func(i int) float64
	place = func(i int) float64 {
		rows := lists.Each(children[i], place)
		if rows == nil {
			above++
			rows = []float64{float64(leaves - above)}
		}
		row[i] = (rows[0] + rows[len(rows)-1]) / 2
		return row[i]
	}
	place(0)
	return leaves, row
}

// Phylomorphospace draws a tree among the points of its nodes, [n][2], in two coordinates of shape, such as principal components:
// edges as lines, leaves as dots with their names, other nodes as small open dots, the root as a larger one (B. Sidlauskas 2008). The
// layer has an item a node: ColorBy colours the edge above it and its dot.
func Phylomorphospace(t *tree.Tree, points [][]float64) *Layer {
	return newLayer(traits{name: "Phylomorphospace", takes: "ColorBy", items: len(points), noun: "tree of %d nodes in morphospace", detail: (*scene).listed}, func(c *canvas) {
		try.FailIf(t == nil, "no tree: give one of tree.Parse or tree.New")
		checkPoints("nodes", points)
		try.FailIf(len(points) != len(t.Parent), "%d points for %d nodes: give one a node", len(points), len(t.Parent))
		for i, p := range t.Parent {
			if p >= 0 {
				c.line([][]float64{points[p], points[i]}, false, c.stroke(i, 0.8))
			}
		}
		isLeaf := func(i int) bool { return !slices.Contains(t.Parent, i) }
		for i, p := range points {
			switch {
			case isLeaf(i):
				c.dot(p, 4, c.ink(i), pen{})
			case i == 0:
				c.dot(p, 5.5, paper, pen{Color: c.ink(i), Width: 1.2})
			default:
				c.dot(p, 3, paper, pen{Color: c.ink(i), Width: 0.8})
			}
		}
		for i, p := range points {
			if isLeaf(i) && t.Name[i] != "" {
				c.nameAt(p, spaced(t.Name[i]), Black)
			}
		}
	})
}

// Names writes a name beside each point of the plane, where it covers least of what the figure draws, or of space, unless it would stand on
// a nearer one; an empty one is not written.
func Names(points [][]float64, names []string) *Layer {
	return newLayer(traits{name: "Names", detail: (*scene).listed, colourless: true}, func(c *canvas) {
		checkPoints("points", points)
		try.FailIf(len(names) != len(points), "%d names for %d points", len(names), len(points))
		for i, p := range points {
			switch {
			case names[i] == "":
			case len(p) == 3:
				c.write(p, names[i], c.ink(0))
			default:
				c.nameAt(p, names[i], c.ink(0))
			}
		}
	}).Color(Black)
}
