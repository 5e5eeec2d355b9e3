package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"anatomy/geom"
	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/internal/lists"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/morpho/supplement"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/population"
	"anatomy/landmarks/surfaces/report"
	"anatomy/landmarks/surfaces/study"
)

// widths are how shapes are aligned and compared: see study.Study.Start. They have no effect on a study of Deformetrica, which has its own.
type widths struct {
	Deformation, Detail float64
	Similarity          bool
}

func (w *widths) flags(f *flag.FlagSet) {
	f.Float64Var(&w.Deformation, "deformation", w.Deformation,
		"width of the deformations, in sizes of the first subject; of no effect on a study of Deformetrica")
	f.Float64Var(&w.Detail, "detail", w.Detail, "width in which shapes are compared, likewise")
	f.BoolVar(&w.Similarity, "similarity", w.Similarity, "scale subjects to align them, likewise")
}

func (w *widths) check() {
	positive("deformation", w.Deformation, false)
	positive("detail", w.Detail, false)
}

// atlasSettings are what an atlas depends on beside the data.
type atlasSettings struct {
	widths
	Smooth    bool    // see study.Study.FreeVertices
	Tolerance float64 // of template and momenta
}

func (a *atlasSettings) flags(f *flag.FlagSet) {
	a.widths = widths{0.5, 0.2, false}
	a.widths.flags(f)
	f.BoolVar(&a.Smooth, "smooth", true, "move a template by smooth fields only, unless it has closed outlines; -smooth=false moves all its vertices")
	f.Float64Var(&a.Tolerance, "tolerance", 0.03, "of template and momenta, in standard errors of the template")
}

// study reads the data.
func (a *atlasSettings) study(data string) *study.Study {
	a.check()
	positive("tolerance", a.Tolerance, false)
	s := try.Get(study.Read(data))
	try.FailIf(s.Kind != study.Atlas, "%s is a %s, want an atlas", data, s.Kind)
	s.FreeVertices = !a.Smooth
	return s
}

func told(notes []string) {
	for _, note := range notes {
		fmt.Println(note)
	}
}

// objectsOf are the names of the objects of a study. Two that would have one file are refused, before the search.
func objectsOf(s *study.Study) []string {
	names := lists.Each(s.Model.Objects, func(o population.Object) string { return o.ID })
	templates(names)
	return names
}

// templates are the names of the files of a template's objects, without endings.
func templates(objects []string) []string {
	return try.Get(study.Files([]string{"template"}, objects))[0]
}

// writeAtlas writes the template and the momenta for ParaView, a table, and the atlas itself for population.Model.Continue.
func writeAtlas(out string, names, objects []string, a *population.Atlas) {
	try.Do(os.MkdirAll(out, 0o777))
	table := [][]string{{"number", "subject", "energy"}}
	for _, object := range objects {
		for _, what := range []string{"before", "mismatch"} {
			if object != "" {
				what += " of " + object
			}
			table[0] = append(table[0], what)
		}
	}
	fields := make([]mesh.Field, len(names))
	for i, name := range names {
		line := []string{strconv.Itoa(i), name, number(a.Energy[i])}
		for o := range objects {
			line = append(line, number(a.Before[i][o]), number(a.Mismatch[i][o]))
		}
		table = append(table, line)
		fields[i] = mesh.Field{Name: name, Values: a.Momenta[i]}
	}
	for o, name := range templates(objects) {
		try.Do(mesh.WriteFields(filepath.Join(out, name+".vtp"), a.Template[o]))
	}
	try.Do(mesh.WritePoints(filepath.Join(out, "momenta.vtp"), a.Controls, fields...))
	write(filepath.Join(out, "atlas.json"), a)
	writeTable(filepath.Join(out, "study.csv"), table)
	fmt.Println(a)
}

// atlas estimates a template in one task, and writes the report about it, as the template own_population does.
func atlas(c *command) func() {
	var settings atlasSettings
	settings.flags(c.FlagSet)
	keep := c.String("keep", "", "`folder` for unfinished searches, from which the same command goes on")
	page := c.String("report", "", "`folder` for the report")
	t := report.Template{Question: supplement.Question{Seed: 1}}
	c.StringVar(&t.Covariates, "covariates", "", "`file` with a row for each subject, for the report")
	c.StringVar(&t.Tree, "tree", "", "`file` with a phylogeny of the subjects, likewise")
	c.StringVar(&t.Question.Model, "model", "", "what explains the shapes, such as \"size + diet*locomotion\", likewise")
	c.StringVar(&t.Question.Covary, "covary", "", "`columns` of numbers with which shapes may covary, such as \"mass, gape\", likewise")
	c.BoolVar(&t.Sensitivity, "sensitivity", false, "try other poses and widths, likewise")
	return func() {
		s := settings.study(c.data)
		s.Save = *keep
		t.Deformation, t.Detail, t.Similarity, t.Tolerance = settings.Deformation, settings.Detail, settings.Similarity, settings.Tolerance
		if *page == "" {
			try.FailIf(t.Covariates+t.Tree+t.Question.Model+t.Question.Covary != "" || t.Sensitivity,
				"-covariates, -tree, -model, -covary and -sensitivity are for a report: want -report, its folder")
			try.Do(s.Start(t.Deformation, t.Detail, t.Similarity))
			told(s.Notes)
			writeAtlas(c.out, s.Names, objectsOf(s), try.Get(s.Estimate(solve.Tolerance(t.Tolerance))))
			return
		}
		document, found := try.Get2(report.Atlas(s, t))
		told(s.Notes)
		writeAtlas(c.out, s.Names, objectsOf(s), found)
		try.Do(document.Write(*page))
	}
}

// place places the landmarks of some meshes on the others, as the template placed_landmarks does.
func place(c *command) func() {
	w := widths{0.8, 0.3, true}
	w.flags(c.FlagSet)
	marks := c.String("landmarks", "", "`file` or folder with the landmarks; else they lie beside the meshes")
	keep := c.String("keep", "", "`folder` for unfinished searches, from which the same command goes on")
	return func() {
		w.check()
		s := try.Get(study.ReadEach(c.data))
		s.Save = *keep
		try.Do(s.ReadLandmarks(*marks))
		try.Do(s.Start(w.Deformation, w.Detail, w.Similarity))
		placed := try.Get(s.Place())
		table := s.PlacedData("placed landmarks", placed)
		told(table.Notes)
		try.Do(morpho.Write(c.out, table))
		fmt.Println(placed)
	}
}

// transport writes the prediction of a study of Deformetrica of the type ParallelTransport.
func transport(c *command) func() {
	return func() {
		t := try.Get(study.ReadParallelTransport(filepath.Join(c.data, "model.xml")))
		for _, note := range t.Notes {
			fmt.Fprintln(os.Stderr, "study:", note)
		}
		predictions := try.Get(t.Predict())
		try.Do(t.Write(c.out, predictions))
		fmt.Printf("%d times from %g to %g, length of the deformation %.4g: %s\n", len(predictions), t.From, t.To, predictions[0].Length, c.out)
	}
}

// start is what all rounds of an atlas need: the aligned subjects.
type start struct {
	Settings *roundSettings
	Model    string // a checksum of what the data and the settings make of it
	Names    []string
	Objects  []string
	Subjects [][]*mesh.Mesh

	id string // a checksum of the file
}

type roundSettings struct {
	atlasSettings
	Rounds int // the most there are
}

// round is a file of an atlas by rounds: a template to which subjects are matched.
type round struct {
	Start string // the checksum of the start
	population.AtlasRound
}

// share is what one task has of a round: the matches of its subjects, and those of the round that they set out from, which may stay the best.
type share struct {
	Start         string
	Parts, Before []*population.Part
}

func align(c *command) func() {
	settings := new(roundSettings)
	settings.flags(c.FlagSet)
	c.IntVar(&settings.Rounds, "rounds", 300, "the most there are")
	return func() {
		try.FailIf(settings.Rounds < 1, "-rounds %d: want at least 1", settings.Rounds)
		s := settings.study(c.data)
		try.Do(s.Start(settings.Deformation, settings.Detail, settings.Similarity))
		objects := objectsOf(s)
		told(s.Notes)
		// The model is that of the aligned subjects, for whoever reads them.
		write(c.out, start{Settings: settings, Model: checksum(s), Names: s.Names, Objects: objects, Subjects: s.Subjects})
	}
}

// checksum is that of a study's model, template and control points.
func checksum(s *study.Study) string {
	m := s.Model
	text := fmt.Append(nil, m.Space, m.Space.Method().Name, m.Space.Steps(), m.Objects, m.Free, m.Hypertemplate, s.Controls, mesh.Vertices(s.Template))
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

func readStart(path string) *start {
	text := try.Get(input.ReadFile(path))
	s := &start{id: fmt.Sprintf("%x", sha256.Sum256(text))}
	err := json.Unmarshal(text, s)
	try.FailIf(err != nil || s.Settings == nil, "%s is not what align wrote: %v", path, err)
	return s
}

// study is that of the aligned subjects.
func (s *start) study(data string) *study.Study {
	cohort := try.Get(study.Read(data))
	cohort.Subjects, cohort.FreeVertices, cohort.Aligned = s.Subjects, !s.Settings.Smooth, true
	try.Do(cohort.Start(s.Settings.Deformation, s.Settings.Detail, s.Settings.Similarity))
	try.FailIf(checksum(cohort) != s.Model, "%s has changed since its subjects were aligned: align them again", data)
	return cohort
}

// rounds are those of a start. The caller closes them.
func (s *start) rounds(data string) *population.Rounds {
	cohort := s.study(data)
	return try.Get(cohort.Model.Rounds(cohort.Template, cohort.Controls, cohort.Subjects, solve.Tolerance(s.Settings.Tolerance),
		solve.MaxIterations(s.Settings.Rounds)))
}

// round reads a round, which must be of this start.
func (s *start) round(path string) *round {
	r := read[round](path)
	s.same(path, r.Start)
	return r
}

func (s *start) same(path, id string) {
	try.FailIf(id != s.id, "%s is of another atlas: want the files that this -start led to", path)
}

// parts returns those of a round in the order of the subjects, from shares of this or the next one.
func (s *start) parts(shares []string) func(round int) ([]*population.Part, error) {
	var all []*population.Part
	for _, path := range shares {
		own := read[share](path)
		s.same(path, own.Start)
		all = slices.Concat(all, own.Parts, own.Before)
	}
	slices.SortStableFunc(all, func(a, b *population.Part) int { return cmp.Compare(a.Subject, b.Subject) })
	return func(round int) (of []*population.Part, err error) {
		for _, p := range all {
			if p != nil && p.Round == round {
				of = append(of, p)
			}
		}
		return of, nil
	}
}

func match(c *command) func() {
	c.divided()
	from := c.String("start", "", "`file` that align wrote")
	now := c.String("round", "", "`file` of the round")
	last := c.String("before", "", "`file` that this task wrote in the round before")
	return func() {
		s := readStart(*from)
		r := s.round(*now)
		rounds := s.rounds(c.data)
		defer rounds.Close()
		before := map[int]*population.Part{}
		if r.From >= 0 {
			for _, p := range try.Get(s.parts([]string{*last})(r.From)) {
				before[p.Subject] = p
			}
		}
		own := share{Start: s.id}
		for i := range c.share(len(s.Subjects)) {
			try.FailIf(r.From >= 0 && before[i] == nil,
				"%s has no match of subject %d in round %d: want what the same task wrote in the round before", *last, i, r.From)
			part := try.Get(rounds.Match(&r.AtlasRound, i, before[i]))
			own.Parts = append(own.Parts, part)
			if before[i] != nil {
				own.Before = append(own.Before, before[i])
			}
		}
		write(c.out, own)
	}
}

func reduce(c *command) func() {
	from := c.String("start", "", "`file` that align wrote")
	now := c.String("round", "", "`file` of the round; without it the first one is made")
	return func() {
		s := readStart(*from)
		rounds := s.rounds(c.data)
		defer rounds.Close()
		if *now == "" {
			write(c.out, round{s.id, *try.Get(rounds.First())})
			return
		}
		r := s.round(*now)
		next := try.Get(rounds.Reduce(&r.AtlasRound, s.parts(c.files)))
		write(c.out, round{s.id, *next})
		if next.Atlas != nil {
			fmt.Println("ended:", next.Atlas)
			return
		}
		fmt.Printf("round %d: %.8g, imbalance %.2g, unsettled %.2g\n", r.Number, next.Last.Value, next.Last.Imbalance, next.Last.Unsettled)
	}
}

// collectAtlas writes an atlas by rounds that has ended.
func collectAtlas(c *command, from string) {
	s := readStart(from)
	try.FailIf(len(c.files) != 1, "want the file of the last round")
	r := s.round(c.files[0])
	try.FailIf(r.Atlas == nil, "%s: the atlas has not ended at round %d", c.files[0], r.Number)
	writeAtlas(c.out, s.Names, s.Objects, r.Atlas)
	if r.Atlas.Status != geom.Converged {
		fmt.Println("no minimum was found: draw no conclusion")
	}
}
