package morpho

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anatomy/geom/geomtest/expect"
)

func covariatesOf(t *testing.T, d *Dataset, table string) (*Dataset, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "covariates.csv")
	if err := os.WriteFile(path, []byte(table), 0o600); err != nil {
		t.Fatal(err)
	}
	return d.ReadCovariates(path)
}

// A table is joined by the names of the specimens, however spreadsheets write it.
func TestReadCovariates(t *testing.T) {
	d := GorillaSkulls()
	d.Specimens = d.Specimens[:3]
	for i, name := range []string{"skull 01", "skull_02.jpg", "Skull 03.v2"} {
		d.Specimens[i].Name = name
	}
	for what, table := range map[string]string{
		"commas":         "specimen,sex,age\nskull_01,f,3\nskull_02,m,4.5\nskull 03.v2,f,5\n",
		"semicolons":     "age;who;sex\n3;SKULL 01;f\n4.5;skull_02.tps;m\n5;Skull 03.v2;f\n",
		"decimal commas": "who;sex;age\nSKULL 01;f;3,0\nskull_02;m;4,5\nskull 03.v2;f;5\n",
		"tabs, titles":   "Skulls of 2025\n\nspecimen\tsex\tage\nskull 01\tf\t3\nskull_02\tm\t4.5\nskull 03.v2\tf\t5\n",
		"row names":      "sex,age\nskull 01,f,3\nskull_02,m,4.5\nskull 03.v2,f,5\n",
		"Windows":        "\ufeffspecimen,sex,age\r\nskull 03.v2,f,5\r\nskull_02,m,4.5\r\nskull 01,f,3\r\nskull 04,m,9\r\n",
		"quotes":         "\"specimen\",\"sex\",\"age\"\n\"skull 01\",\"f\",3\n\"skull_02\",\"m\",\"4.5\"\n\"skull 03.v2\",f,5\n",
	} {
		got, err := covariatesOf(t, d, table)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if sex := strings.Join(expect.Must(got.Column("sex")), ""); sex != "fmf" {
			t.Errorf("%s: sexes %s", what, sex)
		}
		expect.Abs(t, what+": ages", expect.Must(got.Numbers("age")), []float64{3, 4.5, 5}, 0)
		if notes := strings.Join(got.Notes, ""); strings.Contains(notes, `covariates: rows of no specimen: "skull 04"`) != (what == "Windows") {
			t.Errorf("%s: notes %s", what, notes)
		}
		if d.Specimens[0].Covariates["sex"] != "" {
			t.Error("the data set itself has changed")
		}
	}
	dated := expect.Must(covariatesOf(t, d, "specimen,when\nskull 01,2024-02-28\nskull_02,2024-03-01\nskull 03.v2,2024-02-29\n"))
	expect.Abs(t, "days", expect.Must(dated.Numbers("when (days since 2024-02-28)")), []float64{0, 2, 1}, 0)
	for want, table := range map[string]string{
		"no column has names of specimens":                                            "specimen,sex\nx,f\ny,m\n",
		`1 of 3 specimens have no row: "Skull 03.v2"; rows of no specimen: "skul 03"`: "specimen,sex\nskull 01,f\nskull_02,m\nskul 03,m\n",
		`the specimen "skull 01" has two rows, in lines 2 and 4`:                      "specimen,sex\nskull 01,f\nskull_02,m\nskull 01,m\nskull 03.v2,m\n",
		"no line has two columns":                                                     "a\nb\n",
		"the table has no rows":                                                       "specimen,sex\n",
		"the file is empty":                                                           "",
		"two columns are called":                                                      "specimen,sex,sex\nskull 01,f,m\n",
	} {
		_, err := covariatesOf(t, d, table)
		expect.Refused(t, err, "covariates.csv", want)
	}
	book := filepath.Join(t.TempDir(), "skulls.xlsx")
	if err := os.WriteFile(book, []byte(excel([]string{"a"}, []string{"specimen,age\nskull 01,3\nskull_02,4.5\nskull 03.v2,5\n"})), 0o600); err != nil {
		t.Fatal(err)
	}
	if ages := expect.Must(expect.Must(d.ReadCovariates(book)).Numbers("age")); ages[1] != 4.5 {
		t.Error(ages)
	}
	_, err := d.ReadCovariates("skulls.ods")
	expect.Refused(t, err, "skulls.ods", "save the spreadsheet as CSV")
	_, err = covariatesOf(t, dated, "specimen,when (days since 2024-02-28)\nskull 01,7\nskull_02,2\nskull 03.v2,1\n")
	expect.Refused(t, err, "line 2: when", `of the specimen "skull 01" is "7", in the landmark file it is "0"`)
}

// A table that is no UTF-8 is read as files of landmarks are, with the same note.
func TestCovariatesOfWindows(t *testing.T) {
	d := GorillaSkulls()
	d.Specimens = d.Specimens[:2]
	d.Specimens[0].Name, d.Specimens[1].Name = "Köln 1", "Köln 2"
	got := expect.Must(covariatesOf(t, d, "specimen,place\nK\xf6ln 1,Bucht\nK\xf6ln 2,H\xfctte\n"))
	if got.Specimens[1].Covariates["place"] != "Hütte" || !slices.Contains(got.Notes, "covariates.csv: the text is no UTF-8: it was taken for Windows-1252") {
		t.Error(got.Specimens[1].Covariates, got.Notes)
	}
}
