// Command study computes a population study as tasks that know nothing of each other, for a cluster:
//
//	study register  -data shapes.csv -out results [-task K -tasks N]
//	study bootstrap -data shapes.csv -out results -samples 1000 -seed 1 [-task K -tasks N]
//	study atlas     -data meshes -out results [-task K -tasks N]
//	study collect   -out results
//	study transport -data study -out results
//
// register computes the geodesic from a template to every subject, bootstrap the Fréchet means of samples drawn with
// replacement. Task K of N computes every N-th of them, from the K-th on (from 0), each into a file of its own, which a hard
// link brings to its place when it is whole: the file system must have hard links, which many SMB shares and exFAT have not.
// What is there is not computed again: a task that was killed is started again, with as many tasks as one likes. A result
// depends on the data, the settings and the seed alone, so on processors of one kind the files are the same bit for bit.
// collect writes a table of them all, and says which are missing.
//
// atlas estimates the template of curves or surfaces that do not correspond, of all that study.Read reads, in rounds: see
// population.Rounds. Task K of N matches every N-th subject to the template of the round, each into a file of its own, with its
// part of the gradient. The task that finds all parts of a round makes the next one of them, and goes on with its subjects; one that
// finds that others are still missing ends, and is started again: one task alone goes through all rounds. Alignment, the first round,
// is made by whoever comes first. The end is converged only if the derivatives by template and momenta are within the tolerance.
//
// A folder belongs to the study that is there first. A result says of which study and which number it is, with a checksum:
// what else lies under its name is neither taken for one nor replaced.
//
// transport reads a study of Deformetrica of the type ParallelTransport and writes its prediction for ParaView, in one task:
// see study.ParallelTransport.
//
// In a Slurm job array, and in a Kubernetes job with indexed completions and JOB_COMPLETIONS in its environment, tasks
// need no -task and -tasks.
package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/stats"
	"anatomy/geom/try"
	"anatomy/geom/watch"
	"anatomy/internal/input"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/surfaces/study"
)

func main() {
	watch.Terminal(os.Stderr)
	if err := runStudy(os.Args[1:]); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "study:", err)
		}
		os.Exit(1)
	}
}

// settings are what results depend on.
type settings struct {
	Kind     string         // register, bootstrap or atlas
	Data     string         // SHA-256 of the data
	Aligned  bool           // by Procrustes analysis that keeps sizes
	Template string         // name of a subject; empty: the mean of the shapes
	Width    float64        // of the Gaussian kernel; 0: the mean spacing of the template's landmarks
	Mismatch float64        // of bootstrap, see stats.Mismatch; 0: exact logarithms
	Samples  int            // of bootstrap
	Seed     uint64         // of bootstrap
	Count    int            // of the results, or of the subjects of an atlas
	Atlas    *atlasSettings `json:",omitempty"`
}

const most = 10_000_000 // results of a study: each is a file

// runStudy computes what a task can, or collects.
func runStudy(args []string) error { return try.Run(func() { perform(args) }) }

// refuse ends a task by an error.
func refuse(format string, args ...any) { try.Do(fmt.Errorf(format, args...)) }

func perform(args []string) {
	if len(args) == 0 {
		refuse("want register, bootstrap, atlas, collect or transport")
	}
	s := settings{Kind: args[0]}
	f := flag.NewFlagSet("study "+s.Kind, flag.ContinueOnError)
	out := f.String("out", "", "`folder` of the results")
	data := f.String("data", "", "`file` or folder of the shapes, as morpho.Read takes it; of atlas the folder, as study.Read takes it")
	task := f.Int("task", variable("SLURM_ARRAY_TASK_ID", 0)-variable("SLURM_ARRAY_TASK_MIN", 0)+variable("JOB_COMPLETION_INDEX", 0), "number of this task, from 0")
	tasks := f.Int("tasks", variable("SLURM_ARRAY_TASK_COUNT", 1)*variable("JOB_COMPLETIONS", 1), "how many tasks there are")
	if s.Kind == "register" || s.Kind == "bootstrap" {
		f.BoolVar(&s.Aligned, "align", true, "align the shapes first, keeping their sizes")
		f.Float64Var(&s.Width, "width", 0, "of the Gaussian kernel; 0: the mean spacing of the template's landmarks")
	}
	switch s.Kind {
	case "register":
		f.StringVar(&s.Template, "template", "", "`name` of the subject to register to the others; else the mean of the shapes")
	case "bootstrap":
		f.Float64Var(&s.Mismatch, "mismatch", 0, "noise of the landmarks as a share of their deformation in the large, a number without unit; 0: exact logarithms")
		f.IntVar(&s.Samples, "samples", 1000, "how many")
		f.Uint64Var(&s.Seed, "seed", 1, "of the random numbers")
	case "atlas":
		s.Atlas = new(atlasSettings)
		s.Atlas.flags(f)
	case "collect", "transport":
	default:
		refuse("%q: want register, bootstrap, atlas, collect or transport", s.Kind)
	}
	try.Do(f.Parse(args[1:]))
	switch {
	case f.NArg() > 0:
		refuse("%q is no option", f.Arg(0))
	case *out == "":
		refuse("want -out FOLDER")
	case s.Kind == "collect":
		collect(*out)
		return
	case *data == "":
		refuse("want -data FILE, or FOLDER")
	case s.Kind == "transport":
		transport(*data, *out)
		return
	case !(s.Width >= 0) || math.IsInf(s.Width, 1):
		refuse("-width %g: want a positive number, in the unit of the data", s.Width)
	case !(s.Mismatch >= 0) || math.IsInf(s.Mismatch, 1):
		refuse("-mismatch %g: want a positive number, or 0", s.Mismatch)
	case s.Kind == "bootstrap" && (s.Samples < 1 || s.Samples > most):
		refuse("-samples %d: want 1 to %d", s.Samples, most)
	case *tasks < 1 || *task < 0 || *task >= *tasks:
		refuse("task %d of %d: want 0 ≤ task < tasks", *task, *tasks)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends the process, as reading and alignment do not heed the first
	if s.Kind == "atlas" {
		atlas(ctx, s, *data, *out, *task, *tasks)
		return
	}
	work := prepare(ctx, &s, *data)
	try.Get(engine.Backend())
	id := try.Get(claim(*out, s))
	try.Do(compute(ctx, *out, id, work, *task, *tasks, s.Count))
}

// transport writes the prediction of a study of Deformetrica.
func transport(data, out string) {
	t := try.Get(study.ReadParallelTransport(filepath.Join(data, "model.xml")))
	for _, note := range t.Notes {
		fmt.Fprintln(os.Stderr, "study:", note)
	}
	predictions := try.Get(t.Predict())
	try.Do(t.Write(out, predictions))
	fmt.Printf("%d times from %g to %g, length of the deformation %.4g: %s\n", len(predictions), t.From, t.To, predictions[0].Length, out)
}

// variable returns the value of an environment variable that a cluster's engine sets.
func variable(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// result is one geodesic of register or one mean of bootstrap.
type result struct {
	Study              string // whose it is: the checksum of its study.json
	Number             int
	Subject, Group     string      `json:",omitempty"`
	Status             string      // of the Log or the mean
	Length, Residual   float64     // of the geodesic
	Velocity, Momentum [][]float64 `json:",omitempty"` // at the template
	Mean               [][]float64 `json:",omitempty"`
	Variance           float64     // Σ d²/N around the mean
	Checksum           string      // of all this, without the checksum
}

func (r *result) seal() (study, checksum *string) { return &r.Study, &r.Checksum }
func (r *result) called() string                  { return fmt.Sprintf("result %d", r.Number) }
func (r *result) file() string                    { return fmt.Sprintf("result_%06d.json", r.Number) }

// kept is what a file of a study holds. It says whose it is and has a checksum; two of a study are called otherwise.
type kept interface {
	seal() (study, checksum *string)
	called() string
	file() string // its name
}

// text is the content of a file.
func text(k kept) ([]byte, error) {
	_, sum := k.seal()
	*sum = ""
	text, err := json.MarshalIndent(k, "", "\t")
	if err != nil {
		return nil, err
	}
	*sum = checksum(text)
	return json.MarshalIndent(k, "", "\t")
}

// keep writes a file of a study that is not there. If it is there now, another task was as quick, and what it is will be seen when
// it is read.
func keep(out, id string, k kept) error {
	study, _ := k.seal()
	*study = id
	whole, err := text(k)
	if err != nil {
		return err
	}
	if err := place(filepath.Join(out, k.file()), whole, os.Link); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func checksum(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text)) }

// nowhere is the error of reading a file, and says so where a link leads to what is not there: nothing can be written in its place.
func nowhere(path string, err error) error {
	if _, link := os.Lstat(path); link == nil && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is a link that leads nowhere", path)
	}
	return err
}

// stored reads what is kept of a study into k, which says what is wanted. An error other than fs.ErrNotExist says that the file is
// not this.
func stored(out, id string, k kept) error {
	called, path := k.called(), filepath.Join(out, k.file())
	have, err := input.ReadFile(path)
	if err = nowhere(path, err); errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil {
		err = json.Unmarshal(have, k)
	}
	var whole []byte
	study, _ := k.seal()
	switch {
	case err != nil:
	case *study != id:
		err = errors.New("it is of another study")
	case k.called() != called:
		err = fmt.Errorf("it is %s of this study", k.called())
	default:
		if whole, err = text(k); err == nil && !bytes.Equal(whole, have) {
			err = errors.New("it was changed since it was written")
		}
	}
	if err != nil {
		return fmt.Errorf("%s is not %s of this study: %w; remove it, and the tasks compute it again", path, called, err)
	}
	return nil
}

// dataChecksum is that of a file, or of the names and checksums of the files in a folder that morpho.Read reads.
func dataChecksum(path string) (string, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		text, err := input.ReadFile(path)
		return checksum(text), err
	}
	entries, err := os.ReadDir(path) // in the order of their names
	var list bytes.Buffer
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		text, err := input.ReadFile(filepath.Join(path, e.Name()))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&list, "%q %s\n", e.Name(), checksum(text))
	}
	return checksum(list.Bytes()), err
}

// prepare reads the data, completes the settings and returns how result number i < Count is computed.
func prepare(ctx context.Context, s *settings, file string) func(i int) (*result, error) {
	d := try.Get(morpho.Read(file)) // which refuses devices and pipes: they have no end
	s.Data = try.Get(dataChecksum(file))
	try.Do(d.Validate())
	shapes := d.Shapes()
	var mean [][]float64
	if s.Aligned {
		a := try.Get(morpho.Procrustes(shapes, morpho.KeepSize()))
		shapes, mean = a.Shapes, a.Mean
	} else {
		mean = try.Get(morpho.Mean(shapes))
	}
	template := mean
	if s.Template != "" {
		try.Get(d.Find(s.Template))
		for i, specimen := range d.Specimens {
			if specimen.Name == s.Template {
				template = shapes[i]
			}
		}
	}
	width := cmp.Or(s.Width, morpho.MeanSpacing(template, false))
	if !(width > 0) || math.IsInf(width, 1) {
		refuse("the mean spacing of the template's landmarks is %g, which is no width of a kernel: want -width", width)
	}
	space := landmarks.New(len(template), len(template[0]), kernels.Gaussian(width), geom.Context(ctx))
	if s.Kind == "register" || s.Mismatch == 0 {
		try.Do(space.CheckRegular("shape", shapes...))
	}
	if s.Count = s.Samples; s.Kind == "register" {
		s.Count = len(shapes)
		return func(i int) (*result, error) {
			g, err := space.Log(template, shapes[i])
			if err != nil {
				return nil, fmt.Errorf("subject %d (%s): %w", i, d.Specimens[i].Name, err)
			}
			if g.Status == geom.Cancelled {
				return nil, errStopped
			}
			return &result{Number: i, Subject: d.Specimens[i].Name, Group: d.Specimens[i].Group, Status: g.Status.String(),
				Length: g.Length, Residual: g.Residual, Velocity: g.Velocity, Momentum: g.Momentum}, nil
		}
	}
	options := []stats.MeanOption{}
	if s.Mismatch != 0 {
		options = append(options, stats.Mismatch(s.Mismatch))
	}
	return func(i int) (*result, error) {
		random := rand.New(rand.NewPCG(s.Seed, uint64(i)))
		sample := make([][][]float64, len(shapes))
		for j := range sample {
			sample[j] = shapes[random.IntN(len(shapes))]
		}
		m, err := stats.FrechetMean(space, sample, options...)
		if err != nil {
			return nil, fmt.Errorf("sample %d: %w", i, err)
		}
		if m.Status == geom.Cancelled {
			return nil, errStopped
		}
		return &result{Number: i, Status: m.Status.String(), Residual: m.Residual, Mean: m.Point, Variance: m.Variance}, nil
	}
}

// claim makes the folder of the results, or sees that it is of the same study, and returns what this is called in results. Of
// tasks that start together, of whatever studies, one links the whole file to its place, and all see whose it is.
func claim(out string, s settings) (id string, err error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(out, "study.json")
	want, err := json.MarshalIndent(s, "", "\t")
	if err != nil {
		return "", err
	}
	if err := place(path, want, os.Link); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	have, err := input.ReadFile(path)
	if err = nowhere(path, err); err == nil && !bytes.Equal(have, want) {
		err = fmt.Errorf("%s is of a study with other data or settings: give it a folder of its own\n%s\nis not\n%s", path, have, want)
	}
	return checksum(want), err
}

// errStopped is of an interrupted task: the best that a computation had is no result.
var errStopped = errors.New("stopped; start the task again for the results that are missing")

// compute computes the results of a task that are not there, until the context ends.
func compute(ctx context.Context, out, id string, work func(i int) (*result, error), task, tasks, count int) error {
	var failed []error
	for i := task; i >= 0 && i < count; i += tasks { // beyond the largest of numbers a sum is negative
		err := stored(out, id, &result{Number: i})
		if err == nil {
			continue
		}
		if errors.Is(err, fs.ErrNotExist) {
			if ctx.Err() != nil {
				return errStopped
			}
			var r *result
			if r, err = work(i); errors.Is(err, errStopped) {
				return err
			}
			if err == nil {
				if err := keep(out, id, r); err != nil {
					return err // no room, say: the others would fare no better
				}
				fmt.Printf("%d: %s\n", i, r.Status)
				continue
			}
		}
		fmt.Fprintln(os.Stderr, err)
		failed = append(failed, err)
	}
	if len(failed) > 0 {
		return fmt.Errorf("%d of the results are missing; the first: %w", len(failed), failed[0])
	}
	return nil
}

const part = ".part-" // begins the names of files that are being written

// place writes a file beside its place, whole, and has os.Rename or os.Link bring it there.
func place(path string, text []byte, bring func(from, to string) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), part+"*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // does nothing after a renaming
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return bring(f.Name(), path)
}

// collect writes study.csv, a line for each result or subject, and what else there is to see of an atlas, and removes what killed
// tasks left over.
func collect(out string) {
	var s settings
	text, err := input.ReadFile(filepath.Join(out, "study.json"))
	try.Do(nowhere(filepath.Join(out, "study.json"), err))
	if err := json.Unmarshal(text, &s); err != nil {
		refuse("%s: %w", filepath.Join(out, "study.json"), err)
	}
	if s.Count < 1 || s.Count > most {
		refuse("%s is of no study", filepath.Join(out, "study.json"))
	}
	id := checksum(text)
	if s.Kind == "atlas" {
		collectAtlas(out, id, s.Count)
		try.Do(tidy(out))
		return
	}
	var table bytes.Buffer
	w := csv.NewWriter(&table)
	w.Write([]string{"number", "subject", "group", "status", "length", "residual", "variance"})
	var missing []int
	for i := range s.Count {
		r := &result{Number: i}
		err := stored(out, id, r)
		if errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, i)
			continue
		}
		try.Do(err)
		w.Write([]string{strconv.Itoa(i), r.Subject, r.Group, r.Status, number(r.Length), number(r.Residual), number(r.Variance)})
	}
	w.Flush()
	try.Do(place(filepath.Join(out, "study.csv"), table.Bytes(), os.Rename))
	if len(missing) > 0 {
		refuse("%d of %d results are missing, the first is number %d: start the tasks again", len(missing), s.Count, missing[0])
	}
	try.Do(tidy(out))
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// tidy removes what killed tasks left over. What has such a name and is no file is not theirs: it stays, and is told.
func tidy(out string) error {
	files, err := os.ReadDir(out)
	for _, f := range files {
		switch path := filepath.Join(out, f.Name()); {
		case !strings.HasPrefix(f.Name(), part):
		case f.Type().IsRegular():
			err = errors.Join(err, os.Remove(path))
		default:
			fmt.Fprintf(os.Stderr, "study: %s is no file that a task began, and stays: names that begin with %s are those of such files\n", path, part)
		}
	}
	return err
}
