package viz

import (
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
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

// Pose turns a figure in space to the main axes of a body, given by its points: x is the longest and z the next one. An axis leads to the side
// where the points reach farther, so that bodies of one form in other poses are seen alike; the shortest is that for which the picture is no
// mirror image. Camera is then about these axes. Points in the plane change nothing.
func (f *Figure) Pose(points [][]float64) *Figure {
	if err := checkPoints("pose", points); err != nil {
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

// Sides returns the figure as it is seen from two sides of a body, given by its points: along its shortest main axis, and along the second one,
// from above. A figure in the plane has one side.
func (f *Figure) Sides(points [][]float64) []*Figure {
	if len(points) == 0 || len(points[0]) != 3 {
		return []*Figure{f}
	}
	side, above := *f, *f
	side.Pose(points).Camera(-90, 0)
	above.Pose(points).Camera(-90, 90).Title("from above")
	return []*Figure{&side, &above}
}
