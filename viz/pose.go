package viz

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom/try"
)

// camera looks at the origin from azimuth (about z, from x towards y) and elevation, in radians, without perspective. Before it looks it turns
// points to the rows of pose, unless this is 0.
type camera struct {
	azimuth, elevation float64
	pose               [3][3]float64
}

// view turns p into the camera's frame: right, up, and towards the camera.
func (c camera) view(p []float64) []float64 {
	if x := [3]float64(p); c.posed() {
		p = []float64{dot3(c.pose[0], x), dot3(c.pose[1], x), dot3(c.pose[2], x)}
	}
	sa, ca := math.Sincos(c.azimuth)
	se, ce := math.Sincos(c.elevation)
	return []float64{
		-sa*p[0] + ca*p[1],
		-se*ca*p[0] - se*sa*p[1] + ce*p[2],
		ce*ca*p[0] + ce*sa*p[1] + se*p[2],
	}
}

// back undoes what view does after the pose.
func (c camera) back(p []float64) []float64 {
	sa, ca := math.Sincos(c.azimuth)
	se, ce := math.Sincos(c.elevation)
	return []float64{
		-sa*p[0] - se*ca*p[1] + ce*ca*p[2],
		ca*p[0] - se*sa*p[1] + ce*sa*p[2],
		ce*p[1] + se*p[2],
	}
}

func (c camera) posed() bool { return c.pose != [3][3]float64{} }

// pose turns a figure in space to the main axes of a body, given by its points: x is the longest and z the next one. An axis leads to the side
// where the points reach farther, so that bodies of one form in other poses are seen alike; the shortest is that for which the picture is no
// mirror image. Camera is then about these axes. Points in the plane change nothing.
func (f *Figure) pose(points [][]float64) *Figure {
	if err := try.Run(func() { checkPoints("pose", points) }); err != nil {
		f.err = err
	}
	if f.err != nil || len(points[0]) != 3 || len(points) < 2 {
		return f
	}
	x := mat.NewDense(len(points), 3, nil)
	for i, p := range points {
		x.SetRow(i, p)
	}
	var found stat.PC
	if !found.PrincipalComponents(x, nil) {
		return f
	}
	var axes, along mat.Dense
	found.VectorsTo(&axes)
	if _, n := axes.Dims(); n < 3 { // two points span no more
		return f
	}
	along.Mul(x, &axes)
	for k, row := range []int{0, 2} {
		sign := math.Copysign(1, stat.Skew(mat.Col(nil, k, &along), nil))
		for j := range 3 {
			f.camera.pose[row][j] = sign * axes.At(j, k)
		}
	}
	a, b := f.camera.pose[2], f.camera.pose[0]
	f.camera.pose[1] = [3]float64{a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]}
	return f
}

// Views are the sides from which figures show a body in space.
type Views []view

// A view is a side with its name: of an axis of the coordinates, or of a main axis of the body.
type view struct {
	name               string
	main               bool
	azimuth, elevation float64 // degrees
}

// sides are the azimuth and the elevation from which one looks against the direction of an axis; z is above x and y, and y above x.
var sides = map[string][2]float64{"x": {0, 0}, "-x": {180, 0}, "y": {90, 0}, "-y": {-90, 0}, "z": {-90, 90}, "-z": {-90, -90}}

// mainAxes are those of pose: the longest, the second and the shortest axis of a body.
var mainAxes = strings.NewReplacer("1", "x", "2", "z", "3", "y")

// anatomical are the sides of a body that is longer than high and higher than wide.
var anatomical = map[string]string{"lateral": "-3", "dorsal": "2", "ventral": "-2", "frontal": "1", "posterior": "-1"}

// ParseViews reads sides with their names, "lateral: -y, dorsal: z": x, y and z are the axes of the coordinates, 1, 2 and 3 the main axes of the
// body from the longest on, and the reader is where the axis leads. A side may have no name. The names lateral, dorsal, ventral, frontal and
// posterior stand for main axes, which the title names, where no side is given. The empty text is the two longest sides of a body.
func ParseViews(text string) (all Views, err error) {
	for part := range strings.SplitSeq(cmp.Or(text, "along main axis 3: -3, along main axis 2: 2"), ",") {
		name, side, _ := strings.Cut(part, ":")
		name, side = strings.TrimSpace(name), strings.TrimSpace(side)
		if main := anatomical[strings.ToLower(name)]; side == "" && main != "" { // a wide or flat body may lie otherwise: the title says what was taken
			name, side = name+" (main axis "+strings.TrimPrefix(main, "-")+")", main
		}
		side = cmp.Or(side, name)
		axis := mainAxes.Replace(side)
		at, known := sides[axis]
		if !known {
			return nil, fmt.Errorf("the view %q: want lateral, dorsal, ventral, frontal or posterior, which are seen along main axes of the body, "+
				"or a name with a direction towards the reader, such as left: -y; there are x, y and z, and 1, 2 and 3 for the main axes", clipped(part, 60))
		}
		all = append(all, view{name, axis != side, at[0], at[1]})
	}
	return all, nil
}

// Of returns a figure as it is seen from these sides of a body, given by its points, with their names in the titles. A figure in the plane has one
// side.
func (v Views) Of(f *Figure, body [][]float64) (all []*Figure) {
	if len(body) == 0 || len(body[0]) != 3 {
		return []*Figure{f}
	}
	for _, side := range v {
		own := *f
		if side.main {
			own.pose(body)
		}
		title := strings.TrimPrefix(f.title+", "+side.name, ", ")
		all = append(all, own.Camera(side.azimuth, side.elevation).Title(title))
	}
	return all
}
