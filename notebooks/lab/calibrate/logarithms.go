package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"

	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/lie"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/morpho"
)

// logarithms takes random pairs there and back.
func logarithms(b *bench) {
	b.text("Each line has pairs of random points, with logarithms in both directions; there are a twentieth as many pairs of outlines of real bones. *stalled* is the share of logarithms with this status. *missed* is the share with the status *converged* whose Exp ends more than 1e-8 from its target. *longer* is the share of converged geodesics that are a thousandth longer than the way back, or than the closed form, and still are with 100 steps instead of 25.")
	b.header("manifold", "pairs", "stalled", "missed", "longer", "geomstats: missed", "longer", "jaxgeometry: missed", "longer")
	for _, c := range pairings() {
		s := geom.On(c.m)
		random := b.random(0)
		pairs := max(1, b.pairs/c.share)
		points := make([][]float64, 0, 2*pairs)
		for len(points) < 2*pairs {
			x := c.ambient(random)
			if geom.IsCharted(c.m) {
				projected, _, err := s.Project(x)
				if err != nil {
					continue // a matrix that reverses the orientation
				}
				x = projected
			}
			if k := len(points) - pairs; k >= 0 && slices.Equal(x, points[k]) {
				continue // the same bone twice
			}
			points = append(points, x)
		}
		x, y := points[:pairs], points[pairs:]
		targets := append(append([][]float64{}, y...), x...)
		there, err := s.LogAll(points, targets)
		if err != nil {
			b.row("%s | %d | refused: %v | | | | | | ", c.name, pairs, err)
			continue
		}
		var closed []*geom.Geodesic[geom.Vec]
		if c.closed != nil {
			if closed, err = geom.On(c.closed).LogAll(points, targets); err != nil {
				try.Do(fmt.Errorf("%s, in closed form: %w", c.name, err))
			}
		}
		ends, err := ends(s, there)
		try.Do(try.Name(err, "%s", c.name))
		stalled, open := 0, 0
		var suspects []int
		for i, g := range there {
			if g.Status != geom.Converged {
				stalled++
				continue
			}
			if !(apart(c.shapes, ends[i], targets[i]) <= 1e-8) {
				open++
			}
			if g.Length > shortest(there, closed, i)*(1+1e-3) {
				suspects = append(suspects, i)
			}
		}
		longer, err := stillLonger(s, suspects, points, targets, there, closed)
		try.Do(try.Name(err, "%s", c.name))
		theirs := make([]string, len(c.rivals))
		for i, library := range []string{"geomstats", "jaxgeometry"} {
			if theirs[i], err = b.rival(library, c.rivals[i], points); err != nil {
				try.Do(fmt.Errorf("%s, %s: %w", library, c.name, err))
			}
		}
		b.row("%s | %d | %s | %s | %s | %s", c.name, pairs, share(stalled, len(there)), share(open, len(there)), share(longer, len(there)), strings.Join(theirs, " | "))
	}
}

// pairings are the manifolds of the table.
func pairings() []pairing {
	sphere, hyperbolic, spd := manifold.Sphere(2), manifold.Hyperbolic(2), manifold.SPD(3)
	rotations := try.Get(lie.SO(3).LeftInvariant(nil))
	top := try.Get(lie.SO(3).LeftInvariant([][]float64{{1, 0, 0}, {0, 2, 0}, {0, 0, 3}}))
	rigid := try.Get(lie.SE(3).LeftInvariant(nil))
	integrated := func(m geom.Charted) geom.Charted { return struct{ geom.Charted }{m} }
	all := []pairing{
		{"sphere", 1, sphere, nil, [2]string{"sphere", "sphere"}, false, gaussian(3, 1)},
		{"sphere, by integration", 1, integrated(sphere), sphere, [2]string{}, false, gaussian(3, 1)},
		{"hyperbolic plane, by integration", 1, integrated(hyperbolic), hyperbolic, [2]string{}, false, func(random *rand.Rand) []float64 {
			v := gaussian(2, 1)(random)
			return []float64{math.Sqrt(1 + floats.Dot(v, v)), v[0], v[1]}
		}},
		{"SPD(3)", 1, spd, nil, [2]string{"spd"}, false, positive},
		{"SPD(3), by integration", 1, integrated(spd), spd, [2]string{}, false, positive},
		{"triangles (Kendall)", 1, integrated(manifold.Kendall(3, 2)), manifold.Kendall(3, 2), [2]string{}, true, gaussian(6, 1)},
		{"SO(3)", 1, rotations, nil, [2]string{"rotations"}, false, gaussian(9, 1)},
		{"SO(3), by integration", 1, integrated(rotations), rotations, [2]string{}, false, gaussian(9, 1)},
		{"SO(3), moments 1, 2, 3", 1, top, nil, [2]string{}, false, gaussian(9, 1)},
		{"SE(3)", 1, rigid, nil, [2]string{}, false, func(random *rand.Rand) []float64 {
			v := gaussian(12, 1)(random)
			return append(v, 0, 0, 0, 1)
		}},
		{"torus 1, 0.45", 1, manifold.Torus(1, 0.45), nil, [2]string{}, false, gaussian(3, 1)},
		{"cylinder", 1, manifold.Cylinder(1), nil, [2]string{}, false, gaussian(3, 1)},
		{"ellipsoid 1, 1, 3", 1, manifold.Ellipsoid(1, 1, 3), nil, [2]string{}, false, gaussian(3, 1)},
		{"5 landmarks, 0.3 around a regular pentagon of radius 1, kernel 0.5", 1, landmarks.Manifold{N: 5, D: 2, Kernel: kernels.Gaussian(0.5)}, nil, [2]string{1: "landmarks"}, false, pentagon},
	}
	bones, spacing := vertebrae()
	for _, spacings := range []float64{1, 1.5, 2, 3} {
		all = append(all, pairing{fmt.Sprintf("vertebrae of mice, 60 landmarks, kernel of %g spacings", spacings), 20,
			landmarks.Manifold{N: 60, D: 2, Kernel: kernels.Gaussian(spacings * spacing)}, nil, [2]string{}, false,
			func(random *rand.Rand) []float64 { return bones[random.IntN(len(bones))] }})
	}
	return all
}

// ends shoots the momenta of geodesics again, each with its own number of steps, which Log may have chosen.
func ends(s *geom.Space[geom.Vec], geodesics []*geom.Geodesic[geom.Vec]) ([][]float64, error) {
	of := map[int][]int{} // by steps
	for i, g := range geodesics {
		of[g.Steps] = append(of[g.Steps], i)
	}
	out := make([][]float64, len(geodesics))
	for _, which := range of {
		var starts, momenta [][]float64
		for _, i := range which {
			starts, momenta = append(starts, geodesics[i].Start), append(momenta, geodesics[i].Momentum)
		}
		steady := s.Steady(geodesics[which[0]])
		shot, err := steady.Call(shooting{steady.Steps()}, func(in []*graph.Node) []*graph.Node {
			end, _ := steady.FlowMap(in[0], in[1])
			return []*graph.Node{end}
		}, starts, momenta)
		if err != nil {
			return nil, err
		}
		for k, end := range shot.Matrix(0) {
			out[which[k]] = end
		}
	}
	return out, nil
}

// shortest is the length of geodesic i there or back, where that converged, or of the closed form if that is less.
func shortest(there, closed []*geom.Geodesic[geom.Vec], i int) float64 {
	length := math.Inf(1)
	if back := there[(i+len(there)/2)%len(there)]; back.Status == geom.Converged {
		length = back.Length
	}
	if closed != nil {
		length = math.Min(length, closed[i].Length)
	}
	return length
}

// stillLonger counts the geodesics of a list that are by a thousandth too long also with four times the steps: what 25 steps make too
// long is an error of integration, of which Drift tells.
func stillLonger(s *geom.Space[geom.Vec], suspects []int, x, y [][]float64, there, closed []*geom.Geodesic[geom.Vec]) (int, error) {
	if len(suspects) == 0 {
		return 0, nil
	}
	fine, half := s.With(geom.Integrator(ode.RK4, 100)), len(there)/2
	both := append([]*geom.Geodesic[geom.Vec]{}, there...)
	var again []int
	for _, i := range suspects {
		again = append(again, i, (i+half)%len(there))
	}
	var from, to, guess [][]float64
	for _, i := range again {
		from, to, guess = append(from, x[i]), append(to, y[i]), append(guess, there[i].Velocity)
	}
	exact := try.Get(fine.LogFrom(from, to, guess))
	for k, i := range again {
		both[i] = exact[k]
	}
	longer := 0
	for _, i := range suspects {
		if both[i].Length > shortest(both, closed, i)*(1+1e-3) {
			longer++
		}
	}
	return longer, nil
}

// pairing is a line of the table: a manifold with points on it.
type pairing struct {
	name    string
	share   int // one in so many of the pairs
	m       geom.Manifold
	closed  geom.Manifold // nil: none
	rivals  [2]string     // the name in rivals.py for geomstats and jaxgeometry
	shapes  bool          // of Kendall's space
	ambient func(random *rand.Rand) []float64
}

// vertebrae are those of mice whose outlines have all points in order, after Procrustes analysis, with their mean spacing.
func vertebrae() (shapes [][]float64, spacing float64) {
	data := morpho.MouseVertebrae()
	look := try.Get(morpho.Inspect(data))
	aligned := try.Get(morpho.Procrustes(data.Without(look.Names(morpho.OutOfOrder)...).Shapes()))
	for _, s := range aligned.Shapes {
		shapes = append(shapes, slices.Concat(s...))
	}
	return shapes, morpho.MeanSpacing(aligned.Mean, true)
}

// shooting is a key of Space.Call.
type shooting struct{ steps int }

// apart is how far numbers are apart, with configurations of Kendall's space in optimal position.
func apart(shapes bool, x, y []float64) float64 {
	if shapes {
		var re, im float64 // of ⟨x, y⟩
		for i := 0; i < len(x); i += 2 {
			re, im = re+x[i]*y[i]+x[i+1]*y[i+1], im+x[i]*y[i+1]-x[i+1]*y[i]
		}
		size := math.Hypot(re, im)
		turned := make([]float64, len(x))
		for i := 0; i < len(x); i += 2 {
			turned[i], turned[i+1] = (re*x[i]-im*x[i+1])/size, (im*x[i]+re*x[i+1])/size
		}
		x = turned
	}
	return floats.Distance(x, y, 2)
}

func gaussian(n int, sd float64) func(random *rand.Rand) []float64 {
	return func(random *rand.Rand) []float64 {
		return lists.Make(n, func(int) float64 { return sd * random.NormFloat64() })
	}
}

// positive is A Aᵀ for a matrix A of normal numbers, which may be close to singular.
func positive(random *rand.Rand) []float64 {
	a := gaussian(9, 1)(random)
	p := make([]float64, 9)
	for i := range 3 {
		for j := range 3 {
			p[3*i+j] = floats.Dot(a[3*i:3*i+3], a[3*j:3*j+3])
		}
	}
	return p
}

func pentagon(random *rand.Rand) []float64 {
	x := gaussian(10, 0.3)(random)
	for i := range 5 {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / 5)
		x[2*i], x[2*i+1] = x[2*i]+cos, x[2*i+1]+sin
	}
	return x
}

//go:embed rivals.py
var script string

// rival takes the same pairs there and back by another library; the answer are two cells.
func (b *bench) rival(library, manifold string, points [][]float64) (string, error) {
	const absent = "– | –"
	if manifold == "" || b.python == "" {
		return absent, nil
	}
	input := try.Get(json.Marshal(points))
	c := exec.Command(b.python, "-c", script, library+"/"+manifold)
	c.Stdin = strings.NewReader(string(input))
	var complaints strings.Builder
	c.Stderr = &complaints
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, complaints.String())
	}
	if strings.TrimSpace(string(out)) == "absent" {
		return absent, nil
	}
	var open, longer int
	if _, err := fmt.Sscan(string(out), &open, &longer); err != nil {
		return "", fmt.Errorf("answer %q: %w", out, err)
	}
	return share(open, len(points)) + " | " + share(longer, len(points)), nil
}
