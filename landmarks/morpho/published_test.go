package morpho

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/shape"
	"anatomy/landmarks/morpho/files"
)

// asDigitised are nine quadrangles, each turned by another angle, as they lie when they are digitised; in space they have a third coordinate.
func asDigitised(dim int) (shapes []shape.Shape) {
	base := [][]float64{{0, 0, 3}, {40, 0, 9}, {41, 30, 1}, {0, 29, 14}, {17, 11, 30}, {8, 44, 20}}
	if dim == 2 {
		base = base[:4]
	}
	for i := range 9 {
		sin, cos := math.Sincos(float64(i * i))
		var shape [][]float64
		for l, p := range base {
			x, y := p[0]+math.Sin(float64(7*i+l)), p[1]+math.Cos(float64(5*i+3*l))
			q := []float64{100 + x*cos - y*sin, 100 + x*sin + y*cos, p[2] + math.Sin(float64(i+l))}
			shape = append(shape, q[:dim])
		}
		shapes = append(shapes, shape)
	}
	return shapes
}

// wide writes a table of the coordinates in an order: of landmark l and axis c by their place in the row.
func wide(header string, shapes []shape.Shape, first func(i int) string, blocks bool) string {
	out := header + "\n"
	for i, shape := range shapes {
		cells := []string{first(i)}
		for k := range len(shape) * len(shape[0]) {
			l, c := k/len(shape[0]), k%len(shape[0])
			if blocks {
				l, c = k%len(shape), k/len(shape)
			}
			cells = append(cells, fmt.Sprintf("%.4f", shape[l][c]))
		}
		out += strings.Join(cells, ",") + "\n"
	}
	return out
}

// long writes a row for each landmark by a format of specimen, landmark, and the coordinates x and y.
func long(header, row string, shapes []shape.Shape) string {
	out := header + "\n"
	for i, shape := range shapes {
		for l, p := range shape {
			out += strings.NewReplacer("[row]", fmt.Sprint(i*len(shape)+l+1), "[i]", fmt.Sprint(i+1), "[l]", fmt.Sprint(l+1),
				"[x]", fmt.Sprintf("%.4f", p[0]), "[y]", fmt.Sprintf("%.4f", p[1])).Replace(row) + "\n"
		}
	}
	return out
}

// tps writes records, each with these lines behind its landmarks.
func tps(count string, shapes []shape.Shape, behind func(i int) string) (out string) {
	for i, shape := range shapes {
		out += strings.ReplaceAll(count, "[i]", fmt.Sprint(i)) + "\n"
		for _, p := range shape {
			out += strings.Trim(fmt.Sprintf("%.4f", p), "[]") + "\n"
		}
		out += behind(i)
	}
	return out
}

// fcsv writes a list of 3D Slicer.
func fcsv(head string, shape [][]float64, labels ...string) string {
	out := head
	for l, p := range shape {
		out += fmt.Sprintf("vtk_%d,%.4f,%.4f,%.4f,0,0,0,1,1,1,0,%s,,\n", l, p[0], p[1], p[2], labels[l])
	}
	return out
}

func titles(n int, format string, letters string) (all []string) {
	for l := range n {
		for _, c := range letters {
			all = append(all, strings.NewReplacer("[l]", fmt.Sprint(l+1), "[L]", string(rune('S'+l)), "[x]", string(c), "[X]", strings.ToUpper(string(c)),
				"[k]", fmt.Sprint(l*len(letters)+strings.IndexRune(letters, c)+1)).Replace(format))
		}
	}
	return all
}

// publishedKind is a kind of files that authors have published, and what is read from it.
type publishedKind struct {
	what  string
	files map[string]string // one file, or those of a folder
	names []string          // the first of the data set
	dim   int
	note  string // empty: without one
	as    Reading
}

func tables() []publishedKind {
	plane, space := asDigitised(2), asDigitised(3)
	s := func(i int) string { return fmt.Sprintf("s%d", i+1) }
	number := func(i int) string { return fmt.Sprint(i + 1) }
	join := func(first string, columns []string) string {
		return strings.Join(append([]string{first}, columns...), ",")
	}
	one := func(text string) map[string]string { return map[string]string{"a.csv": text} }
	pairs, xy := titles(4, "[x][l]", "xy"), append(titles(4, "LM[l]x", "x"), titles(4, "LM[l]y", "x")...)
	twice := func(i int) string { return []string{"cinereus", "hoffmani", "jordani"}[i%3] }
	names := []string{"s1", "s2"}
	header := func(row string) func(int) string { return func(i int) string { return fmt.Sprintf(row, i+1) } }
	return []publishedKind{
		{"Shape, Landmark, X, Y", one(long("Shape,Landmark,X,Y", "[i],[l],[x],[y]", plane)), []string{"1", "2"}, 2, `"Shape" was taken for the names`, Reading{}},
		{"bone, X, Y without landmarks", one(long("bone,X,Y", "bone [i],[x],[y]", plane)), []string{"bone 1", "bone 2"}, 2, "constant over each run of 4", Reading{}},
		{"species and catalogue number in a long table", one(long("species,catalogue,x,y", "Rana,NHM [i],[x],[y]", plane)), []string{"NHM 1", "NHM 2"}, 2, `"catalogue"`, Reading{}},
		{"row number as ID beside a label", one(long("ID,Label,x,y", "[row],fish[i].jpg,[x],[y]", plane)), []string{"fish1.jpg", "fish2.jpg"}, 2, `"Label"`, Reading{}},
		{"names of landmarks beside specimens", one(long("shape,name,x,y", "skull[i],LM[l],[x],[y]", plane)), []string{"skull1", "skull2"}, 2, `"shape"`, Reading{}},
		{"ImageJ", one(long(" ,Label,X,Y", "[row],fish[i].jpg,[x],[y]", plane)), []string{"fish1.jpg", "fish2.jpg"}, 2, `"Label"`, Reading{}},
		{"ImageJ with areas", one(long(" \tLabel\tArea\tX\tY", "[row]\tfish[i].jpg\t0\t[x]\t[y]", plane)), []string{"fish1.jpg", "fish2.jpg"}, 2, `"Label"`, Reading{}},
		{"no specimens, landmarks begin anew", one(long("Landmark,X,Y", "[l],[x],[y]", plane)), []string{"specimen01", "specimen02"}, 2, "a specimen begins where landmark 1 comes again", Reading{}},
		{"R, long", one(long(`"X","specimen","landmark","x","y"`, `"[row]","s[i]",[l],[x],[y]`, plane)), names, 2, "", Reading{}},
		{"R, wide", one(wide(join(`"X"`, pairs), plane, header(`"s%d"`), false)), names, 2, `"X" was taken for the names`, Reading{}},
		{"readr", one(wide(join(`"...1"`, pairs), plane, s, false)), names, 2, `"...1"`, Reading{}},
		{"pandas", one(wide(join("Unnamed: 0", pairs), plane, s, false)), names, 2, `"Unnamed: 0"`, Reading{}},
		{"two.d.array", one(wide(join(`""`, titles(4, "[l].[X]", "xy")), plane, s, false)), names, 2, "", Reading{}},
		{"two.d.array as a data frame", one(wide(join(`"X"`, titles(4, "X[l].[X]", "xy")), plane, s, false)), names, 2, `"X"`, Reading{}},
		{"two.d.array without titles", one(wide(join(`"specimen"`, titles(4, "V[k]", "xy")), plane, s, false)), names, 2, `"V1" to "V8" were taken for 4 landmarks`, Reading{}},
		{"pRawCoord1 …", one(wide(join("id", titles(4, "pRawCoord[k]", "xy")), plane, s, false)), names, 2, "x, y of each landmark in turn", Reading{}},
		{"numbered columns in triples", one(wide(join("id", titles(6, "Coord.[k]", "xyz")), space, s, false)), names, 3, "x, y, z of each landmark in turn", Reading{}},
		{"numbered columns, all x first", one(wide(join("id", titles(4, "raw_[k]", "xy")), plane, s, true)), names, 2, "all x, then all y", Reading{}},
		{"numbered columns and the dimensions", one(wide(join("id", titles(6, "V[k]", "xyz")), space, s, false)), names, 3, "V18", Reading{Dimensions: 3}},
		{"Sx Sy Sz Tx …", one(wide(join("ID", titles(6, "[L][x]", "xyz")), space, s, false)), names, 3, `the columns name 6 landmarks: "S", "T"`, Reading{}},
		{"xS yS", one(wide(join("ID", titles(4, "[x][L]", "xy")), plane, s, false)), names, 2, `"S", "T"`, Reading{}},
		{"LM1x … LM4x, LM1y …", one(wide(join("Specimen", xy), plane, s, true)), names, 2, "", Reading{}},
		{"ID beside Specimen", one(wide(join("Specimen,ID", pairs), plane, header("s%[1]d,%[1]d"), false)), names, 2, "", Reading{}},
		{"ID that repeats beside a catalogue", one(wide(join("ID,Name", pairs), plane, header("Rana,s%d"), false)), names, 2, "", Reading{}},
		{"ID is the species", one(wide(join("ID", pairs), plane, twice, false)), []string{"cinereus (1)", "hoffmani (1)", "jordani (1)", "cinereus (2)"}, 2, "they have the names", Reading{}},
		{"no names", one(wide(join("sex", pairs), plane, func(i int) string { return "fm"[i%2 : i%2+1] }, false)), []string{"specimen01"}, 2, "no column has names of specimens", Reading{}},
		{"a year among the titles", one(wide(join("id,y2020", pairs), plane, header("s%[1]d,%[1]d"), false)), names, 2, `"y2020" was taken for a covariate`, Reading{}},
		{"a header that lies", one(wide(join("ID", append(titles(9, "x[l]", "x"), titles(9, "y[l]", "x")...)), space, s, false)), names, 2, "read as x, y, z of each landmark in turn", Reading{}},
		{"an empty column z", one(strings.ReplaceAll(long("specimen,landmark,x,y,z", "s[i],[l],[x],[y],", plane), "\r", "")), names, 2, "no landmark has z", Reading{}},
		{"semicolons and decimal commas", one(strings.ReplaceAll(strings.ReplaceAll(wide(join("specimen", pairs), plane, s, false), ",", ";"), ".", ",")), names, 2, "", Reading{}},
		{"Windows-1252", one(expect.Must(charmap.Windows1252.NewEncoder().String(wide(join("specimen", pairs), plane, header("Köln%d"), false)))), []string{"Köln1"}, 2, "taken for Windows-1252", Reading{}},
		{"gzip", map[string]string{"a.csv.gz": gzipped(wide(join("specimen", pairs), plane, s, false))}, names, 2, "", Reading{}},
		{"numbers as names", one(wide(join("specimen", pairs), plane, number, false)), []string{"1", "2"}, 2, "", Reading{}},
		{"Excel", map[string]string{"a.xlsx": excel([]string{"About", "Data"}, []string{"", wide(join("specimen", pairs), plane, s, false)})}, names, 2, `2 sheets: "Data" was read`, Reading{}},
		{"R's array", map[string]string{"a.rds": gzipped(rArray(plane, true))}, names, 2, "", Reading{}},
		{"R's array, packed by xz", map[string]string{"a.rds": string(expect.Must(os.ReadFile("testdata/array_xz.rds")))}, names, 2, "", Reading{}},
		{"R's list of matrices", map[string]string{"a.rda": rList(space)}, names, 3, "", Reading{}},
		{"R's data frame", map[string]string{"a.rds": rFrame(plane)}, names, 2, "", Reading{}},
	}
}

func formats() []publishedKind {
	plane, space := asDigitised(2), asDigitised(3)
	id := func(i int) string { return fmt.Sprintf("ID=s%d\n", i+1) }
	names := []string{"s1", "s2"}
	one := func(text string) map[string]string { return map[string]string{"a.tps": text} }
	curve := func(i int) string {
		return fmt.Sprintf("CURVES=1\nPOINTS=%d\n%sID=s%d\n", 5+i, strings.Repeat("1 2\n3 4\n5 7\n", 9)[:4*(5+i)], i+1)
	}
	each := func(extension string, write func(i int) string, more ...string) map[string]string {
		files := map[string]string{}
		for i := range 4 {
			files[fmt.Sprintf("s%d%s", i+1, extension)] = write(i)
		}
		for k := 0; k < len(more); k += 2 {
			files[more[k]] = more[k+1]
		}
		return files
	}
	head := "# Markups fiducial file version = 4.4\n# columns = id,x,y,z,ow,ox,oy,oz,vis,sel,lock,label,desc,associatedNodeID\n"
	lps := "# Markups fiducial file version = 4.11\n# CoordinateSystem = LPS\n" + head[strings.Index(head, "# columns"):]
	labels := []string{"glabella", "nasion", "bregma", "lambda", "inion", "basion"}
	point := func(format string, shape [][]float64) (out string) {
		for l, p := range shape {
			out += fmt.Sprintf(format, l, p[0], p[1], p[2])
		}
		return out
	}
	return []publishedKind{
		{"TPS in space without LM3=", one(tps("LM=6", space, id)), names, 3, "they are in space", Reading{}},
		{"TPS with names behind LM=", one(tps("LM=4 s[i]", plane, func(int) string { return "" })), []string{"s0", "s1"}, 2, "", Reading{}},
		{"TPS without a scale in some", one(tps("LM=4", plane, func(i int) string { return strings.Repeat("SCALE=0.1\n", min(i, 1)) + id(i) })), names, 2, "no SCALE= in 1 of 9 records", Reading{}},
		{"TPS of one ID", one(tps("LM=4", plane, func(i int) string { return fmt.Sprintf("IMAGE=s%d\nID=0\n", i+1) })), names, 2, "specimens are called by IMAGE=", Reading{}},
		{"TPS of one ID without photographs", one(tps("LM=4", plane, func(i int) string { return "ID=Rana\n" })), []string{"Rana (1)", "Rana (2)"}, 2, "they have the names", Reading{}},
		{"TPS with radii", one(tps("LM=4", plane, func(i int) string { return "RADII=2\n3.5\n1 2\n" + id(i) })), names, 2, "RADII= were passed over", Reading{}},
		{"TPS with outlines of other lengths", one(tps("LM=4", plane, curve)), names, 2, "points of curves were placed anew", Reading{Resample: map[string]int{"1": 5}}},
		{"TPS with −1 −1", one(strings.Replace(tps("LM=4", plane, id), fmt.Sprintf("%.4f %.4f", plane[1][2][0], plane[1][2][1]), "-1 -1", 1)), names, 2, "were taken for missing", Reading{}},
		{"TPS by Windows", one(strings.ReplaceAll(tps("LM=4", plane, id), "\n", "\r\n")), names, 2, "", Reading{}},
		{"Slicer without a system", each(".fcsv", func(i int) string { return fcsv(head, space[i], labels...) }), names, 3, "taken for RAS", Reading{}},
		{"Slicer, one label mistyped", each(".fcsv", func(i int) string {
			return strings.Replace(fcsv(lps, space[i], labels...), "nasion", []string{"nasion", "nasion", "nasoin", "nasion"}[i], 1)
		}), names, 3, `s3.fcsv: landmark 1 is "nasoin", but "nasion" in most files`, Reading{}},
		{"Slicer, labels in another order", each(".fcsv", func(i int) string {
			if i == 2 {
				return fcsv(lps, [][]float64{space[2][1], space[2][0], space[2][2], space[2][3], space[2][4], space[2][5]}, "nasion", "glabella", "bregma", "lambda", "inion", "basion")
			}
			return fcsv(lps, space[i], labels...)
		}), names, 3, "put into the order of the others by their labels", Reading{}},
		{"Slicer, a landmark that is not there", each(".fcsv", func(i int) string {
			if i == 2 {
				return fcsv(lps, space[2][:5], labels[:5]...)
			}
			return fcsv(lps, space[i], labels...)
		}), names, 3, `s3.fcsv: landmarks that are not in the file are missing: "basion"`, Reading{}},
		{"Slicer beside an ROI", each(".fcsv", func(i int) string { return fcsv(lps, space[i], labels...) }, "R.mrk.json", `{"markups": [{"type": "ROI", "center": [0, 0, 0]}]}`), names, 3, "passed over, as they hold no landmarks: R.mrk.json", Reading{}},
		{"Slicer beside sliders", each(".fcsv", func(i int) string { return fcsv(lps, space[i], labels...) }, "sliders.csv", "before,slide,after\n1,2,3\n2,3,4\n"), names, 3, "sliders.csv: it was taken for 2 landmarks before, sliding and after", Reading{}},
		{"Slicer beside a wireframe", each(".fcsv", func(i int) string { return fcsv(lps, space[i], labels...) }, "wireframe.csv", "1,2\n2,3\n"), names, 3, "wireframe.csv: it was taken for 2 links", Reading{}},
		{"Avizo", each(".landmarkAscii", func(i int) string {
			return "# Avizo 3D ASCII 2.0\n\n\ndefine Markers 6\n\nParameters {\n\tNumSets 1,\n\tContentType \"LandmarkSet\"\n}\n\nMarkers { float[3] Coordinates } @1\n\n# Data section follows\n@1\n" +
				point("%.15[2]e %.15[3]e %.15[4]e \n", space[i])
		}), names, 3, "", Reading{}},
		{"MeshLab", each(".pp", func(i int) string {
			return "<!DOCTYPE PickedPoints>\n<PickedPoints>\n <DocumentData>\n  <DataFileName name=\"a.ply\"/>\n </DocumentData>\n" + point(` <point name="%d" x="%f" y="%f" z="%f" active="1"/>`+"\n", space[i]) + "</PickedPoints>\n"
		}), names, 3, "", Reading{}},
		{"StereoMorph", each(".txt", func(i int) string {
			return "<shapes type=list>\n\t<landmarks.pixel type=matrix rownames=TRUE as.numeric=TRUE>\n" + point("\t\tLM%d\t%f\t%f\t%f\n", space[i]) + "\t</landmarks.pixel>\n</shapes>\n"
		}), names, 3, "", Reading{}},
		{"StereoMorph with curves", each(".txt", func(i int) string {
			return "<shapes type=list>\n\t<landmarks.scaled type=matrix rownames=TRUE as.numeric=TRUE>\n" + point("\t\tLM%d\t%f\t%f\t%f\n", space[i]) +
				"\t</landmarks.scaled>\n\t<curves.scaled type=list>\n\t\t<edge type=matrix rownames=FALSE>\n" + strings.Repeat("\t\t\t1\t2\t3\n\t\t\t4\t5\t6\n", 2+i) + "\t\t</edge>\n\t</curves.scaled>\n</shapes>\n"
		}), names, 3, "edge=4", Reading{Resample: map[string]int{"edge": 4}}},
		{"Landmark Editor with curves of other lengths", each(".pts", func(i int) string {
			return fmt.Sprintf("Version 1.0\n%d\n", 9+i) + point("S%d %f %f %f\n", space[i]) + strings.Repeat("C0 1 2 3\nC0 4 5 6\nC0 9 9 1\nC0 7 8 1\n", 2)[:9*(3+i)]
		}), names, 3, "C0=5", Reading{Resample: map[string]int{"C0": 5}}},
		{"Landmark Editor with numbers on curves", each(".pts", func(i int) string {
			curve := ""
			for k := range 3 + i {
				curve += fmt.Sprintf("C.1.%02d %d %d %d\n", k+1, k, k*k, 9-k)
			}
			return fmt.Sprintf("Version 1.0\n%d\n", 12+i) + point("S.%d %f %f %f\n", space[i]) + curve + "C.2.01 1 2 3\nC.2.02 4 5 6\nC.2.03 9 9 1\n"
		}), names, 3, "C.1=3", Reading{Resample: map[string]int{"C.1": 3}}},
		{"Morphologika with labels and a wireframe", map[string]string{"a.txt": "[individuals]\n2\n[landmarks]\n3\n[dimensions]\n2\n[names]\ns1\ns2\n[labels]\nsex\tage\n[labelvalues]\nf\t3\nm\t4\n[rawpoints]\n'1\n0 0\n4 0\n0 3\n'2\n0 0\n5 0\n0 3\n[wireframe]\n1 2\n2 3\n"}, names, 2, "", Reading{}},
	}
}

// Kinds of files that authors have published are read, and notes say what was assumed.
func TestPublishedFiles(t *testing.T) {
	kinds := slices.Concat(tables(), formats())
	for _, kind := range kinds {
		t.Run(kind.what, func(t *testing.T) {
			path := t.TempDir()
			for name, content := range kind.files {
				if err := os.WriteFile(filepath.Join(path, name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
				if len(kind.files) == 1 {
					path = filepath.Join(path, name)
				}
			}
			d, err := kind.as.Read(path)
			if err != nil {
				t.Fatal(err)
			}
			if got := d.Names(); !slices.Equal(got[:min(len(got), len(kind.names))], kind.names) {
				t.Errorf("names %q", got)
			}
			points := d.Specimens[0].Points
			if len(points[0]) != kind.dim {
				t.Errorf("%d dimensions", len(points[0]))
			}
			want := asDigitised(kind.dim)[0][0]
			if kind.what != "a header that lies" && !strings.HasPrefix(kind.what, "Morphologika") && !strings.Contains(kind.note, "RAS") {
				for c := range want {
					if math.Abs(points[0][c]-want[c]) > 1e-4 {
						t.Errorf("landmark 0 is at %v, want %v", points[0], want)
					}
				}
			}
			notes := strings.Join(d.Notes, "\n")
			if kind.note == "" && notes != "" || !strings.Contains(notes, kind.note) {
				t.Errorf("notes %q, want %q", notes, kind.note)
			}
		})
	}
	t.Logf("%d kinds", len(kinds))
}

// What two readings fit alike, or none, is refused with the option that chooses.
func TestUndecidedFiles(t *testing.T) {
	aligned := "id," + strings.Join(titles(6, "V[k]", "xy"), ",") + "\n"
	scores := "id," + strings.Join(titles(4, "PC[k]", "xy"), ",") + "\n"
	for i := range 9 {
		aligned, scores = aligned+fmt.Sprintf("s%d", i), scores+fmt.Sprintf("s%d", i)
		for k := range 12 {
			aligned += fmt.Sprintf(",%.4f", math.Sin(float64(k*k))+0.01*math.Sin(float64(7*i+11*k)))
			if k < 8 {
				scores += fmt.Sprintf(",%.4f", math.Sin(float64(17*i*i+11*k*i+k)))
			}
		}
		aligned, scores = aligned+"\n", scores+"\n"
	}
	for text, want := range map[string][]string{
		aligned: {`the columns "V1" to "V12" may be 6 landmarks`, "or 4 (", "--dimensions 2 or --dimensions 3"},
		scores:  {`no title of the columns "PC1" to "PC8" tells x and y`, "make no shapes that agree"},
		"specimen,x1,y1,x2,y2,x33,y33\na,1,2,3,4,5,6\n": {"lacks the columns of landmark"},
	} {
		advised(t, expect.Error(ReadCSV(strings.NewReader(text), "a.csv")), append([]string{"a.csv:1:"}, want...)...)
	}
	d := expect.Must(files.Reading{Dimensions: 3}.ReadAs("CSV", strings.NewReader(aligned), "a.csv"))
	if len(d.Specimens[0].Points) != 4 {
		t.Error(d)
	}
	curves := tps("LM=4", asDigitised(2), func(i int) string {
		return "CURVES=1\nPOINTS=" + []string{"3\n1 2\n3 4\n5 7\n", "4\n1 2\n3 4\n5 7\n8 8\n"}[i%2]
	})
	advised(t, expect.Error(readTPS(strings.NewReader(curves), "a.tps")), "a.tps:", "give --resample 1=3")
}

// Sliders and links count from 1, unless one of them is 0.
func TestReadSliders(t *testing.T) {
	d := GorillaSkulls()
	read := func(text string) (*Dataset, error) {
		path := filepath.Join(t.TempDir(), "a.csv")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return d.ReadSliders(path)
	}
	for text, want := range map[string]string{
		"before,slide,after\n1,2,3\n6,7,8\n":                              "[[0 1 2] [5 6 7]] []",
		"\"\",\"before\",\"slide\",\"after\"\n\"1\",0,2,3\n\"2\",5,6,7\n": "[[0 2 3] [5 6 7]] []",
		"1 2\n2 3\n": "[] [[0 1] [1 2]]",
	} {
		got, err := read(text)
		if err != nil {
			t.Error(err)
		} else if s := fmt.Sprint(got.Sliders, " ", got.Links); s != want {
			t.Errorf("%q: %s, want %s", text, s, want)
		}
	}
	linked := *d
	linked.Links, linked.Sliders = [][2]int{{0, 1}, {3, 4}, {6, 7}}, [][3]int{{0, 1, 2}, {5, 6, 7}}
	if left := linked.WithoutLandmarks(3, 1, 3); fmt.Sprint(left.Links, left.Sliders) != "[[4 5]] [[3 4 5]]" {
		t.Error(left.Links, left.Sliders)
	}
	for text, want := range map[string]string{
		"1,2,9\n":         "name the landmark 8 of 8, counted from 0",
		"before,slide\n":  "no rows",
		"1,2,3\n1,2,x\n":  "a.csv:2: these are no links and no sliders",
		"1,2,3,4,5,6,7\n": "a.csv:1: these are no links",
	} {
		_, err := read(text)
		expect.Refused(t, err, want)
	}
}

func gzipped(text string) string {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	z.Write([]byte(text))
	z.Close()
	return out.String()
}

// excel writes a workbook of sheets, which are tables in text.
func excel(names, tables []string) string {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	add := func(name, text string) {
		w, _ := z.Create(name)
		w.Write([]byte(text))
	}
	book, relations := "", ""
	for k, name := range names {
		book += fmt.Sprintf(`<sheet name="%s" sheetId="%d" r:id="rId%d"/>`, name, k+1, k+1)
		relations += fmt.Sprintf(`<Relationship Id="rId%d" Target="worksheets/sheet%d.xml"/>`, k+1, k+1)
		rows := ""
		for r, line := range strings.Split(strings.TrimSpace(tables[k]), "\n") {
			rows += fmt.Sprintf(`<row r="%d">`, r+1)
			for c, cell := range strings.Split(line, ",") {
				kind := ` t="inlineStr"><is><t>` + cell + "</t></is>"
				if files.IsNumber(cell) {
					kind = "><v>" + cell + "</v>"
				}
				rows += fmt.Sprintf(`<c r="%c%d"%s</c>`, 'A'+c, r+1, kind)
			}
			rows += "</row>"
		}
		add(fmt.Sprintf("xl/worksheets/sheet%d.xml", k+1), `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>`+rows+"</sheetData></worksheet>")
	}
	add("xl/workbook.xml", `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>`+book+"</sheets></workbook>")
	add("xl/_rels/workbook.xml.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">`+relations+"</Relationships>")
	z.Close()
	return out.String()
}

// rBytes writes values of R in XDR.
type rBytes struct{ bytes.Buffer }

func (b *rBytes) int(values ...int) {
	for _, v := range values {
		binary.Write(b, binary.BigEndian, int32(v))
	}
}

func (b *rBytes) texts(words ...string) {
	b.int(16, len(words))
	for _, w := range words {
		b.int(9|1<<18, len(w))
		b.WriteString(w)
	}
}

// tag begins an attribute or a named element of a pairlist.
func (b *rBytes) tag(name string) {
	b.int(2|1<<10, 1, 9|1<<18, len(name))
	b.WriteString(name)
}

func (b *rBytes) reals(values []float64, attributed bool) {
	b.int(14|map[bool]int{true: 1 << 9}[attributed], len(values))
	binary.Write(b, binary.BigEndian, values)
}

func (b *rBytes) head() { b.WriteString("X\n"); b.int(2, 0x40202, 0x20300) }

func byColumns(shape [][]float64) (values []float64) {
	for c := range shape[0] {
		for _, p := range shape {
			values = append(values, p[c])
		}
	}
	return values
}

func rNames(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("s%d", i+1))
	}
	return names
}

// rArray is an array of shapes, as saveRDS writes it.
func rArray(shapes []shape.Shape, named bool) string {
	b := &rBytes{}
	b.head()
	var all []float64
	for _, shape := range shapes {
		all = append(all, byColumns(shape)...)
	}
	b.reals(all, true)
	b.tag("dim")
	b.int(13, 3, len(shapes[0]), len(shapes[0][0]), len(shapes))
	b.tag("dimnames")
	b.int(19, 3, 254, 254)
	b.texts(rNames(len(shapes))...)
	b.int(254)
	return b.String()
}

// rList is a list of matrices, as save writes it.
func rList(shapes []shape.Shape) string {
	b := &rBytes{}
	b.WriteString("RDX2\n")
	b.head()
	b.tag("land")
	b.int(19|1<<9, len(shapes))
	for _, shape := range shapes {
		b.reals(byColumns(shape), true)
		b.tag("dim")
		b.int(13, 2, len(shape), len(shape[0]), 254)
	}
	b.tag("names")
	b.texts(rNames(len(shapes))...)
	b.int(254, 254)
	return b.String()
}

// rFrame is a data frame with names of rows.
func rFrame(shapes []shape.Shape) string {
	b := &rBytes{}
	b.head()
	columns := titles(len(shapes[0]), "[x][l]", "xy")
	b.int(19|1<<8|1<<9, len(columns))
	for k := range columns {
		var values []float64
		for _, shape := range shapes {
			values = append(values, shape[k/2][k%2])
		}
		b.reals(values, false)
	}
	b.tag("names")
	b.texts(columns...)
	b.tag("class")
	b.texts("data.frame")
	b.tag("row.names")
	b.texts(rNames(len(shapes))...)
	b.int(254)
	return b.String()
}

// Whatever a file holds, its reader says where it is wrong, or reads landmarks that can be written.
func FuzzReadOthers(f *testing.F) {
	plane := asDigitised(2)
	for _, seed := range []string{rArray(plane, true), rList(plane), "<shapes type=list>\n<landmarks type=matrix rownames=TRUE>\na\t1\t2\n</landmarks>\n</shapes>\n",
		"# Avizo\ndefine Markers 1\nMarkers { float[3] Coordinates } @1\n@1\n1 2 3\n", `<PickedPoints><point x="1" y="2" z="3" name="0"/></PickedPoints>`,
		excel([]string{"a"}, []string{"x,y\n1,2\n3,4\n"})} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		readAnything(t, reads("R"), text)
		readAnything(t, reads("StereoMorph"), text)
		readAnything(t, reads("Excel"), text)
		readAnything(t, reads("Amira"), text)
		readAnything(t, reads("MeshLab"), text)
	})
}

// Two landmarks that are in one place in all specimens count once for a spline; in one shape alone they are an error.
func TestSplineOfCoincidentLandmarks(t *testing.T) {
	shapes := asDigitised(2)
	from, to := append(slices.Clone(shapes[0]), shapes[0][1]), append(slices.Clone(shapes[1]), shapes[1][1])
	points := [][]float64{{100, 110}, {90, 120}}
	with := expect.Must(ThinPlateSpline(from, to))(points)
	without := expect.Must(ThinPlateSpline(shapes[0], shapes[1]))(points)
	for k := range points {
		for c := range points[k] {
			if with[k][c] != without[k][c] {
				t.Error(with, without)
			}
		}
	}
	to[4] = []float64{0, 0}
	expect.Refused(t, expect.Error(ThinPlateSpline(from, to)), "two of them coincide")
	from[4], to[4] = slices.Clone(from[4]), slices.Clone(to[1])
	from[4][0] += 1e-12 // rounding of an alignment
	expect.Must(ThinPlateSpline(from, to))
}

// What the room of files decides in one place for all formats.
func TestFilesAlike(t *testing.T) {
	d := expect.Must(ReadCSV(strings.NewReader("name,x,x,y,y\na,1,3,2,4\nb,5,7,6,8\n"), "a.csv"))
	if diff := fmt.Sprint(d.Shapes()); diff != "[[[1 2] [3 4]] [[5 6] [7 8]]]" {
		t.Error(diff)
	}
	path := filepath.Join(t.TempDir(), "a.csv")
	if err := os.WriteFile(path, []byte("specimen,x,y\na,1,2\na,3,4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	advised(t, expect.Error(Reading{Resample: map[string]int{"edge": 4}}.Read(path)), "a.csv: the file has no curves", "leave --resample out")
	advised(t, expect.Error(ReadCSV(strings.NewReader("# 1 2 3\n# 4 5 6\n# 7 8 9\n"), "a.csv")), "a.csv:", "write a header")
	advised(t, expect.Error(reads("R")(strings.NewReader("\x1f\x8bno gzip"), "a.rds")), "a.rds:", "save it again")
}
