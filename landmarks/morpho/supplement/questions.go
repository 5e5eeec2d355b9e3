package supplement

import (
	"cmp"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"anatomy/geom/try"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/surfaces/mesh"
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

// Answers are those to all Questions: how files are read, and a Question, of which Asked fills in what stands in files.
type Answers struct {
	Question
	As        morpho.Reading
	Join      morpho.Join
	Table     string  // covariates: a file
	Sliders   string  // a file
	Closed    bool    // the landmarks follow a closed outline
	Missing   float64 // code of missing landmarks; NaN for none
	Phylogeny string  // a file
	Which     string  // trees of this file: "first" or "all"
	Scan      string  // a file of a mesh, or SPECIMEN=FILE
	Deformations
}

// Deformations say how landmarks are deformed, and which deformation is drawn: see package report of landmarks/surfaces.
type Deformations struct {
	Width    float64 // of the Gaussian kernel, relative to the distance between neighbouring landmarks
	Mismatch float64 // in centroid sizes: such a miss of all landmarks costs as much as a deformation of length 1; 0: exact matches
	From, To string  // a deformation is drawn between these specimens or groups; empty: chosen by the groups
}

// Check is an error, which lists those that there are, if a deformation is to be drawn from or to what is no specimen or group of the data.
func (o Deformations) Check(d *morpho.Dataset) error {
	all := slices.DeleteFunc(append(d.Names(), d.Groups()...), func(name string) bool { return name == "" })
	for _, end := range [][2]string{{"from", o.From}, {"to", o.To}} {
		if end[1] != "" && !slices.Contains(all, end[1]) {
			return fmt.Errorf("%s=%s: there is no such specimen or group; there are %s", end[0], clip(end[1]), someOf(all))
		}
	}
	return nil
}

// Usual returns the answers that are taken where none are given.
func Usual() *Answers {
	q := Question{Sums: "I", Permutations: customary, Seed: 1}
	return &Answers{Question: q, Join: morpho.Join{By: "names", Unmatched: "error"}, Missing: math.NaN(), Which: "first",
		Deformations: Deformations{Width: 3, Mismatch: 0.1}}
}

// Set answers questions by their names, and returns the names of others. The error has each answer that is wrong, and what is wanted.
func (a *Answers) Set(answers map[string]string) (others []string, err error) {
	for _, name := range slices.Sorted(maps.Keys(answers)) {
		if i := Named(name); i == nil {
			others = append(others, name)
		} else if wrong := i.Set(a, answers[name]); wrong != nil {
			err = errors.Join(err, fmt.Errorf("%s=%s: %w", name, answers[name], wrong))
		}
	}
	return others, err
}

// Read reads the landmarks of a file or folder, with their table, as the answers say. It has the errors of morpho.Reading.Read, morpho.Join.Covariates
// and morpho.Dataset.ReadSliders and Missing.
func (a *Answers) Read(path string) (d *morpho.Dataset, err error) {
	defer try.Catch(&err)
	if info, err := os.Stat(path); err == nil && !info.IsDir() && mesh.Readable(path) {
		try.Fail("%s is a mesh: a report measures it. Landmarks stand in a file of their own", path)
	}
	d = try.Get(a.As.Read(path))
	if a.Sliders != "" {
		d = try.Get(d.ReadSliders(a.Sliders))
	}
	if !math.IsNaN(a.Missing) {
		d = try.Get(d.Missing(a.Missing))
	}
	if a.Table != "" {
		d = try.Get(a.Join.Covariates(d, a.Table))
	}
	d.Closed = d.Closed || a.Closed
	return d, nil
}

// Asked returns the question with the trees and the mesh of the files that it names. It has the errors of tree.Read and mesh.Read.
func (a *Answers) Asked() (q Question, err error) {
	defer try.Catch(&err)
	q = a.Question
	remark := func(what string, notes ...string) {
		q.Remarks = slices.DeleteFunc(slices.Clone(q.Remarks), func(r string) bool { return strings.HasPrefix(r, what) })
		for _, note := range notes {
			q.Remarks = append(q.Remarks, what+": "+note)
		}
	}
	if a.Phylogeny != "" {
		var notes []string
		q, notes = try.Get2(q.ReadTrees(a.Phylogeny, a.Which == "all"))
		remark("the tree", notes...)
	}
	if a.Scan != "" {
		name, path, named := strings.Cut(a.Scan, "=")
		if !named {
			path, name = name, strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
		}
		q.Surface, q.Mesh = name, try.Get(mesh.Read(path))
		remark("the mesh", q.Mesh.Notes...)
	}
	return q, nil
}

// Group returns the data with the groups of the column By, and makes it the model where there is none. It is an error if there is no such column.
func (q *Question) Group(d *morpho.Dataset) (*morpho.Dataset, error) {
	if q.By == "" {
		return d, nil
	}
	if _, err := d.Column(q.By); err != nil {
		return nil, err
	}
	q.Model = cmp.Or(q.Model, q.By)
	return d.GroupBy(q.By), nil
}
