// Command study computes a study of shapes by tasks that read files and write files, and know nothing of each other. docker/cluster/Snakefile has
// their order. Of landmarks that correspond:
//
//	study register  -data shapes.csv -task 0 -tasks 8 -out register_0.json       # the geodesics from a template to every 8th subject
//	study bootstrap -data shapes.csv -samples 1000 -task 0 -tasks 8 -out b_0.json  # the Fréchet means of samples drawn with replacement
//	study collect   -out register.csv register_0.json …                          # a table of all results
//
// Of curves and surfaces that do not correspond, as study.Read reads them, in one task each:
//
//	study atlas     -data meshes -keep searches -out folder       # the template; started again, it goes on from its kept searches
//	study place     -data meshes -keep searches -out placed.csv   # the landmarks of some meshes on the others
//	study transport -data folder -out results                     # of a study of Deformetrica: see study.ParallelTransport
//
// For an atlas of thousands the rounds of population.Rounds, each task with a share of the subjects:
//
//	study align   -data meshes -out start.json
//	study reduce  -data meshes -start start.json -out round_0.json                                        # the first round
//	study match   -data meshes -start start.json -round round_0.json -task 0 -tasks 8 -out part_0_0.json  # later with -before, the part of the last round
//	study reduce  -data meshes -start start.json -round round_0.json -out round_1.json part_0_0.json …
//	study collect -start start.json -out folder round_9.json                                              # the last round has the atlas
//
// A result depends on the data, the settings and the seed, and not on the tasks. On processors of one kind the files are the same bit for bit. A file
// is there when it is whole.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"anatomy/geom/try"
	"anatomy/geom/watch"
	"anatomy/internal/input"
	"anatomy/internal/replace"
)

func main() {
	watch.Terminal(os.Stderr)
	if err := run(os.Args[1:]); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "study:", err)
		}
		os.Exit(1)
	}
}

// command is what one call does. Each kind of call has its flags.
type command struct {
	*flag.FlagSet
	data, out string
	files     []string // the arguments after the flags
	task, of  int
}

// commands define their flags, and return what to do when these are known.
var commands = map[string]func(c *command) func(){
	"register": register, "bootstrap": bootstrap, "collect": collect,
	"atlas": atlas, "place": place, "transport": transport,
	"align": align, "match": match, "reduce": reduce,
}

// run does what the arguments of the program say.
func run(args []string) error {
	return try.Run(func() {
		known := strings.Join(slices.Sorted(maps.Keys(commands)), ", ")
		try.FailIf(len(args) == 0, "want one of %s", known)
		define := commands[args[0]]
		try.FailIf(define == nil, "%q: want one of %s", args[0], known)
		c := &command{FlagSet: flag.NewFlagSet("study "+args[0], flag.ContinueOnError), of: 1}
		c.StringVar(&c.out, "out", "", "`file` or folder to write")
		if args[0] != "collect" {
			c.StringVar(&c.data, "data", "", "`file` or folder with the shapes")
		}
		do := define(c)
		try.Do(c.Parse(args[1:]))
		c.files = c.Args()
		takesFiles := args[0] == "collect" || args[0] == "reduce"
		switch {
		case len(c.files) > 0 && !takesFiles:
			try.Fail("%q is no option", c.files[0])
		case c.out == "":
			try.Fail("want -out, what to write")
		case c.data == "" && args[0] != "collect":
			try.Fail("want -data, the file or folder with the shapes")
		case c.of < 1 || c.task < 0 || c.task >= c.of:
			try.Fail("task %d of %d: want 0 ≤ task < tasks", c.task, c.of)
		}
		do()
	})
}

// positive refuses what is no positive number; 0 only where it has a meaning.
func positive(name string, v float64, orZero bool) {
	try.FailIf(!(v > 0) && !(orZero && v == 0) || math.IsInf(v, 1), "-%s %g: want a positive number", name, v)
}

// divided defines the flags of a command that several tasks share.
func (c *command) divided() {
	c.IntVar(&c.task, "task", 0, "number of this task, from 0")
	c.IntVar(&c.of, "tasks", 1, "how many tasks there are")
}

// share are the numbers below count that are this task's.
func (c *command) share(count int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range count {
			if i%c.of == c.task && !yield(i) {
				return
			}
		}
	}
}

// read reads what write wrote.
func read[T any](path string) *T {
	v := new(T)
	if err := json.Unmarshal(try.Get(input.ReadFile(path)), v); err != nil {
		try.Fail("%s: %w: remove it, and have it computed again", path, err)
	}
	return v
}

// write writes v as JSON, or nothing.
func write(path string, v any) {
	try.Do(replace.File(path, func(w io.Writer) error { return json.NewEncoder(w).Encode(v) }))
}

// number writes one with all its digits.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
