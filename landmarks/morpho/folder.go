package morpho

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
	"anatomy/landmarks/internal/text"
)

// folder gathers the files of a folder, of which each is a specimen.
type folder struct {
	path    string
	files   []*Dataset          // one specimen each
	taken   map[string]string   // name of a specimen → file
	passed  []string            // files of something else
	notes   []string            // of files, each once
	noted   map[string][]string // note → files
	sliders [][3]int
	links   [][2]int
	scales  scales
}

// scales counts files with SCALE= and files without.
type scales struct{ scaled, unscaled []string }

// readFolder reads a folder with one specimen a file.
func (as Reading) readFolder(path string) (*Dataset, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	in, within := &folder{path: path, taken: map[string]string{}, noted: map[string][]string{}}, new(input.Budget)
	one := as
	one.Resample, one.scales, one.alone, one.curves = nil, &in.scales, true, len(as.Resample) > 0
	for _, e := range entries {
		if err := in.add(one, e, within); err != nil {
			return nil, err
		}
	}
	if len(in.files) == 0 {
		what := "the folder has no files"
		if len(in.passed) > 0 {
			what = "the folder has no files with landmarks, only " + listed(in.passed)
		}
		return nil, fmt.Errorf("%s: %w", path, text.Advise("put a file for each specimen into it, with one of the extensions "+
			strings.Join(Extensions(), ", "), "%s", what))
	}
	var out *Dataset
	err = try.Run(func() { out = in.dataset(as) })
	return out, err
}

// companion matches the names of tables of sliding semi-landmarks and of links between landmarks, beside the specimens.
var companion = regexp.MustCompile(`(?i)slid|wire|link|curve`)

// add reads a file of the folder.
func (in *folder) add(as Reading, e os.DirEntry, within *input.Budget) error {
	name, path := e.Name(), filepath.Join(in.path, e.Name())
	extension := strings.ToLower(filepath.Ext(strings.TrimSuffix(name, ".gz")))
	switch {
	case strings.HasPrefix(name, "."):
		return nil
	case e.IsDir(), !slices.Contains(Extensions(), extension) && !slices.Contains(unnamed, extension):
		in.passed = append(in.passed, name)
		return nil
	case companion.MatchString(name) && slices.Contains([]string{".csv", ".txt", ".tsv"}, extension):
		if rows, err := readChains(path, within); err == nil {
			in.take(rows, name)
			return nil
		}
	}
	d, err := as.readFile(path, within)
	switch {
	case errors.Is(err, ErrNotLandmarks):
		in.passed = append(in.passed, name)
		return nil
	case err != nil:
		return err
	case len(d.Specimens) != 1:
		return fmt.Errorf("%s: %w", path, text.Advise("read the file by itself, or write each specimen into a file of its own",
			"%d specimens: in a folder, a file holds one", len(d.Specimens)))
	}
	s := &d.Specimens[0]
	s.Name = stem(path)
	if other, taken := in.taken[s.Name]; taken {
		return fmt.Errorf("%s: %w", path, text.Advise("remove one of them, or give it a name of its own",
			"the specimen %s is in %s, too", text.Clip(s.Name), other))
	}
	in.taken[s.Name] = name
	in.files = append(in.files, d)
	for _, note := range d.Notes {
		in.note(note, name)
	}
	return nil
}

func (in *folder) note(note, file string) {
	if in.noted[note] == nil {
		in.notes = append(in.notes, note)
	}
	in.noted[note] = append(in.noted[note], file)
}

// readChains reads a table of two or three whole numbers in each row: links of landmarks, or landmarks before, sliding and after.
func readChains(path string, within *input.Budget) (rows [][]int, err error) {
	f, err := input.Open(path, within)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	err = try.Run(func() {
		s := newSheet(f, path)
		for _, comma := range s.commas() {
			s.comma = comma
			if cells := s.rows(comma); len(cells[0].cells) > 1 {
				break
			}
		}
		var header []string
		for i, row := range s.all() {
			var numbers []int
			for _, cell := range row.cells {
				if n, err := strconv.Atoi(strings.TrimSpace(cell)); err == nil && n >= 0 {
					numbers = append(numbers, n)
				}
			}
			whole := len(numbers) == len(row.cells)
			if header != nil && whole && (len(numbers) == len(header)+1 || strings.TrimSpace(header[0]) == "") {
				numbers = numbers[1:] // R's row names
			}
			switch {
			case i == 0 && len(numbers) == 0:
				header = row.cells
			case whole && (len(numbers) == 2 || len(numbers) == 3) && (len(rows) == 0 || len(numbers) == len(rows[0])):
				rows = append(rows, numbers)
			default:
				refuseAt(path, row.line, "write two or three numbers of landmarks in each row", "these are no links and no sliders")
			}
		}
	})
	if err == nil && len(rows) == 0 {
		err = text.Advise("write two or three numbers of landmarks in each row", "%s: no rows", path)
	}
	return rows, err
}

// take keeps links or sliders. They count from 1, as R does, unless one of them is 0.
func (in *folder) take(rows [][]int, file string) {
	from := min(1, slices.Min(slices.Concat(rows...)))
	for _, row := range rows {
		if len(row) == 2 {
			in.links = append(in.links, [2]int{row[0] - from, row[1] - from})
		} else {
			in.sliders = append(in.sliders, [3]int{row[0] - from, row[1] - from, row[2] - from})
		}
	}
	what := "links between landmarks"
	if len(rows[0]) == 3 {
		what = "landmarks before, sliding and after"
	}
	in.note(fmt.Sprintf("it was taken for %d %s, counted from %d", len(rows), what, from), file)
}

// ReadSliders returns the data set with the sliding semi-landmarks of a table, see Dataset.Sliders: a row for each, of the landmarks before, sliding and after,
// counted from 1, or from 0 if one is 0; two in each row are Links.
func (d *Dataset) ReadSliders(path string) (*Dataset, error) {
	rows, err := readChains(path, new(input.Budget))
	if err != nil {
		return nil, err
	}
	in := &folder{path: path, noted: map[string][]string{}}
	in.take(rows, filepath.Base(path))
	out := *d
	out.Links, out.Sliders = append(slices.Clip(d.Links), in.links...), append(slices.Clip(d.Sliders), in.sliders...)
	out.note("%s: %s", filepath.Base(path), in.notes[0])
	return &out, in.within(len(d.Specimens[0].Points))
}

// within returns an error if links or sliders name a landmark beyond n.
func (in *folder) within(n int) error {
	for _, l := range in.links {
		in.sliders = append(in.sliders, [3]int{l[0], l[1]})
	}
	all := in.sliders
	in.sliders = in.sliders[: len(all)-len(in.links) : len(all)-len(in.links)]
	for _, s := range all {
		if slices.Max(s[:]) >= n {
			return fmt.Errorf("%s: %w", in.path, text.Advise("correct the table, or move it to another folder", "links or sliders name the landmark %d of %d, counted from 0", slices.Max(s[:]), n))
		}
	}
	return nil
}

// dataset makes the specimens one data set.
func (in *folder) dataset(as Reading) *Dataset {
	out, first := newDataset(in.path), in.files[0]
	n := func(d *Dataset) int { return len(d.Specimens[0].Points) }
	if slices.ContainsFunc(in.files, func(d *Dataset) bool {
		return n(d) != n(first) || !slices.Equal(labelledCurves(d.Labels), labelledCurves(first.Labels))
	}) {
		in.complete()
		for _, d := range in.files {
			if d.Curves == nil && len(d.Labels) == n(d) {
				d.Curves = labelledCurves(d.Labels)
			}
		}
	}
	labels, curves := in.labels(), [][][2]int{}
	for _, d := range in.files {
		if err := d.correspondsTo(first); err != nil {
			try.Do(fmt.Errorf("%s: %w", d.Source, err))
		}
		out.Specimens, curves = append(out.Specimens, d.Specimens[0]), append(curves, d.Curves)
	}
	try.Do(try.Name(try.Run(func() { as.resample(out, curves, first.curveNames()) }), "%s", in.path))
	if len(in.passed) > 0 {
		out.note("passed over, as they hold no landmarks: %s", listed(in.passed))
		if slices.ContainsFunc(in.passed, func(name string) bool {
			return spreadsheet(name) || slices.Contains([]string{".csv", ".tsv", ".txt"}, strings.ToLower(filepath.Ext(name)))
		}) {
			out.note("if one of them is a table of covariates, name it as such: --covariates, or COVARIATES= of make report")
		}
	}
	for _, note := range in.notes {
		of := listed(in.noted[note])
		if len(in.noted[note]) == len(out.Specimens) {
			of = "each file"
		}
		out.note("%s: %s", of, note)
	}
	if len(in.scales.scaled) > 0 && len(in.scales.unscaled) > 0 {
		out.Unscaled = true
		out.note("no SCALE= in %s: specimens have no sizes", listed(in.scales.unscaled))
	}
	try.Do(in.within(n(out)))
	out.Unit, out.Closed, out.Links, out.Sliders = first.Unit, first.Closed, in.links, in.sliders
	if len(labels) == n(out) {
		out.Labels = labels
	}
	return out
}

// labels returns those that most files have, nil where names differ by more than typing errors; and puts landmarks of other orders into theirs.
func (in *folder) labels() []string {
	most, count, whose := []string(nil), 0, ""
	for _, d := range in.files {
		alike := 0
		for _, other := range in.files {
			if slices.Equal(d.Labels, other.Labels) {
				alike++
			}
		}
		if alike > count {
			most, count, whose = d.Labels, alike, filepath.Base(d.Source)
		}
	}
	uniform := true
	for _, d := range in.files {
		labels, others := numberLabels(d.Labels), numberLabels(most)
		if slices.Equal(d.Labels, most) || len(labels) != len(others) {
			continue
		}
		if len(d.Curves) > 0 && slices.Equal(withoutNumbers(d), withoutNumbers(&Dataset{Labels: most, Curves: labelledCurves(most)})) {
			uniform = false // curves of other numbers of points: see resample
			continue
		}
		file := filepath.Base(d.Source)
		var differ []int
		for l := range labels {
			if labels[l] != others[l] && d.Labels[l] != most[l] {
				differ = append(differ, l)
			}
		}
		switch order := permutation(d.Labels, most); {
		case len(differ) == 0:
			uniform = false // numbers behind other words
			continue
		case order != nil && slices.Equal(labels, d.Labels): // numbers are those of points, whose order may have been corrected
			points := d.Specimens[0].Points
			for l, from := range order {
				d.Specimens[0].Points = append(d.Specimens[0].Points[:l:l], points[from])
			}
			in.note("its landmarks were put into the order of the others by their labels", file)
		case len(differ)*4 <= len(labels) && count > 1:
			for _, l := range differ {
				in.note(fmt.Sprintf("landmark %d is %s, but %s in most files: taken for the same", l, text.Clip(d.Labels[l]), text.Clip(most[l])), file)
			}
		default:
			l := differ[0]
			try.Do(fmt.Errorf("%s: %w", d.Source, text.Advise(correct, "landmark %d is %s, but %s in %s", l, text.Clip(d.Labels[l]), text.Clip(most[l]), whose)))
		}
		d.Labels = most
	}
	if !uniform {
		return nil
	}
	return most
}

// withoutNumbers are the labels of a data set, of which each curve has one.
func withoutNumbers(d *Dataset) (labels []string) {
	for l, label := range d.Labels {
		if on := slices.IndexFunc(d.Curves, func(c [2]int) bool { return c[0] <= l && l < c[1] }); on < 0 || d.Curves[on][0] == l {
			labels = append(labels, curveLabel(label))
		}
	}
	return labels
}

// complete adds missing landmarks to files that lack some of the names that the longest list has.
func (in *folder) complete() {
	longest := in.files[0]
	for _, d := range in.files {
		if len(d.Labels) > len(longest.Labels) {
			longest = d
		}
	}
	for _, d := range in.files {
		whole := slices.Clone(longest.Labels)
		points, lacking := make([][]float64, len(whole)), []string(nil)
		for l, label := range whole {
			at := slices.Index(d.Labels, label)
			if named := strings.ContainsFunc(label, unicode.IsLetter) && !isNumber(label[len(label)-1:]); !named {
				return // numbers may have been given anew
			}
			if at < 0 {
				lacking = append(lacking, label)
				points[l] = missingPoint()[:len(longest.Specimens[0].Points[0])]
			} else {
				points[l] = d.Specimens[0].Points[at]
			}
		}
		if len(lacking) > 0 && len(lacking)+len(d.Labels) == len(whole) && len(d.Labels) > 0 {
			d.Specimens[0].Points, d.Labels = points, whole
			in.note("landmarks that are not in the file are missing: "+listNames(lacking), filepath.Base(d.Source))
		}
	}
}

// permutation says where in labels each of others is; nil if they are not the same, each once.
func permutation(labels, others []string) (order []int) {
	at := map[string]int{}
	for l, label := range labels {
		at[label] = l
	}
	for _, label := range others {
		l, is := at[label]
		if !is || label == "" {
			return nil
		}
		order = append(order, l)
		delete(at, label)
	}
	return order
}

const correct = "correct one of them, or move it to another folder: landmark i of one is landmark i of all"

// correspondsTo returns an error where the one specimen has not the landmarks of that of first. Where curves may have other numbers of points,
// those beside them count.
func (d *Dataset) correspondsTo(first *Dataset) error {
	loose := func(d *Dataset) (n int) {
		n = len(d.Specimens[0].Points)
		for _, c := range d.Curves {
			n -= c[1] - c[0]
		}
		return n
	}
	n, m, file := len(d.Specimens[0].Points), len(first.Specimens[0].Points), filepath.Base(first.Source)
	curved := len(d.Curves) > 0 && len(d.Curves) == len(first.Curves) && loose(d) == loose(first) // see resample
	differs := func(what string, args ...any) error { return text.Advise(correct, what, args...) }
	switch {
	case n != m && !curved:
		return differs("%d landmarks, but %d in %s", n, m, file)
	case n > 0 && len(d.Specimens[0].Points[0]) != len(first.Specimens[0].Points[0]):
		return differs("%d coordinates, but %d in %s", len(d.Specimens[0].Points[0]), len(first.Specimens[0].Points[0]), file)
	case d.Unit != first.Unit:
		return differs("the unit is %q, but %q in %s", d.Unit, first.Unit, file)
	case d.Closed != first.Closed:
		return differs("closed is %v, but %v in %s", d.Closed, first.Closed, file)
	case len(d.Labels) != len(first.Labels) && !curved:
		return differs("%d labels, but %d in %s", len(d.Labels), len(first.Labels), file)
	}
	return nil
}

// curveNames are the labels of the first points of the curves, without their numbers; nil where there are none.
func (d *Dataset) curveNames() (names []string) {
	for _, c := range d.Curves {
		if c[0] >= len(d.Labels) || d.Labels[c[0]] == "" {
			return nil
		}
		names = append(names, curveLabel(d.Labels[c[0]]))
	}
	slices.Sort(names)
	if len(slices.Compact(slices.Clone(names))) < len(names) {
		return nil
	}
	names = nil
	for _, c := range d.Curves {
		names = append(names, curveLabel(d.Labels[c[0]]))
	}
	return names
}

// curvePoint matches the label of a point of a curve: a name, and behind a separator its number on it.
var curvePoint = regexp.MustCompile(`^(.*\D.*)[ _.:-]\d+$`)

func curveLabel(label string) string {
	if m := curvePoint.FindStringSubmatch(label); m != nil {
		return m[1]
	}
	return label
}

// numberLabels returns the numbers of labels that are numbers behind one prefix, and other labels as they are.
func numberLabels(labels []string) []string {
	const digits = "0123456789"
	numbers := slices.Clone(labels)
	for l := range labels {
		prefix := strings.TrimRight(labels[0], digits)
		number, ok := strings.CutPrefix(labels[l], prefix)
		if !ok || number == "" || strings.Trim(number, digits) != "" {
			return labels
		}
		numbers[l] = number
	}
	return numbers
}
