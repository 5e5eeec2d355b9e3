package morpho

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"anatomy/landmarks/internal/replace"
	"anatomy/landmarks/internal/text"
)

// fileFormat is one file format of landmark data.
type fileFormat struct {
	name       string
	extensions []string
	recognise  func(head []byte) bool // by the first bytes of a file whose extension says nothing
	read       func(r io.Reader, name string) (*Dataset, error)
	write      func(w io.Writer, d *Dataset) error
}

var (
	tpsHead = regexp.MustCompile(`(?im)^[ \t]*LM3?[ \t]*=`)
	ntsHead = regexp.MustCompile(`(?im)^[ \t]*1[ \t]+\d.*\bDIM[ \t]*=`)
)

// fileFormats in the order in which contents are tried.
var fileFormats = []fileFormat{
	{"NPY", []string{".npy"}, func(h []byte) bool { return bytes.HasPrefix(h, []byte(npyMagic)) }, ReadNPY, WriteNPY},
	{"Morphologika", []string{".txt", ".morphologika"}, func(h []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(h), []byte("[")) },
		ReadMorphologika, WriteMorphologika},
	{"TPS", []string{".tps"}, tpsHead.Match, ReadTPS, WriteTPS},
	{"NTS", []string{".nts", ".dta"}, ntsHead.Match, ReadNTS, WriteNTS},
	{"CSV", []string{".csv", ".tsv"}, func(h []byte) bool {
		line, _, _ := bytes.Cut(h, []byte("\n"))
		return bytes.ContainsAny(line, ",;\t") && !bytes.Contains(h, []byte{0})
	}, ReadCSV, WriteCSV},
}

// Read reads a file of shapes. The extension names the format: .csv, .tsv, .tps, .nts, .dta, .npy; the contents of any
// other file tell it (Morphologika files have no extension of their own). Missing landmarks come back as NaN;
// see Dataset.Validate. Errors name the file and the line.
//
// No format holds Unit and Closed: set them after reading.
func Read(path string) (*Dataset, error) {
	f, err := text.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buffered := text.Decode(f)
	extension := strings.ToLower(filepath.Ext(path))
	// Many programs write .txt, so there the contents decide.
	if extension != ".txt" {
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
	return nil, fmt.Errorf("%s: neither the extension nor the contents are those of a CSV, TPS, NTS, Morphologika or NPY file", path)
}

// Write writes the data set in the format that the extension of path names: .csv (long), .tps, .nts or .dta, .npy,
// .txt or .morphologika (Morphologika). Every coordinate is read back to the last bit. The file is written beside path and
// renamed, so that an error leaves an earlier file as it was. Covariates are written to .csv and .tsv alone, .npy has no names either.
func Write(path string, d *Dataset) error {
	extension := strings.ToLower(filepath.Ext(path))
	for _, f := range fileFormats {
		if slices.Contains(f.extensions, extension) {
			write := f.write
			if extension == ".tsv" {
				write = func(w io.Writer, d *Dataset) error { return writeCSV(w, d, '\t') }
			}
			return replace.File(path, func(w io.Writer) error { return write(w, d) })
		}
	}
	return fmt.Errorf("%s: the extension %q names no format of landmarks; use .csv, .tsv, .tps, .nts, .dta, .npy, .txt or .morphologika", path, extension)
}

// lineReader reads a text file line by line, without blank lines and outer spaces.
type lineReader struct {
	*text.Reader
	text string
	err  error
}

func newLines(r io.Reader, file string) *lineReader {
	return &lineReader{Reader: text.NewReader(r, file)}
}

// next moves to the next line that is not blank; false at the end or after a read error.
func (l *lineReader) next() bool {
	for {
		line, err := l.Line()
		if err != nil {
			if l.text = ""; err != io.EOF {
				l.err = l.Errorf("%w", err)
			}
			return false
		}
		if l.text = strings.TrimSpace(line); l.text != "" {
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
		return 0, fmt.Errorf("%s is infinite", text.Clip(word))
	case err != nil && strings.Contains(word, ","):
		return 0, fmt.Errorf("%w (use a decimal point)", err)
	}
	return v, err
}

// formatCoordinate is the shortest text that parseCoordinate reads back to the same float64.
func formatCoordinate(v float64) string {
	if math.IsNaN(v) {
		return "NA"
	}
	return text.Format(v)
}

// coordinateLine reads the dim coordinates of a landmark, separated by spaces or tabs, from the current line.
func (l *lineReader) coordinateLine(landmark, dim int) ([]float64, error) {
	point := make([]float64, dim)
	count := 0
	for field := range strings.FieldsSeq(l.text) {
		if count < dim {
			v, err := parseCoordinate(field)
			if err != nil {
				return nil, l.Errorf("landmark %d: %s = %w", landmark, axis(count), err)
			}
			point[count] = v
		}
		count++
	}
	if count != dim {
		return nil, l.Errorf("landmark %d: %d values where %d coordinates belong: %s", landmark, count, dim, text.Clip(l.text))
	}
	return point, nil
}
