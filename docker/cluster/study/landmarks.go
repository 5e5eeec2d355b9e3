package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/csv"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"

	"anatomy/geom"
	"anatomy/geom/stats"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/internal/replace"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/morpho"
)

// settings are what the results of register and bootstrap depend on. Files that have the same belong together.
type settings struct {
	Kind     string
	Data     string  // a checksum of the shapes
	Aligned  bool    // by Procrustes analysis that keeps sizes
	Template string  // name of a subject; empty: the mean of the shapes
	Width    float64 // of the Gaussian kernel; 0: the mean spacing of the template's landmarks
	Mismatch float64 // of bootstrap, see stats.RelativeNoise; 0: exact logarithms
	Seed     uint64  // of bootstrap
	Count    int     // of the results of all tasks
}

// results are those of one task.
type results struct {
	Settings settings
	Results  []result
}

// result is one geodesic of register or one mean of bootstrap.
type result struct {
	Number             int
	Subject, Group     string      `json:",omitempty"`
	Status             string      // of the Log or the mean
	Length, Residual   float64     // of the geodesic
	Velocity, Momentum [][]float64 `json:",omitempty"` // at the template
	Mean               [][]float64 `json:",omitempty"`
	Variance           float64     // Σ d²/N around the mean
}

const maxSamples = 10_000_000 // of a bootstrap: a table of so many lines has a gigabyte

// sample is a study of landmarks that correspond.
type sample struct {
	settings
	*morpho.Dataset
	space    *landmarks.Space
	shapes   []geom.Shape
	template [][]float64
}

func (s *sample) flags(c *command) {
	c.divided()
	c.BoolVar(&s.Aligned, "align", true, "align the shapes first, keeping their sizes")
	c.Float64Var(&s.Width, "width", 0, "of the Gaussian kernel; 0: the mean spacing of the template's landmarks")
}

// prepare reads the data and makes the space.
func (s *sample) prepare(c *command, kind string) {
	positive("width", s.Width, true)
	s.Kind, s.Dataset = kind, try.Get(morpho.Read(c.data)) // which refuses devices and pipes: they have no end
	try.Do(s.Validate())
	s.shapes = s.Shapes()
	s.Data = fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, s.shapes)))
	if s.Aligned {
		a := try.Get(morpho.Procrustes(s.shapes, morpho.KeepSize()))
		s.shapes, s.template = a.Shapes, a.Mean
	} else {
		s.template = try.Get(morpho.Mean(s.shapes))
	}
	if s.Template != "" {
		try.Get(s.Find(s.Template))
		s.template = s.shapes[slices.IndexFunc(s.Specimens, func(x morpho.Specimen) bool { return x.Name == s.Template })]
	}
	width := cmp.Or(s.Width, morpho.MeanSpacing(s.template, false))
	try.FailIf(!(width > 0), "the mean spacing of the template's landmarks is %g, which is no width of a kernel: want -width", width)
	s.space = landmarks.New(len(s.template), len(s.template[0]), kernels.Gaussian(width))
	if kind == "register" || s.Mismatch == 0 {
		try.Do(s.space.CheckRegular("shape", s.shapes...))
	}
}

// compute writes the results of a task.
func (s *sample) compute(c *command, one func(i int) result) {
	all := results{Settings: s.settings}
	for i := range c.share(s.Count) {
		r := one(i)
		r.Number = i
		fmt.Printf("%d: %s\n", i, r.Status)
		all.Results = append(all.Results, r)
	}
	write(c.out, all)
}

func register(c *command) func() {
	var s sample
	s.flags(c)
	c.StringVar(&s.Template, "template", "", "`name` of the subject to register to the others; else the mean of the shapes")
	return func() {
		s.prepare(c, "register")
		s.Count = len(s.shapes)
		s.compute(c, func(i int) result {
			of := s.Specimens[i]
			g, err := s.space.Log(s.template, s.shapes[i])
			try.Do(try.Name(err, "subject %d (%s)", i, of.Name))
			return result{Subject: of.Name, Group: of.Group, Status: g.Status.String(), Length: g.Length, Residual: g.Residual, Velocity: g.Velocity,
				Momentum: g.Momentum}
		})
	}
}

func bootstrap(c *command) func() {
	var s sample
	s.flags(c)
	c.Float64Var(&s.Mismatch, "mismatch", 0,
		"noise of the landmarks as a share of their deformation in the large, a number without unit; 0: exact logarithms")
	c.IntVar(&s.Count, "samples", 1000, "how many")
	c.Uint64Var(&s.Seed, "seed", 1, "of the random numbers")
	return func() {
		positive("mismatch", s.Mismatch, true)
		try.FailIf(s.Count < 1 || s.Count > maxSamples, "-samples %d: want 1 to %d", s.Count, maxSamples)
		s.prepare(c, "bootstrap")
		var options []stats.MeanOption
		if s.Mismatch != 0 {
			options = append(options, stats.RelativeNoise(s.Mismatch))
		}
		s.compute(c, func(i int) result {
			random := rand.New(rand.NewPCG(s.Seed, uint64(i)))
			drawn := lists.Make(len(s.shapes), func(int) geom.Shape { return s.shapes[random.IntN(len(s.shapes))] })
			m, err := stats.FrechetMean(s.space, drawn, options...)
			try.Do(try.Name(err, "sample %d", i))
			return result{Status: m.Status.String(), Residual: m.Residual, Mean: m.Point, Variance: m.Variance}
		})
	}
}

// collect writes a table of the results of all tasks, or what there is to see of an atlas.
func collect(c *command) func() {
	start := c.String("start", "", "`file` that align wrote, of an atlas by rounds")
	return func() {
		if *start != "" {
			collectAtlas(c, *start)
			return
		}
		try.FailIf(len(c.files) == 0, "want the files of all tasks")
		var all results
		for i, path := range c.files {
			own := read[results](path)
			switch {
			case own.Settings.Count < 1 || own.Settings.Count > maxSamples:
				try.Fail("%s holds no results of register or bootstrap", path)
			case i > 0 && own.Settings != all.Settings:
				try.Fail("%s is of other data or settings than %s: %+v is not %+v", path, c.files[0], own.Settings, all.Settings)
			}
			all.Settings, all.Results = own.Settings, append(all.Results, own.Results...)
		}
		slices.SortFunc(all.Results, func(a, b result) int { return a.Number - b.Number })
		table := [][]string{{"number", "subject", "group", "status", "length", "residual", "variance"}}
		for i, r := range all.Results {
			try.FailIf(r.Number != i, "result %d is missing, or there twice: give the file of each task once", min(i, r.Number))
			table = append(table, []string{strconv.Itoa(i), r.Subject, r.Group, r.Status, number(r.Length), number(r.Residual), number(r.Variance)})
		}
		if n := len(all.Results); n != all.Settings.Count {
			try.Fail("result %d is missing: give the files of all tasks", n)
		}
		writeTable(c.out, table)
	}
}

func writeTable(path string, table [][]string) {
	try.Do(replace.File(path, func(w io.Writer) error { return csv.NewWriter(w).WriteAll(table) }))
}
