package linear

import (
	"fmt"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/internal/lists"
)

// sums are linear functions of permuted rows: W Π x with W, [m, R], and x, [R, r]. The samples are in cells, such as the combinations of categories. In a
// cell the columns of W are multiples of a few pieces: of one if W is a function of categories, of two with a number. So a row of x is added
// to the pieces of its cell in place of m rows: W = combine · pieces.
type sums struct {
	cells   []cell
	combine *mat.Dense // [m, pieces]; nil where the pieces are the rows of W
}

// cell is samples and their pieces, [rank, samples].
type cell struct {
	samples []int
	pieces  *mat.Dense
}

// newSums returns those of W, whose samples are in cells: nil for one.
func newSums(w *mat.Dense, cells [][]int) *sums {
	m, n := w.Dims()
	out, of, steps := &sums{}, []*mat.Dense{}, 0
	for _, samples := range cells {
		here := mat.NewDense(m, len(samples), nil)
		for k, i := range samples {
			for c := range m {
				here.Set(c, k, w.At(c, i))
			}
		}
		var svd mat.SVD
		if !svd.Factorize(here, mat.SVDThin) {
			steps = m * n
			break
		}
		rank := 0
		for _, value := range svd.Values(nil) {
			if value > 1e-14*mat.Norm(w, 2) {
				rank++
			}
		}
		if rank == 0 {
			continue
		}
		var u, v mat.Dense
		svd.UTo(&u)
		svd.VTo(&v)
		u.Mul(&u, mat.NewDiagDense(len(svd.Values(nil)), svd.Values(nil)))
		out.cells = append(out.cells, cell{samples, mat.DenseCopyOf(v.Slice(0, len(samples), 0, rank).T())})
		of = append(of, mat.DenseCopyOf(u.Slice(0, m, 0, rank)))
		steps += rank * (len(samples) + m)
	}
	if len(out.cells) == 0 || steps >= m*n {
		return &sums{cells: []cell{{newDraw(n).Order, w}}}
	}
	out.combine = mat.NewDense(m, out.pieces(), nil)
	first := 0
	for _, u := range of {
		_, rank := u.Dims()
		out.combine.Slice(0, m, first, first+rank).(*mat.Dense).Copy(u)
		first += rank
	}
	return out
}

func (s *sums) pieces() (count int) {
	for _, c := range s.cells {
		count += c.pieces.RawMatrix().Rows
	}
	return count
}

// steps is about how many multiplications a draw takes for each column of x.
func (s *sums) steps() (count int) {
	for _, c := range s.cells {
		count += c.pieces.RawMatrix().Rows * len(c.samples)
	}
	if s.combine != nil {
		count += len(s.combine.RawMatrix().Data)
	}
	return count
}

// of returns a function that returns W Π x for a draw, plus a matrix, if it is not nil. What it returns is overwritten by the next draw.
func (s *sums) of(x, plus *mat.Dense) func(d *Draw) *mat.Dense {
	_, columns := x.Dims()
	pieces := mat.NewDense(s.pieces(), columns, nil)
	out := pieces
	if s.combine != nil {
		out = mat.NewDense(s.combine.RawMatrix().Rows, columns, nil)
	}
	var rows [4][]float64
	var signs [4]float64
	return func(d *Draw) *mat.Dense {
		pieces.Zero()
		out.Zero()
		if plus != nil {
			out.Copy(plus)
		}
		first := 0
		for _, c := range s.cells {
			rank, count := c.pieces.Dims()
			for k := 0; k < count; k += len(rows) {
				for j := range rows {
					i := c.samples[min(k+j, count-1)]
					rows[j], signs[j] = x.RawRowView(d.Order[i]), d.Sign[i]*indicator(k+j < count)
				}
				addFour(pieces, first, rank, rows, func(p, j int) float64 { return signs[j] * c.pieces.At(p, min(k+j, count-1)) })
			}
			first += rank
		}
		if s.combine != nil {
			addProduct(out, 1, s.combine, pieces)
		}
		return out
	}
}

// addProduct adds f · a · b to out: for few rows of many numbers, on all platforms in as little time.
func addProduct(out *mat.Dense, f float64, a, b *mat.Dense) {
	rows, count := a.Dims()
	var of [4][]float64
	for k := 0; k < count; k += len(of) {
		for j := range of {
			of[j] = b.RawRowView(min(k+j, count-1))
		}
		addFour(out, 0, rows, of, func(i, j int) float64 { return f * a.At(i, min(k+j, count-1)) * indicator(k+j < count) })
	}
}

// addFour adds combinations of four rows to some rows of a matrix from one on: Σ_j weight(i, j) · of_j to the i-th. It takes four rows for two at once,
// since each number is read and written fewer times then.
func addFour(to *mat.Dense, from, count int, of [4][]float64, weight func(i, j int) float64) {
	for i := 0; i < count; i += 2 {
		a, b, c, d := weight(i, 0), weight(i, 1), weight(i, 2), weight(i, 3)
		out := to.RawRowView(from + i)
		x, y, z, u := of[0][:len(out)], of[1][:len(out)], of[2][:len(out)], of[3][:len(out)]
		if i+1 == count {
			for k := range out {
				out[k] += a*x[k] + b*y[k] + c*z[k] + d*u[k]
			}
			return
		}
		e, f, g, h := weight(i+1, 0), weight(i+1, 1), weight(i+1, 2), weight(i+1, 3)
		next := to.RawRowView(from + i + 1)[:len(out)]
		for k := range out {
			p, q, r, s := x[k], y[k], z[k], u[k]
			out[k] += a*p + b*q + c*r + d*s
			next[k] += e*p + f*q + g*r + h*s
		}
	}
}

// cells are the samples with weight, by the combinations of categories of the factors that the design has.
func (d *Design) cells() [][]int {
	var factors [][]float64
	for _, c := range d.columns {
		for _, p := range c.parts {
			if p.level != "" {
				factors = append(factors, p.values)
			}
		}
	}
	return together(len(d.with), func(k int) []float64 {
		return lists.Each(factors, func(of []float64) float64 { return of[d.with[k]] })
	})
}

// together are the samples 0, …, n − 1 in groups with the same values, in the order of their first samples.
func together(n int, values func(i int) []float64) (groups [][]int) {
	number := map[string]int{}
	for i := range n {
		key := fmt.Sprint(values(i))
		of, seen := number[key]
		if !seen {
			of, groups = len(groups), append(groups, nil)
			number[key] = of
		}
		groups[of] = append(groups[of], i)
	}
	return groups
}

// sumOfSquares is that of all numbers of a matrix.
func sumOfSquares(x *mat.Dense) (sum float64) {
	rows, _ := x.Dims()
	for i := range rows {
		sum += floats.Dot(x.RawRowView(i), x.RawRowView(i))
	}
	return sum
}
