package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"anatomy/geom/geomtest/expect"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/morpho/supplement"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/report"
	"anatomy/landmarks/surfaces/study"
)

// Of data from which nothing can be learned, the page about one's own data says what `make report` answers. Each answer is held here: an
// error of reading, an error of the analysis, or the sentence of the report that says that nothing can be concluded.
func TestHopelessData(t *testing.T) {
	page := string(expect.Must(os.ReadFile("../../your-data.md")))
	t.Chdir(t.TempDir())
	r := rand.New(rand.NewPCG(1, 1))
	bones := func(n, fine int, change func(i int, x []float64) []float64) {
		os.RemoveAll("bones")
		for i := range n {
			m := mesh.Icosphere(fine).Map(func(x []float64) []float64 { return change(i, []float64{12 * x[0], 8 * x[1], 6 * x[2]}) })
			text := fmt.Sprintf("OFF\n%d %d 0\n", len(m.Vertices), len(m.Cells))
			for _, x := range m.Vertices {
				text += fmt.Sprintln(x[0], x[1], x[2])
			}
			for _, c := range m.Cells {
				text += fmt.Sprintln(3, c[0], c[1], c[2])
			}
			if err := errors.Join(os.MkdirAll("bones", 0o777), os.WriteFile(filepath.Join("bones", fmt.Sprintf("bone%d.off", i+1)), []byte(text), 0o666)); err != nil {
				t.Fatal(err)
			}
		}
	}
	times := func(s float64, x []float64) []float64 { return []float64{s * x[0], s * x[1], s * x[2]} }
	heads := func(specimens, landmarks int, at func(i, l int) string) {
		text := "specimen"
		for l := range landmarks {
			text += fmt.Sprintf(",x%d,y%d", l, l)
		}
		for i := range specimens {
			text += fmt.Sprintf("\nhead%d", i+1)
			for l := range landmarks {
				text += "," + at(i, l)
			}
		}
		if err := os.WriteFile("heads.csv", []byte(text+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	ring := func(l int, noise float64) string {
		s, c := math.Sincos(float64(l))
		return fmt.Sprintf("%g,%g", 10*c+noise*r.NormFloat64(), 7*s+noise*r.NormFloat64())
	}
	population := func() string { // what the template own_population says
		bones, err := study.Read("bones")
		if err == nil {
			err = bones.Validate()
		}
		if err != nil {
			return err.Error()
		}
		document, _, err := report.Atlas(bones, report.Template{Deformation: 0.5, Detail: 0.2, Tolerance: 0.05})
		if err != nil {
			return err.Error()
		}
		for _, part := range document.Sections[0].Parts {
			if w, ok := part.(supplement.Warning); ok {
				return string(w)
			}
		}
		return "nothing"
	}
	table := func() string { // what the template own_landmarks says
		document, err := supplement.New(expect.Must(morpho.Read("heads.csv")), supplement.Question{Permutations: 19})
		if err != nil {
			return err.Error()
		}
		for _, s := range document.Sections {
			for _, part := range s.Parts {
				if p, ok := part.(supplement.Paragraph); ok && (strings.Contains(string(p), "little in common") || strings.Contains(string(p), "was not computed")) {
					return string(p)
				}
			}
		}
		return "nothing"
	}
	said := map[string]string{}
	say := func(data, answer string) { said[data] = answer }

	bones(1, 1, func(_ int, x []float64) []float64 { return x })
	say("a folder with one mesh", population())
	bones(5, 1, func(_ int, x []float64) []float64 { return x })
	say("copies of one mesh", population())
	bones(3, 1, func(_ int, x []float64) []float64 { return times(x[0], []float64{1, 2, 3}) })
	say("meshes without area", population())
	bones(3, 1, func(int, []float64) []float64 { return []float64{math.NaN(), 0, 0} })
	say("meshes without coordinates", population())
	bones(3, 1, func(i int, x []float64) []float64 { return times(math.Pow(1000, float64(i%2)), x) })
	say("meshes in µm among others in mm", population())
	bones(3, 0, func(i int, x []float64) []float64 {
		return []float64{x[0] + 9*r.NormFloat64(), x[1] + 9*r.NormFloat64(), x[2] + 9*r.NormFloat64()}
	})
	say("meshes that have no shape in common", population())

	heads(8, 6, func(int, int) string { return "NaN,NaN" })
	say("a table without coordinates", table())
	heads(1, 6, func(_, l int) string { return ring(l, 0) })
	say("a table with one specimen", table())
	heads(2, 6, func(_, l int) string { return ring(l, 0.1) })
	say("a table with two specimens", table())
	heads(8, 6, func(_, l int) string { return ring(l, 0) })
	say("specimens that are copies", table())
	heads(8, 2, func(_, l int) string { return ring(l, 0.1) })
	say("two landmarks", table())
	heads(8, 6, func(_, l int) string { return ring(l, 50) })
	say("landmarks that are not the same points", table())

	_, section, _ := strings.Cut(page, "\n## When data are hopeless\n")
	rows := regexp.MustCompile("(?m)^\\| ([^|`]+) \\| (.+) \\|$").FindAllStringSubmatch(section, -1)
	for _, row := range rows {
		data, words := row[1], strings.ReplaceAll(row[2], "`", "")
		if answer, tried := said[data]; tried && answer != words {
			t.Errorf("%s:\n%s\nand the page says\n%s", data, answer, words)
		}
		delete(said, data)
	}
	for data, answer := range said {
		t.Errorf("the page does not say of %s: %s", data, answer)
	}
}
