package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/population"
	"anatomy/landmarks/surfaces/study"
)

// atlasSettings are what an atlas depends on beside the data.
type atlasSettings struct {
	Deformation, Detail float64 // see study.Study.Start
	Similarity          bool
	Smooth              bool    // see study.Study.FreeVertices
	Tolerance           float64 // see population.Model.Rounds
	Rounds              int
}

func (a *atlasSettings) flags(f *flag.FlagSet) {
	f.Float64Var(&a.Deformation, "deformation", 0.5, "width of the deformations, in sizes of the first subject; of no effect on a study of Deformetrica")
	f.Float64Var(&a.Detail, "detail", 0.2, "width in which shapes are compared, likewise")
	f.BoolVar(&a.Similarity, "similarity", false, "scale subjects to align them, likewise")
	f.BoolVar(&a.Smooth, "smooth", true, "move a template of surfaces by smooth fields only; -smooth=false moves all its vertices")
	f.Float64Var(&a.Tolerance, "tolerance", 0.03, "of template and momenta, in standard errors of the template")
	f.IntVar(&a.Rounds, "rounds", 300, "the most there are")
}

func (a *atlasSettings) check() error {
	for name, v := range map[string]float64{"deformation": a.Deformation, "detail": a.Detail, "tolerance": a.Tolerance} {
		if !(v > 0) || math.IsInf(v, 1) {
			return fmt.Errorf("-%s %g: want a positive number", name, v)
		}
	}
	if a.Rounds < 1 {
		return fmt.Errorf("-rounds %d: want at least 1", a.Rounds)
	}
	return nil
}

// round is a file of an atlas. The first holds what all tasks need.
type round struct {
	Study string
	population.AtlasRound
	Names    []string       `json:",omitempty"` // of the subjects
	Objects  []string       `json:",omitempty"`
	Subjects [][]*mesh.Mesh `json:",omitempty"` // aligned
	Checksum string
}

func (r *round) seal() (study, checksum *string) { return &r.Study, &r.Checksum }
func (r *round) called() string                  { return fmt.Sprintf("round %d", r.Number) }
func (r *round) file() string                    { return fmt.Sprintf("round_%04d.json", r.Number) }

// piece is the part of one subject in a round.
type piece struct {
	Study string
	population.Part
	Checksum string
}

func (p *piece) seal() (study, checksum *string) { return &p.Study, &p.Checksum }
func (p *piece) called() string {
	return fmt.Sprintf("the part of subject %d in round %d", p.Subject, p.Round)
}
func (p *piece) file() string { return fmt.Sprintf("round_%04d_subject_%06d.json", p.Round, p.Subject) }

func pieceOf(round, subject int) *piece {
	return &piece{Part: population.Part{Round: round, Subject: subject}}
}

// atlas computes what a task can of an atlas.
func atlas(ctx context.Context, s settings, data, out string, task, tasks int) {
	id, cohort := join(ctx, &s, data, out)
	r := try.Get(rounds(ctx, s, cohort))
	defer r.Close()
	for {
		now := latest(out, id)
		if now.Atlas != nil {
			fmt.Println(now.Atlas)
			return
		}
		try.Do(match(ctx, out, id, r, &now.AtlasRound, task, tasks, s.Count))
		own, missing := try.Get2(partsOf(out, id, now.Number, s.Count))
		if missing != nil {
			fmt.Printf("round %d waits for %s of other tasks\n", now.Number, missing)
			return
		}
		following := try.Get(r.Reduce(&now.AtlasRound, func(number int) ([]*population.Part, error) {
			if number == now.Number {
				return own, nil
			}
			parts, missing, err := partsOf(out, id, number, s.Count)
			if missing != nil {
				err = fmt.Errorf("%s of round %d are gone", missing, number)
			}
			return parts, err
		}))
		try.Do(keep(out, id, &round{AtlasRound: *following}))
		fmt.Printf("round %d: %.8g, imbalance %.2g, unsettled %.2g\n", now.Number, following.Last.Value, following.Last.Imbalance, following.Last.Unsettled)
	}
}

// join returns the study, which is begun if nobody has, and sets its data and their number.
func join(ctx context.Context, s *settings, data, out string) (id string, cohort *study.Study) {
	try.Do(s.Atlas.check())
	cohort = try.Get(study.Read(data))
	if cohort.Kind != study.Atlas {
		refuse("%s is a %s, want an atlas", data, cohort.Kind)
	}
	s.Data = fingerprint(data, cohort)
	s.Count = len(cohort.Subjects)
	try.Get(engine.Backend())
	id = try.Get(claim(out, *s))
	first := &round{}
	if err := stored(out, id, first); errors.Is(err, fs.ErrNotExist) {
		begin(ctx, *s, cohort, out, id)
		// The study is that of the file from here on, for those who began it, too.
		cohort = try.Get(study.Read(data))
		try.Do(stored(out, id, first))
	} else {
		try.Do(err)
	}
	cohort.Subjects, cohort.FreeVertices = first.Subjects, !s.Atlas.Smooth
	try.Do(cohort.StartAligned(s.Atlas.Deformation, s.Atlas.Detail))
	return id, cohort
}

// latest reads the last of the rounds that there are.
func latest(out, id string) *round {
	for now := new(round); ; now.Number++ {
		next := &round{AtlasRound: population.AtlasRound{Number: now.Number + 1}}
		if _, err := os.Lstat(filepath.Join(out, next.file())); errors.Is(err, fs.ErrNotExist) {
			try.Do(stored(out, id, now))
			return now
		}
	}
}

// rounds are those of a study that has a model.
func rounds(ctx context.Context, s settings, cohort *study.Study) (*population.Rounds, error) {
	m := cohort.Model
	m.Space = m.Space.With(geom.Context(ctx))
	return m.Rounds(cohort.Template, cohort.Controls, cohort.Subjects, solve.Tolerance(s.Atlas.Tolerance), solve.MaxIterations(s.Atlas.Rounds))
}

// begin aligns the subjects and writes the first round.
func begin(ctx context.Context, s settings, cohort *study.Study, out, id string) {
	cohort.FreeVertices = !s.Atlas.Smooth
	try.Do(cohort.Start(s.Atlas.Deformation, s.Atlas.Detail, s.Atlas.Similarity))
	for _, note := range cohort.Notes {
		fmt.Println(note)
	}
	var objects []string
	for _, o := range cohort.Model.Objects {
		objects = append(objects, o.ID)
	}
	templates(objects)
	r := try.Get(rounds(ctx, s, cohort))
	defer r.Close()
	first := try.Get(r.First())
	try.Do(keep(out, id, &round{AtlasRound: *first, Names: cohort.Names, Objects: objects, Subjects: cohort.Subjects}))
}

// templates are the names of the files of a template's objects, without endings.
func templates(objects []string) []string {
	return try.Get(study.Files([]string{"template"}, objects))[0]
}

// match computes the parts of a task in a round that are not there, until the context ends.
func match(ctx context.Context, out, id string, r *population.Rounds, now *population.AtlasRound, task, tasks, count int) error {
	var failed []error
	for i := task; i >= 0 && i < count; i += tasks {
		err := stored(out, id, pieceOf(now.Number, i))
		if err == nil {
			continue
		}
		if errors.Is(err, fs.ErrNotExist) {
			if ctx.Err() != nil {
				return errStopped
			}
			var before *population.Part
			err = nil
			if now.From >= 0 {
				old := pieceOf(now.From, i)
				before, err = &old.Part, stored(out, id, old)
			}
			var part *population.Part
			if err == nil {
				part, err = r.Match(now, i, before)
			}
			if err != nil && ctx.Err() != nil {
				return errStopped
			}
			if err == nil {
				if err := keep(out, id, &piece{Part: *part}); err != nil {
					return err // no room, say: the others would fare no better
				}
				continue
			}
		}
		fmt.Fprintln(os.Stderr, err)
		failed = append(failed, err)
	}
	if len(failed) > 0 {
		return fmt.Errorf("%d parts of round %d are missing; the first: %w", len(failed), now.Number, failed[0])
	}
	return nil
}

// waiting are the subjects whose parts of a round are missing.
type waiting []int

func (w waiting) String() string {
	var names []string
	for _, i := range w[:min(len(w), 20)] {
		names = append(names, strconv.Itoa(i))
	}
	if len(w) > len(names) {
		names = append(names, "…")
	}
	return fmt.Sprintf("%d parts (subjects %s)", len(w), strings.Join(names, ", "))
}

// partsOf reads the parts of a round, and says which are missing.
func partsOf(out, id string, number, count int) (parts []*population.Part, missing waiting, err error) {
	for i := range count {
		p := pieceOf(number, i)
		if err := stored(out, id, p); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, i)
		} else if err != nil {
			return nil, nil, err
		}
		parts = append(parts, &p.Part)
	}
	return parts, missing, nil
}

// fingerprint is a checksum of what was read from a folder, and of the settings of a study of Deformetrica.
func fingerprint(folder string, cohort *study.Study) string {
	text := try.Get(json.Marshal([]any{cohort.Names, cohort.Subjects, cohort.Template, cohort.Controls}))
	entries := try.Get(os.ReadDir(folder))
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".xml") {
			continue
		}
		text = append(text, try.Get(input.ReadFile(filepath.Join(folder, entry.Name())))...)
	}
	return checksum(text)
}

// collectAtlas writes the template, the momenta and a table of an atlas that has ended, and the atlas itself for
// population.Model.Continue.
func collectAtlas(out, id string, count int) {
	first := &round{}
	if err := stored(out, id, first); err != nil {
		refuse("the atlas has no first round yet: start the tasks: %w", err)
	}
	now := latest(out, id)
	a := now.Atlas
	if a == nil {
		_, missing := try.Get2(partsOf(out, id, now.Number, count))
		if missing == nil {
			refuse("the atlas has not ended: all parts of round %d are there, and any task takes them together: start the tasks again", now.Number)
		}
		refuse("the atlas has not ended: %s of round %d are missing: start the tasks again", missing, now.Number)
	}
	var table bytes.Buffer
	w := csv.NewWriter(&table)
	header := []string{"number", "subject", "energy"}
	for _, object := range first.Objects {
		for _, what := range []string{"before", "mismatch"} {
			if object != "" {
				what += " of " + object
			}
			header = append(header, what)
		}
	}
	w.Write(header)
	fields := make([]mesh.Field, count)
	for i, name := range first.Names {
		line := []string{strconv.Itoa(i), name, number(a.Energy[i])}
		for o := range first.Objects {
			line = append(line, number(a.Before[i][o]), number(a.Mismatch[i][o]))
		}
		w.Write(line)
		fields[i] = mesh.Field{Name: name, Values: a.Momenta[i]}
	}
	w.Flush()
	files := templates(first.Objects)
	for o, name := range files {
		try.Do(mesh.WriteFields(filepath.Join(out, name+".vtp"), a.Template[o]))
	}
	try.Do(mesh.WritePoints(filepath.Join(out, "momenta.vtp"), a.Controls, fields...))
	text := try.Get(json.Marshal(a))
	try.Do(place(filepath.Join(out, "atlas.json"), text, os.Rename))
	try.Do(place(filepath.Join(out, "study.csv"), table.Bytes(), os.Rename))
	fmt.Println(a)
}
