package study_test

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/study"
)

// transportXML is modelXML as a ParallelTransport.
var transportXML = strings.NewReplacer("DeterministicAtlas", "ParallelTransport", "timepoints>11<", "timepoints>6<", "    <deformation-parameters>",
	`    <initial-control-points>controls.txt</initial-control-points>
    <initial-momenta>momenta.txt</initial-momenta>
    <initial-momenta-to-transport>registration.txt</initial-momenta-to-transport>
    <deformation-parameters>
        <concentration-of-timepoints>4</concentration-of-timepoints>
        <tmin>60</tmin>
        <tmax>62</tmax>`).Replace(modelXML)

// transport makes a study of Deformetrica of three control points.
func transport(t *testing.T, edits ...string) string {
	r := strings.NewReplacer(edits...)
	return folder(t, map[string]any{"model.xml": r.Replace(transportXML), "data/template.vtk": ball(1),
		"controls.txt": "0.5 0 0\n-0.5 0.2 0\n0 0 0.4\n", "momenta.txt": r.Replace("1 3 3\n\n0.2 0 0\n0 0.1 0\n0 0 -0.1\n"), "registration.txt": "0 0.3 0\n0.1 0.1 0\n0 0 0.2\n",
		"one.txt": "0.5 0 0\n", "push.txt": "0 0 0.3\n"})
}

func model(dir string) string { return filepath.Join(dir, "model.xml") }

// One control point moves on a line and transports without change, at times before and after that of the template.
func TestParallelTransportOfOnePoint(t *testing.T) {
	task := study.ParallelTransport{Objects: []string{""}, Template: []*mesh.Mesh{mesh.Curve([][]float64{{1, 0}, {0, 2}}, false)},
		Controls: [][]float64{{0.3, 0.4}}, Momentum: [][]float64{{0.5, -0.2}}, Velocity: [][]float64{{0.1, 0.7}},
		From: 2, At: 3, To: 5, StepsPerUnitTime: 5, Space: landmarks.New(1, 2, kernels.Gaussian(0.8), geom.Integrator(ode.RK4, 4))}
	all := expect.Must(task.Predict())
	if len(all) != 16 {
		t.Fatalf("%d times", len(all))
	}
	for k, p := range all {
		time := 2 + 0.2*float64(k)
		expect.Abs(t, "time", p.Time, time, 1e-12)
		expect.Abs(t, "control point", p.Controls, [][]float64{{0.3 + 0.5*(time-3), 0.4 - 0.2*(time-3)}}, 1e-12)
		expect.Abs(t, "momentum", p.Momentum, task.Momentum, 1e-12)
		expect.Abs(t, "transported momentum", p.Deforming, task.Velocity, 1e-12)
		expect.Abs(t, "length", p.Length, math.Hypot(0.1, 0.7), 1e-12)
		if k == 5 {
			expect.Abs(t, "template at its own time", p.Template[0].Vertices, task.Template[0].Vertices, 0)
		}
	}
	for _, ends := range [][2]float64{{2, 3}, {3, 5}} {
		task.From, task.To = ends[0], ends[1]
		part := expect.Must(task.Predict())
		for k := range part {
			whole := all[k+int(math.Round(5*(ends[0]-2)))]
			expect.Abs(t, "a part", part[k].Subject[0].Vertices, whole.Subject[0].Vertices, 0)
			expect.Abs(t, "time of a part", part[k].Time, whole.Time, 1e-12)
		}
	}
	for what, c := range map[string]study.ParallelTransport{
		"order: from 4 to 5":        {From: 4, At: 3, To: 5, StepsPerUnitTime: 5},
		"order: from NaN":           {From: math.NaN(), At: 3, To: 5, StepsPerUnitTime: 5},
		"differ":                    {From: 3, At: 3, To: 3, StepsPerUnitTime: 5},
		"positive: 0 steps":         {From: 2, At: 3, To: 5},
		"at most 10000: for a time": {From: 2, At: 3, To: 1e9, StepsPerUnitTime: 5},
	} {
		bad := task
		bad.From, bad.At, bad.To, bad.StepsPerUnitTime = c.From, c.At, c.To, c.StepsPerUnitTime
		expect.Refused(t, expect.Error(bad.Predict()), strings.Split(what, ": ")...)
	}
}

// The study of Deformetrica means the same here: its scheme of finite differences (Louis et al. 2017) tends to the prediction, with order 1 of its steps.
func TestParallelTransportOfDeformetrica(t *testing.T) {
	dir := transport(t)
	task := expect.Must(study.ReadParallelTransport(model(dir)))
	if task.From != 60 || task.At != 60 || task.To != 62 || task.StepsPerUnitTime != 4 || task.Space.Steps() != 5 || task.Space.Method() != ode.Heun {
		t.Errorf("%+v", task)
	}
	if notes := strings.Join(task.Notes, "\n"); !strings.Contains(notes, "noise-std") || strings.Contains(notes, "tmin") || strings.Contains(notes, "initial") {
		t.Errorf("notes %q", notes)
	}
	predicted := expect.Must(task.Predict())
	if len(predicted) != 9 {
		t.Fatalf("%d times", len(predicted))
	}
	last := predicted[8]
	expect.Abs(t, "end", last.Time, 62, 1e-12)
	exact := *task
	exact.StepsPerUnitTime = 100
	end := expect.Must(exact.Predict())[200]

	first := expect.Must(task.Space.Shoot(task.Controls, [][]float64{{0, 0.3, 0}, {0.1, 0.1, 0}, {0, 0, 0.2}}))
	expect.Abs(t, "velocity at the same control points", task.Velocity, first.Velocity, 1e-12)
	carried := expect.Must(task.Space.Transform(first, ball(1).Vertices))
	expect.Abs(t, "the subject at the time of the template", predicted[0].Subject[0].Vertices, carried[len(carried)-1], 1e-12)

	fine := task.Space.With(geom.Integrator(ode.RK4, 4))
	off := func(steps int) float64 {
		x, momentum, w := task.Controls, task.Momentum, task.Velocity
		h, small := 2/float64(steps), 1e-3
		for range steps {
			own := expect.Must(fine.Exp(x, w)).Momentum
			ends := make([][]float64, 2)
			for side, sign := range []float64{1, -1} {
				p := task.Space.Point(floats.ScaleTo(make([]float64, 9), h, shape.Flat(momentum)))
				for i := range p {
					floats.AddScaled(p[i], sign*h*small, own[i])
				}
				ends[side] = shape.Flat(expect.Must(fine.Shoot(x, p)).End)
			}
			w = task.Space.Point(floats.ScaleTo(ends[0], 1/(2*small*h), floats.SubTo(ends[0], ends[0], ends[1])))
			g := expect.Must(fine.Shoot(x, task.Space.Point(floats.ScaleTo(make([]float64, 9), h, shape.Flat(momentum)))))
			x, momentum = g.End, task.Space.Point(floats.ScaleTo(make([]float64, 9), 1/h, shape.Flat(g.Momenta[len(g.Momenta)-1])))
		}
		return floats.Distance(shape.Flat(geom.Shape(expect.Must(fine.Exp(x, w)).Momentum)), shape.Flat(end.Deforming), 2)
	}
	a, b := off(20), off(40)
	t.Logf("finite differences are off by %.3g and %.3g with twice as many steps, the prediction with 8 steps by %.3g", a, b,
		floats.Distance(shape.Flat(last.Deforming), shape.Flat(end.Deforming), 2))
	expect.Abs(t, "order of the finite differences", math.Log2(a/b), 1, 0.1)

	// There and back.
	back := study.ParallelTransport{Objects: task.Objects, Template: end.Template, Controls: end.Controls, Momentum: end.Momentum,
		Velocity: expect.Must(fine.Shoot(end.Controls, end.Deforming)).Velocity, From: 60, At: 62, To: 62, StepsPerUnitTime: 100, Space: task.Space}
	home := expect.Must(back.Predict())[0]
	expect.Abs(t, "the time of the template", home.Time, 60, 1e-12)
	expect.Abs(t, "the template, there and back", home.Template[0].Vertices, ball(1).Vertices, 1e-4)
	expect.Abs(t, "the subject, there and back", home.Subject[0].Vertices, predicted[0].Subject[0].Vertices, 1e-4)

	out := filepath.Join(t.TempDir(), "out")
	if err := task.Write(out, predicted); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"template_mandible.pvd", "subject_mandible.pvd", "controls_0008.vtp"} {
		if found, err := filepath.Glob(filepath.Join(out, name)); err != nil || len(found) != 1 {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}

	// Control points of the registration of their own, and a template in the middle of the time.
	other := expect.Must(study.ReadParallelTransport(model(transport(t, "<initial-momenta-to-transport>registration.txt", "<initial-control-points-to-transport>one.txt</initial-control-points-to-transport><initial-momenta-to-transport>push.txt",
		"<tmin>60", "<t0>61</t0><tmin>60"))))
	expect.Abs(t, "the field at another control point", other.Velocity[1], []float64{0, 0, 0.3 * math.Exp(-(1+0.04)/0.81)}, 1e-12)
	if all := expect.Must(other.Predict()); other.At != 61 || len(all) != 9 || all[4].Time != 61 {
		t.Errorf("template at %g, %d times", other.At, len(all))
	}

	expect.Refused(t, expect.Error(study.Read(dir)), "ParallelTransport", "study.ReadParallelTransport", "study transport")
	for what, c := range map[string][]string{
		"model-type is: Registration: want ParallelTransport": {"ParallelTransport<", "Registration<"},
		"no initial-momenta-to-transport":                     {"initial-momenta-to-transport", "momenta-to-transport"},
		"no tmax":                                             {"<tmax>62</tmax>", ""},
		"2 vectors: 3 control points":                         {"0.2 0 0\n", ""},
		"momenta.txt:1: 2 numbers":                            {"1 3 3", "1 2"},
		"kernel-width of the deformation":                     {"0.9</kernel-width>", "0</kernel-width>"},
		"number-of-timepoints is 1":                           {">6</number", ">1</number"},
		"nowhere.txt":                                         {"controls.txt", "nowhere.txt"},
		"the object: mandible: has no filename":               {"<filename>data/template.vtk</filename>", ""},
	} {
		t.Run(what, func(t *testing.T) {
			_, err := study.ReadParallelTransport(model(transport(t, c...)))
			t.Log(err)
			expect.Refused(t, err, strings.Split(what, ": ")...)
		})
	}
	coarse := *task
	coarse.StepsPerUnitTime, coarse.Momentum = 0.5, [][]float64{{2, 0, 0}, {0, 3, 0}, {0, 0, -2}}
	expect.Refused(t, expect.Error(coarse.Predict()), "steps")
}
