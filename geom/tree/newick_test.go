package tree

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anatomy/geom/geomtest/expect"
)

func TestParse(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		text   string
		parent []int
		length []float64
		name   []string
	}{
		{"(A:1,(B:2,C:3.5e-1)BC:.5)root;", []int{-1, 0, 0, 2, 2}, []float64{0, 1, .5, 2, .35}, []string{"root", "A", "BC", "B", "C"}},
		{"A;", []int{-1}, []float64{0}, []string{"A"}},
		{"'';", []int{-1}, []float64{0}, []string{""}},
		{"(A:3):0.0;", []int{-1, 0}, []float64{0, 3}, []string{"", "A"}},
		{"(A,B,C);", []int{-1, 0, 0, 0}, []float64{0, nan, nan, nan}, []string{"", "A", "B", "C"}},         // no lengths, three at the root
		{"(,(,));", []int{-1, 0, 0, 2, 2}, []float64{0, nan, nan, nan, nan}, []string{"", "", "", "", ""}}, // no names
		{"(A:0,B:0)100:0;", []int{-1, 0, 0}, []float64{0, 0, 0}, []string{"100", "A", "B"}},                // lengths of zero
		{"('it''s (a) [tip]':1,P_cinereus:2);", []int{-1, 0, 0}, []float64{0, 1, 2}, []string{"", "it's (a) [tip]", "P_cinereus"}},
		{"[&R] (A[a [nested]]:[b]1[&&NHX:S=x],\r\n\tB :\n2 ) ; [end]", []int{-1, 0, 0}, []float64{0, 1, 2}, []string{"", "A", "B"}},
		{"(Ä:1,'日本':2);", []int{-1, 0, 0}, []float64{0, 1, 2}, []string{"", "Ä", "日本"}},
		{"((A:1,B:1)x:1,(C:1,D:1)x:1);", []int{-1, 0, 1, 1, 0, 4, 4}, []float64{0, 1, 1, 1, 1, 1, 1}, []string{"", "x", "A", "B", "x", "C", "D"}},
	} {
		tree, err := Parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
		if !slices.Equal(tree.Parent, c.parent) || !slices.EqualFunc(tree.Length, c.length, same) || !slices.Equal(tree.Name, c.name) {
			t.Errorf("%s: got %v", c.text, tree)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ text, says string }{
		{"", "1:1: there is no tree: the text is empty"},
		{" \n [nothing] ", "2:12: there is no tree: the text is empty"},
		{";", "1:1: there is no tree before the semicolon"},
		{"(A:1,B:-2);", `1:6: the edge above "B": the length is -2: lengths are not negative: write 0`},
		{"(A:1,\nB:1e999);", `2:1: the edge above "B": the length is +Inf: lengths are finite`},
		{"(A:1,B:NaN);", `1:8: the length of an edge should stand here, not "NaN"`},
		{"(A:1,B:0x10);", `not "0x10"`},
		{"(A:1,B:);", `1:8: the length of an edge should stand here, not ")"`},
		{"(A:1,B:'1');", `1:8: the length of an edge`},
		{"(A:1,A:2);", `1:6: a second leaf is called "A"`},
		{"(A:1,(B:1,C:1);", `1:1: the parenthesis that opens here is not closed when ";" comes`},
		{"(A:1,(B:1,\nC:1", "1:6: the parenthesis that opens here is not closed when the end of the text comes"},
		{"(A:1,B:1)", "1:10: the text ends without a semicolon"},
		{"(A:1,B:1));", `1:10: ")" stands outside all parentheses`},
		{"A,B;", `1:2: "," stands outside all parentheses`},
		{"(A:1,B:1);(C:1,D:1);", `1:11: "(" follows the semicolon`},
		{"(A:1,B:1);\ngarbage", `2:1: "garbage" follows the semicolon`},
		{"((A:1,B:1):-1,C:1);", `1:2: the edge above the clade of "A": the length is -1`},
		{"(Homo sapiens:1,B:1);", `1:7: "sapiens" follows the name "Homo"`},
		{"(O'Brien:1,B:1);", `1:3: the name that begins here has no end`},
		{"(A'b':1,B:1);", `1:3: "b" follows the name "A"`},
		{"(A:1:2,B:1);", `1:5: ":" cannot stand here`},
		{"(A:1 B:1);", `1:6: "B" cannot stand here`},
		{"(A(B:1,C:1));", `1:3: "(" cannot stand here`},
		{"((A,B)(C,D));", `1:7: "(" cannot stand here`},
		{"('A:1,B:1);", "1:2: the name that begins here has no end"},
		{"(A[x:1,[y]B:1);", "1:3: the comment that begins here has no end"},
		{"(A]:1,B:1);", "1:3: ] ends a comment"},
		{"(日本:1,B:x);", "1:9: the length of an edge"}, // columns are characters
		{"#NEXUS\nbegin trees;", "1:1: this is a NEXUS file"},
		{"(A:1,\xff:1);", "not UTF-8"},
	} {
		_, err := Parse(c.text)
		expect.Refused(t, err, c.says)
	}
}

// Depth and width of a tree are bounded by memory alone.
func TestParseLarge(t *testing.T) {
	const n = 100_000
	deep, err := Parse(strings.Repeat("(", n) + "A" + strings.Repeat(":1)", n) + ";")
	if err != nil {
		t.Fatal(err)
	}
	if h := deep.Height()[n]; h != n {
		t.Errorf("height %g", h)
	}
	var wide strings.Builder
	for i := range n {
		fmt.Fprintf(&wide, ",t%d:1", i)
	}
	text := "(" + wide.String()[1:] + ");"
	star, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, tree := range []*Tree{deep, star} {
		again, err := Parse(tree.Newick())
		if err != nil || !slices.Equal(again.Parent, tree.Parent) {
			t.Errorf("not read back: %v", err)
		}
	}
	if star.Newick() != text {
		t.Error("the star is written in another way")
	}
	_, err = Parse(strings.Repeat("(", n))
	expect.Refused(t, err, "100000: the parenthesis that opens here is not closed")
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, says string }{
		"bom.nwk":   {"\ufeff(A:1,B:2);\n", ""},
		"utf16.nwk": {"\xff\xfe(\x00A\x00,\x00B\x00)\x00;\x00", ""},
		"edge.nwk":  {"(A:1,B:2):3;", ""},
		"two.nwk":   {"(A:1,B:2);\n(A:3,B:4);", ""},
		"short.nwk": {"(A:-0.05,B:1)[neighbour joining];", ""},
		"less.nwk":  {"(A:-0.051,B:1);", `less.nwk:1:2: the edge above "A": the length is -0.051`},
		"a.nex":     {"#NEXUS\nBEGIN TAXA;\nTAXLABELS A B;\nEND;\nBegin trees; [by hand]\n\tTranslate\n1 A,\n2 'B';\ntree one = [&R] (1:1,2:2):0.5;\ntree two [&lnP=-1]=[&R](2:1,1:2);\nEnd;\n", ""},
		"plain.nex": {"#nexus\nbegin trees;\nutree one=(A:1,B:2);\nend;\n", ""},
		"none.nex":  {"#NEXUS\nBEGIN DATA;\nEND;\n", "none.nex:4:1: the NEXUS file has no trees"},
		"bad.nex":   {"#NEXUS\nBEGIN TREES;\nTREE a = (A:1,B:-1);\nEND;\n", `bad.nex:3:15: the edge above "B": the length is -1`},
		"bad.nwk":   {"(A:1,\nB:-2);", `bad.nwk:2:1: the edge above "B": the length is -2`},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(c.text), 0o666); err != nil {
			t.Fatal(err)
		}
		all, err := Read(path)
		switch {
		case c.says != "":
			expect.Refused(t, err, c.says)
		case err != nil:
			t.Error(err)
		case !slices.Equal(all[0].Name, []string{"", "A", "B"}):
			t.Errorf("%s: %q", name, all[0].Name)
		}
	}
	for name, want := range map[string][]string{
		"edge.nwk":  {"the edge above the root, of length 3, was passed over: it joins the root to nothing"},
		"two.nwk":   nil,
		"short.nwk": {"edges with a negative length, of -0.05 at least, were given the length 0: 1 in all"},
		"a.nex":     {"the edge above the root, of length 0.5, was passed over: it joins the root to nothing"},
	} {
		if notes := expect.Must(Read(filepath.Join(dir, name)))[0].Notes; !slices.Equal(notes, want) {
			t.Errorf("%s: %q", name, notes)
		}
	}
	if all := expect.Must(Read(filepath.Join(dir, "a.nex"))); !slices.Equal(all[1].Name, []string{"", "B", "A"}) {
		t.Errorf("the second tree: %q", all[1].Name)
	}
	expect.Refused(t, expect.Error(Read(dir)), "is a folder: data are read from regular files")
	expect.Refused(t, expect.Error(Read(filepath.Join(dir, "none.nwk"))), "none.nwk")
}

// What is read is read back from what is written, to the last bit; what is not read is refused with a place.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"(A:1,(B:2,C:3.5e-1)BC:.5)root;", "'';", "(,(,)'a''b':0);", "[&R](A[x[y]]:1e-9,'B c':2);", "((((A))));", "(A:1,B:-1);", "('\n':1,[);",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tree, err := Parse(text)
		if err != nil {
			var line, column int
			if n, _ := fmt.Sscanf(err.Error(), "%d:%d: ", &line, &column); n != 2 || line < 1 || column < 1 {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if _, err := New(tree.Parent, tree.Length, tree.Name); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		again, err := Parse(tree.Newick())
		if err != nil {
			t.Fatalf("%q is written as %q: %v", text, tree.Newick(), err)
		}
		if fmt.Sprint(again) != fmt.Sprint(tree) {
			t.Errorf("%q: %v, read back as %v", text, tree, again)
		}
	})
}
