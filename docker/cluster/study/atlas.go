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
	"anatomy/landmarks/mesh"
	"anatomy/landmarks/population"
	"anatomy/landmarks/study"
)

// atlasSettings are what an atlas depends on beside the data.
type atlasSettings struct {
	Deformation, Detail float64 // see study.Study.Start
	Similarity          bool
	Tolerance           float64 // see population.Model.Rounds
	Rounds              int
}

func (a *atlasSettings) flags(f *flag.FlagSet) {
	f.Float64Var(&a.Deformation, "deformation", 0.5, "width of the deformations, in sizes of the first subject; of no effect on a study of Deformetrica")
	f.Float64Var(&a.Detail, "detail", 0.2, "width in which shapes are compared, likewise")
	f.BoolVar(&a.Similarity, "similarity", false, "scale subjects to align them, likewise")
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
func atlas(ctx context.Context, s settings, data, out string, task, tasks int) error {
	id, cohort, err := join(ctx, &s, data, out)
	if err != nil {
		return err
	}
	r, err := rounds(ctx, s, cohort)
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		now, err := latest(out, id)
		if err != nil {
			return err
		}
		if now.Atlas != nil {
			fmt.Println(now.Atlas)
			return nil
		}
		if err := match(ctx, out, id, r, &now.AtlasRound, task, tasks, s.Count); err != nil {
			return err
		}
		own, missing, err := partsOf(out, id, now.Number, s.Count)
		if err != nil {
			return err
		}
		if missing != nil {
			fmt.Printf("round %d waits for %s of other tasks\n", now.Number, missing)
			return nil
		}
		following, err := r.Reduce(&now.AtlasRound, func(number int) ([]*population.Part, error) {
			if number == now.Number {
				return own, nil
			}
			parts, missing, err := partsOf(out, id, number, s.Count)
			if missing != nil {
				err = fmt.Errorf("%s of round %d are gone", missing, number)
			}
			return parts, err
		})
		if err != nil {
			return err
		}
		if err := keep(out, id, &round{AtlasRound: *following}); err != nil {
			return err
		}
		fmt.Printf("round %d: %.8g, imbalance %.2g, unsettled %.2g\n", now.Number, following.Last.Value, following.Last.Imbalance, following.Last.Unsettled)
	}
}

// join returns the study, which is begun if nobody has, and sets its data and their number.
func join(ctx context.Context, s *settings, data, out string) (id string, cohort *study.Study, err error) {
	if err := s.Atlas.check(); err != nil {
		return "", nil, err
	}
	if cohort, err = study.Read(data); err != nil {
		return "", nil, err
	}
	if cohort.Kind != study.Atlas {
		return "", nil, fmt.Errorf("%s is a %s, want an atlas", data, cohort.Kind)
	}
	if s.Data, err = fingerprint(data, cohort); err != nil {
		return "", nil, err
	}
	s.Count = len(cohort.Subjects)
	if _, err := engine.Backend(); err != nil {
		return "", nil, err
	}
	id, err = claim(out, *s)
	if err != nil {
		return "", nil, err
	}
	first := &round{}
	if err := stored(out, id, first); errors.Is(err, fs.ErrNotExist) {
		if err := begin(ctx, *s, cohort, out, id); err != nil {
			return "", nil, err
		}
		// The study is that of the file from here on, for those who began it, too.
		if cohort, err = study.Read(data); err != nil {
			return "", nil, err
		}
		if err = stored(out, id, first); err != nil {
			return "", nil, err
		}
	} else if err != nil {
		return "", nil, err
	}
	cohort.Subjects = first.Subjects
	if err := cohort.StartAligned(s.Atlas.Deformation, s.Atlas.Detail); err != nil {
		return "", nil, err
	}
	return id, cohort, nil
}

// latest reads the last of the rounds that there are.
func latest(out, id string) (*round, error) {
	for now := new(round); ; now.Number++ {
		next := &round{AtlasRound: population.AtlasRound{Number: now.Number + 1}}
		if _, err := os.Lstat(filepath.Join(out, next.file())); errors.Is(err, fs.ErrNotExist) {
			return now, stored(out, id, now)
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
func begin(ctx context.Context, s settings, cohort *study.Study, out, id string) error {
	if err := cohort.Start(s.Atlas.Deformation, s.Atlas.Detail, s.Atlas.Similarity); err != nil {
		return err
	}
	for _, note := range cohort.Notes {
		fmt.Println(note)
	}
	var objects []string
	for _, o := range cohort.Model.Objects {
		objects = append(objects, o.ID)
	}
	if _, err := templates(objects); err != nil {
		return err
	}
	r, err := rounds(ctx, s, cohort)
	if err != nil {
		return err
	}
	defer r.Close()
	first, err := r.First()
	if err != nil {
		return err
	}
	return keep(out, id, &round{AtlasRound: *first, Names: cohort.Names, Objects: objects, Subjects: cohort.Subjects})
}

// templates are the names of the files of a template's objects, without endings.
func templates(objects []string) ([]string, error) {
	files, err := study.Files([]string{"template"}, objects)
	if err != nil {
		return nil, err
	}
	return files[0], nil
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
func fingerprint(folder string, cohort *study.Study) (string, error) {
	text, err := json.Marshal([]any{cohort.Names, cohort.Subjects, cohort.Template, cohort.Controls})
	if err != nil {
		return "", err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return "", err
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".xml") {
			continue
		}
		more, err := read(filepath.Join(folder, entry.Name()))
		if err != nil {
			return "", err
		}
		text = append(text, more...)
	}
	return checksum(text), nil
}

// collectAtlas writes the template, the momenta and a table of an atlas that has ended, and the atlas itself for
// population.Model.Continue.
func collectAtlas(out, id string, count int) error {
	first := &round{}
	if err := stored(out, id, first); err != nil {
		return fmt.Errorf("the atlas has no first round yet: start the tasks: %w", err)
	}
	now, err := latest(out, id)
	if err != nil {
		return err
	}
	a := now.Atlas
	if a == nil {
		_, missing, err := partsOf(out, id, now.Number, count)
		if err != nil {
			return err
		}
		if missing == nil {
			return fmt.Errorf("the atlas has not ended: all parts of round %d are there, and any task takes them together: start the tasks again", now.Number)
		}
		return fmt.Errorf("the atlas has not ended: %s of round %d are missing: start the tasks again", missing, now.Number)
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
	files, err := templates(first.Objects)
	if err != nil {
		return err
	}
	for o, name := range files {
		if err := mesh.WriteFields(filepath.Join(out, name+".vtp"), a.Template[o]); err != nil {
			return err
		}
	}
	if err := mesh.WritePoints(filepath.Join(out, "momenta.vtp"), a.Controls, fields...); err != nil {
		return err
	}
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if err := place(filepath.Join(out, "atlas.json"), text, os.Rename); err != nil {
		return err
	}
	if err := place(filepath.Join(out, "study.csv"), table.Bytes(), os.Rename); err != nil {
		return err
	}
	fmt.Println(a)
	return nil
}
