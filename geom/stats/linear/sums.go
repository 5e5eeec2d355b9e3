package linear

import (
	"fmt"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
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
				for p := range rank {
					weights := c.pieces.RawRowView(p)
					at := func(j int) float64 { return signs[j] * weights[min(k+j, count-1)] }
					addFour(pieces.RawRowView(first+p), at(0), at(1), at(2), at(3), rows[0], rows[1], rows[2], rows[3])
				}
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
	for i := range rows {
		weights := a.RawRowView(i)
		for k := 0; k < count; k += 4 {
			at := func(j int) float64 { return f * weights[min(k+j, count-1)] * indicator(k+j < count) }
			row := func(j int) []float64 { return b.RawRowView(min(k+j, count-1)) }
			addFour(out.RawRowView(i), at(0), at(1), at(2), at(3), row(0), row(1), row(2), row(3))
		}
	}
}

// addFour adds ax + by + cz + du to out: four at once, since each is read and written once then.
func addFour(out []float64, a, b, c, d float64, x, y, z, u []float64) {
	x, y, z, u = x[:len(out)], y[:len(out)], z[:len(out)], u[:len(out)]
	for i := range out {
		out[i] += a*x[i] + b*y[i] + c*z[i] + d*u[i]
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
		values := make([]float64, len(factors))
		for f, of := range factors {
			values[f] = of[d.with[k]]
		}
		return values
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
