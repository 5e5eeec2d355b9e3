package kernels

import (
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom/engine"
	"anatomy/internal/lists"
	"anatomy/kernels/native"
)

// sampler evaluates a kernel K(x, 0) and its gradient on the host.
type sampler struct {
	d             int
	terms         []native.Term                  // of a kernel that is a sum of such, else nil
	profile       func(m int, s float64) float64 // derivative m of a radial kernel by s = Σ_a (x_a scale_a)²
	scale         []float64
	f             *engine.Func // of others
	top, steepest float64      // of a radial kernel, or of that of which this one is a part, else 0: errors are relative to these at least
	costs         costs        // of its sums, where one is to be chosen
}

// batch is the number of points in one call, so that only one shape is compiled.
const batch = 4096

func newSampler(k Kernel, d int) *sampler {
	if scale, terms, ok := describeTerms(k, d); ok {
		profile := func(m int, s float64) float64 { return valueOf(terms, m, s) }
		return &sampler{d: d, terms: terms, scale: scale, profile: profile, top: profile(0, 0), steepest: greatest(terms, 1)}
	}
	return &sampler{d: d, f: engine.Compile(func(x *Node) (*Node, *Node) {
		v := k.Gram(x, Zeros(x.Graph(), shapes.Make(x.DType(), 1, d)))
		return Squeeze(v, -1), Gradient(ReduceAllSum(v), x)[0]
	}, engine.Name("kernels.Expand"))}
}

// widths are those of a radial kernel along the axes.
func (s *sampler) widths() []float64 {
	return lists.Each(s.scale, func(c float64) float64 { return 1 / c })
}

// sample is the kernel at the coordinates along each axis times their factors, added up in the cells, so many along each axis, of their
// owners, which ascend.
func (s *sampler) sample(coordinates, factors [][]float64, owner [][]int, dims []int) ([]float64, error) {
	n := lists.Product(dims...)
	values := make([]float64, n)
	if s.profile == nil {
		return values, tensor(coordinates, func(points [][]float64, at [][]int) error {
			v, _, err := s.values(points)
			for i := range v {
				f, to := 1.0, 0
				for a, j := range at[i] {
					f *= factors[a][j]
					to = to*dims[a] + owner[a][j]
				}
				values[to] += f * v[i]
			}
			return err
		})
	}
	var squares, factor [3][]float64
	var cell [3][]int
	stride := n
	for a := range squares {
		squares[a], factor[a], cell[a] = []float64{0}, []float64{1}, []int{0}
		if a >= s.d {
			continue
		}
		stride /= dims[a]
		factor[a], squares[a], cell[a] = factors[a], nil, nil
		for j, c := range coordinates[a] {
			squares[a], cell[a] = append(squares[a], c*s.scale[a]*c*s.scale[a]), append(cell[a], owner[a][j]*stride)
		}
	}
	inParts(dims[0], func(from, to int) {
		first, _ := slices.BinarySearch(owner[0], from)
		end, _ := slices.BinarySearch(owner[0], to)
		for i := first; i < end; i++ {
			for j := range squares[1] {
				square, f, at := squares[0][i]+squares[1][j], factor[0][i]*factor[1][j], cell[0][i]+cell[1][j]
				for l, more := range squares[2] {
					values[at+cell[2][l]] += f * factor[2][l] * s.profile(0, square+more)
				}
			}
		}
	})
	return values, nil
}

// each calls f with the squared distance of each point, from several goroutines.
func (s *sampler) each(x [][]float64, f func(i int, square float64)) {
	inParts(len(x), func(from, to int) {
		for i := from; i < to; i++ {
			square := 0.0
			for a, c := range x[i] {
				square += c * s.scale[a] * c * s.scale[a]
			}
			f(i, square)
		}
	})
}

func (s *sampler) values(x [][]float64) (v []float64, gradient [][]float64, err error) {
	if s.profile != nil {
		v, gradient = make([]float64, len(x)), make([][]float64, len(x))
		all := make([]float64, len(x)*s.d)
		s.each(x, func(i int, square float64) {
			v[i] = s.profile(0, square)
			slope := s.profile(1, square)
			gradient[i] = all[i*s.d : (i+1)*s.d]
			for a, c := range x[i] {
				gradient[i][a] = 2 * slope * c * s.scale[a] * s.scale[a]
			}
		})
		return v, gradient, nil
	}
	for from := 0; from < len(x); from += batch {
		n := min(batch, len(x)-from)
		in := append(append([][]float64{}, x[from:from+n]...), make([][]float64, batch-n)...)
		for i := n; i < batch; i++ {
			in[i] = x[from]
		}
		out, err := s.f.Call(in)
		if err != nil {
			return nil, nil, err
		}
		v, gradient = append(v, out.Vector(0)[:n]...), append(gradient, out.Matrix(1)[:n]...)
	}
	return v, gradient, nil
}

// reach is the distance along each axis beyond which the kernel stays below tolerance·K(0), and its slope below as much of the steepest.
func (s *sampler) reach(tolerance float64) ([]float64, error) {
	reach := make([]float64, s.d)
	for a := range reach {
		unit, err := s.unit(a)
		if err != nil {
			return nil, err
		}
		t, v, slope, err := s.scan(a, unit, 6)
		if err != nil {
			return nil, err
		}
		steepest := floats.Norm(slope, math.Inf(1))
		last := len(v) - 1
		for ; last >= 0 && math.Abs(v[last]) <= tolerance*v[0] && math.Abs(slope[last]) <= tolerance*steepest; last-- {
		}
		if last < 0 || last == len(v)-1 {
			return nil, fmt.Errorf("kernels: a kernel that is above %g of K(0) at the distance %.3g along axis %d cannot be cut off", tolerance, t[batch-1], a)
		}
		reach[a] = t[last+1]
	}
	return reach, nil
}

// scan is the kernel with its slope along an axis at distances from 10^−decades to 10^decades of a unit.
func (s *sampler) scan(a int, unit, decades float64) (t, k, slope []float64, err error) {
	t = lists.Make(batch, func(i int) float64 { return unit * math.Pow(10, decades*(2*float64(i)/(batch-1)-1)) })
	k, slope, err = s.line(a, t)
	return t, k, slope, err
}

// unit is a width of the kernel along an axis: of one that is not radial, the distance within which it falls to a half.
func (s *sampler) unit(a int) (float64, error) {
	if s.profile != nil {
		return 1 / s.scale[a], nil
	}
	t, k, _, err := s.scan(a, 1, 100)
	for i, v := range k {
		if !(v > k[0]/2) {
			return t[i], err
		}
	}
	return 1, err
}

// tensor calls f with the points of a tensor grid and their indices, a batch at a time, which it may not keep.
func tensor(coordinates [][]float64, f func(points [][]float64, at [][]int) error) error {
	d := len(coordinates)
	points, at := make([][]float64, batch), make([][]int, batch)
	values, indices := make([]float64, batch*d), make([]int, batch*d)
	for i := range points {
		points[i], at[i] = values[i*d:(i+1)*d], indices[i*d:(i+1)*d]
	}
	index := make([]int, d)
	for n := 0; ; {
		for a, i := range index {
			points[n][a], at[n][a] = coordinates[a][i], i
		}
		n++
		a := d - 1
		for ; a >= 0; a-- {
			if index[a]++; index[a] < len(coordinates[a]) {
				break
			}
			index[a] = 0
		}
		if a < 0 {
			return f(points[:n], at[:n])
		}
		if n == batch {
			if err := f(points, at); err != nil {
				return err
			}
			n = 0
		}
	}
}
