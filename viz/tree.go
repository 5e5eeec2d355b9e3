package viz

import (
	"fmt"
	"math"
	"strings"

	"anatomy/geom/shape"
	"anatomy/geom/tree"
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
	return newLayer("Tree", each{n, func(c *canvas) error {
		if t == nil {
			return fmt.Errorf("no tree: give one of tree.Parse or tree.New")
		}
		if err := t.CheckLengths(); err != nil {
			return err
		}
		if len(shapes) != 0 && len(shapes) != n {
			return fmt.Errorf("%d shapes for %d nodes: give one a node, nil for none", len(shapes), n)
		}
		glyphs, size, err := glyphsOf(shapes)
		if err != nil {
			return err
		}
		leaves, row := rowsOf(t)
		c.rowsOf(len(leaves), math.Max(9, size+4))
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
		isLeaf := make([]bool, n)
		for _, i := range leaves {
			isLeaf[i] = true
		}
		for i := range n {
			reach := 0.0
			if glyphs != nil && glyphs[i] != nil {
				g, left := glyphs[i], 0.0
				for _, p := range g {
					left, reach = math.Min(left, p[0]), math.Max(reach, p[0])
				}
				if isLeaf[i] { // beside the leaf, not over its edge
					for _, p := range g {
						p[0] += gap - left
					}
					reach += gap - left
				}
				stroke := c.stroke(i, 0.8)
				stroke.Width = 0.8
				c.glyph(at(i), g, paper, stroke)
			}
			if isLeaf[i] && t.Name[i] != "" {
				c.caption(at(i), reach+gap, 0, spaced(t.Name[i]), Black)
			}
		}
		return nil
	}}).of(account{noun: counted("tree of %d nodes"), detail: (*scene).listed}).Color(Grey)
}

// spaced is a name with spaces in place of underscores: that is what they stand for in Newick's format.
func spaced(name string) string { return strings.ReplaceAll(name, "_", " ") }

const (
	gap        = 3.0 // points between the parts of a leaf
	glyphWidth = 30.0
	glyphTall  = 18.0
)

// glyphsOf returns shapes as offsets from their centres in points, and the height of the tallest; nil of none.
func glyphsOf(shapes []shape.Shape) (glyphs []shape.Shape, tall float64, err error) {
	wide := 0.0
	boxes := make([]box, len(shapes))
	for i, s := range shapes {
		if s == nil {
			continue
		}
		if err := checkPoints(fmt.Sprintf("shape %d", i), s); err != nil {
			return nil, 0, err
		}
		if len(s[0]) != 2 {
			return nil, 0, fmt.Errorf("shape %d has %d coordinates: shapes at nodes are of the plane", i, len(s[0]))
		}
		boxes[i] = boxOf(s)
		wide, tall = math.Max(wide, boxes[i].size(0)), math.Max(tall, boxes[i].size(1))
	}
	if wide == 0 && tall == 0 {
		return nil, 0, nil
	}
	scale := math.Min(glyphWidth/wide, glyphTall/tall)
	glyphs = make([]shape.Shape, len(shapes))
	for i, s := range shapes {
		for _, p := range s {
			var q []float64
			for k, v := range p {
				q = append(q, scale*(v-(boxes[i].lo[k]+boxes[i].hi[k])/2))
			}
			glyphs[i] = append(glyphs[i], q)
		}
	}
	return glyphs, scale * tall, nil
}

// rowsOf returns the leaves from top to bottom and the row of every node, the first leaf's the highest: of a node with children, the middle
// of those of its first and last.
func rowsOf(t *tree.Tree) (leaves []int, row []float64) {
	n := len(t.Parent)
	children := make([][]int, n)
	for i, p := range t.Parent {
		if p >= 0 {
			children[p] = append(children[p], i)
		}
	}
	for open := []int{0}; len(open) > 0; {
		i := open[len(open)-1]
		open = open[:len(open)-1]
		if len(children[i]) == 0 {
			leaves = append(leaves, i)
		}
		for k := len(children[i]) - 1; k >= 0; k-- {
			open = append(open, children[i][k])
		}
	}
	row = make([]float64, n)
	for r, i := range leaves {
		row[i] = float64(len(leaves) - 1 - r)
	}
	for i := n - 1; i >= 0; i-- {
		if c := children[i]; len(c) > 0 {
			row[i] = (row[c[0]] + row[c[len(c)-1]]) / 2
		}
	}
	return leaves, row
}

// Phylomorphospace draws a tree among the points of its nodes, [n][2], in two coordinates of shape, such as principal components:
// edges as lines, leaves as dots with their names, other nodes as small open dots, the root as a larger one (B. Sidlauskas 2008). The
// layer has an item a node: ColorBy colours the edge above it and its dot.
func Phylomorphospace(t *tree.Tree, points [][]float64) *Layer {
	return newLayer("Phylomorphospace", each{len(points), func(c *canvas) error {
		if t == nil {
			return fmt.Errorf("no tree: give one of tree.Parse or tree.New")
		}
		if err := checkPoints("nodes", points); err != nil {
			return err
		}
		if len(points) != len(t.Parent) {
			return fmt.Errorf("%d points for %d nodes: give one a node", len(points), len(t.Parent))
		}
		for i, p := range t.Parent {
			if p >= 0 {
				c.line([][]float64{points[p], points[i]}, false, c.stroke(i, 0.8))
			}
		}
		isLeaf := make([]bool, len(points))
		for _, i := range t.Leaves() {
			isLeaf[i] = true
		}
		for i, p := range points {
			switch {
			case isLeaf[i]:
				c.dot(p, 4, c.ink(i), pen{})
			case i == 0:
				c.dot(p, 5.5, paper, pen{Color: c.ink(i), Width: 1.2})
			default:
				c.dot(p, 3, paper, pen{Color: c.ink(i), Width: 0.8})
			}
		}
		for i, p := range points {
			if isLeaf[i] && t.Name[i] != "" {
				c.nameAt(p, spaced(t.Name[i]), Black)
			}
		}
		return nil
	}}).of(account{noun: counted("tree of %d nodes in morphospace"), detail: (*scene).listed})
}

// Names writes a name beside each point of the plane, where it covers least of what the figure draws, or of space, unless it would stand on
// a nearer one; an empty one is not written.
func Names(points [][]float64, names []string) *Layer {
	return newLayer("Names", drawFunc(func(c *canvas) error {
		if err := checkPoints("points", points); err != nil {
			return err
		}
		if len(names) != len(points) {
			return fmt.Errorf("%d names for %d points", len(names), len(points))
		}
		for i, p := range points {
			switch {
			case names[i] == "":
			case len(p) == 3:
				c.write(p, names[i], c.ink(0))
			default:
				c.nameAt(p, names[i], c.ink(0))
			}
		}
		return nil
	})).of(account{detail: (*scene).listed, colourless: true}).Color(Black)
}
