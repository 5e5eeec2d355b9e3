// Package param reads the values that a reader gives the parameters of notebooks: for nb.Param, and for the runner of the reports, which
// looks at them before anything is executed.
package param

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Parse returns a value of a kind, which is bool, int, float64 or string, from its text. Numbers are finite.
func Parse(kind, text string) (value any, err error) {
	want := ""
	switch kind {
	case "bool":
		value, err = strconv.ParseBool(text)
		want = "true or false"
	case "int":
		value, err = strconv.Atoi(text)
		want = "a whole number"
	case "float64":
		var x float64
		if x, err = strconv.ParseFloat(text, 64); math.IsNaN(x) || math.IsInf(x, 0) {
			err = strconv.ErrRange
		}
		value, want = x, "a number"
	case "string":
		return text, nil
	default:
		return nil, fmt.Errorf("no parameter is of the kind %q", kind)
	}
	if err != nil {
		return nil, errors.New("want " + want)
	}
	return value, nil
}

// Among returns an error that lists the allowed values, but for an empty one, if a value is none of them.
func Among(value string, allowed []string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	const most = 20
	allowed = slices.DeleteFunc(slices.Clone(allowed), func(a string) bool { return a == "" })
	words := make([]string, 0, most)
	for _, a := range allowed[:min(most, len(allowed))] {
		words = append(words, fmt.Sprintf("%q", a))
	}
	if more := len(allowed) - most; more > 0 {
		words = append(words, fmt.Sprintf("or one of %d more", more))
	}
	if len(words) == 0 {
		return errors.New("there is none to choose from")
	}
	return fmt.Errorf("want one of %s", strings.Join(words, ", "))
}
