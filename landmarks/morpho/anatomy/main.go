// Command anatomy compares shapes from the command line: it looks at files of landmarks, converts and aligns them, tests models of shape and writes
// the statistical supplement of a paper. It is one file without XLA, for Linux, macOS and Windows: `make release` builds it.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"anatomy"
	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/geom/watch"
	"anatomy/internal/input"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/morpho/supplement"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/viz"
)

// Exit states.
const (
	failed  = 1 // the data or the question
	misused = 2 // the command line
)

func main() {
	showProgress()
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// showProgress shows long computations in a line of the terminal, or, in the page of a browser, writes lines
// "progress ITERATION TOTAL NAME", which its worker reads.
func showProgress() {
	if runtime.GOOS != "js" {
		watch.Terminal(os.Stderr)
		return
	}
	watch.Interactive(watch.Surroundings{Show: func(line string, p watch.Progress) {
		if p.Total > 0 {
			fmt.Fprintf(os.Stderr, "progress %d %d %s\n", p.Iteration, p.Total, p.Task)
		}
	}})
}

// run returns the exit state of a command line.
func run(args []string, stdout, stderr io.Writer) int {
	var wrong *failure
	root := commands()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	switch err := root.Execute(); {
	case err == nil:
		return 0
	case errors.As(err, &wrong):
		fmt.Fprintln(stderr, "anatomy:", err)
		return failed
	default:
		fmt.Fprintf(stderr, "anatomy: %v\nanatomy --help has examples\n", err)
		return misused
	}
}

// failure is an error of the data or the question, as opposed to one of the command line.
type failure struct{ error }

func (f *failure) Unwrap() error { return f.error }

// answers makes errors of a command failures.
func answers(f func(c *cobra.Command, args []string)) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		if err := try.Run(func() { f(c, args) }); err != nil {
			return &failure{err}
		}
		return nil
	}
}

// source is how data are read.
type source struct {
	covariates, tree                  string
	units, without, mirror, exchanges []string
	fix                               morpho.Corrections
	join                              morpho.Join
	closed                            bool
	missing                           float64
	as                                morpho.Reading
	sliders                           string
	set                               *pflag.FlagSet // the flags of the command line
}

func (in *source) flags(c *cobra.Command) {
	in.set = c.Flags()
	c.Flags().StringVar(&in.covariates, "covariates", "", "table with a row for each specimen, such as specimens.csv")
	c.Flags().StringVar(&in.tree, "tree", "", "phylogeny in Newick's format or NEXUS, whose leaves are the specimens, or values of one of their columns: a file")
	c.Flags().StringArrayVar(&in.units, "unit", nil, "unit of the coordinates, such as mm, if the file does not say; SPECIMEN=UNIT for a specimen that has another one")
	in.join.By, in.join.Unmatched = "names", "error"
	c.Flags().Var(choice(&in.join.By, "names", "order"), "join", "by what the table is joined: names, or order, which gives row k to specimen k")
	c.Flags().Var(choice(&in.join.Unmatched, "error", "drop"), "unmatched", "what specimens without a row in the table are: an error, or left out (drop)")
	c.Flags().StringArrayVar(&in.without, "without", nil, "specimens that are left out, such as \"a; b\"")
	c.Flags().StringArrayVar(&in.mirror, "mirror", nil, "specimens whose mirror images are taken")
	c.Flags().StringArrayVar(&in.exchanges, "exchange", nil, "landmarks of a specimen that are in each other's place, as SPECIMEN=3,7")
	c.Flags().StringVar(&in.fix.WithoutLandmarks, "without-landmarks", "", "landmarks that are left out of all specimens, such as \"3, 7-9\"")
	c.Flags().BoolVar(&in.fix.Measured, "measured", false, "landmarks in unlikely places are there, and none is taken for a code of a missing one")
	c.Flags().BoolVar(&in.closed, "closed", false, "the landmarks follow a closed outline")
	c.Flags().IntVar(&in.as.Dimensions, "dimensions", 0, "2 or 3, of a table whose columns are numbered throughout")
	c.Flags().StringToIntVar(&in.as.Resample, "resample", nil, "how many points curves are to have, by their names or numbers from 1, such as edge=20")
	c.Flags().StringVar(&in.sliders, "sliders", "", "table of landmarks before, sliding and after, as geomorph has: these slide")
	c.Flags().Float64Var(&in.missing, "missing", math.NaN(), "code of missing landmarks, such as -999")
}

func (in *source) read(path string) *morpho.Dataset {
	if d := in.as.Dimensions; d != 0 && d != 2 && d != 3 {
		try.Do(fmt.Errorf("%d dimensions, want 2 or 3", d))
	}
	d := try.Get(in.as.Read(path))
	if in.sliders != "" {
		d = try.Get(d.ReadSliders(in.sliders))
	}
	if !math.IsNaN(in.missing) {
		d = try.Get(d.MissingAt(in.missing))
	}
	if in.covariates != "" {
		d = try.Get(in.join.Covariates(d, in.covariates))
	}
	in.fix.Without, in.fix.Mirror = strings.Join(in.without, "; "), strings.Join(in.mirror, "; ")
	in.fix.Exchange, in.fix.Units = strings.Join(in.exchanges, "; "), strings.Join(in.units, "; ")
	d.Closed = d.Closed || in.closed
	return d
}

// corrected is read with the corrections.
func (in *source) corrected(path string) *morpho.Dataset {
	d := in.read(path)
	return try.Get(d.Corrected(in.fix))
}

// question is what is asked of them.
type question struct {
	supplement.Question
	source
	mesh string
}

func (q *question) flags(c *cobra.Command) {
	q.source.flags(c)
	c.Flags().StringVar(&q.Model, "model", "", "terms that explain the shapes, such as \"size + sex*population\"; without: the groups")
	q.Sums = "I"
	c.Flags().Var(choice(&q.Sums, "I", "II", "III"), "sums", "type of the sums of squares: I, II or III")
	q.preparation(c)
	c.Flags().StringVar(&q.Parts, "parts", "", "parts that may vary together, such as \"jaw: 1-5, 8; skull: 6, 7, 9-12\": all landmarks, by their labels or numbers")
	c.Flags().StringVar(&q.Links, "links", "", "landmarks that lines join in figures, such as \"1-2, 2-3, 3-1\"")
	c.Flags().StringVar(&q.Pairs, "pairs", "", "landmarks on the left and on the right, such as \"1-2, 3-4\", of shapes that are symmetric: how the sides differ")
	c.Flags().StringVar(&q.Covary, "covary", "", "columns of numbers, such as \"mass, gape\": how shapes covary with them")
	c.Flags().StringVar(&q.mesh, "mesh", "", "surface of a specimen, which figures warp: a file that is named after the specimen, or SPECIMEN=FILE")
	c.Flags().IntVar(&q.Permutations, "permutations", 999, "random draws of each test")
	c.Flags().Uint64Var(&q.Seed, "seed", 1, "of the draws")
}

// preparation are the flags of what is done to the data before they are compared.
func (q *question) preparation(c *cobra.Command) {
	c.Flags().StringVar(&q.Curves, "curves", "", "landmarks of each curve in their order, such as \"1-9; 9-20\": the ends stay, the others slide")
	c.Flags().Var(choice(&q.Slide, "energy", "distance", "geomorph energy", "geomorph distance"), "slide", "by what they slide: energy (bending energy) or distance (Procrustes distance); or by one of them as geomorph slides. Places and sizes are equal again after that, so sums of squares are not those of geomorph")
	c.Flags().IntVar(&q.Turns, "turns", 0, "of sliding as geomorph does; 0 means nine, as in geomorph 4 (four in earlier versions)")
	c.Flags().StringVar(&q.Joint, "joint", "", "a joint, landmarks of the part at rest and of the one that moves, such as \"1; 6-11; 2-5\": specimens get one angle. In space two landmarks are on the axis of a hinge")
}

// data reads the data of a file, and the tree of the question.
func (q *question) data(path string) *morpho.Dataset {
	var notes []string
	if q.tree != "" {
		q.Question, notes = try.Get2(q.ReadTrees(q.tree))
	}
	if q.mesh != "" {
		q.Question = try.Get(q.ReadMesh(q.mesh))
		for _, note := range q.Mesh.Notes {
			notes = append(notes, "the mesh: "+note)
		}
	}
	d := q.read(path)
	q.Corrections = q.fix
	d.Notes = append(d.Notes, notes...)
	return d
}

// document answers the question about the landmarks or the mesh of a file.
func (q *question) document(path string) *supplement.Document {
	info, err := os.Stat(path)
	if folder := err == nil && info.IsDir(); mesh.Readable(path) && !folder {
		q.meshAlone(path)
		q.Mesh, q.Surface, q.Question.Unit = try.Get(mesh.Read(path)), base(path), strings.Join(q.units, "; ")
		return try.Get(supplement.New(nil, q.Question))
	} else if folder && slices.ContainsFunc(try.Get(os.ReadDir(path)), func(e os.DirEntry) bool { return mesh.Readable(e.Name()) }) {
		if _, err := morpho.Read(path); err != nil {
			try.Fail("%s: a folder of meshes: its template, modes and placed landmarks need XLA: make report DATA=%[1]s of the project anatomy reports them; here give one mesh, or landmarks", path)
		}
	}
	return try.Get(supplement.New(q.data(path), q.Question))
}

// ofMeshes are the flags that are about a mesh, too.
var ofMeshes = []string{"unit", "title", "author", "out", "figure", "permutations", "seed", "sums", "large"}

// meshAlone refuses flags about landmarks.
func (in *source) meshAlone(path string) {
	var others []string
	in.set.Visit(func(f *pflag.Flag) {
		if !slices.Contains(ofMeshes, f.Name) || f.Name == "unit" && strings.Contains(f.Value.String(), "=") {
			others = append(others, "--"+f.Name)
		}
	})
	if others != nil {
		try.Fail("%s: a mesh alone has no %s, which is about landmarks", path, strings.Join(others, ", "))
	}
}

// base is the name of a file without folder and extension.
func base(path string) string {
	name := filepath.Base(filepath.Clean(path))
	return strings.TrimSuffix(name, filepath.Ext(name))
}

func commands() *cobra.Command {
	root := &cobra.Command{
		Use:   "anatomy",
		Short: "Compare shapes that are given by landmarks",
		Long: `anatomy compares shapes that are given by landmarks.

It reads tables (.csv, .tsv), TPS, NTS, Morphologika, NPY, 3D Slicer (.mrk.json, .fcsv), Landmark Editor (.pts),
Stratovan Checkpoint (.ckpt) and MITK (.mps), or a folder or .zip with a file for each specimen. It writes tables, TPS, NTS,
Morphologika, NPY, the text of MorphoJ (.morphoj.txt), and for 3D Slicer a file for each specimen (.mrk.json.zip, .fcsv.zip).`,
		Example: `  anatomy inspect heads.tps
  anatomy report heads.tps --covariates specimens.csv --model "size + species*site"
  anatomy test heads.csv --model "species*site" --format csv
  anatomy convert heads.tps heads.csv`,
		Version:       anatomy.Version,
		SilenceErrors: true, SilenceUsage: true,
	}
	var large bool
	root.PersistentFlags().BoolVar(&large, "large", false, "read files that are larger than usual, up to 16 GiB: they take up to four times their size of memory")
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if large {
			return os.Setenv(input.Large, "1")
		}
		if os.Getenv(input.Large) == "" && os.Getenv("GOMEMLIMIT") == "" {
			debug.SetMemoryLimit(900 << 20) // beyond it the memory is cleared more often
		}
		return nil
	}
	root.AddCommand(report(), repeat(), inspect(), convert(), align(), components(), test(), plot())
	return root
}

func report() *cobra.Command {
	var q question
	var out []string
	c := &cobra.Command{
		Use:   "report DATA",
		Short: "Write a page about landmarks or a mesh, with tables, figures and methods, and a record to make it again",
		Example: `  anatomy report heads.tps --covariates specimens.csv --model "size + species*site" --out supplement
  anatomy report skulls/ --unit mm --title "Skulls of great apes" --author "A. Name" --author "B. Name"
  anatomy report skulls.csv --mesh gorilla7=scans/g7.ply`,
		Args: cobra.ExactArgs(1),
		RunE: answers(func(c *cobra.Command, args []string) {
			d := q.document(args[0])
			if out == nil {
				out = []string{base(args[0]) + "-report"}
			}
			write(c, d, out...)
		}),
	}
	q.flags(c)
	c.Flags().StringVar(&q.Title, "title", "", "of the page")
	c.Flags().StringArrayVar(&q.Authors, "author", nil, "on the page; once for each")
	c.Flags().StringArrayVar(&out, "out", nil, "folder or .zip file that is written, once for each; without: the name of the data and -report")
	return c
}

// write writes a document and says where its pages are.
func write(c *cobra.Command, d *supplement.Document, to ...string) {
	try.Do(d.Write(to...))
	for _, to := range to {
		if !strings.EqualFold(filepath.Ext(to), ".zip") {
			to = filepath.Join(to, "index.html")
		}
		fmt.Fprintln(c.OutOrStdout(), to)
	}
}

func repeat() *cobra.Command {
	var out, model string
	c := &cobra.Command{
		Use:   "repeat FOLDER",
		Short: "Make the report of a folder again, to the same bytes, or with another model",
		Example: `  anatomy repeat heads-report --out again
  anatomy repeat heads-report --out other --model "species"`,
		Args: cobra.ExactArgs(1),
		RunE: answers(func(c *cobra.Command, args []string) {
			data, q := try.Get2(supplement.Open(args[0]))
			if c.Flags().Changed("model") {
				q.Model = model
			}
			d := try.Get(supplement.New(data, q))
			write(c, d, out)
		}),
	}
	c.Flags().StringVar(&out, "out", "", "folder or .zip file that is written")
	c.Flags().StringVar(&model, "model", "", "another model")
	_ = c.MarkFlagRequired("out") // the flag is there
	return c
}

func inspect() *cobra.Command {
	var in source
	format := "text"
	c := &cobra.Command{
		Use:   "inspect DATA",
		Short: "Say what the data are, and which specimens to look at before any analysis",
		Example: `  anatomy inspect heads.tps
  anatomy inspect slicer-folder/ --format json`,
		Args: cobra.ExactArgs(1),
		RunE: answers(func(c *cobra.Command, args []string) {
			found := try.Get(morpho.Inspect(in.corrected(args[0])))
			d := found.Data
			if format == "json" {
				type finding struct {
					Specimen  string          `json:"specimen"`
					Landmarks []string        `json:"landmarks,omitempty"`
					About     string          `json:"about"`
					Options   []morpho.Option `json:"options,omitempty"`
				}
				about := struct {
					Data     string    `json:"data"`
					Notes    []string  `json:"notes,omitempty"`
					Columns  []string  `json:"columns"` // for a model
					Findings []finding `json:"findings"`
				}{d.String(), d.Notes, append([]string{}, d.Covariates()...), []finding{}}
				if len(d.Groups()) > 1 {
					about.Columns = append(about.Columns, "group")
				}
				for _, f := range found.Findings {
					var landmarks []string
					for _, l := range f.Landmarks {
						landmarks = append(landmarks, d.Landmark(l))
					}
					about.Findings = append(about.Findings, finding{f.Specimen, landmarks, f.String(), f.Options})
				}
				try.Do(json.NewEncoder(c.OutOrStdout()).Encode(about))
				return
			}
			w := c.OutOrStdout()
			fmt.Fprintln(w, d)
			for _, note := range d.Notes {
				fmt.Fprintln(w, "note:", note)
			}
			fmt.Fprintf(w, "%s; %s\n", found, d.Counting())
			for _, f := range found.Findings {
				fmt.Fprintln(w, f)
			}
		}),
	}
	in.flags(c)
	c.Flags().Var(choice(&format, "text", "json"), "format", "text or json")
	return c
}

func convert() *cobra.Command {
	var in source
	c := &cobra.Command{
		Use:   "convert FROM TO",
		Short: "Write landmarks or a mesh in another format, which the extension names",
		Example: `  anatomy convert heads.tps heads.csv
  anatomy convert slicer-folder/ bones.csv --covariates specimens.csv
  anatomy convert bones.csv bones.mrk.json.zip
  anatomy convert bone.stl bone.ply`,
		Args: cobra.ExactArgs(2),
		RunE: answers(func(c *cobra.Command, args []string) {
			if mesh.Readable(args[0]) && mesh.Readable(args[1]) {
				in.meshAlone(args[0])
				try.Do(mesh.Write(args[1], try.Get(mesh.Read(args[0]))))
				return
			}
			try.Do(morpho.Write(args[1], in.corrected(args[0])))
		}),
	}
	in.flags(c)
	return c
}

func align() *cobra.Command {
	var q question
	var keep bool
	format := "text"
	c := &cobra.Command{
		Use:   "align FROM TO",
		Short: "Write the shapes after generalised Procrustes alignment",
		Example: `  anatomy align heads.tps aligned.csv
  anatomy align bones.csv aligned.csv --curves "1-16; 16-31; 31-46; 46-60, 1"`,
		Args: cobra.ExactArgs(2),
		RunE: answers(func(c *cobra.Command, args []string) {
			d := try.Get(supplement.Ready(q.data(args[0]), q.Question))
			var options []morpho.ProcrustesOption
			if keep {
				options = append(options, morpho.KeepSize())
			}
			a := try.Get(morpho.Procrustes(d.Shapes(), options...))
			if a.Status != solve.Converged {
				try.Do(fmt.Errorf("the alignment: %s", a.Status))
			}
			if format == "json" {
				try.Do(json.NewEncoder(c.OutOrStdout()).Encode(aligned(d, a)))
			} else {
				fmt.Fprintln(c.ErrOrStderr(), a)
			}
			for i := range d.Specimens {
				d.Specimens[i].Points = a.Shapes[i]
			}
			try.Do(morpho.Write(args[1], d))
		}),
	}
	q.source.flags(c)
	q.preparation(c)
	c.Flags().BoolVar(&keep, "keep-size", false, "translate and rotate only")
	c.Flags().Var(choice(&format, "text", "json"), "format", "of what is said about the alignment: text, or json with the mean and the centroid sizes")
	return c
}

func test() *cobra.Command {
	var q question
	format, names := "text", []string{"anova"}
	c := &cobra.Command{
		Use:   "test DATA",
		Short: "Print tables of the report: anova, or others by their names",
		Example: `  anatomy test heads.csv --model "size + species*site"
  anatomy test heads.csv --model "species*site" --table pairs-species-site --format csv`,
		Args: cobra.ExactArgs(1),
		RunE: answers(func(c *cobra.Command, args []string) {
			data := q.data(args[0])
			if slices.Equal(names, []string{"anova"}) { // without the rest
				try.Do(print(c.OutOrStdout(), try.Get(supplement.ANOVA(data, q.Question)), format))
				return
			}
			document := try.Get(supplement.New(data, q.Question))
			var tables []*supplement.Table
			for _, name := range names {
				tables = append(tables, try.Get(document.Table(name)))
			}
			for i, t := range tables {
				if i > 0 && format != "json" {
					fmt.Fprintln(c.OutOrStdout())
				}
				try.Do(print(c.OutOrStdout(), t, format))
			}
		}),
	}
	q.flags(c)
	c.Flags().StringArrayVar(&names, "table", names, "name of a table, once for each; an empty line is between them, in json each has a line of its own")
	c.Flags().Var(choice(&format, "text", "csv", "json"), "format", "text, csv or json")
	return c
}

// print writes a table in a format.
func print(w io.Writer, t *supplement.Table, format string) (err error) {
	switch format {
	case "csv":
		_, err = w.Write(t.CSV())
	case "json":
		_, err = w.Write(t.JSON())
	default:
		_, err = fmt.Fprintln(w, t)
	}
	return err
}

func plot() *cobra.Command {
	var q question
	name := "morphospace"
	c := &cobra.Command{
		Use:   "plot DATA FILE",
		Short: "Draw a figure of the report into a file: .svg, .pdf or .png",
		Example: `  anatomy plot heads.csv morphospace.svg
  anatomy plot heads.csv allometry.pdf --figure allometry --model "size + species"`,
		Args: cobra.ExactArgs(2),
		RunE: answers(func(c *cobra.Command, args []string) {
			try.Do(viz.Save(args[1], try.Get(q.document(args[0]).Figure(name)).Drawing))
		}),
	}
	q.flags(c)
	c.Flags().StringVar(&name, "figure", name, "name of the figure")
	return c
}
