package linear

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// stratum is a linear model with residuals that are exchangeable under the null hypothesis: of the rows of y, the residuals of the model
// with the terms before the one that is tested.
type stratum struct {
	y          *mat.Dense // [R, p]
	frame                 // of what explains y; of a stratum of levels the basis alone
	blocks     [][2]int   // from where to where in the basis the constant and the terms are; empty for those that are not of this stratum
	name       string     // of what is left
	negligible float64    // a sum of squares of rounding errors
	exchange   Exchange   // with signs where these are arbitrary
}

// df is the number of degrees of freedom of the blocks from one to before another.
func (s *stratum) df(from, to int) int { return s.blocks[to-1][1] - s.blocks[from][0] }

// left is that of the residuals.
func (s *stratum) left() int { return s.y.RawMatrix().Rows - len(s.basis) }

// over returns the stratum of the levels of term e, at which the columns of e differ, for the test of term k: rows are √m times the
// means of the m samples of a level, and what the terms before e leave of them is e.
func (s *stratum) over(k, e int, columns []column, name string) (*stratum, error) {
	var levels [][]int // the samples of each
	level := map[string]int{}
	for i := range s.basis[0] {
		var key strings.Builder
		for _, c := range columns {
			fmt.Fprint(&key, c.values[i], " ")
		}
		u, ok := level[key.String()]
		if !ok {
			u, levels = len(levels), append(levels, nil)
			level[key.String()] = u
		}
		levels[u] = append(levels[u], i)
	}
	least, most := len(levels[0]), 0
	for _, of := range levels {
		least, most = min(least, len(of)), max(most, len(of))
	}
	if least < most {
		return nil, fmt.Errorf("its levels have from %d to %d samples, and can be exchanged only if all have as many: leave some out, or take the means", least, most)
	}
	root := math.Sqrt(float64(most))
	out := &stratum{y: mat.NewDense(len(levels), s.y.RawMatrix().Cols, nil), blocks: make([][2]int, e), name: name, negligible: s.negligible}
	for u, of := range levels {
		for _, i := range of {
			floats.AddScaled(out.y.RawRowView(u), 1/root, s.y.RawRowView(i))
		}
	}
	// An orthonormal column that is the same in each level is one of the means, and one that is not is of the differences within levels, if
	// it is no mixture of both.
	count := 0
	for j := range e + 1 {
		from := len(out.basis)
		for _, q := range s.basis[s.blocks[j][0]:s.blocks[j][1]] {
			means := make([]float64, len(levels))
			off := 0.0
			for u, of := range levels {
				means[u] = q[of[0]] * root
				for _, i := range of {
					off = math.Max(off, math.Abs(q[i]-q[of[0]]))
				}
			}
			switch {
			case off < 1e-6/math.Sqrt(float64(len(q))):
				count++
				if j < e {
					out.basis = append(out.basis, means)
				}
			case j == k:
				return nil, errors.New("it varies within the levels of that term, or is confounded with a term before that does")
			}
		}
		if j < e {
			out.blocks[j] = [2]int{from, len(out.basis)}
		}
	}
	if count < len(levels) {
		return nil, errors.New("a term before that one varies both between its levels and within them, or its values are no categories")
	}
	return out, nil
}

// fit returns what the first m columns of the basis explain of x, by these columns [m, p], and its residuals.
func (s *stratum) fit(x *mat.Dense, m int) (explained, residuals *mat.Dense) {
	residuals = mat.DenseCopyOf(x)
	if m == 0 {
		return nil, residuals
	}
	q := stack(s.basis[:m])
	var fitted mat.Dense
	explained = new(mat.Dense)
	explained.Mul(q, x)
	fitted.Mul(q.T(), explained)
	residuals.Sub(x, &fitted)
	return explained, residuals
}

// squares returns the sum of squares of the residuals of x and those of the blocks. That of the residuals is no difference of sums, which
// would cancel where the terms explain nearly everything.
func (s *stratum) squares(x *mat.Dense) (residual float64, blocks []float64) {
	explained, residuals := s.fit(x, len(s.basis))
	if residual = sumOfSquares(residuals); residual <= s.negligible {
		residual = 0
	}
	blocks = make([]float64, len(s.blocks))
	for k, b := range s.blocks {
		if b[1] > b[0] {
			blocks[k] = sumOfSquares(explained.Slice(b[0], b[1], 0, x.RawMatrix().Cols))
		}
	}
	return residual, blocks
}

// narrow returns rows as long as those of x and at the same angles, in no more columns than there are rows.
func narrow(x *mat.Dense) *mat.Dense {
	rows, columns := x.Dims()
	if columns <= rows {
		return x
	}
	var lq mat.LQ
	var l mat.Dense
	lq.Factorize(x)
	lq.LTo(&l)
	return mat.DenseCopyOf(l.Slice(0, rows, 0, rows))
}

func sumOfSquares(x mat.Matrix) float64 {
	size := mat.Norm(x, 2)
	return size * size
}

// f is the F of the blocks from one to before another in x.
func (s *stratum) f(from, to int, x *mat.Dense) float64 {
	residual, squares := s.squares(x)
	return s.ratio(from, to, floats.Sum(squares[from:to]), residual)
}

// ratio is F by the sums of squares of the blocks and of the residuals: +Inf where nothing is left, and 0 where nothing was to be explained.
func (s *stratum) ratio(from, to int, square, residual float64) float64 {
	if square <= s.negligible {
		return 0
	}
	return square / float64(s.df(from, to)) / (residual / float64(s.left()))
}

// test tests the F of the blocks from one to before another. What is permuted has no part in the blocks before, and what the model with them
// fits has none in these and those after them. It calls each, if it is not nil, with the permuted F.
func (s *stratum) test(name string, from, to int, p Permutations, each func(f float64)) (Test, error) {
	_, reduced := s.fit(s.y, s.blocks[from][0])
	total := sumOfSquares(reduced)
	by := s.explainByColumns // in as many steps a permutation as the basis has columns, times R times p
	if rows, columns := reduced.Dims(); 4*rows < len(s.basis)*columns && rows <= 4000 {
		by = s.explainByProducts // in about 4 R² steps, and the memory of three matrices of R² numbers
	}
	explain, permuted := by(s.blocks[from][0], s.blocks[to-1][1], reduced), mat.DenseCopyOf(reduced)
	tests, err := p.Test(name, reduced.RawMatrix().Rows, s.exchange, []float64{s.f(from, to, s.y)}, func(d *Draw) ([]float64, error) {
		all, square := explain(d)
		f := s.ratio(from, to, square, total-all)
		if total-all < 1e-3*total { // the difference has cancelled
			d.rows(permuted, reduced)
			f = s.f(from, to, permuted)
		}
		if each != nil {
			each(f)
		}
		return []float64{f}, nil
	})
	if err != nil {
		return Test{}, err
	}
	return tests[0], nil
}

// explainByColumns returns a function that tells which sums of squares the whole basis and its columns from one to before another explain of the
// permuted rows of x: it permutes the columns of the basis in place of the rows of x, which are many numbers each, and multiplies them by x.
func (s *stratum) explainByColumns(from, to int, x *mat.Dense) func(d *Draw) (all, some float64) {
	q := stack(s.basis)
	permuted := mat.DenseCopyOf(q)
	var explained mat.Dense
	return func(d *Draw) (all, some float64) {
		d.columns(permuted, q)
		explained.Mul(permuted, x)
		return sumOfSquares(&explained), sumOfSquares(explained.Slice(from, to, 0, explained.RawMatrix().Cols))
	}
}

// explainByProducts is explainByColumns for many columns, as those of individuals, or many numbers: with the projection H = QᵀQ to the
// columns Q of the basis and G = xxᵀ the sum of squares is Σ_ij H_ij G_ij, with G permuted, however many of either there are.
func (s *stratum) explainByProducts(from, to int, x *mat.Dense) func(d *Draw) (all, some float64) {
	rows, _ := x.Dims()
	whole, block := mat.NewSymDense(rows, nil), mat.NewSymDense(rows, nil)
	var gram mat.Dense
	q := stack(s.basis)
	gram.Mul(x, x.T())
	whole.SymOuterK(1, q.T())
	block.SymOuterK(1, q.Slice(from, to, 0, rows).T())
	return func(d *Draw) (all, some float64) { return d.Traces(&gram, whole, block) }
}

// Traces returns Σ_ij H_ij G_ij for two H and the products G = xxᵀ of permuted rows of x, given those of the rows as they are.
func (d *Draw) Traces(gram *mat.Dense, one, other *mat.SymDense) (first, second float64) {
	n := len(d.Order)
	products := make([]float64, n)
	of := func(h *mat.SymDense, i int) []float64 { return h.RawSymmetric().Data[i*n+i : (i+1)*n] } // the upper triangle, which is what it holds
	for i, a := range d.Order {
		row := gram.RawRowView(a)
		for j, b := range d.Order[i:] {
			products[i+j] = 2 * d.Sign[i] * d.Sign[i+j] * row[b]
		}
		products[i] /= 2
		first += floats.Dot(products[i:], of(one, i))
		second += floats.Dot(products[i:], of(other, i))
	}
	return first, second
}

// rows writes the permuted rows of x into out.
func (d *Draw) rows(out, x *mat.Dense) {
	for i, j := range d.Order {
		floats.ScaleTo(out.RawRowView(i), d.Sign[i], x.RawRowView(j))
	}
}

// columns writes the columns of q into out such that out · x is q times the permuted rows of x.
func (d *Draw) columns(out, q *mat.Dense) {
	rows, _ := q.Dims()
	for c := range rows {
		from, to := q.RawRowView(c), out.RawRowView(c)
		for i, j := range d.Order {
			to[j] = d.Sign[i] * from[i]
		}
	}
}
