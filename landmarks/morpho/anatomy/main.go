// Command anatomy compares shapes from the command line: it looks at files of landmarks, converts and aligns them, tests models of shape and writes
// the statistical supplement of a paper. It is one file without XLA, for Linux, macOS and Windows: `make release` builds it.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"anatomy"
	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/geom/stats/linear"
	"anatomy/geom/try"
	"anatomy/geom/watch"
	"anatomy/internal/input"
	"anatomy/internal/lists"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/morpho/shapestats"
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

// answer is a question as a flag.
type answer struct {
	supplement.Item
	to *supplement.Answers
}

func (a answer) Set(text string) error { return a.Item.Set(a.to, text) }
func (a answer) String() string        { return a.Usual() }
func (a answer) Type() string          { return strings.Replace(a.Kind, "switch", "bool", 1) } // which has no value in a list of flags

// command gives a command so many arguments, and the flags of the questions of some steps. An error that ends run is a failure.
func command(c *cobra.Command, args int, first, last supplement.Step,
	run func(c *cobra.Command, asked *supplement.Answers, args []string)) *cobra.Command {
	answers := supplement.Usual()
	c.Flags().SortFlags = false
	for _, i := range supplement.Questions {
		if i.Step < first || i.Step > last {
			continue
		}
		usage := i.About + ", such as " + i.Example
		if i.Values != nil {
			usage = i.About + ": " + strings.Join(i.Values, ", ")
		}
		f := c.Flags().VarPF(answer{i, answers}, i.Name, "", usage)
		if i.Kind == "switch" {
			f.Usage, f.NoOptDefVal = i.About, "true"
		}
	}
	c.Args = cobra.ExactArgs(args)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := try.Run(func() { run(c, answers, args) }); err != nil {
			return &failure{err}
		}
		return nil
	}
	return c
}

// corrected reads the data of a file and corrects them.
func corrected(a *supplement.Answers, path string) *morpho.Dataset {
	return try.Get(try.Get(a.Read(path)).Corrected(a.Corrections))
}

// document answers the question about the landmarks or the mesh of a file.
func document(c *cobra.Command, a *supplement.Answers, path string) *supplement.Document {
	info, err := os.Stat(path)
	if folder := err == nil && info.IsDir(); mesh.Readable(path) && !folder {
		meshAlone(c, a, path)
		a.Mesh, a.Surface, a.Unit, a.Units = try.Get(mesh.Read(path)), base(path), a.Units, ""
		return try.Get(supplement.New(nil, a.Question))
	} else if folder && slices.ContainsFunc(try.Get(os.ReadDir(path)), func(e os.DirEntry) bool { return mesh.Readable(e.Name()) }) {
		if _, err := morpho.Read(path); err != nil {
			try.Fail("%s: a folder of meshes: its template, modes and placed landmarks need XLA: make report DATA=%[1]s of the project anatomy reports them; here give one mesh, or landmarks", path)
		}
	}
	return try.Get(supplement.New(try.Get(a.Read(path)), try.Get(a.Asked())))
}

// meshAlone refuses answers about landmarks.
func meshAlone(c *cobra.Command, a *supplement.Answers, path string) {
	var others []string
	c.Flags().Visit(func(f *pflag.Flag) {
		if i := supplement.Named(f.Name); i != nil && (!strings.Contains(i.Reports, "M") || f.Name == "unit" && strings.Contains(a.Units, "=")) {
			others = append(others, "--"+f.Name)
		}
	})
	try.FailIf(others != nil, "%s: a mesh alone has no %s, which is about landmarks", path, strings.Join(others, ", "))
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
	root.PersistentFlags().BoolVar(&large, "large", false,
		"read files that are larger than usual, up to 16 GiB: they take up to four times their size of memory")
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
	var out []string
	c := command(&cobra.Command{
		Use:   "report DATA",
		Short: "Write a page about landmarks or a mesh, with tables, figures and methods, and a record to make it again",
		Example: `  anatomy report heads.tps --covariates specimens.csv --model "size + species*site" --out supplement
  anatomy report skulls/ --unit mm --title "Skulls of great apes" --authors "A. Name; B. Name"
  anatomy report skulls.csv --mesh gorilla7=scans/g7.ply`,
	}, 1, supplement.ToRead, supplement.ToWrite, func(c *cobra.Command, asked *supplement.Answers, args []string) {
		d := document(c, asked, args[0])
		if out == nil {
			out = []string{base(args[0]) + "-report"}
		}
		write(c, d, out...)
	})
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
	var out string
	c := command(&cobra.Command{
		Use:   "repeat FOLDER",
		Short: "Make the report of a folder again, to the same bytes, or with other answers and corrections",
		Example: `  anatomy repeat heads-report --out again
  anatomy repeat heads-report --out other --model "species" --without "a; b"`,
	}, 1, supplement.ToCorrect, supplement.ToWrite, func(c *cobra.Command, changed *supplement.Answers, args []string) {
		data, q := try.Get2(supplement.Open(args[0]))
		asked := &supplement.Answers{Question: q}
		c.Flags().Visit(func(f *pflag.Flag) {
			if i := supplement.Named(f.Name); i != nil {
				i.Take(asked, changed)
			}
		})
		write(c, try.Get(supplement.New(data, try.Get(asked.Asked()))), out)
	})
	c.Flags().StringVar(&out, "out", "", "folder or .zip file that is written")
	_ = c.MarkFlagRequired("out") // the flag is there
	return c
}

func inspect() *cobra.Command {
	format, picture := "text", ""
	c := command(&cobra.Command{
		Use:   "inspect DATA",
		Short: "Say what the data are, and which specimens to look at before any analysis",
		Example: `  anatomy inspect heads.tps
  anatomy inspect slicer-folder/ --format json`,
	}, 1, supplement.ToRead, supplement.ToCorrect, func(c *cobra.Command, asked *supplement.Answers, args []string) {
		d := corrected(asked, args[0])
		found := try.Get(morpho.Inspect(d))
		if picture != "" {
			if html, err := supplement.Picture(d); err == nil { // shapes that cannot be aligned have none
				try.Do(os.WriteFile(picture, html, 0o666))
			}
		}
		d = found.Data
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
				landmarks := lists.Each(f.Landmarks, d.Landmark)
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
	})
	c.Flags().Var(choice(&format, "text", "json"), "format", "text or json")
	c.Flags().StringVar(&picture, "picture", "",
		"file that is written: a page with the specimens after alignment, which turn in space, such as heads.html")
	return c
}

func convert() *cobra.Command {
	return command(&cobra.Command{
		Use:   "convert FROM TO",
		Short: "Write landmarks or a mesh in another format, which the extension names",
		Example: `  anatomy convert heads.tps heads.csv
  anatomy convert slicer-folder/ bones.csv --covariates specimens.csv
  anatomy convert bones.csv bones.mrk.json.zip
  anatomy convert bone.stl bone.ply`,
	}, 2, supplement.ToRead, supplement.ToCorrect, func(c *cobra.Command, asked *supplement.Answers, args []string) {
		if mesh.Readable(args[0]) && mesh.Readable(args[1]) {
			meshAlone(c, asked, args[0])
			try.Do(mesh.Write(args[1], try.Get(mesh.Read(args[0]))))
			return
		}
		try.Do(morpho.Write(args[1], corrected(asked, args[0])))
	})
}

func align() *cobra.Command {
	format := "text"
	c := command(&cobra.Command{
		Use:   "align FROM TO",
		Short: "Write the shapes after generalised Procrustes alignment",
		Example: `  anatomy align heads.tps aligned.csv
  anatomy align bones.csv aligned.csv --curves "1-16; 16-31; 31-46; 46-60, 1"`,
	}, 2, supplement.ToRead, supplement.ToPrepare, func(c *cobra.Command, asked *supplement.Answers, args []string) {
		d := try.Get(supplement.Ready(try.Get(asked.Read(args[0])), asked.Question))
		var options []morpho.ProcrustesOption
		if asked.KeepSize {
			options = append(options, morpho.KeepSize())
		}
		a := try.Get(morpho.Procrustes(d.Shapes(), options...))
		try.FailIf(a.Status != solve.Converged, "the alignment: %s", a.Status)
		if format == "json" {
			try.Do(json.NewEncoder(c.OutOrStdout()).Encode(struct {
				Specimens  []string    `json:"specimens"`
				Status     string      `json:"status"`
				Iterations int         `json:"iterations"`
				RMS        float64     `json:"rms"`
				Mean       [][]float64 `json:"mean"`           // [n][d]
				Distances  []float64   `json:"distances"`      // [N]
				Sizes      []float64   `json:"centroid_sizes"` // [N], in the unit of the coordinates
			}{d.Names(), a.Status.String(), a.Iterations, a.RMS, a.Mean, a.Distances,
				lists.Each(d.Shapes(), func(x shape.Shape) float64 { return morpho.CentroidSize(x) })}))
		} else {
			fmt.Fprintln(c.ErrOrStderr(), a)
		}
		for i := range d.Specimens {
			d.Specimens[i].Points = a.Shapes[i]
		}
		try.Do(morpho.Write(args[1], d))
	})
	c.Flags().Var(choice(&format, "text", "json"), "format", "of what is said about the alignment: text, or json with the mean and the centroid sizes")
	return c
}

func test() *cobra.Command {
	format, names := "text", []string{"anova"}
	c := command(&cobra.Command{
		Use:   "test DATA",
		Short: "Print tables of the report: anova, or others by their names",
		Example: `  anatomy test heads.csv --model "size + species*site"
  anatomy test heads.csv --model "species*site" --table pairs-species-site --format csv`,
	}, 1, supplement.ToRead, supplement.ToCompare, func(c *cobra.Command, asked *supplement.Answers, args []string) {
		data, q := try.Get(asked.Read(args[0])), try.Get(asked.Asked())
		if slices.Equal(names, []string{"anova"}) { // without the rest
			try.Do(print(c.OutOrStdout(), try.Get(supplement.ANOVA(data, q)), format))
			return
		}
		document := try.Get(supplement.New(data, q))
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
	})
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
	name := "morphospace"
	c := command(&cobra.Command{
		Use:   "plot DATA FILE",
		Short: "Draw a figure of the report into a file: .svg, .pdf or .png",
		Example: `  anatomy plot heads.csv morphospace.svg
  anatomy plot heads.csv allometry.pdf --figure allometry --model "size + species"`,
	}, 2, supplement.ToRead, supplement.ToCompare, func(c *cobra.Command, asked *supplement.Answers, args []string) {
		try.Do(viz.Save(args[1], try.Get(document(c, asked, args[0]).Figure(name)).Drawing))
	})
	c.Flags().StringVar(&name, "figure", name, "name of the figure")
	return c
}

// choiceValue is a flag with some values only.
type choiceValue struct {
	value   *string
	allowed []string
}

func choice(value *string, allowed ...string) *choiceValue { return &choiceValue{value, allowed} }

func (v *choiceValue) String() string { return *v.value }
func (v *choiceValue) Type() string   { return "string" }
func (v *choiceValue) Set(s string) error {
	for _, a := range v.allowed {
		if s == a {
			*v.value = s
			return nil
		}
	}
	return fmt.Errorf("want %s", strings.Join(v.allowed, " or "))
}

func components() *cobra.Command {
	format := "text"
	c := command(&cobra.Command{
		Use:   "components DATA",
		Short: "Print the principal components of the aligned shapes; in json with scores and axes",
		Example: `  anatomy components heads.tps
  anatomy components heads.tps --format json > components.json`,
	}, 1, supplement.ToRead, supplement.ToPrepare, func(c *cobra.Command, asked *supplement.Answers, args []string) {
		d := try.Get(supplement.Ready(try.Get(asked.Read(args[0])), asked.Question))
		model := try.Get(shapestats.Fit(d))
		found := try.Get(model.Components())
		if format == "json" {
			axes := lists.Each(found.Axes, model.Shape)
			try.Do(json.NewEncoder(c.OutOrStdout()).Encode(struct {
				Specimens []string      `json:"specimens"`
				Shares    []float64     `json:"shares"` // [k], of the variance
				Scores    [][]float64   `json:"scores"` // [k][N], in centroid sizes
				Axes      []shape.Shape `json:"axes"`   // [k][n][d], of length 1
				Mean      [][]float64   `json:"mean"`   // [n][d], where all scores are 0
			}{d.Names(), found.Shares, found.Scores, axes, model.Shape(model.Fitted[0])}))
			return
		}
		lines, sum := []string{strings.Join([]string{"component", "share", "sum"}, "\t")}, 0.0
		for k, share := range found.Shares {
			sum += share
			lines = append(lines, fmt.Sprintf("%d\t%.4f\t%.4f", k+1, share, sum))
		}
		fmt.Fprintln(c.OutOrStdout(), linear.Table(lines))
	})
	c.Flags().Var(choice(&format, "text", "json"), "format", "text or json")
	return c
}
