package files

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/text"
)

// folder gathers the files of a folder, of which each is a specimen.
type folder struct {
	source                     // of the whole
	files  []*source           // one specimen each
	taken  map[string]string   // name of a specimen → file
	passed []string            // files of something else
	order  []string            // of notes
	noted  map[string][]string // note → files
}

// readFolder reads a folder with one specimen a file.
func (as Reading) readFolder(path string) *Data {
	return as.readFiles(path, lists.Each(try.Get(os.ReadDir(path)), func(e os.DirEntry) entry {
		file := onDisk(filepath.Join(path, e.Name()))
		if e.IsDir() {
			file.open = nil
		}
		return file
	}))
}

// readFiles reads the files of a folder or an archive; those that do not open are folders.
func (as Reading) readFiles(path string, files []entry) *Data {
	in, within := &folder{source: source{Data: newData(path), Reading: as}, taken: map[string]string{}, noted: map[string][]string{}}, new(input.Budget)
	for _, e := range files {
		in.read(e, within)
	}
	if len(in.files) == 0 {
		what := "the folder has no files"
		if len(in.passed) > 0 {
			what = "the folder has no files with landmarks, only " + text.Listed(in.passed)
		}
		try.Do(at(path, 0, text.Advise("put a file for each specimen into it, with one of the extensions "+strings.Join(Extensions(), ", "), "%s", what)))
	}
	in.gather()
	return in.Data
}

// companion matches the names of tables of sliding semi-landmarks and of links between landmarks, beside the specimens.
var companion = regexp.MustCompile(`(?i)slid|wire|link|curve`)

// read reads a file of the folder.
func (in *folder) read(e entry, within *input.Budget) {
	name, path := filepath.Base(e.path), e.path
	_, extension := formatOf(strings.ToLower(strings.TrimSuffix(name, ".gz")))
	switch {
	case strings.HasPrefix(name, "."):
		return
	case e.open == nil, !slices.Contains(Extensions(), extension) && !slices.Contains(unnamed, extension):
		in.passed = append(in.passed, name)
		return
	case companion.MatchString(name) && slices.Contains([]string{".csv", ".txt", ".tsv"}, extension):
		if d, err := in.Reading.readFile(e, within, true, readChains); err == nil {
			in.Links, in.Sliders = append(in.Links, d.Links...), append(in.Sliders, d.Sliders...)
			in.remember(d.Notes[0], name)
			return
		}
	}
	d, err := in.Reading.readFile(e, within, true, nil)
	switch {
	case errors.Is(err, ErrNotLandmarks):
		in.passed = append(in.passed, name)
		return
	case err == nil && len(d.Specimens) != 1:
		err = at(path, 0, text.Advise("read the file by itself, or write each specimen into a file of its own",
			"%d specimens: in a folder, a file holds one", len(d.Specimens)))
	}
	try.Do(err)
	s := &d.Specimens[0]
	s.Name = stem(path)
	if other, taken := in.taken[s.Name]; taken {
		try.Do(at(path, 0, text.Advise("remove one of them, or give it a name of its own", "the specimen %s is in %s, too", text.Clip(s.Name), other)))
	}
	in.taken[s.Name] = name
	in.files = append(in.files, d)
	for _, note := range d.Notes {
		in.remember(note, name)
	}
}

// remember keeps a note about a file: each once.
func (in *folder) remember(note, file string) {
	if in.noted[note] == nil {
		in.order = append(in.order, note)
	}
	in.noted[note] = append(in.noted[note], file)
}

// readChains reads a table of two or three whole numbers in each row: links of landmarks, or landmarks before, sliding and after. They count from
// 1, as R does, unless one of them is 0.
func readChains(in *source) {
	s := newSheet(in)
	for _, comma := range s.commas {
		if s.comma = comma; len(s.rows(comma)[0].Cells) > 1 {
			break
		}
	}
	var header Row
	var rows [][]int
	from := 1
	for i, row := range s.all(false) {
		var numbers []int
		for c := range row.Cells {
			if n, err := strconv.Atoi(row.Field(c)); err == nil && n >= 0 {
				numbers = append(numbers, n)
			}
		}
		whole := len(numbers) == len(row.Cells)
		if header.Cells != nil && whole && (len(numbers) == len(header.Cells)+1 || header.Field(0) == "") {
			numbers = numbers[1:] // R's row names
		}
		switch {
		case i == 0 && len(numbers) == 0:
			header = row
		case whole && (len(numbers) == 2 || len(numbers) == 3) && (len(rows) == 0 || len(numbers) == len(rows[0])):
			rows, from = append(rows, numbers), min(from, slices.Min(numbers))
		default:
			in.refuseAt(row.Line, "write two or three numbers of landmarks in each row", "these are no links and no sliders")
		}
	}
	if len(rows) == 0 {
		in.refuseAt(0, "write two or three numbers of landmarks in each row", "no rows")
	}
	what := "links between landmarks"
	for _, row := range rows {
		if len(row) == 2 {
			in.Links = append(in.Links, [2]int{row[0] - from, row[1] - from})
		} else {
			in.Sliders, what = append(in.Sliders, [3]int{row[0] - from, row[1] - from, row[2] - from}), "landmarks before, sliding and after"
		}
	}
	in.note("it was taken for %d %s, counted from %d", len(rows), what, from)
}

// AddChains adds the Links or Sliders of a table: see morpho.Dataset.ReadSliders.
func (d *Data) AddChains(path string) (err error) {
	defer try.Catch(&err)
	in := try.Get(Reading{}.readFile(onDisk(path), new(input.Budget), true, readChains))
	d.Links, d.Sliders = append(slices.Clip(d.Links), in.Links...), append(slices.Clip(d.Sliders), in.Sliders...)
	d.note("%s: %s", filepath.Base(path), in.Notes[0])
	return try.Name(d.checkChains(), "%s", path)
}

// checkChains returns an error if links or sliders name a landmark that is not there.
func (d *Data) checkChains() error {
	most, n := -1, len(d.Specimens[0].Points)
	for _, l := range d.Links {
		most = max(most, l[0], l[1])
	}
	for _, s := range d.Sliders {
		most = max(most, s[0], s[1], s[2])
	}
	if most >= n {
		return text.Advise("correct the table, or move it to another folder", "links or sliders name the landmark %d of %d, counted from 0", most, n)
	}
	return nil
}

// gather makes the specimens one data set.
func (in *folder) gather() {
	first := in.files[0]
	differ := slices.ContainsFunc(in.files, func(d *source) bool {
		return d.count() != first.count() || !slices.Equal(labelledCurves(d.Labels), labelledCurves(first.Labels))
	})
	for _, d := range in.files {
		if differ && d.Curves == nil && len(d.Labels) == d.count() {
			d.Curves = labelledCurves(d.Labels)
		}
	}
	labels := in.labels()
	var scaled, unscaled []string
	for _, d := range in.files {
		try.Do(try.Name(d.correspondsTo(first), "%s", d.Source))
		in.Specimens, in.curves = append(in.Specimens, d.Specimens[0]), append(in.curves, d.Curves)
		if file := filepath.Base(d.Source); d.scaled {
			scaled = append(scaled, file)
		} else if d.unscaled {
			unscaled = append(unscaled, file)
		}
	}
	in.curveNames = namesOfCurves(first.Labels, first.Curves)
	try.Do(try.Name(try.Run(in.resample), "%s", in.Source))
	if len(in.passed) > 0 {
		in.note("passed over, as they hold no landmarks: %s", text.Listed(in.passed))
		if slices.ContainsFunc(in.passed, func(name string) bool {
			return spreadsheet(name) || slices.Contains([]string{".csv", ".tsv", ".txt"}, strings.ToLower(filepath.Ext(name)))
		}) {
			in.note("if one of them is a table of covariates, name it as such: --covariates, or COVARIATES= of make report")
		}
	}
	for _, note := range in.order {
		of := text.Listed(in.noted[note])
		if len(in.noted[note]) == len(in.Specimens) {
			of = "each file"
		}
		in.note("%s: %s", of, note)
	}
	if in.Unscaled = scaled != nil && unscaled != nil; in.Unscaled {
		in.note("no SCALE= in %s: specimens have no sizes", text.Listed(unscaled))
	}
	try.Do(try.Name(in.checkChains(), "%s", in.Source))
	in.Unit, in.Closed = first.Unit, first.Closed
	if len(labels) == in.count() {
		in.Labels = labels
	}
}

// count is that of the landmarks of the first specimen.
func (d *Data) count() int { return len(d.Specimens[0].Points) }

// labels returns those that most files have, of the longest lists, nil where names differ by more than typing errors. It puts landmarks whose
// labels are words into their order, with missing ones for those that a file lacks.
func (in *folder) labels() (most []string) {
	count, whose := 0, ""
	for _, d := range in.files {
		alike := 0
		for _, other := range in.files {
			if slices.Equal(d.Labels, other.Labels) {
				alike++
			}
		}
		if len(d.Labels) > len(most) || len(d.Labels) == len(most) && alike > count {
			most, count, whose = d.Labels, alike, filepath.Base(d.Source)
		}
	}
	words := !slices.ContainsFunc(most, func(label string) bool { // numbers may have been given anew
		return !strings.ContainsFunc(label, unicode.IsLetter) || IsNumber(label[len(label)-1:])
	})
	uniform := true
	for _, d := range in.files {
		labels, others := numberLabels(d.Labels), numberLabels(most)
		order, lacking := arrangement(d.Labels, most)
		file, differ := filepath.Base(d.Source), []int(nil)
		for l := range min(len(labels), len(others)) {
			if labels[l] != others[l] && d.Labels[l] != most[l] {
				differ = append(differ, l)
			}
		}
		said := func(l int) string {
			return fmt.Sprintf("landmark %d is %s, but %s in ", l, text.Clip(d.Labels[l]), text.Clip(most[l]))
		}
		switch {
		case slices.Equal(d.Labels, most) || len(d.Labels) == 0:
		case len(d.Curves) > 0 && slices.Equal(withoutNumbers(d.Labels, d.Curves), withoutNumbers(most, labelledCurves(most))):
			uniform = false // curves of other numbers of points: see resample
		case order != nil && lacking != nil && words && len(d.Labels) == d.count():
			d.arrange(order, most)
			in.remember("landmarks that are not in the file are missing: "+text.Names(lacking), file)
		case len(labels) != len(others):
		case len(differ) == 0:
			uniform = false // numbers behind other words
		case order != nil && slices.Equal(labels, d.Labels): // numbers are those of points, whose order may have been corrected
			d.arrange(order, most)
			in.remember("its landmarks were put into the order of the others by their labels", file)
		case len(differ)*4 <= len(labels) && count > 1:
			for _, l := range differ {
				in.remember(said(l)+"most files: taken for the same", file)
			}
			d.Labels = most
		default:
			try.Do(at(d.Source, 0, text.Advise(correct, "%s", said(differ[0])+whose)))
		}
	}
	if !uniform {
		return nil
	}
	return most
}

// arrange puts the landmarks of the one specimen into the order of labels; −1 is a missing one.
func (in *source) arrange(order []int, labels []string) {
	was := in.Specimens[0].Points
	points := make([][]float64, len(order))
	for l, from := range order {
		if points[l] = missing()[:len(was[0])]; from >= 0 {
			points[l] = was[from]
		}
	}
	in.Specimens[0].Points, in.Labels = points, labels
}

// arrangement says where in labels each of others is, −1 for those that it lacks; nil if labels has others or one twice.
func arrangement(labels, others []string) (order []int, lacking []string) {
	at := map[string]int{}
	for l, label := range labels {
		at[label] = l
	}
	for _, label := range others {
		l, is := at[label]
		if delete(at, label); !is {
			l, lacking = -1, append(lacking, label)
		}
		order = append(order, l)
	}
	if len(at) > 0 || len(order)-len(lacking) != len(labels) || slices.Contains(labels, "") {
		return nil, nil
	}
	return order, lacking
}

const correct = "correct one of them, or move it to another folder: landmark i of one is landmark i of all"

// correspondsTo returns an error where the one specimen has not the landmarks of that of first. Where curves may have other numbers of points,
// those beside them count.
func (in *source) correspondsTo(first *source) error {
	loose := func(d *source) (n int) {
		n = d.count()
		for _, c := range d.Curves {
			n -= c[1] - c[0]
		}
		return n
	}
	dim := func(d *source) int { return len(slices.Concat(d.Specimens[0].Points...)) / max(1, d.count()) }
	curved := len(in.Curves) > 0 && len(in.Curves) == len(first.Curves) && loose(in) == loose(first) // see resample
	for _, c := range []struct {
		what         string
		mine, theirs any
		maybe        bool
	}{
		{"%d landmarks, but %d in %s", in.count(), first.count(), curved},
		{"%d coordinates, but %d in %s", dim(in), dim(first), false},
		{"the unit is %q, but %q in %s", in.Unit, first.Unit, false},
		{"closed is %v, but %v in %s", in.Closed, first.Closed, false},
		{"%d labels, but %d in %s", len(in.Labels), len(first.Labels), curved},
	} {
		if c.mine != c.theirs && !c.maybe {
			return text.Advise(correct, c.what, c.mine, c.theirs, filepath.Base(first.Source))
		}
	}
	return nil
}

// numberLabels returns the numbers of labels that are numbers behind one prefix, and other labels as they are.
func numberLabels(labels []string) []string {
	const digits = "0123456789"
	numbers := slices.Clone(labels)
	for l := range labels {
		number, ok := strings.CutPrefix(labels[l], strings.TrimRight(labels[0], digits))
		if !ok || number == "" || strings.Trim(number, digits) != "" {
			return labels
		}
		numbers[l] = number
	}
	return numbers
}
