package morpho

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/landmarks/internal/markup"
	"anatomy/landmarks/internal/text"
)

// workbook reads a spreadsheet of Excel, .xlsx, as ReadCSV reads its first sheet that holds landmarks; Notes name it where there are others.
// Formulas count as their values, and dates as the days by which Excel counts.
func (as Reading) workbook(r io.Reader, name string) (*Dataset, error) {
	var sheets []workbookSheet
	if err := try.Run(func() { sheets = readWorkbook(r, name) }); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var first error
	for _, sheet := range sheets {
		d, err := as.csv(strings.NewReader(sheet.csv), name)
		if err == nil && len(sheets) > 1 {
			d.note("%d sheets: %s was read", len(sheets), text.Clip(sheet.name))
		}
		if err == nil {
			return d, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// workbookHead says whether a file is a spreadsheet of Excel, by its name.
func workbookHead(path string) bool { return strings.EqualFold(filepath.Ext(path), ".xlsx") }

// workbookSheet is a sheet as comma-separated values, with an empty line for each row that is not there.
type workbookSheet struct{ name, csv string }

// workbookText is a text of a cell, in one piece or in several of other fonts.
type workbookText struct {
	Whole  string   `xml:"t"`
	Pieces []string `xml:"r>t"`
}

func (t workbookText) String() string { return t.Whole + strings.Join(t.Pieces, "") }

func readWorkbook(r io.Reader, name string) (sheets []workbookSheet) {
	all, within := try.Get2(text.All(r))
	in, err := zip.NewReader(bytes.NewReader(all), int64(len(all)))
	if err != nil {
		refuse("save the spreadsheet again", "%w", err)
	}
	parse := func(file string, into any) bool {
		for _, f := range in.File {
			if f.Name == file {
				body := try.Get(f.Open())
				defer body.Close()
				content := try.Get(within.Whole(body, -1))
				try.Do(markup.Parse(content, file, into, within))
				return true
			}
		}
		return false
	}
	var book struct {
		XMLName xml.Name `xml:"workbook"`
		Sheets  []struct {
			Name string `xml:"name,attr"`
			ID   string `xml:"http://schemas.openxmlformats.org/officeDocument/2006/relationships id,attr"`
		} `xml:"sheets>sheet"`
	}
	var relations struct {
		XMLName xml.Name `xml:"Relationships"`
		All     []struct {
			ID     string `xml:"Id,attr"`
			Target string `xml:"Target,attr"`
		} `xml:"Relationship"`
	}
	var shared struct {
		XMLName xml.Name       `xml:"sst"`
		Texts   []workbookText `xml:"si"`
	}
	if !parse("xl/workbook.xml", &book) || !parse("xl/_rels/workbook.xml.rels", &relations) {
		refuse("save the spreadsheet as .xlsx or as CSV", "this is no workbook of Excel")
	}
	parse("xl/sharedStrings.xml", &shared)
	targets := map[string]string{}
	for _, r := range relations.All {
		targets[r.ID] = path.Join("xl", r.Target)
		if strings.HasPrefix(r.Target, "/") {
			targets[r.ID] = r.Target[1:]
		}
	}
	for _, s := range book.Sheets {
		var sheet workbookRows
		if parse(targets[s.ID], &sheet) && len(sheet.Rows) > 0 {
			sheets = append(sheets, workbookSheet{s.Name, sheet.csv(shared.Texts, within)})
		}
	}
	if len(sheets) == 0 {
		refuse("save the spreadsheet with its data", "no sheet has rows")
	}
	return sheets
}

// workbookRows are those of a sheet.
type workbookRows struct {
	Rows []struct {
		Number int `xml:"r,attr"`
		Cells  []struct {
			At     string       `xml:"r,attr"`
			Type   string       `xml:"t,attr"`
			Value  string       `xml:"v"`
			Inline workbookText `xml:"is"`
		} `xml:"c"`
	} `xml:"sheetData>row"`
}

// csv writes the rows, each in the line of its number.
func (w *workbookRows) csv(shared []workbookText, within *input.Budget) string {
	var out bytes.Buffer
	lines := csv.NewWriter(&out)
	line := 0
	for _, row := range w.Rows {
		line++
		for ; line < row.Number; line++ {
			try.Do(within.Row(1))
			lines.Flush()
			out.WriteByte('\n')
		}
		var cells []string
		for _, c := range row.Cells {
			column := 0
			for _, letter := range strings.TrimRight(c.At, "0123456789") {
				if column = 26*column + int(letter-'A') + 1; column < 0 || column > input.Columns {
					refuse("save the spreadsheet again", "there is no cell %s", text.Clip(c.At))
				}
			}
			for len(cells) < column-1 {
				cells = append(cells, "")
			}
			value := c.Value
			if n, err := strconv.Atoi(value); c.Type == "s" && (err != nil || n < 0 || n >= len(shared)) {
				refuse("save the spreadsheet again", "the cell %s has the text %s of %d", text.Clip(c.At), text.Clip(value), len(shared))
			} else if c.Type == "s" {
				value = shared[n].String()
			}
			switch c.Type {
			case "inlineStr":
				value = c.Inline.String()
			case "e": // #N/A, #DIV/0!
				value = "NA"
			}
			cells = append(cells, value)
		}
		try.Do(within.Row(len(cells)))
		try.Do(lines.Write(cells))
	}
	lines.Flush()
	return out.String()
}
