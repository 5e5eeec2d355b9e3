package main

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/combin"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/ode"
	"anatomy/geom/solve"
	"anatomy/geom/stats/linear"
	"anatomy/geom/tree"
	"anatomy/geom/try"
	"anatomy/internal/dense"
	"anatomy/internal/lists"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/population"
	surfaces "anatomy/landmarks/surfaces/study"
	simulated "anatomy/notebooks/lab/recovery"
)

// kin is a family of species that evolved on a tree: momenta at control points, with an effect of size, which evolves, too, and of a diet, which does not.
type kin struct {
	*tree.Tree
	evolved     []geom.Shape // of all nodes, with the effect of size
	slope, diet geom.Shape
	size        []float64 // of the leaves
	group       []string
	tips        []geom.Shape // momenta of the leaves
}

// plot is how families are drawn: on a lattice of control points about a bent ellipsoid of the half axes 1.3, 1 and 0.8.
var plot = struct {
	width     float64 // of the Gaussian of the deformations, and the distance of control points
	shortest  float64 // of the lengths of edges, of which the rest is exponential with the mean 1
	rate      float64 // variance of each number of a momentum by a unit of the tree's height
	effect    float64 // standard deviation of each number of the momentum of a unit of size, and of the diet
	noise     float64 // of each coordinate of a vertex
	species   int
	latitudes int
}{0.9, 0.5, 0.03 * 0.03, 0.02, 0.005, 12, 7}

// lattice are the control points.
func lattice() (c geom.Shape) {
	for i := range 36 {
		c = append(c, []float64{plot.width * (float64(i%4) - 1.5), plot.width * (float64(i/4%3) - 1), plot.width * (float64(i/12) - 1)})
	}
	return c
}

func newKin(random *rand.Rand) *kin {
	k := &kin{Tree: grown(random, plot.species)}
	floats.AddConst(plot.shortest, k.Length[1:])
	floats.Scale(1/floats.Max(k.Height()), k.Length)
	momentum := func(by float64) geom.Shape { return simulated.Noisy(random, lists.Zeros(len(lattice()), 3), by) }
	k.slope, k.diet = momentum(plot.effect), momentum(plot.effect)
	k.evolved = append(k.evolved, momentum(0))
	sizes := make([]float64, len(k.Parent))
	for i, p := range k.Parent[1:] {
		step := math.Sqrt(k.Length[i+1])
		by := step * random.NormFloat64()
		sizes[i+1] = sizes[p] + by
		k.evolved = append(k.evolved, k.evolved[p].Add(momentum(step*math.Sqrt(plot.rate))).Add(k.slope.Scale(by)))
	}
	for a, i := range random.Perm(plot.species) {
		leaf := k.Leaves()[a]
		k.size, k.group = append(k.size, sizes[leaf]), append(k.group, fmt.Sprint("diet ", i%2))
		k.tips = append(k.tips, k.evolved[leaf].Add(k.diet.Scale(float64(i%2))))
	}
	return k
}

// seen is a family as statistics have it: numbers of the species and of all nodes, and of the momenta of both effects.
type seen struct {
	tips, nodes [][]float64
	slope, diet []float64
}

// unseen are the momenta in the metric of the control points, without errors.
func (k *kin) unseen() *seen {
	lower := simulated.Root(lattice(), plot.width, 0)
	return k.by(func(p geom.Shape) []float64 {
		var scores mat.Dense
		scores.Mul(lower.T(), dense.Rows(p))
		return scores.RawMatrix().Data
	})
}

func (k *kin) by(of func(p geom.Shape) []float64) *seen {
	return &seen{lists.Each(k.tips, of), lists.Each(k.evolved, of), of(k.slope), of(k.diet)}
}

// surfaces are the species as meshes of 140 triangles whose vertices do not correspond, displaced by noise, in any pose or all in one.
func (k *kin) surfaces(random *rand.Rand, turned bool) (out []*mesh.Mesh) {
	space := landmarks.New(len(lattice()), 3, kernels.Gaussian(plot.width), geom.Integrator(ode.RK4, 5), geom.FixedSteps)
	for i, p := range k.tips {
		around, pose := simulated.Rotation(random), simulated.Rotation(random)
		body := mesh.Ellipsoid(1, 1, 1, plot.latitudes, 10).Map(func(x []float64) []float64 {
			y := simulated.Times(around, x)
			return []float64{1.3 * y[0], y[1] * (1 + 0.25*y[0]), 0.8*y[2] + 0.2*y[0]*y[0] + 0.1*y[1]*y[1]*y[1]} // without symmetries
		})
		path := try.Get(space.Transform(try.Get(space.Shoot(lattice(), p)), body.Vertices))
		body = body.With(simulated.Noisy(random, path[len(path)-1], plot.noise))
		if turned && i > 0 {
			body = body.Map(func(x []float64) []float64 { return simulated.Times(pose, x) })
		}
		out = append(out, body)
	}
	return out
}

// atlas estimates an atlas of the surfaces, as make report does. It returns what is visible of the momenta that it found, and of the true ones: how fast they move
// the vertices of the template along their normals, times the root of the area of each; without rigid motions, which a search of poses takes away.
func (k *kin) atlas(bodies []*mesh.Mesh, turned bool) (found, truth *seen, status geom.Status) {
	s := &surfaces.Study{Subjects: population.Single(bodies), Names: lists.Make(len(bodies), func(i int) string { return fmt.Sprint("s", i) }), Aligned: !turned}
	try.Do(s.Start(1, 0.3, false))
	a := try.Get(s.Estimate(solve.Tolerance(0.1)))
	body := a.Template[0]
	normals := lists.Zeros(len(body.Vertices), 3)
	for i, n := range body.Normals() {
		for _, v := range body.Cells[i] {
			floats.Add(normals[v], n)
		}
	}
	var rigid [][]float64
	along := func(field func(x []float64) []float64) []float64 {
		return lists.Make(len(normals), func(v int) float64 {
			return floats.Dot(field(body.Vertices[v]), normals[v]) / math.Sqrt(floats.Norm(normals[v], 2))
		})
	}
	for axis := range 3 {
		b, c := (axis+1)%3, (axis+2)%3
		for _, field := range []func(x []float64) []float64{
			func([]float64) []float64 { e := make([]float64, 3); e[axis] = 1; return e },
			func(x []float64) []float64 { e := make([]float64, 3); e[b], e[c] = -x[c], x[b]; return e },
		} {
			q := along(field)
			for _, r := range rigid {
				floats.AddScaled(q, -floats.Dot(r, q), r)
			}
			floats.Scale(1/floats.Norm(q, 2), q)
			rigid = append(rigid, q)
		}
	}
	visible := func(controls geom.Shape, kernel kernels.Kernel) func(p geom.Shape) []float64 {
		return func(p geom.Shape) []float64 {
			v := try.Get(engine.Run(func(in []*Node) []*Node { return []*Node{kernel.Sum(in[0], in[1], in[2])} }, body.Vertices, controls, p)).Matrix(0)
			i := -1
			q := along(func([]float64) []float64 { i++; return v[i] })
			for _, r := range rigid {
				floats.AddScaled(q, -floats.Dot(r, q), r)
			}
			return q
		}
	}
	truth = k.by(visible(lattice(), kernels.Gaussian(plot.width)))
	return &seen{tips: lists.Each(a.Momenta, visible(a.Controls, s.Model.Space.Manifold.Kernel))}, truth, a.Status
}

// families simulates families and counts how often the truth is where statistics say.
func families(b *bench) {
	b.text("Each line has %d simulated families of %d species on random trees of height 1, whose edges are at least a third of the mean edge long, half of them with each of two diets. Momenta at %d control points evolve by Brownian motion, and change with a size, which evolves, too, and with the diet, which is drawn at random. *Surfaces* are bent ellipsoids of 140 triangles that these momenta deform; their vertices do not correspond and have noise, and an atlas is estimated of each family as `make report` does it. Where *poses are searched*, species are turned at random. Of surfaces only velocities along their normals are known: these are compared with those of the true momenta, at the vertices of the template. *ancestors* are the shares of inner nodes within their radius of 50 and 95 %%, predicted from the species less the effect of the diet; *species left out* are the shares of those within their radius of 95 %%. *size* and *diet* are the shares of families in which the test does not reject the true effect at 5 %%. The rest are means over families, with standard errors: the estimated effect of size along the true one, in units of it, and K and the rate divided by those of the true momenta.", b.families, plot.species, len(lattice()))
	b.header("family", "converged", "ancestors, 50 %", "ancestors, 95 %", "species left out, 95 %", "size", "diet", "effect of size", "K", "rate")
	for _, name := range []string{"momenta", "surfaces in one pose", "surfaces, poses searched"} {
		converged, columns := 0, make([][]float64, 8)
		for n := range b.families {
			random := b.random(n)
			k := newKin(random)
			found, truth, status := k.unseen(), k.unseen(), geom.Converged
			if turned := name == "surfaces, poses searched"; name != "momenta" {
				found, truth, status = k.atlas(k.surfaces(random, turned), turned)
			}
			if status == geom.Converged {
				converged++
			}
			for c, v := range k.assess(found, truth, b.drawing(n)) {
				columns[c] = append(columns[c], v)
			}
		}
		line := fmt.Sprintf("%s | %d of %d", name, converged, b.families)
		for c, all := range columns {
			mean, deviation := stat.MeanStdDev(all, nil)
			if deviation /= math.Sqrt(float64(len(all))); c < 5 {
				line += fmt.Sprintf(" | %.1f ± %.1f %%", 100*mean, 100*deviation)
			} else {
				line += fmt.Sprintf(" | %.3f ± %.3f", mean, deviation)
			}
		}
		b.row("%s", line)
	}
}

// plain is without the effect of the diet, and from the mean of the species, since templates have places of their own; so are nodes.
func (k *kin) plain(rows [][]float64, effect []float64, nodes ...[]float64) (tips, from [][]float64) {
	tips, from = lists.Zeros(len(rows), len(effect)), lists.Zeros(len(nodes), len(effect))
	centre := make([]float64, len(effect))
	for a, row := range rows {
		copy(tips[a], row)
		if k.group[a] != "diet 0" {
			floats.Sub(tips[a], effect)
		}
		floats.AddScaled(centre, 1/float64(len(rows)), tips[a])
	}
	for a := range tips {
		floats.Sub(tips[a], centre)
	}
	for i, x := range nodes {
		floats.SubTo(from[i], x, centre)
	}
	return tips, from
}

// predicted are the shares of inner nodes within their radius of 50 and 95 %, and of species that are left out within that of 95 %.
func (k *kin) predicted(tips, nodes [][]float64, p linear.Permutations) []float64 {
	found, errs, leaves := try.Get(k.Prune(tips)), try.Get(k.Errors(tips, p)), k.Leaves()
	half, most, held := 0, 0, 0
	for i, x := range found.Mean {
		if slices.Contains(leaves, i) {
			continue
		}
		off := floats.Distance(x, nodes[i], 2)
		if off <= errs.Radius(i, 0.5) {
			half++
		}
		if off <= errs.Radius(i, 0.95) {
			most++
		}
	}
	for a, leaf := range leaves {
		others := slices.Clone(tips)
		others[a] = slices.Repeat([]float64{math.NaN()}, len(tips[a]))
		if floats.Distance(try.Get(k.Prune(others)).Mean[leaf], tips[a], 2) <= try.Get(k.Errors(others, p)).Radius(leaf, 0.95) {
			held++
		}
	}
	share := func(count, of int) float64 { return float64(count) / float64(of) }
	inner := len(found.Mean) - len(leaves)
	return []float64{share(half, inner), share(most, inner), share(held, len(leaves))}
}

// assess returns what the columns of the table have of one family.
func (k *kin) assess(found, truth *seen, p linear.Permutations) (out []float64) {
	size, diet := linear.Covariate("size", k.size...), linear.Factor("diet", k.group...)
	fitted := func(rows [][]float64, terms ...linear.Term) *linear.Model {
		return try.Get(try.Get(linear.NewDesign(len(rows), nil, nil, terms...)).FitOnTree(rows, k.Tree))
	}
	tips, _ := k.plain(found.tips, truth.diet)
	whole, nodes := k.plain(truth.tips, truth.diet, truth.nodes...)
	out = k.predicted(tips, nodes, p)
	// Less the true effects nothing is left to find.
	left := slices.Clone(found.tips)
	for a, row := range left {
		left[a] = floats.AddScaledTo(make([]float64, len(row)), row, -k.size[a], truth.slope)
		if k.group[a] != "diet 0" {
			floats.Sub(left[a], truth.diet)
		}
	}
	table := try.Get(fitted(left, size, diet).ANOVAOfType(linear.TypeII, p))
	for _, row := range table.Rows[:2] {
		kept := 0
		if row.P > 0.05 {
			kept = 1
		}
		out = append(out, float64(kept))
	}
	slope := fitted(found.tips, size, diet).Coefficients[1]
	once := linear.Permutations{N: 1}
	signal := func(rows [][]float64) float64 { return try.Get(k.Signal(rows, once)).K }
	edges := 0.0 // the rate along all edges of the truth
	for i, parent := range k.Parent[1:] {
		edges += math.Pow(floats.Distance(truth.nodes[i+1], truth.nodes[parent], 2), 2) / k.Length[i+1] / float64(len(k.Parent)-1)
	}
	return append(out, floats.Dot(slope, truth.slope)/floats.Dot(truth.slope, truth.slope), signal(tips)/signal(whole), floats.Sum(try.Get(k.Prune(tips)).Rate)/edges)
}

// atlases simulates populations of curves and surfaces, and says how template, modes and noise come back.
func atlases(b *bench) {
	const subjects, samples, pairs = 30, 5, 2
	b.text("The atlases have %d simulated subjects without correspondences, and estimate the noise. A subject is an ellipse or ellipsoid, deformed by two modes; each vertex is displaced by independent noise. Each line has %d samples. Distances are root mean squares in the norm of the atlas. The standard error is half the distance between the templates of two random halves, from %d pairs per sample. *quotient* is the distance of the template from the truth, divided by the standard error; without bias it is 1, give or take a third. *pairs* have a second, smaller curve inside the first, with its own noise. *amplitude* is that of the deformations' kernel at the start of the search, and *found* its estimate. The truth is 0.15, for the two numbers of a momentum that vary.", subjects, samples, pairs)
	b.header("subjects", "norm, width", "noise", "amplitude", "converged", "template from the truth", "standard error", "quotient", "plane of the modes, at most", "σ divided by the truth", "found")
	var refused []string
	for _, c := range []struct {
		name                    string
		population              simulated.Population
		norm                    string
		width, noise, amplitude float64
	}{
		{"curves", simulated.Curves(), "currents", 0.1, 0.02, 0.15},
		{"curves", simulated.Curves(), "currents", 0.2, 0.02, 0.15},
		{"curves", simulated.Curves(), "currents", 0.2, 0.02, 0.03},
		{"curves", simulated.Curves(), "currents", 0.2, 0.02, 1},
		{"curves", simulated.Curves(), "currents", 0.4, 0.02, 0.15},
		{"curves", simulated.Curves(), "varifolds", 0.1, 0.02, 0.15},
		{"curves", simulated.Curves(), "varifolds", 0.2, 0.02, 0.15},
		{"curves", simulated.Curves(), "varifolds", 0.2, 0.005, 0.15},
		{"curves", simulated.Curves(), "varifolds", 0.4, 0.02, 0.15},
		{"pairs", simulated.Pairs(), "currents", 0.2, 0.02, 0.15},
		{"surfaces", simulated.Surfaces(), "currents", 0.3, 0.02, 0.15},
		{"surfaces", simulated.Surfaces(), "varifolds", 0.3, 0.02, 0.15},
	} {
		p := c.population
		p.Varifold, p.Width, p.Displacement[0], p.Amplitude = c.norm == "varifolds", c.width, c.noise, c.amplitude
		objects := len(p.Truth)
		converged, off, expected, plane := 0, make([]float64, objects), make([]float64, objects), 0.0
		ratios, found := make([][]float64, objects), []float64{}
		for k := range uint64(samples) {
			s := try.Get(p.Draw(subjects, b.seed+k))
			r, err := s.Recover()
			if err != nil {
				refused = append(refused, fmt.Sprintf("%s, %s of width %g, sample %d: %v", c.name, c.norm, c.width, k+1, err))
				continue
			}
			e := try.Get(s.StandardError(r.Atlas, pairs))
			if r.Atlas.Status == geom.Converged {
				converged++
			}
			for o := range objects {
				off[o], expected[o] = math.Hypot(off[o], r.Template[o]), math.Hypot(expected[o], e[o])
				ratios[o] = append(ratios[o], r.Atlas.Noise[o]/r.Truth[o])
			}
			plane, found = math.Max(plane, r.Plane), append(found, r.Atlas.Reach*c.amplitude)
		}
		if len(found) == 0 {
			continue
		}
		n := math.Sqrt(float64(len(found)))
		for o, noise := range p.Displacement {
			mean, deviation := stat.MeanStdDev(ratios[o], nil)
			b.row("%s | %s, %g | %g | %g | %d of %d | %.3f | %.3f | %.2f | %.1f° | %.3f ± %.3f | %.3f", c.name, c.norm, c.width, noise, c.amplitude, converged, samples,
				off[o]/n, expected[o]/n, off[o]/expected[o], plane, mean, deviation/n, stat.Mean(found, nil))
		}
	}
	b.text("\nErrors: %s.", cmp.Or(strings.Join(refused, "; "), "none"))
}

// placements simulates families of surfaces, places landmarks on them, and counts how many are in their ellipses.
func placements(b *bench) {
	const families, subjects, count = 10, 8, 20
	b.text("%d landmarks placed on the subjects of %d simulated families a line, of %d subjects, as the template placed_landmarks does it with a folder: a body with bumps, deformed by random smooth flows, in any pose and size, its surface cut out of a turned volume and decimated. In a family every choice of so many templates is made, and the landmarks on all other subjects are counted. Errors are root mean squares of one coordinate in the tangent of the subject, in mean sides of its triangles. *Deviation* is the mean square of an error in the unit of its standard error: 1 if this is right. Landmarks of one family have errors in common, so the standard errors of shares are those of families, not of landmarks. *Of another sex*: half of the family is a quarter larger and shifted in shape by as much as subjects differ; templates are of this half, and landmarks of the other one are counted. Subjects that are named as a whole are not counted: *named* is their share of all, and *wrong* that of those that lie more than three standard errors off and are not named.", count, families, subjects)
	b.header("family", "templates", "landmarks", "error", "standard error", "deviation", "in the ellipse of 50 %", "of 95 %", "shared", "named", "wrong")
	for _, c := range []struct {
		name string
		kin  simulated.Kin
	}{
		{"as the model", simulated.Kin{Width: 0.6, Deviation: 0.06, Side: 0.16}},
		{"smooth", simulated.Kin{Width: 0.8, Deviation: 0.06, Side: 0.16}},
		{"rough", simulated.Kin{Width: 0.45, Deviation: 0.05, Side: 0.16}},
		{"large deformations", simulated.Kin{Width: 0.5, Deviation: 0.08, Side: 0.16}},
		{"coarse triangles", simulated.Kin{Width: 0.6, Deviation: 0.06, Side: 0.24}},
		{"templates of another sex", simulated.Kin{Width: 0.6, Deviation: 0.06, Side: 0.16, Others: subjects / 2, Larger: 1.25, Shift: 0.06}},
	} {
		templates, numbers := subjects, []int{1, 3, 7}
		if c.kin.Others > 0 {
			templates, numbers = c.kin.Others, []int{1, 3}
		}
		of := map[int][]simulated.Coverage{} // by the number of templates, of every family
		shared := map[int][]float64{}
		for k := range uint64(families) {
			f := try.Get(c.kin.Draw(subjects, count, b.seed+k))
			_, among := try.Get2(f.Place(templates))
			for _, n := range numbers {
				var all simulated.Coverage
				for _, chosen := range combin.Combinations(templates, n) {
					p := try.Get(among(chosen...))
					shared[n] = append(shared[n], p.Shared)
					for i := c.kin.Others; i < subjects; i++ {
						if !slices.Contains(chosen, i) {
							all.Add(f.Cover(p, i))
						}
					}
				}
				of[n] = append(of[n], all)
			}
		}
		for _, n := range numbers {
			var t simulated.Coverage
			for _, family := range of[n] {
				t.Add(family)
			}
			all := float64(t.Landmarks)
			counted := func(k int) string { return fmt.Sprintf("%.1f %%", 100*float64(k*count)/(all+float64(t.Named*count))) }
			b.row("%s | %d | %d | %.2f | %.2f | %.2f | %s | %s | %.2f | %s | %s", c.name, n, t.Landmarks,
				math.Sqrt(t.Error/all), math.Sqrt(t.Expected/all), t.Deviation/all,
				shareOfFamilies(of[n], func(c simulated.Coverage) int { return c.Half }),
				shareOfFamilies(of[n], func(c simulated.Coverage) int { return c.Most }), stat.Mean(shared[n], nil), counted(t.Named), counted(t.Wrong))
		}
	}
}

// shareOfFamilies is the share of landmarks that are counted, in per cent, with its standard error, for which families are independent and
// their landmarks are not.
func shareOfFamilies(families []simulated.Coverage, counted func(simulated.Coverage) int) string {
	hits, all := 0, 0
	for _, f := range families {
		hits, all = hits+counted(f), all+f.Landmarks
	}
	share, squares, n := float64(hits)/float64(all), 0.0, float64(len(families))
	for _, f := range families {
		squares += math.Pow(float64(counted(f))-share*float64(f.Landmarks), 2)
	}
	return fmt.Sprintf("%.1f ± %.1f %%", 100*share, 100*math.Sqrt(squares*n/(n-1))/float64(all))
}
