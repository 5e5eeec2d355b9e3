package morpho

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/spatial/r3"

	"anatomy/geom/shape"
	"anatomy/geom/try"
	"anatomy/internal/dense"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/pointset"
	"anatomy/landmarks/internal/text"
	"anatomy/landmarks/morpho/files"
)

// Corrections are what is done about defects of data, in a line each as the options of the program have it. Names of specimens and pairs stand with
// semicolons between them.
type Corrections struct {
	Without          string `json:"without,omitempty"`           // specimens that are left out: "a; b"
	Mirror           string `json:"mirror,omitempty"`            // specimens whose mirror images are taken
	Exchange         string `json:"exchange,omitempty"`          // landmarks that are in each other's place: "a=3,7; b=F-3,F-8"
	Landmarks        string `json:"landmarks,omitempty"`         // that are taken; all where it is empty: "1-12, nasion"
	WithoutLandmarks string `json:"without_landmarks,omitempty"` // that are left out of all specimens: "3, 7-9"
	Units            string `json:"units,omitempty"`             // of the data set, and of specimens that have another one: "mm; a=in"
	Measured         bool   `json:"measured,omitempty"`          // see Dataset.Measured
}

// Corrected returns the data set with the corrections, in the order of their fields; the data set itself does not change. It is an error, which says
// the name most like it, if a specimen is not there, if a landmark is not, or if a unit or that of the data set is not known.
func (d *Dataset) Corrected(c Corrections) (out *Dataset, err error) {
	defer try.Catch(&err)
	refuse := func(err error) { try.Do(try.Name(err, "%s", d.Name)) }
	copied := *d
	out = &copied
	out.Specimens = slices.Clone(d.Specimens)
	out.Measured = d.Measured || c.Measured
	for _, name := range d.specimenNames(c.Mirror) {
		s := out.at(name)
		s.Points = mirrored(s.Points)
	}
	for _, pair := range d.assignments(c.Exchange, "exchange", "3,7") {
		s := out.at(pair[0])
		l, err := d.ParseLandmarks(pair[1])
		if refuse(try.Name(err, "exchange in %s", text.Clip(pair[0]))); len(l) != 2 || l[0] == l[1] {
			refuse(text.Advise("write SPECIMEN=LANDMARK,LANDMARK", "exchange: %s are not two landmarks", text.Clip(pair[1])))
		}
		s.Points = slices.Clone(s.Points)
		s.Points[l[0]], s.Points[l[1]] = s.Points[l[1]], s.Points[l[0]]
	}
	unit, others := splitUnits(c.Units)
	out.Unit = cmp.Or(unit, d.Unit)
	for _, pair := range d.assignments(others, "unit", "mm") {
		factor := lengths[pair[1]] / lengths[out.Unit]
		if !(factor > 0) || math.IsInf(factor, 0) {
			known := slices.Sorted(maps.Keys(lengths))
			refuse(text.Advise("name the unit of the data set too, as --unit mm; units are "+strings.Join(known, ", "),
				"the specimen %s is to have the unit %s, and the others have %s", text.Clip(pair[0]), text.Clip(pair[1]), text.Clip(out.Unit)))
		}
		s := out.at(pair[0])
		s.Points = (Similarity{factor, lists.Identity(len(s.Points[0])), make([]float64, len(s.Points[0]))}).Apply(s.Points)
	}
	if c.Landmarks+c.WithoutLandmarks != "" {
		dropped, err := d.ParseLandmarks(c.WithoutLandmarks)
		refuse(try.Name(err, "without landmarks"))
		kept, err := d.ParseLandmarks(c.Landmarks)
		refuse(try.Name(err, "landmarks"))
		for l := range d.Specimens[0].Points {
			if c.Landmarks != "" && !slices.Contains(kept, l) {
				dropped = append(dropped, l)
			}
		}
		out = out.WithoutLandmarks(dropped...)
	}
	if names := d.specimenNames(c.Without); len(names) > 0 {
		if out = out.Without(names...); len(out.Specimens) == 0 {
			refuse(text.Advise("keep some", "all specimens are left out"))
		}
		out.note("left out: %s", text.Names(names))
	}
	for _, done := range [][2]string{{"mirrored", c.Mirror}, {"with two landmarks exchanged", c.Exchange},
		{"converted from another unit", strings.TrimSpace(others)}} {
		if done[1] != "" {
			out.note("%s: %s", done[0], done[1])
		}
	}
	return out, nil
}

// lengths are those of units, in metres.
var lengths = map[string]float64{"m": 1, "cm": 1e-2, "mm": 1e-3, "µm": 1e-6, "um": 1e-6, "nm": 1e-9, "in": 0.0254, "inch": 0.0254, "ft": 0.3048}

// splitUnits takes the unit of the data set out of a line of units.
func splitUnits(line string) (unit, others string) {
	var left []string
	for _, part := range strings.Split(line, ";") {
		name := strings.TrimSpace(part)
		if _, known := lengths[name]; name != "" && (known || !strings.Contains(line, "=")) {
			unit = name
		} else if name != "" {
			left = append(left, part)
		}
	}
	return unit, strings.Join(left, ";")
}

// at is the specimen of a name that is there.
func (d *Dataset) at(name string) *Specimen { return &d.Specimens[slices.Index(d.Names(), name)] }

// mirrored is the mirror image of a shape at the plane in which its first coordinate is that of the centroid.
func mirrored(x [][]float64) [][]float64 {
	out, middle := slices.Clone(x), shape.Shape(x).Centroid()[0]
	for l, p := range x {
		out[l] = append([]float64{2*middle - p[0]}, p[1:]...)
	}
	return out
}

// specimenNames reads names with semicolons between; a name may have semicolons itself, and a backslash before one counts for nothing.
func (d *Dataset) specimenNames(line string) (names []string) {
	all := d.Names()
	parts := strings.Split(strings.ReplaceAll(line, `\;`, ";"), ";")
	for from := 0; from < len(parts); {
		to := len(parts)
		for to > from+1 && !slices.Contains(all, strings.TrimSpace(strings.Join(parts[from:to], ";"))) {
			to--
		}
		if name := strings.TrimSpace(strings.Join(parts[from:to], ";")); slices.Contains(all, name) {
			names = append(names, name)
		} else if name != "" {
			try.Do(d.none("specimen", name, all))
		}
		from = to
	}
	return names
}

// assignments reads SPECIMEN=VALUE with semicolons between.
func (d *Dataset) assignments(line, what, value string) (pairs [][2]string) {
	for rest := strings.ReplaceAll(line, `\;`, ";"); strings.TrimSpace(rest) != ""; {
		rest = strings.TrimLeft(rest, "; ")
		best := ""
		for _, s := range d.Specimens {
			if after, is := strings.CutPrefix(rest, s.Name); is && strings.HasPrefix(strings.TrimSpace(after), "=") && len(s.Name) > len(best) {
				best = s.Name
			}
		}
		name, after, is := strings.Cut(rest[len(best):], "=")
		if best == "" && is {
			try.Do(d.none("specimen", strings.TrimSpace(name), d.Names()))
		} else if !is {
			try.Do(try.Name(text.Advise("write SPECIMEN="+value, "%s: %s names no specimen", what, text.Clip(rest)), "%s", d.Name))
		}
		var found string
		found, rest, _ = strings.Cut(after, ";")
		pairs = append(pairs, [2]string{best, strings.TrimSpace(found)})
	}
	return pairs
}

// quoted is a word for a command line, of a shell or of Windows.
func quoted(word string) string {
	switch {
	case !strings.ContainsFunc(word, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.,/:=+", r)
	}):
		return word
	case !strings.ContainsAny(word, "\"$`\\!%"):
		return `"` + word + `"`
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Without returns the data set without the specimens of these names; the points are shared. It panics, listing the names that
// there are, if one is not there.
func (d *Dataset) Without(names ...string) *Dataset {
	for _, name := range names {
		if !slices.Contains(d.Names(), name) {
			panic(d.none("specimen", name, d.Names()))
		}
	}
	return d.where(func(s Specimen) bool { return !slices.Contains(names, s.Name) })
}

// WithoutLandmarks returns the data set without the landmarks of these numbers, which count from 0. The other landmarks keep their names and numbers
// as Labels. Links and Sliders that use a landmark left out are dropped, and so are Curves; Notes lists the landmarks. The coordinates are shared
// with d. It panics if a specimen has no such landmark.
func (d *Dataset) WithoutLandmarks(landmarks ...int) *Dataset {
	if len(landmarks) == 0 {
		return d
	}
	out := *d
	out.Specimens = slices.Clone(d.Specimens)
	most := 0
	for i, s := range d.Specimens {
		most = max(most, len(s.Points))
		for _, l := range landmarks {
			if l < 0 || l >= len(s.Points) {
				panic(fmt.Errorf("%s: %w", d.Name, text.Advise(fmt.Sprintf("it has %d, in Go counted from 0", len(s.Points)),
					"%s has no landmark %d", d.specimen(i), l)))
			}
		}
		out.Specimens[i].Points = dropped(s.Points, landmarks)
	}
	out.Labels, out.Curves = dropped(lists.Make(most, d.Landmark), landmarks), nil
	out.dropChains(landmarks)
	out.note("left out: %s", d.Called(slices.Compact(slices.Sorted(slices.Values(landmarks)))...))
	return &out
}

// dropped returns x without the elements of these numbers.
func dropped[E any](x []E, numbers []int) (out []E) {
	for i, e := range x {
		if !slices.Contains(numbers, i) {
			out = append(out, e)
		}
	}
	return out
}

// Distinct returns the data set without landmarks that coincide with an earlier one in every specimen of these names, of all where none are
// given; Notes say which. No deformation parts such landmarks or brings them together, so that the manifold of landmarks has no exact
// geodesics to and from these shapes. It panics, listing the names that there are, if one is not there.
func (d *Dataset) Distinct(names ...string) *Dataset {
	shapes := d.Shapes()
	where := "every specimen"
	if len(names) > 0 {
		where = text.Listed(names)
		shapes = lists.Each(names, d.Shape)
	}
	out := *d
	var second []int
	for _, pair := range coincident(shapes...) {
		out.note("%s coincides with %s in %s: it is left out", out.Called(pair[1]), out.Landmark(pair[0]), where)
		second = append(second, pair[1])
	}
	return out.WithoutLandmarks(second...)
}

// coincident returns the pairs of landmarks that are in one place in each of the shapes: every landmark that stands where an earlier one
// does, with the first of these. Missing landmarks are nowhere.
func coincident(shapes ...shape.Shape) (pairs [][2]int) {
	if len(shapes) == 0 {
		return nil
	}
	first := map[string]int{} // landmark in its places in all shapes
	for l := range shapes[0] {
		var place []byte
		missing := false
		for _, x := range shapes {
			missing = missing || l >= len(x) || slices.ContainsFunc(x[l], math.IsNaN)
			for c := 0; !missing && c < len(x[l]); c++ {
				place = binary.LittleEndian.AppendUint64(place, math.Float64bits(x[l][c]+0)) // −0 is 0
			}
		}
		if missing {
			continue
		}
		if earlier, taken := first[string(place)]; taken {
			pairs = append(pairs, [2]int{earlier, l})
		} else {
			first[string(place)] = l
		}
	}
	return pairs
}

// Scale returns a copy with every coordinate multiplied by f, but for landmarks at a usual code of a missing one, which stay as they are
// (see CheckCodes). Its Unit is empty: the numbers no longer count the old one.
func (d *Dataset) Scale(f float64) *Dataset {
	out := *d
	out.Unit = ""
	out.Specimens = slices.Clone(d.Specimens)
	for i, s := range d.Specimens {
		out.Specimens[i].Points = lists.Each(s.Points, func(p []float64) []float64 {
			p = slices.Clone(p)
			if !files.AtCode(p) { // multiplied, nothing could tell it from coordinates
				floats.Scale(f, p)
			}
			return p
		})
	}
	return &out
}

// FixJoint returns a copy in which a moving part of each specimen, such as a jaw, is rotated about its joint to the same angle in all specimens.
// What still differs is the shape of the parts, not how far the mouth is open (D. Adams, Methods for shape analysis of landmark data from
// articulated structures, Evol. Ecol. Research 1, 1999). Arguments are numbers of landmarks from 0; Notes says what was done. The joint is
//
//   - a landmark in the plane, or two landmarks in space on the axis of a hinge. The angle from the centroid of the resting part to that of the
//     moving part, seen along the axis, becomes its mean over the specimens;
//   - one landmark in space, about which the part turns in all directions. Rotations about the joint bring the resting parts to their mean, and
//     then the moving parts to theirs, so that the chordal mean of the latter rotations is the identity (M. Moakher, SIAM J. Matrix Anal. Appl.
//     24, 2002).
//
// It is an error if a landmark is missing, does not exist or is listed twice; if the position of a part is not determined, because its centroid is
// on the axis or its landmarks are collinear with a joint in space; and if a part is more than a quarter turn from the mean position, as those of
// mirrored specimens are at a hinge.
func (d *Dataset) FixJoint(joint, resting, moving []int) (_ *Dataset, err error) {
	defer try.Named(&err, "articulation of %s", d.Name)
	n, dim := d.preshapes(d.Shapes())[0].points.Dims()
	seen := map[int]bool{}
	for _, l := range slices.Concat(joint, resting, moving) {
		try.FailIf(l < 0 || l >= n || seen[l], "%s is listed twice, or is not of %s to %s", d.Called(l), d.Landmark(0), d.Landmark(n-1))
		seen[l] = true
	}
	try.FailIf(len(resting) == 0 || len(moving) == 0, "a part has no landmarks: list at least one for each part")
	out := *d
	out.Specimens = slices.Clone(d.Specimens)
	for i, s := range d.Specimens {
		out.Specimens[i].Points = slices.Clone(s.Points)
	}
	switch {
	case len(joint) == 1 && dim == 3:
		out.fixPose(joint[0], resting, moving)
	case len(joint) == dim-1:
		out.fixAngle(joint, resting, moving)
	default:
		try.Fail("the joint is at %d landmarks: want one, or in space two on its axis", len(joint))
	}
	return &out, nil
}

const quarter = math.Pi / 2

// fixAngle does so with a hinge, in place.
func (d *Dataset) fixAngle(joint, resting, moving []int) {
	vector := func(p []float64) r3.Vec {
		p = append(slices.Clone(p), 0)
		return r3.Vec{X: p[0], Y: p[1], Z: p[2]}
	}
	angles, axes, sum := make([]float64, len(d.Specimens)), make([]r3.Vec, len(d.Specimens)), r3.Vec{}
	for i, s := range d.Specimens {
		at, size := vector(s.Points[joint[0]]), CentroidSize(s.Points)
		axes[i] = r3.Vec{Z: 1}
		if len(joint) == 2 {
			axis := r3.Sub(vector(s.Points[joint[1]]), at)
			try.FailIf(r3.Norm(axis) <= 1e-9*size, "%s: both landmarks of the axis coincide", d.specimen(i))
			axes[i] = r3.Unit(axis)
		}
		var off [2]r3.Vec
		for k, part := range [][]int{resting, moving} {
			off[k] = r3.Sub(vector(lists.Pick(s.Points, part).Centroid()), at)
			off[k] = r3.Sub(off[k], r3.Scale(r3.Dot(off[k], axes[i]), axes[i]))
			try.FailIf(r3.Norm(off[k]) <= 1e-9*size, "%s: a part has its centroid on the axis of the joint", d.specimen(i))
		}
		angles[i] = math.Atan2(r3.Dot(axes[i], r3.Cross(off[0], off[1])), r3.Dot(off[0], off[1]))
		sum = r3.Add(sum, r3.Vec{X: math.Cos(angles[i]), Y: math.Sin(angles[i])})
	}
	mean, centre := 0.0, math.Atan2(sum.Y, sum.X)
	for i, angle := range angles {
		off := math.Remainder(angle-centre, 2*math.Pi)
		try.FailIf(math.Abs(off) > quarter, "%s has the angle %.0f° and the mean is %.0f°: is it mirrored?",
			d.specimen(i), degrees(angle), degrees(centre))
		angles[i] = off
		mean += off / float64(len(angles))
	}
	for i, s := range d.Specimens {
		at, turn := vector(s.Points[joint[0]]), r3.NewRotation(mean-angles[i], axes[i])
		for _, l := range moving {
			p := r3.Add(at, turn.Rotate(r3.Sub(vector(s.Points[l]), at)))
			s.Points[l] = []float64{p.X, p.Y, p.Z}[:len(s.Points[l])]
		}
	}
	about := d.Called(joint...)
	if len(joint) == 2 {
		about = "the axis of the " + about
	}
	d.note("%s: rotated about %s to the mean angle of %.1f°", d.Called(moving...), about, degrees(math.Remainder(centre+mean, 2*math.Pi)))
}

func degrees(angle float64) float64 { return angle * 180 / math.Pi }

// fixPose does so with a joint that turns in all directions, in place.
func (d *Dataset) fixPose(joint int, resting, moving []int) {
	seen := func(part []int) (out []*mat.Dense) { // from the joint
		for _, s := range d.Specimens {
			x := mat.NewDense(len(part), 3, nil)
			for k, l := range part {
				floats.SubTo(x.RawRowView(k), s.Points[l], s.Points[joint])
			}
			out = append(out, x)
		}
		return out
	}
	frames, err := d.turns(seen(resting))
	try.Do(try.Name(err, "the part at rest"))
	parts := seen(moving)
	for i, x := range parts {
		x.Mul(x, frames[i].T())
	}
	turns, err := d.turns(parts)
	try.Do(try.Name(err, "the moving part"))
	most := 0.0
	for i, s := range d.Specimens {
		angle := math.Acos(max(-1, min(1, (mat.Trace(turns[i])-1)/2)))
		try.FailIf(angle > quarter, "%s: its part is set %.0f° off the mean: are its landmarks in order?", d.specimen(i), degrees(angle))
		most = max(most, angle)
		parts[i].Mul(parts[i], turns[i].T())
		parts[i].Mul(parts[i], frames[i])
		for k, l := range moving {
			s.Points[l] = floats.AddTo(make([]float64, 3), s.Points[joint], parts[i].RawRowView(k))
		}
	}
	d.note("%s: rotated about %s to their mean pose, by at most %.1f°", d.Called(moving...), d.Called(joint), degrees(most))
}

// turns returns the rotations about the origin that bring points to their mean, and whose own mean is the identity: those of the points with
// their images on the other side of the origin, which is the centroid of both.
func (d *Dataset) turns(points []*mat.Dense) (out []*mat.Dense, err error) {
	defer try.Catch(&err)
	both := lists.Each(points, func(x *mat.Dense) shape.Shape {
		unit := shape.Shape(slices.Collect(slices.Chunk(x.RawMatrix().Data, 3)))
		if size := mat.Norm(x, 2); size > 0 { // else it is refused: all its landmarks coincide
			unit = unit.Scale(1 / size)
		}
		return append(unit, unit.Scale(-1)...)
	})
	a := try.Get(d.procrustes(both, nil, KeepSize()))
	try.Do(a.Err())
	out = lists.Each(a.Transforms, func(t Similarity) *mat.Dense { return dense.Rows(t.Rotation) })
	ones := slices.Repeat([]float64{1}, len(out))
	common, _ := try.Get2(pointset.Rotation(mat.DenseCopyOf(weightedMean(ones, out).T()), dense.Rows(lists.Identity(3))))
	for _, r := range out {
		r.Mul(common, r)
	}
	return out, nil
}
