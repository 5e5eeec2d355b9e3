package recovery

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
)

func TestMain(m *testing.M) { geomtest.Main(m, geomtest.Quick) }

// came fails where a template, to within 1.5e, the plane of modes or a noise did not come back.
func came(t *testing.T, r *Result, e []float64) {
	t.Helper()
	for o := range e {
		if r.Atlas.Status != geom.Converged || r.Template[o] > 1.5*e[o] || r.Plane > 10 {
			t.Errorf("object %d: %s, want 1.5 × %g", o, r, e[o])
		}
		expect.Rel(t, "noise", r.Atlas.Noise[o], r.Truth[o], 0.1)
	}
}

// Template, plane of modes and noise come back, the template within one and a half standard errors; and so they do where the kernel says that
// deformations are seven times as large.
func TestCurves(t *testing.T) {
	t.Parallel()
	s := expect.Must(Curves().Draw(16, 2))
	r := expect.Must(s.Recover())
	e := expect.Must(s.StandardError(r.Atlas, 1))
	t.Log(r, e)
	s.Amplitude = 1
	far := expect.Must(s.Recover())
	t.Log(far)
	for _, r := range []*Result{r, far} {
		came(t, r, e)
	}
	expect.Rel(t, "how large deformations are", far.Atlas.Reach, 0.15*r.Atlas.Reach, 0.02)
}

// Of two outlines in each subject each has its own noise, and both templates come back: of the distance of the first subject, where
// the search starts, a tenth may be left where scores have no mean.
func TestPairs(t *testing.T) {
	t.Parallel()
	const subjects = 16
	s := expect.Must(Pairs().draw(subjects, 1, func(i int, _ *rand.Rand) (a, b float64) {
		b, a = math.Sincos(2 * math.Pi * float64(i) / subjects)
		return math.Sqrt2 * a, math.Sqrt2 * b
	}))
	r := expect.Must(s.Recover())
	var e []float64
	for _, square := range expect.Must(s.squares(s.Subjects[0], s.Truth)) {
		e = append(e, math.Sqrt(square)/15)
	}
	t.Log(r, e)
	came(t, r, e)
}

// The noise about a regression comes back, and so do its speed and direction, where the kernel says that deformations are seven times
// as large.
func TestGrowth(t *testing.T) {
	t.Parallel()
	const subjects = 16
	times := make([]float64, subjects)
	s := expect.Must(Curves().draw(subjects, 3, func(i int, _ *rand.Rand) (a, b float64) {
		times[i] = 3 * (float64(i)/(subjects-1) - 0.5)
		return times[i], 0
	}))
	s.Amplitude = 1
	m := s.model()
	r := expect.Must(m.Regress(s.Subjects[subjects/2], s.Controls, s.Subjects, times))
	slope := r.Momenta[subjects-1].Sub(r.Momenta[0]).Scale(1 / (times[subjects-1] - times[0]))
	want, got := expect.Must(s.seen(m.Space.FromFlat(s.modes[0]))), expect.Must(s.seen(slope))
	floats.Scale(size*size, want) // of a momentum in the space of that size
	angle := 180 / math.Pi * math.Acos(floats.Dot(got, want)/(floats.Norm(got, 2)*floats.Norm(want, 2)))
	t.Logf("%s, %d evaluations: reach %.3g, direction off by %.3g°", r, r.Evaluations, r.Reach, angle)
	if r.Status != geom.Converged || angle > 5 {
		t.Errorf("%s: direction off by %g°", r, angle)
	}
	expect.Rel(t, "speed", floats.Norm(got, 2), floats.Norm(want, 2), 0.05)
	expect.Rel(t, "noise", r.Noise[0], math.Sqrt(s.noise[0]/r.Parts[0]), 0.1)
}

// Where nothing is deformed, momenta are as small as noise, and the estimates come to an end.
func TestNoDeformation(t *testing.T) {
	t.Parallel()
	s := expect.Must(Curves().draw(16, 2, func(int, *rand.Rand) (a, b float64) { return 0, 0 }))
	r := expect.Must(s.Recover())
	t.Log(r)
	if r.Atlas.Status != geom.Converged || r.Atlas.Reach > 0.05 {
		t.Error(r)
	}
	expect.Rel(t, "noise", r.Atlas.Noise[0], r.Truth[0], 0.1)
}

// String says what came back in one line.
func (r *Result) String() string {
	return fmt.Sprintf("%d subjects, %s, %d evaluations: template off by %.3g; modes by %.2g°; σ %.4g, the truth %.4g; deformations %.3g times as large as the kernel says",
		len(r.Atlas.Momenta), r.Atlas.Status, r.Atlas.Evaluations, r.Template, r.Plane, r.Atlas.Noise, r.Truth, r.Atlas.Reach)
}
