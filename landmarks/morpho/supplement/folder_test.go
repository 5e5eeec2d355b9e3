package supplement

import (
	"encoding/xml"
	"errors"
	"fmt"
	"math"

	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anatomy/geom/geomtest/expect"
	"anatomy/landmarks/morpho"
)

// note is a document that is quickly made.
func note(tables ...string) *Document {
	d := &Document{Title: "a note", record: record{data: morpho.PlethodonSpecies()}}
	for _, name := range tables {
		d.Sections = append(d.Sections, Section{Parts: []Part{&Table{Name: name, Header: []string{"x"}, Rows: [][]Cell{{Number(1, "%.3g")}}}}})
	}
	return d
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// A report takes the place of an earlier one as a whole: nothing of that stays, and what a run that was killed has left goes.
func TestFolderIsReplaced(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "report")
	if err := note("anova", "pairs").Write(folder); err != nil {
		t.Fatal(err)
	}
	first := files(t, folder)
	put(t, filepath.Join(folder, "ro-crate-metadata.json.0123abcd.tmp"), "{")
	put(t, filepath.Join(folder, "tables", "anova.csv.0123abcd.tmp"), "{")
	put(t, folder+".new.tmp/index.html", "half")
	if err := note("anova").Write(folder); err != nil {
		t.Fatal(err)
	}
	second := files(t, folder)
	if _, stays := second["tables/pairs.csv"]; stays || len(second) != len(first)-1 {
		t.Errorf("%d files, then %d", len(first), len(second))
	}
	// Ended between the two renames.
	if err := os.Rename(folder, folder+".old.tmp"); err != nil {
		t.Fatal(err)
	}
	if err := note("other").Write(folder); err != nil {
		t.Fatal(err)
	}
	if left := expect.Must(os.ReadDir(filepath.Dir(folder))); len(left) != 1 {
		t.Error(left)
	}
	// A folder beside it that is somebody's is not removed, nor is a link to nothing written to.
	put(t, folder+".new.tmp/thesis.tex", "")
	expect.Refused(t, note().Write(folder), "report.new.tmp holds other files, such as thesis.tex")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("nowhere", link); err != nil {
		t.Skip(err)
	}
	expect.Refused(t, note().Write(link), "it is a link to nothing")
}

// A disk that is full, or what else ends the writing, leaves the earlier report as it was.
func TestEarlierReportIsIntact(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "report")
	if err := note("anova").Write(folder); err != nil {
		t.Fatal(err)
	}
	first := files(t, folder)
	bad := note("anova", "a/../../b\x00c") // which no file system takes
	if err := bad.Write(folder); err == nil {
		t.Fatal("written")
	}
	second := files(t, folder)
	for name, text := range first {
		if second[name] != text {
			t.Errorf("%s has other bytes", name)
		}
	}
	if left := expect.Must(os.ReadDir(filepath.Dir(folder))); len(second) != len(first) || len(left) != 1 {
		t.Error(left)
	}
}

// A folder of a stranger is read only if its record has the checksums of the data and of the question.
func TestStrangersFolder(t *testing.T) {
	folder := t.TempDir()
	put(t, filepath.Join(folder, questionFile), "{}")
	put(t, filepath.Join(folder, dataFile), "x,y\n1,2\n")
	for graph, want := range map[string]string{
		`[]`:                                     "ro-crate-metadata.json has no checksum of data/landmarks.csv",
		`[{"@id":"../x","sha256":"0"}]`:          "which is not in the folder",
		`[{"@id":"question.json","sha256":"0"}]`: `"question.json" was changed`,
		`[{"@id":"question.json","sha256":"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"},{"@id":"question.json","sha256":"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"}]`: "twice",
	} {
		put(t, filepath.Join(folder, crateFile), `{"@graph":`+graph+`}`)
		_, _, err := Open(folder)
		expect.Refused(t, err, want)
	}
}

// What a spreadsheet would compute is text in tables; numbers are numbers.
func TestCellsAreText(t *testing.T) {
	table := &Table{Header: []string{"=a", "b"}}
	for _, row := range [][2]string{{"=cmd|' /C calc'!A0", "-1.5"}, {"@SUM(A1)", "+1"}, {"-x", "1e-3"}, {"\t=1", "–"}, {"", "a=b"}} {
		table.Add(row[0], row[1])
	}
	want := "a,b\n'=cmd|' /C calc'!A0,-1.5\n'@SUM(A1),'+1\n'-x,1e-3\n'\t=1,–\n,a=b\n"
	if got := string(table.CSV()); got != want {
		t.Errorf("%q", got)
	}
}

// Files and programs have numbers with all their digits, nothing for a missing one, and plain names of columns; pages have numbers that one reads.
func TestNumbersAreKept(t *testing.T) {
	table := &Table{Header: []string{"term", "R²", "p, corrected (Bonferroni)", "centroid size (mm)", "λ", "größe", "p", "размер", "p"}}
	third := 1. / 3
	table.Add("a", third, PValue(third), Percent(third), 12, Number(-third, "%.2f"), math.NaN(), math.Inf(1), Number(math.Inf(-1), "%.3g"))
	want := "term,R2,p_corrected_Bonferroni,centroid_size_mm,lambda,grosse,p,column_8,p_2\n" +
		"a,0.3333333333333333,0.3333333333333333,0.3333333333333333,12,-0.3333333333333333,,Inf,-Inf\n"
	if got := string(table.CSV()); got != want {
		t.Errorf("%s", got)
	}
	if got := fmt.Sprint(table.Rows[0]); got != "[a 0.33333 0.333 33.3 % 12 -0.33 – ∞ −∞]" {
		t.Error(got)
	}
	if got := string(table.JSON()); got != `[{"R2":0.3333333333333333,"centroid_size_mm":0.3333333333333333,"column_8":"Inf","grosse":-0.3333333333333333,"lambda":12,"p":null,"p_2":"-Inf","p_corrected_Bonferroni":0.3333333333333333,"term":"a"}]`+"\n" {
		t.Error(got)
	}
	if table.Rows[0][2].Value() != third || !math.IsNaN(table.Rows[0][0].Value()) {
		t.Error(table.Rows[0])
	}
}

// What the document cannot keep is refused before the work; names that XML cannot have are replaced in the page, and told.
func TestNamesOfSpecimens(t *testing.T) {
	heads := morpho.Plethodon()
	heads.Specimens[2].Name = "a\nb"

	_, err := New(heads, Question{Permutations: 9})
	expect.Refused(t, err, "line break")
	heads.Specimens[2].Name = "a\x1b[31m\ufffe"
	for i := range heads.Specimens {
		heads.Specimens[i].Group = "g\x01" + heads.Specimens[i].Covariates["species"]
	}
	var file strings.Builder
	if err := morpho.WriteCSV(&file, heads); err != nil {
		t.Fatal(err)
	}
	read := expect.Must(morpho.ReadCSV(strings.NewReader(file.String()), "heads.csv"))
	if read.Specimens[2].Name != heads.Specimens[2].Name || !strings.Contains(strings.Join(read.Notes, "\n"), `with � in their place: "a\x1b[31m`) {
		t.Errorf("%q %q", read.Specimens[2].Name, read.Notes)
	}
	d := expect.Must(New(read, Question{Permutations: 9}))
	for name, text := range d.files() {
		if !strings.HasSuffix(name, ".svg") && !strings.HasSuffix(name, ".html") {
			continue
		}
		if strings.ContainsAny(string(text), "\x01\x1b\ufffe") || !strings.Contains(name, ".html") && xml.Unmarshal([]byte(text), new(struct{})) != nil {
			t.Errorf("%s has control characters", name)
		}
	}

}

// Sliders that the data came with slide, and a repeated report has the same numbers.
func TestSlidersOfData(t *testing.T) {
	heads := morpho.Plethodon()
	heads.Sliders, heads.Links = [][3]int{{0, 1, 2}, {5, 6, 7}}, [][2]int{{0, 1}}
	d := expect.Must(New(heads, Question{Permutations: 9}))
	if !strings.Contains(words(d), "are semi-landmarks, which slid along their curves by bending energy") {
		t.Error("the semi-landmarks do not slide")
	}
	folder := filepath.Join(t.TempDir(), "report")
	if err := d.Write(folder); err != nil {
		t.Fatal(err)
	}
	again, question := open(folder)
	if !slices.Equal(again.Sliders, heads.Sliders) || !slices.Equal(again.Links, heads.Links) || question.Curves != "" {
		t.Error(again.Sliders, again.Links, question.Curves)
	}
}
