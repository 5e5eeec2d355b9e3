// Look reads the data of a reader and the values of parameters before notebooks are executed with them, as the runner of the reports asks
// it on standard input: what would end their cells ends it, with the message alone on standard error and exit status 1. Notes of the
// data, about what was passed over or repaired, go to standard output.
//
//	{"reader": "morpho.Read", "path": "my.csv", "covariates": "table.csv", "set": {"from": "a"}, "notebooks": [{"name": "16.ipynb", …}]}
//
// Of a notebook it takes the standards and params that facts prints. Values that are names of the data are checked against those of the
// reader's data, or else of the standard ones.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"anatomy/landmarks/morpho"
	"anatomy/landmarks/morpho/shapestats"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/study"
	"anatomy/notebooks/internal/param"
)

// question is what the runner asks.
type question struct {
	Reader     string            `json:"reader"` // "" for the standard data
	Path       string            `json:"path"`
	Covariates string            `json:"covariates"` // a table, or ""
	Set        map[string]string `json:"set"`
	Notebooks  []struct {
		Name      string   `json:"name"`
		Standards []string `json:"standards"`
		Params    map[string]struct {
			Kind    string   `json:"kind"`
			Values  []string `json:"values"`
			Methods []string `json:"methods"`
		} `json:"params"`
	} `json:"notebooks"`
}

type data interface{ Validate() error }

// readers are those that notebooks have for a reader's data.
var readers = map[string]func(path string) (data, error){
	"morpho.Read":    func(path string) (data, error) { return morpho.Read(path) },
	"mesh.Read":      func(path string) (data, error) { return mesh.Read(path) },
	"study.Read":     func(path string) (data, error) { return study.Read(path) },
	"study.ReadEach": func(path string) (data, error) { return study.ReadEach(path) },
}

// standards are the standard data of the notebooks whose parameters may be names of the data.
var standards = map[string]func() data{
	"morpho.GorillaSkulls": func() data { return morpho.GorillaSkulls() },
}

func main() {
	if err := look(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// look answers a question: the error says what is wrong with the data, or else with each of the values.
func look(asked io.Reader, said io.Writer) error {
	var q question
	if err := json.NewDecoder(asked).Decode(&q); err != nil {
		return err
	}
	var own data
	if q.Path != "" {
		read, known := readers[q.Reader]
		if !known {
			return fmt.Errorf("no data are read by %q", q.Reader)
		}
		var err error
		if own, err = read(q.Path); err != nil {
			return err
		}
		landmarks, are := own.(*morpho.Dataset)
		checked := own
		if are {
			if checked, err = landmarks.Complete(); err != nil {
				return err
			}
		}
		if err := checked.Validate(); err != nil {
			return err
		}
		if q.Covariates != "" && !are {
			return errors.New("COVARIATES: they are columns of landmarks, which these data are not")
		} else if q.Covariates != "" {
			if landmarks, err = landmarks.ReadCovariates(q.Covariates); err != nil {
				return err
			}
			own = landmarks
		}
		if model := q.Set["model"]; are {
			if _, err := shapestats.Parse(model, landmarks); err != nil {
				return fmt.Errorf("SET: %w", err)
			}
		}
		var notes []string
		switch d := own.(type) {
		case *morpho.Dataset:
			notes = d.Notes
		case *study.Study:
			notes = d.Notes
			for _, reason := range d.LeftOut {
				notes = append(notes, "left out: "+reason)
			}
		}
		for _, note := range notes {
			fmt.Fprintln(said, note)
		}
	}
	var wrong []string // each problem once, with the notebooks that have it
	with := map[string][]string{}
	for _, n := range q.Notebooks {
		about := own
		for _, name := range n.Standards {
			if f := standards[name]; f != nil && about == nil {
				about = f()
			}
		}
		for _, name := range slices.Sorted(maps.Keys(q.Set)) {
			p, known := n.Params[name]
			if !known || p.Kind == "" {
				continue
			}
			value := q.Set[name]
			_, err := param.Parse(p.Kind, value)
			if allowed, all := names(about, p.Methods, q.Set["by"], name); err == nil && all && len(allowed)+len(p.Values) > 0 {
				err = param.Among(value, append(allowed, p.Values...))
			}
			if err != nil {
				message := fmt.Sprintf("SET: %s=%s: %v", name, value, err)
				if with[message] == nil {
					wrong = append(wrong, message)
				}
				with[message] = append(with[message], n.Name)
			}
		}
	}
	for i, message := range wrong {
		wrong[i] = fmt.Sprintf("%s (%s)", message, strings.Join(with[message], ", "))
	}
	if wrong != nil {
		return errors.New(strings.Join(wrong, "\n"))
	}
	return nil
}

// names lists what methods of the data return, and says whether that is all: the data are known, and have the methods. The parameter
// "by" names the covariate whose values are the groups.
func names(d data, methods []string, by, parameter string) (all []string, known bool) {
	landmarks, ok := d.(*morpho.Dataset)
	if ok && by != "" && parameter != "by" {
		if _, err := landmarks.Column(by); err != nil {
			return nil, false // which is told of by
		}
		d = landmarks.GroupBy(by)
	}
	for _, name := range methods {
		if d == nil {
			return nil, false
		}
		method := reflect.ValueOf(d).MethodByName(name)
		if !method.IsValid() {
			return nil, false
		}
		list, ok := method.Interface().(func() []string)
		if !ok {
			return nil, false
		}
		all = append(all, list()...)
	}
	return all, true
}
