package study_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/geomtest/expect"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/study"
)

// kernelSum is Σ_j exp(−|x − c_j|²/w²) p_j.
func kernelSum(w float64, x []float64, c, p [][]float64) []float64 {
	out := make([]float64, len(x))
	for j := range c {
		floats.AddScaled(out, math.Exp(-math.Pow(floats.Distance(x, c[j], 2)/w, 2)), p[j])
	}
	return out
}

// shot carries points by the geodesic flow of a momentum at control points, by Heun's method as Deformetrica does.
func shot(w float64, c, p, x [][]float64, steps int) [][]float64 {
	state := append(append(append([][]float64{}, c...), p...), x...)
	n := len(c)
	rates := func(s [][]float64) (out [][]float64) {
		c, p := s[:n], s[n:2*n]
		for i := range s {
			if i < n || i >= 2*n {
				out = append(out, kernelSum(w, s[i], c, p))
				continue
			}
			force := make([]float64, len(s[i]))
			for j := range c {
				away := floats.SubTo(make([]float64, len(s[i])), c[i-n], c[j])
				floats.AddScaled(force, 2/(w*w)*math.Exp(-floats.Dot(away, away)/(w*w))*floats.Dot(p[i-n], p[j]), away)
			}
			out = append(out, force)
		}
		return out
	}
	moved := func(s, by [][]float64, step float64) (out [][]float64) {
		for i := range s {
			out = append(out, floats.AddScaledTo(make([]float64, len(s[i])), s[i], step, by[i]))
		}
		return out
	}
	for range steps {
		first := rates(state)
		second := rates(moved(state, first, 1/float64(steps)))
		state = moved(moved(state, first, 0.5/float64(steps)), second, 0.5/float64(steps))
	}
	return state[2*n:]
}

// current is the squared distance of two surfaces as currents.
func current(w float64, a, b *mesh.Mesh) float64 {
	product := func(a, b *mesh.Mesh) (sum float64) {
		normals := b.Normals()
		for i, n := range a.Normals() {
			sum += floats.Dot(n, kernelSum(w, a.Centroids()[i], b.Centroids(), normals))
		}
		return sum
	}
	return product(a, a) - 2*product(a, b) + product(b, b)
}

// finished writes a study of Deformetrica with its results, and returns the folder, the control points and the momenta.
func finished(t *testing.T) (dir string, controls [][]float64, momenta [][][]float64, template *mesh.Mesh) {
	t.Helper()
	dir, template = deformetrica(t), ball(1.02)
	rng := rand.New(rand.NewPCG(1, 2))
	controls = expect.Must(study.Read(dir)).Controls
	text := fmt.Sprintf("2 %d 3\n\n", len(controls))
	for range 2 {
		var p [][]float64
		for range controls {
			x := []float64{0.1 * rng.NormFloat64(), 0.1 * rng.NormFloat64(), 0.1 * rng.NormFloat64()}
			p, text = append(p, x), text+strings.Trim(fmt.Sprint(x), "[]")+"\n"
		}
		momenta, text = append(momenta, p), text+"\n"
	}
	for name, what := range map[string]string{"Momenta": text, "ControlPoints": strings.NewReplacer("[", "", "]", "\n").Replace(fmt.Sprint(controls))} {
		path := filepath.Join(dir, "output", "DeterministicAtlas__EstimatedParameters__"+name+".txt")
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(what), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := mesh.Write(filepath.Join(dir, "output", "DeterministicAtlas__EstimatedParameters__Template_mandible.vtk"), template); err != nil {
		t.Fatal(err)
	}
	return dir, controls, momenta, template
}

// The momenta of a finished study are those of its files, and what it minimised is that of plain numbers: flows of Heun, sums over pairs of triangles
// and of control points.
func TestFinished(t *testing.T) {
	dir, controls, momenta, template := finished(t)
	s := expect.Must(study.Read(dir))
	if !s.Finished() {
		t.Fatal("the results were not found")
	}
	a := expect.Must(s.Estimate())
	expect.Abs(t, "control points", a.Controls, controls, 0)
	objective := 0.0
	for i, p := range momenta {
		expect.Abs(t, "momentum", a.Momenta[i], p, 0)
		energy := 0.0
		for j := range p {
			energy += floats.Dot(p[j], kernelSum(0.9, controls[j], controls, p)) / 2
		}
		mismatch := current(0.5, template.With(shot(0.9, controls, p, template.Vertices, 10)), s.Subjects[i][0])
		expect.Rel(t, "energy", a.Energy[i], energy, 1e-12)
		expect.Rel(t, "attachment", a.Mismatch[i][0], mismatch, 1e-9)
		objective += energy + mismatch/(2*0.7*0.7)
	}
	expect.Rel(t, "functional", a.Objective, objective, 1e-10)

	// Without the meshes of the subjects the momenta are left.
	for _, name := range []string{"a.vtk", "b.vtk"} {
		if err := os.Remove(filepath.Join(dir, "data", name)); err != nil {
			t.Fatal(err)
		}
	}
	bare := expect.Must(study.Read(dir))
	expect.Abs(t, "momentum without meshes", expect.Must(bare.Estimate()).Momenta[1], momenta[1], 0)
	if !strings.Contains(strings.Join(bare.Notes, "\n"), "2 meshes are not there, such as data/a.vtk") {
		t.Error(bare.Notes)
	}
	path := filepath.Join(dir, "output", "DeterministicAtlas__EstimatedParameters__Momenta.txt")
	text := string(expect.Must(os.ReadFile(path)))
	for want, other := range map[string]string{"23 vectors": text[:strings.LastIndex(strings.TrimSpace(text), "\n")], "is not a number": strings.Replace(text, "0.", "x", 1)} {
		if err := os.WriteFile(path, []byte(other), 0o600); err != nil {
			t.Fatal(err)
		}
		expect.Refused(t, expect.Error(study.Read(dir)), "Momenta.txt", want)
	}
}
