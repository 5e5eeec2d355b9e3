package morpho

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"anatomy/geom/try"
	"anatomy/landmarks/internal/text"
	"anatomy/landmarks/morpho/files"
)

// Kind is what the values of a column are.
type Kind int

const (
	Categories Kind = iota
	Numbers
)

// fewValues are the distinct whole numbers, at most, by which people number categories.
const fewValues = 10

// Variable is what a column of the data set is taken for.
type Variable struct {
	Name   string
	Kind   Kind
	Doubt  bool     // the values are few whole numbers, which may be either
	Values []string // the distinct ones in the order of the specimens
}

// String says what the column is taken for, and how to ask for the other kind.
func (r *Variable) String() string {
	what, other, ask := "numbers", "categories", "factor"
	if r.Kind == Categories {
		what, other, ask = "categories", "numbers", "number"
	}
	return fmt.Sprintf("%s has the values %s and is taken for %s; %s(%s) takes it for %s", r.Name, text.Listed(r.Values), what, ask, r.Name, other)
}

// Variable says what a column is taken for: "group" for categories, one of numbers for these, and any other one for categories. It is an error if
// most values are numbers and others are not, with these cells, if all specimens have one value, or if there is no such column.
func (d *Dataset) Variable(name string) (_ *Variable, err error) {
	defer try.Catch(&err)
	column := try.Get(d.Column(name))
	r := &Variable{Name: name, Kind: Numbers, Doubt: true}
	var cells, names []string
	numbers := 0
	for i, value := range column {
		v, err := files.Number(value)
		if err != nil || math.IsNaN(v) {
			cells, names = append(cells, fmt.Sprintf("%s has %s", text.Clip(d.Specimens[i].Name), text.Clip(value))), append(names, d.Specimens[i].Name)
		} else {
			numbers++
		}
		r.Doubt = r.Doubt && v == math.Trunc(v)
		if !slices.Contains(r.Values, value) && len(r.Values) <= fewValues {
			r.Values = append(r.Values, value)
		}
	}
	r.Doubt = r.Doubt && cells == nil && len(r.Values) <= fewValues && 2*len(r.Values) <= len(column)
	switch {
	case len(r.Values) == 1 && len(column) > 1 && r.Values[0] != "":
		return nil, text.Advise("leave it out of the model", "%s is %s in all specimens, so that it explains nothing", name, text.Clip(r.Values[0]))
	case name == "group":
		r.Kind = Categories
	case 2*numbers > len(column) && cells != nil:
		return nil, text.Advise(fmt.Sprintf("correct the cells, or leave the specimens out (--without %s); factor(%s) takes all values for categories",
			quoted(strings.Join(names, "; ")), name),
			"most values of %s are numbers, but %s", name, text.Listed(cells))
	case cells != nil:
		r.Kind = Categories
	}
	return r, nil
}
