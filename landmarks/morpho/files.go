package morpho

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/internal/replace"
	"anatomy/landmarks/internal/text"
)

// fileFormat is one file format of landmark data.
type fileFormat struct {
	name       string
	extensions []string
	recognise  func(head []byte) bool // by the first bytes of a file whose extension says nothing
	read       func(r io.Reader, name string) (*Dataset, error)
	write      func(w io.Writer, d *Dataset) error // nil if the format is read only
}

var (
	tpsHead = regexp.MustCompile(`(?im)^[ \t]*LM3?[ \t]*=`)
	ntsHead = regexp.MustCompile(`(?im)^[ \t]*1[ \t]+\d.*\bDIM[ \t]*=`)
)

// containing recognises files by a text near their beginning.
func containing(text string) func([]byte) bool {
	return func(head []byte) bool { return bytes.Contains(head, []byte(text)) }
}

// beginning recognises files by the text that they begin with, spaces aside.
func beginning(text string) func([]byte) bool {
	return func(head []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(head), []byte(text)) }
}

// fileFormats in the order in which contents are tried.
var fileFormats = []fileFormat{
	{"FCSV", []string{".fcsv"}, fcsvHead.Match, ReadFCSV, WriteFCSV},
	{"Markups", []string{".json"}, beginning("{"), ReadMarkups, WriteMarkups},
	{"NPY", []string{".npy"}, beginning(npyMagic), ReadNPY, WriteNPY},
	{"Checkpoint", []string{".ckpt"}, containing("Stratovan Checkpoint"), ReadCheckpoint, nil},
	{"MITK", []string{".mps"}, containing("<point_set_file"), ReadMITK, nil},
	{"MorphoJ", []string{".morphoj.txt"}, func([]byte) bool { return false }, ReadCSV, WriteMorphoJ}, // before .txt
	{"Morphologika", []string{".txt", ".morphologika"}, beginning("["), ReadMorphologika, WriteMorphologika},
	{"TPS", []string{".tps"}, tpsHead.Match, ReadTPS, WriteTPS},
	{"NTS", []string{".nts", ".dta"}, ntsHead.Match, ReadNTS, WriteNTS},
	{"CSV", []string{".csv", ".tsv"}, isTable, ReadCSV, WriteCSV},
	{"table without a header", []string{".pts", ".xyz"}, isTable, ReadCSV, nil},
}

// Extensions are those of the files that Read reads by their names; a folder may hold more, whose contents tell.
func Extensions() []string { return extensionsOf(func(fileFormat) bool { return true }) }

// extensionsOf lists the extensions of formats.
func extensionsOf(which func(fileFormat) bool) (all []string) {
	for _, f := range fileFormats {
		if which(f) {
			all = append(all, f.extensions...)
		}
	}
	return all
}

// unnamed are extensions that say nothing of the contents: many programs write them.
var unnamed = []string{"", ".txt", ".dat", ".asc"}

// Read returns the landmarks in a file, in a .zip of files, or in a folder. Coordinates keep the unit of the file. A missing
// landmark has the coordinates NaN; see Dataset.Validate. Unit and Closed are known from some formats only: set them after reading
// others.
//
// The extension names the format, one of Extensions. The contents name that of files with other extensions, and of .txt, .dat and
// .asc.
//
// In a folder every file is a specimen, named after the file without its extension. Read ignores hidden files. It also ignores
// folders and files of other kinds, such as meshes beside their landmarks, and says so in Notes. All specimens must have the same
// numbers of landmarks and coordinates and the same labels. Labels that are a name with a number, as 3D Slicer makes them (F-1,
// F-2, …), are the same if the numbers are.
//
// Errors name the file and the line and say what to do. errors.Is(err, ErrNotLandmarks) holds for a file of another kind.
func Read(path string) (*Dataset, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return readFolder(path)
	}
	if strings.EqualFold(filepath.Ext(path), archive) {
		return readArchive(path)
	}
	return readFile(path, new(input.Budget))
}

// ErrNotLandmarks is what the error of a file of something else is: of another kind, or of a table without coordinates.
var ErrNotLandmarks = errors.New("neither the extension nor the contents are those of landmarks")

// notLandmarks is an ErrNotLandmarks in other words.
type notLandmarks string

func (e notLandmarks) Error() string { return string(e) }

func (e notLandmarks) Is(target error) bool { return target == ErrNotLandmarks }

func readFile(path string, within *input.Budget) (*Dataset, error) {
	f, err := input.Open(path, within)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buffered := text.Decode(f)
	extension := strings.ToLower(filepath.Ext(path))
	if strings.HasSuffix(strings.ToLower(path), ".morphoj.txt") {
		return ReadCSV(buffered, path)
	}
	if !slices.Contains(unnamed, extension) {
		for _, f := range fileFormats {
			if slices.Contains(f.extensions, extension) {
				return f.read(buffered, path)
			}
		}
	}
	head, err := buffered.Peek(4096)
	if len(head) == 0 && err != io.EOF {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, f := range fileFormats {
		if f.recognise(head) {
			return f.read(buffered, path)
		}
	}
	if len(head) == 0 {
		return nil, fmt.Errorf("%s: %w", path, text.Advise("save it again by the program that made it", "the file is empty"))
	}
	do := "read one of " + strings.Join(Extensions(), ", ")
	if spreadsheet(path) {
		do = saveAsCSV
	}
	return nil, fmt.Errorf("%s: %w", path, text.Advise(do, "%w", ErrNotLandmarks))
}

const saveAsCSV = "save the spreadsheet as CSV"

// spreadsheet says whether a file is one of a spreadsheet program, by its name.
func spreadsheet(path string) bool {
	return slices.Contains([]string{".xlsx", ".xls", ".ods", ".numbers"}, strings.ToLower(filepath.Ext(path)))
}

// readFolder reads a folder with one specimen a file.
func readFolder(folder string) (*Dataset, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	out, within := newDataset(folder), new(input.Budget)
	files := map[string]string{}   // of the specimens
	noted := map[string][]string{} // files with the same note
	var passed, notes []string
	var first *Dataset
	var labels []string
	var curves [][2]int
	for _, e := range entries {
		name, path := e.Name(), filepath.Join(folder, e.Name())
		extension := strings.ToLower(filepath.Ext(name))
		switch {
		case strings.HasPrefix(name, "."):
			continue
		case e.IsDir(), !slices.Contains(Extensions(), extension) && !slices.Contains(unnamed, extension):
			passed = append(passed, name)
			continue
		}
		d, err := readFile(path, within)
		if errors.Is(err, ErrNotLandmarks) {
			passed = append(passed, name)
			continue
		}
		if err != nil {
			return nil, err
		}
		if len(d.Specimens) != 1 {
			return nil, fmt.Errorf("%s: %w", path, text.Advise("read the file by itself, or write each specimen into a file of its own",
				"%d specimens: in a folder, a file holds one", len(d.Specimens)))
		}
		s := &d.Specimens[0]
		s.Name = stem(path)
		if other, taken := files[s.Name]; taken {
			return nil, fmt.Errorf("%s: %w", path, text.Advise("remove one of them, or give it a name of its own",
				"the specimen %s is in %s, too", text.Clip(s.Name), other))
		}
		files[s.Name] = name
		if first == nil {
			first, labels, curves = d, d.Labels, d.Curves
		}
		if err := d.correspondsTo(first); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if !slices.Equal(d.Labels, labels) {
			labels = nil // numbers behind names that differ
		}
		if !slices.Equal(d.Curves, curves) {
			curves = nil
		}
		for _, note := range d.Notes {
			if noted[note] == nil {
				notes = append(notes, note)
			}
			noted[note] = append(noted[note], name)
		}
		out.Specimens = append(out.Specimens, *s)
	}
	if len(passed) > 0 {
		out.note("passed over, as they hold no landmarks: %s", listed(passed))
		if slices.ContainsFunc(passed, func(name string) bool {
			return spreadsheet(name) || slices.Contains([]string{".csv", ".tsv", ".txt"}, strings.ToLower(filepath.Ext(name)))
		}) {
			out.note("if one of them is a table of covariates, name it as such: --covariates, or COVARIATES= of make report")
		}
	}
	if first == nil {
		what := "the folder has no files"
		if len(passed) > 0 {
			what = "the folder has no files with landmarks, only " + listed(passed)
		}
		return nil, fmt.Errorf("%s: %w", folder, text.Advise("put a file for each specimen into it, with one of the extensions "+
			strings.Join(Extensions(), ", "), "%s", what))
	}
	for _, note := range notes {
		of := listed(noted[note])
		if len(noted[note]) == len(out.Specimens) {
			of = "each file"
		}
		out.note("%s: %s", of, note)
	}
	out.Unit, out.Closed, out.Labels, out.Curves = first.Unit, first.Closed, labels, curves
	return out, nil
}

// correspondsTo returns an error where the one specimen has not the landmarks of that of first.
func (d *Dataset) correspondsTo(first *Dataset) error {
	n, m := len(d.Specimens[0].Points), len(first.Specimens[0].Points)
	labels, others, file := numberLabels(d.Labels), numberLabels(first.Labels), filepath.Base(first.Source)
	differs := func(what string, args ...any) error {
		return text.Advise("correct one of them, or move it to another folder: landmark i of one is landmark i of all", what, args...)
	}
	switch {
	case n != m:
		return differs("%d landmarks, but %d in %s", n, m, file)
	case n > 0 && len(d.Specimens[0].Points[0]) != len(first.Specimens[0].Points[0]):
		return differs("%d coordinates, but %d in %s", len(d.Specimens[0].Points[0]), len(first.Specimens[0].Points[0]), file)
	case d.Unit != first.Unit:
		return differs("the unit is %q, but %q in %s", d.Unit, first.Unit, file)
	case d.Closed != first.Closed:
		return differs("closed is %v, but %v in %s", d.Closed, first.Closed, file)
	case len(labels) != len(others):
		return differs("%d labels, but %d in %s", len(labels), len(others), file)
	}
	for l := range labels {
		if labels[l] != others[l] && d.Labels[l] != first.Labels[l] {
			return differs("landmark %d is %s, but %s in %s", l, text.Clip(d.Labels[l]), text.Clip(first.Labels[l]), file)
		}
	}
	return nil
}

// numberLabels returns the numbers of labels that are numbers behind one prefix, and other labels as they are.
func numberLabels(labels []string) []string {
	const digits = "0123456789"
	numbers := slices.Clone(labels)
	for l := range labels {
		prefix := strings.TrimRight(labels[0], digits)
		number, ok := strings.CutPrefix(labels[l], prefix)
		if !ok || number == "" || strings.Trim(number, digits) != "" {
			return labels
		}
		numbers[l] = number
	}
	return numbers
}

// Write writes a data set in the format that the extension of path names:
//
//	.csv, .tsv                one row per landmark; with covariates
//	.tps                      with curves
//	.nts, .dta, .morphologika, .txt (Morphologika), .morphoj.txt (the text of MorphoJ)
//	.npy                      without names
//	.mrk.json, .fcsv          3D Slicer, one specimen; with labels, and .mrk.json with unit and Closed
//
// With .zip behind an extension, as in skulls.mrk.json.zip, it writes an archive with one file per specimen. Read gives back every
// coordinate to the last bit. What a format cannot hold, by this list, is not written.
//
// It is an error if the extension names no format that can be written, if the data set has no specimens, if a format of one specimen
// is given several, if a name has a line break or spaces around it, or if a coordinate is infinite; NaN is written as missing. Write writes a file beside path and renames it, so
// that after an error an earlier file is as it was.
func Write(path string, d *Dataset) error {
	name, packed := strings.ToLower(filepath.Base(path)), false
	if name, packed = strings.CutSuffix(name, archive); packed {
		return writeArchive(path, d)
	}
	for _, f := range fileFormats {
		extension := slices.IndexFunc(f.extensions, func(e string) bool { return strings.HasSuffix(name, e) })
		if f.write == nil || extension < 0 {
			continue
		}
		write := f.write
		if f.extensions[extension] == ".tsv" {
			write = func(w io.Writer, d *Dataset) error { return writeCSV(w, d, '\t') }
		}
		return replace.File(path, func(w io.Writer) error { return write(w, d) })
	}
	extension := filepath.Ext(name)
	written := extensionsOf(func(f fileFormat) bool { return f.write != nil })
	return fmt.Errorf("%s: %w", path, text.Advise("use one of "+strings.Join(written, ", "),
		"the extension %q names no format of landmarks that is written", extension))
}

// lineReader reads a text file line by line, without blank lines and outer spaces.
type lineReader struct {
	*text.Reader
	numerals
	text string
}

// specimen takes one more of the budget.
func (l *lineReader) specimen() { try.Do(l.Specimens(1)) }

// readLines reads a file of lines. An error is one at the line that was read last.
func readLines(r io.Reader, file string, read func(in *lineReader) *Dataset) (*Dataset, error) {
	in := &lineReader{Reader: text.NewReader(r, file)}
	return reading(file, func() int { return max(in.Number, 1) }, func() *Dataset {
		d := read(in)
		in.decimals(file)
		return d
	})
}

// reading reads a file. An error that ends it and does not say where it is, is one at this line, or in the whole file if that is 0.
func reading(file string, line func() int, read func() *Dataset) (d *Dataset, err error) {
	err = try.Run(func() { d = read().flat().repeated().numbered() })
	if said := (*placed)(nil); err != nil && !errors.As(err, &said) {
		err = at(file, line(), err)
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// flat leaves out a third coordinate that no landmark has.
func (d *Dataset) flat() *Dataset {
	points := slices.Concat(d.Shapes()...)
	if len(points) == 0 || slices.ContainsFunc(points, func(p []float64) bool { return len(p) != 3 || !math.IsNaN(p[2]) }) ||
		!slices.ContainsFunc(points, func(p []float64) bool { return !math.IsNaN(p[0]) }) {
		return d
	}
	for i := range d.Specimens {
		for l, p := range d.Specimens[i].Points {
			d.Specimens[i].Points[l] = p[:2]
		}
	}
	d.note("no landmark has z: they were taken for landmarks in the plane")
	return d
}

// repeated numbers the specimens of one name.
func (d *Dataset) repeated() *Dataset {
	seen, again := map[string]int{}, []string(nil)
	for _, s := range d.Specimens {
		seen[s.Name] = 0
	}
	for i := range d.Specimens {
		s := &d.Specimens[i]
		name := s.Name
		if seen[name]++; name == "" || seen[name] == 1 {
			continue
		}
		if seen[name] == 2 {
			again = append(again, name)
		}
		for k := seen[name]; ; k++ {
			s.Name = fmt.Sprintf("%s-%d", name, k)
			if _, taken := seen[s.Name]; !taken {
				break
			}
		}
		seen[s.Name] = 1
	}
	if len(again) > 0 {
		d.note("several specimens have one name, and were numbered as in %s: %s", again[0]+"-2", listNames(again))
	}
	return d
}

// placed is an error that says where it is.
type placed struct{ error }

func (p *placed) Unwrap() error { return p.error }

// refuse ends a read: what to do, and what is wrong.
func refuse(do, format string, args ...any) { try.Do(text.Advise(do, format, args...)) }

// refuseAt ends a read by an error at a line of a file, or in the whole of it, which is line 0.
func refuseAt(file string, line int, do, format string, args ...any) {
	try.Do(&placed{at(file, line, text.Advise(do, format, args...))})
}

func at(file string, line int, err error) error {
	if line > 0 {
		return fmt.Errorf("%s:%d: %w", file, line, err)
	}
	return fmt.Errorf("%s: %w", file, err)
}

// next moves to the next line that is not blank; false at the end.
func (l *lineReader) next() bool {
	for {
		line, err := l.Line()
		if err == io.EOF {
			l.text = ""
			return false
		}
		if l.text = strings.TrimSpace(try.Get(line, err)); l.text != "" {
			return true
		}
	}
}

// parseCoordinate reads a number; a blank, NA and NaN are a missing coordinate.
func parseCoordinate(word string) (float64, error) {
	word = strings.TrimSpace(word)
	switch strings.ToLower(word) {
	case "", "na", "nan":
		return math.NaN(), nil
	}
	v, err := text.Number(word)
	switch {
	case math.IsInf(v, 0):
		return 0, text.Advise("write a number, or NA if it is missing", "%s is infinite", text.Clip(word))
	case err != nil && strings.Contains(word, ","):
		return 0, text.Advise("use a decimal point", "%w", err)
	case err != nil:
		return 0, text.Advise("write a number, or NA if it is missing", "%w", err)
	}
	return v, nil
}

// formatCoordinate is the shortest text that parseCoordinate reads back to the same float64.
func formatCoordinate(v float64) string {
	if math.IsNaN(v) {
		return "NA"
	}
	return text.Format(v)
}

// numerals reads the numbers of a file, in which a comma may be that of a decimal number, as in 2,5.
type numerals struct {
	plain          bool    // commas part columns: none is in a number
	commas, points numeral // the first number with a comma, and with a point, in it
	decimal        bool    // some number shows that commas are not those of thousands
}

// numeral is a number as it stands in a line.
type numeral struct {
	text string
	line int
}

// decimalComma matches a number with one comma, and parts it there.
var decimalComma = regexp.MustCompile(`^[-+]?(\d+),(\d+)(?:[eE][-+]?\d+)?$`)

// coordinate is parseCoordinate, where commas may be those of decimal numbers: see decimals.
func (n *numerals) coordinate(word string, line int) (float64, error) {
	if n.plain {
		return parseCoordinate(word)
	}
	word = strings.TrimSpace(word)
	if m := decimalComma.FindStringSubmatch(word); strings.Contains(word, ",") && m != nil {
		if n.commas.line == 0 {
			n.commas = numeral{word, line}
		}
		n.decimal = n.decimal || len(m[2]) != 3 || len(m[1]) > 3 || m[1][0] == '0'
		return parseCoordinate(strings.Replace(word, ",", ".", 1))
	}
	v, err := parseCoordinate(word)
	if err == nil && strings.Contains(word, ".") && n.points.line == 0 {
		n.points = numeral{word, line}
	}
	n.decimal = n.decimal || err == nil && math.Abs(v) >= 1000 && !strings.Contains(word, ".") // of thousands it would have a comma
	return v, err
}

// decimals ends a read if commas of a file may not be those of decimal numbers.
func (n *numerals) decimals(file string) {
	switch {
	case n.commas.line == 0:
	case n.points.line > 0:
		refuseAt(file, n.commas.line, "use decimal points throughout", "%s, but %s in line %d", n.commas.text, n.points.text, n.points.line)
	case !n.decimal:
		refuseAt(file, n.commas.line, "use decimal points", "%s may be %s or %s, and no number of the file tells which",
			n.commas.text, strings.Replace(n.commas.text, ",", ".", 1), strings.Replace(n.commas.text, ",", "", 1))
	}
}

// coordinates reads the dim coordinates of a landmark, separated by spaces or tabs, from the current line.
func (l *lineReader) coordinates(landmark, dim int) ([]float64, error) {
	l.Spend(input.Coordinates, dim)
	var words []string
	count := 0
	for word := range strings.FieldsSeq(l.text) {
		if count++; count <= dim {
			words = append(words, word)
		}
	}
	point, err := l.point(landmark, words, l.Number)
	if err == nil && count != dim {
		err = text.Advise("write the coordinates of one landmark in each line, and no more",
			"landmark %d: %d values where %d coordinates belong: %s", landmark, count, dim, text.Clip(l.text))
	}
	return point, err
}

// plainPoint reads the coordinates of a landmark, with decimal points.
func plainPoint(landmark int, words []string) ([]float64, error) {
	return (&numerals{plain: true}).point(landmark, words, 0)
}

// point reads the coordinates of a landmark.
func (n *numerals) point(landmark int, words []string, line int) (point []float64, err error) {
	point = make([]float64, len(words))
	for c, word := range words {
		if point[c], err = n.coordinate(word, line); err != nil {
			return nil, fmt.Errorf("landmark %d: %s = %w", landmark, axis(c), err)
		}
	}
	return point, nil
}
