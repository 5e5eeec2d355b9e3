package shape

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestArithmetic(t *testing.T) {
	a, b := Shape{{1, 2}, {3, -9}}, Shape{{0.5, 1}, {-1, 4}}
	for name, got := range map[string][2]Shape{
		"Add":   {a.Add(b), {{1.5, 3}, {2, -5}}},
		"Sub":   {a.Sub(b), {{0.5, 1}, {4, -13}}},
		"Scale": {a.Scale(-2), {{-2, -4}, {-6, 18}}},
		"Like":  {a.Like(a.Flat()), a},
	} {
		if !slices.EqualFunc(got[0], got[1], slices.Equal) {
			t.Errorf("%s: %v, want %v", name, got[0], got[1])
		}
		got[0][0][0] = 7
		if a[0][0] != 1 || b[0][0] != 0.5 {
			t.Fatalf("the result of %s shares memory with an argument", name)
		}
	}
	if d := a.Dot(b); d != 0.5+2-3-36 {
		t.Error("Dot", d)
	}
	if d := a.Distance(b); math.Abs(d-math.Sqrt(0.25+1+16+169)) > 1e-14 {
		t.Error("Distance", d)
	}
	if d := a.Largest(); d != 9 {
		t.Error("Largest", d)
	}
	if d := (Shape{{1, math.NaN()}, {3, 4}}).Largest(); !math.IsNaN(d) {
		t.Error("Largest passes over NaN:", d)
	}
	if Shape(nil).Largest() != 0 || Shape(nil).Add(nil).Flat() != nil {
		t.Error("no points")
	}
}

// Points of different numbers of coordinates keep them.
func TestForms(t *testing.T) {
	ragged := Shape{{1}, {2, 3}, {}}
	if got := Like(ragged, []float64{4, 5, 6}); !slices.EqualFunc(got, Shape{{4}, {5, 6}, {}}, slices.Equal) {
		t.Error(got)
	}
	list := []float64{1, 2}
	if got := Like(list, []float64{3, 4}); !slices.Equal(got, []float64{3, 4}) {
		t.Error(got)
	}
	if got := Flat([][]float64(ragged)); !slices.Equal(got, []float64{1, 2, 3}) || !slices.Equal(Flat(list), list) {
		t.Error(got)
	}
	if got := FlatAll([]Shape{ragged, {{5}}}); len(got) != 2 || got[1][0] != 5 || FlatAll[[]float64](nil) != nil {
		t.Error(got)
	}
}

func TestSizes(t *testing.T) {
	a := Shape{{1, 2}, {3, 4}}
	for want, f := range map[string]func(){
		"2 points of 2 coordinates and 1 points of 2 coordinates": func() { a.Add(a[:1]) },
		"2 points of 2 coordinates and 2 points of 1 coordinates": func() { a.Dot(Shape{{1}, {2}}) },
		"and no points: want two shapes of one size":              func() { a.Distance(nil) },
		"point 1 has 2 coordinates in one and 3":                  func() { a.Sub(Shape{{1, 2}, {1, 2, 3}}) },
	} {
		func() {
			defer func() {
				if got, _ := recover().(string); !strings.Contains(got, want) {
					t.Errorf("panic %q, want %q", got, want)
				}
			}()
			f()
		}()
	}
}
