package study

import (
	"cmp"
	"encoding/xml"
	"errors"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"anatomy/geom"
	"anatomy/geom/ode"
	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/internal/markup"
	"anatomy/landmarks/internal/text"
	"anatomy/landmarks/surfaces/attachment"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/population"
)

// element is one of XML, of which the text, two attributes and the elements in it are wanted.
type element struct {
	XMLName xml.Name
	Text    string    `xml:",chardata"`
	ID      string    `xml:"id,attr"`
	Object  string    `xml:"object_id,attr"`
	Inner   []element `xml:",any"`
}

func (e *element) name() string  { return strings.ToLower(e.XMLName.Local) }
func (e *element) value() string { return strings.TrimSpace(e.Text) }

// settings are the leaves of elements by their names, with the file that they stand in; what has been asked for is used.
type settings struct {
	file   string
	values map[string]string
	used   map[string]bool
}

func settingsOf(file string, e []element) *settings {
	s := &settings{file, map[string]string{}, map[string]bool{}}
	for i := range e {
		s.values[e[i].name()] = e[i].value()
	}
	return s
}

// first returns the value of the first of the names that is there, "" for none.
func (s *settings) first(names ...string) string {
	found := ""
	for _, name := range names {
		s.used[name] = true
		if found == "" {
			found = s.values[name]
		}
	}
	return found
}

// number returns a value as a number; standard where there is none.
func (s *settings) number(standard float64, names ...string) float64 {
	word := s.first(names...)
	if word == "" {
		return standard
	}
	v, err := strconv.ParseFloat(word, 64)
	try.FailIf(err != nil || math.IsNaN(v) || math.IsInf(v, 0), "%s: %s is %s, want a number", s.file, names[0], text.Clip(word))
	return v
}

// positive is number for what must be above 0 and has no standard.
func (s *settings) positive(where string, names ...string) float64 {
	v := s.number(math.NaN(), names...)
	try.FailIf(!(v > 0), "%s: %s of %s is %s, want a positive number", s.file, names[0], where, text.Clip(s.first(names...)))
	return v
}

// on returns whether a switch is on.
func (s *settings) on(standard bool, names ...string) bool {
	switch word := strings.ToLower(s.first(names...)); word {
	case "":
	case "on", "true", "1", "yes":
		return true
	case "off", "false", "0", "no":
		return false
	default:
		try.Fail("%s: %s is %s, want On or Off", s.file, names[0], text.Clip(word))
	}
	return standard
}

// rest says which values nobody asked for.
func (s *settings) rest() (names []string) {
	for name := range s.values {
		if !s.used[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func readXML(path, root string) *element {
	var e element
	var within input.Budget
	try.Do(markup.Parse(try.Get(input.ReadFile(path, &within)), path, &e, &within))
	try.FailIf(e.name() != root, "%s: the element %s, want %s", path, text.Clip(e.XMLName.Local), root)
	return &e
}

const parallelTransport = "paralleltransport" // a model type in lower case

// unsupported are the model types of Deformetrica that have no counterpart, and what to do.
var unsupported = map[string]string{
	"affineatlas":               "take population.Align",
	"principalgeodesicanalysis": "take DeterministicAtlas, then Atlas.PCA",
	"longitudinalatlas":         "take a Regression of every subject, then stats.TransportToMean: see stats.Grow",
	"longitudinalregistration":  "take a Regression of every subject, then stats.TransportToMean: see stats.Grow",
	"shooting":                  "take Space.Shoot and Space.Transform with the momenta",
	parallelTransport:           "read it by study.ReadParallelTransport, or run `study transport -data FOLDER -out RESULTS`",
}

// readDeformetrica reads a study of Deformetrica 4 (and the tags of 3): the paths of its model.xml and data_set.xml, and of its
// optimization_parameters.xml or "" for none. File names in them are relative to the file that they stand in. Model types are
// Registration, DeterministicAtlas, BayesianAtlas and Regression, of objects that are a SurfaceMesh or a PolyLine each, with the attachment Current
// or Varifold; others are errors that say what to do. Of a BayesianAtlas the noise
// of an object without a noise-std is estimated, with the size of the deformations (see Atlas.Reach), not with their covariance:
// that follows by Atlas.PCA.
//
// Its Gaussian exp(−r²/w²) is kernels.Gaussian(w/√2); noise-std is Noise as it is. A number of time points n is n − 1 steps, of Euler
// or, with use-rk2, of Heun. Control points that are not given stand on its grid over the box of the template, initial-cp-spacing or
// a kernel-width apart. The gradient of the template is smoothed by the deformation kernel's width times sobolev-kernel-width-ratio.
// What has no counterpart here, such as step sizes, is passed over and named in Notes. Meshes are cleaned as by Read.
//
// Where the momenta and the control points of a finished atlas lie beside model.xml or in its folder output, Estimate returns these with their
// templates, and searches for nothing. Meshes of subjects may then be missing.
func readDeformetrica(model, dataSet, optimization string) *Study {
	m, o := readXML(model, "model"), &element{}
	if optimization != "" {
		o = readXML(optimization, "optimization-parameters")
	}
	top, options := settingsOf(model, m.Inner), settingsOf(optimization, o.Inner)
	s := &Study{}
	kind := strings.ToLower(top.first("model-type"))
	const bayesian = "bayesianatlas"
	var known bool
	if s.Kind, known = map[string]Kind{"registration": Registration, "deterministicatlas": Atlas, bayesian: Atlas,
		"regression": Regression}[kind]; kind == "" {
		try.Fail("%s: no model-type", model)
	} else if !known {
		try.Fail("%s: the model-type %s has no counterpart: %s", model, text.Clip(top.first("model-type")),
			cmp.Or(unsupported[kind], "there are Registration, DeterministicAtlas, BayesianAtlas and Regression"))
	}
	try.FailIf(dataSet == "", "%s: a study of Deformetrica of the type %s needs data_set.xml beside it", model, s.Kind)
	d := readXML(dataSet, "data-set")
	objects, flow := top.parts(m)
	if s.Kind == Atlas {
		s.results = resultsOf(filepath.Dir(model))
	}
	all := []*settings{top, flow, options}
	for _, e := range objects {
		object := settingsOf(model, e.Inner)
		all = append(all, object)
		s.object(e.ID, object, kind == bayesian)
	}
	s.visits(dataSet, d)
	s.space(top, flow, options)
	if s.results != nil {
		s.momenta = readMomenta(s.results["momenta"], s.Controls, len(s.Names))
	}
	s.search(options, flow.positive("the deformation", "kernel-width"))
	s.passedOver(all)
	return s
}

// parts returns the objects of the template of a model, and the parameters of its deformation. It passes over kernel-type, kernel-device and
// dtype, which say how Deformetrica computes.
func (s *settings) parts(model *element) (objects []element, flow *settings) {
	flow = settingsOf(s.file, nil)
	for _, e := range model.Inner {
		switch e.name() {
		case "template":
			s.used["template"] = true
			for _, object := range e.Inner {
				if object.name() == "object" {
					objects = append(objects, object)
				}
			}
		case "deformation-parameters":
			s.used["deformation-parameters"] = true
			flow = settingsOf(s.file, e.Inner)
		}
	}
	try.FailIf(len(objects) == 0, "%s: the template has no objects", s.file)
	flow.first("kernel-type", "kernel-device")
	s.first("dtype")
	return objects, flow
}

// passedOver notes the settings that nobody asked for.
func (s *Study) passedOver(all []*settings) {
	for _, from := range all {
		if names := from.rest(); len(names) > 0 {
			s.note("%s: %s passed over", filepath.Base(from.file), strings.Join(names, ", "))
		}
	}
}

// space chooses the control points, the kernel of the deformations and their integrator.
func (s *Study) space(top, flow, options *settings) {
	width, points := flow.positive("the deformation", "kernel-width"), flow.number(10, "number-of-timepoints")
	if len(s.Times) > 0 && flow.values["concentration-of-timepoints"] != "" {
		concentration := flow.number(0, "concentration-of-timepoints")
		// There are as many by the unit of time; our steps go from the mean of the times to each of them.
		mean := stat.Mean(s.Times, nil)
		points = math.Ceil(concentration*math.Max(slices.Max(s.Times)-mean, mean-slices.Min(s.Times))) + 1
	}
	steps := flow.steps(points)
	if s.Kind == Regression && flow.first("t0") != "" {
		s.note("t0 is passed over: the template of a regression is that at the mean of the times, and its momentum is penalised by their standard deviation")
	}
	flow.first("t0", "tmin", "tmax", "concentration-of-timepoints")
	method := ode.Euler
	if second := options.on(false, "use-rk2", "use-rk2-for-shoot"); second {
		method = ode.Heun
	}
	options.first("use-rk2-for-flow")
	dimension := len(s.Template[0].Vertices[0])
	if file := top.first("initial-control-points"); s.results != nil {
		s.Controls = readPoints(s.results["controlpoints"], dimension)
	} else if file != "" {
		s.Controls = readPoints(beside(top.file, file), dimension)
	} else {
		controls, err := Grid(mesh.Vertices(s.Template), top.number(width, "initial-cp-spacing"))
		try.Do(try.Name(err, "%s: initial-cp-spacing", top.file))
		s.Controls = controls
	}
	top.first("initial-cp-spacing")
	v := top.number(float64(dimension), "dimension")
	try.FailIf(v != float64(dimension), "%s: the dimension is %g, the vertices of the template have %d coordinates", top.file, v, dimension)
	s.Model.Space = landmarks.New(len(s.Controls), dimension, deformetricaGaussian(width), geom.Integrator(method, steps))
}

// steps are those between so many time points.
func (s *settings) steps(points float64) int {
	try.FailIf(points != math.Trunc(points) || points < 2 || points > 1000, "%s: number-of-timepoints is %g, want 2 to 1000", s.file,
		points)
	return int(points) - 1
}

// search chooses what is estimated, and the smoothing of the gradient of the template by the width of the deformations.
func (s *Study) search(options *settings, width float64) {
	s.Model.Free = !options.on(true, "freeze-control-points", "freeze-cp")
	try.FailIf(options.on(false, "freeze-template") && s.Kind != Registration,
		"%s: freeze-template is On: take a Registration of every subject", options.file)
	if !options.on(true, "use-sobolev-gradient") {
		s.note("use-sobolev-gradient Off is passed over: the gradient of the template is always smoothed, by the kernel of the attachment")
		return
	}
	if s.Kind == Registration {
		return
	}
	ratio := options.number(1, "sobolev-kernel-width-ratio", "smoothing-kernel-width-ratio")
	try.FailIf(!(ratio > 0), "%s: sobolev-kernel-width-ratio is %g, want a positive number", options.file, ratio)
	for o := range s.Model.Objects {
		s.Model.Objects[o].Smoothing = deformetricaGaussian(ratio * width)
	}
}

// object reads one of the template, of which the noise may be left to be estimated.
func (s *Study) object(id string, e *settings, estimatesNoise bool) {
	try.FailIf(slices.ContainsFunc(s.Model.Objects, func(o population.Object) bool { return o.ID == id }), "%s: two objects have the id %s",
		e.file, text.Clip(id))
	e.first("kernel-type", "kernel-device", "noise-variance-prior-scale-std", "noise-variance-prior-normalized-dof")
	name := strings.TrimSpace("the object " + text.Clip(id))
	what := strings.ToLower(e.first("deformable-object-type"))
	kind := strings.ToLower(e.first("attachment-type"))
	for _, side := range []struct{ tag, norm string }{{"nonoriented", "varifold"}, {"oriented", "current"}} { // of version 3
		if strings.HasPrefix(what, side.tag) {
			what = what[len(side.tag):]
			if kind == "" {
				kind = side.norm
			}
		}
	}
	order := map[string]int{"polyline": 2, "surfacemesh": 3}[what]
	switch {
	case what == "landmark" || what == "pointcloud":
		try.Fail("%s: objects of type %s are no meshes: read their points as landmarks, and take stats.FrechetMean or stats.Regress with stats.RelativeNoise", e.file, text.Clip(what))
	case order == 0:
		try.Fail("%s: objects of type %s are not read: there are SurfaceMesh and PolyLine", e.file, text.Clip(what))
	case kind != "current" && kind != "varifold":
		try.Fail("%s: the attachment-type %s has no counterpart: there are Current and Varifold", e.file, text.Clip(kind))
	}
	norm := attachment.Norm{Kernel: deformetricaGaussian(e.positive(name, "kernel-width")), Varifold: kind == "varifold"}
	noise, given := 0.0, e.first("noise-std", "data-sigma") != ""
	try.FailIf(!given && !estimatesNoise,
		"%s: %s has no noise-std, which Deformetrica would choose: give one, in the unit of the square root of the attachment", e.file, name)
	if given {
		noise = e.positive(name, "noise-std", "data-sigma")
	}
	template := s.template(e, id, name)
	got := len(template.Cells[0])
	try.FailIf(got != order, "%s: cells of %d vertices in %s, want those of a %s", e.file, got, text.Clip(e.first("filename")), what)
	s.Template = append(s.Template, template)
	s.Model.Objects = append(s.Model.Objects, population.Object{ID: id, Norm: norm, Noise: noise})
}

// template reads the mesh of an object with a name.
func (s *Study) template(e *settings, id, name string) *mesh.Mesh {
	file := e.first("filename")
	try.FailIf(file == "", "%s: %s has no filename", e.file, name)
	path := beside(e.file, file)
	if result := s.results["template "+id]; result != "" {
		path = result
	} else if result := s.results["template"]; result != "" {
		path = result
	} else if s.results != nil {
		s.note("%s: no estimated template: the initial one is taken, and meshes in figures are deformed from it", cmp.Or(name, "the object"))
	}
	m := try.Get(mesh.Read(path))
	try.Do(try.Name(s.clean(file, m), "%s", e.file))
	return m
}

// visits reads the subjects: one visit of each, or for a regression the visits of one subject with their ages.
func (s *Study) visits(dataSet string, d *element) {
	subjects := 0
	var absent []string
	for _, subject := range d.Inner {
		if subject.name() != "subject" {
			continue
		}
		subjects++
		visits := 0
		for _, visit := range subject.Inner {
			if visit.name() != "visit" {
				continue
			}
			visits++
			name, age, files := subject.ID, math.NaN(), map[string]string{}
			if s.Kind == Regression {
				name = visit.ID
			}
			for _, e := range visit.Inner {
				switch e.name() {
				case "age":
					var err error
					if age, err = strconv.ParseFloat(e.value(), 64); err != nil || math.IsInf(age, 0) {
						try.Fail("%s: subject %s: the age %s is no number", dataSet, text.Clip(subject.ID), text.Clip(e.value()))
					}
				case "filename":
					files[e.Object] = e.value()
				}
			}
			try.FailIf(s.Kind == Regression && math.IsNaN(age), "%s: subject %s: the visit %s has no age, which a Regression needs",
				dataSet, text.Clip(subject.ID), text.Clip(visit.ID))
			var shape []*mesh.Mesh
			for _, object := range s.Model.Objects {
				file := files[object.ID]
				try.FailIf(file == "", "%s: subject %s: a visit has no filename of the object %s", dataSet, text.Clip(subject.ID),
					text.Clip(object.ID))
				m, err := mesh.Read(beside(dataSet, file))
				if s.results != nil && errors.Is(err, os.ErrNotExist) {
					absent = append(absent, file)
					continue
				}
				if err == nil {
					err = s.clean(file, m)
				}
				try.FailIf(err != nil, "%s: subject %s: %w", dataSet, text.Clip(subject.ID), err)
				shape = append(shape, m)
			}
			s.Names, s.Subjects = append(s.Names, name), append(s.Subjects, shape)
			if s.Kind == Regression {
				s.Times = append(s.Times, age)
			}
		}
		try.FailIf(s.Kind != Regression && visits != 1, "%s: subject %s has %d visits, want 1", dataSet, text.Clip(subject.ID), visits)
	}
	if absent != nil {
		s.note("%s not there, such as %s: what the subjects look like is not known, and how well the template fits them",
			text.Counted(len(absent), "meshes are"), absent[0])
		s.Subjects = make([][]*mesh.Mesh, len(s.Names))
	}
	try.FailIf(s.Kind != Atlas && subjects != 1, "%s: %d subjects, a %s has 1: make a study of each", dataSet, subjects, s.Kind)
}

// beside returns the path of a file that another file names.
func beside(file, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(file), name)
}

// deformetricaGaussian is exp(−r²/w²).
func deformetricaGaussian(w float64) kernels.Kernel { return kernels.Gaussian(w / math.Sqrt2) }

// readPoints reads points as numbers, one point per line, perhaps after a line with the numbers of a header.
func readPoints(path string, d int, header ...float64) [][]float64 {
	f := try.Get(input.Open(path))
	defer f.Close()
	in := text.NewReader(f, path)
	var points [][]float64
	for line := range in.Lines() {
		var x []float64
		for _, w := range strings.Fields(line) {
			v, err := text.Number(w)
			if err != nil {
				try.Do(in.Errorf("%v", err))
			}
			x = append(x, v)
		}
		switch {
		case len(x) == 0:
			continue
		case points == nil && slices.Equal(x, header):
			points = [][]float64{}
			continue
		case len(x) != d:
			try.Do(in.Errorf("%d numbers, a control point has %d", len(x), d))
		}
		points = append(points, x)
	}
	try.FailIf(len(points) == 0, "%s: no control points", path)
	return points
}

// resultFile matches the results of a finished atlas: those of Deformetrica 3, such as Atlas_Momentas.txt, and 4, such as
// DeterministicAtlas__EstimatedParameters__Template_skull.vtk.
var resultFile = regexp.MustCompile(`(?i)_(momenta|controlpoints|template)s?(?:_(.*))?\.(?:txt|vtk|vtp|ply|obj)$`)

// resultsOf returns the files of a finished atlas in a folder or in its folder output, by what they are; nil without momenta and control points.
func resultsOf(folder string) map[string]string {
	for _, folder := range []string{filepath.Join(folder, "output"), folder} {
		entries, found := []os.DirEntry(nil), map[string]string{}
		entries, _ = os.ReadDir(folder)
		for _, e := range entries {
			if match := resultFile.FindStringSubmatch(e.Name()); match != nil {
				found[strings.TrimSpace(strings.ToLower(match[1])+" "+match[2])] = filepath.Join(folder, e.Name())
			}
		}
		if found["momenta"] != "" && found["controlpoints"] != "" {
			return found
		}
	}
	return nil
}

// readMomenta reads the momenta of subjects as numbers, one control point per line, perhaps after a line with the numbers of subjects, of control
// points and of coordinates.
func readMomenta(path string, controls [][]float64, subjects int) []geom.Shape {
	n, d := len(controls), len(controls[0])
	p := readPoints(path, d, float64(subjects), float64(n), float64(d))
	try.FailIf(len(p) != subjects*n, "%s: %d vectors, and there are %d control points of %s", path, len(p), n,
		text.Counted(subjects, "subjects"))
	return slices.Collect(slices.Chunk(geom.Shape(p), n))
}

// names of the files of a study, as its documentation and its users spell them.
var (
	modelNames        = []string{"model.xml"}
	dataSetNames      = []string{"data_set.xml", "data-set.xml", "dataset.xml"}
	optimizationNames = []string{"optimization_parameters.xml", "optimization-parameters.xml"}
)

// firstFile returns the path of the first of the files that is in the folder, "" for none.
func firstFile(folder string, names []string) string {
	for _, name := range names {
		path := filepath.Join(folder, name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}
