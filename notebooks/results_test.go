package notebooks

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"anatomy/geom"
	"anatomy/geom/framebundle"
	"anatomy/geom/guided"
	"anatomy/geom/lie"
	"anatomy/geom/solve"
	"anatomy/geom/stats"
	"anatomy/geom/stats/linear"
	"anatomy/geom/stochastic"
	"anatomy/geom/tree"
	"anatomy/landmarks"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/morpho/shapestats"
	"anatomy/landmarks/surfaces/population"
)

// results are the types of what an estimate, a search or a fit returns with an error.
var results = []any{
	(*geom.Geodesic[geom.Vec])(nil), (*framebundle.Geodesic[geom.Vec])(nil), (*framebundle.Development[geom.Vec])(nil),
	(*guided.Posterior[geom.Vec])(nil), (*guided.Maximum)(nil), (*lie.Motion[geom.Vec])(nil), (*solve.Minimum)(nil), (*solve.LBFGS)(nil), (*solve.Root)(nil),
	(*stats.Mean[geom.Vec])(nil), (*stats.Uncertainty[geom.Vec])(nil), (*stats.PCA[geom.Vec])(nil), (*framebundle.Mean[geom.Vec])(nil),
	(*stats.Regression[geom.Vec])(nil), (*stats.Growth[geom.Vec])(nil), (*stats.Departure)(nil), (*stats.Ancestry[geom.Vec])(nil),
	(*stats.Test)(nil), (*stats.Comparison[geom.Vec])(nil),
	(*linear.Model)(nil), (*linear.ANOVA)(nil), (*linear.Partial)(nil), (*linear.Places)(nil), (*linear.Disparity)(nil), (*linear.Trajectories)(nil),
	(*stochastic.Mean[geom.Vec])(nil), (*stochastic.Flow[geom.Vec])(nil), (*stochastic.Bridges[geom.Vec])(nil), (*stochastic.Meetings[geom.Vec])(nil), (*stochastic.Paths[geom.Vec])(nil),
	(*tree.Ancestors)(nil), (*tree.Rates)(nil), (*tree.Signal)(nil), (*tree.Lambda)(nil),
	(*landmarks.Matching)(nil), (*landmarks.Deformation)(nil), (*morpho.Alignment)(nil), (*morpho.SlidAlignment)(nil), (*morpho.Inspection)(nil),
	(*population.Aligned)(nil), (*population.Atlas)(nil), (*population.Difference)(nil), (*population.Placement)(nil),
	(*shapestats.Model)(nil), (*shapestats.Integration)(nil), (*shapestats.Allometry)(nil), (*shapestats.Components)(nil), (*shapestats.Repeatability)(nil), (*shapestats.Separation)(nil), (*shapestats.Modularity)(nil), (*shapestats.PLS)(nil), (*shapestats.Symmetry)(nil),
}

// notResults are other types that functions of these packages return with an error: data, and what is computed with.
var notResults = []string{
	"morpho.Dataset", "morpho.Variable", "shapestats.Formula", "tree.Tree", "linear.Design", "population.Rounds", "population.AtlasRound", "population.Part",
}

// TestResults asks each result for its methods. One that has a Status has a method Err, which is nil only where it has converged. Each
// method of a nil result panics with its name, for the error of a failed call is easily ignored.
func TestResults(t *testing.T) {
	names := slices.Clone(notResults)
	for _, r := range results {
		at := reflect.TypeOf(r)
		name, _, _ := strings.Cut(strings.TrimPrefix(at.String(), "*"), "[")
		names = append(names, name)
		t.Run(name, func(t *testing.T) { asked(t, name, reflect.ValueOf(r)) })
	}
	slices.Sort(names)
	for _, name := range returned(t) {
		if _, found := slices.BinarySearch(names, name); !found {
			t.Errorf("functions return *%s with an error: is it a result? Then list it in results, otherwise in notResults", name)
		}
	}
}

// embedded says whether a type has a method from a pointer that it embeds, which a nil result cannot reach.
func embedded(of reflect.Type, method string) bool {
	for i := range of.NumField() {
		if f := of.Field(i); f.Anonymous && f.Type.Kind() == reflect.Pointer {
			if _, has := f.Type.MethodByName(method); has {
				return true
			}
		}
	}
	return false
}

func asked(t *testing.T, name string, nothing reflect.Value) {
	at := nothing.Type()
	if status, has := at.Elem().FieldByName("Status"); has && status.Type == reflect.TypeFor[solve.Status]() {
		for _, s := range []solve.Status{0, solve.Converged, solve.Stalled, solve.IterationLimit, solve.Cancelled} {
			err := ended(at.Elem(), s)
			if (err == nil) != (s == solve.Converged) {
				t.Errorf("Err of a result with the Status %q is %v", s, err)
			}
		}
	}
	for i := range at.NumMethod() {
		method := at.Method(i)
		// Package fmt writes <nil> for a String that panics. StandardError is a method of a number's own value.
		if method.Name == "String" || method.Name == "StandardError" && method.Type.NumIn() == 1 || embedded(at.Elem(), method.Name) {
			continue
		}
		in := []reflect.Value{nothing}
		for k := 1; k < method.Type.NumIn(); k++ {
			if !method.Type.IsVariadic() || k < method.Type.NumIn()-1 {
				in = append(in, reflect.Zero(method.Type.In(k)))
			}
		}
		func() {
			defer func() {
				if said := fmt.Sprint(recover()); !strings.HasPrefix(said, name+".") || !strings.Contains(said, "of nil, the result of a failed call") {
					t.Errorf("%s.%s of nil panics with %q: let it call solve.NotNil first", name, method.Name, said)
				}
			}()
			method.Func.Call(in)
		}()
	}
}

// ended returns Err of a result that has only a Status.
func ended(of reflect.Type, s solve.Status) (err error) {
	r := reflect.New(of)
	for i := range of.NumField() {
		if f := of.Field(i); f.Anonymous && f.Type.Kind() == reflect.Pointer { // such as the alignment of one with semi-landmarks
			r.Elem().Field(i).Set(reflect.New(f.Type.Elem()))
		}
	}
	r.Elem().FieldByName("Status").Set(reflect.ValueOf(s))
	if done := r.Elem().FieldByName("Done"); done.IsValid() {
		done.SetBool(true)
	}
	asks, has := r.Interface().(interface{ Err() error })
	if !has {
		return fmt.Errorf("missing, although it has a %s", s)
	}
	return asks.Err()
}

// TestTablesOfNames holds the tables of geom/doc.go: the verbs are functions, the fields are those of results, and none that three
// results share is left out.
func TestTablesOfNames(t *testing.T) {
	text, err := os.ReadFile("../geom/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^//\t((?:[A-Z]\w*(?:, )?)+) +\S`)
	table := func(from, to string) (names []string) {
		_, rest, _ := strings.Cut(string(text), "// # "+from+"\n")
		rest, _, _ = strings.Cut(rest, "// # "+to+"\n")
		for _, match := range row.FindAllStringSubmatch(rest, -1) {
			names = append(names, strings.Split(match[1], ", ")...)
		}
		return names
	}
	functions := map[string]bool{}
	for _, names := range declared(t) {
		for name := range names {
			functions[name[strings.LastIndex(name, ".")+1:]] = true
		}
	}
	verbs := table("Verbs", "Results")
	for _, verb := range verbs {
		if !functions[verb] {
			t.Errorf("geom/doc.go has the verb %s, which no function is called", verb)
		}
	}
	sharing := map[string]int{}
	for _, r := range results {
		of := reflect.TypeOf(r).Elem()
		for i := range of.NumField() {
			if f := of.Field(i); f.IsExported() && !f.Anonymous {
				sharing[f.Name]++
			}
		}
	}
	fields := table("Results", "Errors")
	for _, field := range fields {
		if sharing[field] == 0 && field != "StepError" && field != "EffectiveSize" {
			t.Errorf("geom/doc.go has the field %s, which no result has", field)
		}
	}
	for field, n := range sharing {
		if n >= 4 && !slices.Contains(fields, field) {
			t.Errorf("%d results have a field %s: add it to the table of geom/doc.go", n, field)
		}
	}
	if len(verbs) < 15 || len(fields) < 15 {
		t.Errorf("found %d verbs and %d fields, want at least 15 of each", len(verbs), len(fields))
	}
}

// returned lists the structures with a Status, and those to which exported functions of the packages of results return pointers with
// an error.
func returned(t *testing.T) (names []string) {
	var packages []string
	for _, r := range results {
		packages = append(packages, strings.TrimPrefix(reflect.TypeOf(r).Elem().PkgPath(), modulePath))
	}
	slices.Sort(packages)
	for _, folder := range slices.Compact(packages) {
		files, err := filepath.Glob("../" + folder + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		structs, found := map[string]bool{}, map[string]bool{}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.TypeSpec:
					if s, ok := n.Type.(*ast.StructType); ok && n.Name.IsExported() {
						structs[n.Name.Name] = true
						for _, f := range s.Fields.List {
							of := typeName(f.Type)
							if len(f.Names) > 0 && f.Names[0].Name == "Status" && (of == "Status" || of == "geom.Status" || of == "solve.Status") {
								found[n.Name.Name] = true
							}
						}
					}
				case *ast.FuncDecl:
					if r := n.Type.Results; n.Name.IsExported() && r != nil && len(r.List) == 2 && typeName(r.List[1].Type) == "error" {
						if p, ok := r.List[0].Type.(*ast.StarExpr); ok {
							found[typeName(p.X)] = true
						}
					}
				}
				return true
			})
		}
		for name := range found {
			if structs[name] {
				names = append(names, filepath.Base(folder)+"."+name)
			}
		}
	}
	return names
}

// typeName is the name of a type without its parameters.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return typeName(e.X) + "." + e.Sel.Name
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.StarExpr:
		return typeName(e.X)
	}
	return ""
}
