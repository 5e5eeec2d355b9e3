package files

import (
	"archive/zip"
	"bufio"
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

// Reading says how a file is read where nothing in it tells. The zero value leaves everything to the file.
type Reading struct {
	Dimensions int            // 2 or 3, of a table whose columns are numbered throughout
	Resample   map[string]int // how many points each curve is to have, by its name, or by its number from 1
}

// fileFormat is one file format of landmark data.
type fileFormat struct {
	name       string
	extensions []string
	recognise  func(head []byte) bool // by the first bytes of a file whose extension says nothing; nil if they do not tell
	read       func(in *source)
	write      func(out *bufio.Writer, d *Data) // nil if the format is read only
}

// containing recognises files by what is near their beginning.
func containing(pattern string) func([]byte) bool { return regexp.MustCompile(pattern).Match }

// fileFormats in the order in which contents are tried.
var fileFormats = []fileFormat{
	{"FCSV", []string{".fcsv"}, containing(`^\s*#\s*Markups fiducial file version\s*=`), readFCSV, writeFCSV},
	{"Markups", []string{".json"}, containing(`^\s*\{`), readMarkups, writeMarkups},
	{"NPY", []string{".npy"}, func(head []byte) bool { return bytes.HasPrefix(head, []byte(npyMagic)) }, readNPY, writeNPY},
	{"Checkpoint", []string{".ckpt"}, containing("Stratovan Checkpoint"), readCheckpoint, nil},
	{"Amira", []string{".landmarkascii", ".landmark"}, amiraHead.Match, readAmira, nil},
	{"MeshLab", []string{".pp"}, containing("<PickedPoints"), readPickedPoints, nil},
	{"StereoMorph", nil, containing(`^\s*<shapes type=list\s*>`), readStereoMorph, nil},
	{"Excel", []string{".xlsx"}, nil, readWorkbook, nil},
	{"R", []string{".rds", ".rda", ".rdata"}, rHead.Match, readR, nil},
	{"MITK", []string{".mps"}, containing("<point_set_file"), readMITK, nil},
	{"MorphoJ", []string{".morphoj.txt"}, nil, readTable, writeMorphoJ}, // before .txt
	{"Morphologika", []string{".txt", ".morphologika"}, containing(`^\s*\[`), readMorphologika, writeMorphologika},
	{"TPS", []string{".tps"}, containing(`(?im)^[ \t]*LM3?[ \t]*=`), readTPS, writeTPS},
	{"NTS", []string{".nts", ".dta"}, containing(`(?im)^[ \t]*1[ \t]+\d.*\bDIM[ \t]*=`), readNTS, writeNTS},
	{"CSV", []string{".csv"}, isTable, readTable, func(out *bufio.Writer, d *Data) { d.writeTable(out, ',') }},
	{"TSV", []string{".tsv"}, nil, readTable, func(out *bufio.Writer, d *Data) { d.writeTable(out, '\t') }},
	{"table without a header", []string{".pts", ".xyz"}, nil, readTable, nil},
}

// Extensions are those of the files that Read reads by their names; a folder may hold more, whose contents tell.
func Extensions() []string { return extensions(false) }

// extensions lists those of formats: of all, or of those that are written.
func extensions(written bool) (all []string) {
	for _, f := range fileFormats {
		if f.write != nil || !written {
			all = append(all, f.extensions...)
		}
	}
	return all
}

// formatOf is the format that an extension of the name of a file, in lower case, names, and that extension; nil if there is none.
func formatOf(name string) (*fileFormat, string) {
	for k := range fileFormats {
		for _, e := range fileFormats[k].extensions {
			if strings.HasSuffix(name, e) {
				return &fileFormats[k], e
			}
		}
	}
	return nil, filepath.Ext(name)
}

// unnamed are extensions that say nothing of the contents: many programs write them.
var unnamed = []string{"", ".txt", ".dat", ".asc"}

// Read reads a file, a .zip of files, or a folder: see morpho.Read.
func (as Reading) Read(path string) (d *Data, err error) {
	defer try.Catch(&err)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return as.readFolder(path), nil
	}
	if strings.EqualFold(filepath.Ext(path), archive) {
		return as.readArchive(path), nil
	}
	return try.Get(as.readFile(onDisk(path), new(input.Budget), false, nil)).Data, nil
}

// entry is a file that can be read: on the disk, or in an archive.
type entry struct {
	path string // as errors call it
	open func(within *input.Budget) (*input.Reader, error)
}

func onDisk(path string) entry {
	return entry{path, func(within *input.Budget) (*input.Reader, error) { return input.Open(path, within) }}
}

// ReadAs reads a file of this name by a format: CSV, TPS and others, as the table of formats calls them.
func (as Reading) ReadAs(format string, r io.Reader, name string) (*Data, error) {
	k := slices.IndexFunc(fileFormats, func(f fileFormat) bool { return f.name == format })
	in, err := decode(fileFormats[k].read, r, name, as, false)
	if err != nil {
		return nil, err
	}
	return in.Data, nil
}

// ErrNotLandmarks is what the error of a file of something else is: of another kind, or of a table without coordinates.
var ErrNotLandmarks = errors.New("neither the extension nor the contents are those of landmarks")

// notLandmarks is an ErrNotLandmarks in other words.
type notLandmarks string

func (e notLandmarks) Error() string { return string(e) }

func (e notLandmarks) Is(target error) bool { return target == ErrNotLandmarks }

// readFile reads a file by a format, or, where this is nil, by that which its extension or its contents tell.
func (as Reading) readFile(file entry, within *input.Budget, alone bool, read func(*source)) (*source, error) {
	path := file.path
	f, err := file.open(within)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := text.Decode(f)
	if read != nil {
		return decode(read, in, path, as, alone)
	}
	head, err := in.Peek(4096)
	if len(head) == 0 && err != io.EOF {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	format, extension := formatOf(strings.TrimSuffix(strings.ToLower(path), ".gz"))
	if slices.Contains(unnamed, extension) || format == nil {
		format = nil
		for k := range fileFormats {
			if recognise := fileFormats[k].recognise; format == nil && recognise != nil && recognise(head) {
				format = &fileFormats[k]
			}
		}
	}
	switch {
	case format != nil:
		return decode(format.read, in, path, as, alone)
	case len(head) == 0:
		err = text.Advise("save it again by the program that made it", "the file is empty")
	case spreadsheet(path):
		err = text.Advise(saveAsCSV, "%w", ErrNotLandmarks)
	default:
		err = text.Advise("read one of "+strings.Join(Extensions(), ", "), "%w", ErrNotLandmarks)
	}
	return nil, fmt.Errorf("%s: %w", path, err)
}

const saveAsCSV = "save the spreadsheet as CSV"

// spreadsheet says whether a file is one of a spreadsheet program that is not read, by its name.
func spreadsheet(path string) bool {
	return slices.Contains([]string{".xls", ".ods", ".numbers"}, strings.ToLower(filepath.Ext(path)))
}

// WriteAs writes data in a format; errors begin with their name.
func WriteAs(format string, w io.Writer, d *Data) error {
	k := slices.IndexFunc(fileFormats, func(f fileFormat) bool { return f.name == format })
	return fileFormats[k].to(w, d)
}

func (f *fileFormat) to(w io.Writer, d *Data) error {
	out := bufio.NewWriter(w)
	if err := try.Run(func() { f.write(out, d) }); err != nil {
		return fmt.Errorf("%s: %w", d.Name, err)
	}
	return out.Flush()
}

// Write writes a data set in the format that the extension of path names: see morpho.Write.
func Write(path string, d *Data) error {
	name := strings.ToLower(filepath.Base(path))
	inner, packed := strings.CutSuffix(name, archive)
	f, extension := formatOf(inner)
	switch {
	case f != nil && f.write != nil && packed:
		return f.writeArchive(path, extension, d)
	case packed:
		return fmt.Errorf("%s: %w", path, text.Advise("write it before, as skulls.mrk.json.zip",
			"an archive whose name tells no format of the files in it"))
	case f != nil && f.write != nil:
		return replace.File(path, func(w io.Writer) error { return f.to(w, d) })
	}
	return fmt.Errorf("%s: %w", path, text.Advise("use one of "+strings.Join(extensions(true), ", "),
		"the extension %q names no format of landmarks that is written", filepath.Ext(name)))
}

const (
	archive     = ".zip"
	archiveList = 16 << 20 // bytes of the list of its files: they take ten times that
)

// archiveHead reads the list of an archive.
type archiveHead struct {
	*input.Reader
	read int
}

func (a *archiveHead) ReadAt(p []byte, at int64) (int, error) {
	if a.read += len(p); a.read > archiveList {
		return 0, text.Advise("unpack it, and read the folder", "the list of its files is longer than %d bytes", archiveList)
	}
	return a.Reader.ReadAt(p, at)
}

// writeArchive writes a file for each specimen, of its name, in a format.
func (f *fileFormat) writeArchive(path, extension string, d *Data) (err error) {
	defer try.Catch(&err)
	if extension == ".json" {
		extension = ".mrk.json"
	}
	try.Do(try.Name(try.Run(d.check), "%s", d.Name))
	try.Do(try.Name(try.Run(d.checkFiles), "%s", path))
	return replace.File(path, func(w io.Writer) error {
		return try.Run(func() {
			out := zip.NewWriter(w)
			for _, s := range d.Specimens {
				one := *d
				one.Specimens = []Specimen{s}
				try.Do(f.to(try.Get(out.Create(s.Name+extension)), &one))
			}
			try.Do(out.Close())
		})
	})
}

// checkFiles refuses names of specimens that are no names of files, or of one file.
func (d *Data) checkFiles() {
	seen := map[string]bool{}
	for _, s := range d.Specimens {
		lower := strings.ToLower(s.Name)
		refuseIf(strings.ContainsAny(s.Name, `/\:*?"<>|`) || strings.HasPrefix(s.Name, "."), "rename it",
			"the name %s of a specimen is no name of a file", text.Clip(s.Name))
		refuseIf(seen[lower], "give each a name of its own", "two specimens %s would be one file", text.Clip(s.Name))
		seen[lower] = true
	}
}

// readArchive reads the files of an archive as those of a folder, or the one file that there is as a file.
func (as Reading) readArchive(path string) (d *Data) {
	file := try.Get(input.Open(path))
	defer file.Close()
	head := &archiveHead{Reader: file}
	in, err := zip.NewReader(head, int64(file.Size))
	if err != nil && !errors.As(err, new(*input.Advice)) {
		err = text.Advise("the file may have been cut off: save it again", "%w", err)
	}
	try.Do(try.Name(err, "%s", path))
	head.read = math.MinInt // what follows counts as what it unpacks to
	least := 0
	for _, f := range in.File {
		least = int(min(uint64(least)+min(f.UncompressedSize64, math.MaxInt32), math.MaxInt32))
	}
	if err := new(input.Budget).Spend(input.Bytes, least); err != nil { // before anything is unpacked
		try.Fail("%s: unpacked, it has %w", path, err)
	}
	var files []entry
	seen := map[string]bool{}
	for _, f := range in.File {
		name := filepath.Base(filepath.FromSlash(f.Name))
		if strings.HasSuffix(f.Name, "/") || strings.HasPrefix(name, ".") || strings.HasPrefix(f.Name, "__MACOSX/") {
			continue
		}
		inner := filepath.Join(path, name)
		if seen[inner] {
			try.Do(try.Name(text.Advise("give each a name of its own", "two files %s", text.Clip(name)), "%s", path))
		}
		seen[inner] = true
		files = append(files, entry{inner, func(within *input.Budget) (*input.Reader, error) {
			r, err := f.Open()
			return input.Of(r, within), try.Name(err, "%s", inner)
		}})
	}
	slices.SortFunc(files, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	if len(files) == 1 {
		d = try.Get(as.readFile(files[0], new(input.Budget), false, nil)).Data
	} else {
		d = as.readFiles(path, files)
	}
	d.Name, d.Source = stem(strings.TrimSuffix(path, filepath.Ext(path))+".x"), path
	return d
}
