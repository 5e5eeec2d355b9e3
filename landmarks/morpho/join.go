package morpho

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"anatomy/geom/shape"
	"anatomy/geom/tree"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/text"
	"anatomy/landmarks/morpho/files"
)

// Join says whose row is which in a table. The rows of specimens are those with their names in one column. Names that are equal come first. Of the
// others, those are joined that are equal without folder and extension, then those whatever the case, then those with _ for spaces: one of these
// rules at a time, and where no other name is as like. The column is that with most of the names; of several that whose title says so. Numbers are
// names only in a column whose title says so, or without a title. Where the specimens or the rows have no names (numbers that run, or one name for
// all), and there are as many, row k belongs to specimen k. Notes say the column, each looser rule, and an order that was taken.
type Join struct {
	By        string // "names", or empty; "order": row k belongs to specimen k, whatever the names
	Unmatched string // "error", or empty; "drop": specimens without a row are left out, with a note
}

// ReadCovariates returns the data set with the columns of a table as covariates, named as in the header of the table. The file is text with one row
// per specimen and columns separated by commas, semicolons, tabs or spaces, or the first sheet of an Excel workbook. Join says which row belongs to
// which specimen. A column "group" sets the group. A column of dates (2024-03-31 or 31.3.2024) becomes the days since the first of them. If columns
// are not separated by commas, decimal commas become points.
//
// Rows of other specimens are left out, with a note. It is an error if a specimen has no row or two rows, or if a covariate of the data set has other
// values in the table. The coordinates are shared with d.
func (d *Dataset) ReadCovariates(path string) (*Dataset, error) { return Join{}.Covariates(d, path) }

// Covariates is ReadCovariates with another way to join.
func (j Join) Covariates(d *Dataset, path string) (_ *Dataset, err error) {
	defer try.Catch(&err)
	t := try.Get(files.ReadTable(path))
	var out *Dataset
	try.Do(try.Name(try.Run(func() { out = j.join(d, t) }), "%s", path))
	for _, note := range t.Notes {
		out.note("%s: %s", filepath.Base(path), note)
	}
	return out, nil
}

var (
	// naming matches titles of columns that hold names of specimens.
	naming = regexp.MustCompile(`(?i)^(x|\.\.\.1|unnamed: 0|row\.?names|)$|specimen|individual|catalog|image|photo|file|label|` +
		`museum|name|sample|subject|voucher|(^|[ _.])(id|no|nr|number|code)([ _.]|$)`)
	// extensions are those of files that give specimens their names.
	extensions = regexp.MustCompile(`(?i)(\.(jpe?g|png|tiff?|bmp|gif|nef|cr2|dng|tps|nts|csv|tsv|txt|pts|` +
		`ply|obj|stl|off|vtk|vtp|gii|fcsv|json|mrk|dcm|nii|gz|nrrd|ckpt|mps|xml))+$`)
)

// bare is a name of a file without folder and extension.
func bare(name string) string {
	return extensions.ReplaceAllString(path.Base(strings.ReplaceAll(strings.TrimSpace(name), `\`, "/")), "")
}

// spaced is a name with spaces where others write _.
func spaced(name string) string { return strings.ReplaceAll(strings.TrimSpace(name), "_", " ") }

// rules make names alike, one at a time.
var rules = []struct {
	name string
	key  func(name string) string
}{
	{"", strings.TrimSpace},
	{"without folder and extension", bare},
	{"whatever the case", func(name string) string { return strings.ToLower(strings.TrimSpace(name)) }},
	{"with _ for spaces", spaced},
}

// matching is what a column has of the names of specimens.
type matching struct {
	column int
	row    []int // of each specimen, −1 where it has none
	count  int
	notes  []string
	twice  error
}

// match joins the names of specimens with those in a column.
func (d *Dataset) match(t *files.Table, column int, known map[string]bool) *matching {
	m := &matching{column: column, row: slices.Repeat([]int{-1}, len(d.Specimens))}
	values := numberedRepeats(t.Rows, column, known)
	used := make([]bool, len(values))
	for _, rule := range rules {
		mine, theirs := map[string]int{}, map[string][]int{}
		for i, s := range d.Specimens {
			if m.row[i] < 0 {
				mine[rule.key(s.Name)]++
			}
		}
		for k, v := range values {
			if !used[k] && v != "" {
				theirs[rule.key(v)] = append(theirs[rule.key(v)], k)
			}
		}
		joined, example := 0, ""
		for i, s := range d.Specimens {
			key := rule.key(s.Name)
			k := theirs[key]
			if m.row[i] >= 0 || len(k) == 0 || mine[key] != 1 {
				continue
			}
			if len(k) > 1 && m.twice == nil {
				m.twice = text.Advise("leave one of them out", "the specimen %q has two rows, in lines %d and %d", s.Name, t.Rows[k[0]].Line, t.Rows[k[1]].Line)
			}
			m.row[i], used[k[0]] = k[0], true
			if joined++; example == "" {
				example = fmt.Sprintf("%s is %s", text.Clip(values[k[0]]), text.Clip(s.Name))
			}
		}
		if m.count += joined; joined > 0 && rule.name != "" {
			m.notes = append(m.notes, fmt.Sprintf("%d names of the table were joined %s: %s", joined, rule.name, example))
		}
	}
	return m
}

// numberedRepeats are the values of a column, with numbers behind those that repeat as often as the specimens whose repeated names a reader numbered.
func numberedRepeats(rows []files.Row, column int, known map[string]bool) []string {
	values, count, seen := make([]string, len(rows)), map[string]int{}, map[string]int{}
	for k, row := range rows {
		values[k] = row.Field(column)
		count[values[k]]++
	}
	for k, v := range values {
		if n := count[v]; n > 1 && known[files.Repeated(v, n)] && !known[files.Repeated(v, n+1)] && !known[v] {
			seen[v]++
			values[k] = files.Repeated(v, seen[v])
		}
	}
	return values
}

// running says whether names are numbers that run, with the same words before and behind: they are no names.
func running(names []string) bool {
	stem, _, _ := strings.Cut(names[0], " (")
	for _, first := range []int{0, 1} {
		for _, of := range []func(k int) string{strconv.Itoa, func(k int) string { return fmt.Sprintf("specimen%02d", k) },
			func(k int) string { return files.Repeated(stem, k) }} {
			k := first
			if !slices.ContainsFunc(names, func(name string) bool { k++; return strings.TrimSpace(name) != of(k-1) }) {
				return true
			}
		}
	}
	return false
}

// nameless says whether no column tells the rows apart by words.
func nameless(t *files.Table) bool {
	for c := range t.Header {
		seen, words := map[string]bool{}, false
		for _, row := range t.Rows {
			v := row.Field(c)
			seen[v], words = true, words || !files.IsNumber(v)
		}
		if words && len(seen) == len(t.Rows) {
			return false
		}
	}
	return true
}

// whose returns the row of each specimen, and notes.
func (j Join) whose(d *Dataset, t *files.Table) *matching {
	asMany := len(t.Rows) == len(d.Specimens)
	inOrder := func(why string) *matching {
		return &matching{column: -1, row: lists.Range(len(t.Rows)), count: len(t.Rows),
			notes: []string{"the table was joined by order, row k to specimen k" + why}}
	}
	if j.By == "order" {
		text.RefuseIf(!asMany, "give each specimen a row, in the order of the landmark file", "by order, %d rows do not belong to %d specimens",
			len(t.Rows), len(d.Specimens))
		return inOrder(", as asked for")
	}
	numbers := !slices.ContainsFunc(d.Names(), func(name string) bool { return !files.IsNumber(name) })
	known := map[string]bool{}
	for _, name := range d.Names() {
		known[name] = true
	}
	var best *matching
	var all []*matching
	for c, title := range t.Header {
		m := d.match(t, c, known)
		all = append(all, m)
		if m.count == 0 || numbers && !naming.MatchString(title) {
			continue
		}
		if best == nil || m.count > best.count || m.count == best.count && naming.MatchString(title) && !naming.MatchString(t.Header[best.column]) {
			best = m
		}
	}
	switch {
	case best != nil:
		var others []string
		for _, m := range all {
			if m != best && m.count == best.count {
				others = append(others, text.Clip(t.Header[m.column]))
			}
		}
		note := "the table was joined by its column " + text.Clip(t.Header[best.column])
		if others != nil {
			note += "; the names would fit too in " + text.Listed(others)
		}
		best.notes = slices.Insert(best.notes, 0, note)
		try.Do(best.twice)
		return best
	case asMany && running(d.Names()):
		return inOrder(", because the specimens have no names but " + text.Names(d.Names()[:min(3, len(d.Names()))]))
	case asMany && nameless(t):
		return inOrder(", because no column of the table has names")
	}
	text.Refuse("write the names of the specimens in a column of the table, with a title such as specimen; "+
		"--join order joins as many rows by their order",
		"no column has names of specimens: they are called %s, and the first column has %s", text.Names(d.Names()), text.Names(numberedRepeats(t.Rows, 0,
			nil)))
	return nil
}

func (j Join) join(d *Dataset, t *files.Table) *Dataset {
	m := j.whose(d, t)
	datesToDays(t)
	out := *d
	out.Specimens = nil
	used := make([]bool, len(t.Rows))
	var without, others []string
	for i, s := range d.Specimens {
		if m.row[i] < 0 {
			without = append(without, s.Name)
			continue
		}
		row := t.Rows[m.row[i]]
		used[m.row[i]] = true
		try.Do(try.Name(take(&s, t.Header, row, m.column), "line %d", row.Line))
		out.Specimens = append(out.Specimens, s)
	}
	for k, row := range t.Rows {
		if !used[k] {
			others = append(others, row.Field(max(m.column, 0)))
		}
	}
	out.Notes = append(slices.Clip(out.Notes), m.notes...)
	if len(without) > 0 && j.Unmatched != "drop" {
		what := fmt.Sprintf("%d of %d specimens have no row: %s", len(without), len(d.Specimens), text.Names(without))
		if len(others) > 0 {
			what += "; rows of no specimen: " + text.Names(others)
		}
		if like := nearest(without[0], others); like != "" {
			what += fmt.Sprintf("; perhaps %q is %q", like, without[0])
		}
		text.Refuse("spell the names alike, add the rows, or leave the specimens out (--unmatched drop)", "%s", what)
	}
	if len(without) > 0 {
		out.note("left out, because the table has no row of them: %s", text.Names(without))
	}
	if len(others) > 0 {
		out.note("covariates: rows of no specimen: %s", text.Names(others))
	}
	return &out
}

// take sets the covariates and the group of a row, other than in the column of names. It is an error if the specimen has other ones.
func take(s *Specimen, header []string, row files.Row, names int) error {
	if s.Covariates = maps.Clone(s.Covariates); s.Covariates == nil {
		s.Covariates = map[string]string{}
	}
	for c, title := range header {
		value := row.Field(c)
		if c == names || title == "" {
			continue
		}
		was, has := s.Covariates[title]
		if title == "group" {
			was, has = s.Group, s.Group != ""
		}
		if has && was != value {
			return text.Advise("rename the column of the table", "%s of the specimen %q is %s, in the landmark file it is %s", title, s.Name,
				text.Clip(value), text.Clip(was))
		}
		if title == "group" {
			s.Group = value
		} else {
			s.Covariates[title] = value
		}
	}
	return nil
}

// datesToDays replaces the values of columns that are all dates by the days since the first of them.
func datesToDays(t *files.Table) {
	for c := range t.Header {
		for _, layout := range []string{time.DateOnly, "2.1.2006"} {
			dates, first, all := map[int]time.Time{}, time.Time{}, true
			for k, row := range t.Rows {
				if row.Field(c) == "" {
					continue
				}
				date, err := time.Parse(layout, row.Field(c))
				if dates[k], all = date, all && err == nil; len(dates) == 1 || date.Before(first) {
					first = date
				}
			}
			if !all || len(dates) == 0 {
				continue
			}
			for k, date := range dates {
				t.Rows[k].Cells[c] = strconv.FormatFloat(date.Sub(first).Hours()/24, 'f', -1, 64)
			}
			t.Header[c] += fmt.Sprintf(" (days since %s)", first.Format(time.DateOnly))
			break
		}
	}
}

// nearest is the name that a third of the letters of another, at most, make of it by insertions, deletions and exchanges (Levenshtein), whatever the
// case and without folders and extensions; "" if there is none.
func nearest(name string, names []string) (like string) {
	name = strings.ToLower(bare(name))
	least := len(name)/3 + 1
	for _, original := range names {
		other := strings.ToLower(bare(original))
		before := lists.Range(len(other) + 1)
		for i := range len(name) {
			row := append(make([]int, 0, len(before)), i+1)
			for j := range len(other) {
				cost := 1
				if name[i] == other[j] {
					cost = 0
				}
				row = append(row, min(row[j]+1, before[j+1]+1, before[j]+cost))
			}
			before = row
		}
		if d := before[len(other)]; d < least {
			least, like = d, original
		}
	}
	return like
}

// OnTree returns the specimens in the order of the leaves of a tree, matched by their names, in which _ and a space are the same; the
// points are shared. It is an error, which lists them, if a leaf has no specimen, a specimen no leaf, or two of either one name.
func (d *Dataset) OnTree(t *tree.Tree) (_ *Dataset, err error) {
	defer try.Named(&err, "%s: on the tree", d.Name)
	specimens := map[string]int{}
	for i, s := range d.Specimens {
		j, taken := specimens[spaced(s.Name)]
		try.FailIf(taken, "specimens %d and %d both are called %s: take their mean, or leave one out with Without", j, i, text.Clip(s.Name))
		specimens[spaced(s.Name)] = i
	}
	out := *d
	out.Specimens = nil
	var alone []string // leaves without a specimen
	leaves := map[string]bool{}
	for _, i := range t.Leaves() {
		name := spaced(t.Name[i])
		try.FailIf(leaves[name], "two leaves are called %s", text.Clip(t.Name[i]))
		leaves[name] = true
		if s, ok := specimens[name]; ok {
			out.Specimens = append(out.Specimens, d.Specimens[s])
		} else {
			alone = append(alone, t.Name[i])
		}
	}
	off := lists.Filter(d.Names(), func(name string) bool { return !leaves[spaced(name)] })
	switch {
	case len(alone) > 0 && len(off) > 0:
		try.Fail("no specimens for the leaves %s; no leaves for the specimens %s", text.Names(alone), text.Names(off))
	case len(alone) > 0:
		try.Fail("no specimens for the leaves %s: take the tree of the others by its method Keep", text.Names(alone))
	case len(off) > 0:
		try.Fail("no leaves for the specimens %s: leave them out with Without", text.Names(off))
	}
	return &out, nil
}

// MatchTree returns the specimens in the order of the leaves of a tree, as OnTree does, and the tree without the leaves that have none. Where
// no specimen is called as a leaf is, but a covariate or the group has the names of leaves, the specimens are the means of those of one
// value: the Procrustes mean of their shapes at the mean of their centroid sizes, or the mean of coordinates that are Flat at that of "log size".
// Notes say both. Its errors are those of OnTree.
func (d *Dataset) MatchTree(t *tree.Tree) (_ *Dataset, _ *tree.Tree, err error) {
	defer try.Catch(&err)
	leaves := map[string]string{}
	for _, i := range t.Leaves() {
		leaves[spaced(t.Name[i])] = t.Name[i]
	}
	on := func(values []string) (kept []string) {
		for _, v := range values {
			if leaf, is := leaves[spaced(v)]; is && !slices.Contains(kept, leaf) {
				kept = append(kept, leaf)
			}
		}
		return kept
	}
	kept := on(d.Names())
	if len(kept) == 0 {
		for _, name := range append(d.Covariates(), "group") {
			column, err := d.Column(name)
			if err != nil || slices.ContainsFunc(column, func(v string) bool { _, is := leaves[spaced(v)]; return !is }) {
				continue
			}
			d, kept = d.meansBy(name, column), on(column)
			break
		}
	}
	if rest := len(leaves) - len(kept); rest > 0 && len(kept) > 1 {
		pruned := try.Get(t.Keep(kept...))
		out := *d
		out.note("%s of the tree without specimens were left out of it", text.Counted(rest, "leaves"))
		d, t = &out, pruned
	}
	ordered, err := d.OnTree(t)
	return ordered, t, err
}

// meansBy returns the means of the specimens of each value of a column.
func (d *Dataset) meansBy(name string, column []string) *Dataset {
	out := *d
	out.Specimens = nil
	at := map[string][]int{}
	for i, v := range column {
		at[v] = append(at[v], i)
	}
	sizes, known := d.Numbers(LogSize)
	for _, v := range slices.Sorted(maps.Keys(at)) {
		var shapes []shape.Shape
		first, size := d.Specimens[at[v][0]], 0.0
		s := Specimen{Name: v, Group: first.Group, Covariates: maps.Clone(first.Covariates)}
		for _, i := range at[v] {
			other := d.Specimens[i]
			shapes, size = append(shapes, other.Points), size+CentroidSize(other.Points)/float64(len(at[v]))
			if other.Group != s.Group {
				s.Group = ""
			}
			maps.DeleteFunc(s.Covariates, func(k, value string) bool { return other.Covariates[k] != value })
		}
		if d.Flat {
			s.Points = shape.Shape{lists.Mean(slices.Concat(shapes...))} // each has one point
			if known == nil {
				s.Covariates[LogSize] = text.Format(stat.Mean(lists.Pick(sizes, at[v]), nil))
			}
			out.Specimens = append(out.Specimens, s)
			continue
		}
		a, err := Procrustes(shapes)
		if err == nil {
			err = a.Err()
		}
		try.Do(try.Name(err, "%s: the mean of %s", d.Name, text.Clip(v)))
		s.Points = a.Mean.Scale(size / CentroidSize(a.Mean))
		out.Specimens = append(out.Specimens, s)
	}
	out.note("the leaves of the tree are values of %s: %d specimens became the means of %d values", name, len(d.Specimens), len(out.Specimens))
	return &out
}
