package files

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"path"
	"strconv"
	"strings"

	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/landmarks/internal/markup"
	"anatomy/landmarks/internal/text"
)

// readWorkbook reads a spreadsheet of Excel, .xlsx, as readTable reads its first sheet that holds landmarks; Notes name it where there are others.
// Formulas count as their values, and dates as the days by which Excel counts.
func readWorkbook(in *source) {
	sheets := in.sheets()
	in.inner(len(sheets), "%d sheets: %s was read", func(k int, one *source) string {
		readSheet(sheetOf(one, sheets[k].rows))
		return sheets[k].name
	})
}

// inner reads the first of n tables or arrays within a file that holds landmarks. The note says how many there are and which it is.
func (in *source) inner(n int, note string, read func(k int, one *source) (name string)) {
	var first error
	for k := range n {
		one := &source{Reader: in.Reader, Data: newData(in.Source), Reading: in.Reading, alone: in.alone}
		name := ""
		err := try.Run(func() { name = read(k, one) })
		if err == nil {
			if *in = *one; n > 1 {
				in.note(note, n, text.Clip(name))
			}
			return
		}
		if first == nil {
			first = at(in.Source, one.line, err)
		}
	}
	try.Do(first)
}

// workbookSheet is a sheet of a workbook.
type workbookSheet struct {
	name string
	rows []Row
}

// workbookText is a text of a cell, in one piece or in several of other fonts.
type workbookText struct {
	Whole  string   `xml:"t"`
	Pieces []string `xml:"r>t"`
}

func (t workbookText) String() string { return t.Whole + strings.Join(t.Pieces, "") }

func (in *source) sheets() (sheets []workbookSheet) {
	all := in.All()
	file, err := zip.NewReader(bytes.NewReader(all), int64(len(all)))
	refuseIf(err != nil, "save the spreadsheet again", "%w", err)
	parse := func(name string, into any) bool {
		for _, f := range file.File {
			if f.Name == name {
				body := try.Get(f.Open())
				defer body.Close()
				try.Do(markup.Parse(try.Get(in.Whole(body, -1)), name, into, in.Budget))
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
	refuseIf(!parse("xl/workbook.xml", &book) || !parse("xl/_rels/workbook.xml.rels", &relations),
		"save the spreadsheet as .xlsx or as CSV", "this is no workbook of Excel")
	parse("xl/sharedStrings.xml", &shared)
	targets := map[string]string{}
	for _, r := range relations.All {
		target, absolute := strings.CutPrefix(r.Target, "/")
		if targets[r.ID] = target; !absolute {
			targets[r.ID] = path.Join("xl", target)
		}
	}
	for _, s := range book.Sheets {
		var rows workbookRows
		if parse(targets[s.ID], &rows) && len(rows.Rows) > 0 {
			sheets = append(sheets, workbookSheet{s.Name, rows.parted(shared.Texts, in.Budget)})
		}
	}
	refuseIf(len(sheets) == 0, "save the spreadsheet with its data", "no sheet has rows")
	return sheets
}

// workbookCell is a cell of a sheet.
type workbookCell struct {
	At     string       `xml:"r,attr"`
	Type   string       `xml:"t,attr"`
	Value  string       `xml:"v"`
	Inline workbookText `xml:"is"`
}

// column counts from 1; it is 0 where the cell does not say.
func (c workbookCell) column() (column int) {
	for _, letter := range strings.TrimRight(c.At, "0123456789") {
		if column = 26*column + int(letter-'A') + 1; column < 0 || column > input.Columns {
			refuse("save the spreadsheet again", "there is no cell %s", text.Clip(c.At))
		}
	}
	return column
}

func (c workbookCell) text(shared []workbookText) string {
	switch c.Type {
	case "s":
		n, err := strconv.Atoi(c.Value)
		if err != nil || n < 0 || n >= len(shared) {
			refuse("save the spreadsheet again", "the cell %s has the text %s of %d", text.Clip(c.At), text.Clip(c.Value), len(shared))
		}
		return shared[n].String()
	case "inlineStr":
		return c.Inline.String()
	case "e": // #N/A, #DIV/0!
		return "NA"
	}
	return c.Value
}

// workbookRows are those of a sheet.
type workbookRows struct {
	Rows []struct {
		Number int            `xml:"r,attr"`
		Cells  []workbookCell `xml:"c"`
	} `xml:"sheetData>row"`
}

// parted are the rows, each in the line of its number.
func (w *workbookRows) parted(shared []workbookText, within *input.Budget) (rows []Row) {
	line := 0
	for _, row := range w.Rows {
		line = max(line+1, row.Number)
		var cells []string
		for _, c := range row.Cells {
			for column := c.column(); len(cells) < column-1; {
				cells = append(cells, "")
			}
			cells = append(cells, c.text(shared))
		}
		if try.Do(within.Row(len(cells))); cells != nil {
			rows = append(rows, Row{cells, line})
		}
	}
	return rows
}
