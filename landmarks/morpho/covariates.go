package morpho

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/landmarks/internal/text"
)

// ReadCovariates returns the data set with the columns of a table as covariates of its specimens, of the names in the header: a file in text
// with a row for each specimen, whose columns are separated by commas, semicolons, tabs or spaces. The specimens' names stand in
// the column that has most of them; they agree if they do without extension, with _ for spaces and whatever the case. A column "group"
// sets the group. Columns whose values are all dates (2024-03-31 or 31.3.2024) become days since the first of them, and in a table whose columns commas do
// not separate, decimal commas of a column of numbers become points.
//
// Rows of other specimens are passed over, with a note. It is an error if a specimen has no row, or two, or a covariate of the data
// set has other values in the table; the points are shared.
func (d *Dataset) ReadCovariates(path string) (*Dataset, error) {
	if spreadsheet(path) {
		return nil, fmt.Errorf("%s: %w", path, text.Advise(saveAsCSV, "it is no table in text"))
	}
	f, err := input.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var header []string
	var rows []sheetRow
	if err := try.Run(func() {
		var in io.Reader = f
		if workbookHead(path) {
			in = strings.NewReader(readWorkbook(f, path)[0].csv)
		}
		header, rows = readTable(in, path)
	}); err != nil {
		return nil, err
	}
	out, err := d.join(header, rows)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return out, nil
}

// readTable reads a table in text below the first row with several cells.
func readTable(r io.Reader, name string) (header []string, rows []sheetRow) {
	s := newSheet(r, name)
	most := 1
	var above *sheetRow
	for _, comma := range s.commas() {
		for k, row := range s.rows(comma) {
			if _, filled := row.numbers(); filled > most {
				most, s.comma, above = filled, comma, &s.rows(comma)[k]
			}
			if above != nil && s.comma == comma {
				break // the first row of several cells
			}
		}
		if above != nil && comma == '\t' {
			break // spaces are within names
		}
	}
	if above == nil {
		refuseAt(name, 0, "write a header such as specimen,sex,age and a row for each specimen", "no line has two columns")
	}
	s.skipTo(above.line)
	s.records(func(cells []string, line int) {
		row := sheetRow{slices.Clone(cells), line}
		for i := range cells {
			row.cells[i] = strings.TrimSpace(cells[i])
		}
		if strings.Join(row.cells, "") != "" {
			rows = append(rows, row)
		}
	})
	header = rows[0].cells
	if s.comma != ',' {
		decimalPoints(rows[1:], len(header))
	}
	if rows = rows[1:]; len(rows) == 0 {
		refuseAt(name, 0, "write a row for each specimen below the header", "the table has no rows")
	}
	if len(rows[0].cells) == len(header)+1 { // R's row names
		header = slices.Concat([]string{"specimen"}, header)
	}
	titles := map[string]bool{}
	for _, title := range header {
		if title != "" && titles[title] {
			refuseAt(name, above.line, "rename one of them", "two columns are called %s", text.Clip(title))
		}
		titles[title] = true
	}
	return header, rows
}

// plainName is a specimen's name as other files may spell it.
func plainName(name string) string {
	name = strings.ToLower(strings.TrimSpace(filepath.Base(name)))
	for {
		extension := filepath.Ext(name)
		if extension == "" || len(extension) > 5 || isNumber(extension[1:]) {
			break
		}
		name = strings.TrimSuffix(name, extension)
	}
	return strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == ' ' }), " ")
}

func (d *Dataset) join(header []string, rows []sheetRow) (*Dataset, error) {
	index := map[string]int{}
	for i, s := range d.Specimens {
		if other, twice := index[plainName(s.Name)]; twice {
			return nil, text.Advise("rename one of them", "the specimens %q and %q have one name for a table", d.Specimens[other].Name, s.Name)
		}
		index[plainName(s.Name)] = i
	}
	names, found := -1, 0
	for c := range header {
		count := 0
		for _, row := range rows {
			if _, is := index[plainName(csvField(row.cells, c))]; is {
				count++
			}
		}
		if count > found {
			names, found = c, count
		}
	}
	if names < 0 {
		var first []string
		for _, row := range rows {
			first = append(first, csvField(row.cells, 0))
		}
		return nil, text.Advise("write the names of the specimens in a column of the table", "no column has names of specimens: they are called %s, and the first column has %s", listNames(d.Names()), listNames(first))
	}
	datesToDays(header, rows)
	out := *d
	out.Specimens = slices.Clone(d.Specimens)
	at, others := map[int]int{}, []string(nil)
	for _, row := range rows {
		i, is := index[plainName(csvField(row.cells, names))]
		if !is {
			others = append(others, csvField(row.cells, names))
			continue
		}
		s := &out.Specimens[i]
		if before, twice := at[i]; twice {
			return nil, text.Advise("leave one of them out", "the specimen %q has two rows, in lines %d and %d", s.Name, before, row.line)
		}
		at[i] = row.line
		s.Covariates = maps.Clone(s.Covariates)
		if s.Covariates == nil {
			s.Covariates = map[string]string{}
		}
		for c, title := range header {
			value := csvField(row.cells, c)
			if c == names || title == "" {
				continue
			}
			if title == "group" {
				s.Group = value
				continue
			}
			if was, has := s.Covariates[title]; has && was != value {
				return nil, text.Advise("rename the column of the table", "line %d: %s of the specimen %q is %s, in the landmark file it is %s", row.line, title, s.Name, text.Clip(value), text.Clip(was))
			}
			s.Covariates[title] = value
		}
	}
	var without []string
	for i, s := range d.Specimens {
		if _, has := at[i]; !has {
			without = append(without, s.Name)
		}
	}
	if len(without) > 0 {
		what := fmt.Sprintf("%d of %d specimens have no row: %s", len(without), len(d.Specimens), listNames(without))
		if len(others) > 0 {
			what += "; rows of no specimen: " + listNames(others)
		}
		return nil, text.Advise("spell the names alike, add the rows, or leave the specimens out of the landmark file", "%s", what)
	}
	if len(others) > 0 {
		out.note("covariates: rows of no specimen: %s", listNames(others))
	}
	return &out, nil
}

// decimalPoints replaces decimal commas in columns whose values are all numbers with them.
func decimalPoints(rows []sheetRow, columns int) {
	for c := range columns {
		is := func(row sheetRow) bool {
			v := csvField(row.cells, c)
			return v == "" || isNumber(strings.Replace(v, ",", ".", 1))
		}
		if slices.ContainsFunc(rows, func(row sheetRow) bool { return !is(row) }) {
			continue
		}
		for _, row := range rows {
			if c < len(row.cells) {
				row.cells[c] = strings.Replace(row.cells[c], ",", ".", 1)
			}
		}
	}
}

// datesToDays replaces the values of columns that are all dates by the days since the first of them.
func datesToDays(header []string, rows []sheetRow) {
	for c := range header {
		for _, layout := range []string{time.DateOnly, "2.1.2006"} {
			var first time.Time
			dates, err := make([]time.Time, len(rows)), error(nil)
			for i, row := range rows {
				if csvField(row.cells, c) == "" {
					continue
				}
				var wrong error
				if dates[i], wrong = time.Parse(layout, csvField(row.cells, c)); wrong != nil {
					err = errors.Join(err, wrong)
				}
				if first.IsZero() || dates[i].Before(first) {
					first = dates[i]
				}
			}
			if err != nil || first.IsZero() {
				continue
			}
			for i, row := range rows {
				if csvField(row.cells, c) != "" {
					row.cells[c] = strconv.FormatFloat(dates[i].Sub(first).Hours()/24, 'f', -1, 64)
				}
			}
			header[c] += fmt.Sprintf(" (days since %s)", first.Format(time.DateOnly))
			break
		}
	}
}
