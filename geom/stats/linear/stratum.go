package linear

import (
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/try"
	"anatomy/internal/dense"
	"anatomy/internal/lists"
)

// stratum is a linear model with residuals that are exchangeable under the null hypothesis: of the rows of y, the residuals of the model
// with the terms before the one that is tested.
type stratum struct {
	*response
	frame               // of what explains y; of a stratum of levels the basis alone
	blocks     [][2]int // from where to where in the basis the constant and the terms are; empty for those that are not of this stratum
	name       string   // of what is left
	negligible float64  // a sum of squares of rounding errors
	exchange   Exchange // with signs where these are arbitrary
	cells      [][]int  // of categories, in which the rows of the basis are alike; nil: one
}

// response is the rows that are explained.
type response struct {
	y *mat.Dense // [R, p]

	once     sync.Once
	narrowed *mat.Dense
}

// short returns the rows in no more columns than there are rows, with the same lengths and angles.
func (r *response) short() *mat.Dense {
	r.once.Do(func() { r.narrowed = narrow(r.y) })
	return r.narrowed
}

// df is the number of degrees of freedom of the blocks from one to before another.
func (s *stratum) df(from, to int) int { return s.blocks[to-1][1] - s.blocks[from][0] }

// left is that of the residuals.
func (s *stratum) left() int { return s.y.RawMatrix().Rows - len(s.basis) }

// over returns the stratum of the levels of term e, at which the columns of e differ, for the test of term k: rows are √m times the
// means of the m samples of a level, and what the terms before e leave of them is e.
func (s *stratum) over(k, e int, columns []column, name string) *stratum {
	levels := together(len(s.basis[0]), func(i int) []float64 { // the samples of each
		return lists.Each(columns, func(column column) float64 { return column.values[i] })
	})
	least, most := len(levels[0]), 0
	for _, of := range levels {
		least, most = min(least, len(of)), max(most, len(of))
	}
	try.FailIf(least < most, "its levels have from %d to %d samples, and can be exchanged only if all have as many: leave some out, or take the means", least, most)
	root := math.Sqrt(float64(most))
	out := &stratum{response: &response{y: mat.NewDense(len(levels), s.y.RawMatrix().Cols, nil)}, blocks: make([][2]int, e), name: name, negligible: s.negligible}
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
				try.Fail("it varies within the levels of that term, or is confounded with a term before that does")
			}
		}
		if j < e {
			out.blocks[j] = [2]int{from, len(out.basis)}
		}
	}
	try.FailIf(count < len(levels), "a term before that one varies both between its levels and within them, or its values are no categories")
	return out
}

// fit returns what the first m columns of the basis explain of x, by these columns [m, p], and its residuals.
func (s *stratum) fit(x *mat.Dense, m int) (explained, residuals *mat.Dense) {
	residuals = mat.DenseCopyOf(x)
	if m == 0 {
		return nil, residuals
	}
	q := dense.Rows(s.basis[:m])
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
			blocks[k] = sumOfSquares(explained.Slice(b[0], b[1], 0, x.RawMatrix().Cols).(*mat.Dense))
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

// hypothesis is that the blocks from one to before another of a basis explain nothing beside those before.
type hypothesis struct {
	*stratum
	from, to int
}

// columns are those of the basis from which to before which the blocks are.
func (h hypothesis) columns() (from, to int) { return h.blocks[h.from][0], h.blocks[h.to-1][1] }

// explain returns, for each of some hypotheses, the sums of squares which the whole basis and the blocks in question explain of the permuted residuals
// of the model without these and those after them.
type explain = func(d *Draw) (all, some []float64)

// test tests hypotheses about the rows of the stratum by their F, and returns the F of the draws for each. What is permuted has no part in
// the blocks before, and what the model with them fits has none in these and those after them.
func (s *stratum) test(name string, of []hypothesis, p Permutations) (tests []Test, permuted [][]float64) {
	rows, columns := s.short().Dims()
	sums := newSums(dense.Rows(s.basis), s.cells)
	steps := (sums.steps() + len(of)*len(s.basis)*len(s.basis)) * columns // of a draw, for all hypotheses
	by, together := func(of []hypothesis) func() explain { return s.byColumns(of, sums) }, len(of)
	if 4*rows*rows*len(of) < steps && rows <= 4000 { // 4 R² steps for one hypothesis, and the memory of three matrices of R² numbers
		by, together = s.byProducts, 1
	}
	for some := range slices.Chunk(of, together) {
		found, fs := s.testBy(name, some, by(some), p)
		tests, permuted = append(tests, found...), append(permuted, fs...)
	}
	return tests, permuted
}

// testBy does so with sums of squares by one of two ways.
func (s *stratum) testBy(name string, of []hypothesis, by func() explain, p Permutations) (tests []Test, permuted [][]float64) {
	observed, reduced, totals := make([]float64, len(of)), make([]*mat.Dense, len(of)), make([]float64, len(of))
	short := s.short()
	for k, h := range of {
		from, _ := h.columns()
		observed[k] = h.f(h.from, h.to, h.y)
		_, reduced[k] = h.fit(short, from)
		totals[k] = sumOfSquares(reduced[k])
	}
	permuted = make([][]float64, len(of))
	return try.Get(p.OnCores(name, short.RawMatrix().Rows, s.exchange, observed, func() statistic {
		explain, rows, f := by(), new(mat.Dense), make([]float64, len(of))
		return func(d *Draw) ([]float64, error) {
			all, some := explain(d)
			for k, h := range of {
				f[k] = h.ratio(h.from, h.to, some[k], totals[k]-all[k])
				if totals[k]-all[k] < 1e-3*totals[k] { // the difference has cancelled
					if rows.IsEmpty() {
						rows = mat.DenseCopyOf(short)
					}
					d.rows(rows, reduced[k])
					f[k] = h.f(h.from, h.to, rows)
				}
			}
			return f, nil
		}
	}, func(f []float64) {
		for k := range of {
			permuted[k] = append(permuted[k], f[k])
		}
	})), permuted
}

// byColumns multiplies the basis Q and the permuted rows Πy, once for all hypotheses: the residuals of a model with columns N of the basis are y − Nᵀ(Ny), of
// which the basis explains QΠy − QΠNᵀ(Ny).
func (s *stratum) byColumns(of []hypothesis, sums *sums) func() explain {
	_, y := s.fit(s.short(), s.blocks[0][1])
	q := dense.Rows(s.basis)
	m, n := q.Dims()
	_, columns := y.Dims()
	rows := mat.NewDense(n, columns+m, nil) // y, and the columns of the basis
	rows.Augment(y, q.T())
	type part struct{ null, explained, block *mat.Dense } // the columns N and those in question, in coordinates of the basis; Ny
	parts := make([]part, len(of))
	for k, h := range of {
		var turn, explained mat.Dense
		turn.Mul(dense.Rows(h.basis), q.T())
		from, to := h.columns()
		parts[k].block = mat.DenseCopyOf(turn.Slice(from, to, 0, m))
		if from > 0 {
			parts[k].null = mat.DenseCopyOf(turn.Slice(0, from, 0, m))
			explained.Product(parts[k].null, q, y)
			parts[k].explained = &explained
		}
	}
	return func() explain {
		project := sums.of(rows, nil)
		turned, block, left := make([]mat.Dense, len(of)), make([]mat.Dense, len(of)), mat.NewDense(m, columns, nil)
		all, some := make([]float64, len(of)), make([]float64, len(of))
		return func(d *Draw) (_, _ []float64) {
			projected := project(d)
			whole, basis := projected.Slice(0, m, 0, columns), projected.Slice(0, m, columns, columns+m)
			for k, p := range parts {
				explained := whole.(*mat.Dense)
				if p.null != nil {
					turned[k].Mul(basis, p.null.T())
					left.Copy(whole)
					addProduct(left, -1, &turned[k], p.explained)
					explained = left
				}
				block[k].Mul(p.block, explained)
				all[k], some[k] = sumOfSquares(explained), sumOfSquares(&block[k])
			}
			return all, some
		}
	}
}

// byProducts is byColumns for many columns, as those of individuals, or many numbers, and one hypothesis: with the projection H = QᵀQ to the
// columns Q of the basis and G = xxᵀ the sum of squares is Σ_ij H_ij G_ij, with G permuted, however many of either there are.
func (s *stratum) byProducts(of []hypothesis) func() explain {
	h := of[0]
	from, to := h.columns()
	_, x := h.fit(h.y, from)
	rows, _ := x.Dims()
	var gram mat.Dense
	q := dense.Rows(h.basis)
	gram.Mul(x, x.T())
	whole, block := dense.Gram(q.T()), dense.Gram(q.Slice(from, to, 0, rows).T())
	return func() explain {
		return func(d *Draw) (all, some []float64) {
			first, second := d.Traces(&gram, whole, block)
			return []float64{first}, []float64{second}
		}
	}
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
