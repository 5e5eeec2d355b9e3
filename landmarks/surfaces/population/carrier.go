package population

import (
	"fmt"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/dense"
	"anatomy/internal/lists"
	"anatomy/kernels"
	"anatomy/landmarks/internal/text"
	"anatomy/landmarks/surfaces/mesh"
)

// carrier takes the landmarks of a template to subjects.
type carrier struct {
	*matcher
	template int
	marks    [][]float64
	objects  []int        // that each landmark lies on
	reach    *mat.Dense   // the derivatives of the places of landmarks by the variables, [size, L·D]
	subjects []int        // that it is matched to
	gramOf   *engine.Func // the matrix of the kernel of the deformations between points
}

func (m Model) newCarrier(template int, marks, controls [][]float64, surfaces []*located) *carrier {
	c := &carrier{template: template, marks: marks}
	var subjects [][]*mesh.Mesh
	for i, s := range surfaces {
		if s != nil && i != template {
			c.subjects, subjects = append(c.subjects, i), append(subjects, s.objects)
		}
	}
	text.RefuseIf(subjects == nil, "give others", "there is no subject that it can be matched to")
	shape := surfaces[template]
	c.matcher = m.newMatcher(shape.objects, controls, subjects, outwards(shape.objects))
	c.objects = lists.Each(marks, shape.object)
	c.reachMarks()
	kernel := kernels.Exact(m.Space.Manifold.Kernel)
	c.gramOf = engine.Compile(func(x *Node) *Node { return kernel.Gram(x, x) })
	return c
}

// reachMarks sets reach.
func (c *carrier) reachMarks() {
	momenta, d := c.Space.Manifold.Dim(), c.Space.Manifold.D
	c.reach = mat.NewDense(momenta+c.pose.size(), len(c.marks)*d, nil)
	c.reach.Slice(0, momenta, 0, len(c.marks)*d).(*mat.Dense).Copy(c.everyCoordinate(c.kernelBetween(c.marks)).T())
	for l, y := range c.marks {
		for k, v := range c.pose.derivatives(y) {
			for a := range d {
				c.reach.Set(momenta+k, l*d+a, v[a])
			}
		}
	}
}

// parts is how many of the errors errs of landmarks are independent in the tangents of the template: (tr C)²/tr C² of their correlations C.
func (c *carrier) parts(errs *mat.Dense, s *located) float64 {
	d, size := c.Space.Manifold.D, len(c.marks)
	k := d - 1
	tangents := mat.NewDense(size*k, size*d, nil)
	for l, x := range c.marks {
		_, along := s.locators[c.objects[l]].Nearest(x)
		for b, t := range along {
			for a, v := range t {
				tangents.Set(l*k+b, l*d+a, v)
			}
		}
	}
	var within mat.Dense
	within.Product(tangents, errs, tangents.T())
	own := make([]float64, size) // variances of landmarks
	for i := range size * k {
		own[i/k] += within.At(i, i) / float64(k)
	}
	squares := 0.0
	for i := range size * k {
		for j := range size * k {
			squares += within.At(i, j) * within.At(i, j) / (own[i/k] * own[j/k])
		}
	}
	return float64(size*k) * float64(size*k) / squares
}

// placeAll matches the template to all subjects and moves the landmarks there. With the noise estimated, it matches them roughly until the
// estimate holds.
func (c *carrier) placeAll(surfaces []*located, opts []solve.Option) *matches {
	const holds, rough = 0.05, 0.05 // of the logarithm of w; the tolerance
	last := try.Get(limits(0.01).With(opts...)).Tolerance
	tolerance := math.Max(rough, last)
	var noise []float64
	var reach, known, change float64
	settled := !c.estimatesNoise()
	for renewal := 0; ; renewal++ {
		done := settled || renewal == maxRenewals
		if done {
			tolerance = last
		}
		c.hold()
		c.match(fmt.Sprintf("matches of template %d to %d subjects", c.template, len(c.subjects)), lists.Range(len(c.subjects)), append(slices.Clone(opts), solve.Tolerance(tolerance)))
		if noise, reach, known, change = c.estimate(); done {
			break
		}
		settled = change < holds
		for o := range c.sigma {
			c.sigma[o] = math.Min(math.Max(noise[o]/reach, c.sigma[o]/2), c.sigma[o]*2)
		}
	}
	errs := c.errors(reach)
	of := &matches{placed: make([][]PlacedLandmark, len(surfaces)), mismatch: slices.Repeat([]float64{math.NaN()}, len(surfaces)),
		noise: noise, reach: reach, known: known, far: slices.Repeat([]float64{math.NaN()}, len(surfaces)), parts: c.parts(errs, surfaces[c.template])}
	total, count := 0.0, 0.0
	for _, e := range c.ends {
		if e != nil {
			total, count = total+e.energy, count+1
		}
	}
	for k, i := range c.subjects {
		if c.ends[k] == nil {
			fail(&of.failures, i, -1, "it was not matched: the search from template %d found no finite distance", c.template)
			continue
		}
		if c.status[k] != geom.Converged {
			fail(&of.failures, i, -1, "the match of template %d %s", c.template, c.status[k])
		}
		of.mismatch[i] = 0
		of.far[i] = c.ends[k].energy * count / math.Max(total, math.SmallestNonzeroFloat64)
		for o, square := range c.sizes(k) {
			of.mismatch[i] += c.ends[k].mismatch[o] / square
		}
		if err := try.Run(func() { of.placed[i] = c.place(k, surfaces[i], reach, errs) }); err != nil {
			fail(&of.failures, i, -1, "the landmarks of template %d could not be placed: %v", c.template, err)
		}
	}
	return of
}

// estimate returns σ of every object, ρ and γ, see Atlas, from the matches to all subjects, of which the template takes no degrees of
// freedom, and the largest logarithm of a change of σ/ρ.
func (c *carrier) estimate() (noise []float64, reach, known, change float64) {
	left, known := c.hessian.countParts(c.weights(), c.posterior)
	n, energy := 0.0, 0.0
	noise, squares := make([]float64, len(c.sigma)), make([]float64, len(c.sigma))
	for k, e := range c.ends {
		if e != nil {
			n++
			energy += e.energy
			floats.Add(noise, e.mismatch)
			floats.Add(squares, c.sizes(k))
		}
	}
	const none, share = 1e-3, 0.1 // see estimateNoise
	unit := c.spacing() * c.spacing() / c.hessian.kernel.At(0, 0)
	reach = math.Sqrt((2*energy + none*unit) / (n*known + none))
	for o, sigma := range c.sigma {
		parts := c.hessian.parts(o)
		text.RefuseIf(c.Objects[o].Noise == 0 && left[o] < share*parts, "give Noise, or take a wider kernel of the deformations or a narrower one of the norm",
			"%s cannot be estimated: of %.0f independent parts of a residual, deformations leave %.0f", c.Label("the noise", o), parts, left[o])
		// Rounding bounds σ from below, as where all subjects are the template.
		noise[o] = math.Sqrt(math.Max(noise[o], 1e-8*squares[o]) / (n * left[o]))
		if c.Objects[o].Noise > 0 {
			noise[o] = sigma * reach
		} else {
			change = math.Max(change, math.Abs(math.Log(noise[o]/reach/sigma)))
		}
	}
	return noise, reach, known, change
}

// place moves the landmarks, whose errors have the covariance errs over ρ², to subject k.
func (c *carrier) place(k int, s *located, reach float64, errs *mat.Dense) []PlacedLandmark {
	momenta := len(c.x[k]) - c.pose.size()
	g := try.Get(c.Space.With(geom.FixedSteps).Shoot(c.controls, c.Space.FromFlat(c.x[k][:momenta])))
	flow := try.Get(c.Space.Deform(g, c.marks))
	stretch := try.Get(flow.LogJacobians())
	d, pose := c.Space.Manifold.D, c.pose.at(c.x[k][momenta:])
	out := make([]PlacedLandmark, len(c.marks))
	for l := range c.marks {
		var covariance, frame mat.Dense
		covariance.Scale(reach*reach*pose.Scale*pose.Scale, errs.Slice(l*d, (l+1)*d, l*d, (l+1)*d))
		frame.Mul(pose.rotation(), dense.Rows(flow.Jacobian[l]))
		covariance.Product(&frame, &covariance, frame.T())
		end := pose.Move(flow.Images[l])
		point, tangents := s.locators[c.objects[l]].Nearest(end)
		out[l] = PlacedLandmark{Point: point, Covariance: inTangent(&covariance, tangents), Gap: floats.Distance(point, end, 2), Stretch: stretch[l]}
	}
	return out
}

// inTangent is the part of a covariance in the plane or on the line of orthonormal tangents.
func inTangent(covariance mat.Matrix, tangents [][]float64) [][]float64 {
	t := dense.Rows(tangents)
	var projection, out mat.Dense
	projection.Mul(t.T(), t)
	out.Product(&projection, covariance, &projection)
	return dense.List(&out)
}
