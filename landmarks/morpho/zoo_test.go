package morpho

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anatomy/landmarks/internal/zoo"
)

// zooFormat is a format of files of landmarks: of one file, or of a file per specimen.
type zooFormat struct {
	name, extension string
	write           func(d *Dataset) (string, error)
	single          bool   // one specimen per file
	named           bool   // the file holds names of specimens
	comma           string // between the numbers of a row, if it is a table
	binary          bool
}

// table writes a data set as a table, by a writer of comma-separated values.
func table(write func(*bytes.Buffer, *Dataset) error, comma string) func(*Dataset) (string, error) {
	return func(d *Dataset) (string, error) {
		var b bytes.Buffer
		err := write(&b, d)
		return strings.ReplaceAll(b.String(), ",", comma), err
	}
}

// rows writes the landmarks of the one specimen of a data set by a format of their numbers and coordinates, between a beginning and an end.
func rows(begin, row, end string, from int) func(*Dataset) (string, error) {
	return func(d *Dataset) (string, error) {
		points := d.Specimens[0].Points
		out := strings.ReplaceAll(begin, "COUNT", fmt.Sprint(len(points)))
		for l, p := range points {
			out += strings.NewReplacer("[N]", fmt.Sprint(l+from), "[x]", number(p[0]), "[y]", number(p[1]), "[z]", number(p[2])).Replace(row) + "\n"
		}
		return out + end, nil
	}
}

func zooFormats() []zooFormat {
	long, wide := func(b *bytes.Buffer, d *Dataset) error { return WriteCSV(b, d) }, func(b *bytes.Buffer, d *Dataset) error { return writeWideCSV(b, d) }
	written := func(write func(*bytes.Buffer, *Dataset) error) func(*Dataset) (string, error) {
		return table(write, ",")
	}
	return []zooFormat{
		{name: "CSV, long", extension: ".csv", write: table(long, ","), named: true, comma: ","},
		{name: "CSV, wide", extension: ".csv", write: table(wide, ","), named: true, comma: ","},
		{name: "CSV, semicolons", extension: ".csv", write: table(wide, ";"), named: true, comma: ";"},
		{name: "TSV, wide", extension: ".tsv", write: table(wide, "\t"), named: true, comma: "\t"},
		{name: "TPS", extension: ".tps", write: written(func(b *bytes.Buffer, d *Dataset) error { return writes("TPS")(b, d) }), named: true, comma: " "},
		{name: "NTS", extension: ".nts", write: written(func(b *bytes.Buffer, d *Dataset) error { return writes("NTS")(b, d) }), named: true, comma: " "},
		{name: "Morphologika", extension: ".txt", write: written(func(b *bytes.Buffer, d *Dataset) error { return writes("Morphologika")(b, d) }), named: true, comma: " "},
		{name: "NPY", extension: ".npy", write: written(func(b *bytes.Buffer, d *Dataset) error { return writes("NPY")(b, d) }), binary: true},
		{name: "FCSV", extension: ".fcsv", single: true, write: rows("# Markups fiducial file version = 4.11\n# CoordinateSystem = LPS\n# columns = id,x,y,z,ow,ox,oy,oz,vis,sel,lock,label,desc,associatedNodeID\n",
			"[N],[x],[y],[z],0,0,0,1,1,1,0,F-[N],,", "", 1)},
		{name: "Markups", extension: ".mrk.json", single: true, write: markupsOf},
		{name: "Checkpoint", extension: ".ckpt", single: true, write: rows("Version 6\nStratovan Checkpoint (TM)\n\n[Landmarks]\nNumberOfPoints: COUNT\nUnits: um\n",
			"[N]: 0 N 0x48 [x] [y] [z] 0 0 1 \"LM[N]\" 0 1", "\n[SinglePoints]\nNumberOfSinglePoints: 0\n", 0)},
		{name: "MITK", extension: ".mps", single: true, write: rows("<?xml version=\"1.0\"?>\n<point_set_file><point_set><time_series>\n",
			"<point><id>[N]</id><x>[x]</x><y>[y]</y><z>[z]</z></point>", "</time_series></point_set></point_set_file>\n", 0)},
		{name: "plain, blanks", extension: ".txt", single: true, write: rows("", "[x] [y] [z]", "", 0), comma: " "},
		{name: "plain, names", extension: ".xyz", single: true, write: rows("", "LM[N]\t[x]\t[y]\t[z]", "", 0), comma: "\t"},
		{name: "Landmark Editor", extension: ".pts", single: true, write: rows("Version 1.0\nCOUNT\n", "S[N] [x] [y] [z]", "", 0), comma: " "},
	}
}

func markupsOf(d *Dataset) (string, error) {
	var points []string
	for l, p := range d.Specimens[0].Points {
		points = append(points, fmt.Sprintf(`{"label": "F-%d", "position": [%v, %v, %v], "positionStatus": "defined"}`, l+1, p[0], p[1], p[2]))
		if math.IsNaN(p[0]) {
			points[l] = fmt.Sprintf(`{"label": "F-%d", "position": [0, 0, 0], "positionStatus": "missing"}`, l+1)
		}
	}
	return "{\"markups\": [{\"type\": \"Fiducial\", \"coordinateSystem\": \"LPS\", \"controlPoints\": [\n" + strings.Join(points, ",\n") + "\n]}]}\n", nil
}

// defect is what is wrong with data, or with the text of a file.
type defect struct {
	name     string
	harmless bool                                           // to what is computed: nothing but the file differs
	data     func(d *Dataset)                               // spoils the data
	text     func(f zooFormat, clean string) (string, bool) // spoils the text; false if the format has no such defect
}

// coordinateTitle matches the titles of coordinates in the tables of the zoo.
var coordinateTitle = regexp.MustCompile(`^([xyz])(\d*)$`)

// odd is the specimen that defects of one are in.
const odd = 4

// onSpecimen spoils the landmarks of the odd specimen.
func onSpecimen(spoil func(q [][]float64)) func(*Dataset) {
	return func(d *Dataset) { spoil(d.Specimens[odd].Points) }
}

// onTables spoils the text of tables alone, by their lines and what parts their columns.
func onTables(spoil func(lines []string, comma string) []string) func(zooFormat, string) (string, bool) {
	return func(f zooFormat, clean string) (string, bool) {
		if f.comma == "" || f.comma == " " && !f.single { // formats with a syntax of their own
			return "", false
		}
		return strings.Join(spoil(strings.Split(strings.TrimSuffix(clean, "\n"), "\n"), f.comma), "\n") + "\n", true
	}
}

func onText(spoil func(string) string) func(zooFormat, string) (string, bool) {
	return func(f zooFormat, clean string) (string, bool) { return spoil(clean), !f.binary }
}

func defects() []defect {
	scaled := func(f float64) func(*Dataset) {
		return onSpecimen(func(q [][]float64) {
			for _, p := range q {
				for c := range p {
					p[c] *= f
				}
			}
		})
	}
	// A row beside a table, of as many cells.
	row := func(first, lines, comma string) string {
		return first + strings.Repeat(comma, strings.Count(lines, comma))
	}
	all := []defect{{name: "none", harmless: true}}
	for _, d := range zoo.TextDefects() {
		all = append(all, defect{name: d.Name, harmless: true, text: onText(d.Spoil)})
	}
	all = append(all, []defect{
		{name: "decimal commas", harmless: true, text: func(f zooFormat, s string) (string, bool) {
			head := ""
			if f.name == "Landmark Editor" {
				head, s = s[:len("Version 1.0")], s[len("Version 1.0"):]
			}
			return head + strings.ReplaceAll(s, ".", ","), f.comma != "" && f.comma != ","
		}},
		{name: "title above the table", harmless: true, text: onTables(func(lines []string, comma string) []string {
			return append([]string{row("Skulls of 2025", lines[0], comma), row("", lines[0], comma)}, lines...)
		})},
		{name: "units below the header", harmless: true, text: func(f zooFormat, s string) (string, bool) {
			s, ok := onTables(func(lines []string, comma string) []string {
				titles := strings.Split(lines[0], comma)
				for i, title := range titles {
					titles[i] = ""
					if coordinateTitle.MatchString(title) {
						titles[i] = "mm"
					}
				}
				return slices.Insert(lines, 1, strings.Join(titles, comma))
			})(f, s)
			return s, ok && !f.single
		}},
		{name: "units in the header", harmless: true, text: func(f zooFormat, s string) (string, bool) {
			return onTables(func(lines []string, comma string) []string {
				titles := strings.Split(lines[0], comma)
				for i, title := range titles {
					if m := coordinateTitle.FindStringSubmatch(title); m != nil {
						titles[i] = fmt.Sprintf("LM%s %s (mm)", m[2], m[1])
						if m[2] == "" {
							titles[i] = title + " [mm]"
						}
					}
				}
				lines[0] = strings.Join(titles, comma)
				return lines
			})(f, s)
		}},
		{name: "empty rows", harmless: true, text: onTables(func(lines []string, comma string) []string {
			return append(slices.Insert(lines, len(lines)/3, row("", lines[0], comma)), row("", lines[0], comma))
		})},
		{name: "empty columns", harmless: true, text: func(f zooFormat, s string) (string, bool) {
			s, ok := onTables(func(lines []string, comma string) []string {
				for i := range lines {
					lines[i] = comma + lines[i] + comma + comma
				}
				return lines
			})(f, s)
			return s, ok && !f.single
		}},
		{name: "remark below the table", harmless: true, text: onTables(func(lines []string, comma string) []string {
			return append(lines, row("", lines[0], comma), row("Measured by J. Smith", lines[0], comma), "twice")
		})},
		{name: "statistics below the table", text: func(f zooFormat, s string) (string, bool) {
			s, ok := onTables(func(lines []string, comma string) []string {
				_, rest, _ := strings.Cut(lines[len(lines)-1], comma)
				return append(lines, "Mean"+comma+rest)
			})(f, s)
			return s, ok && strings.Contains(f.name, "wide")
		}},
		{name: "no header", text: func(f zooFormat, s string) (string, bool) {
			s, ok := onTables(func(lines []string, comma string) []string { return lines[1:] })(f, s)
			return s, ok && !f.single
		}},
		{name: "columns of one landmark twice", text: func(f zooFormat, s string) (string, bool) {
			return strings.Replace(s, "x2", "x1", 1), strings.Contains(s, "x2")
		}},
		{name: "a cell is missing", text: func(f zooFormat, s string) (string, bool) {
			return onTables(func(lines []string, comma string) []string {
				at := len(lines) / 2
				lines[at], _, _ = cutLast(lines[at], comma)
				return lines
			})(f, s)
		}},
		{name: "a word for a number", text: func(f zooFormat, s string) (string, bool) {
			before, after, _ := cutLast(s, ".")
			return before + "o" + after, !f.binary
		}},
		{name: "an infinite number", text: func(f zooFormat, s string) (string, bool) {
			before, after, _ := cutLast(s, ".")
			return before + "e999" + strings.TrimLeft(after, "0123456789"), !f.binary
		}},
		{name: "two specimens of one name", text: func(f zooFormat, s string) (string, bool) { return strings.ReplaceAll(s, "s05", "s04"), f.named }},
		{name: "a landmark that is missing in one specimen", data: onSpecimen(func(q [][]float64) { q[3][0], q[3][1], q[3][2] = math.NaN(), math.NaN(), math.NaN() })},
		{name: "a specimen without landmarks", data: onSpecimen(func(q [][]float64) {
			for _, p := range q {
				p[0], p[1], p[2] = math.NaN(), math.NaN(), math.NaN()
			}
		})},
		{name: "an empty file", text: func(f zooFormat, s string) (string, bool) { return "", true }},
		{name: "a landmark too few in one specimen", data: func(d *Dataset) { s := &d.Specimens[odd]; s.Points = s.Points[:len(s.Points)-1] }},
		{name: "missing landmarks at −999", data: onSpecimen(func(q [][]float64) { q[3] = []float64{-999, -999, -999} })},
		{name: "landmarks of one specimen coincide", data: onSpecimen(func(q [][]float64) { copy(q[7], q[3]) })},
		{name: "landmarks of every specimen coincide", data: func(d *Dataset) {
			for _, s := range d.Specimens {
				copy(s.Points[7], s.Points[3])
			}
		}},
		{name: "a specimen in inches", data: scaled(1 / 25.4)},
		{name: "a specimen in metres", data: scaled(0.001)},
		{name: "a specimen in cm", data: scaled(0.1)},
		{name: "a mirrored specimen", data: onSpecimen(func(q [][]float64) {
			for _, p := range q {
				p[0] = -p[0]
			}
		})},
		{name: "two axes of a specimen exchanged", data: onSpecimen(func(q [][]float64) {
			for _, p := range q {
				p[0], p[1] = p[1], p[0]
			}
		})},
		{name: "two landmarks exchanged", data: onSpecimen(func(q [][]float64) { q[2], q[9] = q[9], q[2] })},
		{name: "landmarks in reverse order", data: onSpecimen(func(q [][]float64) { slices.Reverse(q) })},
		{name: "landmarks shifted by a row", data: onSpecimen(func(q [][]float64) { copy(q, slices.Concat(q[1:], q[:1])) })},
		{name: "a landmark elsewhere", data: onSpecimen(func(q [][]float64) { q[5][0] += 300 })},
	}...)
	for tenth := 1; tenth < 10; tenth++ {
		all = append(all, defect{name: zoo.CutOff, text: func(f zooFormat, s string) (string, bool) { return zoo.Cut(s, tenth), true }})
	}
	return all
}

// cutLast is strings.Cut at the last separator.
func cutLast(s, separator string) (before, after string, found bool) {
	if at := strings.LastIndex(s, separator); at >= 0 {
		return s[:at], s[at+len(separator):], true
	}
	return s, "", false
}

// zooData are ten brains of 24 landmarks in space, in which Inspect finds nothing.
func zooData() *Dataset {
	d := Brain3D()
	d.Specimens = d.Specimens[:10]
	for i := range d.Specimens {
		d.Specimens[i].Name, d.Specimens[i].Group = fmt.Sprintf("s%02d", i), ""
	}
	return d
}

// keep writes the files of a defect and reads them; false if the format has no such defect. written is what is in the folder.
func (f zooFormat) keep(t *testing.T, folder string, written map[string]string, clean *Dataset, spoil defect) (zoo.Outcome, bool) {
	d := clean.Scale(1)
	if spoil.data != nil {
		spoil.data(d)
	}
	write := func(path string, d *Dataset, spoiled bool) bool {
		s, err := f.write(d)
		if err != nil {
			return false
		}
		if ok := true; spoiled && spoil.text != nil {
			if s, ok = spoil.text(f, s); !ok {
				return false
			}
		}
		if was, ok := written[path]; ok && was == s {
			return true
		}
		written[path] = s
		if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
		return true
	}
	path := filepath.Join(folder, "bones"+f.extension)
	if !f.single && !write(path, d, true) {
		return zoo.Outcome{}, false
	}
	if f.single {
		path = filepath.Join(folder, "bones")
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		for i, s := range d.Specimens {
			one := *d
			one.Specimens = []Specimen{s}
			if !write(filepath.Join(path, s.Name+f.extension), &one, i == odd) {
				return zoo.Outcome{}, false
			}
		}
	}
	got, err := Read(path)
	if err == nil {
		err = got.Validate()
	}
	if err != nil {
		return zoo.Refusal(t, f.name+", "+spoil.name, folder, err), true
	}
	o := zoo.Outcome{Kind: zoo.Accepted, Words: strings.Join(got.Notes, "; ")}
	o.Equal = cmp.Equal(clean.Shapes(), got.Shapes(), same) && (!f.named || slices.Equal(clean.Names(), got.Names()))
	if !o.Equal {
		in, err := Inspect(got)
		if err != nil {
			t.Errorf("%s, %s: %v", f.name, spoil.name, err)
			return o, true
		}
		for _, note := range in.Data.Notes[len(got.Notes):] {
			o.Words = strings.TrimPrefix(o.Words+"; "+note, "; ")
		}
		for _, finding := range in.Findings {
			o.Words = strings.TrimPrefix(o.Words+"; "+finding.String(), "; ")
		}
	}
	// What every plain table says of itself is nothing about a defect.
	const plain = "each file: no header: taken for one specimen of 24 landmarks with 3 coordinates each"
	o.Words = strings.Trim(strings.Replace(o.Words, plain, "", 1), "; ")
	if o.Words != "" {
		o.Kind = zoo.Noted
	}
	return o, true
}

// Each defect in each format: nothing harmless is refused or changes the data, nothing harmful goes by without a word. The table of testdata/zoo.md
// says what becomes of each.
func TestZoo(t *testing.T) {
	clean := zooData()
	if in, err := Inspect(clean); err != nil || len(in.Findings) > 0 {
		t.Fatal(err, in.Findings)
	}
	table := zoo.Table{Title: "What becomes of faulty files of landmarks", Preamble: fmt.Sprintf("Each defect is put into files of %d specimens of 24 landmarks, and into the fifth file where there is one per specimen: "+
		"%%d files. Of formats that say the same, the table has the words for the first. `go test ./landmarks/morpho -run TestZoo -zoo` writes it.", len(clean.Specimens))}
	var names []string
	for _, f := range zooFormats() {
		folder, written := t.TempDir(), map[string]string{}
		for _, spoil := range defects() {
			if !slices.Contains(names, spoil.name) {
				names = append(names, spoil.name)
			}
			if o, ok := f.keep(t, folder, written, clean, spoil); ok {
				table.Add(t, f.name, spoil.name, spoil.harmless, o)
			}
		}
	}
	table.Check(t, "testdata/zoo.md", 300, names)
}
