package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"anatomy/geom/try"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/morpho/shapestats"
	"anatomy/landmarks/morpho/supplement"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/study"
	"anatomy/notebooks/internal/param"
)

// question is what look is asked, such as
//
//	{"reader": "morpho.Read", "path": "my.csv", "set": {"from": "a", "covariates": "table.csv"}, "notebooks": [{"name": "16.ipynb", …}]}
//
// Of a notebook it has the standards and params of its facts.
type question struct {
	Reader    string            `json:"reader"` // "" for the standard data
	Path      string            `json:"path"`
	Set       map[string]string `json:"set"`
	Notebooks []struct {
		Name      string               `json:"name"`
		Standards []string             `json:"standards"`
		Params    map[string]parameter `json:"params"`
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

// readersOf returns the readers that may read the data of a path, the likeliest first. A folder may hold a landmark file per specimen; where
// study.Read finds something in it, meshes, .csv or a study, that is what it is for unless notebooks read landmarks alone.
func readersOf(path string) ([]string, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() { // a file that is not there is told of when it is copied
		if mesh.Readable(path) {
			return []string{"mesh.Read"}, nil
		}
		return []string{"morpho.Read"}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	all := append(morpho.Extensions(), ".txt")
	var landmarks, own, meshes, others bool // files of landmarks; of such that nobody else writes; of meshes, outlines or a study; what is none of these
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		extension := strings.ToLower(filepath.Ext(e.Name()))
		if info, err := os.Stat(filepath.Join(path, e.Name())); err == nil && info.IsDir() {
			extension = ""
		}
		is := slices.Contains(all, extension)
		landmarks, others = landmarks || is, others || !is
		own = own || is && !slices.Contains([]string{".csv", ".txt", ".json"}, extension)
		meshes = meshes || extension == ".csv" || extension == ".xml" || slices.Contains(mesh.Extensions(), extension)
	}
	var out []string
	if meshes || !own && others || !landmarks {
		out = append(out, "study.Read", "study.ReadEach")
	}
	if landmarks {
		out = append(out, "morpho.Read")
	}
	return out, nil
}

// look reads the data of a question, and returns their notes, about what was passed over or repaired. The error says what is wrong with the data, or
// else with each of the values. Values that are names of the data are checked against those of the reader's data, or else of the standard ones.
func look(asked io.Reader) (notes []string, err error) {
	var q question
	if err := json.NewDecoder(asked).Decode(&q); err != nil {
		return nil, err
	}
	own, err := q.data()
	if err != nil {
		return nil, err
	}
	switch d := own.(type) {
	case *morpho.Dataset:
		notes = d.Notes
	case *study.Study:
		notes = d.Notes
		for _, reason := range d.LeftOut {
			notes = append(notes, "left out: "+reason)
		}
	}
	return notes, q.values(own)
}

// data reads the data as the answers say; nil without a path. Answers that are wrong are an error, with data and without.
func (q *question) data() (own data, err error) {
	defer try.Catch(&err)
	answers, asked := map[string]string{}, supplement.Usual()
	for name, value := range q.Set {
		for _, n := range q.Notebooks {
			if p := n.Params[name]; p.Kind == "answer" || p.Kind == "file" {
				answers[name] = value
			}
		}
	}
	_, err = asked.Set(answers)
	try.Do(try.Name(err, "SET"))
	if q.Path == "" {
		for name := range answers {
			if supplement.Named(name).Step == supplement.ToRead {
				try.Fail("SET: %s: it is about how data are read, and DATA names none", name)
			}
		}
		return nil, nil
	}
	read, known := readers[q.Reader]
	if !known {
		return nil, fmt.Errorf("no data are read by %q", q.Reader)
	}
	if q.Reader != "morpho.Read" {
		own = try.Get(read(q.Path))
		return own, own.Validate()
	}
	landmarks := try.Get(asked.Read(q.Path))
	try.Do(try.Get(landmarks.Complete()).Validate())
	about := try.Get(asked.Asked())
	try.Do(try.Name(try.Run(func() {
		try.Get(landmarks.Corrected(about.Corrections))
		try.Get(shapestats.Parse(about.Model, try.Get(about.Group(landmarks))))
	}), "SET"))
	return landmarks, nil
}

// values checks those of parameters: the error has each problem once, with the notebooks that have it.
func (q *question) values(own data) error {
	var wrong []string
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
			if !known || slices.Contains([]string{"", "file", "answer"}, p.Kind) {
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
	if wrong == nil {
		return nil
	}
	return errors.New(strings.Join(wrong, "\n"))
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
