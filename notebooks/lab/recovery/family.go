package recovery

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/ode"
	"anatomy/geom/try"
	"anatomy/internal/dense"
	"anatomy/internal/lists"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/population"
	"anatomy/landmarks/surfaces/study"
	"anatomy/notebooks/lab/scanned"
)

// Family is a body with bumps under random smooth deformations, with landmarks that correspond. Each subject's surface is cut out of a
// volume that is turned anew and decimated, so that the vertices do not correspond, and lies in any pose and in 0.8 to 1.2 times the size.
type Family struct {
	Subjects  []*mesh.Mesh
	Landmarks []geom.Shape // of every subject where they truly are, [L][D]
}

// Kin is what families are drawn from. The body is 1.8 long.
type Kin struct {
	Width     float64 // of the Gaussian kernel of the normal velocities
	Deviation float64 // of each coordinate of a velocity
	Side      float64 // of triangles, about
	// The first Others subjects are of the other sex: Larger times as large, and moved by one velocity more, of this Shift of a coordinate, which
	// they have in common.
	Others        int
	Larger, Shift float64
}

// bumpy is negative inside the body, and about the distance.
func bumpy(x []float64) float64 {
	sum := 0.0
	for _, b := range [][5]float64{ // centre, width and weight
		{0, 0, 0, 0.30, 1}, {0.35, 0.05, -0.05, 0.26, 0.9}, {-0.35, -0.08, 0.05, 0.24, 0.9},
		{0.62, 0.3, 0.1, 0.15, 0.7}, {-0.5, 0.25, 0.3, 0.14, 0.8}, {0.05, -0.38, 0.3, 0.15, 0.7}, {-0.6, -0.4, -0.2, 0.14, 0.7},
	} {
		u, v, w := x[0]-b[0], x[1]-b[1], x[2]-b[2]
		sum += b[4] * math.Exp(-(u*u+v*v+w*w)/(2*b[3]*b[3]))
	}
	return -0.2 * math.Log(sum/0.25)
}

// Draw draws a family of subjects with a number of landmarks, which are far from each other on the body.
func (k Kin) Draw(subjects, count int, seed uint64) (_ *Family, err error) {
	defer try.Catch(&err)
	random := rand.New(rand.NewPCG(seed, 3))
	fine := scanned.Surface(bumpy, 60, 0, 1, random)
	try.Get(fine.Clean())
	marks := spread(fine.Vertices, count)
	var controls [][]float64
	for i := range 5 {
		for j := range 4 {
			for k := range 4 {
				controls = append(controls, []float64{0.5 * (float64(i) - 2), 0.5 * (float64(j) - 1.5), 0.5 * (float64(k) - 1.5)})
			}
		}
	}
	space := landmarks.New(len(controls), 3, kernels.Gaussian(k.Width), geom.Integrator(ode.RK4, 10))
	lower := Root(controls, k.Width, 1e-6)
	// draw draws normal numbers z. The momenta K⁻¹v of normal velocities v = Lz are L⁻ᵀz.
	draw := func(deviation float64, random *rand.Rand) *mat.Dense {
		return Normal(random, len(controls), 3, deviation)
	}
	common := draw(k.Shift, rand.New(rand.NewPCG(seed, 4)))
	f := &Family{}
	for s := range subjects {
		z, larger := draw(k.Deviation, random), 1.0
		if s < k.Others {
			z.Add(z, common)
			larger = k.Larger
		}
		var p mat.Dense
		try.Do(p.Solve(lower.T(), z))
		momenta := lists.Make(len(controls), func(i int) []float64 { return mat.Row(nil, i, &p) })
		turn := Rotation(random)
		surface := scanned.Surface(func(x []float64) float64 { return bumpy(Times(turn, x)) }, 36, 0.1, k.Side/(2.4/36), random)
		try.Get(surface.Clean())
		surface = surface.Map(func(x []float64) []float64 { return Times(turn, x) })
		g := try.Get(space.With(geom.FixedSteps).Shoot(controls, momenta))
		path := try.Get(space.Transform(g, slices.Concat(surface.Vertices, marks)))
		end := path[len(path)-1]
		pose, scale, n := Rotation(random), larger*(0.8+0.4*random.Float64()), len(surface.Vertices)
		for i, x := range end {
			end[i] = Times(pose, floats.ScaleTo(make([]float64, 3), scale, x))
		}
		f.Subjects, f.Landmarks = append(f.Subjects, surface.With(end[:n:n])), append(f.Landmarks, end[n:])
	}
	return f, nil
}

// Place places the landmarks of the first templates on the other subjects, as the template placed_landmarks does it with a folder. The function that it
// returns places those of some of the templates alone.
func (f *Family) Place(templates int) (s *study.Study, among func(templates ...int) (*population.Placement, error), err error) {
	defer try.Catch(&err)
	folder := try.Get(os.MkdirTemp("", "family"))
	defer os.RemoveAll(folder)
	for i, m := range f.Subjects {
		name := fmt.Sprintf("%02d", i)
		try.Do(mesh.Write(filepath.Join(folder, name+".ply"), m))
		if i < templates {
			d := &morpho.Dataset{Name: name, Unit: "mm", Specimens: []morpho.Specimen{{Name: name, Points: f.Landmarks[i]}}}
			try.Do(morpho.Write(filepath.Join(folder, name+".mrk.json"), d))
		}
	}
	s = try.Get(study.Read(folder))
	try.Do(s.ReadLandmarks(folder))
	try.Do(s.Start(0.8, 0.3, true))
	p := try.Get(s.Place())
	return s, func(templates ...int) (*population.Placement, error) { return s.Among(p, templates...) }, nil
}

// Coverage says how far placed landmarks are from the truth, in the tangent of the subject.
type Coverage struct {
	Named, Wrong    int     // subjects that are among the failures as a whole, and others whose landmarks are far from the truth
	Landmarks       int     // of subjects that are not named
	Half, Most      int     // how many are in their ellipses of 50 and of 95 %
	Error, Expected float64 // sums of the squares of a coordinate of the error, half that of both, and of the standard error, in mean sides of triangles
	Deviation       float64 // the sum of the squares of a coordinate of the error in the unit of its standard error: Landmarks if these are right
}

// Add adds other landmarks.
func (c *Coverage) Add(d Coverage) {
	c.Named, c.Wrong = c.Named+d.Named, c.Wrong+d.Wrong
	c.Landmarks, c.Half, c.Most = c.Landmarks+d.Landmarks, c.Half+d.Half, c.Most+d.Most
	c.Error, c.Expected, c.Deviation = c.Error+d.Error, c.Expected+d.Expected, c.Deviation+d.Deviation
}

// Cover compares the landmarks of subjects with the truth; those of templates as the others place them.
func (f *Family) Cover(p *population.Placement, subjects ...int) Coverage {
	c := Coverage{}
	for _, i := range subjects {
		marks := p.Placed[i]
		if slices.ContainsFunc(p.Failures, func(f population.PlacementFailure) bool { return f.Subject == i && f.Landmark < 0 }) {
			c.Named++
			continue
		}
		side, before := f.Subjects[i].Spacing(), c.Deviation
		for l, mark := range marks {
			// The covariance is of rank 2: the ellipse is that in the plane of its eigenvectors.
			values, vectors, _ := dense.Eigen(dense.Symmetric(dense.Rows(mark.Covariance)))
			off, square := floats.SubTo(make([]float64, 3), f.Landmarks[i][l], mark.Point), 0.0
			for k, v := range values[1:] {
				e := floats.Dot(mat.Col(nil, k+1, vectors), off)
				square += e * e / v
				c.Error += e * e / (2 * side * side)
				c.Expected += v / (2 * side * side)
			}
			c.Landmarks++
			c.Deviation += square / 2
			if math.Sqrt(square) < mark.Radius(0.5) {
				c.Half++
			}
			if math.Sqrt(square) < mark.Radius(0.95) {
				c.Most++
			}
		}
		if c.Deviation-before > 9*float64(len(marks)) {
			c.Wrong++
		}
	}
	return c
}

// spread are points of a set far from each other: each is the farthest from those before.
func spread(points [][]float64, count int) [][]float64 {
	out := points[:1:1]
	far := slices.Repeat([]float64{math.Inf(1)}, len(points))
	for len(out) < count {
		for i, x := range points {
			far[i] = math.Min(far[i], floats.Distance(x, out[len(out)-1], 2))
		}
		out = append(out, points[floats.MaxIdx(far)])
	}
	return out
}
