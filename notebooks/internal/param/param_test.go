package param

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		kind, text string
		want       any // nil for an error
	}{
		{"bool", "true", true}, {"bool", "0", false}, {"bool", "yes", nil}, {"bool", "", nil},
		{"int", "-7", -7}, {"int", "7.0", nil}, {"int", "1e3", nil},
		{"float64", "2e-1", 0.2}, {"float64", "3", 3.0}, {"float64", "0,5", nil}, {"float64", "wide", nil},
		{"float64", "NaN", nil}, {"float64", "-inf", nil}, {"float64", "1e999", nil},
		{"string", "", ""}, {"string", "Homo sapiens", "Homo sapiens"},
		{"complex128", "1", nil},
	} {
		got, err := Parse(c.kind, c.text)
		if (err != nil) != (c.want == nil) || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s %q: %v, error %v", c.kind, c.text, got, err)
		}
	}
}

func TestAmong(t *testing.T) {
	many := make([]string, 100)
	for i := range many {
		many[i] = fmt.Sprint("mouse", i)
	}
	for _, c := range []struct {
		value   string
		allowed []string
		said    string // "" for no error
	}{
		{"b", []string{"a", "b"}, ""},
		{"c", []string{"a", "b\x1b[31m"}, `want one of "a", "b\x1b[31m"`},
		{"mouse99", many, ""},
		{"mouse", many, `"mouse19", or one of 80 more`},
		{"", []string{"a", ""}, ""},
		{"c", []string{"a", ""}, `want one of "a"`},
		{"a", nil, "there is none to choose from"},
	} {
		err := Among(c.value, c.allowed)
		if (err == nil) != (c.said == "") || err != nil && !strings.Contains(err.Error(), c.said) {
			t.Errorf("%q: error %v, want %q", c.value, err, c.said)
		}
	}
}
