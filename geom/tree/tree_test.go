package tree

import (
	"math"
	"slices"
	"testing"

	"anatomy/geom/geomtest/expect"
)

func TestNew(t *testing.T) {
	tree, err := New([]int{-1, 0, 1, 1, 0}, []float64{0, 1, 2, 0, 4}, []string{"", "AB", "A", "B", "C"})
	if err != nil {
		t.Fatal(err)
	}
	if got := tree.Leaves(); !slices.Equal(got, []int{2, 3, 4}) {
		t.Errorf("leaves %v", got)
	}
	if got := tree.Height(); !slices.Equal(got, []float64{0, 1, 3, 1, 4}) {
		t.Errorf("height %v", got)
	}
	one, err := New([]int{-1}, []float64{0}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := one.Leaves(); !slices.Equal(got, []int{0}) {
		t.Errorf("leaves of one node: %v", got)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		parent []int
		length []float64
		says   string
	}{
		{nil, nil, "no nodes"},
		{[]int{-1, 0}, []float64{0}, "2 parents, 1 lengths"},
		{[]int{0, 0}, []float64{0, 1}, "the root, is 0, not -1"},
		{[]int{-1, -1}, []float64{0, 1}, "the parent of node 1 is -1"},
		{[]int{-1, 2, 0}, []float64{0, 1, 1}, "the parent of node 1 is 2"},
		{[]int{-1, 0}, []float64{0, -1}, "the edge above node 1: the length is -1"},
		{[]int{-1, 0}, []float64{0, math.Inf(1)}, "the length is +Inf"},
		{[]int{-1, 0}, []float64{2, 1}, "the root has an edge of length 2"},
	} {
		_, err := New(c.parent, c.length, nil)
		expect.Refused(t, err, c.says)
	}
	tree, err := New([]int{-1, 0}, []float64{0, math.NaN()}, []string{"", "A"})
	if err != nil {
		t.Fatal(err)
	}
	expect.Refused(t, tree.CheckLengths(), `the edge above "A" has no length`)
}

func TestKeep(t *testing.T) {
	tree := expect.Must(Parse("(Z:9,((A:1,B:2)AB:3,(C:4,(D:1,E:2,F:3):2):5)x:7);"))
	for _, c := range []struct {
		names []string
		want  string
	}{
		{[]string{"A", "D", "F"}, "(A:4,(D:1,F:3):7)x;"},
		{[]string{"E", "Z"}, "(Z:9,E:16);"},
		{[]string{"A", "B", "C", "D", "E", "F", "Z"}, tree.Newick()},
		{[]string{"C"}, "C;"},
	} {
		got, err := tree.Keep(c.names...)
		if err != nil || got.Newick() != c.want {
			t.Errorf("%v: %v %v, want %s", c.names, got, err, c.want)
		}
	}
	expect.Refused(t, expect.Error(tree.Keep("A", "AB")), `no leaf is called "AB"`)
	expect.Refused(t, expect.Error(tree.Keep()), "no leaf to keep")
}

// A star is read from Newick, too, but for its names.
func TestStar(t *testing.T) {
	star, read := expect.Must(Star(3, 0.5)), expect.Must(Parse("(A:0.5,B:0.5,C:0.5);"))
	if !slices.Equal(star.Parent, read.Parent) || !slices.Equal(star.Length, read.Length) {
		t.Errorf("%v %v, want %v %v", star.Parent, star.Length, read.Parent, read.Length)
	}
	expect.Refused(t, expect.Error(Star(0, 1)), "0 leaves")
	expect.Refused(t, expect.Error(Star(2, -1)), "length")
}
