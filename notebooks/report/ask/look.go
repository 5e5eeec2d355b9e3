package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
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
// Of a notebook it has the params of its facts.
type question struct {
	Reader    string            `json:"reader"` // "" for the standard data
	Path      string            `json:"path"`
	Set       map[string]string `json:"set"`
	Notebooks []struct {
		Name   string               `json:"name"`
		Params map[string]parameter `json:"params"`
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

// readersOf returns the readers that may read the data of a path, the likeliest first. A folder may hold a landmark file per specimen; where
// study.Read finds something in it, meshes, .csv or a study, that is what it is for unless notebooks read landmarks alone.
func readersOf(path string) (_ []string, err error) {
	defer try.Catch(&err)
	if info, err := os.Stat(path); err != nil || !info.IsDir() { // a file that is not there is told of when it is copied
		if mesh.Readable(path) {
			return []string{"mesh.Read"}, nil
		}
		return []string{"morpho.Read"}, nil
	}
	entries := try.Get(os.ReadDir(path))
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
// else with each of the values.
func look(asked io.Reader) (notes []string, err error) {
	defer try.Catch(&err)
	var q question
	try.Do(json.NewDecoder(asked).Decode(&q))
	switch d := try.Get(q.data()).(type) {
	case *morpho.Dataset:
		notes = d.Notes
	case *study.Study:
		notes = d.Notes
		for _, reason := range d.LeftOut {
			notes = append(notes, "left out: "+reason)
		}
	}
	return notes, q.values()
}

// data reads the data as the answers say; nil without a path. Answers that are wrong are an error, with data and without.
func (q *question) data() (own data, err error) {
	defer try.Catch(&err)
	answers, asked := map[string]string{}, supplement.Usual()
	for name, value := range q.Set {
		for _, n := range q.Notebooks {
			if n.Params[name].Kind != "" && supplement.Named(name) != nil {
				answers[name] = value
			}
		}
	}
	_, err = asked.Set(answers)
	try.Do(try.Name(err, "SET"))
	if q.Path == "" {
		for name := range answers {
			try.FailIf(supplement.Named(name).Step == supplement.ToRead, "SET: %s: it is about how data are read, and DATA names none",
				name)
		}
		return nil, nil
	}
	read, known := readers[q.Reader]
	try.FailIf(!known, "no data are read by %q", q.Reader)
	if q.Reader != "morpho.Read" {
		own = try.Get(read(q.Path))
		try.Do(own.Validate())
		if meshes, are := own.(*study.Study); are && asked.Table != "" {
			own = try.Get(meshes.ReadCovariates(asked.Table))
			_, err = shapestats.Parse(q.Set["model"], own.(*study.Study).Columns())
			try.Do(try.Name(err, "SET"))
		}
		return own, nil
	}
	landmarks := try.Get(asked.Read(q.Path))
	try.Do(try.Get(landmarks.Complete()).Validate())
	about := try.Get(asked.Asked())
	try.Do(try.Name(try.Run(func() {
		grouped := try.Get(about.Group(try.Get(landmarks.Corrected(about.Corrections))))
		try.Do(asked.Check(grouped))
		try.Get(shapestats.Parse(about.Model, grouped))
	}), "SET"))
	return landmarks, nil
}

// values checks those of parameters: the error has each problem once, with the notebooks that have it.
func (q *question) values() (wrong error) {
	with := map[string][]string{}
	for _, n := range q.Notebooks {
		for name, value := range q.Set {
			p := n.Params[name]
			if slices.Contains([]string{"", "file", "answer"}, p.Kind) {
				continue
			}
			_, err := param.Parse(p.Kind, value)
			if err == nil && len(p.Values) > 0 {
				err = param.Among(value, p.Values)
			}
			if err != nil {
				message := fmt.Sprintf("SET: %s=%s: %v", name, value, err)
				with[message] = append(with[message], n.Name)
			}
		}
	}
	for _, message := range slices.Sorted(maps.Keys(with)) {
		wrong = errors.Join(wrong, fmt.Errorf("%s (%s)", message, strings.Join(with[message], ", ")))
	}
	return wrong
}
