package shortest

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"anatomy/internal/lists"
)

const (
	Segments = 32   // chords of a curve: its length and velocity are off by terms of second order in a chord
	Relaxing = 8    // curves at most are relaxed at a time
	rays     = 48   // geodesics of a fan from either end: on a surface one every 7.5 degrees
	distinct = 0.15 // of the length of a curve: two curves whose points are all closer than this relax to one geodesic
)

// Curve is Segments + 1 points, its length, and that of its last step alone, which is exact where it is short.
type Curve struct {
	Points      []Vec
	Length, hop float64
}

func (c Curve) points() []Vec { return c.Points }

// resampled takes Segments + 1 of the first last + 1 points of a path.
func resampled(path []Vec, last int) []Vec {
	return lists.Make(Segments+1, func(j int) Vec { return path[j*last/Segments] })
}

// elsewhere returns the shortest of the curves, at most Relaxing of them, none of which runs along another or a known one.
func elsewhere(curves, known []Curve) []Curve {
	curves = slices.DeleteFunc(slices.Clone(curves), func(c Curve) bool { return !(c.Length < math.Inf(1)) })
	slices.SortFunc(curves, func(a, b Curve) int { return cmp.Compare(a.Length, b.Length) })
	var out []Curve
	for _, c := range curves {
		long := lists.Sum(Segments, func(j int) float64 { return floats.Distance(c.Points[j], c.Points[j+1], 2) })
		near := func(k Curve) bool {
			for j := range c.Points {
				if floats.Distance(c.Points[j], k.Points[j], 2) > distinct*long {
					return false
				}
			}
			return true
		}
		if !slices.ContainsFunc(known, near) && !slices.ContainsFunc(out, near) {
			out = append(out, c)
		}
		if len(out) == Relaxing {
			break
		}
	}
	return out
}

// fan returns curves from x to y: geodesics of one length from x and from y, in directions all around, up to where they come closest to
// the other end, each with a last step to it.
func (s *search) fan(x, y Vec, length float64) ([]Curve, error) {
	from := slices.Concat(slices.Repeat([]Vec{x}, rays), slices.Repeat([]Vec{y}, rays))
	to := slices.Concat(from[rays:], from[:rays])
	paths, hops, err := s.Rays(from, to, slices.Repeat(directions(rays, s.Dim()), 2), length)
	if err != nil {
		return nil, err
	}
	fan := make([]Curve, 2*rays)
	for k := range fan {
		last, c := 0, Curve{Length: math.Inf(1), hop: math.Inf(1)}
		for t, hop := range hops[k] {
			if hop < c.hop { // NaN where the chart does not hold the other end
				last, c.hop, c.Length = t, hop, hop+length*float64(t)/float64(len(hops[k])-1)
			}
		}
		c.Points = resampled(paths[k], last)
		c.Points[Segments] = to[k]
		if k >= rays {
			slices.Reverse(c.Points)
		}
		fan[k] = c
	}
	return fan, nil
}

// directions returns n unit vectors of R^d all around: each is, of many random ones, the farthest from those before it.
func directions(n, d int) []Vec {
	const tried = 50
	random := rand.New(rand.NewPCG(1, uint64(d)))
	var out []Vec
	for range n {
		var best Vec
		widest := math.Inf(-1)
		for range tried {
			v := make(Vec, d)
			for j := range v {
				v[j] = random.NormFloat64()
			}
			floats.Scale(1/floats.Norm(v, 2), v)
			apart := math.Inf(1)
			for _, o := range out {
				apart = min(apart, floats.Distance(o, v, 2))
			}
			if apart > widest || best == nil {
				best, widest = v, apart
			}
		}
		out = append(out, best)
	}
	return out
}
