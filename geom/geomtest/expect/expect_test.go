package expect

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

// record keeps what a test would have said.
type record struct{ said string }

func (r *record) Helper()                           {}
func (r *record) Logf(string, ...any)               {}
func (r *record) Errorf(format string, args ...any) { r.said += fmt.Sprintf(format, args...) + "\n" }

func TestExpect(t *testing.T) {
	nan, none := math.NaN(), []float64{}
	failed := errors.New("point 3: no point")
	for want, f := range map[string][]func(t test){
		"": {
			func(t test) { Abs(t, "x", 1.5, 1, 0.5) },
			func(t test) { Abs(t, "x", none, nil, 0) },
			func(t test) { Abs(t, "x", [][]float64{{1, 2}, {3}}, [][]float64{{1, 2}, {3.25}}, 0.25) },
			func(t test) { Rel(t, "x", []float64{0.5, 8}, []float64{0, 8}, 0.0625) },
			func(t test) { Rel(t, "x", []float64{0, 0}, []float64{0, 0}, 0) },
			func(t test) { Estimate(t, "x", 2, 0.25, 1.25) },
			func(t test) { Mean(t, "x", []float64{1, 2, 3}, 2+2.9/math.Sqrt(3)) }, // s = 1
			func(t test) { Distribution(t, "x", []float64{0.75, 0.25}, func(x float64) float64 { return x }) },
			func(t test) { Refused(t, failed, "point 3", "no point") },
			func(t test) { Refused(t, Error(1, failed), "point 3") },
		},
		"x: got 1.5, want 1, off by 0.5, tolerance 0.4": {func(t test) { Abs(t, "x", 1.5, 1, 0.4) }},
		"x[1][0]: got 3, want 3.25, off by 0.25, tolerance 0.2": {
			func(t test) { Abs(t, "x", [][]float64{{1, 2}, {3}}, [][]float64{{1, 2.125}, {3.25}}, 0.2) },
		},
		"x[0]: got 0.5, want 0, off by 0.5, which is 0.062 of the largest number wanted, tolerance 0.06 of it": {
			func(t test) { Rel(t, "x", []float64{0.5, 8}, []float64{0, 8}, 0.06) },
			func(t test) { Rel(t, "x", []float64{0.5, -8, 1}, []float64{0, -8, 1}, 0.06) },
		},
		"got NaN": {
			func(t test) { Abs(t, "x", nan, 1, math.Inf(1)) },
			func(t test) { Abs(t, "x", []float64{1, nan, 8}, []float64{1, 1, 1}, 100) },
			func(t test) { Rel(t, "x", []float64{nan, 8}, []float64{1, 1}, 100) },
			func(t test) { Estimate(t, "x", nan, 1, 1) },
		},
		"want NaN": {
			func(t test) { Abs(t, "x", 1, nan, 100) },
			func(t test) { Rel(t, "x", []float64{1, 1, 1}, []float64{1, nan, 1}, 100) },
		},
		"off by 1e-300":                      {func(t test) { Rel(t, "x", []float64{1e-300}, []float64{0}, 1) }},
		"x: got length 1, want 2":            {func(t test) { Rel(t, "x", []float64{1}, []float64{1, 2}, 1) }},
		"x[1]: got length 0, want 1":         {func(t test) { Abs(t, "x", [][]float64{{1}, {}}, [][]float64{{1}, {2}}, 1) }},
		"off by 0.76, which is 3.0 standard": {func(t test) { Estimate(t, "x", 2, 0.25, 1.24) }},
		"which is 3.1 standard errors":       {func(t test) { Mean(t, "x", []float64{1, 2, 3}, 2+3.1/math.Sqrt(3)) }},
		"x: the distribution is off by 0.95, tolerance 0.94": {
			func(t test) { Distribution(t, "x", []float64{0.98, 0.96, 0.95}, func(x float64) float64 { return x }) },
		},
		"off by NaN": {
			func(t test) { Distribution(t, "x", []float64{0.5}, func(x float64) float64 { return math.NaN() }) },
		},
		`no error, want one that says ["y"]`: {func(t test) { Refused(t, nil, "y") }},
		`error "a: a: b" says "a" twice`:     {func(t test) { Refused(t, errors.New("a: a: b"), "b") }},
		`no error, want one that says []`:    {func(t test) { Refused(t, nil) }},
		`no point", want one that says "y"`:  {func(t test) { Refused(t, failed, "point", "y") }},
	} {
		for i, f := range f {
			r := new(record)
			f(r)
			if (want == "") != (r.said == "") || !strings.Contains(r.said, want) || strings.Count(r.said, "\n") > 1 {
				t.Errorf("%q, case %d: said %q", want, i, r.said)
			}
		}
	}
	defer func() {
		if recover() != failed {
			t.Error("Must does not panic with the error")
		}
	}()
	if Must(1, nil) != 1 {
		t.Error("Must changes the value")
	}
	Must(1, failed)
}
