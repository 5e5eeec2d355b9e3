package study_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/geomtest/expect"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/study"
	"anatomy/notebooks/lab/recovery"
)

// Landmarks are placed in the coordinates of the files, whatever pose and size a subject has, and what is wrong with a subject is named:
// a hole, a process that is broken off, a mirror image.
func TestPlace(t *testing.T) {
	const count, hole, broken = 12, 4, 5
	family := expect.Must(recovery.Kin{Width: 0.7, Deviation: 0.05, Side: 0.2}.Draw(8, count, 1))
	names := []string{"a", "b", "c", "holed", "broken", "mirrored", "d", "e"}
	files := map[string]any{}
	random := rand.New(rand.NewPCG(5, 1))
	truth := map[string][][]float64{}
	for i, m := range family.Subjects {
		marks := family.Landmarks[i]
		switch names[i] {
		case "holed": // what is near landmark 4 is missing
			m = &mesh.Mesh{Vertices: m.Vertices, Cells: slices.DeleteFunc(slices.Clone(m.Cells), func(c []int) bool {
				return floats.Distance(m.Vertices[c[0]], marks[hole], 2) < 0.2
			})}
		case "broken": // what is beyond a plane through the body near landmark 5 is pressed on it
			centre, _, _ := mesh.Moments([]*mesh.Mesh{m})
			normal := floats.SubTo(make([]float64, 3), marks[broken], centre)
			length := floats.Norm(normal, 2)
			floats.Scale(1/length, normal)
			m = m.Map(func(x []float64) []float64 {
				y := slices.Clone(x)
				floats.AddScaled(y, -math.Max(0, floats.Dot(x, normal)-floats.Dot(centre, normal)-0.55*length), normal)
				return y
			})
		}
		angle, scale, shift := 2*math.Pi*random.Float64(), 0.7+0.8*random.Float64(), 5*random.NormFloat64()
		move := func(x []float64) []float64 {
			s, c := math.Sincos(angle)
			y := []float64{c*x[0] - s*x[1], s*x[0] + c*x[1] + shift, x[2]}
			if names[i] == "mirrored" {
				y[2] = -y[2]
			}
			floats.Scale(scale, y)
			return y
		}
		for _, x := range marks {
			truth[names[i]] = append(truth[names[i]], move(x))
		}
		m = m.Map(move)
		if names[i] == "mirrored" {
			m = m.Flip()
		}
		files[names[i]+".ply"] = m
	}
	at := folder(t, files)
	for _, name := range names[:2] {
		d := &morpho.Dataset{Name: name, Unit: "mm", Specimens: []morpho.Specimen{{Name: name, Points: truth[name]}}}
		if err := morpho.Write(filepath.Join(at, name+".mrk.json"), d); err != nil {
			t.Fatal(err)
		}
	}
	s := expect.Must(study.Read(at))
	if err := s.ReadLandmarks(at); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(0.8, 0.3, true); err != nil {
		t.Fatal(err)
	}
	if s.Model.Hypertemplate || slices.ContainsFunc(s.Notes, func(note string) bool { return strings.Contains(note, "the initial template") }) {
		t.Error("a template with landmarks stays as it is, and the notes say that it moves:", s.Notes)
	}
	p := expect.Must(s.Place())
	failed := map[string]string{}
	for _, f := range p.Failures {
		failed[s.Names[f.Subject]] += fmt.Sprintf("%d: %s\n", f.Landmark, f.Reason)
	}
	for name, want := range map[string]string{"holed.ply": "at a border of the subject", "broken.ply": "missing or broken", "mirrored.ply": "of the other side"} {
		if !strings.Contains(failed[name], want) {
			t.Errorf("%s: %q, want %q", name, failed[name], want)
		}
	}
	if !strings.Contains(failed["holed.ply"], fmt.Sprintf("%d: it is at a border", hole)) || len(failed) != 3 {
		t.Error(failed)
	}
	// The data set has digitised landmarks as they were, and the others within a few of their standard errors.
	if err := morpho.Write(filepath.Join(at, "placed.csv"), s.PlacedData("placed", p)); err != nil {
		t.Fatal(err)
	}
	d := expect.Must(morpho.Read(filepath.Join(at, "placed.csv")))
	if len(s.Landmarks[0]) != count || !slices.Contains(d.Covariates(), "standard error of 11") {
		t.Error(d)
	}
	kinds, errs := expect.Must(d.Column("landmarks")), expect.Must(d.Numbers(morpho.ErrorColumn))
	for i, specimen := range d.Specimens {
		sum := 0.0
		for l, x := range specimen.Points {
			sum += math.Pow(floats.Distance(x, truth[specimen.Name][l], 2), 2) / count
		}
		off := math.Sqrt(sum)
		switch {
		case kinds[i] == "digitised":
			if off > 1e-8 || errs[i] != 0 || i > 1 {
				t.Errorf("%s: off by %g, standard error %g", specimen.Name, off, errs[i])
			}
		case failed[specimen.Name+".ply"] == "" && !(off > 0.5*errs[i] && off < 3*errs[i]): // √2 is to be expected
			t.Errorf("%s: off by %g, standard error %g", specimen.Name, off, errs[i])
		}
	}
}

// Landmarks that are no match of their mesh are refused, and so is a folder without any.
func TestReadLandmarks(t *testing.T) {
	ball := mesh.Icosphere(2)
	at := folder(t, map[string]any{"a.ply": ball, "b.ply": ball.Map(func(x []float64) []float64 { return []float64{x[0], 1.2 * x[1], x[2]} })})
	s := expect.Must(study.Read(at))
	expect.Refused(t, s.ReadLandmarks(at), "no landmarks of a subject", "give a file of landmarks the name of a mesh")
	file := filepath.Join(at, "b.fcsv")
	for _, c := range []struct {
		point []float64
		want  string
	}{
		{[]float64{0, -1.2, 1.3}, "b.ply: landmark 1 is 0.6"},
		{[]float64{math.NaN(), math.NaN(), math.NaN()}, "b.ply: landmark 1 is missing"},
		{[]float64{0, 0, 1}, ""},
	} {
		d := &morpho.Dataset{Name: "b", Specimens: []morpho.Specimen{{Name: "b", Points: [][]float64{{1, 0, 0}, c.point}}}}
		if err := morpho.Write(file, d); err != nil {
			t.Fatal(err)
		}
		err := s.ReadLandmarks(file)
		if c.want != "" {
			expect.Refused(t, err, c.want)
		} else if err != nil || s.Names[0] != "b.ply" || s.Landmarks[1] != nil {
			t.Error(err, s.Names)
		}
	}
	if _, err := s.Place(); err == nil || !strings.Contains(err.Error(), "call Start") {
		t.Error(err)
	}

	// A landmark of the sphere is a fifth of its radius away from the middle of a triangle of the icosahedron.
	coarse := mesh.Icosphere(0)
	var middle []float64
	for k := range 3 {
		cell := coarse.Cells[0]
		middle = append(middle, (coarse.Vertices[cell[0]][k]+coarse.Vertices[cell[1]][k]+coarse.Vertices[cell[2]][k])/3)
	}
	floats.Scale(1/floats.Norm(middle, 2), middle)
	at = folder(t, map[string]any{"a.ply": coarse, "b.ply": ball})
	s = expect.Must(study.Read(at))
	if err := morpho.Write(filepath.Join(at, "a.fcsv"), &morpho.Dataset{Name: "a", Specimens: []morpho.Specimen{{Name: "a", Points: [][]float64{middle}}}}); err != nil {
		t.Fatal(err)
	}
	if err := s.ReadLandmarks(at); err != nil {
		t.Error(err)
	}
}

// Meshes that cannot be used are left out and named, each with its reason, and the others get their landmarks. What was matched before an
// interruption is not matched again, and the result is the same to the last bit, wherever it was.
func TestPlaceGoesOn(t *testing.T) {
	family := expect.Must(recovery.Kin{Width: 0.7, Deviation: 0.05, Side: 0.25}.Draw(4, 8, 2))
	files := map[string]any{"inches.ply": family.Subjects[3].Map(func(x []float64) []float64 { return []float64{25.4 * x[0], 25.4 * x[1], 25.4 * x[2]} })}
	for i, m := range family.Subjects[:3] {
		files[string(rune('a'+i))+".ply"] = m
	}
	at := folder(t, files)
	whole := expect.Must(os.ReadFile(filepath.Join(at, "a.ply")))
	for name, text := range map[string][]byte{"cut.ply": whole[:len(whole)/2], "empty.stl": nil} {
		if err := os.WriteFile(filepath.Join(at, name), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	d := &morpho.Dataset{Name: "a", Specimens: []morpho.Specimen{{Name: "a", Points: family.Landmarks[0]}}}
	if err := morpho.Write(filepath.Join(at, "a.mrk.json"), d); err != nil {
		t.Fatal(err)
	}
	_, err := study.Read(at)
	expect.Refused(t, err, "cut.ply")
	place := func(save string) string {
		s := expect.Must(study.ReadEach(at))
		if !slices.Equal(s.Names, []string{"a.ply", "b.ply", "c.ply"}) {
			t.Error(s.Names)
		}
		left := strings.Join(s.LeftOut, "\n")
		for _, want := range []string{"cut.ply: ", "empty.stl: ", "inches.ply: it is 19.6 times"} {
			if !strings.Contains(left, want) || strings.Count(left, "\n") != 2 {
				t.Errorf("left out: %q, want %q", left, want)
			}
		}
		if err := s.ReadLandmarks(""); err != nil {
			t.Fatal(err)
		}
		s.Save = save
		if err := s.Start(0.8, 0.3, true); err != nil {
			t.Fatal(err)
		}
		p := expect.Must(s.Place())
		return fmt.Sprint(p.Placed, p.Noise, p.Reach, p.Failures)
	}
	save := filepath.Join(t.TempDir(), "matches")
	want := place("")
	if got := place(save); got != want {
		t.Error("the landmarks differ where matches are kept")
	}
	kept := expect.Must(os.ReadDir(save))
	if len(kept) < 6 {
		t.Fatalf("%d matches are kept", len(kept))
	}
	times := map[string]time.Time{}
	for i, e := range kept {
		if i%3 == 0 {
			if err := os.Remove(filepath.Join(save, e.Name())); err != nil {
				t.Fatal(err)
			}
			continue
		}
		times[e.Name()] = expect.Must(e.Info()).ModTime()
	}
	if got := place(save); got != want {
		t.Error("the landmarks differ after an interruption")
	}
	again := expect.Must(os.ReadDir(save))
	for _, e := range again {
		if before, had := times[e.Name()]; had && !expect.Must(e.Info()).ModTime().Equal(before) {
			t.Errorf("%s was found again", e.Name())
		}
	}
	if len(again) != len(kept) {
		t.Errorf("%d matches are kept, %d before", len(again), len(kept))
	}
}
