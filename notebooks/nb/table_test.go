package nb

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anatomy/landmarks/morpho/files"
)

const fish = "specimen;sex;length;weight\na;F;1,5;10\nb;M;NA;20\nc;F;2,5;\nd;?;3;40\n"

// written is a table in a file, for cells that end in an error.
func tableFile() string {
	folder, err := os.MkdirTemp("", "")
	path := filepath.Join(folder, "fish.csv")
	if err = os.WriteFile(path, []byte(fish), 0o600); err != nil {
		panic(err)
	}
	return path
}

func init() {
	cells["table shown"] = func() { Display(Table(tableFile())) }
	cells["table column"] = func() { Table(tableFile()).Numbers("Length") }
	cells["table number"] = func() {
		Table(tableFile()).Filter(func(r Row) bool { return r.Text("sex") != "M" }).Numbers("specimen")
	}
	cells["table missing"] = func() { Table("/nothing.csv") }
}

func TestTable(t *testing.T) {
	f := Table(tableFile())
	if got, want := fmt.Sprint(f.names, len(f.rows), f.Texts("sex"), f.Numbers("length"), f.Numbers("weight")), "[specimen sex length weight] 4 [F M F ?] [1.5 NaN 2.5 3] [10 20 NaN 40]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	var groups []string
	for sex, rows := range f.Complete("sex").Group("sex") {
		groups = append(groups, fmt.Sprint(sex, rows.Texts("specimen")))
	}
	long := f.Filter(func(r Row) bool { return r.Number("length") > 2 })
	if got, want := fmt.Sprint(groups, long.Texts("specimen"), len(f.Head(2).rows), len(f.Head(9).rows), len(f.Complete().rows)), "[F[a c] M[b]] [c d] 2 4 1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	g := same(t, f)
	if !slices.EqualFunc(g.Numbers("length"), f.Numbers("length"), func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }) {
		t.Error("a table does not live on")
	}
	for text, want := range map[string]string{
		"a,b\n1,2,3\n1,2,3\n1,2,3": "rows", "x\n": "no line has two columns", "a,b\n": "no rows", "a,a\n1,2\n": "two columns are called",
	} {
		path := filepath.Join(t.TempDir(), "t.csv")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if rows, err := files.ReadTable(path); err == nil && want != "rows" || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, error %v, want %s", text, rows, err, want)
		}
	}
}
