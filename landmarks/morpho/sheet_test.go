package morpho

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anatomy/geom/geomtest/expect"
)

// Tables as spreadsheets and people save them, and what is noted about them.
func TestSpreadsheets(t *testing.T) {
	a, b := [][]float64{{1, 2.5}, {3, 4}}, [][]float64{{5, 6}, {7, 8}}
	two := []Specimen{{Name: "a", Points: a}, {Name: "b", Points: b}}
	space := []Specimen{{Name: "a", Points: [][]float64{{1, 2, 3}, {4, 5, 6.5}}}}
	for _, c := range []struct {
		what, text string
		want       Dataset
	}{
		{"titles above the header, units below it, empty rows, notes below the table",
			"Skull measurements 2025,,,,\n,,,,\nspecimen,x1,y1,x2,y2\n,mm,mm,mm,mm\na,1,2.5,3,4\n,,,,\nb,5,6,7,8\n,,,,\nMeasured by J. Smith,,,,\nsecond digitisation\n",
			Dataset{Unit: "mm", Specimens: two, Notes: []string{`line 1 above the header was passed over: "Skull measurements 2025"`, "line 4 was taken for units: mm",
				`line 9 below the table was passed over: "Measured by J. Smith"`, `line 10 below the table was passed over: "second digitisation"`, "empty rows were passed over: 2"}}},
		{"the same in a long table", "Skulls;;;\n\nspecimen;landmark;x;y\n;;[mm];[mm]\na;1;1;2,5\na;2;3;4\n;;;\nb;1;5;6\nb;2;7;8\n;;;\nGipsabguss;;;\n",
			Dataset{Unit: "mm", Specimens: two, Notes: []string{`line 1 above the header was passed over: "Skulls"`, "line 4 was taken for units: mm",
				`line 11 below the table was passed over: "Gipsabguss"`, "empty rows were passed over: 2"}}},
		{"units in the titles, semicolons, decimal commas", "Specimen ID;LM1 x (mm);LM1 y (mm);LM2 x (mm);LM2 y (mm)\na;1;2,5;3;4\nb;5;6;7;8\n", Dataset{Unit: "mm", Specimens: two}},
		{"x1,y1 with blank columns", ",specimen,,x1,y1,x2,y2,,\n,a,,1,2.5,3,4,,\n,b,,5,6,7,8,,\n", Dataset{Specimens: two}},
		{"titles like LM1_X", "ID\tLM1_X\tLM1_Y\tLM2_X\tLM2_Y\na\t1\t2.5\t3\t4\nb\t5\t6\t7\t8\n", Dataset{Specimens: two}},
		{"titles like X(1)", "name,X(1),Y(1),X(2),Y(2)\na,1,2.5,3,4\nb,5,6,7,8\n", Dataset{Specimens: two}},
		{"titles like p01x", "name,p01x,p01y,p02x,p02y\na,1,2.5,3,4\nb,5,6,7,8\n", Dataset{Specimens: two}},
		{"named landmarks", "name,nasion_x,nasion_y,tip_x,tip_y,age_x\na,1,2.5,3,4,7\nb,5,6,7,8,9\n",
			Dataset{Labels: []string{"nasion", "tip"}, Notes: []string{`the columns name 2 landmarks: "nasion", "tip"`}, Specimens: []Specimen{
				{Name: "a", Points: a, Covariates: map[string]string{"age_x": "7"}}, {Name: "b", Points: b, Covariates: map[string]string{"age_x": "9"}}}}},
		{"points and curves", "name,LM1_x,LM1_y,C1_x,C1_y\na,1,2.5,3,4\nb,5,6,7,8\n",
			Dataset{Labels: []string{"LM1", "C1"}, Notes: []string{`the columns name 2 landmarks: "LM1", "C1"`}, Specimens: two}},
		{"names of the landmarks in merged cells above", ",nasion,,tip,\nname,x,y,x,y\na,1,2.5,3,4\nb,5,6,7,8\n",
			Dataset{Labels: []string{"nasion", "tip"}, Notes: []string{`the columns name 2 landmarks: "nasion", "tip"`}, Specimens: two}},
		{"x, y, z again and again", "name,x,y,z,x,y,z\na,1,2,3,4,5,6.5\n", Dataset{Specimens: space}},
		{"landmarks with names in a long table", "specimen,landmark,x,y\na,nasion,1,2.5\na,tip,3,4\nb,tip,7,8\nb,nasion,5,6\n", Dataset{Labels: []string{"nasion", "tip"}, Specimens: two}},
		{"separated by spaces", "specimen  x1 y1   x2 y2\na 1 2.5 3 4\nb 5 6  7 8\n", Dataset{Specimens: two}},
		{"as R's write.table", "\"x1\" \"y1\" \"x2\" \"y2\"\n\"a\" 1 2.5 3 4\n\"b\" 5 6 7 8\n", Dataset{Specimens: two}},
		{"individuals", "individual,x,y\na,1,2.5\na,3,4\nb,5,6\nb,7,8\n", Dataset{Specimens: two}},
		{"other columns, but no specimens", "bone,x,y\nc,1,2.5\nd,3,4\n", Dataset{Specimens: []Specimen{{Name: "specimen01", Points: a}},
			Notes: []string{"no column has names of specimens: rows are taken for landmarks of one"}}},
		{"row names", ",specimen,x,y\n1,a,1,2.5\n2,a,3,4\n", Dataset{Specimens: two[:1], Notes: []string{"column 1 has no title and was passed over"}}},
		{"a missing landmark at the end, empty rows", "specimen,x,y\na,1,2.5\na,,\n,,\n,,\n", Dataset{Specimens: []Specimen{{Name: "a", Points: [][]float64{{1, 2.5}, {na, na}}}},
			Notes: []string{"empty rows were passed over: 2"}}},
		{"a missing landmark of a table of nothing but coordinates", "x,y\n1,2.5\n,\n3,4\n,\n", Dataset{Specimens: []Specimen{{Name: "specimen01", Points: [][]float64{{1, 2.5}, {na, na}, {3, 4}}}},
			Notes: []string{"empty rows were passed over: 1"}}},
		{"line breaks in cells", "\"Skulls\nof 2025\",,\n\"specimen\",\"x\n(mm)\",\"y\n(mm)\"\na,1,2.5\na,3,4\n",
			Dataset{Unit: "mm", Specimens: two[:1], Notes: []string{`line 1 above the header was passed over: "Skulls\nof 2025"`}}},
	} {
		t.Run(c.what, func(t *testing.T) {
			got := expect.Must(ReadCSV(strings.NewReader(c.text), "skulls.csv"))
			c.want.Name, c.want.Source = "skulls.csv", "skulls.csv"
			if diff := cmp.Diff(&c.want, got, same); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What would be taken for something else is refused, with the line where the table seems to begin.
func TestSpreadsheetsRefused(t *testing.T) {
	for text, want := range map[string][]string{
		"Skulls 2025;;;\n;;;\na;1;2;3;4\nb;5;6;7;8\n":                      {"s.csv:3: a table seems to begin here, with 4 numbers in a row", "write a header above the table, such as specimen;x1;y1;x2;y2"},
		"Skulls 2025\nskull;length;width\na;1;2\n":                         {`s.csv:2: the header "skull;length;width" names no columns x, y`},
		"length;width\n1;2\n":                                              {`s.csv:1: the header "length;width" names no columns x, y`, "specimen;landmark;x;y"},
		"a,1,2\nspecimen,x,y\na,1,2\n":                                     {"s.csv:1: a row of numbers stands above the header, which is in line 2", "remove this one"},
		"specimen,x1,y1\na,1,2\nMean,1,2\n":                                {`s.csv:3: "Mean" is likely to be a statistic`, "remove the rows of statistics"},
		"specimen,x1,y1\na,1,5,2,5\n":                                      {"s.csv:2: 5 columns, but the header has 3", "decimal comma"},
		"specimen,x (mm),y (cm)\na,1,2\n":                                  {"s.csv:1: coordinates are in cm and in mm", "bring all coordinates to one unit"},
		"specimen,landmark,x,y\na,tip,1,2\na,2,1,2\n":                      {`s.csv:3: specimen "a": landmark "2" is not a whole number`, "give each a name"},
		"specimen,landmark,x,y\na,tip,1,2\na,base,1,2\nb,base,1,2\n":       {`s.csv:4: specimen "b": landmark "base", but there is no landmark "tip"`, "write NA"},
		"specimen,landmark,x,y\na,tip,1,2\na,tip,1,2\n":                    {`s.csv:3: specimen "a": landmark "tip" stands in line 2 already`, "write each landmark"},
		"specimen,landmark,x,y\na,1,1,2\n,2,1,2\n":                         {"s.csv:3: the specimen has no name", "of cells that were merged, only the first has it"},
		"name,nasion_x,nasion_y,tip_x,tip_y,tip_z\na,1,2.5,3,4,7\n":        {`s.csv:1: the header lacks a coordinate of landmark "tip"`, "a column for each"},
		"name,x,y,x\na,1,2,3\n":                                            {`s.csv:1: columns 2 and 4 of the header both are "x"`, "such as x1, y1, x2, y2"},
		"specimen,x1,y1\na,1,2\nspecimen,x1,y1\nb,1,2\n":                   {`s.csv:3: specimen "specimen", landmark 0: x = "x1" is not a number`, "NA"},
		"Skulls\n\"specimen,x,y\na,1,2\n":                                  {"s.csv:1:", "write a header"},
		strings.Repeat("about the bones\n", 120) + "specimen,x,y\na,1,2\n": {"s.csv:1: by commas, semicolons, tabs or spaces, no line names columns"},
		"specimen,x1,y1\na,1,2\nb,1\n":                                     {"s.csv:3: 2 columns, but the header has 3", "see whether a cell is missing"},
		"specimen,x1,y1,x2,y2\na,1,2,3,4\nb,1,2,3\n":                       {"s.csv:3: 4 columns, but the header has 5"},
	} {
		_, err := ReadCSV(strings.NewReader(text), "s.csv")
		advised(t, err, want...)
	}
}
