package shapestats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/shape"
	"anatomy/geom/stats/linear"
	"anatomy/geom/tree"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/strain"
	"anatomy/landmarks/surfaces/mesh"
)

// small is a data set whose analyses take no time.
func small() *morpho.Dataset {
	d := morpho.Plethodon()
	var some []morpho.Specimen
	for i := 0; len(some) < 14; i = (i + 11) % len(d.Specimens) { // of all species and sites
		some = append(some, d.Specimens[i])
	}
	d.Specimens = some
	return d
}

// calls are functions that return errors; the methods of the values beside them are called, too.
func calls() (functions map[string]any, receivers []any) {
	d := small()
	m := expect.Must(Fit(d, linear.Factor("species")))
	cube := &mesh.Mesh{Vertices: [][]float64{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, Cells: [][]int{{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {0, 3, 2}}}
	return map[string]any{
		"tree.New": tree.New, "tree.Star": tree.Star, "tree.Parse": tree.Parse, "tree.Average": tree.Average, "tree.Cohort": tree.Cohort,
		"linear.NewDesign": linear.NewDesign, "linear.FitWithErrors": linear.FitWithErrors, "linear.Cells": linear.Cells,
		"morpho.FitSimilarity": morpho.FitSimilarity, "morpho.ShapeDistance": morpho.ShapeDistance, "morpho.Procrustes": morpho.Procrustes,
		"morpho.WeightedProcrustes": morpho.WeightedProcrustes, "morpho.Inspect": morpho.Inspect, "morpho.Mean": morpho.Mean, "morpho.Resample": morpho.Resample,
		"morpho.EstimateMissing": morpho.EstimateMissing,
		"morpho.ThinPlateSpline": morpho.ThinPlateSpline, "morpho.ProcrustesSliding": morpho.ProcrustesSliding,
		"morpho.ProcrustesSlidingGeomorph": morpho.ProcrustesSlidingGeomorph,
		"Fit":                              Fit, "FitWithErrors": FitWithErrors, "FitOnTree": FitOnTree, "FitRows": FitRows, "Parse": Parse, "TwoBlockPLS": TwoBlockPLS,
		"MeasureAllometry": MeasureAllometry, "MeasureIntegration": MeasureIntegration, "MeasureIntegrationOnTree": MeasureIntegrationOnTree,
		"PhylogeneticComponents": PhylogeneticComponents, "PhylogeneticSignal": PhylogeneticSignal, "PhylogeneticLambda": PhylogeneticLambda,
		"EvolutionaryRates": EvolutionaryRates, "CanonicalVariates": CanonicalVariates, "BetweenGroupComponents": BetweenGroupComponents,
		"ObjectSymmetry": ObjectSymmetry, "MeasureRepeatability": MeasureRepeatability,
		"strain.Of": strain.Of, "mesh.Strains": mesh.Strains,
	}, []any{d, &morpho.Dataset{}, m, m.Model, m.Design, cube, &mesh.Mesh{}, expect.Must(tree.Star(3, 1)), &tree.Tree{}, &tree.Tree{Parent: []int{-1, 0, 5}}}
}

// arguments are hostile values of a type; reflect.Zero is always one.
func arguments(random *rand.Rand) map[reflect.Type][]any {
	nan, inf := math.NaN(), math.Inf(1)
	d := small()
	hole, ragged, flat := small(), small(), small()
	hole.Specimens[1].Points = [][]float64{{nan, nan}, {inf, 1}}
	ragged.Specimens[2].Points = ragged.Specimens[2].Points[:3]
	for i := range flat.Specimens {
		flat.Specimens[i].Points = slices.Repeat([][]float64{{0, 0}}, 12)
	}
	shapes := d.Shapes()
	row := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = random.NormFloat64()
		}
		return x
	}
	rows := func(n, p int) [][]float64 {
		x := make([][]float64, n)
		for i := range x {
			x[i] = row(p)
		}
		return x
	}
	names := d.Names()
	out := map[reflect.Type][]any{}
	add := func(values ...any) {
		for _, v := range values {
			out[reflect.TypeOf(v)] = append(out[reflect.TypeOf(v)], v)
		}
	}
	add(0, 1, 2, 14, -1, 99, math.MaxInt, math.MinInt, 0.0, 1.0, -1.0, nan, inf, -inf, 1e308, "", "species", "group", "nothing", "((", "a:b*c", "\x00", true)
	add([]float64{}, []float64{nan}, []float64{inf, 1}, row(3), row(14), make([]float64, 14), []float64{-1, 2, 3})
	add([][]float64{}, [][]float64{{}}, [][]float64{nil, nil}, rows(14, 3), rows(14, 0), rows(3, 2), rows(12, 2), rows(12, 3), [][]float64{{1}, {1, 2}}, [][]float64{{nan, 1}, {1, inf}}, shapes[0], rows(1, 1), make([][]float64, 3))
	add([]shape.Shape{}, []shape.Shape{{}}, []shape.Shape{nil, {{1, 2}}}, shapes, shapes[:1], hole.Shapes(), ragged.Shapes(), flat.Shapes())
	add([]int{}, []int{-1}, []int{0, 1, 2}, []int{99}, []int{0, 0}, []int{-1, 0, 0}, []int{math.MaxInt}, [][]int{}, [][]int{{0}}, [][]int{{0, 1}, {99}}, [][]int{{0, 1, 2, 3, 4, 5}, {6, 7, 8, 9, 10, 11}}, [][2]int{}, [][2]int{{0, 99}}, [][2]int{{0, 0}}, [][2]int{{0, 1}, {2, 3}})
	add([]string{}, []string{"a", "a"}, []string{"", "b"}, names, names[:3], map[string]string{"species": "?"}, map[string]string{})
	add(d, &morpho.Dataset{}, hole, ragged, flat, &morpho.Dataset{Specimens: make([]morpho.Specimen, 3)})
	add(&tree.Tree{}, &tree.Tree{Parent: []int{-1, 0, 0}}, &tree.Tree{Parent: []int{5}, Length: []float64{0}, Name: []string{""}}, expect.Must(tree.Star(14, 1)), expect.Must(tree.New([]int{-1, 0, 0}, []float64{0, nan, nan}, names[:3])))
	add(linear.Term{}, linear.Factor("species"), linear.Factor("nothing"), linear.Covariate("species"), linear.Interaction(), linear.Interaction(linear.Term{}), LogSize(), linear.Factor("species").Over(linear.Term{}), linear.Covariate("x", row(14)...), linear.Covariate("x", nan, inf))
	add([]linear.Term{}, []linear.Term{{}}, []linear.Term{linear.Factor("species")}, []linear.Term{LogSize(), LogSize()}, []linear.Term{linear.Interaction(linear.Factor("species"), LogSize())})
	add(linear.Permutations{}, linear.Permutations{N: -1}, linear.Permutations{N: 3}, linear.Permutations{N: math.MaxInt}, linear.SumsOfSquares(0), linear.SumsOfSquares(-1), linear.SumsOfSquares(99))
	add(morpho.Criterion(0), morpho.Criterion(99), []morpho.Semilandmark{}, []morpho.Semilandmark{{}}, []morpho.Semilandmark{{Point: 1, Neighbours: []int{0, 2}}}, []morpho.Semilandmark{{Point: 99, Neighbours: []int{-1}}}, morpho.Semilandmark{})
	add(&mesh.Mesh{}, &mesh.Mesh{Vertices: [][]float64{{nan, 0, 0}}, Cells: [][]int{{0, 5, -1}}}, &mesh.Mesh{Vertices: rows(3, 3), Cells: [][]int{{0, 1, 2}}})
	return out
}

// Functions that return errors return them: none panics, whatever it is called with.
func TestHostileCalls(t *testing.T) {
	random := rand.New(rand.NewPCG(60, 1))
	given := arguments(random)
	functions, receivers := calls()
	all := map[string]reflect.Value{}
	for name, f := range functions {
		all[name] = reflect.ValueOf(f)
	}
	for i, r := range receivers {
		v := reflect.ValueOf(r)
		for k := range v.NumMethod() {
			all[fmt.Sprintf("(%T %d).%s", r, i, v.Type().Method(k).Name)] = v.Method(k)
		}
	}
	failure := reflect.TypeFor[error]()
	names := []string{}
	for name, f := range all {
		outs := f.Type().NumOut()
		if outs > 0 && f.Type().Out(outs-1) == failure && !strings.Contains(name, "Read") && !strings.Contains(name, "Unmarshal") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	count, begin, told := 0, time.Now(), map[string]bool{}
	for range 60 {
		for _, name := range names {
			f := all[name]
			if time.Since(begin) > time.Minute || told[name] {
				continue
			}
			var args []reflect.Value
			for k := range f.Type().NumIn() {
				of := f.Type().In(k)
				if f.Type().IsVariadic() && k == f.Type().NumIn()-1 {
					of = of.Elem()
					for k := random.IntN(3); k > 0 && len(given[of]) > 0; k-- { // options are functions, of which none is nil
						args = append(args, one(random, given, of))
					}
					continue
				}
				args = append(args, one(random, given, of))
			}
			count++
			func() {
				defer func() {
					if p := recover(); p != nil {
						told[name] = true
						var words []string
						for _, a := range args {
							words = append(words, fmt.Sprintf("%.80v", a))
						}
						t.Errorf("%s(%s): panic: %.200v", name, strings.Join(words, "; "), p)
					}
				}()
				f.Call(args)
			}()
		}
	}
	t.Logf("%d calls of %d functions in %v", count, len(names), time.Since(begin))
	if count < 3000 {
		t.Error("too few calls")
	}
}

// one is a hostile value of a type: a data set or a mesh is not nil, which is an error of the program.
func one(random *rand.Rand, given map[reflect.Type][]any, of reflect.Type) reflect.Value {
	whole := of == reflect.TypeFor[*morpho.Dataset]() || of == reflect.TypeFor[*mesh.Mesh]()
	if values := given[of]; len(values) > 0 && (whole || random.IntN(10) > 0) {
		return reflect.ValueOf(values[random.IntN(len(values))])
	}
	return reflect.Zero(of)
}

// What returned a number that was none returns an error.
func TestNoNumberWithoutReason(t *testing.T) {
	d := small()
	m := expect.Must(Fit(d, linear.Factor("species")))
	p := linear.Permutations{N: 9}
	for _, k := range []int{-1, 1, 99} {
		expect.Refused(t, expect.Error(m.Partial(k, p)), "the model has 1, counted from 0")
	}
	expect.Refused(t, expect.Error(FitRows(d, make([][]float64, 3))), "3 rows for 14 specimens")
	expect.Refused(t, expect.Error(Fit(d, linear.Term{})), "a term that is none")
	expect.Refused(t, expect.Error(tree.Star(2, math.NaN())), "have no length")
	expect.Refused(t, expect.Error((&morpho.Dataset{}).LogSizes()), "no specimens")
	byHand := &tree.Tree{Parent: []int{-1, 0, 0}}
	expect.Refused(t, expect.Error(byHand.Shared()), "make it with New or Parse")
	expect.Refused(t, expect.Error(byHand.Keep("a")), "make it with New or Parse")
	_, err := m.ANOVA(linear.Permutations{N: 10_000_001})
	expect.Refused(t, err, "10000001 permutations would take about", "10000000 is the most")
}
