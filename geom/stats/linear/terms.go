package linear

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/try"
	"anatomy/internal/lists"
)

// Data are samples whose columns have names, for terms without values of their own.
type Data interface {
	Column(name string) ([]string, error)   // the values of a Factor
	Numbers(name string) ([]float64, error) // those of a Covariate
	Row(i int) string                       // what sample i is called in errors, such as `specimen "a"`
}

// Term is what may explain samples: a Factor, a Covariate or an Interaction.
type Term struct {
	name    string
	parts   []string                // the names of the terms that it is the interaction of; its own if it is none
	columns func(s source) []column // of the design matrix
	over    string                  // the name of the term whose mean square it is tested over; empty for the residuals
}

// Terms are the terms of a model, in the order in which they explain.
type Terms []Term

// Name is the name of the term; that of an interaction is "a:b".
func (t Term) Name() string { return t.name }

// source are n samples with their data, which may be nil.
type source struct {
	n    int
	data Data
}

// row names a sample in an error.
func (s source) row(i int) string {
	if s.data != nil {
		return s.data.Row(i)
	}
	return fmt.Sprintf("sample %d", i)
}

// of returns the columns of a term.
func (s source) of(t Term) (columns []column) {
	s.check()
	try.FailIf(t.columns == nil, "a term that is none: make it by Factor, Covariate or Interaction")
	try.Do(try.Name(try.Run(func() { columns = t.columns(s) }), "term %s", t.name))
	return columns
}

func (s source) check() {
	const most = 1 << 24
	try.FailIf(s.n < 1 || s.n > most, "%d samples: give at least one, and at most %d", s.n, most)
}

// values returns those that a term was given, or else those that the data have by its name.
func values[T any](s source, given []T, look func(d Data) ([]T, error)) []T {
	if len(given) == 0 && s.data != nil {
		return try.Get(look(s.data))
	}
	try.FailIf(len(given) != s.n, "%d values for %d samples", len(given), s.n)
	return given
}

// column is one of a design matrix: the product of its parts, one of each term in an interaction.
type column struct {
	parts  []part
	values []float64 // [N]
}

// part is a number, or the indicator of one level of a factor.
type part struct {
	term   string
	level  string    // empty for a number
	levels []string  // all of the factor
	values []float64 // [N]
	first  []float64 // [N], the indicator of the factor's first level
}

// centred returns a number less its mean in standard deviations, or of a level values that sum to 0 over the factor: 1 there, and −1 at the first level.
func (p part) centred() []float64 {
	if p.level == "" {
		n := len(p.values)
		_, _, out := standardised(p.values, slices.Repeat([]float64{1 / float64(n)}, n))
		return out
	}
	return floats.SubTo(make([]float64, len(p.values)), p.values, p.first)
}

func (c column) name() string {
	names := lists.Each(c.parts, func(p part) string { return strings.TrimSuffix(p.term+" "+p.level, " ") })
	return strings.Join(names, ":")
}

// has reports whether a term has a part in the column.
func (c column) has(term string) bool {
	return slices.ContainsFunc(c.parts, func(p part) bool { return p.term == term })
}

// level is the category of a term in the column; empty if it has none.
func (c column) level(term string) string {
	for _, p := range c.parts {
		if p.term == term {
			return p.level
		}
	}
	return ""
}

// at is the value of the column for a sample with these covariates.
func (c column) at(covariates map[string]string) float64 {
	product := 1.0
	for _, p := range c.parts {
		value := covariates[p.term]
		if p.level != "" {
			try.FailIf(!slices.Contains(p.levels, value), "%s is %q, want one of %s", p.term, value, listed(p.levels))
			product *= indicator(value == p.level)
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		try.FailIf(err != nil || !lists.Finite(v), "%s is %q, want a number", p.term, value)
		product *= v
	}
	return product
}

func indicator(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// Factor returns a term for a covariate with categories, such as a group. categories has one value for each sample; without
// them the values are those of the column with this name in the data. A model compares each category with the first one in the
// data.
func Factor(name string, categories ...string) Term {
	return Term{name: name, parts: []string{name}, columns: func(s source) []column { return s.levels(name, categories) }}
}

func (s source) levels(name string, categories []string) []column {
	of := values(s, categories, func(d Data) ([]string, error) { return d.Column(name) })
	var levels []string
	for i, v := range of {
		switch v {
		case "":
			try.Fail("%s has no %s", s.row(i), name)
		case "NA", "NaN":
			try.Fail("%s: %s is %s, by which R marks a value that is not known: leave it out, or name the category otherwise", s.row(i), name, v)
		}
		if !slices.Contains(levels, v) {
			levels = append(levels, v)
		}
	}
	indicators := func(level string) []float64 {
		return lists.Each(of, func(v string) float64 { return indicator(v == level) })
	}
	beside := append(levels[1:len(levels):len(levels)], levels[0]) // beside the mean, the last adds nothing
	return lists.Each(beside, func(level string) column {
		values := indicators(level)
		return column{[]part{{name, level, levels, values, indicators(levels[0])}}, values}
	})
}

// Covariate returns a term for a covariate with numbers, such as age, on which samples depend linearly. numbers has one value
// for each sample; without them the values are those of the column with this name in the data.
func Covariate(name string, numbers ...float64) Term {
	return Term{name: name, parts: []string{name}, columns: func(s source) []column { return s.numbers(name, numbers) }}
}

func (s source) numbers(name string, numbers []float64) []column {
	of := values(s, numbers, func(d Data) ([]float64, error) { return d.Numbers(name) })
	if i, bad := lists.NotFinite(of); bad {
		try.Fail("%s: %s is %g", s.row(i), name, of[i])
	}
	return []column{{[]part{{term: name, values: of}}, of}}
}

// Interaction returns the interaction of several terms: that part of the dependence on them that is not the sum of their
// effects. In a model the terms must come before their interaction.
func Interaction(terms ...Term) Term {
	var names, parts []string
	for _, t := range terms {
		names, parts = append(names, t.name), append(parts, t.parts...)
	}
	return Term{name: strings.Join(names, ":"), parts: parts, columns: func(s source) []column { return s.products(terms) }}
}

func (s source) products(terms []Term) []column {
	const most = 1 << 27 // numbers
	products := []column{{values: slices.Repeat([]float64{1}, s.n)}}
	for _, t := range terms {
		columns := s.of(t)
		try.FailIf(len(products)*len(columns) > most/s.n,
			"%d columns of %d samples are more than the %d numbers that there may be", len(products)*len(columns), s.n, most)
		var next []column
		for _, p := range products {
			for _, c := range columns {
				next = append(next, column{slices.Concat(p.parts, c.parts), floats.MulTo(make([]float64, s.n), p.values, c.values)})
			}
		}
		products = next
	}
	return products
}

// Over returns the term with another error: its F is its mean square divided by that of a term which stands after it, in place of that of the
// residuals. Where individuals were measured several times, a treatment of individuals is tested over them,
//
//	treat := Factor("treatment").Over(Factor("individual"))        // terms: treat, Factor("individual")
//
// and of an individual's two sides, each measured several times, both individual and side over Interaction(individual, side), by which
// they are no more than fluctuating asymmetry (Klingenberg and McIntyre, Evolution 52, 1998).
//
// Exchangeable under the null hypothesis are then the levels of the error term, each a whole with its samples, once the terms before
// are taken away: their means are analysed, and permuted (Anderson and ter Braak, J. Stat. Comput. Simul. 73, 2003). Each level must
// have as many samples, and the term one value in it. What stands after a term is among what is permuted: where the sides differ, a test
// of individuals is a sharper one with side before them.
func (t Term) Over(error Term) Term {
	t.over = error.name
	return t
}

// TestedOver returns the name of the term that the term is tested Over, "" for the residuals.
func (t Term) TestedOver() string { return t.over }

// Cells returns the categories of a factor, or the combinations of an Interaction of factors, in the order of their first samples, and the
// samples of each. There are n samples, whose data may be nil.
func Cells(n int, data Data, t Term) (names []string, members [][]int, err error) {
	defer try.Catch(&err)
	columns := source{n, data}.of(t)
	cells := lists.Each(columns, func(c column) string {
		return strings.Join(lists.Each(c.parts, func(p part) string {
			try.FailIf(p.level == "", "%s is a number, and makes no groups", p.term)
			return p.level
		}), " ")
	})
	group := map[int]int{} // of a column
	for i := range n {
		for c, column := range columns {
			if column.values[i] != 1 {
				continue
			}
			if _, seen := group[c]; !seen {
				group[c], names, members = len(names), append(names, cells[c]), append(members, nil)
			}
			members[group[c]] = append(members[group[c]], i)
		}
	}
	return names, members, nil
}

// listed joins at most twenty names in quotes.
func listed(names []string) string {
	quoted := lists.Make(min(20, len(names)), func(i int) string { return strconv.Quote(names[i]) })
	if len(names) > len(quoted) {
		quoted = append(quoted, fmt.Sprintf("… (%d in all)", len(names)))
	}
	return strings.Join(quoted, ", ")
}
