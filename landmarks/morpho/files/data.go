// Package files reads and writes files of landmarks. What is read passes through five steps, each in its file, and none goes back:
//
//	bytes     archive.go, files.go and package text: which format; gzip, .zip, encodings, and how much a file may take
//	rows      sheet.go: cells with their lines, and what parts columns
//	readings  titles.go, plain.go and a file for each format with a grammar: which numbers may be the landmarks of which specimen
//	evidence  evidence.go, names.go: which reading is complete, whose names are unique, and of which shapes agree
//	data      table.go, source.go, curves.go, folder.go: specimens of one data set, with notes of all that was assumed
//
// Package morpho has its doors: morpho.Read, morpho.ReadCSV, morpho.Write and others.
package files

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"anatomy/geom/shape"
	"anatomy/internal/input"
	"anatomy/landmarks/internal/text"
)

// Specimen is one shape of Data: n landmarks in 2 or 3 coordinates.
type Specimen struct {
	Name   string
	Group  string      // sex, treatment, species, …; empty where there is none
	Points shape.Shape // [n][2 or 3]; the coordinates of a missing landmark are NaN

	Covariates map[string]string // what else is known, by name: species, site, age, …; see morpho.Dataset.Column and morpho.Dataset.Numbers
}

// set sets a covariate, or the group.
func (s *Specimen) set(title, value string) {
	switch {
	case strings.EqualFold(title, "group"):
		s.Group = value
	case value == "":
	case s.Covariates == nil:
		s.Covariates = map[string]string{title: value}
	default:
		s.Covariates[title] = value
	}
}

// Data are what a file or folder holds. The fields are those of morpho.Dataset, which says what they are.
type Data struct {
	Name, Unit, Source      string
	Unscaled, Forms, Closed bool
	Labels                  []string
	FromZero, Flat          bool
	Measured                bool
	Curves, Links           [][2]int
	Sliders                 [][3]int
	Specimens               []Specimen
	Notes                   []string
}

// newData starts the data of the file called source.
func newData(source string) *Data { return &Data{Name: filepath.Base(source), Source: source} }

func (d *Data) note(format string, args ...any) {
	d.Notes = append(slices.Clip(d.Notes), fmt.Sprintf(format, args...)) // copies of a data set share them
}

// Landmark is what the user calls landmark l: its label, or else its number, which counts from 0 if the file does, and else from 1.
func (d *Data) Landmark(l int) string {
	switch {
	case l >= 0 && l < len(d.Labels) && d.Labels[l] != "":
		return d.Labels[l]
	case d.FromZero:
		return strconv.Itoa(l)
	}
	return strconv.Itoa(l + 1)
}

// Covariates returns the names of the covariates in alphabetical order.
func (d *Data) Covariates() []string {
	names := map[string]bool{}
	for _, s := range d.Specimens {
		for name := range s.Covariates {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// codes of missing landmarks in the files of many programs.
var codes = []float64{-999, -9999, -99999, 9999}

// AtCode says whether all coordinates of a landmark are a usual code of a missing one.
func AtCode(point []float64) bool {
	return slices.ContainsFunc(codes, func(code float64) bool { return IsCode(point, code) })
}

// IsCode says whether all coordinates of a landmark are a code.
func IsCode(point []float64, code float64) bool {
	return len(point) > 0 && !slices.ContainsFunc(point, func(v float64) bool { return v != code })
}

// flat leaves out a third coordinate that no landmark has.
func (d *Data) flat() {
	there := false
	for _, s := range d.Specimens {
		for _, p := range s.Points {
			if len(p) != 3 || !math.IsNaN(p[2]) {
				return
			}
			there = there || !math.IsNaN(p[0])
		}
	}
	if !there {
		return
	}
	for _, s := range d.Specimens {
		for l, p := range s.Points {
			s.Points[l] = p[:2]
		}
	}
	d.note("no landmark has z: they were taken for landmarks in the plane")
}

// Repeated is the name of the k-th specimen of one name.
func Repeated(name string, k int) string { return fmt.Sprintf("%s (%d)", name, k) }

// numbered gives every specimen without a name its number, counted from 1, as a name, and puts numbers behind names that repeat.
func (d *Data) numbered() {
	count, seen := map[string]int{}, map[string]int{}
	var odd []string
	look := func(words ...string) {
		for _, word := range words {
			if input.Printable(word) != word {
				odd = append(odd, text.Clip(word))
			}
		}
	}
	for i := range d.Specimens {
		s := &d.Specimens[i]
		s.Name = cmp.Or(s.Name, fmt.Sprintf("specimen%02d", i+1))
		count[s.Name]++
		look(s.Name, s.Group)
		look(slices.Collect(maps.Values(s.Covariates))...)
	}
	for i := range d.Specimens {
		name := d.Specimens[i].Name
		if count[name] == 1 {
			continue
		}
		if seen[name]++; seen[name] == 1 {
			d.note("%d specimens are called %s: they have the names %s to %s", count[name], text.Clip(name), text.Clip(Repeated(name, 1)),
				text.Clip(Repeated(name, count[name])))
		}
		d.Specimens[i].Name = Repeated(name, seen[name])
	}
	look(d.Labels...)
	look(d.Covariates()...)
	slices.Sort(odd)
	if odd = slices.Compact(odd); len(odd) > 0 {
		d.note("control characters, or bytes that are no UTF-8, are in names, which pages and pictures show with � in their place: %s", text.Listed(odd))
	}
}

// check refuses to write what no text format could hold: names that a line cannot carry, infinite coordinates, ragged points. Missing landmarks are
// fine.
func (d *Data) check() {
	refuseIf(len(d.Specimens) == 0, "see what was left out", "no specimens to write")
	for i, s := range d.Specimens {
		refuseIf(s.Name == "", "give it one", "specimen number %d has no name", i)
		for _, word := range []struct{ what, is string }{{"name", s.Name}, {"group", s.Group}} {
			refuseIf(!fitsInLine(word.is), "remove them",
				"specimen number %d: the %s %s has a line break, a NUL or spaces around it, which a file would lose", i, word.what,
				text.Clip(word.is))
		}
		for l, p := range s.Points {
			switch c := slices.IndexFunc(p, func(v float64) bool { return math.IsInf(v, 0) }); {
			case len(p) != 2 && len(p) != 3:
				refuse("give it 2 or 3", "specimen %q: landmark %d has %d coordinates", s.Name, l, len(p))
			case len(p) != len(s.Points[0]):
				refuse("give all landmarks as many", "specimen %q: landmark %d has %d coordinates, landmark 0 has %d", s.Name, l, len(p), len(s.Points[0]))
			case c >= 0:
				refuse("correct it, or let it be NaN if it is missing", "specimen %q: landmark %d: %s is infinite", s.Name, l, text.Axis(c))
			}
		}
	}
}

// fitsInLine says whether a line of a file gives a word back as it is.
func fitsInLine(word string) bool {
	return !strings.ContainsAny(word, "\r\n\x00") && strings.TrimSpace(word) == word
}

// rectangular is check for the formats that are one array: it also asks for the same count and dimension everywhere, and returns them.
func (d *Data) rectangular() (n, dim int) {
	d.check()
	first := d.Specimens[0]
	if n = len(first.Points); n == 0 {
		refuse("leave it out", "specimen %q has no landmarks", first.Name)
	}
	dim = len(first.Points[0])
	for _, s := range d.Specimens {
		refuseIf(len(s.Points) != n || len(s.Points[0]) != dim, "write .tps, or let missing landmarks be NaN",
			"specimen %q does not have the %d landmarks in %d dimensions of %q, which this file format asks for", s.Name, n, dim,
			first.Name)
	}
	return n, dim
}

// isMissing says whether a landmark is not there.
func isMissing(p []float64) bool { return slices.ContainsFunc(p, math.IsNaN) }
