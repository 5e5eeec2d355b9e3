package morpho

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/landmarks/internal/text"
)

// ReadCovariates returns the data set with the columns of a table as covariates, named as in the header of the table. The file is text with one row
// per specimen and columns separated by commas, semicolons, tabs or spaces. Join says which row belongs to which specimen. A column "group" sets the
// group. A column of dates (2024-03-31 or 31.3.2024) becomes the days since the first of them. If columns are not separated by commas, decimal commas
// become points.
//
// Rows of other specimens are left out, with a note. It is an error if a specimen has no row or two rows, or if a covariate of the data set has
// other values in the table. The coordinates are shared with d.
func (d *Dataset) ReadCovariates(path string) (*Dataset, error) { return Join{}.Covariates(d, path) }

// Covariates is ReadCovariates with another way to join.
func (j Join) Covariates(d *Dataset, path string) (*Dataset, error) {
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
	out, err := j.join(d, header, rows)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return out, nil
}

// readTable reads a table in text below the first row with several cells.
func readTable(r io.Reader, name string) (header []string, rows []sheetRow) {
	s := newSheet(r, name)
	var above *sheetRow
	alike := 0
	for _, comma := range s.commas() {
		if above != nil && comma == ' ' {
			break // spaces are within names
		}
		if first, rows := firstOfMost(s.rows(comma)); first != nil && rows > alike {
			alike, s.comma, above = rows, comma, first
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

// firstOfMost is the first row of the number of cells, two or more, that most rows have, and how many have it; of such numbers the largest.
func firstOfMost(rows []sheetRow) (first *sheetRow, most int) {
	count := map[int]int{}
	for _, row := range rows {
		count[len(row.cells)]++
	}
	cells := 0
	for n, rows := range count {
		if n > 1 && (rows > most || rows == most && n > cells) {
			cells, most = n, rows
		}
	}
	for k, row := range rows {
		_, filled := row.numbers()
		rowNames := len(row.cells) == cells && filled == cells-1 && strings.TrimSpace(row.cells[0]) == "" // which have no title
		if (filled > 1 || rowNames) && (len(row.cells) == cells || len(row.cells) == cells-1) {           // R's header lacks the title of the row names
			return &rows[k], most
		}
	}
	return nil, 0
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
