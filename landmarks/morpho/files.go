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
	read       func(as Reading, r io.Reader, name string) (*Dataset, error)
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

// plainly is a format of which a Reading has nothing to say.
func plainly(read func(io.Reader, string) (*Dataset, error)) func(Reading, io.Reader, string) (*Dataset, error) {
	return func(_ Reading, r io.Reader, name string) (*Dataset, error) { return read(r, name) }
}

// fileFormats in the order in which contents are tried.
var fileFormats = []fileFormat{
	{"FCSV", []string{".fcsv"}, fcsvHead.Match, plainly(readFCSV), writeFCSV},
	{"Markups", []string{".json"}, beginning("{"), plainly(readMarkups), writeMarkups},
	{"NPY", []string{".npy"}, beginning(npyMagic), plainly(readNPY), writeNPY},
	{"Checkpoint", []string{".ckpt"}, containing("Stratovan Checkpoint"), plainly(readCheckpoint), nil},
	{"Amira", []string{".landmarkascii", ".landmark"}, amiraHead.Match, plainly(readAmira), nil},
	{"MeshLab", []string{".pp"}, containing("<PickedPoints"), plainly(readPickedPoints), nil},
	{"StereoMorph", nil, stereoHead.Match, Reading.stereo, nil},
	{"Excel", []string{".xlsx"}, func([]byte) bool { return false }, Reading.workbook, nil},
	{"R", []string{".rds", ".rda", ".rdata"}, rHead.Match, Reading.rdata, nil},
	{"MITK", []string{".mps"}, containing("<point_set_file"), plainly(readMITK), nil},
	{"MorphoJ", []string{".morphoj.txt"}, func([]byte) bool { return false }, Reading.csv, writeMorphoJ}, // before .txt
	{"Morphologika", []string{".txt", ".morphologika"}, beginning("["), plainly(readMorphologika), writeMorphologika},
	{"TPS", []string{".tps"}, tpsHead.Match, Reading.tps, writeTPS},
	{"NTS", []string{".nts", ".dta"}, ntsHead.Match, plainly(readNTS), writeNTS},
	{"CSV", []string{".csv", ".tsv"}, isTable, Reading.csv, WriteCSV},
	{"table without a header", []string{".pts", ".xyz"}, isTable, Reading.csv, nil},
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
// numbers of landmarks and coordinates. Of labels, those that most files have are taken, where at most a quarter differs; labels that are
// words tell the order of landmarks and which are missing. Labels that are a name with a number, as 3D Slicer makes them (F-1, F-2, …), are
// the same if the numbers are. Tables whose names have slid, wire, link or curve in them, of two or three whole numbers in each row, are
// Links and Sliders.
//
// Errors name the file and the line and say what to do. errors.Is(err, ErrNotLandmarks) holds for a file of another kind.
func Read(path string) (*Dataset, error) { return Reading{}.Read(path) }

// Read is the function Read, as the Reading says.
func (as Reading) Read(path string) (*Dataset, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return as.readFolder(path)
	}
	if strings.EqualFold(filepath.Ext(path), archive) {
		return as.readArchive(path)
	}
	return as.readFile(path, new(input.Budget))
}

// ErrNotLandmarks is what the error of a file of something else is: of another kind, or of a table without coordinates.
var ErrNotLandmarks = errors.New("neither the extension nor the contents are those of landmarks")

// notLandmarks is an ErrNotLandmarks in other words.
type notLandmarks string

func (e notLandmarks) Error() string { return string(e) }

func (e notLandmarks) Is(target error) bool { return target == ErrNotLandmarks }

func (as Reading) readFile(path string, within *input.Budget) (*Dataset, error) {
	f, err := input.Open(path, within)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := text.Decode(f)
	head, err := in.Peek(4096)
	if len(head) == 0 && err != io.EOF {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	name := strings.ToLower(path)
	if trimmed, packed := strings.CutSuffix(name, ".gz"); packed {
		name = trimmed
	}
	extension := filepath.Ext(name)
	if strings.HasSuffix(name, ".morphoj.txt") {
		extension = ".morphoj.txt"
	}
	for _, byContents := range []bool{false, true} {
		for _, f := range fileFormats {
			if byContents && f.recognise(head) || !byContents && slices.Contains(f.extensions, extension) && !slices.Contains(unnamed, extension) {
				return f.read(as, in, path)
			}
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
	return slices.Contains([]string{".xls", ".ods", ".numbers"}, strings.ToLower(filepath.Ext(path)))
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
		d.noteEncoding(in.Reader)
		return d
	})
}

// reading reads a file. An error that ends it and does not say where it is, is one at this line, or in the whole file if that is 0.
func reading(file string, line func() int, read func() *Dataset) (d *Dataset, err error) {
	err = try.Run(func() { d = read().flat().numbered() })
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
