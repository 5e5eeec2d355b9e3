package morpho

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"anatomy/landmarks/internal/text"
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

var (
	// naming matches titles of columns that hold names of specimens.
	naming = regexp.MustCompile(`(?i)^(x|\.\.\.1|unnamed: 0|row\.?names|)$|specimen|individual|catalog|image|photo|file|label|museum|name|sample|subject|voucher|(^|[ _.])(id|no|nr|number|code)([ _.]|$)`)
	// extensions are those of files that give specimens their names.
	extensions = regexp.MustCompile(`(?i)(\.(jpe?g|png|tiff?|bmp|gif|nef|cr2|dng|tps|nts|csv|tsv|txt|pts|ply|obj|stl|off|vtk|vtp|gii|fcsv|json|mrk|dcm|nii|gz|nrrd|ckpt|mps|xml))+$`)
)

// rules make names alike, one at a time.
var rules = []struct {
	name string
	key  func(name string) string
}{
	{"", strings.TrimSpace},
	{"without folder and extension", func(name string) string {
		return extensions.ReplaceAllString(path.Base(strings.ReplaceAll(strings.TrimSpace(name), `\`, "/")), "")
	}},
	{"whatever the case", func(name string) string { return strings.ToLower(strings.TrimSpace(name)) }},
	{"with _ for spaces", func(name string) string { return strings.ReplaceAll(strings.TrimSpace(name), "_", " ") }},
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
func (d *Dataset) match(rows []sheetRow, column int, known map[string]bool) *matching {
	m := &matching{column: column, row: slices.Repeat([]int{-1}, len(d.Specimens))}
	values := numberedRepeats(rows, column, known)
	used := make([]bool, len(rows))
	for _, rule := range rules {
		mine, theirs := map[string][]int{}, map[string][]int{}
		for i, s := range d.Specimens {
			if m.row[i] < 0 {
				mine[rule.key(s.Name)] = append(mine[rule.key(s.Name)], i)
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
			if m.row[i] >= 0 || len(k) == 0 || len(mine[key]) != 1 {
				continue
			}
			if len(k) > 1 && m.twice == nil {
				m.twice = text.Advise("leave one of them out", "the specimen %q has two rows, in lines %d and %d", s.Name, rows[k[0]].line, rows[k[1]].line)
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
func numberedRepeats(rows []sheetRow, column int, known map[string]bool) []string {
	values, count := make([]string, len(rows)), map[string]int{}
	for k, row := range rows {
		values[k] = csvField(row.cells, column)
		count[values[k]]++
	}
	seen := map[string]int{}
	for k, v := range values {
		if n := count[v]; n > 1 && known[repeated(v, n)] && !known[repeated(v, n+1)] && !known[v] {
			seen[v]++
			values[k] = repeated(v, seen[v])
		}
	}
	return values
}

// repeated is the name of the k-th specimen of one name.
func repeated(name string, k int) string { return fmt.Sprintf("%s (%d)", name, k) }

// running says whether names are numbers that run, with the same words before and behind: they are no names.
func running(names []string) bool {
	for _, first := range []int{0, 1} {
		for _, of := range []func(k int) string{strconv.Itoa, func(k int) string { return fmt.Sprintf("specimen%02d", k) }, func(k int) string {
			stem, _, _ := strings.Cut(names[0], " (")
			return repeated(stem, k)
		}} {
			same := true
			for i, name := range names {
				same = same && strings.TrimSpace(name) == of(first+i)
			}
			if same {
				return true
			}
		}
	}
	return false
}

// nameless says whether no column tells the rows apart by words.
func nameless(header []string, rows []sheetRow) bool {
	for c := range header {
		seen, words := map[string]bool{}, false
		for _, row := range rows {
			v := csvField(row.cells, c)
			seen[v], words = true, words || !isNumber(v)
		}
		if words && len(seen) == len(rows) {
			return false
		}
	}
	return true
}

// whose returns the row of each specimen, and notes.
func (j Join) whose(d *Dataset, header []string, rows []sheetRow) (*matching, error) {
	asMany := len(rows) == len(d.Specimens)
	inOrder := func(why string) *matching {
		m := &matching{column: -1, count: len(rows), notes: []string{"the table was joined by order, row k to specimen k" + why}}
		for k := range rows {
			m.row = append(m.row, k)
		}
		return m
	}
	if j.By == "order" {
		if !asMany {
			return nil, text.Advise("give each specimen a row, in the order of the landmark file", "by order, %d rows do not belong to %d specimens", len(rows), len(d.Specimens))
		}
		return inOrder(", as asked for"), nil
	}
	numbers := !slices.ContainsFunc(d.Names(), func(name string) bool { return !isNumber(name) })
	known := map[string]bool{}
	for _, s := range d.Specimens {
		known[s.Name] = true
	}
	var best *matching
	var all []*matching
	for c, title := range header {
		m := d.match(rows, c, known)
		all = append(all, m)
		if m.count == 0 || numbers && !naming.MatchString(title) {
			continue
		}
		if best == nil || m.count > best.count || m.count == best.count && naming.MatchString(title) && !naming.MatchString(header[best.column]) {
			best = m
		}
	}
	switch {
	case best != nil:
		var others []string
		for _, m := range all {
			if m != best && m.count == best.count {
				others = append(others, text.Clip(header[m.column]))
			}
		}
		note := "the table was joined by its column " + text.Clip(header[best.column])
		if others != nil {
			note += "; the names would fit too in " + listed(others)
		}
		best.notes = slices.Insert(best.notes, 0, note)
		return best, best.twice
	case asMany && running(d.Names()):
		return inOrder(", because the specimens have no names but " + listNames(d.Names()[:min(3, len(d.Names()))])), nil
	case asMany && nameless(header, rows):
		return inOrder(", because no column of the table has names"), nil
	}
	var first []string
	for _, row := range rows {
		first = append(first, csvField(row.cells, 0))
	}
	return nil, text.Advise("write the names of the specimens in a column of the table, with a title such as specimen; --join order joins as many rows by their order",
		"no column has names of specimens: they are called %s, and the first column has %s", listNames(d.Names()), listNames(first))
}

func (j Join) join(d *Dataset, header []string, rows []sheetRow) (*Dataset, error) {
	m, err := j.whose(d, header, rows)
	if err != nil {
		return nil, err
	}
	datesToDays(header, rows)
	out := *d
	out.Specimens = nil
	used := make([]bool, len(rows))
	var without []string
	for i, s := range d.Specimens {
		if m.row[i] < 0 {
			without = append(without, s.Name)
			continue
		}
		row := rows[m.row[i]]
		used[m.row[i]] = true
		if err := s.take(header, row, m.column); err != nil {
			return nil, fmt.Errorf("line %d: %w", row.line, err)
		}
		out.Specimens = append(out.Specimens, s)
	}
	var others []string
	for k, row := range rows {
		if !used[k] {
			others = append(others, csvField(row.cells, max(m.column, 0)))
		}
	}
	out.Notes = append(slices.Clip(out.Notes), m.notes...)
	if len(without) > 0 && j.Unmatched != "drop" {
		what := fmt.Sprintf("%d of %d specimens have no row: %s", len(without), len(d.Specimens), listNames(without))
		if len(others) > 0 {
			what += "; rows of no specimen: " + listNames(others)
		}
		if like := nearest(without[0], others); like != "" {
			what += fmt.Sprintf("; perhaps %q is %q", like, without[0])
		}
		return nil, text.Advise("spell the names alike, add the rows, or leave the specimens out (--unmatched drop)", "%s", what)
	}
	if len(without) > 0 {
		out.note("left out, because the table has no row of them: %s", listNames(without))
	}
	if len(others) > 0 {
		out.note("covariates: rows of no specimen: %s", listNames(others))
	}
	return &out, nil
}

// take sets the covariates and the group of a row, other than in the column of names. It is an error if the specimen has other ones.
func (s *Specimen) take(header []string, row sheetRow, names int) error {
	if s.Covariates = maps.Clone(s.Covariates); s.Covariates == nil {
		s.Covariates = map[string]string{}
	}
	for c, title := range header {
		value := csvField(row.cells, c)
		if c == names || title == "" {
			continue
		}
		was, has := s.Covariates[title]
		if title == "group" {
			was, has = s.Group, s.Group != ""
		}
		if has && was != value {
			return text.Advise("rename the column of the table", "%s of the specimen %q is %s, in the landmark file it is %s", title, s.Name, text.Clip(value), text.Clip(was))
		}
		if title == "group" {
			s.Group = value
		} else {
			s.Covariates[title] = value
		}
	}
	return nil
}

// nearest is the name that a third of the letters of another, at most, make of it by insertions, deletions and exchanges (Levenshtein), whatever the
// case and without folders and extensions; "" if there is none.
func nearest(name string, names []string) (like string) {
	plain := func(name string) string { return strings.ToLower(rules[1].key(name)) }
	name = plain(name)
	least := len(name)/3 + 1
	for _, original := range names {
		other := plain(original)
		before := make([]int, len(other)+1)
		for j := range before {
			before[j] = j
		}
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
