package recovery_test

import (
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/combin"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/population"
	"anatomy/landmarks/surfaces/study"
	"anatomy/notebooks/lab/recovery"
)

// bodies are nearly symmetric, and their landmarks are placed.
var bodies = sync.OnceValue(func() (all struct {
	family *recovery.Family
	study  *study.Study
	among  func(templates ...int) (*population.Placement, error)
}) {
	all.family = expect.Must(recovery.Kin{Width: 0.6, Deviation: 0.06, Side: 0.2}.Draw(6, 20, 1))
	all.study, all.among = try.Get2(all.family.Place(6))
	return all
})

// Landmarks of one and of three templates are where their ellipses say, and closer to the truth with three: for every choice of templates
// among six subjects, on all others. The bounds are three standard deviations of such shares between families, which Calibrate counts.
func TestPlacements(t *testing.T) {
	const subjects = 6
	family, among := bodies().family, bodies().among
	errs := map[int]float64{}
	for _, c := range []struct {
		templates        int
		half, most, degs float64 // how far the share of 50 % may be off, the least of 95 %, the least and a half of the most degrees of freedom
	}{{1, 0.16, 0.88, math.Inf(1)}, {3, 0.1, 0.9, 20}} {
		var all recovery.Coverage
		for _, chosen := range combin.Combinations(subjects, c.templates) {
			p := expect.Must(among(chosen...))
			if len(p.Failures) > 0 || c.templates == 1 && p.Placed[chosen[0]] != nil {
				t.Errorf("templates %v: %v; on the only one there are landmarks: %t", chosen, p.Failures, p.Placed[chosen[0]] != nil)
			}
			if !(p.Degrees >= c.degs && p.Degrees <= 2*c.degs) {
				t.Errorf("templates %v: %g degrees of freedom", chosen, p.Degrees)
			}
			for i := range subjects {
				if !slices.Contains(chosen, i) {
					all.Add(family.Cover(p, i))
				}
			}
		}
		n := float64(all.Landmarks)
		t.Logf("%d templates: error %.4f, standard error %.4f, deviation %.2f, %.1f %% and %.1f %%", c.templates,
			math.Sqrt(all.Error/n), math.Sqrt(all.Expected/n), all.Deviation/n, 100*float64(all.Half)/n, 100*float64(all.Most)/n)
		expect.Abs(t, "mean square error in that of the standard error", all.Deviation/n, 1, 0.4)
		expect.Abs(t, "share in the ellipses of 50 %", float64(all.Half)/n, 0.5, c.half)
		if float64(all.Most) < c.most*n {
			t.Errorf("%d templates: %+v", c.templates, all)
		}
		errs[c.templates] = all.Error / n
	}
	expect.Abs(t, "mean square error with three templates in that with one", errs[3]/errs[1], 2./3, 0.13) // (1 + 1/3)/(1 + 1)
	for want, templates := range map[string][]int{"templates [6] among [0 1 2 3 4 5]": {6}, "templates [0 0]": {0, 0}, "no templates": nil} {
		expect.Refused(t, expect.Error(among(templates...)), want)
	}
}

// ellipsoids have different triangles, and the model that study chooses for them.
func ellipsoids(t *testing.T, shapes ...*mesh.Mesh) *study.Study {
	t.Helper()
	s := &study.Study{Subjects: population.Single(shapes), Aligned: true}
	for i := range shapes {
		s.Names = append(s.Names, string(rune('a'+i)))
	}
	if err := s.Start(0.8, 0.3, false); err != nil {
		t.Fatal(err)
	}
	return s
}

// Where subject and template are one, landmarks stay. Where the subject lies in another pose, the landmarks do, too, and their errors are
// the same: the pose costs nothing.
func TestPlacementInAnyPose(t *testing.T) {
	ball := mesh.Ellipsoid(1.3, 1, 0.7, 9, 16)
	bent := ball.Map(func(x []float64) []float64 { return []float64{x[0], 1.1 * x[1], x[2] + 0.1*x[0]*x[0]} })
	move := func(x []float64) []float64 { // a turn by 0.3
		s, c := math.Sincos(0.3)
		return []float64{c*x[0] - s*x[2] + 0.1, x[1] - 0.05, s*x[0] + c*x[2]}
	}
	s := ellipsoids(t, ball, ball.Copy(), bent, bent.Map(move))
	s.Model.Objects[0].Noise = 0.1
	marks := ball.Vertices[10:60:60]
	p := expect.Must(s.Model.Landmarks(s.Controls, s.Subjects, []geom.Shape{marks, nil, nil, nil}, solve.Tolerance(1e-5)))
	if p.Placed[0] != nil {
		t.Error("the only template has landmarks that it placed on itself")
	}
	for l, x := range marks {
		if off := floats.Distance(p.Placed[1][l].Point, x, 2); off > 1e-3 {
			t.Errorf("landmark %d moved by %g to the same surface", l, off)
		}
		here, there := p.Placed[2][l], p.Placed[3][l]
		if off := floats.Distance(move(here.Point), there.Point, 2); off > 0.01*here.StandardError() {
			t.Errorf("landmark %d is %g standard errors away in another pose", l, off/here.StandardError())
		}
		expect.Abs(t, "the standard error in another pose", there.StandardError()/here.StandardError(), 1, 1e-3)
	}
	// The points of the ellipse are at the distance of their probability: those of 95 % are 2.0774 times as far away as those of 50 %.
	m := p.Placed[2][7]
	near, far := m.Ellipse(0.5, 8), m.Ellipse(0.95, 8)
	square := 0.0
	for i := range near {
		a, b := floats.Distance(near[i], m.Point, 2), floats.Distance(far[i], m.Point, 2)
		square += a * a / 8
		expect.Abs(t, "95 % in 50 %", b/a, math.Sqrt(math.Log(20)/math.Ln2), 1e-9)
	}
	expect.Abs(t, "the ellipse of 50 %", math.Sqrt(square)/m.StandardError(), math.Sqrt(2*math.Ln2), 1e-9)
}

// turned says whether landmarks lie otherwise than those of the first of a family.
func turned(family *recovery.Family, marks [][]float64) bool {
	_, _, radius := mesh.Moments(family.Subjects[:1])
	square := 0.0
	for l, x := range marks {
		square += math.Pow(floats.Distance(x, family.Landmarks[0][l], 2), 2) / float64(len(marks))
	}
	return math.Sqrt(square) > 0.5*radius
}

// Rough bodies come into the pose of the first, and it is not named as ambiguous. Of one the search from the true pose starts at a larger objective than others, and
// ends at the least: it must not be left out before it took as many iterations. The other has two poses, 20° apart, that only a match in more detail tells apart.
func TestPosesOfRoughBodies(t *testing.T) {
	for seed, body := range map[uint64]int{6: 1, 1: 3} {
		family := expect.Must(recovery.Kin{Width: 0.45, Deviation: 0.05, Side: 0.16}.Draw(body+1, 20, seed))
		s := &study.Study{Subjects: population.Single([]*mesh.Mesh{family.Subjects[0], family.Subjects[body]}), Names: []string{"a", "b"},
			Landmarks: []geom.Shape{slices.Clone(family.Landmarks[0]), slices.Clone(family.Landmarks[body])}}
		if err := s.Start(0.8, 0.3, true); err != nil {
			t.Fatal(err)
		}
		if turned(family, s.Landmarks[1]) || strings.Contains(strings.Join(s.Notes, ""), "ambiguous") {
			t.Errorf("body %d of family %d, turned: %t; %s", body, seed, turned(family, s.Landmarks[1]), s.Notes)
		}
	}
}

// Bodies that are nearly symmetric come into the pose of the first, where rigid alignment turns some the wrong way, and a mirrored one is
// named.
func TestPosesOfBodies(t *testing.T) {
	family, s := bodies().family, bodies().study
	rigid, wrong := expect.Must(population.Align(s.Model.Objects, s.Subjects[0], population.Single(family.Subjects)[1:5], true)), 0
	for i := 1; i < 6; i++ {
		if turned(family, s.Landmarks[i]) {
			t.Errorf("%s lies otherwise than the first", s.Names[i])
		}
		if i < 5 && turned(family, lists.Each(family.Landmarks[i], rigid[i-1].Move)) {
			wrong++
		}
	}
	if t.Logf("rigid alignment turns %d of 4", wrong); wrong == 0 {
		t.Error("rigid alignment turns no body: take others")
	}
	flip := func(x []float64) []float64 { return []float64{x[0], -x[1], x[2]} }
	image := &study.Study{Subjects: population.Single([]*mesh.Mesh{family.Subjects[0], family.Subjects[5].Map(flip).Flip()}), Names: []string{"a", "b"},
		Landmarks: make([]geom.Shape, 2)}
	if err := image.Start(0.8, 0.3, true); err != nil {
		t.Fatal(err)
	}
	const named = ": its mirror image"
	if strings.Contains(strings.Join(s.Notes, ""), named) || !strings.Contains(strings.Join(image.Notes, ""), "b"+named) {
		t.Error(s.Notes, image.Notes)
	}
}

// Two curves in the plane that one deformation carries: landmarks stay on theirs, within a side of the truth. The deformation turns
// nothing on the whole: a turn of an oval is taken for its pose.
func TestPlacementOfCurves(t *testing.T) {
	pair := func(n int, move func(x []float64) []float64) (shape []*mesh.Mesh) {
		for _, scale := range []float64{1, 0.6} {
			var x [][]float64
			for i := range n {
				s, c := math.Sincos(2 * math.Pi * float64(i) / float64(n))
				x = append(x, move([]float64{1.3 * scale * c, scale * s}))
			}
			shape = append(shape, mesh.Curve(x, true))
		}
		return shape
	}
	bend := func(x []float64) []float64 {
		return []float64{x[0] + 0.1*math.Sin(1.5*x[0]), 1.1*x[1] + 0.15*math.Cos(1.5*x[0])}
	}
	s := &study.Study{Names: []string{"a", "b"}, Subjects: [][]*mesh.Mesh{pair(60, slices.Clone[[]float64]), pair(71, bend)}, Aligned: true}
	s.Model.Objects = []population.Object{{ID: "outer"}, {ID: "inner"}}
	if err := s.Start(0.5, 0.2, false); err != nil {
		t.Fatal(err)
	}
	var marks [][]float64
	for _, m := range s.Subjects[0] {
		marks = append(marks, m.Vertices[5], m.Vertices[22], m.Vertices[49])
	}
	for o := range s.Model.Objects {
		s.Model.Objects[o].Noise = 0
	}
	p := expect.Must(s.Model.Landmarks(s.Controls, s.Subjects, []geom.Shape{marks, nil}))
	for l, m := range p.Placed[1] {
		locator := expect.Must(s.Subjects[1][l/3].Locator())
		if on, _ := locator.Nearest(m.Point); floats.Distance(on, m.Point, 2) > 1e-12 {
			t.Errorf("landmark %d left its curve", l)
		}
		ends := m.Ellipse(0.95, 0)
		if got := floats.Distance(ends[0], ends[1], 2) / m.StandardError(); math.Abs(got-2*1.959964) > 1e-5 {
			t.Errorf("landmark %d: an interval of %g standard errors", l, got)
		}
		if off := floats.Distance(m.Point, bend(marks[l]), 2); off > s.Subjects[0][0].Spacing() {
			t.Errorf("the error of landmark %d is %.3g, and a side is %.3g long", l, off, s.Subjects[0][0].Spacing())
		}
	}
}

// A tolerance ten times smaller moves landmarks by little of their standard errors, and a bad subject does not stop the others.
func TestPlacementSettles(t *testing.T) {
	s := bodies().study
	model := s.Model
	model.Objects = slices.Clone(model.Objects)
	model.Objects[0].Noise *= 0.5
	bad := mesh.Icosphere(1).Map(func(x []float64) []float64 { return []float64{100 * x[0], 100 * x[1], 100 * x[2]} })
	subjects := slices.Concat(s.Subjects[:3], [][]*mesh.Mesh{{bad}})
	given := []geom.Shape{s.Landmarks[0], nil, nil, nil}
	p := expect.Must(model.Landmarks(s.Controls, subjects, given))
	fine := expect.Must(model.Landmarks(s.Controls, subjects, given, solve.Tolerance(0.001)))
	squares := 0.0
	for i := range 3 {
		for l, m := range p.Placed[i] {
			squares += math.Pow(floats.Distance(m.Point, fine.Placed[i][l].Point, 2)/m.StandardError(), 2) / 40
		}
	}
	if t.Logf("landmarks move by %.2g standard errors", math.Sqrt(squares)); squares > 0.2*0.2 {
		t.Errorf("landmarks move by %.2g standard errors", math.Sqrt(squares))
	}
	if len(p.Failures) != 1 || p.Failures[0].Subject != 3 || p.Placed[3] != nil {
		t.Error(p.Failures)
	}
	given[1] = s.Landmarks[1][:19]
	_, err := model.Landmarks(s.Controls, subjects, given)
	expect.Refused(t, err, "subject 1 has 19 landmarks, subject 0 has 20")
}
