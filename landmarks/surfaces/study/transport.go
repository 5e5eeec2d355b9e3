package study

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/ode"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks"
	"anatomy/landmarks/internal/text"
	"anatomy/landmarks/surfaces/mesh"
)

// ParallelTransport predicts how a subject changes in time from how another shape changes. That shape is Template at the time At, and at other times
// Template moved by a geodesic of the control points. The subject is known at the time At: the deformation that starts with Velocity maps Template
// to it. Predict transports this velocity in parallel along the geodesic, and deforms the shape at each time by the result. The path of the subject
// is called exp-parallel (Schiratti et al., NIPS 2015; Bône et al., CVPR 2018).
type ParallelTransport struct {
	Objects          []string         // names of the meshes of the template, "" for none
	Template         []*mesh.Mesh     // at the time At
	Controls         geom.Shape       // control points at the time At, [n][D]
	Momentum         geom.Shape       // of the geodesic at the time At, per unit of time, [n][D]
	Velocity         geom.Shape       // of the control points at the start of the deformation to the subject, [n][D]
	From, At, To     float64          // times: From ≤ At ≤ To
	StepsPerUnitTime float64          // of the geodesic
	Space            *landmarks.Space // of the control points, with the method of both integrations and the steps of the deformations to the subject
	Notes            []string         // what was repaired or passed over, in sentences
}

// Prediction is a shape and a subject at one time, the control points of the shape, the momentum of its path per unit of time, and the momentum
// of the deformation that takes the shape to the subject.
type Prediction struct {
	Time                          float64
	Template, Subject             []*mesh.Mesh
	Controls, Momentum, Deforming geom.Shape
	Length                        float64 // of the deformation. Parallel transport keeps it: what it changes is an error of the time steps
}

// maxSteps bounds the times of a prediction: each has meshes.
const maxSteps = 10_000

// Predict returns the prediction at the time From, at each step of the geodesic, and at the time To. It is an error if the times are not in order,
// and if the steps are so few that an energy or the length of the deformation changes by more than 1 %.
func (t *ParallelTransport) Predict() (out []Prediction, err error) {
	defer try.Named(&err, "Predict")
	text.RefuseIf(!(t.From <= t.At && t.At <= t.To && t.From < t.To),
		"give three times in this order, of which the first and the last differ", "from %g to %g, with the template at %g", t.From, t.To,
		t.At)
	text.RefuseIf(!(t.StepsPerUnitTime > 0 && t.StepsPerUnitTime*(t.To-t.From) <= maxSteps),
		fmt.Sprintf("give a positive number, and at most %d steps in all", maxSteps), "%g steps per unit of time for a time of %g", t.StepsPerUnitTime, t.To-t.From)
	if t.From < t.At {
		out = t.until(t.From)
		slices.Reverse(out)
	}
	if t.At < t.To {
		after := t.until(t.To)
		if len(out) > 0 { // it ends with the time At
			after = after[1:]
		}
		out = append(out, after...)
	}
	for _, p := range out {
		drift := math.Abs(p.Length/out[0].Length - 1)
		text.RefuseIf(drift > geom.MaxDrift, "give more steps per unit of time", "the length of the deformation changes by %.2g %% up to the time %g",
			100*drift, p.Time)
	}
	return out, nil
}

// until is the prediction from the time At to the end.
func (t *ParallelTransport) until(end float64) (out []Prediction) {
	duration := end - t.At
	steps := max(1, int(math.Round(math.Abs(duration)*t.StepsPerUnitTime)))
	space := t.Space.With(geom.Integrator(t.Space.Method(), steps))
	path := try.Get(space.Shoot(t.Controls, t.Momentum.Scale(duration)))
	moved := try.Get(space.Transport(path, t.Velocity))[0]
	shapes := try.Get(space.Transform(path, mesh.Vertices(t.Template)))
	for k, controls := range path.Path {
		to := try.Get(t.Space.Exp(controls, moved[k]))
		subject := try.Get(t.Space.Transform(to, shapes[k]))
		out = append(out, Prediction{
			Time:     t.At + duration*float64(k)/float64(steps),
			Template: mesh.WithVertices(t.Template, shapes[k]), Subject: mesh.WithVertices(t.Template, subject[len(subject)-1]),
			Controls: controls, Momentum: path.Momenta[k].Scale(1 / duration), Deforming: to.Momentum,
			Length: to.Length,
		})
	}
	return out
}

// Write writes predictions for ParaView into a folder, which it makes: the template and the subject in time as the sequences template.pvd and
// subject.pvd, of an object with a name template_NAME.pvd and subject_NAME.pvd, and the control points with both momenta at each time as
// controls_0000.vtp, controls_0001.vtp, and so on. Files of these names are replaced, others stay.
func (t *ParallelTransport) Write(folder string, predictions []Prediction) (err error) {
	defer try.Named(&err, "write")
	files := try.Get(Files([]string{"template", "subject"}, t.Objects))
	try.Do(os.MkdirAll(folder, 0o777))
	for o := range t.Template {
		var moments [2][]mesh.Moment
		for _, p := range predictions {
			for k, shape := range [][]*mesh.Mesh{p.Template, p.Subject} {
				moments[k] = append(moments[k], mesh.Moment{Time: p.Time, Mesh: shape[o]})
			}
		}
		for k := range moments {
			try.Do(mesh.WriteSequence(filepath.Join(folder, files[k][o]+".pvd"), moments[k]))
		}
	}
	for k, p := range predictions {
		try.Do(mesh.WritePoints(filepath.Join(folder, fmt.Sprintf("controls_%04d.vtp", k)), p.Controls,
			mesh.Field{Name: "momentum", Values: p.Momentum}, mesh.Field{Name: "momentum to the subject", Values: p.Deforming}))
	}
	return nil
}

// ReadParallelTransport reads the model.xml of a study of Deformetrica 4 of the type ParallelTransport: its template, the momenta of the path and of
// the deformation to the subject, and their control points. If the deformation has other control points, its velocity field is evaluated at those of
// the path. Without t0 the template is that at the time tmin.
//
// Both integrations use Heun's method, as in Deformetrica; n time points are n − 1 steps of the deformations. The transport solves its differential
// equation, to which Deformetrica's finite differences converge with first order in their steps.
func ReadParallelTransport(model string) (_ *ParallelTransport, err error) {
	defer try.Catch(&err)
	m := readXML(model, "model")
	top := settingsOf(model, m.Inner)
	kind := top.first("model-type")
	try.FailIf(strings.ToLower(kind) != parallelTransport, "%s: the model-type is %s, want ParallelTransport", model, text.Clip(kind))
	objects, flow := top.parts(m)
	s := &Study{} // for its notes
	t := &ParallelTransport{StepsPerUnitTime: flow.number(10, "concentration-of-timepoints")}
	all := []*settings{top, flow}
	for _, e := range objects {
		object := settingsOf(model, e.Inner)
		all = append(all, object)
		try.FailIf(slices.Contains(t.Objects, e.ID), "%s: two objects have the id %s", model, text.Clip(e.ID))
		t.Objects, t.Template = append(t.Objects, e.ID), append(t.Template, s.template(object, e.ID, "the object "+text.Clip(e.ID)))
	}
	for _, name := range []string{"initial-control-points", "initial-momenta", "initial-momenta-to-transport"} {
		try.FailIf(top.values[name] == "", "%s: no %s, which a ParallelTransport needs", model, name)
	}
	file := func(name string) string { return beside(model, top.first(name)) }
	d := len(t.Template[0].Vertices[0])
	t.Controls = readPoints(file("initial-control-points"), d)
	t.Momentum = readMomenta(file("initial-momenta"), t.Controls, 1)[0]
	from := t.Controls
	if top.first("initial-control-points-to-transport") != "" {
		from = readPoints(file("initial-control-points-to-transport"), d)
	}
	width := flow.positive("the deformation", "kernel-width")
	t.Velocity = gaussianField(width, from, readMomenta(file("initial-momenta-to-transport"), from, 1)[0], t.Controls)
	t.Space = landmarks.New(len(t.Controls), d, deformetricaGaussian(width),
		geom.Integrator(ode.Heun, flow.steps(flow.number(10, "number-of-timepoints"))))
	for _, name := range []string{"tmin", "tmax"} {
		try.FailIf(flow.values[name] == "", "%s: no %s in the deformation-parameters, which a ParallelTransport needs", model, name)
	}
	t.From, t.To = flow.number(0, "tmin"), flow.number(0, "tmax")
	t.At = flow.number(t.From, "t0")
	s.passedOver(all)
	t.Notes = s.Notes
	return t, nil
}

// gaussianField returns the vectors Σ_j exp(−|x − c_j|²/w²) p_j at points x.
func gaussianField(w float64, c, p, at [][]float64) [][]float64 {
	out := lists.Zeros(len(at), len(at[0]))
	for i, x := range at {
		for j := range c {
			floats.AddScaled(out[i], math.Exp(-math.Pow(floats.Distance(x, c[j], 2)/w, 2)), p[j])
		}
	}
	return out
}
