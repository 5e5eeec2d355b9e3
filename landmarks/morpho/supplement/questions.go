package supplement

import (
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"anatomy/geom/try"
)

// Item is one question about data with its answer in a line: a flag of the program anatomy, a field of its page, and a parameter of the templates for
// one's own data, all of the same name.
type Item struct {
	Name    string
	Reports string   // that ask it: L about landmarks, M about one mesh, P about a population, D about placed landmarks
	Step    Step     // of the work that it changes
	First   bool     // forms show it at once
	Kind    string   // of the answer: text, number, switch (true or false), choice (of Values), file (or SPECIMEN=FILE), several (with semicolons between)
	Example string   // of an answer
	Values  []string // that are allowed; nil for any
	About   string   // what it asks

	field string // of Answers; "" for a question that only a template asks, as one of its nb.Param
}

// Step is a part of the work. Each command of the program asks the questions of the steps that it takes.
type Step int

const (
	ToRead    Step = iota // the files
	ToCorrect             // defects of the data
	ToPrepare             // shapes that are compared
	ToCompare             // them
	ToWrite               // a document
	ToDeform              // what needs XLA: only templates do
)

//go:embed questions.csv
var questions string

// Questions are all questions, in the order in which doors and pages have them.
var Questions = func() (all []Item) {
	for _, row := range try.Get(csv.NewReader(strings.NewReader(questions)).ReadAll())[1:] {
		i := Item{Name: row[0], Reports: row[1], First: row[3] != "", Kind: row[4], field: row[5], Example: row[6], About: row[8]}
		i.Step = Step(slices.Index([]string{"read", "correct", "prepare", "compare", "write", "deform"}, row[2]))
		if row[7] != "" {
			i.Values = strings.Split(row[7], ",")
		}
		all = append(all, i)
	}
	return all
}()

// Named returns the question of a name that Answers answer, nil for none.
func Named(name string) *Item {
	at := slices.IndexFunc(Questions, func(i Item) bool { return i.Name == name && i.field != "" })
	if at < 0 {
		return nil
	}
	return &Questions[at]
}

// at is where the answer goes.
func (i Item) at(a *Answers) reflect.Value {
	v := reflect.ValueOf(a).Elem()
	for name := range strings.SplitSeq(i.field, ".") {
		v = v.FieldByName(name)
	}
	return v
}

// Usual is the answer where none is given, "" for none.
func (i Item) Usual() string {
	if i.field == "" {
		return ""
	}
	usual := i.at(Usual())
	if usual.IsZero() || i.Name == "missing" {
		return ""
	}
	return fmt.Sprint(usual)
}

// Set answers the question. Several answers are added to those before; the empty text takes these back. The error says what is wanted.
func (i Item) Set(a *Answers, text string) (err error) {
	if text != "" && i.Values != nil && !slices.Contains(i.Values, text) {
		return fmt.Errorf("want %s", strings.Join(i.Values, " or "))
	}
	want := map[string]string{"switch": "true or false", "number": "a number"}[i.Kind]
	switch to := i.at(a).Addr().Interface().(type) {
	case *string:
		if i.Kind == "several" && *to != "" && text != "" {
			text = *to + "; " + text
		}
		*to = text
	case *[]string:
		for name := range strings.SplitSeq(text, ";") {
			*to = append(*to, strings.TrimSpace(name))
		}
	case *map[string]int:
		*to, want = map[string]int{}, "how many points each curve is to have, such as edge=20,tip=8"
		for part := range strings.SplitSeq(text, ",") {
			name, count, _ := strings.Cut(part, "=")
			n, wrong := strconv.Atoi(strings.TrimSpace(count))
			(*to)[strings.TrimSpace(name)], err = n, errors.Join(err, wrong)
		}
	case *bool:
		*to, err = strconv.ParseBool(text)
	case *int:
		*to, err = strconv.Atoi(text)
		want = "a whole number"
	case *uint64:
		*to, err = strconv.ParseUint(text, 10, 64)
		want = "a whole number"
	case *float64:
		*to, err = strconv.ParseFloat(text, 64)
	}
	if err != nil {
		return fmt.Errorf("want %s", want)
	}
	return nil
}

// Take answers the question as other answers do.
func (i Item) Take(to, from *Answers) {
	if i.Kind == "several" {
		_ = i.Set(to, i.at(from).String()) // any text does
		return
	}
	i.at(to).Set(i.at(from))
}
