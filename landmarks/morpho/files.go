package morpho

import (
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
	"strconv"
	"strings"

	"anatomy/landmarks/internal/replace"
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
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buffered := bufio.NewReaderSize(f, 64<<10)
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
// renamed, so that an error leaves an earlier file as it was.
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

// maxCoordinates bounds what a header may announce: a gigabyte of float64.
const maxCoordinates = 1 << 27

// maxLine bounds one line of a text file, in bytes.
const maxLine = 64 << 20

// lineReader reads a text file line by line (LF, CRLF or CR), without blank lines and outer spaces, and knows where it is.
type lineReader struct {
	scanner *bufio.Scanner
	file    string
	number  int // of the line last read, from 1
	text    string
	err     error
}

func newLines(r io.Reader, file string) *lineReader {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 64<<10), maxLine)
	s.Split(splitLine)
	return &lineReader{scanner: s, file: file}
}

// splitLine is a bufio.SplitFunc like bufio.ScanLines that also ends a line at a lone CR.
func splitLine(data []byte, atEOF bool) (advance int, token []byte, err error) {
	i := bytes.IndexAny(data, "\r\n")
	switch {
	case i < 0 && atEOF && len(data) > 0:
		return len(data), data, nil
	case i < 0:
		return 0, nil, nil
	case data[i] == '\n':
		return i + 1, data[:i], nil
	case i+1 < len(data) && data[i+1] == '\n':
		return i + 2, data[:i], nil
	case i+1 < len(data) || atEOF:
		return i + 1, data[:i], nil
	}
	return 0, nil, nil // whether LF follows is in the next block
}

// next moves to the next line that is not blank; false at the end or after a read error.
func (l *lineReader) next() bool {
	// The scanner hands out half a line before a read error.
	for l.scanner.Scan() && l.scanner.Err() == nil {
		l.number++
		text := l.scanner.Text()
		if l.number == 1 {
			text = strings.TrimPrefix(text, "\ufeff")
		}
		if l.text = strings.TrimSpace(text); l.text != "" {
			return true
		}
	}
	switch err := l.scanner.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		l.number++
		l.err = l.errorf("the line is longer than %d bytes: this is not a text file of landmarks", maxLine)
	case err != nil:
		l.err = fmt.Errorf("%s: %w", l.file, err)
	}
	return false
}

// errorf returns an error at the current line.
func (l *lineReader) errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", l.file, l.number, fmt.Sprintf(format, args...))
}

// parseCoordinate reads a number; a blank, NA and NaN are a missing coordinate.
func parseCoordinate(text string) (float64, error) {
	text = strings.TrimSpace(text)
	switch strings.ToLower(text) {
	case "", "na", "nan":
		return math.NaN(), nil
	}
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case math.IsInf(v, 0):
		return 0, fmt.Errorf("%s is infinite", clip(text))
	case err != nil && strings.Contains(text, ","):
		return 0, fmt.Errorf("%s is not a number (use a decimal point)", clip(text))
	case err != nil:
		return 0, fmt.Errorf("%s is not a number", clip(text))
	}
	return v, nil
}

// formatCoordinate is the shortest text that parseCoordinate reads back to the same float64.
func formatCoordinate(v float64) string {
	if math.IsNaN(v) {
		return "NA"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// parseCount reads how many things a header announces, from 0 to maxCoordinates.
func parseCount(what, text string) (int, error) {
	text = strings.TrimSpace(text)
	n, err := strconv.ParseUint(text, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) || err == nil && n > maxCoordinates:
		return 0, fmt.Errorf("%s %s: more than the %d that a file may hold", clip(text), what, maxCoordinates)
	case err != nil:
		return 0, fmt.Errorf("%s: %s is not a whole number", what, clip(text))
	}
	return int(n), nil
}

// coordinateLine reads the dim coordinates of a landmark, separated by spaces or tabs, from the current line.
func (l *lineReader) coordinateLine(landmark, dim int) ([]float64, error) {
	fields := strings.Fields(l.text)
	if len(fields) != dim {
		return nil, l.errorf("landmark %d: %d values where %d coordinates belong: %s", landmark, len(fields), dim, clip(l.text))
	}
	point := make([]float64, dim)
	for c, field := range fields {
		v, err := parseCoordinate(field)
		if err != nil {
			return nil, l.errorf("landmark %d: %s = %v", landmark, axis(c), err)
		}
		point[c] = v
	}
	return point, nil
}

// clip quotes text for a message, at most forty bytes of it.
func clip(text string) string {
	if len(text) > 40 {
		return strconv.Quote(text[:40]) + "…"
	}
	return strconv.Quote(text)
}
