package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gomlx/go-xla/stablehlo"
)

// tidy leaves out of a program what leads to no result, and what stands before in the same function or body of a loop. In derivatives of derivatives
// that is up to half of all. XLA finds both, but only after it has read and checked the program and gone through it many times.
func tidy(main *stablehlo.Function) {
	prune(main, map[string]bool{})
	merge(main, map[string]*stablehlo.Value{})
}

// prune leaves the statements that lead to live values, by their names, and adds what they need to these.
func prune(f *stablehlo.Function, live map[string]bool) {
	var kept []*stablehlo.Statement
	for _, s := range slices.Backward(f.Statements) {
		if len(s.Outputs) > 0 && !slices.ContainsFunc(s.Outputs, func(v *stablehlo.Value) bool { return live[v.String()] }) {
			continue
		}
		for _, v := range s.Inputs {
			live[v.String()] = true
		}
		for _, inner := range s.FunctionParameters {
			prune(inner, live)
		}
		kept = append(kept, s)
	}
	slices.Reverse(kept)
	f.Statements = kept
}

// merge leaves the first of statements that are the same. It takes the first value for each, by its name, and adds those that it finds.
func merge(f *stablehlo.Function, firsts map[string]*stablehlo.Value) {
	seen := map[string][]*stablehlo.Value{}
	f.Statements = slices.DeleteFunc(f.Statements, func(s *stablehlo.Statement) bool {
		key := new(strings.Builder)
		key.WriteString(s.OpType.String())
		s.Inputs = slices.Clone(s.Inputs)
		for i, v := range s.Inputs {
			if first := firsts[v.String()]; first != nil {
				s.Inputs[i] = first
			}
			key.WriteString(s.Inputs[i].String())
		}
		simple := true
		for _, inner := range s.FunctionParameters {
			merge(inner, firsts)
			if simple = strings.HasPrefix(key.String(), "Reduce%") && len(inner.Statements) == 2; simple { // an operation of two numbers, and its return
				fmt.Fprint(key, inner.Statements[0].OpType, inner.Statements[0].Inputs)
			}
		}
		if !simple || len(s.Outputs) == 0 {
			return false
		}
		for _, v := range s.Outputs {
			fmt.Fprint(key, v.Shape())
		}
		if len(s.Attributes) > 0 {
			fmt.Fprint(key, s.Attributes)
		}
		outputs, found := seen[key.String()]
		if !found {
			seen[key.String()] = s.Outputs
			return false
		}
		for i, v := range s.Outputs {
			firsts[v.String()] = outputs[i]
		}
		return true
	})
}
