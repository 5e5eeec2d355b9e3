package engine

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/gomlx/gomlx/core/tensors"

	"anatomy/internal/lists"
	"anatomy/internal/refuse"
)

// Values are the results of a call, in the order in which the graph function returned them. Scalar, Vector, Matrix and
// Array3 copy result i into Go's numbers and slices, and panic where it has another number of axes.
type Values []*tensors.Tensor

// Flat returns result i in row-major order as float64, whatever its element type.
func (v Values) Flat(i int) []float64 {
	var out []float64
	v[i].MustConstFlatData(func(flat any) {
		switch f := flat.(type) {
		case []float64:
			out = slices.Clone(f)
		case []float32:
			out = widen(f)
		case []int32:
			out = widen(f)
		case []int64:
			out = widen(f)
		case []bool:
			out = make([]float64, len(f))
			for i, b := range f {
				if b {
					out[i] = 1
				}
			}
		default:
			panic(fmt.Sprintf("engine: result %d has elements of type %s", i, v[i].DType()))
		}
	})
	return out
}

func widen[T float32 | int32 | int64](in []T) []float64 {
	return lists.Each(in, func(x T) float64 { return float64(x) })
}

// Scalar returns the first element of result i, which has one.
func (v Values) Scalar(i int) float64 { return v.Flat(i)[0] }

// Vector returns result i, of shape [n].
func (v Values) Vector(i int) []float64 { v.rank(i, 1); return v.Flat(i) }

// Matrix returns result i, of shape [n, m].
func (v Values) Matrix(i int) [][]float64 {
	d := v.rank(i, 2)
	return group(v.Flat(i), d[0], d[1])
}

// Array3 returns result i, of shape [n, m, k].
func (v Values) Array3(i int) [][][]float64 {
	d := v.rank(i, 3)
	return group(group(v.Flat(i), d[0]*d[1], d[2]), d[0], d[1])
}

func (v Values) rank(i, want int) []int {
	d := v[i].Shape().Dimensions
	refuse.If(len(d) != want, "engine: result %d has shape %s, not %d axes", i, v[i].Shape(), want)
	return d
}

// Unflatten cuts a flat slice into rows of length m that share its memory; what is left over at the end is dropped.
func Unflatten(flat []float64, m int) [][]float64 {
	rows := make([][]float64, 0, len(flat)/max(m, 1))
	for len(flat) >= m && m > 0 {
		rows = append(rows, flat[:m:m])
		flat = flat[m:]
	}
	return rows
}

// group cuts a slice into n of length m that share its memory.
func group[T any](rows []T, n, m int) [][]T {
	return lists.Make(n, func(i int) []T { return rows[i*m : (i+1)*m : (i+1)*m] })
}

// isNumbers reports whether a is a float64, or slices of them nested in any depth.
func isNumbers(a any) bool {
	t := reflect.TypeOf(a)
	for t != nil && t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t != nil && t.Kind() == reflect.Float64
}

// flatten returns the numbers of a float64, or of slices of float64 nested in any depth, in row-major order, and
// the dimensions: none, or one a level. Rows of different lengths are an error that names the row.
func flatten(a any) (flat []float64, dims []int, err error) {
	switch a := a.(type) {
	case float64:
		return []float64{a}, nil, nil
	case []float64:
		return slices.Clone(a), []int{len(a)}, nil
	}
	rows := reflect.ValueOf(a)
	if !isNumbers(a) || rows.Kind() != reflect.Slice {
		return nil, nil, fmt.Errorf("%T is not a number or nested slices of numbers", a)
	}
	if rows.Len() == 0 {
		return nil, nil, fmt.Errorf("empty %T", a)
	}
	for i := range rows.Len() {
		f, d, err := flatten(rows.Index(i).Interface())
		if err != nil {
			return nil, nil, fmt.Errorf("row %d: %w", i, err)
		}
		if i == 0 {
			dims, flat = append([]int{rows.Len()}, d...), make([]float64, 0, rows.Len()*len(f))
		} else if !slices.Equal(d, dims[1:]) {
			return nil, nil, fmt.Errorf("row %d has dimensions %v, row 0 has %v", i, d, dims[1:])
		}
		flat = append(flat, f...)
	}
	return flat, dims, nil
}
